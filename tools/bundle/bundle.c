/* SPDX-License-Identifier: MIT */
/*
 * bundle: the stream's writer and reader. It ends with a hash of all values in their order,
 * so that what is flipped, cut out, moved or repeated by accident is found. A bundle is read
 * twice, so what is no file is copied to one, which goes with its descriptor.
 */
#include "tools/bundle/bundle.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "tools/tool.h"

#define HEADER_SIZE 16

static const uint8_t magic[8] = { 'c', 'k', 'c', 'b', 'd', 'l', '\r', '\n' };

static void note_bytes(struct bundle_state *state, const void *data, size_t len)
{
	state->chain = cmn_hash_fold(state->chain, cmn_hash_of(data, len));
	state->bytes += len;
}

static void make_header(uint8_t ret[HEADER_SIZE])
{
	memcpy(ret, magic, sizeof(magic));
	memcpy(ret + 8, (const uint8_t[]){ BUNDLE_VERSION, 0, 0, 0, 0, 0, 0, 0 }, 8);
}

static enum cmn_status write_bytes(struct bundle_writer *writer, const void *data, size_t len)
{
	note_bytes(&writer->state, data, len);	/* after a failure nobody goes on */
	return writer->write(writer->ctx, data, len);
}

enum cmn_status bundle_writer_begin(struct bundle_writer *writer, bundle_write_fn write, void *ctx)
{
	uint8_t header[HEADER_SIZE];

	*writer = (struct bundle_writer){ .write = write, .ctx = ctx };
	make_header(header);
	return write_bytes(writer, header, sizeof(header));
}

enum cmn_status bundle_writer_add(struct bundle_writer *writer, struct cmn_view src,
				  struct cmn_view bin, const struct cc_signer *signer)
{
	uint8_t header[CC_SEAL_HEADER_SIZE];
	enum cmn_status status = cc_remote_value_make(src, bin, signer, header);

	if (status == CMN_OK)
		status = write_bytes(writer, header, sizeof(header));
	if (status == CMN_OK)
		status = write_bytes(writer, src.data, src.len);
	if (status == CMN_OK)
		status = write_bytes(writer, bin.data, bin.len);
	writer->state.count += status == CMN_OK;
	return status;
}

enum cmn_status bundle_writer_end(struct bundle_writer *writer)
{
	const struct cmn_hash chain = writer->state.chain;

	return write_bytes(writer, chain.bytes, sizeof(chain.bytes));
}

static enum cmn_status read_bytes(struct bundle_reader *reader, void *data, size_t len)
{
	uint64_t offset = reader->state.bytes;
	uint8_t *at = data;

	if (len > reader->size - offset)
		return CMN_ERR_CORRUPT;
	for (size_t left = len; left;) {
		ssize_t got = pread(reader->fd, at, left, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return errno == ENOMEM ? CMN_ERR_NOMEM : CMN_ERR_IO;	/* as bundle.h has it */
		if (got == 0)
			return CMN_ERR_CORRUPT;
		at += got;
		left -= (size_t)got;
		offset += (uint64_t)got;
	}
	note_bytes(&reader->state, data, len);
	return CMN_OK;
}

static enum cmn_status read_into(struct bundle_reader *reader, size_t len, struct cmn_buffer *buf)
{
	if (buf->cap < len)
		cmn_buffer_release(buf);	/* growing would copy what is not needed */
	buf->len = 0;
	if (!cmn_buffer_reserve(buf, len))
		return CMN_ERR_NOMEM;
	buf->len = len;
	return read_bytes(reader, buf->data, len);
}

enum cmn_status bundle_reader_begin(struct bundle_reader *reader, int fd, uint64_t size)
{
	uint8_t found[HEADER_SIZE], wanted[HEADER_SIZE];
	enum cmn_status status;

	*reader = (struct bundle_reader){ .fd = fd, .size = size };
	make_header(wanted);
	status = read_bytes(reader, found, sizeof(found));
	if (status != CMN_OK || memcmp(found, wanted, sizeof(found)) == 0)
		return status;
	return memcmp(found, magic, sizeof(magic)) == 0 ? CMN_ERR_VERSION : CMN_ERR_CORRUPT;
}

static enum cmn_status read_end(struct bundle_reader *reader)
{
	const struct cmn_hash wanted = reader->state.chain;
	struct cmn_hash found = { { 0 } };
	enum cmn_status status = read_bytes(reader, found.bytes, sizeof(found.bytes));

	if (status != CMN_OK)
		return status;
	return cmn_hash_equal(&found, &wanted) ? CMN_MISS : CMN_ERR_CORRUPT;
}

enum cmn_status bundle_reader_next(struct bundle_reader *reader, const struct cc_trust *trust,
				   uint64_t now, struct cc_remote_value *ret)
{
	uint8_t *header = reader->header;
	enum cmn_status status;

	if (reader->size - reader->state.bytes == CMN_HASH_SIZE)
		return read_end(reader);
	status = read_bytes(reader, header, CC_SEAL_HEADER_SIZE);
	if (status == CMN_OK)
		status = cc_remote_value_begin(header, CC_SEAL_HEADER_SIZE + reader->size -
					       reader->state.bytes, trust, now, ret);
	reader->state.count++;
	if (status == CMN_OK)
		status = read_into(reader, ret->src_len, &reader->src);
	if (status == CMN_OK)
		status = read_into(reader, ret->bin_len, &reader->bin);
	if (status != CMN_OK)
		return status;
	return cc_remote_value_finish(ret, header, cmn_buffer_view(&reader->src),
				      cmn_buffer_view(&reader->bin), now);
}

void bundle_reader_release(struct bundle_reader *reader)
{
	cmn_buffer_release(&reader->src);
	cmn_buffer_release(&reader->bin);
}

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
