/* SPDX-License-Identifier: MIT */
/*
 * sequence: the steps of every build, whether of a program, a link or a module:
 * look up an entry and attach it; else observe what the driver reads while it
 * builds, capture the result and publish it; count. If anything goes wrong with
 * the cache, the driver builds as it would without it.
 *
 * Knows no API's types: each kind of build passes its own steps. The caller has
 * gathered the key; a build without a key does not come here.
 */
#ifndef SHARED_SEQUENCE_SEQUENCE_H
#define SHARED_SEQUENCE_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cachecore/cache.h"
#include "common/clock.h"
#include "layers/shared/driver/libraries.h"
#include "layers/shared/observer/observer.h"

struct drv_sequence;

/* What came of the driver's call. */
enum drv_outcome {
	DRV_BUILT,
	DRV_BUILD_FAILED,	/* the compiler complains about the program */
	DRV_OUT_OF_MEMORY,	/* it may work once the cache has let go of its memory */
	DRV_ERROR,		/* any other error */
};

/* What one kind of build does at each step. Unless said otherwise, none may be NULL. */
struct drv_sequence_steps {
	/* A failed build has an entry as well (cc_entry_set_failed). */
	bool keeps_failures;

	/*
	 * Whether the result may be cached; else *ret_reason says why not. Asked
	 * only on a miss. NULL: always.
	 */
	bool (*may_be_kept)(struct drv_sequence *sequence, const char **ret_reason);

	/* What the application gave to be compiled; borrowed until the observation ends. */
	struct drv_observer_text (*text)(struct drv_sequence *sequence);

	/* Releases what would be in the way of the driver's call; not observed, not timed. NULL: nothing to do. */
	void (*prepare)(struct drv_sequence *sequence);
	/* Lets the driver build. Called a second time if the first ran out of memory. May set bypass. */
	enum drv_outcome (*call)(struct drv_sequence *sequence);
	/* What the driver says of a call that failed, for people (failure.c); on the heap; NULL: no memory. */
	char *(*failure)(const struct drv_sequence *sequence);

	/* Libraries were loaded: whether driver and compiler are still those of the key. Learns the new ones. */
	bool (*key_holds)(struct drv_sequence *sequence);
	/* Why key and sequence->manifest do not cover all inputs of the build, or NULL. The step may be NULL. */
	const char *(*input_changed)(struct drv_sequence *sequence);

	/*
	 * Makes an entry of what was just built; takes sequence->manifest, or leaves it to the sequence, and leaves
	 * NULL there. Any status but CMN_OK: there is no entry now; bypass may say
	 * why, or deferred may be set.
	 */
	enum cmn_status (*capture)(struct drv_sequence *sequence, struct cc_entry **ret);
	/*
	 * The driver's own cache had the result, which is not worth an entry (observer.h): leaves a
	 * recipe of the build, for ckcache replay. false: it cannot. The step may be NULL.
	 */
	bool (*leave_recipe)(const struct drv_sequence *sequence);
	/*
	 * Makes the application's result from an entry. CMN_ERR_DRIVER: the driver
	 * refuses the entry, and it must be removed. Any other failure: it cannot be
	 * used now, but stays. On failure nothing was done for the application.
	 */
	enum cmn_status (*attach)(struct drv_sequence *sequence, struct cc_entry *entry);
};

struct drv_sequence {
	const struct drv_sequence_steps *steps;
	struct cc_cache *cache;		/* NULL: only what does not look up */
	const struct cc_key *key;	/* gathered; borrowed; NULL: there can be none, and bypass says why */
	const struct drv_driver *driver;	/* of the key; NULL as well where there is none */
	struct drv_libraries_query libraries;	/* the driver's, in this process */
	bool apart;			/* the build leaves no entry at once: nobody waits for it */
	bool goes_on;			/* the driver may build after its call, and the application be called back */
	bool unproven;			/* an option is: the step may_be_kept says so (dependencies.h) */

