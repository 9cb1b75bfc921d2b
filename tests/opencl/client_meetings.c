/* SPDX-License-Identifier: MIT */
/*
 * client_meetings: scenarios in which one call of a program meets another:
 * builds that are superseded, nested, refused; kernels that outlive what they
 * came from; libraries that come and go.
 */
#include <dlfcn.h>
#include <stdatomic.h>

#include "tests/opencl/client.h"

enum { PATIENCE_S = 10, STRESS_PATIENCE_S = 60 };	/* a scenario that hangs is killed, and fails */

static void print_value(struct client *client, cl_program program)
{
	cl_kernel kernel = client_kernel(program, "scale");

	client_print_scaled(client, kernel, 2);
	printf("release %d\n", clReleaseKernel(kernel));
}

/* A program is built, then compiled with other options, and never built again. */
SCENARIO(compile_built)
{
	cl_program program = client_program(client, client_source);

	printf("build %d\n", client_build(program, "-DK=5"));
	print_value(client, program);
	printf("compile %d\n", client_compile(program, "-DK=6"));
	client_print_build(client, program);
	printf("release %d\n", clReleaseProgram(program));
}

struct notice {
	pthread_mutex_t lock;
	pthread_cond_t arrived;
	int calls;		/* guarded by lock */
	int expected;		/* calls that are waited for */
	cl_int errors[2];	/* of the builds made in callbacks; guarded by lock */
};

static void note(struct notice *notice)
{
	(void)pthread_mutex_lock(&notice->lock);	/* a default mutex does not fail */
	notice->calls++;
	(void)pthread_cond_signal(&notice->arrived);	/* as above */
	(void)pthread_mutex_unlock(&notice->lock);	/* as above */
}

static void wait_for_calls(struct notice *notice)
{
	(void)pthread_mutex_lock(&notice->lock);	/* a default mutex does not fail */
	while (notice->calls < notice->expected)
		(void)pthread_cond_wait(&notice->arrived, &notice->lock);	/* as above */
	(void)pthread_mutex_unlock(&notice->lock);	/* as above */
}

static void CL_CALLBACK on_built(cl_program program, void *data)
{
	(void)program;
	note(data);
}

/* The first build calls back after the second of the same program is done: see STUB_SUPERSEDED. */
SCENARIO(superseded)
{
	struct notice notice = { .lock = PTHREAD_MUTEX_INITIALIZER,
				 .arrived = PTHREAD_COND_INITIALIZER, .expected = 1 };
	cl_program program = client_program(client, client_source);

	(void)alarm(PATIENCE_S);	/* cannot fail */
	printf("build %d\n", clBuildProgram(program, 0, NULL, "-DK=1", on_built, &notice));
	printf("build again %d\n", client_build(program, "-DK=2"));
	wait_for_calls(&notice);
	client_print_build(client, program);
	print_value(client, program);
	printf("release %d\n", clReleaseProgram(program));
}

struct linker {
	struct client *client;
	cl_program input, result;
	cl_int error;
};

static void *link_in_thread(void *data)
{
	struct linker *linker = data;

	linker->result = clLinkProgram(linker->client->context, 0, NULL, "", 1, &linker->input, NULL,
				       NULL, &linker->error);
	return NULL;
}

/* compiled-while-linked [GATE]: the driver's link stops at the gate, while its input is compiled anew. */
SCENARIO(compiled_while_linked)
{
	struct linker linker = { .client = client, .input = client_program(client, client_source) };
	const char *gate = client->arguments[0];
	pthread_t thread;
	int fd = -1;

	(void)alarm(PATIENCE_S);	/* cannot fail */
	printf("compile %d\n", client_compile(linker.input, "-DK=5"));
	if (pthread_create(&thread, NULL, link_in_thread, &linker) != 0)
		client_fail("pthread_create", 0);
	if (gate && (fd = open(gate, O_WRONLY | O_CLOEXEC)) < 0)
		client_fail(gate, 0);
	if (gate)
		printf("compile again %d\n",
		       clCompileProgram(linker.input, 0, NULL, "-DK=6", 0, NULL, NULL, NULL, NULL));
	if (gate && close(fd) != 0)
		client_fail(gate, 0);
	if (pthread_join(thread, NULL) != 0)
		client_fail("pthread_join", 0);
	printf("link %d\n", linker.error);
	print_value(client, linker.result);
	printf("release %d %d\n", clReleaseProgram(linker.result), clReleaseProgram(linker.input));
}

