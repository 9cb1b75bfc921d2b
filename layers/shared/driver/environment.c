/* SPDX-License-Identifier: MIT */
/* environment: the variables at the beginning and now, what each driver makes of them, and the linker that they lead to. */
#include "layers/shared/driver/environment.h"

#include <ctype.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/file_memo.h"
#include "common/env.h"
#include "common/mutex.h"
#include "layers/shared/driver/harmless.h"

/* Whatever a driver does with them: where caches and dumps go, what is logged, how a loader finds drivers. */
static const char *const ignored[] = {
	"POCL_CACHE_DIR",     "POCL_DEBUG",	  "POCL_KERNEL_CACHE",
	"POCL_TRACING",	      "MESA_SHADER_CACHE", "MESA_DISK_CACHE",  "MESA_GLSL_CACHE",
	"MESA_LOG",	      "CUDA_CACHE_",	  "NEO_CACHE_",	       "OCL_ICD_",
	"NEOReadDebugKeys",   "AMD_COMGR_CACHE",   NULL,
};

/* Which devices a known driver shows; and names of others' that begin as a driver's do. */
static const char *const selecting[] = {
	"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "GPU_DEVICE_ORDINAL", "HIP_VISIBLE_DEVICES",
	"ONEAPI_DEVICE_SELECTOR", "INTEL_LICENSE_FILE", "CUDA_HOME", "CUDA_PATH", "CUDA_VERSION",
	"CUDA_MPS_LOG_DIRECTORY", "CUDA_MPS_PIPE_DIRECTORY", NULL,
};

static bool has_prefix(const char *name, size_t len, const char *const *list)
{
	for (size_t i = 0; list[i]; i++) {
		size_t size = strlen(list[i]);

		if (size <= len && memcmp(name, list[i], size) == 0)
			return true;
	}
	return false;
}

/*
 * As Intel's debug variables are written: letters of both cases and digits, beginning with a capital.
 * Not OMPI_MCA_orte_ess_node_rank, which is another one for each rank of a job.
 */
static bool is_camel_case(const char *name, size_t len)
{
	bool lower = false;

	for (size_t i = 0; i < len; i++) {
		if (!isalnum((unsigned char)name[i]))
			return false;
		lower = lower || islower((unsigned char)name[i]);
	}
	return lower && isupper((unsigned char)name[0]);
}

/* Of an environment that differs, in case that another thread was at it. */
#define MAX_LOOKS 4

/*
 * What a driver makes of the environment. Looking at every variable takes some
 * 10 us (150 where the program moved them all), hashing them all takes one: the fields are compared only where
 * anything changed. The lock is only ever tried: after a fork, whatever state it
 * was left in, the child merely does without what was known.
 */
struct view {
	_Atomic(const char *) lost;	/* why nothing is cached any more, or NULL */
	pthread_mutex_t lock;
	bool known;
	struct cmn_hash hash;		/* of an environment with these fields; all guarded by lock */
	struct cc_key fields;
};

/* At the beginning; immutable from then on, but for the views. */
static struct {
	pthread_once_t once;
	atomic_bool begun;
	struct cmn_buffer variables;	/* cmn_env_copy's; empty where it failed */
	bool known;			/* it did not */
	struct cmn_hash hash;
	struct view views[DRV_DRIVERS];	/* in the order of the rows */
} state = { .once = PTHREAD_ONCE_INIT };

bool drv_environment_counts(const struct drv_driver *driver, const char *name, size_t len,
			    bool debug_keys)
{
	if (has_prefix(name, len, ignored) || (driver->library && has_prefix(name, len, selecting)))
		return false;
	return has_prefix(name, len, driver->variables) ||
	       (debug_keys && driver->debug_keys && is_camel_case(name, len));
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_variable(struct cc_key *key, const char *variable)
{
	const char *equals = strchr(variable, '=');
	struct cmn_buffer name = { 0 };
	char *field;

	/* A name longer than a field's can be is no compiler's. */
	cmn_buffer_printf(&name, "env.%.*s", (int)(equals - variable < 200 ? equals - variable : 200),
			  variable);
	field = cmn_buffer_take_string(&name);
	if (field)
		cc_key_add_text(key, CC_PART_OPTIONS, field, equals + 1);
	else
		key->encoded.failed = true;
	free(field);
}

static struct drv_linker_variables linker_variables(const struct cmn_buffer *variables)
{
	return (struct drv_linker_variables){
		.compiler_path = cmn_env_find(variables, "COMPILER_PATH"),
		.path = cmn_env_find(variables, "PATH"),
		.library_path = cmn_env_find(variables, "LIBRARY_PATH"),
	};
}

/* Sorted variables of one name stand together. false: two of them differ, of which readers may take either. */
static bool add_sorted(struct cc_key *key, const char *const *variables, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t len = strcspn(variables[i], "=") + 1;

		if (i && strcmp(variables[i], variables[i - 1]) == 0)
			continue;
		if (i && strncmp(variables[i], variables[i - 1], len) == 0)
			return false;
		add_variable(key, variables[i]);
	}
	return true;
}

