/* SPDX-License-Identifier: MIT */
/*
 * test_observer: what a library looks for is seen, in each way and however it
 * was linked; what it makes is its own; what cannot be seen is known as such.
 */
#include "tests/unit/layers/shared/observer/observing.h"

#include <dlfcn.h>
#include <fnmatch.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/time.h>

#include "common/clock.h"
#include "layers/shared/driver/environment.h"
#include "layers/shared/observer/got_slots.h"
#include "layers/shared/observer/hooked_objects.h"
#include "layers/shared/observer/observer_notes.h"
#include "tests/support/clock.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

static void *early;		/* a copy of the library, loaded before the first build */
static atomic_int notes;	/* so many calls were noted */

static const struct {
	const char *how;
	bool opens;
} ways[] = {
	{ "open", true }, { "openat", true }, { "fopen", true }, { "temporary", true },
	{ "stat", false }, { "lstat", false }, { "fstatat", false }, { "statx", false },
	{ "access", false }, { "faccessat", false }, { "realpath", false },
	{ "statfs", false }, { "statvfs", false }, { "inotify", false },
	{ "open_2", true }, { "openat_2", true }, { "freopen", true }, { "euidaccess", false },
	{ "eaccess", false }, { "xstat", false }, { "fstatat-link", false }, { "readlink", false },
	{ "readlinkat", false }, { "canonicalize", false }, { "lxstat", false }, { "fxstatat", false },
};

TEST(each_way_of_looking_is_seen)
{
	unit_write("there.h", "text");
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		EXPECT_DEPENDS(watch(ways[i].how, "there.h"),
			       ways[i].opens ? CC_DEPENDENCY_FILE : CC_DEPENDENCY_SEEN, "there.h");
		EXPECT_DEPENDS(watch(ways[i].how, "absent.h"), CC_DEPENDENCY_ABSENT, "absent.h");
		EXPECT_DEPENDS(watch(ways[i].how, "."), CC_DEPENDENCY_PLACE, ".");
	}
}

static char mapped[2][8192];	/* how the library's pages are mapped: at the start, and now */

static void read_mappings(char ret[8192])
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4500];

	ret[0] = '\0';
	while (maps && fgets(line, sizeof(line), maps)) {
		if (strstr(line, library_path) && strlen(ret) + strlen(line) < 8192)
			strcat(ret, line);
	}
	if (maps)
		(void)fclose(maps);	/* only read */
}

/* What is read-only once it is relocated is so again. */
TEST(pages_are_mapped_as_they_were)
{
	CU_ASSERT_EQUAL(watch("stat", "there.h"), CMN_OK);
	read_mappings(mapped[1]);
	CU_ASSERT_STRING_EQUAL(mapped[0], mapped[1]);
	CU_ASSERT(strlen(mapped[0]) > 0);
}

TEST(nothing_looked_for_is_no_dependency)
{
	struct drv_observation *observation = begin(false);

	CU_ASSERT_EQUAL(end_with(observation, NULL, false), CMN_OK);
	CU_ASSERT_PTR_NULL(manifest);
	/* A source that includes something must have been looked at. */
	EXPECT_UNKNOWN(end_with(begin(false), NULL, true), "files-unseen");
}

TEST(a_path_below_a_descriptor_has_its_whole_name)
{
	unit_write("sub/there.h", "text");
	CU_ASSERT_EQUAL(watch("openat-directory", "there.h"), CMN_OK);
	CU_ASSERT(depends_on(CC_DEPENDENCY_FILE, unit_path("sub/there.h")));
}

TEST(what_is_made_meanwhile_is_no_dependency)
{
	EXPECT_COUNT(watch("write", "own"), 0);
	EXPECT_COUNT(watch("cache", "cached"), 0);
	EXPECT_COUNT(watch("exchange", "exchanged"), 0);
	EXPECT_COUNT(watch("mkdir", "made-too"), 0);
	EXPECT_COUNT(watch("mkdtemp", ""), 0);
	/* What was there before it was written is. */
	unit_write("old", "text");
	EXPECT_COUNT(watch("temporary", "old"), 1);
	EXPECT_COUNT(watch("open-update", "old"), 0);
	EXPECT_COUNT(watch("fopen-update", "old"), 0);
}

/* What could not be written or moved was only looked for. */
TEST(what_could_not_be_made_is_not_its_own)
{
	unit_write("there.h", "text");
	EXPECT_DEPENDS(watch("rename-nothing", "there.h"), CC_DEPENDENCY_FILE, "there.h");
	EXPECT_DEPENDS(watch("write-nowhere", "absent/x.h"), CC_DEPENDENCY_ABSENT, "absent/x.h");
}

TEST(calls_are_as_they_were)
{
	static char text[8192];

	memset(text, '1', 4096);
	memset(text + 4096, '2', 4096);
	unit_write_bytes("two-pages", text, sizeof(text));
	CU_ASSERT_EQUAL(watch("syscall-six", "two-pages"), CMN_OK);
}

/* Longer than any path: it cannot be found again. */
TEST(a_path_that_is_too_long_is_told)
{
	char name[251], here[8192];

	memset(name, 'd', 200);
	name[200] = '\0';
	while (getcwd(here, sizeof(here)) && strlen(here) < 3890) {
		CU_ASSERT_EQUAL_FATAL(mkdir(name, 0700), 0);
		CU_ASSERT_EQUAL_FATAL(chdir(name), 0);
	}
	memset(name, 'n', 250);
	name[250] = '\0';
	strcat(here, "/");
	CU_ASSERT(strlen(here) + strlen(name) >= 4096);
	EXPECT_UNKNOWN(watch("openat-here", name), "header-unreadable");
}

/* Whether the row has a pattern for the path. */
static bool is_cached(const char *library, const char *path)
{
	const struct drv_driver *driver = drv_driver_of(library);

	for (size_t i = 0; i < DRV_LISTS && driver->cached[i]; i++) {
		if (fnmatch(driver->cached[i], path, 0) == 0)
			return true;
	}
	return false;
}

TEST(names_in_caches_are_no_headers)
{
	static const char mesa[] = "libRusticlOpenCL.so.1", neo[] = "libigdrcl.so";
	static const char sum[] = "0d050400b5460f4092d0391f76b9a6cad99e07a9ede385b62327fc7a604e60";
	char path[256];

	(void)snprintf(path, sizeof(path), "/home/me/.cache/mesa_shader_cache/af/%s.tmp", sum);
	CU_ASSERT(is_cached(mesa, path));
	path[strlen(path) - 4] = '\0';
	CU_ASSERT(is_cached(mesa, path));
	CU_ASSERT(is_cached(mesa, "/home/me/.cache/mesa_shader_cache/af"));
	CU_ASSERT_FALSE(is_cached(mesa, "/home/me/.cache/mesa_shader_cache/af/face.h"));
	CU_ASSERT_FALSE(is_cached(mesa, "/home/me/.cache/mesa_shader_cache"));
	CU_ASSERT_FALSE(is_cached(mesa, "mesa_shader_cache/af"));
	CU_ASSERT(is_cached(neo, "cl_cache/0123456789abcdef.cl_cache"));
	CU_ASSERT_FALSE(is_cached(neo, "./my.cl_cache"));
}

