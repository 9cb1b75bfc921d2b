/* SPDX-License-Identifier: MIT */
/* report_groups: a table by name that is cut to half when it is full. */
#include "tools/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "tools/memory.h"

#define uthash_fatal(message) memory_end()
#include <uthash.h>

/* Some 200 bytes each. */
#define MAX_GROUPS ((size_t)32768)

struct report_groups_node {
	struct report_group group;
	UT_hash_handle hh;
};

void report_group_add(struct report_group *group, const struct report_group *more)
{
	group->entries += more->entries;
	group->bytes += more->bytes;
	group->build_ns += more->build_ns;
}

static int by_size(const void *a, const void *b)
{
	const struct report_group *one = &(*(struct report_groups_node *const *)a)->group;
	const struct report_group *two = &(*(struct report_groups_node *const *)b)->group;

	if (one->bytes != two->bytes)
		return one->bytes < two->bytes ? 1 : -1;
	/* What is not known comes last. */
	if (!*one->name != !*two->name)
		return !*one->name - !*two->name;
	return strcmp(one->name, two->name);
}

/* All, the largest first; on the heap. */
static struct report_groups_node **sort(const struct report_groups *groups)
{
	struct report_groups_node **all = memory_new(groups->count, sizeof(struct report_groups_node *));
	size_t count = 0;

	for (struct report_groups_node *node = groups->nodes; node; node = node->hh.next)
		all[count++] = node;
	qsort(all, count, sizeof(struct report_groups_node *), by_size);
	return all;
}

static void drop(struct report_groups *groups, struct report_groups_node *node)
{
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the analyzer does not follow uthash's links */
	HASH_DEL(groups->nodes, node);
	free(node->group.name);
	free(node);
	groups->count--;
}

static void cut(struct report_groups *groups, size_t kept)
{
	struct report_groups_node **all = sort(groups);
	size_t count = groups->count;

	for (size_t i = kept; i < count; i++) {
		report_group_add(&groups->others, &all[i]->group);
		drop(groups, all[i]);
	}
	free(all);
}

void report_groups_add(struct report_groups *groups, struct cmn_view name,
		       const struct report_group *more)
{
	const char *end = name.len ? memchr(name.data, '\0', name.len) : NULL;
	struct report_groups_node *node;

	name.len = end ? (size_t)(end - (const char *)name.data) : name.len;
	name.data = name.len ? name.data : "";
	HASH_FIND(hh, groups->nodes, name.data, name.len, node);
	if (!node && groups->count == MAX_GROUPS)
		cut(groups, MAX_GROUPS / 2);
	if (!node) {
		node = memory_new(1, sizeof(*node));
		node->group.name = memory_copy_view(name);
		HASH_ADD_KEYPTR(hh, groups->nodes, node->group.name, name.len, node);
		groups->count++;
	}
	report_group_add(&node->group, more);
}

size_t report_groups_take(struct report_groups *groups, size_t most, struct report_group *ret)
{
	struct report_groups_node **all;
	size_t count;

	cut(groups, most);
	all = sort(groups);
	count = groups->count;
	for (size_t i = 0; i < count; i++) {
		ret[i] = all[i]->group;
		all[i]->group.name = NULL;
		if (!*ret[i].name) {
			free(ret[i].name);
			ret[i].name = NULL;
		}
	}
	free(all);
	return count;
}

void report_groups_release(struct report_groups *groups)
{
	struct report_groups_node *node, *next;

	HASH_ITER(hh, groups->nodes, node, next)
		drop(groups, node);
}
