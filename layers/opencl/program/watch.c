/* SPDX-License-Identifier: MIT */
/* watch: what the call says about files, and the working directory. */
#include "layers/opencl/program/watch.h"

#include "layers/opencl/hooks/build.h"
#include "layers/opencl/key/identity.h"
#include "layers/opencl/key/options.h"
#include "layers/opencl/hooks/program.h"

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

	/* Who takes a header of the application's names it in one of the two. */
	return ocl_options_read_files(watched->options) ||
	       (program->kind == OCL_PROGRAM_SOURCE &&
		(watched->driver->compiles_in_call ||
		 ocl_text_reads_files(program->source, program->source_len)));
}

bool ocl_watch_end(struct drv_observation *observation, const struct ocl_watched *watched,
		   struct cc_manifest **ret, const char **ret_bypass)
{
	const struct ocl_program *program = watched->program;
	struct cc_file_memo *memo = ocl_layer.cache ? cc_cache_file_memo(ocl_layer.cache) : NULL;
	struct drv_observer_text text = { .options = watched->options };
	const char *reason = "no-memory";

	if (program) {
		text.reads = reads_files(watched);
		text.directory = ocl_options_ask_for_debugging(watched->options);
	}
	if (program && program->kind == OCL_PROGRAM_SOURCE)
		text.source = (struct cmn_view){ program->source, program->source_len };
	if (drv_observer_end(observation, &text, memo, ret, &reason) == CMN_OK)
		return true;
	*ret_bypass = reason;
	return false;
}
