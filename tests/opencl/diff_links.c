/* SPDX-License-Identifier: MIT */
/* diff_links: the misuses of compiling with embedded headers and of linking. */
#include "tests/opencl/differential.h"

static const char function_source[] = "int add(int a) { return a + K; }\n";
static const char header_user_source[] =
	"#include \"embedded/value.h\"\n"
	"kernel void value(global int *out) { out[0] = VALUE; }\n";

static cl_int compile_with(cl_program program, cl_uint count, const cl_program *headers,
			   const char **names)
{
	return clCompileProgram(program, 0, NULL, "", count, headers, names, NULL, NULL);
}

static void say_program(cl_program program, cl_int error)
{
	printf(" %s %d", program ? "P" : "none", error);
}

static void say_link(struct diff *diff, cl_uint count, const cl_program *parts)
{
	cl_int error = 77;
	cl_program linked = clLinkProgram(diff->cl.context, 0, NULL, "", count, parts, NULL, NULL, &error);

	say_program(linked, error);
}

void diff_misuse_of_links(struct diff *diff)
{
	SURVIVE(diff, "nothing")
		say_link(diff, 0, NULL);
	SURVIVE(diff, "null") {
		cl_program none = NULL;

		say_link(diff, 1, &none);
	}
	SURVIVE(diff, "unbuilt") {
		cl_program part = client_program(&diff->cl, client_source);

		say_link(diff, 1, &part);
	}
	SURVIVE(diff, "failed") {
		cl_program part = client_program(&diff->cl, client_source);
		cl_int error = clCompileProgram(part, 0, NULL, "-DFAIL", 0, NULL, NULL, NULL, NULL);

		printf(" %d", error);
		say_link(diff, 1, &part);
	}
	SURVIVE(diff, "executable") {
		cl_program part = diff_built(diff, client_source, "-DK=3");

		say_link(diff, 1, &part);
	}
	SURVIVE(diff, "executable-and-object") {
		cl_program parts[2] = { diff_built(diff, client_source, "-DK=3"),
					diff_compiled(diff, function_source, "-DK=3") };

		say_link(diff, 2, parts);
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
