/* SPDX-License-Identifier: MIT */
/* observing: what the tests of the observer and of dependencies share. */
#include "tests/unit/layers/shared/observer/observing.h"

#include <dlfcn.h>

#include "layers/shared/driver/loaded.h"
#include "layers/shared/observer/got_slots.h"
#include "tests/support/unit.h"

observed_fn observed;
const char *library_path;
struct cc_manifest *manifest;
const char *reason = "";

static void after_fork_child(void)
{
	drv_loaded_fork_child();
	drv_observer_fork_child();
}

bool observing_fork(void)
{
	return pthread_atfork(drv_loaded_fork_prepare, drv_loaded_fork_parent, after_fork_child) == 0;
}

enum cmn_status end_as(struct drv_observation *observation, const struct drv_observer_text *text)
{
	cc_manifest_free(manifest);
	manifest = NULL;
	reason = "";
	return drv_observer_end(observation, text, NULL, &manifest, &reason);
}

/* Where nobody knows how objects call others, each build says so, and that is all. */
static void end_where_nothing_is_seen(void)
{
	const struct drv_observer_request request = {
		.driver = drv_driver_of("libother.so"), .libraries = { .address = (const void *)observed },
	};

	if (drv_slots_known())
		return;
	(void)puts("SKIPPED: nothing can be observed on this architecture");
	exit(end_as(drv_observer_begin(&request), &(struct drv_observer_text){ .reads = false }) == CMN_MISS &&
	     strcmp(reason, "observer-off") == 0 ? 77 : 1);
}

bool observing_load(const char *path)
{
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);

	library_path = path;
	if (library)
		observed = (observed_fn)dlsym(library, "observed_do");
	if (!observed)
		(void)fprintf(stderr, "%s\n", dlerror());
	else
		end_where_nothing_is_seen();
	return observed;
}

struct drv_observation *begin_as(const struct drv_driver *driver, bool goes_on)
{
	struct drv_observation *observation = drv_observer_begin(&(struct drv_observer_request){
		.driver = driver, .libraries = { .address = (const void *)observed }, .goes_on = goes_on,
	});

	CU_ASSERT_PTR_NOT_NULL_FATAL(observation);
	return observation;
}

static struct drv_driver plain;

/* Before there are threads. */
static __attribute__((constructor)) void set_plain(void)
{
	plain = *drv_driver_of("libother.so");
	plain.library = "libplain.so";
}

const struct drv_driver *row_of(const char *library)
{
	return drv_driver_of(library)->library ? drv_driver_of(library) : &plain;
}

struct drv_observation *begin(bool goes_on)
{
	return begin_as(row_of("libother.so"), goes_on);
}

enum cmn_status end_with(struct drv_observation *observation, const char *options, bool reads)
{
	return end_as(observation, &(struct drv_observer_text){ .reads = reads, .options = options });
}

enum cmn_status end_unproven(struct drv_observation *observation)
{
	return end_as(observation, &(struct drv_observer_text){ .unproven = true });
}

enum cmn_status end_text(struct drv_observation *observation, const char *source)
{
	return end_as(observation, &(struct drv_observer_text){
		.reads = strstr(source, "#include") != NULL, .source = { source, strlen(source) } });
}

enum cmn_status end_after(struct drv_observation *observation, const struct cc_manifest *before)
{
	return end_as(observation, &(struct drv_observer_text){ .before = before });
}

enum cmn_status watch(const char *how, const char *path)
{
	struct drv_observation *observation = begin(false);

	observed(how, path);
	return end_with(observation, NULL, false);
}

void observed_all(const char *looks)
{
	char how[32], path[256];
	int len = 0;

	for (; sscanf(looks, " %31s %255[^,],%n", how, path, &len) >= 2; looks += len, len = 0) {
		observed(how, path);
		if (!len)
			break;
	}
}

enum cmn_status watch_all(const char *looks)
{
	struct drv_observation *observation = begin(false);

	observed_all(looks);
	return end_with(observation, NULL, false);
}

bool depends_on(enum cc_dependency kind, const char *path)
{
	for (size_t i = 0; i < cc_manifest_count(manifest); i++) {
		struct cc_manifest_item item = cc_manifest_get(manifest, i);

		if (item.kind == kind && strcmp(item.path, path) == 0)
			return true;
	}
	return false;
}
