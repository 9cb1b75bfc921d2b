/* SPDX-License-Identifier: MIT */
/* build_key: the fields of a build from source, in order. */
#include "layers/opencl/build_key.h"

#include "common/spare.h"
#include "layers/opencl/environment.h"

/* Of the fields beside the source: names and build-ids of some 30 libraries, mostly. */
#define USUAL_SIZE 8192

static struct cmn_spare spare;

void ocl_build_key_release(struct cc_key *key)
{
	cmn_spare_give(&spare, &key->encoded);
}

enum cmn_status ocl_build_key(const struct ocl_program *program, cl_uint num_devices,
			      const cl_device_id *devices, const char *options,
			      struct cc_key *ret, const struct ocl_driver **ret_driver)
{
	const struct ocl_identity *identity;
	enum cmn_status status;

	cc_key_init_in(ret, cmn_spare_take(&spare));
	/* Room for all at once; without it the key only grows in steps. */
	(void)cmn_buffer_reserve(&ret->encoded, program->source_len + USUAL_SIZE);
	for (cl_uint i = 0; i < num_devices; i++) {
		status = ocl_identity_of(devices[i], &identity);
		if (status != CMN_OK)
			return status;
		cc_key_add_fields(ret, &identity->fields);
		if (i == 0)
			*ret_driver = identity->driver;
	}
	cc_key_add_text(ret, CC_PART_IMAGE, "kind", "source");
	cc_key_add(ret, CC_PART_IMAGE, "source", program->source, program->source_len);
	cc_key_add_text(ret, CC_PART_OPTIONS, "options", options ? options : "");
	cc_key_add_u64(ret, CC_PART_OPTIONS, "devices", num_devices);
	ocl_environment_add(ret);
	return cc_key_status(ret);
}
