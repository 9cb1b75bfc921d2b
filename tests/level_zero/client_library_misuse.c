/* SPDX-License-Identifier: MIT */
/* client_library_misuse: calls of which each is wrong in one way; nothing may be written, and no driver be asked to build. */
#include "tests/level_zero/client_library.h"

static int wrong;

static void expect(enum ckcache_status got, enum ckcache_status wanted, const char *what)
{
	if (got == wanted)
		return;
	printf("%s: %d, not %d\n", what, got, wanted);
	wrong++;
}

#define INVALID(call) expect(call, CKCACHE_ERROR_INVALID_ARGUMENT, #call)

static void check_programs(void)
{
	size_t count;
	const struct ckcache_program good = *client_programs(&count);
	const uint32_t values[3] = { 1, 2, 3 };
	const struct ckcache_constant twice[2] = { { 32, 4, &values[0] }, { 32, 4, &values[1] } };
	const struct ckcache_constant apart[3] = { { 32, 4, &values[0] }, { 8, 1, &values[1] },
						   { 32, 4, &values[2] } };
	const struct ckcache_constant none = { 32, 4, NULL }, wide = { 32, 9, values },
				      empty = { 32, 0, values }, narrow = { 32, 2, values };
	struct ckcache_desc *desc = NULL;
	struct ckcache_program bad[13];

	count = sizeof(bad) / sizeof(bad[0]);
	for (size_t i = 0; i < count; i++)
		bad[i] = good;
	bad[0].struct_size--;
	bad[1].language = CKCACHE_LANGUAGE_OPENCL_C;
	bad[2].language = (enum ckcache_language)0;
	bad[3].source = NULL;
	bad[4].source_size = 0;
	bad[5].constant_count = 1;
	bad[6].constant_count = 2;
	bad[6].constants = twice;
	bad[7].constant_count = bad[8].constant_count = bad[9].constant_count = 1;
	bad[7].constants = &none;
	bad[8].constants = &wide;
	bad[9].constants = &empty;
	/* The module says that it has four bytes. */
	bad[10].constant_count = 1;
	bad[10].constants = &narrow;
	/* A later version's program: what it has more would be in no id. */
	bad[11].struct_size += 8;
	bad[12].constant_count = 3;
	bad[12].constants = apart;
	for (size_t i = 0; i < count; i++) {
		if (ckcache_level_zero_desc_new(client.driver, client.context, client.device, 1,
						&bad[i], &desc) != CKCACHE_ERROR_INVALID_ARGUMENT || desc) {
			printf("program %zu\n", i);
			wrong++;
		}
	}
}

static void check_descriptions(void)
{
	size_t count;
	const struct ckcache_program *program = client_programs(&count);
	struct ckcache_library described = { sizeof(described), "library", NULL, "hash", 4, NULL };
	struct ckcache_desc *desc = NULL;

	INVALID(ckcache_level_zero_desc_new(NULL, client.context, client.device, 1, program, &desc));
	INVALID(ckcache_level_zero_desc_new(client.driver, NULL, client.device, 1, program, &desc));
	INVALID(ckcache_level_zero_desc_new(client.driver, client.context, NULL, 1, program, &desc));
	INVALID(ckcache_level_zero_desc_new(client.driver, client.context, client.device, 0, program, &desc));
	INVALID(ckcache_level_zero_desc_new(client.driver, client.context, client.device, SIZE_MAX, program, &desc));
	INVALID(ckcache_level_zero_desc_new(client.driver, client.context, client.device, 1, NULL, &desc));
	INVALID(ckcache_level_zero_desc_new(client.driver, client.context, client.device, 1, program, NULL));
	INVALID(ckcache_level_zero_device_desc_new(NULL, client.device, &described, &desc));
	INVALID(ckcache_level_zero_device_desc_new(client.driver, NULL, &described, &desc));
	INVALID(ckcache_level_zero_device_desc_new(client.driver, client.device, NULL, &desc));
	INVALID(ckcache_level_zero_device_desc_new(client.driver, client.device, &described, NULL));
	described.name = "";
	INVALID(ckcache_level_zero_device_desc_new(client.driver, client.device, &described, &desc));
	described.name = "library";
	described.hash = NULL;
	INVALID(ckcache_level_zero_device_desc_new(client.driver, client.device, &described, &desc));
	if (desc) {
		printf("a description was given\n");
		wrong++;
	}
	ckcache_desc_free(NULL);
}

/* With library.desc, which is of one module. */
static void check_uses(void)
{
	const struct ckcache_storage short_one = { .struct_size = 8 };
	struct ckcache_storage no_load = { .struct_size = sizeof(no_load) };
	struct ckcache_library described = { sizeof(described), "library", NULL, "hash", 4, NULL };
	ze_module_handle_t module = NULL;
	struct ckcache_desc *device = NULL;
	uint8_t bytes[256] = { 0 };
	size_t size = sizeof(bytes);

	INVALID(ckcache_desc_get_id(NULL, &size, bytes));
	INVALID(ckcache_desc_get_id(library.desc, NULL, bytes));
	INVALID(ckcache_level_zero_get_blob(NULL, &module, &size, bytes));
	INVALID(ckcache_level_zero_get_blob(library.desc, NULL, &size, bytes));
	INVALID(ckcache_level_zero_get_blob(library.desc, &module, &size, bytes));
	INVALID(ckcache_level_zero_create_from_blob(NULL, size, bytes, &module));
	INVALID(ckcache_level_zero_create_from_blob(library.desc, 0, bytes, &module));
	INVALID(ckcache_level_zero_create_from_blob(library.desc, size, NULL, &module));
	INVALID(ckcache_level_zero_create_from_blob(library.desc, size, bytes, NULL));
	expect(ckcache_level_zero_create_from_blob(library.desc, size, bytes, &module), CKCACHE_ERROR_DAMAGED, "zeros");
	INVALID(ckcache_level_zero_build(NULL, NULL, &module, NULL));
	INVALID(ckcache_level_zero_build(library.desc, NULL, NULL, NULL));
	INVALID(ckcache_level_zero_build(library.desc, &short_one, &module, NULL));
	INVALID(ckcache_level_zero_build(library.desc, &no_load, &module, NULL));
	/* Descriptions of something else. */
	INVALID(ckcache_opencl_build(library.desc, NULL, NULL, NULL));
	INVALID(ckcache_device_load(library.desc, NULL, &size, bytes));
	expect(ckcache_level_zero_device_desc_new(client.driver, client.device, &described, &device),
	       CKCACHE_OK, "device");
	INVALID(ckcache_level_zero_build(device, NULL, &module, NULL));
	INVALID(ckcache_level_zero_get_blob(device, &module, &size, bytes));
	ckcache_desc_free(device);
	if (module || size != sizeof(bytes) || bytes[0]) {
		printf("something was written\n");
		wrong++;
	}
}

void client_misuse(void)
{
	check_programs();
	check_descriptions();
	check_uses();
	printf("invalid: %d wrong\n", wrong);
}
