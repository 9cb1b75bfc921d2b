/* SPDX-License-Identifier: MIT */
/*
 * stats: counters in the process, and their sum over all processes in the
 * root's files: stats.txt, and what was appended to stats.log since.
 *
 * Each counter is kept twice: the total that cc_stats_get shows, and what is
 * still to be flushed. A flush takes the latter with an exchange and gives it
 * back on failure, so that concurrent flushes count nothing twice. Bypass
 * reasons sit in slots that are filled in order and never emptied; an empty
 * slot is claimed by compare-and-swap, hence no lock, and nothing that fork
 * could leave locked.
 */
#include "cachecore/record/stats.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "cachecore/record/stats_log.h"
#include "cachecore/record/usage.h"
#include "cachecore/disk/path.h"
#include "common/clock.h"
#include "common/env.h"
#include "common/file.h"
#include "common/hash.h"

#define BYPASS_PREFIX "bypass."
#define OTHER "other"
/* What of stats.log is in stats.txt already: who merged it died before it was removed. */
#define MERGED_BYTES "merged_bytes"
#define MERGED_HASH "merged_hash"
#define DAY_NS (UINT64_C(86400) * 1000000000)
#define MAX_REASONS 64
#define MAX_REASON_LEN 48	/* "a short word" */
#define MAX_FILE_SIZE 65536	/* some 70 lines of 80 bytes at most */
#define LOCK_WAIT_NS UINT64_C(500000000)

struct counter {
	_Atomic uint64_t total;
	_Atomic uint64_t pending;
};

struct bypass {
	_Atomic(char *) reason;
	struct counter counter;
};

struct cc_stats {
	struct counter counters[CC_COUNTER_COUNT];
	struct bypass bypasses[MAX_REASONS];
	struct counter other;
	const char *program;	/* NULL: this process's */
};

const char *cc_counter_name(enum cc_counter counter)
{
	static const char *const names[CC_COUNTER_COUNT] = {
		[CC_HITS_MEMORY] = "hits_memory",
		[CC_HITS_DISK] = "hits_disk",
		[CC_MISSES] = "misses",
		[CC_STORES] = "stores",
		[CC_DEFERRED] = "deferred",
		[CC_ERRORS] = "errors",
		[CC_COMPILE_NS_SPENT] = "compile_ns_spent",
		[CC_COMPILE_NS_SAVED] = "compile_ns_saved",
		[CC_HITS_REMOTE] = "hits_remote",
		[CC_UNATTENDED] = "unattended",
		[CC_UNATTENDED_NS] = "unattended_ns",
	};

	return names[counter];
}

struct cc_stats *cc_stats_new(void)
{
	return calloc(1, sizeof(struct cc_stats));
}

void cc_stats_free(struct cc_stats *stats)
{
	if (!stats)
		return;
	for (unsigned int i = 0; i < MAX_REASONS; i++)
		free(atomic_load(&stats->bypasses[i].reason));
	free(stats);
}

void cc_stats_set_program(struct cc_stats *stats, const char *program)
{
	stats->program = program;
}

/* Sums stop at the largest number: a damaged file may hold any. */
static void add_to(_Atomic uint64_t *sum, uint64_t amount)
{
	uint64_t old = atomic_load_explicit(sum, memory_order_relaxed), new;

	do {
		new = amount > UINT64_MAX - old ? UINT64_MAX : old + amount;
	} while (!atomic_compare_exchange_weak_explicit(sum, &old, new, memory_order_relaxed,
							memory_order_relaxed));
}

void cc_stats_add(struct cc_stats *stats, enum cc_counter counter, uint64_t amount)
{
	add_to(&stats->counters[counter].total, amount);
	add_to(&stats->counters[counter].pending, amount);
}

void cc_stats_hit(struct cc_stats *stats, enum cc_counter counter, uint64_t saved_ns)
{
	add_to(&stats->counters[counter].total, 1);
	add_to(&stats->counters[counter].pending, 1);
	add_to(&stats->counters[CC_COMPILE_NS_SAVED].total, saved_ns);
	add_to(&stats->counters[CC_COMPILE_NS_SAVED].pending, saved_ns);
}

