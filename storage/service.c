/* SPDX-License-Identifier: MIT */
/* service: sessions, pauses after failures, and one request from the one to the other. */
#include "storage/service.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/random.h>

#include "common/clock.h"
#include "common/mutex.h"

#define NS_PER_S UINT64_C(1000000000)
/*
 * Servers and what is between drop connections that nobody uses, and not all say so. Longer than
 * clients leave a storage alone that did not answer in time (a minute): a server that is far
 * answers in time only through a connection that is there already.
 */
#define MAX_IDLE_NS (300 * NS_PER_S)
#define FIRST_PAUSE_NS NS_PER_S
#define LAST_PAUSE_NS (30 * NS_PER_S)

static bool init_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attr;
	bool done;

	if (pthread_condattr_init(&attr) != 0)
		return false;
	done = pthread_condattr_setclock(&attr, CLOCK_MONOTONIC) == 0 &&
	       pthread_cond_init(condition, &attr) == 0;
	(void)pthread_condattr_destroy(&attr);	/* cannot fail on an initialised one */
	return done;
}

bool storage_service_init(struct storage_service *service, struct storage_options *options,
			  const struct storage_backend *backend, struct storage_error *error)
{
	unsigned char random[STORAGE_TOKEN_SIZE / 2];

	service->backend = backend;
	service->options = options;
	service->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	service->departures = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	service->room.max = (size_t)options->max_memory;
	if (!backend->setup(options, &service->ctx, error))
		return false;
	service->idle = calloc(options->max_connections, sizeof(*service->idle));
	if (!service->idle || !init_condition(&service->freed)) {
		storage_error_set(error, "out of memory");
		return false;
	}
	if (service->departures < 0) {
		storage_error_set(error, "no descriptors");
		return false;
	}
	if (getrandom(random, sizeof(random), 0) != sizeof(random)) {
		storage_error_set(error, "no random numbers");
		return false;
	}
	cmn_hex(random, sizeof(random), service->token);
	storage_service_touch(service);
	return true;
}

void storage_service_touch(struct storage_service *service)
{
	atomic_store(&service->last_activity, cmn_clock_monotonic());
}

/* ---- sessions ---- */

/* With the lock: one less. */
static void leave(struct storage_service *service)
{
	service->session_count--;
	(void)pthread_cond_signal(&service->freed);	/* cannot fail */
}

/* Closes all idle sessions that have not been used since the time. */
static void close_idle(struct storage_service *service, uint64_t since)
{
	void *session;

	do {
		session = NULL;
		cmn_mutex_lock(&service->lock);
		if (service->idle_count && service->idle[0].since < since) {
			session = service->idle[0].session;
			service->idle_count--;
			for (size_t i = 0; i < service->idle_count; i++)
				service->idle[i] = service->idle[i + 1];
			leave(service);
		}
		cmn_mutex_unlock(&service->lock);
		if (session)
			service->backend->close(session);
	} while (session);
}

/* An idle one, else a new one; waits until the monotonic time if the maximum is in use. */
static bool take_session(struct storage_service *service, uint64_t until, void **ret_session,
			 bool *ret_is_new, struct storage_error *error)
{
	const struct timespec end = { (time_t)(until / NS_PER_S), (long)(until % NS_PER_S) };
	const size_t max = service->options->max_connections;
	uint64_t now = cmn_clock_monotonic();
	bool in_time = true, full;

	close_idle(service, now > MAX_IDLE_NS ? now - MAX_IDLE_NS : 0);
	cmn_mutex_lock(&service->lock);
	while (in_time && !service->idle_count && service->session_count == max)
		in_time = pthread_cond_timedwait(&service->freed, &service->lock, &end) == 0;
	*ret_is_new = !service->idle_count;
	full = *ret_is_new && service->session_count == max;
	if (!*ret_is_new)
		*ret_session = service->idle[--service->idle_count].session;
	else if (!full)
		service->session_count++;
	cmn_mutex_unlock(&service->lock);
	if (full)
		storage_error_set(error, "all %zu connections wait for the storage", max);
	if (full || !*ret_is_new)
		return !full;
	if (service->backend->open(service->ctx, ret_session, error) == STORAGE_OK)
		return true;
	cmn_mutex_lock(&service->lock);
	leave(service);
	cmn_mutex_unlock(&service->lock);
	return false;
}

static void give_session(struct storage_service *service, void *session)
{
	cmn_mutex_lock(&service->lock);
	service->idle[service->idle_count++] =
		(struct storage_session){ session, cmn_clock_monotonic() };
	(void)pthread_cond_signal(&service->freed);	/* cannot fail */
	cmn_mutex_unlock(&service->lock);
}

/* Closes it, and those that are idle, since what it is connected to is gone. */
static void drop_session(struct storage_service *service, void *session)
{
	service->backend->close(session);
	cmn_mutex_lock(&service->lock);
	leave(service);
	cmn_mutex_unlock(&service->lock);
	close_idle(service, UINT64_MAX);
}

