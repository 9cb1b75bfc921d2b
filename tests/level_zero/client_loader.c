/* SPDX-License-Identifier: MIT */
/*
 * client_loader: what a program sees of the loader and of what is in it:
 *   null             what calls with NULL where none may be answer
 *   tables           each entry of each table that the loader offers, by file and offset
 *   tables_at_once   the same tables, asked for by eight threads: "equal" or "differ"
 *   environment      the environment that a child gets
 *   versions         names of the loader's parts
 */
#include <stdatomic.h>
#include <stdbool.h>	/* ze_loader.h 1.32 uses bool without it */

#include <level_zero/loader/ze_loader.h>

#include "tests/level_zero/client.h"

#define ENTRIES 256	/* more than any table has */

typedef ze_result_t(ZE_APICALL *getter_fn)(ze_api_version_t version, void *table);

static const char *const getters[] = {
#define GETTER(name) #name,
#include "layers/level_zero/slot/getters.def"
#undef GETTER
};
#define GETTERS (sizeof(getters) / sizeof(getters[0]))

static void print(const char *call, ze_result_t status)
{
	printf("%s %#x\n", call, (unsigned)status);
}

static void init(void)
{
	ze_result_t status;

	if (!client.loader)
		client_open_loader("libze_loader.so.1");
	status = CALL(zeInit)(0);
	print("zeInit", status);
	if (status)
		exit(3);
}

/* Only the genuine validation layer answers these; a driver may well crash. */
WORD(null)
{
	print("zeModuleCreate", CALL(zeModuleCreate)(client.context, client.device, NULL, NULL, NULL));
	print("zeContextCreate", CALL(zeContextCreate)(NULL, NULL, NULL));
}

static void fill(void *tables[GETTERS][ENTRIES], ze_result_t statuses[GETTERS])
{
	memset(tables, 0, sizeof(void *) * GETTERS * ENTRIES);
	for (size_t i = 0; i < GETTERS; i++) {
		getter_fn getter = (getter_fn)dlsym(client.loader, getters[i]);

		statuses[i] = ZE_RESULT_SUCCESS;
		if (getter)
			statuses[i] = getter(ZE_API_VERSION_CURRENT, tables[i]);
	}
}

WORD(tables)
{
	static void *filled[GETTERS][ENTRIES];
	ze_result_t statuses[GETTERS];
	Dl_info info;

	init();
	fill(filled, statuses);
	for (size_t i = 0; i < GETTERS; i++) {
		print(getters[i], statuses[i]);
		for (size_t k = 0; k < ENTRIES; k++) {
			if (!filled[i][k])
				continue;
			if (!dladdr(filled[i][k], &info))
				client_give_up("dladdr", 0);
			printf("\t%zu %s+%#tx\n", k, info.dli_fname,
			       (char *)filled[i][k] - (char *)info.dli_fbase);
		}
	}
}

enum { ASKERS = 8 };
static struct {
	void *tables[GETTERS][ENTRIES];
	ze_result_t statuses[GETTERS];
} asked[ASKERS];
static atomic_uint askers;

static void ask(void)
{
	unsigned int place = atomic_fetch_add(&askers, 1);

	for (int round = 0; round < 20; round++)
		fill(asked[place].tables, asked[place].statuses);
}

WORD(tables_at_once)
{
	bool equal = true;

	init();
	client_in_threads("8", ask);
	for (size_t i = 1; i < ASKERS; i++)
		equal = equal && !memcmp(&asked[i], &asked[0], sizeof(asked[0]));
	puts(equal ? "equal" : "differ");
}

WORD(versions)
{
	zel_component_version_t parts[8];
	size_t count = 0;

	init();
	/* Loaders write all that they have, whatever the count is. */
	if (CALL(zelLoaderGetVersions)(&count, NULL) != ZE_RESULT_SUCCESS || count > 8 ||
	    CALL(zelLoaderGetVersions)(&count, parts) != ZE_RESULT_SUCCESS)
		client_give_up("versions", 0);
	for (size_t i = 0; i < count; i++)
		printf("%s\n", parts[i].component_name);
}

WORD(environment)
{
	init();
	(void)fflush(stdout);
	if (system("env") != 0)
		client_give_up("env", 0);
}
