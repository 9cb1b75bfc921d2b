/* SPDX-License-Identifier: MIT */
/*
 * explain_trace: questions from the lines of a trace (cachecore/record/trace.h). The
 * history knows more of a compile than its line does; where it does not know it
 * at all, the key is made of what the line says: long values by size and hash.
 */
#include "tools/explain/explain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/json_output.h"
#include "tools/memory.h"

/* Between a line and the same event's time in the history: two readings of one clock. */
#define SAME_MOMENT_NS UINT64_C(20000000)

/* One line, as far as it was understood. */
struct line {
	struct run_history_event event;
	char what[16], reason[64], failure[512];
	struct cmn_buffer summary;
	bool has_key;
};

/* Fields are told by their names: a line does not say of which part they are. */
static enum cc_part part_of(struct cmn_view name)
{
	static const struct {
		const char *prefix;
		enum cc_part part;
	} rows[] = {
		{ "device.", CC_PART_DEVICE }, { "platform.", CC_PART_DEVICE },
		{ "driver.", CC_PART_DEVICE }, { "library.", CC_PART_DEVICE }, { "layer.", CC_PART_DEVICE },
		{ "processor.", CC_PART_DEVICE }, { "api", CC_PART_DEVICE },
		{ "kind", CC_PART_IMAGE }, { "source", CC_PART_IMAGE },
		{ "header.", CC_PART_IMAGE }, { "constant", CC_PART_CONSTANTS },
	};

	if (cmn_view_equal(name, cmn_view_of("input")))
		return CC_PART_IMAGE;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = strlen(rows[i].prefix);

		if (name.len >= len && memcmp(name.data, rows[i].prefix, len) == 0)
			return rows[i].part;
	}
	return CC_PART_OPTIONS;
}

/* Without the "#2" of a second field of that name. */
static struct cmn_view plain_name(const char *name)
{
	struct cmn_view view = cmn_view_of(name);
	const char *mark = memrchr(view.data, '#', view.len);

	if (mark && strspn(mark + 1, "0123456789") >= view.len - (size_t)(mark + 1 - (const char *)view.data))
		view.len = (size_t)(mark - (const char *)view.data);
	return view;
}

static bool parse_hash(struct cmn_view hex, struct cmn_hash *ret)
{
	const char *text = hex.data;

	if (hex.len != CMN_HASH_HEX_SIZE - 1)
		return false;
	for (size_t i = 0; i < sizeof(ret->bytes); i++) {
		char digits[3] = { text[2 * i], text[2 * i + 1], '\0' };
		char *end;

		ret->bytes[i] = (uint8_t)strtoul(digits, &end, 16);
		if (*end)
			return false;
	}
	return true;
}

static void add_hashed(struct line *line, struct cmn_view name, struct json_object *object)
{
	struct cmn_hash hash = { { 0 } };
	uint64_t size = 0;
	bool known = false;

	json_object_object_foreach(object, member, value) {
		(void)member;
		if (json_object_is_type(value, json_type_int))
			size = json_object_get_uint64(value);
		else if (json_object_is_type(value, json_type_string))
			known = parse_hash(json_text(value), &hash);
	}
	if (known)
		cc_key_summary_append_hashed(&line->summary, part_of(name), name, size, &hash);
}

static void add_field(struct line *line, struct cmn_view name, struct json_object *value)
{
	struct cmn_buffer number = { 0 };

	if (!name.len || name.len > UINT8_MAX)
		return;
	if (json_object_is_type(value, json_type_string)) {
		cc_key_summary_append_value(&line->summary, part_of(name), name, json_text(value));
	} else if (json_object_is_type(value, json_type_int)) {
		cmn_buffer_append_u64(&number, json_object_get_uint64(value));
		cc_key_summary_append_value(&line->summary, part_of(name), name,
					    cmn_buffer_view(&number));
		cmn_buffer_release(&number);
	} else if (json_object_is_type(value, json_type_object)) {
		add_hashed(line, name, value);
	}
}

static uint64_t number_of(struct json_object *object, const char *name)
{
	return json_object_get_uint64(json_object_object_get(object, name));
}

static const char *text_of(struct json_object *object, const char *name)
{
	return json_text(json_object_object_get(object, name)).data;
}

