/* SPDX-License-Identifier: MIT */
/* moved_entry: one name for another in options, logs and Intel's binaries. */
#include "layers/opencl/program/moved_entry.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "layers/opencl/program/loaded_program.h"

/* From these names, in options, to those. */
struct names {
	struct cmn_view then[CC_INCLUDE_PATHS], now[CC_INCLUDE_PATHS];
	uint32_t count;
	struct cmn_buffer options_then, options_now;	/* without a terminator */
};

static bool is_blank(char byte)
{
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

/* Whether one of the names stands there, and not the beginning of a longer one. */
static const struct cmn_view *name_at(const struct names *names, const char *at, size_t left, uint32_t *ret_i)
{
	for (uint32_t i = 0; *at == '/' && i < names->count; i++) {
		size_t len = names->then[i].len;

		if (len <= left && memcmp(at, names->then[i].data, len) == 0 &&
		    (len == left || is_blank(at[len]) || memchr("/\"'", at[len], sizeof("/\"'")))) {
			*ret_i = i;
			return &names->now[i];
		}
	}
	return NULL;
}

/* Appends a text of options or a log. */
static void substitute(const struct names *names, struct cmn_view text, struct cmn_buffer *ret)
{
	const char *data = text.data;
	const struct cmn_view *other;
	size_t done = 0;
	uint32_t i;

	for (size_t at = 0; at < text.len;) {
		other = name_at(names, data + at, text.len - at, &i);
		if (!other) {
			at++;
			continue;
		}
		cmn_buffer_append(ret, data + done, at - done);
		cmn_buffer_append(ret, other->data, other->len);
		done = at += names->then[i].len;
	}
	cmn_buffer_append(ret, data + done, text.len - done);
}

static bool has_name(const struct names *names, struct cmn_view field)
{
	for (uint32_t i = 0; i < names->count && field.len; i++) {
		if (memmem(field.data, field.len, names->then[i].data, names->then[i].len))
			return true;
	}
	return false;
}

/* Only as in "argument unused during compilation: '-I /path'", clang's words. */
static bool log_can_move(const struct names *names, struct cmn_view log)
{
	const char *data = log.data;

	for (uint32_t i = 0; i < names->count && log.len; i++) {
		size_t len = names->then[i].len;

		for (const char *at = data; (at = memmem(at, log.len - (size_t)(at - data), names->then[i].data, len)); at++) {
			size_t before = (size_t)(at - data), after = before + len;

			while (before && data[before - 1] == ' ')
				before--;
			while (after < log.len && data[after] != '\'' && data[after] != '\n')
				after++;
			if (before < 3 || memcmp(data + before - 3, "'-I", 3) != 0 || after == log.len || data[after] != '\'')
				return false;
		}
	}
	return true;
}

/* As pocl tells options: single blanks between them. */
static void append_trimmed(struct cmn_view options, struct cmn_buffer *ret)
{
	const char *data = options.data;
	bool pending = false, any = false;

	for (size_t i = 0; i < options.len; i++) {
		if (is_blank(data[i])) {
			pending = any;
			continue;
		}
		if (pending)
			cmn_buffer_append_u8(ret, ' ');
		cmn_buffer_append_u8(ret, (uint8_t)data[i]);
		pending = false;
		any = true;
	}
}

/* What a driver tells of the first options, told of the second. false: it is told in another way. */
static bool tell_options(struct cmn_view then, struct cmn_view now, struct cmn_view told, struct cmn_buffer *ret)
{
	struct cmn_buffer trimmed = { 0 };
	bool same = cmn_view_equal(told, then);

	if (same) {
		cmn_buffer_append(ret, now.data, now.len);
		return true;
	}
	append_trimmed(then, &trimmed);
	same = cmn_view_equal(told, cmn_buffer_view(&trimmed));
	if (same)
		append_trimmed(now, ret);
	cmn_buffer_release(&trimmed);
	return same;
}

/*
 * Intel's container: an ELF file of 64 bits whose section headers come first, then the sections one after the
 * other, each aligned. One that would not be the same again is no such container.
 */
struct container {
	Elf64_Ehdr header;
	Elf64_Shdr sections[16];
	size_t count, options;	/* options: the number of that section */
};

static bool read_container(struct cmn_view image, struct container *ret)
{
	static const char name[] = "BuildOptions";
	const char *data = image.data;
	const Elf64_Shdr *names;

	if (image.len < sizeof(ret->header))
		return false;
	memcpy(&ret->header, data, sizeof(ret->header));
	ret->count = ret->header.e_shnum;
	if (memcmp(ret->header.e_ident, ELFMAG, SELFMAG) != 0 || ret->header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    ret->header.e_phnum || ret->header.e_shentsize != sizeof(Elf64_Shdr) || ret->header.e_shoff > image.len ||
	    ret->count > sizeof(ret->sections) / sizeof(ret->sections[0]) ||
	    ret->count * sizeof(Elf64_Shdr) > image.len - ret->header.e_shoff || ret->header.e_shstrndx >= ret->count)
		return false;
	memcpy(ret->sections, data + ret->header.e_shoff, ret->count * sizeof(Elf64_Shdr));
	for (size_t i = 0; i < ret->count; i++) {
		if (ret->sections[i].sh_offset > image.len || ret->sections[i].sh_size > image.len - ret->sections[i].sh_offset)
			return false;
	}
	names = &ret->sections[ret->header.e_shstrndx];
	for (ret->options = 0; ret->options < ret->count; ret->options++) {
		const Elf64_Shdr *section = &ret->sections[ret->options];

		if (section->sh_name <= names->sh_size && names->sh_size - section->sh_name >= sizeof(name) &&
		    memcmp(data + names->sh_offset + section->sh_name, name, sizeof(name)) == 0)
			return true;
	}
	return false;
}

static void pad(struct cmn_buffer *ret, size_t begin, uint64_t alignment)
{
	while (!ret->failed && alignment > 1 && alignment <= 64 && (ret->len - begin) % alignment)
		cmn_buffer_append_u8(ret, 0);
}

/* Appends the image with that text for options. */
static void write_container(struct cmn_view image, const struct container *container, struct cmn_view options,
			    struct cmn_buffer *ret)
{
	const char *data = image.data;
	size_t begin = ret->len;
	uint64_t last = 1;

	cmn_buffer_append(ret, data, container->header.e_shoff);
	cmn_buffer_append(ret, container->sections, container->count * sizeof(Elf64_Shdr));
	for (size_t i = 0; i < container->count && !ret->failed; i++) {
		Elf64_Shdr section = container->sections[i];
		struct cmn_view content = { data + section.sh_offset, section.sh_size };

		if (section.sh_type == SHT_NULL)
			continue;
		if (i == container->options)
			content = options;
		pad(ret, begin, section.sh_addralign);
		section.sh_offset = ret->len - begin;
		section.sh_size = content.len;
		cmn_buffer_append(ret, content.data, content.len);
		if (!ret->failed)
			memcpy(ret->data + begin + container->header.e_shoff + i * sizeof(section), &section, sizeof(section));
		last = section.sh_addralign;
	}
	pad(ret, begin, last);
}

/* Appends the image; false: it has a name in another way than in its options. */
static bool move_image(const struct names *names, struct cmn_view image, struct cmn_buffer *ret)
{
	size_t begin = ret->len;
	struct container container;
	struct cmn_buffer told = { 0 };
	struct cmn_view options;
	bool moves, ends;

	if (!has_name(names, image)) {
		cmn_buffer_append(ret, image.data, image.len);
		return true;
	}
	if (!read_container(image, &container))
		return false;
	options = (struct cmn_view){ (const char *)image.data + container.sections[container.options].sh_offset,
				     container.sections[container.options].sh_size };
	write_container(image, &container, options, ret);
	moves = ret->failed || cmn_view_equal(image, (struct cmn_view){ ret->data + begin, ret->len - begin });
	ret->len = ret->failed ? ret->len : begin;
	ends = options.len && ((const char *)options.data)[options.len - 1] == '\0';
	moves = moves && tell_options(cmn_buffer_view(&names->options_then), cmn_buffer_view(&names->options_now),
				      (struct cmn_view){ options.data, options.len - ends }, &told);
	if (ends)
		cmn_buffer_append_u8(&told, 0);
	if (moves && !told.failed)
		write_container(image, &container, cmn_buffer_view(&told), ret);
	ret->failed |= told.failed;
	/* Elsewhere than in the options. */
	options.data = ret->failed ? NULL : memmem(ret->data + begin, ret->len - begin, told.data, told.len);
	if (moves && options.data) {
		const char *at = (const char *)ret->data + begin, *end = (const char *)ret->data + ret->len;

		moves = !has_name(names, (struct cmn_view){ at, (size_t)((const char *)options.data - at) }) &&
			!has_name(names, (struct cmn_view){ (const char *)options.data + told.len,
							    (size_t)(end - (const char *)options.data) - told.len });
	}
	cmn_buffer_release(&told);
	return moves;
}

/* Appends what the field is with the other names. */
static bool move_field(const struct names *names, uint32_t tag, struct cmn_view field, struct cmn_buffer *ret)
{
	size_t ends;

	switch (tag) {
	case CC_TAG_IMAGE:
	case OCL_TAG_OTHER_IMAGE:
		return move_image(names, field, ret);
	case OCL_TAG_LOG:
		substitute(names, field, ret);
		return log_can_move(names, field);
	case OCL_TAG_OPTIONS:
		ends = field.len && ((const char *)field.data)[field.len - 1] == '\0';
		if (!has_name(names, field) ||
		    !tell_options(cmn_buffer_view(&names->options_then), cmn_buffer_view(&names->options_now),
				  (struct cmn_view){ field.data, field.len - ends }, ret))
			break;
		cmn_buffer_append(ret, "", ends);
		return true;
	default:
		break;
	}
	cmn_buffer_append(ret, field.data, field.len);
	return !has_name(names, field);
}

/* CMN_OK, CMN_ERR_NOMEM; CMN_MISS: something has the names in a way that nobody knows. */
static enum cmn_status move(const struct cc_entry *entry, const struct names *names, struct cc_entry *ret)
{
	struct cmn_reader reader = cmn_reader_of(cc_entry_payload(entry));
	struct cmn_buffer field = { 0 };
	bool moves = true;

	while (reader.left && moves && !field.failed) {
		uint32_t tag = cmn_reader_u32(&reader), index = cmn_reader_u32(&reader);
		struct cmn_view value = cmn_reader_sized(&reader);

		field.len = 0;
		moves = !reader.failed && move_field(names, tag, value, &field);
		if (moves && ret)
			cc_entry_add(ret, tag, index, field.data, field.len);
	}
	cmn_buffer_release(&field);
	return field.failed ? CMN_ERR_NOMEM : moves ? CMN_OK : CMN_MISS;
}

bool ocl_entry_can_move(const struct cc_entry *entry, const struct cc_include_paths *paths)
{
	struct names names = { .count = paths->count };
	bool moves;

	for (uint32_t i = 0; i < paths->count; i++)
		names.then[i] = names.now[i] = cc_include_path(paths, i);
	cmn_buffer_append(&names.options_then, paths->options, strlen(paths->options));
	cmn_buffer_append(&names.options_now, paths->options, strlen(paths->options));
	moves = !names.options_then.failed && !names.options_now.failed && move(entry, &names, NULL) == CMN_OK;
	cmn_buffer_release(&names.options_then);
	cmn_buffer_release(&names.options_now);
	return moves;
}

/* The names by which it was built, and those of now. CMN_MISS: they are the same, or there are none. */
static enum cmn_status find_names(const struct cc_entry *entry, const struct cc_include_paths *paths, struct names *ret)
{
	struct names back;
	bool same = true;

	*ret = (struct names){ .count = paths->count };
	if (!cc_manifest_moves(cc_entry_manifest(entry)) ||
	    cc_manifest_include_paths(cc_entry_manifest(entry), ret->then) != paths->count)
		return CMN_MISS;
	for (uint32_t i = 0; i < paths->count; i++) {
		ret->now[i] = cc_include_path(paths, i);
		same = same && cmn_view_equal(ret->now[i], ret->then[i]);
	}
	if (same)
		return CMN_MISS;
	back = *ret;
	memcpy(back.then, ret->now, sizeof(back.then));
	memcpy(back.now, ret->then, sizeof(back.now));
	cmn_buffer_append(&ret->options_now, paths->options, strlen(paths->options));
	substitute(&back, cmn_buffer_view(&ret->options_now), &ret->options_then);
	return ret->options_now.failed || ret->options_then.failed ? CMN_ERR_NOMEM : CMN_OK;
}

struct cc_entry *ocl_entry_move(struct cc_entry *entry, const struct cc_include_paths *paths)
{
	struct cc_entry *moved = NULL;
	struct names names;
	enum cmn_status status = find_names(entry, paths, &names);

	if (status == CMN_MISS)
		return cc_entry_ref(entry);
	if (status == CMN_OK)
		moved = cc_entry_new(cc_entry_build_ns(entry));
	/* What could not be moved would be of builds with these paths alone. */
	if (moved && (move(entry, &names, moved) != CMN_OK || cc_entry_finish(moved, NULL) != CMN_OK)) {
		cc_entry_unref(moved);
		moved = NULL;
	}
	cmn_buffer_release(&names.options_now);
	cmn_buffer_release(&names.options_then);
	return moved;
}
