/* SPDX-License-Identifier: MIT */
/* diff_lives: counts, orders of release, callbacks, and what programs of one source do not share. */
#include "tests/opencl/differential.h"

static void say_refs(struct diff *diff, const char *name, cl_program program)
{
	char of_context[64];

	diff_say(diff, name, "%u", diff_program_refs(program));
	(void)snprintf(of_context, sizeof(of_context), "%s-context-refs", name);
	diff_say(diff, of_context, "%u", diff_context_refs(diff->cl.context));
}

static void counts(struct diff *diff)
{
	cl_program program = client_program(&diff->cl, client_source);
	cl_kernel first, second;

	say_refs(diff, "unbuilt", program);
	diff_say(diff, "retain", "%d", clRetainProgram(program));
	say_refs(diff, "retained", program);
	diff_say(diff, "build", "%d", client_build(program, "-DK=3"));
	say_refs(diff, "built", program);
	first = client_kernel(program, "scale");
	say_refs(diff, "with-kernel", program);
	second = client_kernel(program, "scale");
	say_refs(diff, "with-kernels", program);
	diff_say(diff, "retain-kernel", "%d", clRetainKernel(first));
	diff_say(diff, "kernel-refs", "%u", diff_kernel_refs(first));
	say_refs(diff, "with-kernel-retained", program);
	diff_say(diff, "release-kernel", "%d", clReleaseKernel(first));
	diff_say(diff, "kernel-refs-later", "%u", diff_kernel_refs(first));
	diff_say(diff, "release", "%d", clReleaseProgram(program));
	say_refs(diff, "released-once", program);
	diff_say(diff, "release-second", "%d", clReleaseKernel(second));
	diff_say(diff, "release-first", "%d", clReleaseKernel(first));
	say_refs(diff, "without-kernels", program);
	diff_say(diff, "build-again", "%d", client_build(program, "-DK=3"));
	say_refs(diff, "built-again", program);
	diff_say(diff, "release-last", "%d", clReleaseProgram(program));
	diff_say(diff, "after-context-refs", "%u", diff_context_refs(diff->cl.context));
}

/* Kernels are asked, and run, when the program's last reference of the application's is gone. */
static void kernel_outlives(struct diff *diff)
{
	cl_program program = diff_built(diff, client_source, "-DK=3 -cl-kernel-arg-info"), asked;
	cl_kernel kernel = client_kernel(program, "shift");
	cl_int error;

	diff_say(diff, "release", "%d", clReleaseProgram(program));
	error = clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(asked), (void *)&asked, NULL);
	diff_say(diff, "program", "%d %s refs %u", error, asked == program ? "P" : "other",
		 diff_program_refs(program));
	diff_ask_kernel(diff, "", kernel, program);
	diff_ask_arguments(diff, "", kernel);
	diff_ask_all(diff, "program-", program);
	diff_say(diff, "retain-program", "%d", clRetainProgram(program));
	diff_say(diff, "retained-refs", "%u", diff_program_refs(program));
	diff_say_release(diff, "release-program", program);
	diff_say(diff, "value", "%d", diff_value(diff, kernel));
	diff_say(diff, "release-kernel", "%d", clReleaseKernel(kernel));
}

/* The session's own references go first. */
static void context_first(struct diff *diff)
{
	cl_program program;
	cl_kernel kernel;

	diff_start_session(diff);
	program = diff_built(diff, client_source, "-DK=3");
	kernel = client_kernel(program, "shift");
	diff_end_session(diff);
	diff_ask_kernel(diff, "", kernel, program);
	diff_ask_all(diff, "", program);
	diff_say(diff, "release-program", "%d", clReleaseProgram(program));
	diff_say(diff, "kernel-refs", "%u", diff_kernel_refs(kernel));
	diff_say(diff, "release-kernel", "%d", clReleaseKernel(kernel));
}