TEST(what_cannot_be_told_is_said)
{
	static const struct {
		const char *how, *path, *reason;
	} rows[] = {
		{ "list", "/proc", "directory-listed" }, { "time", "", "date" },
		{ "syscall", "there.h", "system-call" }, { "process", "", "other-process" },
		{ "chdir", ".", "directory-changed" }, { "readlink", "link", "header-unreadable" },
		{ "open", "/proc/self/stat", "header-unreadable" },
		{ "vfork", "", "other-process" }, { "spawn", "", "other-process" },
		{ "system", "", "other-process" }, { "popen", "", "other-process" },
		{ "clone", "", "other-process" }, { "words", "*.h", "other-process" },
		{ "glob", "*.h", "directory-listed" }, { "ftw", ".", "directory-listed" },
		{ "nftw", ".", "directory-listed" }, { "fts", ".", "directory-listed" },
		{ "scandirat", ".", "directory-listed" },
		{ "xattr", "there.h", "header-unreadable" },
		{ "handle", "there.h", "header-unreadable" },
		{ "linkat", "there.h", "file-made" }, { "symlinkat", "there.h", "file-made" },
		{ "ctime", "", "date" },
		{ "open", "loop", "header-unreadable" }, { "stat", "loop", "header-unreadable" },
		{ "readlinkat", "link", "header-unreadable" }, { "gmtime", "", "date" },
		{ "syscall-statx", "there.h", "system-call" }, { "spawn-path", "", "other-process" },
		{ "fchdir", ".", "directory-changed" }, { "link", "there.h", "file-made" },
		{ "symlink", "there.h", "file-made" }, { "stat", "/dev/ptmx", "header-unreadable" },
		{ "exec-nowhere", "absent", "other-process" }, { "swap", "there.h", "file-made" },
	};

	unit_write("there.h", "text");
	CU_ASSERT_EQUAL(symlink("there.h", "link"), 0);
	CU_ASSERT_EQUAL(symlink("loop", "loop"), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CU_ASSERT_EQUAL(watch(rows[i].how, rows[i].path), CMN_MISS);
		CU_ASSERT_STRING_EQUAL(reason, rows[i].reason);
		if (strcmp(reason, rows[i].reason) != 0)
			(void)fprintf(stderr, "%s: %s\n", rows[i].how, reason);
	}
}

/* It matters where an option is not known, and does not show that the driver cannot be observed. */
TEST(what_is_said_is_told)
{
	static const char *const said[] = {
		"say-write", "say-writev", "say-send", "say-syscall", "say-nothing", "say-fwrite", "say-fwrite_unlocked",
		"say-fputs", "say-fputs_unlocked", "say-fputc", "say-putc", "say-fputc_unlocked", "say-putc_unlocked",
		"say-overflow", "say-putwc", "say-putchar", "say-putchar_unlocked", "say-puts", "say-printf",
		"say-fprintf", "say-dprintf", "say-printf_chk", "say-fprintf_chk", "say-dprintf_chk", "say-vprintf",
		"say-vprintf_chk", "say-vfprintf", "say-vfprintf_chk", "say-vdprintf", "say-vdprintf_chk", "say-perror",
	};
	static const char *const unsaid[] = { "say-temporary", "say-null", "stat" };
	struct drv_observation *observation;

	for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		CU_ASSERT_EQUAL(watch(said[i], ""), CMN_OK);
		observation = begin(false);
		observed(said[i], "");
		EXPECT_UNKNOWN(end_unproven(observation), "message-made");
		if (strcmp(reason, "message-made") != 0)
			(void)fprintf(stderr, "%s: %s\n", said[i], reason);
	}
	for (size_t i = 0; i < sizeof(unsaid) / sizeof(unsaid[0]); i++) {
		observation = begin(false);
		observed(unsaid[i], "there.h");
		CU_ASSERT_EQUAL(end_unproven(observation), CMN_OK);
	}
}

TEST(what_lists_a_directory_is_told_its_names)
{
	static const char *const listings[] = { "list", "getdents", "unwind", "scandir", "fdopendir" };

	unit_write("sub/there.h", "text");
	for (size_t i = 0; i < sizeof(listings) / sizeof(listings[0]); i++) {
		enum cmn_status status = watch(listings[i], "sub");

		CU_ASSERT_EQUAL(status, CMN_OK);
		/* Or as the kernel calls it. */
		CU_ASSERT(depends_on(CC_DEPENDENCY_NAMES, "sub/") ||
			  depends_on(CC_DEPENDENCY_NAMES, unit_path("sub/")));
		if (status != CMN_OK)
			(void)fprintf(stderr, "%s: %s\n", listings[i], reason);
	}
}

TEST(devices_and_system_directories_are_no_files)
{
	EXPECT_COUNT(watch("open", "/dev/null"), 0);
	EXPECT_COUNT(watch("access", "/proc/self/fd"), 0);
	CU_ASSERT_EQUAL(mkfifo("fifo", 0600), 0);
	EXPECT_UNKNOWN(watch("stat", "fifo"), "header-unreadable");
}

TEST(a_file_that_changes_meanwhile_is_noticed)
{
	struct drv_observation *observation;

	unit_write("there.h", "one");
	observation = begin(false);
	observed("open", "there.h");
	unit_write("there.h", "two");
	EXPECT_UNKNOWN(end_with(observation, NULL, false), "include-changed");
	/* Back again, with the same text: another time all the same. */
	unit_write("there.h", "one");
	observation = begin(false);
	observed("open", "there.h");
	unit_write("there.h", "two");
	unit_write("there.h", "one");
	CU_ASSERT_EQUAL(end_with(observation, NULL, false), CMN_MISS);
	/* What appears after the look. */
	observation = begin(false);
	observed("open", "absent.h");
	unit_write("absent.h", "");
	EXPECT_UNKNOWN(end_with(observation, NULL, false), "include-changed");
}

TEST(what_is_loaded_meanwhile_is_seen)
{
	char command[8192];

	/* A library of another name is another one for the dynamic linker. */
	(void)snprintf(command, sizeof(command), "cp '%s' late.so", library_path);
	CU_ASSERT_EQUAL_FATAL(system(command), 0);
	unit_write("there.h", "text");
	for (int i = 0; i < 2; i++)
		EXPECT_DEPENDS(watch("load", "there.h"), CC_DEPENDENCY_FILE, "there.h");
}

/*
 * One that was loaded before the first build, and is no compiler, is gone; another, which is one,
 * lies at its address, as far as the dynamic linker likes that.
 */
TEST(what_lies_where_another_did_is_seen)
{
	char command[8192];

	(void)snprintf(command, sizeof(command), "cp '%s' late.so", library_path);
	CU_ASSERT_EQUAL_FATAL(system(command), 0);
	unit_write("there.h", "text");
	CU_ASSERT_EQUAL(watch("open", "there.h"), CMN_OK);
	if (early)
		CU_ASSERT_EQUAL(dlclose(early), 0);
	early = NULL;
	EXPECT_DEPENDS(watch("load", "there.h"), CC_DEPENDENCY_FILE, "there.h");
}

struct looker {
	const char *path;
	atomic_bool ready;
};

static void *look_in_thread(void *data)
{
	struct looker *looker = data;

	observed("open", looker->path);
	return NULL;
}

