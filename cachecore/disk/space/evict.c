/* SPDX-License-Identifier: MIT */
/* evict: ranks, removal under the entry directory's lock; samples of the tree, of which the least valuable entries go. */
#include "cachecore/disk/space/evict.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/disk/space/account.h"
#include "cachecore/record/recorder.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/listing.h"

#define NS_PER_S UINT64_C(1000000000)
#define NS_PER_DAY (86400 * NS_PER_S)
/* Candidates that are kept. The oldest of 16 is on average among the oldest 6 %. */
#define POOL 16
/* Images in one look at a directory, which may be long: each further one is nearly free. */
#define IMAGES 4
/* Looks for the first removal, and for each further one, since the pool keeps the rest. */
#define FIRST_LOOKS 4
#define FURTHER_LOOKS 2
/* Names of a directory that are listed; where there are more, from anywhere in it. */
#define WINDOW 128
/* Positions of so many names need more bits. */
#define MOST_SHIFT 56
/* With a range that has names in more than half of it, to find none is unlikely then. */
#define RANGE_TRIES 4
/* After so many rounds that remove nothing: all is in use, or nothing is there. Others may have emptied the pool. */
#define VAIN_ROUNDS 32

/* Who removes something waits so long for the account, or it stays too high. */
#define LOCK_LEAST_NS UINT64_C(10000000)
#define LOCK_MOST_NS UINT64_C(1000000000)

typedef char hash_name[CMN_HASH_HEX_SIZE];

struct evicting {
	int root_fd;
	uint64_t until;
	uint64_t chance;		/* state of the generator */
	unsigned int shift;		/* positions in a long directory are below 2^(63 - shift) */
	bool knows_range;		/* it is so, or twice as much */
	struct cc_ranking ranking;
	struct cc_candidate pool[POOL];	/* the lowest ranks seen, in order */
	size_t count;
	struct cc_removals removed;
};

void cc_ranking_load(struct cc_ranking *ret, int root_fd, const struct cc_config *config)
{
	ret->config = config;
	ret->now = cmn_clock_realtime();
	cc_days_load(&ret->days, root_fd);
}

/*
 * The compiler's time that a byte saves, less as it is unused longer: what is
 * quickly compiled, large and old goes first (after the GreedyDual-Size family
 * of web caches, Cao and Irani, USITS 1997, with age instead of inflation).
 */
static uint64_t rank_by_cost(const struct cc_ranking *ranking, int entry_dir_fd, const struct cc_candidate *one)
{
	uint64_t age_ns = cc_days_since(&ranking->days, one->used_ns) * NS_PER_DAY + ranking->now % NS_PER_DAY;
	struct cc_entry_header header;
	double age_s, rank;

	if (cc_entry_dir_read_bin_header(entry_dir_fd, one->n, NULL, &header) != CMN_OK)
		return 1;	/* of no use to this version; 0 is for age */
	age_ns -= age_ns < one->used_ns % NS_PER_DAY ? age_ns : one->used_ns % NS_PER_DAY;
	age_s = (double)age_ns / (double)NS_PER_S + 1;
	rank = (double)header.build_ns / (double)(one->bytes + 1) / age_s;
	/* Differences matter down to a millionth of a nanosecond a byte and second. */
	rank = rank * 1e6 + 1;
	return rank < 1e19 ? (uint64_t)rank : (uint64_t)1e19;
}

void cc_candidate_look(const struct cc_ranking *ranking, const char *path, int entry_dir_fd, unsigned int n,
		       struct cc_candidate *ret)
{
	const struct cc_config *config = ranking->config;

	memcpy(ret->path, path, sizeof(ret->path));
	ret->n = n;
	ret->bytes = cc_entry_dir_bytes(entry_dir_fd, n);
	ret->used_ns = cc_entry_dir_used_ns(entry_dir_fd, NULL, n);
	if (config->threshold_days && cc_days_since(&ranking->days, ret->used_ns) > config->threshold_days)
		ret->rank = 0;
	else if (config->eviction_order == CC_EVICTION_COST)
		ret->rank = rank_by_cost(ranking, entry_dir_fd, ret);
	else
		ret->rank = cc_days_rank(&ranking->days, ret->used_ns);
}

uint64_t cc_candidate_remove(const struct cc_candidate *one, int root_fd, int *ret_entry_dir_fd)
{
	enum cmn_status status;
	uint64_t freed = 0;
	int fd;

	*ret_entry_dir_fd = -1;
	if (cc_entry_dir_open(root_fd, one->path, &fd) != CMN_OK)
		return 0;
	status = cc_entry_dir_lock(fd, 0);
	if ((status == CMN_OK || status == CMN_ERR_IO) && cc_entry_dir_used_ns(fd, NULL, one->n) == one->used_ns)
		freed = cc_entry_dir_remove(fd, one->n);
	if (freed)
		*ret_entry_dir_fd = fd;
	else
		cc_root_unlock(fd);
	return freed;
}

