/* SPDX-License-Identifier: MIT */
/* libraries: which loaded objects, and which files, are a driver and its compiler. */
#include "layers/shared/driver/libraries.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "layers/shared/driver/library_files.h"

#define MAX_DRIVERS 8	/* of one process: more are not identified any better */
#define MAX_LATE 64	/* what a compiler needs: some 20 libraries */
#define MAX_LEARNED 64	/* likewise */

/*
 * File names of what was loaded while any driver built: the compilers of drivers
 * that no row knows, as far as anybody can tell. A known driver's builds count,
 * since what they loaded is there already when another's build asks for it, and
 * is not seen to come again. Only grows; filled from the start.
 */
static _Atomic(char *) learned[MAX_LEARNED];
static atomic_uint learned_count;	/* of these, at most */
static atomic_bool more;	/* there was no room, or no memory, for one: from then on all that is loaded counts */

/* One more than the number of objects that had been loaded before the first build that nobody sees; 0: there was none. */
static _Atomic(unsigned long long) unseen;

static bool is_learned(const char *name)
{
	bool found = atomic_load(&more);

	for (size_t i = 0; i < MAX_LEARNED && !found; i++) {
		const char *known = atomic_load(&learned[i]);

		if (!known)
			return false;
		found = strcmp(known, name) == 0;
	}
	return found;
}

static void learn(const char *name)
{
	char *copy;

	if (is_learned(name))
		return;
	copy = strdup(name);
	for (size_t i = 0; i < MAX_LEARNED && copy; i++) {
		char *none = NULL;

		if (atomic_compare_exchange_strong(&learned[i], &none, copy)) {
			atomic_fetch_add(&learned_count, 1);
			return;
		}
	}
	free(copy);
	atomic_store(&more, true);
}

static void choose_compilers(struct drv_loaded_list *objects, const struct drv_driver *driver)
{
	for (size_t i = 0; i < objects->count; i++) {
		struct drv_loaded *object = &objects->items[i];

		object->chosen |= drv_driver_has_compiler(driver, object->name);
		if (!driver->library)
			object->chosen |= is_learned(object->name);
	}
}

static void append_digits(struct cmn_buffer *text, const uint8_t *bytes, size_t len)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		cmn_buffer_append_u8(text, (uint8_t)digits[bytes[i] >> 4]);
		cmn_buffer_append_u8(text, (uint8_t)digits[bytes[i] & 15]);
	}
}

/* Takes over the text. */
static void add_field(struct cc_key *key, const char *field, struct cmn_buffer *text)
{
	if (field && !text->failed)
		cc_key_add(key, CC_PART_DEVICE, field, text->data, text->len);
	else
		key->encoded.failed = true;
	cmn_buffer_release(text);
}

