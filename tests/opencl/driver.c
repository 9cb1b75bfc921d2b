/* SPDX-License-Identifier: MIT */
/* driver: which drivers there are, the child's environment, and its run. */
#include "tests/opencl/driver.h"

#include <ftw.h>
#include <glob.h>

#include "tests/support/unit.h"

enum { MAX_VARIABLES = 32, MAX_ARGUMENTS = 16, PATIENCE_S = 300, NOBODY = 54321, PATH = 4160 };

static const struct driver drivers[] = {
	{ "stub", STUB_LIBRARY, { NULL }, NULL, false, NULL, NULL },
	/* A device without hardware; drivers since 2023 want the second line, and have a cache of their own. */
	{ "neo", "/usr/lib/*/intel-opencl/libigdrcl.so",
	  { "NEOReadDebugKeys=1", "SetCommandStreamReceiver=1", "ProductFamilyOverride=tgllp",
	    "HardwareInfoOverride=1x6x16", "UseAubStream=0", "NEO_CACHE_PERSISTENT=0" }, NULL, false, NULL, NULL },
	{ "rusticl", "/usr/lib/*/libRusticlOpenCL.so.1", { "RUSTICL_ENABLE=llvmpipe" }, NULL, true, NULL, NULL },
	{ "pocl", "/usr/lib/*/libpocl.so.2*", { NULL }, "eager", true, NULL, NULL },
	/* pocl's device of Level Zero, which is NEO's without hardware: its compiler runs llvm-spirv. */
	{ "level0", "/usr/lib/*/pocl/libpocl-devices-level0.so",
	  { "POCL_DEVICES=level0", "ZE_ENABLE_ALT_DRIVERS=libze_intel_gpu.so.1", "NEOReadDebugKeys=1",
	    "SetCommandStreamReceiver=1", "ProductFamilyOverride=tgllp", "HardwareInfoOverride=1x6x16",
	    "UseAubStream=0", "NEO_CACHE_PERSISTENT=0" }, NULL, false, "../libpocl.so.2", NULL },
	/* By hand, where there is such a device. */
	{ "nvidia", "/usr/{lib,lib/*,local/nvidia/*}/libnvidia-opencl.so.1", { "CUDA_CACHE_DISABLE=1" }, NULL, true, NULL, NULL },
	{ "oclgrind", "/usr/lib/oclgrind/liboclgrind-rt-icd.so", { NULL }, NULL, true, NULL, NULL },
	/* It compiles for devices that are not there. */
	{ "amd", "/usr/l*/*/libamdocl64.so", { "AMD_COMGR_CACHE=0" }, NULL, false, NULL, OFFLINE_AMD },
};

static const struct driver *selected;
static char library[PATH];
static struct variable {
	char name[64];
	char value[4096];
} variables[MAX_VARIABLES];
static unsigned int variable_count, run_count;
static const char *shell, *program;
static bool as_nobody, own_caches;
/* What other users run: copies, since the build may lie where only its owner gets. */
static char copied_client[PATH], copied_layer[PATH];

/* What outcomes of the running test have. */
static char **texts;
static size_t text_count;

static void free_texts(void)
{
	while (text_count)
		free(texts[--text_count]);
	free(texts);
	texts = NULL;
}

const struct driver *driver_select(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "stub";
	glob_t found;

	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		if (!strcmp(drivers[i].name, name))
			selected = &drivers[i];
	}
	if (!selected) {
		(void)fprintf(stderr, "no such driver: %s\n", name);
		exit(2);
	}
	if (glob(selected->library, GLOB_BRACE, NULL, &found)) {
		(void)fprintf(stderr, "SKIPPED: the driver %s (%s) is not installed\n", name,
			      selected->library);
		exit(unit_driver_required(name) ? 1 : DRIVER_SKIPPED);
	}
	(void)snprintf(library, sizeof(library), "%.*s%s",
		       selected->beside ? (int)(strrchr(found.gl_pathv[0], '/') + 1 - found.gl_pathv[0]) : PATH,
		       found.gl_pathv[0], selected->beside ? selected->beside : "");
	globfree(&found);
	unit_each(driver_begin, free_texts);
	return selected;
}

const struct driver *driver_selected(void)
{
	return selected;
}

