/* SPDX-License-Identifier: MIT */
/* test_functions: every function with bad arguments and all sizes; and that the layer gives each by its name. */
#include <regex.h>

#include "layers/shared/api/ckcache_ext.h"
#include "tests/libckcache/ways.h"
#include "tests/support/unit.h"

TEST(bad_arguments_are_refused_and_outputs_left_alone)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "bad-programs");
		GOOD(way, "bad-calls");
		GOOD(way, "bad-handles");
		if (driver_is("stub")) {
			driver_setenv("STUB_DEVICES", "2");
			GOOD(way, "bad-handles");
		}
	}
}

TEST(the_header_for_cxx_does_what_the_functions_do)
{
	for (int layer = BARE; layer <= LAYERED; layer++) {
		const char *const none[] = { NULL };
		struct outcome outcome;

		driver_program(API_CXX);
		outcome = driver_client((enum driver_layer)layer, none);
		CU_ASSERT(outcome_good(&outcome));
	}
}

TEST(sizes_are_told_in_one_way)
{
	BEGIN_EACH_WAY(way) {
		GOOD(way, "sizes");
	}
}

/* The functions' names, as the header's types have them, into a file; how many. */
static size_t list_names(void)
{
	static char text[65536], names[16384];
	FILE *file = fopen(EXTENSION_HEADER, "r");
	regmatch_t match[2];
	regex_t pattern;
	size_t count = 0, len = 0;
	const char *at = text;

	CU_ASSERT_FATAL(file != NULL);
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	(void)fclose(file);	/* only read */
	CU_ASSERT_EQUAL_FATAL(regcomp(&pattern, "[ *](ckcache_[a-z_]+)_fn\\(", REG_EXTENDED), 0);
	for (; !regexec(&pattern, at, 2, match, 0); at += match[0].rm_eo, count++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%.*s\n",
					(int)(match[1].rm_eo - match[1].rm_so),
					at + match[1].rm_so);
	regfree(&pattern);
	CU_ASSERT_FATAL(len < sizeof(names));
	unit_write("work/names", names);
	return count;
}

/* Each line of the names' answers. */
static void expect_answers(const char *output, bool layer)
{
	char name[128], answer[8];
	int len = 0;

	for (; sscanf(output, "%127s %7s\n%n", name, answer, &len) == 2; output += len) {
		bool wanted = layer && strncmp(name, "ckcache_level_zero_", 19) != 0;

		if (strcmp(answer, wanted ? "yes" : "no") != 0) {
			(void)printf("\n    %s: %s\n", name, answer);
			CU_FAIL("another answer");
		}
	}
	CU_ASSERT_EQUAL(*output, '\0');
}

TEST(the_layer_gives_every_function_by_its_name)
{
	struct outcome outcome;
	size_t count;

	way_begin(WAY_EXTENSION);
	count = list_names();
	/* Each has its place in the table, and the table itself is one. */
	CU_ASSERT_EQUAL(count, sizeof(struct ckcache_functions) / sizeof(void *));
	outcome = way_client(WAY_EXTENSION, (const char *const[]){ "names", "names", NULL });
	CU_ASSERT(outcome_good(&outcome));
	CU_ASSERT(strstr(outcome.output, "ckcache_functions yes") != NULL);
	expect_answers(outcome.output, true);
	/* Without the layer there is nothing. */
	outcome = driver_client(BARE, (const char *const[]){ "names", "names", NULL });
	CU_ASSERT(outcome_good(&outcome));
	expect_answers(outcome.output, false);
	/* Names that are none. */
	unit_write("work/names", "ckcache_\nckcache_opencl_buil\nckcache_opencl_build_\nckcache\n");
	outcome = way_client(WAY_EXTENSION, (const char *const[]){ "names", "names", NULL });
	expect_answers(outcome.output, false);
}
