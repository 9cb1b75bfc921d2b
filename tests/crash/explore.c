/* SPDX-License-Identifier: MIT */
/* explore: prefixes, orders and sets of operations, times remains of data. */
#include "tests/crash/explore.h"
#include "tests/support/remove_tree.h"

#define MAX_FAILURES 5
#define CUTS 24		/* of each file, or each byte of a shorter one */
#define MAX_SET 20	/* operations whose sets can be counted */

struct explorer {
	struct crash crash;
	const struct effort *effort;
	explore_check_fn check;
	void *ctx;
	struct explored result;
	uint64_t random;
	uint64_t *seen;		/* open addressing; 0: free */
	size_t seen_count, seen_cap;
	const char *mode;
};

/* xorshift64 (Marsaglia). */
static uint64_t next(struct explorer *explorer, uint64_t bound)
{
	uint64_t *state = &explorer->random;

	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return bound ? (*state >> 11) % bound : 0;
}

static bool insert_seen(uint64_t *seen, size_t cap, uint64_t hash)
{
	size_t at = hash & (cap - 1);

	while (seen[at] && seen[at] != hash)
		at = (at + 1) & (cap - 1);
	if (seen[at])
		return false;
	seen[at] = hash;
	return true;
}

/* false: it was there. */
static bool note_seen(struct explorer *explorer, uint64_t hash)
{
	if (2 * (explorer->seen_count + 1) > explorer->seen_cap) {
		size_t cap = explorer->seen_cap ? 2 * explorer->seen_cap : 1024;
		uint64_t *seen = calloc(cap, sizeof(*seen));

		if (!seen)
			abort();
		for (size_t i = 0; i < explorer->seen_cap; i++) {
			if (explorer->seen[i])
				(void)insert_seen(seen, cap, explorer->seen[i]);
		}
		free(explorer->seen);
		explorer->seen = seen;
		explorer->seen_cap = cap;
	}
	if (!insert_seen(explorer->seen, explorer->seen_cap, hash ? hash : 1))
		return false;
	explorer->seen_count++;
	return true;
}

/* false: enough has failed. */
static bool try_state(struct explorer *explorer)
{
	static const char directory[] = "state";
	const char *failure;

	if (explorer->result.failures >= MAX_FAILURES)
		return false;
	if (!note_seen(explorer, crash_hash(&explorer->crash)))
		return true;
	if (mkdir(directory, 0700) < 0) {
		perror("explore: a state's directory");
		abort();
	}
	crash_materialize(&explorer->crash, directory);
	failure = explorer->check(explorer->ctx, directory);
	remove_tree(directory);
	explorer->result.states++;
	if (failure) {
		explorer->result.failures++;
		(void)printf("\n  FAILED (%s, state %zu): %s\n", explorer->mode,
			     explorer->result.states, failure);
		crash_print(&explorer->crash);
	}
	return true;
}

static void set_all_remains(struct explorer *explorer, enum remains_kind kind)
{
	struct crash *crash = &explorer->crash;
	uint64_t len;

	for (unsigned int i = 0; i < crash->tape->inodes; i++) {
		crash->remains[i] = (struct remains){ 0 };
		if (kind != REMAINS_ALL && crash_is_volatile(crash, i, &len))
			crash->remains[i] = (struct remains){ kind, len / 2 };
	}
}

/* One file after the other loses what it can, in each way; the others have all. */
static void try_one_file(struct explorer *explorer, unsigned int inode, uint64_t len)
{
	struct remains *remains = &explorer->crash.remains[inode];
	uint64_t step = 1 + len / CUTS;
	bool at_end = explorer->crash.cut == explorer->crash.tape->count;

	for (int kind = REMAINS_ALL + 1; kind < REMAINS_COUNT; kind++) {
		*remains = (struct remains){ (enum remains_kind)kind, len / 2 };
		(void)try_state(explorer);
	}
	*remains = (struct remains){ REMAINS_CUT, len ? len - 1 : 0 };
	(void)try_state(explorer);
	for (uint64_t at = 1; at < len && (at_end || explorer->effort->thorough); at += step) {
		int last = explorer->effort->thorough ? REMAINS_GARBAGE : REMAINS_CUT;

		for (int kind = REMAINS_CUT; kind <= last; kind++) {
			*remains = (struct remains){ (enum remains_kind)kind, at };
			(void)try_state(explorer);
		}
	}
	*remains = (struct remains){ 0 };
}

