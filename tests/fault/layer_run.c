/* SPDX-License-Identifier: MIT */
/*
 * layer_run: processes in a worker's directory (their working directory, and
 * that of their relative paths), with an environment made from nothing.
 */
#include "tests/fault/layer_run.h"

#include <sys/mman.h>

#include "tests/support/unit.h"

enum { PATIENCE_S = 60, TEXT = 1 << 14 };

enum way {
	BARE,		/* without the layer */
	LAYERED,	/* and without the interposer */
	FAULTY,
};

static const struct layer *layer;
static const struct layer_case *current;
static char template[4096], reference[TEXT];
static int reference_files;
static struct worker {
	struct fault_control *control;
	char path[4200];	/* of the control */
	char directory[4200];
} workers[SWEEP_MAX_JOBS];
static struct fault_control *counted;

/* The words of a NULL-terminated list, behind those that are there. */
static void append(const char **to, size_t *count, const char *const *words)
{
	for (size_t i = 0; words[i]; i++)
		to[(*count)++] = words[i];
}

static void start_program(const struct worker *worker, enum way way)
{
	static char preload[4200], control[4300], objects[512], tsan[4200];
	const char *arguments[LAYER_ARGUMENTS + 2] = { layer->program };
	const char *environment[2 * LAYER_VARIABLES + 8];
	size_t count = 0, argument = 1;
	bool both = way == FAULTY && layer->preloaded;
	int out, err;

	append(environment, &count, layer->variables);
	environment[count++] = "ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0";
	(void)snprintf(tsan, sizeof(tsan), "TSAN_OPTIONS=%s", unit_tsan_options());
	environment[count++] = tsan;
	if (way != BARE)
		append(environment, &count, layer->own);
	(void)snprintf(preload, sizeof(preload), "LD_PRELOAD=%s%s%s",
		       way == FAULTY ? INTERPOSER_LIBRARY : "", both ? ":" : "",
		       way != BARE && layer->preloaded ? layer->preloaded : "");
	(void)snprintf(control, sizeof(control), "FAULT_CONTROL=%s", worker->path);
	(void)snprintf(objects, sizeof(objects), "FAULT_OBJECTS=%s", layer->objects);
	environment[count++] = preload;
	if (way == FAULTY) {
		environment[count++] = control;
		environment[count++] = objects;
	}
	environment[count] = NULL;
	append(arguments, &argument, current->arguments);
	arguments[argument] = NULL;
	if (chdir(worker->directory))
		_exit(3);
	out = open("out", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	err = open("err", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
		_exit(3);
	(void)alarm(PATIENCE_S);	/* outlives exec; cannot fail */
	(void)execve(layer->program, (char *const *)arguments, (char *const *)environment);
	_exit(126);
}

static void read_text(const struct worker *worker, const char *name, char text[TEXT])
{
	char path[4400];
	ssize_t len;
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", worker->directory, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? 0 : read(fd, text, TEXT - 1);
	text[len > 0 ? len : 0] = '\0';
	if (fd >= 0)
		(void)close(fd);	/* only read */
}

/* The first line that is another. */
static const char *differ(const char *text)
{
	static char wrong[512];
	const char *a = reference, *b = text;

	while (*a == *b && *a) {
		a++;
		b++;
	}
	while (a > reference && a[-1] != '\n') {
		a--;
		b--;
	}
	(void)snprintf(wrong, sizeof(wrong), "it has printed\n\t%.*s\n    in place of\n\t%.*s",
		       (int)strcspn(b, "\n"), b, (int)strcspn(a, "\n"), a);
	return wrong;
}

/* NULL: it has ended with 0 and printed what it does without the layer. */
static const char *run(const struct worker *worker, enum way way)
{
	static char text[TEXT], wrong[64];
	pid_t child = fork();
	int status;

	if (child == 0)
		start_program(worker, way);
	while (child > 0 && waitpid(child, &status, 0) < 0) {
		if (errno != EINTR)
			return "waitpid";
	}
	if (child < 0)
		return "fork";
	if (status) {
		(void)snprintf(wrong, sizeof(wrong), "it ended with status %#x",
			       (unsigned int)status);
		return wrong;
	}
	read_text(worker, "out", text);
	if (way == BARE)
		memcpy(reference, text, sizeof(reference));
	return strcmp(text, reference) != 0 ? differ(text) : NULL;
}

/* How often the stub driver has compiled in the runs of this directory. */
static unsigned int compilations(const struct worker *worker)
{
	static char text[TEXT];
	size_t len = strlen(layer->compiled);
	unsigned int count = 0;

	read_text(worker, "counts", text);
	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		count += !strncmp(line, layer->compiled, len) && line[len] == '\n';
		if (!strchr(line, '\n'))
			break;
	}
	return count;
}

static void reset(struct fault_control *control)
{
	memset(control, 0, offsetof(struct fault_control, calls));
	control->classes = FAULT_FILES | FAULT_MEMORY | FAULT_THREADS;
	atomic_store(&control->armed, 1);
}

static void begin_run(struct worker *worker)
{
	unit_remove(worker->directory);
	sweep_copy(template, worker->directory);
	reset(worker->control);
}

static void make_worker(unsigned int number)
{
	struct worker *worker = &workers[number];
	int fd;

	(void)snprintf(worker->directory, sizeof(worker->directory), "%s/worker-%u", unit_dir(),
		       number);
	(void)snprintf(worker->path, sizeof(worker->path), "%s/control-%u", unit_dir(), number);
	fd = open(worker->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CU_ASSERT_FATAL(fd >= 0 && ftruncate(fd, sizeof(*worker->control)) == 0);
	worker->control = mmap(NULL, sizeof(*worker->control), PROT_READ | PROT_WRITE, MAP_SHARED,
			       fd, 0);
	CU_ASSERT_FATAL(worker->control != MAP_FAILED);
	(void)close(fd);	/* it stays mapped */
}

const char *layer_run_prepare(const struct layer *which, const struct layer_case *one)
{
	struct worker *first = &workers[0];
	const char *wrong;

	layer = which;
	current = one;
	(void)snprintf(template, sizeof(template), "%s/template", unit_dir());
	unit_write("template/home/empty", "");
	unit_write("template/vendors/driver.icd", OPENCL_STUB "\n");
	for (unsigned int i = 0; i < sweep_jobs(); i++)
		make_worker(i);
	counted = first->control;
	begin_run(first);
	wrong = run(first, BARE);
	unit_remove(first->directory);
	sweep_copy(template, first->directory);
	if (!wrong && current->warm) {
		wrong = run(first, LAYERED);
		unit_remove(template);
		sweep_copy(first->directory, template);
	}
	if (wrong)
		return wrong;
	begin_run(first);
	wrong = run(first, FAULTY);
	reference_files = atomic_load(&first->control->files);
	counted = sweep_share(sizeof(*counted));
	memcpy(counted, first->control, sizeof(*counted));
	return wrong;
}

const struct fault_control *layer_run_counted(void)
{
	return counted;
}

const char *layer_run_try(void *unused, unsigned int number, const struct fault_task *task)
{
	struct worker *worker = &workers[number];
	unsigned int before;
	const char *wrong;

	(void)unused;
	begin_run(worker);
	worker->control->task = *task;
	wrong = run(worker, FAULTY);
	if (wrong)
		return wrong;
	if (atomic_load(&worker->control->files) > reference_files)
		return "a descriptor is left open";
	wrong = run(worker, LAYERED);
	if (wrong)
		return wrong;
	before = compilations(worker);
	wrong = run(worker, LAYERED);
	if (wrong)
		return wrong;
	return !current->fails && compilations(worker) != before ? "no hit in the third run" : NULL;
}
