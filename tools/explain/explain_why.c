/* SPDX-License-Identifier: MIT */
/*
 * explain_why: what happened to a key before it was compiled, and after; where nothing did, what differs from
 * the nearest one. A line for each compile and one for all; the same as JSON.
 */
#include "tools/explain/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/explain/run_history.h"
#include "tools/memory.h"
#include "tools/text.h"

/* For so long the cache leaves a remote tier alone (cachecore/remote/node.h), and says so once. */
#define AWAY_NS (UINT64_C(60) * 1000000000)

static void add_loss(struct rebuild_causes *causes, const struct run_history_event *event,
		     const char *when)
{
	const char *sentence = reason_of_loss(event->reason);
	char size[TEXT_SIZE];

	if (strcmp(event->reason, "max_device_image_size") == 0)
		rebuild_causes_add(causes, CAUSE_NOT_STORED,
				   "not stored%s: image of %s is over CKCACHE_MAX_DEVICE_IMAGE_SIZE", when,
				   text_bytes(strtoull(event->detail, NULL, 10), size));
	else if (strcmp(event->reason, "min_device_image_size") == 0)
		rebuild_causes_add(causes, CAUSE_NOT_STORED,
				   "not stored%s: image of %s is under CKCACHE_MIN_DEVICE_IMAGE_SIZE", when,
				   text_bytes(strtoull(event->detail, NULL, 10), size));
	else if (strcmp(event->reason, "not-reused") == 0)
		rebuild_causes_add(causes, CAUSE_NOT_STORED,
				   "not stored%s: each run has another kernel in its place, and none was used again%s%s%s",
				   when, *event->detail ? " (" : "", event->detail, *event->detail ? ")" : "");
	else
		rebuild_causes_add(causes, CAUSE_NOT_STORED, "not stored%s: %s", when,
				   sentence ? sentence : event->reason);
}

/* The last event that suits what is asked about; NULL: none. */
static const struct run_history_event *find_last(const struct run_history *history,
						 const struct run_history_event *event, enum cc_event_kind kind,
						 bool (*suits)(const struct run_history_event *one,
							       const struct run_history_event *event,
							       enum cc_event_kind kind))
{
	const struct run_history_event *found = NULL;

	for (size_t i = 0; i < history->event_count; i++) {
		if (suits(&history->events[i], event, kind))
			found = &history->events[i];
	}
	return found;
}

static bool is_before(const struct run_history_event *one, const struct run_history_event *event)
{
	return run_history_is_before(one->place, one->time_ns, event);
}

static bool is_of_key(const struct run_history_event *one, const struct run_history_event *event)
{
	return event->entry_dir[0] && strcmp(one->entry_dir, event->entry_dir) == 0;
}

/*
 * About the key in its own run: what its look-up found, before it was compiled; what became of the result, at
 * any time, since the writer may be through with it before the compile is counted.
 */
static bool is_own(const struct run_history_event *one, const struct run_history_event *event,
		   enum cc_event_kind kind)
{
	return one->kind == kind && run_history_same_run(one, event) && is_of_key(one, event) &&
	       (kind == CC_EVENT_NOT_STORED || is_before(one, event));
}

static const struct run_history_event *find_own(const struct run_history *history,
						const struct run_history_event *event, enum cc_event_kind kind)
{
	return find_last(history, event, kind, is_own);
}

/* The same was compiled, or came from the remote tier, by another run. */
static bool is_former(const struct run_history_event *one, const struct run_history_event *event,
		      enum cc_event_kind kind)
{
	(void)kind;
	return (one->kind == CC_EVENT_MISS || one->kind == CC_EVENT_REMOTE || one->kind == CC_EVENT_UNATTENDED) &&
	       is_before(one, event) && !run_history_same_run(one, event) && is_of_key(one, event);
}

/* Everything was removed. */
static bool is_clearing(const struct run_history_event *one, const struct run_history_event *event,
			enum cc_event_kind kind)
{
	return one->kind == kind && is_before(one, event);
}

