/* SPDX-License-Identifier: MIT */
/*
 * framework: a deep-learning framework in small that keeps the programs of its
 * primitives in one file of its own, as the usage example of oneDNN's proposal
 * "Persistent Cache in oneDNN" does it:
 *
 *     primitive conv(conv_pd);                                  primitive_new()
 *     auto key = conv_pd.get_id();                              ckcache_desc_get_id()
 *     auto binaries = conv.get_binaries(binary_kind::kernel);   ckcache_opencl_get_blob()
 *     store_to_persistent_cache(key, binaries);                 store_to_persistent_cache()
 *
 *     auto key = conv_pd.get_id();
 *     auto binaries = load_from_persistent_cache(key);          load_from_persistent_cache()
 *     primitive conv_from_cache(pd, binaries, …);               ckcache_opencl_create_from_blob()
 *
 * and, after "Add Persistent Cache API for OpenCL Engine", an engine that finds
 * out something about its device by compiling a trial kernel, and keeps that in
 * the same file.
 *
 *   framework FILE [--compile-only]
 *
 * The first run builds everything and writes FILE; later ones build nothing.
 * Whatever is in FILE, the results are right: a blob that is damaged, or of
 * another device, driver, compiler or program, is refused and replaced. That
 * the file may be believed otherwise is the user's business: it belongs where
 * only he can write.
 *
 *   cc framework.c $(pkg-config --cflags --libs ckcache OpenCL)
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <ckcache.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define ITEMS 64		/* of the vectors that primitives work on */
#define MAX_KERNELS 4		/* of a primitive */

static void fail(const char *what, int code)
{
	(void)fprintf(stderr, "framework: %s: %d\n", what, code);
	exit(1);
}

static void check(cl_int error, const char *what)
{
	if (error != CL_SUCCESS)
		fail(what, error);
}

static void *allocate(size_t size)
{
	void *memory = calloc(1, size ? size : 1);

	if (!memory)
		fail("out of memory", 0);
	return memory;
}

static double now_ms(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);	/* cannot fail */
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/*
 * The persistent cache: a list of ids and blobs. In the file each stands after
 * its sizes; blobs tell by themselves whether they are sound, so that the file
 * needs no checksum, only bounds.
 */
struct record {
	uint64_t id_size, blob_size;
	double build_ms;	/* what it took without the blob */
	uint8_t *id, *blob;
};

static struct cache {
	struct record *records;
	size_t count;
	bool changed;
} cache;

static const char magic[8] = "tinyfw1";

/* The blob of that id, or NULL. */
static const struct record *load_from_persistent_cache(size_t id_size, const uint8_t *id)
{
	for (size_t i = 0; i < cache.count; i++) {
		const struct record *record = &cache.records[i];

		if (record->id_size == id_size && memcmp(record->id, id, id_size) == 0)
			return record;
	}
	return NULL;
}

/* Copies both; an older blob of that id goes. An empty id or blob: there is nothing to store. */
static void store_to_persistent_cache(size_t id_size, const uint8_t *id, size_t blob_size,
				      const uint8_t *blob, double build_ms)
{
	struct record *record = (struct record *)load_from_persistent_cache(id_size, id);

	if (!id_size || !blob_size)
		return;
	if (!record) {
		cache.records = realloc(cache.records, (cache.count + 1) * sizeof(*record));
		if (!cache.records)
			fail("out of memory", 0);
		record = &cache.records[cache.count++];
		*record = (struct record){ .id_size = id_size, .id = allocate(id_size) };
		memcpy(record->id, id, id_size);
	}
	free(record->blob);
	record->blob = allocate(blob_size);
	memcpy(record->blob, blob, blob_size);
	record->blob_size = blob_size;
	record->build_ms = build_ms;
	cache.changed = true;
}

