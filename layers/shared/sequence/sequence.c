/* SPDX-License-Identifier: MIT */
/* sequence: the order of the steps, and what is common to them. */
#include "layers/shared/sequence/sequence.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "layers/shared/driver/environment.h"

/* Of the driver, one after the other as long as it runs out of memory: the cache lets go of its own in between. */
#define MAX_CALLS 2

/* High half: the process, of which a forked child is another one; low half: how many of its builds are in the driver. */
static _Atomic(uint64_t) builds_in_driver;
static _Atomic(unsigned long long) loaded_before;	/* what was loaded before the first of them */

static uint32_t own_count(uint64_t builds)
{
	return builds >> 32 == (uint64_t)getpid() ? (uint32_t)builds : 0;
}

struct drv_library_epoch drv_sequence_epoch(void)
{
	/* First: who is not counted any more has renewed its devices' identities. */
	struct drv_library_epoch epoch = drv_libraries_epoch();
	uint64_t builds = atomic_load(&builds_in_driver);

	if (builds && own_count(builds))
		epoch.loaded = atomic_load(&loaded_before);
	return epoch;
}

static void enter_driver(struct drv_sequence *sequence)
{
	/* First: if then no build is in the driver, none of those to come had loaded anything yet. */
	struct drv_library_epoch epoch = drv_libraries_epoch();
	uint64_t builds = atomic_load(&builds_in_driver), next;

	if (sequence->driver_pid)
		return;		/* it calls again */
	sequence->driver_pid = getpid();
	do {
		next = (uint64_t)sequence->driver_pid << 32 | (own_count(builds) + 1);
		if ((uint32_t)next == 1)
			atomic_store(&loaded_before, epoch.loaded);
	} while (!atomic_compare_exchange_weak(&builds_in_driver, &builds, next));
}

void drv_sequence_forget_observation(struct drv_sequence *sequence)
{
	drv_observer_drop(sequence->observation);
	sequence->observation = NULL;
	cc_manifest_free(sequence->manifest);
	sequence->manifest = NULL;
}

bool drv_sequence_may_be_kept(struct drv_sequence *sequence)
{
	const char *reason;

	if (!sequence->bypass && sequence->steps->may_be_kept &&
	    !sequence->steps->may_be_kept(sequence, &reason))
		sequence->bypass = reason;
	return !sequence->bypass;
}

static struct drv_observer_request request_of(const struct drv_sequence *sequence, bool goes_on)
{
	return (struct drv_observer_request){
		.driver = sequence->driver,
		.libraries = sequence->libraries,
		.switched_off = !sequence->cache || !cc_cache_config(sequence->cache)->observe,
		.goes_on = goes_on,
	};
}

struct drv_observation *drv_sequence_observe(const struct drv_sequence *sequence, bool goes_on)
{
	const struct drv_observer_request request = request_of(sequence, goes_on);

	return drv_observer_begin(&request);
}

void drv_sequence_watch(struct drv_sequence *sequence)
{
	enter_driver(sequence);
	/* Else only for what a driver that no row knows may read once in the process. */
	if (!sequence->bypass || (sequence->driver && !sequence->driver->library))
		sequence->observation = drv_sequence_observe(sequence, sequence->goes_on);
}

bool drv_sequence_leave_driver(struct drv_sequence *sequence)
{
	bool late = drv_libraries_came(&sequence->epoch) && !sequence->steps->key_holds(sequence);

	/* Only now: until the identities have what came, no other build may rely on them. */
	if (sequence->driver_pid == getpid())
		(void)atomic_fetch_sub(&builds_in_driver, 1);
	sequence->driver_pid = 0;
	return late;
}