void driver_install(const char *path)
{
	char through[PATH];

	if (!selected->through || strcmp(path, library) == 0) {
		unit_write("vendors/driver.icd", selected->through ? selected->through : path);
		return;
	}
	/* It finds the driver beside itself. */
	(void)snprintf(through, sizeof(through), "%.*s/through.so", (int)(strrchr(path, '/') - path), path);
	CU_ASSERT_FATAL(symlink(selected->through, through) == 0 || errno == EEXIST);
	unit_write("vendors/driver.icd", through);
}

bool driver_is(const char *name)
{
	return !strcmp(selected->name, name);
}

const char *driver_library(void)
{
	return library;
}

void driver_setenv(const char *name, const char *value)
{
	struct variable *variable = NULL;

	for (unsigned int i = 0; i < variable_count; i++) {
		if (!strcmp(variables[i].name, name))
			variable = &variables[i];
	}
	if (!variable && !value)
		return;
	if (!variable) {
		CU_ASSERT_FATAL(variable_count < MAX_VARIABLES);
		variable = &variables[variable_count++];
	}
	(void)snprintf(variable->name, sizeof(variable->name), "%s", value ? name : "");
	(void)snprintf(variable->value, sizeof(variable->value), "%s", value ? value : "");
}

static void set_below(const char *name, const char *path)
{
	char full[4096];

	(void)snprintf(full, sizeof(full), "%s/%s", unit_dir(), path);
	driver_setenv(name, full);
}

/* What a sanitizer's runtime needs to know, and nothing else, comes from outside. */
static void set_sanitizers(void)
{
	driver_setenv("UBSAN_OPTIONS", getenv("UBSAN_OPTIONS"));
	driver_setenv("TSAN_OPTIONS", unit_tsan_options());
	/* Real drivers leave their compilers behind at exit. */
	driver_setenv("ASAN_OPTIONS", "detect_leaks=0");
}

static char shaders[PATH];

static void remove_shaders(void)
{
	unit_remove(shaders);
}

/*
 * For all tests of the process, since rusticl 26 takes seconds to read its built-ins where Mesa's
 * cache does not have them. rusticl 25's has programs as well: clients with the layer have their
 * own, so that none without it compiles for them.
 */
static void set_shader_cache(enum driver_layer layer)
{
	static bool made;
	char path[PATH + sizeof("/layered")];

	if (!made) {
		made = true;
		(void)snprintf(shaders, sizeof(shaders), "%s/ckcache-mesa-XXXXXX",
			       getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
		CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(shaders));
		CU_ASSERT_EQUAL_FATAL(atexit(remove_shaders), 0);
		CU_ASSERT_EQUAL_FATAL(chmod(shaders, 0755), 0);
	}
	(void)snprintf(path, sizeof(path), "%s/%s", shaders, layer == LAYERED ? "layered" : "bare");
	/* Clients of the user nobody write there, too. */
	CU_ASSERT_FATAL(mkdir(path, 0777) == 0 ? chmod(path, 0777) == 0 : errno == EEXIST);
	driver_setenv("MESA_SHADER_CACHE_DIR", path);
}

/* In the test's directory, where other users may come to. */
static char *set_path(char *ret_path, const char *name)
{
	(void)snprintf(ret_path, PATH, "%s/%s", unit_dir(), name);
	return ret_path;
}

static void copy(const char *path, const char *to)
{
	char command[16384];

	(void)snprintf(command, sizeof(command), "cp '%s' '%s' && chmod 755 '%s'", path, to, to);
	CU_ASSERT_EQUAL_FATAL(system(command), 0);
}

void driver_begin(void)
{
	variable_count = 0;
	shell = NULL;
	program = CLIENT_PROGRAM;
	as_nobody = false;
	own_caches = false;
	copied_client[0] = '\0';
	copied_layer[0] = '\0';
	/* Keys have its path, so that it is the same for all users. */
	if (geteuid() == 0 && !strcmp(selected->library, STUB_LIBRARY))
		copy(STUB_LIBRARY, set_path(library, "libstub_driver.so"));
	driver_install(library);
	unit_write("home/empty", "");
	unit_write("work/empty", "");
	/* Another loader than the system's, to be tried by hand. */
	driver_setenv("LD_LIBRARY_PATH", getenv("CKCACHE_TEST_LOADER_DIR"));
	driver_setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
	set_below("HOME", "home");
	set_below("OCL_ICD_VENDORS", "vendors");
	/* Whoever looks for all devices finds none of the machine's own Level Zero driver. */
	driver_setenv("ZE_ENABLE_ALT_DRIVERS", "libze_none.so");
	set_below("CKCACHE_DIR", "cache");
	set_below("CKCACHE_READ_ONLY_DIRS", "no-such-tier");
	driver_setenv("CKCACHE_REPLAY", "0");
	set_below("STUB_COUNTS", "counts");
	set_below("STUB_SETTINGS", "settings");
	set_below("POCL_CACHE_DIR", "pocl");
	driver_setenv("CKCACHE_CAPTURE", selected->capture);
	for (size_t i = 0; i < sizeof(selected->environment) / sizeof(selected->environment[0]) && selected->environment[i]; i++) {
		char name[64];
		const char *equal = strchr(selected->environment[i], '=');

		(void)snprintf(name, sizeof(name), "%.*s", (int)(equal - selected->environment[i]),
			       selected->environment[i]);
		driver_setenv(name, equal + 1);
	}
	set_sanitizers();
}

