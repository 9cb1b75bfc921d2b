/* SPDX-License-Identifier: MIT */
/*
 * observer: one record of paths for each build that is going on, and which
 * objects have been led to the stand-ins.
 */
#include "layers/driver/observer.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "common/bytes.h"
#include "common/clock.h"
#include "layers/driver/libraries.h"
#include "layers/driver/observer_notes.h"

/* Linux stamps files with the time of its last tick, which is at most 10 ms old. */
#define TICK_NS UINT64_C(20000000)
enum {
	MAX_WAITS = 3,
	MAX_PATHS = 65536,	/* of one build */
	MAJOR_MEMORY = 1,	/* /dev/null, /dev/urandom: no file's content */
	MAJOR_DRM = 226,
	MAJOR_NVIDIA = 195,
};

/* What a build found at a path, at first. */
enum finding {
	FOUND_NOTHING,
	FOUND_DIRECTORY,
	FOUND_FILE,
	FOUND_OWN,	/* made or written by the build */
	FOUND_LISTED,	/* a directory, by its entries; path ends with a slash */
};

struct place {
	enum finding finding;
	bool written;			/* by the build, after it was found */
	bool opened;			/* else only looked at */
	bool by_descriptor;		/* of its directory: the path's beginning was not asked for */
	bool kept;			/* by the driver, as far as can be told: see judge_keeping */
	struct cc_file_identity identity;	/* of a file or a directory */
	UT_hash_handle hh;
	char path[];
};

struct own_file {
	struct { uint64_t device, inode; } id;
	UT_hash_handle hh;
};

struct drv_observation {
	struct drv_observation *next;	/* of those that are going on */
	struct drv_observation *outer;	/* of the same thread */
	const struct drv_driver *driver;
	bool in_call;			/* only what the thread does that began it counts */
	struct place *places;		/* by path, in the order of the first looks; guarded by lock, as all below */
	struct own_file *own;		/* what the build made, by its inode */
	const char *unsure;		/* the first reason, or NULL */
	bool asked_directory;
	char *directory;		/* the working directory at the beginning; NULL: unknown */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct drv_observation *observations;	/* those that are going on; guarded by lock */
/* What drivers looked for by paths of their own, in any build; guarded by lock; only grows. */
static struct place *settings;
static atomic_uint going_on;
static _Thread_local struct drv_observation *mine;	/* the innermost of this thread */
static _Thread_local bool busy;			/* this thread is in here */

/* The objects that are led; guarded by leading. */
static pthread_mutex_t leading = PTHREAD_MUTEX_INITIALIZER;
static struct {
	bool impossible, incomplete;
	struct drv_library_epoch epoch;
	ElfW(Addr) *before;		/* where objects lie that were loaded before the first build */
	size_t before_count;
	const void *addresses[8];	/* of the drivers; more than any machine has */
	size_t address_count;
} led;
#define MAX_ADDRESSES (sizeof(led.addresses) / sizeof(led.addresses[0]))

/* Where the libraries lie that the program itself is linked with; a new one takes the place of the old, which stays. */
struct ranges {
	size_t count;
	struct { uintptr_t start, size; } items[];
};
static _Atomic(const struct ranges *) of_program;

/* A child's builds are its own, and whoever held a lock is not there. */
static void after_fork_child(void)
{
	(void)pthread_mutex_init(&lock, NULL);
	(void)pthread_mutex_init(&leading, NULL);
	observations = NULL;
	settings = NULL;	/* the parent's may be half made */
	atomic_store(&going_on, 0);
	mine = NULL;
	busy = false;
}

/* Slots. */

static bool is_c_library(const struct drv_loaded *object)
{
	return strncmp(object->name, "libc.so", 7) == 0;
}

/* libc calls itself otherwise, and ld.so is not to be touched. */
static bool is_left_alone(const struct drv_loaded *object)
{
	return is_c_library(object) || strncmp(object->name, "ld-", 3) == 0 ||
	       !object->dynamic || drv_loaded_contains(object, (const void *)drv_observer_begin);
}

static void remember_objects(const struct drv_loaded_list *objects)
{
	led.before = calloc(objects->count + 1, sizeof(*led.before));
	for (size_t i = 0; led.before && i < objects->count; i++)
		led.before[led.before_count++] = objects->items[i].base;
}

static bool was_there(const struct drv_loaded *object)
{
	for (size_t i = 0; i < led.before_count; i++) {
		if (led.before[i] == object->base)
			return true;
	}
	return false;
}

static void choose(const struct drv_driver *driver, struct drv_loaded_list *objects)
{
	for (size_t i = 0; i < objects->count; i++) {
		struct drv_loaded *object = &objects->items[i];

		for (size_t j = 0; j < led.address_count; j++)
			object->chosen |= drv_loaded_contains(object, led.addresses[j]);
		for (size_t j = 0; driver && j < DRV_LISTS && driver->compilers[j]; j++)
			object->chosen |= strncmp(object->name, driver->compilers[j],
						  strlen(driver->compilers[j])) == 0;
		/* What came since the first build may be a compiler. */
		object->chosen |= !was_there(object);
	}
	drv_loaded_choose_needed(objects);
}

/* The program itself is the first object, and has no name. */
static int find_program(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)size;
	*(struct drv_loaded *)ctx = (struct drv_loaded){
		.base = info->dlpi_addr, .headers = info->dlpi_phdr, .header_count = info->dlpi_phnum,
	};
	return 1;
}