static bool is_reason(const char *text)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	size_t len = strlen(text);

	return len && len <= MAX_REASON_LEN && strspn(text, letters) == len;
}

/* The reason's counter; that of "other" if it can have none of its own. */
static struct counter *find_bypass(struct cc_stats *stats, const char *reason)
{
	char *copy = NULL;
	unsigned int i;

	if (!is_reason(reason) || strcmp(reason, OTHER) == 0)
		return &stats->other;
	for (i = 0; i < MAX_REASONS; i++) {
		char *there = atomic_load(&stats->bypasses[i].reason);

		if (!there) {
			if (!copy)
				copy = strdup(reason);
			if (!copy)
				return &stats->other;
			if (atomic_compare_exchange_strong(&stats->bypasses[i].reason, &there,
							   copy))
				return &stats->bypasses[i].counter;
		}
		if (strcmp(there, reason) == 0)
			break;
	}
	free(copy);
	return i < MAX_REASONS ? &stats->bypasses[i].counter : &stats->other;
}

void cc_stats_bypass(struct cc_stats *stats, const char *reason)
{
	struct counter *counter = find_bypass(stats, reason);

	add_to(&counter->total, 1);
	add_to(&counter->pending, 1);
}

uint64_t cc_stats_get(const struct cc_stats *stats, enum cc_counter counter)
{
	return atomic_load_explicit(&stats->counters[counter].total, memory_order_relaxed);
}

const char *cc_stats_bypass_at(const struct cc_stats *stats, unsigned int i, uint64_t *ret_count)
{
	const struct counter *counter = &stats->other;
	const char *reason = OTHER;
	unsigned int used = 0;

	while (used < MAX_REASONS && atomic_load(&stats->bypasses[used].reason))
		used++;
	if (i < used) {
		reason = atomic_load(&stats->bypasses[i].reason);
		counter = &stats->bypasses[i].counter;
	} else if (i > used || atomic_load(&counter->total) == 0) {
		return NULL;
	}
	*ret_count = atomic_load_explicit(&counter->total, memory_order_relaxed);
	return reason;
}

/* The i-th of all counters, also of reasons that are not there yet; NULL: no more. */
static struct counter *counter_at(struct cc_stats *stats, unsigned int i)
{
	if (i < CC_COUNTER_COUNT)
		return &stats->counters[i];
	i -= CC_COUNTER_COUNT;
	if (i < MAX_REASONS)
		return &stats->bypasses[i].counter;
	return i == MAX_REASONS ? &stats->other : NULL;
}

void cc_stats_forget(struct cc_stats *stats)
{
	struct counter *counter;

	for (unsigned int i = 0; (counter = counter_at(stats, i)); i++)
		atomic_store(&counter->pending, 0);
}

/* The counter that a line of the file names, or NULL. */
static struct counter *find_counter(struct cc_stats *stats, const char *name)
{
	if (strncmp(name, BYPASS_PREFIX, strlen(BYPASS_PREFIX)) == 0) {
		name += strlen(BYPASS_PREFIX);
		return is_reason(name) ? find_bypass(stats, name) : NULL;
	}
	for (unsigned int i = 0; i < CC_COUNTER_COUNT; i++) {
		if (strcmp(cc_counter_name((enum cc_counter)i), name) == 0)
			return &stats->counters[i];
	}
	return NULL;
}

/* The beginning of a log, by its length and a part of the hash of whose its first record is. */
struct merged {
	uint64_t bytes, hash;
};

/* The record's counts may grow before the merge is known, and after. */
static uint64_t hash_of(struct cmn_view log)
{
	bool any = log.len >= CC_STATS_LOG_OWNER_AT + CC_STATS_LOG_OWNER_SIZE;
	struct cmn_hash hash = cmn_hash_of((const uint8_t *)log.data + (any ? CC_STATS_LOG_OWNER_AT : 0),
					   any ? CC_STATS_LOG_OWNER_SIZE : 0);
	uint64_t part;

	memcpy(&part, hash.bytes, sizeof(part));
	return le64toh(part);
}

