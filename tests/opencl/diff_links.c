/* SPDX-License-Identifier: MIT */
/* diff_links: compiling with embedded headers, linking of objects and libraries, and the misuses of both. */
#include "tests/opencl/differential.h"

static const char function_source[] = "int add(int a) { return a + K; }\n";
static const char user_source[] = "int add(int a);\n"
				  "kernel void value(global int *out) { out[0] = add(30); }\n";
static const char header_user_source[] =
	"#include \"embedded/value.h\"\n"
	"kernel void value(global int *out) { out[0] = VALUE; }\n";

static cl_program link_of(struct diff *diff, const char *options, cl_uint count,
			  const cl_program *parts, cl_int *ret_error)
{
	*ret_error = 77;
	return clLinkProgram(diff->cl.context, 0, NULL, options, count, parts, NULL, NULL, ret_error);
}

/* The result's answers, its kernel's value, and its end. */
static void ask_linked(struct diff *diff, const char *prefix, cl_program linked, cl_int error)
{
	char name[64];
	cl_kernel kernel;

	(void)snprintf(name, sizeof(name), "%slink", prefix);
	diff_say(diff, name, "%d %s", error, linked ? "P" : "none");
	if (!linked)
		return;
	diff_ask_all(diff, prefix, linked);
	kernel = error ? NULL : clCreateKernel(linked, "value", &error);
	(void)snprintf(name, sizeof(name), "%svalue", prefix);
	diff_say(diff, name, "%d %d", error, kernel ? diff_value(diff, kernel) : -2);
	(void)snprintf(name, sizeof(name), "%send", prefix);
	if (kernel)
		diff_say(diff, name, "%d", clReleaseKernel(kernel));
	diff_say(diff, name, "%d", clReleaseProgram(linked));
}

static void release_all(struct diff *diff, cl_uint count, const cl_program *programs)
{
	for (cl_uint i = 0; i < count; i++)
		diff_say_release(diff, "release", programs[i]);
}

static cl_int compile_with(cl_program program, cl_uint count, const cl_program *headers,
			   const char **names)
{
	return clCompileProgram(program, 0, NULL, "", count, headers, names, NULL, NULL);
}

/* Its header includes a second one; then the first is another. */
static void embedded(struct diff *diff)
{
	const char *names[2] = { "embedded/value.h", "embedded/number.h" };
	cl_program programs[4], linked;
	cl_int error;

	programs[0] = client_program(&diff->cl, "#include \"embedded/number.h\"\n#define VALUE NUMBER\n");
	programs[1] = client_program(&diff->cl, "#define NUMBER 21\n");
	programs[2] = client_program(&diff->cl, "#define VALUE 22\n");
	programs[3] = client_program(&diff->cl, header_user_source);
	diff_say(diff, "compile", "%d", compile_with(programs[3], 2, programs, names));
	diff_ask_all(diff, "compiled-", programs[3]);
	linked = link_of(diff, "", 1, &programs[3], &error);
	ask_linked(diff, "", linked, error);
	diff_say(diff, "compile-again", "%d", compile_with(programs[3], 1, &programs[2], names));
	linked = link_of(diff, "", 1, &programs[3], &error);
	ask_linked(diff, "again-", linked, error);
	release_all(diff, 4, programs);
}

static void embedded_missing(struct diff *diff)
{
	const char *name = "embedded/other.h";
	cl_program programs[2];

	programs[0] = client_program(&diff->cl, "#define VALUE 1\n");
	programs[1] = client_program(&diff->cl, header_user_source);
	for (int i = 0; i < 2; i++)
		diff_say(diff, i ? "compile-again" : "compile", "%d",
			 compile_with(programs[1], 1, programs, &name));
	diff_ask_all(diff, "", programs[1]);
	release_all(diff, 2, programs);
}

static void two_objects(struct diff *diff)
{
	cl_program parts[2] = { diff_compiled(diff, function_source, "-DK=7"),
				diff_compiled(diff, user_source, NULL) }, linked;
	cl_int error;

	linked = link_of(diff, NULL, 2, parts, &error);
	ask_linked(diff, "", linked, error);
	linked = link_of(diff, NULL, 2, parts, &error);
	ask_linked(diff, "again-", linked, error);
	diff_say(diff, "compile", "%d", clCompileProgram(parts[0], 0, NULL, "-DK=8", 0, NULL, NULL,
							 NULL, NULL));
	linked = link_of(diff, NULL, 2, parts, &error);
	ask_linked(diff, "changed-", linked, error);
	release_all(diff, 2, parts);
}

/* A kernel of what was linked with a library outlives it all. */
static void with_library(struct diff *diff)
{
	cl_program object = diff_compiled(diff, function_source, "-DK=9"), parts[2], linked;
	cl_kernel kernel;
	cl_int error;

	parts[0] = diff_compiled(diff, user_source, "");
	parts[1] = link_of(diff, "-create-library", 1, &object, &error);
	diff_say(diff, "library", "%d", error);
	if (!parts[1])
		return;
	diff_ask_all(diff, "library-", parts[1]);
	linked = link_of(diff, "", 2, parts, &error);
	diff_say(diff, "link", "%d", error);
	if (!linked)
		return;
	kernel = client_kernel(linked, "value");
	diff_say(diff, "release-object", "%d", clReleaseProgram(object));
	release_all(diff, 2, parts);
	diff_say_release(diff, "release-linked", linked);
	diff_say(diff, "value", "%d", diff_value(diff, kernel));
	diff_ask_kernel(diff, "", kernel, linked);
	diff_say(diff, "release-kernel", "%d", clReleaseKernel(kernel));
}

