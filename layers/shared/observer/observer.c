/* SPDX-License-Identifier: MIT */
/* observer: the builds that are going on, and which thread's calls count for which. */
#include "layers/shared/observer/observer.h"

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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cancel.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/listing.h"
#include "common/mutex.h"
#include "layers/shared/driver/environment.h"
#include "layers/shared/driver/tools.h"
#include "layers/shared/observer/children.h"
#include "layers/shared/observer/got_slots.h"
#include "layers/shared/observer/hooked_objects.h"
#include "layers/shared/observer/observation.h"
#include "layers/shared/observer/observer_notes.h"
#include "layers/shared/observer/settings.h"

/* Linux stamps files with the time of its last tick, which is at most 10 ms old. */
#define TICK_NS UINT64_C(20000000)
/* No machine's clock differs by so much from that of one whose files it has. */
#define SET_BACK_NS UINT64_C(3600000000000)
enum { MAX_WAITS = 3 };
/* A driver has so many builds to show that what they depend on can be known. */
enum { MAX_REFUSED = 8 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct drv_observation *observations;	/* those that are going on; guarded by lock */
static unsigned int unlearned;	/* of unknown drivers, over, with settings that are not learned yet; likewise */
/* A build of an unknown driver was seen to its end: it is hooked, and has read what it reads at its first. */
static atomic_bool first_seen;
static atomic_bool missed;	/* or else it was not, or something it looked for */
static atomic_uint going_on;
static struct tried {
	const struct drv_driver *driver;
	unsigned int refused;		/* builds before the first that could be kept */
	bool known;			/* there was one */
} tried[DRV_DRIVERS];	/* guarded by lock */
static _Thread_local struct drv_observation *mine;	/* the innermost of this thread */
static _Thread_local bool busy;			/* this thread is in here */
static _Thread_local const void *caller;	/* whose call is noted */

/* A signal's handler that looks at files meanwhile, in this thread, would wait for ever. */
static void lock_records(void)
{
	busy = true;
	cmn_mutex_lock(&lock);
}

static void unlock_records(void)
{
	cmn_mutex_unlock(&lock);
	busy = false;
}

/* Of a driver that no row knows, all of whose later builds have to know what it may read once in the process. */
static bool is_of_unknown(const struct drv_observation *observation)
{
	return observation->listed && !observation->driver->library;
}

/*
 * A child's builds are its own, and what its parent's have read counts for them. Nothing is locked before
 * a fork: handlers that run then may be a driver's, which waits for what another thread of it has.
 */
void drv_observer_fork_child(void)
{
	bool whole;

	(void)drv_child_leave();	/* a child's child tells nothing */
	whole = drv_hooked_objects_free_lock(&lock) && !unlearned;
	drv_hooked_objects_after_fork();
	for (const struct drv_observation *one = observations; whole && one; one = one->next) {
		if (is_of_unknown(one))
			whole = drv_settings_learn(one, NULL) && !one->missed;
	}
	if (!whole)
		atomic_store(&missed, true);
	observations = NULL;
	unlearned = 0;
	atomic_store(&going_on, 0);
	mine = NULL;
	busy = false;
}

/* Records. */

/* A forked child that does anything but run a program is followed no more. */
static bool leave_child(void)
{
	bool was = drv_child_leave();

	if (was)
		atomic_store(&going_on, 0);
	return was;
}

bool drv_notes_wanted(const void *from)
{
	if (atomic_load_explicit(&going_on, memory_order_relaxed) == 0)
		return false;
	if (leave_child())
		return false;
	caller = from;
	if (mine)
		return true;
	return !drv_hooked_objects_is_of_program(from);
}

typedef void note_fn(struct drv_observation *observation, const struct drv_answer *answer);

/* Calls note for each observation that this thread's calls count for. all: for all that are going on. */
static void tell(bool all, note_fn *note, const struct drv_answer *answer)
{
	int error = errno;

	/* A signal's handler that looks at files while this thread is in here. */
	if (busy) {
		if (mine) {
			mine->unsure = "signal";
			mine->missed = true;
		}
		return;
	}
	lock_records();
	if (mine && !all && !mine->ended)
		note(mine, answer);
	for (struct drv_observation *one = observations; one && (all || !mine); one = one->next) {
		if (all || !one->in_call)
			note(one, answer);
	}
	unlock_records();
	errno = error;
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

static uint64_t changed_ns(const struct stat *info)
{
	return (uint64_t)info->st_ctim.tv_sec * UINT64_C(1000000000) + (uint64_t)info->st_ctim.tv_nsec;
}

/*
 * The time by which the kernel dates files, since a process may be given another (faketime): of a
 * file that is made now, and that needs no file system.
 */
static uint64_t file_clock(void)
{
	uint64_t now = cmn_clock_realtime();
	struct stat info;
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return now;
	if (fstat(ends[0], &info) == 0)
		now = changed_ns(&info);
	(void)close(ends[0]);	/* nothing was written */
	(void)close(ends[1]);
	return now;
}

/* Until a change of what was opened would get another time. false: it changes all the time. */
static bool settle(struct stat *info, int fd)
{
	for (int i = 0; i < MAX_WAITS; i++) {
		uint64_t changed = changed_ns(info), now = cmn_clock_realtime();
		struct timespec left;

		if (changed > now)
			now = file_clock();
		if (changed + TICK_NS <= now)
			return true;
		/* The clock was set back since: a change now gets its time. A server's clock may be ahead. */
		if (changed > now + TICK_NS)
			return changed > now + SET_BACK_NS && !cmn_file_is_remote(fd);
		left = (struct timespec){ 0, (long)(changed + TICK_NS - now) };
		while (nanosleep(&left, &left) < 0 && errno == EINTR)
			continue;
		if (fstat(fd, info) != 0)
			return false;
		if (changed_ns(info) == changed)
			return true;
	}
	return false;
}

/*
 * What a file holds before the driver reads it, if it may change through a mapping without another
 * time: it has to be the same after the build. What cannot be read now cannot be then. A reason why
 * that is not enough, or NULL.
 */
static const char *read_content(const struct stat *info, int fd, struct drv_answer *answer)
{
	bool compared_by_times = (uint64_t)info->st_size > CC_MANIFEST_MAX_FILE;
	enum cmn_status status;

	/* Drivers' own files are so, and large. */
	for (size_t i = 0; i < DRV_DRIVERS; i++)
		compared_by_times |= drv_matches(drv_drivers[i].files, answer->path, FNM_PATHNAME);
	if (compared_by_times)
		return NULL;
	status = cc_file_memo_hash_open(fd, info, &answer->content);
	answer->has_content = status == CMN_OK;
	return status == CMN_ERR_NOMEM ? "no-memory" : status == CMN_BUSY ? "include-changed" : NULL;
}

/*
 * Whether some build that this thread's calls count for may depend on a file that was opened: then
 * what it holds has to be certain, which takes time. A build's temporary files are not waited for.
 */
static bool matters(const struct drv_answer *opened)
{
	struct drv_answer answer = *opened;
	bool ret = false;

	answer.matters = &ret;
	tell(false, drv_observation_note_interest, &answer);
	return ret;
}

/* matters: whether it does to any build, and whether there is one. */
static void note_without(struct drv_observation *observation, const struct drv_answer *answer)
{
	answer->matters[0] |= !drv_matches(observation->driver->within, answer->path, 0);
	answer->matters[1] = true;
}

bool drv_note_is_within(const char *path)
{
	bool matters[2] = { false, false };
	struct drv_answer answer = { .path = path, .matters = matters };

	tell(false, note_without, &answer);
	return matters[1] && !matters[0];
}

static void note_missed(struct drv_observation *observation, const struct drv_answer *answer)
{
	drv_observation_be_unsure(observation, answer->reason);
	observation->missed = true;
}

void drv_note_look(int directory, const char *path, int error, struct stat *info, int fd)
{
	CMN_NOT_CANCELLED;
	int saved = errno;
	char spelled[PATH_MAX];
	struct drv_answer answer = {
		.path = spelled, .error = error, .info = info, .opened = fd >= 0,
		.by_driver = drv_hooked_objects_is_of_driver(caller),
	};
	bool holds;

	if (!path || !path[0] || error == EFAULT || error == EINTR || error == ENAMETOOLONG)
		return;		/* the same for every path of that form */
	answer.by_descriptor = directory != AT_FDCWD && path[0] != '/';
	if (!spell(directory, path, spelled)) {
		answer.reason = "header-unreadable";
		tell(false, note_missed, &answer);
	} else {
		holds = fd >= 0 && !error && S_ISREG(info->st_mode) && matters(&answer);
		if (holds)
			answer.reason = settle(info, fd) ? read_content(info, fd, &answer) : "include-changed";
		tell(false, drv_observation_note_look, &answer);
	}
	errno = saved;
}

static void note_unwritten(struct drv_observation *observation, const struct drv_answer *answer)
{
	(void)answer;
	observation->unwritten = true;
}

/*
 * What a driver makes is a dependency of no build. Others' code may be the application's: what it
 * makes is the build's own only where that called it.
 */
static void note_written(int directory, const char *path, bool made, int error)
{
	int saved = errno;
	char spelled[PATH_MAX];
	struct stat info;
	struct drv_answer answer = {
		.path = spelled, .info = &info, .made = made, .by_driver = drv_hooked_objects_is_of_driver(caller),
	};
	bool of_driver = drv_hooked_objects_is_of_driver_or_within(caller);

	if (error && error != EEXIST && !drv_is_absence(error))
		tell(of_driver, note_unwritten, NULL);
	if (error || (!mine && !of_driver))
		return;
	if (spell(directory, path, spelled)) {
		if (lstat(spelled, &info) != 0)
			answer.info = NULL;
		tell(of_driver, drv_observation_note_write, &answer);
		tell(false, drv_observation_note_step, &answer);
	} else {
		drv_note_unsure("header-unreadable");
	}
	errno = saved;
}

void drv_note_write(int directory, const char *path, int error)
{
	note_written(directory, path, false, error);
}

void drv_note_made(int directory, const char *path, int error)
{
	note_written(directory, path, true, error);
}

static void note_speech(struct drv_observation *observation, const struct drv_answer *answer)
{
	(void)answer;
	observation->spoke = true;
}

void drv_note_output(int fd)
{
	int saved = errno;
	struct stat info;

	/* What is written to files was noted when they were opened; one that was open before is a driver's cache. */
	if ((fd >= 0 && fd <= STDERR_FILENO) ||
	    (fstat(fd, &info) == 0 && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode) || isatty(fd))))
		tell(false, note_speech, NULL);
	errno = saved;
}

