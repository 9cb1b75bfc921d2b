/* SPDX-License-Identifier: MIT */
/* write: blocks the signals, and takes the one that the call raised. */
#include "common/write.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

/* What the thread's mask and the signals that wait for it were before. */
struct quiet {
	sigset_t mask, waiting;
	bool begun;
};

static void begin(struct quiet *quiet)
{
	sigset_t both;

	(void)sigemptyset(&both);	/* these cannot fail */
	(void)sigaddset(&both, SIGXFSZ);
	(void)sigaddset(&both, SIGPIPE);
	(void)sigemptyset(&quiet->waiting);
	quiet->begun = pthread_sigmask(SIG_BLOCK, &both, &quiet->mask) == 0;
	/* One can only wait already if the application has blocked it. */
	if (quiet->begun && (sigismember(&quiet->mask, SIGXFSZ) || sigismember(&quiet->mask, SIGPIPE)))
		(void)sigpending(&quiet->waiting);	/* arguments are right */
}

/* Leaves errno alone. */
static void end(const struct quiet *quiet, bool failed)
{
	const struct timespec at_once = { 0, 0 };
	int error = errno, raised = 0;
	sigset_t one;

	if (!quiet->begun)
		return;
	if (failed && error == EFBIG)
		raised = SIGXFSZ;
	else if (failed && error == EPIPE)
		raised = SIGPIPE;
	if (raised && !sigismember(&quiet->waiting, raised)) {
		(void)sigemptyset(&one);
		(void)sigaddset(&one, raised);
		while (sigtimedwait(&one, NULL, &at_once) < 0 && errno == EINTR)
			continue;	/* none is there if it is ignored */
	}
	(void)pthread_sigmask(SIG_SETMASK, &quiet->mask, NULL);	/* arguments are right */
	errno = error;
}

ssize_t cmn_write(int fd, const void *data, size_t len)
{
	struct quiet quiet;
	ssize_t put;

	begin(&quiet);
	put = write(fd, data, len);
	end(&quiet, put < 0);
	return put;
}

ssize_t cmn_write_at(int fd, const void *data, size_t len, off_t at)
{
	struct quiet quiet;
	ssize_t put;

	begin(&quiet);
	put = pwrite(fd, data, len, at);
	end(&quiet, put < 0);
	return put;
}
