/* SPDX-License-Identifier: MIT */
/* tally: words the lines. A finding waits in the slot of its key's hash; who comes there takes it. */
#include "cachecore/record/tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/kernel_names.h"
#include "common/bytes.h"

#define SHORT_HASH 8		/* digits, as ckcache list has them */
#define MAX_NAME 64
#define MS 1e6
#define SECOND 1e9

struct cc_tally_finding {
	struct cmn_hash key;
	char *text;
};

static bool wants(const struct cc_tally *tally, enum cmn_log_level level)
{
	return tally && tally->log && tally->log->level >= level;
}

static void add(struct cc_tally *tally, enum cc_tally_count count, uint64_t amount)
{
	(void)atomic_fetch_add_explicit(&tally->counts[count], amount, memory_order_relaxed);
}

static uint64_t get(const struct cc_tally *tally, enum cc_tally_count count)
{
	return atomic_load_explicit(&tally->counts[count], memory_order_relaxed);
}

static void free_finding(struct cc_tally_finding *finding)
{
	if (finding)
		free(finding->text);
	free(finding);
}

void cc_tally_begin(struct cc_tally *tally, const struct cmn_log *log)
{
	tally->log = log;
	atomic_store(&tally->pid, getpid());
}

void cc_tally_release(struct cc_tally *tally)
{
	for (size_t i = 0; i < CC_TALLY_FINDINGS; i++)
		free_finding(atomic_exchange(&tally->findings[i], NULL));
}

void cc_tally_fork_child(struct cc_tally *tally)
{
	cc_tally_release(tally);
	for (size_t i = 0; i < CC_TALLY_COUNTS; i++)
		atomic_store(&tally->counts[i], 0);
	atomic_store(&tally->pid, getpid());
	atomic_store(&tally->forked, true);
	atomic_store(&tally->ended, false);
}

bool cc_tally_announces(struct cc_tally *tally, const char *name)
{
	const char *none = NULL;

	return wants(tally, CMN_LOG_INFO) &&
	       atomic_compare_exchange_strong(&tally->name, &none, name) &&
	       !atomic_load(&tally->forked);
}

void cc_tally_say_begin(const struct cc_tally *tally, const struct cc_tally_root *root)
{
	const char *name = atomic_load(&tally->name);
	bool small = root->bytes < 1 << 20;
	struct cmn_buffer bytes = { 0 };

	if (!root->dir) {
		cmn_log_write(tally->log, CMN_LOG_INFO, "%s %s, no cache directory", CKCACHE_VERSION, name);
		return;
	}
	if (root->bytes)
		cmn_buffer_printf(&bytes, small ? ", %.0f KiB" : ", %.1f MiB",
				  (double)root->bytes / (small ? 1 << 10 : 1 << 20));
	cmn_buffer_append_u8(&bytes, '\0');
	cmn_log_write(tally->log, CMN_LOG_INFO, "%s %s, %s, %s%" PRIu64 " %s%s", CKCACHE_VERSION, name,
		      root->dir, root->more ? "more than " : "", root->entries,
		      root->entries == 1 ? "entry" : "entries",
		      bytes.failed ? "" : (const char *)bytes.data);
	cmn_buffer_release(&bytes);
}

/* ", 3 REMOTE", or nothing. */
static void append_count(struct cmn_buffer *text, uint64_t count, const char *what)
{
	if (count)
		cmn_buffer_printf(text, ", %" PRIu64 " %s", count, what);
}