/* Whether some build may depend on what lies in a directory, since it did not make all of that. */
static bool names_matter(const char *path)
{
	const struct dirent64 *entry;
	struct cmn_listing listing;
	char name[PATH_MAX];
	struct stat info;
	const struct drv_answer answer = { .path = name, .info = &info };
	bool ret;

	(void)snprintf(name, sizeof(name), "%s", path);
	if (stat(path, &info) != 0 || matters(&answer) || !cmn_listing_open(&listing, AT_FDCWD, path))
		return true;
	do {
		entry = cmn_listing_next(&listing);
		ret = entry && ((size_t)snprintf(name, sizeof(name), "%s/%s", path, entry->d_name) >= sizeof(name) ||
				fstatat(listing.fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
				matters(&answer));
	} while (entry && !ret);
	cmn_listing_close(&listing);
	return ret;
}

void drv_note_listing(const char *path)
{
	CMN_NOT_CANCELLED;
	int saved = errno;
	char listed[PATH_MAX];
	struct cc_manifest_names names = { 0 };
	struct drv_answer answer = {
		.path = listed, .names = &names, .by_driver = drv_hooked_objects_is_of_driver(caller),
	};

	if (path && (size_t)snprintf(listed, sizeof(listed), "%s/", path) < sizeof(listed)) {
		/* What the build alone has made there is as if nothing was. */
		if (names_matter(path) && !cc_manifest_read_names(listed, &names))
			answer.names = NULL;
		tell(false, drv_observation_note_listing, &answer);
	} else {
		drv_note_unsure("directory-listed");
	}
	errno = saved;
}

static void note_directory(struct drv_observation *observation, const struct drv_answer *answer)
{
	(void)answer;
	observation->asked_directory = true;
}

void drv_note_working_directory(void)
{
	tell(false, note_directory, NULL);
}

static void note_unsure(struct drv_observation *observation, const struct drv_answer *answer)
{
	drv_observation_be_unsure(observation, answer->reason);
}

void drv_note_unsure(const char *reason)
{
	tell(false, note_unsure, &(struct drv_answer){ .reason = reason });
}

/* CMN_OK: all calls go to the hooks. CMN_STALE: some went past them until now: all builds that go on are told. */
static enum cmn_status update_hooks(const struct drv_libraries_query *query, bool again)
{
	enum cmn_status status;

	busy = true;
	status = drv_hooked_objects_update(query, again);
	busy = false;
	if (status == CMN_STALE)
		tell(true, note_missed, &(struct drv_answer){ .reason = "observer-blind" });
	return status;
}

void drv_note_loading(void)
{
	int error = errno;

	if (atomic_load(&going_on) && !busy)
		(void)update_hooks(NULL, false);	/* each asks again at its end */
	errno = error;
}

static void note_linker(struct drv_observation *observation, const struct drv_answer *answer)
{
	(void)answer;
	drv_observation_excuse(observation);
}

/* Other processes. What a thread that began no build runs is not followed. */

/* Whether the build made it, or it is opened now, before the program opens it. */
static bool note_input(const char *path, bool before)
{
	struct stat info;
	struct drv_answer answer = { .path = path, .info = &info };
	int fd;

	if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
		return false;
	if (!matters(&answer))
		return true;
	fd = before ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
	if (fd < 0 || fstat(fd, &info) != 0) {
		if (fd >= 0)
			(void)close(fd);	/* nothing was written */
		return false;
	}
	drv_note_look(AT_FDCWD, path, 0, &info, fd);
	(void)close(fd);	/* nothing was written */
	return true;
}

/* What the program writes is the build's own, if it finds nothing there that is not. */
static bool note_output(const char *path, bool before)
{
	struct stat info;
	struct drv_answer answer = { .path = path, .info = &info };
	bool there = lstat(path, &info) == 0;

	if (there ? !S_ISREG(info.st_mode) || matters(&answer) : !before || errno != ENOENT)
		return false;
	drv_note_write(AT_FDCWD, path, 0);
	return true;
}

/* Whether it is a tool of the driver, and all that it reads is known. before: it has not begun. */
static bool runs_tool(const struct drv_run *run, bool before)
{
	const struct drv_tool *tool = run->path ? drv_tools_find(mine->driver, run->path) : NULL;
	size_t inputs = 0, outputs = 0;

	if (!tool || !run->arguments || !run->arguments[0] ||
	    (mine->tool && strcmp(mine->tool, run->path) != 0))
		return false;
	for (char *const *next = run->arguments + 1; *next; next++) {
		const char *argument = *next;

		if (strcmp(argument, tool->output) == 0) {
			if (!next[1] || outputs++ || !note_output(*++next, before))
				return false;
		} else if (argument[0] == '-') {
			/* An option that names a file, or "-" for standard input. */
			if (!argument[1] || strchr(argument, '/'))
				return false;
		} else if (argument[0] == '@' || inputs++ || !note_input(argument, before)) {
			return false;
		}
	}
	/* drv_observer_end asks whether it is the one of the key; the manifest has it for later. */
	if (!mine->tool)
		mine->tool = strdup(run->path);
	return inputs && outputs && mine->tool && note_input(run->path, true);
}

void drv_note_run(const struct drv_run *run, char *const environment[])
{
	int saved = errno;

	if (mine && run->path && drv_linker_is(mine->driver, run->path))
		tell(false, note_linker, NULL);
	else if (mine && mine->child.state == CHILD_NONE &&
		 drv_environment_passes(mine->driver, environment) && runs_tool(run, true))
		mine->child.state = CHILD_RUNS;
	else
		drv_note_unsure("other-process");
	errno = saved;
}

void drv_note_spawned(pid_t pid)
{
	if (mine && mine->child.state == CHILD_RUNS && !mine->child.pid)
		mine->child.pid = pid;
}

const struct drv_driver *drv_note_fork(int ret_ends[2])
{
	int saved = errno;
	bool noted = mine && mine->child.state == CHILD_NONE &&
		     pipe2(ret_ends, O_CLOEXEC | O_NONBLOCK) == 0;

	if (noted) {
		mine->child.state = CHILD_FORKED;
		for (int i = 0; i < 2; i++)
			ret_ends[i] = cmn_file_raise(ret_ends[i]);
	} else {
		drv_note_unsure("other-process");
	}
	errno = saved;
	return noted ? mine->driver : NULL;
}

void drv_note_forked(const struct drv_driver *driver, const int ends[2], pid_t pid)
{
	int saved = errno;

	if (pid == 0) {
		drv_child_enter(ends, driver);
		atomic_store(&going_on, 1);	/* the hooks are asked */
		errno = saved;
		return;
	}
	(void)close(ends[1]);	/* nothing was written */
	if (pid > 0) {
		mine->child.pid = pid;
		mine->child.told = ends[0];
	} else {
		(void)close(ends[0]);
		mine->child.state = CHILD_NONE;
	}
	errno = saved;
}

void drv_note_vfork(void)
{
	if (mine && mine->child.state == CHILD_NONE)
		mine->child.state = CHILD_FORKED;
	else
		drv_note_unsure("other-process");
}

void drv_note_exec(const struct drv_run *run, char *const environment[])
{
	int saved = errno;

	if (drv_child_runs(run, environment) || !mine || mine->child.state != CHILD_FORKED ||
	    mine->child.pid) {
		errno = saved;
		return;
	}
	/* In the child of a vfork, as if in the parent. */
	mine->child.state = CHILD_NONE;
	drv_note_run(run, environment);
	drv_note_spawned(getpid());
	errno = saved;
}

void drv_note_exec_failed(void)
{
	(void)leave_child();
	if (mine)
		drv_note_unsure("other-process");
}

void drv_note_ended(pid_t pid, const int *status)
{
	int saved = errno;
	bool known;

	/* Of a child of vfork the number is not known, and 0 is no child's. */
	if (pid <= 0 || !mine || mine->child.state == CHILD_NONE || mine->child.pid != pid)
		return;
	known = status && WIFEXITED(*status) && WEXITSTATUS(*status) == 0;
	if (mine->child.state == CHILD_FORKED) {
		struct drv_told_run *told = drv_child_told(mine->child.told);

		known = known && told && runs_tool(&told->run, false);
		free(told);
		(void)close(mine->child.told);	/* only read from */
	}
	mine->child.state = CHILD_NONE;
	mine->child.pid = 0;
	if (!known)
		drv_note_unsure("other-process");
	errno = saved;
}

/* Drivers. */

/* NULL: there are more than the table has rows. Under lock. */
static struct tried *tried_of(const struct drv_driver *driver)
{
	for (size_t i = 0; i < DRV_DRIVERS; i++) {
		if (!tried[i].driver)
			tried[i].driver = driver;
		if (tried[i].driver == driver)
			return &tried[i];
	}
	return NULL;
}

/*
 * Whether observing it only costs time. For good: what a driver reads once in a process would be
 * missed by an observation that begins again.
 */
static bool is_given_up(const struct drv_driver *driver)
{
	const struct tried *one;
	bool given_up;

	lock_records();
	one = tried_of(driver);
	given_up = one && !one->known && one->refused >= MAX_REFUSED;
	unlock_records();
	return given_up;
}

static void note_outcome(const struct drv_driver *driver, enum cmn_status status)
{
	struct tried *one;

	lock_records();
	one = tried_of(driver);
	if (one && status == CMN_OK)
		one->known = true;
	else if (one && status == CMN_MISS)
		one->refused++;
	unlock_records();
}

/* One build. */

static void miss(void)
{
	if (!atomic_load(&first_seen))
		atomic_store(&missed, true);
}

struct drv_observation *drv_observer_begin(const struct drv_observer_request *request)
{
	struct drv_observation *observation = calloc(1, sizeof(*observation));
	enum cmn_status status;

	(void)leave_child();
	if (!observation || request->switched_off)
		miss();
	if (!observation)
		return NULL;
	if (request->switched_off || !drv_slots_known()) {
		observation->unsure = "observer-off";
		return observation;
	}
	if (is_given_up(request->driver)) {
		observation->unsure = "observer-stopped";
		return observation;
	}
	if (!request->driver->library && atomic_load(&missed)) {
		observation->unsure = "observer-blind";
		return observation;
	}
	status = update_hooks(&request->libraries, true);
	if (status != CMN_OK)
		observation->unsure = "observer-blind";
	observation->missed = status == CMN_MISS;
	observation->driver = request->driver;
	observation->in_call = request->driver->compiles_in_call && !request->goes_on;
	observation->directory = cc_manifest_working_directory();
	observation->listed = true;
	lock_records();
	observation->next = observations;
	observations = observation;
	unlock_records();
	observation->in_first_call = request->goes_on;
	observation->outer = mine;
	mine = observation;
	atomic_fetch_add(&going_on, 1);
	return observation;
}

void drv_observer_miss(void)
{
	drv_libraries_note_unseen();
	miss();
}

struct drv_observation *drv_observer_pass(const struct drv_observer_request *request)
{
	const struct drv_observer_request any = { .driver = drv_driver_of("") };
	bool told = request && request->driver;

	drv_libraries_note_unseen();
	if (told ? !request->driver->library : atomic_load(&first_seen))
		return drv_observer_begin(told ? request : &any);
	if (!told)
		miss();
	return NULL;
}

/* Whether it was this thread's. It may be freed already. */
static bool is_no_longer_mine(const struct drv_observation *observation)
{
	struct drv_observation **link = &mine;

	while (*link && *link != observation)
		link = &(*link)->outer;
	if (!*link)
		return false;
	*link = (*link)->outer;
	return true;
}

/*
 * What was noted, to which nothing is added from now on: the observation, or where its own thread is still in the
 * driver's call what it has. NULL: it is from before a fork, and may be half changed; or no memory.
 */
static struct drv_observation *leave(struct drv_observation *observation)
{
	struct drv_observation **link = &observations, *ret = observation;
	bool own = is_no_longer_mine(observation);

	lock_records();
	while (*link && *link != observation)
		link = &(*link)->next;
	if (*link) {
		*link = observation->next;
		atomic_fetch_sub(&going_on, 1);
	} else if (observation->listed) {
		ret = NULL;
	}
	if (ret && !own && observation->in_first_call) {
		ret = malloc(sizeof(*ret));
		observation->ended = true;
		if (ret) {
			*ret = *observation;
			if (ret->tool || ret->child.state != CHILD_NONE)
				drv_observation_be_unsure(ret, "other-process");
			ret->tool = NULL;	/* that thread's, as what it started */
			ret->child.state = CHILD_NONE;
			observation->lookups = NULL;
			observation->own = NULL;
			observation->directory = NULL;
		}
	}
	if (!ret)
		atomic_store(&missed, true);
	else if (is_of_unknown(ret))
		unlearned++;
	unlock_records();
	return ret;
}

void drv_observer_leave_call(struct drv_observation *observation)
{
	bool ended;

	if (!is_no_longer_mine(observation))
		return;
	lock_records();
	observation->in_first_call = false;
	ended = observation->ended;
	unlock_records();
	if (ended)
		drv_observation_free(observation);
}

static void learn_settings(struct drv_observation *observation, const struct drv_observer_text *text)
{
	bool learned;

	lock_records();
	learned = drv_settings_learn(observation, text);
	if (is_of_unknown(observation)) {
		unlearned--;
		atomic_store(learned && !observation->missed ? &first_seen : &missed, true);
	}
	unlock_records();
	if (!learned)
		drv_observation_be_unsure(observation, "no-memory");
}

/* What other builds looked for, those that go on among them, if the driver is unknown. */
static void take_settings(struct drv_observation *observation)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	lock_records();
	/* Between the end of a build in another thread and what is learned of it lie a few calls. */
	for (int i = 0; i < 250 && is_of_unknown(observation) && unlearned; i++) {
		unlock_records();
		(void)nanosleep(&moment, NULL);
		lock_records();
	}
	if (is_of_unknown(observation) && (unlearned || atomic_load(&missed)))
		drv_observation_be_unsure(observation, "observer-blind");
	for (const struct drv_observation *one = observations; one; one = one->next) {
		if (is_of_unknown(observation) && is_of_unknown(one))
			drv_settings_take_from(observation, one);
	}
	unlock_records();
	drv_settings_take(observation);
}

