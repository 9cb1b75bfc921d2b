/* SPDX-License-Identifier: MIT */
/* node: who shares a helper, its locks, and how long a tier that failed is left alone. */
#include "cachecore/remote/node.h"

#include <sys/un.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "tests/support/clock.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

#define NS_PER_S UINT64_C(1000000000)
#define NOW UINT64_C(1700000000)

static uint64_t now_s;
uint64_t test_clock(clockid_t id)
{
	return id == CLOCK_REALTIME ? now_s * NS_PER_S + NS_PER_S / 2 : machine_clock(id);
}

/* Copies of text fail, or buffers, or the second buffer that is used. */
static bool no_copies;
static unsigned int buffers_left;
WRAPPED(char *, strdup, (const char *text))
{
	return no_copies ? NULL : __real_strdup(text);
}

WRAPPED(void *, realloc, (void *old, size_t size))
{
	if (buffers_left && !--buffers_left)
		return NULL;
	return __real_realloc(old, size);
}

static bool disk_is_full;
WRAPPED(enum cmn_status, cmn_file_publish, (int fd, const char *name, const struct cmn_view *views, size_t count))
{
	return disk_is_full ? CMN_ERR_NOSPACE : __real_cmn_file_publish(fd, name, views, count);
}

static struct cc_node node;
static int dir_fd = -1;

static struct cc_node node_of(const char *text, const char *secrets)
{
	struct cc_address address;
	const char *problem;
	struct cc_node ret;

	CU_ASSERT_EQUAL_FATAL(cc_address_parse(text, &address, &problem), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_node_init(&address, secrets, &ret), CMN_OK);
	cc_address_release(&address);
	return ret;
}

