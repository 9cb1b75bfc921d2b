/* SPDX-License-Identifier: MIT */
/*
 * shim: the preloaded library that makes ZE_ENABLE_LAYERS enough. When a
 * loader asks getenv whether it is to load the validation layer, and plugins
 * are listed, the shim loads the slot from its own directory and says yes; the
 * loader's dlopen of libze_validation_layer.so.1 then finds the slot by its
 * soname.
 *
 * getenv is answered, and the environment left alone, because setenv is not
 * safe beside threads that read it, unsetenv even less so, and because both
 * would be inherited by every program that is started before the loader reads
 * them (a shell copies its environment at once). Thus children see what the
 * user set, a program that never asks pays one comparison, and no order of
 * constructors matters.
 *
 * OpenCL's loader reads its list in the same way, and ocl-icd up to 2.3.1 cuts
 * the text that it gets at its first colon: where that is the environment
 * itself, what the program starts would see the first layer alone. It gets a copy.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

#define VALIDATION_VARIABLE "ZE_ENABLE_VALIDATION_LAYER"
#define PLUGINS_VARIABLE "ZE_ENABLE_LAYERS"
/* Newer loaders look for their layers there and nowhere else: the slot would not be found. */
#define LAYER_DIRECTORY_VARIABLE "ZEL_LIBRARY_PATH"
#define OPENCL_VARIABLE "OPENCL_LAYERS"

typedef char *(*getenv_fn)(const char *name);

/* NULL until the shim's constructor has run: others run, and ask, before it. */
static _Atomic(getenv_fn) next_getenv;

__attribute__((constructor)) static void find_next_getenv(void)
{
	atomic_store(&next_getenv, (getenv_fn)dlsym(RTLD_NEXT, "getenv"));
}

/* The search itself; for callers before the constructor, when dlsym may not be called yet. */
static char *search_environment(const char *name)
{
	size_t len = strlen(name);

	for (char **entry = environ; entry && *entry; entry++)
		if (strncmp(*entry, name, len) == 0 && (*entry)[len] == '=')
			return *entry + len + 1;
	return NULL;
}

/* Whether the slot is in the process now. What fails is quiet: the loader goes on as ever. */
static bool load_slot(void)
{
	char own[PATH_MAX], path[PATH_MAX + 64];
	char *slash;
	Dl_info info;

	if (!dladdr((void *)load_slot, &info) || !realpath(info.dli_fname, own))
		return false;
	slash = strrchr(own, '/');
	if (!slash)
		return false;
	*slash = '\0';
	(void)snprintf(path, sizeof(path), "%s/libze_validation_layer.so.1", own);	/* it fits */
	return dlopen(path, RTLD_LAZY | RTLD_LOCAL);
}

/* libc's secure_getenv does not come through this library, and refuses under AT_SECURE. */
static bool set(const char *name)
{
	const char *value = secure_getenv(name);

	return value && *value;
}

/* Handed out, and never freed: who has it may keep it. They are chained, so that none is lost. */
struct copy {
	struct copy *next;
	char text[];
};

/* A copy for this caller alone; the value itself where it has one part, or there is no memory. */
static char *copy_list(char *value)
{
	static _Atomic(struct copy *) copies;
	struct copy *copy;
	size_t size;

	if (!value || !strchr(value, ':'))
		return value;
	size = strlen(value) + 1;
	copy = malloc(sizeof(*copy) + size);
	if (!copy)
		return value;
	memcpy(copy->text, value, size);
	copy->next = atomic_load(&copies);
	while (!atomic_compare_exchange_weak(&copies, &copy->next, copy))
		;
	return copy->text;
}

EXPORT char *getenv(const char *name)
{
	static char yes[] = "1";
	getenv_fn next = atomic_load_explicit(&next_getenv, memory_order_acquire);

	if (strcmp(name, OPENCL_VARIABLE) == 0)
		return copy_list(next ? next(name) : search_environment(name));
	if (strcmp(name, VALIDATION_VARIABLE) == 0 && set(PLUGINS_VARIABLE) &&
	    !set(LAYER_DIRECTORY_VARIABLE) && load_slot())
		return yes;
	return next ? next(name) : search_environment(name);
}
