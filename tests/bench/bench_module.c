/* SPDX-License-Identifier: MIT */
/*
 * bench_module: one fresh Level Zero application that makes one module and
 * says how long the driver's call took. Driver, device, context and the file
 * are there before the clock starts; only zeModuleCreate is timed. It knows
 * nothing of ckcache: the plugin is loaded, or not, by its environment.
 *
 *   bench_module spirv FILE           prints nanoseconds: of the module, of the context
 *   bench_module native FILE          the same, from a saved native binary
 *   bench_module save FILE OUTPUT     builds and saves the native binary
 *   bench_module inprocess FILE       prints "spirv_ns native_ns", medians of later
 *                                     modules in a process that made it before
 *   bench_module threads FILE         the same of 8 threads at once: from their start to
 *                                     their end, by the number of modules
 */
#include <level_zero/ze_api.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Enough for a stable median; odd, so that the median is a measured value. */
#define INPROCESS_ROUNDS 101
#define THREADS 8

struct client {
	ze_device_handle_t device;
	ze_context_handle_t context;
	uint8_t *bytes;
	size_t len;
};

static _Noreturn void fail(const char *what, unsigned int code)
{
	fprintf(stderr, "bench_module: %s failed (%#x)\n", what, code);
	exit(1);
}

static void check(ze_result_t result, const char *what)
{
	if (result != ZE_RESULT_SUCCESS)
		fail(what, result);
}

static uint64_t now(void)
{
	struct timespec time;

	if (clock_gettime(CLOCK_MONOTONIC, &time) != 0)
		fail("clock_gettime", 0);
	return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void read_file(struct client *client, const char *path)
{
	FILE *file = fopen(path, "rb");
	long len;

	if (!file || fseek(file, 0, SEEK_END) != 0 || (len = ftell(file)) < 0 ||
	    fseek(file, 0, SEEK_SET) != 0)
		fail(path, 0);
	client->len = (size_t)len;
	client->bytes = malloc(client->len + 1);
	if (!client->bytes || fread(client->bytes, 1, client->len, file) != client->len)
		fail(path, 0);
	(void)fclose(file);	/* only read */
}

/* The time that the context took. */
static uint64_t open_device(struct client *client)
{
	const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_driver_handle_t driver;
	uint32_t count = 1;
	uint64_t start;

	check(zeInit(0), "zeInit");
	check(zeDriverGet(&count, &driver), "zeDriverGet");
	count = 1;
	check(zeDeviceGet(driver, &count, &client->device), "zeDeviceGet");
	start = now();
	check(zeContextCreate(driver, &desc, &client->context), "zeContextCreate");
	return now() - start;
}

static uint64_t create(const struct client *client, ze_module_format_t format,
		       ze_module_handle_t *ret)
{
	const ze_module_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.format = format,
		.inputSize = client->len,
		.pInputModule = client->bytes,
	};
	uint64_t start = now();

	check(zeModuleCreate(client->context, client->device, &desc, ret, NULL),
	      "zeModuleCreate");
	return now() - start;
}

static uint8_t *native_of(ze_module_handle_t module, size_t *ret_len)
{
	uint8_t *native;

	check(zeModuleGetNativeBinary(module, ret_len, NULL), "zeModuleGetNativeBinary");
	native = malloc(*ret_len);
	if (!native)
		fail("malloc", 0);
	check(zeModuleGetNativeBinary(module, ret_len, native), "zeModuleGetNativeBinary");
	return native;
}

