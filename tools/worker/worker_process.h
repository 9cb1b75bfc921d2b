/* SPDX-License-Identifier: MIT */
/*
 * worker_process: starts workers, which are this command in processes of their own (worker_main.c), and waits
 * for those that do all they do at once. Whatever a driver does in one, it ends in its time
 * (tools/run/child.h). After child_begin; one thread.
 */
#ifndef TOOLS_WORKER_WORKER_PROCESS_H
#define TOOLS_WORKER_WORKER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/disk/store.h"
#include "cachecore/disk/writer/recipe.h"
#include "common/bytes.h"
#include "tools/run/child.h"

/*
 * channel: the protocol of a worker's process and of who started it. A record is a line: a word, then its
 * fields, each behind a tab; one write of a channel that keeps writes apart. A worker that builds recipes
 * gets their names, one at a time, each without a line's end, and says of each
 *
 *   begun                             it has the recipe in work from now on
 *   done CODE [FILE]                  one of WORKER_..., and the file that is meant
 *
 * One that asks loaders and drivers, any of which may crash or hang, gets nothing. Before each call that
 * may not return it says "asking", so the last one tells which call it was.
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
 *   mapped PATH                       each file that was loaded to build for all devices
 *   end                               all was asked
 */

/* The worker's descriptor of the channel. */
#define WORKER_CHANNEL 3
#define CHANNEL_FIELDS 6
#define CHANNEL_MAX 16384	/* bytes; a longer one is cut */

/* What a worker says of a recipe, or ends with. */
enum {
	WORKER_BUILT = 0,	/* there is an entry of this key now */
	WORKER_ABSENT = 10,	/* no such platform or device here */
	WORKER_CHANGED = 11,	/* a header, or another file that was looked for, is not as it was */
	WORKER_OTHER = 12,	/* it was built, and there is no entry of this key */
	WORKER_FAILED = 13,	/* the driver did not build it */
	WORKER_UNABLE = 14,	/* no loader, no memory, an unreadable recipe */
	WORKER_UNWANTED = 15,	/* it was built, and is of a size that is not stored */
	WORKER_GONE = 16,	/* a header, or the working directory, is gone */
	WORKER_INPUTS = 17,	/* a link's inputs are not in the store */
};

/* For a worker: one record, a word and its fields. What would break a line becomes a blank. false: nobody got it. */
#define channel_say(...) channel_say_texts((const char *const[]){ __VA_ARGS__, NULL })
bool channel_say_texts(const char *const *texts);
/* channel_say("asking", ...): what cannot be undone comes next. */
void channel_asking(const char *what);

/* For who reads: the next record, cut out of the text, which moves on; false: no more. */
struct channel_record {
	const char *word;
	const char *fields[CHANNEL_FIELDS];	/* "" where there is none */
};
bool channel_next(char **text, struct channel_record *ret);

/*
 * confine: what a process may still do that has a stranger's program compiled: read what compilers
 * and drivers are made of, write where it is told, use the devices that compute, and start others
 * that may do no more. It reaches no other file, no network, no other process.
 *
 * Landlock (Linux 5.13, where it is enabled) keeps it to these files; what the kernel's version of
 * it leaves out, a filter of system calls does: sockets, modes and owners of files, other processes.
 * Neither needs privileges, and neither can be undone. One thread: threads that run already would
 * not be confined.
 */

/* Beside what every compiler needs; paths, each with its NUL. What is not there is passed over. */
struct confine {
	struct cmn_buffer reads;	/* files, or directories with all below */
	struct cmn_buffer writes;	/* directories with all below; they may be read, too */
	bool any_file;			/* without Landlock: all that the user may read and write */
};
void confine_release(struct confine *confine);

/* Whether this kernel can keep a process to files. */
bool confine_is_possible(void);
/* Confines this process, for good, and what it executes. false: it could not, and is to end. */
bool confine_enter(const struct confine *confine);

#define WORKER_VERB "worker"

struct worker_variable {
	const char *name;
	const char *value;	/* NULL: unset */
};
/* With these the layers store whatever is built, at once, whatever else is set for applications. */
#define WORKER_STORES                                                             \
	{ "CKCACHE_CAPTURE", "eager" }, { "CKCACHE_DISABLE", "0" },               \
	{ "CKCACHE_PERSISTENT", "1" }, { "CKCACHE_READ_ONLY", "0" },              \
	{ "CKCACHE_READ_ONLY_DIRS", "" }
/* The same, whatever its size. */
#define WORKER_STORES_ALL                                                         \
	WORKER_STORES, { "CKCACHE_MIN_DEVICE_IMAGE_SIZE", "0" },                  \
	{ "CKCACHE_MAX_DEVICE_IMAGE_SIZE", "" }, { "CKCACHE_MAX_SIZE", "0" }
void worker_set_variables(const struct worker_variable *variables);

