/* SPDX-License-Identifier: MIT */
/*
 * Tests of layers/opencl/include_scan.h: which files are found, what is
 * refused and why, and that a manifest notices every change that a driver
 * could see.
 */
#include "layers/opencl/include_scan.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/file.h"
#include "tests/support/unit.h"

/* The scan's manifest, which may be NULL; fails the test if it was refused. */
static struct cc_manifest *scan(const char *source, const char *options)
{
	struct cc_manifest *manifest = NULL;
	const char *reason = "none";
	enum cmn_status status = ocl_include_scan(&(struct ocl_include_request){
							  .source = cmn_view_of(source),
							  .options = options },
						  NULL, &manifest, &reason);

	if (status != CMN_OK)
		printf("\n%s: %s\n", source, reason);
	CU_ASSERT_EQUAL_FATAL(status, CMN_OK);
	return manifest;
}

static bool refused(const char *source, const char *options, const char *want)
{
	struct cc_manifest *manifest = NULL;
	const char *reason = "none";
	enum cmn_status status = ocl_include_scan(&(struct ocl_include_request){
							  .source = cmn_view_of(source),
							  .options = options },
						  NULL, &manifest, &reason);

	cc_manifest_free(manifest);
	if (status == CMN_MISS && strcmp(reason, want) == 0)
		return true;
	printf("\n%s: %d %s, not %s\n", source, status, reason, want);
	return false;
}

static bool has(const struct cc_manifest *manifest, enum cc_dependency kind, const char *path)
{
	for (size_t i = 0; i < cc_manifest_count(manifest); i++) {
		struct cc_manifest_item item = cc_manifest_get(manifest, i);

		if (item.kind == kind && strcmp(item.path, path) == 0)
			return true;
	}
	return false;
}

static bool has_file(const struct cc_manifest *manifest, const char *path)
{
	return has(manifest, CC_DEPENDENCY_FILE, path);
}

static bool has_absent(const struct cc_manifest *manifest, const char *path)
{
	return has(manifest, CC_DEPENDENCY_ABSENT, path);
}

static size_t files_in(const struct cc_manifest *manifest)
{
	size_t count = 0;

	for (size_t i = 0; i < cc_manifest_count(manifest); i++)
		count += cc_manifest_get(manifest, i).kind == CC_DEPENDENCY_FILE;
	return count;
}

/* a.h is there: does this source read it? */
static bool reads(const char *source, const char *options)
{
	struct cc_manifest *manifest = scan(source, options);
	bool found = has_file(manifest, "a.h");

	cc_manifest_free(manifest);
	return found;
}

static void source_without_includes_reads_nothing(void)
{
	CU_ASSERT_PTR_NULL(scan("", NULL));
	CU_ASSERT_PTR_NULL(scan("kernel void f(global int *a) { a[0] = 1 % 2 / 3; }\n", ""));
	CU_ASSERT_PTR_NULL(scan("// #include \"a.h\"\n/* \n#include \"a.h\"\n*/", "-cl-mad-enable"));
	CU_ASSERT_PTR_NULL(scan("#define S \"#include <a.h> __DATE__\"\n#pragma unroll\n", NULL));
	CU_ASSERT_PTR_NULL(scan("/* never closed\n#include \"a.h\"\n", NULL));
}

static void every_spelling_of_the_directive_is_seen(void)
{
	static const char *const sources[] = {
		"#include \"a.h\"", "#include <a.h>\n", "  #\tinclude\t\"a.h\"\n",
		"/* c */ # /* c */ include /* c */ \"a.h\" // c\n", "#import \"a.h\"\n",
		"#inc\\\nlude \"a.h\"\n", "#inc\\\r\nlude \"a.\\\nh\"\n", "\\\n#include \"a.h\"\n",
		"#include \\ \t\n\"a.h\"\n", "%:include \"a.h\"\n", "// x\r#include \"a.h\"\n",
		"int a;\r\n#include\"a.h\"\r\n", "\xef\xbb\xbf#include \"a.h\"\n",
		"char c = '\"'; /* ' */\n#include \"a.h\"\n", "don't\n#include \"a.h\"\n",
		"char *s = \"\\\"\"; // \"\n#include \"a.h\"\n", "/* a\n */ #include \"a.h\"\n",
		"\f\v #include \"a.h\"\n", "x = \"unclosed /*\n#include \"a.h\"\n",
	};

	unit_write("a.h", "");
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		if (!reads(sources[i], NULL))
			printf("\n%s\n", sources[i]);
		CU_ASSERT_TRUE(reads(sources[i], NULL));
	}
}

