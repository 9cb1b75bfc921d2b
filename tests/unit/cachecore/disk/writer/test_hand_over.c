/* SPDX-License-Identifier: MIT */
/* hand_over: when the command is started, and with what; nothing is started here. */
#include "cachecore/disk/writer/hand_over.h"

#include <sched.h>

#include "cachecore/disk/store.h"
#include "tests/support/owned.h"
#include "tests/support/unit.h"
#include "tests/support/wrap.h"

OWNER(struct cc_hand_over, cc_hand_over_free)

static unsigned int launches;
static char said[4096];		/* arguments and environment of the last one */

enum cmn_status __wrap_cc_launch(char *const *directories, char *const *environment,
				 const char *const *arguments, int keep_fd);
enum cmn_status __wrap_cc_launch(char *const *directories, char *const *environment,
				 const char *const *arguments, int keep_fd)
{
	launches++;
	said[0] = '\0';
	CU_ASSERT_PTR_NULL(directories);
	CU_ASSERT_EQUAL(keep_fd, -1);
	for (size_t i = 0; arguments[i]; i++)
		(void)snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s ", arguments[i]);
	for (size_t i = 0; environment[i]; i++)
		(void)snprintf(said + strlen(said), sizeof(said) - strlen(said), "\n%s\n", environment[i]);
	return CMN_MISS;
}

static int processors;		/* 0: as many as there are */

WRAPPED(int, sched_getaffinity, (pid_t pid, size_t size, cpu_set_t *set))
{
	int result = __real_sched_getaffinity(pid, size, set);

	CPU_ZERO(set);
	for (int i = 0; i < processors; i++)
		CPU_SET((size_t)i, set);
	return result;
}

/* A device's fields beside its name and version; each test begins with the first of these. */
static struct {
	const char *platform, *path;
	uint64_t vendor_id;
	unsigned int devices;
} made;

static struct cc_config config;
static struct cc_store *store;

BEFORE_EACH
{
	static char *no_dirs[] = { NULL };

	launches = 0;
	processors = 2;
	made.platform = "a platform";
	made.path = "/usr/lib/libdriver.so";
	made.vendor_id = 0x8086;
	made.devices = 1;
	config = (struct cc_config){ .persistent = true, .read_only_dirs = no_dirs, .hand_over = true,
				     .max_device_image_size = UINT64_C(1) << 30 };
	CU_ASSERT_TRUE_FATAL(asprintf(&config.dir, "%s/cache", unit_dir()) > 0);
	CU_ASSERT_EQUAL_FATAL(cc_store_open(&config, NULL, &store), CMN_OK);
}

AFTER_EACH
{
	cc_store_close(store);
	free(config.dir);
}

static void make_key(struct cc_key *key, const char *device, const char *driver, int number)
{
	cc_key_init(key);
	for (unsigned int i = 0; i < made.devices; i++) {
		if (made.platform)
			cc_key_add_text(key, CC_PART_DEVICE, "platform.name", made.platform);
		else
			cc_key_add_text(key, CC_PART_DEVICE, "api", "Level Zero");
		cc_key_add_text(key, CC_PART_DEVICE, "device.name", i ? "a second one" : device);
		cc_key_add_text(key, CC_PART_DEVICE, "device.driver_version", driver);
		cc_key_add_u64(key, CC_PART_DEVICE, "device.vendor_id", made.vendor_id + i);
		cc_key_add_u64(key, CC_PART_DEVICE, "device.type", 4);
		if (made.path)
			cc_key_add_text(key, CC_PART_DEVICE, "driver.path", made.path);
	}
	cc_key_add_text(key, CC_PART_IMAGE, "source", "always the same");
	cc_key_add_u64(key, CC_PART_OPTIONS, "number", (uint64_t)number);
	cc_key_add_text(key, CC_PART_OPTIONS, "env.RUSTICL_ENABLE", "llvmpipe");
	cc_key_add_text(key, CC_PART_OPTIONS, "env.LD_PRELOAD", "no.so");
	CU_ASSERT_EQUAL_FATAL(cc_key_status(key), CMN_OK);
}