void cc_tally_say_end(struct cc_tally *tally)
{
	const char *name = atomic_load(&tally->name);
	uint64_t hits = get(tally, CC_TALLY_MEMORY) + get(tally, CC_TALLY_DISK) + get(tally, CC_TALLY_REMOTE);
	uint64_t others = get(tally, CC_TALLY_MISSES) + get(tally, CC_TALLY_FAILED) +
			  get(tally, CC_TALLY_BYPASSED);
	struct cmn_buffer text = { 0 };

	if (!name || !wants(tally, CMN_LOG_INFO) || atomic_load(&tally->pid) != getpid() ||
	    (atomic_load(&tally->forked) && !hits && !others) || atomic_exchange(&tally->ended, true))
		return;
	if (!hits && !others) {
		cmn_log_write(tally->log, CMN_LOG_INFO, "%s: no kernels were requested", name);
		return;
	}
	append_count(&text, get(tally, CC_TALLY_REMOTE), "remote");
	cmn_buffer_printf(&text, "), %" PRIu64 " misses", get(tally, CC_TALLY_MISSES));
	append_count(&text, get(tally, CC_TALLY_BYPASSED), "not cached");
	append_count(&text, get(tally, CC_TALLY_FAILED), "that did not compile");
	cmn_buffer_append_u8(&text, '\0');
	if (!text.failed)
		cmn_log_write(tally->log, CMN_LOG_INFO,
			      "%s: %" PRIu64 " hits (%" PRIu64 " memory, %" PRIu64
			      " disk%s, %.3f s of compilation, %.3f s saved", name, hits,
			      get(tally, CC_TALLY_MEMORY), get(tally, CC_TALLY_DISK), (const char *)text.data,
			      (double)get(tally, CC_TALLY_SPENT_NS) / SECOND,
			      (double)get(tally, CC_TALLY_SAVED_NS) / SECOND);
	cmn_buffer_release(&text);
}

/* "kernel NAME, entry 9ba01f30/349ce1c0/4f2f8709/7ba0ccb1", as far as it is known. */
static void append_what(struct cmn_buffer *text, const struct cc_key *key, struct cmn_view source)
{
	bool has_key = key && cc_key_status(key) == CMN_OK;
	struct cc_kernel_names names = cc_kernel_names_of(source);
	struct cmn_view name = has_key ? cc_kernel_names_of_key(cc_key_view(key)) :
					 cc_kernel_names_next(&names);
	bool is_link = has_key && cmn_view_equal(cc_key_find(cc_key_view(key), "kind", 0),
						 cmn_view_of("link"));
	char path[CC_LEAF_PATH_SIZE];

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
	cc_leaf_path_of(key, path);
	cmn_buffer_append_text(text, name.len ? ", entry " : "entry ");
	for (size_t i = 0; i < CC_PART_COUNT; i++)
		cmn_buffer_printf(text, "%s%.*s", i ? "/" : "", SHORT_HASH, path + i * CMN_HASH_HEX_SIZE);
}

/* As a line, and releases it. */
static void say(const struct cc_tally *tally, struct cmn_buffer *text)
{
	cmn_buffer_append_u8(text, '\0');
	if (!text->failed)
		cmn_log_write(tally->log, CMN_LOG_DEBUG, "%s", (const char *)text->data);
	cmn_buffer_release(text);
}

/* What waits for that key; NULL: nothing. The caller frees it. */
static struct cc_tally_finding *take(struct cc_tally *tally, const struct cc_key *key)
{
	struct cmn_view view = cc_key_view(key);
	struct cmn_hash hash = cmn_hash_of(view.data, view.len);
	size_t slot = cmn_hash_u64(&hash) % CC_TALLY_FINDINGS;
	struct cc_tally_finding *found = atomic_exchange(&tally->findings[slot], NULL), *newer = NULL;

	if (!found || cmn_hash_equal(&found->key, &hash))
		return found;
	/* Another thread's, unless there is a newer one by now. */
	if (!atomic_compare_exchange_strong(&tally->findings[slot], &newer, found))
		free_finding(found);
	return NULL;
}

void cc_tally_hit(struct cc_tally *tally, enum cc_tally_count count, const struct cc_key *key,
		  uint64_t took_ns, uint64_t saved_ns, bool again)
{
	static const char *const places[] = {
		[CC_TALLY_MEMORY] = "in memory", [CC_TALLY_DISK] = "on disk",
		[CC_TALLY_REMOTE] = "in the remote tier",
	};
	struct cmn_buffer text = { 0 };

	add(tally, count, 1);
	add(tally, CC_TALLY_SAVED_NS, saved_ns);
	if (!wants(tally, CMN_LOG_DEBUG))
		return;
	free_finding(take(tally, key));
	cmn_buffer_printf(&text, "hit %s: ", places[count]);
	append_what(&text, key, (struct cmn_view){ 0 });
	cmn_buffer_printf(&text, again ? ": did not compile before: %.3f ms, saved %.1f ms" :
			  ": %.3f ms, saved %.1f ms", (double)took_ns / MS, (double)saved_ns / MS);
	say(tally, &text);
}

