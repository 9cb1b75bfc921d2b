/* SPDX-License-Identifier: MIT */
/* diff_queries: every question about a module, its log and its kernels. */
#include "tests/level_zero/differential.h"

enum { UNTOUCHED = 77 };	/* what is in an answer's place before the call */

static void ask_properties(const struct diff *diff, const char *prefix, ze_module_handle_t module)
{
	ze_module_properties_t properties = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_PROPERTIES,
		.flags = UNTOUCHED,
	};
	ze_result_t status = zeModuleGetProperties(module, &properties);

	diff_say(diff, diff_name(1, prefix, "properties"), "%#x flags %#x stype %#x", status,
		 properties.flags, properties.stype);
}

static void print_names(ze_module_handle_t module, uint32_t count)
{
	const char *names[DIFF_MAX_KERNELS + 1];
	ze_result_t status;

	for (int i = 0; i <= DIFF_MAX_KERNELS; i++)
		names[i] = "untouched";
	status = zeModuleGetKernelNames(module, &count, names);
	printf(" %#x count %u", status, count);
	for (int i = 0; i <= DIFF_MAX_KERNELS; i++) {
		if (strcmp(names[i], "untouched") != 0)
			printf(" %d %s", i, names[i]);
	}
}

static uint32_t ask_names(const struct diff *diff, const char *prefix, ze_module_handle_t module)
{
	uint32_t count = 0;
	ze_result_t status = zeModuleGetKernelNames(module, &count, NULL);

	diff_say(diff, diff_name(1, prefix, "names-count"), "%#x count %u", status, count);
	diff_open(diff, diff_name(1, prefix, "names"));
	print_names(module, count);
	diff_close();
	diff_open(diff, diff_name(1, prefix, "names-few"));
	print_names(module, 1);
	diff_close();
	diff_open(diff, diff_name(1, prefix, "names-many"));
	print_names(module, DIFF_MAX_KERNELS);
	diff_close();
	return count < DIFF_MAX_KERNELS ? count : DIFF_MAX_KERNELS;
}

static void ask_native(const struct diff *diff, const char *prefix, ze_module_handle_t module)
{
	size_t size = 0, told = 0, many, few;
	uint8_t *native = diff_native(module, &size);
	uint8_t *room = calloc(1, size + 16);
	ze_result_t status;
	bool same;

	if (!room)
		exit(2);
	diff_say(diff, diff_name(1, prefix, "native"), "%s", native ? "some" : "none");
	if (native) {
		told = size;
		status = zeModuleGetNativeBinary(module, &told, room);
		same = !memcmp(native, room, size);
		diff_say(diff, diff_name(1, prefix, "native-again"), "%#x size %s bytes %s",
			 status, told == size ? "same" : "other", same ? "same" : "other");
		many = size + 16;
		status = zeModuleGetNativeBinary(module, &many, room);
		diff_say(diff, diff_name(1, prefix, "native-large"), "%#x size %s", status,
			 many == size ? "true" : many == size + 16 ? "given" : "other");
		few = size / 2;
		memset(room, UNTOUCHED, size + 16);
		status = zeModuleGetNativeBinary(module, &few, room);
		diff_say(diff, diff_name(1, prefix, "native-small"), "%#x size %s beyond %s", status,
			 few == size ? "true" : few == size / 2 ? "given" : "other",
			 room[size / 2] == UNTOUCHED && room[size - 1] == UNTOUCHED ? "untouched" : "written");
	}
	free(room);
	free(native);
}

static void ask_global(const struct diff *diff, const char *prefix, ze_module_handle_t module, const char *name)
{
	size_t size = UNTOUCHED;
	void *pointer = NULL;

	diff_open(diff, diff_name(1, prefix, "global"));
	printf(" %.16s", name);
	diff_print_status(diff, zeModuleGetGlobalPointer(module, name, &size, &pointer));
	printf(" %zu %s size", size, pointer ? "some" : "none");
	size = UNTOUCHED;
	diff_print_status(diff, zeModuleGetGlobalPointer(module, name, &size, NULL));
	printf(" %zu pointer", size);
	pointer = NULL;
	diff_print_status(diff, zeModuleGetGlobalPointer(module, name, NULL, &pointer));
	printf(" %s neither", pointer ? "some" : "none");
	diff_print_status(diff, zeModuleGetGlobalPointer(module, name, NULL, NULL));
	diff_close();
}