static void explore_prefixes(struct explorer *explorer)
{
	struct crash *crash = &explorer->crash;
	const struct tape *tape = crash->tape;
	uint64_t len;

	explorer->mode = "a prefix";
	for (size_t cut = crash->durable; cut <= tape->count; cut++) {
		bool whole = explorer->effort->thorough || cut == tape->count;
		unsigned int last = NAMES_NONE;

		crash_keep_all(crash, cut);
		for (int kind = REMAINS_ALL; kind < REMAINS_COUNT; kind++) {
			set_all_remains(explorer, (enum remains_kind)kind);
			if (!try_state(explorer))
				return;
		}
		set_all_remains(explorer, REMAINS_ALL);
		if (cut > crash->durable)
			last = tape->operations[cut - 1].inode;
		for (unsigned int i = 0; i < tape->inodes; i++) {
			if ((whole || i == last) && crash_is_volatile(crash, i, &len))
				try_one_file(explorer, i, len);
		}
	}
}

/* How many of each directory's operations on names are on disk: the first ones. */
struct orders {
	size_t *total, *first;	/* of each inode that is a directory */
	size_t *done;
};

static void count_totals(const struct crash *crash, struct orders *orders)
{
	memset(orders->total, 0, crash->tape->inodes * sizeof(*orders->total));
	for (size_t i = crash->durable; i < crash->cut; i++) {
		const struct operation *operation = &crash->tape->operations[i];

		if (!operation_names(operation) || crash_is_durable(crash, i))
			continue;
		orders->total[operation->directory]++;
		if (operation->kind == OPERATION_RENAME &&
		    operation->to_directory != operation->directory)
			orders->total[operation->to_directory]++;
	}
}

/* One pass; false: a rename between two directories was lost in one, which shortens the other. */
static bool apply_once(struct crash *crash, struct orders *orders)
{
	memset(orders->done, 0, crash->tape->inodes * sizeof(*orders->done));
	for (size_t i = crash->durable; i < crash->cut; i++) {
		const struct operation *operation = &crash->tape->operations[i];
		unsigned int from = operation->directory, to = operation->to_directory;
		bool two = operation->kind == OPERATION_RENAME && from != to;
		bool kept;

		if (!operation_names(operation) || crash_is_durable(crash, i))
			continue;
		kept = orders->done[from] < orders->first[from] &&
		       (!two || orders->done[to] < orders->first[to]);
		if (!kept && orders->done[from] < orders->first[from]) {
			orders->first[from] = orders->done[from];
			return false;
		}
		if (!kept && two && orders->done[to] < orders->first[to]) {
			orders->first[to] = orders->done[to];
			return false;
		}
		crash->kept[i] = kept;
		orders->done[from]++;
		if (two)
			orders->done[to]++;
	}
	return true;
}

static void apply_orders(struct crash *crash, struct orders *orders)
{
	while (!apply_once(crash, orders))
		;
}

/* Each file with its own fate. */
static void choose_remains(struct explorer *explorer)
{
	struct crash *crash = &explorer->crash;
	uint64_t len, odds = next(explorer, 4);

	for (unsigned int i = 0; i < crash->tape->inodes; i++) {
		crash->remains[i] = (struct remains){ 0 };
		if (!crash_is_volatile(crash, i, &len) || next(explorer, 4) < odds)
			continue;
		crash->remains[i].kind = (enum remains_kind)next(explorer, REMAINS_COUNT);
		crash->remains[i].at = next(explorer, len + 1);
	}
}

static size_t choose_cut(struct explorer *explorer)
{
	size_t durable = explorer->crash.durable, count = explorer->crash.tape->count;

	return next(explorer, 2) ? count : durable + next(explorer, count - durable + 1);
}

static void sample_orders(struct explorer *explorer, struct orders *orders)
{
	struct crash *crash = &explorer->crash;

	for (uint64_t n = 0; n < explorer->effort->samples; n++) {
		crash_keep_all(crash, choose_cut(explorer));
		count_totals(crash, orders);
		for (unsigned int i = 0; i < crash->tape->inodes; i++) {
			uint64_t way = next(explorer, 6);

			orders->first[i] = way < 2 ? orders->total[i] :
					   way < 3 ? 0 : next(explorer, orders->total[i] + 1);
		}
		apply_orders(crash, orders);
		choose_remains(explorer);
		if (!try_state(explorer))
			return;
	}
}

