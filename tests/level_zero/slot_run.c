/* SPDX-License-Identifier: MIT */
/* slot_run: the client as a child of a shell; its output through files in unit_dir. */
#include "tests/level_zero/slot_run.h"

#include <stdarg.h>

#include "tests/level_zero/intel.h"
#include "tests/support/unit.h"

/* The one that every version knows. */
#define FIRST_PRODUCT "tgllp"

static const char *driver_product = FIRST_PRODUCT;

void slot_run_product(const char *product)
{
	driver_product = product;
}

bool slot_run_has_driver(const char *command)
{
	char script[8192];
	int len = snprintf(script, sizeof(script),
			   "cd \"${TMPDIR:-/tmp}\" && d=$(mktemp -d ckcache-test-XXXXXX) && cd $d && "
			   "env -i PATH=\"$PATH\" " INTEL_WITHOUT_HARDWARE "%s timeout 60 %s "
			   ">/dev/null 2>&1; status=$?; cd .. && rm -rf $d; exit $status",
			   driver_product, command);

	if (len <= 0 || (size_t)len >= sizeof(script))
		return false;
	return system(script) == 0 ||
	       (unit_driver_required("ze_intel") && !strcmp(driver_product, FIRST_PRODUCT));
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
			   "env -i PATH=\"$PATH\" " INTEL_WITHOUT_HARDWARE "%s"
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
