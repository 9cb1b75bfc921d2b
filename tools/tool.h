/* SPDX-License-Identifier: MIT */
/*
 * tool: what the verbs of the ckcache command share: exit codes, messages,
 * and the cache that a verb works on. Each verb gets its own arguments, with
 * argv[0] its full name ("ckcache stats"), and returns the exit code.
 */
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
};

int verb_clear(int argc, char **argv);
int verb_explain(int argc, char **argv);
int verb_doctor(int argc, char **argv);
int verb_export(int argc, char **argv);
int verb_import(int argc, char **argv);
int verb_list(int argc, char **argv);
int verb_prune(int argc, char **argv);
int verb_replay(int argc, char **argv);
int verb_report(int argc, char **argv);
int verb_run(int argc, char **argv);
int verb_show(int argc, char **argv);
int verb_stats(int argc, char **argv);
int verb_verify(int argc, char **argv);

/* "ckcache: …" and a line end, on stderr. */
void tool_complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* An option but --dir, which all verbs have; it has one of the places. */
struct tool_option {
	const char *name;
	bool *flag;		/* it takes no value */
	const char **text;
	unsigned long *number, max;	/* as tool_parse_number */
	bool (*take)(void *ctx, const char *value);	/* false: complained about */
	void *ctx;
};
#define TOOL_FLAG(name, place) { name, .flag = (place) }
#define TOOL_TEXT(name, place) { name, .text = (place) }
#define TOOL_NUMBER(name, most, place) { name, .number = (place), .max = (most) }
#define TOOL_TAKEN(name, function, its_ctx) { name, .take = (function), .ctx = (its_ctx) }

/*
 * Parses a verb's options (at most seven, ended by a zero one); arguments, at most that many, are
 * left from argv[optind] on. --dir sets CKCACHE_DIR. false: it was complained about.
 */
bool tool_parse(int argc, char **argv, const struct tool_option *options, int most_arguments);
/* Whether there is one argument, which is to be a file; false: complained about. */
bool tool_has_file(int argc, char **argv);
/* The value of --name, a whole number from 1 to max; false: complained about. */
bool tool_parse_number(const char *name, const char *text, unsigned long max, unsigned long *ret);

/* The layer's library beside this executable, in the build tree or installed, on the heap; NULL: nowhere. */
char *tool_find_library(const char *name);
#define TOOL_OPENCL_LIBRARY "libckcache_opencl.so"
#define TOOL_LEVEL_ZERO_LIBRARY "libckcache_level_zero.so"
#define TOOL_PRELOAD_LIBRARY "ckcache/libckcache_preload.so"
#define TOOL_SLOT_LIBRARY "ckcache/libze_validation_layer.so.1"

/* As cmn_file_lock has it: who typed a command waits some seconds for a lock, and is told then. */
uint64_t tool_lock_until(void);

/* Makes a path absolute and puts it into a variable; false: complained about. */
bool tool_set_path(const char *variable, const char *path);

/* The configured cache; false: there is none, it was complained about. */
struct tool_cache {
	struct cmn_log log;
	struct cc_config config;
	struct cc_store *store;
};
bool tool_open(struct tool_cache *ret);
void tool_close(struct tool_cache *cache);
/* false: read_only is set, it was complained about. */
bool tool_may_write(const struct tool_cache *cache);

/*
 * Writes text to stdout; the exit code that follows. Takes the buffer. Of a
 * reader that has left nothing is said.
 */
int tool_print(struct cmn_buffer *text);

#endif
