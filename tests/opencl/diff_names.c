/* SPDX-License-Identifier: MIT */
/* diff_names: kernels asked for by names that a program has or has not, all at once, and none. */
#include "tests/opencl/differential.h"

enum { ROOM = 8, LONG = 4096 };

static void act_none_at_all(struct diff *diff, void *data)
{
	(void)diff;
	printf(" %d", clCreateKernelsInProgram(data, 0, NULL, NULL));
}

static void act_array_of_none(struct diff *diff, void *data)
{
	cl_kernel kernels[ROOM] = { NULL };
	cl_uint count = 77;
	cl_int error = clCreateKernelsInProgram(data, 0, kernels, &count);

	(void)diff;
	printf(" %d %u", error, count);
}

struct creation {
	cl_program program;
	const char *name;
	bool error_too;
};

static void act_create(struct diff *diff, void *data)
{
	const struct creation *creation = data;
	cl_int error = 77;
	cl_kernel kernel = clCreateKernel(creation->program, creation->name,
					  creation->error_too ? &error : NULL);

	(void)diff;
	printf(" %s %d", kernel ? "K" : "none", error);
	if (kernel)
		(void)clReleaseKernel(kernel);	/* it was made */
}

/* may_crash: in a child, which cannot build with every driver. */
static void create(struct diff *diff, const char *line, struct creation *creation, bool may_crash)
{
	if (may_crash) {
		diff_survive(diff, line, act_create, creation);
		return;
	}
	diff_open(diff, line);
	act_create(diff, creation);
	diff_close();
}

static void create_twice(struct diff *diff, const char *prefix, const char *said,
			 cl_program program, const char *name)
{
	struct creation creation = { program, name, true };
	char line[64];

	(void)snprintf(line, sizeof(line), "%s%s", prefix, said);
	create(diff, line, &creation, !name);
	creation.error_too = false;
	(void)snprintf(line, sizeof(line), "%s%s-quietly", prefix, said);
	create(diff, line, &creation, !name);
}

void diff_ask_names(struct diff *diff, const char *prefix, cl_program program, const char *known)
{
	static char longest[LONG + 1];
	char before[64], behind[64], line[64];

	(void)snprintf(before, sizeof(before), " %s", known);
	(void)snprintf(behind, sizeof(behind), "%s ", known);
	memset(longest, 'l', LONG);
	create_twice(diff, prefix, "known", program, known);
	create_twice(diff, prefix, "unknown", program, "no_such_kernel");
	create_twice(diff, prefix, "empty", program, "");
	create_twice(diff, prefix, "null", program, NULL);
	create_twice(diff, prefix, "blank", program, " ");
	create_twice(diff, prefix, "blank-before", program, before);
	create_twice(diff, prefix, "blank-behind", program, behind);
	create_twice(diff, prefix, "words", program, "no such kernel");
	create_twice(diff, prefix, "longest", program, longest);
	(void)snprintf(line, sizeof(line), "%snone-at-all", prefix);
	diff_survive(diff, line, act_none_at_all, program);
	(void)snprintf(line, sizeof(line), "%sarray-of-none", prefix);
	diff_survive(diff, line, act_array_of_none, program);
}
