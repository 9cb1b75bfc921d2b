/* SPDX-License-Identifier: MIT */
/* test_root: which directories are trusted, and who may read what is made in them. */
#include "cachecore/disk/root.h"

#include <ftw.h>
#include <grp.h>
#include <unistd.h>

#include "cachecore/disk/store.h"
#include "common/file.h"
#include "tests/support/unit.h"

/* Ids that are nobody's. */
#define OTHER_USER 54321
#define OTHER_GROUP 54322

static enum cmn_status check(const char *path, enum cc_root_kind kind)
{
	const char *reason = NULL;
	enum cmn_status status = cc_root_check(path, kind, &reason);

	CU_ASSERT_TRUE(status != CMN_ERR_ACCESS || (reason && !strstr(reason, "cannot be examined")));
	return status;
}

static void make(const char *path, mode_t mode)
{
	CU_ASSERT_EQUAL_FATAL(mkdir(path, 0700), 0);
	CU_ASSERT_EQUAL_FATAL(chmod(path, mode), 0);
}

TEST(only_its_owner_may_write_to_a_root_or_its_group)
{
	static const struct {
		mode_t mode;
		enum cc_root_kind kind;
		enum cmn_status status;
	} rows[] = {
		{ 0700, CC_ROOT_OWN, CMN_OK }, { 0755, CC_ROOT_OWN, CMN_OK }, { 0770, CC_ROOT_OWN, CMN_ERR_ACCESS },
		{ 02770, CC_ROOT_OWN, CMN_ERR_ACCESS }, { 02770, CC_ROOT_TIER, CMN_ERR_ACCESS },
		{ 0777, CC_ROOT_OWN, CMN_ERR_ACCESS }, { 01777, CC_ROOT_OWN, CMN_ERR_ACCESS },
		{ 0702, CC_ROOT_OWN, CMN_ERR_ACCESS }, { 0700, CC_ROOT_GROUP, CMN_OK },
		{ 0770, CC_ROOT_GROUP, CMN_ERR_ACCESS }, { 02770, CC_ROOT_GROUP, CMN_OK },
		{ 03770, CC_ROOT_GROUP, CMN_OK }, { 02777, CC_ROOT_GROUP, CMN_ERR_ACCESS },
	};

	CU_ASSERT_EQUAL(check("root", CC_ROOT_OWN), CMN_MISS);
	make("root", 0700);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CU_ASSERT_EQUAL(chmod("root", rows[i].mode), 0);
		CU_ASSERT_EQUAL(check("root", rows[i].kind), rows[i].status);
	}
}

/* A directory with one file of that name and text, or, NULL, directory. */
static void make_with(const char *name, const char *text)
{
	char path[200];

	unit_remove("taken");
	make("taken", 0700);
	(void)snprintf(path, sizeof(path), "taken/%s", name);
	if (text)
		unit_write(path, text);
	else
		CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
}

TEST(a_directory_with_files_of_other_programs_is_none)
{
	static const char *const rows[][2] = {
		{ "stats.txt", "mine" }, { "events.log", "mine" }, { "recipes", NULL }, { "recipes/notes", "" },
		{ "events.log", "cs" }, { "stats.txt", "h" }, { "events.old", "c\n" },
		{ "notes", "" }, { "cache_size.txt", "mine" }, { "0123456789abcdef0123456789abcdef", "a file" }, { ".hidden", "" },
	};
	int fd = -1;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_with(rows[i][0], rows[i][1]);
		CU_ASSERT_EQUAL(check("taken", CC_ROOT_OWN), CMN_ERR_ACCESS);
		CU_ASSERT_EQUAL(check("taken", CC_ROOT_GROUP), CMN_ERR_ACCESS);
		CU_ASSERT_EQUAL(check("taken", CC_ROOT_PRIVATE), CMN_OK);
		CU_ASSERT_EQUAL(cc_root_make("taken", &fd), CMN_ERR_ACCESS);
	}
	CU_ASSERT_EQUAL(access("taken/CACHEDIR.TAG", F_OK), -1);
}

