/* SPDX-License-Identifier: MIT */
/* module_key: the fields of a module, in order. */
#include "layers/level_zero/plugin/module_key.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "layers/shared/driver/environment.h"
#include "layers/shared/driver/harmless.h"
#include "layers/shared/driver/spirv_files.h"
#include "layers/level_zero/plugin/spirv.h"

/* Of the fields beside the inputs: names and build-ids of some 30 libraries, mostly. */
#define USUAL_SIZE 8192
/* More inputs than anybody links at once; what is beyond is not looked at. */
#define MAX_INPUTS 4096

static struct cmn_slabs slabs;	/* of large keys */

static struct cmn_view il_of(const ze_module_program_exp_desc_t *inputs, uint32_t i)
{
	return (struct cmn_view){ inputs->pInputModules[i], inputs->inputSizes[i] };
}

/* Whether there can be a key of the inputs; else *ret_reason is as of lz_module_key. */
static bool are_spirv(const ze_module_desc_t *desc, const ze_module_program_exp_desc_t *inputs,
		      const char **ret_reason)
{
	*ret_reason = NULL;
	if (desc->format == ZE_MODULE_FORMAT_NATIVE)
		return false;
	*ret_reason = "format";
	if (desc->stype != ZE_STRUCTURE_TYPE_MODULE_DESC ||
	    desc->format != ZE_MODULE_FORMAT_IL_SPIRV)
		return false;
	*ret_reason = "unknown-extension";
	if (inputs->stype != ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC || inputs->pNext)
		return false;
	*ret_reason = "descriptor";
	if (!inputs->count || inputs->count > MAX_INPUTS || !inputs->inputSizes ||
	    !inputs->pInputModules)
		return false;
	*ret_reason = "not-spirv";
	for (uint32_t i = 0; i < inputs->count; i++) {
		if (!inputs->pInputModules[i] || lz_spirv_check(il_of(inputs, i)) != CMN_OK)
			return false;
	}
	return true;
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
	struct {
		uint32_t input, id;
		uint64_t size;
		uint8_t value[sizeof(constant->value)];
	} field = { htole32(input), htole32(constant->id), htole64(constant->size), { 0 } };

	memcpy(field.value, constant->value, sizeof(field.value));
	cc_key_add(key, CC_PART_CONSTANTS, "constant", &field, sizeof(field));
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

static bool add_constants(struct cc_key *key, uint32_t input, struct cmn_view il,
			  const ze_module_constants_t *given)
{
	struct lz_spirv_constants declared;
	struct constant *constants;
	bool known;

	if (!given->pConstantIds || !given->pConstantValues ||
	    lz_spirv_constants_gather(il, &declared) != CMN_OK)
		return false;
	constants = calloc(given->numConstants, sizeof(*constants));
	known = constants && read_constants(given, &declared, constants);
	for (uint32_t i = 0; known && i < given->numConstants; i++)
		add_constant(key, input, &constants[i]);
	lz_spirv_constants_release(&declared);
	free(constants);
	return known;
}

enum cmn_status lz_module_key(struct lz_target *target, const ze_module_desc_t *desc,
			      struct cc_key *key, struct cmn_view *ret_il, const char **ret_reason)
{
	/* A module without the extension is a program of one. */
	const uint8_t *module = desc->pInputModule;
	const ze_module_constants_t *constants = desc->pConstants;
	const ze_module_program_exp_desc_t one = {
		.stype = ZE_STRUCTURE_TYPE_MODULE_PROGRAM_EXP_DESC, .count = 1,
		.inputSizes = &desc->inputSize, .pInputModules = &module, .pConstants = &constants,
	};
	const ze_module_program_exp_desc_t *inputs = desc->pNext ? desc->pNext : &one;
	size_t size = USUAL_SIZE;

	if (!are_spirv(desc, inputs, ret_reason))
		return CMN_MISS;
	*ret_il = il_of(inputs, 0);
	if (lz_identity_of(target) != CMN_OK) {
		*ret_reason = lz_identity_lack();
		return CMN_MISS;
	}
	for (uint32_t i = 0; i < inputs->count; i++)
		size += inputs->inputSizes[i];
	cc_key_reserve(key, &slabs, size);
	cc_key_add_fields(key, &target->identity->fields);
	cc_key_add_text(key, CC_PART_IMAGE, "kind", inputs == &one ? "module" : "program");
	if (inputs == &one)
		drv_spirv_add(key, target->identity->row, desc->pBuildFlags, *ret_il);
	for (uint32_t i = 0; inputs != &one && i < inputs->count; i++)
		cc_key_add(key, CC_PART_IMAGE, "source", inputs->pInputModules[i],
			   inputs->inputSizes[i]);
	*ret_reason = "constants-unknown";
	for (uint32_t i = 0; inputs->pConstants && i < inputs->count; i++) {
		constants = inputs->pConstants[i];
		if (constants && constants->numConstants &&
		    !add_constants(key, i, il_of(inputs, i), constants))
			return CMN_MISS;
	}
	cc_key_add_text(key, CC_PART_OPTIONS, "options", desc->pBuildFlags ? desc->pBuildFlags : "");
	for (uint32_t i = 0; inputs != &one && i < inputs->count; i++) {
		const char *flags = inputs->pBuildFlags ? inputs->pBuildFlags[i] : NULL;

		cc_key_add_text(key, CC_PART_OPTIONS, "input.options", flags ? flags : "");
	}
	*ret_reason = "option";
	if (!drv_options_are_harmless(target->identity->row->options, desc->pBuildFlags))
		return CMN_MISS;
	for (uint32_t i = 0; inputs->pBuildFlags && i < inputs->count; i++) {
		if (!drv_options_are_harmless(target->identity->row->options, inputs->pBuildFlags[i]))
			return CMN_MISS;
	}
	*ret_reason = drv_environment_add(target->identity->row, key);
	if (*ret_reason)
		return CMN_MISS;
	*ret_reason = "no-memory";
	return cc_key_status(key) == CMN_OK ? CMN_OK : CMN_MISS;
}

bool lz_module_key_holds(const struct lz_target *target, const struct cc_key *key)
{
	struct cmn_view whole = cc_key_view(key), part;
	struct lz_target now = *target;

	if (lz_identity_renew(&now) != CMN_OK)
		return false;
	part = cc_key_view(&now.identity->fields);
	/* The device's fields come first. */
	return part.len <= whole.len && memcmp(part.data, whole.data, part.len) == 0;
}