TEST(threads_that_build_nothing_count)
{
	struct looker looker = { .path = "there.h" };
	struct drv_observation *observation;
	pthread_t thread;

	unit_write("there.h", "text");
	for (int goes_on = 0; goes_on < 2; goes_on++) {
		observation = begin(goes_on);
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, look_in_thread, &looker), 0);
		(void)pthread_join(thread, NULL);
		EXPECT_DEPENDS(end_with(observation, NULL, false), CC_DEPENDENCY_FILE, "there.h");
	}
}

static void *run_in_thread(void *data)
{
	observed("spawn-path", "");
	observed("exec-nowhere", "absent");
	return data;
}

TEST(what_a_thread_that_builds_nothing_runs_is_told)
{
	struct drv_observation *observation = begin(false);
	pthread_t thread;

	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, run_in_thread, NULL), 0);
	(void)pthread_join(thread, NULL);
	EXPECT_UNKNOWN(end_with(observation, NULL, false), "other-process");
}

static void *write_by_plugin(void *plugin)
{
	((observed_fn)plugin)("write", "made.h");
	return NULL;
}

/* The application's, which comes after the first build and is hooked for that. */
static void *load_plugin(void)
{
	char command[8192];
	void *library;

	(void)snprintf(command, sizeof(command), "cp '%s' plugin.so", library_path);
	CU_ASSERT_EQUAL_FATAL(system(command), 0);
	CU_ASSERT_EQUAL(watch("open", "there.h"), CMN_OK);
	library = dlopen("./plugin.so", RTLD_NOW | RTLD_LOCAL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(library);
	return library;
}

/* Of the application's, which came after the first build and is hooked for that, or of the driver's. */
TEST(what_another_thread_writes_is_the_builds_own_only_by_the_drivers_code)
{
	static const char *const drivers[] = { "libother.so", "libpocl.so" };	/* this one compiles in the call */
	void *library = load_plugin();
	pthread_t thread;

	for (size_t i = 0; i < 4; i++) {
		struct drv_observation *observation = begin_as(row_of(drivers[i / 2]), false);
		void *writer = i % 2 ? (void *)observed : dlsym(library, "observed_do");

		(void)unlink("made.h");
		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, write_by_plugin, writer), 0);
		(void)pthread_join(thread, NULL);
		observed("open", "made.h");
		CU_ASSERT_EQUAL(end_with(observation, NULL, false), CMN_OK);
		CU_ASSERT_EQUAL(depends_on(CC_DEPENDENCY_FILE, "made.h"), i % 2 == 0);
	}
	CU_ASSERT_EQUAL(dlclose(library), 0);
}

static void *end_in_thread(void *observation)
{
	CU_ASSERT_EQUAL(end_with(observation, NULL, false), CMN_OK);
	return NULL;
}

/* What others' code writes in the driver's call, as LLVM for comgr, is the build's own, and what comes after it is not. */
TEST(a_build_that_may_go_on_is_its_threads_until_the_call_returns)
{
	enum { IN_CALL, AFTER_CALL, IN_CALL_ELSEWHERE, WAYS };
	void *library = load_plugin();
	pthread_t thread;

	for (size_t i = 0; i < WAYS; i++) {
		struct drv_observation *observation = begin(true);

		(void)unlink("made.h");
		if (i == AFTER_CALL)
			drv_observer_leave_call(observation);
		((observed_fn)dlsym(library, "observed_do"))("write", "made.h");
		observed("open", "made.h");
		if (i == IN_CALL_ELSEWHERE) {
			CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, end_in_thread, observation), 0);
			(void)pthread_join(thread, NULL);
			observed("open", "absent.h");
		} else {
			CU_ASSERT_EQUAL(end_with(observation, NULL, false), CMN_OK);
		}
		CU_ASSERT_EQUAL(depends_on(CC_DEPENDENCY_FILE, "made.h"), i == AFTER_CALL);
		CU_ASSERT(!depends_on(CC_DEPENDENCY_ABSENT, "absent.h"));
		if (i != AFTER_CALL)
			drv_observer_leave_call(observation);
	}
	CU_ASSERT_EQUAL(dlclose(library), 0);
	CU_ASSERT_EQUAL(unlink("made.h"), 0);
}

/* What it looked at since it made a file, only to run the linker, does not count. */
TEST(another_threads_file_is_no_step_of_a_build)
{
	struct drv_linker_variables variables;
	struct cc_key key;
	pthread_t thread;

	drv_environment_begin();
	variables = drv_environment_linker();
	cc_key_init(&key);
	CU_ASSERT(drv_linker_add(drv_driver_of("libpocl.so"), &variables, &key));
	cc_key_release(&key);
	for (int i = 0; i < 3; i++) {
		struct drv_observation *observation = begin_as(drv_driver_of("libpocl.so"), false);

		observed_all("write made.o, list .");
		if (i == 1) {
			CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, write_by_plugin, (void *)observed), 0);
			(void)pthread_join(thread, NULL);
		} else if (i == 2) {
			observed("write", "more.o");
		}
		observed("linker", "/usr/bin/ld");
		CU_ASSERT_EQUAL(end_with(observation, NULL, false), i < 2 ? CMN_OK : CMN_MISS);
		CU_ASSERT_STRING_EQUAL(reason, i < 2 ? "" : "directory-listed");
	}
}

/* What it looked at before it made its last file is not only for the linker, were it the last thing before. */
TEST(what_was_looked_at_before_the_last_file_counts)
{
	static const struct {
		const char *looks, *reason;
	} rows[] = {
		{ "write made.o, list .", "" }, { "stat made.o, write made.o, list .", "" },
		{ "write made.o, stat /nowhere/x.h, stat /nowhere/ld", "" },
		{ "list ., write made.o", "directory-listed" },
		{ "stat made.o, list ., write made.o", "directory-listed" },
	};

	drv_environment_begin();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct drv_observation *observation = begin_as(drv_driver_of("libpocl.so"), false);

		observed_all(rows[i].looks);
		observed("linker", "/usr/bin/ld");
		CU_ASSERT_EQUAL(end_with(observation, NULL, false), *rows[i].reason ? CMN_MISS : CMN_OK);
		CU_ASSERT_STRING_EQUAL(reason, rows[i].reason);
		CU_ASSERT_FALSE(depends_on(CC_DEPENDENCY_ABSENT, "/nowhere/x.h"));
		CU_ASSERT_EQUAL(depends_on(CC_DEPENDENCY_ABSENT, "/nowhere/ld"), i == 2);
		CU_ASSERT_EQUAL(unlink("made.o"), 0);
	}
}

static void *begin_in_thread(void *data)
{
	struct drv_observation **ret = data;

	*ret = begin(false);
	observed("open", "there.h");
	return NULL;
}

TEST(a_thread_that_ends_leaves_its_build)
{
	struct drv_observation *observation = NULL;
	pthread_t thread;

	unit_write("there.h", "text");
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, begin_in_thread, &observation), 0);
	(void)pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(watch("open", "absent.h"), CMN_OK);
	CU_ASSERT_FALSE(depends_on(CC_DEPENDENCY_FILE, "there.h"));
	EXPECT_DEPENDS(end_with(observation, NULL, false), CC_DEPENDENCY_FILE, "there.h");
}

static void look_at_signal(int number)
{
	(void)number;
	observed("access", "handled.h");
}

