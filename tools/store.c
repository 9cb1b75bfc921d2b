/* SPDX-License-Identifier: MIT */
/* store: the verbs that work on the entries as a whole: verify, prune, clear. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cachecore/account.h"
#include "cachecore/leaf.h"
#include "cachecore/number_file.h"
#include "cachecore/random_token.h"
#include "cachecore/recipes.h"
#include "cachecore/root.h"
#include "cachecore/tree.h"
#include "tools/tool.h"

#define ACCOUNT_TRIES 5	/* others store all the time */
#define TEXT_AT_ONCE 65536

static const struct option dir_only[] = { TOOL_DIR_OPTION, { 0 } };

/* The exit code, with a complaint where there is something to complain about. */
static int finish(const struct tool_cache *cache, enum cmn_status status)
{
	if (status == CMN_OK)
		return TOOL_OK;
	tool_complain("%s: %s", cache->config.dir, cmn_status_string(status));
	return TOOL_FAILED;
}

struct verification {
	struct cc_store *store;
	bool repair;
	struct cmn_buffer text;
	int printed;	/* exit code of what is printed so far */
	unsigned long long sound, foreign, damaged, removed;
};

/* As it comes: there may be many. */
static void print_some(struct verification *verification, size_t more_than)
{
	int printed;

	if (verification->text.len <= more_than && !verification->text.failed)
		return;
	printed = tool_print(&verification->text);
	if (verification->printed == TOOL_OK)
		verification->printed = printed;
}

static bool verify_item(void *ctx, const struct cc_store_item *item)
{
	struct verification *verification = ctx;
	enum cmn_status status = item->status;

	/* While it was read it may have been replaced, or gone as a whole. */
	if (status != CMN_OK && status != CMN_ERR_VERSION)
		status = cc_store_judge(verification->store, item->place);
	if (status == CMN_MISS)
		return true;
	if (status == CMN_OK) {
		verification->sound++;
		return true;
	}
	cmn_buffer_printf(&verification->text, "%s: %s\n", item->path, cmn_status_string(status));
	print_some(verification, TEXT_AT_ONCE);
	if (status == CMN_ERR_VERSION) {
		verification->foreign++;
		return true;
	}
	verification->damaged++;
	if (!verification->repair)
		return true;
	status = cc_store_repair(verification->store, item->place);
	if (status == CMN_OK || status == CMN_MISS)
		verification->removed++;
	else
		tool_complain("%s: cannot be removed: %s", item->path, cmn_status_string(status));
	return true;
}

static const char *number_text(bool known, uint64_t number, char ret[24])
{
	(void)snprintf(ret, 24, known ? "%" PRIu64 : "nothing", number);	/* it fits */
	return ret;
}

/*
 * Compares cache_size.txt with what is there, and corrects it. Who stores
 * meanwhile changes both: only a difference that is the same before and after
 * is one.
 */
static enum cmn_status verify_account(int root_fd, bool read_only, struct cmn_buffer *text)
{
	uint64_t before = 0, after = 0, counted = 0, total;
	bool was_known, known;
	enum cmn_status status;
	char said[24];

	for (int i = 0; i < ACCOUNT_TRIES; i++) {
		was_known = cc_number_file_read(root_fd, CC_ACCOUNT_NAME, &before) == CMN_OK;
		status = cc_account_count(root_fd, &counted);
		if (status != CMN_OK)
			return status;
		known = cc_number_file_read(root_fd, CC_ACCOUNT_NAME, &after) == CMN_OK;
		if (known ? after == counted : !counted)
			return CMN_OK;
		if (known == was_known && after == before)
			break;
	}
	cmn_buffer_printf(text, "%s says %s, there are %" PRIu64 " bytes%s\n", CC_ACCOUNT_NAME,
			  number_text(known, after, said), counted,
			  read_only ? "" : "; corrected");
	return read_only ? CMN_OK
			 : cc_account_correct(root_fd, known ? after : 0, counted, &total);
}

/* What follows the look at every entry. */
static enum cmn_status verify_rest(struct tool_cache *cache, struct verification *verification)
{
	enum cmn_status status;
	int root_fd = -1;

