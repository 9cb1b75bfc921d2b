/* SPDX-License-Identifier: MIT */
/*
 * test_dependencies: from what a build looked for to what it depends on: what the driver
 * keeps for itself, its own files and settings, names of one file, what changes meanwhile.
 */
#include "tests/unit/layers/shared/observer/observing.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include "layers/shared/observer/observation.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

static size_t count(void)
{
	return cc_manifest_count(manifest);
}

TEST(an_absence_below_a_directory_is_one_of_its_own)
{
	unit_write("sub/there.h", "");
	EXPECT_DEPENDS(watch_all("stat sub, open sub/absent.h"), CC_DEPENDENCY_PLACE, "sub");
	CU_ASSERT(depends_on(CC_DEPENDENCY_ABSENT, "sub/absent.h"));
	/* Below an absent one it is told by that. */
	EXPECT_DEPENDS(watch_all("stat none, open none/absent.h"), CC_DEPENDENCY_ABSENT, "none");
	CU_ASSERT_FALSE(depends_on(CC_DEPENDENCY_ABSENT, "none/absent.h"));
}

TEST(a_listed_directory_is_its_own_where_it_made_something)
{
	unit_write("sub/there.h", "");
	EXPECT_DEPENDS(watch_all("write own, open sub/there.h, list sub"), CC_DEPENDENCY_NAMES, "sub/");
	CU_ASSERT_EQUAL(watch_all("write sub/own, list sub"), CMN_OK);
	CU_ASSERT_FALSE(depends_on(CC_DEPENDENCY_NAMES, "sub/"));
	/* What it makes deeper is none of the names. */
	unit_write("sub/deep/there.h", "");
	EXPECT_DEPENDS(watch_all("mkdir sub/deep/made, write sub/deep/own, list sub"), CC_DEPENDENCY_NAMES, "sub/");
}

/* As clang does with /opt, to find rocm-* there. */
TEST(a_listed_directory_counts_by_its_names)
{
	struct drv_observation *observation;

	unit_write("sub/there.h", "");
	EXPECT_DEPENDS(watch("list", "sub"), CC_DEPENDENCY_NAMES, "sub/");
	unit_write("sub/there.h", "text");
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	unit_write("sub/more.h", "");
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	/* One name for another. */
	CU_ASSERT_EQUAL(unlink("sub/there.h"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	/* What changes meanwhile. */
	for (int i = 0; i < 2; i++) {
		observation = begin(false);
		observed("list", "sub");
		unit_write(i ? "sub/second" : "sub/first", "");
		if (i)
			observed("list", "sub");
		EXPECT_UNKNOWN(end_with(observation, NULL, false), "directory-listed");
	}
	/* More than are read at each look-up. */
	for (int i = 0; i < 1100; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "many/%d", i);
		unit_write(name, "");
	}
	EXPECT_UNKNOWN(watch("list", "many"), "directory-listed");
}

/* As comgr does: it makes a directory by a name that nobody knows, uses and removes it. */
TEST(a_directory_that_the_build_made_is_its_own)
{
	struct drv_observation *observation;

	for (int left = 0; left < 2; left++) {
		observation = begin(false);
		observed_all("mkdir own, list own, open own/deep/absent.h, write own/file, list own, open own/file");
		if (!left)
			CU_ASSERT_EQUAL(system("rm -r own"), 0);
		/* What stays may have more in it later. */
		EXPECT_COUNT(end_with(observation, NULL, false), (size_t)left);
	}
	CU_ASSERT(depends_on(CC_DEPENDENCY_ABSENT, "own/deep/absent.h"));
	/* It was there before. */
	EXPECT_DEPENDS(watch_all("mkdir own, open own/absent.h"), CC_DEPENDENCY_ABSENT, "own/absent.h");
	/* The way out of it leads to others. */
	EXPECT_DEPENDS(watch_all("mkdir new, open new/../absent.h"), CC_DEPENDENCY_ABSENT, "new/../absent.h");
}

TEST(what_somebody_puts_into_the_builds_directory_counts)
{
	struct drv_observation *observation;

	for (int i = 0; i < 4; i++) {
		observation = begin(false);
		observed_all("mkdir own, write own/file");
		unit_write("own/others.h", "text");
		observed(i & 1 ? "list" : "open", i & 1 ? "own" : "own/others.h");
		if (i & 2)
			CU_ASSERT_EQUAL(system("rm -r own"), 0);
		if (i & 1)
			EXPECT_UNKNOWN(end_with(observation, NULL, false), "directory-listed");
		else if (i & 2)
			EXPECT_UNKNOWN(end_with(observation, NULL, false), "include-changed");
		else
			EXPECT_DEPENDS(end_with(observation, NULL, false), CC_DEPENDENCY_FILE, "own/others.h");
		CU_ASSERT_EQUAL(system("rm -rf own"), 0);
	}
	/* Another directory in its place, or a link to one. */
	for (int i = 0; i < 2; i++) {
		observation = begin(false);
		observed("mkdir", "own");
		CU_ASSERT_EQUAL(rename("own", "away"), 0);
		CU_ASSERT_EQUAL(i ? symlink("/usr", "own") : mkdir("own", 0700), 0);
		observed_all("stat own, open own/absent.h");
		EXPECT_UNKNOWN(end_with(observation, NULL, false), "include-changed");
		CU_ASSERT_EQUAL(system("rm -rf own away"), 0);
	}
}

/* Whether a look at other, beside what the build left there, shows that a compiler ran. It is a dependency in any case. */
static bool shows_compiler(const char *how, const char *own, const char *other)
{
	struct drv_observation *observation = begin(false);
	enum cmn_status status;

	observed("stat", unit_dir());	/* no setting lies below what is looked at */
	observed("open", other);
	observed(how, own);
	/* A module, of which the cache's files do not tell which headers it had. */
	status = end_with(observation, "-Iheaders", true);
	if (status != CMN_OK)
		CU_ASSERT_STRING_EQUAL(reason, "files-unseen");
	observation = begin(false);
	observed("open", "there.h");
	observed("open", other);
	observed(how, own);
	CU_ASSERT_EQUAL(end_text(observation, "#include"), CMN_OK);
	CU_ASSERT(depends_on(CC_DEPENDENCY_FILE, other) || depends_on(CC_DEPENDENCY_ABSENT, other));
	return status == CMN_OK;
}

TEST(what_lies_beside_a_drivers_file_may_be_its_cache_or_a_header)
{
	const char *own = unit_path("cache/own"), *other = unit_path("cache/other");

	unit_write("there.h", "text");
	unit_write("cache/other", "text");
	unit_write("cache/deep/other", "text");
	CU_ASSERT_EQUAL_FATAL(chmod("cache", 0700), 0);
	CU_ASSERT_FALSE(shows_compiler("write", own, other));
	CU_ASSERT_FALSE(shows_compiler("write", own, unit_path("cache/absent")));
	/* Not below it, nor by another name of the directory than its own. */
	CU_ASSERT(shows_compiler("write", own, unit_path("cache/deep/other")));
	CU_ASSERT(shows_compiler("write", unit_path("cache/deep/own"), other));
	CU_ASSERT(shows_compiler("write", "cache/own", "cache/other"));
	/* Nor where what it made is gone again, or is a directory. */
	CU_ASSERT_EQUAL(unlink(own), 0);
	CU_ASSERT(shows_compiler("mkdir", unit_path("cache/made"), other));
	CU_ASSERT(shows_compiler("temporary", own, other));
	/* Nor where everybody may write. */
	CU_ASSERT_EQUAL_FATAL(chmod("cache", 01777), 0);
	CU_ASSERT(shows_compiler("write", own, other));
}

/* An index that is read and written. */
TEST(what_the_driver_read_and_wrote_is_no_dependency)
{
	const char *index = unit_path("cache/index");
	struct drv_observation *observation = begin(false);

	unit_write("there.h", "text");
	unit_write("cache/index", "text");
	CU_ASSERT_EQUAL_FATAL(chmod("cache", 0700), 0);
	observed("open", "there.h");
	observed("open", index);
	observed("write", index);
	unit_write("cache/index", "other");
	observed("open", index);
	EXPECT_COUNT(end_text(observation, "source"), 1);
	CU_ASSERT(depends_on(CC_DEPENDENCY_FILE, "there.h"));
}

/* Such a failure may be for want of it. */
TEST(a_failure_where_something_could_not_be_made_is_told)
{
	static const char *const ways[] = { "stat", "mkdir" };
	const struct drv_observer_text failed = { .failed = true };

	CU_ASSERT_EQUAL(symlink("loop", "loop"), 0);
	for (size_t i = 0; i < 2; i++) {
		struct drv_observation *observation = begin(false);

		observed(ways[i], i ? "loop/made" : "absent");
		reason = "";
		CU_ASSERT_EQUAL(drv_observer_end(observation, &failed, NULL, &manifest, &reason), i ? CMN_MISS : CMN_OK);
		CU_ASSERT_STRING_EQUAL(reason, i ? "file-unwritten" : "");
	}
}

TEST(what_was_made_and_removed_keeps_nothing)
{
	struct drv_observation *observation = begin(false);
	const char *own = unit_path("cache/own"), *other = unit_path("cache/other");

	unit_write("there.h", "text");
	unit_write("cache/other", "text");
	CU_ASSERT_EQUAL_FATAL(chmod("cache", 0700), 0);
	observed("open", "there.h");
	observed("open", other);
	observed("write", own);
	CU_ASSERT_EQUAL(unlink(own), 0);
	EXPECT_DEPENDS(end_with(observation, NULL, false), CC_DEPENDENCY_FILE, other);
}

static observed_fn compiler;	/* the same code, in a library that came with a build */

/* A driver with a cache of a known name, and files of its own; its compiler is another library. */
static struct drv_driver *known_driver(void)
{
	static char files[4200];
	static struct drv_driver driver = { .library = "libtest.so", .cached = { "*.cl_cache" } };
	char command[8192];
	void *library;

	(void)snprintf(files, sizeof(files), "%s/files/*.h", unit_dir());
	driver.files[0] = files;
	if (compiler)
		return &driver;
	(void)watch("stat", ".");
	(void)snprintf(command, sizeof(command), "cp '%s' compiler.so", library_path);
	CU_ASSERT_EQUAL_FATAL(system(command), 0);
	library = dlopen("./compiler.so", RTLD_LAZY | RTLD_LOCAL);
	compiler = library ? (observed_fn)dlsym(library, "observed_do") : NULL;
	CU_ASSERT_PTR_NOT_NULL_FATAL(compiler);
	return &driver;
}

/* What a hit would not make. */
TEST(a_dump_is_told_from_a_cache)
{
	static const struct {
		bool by_compiler;
		const char *how, *made;
		bool dump;
	} cases[] = {
		{ false, "write", "y.cl_cache", false },
		{ true, "write", "z.cl_cache", true },	/* only the driver's own code keeps its cache */
		{ false, "write", "dump", true },
		{ true, "write", "sub/dump", true },
		{ false, "mkdir", "made", false },
		{ true, "temporary", "gone", false },	/* gone again */
	};
	struct drv_driver *driver = known_driver();

	unit_write("there.h", "text");
	unit_write("sub/there.h", "text");
	for (unsigned int i = 0; i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
		struct drv_observation *observation;
		bool dump = cases[i / 2].dump && i % 2;

		driver->leaves_dumps = i % 2;
		observation = begin_as(driver, false);
		compiler("open", "there.h");
		(cases[i / 2].by_compiler ? compiler : observed)(cases[i / 2].how, cases[i / 2].made);
		CU_ASSERT_EQUAL(end_text(observation, "source"), dump ? CMN_MISS : CMN_OK);
		CU_ASSERT_STRING_EQUAL(reason, dump ? "file-made" : "");
		(void)remove(cases[i / 2].made);
	}
	driver->leaves_dumps = false;
}

/* Nor would it make what an option that is not known has it make, whichever driver it is. */
TEST(what_an_unknown_option_leaves_is_told)
{
	struct drv_driver *driver = known_driver();
	static const struct {
		const char *how, *path;
		bool left;
	} cases[] = {
		{ "say-file", "dump", true }, { "say-file", "link", true }, { "say-temporary", "", false },
		{ "write", "x.cl_cache", false }, { "mkdir", "made", false },
	};

	unit_write("target", "text");
	CU_ASSERT_EQUAL(symlink("target", "link"), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int knows = 0; knows < 2; knows++) {
			struct drv_observation *observation = knows ? begin_as(driver, false) : begin(false);
			bool left = cases[i].left || (!knows && strcmp(cases[i].how, "write") == 0);

			observed(cases[i].how, cases[i].path);
			CU_ASSERT_EQUAL(end_unproven(observation), left ? CMN_MISS : CMN_OK);
			CU_ASSERT_STRING_EQUAL(reason, left ? "file-made" : "");
			if (cases[i].path[0] && strcmp(cases[i].path, "link") != 0)
				(void)remove(cases[i].path);
		}
	}
}

