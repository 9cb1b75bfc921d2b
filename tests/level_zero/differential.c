/* SPDX-License-Identifier: MIT */
/* differential: main, and what of the lines and processes is Level Zero's own. */
#include "tests/level_zero/differential.h"

#include <ctype.h>

static const struct diff_subject *const groups[] = {
	diff_flags, diff_logs, diff_constants, diff_links, diff_lives, diff_misuses, diff_images,
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

	(void)snprintf(names[place], sizeof(names[place]), "%s.%s", a, b);
	return names[place];
}

void diff_give_up(const struct diff *diff, const char *what, ze_result_t status)
{
	diff_say(diff, "given-up", "%s %#x", what, status);
	diff_leave();
}

/* As "1.3.24595": what the driver's own makers count up. */
static void print_version(struct diff *diff)
{
	ze_driver_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DRIVER_PROPERTIES };

	diff_start_session(diff);
	if (zeDriverGetProperties(diff->driver, &properties))
		exit(2);
	printf("%u.%u.%u\n", properties.driverVersion >> 24, properties.driverVersion >> 16 & 0xff,
	       properties.driverVersion & 0xffff);
	diff_end_process();
}

int main(int argc, char **argv)
{
	struct diff diff = { .running = { .subject = "version", .patience_s = DIFF_PATIENCE_S } };
	char option = argc > 1 && argv[1][0] == '-' ? argv[1][1] : '\0';

	diff_natives = option == 'n';
	if (!diff_print_by_lines())
		return 2;
	if (option == 'v')
		print_version(&diff);
	for (size_t i = 0; i < GROUPS; i++)
		diff_run_subjects(&diff, groups[i], option == 'l', argv + 1 + (option != '\0'));
	return fflush(stdout) ? 2 : 0;
}
