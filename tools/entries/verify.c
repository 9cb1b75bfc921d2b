/* SPDX-License-Identifier: MIT */
/* verify: reads every byte of every entry, and counts what the account should say. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/disk/space/account.h"
#include "tools/arguments.h"
#include "tools/entries/entries.h"
#include "tools/json_output.h"
#include "tools/text.h"
#include "tools/tool.h"

#define ACCOUNT_TRIES 5	/* others store all the time */
#define TEXT_AT_ONCE 65536

struct verification {
	struct tool_cache *cache;
	bool repair;
	struct json_object *object, *findings;	/* NULL: for people */
	struct cmn_buffer text;
	int printed;	/* exit code of what is printed so far */
	uint64_t sound, foreign, damaged, unsafe, removed;
	uint64_t seen_bytes, total_bytes;	/* total: as the account says, 0 if it does not */
	bool has_account;	/* what it says: */
	uint64_t account, counted;
	bool corrected;
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

static void report_item(struct verification *verification, const char *path, const char *status)
{
	struct cmn_buffer *text = &verification->text;

	if (verification->findings) {
		struct json_object *finding = json_add_object(verification->findings, NULL);

		json_add_text(finding, "entry", path);
		json_add_text(finding, "status", status);
		return;
	}
	cmn_buffer_printf(text, "%s: %s\n", path, status);
	print_some(verification, TEXT_AT_ONCE);
}

static void repair_item(struct verification *verification, const struct cc_store_item *item)
{
	enum cmn_status status = cc_store_repair(verification->cache->store, item->place);

	if (status == CMN_OK || status == CMN_MISS)
		verification->removed++;
	else
		tool_complain("%s: cannot be removed: %s", item->path, cmn_status_string(status));
}

static bool verify_item(void *ctx, const struct cc_store_item *item)
{
	struct verification *verification = ctx;
	enum cmn_status status = item->status;
	bool unsafe;

	verification->seen_bytes += item->bytes;
	terminal_progress("verify", verification->total_bytes ? verification->seen_bytes :
							       verification->sound,
			  verification->total_bytes);
	/* While it was read it may have been replaced, or gone as a whole. */
	if (status != CMN_OK && status != CMN_ERR_VERSION)
		status = cc_store_judge(verification->cache->store, item->place);
	if (status == CMN_MISS)
		return true;
	if (status == CMN_OK) {
		verification->sound++;
		return true;
	}
	report_item(verification, item->path,
		    entry_status_text(verification->cache->store, item->place, status, &unsafe));
	if (status == CMN_ERR_VERSION) {
		verification->foreign++;
		return true;
	}
	*(unsafe ? &verification->unsafe : &verification->damaged) += 1;
	if (verification->repair)
		repair_item(verification, item);
	return true;
}

/*
 * Compares cache_size.txt with what is there, and corrects it. Who stores
 * meanwhile changes both, so that what was counted need not be comparable.
 */
static enum cmn_status compare_account(struct verification *verification, int root_fd,
				       bool *ret_certain)
{
	struct cc_account_mark before, after;
	enum cmn_status status;
	bool busy;

	cc_account_mark(root_fd, &before);
	status = cc_account_count(root_fd, &verification->counted, &busy);
	if (status != CMN_OK)
		return status;
	cc_account_mark(root_fd, &after);
	verification->has_account = after.known;
	verification->account = after.total;
	*ret_certain = !busy && before.known == after.known && before.total == after.total;
	if (verification->cache->config.read_only || (verification->account == verification->counted &&
			  (verification->has_account || !verification->counted))) {
		*ret_certain = true;
		return CMN_OK;
	}
	status = cc_account_correct(root_fd, &before, verification->counted, busy,
				    cc_store_lock_until(verification->cache->store), &after.total);
	verification->corrected = status == CMN_OK && after.total == verification->counted;
	return status;
}

static enum cmn_status verify_account(struct verification *verification, int root_fd)
{
	enum cmn_status status = CMN_OK;
	bool certain = false;

