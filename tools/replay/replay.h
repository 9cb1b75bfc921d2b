/* SPDX-License-Identifier: MIT */
/*
 * replay: what the files of `ckcache replay` share: the workers that build recipes, which recipe is next, what
 * becomes of each, and with --stale what a driver update made useless. One thread, after child_begin.
 */
#ifndef TOOLS_REPLAY_REPLAY_H
#define TOOLS_REPLAY_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cachecore/disk/store.h"
#include "cachecore/disk/writer/recipe.h"
#include "cachecore/disk/writer/recipes.h"
#include "cachecore/file_memo.h"
#include "cachecore/key.h"
#include "common/hash.h"
#include "tools/explain/run_history.h"
#include "tools/run/child.h"
#include "tools/tool.h"
#include "tools/worker/worker_process.h"

/*
 * replay_process: the workers that build recipes (tools/worker): their environments, what they are told
 * and what they answer. One thread.
 */

/*
 * What a worker gets beside the recipe. This process and its workers are in an
 * empty directory of their own, where they build what does not say where it was built.
 */
struct replay_settings {
	const char *root;
	const char *layer;	/* path of the OpenCL layer's library */
	const char *directory;	/* where this process was called; NULL: it has no name */
	const char *program;	/* only what this one had asked for; NULL: everything */
	uint64_t timeout_ns;
	bool idle;		/* workers have the lowest priority, which this process has (tools/worker/worker_process.h) */
	/* How workers of strangers' recipes run, and their directory for temporary files. NULL: there are none. */
	const struct confine *confine;
	const char *scratch;
};

/* What the driver's own cache has is not built (layers/shared/observer/observer.h). The names in small letters are NEO 22's. */
#define REPLAY_NO_OWN_CACHES                                                      \
	{ "MESA_SHADER_CACHE_DISABLE", "true" }, { "NEO_CACHE_PERSISTENT", "0" }, \
	{ "cl_cache_dir", "/nonexistent" }, { "l0_cache_dir", "/nonexistent" },   \
	{ "POCL_KERNEL_CACHE", "0" }

/* A worker's answer for the recipe that it has in work. */
struct replay_answer {
	size_t slot;		/* the worker's */
	int code;		/* one of WORKER_... */
	char text[256];		/* the file that is meant, or "" */
};

struct replay_due;

/*
 * Workers, each in a slot. A worker is given one recipe at a time, and answers
 * for it, or ends with the answer as its exit code. The child's name is the
 * recipe's while one is in work, else NULL.
 */
struct replay_slot {
	int channel;			/* -1: there is no worker */
	bool retired;			/* it gets no more */
	bool silent;			/* it says no more */
	struct replay_due *due;		/* its recipe, or the one before */
	bool begun;			/* it has said that it has its recipe in work */
	unsigned int done;		/* how many it has done before */
};
struct replay_workers {
	struct child *children;		/* one for each slot */
	struct replay_slot *slots;
	size_t count;
	struct child *ended;		/* one whose end is still to be told */
};
/* Appends the variables of this process that recipes carry. */
void replay_carry_environment(struct cmn_buffer *ret);
/* The OpenCL layer's library, until the command ends, as it does where there is none. */
const char *replay_find_layer(void);

/* The caller releases it, when no worker is left. */
void replay_workers_init(struct replay_workers *workers, size_t count);
void replay_workers_release(struct replay_workers *workers);

/* Starts a worker for recipes with these surroundings, after child_begin. false: complained about. */
bool replay_process_start(struct replay_workers *workers, size_t slot, const struct cc_recipe *recipe,
			  const struct replay_settings *settings);
/* Gives a worker its next recipe, whose name it keeps. It may have died: that is told by waiting. */
void replay_process_give(struct replay_workers *workers, size_t slot, char *name,
			 const struct replay_settings *settings);
/* It has no more to do. */
void replay_process_retire(struct replay_workers *workers, size_t slot,
			   const struct replay_settings *settings);
