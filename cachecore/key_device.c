/* SPDX-License-Identifier: MIT */
/* key_device: compares fields by name; what a driver does not say tells nothing apart. */
#include "cachecore/key_device.h"

static bool is_name(const struct cc_key_field *field, const char *name)
{
	return cmn_view_equal(field->name, cmn_view_of(name));
}

bool cc_key_device_next(struct cmn_reader *reader, struct cmn_view *ret_fields)
{
	struct cmn_reader ahead = *reader;
	const uint8_t *start = reader->data;
	struct cc_key_field field;
	bool first = true;

	while (cc_key_next(&ahead, &field) == CMN_OK && field.part == CC_PART_DEVICE) {
		/* The first field of OpenCL's and of Level Zero's. */
		if ((is_name(&field, "platform.name") || is_name(&field, "api")) != first)
			break;
		first = false;
		*reader = ahead;
	}
	if (first)
		return false;
	*ret_fields = (struct cmn_view){ start, (size_t)(reader->data - start) };
	return true;
}

struct cmn_view cc_key_device_find(struct cmn_view fields, const char *name, unsigned int i)
{
	struct cmn_reader reader = cmn_reader_of(fields);
	struct cc_key_field field;

	while (cc_key_next(&reader, &field) == CMN_OK) {
		if (is_name(&field, name) && !i--)
			return field.value;
	}
	return (struct cmn_view){ 0 };
}

/* Both have the same in the field, or neither has it. */
static bool same_field(struct cmn_view a, struct cmn_view b, const char *name)
{
	return cmn_view_equal(cc_key_device_find(a, name, 0), cc_key_device_find(b, name, 0));
}

/* Whether they may be one piece of hardware, by what no driver changes. */
static bool ids_agree(struct cmn_view a, struct cmn_view b)
{
	static const char *const fields[] = {
		"device.vendor_id", "device.id", "device.sub_device", "device.partition",
	};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		struct cmn_view left = cc_key_device_find(a, fields[i], 0);
		struct cmn_view right = cc_key_device_find(b, fields[i], 0);

		if (left.data && right.data && !cmn_view_equal(left, right))
			return false;
	}
	return true;
}

bool cc_key_device_same_maker(struct cmn_view a, struct cmn_view b)
{
	return cc_key_device_find(a, "device.vendor_id", 0).data && same_field(a, b, "api") &&
	       same_field(a, b, "device.vendor_id") && same_field(a, b, "device.type");
}

enum cc_key_device_likeness cc_key_device_compare(struct cmn_view a, struct cmn_view b)
{
	if (!ids_agree(a, b))
		return CC_KEY_DEVICE_ANOTHER;
	if (same_field(a, b, "platform.name") && same_field(a, b, "device.name"))
		return CC_KEY_DEVICE_OF_NAME;
	return cc_key_device_same_maker(a, b) ? CC_KEY_DEVICE_OF_KIND : CC_KEY_DEVICE_ANOTHER;
}

bool cc_key_device_same_drivers(struct cmn_view a, struct cmn_view b)
{
	for (unsigned int i = 0;; i++) {
		struct cmn_view left = cc_key_device_find(a, "driver.path", i);
		struct cmn_view right = cc_key_device_find(b, "driver.path", i);

		if (!left.data || !right.data)
			return i && !left.data && !right.data;
		if (!cmn_view_equal(left, right))
			return false;
	}
}
