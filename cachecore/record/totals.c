/* SPDX-License-Identifier: MIT */
/* totals: what each event counts as, the text of stats.txt, and adding a log up. */
#include "cachecore/record/totals.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cachecore/disk/root.h"
#include "common/clock.h"
#include "common/env.h"

#define BYPASS_PREFIX "bypass."
#define OTHER "other"
#define LOG_ID "log_id"
#define LOG_BYTES "log_bytes"
#define DAY_NS (UINT64_C(86400) * 1000000000)
/* 366 days of 200 bytes and 64 programs of 400 at most, 80 other lines of 100. */
#define MAX_FILE_SIZE 131072
#define LOCK_WAIT_NS UINT64_C(500000000)

static const char *const names[CC_COUNTER_COUNT] = {
	[CC_HITS_MEMORY] = "hits_memory",
	[CC_HITS_DISK] = "hits_disk",
	[CC_HITS_REMOTE] = "hits_remote",
	[CC_MISSES] = "misses",
	[CC_DEFERRED] = "deferred",
	[CC_FAILED] = "failed",
	[CC_STORES] = "stores",
	[CC_ERRORS] = "errors",
	[CC_COMPILE_NS_SPENT] = "compile_ns_spent",
	[CC_COMPILE_NS_SAVED] = "compile_ns_saved",
	[CC_UNATTENDED] = "unattended",
	[CC_UNATTENDED_NS] = "unattended_ns",
};

const char *cc_counter_name(enum cc_counter counter)
{
	return names[counter];
}

static void add_to(uint64_t *sum, uint64_t amount)
{
	*sum = amount > UINT64_MAX - *sum ? UINT64_MAX : *sum + amount;
}

/* ---- days and programs ---- */

#define COUNTS (sizeof(struct cc_usage_counts) / sizeof(uint64_t))	/* the members in their order */

void cc_usage_add_counts(struct cc_usage_counts *to, const struct cc_usage_counts *counts)
{
	uint64_t sums[COUNTS], more[COUNTS];

	memcpy(sums, to, sizeof(sums));
	memcpy(more, counts, sizeof(more));
	for (size_t i = 0; i < COUNTS; i++)
		add_to(&sums[i], more[i]);
	memcpy(to, sums, sizeof(sums));
}

static uint32_t distance(uint32_t a, uint32_t b)
{
	return a > b ? a - b : b - a;
}

/* The oldest, unless a clock once was wrong: then a day of the future. */
static void drop_farthest_day(struct cc_usage *usage, uint32_t day)
{
	const struct cc_usage_day *first = &usage->days[0];
	const struct cc_usage_day *last = &usage->days[usage->day_count - 1];

	usage->day_count--;
	if (distance(first->day, day) >= distance(last->day, day))
		memmove(usage->days, usage->days + 1, usage->day_count * sizeof(*usage->days));
}

static void add_day(struct cc_usage *usage, uint32_t day, const struct cc_usage_counts *counts)
{
	size_t i = usage->day_count;

	while (i > 0 && usage->days[i - 1].day >= day)
		i--;
	if (i == usage->day_count || usage->days[i].day != day) {
		if (usage->day_count == CC_USAGE_MAX_DAYS) {
			drop_farthest_day(usage, day);
			i = usage->day_count;
			while (i > 0 && usage->days[i - 1].day > day)
				i--;
		}
		memmove(usage->days + i + 1, usage->days + i,
			(usage->day_count - i) * sizeof(*usage->days));
		usage->days[i] = (struct cc_usage_day){ .day = day };
		usage->day_count++;
	}
	cc_usage_add_counts(&usage->days[i].counts, counts);
}

/* The one that was used longest ago becomes a part of the others. */
static struct cc_usage_program *make_room(struct cc_usage *usage)
{
	struct cc_usage_program *oldest = &usage->programs[0];

	if (usage->program_count < CC_USAGE_MAX_PROGRAMS)
		return &usage->programs[usage->program_count++];
	for (size_t i = 1; i < usage->program_count; i++) {
		if (usage->programs[i].last_day < oldest->last_day)
			oldest = &usage->programs[i];
	}
	cc_usage_add_counts(&usage->others, &oldest->counts);
	return oldest;
}

