/* SPDX-License-Identifier: MIT */
/* worker: processor time, states and children, as proc(5) has them. */
#include "common/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/listing.h"

/* A compiler that works uses processor time in this, even on a busy machine. */
#define QUIET_NS UINT64_C(900000000)
/* A driver starts a compiler driver, that a shell or a linker, and that another one. */
#define MAX_GENERATIONS 4

/* What /proc shows of a process, as far as it fits. */
__attribute__((format(printf, 3, 4)))
static bool read_proc(char *text, size_t size, const char *format, ...)
{
	char path[64];
	ssize_t len = -1;
	va_list args;
	int fd;

	va_start(args, format);
	(void)vsnprintf(path, sizeof(path), format, args);	/* it fits */
	va_end(args);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0) {
		len = read(fd, text, size - 1);
		(void)close(fd);	/* read only */
	}
	text[len > 0 ? len : 0] = '\0';
	return len > 0;
}

/* proc(5): the name is in brackets and may hold anything; fields count from one, the state is the third. */
bool cmn_worker_stat(const struct cmn_worker *worker, char *ret_state, uint64_t *ret_ticks)
{
	char text[1024], *at = NULL;

	if (worker->thread ? read_proc(text, sizeof(text), "/proc/%d/task/%d/stat", (int)worker->process, (int)worker->thread) :
			    read_proc(text, sizeof(text), "/proc/%d/stat", (int)worker->process))
		at = strrchr(text, ')');
	if (!at || strlen(at) < 4)
		return false;
	*ret_state = at[2];
	*ret_ticks = 0;
	at += 3;
	for (int field = 4; field <= 17; field++) {
		uint64_t value = strtoull(at, &at, 10);	/* some that are not looked at may be negative */

		/* In user and in kernel mode, and that of children that have ended. */
		*ret_ticks += field >= 14 ? value : 0;
	}
	return true;
}

/* true: it, or a child, is seen to run, or it is not seen at all. Who is stopped does not wait for children. */
static bool add_ticks(const struct cmn_worker *worker, int generation, uint64_t *ticks)
{
	char path[32], children[1024], state, *at, *end;
	const struct dirent64 *thread;
	struct cmn_listing listing = { 0 };
	uint64_t own;
	bool runs;

	/* Who waits for its parent does not work for it. */
	if ((worker->process == getpid() && !worker->thread) || !cmn_worker_stat(worker, &state, &own))
		return generation == 0;
	*ticks += own;
	runs = state == 'R';
	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)worker->process);	/* it fits */
	if (runs || state == 'T' || state == 't' || generation == MAX_GENERATIONS ||
	    !cmn_listing_open(&listing, AT_FDCWD, path))
		return runs;
	while ((thread = cmn_listing_next(&listing))) {
		if ((worker->thread && strtol(thread->d_name, NULL, 10) != worker->thread) ||
		    !read_proc(children, sizeof(children), "/proc/%d/task/%.16s/children", (int)worker->process,
			       thread->d_name))
			continue;
		for (at = children; strtol(at, &end, 10) > 0; at = end) {
			const struct cmn_worker child = { .process = (pid_t)strtol(at, NULL, 10) };

			runs |= add_ticks(&child, generation + 1, ticks);
		}
	}
	cmn_listing_close(&listing);
	return runs;
}

static bool is_stopped(const struct cmn_worker *worker)
{
	uint64_t ticks;
	char state;

	return cmn_worker_stat(worker, &state, &ticks) && (state == 'T' || state == 't');
}

bool cmn_watch_is_idle(struct cmn_watch *watch, const struct cmn_worker *worker, bool waits, uint64_t now)
{
	bool same = worker->process == watch->worker.process && worker->thread == watch->worker.thread;
	bool was_gone = same && watch->gone;
	uint64_t ticks = 0;

	watch->gone = worker->thread && tgkill(worker->process, worker->thread, 0) < 0 && errno == ESRCH;
	if (watch->gone) {
		watch->worker = *worker;
		return was_gone;
	}
	same &= !was_gone;	/* another one, with its number */
	if (now < watch->next && same)
		return false;
	watch->next = now + CMN_WORKER_LOOK_NS;
	if (worker->process == 0 || add_ticks(worker, 0, &ticks) || !same || ticks != watch->ticks ||
	    (waits && !is_stopped(worker)))
		watch->changed = now;
	watch->worker = *worker;
	watch->ticks = ticks;
	return now - watch->changed >= QUIET_NS;
}
