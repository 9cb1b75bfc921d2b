/* SPDX-License-Identifier: MIT */
/*
 * verbs: one row a verb, and one for each of its options. A verb is its row here and its function;
 * nothing else in C knows it.
 */
#include "tools/arguments.h"

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
#define TEXT(its_name, its_argument, its_text)                                      \
	{ .name = (its_name), .kind = OPTION_TEXT, .argument = (its_argument),      \
	  .text = (its_text) }
#define PATH(its_name, its_kind, its_argument, its_variable, its_text)              \
	{ .name = (its_name), .kind = (its_kind), .argument = (its_argument),       \
	  .variable = (its_variable), .text = (its_text) }

#define DIR_OPTION PATH("dir", OPTION_DIRECTORY, "DIR", "CKCACHE_DIR", \
			"the cache directory, like the variable CKCACHE_DIR")
#define JSON_OPTION FLAG("json", "for scripts; docs/JSON.md has the schema")

/* The verb's function, which is in the file of its name or of its folder's; and its options, ended by { 0 }. */
#define OPTIONS(verb) \
	verb_function verb_##verb; \
	static const struct verb_option verb##_options[]

OPTIONS(run) = {
	DIR_OPTION,
	PATH("trace", OPTION_FILE, "FILE", "CKCACHE_TRACE",
	     "append one line of JSON to FILE for each look-up, like\n"
	     "the variable CKCACHE_TRACE"),
	FLAG("summary", "at the end, print hits, misses and times on stderr"),
	FLAG("json", "the same on stdout for scripts; COMMAND's output then\n"
		     "goes to stderr; docs/JSON.md has the schema"),
	{ 0 },
};

OPTIONS(doctor) = {
	DIR_OPTION,
	JSON_OPTION,
	FLAG("quick", "compile nothing"),
	NUMBER("timeout", "SECONDS", 3600,
	       "how long a driver may take for each answer, at most\n"
	       "3600; default 30"),
	{ 0 },
};

OPTIONS(stats) = {
	DIR_OPTION,
	JSON_OPTION,
	FLAG("zero", "reset the counts after showing them; entries stay"),
	FLAG("exact", "count all entries, where many are estimated"),
	FLAG("verbose", "also by device, and the ages and uncompressed size"),
	FLAG("per-program", "also by program: hits, misses, times, entries, size"),
	{ 0 },
};

OPTIONS(config) = {
	JSON_OPTION,
	TEXT("program", "NAME", "as the program NAME has it; set, unset: in its section"),
	FLAG("system", "set, unset: for all users, in /etc/ckcache.conf"),
	{ 0 },
};

OPTIONS(list) = {
	DIR_OPTION,
	JSON_OPTION,
	WORD("sort", "ORDER", "used size compile path",
	     "used (the last used first, the default), size, compile\n"
	     "(the slowest first) or path"),
	FLAG("reverse", "reverse the order"),
	NUMBER("limit", "N", ULONG_MAX, "only the first N; without --sort, any N"),
	{ 0 },
};

OPTIONS(show) = {
	DIR_OPTION,
	JSON_OPTION,
	FLAG("source", "print only the source that was built"),
	{ 0 },
};

OPTIONS(explain) = {
	DIR_OPTION,
	JSON_OPTION,
	FLAG("verbose", "show each field that differs"),
	NUMBER("last", "N", ULONG_MAX, "the last N compiles, of any run"),
	FLAG("all", "every compile in the history"),
	PATH("trace", OPTION_FILE, "FILE", NULL,
	     "the compiles in a file that CKCACHE_TRACE wrote"),
	{ 0 },
};

OPTIONS(verify) = {
	DIR_OPTION,
	JSON_OPTION,
	FLAG("repair", "remove damaged entries, and temporary files of\n"
		       "processes that died"),
	{ 0 },
};

OPTIONS(prune) = {
	DIR_OPTION,
	JSON_OPTION,
	FLAG("remote", "the directory of a file: remote tier instead"),
	TEXT("older-than", "AGE", "what was not used for so long: 30d, 12h, 5m, 90s"),
	TEXT("max-size", "SIZE", "the least recently used, until so much is left, such as\n"
				 "2G; with --remote the default is @max-size=SIZE in\n"
				 "CKCACHE_REMOTE"),
	TEXT("program", "NAME", "only what NAME compiled, as far as the history reaches"),
	TEXT("device", "TEXT", "only of devices with TEXT in their names"),
	FLAG("dry-run", "only show what those four would remove"),
	{ 0 },
};

