/* SPDX-License-Identifier: MIT */
/* store: the verbs that work on the entries as a whole: verify, prune, clear. */
#include "cachecore/account.h"
#include "cachecore/leaf.h"
#include "cachecore/random_token.h"
#include "cachecore/recipes.h"
#include "cachecore/root.h"
#include "cachecore/tree.h"
#include "tools/tool.h"

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
	struct cmn_buffer text;
	unsigned long long sound, damaged;
};

static bool verify_item(void *ctx, const struct cc_store_item *item)
{
	struct verification *verification = ctx;

	if (item->status == CMN_OK) {
		verification->sound++;
	} else {
		verification->damaged++;
		cmn_buffer_printf(&verification->text, "%s: %s\n", item->path,
				  cmn_status_string(item->status));
	}
	return true;
}

int verb_verify(int argc, char **argv)
{
	struct verification verification = { 0 };
	struct tool_cache cache;
	int code, printed;

	if (!tool_parse_flags(argc, argv, dir_only))
		return TOOL_USAGE;
	if (!tool_open(&cache))
		return TOOL_FAILED;
	code = finish(&cache, cc_store_walk(cache.store, true, verify_item, &verification));
	cmn_buffer_printf(&verification.text, "%llu entries sound, %llu damaged\n",
			  verification.sound, verification.damaged);
	printed = tool_print(&verification.text);
	if (code == TOOL_OK)
		code = verification.damaged ? TOOL_FAILED : printed;
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
