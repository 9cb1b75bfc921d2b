/* SPDX-License-Identifier: MIT */
/*
 * store: opening and look-up. The look-up opens the root, whose owner it checks,
 * and two files in it that no link may lead to, nothing else: a fresh process's
 * small hit is a matter of system calls. A damaged entry is removed here; store_put.c
 * writes, and removes a key that a driver refused; store_change.c does what commands do to single entries;
 * store_walk.c lists and cleans.
 */
#include "cachecore/disk/store.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/space/account.h"
#include "cachecore/disk/space/days.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/store_internal.h"
#include "common/clock.h"

/*
 * With an entry directory's path. Much less than PATH_MAX, since it lies on the stack of
 * look-ups, and in a fresh process every page of it is a fault that costs as
 * much as a system call.
 */
#define PATH_SIZE 1024
#define MAX_ROOT (PATH_SIZE - CC_ENTRY_DIR_PATH_SIZE - 1)

#define PATIENCE_NS UINT64_C(1000000000)
/* The last use that is noted may be so old. */
#define USE_GRAIN_NS (3600 * UINT64_C(1000000000))

/* One look-up in one root. */
struct lookup {
	struct cc_store *store;
	struct cmn_view key;
	const struct cc_include_paths *include_paths;	/* the key's */
	struct cc_file_memo *memo;
	struct cmn_room room;		/* for a .bin */
	struct cc_store_report report;
	const char *root;
	int root_fd;
	uint64_t used_ns;		/* when it was last used, of the .bin that was read last */
	bool doubtful;			/* failure need not be believed */
	struct cc_entry *failure;	/* a build of this key that failed, to be believed where there is nothing else; NULL: none */
	bool unread;			/* there may be more than could be read now, also what outranks failure */
	uint64_t lock_until;		/* of removals; 0: none yet */
};

enum cmn_status cc_store_open(const struct cc_config *config, const struct cmn_log *log,
			      struct cc_store **ret)
{
	bool has_tier = config->read_only_dirs && config->read_only_dirs[0];
	struct cc_store *store;
	const char *reason;

	if (!config->dir && !has_tier)
		return CMN_ERR_INVALID;
	if (config->dir && strlen(config->dir) > MAX_ROOT) {
		cmn_log_write(log, CMN_LOG_ERROR, "no disk cache: the path %.64s... is too long",
			      config->dir);
		return CMN_ERR_INVALID;
	}
	store = calloc(1, sizeof(*store));
	if (!store)
		return CMN_ERR_NOMEM;
	store->config = config;
	store->kind = config->sharing == CC_SHARING_GROUP ? CC_ROOT_GROUP : CC_ROOT_OWN;
	/* In a group's root others' files are as good as one's own; elsewhere there should be none. */
	store->trust = config->sharing == CC_SHARING_GROUP ? CMN_FILE_ANY : CMN_FILE_TRUSTED;
	if (config->dir &&
	    cc_root_check(config->dir, store->kind, &reason) == CMN_ERR_ACCESS) {
		cmn_log_write(log, CMN_LOG_ERROR, "no disk cache: cannot use %s: %s", config->dir,
			      reason);
		free(store);
		return CMN_ERR_ACCESS;
	}
	store->log = log;
	store->patience = PATIENCE_NS;
	store->slabs = cmn_slabs_new();	/* without them malloc serves */
	atomic_flag_clear(&store->damage_logged);
	atomic_flag_clear(&store->access_logged);
	atomic_flag_clear(&store->tier_logged);
	*ret = store;
	return CMN_OK;
}

void cc_store_close(struct cc_store *store)
{
	if (!store)
		return;
	cmn_slabs_free(store->slabs);
	free(store);
}

const char *cc_store_root(const struct cc_store *store)
{
	return store->config->dir;
}

void cc_store_set_patience(struct cc_store *store, uint64_t ns)
{
	atomic_store(&store->patience, ns);
}

uint64_t cc_store_lock_until(const struct cc_store *store)
{
	uint64_t patience = atomic_load(&store->patience);

	/* Who has it may be stopped, or only be one of many on a busy machine. */
	if (atomic_load(&store->stuck) && patience > CC_STORE_LOOKUP_PATIENCE_NS)
		patience = CC_STORE_LOOKUP_PATIENCE_NS;
	return cmn_clock_monotonic() + patience;
}

enum cmn_status cc_store_open_root(const struct cc_store *store, int *ret_fd)
{
	if (!store->config->dir)
		return CMN_MISS;
	return cc_root_open_as(store->config->dir, store->kind, ret_fd);
}

enum cmn_file_trust cc_store_trust(const struct cc_store *store)
{
	return store->trust;
}

