/* SPDX-License-Identifier: MIT */
/*
 * entry: the result of one build, as tagged fields (device binaries, build
 * log, …) with what it depends on and what it cost. Immutable once built,
 * shared by reference counting between the memory level and threads. The caller chooses the tags; cachecore knows only
 * CC_TAG_IMAGE, which the image-size limits count, and CC_TAG_WITNESSES, which it adds to a failed build.
 *
 * The file <n>.bin that holds one on disk (format version 1, or 2 of a build that failed; little-endian):
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
 *
 * The file <n>.src beside it says whose result it is:
 *
 *   file = magic[8] version:u32 zero:u32 key_len:u64 manifest_len:u64
 *          hash[16] key manifest
 *   hash = hash(hash(all before it) hash(all after it))
 *
 * The same key and manifest always give the same bytes, so that a .bin may be
 * replaced alone.
 */
#ifndef CACHECORE_ENTRY_H
#define CACHECORE_ENTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cachecore/manifest.h"
#include "common/bytes.h"
#include "common/hash.h"
#include "common/status.h"

#define CC_ENTRY_VERSION 1
#define CC_ENTRY_VERSION_FAILED 2	/* of a build that failed; what reads version 1 alone takes it for no entry */
#define CC_ENTRY_HEADER_SIZE 88
/* No payload is larger, whatever a file claims; on 32-bit machines none that has no room in memory. */
#define CC_ENTRY_MAX_PAYLOAD (UINT64_C(1) << (SIZE_MAX > UINT32_MAX ? 32 : 30))

enum {
	CC_TAG_IMAGE = 1,	/* a device binary; index: which device. Layers use tags from 2 on. */
	CC_TAG_WITNESSES = 0x100,	/* of a build that failed, the last field: struct cc_witnesses */
};

/*
 * The processes whose builds failed in the same way (numbers as cc_reuse_run's): the last one, and the
 * last other one before it. One build may fail by chance, so that a failure is believed only where the
 * two differ.
 */
struct cc_witnesses {
	uint64_t former, last;
};

/* Only entry.c writes to it, and the first owner to witnesses, remote and claimed. */
struct cc_entry {
	atomic_uint refs;
	struct cmn_buffer bytes;
	size_t payload_at;	/* in bytes */
	size_t image_size;
	uint64_t build_ns;
	unsigned int load_rate;
	struct cc_manifest *manifest;
	bool too_large;
	bool in_memory_only;	/* for this process alone */
	bool failed;		/* it tells how a build failed, and is no result */
	uint64_t began_ns;	/* of a failure: when its build began (real time); of one that was read: 0 */
	struct cc_witnesses witnesses;	/* of a failure: who saw it */
	bool remote;		/* it came from the remote tier, and need not be uploaded */
	bool claimed;		/* other machines wait for it until it is uploaded */
};

/*
 * Fields as a payload has them, also for what carries them elsewhere. Room of len bytes for the
 * caller to fill; NULL: out of memory, the buffer has failed.
 */
void *cc_fields_add_room(struct cmn_buffer *fields, uint32_t tag, uint32_t index, size_t len);
/* false: there is none; also where the bytes are no fields. */
bool cc_fields_find(struct cmn_view fields, uint32_t tag, uint32_t index, struct cmn_view *ret);

/* Building: one owner, then shared. NULL: out of memory. */
struct cc_entry *cc_entry_new(uint64_t build_ns);
/* A copy of data under (tag, index), each pair once; an allocation failure shows in cc_entry_finish. */
void cc_entry_add(struct cc_entry *entry, uint32_t tag, uint32_t index, const void *data,
		  size_t len);
/* Room of len bytes for the caller to fill before finish; NULL: out of memory (shows in finish too). Valid until the next add. */
void *cc_entry_add_room(struct cc_entry *entry, uint32_t tag, uint32_t index, size_t len);
/* Something could not be added for lack of memory: cc_entry_finish will fail. */
static inline void cc_entry_fail(struct cc_entry *entry)
{
	entry->bytes.failed = true;
}

/*
 * Takes the manifest (may be NULL) and freezes the entry. On failure the caller still owns the
 * entry, not the manifest. CMN_ERR_NOMEM, CMN_ERR_TOO_LARGE (over CC_ENTRY_MAX_PAYLOAD).
 */
CMN_CHECKED enum cmn_status cc_entry_finish(struct cc_entry *entry, struct cc_manifest *manifest);

/*
 * While building: it tells how a build failed that began then (real time), for this machine alone;
 * in_memory_only: for this process alone.
 */
void cc_entry_set_failed(struct cc_entry *entry, bool in_memory_only, uint64_t began_ns);
/* Of a failure that was read: whether two processes saw the same. */
static inline bool cc_entry_is_confirmed(const struct cc_entry *entry)
{
	return entry->witnesses.former != entry->witnesses.last;
}

/* What former, which was read and tells of the same failure, depends on becomes what entry does. false: it does not. */
bool cc_entry_take_manifest(struct cc_entry *entry, struct cc_entry *former);
/* The witnesses of entry, which was just built, where former, which was read, tells of the same failure. false: it does not. */
bool cc_entry_confirm(const struct cc_entry *entry, const struct cc_entry *former, struct cc_witnesses *ret);

/*
 * While building: the least time that the driver is known to need to load the
 * images, in nanoseconds per byte, for compression; 0 (the default): not known.
 * It is not stored: an entry that is read from disk has 0.
 */
