/* SPDX-License-Identifier: MIT */
/* memory_items: keys as a SYCL runtime and as the layers have them. */
#include "tests/bench/memory_items.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"

#define LONG_KEY 4096	/* a source of some 100 lines with its options */

static void make_long_key(bool alike, size_t i, struct memory_item *ret)
{
	ret->key = malloc(LONG_KEY);
	if (!ret->key) {
		(void)fprintf(stderr, "bench_memory: out of memory\n");
		exit(1);
	}
	ret->key_len = LONG_KEY;
	memset(ret->key, alike ? 'x' : (int)('a' + i), LONG_KEY);
	memcpy(ret->key + LONG_KEY / 2 - sizeof(i), &i, sizeof(i));
}

static void make_item(size_t i, struct memory_item *ret)
{
	struct cmn_hash hash;
	int len;

	/* Four sets of constants of each image, all for the same devices and with the same options. */
	ret->image = 0x55d0c0de0000 + i / 4 * 0x1240;
	for (size_t c = 0; c < MEMORY_CONSTANTS; c++)
		ret->constants[c] = (unsigned char)(c % 8 ? 0 : c + i % 4);
	hash = cmn_hash_of(ret->constants, MEMORY_CONSTANTS);
	ret->constants_hash = cmn_hash_u64(&hash);
	for (size_t d = 0; d < MEMORY_DEVICES; d++)
		ret->devices[d] = (void *)(uintptr_t)(0x7f0012340000 + d * 0x2c0);
	len = snprintf(ret->options, sizeof(ret->options), "-cl-std=CL3.0 -cl-mad-enable "
		       "-ze-opt-large-register-file -vc-codegen -DTILE=%d", 16);
	len = len < 0 ? len : snprintf(ret->name, sizeof(ret->name),
				       "_ZTSZZN3app6solver4stepERN4sycl3_V15queueEmENKUlRNS2_"
				       "7handlerEE_clES6_E6Kernel%02zu", i);
	ret->name_len = len < 0 ? 0 : (size_t)len;
}

void memory_items_make(enum memory_keys keys, bool counted, struct memory_items *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->counted = counted;
	for (size_t i = 0; i < MEMORY_THREADS * MEMORY_ITEMS; i++) {
		make_item(i, &ret->items[i]);
		if (keys != MEMORY_KEYS_RUNTIME)
			make_long_key(keys == MEMORY_KEYS_ALIKE, i, &ret->items[i]);
	}
}

void memory_items_release(struct memory_items *items)
{
	for (size_t i = 0; i < MEMORY_THREADS * MEMORY_ITEMS; i++)
		free(items->items[i].key);
}

static void append(struct memory_key *key, const void *data, size_t len)
{
	memcpy(key->room + key->len, &len, sizeof(len));
	key->len += sizeof(len);
	memcpy(key->room + key->len, data, len);
	key->len += len;
}

void memory_key_make(const struct memory_item *item, struct memory_key *ret)
{
	if (item->key) {
		ret->data = item->key;
		ret->len = item->key_len;
		return;
	}
	ret->data = ret->room;
	ret->len = 0;
	append(ret, &item->image, sizeof(item->image));
	append(ret, item->constants, sizeof(item->constants));
	append(ret, item->devices, sizeof(item->devices));
	append(ret, item->options, strlen(item->options));
}
