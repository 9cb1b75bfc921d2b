/* SPDX-License-Identifier: MIT */
/* diff_misuse: creations of modules and kernels that cannot succeed, or ought not to. */
#include "tests/level_zero/differential.h"

static void create(struct diff *diff, const ze_module_desc_t *desc)
{
	ze_module_handle_t module = NULL;
	ze_module_build_log_handle_t log = NULL;
	char text[2048] = "";
	size_t size = sizeof(text);
	uint32_t count = 0;
	ze_result_t status = diff_create(diff->context, diff->device, desc, &module, &log);

	printf(" %#x", status);
	if (log) {
		printf(" log %#x", zeModuleBuildLogGetString(log, &size, text));
		printf(" size %zu ", size);
		diff_print_text(text, size < sizeof(text) ? size : sizeof(text));
		diff_print_status(diff, zeModuleBuildLogDestroy(log));
	}
	if (!status) {
		printf(" names %#x", zeModuleGetKernelNames(module, &count, NULL));
		printf(" count %u", count);
		printf(" destroy %#x", zeModuleDestroy(module));
	}
}

/* The words of "one" with one of them another. */
static void create_with_word(struct diff *diff, size_t at, uint32_t word)
{
	ze_module_desc_t desc = diff_desc("one", NULL);
	uint32_t *words = malloc(desc.inputSize);

	if (!words)
		exit(2);
	memcpy(words, desc.pInputModule, desc.inputSize);
	words[at] = word;
	desc.pInputModule = (const uint8_t *)words;
	create(diff, &desc);
	free(words);
}

/* The first hundredths of "plain", from a page that ends where it does. */
static void create_cut(struct diff *diff, size_t hundredths, size_t bytes)
{
	ze_module_desc_t desc = diff_desc("plain", NULL);
	uint8_t *copy;

	desc.inputSize = desc.inputSize / 4 * hundredths / 100 * 4 + bytes;
	copy = malloc(desc.inputSize);
	if (!copy)
		exit(2);
	memcpy(copy, desc.pInputModule, desc.inputSize);
	desc.pInputModule = copy;
	create(diff, &desc);
	free(copy);
}

static const ze_context_desc_t context_next = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
static const ze_context_desc_t unknown_next = { .stype = ZE_STRUCTURE_TYPE_FORCE_UINT32 };
static const char no_il[] = "this is no intermediate language, and no binary either";

/* What differs from the descriptor of "one". */
static const struct creation {
	const char *name;
	bool no_context, no_device, no_input, is_empty;
	ze_module_format_t format;
	ze_structure_type_t stype;	/* 0: as it is */
	const void *next;
	bool has_text;			/* no_il is the input */
} odd_creations[] = {
	{ .name = "null-context", .no_context = true },
	{ .name = "null-device", .no_device = true },
	{ .name = "null-input", .no_input = true },
	{ .name = "nothing", .is_empty = true },
	{ .name = "null-and-nothing", .no_input = true, .is_empty = true },
	{ .name = "unknown-format", .format = (ze_module_format_t)9 },
	{ .name = "wrong-stype", .stype = ZE_STRUCTURE_TYPE_KERNEL_DESC },
	{ .name = "no-il", .has_text = true },
	{ .name = "no-native", .format = ZE_MODULE_FORMAT_NATIVE },
	{ .name = "null-native", .format = ZE_MODULE_FORMAT_NATIVE, .is_empty = true },
	{ .name = "unknown-next", .next = &context_next },
	{ .name = "unknown-stype-next", .next = &unknown_next },
};

static void create_oddly(struct diff *diff, const struct creation *odd)
{
	ze_module_desc_t desc = diff_desc("one", NULL);

	if (odd->no_context)
		diff->context = NULL;
	if (odd->no_device)
		diff->device = NULL;
	if (odd->has_text) {
		desc.inputSize = sizeof(no_il);
		desc.pInputModule = (const uint8_t *)no_il;
	}
	if (odd->no_input)
		desc.pInputModule = NULL;
	if (odd->is_empty)
		desc.inputSize = 0;
	desc.format = odd->format;
	desc.stype = odd->stype ? odd->stype : desc.stype;
	desc.pNext = odd->next;
	create(diff, &desc);
}