/* A handler's look counts, or the build is not kept; whatever it interrupts. */
TEST(a_signals_handler_may_look)
{
	const struct sigaction action = { .sa_handler = look_at_signal, .sa_flags = SA_RESTART };
	const struct itimerval never = { { 0, 0 }, { 0, 0 } };

	unit_write("handled.h", "text");
	CU_ASSERT_EQUAL_FATAL(sigaction(SIGALRM, &action, NULL), 0);
	for (int i = 0; i < 50; i++) {
		struct drv_observation *observation = begin(false);
		enum cmn_status status;

		/* Memory is asked for by whoever notes, which the signal must not interrupt elsewhere. */
		observed_all("access handled.h, access absent.h");
		for (int j = 0; j < 100; j++) {
			/* One a look at most: under valgrind a handler takes long. */
			const struct itimerval soon = { { 0, 0 }, { 0, 1 + j } };

			CU_ASSERT_EQUAL(setitimer(ITIMER_REAL, &soon, NULL), 0);
			observed("access", j % 2 ? "handled.h" : "absent.h");
		}
		CU_ASSERT_EQUAL(setitimer(ITIMER_REAL, &never, NULL), 0);
		status = end_with(observation, NULL, false);
		CU_ASSERT(status == CMN_OK ? depends_on(CC_DEPENDENCY_SEEN, "handled.h") :
					     strcmp(reason, "signal") == 0);
	}
	(void)signal(SIGALRM, SIG_IGN);	/* one may be on its way */
	(void)signal(SIGALRM, SIG_DFL);
}

static void *build_in_thread(void *data)
{
	struct looker *looker = data;

	for (int i = 0; i < 50; i++) {
		struct drv_observation *observation = begin(false);
		const struct drv_observer_text text = { .reads = false };
		struct cc_manifest *own = NULL;
		const char *why;

		observed("open", looker->path);
		if (drv_observer_end(observation, &text, NULL, &own, &why) != CMN_OK ||
		    cc_manifest_count(own) != 1 ||
		    strcmp(cc_manifest_get(own, 0).path, looker->path) != 0)
			atomic_store(&looker->ready, false);
		cc_manifest_free(own);
	}
	return NULL;
}

static void *build_what_is_told(void *data)
{
	EXPECT_UNKNOWN(watch("symlink", "a.h"), "file-made");
	return data;
}

TEST(builds_of_threads_are_apart)
{
	struct drv_observation *observation = begin(false);
	struct looker lookers[4] = { { "a.h", true }, { "b.h", true }, { "c.h", true }, { "d.h", true } };
	pthread_t threads[4];

	for (size_t i = 0; i < 4; i++) {
		unit_write(lookers[i].path, "text");
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, build_in_thread, &lookers[i]), 0);
	}
	for (size_t i = 0; i < 4; i++) {
		(void)pthread_join(threads[i], NULL);
		CU_ASSERT_TRUE(lookers[i].ready);
	}
	CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[0], NULL, build_what_is_told, NULL), 0);
	(void)pthread_join(threads[0], NULL);
	CU_ASSERT_EQUAL(end_with(observation, NULL, false), CMN_OK);
}

TEST(a_child_observes_for_itself)
{
	struct drv_observation *observation;
	pid_t child;

	unit_write("there.h", "text");
	observation = begin(false);
	child = fork();
	if (child == 0) {
		int before = atomic_load(&notes);
		bool good;

		/* No build is going on in it. */
		observed("open", "there.h");
		good = atomic_load(&notes) == before;
		good = watch("open", "there.h") == CMN_OK && depends_on(CC_DEPENDENCY_FILE, "there.h") && good;
		/* Its parent's is not known to it. */
		good = good && end_with(observation, NULL, false) == CMN_MISS;
		_exit(good && strcmp(reason, "other-process") == 0 ? 0 : 1);
	}
	CU_ASSERT(unit_ended_well(child));
	CU_ASSERT_EQUAL(end_with(observation, NULL, false), CMN_OK);
	CU_ASSERT_PTR_NULL(manifest);
}

/* gcc 12's runtime leaves its allocator locked in a child of a process with threads. */
#ifndef __SANITIZE_ADDRESS__
TEST(children_observe_while_threads_build)
{
	struct looker lookers[2] = { { "a.h", true }, { "b.h", true } };
	pthread_t threads[2];
	int status;

	for (size_t i = 0; i < 2; i++) {
		unit_write(lookers[i].path, "text");
		CU_ASSERT_EQUAL_FATAL(pthread_create(&threads[i], NULL, build_in_thread, &lookers[i]), 0);
	}
	for (int i = 0; i < 20; i++) {
		pid_t child = fork();

		/* Ends by a signal, since what the parent's threads had would be a leak of the child's. */
		if (child == 0 && watch("open", "a.h") == CMN_OK && depends_on(CC_DEPENDENCY_FILE, "a.h"))
			(void)raise(SIGKILL);
		if (child == 0)
			_exit(1);
		CU_ASSERT_EQUAL(waitpid(child, &status, 0), child);
		CU_ASSERT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	}
	for (size_t i = 0; i < 2; i++) {
		(void)pthread_join(threads[i], NULL);
		CU_ASSERT_TRUE(lookers[i].ready);
	}
}
#endif

static char early_path[] = "/tmp/ckcache-early-XXXXXX";

/* A library of another name is another one for the dynamic linker. Its file stays until the end: a debugger may read it. */
static void load_early(void)
{
	char command[8192];
	int fd = mkstemp(early_path);

	if (fd < 0)
		return;
	(void)close(fd);
	(void)snprintf(command, sizeof(command), "cp '%s' '%s'", library_path, early_path);
	if (system(command) == 0)
		early = dlopen(early_path, RTLD_NOW | RTLD_LOCAL);
}

static uint64_t clock_behind;	/* ns */
static _Atomic(const char *) looked_for_meanwhile;
static bool no_memory;

uint64_t test_clock(clockid_t id)
{
	return id == CLOCK_REALTIME ? machine_clock(id) - clock_behind : machine_clock(id);
}

WRAPPED(void *, calloc, (size_t count, size_t size))
{
	const char *path = atomic_exchange(&looked_for_meanwhile, NULL);

	if (path)
		observed("stat", path);
	return no_memory ? NULL : __real_calloc(count, size);
}

/* What an observation costs: sleeps, reads of files, pages made writable, and looks through the library's slots. */
static struct { atomic_int sleeps, reads, pages, looks; } cost;
static atomic_bool cancels;	/* the thread that sleeps */

WRAPPED(int, nanosleep, (const struct timespec *time, struct timespec *left))
{
	cost.sleeps++;
	if (atomic_load(&cancels))
		(void)pthread_cancel(pthread_self());
	return __real_nanosleep(time, left);
}

WRAPPED(ssize_t, pread, (int fd, void *ret, size_t len, off_t offset))
{
	cost.reads++;
	return __real_pread(fd, ret, len, offset);
}

WRAPPED(int, mprotect, (void *start, size_t len, int protection))
{
	cost.pages += protection & PROT_WRITE ? 1 : 0;
	return __real_mprotect(start, len, protection);
}

void observed_do(const char *how, const char *path);	/* of a library that this program is linked with */
static bool through_is_driver;	/* which needs it, too */
static bool binds_late;