/* Not what others' directories have. */
static bool is_believed(const struct lookup *lookup, const struct cc_entry *failure)
{
	uint64_t now_ns = cmn_clock_realtime();

	return lookup->root == lookup->store->config->dir && lookup->store->config->remember_failures &&
	       cc_entry_is_confirmed(failure) && cc_store_failure_lives(lookup->used_ns, now_ns);
}

/* A failure is no result: the search goes on, since the same may have been built another time. */
static enum cmn_status put_aside(struct lookup *lookup, struct cc_entry *failure)
{
	if (!lookup->failure && (lookup->doubtful || is_believed(lookup, failure)))
		lookup->failure = failure;
	else
		cc_entry_unref(failure);
	return CMN_MISS;
}

/*
 * Entry n of the entry directory: whose result it is, whether its dependencies hold, then the
 * result. Also CMN_STALE: .src and .bin do not belong together.
 */
static enum cmn_status read_variant(struct lookup *lookup, unsigned int n,
				    struct cc_entry **ret)
{
	struct cc_store *store = lookup->store;
	struct cc_store_place *place = &lookup->report.place;
	struct cc_manifest_change *known = &lookup->report.change, change;
	struct cc_manifest *manifest = NULL;
	struct cmn_buffer src_file = { 0 }, bin_file = { 0 };
	struct cc_src src;
	enum cmn_status status = CMN_OK;

	if (lookup->key.len < CC_ENTRY_DIR_LONG_KEY ||
	    !cc_entry_dir_match_src(lookup->root_fd, place->entry_dir, n, store->trust, lookup->key, &src_file,
				    &src)) {
		status = cc_entry_dir_read_file(lookup->root_fd, place->entry_dir, CC_ENTRY_DIR_SRC, n, store->trust,
						NULL, &src_file, NULL);
		if (status == CMN_OK)
			status = cc_src_file_decode(cmn_buffer_view(&src_file), &src);
		if (status == CMN_OK && !cmn_view_equal(src.key, lookup->key))
			status = CMN_MISS;
	}
	if (status == CMN_OK && src.manifest.len)
		status = cc_manifest_decode(src.manifest, &manifest);
	if (status == CMN_OK && (manifest || lookup->include_paths->count) &&
	    cc_manifest_compare_at(manifest, lookup->include_paths, lookup->memo, &change) != CMN_OK) {
		/* Of several entries the first one that is stale is remembered. */
		if (known->how == CC_MANIFEST_SAME)
			*known = change;
		status = CMN_MISS;
	}
	if (status == CMN_OK)
		status = cc_entry_dir_read_file(lookup->root_fd, place->entry_dir, CC_ENTRY_DIR_BIN, n, store->trust,
						&lookup->room, &bin_file, &lookup->used_ns);
	if (status == CMN_OK)
		status = cc_entry_decode(&bin_file, &src.hash, &lookup->room, manifest, ret);
	else
		cmn_buffer_release(&bin_file);
	if (status != CMN_OK)
		cc_manifest_free(manifest);
	else if ((*ret)->failed)
		status = put_aside(lookup, *ret);
	cmn_buffer_release(&src_file);
	place->n = n;
	return status;
}

enum cmn_status cc_store_enter(const struct cc_store *store, const char *entry_dir, struct cc_store_hold *ret)
{
	enum cmn_status status;

	*ret = (struct cc_store_hold){ -1, -1 };
	status = cc_store_open_root(store, &ret->root_fd);
	return status == CMN_OK ? cc_entry_dir_open(ret->root_fd, entry_dir, &ret->entry_dir_fd) : status;
}

enum cmn_status cc_store_lock(const struct cc_store_hold *hold, uint64_t until)
{
	enum cmn_status status = cc_entry_dir_lock(hold->entry_dir_fd, until);

	return status == CMN_ERR_IO ? CMN_OK : status;
}

void cc_store_note_freed(const struct cc_store_hold *hold, const char *entry_dir, uint64_t freed, uint64_t until)
{
	/* Failing leaves the account a little high; the next clean-up counts. */
	if (freed)
		(void)!cc_account_add(hold->root_fd, -(int64_t)freed, until);
	/* Last: who counts does not see the lock of a directory that is gone. */
	cc_entry_dir_prune(hold->root_fd, entry_dir);
}

void cc_store_leave(const struct cc_store_hold *hold)
{
	if (hold->entry_dir_fd >= 0)
		cc_root_unlock(hold->entry_dir_fd);
	if (hold->root_fd >= 0)
		(void)close(hold->root_fd);	/* a directory: nothing to be lost */
}

