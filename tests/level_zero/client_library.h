/* SPDX-License-Identifier: MIT */
/* client_library: what the parts of the client that use ckcache.h share. */
#ifndef TESTS_LEVEL_ZERO_CLIENT_LIBRARY_H
#define TESTS_LEVEL_ZERO_CLIENT_LIBRARY_H

#include "layers/shared/api/ckcache_ext.h"
#include "tests/level_zero/client.h"

#define CLIENT_MAX_PROGRAMS 4

/* What the arguments have set. */
struct client_library {
	struct client_input inputs[CLIENT_MAX_PROGRAMS];
	size_t count;			/* of inputs; 0: client.input is one */
	struct ckcache_desc *desc;
	ze_module_handle_t modules[CLIENT_MAX_PROGRAMS];
	size_t module_count;
};
extern struct client_library library;

/* In static room. */
struct ckcache_program *client_programs(size_t *ret_count);

/* client_library_storage.c: a storage of one file for each id, which counts what it is asked. */
struct ckcache_storage *client_storage(const char *directory);
/* " load N store N evict N" since the last time. */
void client_storage_print(void);

/* client_library_misuse.c */
void client_misuse(void);

#endif
