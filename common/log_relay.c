/* SPDX-License-Identifier: MIT */
/* log_relay: a list of messages. */
#include "common/log_relay.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "common/descriptor.h"
#include "common/mutex.h"

/* Nearly all are said once in a process. */
#define MAX_MESSAGES 32

struct cmn_log_message {
	struct cmn_log_message *next;
	enum cmn_log_level level;
	char text[];
};

static void keep(struct cmn_log_relay *relay, enum cmn_log_level level, const char *text)
{
	size_t size = strlen(text) + 1;
	struct cmn_log_message *message = malloc(sizeof(*message) + size);

	if (!message)
		return;
	message->level = level;
	memcpy(message->text, text, size);
	cmn_mutex_lock(&relay->lock);
	if (atomic_load(&relay->count) < MAX_MESSAGES) {
		LL_APPEND(relay->messages, message);
		(void)atomic_fetch_add(&relay->count, 1);
		message = NULL;
	}
	cmn_mutex_unlock(&relay->lock);
	free(message);
}

static void pass(void *ctx, enum cmn_log_level level, const char *text)
{
	struct cmn_log_relay *relay = ctx;

	if (cmn_descriptors_are_separate()) {
		keep(relay, level, text);
		return;
	}
	cmn_log_relay_deliver(relay);
	cmn_log_write(relay->to, level, "%s", text);
}

bool cmn_log_relay_init(struct cmn_log_relay *relay, const struct cmn_log *to)
{
	*relay = (struct cmn_log_relay){
		.log = { .level = to ? to->level : CMN_LOG_NONE, .sink = pass, .ctx = relay },
		.to = to,
	};
	return pthread_mutex_init(&relay->lock, NULL) == 0;
}

static struct cmn_log_message *take(struct cmn_log_relay *relay)
{
	struct cmn_log_message *messages;

	cmn_mutex_lock(&relay->lock);
	messages = relay->messages;
	relay->messages = NULL;
	atomic_store(&relay->count, 0);
	cmn_mutex_unlock(&relay->lock);
	return messages;
}

void cmn_log_relay_say(struct cmn_log_relay *relay)
{
	struct cmn_log_message *messages, *next;

	for (messages = take(relay); messages; messages = next) {
		next = messages->next;
		cmn_log_write(relay->to, messages->level, "%s", messages->text);
		free(messages);
	}
}

void cmn_log_relay_release(struct cmn_log_relay *relay)
{
	cmn_log_relay_deliver(relay);
	(void)pthread_mutex_destroy(&relay->lock);	/* nobody is inside */
}

void cmn_log_relay_fork_prepare(struct cmn_log_relay *relay)
{
	cmn_mutex_lock(&relay->lock);
}

void cmn_log_relay_fork_parent(struct cmn_log_relay *relay)
{
	cmn_mutex_unlock(&relay->lock);
}

void cmn_log_relay_fork_child(struct cmn_log_relay *relay)
{
	struct cmn_log_message *message, *next;

	LL_FOREACH_SAFE(relay->messages, message, next)
		free(message);
	relay->messages = NULL;
	atomic_store(&relay->count, 0);
	cmn_mutex_unlock(&relay->lock);
}