static void ask_function(const struct diff *diff, const char *prefix, ze_module_handle_t module, const char *name)
{
	void *pointer = NULL;

	diff_open(diff, diff_name(1, prefix, "function"));
	printf(" %.16s", name);
	diff_print_status(diff, zeModuleGetFunctionPointer(module, name, &pointer));
	printf(" %s", pointer ? "some" : "none");
	diff_close();
}

static void ask_no_kernel(const struct diff *diff, const char *prefix, ze_module_handle_t module, const char *name)
{
	const ze_kernel_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
		.pKernelName = name,
	};
	ze_kernel_handle_t kernel = NULL;

	diff_open(diff, diff_name(1, prefix, "no-kernel"));
	printf(" %.16s", name);
	diff_print_status(diff, zeKernelCreate(module, &desc, &kernel));
	printf(" %s", kernel ? "some" : "none");
	diff_close();
}

/* Names of one kind and another, some of them there, and some that no module has. */
static void ask_pointers(const struct diff *diff, const char *prefix, ze_module_handle_t module)
{
	static char too_long[5000];
	static const char *const names[] = {
		"counter", "table", "weights", "doubled", "scale", "twice", "thrice", "one",
		"needs", "nothing", "Counter", "counter ", "", too_long,
	};
	static const char *const absent[] = { "nothing", "Scale", "scal", "counter", "", too_long };

	memset(too_long, 'n', sizeof(too_long) - 1);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		ask_global(diff, prefix, module, names[i]);
		ask_function(diff, prefix, module, names[i]);
	}
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		ask_no_kernel(diff, prefix, module, absent[i]);
}

/* Alone: diff_links has several. */
static void ask_linkage(const struct diff *diff, const char *prefix, ze_module_handle_t module)
{
	for (ze_linkage_inspection_ext_flags_t flags = 0; flags < 8; flags++) {
		ze_linkage_inspection_ext_desc_t desc = {
			.stype = ZE_STRUCTURE_TYPE_LINKAGE_INSPECTION_EXT_DESC,
			.flags = flags,
		};
		ze_module_build_log_handle_t log = NULL;
		char text[2048] = "";
		size_t size = sizeof(text);

		diff_open(diff, diff_name(1, prefix, "linkage"));
		printf(" %u", flags);
		diff_print_status(diff, zeModuleInspectLinkageExt(&desc, 1, &module, &log));
		if (log) {
			diff_print_status(diff, zeModuleBuildLogGetString(log, &size, text));
			diff_print_text(text, size < sizeof(text) ? size : sizeof(text));
			diff_print_status(diff, zeModuleBuildLogDestroy(log));
		}
		diff_close();
	}
}

void diff_ask_surface(const struct diff *diff, const char *prefix, ze_module_handle_t module)
{
	ask_properties(diff, prefix, module);
	(void)ask_names(diff, prefix, module);	/* the count is for those who ask kernels */
	ask_native(diff, prefix, module);
	ask_pointers(diff, prefix, module);
	ask_linkage(diff, prefix, module);
}

void diff_ask_module(const struct diff *diff, const char *prefix, ze_module_handle_t module)
{
	const char *names[DIFF_MAX_KERNELS] = { NULL };
	uint32_t count = DIFF_MAX_KERNELS;

	diff_ask_surface(diff, prefix, module);
	if (zeModuleGetKernelNames(module, &count, names))
		return;
	for (uint32_t i = 0; i < count && i < DIFF_MAX_KERNELS; i++) {
		const ze_kernel_desc_t desc = {
			.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
			.pKernelName = names[i],
		};
		const char *name = diff_name(2, prefix, names[i]);
		ze_kernel_handle_t kernel = NULL;
		ze_result_t status = zeKernelCreate(module, &desc, &kernel);

		diff_say(diff, diff_name(1, name, "create"), "%#x", status);
		if (status)
			continue;
		diff_ask_kernel(diff, name, kernel);
		diff_say(diff, diff_name(1, name, "destroy"), "%#x", zeKernelDestroy(kernel));
	}
}

