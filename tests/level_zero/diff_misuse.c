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

static void null_context(struct diff *diff)
{
	const ze_module_desc_t desc = diff_desc("one", NULL);

	diff->context = NULL;
	create(diff, &desc);
}

static void null_device(struct diff *diff)
{
	const ze_module_desc_t desc = diff_desc("one", NULL);

	diff->device = NULL;
	create(diff, &desc);
}

static void null_desc(struct diff *diff)
{
	create(diff, NULL);
}

static void null_module(struct diff *diff)
{
	const ze_module_desc_t desc = diff_desc("one", NULL);

	diff_print_status(diff, diff_create(diff->context, diff->device, &desc, NULL, NULL));
}

static void null_log(struct diff *diff)
{
	const ze_module_desc_t desc = diff_desc("fp64", NULL);
	ze_module_handle_t module = NULL;

	diff_print_status(diff, diff_create(diff->context, diff->device, &desc, &module, NULL));
}

static void null_input(struct diff *diff)
{
	ze_module_desc_t desc = diff_desc("one", NULL);

	desc.pInputModule = NULL;
	create(diff, &desc);
}

static void nothing(struct diff *diff)
{
	ze_module_desc_t desc = diff_desc("one", NULL);

	desc.inputSize = 0;
	create(diff, &desc);
}

static void null_and_nothing(struct diff *diff)
{
	ze_module_desc_t desc = diff_desc("one", NULL);

	desc.inputSize = 0;
	desc.pInputModule = NULL;
	create(diff, &desc);
}

static void unknown_format(struct diff *diff)
{
	ze_module_desc_t desc = diff_desc("one", NULL);

	desc.format = (ze_module_format_t)9;
	create(diff, &desc);
}

static void wrong_stype(struct diff *diff)
{
	ze_module_desc_t desc = diff_desc("one", NULL);

	desc.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC;
	create(diff, &desc);
}

static void no_il(struct diff *diff)
{
	static const char text[] = "this is no intermediate language, and no binary either";
	ze_module_desc_t desc = diff_desc("one", NULL);

	desc.inputSize = sizeof(text);
	desc.pInputModule = (const uint8_t *)text;
	create(diff, &desc);
}

static void no_native(struct diff *diff)
{
	ze_module_desc_t desc = diff_desc("one", NULL);

	desc.format = ZE_MODULE_FORMAT_NATIVE;
	create(diff, &desc);
}

static void null_native(struct diff *diff)
{
	ze_module_desc_t desc = diff_desc("one", NULL);

	desc.format = ZE_MODULE_FORMAT_NATIVE;
	desc.inputSize = 0;
	create(diff, &desc);
}

static void unknown_next(struct diff *diff)
{
	const ze_context_desc_t next = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_module_desc_t desc = diff_desc("one", NULL);

	desc.pNext = &next;
	create(diff, &desc);
}