/* What of a log is not merged. One whose first record was damaged since may be that log: better lost than twice. */
static struct cmn_view rest_of(struct cmn_view log, const struct merged *merged)
{
	size_t done = merged->bytes < log.len ? (size_t)merged->bytes : log.len;
	struct cmn_view rest = log;
	struct cc_stats_record first;

	if (!done || (hash_of(log) != merged->hash && cc_stats_log_next(&rest, &first) &&
		      log.len - rest.len == CC_STATS_LOG_RECORD))
		return log;
	return (struct cmn_view){ (const uint8_t *)log.data + done, log.len - done };
}

static void load_line(struct cc_stats *stats, char *line, struct merged *merged)
{
	char *space = strchr(line, ' ');
	struct counter *counter;
	uint64_t value;

	if (!space)
		return;
	*space = '\0';
	if (cmn_env_parse_number(space + 1, 0, UINT64_MAX, &value) != CMN_OK)
		return;
	if (strcmp(line, MERGED_BYTES) == 0)
		merged->bytes = value;
	else if (strcmp(line, MERGED_HASH) == 0)
		merged->hash = value;
	counter = find_counter(stats, line);
	if (counter)
		add_to(&counter->total, value);
}

static enum cmn_status load_text(struct cc_stats *stats, int root_fd, struct merged *merged)
{
	struct cmn_buffer content;
	enum cmn_status status;
	char *text, *line;

	status = cmn_file_read(root_fd, CC_STATS_NAME, MAX_FILE_SIZE, false, &content);
	if (status != CMN_OK)
		return status;
	text = cmn_buffer_take_string(&content);
	if (!text)
		return CMN_ERR_NOMEM;
	line = text;
	while (line) {
		char *next = strchr(line, '\n');

		/* The last line has an end too, or it was cut. */
		if (next) {
			*next++ = '\0';
			load_line(stats, line, merged);
		}
		line = next;
	}
	free(text);
	return CMN_OK;
}

static void add_usage(struct cc_usage *usage, const struct cc_stats_record *record)
{
	struct cc_usage_counts counts = {
		.hits_memory = record->counters[CC_HITS_MEMORY],
		.hits_disk = record->counters[CC_HITS_DISK] + record->counters[CC_HITS_REMOTE],
		.misses = record->counters[CC_MISSES],
		.spent_ns = record->counters[CC_COMPILE_NS_SPENT],
		.saved_ns = record->counters[CC_COMPILE_NS_SAVED],
		.unattended = record->counters[CC_UNATTENDED],
		.unattended_ns = record->counters[CC_UNATTENDED_NS],
	};

	for (unsigned int i = 0; i < record->reason_count; i++)
		counts.bypasses += record->reasons[i].count;
	if (cc_usage_is_any(&counts))
		cc_usage_add(usage, record->day, record->program, &counts);
}

static void load_record(struct cc_stats *stats, const struct cc_stats_record *record)
{
	for (unsigned int i = 0; i < CC_COUNTER_COUNT; i++)
		add_to(&stats->counters[i].total, record->counters[i]);
	for (unsigned int i = 0; i < record->reason_count; i++)
		add_to(&find_bypass(stats, record->reasons[i].name)->total,
		       record->reasons[i].count);
}

static bool is_no_file_of_counts(enum cmn_status status)
{
	return status == CMN_MISS || status == CMN_ERR_TOO_LARGE || status == CMN_ERR_ACCESS;
}

/*
 * Adds both files. The log is read first, so that what is merged meanwhile shows
 * as merged. usage (may be NULL) gets what is in the log alone. *log is the
 * caller's in any case, *ret_log how it was read. CMN_MISS: there is neither.
 */
static enum cmn_status load_from(struct cc_stats *stats, int root_fd, struct cc_usage *usage,
				 struct cmn_buffer *log, enum cmn_status *ret_log)
{
	struct merged merged = { 0 };
	struct cc_stats_record record;
	enum cmn_status status;
	struct cmn_view rest;

