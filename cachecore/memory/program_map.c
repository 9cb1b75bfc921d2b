/* SPDX-License-Identifier: MIT */
/* program_map: records, their hash tables, and the eviction list. */
#include "cachecore/memory/program_map.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/quick_hash.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

/* uthash keeps lengths in an unsigned int: a longer key would never be found again. */
#define KEY_LEN_MAX UINT_MAX
/* Copying a key in fresh memory costs as much as reading it from disk; below, a few microseconds. */
#define BORROWED_LEN_MIN ((size_t)64 << 10)

struct kernel_record {
	UT_hash_handle hh;
	struct kernel_record *next;	/* among the doomed */
	struct build_result *result;
	struct fast_kernel *fast;	/* the entries that lead to it */
	char name[];
};

struct program_record {
	UT_hash_handle hh;
	struct program_record *prev, *next;	/* in the eviction list; next also among the doomed */
	struct build_result *result;
	struct kernel_record *kernels;
	size_t size;			/* what it counts in the map's bytes */
	struct cmn_buffer key;		/* empty: hh.key is borrowed */
};

enum cmn_status cc_program_map_init(struct program_map *map, uint64_t threshold)
{
	/* Without slabs, malloc serves. */
	*map = (struct program_map){ .threshold = threshold, .slabs = cmn_slabs_new() };
	if (fast_kernels_init(&map->fast) == CMN_OK)
		return CMN_OK;
	cmn_slabs_free(map->slabs);
	return CMN_ERR_NOMEM;
}

void cc_program_map_release(struct program_map *map)
{
	fast_kernels_release(&map->fast);
	cmn_slabs_free(map->slabs);
}

struct program_record *cc_program_map_find(struct program_map *map, struct cmn_view key,
					unsigned int hash)
{
	struct program_record *program;

	HASH_FIND_BYHASHVALUE(hh, map->by_key, key.data, key.len, hash, program);
	return program;
}

/* Never without an address, which uthash would take for the end of a chain. */
static bool copy_key(struct program_map *map, struct cmn_view key, struct cmn_buffer *ret)
{
	if (!cmn_buffer_reserve_in(ret, map->slabs, key.len) &&
	    !cmn_buffer_reserve(ret, key.len ? key.len : 1))
		return false;
	cmn_buffer_append(ret, key.data, key.len);
	return true;
}

enum cmn_status cc_program_map_insert(struct program_map *map, struct cmn_view key,
				   unsigned int hash, bool borrow, struct build_result *result,
				   struct program_record **ret)
{
	struct program_record *program;
	const void *data = key.data;

	if (key.len > KEY_LEN_MAX)
		return CMN_ERR_TOO_LARGE;
	program = calloc(1, sizeof(*program));
	if (!program)
		return CMN_ERR_NOMEM;
	if (!borrow || key.len < BORROWED_LEN_MIN) {
		if (!copy_key(map, key, &program->key)) {
			free(program);
			return CMN_ERR_NOMEM;
		}
		data = program->key.data;
	}
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, map->by_key, data, key.len, hash, program);
	if (!program->hh.tbl) {	/* how uthash reports no memory */
		cmn_buffer_release(&program->key);
		free(program);
		return CMN_ERR_NOMEM;
	}
	program->result = cc_build_result_ref(result);
	DL_APPEND(map->eviction_list, program);
	*ret = program;
	return CMN_OK;
}

bool cc_program_map_own_key(struct program_map *map, struct program_record *program)
{
	const struct cmn_view key = { program->hh.key, program->hh.keylen };

	if (program->key.data)
		return true;
	if (!copy_key(map, key, &program->key)) {
		cmn_buffer_release(&program->key);
		return false;
	}
	/* uthash only compares what it points to. */
	program->hh.key = program->key.data;
	return true;
}

struct build_result *program_record_result(const struct program_record *program)
{
	return program->result;
}

void cc_program_map_touch(struct program_map *map, struct program_record *program)
{
	if (!program->next)	/* the last one already */
		return;
	DL_DELETE(map->eviction_list, program);
	DL_APPEND(map->eviction_list, program);
}

static bool is_in_progress(const struct build_result *result)
{
	enum build_state state = cc_build_result_state(result);

	/* UNCLAIMED is about to be: some thread is between finding and claiming it. */
	return state == BUILD_IN_PROGRESS || state == BUILD_UNCLAIMED;
}

static void evict(struct program_map *map, struct doomed *doomed)
{
	struct program_record *program, *next;

	DL_FOREACH_SAFE(map->eviction_list, program, next) {
		if (map->bytes <= map->threshold)
			break;
		if (!is_in_progress(program->result))
			cc_program_map_remove(map, program, doomed);
	}
}