/* As another thread does that had called the function before the object was hooked, and now comes to know where it is. */
__attribute__((no_sanitize_address)) static void bind_late(const struct drv_loaded *object, const struct drv_slot_function *functions, size_t count)
{
	size_t at = 0;

	while (at < count && strcmp(functions[at].name, "access") != 0)
		at++;
	for (unsigned int i = 0; i < object->header_count; i++) {
		const ElfW(Phdr) *header = &object->headers[i];
		void **slot = (void **)(object->base + header->p_vaddr);

		if (header->p_type != PT_LOAD || !(header->p_flags & PF_W))
			continue;
		for (size_t j = 0; j < header->p_memsz / sizeof(*slot); j++) {
			if (slot[j] == functions[at].hook)
				slot[j] = functions[at].genuine;
		}
	}
}

WRAPPED(enum cmn_status, drv_slots_hook,
	(const struct drv_loaded *object, const struct drv_loaded *c_library,
	 const struct drv_slot_function *functions, size_t count))
{
	int pages = cost.pages;
	enum cmn_status status;

	/* What the program alone needs. */
	CU_ASSERT_FALSE(drv_loaded_contains(object, (const void *)CU_get_number_of_failures));
	CU_ASSERT(through_is_driver || !drv_loaded_contains(object, (const void *)observed_do));
	drv_note_loading();	/* as a signal's handler may that asks for a symbol: it waits for nothing */
	errno = EFAULT;	/* an earlier call's tells nothing of those within */
	status = __real_drv_slots_hook(object, c_library, functions, count);
	if (binds_late)
		bind_late(object, functions, count);
	cost.looks += drv_loaded_contains(object, (const void *)observed) ? 1 : 0;
	/* The slots of calls, and of data; each may go past the end of a page. */
	CU_ASSERT(cost.pages - pages <= 4);
	return status;
}

/* A driver makes, reads and removes temporary files in each build (AMD's: six, one of 3 MB). */
TEST(a_builds_own_files_cost_nothing)
{
	static const char *const makes[] = { "write", "cache", "exchange" };
	struct drv_observation *observation;

	for (size_t i = 0; i < sizeof(makes) / sizeof(makes[0]); i++) {
		cost.sleeps = cost.reads = 0;
		observation = begin(false);
		observed(makes[i], "own-and-new");
		observed("fopen", "own-and-new");
		CU_ASSERT_EQUAL(cost.sleeps + cost.reads, 0);
		EXPECT_COUNT(end_with(observation, NULL, false), 0);
		CU_ASSERT_EQUAL(unlink("own-and-new"), 0);
	}
	/* Not so what was there, or is another build's dependency, where it is new: a busy machine may come late. */
	for (int i = 0; i < 100 && !cost.sleeps; i++) {
		unit_write("there.h", "text");
		cost.reads = 0;
		CU_ASSERT_EQUAL(watch("open", "there.h"), CMN_OK);
	}
	CU_ASSERT(cost.sleeps > 0 && cost.reads > 0);
}

TEST(a_library_is_hooked_once)
{
	char command[8192];

	(void)snprintf(command, sizeof(command), "cp '%s' late.so && cp late.so later.so", library_path);
	CU_ASSERT_EQUAL_FATAL(system(command), 0);
	CU_ASSERT_EQUAL(watch("stat", "absent.h"), CMN_OK);
	/* It looks again where something was unloaded, as before this test. */
	cost.looks = 0;
	for (int i = 0; i < 2; i++) {
		struct drv_observation *observation = begin(false);
		void *more = dlopen(i ? "./later.so" : "./late.so", RTLD_NOW | RTLD_LOCAL);

		EXPECT_COUNT(end_with(observation, NULL, false), 0);
		if (more && i)
			CU_ASSERT_EQUAL(dlclose(more), 0);
	}
	CU_ASSERT_EQUAL(cost.looks, 0);
}

/* Of a row that no other test has. */
TEST(a_driver_of_which_no_build_can_be_kept_is_left_alone)
{
	const struct drv_driver *driver = drv_driver_of("liboclgrind-rt-icd.so");
	char cached_as[DRV_CACHED_AS_SIZE] = "x";
	struct drv_observation *observation;

	unit_write("there.h", "text");
	/* Without memory nobody knows whether it can. */
	for (int i = 0; i < 9; i++) {
		observation = begin_as(driver, false);
		no_memory = true;
		CU_ASSERT_EQUAL(end_with(observation, NULL, false), CMN_ERR_NOMEM);
		no_memory = false;
	}
	/* What one option has it say shows nothing of others. */
	for (int i = 0; i < 9; i++) {
		observation = begin_as(driver, false);
		observed("say-nothing", "");
		EXPECT_UNKNOWN(end_unproven(observation), "message-made");
	}
	for (int i = 0; i < 20; i++) {
		observation = begin_as(driver, false);
		cost.sleeps = cost.reads = 0;
		observed("open", "there.h");
		observed("time", "");
		EXPECT_UNKNOWN(end_with(observation, NULL, false), i < 8 ? "date" : "observer-stopped");
		CU_ASSERT(i < 8 || cost.sleeps + cost.reads == 0);
	}
	/* Not even where it could, since what it read once was not seen; nor is its cache's name known. */
	observation = begin_as(driver, false);
	drv_observer_cached_as(observation, cached_as);
	CU_ASSERT_STRING_EQUAL(cached_as, "");
	EXPECT_UNKNOWN(end_with(observation, NULL, false), "observer-stopped");
	/* Others are. */
	EXPECT_DEPENDS(watch("open", "there.h"), CC_DEPENDENCY_FILE, "there.h");
}

static bool kernel_is_behind;	/* too: nothing else says what time it is */
WRAPPED(int, pipe2, (int ends[2], int flags))
{
	return kernel_is_behind ? -1 : __real_pipe2(ends, flags);
}

static bool is_remote;
WRAPPED(bool, cmn_file_is_remote, (int fd))
{
	return is_remote || __real_cmn_file_is_remote(fd);
}

TEST(a_file_of_the_future_is_told_unless_the_clock_was_set_back)
{
	unit_write("there.h", "text");
	clock_behind = UINT64_C(7200000000000);
	CU_ASSERT_EQUAL(watch("open", "there.h"), CMN_OK);
	kernel_is_behind = true;
	CU_ASSERT_EQUAL(watch("open", "there.h"), CMN_OK);
	/* Nobody can say whether it changes again: by a server's clock, or within the time. */
	is_remote = true;
	EXPECT_UNKNOWN(watch("open", "there.h"), "include-changed");
	is_remote = false;
	clock_behind = UINT64_C(1800000000000);
	EXPECT_UNKNOWN(watch("open", "there.h"), "include-changed");
	kernel_is_behind = false;
	CU_ASSERT_EQUAL(watch("open", "there.h"), CMN_OK);
	clock_behind = 0;
	CU_ASSERT_EQUAL(watch("open", "there.h"), CMN_OK);
}

/* By a clock of the process's own a change just now would seem to be of the future, and one of long ago. */
TEST(a_wrong_clock_hides_no_change)
{
	struct drv_observation *observation;

	clock_behind = UINT64_C(7200000000000);
	unit_write("there.h", "one");
	observation = begin(false);
	observed("open", "there.h");
	unit_write("there.h", "two");
	unit_write("there.h", "one");
	CU_ASSERT_EQUAL(end_with(observation, NULL, false), CMN_MISS);
	clock_behind = 0;
}

/* As a signal's handler would that interrupts a note: what it looks for cannot be noted. */
TEST(a_look_within_a_note_is_told)
{
	struct drv_observation *observation = begin(false);

	looked_for_meanwhile = "unnoted.h";
	observed("open", "absent.h");
	CU_ASSERT_PTR_NULL(looked_for_meanwhile);
	EXPECT_UNKNOWN(end_with(observation, NULL, false), "signal");
}

