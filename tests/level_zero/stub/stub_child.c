/* SPDX-License-Identifier: MIT */
/* stub_child: see stub_child.h. */
#include "tests/level_zero/stub/stub_child.h"

#include <sys/resource.h>

#include "tests/support/unit.h"

#define MAX_DRIVERS 4

static void run_as_child(const char *drivers, void (*scenario)(void), const char *const *settings)
{
	const struct rlimit none = { 0, 0 };
	char counts[4096];

	(void)setrlimit(RLIMIT_CORE, &none);	/* of a scenario that aborts; a file at worst */
	(void)snprintf(counts, sizeof(counts), "%s/events", unit_dir());
	CHECK(setenv("STUB_COUNTS", counts, 1) == 0);
	CHECK(setenv("ZE_ENABLE_ALT_DRIVERS", drivers, 1) == 0);
	for (; settings && *settings; settings++)
		CHECK(putenv((char *)*settings) == 0);
	scenario();
	exit(CHILD_GOOD);	/* through the destructors of loader and drivers */
}

int child_run(const char *drivers, void (*scenario)(void), const char *const *settings)
{
	int status;
	pid_t child;

	(void)unlink("events");	/* absent before the first child */
	(void)fflush(NULL);	/* else the child writes it again */
	child = fork();
	CU_ASSERT_FATAL(child >= 0);
	if (!child)
		run_as_child(drivers, scenario, settings);
	CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : CHILD_SIGNAL + WTERMSIG(status);
}

static int count_lines(const char *text, bool whole)
{
	FILE *file = fopen("events", "r");
	size_t len = strlen(text);
	char line[512];
	int count = 0;

	while (file && fgets(line, sizeof(line), file)) {
		const char *event = line;

		line[strcspn(line, "\n")] = '\0';
		if (!whole && !strncmp(line, "stub2 ", 6))
			event += 6;
		count += whole ? !strcmp(event, text) : !strncmp(event, text, len);
	}
	if (file)
		(void)fclose(file);	/* only read */
	return count;
}

int child_events(const char *line)
{
	return count_lines(line, true);
}

int child_events_like(const char *prefix)
{
	return count_lines(prefix, false);
}

int child_most_compiles_at_once(void)
{
	FILE *file = fopen("events", "r");
	int now = 0, most = 0;
	char line[512];

	while (file && fgets(line, sizeof(line), file)) {
		now += !strcmp(line, "compile\n");
		now -= !strcmp(line, "compiled\n");
		most = now > most ? now : most;
	}
	if (file)
		(void)fclose(file);	/* only read */
	return most;
}

void child_open(uint32_t index, struct child_driver *ret)
{
	const ze_context_desc_t desc = { .stype = ZE_STRUCTURE_TYPE_CONTEXT_DESC };
	ze_driver_handle_t drivers[MAX_DRIVERS];
	uint32_t count = MAX_DRIVERS;

	CHECK(zeInit(0) == ZE_RESULT_SUCCESS);
	CHECK(zeDriverGet(&count, drivers) == ZE_RESULT_SUCCESS && index < count);
	ret->driver = drivers[index];
	ret->alone = count == 1;
	count = 1;
	CHECK(zeDeviceGet(ret->driver, &count, &ret->device) == ZE_RESULT_SUCCESS && count == 1);
	CHECK(zeContextCreate(ret->driver, &desc, &ret->context) == ZE_RESULT_SUCCESS);
}

void child_make(const struct child_driver *driver, const ze_module_desc_t *desc,
		struct child_made *ret)
{
	ze_module_build_log_handle_t log = NULL;
	size_t size = sizeof(ret->log);

	*ret = (struct child_made){ 0 };
	ret->status = zeModuleCreate(driver->context, driver->device, desc, &ret->module, &log);
	/* With two drivers the loader leaves a failure's log as the driver's own handle. */
	if (!log || (ret->status && !driver->alone))
		return;
	CHECK(zeModuleBuildLogGetString(log, &size, ret->log) == ZE_RESULT_SUCCESS);
	CHECK(size == strlen(ret->log) + 1);
	CHECK(zeModuleBuildLogDestroy(log) == ZE_RESULT_SUCCESS);
}

size_t child_native(const struct child_made *made, uint8_t *ret, size_t size)
{
	CHECK(made->module && zeModuleGetNativeBinary(made->module, &size, ret) == ZE_RESULT_SUCCESS);
	return size;
}

ze_module_desc_t child_desc(ze_module_format_t format, const void *data, size_t size)
{
	return (ze_module_desc_t){
		.stype = ZE_STRUCTURE_TYPE_MODULE_DESC,
		.format = format,
		.inputSize = size,
		.pInputModule = data,
	};
}

size_t child_compile(const struct child_driver *driver, ze_module_desc_t desc, uint32_t id,
		     const void *value, const char *flags, uint8_t native[CHILD_NATIVE_MAX])
{
	const void *values[] = { value };
	const ze_module_constants_t constants = { 1, &id, values };
	struct child_made made;

	desc.pConstants = value ? &constants : NULL;
	desc.pBuildFlags = flags;
	child_make(driver, &desc, &made);
	CHECK(made.status == ZE_RESULT_SUCCESS);
	return child_native(&made, native, CHILD_NATIVE_MAX);
}