/* What can be read of the file; the rest is built again. */
static void read_cache(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint64_t sizes[2];
	char found[sizeof(magic)];
	double build_ms;
	long left;

	if (!file)
		return;
	(void)fseek(file, 0, SEEK_END);	/* what is no file has no size */
	left = ftell(file) - (long)sizeof(magic);
	rewind(file);
	if (left < 0 || fread(found, sizeof(found), 1, file) != 1 ||
	    memcmp(found, magic, sizeof(magic)) != 0)
		left = 0;
	while (fread(sizes, sizeof(sizes), 1, file) == 1 &&
	       fread(&build_ms, sizeof(build_ms), 1, file) == 1) {
		uint8_t *id, *blob;

		if (sizes[0] > (uint64_t)left || sizes[1] > (uint64_t)left - sizes[0])
			break;
		id = allocate(sizes[0]);
		blob = allocate(sizes[1]);
		if (fread(id, 1, sizes[0], file) == sizes[0] &&
		    fread(blob, 1, sizes[1], file) == sizes[1])
			store_to_persistent_cache(sizes[0], id, sizes[1], blob, build_ms);
		free(id);
		free(blob);
	}
	(void)fclose(file);	/* only read */
	cache.changed = false;
}

/* Whole or not at all: another process reads the old file or the new one. */
static void write_cache(const char *path)
{
	char *other = allocate(strlen(path) + sizeof(".XXXXXX"));
	bool good;
	FILE *file;
	int fd;

	(void)sprintf(other, "%s.XXXXXX", path);
	fd = mkstemp(other);
	file = fd < 0 ? NULL : fdopen(fd, "wb");
	good = file && fwrite(magic, sizeof(magic), 1, file) == 1;
	for (size_t i = 0; good && i < cache.count; i++) {
		const struct record *record = &cache.records[i];
		const uint64_t sizes[] = { record->id_size, record->blob_size };

		good = fwrite(sizes, sizeof(sizes), 1, file) == 1 &&
		       fwrite(&record->build_ms, sizeof(record->build_ms), 1, file) == 1 &&
		       fwrite(record->id, 1, record->id_size, file) == record->id_size &&
		       fwrite(record->blob, 1, record->blob_size, file) == record->blob_size;
	}
	good = good && fflush(file) == 0 && fsync(fd) == 0;
	good = file && fclose(file) == 0 && good;
	if (!good || rename(other, path) < 0) {
		perror("framework: the cache could not be written");	/* the next run builds again */
		(void)unlink(other);
	}
	free(other);
}

static void free_cache(void)
{
	for (size_t i = 0; i < cache.count; i++) {
		free(cache.records[i].id);
		free(cache.records[i].blob);
	}
	free(cache.records);
}

/* What was done, for the summary. */
static struct {
	unsigned int built, loaded;
	double saved_ms;
} summary;

static void note_built(const char *what, const char *why, double took_ms)
{
	printf("%s: built in %.2f ms (%s)\n", what, took_ms, why);
	summary.built++;
}

static void note_loaded(const char *what, double took_ms, double build_ms)
{
	printf("%s: from its blob in %.2f ms instead of %.2f ms\n", what, took_ms, build_ms);
	summary.loaded++;
	summary.saved_ms += build_ms - took_ms;
}

/* The id of a description, which may be empty. To be freed. */
static uint8_t *get_id(const struct ckcache_desc *desc, size_t *size)
{
	enum ckcache_status status = ckcache_desc_get_id(desc, size, NULL);
	uint8_t *id = allocate(*size);

	if (status == CKCACHE_OK)
		status = ckcache_desc_get_id(desc, size, id);
	if (status != CKCACHE_OK)
		*size = 0;
	return id;
}

/* An engine: a device, and what its library has found out about it. */
struct engine_info {
	uint64_t group_multiple, private_bytes;
};

struct engine {
	cl_context context;
	cl_device_id device;
	cl_command_queue queue;		/* NULL: nothing is executed */
	struct engine_info info;
};

/* What OpenCL tells only about kernels: so one is compiled. */
static struct engine_info ask_trial_kernel(const struct engine *engine)
{
	static const char *text = "kernel void trial(global int *out) { out[0] = 1; }";
	struct engine_info info = { 0 };
	size_t multiple = 0;
	cl_ulong bytes = 0;
	cl_program program;
	cl_kernel kernel;
	cl_int error;

