/* SPDX-License-Identifier: MIT */
/* config: where a setting comes from, how its text is read, and complaints. */
#include "cachecore/config.h"

#include <sys/auxv.h>
#include <sys/uio.h>

#include "cachecore/disk/path.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

static struct {
	unsigned int count;
	enum cmn_log_level level;	/* of the last one */
	char last[1024];
} complaints;

static bool privileged;		/* as a program is whose user is another than its caller */

WRAPPED(unsigned long, getauxval, (unsigned long type))
{
	return type == AT_SECURE ? privileged : __real_getauxval(type);
}

static struct cc_config config;		/* of the running test */

static void keep(void *ctx, enum cmn_log_level level, const char *message)
{
	(void)ctx;
	complaints.count++;
	complaints.level = level;
	(void)snprintf(complaints.last, sizeof(complaints.last), "%s", message);
}

static void set(const char *name, const char *value)
{
	CU_ASSERT_EQUAL_FATAL(setenv(name, value, 1), 0);
}

/* Nothing of the tester's own environment counts; HOME is the test's directory. */
static void clean_environment(void)
{
	CU_ASSERT_EQUAL_FATAL(clearenv(), 0);
	set("HOME", unit_dir());
}

/* Loads with files "system.conf" and ".config/ckcache/ckcache.conf" of the test's directory. */
static void load(void)
{
	const struct cmn_log log = { CMN_LOG_WARNING, keep, NULL };

	memset(&complaints, 0, sizeof(complaints));
	cc_config_release(&config);
	CU_ASSERT_EQUAL_FATAL(cc_config_load_from(&log, unit_path("system.conf"), &config), CMN_OK);
}

/* And complains so often. */
#define LOAD_WITH(complaints_expected) \
	do { \
		load(); \
		CU_ASSERT_EQUAL(complaints.count, complaints_expected); \
	} while (0)

BEFORE_EACH
{
	clean_environment();
}

AFTER_EACH
{
	privileged = false;
	cc_config_release(&config);
}

TEST(has_the_documented_defaults)
{
	LOAD_WITH(0);
	CU_ASSERT_STRING_EQUAL(config.dir, unit_path(".cache/ckcache"));
	CU_ASSERT_PTR_NULL(config.dir_problem);
	CU_ASSERT_FALSE(config.disable);
	CU_ASSERT_TRUE(config.persistent);
	CU_ASSERT_TRUE(config.in_mem);
	CU_ASSERT_EQUAL(config.in_mem_eviction_threshold, UINT64_C(268435456));
	CU_ASSERT_FALSE(config.eviction_disable);
	CU_ASSERT_EQUAL(config.max_size, UINT64_C(8589934592));
	CU_ASSERT_EQUAL(config.threshold_days, 90);
	CU_ASSERT_EQUAL(config.min_device_image_size, 0);
	CU_ASSERT_EQUAL(config.max_device_image_size, UINT64_C(1073741824));
	CU_ASSERT_EQUAL(config.compression, CC_COMPRESSION_AUTO);
	CU_ASSERT_FALSE(config.read_only);
	CU_ASSERT_STRING_EQUAL(config.read_only_dirs[0], "/usr/share/ckcache");
	CU_ASSERT_STRING_EQUAL(config.read_only_dirs[1], "/var/lib/ckcache");
	CU_ASSERT_PTR_NULL(config.read_only_dirs[2]);
	CU_ASSERT_EQUAL(config.build_wait, 300);
	CU_ASSERT_EQUAL(config.capture, CC_CAPTURE_AUTO);
	CU_ASSERT_PTR_NULL(config.built_for);
	CU_ASSERT_TRUE(config.observe);
	CU_ASSERT_TRUE(config.replay);
	CU_ASSERT_EQUAL(config.log_level, CMN_LOG_ERROR);
	CU_ASSERT_PTR_NULL(config.log_file);
	CU_ASSERT_PTR_NULL(config.trace);
	CU_ASSERT_PTR_NULL(config.remote);
}

