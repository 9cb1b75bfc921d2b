/* SPDX-License-Identifier: MIT */
/*
 * doctor_loaders: the OpenCL loader that programs get, whether the layer comes in through it, and the drivers
 * behind it, as a process that is run like `ckcache run` finds them. Which drivers there are: the *.icd files
 * of /etc/OpenCL/vendors, or what variables name, by ocl-icd's rules (Khronos' loader has the same for
 * directories); and which of them it is that does not answer. The same for Level Zero: the loader, whether
 * the plugin comes in by the preload shim and the slot, as `ckcache run` has it, and the drivers' devices.
 */
#include "tools/doctor/doctor.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "tools/memory.h"

#define VENDORS "/etc/OpenCL/vendors"
#define MAX_ICD_FILE 4096	/* one path */

/* Takes library and problem, of which one is NULL. */
static void add(struct doctor_icds *icds, const char *file, char *library, char *problem)
{
	memory_grow(icds->items, icds->count);
	icds->items[icds->count++] = (struct doctor_icd){
		.file = file ? memory_copy(file) : NULL, .library = library, .problem = problem,
	};
}

/* Its first line names the driver. */
static void add_file(struct doctor_icds *icds, const char *file)
{
	struct cmn_buffer content = { 0 };
	enum cmn_status status = cmn_file_read(AT_FDCWD, file, MAX_ICD_FILE, true, &content);
	char *text = status == CMN_OK ? memory_string(&content) : NULL;

	if (text)
		text[strcspn(text, "\n")] = '\0';
	if (text && text[strspn(text, " \t\r")]) {
		add(icds, file, text, NULL);
		return;
	}
	add(icds, file, NULL, text ? memory_printf("%s names no driver", file) :
	    memory_printf("%s: %s", file, cmn_status_string(status)));
	free(text);
}

/* Whether it is a name with that end, of four characters. */
static bool ends_with(const char *name, const char *end)
{
	size_t len = strlen(name);

	return len > 4 && strcmp(name + len - 4, end) == 0;
}

static int is_icd_file(const struct dirent *entry)
{
	return ends_with(entry->d_name, ".icd");
}

