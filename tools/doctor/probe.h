/* SPDX-License-Identifier: MIT */
/*
 * probe: asks loaders and drivers for `ckcache doctor`, each time in a process of
 * its own, because any of them may crash or hang. A record is a line: a word,
 * then its fields, each behind a tab. Before each call that may not return, the
 * probe writes an "asking" record, so the last one tells which call it was.
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

/* The descriptor that a probe writes its records to. */
#define PROBE_RECORDS_FD 3
#define PROBE_FIELDS 6

struct probe_variable {
	const char *name;
	const char *value;	/* NULL: unset */
};

struct probe {
	char *const *arguments;			/* argv, NULL-terminated */
	const struct probe_variable *variables;	/* ended by one without a name; NULL: none */
	const char *directory;			/* where it works; NULL: here */
	bool layers;				/* both layers on, as ckcache run has them */
	uint64_t timeout_ns;
};

enum probe_end {
	PROBE_EXITED,		/* code: its exit code */
	PROBE_LEFT,		/* the same, in the middle of its work: for who knows that */
	PROBE_SIGNALLED,	/* code: the signal */
	PROBE_TIMED_OUT,	/* it was killed */
	PROBE_STUCK,		/* it was killed and does not end */
	PROBE_INTERRUPTED,	/* a signal asked this process to end: code; the probe was killed */
	PROBE_FAILED,		/* it could not be started; code: errno */
};

struct probe_result {
	enum probe_end end;
	int code;
	struct cmn_buffer records;	/* lines; at most 256 KiB */
	struct cmn_buffer said;		/* the first 16 KiB of its stdout and stderr */
};

/* Runs it to its end, after child_begin. *ret_result is the caller's to release. */
void probe_run(const struct probe *probe, struct probe_result *ret_result);
void probe_result_release(struct probe_result *result);

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
int probe_main(int argc, char **argv);
int probe_opencl(int argc, char **argv);		/* [LIBRARY...]: of the drivers' files */
int probe_opencl_build(int argc, char **argv);		/* PLATFORM DEVICE */
int probe_level_zero(int argc, char **argv);
int probe_level_zero_build(int argc, char **argv);	/* DRIVER DEVICE */

#endif
