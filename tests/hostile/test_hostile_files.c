/* SPDX-License-Identifier: MIT */
/*
 * test_hostile_files: each file and directory of a store replaced by each
 * thing that a file system can hold; names that are none of the cache's.
 *
 *   test_hostile_files [old-kernel]   the directories, without openat2
 */
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "tests/hostile/hostile.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

#define FOREIGN_UID 12345
#define SKIPPED 77

enum {
	FILES = 1,
	DIRECTORIES = 2,
	POISON = 4,	/* a look-up may give the twin's bytes */
	STAYS = 8,	/* the owner cannot take it away either: nothing heals */
	ROOT = 16,	/* also in the place of the root */
};

struct replacement {
	const char *name;
	/* What stands in a path's place afterwards. false: it cannot be had here. */
	bool (*replace)(const struct hostile *hostile, const char *relative);
	int where;
	union {
		const char *target;
		off_t size;
		int flags;
	} with;
};
static const struct replacement *now;	/* the one that is tried */

static const char *outside(const struct hostile *hostile, const char *name)
{
	static char path[8400];

	(void)snprintf(path, sizeof(path), "%s/%s", hostile->outside, name);
	return path;
}

/* Takes the path away, whatever it is; the parent stays. */
static const char *take_away(const struct hostile *hostile, const char *relative)
{
	static char path[8400], aside[8400];

	(void)snprintf(path, sizeof(path), "%s", hostile_path(hostile, relative));
	(void)snprintf(aside, sizeof(aside), "%s/taken", unit_dir());
	if (unlink(path) < 0 && (errno == EISDIR || errno == EPERM))
		CU_ASSERT_EQUAL_FATAL(rename(path, aside), 0);
	return path;
}

static bool as_nothing(const struct hostile *hostile, const char *relative)
{
	(void)take_away(hostile, relative);
	return true;
}

static bool as_empty_file(const struct hostile *hostile, const char *relative)
{
	unit_write(take_away(hostile, relative), "");
	return true;
}

static bool as_garbage(const struct hostile *hostile, const char *relative)
{
	static const char garbage[] = "18446744073709551616\nckcsrc\r\n\xff\xff\0\0\x7f";

	unit_write_bytes(take_away(hostile, relative), garbage, sizeof(garbage));
	return true;
}

static bool link_to(const struct hostile *hostile, const char *relative, const char *target)
{
	return symlink(target, take_away(hostile, relative)) == 0;
}

static bool as_link_to_twin(const struct hostile *hostile, const char *relative)
{
	return link_to(hostile, relative, hostile_twin_path(hostile, relative));
}

/* To something outside; through a dangling one what is created appears there. */
static bool as_link(const struct hostile *hostile, const char *relative)
{
	return link_to(hostile, relative, outside(hostile, now->with.target));
}

static bool as_link_to_itself(const struct hostile *hostile, const char *relative)
{
	const char *slash = strrchr(relative, '/');

	return link_to(hostile, relative, *relative ? slash ? slash + 1 : relative : ".");
}

static bool is_file(const struct hostile *hostile, const char *relative)
{
	struct stat info;

	return lstat(hostile_path(hostile, relative), &info) == 0 && S_ISREG(info.st_mode);
}

static bool as_hard_link_to_file(const struct hostile *hostile, const char *relative)
{
	return is_file(hostile, relative) &&
	       link(outside(hostile, "file"), take_away(hostile, relative)) == 0;
}

/* Right in every byte, and somebody else's too. */
static bool as_hard_link_to_twin(const struct hostile *hostile, const char *relative)
{
	return is_file(hostile, relative) &&
	       link(hostile_twin_path(hostile, relative), take_away(hostile, relative)) == 0;
}

static bool as_fifo(const struct hostile *hostile, const char *relative)
{
	return mkfifo(take_away(hostile, relative), 0600) == 0;
}

/* With somebody at its other end: opening it for writing succeeds. */
static bool as_link_to_held_fifo(const struct hostile *hostile, const char *relative)
{
	return link(outside(hostile, "fifo"), take_away(hostile, relative)) == 0;
}

static bool as_socket(const struct hostile *hostile, const char *relative)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool made;

	/* By a short name: the address has room for some hundred bytes. */
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "made-socket");
	made = fd >= 0 && bind(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
	       rename("made-socket", take_away(hostile, relative)) == 0;
	(void)close(fd);
	return made;
}

