/* SPDX-License-Identifier: MIT */
/*
 * diff_relinks: links whose inputs come from the cache while the links are new:
 * of two objects, with other options and in another order, of a library, and of
 * objects that the application brought as binaries. What stands before
 * diff_prepared is all that a process before has done.
 */
#include "tests/opencl/differential.h"

static const char function_source[] = "int add(int a) { return a + K; }\n";
static const char user_source[] = "int add(int a);\n"
				  "kernel void value(global int *out) { out[0] = add(30); }\n";
static const char plain_source[] = "kernel void other(global int *out) { out[0] = K; }\n";

enum { FUNCTION, USER, PARTS };

static void compile_parts(struct diff *diff, cl_program *ret_parts)
{
	ret_parts[FUNCTION] = diff_compiled(diff, function_source, "-DK=7");
	ret_parts[USER] = diff_compiled(diff, user_source, "");
}

static cl_program link_of(struct diff *diff, const char *name, const char *options, cl_uint count,
			  const cl_program *parts)
{
	cl_int error = 77;
	cl_program linked = clLinkProgram(diff->cl.context, 0, NULL, options, count, parts, NULL, NULL,
					  &error);

	diff_say(diff, name, "%d %s", error, linked ? "P" : "none");
	return linked;
}

/* Everything of the result and of its kernel; the result is released. */
static void ask_linked(struct diff *diff, const char *prefix, cl_program linked)
{
	char name[64];
	cl_kernel kernel;
	cl_int error = 77;

	if (!linked)
		return;
	diff_ask_all(diff, prefix, linked);
	diff_ask_names(diff, prefix, linked, "value");
	kernel = clCreateKernel(linked, "value", &error);
	(void)snprintf(name, sizeof(name), "%screate", prefix);
	diff_say(diff, name, "%d %s", error, kernel ? "K" : "none");
	if (kernel) {
		diff_ask_kernel(diff, prefix, kernel, linked);
		diff_ask_arguments(diff, prefix, kernel);
		diff_ask_groups(diff, prefix, kernel, diff->cl.devices[0]);
		(void)snprintf(name, sizeof(name), "%svalue", prefix);
		diff_say(diff, name, "%d", diff_value(diff, kernel));
		(void)clReleaseKernel(kernel);	/* was asked above */
	}
	(void)clReleaseProgram(linked);	/* likewise */
}

static void release(struct diff *diff, cl_uint count, const cl_program *programs)
{
	for (cl_uint i = 0; i < count; i++)
		diff_say_release(diff, "release", programs[i]);
}

static void new_link(struct diff *diff, const char *options)
{
	cl_program parts[PARTS];

	compile_parts(diff, parts);
	diff_prepared(diff);
	ask_linked(diff, "", link_of(diff, "link", options, PARTS, parts));
	/* What the objects themselves answer after it. */
	diff_ask_all(diff, "object-", parts[USER]);
	release(diff, PARTS, parts);
}

static void without_options(struct diff *diff) { new_link(diff, NULL); }
static void with_denormals(struct diff *diff) { new_link(diff, "-cl-denorms-are-zero"); }
static void with_zeros(struct diff *diff) { new_link(diff, "-cl-no-signed-zeros -cl-finite-math-only"); }
static void with_unsafe(struct diff *diff) { new_link(diff, "-cl-unsafe-math-optimizations"); }
static void with_unknown(struct diff *diff) { new_link(diff, "-no-such-option"); }

/* Linked before, in one order and without options. */
static void other_link(struct diff *diff)
{
	cl_program parts[PARTS], turned[PARTS];

	compile_parts(diff, parts);
	ask_linked(diff, "", link_of(diff, "link", "", PARTS, parts));
	diff_prepared(diff);
	ask_linked(diff, "options-", link_of(diff, "options", "-cl-denorms-are-zero", PARTS, parts));
	turned[0] = parts[USER];
	turned[1] = parts[FUNCTION];
	ask_linked(diff, "turned-", link_of(diff, "turned", "", PARTS, turned));
	release(diff, PARTS, parts);
}

static void one_object(struct diff *diff)
{
	cl_program object = diff_compiled(diff, "kernel void value(global int *out) { out[0] = K; }\n",
					  "-DK=5");

	diff_prepared(diff);
	ask_linked(diff, "", link_of(diff, "link", NULL, 1, &object));
	ask_linked(diff, "again-", link_of(diff, "again", NULL, 1, &object));
	release(diff, 1, &object);
}

/* One object is a hit, and the other was never seen. */
static void one_hit(struct diff *diff)
{
	cl_program parts[PARTS];

	parts[USER] = diff_compiled(diff, user_source, "");
	diff_prepared(diff);
	parts[FUNCTION] = diff_compiled(diff, function_source, "-DK=11");
	ask_linked(diff, "", link_of(diff, "link", "", PARTS, parts));
	release(diff, PARTS, parts);
}

/* An object that was a hit, then compiled anew with other options. */
static void compiled_anew(struct diff *diff)
{
	cl_program parts[PARTS];

	compile_parts(diff, parts);
	diff_prepared(diff);
	diff_say(diff, "compile", "%d", clCompileProgram(parts[FUNCTION], 0, NULL, "-DK=12", 0, NULL,
							 NULL, NULL, NULL));
	ask_linked(diff, "", link_of(diff, "link", "", PARTS, parts));
	release(diff, PARTS, parts);
}

