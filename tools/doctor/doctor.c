/* SPDX-License-Identifier: MIT */
/* doctor: the verb, the order of its sections, what they share; the findings, for people as they come, for scripts at the end. */
#include "tools/doctor/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/arguments.h"
#include "tools/json_output.h"
#include "tools/memory.h"
#include "tools/run/child.h"
#include "tools/text.h"

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
	if (result.end == WORKER_UNSTARTED)
		tool_complain("a process cannot be started: %s", strerror(result.code));
	else if (result.end == WORKER_INTERRUPTED)
		doctor->signal = result.code;
	doctor->failed |= result.end == WORKER_UNSTARTED || result.end == WORKER_INTERRUPTED;
	if (doctor->failed)
		doctor_answer_release(ret);
	return !doctor->failed;
}

void doctor_answer_release(struct doctor_answer *answer)
{
	free(answer->records);
	free(answer->texts);
}

bool doctor_ask_without(struct doctor *doctor, const char *probe, const char *library,
			struct doctor_answer *ret)
{
	const char *const arguments[] = { probe, NULL };
	const struct worker_variable variables[] = {
		DOCTOR_HARMLESS(doctor), { "OPENCL_LAYERS", NULL }, { "CKCACHE_DISABLE", "1" },
		/* The first is ocl-icd's, and for Khronos' loader no directory. */
		{ library ? "OCL_ICD_VENDORS" : NULL, library }, { "OCL_ICD_FILENAMES", library }, { 0 },
	};

	return doctor_ask(doctor, doctor->scratch, arguments, variables, false, ret);
}

