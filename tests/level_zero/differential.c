/* SPDX-License-Identifier: MIT */
/* differential: main, and what of the lines and processes is Level Zero's own. */
#include "tests/level_zero/differential.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const struct diff_subject *const groups[] = {
	diff_flags, diff_logs, diff_constants, diff_links, diff_lives, diff_misuses,
};
enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };

_Static_assert(offsetof(struct diff, running) == 0, "see diff_subjects.h");

/* Logs of links name modules by their addresses: how long the one is that text begins with. */
static size_t address_len(const char *text, size_t size)
{
	size_t len = 2;

	if (size < len || memcmp(text, "0x", len) != 0)
		return 0;
	while (len < size && isxdigit((unsigned char)text[len]))
		len++;
	return len;
}

void diff_print_text(const char *text, size_t size)
{
	diff_print_masked(text, size, address_len, "ADDRESS");
}

const char *diff_name(int place, const char *a, const char *b)
{
	static char names[4][128];

	(void)snprintf(names[place], sizeof(names[place]), "%s-%s", a, b);
	return names[place];
}

void diff_give_up(const struct diff *diff, const char *what, ze_result_t status)
{
	diff_say(diff, "given-up", "%s %#x", what, status);
	diff_leave();
}

static void act_with_session(struct diff *diff, void *data)
{
	const struct diff_case *one = data;

	diff_start_session(diff);
	one->act(diff);
	diff_end_process();
}

void diff_survive_each(struct diff *diff, const struct diff_case *cases)
{
	for (; cases->name; cases++)
		diff_survive(diff, cases->name, act_with_session, (void *)cases);
}

int main(int argc, char **argv)
{
	struct diff diff = { .running.patience_s = DIFF_PATIENCE_S };
	bool list = argc > 1 && !strcmp(argv[1], "-l");

	if (!diff_print_by_lines())
		return 2;
	for (size_t i = 0; i < GROUPS; i++)
		diff_run_subjects(&diff, groups[i], list, argv + 1 + list);
	return fflush(stdout) ? 2 : 0;
}
