/* SPDX-License-Identifier: MIT */
/*
 * options: what build options and a source's text say about a build. Whether the compiler has to
 * read files: if so and the observer saw none, it is blind. And whether source and options alone
 * determine the program. Thread-safe.
 */
#ifndef OPENCL_KEY_OPTIONS_H
#define OPENCL_KEY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"

/* Whether they ask for debug information, which has the working directory's name. */
bool ocl_options_ask_for_debugging(const char *options);

/*
 * Whether a source has "include", "embed" or another directive that reads files, anywhere, also
 * over joined lines.
 */
bool ocl_text_reads_files(const char *text, size_t len);
/* Whether a text has the characters, also over joined lines. */
bool ocl_text_has(const char *text, size_t len, const char *wanted);
/* The same as a whole identifier. */
bool ocl_text_has_identifier(const char *text, size_t len, const char *wanted);
struct drv_text_findings;
bool ocl_text_tells_file(struct cmn_view text, struct drv_text_findings *findings);	/* drv_observer_text's */
/* Whether an option names a file that a compiler reads for every source. */
bool ocl_options_read_files(const char *options);

/*
 * Whether a source (empty for IL) and options alone determine what is built: they ask for no file,
 * date, path or debug information in any spelling. Comments count too, so false proves nothing.
 * It cannot tell what a driver reads for every program, nor find a keyword asm that is pasted
 * together.
 */
bool ocl_source_tells_all(struct cmn_view source, const char *options);

#endif
