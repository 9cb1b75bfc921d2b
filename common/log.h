/* SPDX-License-Identifier: MIT */
/*
 * log: where messages go. Libraries hold a pointer to a log that their owner
 * gives them and never write to stderr themselves. A NULL log swallows all.
 * Thread-safe: one message is one write, which never waits: what stderr has no
 * room for is lost. Numbers are as in C's locale, whatever the application's is.
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#include <stdatomic.h>

enum cmn_log_level {
	CMN_LOG_NONE = 0,
	CMN_LOG_ERROR = 1,
	CMN_LOG_WARNING = 2,
	CMN_LOG_INFO = 3,
	CMN_LOG_DEBUG = 4,
};

struct cmn_log {
	enum cmn_log_level level;	/* messages above it are dropped */
	/* Gets one message without a newline; called from any thread. NULL: cmn_log_take_stderr's. */
	void (*sink)(void *ctx, enum cmn_log_level level, const char *message);
	void *ctx;
};

/*
 * What stderr is now gets the messages, as long as it is that: not what the application puts in its
 * place. Nor does a file that is open for reading too, as no shell leaves it: it is the application's,
 * which has closed stderr. Called when this library is loaded.
 */
void cmn_log_take_stderr(void) __attribute__((constructor));

void cmn_log_write(const struct cmn_log *log, enum cmn_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Writes only the first time that *flag is false, for messages that would otherwise repeat. */
void cmn_log_once(const struct cmn_log *log, atomic_flag *flag, enum cmn_log_level level,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