TEST(reads_every_variable)
{
	set("CKCACHE_DIR", "/some/where");
	set("CKCACHE_DISABLE", "1");
	set("CKCACHE_IN_MEM", "off");
	set("CKCACHE_IN_MEM_EVICTION_THRESHOLD", "1Mi");
	set("CKCACHE_EVICTION_DISABLE", "0");
	set("CKCACHE_MAX_SIZE", "2G");
	set("CKCACHE_THRESHOLD", "7");
	set("CKCACHE_MIN_DEVICE_IMAGE_SIZE", "10");
	set("CKCACHE_MAX_DEVICE_IMAGE_SIZE", "1K");
	set("CKCACHE_COMPRESSION", "9");
	set("CKCACHE_READ_ONLY", "yes");
	set("CKCACHE_READ_ONLY_DIRS", ":/a::/b:");
	set("CKCACHE_CAPTURE", "eager");
	set("CKCACHE_BUILT_FOR", "blender");
	set("CKCACHE_OBSERVE", "0");
	set("CKCACHE_REPLAY", "0");
	set("CKCACHE_LOG", "debug");
	set("CKCACHE_LOG_FILE", "/tmp/log");
	set("CKCACHE_TRACE", "/tmp/trace");
	set("CKCACHE_REMOTE", "redis://host");
	LOAD_WITH(0);
	CU_ASSERT_STRING_EQUAL(config.dir, "/some/where");
	CU_ASSERT_TRUE(config.disable);
	CU_ASSERT_FALSE(config.in_mem);
	CU_ASSERT_EQUAL(config.in_mem_eviction_threshold, 1048576);
	CU_ASSERT_TRUE(config.eviction_disable);	/* any value sets it */
	CU_ASSERT_EQUAL(config.max_size, UINT64_C(2000000000));
	CU_ASSERT_EQUAL(config.threshold_days, 7);
	CU_ASSERT_EQUAL(config.min_device_image_size, 10);
	CU_ASSERT_EQUAL(config.max_device_image_size, 1000);
	CU_ASSERT_EQUAL(config.compression, 9);
	CU_ASSERT_TRUE(config.read_only);
	CU_ASSERT_STRING_EQUAL(config.read_only_dirs[0], "/a");
	CU_ASSERT_STRING_EQUAL(config.read_only_dirs[1], "/b");
	CU_ASSERT_PTR_NULL(config.read_only_dirs[2]);
	CU_ASSERT_EQUAL(config.capture, CC_CAPTURE_EAGER);
	CU_ASSERT_STRING_EQUAL(config.built_for, "blender");
	CU_ASSERT_FALSE(config.observe);
	CU_ASSERT_FALSE(config.replay);
	CU_ASSERT_EQUAL(config.log_level, CMN_LOG_DEBUG);
	CU_ASSERT_STRING_EQUAL(config.log_file, "/tmp/log");
	CU_ASSERT_STRING_EQUAL(config.trace, "/tmp/trace");
	CU_ASSERT_STRING_EQUAL(config.remote, "redis://host");
}

TEST(a_log_file_asks_for_something_in_it)
{
	set("CKCACHE_LOG_FILE", "/tmp/log");
	load();
	CU_ASSERT_EQUAL(config.log_level, CMN_LOG_INFO);
	set("CKCACHE_LOG", "warning");
	load();
	CU_ASSERT_EQUAL(config.log_level, CMN_LOG_WARNING);
	set("CKCACHE_LOG", "");
	load();
	CU_ASSERT_EQUAL(config.log_level, CMN_LOG_INFO);
	CU_ASSERT_EQUAL(complaints.count, 0);
}

TEST(a_variable_wins_over_the_users_file_over_the_systems)
{
	unit_write("system.conf", "max_size = 1B\nthreshold = 1\ncompression = 1\n");
	unit_write(".config/ckcache/ckcache.conf", "max_size = 2B\nthreshold = 2\n");
	set("CKCACHE_MAX_SIZE", "3B");
	load();
	CU_ASSERT_EQUAL(config.max_size, 3);
	CU_ASSERT_EQUAL(config.threshold_days, 2);
	CU_ASSERT_EQUAL(config.compression, 1);
	CU_ASSERT_EQUAL(complaints.count, 0);
}

