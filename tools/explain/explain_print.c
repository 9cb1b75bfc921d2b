/* SPDX-License-Identifier: MIT */
/* explain_print: a line for each compile and one for all; the same as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "tools/explain/explain.h"
#include "tools/text.h"

/* In one line; --verbose shows all. */
#define MAX_CAUSES 3
#define MAX_VALUE 200
#define NAME_WIDTH 24
#define DEVICE_WIDTH 24

/* What it is called by. */
static void append_name(struct cmn_buffer *text, const struct question *question)
{
	const struct cc_key_summary_field *kind = key_fields_find(&question->fields, "kind");
	const char *leaf = question->event.leaf;

	if (*question->event.name)
		cmn_buffer_append_text(text, question->event.name);
	else if (kind && kind->whole && cmn_view_equal(kind->value, cmn_view_of("link")))
		cmn_buffer_append_text(text, "(a link)");
	else if (leaf[0])
		cmn_buffer_printf(text, "source %.8s", leaf + CMN_HASH_HEX_SIZE);
	else
		cmn_buffer_append_text(text, "(no key)");
}

static void pad(struct cmn_buffer *text, size_t start, size_t width)
{
	while (!text->failed && text->len - start < width)
		cmn_buffer_append_u8(text, ' ');
	cmn_buffer_append_u8(text, ' ');
}

static void append_fields(struct cmn_buffer *text, const struct question *question)
{
	for (size_t i = 0; i < question->diff.count; i++) {
		const struct key_difference *one = &question->diff.all[i];
		const struct cc_key_summary_field *field = one->is ? one->is : one->was;

		cmn_buffer_printf(text, "    %.*s: ", (int)field->name.len,
				  (const char *)field->name.data);
		cause_append_value(text, one->was, MAX_VALUE);
		cmn_buffer_append_text(text, " -> ");
		cause_append_value(text, one->is, MAX_VALUE);
		cmn_buffer_append_u8(text, '\n');
	}
	if (question->has_nearest && question->diff.count)
		cmn_buffer_printf(text, "    nearest: %s\n", question->nearest[0]
				  ? question->nearest : "a key of the history, which is not stored");
	if (question->event.leaf[0])
		cmn_buffer_printf(text, "    entry: %s\n", question->event.leaf);
}

static void append_line(struct cmn_buffer *text, const struct question *question, bool verbose)
{
	const struct causes *causes = &question->causes;
	size_t start = text->len;

	append_name(text, question);
	pad(text, start, NAME_WIDTH);
	start = text->len;
	cmn_buffer_append_text(text, question->device ? question->device : "-");
	pad(text, start, DEVICE_WIDTH);
	if (question->event.kind == CC_HISTORY_BYPASS)
		cmn_buffer_printf(text, "%13s  ", "-");
	else
		cmn_buffer_printf(text, "%10.1f ms  ", (double)question->event.build_ns / 1e6);
	for (size_t i = 0; i < causes->count && (verbose || i < MAX_CAUSES); i++)
		cmn_buffer_printf(text, "%s%s", i ? "; " : "", causes->all[i].text);
	if (!verbose && causes->count > MAX_CAUSES)
		cmn_buffer_printf(text, "; and %zu more", causes->count - MAX_CAUSES);
	cmn_buffer_append_u8(text, '\n');
	if (verbose)
		append_fields(text, question);
}

static bool is_one_run(const struct explanation *explanation)
{
	bool one = explanation->count > 0;

	for (size_t i = 1; i < explanation->count; i++)
		one = one && run_history_same_run(&explanation->questions[0].event,
					   &explanation->questions[i].event);
	return one;
}

