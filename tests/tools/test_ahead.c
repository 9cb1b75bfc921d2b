/* SPDX-License-Identifier: MIT */
/* test_ahead: what ckcache-remote starts for a program after a driver update, and where it starts nothing. */
#include "tests/support/unit.h"
#include "tests/support/wrap.h"
#include "tools/remote/remote_main.h"
#include "tools/replay/idle_machine.h"
#include "tools/tool.h"

#define COMMAND "ckcache: ckcache replay --stale --idle --budget 300 --program blender"

static struct {
	unsigned int cores;
	bool known, limited;
} machine;
static unsigned int opened;		/* and not closed */
static char said[2][4096];		/* what was to be executed, in order */
static unsigned int tried;

bool idle_machine_open(struct idle_machine *ret)
{
	(void)ret;
	opened += machine.known;
	return machine.known;
}

void idle_machine_close(struct idle_machine *idle)
{
	(void)idle;
	opened--;
}

unsigned int idle_machine_cores(const struct idle_machine *idle)
{
	(void)idle;
	return machine.cores;
}

bool idle_machine_is_limited(const struct idle_machine *idle)
{
	(void)idle;
	return machine.limited;
}

WRAPPED(int, execv, (const char *path, char *const *argv))
{
	if (tried < 2)
		(void)snprintf(said[tried], sizeof(said[0]), "%s:", path);
	for (size_t i = 0; tried < 2 && argv[i]; i++)
		(void)snprintf(said[tried] + strlen(said[tried]),
			       sizeof(said[0]) - strlen(said[tried]), " %s", argv[i]);
	tried++;
	return -1;
}

BEFORE_EACH
{
	machine.cores = 4;
	machine.known = true;
	machine.limited = false;
	tried = 0;
}

static bool starts(void)
{
	int code = remote_replay("blender");

	CU_ASSERT_EQUAL(opened, 0);
	/* Nothing can be executed here. */
	CU_ASSERT_EQUAL(code, tried ? TOOL_FAILED : TOOL_OK);
	return tried != 0;
}

TEST(the_command_is_beside_it_or_where_it_is_installed)
{
	char own[4096], expected[8300];
	ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);

	CU_ASSERT_FATAL(len > 0);
	own[len] = '\0';
	*strrchr(own, '/') = '\0';
	CU_ASSERT_TRUE(starts());
	CU_ASSERT_EQUAL(tried, 2);
	(void)snprintf(expected, sizeof(expected),
		       "%s/./" COMMAND, own);
	CU_ASSERT_STRING_EQUAL(said[0], expected);
	(void)snprintf(expected, sizeof(expected),
		       "%s/" CKCACHE_BINDIR "/" COMMAND, own);
	CU_ASSERT_STRING_EQUAL(said[1], expected);
}

TEST(nothing_is_taken_from_the_program)
{
	machine.cores = 2;
	CU_ASSERT_TRUE(starts());
	tried = 0;
	machine.cores = 1;
	CU_ASSERT_FALSE(starts());
	machine.cores = 4;
	machine.limited = true;
	CU_ASSERT_FALSE(starts());
	machine.limited = false;
	machine.known = false;
	CU_ASSERT_FALSE(starts());
}
