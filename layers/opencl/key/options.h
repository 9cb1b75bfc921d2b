/* SPDX-License-Identifier: MIT */
/*
 * options: whether build options are among those that make nothing but the
 * program. Others may write files, which a hit would not; what they read is
 * seen. Whether a compiler would have to read files, so that one in whose
 * work nothing is seen is known as such. And whether it cannot. Thread-safe.
 */
#ifndef OPENCL_KEY_OPTIONS_H
#define OPENCL_KEY_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/bytes.h"

/* options may be NULL. Drivers differ in what quotes and backslashes mean: each reading counts. */
bool ocl_options_are_harmless(const char *options);

/* Whether the program is to have debug information, and with it the working directory's name. */
bool ocl_options_ask_for_debugging(const char *options);

/*
 * Whether a source has a word by which it reads files ("include", "embed",
 * "incbin"), wherever it stands, over lines that are joined as well.
 */
bool ocl_text_reads_files(const char *text, size_t len);
/* Whether a text has a word, over lines that are joined as well. */
bool ocl_text_has(const char *text, size_t len, const char *word);
/* The same as a whole word of C. */
bool ocl_text_has_word(const char *text, size_t len, const char *word);
/* Whether an option names a file that a compiler reads for every source. */
bool ocl_options_read_files(const char *options);

/*
 * Whether a source (empty for IL) and options alone say what is built, as far as their words can
 * tell: no file, date, place or debug information is asked for, by no spelling. It looks for words
 * wherever they stand, in comments as well: false is no proof. Not told by it: what a
 * driver reads for every program, and a keyword asm that is pasted together.
 */
bool ocl_source_tells_all(struct cmn_view source, const char *options);

#endif