static bool ends_well_without(struct doctor *doctor, const char *probe)
{
	struct doctor_answer answer;

	if (!doctor_ask_without(doctor, probe, NULL, &answer))
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

static const char *const marks[] = { "ok", "note", "problem" };

static const char *colour_of(enum doctor_mark mark)
{
	if (mark == DOCTOR_PROBLEM)
		return terminal_bad(STDOUT_FILENO);
	return mark == DOCTOR_NOTE ? terminal_warning(STDOUT_FILENO) : terminal_good(STDOUT_FILENO);
}

/* Ends the line that begins at start; a terminal gets several. */
static void append_wrapped(struct cmn_buffer *text, size_t start, const char *rest, size_t indent)
{
	text_append_clean(text, cmn_view_of(rest), SIZE_MAX);
	text_wrap(text, start, indent, terminal_columns(STDOUT_FILENO));
	cmn_buffer_append_u8(text, '\n');
}

static void print(struct doctor *doctor, const struct doctor_finding *finding)
{
	const char *end = terminal_plain(STDOUT_FILENO);
	struct cmn_buffer text = { 0 };
	size_t start;

	if (doctor->printed != finding->section)
		cmn_buffer_printf(&text, "%s%s%s%s\n", doctor->printed ? "\n" : "", terminal_bold(STDOUT_FILENO),
				  finding->section->title, end);
	doctor->printed = finding->section;
	start = text.len;
	cmn_buffer_printf(&text, "  %s%-7s%s  ", colour_of(finding->mark), marks[finding->mark],
			  end);
	append_wrapped(&text, start, finding->text, 11);
	if (finding->advice) {
		start = text.len;
		cmn_buffer_append_text(&text, "           -> ");
		append_wrapped(&text, start, finding->advice, 14);
	}
	if (tool_print(&text) != TOOL_OK)
		doctor->failed = true;
}

void doctor_say(struct doctor *doctor, enum doctor_mark mark, const char *advice, const char *format, ...)
{
	struct doctor_finding finding = {
		.section = doctor->section, .mark = mark, .advice = advice ? memory_copy(advice) : NULL
	};
	va_list args;

	va_start(args, format);
	if (vasprintf(&finding.text, format, args) < 0)
		memory_end();
	va_end(args);
	memory_grow(doctor->findings, doctor->finding_count);
	doctor->findings[doctor->finding_count++] = finding;
	doctor->problem_count += mark == DOCTOR_PROBLEM;
	if (!doctor->json && !doctor->failed)
		print(doctor, &finding);
}

void doctor_add_device(struct doctor *doctor, bool level_zero, const char *platform,
		       const char *library, const char *const fields[4])
{
	memory_grow(doctor->devices, doctor->device_count);
	doctor->devices[doctor->device_count++] = (struct doctor_device){
		.level_zero = level_zero,
		.platform = memory_copy(platform),
		.library = memory_copy(library),
		.indices = { memory_copy(fields[0]), memory_copy(fields[1]) },
		.name = memory_copy(fields[2]),
		.driver_version = memory_copy(fields[3]),
		.label = memory_printf("%s, %s (%s)", platform, fields[2], fields[3]),
		.result = "not-tried",
	};
}

static void add_time(struct json_object *object, const char *name, bool known, uint64_t ns)
{
	if (known)
		json_add_ms(object, name, ns);
	else
		json_add_null(object, name);
}

static void add_device(struct json_object *array, const struct doctor_device *device)
{
	const struct {
		const char *name;
		uint64_t ns;
	} times[] = {
		{ "compile_ms", device->compile_ns }, { "capture_ms", device->capture_ns },
		{ "hit_ms", device->hit_ns },
	};
	struct json_object *object = json_add_object(array, NULL);

	json_add_text(object, "api", device->level_zero ? "level-zero" : "opencl");
	json_add_text(object, "platform", device->platform);
	json_add_text(object, "name", device->name);
	json_add_text(object, "driver_version", device->driver_version);
	json_add_text(object, "library", *device->library ? device->library : NULL);
	json_add_text(object, "result", device->result);
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		add_time(object, times[i].name, device->measured, times[i].ns);
}

static void add_remote(struct json_object *root, const struct doctor_remote *remote)
{
	struct json_object *object;

	if (!remote->address) {
		json_add_null(root, "remote");
		return;
	}
	object = json_add_object(root, "remote");
	json_add_text(object, "address", remote->address);
	json_add_text(object, "helper", remote->helper);
	json_add_bool(object, "works", remote->works);
	add_time(object, "put_ms", remote->was_written, remote->put_ns);
	add_time(object, "get_ms", remote->was_read, remote->get_ns);
}

static int print_json(const struct doctor *doctor)
{
	struct json_object *object = json_new_object(), *findings, *devices;

	json_add_text(object, "version", CKCACHE_VERSION);
	json_add_bool(object, "works", doctor->problem_count == 0);
	json_add_number(object, "problems", doctor->problem_count);
	findings = json_add_array(object, "findings");
	for (size_t i = 0; i < doctor->finding_count; i++) {
		const struct doctor_finding *finding = &doctor->findings[i];
		struct json_object *one = json_add_object(findings, NULL);

		json_add_text(one, "section", finding->section->name);
		json_add_text(one, "mark", marks[finding->mark]);
		json_add_text(one, "text", finding->text);
		json_add_text(one, "advice", finding->advice);
	}
	devices = json_add_array(object, "devices");
	for (size_t i = 0; i < doctor->device_count; i++)
		add_device(devices, &doctor->devices[i]);
	add_remote(object, &doctor->remote);
	return json_print(object);
}

/* What to do, once more and alone, where a reader of the last lines finds it. */
static int print_end(const struct doctor *doctor)
{
	const char *end = terminal_plain(STDOUT_FILENO);
	struct cmn_buffer text = { 0 };
	unsigned int number = 0;
	size_t start;

	if (!doctor->problem_count) {
		cmn_buffer_printf(&text, "\n%sworks%s\n", terminal_good(STDOUT_FILENO), end);
		return tool_print(&text);
	}
	cmn_buffer_printf(&text, "\n%sWhat to do%s\n", terminal_bad(STDOUT_FILENO), end);
	for (size_t i = 0; i < doctor->finding_count; i++) {
		const struct doctor_finding *finding = &doctor->findings[i];

		if (finding->mark != DOCTOR_PROBLEM)
			continue;
		start = text.len;
		cmn_buffer_printf(&text, "  %u. ", ++number);
		append_wrapped(&text, start, finding->advice ? finding->advice : finding->text, 5);
	}
	return tool_print(&text);
}

void doctor_report_end(struct doctor *doctor)
{
	if ((doctor->json ? print_json : print_end)(doctor) != TOOL_OK)
		doctor->failed = true;
}
