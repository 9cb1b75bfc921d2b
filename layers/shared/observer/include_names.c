/* SPDX-License-Identifier: MIT */
/*
 * include_names: what was looked for below an include path has to be there because the option says so, and
 * no text may have its name or ask for it.
 */
#include "layers/shared/observer/include_names.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/file.h"
#include "layers/shared/driver/environment.h"
#include "layers/shared/driver/harmless.h"

enum { MAX_PARTS = 16, MAX_TEXT = 4 << 20 };

struct search {
	const struct drv_observation *observation;
	const struct drv_observer_text *text;
	/* The first part of what lies between a directory that was looked in and an include path below it. */
	struct cmn_view parts[MAX_PARTS];
	struct drv_text_findings findings;
};

static bool has(struct cmn_view text, struct cmn_view wanted)
{
	return text.len && memmem(text.data, text.len, wanted.data, wanted.len);
}

/* A text of the application's that is compiled, or its options. */
static bool text_counts(struct search *search, struct cmn_view text)
{
	const struct cc_include_paths *paths = search->text->include_paths;
	bool counts = text.len && search->text->tells_file && search->text->tells_file(text, &search->findings);

	for (uint32_t i = 0; i < paths->count && !counts; i++)
		counts = has(text, cc_include_path(paths, i));
	return counts;
}

/* Whether a variable has the name, or more options. */
static bool environment_counts(const struct cc_include_paths *paths)
{
	for (const char *at = NULL; (at = drv_environment_next(at));) {
		if (drv_variable_adds_options(at))
			return true;
		for (uint32_t i = 0; i < paths->count; i++) {
			if (has(cmn_view_of(at), cc_include_path(paths, i)))
				return true;
		}
	}
	return false;
}

static bool options_count(struct search *search)
{
	struct cmn_view options = cmn_view_of(search->text->options);
	bool counts = text_counts(search, options);

	for (size_t i = 0; i < search->findings.part_count && !counts; i++)
		counts = has(options, search->parts[i]);
	return counts;
}

/* false: there are too many. */
static bool add_part(struct search *search, struct cmn_view directory, struct cmn_view path)
{
	const char *part = (const char *)path.data + directory.len + (directory.len > 1);
	size_t left = path.len - (size_t)(part - (const char *)path.data);
	const char *slash = memchr(part, '/', left);
	struct cmn_view found = { part, slash ? (size_t)(slash - part) : left };

	for (size_t i = 0; i < search->findings.part_count; i++) {
		if (cmn_view_equal(search->parts[i], found))
			return true;
	}
	if (search->findings.part_count == MAX_PARTS)
		return false;
	search->parts[search->findings.part_count++] = found;
	return true;
}

static bool is_above(struct cmn_view directory, struct cmn_view path)
{
	return directory.len && directory.len < path.len &&
	       (directory.len == 1 ? *(const char *)directory.data == '/' : cc_include_path_leads_to(directory, path));
}

/* What was looked for elsewhere: was it by the path's other name, or in a directory that leads there as well? */
static bool elsewhere_counts(struct search *search, const struct lookup *lookup, struct cmn_view path, struct cmn_view real)
{
	struct cmn_view whole = cmn_view_of(lookup->path), parent = whole;
	const char *slash = strrchr(lookup->path, '/');

	if (real.len && cc_include_path_leads_to(real, whole))
		return true;
	if (!slash)
		return false;
	parent.len = slash == lookup->path ? 1 : (size_t)(slash - lookup->path);
	return (is_above(whole, path) && !add_part(search, whole, path)) ||
	       (is_above(parent, path) && !add_part(search, parent, path));
}

static bool path_counts(struct search *search, struct cmn_view path)
{
	const struct drv_observation *observation = search->observation;
	char *copy = strndup(path.data, path.len), *real = copy ? realpath(copy, NULL) : NULL;
	bool seen = false, counts = !copy || (observation->directory &&
					      cc_include_path_leads_to(path, cmn_view_of(observation->directory)));

	if (real && copy && strcmp(real, copy) == 0)
		*real = '\0';
	for (const struct lookup *lookup = observation->lookups; lookup && !counts; lookup = lookup->hh.next) {
		if (!cc_include_path_leads_to(path, cmn_view_of(lookup->path)))
			counts = elsewhere_counts(search, lookup, path, cmn_view_of(real));
		else	/* A file is a map of headers, which may be anywhere. */
			counts = lookup->finding == FOUND_OWN || lookup->cached || lookup->written ||
				 (lookup->finding == FOUND_FILE && strlen(lookup->path) == path.len) ||
				 drv_driver_has_file(observation->driver, lookup->path);
		seen |= cc_include_path_leads_to(path, cmn_view_of(lookup->path));
	}
	free(copy);
	free(real);
	/* What the compiler makes of it is known only where it looks. */
	return counts || !seen;
}

/* What begins as libraries, LLVM's bitcode and SPIR-V do is included by no text. */
static bool is_library(const char *path)
{
	static const char magics[][4] = { { 0x7f, 'E', 'L', 'F' }, { 'B', 'C', (char)0xc0, (char)0xde }, { 3, 2, 0x23, 7 } };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	char beginning[4];
	bool is = false, known = fd >= 0 && pread(fd, beginning, sizeof(beginning), 0) == sizeof(beginning);

	for (size_t i = 0; known && i < sizeof(magics) / sizeof(magics[0]); i++)
		is = is || memcmp(beginning, magics[i], sizeof(beginning)) == 0;
	if (fd >= 0)
		(void)close(fd);	/* read only */
	return is;
}

/* Of one that was read. */
static bool file_counts(struct search *search, const char *path)
{
	struct cmn_buffer content = { 0 };
	bool counts;

	if (drv_driver_has_file(search->observation->driver, path) || is_library(path))
		return false;
	counts = cmn_file_read(AT_FDCWD, path, MAX_TEXT, true, &content) != CMN_OK ||
		 text_counts(search, cmn_buffer_view(&content));
	cmn_buffer_release(&content);
	return counts;
}

bool drv_include_names_count(const struct drv_observation *observation, const struct drv_observer_text *text)
{
	struct search search = { .observation = observation, .text = text, .findings = { .parts = search.parts } };
	bool counts = text->directory || text->named;

	for (uint32_t i = 0; i < text->include_paths->count && !counts; i++)
		counts = path_counts(&search, cc_include_path(text->include_paths, i));
	counts = counts || text_counts(&search, text->source) || options_count(&search) ||
		 environment_counts(text->include_paths);
	for (const struct lookup *lookup = observation->lookups; lookup && !counts; lookup = lookup->hh.next) {
		if (lookup->finding == FOUND_FILE && lookup->opened && !lookup->cached && !lookup->written &&
		    !drv_is_of_system(lookup->path))
			counts = file_counts(&search, lookup->path);
	}
	return counts;
}
