/* SPDX-License-Identifier: MIT */
/* Tests of layers/opencl/key/options.h: what a source and options say about files, by every spelling. */
#include "layers/opencl/key/options.h"

#include "layers/shared/observer/observer_text.h"
#include "tests/support/unit.h"

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* A block of its own size, so that a read past its end is seen by a sanitizer. */
static bool tells_all(const char *text, size_t len, const char *options)
{
	char *copy = malloc(len ? len : 1);
	bool all;

	CU_ASSERT_PTR_NOT_NULL_FATAL(copy);
	memcpy(copy, text, len);
	all = ocl_source_tells_all((struct cmn_view){ copy, len }, options);
	free(copy);
	return all;
}

static void expect(bool wanted, const char *text, const char *options)
{
	bool all = tells_all(text, strlen(text), options);

	if (all != wanted)
		printf("\n%s: %s\n", text, options ? options : "");
	CU_ASSERT_EQUAL(all, wanted);
}

TEST(programs_without_files_tell_all)
{
	static const char *const texts[] = {
		"", "kernel void f(global int *a) { a[0] = 1 % 2 / 3; }\n",
		"/* This notice shall be included in all copies, an important one, embedded. */\n",
		"#define CAT(a, b) a##b\nkernel void CAT(f, _1)(global int *__a) { }\n",
		"#pragma unroll\n_Pragma(\"unroll\")\n", "int __DATE, __TIMES, includes, asma;\n",
		"int my_asm, reinclude;\n",
		"x \\ y\n", "char *s = \"a\\n\";\n", "#define Q ? 1 : 2\n", "?\?/",
	};
	static const char *const options[] = {
		NULL, "", "-cl-mad-enable -DA=1 -D B -DC=\"x\" -cl-std=CL3.0", "-I . -U x -Idir",
		"  -D  A=1\t-w\n",
	};

	for (size_t i = 0; i < COUNT(texts); i++) {
		for (size_t j = 0; j < COUNT(options); j++)
			expect(true, texts[i], options[j]);
	}
}

TEST(every_spelling_of_a_file_is_seen)
{
	static const char *const texts[] = {
		"#include \"a.h\"", "#include <a.h>\n", "  #\tinclude\t\"a.h\"\n", "%:include <a>",
		"/* c */ # /* c */ include /* c */ \"a.h\" // c\n", "#import \"a.h\"\n",
		"#include_next <a.h>\n", "#__include_macros <a.h>\n", "#embed <a.h>\n",
		"#inc\\\nlude \"a.h\"\n", "#inc\\\r\nlude \"a.h\"\n", "#inc\\\rlude \"a.h\"\n",
		"#inc\\\n\rlude \"a.h\"\n", "#inc\\ \t\nlude \"a.h\"\n", "#inc?\?/\nlude \"a.h\"\n",
		"#inc?\?/ \v\n\\\nlude \"a.h\"\n", "?\?=include \"a.h\"\n", "\\\n#include \"a.h\"\n",
		"\xef\xbb\xbf#include \"a.h\"\n", "#if __has_include(\"a.h\")\n#endif\n",
		"#if __has_include_next(\"a.h\")\n#endif\n", "#if __has_embed(\"a.h\")\n#endif\n",
		"#pragma GCC dependency \"a.h\"\n", "#pragma clang module import a\n",
		"_Pragma(\"clang module load a\")\n", "__pragma(x)\n",
		"asm(\".incbin \\\"a\\\"\");\n", "__asm__ volatile (\"\" : :);\n", "__asm(\"\");\n",
		"int f() { _asm { } }\n", "const char *a = \".inc\\\nbin\";\n",
		"#i\\u006eclude \"a.h\"\n", "#\\U00000069nclude \"a.h\"\n",
	};

	for (size_t i = 0; i < COUNT(texts); i++)
		expect(false, texts[i], NULL);
	CU_ASSERT(!tells_all("#\0include\0\"a.h\"\n", 16, NULL));
}

TEST(a_date_or_a_place_is_seen)
{
	static const char *const texts[] = {
		"__DATE__", "a=__TIME__;", "__TIMESTAMP__", "__FILE__", "__BASE_FILE__",
		"__FILE_NAME__", "__builtin_FILE()", "__builtin_source_location()", "__DA\\\nTE__",
	};

	for (size_t i = 0; i < COUNT(texts); i++)
		expect(false, texts[i], NULL);
}

