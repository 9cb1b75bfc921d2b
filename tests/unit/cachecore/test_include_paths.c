/* SPDX-License-Identifier: MIT */
/* Tests of cachecore/include_paths.h: which paths leave options, and that they come back. */
#include "cachecore/include_paths.h"

#include "cachecore/key_options.h"
#include "tests/support/unit.h"

/* What a key has of the options; the paths follow, each after a bar. */
static const char *taken(const char *options)
{
	static char text[512];
	struct cmn_buffer ret = { 0 };
	struct cc_include_paths paths;

	cc_include_paths_take(options, &ret, &paths);
	CU_ASSERT_FALSE(ret.failed);
	CU_ASSERT(paths.count || !ret.len);
	(void)snprintf(text, sizeof(text), "%.*s", (int)ret.len, ret.data ? (const char *)ret.data : "");
	for (uint32_t i = 0; i < paths.count; i++)
		(void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "|%.*s",
			       (int)cc_include_path(&paths, i).len, (const char *)cc_include_path(&paths, i).data);
	cmn_buffer_release(&ret);
	return text;
}

TEST(absolute_paths_get_numbers)
{
	static const char *const cases[][2] = {
		{ "-I /a -DX", "-I <1> -DX|/a" },
		{ "-I/a/b -w -I  /c/d ", "-I<1> -w -I  <2> |/a/b|/c/d" },
		{ "-I\"/a b/c\" -I \"/d\"", "-I\"<1>\" -I \"<2>\"|/a b/c|/d" },
		{ "-isystem /a -iquote /b -idirafter/c", "-isystem <1> -iquote <2> -idirafter<3>|/a|/b|/c" },
		{ "-I/a -I/b -I/a", "-I<1> -I<2> -I<1>|/a|/b" },
		{ "-I/\xc3\xa4 -I/a\xe9", "-I<1> -I/a\xe9|/\xc3\xa4" },
		{ "-I/a/ -I/b//", "-I<1>/ -I<2>//|/a|/b" },
		/* Below another one, whichever comes first. */
		{ "-I/a/b -I/d -I/a -I/a/b/c", "-I<1>/b -I<2> -I<1> -I<1>/b/c|/a|/d" },
		{ "-I/a -I/ab", "-I<1> -I<2>|/a|/ab" },
		{ "-I/a\t-I\n/b", "-I<1>\t-I\n<2>|/a|/b" },
		{ "-I/a -D -I/b", "-I<1> -D -I/b|/a" },
		{ "-I/a -I/b/a/", "-I<1> -I<2>/|/a|/b/a" },
		{ "-I/a -D X=/c -include /d/e.h", "-I<1> -D X=/c -include /d/e.h|/a" },
		{ "-Ib -I. -I/a", "-Ib -I. -I<1>|/a" },
		{ "-I/.hidden/..x", "-I<1>|/.hidden/..x" },
		{ "-I/1 -I/2 -I/3 -I/4 -I/5 -I/6 -I/7 -I/8",
		  "-I<1> -I<2> -I<3> -I<4> -I<5> -I<6> -I<7> -I<8>|/1|/2|/3|/4|/5|/6|/7|/8" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CU_ASSERT_STRING_EQUAL(taken(cases[i][0]), cases[i][1]);
}

TEST(options_in_doubt_stay_as_they_are)
{
	static const char *const cases[] = {
		NULL, "", "-DX", "-I a", "-I ./a", "-I", "-I ", "-I/", "-I \"\"", "-I//a", "-I/a//b", "-I/a/./b", "-I/a/..",
		"-I/a/.", "-I/a\x01", "-I/\xff/a", "-I/a\xe2\x80\x8b", "-I/a\xc2\xa0", "-I/\xe4\xb8\x80", "-I\"/a\tb\"",
		/* The name stands elsewhere as well. */
		"-I/a -DX=/a", "-I/a -include /a/b.h", "-I/a -Ib/a/", "-I /a -I/b/../a",
		/* Spellings that compilers read in ways of their own. */
		"-I'/a'", "-I/a\\ b", "-I/a\"b\"", "-I\"/a", "-I\"/a\"b", "-I/b -DX=\"a b\"", "-I/a -DX='b'", "-I/a -DX=<1>",
		"-D\"X -I/a\"",
		"-I/1 -I/2 -I/3 -I/4 -I/5 -I/6 -I/7 -I/8 -I/9",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CU_ASSERT_STRING_EQUAL(taken(cases[i]), "");
}

static void add(struct cc_key *key, const char *options)
{
	cc_key_init(key);
	cc_key_add_text(key, CC_PART_IMAGE, "source", "kernel");
	cc_key_add_options(options, key);
	cc_key_add_text(key, CC_PART_OPTIONS, "env.X", "<1>");
	CU_ASSERT_EQUAL_FATAL(cc_key_status(key), CMN_OK);
}

TEST(a_key_is_the_same_wherever_headers_lie)
{
	struct cc_key keys[4];
	/* The last one names two directories by the numbers of one. */
	static const char *const options[] = { "-I/a -I/b/c", "-I/d/e -I/f", "-I<1> -I<2>", "-I/a -I/a" };

	for (size_t i = 0; i < 4; i++)
		add(&keys[i], options[i]);
	CU_ASSERT(cmn_view_equal(cc_key_view(&keys[0]), cc_key_view(&keys[1])));
	CU_ASSERT_FALSE(cmn_view_equal(cc_key_view(&keys[0]), cc_key_view(&keys[2])));
	CU_ASSERT_FALSE(cmn_view_equal(cc_key_view(&keys[0]), cc_key_view(&keys[3])));
	for (size_t i = 0; i < 4; i++)
		cc_key_release(&keys[i]);
}

/* As replay and packs need them. */
TEST(what_was_taken_comes_back)
{
	static const char *const cases[] = {
		"-I/a -DX", "-I \"/a b\" -I/c/d/ -I/a", "-I/a/b -I/a", "-DX=<1> -I/a", "-w", "", "-I/1 -I/2 -I/3 -I/4 -I/5 -I/6 -I/7 -I/8",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cc_manifest *manifest = cc_manifest_new();
		struct cc_key key, given, again;
		char *options;

		add(&key, cases[i]);
		CU_ASSERT_EQUAL(cc_manifest_add_include_paths(manifest, &key.include_paths, i & 1), CMN_OK);
		cc_key_put_options_back(cc_key_view(&key), manifest, &given);
		CU_ASSERT_EQUAL(cc_key_status(&given), CMN_OK);
		CU_ASSERT(cmn_view_equal(cc_key_find(cc_key_view(&given), "options", 0), cmn_view_of(cases[i])));
		CU_ASSERT_PTR_NULL(cc_key_find(cc_key_view(&given), "include.paths", 0).data);
		cc_key_take_options(cc_key_view(&given), &again, &options);
		CU_ASSERT_EQUAL(cc_key_status(&again), CMN_OK);
		CU_ASSERT(cmn_view_equal(cc_key_view(&again), cc_key_view(&key)));
		CU_ASSERT_EQUAL(again.include_paths.count, key.include_paths.count);
		cc_key_release(&key);
		cc_key_release(&given);
		cc_key_release(&again);
		cc_manifest_free(manifest);
		free(options);
	}
}

/* From a hostile file: numbers of paths that are not there. */
TEST(numbers_without_paths_stay)
{
	static const char *const cases[] = { "-I<1>", "-I<", "-I<2", "<>", "<0>", "<9>", "-I<1>-I<3>" };
	struct cc_include_paths paths = { .options = "/a", .count = 1, .in = { { 0, 2 } } };
	struct cc_manifest *manifest = cc_manifest_new();

	CU_ASSERT_EQUAL(cc_manifest_add_include_paths(manifest, &paths, false), CMN_OK);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (int none = 0; none < 2; none++) {
			struct cc_key key, given;

			cc_key_init(&key);
			cc_key_add_text(&key, CC_PART_OPTIONS, "options", cases[i]);
			cc_key_put_options_back(cc_key_view(&key), none ? NULL : manifest, &given);
			CU_ASSERT_EQUAL(cc_key_status(&given), CMN_OK);
			CU_ASSERT(cmn_view_equal(cc_key_find(cc_key_view(&given), "options", 0),
						 cmn_view_of(none || strncmp(cases[i], "-I<1>", 5) != 0 ? cases[i] :
							     cases[i][5] ? "-I/a-I<3>" : "-I/a")));
			cc_key_release(&key);
			cc_key_release(&given);
		}
	}
	cc_manifest_free(manifest);
}
