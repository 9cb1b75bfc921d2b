/* SPDX-License-Identifier: MIT */
/* store_run: each run is a forked process, in which the fault begins with the scenario. */
#include "tests/fault/store_run.h"

#include <sys/resource.h>

#include "tests/support/unit.h"

/* A run takes some milliseconds, the slowest one (a build that is waited for) a second. */
enum { PATIENCE_S = 60, RUNS = 3 };

static const struct scenario *scenario;
static char template[4096];
static uint32_t classes;
/* Of each worker; the first ones are the reference's too. */
static struct worker {
	struct fault_control *control;
	struct scenario_outcome *outcomes;	/* of a run with a fault, and two without */
	char directory[4200];
} workers[SWEEP_MAX_JOBS];
static struct fault_control *counted;
static struct scenario_outcome reference;
/* Of the process while the scenario runs for the first time; negative: none. */
static int limited_resource = -1;
static unsigned long resource_limit;
static bool preparing;	/* without the scenario's settings */

void store_run_begin(char **argv)
{
	struct fault_control *unused;

	/* Memory, where there is some: nothing here needs a disk. */
	if (access("/dev/shm", W_OK) == 0)
		(void)setenv("TMPDIR", "/dev/shm", 0);
	sweep_begin(argv, "libfault_store.so,libdeflate.so", &unused);
	for (unsigned int i = 0; i < sweep_jobs(); i++) {
		workers[i].control = sweep_share(sizeof(*workers[i].control));
		workers[i].outcomes = sweep_share(RUNS * sizeof(*workers[i].outcomes));
	}
}

static void set_environment(void)
{
	static const char *const always[] = {
		"CKCACHE_DIR=cache", "CKCACHE_READ_ONLY_DIRS=tier", "CKCACHE_BUILD_WAIT=1",
		"XDG_CONFIG_HOME=config", "HOME=home", "CKCACHE_LOG=debug",
	};
	char text[256];

	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		(void)putenv((char *)always[i]);
	for (size_t i = 0; !preparing && i < SCENARIO_SETTINGS && scenario->settings[i]; i++)
		(void)putenv((char *)scenario->settings[i]);
	/* The user's file has to be absolute. */
	if (getcwd(text, sizeof(text))) {
		(void)strncat(text, "/config", sizeof(text) - strlen(text) - 1);
		(void)setenv("XDG_CONFIG_HOME", text, 1);
	}
}

static void limit(bool on)
{
	static struct rlimit before;
	struct rlimit now;

	if (limited_resource < 0)
		return;
	if (on && getrlimit(limited_resource, &before))
		_exit(3);
	now = before;
	if (on)
		now.rlim_cur = resource_limit;
	if (setrlimit(limited_resource, &now))
		_exit(3);
}

