/* SPDX-License-Identifier: MIT */
/* watch: what the call says about files, and the working directory. */
#include "layers/opencl/watch.h"

#include <stdlib.h>

#include "layers/opencl/build.h"
#include "layers/opencl/identity.h"
#include "layers/opencl/options.h"
#include "layers/opencl/program.h"

struct drv_observation *ocl_watch_begin(const struct ocl_targets *targets, bool goes_on)
{
	const struct ocl_identity *identity;

	if (ocl_identity_of(targets->all[0], &identity) != CMN_OK)
		return NULL;
	return drv_observer_begin(&(struct drv_observer_request){
		.driver = identity->driver,
		.libraries = { .address = identity->address },
		.switched_off = !ocl_layer.cache || !cc_cache_config(ocl_layer.cache)->observe,
		.goes_on = goes_on,
	});
}

/* Whether the compiler must have looked for something, if it can be seen at all. */
static bool reads_files(const struct ocl_watched *watched)
{
	const struct ocl_program *program = watched->program;
	const struct ocl_compile *compile = watched->compile;

	if (ocl_options_read_files(watched->options))
		return true;
	if (program->kind == OCL_PROGRAM_SOURCE &&
	    (watched->driver->compiles_in_call ||
	     ocl_text_reads_files(program->source, program->source_len)))
		return true;
	for (cl_uint i = 0; compile && compile->headers && i < compile->count; i++) {
		const struct ocl_program *header = compile->headers[i].program;

		if (ocl_text_reads_files(header->source, header->source_len))
			return true;
	}
	return false;
}

static enum cmn_status add_working_directory(struct cc_manifest **manifest)
{
	char *directory = cc_manifest_working_directory();
	enum cmn_status status = CMN_ERR_NOMEM;

	if (!*manifest)
		*manifest = cc_manifest_new();
	if (*manifest && directory)
		status = cc_manifest_add_directory(*manifest, directory);
	free(directory);
	return status;
}

bool ocl_watch_end(struct drv_observation *observation, const struct ocl_watched *watched,
		   struct cc_manifest **ret, const char **ret_bypass)
{
	const struct ocl_program *program = watched->program;
	struct cc_file_memo *memo = ocl_layer.cache ? cc_cache_file_memo(ocl_layer.cache) : NULL;
	struct drv_observer_text text = { .options = watched->options };
	struct cc_manifest *manifest = NULL;
	const char *reason = NULL;
	enum cmn_status status;

	if (program)
		text.reads = reads_files(watched);
	if (program && program->kind == OCL_PROGRAM_SOURCE)
		text.source = (struct cmn_view){ program->source, program->source_len };
	status = drv_observer_end(observation, &text, memo, &manifest, &reason);
	if (status == CMN_OK && program && ocl_options_ask_for_debugging(watched->options))
		status = add_working_directory(&manifest);
	if (status == CMN_OK) {
		*ret = manifest;
		return true;
	}
	cc_manifest_free(manifest);
	*ret_bypass = reason ? reason : "no-memory";
	return false;
}