/* linked-again OPTIONS: an object is linked, compiled anew with these, and linked again. */
SCENARIO(linked_again)
{
	const char *const options[] = { "-DK=5", client->arguments[0] };
	cl_program object = client_program(client, client_source), linked;
	cl_int error;

	for (int i = 0; i < 2; i++) {
		printf("compile %d\n", client_compile(object, options[i]));
		linked = client_print_linked(client, "", 1, &object, &error);
		print_value(client, linked);
		printf("release %d\n", clReleaseProgram(linked));
	}
	printf("release %d\n", clReleaseProgram(object));
}

static void CL_CALLBACK build_last(cl_program program, void *data)
{
	struct notice *notice = data;

	notice->errors[1] = clBuildProgram(program, 0, NULL, "-DK=3", NULL, NULL);
	note(notice);
}

static void CL_CALLBACK build_again(cl_program program, void *data)
{
	struct notice *notice = data;

	notice->errors[0] = clBuildProgram(program, 0, NULL, "-DK=2", build_last, notice);
	note(notice);
}

/* nested [compile]: the callback builds the program again, and that build's callback once more. */
SCENARIO(nested)
{
	struct notice notice = { .lock = PTHREAD_MUTEX_INITIALIZER,
				 .arrived = PTHREAD_COND_INITIALIZER, .expected = 2 };
	cl_program program = client_program(client, client_source);
	cl_int error;

	(void)alarm(PATIENCE_S);	/* cannot fail */
	if (client->arguments[0])
		error = clCompileProgram(program, 0, NULL, "-DK=1", 0, NULL, NULL, build_again,
					 &notice);
	else
		error = clBuildProgram(program, 0, NULL, "-DK=1", build_again, &notice);
	wait_for_calls(&notice);
	printf("errors %d %d %d\n", error, notice.errors[0], notice.errors[1]);
	client_print_build(client, program);
	print_value(client, program);
	printf("release %d\n", clReleaseProgram(program));
}

/* Releases what a call was about, and something new may lie where it was. */
struct release {
	struct notice notice;
	struct client *client;
	cl_program object;	/* of a link; also released */
};

static void CL_CALLBACK release_in_callback(cl_program program, void *data)
{
	struct release *release = data;
	cl_program another;

	printf("release in callback %d\n", clReleaseProgram(program));
	if (release->object)
		printf("release object %d\n", clReleaseProgram(release->object));
	another = client_program(release->client, client_source);
	printf("build another %d\n", client_build(another, "-DK=7"));
	print_value(release->client, another);
	printf("release another %d\n", clReleaseProgram(another));
	note(&release->notice);
}

/* released-in-callback build|compile|link OPTIONS [SOURCE]: the callback releases the last reference to all that its call has. */
SCENARIO(released_in_callback)
{
	struct release release = {
		.notice = { .lock = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER, .expected = 1 },
		.client = client,
	};
	const char *how = client->arguments[0], *options = client->arguments[1];
	const char *source = client->arguments[2] ? client->arguments[2] : client_source;
	cl_program program = client_program(client, source), result;
	cl_int error;

	(void)alarm(PATIENCE_S);	/* cannot fail */
	if (!strcmp(how, "build")) {
		error = clBuildProgram(program, 0, NULL, options, release_in_callback, &release);
	} else if (!strcmp(how, "compile")) {
		error = clCompileProgram(program, 0, NULL, options, 0, NULL, NULL, release_in_callback,
					 &release);
	} else {
		printf("compile %d\n", client_compile(program, options));
		release.object = program;
		result = clLinkProgram(client->context, 0, NULL, "", 1, &program, release_in_callback,
				       &release, &error);
		printf("result %d\n", result != NULL);
	}
	wait_for_calls(&release.notice);
	printf("%s %d calls %d\n", how, error, release.notice.calls);
}

static cl_program program_of(cl_kernel kernel)
{
	cl_program program = NULL;
	cl_int error = clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof(program), &program, NULL);

	if (error)
		client_fail("CL_KERNEL_PROGRAM", error);
	return program;
}

/*
 * older-kernels OPTIONS FIRST: on a driver that builds programs that have
 * kernels: a kernel of the first build and one of the second live while the
 * program is built a third time, with OPTIONS, and released. Kernel FIRST (0
 * or 1) is released first.
 */