static void add_program(struct cc_usage *usage, uint32_t day, struct cmn_view name,
			const struct cc_usage_counts *counts)
{
	struct cc_usage_program *program = NULL;
	char cut[CC_USAGE_PROGRAM_SIZE] = "";
	size_t len = name.len ? strnlen(name.data, name.len) : 0;

	if (!len)
		name = cmn_view_of("?");
	memcpy(cut, name.data, !len ? 1 : len < sizeof(cut) ? len : sizeof(cut) - 1);
	for (size_t i = 0; i < usage->program_count && !program; i++) {
		if (strcmp(usage->programs[i].name, cut) == 0)
			program = &usage->programs[i];
	}
	if (!program) {
		program = make_room(usage);
		*program = (struct cc_usage_program){ 0 };
		memcpy(program->name, cut, sizeof(cut));
	}
	if (program->last_day < day)
		program->last_day = day;
	cc_usage_add_counts(&program->counts, counts);
}

void cc_usage_add(struct cc_usage *usage, uint32_t day, struct cmn_view program,
		  const struct cc_usage_counts *counts)
{
	add_day(usage, day, counts);
	add_program(usage, day, program, counts);
}

bool cc_usage_is_any(const struct cc_usage_counts *counts)
{
	return counts->hits_memory || counts->hits_disk || counts->misses || counts->bypasses ||
	       counts->unattended;
}

static bool parse_u64(const char *word, uint64_t max, uint64_t *ret)
{
	return word && cmn_env_parse_number(word, 0, max, ret) == CMN_OK;
}

/* The rest of a line. */
static bool parse_counts(char **state, struct cc_usage_counts *ret)
{
	uint64_t counts[COUNTS] = { 0 };

	for (size_t i = 0; i < COUNTS; i++) {
		if (!parse_u64(strtok_r(NULL, " ", state), UINT64_MAX, &counts[i]))
			return false;
	}
	memcpy(ret, counts, sizeof(counts));
	return !strtok_r(NULL, " ", state);
}

static bool is_plain(char c)
{
	return isascii((unsigned char)c) && (isalnum((unsigned char)c) || strchr("._+-", c));
}

/* Decoded in place; NULL: it is no name that was written here. */
static char *parse_name(char *word)
{
	for (const char *at = word; at && *at; at++) {
		if (*at != '%' && !is_plain(*at))
			return NULL;
	}
	return word && cmn_percent_decode(word) && strlen(word) < CC_USAGE_PROGRAM_SIZE ? word : NULL;
}

void cc_usage_parse_line(struct cc_usage *usage, char *line)
{
	char *name, *state = NULL;
	const char *kind = strtok_r(line, " ", &state);
	struct cc_usage_counts counts;
	uint64_t day;

	if (!kind)
		return;
	if (strcmp(kind, "others") == 0) {
		if (parse_counts(&state, &counts))
			cc_usage_add_counts(&usage->others, &counts);
	} else if (strcmp(kind, "day") == 0) {
		if (parse_u64(strtok_r(NULL, " ", &state), UINT32_MAX, &day) && parse_counts(&state, &counts))
			add_day(usage, (uint32_t)day, &counts);
	} else if (strcmp(kind, "program") == 0) {
		name = parse_name(strtok_r(NULL, " ", &state));
		if (name && parse_u64(strtok_r(NULL, " ", &state), UINT32_MAX, &day) &&
		    parse_counts(&state, &counts))
			add_program(usage, (uint32_t)day, cmn_view_of(name), &counts);
	}
}

static void append_counts(struct cmn_buffer *text, const struct cc_usage_counts *counts)
{
	uint64_t all[COUNTS];

	memcpy(all, counts, sizeof(all));
	for (size_t i = 0; i < COUNTS; i++)
		cmn_buffer_printf(text, " %llu", (unsigned long long)all[i]);
	cmn_buffer_append_u8(text, '\n');
}

