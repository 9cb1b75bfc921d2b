/* SPDX-License-Identifier: MIT */
/* bundle_file: what is no file is copied to one, which goes with its descriptor. */
#include "tools/bundle/bundle_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "tools/tool.h"

/* Of what comes by a pipe, so that it cannot fill a disk without end; a file may be larger. */
#define MAX_COPY (UINT64_C(16) << 30)
#define PIECE ((size_t)256 << 10)

/* read that is not interrupted; -1 with errno. */
static ssize_t read_some(int fd, void *data, size_t len)
{
	ssize_t got;

	do {
		got = read(fd, data, len);
	} while (got < 0 && errno == EINTR);
	return got;
}

/* The number of bytes copied; NULL in *ret_problem, or why not. */
static uint64_t copy_all(int from, int to, const char **ret_problem)
{
	static char piece[PIECE];
	uint64_t size = 0;
	ssize_t got = 0;

	*ret_problem = NULL;
	while (!*ret_problem && (got = read_some(from, piece, PIECE)) > 0) {
		enum cmn_status status = cmn_file_write_all(to, piece, (size_t)got);

		size += (uint64_t)got;
		if (status != CMN_OK)
			*ret_problem = cmn_status_string(status);
		else if (size > MAX_COPY)
			*ret_problem = "over 16 GiB: import it from a file";
	}
	if (got < 0)
		*ret_problem = strerror(errno);
	return size;
}

/* In the place of fd, which is closed unless it is standard input. false: complained about. */
static bool copy_input(const char *file, int *fd, uint64_t *ret_size)
{
	const char *parent = getenv("TMPDIR");
	int copy = cmn_file_make_nameless(parent && *parent ? parent : "/tmp");
	const char *problem = copy < 0 ? strerror(errno) : NULL;

	if (problem) {
		tool_complain("cannot create a temporary file: %s", problem);
		return false;
	}
	*ret_size = copy_all(*fd, copy, &problem);
	if (problem) {
		tool_complain("%s, copied to a temporary file: %s", file, problem);
		(void)close(copy);	/* nameless: it goes with the descriptor */
		return false;
	}
	if (*fd != STDIN_FILENO)
		(void)close(*fd);	/* read only */
	*fd = copy;
	return true;
}

int bundle_file_open(const char *file, uint64_t *ret_size)
{
	bool is_input = strcmp(file, "-") == 0;
	/* Not waiting for a FIFO's writer. */
	int fd = is_input ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat info;

	if (fd < 0 || fstat(fd, &info) < 0) {
		tool_complain("%s: %s", file, strerror(errno));
		goto out;
	}
	/* What a shell has for "<(command)" is open already, and has a writer; a device has no end. */
	if (!S_ISREG(info.st_mode) && !S_ISSOCK(info.st_mode) && !S_ISFIFO(info.st_mode)) {
		tool_complain("%s: it is neither a file nor a pipe", file);
		goto out;
	}
	if (!is_input && S_ISFIFO(info.st_mode) && strncmp(file, "/dev/fd/", 8) != 0) {
		tool_complain("%s: it is a FIFO (- is standard input)", file);
		goto out;
	}
	if (!is_input)
		(void)fcntl(fd, F_SETFL, O_RDONLY);	/* a pipe is waited for */
	if (is_input || !S_ISREG(info.st_mode)) {
		if (copy_input(file, &fd, ret_size))
			return fd;
		goto out;
	}
	*ret_size = (uint64_t)info.st_size;
	return fd;
out:
	if (fd > STDIN_FILENO)
		(void)close(fd);	/* read only */
	return -1;
}
