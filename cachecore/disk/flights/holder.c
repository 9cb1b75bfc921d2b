/* SPDX-License-Identifier: MIT */
/* holder: one line of four numbers, and /proc. */
#include "cachecore/disk/flights/holder.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/descriptor.h"
#include "common/file.h"

#define MAX_LINE 84		/* four numbers of twenty digits */
#define MAX_STAT 1024		/* 52 numbers and a name of 64 bytes at most */

/* Of /proc/<pid>/stat. */
struct process {
	char state;
	uint64_t threads, start, ticks;
};

/* proc(5): the name is in brackets and may hold anything; fields count from one, the state is the third. */
static bool parse_stat(const char *text, struct process *ret)
{
	const char *at = strrchr(text, ')');
	uint64_t value = 0;
	char *end;

	if (!at || at[1] != ' ' || !at[2] || at[3] != ' ')
		return false;
	*ret = (struct process){ .state = at[2] };
	at += 3;
	for (int field = 4; field <= 22; field++) {
		value = strtoull(at, &end, 10);	/* some that are not looked at may be negative */
		if (end == at)
			return false;
		at = end;
		if (field == 14 || field == 15)
			ret->ticks += value;	/* in user and in kernel mode */
		if (field == 20)
			ret->threads = value;
	}
	ret->start = value;
	return true;
}

static bool read_stat_file(const char *path, struct process *ret)
{
	char text[MAX_STAT];
	ssize_t got;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return false;
	got = read(fd, text, sizeof(text) - 1);
	(void)close(fd);	/* read only */
	if (got <= 0)
		return false;
	text[got] = '\0';
	return parse_stat(text, ret);
}

static bool read_stat(uint64_t pid, struct process *ret)
{
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/stat", pid);	/* it fits */
	return read_stat_file(path, ret);
}

bool cc_holder_thread_runs(pid_t thread)
{
	struct process process;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);	/* it fits */
	return read_stat_file(path, &process) && process.state == 'R';
}

static bool read_space(const char *path, uint64_t *ret)
{
	struct stat info;

	if (stat(path, &info) < 0)
		return false;
	*ret = info.st_ino;
	return true;
}

struct cc_holder cc_holder_self(void)
{
	struct cc_holder self = { .pid = (uint64_t)getpid() };
	uint64_t pids, time = 0;
	struct process process;
	char number[24] = "";

	/* It may be mounted for another namespace's numbers. */
	if (readlink("/proc/self", number, sizeof(number) - 1) < 0 ||
	    strtoull(number, NULL, 10) != self.pid || !read_stat(self.pid, &process) ||
	    !read_space("/proc/self/ns/pid", &pids))
		return (struct cc_holder){ 0 };
	(void)read_space("/proc/self/ns/time", &time);	/* kernels before 5.6 have one for all */
	self.start = process.start;
	self.space = pids << 32 ^ time;
	return self;
}

void cc_holder_note(int fd, const struct cc_holder *self)
{
	char line[MAX_LINE + 1];
	int len = snprintf(line, sizeof(line), "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n",
			   self->pid, self->start, self->space, self->beat);

	/* A number that the application gave to a file of its own is that file. */
	if (cmn_descriptor_is_ours(fd))
		(void)!cmn_file_write_at(fd, line, (size_t)len, 0);
}

static bool read_line(int fd, struct cc_holder *ret)
{
	uint64_t *const numbers[] = { &ret->pid, &ret->start, &ret->space, &ret->beat };
	char line[MAX_LINE + 1], *at = line;
	ssize_t got = pread(fd, line, MAX_LINE, 0);

	if (got <= 0)
		return false;
	line[got] = '\0';
	if (!strchr(line, '\n'))
		return false;
	for (size_t i = 0; i < 4; i++) {
		char *end;

		*numbers[i] = strtoull(at, &end, 10);
		if (end == at)
			return false;
		at = end;
	}
	return *at == '\n';
}

static bool is_empty(int fd)
{
	struct stat info;

	return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 0;
}

static bool is_gone(uint64_t pid)
{
	/* It may be hidden: /proc can be told to show a user's own only. */
	return pid > 0 && pid <= INT32_MAX && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

enum cc_holder_state cc_holder_look(int fd, const struct cc_holder *self, struct cc_holder *ret)
{
	struct process process;

	*ret = (struct cc_holder){ 0 };
	if (is_empty(fd))
		return CC_HOLDER_UNSIGNED;
	if (!read_line(fd, ret)) {
		*ret = (struct cc_holder){ 0 };
		return CC_HOLDER_UNKNOWN;
	}
	if (!self->pid || !ret->pid || ret->space != self->space)
		return CC_HOLDER_UNSEEN;
	if (!read_stat(ret->pid, &process))
		return is_gone(ret->pid) ? CC_HOLDER_GONE : CC_HOLDER_UNKNOWN;
	if (process.start != ret->start)
		return CC_HOLDER_GONE;
	ret->ticks = process.ticks;
	switch (process.state) {
	case 'T':
	case 't':
		return CC_HOLDER_STOPPED;
	case 'X':
	case 'x':
		return CC_HOLDER_GONE;
	case 'Z':
		/* Its first thread may have ended before the others. */
		return process.threads <= 1 ? CC_HOLDER_GONE : CC_HOLDER_UNKNOWN;
	default:
		return CC_HOLDER_UNKNOWN;
	}
}