static bool is_on(const char *value)
{
	return value && strcmp(value, "0") != 0;
}

/* The fields that a driver's keys have in an environment. NULL, or a reason why there are none. */
static const char *gather(const struct drv_driver *driver, const struct cmn_buffer *environment,
			  struct cc_key *ret)
{
	const char *debug = cmn_env_find(environment, "NEOReadDebugKeys"), *reason = NULL, *at = NULL;
	bool debug_keys = driver->debug_keys && is_on(debug);
	const char **variables;
	size_t total = 0, count = 0;

	while ((at = cmn_env_next(environment, at)))
		total++;
	variables = calloc(total + 1, sizeof(*variables));
	while (variables && (at = cmn_env_next(environment, at))) {
		const char *equals = strchr(at, '=');

		if (equals && drv_environment_counts(driver, at, (size_t)(equals - at), debug_keys)) {
			if (!drv_variable_is_harmless(driver->options, at, (size_t)(equals - at), equals + 1))
				reason = "variable";
			variables[count++] = at;
		}
	}
	if (debug_keys)
		cc_key_add_text(ret, CC_PART_OPTIONS, "env.NEOReadDebugKeys", debug);
	for (size_t i = 0; driver->instrumented && driver->instrumented[i]; i++) {
		if (is_on(cmn_env_find(environment, driver->instrumented[i])))
			reason = "instrumented";
	}
	if (variables) {
		qsort(variables, count, sizeof(*variables), compare_texts);
		if (!add_sorted(ret, variables, count))
			reason = "environment-changed";
	}
	if (!variables || cc_key_status(ret) != CMN_OK)
		reason = "no-memory";
	free(variables);
	return reason;
}

static bool has_settings(const struct drv_driver *driver, bool at_load)
{
	for (size_t i = 0; driver->settings && driver->settings[i]; i++) {
		if ((at_load || driver->settings[i][0] == '/') && access(driver->settings[i], F_OK) == 0)
			return true;
	}
	return false;
}

/* Takes the fields in exchange, if it can. */
static void remember(struct view *view, const struct cmn_hash *hash, struct cc_key *fields)
{
	struct cc_key old;

	if (pthread_mutex_trylock(&view->lock) != 0)
		return;
	old = view->fields;
	view->fields = *fields;
	*fields = old;
	view->hash = *hash;
	view->known = true;
	cmn_mutex_unlock(&view->lock);
}

/* Whether they lead to the same linker now, which the device's part of the key names. */
static bool leads_to_same_linker(const struct drv_driver *driver, const struct cmn_buffer *variables)
{
	const struct drv_linker_variables lists[] = {
		linker_variables(&state.variables), linker_variables(variables),
	};
	struct cc_key keys[2];
	bool same = true;

	for (size_t i = 0; i < 2; i++) {
		cc_key_init(&keys[i]);
		same = drv_linker_add(driver, &lists[i], &keys[i]) && same;
	}
	same = same && cmn_view_equal(cc_key_view(&keys[0]), cc_key_view(&keys[1]));
	cc_key_release(&keys[0]);
	cc_key_release(&keys[1]);
	return same;
}

/* judge, where the fields are not known. */
static const char *compare(const struct drv_driver *driver, const struct cmn_buffer *variables,
			   const struct cmn_hash *hash, struct cc_key *ret)
{
	struct cc_key then, now;
	const char *reason;

	cc_key_init(&then);
	cc_key_init(&now);
	reason = state.known ? gather(driver, &state.variables, &then) : "no-memory";
	if (!reason && !cmn_hash_equal(hash, &state.hash)) {
		reason = gather(driver, variables, &now);
		if (!reason && (!cmn_view_equal(cc_key_view(&then), cc_key_view(&now)) ||
				!leads_to_same_linker(driver, variables)))
			reason = "environment-changed";
	}
	if (!reason && ret)
		cc_key_add_fields(ret, &then);
	if (!reason)
		remember(&state.views[driver - drv_drivers], hash, &then);
	cc_key_release(&then);
	cc_key_release(&now);
	return reason;
}

