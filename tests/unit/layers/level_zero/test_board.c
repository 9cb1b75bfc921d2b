/* SPDX-License-Identifier: MIT */
/* board: a directory like the kernel's. */
#include "layers/level_zero/plugin/board.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
