/* SPDX-License-Identifier: MIT */
/*
 * programs: the maps and the eviction list: programs by key, each with its kernels by
 * name, each with its entries in the fast kernel cache.
 *
 * Each call looks at the maps under the lock, gives the lock back, and then waits or
 * takes; what it holds meanwhile, as what a claim holds, is a reference to a
 * BuildResult, so that eviction and flush may come at any time. Nothing is released
 * under the lock: what leaves the maps is collected in a struct doomed, which is
 * dropped once the lock is free.
 */
#include "cachecore/memory/programs_internal.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/mutex.h"
#include "common/hash.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

/* uthash keeps lengths in an unsigned int: a longer key would never be found again. */
#define KEY_LEN_MAX UINT_MAX
/* Copying a key in fresh memory costs as much as reading it from disk; below, a few microseconds. */
#define BORROWED_LEN_MIN ((size_t)32 << 10)
#define TRIES 2	/* the second after everything that can go has gone */

/* A record is freed with the last reference to its result, wherever it is then. */
struct kernel_record {
	struct build_result result;	/* first */
	UT_hash_handle hh;
	struct kernel_record *next;	/* among the doomed */
	struct program_record *program;	/* while it is in its map */
	struct fast_kernel *fast;	/* the entries that lead to it */
	char name[];
};

struct program_record {
	struct build_result result;	/* first */
	UT_hash_handle hh;
	struct program_record *prev, *next;	/* in the eviction list; next also among the doomed */
	struct kernel_record *kernels;
	size_t size;			/* what it counts in the maps' bytes */
	bool borrowed;			/* the key is a claim's */
	struct cmn_buffer long_key;	/* a copy of it */
	uint8_t key[];			/* a short one */
};

/* What left the maps and still has references to drop; {0} is empty. */
struct doomed {
	struct program_record *programs;
	struct kernel_record *kernels;
	struct fast_kernel *fast;
};

/* The maps. Every function down to unlock_and_drop is called with the lock held. */

static void remove_kernel(struct cc_programs *programs, struct kernel_record *kernel,
			  struct doomed *doomed)
{
	while (kernel->fast)
		fast_kernels_remove(&programs->fast, kernel->fast, &doomed->fast);
	HASH_DELETE(hh, kernel->program->kernels, kernel);
	kernel->result.in_map = false;
	programs->kernels--;
	LL_PREPEND(doomed->kernels, kernel);
}

/* The program goes, with its kernels in both kernel maps. */
static void remove_program(struct cc_programs *programs, struct program_record *program,
			   struct doomed *doomed)
{
	struct kernel_record *kernel, *next;

	HASH_ITER(hh, program->kernels, kernel, next)
		remove_kernel(programs, kernel, doomed);
	HASH_DELETE(hh, programs->by_key, program);
	DL_DELETE(programs->eviction_list, program);
	program->result.in_map = false;
	programs->bytes -= program->size;
	LL_PREPEND(doomed->programs, program);
}

static bool is_in_progress(const struct build_result *result)
{
	enum build_state state = cc_build_result_state(result);

	/* UNCLAIMED is about to be: some thread is between finding and claiming it. */
	return state == BUILD_IN_PROGRESS || state == BUILD_UNCLAIMED;
}

/*
 * Programs go, from the front of the eviction list, until their bytes do not exceed the
 * bound; those in progress stay.
 */
static void evict(struct cc_programs *programs, uint64_t bound, struct doomed *doomed)
{
	struct program_record *program, *next;

	DL_FOREACH_SAFE(programs->eviction_list, program, next) {
		if (bound && programs->bytes <= bound)
			break;
		if (!is_in_progress(&program->result))
			remove_program(programs, program, doomed);
	}
}

/* The program was fetched: it goes to the end of the eviction list. */
static void touch(struct cc_programs *programs, struct program_record *program)
{
	if (!program->next)	/* the last one already */
		return;
	DL_DELETE(programs->eviction_list, program);
	DL_APPEND(programs->eviction_list, program);
}

