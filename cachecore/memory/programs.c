/* SPDX-License-Identifier: MIT */
/*
 * programs: the programs map's side of the in-memory level. Each call looks
 * at the maps under the lock, gives the lock back, and then waits or takes;
 * what it holds meanwhile, as what a claim holds, is a reference to a
 * BuildResult, never a record, so that eviction and flush may come at any time.
 */
#include "cachecore/memory/programs_internal.h"

#include <stdlib.h>

#include "common/quick_hash.h"

struct cc_programs *cc_programs_new(uint64_t threshold, const struct cc_value_ops *program_ops,
				    const struct cc_value_ops *kernel_ops)
{
	/* The shards of the fast kernel cache are aligned to cache lines. */
	struct cc_programs *programs = aligned_alloc(_Alignof(struct cc_programs),
						     sizeof(*programs));

	if (!programs)
		return NULL;
	if (cc_program_map_init(&programs->map, threshold) != CMN_OK)
		goto free_programs;
	if (pthread_mutex_init(&programs->lock, NULL) != 0)
		goto release_map;
	programs->program_ops = program_ops ? *program_ops : (struct cc_value_ops){ 0 };
	programs->kernel_ops = kernel_ops ? *kernel_ops : (struct cc_value_ops){ 0 };
	return programs;

release_map:
	cc_program_map_release(&programs->map);
free_programs:
	free(programs);
	return NULL;
}

void cc_programs_free(struct cc_programs *programs)
{
	if (!programs)
		return;
	cc_programs_flush(programs);
	cc_program_map_release(&programs->map);
	(void)pthread_mutex_destroy(&programs->lock);	/* no thread is inside */
	free(programs);
}

struct program_record *programs_lock_and_find(struct cc_programs *programs, struct cmn_view key,
					      unsigned int *ret_hash)
{
	/* Hashing a long key takes longer than all the rest: not under the lock. */
	*ret_hash = (unsigned int)cmn_quick_hash(key);
	pthread_mutex_lock(&programs->lock);
	return cc_program_map_find(&programs->map, key, *ret_hash);
}

void programs_unlock_and_drop(struct cc_programs *programs, struct doomed *doomed)
{
	pthread_mutex_unlock(&programs->lock);
	doomed_drop(doomed);
}

void cc_programs_make_room(struct cc_programs *programs)
{
	struct doomed doomed = { 0 };

	if (!programs)
		return;
	pthread_mutex_lock(&programs->lock);
	cc_program_map_clear(&programs->map, true, &doomed);
	programs_unlock_and_drop(programs, &doomed);
}

/*
 * Gives the claim the program's BuildResult, made if there is none. If it is not
 * SUCCEEDED yet, the thread counts among its users from now on and must leave.
 */
static enum cmn_status enter(struct cc_claim *claim)
{
	struct cc_programs *programs = claim->programs;
	struct program_record *program = programs_lock_and_find(programs, claim->key, &claim->hash);
	struct build_result *made = NULL;
	struct doomed doomed = { 0 };
	enum cmn_status status = CMN_OK;

	if (!program) {
		made = cc_build_result_new(&programs->program_ops);
		status = made ? cc_program_map_insert(&programs->map, claim->key, claim->hash, true,
						      made, &program) : CMN_ERR_NOMEM;
	}
	if (status == CMN_OK) {
		struct build_result *result = program_record_result(program);

		claim->entered = cc_build_result_state(result) != BUILD_SUCCEEDED;
		if (claim->entered)
			result->users++;
		cc_program_map_touch(&programs->map, program);
		claim->result = cc_build_result_ref(result);
	}
	programs_unlock_and_drop(programs, &doomed);
	cc_build_result_unref(made);
	return status;
}

/*
 * What the state means for the map, if the result is still there. Whoever
 * comes first acts, builder or waiter: after a failure without an error the
 * thread that leaves is not always the one that brought about the state. Nor
 * is it always the one whose key the map borrows, so each leaves a copy.
 */
static void leave(const struct cc_claim *claim)
{
	struct cc_programs *programs = claim->programs;
	struct build_result *result = claim->result;
	struct program_record *program;
	struct doomed doomed = { 0 };
	bool stays = false;

	pthread_mutex_lock(&programs->lock);
	program = cc_program_map_find(&programs->map, claim->key, claim->hash);
	result->users--;
	if (program && program_record_result(program) == result) {
		switch (cc_build_result_state(result)) {
		case BUILD_SUCCEEDED:
			stays = !result->transient;
			break;
		case BUILD_FAILED:
			/* The waiters have their references; who comes from now on tries anew. */
			stays = result->remember_error;
			break;
		case BUILD_UNCLAIMED:
			stays = result->users != 0;
			break;
		case BUILD_IN_PROGRESS:	/* another one tries */
			stays = true;
			break;
		}
		if (!stays || !cc_program_map_own_key(&programs->map, program))
			cc_program_map_remove(&programs->map, program, &doomed);
		else if (cc_build_result_state(result) == BUILD_SUCCEEDED ||
			 cc_build_result_state(result) == BUILD_FAILED)
			cc_program_map_account(&programs->map, program, &doomed);
	}
	programs_unlock_and_drop(programs, &doomed);
}