/* The run left the remote tier alone when it looked this up. */
static bool is_absence(const struct run_history_event *one, const struct run_history_event *event,
		       enum cc_event_kind kind)
{
	return one->kind == kind && run_history_same_run(one, event) && one->time_ns <= event->time_ns &&
	       event->time_ns - one->time_ns <= AWAY_NS + event->build_ns;
}

static void add_header_change(struct rebuild_causes *causes, const struct run_history_event *change)
{
	const char *path = change->detail, *name = basename(path);

	if (path[0] == '$')
		rebuild_causes_add(causes, CAUSE_ENVIRONMENT,
				   "the variable %s, by which the compiler looks for files, differs", path + 1);
	else if (strcmp(change->reason, "appeared") == 0)
		rebuild_causes_add(causes, CAUSE_HEADER,
				   "header %s appeared where the compiler looks for it first (%s)", name, path);
	else if (strcmp(change->reason, "vanished") == 0)
		rebuild_causes_add(causes, CAUSE_HEADER, "header %s is gone (%s)", name, path);
	else if (strcmp(change->reason, "directory") == 0)
		rebuild_causes_add(causes, CAUSE_HEADER, "the working directory differs (was %s)", path);
	else if (strcmp(change->reason, "include-path") == 0)
		rebuild_causes_add(causes, CAUSE_OPTION, "the include path differs (was %s), and the result may name it "
				   "(-g, __FILE__, a message in the log)", path);
	else
		rebuild_causes_add(causes, CAUSE_HEADER, "header %s changed (%s)", name, path);
}

/* What its own look-up came across. */
static void add_findings(const struct explanation *explanation, struct question *question)
{
	const struct run_history *history = explanation->history;
	const struct run_history_event *event = &question->event, *found;
	struct rebuild_causes *causes = &question->causes;

	if (find_own(history, event, CC_EVENT_REFUSED))
		rebuild_causes_add(causes, CAUSE_REFUSED,
				   "refused by the driver: the stored binary was removed");
	found = find_own(history, event, CC_EVENT_DAMAGED);
	if (found)
		rebuild_causes_add(causes, CAUSE_DAMAGED, "entry was %s, and removed",
				   strcmp(found->reason, "access") == 0 ? "one that others may write to, or could not be read" : "damaged");
	found = find_own(history, event, CC_EVENT_CHANGED);
	if (found)
		add_header_change(causes, found);
	found = find_own(history, event, CC_EVENT_REMOTE_REFUSED);
	if (found)
		rebuild_causes_add(causes, CAUSE_REMOTE_REFUSED, "the remote tier had an entry, but %s",
				   found->detail);
}

static void add_absence(const struct explanation *explanation, struct question *question)
{
	const struct run_history_event *found = find_last(explanation->history, &question->event,
							  CC_EVENT_REMOTE_AWAY, is_absence);

	if (found)
		rebuild_causes_add(&question->causes, CAUSE_REMOTE_AWAY, "the remote tier was left alone: %s",
				   found->detail);
}

/* It was not compiled here. */
static void add_source(struct question *question)
{
	const char *signer = question->event.detail;

	if (*signer)
		rebuild_causes_add(&question->causes, CAUSE_REMOTE, "came from %s, signed by %s",
				   question->event.reason, signer);
	else
		rebuild_causes_add(&question->causes, CAUSE_REMOTE, "came from %s, not signed",
				   question->event.reason);
}

/* The verb of a removal, and by what. */
static const struct {
	enum rebuild_cause_kind kind;
	const char *verb, *by;
} removals[CC_REMOVED_CAUSE_COUNT] = {
	[CC_REMOVED_BY_SIZE] = { CAUSE_EVICTED, "evicted", "size (CKCACHE_MAX_SIZE)" },
	[CC_REMOVED_BY_AGE] = { CAUSE_EVICTED, "evicted", "age (CKCACHE_THRESHOLD)" },
	[CC_REMOVED_BY_CLEAR] = { CAUSE_CLEARED, "removed", "ckcache clear" },
	[CC_REMOVED_BY_PRUNE] = { CAUSE_CLEARED, "removed", "ckcache prune" },
	[CC_REMOVED_BY_SUCCESSOR] = { CAUSE_CLEARED, "removed",
				   "ckcache replay --stale, since its driver was replaced" },
};