static void append_summary(struct cmn_buffer *text, const struct explanation *explanation)
{
	size_t counts[CAUSE_KIND_COUNT] = { 0 };
	const char *between = ": ";
	uint64_t total = 0;

	for (size_t i = 0; i < explanation->count; i++) {
		const struct question *question = &explanation->questions[i];

		total += question->event.build_ns;
		if (question->causes.count)
			counts[question->causes.all[0].kind]++;
	}
	cmn_buffer_printf(text, "%zu compile%s in %.3f s", explanation->count,
			  explanation->count == 1 ? "" : "s", (double)total / 1e9);
	if (is_one_run(explanation) && *explanation->questions[0].event.program)
		cmn_buffer_printf(text, " by %s (process %" PRIu32 ")",
				  explanation->questions[0].event.program,
				  explanation->questions[0].event.pid);
	for (size_t i = 0; i < CAUSE_KIND_COUNT; i++) {
		if (!counts[i])
			continue;
		cmn_buffer_printf(text, "%s%zu %s", between, counts[i],
				  cause_phrase((enum cause_kind)i));
		between = ", ";
	}
	cmn_buffer_append_u8(text, '\n');
}

void explain_print(const struct explanation *explanation, bool verbose, struct cmn_buffer *text)
{
	if (!explanation->count) {
		cmn_buffer_append_text(text, "nothing was compiled, as far as is known\n");
		return;
	}
	for (size_t i = 0; i < explanation->count; i++)
		append_line(text, &explanation->questions[i], verbose);
	append_summary(text, explanation);
}

static void append_string(struct cmn_buffer *text, const char *name, const char *value)
{
	text_append_member(text, name, value && *value ? value : NULL);
}

static void append_json_value(struct cmn_buffer *text, const char *name,
			      const struct cc_key_summary_field *field)
{
	struct cmn_buffer value = { 0 };

	cmn_buffer_printf(text, ", \"%s\": ", name);
	if (!field) {
		cmn_buffer_append_text(text, "null");
		return;
	}
	cause_append_value(&value, field, SIZE_MAX);
	text->failed |= value.failed;
	cmn_json_append_string(text, cmn_buffer_view(&value));
	cmn_buffer_release(&value);
}

static void append_json_differences(struct cmn_buffer *text, const struct question *question)
{
	cmn_buffer_append_text(text, ", \"differences\": [");
	for (size_t i = 0; i < question->diff.count; i++) {
		const struct key_difference *one = &question->diff.all[i];

		cmn_buffer_append_text(text, i ? ", {\"field\": " : "{\"field\": ");
		cmn_json_append_string(text, (one->is ? one->is : one->was)->name);
		append_json_value(text, "was", one->was);
		append_json_value(text, "is", one->is);
		cmn_buffer_append_u8(text, '}');
	}
	cmn_buffer_append_u8(text, ']');
}

static void append_json_question(struct cmn_buffer *text, const struct question *question)
{
	const struct run_history_event *event = &question->event;

	cmn_buffer_printf(text, "{\"time_ns\": %" PRIu64 ", \"pid\": %" PRIu32 ", \"event\": \"%s\"",
			  event->time_ns, event->pid,
			  event->kind == CC_HISTORY_BYPASS ? "bypass" : "miss");
	append_string(text, "program", event->program);
	append_string(text, "reason", event->reason);
	append_string(text, "kernel", event->name);
	append_string(text, "device", question->device);
	if (event->kind == CC_HISTORY_BYPASS)
		cmn_buffer_append_text(text, ", \"compile_ms\": null");
	else
		cmn_buffer_printf(text, ", \"compile_ms\": %.3f", (double)event->build_ns / 1e6);
	append_string(text, "entry", event->leaf);
	append_string(text, "nearest", question->diff.count ? question->nearest : NULL);
	cmn_buffer_append_text(text, ", \"causes\": [");
	for (size_t i = 0; i < question->causes.count; i++) {
		cmn_buffer_printf(text, "%s{\"kind\": \"%s\"", i ? ", " : "",
				  cause_word(question->causes.all[i].kind));
		append_string(text, "text", question->causes.all[i].text);
		cmn_buffer_append_u8(text, '}');
	}
	cmn_buffer_append_u8(text, ']');
	append_json_differences(text, question);
	cmn_buffer_append_u8(text, '}');
}

void explain_print_json(const struct explanation *explanation, struct cmn_buffer *text)
{
	cmn_buffer_append_text(text, "{\"compiles\": [");
	for (size_t i = 0; i < explanation->count; i++) {
		cmn_buffer_append_text(text, i ? ",\n " : "\n ");
		append_json_question(text, &explanation->questions[i]);
	}
	cmn_buffer_append_text(text, explanation->count ? "\n]}\n" : "]}\n");
}
