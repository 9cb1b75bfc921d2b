/* SPDX-License-Identifier: MIT */
/* client: main, the session with the first platform, and the list of scenarios. */
#include "tests/opencl/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	void (*run)(struct client *client);
} scenarios[] = {
	{ "vector", client_vector },
	{ "queries", client_queries },
	{ "failing", client_failing },
	{ "unbuilt", client_unbuilt },
	{ "rebuild", client_rebuild },
	{ "live-kernels", client_live_kernels },
	{ "two-options", client_two_options },
	{ "binary", client_binary },
	{ "link", client_link },
	{ "callback", client_callback },
	{ "callback-refused", client_callback_refused },
	{ "release-order", client_release_order },
	{ "references", client_references_held },
	{ "exit-live", client_exit_live },
	{ "one-device", client_one_device },
	{ "fork", client_fork },
	{ "header", client_header },
	{ "named", client_named },
	{ "threads", client_threads },
	{ "compile-built", client_compile_built },
	{ "superseded", client_superseded },
	{ "compiled-while-linked", client_compiled_while_linked },
	{ "linked-again", client_linked_again },
	{ "nested", client_nested },
	{ "exit-forked", client_exit_forked },
	{ "fork-building", client_fork_building },
	{ "fork-called-back", client_fork_called_back },
	{ "leave-children", client_leave_children },
	{ "close-all", client_close_all },
	{ "older-kernels", client_older_kernels },
	{ "refused", client_refused },
	{ "no-kernels", client_no_kernels },
	{ "libraries", client_libraries },
	{ "embedded", client_embedded },
	{ "library", client_library },
	{ "failing-again", client_failing_again },
	{ "devices-in-turn", client_devices_in_turn },
	{ "second-device", client_second_device },
	{ "some-binaries", client_some_binaries },
	{ "link-odd", client_link_odd },
	{ "link-changed", client_link_changed },
	{ "odd-list", client_odd_list },
	{ "failing-until", client_failing_until },
	{ "link-two", client_link_two },
	{ "link-binary", client_link_binary },
	{ "compile-in-turn", client_compile_in_turn },
	{ "token", client_token },
	{ "tokens-failing", client_tokens_failing },
	{ "mapped", client_mapped },
	{ "il", client_il },
	{ "text-or-il", client_text_or_il },
	{ "extreme", client_extreme },
	{ "extreme-vanish", client_extreme_vanish },
	{ "extreme-compile", client_extreme_compile },
	{ "extreme-embedded", client_extreme_embedded },
	{ "invalid", client_invalid },
	{ "pthread-exit", client_pthread_exit },
	{ "asked-and-rebuilt", client_asked_and_rebuilt },
	{ "rebuilt-at-exit", client_rebuilt_at_exit },
	{ "loading-at-exit", client_loading_at_exit },
	{ "late-then-subset", client_late_then_subset },
	{ "empty", client_empty },
	{ "unknown-kernels", client_unknown_kernels },
	{ "relink", client_relink },
	{ "object-kernels", client_object_kernels },
	{ "released", client_released },
	{ "link-il", client_link_il },
	{ "variables", client_variables },
};

static void open_session(struct client *client)
{
	char *early = getenv("CLIENT_SETENV");	/* NAME=VALUE: set when the drivers are there and nothing else is */
	cl_int error = clGetPlatformIDs(1, &client->platform, NULL);

	if (error)
		client_fail("clGetPlatformIDs", error);
	if (early && putenv(early))
		client_fail("putenv", 0);
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
	/* Not the call of OpenCL 2.0: oclgrind's comes back to itself through the loader for ever. */
	client->queue = clCreateCommandQueue(client->context, client->devices[0], 0, &error);
	if (error)
		client_fail("clCreateCommandQueue", error);
}

static void close_session(struct client *client)
{
	if (client->queue)
		printf("release queue %d\n", clReleaseCommandQueue(client->queue));
	printf("release context %d\n", clReleaseContext(client->context));
}

int main(int argc, char **argv)
{
	struct client client = { .executes = true };

	(void)argc;
	if (argv[1] && !strcmp(argv[1], "-n")) {
		client.executes = false;
		argv++;
	}
	for (size_t i = 0; argv[1] && i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		if (strcmp(scenarios[i].name, argv[1]) != 0)
			continue;
		client.arguments = argv + 2;
		open_session(&client);
		scenarios[i].run(&client);
		close_session(&client);
		return fflush(stdout) ? 2 : 0;
	}
	(void)fprintf(stderr, "client: no such scenario\n");
	return 2;
}
