/* SPDX-License-Identifier: MIT */
/*
 * explain: why something was compiled that might have been in the cache: of the last run, of all that the
 * history knows, of a trace (cachecore/record/trace.h), or of a command that is run for that. The history
 * knows more of a compile than a trace's line does; where it does not know it at all, the key is made of what
 * the line says: long values by size and hash.
 */
#include "tools/explain/explain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/file.h"
#include "tools/arguments.h"
#include "tools/entries/entries.h"
#include "tools/json_output.h"
#include "tools/memory.h"
#include "tools/replay/waiting.h"
#include "tools/run/child.h"
#include "tools/run/run.h"

/* Between a line and the same event's time in the history: two readings of one clock. */
#define SAME_MOMENT_NS UINT64_C(20000000)

/* One line, as far as it was understood. */
struct line {
	struct run_history_event event;
	char what[16], reason[64], failure[512];
	struct cmn_buffer summary;
	bool has_key;
};

/* Fields are told by their names: a line does not say of which part they are. */
static enum cc_part part_of(struct cmn_view name)
{
	static const struct {
		const char *prefix;
		enum cc_part part;
	} rows[] = {
		{ "device.", CC_PART_DEVICE }, { "platform.", CC_PART_DEVICE },
		{ "driver.", CC_PART_DEVICE }, { "library.", CC_PART_DEVICE }, { "layer.", CC_PART_DEVICE },
		{ "processor.", CC_PART_DEVICE }, { "api", CC_PART_DEVICE },
		{ "kind", CC_PART_IMAGE }, { "source", CC_PART_IMAGE },
		{ "header.", CC_PART_IMAGE }, { "constant", CC_PART_CONSTANTS },
	};

	if (cmn_view_equal(name, cmn_view_of("input")))
		return CC_PART_IMAGE;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t len = strlen(rows[i].prefix);

		if (name.len >= len && memcmp(name.data, rows[i].prefix, len) == 0)
			return rows[i].part;
	}
	return CC_PART_OPTIONS;
}

/* Without the "#2" of a second field of that name. */
static struct cmn_view plain_name(const char *name)
{
	struct cmn_view view = cmn_view_of(name);
	const char *mark = memrchr(view.data, '#', view.len);

	if (mark && strspn(mark + 1, "0123456789") >= view.len - (size_t)(mark + 1 - (const char *)view.data))
		view.len = (size_t)(mark - (const char *)view.data);
	return view;
}

static bool parse_hash(struct cmn_view hex, struct cmn_hash *ret)
{
	const char *text = hex.data;

	if (hex.len != CMN_HASH_HEX_SIZE - 1)
		return false;
	for (size_t i = 0; i < sizeof(ret->bytes); i++) {
		char digits[3] = { text[2 * i], text[2 * i + 1], '\0' };
		char *end;

		ret->bytes[i] = (uint8_t)strtoul(digits, &end, 16);
		if (*end)
			return false;
	}
	return true;
}

static void add_hashed(struct line *line, struct cmn_view name, struct json_object *object)
{
	struct cmn_hash hash = { { 0 } };
	uint64_t size = 0;
	bool known = false;

	json_object_object_foreach(object, member, value) {
		(void)member;
		if (json_object_is_type(value, json_type_int))
			size = json_object_get_uint64(value);
		else if (json_object_is_type(value, json_type_string))
			known = parse_hash(json_text(value), &hash);
	}
	if (known)
		cc_key_summary_append_hashed(&line->summary, part_of(name), name, size, &hash);
}

static void add_field(struct line *line, struct cmn_view name, struct json_object *value)
{
	struct cmn_buffer number = { 0 };

	if (!name.len || name.len > UINT8_MAX)
		return;
	if (json_object_is_type(value, json_type_string)) {
		cc_key_summary_append_value(&line->summary, part_of(name), name, json_text(value));
	} else if (json_object_is_type(value, json_type_int)) {
		cmn_buffer_append_u64(&number, json_object_get_uint64(value));
		cc_key_summary_append_value(&line->summary, part_of(name), name,
					    cmn_buffer_view(&number));
		cmn_buffer_release(&number);
	} else if (json_object_is_type(value, json_type_object)) {
		add_hashed(line, name, value);
	}
}

static uint64_t number_of(struct json_object *object, const char *name)
{
	return json_object_get_uint64(json_object_object_get(object, name));
}

static const char *text_of(struct json_object *object, const char *name)
{
	return json_text(json_object_object_get(object, name)).data;
}

