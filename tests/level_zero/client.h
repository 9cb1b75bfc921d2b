/* SPDX-License-Identifier: MIT */
/*
 * client: a Level Zero application that does what its arguments say, in their
 * order: each is a word, or word=VALUE. Three programs are made of it, which
 * open the loader, are linked to it, or are linked to libckcache and open the
 * loader when they need it. Settings hold until they are set again. Of all:
 *
 *   loader=PATH       use that loader
 *   close             close the loader; the next driver=N opens it again; "close=PATH": neither it nor that driver
 *                     comes to lie where it lay
 *   pause             for the time after which what is hooked stays so
 *   driver=N          use driver N (of those that the loader has), its first device; makes a context
 *   found=N           the same without a context
 *   device=N          use its device N; "device=N.M": sub-device M of that; "device=": NULL
 *   il=NAME           the input: one of kernels/
 *   named=NAME        the input, set before, with that name of its source's file
 *   flags=TEXT        build flags; "flags": NULL
 *   constant=ID:BYTES:VALUE   one more specialization constant; "constants": none
 *   setenv=NAME=VALUE
 *
 * Further words stand in client_loader.c, client_modules.c and client_library.c.
 */
#ifndef TESTS_LEVEL_ZERO_CLIENT_H
#define TESTS_LEVEL_ZERO_CLIENT_H

#include <dlfcn.h>

#include <level_zero/ze_api.h>

#include "tests/support/posix.h"
#include "tests/support/words.h"

#define CLIENT_MAX_CONSTANTS 32
#define CLIENT_MAX_THREADS 64

struct client_input {
	const uint8_t *il;
	size_t size;
	const char *flags;
	uint32_t constant_count;
	uint32_t ids[CLIENT_MAX_CONSTANTS], sizes[CLIENT_MAX_CONSTANTS];
	uint64_t values[CLIENT_MAX_CONSTANTS];
};

/* What the arguments have set. */
struct client {
	void *loader;
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
	struct client_input input;
};
extern struct client client;

#define CALL(name) ((__typeof__(&name))dlsym(client.loader, #name))

/* What is left to do after the last word. */
extern void (*client_at_end)(void);

/* Prints and ends the process. */
void client_give_up(const char *what, unsigned int status) __attribute__((noreturn));
void client_open_loader(const char *path);
void client_find_driver(const char *place);
/* A file's content in static room; and the other way round. */
uint8_t *client_read(const char *path, size_t *ret_size);
void client_write(const char *path, const void *data, size_t size);
/* zeModuleCreate's part of an input; values: room for the pointers to its constants. */
ze_module_constants_t client_constants(const struct client_input *input,
				       const void *values[CLIENT_MAX_CONSTANTS]);
void client_print_kernels(ze_module_handle_t module);
/* So many threads do it at once. */
void client_in_threads(const char *count, void (*act)(void));

#endif
