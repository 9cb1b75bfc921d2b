/* SPDX-License-Identifier: MIT */
/* diff_constants: specialization constants, and programs of several inputs. */
#include "tests/level_zero/differential.h"

enum { MOST = 10 };

struct values {
	uint32_t ids[MOST];
	const void *pointers[MOST];
	ze_module_constants_t constants;
};

static const uint8_t truth = 1, lie;
static const uint8_t byte = 9;
static const uint16_t word = 1000, half = 0x4400;	/* 4.0 */
static const uint32_t number = 100000;
static const uint64_t large = 10000000000;
static const float real = 8.0f;
static const double precise = 1.5;

static const struct {
	uint32_t id;
	const void *value;
} all[] = {
	{ 1, &lie }, { 2, &truth }, { 8, &byte }, { 16, &word }, { 17, &half },
	{ 32, &number }, { 33, &real }, { 64, &large },
};
enum { ALL = sizeof(all) / sizeof(all[0]) };

static void put(struct values *values, uint32_t id, const void *value)
{
	uint32_t at = values->constants.numConstants++;

	values->ids[at] = id;
	values->pointers[at] = value;
	values->constants.pConstantIds = values->ids;
	values->constants.pConstantValues = values->pointers;
}

/* Not the kernels: dg2's driver ends the process when it makes one that calls functions. */
static void make(const struct diff *diff, const char *name, const char *il,
		 const ze_module_constants_t *constants)
{
	ze_module_desc_t desc = diff_desc(il, NULL);
	struct diff_made made;

	desc.pConstants = constants;
	made = diff_make(diff, name, &desc);
	if (made.module)
		diff_ask_surface(diff, name, made.module);
	diff_unmake(diff, diff_name(1, name, "destroy"), &made);
}

static void every_width(struct diff *diff)
{
	struct values forth = { 0 }, back = { 0 };

	for (size_t i = 0; i < ALL; i++) {
		put(&forth, all[i].id, all[i].value);
		put(&back, all[ALL - 1 - i].id, all[ALL - 1 - i].value);
	}
	make(diff, "none", "constants", NULL);
	make(diff, "all", "constants", &forth.constants);
	make(diff, "backwards", "constants", &back.constants);
	for (size_t i = 0; i < ALL; i++) {
		struct values one = { 0 };
		char name[16];

		(void)snprintf(name, sizeof(name), "only-%u", all[i].id);
		put(&one, all[i].id, all[i].value);
		make(diff, name, "constants", &one.constants);
	}
}

static void odd_ones(struct diff *diff)
{
	const ze_module_constants_t empty = { 0 };
	struct values unknown = { 0 }, twice = { 0 }, some = { 0 };

	put(&unknown, 999, &number);
	put(&twice, 32, &number);
	put(&twice, 32, &real);
	put(&some, 32, &number);
	make(diff, "empty", "constants", &empty);
	make(diff, "unknown", "constants", &unknown.constants);
	make(diff, "twice", "constants", &twice.constants);
	make(diff, "of-none", "one", &some.constants);
}

/* Values that are alike in their first bytes, or beyond their last: the width is the constant's. */
static void widths(struct diff *diff)
{
	static const uint64_t low = 0, high = 0x100000000;
	static const uint16_t page = 0x100, next_page = 0x107;
	static const uint8_t bytes[] = { 200, 1 }, same_byte[] = { 200, 2 };
	static const struct {
		const char *name;
		uint32_t id;
		const void *value;
	} cases[] = {
		{ "long-low", 64, &low }, { "long-high", 64, &high }, { "long-low-again", 64, &low },
		{ "short-page", 16, &page }, { "short-next", 16, &next_page },
		{ "byte", 8, bytes }, { "byte-same", 8, same_byte },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct values one = { 0 };

		put(&one, cases[i].id, cases[i].value);
		make(diff, cases[i].name, "constants", &one.constants);
	}
}

static void doubles(struct diff *diff)
{
	struct values values = { 0 };

	put(&values, 65, &precise);
	make(diff, "default", "precise", NULL);
	make(diff, "set", "precise", &values.constants);
}

static void create_with(struct diff *diff, const ze_module_constants_t *constants)
{
	ze_module_desc_t desc = diff_desc("constants", NULL);
	ze_module_handle_t module = NULL;

	desc.pConstants = constants;
	printf(" %#x", diff_create(diff->context, diff->device, &desc, &module, NULL));
}

static void misuses(struct diff *diff)
{
	SURVIVE(diff, "null-ids") {
		struct values values = { 0 };

		put(&values, 32, &number);
		values.constants.pConstantIds = NULL;
		create_with(diff, &values.constants);
	}
	SURVIVE(diff, "null-values") {
		struct values values = { 0 };

		put(&values, 32, &number);
		values.constants.pConstantValues = NULL;
		create_with(diff, &values.constants);
	}
	SURVIVE(diff, "null-value") {
		struct values values = { 0 };

		put(&values, 32, NULL);
		create_with(diff, &values.constants);
	}
}

/* A program of inputs, which the descriptor's own input is no part of. */
struct inputs {
	size_t sizes[MOST];
	const uint8_t *modules[MOST];
	const char *flags[MOST];
	const ze_module_constants_t *constants[MOST];
	ze_module_program_exp_desc_t program;
};

