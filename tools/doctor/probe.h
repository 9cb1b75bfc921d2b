/* SPDX-License-Identifier: MIT */
/*
 * probe: what `ckcache doctor` asks loaders and drivers, each time in a process
 * of its own (child.h), since any of them may crash or hang. A record is a
 * line: a word, then its fields, each behind a tab. Before each thing that may
 * not come back stands an "asking" record, so that the last one says what
 * it was.
 *
 *   asking WHAT
 *   failed WHAT WHY                   a call of the loader's or a driver's
 *   loader PATH; named NAME VERSION
 *   platform I NAME VERSION LIBRARY
 *   device I J NAME DRIVER-VERSION [TYPE]   I: its platform or driver; TYPE of OpenCL's: gpu, other
 *   layer PATH                        each file of ours that was loaded
 *   active                            the OpenCL layer answers
 *   icd LIBRARY [WHY]                 WHY: it cannot be loaded
 *   library PATH                      a Level Zero driver that was loaded
 *   built NANOSECONDS                 a small program, or module
 *   done                              the probe is at its end
 */
#ifndef TOOLS_DOCTOR_PROBE_H
#define TOOLS_DOCTOR_PROBE_H

#include "common/bytes.h"

#define PROBE_FIELDS 6

/* For the probes: one record, a word and its fields. What would break a line becomes a blank. */
#define probe_say(...) probe_say_texts((const char *const[]){ __VA_ARGS__, NULL })
void probe_say_texts(const char *const *texts);
/* probe_say("asking", …): what cannot be undone comes next. */
void probe_asking(const char *what);
/* Says which files of ours this process has. */
void probe_say_layers(void);

/* For who reads: the next record, cut out of the text, which moves on; false: no more. */
struct probe_record {
	const char *word;
	const char *fields[PROBE_FIELDS];	/* "" where there is none */
};
bool probe_read(char **text, struct probe_record *ret);

/* The verbs that are run in a process of their own; not for people. */
int probe_run(int argc, char **argv);
int probe_opencl(int argc, char **argv);		/* [LIBRARY...]: of the drivers' files */
int probe_opencl_build(int argc, char **argv);		/* PLATFORM DEVICE */
int probe_level_zero(int argc, char **argv);
int probe_level_zero_build(int argc, char **argv);	/* DRIVER DEVICE */

#endif