/* Removes entry n if it is damaged; CMN_OK: it is gone. */
static enum cmn_status remove_damaged(const struct cc_store *store, const char *entry_dir,
				      unsigned int n, uint64_t entry_dir_until, uint64_t root_until)
{
	struct cc_store_hold hold;
	enum cmn_status status = cc_store_enter(store, entry_dir, &hold);
	uint64_t freed;

	if (status == CMN_OK)
		status = cc_store_lock(&hold, entry_dir_until);
	if (status == CMN_OK) {
		status = cc_entry_dir_judge(hold.entry_dir_fd, n, store->trust);
		if (cc_entry_dir_status_damaged(status)) {
			freed = cc_entry_dir_remove(hold.entry_dir_fd, n);
			status = cc_entry_dir_judge(hold.entry_dir_fd, n, store->trust) == CMN_MISS
					 ? CMN_OK : CMN_ERR_ACCESS;
			cc_store_note_freed(&hold, entry_dir, freed, root_until);
		} else if (status == CMN_OK) {
			status = CMN_MISS;
		}
	}
	cc_store_leave(&hold);
	return status;
}

enum cmn_status cc_store_repair(struct cc_store *store, const struct cc_store_place *place)
{
	uint64_t until = cc_store_lock_until(store);

	if (store->config->read_only)
		return CMN_ERR_ACCESS;
	return remove_damaged(store, place->entry_dir, place->n, until, until);
}

enum cmn_status cc_store_judge(struct cc_store *store, const struct cc_store_place *place)
{
	struct cc_store_hold hold;
	enum cmn_status status = cc_store_enter(store, place->entry_dir, &hold);

	if (status == CMN_OK)
		status = cc_entry_dir_judge(hold.entry_dir_fd, place->n, store->trust);
	cc_store_leave(&hold);
	return status;
}

static void note_damage(struct lookup *lookup, unsigned int n, enum cmn_status status)
{
	struct cc_store *store = lookup->store;
	const char *entry_dir = lookup->report.place.entry_dir;
	bool own = lookup->root == store->config->dir;

	/* A tier that others wrote may hold what this user may not read. */
	if (!own && status == CMN_ERR_ACCESS)
		return;
	lookup->report.damaged++;
	lookup->report.distrusted += status == CMN_ERR_ACCESS;
	cmn_log_once(store->log, &store->damage_logged, CMN_LOG_WARNING,
		     "%s cache entry %s/%s/%u.src: %s%s",
		     status == CMN_ERR_ACCESS ? "distrusted" : "damaged", lookup->root, entry_dir, n,
		     status == CMN_ERR_ACCESS ? "others may write to it, or it cannot be read" :
						cmn_status_string(status),
		     own && !store->config->read_only ? "; removed" : "");
	/*
	 * Without waiting: whoever holds the lock is about to write here, and may
	 * repair it. What stays is found again. The account is waited for, but not
	 * by a thread of the application's for long; too much in it does no harm.
	 */
	if (own && !store->config->read_only) {
		if (!lookup->lock_until)
			lookup->lock_until = cmn_clock_monotonic() + CC_STORE_LOOKUP_PATIENCE_NS;
		(void)remove_damaged(store, entry_dir, n, 0, lookup->lock_until);
	}
}

/* Entry n was not read at once: once more, or what is to be done about it. */
static enum cmn_status settle(struct lookup *lookup, unsigned int n, enum cmn_status status,
			      struct cc_entry **ret)
{
	/* Replaced between the two reads: the second look sees both new. */
	if (status == CMN_STALE)
		status = read_variant(lookup, n, ret);
	if (status == CMN_OK || status == CMN_ERR_NOMEM)
		return status;
	if (cc_entry_dir_status_damaged(status))
		note_damage(lookup, n, status);
	lookup->unread = lookup->unread || status != CMN_MISS;
	return CMN_MISS;
}

/* The rest of the entry directory, after entry 0 was none. */
static enum cmn_status try_others(struct lookup *lookup, struct cc_entry **ret)
{
	enum cmn_status status;
	struct cc_entry_dir_scan scan;
	int entry_dir_fd;

	status = cc_entry_dir_find(lookup->root_fd, lookup->report.place.entry_dir, &entry_dir_fd);
	if (status == CMN_OK) {
		status = cc_entry_dir_scan(entry_dir_fd, &scan);
		(void)close(entry_dir_fd);	/* read only */
	}
	lookup->unread = lookup->unread || (status != CMN_OK && status != CMN_MISS);
	if (status != CMN_OK)
		return CMN_MISS;
	status = CMN_MISS;
	for (unsigned int n = 1; n < CC_ENTRY_DIR_VARIANTS && status == CMN_MISS; n++) {
		if (!(scan.present[CC_ENTRY_DIR_SRC] >> n & 1))
			continue;
		status = read_variant(lookup, n, ret);
		if (status != CMN_OK)
			status = settle(lookup, n, status, ret);
	}
	return status;
}

