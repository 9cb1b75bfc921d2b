/* SPDX-License-Identifier: MIT */
/* diff_states: the states that a program can be in, and all that can be asked in each. */
#include "tests/opencl/differential.h"

static void release(struct diff *diff, cl_program program)
{
	diff_say(diff, "release", "%d", clReleaseProgram(program));
}

static void unbuilt(struct diff *diff)
{
	cl_program program = client_program(&diff->cl, client_source);

	diff_ask_all(diff, "", program);
	diff_ask_binaries_badly(diff, "", program);
	release(diff, program);
}

static void after_build(struct diff *diff, const char *options)
{
	cl_program program = client_program(&diff->cl, client_source);

	diff_say(diff, "build", "%d", client_build(program, options));
	diff_ask_all(diff, "", program);
	release(diff, program);
}

static void built(struct diff *diff)
{
	cl_program program = diff_built(diff, client_source, "-DK=3 -cl-kernel-arg-info");

	diff_ask_all(diff, "", program);
	diff_ask_binaries_badly(diff, "", program);
	release(diff, program);
}

static void built_spaces(struct diff *diff) { after_build(diff, "  -D K=3   -cl-mad-enable "); }
static void failed(struct diff *diff) { after_build(diff, "-DK=3 -DFAIL"); }
static void bad_option(struct diff *diff) { after_build(diff, "-DK=3 -no-such-option"); }
static void bad_standard(struct diff *diff) { after_build(diff, "-DK=3 -cl-std=CL9.9"); }
static void undefined_name(struct diff *diff) { after_build(diff, NULL); }
static void empty_options(struct diff *diff) { after_build(diff, ""); }
static void quoted_options(struct diff *diff) { after_build(diff, "-DK=3 \"-DL=a b\""); }

/* Builds one program with each of the options in turn, and asks after the last. */
static void in_turn(struct diff *diff, const char *const *options)
{
	cl_program program = client_program(&diff->cl, client_source);
	char name[32];

	for (int i = 0; options[i]; i++) {
		(void)snprintf(name, sizeof(name), "build-%d", i);
		diff_say(diff, name, "%d", client_build(program, options[i]));
		(void)snprintf(name, sizeof(name), "after-%d-", i);
		diff_ask_build(diff, name, program, diff->cl.devices[0]);
	}
	diff_ask_program(diff, "", program);
	release(diff, program);
}

static void rebuilt(struct diff *diff)
{
	in_turn(diff, (const char *const[]){ "-DK=3", "-DK=4 -cl-fast-relaxed-math", "-DK=3", NULL });
}

static void built_then_failed(struct diff *diff)
{
	in_turn(diff, (const char *const[]){ "-DK=3", "-DK=3 -DFAIL", NULL });
}

static void failed_then_built(struct diff *diff)
{
	in_turn(diff, (const char *const[]){ "-DK=3 -DFAIL", "-DK=3", NULL });
}

static void failed_twice(struct diff *diff)
{
	in_turn(diff, (const char *const[]){ "-DK=3 -DFAIL", "-DK=3 -DFAIL", "-DK=4 -DFAIL", NULL });
}

static void bad_then_built(struct diff *diff)
{
	in_turn(diff, (const char *const[]){ "-DK=3", "-no-such-option", "-DK=3", NULL });
}

static void two_that_fail(struct diff *diff)
{
	for (int i = 0; i < 2; i++) {
		cl_program program = client_program(&diff->cl, client_source);
		char name[32];

		(void)snprintf(name, sizeof(name), "build-%d", i);
		diff_say(diff, name, "%d", client_build(program, "-DK=5 -DFAIL"));
		(void)snprintf(name, sizeof(name), "program-%d-", i);
		diff_ask_all(diff, name, program);
		release(diff, program);
	}
}

static void compiled(struct diff *diff)
{
	cl_program program = client_program(&diff->cl, client_source);

	diff_say(diff, "compile", "%d",
		 clCompileProgram(program, 0, NULL, "-DK=3 -cl-mad-enable", 0, NULL, NULL, NULL, NULL));
	diff_ask_all(diff, "", program);
	release(diff, program);
}

static void compile_failed(struct diff *diff)
{
	cl_program program = client_program(&diff->cl, client_source);

	for (int i = 0; i < 2; i++)
		diff_say(diff, i ? "compile-again" : "compile", "%d",
			 clCompileProgram(program, 0, NULL, "-DK=3 -DFAIL", 0, NULL, NULL, NULL,
					  NULL));
	diff_ask_all(diff, "", program);
	release(diff, program);
}

static void compiled_after_build(struct diff *diff)
{
	cl_program program = diff_built(diff, client_source, "-DK=3");

	diff_say(diff, "compile", "%d",
		 clCompileProgram(program, 0, NULL, "-DK=4", 0, NULL, NULL, NULL, NULL));
	diff_ask_all(diff, "", program);
	release(diff, program);
}

static void built_after_compile(struct diff *diff)
{
	cl_program program = diff_compiled(diff, client_source, "-DK=3");

	diff_say(diff, "build", "%d", client_build(program, "-DK=4"));
	diff_ask_all(diff, "", program);
	release(diff, program);
}

