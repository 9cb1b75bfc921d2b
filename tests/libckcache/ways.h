/* SPDX-License-Identifier: MIT */
/*
 * ways: a program comes by the functions of ckcache.h in three ways, which must
 * not differ in anything: linked with libckcache, without and with the OpenCL
 * layer in the process, or as extension functions of the layer.
 */
#ifndef TESTS_LIBCKCACHE_WAYS_H
#define TESTS_LIBCKCACHE_WAYS_H

#include "tests/opencl/driver.h"

enum way { WAY_LINKED, WAY_LAYERED, WAY_EXTENSION, WAYS };

/* As driver_begin, with a cache directory and counts of its own for each way; true. */
bool way_begin(enum way way);
/* That directory; one buffer. */
const char *way_cache(enum way way);
/* The client's outcome. */
struct outcome way_client(enum way way, const char *const *arguments);
/* Exit code 0, and the output, as long as the test. */
const char *way_output(enum way way, const char *const *arguments);
#define OUTPUT(way, ...) way_output(way, (const char *const[]){ __VA_ARGS__, NULL })
#define GOOD(way, ...) ((void)OUTPUT(way, __VA_ARGS__))

#define EACH_WAY(name) for (enum way name = WAY_LINKED; name < WAYS; name++)
/* How often the driver compiled since way_begin, where it counts. */
#define EXPECT_BUILT(times) \
	do { \
		if (driver_is("stub")) \
			CU_ASSERT_EQUAL(driver_counted("build-source"), times); \
	} while (0)
/* Each, from the beginning. */
#define BEGIN_EACH_WAY(name) for (enum way name = WAY_LINKED; name < WAYS && way_begin(name); name++)

#endif