static void choose_needed_by_program(struct drv_loaded_list *objects)
{
	struct drv_loaded program = { 0 };
	const char *strings = NULL;

	(void)dl_iterate_phdr(find_program, &program);
	for (unsigned int i = 0; i < program.header_count; i++) {
		if (program.headers[i].p_type == PT_DYNAMIC)
			program.dynamic = (const void *)(program.base + program.headers[i].p_vaddr);
	}
	for (const ElfW(Dyn) *entry = program.dynamic; entry && entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_STRTAB)
			strings = (const char *)(entry->d_un.d_ptr < program.base ?
						 entry->d_un.d_ptr + program.base : entry->d_un.d_ptr);
	}
	for (const ElfW(Dyn) *entry = program.dynamic; strings && entry->d_tag != DT_NULL; entry++) {
		struct drv_loaded *needed = entry->d_tag == DT_NEEDED ?
					    drv_loaded_find(objects, strings + entry->d_un.d_val) : NULL;

		if (needed)
			needed->chosen = true;
	}
	drv_loaded_choose_needed(objects);
}

static void note_program(struct drv_loaded_list *objects)
{
	struct ranges *ranges = calloc(1, sizeof(*ranges) + objects->count * sizeof(ranges->items[0]));

	if (!ranges)
		return;
	choose_needed_by_program(objects);
	for (size_t i = 0; i < objects->count; i++) {
		struct drv_loaded *object = &objects->items[i];
		uintptr_t end = 0;

		for (unsigned int j = 0; object->chosen && j < object->header_count; j++) {
			const ElfW(Phdr) *header = &object->headers[j];

			if (header->p_type == PT_LOAD && header->p_vaddr + header->p_memsz > end)
				end = header->p_vaddr + header->p_memsz;
		}
		if (end) {
			ranges->items[ranges->count].start = object->base;
			ranges->items[ranges->count++].size = end;
		}
		object->chosen = false;
	}
	atomic_store_explicit(&of_program, ranges, memory_order_release);
}

static void lead_objects(void *ctx, struct drv_loaded_list *objects)
{
	const struct drv_slot_function *functions;
	const struct drv_loaded *c_library = NULL;
	size_t count;

	functions = drv_watched_functions(&count);
	if (!led.before) {
		remember_objects(objects);
		note_program(objects);
	}
	led.incomplete = !led.before;
	for (size_t i = 0; i < objects->count; i++) {
		if (is_c_library(&objects->items[i]))
			c_library = &objects->items[i];
	}
	choose(ctx, objects);
	for (size_t i = 0; i < objects->count; i++) {
		const struct drv_loaded *object = &objects->items[i];

		if (object->chosen && !is_left_alone(object) &&
		    drv_slots_lead(object, c_library, functions, count) != CMN_OK)
			led.incomplete = true;
	}
}

static bool same_epoch(const struct drv_library_epoch *a, const struct drv_library_epoch *b)
{
	return a->loaded == b->loaded && a->unloaded == b->unloaded;
}

