/* SPDX-License-Identifier: MIT */
/*
 * differential: the client's scenario that asks and misuses everything about
 * programs and kernels, one line "subject.case: result" each, without
 * addresses, sizes of binaries or times: so that its output without a layer
 * can be compared with its output under one, line by line.
 *
 *   client [-n] differential [-p] [-l] [-v] [-g GROUP] [-b] [-k KIND] [-d DEVICES] [SUBJECT...]
 *
 * -p: subjects end where they call diff_prepared; -l: only list the subjects;
 * -v: only the driver's version; -g: those of one group (states, kernels,
 * misuses, links, relinks, corpus, lives, ils); -k: the corpus as "object", "library" or "linked", not
 * as executables; -b: as programs made of its own binaries; -d: for these devices (losses.c). A subject is one way to come by
 * a program, and what is asked of it; each runs in a process of its own, forked
 * before the first OpenCL call, so that a driver's crash is a result too
 * ("subject.exit: signal 11"). One that cannot be set up with this driver ends
 * where client_fail is called.
 */
#ifndef TESTS_OPENCL_DIFFERENTIAL_H
#define TESTS_OPENCL_DIFFERENTIAL_H

#include "tests/opencl/client.h"
#include "tests/support/diff_subjects.h"

enum { DIFF_PATIENCE_S = 60 };

struct diff {
	struct diff_running running;
	struct client cl;
	bool only_prepares;
	int version;			/* of the first device: 12 for OpenCL 1.2 */
	bool of_binaries;
	const char *kind, *devices;	/* as the options say */
	cl_uint target_count;		/* what the corpus is built for; 0 and NULL: all */
	const cl_device_id *targets;
};

/* Each ends with a NULL name. */
extern const struct diff_subject diff_kernels[], diff_misuses[], diff_lives[], diff_ils[];
const struct diff_subject *diff_corpus(void), *diff_states(void), *diff_links(void), *diff_relinks(void);
void diff_misuse_of_links(struct diff *diff);

/* What a subject does before is also done by itself, in a process of its own, to be in a cache. */
void diff_prepared(struct diff *diff);

void diff_print_text(const char *text, size_t size);	/* escaped, temporary names masked */

/* SURVIVE for calls of this version: 21 for OpenCL 2.1; else the line says that it is not reached. */
#define SURVIVE_SINCE(diff, version, name) SURVIVE(diff, name) if (diff_reaches(diff, version))
bool diff_reaches(const struct diff *diff, int version);

/* The first device is older than calls of this version: a line says that they are not made. */
bool diff_is_older(const struct diff *diff, const char *name, int version);

/* Built with options, or the subject ends. */
cl_program diff_built(struct diff *diff, const char *source, const char *options);
cl_program diff_compiled(struct diff *diff, const char *source, const char *options);
cl_uint diff_program_refs(cl_program program);
/* Releases it after saying its count. */
void diff_say_release(const struct diff *diff, const char *name, cl_program program);
cl_uint diff_kernel_refs(cl_kernel kernel);
cl_uint diff_context_refs(cl_context context);

/*
 * Runs kernel(out) and gives out[0], or -1 where kernels do not run. Counts of
 * references are not to be printed after it: rusticl's queue lets go of what
 * it ran at a time of its own.
 */
int diff_value(struct diff *diff, cl_kernel kernel);

/* Every parameter of clGet…Info, some lines each; prefix goes before the parameter's name. */
void diff_ask_program(struct diff *diff, const char *prefix, cl_program program);
void diff_ask_build(struct diff *diff, const char *prefix, cl_program program,
		    cl_device_id device);
void diff_ask_kernel(struct diff *diff, const char *prefix, cl_kernel kernel, cl_program program);
void diff_ask_arguments(struct diff *diff, const char *prefix, cl_kernel kernel);
void diff_ask_groups(struct diff *diff, const char *prefix, cl_kernel kernel,
		     cl_device_id device);
void diff_ask_sub_groups(struct diff *diff, const char *prefix, cl_kernel kernel,
			 cl_device_id device);
/*
 * Kernels of names that it has not, and all or none at once, asked of a program
 * in any state; known: one that it has.
 */
void diff_ask_names(struct diff *diff, const char *prefix, cl_program program, const char *known);
/* Asks for the binaries into no buffers, and into too small an array of them. */
void diff_ask_binaries_badly(struct diff *diff, const char *prefix, cl_program program);
/* Program and build of each device. */
void diff_ask_all(struct diff *diff, const char *prefix, cl_program program);

#endif
