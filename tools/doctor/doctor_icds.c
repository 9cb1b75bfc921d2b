/* SPDX-License-Identifier: MIT */
/*
 * doctor_icds: which OpenCL drivers the loaders load: the *.icd files of
 * /etc/OpenCL/vendors, or what the variables of ocl-icd and of Khronos' loader
 * name, by the rules of each. And which of them it is that does not answer.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "tools/doctor/doctor.h"
#include "tools/memory.h"

#define VENDORS "/etc/OpenCL/vendors"
#define MAX_ICD_FILE 4096	/* one path */

/* Takes problem. What is there already gets one more loader. */
static void add(struct doctor_icds *icds, unsigned readers, const char *file, const char *library,
		char *problem)
{
	for (size_t i = 0; i < icds->count; i++) {
		struct doctor_icd *item = &icds->items[i];

		if (!file == !item->file && (!file || strcmp(file, item->file) == 0) &&
		    (file || (library && item->library && strcmp(library, item->library) == 0))) {
			item->readers |= readers;
			free(problem);
			return;
		}
	}
	memory_grow(icds->items, icds->count);
	icds->items[icds->count++] = (struct doctor_icd){
		.readers = readers, .problem = problem, .file = file ? memory_copy(file) : NULL,
		.library = library ? memory_copy(library) : NULL,
	};
}

/* Its first line names the driver. */
static void add_file(struct doctor_icds *icds, unsigned readers, const char *file)
{
	struct cmn_buffer content = { 0 };
	enum cmn_status status = cmn_file_read(AT_FDCWD, file, MAX_ICD_FILE, true, &content);
	char *text = status == CMN_OK ? memory_string(&content) : NULL;

	if (text)
		text[strcspn(text, "\n")] = '\0';
	if (text && text[strspn(text, " \t\r")])
		add(icds, readers, file, text, NULL);
	else
		add(icds, readers, file, NULL, text ? memory_printf("%s names no driver", file) :
		    memory_printf("%s: %s", file, cmn_status_string(status)));
	free(text);
}

static bool is_icd_name(const char *name)
{
	size_t len = strlen(name);

	return len > 4 && strcmp(name + len - 4, ".icd") == 0;
}

static int is_icd_file(const struct dirent *entry)
{
	return is_icd_name(entry->d_name);
}