static bool as_endless_device(const struct hostile *hostile, const char *relative)
{
	return geteuid() == 0 &&
	       mknod(take_away(hostile, relative), S_IFCHR | 0600, makedev(1, 5)) == 0;
}

/* No such device: opening it fails. */
static bool as_block_device(const struct hostile *hostile, const char *relative)
{
	return geteuid() == 0 &&
	       mknod(take_away(hostile, relative), S_IFBLK | 0600, makedev(254, 4000)) == 0;
}

static bool as_empty_directory(const struct hostile *hostile, const char *relative)
{
	return mkdir(take_away(hostile, relative), 0700) == 0;
}

static bool as_full_directory(const struct hostile *hostile, const char *relative)
{
	char path[8400];

	(void)snprintf(path, sizeof(path), "%s/inner", take_away(hostile, relative));
	unit_write(path, "somebody's");
	return true;
}

static bool as_sparse(const struct hostile *hostile, const char *relative)
{
	const char *path = take_away(hostile, relative);

	unit_write(path, "");
	return truncate(path, now->with.size) == 0;
}

static bool without_permissions(const struct hostile *hostile, const char *relative)
{
	return chmod(hostile_path(hostile, relative), 0) == 0;
}

static bool of_another_owner(const struct hostile *hostile, const char *relative)
{
	return geteuid() == 0 &&
	       chown(hostile_path(hostile, relative), FOREIGN_UID, FOREIGN_UID) == 0;
}

static bool set_flags(const char *path, int flags)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool done = fd >= 0 && ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;

	if (fd >= 0)
		(void)close(fd);
	return done;
}

static bool with_flags(const struct hostile *hostile, const char *relative)
{
	return set_flags(hostile_path(hostile, relative), now->with.flags);
}

static const struct replacement replacements[] = {
	{ "nothing", as_nothing, FILES | DIRECTORIES, { NULL } },
	{ "an empty file", as_empty_file, FILES | DIRECTORIES | ROOT, { NULL } },
	{ "garbage", as_garbage, FILES | DIRECTORIES | ROOT, { NULL } },
	{ "a link to the twin", as_link_to_twin, FILES | DIRECTORIES, { NULL } },
	{ "a link to a file", as_link, FILES | DIRECTORIES | ROOT, { .target = "file" } },
	{ "a link to a directory", as_link, FILES | DIRECTORIES, { .target = "dir" } },
	{ "a link to an empty directory", as_link, FILES | DIRECTORIES, { .target = "empty" } },
	{ "a link to a FIFO", as_link, FILES | DIRECTORIES | ROOT, { .target = "fifo" } },
	{ "a dangling link", as_link, FILES | DIRECTORIES, { .target = "new" } },
	{ "a link to itself", as_link_to_itself, FILES | DIRECTORIES | ROOT, { NULL } },
	{ "a hard link to a file", as_hard_link_to_file, FILES, { NULL } },
	{ "a hard link to the twin", as_hard_link_to_twin, FILES | POISON, { NULL } },
	{ "a FIFO", as_fifo, FILES | DIRECTORIES | ROOT, { NULL } },
	{ "a FIFO that is read from", as_link_to_held_fifo, FILES | DIRECTORIES | ROOT, { NULL } },
	{ "a socket", as_socket, FILES | DIRECTORIES | ROOT, { NULL } },
	{ "an endless device", as_endless_device, FILES | DIRECTORIES | ROOT, { NULL } },
	{ "a block device", as_block_device, FILES | DIRECTORIES | ROOT, { NULL } },
	{ "an empty directory", as_empty_directory, FILES | DIRECTORIES, { NULL } },
	{ "a directory with a file", as_full_directory, FILES | DIRECTORIES, { NULL } },
	{ "a sparse terabyte", as_sparse, FILES | DIRECTORIES, { .size = (off_t)1 << 40 } },
	{ "a sparse gibibyte", as_sparse, FILES, { .size = (off_t)1 << 30 } },
	/* As large as a .bin may be, and full of nothing. */
	{ "four sparse gibibytes", as_sparse, FILES, { .size = ((off_t)1 << 32) + CC_ENTRY_HEADER_SIZE } },
	{ "no permissions", without_permissions, FILES | DIRECTORIES | ROOT | STAYS, { NULL } },
	{ "another owner", of_another_owner, FILES | DIRECTORIES | ROOT | STAYS, { NULL } },
	{ "an immutable one", with_flags, FILES | DIRECTORIES | ROOT | STAYS, { .flags = FS_IMMUTABLE_FL } },
	{ "one to append to", with_flags, FILES | DIRECTORIES | ROOT | STAYS, { .flags = FS_APPEND_FL } },
};

