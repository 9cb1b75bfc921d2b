/* SPDX-License-Identifier: MIT */
/*
 * log: where messages go. Libraries hold a pointer to a log that their owner
 * gives them and never write to stderr themselves. A NULL log swallows all.
 * Thread-safe: one message is one write.
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
	/* Gets one message without a newline; called from any thread. NULL: stderr. */
	void (*sink)(void *ctx, enum cmn_log_level level, const char *message);
	void *ctx;
};

void cmn_log_write(const struct cmn_log *log, enum cmn_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Writes only the first time that *flag is false, for messages that would otherwise repeat. */
void cmn_log_once(const struct cmn_log *log, atomic_flag *flag, enum cmn_log_level level,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