static bool is_directory(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static void add_directory(struct doctor_icds *icds, unsigned readers, const char *directory)
{
	struct dirent **entries;
	int count = scandir(directory, &entries, is_icd_file, alphasort);

	for (int i = 0; i < count; i++) {
		char *path = memory_printf("%s/%s", directory, entries[i]->d_name);

		add_file(icds, readers, path);
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

	if (strchr(name, '/') || !is_icd_name(name))
		return NULL;
	path = memory_printf("%s/%s", ocl_icd_directory(), name);
	if (access(path, R_OK) == 0)
		return path;
	free(path);
	return NULL;
}

/* Its __initClIcd, which is the same from 2.3.1 to 2.3.4. */
static void find_for_ocl_icd(struct doctor_icds *icds)
{
	const char *vendors = getenv("OCL_ICD_VENDORS");
	char *found;

	if (!vendors || !*vendors) {
		add_directory(icds, DOCTOR_OCL_ICD, ocl_icd_directory());
	} else if (is_directory(vendors)) {
		add_directory(icds, DOCTOR_OCL_ICD, vendors);
	} else if (is_icd_name(vendors)) {
		found = find_in_directory(vendors);
		add_file(icds, DOCTOR_OCL_ICD, found ? found : vendors);
		free(found);
	} else {
		add(icds, DOCTOR_OCL_ICD, NULL, vendors, NULL);
	}
}

/* Its khrIcdOsVendorsEnumerate: a list of libraries, then one directory. */
static void find_for_khronos(struct doctor_icds *icds)
{
	const char *vendors = getenv("OCL_ICD_VENDORS"), *list = getenv("OCL_ICD_FILENAMES");
	char *copy = list ? memory_copy(list) : NULL, *rest;

	for (char *part = copy ? strtok_r(copy, ":", &rest) : NULL; part;
	     part = strtok_r(NULL, ":", &rest))
		add(icds, DOCTOR_KHRONOS, NULL, part, NULL);
	free(copy);
	add_directory(icds, DOCTOR_KHRONOS, vendors ? vendors : VENDORS);
}

void doctor_icds_settle(void)
{
	const char *vendors = getenv("OCL_ICD_VENDORS");
	char *found = vendors ? find_in_directory(vendors) : NULL;

	/* A library without a directory is the dynamic linker's to find. */
	if (vendors && !found &&
	    (strchr(vendors, '/') || is_icd_name(vendors) || is_directory(vendors)))
		doctor_make_absolute("OCL_ICD_VENDORS");
	free(found);
	doctor_make_absolute("OPENCL_VENDOR_PATH");
}

void doctor_icds_find(struct doctor_icds *ret)
{
	*ret = (struct doctor_icds){ .loader = DOCTOR_OCL_ICD | DOCTOR_KHRONOS };
	find_for_ocl_icd(ret);
	find_for_khronos(ret);
}

static void say_ignored(struct doctor *doctor, const char *variable, const char *what,
			const char *advice)
{
	doctor_note(doctor, advice, "%s is %s, which this loader %s", variable, getenv(variable), what);
}

void doctor_icds_say(struct doctor *doctor, struct doctor_icds *icds, const char *loader)
{
	const char *vendors = getenv("OCL_ICD_VENDORS"), *path = getenv("OPENCL_VENDOR_PATH");

	if (loader)
		icds->loader = strcmp(loader, "ocl-icd") == 0 ? DOCTOR_OCL_ICD : DOCTOR_KHRONOS;
	for (size_t i = 0; i < icds->count; i++) {
		if (icds->items[i].problem && (icds->items[i].readers & icds->loader))
			doctor_note(doctor, "remove it, or reinstall its package", "%s",
				    icds->items[i].problem);
	}
	if (icds->loader == DOCTOR_OCL_ICD && getenv("OCL_ICD_FILENAMES"))
		say_ignored(doctor, "OCL_ICD_FILENAMES", "does not read",
			    "name a driver, or a directory of .icd files, in OCL_ICD_VENDORS");
	if (icds->loader == DOCTOR_KHRONOS && path && *path)
		say_ignored(doctor, "OPENCL_VENDOR_PATH", "does not read",
			    "name the directory in OCL_ICD_VENDORS");
	if (icds->loader == DOCTOR_KHRONOS && vendors && !is_directory(vendors))
		say_ignored(doctor, "OCL_ICD_VENDORS", "takes for a directory",
			    "name a directory of .icd files, or the drivers in OCL_ICD_FILENAMES");
}

/* Makes <scratch>/icd-<i>/driver.icd; the directory's path, or NULL. */
static char *make_vendors(const struct doctor *doctor, size_t i, const char *library)
{
	struct cmn_view content = cmn_view_of(library);
	int fd = -1;
	char *path;
	bool done;

	if (!doctor->scratch)
		return NULL;
	path = memory_printf("%s/icd-%zu", doctor->scratch, i);
	done = mkdir(path, 0700) == 0;
	if (done)
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	done = fd >= 0 && cmn_file_publish(fd, "driver.icd", &content, 1) == CMN_OK;
	if (fd >= 0)
		(void)close(fd);	/* published */
	if (done)
		return path;
	free(path);
	return NULL;
}

/* false: this one does not answer, said. */
static bool answers(struct doctor *doctor, const struct doctor_icd *icd, const char *vendors)
{
	static const char *const arguments[] = { "opencl", NULL };
	const struct worker_variable variables[] = {
		{ "OPENCL_LAYERS", NULL }, { "OCL_ICD_VENDORS", vendors },
		{ "OPENCL_VENDOR_PATH", NULL }, { "OCL_ICD_FILENAMES", NULL },
		DOCTOR_HARMLESS(doctor), { 0 },
	};
	struct doctor_answer answer;
	char *advice;

	if (!doctor_ask(doctor, doctor->scratch, arguments, variables, false, &answer))
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

size_t doctor_icds_blame(struct doctor *doctor, const struct doctor_icds *icds)
{
	size_t blamed = 0;

	for (size_t i = 0; i < icds->count && !doctor->failed; i++) {
		char *vendors = NULL;

		if (icds->items[i].library && (icds->items[i].readers & icds->loader))
			vendors = make_vendors(doctor, i, icds->items[i].library);
		blamed += vendors && !answers(doctor, &icds->items[i], vendors);
		free(vendors);
	}
	return blamed;
}