/* One case: a store of its own, the replacement, a round, and whether the next build is cached. */
static void try(const char *target, const char *shown, const struct replacement *replacement)
{
	struct hostile hostile;
	char what[512], relative[256];
	int reader;

	hostile_open(&hostile, "case");
	/* Targets are named before their store is there: %-words stand for its names. */
	if (strcmp(target, "%leaf") == 0 || strncmp(target, "%leaf/", 6) == 0)
		(void)snprintf(relative, sizeof(relative), "%s%s", hostile.entry_dir, target + 5);
	else if (target[0] == '%' && target[1] >= '1' && target[1] <= '3')
		(void)snprintf(relative, sizeof(relative), "%.*s",
			       (target[1] - '0') * CMN_HASH_HEX_SIZE - 1, hostile.entry_dir);
	else
		(void)snprintf(relative, sizeof(relative), "%s",
			       strcmp(target, "%recipe") == 0	? hostile.recipe :
			       strcmp(target, "%attempts") == 0 ? hostile.attempts :
								  target);
	(void)snprintf(what, sizeof(what), "%s in the place of %s", replacement->name, shown);
	reader = open(outside(&hostile, "fifo"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	now = replacement;
	if (replacement->replace(&hostile, relative)) {
		hostile.poison_is_fine = (replacement->where & POISON) != 0;
		hostile_exercise(&hostile, what);
		if (replacement->where & STAYS) {
			(void)set_flags(hostile_path(&hostile, relative), 0);
			if (geteuid() == 0)
				(void)lchown(hostile_path(&hostile, relative), 0, 0);
			(void)chmod(hostile_path(&hostile, relative), 0700);
		}
		if (*relative)
			hostile_expect_healed(&hostile, what);
	}
	(void)close(reader);
	hostile_close(&hostile);
	(void)!system("rm -rf taken");
}

static void try_all(const char *target, const char *shown, int where)
{
	for (size_t i = 0; i < sizeof(replacements) / sizeof(replacements[0]); i++) {
		if (replacements[i].where & where)
			try(target, shown, &replacements[i]);
	}
}

/* With openat2, or without it, and then the directories alone. */
#define FILE_TEST(name, target) TEST_ON("new", name) { try_all(target, #name, FILES); }
#define DIRECTORY_TEST(where, name, target) TEST_ON(where, name) { try_all(target, #name, DIRECTORIES); }

FILE_TEST(src, "%leaf/0.src")
FILE_TEST(bin, "%leaf/0.bin")
FILE_TEST(cache_size, "cache_size.txt")
FILE_TEST(days, "days.txt")
FILE_TEST(stats, "stats.txt")
FILE_TEST(tokens, "reuse.dat")
FILE_TEST(events, "events.log")
FILE_TEST(old_events, "events.old")
FILE_TEST(build_lock, "build.lock")
FILE_TEST(recipe, "%recipe")
FILE_TEST(attempts, "%attempts")
FILE_TEST(replay_lock, "recipes/replay.lock")
DIRECTORY_TEST(NULL, device, "%1")
DIRECTORY_TEST(NULL, image, "%2")
DIRECTORY_TEST(NULL, constants, "%3")
DIRECTORY_TEST(NULL, entry_dir, "%leaf")
DIRECTORY_TEST("new", recipes, "recipes")
DIRECTORY_TEST("new", quarantine, "recipes/quarantine")

TEST_ON("new", root)
{
	try_all("", "root", ROOT);
}

/* In each directory of a store. They are left alone. */
TEST(odd_names)
{
	static const char *const names[] = {
		" ", "...", "....", "-", "--help", "*", "~", "%s%n", "\n", "\x01\x1b[2J\x7f", "\xff\xfe",
		"0", "0.", "0.src ", " 0.src", "00.src", "01.src", "64.src", "99.bin", "100.src",
		"+1.src", "-1.src", "0x1.src", "1e0.src", "18446744073709551616.src", "0.SRC",
		"0.src\n", "0.srcx", "0.bin.src", "0_access_time.txt~", "0_access_time", ".src", ".bin",
		"0123456789abcdef0123456789abcde", "0123456789abcdef0123456789abcdef0",
		"0123456789ABCDEF0123456789ABCDEF", "0123456789abcdef0123456789abcdeg",
		"0123456789abcdef0123456789abcdef.recipes", "0123456789abcdef0123456789abcdef.recipe.",
		"0123456789abcdef0123456789abcdef\n.lock", "cache_size.txt.", "Cache_size.txt", ".tmp",
	};
	const size_t count = sizeof(names) / sizeof(names[0]);
	const char *places[] = { "", NULL, "recipes", "recipes/quarantine" };
	struct hostile hostile;
	char path[CC_ENTRY_DIR_PATH_SIZE + 512], longest[256];

	hostile_open(&hostile, "odd");
	places[1] = hostile.entry_dir;
	memset(longest, 'n', 255);
	longest[255] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		for (size_t j = 0; j <= count; j++) {
			(void)snprintf(path, sizeof(path), "%s/%s", places[i],
				       j < count ? names[j] : longest);
			if (j % 2)
				unit_write(hostile_path(&hostile, path), "foreign");
			else
				CU_ASSERT_EQUAL(symlink(outside(&hostile, "file"),
							hostile_path(&hostile, path)), 0);
		}
	}
	hostile_exercise(&hostile, "odd names");
	hostile_expect_healed(&hostile, "odd names");
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		for (size_t j = 0; j <= count; j++) {
			struct stat info;

			(void)snprintf(path, sizeof(path), "%s/%s", places[i],
				       j < count ? names[j] : longest);
			HOSTILE_ASSERT(path, lstat(hostile_path(&hostile, path), &info) == 0);
		}
	}
	hostile_close(&hostile);
}

