/* SPDX-License-Identifier: MIT */
/* entry_words: what a shell offers where an entry is to be named; the hidden verb entry-words. */
#ifndef TOOLS_ENTRIES_ENTRY_WORDS_H
#define TOOLS_ENTRIES_ENTRY_WORDS_H

/*
 * "entry-words BEGINNING [WORD...]": prints paths, kernels and programs that begin so, one a line. Of
 * the words behind, only --dir counts. The time is bounded, however many entries there are: then some
 * are not offered. The exit code.
 */
int entry_words_print(int argc, char **argv);

#endif
