/* SPDX-License-Identifier: MIT */
/* doctor: the verb, the order of its sections, and what they share. */
#include "tools/doctor/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/arguments.h"
#include "tools/memory.h"
#include "tools/run/child.h"

#define NS_PER_S UINT64_C(1000000000)
#define TIMEOUT_S 30		/* a driver that starts and compiles a few lines takes a second or two */

/* How it ended, unless by itself and after its work. */
static void describe_end(const struct doctor *doctor, const struct worker_result *result, char ret[128])
{
	const char *name;

	switch (result->end) {
	case WORKER_SIGNALLED:
		name = sigabbrev_np(result->code);
		(void)snprintf(ret, 128, "crashed (SIG%s)", name ? name : "?");
		break;
	case WORKER_TIMED_OUT:
	case WORKER_STUCK:
		(void)snprintf(ret, 128, "did not answer within %llu s%s",
			       (unsigned long long)(doctor->timeout_ns / NS_PER_S),
			       result->end == WORKER_STUCK ? ", and cannot be killed" : "");
		break;
	case WORKER_LEFT:
		(void)snprintf(ret, 128, "was ended by a driver, with exit code %d", result->code);
		break;
	case WORKER_UNSTARTED:
		(void)snprintf(ret, 128, "could not be asked: %s", strerror(result->code));
		break;
	default:
		break;
	}
}

/* The last line of what it printed. */
static void take_last_words(const char *said, char ret[256])
{
	size_t end = strlen(said), start;

	while (end && (said[end - 1] == '\n' || said[end - 1] == ' '))
		end--;
	for (start = end; start && said[start - 1] != '\n'; start--)
		;
	/* cut, if it is longer */
	(void)snprintf(ret, 256, "%s%.*s", start < end ? ": " : "", (int)(end - start), said + start);
}

static void read_records(struct doctor_answer *ret)
{
	const struct {
		const char *word, **first, **second;
		size_t *count;
	} words[] = {
		{ .word = "asking", .first = &ret->asked }, { .word = "loader", .first = &ret->loader },
		{ .word = "library", .first = &ret->library }, { .word = "built", .first = &ret->built },
		{ .word = "named", .first = &ret->name, .second = &ret->version },
		{ .word = "failed", .first = &ret->what, .second = &ret->failure },
		{ .word = "layer", .count = &ret->layers }, { .word = "active", .count = &ret->active },
		{ .word = "below", .count = &ret->below }, { .word = "platform", .count = &ret->platforms },
		{ .word = "device", .count = &ret->devices },
	};
	struct channel_record record;
	char *text = ret->texts;

	while (channel_next(&text, &record)) {
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			if (strcmp(record.word, words[i].word) != 0)
				continue;
			if (words[i].first)
				*words[i].first = record.fields[0];
			if (words[i].second)
				*words[i].second = record.fields[1];
			if (words[i].count)
				++*words[i].count;
		}
	}
}

bool doctor_ask(struct doctor *doctor, const char *directory, const char *const *arguments,
		const struct worker_variable *variables, bool layers, struct doctor_answer *ret)
{
	const struct worker_start start = {
		.arguments = arguments, .variables = variables, .directory = directory, .layers = layers,
		.timeout_ns = doctor->timeout_ns,
	};
	struct worker_result result;
	char *said;

	worker_run(&start, &result);
	*ret = (struct doctor_answer){ .records = memory_string(&result.records) };
	said = memory_string(&result.said);
	ret->texts = memory_copy(ret->records);
	if (result.end == WORKER_EXITED && !strstr(ret->records, "\nend\n"))
		result.end = WORKER_LEFT;	/* a driver's exit() */
	describe_end(doctor, &result, ret->problem);
	take_last_words(said, ret->words);
	read_records(ret);
	free(said);
	if (result.end == WORKER_INTERRUPTED) {
		doctor->signal = result.code;
		doctor->failed = true;
	}
	if (doctor->failed)
		doctor_answer_release(ret);
	return !doctor->failed;
}

void doctor_answer_release(struct doctor_answer *answer)
{
	free(answer->records);
	free(answer->texts);
}

/* The same question without the layer. */
static bool ends_well_without(struct doctor *doctor, const char *probe)
{
	const char *const arguments[] = { probe, NULL };
	const struct worker_variable variables[] = {
		{ "OPENCL_LAYERS", NULL }, DOCTOR_HARMLESS(doctor), { 0 },
	};
	struct doctor_answer answer;

	if (!doctor_ask(doctor, doctor->scratch, arguments, variables, false, &answer))
		return false;
	doctor_answer_release(&answer);
	return !*answer.problem;
}

bool doctor_blame(struct doctor *doctor, const char *layer, const struct doctor_answer *answer,
		  const struct doctor_icds *icds)
{
	const char *asked = answer->asked ? answer->asked : "anything", *problem = answer->problem;

	if (!*problem)
		return false;
	if (ends_well_without(doctor, icds ? "opencl" : "level-zero"))
		doctor_problem(doctor, "report this to the ckcache project; until then, set CKCACHE_DISABLE=1",
			       "a process with the %s %s when it asked %s, and without it does not%s", layer,
			       problem, asked, answer->words);
	else if (!doctor->failed && !icds)
		doctor_problem(doctor, "repair Level Zero first",
			       "a process %s when it asked %s, also without the cache%s", problem, asked,
			       answer->words);
	else if (!doctor->failed && !doctor_icds_blame(doctor, icds))
		doctor_problem(doctor,
			       "leave one of the drivers out (OCL_ICD_VENDORS) until clinfo shows the devices",
			       "a process with all drivers %s when it asked %s, also without the cache%s",
			       problem, asked, answer->words);
	return true;
}

void doctor_make_absolute(const char *variable)
{
	const char *value = getenv(variable);
	char *path = value && *value ? realpath(value, NULL) : NULL;

	if (path)
		(void)setenv(variable, path, 1);	/* else it stays what it is */
	free(path);
}

/* In this order. */
static const struct doctor_section sections[] = {
	{ "program", "Program", doctor_look_at_program },
	{ "settings", "Settings", doctor_look_at_settings },
	{ "directory", "Directory", doctor_look_at_directory },
	{ "remote", "Remote tier", doctor_look_at_remote },
	{ "opencl", "OpenCL", doctor_look_at_opencl },
	{ "level-zero", "Level Zero", doctor_look_at_level_zero },
	{ "devices", "Devices", doctor_look_at_devices },
	{ "environment", "Environment", doctor_look_at_environment },
	{ "history", "History", doctor_look_at_history },
};

verb_function verb_doctor;

int verb_doctor(const struct arguments *arguments)
{
	static struct doctor doctor;	/* until the command ends */

	doctor.json = arguments_flag(arguments, "json");
	doctor.quick = arguments_flag(arguments, "quick");
	doctor.program = arguments->operand;
	doctor.timeout_ns = arguments_number(arguments, "timeout", TIMEOUT_S) * NS_PER_S;
	doctor_icds_settle();
	doctor_make_absolute("OPENCL_LAYER_PATH");
	child_begin(CHILD_WORKERS);
	doctor.scratch = tool_make_scratch();
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]) && !doctor.failed; i++) {
		doctor.section = &sections[i];
		sections[i].look(&doctor);
	}
	tool_remove_scratch(doctor.scratch);
	doctor.scratch = NULL;
	child_over();
	if (doctor.signal)
		child_end_by(doctor.signal);
	if (!doctor.failed)
		doctor_report_end(&doctor);
	return doctor.failed || doctor.problem_count ? TOOL_FAILED : TOOL_OK;
}