/* The next choice of how many; false: that was the last. */
static bool advance(const struct crash *crash, struct orders *orders)
{
	for (unsigned int i = 0; i < crash->tape->inodes; i++) {
		if (orders->first[i] < orders->total[i]) {
			orders->first[i]++;
			return true;
		}
		orders->first[i] = 0;
	}
	return false;
}

/* All of them, if there are no more than samples. */
static void exhaust_orders(struct explorer *explorer, struct orders *orders)
{
	static const enum remains_kind kinds[] = { REMAINS_ALL, REMAINS_NONE, REMAINS_HOLE };
	struct crash *crash = &explorer->crash;
	size_t *chosen = calloc(crash->tape->inodes, sizeof(*chosen));
	uint64_t product = 1;

	if (!chosen)
		abort();
	crash_keep_all(crash, crash->tape->count);
	count_totals(crash, orders);
	for (unsigned int i = 0; i < crash->tape->inodes; i++) {
		orders->first[i] = 0;
		if (product <= explorer->effort->samples)
			product *= orders->total[i] + 1;
	}
	if (product > explorer->effort->samples)
		goto out;
	do {
		memcpy(chosen, orders->first, crash->tape->inodes * sizeof(*chosen));
		apply_orders(crash, orders);
		memcpy(orders->first, chosen, crash->tape->inodes * sizeof(*chosen));
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
			set_all_remains(explorer, kinds[i]);
			if (!try_state(explorer))
				goto out;
		}
	} while (advance(crash, orders));
out:
	free(chosen);
}

static void explore_orders(struct explorer *explorer)
{
	size_t inodes = explorer->crash.tape->inodes;
	struct orders orders = {
		.total = calloc(inodes, sizeof(size_t)),
		.first = calloc(inodes, sizeof(size_t)),
		.done = calloc(inodes, sizeof(size_t)),
	};

	if (!orders.total || !orders.first || !orders.done)
		abort();
	explorer->mode = "each directory in its order";
	exhaust_orders(explorer, &orders);
	sample_orders(explorer, &orders);
	free(orders.total);
	free(orders.first);
	free(orders.done);
}

/* Keeps those operations whose bit is set, counted among those that may be lost. */
static unsigned int keep_set(struct crash *crash, uint64_t set)
{
	unsigned int count = 0;

	for (size_t i = crash->durable; i < crash->cut; i++) {
		if (operation_names(&crash->tape->operations[i]) && !crash_is_durable(crash, i)) {
			crash->kept[i] = count < MAX_SET && set >> count & 1;
			count++;
		}
	}
	return count;
}

static void explore_sets(struct explorer *explorer)
{
	struct crash *crash = &explorer->crash;
	unsigned int count;

	explorer->mode = "any set";
	crash_keep_all(crash, crash->tape->count);
	count = keep_set(crash, 0);
	for (uint64_t set = 0; count <= MAX_SET && UINT64_C(1) << count <= explorer->effort->samples &&
			       set < UINT64_C(1) << count; set++) {
		(void)keep_set(crash, set);
		set_all_remains(explorer, REMAINS_ALL);
		if (!try_state(explorer))
			return;
	}
	for (uint64_t n = 0; n < explorer->effort->samples; n++) {
		uint64_t odds = 1 + next(explorer, 9);

		crash_keep_all(crash, choose_cut(explorer));
		for (size_t i = crash->durable; i < crash->cut; i++) {
			if (operation_names(&crash->tape->operations[i]) &&
			    !crash_is_durable(crash, i))
				crash->kept[i] = next(explorer, 10) < odds;
		}
		choose_remains(explorer);
		if (!try_state(explorer))
			return;
	}
}

struct explored explore(const struct tape *tape, size_t durable, const struct effort *effort,
			explore_check_fn check, void *ctx)
{
	struct explorer explorer = {
		.effort = effort,
		.check = check,
		.ctx = ctx,
		.result.operations = tape->count - durable,
		.random = (effort->seed + 1) * UINT64_C(0x9e3779b97f4a7c15) | 1,
	};

	crash_init(&explorer.crash, tape, durable);
	explore_prefixes(&explorer);
	explore_orders(&explorer);
	explore_sets(&explorer);
	crash_release(&explorer.crash);
	free(explorer.seen);
	return explorer.result;
}