static void unknown_stype_next(struct diff *diff)
{
	const ze_context_desc_t next = { .stype = ZE_STRUCTURE_TYPE_FORCE_UINT32 };
	ze_module_desc_t desc = diff_desc("one", NULL);

	desc.pNext = &next;
	create(diff, &desc);
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

static void wrong_magic(struct diff *diff)
{
	create_with_word(diff, 0, 0x07230204);
}

static void other_byte_order(struct diff *diff)
{
	create_with_word(diff, 0, 0x03022307);
}

static void wrong_version(struct diff *diff)
{
	create_with_word(diff, 1, 0x00990000);
}

static void too_few_ids(struct diff *diff)
{
	create_with_word(diff, 3, 1);
}

static void empty_instruction(struct diff *diff)
{
	create_with_word(diff, 5, 0);
}

/* An exact copy at an odd address. */
static void unaligned(struct diff *diff)
{
	ze_module_desc_t desc = diff_desc("one", NULL);
	uint8_t *bytes = malloc(desc.inputSize + 1);

	if (!bytes)
		exit(2);
	memcpy(bytes + 1, desc.pInputModule, desc.inputSize);
	desc.pInputModule = bytes + 1;
	create(diff, &desc);
	free(bytes);
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

#define CUT(name, hundredths, bytes)                         \
	static void name(struct diff *diff)                  \
	{                                                    \
		create_cut(diff, hundredths, bytes);         \
	}
CUT(cut_1_byte, 0, 1)
CUT(cut_magic, 0, 4)
CUT(cut_header, 0, 16)
CUT(cut_after_header, 0, 20)
CUT(cut_10, 10, 0)
CUT(cut_25, 25, 0)
CUT(cut_50, 50, 0)
CUT(cut_51, 51, 2)
CUT(cut_75, 75, 0)
CUT(cut_90, 90, 0)
CUT(cut_99, 99, 0)

static void longer(struct diff *diff)
{
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

static void creations(struct diff *diff)
{
	static const struct diff_case cases[] = {
		{ "null-context", null_context },
		{ "null-device", null_device },
		{ "null-desc", null_desc },
		{ "null-module", null_module },
		{ "null-log", null_log },
		{ "null-input", null_input },
		{ "nothing", nothing },
		{ "null-and-nothing", null_and_nothing },
		{ "unknown-format", unknown_format },
		{ "wrong-stype", wrong_stype },
		{ "no-il", no_il },
		{ "no-native", no_native },
		{ "null-native", null_native },
		{ "unknown-next", unknown_next },
		{ "unknown-stype-next", unknown_stype_next },
		{ "wrong-magic", wrong_magic },
		{ "other-byte-order", other_byte_order },
		{ "wrong-version", wrong_version },
		{ "too-few-ids", too_few_ids },
		{ "empty-instruction", empty_instruction },
		{ "unaligned", unaligned },
		{ "longer", longer },
		{ NULL, NULL },
	};

	diff_survive_each(diff, cases);
}

static void cuts(struct diff *diff)
{
	static const struct diff_case cases[] = {
		{ "1-byte", cut_1_byte },
		{ "magic", cut_magic },
		{ "header", cut_header },
		{ "after-header", cut_after_header },
		{ "10", cut_10 },
		{ "25", cut_25 },
		{ "50", cut_50 },
		{ "51", cut_51 },
		{ "75", cut_75 },
		{ "90", cut_90 },
		{ "99", cut_99 },
		{ NULL, NULL },
	};

	diff_survive_each(diff, cases);
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

static void kernel_known(struct diff *diff)
{
	create_kernel(diff, "one", 0);
}

static void kernel_resident(struct diff *diff)
{
	create_kernel(diff, "one", ZE_KERNEL_FLAG_FORCE_RESIDENCY | ZE_KERNEL_FLAG_EXPLICIT_RESIDENCY);
}

static void kernel_unknown(struct diff *diff)
{
	create_kernel(diff, "two", 0);
}

static void kernel_empty(struct diff *diff)
{
	create_kernel(diff, "", 0);
}

static void kernel_null_name(struct diff *diff)
{
	create_kernel(diff, NULL, 0);
}

static void kernel_of_null(struct diff *diff)
{
	const ze_kernel_desc_t desc = {
		.stype = ZE_STRUCTURE_TYPE_KERNEL_DESC,
		.pKernelName = "one",
	};
	ze_kernel_handle_t kernel = NULL;

	(void)diff;
	diff_print_status(diff, zeKernelCreate(NULL, &desc, &kernel));
}

static void kernel_null_desc(struct diff *diff)
{
	ze_kernel_handle_t kernel = NULL;

	diff_print_status(diff, zeKernelCreate(diff_module(diff, "one", NULL), NULL, &kernel));
}

static void null_properties(struct diff *diff)
{
	diff_print_status(diff, zeModuleGetProperties(diff_module(diff, "one", NULL), NULL));
}

static void null_count(struct diff *diff)
{
	diff_print_status(diff, zeModuleGetKernelNames(diff_module(diff, "one", NULL), NULL, NULL));
}

static void null_native_size(struct diff *diff)
{
	diff_print_status(diff, zeModuleGetNativeBinary(diff_module(diff, "one", NULL), NULL, NULL));
}

static void null_global_name(struct diff *diff)
{
	void *pointer = NULL;

	diff_print_status(diff, zeModuleGetGlobalPointer(diff_module(diff, "one", NULL), NULL, NULL,
							 &pointer));
}

static void null_function(struct diff *diff)
{
	diff_print_status(diff, zeModuleGetFunctionPointer(diff_module(diff, "one", NULL), "one", NULL));
}

static void null_function_name(struct diff *diff)
{
	void *pointer = NULL;

	diff_print_status(diff, zeModuleGetFunctionPointer(diff_module(diff, "one", NULL), NULL, &pointer));
}

static void destroy_null(struct diff *diff)
{
	(void)diff;
	diff_print_status(diff, zeModuleDestroy(NULL));
}

static void destroy_null_context(struct diff *diff)
{
	(void)diff;
	diff_print_status(diff, zeContextDestroy(NULL));
}

static void questions(struct diff *diff)
{
	static const struct diff_case cases[] = {
		{ "kernel", kernel_known },
		{ "kernel-resident", kernel_resident },
		{ "kernel-unknown", kernel_unknown },
		{ "kernel-empty", kernel_empty },
		{ "kernel-null-name", kernel_null_name },
		{ "kernel-of-null", kernel_of_null },
		{ "kernel-null-desc", kernel_null_desc },
		{ "null-properties", null_properties },
		{ "null-count", null_count },
		{ "null-native-size", null_native_size },
		{ "null-global-name", null_global_name },
		{ "null-function", null_function },
		{ "null-function-name", null_function_name },
		{ "destroy-null", destroy_null },
		{ "destroy-null-context", destroy_null_context },
		{ NULL, NULL },
	};

	diff_survive_each(diff, cases);
}

const struct diff_subject diff_misuses[] = {
	{ "creation-misuse", creations, true },
	{ "cut", cuts, true },
	{ "question-misuse", questions, true },
	{ NULL, NULL, false },
};
