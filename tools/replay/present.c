/* SPDX-License-Identifier: MIT */
/*
 * present: what is there now the layers themselves say, by their keys for a small
 * program that a worker builds for each device into a cache of its own.
 */
#include "tools/replay/replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/config.h"
#include "cachecore/disk/store.h"
#include "cachecore/key_device.h"
#include "common/clock.h"
#include "tools/memory.h"
#include "tools/worker/worker_process.h"

/* By how much a file's times may be behind the clock: a tick of the slowest kernels. */
#define FILE_TIME_NS UINT64_C(10000000)

static bool add_present(void *ctx, const struct cc_store_item *item)
{
	struct present *present = ctx;
	struct present_device device = { 0 };
	struct cmn_reader reader;
	struct cmn_view key;

	if (item->status != CMN_OK || !item->key.len)
		return true;
	key = memory_copy_bytes(item->key);
	if (cc_key_read(key, &reader) != CMN_OK || !cc_key_device_next(&reader, &device.fields)) {
		free((void *)key.data);
		return true;
	}
	device.behind = (struct cmn_view){ reader.data, reader.left };
	memory_grow(present->devices, present->count);
	present->devices[present->count++] = device;
	return true;
}

bool present_is_again(const struct present *present, size_t place)
{
	for (size_t i = 0; i < place; i++) {
		if (cmn_view_equal(present->devices[i].fields, present->devices[place].fields))
			return true;
	}
	return false;
}

/* The one device of that kind, or the one of these by the same driver. NULL: there are several, or none. */
static const struct present_device *find_renamed(const struct present *present,
						 struct cmn_view device)
{
	const struct present_device *found = NULL, *by_driver = NULL;
	size_t count = 0, count_by_driver = 0;

	for (size_t i = 0; i < present->count; i++) {
		const struct present_device *candidate = &present->devices[i];

		if (cc_key_device_compare(candidate->fields, device) != CC_KEY_DEVICE_OF_KIND ||
		    present_is_again(present, i))
			continue;
		found = candidate;
		count++;
		if (cc_key_device_same_drivers(candidate->fields, device)) {
			by_driver = candidate;
			count_by_driver++;
		}
	}
	if (count_by_driver == 1)
		return by_driver;
	return count == 1 ? found : NULL;
}

static bool same_value(struct cmn_view a, struct cmn_view b, const char *name)
{
	return cmn_view_equal(cc_key_device_find(a, name, 0), cc_key_device_find(b, name, 0));
}

/*
 * The only device of its maker and type, if its driver is of another version: what it is called and its
 * ids may have changed with that. If it is another device after all, what is built for it is in vain.
 */
static const struct present_device *find_only(const struct present *present, struct cmn_view device)
{
	const struct present_device *found = NULL;

	for (size_t i = 0; i < present->count; i++) {
		const struct present_device *candidate = &present->devices[i];

		if (!cc_key_device_same_maker(candidate->fields, device) || present_is_again(present, i))
			continue;
		if (found || same_value(candidate->fields, device, "device.driver_version"))
			return NULL;
		found = candidate;
	}
	return found;
}

static size_t count_equal_fields(struct cmn_view a, struct cmn_view b)
{
	struct cmn_reader reader = cmn_reader_of(a);
	struct cc_key_field field;
	size_t count = 0;

	while (cc_key_next(&reader, &field) == CMN_OK) {
		struct cmn_reader other = cmn_reader_of(b);
		struct cc_key_field candidate;

		while (cc_key_next(&other, &candidate) == CMN_OK) {
			if (!cmn_view_equal(candidate.name, field.name) ||
			    !cmn_view_equal(candidate.value, field.value))
				continue;
			count++;
			break;
		}
	}
	return count;
}

const struct present_device *present_find(const struct present *present, struct cmn_view device)
{
	const struct present_device *found = NULL;
	size_t most = 0;

	for (size_t i = 0; i < present->count; i++) {
		const struct present_device *candidate = &present->devices[i];
		size_t equal;

		if (cc_key_device_compare(candidate->fields, device) != CC_KEY_DEVICE_OF_NAME)
			continue;
		if (cmn_view_equal(candidate->fields, device))
			return candidate;
		/* Of several that have the name, such as two drivers for it, the one that changed least. */
		equal = count_equal_fields(candidate->fields, device);
		if (!found || equal > most) {
			found = candidate;
			most = equal;
		}
	}
	if (!found)
		found = find_renamed(present, device);
	return found ? found : find_only(present, device);
}

bool present_has_devices(const struct present *present, struct cmn_view key)
{
	struct cmn_reader reader;
	struct cmn_view device;
	bool any = false;

	if (cc_key_read(key, &reader) != CMN_OK)
		return false;
	for (; cc_key_device_next(&reader, &device); any = true) {
		if (!present_find(present, device))
			return false;
	}
	return any;
}

