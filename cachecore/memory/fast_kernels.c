/* SPDX-License-Identifier: MIT */
/* fast_kernels: one hash table per shard, each entry with a copy in every one. */
#include "cachecore/memory/fast_kernels.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "common/mutex.h"
#include "common/hash.h"

static int fast_key_differs(const void *left, const void *right);

#define HASH_NONFATAL_OOM 1
/* The key holds a pointer to the name: bytes of the structure would not do. */
#define HASH_KEYCMP(a, b, len) fast_key_differs(a, b)
#include <uthash.h>
#include <utlist.h>

/* An entry's place in one shard: its own cache line, as readers write refs. */
struct fast_copy {
	_Alignas(FAST_KERNEL_LINE) UT_hash_handle hh;	/* hh.key is the fast_kernel's key */
	atomic_uint refs;		/* the table's, and of readers on their way out */
};

struct fast_kernel {
	struct fast_key key;		/* first: a copy's hh.key leads here */
	struct build_result *result;
	struct fast_kernel **list;	/* its kernel's entries, with prev and next */
	struct fast_kernel *prev, *next;
	atomic_uint live_copies;	/* with references left */
	struct fast_copy copies[FAST_KERNEL_SHARDS];
	char bytes[];			/* the key's name, then its constants */
};

static bool bytes_differ(struct cmn_view a, struct cmn_view b)
{
	return a.len != b.len || (a.len && memcmp(a.data, b.data, a.len) != 0);
}

static int fast_key_differs(const void *left, const void *right)
{
	const struct fast_key *a = left, *b = right;

	return a->constants_hash != b->constants_hash || a->device != b->device ||
	       bytes_differ(a->name, b->name) || bytes_differ(a->constants, b->constants);
}

static unsigned int fast_key_hash(const struct fast_key *key)
{
	uint64_t sum = cmn_quick_hash(key->name);
	uint64_t constants = key->constants_hash;

	if (key->constants.len)
		constants ^= cmn_quick_hash(key->constants);
	/* Odd multipliers (2^64 divided by the golden ratio, and MurmurHash3's) spread the low bits. */
	sum ^= constants * UINT64_C(0x9e3779b97f4a7c15);
	sum ^= (uint64_t)(uintptr_t)key->device * UINT64_C(0xff51afd7ed558ccd);
	return (unsigned int)(sum ^ (sum >> 32));
}

void fast_kernels_init(struct fast_kernels *fast)
{
	*fast = (struct fast_kernels){ 0 };
	for (size_t i = 0; i < FAST_KERNEL_SHARDS; i++)
		(void)pthread_mutex_init(&fast->shards[i].lock, NULL);	/* a default mutex does not fail */
}

void fast_kernels_release(struct fast_kernels *fast)
{
	for (size_t i = 0; i < FAST_KERNEL_SHARDS; i++)
		(void)pthread_mutex_destroy(&fast->shards[i].lock);	/* no thread is inside */
}

static struct fast_kernel *kernel_of(const struct fast_copy *copy)
{
	return (struct fast_kernel *)(uintptr_t)copy->hh.key;
}

static void fast_copy_unref(struct fast_copy *copy)
{
	struct fast_kernel *kernel = kernel_of(copy);

	if (atomic_fetch_sub_explicit(&copy->refs, 1, memory_order_acq_rel) != 1)
		return;
	if (atomic_fetch_sub_explicit(&kernel->live_copies, 1, memory_order_acq_rel) != 1)
		return;
	cc_build_result_unref(kernel->result);
	free(kernel);
}

enum cmn_status fast_kernels_get(struct fast_kernels *fast, const struct fast_key *key,
				 void **ret_kernel)
{
	/* Only a hint for speed: any shard is right, also after a move to another processor. */
	struct fast_shard *shard = &fast->shards[(unsigned int)sched_getcpu() % FAST_KERNEL_SHARDS];
	unsigned int hash = fast_key_hash(key);
	struct fast_copy *copy;

	cmn_mutex_lock(&shard->lock);
	HASH_FIND_BYHASHVALUE(hh, shard->table, key, sizeof(*key), hash, copy);
	if (copy)
		atomic_fetch_add_explicit(&copy->refs, 1, memory_order_relaxed);
	cmn_mutex_unlock(&shard->lock);
	if (!copy)
		return CMN_MISS;
	*ret_kernel = cc_build_result_take(kernel_of(copy)->result);
	fast_copy_unref(copy);
	return CMN_OK;
}

struct fast_kernel *fast_kernels_find(struct fast_kernels *fast, const struct fast_key *key)
{
	struct fast_copy *copy;

