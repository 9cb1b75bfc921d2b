/* SPDX-License-Identifier: MIT */
/* sweep: plans, workers, and the trees that they start from. */
#include "tests/fault/sweep.h"

#include <dlfcn.h>
#include <ftw.h>
#include <sys/mman.h>

#include "tests/fault/kinds.h"
#include "tests/support/unit.h"

/* More say no more. */
enum { MOST_SHOWN = 12 };

static size_t total_points, total_runs;

void sweep_begin(char **argv, const char *objects, struct fault_control **ret_control)
{
	char path[] = "/dev/shm/ckcache-fault-XXXXXX";
	const char *control = getenv("FAULT_CONTROL");
	int fd;

	if (!control) {
		fd = mkstemp(path);
		if (fd < 0 || ftruncate(fd, sizeof(struct fault_control)) < 0 ||
		    setenv("FAULT_CONTROL", path, 1) || setenv("FAULT_OBJECTS", objects, 1) ||
		    setenv("LD_PRELOAD", INTERPOSER_LIBRARY, 1) ||
		    setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1)) {
			perror(path);
			exit(2);
		}
		(void)close(fd);	/* only its size matters */
		(void)execv("/proc/self/exe", argv);
		perror(argv[0]);
		exit(2);
	}
	fd = open(control, O_RDWR | O_CLOEXEC);
	*ret_control = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(**ret_control), PROT_READ | PROT_WRITE,
						  MAP_SHARED, fd, 0);
	if (*ret_control == MAP_FAILED) {
		perror(control);
		exit(2);
	}
	(void)close(fd);	/* it stays mapped */
	(void)unlink(control);	/* and needs no name */
}

void sweep_use(struct fault_control *control)
{
	fault_use_fn use = (fault_use_fn)dlsym(RTLD_DEFAULT, "fault_use");

	CU_ASSERT_FATAL(use != NULL);
	use(control);
}

void *sweep_share(size_t size)
{
	void *block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (block == MAP_FAILED) {
		perror("memory to share");
		exit(2);
	}
	return block;
}

bool sweep_is_full(void)
{
	const char *text = getenv("CKCACHE_FAULT_FULL");

	return text && *text == '1';
}

unsigned int sweep_jobs(void)
{
	const char *text = getenv("CKCACHE_FAULT_JOBS");
	unsigned long jobs = text ? strtoul(text, NULL, 10) : 2;

	return jobs < 1 ? 1 : jobs > SWEEP_MAX_JOBS ? SWEEP_MAX_JOBS : (unsigned int)jobs;
}

struct fault_task sweep_task(const struct fault_control *counted, size_t at)
{
	struct fault_task task = { .call = counted->calls[at] };

	for (size_t i = 0; i <= at; i++)
		task.turn += fault_alike(counted->calls[i], task.call);
	return task;
}

/* Whether the point is the first or the last of its place in the code. */
static bool is_edge(const struct fault_control *counted, size_t count, size_t at)
{
	bool first = true, last = true;

	for (size_t i = 0; i < at && first; i++)
		first = counted->calls[i].site != counted->calls[at].site;
	for (size_t i = at + 1; i < count && last; i++)
		last = counted->calls[i].site != counted->calls[at].site;
	return first || last;
}

/* Appends the ways in which one point fails. */
static void plan_point(const struct fault_control *counted, size_t at, enum sweep_plan plan,
		       size_t turn, struct fault_task *tasks, size_t *count)
{
	struct fault_task task = sweep_task(counted, at);
	int kinds[KINDS_MAX];
	size_t ways = 0;

	kinds_of(task.call, kinds);
	while (kinds[ways])
		ways++;
	for (size_t i = 0; i <= ways; i++) {
		if (plan == SWEEP_SITES && i != turn % (ways + 1))
			continue;
		/* The last way is the first one for good. */
		task.sticky = i == ways;
		task.kind = kinds[task.sticky ? 0 : i];
		tasks[(*count)++] = task;
	}
}