/* NULL, and the fields of this environment are added; or a reason why nothing may be cached. ret may be NULL. */
static const char *judge(const struct drv_driver *driver, const struct cmn_buffer *variables,
			 const struct cmn_hash *hash, struct cc_key *ret)
{
	struct view *view = &state.views[driver - drv_drivers];
	bool known = false;

	if (pthread_mutex_trylock(&view->lock) == 0) {
		known = view->known && cmn_hash_equal(&view->hash, hash);
		if (known && ret)
			cc_key_add_fields(ret, &view->fields);
		cmn_mutex_unlock(&view->lock);
	}
	return known ? NULL : compare(driver, variables, hash, ret);
}

/* Drivers are being loaded, or build, and may read the files of their settings. */
static void note_settings(bool loading)
{
	const char *const *settings = NULL;	/* looked for last: rows of one compiler stand together */
	const char *reason = "settings-file";
	bool found = false;

	for (size_t i = 0; i < DRV_DRIVERS; i++) {
		if (drv_drivers[i].settings != settings)
			found = has_settings(&drv_drivers[i], loading);
		settings = drv_drivers[i].settings;
		if (found)
			atomic_store(&state.views[i].lost, reason);
	}
}

/* Once more in a child, whose parent had begun: what that had half done is left. */
static void begin(void)
{
	struct cmn_buffer variables = { 0 };

	state.known = cmn_env_copy(&variables) == CMN_OK;
	state.variables = variables;
	state.hash = cmn_hash_of(state.variables.data, state.variables.len);
	for (size_t i = 0; i < DRV_DRIVERS; i++)
		(void)pthread_mutex_init(&state.views[i].lock, NULL);	/* cannot fail for a default one */
	note_settings(true);
	atomic_store(&state.begun, true);
}

static void begin_once(void)
{
	(void)pthread_once(&state.once, begin);
}

/* A torn environment is no more than another look. */
const char *drv_environment_add(const struct drv_driver *driver, struct cc_key *key)
{
	struct cmn_buffer variables = { 0 };
	struct cmn_hash hash;
	const char *reason;

	if (!atomic_load(&state.begun))
		begin_once();
	reason = atomic_load(&state.views[driver - drv_drivers].lost);
	if (reason)
		return reason;
	reason = "environment-changed";
	for (int i = 0; i < MAX_LOOKS && reason; i++) {
		if (cmn_env_copy(&variables) != CMN_OK)
			continue;
		hash = cmn_hash_of(variables.data, variables.len);
		reason = judge(driver, &variables, &hash, key);
	}
	cmn_buffer_release(&variables);
	return reason;
}

/* Drivers are being loaded, or build: those for which this environment is another one are lost. */
static void note(bool loading)
{
	struct cmn_buffer variables = { 0 };
	bool read = cmn_env_copy(&variables) == CMN_OK;
	struct cmn_hash hash = cmn_hash_of(variables.data, variables.len);
	bool same = read && state.known && cmn_hash_equal(&hash, &state.hash);

	for (size_t i = 0; i < DRV_DRIVERS && !same; i++) {
		bool good = read && !judge(&drv_drivers[i], &variables, &hash, NULL);
		const char *reason = good ? NULL : drv_environment_add(&drv_drivers[i], NULL);

		/* What cannot be told for want of memory may be so. */
		if (reason)
			atomic_store(&state.views[i].lost, reason);
	}
	cmn_buffer_release(&variables);
	note_settings(loading);
}

void drv_environment_begin(void)
{
	bool again = atomic_load(&state.begun);

	begin_once();
	if (again)
		note(true);
}

const char *drv_environment_at_begin(const char *name)
{
	begin_once();
	return state.known ? cmn_env_find(&state.variables, name) : NULL;
}

const char *drv_environment_next(const char *variable)
{
	begin_once();
	return state.known ? cmn_env_next(&state.variables, variable) : NULL;
}

struct drv_linker_variables drv_environment_linker(void)
{
	begin_once();
	return state.known ? linker_variables(&state.variables) : (struct drv_linker_variables){ 0 };
}

/* How a program is loaded, or what it compiles. */
static bool concerns_programs(const struct drv_driver *driver, const char *variable)
{
	size_t len = strcspn(variable, "=");

	return strncmp(variable, "LD_", 3) == 0 || drv_environment_counts(driver, variable, len, false);
}

