/* SPDX-License-Identifier: MIT */
/* Tests of moved_entry.h: what has the names of include paths, and what it is with others. */
#include "layers/opencl/program/moved_entry.h"

#include <elf.h>

#include "layers/opencl/program/loaded_program.h"
#include "tests/support/unit.h"

/* A container as Intel's drivers have it: the options, then code, then the sections' names. late: as since 2023. */
static struct cmn_buffer container(const char *options, const char *code, uint64_t alignment, bool late)
{
	static const char names[] = "\0BuildOptions\0SPIRV Object\0.misc.buildOptions";
	const char *const contents[] = { options, code, names };
	const size_t lens[] = { strlen(options), strlen(code), sizeof(names) };
	const Elf64_Word at[] = { late ? 27 : 1, 14, 14 };
	Elf64_Shdr sections[4] = { { .sh_type = SHT_NULL } };
	Elf64_Ehdr header = {
		.e_ident = ELFMAG, .e_shoff = sizeof(header), .e_shentsize = sizeof(sections[0]), .e_shnum = 4, .e_shstrndx = 3,
	};
	struct cmn_buffer ret = { 0 };

	header.e_ident[EI_CLASS] = ELFCLASS64;
	cmn_buffer_append(&ret, &header, sizeof(header));
	if (!late)
		cmn_buffer_append(&ret, sections, sizeof(sections));
	for (size_t i = 0; i < 3; i++) {
		while (ret.len % alignment)
			cmn_buffer_append_u8(&ret, 0);
		sections[i + 1] = (Elf64_Shdr){ .sh_name = at[i], .sh_type = 0xff000005, .sh_offset = ret.len, .sh_size = lens[i],
						.sh_addralign = late ? 0 : alignment };
		cmn_buffer_append(&ret, contents[i], lens[i]);
	}
	while (ret.len % alignment)
		cmn_buffer_append_u8(&ret, 0);
	if (late) {
		header.e_shoff = ret.len;
		cmn_buffer_append(&ret, sections, sizeof(sections));
	}
	CU_ASSERT_FALSE_FATAL(ret.failed);
	memcpy(ret.data, &header, sizeof(header));
	memcpy(ret.data + header.e_shoff, sections, sizeof(sections));
	return ret;
}

static struct cc_include_paths paths_of(const char *options)
{
	struct cmn_buffer text = { 0 };
	struct cc_include_paths ret;

	cc_include_paths_take(options, &text, &ret);
	cmn_buffer_release(&text);
	CU_ASSERT_FATAL(ret.count > 0);
	return ret;
}

/* Of a build with these options; told and log with their terminators. image.data NULL: none. */
static struct cc_entry *entry_of(const char *options, struct cmn_view image, const char *log, const char *told)
{
	struct cc_include_paths paths = paths_of(options);
	struct cc_manifest *manifest = cc_manifest_new();
	struct cc_entry *entry = cc_entry_new(1000);

	if (image.data)
		cc_entry_add(entry, CC_TAG_IMAGE, 0, image.data, image.len);
	cc_entry_add(entry, OCL_TAG_LOG, 0, log, strlen(log) + 1);
	cc_entry_add(entry, OCL_TAG_OPTIONS, 0, told, strlen(told) + 1);
	CU_ASSERT_EQUAL_FATAL(cc_manifest_add_include_paths(manifest, &paths, false), CMN_OK);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, manifest), CMN_OK);
	return entry;
}

static bool can_move(const char *options, struct cmn_view image, const char *log, const char *told)
{
	struct cc_include_paths paths = paths_of(options);
	struct cc_entry *entry = entry_of(options, image, log, told);
	bool can = ocl_entry_can_move(entry, &paths);

	cc_entry_unref(entry);
	return can;
}

static bool has_text(const struct cc_entry *entry, uint32_t tag, const char *text)
{
	struct cmn_view field;

	return cc_entry_find(entry, tag, 0, &field) && cmn_view_equal(field, (struct cmn_view){ text, strlen(text) + 1 });
}

TEST(what_only_repeats_options_moves)
{
	static const char *const logs[] = {
		"", "a warning", "clang: warning: unused: '-I /a'", "'-I/a'\n'-I /a/'", "/ab/h.h:1:1: warning", "'-I /a/b'",
	};
	static const char *const fixed[] = {
		"/a/h.h:1:1: warning", "'-I /a'\n/a", "-I /a'", "'-I /a\n'", "'-I /a", "'/a'", "'-D/a'", "in /a",
	};

	for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++)
		CU_ASSERT_EQUAL(can_move("-I /a", (struct cmn_view){ 0 }, logs[i], "-I /a"), i != 4);
	for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
		CU_ASSERT_FALSE(can_move("-I /a", (struct cmn_view){ 0 }, fixed[i], "-I /a"));
	/* As pocl tells them, and as nobody does. */
	CU_ASSERT(can_move("  -I  /a\t-w ", (struct cmn_view){ 0 }, "", "-I /a -w"));
	CU_ASSERT_FALSE(can_move("-I /a -w", (struct cmn_view){ 0 }, "", "-w -I /a"));
	CU_ASSERT(can_move("-I /a -w", (struct cmn_view){ 0 }, "", ""));
}