static void ask_kernel_properties(const struct diff *diff, const char *prefix, ze_kernel_handle_t kernel)
{
	ze_kernel_preferred_group_size_properties_t preferred = {
		.stype = ZE_STRUCTURE_TYPE_KERNEL_PREFERRED_GROUP_SIZE_PROPERTIES,
		.preferredMultiple = UNTOUCHED,
	};
	ze_kernel_properties_t all = {
		.stype = ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES,
		.pNext = &preferred,
	};
	ze_result_t status = zeKernelGetProperties(kernel, &all);

	diff_say(diff, diff_name(1, prefix, "properties"),
		 "%#x args %u required %u %u %u subgroups %u of %u at most %u of %u"
		 " local %u private %u spill %u preferred %u",
		 status, all.numKernelArgs, all.requiredGroupSizeX, all.requiredGroupSizeY,
		 all.requiredGroupSizeZ, all.requiredNumSubGroups, all.requiredSubgroupSize,
		 all.maxNumSubgroups, all.maxSubgroupSize, all.localMemSize, all.privateMemSize,
		 all.spillMemSize, preferred.preferredMultiple);
	diff_open(diff, diff_name(1, prefix, "uuid"));
	printf(" ");
	for (size_t i = 0; i < sizeof(all.uuid.kid); i++)
		printf("%02x", all.uuid.kid[i]);
	printf(" ");
	for (size_t i = 0; i < sizeof(all.uuid.mid); i++)
		printf("%02x", all.uuid.mid[i]);
	diff_close();
}

static void ask_texts(const struct diff *diff, const char *prefix, ze_kernel_handle_t kernel)
{
	char text[256];
	size_t size = 0;
	uint32_t length = 0;
	char *attributes = NULL;
	ze_result_t status = zeKernelGetName(kernel, &size, NULL);

	diff_open(diff, diff_name(1, prefix, "name"));
	printf(" %#x size %zu", status, size);
	size = sizeof(text);
	memset(text, UNTOUCHED, sizeof(text));
	status = zeKernelGetName(kernel, &size, text);
	printf(" %#x size %zu ", status, size);
	diff_print_text(text, size < sizeof(text) ? size : sizeof(text));
	size = 2;
	memset(text, UNTOUCHED, sizeof(text));
	status = zeKernelGetName(kernel, &size, text);
	printf(" %#x size %zu ", status, size);
	diff_print_text(text, 4);
	diff_close();

	status = zeKernelGetSourceAttributes(kernel, &length, NULL);
	diff_open(diff, diff_name(1, prefix, "attributes"));
	printf(" %#x size %u", status, length);
	if (!status && length < sizeof(text)) {
		attributes = text;
		memset(text, UNTOUCHED, sizeof(text));
		status = zeKernelGetSourceAttributes(kernel, &length, &attributes);
		printf(" %#x size %u ", status, length);
		diff_print_text(attributes, attributes ? strnlen(attributes, sizeof(text)) : 0);
	}
	diff_close();
}

static void ask_groups(const struct diff *diff, const char *prefix, ze_kernel_handle_t kernel)
{
	static const uint32_t sizes[][3] = {
		{ 1, 1, 1 }, { 64, 1, 1 }, { 1000, 7, 3 }, { 4096, 4096, 1 }, { 8, 2, 1 },
	};
	static const uint32_t sets[][3] = {
		{ 8, 2, 1 }, { 16, 1, 1 }, { 0, 0, 0 }, { 100000, 1, 1 },
	};

	diff_open(diff, diff_name(1, prefix, "suggested"));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint32_t x = 0, y = 0, z = 0;
		ze_result_t status = zeKernelSuggestGroupSize(kernel, sizes[i][0], sizes[i][1],
							      sizes[i][2], &x, &y, &z);

		printf(" %#x %u %u %u", status, x, y, z);
	}
	diff_close();
	diff_open(diff, diff_name(1, prefix, "sizes"));
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
		uint32_t count = UNTOUCHED;

		diff_print_status(diff, zeKernelSetGroupSize(kernel, sets[i][0], sets[i][1], sets[i][2]));
		diff_print_status(diff, zeKernelSuggestMaxCooperativeGroupCount(kernel, &count));
		printf(" %u", count);
	}
	diff_close();
}

