/* SPDX-License-Identifier: MIT */
/*
 * desc: what all descriptions have (struct ckcache_desc): who made it, so that
 * a program may hand it to whichever copy of these functions it has; keys
 * and the id made from them. Knows no API's types. Immutable once
 * made, but for what is guarded by a lock.
 */
#ifndef SHARED_API_DESC_H
#define SHARED_API_DESC_H

#include <pthread.h>
#include <stdbool.h>

#include "cachecore/cache.h"
#include "layers/shared/api/blob.h"
#include "layers/shared/api/ckcache_ext.h"
#include "layers/shared/api/status.h"
#include "layers/shared/driver/libraries.h"

/* One program, or a library and a device. */
struct api_item {
	struct cc_key key;
};

struct ckcache_desc {
	/* Whose description this is: first, and so in every version. */
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
};

/* Before keys are made. Initialises *desc, zeroed but for functions, cache and destroy, with room for count items, zeroed. CMN_ERR_NOMEM. */
CMN_CHECKED enum cmn_status api_desc_init(struct ckcache_desc *desc, size_t count);
/* Makes the id of the items, if the description has one. CMN_ERR_NOMEM. */
CMN_CHECKED enum cmn_status api_desc_identify(struct ckcache_desc *desc);
void api_desc_release(struct ckcache_desc *desc);
/* When the keys were last known to hold: what was loaded since may not be in them. */
struct drv_library_epoch api_desc_epoch(struct ckcache_desc *desc);
/* Whether the keys hold although libraries may have come; then key_holds is asked. */
bool api_desc_keys_hold(struct ckcache_desc *desc, bool (*key_holds)(const struct ckcache_desc *desc));
bool api_desc_has_id(const struct ckcache_desc *desc);

/* Of two programs of one description: the farther one. Neither is from a storage. */
enum ckcache_origin api_origin_of_both(enum ckcache_origin a, enum ckcache_origin b);

/* Bytes to the application (ckcache.h, "Sizes"). */
enum ckcache_status api_give(struct cmn_view bytes, size_t *size, void *place);

/*
 * A blob by the same convention. Making one may take long, so that what was
 * made to tell its size is kept until it is fetched. of: says from what it is
 * made. make fills an empty buffer with a whole blob, or leaves it empty; its
 * status is returned where it is no success.
 */
enum ckcache_status api_desc_give_blob(struct ckcache_desc *desc, const struct cmn_hash *of,
				       enum ckcache_status (*make)(void *ctx, struct cmn_buffer *ret),
				       void *ctx, size_t *size, uint8_t *blob);

/* To a blob: what the build of its i-th image read; manifest may be NULL. Without memory the blob fails. */
void api_desc_add_files(struct cmn_buffer *blob, size_t i, const struct cc_manifest *manifest);
/* Whether that is as it was. CMN_STALE: it is not. A blob need not have any. CMN_ERR_CORRUPT, CMN_ERR_NOMEM. */
CMN_CHECKED enum cmn_status api_desc_check_files(const struct ckcache_desc *desc, size_t i,
						 struct cmn_view blob);

/* The functions of ckcache.h, for each copy's table. */
ckcache_desc_free_fn api_desc_free;
ckcache_desc_get_id_fn api_desc_get_id;
ckcache_desc_evict_fn api_desc_evict;

#endif
