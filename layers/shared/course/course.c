/* SPDX-License-Identifier: MIT */
/* course: the order of the steps, and what is common to them. */
#include "layers/shared/course/course.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "layers/shared/driver/environment.h"

/* Of the driver, one after the other as long as it runs out of memory: the cache lets go of its own in between. */
#define MAX_CALLS 2

void drv_course_begin(struct drv_course *course)
{
	course->start_ns = cmn_clock_monotonic();
	course->epoch = drv_libraries_epoch();
}

void drv_course_forget_observation(struct drv_course *course)
{
	drv_observer_drop(course->observation);
	course->observation = NULL;
	cc_manifest_free(course->manifest);
	course->manifest = NULL;
}

bool drv_course_may_be_kept(struct drv_course *course)
{
	const char *reason;

	if (!course->bypass && course->steps->may_be_kept &&
	    !course->steps->may_be_kept(course, &reason))
		course->bypass = reason;
	return !course->bypass;
}

void drv_course_watch(struct drv_course *course)
{
	struct drv_observer_request request = {
		.switched_off = !course->cache || !cc_cache_config(course->cache)->observe,
		.goes_on = course->goes_on,
	};

	if (!course->bypass && course->steps->observe(course, &request))
		course->observation = drv_observer_begin(&request);
}

/* A compiler that came with the build was not in the key: what it made cannot be kept under it. */
static bool compiler_came_late(struct drv_course *course)
{
	return drv_libraries_came(&course->epoch) && !course->steps->key_holds(course);
}

bool drv_course_see(struct drv_course *course)
{
	const struct drv_course_steps *steps = course->steps;
	struct cc_file_memo *memo = course->cache ? cc_cache_file_memo(course->cache) : NULL;
	struct drv_observer_text text = steps->text(course);
	struct drv_observation *observation = course->observation;
	const char *reason = "no-memory";
	bool late, cached = false;

	course->observation = NULL;
	drv_environment_note_build();
	/* First, since a driver may read files to answer what the key is made of. */
	if (drv_observer_end(observation, &text, memo, &course->manifest, &reason) != CMN_OK) {
		course->manifest = NULL;
		cached = strcmp(reason, "driver-cached") == 0;
		course->bypass = cached ? NULL : reason;
	}
	late = compiler_came_late(course);
	if (course->bypass)
		return false;
	if (late)
		course->bypass = "compiler-loaded-late";
	else if (!steps->environment_holds(course))
		course->bypass = "environment-changed";
	else if (steps->input_changed)
		course->bypass = steps->input_changed(course);
	if (cached && !course->bypass)
		course->bypass = "driver-cached";
	return !course->bypass;
}

/* The build that the driver need not do again costs nobody anything: it is done anew by ckcache replay. */
static void leave_recipe(struct drv_course *course)
{
	if (course->bypass && strcmp(course->bypass, "driver-cached") == 0 && course->steps->leave_recipe &&
	    course->steps->leave_recipe(course)) {
		course->bypass = NULL;
		course->deferred = true;
	}
}

enum cmn_status drv_course_capture(struct drv_course *course, struct cc_entry **ret)
{
	const struct drv_course_steps *steps = course->steps;

	if (course->bypass || !(course->outcome == DRV_BUILT ||
				(course->outcome == DRV_BUILD_FAILED && steps->keeps_failures))) {
		drv_course_forget_observation(course);
		/* What was loaded counts for all further keys. */
		(void)compiler_came_late(course);
		return CMN_MISS;
	}
	if (!drv_course_see(course)) {
		leave_recipe(course);
		return CMN_MISS;
	}
	if (steps->capture(course, ret) == CMN_OK)
		return CMN_OK;
	leave_recipe(course);
	return CMN_MISS;
}

/* Whether the driver is to be called, or called again. */
static bool is_to_be_built(const struct drv_course *course)
{
	return !course->calls ||
	       (course->outcome == DRV_OUT_OF_MEMORY && course->calls < MAX_CALLS);
}