static const struct present_library *find_library(const struct present *present,
						  struct cmn_view name)
{
	const struct present_library *found = NULL;

	/* Of several of that name the newest counts. */
	for (size_t i = 0; i < present->library_count; i++) {
		const struct present_library *library = &present->libraries[i];

		if (cmn_view_equal(cmn_view_of(library->name), name) &&
		    (!found || found->changed_ns < library->changed_ns))
			found = library;
	}
	return found;
}

/* When the last of the libraries came in which they differ; 0: not known, or they differ in none. */
static uint64_t changed_ns(const struct present *present, struct cmn_view old, struct cmn_view now)
{
	static const char prefix[] = "library.";
	struct cmn_reader reader = cmn_reader_of(now);
	struct cc_key_field field;
	uint64_t newest = 0;

	while (cc_key_next(&reader, &field) == CMN_OK) {
		const struct present_library *library;
		char name[256];

		if (field.name.len < sizeof(prefix) || field.name.len >= sizeof(name) ||
		    memcmp(field.name.data, prefix, sizeof(prefix) - 1) != 0)
			continue;
		memcpy(name, field.name.data, field.name.len);
		name[field.name.len] = '\0';
		if (cmn_view_equal(cc_key_device_find(old, name, 0), field.value))
			continue;
		library = find_library(present, cmn_view_of(name + sizeof(prefix) - 1));
		if (!library)
			return 0;
		newest = newest > library->changed_ns ? newest : library->changed_ns;
	}
	return newest;
}

bool present_has_replaced(const struct present *present, struct cmn_view key, uint64_t last_use_ns)
{
	struct cmn_reader reader;
	struct cmn_view device;
	bool replaced = false;

	if (cc_key_read(key, &reader) != CMN_OK)
		return false;
	while (cc_key_device_next(&reader, &device)) {
		const struct present_device *now = present_find(present, device);
		uint64_t changed;

		if (!now || cc_key_device_compare(now->fields, device) == CC_KEY_DEVICE_ANOTHER ||
		    !cc_key_device_same_drivers(now->fields, device))
			return false;
		if (cmn_view_equal(now->fields, device))
			continue;
		changed = changed_ns(present, device, now->fields);
		/* A clock that was ahead when it was installed dates no use. */
		if (!changed || changed + FILE_TIME_NS <= last_use_ns || changed > cmn_clock_realtime())
			return false;
		replaced = true;
	}
	return replaced;
}

bool present_renew_key(const struct present *present, struct cmn_view old, struct cc_key *ret)
{
	struct cmn_reader reader;
	struct cmn_view device;
	bool changed = false;

	if (cc_key_read(old, &reader) != CMN_OK)
		return false;
	while (cc_key_device_next(&reader, &device)) {
		const struct present_device *now = present_find(present, device);

		if (!now)
			return false;
		changed = changed || !cmn_view_equal(now->fields, device);
		cmn_buffer_append(&ret->encoded, now->fields.data, now->fields.len);
	}
	/* The other parts follow as they are. */
	cmn_buffer_append(&ret->encoded, reader.data, reader.left);
	return changed && cc_key_status(ret) == CMN_OK;
}

static void add_library(struct present *present, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct present_library *library;
	struct stat info;

	/* What cannot be looked at is not known. */
	if (!slash || stat(path, &info) < 0)
		return;
	memory_grow(present->libraries, present->library_count);
	library = &present->libraries[present->library_count++];
	*library = (struct present_library){
		.path = memory_copy(path),
		.changed_ns = (uint64_t)info.st_ctim.tv_sec * UINT64_C(1000000000) +
			      (uint64_t)info.st_ctim.tv_nsec,
	};
	library->name = library->path + (slash + 1 - path);
}

/* What a probe said. */
static void read_records(struct cmn_buffer *records, struct present *ret, bool *ret_unable)
{
	char *records_text = memory_string(records), *text = records_text;
	struct channel_record record;

	while (channel_next(&text, &record)) {
		if (strcmp(record.word, "failed") == 0 && strcmp(record.fields[0], "loader") == 0)
			*ret_unable = true;
		if (strcmp(record.word, "mapped") == 0)
			add_library(ret, record.fields[0]);
	}
	free(records_text);
}

/*
 * Has a worker build for all devices of an API, into a cache of its own. A driver that crashes leaves the
 * others' answers. false: complained about, or a signal came.
 */
static bool probe(const struct replay_settings *settings, const char *directory, const char *api,
		  struct present *ret, bool *ret_unable, int *ret_signal)
{
	const char *const arguments[] = { api, NULL };
	const struct worker_variable variables[] = {
		WORKER_STORES_ALL, REPLAY_NO_OWN_CACHES, { CC_CONFIG_BUILT_FOR, "" },
		{ "CKCACHE_DIR", directory }, { "OPENCL_LAYERS", settings->layer }, { 0 },
	};
	const struct worker_start start = {
		.arguments = arguments, .variables = variables, .level_zero = strcmp(api, "level-zero-build") == 0,
		.idle = settings->idle, .timeout_ns = settings->timeout_ns,
	};
	struct worker_result result;
	bool done = false;

