/* SPDX-License-Identifier: MIT */
/* run_layers: one list in a variable for each loader. */
#include "tools/run_layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tool.h"

/* A variable that holds a list, and what is to be in it. */
struct list {
	const char *variable;
	const char *separators;		/* the first one is written */
	bool last;			/* the item goes behind the others */
};

static const struct list opencl_layers = {
	/*
	 * First: ocl-icd up to 2.3.1 cuts the variable at its first colon, and
	 * what the command itself starts sees only that.
	 */
	"OPENCL_LAYERS", ":", false,
};
static const struct list preloads = { "LD_PRELOAD", ": ", false };
/* Behind the others, next to the driver, where a cache belongs. */
static const struct list level_zero_layers = { "ZE_ENABLE_LAYERS", ":", true };
/* What the user set wins, since it comes later. */
static const struct list asan_options = { "ASAN_OPTIONS", ":", false };

/* Whether a list has this very item. */
static bool has_item(const struct list *list, const char *text, const char *item)
{
	size_t item_len = strlen(item);

	while (text && *text) {
		size_t len = strcspn(text, list->separators);

		if (len == item_len && strncmp(text, item, len) == 0)
			return true;
		text += len;
		text += strspn(text, list->separators);
	}
	return false;
}

/* false: out of memory, complained about. */
static bool add_item(const struct list *list, const char *item)
{
	const char *old = getenv(list->variable);
	const char *before = list->last && old ? old : item;
	const char *behind = list->last ? item : old;
	char *value = NULL;
	bool done;

	if (old && has_item(list, old, item))
		return true;
	if (!old || !*old)
		return setenv(list->variable, item, 1) == 0;
	if (asprintf(&value, "%s%c%s", before, list->separators[0], behind) < 0)
		value = NULL;	/* asprintf leaves it undefined */
	done = value && setenv(list->variable, value, 1) == 0;
	if (!done)
		tool_complain("out of memory");
	free(value);
	return done;
}

/* false: the path cannot be in such a list, complained about. */
static bool add_path(const struct list *list, const char *path)
{
	if (path[strcspn(path, list->separators)]) {
		tool_complain("%s: %s cannot name a path with \"%s\"", path, list->variable,
			      list->separators);
		return false;
	}
	return add_item(list, path);
}

static bool enable_opencl(void)
{
	char *path = tool_find_library(TOOL_OPENCL_LIBRARY);
	bool done;

	if (!path) {
		tool_complain("%s is not where this command's installation should have it",
			      TOOL_OPENCL_LIBRARY);
		return false;
	}
	done = add_path(&opencl_layers, path);
	free(path);
	return done;
}

/*
 * A preloaded library answers the loader's question for its layers; nothing
 * else reaches programs that bring a loader of their own. The runtime of
 * gcc's address sanitizer would refuse to run behind one unless it is told
 * otherwise.
 */
static bool enable_level_zero(void)
{
	char *plugin = tool_find_library(TOOL_LEVEL_ZERO_LIBRARY);
	char *shim = tool_find_library(TOOL_PRELOAD_LIBRARY);
	bool done = true;

	if (plugin && shim)
		done = add_path(&preloads, shim) && add_item(&level_zero_layers, "ckcache") &&
		       add_item(&asan_options, "verify_asan_link_order=0");
	free(plugin);
	free(shim);
	return done;
}

bool run_layers_enable(void)
{
	return enable_opencl() && enable_level_zero();
}
