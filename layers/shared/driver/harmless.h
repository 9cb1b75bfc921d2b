/* SPDX-License-Identifier: MIT */
/*
 * harmless: which build options, and which variables, do nothing but shape the program. All others
 * may write files or messages that a hit would not write, so such builds are not cached; of some
 * options a build itself can show that it wrote nothing. The lists of names are in harmless.c.
 * Thread-safe.
 */
#ifndef SHARED_DRIVER_HARMLESS_H
#define SHARED_DRIVER_HARMLESS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Calls judge with each option (and each value that stands alone), without quotes and backslashes,
 * of at most 64 bytes, until it says false, which is then the result. value: this may be the value of
 * the option before it. options may be NULL. Drivers differ in what quotes and backslashes mean: in no
 * reading is there an option that judge does not see.
 */
bool drv_options_each(const char *options,
		      bool (*judge)(const char *option, size_t len, bool value, const void *ctx), const void *ctx);
bool drv_options_is_mark(char byte);	/* a quote or backslash */
bool drv_options_is_blank(char byte);

/* Whether one of them begins so. */
bool drv_options_have(const char *options, const char *beginning);

/* What the rows of drivers.c have; each ends with NULL. */
extern const char *const drv_intel_options[], *const drv_nvidia_options[], *const drv_amd_options[];

enum drv_options {
	DRV_OPTIONS_HARMLESS,	/* each is known to be: OpenCL's, Level Zero's, clang's, or of the driver's own list */
	DRV_OPTIONS_UNPROVEN,	/* some are not known, and can only do harm where an observer sees it (observer.h) */
	DRV_OPTIONS_HARMFUL,
};

/* own: the driver's own list, or NULL. */
enum drv_options drv_options_judge(const char *const *own, const char *options);
/* Whether they are DRV_OPTIONS_HARMLESS, where no observation could prove others. */
bool drv_options_are_harmless(const char *const *own, const char *options);

/* Whether a variable, NAME=value, has options that some driver adds to those that it is given. */
bool drv_variable_adds_options(const char *variable);

/*
 * Whether a variable that the driver reads has a value by which it writes nothing about what it
 * compiles, and adds no options that are not harmless.
 */
bool drv_variable_is_harmless(const char *const *own, const char *name, size_t len,
			      const char *value);

#endif