static bool is_directory(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static void add_directory(struct doctor_icds *icds, const char *directory)
{
	struct dirent **entries;
	int count = scandir(directory, &entries, is_icd_file, alphasort);

	for (int i = 0; i < count; i++) {
		char *path = memory_printf("%s/%s", directory, entries[i]->d_name);

		add_file(icds, path);
		free(path);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

static const char *ocl_icd_directory(void)
{
	const char *directory = getenv("OPENCL_VENDOR_PATH");

	return directory && *directory ? directory : VENDORS;
}

/* Where ocl-icd finds a file that is named without a directory; NULL: not there. Freed by the caller. */
static char *find_in_directory(const char *name)
{
	char *path;

	if (strchr(name, '/') || !ends_with(name, ".icd"))
		return NULL;
	path = memory_printf("%s/%s", ocl_icd_directory(), name);
	if (access(path, R_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/* ocl-icd's __initClIcd, which is the same from 2.3.1 to 2.3.4. */
static void find_icds(struct doctor_icds *icds)
{
	const char *vendors = getenv("OCL_ICD_VENDORS");
	char *found;

	if (!vendors || !*vendors) {
		add_directory(icds, ocl_icd_directory());
	} else if (is_directory(vendors)) {
		add_directory(icds, vendors);
	} else if (ends_with(vendors, ".icd")) {
		found = find_in_directory(vendors);
		add_file(icds, found ? found : vendors);
		free(found);
	} else {
		add(icds, NULL, memory_copy(vendors), NULL);
	}
}

void doctor_icds_settle(void)
{
	const char *vendors = getenv("OCL_ICD_VENDORS");
	char *found = vendors ? find_in_directory(vendors) : NULL;

	/* A library without a directory is the dynamic linker's to find. */
	if (vendors && !found &&
	    (strchr(vendors, '/') || ends_with(vendors, ".icd") || is_directory(vendors)))
		doctor_make_absolute("OCL_ICD_VENDORS");
	free(found);
	doctor_make_absolute("OPENCL_VENDOR_PATH");
}

/* false: this one does not answer, said. */
static bool answers(struct doctor *doctor, const struct doctor_icd *icd)
{
	struct doctor_answer answer;
	char *advice;

	if (!doctor_ask_without(doctor, "opencl", icd->library, &answer))
		return true;
	if (*answer.problem) {
		advice = memory_printf("repair or remove it (%s), or make programs skip it (OCL_ICD_VENDORS)",
				       icd->file ? icd->file : icd->library);
		doctor_problem(doctor, advice,
			       "the driver %s %s when a process asked %s, also without the cache%s",
			       icd->library, answer.problem, answer.asked ? answer.asked : "", answer.words);
		free(advice);
	}
	doctor_answer_release(&answer);
	return !*answer.problem;
}

bool doctor_icds_blame(struct doctor *doctor, const struct doctor_icds *icds)
{
	bool blamed = false;

	for (size_t i = 0; i < icds->count && !doctor->failed; i++)
		blamed |= icds->items[i].library && !answers(doctor, &icds->items[i]);
	return blamed;
}

#define LAYER_FILES "/etc/OpenCL/layers"
#define MAX_LAYER_FILE 4096	/* one path */

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
	return ends_with(entry->d_name, ".lay");
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

static void say_loader(struct doctor *doctor, const struct doctor_answer *answer)
{
	if (answer->loader)
		doctor_ok(doctor, "the loader is %s: %s %s", answer->loader, answer->name ? answer->name : "name unknown",
			  answer->version ? answer->version : "");
}

static void say_layer(struct doctor *doctor, const struct doctor_answer *answer)
{
	if (answer->active) {
		doctor_ok(doctor, "the layer is loaded and answers");
		if (answer->below)
			doctor_problem(doctor,
				       "name " TOOL_OPENCL_LIBRARY " before the others in OPENCL_LAYERS; of .lay files the first by name counts",
				       "nothing is cached: another layer between the cache and the drivers may change what is built");
	} else if (answer->layers) {
		doctor_problem(doctor, "install this command and the layer in the same version",
			       "the layer is loaded, but does not answer");
	} else if (answer->platforms) {
		doctor_problem(doctor,
			       "install ocl-icd 2.3.0 or later, or Khronos' loader; check the layer's libraries with ldd",
			       "the loader does not load the layer: it is too old, or the layer lacks a library");
	} else {
		doctor_note(doctor, NULL, "the loader found no driver, so it loads no layers");
	}
}

static void say_platform(struct doctor *doctor, const struct channel_record *platform,
			 size_t devices)
{
	const char *const *fields = platform->fields;

	if (devices)	/* without any there is a word about its file */
		doctor_ok(doctor, "%s (%s) has %zu device%s", fields[1],
			  fields[3] && *fields[3] ? fields[3] : "library unknown", devices, devices == 1 ? "" : "s");
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

	for (size_t i = 0; i < icds->count; i++) {
		if (icds->items[i].library && strcmp(icds->items[i].library, library) == 0)
			file = icds->items[i].file;
	}
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
		} else if (strcmp(record.word, "device") == 0) {
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

static void look(struct doctor *doctor, const struct doctor_icds *icds, const char *const *arguments)
{
	const struct worker_variable variables[] = { DOCTOR_HARMLESS(doctor), { 0 } };
	struct doctor_answer answer;

	if (!doctor_ask(doctor, doctor->scratch, arguments, variables, true, &answer))
		return;
	say_loader(doctor, &answer);
	if (answer.loader && (answer.active || !*answer.problem))
		say_layer(doctor, &answer);
	for (size_t i = 0; i < icds->count; i++) {
		if (icds->items[i].problem)
			doctor_note(doctor, "remove it, or reinstall its package", "%s", icds->items[i].problem);
	}
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
	find_icds(&icds);
	arguments = memory_new(icds.count + 2, sizeof(*arguments));
	arguments[0] = "opencl";
	for (size_t i = 0; i < icds.count; i++) {
		if (icds.items[i].library)
			arguments[count++] = icds.items[i].library;
	}
	look(doctor, &icds, arguments);
	free(arguments);
}

/* ---- Level Zero ---- */

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

static void look_at_variables(struct doctor *doctor)
{
	const char *path = getenv("ZEL_LIBRARY_PATH");

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

static void look_at_answer(struct doctor *doctor, const struct doctor_answer *answer)
{
	bool plugin = read_devices(doctor, answer->records, answer->library);

	say_loader(doctor, answer);
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
	look_at_answer(doctor, &answer);
	doctor_answer_release(&answer);
}
