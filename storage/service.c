/* SPDX-License-Identifier: MIT */
/* service: one request, from the breaker to the backend. */
#include "storage/service.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"

void storage_service_touch(struct storage_service *service)
{
	atomic_store(&service->last_activity, cmn_clock_monotonic());
}

static enum storage_result try(struct storage_service *service, struct storage_request *request)
{
	uint64_t until = cmn_clock_deadline(service->options->operation_timeout * 1000000);
	enum storage_result result;
	bool is_new;
	void *session;

	/* A session that is not new may have ended since its last use: then once more with a new one. */
	do {
		result = storage_pool_take(&service->pool, until, &session, &is_new, &request->error);
		if (result != STORAGE_OK)
			return STORAGE_DOWN;
		if (request->ret_value)
			request->ret_value->bytes.len = 0;
		result = service->backend->perform(session, request);
		if (result >= STORAGE_SPOILT)
			storage_pool_drop(&service->pool, session);
		else
			storage_pool_give(&service->pool, session);
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

	(void)snprintf(token, sizeof(token), "%s", service->token);
	if (request->verb == STORAGE_CLAIM)
		(void)snprintf(token, sizeof(token), "%s-%" PRIuFAST64, service->token,
			       atomic_fetch_add(&service->claims, 1));
	request->token = token;
	atomic_fetch_add(&service->requests, 1);
	if (storage_breaker_allows(&service->breaker, &request->error)) {
		result = try(service, request);
		if (request->verb == STORAGE_PUT && result != STORAGE_DOWN)
			end_claim(service, request->key);
		/* A server that hangs up upon one value, as upon one too large for it, takes others. */
		if (result == STORAGE_DOWN || (result == STORAGE_LOST && request->verb != STORAGE_PUT))
			storage_breaker_failed(&service->breaker, &request->error);
		else
			storage_breaker_succeeded(&service->breaker);
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
		if (storage_breaker_is_open(&service->breaker, &why))
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
