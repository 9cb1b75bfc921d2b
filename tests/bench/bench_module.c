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

#include "tests/bench/bench_run.h"

#define THREADS 8
#define USAGE "usage: bench_module spirv|native|save|inprocess|threads FILE [OUTPUT]"

struct client {
	ze_device_handle_t device;
	ze_context_handle_t context;
	uint8_t *bytes;
	size_t len;
};

static void check(ze_result_t result, const char *what)
{
	if (result != ZE_RESULT_SUCCESS)
		bench_fail("%s failed (%#x)", what, result);
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
	start = bench_now();
	check(zeContextCreate(driver, &desc, &client->context), "zeContextCreate");
	return bench_now() - start;
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
	uint64_t start = bench_now();

	check(zeModuleCreate(client->context, client->device, &desc, ret, NULL),
	      "zeModuleCreate");
	return bench_now() - start;
}

static uint8_t *native_of(ze_module_handle_t module, size_t *ret_len)
{
	uint8_t *native;

	check(zeModuleGetNativeBinary(module, ret_len, NULL), "zeModuleGetNativeBinary");
	native = malloc(*ret_len);
	if (!native)
		bench_fail("no memory");
	check(zeModuleGetNativeBinary(module, ret_len, native), "zeModuleGetNativeBinary");
	return native;
}

static void save(const struct client *client, const char *path)
{
	ze_module_handle_t module;
	uint8_t *native;
	size_t len;

	(void)create(client, ZE_MODULE_FORMAT_IL_SPIRV, &module);
	native = native_of(module, &len);
	bench_write_file(path, native, len);
	free(native);
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

/* Takes turns, so that both see the same machine. */
static void in_process(const struct client *spirv)
{
	static uint64_t spirv_ns[BENCH_ROUNDS], native_ns[BENCH_ROUNDS];
	struct client native;

	make_first(spirv, &native);
	for (size_t i = 0; i < BENCH_ROUNDS; i++) {
		spirv_ns[i] = create_and_destroy(spirv, ZE_MODULE_FORMAT_IL_SPIRV);
		native_ns[i] = create_and_destroy(&native, ZE_MODULE_FORMAT_NATIVE);
	}
	printf("%llu %llu\n", (unsigned long long)bench_median(spirv_ns, BENCH_ROUNDS),
	       (unsigned long long)bench_median(native_ns, BENCH_ROUNDS));
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
	for (size_t i = 0; i < BENCH_ROUNDS; i++)
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
		bench_fail("pthread_barrier_init failed");
	for (size_t i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, run_thread, &crowd) != 0)
			bench_fail("pthread_create failed");
	}
	/* Before the barrier opens: afterwards this thread may be the last to run. */
	start = bench_now();
	(void)pthread_barrier_wait(&crowd.barrier);
	(void)pthread_barrier_wait(&crowd.barrier);
	start = bench_now() - start;
	for (size_t i = 0; i < THREADS; i++) {
		if (pthread_join(threads[i], NULL) != 0)
			bench_fail("pthread_join failed");
	}
	(void)pthread_barrier_destroy(&crowd.barrier);	/* nobody waits at it */
	return start / (THREADS * BENCH_ROUNDS);
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
		bench_fail(USAGE);
	client.bytes = bench_read_file(argv[2], &client.len);
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
		bench_fail(USAGE);
	}
	return 0;
}
