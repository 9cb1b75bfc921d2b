/* SPDX-License-Identifier: MIT */
/*
 * client_meetings: scenarios in which one call of a program meets another:
 * nested builds, releases in callbacks; libraries that come and go.
 */
#include <dlfcn.h>
#include <stdatomic.h>

#include "tests/opencl/client.h"
#include "tests/opencl/value_il.h"

enum { PATIENCE_S = 60, STRESS_PATIENCE_S = 180 };	/* a scenario that hangs is killed, and fails */

static void print_value(struct client *client, cl_program program)
{
	cl_kernel kernel = client_kernel(program, "scale");

	client_print_scaled(client, kernel, 2);
	printf("release %d\n", clReleaseKernel(kernel));
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

struct builder {
	cl_program program;
	cl_int error;
};

static void *build_in_thread(void *data)
{
	struct builder *builder = data;

	builder->error = client_build(builder->program, NULL);
	return NULL;
}

/* constant-set-while-built GATE: the driver's build stops at the gate, while the program gets another constant. */
SCENARIO(constant_set_while_built)
{
	struct builder builder = { .program = clCreateProgramWithIL(client->context, value_il, sizeof(value_il), NULL) };
	pthread_t thread;
	int fd;

	(void)alarm(PATIENCE_S);	/* cannot fail */
	client_print_constant(builder.program, "5", clSetProgramSpecializationConstant);
	if (pthread_create(&thread, NULL, build_in_thread, &builder) != 0)
		client_fail("pthread_create", 0);
	if ((fd = open(client->arguments[0], O_WRONLY | O_CLOEXEC)) < 0)
		client_fail(client->arguments[0], 0);
	client_print_constant(builder.program, "6", clSetProgramSpecializationConstant);
	if (close(fd) != 0)
		client_fail(client->arguments[0], 0);
	if (pthread_join(thread, NULL) != 0)
		client_fail("pthread_join", 0);
	printf("build %d release %d\n", builder.error, clReleaseProgram(builder.program));
}

struct nested {
	struct client_notice notice;
	cl_int errors[2];	/* of the builds made in callbacks; guarded by its lock */
};

static void CL_CALLBACK build_last(cl_program program, void *data)
{
	struct nested *nested = data;

	nested->errors[1] = clBuildProgram(program, 0, NULL, "-DK=3", NULL, NULL);
	client_notice_add(&nested->notice);
}

static void CL_CALLBACK build_again(cl_program program, void *data)
{
	struct nested *nested = data;

	nested->errors[0] = clBuildProgram(program, 0, NULL, "-DK=2", build_last, nested);
	client_notice_add(&nested->notice);
}

/* nested [compile]: the callback builds the program again, and that build's callback once more. */
SCENARIO(nested)
{
	struct nested nested = { .notice = CLIENT_NOTICE };
	cl_program program = client_program(client, client_source);
	cl_int error;

	(void)alarm(PATIENCE_S);	/* cannot fail */
	if (client->arguments[0])
		error = clCompileProgram(program, 0, NULL, "-DK=1", 0, NULL, NULL, build_again,
					 &nested);
	else
		error = clBuildProgram(program, 0, NULL, "-DK=1", build_again, &nested);
	client_notice_wait(&nested.notice, 2, PATIENCE_S);
	printf("errors %d %d %d\n", error, nested.errors[0], nested.errors[1]);
	client_print_build(client, program);
	print_value(client, program);
	printf("release %d\n", clReleaseProgram(program));
}

/* Releases what a call was about, and something new may lie where it was. */
struct release {
	struct client_notice notice;
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
	client_notice_add(&release->notice);
}

/* released-in-callback build|compile|link OPTIONS [SOURCE]: the callback releases the last reference to all that its call has. */
SCENARIO(released_in_callback)
{
	struct release release = { .notice = CLIENT_NOTICE, .client = client };
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
	client_notice_wait(&release.notice, 1, PATIENCE_S);
	printf("%s %d calls %d\n", how, error, release.notice.calls);
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
	time_t end = time(NULL) + STRESS_PATIENCE_S / 9;
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
