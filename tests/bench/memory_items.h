/* SPDX-License-Identifier: MIT */
/*
 * memory_items: what bench_memory's contenders have in common: the items that
 * they keep, with the keys of a SYCL runtime or of the layers, and the
 * functions that each of them gives. C11 and C++17.
 */
#ifndef TESTS_BENCH_MEMORY_ITEMS_H
#define TESTS_BENCH_MEMORY_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MEMORY_THREADS 2
#define MEMORY_ITEMS 16		/* per thread, a power of two */
#define MEMORY_LINE 64		/* bytes of a cache line: values of two threads share none */
#define MEMORY_CONSTANTS 40	/* bytes: a few specialization constants with their identifiers */
#define MEMORY_DEVICES 2
#define MEMORY_TEXT 128		/* options and names are shorter */
#define MEMORY_THRESHOLD 1048576	/* bytes: never reached, but there, so that uses are put in order */

/* Stands for a runtime's handle, which counts its references itself. */
struct memory_value {
	unsigned int refs;
} __attribute__((aligned(MEMORY_LINE)));

struct memory_item {
	struct memory_value program, kernel;
	uint64_t image;
	unsigned char constants[MEMORY_CONSTANTS];
	uint64_t constants_hash;
	void *devices[MEMORY_DEVICES];
	char options[MEMORY_TEXT];
	char name[MEMORY_TEXT];		/* of the kernel, mangled */
	size_t name_len;
	unsigned char *key;		/* the layers': device, source, options, environment; or NULL */
	size_t key_len;
};

struct memory_items {
	struct memory_item items[MEMORY_THREADS * MEMORY_ITEMS];
	bool counted;		/* who takes a value counts it */
};

/* What is looked up. A kernel's program is found too, where a contender needs it for the kernel. */
enum memory_hit {
	MEMORY_PROGRAM,
	MEMORY_KERNEL,
	MEMORY_FAST_KERNEL,
	MEMORY_HITS,
};

/*
 * fill gives maps that have all items; each hit gives the item's program or
 * kernel, and anything else on failure; uncounted values are not touched.
 */
struct memory_contender {
	const char *name;
	void *(*fill)(struct memory_items *items);
	struct memory_value *(*hit[MEMORY_HITS])(void *maps, struct memory_item *item);
	void (*release)(void *maps);
};

extern const struct memory_contender memory_cachecore;		/* cachecore/memory/programs.h */
extern const struct memory_contender memory_public;		/* cachecore.h */
extern const struct memory_contender memory_unordered;		/* std::unordered_map, one mutex */
extern const struct memory_contender memory_three_maps;	/* the SYCL document's design */
extern const struct memory_contender memory_nothing;		/* only the count in the value */

/* Which keys the items get. */
enum memory_keys {
	MEMORY_KEYS_RUNTIME,	/* image, constants, devices, options */
	MEMORY_KEYS_LONG,	/* key: different sources of 4 KiB */
	MEMORY_KEYS_ALIKE,	/* key: one source of 4 KiB with a changed definition */
};

/* Fills *ret. Exits the program when out of memory. */
void memory_items_make(enum memory_keys keys, bool counted, struct memory_items *ret);
void memory_items_release(struct memory_items *items);

/* The item's program key in one piece: its key, or what identifies it with lengths. */
#define MEMORY_KEY_MAX 512
struct memory_key {
	const unsigned char *data;
	size_t len;
	unsigned char room[MEMORY_KEY_MAX];
};
void memory_key_make(const struct memory_item *item, struct memory_key *ret);

static inline void memory_value_retain(struct memory_value *value)
{
	(void)__atomic_fetch_add(&value->refs, 1, __ATOMIC_RELAXED);
}

static inline void memory_value_release(struct memory_value *value)
{
	(void)__atomic_fetch_sub(&value->refs, 1, __ATOMIC_RELAXED);
}

#ifdef __cplusplus
}
#endif

#endif
