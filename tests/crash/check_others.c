/* SPDX-License-Identifier: MIT */
/*
 * check_others: statistics, tokens, events, recipes and build locks after a crash. They
 * may lose what they knew; they never know what was not, and go on.
 */
#include <ftw.h>

#include "cachecore/disk/build_lock.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/record/totals.h"
#include "common/file.h"
#include "tests/crash/bench.h"
#include "tests/crash/others.h"
#include "tests/support/posix.h"

static const char *load_spent(const char *root, uint64_t *ret)
{
	struct cc_totals *totals;
	enum cmn_status status = cc_totals_load(root, &totals);

	if (!totals)
		return "memory";
	*ret = totals->counters[CC_COMPILE_NS_SPENT];
	free(totals);
	return status == CMN_OK || status == CMN_MISS ? NULL : "statistics cannot be read";
}

/* Nothing, or some of what was counted: each part once, whichever are lost. */
static bool is_known(const uint64_t *parts, uint64_t sum)
{
	return sum == 0 || (*parts && (is_known(parts + 1, sum) ||
				       (sum >= *parts && is_known(parts + 1, sum - *parts))));
}

static const char *check_stats(const struct bench *bench, const char *root)
{
	const char *failed;
	uint64_t before, after;

	failed = load_spent(root, &before);
	if (failed)
		return failed;
	if (!is_known(bench->parts, before))
		return "statistics have what was never counted";
	/* A log that was in the totals, and has lost its end, may keep what is appended to it from counting. */
	for (uint64_t i = 0; i < 2; i++) {
		if (!others_count(root, i, true))
			return "statistics cannot be written";
		failed = load_spent(root, &after);
		if (failed)
			return failed;
		if (after != before + i)
			return "statistics do not add up";
	}
	return NULL;
}

/* Fewer runs than it takes: whatever is left of them, this one is stored. */
static const char *check_reuse(const char *root)
{
	return others_admit(root, 77) ? NULL : "a build is not stored";
}

/* Some may be lost; none is that was not, and the next one comes behind them. */
static const char *check_events(const char *root)
{
	int before = others_noted(root, 5), after;

	others_note(root, 5);
	after = others_noted(root, 6);
	if (before < 0 || after < 0)
		return "the log has what never happened";
	return after == before + 1 ? NULL : "the log does not go on";
}

/* As replay does: what is damaged is removed. */
static const char *check_recipe(const struct bench *bench, int fd, const char *name)
{
	struct cmn_buffer file = { 0 };
	struct cc_recipe recipe;
	enum cmn_status status = cc_recipes_read(fd, name, &file, &recipe);
	bool known = false;

	for (unsigned int i = 0; i < bench->recipes && status == CMN_OK && !known; i++) {
		struct cmn_buffer right = bench_recipe(i);

		known = cmn_view_equal(cmn_buffer_view(&right), cmn_buffer_view(&file));
		cmn_buffer_release(&right);
	}
	cmn_buffer_release(&file);
	if (status == CMN_OK && !known)
		return "a recipe has other bytes";
	if (status == CMN_OK)
		return NULL;
	if (status != CMN_ERR_CORRUPT)
		return cmn_status_string(status);
	return cc_recipes_remove(fd, name) == CMN_OK ? NULL : "a recipe cannot be removed";
}

static const char *check_found_recipes(const struct bench *bench, int fd)
{
	struct cc_recipes_names names;
	const char *failed = NULL;

	if (cc_recipes_list(fd, &names) != CMN_OK)
		failed = "recipes cannot be listed";
	for (size_t i = 0; i < names.count && !failed; i++) {
		if (cc_recipes_attempts(fd, names.names[i]) > bench->attempts)
			failed = "a recipe has more attempts than were made";
		else
			failed = check_recipe(bench, fd, names.names[i]);
	}
	cc_recipes_names_release(&names);
	return failed;
}