/* The program was built, or waited for: it counts its result's size from now on, and was just used. */
static void account(struct cc_programs *programs, struct program_record *program,
		    struct doomed *doomed)
{
	programs->bytes = programs->bytes - program->size + program->result.size;
	program->size = program->result.size;
	touch(programs, program);
	if (programs->threshold && programs->bytes > programs->threshold)
		evict(programs, programs->threshold, doomed);
}

/* Adds a key that is not there, at the end of the eviction list. A long one stays the caller's until own_key. */
static enum cmn_status add_program(struct cc_programs *programs, struct cmn_view key,
				   unsigned int hash, struct program_record **ret)
{
	const bool borrowed = key.len >= BORROWED_LEN_MIN;
	struct program_record *program;

	if (key.len > KEY_LEN_MAX)
		return CMN_ERR_TOO_LARGE;
	program = cc_build_result_new(&programs->program_ops,
				      sizeof(*program) + (borrowed ? 0 : key.len));
	if (!program)
		return CMN_ERR_NOMEM;
	program->borrowed = borrowed;
	if (!borrowed && key.len)
		memcpy(program->key, key.data, key.len);
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, programs->by_key, borrowed ? key.data : program->key, key.len,
				    hash, program);
	if (!program->hh.tbl) {	/* how uthash reports no memory */
		cc_build_result_free(&program->result);
		return CMN_ERR_NOMEM;
	}
	DL_APPEND(programs->eviction_list, program);
	program->result.in_map = true;
	*ret = program;
	return CMN_OK;
}

/* Copies a key that is borrowed. false: out of memory, the program must go. */
static bool own_key(struct cc_programs *programs, struct program_record *program)
{
	(void)cmn_buffer_reserve_in(&program->long_key, programs->slabs, program->hh.keylen);
	cmn_buffer_append(&program->long_key, program->hh.key, program->hh.keylen);
	if (program->long_key.failed)
		return false;
	/* uthash only compares what it points to. */
	program->hh.key = program->long_key.data;
	program->borrowed = false;
	return true;
}

static struct kernel_record *find_kernel(struct program_record *program, struct cmn_view name)
{
	struct kernel_record *kernel;

	HASH_FIND_BYHASHVALUE(hh, program->kernels, name.data, name.len,
			      (unsigned int)cmn_quick_hash(name), kernel);
	return kernel;
}

/* Adds a kernel that is not there. */
static enum cmn_status add_kernel(struct cc_programs *programs, struct program_record *program,
				  struct cmn_view name, struct kernel_record **ret)
{
	struct kernel_record *kernel;

	if (name.len > KEY_LEN_MAX)
		return CMN_ERR_TOO_LARGE;
	kernel = cc_build_result_new(&programs->kernel_ops, sizeof(*kernel) + name.len);
	if (!kernel)
		return CMN_ERR_NOMEM;
	if (name.len)
		memcpy(kernel->name, name.data, name.len);
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, program->kernels, kernel->name, name.len,
				    (unsigned int)cmn_quick_hash(name), kernel);
	if (!kernel->hh.tbl) {
		cc_build_result_free(&kernel->result);
		return CMN_ERR_NOMEM;
	}
	kernel->program = program;
	kernel->result.in_map = true;
	programs->kernels++;
	*ret = kernel;
	return CMN_OK;
}

/* Gives the lock back and drops the references of what left the maps, kernels before their programs. */
static void unlock_and_drop(struct cc_programs *programs, struct doomed *doomed)
{
	struct kernel_record *kernel, *next_kernel;
	struct program_record *program, *next_program;

	cmn_mutex_unlock(&programs->lock);
	if (doomed->fast)
		fast_kernels_drop(doomed->fast);
	LL_FOREACH_SAFE(doomed->kernels, kernel, next_kernel)
		cc_build_result_unref(&kernel->result);
	LL_FOREACH_SAFE(doomed->programs, program, next_program) {
		cmn_buffer_release(&program->long_key);
		cc_build_result_unref(&program->result);
	}
}