bool drv_sequence_see(struct drv_sequence *sequence)
{
	const struct drv_sequence_steps *steps = sequence->steps;
	struct cc_file_memo *memo = sequence->cache ? cc_cache_file_memo(sequence->cache) : NULL;
	struct drv_observer_text text = steps->text(sequence);
	struct drv_observation *observation = sequence->observation;
	const char *reason = "no-memory";
	bool late, cached = false;

	text.failed = sequence->outcome != DRV_BUILT;
	text.include_paths = &sequence->key->include_paths;
	text.unproven = sequence->unproven;
	text.reads |= text.unproven;	/* what nobody saw proves nothing */
	sequence->observation = NULL;
	drv_observer_cached_as(observation, sequence->cached_as);
	drv_environment_note_build();
	/* First, since a driver may read files to answer what the key is made of. */
	if (drv_observer_end(observation, &text, memo, &sequence->manifest, &reason) != CMN_OK) {
		sequence->manifest = NULL;
		cached = strcmp(reason, "driver-cached") == 0;
		sequence->bypass = cached ? NULL : reason;
	}
	late = drv_sequence_leave_driver(sequence);
	if (sequence->bypass)
		return false;
	if (late)
		sequence->bypass = "compiler-loaded-late";
	else if (!drv_environment_holds(sequence->driver))
		sequence->bypass = "environment-changed";
	else if (steps->input_changed)
		sequence->bypass = steps->input_changed(sequence);
	if (cached && !sequence->bypass)
		sequence->bypass = "driver-cached";
	return !sequence->bypass;
}

/* The driver's own cache had the result, which is not kept: ckcache replay builds it. */
static void leave_recipe(struct drv_sequence *sequence)
{
	if (sequence->bypass && strcmp(sequence->bypass, "driver-cached") == 0 && sequence->steps->leave_recipe &&
	    sequence->steps->leave_recipe(sequence)) {
		sequence->bypass = NULL;
		sequence->deferred = true;
	}
}

/*
 * A failure that the driver's own cache had a part in, as Mesa's has the front end's result: one more process that
 * sees it, if another one saw what it depends on.
 */
static bool confirm(struct drv_sequence *sequence)
{
	struct cc_entry *entry;
	bool done;

	if (sequence->outcome != DRV_BUILD_FAILED || !sequence->bypass ||
	    strcmp(sequence->bypass, "driver-cached") != 0 || sequence->steps->capture(sequence, &entry) != CMN_OK)
		return false;
	done = cc_cache_put_again(sequence->cache, sequence->key, entry);
	cc_entry_unref(entry);
	if (done)
		sequence->bypass = NULL;
	return done;
}

enum cmn_status drv_sequence_capture(struct drv_sequence *sequence, struct cc_entry **ret)
{
	const struct drv_sequence_steps *steps = sequence->steps;

	if (sequence->bypass || !(sequence->outcome == DRV_BUILT ||
				  (sequence->outcome == DRV_BUILD_FAILED && steps->keeps_failures))) {
		drv_sequence_forget_observation(sequence);
		/* What was loaded counts for all further keys. */
		(void)drv_sequence_leave_driver(sequence);
		return CMN_MISS;
	}
	if (!drv_sequence_see(sequence)) {
		if (!confirm(sequence))
			leave_recipe(sequence);
		return CMN_MISS;
	}
	if (steps->capture(sequence, ret) == CMN_OK)
		return CMN_OK;
	leave_recipe(sequence);
	return CMN_MISS;
}

/* Whether the driver is to be called, or called again. */
static bool is_to_be_built(const struct drv_sequence *sequence)
{
	return !sequence->calls ||
	       (sequence->outcome == DRV_OUT_OF_MEMORY && sequence->calls < MAX_CALLS);
}

/* CMN_ERR_NOMEM: the driver ran out of memory, and is to be called again. */
static enum cmn_status build(struct drv_sequence *sequence, struct cc_entry **ret)
{
	if (sequence->steps->prepare)
		sequence->steps->prepare(sequence);
	drv_sequence_watch(sequence);
	sequence->calls++;
	sequence->build_start = cc_cache_start_build(sequence->cache);
	sequence->outcome = sequence->steps->call(sequence);
	sequence->build_ns = cc_cache_build_ns(sequence->cache, &sequence->build_start);
	if (is_to_be_built(sequence)) {
		drv_sequence_forget_observation(sequence);
		return CMN_ERR_NOMEM;
	}
	return drv_sequence_capture(sequence, ret);
}

/* The build callback of the cache. */
static enum cmn_status build_for_waiters(void *ctx, struct cc_entry **ret)
{
	struct drv_sequence *sequence = ctx;

	/* Found out before building, so that waiters need not wait for nothing. */
	if (!drv_sequence_may_be_kept(sequence) || sequence->apart)
		return CMN_MISS;
	return build(sequence, ret);
}

