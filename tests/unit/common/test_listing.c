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

/* The application closes it, and opens another directory. */
static void take_number(int fd)
{
	int own;

	unit_write("theirs/one", "");
	unit_write("theirs/two", "");
	own = open("theirs", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CU_ASSERT_FATAL(own >= 0);
	CU_ASSERT_EQUAL(dup2(own, fd), fd);
	(void)close(own);
}

TEST(lists_every_name_once_more_after_a_rewind)
{
	struct cmn_listing listing = open_many();

	CU_ASSERT_EQUAL(count_rest(&listing), MANY);
	cmn_listing_rewind(&listing);
	CU_ASSERT_PTR_NOT_NULL(cmn_listing_next(&listing));
	/* In the midst of a block. */
	cmn_listing_rewind(&listing);
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

TEST(does_not_look_through_the_applications_directory)
{
	struct cmn_listing listing = open_many();

	take_number(listing.fd);
	CU_ASSERT_PTR_NULL(cmn_listing_next(&listing));
	(void)close(listing.fd);
	cmn_listing_close(&listing);
}

TEST(does_not_rewind_the_applications_file)
{
	struct cmn_listing listing = open_many();
	int file;

	unit_write("file", "12345");
	file = open("file", O_RDONLY | O_CLOEXEC);
	CU_ASSERT_FATAL(file >= 0);
	CU_ASSERT_EQUAL(lseek(file, 3, SEEK_SET), 3);
	CU_ASSERT_EQUAL(dup2(file, listing.fd), listing.fd);
	cmn_listing_rewind(&listing);
	CU_ASSERT_EQUAL(lseek(file, 0, SEEK_CUR), 3);
	cmn_listing_close(&listing);
	CU_ASSERT_TRUE(fcntl(listing.fd, F_GETFD) >= 0);	/* the application's, still open */
	(void)close(listing.fd);
	(void)close(file);
}
