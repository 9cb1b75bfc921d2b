/* SPDX-License-Identifier: MIT */
/*
 * differential: a Level Zero application that asks and misuses everything about
 * modules, their logs and kernels, one line "subject.case: answer" each, without
 * addresses, sizes of binaries or times: so that its output without the plugin
 * can be compared with its output under it, line by line.
 *
 *   differential [-l | -n | -v] [SUBJECT...]
 *
 * -l: only list the subjects. -v: only the driver's version. -n: each module of SPIR-V is made again of its own
 * native, as a cache that keeps nothing else would do it. A subject is one way to come by a module, and what
 * is asked of it; each runs in a process of its own, forked before zeInit, so that
 * a driver's crash is an answer too ("subject.exit: signal 11").
 */
#ifndef TESTS_LEVEL_ZERO_DIFFERENTIAL_H
#define TESTS_LEVEL_ZERO_DIFFERENTIAL_H

#include <level_zero/ze_api.h>

#include "tests/level_zero/kernels/kernels.h"
#include "tests/support/diff_subjects.h"

/* Seconds that a subject may take: they take up to 4 on an idle machine. */
enum { DIFF_PATIENCE_S = 60, DIFF_MAX_KERNELS = 16, DIFF_MAX_DEVICES = 8 };

struct diff {
	struct diff_running running;
	ze_driver_handle_t driver;
	ze_device_handle_t device;
	ze_context_handle_t context;
};

extern const struct diff_subject diff_flags[], diff_logs[], diff_constants[], diff_links[],
	diff_lives[], diff_misuses[], diff_images[];	/* each ends with a NULL name */

extern bool diff_natives;	/* -n */

void diff_print_text(const char *text, size_t size);	/* escaped, addresses masked */
/* "a.b", in a buffer that the next call with the same place (0 to 3) overwrites. */
const char *diff_name(int place, const char *a, const char *b);

/* " STATUS", and of a failure what zeDriverGetLastErrorDescription says, if the driver has it. */
void diff_print_status(const struct diff *diff, ze_result_t status);

/* Ends the subject: it cannot be set up with this driver. */
void diff_give_up(const struct diff *diff, const char *what, ze_result_t status)
	__attribute__((noreturn));

/* SPIR-V of kernels/NAME.cl or NAME.spvasm. */
const struct kernel_il *diff_il(const char *name);	/* a name that is there */

/* A descriptor of it; the caller may change it before it is used. */
ze_module_desc_t diff_desc(const char *il, const char *flags);

/* zeModuleCreate, and with -n what that says. */
ze_result_t diff_create(ze_context_handle_t context, ze_device_handle_t device,
			const ze_module_desc_t *desc, ze_module_handle_t *module,
			ze_module_build_log_handle_t *log);

struct diff_made {
	ze_result_t status;
	ze_module_handle_t module;		/* NULL unless status is success */
	ze_module_build_log_handle_t log;	/* NULL unless there is one */
};
/* Creates it with a log, and says the status and the log's text as NAME.build. */
struct diff_made diff_make(const struct diff *diff, const char *name, const ze_module_desc_t *desc);
/* The same without a word and without a log; NULL if it fails. */
ze_module_handle_t diff_module(const struct diff *diff, const char *il, const char *flags);
/* Destroys both, and says the statuses. */
void diff_unmake(const struct diff *diff, const char *name, struct diff_made *made);

/* All that can be asked, some lines each; the names of the lines begin with the prefix. */
void diff_ask_module(const struct diff *diff, const char *prefix, ze_module_handle_t module);
/* Properties, names and pointers, not the kernels. */
void diff_ask_surface(const struct diff *diff, const char *prefix, ze_module_handle_t module);
void diff_ask_kernel(const struct diff *diff, const char *prefix, ze_kernel_handle_t kernel);
/* Of those what extensions answer: diff_extensions.c. */
void diff_ask_kernel_extensions(const struct diff *diff, const char *prefix,
				ze_kernel_handle_t kernel);
void diff_ask_log(const struct diff *diff, const char *prefix, ze_module_build_log_handle_t log);

/*
 * The module's binary, heap. Its size is not to be printed: the compiler's output
 * differs by some bytes from run to run. NULL if there is none.
 */
uint8_t *diff_native(ze_module_handle_t module, size_t *ret_size);

#endif
