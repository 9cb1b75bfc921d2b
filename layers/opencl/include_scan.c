/* SPDX-License-Identifier: MIT */
/*
 * include_scan: a fixpoint over the closure of headers. An event of a text
 * (a directive, a word) counts once its branch could be entered; what counts
 * can define macros, which makes conditions less certain and opens further
 * branches, and can bring headers, which have events of their own. Nothing
 * ever stops to count, so that the rounds end.
 *
 * Why that is enough: take the first directive that a preprocessor executes
 * and that does not count here. All that it executed before counted, so every
 * macro that it knows is in the set; then the condition before that directive
 * has the value that was certain here, and the directive is not executed.
 */
#include "layers/opencl/include_scan.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "layers/opencl/build_options.h"
#include "layers/opencl/conditions.h"
#include "layers/opencl/expansion.h"
#include "layers/opencl/include_places.h"
#include "layers/opencl/macros.h"
#include "layers/opencl/source_text.h"
#include "layers/opencl/tokens.h"

/*
 * What a scan may cost. Real programs need a few rounds, some thousand macros
 * and a few computed includes; beyond these it would take longer than the build.
 */
enum { MAX_ROUNDS = 100, MAX_DEFINES = 250000, MAX_COMPUTED = 4096 };

struct scan {
	struct ocl_build_options options;
	struct ocl_include_places places;
	struct ocl_macros *macros;
	const char *reason;	/* with CMN_MISS */
	bool changed;		/* macros were added in this round */
	unsigned int rounds, defines, computed;
	bool pastes, has_piece, has_pragma, has_dependency;
	const struct ocl_include_file *includer;	/* of the header that is being resolved */
};

static enum cmn_status refuse(struct scan *scan, const char *reason)
{
	scan->reason = reason;
	return CMN_MISS;
}

/* What a function of include_places returned. */
static enum cmn_status from_places(struct scan *scan, enum cmn_status status)
{
	return status == CMN_MISS ? refuse(scan, scan->places.reason) : status;
}

/* A name with its quotes or brackets. */
static enum cmn_status include_name(void *ctx, struct cmn_view spelled)
{
	struct scan *scan = ctx;
	const char *data = spelled.data;
	enum cmn_status status;
	char *name;

	if (spelled.len <= 2)
		return CMN_OK;	/* an empty name is an error for every driver */
	if (memchr(data, '\0', spelled.len))
		return refuse(scan, "odd-name");
	name = strndup(data + 1, spelled.len - 2);
	if (!name)
		return CMN_ERR_NOMEM;
	status = from_places(scan, ocl_include_places_resolve(&scan->places, scan->includer, name,
							      data[0] == '"'));
	free(name);
	return status;
}

/* The header's name where the operand has it literally, else empty. */
static struct cmn_view literal_name(struct cmn_view operand)
{
	const char *at = operand.data, *end = at + operand.len, *start;
	char close;

	for (;;) {
		while (at < end && ocl_token_is_blank((unsigned char)*at))
			at++;
		if (end - at < 2 || at[0] != '/' || at[1] != '*')
			break;
		start = memmem(at + 2, (size_t)(end - at) - 2, "*/", 2);
		at = start ? start + 2 : end;
	}
	if (at == end || (*at != '"' && *at != '<'))
		return (struct cmn_view){ 0 };
	close = *at == '"' ? '"' : '>';
	for (start = at++; at < end && *at != close; at++) {
		if (*at == '\\' && at + 1 < end)
			at++;
	}
	if (at >= end)
		return (struct cmn_view){ 0 };
	return (struct cmn_view){ start, (size_t)(at + 1 - start) };
}

static enum cmn_status include(struct scan *scan, const struct ocl_include_file *file,
			       struct ocl_event *event)
{
	struct cmn_view name = literal_name(event->text);
	enum cmn_status status;

	scan->includer = file;
	if (name.len) {
		event->live = true;
		/* In an active line this is a name, in a skipped one a comment begins. */
		if (*(const char *)name.data == '<' && memmem(name.data, name.len, "/*", 2))
			return refuse(scan, "odd-comment");
		return include_name(scan, name);
	}
	if (++scan->computed > MAX_COMPUTED)
		return refuse(scan, "too-complex");
	/* Not live: macros that come to count later can give it further names. */
	status = ocl_expansion_each_header(scan->macros, event->text, include_name, scan);
	if (status == CMN_MISS && !scan->reason)
		return refuse(scan, "computed-include");
	return status;
}

static enum cmn_status count_event(struct scan *scan, const struct ocl_include_file *file,
				   struct ocl_event *event)
{
	enum cmn_status status = CMN_OK;