/* Leads what is not led yet; false: not all of it could be. address: NULL for what was just loaded. */
static bool lead_all(const struct drv_driver *driver, const void *address)
{
	struct drv_library_epoch epoch = drv_libraries_epoch();
	bool known = !address, room = true, complete;

	(void)pthread_mutex_lock(&leading);
	for (size_t i = 0; i < led.address_count && !known; i++)
		known = led.addresses[i] == address;
	if (!known)
		room = led.address_count < MAX_ADDRESSES;
	if (!known && room)
		led.addresses[led.address_count++] = address;
	if (!known || led.incomplete || !same_epoch(&epoch, &led.epoch)) {
		led.incomplete = !drv_loaded_visit(lead_objects, (void *)driver) || led.incomplete;
		led.epoch = epoch;
	}
	complete = !led.incomplete && room;
	(void)pthread_mutex_unlock(&leading);
	return complete;
}

void drv_note_loading(void)
{
	int error = errno;

	if (atomic_load(&going_on) && !busy) {
		busy = true;
		(void)lead_all(NULL, NULL);	/* the next build asks again */
		busy = false;
	}
	errno = error;
}

/* Records. */

bool drv_notes_wanted(const void *caller)
{
	const struct ranges *shared;

	if (atomic_load_explicit(&going_on, memory_order_relaxed) == 0)
		return false;
	if (mine)
		return true;
	shared = atomic_load_explicit(&of_program, memory_order_acquire);
	for (size_t i = 0; shared && i < shared->count; i++) {
		if ((uintptr_t)caller - shared->items[i].start < shared->items[i].size)
			return false;
	}
	return true;
}

static void be_unsure(struct drv_observation *observation, const char *reason)
{
	if (!observation->unsure)
		observation->unsure = reason;
}

/* Calls note for each observation that this thread's calls count for. */
static void each(void (*note)(struct drv_observation *observation, void *ctx), void *ctx)
{
	if (mine) {
		note(mine, ctx);
		return;
	}
	for (struct drv_observation *one = observations; one; one = one->next) {
		if (!one->in_call)
			note(one, ctx);
	}
}

/* The same for every one that is going on: whatever this process makes is no dependency of it. */
static void each_of_all(void (*note)(struct drv_observation *observation, void *ctx), void *ctx)
{
	for (struct drv_observation *one = observations; one; one = one->next)
		note(one, ctx);
}

static void run(void (*of)(void (*)(struct drv_observation *, void *), void *),
		void (*note)(struct drv_observation *observation, void *ctx), void *ctx)
{
	int error = errno;

	/* A signal's handler that looks at files while this thread notes something. */
	if (busy) {
		if (mine)
			mine->unsure = "signal";
		return;
	}
	busy = true;
	(void)pthread_mutex_lock(&lock);
	of(note, ctx);
	(void)pthread_mutex_unlock(&lock);
	busy = false;
	errno = error;
}

static struct place *find_place(const struct drv_observation *observation, const char *path)
{
	struct place *place;

	HASH_FIND_STR(observation->places, path, place);
	return place;
}

/* NULL: there are too many, or no memory. */
static struct place *add_to(struct place **places, const char *path, enum finding finding)
{
	size_t len = strlen(path);
	struct place *place = HASH_COUNT(*places) < MAX_PATHS ? calloc(1, sizeof(*place) + len + 1) :
								NULL;

	if (!place)
		return NULL;
	place->finding = finding;
	memcpy(place->path, path, len + 1);
	HASH_ADD_STR(*places, path, place);
	if (place->hh.tbl)
		return place;
	free(place);
	return NULL;
}

static struct place *add_place(struct drv_observation *observation, const char *path,
			       enum finding finding)
{
	struct place *place = add_to(&observation->places, path, finding);

	if (!place)
		be_unsure(observation, "too-many-files");
	return place;
}

static bool is_own(const struct drv_observation *observation, uint64_t device, uint64_t inode)
{
	struct own_file key = { .id = { device, inode } }, *found;

	HASH_FIND(hh, observation->own, &key.id, sizeof(key.id), found);
	return found;
}

static void add_own(struct drv_observation *observation, const struct stat *info)
{
	struct own_file *own;

	if (is_own(observation, info->st_dev, info->st_ino))
		return;
	own = calloc(1, sizeof(*own));
	if (own) {
		own->id.device = info->st_dev;
		own->id.inode = info->st_ino;
		HASH_ADD(hh, observation->own, id, sizeof(own->id), own);
		if (own->hh.tbl)
			return;
		free(own);
	}
	be_unsure(observation, "no-memory");
}