	program = clCreateProgramWithSource(engine->context, 1, &text, NULL, &error);
	check(error, "clCreateProgramWithSource");
	check(clBuildProgram(program, 1, &engine->device, "", NULL, NULL), "clBuildProgram");
	kernel = clCreateKernel(program, "trial", &error);
	check(error, "clCreateKernel");
	/* A driver that does not know leaves 0. */
	(void)clGetKernelWorkGroupInfo(kernel, engine->device,
				       CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE,
				       sizeof(multiple), &multiple, NULL);
	(void)clGetKernelWorkGroupInfo(kernel, engine->device, CL_KERNEL_PRIVATE_MEM_SIZE,
				       sizeof(bytes), &bytes, NULL);
	info.group_multiple = multiple;
	info.private_bytes = bytes;
	check(clReleaseKernel(kernel), "clReleaseKernel");
	check(clReleaseProgram(program), "clReleaseProgram");
	return info;
}

/* engine_get_cache_blob(): what was found out, with whose it is. To be freed. */
static void engine_store(const struct engine *engine, struct ckcache_desc *desc, double took_ms)
{
	const size_t data_size = sizeof(engine->info);
	size_t id_size, size = 0;
	uint8_t *id = get_id(desc, &id_size), *blob = NULL;
	enum ckcache_status status;

	status = ckcache_device_get_blob(desc, data_size, &engine->info, &size, NULL);
	if (status == CKCACHE_OK) {
		blob = allocate(size);
		status = ckcache_device_get_blob(desc, data_size, &engine->info, &size, blob);
	}
	if (status == CKCACHE_OK)
		store_to_persistent_cache(id_size, id, size, blob, took_ms);
	free(blob);
	free(id);
}

/* engine_create_from_cache_blob(). NULL: it worked, else why not. */
static const char *engine_load(struct engine *engine, struct ckcache_desc *desc,
			       double *ret_build_ms)
{
	size_t id_size, size = sizeof(engine->info);
	uint8_t *id = get_id(desc, &id_size);
	const struct record *record = load_from_persistent_cache(id_size, id);
	enum ckcache_status status = CKCACHE_MISS;

	free(id);
	if (record) {
		*ret_build_ms = record->build_ms;
		status = ckcache_device_get_data(desc, record->blob_size, record->blob, &size,
						 &engine->info);
	}
	return status == CKCACHE_OK && size == sizeof(engine->info) ? NULL :
								      ckcache_status_string(status);
}

static void engine_open(struct engine *engine, bool executes)
{
	const struct ckcache_library library = {
		.struct_size = sizeof(library),
		.name = "tiny framework",
		.version = "1.0",
		.address = magic,	/* the build-id of this program stands for its code */
	};
	struct ckcache_desc *desc = NULL;
	double start, build_ms = 0;
	cl_platform_id platform;
	const char *why;
	cl_int error;

	check(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
	check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &engine->device, NULL),
	      "clGetDeviceIDs");
	engine->context = clCreateContext(NULL, 1, &engine->device, NULL, NULL, &error);
	check(error, "clCreateContext");
	if (executes)
		engine->queue = clCreateCommandQueue(engine->context, engine->device, 0, &error);
	check(error, "clCreateCommandQueue");
	start = now_ms();
	/* Without a description nothing is cached. */
	if (ckcache_opencl_device_desc_new(engine->device, &library, &desc) != CKCACHE_OK)
		desc = NULL;
	why = desc ? engine_load(engine, desc, &build_ms) : "not described";
	if (why) {
		engine->info = ask_trial_kernel(engine);
		note_built("engine", why, now_ms() - start);
		if (desc)
			engine_store(engine, desc, now_ms() - start);
	} else {
		note_loaded("engine", now_ms() - start, build_ms);
	}
	printf("engine: work-groups of %llu, %llu bytes private\n",
	       (unsigned long long)engine->info.group_multiple,
	       (unsigned long long)engine->info.private_bytes);
	ckcache_desc_free(desc);
}

