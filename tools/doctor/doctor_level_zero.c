/* SPDX-License-Identifier: MIT */
/*
 * doctor_level_zero: the same for Level Zero: the loader, whether the plugin
 * comes in by the preload shim and the slot, as `ckcache run` has it, and the
 * drivers' devices.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/doctor/doctor.h"
#include "tools/worker/channel.h"
#include "tools/worker/worker_process.h"

#define SECTION DOCTOR_LEVEL_ZERO

/* What the probe's records add up to; texts lie in them. */
struct answer {
	const char *loader, *version, *asked, *what, *failure, *library;
	bool plugin;
	size_t devices;
};

static void say_file(struct doctor *doctor, const char *what, const char *name)
{
	char *path = tool_find_library(name);

	if (path)
		doctor_say(doctor, SECTION, DOCTOR_OK, NULL, "%s is %s", what, path);
	else
		doctor_say(doctor, SECTION, DOCTOR_PROBLEM, "reinstall libckcache-level-zero",
			   "%s (%s) is missing from this command's installation",
			   what, name);
	free(path);
}

/* Variables of the user's that the way in depends on. */
static void look_at_variables(struct doctor *doctor)
{
	static const char *const names[] = { "ZE_ENABLE_LAYERS", "ZE_ENABLE_VALIDATION_LAYER",
					     "ZE_ENABLE_TRACING_LAYER" };
	const char *path = getenv("ZEL_LIBRARY_PATH");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			doctor_say(doctor, SECTION, DOCTOR_OK, NULL, "%s is %s", names[i], value);
	}
	if (path && *path)
		doctor_say(doctor, SECTION, DOCTOR_NOTE, "unset it, or put the slot there",
			   "ZEL_LIBRARY_PATH is %s: newer loaders look for layers only there, "
			   "and do not find the slot", path);
}

static void add_device(struct doctor *doctor, struct answer *answer,
		       const struct channel_record *record)
{
	doctor_add_device(doctor, true, "Level Zero", answer->library ? answer->library : "",
			  record->fields);
	answer->devices++;
}

static void read_records(struct doctor *doctor, char *text, struct answer *ret)
{
	struct channel_record record;

	while (channel_next(&text, &record)) {
		if (strcmp(record.word, "asking") == 0)
			ret->asked = record.fields[0];
		else if (strcmp(record.word, "loader") == 0)
			ret->loader = record.fields[0];
		else if (strcmp(record.word, "named") == 0)
			ret->version = record.fields[1];
		else if (strcmp(record.word, "layer") == 0)
			ret->plugin = ret->plugin ||
				      strstr(record.fields[0], TOOL_LEVEL_ZERO_LIBRARY);
		else if (strcmp(record.word, "library") == 0)
			ret->library = record.fields[0];
		else if (strcmp(record.word, "device") == 0)
			add_device(doctor, ret, &record);
		else if (strcmp(record.word, "failed") == 0) {
			ret->what = record.fields[0];
			ret->failure = record.fields[1];
		}
	}
}

static void say_plugin(struct doctor *doctor, const struct answer *answer)
{
	if (!answer->devices)
		doctor_say(doctor, SECTION, DOCTOR_NOTE, NULL, "no driver has a device here%s%s%s",
			   answer->failure ? ": " : "", answer->failure ? answer->what : "",
			   answer->failure ? " fails" : "");
	else if (answer->plugin)
		doctor_say(doctor, SECTION, DOCTOR_OK, NULL,
			   "the plugin is loaded; %zu device%s of %s", answer->devices,
			   answer->devices == 1 ? "" : "s",
			   answer->library ? answer->library : "an unknown driver");
	else
		doctor_say(doctor, SECTION, DOCTOR_PROBLEM,
			   "check the libraries of the slot and the plugin with ldd; unset ZEL_LIBRARY_PATH",
			   "the plugin is not loaded");
	doctor->ready = doctor->ready || (answer->plugin && answer->devices);
}

/* Asks once. *ret_problem: how the process ended, in text, or NULL. false: the doctor is to end. */
static bool ask(struct doctor *doctor, bool layers, struct worker_result *ret_result, char *text,
		const char **ret_problem)
{
	static const char *const arguments[] = { "level-zero", NULL };
	const struct worker_variable variables[] = { DOCTOR_HARMLESS(doctor), { 0 } };

	if (!doctor_probe(doctor, doctor->scratch, arguments, variables, layers, ret_result))
		return false;
	*ret_problem = doctor_end_text(doctor, ret_result, text);
	return true;
}

static void say_end(struct doctor *doctor, const struct answer *answer, const char *problem,
		    const char *words)
{
	const char *asked = answer->asked ? answer->asked : "anything", *same;
	struct worker_result result;
	char text[128];

	if (!ask(doctor, false, &result, text, &same))
		return;
	if (same)
		doctor_say(doctor, SECTION, DOCTOR_PROBLEM, "repair Level Zero first",
			   "a process %s when it asked %s, also without the cache%s", problem, asked,
			   words);
	else
		doctor_say(doctor, SECTION, DOCTOR_PROBLEM,
			   "report this to the ckcache project; until then, set CKCACHE_DISABLE=1",
			   "a process with the plugin %s when it asked %s, and without it does not%s",
			   problem, asked, words);
	worker_result_release(&result);
}

void doctor_look_at_level_zero(struct doctor *doctor)
{
	char *plugin = tool_find_library(TOOL_LEVEL_ZERO_LIBRARY);
	struct answer answer = { 0 };
	struct worker_result result;
	const char *problem;
	char text[128], words[256];

	if (!plugin) {
		doctor_say(doctor, SECTION, DOCTOR_NOTE,
			   "for Level Zero programs: install libckcache-level-zero",
			   "the plugin (%s) is not installed", TOOL_LEVEL_ZERO_LIBRARY);
		return;
	}
	free(plugin);
	say_file(doctor, "the plugin", TOOL_LEVEL_ZERO_LIBRARY);
	say_file(doctor, "the slot", TOOL_SLOT_LIBRARY);
	say_file(doctor, "the preload shim", TOOL_PRELOAD_LIBRARY);
	look_at_variables(doctor);
	if (!ask(doctor, true, &result, text, &problem))
		return;
	read_records(doctor, (char *)result.records.data, &answer);
	if (answer.loader)
		doctor_say(doctor, SECTION, DOCTOR_OK, NULL, "the loader is %s (%s)", answer.loader,
			   answer.version ? answer.version : "of unknown version");
	if (problem)
		say_end(doctor, &answer, problem, doctor_last_words(&result, words));
	else if (!answer.loader)
		doctor_say(doctor, SECTION, DOCTOR_NOTE, "for Level Zero programs: install libze1",
			   "there is no Level Zero loader%s%s", answer.failure ? ": " : "",
			   answer.failure ? answer.failure : "");
	else
		say_plugin(doctor, &answer);
	worker_result_release(&result);
}