/* The path by which the process can find it again: one relative to a directory other than the working one gets its name. */
static bool spell(int directory, const char *path, char ret[PATH_MAX])
{
	char link[64];
	ssize_t len = 0;

	if (path[0] != '/' && directory != AT_FDCWD) {
		(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", directory);
		len = readlink(link, ret, PATH_MAX - 2);
		if (len <= 0)
			return false;
		ret[len++] = '/';
	}
	if ((size_t)len + strlen(path) >= PATH_MAX)
		return false;
	memcpy(ret + len, path, strlen(path) + 1);
	return true;
}

struct look {
	const char *path;
	bool by_descriptor, opened;
	int error;
	const struct stat *info;
};

static bool is_absence(int error)
{
	return error == ENOENT || error == ENOTDIR;
}

/* What is no file is the machine's, or cannot be told. */
static bool is_device(const struct stat *info)
{
	unsigned int number = major(info->st_rdev);

	return (S_ISCHR(info->st_mode) || S_ISBLK(info->st_mode)) &&
	       (number == MAJOR_MEMORY || number == MAJOR_DRM || number == MAJOR_NVIDIA);
}

static void note_absence(struct drv_observation *observation, const char *path)
{
	struct place *place = find_place(observation, path);

	if (!place)
		(void)add_place(observation, path, FOUND_NOTHING);
	else if (!place->written &&
		 (place->finding == FOUND_FILE || place->finding == FOUND_DIRECTORY))
		be_unsure(observation, "include-changed");
}

static void note_presence(struct drv_observation *observation, const char *path,
			  const struct stat *info)
{
	struct cc_file_identity identity = cc_file_identity_of(info);
	enum finding finding = S_ISDIR(info->st_mode) ? FOUND_DIRECTORY : FOUND_FILE;
	struct place *place = find_place(observation, path);

	if (is_own(observation, info->st_dev, info->st_ino) ||
	    (place && (place->finding == FOUND_OWN || place->written)))
		return;
	if (!place) {
		place = add_place(observation, path, finding);
		if (place)
			place->identity = identity;
		return;
	}
	/* A directory's times change with what is made in it. */
	if (place->finding != finding || identity.device != place->identity.device ||
	    identity.inode != place->identity.inode ||
	    (finding == FOUND_FILE && !cc_file_identity_equal(&identity, &place->identity)))
		be_unsure(observation, "include-changed");
}

static void note_look(struct drv_observation *observation, void *ctx)
{
	const struct look *look = ctx;
	struct place *place;

	if (look->error && is_absence(look->error))
		note_absence(observation, look->path);
	else if (look->error)
		be_unsure(observation, "header-unreadable");
	else if (S_ISREG(look->info->st_mode) || S_ISDIR(look->info->st_mode))
		note_presence(observation, look->path, look->info);
	else if (!is_device(look->info))
		be_unsure(observation, "header-unreadable");
	place = look->by_descriptor || look->opened ? find_place(observation, look->path) : NULL;
	if (place) {
		place->by_descriptor |= look->by_descriptor;
		place->opened |= look->opened;
	}
}

/* Until a change of what was opened would get another time. false: it changes all the time. */
static bool settle(struct stat *info, int fd)
{
	for (int i = 0; i < MAX_WAITS; i++) {
		uint64_t changed = (uint64_t)info->st_ctim.tv_sec * UINT64_C(1000000000) +
				   (uint64_t)info->st_ctim.tv_nsec;
		uint64_t now = cmn_clock_realtime();
		struct timespec left;

		if (changed + TICK_NS <= now)
			return true;
		if (changed > now + TICK_NS)
			return false;
		left = (struct timespec){ 0, (long)(changed + TICK_NS - now) };
		while (nanosleep(&left, &left) < 0 && errno == EINTR)
			continue;
		if (fstat(fd, info) != 0)
			return false;
	}
	return false;
}

void drv_note_look(int directory, const char *path, int error, struct stat *info, int fd)
{
	int saved = errno;
	char spelled[PATH_MAX];
	struct look look = { .path = spelled, .error = error, .info = info, .opened = fd >= 0 };

	if (!path || !path[0] || error == EFAULT || error == EINTR || error == ENAMETOOLONG)
		return;		/* the same for every path of that form */
	look.by_descriptor = directory != AT_FDCWD && path[0] != '/';
	if (!spell(directory, path, spelled))
		drv_note_unsure("header-unreadable");
	else if (fd >= 0 && !error && S_ISREG(info->st_mode) && !settle(info, fd))
		drv_note_unsure("include-changed");
	else
		run(each, note_look, &look);
	errno = saved;
}

static void note_own(struct drv_observation *observation, void *ctx)
{
	const struct look *look = ctx;
	struct place *place = find_place(observation, look->path);

	/* What was read before it was written is a dependency, which will be found to have changed, or kept by the driver. */
	if (look->info && (!place || place->finding == FOUND_NOTHING))
		add_own(observation, look->info);
	if (!place)
		(void)add_place(observation, look->path, FOUND_OWN);
	else if (place->finding == FOUND_NOTHING)
		place->finding = FOUND_OWN;
	if (place)
		place->written = true;
}

void drv_note_write(int directory, const char *path, int error)
{
	int saved = errno;
	char spelled[PATH_MAX];
	struct stat info;
	struct look look = { .path = spelled, .info = &info };

	if (!path || !path[0] || error)
		return;
	if (spell(directory, path, spelled)) {
		if (lstat(spelled, &info) != 0)
			look.info = NULL;
		run(each_of_all, note_own, &look);
	} else {
		drv_note_unsure("header-unreadable");
	}
	errno = saved;
}

void drv_note_created(const char *path)
{
	drv_note_write(AT_FDCWD, path, 0);
}

static void note_listing(struct drv_observation *observation, void *ctx)
{
	char path[PATH_MAX + 2];

	(void)snprintf(path, sizeof(path), "%s/", (const char *)ctx);
	if (!find_place(observation, path))
		(void)add_place(observation, path, FOUND_LISTED);
}

void drv_note_listing(const char *path)
{
	if (path)
		run(each, note_listing, (void *)path);
}

static void note_directory(struct drv_observation *observation, void *ctx)
{
	(void)ctx;
	observation->asked_directory = true;
}

void drv_note_working_directory(void)
{
	run(each, note_directory, NULL);
}

static void note_unsure(struct drv_observation *observation, void *ctx)
{
	be_unsure(observation, ctx);
}

void drv_note_unsure(const char *reason)
{
	run(each, note_unsure, (void *)reason);
}

/* One build. */

static void start(void)
{
	led.impossible = !drv_slots_known() ||
			 pthread_atfork(NULL, NULL, after_fork_child) != 0;
}

struct drv_observation *drv_observer_begin(const struct drv_observer_request *request)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct drv_observation *observation = calloc(1, sizeof(*observation));

	if (!observation)
		return NULL;
	(void)pthread_once(&once, start);
	if (request->switched_off || led.impossible) {
		observation->unsure = "observer-off";
		return observation;
	}
	if (!lead_all(request->driver, request->address))
		observation->unsure = "observer-blind";
	observation->driver = request->driver;
	observation->in_call = request->driver->compiles_in_call && !request->goes_on;
	observation->directory = cc_manifest_working_directory();
	(void)pthread_mutex_lock(&lock);
	observation->next = observations;
	observations = observation;
	(void)pthread_mutex_unlock(&lock);
	if (!request->goes_on) {
		observation->outer = mine;
		mine = observation;
	}
	atomic_fetch_add(&going_on, 1);
	return observation;
}

