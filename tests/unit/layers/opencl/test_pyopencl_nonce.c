/* SPDX-License-Identifier: MIT */
/* pyopencl_nonce: a token that anything could refer to is a part of the program. */
#include "layers/opencl/key/pyopencl_nonce.h"
#include "tests/support/unit.h"

#define DIGITS "00112233445566778899aabbccddeeff"
#define OTHERS "0f0e0d0c0b0a09080706050403020100"
#define LINE "\n\n__constant int pyopencl_defeat_cache_" DIGITS " = 0;"
#define KERNEL "kernel void f(global int *out) { out[0] = 1; }\n"
#define EMPTY ((struct cmn_view){ NULL, 0 })

/* Whether a source of this beginning has a token that does not matter. */
static bool found(const char *text, const char *options)
{
	char source[1024];
	struct cmn_view token = { 0 };
	int len = snprintf(source, sizeof(source), "%s%s", text, LINE);

	CU_ASSERT_FATAL(len > 0 && (size_t)len < sizeof(source));
	if (!ocl_pyopencl_nonce_find((struct cmn_view){ source, (size_t)len }, options, &token))
		return false;
	CU_ASSERT_EQUAL(token.len, strlen(DIGITS));
	CU_ASSERT_PTR_EQUAL(token.data, source + strlen(source) - strlen(DIGITS " = 0;"));
	return true;
}

TEST(what_pyopencl_writes_does_not_matter)
{
	static const char *const texts[] = {
		"", KERNEL, "#define PYOPENCL_WG 128\n" KERNEL, "//CL//\n" KERNEL,
		"#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#define X \\\n 1\n" KERNEL,
		"kernel __attribute__((reqd_work_group_size(1, 1, 1))) void f(global int *x) { }\n",
		/* Another token's name. */
		"#define pyopencl_defeat_cache_" OTHERS " x\n" KERNEL,
		"#define NAME \"#\" #x\n" KERNEL, "int my_asm;\n" KERNEL,
		"#include <pyopencl-complex.h>\n// 12233, 12234, adeeff\n" KERNEL,
	};
	static const char *const options[] = {
		NULL, "", "-I /usr/lib/python3/dist-packages/pyopencl/cl", "-I \"/a directory/cl\" -DX=1",
		"-Dpyopencl_defeat_cache_" OTHERS "=x",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		CU_ASSERT(found(texts[i], ""));
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		CU_ASSERT(found(KERNEL, options[i]));
}

TEST(what_the_source_could_refer_to_matters)
{
	static const char *const texts[] = {
		"#define pyopencl_defeat_cache_" DIGITS " x = 1; int y\n",
		"#ifdef pyopencl_defeat_cache_" DIGITS "\n#endif\n",
		"kernel void pyopencl_defeat_cache_" DIGITS "(global int *x) { }\n",
		"extern __constant int pyopencl_defeat_cache_" DIGITS ";\n",
		"constant char text[] = \"" DIGITS "\";\n",
		"// " DIGITS "\n",
		"#define pyopencl_defeat_cache_0011\\\n2233445566778899aabbccddeeff x\n",
		"#define pyopencl_defeat_cache_0011\\ \t\r\n2233445566778899aabbccddeeff x\n",
		"#define pyopencl_defeat_cache_0011?\?/\n2233445566778899aabbccddeeff x\n",
		"#define pyopencl_defeat_cache_0\\\n0\\\n112233445566778899aabbccddeeff x\n",
		"#define JOIN(a, b) a ## b\n",
		"#define JOIN(a, b) a #\\\n# b\n",
		"%:define JOIN(a, b) a %:%: b\n",
		"#define JOIN(a, b) a ?\?=?\?= b\n",
		"int x(void) __asm__(\"pyopencl_defeat_cache_\" \"0011\" \"2233445566778899aabbccddeeff\");\n",
		"int x(void) asm(\"pyopencl_defeat_\" \"cache_0011\");\n",
		"extern __constant int x __attribute__((alias(\"pyopencl_\" \"defeat_cache_0011\")));\n",
		"static int x(void) __attribute__((weakref(\"pyopencl_\" \"defeat_cache_0011\")));\n",
		"int x(void) __attribute__((ifunc(\"pyopencl_\" \"defeat_cache_0011\")));\n",
		/* With a ## of the file. */
		"#include \"h.h\"\nint JOIN(pyopencl_defeat_cache_0011, 2233445566778899aabbccddeeff);\n",
		"#inc\\\nlude <h.h>\n// 112233\n",
		"#import \"h.h\"\n// ddeeff\n",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		CU_ASSERT(!found(texts[i], ""));
		if (found(texts[i], ""))
			printf("\n    %s    ", texts[i]);
	}
}

TEST(what_options_could_refer_to_matters)
{
	static const char *const options[] = {
		"-Dpyopencl_defeat_cache_" DIGITS "=x",
		"-D pyopencl_defeat_cache_0011\"2233445566778899aabbccddeeff\"",
		"-D 'pyopencl_defeat_cache_00''112233445566778899aabbccddeeff'=1",
		"-Dpyopencl_defeat_cache_0011\\2233445566778899aabbccddeeff",
		"-DJOIN(a,b)=a##b", "-DJOIN(a,b)=a%:%:b", "-DJOIN(a,b)=a?\?=?\?=b",
		"-DX=1\n-DY", "-include h.h", "-imacros h.h", "-g", "-cl-opt-disable -g3",
	};

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		CU_ASSERT(!found(KERNEL, options[i]));
		if (found(KERNEL, options[i]))
			printf("\n    %s    ", options[i]);
	}
}

