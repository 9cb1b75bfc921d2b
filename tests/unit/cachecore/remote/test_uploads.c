/* SPDX-License-Identifier: MIT */
/* uploads: what is noted is found, once, and nothing else is. */
#include "cachecore/remote/uploads.h"

#include <dirent.h>
#include <unistd.h>

#include "cachecore/key.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

#define MANY 200

static int root = -1;

/* What fstat says of a directory's size; 0: the truth. */
static off_t directory_size;
/* So often another process removes the directory before something is noted there. */
static unsigned int times_tidied;
WRAPPED(int, fstat, (int fd, struct stat *info))
{
	int result = __real_fstat(fd, info);

	if (result == 0 && directory_size && S_ISDIR(info->st_mode))
		info->st_size = directory_size;
	if (times_tidied && rmdir("root/uploads") == 0)
		times_tidied--;
	return result;
}

/* Notes of this user are another's. */
static bool is_another;
WRAPPED(uid_t, geteuid, (void))
{
	return __real_geteuid() + is_another;
}

BEFORE_EACH
{
	CU_ASSERT_EQUAL_FATAL(mkdir("root", 0700), 0);
	root = open("root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_FATAL(root >= 0);
}

AFTER_EACH
{
	directory_size = 0;
	times_tidied = 0;
	is_another = false;
	(void)close(root);
}

/* The entry directory of the i-th key. */
static const char *entry_dir_of(unsigned int i)
{
	static char entry_dir[CC_ENTRY_DIR_PATH_SIZE];
	struct cc_key key;

	cc_key_init(&key);
	cc_key_add_u64(&key, CC_PART_IMAGE, "number", i);
	cc_entry_dir_path_of(&key, entry_dir);
	cc_key_release(&key);
	return entry_dir;
}

static int open_uploads(void)
{
	int fd = -1;

	CU_ASSERT_EQUAL_FATAL(cc_uploads_open(root, &fd), CMN_OK);
	return fd;
}

struct seen {
	unsigned int count, wrong, most;
	int refusals;
	bool of[MANY];
};

static bool see(void *ctx, const char *entry_dir, int refusals)
{
	struct seen *seen = ctx;
	unsigned int i = 0;

	while (i < MANY && strcmp(entry_dir, entry_dir_of(i)) != 0)
		i++;
	seen->wrong += i == MANY || seen->of[i] || refusals != seen->refusals;
	if (i < MANY)
		seen->of[i] = true;
	return ++seen->count != seen->most;
}

/* As many as are noted, or no more than most (0: all); each once. */
static unsigned int count(unsigned int most)
{
	struct seen seen = { .most = most, .refusals = CC_UPLOADS_FRESH };
	int fd = open_uploads();
	enum cmn_status status = cc_uploads_walk(fd, see, &seen);

	CU_ASSERT_EQUAL(status, seen.count ? CMN_OK : CMN_MISS);
	CU_ASSERT_EQUAL(seen.wrong, 0);
	CU_ASSERT_EQUAL(close(fd), 0);
	return seen.count;
}

static unsigned int count_names(void)
{
	DIR *all = opendir("root/uploads");
	unsigned int names = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(all);
	while (readdir(all))
		names++;
	(void)closedir(all);
	return names - 2;
}

static void add(unsigned int i)
{
	CU_ASSERT_EQUAL(cc_uploads_add(root, entry_dir_of(i)), CMN_OK);
}

TEST(what_is_noted_is_found_once)
{
	struct stat info;
	char path[300];
	int fd;

	CU_ASSERT_EQUAL(count(0), 0);
	add(1);
	add(1);
	CU_ASSERT_EQUAL(count(0), 1);
	for (unsigned int i = 0; i < MANY; i++)
		add(i);
	CU_ASSERT_EQUAL(count(0), MANY);
	CU_ASSERT_EQUAL(count(1), 1);
	CU_ASSERT_EQUAL(count(7), 7);
	fd = open_uploads();
	CU_ASSERT_EQUAL(cc_uploads_remove(fd, entry_dir_of(3), CC_UPLOADS_FRESH), CMN_OK);
	CU_ASSERT_EQUAL(cc_uploads_remove(fd, entry_dir_of(3), CC_UPLOADS_FRESH), CMN_OK);
	CU_ASSERT_EQUAL(count(0), MANY - 1);
	CU_ASSERT_EQUAL(close(fd), 0);
	/* An empty file, the user's alone, without directories. */
	(void)snprintf(path, sizeof(path), "root/uploads/%s", entry_dir_of(4));
	for (char *at = path + strlen("root/uploads/"); *at; at++)
		*at = *at == '/' ? '.' : *at;
	CU_ASSERT_EQUAL_FATAL(stat(path, &info), 0);
	CU_ASSERT(S_ISREG(info.st_mode) && info.st_size == 0 && (info.st_mode & 0777) == 0600);
}

static bool remove_it(void *ctx, const char *entry_dir, int refusals)
{
	CU_ASSERT_EQUAL(cc_uploads_remove(*(int *)ctx, entry_dir, refusals), CMN_OK);
	return true;
}

TEST(what_is_found_can_be_removed_at_once)
{
	int fd = open_uploads();

	for (unsigned int i = 0; i < MANY; i++)
		add(i);
	/* A directory that changes while it is read may need a few more looks. */
	for (unsigned int i = 0; i < MANY && cc_uploads_walk(fd, remove_it, &fd) == CMN_OK; i++)
		continue;
	CU_ASSERT_EQUAL(count_names(), 0);
	CU_ASSERT_EQUAL(close(fd), 0);
}

TEST(refusals_are_counted)
{
	struct seen seen = { .refusals = 7 };
	int fd = open_uploads();

	add(1);
	CU_ASSERT_EQUAL(cc_uploads_set_refusals(fd, entry_dir_of(1), CC_UPLOADS_FRESH, 0), CMN_OK);
	CU_ASSERT_EQUAL(cc_uploads_set_refusals(fd, entry_dir_of(1), CC_UPLOADS_FRESH, 0), CMN_MISS);
	CU_ASSERT_EQUAL(cc_uploads_set_refusals(fd, entry_dir_of(1), 0, 7), CMN_OK);
	CU_ASSERT_EQUAL(cc_uploads_walk(fd, see, &seen), CMN_OK);
	CU_ASSERT(seen.count == 1 && seen.wrong == 0 && seen.of[1]);
	/* What is stored meanwhile is another note. */
	add(1);
	CU_ASSERT_EQUAL(count_names(), 2);
	CU_ASSERT_EQUAL(cc_uploads_remove(fd, entry_dir_of(1), 7), CMN_OK);
	CU_ASSERT_EQUAL(count(0), 1);
	/* While one is noted the directory stays. */
	cc_uploads_tidy(root);
	CU_ASSERT_EQUAL(access("root/uploads", F_OK), 0);
	CU_ASSERT_EQUAL(cc_uploads_remove(fd, entry_dir_of(1), CC_UPLOADS_FRESH), CMN_OK);
	cc_uploads_tidy(root);
	CU_ASSERT_NOT_EQUAL(access("root/uploads", F_OK), 0);
	add(2);
	CU_ASSERT_EQUAL(count(0), 1);
	CU_ASSERT_EQUAL(close(fd), 0);
}

TEST(what_is_noted_while_it_is_tidied_up_is_not_lost)
{
	times_tidied = 1;
	add(1);
	CU_ASSERT_EQUAL(times_tidied, 0);
	CU_ASSERT_EQUAL(count(0), 1);
}

TEST(others_notes_are_left_to_them)
{
	add(1);
	add(2);
	is_another = true;
	CU_ASSERT_EQUAL(count(0), 0);
	is_another = false;
	CU_ASSERT_EQUAL(count(0), 2);
}

TEST(other_names_are_left_alone)
{
	char name[300], entry_dir[CC_ENTRY_DIR_PATH_SIZE];
	static const char *const names[] = { "file", "a.b.c.d", ".hidden", "x" };
	static const char *const ends[] = { "a", "a5", "-", "-a", "-:", "-.", "-10", "-5a" };

	(void)snprintf(entry_dir, sizeof(entry_dir), "%s", entry_dir_of(0));
	for (char *at = entry_dir; *at; at++)
		*at = *at == '/' ? '.' : *at;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(name, sizeof(name), "root/uploads/%s", names[i]);
		unit_write(name, "");
	}
	/* An entry directory's, with one byte that is not, more, or less; dots where none are. */
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		(void)snprintf(name, sizeof(name), "root/uploads/%s%s", entry_dir, ends[i]);
		unit_write(name, "");
	}
	(void)snprintf(name, sizeof(name), "root/uploads/%.*s", (int)CC_ENTRY_DIR_PATH_SIZE - 2, entry_dir);
	unit_write(name, "");
	for (const char *byte = "gA_~.-"; *byte; byte++) {
		(void)snprintf(name, sizeof(name), "root/uploads/%s", entry_dir);
		name[strlen("root/uploads/") + 5] = *byte;
		unit_write(name, "");
	}
	(void)snprintf(name, sizeof(name), "root/uploads/%s", entry_dir);
	*strrchr(name, '.') = 'a';
	unit_write(name, "");
	/* As many dots, one at the begin, or two side by side. */
	name[strlen("root/uploads/")] = '.';
	unit_write(name, "");
	name[strlen("root/uploads/")] = 'a';
	*(strrchr(name, '.') + 1) = '.';
	unit_write(name, "");
	CU_ASSERT_EQUAL(count(0), 0);
	CU_ASSERT_EQUAL(count_names(), 22);
	add(0);
	CU_ASSERT_EQUAL(count(0), 1);
}