OPTIONS(clear) = {
	DIR_OPTION,
	JSON_OPTION,
	TEXT("program", "NAME", "only what NAME compiled, as far as the history reaches"),
	FLAG("dry-run", "only show what would be removed"),
	{ 0 },
};

OPTIONS(recompress) = {
	DIR_OPTION,
	JSON_OPTION,
	FLAG("dry-run", "only show what would be gained"),
	{ 0 },
};

OPTIONS(export) = {
	DIR_OPTION,
	JSON_OPTION,
	PATH("sign", OPTION_FILE, "KEY", NULL,
	     "sign with the Ed25519 private key in the PEM file KEY"),
	{ 0 },
};

OPTIONS(import) = {
	DIR_OPTION,
	JSON_OPTION,
	{ .name = "verify", .kind = OPTION_FILE, .argument = "PUBKEY", .repeats = true,
	  .text = "accept FILE only if it is signed with the public key in\n"
		  "the PEM file PUBKEY; if given several times, with any" },
	{ 0 },
};

OPTIONS(replay) = {
	DIR_OPTION,
	JSON_OPTION,
	NUMBER("jobs", "N", 256, "parallel builds, 1 to 256; default: half the CPUs"),
	NUMBER("timeout", "SECONDS", 1000000,
	       "how long one build may take, at most 1000000;\n"
	       "default 600"),
	FLAG("stale", "also rebuild what a driver update made useless"),
	TEXT("program", "NAME", "only what the program NAME had asked for"),
	FLAG("idle", "build at the lowest priority, and only on mains power"),
	FLAG("background", "as --idle, until nothing was left for a while; the cache\n"
	     "starts this by itself (setting replay)"),
	NUMBER("budget", "SECONDS", 1000000,
	       "begin no build after so long; the rest stays for the\n"
	       "next time"),
	{ 0 },
};

OPTIONS(record) = {
	{ .name = "output", .kind = OPTION_FILE, .argument = "FILE", .letter = 'o',
	  .text = "the pack to write; also -o" },
	TEXT("name", "NAME", "the program's name in the pack; default: COMMAND's"),
	TEXT("licence", "TEXT", "the licence of the program's sources"),
	PATH("licence-file", OPTION_FILE, "FILE", NULL, "the same, from FILE"),
	{ .name = "merge", .kind = OPTION_FILE, .argument = "PACK", .repeats = true,
	  .text = "also everything that PACK has" },
	FLAG("any-device", "the program asks every device for the same: by default,\n"
			   "recipes are for devices of the same vendor and type"),
	{ 0 },
};

OPTIONS(recipes) = {
	DIR_OPTION,
	JSON_OPTION,
	NUMBER("jobs", "N", 256, "build: parallel builds, 1 to 256; default: half the CPUs"),
	NUMBER("timeout", "SECONDS", 1000000, "build: a build may take so long; default 60 (--idle: 600)"),
	NUMBER("budget", "SECONDS", 1000000, "build: how long one pack may take; default 1800"),
	FLAG("idle", "build: as replay's"),
	FLAG("unconfined", "build: compilers may read and write all that you may;\n"
			   "for kernels that cannot confine them"),
	{ 0 },
};

OPTIONS(report) = { DIR_OPTION, JSON_OPTION, { 0 } };

OPTIONS(push) = {
	DIR_OPTION,
	JSON_OPTION,
	TEXT("program", "NAME", "only what NAME compiled or had from the remote tier,\n"
				"as far as the history reaches"),
	{ 0 },
};

OPTIONS(pull) = {
	DIR_OPTION,
	JSON_OPTION,
	TEXT("program", "NAME", "only what was pushed with --program NAME"),
	{ 0 },
};

OPTIONS(key) = {
	JSON_OPTION,
	TEXT("name", "NAME", "whose key it is; default: you, or the name of FILE"),
	TEXT("until", "DATE", "the last day on which to trust it: YYYY-MM-DD, in UTC"),
	FLAG("system", "trust: for all users, in /etc/ckcache/trusted_keys"),
	TEXT("remove", "NAME", "trust: trust this key no more (its name, or its base64)"),
	{ 0 },
};