static void read_members(struct line *line, struct json_object *object)
{
	struct json_object *key = json_object_object_get(object, "key");

	(void)snprintf(line->what, sizeof(line->what), "%s", text_of(object, "event"));
	(void)snprintf(line->reason, sizeof(line->reason), "%s", text_of(object, "reason"));
	(void)snprintf(line->failure, sizeof(line->failure), "%s", text_of(object, "failure"));
	line->event.time_ns = number_of(object, "time_ns");
	line->event.build_ns = number_of(object, "build_ns");
	line->event.pid = (uint32_t)number_of(object, "pid");
	line->has_key = json_object_is_type(key, json_type_object);
	if (!line->has_key)
		return;
	json_object_object_foreach(key, name, value)
		add_field(line, plain_name(name), value);
}

/* The history's own event of that moment; NULL: none. */
static const struct run_history_event *find_in_history(const struct run_history *history,
						       const struct line *line)
{
	for (size_t i = 0; i < history->event_count; i++) {
		const struct run_history_event *one = &history->events[i];
		uint64_t from = line->event.time_ns < one->time_ns ? line->event.time_ns : one->time_ns;
		uint64_t to = line->event.time_ns < one->time_ns ? one->time_ns : line->event.time_ns;

		if (one->kind == line->event.kind && one->pid == line->event.pid &&
		    to - from < SAME_MOMENT_NS &&
		    (one->kind == CC_EVENT_UNATTENDED || one->kind == CC_EVENT_FAILED ||
		     strcmp(one->reason, line->reason) == 0))
			return one;
	}
	return NULL;
}

/* Another question about that event, which it copies but for its texts. */
static struct question *add_question(struct explanation *explanation, const struct run_history_event *event)
{
	memory_grow(explanation->questions, explanation->count);
	explanation->questions[explanation->count] = (struct question){ .event = *event };
	return &explanation->questions[explanation->count++];
}

/* A question of the line alone: before it, everything counts as there that was stored a moment earlier. */
static void add_alone(struct explanation *explanation, struct line *line)
{
	struct question *question = add_question(explanation, &line->event);
	struct run_history_event *event = &question->event;

	event->program = event->name = memory_copy("");
	event->detail = memory_copy(line->failure);
	event->reason = memory_copy(line->reason);
	event->start_ns = line->event.time_ns - line->event.build_ns;
	question->of_trace = true;
	question->has_summary = line->has_key;
	question->summary = line->summary;
	line->summary = (struct cmn_buffer){ 0 };
}

static enum cc_event_kind kind_of(const struct line *line)
{
	if (*line->failure)
		return CC_EVENT_FAILED;
	if (strcmp(line->what, "bypass") == 0)
		return CC_EVENT_BYPASS;
	return strcmp(line->reason, "unattended") == 0 ? CC_EVENT_UNATTENDED : CC_EVENT_MISS;
}

/* Of the process that had one last. */
static void note_hit(struct explanation *explanation, const struct line *line)
{
	struct run_history_run *run = &explanation->idle_run;

	run->pid = line->event.pid;
	run->time_ns = line->event.time_ns;
	run->hits++;
}

/* What is not asked about, or not understood, is passed over. */
static void read_line(struct explanation *explanation, const char *text)
{
	struct json_object *object = json_tokener_parse(text);
	struct line line = { 0 };
	const struct run_history_event *known;

	if (json_object_is_type(object, json_type_object))
		read_members(&line, object);
	(void)json_object_put(object);
	line.event.kind = kind_of(&line);
	line.event.unattended = strcmp(line.reason, "unattended") == 0;
	if (strcmp(line.what, "bypass") == 0 || strcmp(line.what, "miss") == 0) {
		known = find_in_history(explanation->history, &line);
		if (known)
			(void)add_question(explanation, known);
		else
			add_alone(explanation, &line);
	}
	if (strncmp(line.what, "hit-", 4) == 0)
		note_hit(explanation, &line);
	cmn_buffer_release(&line.summary);
}

/* A question for each miss and bypass of a trace; counts hits in idle_run, whose program it does not know. false: complained about. */
static bool read_lines(struct explanation *explanation, const char *path)
{
	/* Not waiting for a FIFO's writer. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	char *text = NULL;
	size_t size = 0;
	bool done;

	if (!file) {
		tool_complain("%s: %s", path, strerror(errno));
		if (fd >= 0)
			(void)close(fd);	/* read only */
		return false;
	}
	while (getline(&text, &size, file) > 0)
		read_line(explanation, text);
	done = !ferror(file);
	if (!done)
		tool_complain("%s: it cannot be read", path);
	free(text);
	(void)fclose(file);	/* only read */
	return done;
}