void driver_own_caches(void)
{
	static const char *const names[] = { "NEO_CACHE_PERSISTENT", "MESA_SHADER_CACHE_DIR", "POCL_CACHE_DIR",
					     "CUDA_CACHE_DISABLE", "AMD_COMGR_CACHE" };

	own_caches = true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		driver_setenv(names[i], NULL);
	set_below("XDG_CACHE_HOME", "home/.cache");	/* Mesa asks for the user's entry, not for HOME */
}

void driver_stub_as(const char *name)
{
	char path[PATH];

	(void)snprintf(path, sizeof(path), "%s/%s", unit_dir(), name);
	(void)unlink(path);	/* of an earlier time in the same test */
	CU_ASSERT_EQUAL_FATAL(symlink(library, path), 0);
	unit_write("vendors/driver.icd", path);
}

void driver_stub_setting(const char *name, const char *value)
{
	char line[256];

	(void)snprintf(line, sizeof(line), "%s=%s\n", name ? name : "", value ? value : "");
	unit_write("settings", line);
}

void driver_shell(const char *command)
{
	shell = command;
}

void driver_program(const char *path)
{
	program = path;
}

static int give_away(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	(void)info;
	(void)kind;
	(void)where;
	return lchown(path, NOBODY, NOBODY);
}

bool driver_as_nobody(void)
{
	const char *layer = getenv("CKCACHE_TEST_LAYER");

	if (geteuid() != 0)
		return false;
	as_nobody = true;
	copy(program, set_path(copied_client, "client"));
	program = copied_client;
	copy(layer ? layer : LAYER_LIBRARY, set_path(copied_layer, "libckcache_opencl.so"));
	CU_ASSERT_EQUAL(nftw(unit_dir(), give_away, 16, FTW_PHYS), 0);
	return true;
}

static int open_output(unsigned int number, const char *kind)
{
	char path[4096];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/run-%u.%s", unit_dir(), number, kind);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0666);
	CU_ASSERT_FATAL(fd >= 0);
	return fd;
}

static bool is_set(const char *name)
{
	for (unsigned int i = 0; i < variable_count; i++) {
		if (!strcmp(variables[i].name, name))
			return true;
	}
	return false;
}