/* Kills it and waits for it; nothing is told. */
void replay_process_kill(struct replay_workers *workers, size_t slot);

/* Waits until something happens. Answers come before the end of the worker that gave them. */
enum replay_event {
	REPLAY_ANSWERED,	/* *ret_answer; of that slot's recipe */
	REPLAY_ENDED,		/* *ret_slot: by itself or since its time was up */
	REPLAY_SIGNALLED,	/* *ret_signal asked this process to end */
};
enum replay_event replay_process_wait(struct replay_workers *workers, size_t *ret_slot,
				      struct replay_answer *ret_answer, int *ret_signal);

/* Equal for recipes whose workers get the same environment and directory. */
struct cmn_hash replay_surroundings(const struct cc_recipe *recipe, const struct replay_settings *settings);

/*
 * replay_order: which recipe is next. Those whose results are missed most come
 * first: the longer the build and the more recent its last use, the sooner. One thread.
 */

/* What recipes are worth, where that is known: of recipes that were made of entries. */
struct replay_worth {
	char name[CC_RECIPE_NAME_SIZE];
	double worth;
};
struct replay_worths {
	struct replay_worth *items;
	size_t count;
};
double replay_worth_of(uint64_t build_ns, uint64_t last_use_ns, uint64_t now_ns);
void replay_worths_add(struct replay_worths *worths, const char *name, double worth);
bool replay_worths_has(const struct replay_worths *worths, const char *name);

struct replay_due {
	char *name;
	double worth;
	struct cmn_hash surroundings;
	bool begun;
	/* Of its file, when it was looked at last; zeros: there was none. */
	struct cc_file_identity file;
	uid_t uid;
};
struct replay_order {
	struct replay_due *items;	/* grows while no worker is there; those that are begun stay */
	size_t count;
};
/*
 * Adds the recipes of the directory that it does not have yet, also those that were written anew after
 * one of their name had begun. One that nothing
 * is known of counts as a build of a second, used when it was written.
 */
CMN_CHECKED enum cmn_status replay_order_read(struct replay_order *order, int fd,
					      const struct replay_settings *settings,
					      const struct replay_worths *worths);
/* Adds one of the directory, which is not in it yet. */
void replay_order_add(struct replay_order *order, int fd, const struct replay_settings *settings,
		      const char *name, double worth);
void replay_order_release(struct replay_order *order);
/* The one that is next, of these surroundings (NULL: of any), begun from now on. NULL: there is none. */
struct replay_due *replay_order_next(struct replay_order *order,
				     const struct cmn_hash *surroundings);
/* Looks at its file, which is read after that. */
void replay_order_look(struct replay_due *due, int fd);
/* Whether another file by now has its name. */
bool replay_order_is_left_anew(const struct replay_due *due, int fd);

struct replay {
	struct replay_settings settings;
	int fd;			/* the recipes' directory */
	struct replay_order order;
	struct replay_workers workers;
	size_t job_count;
	struct idle *idle;	/* when recipes begin */
	int signal;		/* that asked this process to end; 0: none */
	bool gives_way;		/* begins nothing while another process waits to replay */
	bool failed;		/* something that is not a recipe's fault, it was complained about */
	bool of_pack;		/* recipes that are not begun in time are removed */
	unsigned long long late;	/* of these so many were */
	size_t done;
	/* Recipes by what became of them. */
	unsigned long long built, there, outdated, changed, gone, other, unwanted, absent, inputs,
		wrong, quarantined, damaged;
};
/* Builds all recipes that the directory has and that were not tried yet. With the recipes' lock. */
void replay_all(struct replay *replay, const struct replay_worths *worths);

/*
 * Builds the recipes of these names that settings->root has, as the verb does, but removes those
 * for which idle has no time. false: complained about, or a signal asked this process to end, which
 * *ret says. Of *ret, which is set in any case, only the counts are of use: order has none of them.
 */
bool replay_build(const struct replay_settings *settings, struct idle *idle, size_t jobs,
		  const struct cc_recipes_names *names, struct replay *ret);