/* What became of an entry that there was. */
static void add_fate(const struct explanation *explanation, struct question *question)
{
	const struct run_history *history = explanation->history;
	const struct run_history_event *event = &question->event, *loss;
	const struct run_history_event *former = find_last(history, event, CC_EVENT_MISS, is_former);
	const struct run_history_eviction *eviction = event->entry_dir[0] ?
		run_history_find_eviction(history, event) : NULL;
	const struct run_history_event *cleared = find_last(history, event, CC_EVENT_CLEARED, is_clearing);
	struct rebuild_causes *causes = &question->causes;
	char date[TEXT_SIZE];

	/* Between the two. */
	if (!former || (cleared && cleared->place <= former->place))
		cleared = NULL;
	loss = former ? find_own(history, former, CC_EVENT_NOT_STORED) : NULL;
	if (eviction && (!cleared || eviction->place > cleared->place) &&
	    (!former || eviction->place > former->place))
		rebuild_causes_add(causes, removals[eviction->cause].kind, "%s %s by %s",
				   removals[eviction->cause].verb, text_date(eviction->time_ns, false, date),
				   removals[eviction->cause].by);
	else if (cleared)
		rebuild_causes_add(causes, CAUSE_CLEARED, "removed %s by ckcache clear",
				   text_date(cleared->time_ns, false, date));
	else if (loss)
		add_loss(causes, loss, " the last time");
	else if (former && strcmp(former->reason, "deferred") == 0)
		rebuild_causes_add(causes, CAUSE_DEFERRED, "ckcache replay has not built it yet");
	else if (former)
		rebuild_causes_add(causes, CAUSE_GONE, "the entry of %s is gone, or was never written",
				   text_date(former->time_ns, false, date));
}

static void compare(struct question *question)
{
	const struct rebuild_causes_keys keys = {
		cmn_buffer_view(&question->nearest_key), cmn_buffer_view(&question->key),
	};

	if (!question->has_nearest) {
		rebuild_causes_add(&question->causes, CAUSE_FIRST_TIME,
				   question->has_summary ? "first time: nothing similar is stored" : "first time, as far as is known");
		return;
	}
	key_fields_read(cmn_buffer_view(&question->nearest_summary), &question->nearest_fields);
	key_diff_make(&question->nearest_fields, &question->fields, &question->diff);
	rebuild_causes_of_diff(&question->causes, &question->diff, &question->fields, &keys);
}

static void add_bypass(struct question *question)
{
	const char *word = question->event.reason, *sentence = reason_of_bypass(word);

	rebuild_causes_add(&question->causes, CAUSE_BYPASS, "not cached: %s%s%s%s", sentence ? sentence : word,
			   sentence ? " (" : "", sentence ? word : "", sentence ? ")" : "");
}

/* detail: the driver's code, and behind a colon what it says. Why it would not have been kept either is no news. */
static void add_failure(struct question *question)
{
	const char *detail = question->event.detail;
	int code = (int)strcspn(detail, ":");

	rebuild_causes_add(&question->causes, CAUSE_FAILED, "did not compile%s%.*s%s%s", *detail ? " (" : "",
			   code, detail, *detail ? ")" : "", detail + code);
	if (question->remembered)
		rebuild_causes_add(&question->causes, CAUSE_FAILED,
				   "a remembered failure: once two processes have seen it, others get it from the cache for a day");
}

static void answer(const struct explanation *explanation, struct question *question)
{
	const struct run_history_event *event = &question->event, *loss;
	struct rebuild_causes *causes = &question->causes;
	size_t before;

	if (event->kind == CC_EVENT_BYPASS) {
		add_bypass(question);
		return;
	}
	if (event->kind == CC_EVENT_FAILED) {
		add_failure(question);
		return;
	}
	if (event->kind == CC_EVENT_REMOTE) {
		add_source(question);
		return;
	}
	loss = find_own(explanation->history, event, CC_EVENT_NOT_STORED);
	if (loss)
		add_loss(causes, loss, "");
	if (event->kind == CC_EVENT_UNATTENDED) {
		rebuild_causes_add(causes, CAUSE_UNATTENDED, "compiled while nobody waited, by ckcache replay");
		return;
	}
	if (strcmp(event->reason, "read-only") == 0)
		rebuild_causes_add(causes, CAUSE_READ_ONLY,
				   "read-only: CKCACHE_READ_ONLY=1, nothing is stored");
	before = causes->count;
	add_findings(explanation, question);
	if (causes->count == before)
		add_fate(explanation, question);
	if (causes->count == before)
		compare(question);
	add_absence(explanation, question);
	if (strcmp(event->reason, "deferred") == 0)
		rebuild_causes_add(causes, CAUSE_DEFERRED,
				   "left to ckcache replay: the driver's own cache had it, or gives binaries late");
}

