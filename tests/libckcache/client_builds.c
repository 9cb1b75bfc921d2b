/* SPDX-License-Identifier: MIT */
/* client_builds: ckcache_opencl_build() with the machine's cache. */
#include "tests/libckcache/client.h"

#define THREADS 8
#define HANGS 150	/* seconds, after which a child that waits for ever ends: before its parent is given up */

static const char failing[] = "#error not today\nkernel void value(global int *out) { }\n";

/* As an application that knows nothing of the cache. Argument: options. */
SCENARIO(plain)
{
	const char *options = client->arguments[0] ? client->arguments[0] : api_options;
	OWNED(api_release) cl_program program = api_built(client, api_text, options);

	CHECK(api_is(client, program, api_text, options, API_VALUE));
}

static enum ckcache_origin build(struct client *client, struct ckcache_desc *desc,
				 const char *options)
{
	return api_build(client, desc, NULL, api_text, options, API_VALUE);
}

/* Builds once for each argument: the origin that is due, and with a plus afterwards what was stored is evicted. */
SCENARIO(build)
{
	OWNED(api_free) struct ckcache_desc *desc = api_desc(client, api_text, api_options);

	for (char **argument = client->arguments; *argument; argument++) {
		enum ckcache_origin origin = build(client, desc, api_options);

		if (!CHECK((int)origin == atoi(*argument)))
			(void)fprintf(stderr, "origin %d, wanted %s\n", (int)origin, *argument);
		if (strchr(*argument, '+'))
			WANT(CKCACHE_OK, api->desc_evict(desc, NULL));
	}
}

/* As processes that want the same do. */
SCENARIO(build_any)
{
	OWNED(api_free) struct ckcache_desc *desc = api_desc(client, api_text, api_options);

	(void)build(client, desc, api_options);
}

/* A source with a random token as PyOpenCL's, and a header. Arguments: the token, and the origin that is due. */
SCENARIO(build_token)
{
	OWNED(api_free) struct ckcache_desc *desc;
	char text[512];

	(void)snprintf(text, sizeof(text), "#include \"token.h\"\n%s\n\n"
		       "__constant int pyopencl_defeat_cache_%s = 0;", api_text,
		       client->arguments[0]);
	desc = api_desc(client, text, "-I.");
	CHECK((int)api_build(client, desc, NULL, NULL, NULL, 0) == atoi(client->arguments[1]));
}

/* There is never enough. */
SCENARIO(no_memory)
{
	OWNED(api_free) struct ckcache_desc *desc = api_desc(client, api_text, api_options);
	cl_program none = (cl_program)(void *)&desc, program = none;
	enum ckcache_origin origin = (enum ckcache_origin)77;

	WANT(CKCACHE_ERROR_OUT_OF_MEMORY, api->opencl_build(desc, NULL, &program, &origin));
	CHECK(program == none && (int)origin == 77);
}

static void expect_log(struct client *client, cl_program program)
{
	char log[4096] = "";
	cl_build_status status = CL_BUILD_NONE;

	if (!CHECK(program != NULL))
		return;
	CHECK(clGetProgramBuildInfo(program, client->devices[0], CL_PROGRAM_BUILD_STATUS,
				    sizeof(status), &status, NULL) == CL_SUCCESS);
	CHECK(status == CL_BUILD_ERROR);
	CHECK(clGetProgramBuildInfo(program, client->devices[0], CL_PROGRAM_BUILD_LOG,
				    sizeof(log), log, NULL) == CL_SUCCESS);
	CHECK(strstr(log, "error") != NULL);
	CHECK(clReleaseProgram(program) == CL_SUCCESS);
}

/* The first of three is good, the second is not. */
SCENARIO(build_failure)
{
	const struct ckcache_program parts[] = {
		api_program(api_text, api_options), api_program(failing, "-DK=1"),
		api_program(api_text, "-DVALUE=8"),
	};
	struct ckcache_desc *desc = api_desc_of(client, 3, parts);

	/* Again and again: a remembered failure has its log too. */
	for (int i = 0; i < 3; i++) {
		cl_program other = (cl_program)(void *)&desc;
		cl_program programs[3] = { other, other, other };
		enum ckcache_origin origin = (enum ckcache_origin)77;

		WANT(CKCACHE_ERROR_BUILD, api->opencl_build(desc, NULL, programs, &origin));
		CHECK(!programs[1] && !programs[2] && (int)origin == 77);
		expect_log(client, programs[0] != other ? programs[0] : NULL);
	}
	api->desc_free(desc);
	/* What the application built in vain is remembered by the layer: the log is there all the same. */
	desc = api_desc_of(client, 1, &parts[1]);
	for (int i = 0; i < 2; i++) {
		cl_program program = client_program(client, failing);

		CHECK(clBuildProgram(program, 1, client->devices, "-DK=1", NULL, NULL) ==
		      CL_BUILD_PROGRAM_FAILURE);
		CHECK(clReleaseProgram(program) == CL_SUCCESS);
		WANT(CKCACHE_ERROR_BUILD, api->opencl_build(desc, NULL, &program, NULL));
		expect_log(client, program);
	}
	api->desc_free(desc);
}