static void expect_cached_as(struct drv_observation *observation, const char *name)
{
	char cached_as[DRV_CACHED_AS_SIZE];

	drv_observer_cached_as(observation, cached_as);
	CU_ASSERT_STRING_EQUAL(cached_as, name);
	(void)!end_text(observation, "source");
}

/* The name of the directory in which pocl's cache has it. */
TEST(what_the_drivers_cache_calls_a_program_is_told)
{
	static const char one[] = "AB/CDEFGHIJKLMNOPABCDEFGHIJKLMNOPABCDEFG";
	static const char program[] = "cache/AB/CDEFGHIJKLMNOPABCDEFGHIJKLMNOPABCDEFG/program.bc";
	static const char other[] = "cache/BB/CDEFGHIJKLMNOPABCDEFGHIJKLMNOPABCDEFG/program.bc";
	struct drv_driver *driver = known_driver();
	struct drv_observation *observation;
	char none[DRV_CACHED_AS_SIZE] = "x";

	driver->own_cache = "POCL_KERNEL_CACHE";
	observation = begin_as(driver, false);
	observed("open", unit_path("cache/AB/CD"));
	expect_cached_as(observation, "");
	observation = begin_as(driver, false);
	observed("open", unit_path(program));
	observed("stat", unit_path(program));
	expect_cached_as(observation, one);
	/* A compiler's are headers. */
	observation = begin_as(driver, false);
	compiler("open", unit_path(program));
	expect_cached_as(observation, "");
	/* But not by a name that is none's but the cache's, if the driver has its compiler within. */
	driver->cached_alone[0] = "*/program.bc";
	observation = begin_as(driver, false);
	compiler("open", unit_path(program));
	expect_cached_as(observation, one);
	driver->cached_alone[0] = NULL;
	/* Of several it is not known which one is meant. */
	observation = begin_as(driver, false);
	observed("open", unit_path(program));
	observed("open", unit_path(other));
	expect_cached_as(observation, "");
	driver->own_cache = NULL;
	observation = begin_as(driver, false);
	observed("open", unit_path(program));
	expect_cached_as(observation, "");
	drv_observer_cached_as(NULL, none);
	CU_ASSERT_STRING_EQUAL(none, "");
}

/* A header may have any name: whose code looked for it tells it from a file of the cache. */
TEST(a_header_named_like_a_file_of_the_cache_is_a_header)
{
	struct drv_observation *observation = begin_as(known_driver(), false);

	unit_write("x.cl_cache", "text");
	compiler("open", "x.cl_cache");
	compiler("open", "y.cl_cache");
	EXPECT_DEPENDS(end_text(observation, "#include \"x.cl_cache\""), CC_DEPENDENCY_FILE, "x.cl_cache");
	CU_ASSERT(depends_on(CC_DEPENDENCY_ABSENT, "y.cl_cache"));
}

/* Whether its cache was cold or warm, a build that a compiler made depends on the same. */
TEST(nothing_depends_on_the_drivers_cache)
{
	struct drv_observation *observation;

	unit_write("there.h", "text");
	unit_write("x.cl_cache", "text");
	unit_write("sub/there.h", "text");
	for (int i = 0; i < 4; i++) {
		observation = begin_as(known_driver(), false);
		observed("stat", unit_path("sub"));	/* on its way there */
		compiler("open", "there.h");
		if (i & 1)
			observed("open", "x.cl_cache");
		if (i & 2)
			observed_all("open y.cl_cache, write z.cl_cache");
		EXPECT_COUNT(end_text(observation, "#include \"there.h\""), 1);
		CU_ASSERT(depends_on(CC_DEPENDENCY_FILE, "there.h"));
	}
}