void drv_observer_drop(struct drv_observation *observation)
{
	observation = observation ? leave(observation) : NULL;
	if (!observation)
		return;
	if (is_of_unknown(observation)) {
		drv_dependencies_judge(observation);
		learn_settings(observation, NULL);
	}
	drv_observation_free(observation);
}

/*
 * Whether a compiler was seen to look for anything. Where nobody knows whose code looks, directories,
 * settings and what the build wrote show nothing: it may look at them before its cache answers.
 */
static bool saw_compiler(const struct drv_observation *observation,
			 const struct drv_observer_text *text)
{
	for (const struct lookup *lookup = observation->lookups; lookup; lookup = lookup->hh.next) {
		if (lookup->looked && !lookup->kept && !drv_setting_is(observation, lookup, text) &&
		    (lookup->finding == FOUND_FILE || lookup->finding == FOUND_NOTHING ||
		     (lookup->finding == FOUND_DIRECTORY && drv_observation_knows_callers(observation))))
			return true;
	}
	return false;
}

void drv_observer_cached_as(const struct drv_observation *observation, char ret[DRV_CACHED_AS_SIZE])
{
	bool several = false;

	ret[0] = '\0';
	if (!observation || !observation->driver || !observation->driver->own_cache)
		return;
	lock_records();
	for (const struct lookup *lookup = observation->lookups; lookup; lookup = lookup->hh.next) {
		bool its = lookup->by_driver || drv_matches(observation->driver->cached_alone, lookup->path, 0);

		for (const char *at = strchr(lookup->path, '/'); its && at; at = strchr(at + 1, '/')) {
			if (!drv_is_cached_as(at + 1))
				continue;
			several = several || (*ret && strncmp(ret, at + 1, DRV_CACHED_AS_SIZE - 1) != 0);
			(void)snprintf(ret, DRV_CACHED_AS_SIZE, "%s", at + 1);	/* cut before what lies in it */
		}
	}
	unlock_records();
	if (several)
		ret[0] = '\0';
}