static void find_device(struct question *question)
{
	const struct cc_key_summary_field *name = key_fields_find(&question->fields, "device.name");
	struct cmn_buffer text = { 0 };

	if (!name)
		return;
	key_field_append_value(&text, name, 64);
	question->device = memory_string(&text);
}

void explain_why(struct explanation *explanation)
{
	for (size_t i = 0; i < explanation->count; i++) {
		find_device(&explanation->questions[i]);
		answer(explanation, &explanation->questions[i]);
	}
}

/* In one line; --verbose shows all. */
#define MAX_CAUSES 3
#define MAX_VALUE 200
#define NAME_WIDTH 24
#define DEVICE_WIDTH 24

/* A trace may be anybody's: it tells a terminal nothing. */
static void append_clean(struct cmn_buffer *text, const char *string)
{
	text_append_clean(text, cmn_view_of(string), SIZE_MAX);
}

/* What it is called by. */
static void append_name(struct cmn_buffer *text, const struct question *question)
{
	const struct cc_key_summary_field *kind = key_fields_find(&question->fields, "kind");
	const char *entry_dir = question->event.entry_dir;

	if (*question->event.name)
		append_clean(text, question->event.name);
	else if (kind && kind->whole && cmn_view_equal(kind->value, cmn_view_of("link")))
		cmn_buffer_append_text(text, "(a link)");
	else if (entry_dir[0])
		cmn_buffer_printf(text, "source %.8s", entry_dir + CMN_HASH_HEX_SIZE);
	else
		cmn_buffer_append_text(text, "(no key)");
}

static void pad(struct cmn_buffer *text, size_t start, size_t width)
{
	while (!text->failed && text->len - start < width)
		cmn_buffer_append_u8(text, ' ');
	cmn_buffer_append_u8(text, ' ');
}

static void append_fields(struct cmn_buffer *text, const struct question *question)
{
	for (size_t i = 0; i < question->diff.count; i++) {
		const struct key_difference *one = &question->diff.all[i];
		const struct cc_key_summary_field *field = one->is ? one->is : one->was;

		cmn_buffer_append_text(text, "    ");
		text_append_clean(text, field->name, SIZE_MAX);
		cmn_buffer_append_text(text, ": ");
		key_field_append_value(text, one->was, MAX_VALUE);
		cmn_buffer_append_text(text, " -> ");
		key_field_append_value(text, one->is, MAX_VALUE);
		cmn_buffer_append_u8(text, '\n');
	}
	if (question->has_nearest && question->diff.count)
		cmn_buffer_printf(text, "    nearest: %s\n", question->nearest[0]
				  ? question->nearest : "a key in the history that is not stored");
	if (question->event.entry_dir[0])
		cmn_buffer_printf(text, "    entry: %s\n", question->event.entry_dir);
}

/* Behind what the line has; on a terminal that is too narrow, below that. */
static void append_causes(struct cmn_buffer *text, size_t line, const struct rebuild_causes *causes,
			  bool verbose)
{
	size_t columns = terminal_columns(STDOUT_FILENO);
	struct cmn_buffer all = { 0 };

	for (size_t i = 0; i < causes->count && (verbose || i < MAX_CAUSES); i++) {
		cmn_buffer_append_text(&all, i ? "; " : "");
		append_clean(&all, causes->all[i].text);
	}
	if (!verbose && causes->count > MAX_CAUSES)
		cmn_buffer_printf(&all, "; and %zu more", causes->count - MAX_CAUSES);
	if (columns && text->len - line + all.len > columns) {
		while (!text->failed && text->data[text->len - 1] == ' ')
			text->len--;
		cmn_buffer_append_u8(text, '\n');
		line = text->len;
		cmn_buffer_append_text(text, "    ");
	}
	cmn_buffer_append(text, all.data, all.len);
	text_wrap(text, line, 4, columns);
	cmn_buffer_release(&all);
}

