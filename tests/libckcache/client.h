/* SPDX-License-Identifier: MIT */
/*
 * client: an application that uses ckcache.h in one scenario, and checks by
 * itself what it gets; it knows neither whether a layer is loaded nor whether
 * it has the functions by linking them or as extensions. It shares session,
 * kernels and values with tests/opencl/client.h.
 *
 *   libckcache_client [-n] SCENARIO [ARGUMENT...]
 *
 * -n: the driver does not execute kernels. Exit: 0 all checks held, 1 some did
 * not (stderr says which), 2 the scenario could not run. stdout has what the
 * caller compares.
 */
#ifndef TESTS_LIBCKCACHE_CLIENT_H
#define TESTS_LIBCKCACHE_CLIENT_H

#include "layers/shared/api/ckcache_ext.h"
#include "tests/opencl/client.h"
#include "tests/support/owned.h"

/* The functions, from wherever the program has them. */
extern const struct ckcache_functions *api;
/* platform: NULL before there is one. NULL: not to be had (yet). */
const struct ckcache_functions *api_functions(cl_platform_id platform);

#define CHECK(condition) api_check((condition), #condition, __FILE__, __LINE__)
#define WANT(status, call) api_want((status), (call), #call, __FILE__, __LINE__)
#define INVALID(call) WANT(CKCACHE_ERROR_INVALID_ARGUMENT, call)
/* Both give whether it holds, and note where not. */
bool api_check(bool good, const char *what, const char *file, int line);
bool api_want(enum ckcache_status wanted, enum ckcache_status got, const char *what,
	      const char *file, int line);

/* Gives out[...] = VALUE; which is 7 with api_options. */
extern const char api_text[], api_options[];
#define API_VALUE 7

struct ckcache_program api_program(const char *text, const char *options);
/* Descriptions of one program, or of several; the process ends where there is none. */
struct ckcache_desc *api_desc(struct client *client, const char *text, const char *options);
struct ckcache_desc *api_desc_of(struct client *client, size_t count,
				 const struct ckcache_program *programs);
/* A program of the application's own, built as a description says. */
cl_program api_built(struct client *client, const char *text, const char *options);
/* Whether the program's kernel "value" is what text and options make of it; value: on drivers that execute. */
bool api_is(struct client *client, cl_program program, const char *text, const char *options,
	    int value);

/* ckcache_opencl_build() of one program, which it releases; text NULL: what it makes is not looked at. */
enum ckcache_origin api_build(struct client *client, struct ckcache_desc *desc,
			      const struct ckcache_storage *storage, const char *text,
			      const char *options, int value);

/* For OWNED: frees or releases it, where there is one. */
void api_free(struct ckcache_desc **desc);
void api_release(cl_program *program);

struct bytes {
	size_t size;
	uint8_t *data;		/* heap; NULL: none */
};
void bytes_release(struct bytes *bytes);
bool bytes_equal(const struct bytes *a, const struct bytes *b);
/* As get_id and get_blob give them, asked in two steps; a failure ends the process. */
struct bytes api_id(struct ckcache_desc *desc);
struct bytes api_blob(struct ckcache_desc *desc, const cl_program *programs);
struct bytes api_read(const char *path);
void api_write(const char *path, const struct bytes *bytes);
void api_write_text(const char *path, const char *text);
void api_print(const struct bytes *bytes);	/* as one line */

#endif
