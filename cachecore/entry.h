/* SPDX-License-Identifier: MIT */
/*
 * entry: the result of one build, as tagged fields (device binaries, build
 * log, …) with what it depends on and what it cost. Immutable once built,
 * shared by reference counting between the memory level, threads and the
 * background writer. The caller chooses the tags; cachecore knows only
 * CC_TAG_IMAGE, which the image-size limits count.
 *
 * The file <n>.bin that holds one on disk (format version 1, little-endian):
 *
 *   file   = header payload
 *   header = magic[8] version:u32 codec:u32 payload_len:u64 stored_len:u64
 *            build_ns:u64 key_hash[16] payload_hash[16] file_hash[16]
 *   payload= field*      (stored_len bytes in the file, payload_len decoded)
 *   field  = tag:u32 index:u32 len:u64 bytes[len]
 *
 * key_hash is the hash that the .src file carries of itself, so that a .bin
 * can never be taken for another key's. payload_hash covers every byte that a
 * driver will see; file_hash = hash(hash(header before it) hash(stored
 * payload)), so that any change of the file is noticed before anything is
 * decoded, and one pass over a raw payload checks both.
 */
#ifndef CACHECORE_ENTRY_H
#define CACHECORE_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/manifest.h"
#include "common/bytes.h"
#include "common/hash.h"
#include "common/status.h"

#define CC_ENTRY_VERSION 1
#define CC_ENTRY_HEADER_SIZE 88
/* No payload is larger, whatever a file claims. */
#define CC_ENTRY_MAX_PAYLOAD (UINT64_C(1) << 32)

enum { CC_TAG_IMAGE = 1 };	/* a device binary; index: which device. Layers use tags from 2 on. */

struct cc_entry;

/* Building: one owner, then shared. NULL: out of memory. */
struct cc_entry *cc_entry_new(uint64_t build_ns);
/* A copy of data under (tag, index), each pair once; an allocation failure shows in cc_entry_finish. */
void cc_entry_add(struct cc_entry *entry, uint32_t tag, uint32_t index, const void *data,
		  size_t len);
/* Room of len bytes for the caller to fill before finish; NULL: out of memory (shows in finish too). Valid until the next add. */
void *cc_entry_add_room(struct cc_entry *entry, uint32_t tag, uint32_t index, size_t len);
/* Something could not be added for lack of memory: cc_entry_finish will fail. */
void cc_entry_fail(struct cc_entry *entry);
/*
 * Takes the manifest (may be NULL) and freezes the entry. On failure the caller still owns the
 * entry, not the manifest. CMN_ERR_NOMEM, CMN_ERR_TOO_LARGE (over CC_ENTRY_MAX_PAYLOAD).
 */
CMN_CHECKED enum cmn_status cc_entry_finish(struct cc_entry *entry, struct cc_manifest *manifest);

/* While building: this one is never written to disk (a failure that this process remembers). */
void cc_entry_keep_in_memory(struct cc_entry *entry);
bool cc_entry_in_memory_only(const struct cc_entry *entry);
/* By its first owner: it came from the remote tier, and need not be uploaded. */
void cc_entry_set_remote(struct cc_entry *entry);
bool cc_entry_is_remote(const struct cc_entry *entry);
/* By its first owner: other machines wait for it until it is uploaded. */
void cc_entry_set_claimed(struct cc_entry *entry);
bool cc_entry_is_claimed(const struct cc_entry *entry);

/*
 * While building: the least time that the driver is known to need to load the
 * images, in nanoseconds per byte, for compression; 0 (the default): not known.
 * It is not stored: an entry that is read from disk has 0.
 */
void cc_entry_set_load_rate(struct cc_entry *entry, unsigned int ns_per_byte);

struct cc_entry *cc_entry_ref(struct cc_entry *entry);
/*
 * For a caller that no longer needs the images: a reference to a copy with the
 * other fields and the build time, without images and manifest; or to entry
 * itself if a copy would save nothing or there is no memory.
 */
struct cc_entry *cc_entry_without_images(struct cc_entry *entry);
void cc_entry_unref(struct cc_entry *entry);	/* NULL is fine */

/* false: there is none. The view lives as long as the entry. */
bool cc_entry_find(const struct cc_entry *entry, uint32_t tag, uint32_t index,
		   struct cmn_view *ret);
uint64_t cc_entry_build_ns(const struct cc_entry *entry);	/* what the driver took */
const struct cc_manifest *cc_entry_manifest(const struct cc_entry *entry);	/* NULL: none */
size_t cc_entry_payload_size(const struct cc_entry *entry);	/* bytes held */
size_t cc_entry_image_size(const struct cc_entry *entry);	/* sum of CC_TAG_IMAGE fields */

/*
 * The header (CC_ENTRY_HEADER_SIZE bytes) and the stored payload as they go to
 * disk. level is cc_config.compression; compression.h says when the payload is
 * stored raw. If ret_stored is empty, write the payload itself.
 */
CMN_CHECKED enum cmn_status cc_entry_encode(const struct cc_entry *entry, int level,
					    const struct cmn_hash *key_hash,
					    uint8_t ret_header[CC_ENTRY_HEADER_SIZE],
					    struct cmn_buffer *ret_stored);
struct cmn_view cc_entry_payload(const struct cc_entry *entry);

/*
 * Makes an entry from a file's bytes. Takes the buffer on success and failure
 * alike, and the manifest (may be NULL) on success only. A compressed payload is
 * decoded into room (may be NULL) or malloc's memory. CMN_ERR_CORRUPT,
 * CMN_ERR_VERSION, CMN_ERR_NOMEM; CMN_STALE: sound, but for another key_hash.
 */
CMN_CHECKED enum cmn_status cc_entry_decode(struct cmn_buffer *file,
					    const struct cmn_hash *key_hash,
					    const struct cmn_room *room,
					    struct cc_manifest *manifest, struct cc_entry **ret);

/* What the header of a .bin says; nothing but its shape is verified. CMN_ERR_CORRUPT, CMN_ERR_VERSION. */
struct cc_entry_header {
	uint32_t codec;
	uint64_t payload_len;
	uint64_t stored_len;	/* the file's size less the header's */
	uint64_t build_ns;
	struct cmn_hash key_hash;
	struct cmn_hash payload_hash;
	struct cmn_hash file_hash;
};
CMN_CHECKED enum cmn_status cc_entry_read_header(struct cmn_view file, struct cc_entry_header *ret);

#endif