TEST(looks_for_the_users_file_where_xdg_says)
{
	unit_write(".config/ckcache/ckcache.conf", "threshold = 2\n");
	unit_write("elsewhere/ckcache/ckcache.conf", "threshold = 3\n");
	set("XDG_CONFIG_HOME", unit_path("elsewhere"));
	load();
	CU_ASSERT_EQUAL(config.threshold_days, 3);
	cc_config_release(&config);
	/* The specification has relative paths ignored. */
	set("XDG_CONFIG_HOME", "elsewhere");
	load();
	CU_ASSERT_EQUAL(config.threshold_days, 2);
}

TEST(reads_comments_blanks_and_last_lines)
{
	unit_write("system.conf", "# a comment\n\n \t\r\n"
				  "  dir=/a#b  # not part of it\r\n"
				  "\tThreshold\t=\t4\n"
				  "threshold = 5\n"
				  "remote = a = b");
	LOAD_WITH(0);
	CU_ASSERT_STRING_EQUAL(config.dir, "/a#b");
	CU_ASSERT_EQUAL(config.threshold_days, 5);
	CU_ASSERT_STRING_EQUAL(config.remote, "a = b");
}

TEST(names_a_bad_variable_and_uses_the_default)
{
	unit_write("system.conf", "threshold = 4\n");
	set("CKCACHE_THRESHOLD", "soon");
	set("CKCACHE_LOG", "info");
	set("CKCACHE_TRACE", "/trace");
	LOAD_WITH(1);
	CU_ASSERT_PTR_NOT_NULL(strstr(complaints.last, "CKCACHE_THRESHOLD"));
	CU_ASSERT_PTR_NOT_NULL(strstr(complaints.last, "\"soon\""));
	CU_ASSERT_EQUAL(config.threshold_days, 90);
	CU_ASSERT_EQUAL(config.log_level, CMN_LOG_INFO);
	CU_ASSERT_STRING_EQUAL(config.trace, "/trace");
}

TEST(names_a_bad_line_by_file_and_number)
{
	unit_write("system.conf", "\nmax_size = lots\n");
	LOAD_WITH(1);
	CU_ASSERT_PTR_NOT_NULL(strstr(complaints.last, "system.conf:2: max_size"));
	CU_ASSERT_EQUAL(config.max_size, UINT64_C(8589934592));
	unit_write("system.conf", "threshold = 3\njust words\nno_such_setting = 1\n");
	LOAD_WITH(2);
	CU_ASSERT_PTR_NOT_NULL(strstr(complaints.last, "no_such_setting"));
	CU_ASSERT_EQUAL(complaints.level, CMN_LOG_WARNING);	/* a later version may know it */
	CU_ASSERT_EQUAL(config.threshold_days, 3);
}