/* Nobody has the function; then twice the same one is there. */
static void unresolved(struct diff *diff)
{
	cl_program user = diff_compiled(diff, user_source, ""), parts[3], linked;
	cl_int error;

	linked = link_of(diff, "", 1, &user, &error);
	ask_linked(diff, "", linked, error);
	parts[0] = user;
	parts[1] = diff_compiled(diff, function_source, "-DK=1");
	parts[2] = diff_compiled(diff, function_source, "-DK=2");
	linked = link_of(diff, "", 3, parts, &error);
	ask_linked(diff, "twice-", linked, error);
	release_all(diff, 3, parts);
}

/* What a linked program refuses. */
static void linked_again(struct diff *diff)
{
	cl_program object = diff_compiled(diff, client_source, "-DK=3"), linked;
	cl_int error;

	linked = link_of(diff, "", 1, &object, &error);
	diff_say(diff, "link", "%d", error);
	if (!linked)
		return;
	diff_say(diff, "build", "%d", client_build(linked, "-DK=4"));
	diff_say(diff, "compile", "%d", compile_with(linked, 0, NULL, NULL));
	diff_ask_all(diff, "", linked);
	diff_say_release(diff, "release-linked", linked);
	diff_say_release(diff, "release", object);
}

static void say_program(cl_program program, cl_int error)
{
	printf(" %s %d", program ? "P" : "none", error);
}

static void misuses(struct diff *diff)
{
	SURVIVE(diff, "nothing") {
		cl_int error;
		cl_program linked = link_of(diff, "", 0, NULL, &error);

		say_program(linked, error);
	}
	SURVIVE(diff, "null") {
		cl_program none = NULL, linked;
		cl_int error;

		linked = link_of(diff, "", 1, &none, &error);
		say_program(linked, error);
	}
	SURVIVE(diff, "unbuilt") {
		cl_program part = client_program(&diff->cl, client_source), linked;
		cl_int error;

		linked = link_of(diff, "", 1, &part, &error);
		say_program(linked, error);
	}
	SURVIVE(diff, "failed") {
		cl_program part = client_program(&diff->cl, client_source), linked;
		cl_int error = clCompileProgram(part, 0, NULL, "-DFAIL", 0, NULL, NULL, NULL, NULL);

		printf(" %d", error);
		linked = link_of(diff, "", 1, &part, &error);
		say_program(linked, error);
	}
	SURVIVE(diff, "executable") {
		cl_program part = diff_built(diff, client_source, "-DK=3"), linked;
		cl_int error;

		linked = link_of(diff, "", 1, &part, &error);
		say_program(linked, error);
	}
	SURVIVE(diff, "executable-and-object") {
		cl_program parts[2] = { diff_built(diff, client_source, "-DK=3"),
					diff_compiled(diff, function_source, "-DK=3") }, linked;
		cl_int error;

		linked = link_of(diff, "", 2, parts, &error);
		say_program(linked, error);
	}
	SURVIVE(diff, "lists") {
		cl_program part = diff_compiled(diff, client_source, "-DK=3"), linked;
		cl_int error = 77;

		linked = clLinkProgram(diff->cl.context, 1, NULL, "", 1, &part, NULL, NULL, &error);
		say_program(linked, error);
		linked = clLinkProgram(diff->cl.context, 0, diff->cl.devices, "", 1, &part, NULL, NULL, &error);
		say_program(linked, error);
		linked = clLinkProgram(diff->cl.context, 0, NULL, "", 1, &part, NULL, diff, &error);
		say_program(linked, error);
	}
	SURVIVE(diff, "without-context") {
		cl_program part = diff_compiled(diff, client_source, "-DK=3"), linked;
		cl_int error = 77;

		linked = clLinkProgram(NULL, 0, NULL, "", 1, &part, NULL, NULL, &error);
		say_program(linked, error);
	}
	SURVIVE(diff, "quietly") {
		cl_program part = diff_compiled(diff, client_source, "-DK=3"), linked;

		linked = clLinkProgram(diff->cl.context, 0, NULL, "", 1, &part, NULL, NULL, NULL);
		say_program(linked, 0);
		linked = clLinkProgram(diff->cl.context, 0, NULL, "-no-such-option", 1, &part, NULL, NULL,
				       NULL);
		say_program(linked, 0);
	}
	SURVIVE(diff, "compile-null")
		printf(" %d", compile_with(NULL, 0, NULL, NULL));
	SURVIVE(diff, "headers-without-names") {
		cl_program header = client_program(&diff->cl, "#define VALUE 1\n");
		const char *name = "embedded/value.h";
		cl_program program = client_program(&diff->cl, header_user_source);

		printf(" %d", compile_with(program, 1, &header, NULL));
		printf(" %d", compile_with(program, 0, &header, &name));
		printf(" %d", compile_with(program, 1, NULL, &name));
	}
	SURVIVE(diff, "compile-lists") {
		cl_program program = client_program(&diff->cl, client_source);

		printf(" %d", clCompileProgram(program, 1, NULL, "-DK=1", 0, NULL, NULL, NULL, NULL));
		printf(" %d", clCompileProgram(program, 0, diff->cl.devices, "-DK=1", 0, NULL, NULL, NULL,
					       NULL));
		printf(" %d", clCompileProgram(program, 0, NULL, "-DK=1", 0, NULL, NULL, NULL, diff));
		printf(" %d", clCompileProgram(program, 0, NULL, "-no-such-option", 0, NULL, NULL, NULL,
					       NULL));
	}
}

const struct diff_subject diff_links[] = {
	{ "embedded-headers", embedded, false },
	{ "embedded-missing", embedded_missing, false },
	{ "two-objects", two_objects, false },
	{ "with-library", with_library, false },
	{ "unresolved", unresolved, false },
	{ "linked-again", linked_again, false },
	{ "misuse-link", misuses, true },
	{ NULL, NULL, false },
};