/* Stores programs of those numbers. */
static void store_some(const char *device, const char *driver, int first, int last)
{
	for (int i = first; i <= last; i++) {
		struct cc_entry *entry = cc_entry_new(1);
		OWNED(cc_key_release) struct cc_key key;
		bool evict;

		CU_ASSERT_PTR_NOT_NULL_FATAL(entry);
		cc_entry_add(entry, CC_TAG_IMAGE, 0, "an image", 8);
		CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, NULL), CMN_OK);
		make_key(&key, device, driver, i);
		CU_ASSERT_EQUAL(cc_store_add(store, &key, entry, &evict), CMN_OK);
		cc_entry_unref(entry);
	}
}

static struct cc_hand_over *make(void)
{
	struct cc_hand_over *hand_over;

	CU_ASSERT_EQUAL_FATAL(cc_hand_over_new(&config, &hand_over), CMN_OK);
	return hand_over;
}

static void stored(struct cc_hand_over *hand_over, const char *device, const char *driver, int number)
{
	OWNED(cc_key_release) struct cc_key key;

	store_some(device, driver, number, number);
	make_key(&key, device, driver, number);
	cc_hand_over_stored(hand_over, &key);
}

TEST(after_an_update_the_command_is_started_once)
{
	OWNED(owned_cc_hand_over_free) struct cc_hand_over *hand_over;
	char dir[5000];

	store_some("gpu", "1.0", 0, 9);
	CU_ASSERT_EQUAL_FATAL(setenv("OCL_ICD_VENDORS", "/somewhere", 1), 0);
	CU_ASSERT_EQUAL_FATAL(setenv("LD_LIBRARY_PATH", "/elsewhere", 1), 0);
	CU_ASSERT_EQUAL_FATAL(setenv("SECRET", "word", 1), 0);
	CU_ASSERT_EQUAL_FATAL(setenv("CKCACHE_DIR", "/another", 1), 0);
	hand_over = make();
	CU_ASSERT_EQUAL_FATAL(unsetenv("LD_LIBRARY_PATH"), 0);
	CU_ASSERT_EQUAL_FATAL(unsetenv("CKCACHE_DIR"), 0);
	CU_ASSERT_EQUAL(launches, 0);
	stored(hand_over, "gpu", "2.0", 0);
	CU_ASSERT_EQUAL(launches, 1);
	CU_ASSERT_EQUAL(strncmp(said, "replay test_hand_over \n", 23), 0);
	CU_ASSERT(strstr(said, "\nOCL_ICD_VENDORS=/somewhere\n") != NULL);
	CU_ASSERT(strstr(said, "\nRUSTICL_ENABLE=llvmpipe\n") != NULL);
	(void)snprintf(dir, sizeof(dir), "\nCKCACHE_DIR=%s\n", config.dir);
	CU_ASSERT(strstr(said, dir) != NULL);
	CU_ASSERT(strstr(said, "/another") == NULL && strstr(said, "LD_") == NULL &&
		  strstr(said, "SECRET") == NULL);
	stored(hand_over, "gpu", "2.0", 1);
	CU_ASSERT_EQUAL(launches, 1);
}

TEST(nothing_is_started_where_little_is_to_be_won)
{
	OWNED(owned_cc_hand_over_free) struct cc_hand_over *hand_over = make();

	/* Two others are too few. */
	store_some("gpu", "1.0", 0, 2);
	stored(hand_over, "gpu", "2.0", 0);
	CU_ASSERT_EQUAL(launches, 0);
	/* Another device of this machine is no update. */
	store_some("gpu", "1.0", 3, 9);
	made.vendor_id = 0x10de;
	stored(hand_over, "another gpu", "2.0", 0);
	CU_ASSERT_EQUAL(launches, 0);
	made.vendor_id = 0x8086;
	/* Nor is the same with a second one. */
	made.devices = 2;
	stored(hand_over, "gpu", "2.0", 0);
	CU_ASSERT_EQUAL(launches, 0);
	made.devices = 1;
	/* A program that the older driver did not have says nothing of an update. */
	stored(hand_over, "gpu", "2.0", 20);
	CU_ASSERT_EQUAL(launches, 0);
	/* All is there already. */
	store_some("gpu", "2.0", 0, 9);
	stored(hand_over, "gpu", "2.0", 0);
	CU_ASSERT_EQUAL(launches, 0);
	/* A new driver. */
	stored(hand_over, "gpu", "3.0", 0);
	CU_ASSERT_EQUAL(launches, 1);
}