TEST(refuses_each_kind_of_bad_value)
{
	static const char *const cases[][2] = {
		{ "CKCACHE_DISABLE", "perhaps" },     { "CKCACHE_MAX_SIZE", "-1" },
		{ "CKCACHE_THRESHOLD", "36501" },     { "CKCACHE_COMPRESSION", "0" },
		{ "CKCACHE_COMPRESSION", "10" },      { "CKCACHE_CAPTURE", "never" },
		{ "CKCACHE_LOG", "loud" },            { "CKCACHE_BUILD_WAIT", "86401" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		clean_environment();
		set(cases[i][0], cases[i][1]);
		LOAD_WITH(1);
	}
}

TEST(an_empty_value_asks_for_the_default)
{
	unit_write("system.conf", "dir = /a\ntrace = /b\nthreshold = 4\n");
	set("CKCACHE_DIR", "");
	set("CKCACHE_TRACE", "");
	set("CKCACHE_THRESHOLD", "");
	set("CKCACHE_EVICTION_DISABLE", "");
	set("CKCACHE_READ_ONLY_DIRS", "");
	LOAD_WITH(0);
	CU_ASSERT_STRING_EQUAL(config.dir, unit_path(".cache/ckcache"));
	CU_ASSERT_PTR_NULL(config.trace);
	CU_ASSERT_EQUAL(config.threshold_days, 90);
	CU_ASSERT_FALSE(config.eviction_disable);
	CU_ASSERT_PTR_NULL(config.read_only_dirs[0]);
}

TEST(makes_relative_paths_of_variables_absolute)
{
	set("CKCACHE_DIR", "./~/cache");
	set("CKCACHE_TRACE", "trace");
	set("CKCACHE_READ_ONLY_DIRS", "/a:b");
	load();
	CU_ASSERT_STRING_EQUAL(config.dir, unit_path("./~/cache"));
	CU_ASSERT_STRING_EQUAL(config.trace, unit_path("trace"));
	CU_ASSERT_STRING_EQUAL(config.read_only_dirs[1], unit_path("b"));
}

/* What the directory is with that variable and HOME; NULL: none, and where the cache is on, it is known why. */
static void check_dir(const char *name, const char *value, unsigned int complaints_expected, const char *dir)
{
	set(name, value);
	LOAD_WITH(complaints_expected);
	CU_ASSERT_EQUAL(!config.dir, !dir);
	CU_ASSERT_EQUAL(!config.dir_problem, dir || !config.persistent);
	if (config.dir && dir)
		CU_ASSERT_STRING_EQUAL(config.dir, dir);
	CU_ASSERT_EQUAL_FATAL(unsetenv(name), 0);
}

TEST(the_directory_is_what_the_first_of_these_says)
{
	check_dir("XDG_CACHE_HOME", "/caches", 0, "/caches/ckcache");
	check_dir("CKCACHE_DIR", "~/cache", 1, unit_path(".cache/ckcache"));
	unit_write("system.conf", "dir = cache\n");
	check_dir("HOME", unit_dir(), 1, unit_path(".cache/ckcache"));
	unit_write("system.conf", "");
	check_dir("HOME", unit_path("none"), 0, NULL);
	check_dir("HOME", "not/absolute", 0, NULL);
	set("CKCACHE_DIR", "/a");
	check_dir("CKCACHE_PERSISTENT", "0", 0, NULL);
	/* No home. */
	check_dir("CKCACHE_DIR", "", 0, NULL);
	CU_ASSERT_PTR_NOT_NULL(strstr(config.dir_problem, "HOME"));
}

TEST(survives_files_that_cannot_be_read)
{
	unit_write("system.conf/inside", "a directory stands there");
	LOAD_WITH(1);
	CU_ASSERT_EQUAL(config.threshold_days, 90);
}

TEST(takes_words_in_any_case)
{
	set("CKCACHE_LOG", "Debug");
	set("CKCACHE_COMPRESSION", "NONE");
	set("CKCACHE_EVICTION_ORDER", "cost");
	set("CKCACHE_SHARED", "group");
	set("CKCACHE_BUILD_WAIT", "0");
	LOAD_WITH(0);
	CU_ASSERT_EQUAL(config.log_level, CMN_LOG_DEBUG);
	CU_ASSERT_EQUAL(config.compression, CC_COMPRESSION_NONE);
	CU_ASSERT_EQUAL(config.eviction_order, CC_EVICTION_COST);
	CU_ASSERT_EQUAL(config.sharing, CC_SHARING_GROUP);
	CU_ASSERT_EQUAL(config.build_wait, 0);
	set("CKCACHE_EVICTION_ORDER", "none");
	load();
	CU_ASSERT_EQUAL(config.eviction_order, CC_EVICTION_NONE);
}

TEST(refuses_a_list_with_one_relative_path_in_a_file)
{
	static const char *const lists[] = { "read_only_dirs = /a:b\n", "read_only_dirs = b:/a\n" };

	for (size_t i = 0; i < 2; i++) {
		unit_write("system.conf", lists[i]);
		LOAD_WITH(1);
		CU_ASSERT_STRING_EQUAL(config.read_only_dirs[0], "/usr/share/ckcache");
		CU_ASSERT_STRING_EQUAL(config.read_only_dirs[1], "/var/lib/ckcache");
	}
}

TEST(follows_a_link_to_a_file)
{
	unit_write("elsewhere.conf", "threshold = 6\n");
	CU_ASSERT_EQUAL_FATAL(symlink("elsewhere.conf", "system.conf"), 0);
	LOAD_WITH(0);
	CU_ASSERT_EQUAL(config.threshold_days, 6);
}

TEST(does_not_use_the_home_of_another_user)
{
	if (!unit_is_root())
		return;		/* nobody else can give a directory away */
	CU_ASSERT_EQUAL_FATAL(mkdir("home", 0755), 0);
	CU_ASSERT_EQUAL_FATAL(chown("home", 12345, 12345), 0);
	set("HOME", unit_path("home"));
	load();
	CU_ASSERT_PTR_NULL(config.dir);
	CU_ASSERT_PTR_NOT_NULL(config.dir_problem);
}

/* Each variable that names a directory, itself another's or below one's of another's, which may not be there. */
TEST(obeys_no_directory_of_another_user)
{
	static const char *const variables[] = { "HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME" };
	static const char *const places[] = { "eve", "eve/roots", "eve/none", "link", "evelink" };
	char *cache = NULL, *user = NULL;

	if (geteuid() != 0)
		return;		/* nobody else can give a directory away */
	unit_write("eve/ckcache/ckcache.conf", "threshold = 3\n");
	unit_write("eve/.config/ckcache/ckcache.conf", "threshold = 3\n");
	unit_write("eve/roots/ckcache/ckcache.conf", "threshold = 3\n");
	unit_write("eve/roots/.config/ckcache/ckcache.conf", "threshold = 3\n");
	CU_ASSERT_EQUAL_FATAL(mkdir("mine", 0700), 0);
	CU_ASSERT_EQUAL(chown("eve", 12345, 12345), 0);
	CU_ASSERT(symlink("eve/roots", "link") == 0 && symlink("mine", "evelink") == 0);
	CU_ASSERT_EQUAL(lchown("evelink", 12345, 12345), 0);
	for (size_t v = 0; v < sizeof(variables) / sizeof(variables[0]); v++) {
		for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++) {
			CU_ASSERT_EQUAL_FATAL(clearenv(), 0);
			set(variables[v], unit_path(places[p]));
			load();
			CU_ASSERT_PTR_NULL(config.dir);
			CU_ASSERT_EQUAL(config.threshold_days, 90);
			CU_ASSERT_EQUAL(cc_config_user_file(&user), CMN_OK);
			CU_ASSERT_PTR_NULL(user);
			CU_ASSERT_EQUAL(cc_config_xdg_path(variables[v], "tail", "tail", &cache), CMN_OK);
			CU_ASSERT_PTR_NULL(cache);
		}
	}
}