TEST(an_empty_directory_and_an_older_cache_are_taken_and_marked)
{
	static const char *const rows[][2] = {
		{ "lost+found", NULL }, { "changed", "" }, { "flights", NULL }, { "build.lock", "" }, { ".tmp-1", "" },
		{ "cache_size.txt", "123\n" }, { "last_cleanup.txt", "123\n" }, { "evict.lock", "" }, { "events.log", "" },
		{ "CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n" },
		{ "stats.txt", "log_id 3\n" }, { "events.log", "cke\nmore" }, { "events.old", "cke\n" }, { "recipes/0.recipe", "" },
		{ "events.log", "c" }, { "events.log", "cke" }, { "0123456789abcdef0123456789abcdef", NULL },
	};
	int fd;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_with(rows[i][0], rows[i][1]);
		CU_ASSERT_EQUAL_FATAL(cc_root_make("taken", &fd), CMN_OK);
		CU_ASSERT_EQUAL(close(fd), 0);
		/* From now on whatever else comes into it. */
		unit_write("taken/notes", "");
		unit_remove("taken/0123456789abcdef0123456789abcdef");
		CU_ASSERT_EQUAL(check("taken", CC_ROOT_OWN), CMN_OK);
		CU_ASSERT_EQUAL(access("taken/CACHEDIR.TAG", F_OK), 0);
	}
}

/* What a loss of power may leave of the mark, or of a cache without one; and what is somebody else's. */
TEST(a_torn_mark_is_the_caches_own)
{
	static const char line[] = "Signature: 8a477f597d28d172789f06886806bc55";
	static const struct {
		const char *name, *text, *mark;
		int keeps, len;		/* of the cache's mark: its first bytes; then zeros, up to so many */
		bool ours;
	} rows[] = {
		{ "notes", "", NULL, 60, 60, true }, { "notes", "", NULL, 60, 121, true },
		{ "notes", "", NULL, 0, 121, true }, { "notes", "", NULL, 20, 20, true },
		{ "stats.txt", "torn", "", 0, 0, true }, { "recipes", NULL, "", 0, 0, true },
		{ "stats.txt", "torn", "other bytes", 0, 0, true },
		{ ".tmp-12-0-18ec56e1", "torn", NULL, 0, 0, true },
		{ "notes", "", "", 0, 0, false }, { "notes", "", line, 0, 0, false },
		{ "stats.txt", "mine", line, 0, 0, false }, { "notes", "", NULL, 44, 44, false },
		{ "notes", "", "Signature: 8a477f597d28d172789f06886806bc55\n# By another program.\n", 0, 0, false },
		{ ".tmp-file", "", NULL, 0, 0, true },	/* neutral, alone */
	};
	char whole[256] = { 0 }, torn[256];
	int fd;

	make("new", 0700);
	CU_ASSERT_EQUAL_FATAL(cc_root_make("new", &fd), CMN_OK);
	CU_ASSERT_EQUAL(close(fd), 0);
	fd = open("new/CACHEDIR.TAG", O_RDONLY);
	CU_ASSERT_EQUAL_FATAL(read(fd, whole, sizeof(whole)), 121);
	(void)close(fd);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_with(rows[i].name, rows[i].text);
		memset(torn, 0, sizeof(torn));
		memcpy(torn, whole, (size_t)rows[i].keeps);
		if (rows[i].mark)
			unit_write("taken/CACHEDIR.TAG", rows[i].mark);
		if (rows[i].len) {
			fd = open("taken/CACHEDIR.TAG", O_WRONLY | O_CREAT, 0600);
			CU_ASSERT_EQUAL(write(fd, torn, (size_t)rows[i].len), rows[i].len);
			(void)close(fd);
		}
		CU_ASSERT_EQUAL(check("taken", CC_ROOT_OWN), rows[i].ours ? CMN_OK : CMN_ERR_ACCESS);
		if (!rows[i].ours)
			continue;
		/* It is whole again, for programs that make backups. */
		CU_ASSERT_EQUAL_FATAL(cc_root_make("taken", &fd), CMN_OK);
		CU_ASSERT_EQUAL(close(fd), 0);
		fd = open("taken/CACHEDIR.TAG", O_RDONLY);
		CU_ASSERT(read(fd, torn, sizeof(torn)) == 121 && memcmp(torn, whole, 121) == 0);
		(void)close(fd);
	}
}

