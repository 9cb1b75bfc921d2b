/* SPDX-License-Identifier: MIT */
/* module_key: the fields of a module, in order. */
#include "layers/level_zero/plugin/module_key.h"

#include <stdlib.h>
#include <string.h>

#include "common/kept_buffer.h"
#include "layers/shared/driver/environment.h"
#include "layers/level_zero/plugin/identity.h"
#include "layers/level_zero/plugin/spirv.h"

/* Of the fields beside the inputs: names and build-ids of some 30 libraries, mostly. */
#define USUAL_SIZE 8192
/* More inputs than anybody links at once; what is beyond is not looked at. */
#define MAX_INPUTS 4096

static struct cmn_kept_buffer spare;

void lz_module_key_release(struct cc_key *key)
{
	cmn_kept_buffer_give(&spare, &key->encoded);
}

static bool several_inputs_of(const ze_module_program_exp_desc_t *program,
			      struct lz_module_inputs *ret, const char **ret_reason)
{
	*ret_reason = "descriptor";
	if (!program->count || program->count > MAX_INPUTS || !program->inputSizes ||
	    !program->pInputModules)
		return false;
	ret->items = calloc(program->count, sizeof(*ret->items));
	*ret_reason = "no-memory";
	if (!ret->items)
		return false;
	ret->program = true;
	ret->count = program->count;
	for (uint32_t i = 0; i < program->count; i++) {
		ret->items[i] = (struct lz_module_input){
			.il = { program->pInputModules[i], program->inputSizes[i] },
			.flags = program->pBuildFlags ? program->pBuildFlags[i] : NULL,
			.constants = program->pConstants ? program->pConstants[i] : NULL,
		};
	}
	return true;
}

static bool inputs_are_spirv(const struct lz_module_inputs *inputs)
{
	for (uint32_t i = 0; i < inputs->count; i++) {
		if (!inputs->items[i].il.data || lz_spirv_check(inputs->items[i].il) != CMN_OK)
			return false;
	}
	return true;
}

bool lz_module_inputs_of(const ze_module_desc_t *desc, struct lz_module_inputs *ret,
			 const char **ret_reason)
{
	const ze_module_program_exp_desc_t *program = desc->pNext;

	*ret = (struct lz_module_inputs){ .flags = desc->pBuildFlags, .count = 1 };
	*ret_reason = NULL;
	if (desc->format == ZE_MODULE_FORMAT_NATIVE)
		return false;
	*ret_reason = "format";
	if (desc->stype != ZE_STRUCTURE_TYPE_MODULE_DESC ||
	    desc->format != ZE_MODULE_FORMAT_IL_SPIRV)
		return false;
	*ret_reason = "unknown-extension";
	if (program && (program->stype != ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC ||
			program->pNext))
		return false;
	ret->one = (struct lz_module_input){
		.il = { desc->pInputModule, desc->inputSize },
		.constants = desc->pConstants,
	};
	ret->items = &ret->one;
	if (program && !several_inputs_of(program, ret, ret_reason))
		return false;
	if (inputs_are_spirv(ret))
		return true;
	*ret_reason = "not-spirv";
	lz_module_inputs_release(ret);
	return false;
}

void lz_module_inputs_release(struct lz_module_inputs *inputs)
{
	if (inputs->program)
		free(inputs->items);
}

struct constant {
	uint32_t id;
	uint64_t size;
	uint8_t value[8];
};

static int compare_constants(const void *a, const void *b)
{
	const struct constant *left = a, *right = b;

	return left->id < right->id ? -1 : left->id > right->id;
}

static void add_constant(struct cc_key *key, uint32_t input, const struct constant *constant)
{
	uint8_t field[4 + 4 + 8 + sizeof(constant->value)];

	for (unsigned int i = 0; i < 4; i++) {
		field[i] = (uint8_t)(input >> (8 * i));
		field[4 + i] = (uint8_t)(constant->id >> (8 * i));
	}
	for (unsigned int i = 0; i < 8; i++)
		field[8 + i] = (uint8_t)(constant->size >> (8 * i));
	memcpy(field + 16, constant->value, sizeof(constant->value));
	cc_key_add(key, CC_PART_CONSTANTS, "constant", field, sizeof(field));
}