void cc_candidate_leave(const struct cc_candidate *one, int root_fd, int entry_dir_fd)
{
	if (entry_dir_fd < 0)
		return;
	/* Only now: who counts does not see the lock of a directory that is gone. */
	cc_entry_dir_prune(root_fd, one->path);
	cc_root_unlock(entry_dir_fd);
}

static bool goes_on(const struct evicting *evicting)
{
	return cmn_clock_monotonic() < evicting->until;
}

/* xorshift64*: any will do that differs from process to process. */
static uint64_t draw(struct evicting *evicting)
{
	uint64_t x = evicting->chance;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	evicting->chance = x;
	return x * UINT64_C(0x2545f4914f6cdd1d);
}

/*
 * Some names of the directory, each as likely, from the first one on. Of at most WINDOW; *ret_more:
 * there are further ones. Returns how many.
 */
static size_t list_some(struct evicting *evicting, struct cmn_listing *listing, size_t most,
			hash_name *names, hash_name first, bool *ret_more)
{
	const struct dirent64 *item;
	size_t seen = 0, place;

	*ret_more = false;
	while ((item = cmn_listing_next(listing))) {
		if (!cmn_hash_is_hex(item->d_name))
			continue;
		if (seen == WINDOW) {
			*ret_more = true;
			break;
		}
		if (!seen)
			memcpy(first, item->d_name, sizeof(hash_name));
		/* Reservoir sampling. */
		place = seen < most ? seen : draw(evicting) % (seen + 1);
		seen++;
		if (place < most)
			memcpy(names[place], item->d_name, sizeof(*names));
	}
	return seen < most ? seen : most;
}

/*
 * A file system's positions in a directory are hashes, or numbers of bytes or of names: which range
 * they have is found out by trying. Others give no name, or (tmpfs, which lists backwards) all from
 * the one that is the directory's first.
 */
static size_t list_anywhere(struct evicting *evicting, struct cmn_listing *listing, size_t most,
			    hash_name *names, const hash_name first)
{
	hash_name here = "";
	size_t count = 0;
	bool more;

	while (!count && evicting->shift < MOST_SHIFT && goes_on(evicting)) {
		for (int i = 0; i < (evicting->knows_range ? RANGE_TRIES : 1) && !count; i++) {
			if (cmn_listing_seek(listing, (long)(draw(evicting) >> 1 >> evicting->shift)))
				count = list_some(evicting, listing, most, names, here, &more);
			if (memcmp(here, first, sizeof(here)) == 0)
				count = 0;
		}
		evicting->shift += !count;
	}
	/* The next one begins with twice the range: this one may have been too small. */
	evicting->knows_range = true;
	evicting->shift -= evicting->shift > 0;
	return count;
}

/* Names in the directory, chosen by chance. */
static size_t choose(struct evicting *evicting, int dir_fd, size_t most, hash_name *names)
{
	struct cmn_listing listing;
	size_t count, others;
	hash_name first;
	bool more;

	if (!cmn_listing_open(&listing, dir_fd, "."))
		return 0;
	count = list_some(evicting, &listing, most, names, first, &more);
	others = more ? list_anywhere(evicting, &listing, most, names, first) : 0;
	cmn_listing_close(&listing);
	return others ? others : count;
}

/* Keeps the lowest ranks; one that is there already stays as it is. */
static void keep(struct evicting *evicting, const struct cc_candidate *one)
{
	struct cc_candidate *pool = evicting->pool;
	size_t at = evicting->count;

	for (size_t i = 0; i < evicting->count; i++) {
		if (pool[i].n == one->n && strcmp(pool[i].path, one->path) == 0)
			return;
	}
	while (at && pool[at - 1].rank > one->rank)
		at--;
	if (at == POOL)
		return;
	evicting->count += evicting->count < POOL;
	memmove(pool + at + 1, pool + at, (evicting->count - at - 1) * sizeof(*pool));
	pool[at] = *one;
}

/* One entry of an entry directory, by chance. */
static void look_into_entry_dir(struct evicting *evicting, const char *path, int entry_dir_fd)
{
	struct cc_candidate one;
	struct cc_entry_dir_scan scan;
	uint64_t entries;

	if (cc_entry_dir_scan(entry_dir_fd, &scan) != CMN_OK || !scan.present[CC_ENTRY_DIR_SRC])
		return;
	entries = scan.present[CC_ENTRY_DIR_SRC];
	for (uint64_t skip = draw(evicting) % (uint64_t)__builtin_popcountll(entries); skip; skip--)
		entries &= entries - 1;
	cc_candidate_look(&evicting->ranking, path, entry_dir_fd, (unsigned int)__builtin_ctzll(entries), &one);
	keep(evicting, &one);
}