static void ask_arguments(const struct diff *diff, const char *prefix, ze_kernel_handle_t kernel)
{
	static const size_t sizes[] = { 0, 1, 4, 8, 16, 17, 64 };
	const unsigned char zeros[64] = { 0 };

	/* The driver takes what it is given for an image's or a sampler's handle, and crashes. */
	if (strstr(prefix, ".image"))
		return;
	for (uint32_t i = 0; i < 5; i++) {
		char number[16];

		(void)snprintf(number, sizeof(number), "argument-%u", i);
		diff_open(diff, diff_name(1, prefix, number));
		for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
			diff_print_status(diff, zeKernelSetArgumentValue(kernel, i, sizes[k], NULL));
			/* As a pointer not one of the driver's, as a number 0. */
			diff_print_status(diff, zeKernelSetArgumentValue(kernel, i, sizes[k], zeros));
		}
		diff_close();
	}
}

static void ask_settings(const struct diff *diff, const char *prefix, ze_kernel_handle_t kernel)
{
	ze_scheduling_hint_exp_desc_t hint = {
		.stype = ZE_STRUCTURE_TYPE_SCHEDULING_HINT_EXP_DESC,
		.flags = ZE_SCHEDULING_HINT_EXP_FLAG_OLDEST_FIRST,
	};
	ze_kernel_indirect_access_flags_t access = UNTOUCHED;
	ze_result_t status = zeKernelGetIndirectAccess(kernel, &access);

	diff_open(diff, diff_name(1, prefix, "access"));
	printf(" %#x %#x", status, access);
	diff_print_status(diff, zeKernelSetIndirectAccess(kernel, ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST));
	diff_print_status(diff, zeKernelGetIndirectAccess(kernel, &access));
	printf(" %#x %#x", access, zeKernelSetIndirectAccess(kernel, 0x80));
	diff_close();
	diff_open(diff, diff_name(1, prefix, "settings"));
	diff_print_status(diff, zeKernelSetCacheConfig(kernel, ZE_CACHE_CONFIG_FLAG_LARGE_SLM));
	diff_print_status(diff, zeKernelSetCacheConfig(kernel, ZE_CACHE_CONFIG_FLAG_LARGE_DATA));
	diff_print_status(diff, zeKernelSetGlobalOffsetExp(kernel, 1, 2, 3));
	diff_print_status(diff, zeKernelSchedulingHintExp(kernel, &hint));
	diff_close();
}

void diff_ask_kernel(const struct diff *diff, const char *prefix, ze_kernel_handle_t kernel)
{
	ask_kernel_properties(diff, prefix, kernel);
	ask_texts(diff, prefix, kernel);
	ask_settings(diff, prefix, kernel);
	ask_arguments(diff, prefix, kernel);
	ask_groups(diff, prefix, kernel);
	diff_ask_kernel_extensions(diff, prefix, kernel);
}

void diff_ask_log(const struct diff *diff, const char *prefix, ze_module_build_log_handle_t log)
{
	size_t size = UNTOUCHED, told;
	ze_result_t status = zeModuleBuildLogGetString(log, &size, NULL);
	char *text = calloc(1, size + 64);

	if (!text)
		exit(2);
	diff_say(diff, diff_name(1, prefix, "log-size"), "%#x size %zu", status, size);
	told = size;
	status = zeModuleBuildLogGetString(log, &told, text);
	diff_open(diff, diff_name(1, prefix, "log-text"));
	printf(" %#x size %zu ", status, told);
	diff_print_text(text, told);
	diff_close();
	told = size + 32;
	memset(text, UNTOUCHED, size + 64);
	status = zeModuleBuildLogGetString(log, &told, text);
	diff_open(diff, diff_name(1, prefix, "log-large"));
	printf(" %#x size %zu beyond %s", status, told, text[size] == UNTOUCHED ? "untouched" : "written");
	diff_close();
	free(text);
}