/* Takes the lock and finds the program, or NULL. *ret_hash is the key's. */
static struct program_record *lock_and_find(struct cc_programs *programs, struct cmn_view key,
					    unsigned int *ret_hash)
{
	struct program_record *program;

	/* Hashing a long key takes longer than all the rest: not under the lock. */
	*ret_hash = (unsigned int)cmn_quick_hash(key);
	cmn_mutex_lock(&programs->lock);
	HASH_FIND_BYHASHVALUE(hh, programs->by_key, key.data, key.len, *ret_hash, program);
	return program;
}

/* The program if it is there and built; the lock is held in any case. */
static struct program_record *lock_and_find_built(struct cc_programs *programs, struct cmn_view key)
{
	unsigned int hash;
	struct program_record *program = lock_and_find(programs, key, &hash);

	if (program && cc_build_result_state(&program->result) != BUILD_SUCCEEDED)
		return NULL;
	return program;
}

struct build_result *cc_programs_lock_and_find(struct cc_programs *programs, struct cmn_view key,
					       const struct cmn_view *name,
					       struct program_record **ret_program)
{
	struct kernel_record *kernel;
	unsigned int hash;

	if (!name) {
		*ret_program = lock_and_find(programs, key, &hash);
		return *ret_program ? &(*ret_program)->result : NULL;
	}
	*ret_program = lock_and_find_built(programs, key);
	kernel = *ret_program ? find_kernel(*ret_program, *name) : NULL;
	return kernel ? &kernel->result : NULL;
}

/* The whole level. */

struct cc_programs *cc_programs_new(uint64_t threshold, const struct cc_value_ops *program_ops,
				    const struct cc_value_ops *kernel_ops)
{
	/* The shards of the fast kernel cache are aligned to cache lines. */
	struct cc_programs *programs = aligned_alloc(_Alignof(struct cc_programs),
						     sizeof(*programs));

	if (!programs)
		return NULL;
	*programs = (struct cc_programs){ .threshold = threshold };
	fast_kernels_init(&programs->fast);
	(void)pthread_mutex_init(&programs->lock, NULL);	/* a default mutex does not fail */
	programs->slabs = cmn_slabs_new();	/* without them malloc serves */
	programs->program_ops = program_ops ? *program_ops : (struct cc_value_ops){ 0 };
	programs->kernel_ops = kernel_ops ? *kernel_ops : (struct cc_value_ops){ 0 };
	return programs;
}

void cc_programs_free(struct cc_programs *programs)
{
	if (!programs)
		return;
	cc_programs_flush(programs);
	fast_kernels_release(&programs->fast);
	cmn_slabs_free(programs->slabs);
	(void)pthread_mutex_destroy(&programs->lock);	/* no thread is inside */
	free(programs);
}

void cc_programs_make_room(struct cc_programs *programs)
{
	struct doomed doomed = { 0 };

	if (!programs)
		return;
	cmn_mutex_lock(&programs->lock);
	evict(programs, 0, &doomed);
	unlock_and_drop(programs, &doomed);
}

void cc_programs_flush(struct cc_programs *programs)
{
	struct doomed doomed = { 0 };

	cmn_mutex_lock(&programs->lock);
	while (programs->eviction_list)
		remove_program(programs, programs->eviction_list, &doomed);
	unlock_and_drop(programs, &doomed);
}

void cc_programs_usage(struct cc_programs *programs, struct cc_programs_usage *ret)
{
	cmn_mutex_lock(&programs->lock);
	*ret = (struct cc_programs_usage){
		.programs = HASH_COUNT(programs->by_key),
		.kernels = programs->kernels,
		.fast_kernels = programs->fast.count,
		.bytes = programs->bytes,
	};
	cmn_mutex_unlock(&programs->lock);
}

/* Claims. */

