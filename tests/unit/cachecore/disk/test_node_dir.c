/* SPDX-License-Identifier: MIT */
/* node_dir: which directory of this machine is used, and which is none. */
#include "cachecore/disk/node_dir.h"

#include <unistd.h>

#include "tests/support/unit.h"
#include "tests/support/wrap.h"

#define NOBODY 54321

static bool is_remote;
WRAPPED(bool, cmn_file_is_remote, (int fd))
{
	return is_remote || __real_cmn_file_is_remote(fd);
}

/* Whose directory in /tmp it is; 0: this user's. So that the test's is not the user's own. */
static uid_t user;
WRAPPED(uid_t, geteuid, (void))
{
	return user ? user : __real_geteuid();
}

/* Another process's that was a moment faster; "": none. */
static char others[CC_NODE_DIR_SIZE];
WRAPPED(char *, mkdtemp, (char *path))
{
	if (others[0])
		CU_ASSERT_EQUAL(mkdir(others, 0700), 0);
	return __real_mkdtemp(path);
}

static char runtime_dir[4200], shared[CC_NODE_DIR_SIZE];

BEFORE_EACH
{
	(void)snprintf(runtime_dir, sizeof(runtime_dir), "%s/run", unit_dir());
	(void)snprintf(shared, sizeof(shared), "/tmp/ckcache-%u", geteuid());
	CU_ASSERT_EQUAL_FATAL(mkdir(runtime_dir, 0700), 0);
}

AFTER_EACH
{
	is_remote = false;
	user = 0;
	/* The user's own stays: as it must be, should the product have made it otherwise. */
	(void)chmod(shared, 0700);
}