	worker_run(&start, &result);
	if (result.end == WORKER_INTERRUPTED) {
		*ret_signal = result.code;
	} else if (result.end == WORKER_UNSTARTED) {
		tool_complain("fork: %s", strerror(result.code));
	} else {
		read_records(&result.records, ret, ret_unable);
		if (result.end == WORKER_TIMED_OUT || result.end == WORKER_STUCK)
			tool_complain("a driver did not answer in time; its devices are left out");
		done = true;
	}
	*ret_unable |= result.end == WORKER_EXITED && result.code == WORKER_UNABLE;
	worker_result_release(&result);
	return done;
}

static bool run_probes(const struct replay_settings *settings, const char *directory,
		       struct present *ret, int *ret_signal)
{
	static const char *const apis[] = {
		"opencl-build",
#ifdef CKCACHE_LEVEL_ZERO
		"level-zero-build",
#endif
	};
	size_t able = 0;

	for (size_t i = 0; i < sizeof(apis) / sizeof(apis[0]); i++) {
		bool unable = false;

		if (!probe(settings, directory, apis[i], ret, &unable, ret_signal))
			return false;
		able += !unable;
	}
	if (!able)
		tool_complain("neither libOpenCL.so.1 nor libze_loader.so.1 can be loaded");
	return able != 0;
}

static enum cmn_status read_keys(const char *directory, struct present *ret)
{
	char *no_tiers[] = { NULL };
	struct cc_config config = { .dir = (char *)directory, .read_only_dirs = no_tiers };
	struct cc_store *store;
	enum cmn_status status = cc_store_open(&config, &tool_silent, &store);

	if (status != CMN_OK)
		return status;
	status = cc_store_walk(store, false, add_present, ret);
	cc_store_close(store);
	return status == CMN_MISS ? CMN_OK : status;
}

static void add_path(struct cmn_buffer *paths, const char *directory, const char *name, int len)
{
	if (directory && directory[0] == '/')
		cmn_buffer_printf(paths, "%s%.*s%c", directory, len, name, '\0');
}

/* The paths of a variable that is for loaders and drivers: PATH or PATH:PATH…; never all of a home. */
static void add_variable(struct confine *confine, const char *variable)
{
	const char *home = getenv("HOME"), *value = strchr(variable, '=');
	bool cache = memmem(variable, (size_t)(value - variable), "CACHE", 5) != NULL;

	while (*value++) {
		size_t len = strcspn(value, ":"), bare = len;

		while (bare && value[bare - 1] == '/')
			bare--;
		if (bare && value[0] == '/' &&
		    !(home && strncmp(home, value, bare) == 0 && (!home[bare] || home[bare] == '/')))
			add_path(cache ? &confine->writes : &confine->reads, "/", value + 1, (int)bare - 1);
		value += len;
	}
}

void present_confine(const struct present *present, const char *root, const char *scratch,
		     struct confine *ret)
{
	/* Below the user's directory for caches; as drivers have made them for the probes. */
	static const char *const of_cache[] = { "/mesa_shader_cache", "/mesa_shader_cache_db",
						"/mesa_shader_cache_sf", "/neo_compiler_cache",
						"/pocl", "/comgr" };
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	*ret = (struct confine){ .any_file = false };
	add_path(&ret->writes, root, "", 0);
	add_path(&ret->writes, scratch, "", 0);
	add_path(&ret->writes, home, "/.nv", 4);
	for (size_t i = 0; i < sizeof(of_cache) / sizeof(of_cache[0]); i++) {
		const char *name = of_cache[i];

		add_path(&ret->writes, cache, name, (int)strlen(name));
		if (!cache || cache[0] != '/')
			cmn_buffer_printf(&ret->writes, "%s/.cache%s%c", home ? home : "", name, '\0');
	}
	for (size_t i = 0; i < present->library_count; i++)
		add_path(&ret->reads, present->libraries[i].path, "", 0);
	for (size_t i = 0; environ && environ[i]; i++) {
		if (cc_recipe_carries(environ[i]))
			add_variable(ret, environ[i]);
	}
	if (ret->reads.failed || ret->writes.failed)
		memory_end();
}

bool present_read(const struct replay_settings *settings, struct present *ret, int *ret_signal)
{
	char *directory = tool_make_scratch();
	enum cmn_status status;
	bool done = false;

	*ret = (struct present){ 0 };
	if (!directory)
		return false;
	if (run_probes(settings, directory, ret, ret_signal)) {
		status = read_keys(directory, ret);
		done = status == CMN_OK;
		if (!done)
			(void)tool_fail(directory, status);
		else if (!ret->count)
			tool_complain("no device builds programs that can be stored");
	}
	tool_remove_scratch(directory);
	return done;
}
