/* SPDX-License-Identifier: MIT */
/*
 * layout: what compiled callers of ckcache.h rely on, on x86-64 and every other
 * system with 64-bit pointers. An assertion that fails is a break of the binary
 * interface: it wants another version, not another number here.
 */
#include "layers/shared/api/ckcache_ext.h"

#if UINTPTR_MAX == UINT64_MAX

#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type " changed its size")
#define FIELD(type, field, offset) \
	_Static_assert(offsetof(type, field) == (offset), #type "." #field " moved")

/* It only grows, at its end; of 1.0 are the first 40 bytes. */
SIZE(struct ckcache_storage, 56);
FIELD(struct ckcache_storage, struct_size, 0);
FIELD(struct ckcache_storage, ctx, 8);
FIELD(struct ckcache_storage, load, 16);
FIELD(struct ckcache_storage, store, 24);
FIELD(struct ckcache_storage, evict, 32);
FIELD(struct ckcache_storage, load_batch, 40);
FIELD(struct ckcache_storage, trace, 48);

/* It only grows, at its end. */
SIZE(struct ckcache_trace, 48);
FIELD(struct ckcache_trace, struct_size, 0);
FIELD(struct ckcache_trace, event, 8);
FIELD(struct ckcache_trace, status, 12);
FIELD(struct ckcache_trace, id_size, 16);
FIELD(struct ckcache_trace, id, 24);
FIELD(struct ckcache_trace, size, 32);
FIELD(struct ckcache_trace, ns, 40);

SIZE(struct ckcache_constant, 16);
FIELD(struct ckcache_constant, id, 0);
FIELD(struct ckcache_constant, size, 4);
FIELD(struct ckcache_constant, value, 8);

SIZE(struct ckcache_program, 56);
FIELD(struct ckcache_program, struct_size, 0);
FIELD(struct ckcache_program, language, 8);
FIELD(struct ckcache_program, source, 16);
FIELD(struct ckcache_program, source_size, 24);
FIELD(struct ckcache_program, options, 32);
FIELD(struct ckcache_program, constant_count, 40);
FIELD(struct ckcache_program, constants, 48);

SIZE(struct ckcache_library, 48);
FIELD(struct ckcache_library, struct_size, 0);
FIELD(struct ckcache_library, name, 8);
FIELD(struct ckcache_library, version, 16);
FIELD(struct ckcache_library, hash, 24);
FIELD(struct ckcache_library, hash_size, 32);
FIELD(struct ckcache_library, address, 40);

/* It only grows, at its end. */
SIZE(struct ckcache_functions, 232);
FIELD(struct ckcache_functions, struct_size, 0);
FIELD(struct ckcache_functions, status_string, 8);
FIELD(struct ckcache_functions, version, 16);
FIELD(struct ckcache_functions, set_persistent, 24);
FIELD(struct ckcache_functions, get_persistent, 32);
FIELD(struct ckcache_functions, set_capacity, 40);
FIELD(struct ckcache_functions, get_capacity, 48);
FIELD(struct ckcache_functions, set_dir, 56);
FIELD(struct ckcache_functions, get_dir, 64);
FIELD(struct ckcache_functions, flush, 72);
FIELD(struct ckcache_functions, desc_free, 80);
FIELD(struct ckcache_functions, desc_get_id, 88);
FIELD(struct ckcache_functions, desc_evict, 96);
FIELD(struct ckcache_functions, opencl_desc_new, 104);
FIELD(struct ckcache_functions, opencl_get_blob, 112);
FIELD(struct ckcache_functions, opencl_create_from_blob, 120);
FIELD(struct ckcache_functions, opencl_build, 128);
FIELD(struct ckcache_functions, level_zero_desc_new, 136);
FIELD(struct ckcache_functions, level_zero_get_blob, 144);
FIELD(struct ckcache_functions, level_zero_create_from_blob, 152);
FIELD(struct ckcache_functions, level_zero_build, 160);
FIELD(struct ckcache_functions, opencl_device_desc_new, 168);
FIELD(struct ckcache_functions, level_zero_device_desc_new, 176);
FIELD(struct ckcache_functions, device_get_blob, 184);
FIELD(struct ckcache_functions, device_get_data, 192);
FIELD(struct ckcache_functions, device_store, 200);
FIELD(struct ckcache_functions, device_load, 208);
FIELD(struct ckcache_functions, blob_get_kind, 216);
FIELD(struct ckcache_functions, desc_load_batch, 224);

#endif

#define VALUE(name, number) _Static_assert((name) == (number), #name " changed its value")

VALUE(CKCACHE_OK, 0);
VALUE(CKCACHE_MISS, 1);
VALUE(CKCACHE_ERROR_OUT_OF_MEMORY, -1);
VALUE(CKCACHE_ERROR_INVALID_ARGUMENT, -2);
VALUE(CKCACHE_ERROR_BUFFER_TOO_SMALL, -3);
VALUE(CKCACHE_ERROR_DENIED, -4);
VALUE(CKCACHE_ERROR_DAMAGED, -5);
VALUE(CKCACHE_ERROR_STALE, -6);
VALUE(CKCACHE_ERROR_FOREIGN, -7);
VALUE(CKCACHE_ERROR_VERSION, -8);
VALUE(CKCACHE_ERROR_REFUSED, -9);
VALUE(CKCACHE_ERROR_BUILD, -10);
VALUE(CKCACHE_ERROR_CHANGED, -11);
VALUE(CKCACHE_ERROR_UNAVAILABLE, -12);
VALUE(CKCACHE_ERROR_IO, -13);
VALUE(CKCACHE_ERROR_DRIVER, -14);
VALUE(CKCACHE_API_OPENCL, 1);
VALUE(CKCACHE_API_LEVEL_ZERO, 2);
VALUE(CKCACHE_ORIGIN_BUILT, 0);
VALUE(CKCACHE_ORIGIN_MEMORY, 1);
VALUE(CKCACHE_ORIGIN_DISK, 2);
VALUE(CKCACHE_ORIGIN_STORAGE, 3);
VALUE(CKCACHE_LANGUAGE_OPENCL_C, 1);
VALUE(CKCACHE_LANGUAGE_SPIRV, 2);
VALUE(CKCACHE_KIND_PROGRAMS, 1);
VALUE(CKCACHE_KIND_DEVICE, 2);
VALUE(CKCACHE_EVENT_HIT, 1);
VALUE(CKCACHE_EVENT_MISS, 2);
VALUE(CKCACHE_EVENT_UNUSABLE, 3);
VALUE(CKCACHE_EVENT_BUILT, 4);
VALUE(CKCACHE_EVENT_STORED, 5);
VALUE(CKCACHE_EVENT_NOT_STORED, 6);
VALUE(CKCACHE_EVENT_EVICTED, 7);
VALUE(CKCACHE_VERSION_MAJOR, 1);
