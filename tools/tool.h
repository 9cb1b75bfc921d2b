/* SPDX-License-Identifier: MIT */

/* tool: what the verbs of the ckcache command share: exit codes, messages, the cache that a verb works on, and the file that it writes. */
#ifndef TOOLS_TOOL_H
#define TOOLS_TOOL_H

#include <stdbool.h>
#include <stdint.h>

#include "cachecore/config.h"
#include "cachecore/disk/store.h"

enum {
	TOOL_OK = 0,
	TOOL_FAILED = 1,	/* it could not be done, or verify found damage */
	TOOL_USAGE = 2,		/* an unknown verb, option or argument */
	TOOL_CANNOT_RUN = 125,	/* of run, as env and timeout have it: its others are the command's */
};

/* "ckcache: …" and a line end, on stderr. */
void tool_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Ends the command: for who has made nothing that would stay. Two say why. */
_Noreturn void tool_end(int code);
void tool_end_saying(int code, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));
#define tool_die(...) tool_end_saying(TOOL_FAILED, __VA_ARGS__)
#define tool_refuse(...) tool_end_saying(TOOL_USAGE, __VA_ARGS__)

/* The layer's library beside this executable, in the build tree or installed, on the heap; NULL: nowhere. */
char *tool_find_library(const char *name);
#define TOOL_OPENCL_LIBRARY "libckcache_opencl.so"
#define TOOL_LEVEL_ZERO_LIBRARY "libckcache_level_zero.so"
#define TOOL_PRELOAD_LIBRARY "ckcache/libckcache_preload.so"
#define TOOL_SLOT_LIBRARY "ckcache/libze_validation_layer.so.1"

/*
 * A new directory of this process's own among those for temporary files; NULL: nowhere, complained about.
 * Its path is freed when it is removed with all that is in it (NULL: nothing).
 */
char *tool_make_scratch(void);
void tool_remove_scratch(char *path);

/* As cmn_file_lock has it: who typed a command waits some seconds for a lock, and is told then. */
uint64_t tool_lock_until(void);

/* Makes a path absolute and puts it into a variable; false: complained about. */
bool tool_set_path(const char *variable, const char *path);

/* What the cache has to say, as such messages; nothing of it. */
extern const struct cmn_log tool_log, tool_silent;

/* "WHAT: why", on stderr; the exit code that follows. */
int tool_fail(const char *what, enum cmn_status status);
/* What is fine, or CMN_MISS, as where nothing was stored yet; else the command ends as tool_fail has it. */
void tool_check(const char *what, enum cmn_status status);
/* The settings, of which nothing is said: what is wrong with them is not at issue. */
void tool_load_config(struct cc_config *ret);

/* The configured cache, until the command ends; NULL: there is none, it was complained about. */
struct tool_cache {
	struct cc_config config;
	struct cc_store *store;
};
struct tool_cache *tool_try_open(void);
/* The same; without one, the command ends. */
struct tool_cache *tool_open(void) __attribute__((returns_nonnull));
/* What keeps that configuration's directory from being used, as "DIR cannot be used: ..."; NULL: nothing does, or there is none. The caller frees it. */
char *tool_directory_problem(const struct cc_config *config);
/* The numbers of the entries that an entry directory has, as bits; 0 also where it was removed meanwhile. */
uint64_t tool_entries_in(int entry_dir_fd);
/* Of such bits, the lowest one's number, which is taken away. */
unsigned int tool_next_entry(uint64_t *entries);
/* The directory, or the first one of those above it that there is; on the heap. */
char *tool_find_parent(const char *dir);
/* false: read_only is set, it was complained about. */
bool tool_may_write(const struct tool_cache *cache);

/*
 * Writes text to stdout; the exit code that follows. Takes the buffer. Of a
 * reader that has left nothing is said.
 */
int tool_print(struct cmn_buffer *text);

/*
 * output: the file that a verb writes. It appears whole or not at all, with the
 * mode that the umask allows, and never through a link; something with its name
 * that is not a regular file is left alone. "-" is standard output, which must
 * not be a terminal.
 */
struct output {
	const char *file;	/* as given */
	char *temporary;	/* beside it; NULL: standard output */
	int fd;
};

/* what: for a message, such as "a bundle". false: a message was printed. */
bool output_open(const char *file, const char *what, struct output *ret);
/*
 * Makes the file appear if good, else removes it. false: it failed, and a message
 * was printed, or good was false. The caller flushes standard output.
 */
bool output_close(struct output *output, bool good);

#endif