static void exit_live(struct diff *diff)
{
	cl_program program = diff_built(diff, client_source, "-DK=3");
	cl_kernel kernel = client_kernel(program, "shift");

	(void)client_program(&diff->cl, client_source);
	diff_say(diff, "value", "%d", diff_value(diff, kernel));
	exit(fflush(stdout) ? 2 : 0);
}

/* Each program has its own variable, which its kernel steps. */
static void scope_variables(struct diff *diff)
{
	static const char source[] =
		"global int counter = 5;\n"
		"kernel void value(global int *out) { if (!get_global_id(0)) out[0] = counter++; }\n";
	static const char *const names[2] = { "first", "second" };
	static const char *const prefixes[2] = { "first-", "second-" };
	cl_program programs[2];
	cl_kernel kernels[2];
	cl_int error[2];

	for (int i = 0; i < 2; i++) {
		programs[i] = client_program(&diff->cl, source);
		error[i] = client_build(programs[i], "-cl-std=CL2.0");
		diff_say(diff, names[i], "%d", error[i]);
		diff_ask_build(diff, prefixes[i], programs[i], diff->cl.devices[0]);
	}
	if (!error[0] && !error[1]) {
		for (int i = 0; i < 2; i++)
			kernels[i] = client_kernel(programs[i], "value");
		for (int i = 0; i < 4; i++)
			diff_say(diff, names[i / 2], "%d", diff_value(diff, kernels[i / 2]));
		for (int i = 0; i < 2; i++)
			diff_say(diff, "release-kernel", "%d", clReleaseKernel(kernels[i]));
	}
	for (int i = 0; i < 2; i++)
		diff_say(diff, "release", "%d", clReleaseProgram(programs[i]));
}

static void two_contexts(struct diff *diff)
{
	cl_program first = diff_built(diff, client_source, "-DK=3"), second;
	cl_context old = diff->cl.context;
	cl_kernel kernel;
	cl_int error;

	diff->cl.context = clCreateContext(NULL, diff->cl.device_count, diff->cl.devices, NULL, NULL,
					   &error);
	if (error)
		client_fail("context", error);
	second = diff_built(diff, client_source, "-DK=3");
	kernel = client_kernel(second, "shift");
	diff_ask_kernel(diff, "second-", kernel, second);
	diff_ask_program(diff, "second-", second);
	diff_say(diff, "second-context", "%d", clReleaseContext(diff->cl.context));
	diff_say_release(diff, "second-release", second);
	diff_say(diff, "second-kernel", "%d", clReleaseKernel(kernel));
	diff->cl.context = old;
	kernel = client_kernel(first, "shift");
	diff_say(diff, "value", "%d", diff_value(diff, kernel));
	diff_say(diff, "release-kernel", "%d", clReleaseKernel(kernel));
	diff_say(diff, "release", "%d", clReleaseProgram(first));
}

static void wait_for_notice(struct diff *diff, const char *name, struct client_notice *notice,
			    cl_program expected)
{
	client_notice_wait(notice, 1, 60);
	(void)pthread_mutex_lock(&notice->lock);	/* a default mutex does not fail */
	diff_say(diff, name, "calls %d %s %d", notice->calls,
		 notice->program == expected ? "P" : "other", notice->status);
	notice->calls = 0;
	(void)pthread_mutex_unlock(&notice->lock);	/* as above */
}

static void callbacks(struct diff *diff)
{
	/* static: a driver that calls back late finds it */
	static struct client_notice notice = CLIENT_NOTICE;
	cl_program program = client_program(&diff->cl, client_source), object, linked;
	cl_int error = 77;

	notice.device = diff->cl.devices[0];
	diff_say(diff, "build", "%d", clBuildProgram(program, 0, NULL, "-DK=3", client_notice_take, &notice));
	wait_for_notice(diff, "build-notice", &notice, program);
	diff_say(diff, "build-again", "%d",
		 clBuildProgram(program, 0, NULL, "-DK=3", client_notice_take, &notice));
	wait_for_notice(diff, "build-again-notice", &notice, program);
	object = client_program(&diff->cl, client_source);
	diff_say(diff, "compile", "%d", clCompileProgram(object, 0, NULL, "-DK=3", 0, NULL, NULL,
							 client_notice_take, &notice));
	wait_for_notice(diff, "compile-notice", &notice, object);
	linked = clLinkProgram(diff->cl.context, 0, NULL, "", 1, &object, client_notice_take, &notice, &error);
	diff_say(diff, "link", "%d %s", error, linked ? "P" : "none");
	if (linked) {
		wait_for_notice(diff, "link-notice", &notice, linked);
		diff_say_release(diff, "release-linked", linked);
	}
	diff_say_release(diff, "release", program);
	diff_say_release(diff, "release-object", object);
}

