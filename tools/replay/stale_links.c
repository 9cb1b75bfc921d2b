/* SPDX-License-Identifier: MIT */
/*
 * stale_links: one content may be that of several objects, which the new compiler tells apart; so a
 * link may have several keys now, and each object of its inputs may itself be a link.
 */
#include "tools/replay/replay.h"

#include <stdlib.h>
#include <string.h>

#include "tools/memory.h"

enum {
	MAX_INPUTS = 4096,	/* of a link */
	MAX_VARIANTS = 8,	/* so many links are made of one */
	/* Of libraries in libraries, and of all of them in a link: a store may say that one is made of itself. */
	MAX_DEPTH = 16,
	MAX_PARTS = 4096,
};

/* What the inputs of a link may be by now: for each the contents that its objects have. */
struct choice {
	struct cmn_hash *contents;
	size_t count;
};

static void add_content(struct choice *choice, const struct cmn_hash *content)
{
	for (size_t i = 0; i < choice->count; i++) {
		if (cmn_hash_equal(&choice->contents[i], content))
			return;
	}
	memory_grow(choice->contents, choice->count);
	choice->contents[choice->count++] = *content;
}

struct successor {
	struct stale_links *links;
	struct choice *choice;
};

/* The contents of what has that key now. */
static bool add_contents(void *ctx, struct cmn_view key)
{
	struct successor *successor = ctx;
	const struct object *object;

	for (size_t i = 0; (object = objects_find_key(&successor->links->objects, key, i)); i++)
		add_content(successor->choice, &object->content);
	return true;
}

/* What became of the objects that had that content. CMN_MISS: nothing. */
static enum cmn_status find_choice(struct stale_links *links, const struct cmn_hash *content,
				   const struct cmn_hash *devices, struct choice *ret)
{
	struct successor successor = { links, ret };
	const struct object *object;

	for (size_t i = 0; (object = objects_find(&links->objects, content, devices, i)); i++) {
		enum cmn_status status = CMN_OK;
		struct cc_key key;

		if (objects_is_link(object->key)) {
			status = stale_links_renew(links, object->key, add_contents, &successor);
		} else {
			cc_key_init(&key);
			if (present_renew_key(links->present, object->key, &key))
				(void)add_contents(&successor, cc_key_view(&key));	/* it is true */
			cc_key_release(&key);
		}
		if (status != CMN_OK && status != CMN_MISS)
			return status;
	}
	return ret->count ? CMN_OK : CMN_MISS;
}

/* The old key with the devices that are there now and these contents of its inputs. */
static enum cmn_status make_key(struct stale_links *links, struct cmn_view old,
				const struct choice *choices, size_t variant, struct cc_key *ret)
{
	struct cc_key_field field;
	struct cmn_reader reader;
	struct cc_key renewed;
	size_t input = 0;
	enum cmn_status status = CMN_MISS;

	cc_key_init(&renewed);
	if (!present_renew_key(links->present, old, &renewed) ||
	    cc_key_read(cc_key_view(&renewed), &reader) != CMN_OK)
		goto out;
	while ((status = cc_key_next(&reader, &field)) == CMN_OK) {
		if (cmn_view_equal(field.name, cmn_view_of("input"))) {
			const struct choice *choice = &choices[input++];

			field.value.data = choice->contents[variant % choice->count].bytes;
			variant /= choice->count;
		}
		cc_key_add_field(ret, &field);
	}
	status = status == CMN_MISS ? cc_key_status(ret) : status;
out:
	cc_key_release(&renewed);
	return status;
}

/* How many ways there are to choose; as many as are of use at most. */
static size_t count_variants(const struct choice *choices, size_t count)
{
	size_t variants = 1;

	for (size_t i = 0; i < count && variants < MAX_VARIANTS; i++)
		variants *= choices[i].count;
	return variants < MAX_VARIANTS ? variants : MAX_VARIANTS;
}

static enum cmn_status renew_part(struct stale_links *links, struct cmn_view old,
				  bool (*use)(void *ctx, struct cmn_view key), void *ctx)
{
	const struct cmn_hash devices = objects_devices(old);
	struct choice *choices;
	enum cmn_status status = CMN_OK;
	struct cmn_view field;
	size_t count = 0, variants;

	while (count < MAX_INPUTS && replay_key_field(old, "input", (unsigned int)count, &field))
		count++;
	if (!count || count == MAX_INPUTS)
		return CMN_MISS;
	choices = memory_new(count, sizeof(*choices));
	for (size_t i = 0; i < count && status == CMN_OK; i++) {
		struct cmn_hash content;

		status = CMN_MISS;
		if (!replay_key_field(old, "input", (unsigned int)i, &field) ||
		    field.len != sizeof(content.bytes))
			break;
		memcpy(content.bytes, field.data, sizeof(content.bytes));
		status = find_choice(links, &content, &devices, &choices[i]);
	}
	variants = status == CMN_OK ? count_variants(choices, count) : 0;
	for (size_t i = 0; i < variants && status == CMN_OK; i++) {
		struct cc_key key;

		cc_key_init(&key);
		status = make_key(links, old, choices, i, &key);
		if (status == CMN_OK && !use(ctx, cc_key_view(&key)))
			status = CMN_STALE;	/* the caller knows why */
		cc_key_release(&key);
	}
	for (size_t i = 0; i < count; i++)
		free(choices[i].contents);
	free(choices);
	return status;
}

enum cmn_status stale_links_renew(struct stale_links *links, struct cmn_view old,
				  bool (*use)(void *ctx, struct cmn_view key), void *ctx)
{
	enum cmn_status status;

	if (links->depth == 0)
		links->parts = 0;
	if (links->depth == MAX_DEPTH || links->parts == MAX_PARTS)
		return CMN_MISS;
	links->depth++;
	links->parts++;
	status = renew_part(links, old, use, ctx);
	links->depth--;
	return status;
}