static void after_link(struct diff *diff, const char *options)
{
	cl_program object = diff_compiled(diff, client_source, "-DK=3"), program;
	cl_int error = 1;

	program = clLinkProgram(diff->cl.context, 0, NULL, options, 1, &object, NULL, NULL, &error);
	diff_say(diff, "link", "%d %s", error, program ? "P" : "none");
	if (program) {
		diff_ask_all(diff, "", program);
		diff_ask_binaries_badly(diff, "", program);
		release(diff, program);
	}
	release(diff, object);
}

static void linked(struct diff *diff) { after_link(diff, NULL); }
static void linked_with_options(struct diff *diff) { after_link(diff, "-cl-fast-relaxed-math"); }
static void linked_badly(struct diff *diff) { after_link(diff, "-no-such-option"); }
static void library(struct diff *diff) { after_link(diff, "-create-library"); }

static void program_of_binary(struct diff *diff)
{
	cl_program first = diff_built(diff, client_source, "-DK=3"), second;
	size_t sizes[CLIENT_MAX_DEVICES] = { 0 };
	unsigned char *images[CLIENT_MAX_DEVICES] = { NULL };
	cl_int status[CLIENT_MAX_DEVICES] = { 0 }, error;

	error = clGetProgramInfo(first, CL_PROGRAM_BINARY_SIZES, sizeof(sizes), sizes, NULL);
	if (error)
		client_fail("sizes", error);
	for (cl_uint i = 0; i < diff->cl.device_count; i++)
		images[i] = calloc(1, sizes[i] + 1);
	error = clGetProgramInfo(first, CL_PROGRAM_BINARIES, diff->cl.device_count * sizeof(images[0]),
				 images, NULL);
	if (error)
		client_fail("binaries", error);
	second = clCreateProgramWithBinary(diff->cl.context, diff->cl.device_count,
					   diff->cl.devices, sizes,
					   (const unsigned char **)images, status, &error);
	diff_say(diff, "create", "%d %d", error, status[0]);
	for (cl_uint i = 0; i < diff->cl.device_count; i++)
		free(images[i]);
	if (second) {
		diff_ask_all(diff, "unbuilt-", second);
		diff_say(diff, "build", "%d", client_build(second, "-DK=9"));
		diff_ask_all(diff, "built-", second);
		release(diff, second);
	}
	release(diff, first);
}

static void built_in(struct diff *diff)
{
	char names[4096] = "";
	cl_program program;
	cl_int error = clGetDeviceInfo(diff->cl.devices[0], CL_DEVICE_BUILT_IN_KERNELS, sizeof(names),
				       names, NULL);

	diff_open(diff, "names");
	printf(" %d ", error);
	diff_print_text(names, strlen(names));
	diff_close();
	if (!*names)
		return;
	names[strcspn(names, ";")] = '\0';
	program = clCreateProgramWithBuiltInKernels(diff->cl.context, 1, diff->cl.devices, names,
						    &error);
	diff_say(diff, "create", "%d %s", error, program ? "P" : "none");
	if (!program)
		return;
	diff_ask_program(diff, "", program);
	diff_ask_build(diff, "", program, diff->cl.devices[0]);
	diff_say(diff, "build", "%d", client_build(program, ""));
	release(diff, program);
}

static void warned(struct diff *diff, const char *options)
{
	static const char source[] = "#warning beware\n"
				     "kernel void value(global int *out) { int unused; out[0] = 1; }\n";
	cl_program program = client_program(&diff->cl, source);

	diff_say(diff, "build", "%d", client_build(program, options));
	diff_ask_all(diff, "", program);
	release(diff, program);
}

static void warnings(struct diff *diff) { warned(diff, ""); }
static void no_warnings(struct diff *diff) { warned(diff, "-w"); }
static void warnings_as_errors(struct diff *diff) { warned(diff, "-Werror"); }

const struct diff_subject diff_states[] = {
	{ "unbuilt", unbuilt, false },
	{ "built", built, false },
	{ "built-spaces", built_spaces, false },
	{ "failed", failed, false },
	{ "bad-option", bad_option, false },
	{ "bad-standard", bad_standard, false },
	{ "undefined-name", undefined_name, false },
	{ "empty-options", empty_options, false },
	{ "quoted-options", quoted_options, false },
	{ "rebuilt", rebuilt, false },
	{ "built-then-failed", built_then_failed, false },
	{ "failed-then-built", failed_then_built, false },
	{ "failed-twice", failed_twice, false },
	{ "bad-then-built", bad_then_built, false },
	{ "two-that-fail", two_that_fail, false },
	{ "compiled", compiled, false },
	{ "compile-failed", compile_failed, false },
	{ "compiled-after-build", compiled_after_build, false },
	{ "built-after-compile", built_after_compile, false },
	{ "linked", linked, false },
	{ "linked-with-options", linked_with_options, false },
	{ "linked-badly", linked_badly, false },
	{ "library", library, false },
	{ "of-binary", program_of_binary, false },
	{ "built-in", built_in, false },
	{ "warnings", warnings, false },
	{ "no-warnings", no_warnings, false },
	{ "warnings-as-errors", warnings_as_errors, false },
	{ NULL, NULL, false },
};