bool drv_environment_passes(const struct drv_driver *driver, char *const variables[])
{
	size_t passed = 0, had = 0;
	const char *at = NULL;

	begin_once();
	while (state.known && (at = cmn_env_next(&state.variables, at)))
		had += concerns_programs(driver, at);
	for (char *const *variable = variables; state.known && variables && *variable; variable++) {
		if (!concerns_programs(driver, *variable))
			continue;
		passed++;
		while ((at = cmn_env_next(&state.variables, at)) && strcmp(at, *variable) != 0)
			continue;
		if (!at)
			return false;
		at = NULL;
	}
	return state.known && passed == had;
}

bool drv_environment_holds(const struct drv_driver *driver)
{
	return !drv_environment_add(driver, NULL);
}

void drv_environment_note_build(void)
{
	begin_once();
	note(false);
}

/* The next directory of a list, and name in it. false: there are no more. */
static bool next_path(const char **list, const char *name, char ret[PATH_MAX])
{
	size_t len = *list ? strcspn(*list, ":") : 0;
	int written;

	if (!*list)
		return false;
	/* An empty one is the working directory. */
	written = snprintf(ret, PATH_MAX, "%.*s%s%s", (int)(len < PATH_MAX ? len : PATH_MAX), *list,
			   len ? "/" : "", name);
	if (written < 0 || written >= PATH_MAX)
		ret[0] = '\0';
	*list = (*list)[len] ? *list + len + 1 : NULL;
	return true;
}

static bool has_content(const char *path, struct cmn_hash *ret)
{
	struct cc_file_identity identity;
	struct stat info;

	if (!path[0] || stat(path, &info) != 0 || !S_ISREG(info.st_mode))
		return false;
	identity = cc_file_identity_of(&info);
	return cc_file_memo_hash_same(NULL, path, &identity, ret) == CMN_OK;
}

#define NO_LINKER 2	/* no mark_of a hash */

/* mark_of the linker of all keys so far, or NO_LINKER; 0: there are no keys. */
static _Atomic(uint64_t) keys_linker;

static bool find_linker(const struct drv_driver *driver, const struct drv_linker_variables *variables,
		 struct cmn_hash *ret)
{
	const char *lists[] = { variables->compiler_path, variables->path };
	char path[PATH_MAX];

	for (size_t i = 0; i < 2; i++) {
		while (next_path(&lists[i], driver->linker, path)) {
			if (access(path, X_OK) == 0 && has_content(path, ret))
				return true;
		}
	}
	return false;
}

/* The beginning of a hash, which suffices to tell a linker from the one before; never 0. */
static uint64_t mark_of(const struct cmn_hash *hash)
{
	uint64_t mark;

	memcpy(&mark, hash->bytes, sizeof(mark));
	return mark | 1;
}

/* Keys with one linker may be in use for as long as the process lives: after another one, no linker is the keys'. */
static void note_linker(uint64_t mark)
{
	uint64_t before = 0;

	if (!atomic_compare_exchange_strong(&keys_linker, &before, mark) && before != mark)
		atomic_store(&keys_linker, NO_LINKER);
}

bool drv_linker_add(const struct drv_driver *driver, const struct drv_linker_variables *variables,
		    struct cc_key *key)
{
	/* What clang has linked with everything, as the linker looks for it. */
	static const char *const libraries[] = {
		"libgcc.so", "libgcc.a", "libgcc_s.so", "libgcc_s.a", "libc.so", "libc.a", "libm.so", "libm.a",
	};
	char path[PATH_MAX];
	struct cmn_hash hash;

	if (!driver->linker)
		return true;
	if (find_linker(driver, variables, &hash)) {
		cc_key_add(key, CC_PART_DEVICE, "driver.linker", hash.bytes, CMN_HASH_SIZE);
		note_linker(mark_of(&hash));
	} else {
		note_linker(NO_LINKER);
	}
	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		const char *list = variables->library_path;

		while (next_path(&list, libraries[i], path)) {
			if (has_content(path, &hash))
				cc_key_add(key, CC_PART_DEVICE, "driver.linker", hash.bytes, CMN_HASH_SIZE);
		}
	}
	return cc_key_status(key) == CMN_OK;
}

bool drv_linker_is(const struct drv_driver *driver, const char *program)
{
	struct cmn_hash found;

	return driver->linker && has_content(program, &found) && mark_of(&found) == atomic_load(&keys_linker);
}

bool drv_linker_is_in_path(const struct drv_linker_variables *variables, const char *program)
{
	const char *list = variables->path, *slash = strrchr(program, '/');
	char path[PATH_MAX];

	while (slash && next_path(&list, slash + 1, path)) {
		if (strcmp(path, program) == 0)
			return true;
	}
	return false;
}
