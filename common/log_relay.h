/* SPDX-License-Identifier: MIT */
/*
 * log_relay: a log for the cache's own threads (background.h). Their descriptors are not the
 * application's, and a sink may write to one. So what they say is kept until one of the
 * application's threads comes by. What these say themselves goes on at once. Thread-safe.
 */
#ifndef COMMON_LOG_RELAY_H
#define COMMON_LOG_RELAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "common/log.h"

struct cmn_log_relay {
	struct cmn_log log;		/* to be given to others */
	const struct cmn_log *to;
	atomic_uint count;		/* of kept messages; the rest is guarded by lock */
	pthread_mutex_t lock;
	struct cmn_log_message *messages;
};

/* Borrows to, which may be NULL. The relay must not move. false: no mutex can be made. */
bool cmn_log_relay_init(struct cmn_log_relay *relay, const struct cmn_log *to);
void cmn_log_relay_say(struct cmn_log_relay *relay);
/* Says what was kept; to be called by a thread of the application. */
static inline void cmn_log_relay_deliver(struct cmn_log_relay *relay)
{
	if (atomic_load_explicit(&relay->count, memory_order_relaxed))
		cmn_log_relay_say(relay);
}
/* The same; no thread may use the relay any more. */
void cmn_log_relay_release(struct cmn_log_relay *relay);

/* For pthread_atfork: what was kept is the parent's to say. */
void cmn_log_relay_fork_prepare(struct cmn_log_relay *relay);
void cmn_log_relay_fork_parent(struct cmn_log_relay *relay);
void cmn_log_relay_fork_child(struct cmn_log_relay *relay);

#endif