/* Beside a file that might be another program's, what only a cache leaves; other names say nothing. */
TEST(what_only_a_cache_leaves_tells_whose_the_rest_is)
{
	static const struct {
		const char *name;
		bool ours;
	} rows[] = {
		{ "days.txt", true }, { "evict.lock", true }, { "reuse.dat", true }, { "contents.dat", true },
		{ ".tmp-12-0-18ec56e1", true }, { ".tmp-1-2-3", true }, { ".tmp-0-0-abcdef0123456789", true },
		{ ".tmp-", false }, { ".tmp-1", false }, { ".tmp-1-2", false }, { ".tmp-1-2-", false },
		{ ".tmp--1-2", false }, { ".tmp-1--2", false }, { ".tmp-a-1-2", false }, { ".tmp-1-b-2", false },
		{ ".tmp-1-2-x", false }, { ".tmp-1-2-3x", false }, { ".tmp-1-2-3.swp", false }, { ".tmp-file", false },
		{ "lost+found", false }, { "changed", false }, { "build.lock", false },
	};
	char path[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		make_with("stats.txt", "torn");
		(void)snprintf(path, sizeof(path), "taken/%s", rows[i].name);
		unit_write(path, "");
		CU_ASSERT_EQUAL(check("taken", CC_ROOT_OWN), rows[i].ours ? CMN_OK : CMN_ERR_ACCESS);
	}
}

TEST(what_cannot_be_marked_is_taken_only_with_evidence)
{
	int fd = -1;

	make("new", 0700);
	make_with("0123456789abcdef0123456789abcdef", NULL);
	unit_limit_files(1);
	CU_ASSERT_EQUAL(cc_root_make("new", &fd), CMN_ERR_IO);
	CU_ASSERT_EQUAL(fd, -1);
	CU_ASSERT_EQUAL_FATAL(cc_root_make("taken", &fd), CMN_OK);
	CU_ASSERT_EQUAL(close(fd), 0);
	unit_limit_files(RLIM_INFINITY);
	/* Nothing is left that would be in its way. */
	CU_ASSERT_EQUAL(rmdir("new"), 0);
	CU_ASSERT_EQUAL(access("taken/CACHEDIR.TAG", F_OK), -1);
}

/* Its owner may be anybody; the group may not. */
TEST(a_groups_root_is_of_a_group_with_this_member)
{
	if (!unit_is_root())
		return;
	make("group-s", 02770);
	CU_ASSERT_EQUAL(chown("group-s", OTHER_USER, getegid()), 0);
	CU_ASSERT_EQUAL(chmod("group-s", 02770), 0);
	CU_ASSERT_EQUAL(check("group-s", CC_ROOT_GROUP), CMN_OK);
	CU_ASSERT_EQUAL(chown("group-s", 0, OTHER_GROUP), 0);
	CU_ASSERT_EQUAL(chmod("group-s", 02770), 0);
	CU_ASSERT_EQUAL(check("group-s", CC_ROOT_GROUP), CMN_ERR_ACCESS);
}

/*
 * In a child, as that user and group. 1: the directory is trusted; 2: not, as nobody can tell
 * whose it is, since user and group are those that a user namespace without a mapping shows; 3: not.
 */