/* ---- pauses ---- */

/* Whether a request may be tried; its end is then to be told to end_try. */
static bool begin_try(struct storage_service *service, struct storage_error *error)
{
	bool allowed = true;

	cmn_mutex_lock(&service->lock);
	if (service->pause && (service->trying || cmn_clock_monotonic() < service->pause_end)) {
		storage_error_set(error, "not tried, since %.200s", service->why.text);
		allowed = false;
	} else if (service->pause) {
		service->trying = true;
	}
	cmn_mutex_unlock(&service->lock);
	return allowed;
}

static void end_try(struct storage_service *service, bool failed, const struct storage_error *why)
{
	uint64_t now = cmn_clock_monotonic(), pause;

	cmn_mutex_lock(&service->lock);
	pause = service->pause;
	if (!failed) {
		service->pause = 0;
		service->trying = false;
	/* Requests that were on their way together fail together, and count once. */
	} else if (service->trying || !pause) {
		pause = pause ? 2 * pause : FIRST_PAUSE_NS;
		service->pause = pause < LAST_PAUSE_NS ? pause : LAST_PAUSE_NS;
		service->pause_end = now + service->pause;
		service->trying = false;
		service->why = *why;
	}
	cmn_mutex_unlock(&service->lock);
}

bool storage_service_is_down(struct storage_service *service, struct storage_error *ret_why)
{
	bool down;

	cmn_mutex_lock(&service->lock);
	down = service->pause != 0;
	if (down)
		*ret_why = service->why;
	cmn_mutex_unlock(&service->lock);
	return down;
}

/* ---- a request ---- */

static enum storage_result try(struct storage_service *service, struct storage_request *request)
{
	uint64_t until = cmn_clock_deadline(service->options->operation_timeout * 1000000);
	enum storage_result result;
	bool is_new;
	void *session;

	/* A session that is not new may have ended since its last use: then once more with a new one. */
	do {
		if (!take_session(service, until, &session, &is_new, &request->error))
			return STORAGE_DOWN;
		if (request->ret_value)
			request->ret_value->bytes.len = 0;
		result = service->backend->perform(session, request);
		if (result >= STORAGE_SPOILT)
			drop_session(service, session);
		else
			give_session(service, session);
	} while (result == STORAGE_LOST && !is_new);
	return result;
}

/* Whatever became of the value, this helper's claim on it is over. */
static void end_claim(struct storage_service *service, struct cmn_view key)
{
	struct storage_request request = {
		.verb = STORAGE_RELEASE, .doing = "release", .key = key, .token = service->token,
	};

	if (atomic_load(&service->claims))
		(void)try(service, &request);	/* else its time ends it */
}

enum storage_result storage_service_do(struct storage_service *service,
				       struct storage_request *request)
{
	char token[STORAGE_TOKEN_SIZE + 24];
	enum storage_result result = STORAGE_ERR;
	bool failed;

	(void)snprintf(token, sizeof(token), "%s", service->token);
	if (request->verb == STORAGE_CLAIM)
		(void)snprintf(token, sizeof(token), "%s-%" PRIuFAST64, service->token,
			       atomic_fetch_add(&service->claims, 1));
	request->token = token;
	atomic_fetch_add(&service->requests, 1);
	if (begin_try(service, &request->error)) {
		result = try(service, request);
		if (request->verb == STORAGE_PUT && result != STORAGE_DOWN)
			end_claim(service, request->key);
		/* A server that hangs up upon one value, as upon one too large for it, takes others. */
		failed = result == STORAGE_DOWN ||
			 (result == STORAGE_LOST && request->verb != STORAGE_PUT);
		end_try(service, failed, &request->error);
		if (result >= STORAGE_SPOILT)
			result = STORAGE_ERR;
	}
	if (result == STORAGE_ERR)
		atomic_fetch_add(&service->errors, 1);
	return result;
}

bool storage_service_describe(struct storage_service *service, unsigned int number,
			      struct storage_error *ret_line)
{
	const struct storage_options *options = service->options;
	struct storage_error why;

	if (number == 0) {
		service->backend->describe(service->ctx, ret_line);
		return true;
	}
	if (number == 1) {
		storage_error_set(ret_line,
				  "%" PRIuFAST64 " requests, %" PRIuFAST64 " errors, %u clients",
				  atomic_load(&service->requests), atomic_load(&service->errors),
				  atomic_load(&service->clients));
		return true;
	}
	if (number == 2) {
		if (storage_service_is_down(service, &why))
			storage_error_set(ret_line, "the storage is down: %.200s", why.text);
		else
			storage_error_set(ret_line, "the storage is up");
		return true;
	}
	for (size_t i = 0; i < options->count; i++) {
		if (!options->attributes[i].known && number-- == 3) {
			storage_error_set(ret_line, "unknown attribute: %s", options->attributes[i].key);
			return true;
		}
	}
	return false;
}
