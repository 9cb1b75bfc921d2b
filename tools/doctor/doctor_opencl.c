/* SPDX-License-Identifier: MIT */
/*
 * doctor_opencl: the loader that programs get, whether the layer comes in
 * through it, and the drivers behind it, as a process that is run like
 * `ckcache run` finds them.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "tools/doctor/doctor.h"
#include "tools/memory.h"

#define LAYER_FILES "/etc/OpenCL/layers"
#define MAX_LAYER_FILE 4096	/* one path */
#define MAX_LOADER (UINT64_C(64) << 20)	/* they have some 100 kB */

/* What to do about a driver that has no device here. */
static const struct {
	const char *library;	/* how its file name starts */
	const char *advice;
} deviceless[] = {
	{ "libRusticlOpenCL", "RUSTICL_ENABLE=<driver> turns Mesa's devices on (iris, radeonsi, llvmpipe)" },
	{ "libigdrcl", "where there is an Intel GPU: is /dev/dri/renderD* there, and may this user (group render) open it?" },
	{ "libnvidia-opencl", "where there is an NVIDIA GPU: are /dev/nvidia* there, and of the same driver version?" },
	{ "libamdocl64", "where there is an AMD GPU: is /dev/kfd there, and may this user (groups render, video) open it?" },
};

/* *.lay files are for newer loaders: one that names a file that is not there is worth a word. */
static void look_at_layer_file(struct doctor *doctor, const char *directory, const char *name)
{
	struct cmn_buffer content = { 0 };
	char *path = memory_printf("%s/%s", directory, name), *text = NULL;

	if (cmn_file_read(AT_FDCWD, path, MAX_LAYER_FILE, true, &content) == CMN_OK)
		text = memory_string(&content);
	if (text)
		text[strcspn(text, "\r\n")] = '\0';
	if (!text || (strchr(text, '/') && access(text, R_OK) < 0))
		doctor_note(doctor, "remove it, or reinstall its package", "%s names %s, which cannot be read",
			    path, text ? text : "nothing");
	else
		doctor_ok(doctor, "%s names %s, for loaders that read such files", path, text);
	free(text);
	free(path);
}

static int is_layer_file(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > 4 && strcmp(entry->d_name + len - 4, ".lay") == 0;
}

