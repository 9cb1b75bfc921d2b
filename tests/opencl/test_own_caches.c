/* SPDX-License-Identifier: MIT */
/*
 * test_own_caches: with the driver's own cache as it is by default, an entry is
 * the same whether that cache was empty or full, and depends on none of its files.
 */
#include "tests/opencl/driver.h"
#include "tests/support/diff_compare.h"
#include "tests/support/unit.h"

static char where[256];		/* the driver and its version */
static char first[4200], second[4200];	/* cache directories */

/* The driver's own cache is empty again. */
static void forget(void)
{
	CU_ASSERT_EQUAL(system("rm -rf home/.cache"), 0);
}

/* One run with that cache directory; what it added to the counts. */
static struct driver_stats run(const char *cache, const char *group, struct outcome *ret_outcome)
{
	struct driver_stats before, after;

	driver_setenv("CKCACHE_DIR", cache);
	before = driver_stats_in(cache);
	*ret_outcome = GOOD_CLIENT(LAYERED, "differential", "-g", group);
	after = driver_stats_in(cache);
	CU_ASSERT_EQUAL(after.errors, 0);
	after.stores -= before.stores;
	after.hits_disk -= before.hits_disk;
	return after;
}

static void compare(const char *when, const struct outcome *bare, const struct outcome *layered)
{
	char *a = strdup(bare->output), *b = strdup(layered->output);
	struct diff_counts counts;

	CU_ASSERT_FATAL(a && b);
	(void)printf("\n  %s", when);
	counts = diff_compare(where, a, b);
	CU_ASSERT(counts.lines > 0);
	CU_ASSERT_EQUAL(counts.unexplained, 0);
	free(a);
	free(b);
}

static void same_entries(const char *group)
{
	struct outcome version, bare, cold, warm, filled, replayed;
	struct driver_stats stored, hits, late_hits;

	driver_own_caches();
	(void)snprintf(first, sizeof(first), "%s", driver_cache());
	(void)snprintf(second, sizeof(second), "%s-2", driver_cache());
	version = GOOD_CLIENT(BARE, "differential", "-v");
	(void)snprintf(where, sizeof(where), "%s %.*s", driver_selected()->name,
		       (int)strcspn(version.output, "\n"), version.output);
	forget();
	stored = run(first, group, &cold);
	/* From here on the driver's own cache is full. */
	bare = GOOD_CLIENT(BARE, "differential", "-g", group);
	(void)run(second, group, &filled);
	TOOL_SAYS(0, "", "replay");
	forget();
	hits = run(first, group, &warm);
	forget();
	late_hits = run(second, group, &replayed);
	compare("first run, both caches empty", &bare, &cold);
	compare("first run, the driver's own cache full", &bare, &filled);
	compare("later run, the driver's own cache empty again", &bare, &warm);
	compare("the same, after replay", &bare, &replayed);
	(void)printf("\n  %s, %s: %u stored, %u hits later, %u where the driver's own cache was full",
		     where, group, (unsigned int)stored.stores, (unsigned int)hits.hits_disk,
		     (unsigned int)late_hits.hits_disk);
	CU_ASSERT(stored.stores > 0);
	CU_ASSERT(hits.hits_disk >= stored.stores);
	CU_ASSERT_EQUAL(hits.stores, 0);
	CU_ASSERT_EQUAL(late_hits.hits_disk, hits.hits_disk);
}

TEST(entries_of_kernels_know_nothing_of_the_drivers_own_cache) { same_entries("kernels"); }
TEST(entries_of_links_know_nothing_of_the_drivers_own_cache) { same_entries("links"); }