void cc_program_map_account(struct program_map *map, struct program_record *program,
			 struct doomed *doomed)
{
	map->bytes = map->bytes - program->size + program->result->size;
	program->size = program->result->size;
	cc_program_map_touch(map, program);
	if (map->threshold && map->bytes > map->threshold)
		evict(map, doomed);
}

void cc_program_map_remove(struct program_map *map, struct program_record *program,
			struct doomed *doomed)
{
	struct kernel_record *kernel, *next;

	HASH_ITER(hh, program->kernels, kernel, next)
		program_remove_kernel(map, program, kernel, doomed);
	HASH_DELETE(hh, map->by_key, program);
	DL_DELETE(map->eviction_list, program);
	map->bytes -= program->size;
	LL_PREPEND(doomed->programs, program);
}

void cc_program_map_clear(struct program_map *map, bool built_only, struct doomed *doomed)
{
	struct program_record *program, *next;

	DL_FOREACH_SAFE(map->eviction_list, program, next) {
		if (!built_only || !is_in_progress(program->result))
			cc_program_map_remove(map, program, doomed);
	}
}

void cc_program_map_drop_unfinished(struct program_map *map, struct doomed *doomed)
{
	struct program_record *program, *next_program;
	struct kernel_record *kernel, *next_kernel;

	DL_FOREACH_SAFE(map->eviction_list, program, next_program) {
		if (is_in_progress(program->result)) {
			cc_program_map_remove(map, program, doomed);
			continue;
		}
		HASH_ITER(hh, program->kernels, kernel, next_kernel) {
			if (is_in_progress(kernel->result))
				program_remove_kernel(map, program, kernel, doomed);
		}
	}
}

size_t cc_program_map_count(const struct program_map *map)
{
	return HASH_COUNT(map->by_key);
}

struct kernel_record *program_find_kernel(struct program_record *program, struct cmn_view name)
{
	struct kernel_record *kernel;

	HASH_FIND_BYHASHVALUE(hh, program->kernels, name.data, name.len, (unsigned int)cmn_quick_hash(name),
			      kernel);
	return kernel;
}

enum cmn_status program_insert_kernel(struct program_map *map, struct program_record *program,
				      struct cmn_view name, struct build_result *result,
				      struct kernel_record **ret)
{
	struct kernel_record *kernel;

	if (name.len > KEY_LEN_MAX)
		return CMN_ERR_TOO_LARGE;
	kernel = calloc(1, sizeof(*kernel) + name.len);
	if (!kernel)
		return CMN_ERR_NOMEM;
	if (name.len)
		memcpy(kernel->name, name.data, name.len);
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, program->kernels, kernel->name, name.len,
				    (unsigned int)cmn_quick_hash(name), kernel);
	if (!kernel->hh.tbl) {
		free(kernel);
		return CMN_ERR_NOMEM;
	}
	kernel->result = cc_build_result_ref(result);
	map->kernels++;
	*ret = kernel;
	return CMN_OK;
}

struct build_result *kernel_record_result(const struct kernel_record *kernel)
{
	return kernel->result;
}

void program_remove_kernel(struct program_map *map, struct program_record *program,
			   struct kernel_record *kernel, struct doomed *doomed)
{
	while (kernel->fast)
		fast_kernels_remove(&map->fast, kernel->fast, &doomed->fast);
	HASH_DELETE(hh, program->kernels, kernel);
	map->kernels--;
	LL_PREPEND(doomed->kernels, kernel);
}

enum cmn_status kernel_connect(struct program_map *map, struct kernel_record *kernel,
			       const struct fast_key *key, struct doomed *doomed)
{
	struct fast_kernel *old = fast_kernels_find(&map->fast, key);

	if (old && fast_kernel_result(old) == kernel->result)
		return CMN_OK;
	if (old)
		fast_kernels_remove(&map->fast, old, &doomed->fast);
	return fast_kernels_insert(&map->fast, key, kernel->result, &kernel->fast);
}

void doomed_drop(struct doomed *doomed)
{
	struct kernel_record *kernel, *next_kernel;
	struct program_record *program, *next_program;

	fast_kernels_drop(doomed->fast);
	LL_FOREACH_SAFE(doomed->kernels, kernel, next_kernel) {
		cc_build_result_unref(kernel->result);
		free(kernel);
	}
	LL_FOREACH_SAFE(doomed->programs, program, next_program) {
		cc_build_result_unref(program->result);
		cmn_buffer_release(&program->key);
		free(program);
	}
}