	*ret_log = cc_stats_log_read(root_fd, log);
	status = load_text(stats, root_fd, &merged);
	rest = rest_of(cmn_buffer_view(log), &merged);
	while (cc_stats_log_next(&rest, &record)) {
		load_record(stats, &record);
		if (usage)
			add_usage(usage, &record);
		if (is_no_file_of_counts(status))
			status = CMN_OK;
	}
	return status;
}

enum cmn_status cc_stats_load(struct cc_stats *stats, const char *root)
{
	struct cmn_buffer log = { 0 };
	enum cmn_status status, ignored;
	int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		return cmn_status_from_errno(errno);
	status = load_from(stats, fd, NULL, &log, &ignored);
	cmn_buffer_release(&log);
	(void)close(fd);	/* nothing was written through it */
	return status;
}

enum cmn_status cc_stats_load_usage(struct cc_usage *usage, int root_fd)
{
	struct cc_stats *ignored = cc_stats_new();
	struct cmn_buffer log = { 0 };
	enum cmn_status status, log_status;

	if (!ignored)
		return CMN_ERR_NOMEM;
	/* In this order: what is merged meanwhile is left out, and not counted twice. */
	status = cc_usage_load(usage, root_fd);
	(void)!load_from(ignored, root_fd, usage, &log, &log_status);	/* without it there is less to tell */
	if (status == CMN_MISS && usage->day_count)
		status = CMN_OK;
	cmn_buffer_release(&log);
	cc_stats_free(ignored);
	return status;
}

/* The last one in the log, if it compiled nothing; zeros: none. What ckcache replay did does not count. */
static struct cc_stats_record find_idle(struct cmn_view log)
{
	struct cc_stats_record record, found = { 0 };

	while (cc_stats_log_next(&log, &record)) {
		if (cc_stats_log_is_idle(&record))
			found = record;
		else if (!record.counters[CC_UNATTENDED])
			found = (struct cc_stats_record){ 0 };
	}
	return found;
}

enum cmn_status cc_stats_load_idle_run(int root_fd, struct cc_stats_record *ret)
{
	struct cc_stats_record found = { 0 };
	struct cmn_buffer log = { 0 };
	enum cmn_status status = cc_stats_log_read(root_fd, &log);

	if (status == CMN_OK)
		found = find_idle(cmn_buffer_view(&log));
	cmn_buffer_release(&log);
	if (status == CMN_OK && !found.time_ns)
		status = CMN_MISS;
	if (status == CMN_OK)
		*ret = found;
	return status;
}

enum cmn_status cc_stats_zero(const char *root)
{
	/* The log first: what it has, and stats.txt says to be merged, would count again. */
	static const char *const names[] = { CC_STATS_LOG_NAME, CC_STATS_NAME, CC_USAGE_NAME };
	enum cmn_status status;
	int fd = -1;

	status = cc_root_open(root, &fd);
	if (status == CMN_MISS)
		return CMN_OK;
	if (status != CMN_OK)
		return status;
	status = cmn_file_lock(fd, cmn_clock_monotonic() + LOCK_WAIT_NS);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && status == CMN_OK; i++) {
		if (unlinkat(fd, names[i], 0) < 0 && errno != ENOENT)
			status = errno == EISDIR ? cmn_file_make_way(fd, names[i]) :
						   cmn_status_from_errno(errno);
	}
	cc_root_unlock(fd);
	return status;
}

bool cc_stats_pending(const struct cc_stats *stats)
{
	bool any = atomic_load(&stats->other.pending) != 0;

	for (unsigned int i = 0; i < CC_COUNTER_COUNT; i++)
		any |= atomic_load(&stats->counters[i].pending) != 0;
	for (unsigned int i = 0; i < MAX_REASONS; i++)
		any |= atomic_load(&stats->bypasses[i].counter.pending) != 0;
	return any;
}