/* false: what the driver will make of them is not known. */
static bool read_constants(const ze_module_constants_t *given,
			   const struct lz_spirv_constants *declared, struct constant *constants)
{
	for (uint32_t i = 0; i < given->numConstants; i++) {
		size_t size;

		constants[i].id = given->pConstantIds[i];
		if (lz_spirv_constants_size(declared, constants[i].id, &size) != CMN_OK ||
		    size > sizeof(constants[i].value) || !given->pConstantValues[i])
			return false;
		constants[i].size = size;
		memcpy(constants[i].value, given->pConstantValues[i], size);
	}
	qsort(constants, given->numConstants, sizeof(*constants), compare_constants);
	/* Given twice: which one counts is the driver's affair. */
	for (uint32_t i = 1; i < given->numConstants; i++) {
		if (constants[i].id == constants[i - 1].id)
			return false;
	}
	return true;
}

static bool add_constants(struct cc_key *key, uint32_t place, const struct lz_module_input *input)
{
	const ze_module_constants_t *given = input->constants;
	struct lz_spirv_constants declared;
	struct constant *constants;
	bool known;

	if (!given || !given->numConstants)
		return true;
	if (!given->pConstantIds || !given->pConstantValues ||
	    lz_spirv_constants_gather(input->il, &declared) != CMN_OK)
		return false;
	constants = calloc(given->numConstants, sizeof(*constants));
	known = constants && read_constants(given, &declared, constants);
	for (uint32_t i = 0; known && i < given->numConstants; i++)
		add_constant(key, place, &constants[i]);
	lz_spirv_constants_release(&declared);
	free(constants);
	return known;
}

static bool is_on(const char *value)
{
	return value && strcmp(value, "0") != 0;
}

/* Modules that tools instrument or debug are other modules, and depend on the tool. */
static bool is_instrumented(void)
{
	static const char *const variables[] = { "ZET_ENABLE_PROGRAM_DEBUGGING",
						 "ZET_ENABLE_PROGRAM_INSTRUMENTATION" };

	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
		if (is_on(getenv(variables[i])) || is_on(drv_environment_at_begin(variables[i])))
			return true;
	}
	return false;
}

static size_t total_size(const struct lz_module_inputs *inputs)
{
	size_t total = 0;

	for (uint32_t i = 0; i < inputs->count; i++)
		total += inputs->items[i].il.len;
	return total;
}

enum cmn_status lz_module_key(struct lz_next *next, ze_driver_handle_t driver,
			      ze_device_handle_t device, const struct lz_module_inputs *inputs,
			      struct cc_key *ret, const char **ret_reason)
{
	const struct cc_key *identity;

	cc_key_init_in(ret, cmn_kept_buffer_take(&spare));
	*ret_reason = "instrumented";
	if (is_instrumented())
		return CMN_MISS;
	/* Room for all at once; without it the key only grows in steps. */
	(void)cmn_buffer_reserve(&ret->encoded, total_size(inputs) + USUAL_SIZE);
	if (lz_identity_of(next, driver, device, &identity) != CMN_OK) {
		*ret_reason = lz_identity_lack();
		return CMN_MISS;
	}
	cc_key_add_fields(ret, identity);
	cc_key_add_text(ret, CC_PART_IMAGE, "kind", inputs->program ? "program" : "module");
	for (uint32_t i = 0; i < inputs->count; i++)
		cc_key_add(ret, CC_PART_IMAGE, "source", inputs->items[i].il.data,
			   inputs->items[i].il.len);
	*ret_reason = "constants-unknown";
	for (uint32_t i = 0; i < inputs->count; i++) {
		if (!add_constants(ret, i, &inputs->items[i]))
			return CMN_MISS;
	}
	cc_key_add_text(ret, CC_PART_OPTIONS, "options", inputs->flags ? inputs->flags : "");
	for (uint32_t i = 0; inputs->program && i < inputs->count; i++)
		cc_key_add_text(ret, CC_PART_OPTIONS, "input.options",
				inputs->items[i].flags ? inputs->items[i].flags : "");
	if (!drv_environment_add(lz_identity_driver(next, driver, device), ret, ret_reason))
		return CMN_MISS;
	*ret_reason = "no-memory";
	return cc_key_status(ret) == CMN_OK ? CMN_OK : CMN_MISS;
}

bool lz_module_key_holds(struct lz_next *next, ze_driver_handle_t driver,
			 ze_device_handle_t device, const struct cc_key *key)
{
	struct cmn_view whole = cc_key_view(key), part;
	const struct cc_key *now;

	if (lz_identity_renew(next, driver, device, &now) != CMN_OK)
		return false;
	part = cc_key_view(now);
	/* The device's fields come first. */
	return part.len <= whole.len && memcmp(part.data, whole.data, part.len) == 0;
}

bool lz_module_key_environment_holds(struct lz_next *next, ze_driver_handle_t driver,
				     ze_device_handle_t device)
{
	return !is_instrumented() && drv_environment_holds(lz_identity_driver(next, driver, device));
}