static void in_child(enum driver_layer layer, const char **command, int out, int err)
{
	static char text[MAX_VARIABLES + 2][4200];
	char *environment[MAX_VARIABLES + 3], work[4096];
	size_t count = 0;

	for (unsigned int i = 0; i < variable_count; i++) {
		if (!*variables[i].name)
			continue;
		if (snprintf(text[count], sizeof(text[count]), "%s=%s", variables[i].name,
			     variables[i].value) >= (int)sizeof(text[count]))
			_exit(2);	/* a longer value is the test's mistake */
		environment[count] = text[count];
		count++;
	}
	if (layer == LAYERED) {
		const char *path = getenv("CKCACHE_TEST_LAYER");

		if (*copied_layer)
			path = copied_layer;
		(void)snprintf(text[count], sizeof(text[count]), "OPENCL_LAYERS=%s",
			       path ? path : LAYER_LIBRARY);
		environment[count] = text[count];
		count++;
	}
	/* What leaks, or unlocks too much, fails (guard.c); a real driver leaves its compiler behind. */
	if (driver_is("stub") && !as_nobody && !is_set("LD_PRELOAD")) {
		(void)snprintf(text[count], sizeof(text[count]), "LD_PRELOAD=%s", GUARD);
		environment[count] = text[count];
		count++;
	}
	environment[count] = NULL;
	(void)snprintf(work, sizeof(work), "%s/work", unit_dir());
	if (chdir(work) || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
		_exit(3);
	if (as_nobody && (setgid(NOBODY) || setuid(NOBODY)))
		_exit(3);
	(void)alarm(PATIENCE_S);	/* outlives exec; cannot fail */
	(void)execve(command[0], (char *const *)command, environment);
	_exit(126);
}

static struct running start(enum driver_layer layer, const char **command)
{
	struct running running = { .number = run_count++ };
	int out = open_output(running.number, "out"), err = open_output(running.number, "err");

	if (driver_is("rusticl") && !own_caches)
		set_shader_cache(layer);
	(void)fflush(NULL);	/* else the child could print it again */
	running.pid = fork();
	if (running.pid == 0)
		in_child(layer, command, out, err);
	CU_ASSERT_FATAL(running.pid > 0);
	(void)close(out);	/* the child has them */
	(void)close(err);
	return running;
}

/*
 * pocl's own cache is another one for clients with the layer: what those without it compiled would be
 * left to replay. It is at the same place, since logs name it; no test runs both at once there.
 */
static void set_pocl_cache(enum driver_layer layer)
{
	static enum driver_layer last = LAYERED;
	static const char *const names[] = { [BARE] = "pocl.bare", [LAYERED] = "pocl.layered" };
	char cache[PATH], other[PATH];

	if (layer == last)
		return;
	set_path(cache, "pocl");
	CU_ASSERT_FATAL(rename(cache, set_path(other, names[last])) == 0 || errno == ENOENT);
	CU_ASSERT_FATAL(rename(set_path(other, names[layer]), cache) == 0 || errno == ENOENT);
	last = layer;
}

struct running driver_start(enum driver_layer layer, const char *const *arguments)
{
	const char *command[MAX_ARGUMENTS + 8];
	size_t count = 0;

	if ((driver_is("pocl") || driver_is("level0")) && !own_caches)
		set_pocl_cache(layer);
	if (shell) {
		command[count++] = "/bin/sh";
		command[count++] = "-c";
		command[count++] = shell;
		command[count++] = "sh";
	}
	command[count++] = program;
	if (!selected->executes)
		command[count++] = "-n";
	for (size_t i = 0; arguments[i] && i < MAX_ARGUMENTS; i++)
		command[count++] = arguments[i];
	command[count] = NULL;
	return start(layer, command);
}

const char *driver_client_path(void)
{
	return CLIENT_PROGRAM;
}

struct running driver_tool_start(const char *const *arguments)
{
	const char *command[MAX_ARGUMENTS + 2] = { CKCACHE_PROGRAM };

	for (size_t i = 0; arguments[i] && i < MAX_ARGUMENTS; i++)
		command[i + 1] = arguments[i];
	return start(BARE, command);
}

static char *read_output(unsigned int number, const char *kind)
{
	char path[4096], *text = NULL;
	size_t size = 0;
	FILE *file;
	ssize_t len;

	(void)snprintf(path, sizeof(path), "%s/run-%u.%s", unit_dir(), number, kind);
	file = fopen(path, "r");
	CU_ASSERT_FATAL(file != NULL);
	len = getdelim(&text, &size, '\0', file);
	(void)fclose(file);	/* only read */
	if (len <= 0) {
		free(text);
		text = strdup("");
	}
	CU_ASSERT_FATAL(text != NULL);
	texts = reallocarray(texts, text_count + 1, sizeof(*texts));
	CU_ASSERT_FATAL(texts != NULL);
	texts[text_count++] = text;
	return text;
}

/* What rusticl 26 says of its build, not of what it is asked. */
static void drop_warning(char *text)
{
	static const char mark[] = "=== Rusticl warning:";

	for (char *at = text; (at = strstr(at, mark)); ) {
		char *end = at + strcspn(at, "\n");

		end += *end == '\n';
		memmove(at, end, strlen(end) + 1);
	}
}

struct outcome driver_wait(struct running running)
{
	struct outcome outcome = { 0 };
	int status = 0;

	while (waitpid(running.pid, &status, 0) < 0)
		CU_ASSERT_FATAL(errno == EINTR);
	outcome.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	outcome.output = read_output(running.number, "out");
	outcome.errors = read_output(running.number, "err");
	drop_warning(outcome.errors);
	return outcome;
}

struct outcome driver_client(enum driver_layer layer, const char *const *arguments)
{
	return driver_wait(driver_start(layer, arguments));
}

struct outcome driver_tool(const char *const *arguments)
{
	return driver_wait(driver_tool_start(arguments));
}