/* Moves what is pending to `taken`, whose totals it becomes; false: there is nothing. */
static bool take_pending(struct cc_stats *stats, struct cc_stats *taken)
{
	struct counter *counter;
	bool any = false;

	for (unsigned int i = 0; (counter = counter_at(stats, i)); i++) {
		uint64_t amount = atomic_exchange(&counter->pending, 0);
		struct counter *to = counter_at(taken, i);

		if (!amount)
			continue;
		if (i >= CC_COUNTER_COUNT && i < CC_COUNTER_COUNT + MAX_REASONS)
			to = find_bypass(taken,
					 atomic_load(&stats->bypasses[i - CC_COUNTER_COUNT].reason));
		add_to(&to->total, amount);
		add_to(&to->pending, amount);
		any = true;
	}
	return any;
}

static void give_back(struct cc_stats *stats, struct cc_stats *taken)
{
	for (unsigned int i = 0; i < CC_COUNTER_COUNT; i++)
		add_to(&stats->counters[i].pending, atomic_load(&taken->counters[i].pending));
	for (unsigned int i = 0; i < MAX_REASONS; i++) {
		const char *reason = atomic_load(&taken->bypasses[i].reason);

		if (reason)
			add_to(&find_bypass(stats, reason)->pending,
			       atomic_load(&taken->bypasses[i].counter.pending));
	}
	add_to(&stats->other.pending, atomic_load(&taken->other.pending));
}

static void encode(const struct cc_stats *stats, struct cmn_buffer *ret)
{
	const char *reason;
	uint64_t amount;

	for (unsigned int i = 0; i < CC_COUNTER_COUNT; i++) {
		amount = cc_stats_get(stats, (enum cc_counter)i);
		/* What was added since has a line where it was counted. */
		if (amount || i < CC_STATS_LOG_COUNTERS)
			cmn_buffer_printf(ret, "%s %llu\n", cc_counter_name((enum cc_counter)i),
					  (unsigned long long)amount);
	}
	for (unsigned int i = 0; (reason = cc_stats_bypass_at(stats, i, &amount)); i++)
		cmn_buffer_printf(ret, BYPASS_PREFIX "%s %llu\n", reason,
				  (unsigned long long)amount);
}

static void encode_merged(const struct cmn_buffer *log, struct cmn_buffer *ret)
{
	if (log->len)
		cmn_buffer_printf(ret, MERGED_BYTES " %zu\n" MERGED_HASH " %llu\n", log->len,
				  (unsigned long long)hash_of(cmn_buffer_view(log)));
}

/* What was taken. false: it has more reasons than a record, whose last then stands for the rest. */
static bool make_record(const struct cc_stats *taken, const char *program,
			struct cc_stats_record *ret)
{
	bool fits = true;
	uint64_t count;

	*ret = (struct cc_stats_record){ .day = (uint32_t)(cmn_clock_realtime() / DAY_NS) };
	(void)strncat(ret->program, program ? program : cc_path_program(), sizeof(ret->program) - 1);
	for (unsigned int i = 0; i < CC_COUNTER_COUNT; i++)
		ret->counters[i] = atomic_load(&taken->counters[i].pending);
	for (unsigned int i = 0; i <= MAX_REASONS; i++) {
		const char *reason = i < MAX_REASONS ? atomic_load(&taken->bypasses[i].reason) : OTHER;

		count = i < MAX_REASONS ? atomic_load(&taken->bypasses[i].counter.pending)
					: atomic_load(&taken->other.pending);
		if (!count)
			continue;
		if (ret->reason_count == CC_STATS_LOG_REASONS) {
			ret->reasons[CC_STATS_LOG_REASONS - 1].count += count;
			fits = false;
			continue;
		}
		(void)strncat(ret->reasons[ret->reason_count].name, reason, CC_STATS_LOG_REASON_SIZE);
		ret->reasons[ret->reason_count++].count = count;
	}
	return fits;
}