static void end(struct cc_claim *claim)
{
	if (claim->entered && claim->is_kernel)
		kernels_leave(claim);
	else if (claim->entered)
		leave(claim);
	cc_build_result_unref(claim->result);
}

enum cc_way programs_claim_result(struct cc_claim *claim, struct cc_build_taken *ret)
{
	if (!claim->result) {
		*ret = (struct cc_build_taken){ .status = CMN_OK, .way = CC_WAY_BUILT };
		return CC_WAY_BUILT;
	}
	if (cc_build_result_claim(claim->result, ret) != CC_WAY_BUILT)
		end(claim);
	return ret->way;
}

enum cc_way cc_programs_claim(struct cc_programs *programs, struct cmn_view key,
			      struct cc_claim *ret_claim, struct cc_build_taken *ret)
{
	*ret_claim = (struct cc_claim){ .programs = programs, .key = key };
	if (enter(ret_claim) == CMN_ERR_NOMEM) {
		cc_programs_make_room(programs);
		(void)enter(ret_claim);	/* else nothing is kept */
	}
	return programs_claim_result(ret_claim, ret);
}

void *cc_programs_publish(struct cc_claim *claim, void *value, size_t size, bool transient)
{
	if (!claim->result)
		return value;
	cc_build_result_publish(claim->result, value, size, transient);
	value = cc_build_result_take(claim->result);
	end(claim);
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
	end(claim);
}

enum cmn_status cc_programs_get(struct cc_programs *programs, struct cmn_view key,
				void **ret_value)
{
	unsigned int hash;
	struct program_record *program = programs_lock_and_find(programs, key, &hash);
	struct build_result *result = NULL;
	struct doomed doomed = { 0 };

	if (program && cc_build_result_state(program_record_result(program)) == BUILD_SUCCEEDED) {
		result = cc_build_result_ref(program_record_result(program));
		cc_program_map_touch(&programs->map, program);
	}
	programs_unlock_and_drop(programs, &doomed);
	if (!result)
		return CMN_MISS;
	*ret_value = cc_build_result_take(result);
	cc_build_result_unref(result);
	return CMN_OK;
}

enum cmn_status cc_programs_put(struct cc_programs *programs, struct cmn_view key, void *value,
				size_t size)
{
	struct build_result *result = cc_build_result_new_with(&programs->program_ops, value, size);
	struct program_record *program;
	struct doomed doomed = { 0 };
	enum cmn_status status = CMN_OK;
	unsigned int hash;

	if (!result) {
		if (programs->program_ops.release)
			programs->program_ops.release(value);
		return CMN_ERR_NOMEM;
	}
	program = programs_lock_and_find(programs, key, &hash);
	if (program && cc_build_result_state(program_record_result(program)) == BUILD_SUCCEEDED) {
		cc_program_map_touch(&programs->map, program);
	} else {
		/* An error, or a build that others wait for: they keep theirs, who comes gets this. */
		if (program)
			cc_program_map_remove(&programs->map, program, &doomed);
		status = cc_program_map_insert(&programs->map, key, hash, false, result,
					    &program);
		if (status == CMN_OK)
			cc_program_map_account(&programs->map, program, &doomed);
	}
	programs_unlock_and_drop(programs, &doomed);
	cc_build_result_unref(result);
	return status;
}

void cc_programs_remove(struct cc_programs *programs, struct cmn_view key, const void *value)
{
	unsigned int hash;
	struct program_record *program = programs_lock_and_find(programs, key, &hash);
	struct doomed doomed = { 0 };

	if (program) {
		const struct build_result *result = program_record_result(program);

		if (!value || atomic_load(&result->value) == value)
			cc_program_map_remove(&programs->map, program, &doomed);
	}
	programs_unlock_and_drop(programs, &doomed);
}

void cc_programs_flush(struct cc_programs *programs)
{
	struct doomed doomed = { 0 };

	pthread_mutex_lock(&programs->lock);
	cc_program_map_clear(&programs->map, false, &doomed);
	programs_unlock_and_drop(programs, &doomed);
}

void cc_programs_usage(struct cc_programs *programs, struct cc_programs_usage *ret)
{
	pthread_mutex_lock(&programs->lock);
	*ret = (struct cc_programs_usage){
		.programs = cc_program_map_count(&programs->map),
		.kernels = programs->map.kernels,
		.fast_kernels = programs->map.fast.count,
		.bytes = programs->map.bytes,
	};
	pthread_mutex_unlock(&programs->lock);
}

void cc_programs_fork_prepare(struct cc_programs *programs)
{
	pthread_mutex_lock(&programs->lock);
	fast_kernels_lock_all(&programs->map.fast);
}

void cc_programs_fork_parent(struct cc_programs *programs)
{
	fast_kernels_unlock_all(&programs->map.fast);
	pthread_mutex_unlock(&programs->lock);
}

void cc_programs_fork_child(struct cc_programs *programs)
{
	struct doomed doomed = { 0 };

	fast_kernels_unlock_all(&programs->map.fast);
	/* Who builds is not in this process: nobody must wait for it. */
	cc_program_map_drop_unfinished(&programs->map, &doomed);
	programs_unlock_and_drop(programs, &doomed);
}