/* Each part of the way to a file that is obeyed, as others might change it. */
TEST(obeys_no_file_that_others_may_change)
{
	static const struct {
		const char *path;
		mode_t mode;
		uid_t owner;
	} rows[] = {
		{ "way/ckcache/ckcache.conf", 0622, 0 }, { "way/ckcache/ckcache.conf", 0660, 0 },
		{ "way/ckcache/ckcache.conf", 0644, 12345 }, { "way/ckcache", 0777, 0 },
		{ "way/ckcache", 0770, 0 }, { "way/ckcache", 0755, 12345 }, { "way", 0777, 0 },
		{ "system.conf", 0666, 0 }, { "system.conf", 0644, 12345 },
	};

	unit_write("way/ckcache/ckcache.conf", "threshold = 3\n");
	unit_write("system.conf", "compression = 7\n");
	set("XDG_CONFIG_HOME", unit_path("way"));
	LOAD_WITH(0);
	CU_ASSERT(config.threshold_days == 3 && config.compression == 7);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *path = rows[i].path;
		struct stat before;

		if (rows[i].owner && geteuid() != 0)
			continue;
		CU_ASSERT_EQUAL_FATAL(stat(path, &before), 0);
		CU_ASSERT_EQUAL(chmod(path, rows[i].mode), 0);
		CU_ASSERT(!rows[i].owner || chown(path, rows[i].owner, (gid_t)-1) == 0);
		LOAD_WITH(1);
		CU_ASSERT_EQUAL(complaints.level, CMN_LOG_ERROR);
		CU_ASSERT(config.threshold_days == (*path == 's' ? 3 : 90) &&
			  config.compression == (*path == 's' ? CC_COMPRESSION_AUTO : 7));
		CU_ASSERT(!rows[i].owner || chown(path, before.st_uid, (gid_t)-1) == 0);
		CU_ASSERT_EQUAL(chmod(path, before.st_mode & 07777), 0);
	}
	/* Nobody can replace what is not his in a directory with the sticky bit. */
	CU_ASSERT_EQUAL(chmod("way", 01777), 0);
	LOAD_WITH(0);
	CU_ASSERT_EQUAL(config.threshold_days, 3);
	/* A way of one's own to a file elsewhere, as tools for settings make it. */
	CU_ASSERT(rename("way/ckcache/ckcache.conf", "kept.conf") == 0 &&
		  symlink("../../kept.conf", "way/ckcache/ckcache.conf") == 0);
	LOAD_WITH(0);
	CU_ASSERT_EQUAL(config.threshold_days, 3);
	CU_ASSERT_EQUAL(chmod("kept.conf", 0666), 0);
	LOAD_WITH(1);
	CU_ASSERT_EQUAL(config.threshold_days, 90);
}