	enum cc_origin origin;		/* of a hit */
	unsigned int calls;		/* of the driver */
	enum drv_outcome outcome;	/* of the last one */
	bool deferred;			/* ckcache replay has the recipe */
	const char *bypass;		/* why nothing is cached, or NULL; static */
	uint64_t start_ns, build_ns;	/* build_ns 0: the driver was not called, or builds on after the call */
	struct cc_build_start build_start;	/* the driver's call */
	struct drv_library_epoch epoch;
	pid_t driver_pid;		/* the process in whose driver the build is; 0: in none */
	struct drv_observation *observation;	/* of the driver's build; NULL: not begun, or ended */
	struct cc_manifest *manifest;	/* what the driver read; NULL: nothing */
	char cached_as[DRV_CACHED_AS_SIZE];	/* drv_observer_cached_as */
};

/*
 * Which libraries are loaded, for a key that is gathered after that. While builds are in the driver, those from
 * before the first of them: what one loads is in remembered identities only once it is over.
 */
struct drv_library_epoch drv_sequence_epoch(void);
/* Starts the clock and notes that; before the key is gathered. */
static inline void drv_sequence_begin(struct drv_sequence *sequence)
{
	sequence->start_ns = cmn_clock_monotonic();
	sequence->epoch = drv_sequence_epoch();
}
/* What a build was seen to read does not count: it is as if nobody had watched. */
void drv_sequence_forget_observation(struct drv_sequence *sequence);
/*
 * The build is over: what it loaded is learned. Seeing it, or its capture, does that as well. true: a compiler
 * came with it that was not in the key, under which what it made cannot be kept.
 */
bool drv_sequence_leave_driver(struct drv_sequence *sequence);
/* Frees what the sequence holds, not what it borrows. */
static inline void drv_sequence_release(struct drv_sequence *sequence)
{
	if (sequence->driver_pid)
		(void)drv_sequence_leave_driver(sequence);
	if (sequence->observation || sequence->manifest)
		drv_sequence_forget_observation(sequence);
}

/*
 * The whole sequence. true: a hit, attached; else the driver was called, once or,
 * after running out of memory, twice, and outcome is of the last call. Counted
 * in either case.
 */
bool drv_sequence_run(struct drv_sequence *sequence);

/* The steps of drv_sequence_run for a build that the driver ends after the call. */

/* true: a hit, attached and counted. Does not wait for a build in progress. */
bool drv_sequence_look_up(struct drv_sequence *sequence);
/* false: bypass says why not. */
bool drv_sequence_may_be_kept(struct drv_sequence *sequence);
/* The build is in the driver from now on: what that reads is observed, unless bypass is set. */
void drv_sequence_watch(struct drv_sequence *sequence);
/*
 * After the build: ends the observation and leaves the driver; manifest is what it read. false: bypass says
 * why the key and that do not tell all.
 */
bool drv_sequence_see(struct drv_sequence *sequence);
/* Ends the observation. CMN_OK: *ret is the entry of what was built, for the caller to publish. CMN_MISS: there is none. */
CMN_CHECKED enum cmn_status drv_sequence_capture(struct drv_sequence *sequence, struct cc_entry **ret);
/* As a failure, as a bypass with its reason, as deferred, or as a miss. */
void drv_sequence_count(const struct drv_sequence *sequence);

/*
 * The driver's call alone, of a build that has no key; counted if there is a bypass. source: what is to be
 * compiled, for its name.
 */
void drv_sequence_run_without_key(struct drv_sequence *sequence, struct cmn_view source);

/* What the driver of the sequence reads from now on. goes_on: as of drv_observer_request. NULL: no memory. */
struct drv_observation *drv_sequence_observe(const struct drv_sequence *sequence, bool goes_on);

/*
 * "-11: error: use of undeclared identifier 'x' (1:36)", for the step failure: the code, and of the build log
 * the first line with an error, else the first one that is not blank, cut and without control characters.
 * log may be empty. On the heap; NULL: no memory. (failure.c)
 */
char *drv_failure_text(const char *code, struct cmn_view log);

/*
 * Leaves what `ckcache replay` needs to repeat the sequence's build, which went well: key, working directory,
 * the program's name, and the variables beside the key's that choose the driver. manifest: what it
 * read; may be NULL. places: of the devices among their platform's (recipe.h), or empty. Borrows all.
 * false: impossible. (build_recipe.c)
 */
bool drv_build_recipe_put(const struct drv_sequence *sequence, const struct cc_manifest *manifest,
			  struct cmn_view places);

#endif
