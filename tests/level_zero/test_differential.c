/* SPDX-License-Identifier: MIT */
/*
 * test_differential: what `differential` prints on the real loader and driver
 * without anything, with the slot and no plugin, with the plugin on an empty
 * cache and on the filled one, line by line. Each difference is printed; one that
 * diff_explained does not have is a failure, and so is a warm run that stores
 * anything.
 *   test_differential PRODUCT
 */
#include <inttypes.h>

#include "tests/level_zero/intel.h"
#include "tests/support/diff_compare.h"
#include "tests/support/unit.h"

/* Lines that a product's whole run has at least: there are 6,900 to 8,100. */
enum { LEAST_LINES = 6000, LEAST_SUBJECTS = 37, LEAST_HITS = 60, SKIPPED = 77 };

/* The driver compiles without hardware, as the product; the user's environment stays outside. */
#define DRIVER "env -i PATH=\"$PATH\" " INTEL_WITHOUT_HARDWARE "%s"
#define SHIM "LD_PRELOAD='" SLOT_DIRECTORY "/libckcache_preload.so'"
/* The driver's own is on, as by default. */
#define OWN_CACHE "NEO_CACHE_PERSISTENT=1 NEO_CACHE_DIR=\"$(mkdir -p ../own && cd ../own && pwd)\""
#define PLUGIN SHIM " ZE_ENABLE_LAYERS='" PLUGIN_LIBRARY "' CKCACHE_DIR=\"$PWD/../cache\" " OWN_CACHE

static const char *product = "tgllp";
/* Product and version ("tgllp 1.3.24595"): what explained differences name. */
static char where[128];

/* Starts it in a directory of its own below unit_dir, where the driver writes files too. */
static FILE *start(const char *name, const char *variables)
{
	char command[8192];
	FILE *running;
	int len;

	len = snprintf(command, sizeof(command),
		       "mkdir %s && cd %s && " DRIVER " %s timeout -k 5 700 '%s'"
		       " >output 2>errors </dev/null",
		       name, name, product, variables, DIFFERENTIAL_PROGRAM);
	CU_ASSERT_FATAL(len > 0 && (size_t)len < sizeof(command));
	running = popen(command, "r");
	CU_ASSERT_FATAL(running != NULL);
	return running;
}

static void run(const char *name, const char *variables)
{
	CU_ASSERT_EQUAL(pclose(start(name, variables)), 0);
}

/* Of the file's whole text, heap. */
static char *text_of(const char *directory, const char *name)
{
	char path[64], *text = NULL;
	size_t size = 0;
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "r");
	CU_ASSERT_FATAL(file != NULL);
	CU_ASSERT_FATAL(getdelim(&text, &size, '\0', file) > 0);
	(void)fclose(file);	/* only read */
	return text;
}

/* Of a run without anything: NULL until the first test has made one. */
static char *bare_output;

static void compare_runs(const char *name)
{
	char *bare = strdup(bare_output), *layered = text_of(name, "output");
	struct diff_counts counts;

	CU_ASSERT_FATAL(bare != NULL);
	counts = diff_compare(where, bare, layered);
	(void)printf("\n  %s, %s: %u lines of %u subjects compared, %u differences", where, name,
		     counts.lines, counts.subjects, counts.differences);
	CU_ASSERT(counts.lines >= LEAST_LINES);
	CU_ASSERT(counts.subjects >= LEAST_SUBJECTS);
	CU_ASSERT_EQUAL(counts.unexplained, 0);
	free(bare);
	free(layered);
}

struct stats {
	uint64_t stores, misses, hits_disk, hits_memory, errors;
};

/* The number after "name" in the text; 0 if there is none. */
static uint64_t number_of(const char *text, const char *name)
{
	char quoted[32];
	const char *at;

	(void)snprintf(quoted, sizeof(quoted), "\"%s\"", name);
	at = strstr(text, quoted);
	if (!at)
		return 0;
	at += strlen(quoted);
	return strtoull(at + strspn(at, " :\t\n"), NULL, 10);
}

static struct stats read_stats(void)
{
	struct stats stats;
	char *text;

	CU_ASSERT_EQUAL_FATAL(system("CKCACHE_DIR=\"$PWD/cache\" '" CKCACHE_PROGRAM
				     "' stats --json >stats"), 0);
	text = text_of(".", "stats");
	stats = (struct stats){
		.stores = number_of(text, "stores"),
		.misses = number_of(text, "misses"),
		.hits_disk = number_of(text, "hits_disk"),
		.hits_memory = number_of(text, "hits_memory"),
		.errors = number_of(text, "errors"),
	};
	free(text);
	(void)printf("\n  stores %" PRIu64 " misses %" PRIu64 " hits of disk %" PRIu64
		     " of memory %" PRIu64, stats.stores, stats.misses, stats.hits_disk,
		     stats.hits_memory);
	return stats;
}

/* All of what the cold run could store is a hit in the warm one. */
static void check_hits(const struct stats *cold, const struct stats *warm)
{
	CU_ASSERT_EQUAL(cold->errors, 0);
	CU_ASSERT_EQUAL(warm->errors, 0);
	CU_ASSERT_EQUAL(warm->stores, cold->stores);
	CU_ASSERT_EQUAL(warm->misses - cold->misses, cold->misses - cold->stores);
	CU_ASSERT(warm->hits_disk - cold->hits_disk >= LEAST_HITS);
}

TEST(the_slot_alone_changes_no_answer)
{
	FILE *bare = start("bare", "");

	run("slot", SHIM " ZE_ENABLE_LAYERS=:");
	CU_ASSERT_EQUAL(pclose(bare), 0);
	bare_output = text_of("bare", "output");
	compare_runs("slot");
}

TEST(a_miss_and_a_hit_answer_as_the_driver_does)
{
	struct stats cold, warm;

	CU_ASSERT_FATAL(bare_output != NULL);
	run("cold", PLUGIN);
	cold = read_stats();
	run("warm", PLUGIN);
	warm = read_stats();
	compare_runs("cold");
	compare_runs("warm");
	check_hits(&cold, &warm);
	free(bare_output);
}

/* false: there is no driver, or none that has a version. */
static bool read_version(void)
{
	char command[4096], version[64] = "";
	FILE *running;

	(void)snprintf(command, sizeof(command),
		       "cd \"${TMPDIR:-/tmp}\" && d=$(mktemp -d ckcache-test-XXXXXX) && cd $d && "
		       DRIVER " timeout 60 '" DIFFERENTIAL_PROGRAM "' -v 2>/dev/null; "
		       "cd .. && rm -rf $d", product);
	running = popen(command, "r");
	if (!running)
		return false;
	if (!fgets(version, sizeof(version), running))
		version[0] = '\0';
	(void)pclose(running);	/* what it printed tells */
	version[strcspn(version, "\n")] = '\0';
	(void)snprintf(where, sizeof(where), "%s %s", product, version);
	return version[0] >= '0' && version[0] <= '9';
}

/* An older driver takes a name that it does not know for another product. */
static bool knows_product(void)
{
	return strcmp(product, "bmg") != 0 || !strstr(where, " 1.3.2");
}

int main(int argc, char **argv)
{
	if (argc > 1)
		product = argv[1];
	if ((!read_version() && !unit_driver_required("ze_intel")) || !knows_product()) {
		puts("SKIPPED: no Level Zero driver for it");
		return SKIPPED;
	}
	return unit_run(NULL);
}