static void append_line(struct cmn_buffer *text, const struct question *question, bool verbose)
{
	const struct rebuild_causes *causes = &question->causes;
	size_t line = text->len, start = line;

	append_name(text, question);
	pad(text, start, NAME_WIDTH);
	start = text->len;
	cmn_buffer_append_text(text, question->device ? question->device : "-");
	pad(text, start, DEVICE_WIDTH);
	if (!question->event.build_ns)
		cmn_buffer_printf(text, "%13s  ", "-");
	else
		cmn_buffer_printf(text, "%10.1f ms  ", (double)question->event.build_ns / 1e6);
	append_causes(text, line, causes, verbose);
	cmn_buffer_append_u8(text, '\n');
	if (verbose)
		append_fields(text, question);
}

static bool is_one_run(const struct explanation *explanation)
{
	bool one = explanation->count > 0;

	for (size_t i = 1; i < explanation->count; i++)
		one = one && run_history_same_run(&explanation->questions[0].event,
					   &explanation->questions[i].event);
	return one;
}

static void append_summary(struct cmn_buffer *text, const struct explanation *explanation)
{
	size_t counts[CAUSE_KIND_COUNT] = { 0 }, compiles = 0;
	const char *between = ": ";
	size_t line = text->len;
	uint64_t total = 0;

	for (size_t i = 0; i < explanation->count; i++) {
		const struct question *question = &explanation->questions[i];

		compiles += run_history_is_compile(&question->event);
		total += question->event.build_ns;
		if (question->causes.count)
			counts[question->causes.all[0].kind]++;
	}
	cmn_buffer_printf(text, "%zu compile%s in %.3f s", compiles, compiles == 1 ? "" : "s",
			  (double)total / 1e9);
	if (is_one_run(explanation) && *explanation->questions[0].event.program) {
		cmn_buffer_append_text(text, " by ");
		append_clean(text, explanation->questions[0].event.program);
		cmn_buffer_printf(text, " (process %" PRIu32 ")", explanation->questions[0].event.pid);
	}
	for (size_t i = 0; i < CAUSE_KIND_COUNT; i++) {
		if (!counts[i])
			continue;
		cmn_buffer_printf(text, "%s%zu %s", between, counts[i],
				  rebuild_cause_phrase((enum rebuild_cause_kind)i));
		between = ", ";
	}
	text_wrap(text, line, 4, terminal_columns(STDOUT_FILENO));
	cmn_buffer_append_u8(text, '\n');
}

/* Where it is off, or nothing can be written, nothing is ever known. The caller frees it; NULL: neither. */
static char *problem_of(const struct explanation *explanation)
{
	const struct cc_config *config = &explanation->cache->config;

	if (config->disable)
		return memory_copy("the cache is switched off (CKCACHE_DISABLE)");
	return explanation->history->event_count ? NULL : tool_directory_problem(config);
}

static void append_problem(struct cmn_buffer *text, const struct explanation *explanation)
{
	char *problem = problem_of(explanation);

	cmn_buffer_printf(text, "%s%s\n", problem ? ": " : "", problem ? problem : "");
	free(problem);
}

/* There is nothing to explain: why not. */
static void append_nothing(struct cmn_buffer *text, const struct explanation *explanation,
			   enum explain_subject subject)
{
	const struct run_history_run *run = &explanation->idle_run;
	bool last = subject == EXPLAIN_LAST_RUN;
	uint64_t hits = run->hits;