/* From now on nothing is noted in it. One from before a fork is in no list. */
static void leave(struct drv_observation *observation)
{
	struct drv_observation **link = &observations;

	(void)pthread_mutex_lock(&lock);
	while (*link && *link != observation)
		link = &(*link)->next;
	if (*link) {
		*link = observation->next;
		atomic_fetch_sub(&going_on, 1);
	}
	(void)pthread_mutex_unlock(&lock);
	for (link = &mine; *link; link = &(*link)->outer) {
		if (*link == observation) {
			*link = observation->outer;
			break;
		}
	}
}

static void release(struct drv_observation *observation)
{
	struct place *place, *next;
	struct own_file *own, *next_own;

	HASH_ITER(hh, observation->places, place, next) {
		HASH_DEL(observation->places, place);
		free(place);
	}
	HASH_ITER(hh, observation->own, own, next_own) {
		HASH_DEL(observation->own, own);
		free(own);
	}
	free(observation->directory);
	free(observation);
}

void drv_observer_drop(struct drv_observation *observation)
{
	if (!observation)
		return;
	leave(observation);
	release(observation);
}

/* The path without its last part; false: it has one part only. */
static bool parent_of(const char *path, char ret[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t len;

	if (!slash)
		return false;
	len = slash == path ? 1 : (size_t)(slash - path);
	if (len >= PATH_MAX)
		return false;
	memcpy(ret, path, len);
	ret[len] = '\0';
	return true;
}

static bool is_below_absence(const struct drv_observation *observation, const char *path)
{
	char parent[PATH_MAX];
	const struct place *place;

	if (!parent_of(path, parent))
		return false;
	place = find_place(observation, parent);
	return place && place->finding == FOUND_NOTHING;
}

/* Whether the build made anything in the directory that it listed: then it is its own. */
static bool has_own_below(const struct drv_observation *observation, const char *directory)
{
	size_t len = strlen(directory);

	for (const struct place *place = observation->places; place; place = place->hh.next) {
		if (place->finding == FOUND_OWN && strncmp(place->path, directory, len) == 0)
			return true;
	}
	return false;
}

/*
 * Whether the driver keeps files of its own where this one lies, as a cache
 * does: it left one there, or is known to. A program that came from there without the compiler
 * depends on it all the same: see gather. Not where everybody may write, nor by names that
 * are relative to the application's directory.
 */
static bool is_kept_by_driver(const struct drv_observation *observation, const char *path)
{
	const struct drv_driver *driver = observation->driver;
	char parent[PATH_MAX];
	struct stat info;
	size_t len;

	for (size_t i = 0; driver && i < DRV_LISTS && driver->cached[i]; i++) {
		if (fnmatch(driver->cached[i], path, 0) == 0)
			return true;
	}
	if (path[0] != '/' || !parent_of(path, parent) || stat(parent, &info) != 0 ||
	    (info.st_mode & S_IWOTH))
		return false;
	len = strlen(parent);
	for (const struct place *place = observation->places; place; place = place->hh.next) {
		if ((place->finding == FOUND_OWN || place->written) &&
		    strncmp(place->path, parent, len) == 0 &&
		    place->path[len] == '/' && !strchr(place->path + len + 1, '/') &&
		    lstat(place->path, &info) == 0 && S_ISREG(info.st_mode))
			return true;
	}
	return false;
}

/* Once for each, and without a lock: it asks the file system. */
static void judge_keeping(struct drv_observation *observation)
{
	for (struct place *place = observation->places; place; place = place->hh.next)
		place->kept = is_kept_by_driver(observation, place->path);
}

/* What /proc and /sys tell is the machine's. */
static bool is_of_the_system(const char *path)
{
	return strncmp(path, "/proc/", 6) == 0 || strncmp(path, "/sys/", 5) == 0;
}

/* What is to be gathered, and what becomes of it. */
struct gathering {
	const struct drv_observation *observation;
	struct cc_manifest *manifest;
	struct cc_file_memo *memo;
	const struct drv_observer_text *text;
	enum cmn_status status;
	bool seen;		/* anything was looked for */
	bool compiled;		/* and something else than what the driver keeps */
};

/* pocl's headers and libraries are 15 MB, which nobody reads for each hit; they are in the key, too. */
static bool is_file_of_driver(const struct drv_driver *driver, const char *path)
{
	char *real = driver && driver->files[0] ? realpath(path, NULL) : NULL;
	bool found = false;

	for (size_t i = 0; real && i < DRV_LISTS && driver->files[i] && !found; i++)
		found = fnmatch(driver->files[i], real, FNM_PATHNAME) == 0;
	free(real);
	return found;
}

static const char *add_file(struct gathering *gathering, const struct place *place)
{
	bool own = is_file_of_driver(gathering->observation->driver, place->path);
	struct cmn_hash hash;
	enum cmn_status status;

	/* What was not opened, but for a cache that looks first, told that it is there, its size and time. */
	if ((!place->opened && !place->kept) || own) {
		gathering->status = cc_manifest_add_seen(gathering->manifest, place->path,
							 &place->identity, own);
		if (gathering->status == CMN_OK)
			cc_manifest_identify(gathering->manifest, &place->identity);
		return NULL;
	}
	status = cc_file_memo_hash_same(gathering->memo, place->path, &place->identity, &hash);
	if (status == CMN_ERR_TOO_LARGE)
		return "header-unreadable";
	if (status != CMN_OK && status != CMN_ERR_NOMEM)
		return "include-changed";
	if (status == CMN_OK)
		status = cc_manifest_add_file(gathering->manifest, place->path, place->identity.size,
					      &hash);
	if (status == CMN_OK)
		cc_manifest_identify(gathering->manifest, &place->identity);
	gathering->status = status;
	return NULL;
}

static bool is_named(const struct drv_observer_text *text, const char *path)
{
	return (text->options && strstr(text->options, path)) ||
	       (text->source.len && memmem(text->source.data, text->source.len, path, strlen(path)));
}

/* The working directory by its name: only where the application spells it so as well, it is one of its directories. */
static bool is_working_directory(const struct gathering *gathering, const char *path)
{
	const char *directory = gathering->observation->directory;

	return strcmp(path, directory) == 0 && !is_named(gathering->text, directory);
}

static const char *add_directory(struct gathering *gathering, const struct place *place)
{
	if (is_working_directory(gathering, place->path))
		return NULL;
	gathering->status = cc_manifest_add_place(gathering->manifest, place->path);
	if (gathering->status == CMN_OK)
		cc_manifest_identify(gathering->manifest, &place->identity);
	return NULL;
}

/* A reason not to keep the build, or NULL. */
static const char *add_dependency(struct gathering *gathering, const struct place *place)
{
	const struct drv_observation *observation = gathering->observation;
	struct cc_file_identity now;
	struct stat info;
	bool there;

	if (place->finding == FOUND_OWN ||
	    (place->kept && place->finding != FOUND_LISTED &&
	     (gathering->compiled || place->written || place->finding == FOUND_NOTHING)))
		return NULL;
	if (place->finding == FOUND_LISTED)
		return has_own_below(observation, place->path) ? NULL : "directory-listed";
	if (is_of_the_system(place->path) && place->finding != FOUND_NOTHING)
		return place->finding == FOUND_FILE ? "header-unreadable" : NULL;
	there = stat(place->path, &info) == 0;
	if (place->finding == FOUND_NOTHING) {
		if (there)
			return is_own(observation, info.st_dev, info.st_ino) ? NULL : "include-changed";
		if (!is_absence(errno))
			return "include-changed";
		if (!is_below_absence(observation, place->path))
			gathering->status = cc_manifest_add_absent(gathering->manifest, place->path);
		return NULL;
	}
	if (!there || info.st_dev != place->identity.device || info.st_ino != place->identity.inode)
		return "include-changed";
	if (place->finding == FOUND_DIRECTORY)
		return add_directory(gathering, place);
	now = cc_file_identity_of(&info);
	if (!cc_file_identity_equal(&now, &place->identity))
		return "include-changed";
	return add_file(gathering, place);
}

/*
 * A path of the driver's own: an absolute one that the application does not name, in a directory
 * that was not looked at beforehand, as compilers look at those where headers may be.
 */
static bool is_setting(const struct drv_observation *observation, const struct place *place,
		       const struct drv_observer_text *text)
{
	char path[PATH_MAX];
	size_t len = strlen(place->path);

	if ((place->finding != FOUND_NOTHING && place->finding != FOUND_FILE) || place->written ||
	    place->kept || place->by_descriptor || place->path[0] != '/' ||
	    is_of_the_system(place->path) || len >= sizeof(path) || is_named(text, place->path))
		return false;
	memcpy(path, place->path, len + 1);
	for (char *slash = strrchr(path, '/'); slash && slash != path; slash = strrchr(path, '/')) {
		*slash = '\0';
		if (find_place(observation, path) ||
		    (strrchr(path, '/') != path && is_named(text, path)))
			return false;
	}
	return true;
}

static void learn_settings(const struct drv_observation *observation,
			   const struct drv_observer_text *text)
{
	(void)pthread_mutex_lock(&lock);
	for (const struct place *place = observation->places; place; place = place->hh.next) {
		struct place *known;

		if (!is_setting(observation, place, text))
			continue;
		HASH_FIND_STR(settings, place->path, known);
		if (!known)
			known = add_to(&settings, place->path, place->finding);
		if (!known)
			continue;
		known->finding = place->finding;	/* the latest answer is what the driver goes by */
		known->identity = place->identity;
		known->opened |= place->opened;
	}
	(void)pthread_mutex_unlock(&lock);
}

/* Those that other builds of this process looked for count as if this one had, with the answers of then. */
static void take_settings(struct drv_observation *observation)
{
	(void)pthread_mutex_lock(&lock);
	for (const struct place *place = settings; place; place = place->hh.next) {
		struct place *copy = find_place(observation, place->path) ? NULL :
				     add_place(observation, place->path, place->finding);

		if (copy) {
			copy->identity = place->identity;
			copy->opened = place->opened;
		}
	}
	(void)pthread_mutex_unlock(&lock);
}

static int compare_places(const struct place *a, const struct place *b)
{
	return strcmp(a->path, b->path);
}

/*
 * Whether the driver asked for the working directory's name, or looked whether $PWD is it, and
 * then looked for something by a path that begins so, though the application did not.
 */
static bool uses_directory_name(const struct gathering *gathering)
{
	const struct drv_observation *observation = gathering->observation;
	const struct place *by_name = find_place(observation, observation->directory);
	size_t len = strlen(observation->directory);

	if (!(observation->asked_directory ||
	      (by_name && by_name->finding == FOUND_DIRECTORY)) ||
	    is_named(gathering->text, observation->directory))
		return false;
	for (const struct place *place = observation->places; place; place = place->hh.next) {
		if ((place->finding == FOUND_NOTHING || place->finding == FOUND_FILE) &&
		    strncmp(place->path, observation->directory, len) == 0 &&
		    place->path[len] == '/' && !place->kept)
			return true;
	}
	return false;
}

static const char *gather(struct gathering *gathering)
{
	const struct drv_observation *observation = gathering->observation;
	char *directory = cc_manifest_working_directory();
	const char *reason = observation->unsure;

	if (!reason && (!directory || !observation->directory ||
			strcmp(directory, observation->directory) != 0))
		reason = "directory-changed";
	for (const struct place *place = observation->places;
	     place && !reason && gathering->status == CMN_OK; place = place->hh.next) {
		reason = add_dependency(gathering, place);
	}
	if (!reason && gathering->status == CMN_OK && uses_directory_name(gathering))
		gathering->status = cc_manifest_add_directory(gathering->manifest, directory);
	if (!reason && gathering->text->reads && !gathering->seen)
		reason = "files-unseen";
	free(directory);
	return reason;
}

enum cmn_status drv_observer_end(struct drv_observation *observation,
				 const struct drv_observer_text *text, struct cc_file_memo *memo,
				 struct cc_manifest **ret, const char **ret_reason)
{
	struct gathering gathering = {
		.observation = observation,
		.memo = memo,
		.text = text,
		.compiled = !text->source.len,	/* no text, no compiler that reads any */
	};
	enum cmn_status status;
	const char *reason;

	if (!observation) {
		*ret_reason = "no-memory";
		return CMN_MISS;
	}
	leave(observation);
	judge_keeping(observation);
	learn_settings(observation, text);
	for (const struct place *place = observation->places; place; place = place->hh.next) {
		gathering.seen = gathering.seen || place->finding != FOUND_OWN;
		if ((place->finding == FOUND_NOTHING || place->finding == FOUND_FILE) &&
		    !place->kept)
			gathering.compiled = true;
	}
	take_settings(observation);
	/* The same dependencies are the same bytes, whichever was looked for first. */
	HASH_SORT(observation->places, compare_places);
	gathering.manifest = cc_manifest_new();
	if (!gathering.manifest)
		gathering.status = CMN_ERR_NOMEM;
	reason = gathering.manifest ? gather(&gathering) : NULL;
	status = gathering.status;
	release(observation);
	if (reason) {
		*ret_reason = reason;
		status = CMN_MISS;
	} else if (status == CMN_OK && cc_manifest_count(gathering.manifest)) {
		*ret = gathering.manifest;
		return CMN_OK;
	} else if (status == CMN_OK) {
		*ret = NULL;
	}
	cc_manifest_free(gathering.manifest);
	return status;
}
