/* SPDX-License-Identifier: MIT */
/* linker: a key names what a driver's linker is and links, by content, wherever the variables lead. */
#include "layers/shared/driver/environment.h"
#include "tests/support/owned.h"
#include "tests/support/unit.h"

static const struct drv_driver with_linker = { .linker = "ld.test" }, without = { 0 };
static char path[2 * 4096 + 8];
static struct drv_linker_variables variables;

/* PATH has two directories, the later of which has a linker. */
BEFORE_EACH
{
	unit_write("late/ld.test", "one linker");
	unit_write("early/other", "");
	(void)snprintf(path, sizeof(path), "%s/early:%s/late", unit_dir(), unit_dir());
	CU_ASSERT_EQUAL(chmod("late/ld.test", 0755), 0);
	variables = (struct drv_linker_variables){ .path = path };
}

static void install(const char *file, const char *content)
{
	unit_write(file, content);
	CU_ASSERT_EQUAL(chmod(file, 0755), 0);
}

/* The key with what is found now. */
static struct cmn_hash key_hash(const struct drv_driver *driver)
{
	OWNED(cc_key_release) struct cc_key key;
	struct cmn_view view;

	cc_key_init(&key);
	CU_ASSERT_TRUE(drv_linker_add(driver, &variables, &key));
	view = cc_key_view(&key);
	return cmn_hash_of(view.data, view.len);
}

/* Whether it differs after the act. */
#define CHANGES(act) ({ \
	struct cmn_hash before_ = key_hash(&with_linker), after_; \
	act; \
	after_ = key_hash(&with_linker); \
	!cmn_hash_equal(&before_, &after_); })

TEST(a_program_is_the_keys_linker_by_its_content)
{
	install("copy", "one linker");
	install("other", "one linker!");
	CU_ASSERT_FALSE(drv_linker_is(&with_linker, "copy"));
	CU_ASSERT_FALSE(CHANGES((void)0));
	CU_ASSERT_TRUE(drv_linker_is(&with_linker, "late/ld.test"));
	CU_ASSERT_TRUE(drv_linker_is(&with_linker, "copy"));
	CU_ASSERT_FALSE(drv_linker_is(&with_linker, "other"));
	CU_ASSERT_FALSE(drv_linker_is(&with_linker, "absent"));
	/* Replaced: the keys have the earlier one. */
	install("late/ld.test", "two linkers");
	CU_ASSERT_FALSE(drv_linker_is(&with_linker, "late/ld.test"));
	CU_ASSERT_TRUE(drv_linker_is(&with_linker, "copy"));
	/* From now on some keys have the one, and some the other. */
	(void)key_hash(&with_linker);
	CU_ASSERT_FALSE(drv_linker_is(&with_linker, "late/ld.test"));
	CU_ASSERT_FALSE(drv_linker_is(&with_linker, "copy"));
}

TEST(a_key_without_a_linker_has_none_of_the_later_ones)
{
	CU_ASSERT_TRUE(CHANGES((variables.path = unit_path("early"), unit_write("early/ld.test", "no program"))));
	variables.path = path;
	(void)key_hash(&with_linker);
	CU_ASSERT_FALSE(drv_linker_is(&with_linker, "late/ld.test"));
}

TEST(another_linker_is_another_key)
{
	CU_ASSERT_FALSE(CHANGES((void)0));
	CU_ASSERT_TRUE(CHANGES(install("late/ld.test", "two linkers")));
	/* Found earlier. */
	CU_ASSERT_TRUE(CHANGES(install("early/ld.test", "another")));
	CU_ASSERT_FALSE(CHANGES(install("late/ld.test", "never run")));
	install("compiler/ld.test", "the compiler's");
	CU_ASSERT_TRUE(CHANGES(variables.compiler_path = unit_path("compiler")));
	CU_ASSERT_FALSE(CHANGES(install("early/ld.test", "never run")));
}

TEST(what_cannot_be_run_is_no_linker)
{
	unit_write("early/ld.test", "no program");
	CU_ASSERT_EQUAL(chmod("early/ld.test", 0644), 0);
	CU_ASSERT_FALSE(CHANGES(unit_write("early/ld.test", "changed")));
	CU_ASSERT_TRUE(CHANGES(install("late/ld.test", "changed")));
}

TEST(what_is_linked_with_everything_is_in_the_key)
{
	static const char *const names[] = { "libgcc.a", "libgcc_s.so", "libc.so", "libm.a" };
	char file[64];

	unit_write("libraries/unknown.so", "1");
	variables.library_path = unit_path("libraries");
	CU_ASSERT_FALSE(CHANGES(unit_write("libraries/unknown.so", "2")));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(file, sizeof(file), "libraries/%s", names[i]);
		CU_ASSERT_TRUE(CHANGES(unit_write(file, "1")));
		CU_ASSERT_TRUE(CHANGES(unit_write(file, "2")));
	}
	CU_ASSERT_TRUE(CHANGES(variables.library_path = NULL));
}

TEST(a_driver_that_runs_none_has_none_in_its_key)
{
	struct cmn_hash before = key_hash(&without), after;

	install("late/ld.test", "another");
	after = key_hash(&without);
	CU_ASSERT_TRUE(cmn_hash_equal(&before, &after));
	CU_ASSERT_FALSE(drv_linker_is(&without, "late/ld.test"));
}

TEST(a_path_is_one_that_the_variable_leads_to)
{
	CU_ASSERT_TRUE(drv_linker_is_in_path(&variables, unit_path("late/ld.test")));
	CU_ASSERT_TRUE(drv_linker_is_in_path(&variables, unit_path("early/ld.test")));
	CU_ASSERT_FALSE(drv_linker_is_in_path(&variables, unit_path("compiler/ld.test")));
	CU_ASSERT_FALSE(drv_linker_is_in_path(&variables, "ld.test"));
	variables.path = NULL;
	CU_ASSERT_FALSE(drv_linker_is_in_path(&variables, unit_path("late/ld.test")));
}

/* All that a process has found count. */
int main(void)
{
	return unit_run_apart();
}
