/* SPDX-License-Identifier: MIT */
/* confine: two mechanisms of the kernel, by their system calls: the C library has none of them. */
#include "tools/worker/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* landlock(7), linux/landlock.h: headers may be older than the kernel. The numbers are those of all architectures. */
#define CREATE_RULESET 444
#define ADD_RULE 445
#define RESTRICT_SELF 446
#define ASK_VERSION 1
#define PATH_BENEATH 1
enum {
	MAY_EXECUTE = 1 << 0, MAY_WRITE = 1 << 1, MAY_READ = 1 << 2, MAY_LIST = 1 << 3,
	MAY_REMOVE = 3 << 4,
	MAY_MAKE = 1 << 7 | 1 << 8 | 1 << 12,	/* directories, files and links */
	ALL_OF_1 = (1 << 13) - 1,
	MAY_MOVE = 1 << 13,			/* from version 2 on */
	MAY_TRUNCATE = 1 << 14,			/* 3 */
	MAY_CONTROL = 1 << 15,			/* 5: ioctl of devices */
	OF_FILES = MAY_EXECUTE | MAY_WRITE | MAY_READ | MAY_TRUNCATE | MAY_CONTROL,
	READS = MAY_EXECUTE | MAY_READ | MAY_LIST,
	WRITES = MAY_READ | MAY_LIST | MAY_WRITE | MAY_REMOVE | MAY_MAKE | MAY_MOVE | MAY_TRUNCATE,
	DEVICES = MAY_READ | MAY_LIST | MAY_WRITE | MAY_CONTROL,
	ALL_OF_TCP = 3,				/* 4: to bind and to connect */
	ALL_OF_SCOPES = 3,			/* 6: abstract sockets and signals */
};
struct ruleset {
	uint64_t fs, net, scoped;
};
struct path_rule {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

/*
 * Where compilers, drivers and their files are, and what tells them of the machine. Nothing of
 * users': of /etc only what has no secrets, of /proc no other process.
 */
static const char *const system_files[] = {
	"/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/app", "/snap", "/nix/store", "/gnu/store",
	"/run/opengl-driver", "/run/current-system/sw",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/ld.so.preload", "/etc/alternatives",
	"/etc/OpenCL", "/etc/level-zero", "/etc/pocl", "/etc/drirc", "/etc/vulkan", "/etc/nvidia", "/etc/localtime",
	"/etc/locale.alias", "/etc/nsswitch.conf", "/etc/passwd", "/etc/group", "/etc/os-release", "/etc/debian_version",
	"/sys", "/run/udev/data", "/proc/self/exe", "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat",
	"/proc/devices", "/proc/filesystems", "/proc/version", "/proc/modules", "/proc/sys", "/proc/driver",
};
static const char *const devices[] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/dri", "/dev/kfd",
	"/dev/accel", "/dev/nvidia*", "/dev/nvidia-caps", "/dev/dxg", "/dev/mali*",
};

/* Denied with EPERM, whatever the arguments. */
static const int denied[] = {
	/* Other machines, and services of this one: D-Bus would start programs for it. */
	SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen, SYS_accept4,
#ifdef SYS_accept
	SYS_accept,
#endif
#ifdef SYS_socketcall
	SYS_socketcall,
#endif
	425,	/* io_uring_setup: its requests pass by this filter */
	/* Landlock has no rule for these, and before its version 3 none for the last. */
#ifdef SYS_chmod
	SYS_chmod, SYS_chown, SYS_lchown,
#endif
	SYS_fchmodat, 452 /* fchmodat2 */, SYS_fchownat, SYS_setxattr, SYS_lsetxattr, SYS_removexattr,
	SYS_lremovexattr, 463 /* setxattrat */, 466 /* removexattrat */, SYS_truncate,
#ifdef SYS_truncate64
	SYS_truncate64,
#endif
	/* It stays where it is found and ended, and is itself. */
	SYS_setsid, SYS_setpgid, SYS_unshare, SYS_setns, SYS_ptrace, SYS_process_vm_readv,
	SYS_process_vm_writev, 438 /* pidfd_getfd */, SYS_add_key, SYS_request_key, SYS_keyctl, SYS_bpf,
	SYS_perf_event_open, SYS_mount,
};
/* Before version 6 of Landlock: signals to whomever. */
static const int denied_signals[] = {
	SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo, 424, /* pidfd_send_signal */
};
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#if defined(__x86_64__) && !defined(__ILP32__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__i386__)
#define ARCHITECTURE AUDIT_ARCH_I386
#elif defined(__aarch64__) && !defined(__ILP32__) && defined(__AARCH64EL__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined(__arm__) && defined(__ARMEL__)
#define ARCHITECTURE AUDIT_ARCH_ARM
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && defined(__LITTLE_ENDIAN__)
#define ARCHITECTURE AUDIT_ARCH_PPC64LE
#elif defined(__s390x__)
#define ARCHITECTURE AUDIT_ARCH_S390X
#elif defined(__loongarch64)
#define ARCHITECTURE AUDIT_ARCH_LOONGARCH64
#else
#define ARCHITECTURE 0	/* which no process has: it cannot be confined there */
#endif
#define X32 0x40000000u		/* a second table of system calls, on x86-64 alone */

enum {
	LARGEST_FILE = 1 << 30,	/* bytes */
	MORE_THREADS = 1024,	/* than the machine has now, with processes */
};

