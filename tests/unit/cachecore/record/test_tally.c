/* SPDX-License-Identifier: MIT */
/* tally: when the lines of the beginning and the end come, and what a build's line says. */
#include "cachecore/record/tally.h"

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

static struct cmn_log wanted;
static struct cc_tally tally;
static struct cc_key key;

static void begin(enum cmn_log_level level)
{
	wanted = (struct cmn_log){ level, keep, NULL };
	memset(&tally, 0, sizeof(tally));
	memset(&said, 0, sizeof(said));
	cc_tally_begin(&tally, &wanted);
	cc_key_init(&key);
	cc_key_add_text(&key, CC_PART_IMAGE, "source", "kernel void one(void) {}");
}

static void end(void)
{
	cc_tally_release(&tally);
	cc_key_release(&key);
}

TEST(says_nothing_by_default)
{
	const struct cc_history_note miss = { .kind = CC_HISTORY_MISS, .key = &key };

	begin(CMN_LOG_WARNING);
	CU_ASSERT_FALSE(cc_tally_announces(&tally, "API"));
	cc_tally_build(&tally, &miss);
	cc_tally_say_end(&tally);
	CU_ASSERT_EQUAL(said.count, 0);
	end();
}

TEST(says_when_it_begins_and_ends_once_each)
{
	const struct cc_history_note miss = { .kind = CC_HISTORY_MISS, .key = &key, .build_ns = 1500000000 };

	begin(CMN_LOG_INFO);
	cc_tally_say_end(&tally);
	CU_ASSERT_EQUAL(said.count, 0);	/* nobody was told of it */
	CU_ASSERT(cc_tally_announces(&tally, "API"));
	CU_ASSERT_FALSE(cc_tally_announces(&tally, "API"));
	cc_tally_say_begin(&tally, &(struct cc_tally_root){ "/dir", 3 << 20, 213, false });
	CU_ASSERT_PTR_NOT_NULL(strstr(said.last, " API, /dir, 213 entries, 3.0 MiB"));
	cc_tally_hit(&tally, CC_TALLY_DISK, &key, 1000, 250000000, false);
	cc_tally_build(&tally, &miss);
	CU_ASSERT_EQUAL(said.count, 1);
	cc_tally_say_end(&tally);
	cc_tally_say_end(&tally);
	CU_ASSERT_EQUAL(said.count, 2);
	CU_ASSERT_STRING_EQUAL(said.last, "API: 1 hits (0 memory, 1 disk), 1 misses, 1.500 s of "
			       "compilation, 0.250 s saved");
	end();
}

TEST(a_child_tells_its_own_alone)
{
	begin(CMN_LOG_INFO);
	CU_ASSERT(cc_tally_announces(&tally, "API"));
	cc_tally_hit(&tally, CC_TALLY_DISK, &key, 0, 0, false);
	cc_tally_fork_child(&tally);
	cc_tally_say_end(&tally);
	CU_ASSERT_EQUAL(said.count, 0);
	cc_tally_hit(&tally, CC_TALLY_MEMORY, &key, 0, 0, false);
	cc_tally_say_end(&tally);
	CU_ASSERT_EQUAL(said.count, 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(said.last, "1 hits (1 memory, 0 disk)"));
	end();
}

/* Nobody told the cache of it, as after a bare clone. */
TEST(a_child_that_the_cache_does_not_know_says_nothing)
{
	pid_t pid;

	begin(CMN_LOG_INFO);
	CU_ASSERT(cc_tally_announces(&tally, "API"));
	cc_tally_hit(&tally, CC_TALLY_DISK, &key, 0, 0, false);
	pid = fork();
	if (pid == 0) {
		cc_tally_say_end(&tally);
		_exit(said.count != 0);
	}
	CU_ASSERT(unit_ended_well(pid));
	end();
}