BEFORE_EACH
{
	now_s = NOW;
	CU_ASSERT_EQUAL_FATAL(mkdir("run", 0700), 0);
	CU_ASSERT_EQUAL(setenv("XDG_RUNTIME_DIR", unit_dir(), 1), 0);
	node = node_of("redis://host", NULL);
	dir_fd = open("run", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

AFTER_EACH
{
	no_copies = disk_is_full = false;
	buffers_left = 0;
	cc_node_release(&node);
	(void)close(dir_fd);
}

/* Whether those two addresses share a helper. */
static bool share(const char *one, const char *one_secrets, const char *two, const char *two_secrets)
{
	struct cc_node first = node_of(one, one_secrets), second = node_of(two, two_secrets);
	bool equal = !strcmp(first.id, second.id);

	CU_ASSERT_EQUAL(strlen(first.id), CC_NODE_ID_SIZE - 1);
	CU_ASSERT_EQUAL(strspn(first.id, "0123456789abcdef"), CC_NODE_ID_SIZE - 1);
	cc_node_release(&first);
	cc_node_release(&second);
	return equal;
}

TEST(one_helper_is_for_all_with_the_same_address)
{
	CU_ASSERT(share("a://b", NULL, " a://b ", NULL));
	CU_ASSERT(share("a://b @c=d", "/s", "a://b @c=d", "/s"));
	CU_ASSERT(share("a://b read-only=true", NULL, "a://b write-only=1", NULL));
	CU_ASSERT(share("a://b @c=%64", NULL, "a://b @c=d", NULL));
	CU_ASSERT_FALSE(share("a://b", NULL, "a://c", NULL));
	CU_ASSERT_FALSE(share("a://b", NULL, "a://b/", NULL));
	CU_ASSERT_FALSE(share("a://b @c=d", NULL, "a://b", NULL));
	CU_ASSERT_FALSE(share("a://b @c=d", NULL, "a://b @c=e", NULL));
	CU_ASSERT_FALSE(share("a://b @c=d @e=f", NULL, "a://b @e=f @c=d", NULL));
	CU_ASSERT_FALSE(share("a://b @c=d @e=f", NULL, "a://b @c=de=f", NULL));
	CU_ASSERT_FALSE(share("a://b @c=d", NULL, "a://bc=d", NULL));
	CU_ASSERT_FALSE(share("a://b", "/s", "a://b", NULL));
	CU_ASSERT_FALSE(share("a://b", "/s", "a://b", "/t"));
	CU_ASSERT_FALSE(share("a://b", "/s", "a://b/s", NULL));
}

TEST(the_runtime_directory_is_an_absolute_path)
{
	static const char *const others[] = { "run", "", NULL };

	CU_ASSERT_STRING_EQUAL(node.runtime_dir, unit_dir());
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		cc_node_release(&node);
		CU_ASSERT_EQUAL(others[i] ? setenv("XDG_RUNTIME_DIR", others[i], 1) : unsetenv("XDG_RUNTIME_DIR"), 0);
		node = node_of("a:b", NULL);
		CU_ASSERT_PTR_NULL(node.runtime_dir);
	}
	cc_node_release(&node);
}

TEST(without_memory_there_is_none)
{
	struct cc_address address;
	const char *problem;

	CU_ASSERT_EQUAL_FATAL(cc_address_parse("a:b", &address, &problem), CMN_OK);
	cc_node_release(&node);
	no_copies = true;
	CU_ASSERT_EQUAL(cc_node_init(&address, NULL, &node), CMN_ERR_NOMEM);
	no_copies = false;
	cc_node_release(&node);
	buffers_left = 1;
	CU_ASSERT_EQUAL(cc_node_init(&address, NULL, &node), CMN_ERR_NOMEM);
	CU_ASSERT_PTR_NULL(node.runtime_dir);
	cc_address_release(&address);
}

TEST(a_sockets_path_fits_into_an_address)
{
	char path[CC_NODE_DIR_SIZE], socket[CC_NODE_SOCKET_SIZE], wanted[CC_NODE_SOCKET_SIZE];
	int fd = cc_node_open(&node, path);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL(close(fd), 0);
	if (strlen(unit_dir()) + sizeof("/ckcache") <= CC_NODE_DIR_SIZE)
		CU_ASSERT_EQUAL(strncmp(path, unit_dir(), strlen(unit_dir())), 0);
	cc_node_socket(&node, path, socket);
	(void)snprintf(wanted, sizeof(wanted), "%s/remote-%s.sock", path, node.id);
	CU_ASSERT_STRING_EQUAL(socket, wanted);
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	cc_node_socket(&node, path, socket);
	CU_ASSERT_STRING_EQUAL(socket + strlen(socket) - 5, ".sock");
	CU_ASSERT(strlen(socket) < sizeof(((struct sockaddr_un *)0)->sun_path));
}

/* root: a directory of the test's. */
static int lock_of(const char *root)
{
	int fd = -1, root_fd = root ? open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	enum cmn_status status = root ? cc_node_lock_uploads(&node, dir_fd, root_fd, &fd)
				      : cc_node_lock_helper(&node, dir_fd, &fd);

	if (root)
		(void)close(root_fd);	/* a directory */
	CU_ASSERT_EQUAL(fd < 0, status != CMN_OK);
	CU_ASSERT(status == CMN_OK || status == CMN_BUSY);
	return fd;
}

TEST(locks_have_one_owner_each)
{
	static const char *const roots[] = { NULL, "a", "b" };
	struct cc_node other = node_of("redis://other", NULL), mine = node;
	int fds[3], others;

	CU_ASSERT_FATAL(mkdir("a", 0700) == 0 && mkdir("b", 0700) == 0);
	for (int i = 0; i < 3; i++) {
		fds[i] = lock_of(roots[i]);
		CU_ASSERT_FATAL(fds[i] >= 0);
	}
	for (int i = 0; i < 3; i++)
		CU_ASSERT(lock_of(roots[i]) < 0);
	node = other;
	for (int i = 0; i < 3; i++) {
		others = lock_of(roots[i]);
		CU_ASSERT(others >= 0);
		cc_root_unlock(others);
	}
	node = mine;
	cc_node_release(&other);
	for (int i = 0; i < 3; i++) {
		cc_root_unlock(fds[i]);
		others = lock_of(roots[i]);
		CU_ASSERT(others >= 0);
		/* Passed on, as to a program: the other descriptor keeps it. */
		fds[i] = dup(others);
		CU_ASSERT_EQUAL(close(others), 0);
		CU_ASSERT(lock_of(roots[i]) < 0);
		(void)close(fds[i]);
		others = lock_of(roots[i]);
		CU_ASSERT(others >= 0);
		cc_root_unlock(others);
	}
}

/* Who works on the removed one must not keep anybody from the new one. */
TEST(a_root_in_the_place_of_another_has_a_lock_of_its_own)
{
	int old_fd, old, new;

	CU_ASSERT_EQUAL_FATAL(mkdir("root", 0700), 0);
	old_fd = open("root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	old = lock_of("root");
	CU_ASSERT_FATAL(old_fd >= 0 && old >= 0);
	CU_ASSERT(rmdir("root") == 0 && mkdir("root", 0700) == 0);
	new = lock_of("root");
	CU_ASSERT(new >= 0 && lock_of("root") < 0);
	CU_ASSERT_EQUAL(cc_node_lock_uploads(&node, dir_fd, old_fd, &new), CMN_BUSY);
	cc_root_unlock(new);
	cc_root_unlock(old);
	(void)close(old_fd);	/* a directory */
}

static const char *name_of(const char *suffix)
{
	static char name[100];

	(void)snprintf(name, sizeof(name), "run/remote-%s.%s", node.id, suffix);
	return name;
}

TEST(what_is_no_file_of_the_users_is_no_lock)
{
	int fd = -1;

	CU_ASSERT_EQUAL(mkdir(name_of("lock"), 0700), 0);
	CU_ASSERT(cc_node_lock_helper(&node, dir_fd, &fd) < CMN_OK);
	CU_ASSERT_EQUAL(rmdir(name_of("lock")), 0);
	CU_ASSERT_EQUAL(symlink("elsewhere", name_of("lock")), 0);
	CU_ASSERT(cc_node_lock_helper(&node, dir_fd, &fd) != CMN_OK);
	CU_ASSERT_NOT_EQUAL(access("run/elsewhere", F_OK), 0);
	CU_ASSERT_EQUAL(fd, -1);
}

static bool is_down(void)
{
	return cc_node_is_down(&node, dir_fd, NULL, 0);
}

TEST(a_tier_that_failed_is_left_alone_for_a_minute)
{
	char reason[100] = "before";

	CU_ASSERT_FALSE(cc_node_is_down(&node, dir_fd, reason, sizeof(reason)));
	CU_ASSERT_STRING_EQUAL(reason, "before");
	cc_node_set_down(&node, dir_fd, "no answer in time");
	CU_ASSERT(cc_node_is_down(&node, dir_fd, reason, sizeof(reason)));
	CU_ASSERT_STRING_EQUAL(reason, "no answer in time");
	now_s = NOW + CC_NODE_DOWN_S - 1;
	CU_ASSERT(is_down());
	now_s = NOW + CC_NODE_DOWN_S;
	memcpy(reason, "before", sizeof("before"));
	CU_ASSERT_FALSE(cc_node_is_down(&node, dir_fd, reason, sizeof(reason)));
	CU_ASSERT_STRING_EQUAL(reason, "before");
	/* A clock that was set back. */
	now_s = NOW - 1;
	CU_ASSERT_FALSE(is_down());
	now_s = NOW;
	CU_ASSERT(is_down());
	now_s = NOW + 30;
	cc_node_set_down(&node, dir_fd, "another reason");
	now_s = NOW + CC_NODE_DOWN_S + 29;
	CU_ASSERT(cc_node_is_down(&node, dir_fd, reason, sizeof(reason)));
	CU_ASSERT_STRING_EQUAL(reason, "another reason");
	cc_node_set_up(&node, dir_fd);
	CU_ASSERT_FALSE(is_down());
	cc_node_set_up(&node, dir_fd);
}

TEST(waiting_in_vain_is_remembered_for_a_minute)
{
	CU_ASSERT_FALSE(cc_node_waited_in_vain(&node, dir_fd));
	cc_node_set_waited_in_vain(&node, dir_fd);
	CU_ASSERT_FALSE(is_down());
	now_s = NOW + CC_NODE_DOWN_S - 1;
	CU_ASSERT(cc_node_waited_in_vain(&node, dir_fd));
	now_s = NOW + CC_NODE_DOWN_S;
	CU_ASSERT_FALSE(cc_node_waited_in_vain(&node, dir_fd));
}

/* Waits in vain, and looks how many seconds nobody waits then. */
static uint64_t vain_pause(void)
{
	uint64_t begun = now_s;

	cc_node_set_waited_in_vain(&node, dir_fd);
	while (cc_node_waited_in_vain(&node, dir_fd))
		now_s++;
	return now_s - begun;
}

TEST(waiting_in_vain_again_and_again_makes_pauses_grow)
{
	static const uint64_t pauses[] = { 60, 120, 240, 480, 960, 1920, 3600, 3600 };

	for (size_t i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
		CU_ASSERT_EQUAL(vain_pause(), pauses[i]);
		now_s += i % 2 ? 3599 : 0;	/* nobody asks for some time */
	}
	now_s += 3600;
	CU_ASSERT_EQUAL(vain_pause(), 60);
	CU_ASSERT_EQUAL(vain_pause(), 120);
	cc_node_set_waited_well(&node, dir_fd);
	CU_ASSERT_EQUAL(vain_pause(), 60);
	cc_node_set_waited_well(&node, dir_fd);
	cc_node_set_waited_well(&node, dir_fd);
	CU_ASSERT_FALSE(cc_node_waited_in_vain(&node, dir_fd));
}

TEST(many_that_wait_for_the_same_count_once)
{
	cc_node_set_waited_in_vain(&node, dir_fd);
	now_s += 1;
	for (int i = 0; i < 20; i++)
		cc_node_set_waited_in_vain(&node, dir_fd);
	now_s = NOW + 59;
	CU_ASSERT(cc_node_waited_in_vain(&node, dir_fd));
	now_s = NOW + 60;
	CU_ASSERT_FALSE(cc_node_waited_in_vain(&node, dir_fd));
	CU_ASSERT_EQUAL(vain_pause(), 120);
}

TEST(a_note_of_a_pause_that_makes_no_sense_is_a_minute)
{
	static const char *const notes[] = {
		"", "x", "1699999999", "1699999999 in vain", "1699999999 59 in vain", "1699999999 3601 in vain",
		"1699999999 99999999999999999999 in vain", "1699999999 -60 in vain", "1700003601 120 in vain",
		"0 120 in vain", "-1 120 in vain",
	};

	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
		now_s = NOW;
		unit_write(name_of("waited"), notes[i]);
		CU_ASSERT_FALSE(cc_node_waited_in_vain(&node, dir_fd));
		CU_ASSERT_EQUAL(vain_pause(), 60);
	}
}

TEST(other_tiers_are_not_down)
{
	struct cc_node other = node_of("redis://other", NULL);

	cc_node_set_down(&node, dir_fd, "reason");
	CU_ASSERT_FALSE(cc_node_is_down(&other, dir_fd, NULL, 0));
	cc_node_set_up(&other, dir_fd);
	CU_ASSERT(is_down());
	cc_node_release(&other);
}

static void expect_reason(const char *given, const char *told)
{
	char reason[20];

	cc_node_set_down(&node, dir_fd, given);
	CU_ASSERT(cc_node_is_down(&node, dir_fd, reason, sizeof(reason)));
	CU_ASSERT_STRING_EQUAL(reason, told);
}

TEST(a_reason_is_cut_and_printable)
{
	char reason[20], whole[500], longer[600];

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	cc_node_set_down(&node, dir_fd, longer);
	CU_ASSERT(cc_node_is_down(&node, dir_fd, reason, sizeof(reason)));
	CU_ASSERT_EQUAL(strlen(reason), sizeof(reason) - 1);
	CU_ASSERT(cc_node_is_down(&node, dir_fd, whole, sizeof(whole)));
	CU_ASSERT_EQUAL(strlen(whole), 400);
	expect_reason("one\33[31mtwo", "one");
	expect_reason("one\x7ftwo", "one");
	expect_reason("\xc3\xa9 %s", "\xc3\xa9 %s");
	expect_reason("", "");
}

TEST(a_note_that_is_none_does_not_count)
{
	static const char *const notes[] = {
		"", " ", "1700000030", "1700000030\n", "x 1700000030 x", "99999999999999999999999999 x",
		"18446744073709551615 x", "-1 x", "1700000061 too late", "1700000000 over", "1700000030x y",
	};
	char large[600];

	for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
		unit_write(name_of("down"), notes[i]);
		CU_ASSERT_FALSE(is_down());
	}
	unit_write_bytes(name_of("down"), "1700000030\0 x", 13);
	CU_ASSERT_FALSE(is_down());
	unit_write(name_of("down"), "1700000030 x");
	CU_ASSERT(is_down());
	unit_write(name_of("down"), "1700000060 x");
	CU_ASSERT(is_down());
	memset(large, 'x', sizeof(large));
	memcpy(large, "1700000030 ", 11);
	unit_write_bytes(name_of("down"), large, 513);
	CU_ASSERT_FALSE(is_down());
	unit_write_bytes(name_of("down"), large, 512);
	CU_ASSERT(is_down());
	/* Whatever else has the name. */
	CU_ASSERT_EQUAL(unlink(name_of("down")), 0);
	unit_write("run/elsewhere", "1700000030 x");
	CU_ASSERT_EQUAL(symlink("elsewhere", name_of("down")), 0);
	CU_ASSERT_FALSE(is_down());
	cc_node_set_down(&node, dir_fd, "reason");
	CU_ASSERT(is_down());
	CU_ASSERT_EQUAL(unlink(name_of("down")), 0);
	CU_ASSERT_EQUAL(mkfifo(name_of("down"), 0600), 0);
	CU_ASSERT_FALSE(is_down());
	cc_node_set_up(&node, dir_fd);
	CU_ASSERT_EQUAL(mkdir(name_of("down"), 0700), 0);
	CU_ASSERT_FALSE(is_down());
	cc_node_set_down(&node, dir_fd, "reason");	/* best effort */
	cc_node_set_up(&node, dir_fd);
}

/* Each process finds out itself then, and says why. */
TEST(a_note_that_cannot_be_written_leaves_no_older_one)
{
	cc_node_set_down(&node, dir_fd, "reason");
	disk_is_full = true;
	cc_node_set_down(&node, dir_fd, "another");
	CU_ASSERT_FALSE(is_down());
}