void cc_usage_encode(const struct cc_usage *usage, struct cmn_buffer *ret)
{
	for (size_t i = 0; i < usage->day_count; i++) {
		cmn_buffer_printf(ret, "day %u", (unsigned int)usage->days[i].day);
		append_counts(ret, &usage->days[i].counts);
	}
	for (size_t i = 0; i < usage->program_count; i++) {
		cmn_buffer_append_text(ret, "program ");
		for (const char *at = usage->programs[i].name; *at; at++)
			cmn_buffer_printf(ret, is_plain(*at) ? "%c" : "%%%02x", (unsigned char)*at);
		cmn_buffer_printf(ret, " %u", (unsigned int)usage->programs[i].last_day);
		append_counts(ret, &usage->programs[i].counts);
	}
	if (cc_usage_is_any(&usage->others)) {
		cmn_buffer_append_text(ret, "others");
		append_counts(ret, &usage->others);
	}
}

/* ---- all ---- */

static bool is_reason(struct cmn_view word)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
	const char *text = word.data;

	for (size_t i = 0; i < word.len; i++) {
		if (!text[i] || !strchr(letters, text[i]))
			return false;
	}
	return word.len && word.len < CC_TOTALS_REASON_SIZE;
}

/* The last place is that of the others. */
static void add_bypass(struct cc_totals *totals, struct cmn_view reason, uint64_t count)
{
	struct cc_bypasses *one = totals->bypasses;

	if (!is_reason(reason))
		reason = cmn_view_of(OTHER);
	for (size_t i = 0; i < totals->bypass_count; i++, one++) {
		if (cmn_view_equal(cmn_view_of(one->reason), reason)) {
			add_to(&one->count, count);
			return;
		}
	}
	if (totals->bypass_count >= CC_TOTALS_REASONS - 1 && !cmn_view_equal(reason, cmn_view_of(OTHER))) {
		add_bypass(totals, cmn_view_of(OTHER), count);
		return;
	}
	totals->bypass_count++;
	*one = (struct cc_bypasses){ .count = count };
	memcpy(one->reason, reason.data, reason.len);
}

uint64_t cc_totals_all_bypasses(const struct cc_totals *totals)
{
	uint64_t all = 0;

	for (size_t i = 0; i < totals->bypass_count; i++)
		add_to(&all, totals->bypasses[i].count);
	return all;
}

static bool is_one_of(struct cmn_view word, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (cmn_view_equal(word, cmn_view_of(words[i])))
			return true;
	}
	return false;
}

/* What nobody waits for is no miss, and no bypass. */
static void count_build(const struct cc_event_record *event, uint64_t counters[CC_COUNTER_COUNT])
{
	bool unattended = event->unattended || event->kind == CC_EVENT_UNATTENDED;

	counters[unattended ? CC_UNATTENDED : CC_MISSES] = 1;
	counters[unattended ? CC_UNATTENDED_NS : CC_COMPILE_NS_SPENT] = event->build_ns;
	counters[CC_DEFERRED] = !unattended && event->kind == CC_EVENT_MISS &&
				cmn_view_equal(event->reason, cmn_view_of("deferred"));
}

/* Whether it is a bypass. */
static bool count_event(const struct cc_event_record *event, uint64_t counters[CC_COUNTER_COUNT])
{
	/* Of what was not stored; the others are no failures. */
	static const char *const failures[] = { "file-limit", "no-space", "failed" };

	switch (event->kind) {
	case CC_EVENT_HIT_MEMORY:
	case CC_EVENT_HIT_DISK:
	case CC_EVENT_HIT_REMOTE:
		counters[CC_HITS_MEMORY + (event->kind - CC_EVENT_HIT_MEMORY)] = event->count;
		counters[CC_COMPILE_NS_SAVED] = event->build_ns;
		return false;
	case CC_EVENT_FAILED:
		if (event->uncached)
			return !event->unattended;
		count_build(event, counters);
		counters[CC_FAILED] = counters[CC_MISSES];
		return false;
	case CC_EVENT_MISS:
	case CC_EVENT_UNATTENDED:
		count_build(event, counters);
		return false;
	case CC_EVENT_BYPASS:
		return !event->unattended;
	case CC_EVENT_NOT_STORED:
		counters[CC_ERRORS] = is_one_of(event->reason, failures, sizeof(failures) / sizeof(failures[0]));
		return cmn_view_equal(event->reason, cmn_view_of("not-reused"));
	case CC_EVENT_STORED:
		counters[CC_STORES] = event->count;
		return false;
	case CC_EVENT_REFUSED:
	case CC_EVENT_DAMAGED:
	case CC_EVENT_ERROR:
		counters[CC_ERRORS] = event->count;
		return false;
	default:
		return false;
	}
}