/* No compiler made it: its log is gone, and what it was made from is unknown. */
TEST(a_program_out_of_the_drivers_cache_is_told)
{
	struct drv_driver *driver = known_driver();
	struct drv_observation *observation;

	unit_write("there.h", "text");
	unit_write("x.cl_cache", "text");
	observation = begin_as(driver, false);
	observed("open", "x.cl_cache");
	EXPECT_UNKNOWN(end_text(observation, "source"), "driver-cached");
	/* To look whether it is there is not to read it, and nothing there says that it compiled. */
	observation = begin_as(driver, false);
	observed_all("stat x.cl_cache, open y.cl_cache");
	EXPECT_COUNT(end_text(observation, "source"), 0);
	/* What has no text: the cache may have what is made of its binary later. */
	observation = begin_as(driver, false);
	observed("open", "x.cl_cache");
	EXPECT_COUNT(end_with(observation, NULL, false), 0);
	/* Where it has the binaries themselves, a front end that ran first makes no difference. */
	driver->caches_binaries = true;
	for (int i = 0; i < 2; i++) {
		observation = begin_as(driver, false);
		compiler("open", "there.h");
		observed("open", i ? "x.cl_cache" : "y.cl_cache");
		CU_ASSERT_EQUAL(end_text(observation, "source"), i ? CMN_MISS : CMN_OK);
		CU_ASSERT_STRING_EQUAL(reason, i ? "driver-cached" : "");
	}
	/* What the build itself wrote there, and read back. */
	observation = begin_as(driver, false);
	compiler("open", "there.h");
	observed_all("write z.cl_cache, open z.cl_cache");
	EXPECT_COUNT(end_text(observation, "source"), 1);
	driver->caches_binaries = false;
}

/* As AMD's, in two processes that are the first to use it. */
TEST(others_may_make_the_drivers_cache_meanwhile)
{
	struct drv_driver driver = *known_driver();
	struct drv_observation *observation;

	driver.cached[0] = "*.cl_cache";
	for (int uses = 0; uses < 2; uses++) {
		observation = begin_as(&driver, false);
		observed("stat", uses ? "used" : "unused");
		unit_write(uses ? "used/x.cl_cache" : "unused/x.cl_cache", "text");
		if (!uses) {
			EXPECT_UNKNOWN(end_text(observation, "source"), "include-changed");
			continue;
		}
		observed("stat", "used/y.cl_cache");
		CU_ASSERT_EQUAL(end_text(observation, "source"), CMN_OK);
		CU_ASSERT_FALSE(depends_on(CC_DEPENDENCY_ABSENT, "used"));
	}
}

/* As pocl, which compiles kernels when it is asked for a binary, and lists what the program's directory has. */
TEST(what_was_in_the_drivers_cache_before_the_binary_is_told)
{
	struct drv_driver driver = *known_driver();
	struct cc_manifest *before = cc_manifest_new();
	struct drv_observation *observation;

	driver.cached[0] = "*.cl_cache*";
	driver.caches_binaries = true;
	unit_write("made.cl_cache", "text");
	unit_write("x.cl_cache", "text");
	unit_write("kernel.cl_cache/left", "text");
	CU_ASSERT_EQUAL(cc_manifest_add_made(before, "made.cl_cache"), CMN_OK);
	/* The build's own. */
	observation = begin_as(&driver, false);
	observed("open", "made.cl_cache");
	EXPECT_COUNT(end_after(observation, before), 0);
	observation = begin_as(&driver, false);
	observed_all("open made.cl_cache, open x.cl_cache");
	EXPECT_UNKNOWN(end_after(observation, before), "driver-cached");
	/* A directory of what others compiled, whatever the driver makes beside it. */
	driver.caches_binaries = false;
	observation = begin_as(&driver, false);
	observed_all("write own.cl_cache, list kernel.cl_cache");
	EXPECT_UNKNOWN(end_after(observation, before), "driver-cached");
	observation = begin_as(&driver, false);
	observed_all("write kernel.cl_cache/own, list kernel.cl_cache");
	CU_ASSERT_EQUAL(end_after(observation, before), CMN_OK);
	/* Such a name is no cache's where a compiler lists it. */
	observation = begin_as(&driver, false);
	compiler("list", "kernel.cl_cache");
	EXPECT_DEPENDS(end_after(observation, before), CC_DEPENDENCY_NAMES, "kernel.cl_cache/");
	cc_manifest_free(before);
}

/* As pocl 7, all of whose code is in one library: nobody knows whether its compiler looked. */
TEST(a_driver_with_its_compiler_within_keeps_files_by_name)
{
	struct drv_driver driver = *known_driver();
	struct drv_observation *observation;

	driver.cached_alone[0] = "*/alone.init";
	unit_write("sub/x.h", "text");
	observation = begin_as(&driver, false);
	compiler("open", "sub/alone.init");
	compiler("stat", "sub");
	compiler("write", "sub/own");
	EXPECT_COUNT(end_text(observation, "source"), 0);
	/* A directory beside it is none of its own, and a header there is a header. */
	observation = begin_as(&driver, false);
	compiler("stat", "sub");
	compiler("write", "subordinate");
	EXPECT_DEPENDS(end_text(observation, "source"), CC_DEPENDENCY_PLACE, "sub");
	observation = begin_as(&driver, false);
	compiler("write", "sub/own");
	compiler("open", "sub/x.h");
	EXPECT_DEPENDS(end_text(observation, "source"), CC_DEPENDENCY_FILE, "sub/x.h");
}

/* As comgr's: which build makes it is chance. */
TEST(the_directory_of_the_drivers_cache_comes_and_goes)
{
	struct drv_driver driver = *known_driver();
	struct drv_observation *observation;

	driver.cache_directories[0] = "*/.cache/its";
	observation = begin_as(&driver, false);
	compiler("stat", "sub/.cache/its");
	compiler("open", "sub/.cache/its/x.h");
	EXPECT_DEPENDS(end_text(observation, "source"), CC_DEPENDENCY_ABSENT, "sub/.cache/its/x.h");
	CU_ASSERT_EQUAL(count(), 1);
	/* The application may have its headers there. */
	observation = begin_as(&driver, false);
	compiler("stat", "sub/.cache/its");
	EXPECT_DEPENDS(end_text(observation, "// -I sub/.cache/its"), CC_DEPENDENCY_ABSENT, "sub/.cache/its");
	driver.cache_directories[1] = "*/.cache/one";	/* OBSERVED_PLACES */
	observation = begin_as(&driver, false);
	compiler("stat", "sub/.cache/one");
	EXPECT_DEPENDS(end_text(observation, "source"), CC_DEPENDENCY_ABSENT, "sub/.cache/one");
	/* Another process makes it meanwhile, and then it is there. */
	for (int i = 0; i < 2; i++) {
		observation = begin_as(&driver, false);
		compiler("stat", "sub/.cache/its");
		unit_write("sub/.cache/its/other", "");
		EXPECT_COUNT(end_text(observation, "source"), 0);
	}
	/* Where the application may have them, it is a place as any. */
	observation = begin_as(&driver, false);
	compiler("stat", "sub/.cache/its");
	EXPECT_DEPENDS(end_text(observation, "// -I sub/.cache/its"), CC_DEPENDENCY_PLACE, "sub/.cache/its");
	/* What it lists there counts. */
	observation = begin_as(&driver, false);
	compiler("list", "sub/.cache/its");
	EXPECT_DEPENDS(end_text(observation, "source"), CC_DEPENDENCY_NAMES, "sub/.cache/its/");
}

