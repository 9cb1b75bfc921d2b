/* SPDX-License-Identifier: MIT */
/*
 * client: an OpenCL application that does one scenario and prints everything
 * it can observe, without addresses, times or bytes of binaries: so that its
 * output without a layer is the reference for its output with one.
 *
 *   client [-n] SCENARIO [ARGUMENT...]
 *
 * -n: the driver does not execute kernels. Exit: 0 the scenario ran to its
 * end (whatever the driver answered), 2 it could not.
 */
#ifndef TESTS_OPENCL_CLIENT_H
#define TESTS_OPENCL_CLIENT_H

#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <stdbool.h>

#include <CL/cl.h>

#define CLIENT_ITEMS 8		/* of the vectors that kernels work on */
#define CLIENT_MAX_DEVICES 8

struct client {
	cl_platform_id platform;
	cl_device_id devices[CLIENT_MAX_DEVICES];
	cl_uint device_count;
	cl_context context;
	cl_command_queue queue;		/* of the first device */
	bool executes;
	char **arguments;		/* of the scenario, NULL-terminated */
};

/* Two kernels and a third with attributes; all depend on -DK=n. */
extern const char client_source[];

/* Ends the process with a message: the scenario could not run. */
void client_fail(const char *what, cl_int error) __attribute__((noreturn));

cl_program client_program(struct client *client, const char *source);
/* Builds for all devices and waits. */
cl_int client_build(cl_program program, const char *options);
cl_kernel client_kernel(cl_program program, const char *name);	/* or fails */

/* What client_private_size is of the stub's kernels when they are built from source with options. */
cl_ulong client_digest(const char *source, const char *options);

/* Runs kernel(in, out, factor) of client_source and prints the vector; with -n prints its size instead. */
void client_print_scaled(struct client *client, cl_kernel kernel, int factor);
/* Runs kernel(out) and gives out[0]; with -n, the kernel's private memory size. */
cl_long client_value(struct client *client, cl_kernel kernel);
cl_ulong client_private_size(struct client *client, cl_kernel kernel);

/* Everything that can be asked, one line each. */
void client_print_program(struct client *client, cl_program program);
void client_print_build(struct client *client, cl_program program);	/* status, options, log, type */
void client_print_kernel(struct client *client, cl_kernel kernel, cl_program program);
cl_uint client_references(cl_program program);

/* Scenarios; each prints what it sees. */
void client_vector(struct client *client);
void client_queries(struct client *client);
void client_failing(struct client *client);
void client_unbuilt(struct client *client);
void client_rebuild(struct client *client);
void client_live_kernels(struct client *client);
void client_two_options(struct client *client);
void client_variables(struct client *client);
void client_binary(struct client *client);
void client_link(struct client *client);
void client_callback(struct client *client);
void client_callback_refused(struct client *client);
void client_release_order(struct client *client);
void client_references_held(struct client *client);
void client_exit_live(struct client *client);
void client_one_device(struct client *client);
void client_fork(struct client *client);
void client_header(struct client *client);
void client_named(struct client *client);
void client_threads(struct client *client);
void client_compile_built(struct client *client);
void client_superseded(struct client *client);
void client_compiled_while_linked(struct client *client);
void client_linked_again(struct client *client);
void client_nested(struct client *client);
void client_exit_forked(struct client *client);
void client_fork_building(struct client *client);
void client_fork_called_back(struct client *client);
void client_leave_children(struct client *client);
void client_close_all(struct client *client);
void client_older_kernels(struct client *client);
void client_refused(struct client *client);
void client_no_kernels(struct client *client);
void client_libraries(struct client *client);
void client_embedded(struct client *client);
void client_library(struct client *client);
void client_failing_again(struct client *client);
void client_devices_in_turn(struct client *client);
void client_second_device(struct client *client);
void client_some_binaries(struct client *client);
void client_link_odd(struct client *client);
void client_link_changed(struct client *client);
void client_odd_list(struct client *client);
void client_failing_until(struct client *client);
void client_link_two(struct client *client);
void client_link_binary(struct client *client);
void client_compile_in_turn(struct client *client);
void client_token(struct client *client);
void client_tokens_failing(struct client *client);
void client_mapped(struct client *client);
void client_il(struct client *client);
void client_text_or_il(struct client *client);
void client_extreme(struct client *client);
void client_extreme_vanish(struct client *client);
void client_extreme_compile(struct client *client);
void client_extreme_embedded(struct client *client);
void client_invalid(struct client *client);
void client_pthread_exit(struct client *client);
void client_asked_and_rebuilt(struct client *client);
void client_rebuilt_at_exit(struct client *client);
void client_loading_at_exit(struct client *client);
void client_late_then_subset(struct client *client);
void client_empty(struct client *client);
void client_unknown_kernels(struct client *client);
void client_relink(struct client *client);
void client_object_kernels(struct client *client);
void client_released(struct client *client);
void client_link_il(struct client *client);

#endif
