/* SPDX-License-Identifier: MIT */
/* event: which events have a line at which level, and what it says. */
#include "cachecore/record/event.h"

#include "tests/support/unit.h"

static struct {
	unsigned int count;
	char last[1024];
} said;

static void keep(void *ctx, enum cmn_log_level level, const char *message)
{
	(void)ctx, (void)level;
	said.count++;
	(void)snprintf(said.last, sizeof(said.last), "%s", message);
}

static struct cc_key key;

BEFORE_EACH
{
	memset(&said, 0, sizeof(said));
	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_IMAGE, "source", "kernel void one(void) {}");
}

AFTER_EACH
{
	cc_key_release(&key);
}

/* How many lines each kind has at that level. */
static unsigned int lines_at(enum cmn_log_level level)
{
	const struct cmn_log log = { level, keep, NULL };

	said.count = 0;
	for (unsigned int kind = CC_EVENT_MISS; kind < CC_EVENT_KIND_COUNT; kind++) {
		const struct cc_event event = { .kind = (enum cc_event_kind)kind, .key = &key, .detail = "" };

		cc_event_say(&log, &event);
	}
	return said.count;
}

TEST(builds_are_told_at_info_and_findings_at_debug)
{
	CU_ASSERT_EQUAL(lines_at(CMN_LOG_WARNING), 0);
	CU_ASSERT_EQUAL(lines_at(CMN_LOG_INFO), 4 + 3);
	CU_ASSERT_EQUAL(lines_at(CMN_LOG_DEBUG), 4 + 3 + 7);
}

TEST(each_way_has_its_words)
{
	static const struct {
		struct cc_event event;
		const char *words;
	} rows[] = {
		{ { .kind = CC_EVENT_MISS }, "miss: kernel one, entry " },
		{ { .kind = CC_EVENT_MISS, .build_ns = 2500000 }, ": compiled in 2.5 ms" },
		{ { .kind = CC_EVENT_MISS, .reason = "deferred" }, "; left to ckcache replay" },
		{ { .kind = CC_EVENT_MISS, .reason = "read-only" }, "CKCACHE_READ_ONLY=1" },
		{ { .kind = CC_EVENT_BYPASS, .reason = "date" }, "not cached: kernel one, entry " },
		{ { .kind = CC_EVENT_BYPASS, .reason = "date" }, ": compiled; date" },
		{ { .kind = CC_EVENT_FAILED, .detail = "-11: error: x" }, "did not compile (-11: error: x)" },
		{ { .kind = CC_EVENT_HIT_DISK, .lookup_ns = 1000000 }, "hit on disk: kernel one, entry " },
		{ { .kind = CC_EVENT_HIT_REMOTE, .build_ns = 7000000 }, ": 0.000 ms, saved 7.0 ms" },
		{ { .kind = CC_EVENT_HIT_MEMORY, .again = true }, ": remembered failure: did not compile before: " },
		{ { .kind = CC_EVENT_CHANGED, .reason = "changed", .detail = "/a.h" }, ": header /a.h changed" },
		{ { .kind = CC_EVENT_CHANGED, .reason = "changed", .detail = "$A" }, ": variable $A changed" },
		{ { .kind = CC_EVENT_CHANGED, .reason = "directory", .detail = "/a" }, "differs (was /a)" },
		{ { .kind = CC_EVENT_REMOTE_AWAY, .detail = "no server" }, ": the remote tier was left alone: no server" },
		{ { .kind = CC_EVENT_REMOTE_REFUSED, .detail = "why" }, ": the remote tier had an entry, but why" },
		{ { .kind = CC_EVENT_REFUSED }, ": the driver refused the stored binary" },
		{ { .kind = CC_EVENT_DAMAGED }, ": the stored entry was damaged" },
		{ { .kind = CC_EVENT_DAMAGED, .reason = "access" }, ": others may write to the stored entry" },
		{ { .kind = CC_EVENT_NOT_STORED, .reason = "max_size" }, ": not stored: max_size" },
	};
	const struct cmn_log log = { CMN_LOG_DEBUG, keep, NULL };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cc_event event = rows[i].event;

		event.key = &key;
		cc_event_say(&log, &event);
		CU_ASSERT_PTR_NOT_NULL(strstr(said.last, rows[i].words));
		CU_ASSERT_EQUAL(said.count, i + 1);
	}
}

TEST(without_a_key_there_is_the_sources_name)
{
	const struct cmn_log log = { CMN_LOG_INFO, keep, NULL };
	struct cc_event event = { .kind = CC_EVENT_BYPASS, .reason = "no-memory",
				  .source = cmn_view_of("kernel void two() {}") };

	cc_event_say(&log, &event);
	CU_ASSERT_STRING_EQUAL(said.last, "not cached: kernel two: compiled; no-memory");
	event.source = (struct cmn_view){ 0 };
	cc_event_say(&log, &event);
	CU_ASSERT_STRING_EQUAL(said.last, "not cached: no key: compiled; no-memory");
}
