/* SPDX-License-Identifier: MIT */
/* priority: what the kernel offers for work that nobody waits for. */
#include "tools/replay/priority.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Of ioprio_set(2), which the C library does not have. */
#define THIS_PROCESS 1
#define IDLE_CLASS (3 << 13)

void priority_lower(void)
{
	const struct sched_param none = { 0 };
	int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (score >= 0) {
		(void)!write(score, "1000", 4);
		(void)close(score);
	}
	(void)setpriority(PRIO_PROCESS, 0, 19);
	(void)sched_setscheduler(0, SCHED_IDLE, &none);
	(void)syscall(SYS_ioprio_set, THIS_PROCESS, 0, IDLE_CLASS);
}

void priority_lower_session(void)
{
	/* Without privileges one process of the machine in 0.1 s may do this; not all start at once. */
	const struct timespec moment = { .tv_nsec = 110000000 };
	/* The kernel shares processors among sessions first: sched(7), "The autogroup feature". */
	int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);

	for (unsigned int i = 0; fd >= 0 && i < 4 && write(fd, "19", 2) < 0 && errno == EAGAIN; i++)
		(void)nanosleep(&moment, NULL);
	if (fd >= 0)
		(void)close(fd);	/* it was done, or cannot be */
}