/*
 * present: the devices and drivers that this machine has now, as the layers
 * name them in keys, and the key that an old one would be with them. One
 * thread.
 */
struct present_device {
	struct cmn_view fields;		/* in a copy of a key (cachecore/key_device.h) */
	struct cmn_view behind;		/* the other fields of the probe's key */
};

/* A file that drivers or compilers are made of, and when it came here, in ns since the epoch. */
struct present_library {
	char *path;
	const char *name;	/* in it, without directories */
	uint64_t changed_ns;
};

/* Read only, but for present.c; until the command ends. */
struct present {
	struct present_device *devices;
	size_t count;
	struct present_library *libraries;	/* that were loaded to build for them */
	size_t library_count;
};

/*
 * Has processes build a small program for each device of both APIs, in a cache of its own.
 * false: complained about, or a signal asked this process to end, *ret_signal
 * says which. Between child_begin and the end of this process.
 */
bool present_read(const struct replay_settings *settings, struct present *ret, int *ret_signal);

/*
 * What a worker needs that builds for them what strangers sent (tools/worker/worker_process.h), beside the system's: their
 * libraries, what this process's environment names, their own caches, the cache, and the scratch
 * directory. The caller releases *ret.
 */
void present_confine(const struct present *present, const char *root, const char *scratch,
		     struct confine *ret);

/*
 * What is there now of a key's device (cachecore/key_device.h): the very same if it is there, else of its
 * names the one that changed least, else the only one of its kind. NULL: nothing.
 */
const struct present_device *present_find(const struct present *present, struct cmn_view device);
/*
 * Appends to *ret, an empty key, the same build with what is there now. false:
 * the old key still is the one, or a device is gone; *ret is of no use then.
 */
bool present_renew_key(const struct present *present, struct cmn_view old, struct cc_key *ret);
/* Whether an earlier device is the same as that one: one device may have several keys. */
bool present_is_again(const struct present *present, size_t place);
/* Whether all devices of a key are still here, with whatever driver. */
bool present_has_devices(const struct present *present, struct cmn_view key);
/*
 * Whether nobody on this machine has the drivers and compilers of that key any
 * more, as far as can be known: other files stand in their places, and nobody
 * used an entry of the key since they do. last_use_ns: since the epoch.
 */
bool present_has_replaced(const struct present *present, struct cmn_view key, uint64_t last_use_ns);

/* replay_entries: what the store has of a recipe's program, and what a key says. One thread. */

/*
 * Whether the root has a whole entry of the recipe's key that is for the files as they are, or as they
 * were for the recipe. Changes into the recipe's directory meanwhile, if it has one.
 */
bool replay_entries_has(const char *root, const struct cc_recipe *recipe);
/*
 * Of the entries of the same program and options for another device or
 * driver, the one last used: the first field in which it differs, as text
 * that the caller frees. NULL: there is none.
 */
char *replay_entries_difference(const char *root, struct cmn_view key);

/* The field of that name, the i-th of them; false: there is none. */
bool replay_key_field(struct cmn_view key, const char *name, unsigned int i, struct cmn_view *ret);
/* Whether a field of that name has this text. */
bool replay_key_has(struct cmn_view key, const char *name, const char *text);
/* A recipe's key with the options as the application gave them; and the numbers that its include paths have. */
struct given_key {
	struct cc_key key, numbered;
	char *options;
};
void given_key_read(const struct cc_recipe *recipe, struct given_key *ret);
void given_key_release(struct given_key *given);
/* Whether it is Level Zero's; else it is OpenCL's. */
bool replay_key_is_level_zero(struct cmn_view key);

/*
 * What links are made of, as the store has it: compiled objects and libraries. A link's key names
 * each input by the hash of its entry's content, so that a link can be repeated while the entries
 * of its inputs are there.
 */
struct object {
	struct cmn_hash content;	/* as links have it */
	struct cmn_hash devices;	/* of the key's device part */
	struct cmn_view key;		/* with the options as the application gave them */
	struct cmn_view directory;	/* in which it was compiled; empty: any */
};
struct objects {
	struct object *items;
	size_t count;
};

