/* SPDX-License-Identifier: MIT */
/* diff_ils: programs from an intermediate language, their constants, and the misuses of both. */
#include "tests/opencl/differential.h"
#include "tests/opencl/value_il.h"

enum { CONSTANT = 7 };	/* value_il's */

static cl_program program_of_il(struct diff *diff, cl_int *ret_error)
{
	*ret_error = 77;
	return clCreateProgramWithIL(diff->cl.context, value_il, sizeof(value_il), ret_error);
}

static void say_program(cl_program program, cl_int error)
{
	printf(" %s %d", program ? "P" : "none", error);
}

static void create(struct diff *diff, const void *il, size_t size)
{
	cl_int error = 77;
	cl_program program = clCreateProgramWithIL(diff->cl.context, il, size, &error);

	say_program(program, error);
	if (program)
		printf(" build %d", client_build(program, ""));
}

static int value_of(struct diff *diff, cl_program program)
{
	cl_kernel kernel = client_kernel(program, "value");
	int value = diff_value(diff, kernel);

	(void)clReleaseKernel(kernel);	/* the subject is its value */
	return value;
}

static void build_and_ask(struct diff *diff)
{
	cl_int error;
	cl_program program = program_of_il(diff, &error);

	say_program(program, error);
	if (!program)
		return;
	printf("\n");
	diff_ask_all(diff, "unbuilt-", program);
	error = client_build(program, "-cl-mad-enable");
	diff_say(diff, "build", "%d", error);
	diff_ask_all(diff, "built-", program);
	if (!error)
		diff_say(diff, "value", "%d", value_of(diff, program));
	diff_open(diff, "release");
	printf(" %d", clReleaseProgram(program));
}

/* Sets it to each, and builds after each. */
static void constants(struct diff *diff)
{
	const int numbers[] = { 5, 6, 5 };
	cl_int error;
	cl_program program = program_of_il(diff, &error);

	say_program(program, error);
	if (!program)
		return;
	printf(" build %d", error = client_build(program, ""));
	if (!error)
		printf(" value %d", value_of(diff, program));
	for (int i = 0; i < 3; i++) {
		printf(" set %d", clSetProgramSpecializationConstant(program, CONSTANT,
								     sizeof(numbers[i]),
								     &numbers[i]));
		printf(" build %d", error = client_build(program, ""));
		if (!error)
			printf(" value %d", value_of(diff, program));
	}
	printf(" release %d", clReleaseProgram(program));
}

static void bad_constants(struct diff *diff)
{
	const int number = 5;
	cl_int error;
	cl_program program = program_of_il(diff, &error);

	say_program(program, error);
	if (!program)
		return;
	printf(" id %d", clSetProgramSpecializationConstant(program, CONSTANT + 1, sizeof(number),
							    &number));
	printf(" size %d", clSetProgramSpecializationConstant(program, CONSTANT, 1, &number));
	printf(" null %d", clSetProgramSpecializationConstant(program, CONSTANT, sizeof(number),
							      NULL));
	printf(" build %d", error = client_build(program, ""));
	if (!error)
		printf(" value %d", value_of(diff, program));
}

static void compile_and_link(struct diff *diff)
{
	cl_int error;
	cl_program program = program_of_il(diff, &error), linked;

	say_program(program, error);
	if (!program)
		return;
	printf(" compile %d", clCompileProgram(program, 0, NULL, "", 0, NULL, NULL, NULL, NULL));
	error = 77;
	linked = clLinkProgram(diff->cl.context, 0, NULL, "", 1, &program, NULL, NULL, &error);
	printf(" link");
	say_program(linked, error);
	if (linked && !error)
		printf(" value %d", value_of(diff, linked));
}

static void set_constant(cl_program program)
{
	const int number = 5;

	printf(" %d", clSetProgramSpecializationConstant(program, CONSTANT, sizeof(number), &number));
}

static void intermediate(struct diff *diff)
{
	SURVIVE_SINCE(diff, 21, "null")
		create(diff, NULL, sizeof(value_il));
	SURVIVE_SINCE(diff, 21, "empty")
		create(diff, value_il, 0);
	SURVIVE_SINCE(diff, 21, "no-il")
		create(diff, client_source, strlen(client_source));
	SURVIVE_SINCE(diff, 21, "cut")
		create(diff, value_il, 20);
	SURVIVE_SINCE(diff, 21, "without-context") {
		cl_int error = 77;
		cl_program program = clCreateProgramWithIL(NULL, value_il, sizeof(value_il), &error);

		say_program(program, error);
	}
	SURVIVE_SINCE(diff, 21, "create")
		build_and_ask(diff);
	SURVIVE_SINCE(diff, 22, "constants")
		constants(diff);
	SURVIVE_SINCE(diff, 22, "bad-constants")
		bad_constants(diff);
	SURVIVE_SINCE(diff, 22, "constant-of-source")
		set_constant(client_program(&diff->cl, client_source));
	SURVIVE_SINCE(diff, 22, "constant-of-null")
		set_constant(NULL);
	SURVIVE_SINCE(diff, 21, "compile-and-link")
		compile_and_link(diff);
}

const struct diff_subject diff_ils[] = {
	{ "il", intermediate, true },
	{ NULL, NULL, false },
};