static inline void cc_entry_set_load_rate(struct cc_entry *entry, unsigned int ns_per_byte)
{
	entry->load_rate = ns_per_byte;
}

static inline struct cc_entry *cc_entry_ref(struct cc_entry *entry)
{
	/* Whoever takes a reference holds one already, so no order is needed. */
	(void)atomic_fetch_add_explicit(&entry->refs, 1, memory_order_relaxed);
	return entry;
}

struct cc_entry *cc_entry_copy_small(struct cc_entry *entry);	/* cc_entry_without_images's */

/*
 * For a caller that no longer needs the images: a reference to a copy with the
 * other fields and the build time, without images and manifest; or to entry
 * itself if a copy would save nothing or there is no memory.
 */
static inline struct cc_entry *cc_entry_without_images(struct cc_entry *entry)
{
	/* A page or so more or less is not worth a copy. */
	return entry->image_size < 4096 ? cc_entry_ref(entry) : cc_entry_copy_small(entry);
}

void cc_entry_free(struct cc_entry *entry);	/* cc_entry_unref's */

static inline void cc_entry_unref(struct cc_entry *entry)	/* NULL is fine */
{
	/* The last one must see all that the others did. */
	if (entry && atomic_fetch_sub_explicit(&entry->refs, 1, memory_order_acq_rel) == 1)
		cc_entry_free(entry);
}

static inline uint64_t cc_entry_build_ns(const struct cc_entry *entry)	/* what the driver took */
{
	return entry->build_ns;
}

static inline const struct cc_manifest *cc_entry_manifest(const struct cc_entry *entry)	/* NULL: none */
{
	return entry->manifest;
}

static inline size_t cc_entry_payload_size(const struct cc_entry *entry)	/* bytes held */
{
	return entry->bytes.len - entry->payload_at;
}

static inline size_t cc_entry_image_size(const struct cc_entry *entry)	/* sum of CC_TAG_IMAGE fields */
{
	return entry->image_size;
}

static inline struct cmn_view cc_entry_payload(const struct cc_entry *entry)
{
	/* An entry without fields has no buffer to point into. */
	if (!entry->bytes.data)
		return (struct cmn_view){ NULL, 0 };
	return (struct cmn_view){ entry->bytes.data + entry->payload_at,
				  cc_entry_payload_size(entry) };
}

/* false: there is none. The view lives as long as the entry. */
static inline bool cc_entry_find(const struct cc_entry *entry, uint32_t tag, uint32_t index,
				 struct cmn_view *ret)
{
	return cc_fields_find(cc_entry_payload(entry), tag, index, ret);
}

/*
 * The header (CC_ENTRY_HEADER_SIZE bytes) and the stored payload as they go to
 * disk. level is cc_config.compression; compression.h says when the payload is
 * stored raw. If ret_stored is empty, write the payload itself. witnesses: of a failure that others
 * saw, too; NULL: the entry's own.
 */
CMN_CHECKED enum cmn_status cc_entry_encode(const struct cc_entry *entry, int level,
					    const struct cmn_hash *key_hash,
					    const struct cc_witnesses *witnesses,
					    uint8_t ret_header[CC_ENTRY_HEADER_SIZE],
					    struct cmn_buffer *ret_stored);

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
	bool failed;
	uint32_t codec;
	uint64_t payload_len;
	uint64_t stored_len;	/* the file's size less the header's */
	uint64_t build_ns;
	struct cmn_hash key_hash;
	struct cmn_hash payload_hash;
	struct cmn_hash file_hash;
};
CMN_CHECKED enum cmn_status cc_entry_read_header(struct cmn_view file, struct cc_entry_header *ret);

#define CC_SRC_VERSION 1
#define CC_SRC_HEADER_SIZE 48
/* Sources and manifests together; no file is larger, whatever it claims. */
#define CC_SRC_MAX_FILE (UINT64_C(1) << 30)

struct cc_src {
	struct cmn_view key;		/* borrowed from the file's bytes */
	struct cmn_view manifest;	/* empty: no dependencies */
	struct cmn_hash hash;		/* what the .bin carries as key_hash */
};

/* manifest may be NULL. CMN_ERR_NOMEM, CMN_ERR_TOO_LARGE. */
CMN_CHECKED enum cmn_status cc_src_file_encode(struct cmn_view key,
					       const struct cc_manifest *manifest,
					       struct cmn_buffer *ret, struct cmn_hash *ret_hash);
/* CMN_ERR_CORRUPT, CMN_ERR_VERSION. */
CMN_CHECKED enum cmn_status cc_src_file_decode(struct cmn_view file, struct cc_src *ret);

/*
 * The same in pieces, where the file's key is one that the caller has: the
 * header (CC_SRC_HEADER_SIZE bytes) of a file of that size, for the lengths of
 * what follows it; and in the end, with the manifest, whether the hash fits.
 */
struct cc_src_header {
	uint64_t key_len, manifest_len;
	struct cmn_hash hash;
};
CMN_CHECKED enum cmn_status cc_src_file_read_header(struct cmn_view bytes, uint64_t file_size,
						    struct cc_src_header *ret);
/* CMN_ERR_CORRUPT, CMN_ERR_NOMEM. *ret borrows key and manifest. */
CMN_CHECKED enum cmn_status cc_src_file_check(struct cmn_view header, struct cmn_view key,
					      struct cmn_view manifest, struct cc_src *ret);

#endif
