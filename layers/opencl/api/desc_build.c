/* SPDX-License-Identifier: MIT */
/*
 * desc_build: described programs from a storage or from the machine's cache,
 * else built by the driver. Whatever goes wrong with the caches, the driver
 * builds them.
 */
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "layers/shared/api/storage.h"
#include "layers/shared/driver/environment.h"
#include "layers/opencl/program/capture.h"
#include "layers/opencl/api/desc.h"
#include "layers/opencl/program/watch.h"

/* One program on its way. */
struct construction {
	struct ocl_desc *desc;
	size_t i;
	cl_program program;	/* of the driver's build, also where that failed */
	cl_int error;
	bool ran;		/* the driver was asked */
	bool retried;		/* after running out of memory */
	bool kept;		/* what is built is to be kept */
	struct drv_observation *observation;	/* of a build that is; NULL: not begun, or ended */
	const char *bypass;	/* why nothing is kept, or NULL */
	uint64_t start_ns, build_ns;
};

static bool is_out_of_memory(cl_int error)
{
	return error == CL_OUT_OF_HOST_MEMORY || error == CL_OUT_OF_RESOURCES;
}

/* The driver's own build, timed. */
static void run(struct construction *one)
{
	const struct ocl_desc *desc = one->desc;
	const struct ocl_program *parts = desc->programs[one->i].parts;
	cl_device_id device = desc->targets.devices[0];
	uint64_t start = cmn_clock_monotonic();

	ocl_desc_release_programs(1, &one->program);
	drv_environment_note_build();
	drv_observer_drop(one->observation);
	one->observation = one->kept ? ocl_watch_begin(&desc->targets, false) : NULL;
	one->ran = true;
	one->error = CL_SUCCESS;
	one->program = ocl_program_create_again(desc->context, parts, parts->constants,
						parts->constant_count, &one->error);
	if (!one->program && one->error == CL_SUCCESS)
		one->error = CL_OUT_OF_HOST_MEMORY;
	if (one->error == CL_SUCCESS)
		one->error = OCL_NEXT.clBuildProgram(one->program, 1, &device,
						     desc->programs[one->i].options, NULL, NULL);
	one->build_ns = cmn_clock_monotonic() - start;
}

/* After it: what the driver read. false: bypass says why it is not known. */
static bool see(struct construction *one, struct cc_manifest **ret)
{
	const struct ocl_desc_program *program = &one->desc->programs[one->i];
	const struct ocl_watched watched = { one->desc->driver, program->parts, program->options };
	struct drv_observation *observation = one->observation;

	one->observation = NULL;
	*ret = NULL;
	if (!ocl_watch_end(observation, &watched, ret, &one->bypass))
		return false;
	if (ocl_desc_holds(one->desc))
		return true;
	cc_manifest_free(*ret);
	*ret = NULL;
	one->bypass = "compiler-loaded-late";
	return false;
}

/* The same entry as a build of the application's own would leave. CMN_MISS: there is none to be had. */
static enum cmn_status capture(struct construction *one, struct cc_entry **ret)
{
	struct ocl_desc *desc = one->desc;
	const struct ocl_capture_request request = {
		.kind = OCL_EFFECTIVE_EXECUTABLE,
		.targets = &desc->targets,
		.driver = desc->driver,
		.build_ns = one->build_ns,
		.load_rate = desc->driver->load_rate,
	};
	struct cc_manifest *manifest;
	enum cmn_status status;
	struct cmn_view image;

	drv_environment_note_build();
	/* The user's own word: where auto would say so, the application asks for it all the same. */
	if (cc_cache_config(desc->base.cache)->capture == CC_CAPTURE_DEFERRED)
		one->bypass = "capture-deferred";
	else if (!drv_environment_holds(desc->driver))
		one->bypass = "environment-changed";
	if (one->bypass || !see(one, &manifest))
		return CMN_MISS;
	status = ocl_capture_read(one->program, &request, manifest, ret);
	if (status == CMN_MISS)
		one->bypass = "no-binary";
	else if (status == CMN_STALE)
		one->bypass = "random-token";
	if (status != CMN_OK)
		return CMN_MISS;
	if (cc_entry_find(*ret, CC_TAG_IMAGE, 0, &image))
		ocl_desc_note_image(desc, one->i, image);
	return CMN_OK;
}

/* The build callback of the cache. */
static enum cmn_status build_and_capture(void *ctx, struct cc_entry **ret)
{
	struct construction *one = ctx;

	run(one);
	if (is_out_of_memory(one->error) && !one->retried) {
		one->retried = true;
		return CMN_ERR_NOMEM;
	}
	return one->error == CL_SUCCESS ? capture(one, ret) : CMN_MISS;
}