static void new_library(struct diff *diff)
{
	cl_program parts[PARTS], pair[PARTS];

	compile_parts(diff, parts);
	diff_prepared(diff);
	pair[0] = link_of(diff, "library", "-create-library", 1, &parts[FUNCTION]);
	if (!pair[0])
		return;
	diff_ask_all(diff, "library-", pair[0]);
	diff_ask_names(diff, "library-", pair[0], "value");
	pair[1] = parts[USER];
	ask_linked(diff, "", link_of(diff, "link", "", PARTS, pair));
	release(diff, PARTS, parts);
	release(diff, 1, pair);
}

/* The library is known, too; linked before with the second object, and with none. */
static void known_library(struct diff *diff)
{
	cl_program parts[PARTS], pair[PARTS];

	compile_parts(diff, parts);
	pair[0] = link_of(diff, "library", "-create-library -enable-link-options", 1,
			  &parts[FUNCTION]);
	if (!pair[0])
		return;
	diff_prepared(diff);
	pair[1] = parts[USER];
	ask_linked(diff, "", link_of(diff, "link", "", PARTS, pair));
	ask_linked(diff, "options-", link_of(diff, "options", "-cl-denorms-are-zero", PARTS, pair));
	/* A library of a library. */
	pair[1] = link_of(diff, "both", "-create-library", 1, pair);
	if (pair[1])
		release(diff, 1, &pair[1]);
	release(diff, PARTS, parts);
	release(diff, 1, pair);
}

/* A program of this one's binary; or the subject ends. */
static cl_program of_binary(struct diff *diff, cl_program program)
{
	size_t size = 0;
	unsigned char *binary;
	const unsigned char *constant;
	cl_int error, status = 77;
	cl_program copy;

	error = clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof(size), &size, NULL);
	if (error || size == 0)
		client_fail("binary-size", error);
	binary = calloc(1, size);
	if (!binary)
		client_fail("memory", 0);
	error = clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof(binary), &binary, NULL);
	if (error)
		client_fail("binary", error);
	constant = binary;
	copy = clCreateProgramWithBinary(diff->cl.context, 1, diff->cl.devices, &size, &constant,
					 &status,
					 &error);
	diff_say(diff, "of-binary", "%d %d %s", error, status, copy ? "P" : "none");
	free(binary);
	if (!copy)
		diff_leave();
	return copy;
}

/* from: of which part the binary is; the other is compiled from source. */
static void mixed(struct diff *diff, int from)
{
	cl_program parts[PARTS], pair[PARTS];

	compile_parts(diff, parts);
	diff_prepared(diff);
	pair[from] = of_binary(diff, parts[from]);
	pair[!from] = parts[!from];
	diff_ask_build(diff, "binary-", pair[from], diff->cl.devices[0]);
	ask_linked(diff, "", link_of(diff, "link", "", PARTS, pair));
	diff_ask_names(diff, "binary-", pair[from], "value");
	release(diff, PARTS, parts);
	release(diff, 1, &pair[from]);
}

static void function_of_binary(struct diff *diff) { mixed(diff, FUNCTION); }
static void user_of_binary(struct diff *diff) { mixed(diff, USER); }

static void both_of_binaries(struct diff *diff)
{
	cl_program parts[PARTS], pair[PARTS];

	compile_parts(diff, parts);
	diff_prepared(diff);
	for (int i = 0; i < PARTS; i++)
		pair[i] = of_binary(diff, parts[i]);
	ask_linked(diff, "", link_of(diff, "link", "", PARTS, pair));
	release(diff, PARTS, parts);
	release(diff, PARTS, pair);
}

static void library_of_binary(struct diff *diff)
{
	cl_program parts[PARTS], library, pair[PARTS];

	compile_parts(diff, parts);
	library = link_of(diff, "library", "-create-library", 1, &parts[FUNCTION]);
	if (!library)
		return;
	diff_prepared(diff);
	pair[0] = of_binary(diff, library);
	pair[1] = parts[USER];
	ask_linked(diff, "", link_of(diff, "link", "", PARTS, pair));
	release(diff, PARTS, parts);
	release(diff, 1, pair);
	release(diff, 1, &library);
}

/* An executable that was a hit is no input; the objects beside it are. */
static void with_executable(struct diff *diff)
{
	cl_program parts[PARTS], executable;

	executable = diff_built(diff, plain_source, "-DK=3");
	parts[0] = diff_compiled(diff, user_source, "");
	diff_prepared(diff);
	parts[1] = executable;
	ask_linked(diff, "", link_of(diff, "link", "", PARTS, parts));
	release(diff, PARTS, parts);
}

const struct diff_subject diff_relinks[] = {
	{ "relink", without_options, false },
	{ "relink-denormals", with_denormals, false },
	{ "relink-zeros", with_zeros, false },
	{ "relink-unsafe", with_unsafe, false },
	{ "relink-unknown", with_unknown, false },
	{ "relink-other", other_link, false },
	{ "relink-one", one_object, false },
	{ "relink-one-hit", one_hit, false },
	{ "relink-anew", compiled_anew, false },
	{ "relink-new-library", new_library, false },
	{ "relink-known-library", known_library, false },
	{ "relink-function-binary", function_of_binary, false },
	{ "relink-user-binary", user_of_binary, false },
	{ "relink-both-binaries", both_of_binaries, false },
	{ "relink-library-binary", library_of_binary, false },
	{ "relink-executable", with_executable, false },
	{ NULL, NULL, false },
};
