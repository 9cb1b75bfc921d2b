/* SPDX-License-Identifier: MIT */
/* slot_run: the client as a child of a shell; its output through files in unit_dir. */
#include "tests/level_zero/slot_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/unit.h"

static const char *driver_product = "tgllp";

void slot_run_product(const char *product)
{
	driver_product = product;
}

static void read_all(const char *name, char text[SLOT_RUN_MAX])
{
	FILE *file = fopen(name, "rb");
	size_t len = 0;

	if (file) {
		len = fread(text, 1, SLOT_RUN_MAX - 1, file);
		(void)fclose(file);	/* it was only read */
	}
	CU_ASSERT_FATAL(len < SLOT_RUN_MAX - 1);
	text[len] = '\0';
}

void slot_run_shell(const char *format, ...)
{
	char command[16384];
	va_list arguments;
	int len;

	va_start(arguments, format);
	len = vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	CU_ASSERT_FATAL(len > 0 && (size_t)len < sizeof(command));
	CU_ASSERT_EQUAL_FATAL(system(command), 0);
}

void slot_run(struct slot_run *run, const char *client, const char *mode, const char *variables)
{
	char command[16384];
	int len = snprintf(command, sizeof(command),
			   "env -i PATH=\"$PATH\" NEOReadDebugKeys=1 SetCommandStreamReceiver=1"
			   " OverrideMaxWorkgroupSize=1024 ProductFamilyOverride=%s"
			   " TEST_PLUGIN_LOG='%s/calls' %s timeout -k 5 120 '%s' %s"
			   " >output 2>errors </dev/null",
			   driver_product, unit_dir(), variables, client, mode);
	int status;

	CU_ASSERT_FATAL(len > 0 && (size_t)len < sizeof(command));
	(void)unlink("calls");		/* absent if the last run had no plugin */
	status = system(command);
	run->status = status != -1 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	read_all("output", run->output);
	read_all("errors", run->errors);
	read_all("calls", run->calls);
}
