/* SPDX-License-Identifier: MIT */
/* main: the ckcache command: finds the verb in one table and calls it. */
#include <stdio.h>
#include <string.h>

#include "common/bytes.h"
#include "tools/replay.h"
#include "tools/tool.h"

struct verb {
	const char *name;
	char *full_name;	/* argv[0] of the verb, for getopt's messages */
	int (*run)(int argc, char **argv);
	const char *usage;
	const char *summary;
};

#define VERB(name, usage, summary) { #name, "ckcache " #name, verb_##name, usage, summary }
static const struct verb verbs[] = {
	VERB(run, "[--dir DIR] [--trace FILE] [--summary] [--] COMMAND [ARGUMENT...]",
	     "run a command with the cache; its exit code is the command's,\n"
	     "      127 or 126 if it cannot be run, 125 if the layer is missing.\n"
	     "      --summary: afterwards, a line on stderr with hits and misses"),
	VERB(stats, "[--dir DIR] [--json] [--zero]",
	     "show what the cache did and holds; --zero: then forget the counts"),
	VERB(list, "[--dir DIR] [--json]", "show the entries, the last used first"),
	VERB(verify, "[--dir DIR] [--repair]",
	     "read every entry and check it, and the account of their size; exit code 1\n"
	     "      if one is damaged; --repair: remove those, and what dead writers left"),
	VERB(replay, "[--dir DIR] [--jobs N] [--timeout SECONDS] [--stale] [--json]",
	     "build, in the background of other work, what was left for later;\n"
	     "      --stale: also what a driver's update has made useless"),
	VERB(prune, "[--dir DIR]", "evict by age and size now"),
	VERB(export, "[--dir DIR] [--sign KEY] FILE",
	     "write all entries into one file (- is standard output), signed with an\n"
	     "      Ed25519 private key in PEM; damaged ones are left out"),
	VERB(import, "[--dir DIR] [--verify PUBKEY]... FILE",
	     "store the entries of such a file (- is standard input); --verify: only\n"
	     "      if it is signed with one of these keys. Entries are code that will run"),
	VERB(clear, "[--dir DIR]", "remove every entry, and what was left for replay"),
};

static int print_help(void)
{
	struct cmn_buffer text = { 0 };

	cmn_buffer_append_text(&text, "ckcache: ccache for compute kernels\n\n");
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		cmn_buffer_printf(&text, "  %s %s\n      %s\n", verbs[i].full_name, verbs[i].usage,
				  verbs[i].summary);
	cmn_buffer_append_text(&text, "  ckcache --help, ckcache --version\n\n"
			       "Exit codes: 0 done, 1 failed, 2 an unknown verb or option.\n"
			       "DIR is the cache directory, as CKCACHE_DIR.\n");
	return tool_print(&text);
}

static int print_version(void)
{
	struct cmn_buffer text = { 0 };

	cmn_buffer_append_text(&text, "ckcache " CKCACHE_VERSION "\n");
	return tool_print(&text);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	if (!name) {
		tool_complain("no verb given (try ckcache --help)");
		return TOOL_USAGE;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0)
		return print_help();
	if (strcmp(name, "--version") == 0)
		return print_version();
	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
		if (strcmp(name, verbs[i].name) == 0) {
			/* Only the verb's own: what follows "run COMMAND" is the command's. */
			if (argc > 2 && strcmp(argv[2], "--help") == 0)
				return print_help();
			argv[1] = verbs[i].full_name;
			return verbs[i].run(argc - 1, argv + 1);
		}
	}
	/* Run by replay. */
	if (strcmp(name, "replay-worker") == 0)
		return verb_replay_worker(argc - 1, argv + 1);
	tool_complain("unknown %s \"%s\" (try ckcache --help)", name[0] == '-' ? "option" : "verb",
		      name);
	return TOOL_USAGE;
}
