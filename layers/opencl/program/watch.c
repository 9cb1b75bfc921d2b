/* SPDX-License-Identifier: MIT */
/* watch: what the call says about files, and the working directory. */
#include "layers/opencl/program/watch.h"

#include "layers/opencl/hooks/program.h"
#include "layers/opencl/key/identity.h"
#include "layers/opencl/key/options.h"
#include "layers/opencl/key/pyopencl_nonce.h"

bool ocl_watch_driver(const struct ocl_targets *targets, struct drv_observer_request *ret)
{
	const struct ocl_identity *identity;

	if (ocl_identity_of(targets->all[0], &identity) != CMN_OK)
		return false;
	ret->driver = identity->driver;
	ret->libraries.address = identity->address;
	return true;
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

struct drv_observer_text ocl_watch_text(const struct ocl_watched *watched)
{
	const struct ocl_program *program = watched->program;
	struct drv_observer_text text = { .options = watched->options };

	if (program) {
		text.reads = reads_files(watched);
		text.directory = ocl_options_ask_for_debugging(watched->options);
	}
	if (program && program->kind == OCL_PROGRAM_SOURCE)
		text.source = (struct cmn_view){ program->source, program->source_len };
	return text;
}

bool ocl_watch_token_may_matter(const struct ocl_watched *watched,
				const struct cc_manifest *manifest)
{
	const struct ocl_program *program = watched->program;
	struct cmn_view source = { program->source, program->source_len }, token;

	return !watched->compiled && program->kind == OCL_PROGRAM_SOURCE &&
	       cc_manifest_count(manifest) &&
	       ocl_pyopencl_nonce_find(source, watched->options, &token) &&
	       ocl_pyopencl_nonce_is_in_files(token, manifest);
}