TEST(a_directory_that_has_grown_gets_no_more)
{
	add(0);
	directory_size = (2 << 20) + 1;
	CU_ASSERT_EQUAL(cc_uploads_add(root, entry_dir_of(1)), CMN_ERR_TOO_LARGE);
	directory_size = 2 << 20;
	CU_ASSERT_EQUAL(cc_uploads_add(root, entry_dir_of(1)), CMN_OK);
	directory_size = 0;
	CU_ASSERT_EQUAL(count(0), 2);
}

TEST(a_directory_that_has_grown_loses_what_was_refused)
{
	struct seen seen = { .refusals = 0 };
	int fd = open_uploads();

	for (unsigned int i = 0; i < MANY; i++) {
		add(i);
		CU_ASSERT_EQUAL(cc_uploads_set_refusals(fd, entry_dir_of(i), CC_UPLOADS_FRESH, 0), CMN_OK);
	}
	cc_uploads_make_room(fd);
	CU_ASSERT_EQUAL(cc_uploads_walk(fd, see, &seen), CMN_OK);
	CU_ASSERT_EQUAL(seen.count, MANY);
	add(0);
	directory_size = (2 << 20) + 1;
	cc_uploads_make_room(fd);
	directory_size = 0;
	CU_ASSERT_EQUAL(count(0), 1);
	CU_ASSERT_EQUAL(close(fd), 0);
}

