/* SPDX-License-Identifier: MIT */
/*
 * diff_extensions: what extensions answer about a kernel. Drivers, loaders and
 * headers have some of them or none: functions are fetched by name, and what
 * headers may lack is declared here.
 */
#include <dlfcn.h>

#include "tests/level_zero/differential.h"

enum { UNTOUCHED = 77, MAX_ALLOCATIONS = 8, MAX_ARGUMENTS = 5 };

/* Structures that zeKernelGetProperties fills, and as much room as any of them wants. */
struct extension {
	ze_structure_type_t stype;
	void *next;
	uint32_t values[14];
};

/* Of ZE_experimental_kernel_allocation_properties. */
struct allocation {
	ze_structure_type_t stype;
	void *next;
	uint64_t base;
	size_t size;
	uint32_t type;
	uint32_t argument;
};

typedef ze_result_t(ZE_APICALL *get_binary_fn)(ze_kernel_handle_t, size_t *, uint8_t *);
typedef ze_result_t(ZE_APICALL *get_allocations_fn)(ze_kernel_handle_t, uint32_t *,
						    struct allocation *);
typedef ze_result_t(ZE_APICALL *get_argument_size_fn)(ze_kernel_handle_t, uint32_t, uint32_t *);
typedef ze_result_t(ZE_APICALL *get_argument_type_fn)(ze_kernel_handle_t, uint32_t, uint32_t *,
						      char *);
typedef ze_result_t(ZE_APICALL *get_address_fn)(ze_kernel_handle_t, uint64_t *);

/* From the driver, else from the loader; NULL: neither has it. */
static void *function(const struct diff *diff, const char *name)
{
	void *found = NULL;

	if (!zeDriverGetExtensionFunctionAddress(diff->driver, name, &found) && found)
		return found;
	return dlsym(RTLD_DEFAULT, name);
}

static void ask_properties(const struct diff *diff, const char *prefix, ze_kernel_handle_t kernel)
{
	static const struct {
		const char *name;
		uint32_t stype;
	} extensions[] = {
		{ "preferred-group-size", 0x21 }, { "max-group-size", 0x10013 },
		{ "register-file-size", 0x30012 }, { "unknown-properties", 0x7fff0001 },
	};

	for (size_t i = 0; i < sizeof(extensions) / sizeof(extensions[0]); i++) {
		struct extension extension = { .stype = (ze_structure_type_t)extensions[i].stype };
		ze_kernel_properties_t properties = {
			.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES,
			.pNext = &extension,
		};

		memset(extension.values, UNTOUCHED, sizeof(extension.values));
		diff_open(diff, diff_name(1, prefix, extensions[i].name));
		diff_print_status(diff, zeKernelGetProperties(kernel, &properties));
		printf(" %u %u args %u", extension.values[0], extension.values[1],
		       properties.numKernelArgs);
		diff_close();
	}
}

/* The bytes of two compilations differ. */
static void ask_binary(const struct diff *diff, const char *prefix, ze_kernel_handle_t kernel)
{
	get_binary_fn get = (get_binary_fn)function(diff, "zeKernelGetBinaryExp");
	size_t size = 0;
	uint8_t *room;

	if (!get)
		return;
	diff_open(diff, diff_name(1, prefix, "binary"));
	diff_print_status(diff, get(kernel, &size, NULL));
	printf(" %s", size ? "some" : "none");
	room = calloc(1, size + 1);
	if (!room)
		exit(2);
	diff_print_status(diff, get(kernel, &size, room));
	free(room);
	diff_close();
}

static void ask_allocations(const struct diff *diff, const char *prefix, ze_kernel_handle_t kernel)
{
	get_allocations_fn get =
		(get_allocations_fn)function(diff, "zeKernelGetAllocationPropertiesExp");
	struct allocation allocations[MAX_ALLOCATIONS];
	uint32_t count = 0;

	if (!get)
		return;
	diff_open(diff, diff_name(1, prefix, "allocations"));
	diff_print_status(diff, get(kernel, &count, NULL));
	printf(" count %u", count);
	count = count < MAX_ALLOCATIONS ? count : MAX_ALLOCATIONS;
	memset(allocations, 0, sizeof(allocations));
	for (uint32_t i = 0; i < count; i++)
		allocations[i].stype = (ze_structure_type_t)0x20039;
	if (count)
		diff_print_status(diff, get(kernel, &count, allocations));
	for (uint32_t i = 0; i < count; i++)
		printf(" %s type %u argument %u", allocations[i].base ? "some" : "none",
		       allocations[i].type, allocations[i].argument);
	diff_close();
}

static void ask_arguments(const struct diff *diff, const char *prefix, ze_kernel_handle_t kernel)
{
	get_argument_size_fn get_size =
		(get_argument_size_fn)function(diff, "zexKernelGetArgumentSize");
	get_argument_type_fn get_type =
		(get_argument_type_fn)function(diff, "zexKernelGetArgumentType");

	if (!get_size || !get_type)
		return;
	for (uint32_t i = 0; i < MAX_ARGUMENTS; i++) {
		uint32_t size = UNTOUCHED;
		char text[256] = "";

		diff_open(diff, diff_name(1, prefix, "argument-type"));
		printf(" %u", i);
		diff_print_status(diff, get_size(kernel, i, &size));
		printf(" %u", size);
		size = 0;
		diff_print_status(diff, get_type(kernel, i, &size, NULL));
		printf(" %u", size);
		if (size && size < sizeof(text))
			diff_print_status(diff, get_type(kernel, i, &size, text));
		printf(" %s", text);
		diff_close();
	}
}

void diff_ask_kernel_extensions(const struct diff *diff, const char *prefix,
				ze_kernel_handle_t kernel)
{
	get_address_fn get_address = (get_address_fn)function(diff, "zexKernelGetBaseAddress");
	uint64_t address = 0;

	ask_properties(diff, prefix, kernel);
	ask_binary(diff, prefix, kernel);
	ask_allocations(diff, prefix, kernel);
	ask_arguments(diff, prefix, kernel);
	if (!get_address)
		return;
	diff_open(diff, diff_name(1, prefix, "base-address"));
	diff_print_status(diff, get_address(kernel, &address));
	printf(" %s", address ? "some" : "none");
	diff_close();
}