void confine_release(struct confine *confine)
{
	cmn_buffer_release(&confine->reads);
	cmn_buffer_release(&confine->writes);
}

/* Of Landlock; not above 0: there is none. */
static int version(void)
{
	return (int)syscall(CREATE_RULESET, NULL, (size_t)0, ASK_VERSION);
}

bool confine_is_possible(void)
{
	return ARCHITECTURE && version() > 0;
}

static bool allow(int ruleset, uint64_t handled, const char *path, uint64_t access)
{
	struct path_rule rule = { .fd = open(path, O_PATH | O_CLOEXEC) };
	struct stat info;
	bool done;

	if (rule.fd < 0)
		return true;	/* it is not there, and nothing is lost */
	rule.allowed = access & handled;
	if (fstat(rule.fd, &info) < 0 || !S_ISDIR(info.st_mode))
		rule.allowed &= OF_FILES;
	done = !rule.allowed || syscall(ADD_RULE, ruleset, PATH_BENEATH, &rule, 0) == 0;
	(void)close(rule.fd);	/* only a name */
	return done;
}

static bool allow_paths(int ruleset, uint64_t handled, const struct cmn_buffer *paths, uint64_t access)
{
	const char *path = (const char *)paths->data;
	const char *end = path ? path + paths->len : NULL;
	bool done = !paths->failed;

	for (; done && path != end; path += strlen(path) + 1)
		done = allow(ruleset, handled, path, access);
	return done;
}

static bool allow_devices(int ruleset, uint64_t handled)
{
	glob_t found = { 0 };
	bool done = true;

	for (size_t i = 0; i < COUNT(devices); i++)
		(void)glob(devices[i], i ? GLOB_APPEND : 0, NULL, &found);	/* those that are there */
	for (size_t i = 0; done && i < found.gl_pathc; i++)
		done = allow(ruleset, handled, found.gl_pathv[i], DEVICES);
	globfree(&found);
	return done;
}

static bool keep_to_files(const struct confine *confine, int abi)
{
	/* A kernel that knows less takes a longer structure if what it does not know is zero. */
	struct ruleset rules = {
		.fs = ALL_OF_1 | (abi >= 2 ? MAY_MOVE : 0) | (abi >= 3 ? MAY_TRUNCATE : 0) |
		      (abi >= 5 ? MAY_CONTROL : 0),
		.net = abi >= 4 ? ALL_OF_TCP : 0,
		.scoped = abi >= 6 ? ALL_OF_SCOPES : 0,
	};
	int ruleset = (int)syscall(CREATE_RULESET, &rules, sizeof(rules), 0);
	bool done = ruleset >= 0;

	for (size_t i = 0; done && i < COUNT(system_files); i++)
		done = allow(ruleset, rules.fs, system_files[i], READS);
	done = done && allow_devices(ruleset, rules.fs) &&
	       allow_paths(ruleset, rules.fs, &confine->reads, READS) &&
	       allow_paths(ruleset, rules.fs, &confine->writes, WRITES) &&
	       syscall(RESTRICT_SELF, ruleset, 0) == 0;
	if (ruleset >= 0)
		(void)close(ruleset);	/* the process has it now */
	return done;
}

static void deny(struct sock_filter *program, size_t *count, const int *calls, size_t call_count)
{
	for (size_t i = 0; i < call_count; i++) {
		program[(*count)++] = (struct sock_filter)
			BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)calls[i], 0, 1);
		program[(*count)++] = (struct sock_filter)
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	}
}

static bool filter_calls(int abi)
{
	const uint32_t unknown = SECCOMP_RET_ERRNO | ENOSYS;
	struct sock_filter program[8 + 2 * (COUNT(denied) + COUNT(denied_signals))] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, unknown),	/* other numbers mean other calls */
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, unknown),
	};
	size_t count = 6;
	struct sock_fprog filter = { .filter = program };

	deny(program, &count, denied, COUNT(denied));
	if (abi < 6)
		deny(program, &count, denied_signals, COUNT(denied_signals));
	program[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	filter.len = (unsigned short)count;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static bool lower_limit(int resource, rlim_t most)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) < 0)
		return false;
	limit.rlim_cur = limit.rlim_cur < most ? limit.rlim_cur : most;
	limit.rlim_max = limit.rlim_max < most ? limit.rlim_max : most;
	return setrlimit(resource, &limit) == 0;
}

/* As many processes and threads as there are on the machine, and some more; the user's own count. */
static bool limit_processes(void)
{
	char text[256] = "";
	FILE *file = fopen("/proc/loadavg", "re");
	unsigned long total = 0;
	const char *slash;

	/* proc(5): three loads, then running/total. */
	if (file) {
		slash = fgets(text, sizeof(text), file) ? strchr(text, '/') : NULL;
		total = slash ? strtoul(slash + 1, NULL, 10) : 0;
		(void)fclose(file);	/* read only */
	}
	return lower_limit(RLIMIT_NPROC, (total ? total : 4096) + MORE_THREADS);
}

/* Root is to be no more than the owner of its files, also after it executes something: no_new_privs. */
static bool drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	return syscall(SYS_capset, &header, none) == 0;
}

bool confine_enter(const struct confine *confine)
{
	int abi = confine->any_file ? 0 : version();

	return ARCHITECTURE && limit_processes() && lower_limit(RLIMIT_FSIZE, LARGEST_FILE) &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && drop_capabilities() &&
	       (confine->any_file || keep_to_files(confine, abi)) && filter_calls(abi);
}