static void append_finding(struct cmn_buffer *text, const struct cc_history_note *found)
{
	const char *reason = found->reason ? found->reason : "", *detail = found->detail ? found->detail : "";

	if (found->kind == CC_HISTORY_REFUSED)
		cmn_buffer_append_text(text, "the driver refused the stored binary");
	else if (found->kind == CC_HISTORY_DAMAGED)
		cmn_buffer_append_text(text, strcmp(reason, "access") == 0 ?
				       "others may write to the stored entry, or it cannot be read" :
				       "the stored entry was damaged");
	else if (found->kind == CC_HISTORY_CHANGED && strcmp(reason, "directory") == 0)
		cmn_buffer_printf(text, "the working directory differs (was %s)", detail);
	else if (found->kind == CC_HISTORY_CHANGED)
		cmn_buffer_printf(text, "header %s %s", detail, reason);
	else if (found->kind == CC_HISTORY_REMOTE_REFUSED)
		cmn_buffer_printf(text, "the remote tier had an entry, but %s", detail);
	else if (found->kind == CC_HISTORY_REMOTE_AWAY)
		cmn_buffer_printf(text, "the remote tier was left alone: %s", detail);
}

void cc_tally_find(struct cc_tally *tally, const struct cc_history_note *found)
{
	struct cc_tally_finding *finding;
	struct cmn_buffer text = { 0 };
	struct cmn_view view;

	if (!wants(tally, CMN_LOG_DEBUG) || !found->key || cc_key_status(found->key) != CMN_OK)
		return;
	append_finding(&text, found);
	if (!text.len) {
		cmn_buffer_release(&text);
		return;
	}
	finding = take(tally, found->key);
	if (finding)
		cmn_buffer_printf(&text, "; %s", finding->text);
	free_finding(finding);
	finding = calloc(1, sizeof(*finding));
	if (finding)
		finding->text = cmn_buffer_take_string(&text);
	cmn_buffer_release(&text);
	if (!finding || !finding->text) {
		free_finding(finding);
		return;
	}
	view = cc_key_view(found->key);
	finding->key = cmn_hash_of(view.data, view.len);
	free_finding(atomic_exchange(&tally->findings[cmn_hash_u64(&finding->key) % CC_TALLY_FINDINGS],
				     finding));
}

/* Of a miss, for people: what the history has as a word. */
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

static void count_build(struct cc_tally *tally, const struct cc_history_note *build)
{
	add(tally, build->kind == CC_HISTORY_FAILED ? CC_TALLY_FAILED :
		   build->kind == CC_HISTORY_BYPASS ? CC_TALLY_BYPASSED : CC_TALLY_MISSES, 1);
	add(tally, CC_TALLY_SPENT_NS, build->build_ns);
}

void cc_tally_build(struct cc_tally *tally, const struct cc_history_note *build)
{
	bool missed = build->kind == CC_HISTORY_MISS || build->kind == CC_HISTORY_UNATTENDED;
	const char *reason = missed ? sentence_of(build->reason) : build->reason;
	struct cc_tally_finding *finding = NULL;
	struct cmn_buffer text = { 0 };

	count_build(tally, build);
	if (!wants(tally, CMN_LOG_DEBUG))
		return;
	if (build->key && cc_key_status(build->key) == CMN_OK)
		finding = take(tally, build->key);
	cmn_buffer_append_text(&text, build->kind == CC_HISTORY_FAILED ? "failed: " :
			       missed ? "miss: " : "not cached: ");
	append_what(&text, build->key, build->source);
	if (build->kind == CC_HISTORY_FAILED)
		cmn_buffer_printf(&text, ": did not compile (%s)", build->detail);
	else
		cmn_buffer_append_text(&text, ": compiled");
	if (build->build_ns)
		cmn_buffer_printf(&text, " in %.1f ms", (double)build->build_ns / MS);
	if (reason && build->kind != CC_HISTORY_FAILED)
		cmn_buffer_printf(&text, "; %s", reason);
	if (finding)
		cmn_buffer_printf(&text, "; %s", finding->text);
	else if (missed && !reason)
		cmn_buffer_append_text(&text, "; not in the cache");
	free_finding(finding);
	say(tally, &text);
}
