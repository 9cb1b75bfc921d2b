/* SPDX-License-Identifier: MIT */
/* client: main, and what failed. */
#include "tests/libckcache/client.h"

#include <stdatomic.h>

const struct ckcache_functions *api;

static atomic_uint failures;

bool api_check(bool good, const char *what, const char *file, int line)
{
	if (good)
		return true;
	atomic_fetch_add(&failures, 1);
	(void)fprintf(stderr, "%s:%d: %s\n", file, line, what);
	return false;
}

bool api_want(enum ckcache_status wanted, enum ckcache_status got, const char *what,
	      const char *file, int line)
{
	char text[512];

	(void)snprintf(text, sizeof(text), "%s: %d, wanted %d", what, (int)got, (int)wanted);
	return api_check(wanted == got, text, file, line);
}

static cl_uint context_references(cl_context context)
{
	cl_uint references = 0;

	if (clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof(references), &references,
			     NULL))
		client_fail("CL_CONTEXT_REFERENCE_COUNT", CL_INVALID_CONTEXT);
	return references;
}

int main(int argc, char **argv)
{
	struct client client;
	const struct scenario *scenario = client_begin(&client, argv);
	cl_uint references = 0;

	(void)argc;
	if (scenario->has_session) {
		api = api_functions(client.platform);
		if (!api)
			client_fail("no functions", CL_INVALID_OPERATION);
		references = context_references(client.context);
	}
	scenario->run(&client);
	if (scenario->has_session) {
		/* Nothing that was made is left behind. A queue may hold for a while what ran. */
		CHECK(client.executes || context_references(client.context) == references);
		if (client.queue)
			(void)clReleaseCommandQueue(client.queue);	/* it was made here */
		(void)clReleaseContext(client.context);	/* likewise */
	}
	return fflush(stdout) ? 2 : atomic_load(&failures) != 0;
}