static void read_members(struct line *line, struct json_object *object)
{
	struct json_object *key = json_object_object_get(object, "key");

	(void)snprintf(line->what, sizeof(line->what), "%s", text_of(object, "event"));
	(void)snprintf(line->reason, sizeof(line->reason), "%s", text_of(object, "reason"));
	(void)snprintf(line->failure, sizeof(line->failure), "%s", text_of(object, "failure"));
	line->event.time_ns = number_of(object, "time_ns");
	line->event.build_ns = number_of(object, "build_ns");
	line->event.pid = (uint32_t)number_of(object, "pid");
	line->has_key = json_object_is_type(key, json_type_object);
	if (!line->has_key)
		return;
	json_object_object_foreach(key, name, value)
		add_field(line, plain_name(name), value);
}

/* The history's own event of that moment; NULL: none. */
static const struct run_history_event *find_in_history(const struct run_history *history,
						       const struct line *line)
{
	for (size_t i = 0; i < history->event_count; i++) {
		const struct run_history_event *one = &history->events[i];
		uint64_t from = line->event.time_ns < one->time_ns ? line->event.time_ns : one->time_ns;
		uint64_t to = line->event.time_ns < one->time_ns ? one->time_ns : line->event.time_ns;

		if (one->kind == line->event.kind && one->pid == line->event.pid &&
		    to - from < SAME_MOMENT_NS &&
		    (one->kind == CC_EVENT_UNATTENDED || one->kind == CC_EVENT_FAILED ||
		     strcmp(one->reason, line->reason) == 0))
			return one;
	}
	return NULL;
}

/* A question of the line alone: before it, everything counts as there that was stored a moment earlier. */
static void add_alone(struct explanation *explanation, struct line *line)
{
	struct question *question = explain_add(explanation, &line->event);
	struct run_history_event *event = &question->event;

	event->program = event->name = memory_copy("");
	event->detail = memory_copy(line->failure);
	event->reason = memory_copy(line->reason);
	event->start_ns = line->event.time_ns - line->event.build_ns;
	question->of_trace = true;
	question->has_summary = line->has_key;
	question->summary = line->summary;
	line->summary = (struct cmn_buffer){ 0 };
}

static enum cc_event_kind kind_of(const struct line *line)
{
	if (*line->failure)
		return CC_EVENT_FAILED;
	if (strcmp(line->what, "bypass") == 0)
		return CC_EVENT_BYPASS;
	return strcmp(line->reason, "unattended") == 0 ? CC_EVENT_UNATTENDED : CC_EVENT_MISS;
}

/* Of the process that had one last. */
static void note_hit(struct explanation *explanation, const struct line *line)
{
	struct run_history_run *run = &explanation->idle_run;

	run->pid = line->event.pid;
	run->time_ns = line->event.time_ns;
	run->hits++;
}

/* What is not asked about, or not understood, is passed over. */
static void read_line(struct explanation *explanation, const char *text)
{
	struct json_object *object = json_tokener_parse(text);
	struct line line = { 0 };
	const struct run_history_event *known;

	if (json_object_is_type(object, json_type_object))
		read_members(&line, object);
	(void)json_object_put(object);
	line.event.kind = kind_of(&line);
	line.event.unattended = strcmp(line.reason, "unattended") == 0;
	if (strcmp(line.what, "bypass") == 0 || strcmp(line.what, "miss") == 0) {
		known = find_in_history(explanation->history, &line);
		if (known)
			(void)explain_add(explanation, known);
		else
			add_alone(explanation, &line);
	}
	if (strncmp(line.what, "hit-", 4) == 0)
		note_hit(explanation, &line);
	cmn_buffer_release(&line.summary);
}

bool explain_read_trace(struct explanation *explanation, const char *path)
{
	/* Not waiting for a FIFO's writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	char *text = NULL;
	size_t size = 0;
	bool done;

	if (!file) {
		tool_complain("%s: %s", path, strerror(errno));
		if (fd >= 0)
			(void)close(fd);	/* read only */
		return false;
	}
	while (getline(&text, &size, file) > 0)
		read_line(explanation, text);
	done = !ferror(file);
	if (!done)
		tool_complain("%s: it cannot be read", path);
	free(text);
	(void)fclose(file);	/* only read */
	return done;
}
