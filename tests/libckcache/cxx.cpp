// SPDX-License-Identifier: MIT
// cxx: ckcache.hpp as an application uses it: C++11, linked with libckcache. Exit: 0 all checks held.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstdio>
#include <map>
#include <string>

#include "layers/shared/api/ckcache.hpp"

static int failures;

#define CHECK(condition)                                                                     \
	do {                                                                                 \
		if (!(condition)) {                                                          \
			(void)std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			failures++;                                                          \
		}                                                                            \
	} while (0)

template <typename Function> static ckcache_status status_of(Function function)
{
	try {
		function();
	} catch (const ckcache::error &error) {
		CHECK(std::string(error.what()) == ckcache_status_string(error.status()));
		return error.status();
	}
	return CKCACHE_OK;
}

static void settings()
{
	std::string dir = ckcache::get_persistent_cache_dir();
	std::uint64_t capacity = ckcache::get_persistent_cache_capacity();

	ckcache::set_persistent_cache_dir(dir + "-other");
	CHECK(ckcache::get_persistent_cache_dir() == dir + "-other");
	ckcache::set_persistent_cache_dir(dir);
	ckcache::set_persistent_cache_capacity(123456789);
	CHECK(ckcache::get_persistent_cache_capacity() == 123456789);
	ckcache::set_persistent_cache_capacity(capacity);
	ckcache::set_persistent_cache(false, CKCACHE_API_OPENCL);
	CHECK(!ckcache::get_persistent_cache(CKCACHE_API_OPENCL));
	ckcache::set_persistent_cache(true, CKCACHE_API_OPENCL);
	CHECK(ckcache::get_persistent_cache(CKCACHE_API_OPENCL));
	CHECK(status_of([] { ckcache::set_persistent_cache(true, static_cast<ckcache_api>(77)); }) ==
	      CKCACHE_ERROR_INVALID_ARGUMENT);
	ckcache::flush();
}

/* The engine's functions, as oneDNN's proposal has them, beside the C functions. */
static void engines(cl_device_id device, cl_context context)
{
	using namespace ckcache::ocl_interop;
	ckcache_library library = ckcache_library();
	ckcache::bytes data(118), blob, bad;

	library.struct_size = sizeof(library);
	library.name = "a library";
	library.hash = "0123";
	library.hash_size = 4;
	data[5] = 77;
	ckcache::bytes id = get_engine_cache_blob_id(device, library);
	CHECK(!id.empty() && id == ckcache::desc(device, library).get_id());
	blob = get_engine_cache_blob(engine(device, context, library, data));
	CHECK(ckcache::blob_kind(blob) == CKCACHE_KIND_DEVICE);
	engine again = make_engine(device, context, library, blob);
	CHECK(again.data() == data && again.device() == device && again.context() == context);
	CHECK(get_engine_cache_blob(again) == blob);
	/* An engine without data has an empty blob, which makes none. */
	CHECK(get_engine_cache_blob(engine(device, context, library, ckcache::bytes())).empty());
	CHECK(status_of([&] { make_engine(device, context, library, ckcache::bytes()); }) ==
	      CKCACHE_ERROR_INVALID_ARGUMENT);
	bad = blob;
	bad[bad.size() - 1] ^= 1;
	CHECK(status_of([&] { make_engine(device, context, library, bad); }) == CKCACHE_ERROR_DAMAGED);
	CHECK(status_of([&] { ckcache::blob_kind(bad); }) == CKCACHE_ERROR_DAMAGED);
	library.hash = "4567";
	CHECK(get_engine_cache_blob_id(device, library) != id);
	CHECK(status_of([&] { make_engine(device, context, library, blob); }) == CKCACHE_ERROR_FOREIGN);
	library.name = "";
	CHECK(status_of([&] { get_engine_cache_blob_id(device, library); }) ==
	      CKCACHE_ERROR_INVALID_ARGUMENT);
}

/* A storage of the application's own, with the containers of its language. */
struct blobs {
	std::map<ckcache::bytes, ckcache::bytes> all;
	unsigned int loads = 0, batches = 0, hits = 0;
};

static ckcache_status load(void *ctx, std::size_t id_size, const std::uint8_t *id, std::size_t *size,
			   std::uint8_t *blob)
{
	blobs *own = static_cast<blobs *>(ctx);
	auto found = own->all.find(ckcache::bytes(id, id + id_size));

	own->loads++;
	if (found == own->all.end())
		return CKCACHE_MISS;
	std::size_t room = *size;
	*size = found->second.size();
	if (!blob)
		return CKCACHE_OK;
	if (room < *size)
		return CKCACHE_ERROR_BUFFER_TOO_SMALL;
	std::copy(found->second.begin(), found->second.end(), blob);
	return CKCACHE_OK;
}

static ckcache_status store(void *ctx, std::size_t id_size, const std::uint8_t *id, std::size_t size,
			    const std::uint8_t *blob)
{
	static_cast<blobs *>(ctx)->all[ckcache::bytes(id, id + id_size)] = ckcache::bytes(blob, blob + size);
	return CKCACHE_OK;
}

