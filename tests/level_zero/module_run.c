/* SPDX-License-Identifier: MIT */
/* module_run: variables for the client, and its events through a file in unit_dir. */
#include "tests/level_zero/module_run.h"

#include "cachecore/record/totals.h"
#include "tests/support/unit.h"

#define GUARDED_PLUGIN " LD_PRELOAD='" GUARD ":" SLOT_DIRECTORY "/libckcache_preload.so' ZE_ENABLE_LAYERS=ckcache"
#define PLUGIN " LD_PRELOAD='" SLOT_DIRECTORY "/libckcache_preload.so' ZE_ENABLE_LAYERS=ckcache"

static const char *driver_list = STUB_DRIVER;

void module_run_drivers(const char *drivers)
{
	driver_list = drivers;
}

static void read_events(char text[SLOT_RUN_MAX])
{
	FILE *file = fopen("events", "rb");
	size_t len = 0;

	/* Without a call to the driver there is none. */
	if (file) {
		len = fread(text, 1, SLOT_RUN_MAX - 1, file);
		(void)fclose(file);	/* it was only read */
	}
	text[len] = '\0';
}

static void run_program(struct module_run *run, const char *plugin, const char *program,
			const char *arguments, const char *variables)
{
	char all[8192];
	int len = snprintf(all, sizeof(all), "%s%s%s HOME='%s' STUB_COUNTS='%s/events' STUB_SETTINGS='%s/settings' "
			   "CKCACHE_DIR='%s/cache' CKCACHE_READ_ONLY_DIRS= ASAN_OPTIONS="
			   "verify_asan_link_order=0:detect_leaks=0 "
			   "TSAN_OPTIONS='%s' %s %s", driver_list ? "ZE_ENABLE_ALT_DRIVERS='" : "",
			   driver_list ? driver_list : "", driver_list ? "'" : "", unit_dir(),
			   unit_dir(), unit_dir(), unit_dir(), unit_tsan_options(), plugin, variables);

	CU_ASSERT_FATAL(len > 0 && (size_t)len < sizeof(all));
	(void)unlink("events");		/* absent before the first run */
	slot_run(&run->client, program, arguments, all);
	read_events(run->events);
}

static void run_client(struct module_run *run, const char *plugin, const char *arguments, const char *variables)
{
	run_program(run, plugin, MODULE_CLIENT, arguments, variables);
}

void module_run_processes(struct module_run *run, unsigned int count, const char *arguments, const char *variables)
{
	char script[4096];
	int len = snprintf(script, sizeof(script), "-c \"for i in $(seq %u | tr '\\n' ' '); do '" MODULE_CLIENT
			   "' %s & done; wait\"", count, arguments);

	CU_ASSERT_FATAL(len > 0 && (size_t)len < sizeof(script));
	run_program(run, PLUGIN, "/bin/sh", script, variables);
	CU_ASSERT_EQUAL(run->client.status, 0);
}

void module_run_script(struct module_run *run, const char *script, const char *variables)
{
	char argument[4096];
	int len = snprintf(argument, sizeof(argument), "-c '%s' '" MODULE_CLIENT "'", script);

	CU_ASSERT_FATAL(len > 0 && (size_t)len < sizeof(argument));
	run_program(run, PLUGIN, "/bin/sh", argument, variables);
	CU_ASSERT_EQUAL(run->client.status, 0);
}

/* With guard.c on the stub drivers: real ones leave files open. */
static bool is_stub(void)
{
	return driver_list && !strstr(driver_list, "intel");
}

void module_run_any(struct module_run *run, const char *arguments, const char *variables)
{
	run_client(run, is_stub() ? GUARDED_PLUGIN : PLUGIN, arguments, variables);
}

void module_run(struct module_run *run, const char *arguments, const char *variables)
{
	module_run_any(run, arguments, variables);
	if (run->client.status)
		(void)fprintf(stderr, "%s\n%s%s%s", arguments, run->client.output, run->client.errors, run->events);
	CU_ASSERT_EQUAL(run->client.status, 0);
}

void module_run_plain_any(struct module_run *run, const char *arguments, const char *variables)
{
	run_client(run, is_stub() ? " LD_PRELOAD='" GUARD "'" : "", arguments, variables);
}

void module_run_plain(struct module_run *run, const char *arguments, const char *variables)
{
	module_run_plain_any(run, arguments, variables);
	CU_ASSERT_EQUAL(run->client.status, 0);
}

unsigned int module_run_count(const struct module_run *run, const char *event)
{
	size_t len = strlen(event);
	unsigned int count = 0;

	for (const char *line = run->events; *line;) {
		const char *end = strchr(line, '\n');

		if (!end)
			break;
		count += (size_t)(end - line) == len && !strncmp(line, event, len);
		line = end + 1;
	}
	return count;
}

bool module_run_balanced(const struct module_run *run, const char *what)
{
	char created[64], destroyed[64];

	(void)snprintf(created, sizeof(created), "%s-create", what);
	(void)snprintf(destroyed, sizeof(destroyed), "%s-destroy", what);
	return module_run_count(run, created) == module_run_count(run, destroyed);
}

unsigned long module_run_stat(const char *name)
{
	struct cc_totals *totals;
	uint64_t value = 0;

	(void)!cc_totals_load("cache", &totals);	/* none: zeros */
	CU_ASSERT_PTR_NOT_NULL_FATAL(totals);
	for (unsigned int i = 0; i < CC_COUNTER_COUNT; i++) {
		if (strcmp(cc_counter_name((enum cc_counter)i), name) == 0)
			value = totals->counters[i];
	}
	for (size_t i = 0; i < totals->bypass_count; i++) {
		if (strncmp(name, "bypass.", 7) == 0 && strcmp(totals->bypasses[i].reason, name + 7) == 0)
			value = totals->bypasses[i].count;
	}
	free(totals);
	return (unsigned long)value;
}

void module_run_expect_clean(const struct module_run *run)
{
	static const char *const bad[] = { "bad-handle", "short-buffer", "corrupt-native",
					   "foreign-native", "bad-stype", "native-constants" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CU_ASSERT_PTR_NULL(strstr(run->events, bad[i]));
		if (strstr(run->events, bad[i]))
			(void)fprintf(stderr, "%s", run->events);
	}
	CU_ASSERT_STRING_EQUAL(run->client.errors, "");
	if (*run->client.errors)
		(void)fprintf(stderr, "%s", run->client.errors);
}

void module_run_expect(const struct module_run *run, unsigned int compiled, unsigned int loaded)
{
	CU_ASSERT_EQUAL(module_run_count(run, "compile"), compiled);
	CU_ASSERT_EQUAL(module_run_count(run, "load-native"), loaded);
	if (module_run_count(run, "compile") != compiled || module_run_count(run, "load-native") != loaded)
		(void)fprintf(stderr, "expected %u %u:\n%s%s", compiled, loaded, run->client.output, run->events);
	module_run_expect_clean(run);
}