/* As comgr asks for lld. */
TEST(whether_a_program_that_the_compiler_has_within_is_there_does_not_matter)
{
	struct drv_driver driver = *known_driver();
	struct drv_observation *observation;

	driver.within[0] = "*/linker";
	unit_write("sub/linker", "");
	CU_ASSERT_EQUAL(chmod("sub/linker", 0755), 0);
	observation = begin_as(&driver, false);
	observed_all("runnable none/linker, runnable sub/linker, stat sub/linker");
	EXPECT_COUNT(end_text(observation, "source"), 0);
	/* Other programs do, and other ways of looking: a header may have the name. */
	observation = begin_as(&driver, false);
	observed_all("runnable none/other, access none/linker, runnable sub/linker, stat sub/linker, stat sub/linker");
	EXPECT_DEPENDS(end_text(observation, "source"), CC_DEPENDENCY_ABSENT, "none/other");
	CU_ASSERT(depends_on(CC_DEPENDENCY_ABSENT, "none/linker"));
	CU_ASSERT(depends_on(CC_DEPENDENCY_SEEN, "sub/linker"));
	/* Where it was not there, or something else is asked for, nothing follows. */
	observation = begin_as(&driver, false);
	observed_all("runnable none/linker, stat sub/linker");
	EXPECT_DEPENDS(end_text(observation, "source"), CC_DEPENDENCY_SEEN, "sub/linker");
	observation = begin_as(&driver, false);
	observed_all("runnable sub/linker, stat sub, stat sub/linker");
	EXPECT_DEPENDS(end_text(observation, "source"), CC_DEPENDENCY_SEEN, "sub/linker");
	/* And where another driver builds in this thread. */
	observation = begin_as(&driver, false);
	EXPECT_DEPENDS(watch("runnable", "sub/linker"), CC_DEPENDENCY_SEEN, "sub/linker");
	CU_ASSERT_EQUAL(end_text(observation, "source"), CMN_OK);
}

/* Mesa's may be one file that stays open: a process's first build finds it, and directories. */
TEST(what_the_drivers_own_code_looks_for_shows_no_compiler)
{
	struct drv_observation *observation;

	unit_write("x.cl_cache", "text");
	unit_write("settings/file", "text");
	unit_write("sub/x.h", "text");
	for (int i = 0; i < 6; i++) {
		observation = begin_as(known_driver(), false);
		observed("stat", unit_path("sub"));
		observed("open", unit_path("settings/file"));
		observed("write", "index");
		if (i == 1)
			compiler("open", unit_path("sub/x.h"));
		else if (i == 2)
			observed("open", "x.cl_cache");
		else if (i == 3)
			observed("open", "y.cl_cache");
		/* What an earlier build left to a thread of the driver comes just then. */
		if (i >= 4)
			observed("write", i == 4 ? "x.cl_cache" : "new.cl_cache");
		if (i >= 4)
			observed("open", i == 4 ? "x.cl_cache" : "new.cl_cache");
		CU_ASSERT_EQUAL(end_text(observation, "#include \"x.h\""), i == 1 ? CMN_OK : CMN_MISS);
		CU_ASSERT_STRING_EQUAL(reason, i == 1 ? "" : i == 2 || i >= 4 ? "driver-cached" : "files-unseen");
	}
	/* A compiler's directories do. */
	observation = begin_as(known_driver(), false);
	compiler("stat", unit_path("sub"));
	CU_ASSERT_EQUAL(end_text(observation, "#include \"x.h\""), CMN_OK);
}

/* Processes that share a driver's cache find what others leave there during their builds. */
TEST(what_others_leave_in_the_drivers_cache_is_no_change)
{
	struct drv_observation *observation = begin_as(known_driver(), false);

	unit_write("there.h", "text");
	compiler("open", "there.h");
	observed("open", "x.cl_cache");
	unit_write("x.cl_cache", "text");
	observed("open", "x.cl_cache");
	CU_ASSERT_EQUAL(unlink("x.cl_cache"), 0);
	observed("open", "x.cl_cache");
	EXPECT_COUNT(end_text(observation, "source"), 1);
	/* What was another's when it was read is no less so for being written afterwards. */
	observation = begin(false);
	observed("open", "new.h");
	unit_write("new.h", "text");
	observed_all("open new.h, write new.h");
	EXPECT_UNKNOWN(end_with(observation, NULL, false), "include-changed");
}

/* They are in the key, and too large to be read each time; a copy of them has other times. */
TEST(the_drivers_own_files_count_by_their_times_or_content)
{
	struct drv_observation *observation;
	struct stat before;

	unit_write("files/own.h", "text");
	unit_write("files/deep/other.h", "text");
	unit_write("files/other.c", "text");
	CU_ASSERT_EQUAL(symlink("files/own.h", "link.h"), 0);
	observation = begin_as(known_driver(), false);
	observed_all("open files/own.h, open link.h, open files/deep/other.h, open files/other.c");
	EXPECT_DEPENDS(end_text(observation, "source"), CC_DEPENDENCY_SEEN, "files/own.h");
	CU_ASSERT(depends_on(CC_DEPENDENCY_SEEN, "link.h"));
	CU_ASSERT(depends_on(CC_DEPENDENCY_FILE, "files/deep/other.h"));
	CU_ASSERT(depends_on(CC_DEPENDENCY_FILE, "files/other.c"));
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	CU_ASSERT_EQUAL(chmod("files/own.h", 0640), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(stat("files/own.h", &before), 0);
	unit_write("files/own.h", "Text");
	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, "files/own.h",
				  (const struct timespec[]){ before.st_atim, before.st_mtim }, 0), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
}

/* What was only looked at: whoever copies it keeps its time, and not the other one. */
TEST(what_was_looked_at_counts_by_size_and_time)
{
	const struct timespec old[2] = { { 1000, 7 }, { 1000, 7 } }, other[2] = { { 1000, 8 }, { 1000, 8 } };

	unit_write("there.h", "text");
	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, "there.h", old, 0), 0);
	EXPECT_DEPENDS(watch("stat", "there.h"), CC_DEPENDENCY_SEEN, "there.h");
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	CU_ASSERT_EQUAL(unlink("there.h"), 0);
	unit_write("there.h", "tixt");
	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, "there.h", old, 0), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	CU_ASSERT_EQUAL(utimensat(AT_FDCWD, "there.h", other, 0), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
}

/* Looked at first and opened then, or the other way: it was opened. */
TEST(what_was_opened_once_counts_by_its_content)
{
	for (int i = 0; i < 2; i++) {
		struct drv_observation *observation = begin(false);

		unit_write("there.h", "text");
		observed(i ? "open" : "stat", "there.h");
		observed(i ? "stat" : "open", "there.h");
		EXPECT_DEPENDS(end_with(observation, NULL, false), CC_DEPENDENCY_FILE, "there.h");
	}
}

TEST(another_thing_by_a_name_is_a_change)
{
	const struct stat things[] = {
		{ .st_mode = S_IFDIR, .st_dev = 1, .st_ino = 2 }, { .st_mode = S_IFREG, .st_dev = 1, .st_ino = 2 },
		{ .st_mode = S_IFDIR, .st_dev = 3, .st_ino = 2 }, { .st_mode = S_IFDIR, .st_dev = 1, .st_ino = 4 },
	};

	for (size_t i = 0; i < 16; i++) {
		struct drv_observation *observation = begin(false);

		drv_observation_note_look(observation, &(struct drv_answer){ .path = "x", .info = &things[i / 4] });
		drv_observation_note_look(observation, &(struct drv_answer){ .path = "x", .info = &things[i % 4] });
		CU_ASSERT_EQUAL(drv_observation_find(observation, "x")->changed, i / 4 != i % 4);
		drv_observer_drop(observation);
	}
}

TEST(names_of_one_thing_are_told_whatever_it_is)
{
	static const char *const ways[] = { "stat a.h, stat b.h", "open a.h, open b.h" };

	for (size_t i = 0; i < 2; i++) {
		unit_write("a.h", "text");
		CU_ASSERT_EQUAL(link("a.h", "b.h"), 0);
		CU_ASSERT_EQUAL(watch_all(ways[i]), CMN_OK);
		CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
		CU_ASSERT_EQUAL(system("cp -p a.h c.h && mv c.h b.h"), 0);
		CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
		CU_ASSERT_EQUAL(unlink("b.h"), 0);
	}
}