TEST(a_path_of_no_entry_dir_is_refused)
{
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE + 1];
	int fd = open_uploads();

	memset(entry_dir, 'a', sizeof(entry_dir));
	entry_dir[CC_ENTRY_DIR_PATH_SIZE] = '\0';
	CU_ASSERT_EQUAL(cc_uploads_add(root, entry_dir), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(cc_uploads_remove(fd, entry_dir, CC_UPLOADS_FRESH), CMN_ERR_INVALID);
	CU_ASSERT_EQUAL(cc_uploads_set_refusals(fd, entry_dir, CC_UPLOADS_FRESH, 0), CMN_ERR_INVALID);
	/* Nothing above is reached. */
	unit_write("root/file", "");
	CU_ASSERT_EQUAL(cc_uploads_remove(fd, "../file", CC_UPLOADS_FRESH), CMN_OK);
	CU_ASSERT_EQUAL(access("root/file", F_OK), 0);
	CU_ASSERT_EQUAL(cc_uploads_add(root, "../other"), CMN_OK);
	CU_ASSERT_NOT_EQUAL(access("root/other", F_OK), 0);
	CU_ASSERT_EQUAL(close(fd), 0);
}

TEST(the_directory_is_the_users_or_the_groups)
{
	mode_t mask = umask(0);
	struct stat info;
	int fd = open_uploads();

	CU_ASSERT_EQUAL(close(fd), 0);
	CU_ASSERT_EQUAL(stat("root/uploads", &info), 0);
	CU_ASSERT_EQUAL(info.st_mode & 07777, 0700);
	CU_ASSERT_EQUAL(rmdir("root/uploads"), 0);
	CU_ASSERT_EQUAL(chmod("root", 02770), 0);
	(void)umask(077);
	fd = open_uploads();
	CU_ASSERT_EQUAL(close(fd), 0);
	CU_ASSERT_EQUAL(stat("root/uploads", &info), 0);
	CU_ASSERT_EQUAL(info.st_mode & 07777, 02770);
	(void)umask(mask);
}