static void find(enum cc_history_kind kind, const char *reason, const char *detail, const struct cc_key *of)
{
	const struct cc_history_note note = { .kind = kind, .key = of, .reason = reason, .detail = detail };

	cc_tally_find(&tally, &note);
}

TEST(a_builds_line_has_what_its_look_up_came_across)
{
	const struct cc_history_note miss = { .kind = CC_HISTORY_MISS, .key = &key, .build_ns = 2500000 };

	begin(CMN_LOG_DEBUG);
	find(CC_HISTORY_CHANGED, "changed", "/a.h", &key);
	find(CC_HISTORY_REMOTE_AWAY, NULL, "no server", &key);
	CU_ASSERT_EQUAL(said.count, 0);
	cc_tally_build(&tally, &miss);
	CU_ASSERT_EQUAL(said.count, 1);
	CU_ASSERT_PTR_EQUAL(strstr(said.last, "miss: kernel one, entry "), said.last);
	CU_ASSERT_PTR_NOT_NULL(strstr(said.last, ": compiled in 2.5 ms; the remote tier was left alone: "
				      "no server; header /a.h changed"));
	/* It was that build's. */
	cc_tally_build(&tally, &miss);
	CU_ASSERT_PTR_NOT_NULL(strstr(said.last, "; not in the cache"));
	end();
}

TEST(each_way_has_its_words)
{
	static const struct {
		struct cc_history_note note;
		const char *words;
	} rows[] = {
		{ { .kind = CC_HISTORY_MISS, .reason = "deferred" }, "; left to ckcache replay" },
		{ { .kind = CC_HISTORY_MISS, .reason = "read-only" }, "CKCACHE_READ_ONLY=1" },
		{ { .kind = CC_HISTORY_BYPASS, .reason = "date" }, "not cached: kernel one, entry " },
		{ { .kind = CC_HISTORY_BYPASS, .reason = "date" }, ": compiled; date" },
		{ { .kind = CC_HISTORY_FAILED, .detail = "-11: error: x" }, "did not compile (-11: error: x)" },
	};

	begin(CMN_LOG_DEBUG);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct cc_history_note note = rows[i].note;

		note.key = &key;
		cc_tally_build(&tally, &note);
		CU_ASSERT_PTR_NOT_NULL(strstr(said.last, rows[i].words));
	}
	find(CC_HISTORY_REFUSED, NULL, NULL, &key);
	cc_tally_build(&tally, &(struct cc_history_note){ .kind = CC_HISTORY_MISS, .key = &key });
	CU_ASSERT_PTR_NOT_NULL(strstr(said.last, "; the driver refused the stored binary"));
	find(CC_HISTORY_DAMAGED, NULL, NULL, &key);
	cc_tally_hit(&tally, CC_TALLY_DISK, &key, 1000000, 0, false);
	CU_ASSERT_PTR_EQUAL(strstr(said.last, "hit on disk: kernel one, entry "), said.last);
	/* Without a key there is the source's name. */
	cc_tally_build(&tally, &(struct cc_history_note){ .kind = CC_HISTORY_BYPASS, .reason = "no-memory",
							  .source = cmn_view_of("kernel void two() {}") });
	CU_ASSERT_STRING_EQUAL(said.last, "not cached: kernel two: compiled; no-memory");
	end();
}

TEST(what_waits_is_bounded)
{
	struct cc_key others[100];

	begin(CMN_LOG_DEBUG);
	for (int i = 0; i < 100; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "%d", i);
		cc_key_init(&others[i]);
		cc_key_add_text(&others[i], CC_PART_IMAGE, "source", name);
		find(CC_HISTORY_DAMAGED, NULL, NULL, &others[i]);
	}
	for (int i = 0; i < 100; i++) {
		cc_tally_build(&tally, &(struct cc_history_note){ .kind = CC_HISTORY_MISS, .key = &others[i] });
		cc_key_release(&others[i]);
	}
	CU_ASSERT_EQUAL(said.count, 100);
	end();
}
