/* SPDX-License-Identifier: MIT */
/*
 * explain_trace: questions from the lines of a trace (cachecore/record/trace.h). The
 * history knows more of a compile than its line does; where it does not know it
 * at all, the key is made of what the line says: long values by size and hash.
 */
#include "tools/explain/explain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/json_reader.h"

/* Between a line and the same event's time in the history: two readings of one clock. */
#define SAME_MOMENT_NS UINT64_C(20000000)

/* One line, as far as it was understood. */
struct line {
	struct run_history_event event;
	char what[16], reason[64];
	struct cmn_buffer outline;
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
static struct cmn_view plain_name(const struct cmn_buffer *name)
{
	struct cmn_view view = cmn_buffer_view(name);
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

static void add_hashed(struct line *line, struct cmn_view name, struct json_reader *object)
{
	struct json_member member = { 0 };
	struct cmn_hash hash = { { 0 } };
	uint64_t size = 0;
	bool known = false;

	while (json_reader_next(object, &member)) {
		if (member.kind == JSON_NUMBER)
			size = member.number;
		else if (member.kind == JSON_STRING)
			known = parse_hash(cmn_buffer_view(&member.string), &hash);
	}
	json_member_release(&member);
	if (known)
		cc_key_summary_append_hashed(&line->outline, part_of(name), name, size, &hash);
}

static void add_field(struct line *line, struct json_member *member)
{
	struct cmn_view name = plain_name(&member->name);
	struct cmn_buffer number = { 0 };

	if (!name.len || name.len > UINT8_MAX)
		return;
	if (member->kind == JSON_STRING) {
		cc_key_summary_append_value(&line->outline, part_of(name), name,
					cmn_buffer_view(&member->string));
	} else if (member->kind == JSON_NUMBER) {
		cmn_buffer_append_u64(&number, member->number);
		line->outline.failed |= number.failed;
		cc_key_summary_append_value(&line->outline, part_of(name), name,
					cmn_buffer_view(&number));
		cmn_buffer_release(&number);
	} else {
		add_hashed(line, name, &member->object);
	}
}

static void add_key(struct line *line, struct json_reader *object)
{
	struct json_member member = { 0 };

	line->has_key = true;
	while (json_reader_next(object, &member))
		add_field(line, &member);
	json_member_release(&member);
}

static void read_member(struct line *line, struct json_member *member)
{
	struct cmn_view name = cmn_buffer_view(&member->name);

	if (member->kind == JSON_OBJECT && cmn_view_equal(name, cmn_view_of("key")))
		add_key(line, &member->object);
	else if (member->kind == JSON_STRING && cmn_view_equal(name, cmn_view_of("event")))
		(void)snprintf(line->what, sizeof(line->what), "%.*s", (int)member->string.len,
			       (const char *)member->string.data);
	else if (member->kind == JSON_STRING && cmn_view_equal(name, cmn_view_of("reason")))
		(void)snprintf(line->reason, sizeof(line->reason), "%.*s", (int)member->string.len,
			       (const char *)member->string.data);
	else if (member->kind == JSON_NUMBER && cmn_view_equal(name, cmn_view_of("time_ns")))
		line->event.time_ns = member->number;
	else if (member->kind == JSON_NUMBER && cmn_view_equal(name, cmn_view_of("build_ns")))
		line->event.build_ns = member->number;
	else if (member->kind == JSON_NUMBER && cmn_view_equal(name, cmn_view_of("pid")))
		line->event.pid = (uint32_t)member->number;
}

/* The history's own event of that moment; NULL: none. */
static const struct run_history_event *find_in_history(const struct past *past, const struct line *line)
{
	for (size_t i = 0; i < past->event_count; i++) {
		const struct run_history_event *one = &past->events[i];
		uint64_t from = line->event.time_ns < one->time_ns ? line->event.time_ns : one->time_ns;
		uint64_t to = line->event.time_ns < one->time_ns ? one->time_ns : line->event.time_ns;

		if (one->kind == line->event.kind && one->pid == line->event.pid &&
		    to - from < SAME_MOMENT_NS && strcmp(one->reason, line->reason) == 0)
			return one;
	}
	return NULL;
}

/* A question of the line alone: before it, everything counts as there that was stored a moment earlier. */
static bool add_alone(struct explanation *explanation, struct line *line)
{
	struct run_history_event *own = calloc(1, sizeof(*own));
	struct question *question;

	if (!own)
		return false;
	*own = line->event;
	own->program = strdup("");
	own->detail = strdup("");
	own->name = strdup("");
	own->reason = strdup(line->reason);
	own->start_ns = line->event.time_ns - line->event.build_ns;
	question = own->program && own->detail && own->name && own->reason ?
		explain_add(explanation, own) : NULL;
	if (!question) {
		free(own->program);
		free(own->detail);
		free(own->name);
		free(own->reason);
		free(own);
		return false;
	}
	question->own = own;
	question->has_outline = line->has_key;
	question->outline = line->outline;
	line->outline = (struct cmn_buffer){ 0 };
	return true;
}

/* true also for a line that is not asked about, or not understood. */
static bool read_line(struct explanation *explanation, struct cmn_view text)
{
	struct json_reader reader = json_reader_of(text);
	struct json_member member = { 0 };
	struct line line = { 0 };
	const struct run_history_event *known;
	bool done = true;

	while (json_reader_next(&reader, &member))
		read_member(&line, &member);
	json_member_release(&member);
	line.event.kind = strcmp(line.what, "bypass") == 0 ? CC_HISTORY_BYPASS : CC_HISTORY_MISS;
	if (!reader.failed && (strcmp(line.what, "bypass") == 0 || strcmp(line.what, "miss") == 0)) {
		known = find_in_history(&explanation->past, &line);
		done = known ? explain_add(explanation, known) != NULL
			     : add_alone(explanation, &line);
	}
	cmn_buffer_release(&line.outline);
	return done;
}

bool explain_read_trace(struct explanation *explanation, const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	size_t size = 0;
	bool done = true;
	ssize_t len;

	if (!file) {
		tool_complain("%s: %s", path, strerror(errno));
		return false;
	}
	while (done && (len = getline(&text, &size, file)) > 0)
		done = read_line(explanation, (struct cmn_view){ text, (size_t)len });
	if (!done)
		tool_complain("out of memory");
	else if (ferror(file))
		tool_complain("%s: it cannot be read", path);
	done = done && !ferror(file);
	free(text);
	(void)fclose(file);	/* only read */
	return done;
}