static void engine_close(struct engine *engine)
{
	if (engine->queue)
		check(clReleaseCommandQueue(engine->queue), "clReleaseCommandQueue");
	check(clReleaseContext(engine->context), "clReleaseContext");
}

/* What a primitive is made of: kernels that work on a vector one after the other. */
struct primitive_desc {
	const char *name;
	size_t count;
	struct {
		const char *text, *options;
		float (*reference)(float value);	/* what it does to one item */
	} kernels[MAX_KERNELS];
};

struct primitive {
	const struct primitive_desc *pd;
	cl_program programs[MAX_KERNELS];
};

static struct ckcache_desc *describe(const struct engine *engine, const struct primitive_desc *pd)
{
	struct ckcache_program programs[MAX_KERNELS];
	struct ckcache_desc *desc = NULL;

	for (size_t i = 0; i < pd->count; i++) {
		programs[i] = (struct ckcache_program){
			.struct_size = sizeof(programs[i]),
			.language = CKCACHE_LANGUAGE_OPENCL_C,
			.source = pd->kernels[i].text,
			.source_size = strlen(pd->kernels[i].text),
			.options = pd->kernels[i].options,
		};
	}
	return ckcache_opencl_desc_new(engine->context, engine->device, pd->count, programs,
				       &desc) == CKCACHE_OK ? desc : NULL;
}

static void primitive_build(const struct engine *engine, struct primitive *primitive)
{
	for (size_t i = 0; i < primitive->pd->count; i++) {
		const char *text = primitive->pd->kernels[i].text;
		cl_int error;

		primitive->programs[i] = clCreateProgramWithSource(engine->context, 1, &text, NULL,
								   &error);
		check(error, "clCreateProgramWithSource");
		check(clBuildProgram(primitive->programs[i], 1, &engine->device,
				     primitive->pd->kernels[i].options, NULL, NULL),
		      "clBuildProgram");
	}
}

/* get_id(), get_binaries(), store_to_persistent_cache(). */
static void primitive_store(const struct primitive *primitive, struct ckcache_desc *desc,
			    double build_ms)
{
	size_t id_size, size = 0;
	uint8_t *id = get_id(desc, &id_size), *blob = NULL;
	enum ckcache_status status;

	status = ckcache_opencl_get_blob(desc, primitive->programs, &size, NULL);
	if (status == CKCACHE_OK) {
		blob = allocate(size);
		status = ckcache_opencl_get_blob(desc, primitive->programs, &size, blob);
	}
	if (status == CKCACHE_OK)
		store_to_persistent_cache(id_size, id, size, blob, build_ms);
	free(blob);
	free(id);
}

/* get_id(), load_from_persistent_cache(), primitive(pd, binaries). NULL: it worked, else why not. */
static const char *primitive_load(struct primitive *primitive, struct ckcache_desc *desc,
				  double *ret_build_ms)
{
	size_t id_size;
	uint8_t *id = get_id(desc, &id_size);
	const struct record *record = load_from_persistent_cache(id_size, id);
	enum ckcache_status status = CKCACHE_MISS;

	free(id);
	if (record) {
		*ret_build_ms = record->build_ms;
		status = ckcache_opencl_create_from_blob(desc, record->blob_size, record->blob,
							 primitive->programs);
	}
	return status == CKCACHE_OK ? NULL : ckcache_status_string(status);
}

static void primitive_new(const struct engine *engine, const struct primitive_desc *pd,
			  struct primitive *primitive)
{
	double start = now_ms(), build_ms = 0;
	struct ckcache_desc *desc = describe(engine, pd);
	const char *why;

	*primitive = (struct primitive){ .pd = pd };
	why = desc ? primitive_load(primitive, desc, &build_ms) : "not described";
	if (why) {
		primitive_build(engine, primitive);
		build_ms = now_ms() - start;
		note_built(pd->name, why, build_ms);
		if (desc)
			primitive_store(primitive, desc, build_ms);
	} else {
		note_loaded(pd->name, now_ms() - start, build_ms);
	}
	ckcache_desc_free(desc);
}

