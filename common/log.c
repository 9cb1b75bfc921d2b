/* SPDX-License-Identifier: MIT */
/* log: formats a message and hands it to its sink. */
#include "common/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "common/file.h"
#include "common/printable.h"

/* Longer messages are cut: they are for people. */
#define MESSAGE_SIZE 1024

static void write_stderr(const char *message)
{
	char line[MESSAGE_SIZE + 16];
	int len = snprintf(line, sizeof(line), "ckcache: %s\n", message);

	/* One write, so that lines of several processes do not mix; nobody to tell on failure. */
	if (len > 0 && cmn_file_write(STDERR_FILENO, line, (size_t)len) < 0)
		return;
}

static void write_message(const struct cmn_log *log, enum cmn_log_level level, const char *format,
			  va_list args)
{
	char message[MESSAGE_SIZE];

	if (!log || level > log->level)
		return;
	(void)vsnprintf(message, sizeof(message), format, args);
	/* One line, in which names of files and kernels are no commands for a terminal. */
	cmn_printable_clean(message, '?');
	if (log->sink)
		log->sink(log->ctx, level, message);
	else
		write_stderr(message);
}

void cmn_log_write(const struct cmn_log *log, enum cmn_log_level level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	write_message(log, level, format, args);
	va_end(args);
}

void cmn_log_once(const struct cmn_log *log, atomic_flag *flag, enum cmn_log_level level,
		  const char *format, ...)
{
	va_list args;

	if (atomic_flag_test_and_set(flag))
		return;
	va_start(args, format);
	write_message(log, level, format, args);
	va_end(args);
}