/* The log is gone: who ran last without compiling, of whom explain speaks, is not to be forgotten with it. */
static void keep_idle_run(int root_fd, const struct cc_stats_record *own, struct cmn_view log)
{
	struct cc_stats_record last = { 0 };

	/* Who compiled while somebody waited ran last itself. */
	if (cc_stats_log_is_idle(own))
		last = *own;
	else if (own->counters[CC_UNATTENDED])
		last = find_idle(log);
	if (!last.program[0])
		return;
	/* What it counted is in stats.txt. As the first record it must not be taken for the last log's. */
	memset(last.counters, 0, sizeof(last.counters));
	last.time_ns += last.time_ns != 0;
	(void)!cc_stats_log_put(root_fd, &last, NULL);	/* then explain knows less */
}

/* taken becomes the sum of itself and the files; stats.txt and usage.txt are replaced. The root is locked. */
static enum cmn_status merge(struct cc_stats *taken, int root_fd, const struct cc_stats_record *record,
			     struct cc_usage *more, uint64_t until)
{
	struct cmn_buffer text = { 0 }, log = { 0 };
	enum cmn_status log_status, status;
	struct cmn_view view;
	int log_fd;

	/* What is read is all that will be there: nobody counts into it meanwhile. */
	status = cc_stats_log_lock(root_fd, until, &log_fd);
	if (status == CMN_OK)
		status = load_from(taken, root_fd, more, &log, &log_status);
	else
		goto out;
	/* It is replaced by one; what merely failed to be read is not. */
	if (is_no_file_of_counts(status))
		status = CMN_OK;
	if (status == CMN_OK && !is_no_file_of_counts(log_status))
		status = log_status;
	if (status != CMN_OK)
		goto out;
	/* Twice: without a sync the file may lose its end, and more than its end. */
	encode_merged(&log, &text);
	encode(taken, &text);
	encode_merged(&log, &text);
	view = cmn_buffer_view(&text);
	status = text.failed ? CMN_ERR_NOMEM : cmn_file_replace(root_fd, CC_STATS_NAME, &view, 1);
	if (status == CMN_OK) {
		/* The sums are written: giving these back would count all of them twice. */
		(void)cc_usage_record(root_fd, more);
		cc_stats_log_remove(root_fd, log_fd, log_status, log.len);
		cc_stats_log_unlock(log_fd);
		log_fd = -1;
		keep_idle_run(root_fd, record, cmn_buffer_view(&log));
	}
out:
	cc_stats_log_unlock(log_fd);
	cmn_buffer_release(&text);
	cmn_buffer_release(&log);
	return status;
}

static enum cmn_status merge_into(struct cc_stats *taken, const struct cc_stats_record *record,
				  int root_fd, uint64_t until)
{
	struct cc_usage *more = calloc(1, sizeof(*more));
	enum cmn_status status = CMN_ERR_NOMEM;

	if (!more)
		return status;
	add_usage(more, record);
	status = cmn_file_lock(root_fd, until);
	if (status == CMN_OK)
		status = merge(taken, root_fd, record, more, until);
	cmn_file_unlock(root_fd);
	free(more);
	return status;
}

/* As long as the log has room, nobody waits for a lock or replaces a file. */
static enum cmn_status flush_into(struct cc_stats *taken, const char *program, int root_fd,
				  struct cc_stats_place *place, uint64_t until)
{
	struct cc_stats_record record;

	if (make_record(taken, program, &record) && cc_stats_log_put(root_fd, &record, place) == CMN_OK)
		return CMN_OK;
	return merge_into(taken, &record, root_fd, until);
}

enum cmn_status cc_stats_flush(struct cc_stats *stats, const char *root, int root_fd,
			       struct cc_stats_place *place, uint64_t until)
{
	struct cc_stats *taken = cc_stats_new();
	enum cmn_status status = CMN_OK;
	int fd = root_fd;

	if (!taken)
		return CMN_ERR_NOMEM;
	if (take_pending(stats, taken)) {
		if (fd < 0 && cc_root_open(root, &fd) != CMN_OK)
			status = cc_root_make(root, &fd);
		if (status == CMN_OK)
			status = flush_into(taken, stats->program, fd, place, until);
		if (status != CMN_OK)
			give_back(stats, taken);
	}
	if (fd != root_fd)
		(void)close(fd);	/* a directory: nothing to be lost */
	cc_stats_free(taken);
	return status;
}
