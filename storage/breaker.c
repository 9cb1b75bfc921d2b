/* SPDX-License-Identifier: MIT */
/* breaker: pauses after failures. */
#include "storage/breaker.h"

#include "common/clock.h"
#include "common/mutex.h"

#define FIRST_PAUSE_NS 1000000000ULL
#define LAST_PAUSE_NS 30000000000ULL

void storage_breaker_init(struct storage_breaker *breaker)
{
	*breaker = (struct storage_breaker){ .lock = PTHREAD_MUTEX_INITIALIZER };
}

bool storage_breaker_allows(struct storage_breaker *breaker, struct storage_error *error)
{
	bool allowed = true;

	cmn_mutex_lock(&breaker->lock);
	if (breaker->pause && (breaker->trying || cmn_clock_monotonic() < breaker->until)) {
		storage_error_set(error, "not tried, since %.200s", breaker->why.text);
		allowed = false;
	} else if (breaker->pause) {
		breaker->trying = true;
	}
	cmn_mutex_unlock(&breaker->lock);
	return allowed;
}

void storage_breaker_succeeded(struct storage_breaker *breaker)
{
	cmn_mutex_lock(&breaker->lock);
	breaker->pause = 0;
	breaker->trying = false;
	cmn_mutex_unlock(&breaker->lock);
}

void storage_breaker_failed(struct storage_breaker *breaker, const struct storage_error *why)
{
	uint64_t now = cmn_clock_monotonic();

	cmn_mutex_lock(&breaker->lock);
	/* Requests that were on their way together fail together, and count once. */
	if (breaker->trying || !breaker->pause) {
		breaker->pause = breaker->pause ? 2 * breaker->pause : FIRST_PAUSE_NS;
		if (breaker->pause > LAST_PAUSE_NS)
			breaker->pause = LAST_PAUSE_NS;
		breaker->until = now + breaker->pause;
		breaker->trying = false;
		breaker->why = *why;
	}
	cmn_mutex_unlock(&breaker->lock);
}

bool storage_breaker_is_open(struct storage_breaker *breaker, struct storage_error *ret_why)
{
	bool open;

	cmn_mutex_lock(&breaker->lock);
	open = breaker->pause != 0;
	if (open)
		*ret_why = breaker->why;
	cmn_mutex_unlock(&breaker->lock);
	return open;
}
