/* SPDX-License-Identifier: MIT */
/*
 * layout: what compiled callers of cachecore.h rely on, on x86-64 and every
 * other system with 64-bit pointers. An assertion that fails is a break of the
 * binary interface: it wants a new version, not another number here.
 */
#include "cachecore/api/cachecore.h"

#if UINTPTR_MAX == UINT64_MAX

#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type " changed its size")
#define FIELD(type, field, offset) \
	_Static_assert(offsetof(type, field) == (offset), #type "." #field " moved")
#define VALUE(name, number) _Static_assert((name) == (number), #name " changed its value")

SIZE(struct cachecore_bytes, 16);
FIELD(struct cachecore_bytes, data, 0);
FIELD(struct cachecore_bytes, size, 8);

SIZE(struct cachecore_value_ops, 16);
FIELD(struct cachecore_value_ops, retain, 0);
FIELD(struct cachecore_value_ops, release, 8);

SIZE(struct cachecore_build_output, 32);
FIELD(struct cachecore_build_output, value, 0);
FIELD(struct cachecore_build_output, size, 8);
FIELD(struct cachecore_build_output, transient, 16);
FIELD(struct cachecore_build_output, error_code, 20);
FIELD(struct cachecore_build_output, error_message, 24);

SIZE(struct cachecore_taken, 24);
FIELD(struct cachecore_taken, value, 0);
FIELD(struct cachecore_taken, way, 8);
FIELD(struct cachecore_taken, error_code, 12);
FIELD(struct cachecore_taken, error_message, 16);

SIZE(struct cachecore_programs_options, 48);
FIELD(struct cachecore_programs_options, struct_size, 0);
FIELD(struct cachecore_programs_options, threshold, 8);
FIELD(struct cachecore_programs_options, program_ops, 16);
FIELD(struct cachecore_programs_options, kernel_ops, 32);

SIZE(struct cachecore_program_key, 72);
FIELD(struct cachecore_program_key, image_id, 0);
FIELD(struct cachecore_program_key, constants, 16);
FIELD(struct cachecore_program_key, devices, 32);
FIELD(struct cachecore_program_key, device_size, 48);
FIELD(struct cachecore_program_key, options, 56);

SIZE(struct cachecore_usage, 32);
FIELD(struct cachecore_usage, programs, 0);
FIELD(struct cachecore_usage, kernels, 8);
FIELD(struct cachecore_usage, fast_kernels, 16);
FIELD(struct cachecore_usage, bytes, 24);

SIZE(struct cachecore_store_options, 32);
FIELD(struct cachecore_store_options, struct_size, 0);
FIELD(struct cachecore_store_options, runtime, 8);
FIELD(struct cachecore_store_options, dir, 16);
FIELD(struct cachecore_store_options, capacity, 24);

SIZE(struct cachecore_store_key, 64);
FIELD(struct cachecore_store_key, device, 0);
FIELD(struct cachecore_store_key, image, 16);
FIELD(struct cachecore_store_key, constants, 32);
FIELD(struct cachecore_store_key, options, 48);

SIZE(struct cachecore_store_value, 40);
FIELD(struct cachecore_store_value, images, 0);
FIELD(struct cachecore_store_value, image_count, 8);
FIELD(struct cachecore_store_value, log, 16);
FIELD(struct cachecore_store_value, build_ns, 32);

SIZE(struct cachecore_store_stats, 40);
FIELD(struct cachecore_store_stats, hits, 0);
FIELD(struct cachecore_store_stats, misses, 8);
FIELD(struct cachecore_store_stats, rejected, 16);
FIELD(struct cachecore_store_stats, build_ns_saved, 24);
FIELD(struct cachecore_store_stats, build_ns_spent, 32);

SIZE(enum cachecore_status, 4);
SIZE(enum cachecore_way, 4);
SIZE(enum cachecore_build_state, 4);

VALUE(CACHECORE_OK, 0);
VALUE(CACHECORE_MISS, 1);
VALUE(CACHECORE_BUSY, 2);
VALUE(CACHECORE_STALE, 3);
VALUE(CACHECORE_ERR_NOMEM, -1);
VALUE(CACHECORE_ERR_IO, -2);
VALUE(CACHECORE_ERR_CORRUPT, -3);
VALUE(CACHECORE_ERR_VERSION, -4);
VALUE(CACHECORE_ERR_INVALID, -5);
VALUE(CACHECORE_ERR_ACCESS, -6);
VALUE(CACHECORE_ERR_NOSPACE, -7);
VALUE(CACHECORE_ERR_TOO_LARGE, -8);
VALUE(CACHECORE_ERR_BUILD, -9);
VALUE(CACHECORE_WAY_BUILT, 0);
VALUE(CACHECORE_WAY_WAITED, 1);
VALUE(CACHECORE_WAY_FOUND, 2);
VALUE(CACHECORE_BUILD_UNCLAIMED, 0);
VALUE(CACHECORE_BUILD_IN_PROGRESS, 1);
VALUE(CACHECORE_BUILD_SUCCEEDED, 2);
VALUE(CACHECORE_BUILD_FAILED, 3);
VALUE(CACHECORE_CAPACITY_DEFAULT, 0);
VALUE(CACHECORE_CAPACITY_UNBOUNDED, UINT64_MAX);

/* The types of the functions, as far as C tells them apart: a declaration that differs is an error. */
unsigned int cachecore_version(void);
const char *cachecore_status_string(enum cachecore_status status);
enum cachecore_status cachecore_programs_new(const struct cachecore_programs_options *options,
					     struct cachecore_programs **ret);
void cachecore_programs_free(struct cachecore_programs *programs);
enum cachecore_status
cachecore_programs_get_or_build(struct cachecore_programs *programs,
				const struct cachecore_program_key *key, cachecore_build_fn build,
				void *ctx, bool remember_errors, struct cachecore_taken *ret);
enum cachecore_status cachecore_programs_get(struct cachecore_programs *programs,
					     const struct cachecore_program_key *key,
					     void **ret_value);
enum cachecore_status cachecore_programs_put(struct cachecore_programs *programs,
					     const struct cachecore_program_key *key, void *value,
					     size_t size);
void cachecore_programs_remove(struct cachecore_programs *programs,
			       const struct cachecore_program_key *key, const void *value);
void cachecore_programs_flush(struct cachecore_programs *programs);
enum cachecore_status cachecore_programs_attempt(struct cachecore_programs *programs,
						 cachecore_attempt_fn attempt, void *ctx);
void cachecore_programs_usage(struct cachecore_programs *programs, struct cachecore_usage *ret);
enum cachecore_status
cachecore_kernels_get_or_build(struct cachecore_programs *programs,
			       const struct cachecore_program_key *program,
			       struct cachecore_bytes name, cachecore_build_fn build, void *ctx,
			       struct cachecore_taken *ret);
enum cachecore_status cachecore_fast_kernel_get(struct cachecore_programs *programs,
						struct cachecore_bytes constants,
						const void *device, struct cachecore_bytes name,
						void **ret_kernel);
enum cachecore_status cachecore_store_open(const struct cachecore_store_options *options,
					   struct cachecore_store **ret);
enum cachecore_status cachecore_store_get(struct cachecore_store *store,
					  const struct cachecore_store_key *key,
					  struct cachecore_blob **ret);
enum cachecore_status cachecore_store_put(struct cachecore_store *store,
					  const struct cachecore_store_key *key,
					  const struct cachecore_store_value *value);
enum cachecore_status
cachecore_store_get_or_build(struct cachecore_store *store, const struct cachecore_store_key *key,
			     cachecore_store_build_fn build, void *ctx, bool *ret_built,
			     struct cachecore_blob **ret);

#endif

extern int layout_is_asserted;
