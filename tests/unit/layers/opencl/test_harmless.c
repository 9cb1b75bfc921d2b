/* SPDX-License-Identifier: MIT */
/* test_harmless: which options may be cached for, and what reads files. */
#include "layers/opencl/key/options.h"

#include "tests/support/unit.h"

TEST(known_words_are_harmless)
{
	static const char *const harmless[] = {
		"", " ", "-cl-fast-relaxed-math", "-DX=1 -I dir -cl-std=CL2.0", "-D X=\"a b\"", "-w\t-Werror",
		"-O2 -g -fno-math-errno", "-Wno-unused", "-include x.h", "file.c", "-fdiagnostics-color",
	};

	CU_ASSERT(ocl_options_are_harmless(NULL));
	for (size_t i = 0; i < sizeof(harmless) / sizeof(harmless[0]); i++)
		CU_ASSERT(ocl_options_are_harmless(harmless[i]));
}

TEST(all_others_are_not)
{
	static const char *const words[] = {
		"-Wp,-MD,x", "-Wa,x", "-Wl,x", "-mllvm", "-gsplit-dwarf", "-fdiagnostics-format=sarif",
		"-fdiagnostics-add-output=x", "-fdiagnostics-set-output=x", "-g/dir", "-opt-bisect-limit=1",
		"-frandomize-layout-seed-file=x", "-fplugin=x", "-dump-opt-llvm=x", "-save-temps", "-M",
		"--anything", "-fprofile-use=x", "-foptimization-record-file=x", "-ftime-report",
	};
	static const char *const around[] = {
		"%s", "-DX %s", "-DX\t%s", "-DX\n%s -DY", "-DX\r%s", "-DX\v%s", "-DX\f%s", "\"%s\"", "'%s'",
		"\\%s", "-DX=1 -DY=2 %s",
	};
	char text[256];

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		for (size_t j = 0; j < sizeof(around) / sizeof(around[0]); j++) {
			(void)snprintf(text, sizeof(text), around[j], words[i]);
			CU_ASSERT_FALSE(ocl_options_are_harmless(text));
		}
		/* With marks within it. */
		(void)snprintf(text, sizeof(text), "-\"%s", words[i] + 1);
		CU_ASSERT_FALSE(ocl_options_are_harmless(text));
		(void)snprintf(text, sizeof(text), "%c\\%s", words[i][0], words[i] + 1);
		CU_ASSERT_FALSE(ocl_options_are_harmless(text));
	}
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