void cc_totals_add(struct cc_totals *totals, const struct cc_event_record *event)
{
	uint64_t counters[CC_COUNTER_COUNT] = { 0 };
	bool bypass = count_event(event, counters);
	const struct cc_usage_counts counts = {
		.hits_memory = counters[CC_HITS_MEMORY],
		.hits_disk = counters[CC_HITS_DISK] + counters[CC_HITS_REMOTE],
		.misses = counters[CC_MISSES], .bypasses = bypass,
		.spent_ns = counters[CC_COMPILE_NS_SPENT], .saved_ns = counters[CC_COMPILE_NS_SAVED],
		.unattended = counters[CC_UNATTENDED], .unattended_ns = counters[CC_UNATTENDED_NS],
	};

	for (unsigned int i = 0; i < CC_COUNTER_COUNT; i++)
		add_to(&totals->counters[i], counters[i]);
	if (bypass)
		add_bypass(totals, event->reason, 1);
	if (cc_usage_is_any(&counts))
		cc_usage_add(&totals->usage, (uint32_t)(event->time_ns / DAY_NS), event->program, &counts);
}

/* ---- stats.txt ---- */

static void parse_line(struct cc_totals *totals, char *line)
{
	char *space = strchr(line, ' ');
	struct cmn_view name = { line, space ? (size_t)(space - line) : 0 };
	uint64_t value;

	if (!space)
		return;
	if (cmn_env_parse_number(space + 1, 0, UINT64_MAX, &value) != CMN_OK) {
		cc_usage_parse_line(&totals->usage, line);
		return;
	}
	*space = '\0';
	if (strcmp(line, LOG_ID) == 0)
		totals->log_id = value;
	else if (strcmp(line, LOG_BYTES) == 0)
		totals->log_bytes = value;
	else if (strncmp(line, BYPASS_PREFIX, strlen(BYPASS_PREFIX)) == 0 && value)
		add_bypass(totals, (struct cmn_view){ line + strlen(BYPASS_PREFIX), name.len - strlen(BYPASS_PREFIX) },
			   value);
	for (unsigned int i = 0; i < CC_COUNTER_COUNT; i++) {
		if (strcmp(line, names[i]) == 0)
			totals->counters[i] = value;	/* twice: of a file that is a mixture of two */
	}
}

static enum cmn_status read_text(int root_fd, struct cc_totals *totals)
{
	struct cmn_buffer content;
	enum cmn_status status = cmn_file_read(root_fd, CC_STATS_NAME, MAX_FILE_SIZE, false, &content);
	char *text, *next;

	if (status != CMN_OK)
		return status;
	text = cmn_buffer_take_string(&content);
	if (!text)
		return CMN_ERR_NOMEM;
	/* The last line has an end too, or it was cut. */
	for (char *line = text; (next = strchr(line, '\n')); line = next + 1) {
		*next = '\0';
		parse_line(totals, line);
	}
	free(text);
	return CMN_OK;
}

static void encode_log(const struct cc_totals *totals, struct cmn_buffer *ret)
{
	cmn_buffer_printf(ret, LOG_ID " %llu\n" LOG_BYTES " %llu\n", (unsigned long long)totals->log_id,
			  (unsigned long long)totals->log_bytes);
}

static enum cmn_status write_text(int root_fd, const struct cc_totals *totals)
{
	struct cmn_buffer text = { 0 };
	enum cmn_status status;

	/* Twice: without a sync the file may lose its end, and more than its end. */
	encode_log(totals, &text);
	for (unsigned int i = 0; i < CC_COUNTER_COUNT; i++) {
		/* Only where something failed the file differs from what 0.2.0 wrote. */
		if (i != CC_FAILED || totals->counters[i])
			cmn_buffer_printf(&text, "%s %llu\n", names[i], (unsigned long long)totals->counters[i]);
	}
	for (size_t i = 0; i < totals->bypass_count; i++)
		cmn_buffer_printf(&text, BYPASS_PREFIX "%s %llu\n", totals->bypasses[i].reason,
				  (unsigned long long)totals->bypasses[i].count);
	cc_usage_encode(&totals->usage, &text);
	encode_log(totals, &text);
	status = CMN_ERR_NOMEM;
	if (!text.failed)
		status = cmn_file_replace(root_fd, CC_STATS_NAME, cmn_buffer_view(&text));
	cmn_buffer_release(&text);
	return status;
}

