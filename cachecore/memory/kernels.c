/* SPDX-License-Identifier: MIT */
/*
 * kernels: the kernels map's and the fast kernel cache's side of the
 * in-memory level. A kernel is found through its program's record, and goes
 * with it.
 */
#include "cachecore/memory/programs_internal.h"

/* The program if it is there and built; the lock is held in any case. */
static struct program_record *lock_and_find_built(struct cc_programs *programs,
						  struct cmn_view program_key)
{
	unsigned int hash;
	struct program_record *program = programs_lock_and_find(programs, program_key, &hash);

	if (program && cc_build_result_state(program_record_result(program)) != BUILD_SUCCEEDED)
		return NULL;
	return program;
}

/* As in programs.c. CMN_MISS: the program is not there, so its kernels are not kept. */
static enum cmn_status enter(struct cc_claim *claim)
{
	struct cc_programs *programs = claim->programs;
	struct program_record *program = lock_and_find_built(programs, claim->key);
	struct kernel_record *kernel = NULL;
	struct build_result *made = NULL;
	struct doomed doomed = { 0 };
	enum cmn_status status = CMN_OK;

	if (!program) {
		status = CMN_MISS;
	} else {
		cc_program_map_touch(&programs->map, program);
		kernel = program_find_kernel(program, claim->name);
	}
	if (status == CMN_OK && !kernel) {
		made = cc_build_result_new(&programs->kernel_ops);
		status = made ? program_insert_kernel(&programs->map, program, claim->name, made,
						      &kernel) : CMN_ERR_NOMEM;
	}
	if (status == CMN_OK) {
		struct build_result *result = kernel_record_result(kernel);

		claim->entered = cc_build_result_state(result) != BUILD_SUCCEEDED;
		if (claim->entered)
			result->users++;
		claim->result = cc_build_result_ref(result);
	}
	programs_unlock_and_drop(programs, &doomed);
	cc_build_result_unref(made);
	return status;
}

void kernels_leave(const struct cc_claim *claim)
{
	struct cc_programs *programs = claim->programs;
	unsigned int hash;
	struct program_record *program = programs_lock_and_find(programs, claim->key, &hash);
	struct kernel_record *kernel = program ? program_find_kernel(program, claim->name) : NULL;
	struct build_result *result = claim->result;
	struct doomed doomed = { 0 };

	result->users--;
	if (kernel && kernel_record_result(kernel) == result) {
		enum build_state state = cc_build_result_state(result);

		if (state == BUILD_FAILED || (state == BUILD_UNCLAIMED && result->users == 0))
			program_remove_kernel(&programs->map, program, kernel, &doomed);
	}
	programs_unlock_and_drop(programs, &doomed);
}

enum cc_way cc_kernels_claim(struct cc_programs *programs, struct cmn_view program_key,
			     struct cmn_view name, struct cc_claim *ret_claim,
			     struct cc_build_taken *ret)
{
	*ret_claim = (struct cc_claim){
		.programs = programs, .key = program_key, .name = name, .is_kernel = true,
	};
	if (enter(ret_claim) == CMN_ERR_NOMEM) {
		cc_programs_make_room(programs);
		(void)enter(ret_claim);	/* else nothing is kept */
	}
	return programs_claim_result(ret_claim, ret);
}

enum cmn_status cc_kernels_get(struct cc_programs *programs, struct cmn_view program_key,
			       struct cmn_view name, void **ret_value)
{
	struct program_record *program;
	struct kernel_record *kernel;
	struct build_result *result = NULL;
	struct doomed doomed = { 0 };

	program = lock_and_find_built(programs, program_key);
	kernel = program ? program_find_kernel(program, name) : NULL;
	if (kernel && cc_build_result_state(kernel_record_result(kernel)) == BUILD_SUCCEEDED) {
		result = cc_build_result_ref(kernel_record_result(kernel));
		cc_program_map_touch(&programs->map, program);
	}
	programs_unlock_and_drop(programs, &doomed);
	if (!result)
		return CMN_MISS;
	*ret_value = cc_build_result_take(result);
	cc_build_result_unref(result);
	return CMN_OK;
}

enum cmn_status cc_kernels_put(struct cc_programs *programs, struct cmn_view program_key,
			       struct cmn_view name, void *value)
{
	struct build_result *result = cc_build_result_new_with(&programs->kernel_ops, value, 0);
	struct program_record *program;
	struct kernel_record *kernel;
	struct doomed doomed = { 0 };
	enum cmn_status status = CMN_MISS;

	if (!result) {
		if (programs->kernel_ops.release)
			programs->kernel_ops.release(value);
		return CMN_ERR_NOMEM;
	}
	program = lock_and_find_built(programs, program_key);
	if (program) {
		cc_program_map_touch(&programs->map, program);
		kernel = program_find_kernel(program, name);
		status = CMN_OK;
		if (!kernel || cc_build_result_state(kernel_record_result(kernel)) != BUILD_SUCCEEDED) {
			/* A build that others wait for: they keep theirs, who comes gets this. */
			if (kernel)
				program_remove_kernel(&programs->map, program, kernel, &doomed);
			status = program_insert_kernel(&programs->map, program, name, result,
						       &kernel);
		}
	}
	programs_unlock_and_drop(programs, &doomed);
	cc_build_result_unref(result);
	return status;
}

void cc_kernels_remove(struct cc_programs *programs, struct cmn_view program_key,
		       struct cmn_view name, const void *value)
{
	struct program_record *program = lock_and_find_built(programs, program_key);
	struct kernel_record *kernel = program ? program_find_kernel(program, name) : NULL;
	struct doomed doomed = { 0 };

	if (kernel && (!value || atomic_load(&kernel_record_result(kernel)->value) == value))
		program_remove_kernel(&programs->map, program, kernel, &doomed);
	programs_unlock_and_drop(programs, &doomed);
}

enum cmn_status cc_fast_kernel_put(struct cc_programs *programs, struct cmn_view program_key,
				   void *kernel, const struct fast_key *key)
{
	struct program_record *program = lock_and_find_built(programs, program_key);
	struct kernel_record *record = program ? program_find_kernel(program, key->name) : NULL;
	struct doomed doomed = { 0 };
	enum cmn_status status = CMN_MISS;

	if (record) {
		const struct build_result *result = kernel_record_result(record);

		if (cc_build_result_state(result) == BUILD_SUCCEEDED &&
		    atomic_load(&result->value) == kernel)
			status = kernel_connect(&programs->map, record, key, &doomed);
	}
	programs_unlock_and_drop(programs, &doomed);
	return status;
}