static void count_built(const struct construction *one)
{
	struct cc_cache *cache = one->desc->base.cache;
	const struct cc_key *key = &one->desc->base.items[one->i].key;

	if (one->bypass)
		cc_cache_count_bypass(cache, one->bypass, key);
	else
		cc_cache_count_miss(cache, key, one->build_ns);
}

/* The program from an entry. false: it is to be built; a refused entry is gone. */
static bool attach(struct construction *one, struct cc_entry *entry, enum cc_origin origin)
{
	struct cc_cache *cache = one->desc->base.cache;
	const struct cc_key *key = &one->desc->base.items[one->i].key;
	enum cmn_status status = CMN_ERR_DRIVER;
	struct cmn_view image, failure;

	/* A failure that the layer remembers says no more than that. */
	if (cc_entry_find(entry, OCL_TAG_ERROR, 0, &failure))
		return false;
	if (cc_entry_find(entry, CC_TAG_IMAGE, 0, &image) && image.len)
		status = ocl_desc_load(one->desc, one->i, image, &one->program);
	if (status == CMN_ERR_DRIVER)
		cc_cache_reject(cache, key, entry);
	if (status != CMN_OK)
		return false;
	cc_cache_count_hit(cache, key, origin, entry, cmn_clock_monotonic() - one->start_ns);
	return true;
}

/* From the machine's cache. Afterwards program and error are as after a build. */
static enum ckcache_origin obtain(struct construction *one)
{
	struct cc_cache *cache = one->desc->base.cache;
	const struct cc_key *key = &one->desc->base.items[one->i].key;
	struct cc_entry *entry = NULL;
	enum cc_origin origin;
	bool attached;

	one->start_ns = cmn_clock_monotonic();
	if (cc_cache_get_or_build(cache, key, build_and_capture, one, &entry, &origin) != CMN_OK) {
		if (!one->ran)
			run(one);
		count_built(one);
		return CKCACHE_ORIGIN_BUILT;
	}
	if (origin == CC_ORIGIN_BUILT) {
		cc_entry_unref(entry);
		count_built(one);
		return CKCACHE_ORIGIN_BUILT;
	}
	attached = attach(one, entry, origin);
	cc_entry_unref(entry);
	if (attached)
		return origin == CC_ORIGIN_MEMORY ? CKCACHE_ORIGIN_MEMORY : CKCACHE_ORIGIN_DISK;
	run(one);
	if (one->error == CL_SUCCESS && capture(one, &entry) == CMN_OK) {
		cc_cache_put(cache, key, entry);
		cc_entry_unref(entry);
	}
	count_built(one);
	return CKCACHE_ORIGIN_BUILT;
}

static enum ckcache_status status_of_build(const struct construction *one)
{
	switch (one->error) {
	case CL_SUCCESS:
		return CKCACHE_OK;
	case CL_BUILD_PROGRAM_FAILURE:
	case CL_INVALID_BUILD_OPTIONS:
		return CKCACHE_ERROR_BUILD;
	case CL_INVALID_OPERATION:
	case CL_COMPILER_NOT_AVAILABLE:
		return CKCACHE_ERROR_UNAVAILABLE;
	default:
		return is_out_of_memory(one->error) ? CKCACHE_ERROR_OUT_OF_MEMORY :
						      CKCACHE_ERROR_DRIVER;
	}
}

/* What a build read goes with its image, to be looked at when that is loaded. false: no blob. */
static bool add_to_blob(struct construction *one, struct cmn_buffer *blob)
{
	struct cc_cache *cache = one->desc->base.cache;
	struct cmn_buffer encoded = { 0 };
	struct cc_manifest *manifest;
	struct cmn_view image;
	bool added;

	if (!see(one, &manifest)) {
		if (cache)
			cc_cache_count_bypass(cache, one->bypass,
					      &one->desc->base.items[one->i].key);
		return false;
	}
	if (manifest)
		cc_manifest_encode(manifest, &encoded);
	added = !encoded.failed &&
		ocl_desc_add_image(one->desc, one->i, one->program, blob, &image) == CMN_OK;
	if (added)
		ocl_desc_note_image(one->desc, one->i, image);
	if (added && manifest)
		api_blob_add(blob, API_FIELD_MANIFEST, (uint32_t)one->i, cmn_buffer_view(&encoded));
	cmn_buffer_release(&encoded);
	cc_manifest_free(manifest);
	return added;
}

/* How described programs come to be. */
struct order {
	bool cached;			/* through the machine's cache, else by the driver alone */
	struct cmn_buffer *blob;	/* begun; NULL: none is wanted, or there can be none */
};