static void *open_in_thread(void *data)
{
	observed("open", data);
	return NULL;
}

/* While the note waits until a change of the file would be seen: the thread ends at its next call that may. */
TEST(what_a_cancelled_thread_looked_for_counts)
{
	struct drv_observation *observation = begin(false);
	int left = dup(STDERR_FILENO);
	char path[] = "there.h";
	pthread_t thread;

	CU_ASSERT_EQUAL(close(left), 0);
	unit_write(path, "text");
	atomic_store(&cancels, true);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, open_in_thread, path), 0);
	CU_ASSERT_EQUAL(pthread_join(thread, NULL), 0);
	atomic_store(&cancels, false);
	CU_ASSERT_EQUAL(close(left), 0);	/* by the library, whose thread ended before it could close it */
	EXPECT_DEPENDS(end_with(observation, NULL, false), CC_DEPENDENCY_FILE, path);
}

static atomic_int locks;	/* as many are taken until a signal comes, whose handler looks for something; 0: none does */
static bool handler_forks;	/* or in a child of its own */

static void look_in_child(void)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		(void)alarm(20);
		/* Ends by a signal, since what is its parent's would be a leak of the child's. */
		if (watch("open", "absent.h") == CMN_OK)
			(void)raise(SIGKILL);
		_exit(1);
	}
	CU_ASSERT(waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

WRAPPED(int, pthread_mutex_lock, (pthread_mutex_t *mutex))
{
	int error = __real_pthread_mutex_lock(mutex);

	if (atomic_load(&locks) && atomic_fetch_sub(&locks, 1) == 1) {
		if (handler_forks)
			look_in_child();
		else
			observed("stat", "handled.h");
	}
	return error;
}

/* Within a build, and as one begins and ends within it. */
static void handle_at_each_lock(bool forks)
{
	bool came = true;

	handler_forks = forks;
	for (int i = 1; came; i++) {
		struct drv_observation *outer = begin(false);

		(void)alarm(20);
		atomic_store(&locks, i);
		if (watch("open", "there.h") != CMN_OK)
			CU_ASSERT_STRING_EQUAL(reason, "signal");
		came = !atomic_exchange(&locks, 0);
		CU_ASSERT(came || i > 5);
		if (end_with(outer, NULL, false) != CMN_OK)
			CU_ASSERT_STRING_EQUAL(reason, "signal");
		(void)alarm(0);
	}
}

TEST(a_signals_handler_waits_for_no_lock_of_its_thread)
{
	unit_write("there.h", "text");
	handle_at_each_lock(false);
	handle_at_each_lock(true);
}

static void *load_slowly(void *data)
{
	(void)data;
	return dlopen(OBSERVED_SLOW, RTLD_NOW | RTLD_LOCAL);
}

/* Its pages are the dynamic linker's to write, and to protect. */
TEST(what_is_being_loaded_is_left_alone)
{
	struct drv_observation *observation;
	int (*look)(const char *path);
	pthread_t thread;
	void *library;
	int fd;

	CU_ASSERT_EQUAL(watch("stat", "absent.h"), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(mkfifo("gate", 0600), 0);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, load_slowly, NULL), 0);
	fd = open("gate", O_WRONLY | O_CLOEXEC);
	CU_ASSERT_FATAL(fd >= 0);
	observation = begin(false);
	CU_ASSERT_EQUAL(close(fd), 0);
	CU_ASSERT_EQUAL(pthread_join(thread, &library), 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(library);
	EXPECT_UNKNOWN(end_with(observation, NULL, false), "observer-blind");
	look = (int (*)(const char *))dlsym(library, "slow_look");
	CU_ASSERT_PTR_NOT_NULL_FATAL(look);
	observation = begin(false);
	CU_ASSERT_FALSE(look("absent.h"));
	EXPECT_DEPENDS(end_with(observation, NULL, false), CC_DEPENDENCY_ABSENT, "absent.h");
	(void)dlclose(library);
}

/* What may be written to stays so, also the first word behind what may not. */
TEST(a_slot_beside_read_only_ones_is_hooked)
{
	void *library = dlopen(OBSERVED_EDGE, RTLD_LAZY | RTLD_LOCAL);
	bool (*look)(const char *path);

	CU_ASSERT_PTR_NOT_NULL_FATAL(library);
	look = (bool (*)(const char *))dlsym(library, "edge_look");
	CU_ASSERT_PTR_NOT_NULL_FATAL(look);
	for (int i = 0; i < 2; i++) {
		struct drv_observation *observation = begin(false);

		CU_ASSERT_FALSE(look("absent.h"));
		EXPECT_DEPENDS(end_with(observation, NULL, false), CC_DEPENDENCY_ABSENT, "absent.h");
	}
	(void)dlclose(library);
}

static void build_while_a_call_is_bound(bool unloads)
{
	void *other = dlopen("./other.so", RTLD_LAZY | RTLD_LOCAL), *library = dlopen("./bound.so", RTLD_LAZY | RTLD_LOCAL);
	struct drv_observation *observation;

	CU_ASSERT_FATAL(other && library);
	observed = (observed_fn)dlsym(library, "observed_do");
	binds_late = true;
	observation = begin(false);
	binds_late = false;
	if (unloads)
		CU_ASSERT_EQUAL(dlclose(other), 0);
	observed("access", "missed.h");
	EXPECT_UNKNOWN(end_with(observation, NULL, false), "observer-blind");
	/* What its driver reads once may have been missed: its process stores nothing more. Or it was another library. */
	if (unloads)
		EXPECT_DEPENDS(watch("access", "absent.h"), CC_DEPENDENCY_ABSENT, "absent.h");
	else
		EXPECT_UNKNOWN(watch("access", "absent.h"), "observer-blind");
}

/* Where calls are bound when they are first made; also where something else goes meanwhile. */
TEST(a_call_that_is_bound_after_it_was_hooked_is_told)
{
	char command[8192];

	if (!strstr(library_path, "lazy"))
		return;
	(void)snprintf(command, sizeof(command), "cp '%s' bound.so && cp bound.so other.so", library_path);
	CU_ASSERT_EQUAL_FATAL(system(command), 0);
	CU_ASSERT_EQUAL(watch("stat", "absent.h"), CMN_OK);
	for (int unloads = 0; unloads < 2; unloads++) {
		pid_t child = fork();

		if (child == 0) {
			build_while_a_call_is_bound(unloads);
			_exit(CU_get_number_of_failures() != 0);
		}
		CU_ASSERT(unit_ended_well(child));
	}
}

/* Also where a moment ago something was hooked that is gone, whose place it takes. */
TEST(what_comes_when_something_went_is_hooked_as_any)
{
	static const char *const names[] = { "./first.so", "./second.so", "./first.so" };
	char command[8192];

	(void)snprintf(command, sizeof(command), "cp '%s' first.so && cp first.so second.so", library_path);
	CU_ASSERT_EQUAL_FATAL(system(command), 0);
	for (size_t i = 0; i < 3; i++) {
		void *library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);

		CU_ASSERT_PTR_NOT_NULL_FATAL(library);
		EXPECT_DEPENDS(watch("access", "absent.h"), CC_DEPENDENCY_ABSENT, "absent.h");
		(void)dlclose(library);
	}
}