TEST(a_small_bound_has_a_unit)
{
	static const char *const bad[] = { "5", "1048575" }, *const good[] = { "0", "5B", "5K", "1048576", "5G" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		set("CKCACHE_MAX_SIZE", bad[i]);
		LOAD_WITH(1);
		CU_ASSERT_EQUAL(config.max_size, UINT64_C(8) << 30);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		set("CKCACHE_MAX_SIZE", good[i]);
		LOAD_WITH(0);
	}
}

/* qemu-user lacks the call that reads the environment, and who changed the user has no other way to. */
static bool kernel_reads_memory(void)
{
	char from = 1, to = 0;
	const struct iovec there = { &from, 1 }, here = { &to, 1 };

	return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1;
}

TEST(uses_a_home_that_belongs_to_the_superuser)
{
	uid_t user = geteuid();

	if (user == 0 && !kernel_reads_memory()) {
		(void)printf("SKIPPED: no process_vm_readv; ");
		return;
	}
	set("HOME", "/usr");
	CU_ASSERT_FATAL(user != 0 || seteuid(12345) == 0);
	load();
	CU_ASSERT_FATAL(user != 0 || seteuid(0) == 0);
	CU_ASSERT_PTR_NOT_NULL_FATAL(config.dir);
	CU_ASSERT_STRING_EQUAL(config.dir, "/usr/.cache/ckcache");
}

TEST(a_privileged_program_does_not_heed_its_callers_environment)
{
	unit_write("elsewhere/ckcache/ckcache.conf", "threshold = 3\n");
	set("XDG_CONFIG_HOME", unit_path("elsewhere"));
	set("XDG_CACHE_HOME", "/caches");
	set("CKCACHE_MAX_SIZE", "3B");
	unit_write("system.conf", "log_file = /tmp/log\n");
	load();
	CU_ASSERT_STRING_EQUAL(config.log_file, "/tmp/log");
	privileged = true;
	load();
	CU_ASSERT_PTR_NULL(config.log_file);
	CU_ASSERT_EQUAL(config.log_level, CMN_LOG_ERROR);
	CU_ASSERT_EQUAL(config.threshold_days, 90);
	CU_ASSERT_EQUAL(config.max_size, UINT64_C(8589934592));
	CU_ASSERT_PTR_NULL(config.dir);
	CU_ASSERT_EQUAL_FATAL(unsetenv("XDG_CACHE_HOME"), 0);
	load();
	CU_ASSERT_PTR_NULL(config.dir);
}

TEST(knows_the_variables_of_its_settings)
{
	CU_ASSERT_TRUE(cc_config_knows("CKCACHE_DIR"));
	CU_ASSERT_TRUE(cc_config_knows("CKCACHE_REMOTE"));
	CU_ASSERT_FALSE(cc_config_knows("CKCACHE_DIRECTORY"));
	CU_ASSERT_FALSE(cc_config_knows("CKCACHE"));
}

/* Writes a settings file with a section for this program. */
static void write_for_this(const char *file, const char *before, const char *after)
{
	char text[1024];

	(void)snprintf(text, sizeof(text), "%s[program %s]\n%s", before, cc_path_program(), after);
	unit_write(file, text);
}

