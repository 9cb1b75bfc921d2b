/* SPDX-License-Identifier: MIT */
/*
 * bundle: entries of a store in one file, to be carried to another (format version 2,
 * little-endian; docs/FORMAT.md has the reasons):
 *
 *   bundle = header value* hash[16]
 *   header = magic[8] version:u32 zero:u32
 *
 * value: cachecore/remote/value.h, each signed or not. The hash finds what accidents may
 * happen to a file; who vouches for an entry, its value says. A writer or a reader belongs
 * to one thread.
 */
#ifndef TOOLS_BUNDLE_BUNDLE_H
#define TOOLS_BUNDLE_BUNDLE_H

#include <stdint.h>

#include "cachecore/remote/value.h"
#include "common/bytes.h"
#include "common/hash.h"
#include "common/status.h"

#define BUNDLE_VERSION 2

/* What was written or read so far. */
struct bundle_state {
	struct cmn_hash chain;	/* of each piece and all before it */
	uint64_t count, bytes;	/* values; all bytes */
};

/* Writes all bytes, or says why not. */
typedef enum cmn_status (*bundle_write_fn)(void *ctx, const void *data, size_t len);

struct bundle_writer {
	bundle_write_fn write;
	void *ctx;
	struct bundle_state state;
};

/* In this order: begin, add for each entry, end. They fail as write does, or: */
CMN_CHECKED enum cmn_status bundle_writer_begin(struct bundle_writer *writer, bundle_write_fn write,
						void *ctx);
/* An entry's two files, which the caller has verified. Statuses as cc_remote_value_make has them, too. */
CMN_CHECKED enum cmn_status bundle_writer_add(struct bundle_writer *writer, struct cmn_view src,
					      struct cmn_view bin, const struct cc_signer *signer);
CMN_CHECKED enum cmn_status bundle_writer_end(struct bundle_writer *writer);

struct bundle_reader {
	int fd;			/* a regular file, read by offsets */
	uint64_t size;		/* bounds every length in it before anything is allocated */
	struct bundle_state state;
	uint8_t header[CC_SEAL_HEADER_SIZE];	/* the last value's, with its files */
	struct cmn_buffer src, bin;
};

/* Both: CMN_ERR_CORRUPT, CMN_ERR_VERSION, CMN_ERR_NOMEM, CMN_ERR_IO; reading ends there. */
CMN_CHECKED enum cmn_status bundle_reader_begin(struct bundle_reader *reader, int fd, uint64_t size);
/*
 * The next value, checked by these keys as cc_remote_value_check does it; it is
 * the reader's, valid until the next call. CMN_ERR_ACCESS: it is refused, as *ret says. CMN_MISS:
 * there are no more, and none is missing.
 */
CMN_CHECKED enum cmn_status bundle_reader_next(struct bundle_reader *reader,
					       const struct cc_trust *trust, uint64_t now,
					       struct cc_remote_value *ret);
void bundle_reader_release(struct bundle_reader *reader);	/* the file stays open */

/* A regular file, for close, and its size. file: "-" is standard input. -1: complained about. */
int bundle_file_open(const char *file, uint64_t *ret_size);

#endif
