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

static void creations(struct diff *diff)
{
	SURVIVE(diff, "null-context") {
		const ze_module_desc_t desc = diff_desc("one", NULL);

		diff->context = NULL;
		create(diff, &desc);
	}
	SURVIVE(diff, "null-device") {
		const ze_module_desc_t desc = diff_desc("one", NULL);

		diff->device = NULL;
		create(diff, &desc);
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
	SURVIVE(diff, "null-input") {
		ze_module_desc_t desc = diff_desc("one", NULL);

		desc.pInputModule = NULL;
		create(diff, &desc);
	}
	SURVIVE(diff, "nothing") {
		ze_module_desc_t desc = diff_desc("one", NULL);

		desc.inputSize = 0;
		create(diff, &desc);
	}
	SURVIVE(diff, "null-and-nothing") {
		ze_module_desc_t desc = diff_desc("one", NULL);

		desc.inputSize = 0;
		desc.pInputModule = NULL;
		create(diff, &desc);
	}
	SURVIVE(diff, "unknown-format") {
		ze_module_desc_t desc = diff_desc("one", NULL);

		desc.format = (ze_module_format_t)9;
		create(diff, &desc);
	}
	SURVIVE(diff, "wrong-stype") {
		ze_module_desc_t desc = diff_desc("one", NULL);

		desc.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC;
		create(diff, &desc);
	}
	SURVIVE(diff, "no-il") {
		static const char text[] = "this is no intermediate language, and no binary either";
		ze_module_desc_t desc = diff_desc("one", NULL);

		desc.inputSize = sizeof(text);
		desc.pInputModule = (const uint8_t *)text;
		create(diff, &desc);
	}
	SURVIVE(diff, "no-native") {
		ze_module_desc_t desc = diff_desc("one", NULL);

		desc.format = ZE_MODULE_FORMAT_NATIVE;
		create(diff, &desc);
	}
	SURVIVE(diff, "null-native") {
		ze_module_desc_t desc = diff_desc("one", NULL);

		desc.format = ZE_MODULE_FORMAT_NATIVE;
		desc.inputSize = 0;
		create(diff, &desc);
	}
	SURVIVE(diff, "unknown-next") {
		const ze_context_desc_t next = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
		ze_module_desc_t desc = diff_desc("one", NULL);

		desc.pNext = &next;
		create(diff, &desc);
	}
	SURVIVE(diff, "unknown-stype-next") {
		const ze_context_desc_t next = { .stype = ZE_STRUCTURE_TYPE_FORCE_UINT32 };
		ze_module_desc_t desc = diff_desc("one", NULL);

		desc.pNext = &next;
		create(diff, &desc);
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
	SURVIVE(diff, "1-byte")
		create_cut(diff, 0, 1);
	SURVIVE(diff, "magic")
		create_cut(diff, 0, 4);
	SURVIVE(diff, "header")
		create_cut(diff, 0, 16);
	SURVIVE(diff, "after-header")
		create_cut(diff, 0, 20);
	SURVIVE(diff, "10")
		create_cut(diff, 10, 0);
	SURVIVE(diff, "25")
		create_cut(diff, 25, 0);
	SURVIVE(diff, "50")
		create_cut(diff, 50, 0);
	SURVIVE(diff, "51")
		create_cut(diff, 51, 2);
	SURVIVE(diff, "75")
		create_cut(diff, 75, 0);
	SURVIVE(diff, "90")
		create_cut(diff, 90, 0);
	SURVIVE(diff, "99")
		create_cut(diff, 99, 0);
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