void drv_libraries_add_content(struct cc_key *key, struct cc_contents *contents,
			       const char *field, const char *path)
{
	struct cmn_buffer text = { 0 };
	struct cmn_hash hash;
	struct stat info;

	cmn_buffer_append_text(&text, path);
	if (cc_contents_hash(contents, path, &hash) == CMN_OK) {
		cmn_buffer_append_u8(&text, ' ');
		append_digits(&text, hash.bytes, sizeof(hash.bytes));
	} else if (stat(path, &info) == 0) {
		cmn_buffer_printf(&text, " %lld %lld.%09ld", (long long)info.st_size,
				  (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
	}
	add_field(key, field, &text);
}

void drv_libraries_add(struct cc_key *key, struct cc_contents *contents,
		       const struct drv_loaded *object)
{
	struct cmn_buffer name = { 0 }, text = { 0 };
	char *field;

	cmn_buffer_printf(&name, "library.%.200s", object->name);
	field = cmn_buffer_take_string(&name);
	append_digits(&text, object->build_id.data, object->build_id.len);
	if (object->build_id.len || !field)
		add_field(key, field, &text);
	else
		drv_libraries_add_content(key, contents, field, object->path);
	free(field);
}

static int compare_names(const void *a, const void *b)
{
	const struct drv_loaded *left = a, *right = b;
	int order = strcmp(left->name, right->name);

	return order ? order : strcmp(left->path, right->path);
}

/* A library that will be loaded, or that one needs: beside what the process has. */
struct late {
	char *name;		/* as it is asked for */
	char *path;		/* NULL: the process has it */
	struct cmn_buffer build_id;
};

struct identification {
	const struct drv_libraries_query *query;
	struct cc_contents *contents;
	struct cc_key *key;
	const struct drv_driver *driver;	/* the row that all have, else the default; NULL: none was found */
	const struct drv_driver *rows[MAX_DRIVERS];
	char *paths[MAX_DRIVERS];		/* of the drivers */
	size_t driver_count;
	struct cmn_buffer loaded;		/* names by which libraries are asked for, each with its terminator */
	struct late late[MAX_LATE];
	size_t late_count;
	bool no_memory;
};

bool drv_libraries_is_driver(const struct drv_libraries_query *query,
			     const struct drv_loaded *object)
{
	if (query->address && drv_loaded_contains(object, query->address))
		return true;
	return query->is_driver && query->is_driver(object->path);
}

static void note_driver(struct identification *wanted, const struct drv_loaded *object)
{
	const struct drv_driver *row = drv_driver_of(object->name);
	char *path;

	wanted->driver = !wanted->driver || wanted->driver == row ? row : drv_driver_of("");
	if (wanted->driver_count == MAX_DRIVERS)
		return;
	path = strdup(object->path);
	if (!path) {
		wanted->no_memory = true;
		return;
	}
	wanted->rows[wanted->driver_count] = row;
	wanted->paths[wanted->driver_count++] = path;
}

static void find_drivers(void *ctx, struct drv_loaded_list *objects)
{
	struct identification *wanted = ctx;

	for (size_t i = 0; i < objects->count; i++) {
		const struct drv_loaded *object = &objects->items[i];

		cmn_buffer_append(&wanted->loaded, object->name, strlen(object->name) + 1);
		if (object->soname)
			cmn_buffer_append(&wanted->loaded, object->soname,
					  strlen(object->soname) + 1);
		if (drv_libraries_is_driver(wanted->query, object))
			note_driver(wanted, object);
	}
	wanted->no_memory |= wanted->loaded.failed;
}

static struct late *new_late(struct identification *wanted, const char *name)
{
	struct late *late = &wanted->late[wanted->late_count];

	/* More than that is no compiler's: the key lacks it, and is found wanting once it is loaded. */
	if (wanted->late_count == MAX_LATE)
		return NULL;
	late->name = strdup(name);
	if (!late->name) {
		wanted->no_memory = true;
		return NULL;
	}
	wanted->late_count++;
	return late;
}

static bool has_late(const struct identification *wanted, const char *name)
{
	for (size_t i = 0; i < wanted->late_count; i++) {
		if (strcmp(wanted->late[i].name, name) == 0)
			return true;
	}
	return false;
}

/* Names stand in a buffer, each with its terminator. */
static bool has_name(const struct cmn_buffer *names, const char *name)
{
	const char *at = (const char *)names->data, *end = at + names->len;

	while (at < end && strcmp(at, name) != 0)
		at += strlen(at) + 1;
	return at < end;
}

static bool note_loaded(void *ctx, const char *soname)
{
	struct identification *wanted = ctx;

	if (!has_name(&wanted->loaded, soname))
		return false;
	if (!has_late(wanted, soname))
		(void)new_late(wanted, soname);		/* told by no_memory */
	return true;
}

static enum cmn_status note_file(void *ctx, const struct drv_library_file *file)
{
	struct identification *wanted = ctx;
	struct late *late = has_late(wanted, file->name) ? NULL : new_late(wanted, file->name);

	if (!late)
		return wanted->no_memory ? CMN_ERR_NOMEM : CMN_OK;
	late->path = strdup(file->path);
	cmn_buffer_append(&late->build_id, file->build_id.data, file->build_id.len);
	if (late->path && !late->build_id.failed)
		return CMN_OK;
	wanted->no_memory = true;
	return CMN_ERR_NOMEM;
}

/* A driver opens the first version of a compiler that is there: after a loaded one none need be looked for. */
static bool has_better_version(const struct cmn_buffer *names, const char *const *all, size_t which)
{
	const char *version = strstr(all[which], ".so.");
	size_t len = version ? (size_t)(version - all[which]) + strlen(".so.") : strlen(all[which]) + 1;

	for (size_t i = 0; i < which; i++) {
		if (strncmp(all[i], all[which], len) == 0 && has_name(names, all[i]))
			return true;
	}
	return false;
}

/* Outside the dynamic linker's lock, since it is asked where it would look. */
static void find_late(struct identification *wanted)
{
	for (size_t i = 0; i < wanted->driver_count; i++) {
		const char *const *all = wanted->rows[i]->late_compilers;
		const char *names[DRV_LISTS] = { NULL };
		size_t count = 0;

		for (size_t j = 0; j < DRV_LISTS && all[j]; j++) {
			if (!has_better_version(&wanted->loaded, all, j))
				names[count++] = all[j];
		}
		/* One that is left out is not in the key, and makes it wrong when it comes. */
		(void)!drv_library_files(wanted->paths[i], names, count, note_loaded, note_file, wanted);
	}
}

static void add_files(struct drv_loaded_list *objects, const struct identification *wanted)
{
	for (size_t i = 0; i < wanted->late_count; i++) {
		const struct late *late = &wanted->late[i];
		struct drv_loaded *object = drv_loaded_find(objects, late->name);

		if (!object && late->path && objects->count < DRV_LOADED_MAX) {
			object = &objects->items[objects->count++];
			*object = (struct drv_loaded){ .path = late->path, .name = late->name };
			object->build_id = (struct cmn_view){ late->build_id.data,
							      late->build_id.len };
		}
		if (object)
			object->chosen = true;
	}
}

static void identify(void *ctx, struct drv_loaded_list *objects)
{
	struct identification *wanted = ctx;

	for (size_t i = 0; i < objects->count; i++)
		objects->items[i].chosen = drv_libraries_is_driver(wanted->query,
								   &objects->items[i]);
	add_files(objects, wanted);
	for (size_t i = 0; i < wanted->driver_count; i++) {
		cc_key_add_text(wanted->key, CC_PART_DEVICE, "driver.path", wanted->paths[i]);
		choose_compilers(objects, wanted->rows[i]);
	}
	drv_loaded_choose_needed(objects);
	qsort(objects->items, objects->count, sizeof(objects->items[0]), compare_names);
	for (size_t i = 0; i < objects->count; i++) {
		if (!objects->items[i].chosen)
			continue;
		drv_libraries_add(wanted->key, wanted->contents, &objects->items[i]);
		if (wanted->driver->compilers_by_place && drv_driver_has_compiler(wanted->driver, objects->items[i].name))
			cc_key_add_text(wanted->key, CC_PART_DEVICE, "compiler.path", objects->items[i].path);
	}
}

static void release(struct identification *wanted)
{
	cmn_buffer_release(&wanted->loaded);
	for (size_t i = 0; i < wanted->driver_count; i++)
		free(wanted->paths[i]);
	for (size_t i = 0; i < wanted->late_count; i++) {
		free(wanted->late[i].name);
		free(wanted->late[i].path);
		cmn_buffer_release(&wanted->late[i].build_id);
	}
}

/* What came with builds that nobody saw. */
static void learn_unseen(void)
{
	struct drv_library_epoch before = { .loaded = atomic_load(&unseen) };

	if (!before.loaded)
		return;
	before.loaded--;
	(void)drv_libraries_came(&before);
}

enum cmn_status drv_libraries_identify(const struct drv_libraries_query *query,
				       struct cc_contents *contents, struct cc_key *key,
				       const struct drv_driver **ret_driver)
{
	struct identification wanted = { .query = query, .contents = contents, .key = key };
	enum cmn_status status = CMN_OK;

	learn_unseen();
	if (!drv_loaded_visit(find_drivers, &wanted))
		wanted.no_memory = true;
	if (wanted.driver && !wanted.no_memory) {
		find_late(&wanted);
		wanted.no_memory = !drv_loaded_visit(identify, &wanted) || wanted.no_memory;
	}
	if (wanted.no_memory)
		status = CMN_ERR_NOMEM;
	else if (!wanted.driver)
		status = CMN_MISS;
	else
		*ret_driver = wanted.driver;
	release(&wanted);
	return status;
}

static int read_epoch(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct drv_library_epoch *epoch = ctx;

	(void)size;
	epoch->loaded = info->dlpi_adds;
	epoch->unloaded = info->dlpi_subs;
	return 1;
}

struct drv_library_epoch drv_libraries_epoch(void)
{
	struct drv_library_epoch epoch = { .learned = atomic_load(&learned_count) };

	(void)drv_loaded_iterate(read_epoch, &epoch);
	return epoch;
}

/* The newest objects stand last. */
static void learn_newest(void *ctx, struct drv_loaded_list *objects)
{
	const unsigned long long *count = ctx;

	for (size_t i = 0; i < objects->count && i < *count; i++)
		learn(objects->items[objects->count - 1 - i].name);
}

bool drv_libraries_came(const struct drv_library_epoch *before)
{
	unsigned long long count = drv_libraries_epoch().loaded - before->loaded;

	if (!count)
		return false;
	(void)drv_loaded_visit(learn_newest, &count);	/* without memory the key will not hold either */
	return true;
}

void drv_libraries_note_unseen(void)
{
	unsigned long long none = 0;

	(void)atomic_compare_exchange_strong(&unseen, &none, drv_libraries_epoch().loaded + 1);
}

bool drv_libraries_hold(const struct drv_driver *driver, const struct drv_library_epoch *since)
{
	bool more_come = atomic_load(&unseen) || (!driver->library && atomic_load(&more));

	if (!driver->library && atomic_load(&learned_count) != since->learned)
		return false;
	return (driver->library && !driver->late_compilers[0]) || !more_come ||
	       drv_libraries_epoch().loaded == since->loaded;
}