/* ---- both files ---- */

static void add_event(void *ctx, const struct cc_event_record *event)
{
	cc_totals_add(ctx, event);
}

/* What the log has beyond what they have of it, up to its last sound record: the next may be being written. */
static void add_log(struct cc_totals *totals, struct cmn_view log)
{
	const struct cc_events_reader reader = { .event = add_event, .ctx = totals };
	uint64_t id = cc_events_id(log), done = id == totals->log_id ? totals->log_bytes : 0;
	struct cmn_view rest = log, record;

	/* One without its beginning may be the one that is known: better lost than counted twice. */
	if (!log.len || (!id && totals->log_id))
		return;
	done = done < log.len ? done : log.len;
	rest = (struct cmn_view){ (const uint8_t *)log.data + done, log.len - (size_t)done };
	while (cc_events_next(&rest, &record))
		cc_events_parse(record, &reader);
	totals->log_id = id;
	totals->log_bytes = log.len - rest.len;
}

static bool is_no_such_file(enum cmn_status status)
{
	return status == CMN_MISS || status == CMN_ERR_TOO_LARGE || status == CMN_ERR_ACCESS;
}

/* The log is read first: what is added up meanwhile shows as such. *ret_log: how it was read. */
static enum cmn_status read_both(int root_fd, struct cc_totals *totals, struct cmn_buffer *log,
				 enum cmn_status *ret_log)
{
	enum cmn_status status;

	*ret_log = cc_events_load(root_fd, CC_EVENTS_NAME, CMN_FILE_ANY, log);
	status = read_text(root_fd, totals);
	if (*ret_log == CMN_OK && (status == CMN_OK || is_no_such_file(status))) {
		add_log(totals, cmn_buffer_view(log));
		status = totals->log_bytes ? CMN_OK : status;
	}
	return status;
}

enum cmn_status cc_totals_read(int root_fd, struct cc_totals *totals)
{
	struct cmn_buffer log = { 0 };
	enum cmn_status log_status, status = read_both(root_fd, totals, &log, &log_status);

	cmn_buffer_release(&log);
	/* Of another log that cannot be read, what was added up is told. */
	return log_status == CMN_ERR_NOMEM ? log_status : status;
}

enum cmn_status cc_totals_load(const char *root, struct cc_totals **ret)
{
	enum cmn_status status;
	int fd;

	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return CMN_ERR_NOMEM;
	fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return cmn_status_from_errno(errno);
	status = cc_totals_read(fd, *ret);
	(void)close(fd);	/* nothing was written through it */
	if (status != CMN_OK)
		**ret = (struct cc_totals){ 0 };
	return status;
}

/* ---- adding up ---- */

static void keep_told(struct cmn_view file, struct cmn_buffer *kept)
{
	struct cmn_view record;

	while (cc_events_next(&file, &record)) {
		if (!cc_events_is_short(record))
			cmn_buffer_append(kept, record.data, record.len);
	}
}

/* What both files tell, as much as there is room for; nobody misses it where it cannot be written. */
static void keep_old(int root_fd, struct cmn_view log)
{
	struct cmn_buffer kept = { 0 }, old = { 0 };
	struct cmn_view rest, record;

	if (cc_events_load(root_fd, CC_EVENTS_OLD_NAME, CMN_FILE_ANY, &old) == CMN_OK)
		keep_told(cmn_buffer_view(&old), &kept);
	keep_told(log, &kept);
	rest = cmn_buffer_view(&kept);
	while (rest.len > CC_EVENTS_FULL && cc_events_next(&rest, &record))
		continue;
	if (!kept.failed && rest.len)
		(void)!cmn_file_replace(root_fd, CC_EVENTS_OLD_NAME, rest);
	cmn_buffer_release(&kept);
	cmn_buffer_release(&old);
}

/* Another user's, in a directory with the sticky bit, cannot be removed. */
static void cut_log(int root_fd)
{
	int fd = cmn_file_open_to_write(root_fd, CC_EVENTS_NAME, O_RDWR, 0, CMN_FILE_ANY, NULL, NULL);

	if (fd < 0)
		return;
	(void)!ftruncate(fd, 0);	/* the next one tries again */
	(void)close(fd);	/* nothing was written through it */
}

