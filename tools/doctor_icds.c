/* SPDX-License-Identifier: MIT */
/*
 * doctor_icds: which OpenCL drivers the loaders load: the *.icd files of
 * /etc/OpenCL/vendors or of what the loaders' variables name. And which of
 * them it is that does not answer.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "tools/doctor.h"
#include "tools/probe.h"

#define VENDORS "/etc/OpenCL/vendors"
#define MAX_ICD_FILE 4096	/* one path */

static void add(struct doctor *doctor, struct doctor_icds *icds, const char *file,
		const char *library)
{
	struct doctor_icd *grown = reallocarray(icds->items, icds->count + 1, sizeof(*grown));
	struct doctor_icd icd = { file ? strdup(file) : NULL, strdup(library) };

	if (grown)
		icds->items = grown;
	if (!grown || !icd.library || (file && !icd.file)) {
		doctor_out_of_memory(doctor);
		free(icd.file);
		free(icd.library);
		return;
	}
	icds->items[icds->count++] = icd;
}

static void add_file(struct doctor *doctor, struct doctor_icds *icds, const char *file)
{
	struct cmn_buffer content = { 0 };
	enum cmn_status status = cmn_file_read(AT_FDCWD, file, MAX_ICD_FILE, true, &content);
	char *text = status == CMN_OK ? cmn_buffer_take_string(&content) : NULL;
	size_t blanks;

	if (text) {
		text[strcspn(text, "\r\n")] = '\0';
		blanks = strspn(text, " \t");
		if (text[blanks])
			add(doctor, icds, file, text + blanks);
		else
			doctor_say(doctor, DOCTOR_OPENCL, DOCTOR_NOTE, "remove it, or install its package anew",
				   "%s names no driver", file);
	} else {
		doctor_say(doctor, DOCTOR_OPENCL, DOCTOR_NOTE, NULL, "%s: %s", file,
			   cmn_status_string(status));
	}
	free(text);
}

static int is_icd_file(const struct dirent *entry)
{
	size_t len = strlen(entry->d_name);

	return len > 4 && strcmp(entry->d_name + len - 4, ".icd") == 0;
}

static void add_directory(struct doctor *doctor, struct doctor_icds *icds, const char *directory)
{
	struct dirent **entries;
	int count = scandir(directory, &entries, is_icd_file, alphasort);

	for (int i = 0; i < count; i++) {
		char *path;

		if (asprintf(&path, "%s/%s", directory, entries[i]->d_name) >= 0) {
			add_file(doctor, icds, path);
			free(path);
		}
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

/* Khronos' loader has a list of libraries in a variable of its own. */
static void add_list(struct doctor *doctor, struct doctor_icds *icds, const char *list)
{
	char *copy = strdup(list), *rest;

	for (char *part = copy ? strtok_r(copy, ":", &rest) : NULL; part;
	     part = strtok_r(NULL, ":", &rest))
		add(doctor, icds, NULL, part);
	free(copy);
}

void doctor_icds_find(struct doctor *doctor, struct doctor_icds *ret)
{
	const char *vendors = getenv("OCL_ICD_VENDORS"), *list = getenv("OCL_ICD_FILENAMES");
	struct stat info;
	size_t len;

	*ret = (struct doctor_icds){ 0 };
	if (!vendors || !*vendors)
		vendors = getenv("OPENCL_VENDOR_PATH");
	if (!vendors || !*vendors)
		vendors = VENDORS;
	len = strlen(vendors);
	if (stat(vendors, &info) == 0 && S_ISDIR(info.st_mode))
		add_directory(doctor, ret, vendors);
	else if (len > 4 && strcmp(vendors + len - 4, ".icd") == 0)
		add_file(doctor, ret, vendors);
	else if (strcmp(vendors, VENDORS) != 0)
		add(doctor, ret, NULL, vendors);
	if (list)
		add_list(doctor, ret, list);
}

void doctor_icds_release(struct doctor_icds *icds)
{
	for (size_t i = 0; i < icds->count; i++) {
		free(icds->items[i].file);
		free(icds->items[i].library);
	}
	free(icds->items);
}

/* Makes <scratch>/icd-<i>/driver.icd; the directory's path, or NULL. */
static char *make_vendors(const struct doctor *doctor, size_t i, const char *library)
{
	struct cmn_view content = cmn_view_of(library);
	int fd = -1;
	char *path;
	bool done;

	if (!doctor->scratch || asprintf(&path, "%s/icd-%zu", doctor->scratch, i) < 0)
		return NULL;
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

/* The last thing that a probe asked; "" : nothing. */
static const char *last_asked(char *records)
{
	struct probe_record record;
	const char *asked = "";

	while (probe_read(&records, &record)) {
		if (strcmp(record.word, "asking") == 0)
			asked = record.fields[0];
	}
	return asked;
}

/* false: this one does not answer, said. */
static bool answers(struct doctor *doctor, const struct doctor_icd *icd, const char *vendors)
{
	char *const arguments[] = { (char *)"ckcache", (char *)"doctor-probe", (char *)"opencl",
				    NULL };
	const struct child_variable variables[] = {
		{ "OPENCL_LAYERS", NULL }, { "OCL_ICD_VENDORS", vendors },
		{ "OPENCL_VENDOR_PATH", NULL }, { "OCL_ICD_FILENAMES", NULL },
		DOCTOR_HARMLESS(doctor), { 0 },
	};
	const struct child child = { arguments, variables, doctor->scratch, false, doctor->timeout_ns };
	struct child_result result;
	char text[128], words[256], *advice;
	const char *problem;

	if (!doctor_probe(doctor, &child, &result))
		return true;
	problem = doctor_end_text(doctor, &result, text);
	if (problem) {
		if (asprintf(&advice, "repair or remove it (%s), or have programs pass over it "
			     "(OCL_ICD_VENDORS)", icd->file ? icd->file : icd->library) < 0)
			advice = NULL;
		doctor_say(doctor, DOCTOR_OPENCL, DOCTOR_PROBLEM, advice,
			   "the driver %s %s when a process asked %s, also without the cache%s",
			   icd->library, problem, last_asked((char *)result.records.data),
			   doctor_last_words(&result, words));
		free(advice);
	}
	child_result_release(&result);
	return !problem;
}

size_t doctor_icds_blame(struct doctor *doctor, const struct doctor_icds *icds)
{
	size_t blamed = 0;

	for (size_t i = 0; i < icds->count && !doctor->signal && !doctor->failed; i++) {
		char *vendors = make_vendors(doctor, i, icds->items[i].library);

		blamed += vendors && !answers(doctor, &icds->items[i], vendors);
		free(vendors);
	}
	return blamed;
}