/* The path of the directory that it opens, which is closed again; NULL: none. */
static const char *open_it(const char *directory)
{
	static char path[CC_NODE_DIR_SIZE];
	struct stat info, named;
	int fd, without;

	memset(path, 'x', sizeof(path));
	fd = cc_node_dir_open(directory, path);
	without = cc_node_dir_open(directory, NULL);
	CU_ASSERT_EQUAL(fd < 0, without < 0);
	if (fd < 0)
		return NULL;
	CU_ASSERT_EQUAL(fstat(fd, &info), 0);
	CU_ASSERT_EQUAL(stat(path, &named), 0);
	CU_ASSERT(info.st_dev == named.st_dev && info.st_ino == named.st_ino);
	CU_ASSERT(S_ISDIR(info.st_mode) && info.st_uid == __real_geteuid());
	CU_ASSERT_EQUAL(info.st_mode & (S_IWGRP | S_IWOTH), 0);
	CU_ASSERT_NOT_EQUAL(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
	/* A descriptor for more than names. */
	CU_ASSERT_EQUAL(fsync(fd), 0);
	CU_ASSERT_EQUAL(close(fd), 0);
	CU_ASSERT_EQUAL(close(without), 0);
	return path;
}

static bool uses_runtime_dir(const char *directory)
{
	const char *path = open_it(directory);
	size_t len = strlen(directory);

	return path && !strncmp(path, directory, len) && !strcmp(path + len, "/ckcache");
}

static bool uses_shared(const char *directory)
{
	const char *path = open_it(directory);

	return path && !strcmp(path, shared);
}

/* Tests that use a short path cannot be run where temporary directories have long ones. */
static bool is_short(void)
{
	return strlen(runtime_dir) + sizeof("/ckcache") <= CC_NODE_DIR_SIZE;
}

TEST(it_is_made_for_the_user_alone_and_used_again)
{
	struct stat info;
	mode_t mask = umask(0);

	if (is_short()) {
		CU_ASSERT(uses_runtime_dir(runtime_dir));
		CU_ASSERT_EQUAL(stat("run/ckcache", &info), 0);
		CU_ASSERT_EQUAL(info.st_mode & 07777, 0700);
		unit_write("run/ckcache/file", "text");
		CU_ASSERT(uses_runtime_dir(runtime_dir));
		CU_ASSERT_EQUAL(access("run/ckcache/file", F_OK), 0);
		/* Whatever the application lets nobody have. */
		unit_remove("run/ckcache");
		(void)umask(0777);
		CU_ASSERT(uses_runtime_dir(runtime_dir));
		CU_ASSERT_EQUAL(stat("run/ckcache", &info), 0);
		CU_ASSERT_EQUAL(info.st_mode & 07777, 0700);
	}
	(void)umask(mask);
}

TEST(without_a_runtime_directory_it_is_below_tmp)
{
	struct stat info;

	CU_ASSERT(uses_shared(NULL));
	CU_ASSERT_EQUAL(stat(shared, &info), 0);
	CU_ASSERT_EQUAL(info.st_mode & 07777, 0700);
	CU_ASSERT(uses_shared("/no/such/directory"));
	unit_write("file", "");
	(void)snprintf(runtime_dir, sizeof(runtime_dir), "%s/file", unit_dir());
	CU_ASSERT(uses_shared(runtime_dir));
}

TEST(a_runtime_directory_that_others_may_write_to_does_not_count)
{
	CU_ASSERT_EQUAL(chmod(runtime_dir, 0770), 0);
	CU_ASSERT(uses_shared(runtime_dir));
	CU_ASSERT_EQUAL(chmod(runtime_dir, 0702), 0);
	CU_ASSERT(uses_shared(runtime_dir));
	CU_ASSERT_EQUAL(chmod(runtime_dir, 0755), 0);
	CU_ASSERT(!is_short() || uses_runtime_dir(runtime_dir));
	if (__real_geteuid() == 0) {
		CU_ASSERT_EQUAL(chown(runtime_dir, NOBODY, NOBODY), 0);
		CU_ASSERT(uses_shared(runtime_dir));
		CU_ASSERT_EQUAL(chown(runtime_dir, 0, 0), 0);
	}
}

/* Whoever could make it before this user must not be believed. */
TEST(a_directory_of_others_is_none)
{
	if (!is_short())
		return;
	CU_ASSERT_EQUAL(mkdir("run/ckcache", 0700), 0);
	CU_ASSERT_EQUAL(chmod("run/ckcache", 0770), 0);
	CU_ASSERT_PTR_NULL(open_it(runtime_dir));
	CU_ASSERT_EQUAL(chmod("run/ckcache", 0707), 0);
	CU_ASSERT_PTR_NULL(open_it(runtime_dir));
	CU_ASSERT_EQUAL(chmod("run/ckcache", 02770), 0);	/* a root could be so */
	CU_ASSERT_PTR_NULL(open_it(runtime_dir));
	CU_ASSERT_EQUAL(chmod("run/ckcache", 0700), 0);
	CU_ASSERT(uses_runtime_dir(runtime_dir));
	if (__real_geteuid() == 0) {
		CU_ASSERT_EQUAL(chown("run/ckcache", NOBODY, NOBODY), 0);
		CU_ASSERT_PTR_NULL(open_it(runtime_dir));
	}
	unit_remove("run/ckcache");
	unit_write("run/ckcache", "a file");
	CU_ASSERT_PTR_NULL(open_it(runtime_dir));
	CU_ASSERT_EQUAL(unlink("run/ckcache"), 0);
	CU_ASSERT_EQUAL(symlink("nowhere", "run/ckcache"), 0);
	CU_ASSERT_PTR_NULL(open_it(runtime_dir));
	CU_ASSERT_NOT_EQUAL(access("run/nowhere", F_OK), 0);
}

/* The same below /tmp, for another user there; what is made is this one's, whom that one does not trust. */
TEST(below_tmp_it_is_the_effective_users)
{
	char path[CC_NODE_DIR_SIZE];
	int fd;

	user = 400000000 + (uid_t)getpid();	/* Nobody has that number. */
	(void)snprintf(path, sizeof(path), "/tmp/ckcache-%u", user);
	fd = cc_node_dir_open(NULL, NULL);
	CU_ASSERT_EQUAL(fd, -1);
	CU_ASSERT_EQUAL(rmdir(path), 0);
}

/* Anybody may have made the usual one: then all of this user's processes have another one. */
TEST(who_takes_the_name_below_tmp_keeps_nobody_from_another)
{
	char taken[CC_NODE_DIR_SIZE], first[CC_NODE_DIR_SIZE], second[CC_NODE_DIR_SIZE], decoy[CC_NODE_DIR_SIZE];
	struct stat info;
	int fds[2];

	user = 400000000 + (uid_t)getpid();
	(void)snprintf(taken, sizeof(taken), "/tmp/ckcache-%u", user);
	(void)snprintf(decoy, sizeof(decoy), "/tmp/ckcache-%u.000000", user);
	if (__real_geteuid() != 0) {
		(void)printf("SKIPPED: not root; ");
		return;
	}
	CU_ASSERT_EQUAL_FATAL(mkdir(taken, 0755), 0);
	CU_ASSERT_EQUAL_FATAL(mkdir(decoy, 0755), 0);
	CU_ASSERT_EQUAL_FATAL(seteuid(user), 0);
	fds[0] = cc_node_dir_open(NULL, first);
	fds[1] = cc_node_dir_open(NULL, second);
	CU_ASSERT_EQUAL_FATAL(seteuid(0), 0);
	CU_ASSERT_FATAL(fds[0] >= 0 && fds[1] >= 0);
	CU_ASSERT_STRING_EQUAL(first, second);
	CU_ASSERT(strncmp(first, taken, strlen(taken)) == 0 && strcmp(first, decoy) != 0);
	CU_ASSERT_EQUAL(fstat(fds[0], &info), 0);
	CU_ASSERT(info.st_uid == user && (info.st_mode & 07777) == 0700);
	CU_ASSERT_EQUAL(close(fds[0]), 0);
	CU_ASSERT_EQUAL(close(fds[1]), 0);
	CU_ASSERT(rmdir(first) == 0 && rmdir(decoy) == 0 && rmdir(taken) == 0);
}

/* Of two that are made at the same time one stays: the first by its name. */
TEST(who_comes_second_leaves_no_directory)
{
	static const char *const ends[] = { "000000", "~~~~~~" };

	if (!unit_is_root())
		return;
	user = 400000000 + (uid_t)getpid();
	for (size_t i = 0; i < 2; i++) {
		char taken[CC_NODE_DIR_SIZE], found[CC_NODE_DIR_SIZE], command[200];
		int fd;

		(void)snprintf(taken, sizeof(taken), "/tmp/ckcache-%u", user);
		(void)snprintf(others, sizeof(others), "/tmp/ckcache-%u.%s", user, ends[i]);
		CU_ASSERT_EQUAL_FATAL(mkdir(taken, 0755), 0);
		CU_ASSERT_EQUAL_FATAL(seteuid(user), 0);
		fd = cc_node_dir_open(NULL, found);
		CU_ASSERT_EQUAL_FATAL(seteuid(0), 0);
		CU_ASSERT_FATAL(fd >= 0);
		CU_ASSERT_EQUAL(close(fd), 0);
		CU_ASSERT_EQUAL(strcmp(found, others) == 0, i == 0);
		/* The other process's is its own to remove. */
		CU_ASSERT_EQUAL(rmdir(others), 0);
		CU_ASSERT_EQUAL(rmdir(found), i == 0 ? -1 : 0);
		CU_ASSERT_EQUAL(rmdir(taken), 0);
		(void)snprintf(command, sizeof(command), "! ls -d /tmp/ckcache-%u* 2>/dev/null", user);
		CU_ASSERT_EQUAL(system(command), 0);
	}
	others[0] = '\0';
}

TEST(a_network_file_system_has_none)
{
	char path[CC_NODE_DIR_SIZE] = "as before";

	is_remote = true;
	CU_ASSERT_EQUAL(cc_node_dir_open(runtime_dir, path), -1);
	CU_ASSERT_STRING_EQUAL(path, "as before");
	CU_ASSERT_EQUAL(cc_node_dir_open(runtime_dir, NULL), -1);
}

/* A directory with a path of that length; false: the test's own is too long. */
static bool make_long(size_t len)
{
	size_t at = strlen(unit_dir());

	if (at + 2 > len)
		return false;
	(void)snprintf(runtime_dir, sizeof(runtime_dir), "%s/", unit_dir());
	memset(runtime_dir + at + 1, 'x', len - at - 1);
	runtime_dir[len] = '\0';
	CU_ASSERT_EQUAL(mkdir(runtime_dir, 0700), 0);
	return true;
}

TEST(a_path_is_as_long_as_a_sockets_address_allows)
{
	const size_t most = CC_NODE_DIR_SIZE - sizeof("/ckcache");

	if (make_long(most))
		CU_ASSERT(uses_runtime_dir(runtime_dir));
	if (make_long(most + 1))
		CU_ASSERT(uses_shared(runtime_dir));
	if (make_long(most + 100))
		CU_ASSERT(uses_shared(runtime_dir));
}
