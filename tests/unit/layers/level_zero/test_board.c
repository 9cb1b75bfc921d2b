/* SPDX-License-Identifier: MIT */
/* board: a directory like the kernel's. */
#include "layers/level_zero/plugin/board.h"

#include <dirent.h>

#include "tests/support/unit.h"

#define DEVICE "pci/0000:03:00.0"

static const struct lz_board board = { .bus = 3, .vendor_id = 0x8086, .device_id = 0x56a0 };

static void make_device(const char *vendor, const char *device, const char *revision)
{
	CU_ASSERT_EQUAL_FATAL(mkdir("pci", 0700), 0);
	CU_ASSERT_EQUAL_FATAL(mkdir(DEVICE, 0700), 0);
	unit_write(DEVICE "/vendor", vendor);
	unit_write(DEVICE "/device", device);
	if (revision)
		unit_write(DEVICE "/revision", revision);
}

TEST(tells_the_revision_of_a_device)
{
	uint64_t revision = 99;

	make_device("0x8086\n", "0x56a0\n", "0x0a\n");
	CU_ASSERT_TRUE(lz_board_revision("pci", &board, &revision));
	CU_ASSERT_EQUAL(revision, 10);
}

/* Of a file of the kernel's, whose size is a page whatever it has. */
static bool scan_file(const char *device, const char *name, uint32_t *ret)
{
	char path[400], text[16] = "";
	FILE *file;
	bool found;

	(void)snprintf(path, sizeof(path), LZ_BOARD_DEVICES "/%s/%s", device, name);
	file = fopen(path, "re");
	found = file && fgets(text, sizeof(text), file);
	if (file)
		(void)fclose(file);
	*ret = (uint32_t)strtoul(text, NULL, 16);
	return found;
}

/* "0000:03:00.0" */
static bool scan_address(const char *text, struct lz_board *ret)
{
	uint32_t *const parts[] = { &ret->domain, &ret->bus, &ret->device, &ret->function };
	char *end;

	for (size_t i = 0; i < 4; i++) {
		*parts[i] = (uint32_t)strtoul(text, &end, 16);
		if (end == text || *end != "::."[i])
			return false;
		text = end + 1;
	}
	return true;
}

TEST(the_kernels_own_devices_have_theirs)
{
	DIR *devices = opendir(LZ_BOARD_DEVICES);
	struct lz_board found = { 0 };
	struct dirent *item;
	uint32_t expected;
	uint64_t revision;

	while (devices && (item = readdir(devices))) {
		if (!scan_address(item->d_name, &found) ||
		    !scan_file(item->d_name, "vendor", &found.vendor_id) ||
		    !scan_file(item->d_name, "device", &found.device_id) ||
		    !scan_file(item->d_name, "revision", &expected))
			continue;
		revision = expected + UINT64_C(1);
		CU_ASSERT_TRUE(lz_board_revision(LZ_BOARD_DEVICES, &found, &revision));
		CU_ASSERT_EQUAL(revision, expected);
	}
	if (devices)
		(void)closedir(devices);
}

TEST(another_device_there_tells_nothing)
{
	struct lz_board other = board;
	uint64_t revision;

	make_device("0x8086\n", "0x56a0\n", "0x0a\n");
	other.device_id++;
	CU_ASSERT_FALSE(lz_board_revision("pci", &other, &revision));
	other = board;
	other.vendor_id++;
	CU_ASSERT_FALSE(lz_board_revision("pci", &other, &revision));
	other = board;
	other.function = 1;
	CU_ASSERT_FALSE(lz_board_revision("pci", &other, &revision));
	other = board;
	other.domain = 0x10000;
	CU_ASSERT_FALSE(lz_board_revision("pci", &other, &revision));
}

TEST(what_is_no_number_tells_nothing)
{
	static const char *const texts[] = {
		"", "\n", "0x\n", "0x0a", "0a\n", "10\n", "0x0a\n\n", "0xzz\n", " 0x0a\n",
		"0x0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a0a\n",
	};
	uint64_t revision;

	make_device("0x8086\n", "0x56a0\n", NULL);
	CU_ASSERT_FALSE(lz_board_revision("pci", &board, &revision));
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		unit_write(DEVICE "/revision", texts[i]);
		CU_ASSERT_FALSE(lz_board_revision("pci", &board, &revision));
	}
	unit_write(DEVICE "/revision", "0x0\n");
	CU_ASSERT_TRUE(lz_board_revision("pci", &board, &revision));
	CU_ASSERT_EQUAL(revision, 0);
}

TEST(where_nothing_is_mounted_nothing_is_told)
{
	uint64_t revision;

	CU_ASSERT_FALSE(lz_board_revision("pci", &board, &revision));
}