static int check_as(uid_t user, gid_t group, enum cc_root_kind kind)
{
	const char *reason = "";
	int status = 0;
	pid_t pid = fork();

	CU_ASSERT_TRUE_FATAL(pid >= 0);
	if (pid == 0) {
		if (setgroups(0, NULL) < 0 || setgid(group) < 0 || setuid(user) < 0)
			_exit(100);
		if (cc_root_check("anothers", kind, &reason) == CMN_OK)
			_exit(1);
		_exit(strstr(reason, "without a mapping") ? 2 : 3);
	}
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

TEST(nobody_owns_what_is_not_mapped)
{
	const uid_t user = CMN_FILE_OVERFLOW_ID;
	const gid_t group = CMN_FILE_OVERFLOW_ID;

	CU_ASSERT_FALSE(geteuid() != user && cmn_file_is_own(user));
	if (!unit_is_root())
		return;
	CU_ASSERT_EQUAL_FATAL(chmod(".", 0755), 0);
	make("anothers", 0700);
	CU_ASSERT_EQUAL(chown("anothers", user, group), 0);
	CU_ASSERT_EQUAL(check_as(user, group, CC_ROOT_OWN), 2);
	CU_ASSERT_EQUAL(check_as(user, group, CC_ROOT_TIER), 2);
	CU_ASSERT_EQUAL(chmod("anothers", 02770), 0);
	CU_ASSERT_NOT_EQUAL(check_as(OTHER_USER, group, CC_ROOT_GROUP), 1);
	/* The same for ids that are somebody's. */
	CU_ASSERT_EQUAL(chown("anothers", OTHER_USER, OTHER_GROUP), 0);
	CU_ASSERT_EQUAL(chmod("anothers", 0700), 0);
	CU_ASSERT_EQUAL(check_as(OTHER_USER, OTHER_GROUP, CC_ROOT_OWN), 1);
	CU_ASSERT_EQUAL(chmod("anothers", 02770), 0);
	CU_ASSERT_EQUAL(check_as(user, OTHER_GROUP, CC_ROOT_GROUP), 1);
}

TEST(the_superusers_directory_is_a_tier_and_no_more)
{
	if (!unit_is_root())
		return;
	CU_ASSERT_EQUAL_FATAL(chmod(".", 0755), 0);
	make("anothers", 0755);
	CU_ASSERT_EQUAL(check_as(OTHER_USER, OTHER_GROUP, CC_ROOT_OWN), 3);
	CU_ASSERT_EQUAL(check_as(OTHER_USER, OTHER_GROUP, CC_ROOT_TIER), 1);
}

TEST(ones_own_link_leads_to_a_root)
{
	const char *reason;
	int fd;

	make("own", 0700);
	CU_ASSERT_EQUAL(symlink("own", "link"), 0);
	CU_ASSERT_EQUAL(symlink("nowhere", "lost"), 0);
	CU_ASSERT_EQUAL(check("link", CC_ROOT_OWN), CMN_OK);
	CU_ASSERT_EQUAL(check("lost", CC_ROOT_OWN), CMN_MISS);
	CU_ASSERT_EQUAL(cc_root_make("lost/root", &fd), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL_FATAL(cc_root_find("link", CC_ROOT_OWN, &fd, &reason), CMN_OK);
	CU_ASSERT_EQUAL(close(fd), 0);
	if (!unit_is_root())
		return;
	CU_ASSERT_EQUAL(lchown("link", OTHER_USER, OTHER_GROUP), 0);
	CU_ASSERT_EQUAL(check("link", CC_ROOT_OWN), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(cc_root_find("link", CC_ROOT_OWN, &fd, &reason), CMN_ERR_ACCESS);
}

TEST(who_shares_a_descriptor_does_not_keep_its_lock)
{
	int fd, shared, other;

	CU_ASSERT_EQUAL_FATAL(cc_root_make("root", &fd), CMN_OK);
	CU_ASSERT_EQUAL(cmn_file_lock(fd, 0), CMN_OK);
	shared = dup(fd);
	cc_root_unlock(fd);
	CU_ASSERT_EQUAL_FATAL(cc_root_open("root", &other), CMN_OK);
	CU_ASSERT_EQUAL(cmn_file_lock(other, 0), CMN_OK);
	cc_root_unlock(other);
	CU_ASSERT_EQUAL(close(shared), 0);
}

static enum cmn_status put(struct cc_config *config, const char *source)
{
	struct cc_entry *entry = cc_entry_new(1);
	struct cc_store *store = NULL;
	enum cmn_status status;
	struct cc_key key;

	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_IMAGE, "source", source);
	cc_entry_add(entry, CC_TAG_IMAGE, 0, "image", 5);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
	status = cc_store_open(config, NULL, &store);
	if (status == CMN_OK)
		status = cc_store_put(store, &key, entry);
	cc_store_close(store);
	cc_entry_unref(entry);
	cc_key_release(&key);
	return status;
}

static enum cmn_status get(struct cc_config *config, const char *source, struct cc_store_report *ret_report)
{
	struct cc_store_report report = { 0 };
	struct cc_entry *entry = NULL;
	struct cc_store *store = NULL;
	enum cmn_status status;
	struct cc_key key;

	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_IMAGE, "source", source);
	status = cc_store_open(config, NULL, &store);
	if (status == CMN_OK)
		status = cc_store_get(store, &key, NULL, SIZE_MAX, &entry, &report);
	if (ret_report)
		*ret_report = report;
	cc_entry_unref(entry);
	cc_store_close(store);
	cc_key_release(&key);
	return status;
}

static mode_t want_dir, want_file;

static int check_mode(const char *path, const struct stat *info, int kind, struct FTW *at)
{
	mode_t want = kind == FTW_D ? want_dir : want_file;

	if (at->level == 0)
		return 0;
	CU_ASSERT_EQUAL(info->st_mode & 07777, want);
	if ((info->st_mode & 07777) != want)
		(void)fprintf(stderr, "%s: %o\n", path, info->st_mode);
	return 0;
}

static void check_modes(const char *root, mode_t dir, mode_t file)
{
	want_dir = dir;
	want_file = file;
	CU_ASSERT_EQUAL(nftw(root, check_mode, 8, FTW_PHYS), 0);
}

static struct cc_config config_of(const char *root, enum cc_sharing sharing)
{
	return (struct cc_config){
		.dir = (char *)(uintptr_t)root, .sharing = sharing, .max_device_image_size = 1000,
	};
}

TEST(what_is_made_has_the_modes_of_its_root_whatever_the_umask)
{
	struct cc_config own = config_of("own", CC_SHARING_NONE);
	struct cc_config group = config_of("group", CC_SHARING_GROUP);
	struct cc_config readers = config_of("readers", CC_SHARING_READERS);
	mode_t was = umask(077);

	CU_ASSERT_EQUAL(put(&own, "a"), CMN_OK);
	check_modes("own", 0700, 0600);
	make("group", 03770);
	CU_ASSERT_EQUAL(put(&group, "a"), CMN_OK);
	check_modes("group", 03770, 0660);
	CU_ASSERT_EQUAL(get(&group, "a", NULL), CMN_OK);
	CU_ASSERT_EQUAL(put(&readers, "a"), CMN_OK);
	check_modes("readers", 0755, 0644);
	(void)umask(0);
	CU_ASSERT_EQUAL(put(&own, "b"), CMN_OK);
	check_modes("own", 0700, 0600);
	(void)umask(was);
}

/* Of a group's root that all may look into, its directories have what the group may, and nothing of the others. */
TEST(directories_are_made_for_the_group_that_shares_a_root)
{
	static const mode_t rows[][2] = {
		{ 0700, 0700 }, { 0755, 0700 }, { 02755, 0700 }, { 02770, 02770 }, { 03770, 03770 },
		{ 02771, 02770 }, { 02775, 02770 }, { 02777, 02770 }, { 01777, 01770 }, { 04770, 0770 },
		{ 0720, 0720 }, { 0330, 0730 },
	};
	int fd;

	make("root", 0700);
	fd = open("root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_FATAL(fd >= 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CU_ASSERT_EQUAL_FATAL(fchmod(fd, rows[i][0]), 0);
		CU_ASSERT_EQUAL(cc_root_dir_mode(fd), rows[i][1]);
	}
	CU_ASSERT_EQUAL(close(fd), 0);
	/* What cannot be asked is the owner's alone. */
	CU_ASSERT_EQUAL(cc_root_dir_mode(-1), 0700);
}

TEST(a_groups_root_is_used_where_the_setting_says_so_alone)
{
	struct cc_config group = config_of("group", CC_SHARING_GROUP);
	struct cc_config none = config_of("group", CC_SHARING_NONE);

	make("group", 02770);
	CU_ASSERT_EQUAL(put(&none, "a"), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(put(&group, "a"), CMN_OK);
	CU_ASSERT_EQUAL(get(&none, "a", NULL), CMN_ERR_ACCESS);
	CU_ASSERT_EQUAL(get(&group, "a", NULL), CMN_OK);
}

static int change_owner(const char *path, const struct stat *info, int kind, struct FTW *at)
{
	(void)info;
	(void)at;
	return kind == FTW_F ? lchown(path, OTHER_USER, OTHER_GROUP) : 0;
}

TEST(files_of_others_are_not_trusted)
{
	char *tiers[] = { unit_path("own"), NULL };
	struct cc_config own = config_of("own", CC_SHARING_NONE);
	struct cc_config below = config_of("empty", CC_SHARING_NONE);

	CU_ASSERT_EQUAL(put(&own, "a"), CMN_OK);
	below.read_only_dirs = tiers;
	CU_ASSERT_EQUAL(get(&below, "a", NULL), CMN_OK);
	if (!unit_is_root())
		return;
	/* A put replaces such a file, although its bytes are the same. */
	CU_ASSERT_EQUAL(nftw("own", change_owner, 8, FTW_PHYS), 0);
	CU_ASSERT_EQUAL(put(&own, "a"), CMN_OK);
	CU_ASSERT_EQUAL(get(&own, "a", NULL), CMN_OK);
	CU_ASSERT_EQUAL(nftw("own", change_owner, 8, FTW_PHYS), 0);
	CU_ASSERT_EQUAL(get(&below, "a", NULL), CMN_MISS);
	CU_ASSERT_EQUAL(get(&own, "a", NULL), CMN_MISS);
	CU_ASSERT_EQUAL(put(&own, "a"), CMN_OK);
	CU_ASSERT_EQUAL(get(&own, "a", NULL), CMN_OK);
}

/* As another user, who is no member of anything. */
static enum cmn_status get_as_other(struct cc_config *config, const char *source)
{
	int state = 0;
	pid_t child = fork();

	if (child == 0) {
		if (setgroups(0, NULL) || setgid(OTHER_GROUP) || setuid(OTHER_USER))
			_exit(99);
		_exit(get(config, source, NULL) == CMN_OK ? 0 : 1);
	}
	CU_ASSERT_EQUAL(waitpid(child, &state, 0), child);
	CU_ASSERT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) != 99);
	return WEXITSTATUS(state) == 0 ? CMN_OK : CMN_MISS;
}

