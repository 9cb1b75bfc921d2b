/* SPDX-License-Identifier: MIT */
/* capture_request: the copy for later. */
#include "layers/opencl/program/capture_request.h"

#include <stdlib.h>

struct ocl_capture *ocl_capture_new(const struct cc_key *key,
				    const struct ocl_capture_request *request,
				    struct cc_manifest *manifest)
{
	struct ocl_capture *capture = calloc(1, sizeof(*capture));

	if (!capture) {
		cc_manifest_free(manifest);
		return NULL;
	}
	cc_key_init_copy(&capture->key, key);
	capture->manifest = manifest;
	capture->request = *request;
	capture->request.targets = &capture->targets;
	if (cc_key_status(&capture->key) == CMN_OK &&
	    ocl_targets_copy(request->targets, &capture->targets) == CMN_OK)
		return capture;
	ocl_capture_free(capture);
	return NULL;
}

void ocl_capture_free(struct ocl_capture *capture)
{
	if (!capture)
		return;
	cc_key_release(&capture->key);
	cc_manifest_free(capture->manifest);
	ocl_targets_release(&capture->targets);
	free(capture);
}
