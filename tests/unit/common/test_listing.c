/* SPDX-License-Identifier: MIT */
/* listing: what is looked through, twice, and what the application opened in its place. */
#include "common/listing.h"

#include "tests/support/unit.h"

#define MANY 100	/* more than a block has */

static struct cmn_listing open_many(void)
{
	struct cmn_listing listing = { 0 };
	char name[64];

	for (int i = 0; i < MANY; i++) {
		(void)snprintf(name, sizeof(name), "many/a-name-of-some-length-and-number-%d", i);
		unit_write(name, "");
	}
	CU_ASSERT_TRUE_FATAL(cmn_listing_open(&listing, AT_FDCWD, "many"));
	return listing;
}

static unsigned int count_rest(struct cmn_listing *listing)
{
	unsigned int count = 0;

	while (cmn_listing_next(listing))
		count++;
	return count;
}

TEST(lists_every_name_once_more_from_the_beginning)
{
	struct cmn_listing listing = open_many();

	CU_ASSERT_EQUAL(count_rest(&listing), MANY);
	CU_ASSERT_TRUE(cmn_listing_seek(&listing, 0));
	CU_ASSERT_PTR_NOT_NULL(cmn_listing_next(&listing));
	/* In the midst of a block. */
	CU_ASSERT_TRUE(cmn_listing_seek(&listing, 0));
	CU_ASSERT_EQUAL(count_rest(&listing), MANY);
	cmn_listing_close(&listing);
}

TEST(opens_directories_only_and_follows_no_link)
{
	struct cmn_listing listing = { 0 };

	unit_write("directory/file", "");
	CU_ASSERT_EQUAL_FATAL(symlink("directory", "link"), 0);
	CU_ASSERT_FALSE(cmn_listing_open(&listing, AT_FDCWD, "link"));
	CU_ASSERT_FALSE(cmn_listing_open(&listing, AT_FDCWD, "directory/file"));
	CU_ASSERT_FALSE(cmn_listing_open(&listing, AT_FDCWD, "none"));
	CU_ASSERT_EQUAL(errno, ENOENT);
}