/* In a process of its own, in the directory; never returns. */
static void run_here(const char *directory, struct fault_control *control,
		     void (*steps)(struct scenario_outcome *), struct scenario_outcome *outcomes,
		     unsigned int count)
{
	int log;

	(void)alarm(PATIENCE_S);
	/* A log in a file that may not grow would be the application's own mistake. */
	log = chdir(directory) ? -1 : open(limited_resource < 0 ? "log" : "/dev/null",
					 O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (log < 0 || dup2(log, STDERR_FILENO) < 0 || close(log))
		_exit(3);
	set_environment();
	for (unsigned int i = 0; i < count; i++) {
		sweep_use(control);	/* the clock is right again */
		atomic_store(&control->armed, i == 0 && control->classes != 0);
		if (i == 0)
			limit(true);
		steps(&outcomes[i]);
		if (i == 0)
			limit(false);
		atomic_store(&control->armed, 0);
		if (i + 1 == count)
			scenario_walk(&outcomes[i]);
		outcomes[i].ended = true;
	}
	_exit(0);
}

/* NULL: it has ended as it should. */
static const char *run_child(const char *directory, struct fault_control *control,
			     void (*steps)(struct scenario_outcome *),
			     struct scenario_outcome *outcomes, unsigned int count)
{
	static char text[64];
	pid_t child;
	int status;

	memset(outcomes, 0, count * sizeof(*outcomes));
	sweep_use(control);
	child = fork();
	if (child == 0)
		run_here(directory, control, steps, outcomes, count);
	while (child > 0 && waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return "waitpid";
	}
	if (child < 0)
		return "fork";
	if (WIFSIGNALED(status)) {
		(void)snprintf(text, sizeof(text), "ended by signal %d", WTERMSIG(status));
		return text;
	}
	return WEXITSTATUS(status) || !outcomes[count - 1].ended ? "it has not ended well" : NULL;
}

static void reset(struct fault_control *control)
{
	control->task = (struct fault_task){ 0 };
	control->classes = 0;
	atomic_store(&control->armed, 0);
	atomic_store(&control->count, 0);
	atomic_store(&control->alike, 0);
	atomic_store(&control->fired, 0);
	atomic_store(&control->files, 0);
	atomic_store(&control->blocks, 0);
}

static void write_text(const char *directory, const char *name, const char *text)
{
	char path[4400];

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	unit_write(path, text);
}

static const char *prepare_template(struct worker *worker)
{
	char command[8192];
	const char *wrong = NULL;

	(void)snprintf(template, sizeof(template), "%s/template", unit_dir());
	unit_remove(template);
	write_text(template, "x.h", "one");
	write_text(template, "home/empty", "");
	write_text(template, "config/ckcache/ckcache.conf",
		   "compression = 1 # of small images\nthreshold = 30\n");
	scenario_set_header("one");
	reset(worker->control);
	preparing = true;
	if (scenario->prepare)
		wrong = run_child(template, worker->control, scenario->prepare, worker->outcomes, 1);
	preparing = false;
	if (wrong)
		return wrong;
	if (scenario->shell) {
		(void)snprintf(command, sizeof(command), "cd %s && %s", template, scenario->shell);
		if (system(command))
			return scenario->shell;
	}
	write_text(template, "x.h", scenario->header ? scenario->header : "one");
	scenario_set_header(scenario->header ? scenario->header : "one");
	return NULL;
}

/* A directory as the scenario finds it. */
static void begin_run(struct worker *worker)
{
	unit_remove(worker->directory);
	sweep_copy(template, worker->directory);
	reset(worker->control);
}

const char *store_run_prepare(const struct scenario *which, unsigned int of_classes)
{
	struct worker *first = &workers[0];
	const char *wrong;

	scenario = which;
	classes = of_classes;
	for (unsigned int i = 0; i < sweep_jobs(); i++)
		(void)snprintf(workers[i].directory, sizeof(workers[i].directory), "%s/worker-%u",
			       unit_dir(), i);
	if (!counted)
		counted = sweep_share(sizeof(*counted));
	wrong = prepare_template(first);
	if (wrong)
		return wrong;
	begin_run(first);
	reset(counted);
	counted->classes = classes;
	wrong = run_child(first->directory, counted, scenario->run, first->outcomes, 1);
	reference = first->outcomes[0];
	if (!wrong && strstr(reference.text, "WRONG"))
		return "a wrong result without a fault";
	if (!wrong && (atomic_load(&counted->files) || atomic_load(&counted->blocks)))
		return "something is not given back, without a fault";
	return wrong;
}

const struct fault_control *store_run_counted(void)
{
	return counted;
}

const struct scenario_outcome *store_run_reference(void)
{
	return &reference;
}

static const char *check_left_behind(const struct worker *worker)
{
	if (atomic_load(&worker->control->files))
		return "a descriptor is left open";
	if (atomic_load(&worker->control->blocks))
		return "memory is not given back";
	return NULL;
}

static const char *check_healed(const struct worker *worker)
{
	for (int i = 1; i < RUNS; i++) {
		if (strcmp(worker->outcomes[i].text, reference.text) != 0)
			return "a wrong result afterwards";
	}
	if (worker->outcomes[2].builds && !scenario->builds_always)
		return "no hit in the third run";
	if (worker->outcomes[2].damaged)
		return "a damaged entry stays";
	return NULL;
}

static const char *run_once(struct worker *worker, const struct fault_task *task)
{
	struct fault_control *control = worker->control;
	const char *wrong;

	begin_run(worker);
	control->classes = classes;
	control->task = *task;
	(void)snprintf(control->tree, sizeof(control->tree), "%.500s/cache",
		       worker->directory);
	/* cachecore has no state of its own: the next cache in this process is as good as one in another. */
	wrong = run_child(worker->directory, control, scenario->run, worker->outcomes, RUNS);
	if (!wrong && strcmp(worker->outcomes[0].text, reference.text) != 0)
		wrong = "a wrong result";
	return wrong ? wrong : check_healed(worker);
}

const char *store_run_try(void *unused, unsigned int number, const struct fault_task *task)
{
	struct worker *worker = &workers[number];
	const char *wrong;

	(void)unused;
	wrong = run_once(worker, task);
	return wrong ? wrong : check_left_behind(worker);
}

const char *store_run_limited(int resource, unsigned long amount)
{
	const struct fault_task none = { 0 };
	const char *wrong;

	limited_resource = resource;
	resource_limit = amount;
	wrong = store_run_try(NULL, 0, &none);
	limited_resource = -1;
	return wrong;
}