TEST(a_programs_section_wins_over_the_rest_of_its_file)
{
	write_for_this("system.conf", "compression = 1\nread_only = 1\n", "compression = 2\n");
	LOAD_WITH(0);
	CU_ASSERT_EQUAL(config.compression, 2);
	CU_ASSERT_TRUE(config.read_only);
	/* The user's file as a whole wins over the system's, and a variable over all. */
	unit_write(".config/ckcache/ckcache.conf", "compression = 3\n");
	load();
	CU_ASSERT_EQUAL(config.compression, 3);
	write_for_this(".config/ckcache/ckcache.conf", "compression = 3\n", "compression = 4\n");
	load();
	CU_ASSERT_EQUAL(config.compression, 4);
	set("CKCACHE_COMPRESSION", "5");
	load();
	CU_ASSERT_EQUAL(config.compression, 5);
	CU_ASSERT_EQUAL(complaints.count, 0);
}

TEST(other_programs_sections_change_nothing)
{
	write_for_this("system.conf", "[program another]\ncompression = 1\nno_such = 1\nmax_size = 1\n"
				      "just words\n", "compression = 2\n[program another]\ncompression = 3\n");
	LOAD_WITH(0);
	CU_ASSERT_EQUAL(config.compression, 2);
	CU_ASSERT_EQUAL(config.max_size, UINT64_C(8) << 30);
}

TEST(a_worker_of_replay_has_its_programs_section)
{
	write_for_this("system.conf", "[program blender]\ncompression = 1\n", "compression = 2\n");
	set("CKCACHE_BUILT_FOR", "blender");
	load();
	CU_ASSERT_EQUAL(config.compression, 1);
	set("CKCACHE_BUILT_FOR", "");	/* not known */
	load();
	CU_ASSERT_EQUAL(config.compression, 2);
}

TEST(names_a_bad_section_once_and_ignores_its_lines)
{
	unit_write("system.conf", "compression = 1\n[prog x]\ncompression = 2\nno_such = 1\nwords\n");
	LOAD_WITH(1);
	CU_ASSERT_EQUAL(complaints.level, CMN_LOG_ERROR);
	CU_ASSERT_PTR_NOT_NULL(strstr(complaints.last, "system.conf:2: not \"[program NAME]\""));
	CU_ASSERT_EQUAL(config.compression, 1);
}

TEST(what_programs_share_cannot_be_set_for_one)
{
	static const char *const lines[] = {
		"dir = /a", "max_size = 1", "threshold = 1", "eviction_order = cost",
		"shared = group", "read_only_dirs = /a", "remote = file:/a", "remote_key = /a",
		"remote_trust = /a", "remote_secrets = /a", "remote_helpers = /a",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		write_for_this("system.conf", "", lines[i]);
		LOAD_WITH(1);
		CU_ASSERT_EQUAL(complaints.level, CMN_LOG_ERROR);
		CU_ASSERT_PTR_NOT_NULL(strstr(complaints.last, "cannot be set for one program"));
		CU_ASSERT_STRING_EQUAL(config.dir, unit_path(".cache/ckcache"));
		CU_ASSERT_EQUAL(config.max_size, UINT64_C(8) << 30);
		CU_ASSERT_PTR_NULL(config.remote);
		CU_ASSERT_PTR_NULL(config.remote_trust);
	}
}

TEST(variables_alone_are_in_no_file)
{
	struct cc_config_rule rule;

	unit_write("system.conf", "persistent = 0\n");
	LOAD_WITH(1);
	CU_ASSERT_PTR_NOT_NULL(strstr(complaints.last, "unknown setting \"persistent\""));
	CU_ASSERT_TRUE(config.persistent);
	CU_ASSERT_EQUAL(cc_config_check("persistent", "0", false, &rule), CMN_MISS);
	CU_ASSERT_TRUE(cc_config_knows("CKCACHE_PERSISTENT"));
}

/* As that program has it. */
static struct cc_config_value *list(const char *program)
{
	const struct cmn_log log = { CMN_LOG_WARNING, keep, NULL };
	struct cc_config_value *values;

	memset(&complaints, 0, sizeof(complaints));
	CU_ASSERT_EQUAL_FATAL(cc_config_list(&log, unit_path("system.conf"), program, &values), CMN_OK);
	return values;
}