TEST(names_of_one_directory_are_told)
{
	CU_ASSERT_EQUAL(mkdir("one", 0700), 0);
	CU_ASSERT_EQUAL(symlink("one", "two"), 0);
	CU_ASSERT_EQUAL(watch_all("stat one, stat two"), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	CU_ASSERT_EQUAL(unlink("two"), 0);
	CU_ASSERT_EQUAL(mkdir("two", 0700), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
}

TEST(a_header_that_is_too_large_is_told)
{
	unit_write("large.h", "");
	CU_ASSERT_EQUAL_FATAL(truncate("large.h", (off_t)CC_MANIFEST_MAX_FILE + 1), 0);
	EXPECT_UNKNOWN(watch("open", "large.h"), "header-unreadable");
}

static enum cmn_status hash_status;	/* what hashing answers, once; CMN_OK: the truth */
static const char *changed_unseen;	/* a file that holds something else by now, with its times of then; or NULL */

WRAPPED(enum cmn_status, cc_file_memo_hash_same, (struct cc_file_memo *memo, const char *path,
	const struct cc_file_identity *expected, struct cmn_hash *ret_hash))
{
	enum cmn_status status = hash_status;

	hash_status = CMN_OK;
	if (status == CMN_OK)
		status = __real_cc_file_memo_hash_same(memo, path, expected, ret_hash);
	if (changed_unseen && strcmp(path, changed_unseen) == 0)
		*ret_hash = cmn_hash_of("else", 4);
	return status;
}

static bool reads_else;	/* what is opened holds something else, with the same times */

WRAPPED(enum cmn_status, cc_file_memo_hash_open, (int fd, const struct stat *info, struct cmn_hash *ret_hash))
{
	if (!reads_else)
		return __real_cc_file_memo_hash_open(fd, info, ret_hash);
	*ret_hash = cmn_hash_of("else", 4);
	return CMN_OK;
}

TEST(a_header_that_cannot_be_hashed_is_told)
{
	unit_write("there.h", "text");
	hash_status = CMN_STALE;
	EXPECT_UNKNOWN(watch("open", "there.h"), "include-changed");
	hash_status = CMN_ERR_NOMEM;
	CU_ASSERT_EQUAL(watch("open", "there.h"), CMN_ERR_NOMEM);
	CU_ASSERT_EQUAL(watch("open", "there.h"), CMN_OK);
}

TEST(what_the_machine_does_not_have_is_an_absence)
{
	EXPECT_DEPENDS(watch("open", "/proc/no-such-file"), CC_DEPENDENCY_ABSENT, "/proc/no-such-file");
}

TEST(absences_that_end_are_noticed)
{
	struct drv_observation *observation = begin(false);

	/* It cannot be told any more. */
	observed("open", "absent.h");
	CU_ASSERT_EQUAL(symlink("absent.h", "absent.h"), 0);
	EXPECT_UNKNOWN(end_with(observation, NULL, false), "include-changed");
	CU_ASSERT_EQUAL(unlink("absent.h"), 0);
	/* There for one look, and gone at the end. */
	observation = begin(false);
	observed("open", "absent.h");
	unit_write("absent.h", "");
	observed("open", "absent.h");
	CU_ASSERT_EQUAL(unlink("absent.h"), 0);
	EXPECT_UNKNOWN(end_with(observation, NULL, false), "include-changed");
}

TEST(presences_that_end_are_noticed)
{
	struct drv_observation *observation = begin(false);

	unit_write("there.h", "");
	observed("open", "there.h");
	CU_ASSERT_EQUAL(unlink("there.h"), 0);
	EXPECT_UNKNOWN(end_with(observation, NULL, false), "include-changed");
	/* Away for one look. */
	CU_ASSERT_EQUAL(mkdir("one", 0700), 0);
	observation = begin(false);
	observed("stat", "one");
	CU_ASSERT_EQUAL(rename("one", "two"), 0);
	observed("stat", "one");
	CU_ASSERT_EQUAL(rename("two", "one"), 0);
	EXPECT_UNKNOWN(end_with(observation, NULL, false), "include-changed");
	/* Another one for one look. */
	CU_ASSERT_EQUAL(mkdir("other", 0700), 0);
	observation = begin(false);
	observed("stat", "one");
	CU_ASSERT_EQUAL(rename("one", "two"), 0);
	CU_ASSERT_EQUAL(rename("other", "one"), 0);
	observed("stat", "one");
	CU_ASSERT_EQUAL(rename("one", "other"), 0);
	CU_ASSERT_EQUAL(rename("two", "one"), 0);
	CU_ASSERT_EQUAL(end_with(observation, NULL, false), CMN_MISS);
	/* Another one from then on. */
	observation = begin(false);
	observed("stat", "one");
	CU_ASSERT_EQUAL(rename("one", "two"), 0);
	CU_ASSERT_EQUAL(rename("other", "one"), 0);
	EXPECT_UNKNOWN(end_with(observation, NULL, false), "include-changed");
}

TEST(what_is_read_and_then_written_has_changed)
{
	unit_write("old", "text");
	EXPECT_UNKNOWN(watch_all("open old, write old"), "include-changed");
	/* Opened to be written, and left as it was. */
	EXPECT_DEPENDS(watch_all("open old, open-update old"), CC_DEPENDENCY_FILE, "old");
}

TEST(another_working_directory_is_noticed)
{
	struct drv_observation *observation = begin(false);

	CU_ASSERT_EQUAL(mkdir("sub", 0700), 0);
	CU_ASSERT_EQUAL(chdir("sub"), 0);	/* not by the driver */
	EXPECT_UNKNOWN(end_with(observation, NULL, false), "directory-changed");
	CU_ASSERT_EQUAL(chdir(".."), 0);
}

/* Made by another name than the one that it was looked for by. */
TEST(what_it_made_is_known_by_any_name)
{
	struct drv_observation *observation = begin(false);

	observed("open", "made");
	observed("write", unit_path("made"));
	EXPECT_COUNT(end_with(observation, NULL, false), 0);
	observation = begin(false);
	observed("write", "made.too");
	observed("open", unit_path("made.too"));
	EXPECT_COUNT(end_with(observation, NULL, false), 0);
}

TEST(who_looks_by_the_directorys_name_depends_on_it)
{
	EXPECT_DEPENDS(watch("getcwd", "absent.h"), CC_DEPENDENCY_DIRECTORY, unit_dir());
	CU_ASSERT(depends_on(CC_DEPENDENCY_ABSENT, unit_path("absent.h")));
}

TEST(who_asks_for_the_directorys_name_depends_on_it)
{
	static const char *const ways[] = { "getcwd", "get_current_dir_name", "realpath-here" };

	unit_write("there.h", "text");
	/* Who asks and does not use it does not. */
	CU_ASSERT_EQUAL(watch("realpath", "there.h"), CMN_OK);
	CU_ASSERT_FALSE(depends_on(CC_DEPENDENCY_DIRECTORY, unit_dir()));
	for (size_t i = 0; i < 3; i++) {
		EXPECT_DEPENDS(watch(ways[i], "there.h"), CC_DEPENDENCY_DIRECTORY, unit_dir());
		EXPECT_DEPENDS(watch(ways[i], "absent.h"), CC_DEPENDENCY_DIRECTORY, unit_dir());
	}
}

/* What a driver looked for once in the process, as it was when it last looked. */
TEST(settings_are_as_the_driver_saw_them_last)
{
	const char *path = unit_path("settings/file");
	struct drv_observation *observation;

	CU_ASSERT_EQUAL(watch("open", path), CMN_OK);
	unit_write("settings/file", "text");
	EXPECT_DEPENDS(watch("open", path), CC_DEPENDENCY_FILE, path);
	/* Later builds depend on its content, of then. */
	EXPECT_DEPENDS(watch("stat", "absent.h"), CC_DEPENDENCY_FILE, path);
	/* Whoever only looks at it meanwhile. */
	EXPECT_DEPENDS(watch("stat", path), CC_DEPENDENCY_SEEN, path);
	EXPECT_DEPENDS(watch("stat", "absent.h"), CC_DEPENDENCY_FILE, path);
	unit_write("settings/file", "tixt");
	EXPECT_UNKNOWN(watch("stat", "absent.h"), "include-changed");
	/* They do not show that this build was seen. */
	CU_ASSERT_EQUAL(watch("open", path), CMN_OK);
	observation = begin(false);
	EXPECT_UNKNOWN(end_with(observation, NULL, true), "files-unseen");
	observation = begin(false);
	observed("open", path);
	EXPECT_UNKNOWN(end_with(observation, NULL, true), "files-unseen");
	CU_ASSERT_EQUAL(unlink("settings/file"), 0);
	CU_ASSERT_EQUAL(watch("open", path), CMN_OK);
	/* One that is only looked at is another file then. */
	path = unit_path("settings/looked-at");
	for (int i = 0; i < 2; i++) {
		unit_write("settings/looked-at", i ? "longer text" : "text");
		CU_ASSERT_EQUAL(watch("stat", path), CMN_OK);
		CU_ASSERT_EQUAL(watch("stat", "absent.h"), CMN_OK);
	}
}

static char *map_header(const char *path)
{
	int fd = open(path, O_RDWR);
	char *at = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	CU_ASSERT_NOT_EQUAL_FATAL(at, MAP_FAILED);
	CU_ASSERT_EQUAL(close(fd), 0);
	return at;
}

/* Changes a header of one byte, whose times may stay. */
static void change_through_mapping(const char *path, char to)
{
	char *at = map_header(path);

	*(volatile char *)at = to;
	CU_ASSERT_EQUAL(munmap(at, 1), 0);
}

TEST(what_changes_without_another_time_has_changed)
{
	const char *setting = unit_path("settings/file");
	struct drv_observation *observation;

	unit_write("mapped.h", "1");
	CU_ASSERT_EQUAL(watch("open", "mapped.h"), CMN_OK);
	for (int i = 0; i < 2; i++) {
		observation = begin(false);
		observed(i ? "fopen" : "open", "mapped.h");
		change_through_mapping("mapped.h", i ? '1' : '2');
		EXPECT_UNKNOWN(end_with(observation, NULL, false), "include-changed");
	}
	/* Between two looks. */
	observation = begin(false);
	observed("open", "mapped.h");
	change_through_mapping("mapped.h", '2');
	observed("open", "mapped.h");
	change_through_mapping("mapped.h", '1');
	EXPECT_UNKNOWN(end_with(observation, NULL, false), "include-changed");
	/* Also where the times do not tell. */
	observation = begin(false);
	observed("open", "mapped.h");
	reads_else = true;
	observed("open", "mapped.h");
	reads_else = false;
	EXPECT_UNKNOWN(end_with(observation, NULL, false), "include-changed");
	/* A setting counts as it was when it was read. */
	unit_write("settings/file", "1");
	CU_ASSERT_EQUAL(watch("open", setting), CMN_OK);
	CU_ASSERT_EQUAL(watch("stat", "absent.h"), CMN_OK);
	change_through_mapping(setting, '2');
	EXPECT_UNKNOWN(watch("stat", "absent.h"), "include-changed");
	CU_ASSERT_EQUAL(watch("open", setting), CMN_OK);
	CU_ASSERT_EQUAL(watch("stat", "absent.h"), CMN_OK);
	/* Some file systems leave the times. */
	changed_unseen = setting;
	EXPECT_UNKNOWN(watch("stat", "absent.h"), "include-changed");
	EXPECT_UNKNOWN(watch("open", setting), "include-changed");
	changed_unseen = NULL;
	CU_ASSERT_EQUAL(watch("open", setting), CMN_OK);
	CU_ASSERT_EQUAL(unlink("settings/file"), 0);
	CU_ASSERT_EQUAL(watch("open", setting), CMN_OK);
}

/* It may change and change back while it is read, whenever that came. */
TEST(what_others_may_write_at_any_time_is_not_relied_on)
{
	struct drv_observation *observation;
	char *at;
	int fd;

	unit_write("mapped.h", "1");
	at = map_header("mapped.h");
	EXPECT_UNKNOWN(watch("open", "mapped.h"), "include-changed");
	CU_ASSERT_EQUAL(munmap(at, 1), 0);
	CU_ASSERT_EQUAL(watch("open", "mapped.h"), CMN_OK);
	observation = begin(false);
	observed("open", "mapped.h");
	at = map_header("mapped.h");
	EXPECT_UNKNOWN(end_with(observation, NULL, false), "include-changed");
	CU_ASSERT_EQUAL(munmap(at, 1), 0);
	fd = open("mapped.h", O_RDWR);
	EXPECT_UNKNOWN(watch("open", "mapped.h"), "include-changed");
	CU_ASSERT_EQUAL(close(fd), 0);
	CU_ASSERT_EQUAL(watch("open", "mapped.h"), CMN_OK);
	/* What only looks at it knows nothing of its content. */
	fd = open("mapped.h", O_RDWR);
	CU_ASSERT_EQUAL(watch("stat", "mapped.h"), CMN_OK);
	CU_ASSERT_EQUAL(close(fd), 0);
}

TEST(what_is_no_setting_is_of_one_build)
{
	const char *header = unit_path("include/x.h"), *kept = unit_path("cache/x.cl_cache");
	struct drv_observation *observation;

	unit_write("include/x.h", "text");
	/* In a directory that was looked at, as compilers look at those of headers. */
	observation = begin(false);
	observed("stat", unit_path("include"));
	observed("open", header);
	CU_ASSERT_EQUAL(end_with(observation, NULL, false), CMN_OK);
	CU_ASSERT_EQUAL(watch("stat", "absent.h"), CMN_OK);
	CU_ASSERT_FALSE(depends_on(CC_DEPENDENCY_FILE, header));
	/* Of its cache. */
	unit_write("cache/x.cl_cache", "text");
	observation = begin_as(known_driver(), false);
	observed("open", kept);
	EXPECT_UNKNOWN(end_text(observation, "source"), "driver-cached");
	CU_ASSERT_EQUAL(watch("stat", "absent.h"), CMN_OK);
	CU_ASSERT_FALSE(depends_on(CC_DEPENDENCY_FILE, kept));
	/* By a descriptor of a directory. */
	unit_write("sub/there.h", "text");
	CU_ASSERT_EQUAL(watch("openat-directory", "there.h"), CMN_OK);
	CU_ASSERT_EQUAL(watch("stat", "absent.h"), CMN_OK);
	CU_ASSERT_FALSE(depends_on(CC_DEPENDENCY_FILE, unit_path("sub/there.h")));
}

TEST(the_same_looks_are_the_same_bytes)
{
	struct cmn_buffer bytes[2] = { { 0 }, { 0 } };

	unit_write("a.h", "text");
	unit_write("b.h", "text");
	for (int i = 0; i < 2; i++) {
		struct drv_observation *observation = begin(false);

		observed("open", i ? "a.h" : "b.h");
		observed("open", i ? "b.h" : "a.h");
		CU_ASSERT_EQUAL(end_with(observation, NULL, false), CMN_OK);
		cc_manifest_encode(manifest, &bytes[i]);
	}
	CU_ASSERT(cmn_view_equal(cmn_buffer_view(&bytes[0]), cmn_buffer_view(&bytes[1])));
	cmn_buffer_release(&bytes[0]);
	cmn_buffer_release(&bytes[1]);
}

/* As debug information has it, where an option names the directory as well. */
TEST(the_working_directory_counts_by_its_name_and_as_a_place)
{
	struct drv_observation *observation = begin(false);
	const struct drv_observer_text text = { .directory = true, .options = unit_dir() };

	observed("stat", unit_dir());
	cc_manifest_free(manifest);
	manifest = NULL;
	CU_ASSERT_EQUAL(drv_observer_end(observation, &text, NULL, &manifest, &reason), CMN_OK);
	CU_ASSERT(depends_on(CC_DEPENDENCY_DIRECTORY, unit_dir()));
	CU_ASSERT(depends_on(CC_DEPENDENCY_PLACE, unit_path(".")));
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	CU_ASSERT_EQUAL(chdir("/"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	CU_ASSERT_EQUAL(chdir(unit_dir()), 0);
}

/* As AMD's does, which asks where its compiler is. */
TEST(a_driver_may_ask_for_its_own_place)
{
	struct drv_driver driver = { .library = "libtest.so", .compilers_by_place = true };

	for (int i = 0; i < 4; i++) {
		struct drv_observation *observation;

		driver.compilers_by_place = i < 2;
		observation = begin_as(&driver, false);
		observed("open", i % 2 ? "/proc/self/stat" : "/proc/self/maps");
		CU_ASSERT_EQUAL(end_with(observation, NULL, false), i == 0 ? CMN_OK : CMN_MISS);
	}
}

TEST(what_was_not_observed_is_not_known)
{
	struct drv_observation *observation = drv_observer_begin(&(struct drv_observer_request){
		.driver = drv_driver_of("libother.so"), .libraries = { .address = (const void *)observed },
		.switched_off = true,
	});

	EXPECT_UNKNOWN(end_with(observation, NULL, false), "observer-off");
	EXPECT_UNKNOWN(end_with(NULL, NULL, false), "no-memory");
	/* A file of its own is none that it looked for. */
	observation = begin(false);
	observed("write", "own");
	EXPECT_UNKNOWN(end_with(observation, NULL, true), "files-unseen");
}

TEST(more_files_than_any_build_has_are_told)
{
	struct drv_observation *observation = begin(false);
	char name[32];

	for (int i = 0; i <= 65536; i++) {
		(void)snprintf(name, sizeof(name), "absent-%d", i);
		observed("open", name);
	}
	EXPECT_UNKNOWN(end_with(observation, NULL, false), "too-many-files");
}

/* A build within a build, as a driver's callback may begin: what each looks for is its own. */
TEST(builds_within_builds_are_apart)
{
	struct drv_driver in_call = { .library = "libtest.so", .compiles_in_call = true };
	struct drv_observation *outer = begin_as(&in_call, false), *inner = begin(false);

	unit_write("there.h", "text");
	observed_all("open there.h, write own");
	EXPECT_DEPENDS(end_with(inner, NULL, false), CC_DEPENDENCY_FILE, "there.h");
	observed("open", "absent.h");
	/* Made by this process: no dependency of either. */
	observed("open", "own");
	EXPECT_COUNT(end_with(outer, NULL, false), 1);
	CU_ASSERT(depends_on(CC_DEPENDENCY_ABSENT, "absent.h"));
}

/* Two that go on after the calls that began them: what this thread looks for may be either's. */
TEST(builds_that_go_on_have_no_thread)
{
	struct drv_observation *one = begin(true), *two = begin(true);

	drv_observer_leave_call(two);
	drv_observer_leave_call(one);
	unit_write("there.h", "text");
	observed("open", "there.h");
	EXPECT_DEPENDS(end_with(one, NULL, false), CC_DEPENDENCY_FILE, "there.h");
	EXPECT_DEPENDS(end_with(two, NULL, false), CC_DEPENDENCY_FILE, "there.h");
}

TEST(a_link_that_is_looked_at_is_what_it_leads_to)
{
	unit_write("there.h", "text");
	CU_ASSERT_EQUAL(symlink("there.h", "link.h"), 0);
	CU_ASSERT_EQUAL(symlink("absent.h", "dangling.h"), 0);
	EXPECT_DEPENDS(watch("lstat", "link.h"), CC_DEPENDENCY_SEEN, "link.h");
	EXPECT_DEPENDS(watch("lstat", "dangling.h"), CC_DEPENDENCY_ABSENT, "dangling.h");
}

static void *look(void *path)
{
	observed("open", path);
	return NULL;
}

/* Threads that build nothing, of a driver that compiles where it is called, and where that goes on. */
TEST(other_threads_count_where_the_driver_uses_them)
{
	struct drv_driver in_call = { .library = "libtest.so", .compiles_in_call = true };

	unit_write("there.h", "text");
	for (int goes_on = 0; goes_on < 2; goes_on++) {
		struct drv_observation *observation = begin_as(&in_call, goes_on);
		pthread_t thread;

		CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, look, "there.h"), 0);
		(void)pthread_join(thread, NULL);
		CU_ASSERT_EQUAL(end_with(observation, NULL, false), CMN_OK);
		CU_ASSERT_EQUAL(count(), (size_t)goes_on);
	}
}

/* What a driver looked for by paths of its own counts for all later builds of the process. */
int main(int argc, char **argv)
{
	return argc == 2 && observing_load(argv[1]) && observing_fork() ? unit_run_apart() : 2;
}

/* Before the environment is copied. */
static __attribute__((constructor)) void set_variables(void)
{
	if (setenv("XDG_CACHE_HOME", "/nonexistent/cache/", 1) != 0 || unsetenv("POCL_CACHE_DIR") != 0 ||
	    setenv("OBSERVED_PLACES", "relative:/nonexistent/one:/nonexistent/two", 1) != 0 ||
	    setenv("PATH", "/nonexistent/first:/nonexistent/first/:/nonexistent/second::/usr/bin:relative:/bin", 1) != 0 ||
	    setenv("OLDPWD", "/nonexistent/two", 1) != 0 || setenv("ABC", "/nonexistent/two", 1) != 0)
		abort();
}

/* Who has other values looks elsewhere. */
TEST(variables_count_whose_values_a_path_begins_with)
{
	char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;

	/* Nothing of the result depends on them. */
	unit_write("there.h", "text");
	CU_ASSERT_EQUAL(watch("open", "there.h"), CMN_OK);
	CU_ASSERT_EQUAL(watch("open", "/nonexistent/twofold/x.h"), CMN_OK);
	CU_ASSERT_EQUAL(watch("stat", "/nonexistent/two"), CMN_OK);
	for (size_t i = 0; i < cc_manifest_count(manifest); i++)
		CU_ASSERT_NOT_EQUAL(cc_manifest_get(manifest, i).kind, CC_DEPENDENCY_VARIABLE);
	CU_ASSERT_EQUAL(watch("open", "/nonexistent/two/x.h"), CMN_OK);
	CU_ASSERT(depends_on(CC_DEPENDENCY_VARIABLE, "$OBSERVED_PLACES"));
	CU_ASSERT_FALSE(depends_on(CC_DEPENDENCY_VARIABLE, "$OLDPWD"));
	CU_ASSERT(depends_on(CC_DEPENDENCY_VARIABLE, "$ABC"));	/* its name is as long as $PWD */
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	CU_ASSERT_EQUAL(setenv("OBSERVED_PLACES", "/nonexistent/two", 1), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	CU_ASSERT_EQUAL(setenv("OBSERVED_PLACES", "relative:/nonexistent/one:/nonexistent/two", 1), 0);
	/* One that is not set may come to count instead. */
	EXPECT_DEPENDS(watch("open", "/nonexistent/cache/pocl/x.h"), CC_DEPENDENCY_VARIABLE, "$POCL_CACHE_DIR");
	CU_ASSERT(depends_on(CC_DEPENDENCY_VARIABLE, "$XDG_CACHE_HOME"));
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	CU_ASSERT_EQUAL(setenv("POCL_CACHE_DIR", "", 1), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	CU_ASSERT_EQUAL(unsetenv("POCL_CACHE_DIR"), 0);
	CU_ASSERT_EQUAL(setenv("HOME", "/nonexistent/other", 1), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	CU_ASSERT_EQUAL(home ? setenv("HOME", home, 1) : unsetenv("HOME"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	free(home);
}

/* A build that looks for it in those directories of PATH (main), by their numbers, one after the other. */
static bool path_counts(const struct drv_driver *driver, const char *numbers, const char *name)
{
	static const char *const directories[] = {
		"/nonexistent/first", "/nonexistent/second", "/usr/bin", "relative", "/bin",
	};
	struct drv_observation *observation = begin_as(driver, false);
	char path[64];

	/* What lies below them is no setting of later builds. */
	observed_all("stat /nonexistent, stat /usr, stat /bin");
	for (; *numbers; numbers++) {
		(void)snprintf(path, sizeof(path), "%s/%s", directories[*numbers - '1'], name);
		observed("runnable", path);
	}
	CU_ASSERT_EQUAL(end_with(observation, NULL, false), CMN_OK);
	return depends_on(CC_DEPENDENCY_VARIABLE, "$PATH");
}

/* It leads to programs, by a search through all of it; what is looked for in some of them has other reasons. */
TEST(the_search_path_counts_where_it_was_searched)
{
	static const char *const some[] = { "1", "12", "123", "5", "35", "235", "135", "13", NULL };
	const struct drv_driver *driver = known_driver();

	CU_ASSERT(path_counts(driver, "12345", "program"));
	CU_ASSERT(path_counts(driver, "1235", "program"));
	CU_ASSERT(path_counts(driver, "5321", "program"));
	for (const char *const *numbers = some; *numbers; numbers++)
		CU_ASSERT_FALSE(path_counts(driver, *numbers, "program"));
	/* It ends at the one that is there, whatever that is. */
	CU_ASSERT(path_counts(driver, "123", "sh"));
	CU_ASSERT(path_counts(driver, "123", "rm"));
	CU_ASSERT_FALSE(path_counts(driver, "3", "sh"));
	CU_ASSERT_FALSE(path_counts(driver, "23", "sh"));
	unit_write("relative/tool", "");
	CU_ASSERT_EQUAL(chmod("relative/tool", 0755), 0);
	CU_ASSERT(path_counts(driver, "1234", "tool"));
	CU_ASSERT_FALSE(path_counts(driver, "134", "tool"));
	/* What lies beside one of them may have been found by that. */
	CU_ASSERT(path_counts(driver, "3", "../no-such-directory/file"));
	/* Who knows how others search. */
	CU_ASSERT(path_counts(drv_driver_of("libother.so"), "1", "program"));
}

/* The options have -I with the directory inc here, of which a build looks at these. */
static struct cc_manifest_item include_path_of(const char *looks, struct drv_observer_text text, const char *more)
{
	static char options[1024];
	static struct cc_include_paths paths;
	struct cmn_buffer key = { 0 };
	char here[400], all[1024];
	struct drv_observation *observation;

	CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(here, sizeof(here)));
	(void)snprintf(options, sizeof(options), "-I%s/inc%s", here, more);
	cc_include_paths_take(options, &key, &paths);
	CU_ASSERT_EQUAL_FATAL(paths.count, 1);
	cmn_buffer_release(&key);
	text.options = options;
	text.include_paths = &paths;
	(void)snprintf(all, sizeof(all), "%s", here);
	observation = begin(false);
	for (const char *at = looks; *at;) {
		size_t len = strcspn(at, ",");
		char how[16], path[128];

		CU_ASSERT_EQUAL(sscanf(at, " %15s %127[^,]", how, path), 2);
		(void)snprintf(all, sizeof(all), "%s%s%s", path[0] == '+' ? here : "", path[0] == '+' ? "/" : "",
			       path + (path[0] == '+'));
		observed(how, all);
		at += len + (at[len] == ',');
	}
	CU_ASSERT_EQUAL_FATAL(end_as(observation, &text), CMN_OK);
	CU_ASSERT_FATAL(cc_manifest_count(manifest) > 0);
	return cc_manifest_get(manifest, 0);
}

/* As a compiler's would be, roughly. */
static bool tells(struct cmn_view text, struct drv_text_findings *findings)
{
	const char *include = memmem(text.data, text.len, "#include", 8);
	size_t left = include ? text.len - (size_t)(include - (const char *)text.data) : 0;

	for (size_t i = 0; i < findings->part_count && include; i++) {
		if (memmem(include, left, findings->parts[i].data, findings->parts[i].len))
			return true;
	}
	return memmem(text.data, text.len, "__FILE__", 8);
}

static bool is_named(const char *looks, const char *source)
{
	struct drv_observer_text text = { .tells_file = tells };
	struct cc_manifest_item item;

	if (source)
		text.source = cmn_view_of(source);
	item = include_path_of(looks, text, "");
	CU_ASSERT_EQUAL(item.kind, CC_DEPENDENCY_INCLUDE_PATH);
	return item.size;
}

TEST(a_result_may_name_an_include_path)
{
	char here[400], text[512];

	CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(here, sizeof(here)));
	unit_write("inc/h.h", "int x;");
	unit_write("inc/more/h.h", "#include <h.h>");
	unit_write("inc/file.h", "char *s = __FILE__;");
	unit_write("other/h.h", "int inc, h;");
	CU_ASSERT_FALSE(is_named("stat +inc, open +inc/h.h, open +inc/absent.h", "#include <h.h>"));
	CU_ASSERT_FALSE(is_named("stat +inc, open +inc/more/h.h, open +inc/h.h", "#include <more/h.h>"));
	/* The compiler was not seen to look there. */
	CU_ASSERT(is_named("stat /usr", "int x;"));
	CU_ASSERT(is_named("open h.h", "int x;"));
	CU_ASSERT(is_named("stat +incl", "int x;"));
	/* A text asks for a file's name: what is compiled, or one that it includes, but no data. */
	CU_ASSERT(is_named("stat +inc, open +inc/h.h", "__FILE__"));
	CU_ASSERT(is_named("stat +inc, open +inc/file.h", "#include <file.h>"));
	CU_ASSERT_FALSE(is_named("stat +inc, stat +inc/file.h", "__has_include(<file.h>)"));
	unit_write_bytes("inc/data", "\0__FILE__", 9);
	CU_ASSERT(is_named("stat +inc, open +inc/data", "#include <data>"));
	unit_write_bytes("inc/data", "\x7f" "ELF__FILE__", 12);
	CU_ASSERT_FALSE(is_named("stat +inc, open +inc/data", "#embed <data>"));
	/* Or has the directory's. */
	(void)snprintf(text, sizeof(text), "#include \"%s/inc/h.h\"", here);
	CU_ASSERT(is_named("stat +inc, open +inc/h.h", text));
	unit_write("inc/named.h", text);
	CU_ASSERT(is_named("stat +inc, open +inc/named.h, open +inc/h.h", "#include <named.h>"));
	unit_write("outside.h", text);
	CU_ASSERT(is_named("stat +inc, open outside.h, open +inc/h.h", "#include \"outside.h\""));
	/* A directory above it was looked in: the text may lead there by way of that. */
	CU_ASSERT(is_named("stat +inc, open +absent.h, open +inc/h.h", "#include <inc/h.h>"));
	CU_ASSERT_FALSE(is_named("stat +inc, stat +, open +inc/h.h", "int inc;"));
	CU_ASSERT(is_named("stat +inc, open +other/h.h, stat +, open +inc/h.h", "#include <h.h>"));
	CU_ASSERT_FALSE(is_named("stat +inc, open +other/h.h, open +inc/h.h", "#include <h.h>"));
}

TEST(an_include_path_by_another_name_may_be_named)
{
	unit_write("real/h.h", "int x;");
	CU_ASSERT_EQUAL(symlink("real", "inc"), 0);
	CU_ASSERT_FALSE(is_named("stat +inc, open +inc/h.h", "int x;"));
	CU_ASSERT(is_named("stat +inc, open +real/h.h", "int x;"));
	/* The build made something there. */
	CU_ASSERT(is_named("stat +inc, write +inc/own", "int x;"));
	/* It is a map of headers. */
	CU_ASSERT_EQUAL(unlink("inc"), 0);
	unit_write("inc", "");
	CU_ASSERT(is_named("open +inc", "int x;"));
	/* It is asked for debug information. */
	CU_ASSERT(include_path_of("stat +inc", (struct drv_observer_text){ .directory = true }, " -g").size);
}

/* The value of a variable that is set before the environment is read. */
static void set(const char *name, const char *below)
{
	char here[400], value[512];

	CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(here, sizeof(here)));
	(void)snprintf(value, sizeof(value), "/usr:%s%s", here, below);
	CU_ASSERT_EQUAL_FATAL(setenv(name, value, 1), 0);
	unit_write("inc/h.h", "int x;");
}

TEST(a_variable_with_an_include_path_leads_there_whatever_the_options_say)
{
	set("CPATH", "/inc/more");
	CU_ASSERT(is_named("stat +inc, open +inc/h.h", "int x;"));
}

/* What lies below moves with the option. */
TEST(a_variable_with_a_directory_above_an_include_path_does_not_count)
{
	set("OBSERVED_PLACES", "");
	CU_ASSERT_FALSE(is_named("stat +inc, open +inc/h.h", "int x;"));
	CU_ASSERT_FALSE(depends_on(CC_DEPENDENCY_VARIABLE, "$OBSERVED_PLACES"));
	CU_ASSERT(is_named("stat +inc, open +inc/h.h", "__FILE__"));
	CU_ASSERT(depends_on(CC_DEPENDENCY_VARIABLE, "$OBSERVED_PLACES"));
}

TEST(a_program_that_runs_within_its_include_path_may_name_it)
{
	struct drv_observer_text text = { .tells_file = tells };
	struct cc_include_paths paths;
	struct cmn_buffer key = { 0 };
	char here[400], options[512];
	struct drv_observation *observation;

	unit_write("inc/deep/h.h", "int x;");
	CU_ASSERT_PTR_NOT_NULL_FATAL(getcwd(here, sizeof(here)));
	(void)snprintf(options, sizeof(options), "-I%s/inc", here);
	cc_include_paths_take(options, &key, &paths);
	cmn_buffer_release(&key);
	text.include_paths = &paths;
	for (int i = 0; i < 2; i++) {
		observation = begin(false);
		observed("stat", options + 2);
		CU_ASSERT_EQUAL(end_as(observation, &text), CMN_OK);
		CU_ASSERT_EQUAL(cc_manifest_moves(manifest), i == 0);
		CU_ASSERT_EQUAL(chdir(i == 0 ? "inc/deep" : "../.."), 0);
	}
}