	if (event->kind == OCL_EVENT_INCLUDE)
		return include(scan, file, event);
	event->live = true;
	switch (event->kind) {
	case OCL_EVENT_DEFINE:
		if (++scan->defines > MAX_DEFINES)
			return refuse(scan, "too-complex");
		status = ocl_macros_define(scan->macros, event->text, false);
		scan->changed = true;
		break;
	case OCL_EVENT_UNDEF:
		status = ocl_macros_undefine(scan->macros, event->text);
		scan->changed = true;
		break;
	case OCL_EVENT_REFUSE:
		return refuse(scan, event->reason);
	case OCL_EVENT_DIRECTORY:
		return from_places(scan, ocl_include_places_add_directory(&scan->places));
	case OCL_EVENT_PASTE:
		scan->pastes = true;
		break;
	case OCL_EVENT_PIECE:
		scan->has_piece = true;
		break;
	case OCL_EVENT_PRAGMA:
		scan->has_pragma = true;
		break;
	case OCL_EVENT_DEPENDENCY:
		scan->has_dependency = true;
		break;
	case OCL_EVENT_INCLUDE:
		break;
	}
	/* What is no definition is an error for the driver. */
	return status == CMN_ERR_INVALID ? CMN_OK : status;
}

static enum cmn_status count_events(struct scan *scan, struct ocl_include_file *file)
{
	unsigned char *open = malloc(file->text.branch_count + 1);
	enum cmn_status status = CMN_OK;

	if (!open)
		return CMN_ERR_NOMEM;
	ocl_conditions_open_branches(&file->text, scan->macros, open);
	for (size_t i = 0; i < file->text.event_count && status == CMN_OK; i++) {
		struct ocl_event *event = &file->text.events[i];

		if (!event->live && (event->branch < 0 || open[event->branch]))
			status = count_event(scan, file, event);
	}
	free(open);
	return status;
}

/* A macro as a definition, and its body as text that can have refused words. */
static enum cmn_status count_option(struct scan *scan, const struct ocl_option_macro *macro)
{
	struct cmn_buffer line = { 0 };
	const struct ocl_source_text *text;
	enum cmn_status status;

	cmn_buffer_append_text(&line, macro->undefine ? "#undef " : "#define ");
	cmn_buffer_append_text(&line, macro->text);
	status = from_places(scan, ocl_include_places_take_text(&scan->places, &line));
	if (status != CMN_OK)
		return status;
	text = &scan->places.files[scan->places.file_count - 1]->text;
	for (size_t i = 0; i < text->event_count && macro->certain && status == CMN_OK; i++) {
		struct ocl_event *event = &text->events[i];

		if (event->kind != OCL_EVENT_DEFINE)
			continue;
		event->live = true;
		status = ocl_macros_define(scan->macros, event->text, true);
		status = status == CMN_ERR_INVALID ? CMN_OK : status;
	}
	return status;
}

static enum cmn_status count_options(struct scan *scan)
{
	enum cmn_status status = CMN_OK;

	for (size_t i = 0; i < scan->options.macro_count && status == CMN_OK; i++)
		status = count_option(scan, &scan->options.macros[i]);
	if (status == CMN_OK && scan->options.debug)
		status = from_places(scan, ocl_include_places_add_directory(&scan->places));
	return status;
}

static enum cmn_status count_all(struct scan *scan)
{
	enum cmn_status status = CMN_OK;

	do {
		scan->changed = false;
		if (++scan->rounds > MAX_ROUNDS)
			return refuse(scan, "too-complex");
		/* Headers that are found on the way are counted in the same round. */
		for (size_t i = 0; i < scan->places.file_count && status == CMN_OK; i++)
			status = count_events(scan, scan->places.files[i]);
	} while (scan->changed && status == CMN_OK);
	if (status == CMN_OK && scan->pastes && scan->has_piece)
		return refuse(scan, "token-paste");
	if (status == CMN_OK && scan->has_pragma && scan->has_dependency)
		return refuse(scan, "pragma-dependency");
	return status;
}

static enum cmn_status scan_source(struct scan *scan, const struct ocl_include_request *request,
				   struct cc_file_memo *memo)
{
	enum cmn_status status = ocl_build_options_read(&scan->options, request->options,
							request->quotes_group);

	if (status == CMN_MISS)
		return refuse(scan, "option");
	if (status == CMN_OK)
		status = ocl_include_places_init(&scan->places, &scan->options, memo);
	if (status != CMN_OK)
		return status;
	scan->macros = ocl_macros_new(scan->options.cplusplus);
	if (!scan->macros)
		return CMN_ERR_NOMEM;
	status = from_places(scan, ocl_include_places_add_text(&scan->places, request->source));
	for (size_t i = 0; i < request->embedded_count && status == CMN_OK; i++)
		status = from_places(scan, ocl_include_places_add_text(&scan->places,
								       request->embedded[i]));
	if (status == CMN_OK)
		status = count_options(scan);
	return status == CMN_OK ? count_all(scan) : status;
}

static void scan_release(struct scan *scan)
{
	ocl_macros_free(scan->macros);
	ocl_include_places_release(&scan->places);
	ocl_build_options_release(&scan->options);
}

enum cmn_status ocl_include_scan(const struct ocl_include_request *request,
				 struct cc_file_memo *memo, struct cc_manifest **ret_manifest,
				 const char **ret_reason)
{
	struct scan scan = { 0 };
	enum cmn_status status = scan_source(&scan, request, memo);

	if (status == CMN_OK) {
		if (cc_manifest_count(scan.places.manifest)) {
			*ret_manifest = scan.places.manifest;
			scan.places.manifest = NULL;
		} else {
			*ret_manifest = NULL;
		}
	} else if (status == CMN_MISS) {
		*ret_reason = scan.reason;
	}
	scan_release(&scan);
	return status;
}