static atomic_bool looking;

static void *look_all_the_time(void *data)
{
	(void)data;
	while (atomic_load(&looking))
		observed("access", "absent.h");
	return NULL;
}

/* Which holds the lock then, and is not in the child. */
TEST(a_child_waits_for_no_thread_of_its_parent)
{
	struct drv_observation *observation = begin(false);
	pthread_t thread;
	int status = 0;

	atomic_store(&looking, true);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, look_all_the_time, NULL), 0);
	for (int i = 0; i < 60 && (i == 0 || status == SIGKILL); i++) {
		pid_t child = fork();

		if (child == 0) {
			(void)alarm(20);
			drv_observer_drop(observation);
			/* Ends by a signal, since what is its parent's would be a leak of the child's. */
			if (watch("open", "absent.h") == CMN_OK)
				(void)raise(SIGKILL);
			_exit(1);
		}
		CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
	}
	CU_ASSERT_EQUAL(status, SIGKILL);
	atomic_store(&looking, false);
	(void)pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(end_with(observation, NULL, false), CMN_OK);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define DEEPBIND 0	/* refused by their runtimes */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DEEPBIND 0
#endif
#endif
#ifndef DEEPBIND
#define DEEPBIND RTLD_DEEPBIND
#endif

/* It stays as it is, and nothing is believed from then on: in a child. */
static int build_with_another_library(void)
{
	void *library = dlopen(OBSERVED_BLIND, RTLD_NOW | RTLD_LOCAL | DEEPBIND);
	const int *calls = library ? dlsym(library, "blinding_calls") : NULL;

	if (!calls)
		return 1;
	observed = (observed_fn)dlsym(library, "observed_do");
	observed("eaccess", "absent.h");
	if (watch("eaccess", "absent.h") != CMN_MISS || strcmp(reason, "observer-blind") != 0)
		return 2;
	return *calls == 2 ? 0 : 3;
}

/* The same where it comes with the build. */
static int build_while_another_library_comes(void)
{
	struct drv_observation *observation = begin(false);
	void *library = dlopen(OBSERVED_BLIND, RTLD_NOW | RTLD_LOCAL | DEEPBIND);

	observed = library ? (observed_fn)dlsym(library, "observed_do") : NULL;
	if (!observed)
		return 1;
	observed("eaccess", "absent.h");
	return end_with(observation, NULL, false) == CMN_MISS &&
	       strcmp(reason, "observer-blind") == 0 ? 0 : 2;
}

TEST(functions_of_other_libraries_are_left_alone)
{
	static int (*const builds[])(void) = {
		build_with_another_library, build_while_another_library_comes,
	};

	for (size_t i = 0; DEEPBIND && i < sizeof(builds) / sizeof(builds[0]); i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(builds[i]());
		CU_ASSERT(unit_ended_well(child));
	}
}

static observed_fn observed_through, observed_driver, observed_compiler;	/* of others that are there from the start */

static observed_fn load(const char *path, const char *name)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	return library ? (observed_fn)dlsym(library, name) : NULL;
}

static struct drv_observation *begin_at(const struct drv_driver *driver, const void *address)
{
	through_is_driver |= address == (const void *)observed_through;
	return drv_observer_begin(&(struct drv_observer_request){ .driver = driver, .libraries = { .address = address } });
}

TEST(what_a_driver_is_linked_with_is_seen)
{
	struct drv_observation *observation = begin_at(row_of("libother.so"), (const void *)observed_through);

	unit_write("there.h", "text");
	observed_through("open", "there.h");
	EXPECT_DEPENDS(end_with(observation, NULL, false), CC_DEPENDENCY_FILE, "there.h");
}

TEST(a_compiler_that_was_there_is_seen)
{
	struct drv_observation *observation = begin_at(drv_driver_of("libamdocl64.so"),
						       (const void *)observed_driver);

	unit_write("there.h", "text");
	observed_compiler("open", "there.h");
	EXPECT_DEPENDS(end_with(observation, NULL, false), CC_DEPENDENCY_FILE, "there.h");
}

/* In a child, since nobody forgets the drivers. */
static int tell_drivers_from_compilers(void)
{
	static const struct {
		const char *library;
		bool compiles;		/* since it needs no library of the compiler's */
	} rows[] = {
		{ "libpocl.so", true }, { "libother.so", false }, { "libRusticlOpenCL.so.1", true },
	};
	observed_fn functions[3];

	for (size_t i = 0; i < 3; i++) {
		struct drv_observation *observation;
		char command[8192];

		(void)snprintf(command, sizeof(command), "cp '%s' %s", library_path, rows[i].library);
		if (system(command) != 0)
			return 2;
		(void)snprintf(command, sizeof(command), "./%s", rows[i].library);
		functions[i] = load(command, "observed_do");
		if (!functions[i])
			return 3;
		observation = begin_at(row_of(rows[i].library), (const void *)functions[i]);
		CU_ASSERT_EQUAL(end_with(observation, NULL, false), CMN_OK);
		/* Those that were there before are what they were. */
		for (size_t j = 0; j <= i; j++) {
			const void *code = (const void *)functions[j];

			CU_ASSERT_EQUAL(drv_hooked_objects_is_of_driver(code), !rows[j].compiles);
			CU_ASSERT(drv_hooked_objects_is_of_driver_or_within(code));
		}
	}
	CU_ASSERT_FALSE(drv_hooked_objects_is_of_driver_or_within((const void *)begin));
	return CU_get_number_of_failures() != 0;
}

TEST(a_driver_with_its_compiler_within_is_told_from_others)
{
	pid_t child = fork();

	if (child == 0)
		_exit(tell_drivers_from_compilers());
	CU_ASSERT(unit_ended_well(child));
}

static void *look_in_thread_by_the_programs_library(void *path)
{
	observed_do("open", path);
	return NULL;
}

/* What other threads look for by its libraries is its own affair, though a driver is linked with them. */
TEST(what_the_program_looks_for_does_not_count)
{
	struct drv_observation *observation = begin_at(row_of("libother.so"), (const void *)observed_through);
	pthread_t thread;

	unit_write("there.h", "text");
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, look_in_thread_by_the_programs_library, "there.h"), 0);
	(void)pthread_join(thread, NULL);
	EXPECT_COUNT(end_with(observation, NULL, false), 0);
}

/* In a child, since nobody forgets them. */
static int build_with_many_drivers(void)
{
	for (int i = 0; i < 20; i++) {
		struct drv_observation *observation = begin_at(row_of("libother.so"),
							       (const char *)observed + i);

		if (end_with(observation, NULL, false) != CMN_OK)
			return strcmp(reason, "observer-blind") == 0 && i >= 4 ? 0 : 1;
	}
	return 2;
}

TEST(more_drivers_than_any_machine_has_are_told)
{
	pid_t child = fork();

	if (child == 0)
		_exit(build_with_many_drivers());
	CU_ASSERT(unit_ended_well(child));
}

/* As drivers have it: a lock around forks, under which they look for files and symbols, also while they fork. */
static pthread_mutex_t of_driver = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool forks_watched;

static void before_fork(void)
{
	if (!atomic_load(&forks_watched))
		return;
	(void)pthread_mutex_lock(&of_driver);
	observed("access", "absent.h");
	(void)dlsym(RTLD_DEFAULT, "nothing_of_that_name");
}

