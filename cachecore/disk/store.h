/* SPDX-License-Identifier: MIT */
/*
 * store: entries on disk.
 *
 *   <root>/<device_hash>/<device_image_hash>/<spec_constants_hash>/<build_options_hash>/
 *       <n>.src               magic[8] version:u32 zero:u32 key_len:u64 manifest_len:u64
 *                             hash[16] key manifest (see entry.h)
 *       <n>.bin               see entry.h; modified: last used
 *   <root>/cache_size.txt     bytes of all entries, decimal
 *
 * n counts keys of equal hashes and, of one key, states of its dependencies.
 * A reader takes no lock: it opens <n>.src, compares the whole key, verifies
 * the manifest, and takes <n>.bin only if it carries the hash of that .src.
 * A writer holds the entry directory's lock, publishes .bin, then .src; what
 * has no .src is invisible and is overwritten or swept. All file names come
 * from hashes and numbers, never from content.
 *
 * Every function is thread-safe; several processes may share a root.
 */
#ifndef CACHECORE_DISK_STORE_H
#define CACHECORE_DISK_STORE_H

#include "cachecore/config.h"
#include "cachecore/entry.h"
#include "cachecore/disk/space/clean.h"
#include "cachecore/key.h"
#include "cachecore/disk/root.h"
#include "cachecore/disk/entry_dir_walk.h"
#include "common/log.h"
#include "common/status.h"

struct cc_store;

/*
 * Opens the root of config (made with mode 0700 when first written, not
 * here) and its read-only tiers, or these alone where there is no root: a
 * read-only store. config and log must outlive the store.
 * CMN_ERR_INVALID: config has neither, or a root of some 800 bytes and more.
 * CMN_ERR_ACCESS: the root is not ours (other owner, writable by others) or
 * cannot be used; the reason goes to log once.
 */
CMN_CHECKED enum cmn_status cc_store_open(const struct cc_config *config,
					  const struct cmn_log *log, struct cc_store **ret);
void cc_store_close(struct cc_store *store);	/* NULL is fine */

/* Where in the root an entry lies. */
struct cc_store_place {
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE];	/* "": not in the root, but in a tier */
	unsigned int n;
};

/* What a look-up came across. */
struct cc_store_report {
	unsigned int damaged;		/* entries */
	unsigned int distrusted;	/* of these: another user may have written them, or they cannot be read */
	struct cc_store_place place;	/* of what it found */
	struct cc_manifest_change change;	/* the dependency that made the first entry of that key stale */
};

/*
 * The entry of that key whose dependencies hold now; a new reference.
 * CMN_MISS: none. A damaged entry is removed (unless somebody holds its
 * directory's lock), logged once, counted in *report, and the search goes on.
 * The use is noted for eviction (cc_entry_dir_note_use), unless one within an hour is, or it is read only.
 * memo and report may be NULL. Files longer than kept_len will not be kept: if
 * they are large, their memory is lent by the store, which is best given back
 * soon.
 */
CMN_CHECKED enum cmn_status cc_store_get(struct cc_store *store, const struct cc_key *key,
					 struct cc_file_memo *memo, size_t kept_len,
					 struct cc_entry **ret, struct cc_store_report *report);

/* The failure of that key in the root, whose dependencies hold now, whoever saw it. CMN_MISS: none. */
CMN_CHECKED enum cmn_status cc_store_get_failure(struct cc_store *store, const struct cc_key *key,
						 struct cc_file_memo *memo, struct cc_entry **ret);

/* Whether the root may have an entry of that key, by one system call: false is certain at that moment. */
bool cc_store_may_have(const struct cc_store *store, const struct cc_key *key);

/*
 * How long writing waits for a lock of another process, which may be stopped: a
 * second, or this time. After it has waited in vain, it waits for 10 ms only
 * until it gets a lock again, so that many entries wait long only once.
 */
void cc_store_set_patience(struct cc_store *store, uint64_t ns);
/* Until when to wait for a lock now, for callers that write other files in the root. */
uint64_t cc_store_lock_until(const struct cc_store *store);

/*
 * Writes an entry, replacing one of the same key and manifest; updates
 * cache_size.txt. If it does not fit, others are evicted first (evict.h).
 * Blocks on disk I/O. CMN_BUSY: a lock was not to be had,
 * and nothing is stored. CMN_ERR_TOO_LARGE: outside the image-size limits, larger
 * than half of the bound, or the root would take more than max_size on disk
 * with it; nothing was written. CMN_ERR_ACCESS: read-only.
 */
CMN_CHECKED enum cmn_status cc_store_put(struct cc_store *store, const struct cc_key *key,
					 const struct cc_entry *entry);
/* The same, but waits for locks, and evicts, for at most so long in all. */
CMN_CHECKED enum cmn_status cc_store_put_within(struct cc_store *store, const struct cc_key *key,
						const struct cc_entry *entry, uint64_t patience_ns,
						uint64_t evict_ns);

/* Whether a file of len bytes beside the entries would not fit into the bound. */
bool cc_store_is_full(struct cc_store *store, size_t len);
/* Before such a file grows that has no bound of its own in a small root: as cc_overhead_trim_records. */
void cc_store_trim(struct cc_store *store);

/*
 * Removes every entry of that key (a driver refused it). CMN_OK also where
 * there was none. Locks are waited for 10 ms in all, since an application's
 * thread waits: CMN_BUSY: the entries are still there.
 */