static void look_at_layer_files(struct doctor *doctor)
{
	const char *directory = getenv("OPENCL_LAYER_PATH");
	struct dirent **entries;
	int count;

	if (!directory || !*directory)
		directory = LAYER_FILES;
	count = scandir(directory, &entries, is_layer_file, alphasort);
	for (int i = 0; i < count; i++) {
		look_at_layer_file(doctor, directory, entries[i]->d_name);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

static bool knows_layers(const char *loader)
{
	static const char variable[] = "OPENCL_LAYERS";
	struct cmn_buffer content = { 0 };
	bool knows;

	if (cmn_file_read(AT_FDCWD, loader, MAX_LOADER, true, &content) != CMN_OK)
		return true;	/* whether the layer comes in says it */
	knows = memmem(content.data, content.len, variable, sizeof(variable)) != NULL;
	cmn_buffer_release(&content);
	return knows;
}

static void say_loader(struct doctor *doctor, const struct doctor_answer *answer)
{
	if (answer->name)
		doctor_ok(doctor, "the loader is %s: %s %s", answer->loader, answer->name, answer->version);
	else if (answer->loader)
		doctor_ok(doctor, "the loader is %s", answer->loader);
}

static void say_layer(struct doctor *doctor, const struct doctor_answer *answer)
{
	if (answer->active) {
		doctor_ok(doctor, "the layer is loaded and answers");
		if (answer->layers > 1)
			doctor_note(doctor, "let OPENCL_LAYERS and the .lay files name the same file",
				    "%zu copies of the layer are loaded", answer->layers);
		if (answer->below)
			doctor_problem(doctor,
				       "name " TOOL_OPENCL_LIBRARY " before the others in OPENCL_LAYERS; of .lay files the first by name counts",
				       "nothing is cached: another layer between the cache and the drivers may change what is built");
	} else if (!knows_layers(answer->loader)) {
		doctor_problem(doctor,
			       "install ocl-icd 2.3.0 or later (ocl-icd-libopencl1), or Khronos' loader",
			       "the loader is too old to support layers");
	} else if (answer->layers) {
		doctor_problem(doctor, "install this command and the layer in the same version",
			       "the layer is loaded, but does not answer");
	} else if (answer->platforms) {
		doctor_problem(doctor, "check its libraries with ldd: one may be missing",
			       "the loader does not load the layer");
	} else {
		doctor_note(doctor, NULL, "the loader found no driver, so it loads no layers");
	}
}

static void say_platform(struct doctor *doctor, const struct channel_record *platform,
			 size_t devices)
{
	const char *const *fields = platform->fields;

	if (platform->word && devices)	/* without any there is a word about its file */
		doctor_ok(doctor, "%s (%s) has %zu device%s", fields[1],
			  *fields[3] ? fields[3] : "library unknown", devices, devices == 1 ? "" : "s");
}

static const char *deviceless_advice(const char *library)
{
	for (size_t i = 0; i < sizeof(deviceless) / sizeof(deviceless[0]); i++) {
		if (strncmp(basename(library), deviceless[i].library,
			    strlen(deviceless[i].library)) == 0)
			return deviceless[i].advice;
	}
	return NULL;
}

/* Whether a driver has a device, by its library's name. */
static bool has_device(const struct doctor *doctor, const char *library)
{
	for (size_t i = 0; i < doctor->device_count; i++) {
		if (strcmp(basename(doctor->devices[i].library), basename(library)) == 0)
			return true;
	}
	return false;
}

static void say_icd(struct doctor *doctor, const struct doctor_icds *icds,
		    const struct channel_record *record)
{
	const char *library = record->fields[0], *file = NULL;
	bool loaded = false;

	for (size_t i = 0; i < icds->count; i++) {
		const struct doctor_icd *icd = &icds->items[i];

		if (icd->library && strcmp(icd->library, library) == 0 &&
		    (icd->readers & icds->loader)) {
			loaded = true;
			file = icd->file;
		}
	}
	if (!loaded)
		return;	/* another loader would */
	if (*record->fields[1])
		doctor_note(doctor, "reinstall its package, or remove the file that names it",
			    "the driver of %s cannot be loaded: %s", file ? file : "the environment",
			    record->fields[1]);
	else if (!has_device(doctor, library))
		doctor_note(doctor, deviceless_advice(library), "the driver %s has no device here", library);
}

/* Its platforms with their devices, and the drivers' files. Cuts the text. */
static void read_drivers(struct doctor *doctor, const struct doctor_icds *icds, char *text)
{
	struct channel_record record, platform = { 0 };
	size_t devices = 0;

	while (channel_next(&text, &record)) {
		if (strcmp(record.word, "platform") == 0) {
			say_platform(doctor, &platform, devices);
			platform = record;
			devices = 0;
		} else if (strcmp(record.word, "device") == 0 && platform.word) {
			doctor_add_device(doctor, false, platform.fields[1], platform.fields[3],
					  record.fields);
			devices++;
		} else if (strcmp(record.word, "icd") == 0) {
			say_platform(doctor, &platform, devices);
			devices = 0;
			say_icd(doctor, icds, &record);
		}
	}
	say_platform(doctor, &platform, devices);
}

static void look(struct doctor *doctor, struct doctor_icds *icds, const char *const *arguments)
{
	const struct worker_variable variables[] = { DOCTOR_HARMLESS(doctor), { 0 } };
	struct doctor_answer answer;

	if (!doctor_ask(doctor, doctor->scratch, arguments, variables, true, &answer))
		return;
	say_loader(doctor, &answer);
	if (answer.loader && (answer.active || !*answer.problem))
		say_layer(doctor, &answer);
	doctor_icds_say(doctor, icds, answer.name);
	read_drivers(doctor, icds, answer.records);
	if (doctor_blame(doctor, "layer", &answer, icds))
		;	/* said */
	else if (answer.failure)
		doctor_note(doctor, "for OpenCL programs: install ocl-icd-libopencl1",
			    "there is no OpenCL loader: %s", answer.failure);
	else if (!answer.asked)
		doctor_problem(doctor, "run it again with more memory", "nothing could be asked%s", answer.words);
	if (answer.active && answer.devices && !answer.below)
		doctor->ready = true;
	doctor_answer_release(&answer);
}

void doctor_look_at_opencl(struct doctor *doctor)
{
	const char *layers = getenv("OPENCL_LAYERS");
	char *path = tool_find_library(TOOL_OPENCL_LIBRARY);
	static struct doctor_icds icds;	/* until the command ends */
	const char **arguments;
	size_t count = 1;

	if (!path) {
		doctor_problem(doctor, "install libckcache-opencl",
			       "%s is missing from this command's installation", TOOL_OPENCL_LIBRARY);
		return;
	}
	doctor_ok(doctor, "the layer is %s", path);
	free(path);
	if (layers && *layers)
		doctor_ok(doctor, "OPENCL_LAYERS is %s", layers);
	look_at_layer_files(doctor);
	doctor_icds_find(&icds);
	arguments = memory_new(icds.count + 2, sizeof(*arguments));
	arguments[0] = "opencl";
	for (size_t i = 0; i < icds.count; i++) {
		if (icds.items[i].library)
			arguments[count++] = icds.items[i].library;
	}
	look(doctor, &icds, arguments);
	free(arguments);
}
