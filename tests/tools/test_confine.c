/* SPDX-License-Identifier: MIT */
/* confine: what a process may no longer do that has a stranger's program compiled, with Landlock and without. */
#include "tools/worker/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/unit.h"

static char inside[4096], outside[4096], file[4200];	/* file: outside, with content */

/* As on a kernel without Landlock, for this process and its children. */
static void lose_landlock(void)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 444, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = 4, .filter = program };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
		_exit(100);
}

/* The exit code of what runs in a child. */
static int in_child(int (*run)(void))
{
	int state = -1;
	pid_t child = fork();

	if (child == 0)
		_exit(run());
	return waitpid(child, &state, 0) == child && WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

static bool enter(bool any_file)
{
	struct confine confine = { .any_file = any_file };
	bool done;

	cmn_buffer_append(&confine.writes, inside, strlen(inside) + 1);
	cmn_buffer_append(&confine.reads, "/not/there", sizeof("/not/there"));
	done = confine_enter(&confine);
	confine_release(&confine);
	return done;
}

static const char *path_of(const char *directory, const char *name)
{
	static char paths[4][4300];
	static unsigned int next;
	char *path = paths[next++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", directory, name);
	return path;
}

static bool opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	if (fd >= 0)
		(void)close(fd);
	return fd >= 0;
}

/* Each is one step that goes wrong; its number is the exit code. */
#define MUST(step) do { if (!(step)) return __LINE__ % 200 + 1; } while (0)

static int write_files(void)
{
	MUST(enter(false));
	MUST(opens(path_of(inside, "a"), O_WRONLY | O_CREAT));
	MUST(mkdir(path_of(inside, "d"), 0700) == 0 && symlink("a", path_of(inside, "l")) == 0);
	MUST(rename(path_of(inside, "a"), path_of(inside, "d/b")) == 0);
	MUST(opens(path_of(inside, "d/b"), O_RDWR | O_TRUNC) && unlink(path_of(inside, "d/b")) == 0);
	MUST(!opens(path_of(outside, "a"), O_WRONLY | O_CREAT));
	MUST(!opens(file, O_WRONLY) && !opens(file, O_WRONLY | O_TRUNC) && !opens(file, O_RDWR | O_APPEND));
	MUST(symlink(file, path_of(inside, "l2")) == 0 && !opens(path_of(inside, "l2"), O_WRONLY));
	MUST(mkdir(path_of(outside, "d"), 0700) < 0 && symlink("a", path_of(outside, "l")) < 0);
	MUST(unlink(file) < 0 && rename(file, path_of(inside, "f")) < 0 && link(file, path_of(inside, "f")) < 0);
	MUST(truncate(file, 0) < 0 && chmod(file, 0777) < 0 && chown(file, getuid(), getgid()) < 0);
	MUST(mkfifo(path_of(inside, "p"), 0600) < 0 && !opens("/dev/shm/ckcache-test", O_WRONLY | O_CREAT));
	return 0;
}

static int read_files(void)
{
	const char *home = getenv("HOME");
	char environ_of_parent[64];

	(void)snprintf(environ_of_parent, sizeof(environ_of_parent), "/proc/%d/environ", (int)getppid());
	MUST(opens(file, O_RDONLY) && opens("/etc/hostname", O_RDONLY));
	MUST(enter(false));
	MUST(!opens(file, O_RDONLY) && !opens(outside, O_RDONLY | O_DIRECTORY));
	MUST(!opens("/etc/hostname", O_RDONLY) && !opens(environ_of_parent, O_RDONLY));
	MUST(!opens("/etc/shadow", O_RDONLY) && !opens("/proc/kcore", O_RDONLY));
	MUST(!home || strcmp(home, "/") == 0 || !opens(home, O_RDONLY | O_DIRECTORY));
	MUST(opens("/proc/self/maps", O_RDONLY) && opens("/usr/lib", O_RDONLY | O_DIRECTORY));
	MUST(opens("/dev/null", O_RDWR) && opens("/dev/urandom", O_RDONLY));
	return 0;
}

static int reach_others(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	int pair[2], other[2], udp = socket(AF_INET, SOCK_DGRAM, 0);

	MUST(udp >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);
	MUST(kill(getppid(), 0) == 0);
	MUST(enter(false));
	MUST(socket(AF_INET, SOCK_STREAM, 0) < 0 && socket(AF_UNIX, SOCK_STREAM, 0) < 0);
	MUST(connect(udp, (struct sockaddr *)&address, sizeof(address)) < 0);
	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, other) < 0 && errno == EPERM);
	MUST(syscall(425, 8, NULL) < 0 && errno == EPERM);	/* io_uring_setup */
	MUST(kill(getppid(), 0) < 0 && setsid() < 0 && errno == EPERM);
	MUST(write(pair[0], "x", 1) == 1);	/* what it was given it has */
	return 0;
}