static void nul_byte_is_a_blank(void)
{
	static const char source[] = "#\0include\0\"a.h\"\n";
	struct cc_manifest *manifest = NULL;
	const char *reason;

	unit_write("a.h", "");
	CU_ASSERT_EQUAL_FATAL(ocl_include_scan(&(struct ocl_include_request){
						       .source = { source, sizeof(source) - 1 } },
					       NULL, &manifest, &reason),
			      CMN_OK);
	CU_ASSERT_TRUE(has_file(manifest, "a.h"));
	cc_manifest_free(manifest);
}

static void what_looks_like_a_directive_is_none(void)
{
	static const char *const sources[] = {
		"int x; #include \"a.h\"\n", "// c \\\n#include \"a.h\"\n",
		"#define X \\\n#include \"a.h\"\n", "x /* \n */ #include \"a.h\"\n",
		"/*/ #include \"a.h\"\n*/\n", "\"\\\n#include \"a.h\"\n",
	};

	unit_write("a.h", "");
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		CU_ASSERT_FALSE(reads(sources[i], NULL));
}

static void absences_earlier_in_the_path_are_recorded(void)
{
	struct cc_manifest *manifest;

	unit_write("two/a.h", "");
	unit_write("three/a.h", "");
	manifest = scan("#include <a.h>\n", "-I one -Itwo -I three");
	CU_ASSERT_TRUE(has_absent(manifest, "a.h"));
	CU_ASSERT_TRUE(has_absent(manifest, "one/a.h"));
	CU_ASSERT_TRUE(has_file(manifest, "two/a.h"));
	CU_ASSERT_EQUAL(cc_manifest_count(manifest), 3);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	unit_write("one/a.h", "");
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	cc_manifest_free(manifest);
}

static void header_that_is_nowhere_is_looked_for_in_system_directories(void)
{
	struct cc_manifest *manifest = scan("#include \"no/such/ckcache.h\"\n", "-I.");

	CU_ASSERT_TRUE(has_absent(manifest, "no/such/ckcache.h"));
	CU_ASSERT_TRUE(has_absent(manifest, "./no/such/ckcache.h"));
	CU_ASSERT_TRUE(has_absent(manifest, "/usr/include/no/such/ckcache.h"));
	CU_ASSERT_TRUE(has_absent(manifest, "/usr/local/include/no/such/ckcache.h"));
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	cc_manifest_free(manifest);
}

