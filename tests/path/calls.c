/* SPDX-License-Identifier: MIT */
/*
 * calls: what a library compiled with -finstrument-functions calls: notes each
 * function that is entered and left, and writes the notes to the file that
 * HIT_PATH_CALLS names when the process ends: one line each, "<thread> <address
 * in the library>", with a minus sign before the address of one that is left.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define UNSEEN __attribute__((no_instrument_function))
#define MAX_NOTES (1 << 20)

static struct note {
	pid_t thread;
	intptr_t address;	/* negative: left */
} notes[MAX_NOTES];
static atomic_uint count;

void __cyg_profile_func_enter(void *function, void *caller) UNSEEN;
void __cyg_profile_func_exit(void *function, void *caller) UNSEEN;
static void note(intptr_t address) UNSEEN;
static void write_notes(void) __attribute__((destructor)) UNSEEN;

static void note(intptr_t address)
{
	unsigned int i = atomic_fetch_add(&count, 1);

	if (i < MAX_NOTES)
		notes[i] = (struct note){ gettid(), address };
}

void __cyg_profile_func_enter(void *function, void *caller)
{
	(void)caller;
	note((intptr_t)function);
}

void __cyg_profile_func_exit(void *function, void *caller)
{
	(void)caller;
	note(-(intptr_t)function);
}

static void write_notes(void)
{
	const char *path = getenv("HIT_PATH_CALLS");
	unsigned int end = atomic_load(&count);
	Dl_info self;
	FILE *file;

	if (!path || end > MAX_NOTES || !dladdr((void *)notes, &self))
		return;
	file = fopen(path, "w");
	if (!file)
		return;
	for (unsigned int i = 0; i < end; i++) {
		intptr_t address = notes[i].address;
		intptr_t at = (address < 0 ? -address : address) - (intptr_t)self.dli_fbase;

		(void)fprintf(file, "%d %s%jx\n", notes[i].thread, address < 0 ? "-" : "",
			      (intmax_t)at);
	}
	(void)fclose(file);	/* a file that ends early is noticed by who reads it */
}
