/* SPDX-License-Identifier: MIT */
/*
 * doctor_level_zero: the same for Level Zero: the loader, whether the plugin
 * comes in by the preload shim and the slot, as `ckcache run` has it, and the
 * drivers' devices.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/doctor/doctor.h"


static void say_file(struct doctor *doctor, const char *what, const char *name)
{
	char *path = tool_find_library(name);

	if (path)
		doctor_ok(doctor, "%s is %s", what, path);
	else
		doctor_problem(doctor, "reinstall libckcache-level-zero",
			       "%s (%s) is missing from this command's installation", what, name);
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
			doctor_ok(doctor, "%s is %s", names[i], value);
	}
	if (path && *path)
		doctor_note(doctor, "unset it, or put the slot there",
			    "ZEL_LIBRARY_PATH is %s: newer loaders look for layers only there, and do not find the slot",
			    path);
}

/* The devices that it named; whether the plugin is among the layers. */
static bool read_devices(struct doctor *doctor, char *text, const char *library)
{
	struct channel_record record;
	bool plugin = false;

	while (channel_next(&text, &record)) {
		if (strcmp(record.word, "device") == 0)
			doctor_add_device(doctor, true, "Level Zero", library ? library : "", record.fields);
		if (strcmp(record.word, "layer") == 0)
			plugin |= strstr(record.fields[0], TOOL_LEVEL_ZERO_LIBRARY) != NULL;
	}
	return plugin;
}

static void say_plugin(struct doctor *doctor, const struct doctor_answer *answer, bool plugin)
{
	if (!answer->devices)
		doctor_note(doctor, NULL, "no driver has a device here%s%s%s", answer->failure ? ": " : "",
			    answer->failure ? answer->what : "", answer->failure ? " fails" : "");
	else if (plugin)
		doctor_ok(doctor, "the plugin is loaded; %zu device%s of %s", answer->devices,
			  answer->devices == 1 ? "" : "s",
			  answer->library ? answer->library : "an unknown driver");
	else
		doctor_problem(doctor,
			       "check the libraries of the slot and the plugin with ldd; unset ZEL_LIBRARY_PATH",
			       "the plugin is not loaded");
	doctor->ready = doctor->ready || (plugin && answer->devices);
}

static void look(struct doctor *doctor, const struct doctor_answer *answer)
{
	bool plugin = read_devices(doctor, answer->records, answer->library);

	if (answer->loader)
		doctor_ok(doctor, "the loader is %s (%s)", answer->loader,
			  answer->version ? answer->version : "of unknown version");
	if (doctor_blame(doctor, "plugin", answer, NULL))
		;	/* said */
	else if (!answer->loader)
		doctor_note(doctor, "for Level Zero programs: install libze1",
			    "there is no Level Zero loader%s%s", answer->failure ? ": " : "",
			    answer->failure ? answer->failure : "");
	else
		say_plugin(doctor, answer, plugin);
}

void doctor_look_at_level_zero(struct doctor *doctor)
{
	static const char *const arguments[] = { "level-zero", NULL };
	const struct worker_variable variables[] = { DOCTOR_HARMLESS(doctor), { 0 } };
	char *plugin = tool_find_library(TOOL_LEVEL_ZERO_LIBRARY);
	struct doctor_answer answer;

	if (!plugin) {
		doctor_note(doctor, "for Level Zero programs: install libckcache-level-zero",
			    "the plugin (%s) is not installed", TOOL_LEVEL_ZERO_LIBRARY);
		return;
	}
	free(plugin);
	say_file(doctor, "the plugin", TOOL_LEVEL_ZERO_LIBRARY);
	say_file(doctor, "the slot", TOOL_SLOT_LIBRARY);
	say_file(doctor, "the preload shim", TOOL_PRELOAD_LIBRARY);
	look_at_variables(doctor);
	if (!doctor_ask(doctor, doctor->scratch, arguments, variables, true, &answer))
		return;
	look(doctor, &answer);
	doctor_answer_release(&answer);
}