static ckcache_status load_batch(void *ctx, std::size_t count, std::size_t id_size,
				 const std::uint8_t *ids, ckcache_give_fn *give, void *batch)
{
	blobs *own = static_cast<blobs *>(ctx);

	own->batches++;
	for (std::size_t i = 0; i < count; i++) {
		auto found = own->all.find(ckcache::bytes(ids + i * id_size, ids + (i + 1) * id_size));

		if (found != own->all.end())
			give(batch, i, found->second.size(), found->second.data());
	}
	return CKCACHE_OK;
}

static void trace(void *ctx, const ckcache_trace *event)
{
	static_cast<blobs *>(ctx)->hits += event->event == CKCACHE_EVENT_HIT;
}

static void release(const std::vector<cl_program> &programs)
{
	for (cl_program program : programs)
		CHECK(program && clReleaseProgram(program) == CL_SUCCESS);
}

static void programs(cl_device_id device, cl_context context)
{
	static const char text[] = "kernel void value(global int *out) { out[0] = VALUE; }\n";
	static const char wrong[] = "#error wrong\nkernel void value(global int *out) { }\n";
	std::vector<ckcache_program> parts(2);
	ckcache_storage storage = ckcache_storage();
	ckcache_origin origin = CKCACHE_ORIGIN_MEMORY;
	blobs own;

	for (std::size_t i = 0; i < parts.size(); i++) {
		parts[i].struct_size = sizeof(parts[i]);
		parts[i].language = CKCACHE_LANGUAGE_OPENCL_C;
		parts[i].source = text;
		parts[i].source_size = sizeof(text) - 1;
		parts[i].options = i ? "-DVALUE=2" : "-DVALUE=1";
	}
	storage.struct_size = sizeof(storage);
	storage.ctx = &own;
	storage.load = load;
	storage.store = store;
	storage.load_batch = load_batch;
	storage.trace = trace;
	ckcache::desc desc(context, device, parts), empty, moved;
	CHECK(desc.get() && !empty.get());
	CHECK(status_of([&] { empty.get_id(); }) == CKCACHE_ERROR_INVALID_ARGUMENT);
	std::vector<cl_program> built = desc.build(&storage, &origin);
	CHECK(origin == CKCACHE_ORIGIN_BUILT && built.size() == 2 && own.all.size() == 1);
	ckcache::bytes blob = desc.get_blob(built), id = desc.get_id();
	CHECK(!blob.empty() && ckcache::blob_kind(blob) == CKCACHE_KIND_PROGRAMS);
	release(desc.create_from_blob(blob));
	release(built);
	moved = std::move(desc);
	CHECK(moved.get() && moved.get_id() == id);
	ckcache::desc again(std::move(moved));
	own.loads = 0;
	ckcache::load_batch(storage, { &again });
	built = again.build(&storage, &origin);
	CHECK(origin == CKCACHE_ORIGIN_STORAGE && !own.loads && own.batches == 1 && own.hits == 1);
	CHECK(built.size() == 2);
	release(built);
	CHECK(status_of([&] { again.evict(&storage); }) == CKCACHE_ERROR_UNAVAILABLE);
	again.evict();
	CHECK(status_of([&] { again.get_blob({ nullptr }); }) == CKCACHE_ERROR_INVALID_ARGUMENT);
	ckcache::desc second(context, device, parts);
	second = std::move(again);
	CHECK(second.get() && !again.get());
	again = std::move(second);
	blob[blob.size() / 2] ^= 1;
	CHECK(status_of([&] { again.create_from_blob(blob); }) == CKCACHE_ERROR_DAMAGED);
	parts[0].source = wrong;
	parts[0].source_size = sizeof(wrong) - 1;
	try {
		ckcache::desc(context, device, parts).build(&storage);
		CHECK(!"a program that is wrong was built");
	} catch (const ckcache::build_error &error) {
		cl_build_status status = CL_BUILD_SUCCESS;

		CHECK(error.status() == CKCACHE_ERROR_BUILD && error.program());
		CHECK(clGetProgramBuildInfo(error.program(), device, CL_PROGRAM_BUILD_STATUS,
					    sizeof(status), &status, nullptr) == CL_SUCCESS);
		CHECK(status == CL_BUILD_ERROR);
		release({ error.program() });
	}
	parts[0].struct_size++;
	CHECK(status_of([&] { ckcache::desc none(context, device, parts); }) ==
	      CKCACHE_ERROR_INVALID_ARGUMENT);
}

int main()
{
	cl_platform_id platform;
	cl_device_id device;
	cl_int failed;

	if (clGetPlatformIDs(1, &platform, nullptr) ||
	    clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr))
		return 2;
	cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &failed);
	if (failed)
		return 2;
	try {
		settings();
		engines(device, context);
		programs(device, context);
	} catch (const std::exception &error) {
		(void)std::fprintf(stderr, "%s\n", error.what());
		return 1;
	}
	CHECK(clReleaseContext(context) == CL_SUCCESS);
	return failures ? 1 : 0;
}