/* Whether the result is to stay in the map, with this state at the end of a claim. */
static bool stays(const struct build_result *result, enum build_state state, bool is_kernel)
{
	switch (state) {
	case BUILD_SUCCEEDED:
		return is_kernel || !result->transient;
	case BUILD_FAILED:
		/* The waiters have their references; who comes from now on tries anew. */
		return !is_kernel && result->remember_error;
	case BUILD_UNCLAIMED:
		return result->users != 0;
	case BUILD_IN_PROGRESS:	/* another one tries */
		break;
	}
	return true;
}

/*
 * What the state means for the map, if the result is still there. Whoever
 * comes first acts, builder or waiter: after a failure without an error the
 * thread that leaves is not always the one that brought about the state. Nor
 * is it always the one whose key the map borrows, so each leaves a copy.
 * The claim's reference goes. A result that is in no map is its owner's.
 */
static void leave(const struct cc_claim *claim)
{
	struct cc_programs *programs = claim->programs;
	struct build_result *result = claim->result;
	struct doomed doomed = { 0 };
	enum build_state state;
	bool keep;

	if (!programs)
		return;
	cmn_mutex_lock(&programs->lock);
	result->users--;
	state = cc_build_result_state(result);
	keep = stays(result, state, claim->is_kernel);
	if (result->in_map && claim->is_kernel) {
		if (!keep)
			remove_kernel(programs, (struct kernel_record *)result, &doomed);
	} else if (result->in_map) {
		struct program_record *program = (struct program_record *)result;

		if (!keep || (program->borrowed && !own_key(programs, program)))
			remove_program(programs, program, &doomed);
		else if (state == BUILD_SUCCEEDED || state == BUILD_FAILED)
			account(programs, program, &doomed);
	}
	unlock_and_drop(programs, &doomed);
	cc_build_result_unref(result);
}

/* Waits, if need be. The claim goes on only where the caller is to build. */
static enum cc_way take(struct cc_claim *claim, struct cc_build_taken *ret)
{
	if (cc_build_result_claim(claim->result, ret) == CC_WAY_BUILD && ret->status == CMN_OK)
		return CC_WAY_BUILD;
	if (claim->entered)
		leave(claim);
	else
		cc_build_result_unref(claim->result);
	claim->result = NULL;
	return ret->way;
}

enum cc_way cc_programs_claim(struct cc_programs *programs, struct cmn_view key,
			      struct cc_claim *ret_claim, struct cc_build_taken *ret)
{
	enum cmn_status status = CMN_ERR_NOMEM;
	struct program_record *program;

	*ret_claim = (struct cc_claim){ .programs = programs };
	for (int i = 0; i < TRIES && status == CMN_ERR_NOMEM; i++) {
		if (i)
			cc_programs_make_room(programs);
		program = lock_and_find(programs, key, &ret_claim->hash);
		status = program ? CMN_OK : add_program(programs, key, ret_claim->hash, &program);
		if (status == CMN_OK) {	/* else nothing is kept */
			touch(programs, program);
			ret_claim->result = cc_build_result_ref(&program->result);
			ret_claim->entered = cc_build_result_state(&program->result) != BUILD_SUCCEEDED;
			program->result.users += ret_claim->entered;
		}
		cmn_mutex_unlock(&programs->lock);
	}
	return take(ret_claim, ret);
}

enum cc_way cc_kernels_claim(struct cc_programs *programs, struct cmn_view program_key,
			     struct cmn_view name, struct cc_claim *ret_claim,
			     struct cc_build_taken *ret)
{
	enum cmn_status status = CMN_ERR_NOMEM;
	struct program_record *program;
	struct kernel_record *kernel;

