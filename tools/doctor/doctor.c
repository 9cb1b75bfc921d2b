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

bool doctor_probe(struct doctor *doctor, const char *directory, const char *const *arguments,
		  const struct worker_variable *variables, bool layers, struct worker_result *ret_result)
{
	const struct worker_start start = {
		.arguments = arguments, .variables = variables, .directory = directory, .layers = layers,
		.timeout_ns = doctor->timeout_ns,
	};

	worker_run(&start, ret_result);
	cmn_buffer_append_u8(&ret_result->records, '\0');	/* for who reads it as text */
	cmn_buffer_append_u8(&ret_result->said, '\0');
	if (ret_result->records.failed || ret_result->said.failed)
		memory_end();
	if (ret_result->end == WORKER_EXITED && !strstr((char *)ret_result->records.data, "\nend\n"))
		ret_result->end = WORKER_LEFT;	/* a driver's exit() */
	if (ret_result->end == WORKER_INTERRUPTED)
		doctor->signal = ret_result->code;
	if (!doctor->signal && !doctor->failed)
		return true;
	worker_result_release(ret_result);
	return false;
}

const char *doctor_end_text(const struct doctor *doctor, const struct worker_result *result,
			    char *text)
{
	const char *name;

	switch (result->end) {
	case WORKER_SIGNALLED:
		name = sigabbrev_np(result->code);
		(void)snprintf(text, 128, "crashed (SIG%s)", name ? name : "?");
		break;
	case WORKER_TIMED_OUT:
	case WORKER_STUCK:
		(void)snprintf(text, 128, "did not answer within %llu s%s",
			       (unsigned long long)(doctor->timeout_ns / NS_PER_S),
			       result->end == WORKER_STUCK ? ", and cannot be killed" : "");
		break;
	case WORKER_LEFT:
		(void)snprintf(text, 128, "was ended by a driver, with exit code %d", result->code);
		break;
	case WORKER_UNSTARTED:
		(void)snprintf(text, 128, "could not be asked: %s", strerror(result->code));
		break;
	default:
		return NULL;
	}
	return text;
}

const char *doctor_last_words(const struct worker_result *result, char *text)
{
	const char *said = (const char *)result->said.data;
	size_t end = strlen(said), start;

	while (end && (said[end - 1] == '\n' || said[end - 1] == ' '))
		end--;
	for (start = end; start && said[start - 1] != '\n'; start--)
		;
	(void)snprintf(text, 256, "%s%.*s", start < end ? ": " : "", (int)(end - start),
		       said + start);	/* cut, if it is longer */
	return text;
}

void doctor_read(const struct worker_result *result, struct doctor_answer *ret)
{
	struct channel_record record;
	char *text;

	*ret = (struct doctor_answer){ .texts = memory_copy((const char *)result->records.data) };
	text = ret->texts;
	while (channel_next(&text, &record)) {
		if (strcmp(record.word, "asking") == 0)
			ret->asked = record.fields[0];
		else if (strcmp(record.word, "loader") == 0)
			ret->loader = record.fields[0];
		else if (strcmp(record.word, "library") == 0)
			ret->library = record.fields[0];
		else if (strcmp(record.word, "layer") == 0)
			ret->layers++;
		else if (strcmp(record.word, "active") == 0)
			ret->active = true;
		else if (strcmp(record.word, "below") == 0)
			ret->below = true;
		else if (strcmp(record.word, "platform") == 0)
			ret->platforms++;
		else if (strcmp(record.word, "device") == 0)
			ret->devices++;
		else if (strcmp(record.word, "named") == 0) {
			ret->name = record.fields[0];
			ret->version = record.fields[1];
		} else if (strcmp(record.word, "failed") == 0) {
			ret->what = record.fields[0];
			ret->failure = record.fields[1];
		}
	}
}

/* The same question without the layer. */
static bool ends_well_without(struct doctor *doctor, const char *probe)
{
	const char *const arguments[] = { probe, NULL };
	const struct worker_variable variables[] = {
		{ "OPENCL_LAYERS", NULL }, DOCTOR_HARMLESS(doctor), { 0 },
	};
	struct worker_result result;
	char text[128];
	bool well;

	if (!doctor_probe(doctor, doctor->scratch, arguments, variables, false, &result))
		return false;
	well = !doctor_end_text(doctor, &result, text);
	worker_result_release(&result);
	return well;
}

bool doctor_blame(struct doctor *doctor, enum doctor_section section, const char *layer,
		  const struct worker_result *result, const struct doctor_answer *answer,
		  const struct doctor_icds *icds)
{
	const char *asked = answer->asked ? answer->asked : "anything";
	char text[128], words[256];
	const char *problem = doctor_end_text(doctor, result, text);

	if (!problem)
		return false;
	(void)doctor_last_words(result, words);
	if (ends_well_without(doctor, icds ? "opencl" : "level-zero"))
		doctor_say(doctor, section, DOCTOR_PROBLEM,
			   "report this to the ckcache project; until then, set CKCACHE_DISABLE=1",
			   "a process with the %s %s when it asked %s, and without it does not%s",
			   layer, problem, asked, words);
	else if (!doctor->signal && !doctor->failed && !icds)
		doctor_say(doctor, section, DOCTOR_PROBLEM, "repair Level Zero first",
			   "a process %s when it asked %s, also without the cache%s", problem, asked, words);
	else if (!doctor->signal && !doctor->failed && !doctor_icds_blame(doctor, icds))
		doctor_say(doctor, section, DOCTOR_PROBLEM,
			   "leave one of the drivers out (OCL_ICD_VENDORS) until clinfo shows the devices",
			   "a process with all drivers %s when it asked %s, also without the cache%s",
			   problem, asked, words);
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

static void look(struct doctor *doctor, const char *command)
{
	static void (*const sections[])(struct doctor *doctor) = {
		doctor_look_at_settings, doctor_look_at_directory, doctor_look_at_remote,
		doctor_look_at_opencl, doctor_look_at_level_zero, doctor_look_at_devices,
		doctor_look_at_environment, doctor_look_at_history,
	};

	if (command)
		doctor_look_at_program(doctor, command);
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		if (!doctor->signal && !doctor->failed)
			sections[i](doctor);
	}
}

verb_function verb_doctor;

int verb_doctor(const struct arguments *arguments)
{
	static struct doctor doctor;	/* until the command ends */

	doctor.json = arguments_flag(arguments, "json");
	doctor.quick = arguments_flag(arguments, "quick");
	doctor.timeout_ns = arguments_number(arguments, "timeout", TIMEOUT_S) * NS_PER_S;
	doctor_icds_settle();
	doctor_make_absolute("OPENCL_LAYER_PATH");
	child_begin(CHILD_WORKERS);
	doctor.scratch = tool_make_scratch();
	look(&doctor, arguments->operand);
	tool_remove_scratch(doctor.scratch);
	doctor.scratch = NULL;
	child_over();
	if (doctor.signal) {
		child_end_by(doctor.signal);
		doctor.failed = true;
	}
	if (!doctor.failed)
		doctor_report_end(&doctor);
	return doctor.failed || doctor.problem_count ? TOOL_FAILED : TOOL_OK;
}
