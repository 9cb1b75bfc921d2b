/* SPDX-License-Identifier: MIT */
/* doctor_report: findings and devices, for people as they come, for scripts at the end. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/doctor/doctor.h"
#include "tools/json_output.h"
#include "tools/memory.h"
#include "tools/terminal.h"
#include "tools/text.h"

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
		.result = "not-tried",
	};
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
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
		if (device->measured)
			json_add_ms(object, times[i].name, times[i].ns);
		else
			json_add_null(object, times[i].name);
	}
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
	if (remote->was_written)
		json_add_ms(object, "put_ms", remote->put_ns);
	else
		json_add_null(object, "put_ms");
	if (remote->was_read)
		json_add_ms(object, "get_ms", remote->get_ns);
	else
		json_add_null(object, "get_ms");
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
