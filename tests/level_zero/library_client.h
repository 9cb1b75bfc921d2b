/* SPDX-License-Identifier: MIT */
/*
 * library_client: a Level Zero application that uses ckcache.h as its
 * arguments say, in their order, and prints a line for each. Linked to the
 * library, not to a loader, which it opens with dlopen when it needs it.
 *
 *   loader=PATH       use that loader
 *   driver=N          begin to use Level Zero: driver N, its first device, a new context
 *   found=N           the same without a context
 *   sub=N             its sub-device N
 *   open=PATH         dlopen, no more
 *   il=NAME           the next program's SPIR-V: one of kernels/
 *   byte=N            the same with its last word's byte N changed
 *   flags=TEXT        its flags; "flags": NULL
 *   constant=ID:BYTES:VALUE   one more constant; "constants": none
 *   add               one more program, of what was set; without it there is one
 *   desc, free        a description of the programs (instead of the one that is there); frees it
 *   id                prints it
 *   modules           the application's own zeModuleCreate of each program
 *   blob=FILE         the blob of the modules
 *   short=FILE        asks for the blob with too little room first
 *   create=FILE       modules from the blob
 *   flips=FILE, cuts=FILE   the same with each bit changed, with each shorter length
 *   build             from the machine's cache
 *   built=DIR         from a storage in that directory (made)
 *   evict, evicted=DIR
 *   threads=N         N threads build at once
 *   settings, persistent=N, capacity=N, dir=PATH    prints, sets
 *   device=NAME       a library's description of the device; device=NAME:VERSION
 *   store=TEXT, load  its data in the machine's cache
 *   wrap=FILE, unwrap=FILE   its data "data" as a blob
 *   extension         what zeDriverGetExtensionFunctionAddress gives
 *   invalid           calls with arguments that are none
 *   setenv=NAME=VALUE
 */
#ifndef TESTS_LEVEL_ZERO_LIBRARY_CLIENT_H
#define TESTS_LEVEL_ZERO_LIBRARY_CLIENT_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

#include <level_zero/ze_api.h>

#include "layers/shared/api/ckcache_ext.h"

#define CLIENT_MAX_PROGRAMS 4
#define CLIENT_MAX_CONSTANTS 8

struct client_program {
	struct ckcache_program program;
	struct ckcache_constant constants[CLIENT_MAX_CONSTANTS];
	uint64_t values[CLIENT_MAX_CONSTANTS];
};

/* What the arguments have set. */
struct client {
	void *loader;
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
	struct client_program next, programs[CLIENT_MAX_PROGRAMS];
	size_t count;			/* of programs */
	struct ckcache_desc *desc;
	ze_module_handle_t modules[CLIENT_MAX_PROGRAMS];
	size_t module_count;
};

extern struct client client;

#define CALL(name) ((__typeof__(&name))dlsym(client.loader, #name))

/* Prints and ends the process. */
void client_give_up(const char *what, int status);
/* A file's content in static room; and the other way round. */
uint8_t *client_read(const char *path, size_t *ret_size);
void client_write(const char *path, const void *data, size_t size);

/* library_storage.c: a storage of one file for each id, which counts what it is asked. */
struct ckcache_storage *client_storage(const char *directory);
/* " load N store N evict N" since the last time. */
void client_storage_print(void);

/* library_misuse.c */
void client_misuse(void);

#endif