TEST(other_users_read_what_was_made_for_readers)
{
	char *tiers[] = { unit_path("site"), NULL };
	struct cc_config site = config_of("site", CC_SHARING_READERS);
	struct cc_config secret = config_of("secret", CC_SHARING_NONE);
	struct cc_config user = config_of("/nonexistent", CC_SHARING_NONE);

	if (!unit_is_root())
		return;
	CU_ASSERT_EQUAL(chmod(unit_dir(), 0755), 0);
	user.read_only_dirs = tiers;
	CU_ASSERT_EQUAL(put(&site, "a"), CMN_OK);
	CU_ASSERT_EQUAL(get_as_other(&user, "a"), CMN_OK);
	CU_ASSERT_EQUAL(put(&secret, "a"), CMN_OK);
	tiers[0] = unit_path("secret");
	CU_ASSERT_EQUAL(get_as_other(&user, "a"), CMN_MISS);
}

/* In a child, which is no superuser. */
static bool misses_what_is_closed(struct cc_config *config)
{
	struct cc_store_report report;
	char entry_dir[4600];
	int fd;

	if (geteuid() == 0 && (setgroups(0, NULL) || setgid(OTHER_GROUP) || setuid(OTHER_USER)))
		return false;
	if (put(config, "a") != CMN_OK || get(config, "a", &report) != CMN_OK)
		return false;
	(void)snprintf(entry_dir, sizeof(entry_dir), "%s/%s", config->dir, report.place.entry_dir);
	*strrchr(entry_dir, '/') = '\0';
	if (chmod(entry_dir, 0) != 0 || get(config, "a", &report) != CMN_MISS || report.damaged)
		return false;
	return chmod(config->dir, 0300) == 0 && cc_root_open(config->dir, &fd) == CMN_ERR_ACCESS;
}

TEST(what_cannot_be_looked_into_is_no_damage)
{
	struct cc_config config = config_of("all/own", CC_SHARING_NONE);
	pid_t child;

	CU_ASSERT_EQUAL_FATAL(chmod(".", 0755), 0);
	make("all", 0777);
	child = fork();
	if (child == 0)
		_exit(misses_what_is_closed(&config) ? 0 : 1);
	CU_ASSERT(unit_ended_well(child));
}