/* Whatever else has the name: nothing is followed, waited for or written to. */
TEST(what_is_no_directory_is_not_used)
{
	int fd = -1;

	CU_ASSERT_EQUAL(mkdir("elsewhere", 0700), 0);
	CU_ASSERT_EQUAL(symlink("../elsewhere", "root/uploads"), 0);
	CU_ASSERT_NOT_EQUAL(cc_uploads_open(root, &fd), CMN_OK);
	CU_ASSERT_NOT_EQUAL(cc_uploads_add(root, entry_dir_of(0)), CMN_OK);
	CU_ASSERT_EQUAL(rmdir("elsewhere"), 0);
	CU_ASSERT_EQUAL(unlink("root/uploads"), 0);
	unit_write("root/uploads", "text");
	CU_ASSERT_NOT_EQUAL(cc_uploads_add(root, entry_dir_of(0)), CMN_OK);
	CU_ASSERT_EQUAL(unlink("root/uploads"), 0);
	CU_ASSERT_EQUAL(rmdir("root"), 0);
	CU_ASSERT_NOT_EQUAL(cc_uploads_add(root, entry_dir_of(0)), CMN_OK);
}

TEST(whatever_has_an_entry_dirs_name_does_no_harm)
{
	char path[300];
	int fd = open_uploads();

	for (unsigned int i = 0; i < 3; i++) {
		(void)snprintf(path, sizeof(path), "root/uploads/%s", entry_dir_of(i));
		for (char *at = path + strlen("root/uploads/"); *at; at++)
			*at = *at == '/' ? '.' : *at;
		CU_ASSERT_EQUAL(i == 0 ? mkfifo(path, 0600) : i == 1 ? symlink(unit_path("target"), path)
							     : mkdir(path, 0700), 0);
		CU_ASSERT_NOT_EQUAL(cc_uploads_add(root, entry_dir_of(i)), CMN_OK);
	}
	CU_ASSERT_NOT_EQUAL(access("target", F_OK), 0);
	unit_write("target", "");
	CU_ASSERT_EQUAL(count(0), 0);
	CU_ASSERT_EQUAL(cc_uploads_remove(fd, entry_dir_of(0), CC_UPLOADS_FRESH), CMN_OK);
	CU_ASSERT_EQUAL(cc_uploads_remove(fd, entry_dir_of(1), CC_UPLOADS_FRESH), CMN_OK);
	CU_ASSERT_NOT_EQUAL(cc_uploads_remove(fd, entry_dir_of(2), CC_UPLOADS_FRESH), CMN_OK);
	CU_ASSERT_EQUAL(close(fd), 0);
}

TEST(a_directory_that_cannot_be_read_has_none)
{
	struct seen seen = { 0 };

	CU_ASSERT(cc_uploads_walk(-1, see, &seen) < CMN_OK);
	CU_ASSERT_EQUAL(seen.count, 0);
}