	*ret_claim = (struct cc_claim){ .programs = programs, .is_kernel = true };
	for (int i = 0; i < TRIES && status == CMN_ERR_NOMEM; i++) {
		if (i)
			cc_programs_make_room(programs);
		program = lock_and_find_built(programs, program_key);
		status = CMN_MISS;
		if (program) {
			touch(programs, program);
			kernel = find_kernel(program, name);
			status = kernel ? CMN_OK : add_kernel(programs, program, name, &kernel);
		}
		if (status == CMN_OK) {	/* else nothing is kept */
			ret_claim->result = cc_build_result_ref(&kernel->result);
			ret_claim->entered = cc_build_result_state(&kernel->result) != BUILD_SUCCEEDED;
			kernel->result.users += ret_claim->entered;
		}
		cmn_mutex_unlock(&programs->lock);
	}
	return take(ret_claim, ret);
}

void *cc_programs_publish(struct cc_claim *claim, void *value, size_t size, bool transient)
{
	if (!claim->result)
		return value;
	cc_build_result_publish(claim->result, value, size, transient);
	value = cc_build_result_take(claim->result);
	leave(claim);
	return value;
}

void cc_programs_fail(struct cc_claim *claim, enum cmn_status status, int error_code,
		      char *error_message, bool remember)
{
	if (!claim->result) {
		free(error_message);
		return;
	}
	cc_build_result_fail(claim->result, status, error_code, error_message, remember);
	leave(claim);
}

/* What is built, or made elsewhere. */

static enum cmn_status get(struct cc_programs *programs, struct cmn_view key,
			   const struct cmn_view *name, void **ret_value)
{
	struct program_record *program;
	struct build_result *result = cc_programs_lock_and_find(programs, key, name, &program);

	if (result && cc_build_result_state(result) == BUILD_SUCCEEDED) {
		(void)cc_build_result_ref(result);
		touch(programs, program);
	} else {
		result = NULL;
	}
	cmn_mutex_unlock(&programs->lock);
	if (!result)
		return CMN_MISS;
	*ret_value = cc_build_result_take(result);
	cc_build_result_unref(result);
	return CMN_OK;
}

enum cmn_status cc_programs_get(struct cc_programs *programs, struct cmn_view key,
				void **ret_value)
{
	return get(programs, key, NULL, ret_value);
}

enum cmn_status cc_kernels_get(struct cc_programs *programs, struct cmn_view program_key,
			       struct cmn_view name, void **ret_value)
{
	return get(programs, program_key, &name, ret_value);
}

/* Of a result that no other thread has seen. */
static void set_built(struct build_result *result, void *value, size_t size)
{
	atomic_store_explicit(&result->value, value, memory_order_relaxed);
	result->size = size;
	atomic_store_explicit(&result->state, BUILD_SUCCEEDED, memory_order_release);
}

enum cmn_status cc_programs_put(struct cc_programs *programs, struct cmn_view key, void *value,
				size_t size)
{
	unsigned int hash;
	struct program_record *program = lock_and_find(programs, key, &hash);
	struct doomed doomed = { 0 };
	enum cmn_status status = CMN_OK;
	bool kept = false;

	if (program && cc_build_result_state(&program->result) == BUILD_SUCCEEDED) {
		touch(programs, program);
	} else {
		/* An error, or a build that others wait for: they keep theirs, who comes gets this. */
		if (program)
			remove_program(programs, program, &doomed);
		status = add_program(programs, key, hash, &program);
		kept = status == CMN_OK && (!program->borrowed || own_key(programs, program));
		if (kept) {
			set_built(&program->result, value, size);
			account(programs, program, &doomed);
		} else if (status == CMN_OK) {
			remove_program(programs, program, &doomed);
			status = CMN_ERR_NOMEM;
		}
	}
	unlock_and_drop(programs, &doomed);
	if (!kept && programs->program_ops.release)
		programs->program_ops.release(value);
	return status;
}

enum cmn_status cc_kernels_put(struct cc_programs *programs, struct cmn_view program_key,
			       struct cmn_view name, void *value)
{
	struct program_record *program = lock_and_find_built(programs, program_key);
	struct kernel_record *kernel = program ? find_kernel(program, name) : NULL;
	enum cmn_status status = program ? CMN_OK : CMN_MISS;
	struct doomed doomed = { 0 };
	bool kept = false;