TEST(pasted_words_are_seen)
{
	static const char *const pastes[] = {
		"#define C(a, b) a##b\n", "#define C(a, b) a # \\\n", "#define C(a, b) a%:%:b\n",
		"#define C(a, b) a?\?=?\?=b\n", "#define C(a, b) a#\\\n#b\n",
	};
	static const char *const pieces[] = {
		"C(__DA, TE__)", "C(_, _TIME__)", "C(__, FILE__)", "C(__has_inc, lude)", "C(__has_em, bed)",
		"C(_Prag, ma)", "_Pragma(\"unroll\")", "C(__DA\\\nT, E__)",
	};

	for (size_t i = 0; i < COUNT(pieces); i++) {
		expect(true, pieces[i], NULL);
		for (size_t j = 0; j < COUNT(pastes); j++) {
			char text[128];

			(void)snprintf(text, sizeof(text), "%s%s", pastes[j], pieces[i]);
			expect(j == 1, text, NULL);
		}
	}
	/* Part of it in the options. */
	expect(false, pastes[0], "-DA=__DA");
	expect(false, "C(__DA, TE__)", "-D'C(a,b)=a##b'");
}

TEST(options_that_may_read_files_are_seen)
{
	static const char *const options[] = {
		"-include a.h", "-includea.h", "-imacros a.h", "-DX=__DATE__", "-D X=__TIME__",
		"-DX=__DA\"TE__\"", "-DX=__'DATE'__", "-DX=_\\_DATE__", "-D \"X=1\n#include <a.h>\"",
		"-g", "-gline-tables-only", "a.h", "-cl-mad-enable a.h", "-DX=1 a.h", "@a", "\"a.h\"",
		"-D'X=asm(1)'", "-DA=\"b c\"", "-imacrosa.h", "-w a.h", "-DA=\\\"b\\\"__DATE__",
	};
	static const char *const variables[] = { "POCL_EXTRA_BUILD_FLAGS", "AMD_OCL_BUILD_OPTIONS" };

	for (size_t i = 0; i < COUNT(options); i++)
		expect(false, "kernel void f() { }\n", options[i]);
	for (size_t i = 0; i < COUNT(variables); i++) {
		CU_ASSERT_EQUAL(setenv(variables[i], "-include a.h", 1), 0);
		expect(false, "kernel void f() { }\n", NULL);
		CU_ASSERT_EQUAL(setenv(variables[i], "", 1), 0);
		expect(true, "kernel void f() { }\n", NULL);
		CU_ASSERT_EQUAL(unsetenv(variables[i]), 0);
	}
}

TEST(joined_lines_of_all_kinds_hide_no_include)
{
	static const char *const joints[] = { "\\\n", "\\\r", "\\\r\n", "\\\n\r", "\\ \n", "?\?/\r" };
	static const char word[] = "include";

	for (size_t i = 0; i < COUNT(joints); i++) {
		for (size_t cut = 1; cut < sizeof(word) - 1; cut++) {
			char text[64];

			(void)snprintf(text, sizeof(text), "#%.*s%s%s <a>", (int)cut, word, joints[i], word + cut);
			CU_ASSERT(ocl_text_reads_files(text, strlen(text)));
			expect(false, text, NULL);
		}
	}
}

/* By the words alone, whatever stands around them. */
TEST(every_word_that_reads_files_is_seen)
{
	static const char *const words[] = { "include", "import", "embed", "incbin" };

	for (size_t i = 0; i < COUNT(words); i++) {
		char text[64];

		(void)snprintf(text, sizeof(text), "#  %s <a>\n", words[i]);
		CU_ASSERT(ocl_text_reads_files(text, strlen(text)));
		CU_ASSERT_FALSE(ocl_text_reads_files(text, strlen(text) - sizeof("e <a>")));
	}
	CU_ASSERT_FALSE(ocl_text_reads_files("int i, e, in;\n", 14));
}

TEST(options_that_read_or_debug_are_known)
{
	CU_ASSERT(ocl_options_read_files("-DX -include x.h"));
	CU_ASSERT(ocl_options_read_files("-imacros x.h"));
	CU_ASSERT(ocl_options_read_files("-\"include\" x.h"));
	CU_ASSERT_FALSE(ocl_options_read_files("-I include -Dinclude"));
	CU_ASSERT_FALSE(ocl_options_read_files(NULL));
	CU_ASSERT(ocl_options_ask_for_debugging("-DX -g"));
	CU_ASSERT(ocl_options_ask_for_debugging("-gline-tables-only"));
	CU_ASSERT_FALSE(ocl_options_ask_for_debugging("-DX=-g"));
	CU_ASSERT_FALSE(ocl_options_ask_for_debugging(NULL));
}