/* The first one, and one an hour. Without waiting: if the day cannot be noted now, a later hit notes both. */
static void note_use(struct lookup *lookup, uint64_t used_ns, bool first)
{
	const struct cc_store_place *place = &lookup->report.place;
	struct cc_days days;

	lookup->root_fd = cmn_file_raise(lookup->root_fd);	/* something is written beneath it */
	if (first || cc_days_note(lookup->root_fd, used_ns, 0, &days) == used_ns)
		cc_entry_dir_note_use(lookup->root_fd, place->entry_dir, place->n, used_ns & ~CC_ENTRY_DIR_UNUSED);
}

static enum cmn_status get_from(struct lookup *lookup, const char *root, struct cc_entry **ret)
{
	bool own = root == lookup->store->config->dir;
	uint64_t now_ns;
	const char *reason;
	enum cmn_status status = cc_root_find(root, own ? lookup->store->kind : CC_ROOT_TIER,
					      &lookup->root_fd, &reason);

	if (status == CMN_ERR_ACCESS && own)
		cmn_log_once(lookup->store->log, &lookup->store->access_logged, CMN_LOG_ERROR,
			     "no disk cache: cannot use %s: %s", root, reason);
	if (status == CMN_ERR_ACCESS && !own)
		cmn_log_once(lookup->store->log, &lookup->store->tier_logged, CMN_LOG_WARNING,
			     "%s is not looked in: %s", root, reason);
	lookup->unread = lookup->unread || (status != CMN_OK && status != CMN_MISS && status != CMN_ERR_ACCESS);
	if (status != CMN_OK)
		return CMN_MISS;
	lookup->root = root;
	status = read_variant(lookup, 0, ret);
	if (status != CMN_OK)
		status = settle(lookup, 0, status, ret);
	if (status == CMN_MISS)
		status = try_others(lookup, ret);
	if (status == CMN_OK && own && !lookup->store->config->read_only) {
		now_ns = cmn_clock_realtime();
		/* The clock of who used it may have been ahead. */
		if (lookup->used_ns + USE_GRAIN_NS < now_ns || lookup->used_ns > now_ns + USE_GRAIN_NS)
			note_use(lookup, now_ns, false);
		else if (lookup->used_ns & CC_ENTRY_DIR_UNUSED)
			note_use(lookup, lookup->used_ns, true);
	}
	(void)close(lookup->root_fd);	/* read only */
	return status;
}

enum cmn_status cc_store_get(struct cc_store *store, const struct cc_key *key,
			     struct cc_file_memo *memo, size_t kept_len, struct cc_entry **ret,
			     struct cc_store_report *report)
{
	struct lookup lookup = {
		.store = store,
		.include_paths = &key->include_paths,
		.memo = memo,
		.room = { kept_len < SIZE_MAX ? store->slabs : NULL, kept_len + 1 },
	};
	char **tier = store->config->read_only_dirs;
	enum cmn_status status = cc_key_status(key);
	char *entry_dir;

	if (report)
		*report = (struct cc_store_report){ 0 };
	if (status != CMN_OK)
		return status;
	lookup.key = cc_key_view(key);
	entry_dir = lookup.report.place.entry_dir;
	cc_entry_dir_path_of(key, entry_dir);
	status = store->config->dir ? get_from(&lookup, store->config->dir, ret) : CMN_MISS;
	if (status == CMN_MISS && tier && *tier) {
		for (; *tier && status == CMN_MISS; tier++)
			status = get_from(&lookup, *tier, ret);
		entry_dir[0] = '\0';
	}
	if (status == CMN_MISS && lookup.failure && !lookup.unread) {
		*ret = lookup.failure;
		status = CMN_OK;
	} else {
		cc_entry_unref(lookup.failure);
	}
	if (report)
		*report = lookup.report;
	return status;
}

enum cmn_status cc_store_get_failure(struct cc_store *store, const struct cc_key *key,
				     struct cc_file_memo *memo, struct cc_entry **ret)
{
	struct lookup lookup = { .store = store, .memo = memo, .key = cc_key_view(key),
				 .include_paths = &key->include_paths, .doubtful = true };
	struct cc_entry *entry;

	if (cc_key_status(key) != CMN_OK || !store->config->dir)
		return CMN_MISS;
	cc_entry_dir_path_of(key, lookup.report.place.entry_dir);
	if (get_from(&lookup, store->config->dir, &entry) == CMN_OK)
		cc_entry_unref(entry);
	*ret = lookup.failure;
	return lookup.failure ? CMN_OK : CMN_MISS;
}

bool cc_store_may_have(const struct cc_store *store, const struct cc_key *key)
{
	char path[PATH_SIZE];
	size_t len = strlen(store->config->dir);	/* MAX_ROOT at most */

	memcpy(path, store->config->dir, len);
	path[len] = '/';
	cc_entry_dir_path_of(key, path + len + 1);
	return access(path, F_OK) == 0;
}