	status = cc_root_open(cache->config.dir, &root_fd);
	if (status != CMN_OK)
		return status == CMN_MISS ? CMN_OK : status;
	status = verify_account(root_fd, cache->config.read_only, &verification->text);
	(void)close(root_fd);	/* nothing was written through it */
	if (status != CMN_OK || !verification->repair)
		return status;
	/* An eviction that evicts nothing: it clears what dead writers left. */
	cache->config.eviction_disable = true;
	status = cc_store_evict(cache->store);
	return status == CMN_BUSY ? CMN_OK : status;	/* another one is clearing */
}

int verb_verify(int argc, char **argv)
{
	int repair = 0, code;
	const struct option options[] = {
		TOOL_DIR_OPTION,
		{ "repair", no_argument, &repair, 1 },
		{ 0 },
	};
	struct verification verification = { 0 };
	struct tool_cache cache;
	enum cmn_status status;

	if (!tool_parse_flags(argc, argv, options))
		return TOOL_USAGE;
	if (!tool_open(&cache))
		return TOOL_FAILED;
	verification.store = cache.store;
	verification.repair = repair != 0;
	status = repair && cache.config.read_only ? CMN_ERR_ACCESS : CMN_OK;
	if (status == CMN_OK)
		status = cc_store_walk(cache.store, true, verify_item, &verification);
	if (status == CMN_OK)
		status = verify_rest(&cache, &verification);
	code = finish(&cache, status);
	cmn_buffer_printf(&verification.text, "%llu entries sound, %llu damaged", verification.sound,
			  verification.damaged);
	if (verification.foreign)
		cmn_buffer_printf(&verification.text, ", %llu of another version",
				  verification.foreign);
	if (repair)
		cmn_buffer_printf(&verification.text, ", %llu removed", verification.removed);
	cmn_buffer_append_u8(&verification.text, '\n');
	print_some(&verification, 0);
	if (verification.printed != TOOL_OK || verification.damaged > verification.removed)
		code = TOOL_FAILED;
	tool_close(&cache);
	return code;
}

int verb_prune(int argc, char **argv)
{
	struct tool_cache cache;
	int code;

	if (!tool_parse_flags(argc, argv, dir_only))
		return TOOL_USAGE;
	if (!tool_open(&cache))
		return TOOL_FAILED;
	code = finish(&cache, cc_store_evict(cache.store));
	tool_close(&cache);
	return code;
}

/* A writer that is at a leaf is waited for: its entry goes too. */
static enum cmn_status clear_leaf(void *ctx, int root_fd, const char *path, int leaf_fd)
{
	enum cmn_status status = cc_leaf_lock(leaf_fd, true);

	(void)ctx;
	if (status == CMN_MISS)
		return CMN_OK;	/* an evictor was faster */
	if (status != CMN_OK && status != CMN_ERR_IO)
		return status;
	for (unsigned int n = 0; n < CC_LEAF_VARIANTS; n++)
		(void)cc_leaf_remove(leaf_fd, n);	/* the tree is counted afterwards */
	cc_leaf_sweep(leaf_fd, status == CMN_OK);
	cc_leaf_prune(root_fd, path);
	return CMN_OK;
}

static enum cmn_status clear_root(const char *root)
{
	enum cmn_status status;
	uint64_t left = 0;
	int fd = -1;

	status = cc_root_open(root, &fd);
	if (status == CMN_MISS)
		return CMN_OK;
	if (status != CMN_OK)
		return status;
	status = cc_tree_walk(fd, true, clear_leaf, NULL);
	if (status == CMN_OK)
		status = cc_account_count(fd, &left);
	if (status == CMN_OK)
		status = cc_account_set(fd, left);
	cc_root_unlock(fd);
	return status;
}

int verb_clear(int argc, char **argv)
{
	struct tool_cache cache;
	enum cmn_status status;
	int code;

	if (!tool_parse_flags(argc, argv, dir_only))
		return TOOL_USAGE;
	if (!tool_open(&cache))
		return TOOL_FAILED;
	if (cache.config.read_only)
		status = CMN_ERR_ACCESS;
	else
		status = clear_root(cache.config.dir);
	if (status == CMN_OK)
		status = cc_recipes_clear(cache.config.dir);
	if (status == CMN_OK)
		status = cc_random_token_clear(cache.config.dir);
	code = finish(&cache, status);
	tool_close(&cache);
	return code;
}