static void add_input(struct inputs *inputs, const char *il, const char *flags,
		      const ze_module_constants_t *constants)
{
	uint32_t at = inputs->program.count++;

	inputs->sizes[at] = diff_il(il)->size;
	inputs->modules[at] = diff_il(il)->words;
	inputs->flags[at] = flags;
	inputs->constants[at] = constants;
	inputs->program.stype = ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC;
	inputs->program.inputSizes = inputs->sizes;
	inputs->program.pInputModules = inputs->modules;
	if (flags)
		inputs->program.pBuildFlags = inputs->flags;
	if (constants)
		inputs->program.pConstants = inputs->constants;
}

static ze_module_desc_t desc_of(const struct inputs *inputs)
{
	return (ze_module_desc_t){
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.pNext = &inputs->program,
		.format = ZE_MODULE_FORMAT_IL_SPIRV,
	};
}

/* ask: diff_ask_module, or diff_ask_surface. */
static void make_of(const struct diff *diff, const char *name, const struct inputs *inputs,
		    void (*ask)(const struct diff *diff, const char *prefix, ze_module_handle_t module))
{
	const ze_module_desc_t desc = desc_of(inputs);
	struct diff_made made = diff_make(diff, name, &desc);

	if (made.module)
		ask(diff, name, made.module);
	diff_unmake(diff, diff_name(1, name, "destroy"), &made);
}

static void several_inputs(struct diff *diff)
{
	struct inputs one = { 0 }, two = { 0 }, other_order = { 0 };

	add_input(&one, "one", NULL, NULL);
	make_of(diff, "one", &one, diff_ask_module);
	add_input(&two, "other", NULL, NULL);
	add_input(&two, "twice", NULL, NULL);
	make_of(diff, "two", &two, diff_ask_module);
	add_input(&other_order, "twice", NULL, NULL);
	add_input(&other_order, "other", NULL, NULL);
	make_of(diff, "other-order", &other_order, diff_ask_module);
}

static void several_with_flags(struct diff *diff)
{
	const ze_module_constants_t none = { 0 };
	struct inputs flags = { 0 }, values = { 0 }, unset = { 0 };
	struct values some = { 0 };

	add_input(&flags, "other", "-ze-opt-disable", NULL);
	add_input(&flags, "twice", "-ze-opt-large-register-file", NULL);
	put(&some, 32, &number);
	add_input(&values, "constants", "", &some.constants);
	add_input(&values, "one", "", &none);
	make_of(diff, "constants", &values, diff_ask_surface);
	add_input(&unset, "constants", "", &none);
	add_input(&unset, "one", "", &none);
	make_of(diff, "unset", &unset, diff_ask_surface);
	/* Last: dg2's driver ends the process when it makes a kernel that calls functions. */
	make_of(diff, "flags", &flags, diff_ask_module);
}

static void create(struct diff *diff, const ze_module_desc_t *desc)
{
	ze_module_handle_t module = NULL;
	uint32_t count = 0;

	printf(" %#x", diff_create(diff->context, diff->device, desc, &module, NULL));
	if (module) {
		printf(" %#x", zeModuleGetKernelNames(module, &count, NULL));
		printf(" count %u", count);
	}
}

static void create_of(struct diff *diff, const struct inputs *inputs)
{
	const ze_module_desc_t desc = desc_of(inputs);

	create(diff, &desc);
}

static void several_misused(struct diff *diff)
{
	SURVIVE(diff, "none") {
		const struct inputs inputs = {
			.program.stype = ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC,
		};

		create_of(diff, &inputs);
	}
	SURVIVE(diff, "unresolved") {
		struct inputs inputs = { 0 };

		add_input(&inputs, "one", NULL, NULL);
		add_input(&inputs, "other", NULL, NULL);
		create_of(diff, &inputs);
	}
	SURVIVE(diff, "twice") {
		struct inputs inputs = { 0 };

		add_input(&inputs, "one", NULL, NULL);
		add_input(&inputs, "one", NULL, NULL);
		create_of(diff, &inputs);
	}
	SURVIVE(diff, "of-nothing") {
		struct inputs inputs = { 0 };

		add_input(&inputs, "one", NULL, NULL);
		add_input(&inputs, "twice", NULL, NULL);
		inputs.sizes[1] = 0;
		create_of(diff, &inputs);
	}
	SURVIVE(diff, "null") {
		struct inputs inputs = { 0 };

		add_input(&inputs, "one", NULL, NULL);
		add_input(&inputs, "twice", NULL, NULL);
		inputs.modules[1] = NULL;
		create_of(diff, &inputs);
	}
	SURVIVE(diff, "one-set-of-constants") {
		struct inputs inputs = { 0 };
		struct values some = { 0 };

		put(&some, 32, &number);
		add_input(&inputs, "constants", "", &some.constants);
		add_input(&inputs, "one", NULL, NULL);
		create_of(diff, &inputs);
	}
	SURVIVE(diff, "input-beside") {
		struct inputs inputs = { 0 };
		ze_module_desc_t desc;

		add_input(&inputs, "one", NULL, NULL);
		desc = desc_of(&inputs);
		desc.inputSize = diff_il("plain")->size;
		desc.pInputModule = diff_il("plain")->words;
		create(diff, &desc);
	}
}

const struct diff_subject diff_constants[] = {
	{ "constants", every_width, false },
	{ "constants-odd", odd_ones, false },
	{ "constants-width", widths, false },
	{ "constants-double", doubles, false },
	{ "constants-misuse", misuses, true },
	{ "inputs", several_inputs, false },
	{ "inputs-with-flags", several_with_flags, false },
	{ "inputs-misuse", several_misused, true },
	{ NULL, NULL, false },
};
