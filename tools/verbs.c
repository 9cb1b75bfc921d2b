/* SPDX-License-Identifier: MIT */
/*
 * verbs: one row a verb, and one for each of its options. A verb is its row here and a file of
 * its name; nothing else in C knows it.
 */
#include "tools/verbs.h"

#include <limits.h>
#include <stddef.h>
#include <string.h>

#define FLAG(its_name, its_text) { .name = (its_name), .kind = OPTION_FLAG, .text = (its_text) }
#define NUMBER(its_name, its_argument, its_most, its_text)                          \
	{ .name = (its_name), .kind = OPTION_NUMBER, .argument = (its_argument),    \
	  .most = (its_most), .text = (its_text) }
#define WORD(its_name, its_argument, its_words, its_text)                           \
	{ .name = (its_name), .kind = OPTION_WORD, .argument = (its_argument),      \
	  .words = (its_words), .text = (its_text) }
#define PATH(its_name, its_kind, its_argument, its_variable, its_text)              \
	{ .name = (its_name), .kind = (its_kind), .argument = (its_argument),       \
	  .variable = (its_variable), .text = (its_text) }

#define DIR_OPTION PATH("dir", OPTION_DIRECTORY, "DIR", "CKCACHE_DIR", \
			"the cache directory, as the variable CKCACHE_DIR")
#define JSON_OPTION FLAG("json", "for scripts; docs/JSON.md has the schema")

static const struct verb_option run_options[] = {
	DIR_OPTION,
	PATH("trace", OPTION_FILE, "FILE", "CKCACHE_TRACE",
	     "append one JSON object a line to FILE for each look-up,\n"
	     "as the variable CKCACHE_TRACE"),
	FLAG("summary", "afterwards a line on stderr with hits, misses and times"),
	{ 0 },
};

static const struct verb_option doctor_options[] = {
	DIR_OPTION,
	JSON_OPTION,
	FLAG("quick", "compile nothing"),
	NUMBER("timeout", "SECONDS", 3600, "for each answer of drivers, at most 3600; else 30"),
	{ 0 },
};

static const struct verb_option stats_options[] = {
	DIR_OPTION,
	JSON_OPTION,
	FLAG("zero", "afterwards forget the counts; entries stay"),
	{ 0 },
};

static const struct verb_option list_options[] = {
	DIR_OPTION,
	JSON_OPTION,
	WORD("sort", "ORDER", "used size compile path",
	     "used (the last used first, the default), size, compile\n"
	     "(the slowest first) or path"),
	FLAG("reverse", "the other way round"),
	NUMBER("limit", "N", ULONG_MAX, "the first N alone"),
	{ 0 },
};

static const struct verb_option show_options[] = {
	DIR_OPTION,
	JSON_OPTION,
	FLAG("source", "print the program's source alone"),
	{ 0 },
};

static const struct verb_option explain_options[] = {
	DIR_OPTION,
	JSON_OPTION,
	FLAG("verbose", "field by field"),
	NUMBER("last", "N", ULONG_MAX, "the last N compiles; else those of the last run"),
	FLAG("all", "every compile that is remembered"),
	PATH("trace", OPTION_FILE, "FILE", NULL,
	     "the compiles that a file of CKCACHE_TRACE tells of"),
	{ 0 },
};

static const struct verb_option verify_options[] = {
	DIR_OPTION,
	JSON_OPTION,
	FLAG("repair", "remove what is damaged, and what dead writers left"),
	{ 0 },
};

static const struct verb_option prune_options[] = { DIR_OPTION, JSON_OPTION, { 0 } };
static const struct verb_option clear_options[] = { DIR_OPTION, JSON_OPTION, { 0 } };

static const struct verb_option export_options[] = {
	DIR_OPTION,
	JSON_OPTION,
	PATH("sign", OPTION_FILE, "KEY", NULL,
	     "sign with the Ed25519 private key in the PEM file KEY"),
	{ 0 },
};

static const struct verb_option import_options[] = {
	DIR_OPTION,
	JSON_OPTION,
	{ .name = "verify", .kind = OPTION_FILE, .argument = "PUBKEY", .repeats = true,
	  .text = "only if it is signed with the public key in the PEM file\n"
		  "PUBKEY, or with one of them if given several times" },
	{ 0 },
};

static const struct verb_option replay_options[] = {
	DIR_OPTION,
	JSON_OPTION,
	NUMBER("jobs", "N", 256, "builds at a time, 1 to 256; else half the processors"),
	NUMBER("timeout", "SECONDS", 1000000, "for one build, at most 1000000; else 600"),
	FLAG("stale", "also what a driver's update has made useless"),
	{ 0 },
};

static const struct verb_option report_options[] = { DIR_OPTION, { 0 } };

/* Each is in the file of its name, or of its folder's. */
verb_function verb_run, verb_doctor, verb_stats, verb_list, verb_show, verb_explain, verb_verify,
	verb_prune, verb_clear, verb_export, verb_import, verb_replay, verb_report;

