/* SPDX-License-Identifier: MIT */
/*
 * desc: what all descriptions have in common (struct ckcache_desc): the
 * keys, and the id made from them; and how descriptions of programs are made. Knows no API's types.
 * Immutable once made, except what says otherwise.
 */
#ifndef SHARED_API_DESC_H
#define SHARED_API_DESC_H

#include <stdatomic.h>
#include <stdbool.h>

#include "cachecore/cache.h"
#include "layers/shared/api/blob.h"
#include "layers/shared/api/ckcache_ext.h"
#include "layers/shared/driver/libraries.h"

struct api_order;

/* How one API describes and makes its programs. Of a library's data there is only what destroys it. */
struct api_kind {
	enum ckcache_api api;	/* 0: none */
	enum ckcache_kind blob;	/* of its blobs */
	size_t size;	/* of its descriptions, which begin with struct ckcache_desc */
	void (*destroy)(struct ckcache_desc *desc);	/* frees what is around it, and it; also one that is not complete */

	/* Takes what all programs share, from ctx, and makes room for desc->count programs. */
	enum cmn_status (*begin)(struct ckcache_desc *desc, const void *ctx);
	/* Copies the i-th program. */
	enum cmn_status (*copy)(struct ckcache_desc *desc, size_t i, const struct ckcache_program *program);
	/* Makes its key, once all are copied. CMN_MISS: it is not to be cached. */
	enum cmn_status (*gather)(struct ckcache_desc *desc, size_t i);

	/* The steps of desc_build.h. Whether environment and compiler are what they were when it was made. */
	bool (*holds)(struct ckcache_desc *desc);
	/* The i-th object, from a binary. CKCACHE_ERROR_REFUSED, OUT_OF_MEMORY or DRIVER. */
	enum ckcache_status (*load)(struct ckcache_desc *desc, size_t i, struct cmn_view image,
				    void *objects);
	/* Destroys the first objects, of which any may be NULL, and leaves NULLs. */
	void (*discard)(struct ckcache_desc *desc, size_t count, void *objects);
	/* The i-th object, by api_build_one, to *ret_object. On failure that is NULL, or what failed to build. */
	enum ckcache_status (*build)(struct ckcache_desc *desc, size_t i, struct api_order *order,
				     void **ret_object, enum ckcache_origin *ret_origin);
	/*
	 * Adds the binary of an object to a blob. made: by build; else the application says that it is
	 * the i-th. CMN_MISS: the driver has none; CMN_ERR_INVALID: it is another; CMN_ERR_NOMEM.
	 */
	enum cmn_status (*add)(struct ckcache_desc *desc, size_t i, void *object, bool made,
			       struct cmn_buffer *blob);
	bool gives_failed;	/* the application gets what failed to build */
};

struct ckcache_desc {
	struct cc_cache *cache;		/* the machine's; NULL: switched off */
	const struct api_kind *kind;
	bool empty;			/* nothing is to be cached */
	bool nameless;			/* only by the machine's cache, whose entries say what they read */
	struct api_id id;		/* unless either */
	size_t count;
	struct cc_key *keys;		/* of each program, or of a library and a device */
	/* Of drv_library_epoch, when the keys were last known to hold. */
	_Atomic(unsigned long long) loaded;
	/* By api_desc_take. */
	atomic_flag taken;
	/* The blob whose size was asked for last, until it is fetched; guarded by taken. */
	struct cmn_buffer blob;
	struct cmn_hash blob_of;	/* of what blob was made from */
	/* What a batch gave for the next load from that storage; guarded by taken. */
	struct api_batch {
		enum { API_BATCH_NONE, API_BATCH_ABSENT, API_BATCH_FOUND } state;
		const void *ctx;
		enum ckcache_status (*load)(void *ctx, size_t id_size, const uint8_t *id, size_t *size,
					    uint8_t *blob);
		struct cmn_buffer blob;
	} batch;
};

/*
 * The process's cache for each API, whoever comes to it first: a loader, for a layer, or the program, for
 * ckcache.h. Made by layers/libckcache, which joins the APIs. Opens it at the first call; it is never
 * closed, since applications call their API from other threads and from atexit handlers until the
 * very end. NULL: it is switched off, there is no memory for it, or the process had another file's
 * copy of this library before. Thread-safe.
 */
struct cc_cache *api_cache(enum ckcache_api api);

/* Call it before making keys. Makes room for count zeroed keys. CMN_ERR_NOMEM. */
CMN_CHECKED enum cmn_status api_desc_init(struct ckcache_desc *desc, size_t count);
/* Makes the id of the keys, if the description has one. CMN_ERR_NOMEM. */
CMN_CHECKED enum cmn_status api_desc_identify(struct ckcache_desc *desc);
void api_desc_release(struct ckcache_desc *desc);
/* When the keys were last known to be right: libraries that were loaded later may not be in them. */
struct drv_library_epoch api_desc_epoch(struct ckcache_desc *desc);
/* Whether the keys are still right; asks key_holds if libraries were loaded. */
bool api_desc_keys_hold(struct ckcache_desc *desc, bool (*key_holds)(const struct ckcache_desc *desc));
bool api_desc_has_id(const struct ckcache_desc *desc);
/*
 * Whether the caller has what taken guards, until it drops it; else it does without, and need not wait: in a
 * forked child the thread that has it may not be there.
 */
static inline bool api_desc_take(struct ckcache_desc *desc)
{
	return !atomic_flag_test_and_set(&desc->taken);
}

static inline void api_desc_drop(struct ckcache_desc *desc)
{
	atomic_flag_clear(&desc->taken);
}

/*
 * Whether the programs can be described; text: those in OpenCL C, too. CKCACHE_ERROR_INVALID_ARGUMENT,
 * CKCACHE_ERROR_OUT_OF_MEMORY.
 */
enum ckcache_status api_programs_check(size_t count, const struct ckcache_program *programs, bool text);
/* A description of programs that were checked: the two APIs' ckcache_*_desc_new. cache: NULL: switched off. */
enum ckcache_status api_desc_new(const struct api_kind *kind, const void *ctx, struct cc_cache *cache,
				 size_t count, const struct ckcache_program *programs,
				 struct ckcache_desc **ret_desc);

/*
 * What a library learns about a device (device.c), stored as a blob or as an entry (cachecore/entry.h) with one
 * field. identity: fields of CC_PART_DEVICE, which identify the device; copied.
 */
enum ckcache_status api_device_desc_new(struct cc_cache *cache, const struct cc_key *identity,
					const struct ckcache_library *library,
					struct ckcache_desc **ret_desc);

/* Bytes to the application (ckcache.h, "Sizes"). */
enum ckcache_status api_give(struct cmn_view bytes, size_t *size, void *place);

/* What internal statuses mean to users of ckcache.h: of files, settings and memory; of api_blob_check. */
enum ckcache_status api_status_of(enum cmn_status status);
enum ckcache_status api_status_of_blob(enum cmn_status status);

/* One of a table's functions by the name that ckcache.h gives it; NULL: it has none. */
void *api_function_named(const struct ckcache_functions *functions, const char *name);

#endif
