/* SPDX-License-Identifier: MIT */
/* client: main, the session, the list of scenarios, and what failed. */
#include "tests/libckcache/client.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct ckcache_functions *api;

static atomic_uint failures;

static const struct {
	const char *name;
	void (*run)(struct client *client);
	bool without_functions;	/* it starts before OpenCL does, or looks for them itself */
} scenarios[] = {
	{ "ids", api_ids, false },
	{ "id-of", api_id_of, false },
	{ "empty", api_empty, false },
	{ "changed", api_changed, false },
	{ "dated", api_dated, false },
	{ "environment", api_environment, false },
	{ "environment-early", api_environment_early, false },
	{ "save", api_save, false },
	{ "load", api_load, false },
	{ "flips", api_flips, false },
	{ "refused", api_refused, false },
	{ "several", api_several, false },
	{ "again", api_again, false },
	{ "undescribed", api_undescribed, false },
	{ "apart", api_apart, false },
	{ "second-of-two", api_second_of_two, false },
	{ "constants", api_constants, false },
	{ "plain", api_plain, false },
	{ "build", api_build, false },
	{ "build-any", api_build_any, false },
	{ "no-memory", api_no_memory, false },
	{ "no-binary", api_no_binary, false },
	{ "capacity", api_capacity, false },
	{ "build-failure", api_build_failure, false },
	{ "build-order", api_build_order, false },
	{ "threads", api_threads, false },
	{ "children", api_children, false },
	{ "storage", api_storage, false },
	{ "storage-lies", api_storage_lies, false },
	{ "storage-fails", api_storage_fails, false },
	{ "storage-refused", api_storage_refused, false },
	{ "storage-files", api_storage_files, false },
	{ "storage-unseen", api_storage_unseen, false },
	{ "settings", api_settings, false },
	{ "moved", api_moved, false },
	{ "early", api_early, true },
	{ "persistent", api_persistent, false },
	{ "denied", api_denied, false },
	{ "evict-denied", api_evict_denied, false },
	{ "set-dir", api_set_dir, false },
	{ "device", api_device, false },
	{ "device-identity", api_device_identity, false },
	{ "device-load", api_device_load, false },
	{ "bad-programs", api_bad_programs, false },
	{ "bad-handles", api_bad_handles, false },
	{ "bad-calls", api_bad_calls, false },
	{ "sizes", api_sizes, false },
	{ "names", api_names, true },
};

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

static void open_session(struct client *client)
{
	cl_int error = clGetPlatformIDs(1, &client->platform, NULL);

	if (error)
		client_fail("clGetPlatformIDs", error);
	error = clGetDeviceIDs(client->platform, CL_DEVICE_TYPE_ALL, CLIENT_MAX_DEVICES,
			       client->devices, &client->device_count);
	if (error)
		client_fail("clGetDeviceIDs", error);
	client->context = clCreateContext(NULL, client->device_count, client->devices, NULL, NULL,
					  &error);
	if (error)
		client_fail("clCreateContext", error);
	if (!client->executes)
		return;
	client->queue = clCreateCommandQueue(client->context, client->devices[0], 0, &error);
	if (error)
		client_fail("clCreateCommandQueue", error);
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
	struct client client = { .executes = true };
	cl_uint references;

	(void)argc;
	if (argv[1] && !strcmp(argv[1], "-n")) {
		client.executes = false;
		argv++;
	}
	for (size_t i = 0; argv[1] && i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		if (strcmp(scenarios[i].name, argv[1]) != 0)
			continue;
		client.arguments = argv + 2;
		if (scenarios[i].without_functions) {
			scenarios[i].run(&client);
			return fflush(stdout) ? 2 : atomic_load(&failures) != 0;
		}
		open_session(&client);
		api = api_functions(client.platform);
		if (!api)
			client_fail("no functions", CL_INVALID_OPERATION);
		references = context_references(client.context);
		scenarios[i].run(&client);
		/* Nothing that was made is left behind. A queue may hold for a while what ran. */
		CHECK(client.executes || context_references(client.context) == references);
		if (client.queue)
			(void)clReleaseCommandQueue(client.queue);	/* it was made here */
		(void)clReleaseContext(client.context);	/* likewise */
		return fflush(stdout) ? 2 : atomic_load(&failures) != 0;
	}
	(void)fprintf(stderr, "libckcache_client: no such scenario\n");
	return 2;
}