static void creations(struct diff *diff)
{
	for (size_t i = 0; i < sizeof(odd_creations) / sizeof(odd_creations[0]); i++) {
		SURVIVE(diff, odd_creations[i].name)
			create_oddly(diff, &odd_creations[i]);
	}
	SURVIVE(diff, "null-desc")
		create(diff, NULL);
	SURVIVE(diff, "null-module") {
		const ze_module_desc_t desc = diff_desc("one", NULL);

		diff_print_status(diff, diff_create(diff->context, diff->device, &desc, NULL, NULL));
	}
	SURVIVE(diff, "null-log") {
		const ze_module_desc_t desc = diff_desc("fp64", NULL);
		ze_module_handle_t module = NULL;

		diff_print_status(diff, diff_create(diff->context, diff->device, &desc, &module, NULL));
	}
	SURVIVE(diff, "wrong-magic")
		create_with_word(diff, 0, 0x07230204);
	SURVIVE(diff, "other-byte-order")
		create_with_word(diff, 0, 0x03022307);
	SURVIVE(diff, "wrong-version")
		create_with_word(diff, 1, 0x00990000);
	SURVIVE(diff, "too-few-ids")
		create_with_word(diff, 3, 1);
	SURVIVE(diff, "empty-instruction")
		create_with_word(diff, 5, 0);
	/* An exact copy at an odd address. */
	SURVIVE(diff, "unaligned") {
		ze_module_desc_t desc = diff_desc("one", NULL);
		uint8_t *bytes = malloc(desc.inputSize + 1);

		if (!bytes)
			exit(2);
		memcpy(bytes + 1, desc.pInputModule, desc.inputSize);
		desc.pInputModule = bytes + 1;
		create(diff, &desc);
		free(bytes);
	}
	SURVIVE(diff, "longer") {
		ze_module_desc_t desc = diff_desc("one", NULL);
		uint8_t *copy = calloc(1, desc.inputSize + 64);

		if (!copy)
			exit(2);
		memcpy(copy, desc.pInputModule, desc.inputSize);
		desc.pInputModule = copy;
		desc.inputSize += 64;
		create(diff, &desc);
		free(copy);
	}
}

static void cuts(struct diff *diff)
{
	static const struct {
		const char *name;
		size_t hundredths, bytes;
	} rows[] = {
		{ "1-byte", 0, 1 }, { "magic", 0, 4 }, { "header", 0, 16 }, { "after-header", 0, 20 },
		{ "10", 10, 0 }, { "25", 25, 0 }, { "50", 50, 0 }, { "51", 51, 2 }, { "75", 75, 0 },
		{ "90", 90, 0 }, { "99", 99, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		SURVIVE(diff, rows[i].name)
			create_cut(diff, rows[i].hundredths, rows[i].bytes);
	}
}

static void create_kernel(struct diff *diff, const char *name, ze_kernel_flags_t flags)
{
	const ze_kernel_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
		.flags = flags,
		.pKernelName = name,
	};
	ze_kernel_handle_t kernel = NULL;
	ze_module_handle_t module = diff_module(diff, "one", NULL);
	ze_result_t status = zeKernelCreate(module, &desc, &kernel);

	diff_print_status(diff, status);
	printf(" %s", kernel ? "some" : "none");
}

static void questions(struct diff *diff)
{
	SURVIVE(diff, "kernel")
		create_kernel(diff, "one", 0);
	SURVIVE(diff, "kernel-resident")
		create_kernel(diff, "one", ZE_KERNEL_FLAG_FORCE_RESIDENCY | ZE_KERNEL_FLAG_EXPLICIT_RESIDENCY);
	SURVIVE(diff, "kernel-unknown")
		create_kernel(diff, "two", 0);
	SURVIVE(diff, "kernel-empty")
		create_kernel(diff, "", 0);
	SURVIVE(diff, "kernel-null-name")
		create_kernel(diff, NULL, 0);
	SURVIVE(diff, "kernel-of-null") {
		const ze_kernel_desc_t desc = {
			.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
			.pKernelName = "one",
		};
		ze_kernel_handle_t kernel = NULL;

		diff_print_status(diff, zeKernelCreate(NULL, &desc, &kernel));
	}
	SURVIVE(diff, "kernel-null-desc") {
		ze_kernel_handle_t kernel = NULL;

		diff_print_status(diff, zeKernelCreate(diff_module(diff, "one", NULL), NULL, &kernel));
	}
	SURVIVE(diff, "null-properties")
		diff_print_status(diff, zeModuleGetProperties(diff_module(diff, "one", NULL), NULL));
	SURVIVE(diff, "null-count")
		diff_print_status(diff, zeModuleGetKernelNames(diff_module(diff, "one", NULL), NULL, NULL));
	SURVIVE(diff, "null-native-size")
		diff_print_status(diff, zeModuleGetNativeBinary(diff_module(diff, "one", NULL), NULL, NULL));
	SURVIVE(diff, "null-global-name") {
		void *pointer = NULL;

		diff_print_status(diff, zeModuleGetGlobalPointer(diff_module(diff, "one", NULL), NULL, NULL,
								 &pointer));
	}
	SURVIVE(diff, "null-function")
		diff_print_status(diff, zeModuleGetFunctionPointer(diff_module(diff, "one", NULL), "one", NULL));
	SURVIVE(diff, "null-function-name") {
		void *pointer = NULL;

		diff_print_status(diff, zeModuleGetFunctionPointer(diff_module(diff, "one", NULL), NULL, &pointer));
	}
	SURVIVE(diff, "destroy-null")
		diff_print_status(diff, zeModuleDestroy(NULL));
	SURVIVE(diff, "destroy-null-context")
		diff_print_status(diff, zeContextDestroy(NULL));
}

const struct diff_subject diff_misuses[] = {
	{ "creation-misuse", creations, true },
	{ "cut", cuts, true },
	{ "question-misuse", questions, true },
	{ NULL, NULL, false },
};