static const struct cc_config_value *find(const struct cc_config_value *values, const char *name)
{
	while (values->name && strcmp(values->name, name) != 0)
		values++;
	CU_ASSERT_PTR_NOT_NULL_FATAL(values->name);
	return values;
}

static void check_value(const char *program, const char *name, const char *text,
			enum cc_config_place place, unsigned int line, bool of_program)
{
	struct cc_config_value *values = list(program);
	const struct cc_config_value *value = find(values, name);

	CU_ASSERT_STRING_EQUAL(value->text, text);
	CU_ASSERT_EQUAL(value->place, place);
	CU_ASSERT_EQUAL(value->line, line);
	CU_ASSERT_EQUAL(value->of_program, of_program);
	cc_config_list_free(values);
}

TEST(lists_values_with_their_origins)
{
	unit_write("system.conf", "\nmax_size = 1M\nthreshold = soon\nlog = INFO\ncapture =\n");
	unit_write(".config/ckcache/ckcache.conf", "compression = 3\n[program x]\ncompression = 4\n");
	set("CKCACHE_LOG", "Debug");
	set("CKCACHE_READ_ONLY_DIRS", ":/a::/b");
	check_value("y", "max_size", "1M", CC_CONFIG_SYSTEM, 2, false);
	check_value("y", "threshold", "90", CC_CONFIG_DEFAULT, 0, false);
	CU_ASSERT_EQUAL(complaints.count, 1);
	check_value("y", "capture", "auto", CC_CONFIG_DEFAULT, 0, false);
	check_value("y", "log", "debug", CC_CONFIG_ENVIRONMENT, 0, false);
	check_value("y", "compression", "3", CC_CONFIG_USER, 1, false);
	check_value("x", "compression", "4", CC_CONFIG_USER, 3, true);
	check_value("y", "dir", unit_path(".cache/ckcache"), CC_CONFIG_DEFAULT, 0, false);
	check_value("y", "trace", "", CC_CONFIG_DEFAULT, 0, false);
	check_value("y", "read_only_dirs", "/a:/b", CC_CONFIG_ENVIRONMENT, 0, false);
}

/* What is listed may be written to a file again, and means the same. */
TEST(lists_values_as_a_file_may_have_them)
{
	struct cc_config_value *values = list("y");
	struct cc_config_rule rule;

	for (const struct cc_config_value *value = values; value->name; value++) {
		CU_ASSERT_EQUAL(cc_config_check(value->name, value->text, false, &rule), CMN_OK);
		CU_ASSERT_STRING_EQUAL(rule.name, value->name);
		CU_ASSERT_TRUE(cc_config_knows(value->variable));
	}
	cc_config_list_free(values);
}

TEST(lists_sizes_in_their_largest_unit)
{
	static const char *const sizes[][2] = {
		{ "0", "0" }, { "1B", "1B" }, { "1024B", "1Ki" }, { "1000B", "1K" }, { "1536Ki", "1536Ki" },
		{ "2000G", "2T" }, { "2048Gi", "2Ti" }, { "1048577B", "1048577" },
		{ "18446744073709551615", "18446744073709551615" },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		set("CKCACHE_MAX_SIZE", sizes[i][0]);
		check_value("y", "max_size", sizes[i][1], CC_CONFIG_ENVIRONMENT, 0, false);
	}
}

TEST(checks_lines_before_they_are_written)
{
	struct cc_config_rule rule;

	CU_ASSERT_EQUAL(cc_config_check("no_such", "1", false, &rule), CMN_MISS);
	CU_ASSERT_EQUAL(cc_config_check("Max_Size", "5G", false, &rule), CMN_OK);
	CU_ASSERT_STRING_EQUAL(rule.name, "max_size");
	CU_ASSERT_EQUAL(cc_config_check("max_size", "much", false, &rule), CMN_ERR_INVALID);
	CU_ASSERT_STRING_EQUAL(rule.expected, "a size with its unit, such as 8Gi");
	CU_ASSERT_EQUAL(cc_config_check("max_size", "5G", true, &rule), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(cc_config_check("compression", "5", true, &rule), CMN_OK);
	CU_ASSERT_EQUAL(cc_config_check("trace", "relative", false, &rule), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(cc_config_check("max_size", "", false, &rule), CMN_OK);
}