/* Each of them is there after it is put, or in quarantine. */
static const char *check_recipe_put(const char *root, int fd, unsigned int number)
{
	char name[CC_RECIPE_NAME_SIZE], quarantined[sizeof(CC_RECIPES_QUARANTINE) + sizeof(name)];
	struct cmn_buffer right = bench_recipe(number), file = { 0 };
	struct cc_recipe recipe;
	const char *failed = NULL;

	if (cc_recipes_put(root, cmn_buffer_view(&right)) != CMN_OK ||
	    cc_recipe_decode(cmn_buffer_view(&right), &recipe) != CMN_OK)
		failed = "a recipe cannot be put";
	if (!failed) {
		cc_recipe_name(recipe.key, name);
		(void)snprintf(quarantined, sizeof(quarantined), CC_RECIPES_QUARANTINE "/%s", name);
		if (faccessat(fd, quarantined, F_OK, 0) < 0 &&
		    (cc_recipes_read(fd, name, &file, &recipe) != CMN_OK ||
		     !cmn_view_equal(cmn_buffer_view(&right), cmn_buffer_view(&file))))
			failed = "a recipe that was put cannot be read";
	}
	cmn_buffer_release(&file);
	cmn_buffer_release(&right);
	return failed;
}

static unsigned int temporaries;

static int age_temporary(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	const struct timespec old[2] = { { .tv_sec = 1000000000 }, { .tv_sec = 1000000000 } };

	(void)info;
	if (kind == FTW_F && strncmp(path + where->base, CMN_FILE_TEMPORARY_PREFIX,
				     strlen(CMN_FILE_TEMPORARY_PREFIX)) == 0) {
		temporaries++;
		(void)utimensat(AT_FDCWD, path, old, 0);
	}
	return 0;
}

static unsigned int count_temporaries(const char *root)
{
	char path[4400];

	(void)snprintf(path, sizeof(path), "%s/recipes", root);
	temporaries = 0;
	(void)nftw(path, age_temporary, 16, FTW_PHYS);
	return temporaries;
}

/* Putting goes on; what writers left goes when it is old. */
static const char *check_recipe_leftovers(const char *root, unsigned int from)
{
	for (unsigned int i = 0; count_temporaries(root); i++) {
		struct cmn_buffer recipe = bench_recipe(from + i);
		enum cmn_status status = cc_recipes_put(root, cmn_buffer_view(&recipe));

		cmn_buffer_release(&recipe);
		if (status != CMN_OK)
			return "a new recipe cannot be put";
		if (i > 200)
			return "temporaries of recipes stay for ever";
	}
	return NULL;
}

static const char *check_recipes(const struct bench *bench, const char *root)
{
	const char *failed;
	int fd;

	if (cc_recipes_make(root, &fd) != CMN_OK)
		return "there can be no recipes";
	failed = check_found_recipes(bench, fd);
	for (unsigned int i = 0; i < bench->recipes && !failed; i++)
		failed = check_recipe_put(root, fd, i);
	(void)close(fd);
	return failed ? failed : check_recipe_leftovers(root, bench->recipes);
}

static const char *check_builds(const char *root)
{
	struct cc_build_lock *lock = NULL;
	enum cc_build_turn turn;
	struct cc_key key;

	bench_key(&key, 0);
	turn = cc_build_lock_take(root, cc_key_view(&key), 0, &lock);
	cc_build_lock_release(lock);
	cc_key_release(&key);
	return turn == CC_BUILD_OWN ? NULL : "nobody builds, and a build has no lock";
}

const char *bench_check_others(const struct bench *bench, const struct cc_config *config)
{
	const char *failed = NULL;

	if (bench->others & BENCH_STATS)
		failed = check_stats(bench, config->dir);
	if (!failed && bench->others & BENCH_TOKENS)
		failed = check_reuse(config->dir);
	if (!failed && bench->others & BENCH_EVENTS)
		failed = check_events(config->dir);
	if (!failed && bench->others & BENCH_RECIPES)
		failed = check_recipes(bench, config->dir);
	if (!failed && bench->others & BENCH_BUILDS)
		failed = check_builds(config->dir);
	return failed;
}