static void build_fails_with_callback(struct diff *diff)
{
	static struct client_notice notice = CLIENT_NOTICE;
	cl_program program = client_program(&diff->cl, client_source);

	notice.device = diff->cl.devices[0];
	for (int i = 0; i < 2; i++) {
		diff_say(diff, i ? "build-again" : "build", "%d",
			 clBuildProgram(program, 0, NULL, "-DK=3 -DFAIL", client_notice_take, &notice));
		wait_for_notice(diff, i ? "again-notice" : "notice", &notice, program);
	}
	diff_say(diff, "release", "%d", clReleaseProgram(program));
}

static void release_callback(struct diff *diff)
{
	static struct client_notice notice = CLIENT_NOTICE;
	cl_program program = diff_built(diff, client_source, "-DK=3");
	cl_int error = clSetProgramReleaseCallback(program, client_notice_take, &notice);
	cl_kernel kernel = client_kernel(program, "shift");

	printf(" set %d null %d", error, clSetProgramReleaseCallback(program, NULL, NULL));
	printf(" release %d", clReleaseProgram(program));
	printf(" calls %d", notice.calls);
	printf(" release %d", clReleaseKernel(kernel));
	printf(" calls %d %s", notice.calls, error || notice.program == program ? "P" : "other");
}

static void unload_platform_compiler(struct diff *diff)
{
	cl_program program = diff_built(diff, client_source, "-DK=3");

	printf(" unload %d", clUnloadPlatformCompiler(diff->cl.platform));
	printf(" kernel %d", clReleaseKernel(client_kernel(program, "shift")));
	printf(" build %d", client_build(program, "-DK=4"));
	printf(" unload %d", clUnloadCompiler());
	printf(" build %d", client_build(program, "-DK=3"));
	printf(" release %d", clReleaseProgram(program));
}

static void clone_outlives(struct diff *diff)
{
	cl_program program = diff_built(diff, client_source, "-DK=3");
	cl_kernel kernel = client_kernel(program, "shift"), clone;
	cl_int error = 77;

	clone = clCloneKernel(kernel, &error);
	printf(" %d refs %u", error, diff_program_refs(program));
	if (!clone)
		return;
	printf(" release %d", clReleaseKernel(kernel));
	printf(" refs %u", diff_program_refs(program));
	printf(" release %d", clReleaseProgram(program));
	printf(" value %d", diff_value(diff, clone));
	printf(" release %d", clReleaseKernel(clone));
}

static void risky(struct diff *diff)
{
	SURVIVE_SINCE(diff, 22, "release-callback")
		release_callback(diff);
	SURVIVE_SINCE(diff, 12, "unload-compiler")
		unload_platform_compiler(diff);
	SURVIVE_SINCE(diff, 21, "clone-outlives")
		clone_outlives(diff);
}

const struct diff_subject diff_lives[] = {
	{ "counts", counts, false },
	{ "kernel-outlives", kernel_outlives, false },
	{ "context-first", context_first, true },
	{ "exit-live", exit_live, false },
	{ "scope-variables", scope_variables, false },
	{ "two-contexts", two_contexts, false },
	{ "callbacks", callbacks, false },
	{ "callback-of-failure", build_fails_with_callback, false },
	{ "lives", risky, true },
	{ NULL, NULL, false },
};
