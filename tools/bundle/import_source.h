/* SPDX-License-Identifier: MIT */
/*
 * import_source: reads a bundle twice: first to its end, so that nothing is used
 * of a bundle that was cut, damaged or made by somebody else; then entry by
 * entry. The file may change in between, so the second reading must give the same
 * digests as the first. Input that is not a regular file (standard input, a pipe)
 * is first copied to an unnamed temporary file. Needs memory for the largest
 * entry, and for one digest per entry.
 */
#ifndef TOOLS_BUNDLE_IMPORT_SOURCE_H
#define TOOLS_BUNDLE_IMPORT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cachecore/disk/bundle.h"
#include "tools/key/signature.h"

struct import_source {
	const char *file;	/* as given */
	int fd;
	uint64_t size, at;
	struct signature_digest *digest;	/* of what was read in this pass */
	uint8_t (*digests)[SIGNATURE_DIGEST_SIZE];	/* after each entry, from the first pass */
	size_t count, next;
	struct cc_bundle_reader reader;
};

struct import_seal {
	bool is_signed;
	uint8_t digest[SIGNATURE_DIGEST_SIZE];	/* of what is signed */
	struct cc_bundle_signature signature;	/* not yet checked */
};

/* file: "-" is standard input. false: complained about; there is nothing to close. */
bool import_source_open(const char *file, struct import_source *ret);
void import_source_close(struct import_source *source);
/* The first reading, to the end. false: it is no sound bundle, complained about. */
bool import_source_examine(struct import_source *source, struct import_seal *ret);
/*
 * The second: the next entry's files, as cc_bundle_reader_next. CMN_STALE: it
 * is not the file that was examined.
 */
CMN_CHECKED enum cmn_status import_source_next(struct import_source *source,
					       struct cmn_buffer *src, struct cmn_buffer *bin);

#endif
