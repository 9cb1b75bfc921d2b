/* SPDX-License-Identifier: MIT */
/*
 * settings: what drivers looked for by paths of their own, in any build of this process. They may read it
 * once: it counts for all builds after that. The observer's lock guards what is learned.
 */
#ifndef SHARED_OBSERVER_SETTINGS_H
#define SHARED_OBSERVER_SETTINGS_H

#include "layers/shared/observer/dependencies.h"
#include "layers/shared/observer/observation.h"

/*
 * Whether it is one: an absolute path that the application does not name (text; NULL: unknown, and then more
 * are), in a directory that was not looked at beforehand, as compilers look at those where headers may be.
 */
bool drv_setting_is(const struct drv_observation *observation, const struct lookup *lookup,
		    const struct drv_observer_text *text);
/* From a build that is over, and judged. Under the lock. false: no memory. */
CMN_CHECKED bool drv_settings_learn(const struct drv_observation *observation, const struct drv_observer_text *text);
/* Those that were learned count as if this build had looked, with the answers of then. */
void drv_settings_take(struct drv_observation *observation);
/* The same of a build that goes on, so far. Under the lock. */
void drv_settings_take_from(struct drv_observation *observation, const struct drv_observation *other);

#endif