#define VERB(name) #name, "ckcache " #name, verb_##name, name##_options
static const struct verb verbs[] = {
	{ VERB(run), "COMMAND [ARGUMENT...]", COMMAND_FIRST,
	  "run a command with the cache",
	  "Runs COMMAND with both layers on; nothing else is to be set. Its exit code is\n"
	  "the command's; 127 or 126 if it cannot be run, 125 if the layers are missing.",
	  "ckcache run -- your-program --its-arguments\n"
	  "ckcache run --summary -- your-program" },
	{ VERB(doctor), "[PROGRAM]", COMMAND_NONE,
	  "does it work on this machine, and if not, why",
	  "Looks at settings, the directory, loaders, layers, drivers and devices, and\n"
	  "builds a small program for each device twice, in a cache that goes again. With\n"
	  "PROGRAM also whether layers can come into that. The last line is \"works\", or\n"
	  "what to do is there; the exit code is 1 then.",
	  "ckcache doctor\n"
	  "ckcache doctor --quick darktable" },
	{ VERB(stats), NULL, COMMAND_NONE,
	  "show what the cache did and what it holds",
	  "Shows hits, misses, what was not cached and why, the compile time spent and\n"
	  "saved, and what is on disk.",
	  "ckcache stats\n"
	  "ckcache stats --json --zero" },
	{ VERB(list), NULL, COMMAND_NONE,
	  "show the entries",
	  "One line an entry: where it is, its size on disk, when it was last used, how\n"
	  "long it took to compile, its device, its first kernel or line, its options.",
	  "ckcache list --limit 20\n"
	  "ckcache list --sort size --json" },
	{ VERB(show), "ENTRY", COMMAND_NONE,
	  "show all of one entry",
	  "Shows the key of ENTRY field by field, the files that it was made of, kernels,\n"
	  "sizes and times. ENTRY is a path as ckcache list prints, or the beginning of\n"
	  "one that no other has.",
	  "ckcache show 9ba01f30/349ce1c0/4f2f8709/7ba0ccb1\n"
	  "ckcache show --source 9ba01f30/349ce1c0/4f2f8709/7ba0ccb1" },
	{ VERB(explain), "[ENTRY | -- COMMAND...]", COMMAND_AFTER_DASHES,
	  "say why something was compiled again",
	  "One line for each compile of the last run: what it was, how long it took, and\n"
	  "why the cache did not have it: what differs from the nearest key that is\n"
	  "stored. With an ENTRY: why it was made. With a COMMAND: runs it first.",
	  "ckcache explain\n"
	  "ckcache explain --last 20 --verbose\n"
	  "ckcache explain -- your-program" },
	{ VERB(verify), NULL, COMMAND_NONE,
	  "read every entry and check it",
	  "Reads every byte of every entry, and corrects the account of their size. The\n"
	  "exit code is 1 if one is damaged and still there. Entries of another version\n"
	  "of the format are no damage.",
	  "ckcache verify\n"
	  "ckcache verify --repair" },
	{ VERB(prune), NULL, COMMAND_NONE,
	  "evict by age and size now",
	  "Does at once what the cache does by itself at its bound: entries go that were\n"
	  "not used for CKCACHE_THRESHOLD days, and at CKCACHE_MAX_SIZE the least\n"
	  "recently used ones until half of it is left.",
	  "ckcache prune\n"
	  "CKCACHE_THRESHOLD=7 ckcache prune" },
	{ VERB(clear), NULL, COMMAND_NONE,
	  "remove every entry",
	  "Removes all entries, and what was left for replay. Counts stay: ckcache stats\n"
	  "--zero.",
	  "ckcache clear" },
	{ VERB(export), "FILE", COMMAND_NONE,
	  "write all entries into one file, for other machines",
	  "Writes all sound entries into FILE (- is standard output); damaged ones, and\n"
	  "those of another version, are left out and counted on stderr.",
	  "ckcache export kernels.ckb\n"
	  "ckcache export kernels.ckb --sign site.pem" },
	{ VERB(import), "FILE", COMMAND_NONE,
	  "store the entries of such a file",
	  "Stores the entries of FILE (- is standard input), after all of it was read and\n"
	  "found sound. Entries are code that will run: import what you trust, or what is\n"
	  "signed. The exit code is 1 if an entry was refused.",
	  "ckcache import kernels.ckb --verify site.pub" },
	{ VERB(replay), NULL, COMMAND_NONE,
	  "build what was left for later, at low priority",
	  "Builds what applications left for later (with pocl, whose binaries take long to\n"
	  "read), each program in a process of its own. The exit code is 1 if one failed.",
	  "ckcache replay\n"
	  "ckcache replay --stale --jobs 1" },
	{ VERB(report), "FILE", COMMAND_NONE,
	  "write a page with charts of what the cache did and holds",
	  "Writes one HTML page into FILE (- is standard output), which needs no network:\n"
	  "hits and misses over time, time saved per program, what fills the disk, the\n"
	  "slowest compiles, why builds were not cached, the settings in force.",
	  "ckcache report report.html" },
};

const struct verb *verb_at(unsigned int i)
{
	return i < sizeof(verbs) / sizeof(verbs[0]) ? &verbs[i] : NULL;
}

const struct verb *verb_find(const char *name)
{
	const struct verb *verb;

	for (unsigned int i = 0; (verb = verb_at(i)); i++) {
		if (strcmp(verb->name, name) == 0)
			return verb;
	}
	return NULL;
}