SCENARIO(older_kernels)
{
	static const char *const options[] = { "-DK=1", "-DK=2" };
	cl_program program = client_program(client, client_source);
	int first = atoi(client->arguments[1]);
	cl_kernel kernels[2];

	for (int i = 0; i < 2; i++) {
		printf("build %d\n", client_build(program, options[i]));
		kernels[i] = client_kernel(program, i ? "shift" : "scale");
	}
	client_print_built(client, program, client->arguments[0]);
	printf("release program %d\n", clReleaseProgram(program));
	for (int i = 0; i < 2; i++)
		client_print_kernel(client, kernels[i], program);
	printf("release %d\n", clReleaseKernel(kernels[first]));
	client_print_kernel(client, kernels[!first], program);
	/* A kernel keeps its program alive. */
	client_print_build(client, program_of(kernels[!first]));
	printf("release %d\n", clReleaseKernel(kernels[!first]));
}

/* The driver refuses each of these calls outright: the program stays as it was built. */
SCENARIO(refused)
{
	cl_program program = client_program(client, client_source);
	const cl_device_id none = NULL;
	cl_kernel kernel;
	int data = 0;

	printf("build %d\n", client_build(program, "-DK=5"));
	printf("compile with data alone %d\n",
	       clCompileProgram(program, 0, NULL, "-DK=6", 0, NULL, NULL, NULL, &data));
	client_print_program(client, program);
	client_print_build(client, program);
	printf("compile for a missing list %d\n",
	       clCompileProgram(program, 1, NULL, "-DK=6", 0, NULL, NULL, NULL, NULL));
	print_value(client, program);
	printf("compile for no device %d\n",
	       clCompileProgram(program, 1, &none, "-DK=6", 0, NULL, NULL, NULL, NULL));
	client_print_build(client, program);
	printf("compile with missing headers %d\n",
	       clCompileProgram(program, 0, NULL, "-DK=6", 1, NULL, NULL, NULL, NULL));
	print_value(client, program);
	printf("build with data alone %d\n",
	       clBuildProgram(program, 0, NULL, "-DK=6", NULL, &data));
	printf("build for no device %d\n",
	       clBuildProgram(program, 1, &none, "-DK=6", NULL, NULL));
	client_print_build(client, program);
	kernel = client_kernel(program, "scale");
	printf("compile with a kernel %d\n",
	       clCompileProgram(program, 0, NULL, "-DK=6", 0, NULL, NULL, NULL, NULL));
	client_print_program(client, program);
	client_print_build(client, program);
	client_print_kernel(client, kernel, program);
	printf("release %d %d\n", clReleaseKernel(kernel), clReleaseProgram(program));
}

struct passage {
	const char *path;
	atomic_bool stop;
	atomic_uint rounds, failures;
};

static void *pass(void *data)
{
	struct passage *passage = data;

	while (!atomic_load(&passage->stop)) {
		void *library = dlopen(passage->path, RTLD_NOW | RTLD_LOCAL);

		if (!library || dlclose(library))
			atomic_fetch_add(&passage->failures, 1);
		atomic_fetch_add(&passage->rounds, 1);
	}
	return NULL;
}

/*
 * libraries PATH COUNT: builds so many programs while another thread loads and unloads a library;
 * fewer where the cache waits long for its disk.
 */
SCENARIO(libraries)
{
	struct passage passage = { .path = client->arguments[0] };
	unsigned int count = (unsigned int)atoi(client->arguments[1]), wrong = 0, built = 0;
	time_t end = time(NULL) + STRESS_PATIENCE_S / 3;
	pthread_t thread;

	(void)alarm(STRESS_PATIENCE_S);	/* cannot fail */
	if (pthread_create(&thread, NULL, pass, &passage))
		client_fail("pthread_create", 0);
	while (!atomic_load(&passage.rounds))
		;	/* it has begun */
	for (; built < count && time(NULL) < end; built++) {
		cl_program program = client_program(client, client_source);
		char options[32];
		cl_kernel kernel;

		(void)snprintf(options, sizeof(options), "-DK=%u", built);
		wrong += client_build(program, options) != CL_SUCCESS;
		kernel = client_kernel(program, "scale");
		wrong += client_private_size(client, kernel) !=
			 client_digest(client_source, options);
		wrong += clReleaseKernel(kernel) || clReleaseProgram(program);
	}
	atomic_store(&passage.stop, true);
	if (pthread_join(thread, NULL))
		client_fail("pthread_join", 0);
	printf("wrong %u failures %u\n", wrong, atomic_load(&passage.failures));
	(void)fprintf(stderr, "built %u\n", built);
}