/* CMN_ERR_NOMEM: the driver ran out of memory, and is to be called again. */
static enum cmn_status build(struct drv_course *course, struct cc_entry **ret)
{
	if (course->steps->prepare)
		course->steps->prepare(course);
	drv_course_watch(course);
	course->calls++;
	course->build_start = cc_cache_start_build(course->cache);
	course->outcome = course->steps->call(course);
	course->build_ns = cc_cache_build_ns(course->cache, &course->build_start);
	if (is_to_be_built(course)) {
		drv_course_forget_observation(course);
		return CMN_ERR_NOMEM;
	}
	return drv_course_capture(course, ret);
}

/* The build callback of the cache. */
static enum cmn_status build_for_waiters(void *ctx, struct cc_entry **ret)
{
	struct drv_course *course = ctx;

	/* Found out before building, so that waiters need not wait for nothing. */
	if (course->apart || !drv_course_may_be_kept(course))
		return CMN_MISS;
	return build(course, ret);
}

/* There was no entry, or one of no use, and nobody waits for this build. */
static void build_alone(struct drv_course *course)
{
	enum cmn_status status;
	struct cc_entry *entry;

	(void)drv_course_may_be_kept(course);	/* bypass tells */
	do
		status = build(course, &entry);
	while (status == CMN_ERR_NOMEM && !course->bypass);	/* as without the layer */
	if (status != CMN_OK)
		return;
	cc_cache_put(course->cache, course->key, entry);
	cc_entry_unref(entry);
}

static bool attach(struct drv_course *course, struct cc_entry *entry)
{
	enum cmn_status status = course->steps->attach(course, entry);

	if (status == CMN_ERR_DRIVER)
		cc_cache_reject(course->cache, course->key, entry);
	if (status != CMN_OK)
		return false;
	cc_cache_count_hit(course->cache, course->key, course->origin, entry,
			   cmn_clock_monotonic() - course->start_ns);
	return true;
}

bool drv_course_look_up(struct drv_course *course)
{
	struct cc_entry *entry;
	bool hit;

	if (cc_cache_get(course->cache, course->key, &entry, &course->origin) != CMN_OK)
		return false;
	hit = attach(course, entry);
	cc_entry_unref(entry);
	return hit;
}

static void count_unkept(const struct drv_course *course, struct cmn_view source)
{
	char *failure = course->outcome == DRV_BUILT ? NULL : course->steps->failure(course);
	const struct cc_unkept_build build = {
		.key = course->key, .source = source, .bypass = course->bypass,
		/* Without memory for the text it has failed all the same. */
		.failure = failure || course->outcome == DRV_BUILT ? failure : "",
		.build_ns = course->build_ns,
	};

	cc_cache_count_unkept(course->cache, &build);
	free(failure);
}

void drv_course_count(const struct drv_course *course)
{
	if (course->bypass || course->outcome != DRV_BUILT)
		count_unkept(course, (struct cmn_view){ 0 });
	else if (course->deferred)
		cc_cache_count_deferred(course->cache, course->key, course->build_ns);
	else
		cc_cache_count_miss(course->cache, course->key, course->build_ns);
}

void drv_course_count_without_key(struct drv_course *course, struct cmn_view source)
{
	course->key = NULL;
	count_unkept(course, source);
}

bool drv_course_run(struct drv_course *course)
{
	struct cc_entry *entry = NULL;
	bool hit = false;

	if (cc_cache_get_or_build(course->cache, course->key, build_for_waiters, course, &entry,
				  &course->origin) == CMN_OK &&
	    course->origin != CC_ORIGIN_BUILT)
		hit = attach(course, entry);
	cc_entry_unref(entry);
	if (hit)
		return true;
	if (is_to_be_built(course))
		build_alone(course);
	drv_course_count(course);
	return false;
}