	for (int i = 0; i < ACCOUNT_TRIES && status == CMN_OK && !certain && !verification->corrected; i++)
		status = compare_account(verification, root_fd, &certain);
	return status;
}

/* What follows the look at every entry. */
static enum cmn_status verify_rest(struct verification *verification)
{
	struct tool_cache *cache = verification->cache;
	enum cmn_status status;
	int root_fd = -1;

	status = cc_root_open(cache->config.dir, &root_fd);
	if (status != CMN_OK)
		return status == CMN_MISS ? CMN_OK : status;
	status = verify_account(verification, root_fd);
	(void)close(root_fd);	/* nothing was written through it */
	if (status != CMN_OK || !verification->repair)
		return status;
	/* Evicts nothing, but clears what dead writers left. */
	cache->config.eviction_disable = true;
	return cc_store_clean(cache->store, NULL);
}

static enum cmn_status verify_cache(struct verification *verification)
{
	struct tool_cache *cache = verification->cache;
	enum cmn_status status;
	int fd;

	/* How much there is to read, for people who wait: 0 else. */
	if (cc_root_open(cache->config.dir, &fd) == CMN_OK) {
		(void)!cc_number_file_read(fd, CC_ACCOUNT_NAME, &verification->total_bytes);
		(void)close(fd);	/* read only */
	}
	status = cc_store_walk(cache->store, true, verify_item, verification);
	return status == CMN_OK ? verify_rest(verification) : status;
}

static void print_plain(struct verification *verification)
{
	struct cmn_buffer *text = &verification->text;
	char said[24] = "nothing";

	if (verification->account != verification->counted) {
		if (verification->has_account)
			(void)snprintf(said, sizeof(said), "%" PRIu64, verification->account);
		cmn_buffer_printf(text, "%s says %s, there are %" PRIu64 " bytes%s\n",
				  CC_ACCOUNT_NAME, said, verification->counted,
				  verification->corrected ? "; corrected" : "");
	}
	cmn_buffer_printf(text, "%" PRIu64 " entries sound, %" PRIu64 " damaged",
			  verification->sound, verification->damaged);
	if (verification->unsafe)
		cmn_buffer_printf(text, ", %" PRIu64 " that others may write to", verification->unsafe);
	if (verification->foreign)
		cmn_buffer_printf(text, ", %" PRIu64 " of another version", verification->foreign);
	if (verification->repair)
		cmn_buffer_printf(text, ", %" PRIu64 " removed", verification->removed);
	cmn_buffer_append_u8(text, '\n');
	print_some(verification, 0);
}

static void print_json(struct verification *verification)
{
	struct json_object *object = verification->object;

	json_add_number(object, "sound", verification->sound);
	json_add_number(object, "damaged", verification->damaged);
	json_add_number(object, "unsafe", verification->unsafe);
	json_add_number(object, "foreign", verification->foreign);
	json_add_number(object, "removed", verification->removed);
	json_add_number(object, "bytes", verification->counted);
	if (verification->has_account)
		json_add_number(object, "account_bytes", verification->account);
	else
		json_add_null(object, "account_bytes");
	verification->printed = json_print(object);
}

verb_function verb_verify;

int verb_verify(const struct arguments *arguments)
{
	struct verification verification = { .repair = arguments_flag(arguments, "repair") };
	bool json = arguments_flag(arguments, "json");
	enum cmn_status status;
	int code = TOOL_OK;

	verification.cache = tool_open();
	if (verification.repair && !tool_may_write(verification.cache))
		return TOOL_FAILED;
	if (json) {
		verification.object = json_new_object();
		verification.findings = json_add_array(verification.object, "findings");
	}
	status = verify_cache(&verification);
	if (status != CMN_OK)
		code = tool_fail(verification.cache->config.dir, status);
	(json ? print_json : print_plain)(&verification);
	if (verification.printed != TOOL_OK || verification.damaged + verification.unsafe > verification.removed)
		code = TOOL_FAILED;
	return code;
}
