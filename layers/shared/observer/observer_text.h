/* SPDX-License-Identifier: MIT */
/* observer_text: what a build was given, as far as the observer needs it. */
#ifndef SHARED_OBSERVER_OBSERVER_TEXT_H
#define SHARED_OBSERVER_OBSERVER_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "cachecore/include_paths.h"
#include "cachecore/manifest.h"
#include "common/bytes.h"

/* Of several texts. */
struct drv_text_findings {
	const struct cmn_view *parts;	/* of paths */
	size_t part_count;
	bool pastes;	/* the operator ## */
	bool part;	/* the beginning of an identifier that may be pasted */
};

/* What the application gave to be compiled. Borrowed. */
struct drv_observer_text {
	bool reads;		/* it asks for files to be read: something must have been seen */
	bool directory;		/* the result has the working directory's name */
	bool unproven;		/* an option is not known: the build is to have written nothing that a hit would not */
	bool failed;		/* there is no result, which may be for want of a file that could not be written */
	const char *options;	/* may be NULL */
	struct cmn_view source;	/* text, or a module that may come from the driver's own cache */
	const struct cc_manifest *before;	/* of the build's steps before this one; may be NULL */
	const struct cc_include_paths *include_paths;	/* of the options; NULL: the key keeps them, if there are any */
	bool named;		/* the result may have their names, in doubt */
	/*
	 * Whether a source, header or option, together with those before it, may ask what a file is called, make the
	 * name of one that it includes, or name one of findings->parts in it. NULL: none is compiled.
	 */
	bool (*tells_file)(struct cmn_view text, struct drv_text_findings *findings);
};

#endif
