/* SPDX-License-Identifier: MIT */
/* settings: a list of looks, the latest answers first. */
#include "layers/shared/observer/settings.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* By hh.next. It only grows, at its beginning, so that a child has it whole. */
static _Atomic(struct lookup *) settings;

bool drv_setting_is(const struct drv_observation *observation, const struct lookup *lookup,
		    const struct drv_observer_text *text)
{
	char path[PATH_MAX];
	size_t len = strlen(lookup->path);

	if ((lookup->finding != FOUND_NOTHING && lookup->finding != FOUND_FILE) || lookup->written ||
	    !lookup->looked || lookup->kept || lookup->by_descriptor || lookup->path[0] != '/' ||
	    drv_is_of_system(lookup->path) || len >= sizeof(path) ||
	    (text && drv_observer_text_names(text, lookup->path)))
		return false;
	memcpy(path, lookup->path, len + 1);
	for (char *slash = strrchr(path, '/'); slash && slash != path; slash = strrchr(path, '/')) {
		*slash = '\0';
		if (drv_observation_find(observation, path) ||
		    (text && strrchr(path, '/') != path && drv_observer_text_names(text, path)))
			return false;
	}
	return true;
}

static const struct lookup *find(const char *path)
{
	const struct lookup *setting = atomic_load_explicit(&settings, memory_order_acquire);

	while (setting && strcmp(setting->path, path) != 0)
		setting = setting->hh.next;
	return setting;
}

/* false: no memory. */
static bool learn(const struct lookup *lookup)
{
	const struct lookup *known = find(lookup->path);
	bool opened = lookup->opened || (known && known->opened);
	size_t size = sizeof(*lookup) + strlen(lookup->path) + 1;
	struct lookup *setting;

	if (known && known->finding == lookup->finding && known->opened == opened &&
	    cc_file_identity_equal(&known->identity, &lookup->identity) &&
	    known->has_content == lookup->has_content && known->changed == lookup->changed &&
	    cmn_hash_equal(&known->content, &lookup->content))
		return true;
	setting = malloc(size);
	if (!setting)
		return false;
	memcpy(setting, lookup, size);	/* the latest answer is what the driver goes by */
	setting->opened = opened;
	setting->hh.next = atomic_load_explicit(&settings, memory_order_relaxed);
	atomic_store_explicit(&settings, setting, memory_order_release);
	return true;
}

bool drv_settings_learn(const struct drv_observation *observation, const struct drv_observer_text *text)
{
	bool learned = true;

	for (const struct lookup *lookup = observation->lookups; lookup; lookup = lookup->hh.next) {
		if (drv_setting_is(observation, lookup, text))
			learned = learn(lookup) && learned;
	}
	return learned;
}

static void take(struct drv_observation *observation, const struct lookup *setting)
{
	struct lookup *copy = drv_observation_find(observation, setting->path) ? NULL :
			     drv_observation_add(observation, setting->path, setting->finding);

	if (copy) {
		copy->identity = setting->identity;
		copy->content = setting->content;
		copy->has_content = setting->has_content;
		copy->opened = setting->opened;
		copy->changed = setting->changed;
	}
}

void drv_settings_take(struct drv_observation *observation)
{
	for (const struct lookup *setting = atomic_load_explicit(&settings, memory_order_acquire); setting;
	     setting = setting->hh.next)
		take(observation, setting);
}

void drv_settings_take_from(struct drv_observation *observation, const struct drv_observation *other)
{
	for (const struct lookup *lookup = other->lookups; lookup; lookup = lookup->hh.next) {
		if (drv_setting_is(other, lookup, NULL))
			take(observation, lookup);
	}
}