/* Of the store's root. The caller releases *ret in any case. */
CMN_CHECKED enum cmn_status objects_read(struct cc_store *store, struct objects *ret);
void objects_release(struct objects *objects);
/* The i-th of that content and device part; NULL: there are no more. */
const struct object *objects_find(const struct objects *objects, const struct cmn_hash *content,
				  const struct cmn_hash *devices, size_t i);
/* The same of such a key. */
const struct object *objects_find_key(const struct objects *objects, struct cmn_view key, size_t i);

/* Where an entry was built, as far as the result depends on it. manifest may be NULL. */
struct cmn_view objects_directory(const struct cc_manifest *manifest);
/* The hash of a key's device part. */
struct cmn_hash objects_devices(struct cmn_view key);
/* Whether what has that key may be an input of links: a compiled object or a library. */
bool objects_is_object(struct cmn_view key);
/* Whether it is a key of a link, and of one whose result is linked again. */
bool objects_is_link(struct cmn_view key);
bool objects_is_library(struct cmn_view key);

/*
 * stale_links: the keys that a link of an older driver has now. They name its inputs by their content,
 * which is known when the inputs are built. One thread.
 */
struct stale_links {
	const struct present *present;
	struct objects objects;		/* the caller's objects_read and objects_release */
	unsigned int depth, parts;	/* of the link that is looked at; begin with 0 */
};

/*
 * Calls use with each key that the same link may have now, until it returns false. CMN_MISS: an input
 * is not there, or it is made of too many; CMN_STALE: use returned false.
 */
CMN_CHECKED enum cmn_status stale_links_renew(struct stale_links *links, struct cmn_view old,
					      bool (*use)(void *ctx, struct cmn_view key),
					      void *ctx);

/*
 * replay_stale: `ckcache replay --stale`. Entries that a driver or compiler of
 * this machine made before it changed become recipes for what is there now;
 * they go when their successors are there. One thread.
 */

/* Why an entry of an old driver is not built again. */
enum replay_left {
	REPLAY_LEFT_DEVICE,	/* its device is not here */
	REPLAY_LEFT_SUB_DEVICE,	/* it is for a part of a device that the application chose */
	REPLAY_LEFT_KIND,	/* its key does not say how it was made */
	REPLAY_LEFT_INPUT,	/* a link whose inputs are not in the store, or were not built */
	REPLAY_LEFT_DIRECTORY,	/* it read files by relative names, and nobody knows where */
	REPLAY_LEFT_SIZE,	/* longer than a recipe may be */
	REPLAY_LEFT_COUNT,
};

struct replay_stale {
	const struct replay_settings *settings;
	struct cc_store *store;
	struct present present;
	struct cmn_buffer environment;		/* of the recipes */
	const struct run_history *history;	/* says which program asked for an entry */
	struct replay_worths worths;		/* of what became recipes */
	unsigned long long recorded;		/* entries that became recipes */
	unsigned long long left[REPLAY_LEFT_COUNT];
	unsigned long long removed;		/* entries */
};

/* Looks what is there now. Until the command ends. false: complained about, or a signal. */
bool replay_stale_begin(const struct replay_settings *settings, struct cc_store *store,
			struct replay_stale *ret, int *ret_signal);

/*
 * Makes recipes of all but links, which need these built first; of so many at a time that the
 * directory of recipes has room for: to be called again, when these are built, while *ret_count, the
 * number of new ones, is not 0. Sets the counts of what is left. false: complained about.
 */
bool replay_stale_record(struct replay_stale *stale, size_t *ret_count);
/*
 * The same of links whose inputs are built by now; a library that is built is an input of others.
 */
bool replay_stale_record_links(struct replay_stale *stale, size_t *ret_count);
/* Removes the old entries that nobody on this machine can use, and whose successors are there. */
void replay_stale_remove(struct replay_stale *stale);

#endif
