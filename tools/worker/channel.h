/* SPDX-License-Identifier: MIT */
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
#ifndef TOOLS_WORKER_CHANNEL_H
#define TOOLS_WORKER_CHANNEL_H

#include <stdbool.h>

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

#endif