TEST(a_device_that_the_update_renames_is_the_same)
{
	OWNED(owned_cc_hand_over_free) struct cc_hand_over *hand_over = make();

	store_some("Intel(R) Gen9 HD Graphics", "1.0", 0, 9);
	made.platform = "another platform";
	stored(hand_over, "Intel(R) UHD Graphics 620", "2.0", 0);
	CU_ASSERT_EQUAL(launches, 1);
}

TEST(what_two_drivers_that_are_both_there_call_it_is_no_new_name)
{
	OWNED(owned_cc_hand_over_free) struct cc_hand_over *hand_over = make();
	char old[4096];

	(void)snprintf(old, sizeof(old), "%s/libold.so", unit_dir());
	unit_write("libold.so", "");
	made.path = old;
	store_some("a processor", "1.0", 0, 9);
	made.path = "/usr/lib/libdriver.so";
	stored(hand_over, "the same processor", "2.0", 0);
	CU_ASSERT_EQUAL(launches, 0);
	CU_ASSERT_EQUAL_FATAL(unlink("libold.so"), 0);
	stored(hand_over, "the same processor", "2.0", 0);
	CU_ASSERT_EQUAL(launches, 1);
}

TEST(with_several_devices_and_for_level_zero)
{
	OWNED(owned_cc_hand_over_free) struct cc_hand_over *hand_over = make();

	made.devices = 2;
	store_some("gpu", "1.0", 0, 9);
	stored(hand_over, "gpu", "2.0", 0);
	CU_ASSERT_EQUAL(launches, 1);
	cc_hand_over_free(hand_over);
	hand_over = make();
	made.devices = 1;
	made.platform = NULL;
	store_some("gpu", "1.0", 0, 9);
	stored(hand_over, "gpu", "2.0", 0);
	CU_ASSERT_EQUAL(launches, 2);
}

TEST(a_runtimes_own_keys_are_not_handed_over)
{
	OWNED(owned_cc_hand_over_free) struct cc_hand_over *hand_over = make();

	made.path = NULL;
	store_some("gpu", "1.0", 0, 9);
	stored(hand_over, "gpu", "2.0", 0);
	CU_ASSERT_EQUAL(launches, 0);
}

TEST(after_some_new_programs_it_looks_no_more)
{
	OWNED(owned_cc_hand_over_free) struct cc_hand_over *hand_over = make();

	store_some("gpu", "1.0", 0, 9);
	for (int i = 20; i < 28; i++)
		stored(hand_over, "gpu", "2.0", i);
	stored(hand_over, "gpu", "2.0", 0);
	CU_ASSERT_EQUAL(launches, 0);
}

TEST(foreign_names_in_the_root_do_no_harm)
{
	OWNED(owned_cc_hand_over_free) struct cc_hand_over *hand_over = make();

	store_some("gpu", "1.0", 0, 3);
	unit_write("cache/0123456789abcdef0123456789abcdef", "no directory");
	unit_write("cache/fedcba9876543210fedcba9876543210/x/y", "");
	stored(hand_over, "gpu", "2.0", 0);
	CU_ASSERT_EQUAL(launches, 1);
}

TEST(only_where_the_setting_and_the_machine_allow_it)
{
	char program[] = "blender";

	config.hand_over = false;
	CU_ASSERT_PTR_NULL(make());
	config.hand_over = true;
	config.recache = true;
	CU_ASSERT_PTR_NULL(make());
	config.recache = false;
	/* A worker of ckcache replay. */
	config.built_for = program;
	CU_ASSERT_PTR_NULL(make());
	config.built_for = NULL;
	processors = 1;
	CU_ASSERT_PTR_NULL(make());
	cc_hand_over_stored(NULL, NULL);
	cc_hand_over_free(NULL);
}