struct choice {
	bool all, json, verbose;
	size_t last;		/* compiles; 0: those of the last run */
	const char *trace;
	const char *entry;
	char **command;
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE];	/* that entry's, once it is found */
};

static enum explain_subject subject_of(const struct choice *choice)
{
	if (choice->entry)
		return EXPLAIN_ENTRY;
	if (choice->command)
		return EXPLAIN_COMMAND;
	return choice->all || choice->last || choice->trace ? EXPLAIN_ALL : EXPLAIN_LAST_RUN;
}

/* The run that compiled something last; NULL: none. What was repeated is nobody's wish to know. */
static const struct run_history_event *find_last_run(const struct run_history *history)
{
	const struct run_history_event *last = NULL;

	for (size_t i = 0; i < history->event_count; i++) {
		const struct run_history_event *one = &history->events[i];

		if (run_history_is_compile(one) && !one->unattended)
			last = one;
	}
	return last;
}

static bool is_chosen(const struct choice *choice, const struct run_history_event *event,
		      const struct run_history_event *last, uint64_t from_ns)
{
	/* What came from the remote tier was not compiled: it is shown to who asks for that entry. */
	if (choice->entry && event->kind == CC_EVENT_REMOTE)
		return strcmp(choice->entry_dir, event->entry_dir) == 0;
	if (!run_history_is_compile(event) || event->time_ns < from_ns)
		return false;
	if (choice->entry)
		return strcmp(choice->entry_dir, event->entry_dir) == 0;
	return choice->all || choice->last || (choice->command && !event->unattended) ||
	       (last && !choice->command && run_history_same_run(event, last));
}

/* Notes a run that compiled nothing, since then, and after the last one that did, which may be NULL. */
static void find_idle_run(struct explanation *explanation, const struct run_history_event *last,
			  uint64_t from_ns)
{
	const struct run_history_run *run = &explanation->history->last_run;

	if (run->pid && !run->compiled && run->time_ns >= from_ns &&
	    (!last || run->pid != last->pid || run->start_ns != last->start_ns))
		explanation->idle_run = *run;
}

/* Questions from the history. */
static void ask(struct explanation *explanation, const struct choice *choice, uint64_t from_ns)
{
	const struct run_history *history = explanation->history;
	const struct run_history_event *last = find_last_run(history);
	enum explain_subject subject = subject_of(choice);
	size_t chosen = 0, skipped = 0;

	if (subject == EXPLAIN_LAST_RUN || subject == EXPLAIN_COMMAND)
		find_idle_run(explanation, last, from_ns);
	/* Another run's compiles are no answer. */
	if (subject == EXPLAIN_LAST_RUN && *explanation->idle_run.program)
		return;
	for (size_t i = 0; i < history->event_count; i++)
		chosen += is_chosen(choice, &history->events[i], last, from_ns);
	for (size_t i = 0; i < history->event_count; i++) {
		if (!is_chosen(choice, &history->events[i], last, from_ns))
			continue;
		if (choice->last && chosen - skipped > choice->last)
			skipped++;
		else
			(void)add_question(explanation, &history->events[i]);
	}
}

static bool offer_entry(void *ctx, const struct cc_store_item *item)
{
	const struct entry_offer offer = { .path = item->place->entry_dir, .key = item->key };

	entry_search_offer(ctx, &offer);
	return true;
}

/* What the history knows, which need not be stored. */
static void offer_event(const struct run_history *history, const struct run_history_event *event,
			struct entry_search *search)
{
	struct entry_offer offer = { .path = event->entry_dir, .kernel = cmn_view_of(event->name) };
	const struct cc_key_summary_field *options = NULL;
	struct cmn_buffer summary = { 0 };
	struct key_fields fields = { 0 };

	if (run_history_summary(history, event, &summary)) {
		key_fields_read(cmn_buffer_view(&summary), &fields);
		options = key_fields_find(&fields, "options");
	}
	if (options && options->whole)
		offer.options = options->value;
	entry_search_offer(search, &offer);
	key_fields_release(&fields);
	cmn_buffer_release(&summary);
}

