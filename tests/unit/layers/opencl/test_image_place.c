/* SPDX-License-Identifier: MIT */
/* image_place: where pocl unpacks a binary that it loads. */
#include "layers/opencl/program/image_place.h"
#include "tests/support/unit.h"

#define TEMPORARY "_UNCACHED_"
#define LETTERS 6
#define BEFORE 36	/* bytes of pocl's header */
#define OWN "AB/CDEFGHIJKLMNOPABCDEFGHIJKLMNOPABCDEFG"
/* A header with the name in its 41 bytes, and code. */
enum { SIZE = 1024 };

static const struct drv_driver *pocl(void)
{
	return drv_driver_of("libpocl.so.2");
}

static void make_image(char image[SIZE], const char *name)
{
	memset(image, 'x', SIZE);
	memcpy(image, "poclbin", sizeof("poclbin"));
	memset(image + BEFORE, 0, DRV_CACHED_AS_SIZE);
	memcpy(image + BEFORE, name, strlen(name));
}

/* What pocl gets; in blocks of their own sizes, so that a sanitizer sees what is written beyond. */
static char *load(const char *bytes, size_t len, bool stays, bool *ret_changed)
{
	char *image = malloc(len), *loaded = malloc(len + 1);
	unsigned char *copy = NULL;
	struct cmn_view placed;

	CU_ASSERT_PTR_NOT_NULL_FATAL(image);
	CU_ASSERT_PTR_NOT_NULL_FATAL(loaded);
	memcpy(image, bytes, len);
	placed = ocl_image_place(pocl(), stays, (struct cmn_view){ image, len }, &copy);
	CU_ASSERT_EQUAL_FATAL(placed.len, len);
	CU_ASSERT_PTR_EQUAL(placed.data, copy ? (const void *)copy : image);
	CU_ASSERT_EQUAL(memcmp(image, bytes, len), 0);	/* the cache has it, too */
	memcpy(loaded, placed.data, len);
	loaded[len] = '\0';
	*ret_changed = copy != NULL;
	free(copy);
	free(image);
	return loaded;
}

/* Nothing but the name is another one. */
static void expect_other_name(const char *image, const char *loaded)
{
	CU_ASSERT_EQUAL(memcmp(loaded, image, BEFORE), 0);
	CU_ASSERT_EQUAL(memcmp(loaded + BEFORE + DRV_CACHED_AS_SIZE, image + BEFORE + DRV_CACHED_AS_SIZE,
			       SIZE - BEFORE - DRV_CACHED_AS_SIZE), 0);
}

TEST(without_the_drivers_cache_each_load_has_a_name_of_its_own)
{
	static const char *const names[] = { TEMPORARY "abcdef", OWN };
	char image[SIZE], *loads[20];
	bool changed;

	for (size_t i = 0; i < 20; i++) {
		make_image(image, names[i % 2]);
		loads[i] = load(image, SIZE, false, &changed);
		CU_ASSERT(changed);
		expect_other_name(image, loads[i]);
		CU_ASSERT_EQUAL(strlen(loads[i] + BEFORE), sizeof(TEMPORARY) - 1 + LETTERS);
		CU_ASSERT_EQUAL(strncmp(loads[i] + BEFORE, TEMPORARY, sizeof(TEMPORARY) - 1), 0);
		/* A name as mkdtemp makes them leads to no other directory. */
		for (size_t j = 0; j < LETTERS; j++)
			CU_ASSERT(strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
					 loads[i][BEFORE + sizeof(TEMPORARY) - 1 + j]) != NULL);
		for (size_t j = 0; j < i; j++)
			CU_ASSERT_STRING_NOT_EQUAL(loads[i] + BEFORE, loads[j] + BEFORE);
	}
	for (size_t i = 0; i < 20; i++)
		free(loads[i]);
}

static void stays_as_it_is(const char *bytes, size_t len)
{
	for (int stays = 0; stays < 2; stays++) {
		bool changed;
		char *loaded = load(bytes, len, stays, &changed);

		CU_ASSERT(!changed);
		CU_ASSERT_EQUAL(memcmp(loaded, bytes, len), 0);
		free(loaded);
	}
}

TEST(with_the_drivers_cache_its_own_name_stays)
{
	char image[SIZE], *loaded;
	bool changed;

	make_image(image, OWN);
	loaded = load(image, SIZE, true, &changed);
	CU_ASSERT(!changed);
	CU_ASSERT_STRING_EQUAL(loaded + BEFORE, OWN);
	free(loaded);
}

TEST(with_the_drivers_cache_equal_images_have_one_name_and_others_another)
{
	char image[SIZE], *loads[3];
	bool changed;

	for (size_t i = 0; i < 3; i++) {
		make_image(image, TEMPORARY "abcdef");
		image[SIZE - 1] = (char)('x' + i / 2);
		loads[i] = load(image, SIZE, true, &changed);
		CU_ASSERT(changed && drv_is_cached_as(loads[i] + BEFORE));
		CU_ASSERT_EQUAL(strlen(loads[i] + BEFORE), DRV_CACHED_AS_SIZE - 1);
		expect_other_name(image, loads[i]);
	}
	CU_ASSERT_STRING_EQUAL(loads[0] + BEFORE, loads[1] + BEFORE);
	CU_ASSERT_STRING_NOT_EQUAL(loads[0] + BEFORE, loads[2] + BEFORE);
	for (size_t i = 0; i < 3; i++)
		free(loads[i]);
}

TEST(what_was_built_gets_the_name_of_the_drivers_cache)
{
	static const char *const bad[] = { NULL, "", "../..", "AB/CD", OWN "P", "ab/CDEFGHIJKLMNOPABCDEFGHIJKLMNOPABCDEFG" };
	char image[SIZE], before[SIZE];

	make_image(image, TEMPORARY "abcdef");
	memcpy(before, image, SIZE);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		ocl_image_set_place(pocl(), (unsigned char *)image, SIZE, bad[i]);
		CU_ASSERT_EQUAL(memcmp(image, before, SIZE), 0);
	}
	ocl_image_set_place(drv_driver_of("libother.so"), (unsigned char *)image, SIZE, OWN);
	CU_ASSERT_EQUAL(memcmp(image, before, SIZE), 0);
	ocl_image_set_place(pocl(), (unsigned char *)image, SIZE, OWN);
	CU_ASSERT_STRING_EQUAL(image + BEFORE, OWN);
	expect_other_name(before, image);
}

TEST(what_has_no_such_name_stays)
{
	static const char *const images[] = { "kernel", "_UNCACHED", TEMPORARY, "a" TEMPORARY "abcdef", ("a" OWN) };
	char far[SIZE];

	for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++)
		stays_as_it_is(images[i], strlen(images[i]));
	/* Without its end it is none, and nothing behind it is read. */
	stays_as_it_is(OWN "P", DRV_CACHED_AS_SIZE);
	/* Behind the header it is code, whatever it looks like. */
	memset(far, 'x', sizeof(far));
	memcpy(far + 512, TEMPORARY "abcdef", sizeof(TEMPORARY "abcdef") - 1);
	stays_as_it_is(far, sizeof(far));
}

TEST(no_other_driver_needs_one)
{
	for (size_t i = 0; i < DRV_DRIVERS; i++) {
		if (!drv_drivers[i].library || strncmp(drv_drivers[i].library, "libpocl", 7) != 0)
			CU_ASSERT(!drv_drivers[i].private_directory && !drv_drivers[i].own_cache);
	}
}