static void quoted_include_looks_beside_its_includer_first(void)
{
	struct cc_manifest *manifest;

	unit_write("inc/sub/a.h", "#include \"b.h\"\n#include <c.h>\n");
	unit_write("inc/sub/b.h", "");
	unit_write("inc/b.h", "");
	unit_write("inc/c.h", "#include \"d.h\"\n");
	unit_write("d.h", "");
	manifest = scan("#include \"sub/a.h\"\n", "-Iinc");
	CU_ASSERT_TRUE(has_file(manifest, "inc/sub/b.h"));
	CU_ASSERT_FALSE(has_file(manifest, "inc/b.h"));
	CU_ASSERT_TRUE(has_file(manifest, "inc/c.h"));
	CU_ASSERT_FALSE(has_file(manifest, "inc/sub/c.h"));
	CU_ASSERT_TRUE(has_absent(manifest, "inc/d.h"));
	CU_ASSERT_TRUE(has_file(manifest, "d.h"));
	CU_ASSERT_EQUAL_FATAL(unlink("inc/sub/b.h"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	cc_manifest_free(manifest);
}

static void working_directory_never_ends_the_search(void)
{
	struct cc_manifest *manifest;

	unit_write("a.h", "");
	unit_write("inc/a.h", "");
	manifest = scan("#include \"a.h\"\n", "-Iinc");
	CU_ASSERT_TRUE(has_file(manifest, "a.h"));
	CU_ASSERT_TRUE(has_file(manifest, "inc/a.h"));
	cc_manifest_free(manifest);
}

static void linked_header_is_followed_in_both_places(void)
{
	struct cc_manifest *manifest;

	unit_write("real/a.h", "#include \"b.h\"\n");
	unit_write("real/b.h", "");
	unit_write("inc/b.h", "");
	CU_ASSERT_EQUAL_FATAL(symlink("../real/a.h", "inc/a.h"), 0);
	manifest = scan("#include \"a.h\"\n", "-Iinc");
	CU_ASSERT_TRUE(has_file(manifest, "inc/a.h"));
	CU_ASSERT_TRUE(has_file(manifest, "inc/b.h"));
	CU_ASSERT_EQUAL(files_in(manifest), 3);
	unit_write("other/a.h", "#include \"b.h\" \n");
	CU_ASSERT_EQUAL_FATAL(unlink("inc/a.h"), 0);
	CU_ASSERT_EQUAL_FATAL(symlink("../other/a.h", "inc/a.h"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	cc_manifest_free(manifest);
}

static void cycles_end(void)
{
	struct cc_manifest *manifest;

	unit_write("a.h", "#include \"b.h\"\n");
	unit_write("b.h", "#include \"a.h\"\n#include \"./b.h\"\n");
	manifest = scan("#include \"a.h\"\n", NULL);
	CU_ASSERT_TRUE(has_file(manifest, "a.h"));
	CU_ASSERT_TRUE(has_file(manifest, "b.h"));
	cc_manifest_free(manifest);
}

static void endless_spellings_end(void)
{
	struct cc_manifest *manifest;

	unit_write("x/a.h", "#ifndef A\n#define A\n#include \"../y/b.h\"\n#endif\n");
	unit_write("y/b.h", "#ifndef B\n#define B\n#include \"../x/a.h\"\n#endif\n");
	manifest = scan("#include \"x/a.h\"\n", NULL);
	CU_ASSERT_TRUE(has_file(manifest, "x/a.h"));
	CU_ASSERT_TRUE(has_file(manifest, "x/../y/b.h"));
	CU_ASSERT_TRUE(has_file(manifest, "x/../y/../x/a.h"));
	cc_manifest_free(manifest);
}

static void changes_that_a_driver_could_see_are_stale(void)
{
	static const char *const paths[] = { "inc/a.h", "inc/b.h", "inc/c.h" };
	struct cc_manifest *manifest;

	unit_write("inc/a.h", "#if defined(HALF)\n#include \"b.h\"\n#else\n# include <c.h>\n#endif\n");
	unit_write("inc/b.h", "1");
	unit_write("inc/c.h", "2");
	for (size_t i = 0; i < 3; i++) {
		char saved[256];
		struct cmn_buffer bytes;

		manifest = scan("#define N \"a.h\"\n#include N\n", "-Iinc");
		CU_ASSERT_EQUAL(files_in(manifest), 3);
		CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
		CU_ASSERT_EQUAL_FATAL(cmn_file_read(AT_FDCWD, paths[i], 255, true, &bytes), CMN_OK);
		(void)snprintf(saved, sizeof(saved), "%.*s", (int)bytes.len, (char *)bytes.data);
		cmn_buffer_release(&bytes);
		unit_write(paths[i], "3");
		CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
		CU_ASSERT_EQUAL_FATAL(unlink(paths[i]), 0);
		CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
		unit_write(paths[i], saved);
		CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
		cc_manifest_free(manifest);
	}
}

static void directory_of_a_headers_name_counts_as_absent(void)
{
	struct cc_manifest *manifest;

	CU_ASSERT_EQUAL_FATAL(mkdir("a.h", 0700), 0);
	unit_write("inc/a.h", "");
	manifest = scan("#include \"a.h\"\n", "-Iinc");
	CU_ASSERT_TRUE(has_absent(manifest, "a.h"));
	CU_ASSERT_TRUE(has_file(manifest, "inc/a.h"));
	cc_manifest_free(manifest);
}

static void unreadable_headers_are_refused(void)
{
	CU_ASSERT_EQUAL_FATAL(mkfifo("a.h", 0600), 0);
	CU_ASSERT_TRUE(refused("#include \"a.h\"\n", NULL, "header-unreadable"));
	CU_ASSERT_TRUE(refused("#include \"/dev/null\"\n", NULL, "header-unreadable"));
}

static void certain_conditions_prune(void)
{
	static const struct {
		const char *condition, *options;
		bool read;
	} cases[] = {
		{ "#if 0", NULL, false },
		{ "#if 1", NULL, true },
		{ "#if 0x10 == 16 && !(0L || 0)", NULL, true },
		{ "#if 1 < 0", NULL, false },
		{ "#ifdef UNKNOWN", NULL, true },
		{ "#ifndef UNKNOWN", NULL, true },
		{ "#ifndef __OPENCL_VERSION__", NULL, false },
		{ "#if !defined(__OPENCL_VERSION__)", NULL, false },
		{ "#if !defined __OPENCL_C_VERSION__ && OTHER", NULL, false },
		{ "#if __OPENCL_VERSION__ > 120", NULL, true },
		{ "#ifdef __cplusplus", NULL, false },
		{ "#ifdef __cplusplus", "-cl-std=clc++", true },
		{ "#if defined(_WIN32) || defined(_MSC_VER)", NULL, false },
		{ "#ifdef _WIN32", "-D_WIN32", true },
		{ "#if N == 4", "-DN=4", true },
		{ "#if N == 4", "-D N=5", false },
		{ "#if (N >= 4 && N != 6)", "-D N=6", false },
		{ "#if N == 4", "-DN=4u", true },
		{ "#if N == 4", "-DN=5 -UN", true },
		{ "#if N == 4", "-DN=5 -DN=4", true },
		{ "#if N == 4", "-DN=M", true },
		{ "#if N + 1 == 0", "-DN=5", true },
		{ "#if N && 0", "-DN=1||1", true },
		{ "#if UNKNOWN && 0", NULL, false },
		{ "#if FUNCTION(1) && 0", NULL, true },
		{ "#ifdef N", "-D N", true },
		{ "#ifndef N", "-D N", false },
		{ "#ifndef N", "-D \"N\"", false },
		{ "#if 1\n#elif UNKNOWN", NULL, false },
		{ "#if UNKNOWN\n#elif 1", NULL, true },
		{ "#if 0\n#else", NULL, true },
		{ "#if 1\n#else", NULL, false },
		{ "#if UNKNOWN\n#else", NULL, true },
		{ "#if 0\n#if 1\n#endif\n#else", NULL, true },
		{ "#if 0 /* \n */ || 1", NULL, true },
		{ "#if", NULL, true },
		{ "#if ((((1", NULL, true },
		{ "#endif\n#if 1", NULL, true },
	};
	char source[256];

	unit_write("a.h", "");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)snprintf(source, sizeof(source), "%s\n#include \"a.h\"\n#endif\n",
			       cases[i].condition);
		if (reads(source, cases[i].options) != cases[i].read)
			printf("\n%s %s\n", cases[i].condition, cases[i].options);
		CU_ASSERT_EQUAL(reads(source, cases[i].options), cases[i].read);
	}
}

static void nothing_is_pruned_on_what_a_header_may_change(void)
{
	unit_write("a.h", "");
	CU_ASSERT_TRUE(reads("#undef N\n#define N 5\n#if N == 5\n#include \"a.h\"\n#endif\n", "-DN=4"));
	CU_ASSERT_TRUE(reads("#include \"b.h\"\n#ifndef N\n#include \"a.h\"\n#endif\n", "-DN=4") ==
		       false);
	unit_write("b.h", "#undef N\n");
	CU_ASSERT_TRUE(reads("#ifndef N\n#include \"a.h\"\n#endif\n#include \"b.h\"\n", "-DN=4"));
	/* Found in the second round only: c.h opens the branch that brings b.h, which opens a.h. */
	unit_write("c.h", "#define _WIN32\n");
	CU_ASSERT_TRUE(reads("#ifndef N\n#include \"a.h\"\n#endif\n"
			     "#ifdef _WIN32\n#include \"b.h\"\n#endif\n#include \"c.h\"\n",
			     "-DN=4"));
	/* A definition that is never reached changes nothing. */
	CU_ASSERT_FALSE(reads("#if 0\n#undef N\n#endif\n#ifndef N\n#include \"a.h\"\n#endif\n", "-DN"));
}

static void headers_shared_with_the_host_are_pruned(void)
{
	struct cc_manifest *manifest;

	unit_write("shared.h", "#ifndef SHARED_H\n#define SHARED_H\n#ifndef __OPENCL_VERSION__\n"
			       "#include <stdio.h>\nconst char *built = __DATE__;\n#endif\n#endif\n");
	manifest = scan("#include \"shared.h\"\n", "-I.");
	CU_ASSERT_EQUAL(files_in(manifest), 2);	/* shared.h and ./shared.h */
	cc_manifest_free(manifest);
}

static void refused_words_are_found_anywhere_but_in_comments(void)
{
	static const struct {
		const char *source, *reason;
	} cases[] = {
		{ "char *s = __DATE__;", "date" },
		{ "x\n#define T __TIME__\n", "time" },
		{ "int a=__TIMESTAMP__", "timestamp" },
		{ "__DA\\\nTE__", "date" },
		{ "#if __has_include(<a.h>)\n#endif\n", "has-include" },
		{ "#ifdef __has_include_next\n#endif\n", "has-include" },
		{ "#if 1\n#elif __has_embed(<a.h>)\n#endif\n", "has-include" },
		{ "asm(\".incbin \\\"a\\\"\");", "incbin" },
		{ "asm(\"x\\n.include \\\"a\\\"\");", "incbin" },
		{ "#pragma GCC dependency \"a.h\"\n", "pragma-dependency" },
		{ "_Pragma(\"GCC dependency \\\"a.h\\\"\")", "pragma-dependency" },
		{ "#include_next <a.h>\n", "include-next" },
		{ "#embed \"a.h\"\n", "embed" },
		{ "?\?=include \"a.h\"\n", "trigraph" },
		{ "// a ?\?/\n", "trigraph" },
		{ "#define P(a) a ## ATE__\nint x = P(__D);\n", "token-paste" },
		{ "#define P(a, b) a %:%: b\nint x = P(__, TIME__);\n", "token-paste" },
		{ "#define P(a) a##include(x)\nP(__has_)\n", "token-paste" },
		{ "#warning a /* b\n#include \"a.h\"\n/* */\n", "odd-comment" },
		{ "#include <a/*b>\n/* */\n", "odd-comment" },
		{ "#if A\n#elifdef B\n#endif\n", "elifdef" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CU_ASSERT_TRUE(refused(cases[i].source, NULL, cases[i].reason));
	CU_ASSERT_PTR_NULL(scan("// __DATE__\nx__DATE__ __DATE__x \"__TIME__\" __D\n", NULL));
	CU_ASSERT_PTR_NULL(scan("#define X(a, b) a##b\n__kernel __ __global\n", NULL));
	CU_ASSERT_PTR_NULL(scan("a ? b : c; \"what?\" __kernel __global __attribute__", NULL));
	CU_ASSERT_PTR_NULL(scan("#if 0\n__DATE__\n#include_next <x>\n#endif\n", NULL));
}

static void refused_words_in_headers_and_options_count(void)
{
	unit_write("a.h", "#define WHEN __DATE__\n");
	CU_ASSERT_TRUE(refused("#include \"a.h\"\n", NULL, "date"));
	CU_ASSERT_TRUE(refused("int x;", "-DWHEN=__TIME__", "time"));
	unit_write("b.h", "#define P(a, b) a##b\n");
	CU_ASSERT_TRUE(refused("#include \"b.h\"\n", "-DX=P(__TI,ME__)", "token-paste"));
}

static void cplusplus_literals_are_refused(void)
{
	CU_ASSERT_TRUE(refused("char *s = R\"(/*)\";", "-cl-std=clc++", "raw-string"));
	CU_ASSERT_TRUE(refused("int i = 1'000;", "-cl-std=CLC++2021", "digit-separator"));
	CU_ASSERT_PTR_NULL(scan("char *s = \"R\"; int i = 1;", "-cl-std=clc++"));
}

static void results_that_name_files_depend_on_the_directory(void)
{
	struct cc_manifest *manifest = scan("char *s = __FILE__;", NULL);

	CU_ASSERT_TRUE(has(manifest, CC_DEPENDENCY_DIRECTORY, unit_dir()));
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(chdir("/"), 0);
	CU_ASSERT_EQUAL(cc_manifest_verify(manifest, NULL), CMN_STALE);
	cc_manifest_free(manifest);
	manifest = scan("int x;", "-g");
	CU_ASSERT_TRUE(has(manifest, CC_DEPENDENCY_DIRECTORY, "/"));
	cc_manifest_free(manifest);
}

static void computed_includes_resolve_in_every_alternative(void)
{
	struct cc_manifest *manifest;

	unit_write("a.h", "");
	unit_write("b.h", "");
	unit_write("dir/c.h", "");
	manifest = scan("#ifdef X\n#define H \"a.h\"\n#else\n#define H <b.h>\n#endif\n#include H\n", NULL);
	CU_ASSERT_TRUE(has_file(manifest, "a.h"));
	CU_ASSERT_TRUE(has_file(manifest, "b.h"));
	cc_manifest_free(manifest);
	CU_ASSERT_TRUE(reads("#define S(x) T(x)\n#define T(x) #x\n#define NAME a\n"
			     "#include S(NAME.h)\n",
			     NULL));
	CU_ASSERT_TRUE(reads("#define CAT(x, y) x ## y\n#define aa \"a.h\"\n#include CAT(a, a)\n", NULL));
	CU_ASSERT_TRUE(reads("#define LT <\n#define GT >\n#include LT a.h GT\n", NULL) == false);
	CU_ASSERT_TRUE(reads("#define H <a.h>\n#include H\n", NULL));
	CU_ASSERT_TRUE(reads("#include H\n", "-DH=\\\"a.h\\\""));
	CU_ASSERT_TRUE(reads("#include H\n", "-DH='\"a.h\"'"));
	CU_ASSERT_TRUE(reads("#include H\n", "-D H=<a.h>"));
	/* The definition comes to count only through the header that comes after. */
	unit_write("d.h", "#define LATE \"a.h\"\n");
	CU_ASSERT_TRUE(reads("#include LATE\n#include \"d.h\"\n", NULL));
}

static void computed_include_in_the_way_of_hashcat_is_exact(void)
{
	char options[8400], header[8300];
	struct cc_manifest *manifest;

	unit_write("opencl/inc_vendor.h", "");
	(void)snprintf(options, sizeof(options),
		       "-D XM2S(x)=#x -D M2S(x)=XM2S(x) -D KERNEL_STATIC -D INCLUDE_PATH=%s/opencl",
		       unit_dir());
	(void)snprintf(header, sizeof(header), "%s/opencl/inc_vendor.h", unit_dir());
	manifest = scan("#ifdef KERNEL_STATIC\n#include M2S(INCLUDE_PATH/inc_vendor.h)\n#endif\n",
			options);
	CU_ASSERT_TRUE(has_file(manifest, header));
	CU_ASSERT_EQUAL(cc_manifest_count(manifest), 1);
	cc_manifest_free(manifest);
}

static void computed_includes_that_cannot_be_bounded_are_refused(void)
{
	char source[4096];
	size_t len = 0;

	CU_ASSERT_TRUE(refused("#include __VERSION_HEADER\n", NULL, "computed-include"));
	CU_ASSERT_TRUE(refused("#define S(x) #x\n#define T(x) S(x)\n#include T(/x/linux/a.h)\n", NULL,
			       "computed-include"));
	CU_ASSERT_TRUE(refused("#define F(...) __VA_ARGS__##x\n#include F(a)\n", NULL,
			       "computed-include"));
	/* An error for every driver is nothing to refuse. */
	CU_ASSERT_PTR_NULL(scan("#include UNDEFINED\n#include\n#include \"\n#include <>\n", NULL));
	for (int i = 0; i < 10; i++)
		len += (size_t)snprintf(source + len, sizeof(source) - len,
					"#define A%d 1\n#define A%d 2\n", i, i);
	(void)snprintf(source + len, sizeof(source) - len,
		       "#define S(x) #x\n#define T(x) S(x)\n"
		       "#include T(A0 A1 A2 A3 A4 A5 A6 A7 A8 A9)\n");
	CU_ASSERT_TRUE(refused(source, NULL, "computed-include"));
	CU_ASSERT_PTR_NULL(scan("#define R R R\n#define Q(x) Q(x) Q(x)\n#include R Q(Q(R))\n", NULL));
}

static void every_quoting_of_options_is_read(void)
{
	static const char *const options[] = {
		"-Idir", "-I dir", "-I\tdir", "-I\"dir\"", "-I 'dir'", "\"-Idir\"", "-I d\\ir",
		"-isystem dir", "-iquote dir", "-idirafter dir", "-w -Idir -cl-std=CL1.2 -Werror",
	};
	struct cc_manifest *manifest;

	unit_write("dir/z.h", "");
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		manifest = scan("#include \"z.h\"\n", options[i]);
		if (!has_file(manifest, "dir/z.h"))
			printf("\n%s\n", options[i]);
		CU_ASSERT_TRUE(has_file(manifest, "dir/z.h"));
		cc_manifest_free(manifest);
	}
	unit_write("a b/y.h", "");
	manifest = scan("#include \"y.h\"\n", "-I\"a b\" -DX=\"c d\"");
	CU_ASSERT_TRUE(has_file(manifest, "a b/y.h"));
	cc_manifest_free(manifest);
}

static struct cc_manifest *scan_grouping(const char *source, const char *options)
{
	const struct ocl_include_request request = {
		.source = cmn_view_of(source), .options = options, .quotes_group = true,
	};
	struct cc_manifest *manifest = NULL;
	const char *reason;

	CU_ASSERT_EQUAL_FATAL(ocl_include_scan(&request, NULL, &manifest, &reason), CMN_OK);
	return manifest;
}

static void known_quoting_leaves_one_reading(void)
{
	struct cc_manifest *manifest;

	unit_write("a b/z.h", "");
	manifest = scan_grouping("#include \"z.h\"\n", "-I\"a b\" -DX=\"c d\"");
	CU_ASSERT_TRUE(has_file(manifest, "a b/z.h"));
	CU_ASSERT_TRUE(has(manifest, CC_DEPENDENCY_ABSENT, "z.h"));
	CU_ASSERT_EQUAL(cc_manifest_count(manifest), 2);
	cc_manifest_free(manifest);
	/* What is not known of the driver, or is an error, is read in every way. */
	manifest = scan_grouping("#include \"z.h\"\n", "-I\"a b\" -DX='c'");
	CU_ASSERT_TRUE(has(manifest, CC_DEPENDENCY_ABSENT, "\"a/z.h"));
	cc_manifest_free(manifest);
	manifest = scan_grouping("#include \"z.h\"\n", "-I\"a b\" -I\"a");
	CU_ASSERT_TRUE(has(manifest, CC_DEPENDENCY_ABSENT, "\"a/z.h"));
	cc_manifest_free(manifest);
}

static void options_that_read_files_are_refused(void)
{
	static const char *const options[] = {
		"-include a.h", "-imacros a.h", "-include-pch x", "@file", "-Xclang -x", "--sysroot=/",
		"-isysroot /", "-iprefix x", "-ivfsoverlay x", "-fmodules", "-x cl", "-I-", "-I=dir",
		"file.cl", "-fplugin=x", "-fms-extensions", "-Wp,-include,a.h", "-mllvm -x", "-s a.cl",
		"-fsanitize-blacklist=x", "-never-heard-of", "\"-include\" a.h", "-DX=/*", "-DX=a\\",
		"-cl-mad-enable -include a.h",
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		CU_ASSERT_TRUE(refused("int x;", options[i], "option"));
	CU_ASSERT_PTR_NULL(scan("int x;", "-cl-fast-relaxed-math -O2 -w -Werror -DA=1 -D B -U C "
					  "-cl-std=CL3.0 -cl-kernel-arg-info -nv-verbose"));
}

static void variables_that_name_directories_count(void)
{
	struct cc_manifest *manifest;

	CU_ASSERT_EQUAL_FATAL(setenv("CPATH", "one:two", 1), 0);
	CU_ASSERT_EQUAL_FATAL(setenv("POCL_EXTRA_BUILD_FLAGS", "-Ithree -DN", 1), 0);
	unit_write("a.h", "");
	manifest = scan("#include \"z.h\"\n#ifndef N\n#include \"a.h\"\n#endif\n", NULL);
	CU_ASSERT_TRUE(has_absent(manifest, "one/z.h"));
	CU_ASSERT_TRUE(has_absent(manifest, "two/z.h"));
	CU_ASSERT_TRUE(has_absent(manifest, "three/z.h"));
	CU_ASSERT_TRUE(has_file(manifest, "a.h"));
	cc_manifest_free(manifest);
	CU_ASSERT_EQUAL_FATAL(unsetenv("CPATH"), 0);
	CU_ASSERT_EQUAL_FATAL(unsetenv("POCL_EXTRA_BUILD_FLAGS"), 0);
}

static void system_headers_that_ask_for_others_are_refused(void)
{
	/* limits.h of clang or glibc goes on with include_next; without either there is nothing to see. */
	if (access("/usr/include/limits.h", R_OK) == 0)
		CU_ASSERT_TRUE(refused("#include <limits.h>\n", NULL, "include-next") ||
			       refused("#include <limits.h>\n", NULL, "has-include"));
}

/* A real application's kernels: each includes some of common.h, colorspace.h and others, never more. */
static void kernels_of_darktable_have_their_exact_closure(void)
{
	static const char dir[] = "/usr/share/darktable/kernels";
	struct cc_file_memo *memo = cc_file_memo_new();
	size_t programs = 0, bytes_read = 0, with_common = 0;
	uint64_t took = 0, verify = 0;
	struct dirent *item;
	DIR *list = opendir(dir);

	while (list && (item = readdir(list))) {
		struct cc_manifest *manifest = NULL;
		struct cmn_buffer source;
		char path[512];
		const char *reason = "none";
		uint64_t start;

		if (!strstr(item->d_name, ".cl"))
			continue;
		(void)snprintf(path, sizeof(path), "%s/%s", dir, item->d_name);
		CU_ASSERT_EQUAL_FATAL(cmn_file_read(AT_FDCWD, path, 1 << 24, true, &source), CMN_OK);
		start = cmn_clock_monotonic();
		CU_ASSERT_EQUAL(ocl_include_scan(&(struct ocl_include_request){
							 .source = cmn_buffer_view(&source),
							 .options = "-w -cl-fast-relaxed-math "
								    "-DDT_NOISE=1 "
								    "-I/usr/share/darktable/kernels" },
						 memo, &manifest, &reason),
				CMN_OK);
		took += cmn_clock_monotonic() - start;
		programs++;
		bytes_read += source.len;
		if (memmem(source.data, source.len, "\n#include \"common.h\"", 19))
			CU_ASSERT_TRUE(has_file(manifest, "/usr/share/darktable/kernels/common.h"));
		with_common += has_file(manifest, "/usr/share/darktable/kernels/common.h");
		/* Every dependency is a kernel header or its absence in the working directory. */
		for (size_t i = 0; i < cc_manifest_count(manifest); i++) {
			struct cc_manifest_item found = cc_manifest_get(manifest, i);

			CU_ASSERT_TRUE(found.kind == CC_DEPENDENCY_ABSENT ||
				       strncmp(found.path, dir, sizeof(dir) - 1) == 0);
			CU_ASSERT_TRUE(strncmp(found.path, "/usr/include", 12) != 0);
		}
		start = cmn_clock_monotonic();
		CU_ASSERT_EQUAL(cc_manifest_verify(manifest, memo), CMN_OK);
		verify += cmn_clock_monotonic() - start;
		cmn_buffer_release(&source);
		cc_manifest_free(manifest);
	}
	if (list)
		(void)closedir(list);
	printf("\n%zu programs, %zu with common.h, %zu bytes: scanned in %.3f ms, verified in %.3f ms\n",
	       programs, with_common, bytes_read, (double)took / 1e6, (double)verify / 1e6);
	cc_file_memo_free(memo);
}

int main(void)
{
	static const struct unit_test tests[] = {
		UNIT_TEST(source_without_includes_reads_nothing),
		UNIT_TEST(every_spelling_of_the_directive_is_seen),
		UNIT_TEST(nul_byte_is_a_blank),
		UNIT_TEST(what_looks_like_a_directive_is_none),
		UNIT_TEST(absences_earlier_in_the_path_are_recorded),
		UNIT_TEST(header_that_is_nowhere_is_looked_for_in_system_directories),
		UNIT_TEST(quoted_include_looks_beside_its_includer_first),
		UNIT_TEST(working_directory_never_ends_the_search),
		UNIT_TEST(linked_header_is_followed_in_both_places),
		UNIT_TEST(cycles_end),
		UNIT_TEST(endless_spellings_end),
		UNIT_TEST(changes_that_a_driver_could_see_are_stale),
		UNIT_TEST(directory_of_a_headers_name_counts_as_absent),
		UNIT_TEST(unreadable_headers_are_refused),
		UNIT_TEST(certain_conditions_prune),
		UNIT_TEST(nothing_is_pruned_on_what_a_header_may_change),
		UNIT_TEST(headers_shared_with_the_host_are_pruned),
		UNIT_TEST(refused_words_are_found_anywhere_but_in_comments),
		UNIT_TEST(refused_words_in_headers_and_options_count),
		UNIT_TEST(cplusplus_literals_are_refused),
		UNIT_TEST(results_that_name_files_depend_on_the_directory),
		UNIT_TEST(computed_includes_resolve_in_every_alternative),
		UNIT_TEST(computed_include_in_the_way_of_hashcat_is_exact),
		UNIT_TEST(computed_includes_that_cannot_be_bounded_are_refused),
		UNIT_TEST(every_quoting_of_options_is_read),
		UNIT_TEST(known_quoting_leaves_one_reading),
		UNIT_TEST(options_that_read_files_are_refused),
		UNIT_TEST(variables_that_name_directories_count),
		UNIT_TEST(system_headers_that_ask_for_others_are_refused),
		UNIT_TEST(kernels_of_darktable_have_their_exact_closure),
	};

	return UNIT_MAIN("include_scan", tests);
}
