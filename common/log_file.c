/* SPDX-License-Identifier: MIT */
/* log_file: opens, makes room, appends one line, closes. */
#include "common/log_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/file.h"
#include "common/printable.h"

#define LINE_SIZE 1280		/* a message of log.h, and what stands before it */
#define OLD ".old"
/* Others may fill a new one before this process comes to it. */
#define MAX_TRIES 3

/*
 * As gmtime_r, which takes a lock that a fork may leave held: years of 365.2425 days, which begin in
 * March, counted from the year 0.
 */
static int put_time(char *text, size_t size)
{
	uint64_t ms = cmn_clock_realtime() / UINT64_C(1000000), seconds = ms / 1000;
	uint64_t days = seconds / 86400 + 719468, era = days / 146097, day = days % 146097;
	uint64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
	uint64_t of_year = day - (365 * year + year / 4 - year / 100);
	uint64_t month = (5 * of_year + 2) / 153;

	return snprintf(text, size, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ",
			(unsigned int)(year + era * 400 + (month >= 10)),
			(unsigned int)(month < 10 ? month + 3 : month - 9),
			(unsigned int)(of_year - (153 * month + 2) / 5 + 1),
			(unsigned int)(seconds / 3600 % 24), (unsigned int)(seconds / 60 % 60),
			(unsigned int)(seconds % 60), (unsigned int)(ms % 1000));
}

/* -1 with errno. */
static int open_file(const char *path, const char **ret_reason)
{
	return cmn_file_open_to_write(AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT, 0600, CMN_FILE_TRUSTED,
				      NULL, ret_reason);
}

/* Moves a full one away. Where another process is at it, or cannot be asked, it grows a little more. */
static void rotate(const char *path, int fd)
{
	char old[PATH_MAX];

	if (cmn_file_lock(fd, 0) != CMN_OK)
		return;
	if (cmn_file_is_named(AT_FDCWD, path, fd) &&
	    (size_t)snprintf(old, sizeof(old), "%s" OLD, path) < sizeof(old) &&
	    rename(path, old) < 0)
		(void)!ftruncate(fd, 0);	/* else it grows on */
	cmn_file_unlock(fd);
}

enum cmn_status cmn_log_file_append(const char *path, const char *program, const char *message,
				    const char **ret_reason)
{
	enum cmn_status status = CMN_OK;
	char line[LINE_SIZE];
	struct stat info = { 0 };
	size_t len = (size_t)put_time(line, sizeof(line));
	bool full = true;
	int fd = -1;

	(void)snprintf(line + len, sizeof(line) - len - 1, " %.64s[%ld]: %s", program, (long)getpid(),
		       message);	/* cut, if at all */
	cmn_printable_clean(line, '?');	/* the program's name */
	len = strlen(line);
	line[len++] = '\n';
	*ret_reason = NULL;
	for (int i = 0; i < MAX_TRIES && full && status == CMN_OK; i++) {
		if (fd >= 0) {
			rotate(path, fd);
			(void)close(fd);	/* nothing was written through it */
		}
		fd = open_file(path, ret_reason);
		if (fd < 0 || fstat(fd, &info) < 0)
			status = cmn_status_from_errno(errno);
		/* Without a name: it was full, and another one took the old one's place since. */
		full = status == CMN_OK &&
		       (!info.st_nlink || (size_t)info.st_size + len > CMN_LOG_FILE_MAX);
	}
	if (status == CMN_OK && cmn_file_write(fd, line, len) < 0)
		status = cmn_status_from_errno(errno);
	if (fd >= 0)
		(void)close(fd);	/* what was not written then is lost */
	if (status != CMN_OK && !*ret_reason)
		*ret_reason = cmn_status_string(status);
	return status;
}
