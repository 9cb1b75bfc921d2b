/* SPDX-License-Identifier: MIT */
/*
 * client: a program that uses Level Zero. Compiled twice: linked to the loader,
 * and opening it with dlopen (CLIENT_DLOPEN). Prints what it sees, for a test
 * to compare.
 *   module        each call's status, down to a module from SPIR-V
 *   null          what calls with NULL where none may be answer
 *   tables        each entry of each table that the loader offers, by file and offset
 *   threads       the same tables, asked for by eight threads at once: "equal" or "differ"
 *   environment   after zeInit, the environment that a child gets
 *   versions      names of the loader's parts
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>	/* ze_loader.h 1.32 uses bool without it */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <level_zero/loader/ze_loader.h>
#include <level_zero/ze_api.h>

#include "tests/opencl/value_il.h"

#define ENTRIES 256	/* more than any table has */
#define THREADS 8

typedef ze_result_t(ZE_APICALL *getter_fn)(ze_api_version_t version, void *table);

static const char *const getters[] = {
#define GETTER(name) #name,
#include "layers/level_zero/slot/getters.def"
#undef GETTER
};
#define GETTERS (sizeof(getters) / sizeof(getters[0]))

#ifdef CLIENT_DLOPEN
static void *loader;
#define CALL(name) ((__typeof__(&name))dlsym(loader, #name))
#else
#define CALL(name) (&name)
#endif

static void *loader_symbol(const char *name)
{
#ifdef CLIENT_DLOPEN
	return dlsym(loader, name);
#else
	return dlsym(RTLD_DEFAULT, name);
#endif
}

static void print(const char *call, ze_result_t status)
{
	printf("%s %#x\n", call, (unsigned)status);
}

struct handles {
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
};

static bool make_context(struct handles *handles)
{
	const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	uint32_t count = 1;
	ze_result_t status = CALL(zeDriverGet)(&count, &handles->driver);

	print("zeDriverGet", status);
	count = 1;
	if (!status)
		status = CALL(zeDeviceGet)(handles->driver, &count, &handles->device);
	print("zeDeviceGet", status);
	if (!status)
		status = CALL(zeContextCreate)(handles->driver, &desc, &handles->context);
	print("zeContextCreate", status);
	return !status;
}

static int module(void)
{
	const ze_module_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.format = ZE_MODULE_FORMAT_IL_SPIRV,
		.inputSize = sizeof(value_il),
		.pInputModule = (const uint8_t *)value_il,
	};
	ze_module_handle_t made = NULL;
	struct handles handles = { 0 };
	const char *name = NULL;
	uint32_t count = 1;
	ze_result_t status;

	if (!make_context(&handles))
		return 1;
	status = CALL(zeModuleCreate)(handles.context, handles.device, &desc, &made, NULL);
	print("zeModuleCreate", status);
	if (status)
		return 1;
	print("zeModuleGetKernelNames", CALL(zeModuleGetKernelNames)(made, &count, &name));
	printf("kernel %s\n", name ? name : "none");
	print("zeModuleDestroy", CALL(zeModuleDestroy)(made));
	print("zeContextDestroy", CALL(zeContextDestroy)(handles.context));
	return 0;
}

/* Only the genuine validation layer answers these; a driver may well crash. */
static int null(void)
{
	struct handles handles = { 0 };

	if (!make_context(&handles))
		return 1;
	print("zeModuleCreate",
	      CALL(zeModuleCreate)(handles.context, handles.device, NULL, NULL, NULL));
	print("zeContextCreate", CALL(zeContextCreate)(NULL, NULL, NULL));
	return 0;
}

static void fill(void *tables[GETTERS][ENTRIES], ze_result_t statuses[GETTERS])
{
	memset(tables, 0, sizeof(void *) * GETTERS * ENTRIES);
	for (size_t i = 0; i < GETTERS; i++) {
		getter_fn getter = (getter_fn)loader_symbol(getters[i]);

		statuses[i] = ZE_RESULT_SUCCESS;
		if (getter)
			statuses[i] = getter(ZE_API_VERSION_CURRENT, tables[i]);
	}
}

static int tables(void)
{
	static void *filled[GETTERS][ENTRIES];
	ze_result_t statuses[GETTERS];
	Dl_info info;

	fill(filled, statuses);
	for (size_t i = 0; i < GETTERS; i++) {
		print(getters[i], statuses[i]);
		for (size_t k = 0; k < ENTRIES; k++) {
			if (!filled[i][k])
				continue;
			if (!dladdr(filled[i][k], &info))
				return 1;
			printf("\t%zu %s+%#tx\n", k, info.dli_fname,
			       (char *)filled[i][k] - (char *)info.dli_fbase);
		}
	}
	return 0;
}

struct asker {
	pthread_t thread;
	void *tables[GETTERS][ENTRIES];
	ze_result_t statuses[GETTERS];
};

static void *ask(void *data)
{
	struct asker *asker = data;

	for (int round = 0; round < 20; round++)
		fill(asker->tables, asker->statuses);
	return NULL;
}

static int threads(void)
{
	static struct asker askers[THREADS];
	bool equal = true;

	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&askers[i].thread, NULL, ask, &askers[i]) != 0)
			return 1;
	for (size_t i = 0; i < THREADS; i++) {
		(void)pthread_join(askers[i].thread, NULL);
		equal = equal &&
			!memcmp(askers[i].tables, askers[0].tables, sizeof(askers[0].tables)) &&
			!memcmp(askers[i].statuses, askers[0].statuses,
				sizeof(askers[0].statuses));
	}
	puts(equal ? "equal" : "differ");
	return module();
}

static int versions(void)
{
	zel_component_version_t parts[8];
	size_t count = 0;

	/* Loaders write all that they have, whatever the count is. */
	if (CALL(zelLoaderGetVersions)(&count, NULL) != ZE_RESULT_SUCCESS || count > 8 ||
	    CALL(zelLoaderGetVersions)(&count, parts) != ZE_RESULT_SUCCESS)
		return 1;
	for (size_t i = 0; i < count; i++)
		printf("%s\n", parts[i].component_name);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "module";
	ze_result_t status;

#ifdef CLIENT_DLOPEN
	loader = dlopen("libze_loader.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!loader) {
		fprintf(stderr, "%s\n", dlerror());
		return 2;
	}
#endif
	status = CALL(zeInit)(0);
	print("zeInit", status);
	if (status)
		return 3;
	if (strcmp(mode, "null") == 0)
		return null();
	if (strcmp(mode, "tables") == 0)
		return tables();
	if (strcmp(mode, "threads") == 0)
		return threads();
	if (strcmp(mode, "versions") == 0)
		return versions();
	if (strcmp(mode, "environment") == 0) {
		(void)fflush(stdout);
		return system("env");
	}
	return module();
}
