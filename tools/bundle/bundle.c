/* SPDX-License-Identifier: MIT */
/*
 * bundle: the stream's writer and reader. It ends with a hash of all values in their order,
 * so that what is flipped, cut out, moved or repeated by accident is found.
 */
#include "tools/bundle/bundle.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define HEADER_SIZE 16

static const uint8_t magic[8] = { 'c', 'k', 'c', 'b', 'd', 'l', '\r', '\n' };

static void note_bytes(struct bundle_state *state, const void *data, size_t len)
{
	const struct cmn_hash both[2] = { state->chain, cmn_hash_of(data, len) };

	state->chain = cmn_hash_of(both, sizeof(both));
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