TEST(parts_of_it_beside_files_matter)
{
	CU_ASSERT(found("#include <h.h>\n", "-DX=12233 -I/usr/include"));
	CU_ASSERT(!found("#include <h.h>\n", "-DX=112233 -I/usr/include"));
	CU_ASSERT(found(KERNEL, "-DX=112233"));
}

TEST(what_files_could_do_with_it_matters)
{
	static const struct {
		const char *text;
		bool matters;
	} files[] = {
		{ "", false }, { "#define JOIN(a, b) a##b\n", false }, { "12233 22334 aabbcd 001122", true },
		{ "12233 adeeff aabbcd 0112234", true }, { "12233 adeeff aabbcd ffeedd", false },
		{ "#define pyopencl_defeat_cache_" OTHERS " x\n", false },
		{ "#define pyopencl_defeat_cache_" DIGITS " x\n", true }, { "ddeeff", true }, { "ddeef", false },
	};
	const struct cmn_view token = { DIGITS, strlen(DIGITS) };
	const struct cmn_hash hash = { 0 };
	struct cc_manifest *manifest = cc_manifest_new();

	CU_ASSERT_PTR_NOT_NULL_FATAL(manifest);
	CU_ASSERT(!ocl_pyopencl_nonce_is_in_files(token, NULL, NULL));
	CU_ASSERT_EQUAL(cc_manifest_add_absent(manifest, "absent-001122"), CMN_OK);
	CU_ASSERT(!ocl_pyopencl_nonce_is_in_files(token, manifest, NULL));
	CU_ASSERT_EQUAL(cc_manifest_add_file(manifest, "first.h", 0, &hash), CMN_OK);
	CU_ASSERT_EQUAL(cc_manifest_add_file(manifest, "second.h", 0, &hash), CMN_OK);
	unit_write("first.h", "12233");
	CU_ASSERT(ocl_pyopencl_nonce_is_in_files(token, manifest, NULL));	/* there is no second one */
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		unit_write("second.h", files[i].text);
		CU_ASSERT_EQUAL(ocl_pyopencl_nonce_is_in_files(token, manifest, NULL), files[i].matters);
	}
	unit_write("first.h", DIGITS);
	CU_ASSERT(ocl_pyopencl_nonce_is_in_files(token, manifest, NULL));	/* not in the second one */
	cc_manifest_free(manifest);
}

TEST(other_ends_are_no_tokens)
{
	static const char *const sources[] = {
		"", "__constant int pyopencl_defeat_cache_" DIGITS " = 0;",
		"\n__constant int pyopencl_defeat_cache_" DIGITS " = 0;", LINE "\n", LINE " ",
		"\n\n__constant int pyopencl_defeat_cache_" DIGITS " = 1;",
		"\n\n__constant int pyopencl_defeat_cache_0" DIGITS " = 0;",
		"\n\n__constant int pyopencl_defeat_cache_0112233445566778899aabbccddeeff = 0;",
		"\n\n__constant int pyopencl_defeat_cache_0011223344556677889gaabbccddeeff = 0;",
		"\n\n__constant int pyopencl_defeat_cache_00112233445566778899AABBCCDDEEFF = 0;",
	};
	struct cmn_view token;

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		CU_ASSERT(!ocl_pyopencl_nonce_find((struct cmn_view){ sources[i], strlen(sources[i]) }, "",
						   &token));
	CU_ASSERT(!ocl_pyopencl_nonce_find(EMPTY, "", &token));
}

TEST(a_log_that_names_it_is_known)
{
	static const char log[] = "<source>:3:16: warning: unused pyopencl_defeat_cache_" DIGITS;

	CU_ASSERT(ocl_pyopencl_nonce_is_in_log((struct cmn_view){ log, sizeof(log) - 1 }));
	CU_ASSERT(!ocl_pyopencl_nonce_is_in_log((struct cmn_view){ log, 20 }));
	CU_ASSERT(!ocl_pyopencl_nonce_is_in_log(EMPTY));
}