/* There was no entry, or one of no use, and nobody waits for this build. */
static void build_alone(struct drv_sequence *sequence)
{
	enum cmn_status status;
	struct cc_entry *entry;

	(void)drv_sequence_may_be_kept(sequence);	/* bypass tells */
	do
		status = build(sequence, &entry);
	while (status == CMN_ERR_NOMEM && !sequence->bypass);	/* as without the layer */
	if (status != CMN_OK)
		return;
	cc_cache_put(sequence->cache, sequence->key, entry);
	cc_entry_unref(entry);
}

static bool attach(struct drv_sequence *sequence, struct cc_entry *entry)
{
	bool unknown = sequence->driver && !sequence->driver->library;
	enum cmn_status status;

	/* The first load may read and load what otherwise the first build would. */
	if (unknown)
		drv_sequence_watch(sequence);
	status = sequence->steps->attach(sequence, entry);
	if (unknown) {
		drv_sequence_forget_observation(sequence);
		(void)drv_sequence_leave_driver(sequence);
	}
	if (status == CMN_ERR_DRIVER)
		cc_cache_reject(sequence->cache, sequence->key, entry);
	if (status != CMN_OK)
		return false;
	cc_cache_count_hit(sequence->cache, sequence->key, sequence->origin, entry,
			   cmn_clock_monotonic() - sequence->start_ns);
	return true;
}

bool drv_sequence_look_up(struct drv_sequence *sequence)
{
	struct cc_entry *entry;
	bool hit;

	if (cc_cache_get(sequence->cache, sequence->key, &entry, &sequence->origin) != CMN_OK)
		return false;
	hit = attach(sequence, entry);
	cc_entry_unref(entry);
	return hit;
}

static void count_unkept(const struct drv_sequence *sequence, struct cmn_view source)
{
	char *failure = sequence->outcome == DRV_BUILT ? NULL : sequence->steps->failure(sequence);
	const struct cc_unkept_build build = {
		.key = sequence->key, .source = source, .bypass = sequence->bypass,
		/* Without memory for the text it has failed all the same. */
		.failure = failure || sequence->outcome == DRV_BUILT ? failure : "",
		.build_ns = sequence->build_ns,
	};

	cc_cache_count_unkept(sequence->cache, &build);
	free(failure);
}

void drv_sequence_count(const struct drv_sequence *sequence)
{
	if (sequence->bypass || sequence->outcome != DRV_BUILT)
		count_unkept(sequence, (struct cmn_view){ 0 });
	else if (sequence->deferred)
		cc_cache_count_deferred(sequence->cache, sequence->key, sequence->build_ns);
	else
		cc_cache_count_miss(sequence->cache, sequence->key, sequence->build_ns);
}

void drv_sequence_run_without_key(struct drv_sequence *sequence, struct cmn_view source)
{
	const struct drv_observer_request request = request_of(sequence, false);
	struct drv_observation *observation;
	enum drv_outcome outcome;

	if (sequence->steps->prepare)
		sequence->steps->prepare(sequence);
	if (sequence->goes_on)
		drv_observer_miss();
	observation = drv_observer_pass(&request);
	sequence->build_start = cc_cache_start_build(sequence->cache);
	outcome = sequence->steps->call(sequence);
	drv_observer_drop(observation);
	/* The driver may build on, and the application may have released what is built. */
	if (!sequence->goes_on) {
		sequence->build_ns = cc_cache_build_ns(sequence->cache, &sequence->build_start);
		sequence->outcome = outcome;
	}
	sequence->key = NULL;
	if (sequence->bypass)
		count_unkept(sequence, source);
}

bool drv_sequence_run(struct drv_sequence *sequence)
{
	struct cc_entry *entry = NULL;
	bool hit = false;

	if (cc_cache_get_or_build(sequence->cache, sequence->key, build_for_waiters, sequence, &entry,
				  &sequence->origin) == CMN_OK &&
	    sequence->origin != CC_ORIGIN_BUILT)
		hit = attach(sequence, entry);
	cc_entry_unref(entry);
	if (hit)
		return true;
	if (is_to_be_built(sequence))
		build_alone(sequence);
	drv_sequence_count(sequence);
	return false;
}