/*
 * What was appended since it was read begins the next one, as far as it is there by now, and whole: half a
 * record, as of a full disk, would leave that one without an id. known: the log that was read, without
 * anything in it if it was none; where there are no locks another process may have begun the next one.
 */
static void remove_log(int root_fd, struct cmn_view known, size_t len)
{
	struct cmn_buffer log = { 0 };
	struct cmn_view rest = { 0 }, record;
	enum cmn_status status;
	struct cc_events_log next;
	int fd = openat(root_fd, CC_EVENTS_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && known.len && cc_events_log_id(&(struct cc_events_log){ fd, known.len }) != cc_events_id(known)) {
		(void)close(fd);	/* read only */
		return;
	}
	if (cmn_file_remove(root_fd, CC_EVENTS_NAME) != CMN_OK &&
	    cmn_file_make_way(root_fd, CC_EVENTS_NAME) != CMN_OK)
		cut_log(root_fd);
	status = cmn_file_read_open(fd, 2 * CC_EVENTS_MAX, CMN_FILE_ANY, NULL, &log, NULL);
	if (status == CMN_OK && known.len && log.len > len)
		rest = (struct cmn_view){ log.data + len, log.len - len };
	if (cc_events_next(&rest, &record) && cc_events_open(root_fd, &next) == CMN_OK)
		(void)cc_events_append(&next, (struct cmn_view){ record.data, record.len + rest.len });
	cmn_buffer_release(&log);
}

/* With the lock. */
static enum cmn_status fold(int root_fd, struct cc_totals *totals)
{
	struct cmn_buffer log = { 0 };
	enum cmn_status log_status, status = read_both(root_fd, totals, &log, &log_status);

	/* What is no such file is replaced by one; what merely failed to be read is not. */
	if (is_no_such_file(status))
		status = CMN_OK;
	if (status == CMN_OK && !(is_no_such_file(log_status) && log_status != CMN_MISS))
		status = log_status;
	if (status == CMN_OK && log_status == CMN_OK)
		status = write_text(root_fd, totals);
	if (status == CMN_OK) {
		keep_old(root_fd, cmn_buffer_view(&log));
		remove_log(root_fd, cmn_buffer_view(&log),
			   cc_events_id(cmn_buffer_view(&log)) ? (size_t)totals->log_bytes : log.len);
	}
	cmn_buffer_release(&log);
	return status;
}

enum cmn_status cc_totals_fold(int root_fd, uint64_t until)
{
	struct cc_totals *totals = calloc(1, sizeof(*totals));
	enum cmn_status status;

	if (!totals)
		return CMN_ERR_NOMEM;
	/* Without locks two may do so at once, and count what both have read twice. */
	status = cmn_file_lock(root_fd, until);
	if (status == CMN_OK || status == CMN_ERR_IO)
		status = fold(root_fd, totals);
	cmn_file_unlock(root_fd);
	free(totals);
	return status;
}

/* With the lock: what was counted in the log stays counted, as nothing. */
static enum cmn_status zero(int root_fd)
{
	struct cc_totals *totals = calloc(1, sizeof(*totals));
	enum cmn_status status = CMN_ERR_NOMEM;

	if (!totals)
		return status;
	status = cc_totals_read(root_fd, totals);
	if (status == CMN_OK || (is_no_such_file(status) && status != CMN_MISS)) {
		*totals = (struct cc_totals){ .log_id = totals->log_id, .log_bytes = totals->log_bytes };
		status = write_text(root_fd, totals);
	}
	free(totals);
	return status == CMN_MISS ? CMN_OK : status;
}

enum cmn_status cc_totals_zero(const char *root)
{
	enum cmn_status status;
	int fd = -1;

	status = cc_root_open(root, &fd);
	if (status != CMN_OK)
		return status == CMN_MISS ? CMN_OK : status;
	status = cmn_file_lock(fd, cmn_clock_deadline(LOCK_WAIT_NS));
	if (status == CMN_OK)
		status = zero(fd);
	cc_root_unlock(fd);
	return status;
}