	/* Every shard has every entry. The cache's lock keeps writers out, and readers change no table. */
	HASH_FIND_BYHASHVALUE(hh, fast->shards[0].table, key, sizeof(*key), fast_key_hash(key),
			      copy);
	return copy ? kernel_of(copy) : NULL;
}

/* Copies the bytes to `to`, and gives where they end. */
static char *own_bytes(struct cmn_view *view, char *to)
{
	if (view->len)
		memcpy(to, view->data, view->len);
	view->data = to;
	return to + view->len;
}

static struct fast_kernel *fast_kernel_new(const struct fast_key *key, struct build_result *result)
{
	struct fast_kernel *kernel;
	size_t size;

	/* aligned_alloc wants a multiple of the alignment. */
	if (__builtin_add_overflow(key->name.len, key->constants.len, &size) ||
	    __builtin_add_overflow(size, sizeof(*kernel) + FAST_KERNEL_LINE - 1, &size))
		return NULL;
	size = size / FAST_KERNEL_LINE * FAST_KERNEL_LINE;
	kernel = aligned_alloc(FAST_KERNEL_LINE, size);
	if (!kernel)
		return NULL;
	memset(kernel, 0, sizeof(*kernel));
	kernel->key = *key;
	(void)own_bytes(&kernel->key.constants, own_bytes(&kernel->key.name, kernel->bytes));
	kernel->result = cc_build_result_ref(result);
	atomic_init(&kernel->live_copies, FAST_KERNEL_SHARDS);
	for (size_t i = 0; i < FAST_KERNEL_SHARDS; i++) {
		kernel->copies[i].hh.key = &kernel->key;
		atomic_init(&kernel->copies[i].refs, 1);
	}
	return kernel;
}

static void unlink_copies(struct fast_kernels *fast, struct fast_kernel *kernel, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct fast_shard *shard = &fast->shards[i];
		struct fast_copy *copy = &kernel->copies[i];

		cmn_mutex_lock(&shard->lock);
		HASH_DELETE(hh, shard->table, copy);
		cmn_mutex_unlock(&shard->lock);
	}
}

enum cmn_status fast_kernels_insert(struct fast_kernels *fast, const struct fast_key *key,
				    struct build_result *result, struct fast_kernel **list)
{
	struct fast_kernel *kernel = fast_kernel_new(key, result);
	unsigned int hash = fast_key_hash(key);

	if (!kernel)
		return CMN_ERR_NOMEM;
	for (size_t i = 0; i < FAST_KERNEL_SHARDS; i++) {
		struct fast_shard *shard = &fast->shards[i];
		struct fast_copy *copy = &kernel->copies[i];
		bool added;

		cmn_mutex_lock(&shard->lock);
		HASH_ADD_KEYPTR_BYHASHVALUE(hh, shard->table, &kernel->key, sizeof(kernel->key),
					    hash, copy);
		added = copy->hh.tbl != NULL;	/* how uthash reports no memory */
		cmn_mutex_unlock(&shard->lock);
		if (!added) {
			struct fast_kernel *doomed = kernel;

			unlink_copies(fast, kernel, i);
			fast_kernels_drop(doomed);
			return CMN_ERR_NOMEM;
		}
	}
	fast->count++;
	kernel->list = list;
	DL_PREPEND(*list, kernel);
	return CMN_OK;
}

void fast_kernels_remove(struct fast_kernels *fast, struct fast_kernel *kernel,
			 struct fast_kernel **doomed)
{
	unlink_copies(fast, kernel, FAST_KERNEL_SHARDS);
	DL_DELETE(*kernel->list, kernel);
	LL_PREPEND(*doomed, kernel);
	fast->count--;
}

void fast_kernels_drop(struct fast_kernel *doomed)
{
	struct fast_kernel *kernel, *next;

	LL_FOREACH_SAFE(doomed, kernel, next) {
		/* The last of these may be the end of the kernel. */
		for (size_t i = 0; i < FAST_KERNEL_SHARDS; i++)
			fast_copy_unref(&kernel->copies[i]);
	}
}

void fast_kernels_lock_all(struct fast_kernels *fast)
{
	for (size_t i = 0; i < FAST_KERNEL_SHARDS; i++)
		cmn_mutex_lock(&fast->shards[i].lock);
}

void fast_kernels_unlock_all(struct fast_kernels *fast)
{
	for (size_t i = 0; i < FAST_KERNEL_SHARDS; i++)
		cmn_mutex_unlock(&fast->shards[i].lock);
}
