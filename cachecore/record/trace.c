/* SPDX-License-Identifier: MIT */
/*
 * trace: encodes an event as one line of JSON, opens the file, appends it in one write, closes.
 * The file is one as log_file.h has it.
 */
#include "cachecore/record/trace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/file.h"
#include "common/hash.h"
#include "common/json.h"

/* Options and names are shorter; sources and binaries are not. */
#define MAX_SHOWN_VALUE 512

struct cc_trace {
	char *path;
	const struct cmn_log *log;
	atomic_bool broken;	/* after the first failed write: silent */
};

/* -1 with errno. */
static int open_file(const struct cc_trace *trace, const char **ret_reason)
{
	return cmn_file_open_to_write(AT_FDCWD, trace->path, O_WRONLY | O_APPEND | O_CREAT, 0600,
				      CMN_FILE_TRUSTED, NULL, ret_reason);
}

struct cc_trace *cc_trace_open(const char *path, const struct cmn_log *log)
{
	struct cc_trace *trace = calloc(1, sizeof(*trace));
	const char *reason = cmn_status_string(CMN_ERR_NOMEM);
	int fd = -1;

	if (trace)
		*trace = (struct cc_trace){ .path = strdup(path), .log = log };
	if (trace && trace->path)
		fd = open_file(trace, &reason);
	if (fd < 0) {
		cmn_log_write(log, CMN_LOG_ERROR, "trace file %s: %s", path, reason);
		cc_trace_close(trace);
		return NULL;
	}
	(void)close(fd);	/* nothing was written through it */
	return trace;
}

void cc_trace_close(struct cc_trace *trace)
{
	if (!trace)
		return;
	free(trace->path);
	free(trace);
}

static void append_number(struct cmn_buffer *line, const char *name, uint64_t value)
{
	cmn_buffer_printf(line, ",\"%s\":%llu", name, (unsigned long long)value);
}

static void append_value(struct cmn_buffer *line, struct cmn_view value)
{
	char hex[CMN_HASH_HEX_SIZE];
	struct cmn_hash hash;
	uint64_t number;

	if (cc_key_is_number(value, &number)) {
		cmn_buffer_printf(line, "%llu", (unsigned long long)number);
	} else if (value.len <= MAX_SHOWN_VALUE && cmn_json_is_text(value)) {
		cmn_json_append_string(line, value);
	} else {
		hash = cmn_hash_of(value.data, value.len);
		cmn_hash_hex(&hash, hex);
		cmn_buffer_printf(line, "{\"size\":%zu,\"hash\":\"%s\"}", value.len, hex);
	}
}

/* How many fields before the index-th bear its name: JSON names are to be unique in an object. */
static unsigned int count_earlier(struct cmn_view encoded, unsigned int index,
				  struct cmn_view name)
{
	struct cc_key_field field;
	struct cmn_reader reader;
	unsigned int count = 0;

	if (cc_key_read(encoded, &reader) != CMN_OK)
		return 0;
	for (unsigned int i = 0; i < index && cc_key_next(&reader, &field) == CMN_OK; i++)
		count += cmn_view_equal(field.name, name);
	return count;
}

/* A repeated name gets "#2", "#3", … */
static void append_name(struct cmn_buffer *line, struct cmn_view encoded, unsigned int index,
			struct cmn_view name)
{
	unsigned int earlier = count_earlier(encoded, index, name);

	cmn_json_append_string(line, name);
	if (earlier && !line->failed) {
		line->len--;	/* the quote comes behind it */
		cmn_buffer_printf(line, "#%u\"", earlier + 1);
	}
}

static void append_key(struct cmn_buffer *line, const struct cc_key *key)
{
	struct cmn_view encoded = cc_key_view(key);
	struct cc_key_field field;
	struct cmn_reader reader;

	if (cc_key_read(encoded, &reader) != CMN_OK)
		return;
	cmn_buffer_append_text(line, ",\"key\":{");
	for (unsigned int i = 0; cc_key_next(&reader, &field) == CMN_OK; i++) {
		if (i)
			cmn_buffer_append_u8(line, ',');
		append_name(line, encoded, i, field.name);
		cmn_buffer_append_u8(line, ':');
		append_value(line, field.value);
	}
	cmn_buffer_append_u8(line, '}');
}

/* NULL: it has no line. */
static const char *word_of(const struct cc_event *event)
{
	switch (event->kind) {
	case CC_EVENT_HIT_MEMORY:
		return "hit-memory";
	case CC_EVENT_HIT_DISK:
		return "hit-disk";
	case CC_EVENT_HIT_REMOTE:
		return "hit-remote";
	case CC_EVENT_MISS:
	case CC_EVENT_UNATTENDED:
		return "miss";
	case CC_EVENT_FAILED:
		return event->uncached ? "bypass" : "miss";
	case CC_EVENT_BYPASS:
		return "bypass";
	case CC_EVENT_REFUSED:
		return "error";
	default:
		return NULL;
	}
}

static const char *reason_of(const struct cc_event *event)
{
	if (event->kind == CC_EVENT_REFUSED)
		return "driver-refused";
	if (event->unattended && event->kind != CC_EVENT_BYPASS && !event->uncached)
		return "unattended";
	return event->again ? "remembered-failure" : event->reason;
}

static void encode(struct cmn_buffer *line, const struct cc_event *event)
{
	const char *reason = reason_of(event);

	cmn_buffer_printf(line, "{\"time_ns\":%llu,\"pid\":%ld,\"event\":",
			  (unsigned long long)cmn_clock_realtime(), (long)getpid());
	cmn_json_append_string(line, cmn_view_of(word_of(event)));
	if (reason) {
		cmn_buffer_append_text(line, ",\"reason\":");
		cmn_json_append_string(line, cmn_view_of(reason));
	}
	if (event->kind == CC_EVENT_FAILED) {
		cmn_buffer_append_text(line, ",\"failure\":");
		cmn_json_append_string(line, cmn_view_of(event->detail));
	}
	append_number(line, "lookup_ns", event->lookup_ns);
	append_number(line, "build_ns", event->build_ns);
	append_number(line, "bytes", event->bytes);
	if (event->key)
		append_key(line, event->key);
	cmn_buffer_append_text(line, "}\n");
}

/* One write: the rest after a short one would not be the same line. */
static enum cmn_status write_line(const struct cc_trace *trace, const struct cmn_buffer *line)
{
	enum cmn_status status;
	const char *reason;
	ssize_t put;
	int fd;

	if (line->failed)
		return CMN_ERR_NOMEM;
	fd = open_file(trace, &reason);
	if (fd < 0)
		return cmn_status_from_errno(errno);
	do {
		put = cmn_file_write(fd, line->data, line->len);
	} while (put < 0 && errno == EINTR);
	status = put < 0 ? cmn_status_from_errno(errno) : CMN_OK;
	if (close(fd) < 0 && status == CMN_OK)
		status = cmn_status_from_errno(errno);
	return status == CMN_OK && (size_t)put != line->len ? CMN_ERR_NOSPACE : status;
}

void cc_trace_write(struct cc_trace *trace, const struct cc_event *event)
{
	struct cmn_buffer line = { 0 };
	enum cmn_status status;

	if (!trace || !word_of(event) || atomic_load_explicit(&trace->broken, memory_order_relaxed))
		return;
	encode(&line, event);
	status = write_line(trace, &line);
	cmn_buffer_release(&line);
	if (status != CMN_OK && !atomic_exchange(&trace->broken, true))
		cmn_log_write(trace->log, CMN_LOG_ERROR, "trace: %s; no more is written",
			      cmn_status_string(status));
}
