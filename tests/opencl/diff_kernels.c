/* SPDX-License-Identifier: MIT */
/* diff_kernels: kernels of programs made in various ways, their questions, counts and lists. */
#include "tests/opencl/differential.h"

enum { KERNELS = 3, ROOM = 8 };

static const char *const names[KERNELS] = { "scale", "shift", "fixed" };

static void ask_each(struct diff *diff, const char *prefix, cl_program program)
{
	for (int i = 0; i < KERNELS; i++) {
		cl_kernel kernel = client_kernel(program, names[i]);
		char name[64];

		(void)snprintf(name, sizeof(name), "%s%s-", prefix, names[i]);
		diff_ask_kernel(diff, name, kernel, program);
		diff_ask_arguments(diff, name, kernel);
		diff_ask_groups(diff, name, kernel, diff->cl.devices[0]);
		diff_say(diff, "refs", "%u %u", diff_kernel_refs(kernel), diff_program_refs(program));
		diff_say(diff, "release", "%d", clReleaseKernel(kernel));
	}
}

static void of_build(struct diff *diff, const char *options)
{
	cl_program program = diff_built(diff, client_source, options);

	ask_each(diff, "", program);
	diff_say(diff, "release-program", "%d", clReleaseProgram(program));
}

static void with_info(struct diff *diff) { of_build(diff, "-DK=3 -cl-kernel-arg-info"); }
static void without_info(struct diff *diff) { of_build(diff, "-DK=3"); }
static void with_debug(struct diff *diff) { of_build(diff, "-DK=3 -cl-opt-disable"); }

/* What a kernel that nobody has given an argument does when it is to run. */
static void run_without_arguments(struct diff *diff, cl_kernel kernel)
{
	const size_t items = CLIENT_ITEMS;

	if (diff->cl.queue)
		diff_say(diff, "without-arguments", "%d",
			 clEnqueueNDRangeKernel(diff->cl.queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL));
}

/* The same kernel, created for each launch. */
static void again(struct diff *diff)
{
	enum { TIMES = 6 };
	cl_program program = diff_built(diff, client_source, "-DK=3");
	cl_kernel kernels[TIMES];

	/* Counts first: what runs may hold them for a while. */
	for (int i = 0; i < TIMES; i++) {
		cl_kernel passing = client_kernel(program, "shift");

		kernels[i] = client_kernel(program, "shift");
		diff_say(diff, "refs", "%u %u", diff_kernel_refs(passing), diff_program_refs(program));
		diff_ask_kernel(diff, "", kernels[i], program);
		diff_ask_groups(diff, "", kernels[i], diff->cl.devices[0]);
		diff_say(diff, "release", "%d", clReleaseKernel(passing));
		diff_say(diff, "refs-later", "%u", diff_program_refs(program));
	}
	for (int i = 0; i < TIMES; i++) {
		run_without_arguments(diff, kernels[i]);
		diff_say(diff, "value", "%d", diff_value(diff, kernels[i]));
		diff_say(diff, "release-used", "%d", clReleaseKernel(kernels[i]));
		kernels[i] = client_kernel(program, "shift");
		run_without_arguments(diff, kernels[i]);
		diff_say(diff, "release-new", "%d", clReleaseKernel(kernels[i]));
	}
	diff_say(diff, "release-program", "%d", clReleaseProgram(program));
}

static void of_link(struct diff *diff)
{
	cl_program object = diff_compiled(diff, client_source, "-DK=3 -cl-kernel-arg-info");
	cl_int error = 1;
	cl_program program = clLinkProgram(diff->cl.context, 0, NULL, NULL, 1, &object, NULL, NULL, &error);

	if (!program)
		client_fail("link", error);
	ask_each(diff, "", program);
	diff_say(diff, "release-program", "%d %d", clReleaseProgram(program), clReleaseProgram(object));
}

static void act_group_without_device(struct diff *diff, void *data)
{
	size_t size = 0;

	(void)diff;
	printf(" %d", clGetKernelWorkGroupInfo(data, NULL, CL_KERNEL_WORK_GROUP_SIZE, sizeof(size), &size, NULL));
}

static void act_group_of_other_device(struct diff *diff, void *data)
{
	size_t size = 0;

	(void)diff;
	printf(" %d", clGetKernelWorkGroupInfo(data, (cl_device_id)data, CL_KERNEL_WORK_GROUP_SIZE,
					       sizeof(size), &size, NULL));
}

static void act_argument_far(struct diff *diff, void *data)
{
	char text[64];

	(void)diff;
	printf(" %d", clGetKernelArgInfo(data, 1000, CL_KERNEL_ARG_NAME, sizeof(text), text, NULL));
}

static void act_sub_group(struct diff *diff, void *data)
{
	size_t input[3] = { 8, 1, 1 }, value = 0, size = 0;
	cl_int error = clGetKernelSubGroupInfo(data, diff->cl.devices[0], CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE,
					       sizeof(input), input, sizeof(value), &value, &size);

	printf(" %d %zu %zu", error, value, size);
}

static void act_sub_groups_compiled(struct diff *diff, void *data)
{
	size_t value = 0, size = 0;
	cl_int error = clGetKernelSubGroupInfo(data, diff->cl.devices[0], CL_KERNEL_COMPILE_NUM_SUB_GROUPS, 0, NULL,
					       sizeof(value), &value, &size);

	printf(" %d %zu %zu", error, value, size);
}

static void act_sub_group_unknown(struct diff *diff, void *data)
{
	size_t size = 0;

	printf(" %d", clGetKernelSubGroupInfo(data, diff->cl.devices[0], 1, 0, NULL, 0, NULL, &size));
}

