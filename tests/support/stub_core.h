/* SPDX-License-Identifier: MIT */
/*
 * stub_core: what the stub drivers of both APIs share. A test talks with one by two files:
 * settings, $STUB_SETTINGS, NAME=value lines that the driver reads at each use, so that a test
 * can change them without changing the environment, which is asked after the file; and counts,
 * $STUB_COUNTS, one line for each event. Without these variables stub_settings and stub_counts in
 * the home directory serve, if they are there: replayed builds get no such variables; and then
 * stub_settings beside the library: confined ones see no home.
 */
#ifndef TESTS_SUPPORT_STUB_CORE_H
#define TESTS_SUPPORT_STUB_CORE_H

#include <stdatomic.h>

#include "tests/support/posix.h"

/*
 * open, fopen and access, which a layer that watches the stub's calls does not
 * see: what a test tells it is no file that it compiles.
 */
int stub_unseen_open(const char *path, int flags, unsigned int mode);
void *stub_unseen_fopen(const char *path, const char *mode);

/*
 * The setting's value copied to text, cut if need be: of the file's last line of
 * that name, else of the environment, else "". true if it is neither "" nor "0".
 */
bool stub_setting(const char *name, char *text, size_t size);
bool stub_is_set(const char *name);
/* Whether it is this text. */
bool stub_says(const char *name, const char *text);
/* Its number; usual where it is not set. */
int stub_number(const char *name, int usual);
/* Whether this is one of so many first calls of the process with that count. */
bool stub_is_among_first(const char *name, atomic_int *count);
/* STUB_CHANGED: whether it names this property of a device or driver, which is another than usual then. */
unsigned int stub_changed(const char *property);
/* STUB_DELAY_MS: takes so long. STUB_MEET: and until so many compilations have been counted, in all processes. */
void stub_delay(void);
/* Where the setting is NAME=VALUE, sets that variable of the process, the first time. */
void stub_set_variable(const char *name);

/* Appends a line to the counts, in one write, if there is such a file or it can be made. */
void stub_event(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Each driver's own: what its lines begin with. */
extern const char *const stub_event_prefix;

/* Grows; ends the process when memory runs out, as a test driver may. */
struct stub_text {
	char *data;	/* terminated; NULL while nothing was added */
	size_t len;
};

void stub_text_add(struct stub_text *text, const void *data, size_t len);
void stub_text_print(struct stub_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
