/* SPDX-License-Identifier: MIT */
/* event: words the lines of CKCACHE_LOG. */
#include "cachecore/record/event.h"

#include <string.h>

#include "cachecore/disk/root.h"
#include "cachecore/kernel_names.h"

#define SHORT_HASH 8		/* digits, as ckcache list has them */
#define MAX_NAME 64
#define MS 1e6

/* "kernel NAME, entry 9ba01f30/349ce1c0/4f2f8709/7ba0ccb1", as far as it is known. */
static void append_what(struct cmn_buffer *text, const struct cc_key *key, struct cmn_view source)
{
	bool has_key = key && cc_key_status(key) == CMN_OK;
	struct cc_kernel_names names = cc_kernel_names_of(source);
	struct cmn_view name = has_key ? cc_kernel_names_of_key(cc_key_view(key)) :
					 cc_kernel_names_next(&names);
	bool is_link = has_key && cmn_view_equal(cc_key_find(cc_key_view(key), "kind", 0),
						 cmn_view_of("link"));
	char path[CC_ENTRY_DIR_PATH_SIZE];

	if (name.len) {
		cmn_buffer_append_text(text, "kernel ");
		cmn_buffer_append(text, name.data, name.len < MAX_NAME ? name.len : MAX_NAME);
	} else if (is_link) {
		name = cmn_view_of("a link");
		cmn_buffer_append_text(text, "a link");
	}
	if (!has_key) {
		cmn_buffer_append_text(text, name.len ? "" : "no key");
		return;
	}
	cc_entry_dir_path_of(key, path);
	cmn_buffer_append_text(text, name.len ? ", entry " : "entry ");
	for (size_t i = 0; i < CC_PART_COUNT; i++)
		cmn_buffer_printf(text, "%s%.*s", i ? "/" : "", SHORT_HASH, path + i * CMN_HASH_HEX_SIZE);
}

static void append_hit(struct cmn_buffer *text, const struct cc_event *event)
{
	const char *place = event->kind == CC_EVENT_HIT_MEMORY ? "in memory" :
			    event->kind == CC_EVENT_HIT_DISK ? "on disk" : "in the remote tier";

	cmn_buffer_printf(text, "hit %s: ", place);
	append_what(text, event->key, event->source);
	cmn_buffer_printf(text, event->again ? ": remembered failure: did not compile before: %.3f ms, saved %.1f ms" :
			  ": %.3f ms, saved %.1f ms", (double)event->lookup_ns / MS, (double)event->build_ns / MS);
}

/* Of a miss, for people: what the event has as a word. */
static const char *sentence_of(const char *reason)
{
	static const char *const rows[][2] = {
		{ "read-only", "nothing is stored: CKCACHE_READ_ONLY=1" },
		{ "deferred", "left to ckcache replay" },
	};

	for (size_t i = 0; reason && i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (strcmp(rows[i][0], reason) == 0)
			return rows[i][1];
	}
	return reason && *reason ? reason : NULL;
}

static void append_build(struct cmn_buffer *text, const struct cc_event *event)
{
	bool failed = event->kind == CC_EVENT_FAILED;
	bool missed = event->kind == CC_EVENT_MISS || event->kind == CC_EVENT_UNATTENDED;
	const char *reason = missed ? sentence_of(event->reason) : event->reason;

	cmn_buffer_append_text(text, failed ? "failed: " : missed ? "miss: " : "not cached: ");
	append_what(text, event->key, event->source);
	if (failed)
		cmn_buffer_printf(text, ": did not compile (%s)", event->detail);
	else
		cmn_buffer_append_text(text, ": compiled");
	if (event->build_ns)
		cmn_buffer_printf(text, " in %.1f ms", (double)event->build_ns / MS);
	if (reason && !failed)
		cmn_buffer_printf(text, "; %s", reason);
}

/* What kept a look-up from being a hit, or a result from being stored. */
static void append_finding(struct cmn_buffer *text, const struct cc_event *event)
{
	const char *reason = event->reason ? event->reason : "", *detail = event->detail ? event->detail : "";

	append_what(text, event->key, event->source);
	if (event->kind == CC_EVENT_REFUSED)
		cmn_buffer_append_text(text, ": the driver refused the stored binary");
	else if (event->kind == CC_EVENT_DAMAGED)
		cmn_buffer_append_text(text, strcmp(reason, "access") == 0 ?
				       ": others may write to the stored entry, or it cannot be read" :
				       ": the stored entry was damaged");
	else if (event->kind == CC_EVENT_CHANGED && strcmp(reason, "directory") == 0)
		cmn_buffer_printf(text, ": the working directory differs (was %s)", detail);
	else if (event->kind == CC_EVENT_CHANGED && strcmp(reason, "include-path") == 0)
		cmn_buffer_printf(text, ": the include path differs, and the result may name it (was %s)", detail);
	else if (event->kind == CC_EVENT_CHANGED)
		cmn_buffer_printf(text, detail[0] == '$' ? ": variable %s %s" : ": header %s %s", detail, reason);
	else if (event->kind == CC_EVENT_REMOTE_REFUSED)
		cmn_buffer_printf(text, ": the remote tier had an entry, but %s", detail);
	else if (event->kind == CC_EVENT_REMOTE_AWAY)
		cmn_buffer_printf(text, ": the remote tier was left alone: %s", detail);
	else if (event->kind == CC_EVENT_NOT_STORED)
		cmn_buffer_printf(text, ": not stored: %s", reason);
}

void cc_event_say(const struct cmn_log *log, const struct cc_event *event)
{
	bool build = event->kind == CC_EVENT_MISS || event->kind == CC_EVENT_UNATTENDED ||
		     event->kind == CC_EVENT_BYPASS || event->kind == CC_EVENT_FAILED;
	enum cmn_log_level level = build || cc_event_is_hit(event->kind) ? CMN_LOG_INFO : CMN_LOG_DEBUG;
	struct cmn_buffer text = { 0 };

	/* Of these another line speaks. */
	if (!log || log->level < level || event->kind == CC_EVENT_STORED || event->kind == CC_EVENT_ERROR ||
	    event->kind == CC_EVENT_REMOTE)
		return;
	if (cc_event_is_hit(event->kind))
		append_hit(&text, event);
	else if (build)
		append_build(&text, event);
	else
		append_finding(&text, event);
	cmn_buffer_append_u8(&text, '\0');
	if (!text.failed)
		cmn_log_write(log, level, "%s", (const char *)text.data);
	cmn_buffer_release(&text);
}