TEST(an_image_moves_that_has_the_options_in_their_place)
{
	static const char options[] = "-I /a/b -DX";
	struct cmn_buffer image = container(options, "code", 8, false);

	CU_ASSERT(can_move(options, cmn_buffer_view(&image), "", ""));
	/* Without a name, whatever it is. */
	CU_ASSERT(can_move("-I /c", cmn_buffer_view(&image), "", ""));
	CU_ASSERT(can_move("-I /c", cmn_view_of("no container"), "", ""));
	CU_ASSERT_FALSE(can_move(options, cmn_view_of(options), "", ""));
	/* Cut anywhere, and with any byte of its headers another one: refused, or what it says. */
	for (size_t len = 0; len < image.len; len++)
		(void)can_move(options, (struct cmn_view){ image.data, len }, "", "");
	for (size_t at = 0; at < sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Shdr); at++) {
		for (int bit = 0; bit < 8; bit++) {
			image.data[at] ^= (uint8_t)(1 << bit);
			(void)can_move(options, cmn_buffer_view(&image), "", "");
			image.data[at] ^= (uint8_t)(1 << bit);
		}
	}
	/* Something stands behind them that is not filling. */
	image.data[sizeof(Elf64_Ehdr) + 4 * sizeof(Elf64_Shdr) + strlen(options)] = 1;
	CU_ASSERT_FALSE(can_move(options, cmn_buffer_view(&image), "", ""));
	cmn_buffer_release(&image);
	/* The code has the name as well; the section has more. */
	image = container(options, "code of /a/b", 8, false);
	CU_ASSERT_FALSE(can_move(options, cmn_buffer_view(&image), "", ""));
	cmn_buffer_release(&image);
	image = container("-I /a/b -DX -more", "code", 8, false);
	CU_ASSERT_FALSE(can_move(options, cmn_buffer_view(&image), "", ""));
	cmn_buffer_release(&image);
}

/* To a longer name, a shorter one, one of which the other is a part, and names that begin alike. */
TEST(a_moved_entry_is_that_of_a_build_there)
{
	static const char *const pairs[][2] = {
		{ "-I /a -DX", "-I /somewhere/else -DX" }, { "-I\"/some where\" -w", "-I\"/b\" -w" }, { "-I/a", "-I/a/b" },
		{ "-I/a/b", "-I/a" }, { "-I/a -I/ab -I/a/c", "-I/x -I/y -I/x/c" }, { "-I /a -I /b", "-I /b -I /a" },
	};

	for (size_t i = 0; i < 2 * sizeof(pairs) / sizeof(pairs[0]); i++) {
		const char *then = pairs[i / 2][i % 2], *now = pairs[i / 2][1 - i % 2];
		struct cc_include_paths paths = paths_of(now);
		const uint64_t alignment = i % 3 ? 8 : 1;
		struct cmn_buffer image = container(then, "code", alignment, i % 3 == 2);
		struct cmn_buffer wanted = container(now, "code", alignment, i % 3 == 2);
		char log[128], wanted_log[128];
		struct cc_entry *entry, *moved;
		struct cmn_view field;

		(void)snprintf(log, sizeof(log), "unused: '-I%.*s'", (int)paths_of(then).in[0].len, then + paths_of(then).in[0].at);
		(void)snprintf(wanted_log, sizeof(wanted_log), "unused: '-I%.*s'", (int)paths.in[0].len, now + paths.in[0].at);
		entry = entry_of(then, cmn_buffer_view(&image), log, then);
		CU_ASSERT(can_move(then, cmn_buffer_view(&image), log, then));
		moved = ocl_entry_move(entry, &paths);
		CU_ASSERT_PTR_NOT_NULL_FATAL(moved);
		CU_ASSERT_PTR_NOT_EQUAL(moved, entry);
		CU_ASSERT(cc_entry_find(moved, CC_TAG_IMAGE, 0, &field));
		CU_ASSERT(cmn_view_equal(field, cmn_buffer_view(&wanted)));
		CU_ASSERT(has_text(moved, OCL_TAG_LOG, wanted_log));
		CU_ASSERT(has_text(moved, OCL_TAG_OPTIONS, now));
		CU_ASSERT_EQUAL(cc_entry_build_ns(moved), 1000);
		cc_entry_unref(moved);
		/* Where it was built it is the same. */
		paths = paths_of(then);
		moved = ocl_entry_move(entry, &paths);
		CU_ASSERT_PTR_EQUAL(moved, entry);
		cc_entry_unref(moved);
		cc_entry_unref(entry);
		cmn_buffer_release(&image);
		cmn_buffer_release(&wanted);
	}
}

TEST(an_entry_that_names_its_paths_stays)
{
	struct cc_include_paths paths = paths_of("-I /a"), others = paths_of("-I /b");
	struct cc_manifest *manifest = cc_manifest_new();
	struct cc_entry *entry = cc_entry_new(1), *moved;

	CU_ASSERT_EQUAL_FATAL(cc_manifest_add_include_paths(manifest, &paths, true), CMN_OK);
	cc_entry_add(entry, OCL_TAG_LOG, 0, "'-I /a'", 8);
	CU_ASSERT_EQUAL_FATAL(cc_entry_finish(entry, manifest), CMN_OK);
	moved = ocl_entry_move(entry, &others);
	CU_ASSERT_PTR_EQUAL(moved, entry);
	cc_entry_unref(moved);
	cc_entry_unref(entry);
}
