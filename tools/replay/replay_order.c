/* SPDX-License-Identifier: MIT */
/* replay_order: a list, the best first. */
#include "tools/replay/replay.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "tools/memory.h"

#define NS_PER_S UINT64_C(1000000000)
/* After this time without use an entry is worth half as much as one that was just used. */
#define DAY_NS (86400.0 * 1e9)

double replay_worth_of(uint64_t build_ns, uint64_t last_use_ns, uint64_t now_ns)
{
	uint64_t age_ns = now_ns > last_use_ns ? now_ns - last_use_ns : 0;

	return (double)build_ns / (1.0 + (double)age_ns / DAY_NS);
}

void replay_worths_add(struct replay_worths *worths, const char *name, double worth)
{
	struct replay_worth *added;

	memory_grow(worths->items, worths->count);
	added = &worths->items[worths->count++];
	*added = (struct replay_worth){ .worth = worth };
	(void)strncpy(added->name, name, sizeof(added->name) - 1);
}

static const struct replay_worth *find_worth(const struct replay_worths *worths, const char *name)
{
	for (size_t i = 0; i < worths->count; i++) {
		if (strcmp(worths->items[i].name, name) == 0)
			return &worths->items[i];
	}
	return NULL;
}

bool replay_worths_has(const struct replay_worths *worths, const char *name)
{
	return find_worth(worths, name) != NULL;
}

static double worth_of(int fd, const char *name, const struct replay_worths *worths)
{
	const struct replay_worth *known = find_worth(worths, name);
	struct stat info;

	if (known)
		return known->worth;
	if (fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	return replay_worth_of(NS_PER_S, (uint64_t)info.st_mtim.tv_sec * NS_PER_S,
			       cmn_clock_realtime());
}

/* Not by the time of the last change, which a rename and another name change as well. */
static struct cc_file_identity identity_of(const struct stat *info)
{
	struct cc_file_identity identity = cc_file_identity_of(info);

	identity.ctime_ns = 0;
	return identity;
}

bool replay_order_is_left_anew(const struct replay_due *due, int fd)
{
	struct cc_file_identity now;
	struct stat info;

	if (fstatat(fd, due->name, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	now = identity_of(&info);
	return !cc_file_identity_equal(&due->file, &now);
}

/* Whether it has that file; one that was left anew under the name of one that was begun is another. */
static bool has(const struct replay_order *order, int fd, const char *name)
{
	for (size_t i = 0; i < order->count; i++) {
		const struct replay_due *due = &order->items[i];

		if (strcmp(due->name, name) == 0 && (!due->begun || !replay_order_is_left_anew(due, fd)))
			return true;
	}
	return false;
}

static int compare(const void *a, const void *b)
{
	const struct replay_due *left = a, *right = b;

	if (left->begun != right->begun)
		return left->begun ? -1 : 1;
	if (left->worth > right->worth || left->worth < right->worth)
		return left->worth > right->worth ? -1 : 1;
	return strcmp(left->name, right->name);
}

void replay_order_look(struct replay_due *due, int fd)
{
	struct stat info;

	if (fstatat(fd, due->name, &info, AT_SYMLINK_NOFOLLOW) == 0) {
		due->file = identity_of(&info);
		due->uid = info.st_uid;
	}
}

/* What cannot be read is of no surroundings: whoever begins it sees why. */
void replay_order_add(struct replay_order *order, int fd, const struct replay_settings *settings,
		      const char *name, double worth)
{
	struct replay_due due = { .name = memory_copy(name), .worth = worth };
	struct cmn_buffer file = { 0 };
	struct cc_recipe recipe;

	replay_order_look(&due, fd);
	if (cc_recipes_read(fd, name, &file, &recipe) == CMN_OK)
		due.surroundings = replay_surroundings(&recipe, settings);
	cmn_buffer_release(&file);
	memory_grow(order->items, order->count);
	order->items[order->count++] = due;
}

enum cmn_status replay_order_read(struct replay_order *order, int fd,
				  const struct replay_settings *settings,
				  const struct replay_worths *worths)
{
	struct cc_recipes_names names;
	enum cmn_status status = cc_recipes_list(fd, &names);

	for (size_t i = 0; status == CMN_OK && i < names.count; i++) {
		if (!has(order, fd, names.names[i]))
			replay_order_add(order, fd, settings, names.names[i],
					 worth_of(fd, names.names[i], worths));
	}
	if (order->count)
		qsort(order->items, order->count, sizeof(*order->items), compare);
	cc_recipes_names_release(&names);
	return status;
}

void replay_order_release(struct replay_order *order)
{
	for (size_t i = 0; i < order->count; i++)
		free(order->items[i].name);
	free(order->items);
}

struct replay_due *replay_order_next(struct replay_order *order,
				     const struct cmn_hash *surroundings)
{
	for (size_t i = 0; i < order->count; i++) {
		struct replay_due *due = &order->items[i];

		if (due->begun || (surroundings && !cmn_hash_equal(&due->surroundings, surroundings)))
			continue;
		due->begun = true;
		return due;
	}
	return NULL;
}