/* Descends to some entry directories below a directory of that level, whose path is in path. */
static void look(struct evicting *evicting, int dir_fd, size_t level, char path[CC_ENTRY_DIR_PATH_SIZE])
{
	char *name = path + level * CMN_HASH_HEX_SIZE;
	hash_name names[IMAGES];
	size_t count = choose(evicting, dir_fd, level == CC_PART_IMAGE ? IMAGES : 1, names);

	for (size_t i = 0; i < count; i++) {
		int fd = cmn_file_open(dir_fd, names[i], O_RDONLY | O_DIRECTORY | O_NOFOLLOW);

		if (fd < 0)
			continue;	/* removed meanwhile, or not ours */
		if (level)
			name[-1] = '/';
		memcpy(name, names[i], CMN_HASH_HEX_SIZE);
		if (level + 1 < CC_PART_COUNT)
			look(evicting, fd, level + 1, path);
		else
			look_into_entry_dir(evicting, path, fd);
		(void)close(fd);	/* read only */
	}
}

static void look_often(struct evicting *evicting, unsigned int times)
{
	char path[CC_ENTRY_DIR_PATH_SIZE] = "";

	while (times--)
		look(evicting, evicting->root_fd, 0, path);
}

static void begin(struct evicting *evicting, int root_fd, const struct cc_config *config, uint64_t until)
{
	evicting->root_fd = root_fd;
	evicting->until = until;
	evicting->chance = (cmn_clock_monotonic() ^ (uint64_t)getpid() << 40 ^ (uintptr_t)evicting) | 1;
	evicting->shift = 0;
	evicting->knows_range = false;
	cc_ranking_load(&evicting->ranking, root_fd, config);
	evicting->count = 0;
	evicting->removed = (struct cc_removals){ 0 };
}

/* Takes the first one from the pool. false: it stays, for somebody works there or has used it. */
static bool remove_first(struct evicting *evicting)
{
	const struct cc_candidate one = evicting->pool[0];
	uint64_t least = cmn_clock_deadline(LOCK_LEAST_NS), most = cmn_clock_deadline(LOCK_MOST_NS);
	uint64_t until = evicting->until < most ? evicting->until : most, freed;
	int entry_dir_fd;

	freed = cc_candidate_remove(&one, evicting->root_fd, &entry_dir_fd);
	/* A number that does not change would never be seen to fit. */
	if (freed && cc_account_add(evicting->root_fd, -(int64_t)freed, until > least ? until : least) != CMN_OK)
		evicting->until = 0;
	cc_candidate_leave(&one, evicting->root_fd, entry_dir_fd);
	memmove(evicting->pool, evicting->pool + 1, --evicting->count * sizeof(one));
	if (freed)
		cc_removals_add(&evicting->removed, one.rank ? CC_REMOVED_BY_SIZE : CC_REMOVED_BY_AGE,
				       one.path);
	return freed;
}

static void remove_aged(struct evicting *evicting)
{
	while (evicting->count && !evicting->pool[0].rank && goes_on(evicting))
		(void)remove_first(evicting);
}

/* CMN_STALE: the number is over limit. Others, but for CMN_OK: it cannot be read. */
static enum cmn_status compare(int root_fd, uint64_t limit)
{
	uint64_t total;
	enum cmn_status status = cc_number_file_read(root_fd, CC_ACCOUNT_NAME, &total);

	return status == CMN_OK && total > limit ? CMN_STALE : status;
}

enum cmn_status cc_evict_until(int root_fd, const struct cc_config *config, uint64_t limit, uint64_t until)
{
	bool any_goes = cc_evict_makes_room(config), done = false, removed;
	struct evicting evicting;
	unsigned int vain = 0;

	if (compare(root_fd, limit) == CMN_OK)
		return CMN_OK;
	if (config->eviction_disable)
		return CMN_STALE;
	begin(&evicting, root_fd, config, until);
	look_often(&evicting, FIRST_LOOKS - FURTHER_LOOKS);
	do {
		look_often(&evicting, FURTHER_LOOKS);
		removed = evicting.count && (any_goes || !evicting.pool[0].rank) && remove_first(&evicting);
		vain = removed ? 0 : vain + 1;
		done = removed && compare(root_fd, limit) != CMN_STALE;
	} while (!done && vain < VAIN_ROUNDS && goes_on(&evicting));
	remove_aged(&evicting);
	cc_removals_write(&evicting.removed, root_fd);
	/* Few entries are left, or none: the number is too high, as where somebody removes directories. */
	if (vain == VAIN_ROUNDS && any_goes)
		(void)!cc_account_recount(root_fd, until);
	return done || compare(root_fd, limit) == CMN_OK ? CMN_OK : CMN_STALE;
}

void cc_evict_aged(int root_fd, const struct cc_config *config, uint64_t until)
{
	struct evicting evicting;

	if (config->eviction_disable || !config->threshold_days)
		return;
	begin(&evicting, root_fd, config, until);
	if (evicting.ranking.days.count <= config->threshold_days || !goes_on(&evicting))
		return;
	look_often(&evicting, 1);
	remove_aged(&evicting);
	cc_removals_write(&evicting.removed, root_fd);
}

bool cc_evict_makes_room(const struct cc_config *config)
{
	return !config->eviction_disable && config->eviction_order != CC_EVICTION_NONE;
}