static int run_programs(void)
{
	char *const arguments[] = {
		(char *)"sh", (char *)"-c", (char *)"! cat \"$0\" && ! echo x >\"$0\" && ! kill -0 $PPID", file, NULL,
	};

	MUST(enter(false));
	(void)execv("/bin/sh", arguments);
	return 1;
}

/* How many processes and threads the machine has, as the last of proc(5)'s loadavg tells; 0: it is not known. */
static rlim_t count_processes(void)
{
	unsigned long all = 0;
	FILE *loads = fopen("/proc/loadavg", "re");

	if (loads && fscanf(loads, "%*f %*f %*f %*u/%lu", &all) != 1)
		all = 0;
	if (loads)
		(void)fclose(loads);	/* read only */
	return all;
}

static int be_limited(void)
{
	struct rlimit size, before, processes;
	rlim_t there = count_processes();

	MUST(getrlimit(RLIMIT_NPROC, &before) == 0);
	MUST(enter(false));
	MUST(getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_max <= 1 << 30);
	MUST(getrlimit(RLIMIT_NPROC, &processes) == 0 && processes.rlim_max != RLIM_INFINITY);
	/* More than there are, some of which may have ended meanwhile. */
	MUST(processes.rlim_max == before.rlim_max || processes.rlim_max >= there / 2 + 1024);
	MUST(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	MUST(getuid() || setuid(65534) < 0);	/* root is no more than the owner of its files */
	return 0;
}

static int lack_landlock(void)
{
	lose_landlock();
	MUST(!confine_is_possible());
	MUST(!enter(false));
	return 0;
}

static int lack_landlock_on_purpose(void)
{
	lose_landlock();
	MUST(enter(true));
	MUST(opens(file, O_RDWR));
	MUST(socket(AF_INET, SOCK_STREAM, 0) < 0 && socket(AF_UNIX, SOCK_STREAM, 0) < 0);
	MUST(kill(getppid(), SIGKILL) < 0 && chmod(file, 0777) < 0 && setsid() < 0);
	return 0;
}

BEFORE_EACH
{
	(void)snprintf(inside, sizeof(inside), "%s/inside", unit_dir());
	(void)snprintf(outside, sizeof(outside), "%s/outside", unit_dir());
	(void)snprintf(file, sizeof(file), "%s/private", outside);
	CU_ASSERT_EQUAL(mkdir(inside, 0700), 0);
	unit_write("outside/private", "a secret");
}

TEST_ON("landlock", it_writes_only_where_it_is_told)
{
	CU_ASSERT_EQUAL(in_child(write_files), 0);
}

TEST_ON("landlock", it_reads_nothing_of_users)
{
	CU_ASSERT_EQUAL(in_child(read_files), 0);
}

TEST_ON("landlock", it_reaches_neither_machines_nor_processes)
{
	CU_ASSERT_EQUAL(in_child(reach_others), 0);
}

TEST_ON("landlock", what_it_starts_is_confined)
{
	CU_ASSERT_EQUAL(in_child(run_programs), 0);
}

TEST_ON("landlock", it_is_limited)
{
	CU_ASSERT_EQUAL(in_child(be_limited), 0);
}

TEST(without_landlock_it_does_not_begin)
{
	CU_ASSERT_EQUAL(in_child(lack_landlock), 0);
}

TEST(for_any_file_it_still_reaches_nobody)
{
	CU_ASSERT_EQUAL(in_child(lack_landlock_on_purpose), 0);
}

int main(void)
{
	return unit_run(confine_is_possible() ? "landlock" : "no landlock");
}