struct worker_start {
	const char *const *arguments;	/* what it is to do, NULL-terminated */
	char **environment;		/* NULL: this process's */
	const struct worker_variable *variables;	/* over that; ended by one without a name; NULL: none */
	const char *directory;		/* where it works; NULL: here */
	bool layers;			/* both layers on, as ckcache run has them */
	bool level_zero;		/* that one on */
	bool idle;			/* its session has the lowest priority, as this process has */
	const struct confine *confine;	/* NULL: it may do what the user may */
	uint64_t timeout_ns;
};

/*
 * Starts it; *ret_channel is the caller's to close: each message is a record. What it prints
 * goes to said, below 0: nowhere. false: errno.
 */
bool worker_start(const struct worker_start *start, int said, struct child *child, int *ret_channel);

enum worker_end {
	WORKER_EXITED,		/* code: its exit code */
	WORKER_LEFT,		/* the same, in the middle of its work: for who knows that */
	WORKER_SIGNALLED,	/* code: the signal */
	WORKER_TIMED_OUT,	/* it was killed */
	WORKER_STUCK,		/* it was killed and does not end */
	WORKER_INTERRUPTED,	/* a signal asked this process to end: code; the worker was killed */
	WORKER_UNSTARTED,	/* code: errno */
};

struct worker_result {
	enum worker_end end;
	int code;
	struct cmn_buffer records;	/* lines; at most 256 KiB */
	struct cmn_buffer said;		/* the first 16 KiB of its stdout and stderr */
};

/* Runs one that gets nothing to its end. *ret_result is the caller's to release. */
void worker_run(const struct worker_start *start, struct worker_result *ret_result);
void worker_result_release(struct worker_result *result);

/*
 * idle: work that nobody waits for (`--idle`): at the kernel's lowest priorities, and on mains power
 * alone; and until when something new begins (`--budget`). One thread.
 */
struct idle {
	bool wanted;		/* --idle; without, only the budget counts */
	bool on_battery;	/* when it was looked at last */
	uint64_t next_look;	/* monotonic */
	uint64_t end;		/* monotonic; UINT64_MAX: no budget */
};

/*
 * Begins a budget (idle_begin). With wanted, lowers the priority of this process, and so of those that it
 * starts, for processors and disks, and looks at the power; whoever runs out of memory, they end first.
 */
void idle_init(struct idle *ret, bool wanted, unsigned long budget_s);
/* From now on nothing begins after so many seconds; 0: at any time. */
void idle_begin(struct idle *idle, unsigned long budget_s);
/* Whether the budget is spent. */
bool idle_is_spent(const struct idle *idle);
/* Whether something may begin now: the budget is not spent, and with wanted there is mains power. */
bool idle_lets_begin(struct idle *idle);
/*
 * Lowers the priority of all of this process's session, for processors; it may take some tenths of a
 * second. The kernel shares them among sessions first: sched(7), "The autogroup feature".
 */
void idle_lower_session(void);
/* Whether a mains supply is unplugged or a battery is drained, and no supply is plugged in; supplies: a directory as /sys/class/power_supply. */
bool idle_on_battery(const char *supplies);
/*
 * Whether the control group, or one above it, has a bound of memory or processor time, or room for only few
 * more processes (version 2), which the background would use up. What cannot be read has none. own: as
 * /proc/self/cgroup; root: as /sys/fs/cgroup.
 */
bool idle_is_limited(const char *own, const char *root);

/*
 * worker: what runs in a worker's process, for each API, and what it answers. The driver may
 * end the process at any time, or never return. One thread.
 */
/*
 * Builds a recipe's program as the application did, through the loader and with the layer, which
 * stores the result under the key that it finds itself. root: where the entry is to be. store: where the
 * inputs of links are. One of WORKER_….
 */
int worker_opencl_build(const struct cc_recipe *recipe, const char *root, struct cc_store *store);
int worker_level_zero_build(const struct cc_recipe *recipe);

/* Questions to loaders and drivers, with a verb's arguments; the exit code. */
int probe_opencl(int argc, char **argv);		/* [LIBRARY...]: of the drivers' files */
int probe_opencl_build(int argc, char **argv);		/* [PLATFORM DEVICE]: else all */
int probe_level_zero(int argc, char **argv);
int probe_level_zero_build(int argc, char **argv);	/* [DRIVER DEVICE] */

/* Functions of a loader's, and where the pointer to each is in a structure, which is zeroed by the caller. */
struct worker_function {
	const char *name;
	size_t offset;
	bool needed;
};
/* Loads a library, which stays, and finds its functions. NULL, or why not; lack: one is missing. */
const char *worker_load(const char *library, const struct worker_function *functions, size_t count, void *ret,
			const char *lack);

/* Says why a loader cannot be used (false), or where this function of its came from. */
bool worker_say_loader(const char *problem, const void *function);
/* Says which files of ours this process has; which files it has at all. */
void worker_say_layers(void);
void worker_say_mapped(void);

/* The verb that is run in a process of its own; not for people: what to do, then its arguments. */
int worker_main(int argc, char **argv);

/* Whether the settings have the layer not store images of this size. */
bool worker_is_unwanted(uint64_t size);
/* Goes where a program was built (empty: where this process began), for the compilers' eyes, too. false: it is gone. */
bool worker_enter(struct cmn_view directory);

#endif
