/* SPDX-License-Identifier: MIT */
/*
 * explain: why something was compiled that might have been in the cache: of
 * the last run, of all that the history knows, of a trace, or of a command that
 * is run for that.
 */
#include "tools/explain/explain.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/file.h"
#include "tools/arguments.h"
#include "tools/entries/entry_name.h"
#include "tools/memory.h"
#include "tools/replay/waiting.h"
#include "tools/run/child.h"
#include "tools/run/run_layers.h"
#include "tools/run/run_wait.h"

struct choice {
	bool all, json, verbose;
	size_t last;		/* compiles; 0: those of the last run */
	const char *trace;
	const char *entry;
	char **command;
	char entry_dir[CC_ENTRY_DIR_PATH_SIZE];	/* that entry's, once it is found */
};

struct question *explain_add(struct explanation *explanation, const struct run_history_event *event)
{
	memory_grow(explanation->questions, explanation->count);
	explanation->questions[explanation->count] = (struct question){ .event = *event };
	return &explanation->questions[explanation->count++];
}

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
			(void)explain_add(explanation, &history->events[i]);
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

	if (!explain_read_trace(explanation, trace))
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
	status = run_history_load(explanation.cache->config.dir, cc_store_trust(explanation.cache->store),
				  &explanation.history);
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

	if (!run_layers_enable())
		return TOOL_CANNOT_RUN;
	waiting_mention();
	/* What a script reads is the explanation alone. */
	if (!run_wait(choice->command, choice->json, true, &state))
		return TOOL_CANNOT_RUN;
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
	    !!choice.command > 1) {
		tool_complain("explain: --last, --all, --trace, an entry and a command exclude each other");
		return TOOL_USAGE;
	}
	if (choice.command)
		return explain_command(&choice);
	return explain(&choice, 0, choice.trace);
}