static bool reads(const char *text)
{
	return ocl_text_reads_files(text, strlen(text));
}

TEST(texts_that_read_files_are_known)
{
	CU_ASSERT(reads("#include \"x.h\"\n"));
	CU_ASSERT(reads("# include <x.h>"));
	CU_ASSERT(reads("__asm__(\".incbin \\\"x\\\"\")"));
	CU_ASSERT(reads("#import <x.h>"));
	CU_ASSERT(reads("#embed <x>"));
	CU_ASSERT(reads("include"));
	CU_ASSERT_FALSE(reads("kernel void value(global int *out) {}"));
	CU_ASSERT_FALSE(reads("includ"));
	CU_ASSERT_FALSE(reads(""));
	/* In two lines that are one, by whichever mark, with blanks before the line's end. */
	CU_ASSERT(reads("#inc\\\nlude <x.h>"));
	CU_ASSERT(reads("#i\\\n\\\nnclude <x.h>"));
	CU_ASSERT(reads("#inc?\?/\nlude <x.h>"));
	CU_ASSERT(reads("#inc\\ \t\nlude <x.h>"));
	CU_ASSERT(reads("#emb\\\r\ned <x>"));
	CU_ASSERT_FALSE(reads("#inc\\lude <x.h>"));
	CU_ASSERT_FALSE(reads("#inc lude <x.h>"));
	/* Only so far. */
	CU_ASSERT_FALSE(ocl_text_reads_files("include", 6));
}

static bool tells_file(const char *text)
{
	static const struct cmn_view part = { "part", 4 };
	struct drv_text_findings findings = { .parts = &part, .part_count = 1 };

	return ocl_text_tells_file(cmn_view_of(text), &findings);
}

TEST(what_may_get_the_name_of_its_file)
{
	static const char *const telling[] = {
		"__FILE__", "a = __BASE_FILE__;", "__FILE_NAME__", "__builtin_FILE()", "__builtin_source_location()",
		"__PRETTY_FUNCTION__", "__FUNCSIG__", "__TIMESTAMP__", "asm(\".incbin\")", "#pragma GCC dependency X", "__FI\\\nLE__", "-DX=__FILE__", "a ## b __FI", "__F %:%: x",
		/* A name that is made of pieces, or over joined lines. */
		"#include NAME", "# include S(a)", "#\tinclude_next X", "%: include X", "?\?=include X", "#/**/include X",
		"#include/**/<a.h>", "#import X", "#embed X", "#if __has_include(X)", "#if __has_include X", "#if __has_embed(X)",
		"__has_include_next(X)", "#inc\\\nlude X", "#include \"a\\\nb.h\"", "#include <a?\?/\nb.h>", "#include \"a.h", "#include <a.h\n>",
		"#include \\\nX", "#\\\ninclude X", "#?\?/ \n include X", "#include <part/a.h>", "#if __has_include(\"a/part/b\")",
	};
	static const char *const silent[] = {
		"", "int x;", "a ## b", "__FI", "FILE", "MY__FILE__", "__LINE__", "#include <a.h>", "#include \"a/b.h\"", "# include_next <a.h>",
		"#if __has_include(<a.h>)", "#if __has_include( \"a.h\" )", "#embed \"data\"", "// include it, or import X", "include X",
		"#include \\\n<a.h>", "#inc\\\nlude <a.h>", "int including, embedded;", "'#' include", "asm(\"nop\");", "int part;", "#include <part.h>", "#include <a/part>", "#include <apart/a.h>",
	};
	struct drv_text_findings findings = { .part_count = 0 };

	for (size_t i = 0; i < sizeof(telling) / sizeof(telling[0]); i++)
		CU_ASSERT(tells_file(telling[i]));
	for (size_t i = 0; i < sizeof(silent) / sizeof(silent[0]); i++)
		CU_ASSERT_FALSE(tells_file(silent[i]));
	/* Pasted together of two texts. */
	CU_ASSERT_FALSE(ocl_text_tells_file(cmn_view_of("a ## b"), &findings));
	CU_ASSERT_FALSE(ocl_text_tells_file(cmn_view_of("int x;"), &findings));
	CU_ASSERT(ocl_text_tells_file(cmn_view_of("-DX=__FI"), &findings));
}
