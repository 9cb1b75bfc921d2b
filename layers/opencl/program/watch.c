/* SPDX-License-Identifier: MIT */
/* watch: what the call says about files, and the working directory. */
#include "layers/opencl/program/watch.h"

#include "layers/opencl/key/identity.h"
#include "layers/opencl/key/options.h"
#include "layers/opencl/key/pyopencl_nonce.h"
#include "layers/opencl/program/program.h"

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
	const struct ocl_program_text *text = watched->program->text;

	/* Who takes a header of the application's names it in one of the two. */
	return ocl_options_read_files(watched->options) ||
	       (ocl_program_text_is_source(text) &&
		(watched->driver->compiler_looks || ocl_text_reads_files(text->data, text->len)));
}

struct drv_observer_text ocl_watch_text(const struct ocl_watched *watched)
{
	const struct ocl_program *program = watched->program;
	struct drv_observer_text text = { .options = watched->options };

	if (program) {
		text.reads = reads_files(watched);
		text.directory = ocl_options_ask_for_debugging(watched->options);
	}
	if (program && ocl_program_text_is_source(program->text))
		text.source = ocl_program_text_view(program->text);
	return text;
}

bool ocl_watch_token_may_matter(const struct ocl_watched *watched,
				const struct cc_manifest *manifest)
{
	const struct ocl_program_text *text = watched->program->text;
	struct cmn_view token;

	return !watched->compiled && ocl_program_text_is_source(text) &&
	       cc_manifest_count(manifest) &&
	       ocl_pyopencl_nonce_find(ocl_program_text_view(text), watched->options, &token) &&
	       ocl_pyopencl_nonce_is_in_files(token, manifest);
}
