/* SPDX-License-Identifier: MIT */
/*
 * desc: what all descriptions have in common (struct ckcache_desc): the copy of
 * the functions that made it, so that a program may pass it to any copy; the
 * keys, and the id made from them. Knows no API's types. Immutable once made,
 * except what the lock guards.
 */
#ifndef SHARED_API_DESC_H
#define SHARED_API_DESC_H

#include <pthread.h>
#include <stdbool.h>

#include "cachecore/cache.h"
#include "layers/shared/api/blob.h"
#include "layers/shared/api/ckcache_ext.h"
#include "layers/shared/driver/libraries.h"

/* One program, or a library and a device. */
struct api_item {
	struct cc_key key;
};

struct ckcache_desc {
	/* The copy that made this. It comes first, in every version. */
	const struct ckcache_functions *functions;
	struct cc_cache *cache;		/* the machine's; NULL: switched off */
	void (*destroy)(struct ckcache_desc *desc);	/* frees what is around this, and this */
	bool device;			/* a library's and a device's */
	bool empty;			/* nothing is to be cached */
	bool nameless;			/* only by the machine's cache, whose entries say what they read */
	struct api_id id;		/* unless either */
	size_t count;
	struct api_item *items;
	pthread_mutex_t lock;
	/* When the keys were last known to hold; guarded by lock. */
	struct drv_library_epoch epoch;
	/* The blob whose size was asked for last, until it is fetched; guarded by lock. */
	struct cmn_buffer blob;
	struct cmn_hash blob_of;	/* of what blob was made from */
	/* What a batch gave for the next load from that storage; guarded by lock. */
	struct api_batch {
		enum { API_BATCH_NONE, API_BATCH_ABSENT, API_BATCH_FOUND } state;
		const void *ctx;
		enum ckcache_status (*load)(void *ctx, size_t id_size, const uint8_t *id, size_t *size,
					    uint8_t *blob);
		struct cmn_buffer blob;
	} batch;
};

/* Call it before making keys. Makes room for count zeroed items. CMN_ERR_NOMEM. */
CMN_CHECKED enum cmn_status api_desc_init(struct ckcache_desc *desc, size_t count);
/* Makes the id of the items, if the description has one. CMN_ERR_NOMEM. */
CMN_CHECKED enum cmn_status api_desc_identify(struct ckcache_desc *desc);
void api_desc_release(struct ckcache_desc *desc);
/* When the keys were last known to be right: libraries that were loaded later may not be in them. */
struct drv_library_epoch api_desc_epoch(struct ckcache_desc *desc);
/* Whether the keys are still right; asks key_holds if libraries were loaded. */
bool api_desc_keys_hold(struct ckcache_desc *desc, bool (*key_holds)(const struct ckcache_desc *desc));
bool api_desc_has_id(const struct ckcache_desc *desc);
enum ckcache_kind api_desc_kind(const struct ckcache_desc *desc);	/* of its blobs */
/* Takes what a batch gave, and puts in its place what another one gave; the caller releases the blob. */
struct api_batch api_desc_exchange_batch(struct ckcache_desc *desc, const struct api_batch *next);

/* Of two programs of one description: the farther one. Neither is from a storage. */
enum ckcache_origin api_origin_of_both(enum ckcache_origin a, enum ckcache_origin b);

/* Bytes to the application (ckcache.h, "Sizes"). */
enum ckcache_status api_give(struct cmn_view bytes, size_t *size, void *place);

/*
 * Gives a blob by the same convention. Making a blob may take long, so the one
 * that was made to report its size is kept until it is fetched. of identifies
 * what it is made from. make fills an empty buffer with a whole blob, or leaves
 * it empty and returns why.
 */
enum ckcache_status api_desc_give_blob(struct ckcache_desc *desc, const struct cmn_hash *of,
				       enum ckcache_status (*make)(void *ctx, struct cmn_buffer *ret),
				       void *ctx, size_t *size, uint8_t *blob);

/* Adds to a blob which files the build of its i-th image read; manifest may be NULL. Out of memory: the blob fails. */
void api_desc_add_files(struct cmn_buffer *blob, size_t i, const struct cc_manifest *manifest);
/* Whether these files, if the blob has any, are unchanged. CMN_STALE: they are not. CMN_ERR_CORRUPT, CMN_ERR_NOMEM. */
CMN_CHECKED enum cmn_status api_desc_check_files(const struct ckcache_desc *desc, size_t i,
						 struct cmn_view blob);

/* What internal statuses mean to users of ckcache.h: of files, settings and memory; of api_blob_check. */
enum ckcache_status api_status_of(enum cmn_status status);
enum ckcache_status api_status_of_blob(enum cmn_status status);

/* One of a table's functions by the name that ckcache.h gives it; NULL: it has none. */
void *api_function_named(const struct ckcache_functions *functions, const char *name);

/* The functions of ckcache.h, for each copy's table. */
ckcache_desc_free_fn api_desc_free;
ckcache_desc_get_id_fn api_desc_get_id;
ckcache_desc_evict_fn api_desc_evict;
ckcache_desc_load_batch_fn api_desc_load_batch;	/* this and api_desc_evict: desc_storage.c */

#endif
