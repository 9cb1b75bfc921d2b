/* SPDX-License-Identifier: MIT */
/* test_key_device: reads the devices of a key, and compares them. */
#include "cachecore/key_device.h"

#include "tests/support/unit.h"

static struct cc_key key;

BEFORE_EACH
{
	cc_key_init(&key);
}

AFTER_EACH
{
	cc_key_release(&key);
}

static void add(const char *name, const char *text)
{
	cc_key_add_text(&key, CC_PART_DEVICE, name, text);
}

/* One more device at the key's end; NULL: without the field. */
static void add_device(const char *platform, const char *name, const char *vendor, const char *id, const char *driver)
{
	add(platform ? "platform.name" : "api", platform ? platform : "Level Zero");
	add("device.name", name);
	if (vendor)
		add("device.vendor_id", vendor);
	add("device.type", "gpu");
	if (id)
		add("device.id", id);
	if (driver)
		add("driver.path", driver);
}

/* The i-th device of the key; counted from 0. */
static struct cmn_view device(unsigned int i)
{
	struct cmn_view fields = { 0 };
	struct cmn_reader reader;

	CU_ASSERT_EQUAL_FATAL(cc_key_read(cc_key_view(&key), &reader), CMN_OK);
	do {
		CU_ASSERT_FATAL(cc_key_device_next(&reader, &fields));
	} while (i--);
	return fields;
}

/* What the first two devices are to each other, from either side. */
static enum cc_key_device_likeness compared(void)
{
	enum cc_key_device_likeness likeness = cc_key_device_compare(device(0), device(1));

	CU_ASSERT_EQUAL(cc_key_device_compare(device(1), device(0)), likeness);
	CU_ASSERT_EQUAL(cc_key_device_compare(device(0), device(0)), CC_KEY_DEVICE_OF_NAME);
	return likeness;
}

TEST(devices_are_read_one_after_another)
{
	struct cmn_reader reader;
	struct cmn_view fields;

	add_device("platform", "one", "v", NULL, "a.so");
	add_device(NULL, "two", "v", NULL, NULL);
	cc_key_add_text(&key, CC_PART_IMAGE, "platform.name", "no device");
	CU_ASSERT(cmn_view_equal(cc_key_device_find(device(0), "device.name", 0), cmn_view_of("one")));
	CU_ASSERT(cmn_view_equal(cc_key_device_find(device(1), "device.name", 0), cmn_view_of("two")));
	CU_ASSERT_PTR_NULL(cc_key_device_find(device(0), "device.name", 1).data);
	CU_ASSERT_PTR_NULL(cc_key_device_find(device(1), "driver.path", 0).data);
	CU_ASSERT_EQUAL_FATAL(cc_key_read(cc_key_view(&key), &reader), CMN_OK);
	CU_ASSERT(cc_key_device_next(&reader, &fields) && cc_key_device_next(&reader, &fields));
	CU_ASSERT(!cc_key_device_next(&reader, &fields) && !cc_key_device_next(&reader, &fields));
	/* The reader stands behind the devices. */
	CU_ASSERT_EQUAL(fields.len + device(0).len + reader.left + 4, cc_key_view(&key).len);
	CU_ASSERT(reader.left > 0);
}

TEST(fields_of_nobody_are_no_device)
{
	struct cmn_reader reader;
	struct cmn_view fields;

	add("device.name", "one");
	CU_ASSERT_EQUAL_FATAL(cc_key_read(cc_key_view(&key), &reader), CMN_OK);
	CU_ASSERT_FALSE(cc_key_device_next(&reader, &fields));
}

TEST(names_decide)
{
	add_device("platform", "gpu", "v", NULL, "a.so");
	add_device("platform", "gpu", "v", NULL, "b.so");
	CU_ASSERT_EQUAL(compared(), CC_KEY_DEVICE_OF_NAME);
}

TEST(ids_contradict_names)
{
	add_device("platform", "gpu", "v", "1", NULL);
	add_device("platform", "gpu", "v", "2", NULL);
	CU_ASSERT_EQUAL(compared(), CC_KEY_DEVICE_ANOTHER);
}

TEST(an_id_that_only_the_new_driver_tells_is_none)
{
	add_device("platform", "gpu", "v", NULL, NULL);
	add_device("platform", "gpu", "v", "2", NULL);
	CU_ASSERT_EQUAL(compared(), CC_KEY_DEVICE_OF_NAME);
}

TEST(of_another_name_vendor_and_type_decide)
{
	add_device("platform", "gpu", "v", "1", NULL);
	add_device("new platform", "new gpu", "v", "1", NULL);
	CU_ASSERT_EQUAL(compared(), CC_KEY_DEVICE_OF_KIND);
	add_device("platform", "gpu", "another", "1", NULL);
	CU_ASSERT_EQUAL(cc_key_device_compare(device(1), device(2)), CC_KEY_DEVICE_ANOTHER);
	add("platform.name", "platform");
	add("device.name", "gpu");
	add("device.vendor_id", "v");
	add("device.type", "processor");
	CU_ASSERT_EQUAL(cc_key_device_compare(device(1), device(3)), CC_KEY_DEVICE_ANOTHER);
}

TEST(of_unknown_vendors_nothing_is_of_a_kind)
{
	add_device("platform", "gpu", NULL, NULL, NULL);
	add_device("platform", "new gpu", NULL, NULL, NULL);
	CU_ASSERT_EQUAL(compared(), CC_KEY_DEVICE_ANOTHER);
}

TEST(the_other_api_has_other_devices)
{
	add_device("platform", "gpu", "v", NULL, NULL);
	add_device(NULL, "gpu", "v", NULL, NULL);
	CU_ASSERT_EQUAL(compared(), CC_KEY_DEVICE_ANOTHER);
}

TEST(drivers_are_the_same_if_all_of_them_are)
{
	add_device("platform", "gpu", "v", NULL, "a.so");
	add_device("platform", "gpu", "v", NULL, "a.so");
	CU_ASSERT_TRUE(cc_key_device_same_drivers(device(0), device(1)));
	add("driver.path", "b.so");	/* the second one's */
	CU_ASSERT_FALSE(cc_key_device_same_drivers(device(0), device(1)));
	CU_ASSERT_FALSE(cc_key_device_same_drivers(device(1), device(0)));
	add_device("platform", "gpu", "v", NULL, "b.so");
	CU_ASSERT_FALSE(cc_key_device_same_drivers(device(0), device(2)));
	/* Of unknown ones nothing is known. */
	add_device("platform", "gpu", "v", NULL, NULL);
	CU_ASSERT_FALSE(cc_key_device_same_drivers(device(3), device(3)));
}
