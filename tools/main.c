/* SPDX-License-Identifier: MIT */
/* main: the ckcache command: finds the verb (verbs.c) and calls it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/bytes.h"
#include "tools/arguments.h"
#include "tools/tool.h"
#include "tools/worker/worker_process.h"

/*
 * Whoever closed a standard descriptor would have the next file that is
 * opened in its place, and messages in that file. What takes it fails where
 * the closed one would, and is closed in what is run from here.
 */
static bool hold_standard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		int flags = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;

		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		if (open("/dev/null", flags | O_CLOEXEC) != fd)
			return false;
	}
	return true;
}

static int print_version(void)
{
	struct cmn_buffer text = { 0 };

	cmn_buffer_append_text(&text, "ckcache " CKCACHE_VERSION "\n");
	return tool_print(&text);
}

static _Noreturn void refuse_unknown_verb(const char *name)
{
	const char *meant = habit_of(name);
	struct similar similar = { 0 };
	const struct verb *verb;

	for (unsigned int i = 0; name[0] != '-' && (verb = verb_at(i)); i++)
		similar_offer(&similar, name, verb->name);
	if (similar.name)
		tool_refuse("unknown verb \"%s\": did you mean %s?", name, similar.name);
	if (meant)
		tool_refuse("there is no \"%.*s\": %s", (int)strcspn(name, "="), name, meant);
	if (name[0] == '-')
		tool_refuse("unknown option \"%s\": a verb comes first (try ckcache --help)", name);
	tool_refuse("unknown verb \"%s\" (try ckcache --help)", name);
}

static int help(int argc, char **argv)
{
	const struct verb *verb = argc > 1 ? verb_find(argv[1]) : NULL;

	if (argc > 2)
		tool_refuse("unexpected argument \"%s\" (try ckcache --help)", argv[2]);
	if (argc > 1 && !verb)
		refuse_unknown_verb(argv[1]);
	return help_print(verb);
}

int main(int argc, char **argv)
{
	/* Run by replay and doctor, by the build, by shells. */
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} hidden[] = {
		{ WORKER_VERB, worker_main },
		{ "completion", completion_print }, { "entry-words", entry_words_print },
	};
	const char *name = argc > 1 ? argv[1] : NULL;
	static struct arguments arguments;
	const struct verb *verb;

	if (!hold_standard_descriptors())
		return TOOL_FAILED;
	if (!name)
		tool_refuse("no verb given (try ckcache --help)");
	if (strcmp(name, "help") == 0)
		return help(argc - 1, argv + 1);
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		return help_print(NULL);
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		return print_version();
	verb = verb_find(name);
	if (verb) {
		argv[1] = verb->full_name;
		arguments_parse(verb, argc - 1, argv + 1, &arguments);
		return verb->run(&arguments);
	}
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
		if (strcmp(name, hidden[i].name) == 0)
			return hidden[i].run(argc - 1, argv + 1);
	}
	refuse_unknown_verb(name);
}
