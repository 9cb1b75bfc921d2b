/* SPDX-License-Identifier: MIT */
/* key_diff: fields matched by part, name and place among those of one name. */
#include "tools/explain/key_diff.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "tools/memory.h"
#include "tools/text.h"

/* Of each kind of difference. */
#define FAR_DEVICE 12.0
#define FAR_DRIVER 6.0
#define FAR_SOURCE 10.0
#define FAR_SOURCE_UNLIKE 30.0	/* more, of one that has nothing in common */
#define FAR_KIND 20.0
#define FAR_SETTING 2.0

void key_fields_read(struct cmn_view summary, struct key_fields *ret)
{
	struct cmn_reader reader = cmn_reader_of(summary);
	struct cc_key_summary_field field;

	*ret = (struct key_fields){ 0 };
	while (cc_key_summary_next(&reader, &field) == CMN_OK) {
		memory_grow(ret->all, ret->count);
		ret->all[ret->count++] = field;
	}
}

void key_fields_release(struct key_fields *fields)
{
	free(fields->all);
	*fields = (struct key_fields){ 0 };
}

bool key_field_is(const struct cc_key_summary_field *field, const char *name)
{
	return cmn_view_equal(field->name, cmn_view_of(name));
}

struct cmn_view key_field_after(const struct cc_key_summary_field *field, const char *prefix)
{
	size_t len = strlen(prefix);

	if (field->name.len < len || memcmp(field->name.data, prefix, len) != 0)
		return (struct cmn_view){ 0 };
	return (struct cmn_view){ (const char *)field->name.data + len, field->name.len - len };
}

void key_field_append_value(struct cmn_buffer *text, const struct cc_key_summary_field *field,
			    size_t max)
{
	char hex[CMN_HASH_HEX_SIZE];
	uint64_t number;

	if (!field) {
		cmn_buffer_append_u8(text, '-');
	} else if (field->whole && cc_key_is_number(field->value, &number)) {
		cmn_buffer_printf(text, "%" PRIu64, number);
	} else if (field->whole && cmn_json_is_text(field->value)) {
		text_append_clean(text, field->value, max);
	} else {
		cmn_hash_hex(&field->hash, hex);
		cmn_buffer_printf(text, "%" PRIu64 " bytes, hash %.8s", field->len, hex);
	}
}

void key_field_add_value(struct json_object *object, const char *name,
			 const struct cc_key_summary_field *field, size_t max)
{
	struct cmn_buffer value = { 0 };

	key_field_append_value(&value, field, max);
	json_add_view(object, name, cmn_buffer_view(&value));
	cmn_buffer_release(&value);
}

const struct cc_key_summary_field *key_fields_find(const struct key_fields *fields, const char *name)
{
	for (size_t i = 0; i < fields->count; i++) {
		if (key_field_is(&fields->all[i], name))
			return &fields->all[i];
	}
	return NULL;
}

/* A specialization constant is one by its number: all of its value but the size and what it is. */
static bool same_constant(const struct cc_key_summary_field *a, const struct cc_key_summary_field *b)
{
	const size_t tail = 16;	/* a size and a value of eight bytes each */

	return a->whole && b->whole && a->len == b->len && a->len > tail &&
	       memcmp(a->value.data, b->value.data, a->len - tail) == 0;
}

static bool same_name(const struct cc_key_summary_field *a, const struct cc_key_summary_field *b)
{
	return a->part == b->part && cmn_view_equal(a->name, b->name);
}

/* How many before the index-th bear its name. */
static size_t place_of(const struct key_fields *fields, size_t index)
{
	size_t place = 0;

	for (size_t i = 0; i < index; i++)
		place += same_name(&fields->all[i], &fields->all[index]);
	return place;
}

/* The field of `other` that stands for the index-th of fields. */
static const struct cc_key_summary_field *find_counterpart(const struct key_fields *fields,
						       size_t index, const struct key_fields *other)
{
	const struct cc_key_summary_field *field = &fields->all[index];
	bool constant = field->part == CC_PART_CONSTANTS;
	size_t place = constant ? 0 : place_of(fields, index);

	for (size_t i = 0; i < other->count; i++) {
		const struct cc_key_summary_field *one = &other->all[i];

		if (!same_name(one, field))
			continue;
		if (constant ? same_constant(one, field) : !place--)
			return one;
	}
	return NULL;
}

/* Of the text of a header that was handed over: the field with its name stands before it. */
static const struct cc_key_summary_field *header_of(const struct key_fields *fields, size_t index)
{
	if (!index || !key_field_is(&fields->all[index], "header.text") ||
	    !key_field_is(&fields->all[index - 1], "header.name"))
		return NULL;
	return &fields->all[index - 1];
}

void key_diff_make(const struct key_fields *was, const struct key_fields *is, struct key_diff *ret)
{
	*ret = (struct key_diff){ .all = memory_new(was->count + is->count, sizeof(*ret->all)) };
	for (size_t i = 0; i < is->count; i++) {
		const struct cc_key_summary_field *old = find_counterpart(is, i, was);

		if (!old || !cc_key_summary_equal(old, &is->all[i]))
			ret->all[ret->count++] = (struct key_difference){ old, &is->all[i],
									  header_of(is, i) };
	}
	for (size_t i = 0; i < was->count; i++) {
		if (!find_counterpart(was, i, is))
			ret->all[ret->count++] = (struct key_difference){ &was->all[i], NULL,
									  header_of(was, i) };
	}
}

void key_diff_release(struct key_diff *diff)
{
	free(diff->all);
	*diff = (struct key_diff){ 0 };
}

static double text_distance(const struct key_difference *one)
{
	double alike = one->was && one->is ? cc_key_summary_alike(one->was, one->is) : 0;

	return FAR_SOURCE + FAR_SOURCE_UNLIKE * (1 - alike);
}

double key_diff_distance(const struct key_diff *diff)
{
	bool device = false, driver = false;
	double distance = 0;

	for (size_t i = 0; i < diff->count; i++) {
		const struct key_difference *one = &diff->all[i];
		const struct cc_key_summary_field *field = one->is ? one->is : one->was;

		if (field->part == CC_PART_IMAGE)
			distance += key_field_is(field, "kind") ? FAR_KIND : text_distance(one);
		else if (field->part != CC_PART_DEVICE)
			distance += FAR_SETTING;
		else if (key_field_is(field, "device.name"))
			device = true;
		else
			driver = true;
	}
	/* Each comes with many fields. */
	if (device)
		return distance + FAR_DEVICE;
	return driver ? distance + FAR_DRIVER : distance;
}
