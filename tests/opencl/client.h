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
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#define CL_USE_DEPRECATED_OPENCL_2_2_APIS

#include <CL/cl.h>

#include "tests/support/posix.h"

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
	const char *script;		/* likewise, if it is one */
};

/*
 * SCENARIO(two_options) { ... } is what the program does when its argument is "two-options", with
 * the parameter struct client *client. One without a session begins before OpenCL does.
 */
struct scenario {
	const char *name;
	void (*run)(struct client *client);
	bool has_session;
	const char *script;		/* what client_run_script does; NULL: it is C */
	struct scenario *next;
};
#define SCENARIO(name) SCENARIO_ADD(name, true)
#define SCENARIO_WITHOUT_SESSION(name) SCENARIO_ADD(name, false)
#define SCENARIO_ADD(name, has_session) \
	static void scenario_##name(struct client *client); \
	__attribute__((constructor)) static void add_##name(void) \
	{ \
		static struct scenario of_##name = { #name, scenario_##name, has_session, NULL, NULL }; \
		client_add(&of_##name); \
	} \
	static void scenario_##name(struct client *client)
void client_add(struct scenario *scenario);
/* What the arguments name, with its session on the first platform; or ends the process. */
const struct scenario *client_begin(struct client *client, char **argv);
/* The session, for a scenario without one. */
void client_open(struct client *client);
/* What the words of client->script say. */
void client_run_script(struct client *client);
/* Where the words' answers go; NULL: to stdout, a line each. */
extern void (*client_script_sayer)(const char *name, const char *text);
/* Of the letter that comes next; the error of its link. The word's label, or what is usual. */
cl_program client_script_program(char **rest, cl_int *ret_error);
cl_kernel client_script_kernel(char **rest);
const char *client_script_label(const char *usual);
/* Another scenario as a part of one. */
void client_run(struct client *client, const char *name);

/*
 * Kernels scale(in, out, factor), shift(data), and fixed(data, room), which has attributes; all
 * depend on -DK=n. With -DFAIL it is no program.
 */
extern const char client_source[];

/* Ends the process with a message: the scenario could not run. on_failure: what comes before that. */
void client_fail(const char *what, cl_int error) __attribute__((noreturn));
void client_on_failure(void (*act)(const char *what, cl_int error));

cl_program client_program(struct client *client, const char *source);
/* Builds for all devices and waits. */
cl_int client_build(cl_program program, const char *options);
/* Compiles for all devices, without headers. */
cl_int client_compile(cl_program program, const char *options);
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

/* The binaries of so many devices, which client_free_binaries frees; their sizes. */
cl_int client_take_binaries(cl_program program, cl_uint count, size_t *ret_sizes,
			    unsigned char **ret_images);
void client_free_binaries(cl_uint count, unsigned char **images);

/* Sets constant 7 to that int, or what "ID:SIZE:HEXADECIMAL" says, and prints the answer. */
typedef cl_int(CL_API_CALL * client_set_constant)(cl_program program, cl_uint id, size_t size,
						  const void *value);
void client_print_constant(cl_program program, const char *text, client_set_constant set);

/* What a callback was told; of other callbacks, client_notice_add counts them. */
struct client_notice {
	pthread_mutex_t lock;
	pthread_cond_t arrived;
	cl_device_id device;	/* for which the callback asks how the build is; NULL: it does not */
	int calls;		/* guarded by lock, as is all that follows */
	cl_program program;
	cl_int status;		/* or why there is none */
};
#define CLIENT_NOTICE { .lock = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER, .status = 77 }
void CL_CALLBACK client_notice_take(cl_program program, void *notice);
void client_notice_add(struct client_notice *notice);
/* Until there were so many, and no longer than that. */
void client_notice_wait(struct client_notice *notice, int calls, time_t seconds);

#endif