/* Among what is stored, and what was once compiled. false: complained about. */
static bool find_entry(struct explanation *explanation, struct choice *choice)
{
	const struct run_history *history = explanation->history;
	const char *root = explanation->cache->config.dir, *found = NULL;
	static struct entry_search search;	/* until the command ends */
	enum cmn_status status;

	entry_search_begin(&search, choice->entry, root, history);
	for (size_t i = 0; i < history->event_count; i++)
		offer_event(history, &history->events[i], &search);
	status = entry_search_store(&search, explanation->cache->store, "explain", offer_entry, &search);
	if (status == CMN_OK)
		found = entry_search_end(&search);
	else
		(void)tool_fail(root, status);
	if (found)
		(void)snprintf(choice->entry_dir, sizeof(choice->entry_dir), "%s", found);
	return found != NULL;
}

static int finish(struct explanation *explanation, const struct choice *choice)
{
	enum cmn_status status = explain_find_nearest(explanation);

	if (status != CMN_OK)
		return tool_fail(explanation->cache->config.dir, status);
	explain_why(explanation);
	return choice->json ? explain_print_json(explanation)
			    : explain_print(explanation, subject_of(choice), choice->verbose);
}

/* Where hits are all that it has, it was the command that had them. */
static bool read_trace(struct explanation *explanation, const struct choice *choice, const char *trace)
{
	struct run_history_run *run = &explanation->idle_run;

	if (!read_lines(explanation, trace))
		return false;
	if (choice->command && run->pid)
		(void)snprintf(run->program, sizeof(run->program), "%s",
			       basename(choice->command[0]));	/* cut, if at all */
	return true;
}

/* from_ns: what was compiled since; trace: NULL, or where to read of it instead of the history. */
static int explain(const struct choice *given, uint64_t from_ns, const char *trace)
{
	static struct explanation explanation;	/* until the command ends */
	struct choice choice = *given;
	enum cmn_status status;

	explanation.cache = tool_try_open();
	if (!explanation.cache)
		return TOOL_FAILED;
	status = run_history_load(explanation.cache->store, &explanation.history);
	if (status != CMN_OK)
		return tool_fail(explanation.cache->config.dir, status);
	if (trace ? !read_trace(&explanation, &choice, trace) :
		    choice.entry && !find_entry(&explanation, &choice))
		return TOOL_FAILED;
	if (!trace)
		ask(&explanation, &choice, from_ns);
	return finish(&explanation, &choice);
}

/* Runs the command; its exit code, or 128 and the signal that ended it. */
static int wait_for_command(const struct choice *choice)
{
	int state;

	memory_end_with(TOOL_CANNOT_RUN);
	if (!run_layers_enable())
		return TOOL_CANNOT_RUN;
	waiting_mention();
	/* What a script reads is the explanation alone. */
	if (!run_wait(choice->command, choice->json, true, &state))
		return TOOL_CANNOT_RUN;
	memory_end_with(EXIT_FAILURE);
	child_over();
	return WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
}

/* Where nothing is written there is no history: a trace tells. false: there can be none. */
static bool trace_instead(char path[64])
{
	int fd;

	(void)snprintf(path, 64, "/tmp/ckcache-explain-XXXXXX");
	fd = cmn_file_make_unique(path);
	if (fd < 0 || setenv("CKCACHE_TRACE", path, 1) < 0) {
		tool_complain("%s: %s", path, strerror(errno));
		return false;
	}
	(void)close(fd);	/* nothing was written */
	return true;
}

static int explain_command(const struct choice *choice)
{
	uint64_t start = cmn_clock_realtime();
	struct cc_config config;
	char path[64] = "";
	int code, explained;
	bool traced;

	tool_load_config(&config);
	traced = config.read_only || !config.dir;
	cc_config_release(&config);
	if (traced && !trace_instead(path))
		return TOOL_FAILED;
	code = wait_for_command(choice);
	explained = explain(choice, start, *path ? path : NULL);
	if (*path)
		(void)unlink(path);	/* it was ours */
	return code ? code : explained;
}

verb_function verb_explain;

int verb_explain(const struct arguments *arguments)
{
	const struct choice choice = {
		.all = arguments_flag(arguments, "all"), .json = arguments_flag(arguments, "json"),
		.verbose = arguments_flag(arguments, "verbose"),
		.last = arguments_number(arguments, "last", 0),
		.trace = arguments_text(arguments, "trace"),
		.entry = arguments->operand, .command = arguments->command,
	};

	if (choice.all + (choice.last > 0) + !!choice.trace + !!choice.entry +
	    !!choice.command > 1)
		tool_refuse("explain: --last, --all, --trace, an entry and a command exclude each other");
	if (choice.command)
		return explain_command(&choice);
	return explain(&choice, 0, choice.trace);
}