	if (program)
		touch(programs, program);
	if (program && (!kernel || cc_build_result_state(&kernel->result) != BUILD_SUCCEEDED)) {
		/* A build that others wait for: they keep theirs, who comes gets this. */
		if (kernel)
			remove_kernel(programs, kernel, &doomed);
		status = add_kernel(programs, program, name, &kernel);
		kept = status == CMN_OK;
		if (kept)
			set_built(&kernel->result, value, 0);
	}
	unlock_and_drop(programs, &doomed);
	if (!kept && programs->kernel_ops.release)
		programs->kernel_ops.release(value);
	return status;
}

void cc_programs_remove(struct cc_programs *programs, struct cmn_view key, const void *value)
{
	unsigned int hash;
	struct program_record *program = lock_and_find(programs, key, &hash);
	struct doomed doomed = { 0 };

	if (program && (!value || atomic_load(&program->result.value) == value))
		remove_program(programs, program, &doomed);
	unlock_and_drop(programs, &doomed);
}

void cc_kernels_remove(struct cc_programs *programs, struct cmn_view program_key,
		       struct cmn_view name, const void *value)
{
	struct program_record *program = lock_and_find_built(programs, program_key);
	struct kernel_record *kernel = program ? find_kernel(program, name) : NULL;
	struct doomed doomed = { 0 };

	if (kernel && (!value || atomic_load(&kernel->result.value) == value))
		remove_kernel(programs, kernel, &doomed);
	unlock_and_drop(programs, &doomed);
}

/* Connects the key to the kernel, instead of what it led to. */
static enum cmn_status connect(struct cc_programs *programs, struct kernel_record *kernel,
			       const struct fast_key *key, struct doomed *doomed)
{
	struct fast_kernel *old = fast_kernels_find(&programs->fast, key);

	if (old)
		fast_kernels_remove(&programs->fast, old, &doomed->fast);
	return fast_kernels_insert(&programs->fast, key, &kernel->result, &kernel->fast);
}

enum cmn_status cc_fast_kernel_put(struct cc_programs *programs, struct cmn_view program_key,
				   void *kernel, const struct fast_key *key)
{
	struct program_record *program = lock_and_find_built(programs, program_key);
	struct kernel_record *record = program ? find_kernel(program, key->name) : NULL;
	struct doomed doomed = { 0 };
	enum cmn_status status = CMN_MISS;

	if (record && cc_build_result_state(&record->result) == BUILD_SUCCEEDED &&
	    atomic_load(&record->result.value) == kernel)
		status = connect(programs, record, key, &doomed);
	unlock_and_drop(programs, &doomed);
	return status;
}

/* Around a fork. */

void cc_programs_fork_prepare(struct cc_programs *programs)
{
	cmn_mutex_lock(&programs->lock);
	fast_kernels_lock_all(&programs->fast);
}

void cc_programs_fork_parent(struct cc_programs *programs)
{
	fast_kernels_unlock_all(&programs->fast);
	cmn_mutex_unlock(&programs->lock);
}

void cc_programs_fork_child(struct cc_programs *programs)
{
	struct program_record *program, *next_program;
	struct kernel_record *kernel, *next_kernel;
	struct doomed doomed = { 0 };

	fast_kernels_unlock_all(&programs->fast);
	/* Who builds is not in this process: nobody must wait for it. */
	DL_FOREACH_SAFE(programs->eviction_list, program, next_program) {
		if (is_in_progress(&program->result)) {
			remove_program(programs, program, &doomed);
			continue;
		}
		HASH_ITER(hh, program->kernels, kernel, next_kernel) {
			if (is_in_progress(&kernel->result))
				remove_kernel(programs, kernel, &doomed);
		}
	}
	unlock_and_drop(programs, &doomed);
}
