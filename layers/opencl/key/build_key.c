/* SPDX-License-Identifier: MIT */
/* build_key: the fields of a build, a compilation or a link, in order. */
#include "layers/opencl/key/build_key.h"

#include <string.h>

#include "cachecore/key_options.h"
#include "common/bytes.h"
#include "layers/shared/driver/environment.h"
#include "layers/shared/driver/spirv_files.h"
#include "layers/opencl/key/pyopencl_nonce.h"

/* Of the fields beside the source: names and build-ids of some 30 libraries, mostly. */
#define USUAL_SIZE 8192

static struct cmn_slabs slabs;	/* of large keys */

/* All of the program's devices: what is there for one may depend on the others (NEO's binaries do). */
static enum cmn_status add_devices(struct cc_key *key, const struct ocl_targets *targets,
				   const struct ocl_identity **ret_first)
{
	for (cl_uint i = 0; i < targets->program_count; i++) {
		const struct ocl_identity *identity;
		enum cmn_status status = ocl_identity_add(targets->all[i], key, false, &identity);

		if (status != CMN_OK)
			return status;
		if (i == 0)
			*ret_first = identity;
	}
	return CMN_OK;
}

/* Only IL has them; false: one of them is not known, or a binary may not have it. */
static bool add_constants(struct cc_key *key, const struct ocl_program *program,
			  const struct drv_driver *driver)
{
	bool known;

	ocl_objects_lock();
	known = !program->constants_unknown && !program->constants_coming &&
		(program->constant_count == 0 || driver->binaries_keep_constants);
	for (size_t i = 0; i < program->constant_count; i++) {
		const struct ocl_constant *constant = &program->constants[i];
		uint8_t field[4 + 8 + sizeof(constant->value)];

		for (unsigned int j = 0; j < 4; j++)
			field[j] = (uint8_t)(constant->id >> (8 * j));
		for (unsigned int j = 0; j < 8; j++)
			field[4 + j] = (uint8_t)((uint64_t)constant->size >> (8 * j));
		memcpy(field + 12, constant->value, sizeof(constant->value));
		cc_key_add(key, CC_PART_CONSTANTS, "constant", field, sizeof(field));
	}
	ocl_objects_unlock();
	return known;
}

/* PyOpenCL's random token has a fixed value where it makes no difference. */
static void add_source(struct cc_key *key, const struct ocl_key_request *request,
		       const struct drv_driver *driver)
{
	struct cmn_view source = ocl_program_text_view(request->program->text), token;

	if (!ocl_program_text_is_source(request->program->text)) {
		drv_spirv_add(key, driver, request->options, source);
		return;
	}
	cc_key_add(key, CC_PART_IMAGE, "source", source.data, source.len);
	/* Only what PyOpenCL itself does: a build of one source. */
	if (strcmp(request->kind, "source") != 0 || !ocl_pyopencl_nonce_may_be(source) ||
	    cc_key_status(key) != CMN_OK || !ocl_pyopencl_nonce_find(source, request->options, &token))
		return;
	/* The field's value is the last thing in the key so far. */
	memset(key->encoded.data + key->encoded.len - source.len +
		       ((const char *)token.data - (const char *)source.data),
	       '0', token.len);
}

static void add_header(struct cc_key *key, const struct ocl_header *header)
{
	cc_key_add_text(key, CC_PART_IMAGE, "header.name", header->name);
	cc_key_add(key, CC_PART_IMAGE, "header.text", header->text->data, header->text->len);
}

enum cmn_status ocl_build_key(const struct ocl_key_request *request, struct cc_key *ret,
			      const struct ocl_identity **ret_identity, const char **ret_reason)
{
	const struct ocl_program *program = request->program;
	enum cmn_status status;

	cc_key_init(ret);
	cc_key_reserve(ret, &slabs, (program ? program->text->len : 0) + USUAL_SIZE);
	status = add_devices(ret, request->targets, ret_identity);
	if (status != CMN_OK) {
		*ret_reason = ocl_identity_lack();
		return status;
	}
	cc_key_add_text(ret, CC_PART_IMAGE, "kind", request->kind);
	if (program)
		add_source(ret, request, (*ret_identity)->driver);
	for (cl_uint i = 0; i < request->num_headers; i++)
		add_header(ret, &request->headers[i]);
	for (cl_uint i = 0; i < request->num_inputs; i++)
		cc_key_add(ret, CC_PART_IMAGE, "input", request->inputs[i].bytes, CMN_HASH_SIZE);
	*ret_reason = "constants-unknown";
	if (program && !request->without_constants && !add_constants(ret, program, (*ret_identity)->driver))
		return CMN_MISS;
	cc_key_add_options(request->options, ret);	/* where headers lie is for the manifest to tell */
	cc_key_add_u64(ret, CC_PART_OPTIONS, "devices", request->targets->program_count);
	for (cl_uint i = 0; request->targets->count < request->targets->program_count &&
			    i < request->targets->count; i++)
		cc_key_add_u64(ret, CC_PART_OPTIONS, "subset", request->targets->indices[i]);
	*ret_reason = drv_environment_add((*ret_identity)->driver, ret);
	if (*ret_reason)
		return CMN_MISS;
	if (ret->include_paths.count)
		cc_key_add_local(ret);
	*ret_reason = "no-memory";
	return cc_key_status(ret);
}

bool ocl_build_key_holds(const struct cc_key *key, const struct ocl_targets *targets)
{
	struct cmn_view whole = cc_key_view(key), part;
	const struct ocl_identity *identity;
	struct cc_key now;
	bool holds;

	cc_key_init(&now);
	holds = ocl_identity_renew(targets->program_count, targets->all) == CMN_OK &&
		add_devices(&now, targets, &identity) == CMN_OK &&
		cc_key_status(&now) == CMN_OK;
	part = cc_key_view(&now);
	/* The devices' fields come first. */
	holds = holds && part.len <= whole.len && memcmp(part.data, whole.data, part.len) == 0;
	cc_key_release(&now);
	return holds;
}