/* Every program, one after the other. */
static enum ckcache_status construct(struct ocl_desc *desc, struct order *order,
				     cl_program *programs, enum ckcache_origin *ret_origin)
{
	enum ckcache_origin origin = CKCACHE_ORIGIN_MEMORY;

	for (size_t i = 0; i < desc->base.count; i++) {
		struct construction one = { .desc = desc, .i = i,
					    .kept = order->cached || order->blob };
		enum ckcache_origin from = CKCACHE_ORIGIN_BUILT;
		enum ckcache_status status;

		if (order->cached)
			from = obtain(&one);
		else
			run(&one);
		status = status_of_build(&one);
		if (status == CKCACHE_OK && order->blob && !add_to_blob(&one, order->blob))
			order->blob = NULL;
		drv_observer_drop(one.observation);
		if (status != CKCACHE_OK) {
			ocl_desc_release_programs(i, programs);
			if (status == CKCACHE_ERROR_BUILD)
				programs[0] = one.program;
			else
				ocl_desc_release_programs(1, &one.program);
			return status;
		}
		programs[i] = one.program;
		origin = api_origin_of_both(origin, from);
	}
	*ret_origin = origin;
	return CKCACHE_OK;
}

/* A storage that fails, or a driver without binaries, only means that it is built again. */
static enum ckcache_status build_and_store(struct ocl_desc *desc,
					   const struct ckcache_storage *storage,
					   cl_program *programs, enum ckcache_origin *ret_origin)
{
	struct cmn_buffer blob = { 0 };
	struct order order = { .blob = storage->store ? &blob : NULL };
	enum ckcache_status status;

	api_blob_begin(&blob, &desc->base.id);
	status = construct(desc, &order, programs, ret_origin);
	if (status == CKCACHE_OK && order.blob && api_blob_end(&blob) == CMN_OK)
		(void)!api_storage_store(storage, &desc->base.id, cmn_buffer_view(&blob));
	cmn_buffer_release(&blob);
	return status;
}

/* CKCACHE_OK: from the storage; else they are to be built. */
static enum ckcache_status load_blob(struct ocl_desc *desc, const struct ckcache_storage *storage,
				     cl_program *programs)
{
	struct cmn_buffer blob = { 0 };
	enum ckcache_status status;

	if (!ocl_desc_holds(desc) || api_storage_load(storage, &desc->base.id, &blob) != CMN_OK)
		return CKCACHE_MISS;
	status = ocl_desc_create(desc, cmn_buffer_view(&blob), programs);
	if (status == CKCACHE_ERROR_REFUSED || status == CKCACHE_ERROR_DAMAGED ||
	    status == CKCACHE_ERROR_STALE)
		(void)!api_storage_evict(storage, &desc->base.id);	/* another takes its place */
	cmn_buffer_release(&blob);
	return status;
}

static enum ckcache_status build(struct ocl_desc *desc, const struct ckcache_storage *storage,
				 cl_program *programs, enum ckcache_origin *ret_origin)
{
	struct order order = { .cached = false };

	if (storage && api_desc_has_id(&desc->base)) {
		if (load_blob(desc, storage, programs) != CKCACHE_OK)
			return build_and_store(desc, storage, programs, ret_origin);
		*ret_origin = CKCACHE_ORIGIN_STORAGE;
		return CKCACHE_OK;
	}
	order.cached = !storage && !desc->base.empty && desc->base.cache && ocl_desc_holds(desc);
	return construct(desc, &order, programs, ret_origin);
}

enum ckcache_status ocl_ckcache_build(struct ckcache_desc *base,
				      const struct ckcache_storage *storage,
				      struct _cl_program **ret_programs,
				      enum ckcache_origin *ret_origin)
{
	struct ocl_desc *desc = ocl_desc_of(base);
	enum ckcache_origin origin = CKCACHE_ORIGIN_BUILT;
	enum ckcache_status status;
	cl_program *programs;

	if (!desc || !api_storage_is_valid(storage) || !ret_programs)
		return CKCACHE_ERROR_INVALID_ARGUMENT;
	programs = calloc(base->count, sizeof(*programs));
	if (!programs)
		return CKCACHE_ERROR_OUT_OF_MEMORY;
	status = build(desc, storage, programs, &origin);
	if (status == CKCACHE_OK || status == CKCACHE_ERROR_BUILD)
		memcpy(ret_programs, programs, base->count * sizeof(*programs));
	if (status == CKCACHE_OK && ret_origin)
		*ret_origin = origin;
	free(programs);
	return status;
}