	if (subject == EXPLAIN_ENTRY) {
		cmn_buffer_append_text(text, "no compile of this entry is known\n");
	} else if (!*run->program) {
		cmn_buffer_append_text(text, subject == EXPLAIN_COMMAND ?
				       "the command asked for no kernels, as far as is known" :
				       "no compiles are known");
		append_problem(text, explanation);
	} else {
		cmn_buffer_printf(text, "the %s compiled nothing", last ? "last run" : "command");
		if (hits)
			cmn_buffer_printf(text, ": %" PRIu64 " hit%s", hits, hits == 1 ? "" : "s");
		cmn_buffer_append_text(text, hits ? " of " : ": ");
		append_clean(text, run->program);
		cmn_buffer_printf(text, " (process %" PRIu32 ")\n", run->pid);
	}
	if (last && *run->program && explanation->history->event_count)
		cmn_buffer_append_text(text, "ckcache explain --last 20 shows what was compiled before\n");
}

int explain_print(const struct explanation *explanation, enum explain_subject subject, bool verbose)
{
	struct cmn_buffer text = { 0 };

	for (size_t i = 0; i < explanation->count; i++)
		append_line(&text, &explanation->questions[i], verbose);
	if (explanation->count)
		append_summary(&text, explanation);
	else
		append_nothing(&text, explanation, subject);
	return tool_print(&text);
}

static void add_text(struct json_object *object, const char *name, const char *text)
{
	json_add_text(object, name, text && *text ? text : NULL);
}

static void add_value(struct json_object *object, const char *name,
		      const struct cc_key_summary_field *field)
{
	if (field)
		key_field_add_value(object, name, field, SIZE_MAX);
	else
		json_add_null(object, name);
}

static void add_question(struct json_object *array, const struct question *question)
{
	const struct run_history_event *event = &question->event;
	static const char *const kinds[CC_EVENT_KIND_COUNT] = {
		[CC_EVENT_MISS] = "miss", [CC_EVENT_BYPASS] = "bypass",
		[CC_EVENT_REMOTE] = "remote", [CC_EVENT_UNATTENDED] = "unattended",
		[CC_EVENT_FAILED] = "failed",
	};
	struct json_object *object = json_add_object(array, NULL), *causes, *differences, *one;

	json_add_number(object, "time_ns", event->time_ns);
	json_add_number(object, "pid", event->pid);
	json_add_text(object, "event", kinds[event->kind]);
	add_text(object, "program", event->program);
	add_text(object, "reason", event->reason);
	add_text(object, "kernel", event->name);
	add_text(object, "device", question->device);
	if (event->build_ns || event->kind == CC_EVENT_MISS)
		json_add_ms(object, "compile_ms", event->build_ns);
	else
		json_add_null(object, "compile_ms");
	add_text(object, "entry", event->entry_dir);
	add_text(object, "nearest", question->diff.count ? question->nearest : NULL);
	causes = json_add_array(object, "causes");
	for (size_t i = 0; i < question->causes.count; i++) {
		one = json_add_object(causes, NULL);
		json_add_text(one, "kind", rebuild_cause_word(question->causes.all[i].kind));
		add_text(one, "text", question->causes.all[i].text);
	}
	differences = json_add_array(object, "differences");
	for (size_t i = 0; i < question->diff.count; i++) {
		const struct key_difference *diff = &question->diff.all[i];

		one = json_add_object(differences, NULL);
		json_add_view(one, "field", (diff->is ? diff->is : diff->was)->name);
		add_value(one, "was", diff->was);
		add_value(one, "is", diff->is);
	}
}

int explain_print_json(const struct explanation *explanation)
{
	struct json_object *object = json_new_object();
	struct json_object *compiles = json_add_array(object, "compiles"), *idle;
	const struct run_history_run *run = &explanation->idle_run;
	bool known = explanation->count || *run->program;
	char *problem = known ? NULL : problem_of(explanation);

	if (problem)
		tool_complain("%s", problem);
	free(problem);
	for (size_t i = 0; i < explanation->count; i++)
		add_question(compiles, &explanation->questions[i]);
	if (*run->program && !explanation->count) {
		idle = json_add_object(object, "compiled_nothing");
		json_add_text(idle, "program", run->program);
		json_add_number(idle, "pid", run->pid);
		json_add_number(idle, "time_ns", run->time_ns);
		json_add_number(idle, "hits", run->hits);
	} else {
		json_add_null(object, "compiled_nothing");
	}
	return json_print(object);
}