static void save(const struct client *client, const char *path)
{
	ze_module_handle_t module;
	FILE *file = fopen(path, "wb");
	uint8_t *native;
	size_t len;

	(void)create(client, ZE_MODULE_FORMAT_IL_SPIRV, &module);
	native = native_of(module, &len);
	if (!file || fwrite(native, 1, len, file) != len || fclose(file) != 0)
		fail(path, 0);
	free(native);
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

static uint64_t create_and_destroy(const struct client *client, ze_module_format_t format)
{
	ze_module_handle_t module;
	uint64_t ns = create(client, format, &module);

	check(zeModuleDestroy(module), "zeModuleDestroy");
	return ns;
}

/* What the cache keeps, and the driver's own binary of the same module, for the floor. */
static void make_first(const struct client *spirv, struct client *ret_native)
{
	ze_module_handle_t module;

	(void)create(spirv, ZE_MODULE_FORMAT_IL_SPIRV, &module);
	*ret_native = *spirv;
	ret_native->bytes = native_of(module, &ret_native->len);
	check(zeModuleDestroy(module), "zeModuleDestroy");
}

static uint64_t median(uint64_t *times)
{
	qsort(times, INPROCESS_ROUNDS, sizeof(*times), compare);
	return times[INPROCESS_ROUNDS / 2];
}

/* Takes turns, so that both see the same machine. */
static void in_process(const struct client *spirv)
{
	static uint64_t spirv_ns[INPROCESS_ROUNDS], native_ns[INPROCESS_ROUNDS];
	struct client native;

	make_first(spirv, &native);
	for (size_t i = 0; i < INPROCESS_ROUNDS; i++) {
		spirv_ns[i] = create_and_destroy(spirv, ZE_MODULE_FORMAT_IL_SPIRV);
		native_ns[i] = create_and_destroy(&native, ZE_MODULE_FORMAT_NATIVE);
	}
	printf("%llu %llu\n", (unsigned long long)median(spirv_ns),
	       (unsigned long long)median(native_ns));
	free(native.bytes);
}

struct crowd {
	const struct client *client;
	ze_module_format_t format;
	pthread_barrier_t barrier;
};

static void *run_thread(void *argument)
{
	struct crowd *crowd = argument;

	(void)pthread_barrier_wait(&crowd->barrier);	/* which thread is last does not matter */
	for (size_t i = 0; i < INPROCESS_ROUNDS; i++)
		(void)create_and_destroy(crowd->client, crowd->format);
	(void)pthread_barrier_wait(&crowd->barrier);
	return NULL;
}

static uint64_t time_crowd(const struct client *client, ze_module_format_t format)
{
	struct crowd crowd = { .client = client, .format = format };
	pthread_t threads[THREADS];
	uint64_t start;

	if (pthread_barrier_init(&crowd.barrier, NULL, THREADS + 1) != 0)
		fail("pthread_barrier_init", 0);
	for (size_t i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, run_thread, &crowd) != 0)
			fail("pthread_create", 0);
	}
	start = now();	/* before the barrier opens: afterwards this thread may be the last to run */
	(void)pthread_barrier_wait(&crowd.barrier);
	(void)pthread_barrier_wait(&crowd.barrier);
	start = now() - start;
	for (size_t i = 0; i < THREADS; i++) {
		if (pthread_join(threads[i], NULL) != 0)
			fail("pthread_join", 0);
	}
	(void)pthread_barrier_destroy(&crowd.barrier);	/* nobody waits at it */
	return start / (THREADS * INPROCESS_ROUNDS);
}

static void in_threads(const struct client *spirv)
{
	struct client native;

	make_first(spirv, &native);
	printf("%llu ", (unsigned long long)time_crowd(spirv, ZE_MODULE_FORMAT_IL_SPIRV));
	printf("%llu\n", (unsigned long long)time_crowd(&native, ZE_MODULE_FORMAT_NATIVE));
	free(native.bytes);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	ze_module_handle_t module;
	struct client client;
	uint64_t context_ns, module_ns;

	if (argc <= 2)
		fail("usage", 0);
	read_file(&client, argv[2]);
	context_ns = open_device(&client);
	if (!strcmp(mode, "save") && argc > 3) {
		save(&client, argv[3]);
	} else if (!strcmp(mode, "inprocess")) {
		in_process(&client);
	} else if (!strcmp(mode, "threads")) {
		in_threads(&client);
	} else if (!strcmp(mode, "spirv") || !strcmp(mode, "native")) {
		module_ns = create(&client, mode[0] == 's' ? ZE_MODULE_FORMAT_IL_SPIRV
							   : ZE_MODULE_FORMAT_NATIVE, &module);
		printf("%llu %llu\n", (unsigned long long)module_ns,
		       (unsigned long long)context_ns);
	} else {
		fail("usage", 0);
	}
	return 0;
}