size_t sweep_make_plan(const struct fault_control *counted, enum sweep_plan plan,
		       struct fault_task **ret)
{
	size_t points = atomic_load(&counted->count), count = 0, turn = 0;
	struct fault_task *tasks;

	CU_ASSERT_FATAL(points < FAULT_MAX_POINTS);
	tasks = calloc(points * KINDS_MAX + 1, sizeof(*tasks));
	CU_ASSERT_FATAL(tasks != NULL);
	for (size_t i = 0; i < points; i++) {
		if (plan == SWEEP_ALL || is_edge(counted, points, i))
			plan_point(counted, i, plan, turn++, tasks, &count);
	}
	*ret = tasks;
	return count;
}

static void show(const char *name, const struct fault_task *task, const char *wrong)
{
	char kind[64];

	(void)fprintf(stderr, "\n    %s: %s at %#x, call %u: %s%s: %s\n", name,
		      function_name(task->call.function), task->call.site, task->turn,
		      kind_name(task->kind, kind, sizeof(kind)), task->sticky ? ", for good" : "",
		      wrong);
}

static void work(const char *name, unsigned int worker, unsigned int jobs,
		 const struct fault_task *tasks, size_t count, sweep_try_fn try, void *ctx,
		 atomic_uint *wrong)
{
	for (size_t i = worker; i < count; i += jobs) {
		const char *what = try(ctx, worker, &tasks[i]);

		if (what && atomic_fetch_add(wrong, 1) < MOST_SHOWN)
			show(name, &tasks[i], what);
	}
}

unsigned int sweep_run(const char *name, const struct fault_task *tasks, size_t count,
		       sweep_try_fn try, void *ctx)
{
	atomic_uint *wrong = sweep_share(sizeof(*wrong));
	unsigned int jobs = sweep_jobs(), total;
	pid_t workers[SWEEP_MAX_JOBS];

	(void)fflush(NULL);	/* else a worker could print it again */
	for (unsigned int i = 0; i < jobs; i++) {
		workers[i] = fork();
		if (workers[i] == 0) {
			work(name, i, jobs, tasks, count, try, ctx, wrong);
			_exit(0);
		}
		CU_ASSERT_FATAL(workers[i] > 0);
	}
	for (unsigned int i = 0; i < jobs; i++) {
		int status = -1;

		if (waitpid(workers[i], &status, 0) != workers[i] || status)
			atomic_fetch_add(wrong, 1);
	}
	total = atomic_load(wrong);
	(void)munmap(wrong, sizeof(*wrong));	/* it was mapped so */
	return total;
}

void sweep_count(size_t points, size_t runs)
{
	total_points += points;
	total_runs += runs;
}

void sweep_print(const char *name)
{
	(void)printf("%s: %zu points, %zu runs\n", name, total_points, total_runs);
}

/* nftw gives its function nothing of the caller's; workers are processes of their own. */
static const char *copied_from, *copied_to;

static void copy_file(const char *from, const char *to, mode_t mode)
{
	static char buf[1 << 17];
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	ssize_t len = 0;

	while (in >= 0 && out >= 0 && (len = read(in, buf, sizeof(buf))) > 0) {
		if (write(out, buf, (size_t)len) != len)
			break;
	}
	if (in < 0 || out < 0 || len || close(in) || close(out)) {
		perror(to);
		_exit(2);
	}
}

static int copy_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	char to[4096];

	(void)where;
	(void)snprintf(to, sizeof(to), "%s%s", copied_to, path + strlen(copied_from));
	if (kind == FTW_D)
		return mkdir(to, 0700) || chmod(to, info->st_mode & 07777);
	copy_file(path, to, info->st_mode & 0777);
	return 0;
}

void sweep_copy(const char *from, const char *to)
{
	copied_from = from;
	copied_to = to;
	if (nftw(from, copy_one, 16, FTW_PHYS)) {
		perror(from);
		_exit(2);
	}
}