static void act_clone(struct diff *diff, void *data)
{
	cl_int error = 1;
	cl_kernel clone = clCloneKernel(data, &error);
	cl_program program = NULL;

	printf(" %d %s", error, clone ? "K" : "none");
	if (!clone)
		return;
	(void)clGetKernelInfo(data, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL);
	printf(" refs %u %u %u\n", diff_kernel_refs(data), diff_kernel_refs(clone), diff_program_refs(program));
	diff_ask_kernel(diff, "clone-", clone, program);
	printf("%s.clone-release: %d", diff->running.subject, clReleaseKernel(clone));
}

static void oddities(struct diff *diff)
{
	cl_program program = diff_built(diff, client_source, "-DK=3 -cl-kernel-arg-info");
	cl_kernel kernel = client_kernel(program, "fixed");

	diff_survive(diff, "group-without-device", act_group_without_device, kernel);
	diff_survive(diff, "group-of-other-device", act_group_of_other_device, kernel);
	diff_survive(diff, "argument-far", act_argument_far, kernel);
	if (!diff_is_older(diff, "sub-groups", 21)) {
		diff_survive(diff, "sub-group", act_sub_group, kernel);
		diff_survive(diff, "sub-groups-compiled", act_sub_groups_compiled, kernel);
		diff_survive(diff, "sub-group-unknown", act_sub_group_unknown, kernel);
		diff_survive(diff, "clone", act_clone, kernel);
	}
	diff_say(diff, "release", "%d %d", clReleaseKernel(kernel), clReleaseProgram(program));
}

/* Names in the order of the kernels made by one call. */
static void print_names(cl_kernel *kernels, cl_uint count)
{
	for (cl_uint i = 0; i < count && i < ROOM; i++) {
		char name[64] = "none";

		if (kernels[i])
			(void)clGetKernelInfo(kernels[i], CL_KERNEL_FUNCTION_NAME, sizeof(name), name, NULL);
		printf(" %s", name);
	}
}

static void many(struct diff *diff, cl_program program, const char *name, cl_uint room, bool array)
{
	cl_kernel kernels[ROOM] = { NULL };
	cl_uint count = 77, made = 0;
	cl_int error = clCreateKernelsInProgram(program, room, array ? kernels : NULL, &count);
	char text[64];

	while (made < ROOM && kernels[made])
		made++;
	diff_say(diff, name, "%d count %u made %u refs %u", error, count, made, diff_program_refs(program));
	(void)snprintf(text, sizeof(text), "%s-order", name);
	diff_open(diff, text);
	print_names(kernels, made);
	diff_close();
	for (cl_uint i = 0; i < made; i++) {
		cl_program owner = NULL;

		(void)snprintf(text, sizeof(text), "%s-%u", name, i);
		error = clGetKernelInfo(kernels[i], CL_KERNEL_PROGRAM, sizeof(owner), &owner, NULL);
		diff_say(diff, text, "%d %s refs %u", error, owner == program ? "P" : "other",
			 diff_kernel_refs(kernels[i]));
		diff_say(diff, "release", "%d", clReleaseKernel(kernels[i]));
	}
}

static void together(struct diff *diff)
{
	cl_program program = diff_built(diff, client_source, "-DK=3");

	many(diff, program, "count", 0, false);
	many(diff, program, "exactly", KERNELS, true);
	many(diff, program, "more", ROOM, true);
	many(diff, program, "fewer", KERNELS - 1, true);
	many(diff, program, "again", KERNELS, true);
	diff_say(diff, "release", "%d", clReleaseProgram(program));
}

/* What is asked of a program in any state, by names, and its end. */
static void create_in(struct diff *diff, const char *state, cl_program program)
{
	diff_ask_names(diff, state, program, "scale");
	diff_say(diff, "refs", "%u", diff_program_refs(program));
	diff_say(diff, "release", "%d", clReleaseProgram(program));
}

static void creations(struct diff *diff)
{
	cl_program failing = client_program(&diff->cl, client_source), changed;
	cl_program library = NULL, linked = NULL, object;
	cl_int error = 1;

	create_in(diff, "unbuilt-", client_program(&diff->cl, client_source));
	create_in(diff, "built-", diff_built(diff, client_source, "-DK=3"));
	diff_say(diff, "build", "%d", client_build(failing, "-DK=3 -DFAIL"));
	create_in(diff, "failed-", failing);
	changed = diff_built(diff, client_source, "-DK=3");
	diff_say(diff, "build", "%d", client_build(changed, "-DK=3 -DFAIL"));
	create_in(diff, "failed-later-", changed);
	object = diff_compiled(diff, client_source, "-DK=3");
	library = clLinkProgram(diff->cl.context, 0, NULL, "-create-library", 1, &object, NULL, NULL, &error);
	diff_say(diff, "library", "%d", error);
	linked = clLinkProgram(diff->cl.context, 0, NULL, NULL, 1, &object, NULL, NULL, &error);
	diff_say(diff, "link", "%d", error);
	create_in(diff, "compiled-", object);
	if (library)
		create_in(diff, "library-", library);
	if (linked)
		create_in(diff, "linked-", linked);
}

const struct diff_subject diff_kernels[] = {
	{ "kernels-with-info", with_info, false },
	{ "kernels-without-info", without_info, false },
	{ "kernels-unoptimised", with_debug, false },
	{ "kernels-of-link", of_link, false },
	{ "kernel-oddities", oddities, false },
	{ "kernels-together", together, false },
	{ "kernel-creations", creations, false },
	{ "kernels-again", again, false },
	{ NULL, NULL, false },
};