static void after_fork(void)
{
	if (atomic_load(&forks_watched))
		(void)pthread_mutex_unlock(&of_driver);
}

static void *look_under_the_drivers_lock(void *data)
{
	while (atomic_load(&looking)) {
		struct drv_observation *observation = begin(false);
		struct cc_manifest *own = NULL;
		const struct drv_observer_text text = { .reads = false };
		const char *why;

		(void)pthread_mutex_lock(&of_driver);
		observed("access", "absent.h");
		(void)pthread_mutex_unlock(&of_driver);
		(void)!drv_observer_end(observation, &text, NULL, &own, &why);
		cc_manifest_free(own);
	}
	return data;
}

TEST(forks_wait_for_no_observer)
{
	uint64_t enough = cmn_clock_deadline(UINT64_C(3000000000));
	struct drv_observation *observation;
	pthread_t thread;
	int status = SIGKILL, noted;

	atomic_store(&looking, true);
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, look_under_the_drivers_lock, NULL), 0);
	observation = begin(false);
	atomic_store(&forks_watched, true);
	(void)alarm(60);	/* else it would be for ever */
	/* Under valgrind a fork may take half a second. */
	for (int i = 0; i < 300 && status == SIGKILL && (i < 20 || cmn_clock_monotonic() < enough); i++) {
		pid_t child = fork();

		if (child == 0)
			(void)raise(SIGKILL);
		CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
	}
	(void)alarm(0);
	atomic_store(&forks_watched, false);
	CU_ASSERT_EQUAL(status, SIGKILL);
	atomic_store(&looking, false);
	(void)pthread_join(thread, NULL);
	/* Dropped, it is over. */
	drv_observer_drop(observation);
	noted = atomic_load(&notes);
	observed("access", "absent.h");
	CU_ASSERT_EQUAL(atomic_load(&notes), noted);
}

/* Last, as what it leaves is a dependency of later builds. As LLVM looks whether $PWD is the working directory. */
TEST(the_working_directory_counts_where_its_name_is_used)
{
	struct drv_observation *observation;
	const char *path = unit_path("there.h");

	EXPECT_COUNT(watch("stat", unit_dir()), 0);
	unit_write("there.h", "text");
	observation = begin(false);
	observed("stat", unit_dir());
	observed("open", path);
	EXPECT_DEPENDS(end_with(observation, NULL, false), CC_DEPENDENCY_DIRECTORY, unit_dir());
	/* Not where the application has it from itself. */
	observation = begin(false);
	observed("stat", unit_dir());
	observed("open", path);
	CU_ASSERT_EQUAL(end_with(observation, path, false), CMN_OK);
	CU_ASSERT_FALSE(depends_on(CC_DEPENDENCY_DIRECTORY, unit_dir()));
	CU_ASSERT(depends_on(CC_DEPENDENCY_PLACE, unit_dir()));
}

/* Likewise. */
TEST(settings_count_for_later_builds)
{
	struct drv_observation *observation;
	const char *path = unit_path("deep/settings"), *other = unit_path("deep/more-settings");

	EXPECT_DEPENDS(watch("access", path), CC_DEPENDENCY_ABSENT, path);
	EXPECT_DEPENDS(watch("access", other), CC_DEPENDENCY_ABSENT, other);
	EXPECT_DEPENDS(watch("stat", "absent.h"), CC_DEPENDENCY_ABSENT, path);
	CU_ASSERT(depends_on(CC_DEPENDENCY_ABSENT, other));
	unit_write("deep/settings", "");
	EXPECT_UNKNOWN(watch("stat", "absent.h"), "include-changed");
	CU_ASSERT_EQUAL(unlink("deep/settings"), 0);
	/* What the application names is none of the driver's. */
	path = unit_path("named/x.h");
	observation = begin(false);
	observed("open", path);
	CU_ASSERT_EQUAL(end_with(observation, unit_path("named"), false), CMN_OK);
	CU_ASSERT_EQUAL(watch("stat", "absent.h"), CMN_OK);
	CU_ASSERT_FALSE(depends_on(CC_DEPENDENCY_ABSENT, path));
}

/* Each note leaves an errno behind that no call of the test's does. */
#define NOTE(name, parameters, arguments) \
	void __real_##name parameters; \
	void __wrap_##name parameters; \
	void __wrap_##name parameters \
	{ \
		int before = errno; \
		atomic_fetch_add(&notes, 1); \
		__real_##name arguments; \
		errno = notes_spoil ? EPROTO : before; \
	}
static bool notes_spoil;
NOTE(drv_note_look, (int directory, const char *path, int error, struct stat *info, int fd),
     (directory, path, error, info, fd))
NOTE(drv_note_write, (int directory, const char *path, int error), (directory, path, error))
NOTE(drv_note_listing, (const char *path), (path))
NOTE(drv_note_unsure, (const char *why), (why))
NOTE(drv_note_output, (int fd), (fd))

/* Of calls that change nothing, each as it is, and observed. The last test: what it leaves open changes others. */
TEST(errno_is_as_it_was)
{
	static const char *const calls[] = {
		"open", "openat", "openat-directory", "fopen", "stat", "lstat", "fstatat", "statx", "access",
		"faccessat", "realpath", "readlink", "open_2", "openat_2", "xstat", "euidaccess", "eaccess",
		"fstatat-link", "readlinkat", "canonicalize", "openat-here", "getcwd", "get_current_dir_name", "lxstat",
		"realpath-here", "list", "glob", "ftw",
		"nftw", "fts", "scandir", "scandirat", "getdents", "statfs", "statvfs", "inotify", "xattr",
		"say-write", "say-send", "say-fputs", "say-fprintf", "say-dprintf_chk", "say-null",
	};
	static const char *const paths[] = { "there.h", "absent.h", "sub", "absent/x.h", "there.h/x", "link.h" };

	unit_write("there.h", "");
	unit_write("sub/there.h", "");
	CU_ASSERT_EQUAL_FATAL(symlink("there.h", "link.h"), 0);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) * (sizeof(paths) / sizeof(paths[0])); i++) {
		const char *way = calls[i / (sizeof(paths) / sizeof(paths[0]))];
		const char *path = paths[i % (sizeof(paths) / sizeof(paths[0]))];
		struct drv_observation *observation;
		int bare;

		errno = 0;
		observed(way, path);
		bare = errno;
		observation = begin(false);
		notes_spoil = true;
		errno = 0;
		observed(way, path);
		notes_spoil = false;
		if (errno != bare)
			(void)printf("\n    %s %s: errno is %d, not %d\n", way, path, errno, bare);
		CU_ASSERT_EQUAL(errno, bare);
		(void)end_with(observation, NULL, false);
	}
}

int main(int argc, char **argv)
{
	int code;

	observed_through = load(OBSERVED_THROUGH, "observed_through");
	observed_driver = load(OBSERVED_DRIVER, "observed_do");
	observed_compiler = load(OBSERVED_COMPILER, "observed_do");
	if (argc != 2 || !observing_load(argv[1]) || !observed_through || !observed_compiler)
		return 2;
	read_mappings(mapped[0]);
	load_early();
	/* Before the observer's own. */
	if (pthread_atfork(before_fork, after_fork, after_fork) != 0 || !observing_fork())
		return 2;
	unit_count_descriptors();
	code = unit_run(NULL);
	(void)unlink(early_path);
	return code;
}