enum cmn_status drv_observer_end(struct drv_observation *begun,
				 const struct drv_observer_text *text, struct cc_file_memo *memo,
				 struct cc_manifest **ret, const char **ret_reason)
{
	struct drv_observation *observation = begun ? leave(begun) : NULL;
	enum cmn_status status;
	bool compiled, blind;

	if (!observation) {
		*ret_reason = begun ? "other-process" : "no-memory";
		return CMN_MISS;
	}
	if (observation->child.state != CHILD_NONE ||
	    (observation->tool && !drv_tools_hold(observation->tool)))
		drv_observation_be_unsure(observation, "other-process");
	/* What came with this build, and could not be hooked then. */
	blind = observation->listed && update_hooks(NULL, true) != CMN_OK;
	if (blind)
		drv_observation_be_unsure(observation, "observer-blind");
	observation->missed |= blind;
	if (text->failed && observation->unwritten)
		drv_observation_be_unsure(observation, "file-unwritten");
	drv_dependencies_judge(observation);
	learn_settings(observation, text);
	compiled = saw_compiler(observation, text);
	take_settings(observation);
	drv_observation_sort(observation);
	status = drv_dependencies_gather(observation, text, compiled, memo, ret, ret_reason);
	/*
	 * What its own cache answers says nothing of what it compiles, nor does what could not be hooked for a
	 * moment, nor what one option does.
	 */
	if (observation->listed && !(status == CMN_MISS && (text->unproven ||
							    strcmp(*ret_reason, "driver-cached") == 0 ||
							    (!blind && strcmp(*ret_reason, "observer-blind") == 0))))
		note_outcome(observation->driver, status);
	drv_observation_free(observation);
	return status;
}