#define VERB(name) VERB_OF(name, NULL)
#define VERB_OF(name, actions) #name, "ckcache " #name, verb_##name, name##_options, actions
static const struct verb verbs[] = {
	{ VERB(run), "COMMAND [ARGUMENT...]", COMMAND_FIRST,
	  "run a command with the cache",
	  "Runs COMMAND with both layers enabled; nothing else needs to be set up. The exit\n"
	  "code is the command's; 127 or 126 if it cannot be run, 125 if the layers are\n"
	  "missing.",
	  "ckcache run -- your-program --its-arguments\n"
	  "ckcache run --summary -- your-program" },
	{ VERB(doctor), "[PROGRAM]", COMMAND_NONE,
	  "check whether the cache works here and, if not, why",
	  "Checks settings, the directory, the remote tier, loaders, layers, drivers and\n"
	  "devices, and builds a small program twice for each device, in a temporary cache.\n"
	  "With PROGRAM, also checks whether layers can be loaded into it. If the cache\n"
	  "works, the last line is \"works\"; otherwise the last lines say what to do, and\n"
	  "the exit code is 1.",
	  "ckcache doctor\n"
	  "ckcache doctor --quick darktable" },
	{ VERB(stats), NULL, COMMAND_NONE,
	  "show what the cache did and what it contains",
	  "Shows hits, misses, what was not cached and why, the compile time spent and\n"
	  "saved, what is on disk, and what was compiled while somebody or nobody waited.",
	  "ckcache stats\n"
	  "ckcache stats --verbose --per-program\n"
	  "ckcache stats --json --zero" },
	{ VERB_OF(config, "[get set unset]"), "[KEY [VALUE]]", COMMAND_NONE,
	  "show and change settings",
	  "Shows every setting with its origin: a file and line, the environment, or the\n"
	  "default. get prints one value. set checks VALUE and writes it to your file;\n"
	  "unset removes it there. Comments and all other lines stay. A program's name is\n"
	  "the last part of the path by which it is started. Passwords are not shown.",
	  "ckcache config\n"
	  "ckcache config get max_size\n"
	  "ckcache config set max_size 20Gi\n"
	  "ckcache config set --program darktable compression 6\n"
	  "ckcache config unset max_size" },
	{ VERB(list), NULL, COMMAND_NONE,
	  "list the entries",
	  "One line for each entry: path, size on disk, last use, compile time, first\n"
	  "kernel or source line, device, build options; on a terminal, as much as fits.",
	  "ckcache list --sort used --limit 20\n"
	  "ckcache list --sort size --json" },
	{ VERB(show), "ENTRY", COMMAND_NONE,
	  "show everything about one entry",
	  "Shows the key of ENTRY field by field, the files that it depends on, kernels,\n"
	  "sizes and times. ENTRY is a path as ckcache list prints it, any part of one, a\n"
	  "kernel, or the name of a program, if only one entry has it.",
	  "ckcache show 7ba0ccb1\n"
	  "ckcache show --source 9ba01f30/349ce1c0/4f2f8709/7ba0ccb1" },
	{ VERB(explain), "[ENTRY | -- COMMAND...]", COMMAND_AFTER_DASHES,
	  "say why something was compiled again",
	  "Prints one line for each compile of the last run: what it was, how long it took,\n"
	  "and why the cache did not have it (what differs from the most similar stored\n"
	  "key). With ENTRY: why that entry was compiled. With COMMAND: runs it first.",
	  "ckcache explain\n"
	  "ckcache explain --last 20 --verbose\n"
	  "ckcache explain -- your-program" },
	{ VERB(verify), NULL, COMMAND_NONE,
	  "read and check every entry",
	  "Reads every byte of every entry, and corrects the recorded size of the cache.\n"
	  "The exit code is 1 if an entry remains that is damaged, or that others may write\n"
	  "to. Entries of another format version do not count as damaged.",
	  "ckcache verify\n"
	  "ckcache verify --repair" },
	{ VERB(prune), NULL, COMMAND_NONE,
	  "evict by age and size now",
	  "Evicts now what the cache otherwise evicts by itself: entries that were not used\n"
	  "for CKCACHE_THRESHOLD days and, if CKCACHE_MAX_SIZE is exceeded, the least\n"
	  "recently used entries down to half of it. With conditions: evicts what they name\n"
	  "instead; --older-than and --max-size limit what --program and --device choose.\n"
	  "With --remote, for cron: in the directory that hosts share.",
	  "ckcache prune\n"
	  "ckcache prune --older-than 30d --max-size 2G\n"
	  "ckcache prune --program darktable --device NVIDIA --dry-run\n"
	  "ckcache prune --remote --max-size 50G" },
	{ VERB(clear), NULL, COMMAND_NONE,
	  "remove every entry",
	  "Removes all entries, and all recipes for ckcache replay. Counts stay; ckcache\n"
	  "stats --zero resets them. With --program, removes that program's entries alone.",
	  "ckcache clear\n"
	  "ckcache clear --program darktable" },
	{ VERB(recompress), "[LEVEL]", COMMAND_NONE,
	  "store entries at another level of compression",
	  "First tries all entries at LEVEL (none, auto, 1 to 9; default: the setting\n"
	  "compression) and shows what that would gain, then writes those that become\n"
	  "smaller, or that are to be raw. Times of last use stay. New entries are stored\n"
	  "as the setting says.",
	  "ckcache recompress --dry-run 6\n"
	  "ckcache recompress 6" },
	{ VERB(export), "FILE", COMMAND_NONE,
	  "write all entries into one file, for other machines",
	  "Writes all sound entries to FILE (- is standard output). Leaves out damaged\n"
	  "entries and those of another format version, and prints their number on stderr.",
	  "ckcache export kernels.ckb\n"
	  "ckcache export kernels.ckb --sign site.pem" },
	{ VERB(import), "FILE", COMMAND_NONE,
	  "store the entries of a file that export wrote",
	  "Stores the entries of FILE (- is standard input), after reading and checking all\n"
	  "of it. Entries are code that will run: import only your own files, or files\n"
	  "signed by somebody whom you trust. The exit code is 1 if an entry was refused.",
	  "ckcache import kernels.ckb --verify site.pub" },
	{ VERB(push), NULL, COMMAND_NONE,
	  "upload all entries to the remote tier",
	  "Signs and uploads all sound entries now, and lists them for ckcache pull. The\n"
	  "cache itself uploads what it compiles, in the background, without listing it.",
	  "ckcache push\n"
	  "ckcache push --program blender" },
	{ VERB(pull), NULL, COMMAND_NONE,
	  "store what others have pushed to the remote tier",
	  "Stores the entries that ckcache push has listed and that are not here yet. Each\n"
	  "one must be signed with a key that is trusted here. The exit code is 1 if an\n"
	  "entry was refused.",
	  "ckcache pull" },
	{ VERB_OF(key, "new show trust"), "[FILE | LINE]", COMMAND_NONE,
	  "keys that sign entries, and keys whose entries are trusted",
	  "new makes a private key (FILE, or ~/.config/ckcache/signing_key.pem) and prints\n"
	  "its public line, for the machines that are to trust it. show prints the public\n"
	  "line of FILE, or of your key, and all keys that are trusted here. trust adds the\n"
	  "key in LINE or FILE to ~/.config/ckcache/trusted_keys. Whoever has a trusted\n"
	  "private key can make your programs run any code.",
	  "ckcache key new --name build-farm\n"
	  "ckcache key show\n"
	  "ckcache key trust site.pub --until 2027-12-31\n"
	  "ckcache key trust --remove site" },
	{ VERB(replay), NULL, COMMAND_NONE,
	  "build what was left for later",
	  "Builds programs that applications left for later (with pocl, whose binaries take\n"
	  "long to read), in processes of its own. After a driver update, --stale builds\n"
	  "again what the cache has, for OpenCL and Level Zero. The exit code is 1 if a\n"
	  "build failed.",
	  "ckcache replay\n"
	  "ckcache replay --stale --jobs 1\n"
	  "ckcache replay --stale --idle --budget 3600" },
	{ VERB(record), "[-- COMMAND...]", COMMAND_AFTER_DASHES,
	  "make a pack of what a program compiles, for other machines",
	  "Runs COMMAND with an empty cache, and writes what it built to a pack: sources,\n"
	  "options, and for which devices; no code, and nothing of this machine. What\n"
	  "another machine could not use is left out, with the reason. The exit code is\n"
	  "that of COMMAND, or 1 if no pack was written.",
	  "ckcache record -o darktable.ckrecipes -- darktable-cltest\n"
	  "ckcache record -o all.ckrecipes --merge intel.ckrecipes --merge amd.ckrecipes" },
	{ VERB_OF(recipes, "list add remove build"), "[FILE | NAME]", COMMAND_NONE,
	  "build what programs will ask for, by packs of recipes",
	  "list shows the packs of this machine, add copies FILE to your own packs, remove\n"
	  "removes one of these by its name. build compiles what all packs have for the\n"
	  "devices that are here and what is not in the cache yet. The exit code is 1 if\n"
	  "something could not be read or built.",
	  "ckcache recipes add darktable.ckrecipes\n"
	  "ckcache recipes build" },
	{ VERB(report), "[FILE]", COMMAND_NONE,
	  "write a page with charts of what the cache did and contains",
	  "Writes one HTML page to FILE (- is standard output) that needs no network: what\n"
	  "the cache did this week, hits and misses over time, time saved per program, what\n"
	  "fills the disk, the slowest compiles, why builds were not cached, the settings\n"
	  "in force. With --json, the same numbers for scripts; FILE may then be left out.",
	  "ckcache report report.html\n"
	  "ckcache report --json" },
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
