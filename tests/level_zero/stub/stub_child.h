/* SPDX-License-Identifier: MIT */
/*
 * stub_child: a test's scenario as a child process, since a loader reads the
 * environment once, and the driver's events of that child. In a scenario
 * CHECK ends the child with the line's text.
 */
#ifndef TESTS_LEVEL_ZERO_STUB_CHILD_H
#define TESTS_LEVEL_ZERO_STUB_CHILD_H

#include <level_zero/ze_api.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define CHECK(condition)                                                                   \
	do {                                                                               \
		if (!(condition)) {                                                        \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);    \
			_exit(99);                                                         \
		}                                                                          \
	} while (0)

#define BOTH STUB_DRIVER "," STUB2_DRIVER

enum { CHILD_GOOD = 0, CHILD_SIGNAL = 1000 };

/*
 * Runs the scenario on these drivers, with "NAME=value" settings up to NULL.
 * The exit code; CHILD_SIGNAL + n: ended by signal n.
 */
int child_run(const char *drivers, void (*scenario)(void), const char *const *settings);
/* How many events of the last child are this line. */
int child_events(const char *line);
/* How many lines the last child wrote that begin so, of either driver. */
int child_events_like(const char *prefix);
/* At most how many compilations of the last child were under way at once. */
int child_most_compiles_at_once(void);

struct child_driver {
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
	bool alone;	/* the only driver of the loader */
};

/* In a scenario: initializes, and the driver of that index with a context. */
void child_open(uint32_t index, struct child_driver *ret);

struct child_made {
	ze_result_t status;
	ze_module_handle_t module;	/* NULL: none was made */
	char log[512];			/* its handle was destroyed */
};

void child_make(const struct child_driver *driver, const ze_module_desc_t *desc,
		struct child_made *ret);
/* In room for size bytes; how many there are. */
size_t child_native(const struct child_made *made, uint8_t *ret, size_t size);

ze_module_desc_t child_desc(ze_module_format_t format, const void *data, size_t size);
#define CHILD_SPIRV(il) child_desc(ZE_MODULE_FORMAT_IL_SPIRV, il, sizeof(il))

#define CHILD_NATIVE_MAX 4096	/* more than any native of these tests has */

/* The length of what desc compiles to, with flags and one constant (value NULL: without it). */
size_t child_compile(const struct child_driver *driver, ze_module_desc_t desc, uint32_t id,
		     const void *value, const char *flags, uint8_t native[CHILD_NATIVE_MAX]);

#endif