static cl_kernel new_kernel(const struct primitive *primitive, size_t i)
{
	cl_int error;
	cl_kernel kernel = clCreateKernel(primitive->programs[i], "apply", &error);

	check(error, "clCreateKernel");
	return kernel;
}

/* Every kernel once, and the results against the reference's. */
static void primitive_run(const struct engine *engine, const struct primitive *primitive)
{
	const size_t items = ITEMS;
	float values[ITEMS], expected[ITEMS];
	cl_mem buffer;
	cl_int error;

	for (int i = 0; i < ITEMS; i++)
		values[i] = expected[i] = (float)(i - 20);
	buffer = clCreateBuffer(engine->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
				sizeof(values), values, &error);
	check(error, "clCreateBuffer");
	for (size_t i = 0; i < primitive->pd->count; i++) {
		cl_kernel kernel = new_kernel(primitive, i);

		check(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer), "clSetKernelArg");
		check(clEnqueueNDRangeKernel(engine->queue, kernel, 1, NULL, &items, NULL, 0, NULL,
					     NULL), "clEnqueueNDRangeKernel");
		check(clReleaseKernel(kernel), "clReleaseKernel");
		for (int j = 0; j < ITEMS; j++)
			expected[j] = primitive->pd->kernels[i].reference(expected[j]);
	}
	check(clEnqueueReadBuffer(engine->queue, buffer, CL_TRUE, 0, sizeof(values), values, 0,
				  NULL, NULL), "clEnqueueReadBuffer");
	if (memcmp(values, expected, sizeof(values)) != 0)
		fail("wrong results", 0);
	printf("%s: results verified\n", primitive->pd->name);
	check(clReleaseMemObject(buffer), "clReleaseMemObject");
}

/* Where nothing can be executed: at least the kernels are there. */
static void primitive_look(const struct primitive *primitive)
{
	for (size_t i = 0; i < primitive->pd->count; i++)
		check(clReleaseKernel(new_kernel(primitive, i)), "clReleaseKernel");
}

static void primitive_free(struct primitive *primitive)
{
	for (size_t i = 0; i < primitive->pd->count; i++)
		check(clReleaseProgram(primitive->programs[i]), "clReleaseProgram");
}

static float square(float value)
{
	return value * value;
}

static float add_three(float value)
{
	return value + 3;
}

static float clip(float value)
{
	return value < 0 ? 0 : value > 10 ? 10 : value;
}

#define KERNEL(body) "kernel void apply(global float *x) { size_t i = get_global_id(0); " body " }"
#define SQUARE { KERNEL("x[i] = x[i] * x[i];"), NULL, square }
#define ADD(number) { KERNEL("x[i] = x[i] + BIAS;"), "-DBIAS=" #number, add_three }
#define CLIP { KERNEL("x[i] = clamp(x[i], 0.0f, 10.0f);"), "-cl-mad-enable", clip }

static const struct primitive_desc descs[] = {
	{ "polynomial", 2, { SQUARE, ADD(3) } },
	{ "activation", 1, { CLIP } },
	{ "fused", 3, { CLIP, SQUARE, ADD(3) } },
};

int main(int argc, char **argv)
{
	bool executes = argc < 3 || strcmp(argv[2], "--compile-only") != 0;
	struct engine engine = { 0 };

	if (argc < 2 || argc > 3 || (argc == 3 && executes)) {
		(void)fprintf(stderr, "usage: framework FILE [--compile-only]\n");
		return 1;
	}
	read_cache(argv[1]);
	engine_open(&engine, executes);
	for (size_t i = 0; i < COUNT(descs); i++) {
		struct primitive primitive;

		primitive_new(&engine, &descs[i], &primitive);
		if (executes)
			primitive_run(&engine, &primitive);
		else
			primitive_look(&primitive);
		primitive_free(&primitive);
	}
	engine_close(&engine);
	if (cache.changed)
		write_cache(argv[1]);
	printf("built %u, from blobs %u; saved %.1f ms\n", summary.built, summary.loaded,
	       summary.saved_ms);
	free_cache();
	return 0;
}