CMN_CHECKED enum cmn_status cc_store_remove(struct cc_store *store, const struct cc_key *key);

/* The root, opened, where it is what the configuration allows. Statuses as cc_root_check's. */
CMN_CHECKED enum cmn_status cc_store_open_root(const struct cc_store *store, int *ret_fd);

/* As cc_clean, of its root. CMN_ERR_ACCESS: read-only. */
CMN_CHECKED enum cmn_status cc_store_clean(struct cc_store *store, const struct cc_clean_watch *watch);

/* What a listing shows of an entry; all borrowed for the call only. */
struct cc_store_item {
	const char *path;		/* of the .src, relative to the root */
	const struct cc_store_place *place;
	struct cmn_view key;		/* encoding; empty if the .src is damaged */
	const struct cc_manifest *manifest;	/* NULL: none or damaged */
	uint64_t stored_ns;		/* since the epoch, when the .src was written; 0: not known */
	uint64_t bytes;			/* .src and .bin on disk */
	uint64_t payload_len;		/* decoded */
	struct cmn_hash payload_hash;	/* as the .bin's header has it */
	uint64_t build_ns;
	uint64_t access_ns;		/* since the epoch */
	bool failed;			/* it tells how a build failed, and is no result (cc_entry_set_failed) */
	enum cmn_status status;		/* CMN_OK, CMN_ERR_CORRUPT, CMN_ERR_VERSION, … of the pair */
};
/*
 * Calls visit for each entry of the root until it returns false. With deep,
 * .bin files are read and their checksums verified; else only headers are.
 */
typedef bool (*cc_store_visit_fn)(void *ctx, const struct cc_store_item *item);
CMN_CHECKED enum cmn_status cc_store_walk(struct cc_store *store, bool deep,
					  cc_store_visit_fn visit, void *ctx);
/* The same for what is chosen (entry_dir_walk.h); ctx is for both. */
CMN_CHECKED enum cmn_status cc_store_walk_chosen(struct cc_store *store,
						 const struct cc_entry_dir_choice *choice, bool deep,
						 cc_store_visit_fn visit, void *ctx);
/* The same for one entry of that root. CMN_MISS: it is not there. */
CMN_CHECKED enum cmn_status cc_store_look(struct cc_store *store, int root_fd,
					  const struct cc_store_place *place,
					  cc_store_visit_fn visit, void *ctx);
/*
 * Looks at one entry again, every byte of it. CMN_OK: it is sound; CMN_MISS: it
 * is gone; CMN_ERR_CORRUPT, CMN_ERR_ACCESS: damaged; CMN_ERR_VERSION; others:
 * it cannot be said now.
 */
CMN_CHECKED enum cmn_status cc_store_judge(struct cc_store *store,
					   const struct cc_store_place *place);
/*
 * Removes an entry if it is damaged, under its directory's lock. CMN_OK: it was,
 * and is gone; CMN_MISS: it is not damaged, or gone already; CMN_BUSY;
 * CMN_ERR_ACCESS: read-only, or something that cannot be removed.
 */
CMN_CHECKED enum cmn_status cc_store_repair(struct cc_store *store,
					    const struct cc_store_place *place);
/*
 * Removes an entry whose last use is still the one of access_ns. CMN_OK: it is gone, and *ret_freed
 * bytes of the account with it; CMN_MISS: it was gone already; CMN_STALE: it was used;
 * CMN_BUSY; CMN_ERR_ACCESS: read-only, or something that cannot be removed.
 */
CMN_CHECKED enum cmn_status cc_store_discard(struct cc_store *store,
					     const struct cc_store_place *place,
					     uint64_t access_ns, uint64_t *ret_freed);

struct cc_recompression {
	int level;			/* as cc_config.compression */
	unsigned int load_rate;		/* as cc_entry_set_load_rate, for CC_COMPRESSION_AUTO */
	bool dry_run;			/* only says what would change */
};
/*
 * Replaces the .bin of an entry, by rename, by the same result at another level, where that
 * takes fewer blocks, or where the level says that it is to be raw. Key, dependencies and time
 * of last use stay. *ret_change: bytes on disk, also in the account (expected ones, if it is
 * dry). CMN_OK: it was, or would be; CMN_STALE: it stays as it is, for nothing is gained;
 * CMN_MISS: it is gone, or another; CMN_ERR_CORRUPT, CMN_ERR_VERSION and others of
 * root.h: it is not ours to change; CMN_BUSY; CMN_ERR_TOO_LARGE: raw, the root would
 * take more than max_size; CMN_ERR_ACCESS: read-only; CMN_ERR_NOSPACE.
 */
CMN_CHECKED enum cmn_status cc_store_recompress(struct cc_store *store,
						const struct cc_store_place *place,
						const struct cc_recompression *how,
						int64_t *ret_change);
/* Whose files in the root a look-up reads: what else may be read of it goes by the same rule. */
enum cmn_file_trust cc_store_trust(const struct cc_store *store);
/* The setting that the size of an entry's image violates, such as "max_device_image_size"; NULL: none. */
const char *cc_store_bound_of(const struct cc_store *store, const struct cc_entry *entry);
/* Root directory as configured, or NULL; borrowed. */
const char *cc_store_root(const struct cc_store *store);

#endif
