/* SPDX-License-Identifier: MIT */
/* moved_entry: one name for another in options, logs and Intel's binaries. */
#include "layers/opencl/program/moved_entry.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "layers/opencl/program/loaded_program.h"
#include "layers/shared/driver/harmless.h"

/* From these names, in options, to those. */
struct names {
	struct cmn_view then[CC_INCLUDE_PATHS], now[CC_INCLUDE_PATHS];
	uint32_t count;
	struct cmn_buffer options_then, options_now;	/* without a terminator */
};

/* The longest name that stands there, and is not the beginning of a longer word; count: none does. */
static uint32_t name_at(const struct names *names, const char *at, size_t left)
{
	uint32_t found = names->count;

	for (uint32_t i = 0; *at == '/' && i < names->count; i++) {
		size_t len = names->then[i].len;

		if (len <= left && memcmp(at, names->then[i].data, len) == 0 &&
		    (len == left || drv_options_is_blank(at[len]) || memchr("/\"'", at[len], sizeof("/\"'"))) &&
		    (found == names->count || len > names->then[found].len))
			found = i;
	}
	return found;
}

/* Appends a text of options or a log. */
static void substitute(const struct names *names, struct cmn_view text, struct cmn_buffer *ret)
{
	const char *data = text.data;
	size_t done = 0;

	for (size_t at = 0; at < text.len;) {
		uint32_t i = name_at(names, data + at, text.len - at);

		if (i == names->count) {
			at++;
			continue;
		}
		cmn_buffer_append(ret, data + done, at - done);
		cmn_buffer_append(ret, names->now[i].data, names->now[i].len);
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
		if (drv_options_is_blank(data[i])) {
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
 * Intel's container: an ELF file of 64 bits, in which a section has the options, filled up with zeros to what comes
 * next. With other options all that comes later moves.
 */
struct container {
	Elf64_Ehdr header;
	Elf64_Shdr options;
	size_t at;	/* of that section's header */
	size_t next;	/* what comes next */
};

static Elf64_Shdr section_of(struct cmn_view image, const Elf64_Ehdr *header, size_t i)
{
	Elf64_Shdr ret;

	memcpy(&ret, (const char *)image.data + header->e_shoff + i * sizeof(ret), sizeof(ret));
	return ret;
}

static bool is_named(struct cmn_view image, const Elf64_Shdr *names, const Elf64_Shdr *section)
{
	static const char *const known[] = { "BuildOptions", ".misc.buildOptions" };
	const char *name = (const char *)image.data + names->sh_offset + section->sh_name;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t size = strlen(known[i]) + 1;

		if (section->sh_name <= names->sh_size && names->sh_size - section->sh_name >= size &&
		    memcmp(name, known[i], size) == 0)
			return true;
	}
	return false;
}

static uint64_t alignment_of(const Elf64_Shdr *section)
{
	return section->sh_addralign ? section->sh_addralign : 8;
}

/* So many bytes and what fills them up. */
static uint64_t filled(uint64_t len, uint64_t alignment)
{
	return (len + alignment - 1) / alignment * alignment;
}

static bool read_container(struct cmn_view image, struct container *ret)
{
	const char *data = image.data;
	const Elf64_Ehdr *header = &ret->header;
	Elf64_Shdr names;

	*ret = (struct container){ .next = image.len };
	if (image.len < sizeof(*header))
		return false;
	memcpy(&ret->header, data, sizeof(*header));
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64 ||
	    header->e_phnum || header->e_shentsize != sizeof(Elf64_Shdr) || header->e_shoff > image.len ||
	    header->e_shnum > (image.len - header->e_shoff) / sizeof(Elf64_Shdr) ||
	    header->e_shstrndx >= header->e_shnum)
		return false;
	names = section_of(image, header, header->e_shstrndx);
	if (names.sh_offset > image.len || names.sh_size > image.len - names.sh_offset)
		return false;
	for (size_t i = 0; i < header->e_shnum; i++) {
		Elf64_Shdr section = section_of(image, header, i);

		if (section.sh_offset > image.len || section.sh_size > image.len - section.sh_offset)
			return false;
		if (section.sh_type == SHT_NULL || !is_named(image, &names, &section))
			continue;
		ret->options = section;
		ret->at = header->e_shoff + i * sizeof(section);
	}
	if (!ret->at || alignment_of(&ret->options) > 64)
		return false;
	for (size_t i = 0; i < header->e_shnum; i++) {
		Elf64_Shdr section = section_of(image, header, i);

		if (section.sh_type != SHT_NULL && section.sh_offset > ret->options.sh_offset &&
		    section.sh_offset < ret->next)
			ret->next = section.sh_offset;
	}
	if (header->e_shoff > ret->options.sh_offset && header->e_shoff < ret->next)
		ret->next = header->e_shoff;
	if (ret->next - ret->options.sh_offset != filled(ret->options.sh_size, alignment_of(&ret->options)))
		return false;
	for (size_t at = ret->options.sh_offset + ret->options.sh_size; at < ret->next; at++) {
		if (data[at])
			return false;
	}
	return true;
}

/* Appends the image with that text for options; false: something else would not lie as it has to. */
static bool write_container(struct cmn_view image, const struct container *container, struct cmn_view options,
			    struct cmn_buffer *ret)
{
	const char *data = image.data;
	size_t begin = ret->len, len = filled(options.len, alignment_of(&container->options));
	uint64_t moved = len - (container->next - container->options.sh_offset);	/* modulo 2^64 */
	Elf64_Ehdr header = container->header;
	bool fits = true;

	cmn_buffer_append(ret, data, container->options.sh_offset);
	cmn_buffer_append(ret, options.data, options.len);
	for (size_t i = options.len; i < len; i++)
		cmn_buffer_append_u8(ret, 0);
	cmn_buffer_append(ret, data + container->next, image.len - container->next);
	if (ret->failed)
		return true;
	if (header.e_shoff >= container->next)
		header.e_shoff += moved;
	memcpy(ret->data + begin, &header, sizeof(header));
	for (size_t i = 0; i < header.e_shnum; i++) {
		Elf64_Shdr section = section_of(image, &container->header, i);
		size_t at = container->header.e_shoff + i * sizeof(section);

		if (at == container->at)
			section.sh_size = options.len;
		else if (section.sh_type != SHT_NULL && section.sh_offset >= container->next)
			section.sh_offset += moved;
		fits = fits && (section.sh_type == SHT_NULL || section.sh_addralign < 2 ||
				section.sh_offset % section.sh_addralign == 0);
		memcpy(ret->data + begin + header.e_shoff + i * sizeof(section), &section, sizeof(section));
	}
	return fits;
}

/* Appends the image; false: it has a name in another way than in its options. */
static bool move_image(const struct names *names, struct cmn_view image, struct cmn_buffer *ret)
{
	const char *data = image.data;
	struct cmn_buffer told = { 0 };
	struct container container;
	struct cmn_view options, rest;
	bool moves, ends;

	if (!has_name(names, image)) {
		cmn_buffer_append(ret, image.data, image.len);
		return true;
	}
	if (!read_container(image, &container))
		return false;
	options = (struct cmn_view){ data + container.options.sh_offset, container.options.sh_size };
	rest = (struct cmn_view){ data + container.next, image.len - container.next };
	ends = options.len && ((const char *)options.data)[options.len - 1] == '\0';
	moves = !has_name(names, (struct cmn_view){ data, container.options.sh_offset }) && !has_name(names, rest) &&
		tell_options(cmn_buffer_view(&names->options_then), cmn_buffer_view(&names->options_now),
			     (struct cmn_view){ options.data, options.len - ends }, &told);
	if (ends)
		cmn_buffer_append_u8(&told, 0);
	moves = moves && (told.failed || write_container(image, &container, cmn_buffer_view(&told), ret));
	ret->failed |= told.failed;
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

	*ret = (struct names){ .count = paths->count };
	if (!cc_manifest_moves(cc_entry_manifest(entry)) ||
	    cc_manifest_include_paths(cc_entry_manifest(entry), ret->then) != paths->count ||
	    cc_manifest_has_include_paths(cc_entry_manifest(entry), paths))
		return CMN_MISS;
	for (uint32_t i = 0; i < paths->count; i++)
		ret->now[i] = cc_include_path(paths, i);
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
