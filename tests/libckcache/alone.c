/* SPDX-License-Identifier: MIT */
/*
 * alone: a program with libckcache and without OpenCL: settings are the cache's,
 * in any thread from the first call on, and no API's loader comes for them. With
 * the argument "describe", where no API can be loaded: there are no descriptions. With "usable" or
 * "unusable" and a library's name: it is asked for one with OpenCL as that library has it.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "layers/shared/api/ckcache.h"

#define THREADS 8
#define ROUNDS 20

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			(void)fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			_exit(1); \
		} \
	} while (0)

static pthread_barrier_t start;

static void *set_and_get(void *ctx)
{
	const char *dir = ctx;
	char found[4096];

	(void)pthread_barrier_wait(&start);	/* tells only who was last */
	for (int i = 0; i < ROUNDS; i++) {
		size_t size = sizeof(found);
		uint64_t bytes;
		int on;

		CHECK(ckcache_set_dir(dir) == CKCACHE_OK);
		CHECK(ckcache_set_capacity(1 << 20) == CKCACHE_OK);
		CHECK(ckcache_set_persistent(CKCACHE_API_OPENCL, 1) == CKCACHE_OK);
		CHECK(ckcache_get_dir(&size, found) == CKCACHE_OK);
		CHECK(strstr(found, "alone-") != NULL);
		CHECK(ckcache_get_capacity(&bytes) == CKCACHE_OK && bytes == 1 << 20);
		CHECK(ckcache_get_persistent(CKCACHE_API_OPENCL, &on) == CKCACHE_OK && on == 1);
		CHECK(ckcache_flush() == CKCACHE_OK);
	}
	return NULL;
}

static const struct ckcache_program program = {
	.struct_size = sizeof(program), .language = CKCACHE_LANGUAGE_OPENCL_C,
	.source = "kernel void k() {}", .source_size = 18,
};

static void describe_with(const char *library, enum ckcache_status wanted)
{
	void *handle = (void *)&program;	/* nobody looks at it: all functions fail */
	struct ckcache_desc *desc = NULL;

	CHECK(dlopen(library, RTLD_NOW | RTLD_GLOBAL));
	CHECK(ckcache_opencl_desc_new(handle, handle, 1, &program, &desc) == wanted);
}

static void describe(void)
{
	const struct ckcache_library library = {
		.struct_size = sizeof(library), .name = "library", .hash = "0", .hash_size = 1,
	};
	void *handle = (void *)&program;	/* nobody is there to look at it */
	struct ckcache_desc *desc = NULL;

	CHECK(!dlopen("libOpenCL.so.1", RTLD_LAZY) && !dlopen("libze_loader.so.1", RTLD_LAZY));
	CHECK(ckcache_opencl_desc_new(handle, handle, 1, &program, &desc) ==
	      CKCACHE_ERROR_UNAVAILABLE);
	CHECK(ckcache_opencl_device_desc_new(handle, &library, &desc) == CKCACHE_ERROR_UNAVAILABLE);
	CHECK(ckcache_level_zero_desc_new(handle, handle, handle, 1, &program, &desc) ==
	      CKCACHE_ERROR_UNAVAILABLE);
	CHECK(ckcache_level_zero_device_desc_new(handle, handle, &library, &desc) ==
	      CKCACHE_ERROR_UNAVAILABLE);
	CHECK(!desc);
}

int main(int argc, char **argv)
{
	static char dirs[THREADS][16];
	pthread_t threads[THREADS];

	if (argc > 2 && strstr(argv[argc - 2], "usable")) {
		describe_with(argv[argc - 1], strcmp(argv[argc - 2], "usable") ?
			      CKCACHE_ERROR_UNAVAILABLE : CKCACHE_ERROR_INVALID_ARGUMENT);
		return 0;
	}
	if (!strcmp(argv[argc - 1], "describe"))
		describe();
	CHECK(pthread_barrier_init(&start, NULL, THREADS) == 0);
	for (int i = 0; i < THREADS; i++) {
		(void)snprintf(dirs[i], sizeof(dirs[i]), "alone-%d", i);
		CHECK(pthread_create(&threads[i], NULL, set_and_get, dirs[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	/* Nothing was stored. */
	CHECK(access("alone-0", F_OK) != 0);
	CHECK(!dlopen("libOpenCL.so.1", RTLD_LAZY | RTLD_NOLOAD));
	CHECK(!dlopen("libze_loader.so.1", RTLD_LAZY | RTLD_NOLOAD));
	return 0;
}