/* Of several the origin is the worst one's, and each stands in its place. */
SCENARIO(build_order)
{
	static const char *const options[] = { "-DVALUE=1", "-DVALUE=2", "-DVALUE=3" };
	struct ckcache_program parts[3];
	cl_program programs[3];
	enum ckcache_origin origin;
	struct ckcache_desc *desc;

	for (size_t i = 0; i < 3; i++)
		parts[i] = api_program(api_text, options[i]);
	for (size_t count = 1; count <= 3; count++) {
		desc = api_desc_of(client, count, parts);
		for (int run = 0; run < 2; run++) {
			WANT(CKCACHE_OK, api->opencl_build(desc, NULL, programs, &origin));
			CHECK(origin == (run ? CKCACHE_ORIGIN_MEMORY : CKCACHE_ORIGIN_BUILT));
			for (size_t i = 0; i < count; i++) {
				CHECK(api_is(client, programs[i], api_text, options[i],
					     (int)i + 1));
				CHECK(clReleaseProgram(programs[i]) == CL_SUCCESS);
			}
		}
		api->desc_free(desc);
	}
}

struct crew {
	struct client *client;
	struct ckcache_desc *desc;
	pthread_barrier_t start;
};

static void *work(void *ctx)
{
	struct crew *crew = ctx;
	cl_program program = NULL, back = NULL;
	struct bytes id, blob;

	(void)pthread_barrier_wait(&crew->start);	/* tells only who was last */
	if (!WANT(CKCACHE_OK, api->opencl_build(crew->desc, NULL, &program, NULL)))
		return NULL;
	id = api_id(crew->desc);
	CHECK(id.size > 0);
	blob = api_blob(crew->desc, &program);
	if (WANT(CKCACHE_OK, api->opencl_create_from_blob(crew->desc, blob.size, blob.data, &back)))
		CHECK(clReleaseProgram(back) == CL_SUCCESS);
	CHECK(clReleaseProgram(program) == CL_SUCCESS);
	bytes_release(&blob);
	bytes_release(&id);
	return NULL;
}

/* As many threads with one description; then each with its own of the same. */
SCENARIO(threads)
{
	struct crew crew = { .client = client };
	pthread_t threads[THREADS];

	crew.desc = api_desc(client, api_text, api_options);
	CHECK(pthread_barrier_init(&crew.start, NULL, THREADS) == 0);
	for (size_t i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, work, &crew))
			client_fail("pthread_create", CL_OUT_OF_HOST_MEMORY);
	}
	for (size_t i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
	(void)pthread_barrier_destroy(&crew.start);	/* nobody waits */
	(void)build(client, crew.desc, api_options);
	api->desc_free(crew.desc);
}

/* Forks, and ends the child, which uses what its parent has; whether it could. */
static bool child_goes_on(struct client *client, struct ckcache_desc *desc)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		(void)alarm(HANGS);
		exit(build(client, desc, api_options) == CKCACHE_ORIGIN_MEMORY ? 0 : 1);
	}
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

/*
 * A child of a process that has used the cache uses it too; and both can fork
 * again. Only for drivers that survive a fork.
 */
SCENARIO(children)
{
	OWNED(api_free) struct ckcache_desc *desc = api_desc(client, api_text, api_options);
	int status = -1;
	pid_t child;

	CHECK(build(client, desc, api_options) == CKCACHE_ORIGIN_BUILT);
	child = fork();
	if (child == 0) {
		struct ckcache_desc *own;
		bool good;

		(void)alarm(HANGS);
		own = api_desc(client, api_text, "-DVALUE=8");
		good = build(client, own, "-DVALUE=8") == CKCACHE_ORIGIN_BUILT &&
		       build(client, desc, api_options) == CKCACHE_ORIGIN_MEMORY;

		api->desc_free(own);
		exit(good && child_goes_on(client, desc) ? 0 : 1);
	}
	CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
	CHECK(child_goes_on(client, desc));
	CHECK(build(client, desc, api_options) == CKCACHE_ORIGIN_MEMORY);
}

/* As the application's own program of that intermediate language, which has zeros within. */
SCENARIO(build_il)
{
	static const uint32_t il[] = { 0x07230203, 0x00010000, 0, 4711, 0 };
	const struct ckcache_program part = {
		.struct_size = sizeof(part),
		.language = CKCACHE_LANGUAGE_SPIRV,
		.source = il,
		.source_size = sizeof(il),
	};
	OWNED(api_free) struct ckcache_desc *desc = api_desc_of(client, 1, &part);
	cl_program programs[2] = { 0 };
	cl_ulong sizes[2] = { 0 };

	WANT(CKCACHE_OK, api->opencl_build(desc, NULL, &programs[0], NULL));
	programs[1] = clCreateProgramWithIL(client->context, il, sizeof(il), NULL);
	CHECK(clBuildProgram(programs[1], 1, client->devices, NULL, NULL, NULL) == CL_SUCCESS);
	for (size_t i = 0; i < 2; i++) {
		cl_kernel kernel = client_kernel(programs[i], "value");

		sizes[i] = client_private_size(client, kernel);
		CHECK(clReleaseKernel(kernel) == CL_SUCCESS);
		CHECK(clReleaseProgram(programs[i]) == CL_SUCCESS);
	}
	CHECK(sizes[0] == sizes[1]);
}

SCENARIO(two_of_one)
{
	const struct ckcache_program two[2] = {
		api_program(api_text, "-DVALUE=1"), api_program(api_text, "-DVALUE=2"),
	};
	OWNED(api_free) struct ckcache_desc *desc = api_desc_of(client, 2, two);
	cl_program programs[2] = { 0 };
	enum ckcache_origin origin;

	WANT(CKCACHE_OK, api->opencl_build(desc, NULL, programs, &origin));
	CHECK(origin == CKCACHE_ORIGIN_BUILT);
	CHECK(clReleaseProgram(programs[0]) == CL_SUCCESS);
	CHECK(clReleaseProgram(programs[1]) == CL_SUCCESS);
}
