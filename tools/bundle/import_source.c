/* SPDX-License-Identifier: MIT */
/* import_source: opens or copies a bundle, and reads it twice. */
#include "tools/bundle/import_source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "tools/terminal.h"
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
	char *piece = malloc(PIECE);
	uint64_t size = 0;
	ssize_t got = 0;

	*ret_problem = piece ? NULL : "out of memory";
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
	free(piece);
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

bool import_source_open(const char *file, struct import_source *ret)
{
	bool is_input = strcmp(file, "-") == 0;
	/* Not waiting for a FIFO's writer. */
	int fd = is_input ? STDIN_FILENO : open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct signature_digest *digest = NULL;
	uint64_t size = 0;
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
	if (!is_input && S_ISREG(info.st_mode))
		size = (uint64_t)info.st_size;
	else if (!copy_input(file, &fd, &size))
		goto out;
	digest = signature_digest_new();
	if (digest) {
		*ret = (struct import_source){
			.file = file, .fd = fd, .size = size, .digest = digest
		};
		return true;
	}
out:
	if (fd > STDIN_FILENO)
		(void)close(fd);	/* read only */
	return false;
}

void import_source_close(struct import_source *source)
{
	if (source->fd > STDIN_FILENO)
		(void)close(source->fd);	/* read only */
	signature_digest_free(source->digest);
	free(source->digests);
}

/* cc_bundle_read_fn */
static enum cmn_status read_exactly(void *ctx, void *data, size_t len)
{
	struct import_source *source = ctx;
	uint8_t *at = data;

	for (size_t left = len; left;) {
		ssize_t got = pread(source->fd, at, left, (off_t)source->at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return cmn_status_from_errno(errno);
		if (got == 0)
			return CMN_ERR_CORRUPT;
		at += got;
		left -= (size_t)got;
		source->at += (uint64_t)got;
	}
	return signature_digest_update(source->digest, data, len);
}

static enum cmn_status keep_digest(struct import_source *source)
{
	void *digests = cmn_array_grow(source->digests, source->count, sizeof(*source->digests));

	if (!digests)
		return CMN_ERR_NOMEM;
	source->digests = digests;
	return signature_digest_get(source->digest, source->digests[source->count++]);
}

static enum cmn_status examine_entries(struct import_source *source, struct import_seal *seal)
{
	struct cmn_buffer src = { 0 }, bin = { 0 };
	enum cmn_status status;

	status = cc_bundle_reader_begin(&source->reader, source->size, read_exactly, source);
	while (status == CMN_OK) {
		terminal_progress("import, reading", source->at, source->size);
		status = cc_bundle_reader_next(&source->reader, &src, &bin);
		if (status == CMN_OK)
			status = keep_digest(source);
	}
	terminal_progress_hide();
	cmn_buffer_release(&src);
	cmn_buffer_release(&bin);
	if (status != CMN_MISS)
		return status;
	status = signature_digest_get(source->digest, seal->digest);
	if (status != CMN_OK)
		return status;
	status = cc_bundle_reader_finish(&source->reader, &seal->signature);
	seal->is_signed = status == CMN_OK;
	return status == CMN_MISS ? CMN_OK : status;
}

/* Back to the beginning, as far as behind the header. */
static enum cmn_status begin_again(struct import_source *source)
{
	signature_digest_free(source->digest);
	source->digest = signature_digest_new();
	if (!source->digest)
		return CMN_ERR_NOMEM;
	source->at = 0;
	return cc_bundle_reader_begin(&source->reader, source->size, read_exactly, source);
}

bool import_source_examine(struct import_source *source, struct import_seal *ret)
{
	struct import_seal seal = { 0 };
	enum cmn_status status = examine_entries(source, &seal);

	if (status == CMN_OK)
		status = begin_again(source);
	if (status == CMN_ERR_CORRUPT)
		tool_complain("%s: not a bundle, or a damaged or incomplete one", source->file);
	else if (status == CMN_ERR_VERSION)
		tool_complain("%s: a bundle of another format version", source->file);
	else if (status != CMN_OK)
		tool_complain("%s: %s", source->file, cmn_status_string(status));
	else
		*ret = seal;
	return status == CMN_OK;
}

enum cmn_status import_source_next(struct import_source *source, struct cmn_buffer *src,
				   struct cmn_buffer *bin)
{
	uint8_t digest[SIGNATURE_DIGEST_SIZE];
	enum cmn_status status;

	if (source->next == source->count)
		return CMN_MISS;
	status = cc_bundle_reader_next(&source->reader, src, bin);
	if (status == CMN_MISS || status == CMN_ERR_CORRUPT)
		return CMN_STALE;
	if (status == CMN_OK)
		status = signature_digest_get(source->digest, digest);
	if (status == CMN_OK && memcmp(digest, source->digests[source->next++], sizeof(digest)) != 0)
		status = CMN_STALE;
	return status;
}
