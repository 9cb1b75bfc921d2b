/* SPDX-License-Identifier: MIT */
/* private_copy: each load of a binary has a directory of its own where the driver unpacks it. */
#include "layers/opencl/program/private_copy.h"
#include "tests/support/unit.h"

#define NAME "_UNCACHED_"
#define LETTERS 6
/* What pocl gets; in blocks of their own sizes, so that a sanitizer sees what is written beyond. */
static char *load(const char *bytes, size_t len, bool *ret_changed)
{
	char *image = malloc(len), *loaded = malloc(len + 1);
	unsigned char *copy = NULL;
	struct cmn_view apart;

	CU_ASSERT_PTR_NOT_NULL_FATAL(image);
	CU_ASSERT_PTR_NOT_NULL_FATAL(loaded);
	memcpy(image, bytes, len);
	apart = ocl_private_copy(drv_driver_of("libpocl.so.2"), (struct cmn_view){ image, len }, &copy);
	CU_ASSERT_EQUAL_FATAL(apart.len, len);
	CU_ASSERT_PTR_EQUAL(apart.data, copy ? (const void *)copy : image);
	CU_ASSERT_EQUAL(memcmp(image, bytes, len), 0);	/* the cache has it, too */
	memcpy(loaded, apart.data, len);
	loaded[len] = '\0';
	*ret_changed = copy != NULL;
	free(copy);
	free(image);
	return loaded;
}

TEST(each_load_has_a_name_of_its_own)
{
	static const char image[] = "poclbin/tmp/" NAME "abcdef/kernel.so; " NAME "ghijkl";
	static const char end[] = "/kernel.so; " NAME "ghijkl";
	enum { BEFORE = sizeof("poclbin/tmp/" NAME) - 1 };
	bool changed;
	char *loads[20];

	for (size_t i = 0; i < 20; i++) {
		loads[i] = load(image, sizeof(image) - 1, &changed);
		CU_ASSERT(changed);
		CU_ASSERT_EQUAL(memcmp(loads[i], image, BEFORE), 0);
		CU_ASSERT_STRING_EQUAL(loads[i] + BEFORE + LETTERS, end);
		/* A name as mkdtemp makes them leads to no other directory. */
		for (size_t j = 0; j < LETTERS; j++)
			CU_ASSERT(strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
					 loads[i][BEFORE + j]) != NULL);
		for (size_t j = 0; j < i; j++)
			CU_ASSERT_STRING_NOT_EQUAL(loads[i], loads[j]);
	}
	for (size_t i = 0; i < 20; i++)
		free(loads[i]);
}

static void stays(const char *bytes, size_t len)
{
	bool changed;
	char *loaded = load(bytes, len, &changed);

	CU_ASSERT(!changed);
	CU_ASSERT_EQUAL(memcmp(loaded, bytes, len), 0);
	free(loaded);
}

TEST(what_has_no_such_name_stays)
{
	static const char *const images[] = { "kernel", "_UNCACHED", NAME, "a" NAME "abcde" };
	char far[1024];

	for (size_t i = 0; i < sizeof(images) / sizeof(images[0]); i++)
		stays(images[i], strlen(images[i]));
	/* Behind the header it is code, whatever it looks like. */
	memset(far, 'x', sizeof(far));
	memcpy(far + 512, NAME "abcdef", sizeof(NAME "abcdef") - 1);
	stays(far, sizeof(far));
}

TEST(no_other_driver_needs_one)
{
	for (size_t i = 0; i < DRV_DRIVERS; i++) {
		if (!drv_drivers[i].library || strncmp(drv_drivers[i].library, "libpocl", 7) != 0)
			CU_ASSERT_PTR_NULL(drv_drivers[i].private_directory);
	}
}