/* What has a temporary's name is swept, but a directory; what it leads to is not. */
TEST_ON("new", odd_temporaries)
{
	char names[5][CC_ENTRY_DIR_PATH_SIZE + 64];
	struct hostile hostile;
	struct stat info;

	hostile_open(&hostile, "temporaries");
	for (int i = 0; i < 5; i++)
		(void)snprintf(names[i], sizeof(names[i]), "%s/.tmp-%d", hostile.entry_dir, i);
	CU_ASSERT_EQUAL(symlink(outside(&hostile, "file"), hostile_path(&hostile, names[0])), 0);
	CU_ASSERT_EQUAL(symlink(outside(&hostile, "dir"), hostile_path(&hostile, names[1])), 0);
	CU_ASSERT_EQUAL(link(outside(&hostile, "file"), hostile_path(&hostile, names[2])), 0);
	CU_ASSERT_EQUAL(mkfifo(hostile_path(&hostile, names[3]), 0600), 0);
	CU_ASSERT_EQUAL(mkdir(hostile_path(&hostile, names[4]), 0700), 0);
	hostile_exercise(&hostile, "odd temporaries");
	hostile_expect_healed(&hostile, "odd temporaries");
	for (int i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(lstat(hostile_path(&hostile, names[i]), &info) == 0, i == 4);
	hostile_close(&hostile);
}

/* How a filter answers; false: there is none to be had here. */
static bool take_openat2_away(unsigned int answer)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static bool shows_no_filter;	/* an old kernel has none */

WRAPPED(int, prctl, (int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d))
{
	return option == PR_GET_SECCOMP && shows_no_filter ? 0 : __real_prctl(option, a, b, c, d);
}

/* Nothing; "old-kernel": without that call; "filtered": who makes it is killed. */
int main(int argc, char **argv)
{
	bool filtered = argc > 1 && strcmp(argv[1], "filtered") == 0;

	unit_count_descriptors();
	shows_no_filter = true;	/* of those that the machine has, none kills */
	if (argc < 2)
		return unit_run("new");
	if (!take_openat2_away(filtered ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | ENOSYS)) {
		(void)fprintf(stderr, "SKIPPED: no filter of system calls to be had\n");
		return SKIPPED;
	}
	shows_no_filter = !filtered;
	if (!filtered && (syscall(SYS_openat2, AT_FDCWD, "/", NULL, 0) == 0 || errno != ENOSYS))
		return 1;
	return unit_run("old");
}
