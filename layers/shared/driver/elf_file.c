/* SPDX-License-Identifier: MIT */
/* elf_file: bounded reads of the headers, the notes and the dynamic section. */
#include "layers/shared/driver/elf_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Headers and the build-id lie in the first page of what linkers write: one read. */
#define HEAD_SIZE 4096
#define MAX_HEADERS 256		/* program headers; real libraries have about ten */
#define MAX_NOTES 65536		/* bytes of one note segment; real ones have 64 */
#define MAX_ENTRIES 4096	/* dynamic entries; real libraries have about 30 */
#define MAX_TEXT 4096		/* as PATH_MAX: no longer name can be opened */
#define MAX_NEEDED_BYTES 65536
#define CHUNK 32		/* dynamic entries read at once: mostly all */

/* Our own header, which the linker defines: what we are is what ld.so loads here. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

struct reading {
	int fd;
	uint64_t size;		/* of the file */
	size_t head_len;
	uint8_t head[HEAD_SIZE];
	ElfW(Ehdr) header;
	struct drv_elf_file *file;
};

/* The strings' place in the dynamic section, known only at its end. */
struct dynamic {
	uint64_t table, table_size;	/* DT_STRTAB as an address, DT_STRSZ */
	uint64_t run_path;
	bool has_run_path, has_new_run_path;	/* of either kind; DT_RUNPATH */
	struct cmn_buffer needed;	/* u64 each: places in the table */
};

/* Exactly len bytes at the offset; CMN_ERR_CORRUPT beyond the file's end. */
static enum cmn_status read_at(const struct reading *reading, uint64_t offset, void *ret_data,
			       size_t len)
{
	uint8_t *data = ret_data;

	if (offset > reading->size || len > reading->size - offset)
		return CMN_ERR_CORRUPT;
	if (offset <= reading->head_len && len <= reading->head_len - offset) {
		memcpy(data, reading->head + offset, len);
		return CMN_OK;
	}
	while (len) {
		ssize_t got = pread(reading->fd, data, len, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return CMN_ERR_IO;
		if (got == 0)
			return CMN_ERR_CORRUPT;	/* cut short since fstat */
		data += got;
		len -= (size_t)got;
		offset += (uint64_t)got;
	}
	return CMN_OK;
}

static enum cmn_status read_program_header(const struct reading *reading, size_t index,
					   ElfW(Phdr) *ret_header)
{
	uint64_t table = reading->header.e_phoff;

	if (table > reading->size)
		return CMN_ERR_CORRUPT;
	return read_at(reading, table + index * sizeof(*ret_header), ret_header,
		       sizeof(*ret_header));
}

/* In the order of ld.so's own checks: what it passes over, and what makes dlopen fail. */
static enum cmn_status check_header(const ElfW(Ehdr) *header)
{
	const unsigned char *found = header->e_ident;
	const unsigned char *own = __ehdr_start.e_ident;

	if (memcmp(found, ELFMAG, SELFMAG) != 0)
		return CMN_ERR_CORRUPT;
	if (found[EI_CLASS] != own[EI_CLASS])
		return CMN_MISS;
	if (found[EI_DATA] != own[EI_DATA] || found[EI_VERSION] != EV_CURRENT ||
	    header->e_version != EV_CURRENT)
		return CMN_ERR_CORRUPT;
	if (header->e_machine != __ehdr_start.e_machine)
		return CMN_MISS;
	if (header->e_type != ET_DYN || header->e_phentsize != sizeof(ElfW(Phdr)) ||
	    header->e_phnum == 0)
		return CMN_ERR_CORRUPT;
	return header->e_phnum > MAX_HEADERS ? CMN_ERR_TOO_LARGE : CMN_OK;
}

/* The file offset of an address, and how many bytes its segment has from there. */
static enum cmn_status find_address(const struct reading *reading, uint64_t address,
				    uint64_t *ret_offset, uint64_t *ret_len)
{
	for (size_t i = 0; i < reading->header.e_phnum; i++) {
		ElfW(Phdr) header;
		enum cmn_status status = read_program_header(reading, i, &header);

		if (status != CMN_OK)
			return status;
		if (header.p_type != PT_LOAD || address < header.p_vaddr ||
		    address - header.p_vaddr >= header.p_filesz)
			continue;
		if (header.p_offset > reading->size ||
		    header.p_filesz > reading->size - header.p_offset)
			return CMN_ERR_CORRUPT;
		*ret_offset = header.p_offset + (address - header.p_vaddr);
		*ret_len = header.p_filesz - (address - header.p_vaddr);
		return CMN_OK;
	}
	return CMN_ERR_CORRUPT;
}

enum cmn_status drv_note_find(struct cmn_view notes, uint64_t alignment, const char *owner,
			      uint32_t type, struct cmn_view *ret)
{
	size_t owner_size = strlen(owner) + 1;	/* a note's name has its terminator */
	/* Sizes that wrap around pad alike: it is a power of two. */
	uint32_t padding = alignment == 8 ? 7 : 3, header_size = sizeof(ElfW(Nhdr));
	struct cmn_reader reader = cmn_reader_of(notes);

	while (reader.left >= sizeof(ElfW(Nhdr)) && !reader.failed) {
		struct cmn_view name, value;
		ElfW(Nhdr) note;

		cmn_reader_copy(&reader, &note, sizeof(note));
		name = cmn_reader_bytes(&reader, note.n_namesz);
		(void)cmn_reader_bytes(&reader, -(header_size + note.n_namesz) & padding);
		value = cmn_reader_bytes(&reader, note.n_descsz);
		if (!reader.failed && note.n_type == type && name.len == owner_size &&
		    memcmp(name.data, owner, owner_size) == 0) {
			*ret = value;
			return CMN_OK;
		}
		(void)cmn_reader_bytes(&reader, -note.n_descsz & padding);
	}
	return CMN_MISS;
}

/* As for loaded objects (loaded.c): the first build-id counts, even an empty one. */
static enum cmn_status read_notes(const struct reading *reading, const ElfW(Phdr) *header,
				  bool *ret_found)
{
	struct cmn_buffer bytes = { 0 };
	enum cmn_status status;
	struct cmn_view id;

	if (header->p_filesz > MAX_NOTES)
		return CMN_ERR_TOO_LARGE;
	if (!cmn_buffer_reserve(&bytes, (size_t)header->p_filesz + 1))
		return CMN_ERR_NOMEM;
	status = read_at(reading, header->p_offset, bytes.data, (size_t)header->p_filesz);
	if (status == CMN_OK) {
		bytes.len = (size_t)header->p_filesz;
		*ret_found = drv_note_find(cmn_buffer_view(&bytes), header->p_align, "GNU",
					   NT_GNU_BUILD_ID, &id) == CMN_OK;
		if (*ret_found)
			cmn_buffer_append(&reading->file->build_id, id.data, id.len);
		if (reading->file->build_id.failed)
			status = CMN_ERR_NOMEM;
	}
	cmn_buffer_release(&bytes);
	return status;
}

/* false: the section's end. */
static bool take_entry(const ElfW(Dyn) *entry, struct dynamic *dynamic, bool *ret_unusual)
{
	uint64_t value = entry->d_un.d_val;

	switch (entry->d_tag) {
	case DT_NULL:
		return false;
	case DT_NEEDED:
		cmn_buffer_append_u64(&dynamic->needed, value);
		break;
	case DT_STRTAB:
		dynamic->table = value;
		break;
	case DT_STRSZ:
		dynamic->table_size = value;
		break;
	case DT_RUNPATH:
	case DT_RPATH:
		if (entry->d_tag == DT_RPATH && dynamic->has_new_run_path)
			break;
		dynamic->run_path = value;
		dynamic->has_run_path = true;
		dynamic->has_new_run_path = entry->d_tag == DT_RUNPATH;
		break;
	case DT_FLAGS_1:
		*ret_unusual = *ret_unusual || (value & DF_1_NODEFLIB) != 0;
		break;
	case DT_FILTER:
	case DT_AUXILIARY:
	case DT_AUDIT:
	case DT_DEPAUDIT:
		*ret_unusual = true;
		break;
	default:
		break;
	}
	return true;
}

static enum cmn_status walk_dynamic(const struct reading *reading, const ElfW(Phdr) *header,
				    struct dynamic *dynamic)
{
	uint64_t count = header->p_filesz / sizeof(ElfW(Dyn));
	ElfW(Dyn) entries[CHUNK] = { 0 };

	for (uint64_t at = 0; at < count; at += CHUNK) {
		size_t some = count - at < CHUNK ? (size_t)(count - at) : CHUNK;
		enum cmn_status status;

		if (at + some > MAX_ENTRIES)
			return CMN_ERR_TOO_LARGE;
		if (header->p_offset > reading->size)
			return CMN_ERR_CORRUPT;
		status = read_at(reading, header->p_offset + at * sizeof(entries[0]), entries,
				 some * sizeof(entries[0]));
		if (status != CMN_OK)
			return status;
		for (size_t i = 0; i < some; i++) {
			if (!take_entry(&entries[i], dynamic, &reading->file->unusual))
				return dynamic->needed.failed ? CMN_ERR_NOMEM : CMN_OK;
		}
	}
	return CMN_ERR_CORRUPT;	/* ld.so reads on until DT_NULL, into whatever follows */
}

/* The string table, of which the part that mostly has all that is asked for is read at once. */
struct table {
	uint64_t offset, len;	/* in the file */
	uint64_t window_at;	/* in the table */
	size_t window_len;
	char window[MAX_TEXT];
};

static enum cmn_status move_window(const struct reading *reading, struct table *table, uint64_t at)
{
	size_t len = sizeof(table->window);
	enum cmn_status status;

	if (at >= table->len)
		return CMN_ERR_CORRUPT;
	if (len > table->len - at)
		len = (size_t)(table->len - at);
	table->window_len = 0;
	status = read_at(reading, table->offset + at, table->window, len);
	if (status != CMN_OK)
		return status;
	table->window_at = at;
	table->window_len = len;
	return CMN_OK;
}

/* NULL: it does not lie in the window to its end. */
static const char *in_window(const struct table *table, uint64_t at)
{
	const char *text;

	if (at < table->window_at || at - table->window_at >= table->window_len)
		return NULL;
	text = table->window + (at - table->window_at);
	return memchr(text, '\0', table->window_len - (size_t)(at - table->window_at)) ? text : NULL;
}

/* Appends the text with its terminator. */
static enum cmn_status read_text(const struct reading *reading, struct table *table, uint64_t at,
				 struct cmn_buffer *text)
{
	const char *found = in_window(table, at);

	if (!found) {
		enum cmn_status status = move_window(reading, table, at);

		if (status != CMN_OK)
			return status;
		found = in_window(table, at);
	}
	if (!found)
		return table->window_len == sizeof(table->window) ? CMN_ERR_TOO_LARGE :
								    CMN_ERR_CORRUPT;
	cmn_buffer_append(text, found, strlen(found) + 1);
	return text->failed ? CMN_ERR_NOMEM : CMN_OK;
}

static enum cmn_status read_string(const struct reading *reading, struct table *table, uint64_t at,
				   char **ret_text)
{
	struct cmn_buffer text = { 0 };
	enum cmn_status status = read_text(reading, table, at, &text);

	if (status == CMN_OK) {
		*ret_text = cmn_buffer_take_string(&text);	/* its second terminator harms nobody */
		if (!*ret_text)
			status = CMN_ERR_NOMEM;
	}
	cmn_buffer_release(&text);
	return status;
}

/* From the first string on: the linker puts an object's own names side by side. */
static enum cmn_status find_table(const struct reading *reading, const struct dynamic *dynamic,
				  struct table *table)
{
	struct cmn_reader needed = cmn_reader_of(cmn_buffer_view(&dynamic->needed));
	uint64_t first = UINT64_MAX;
	enum cmn_status status = find_address(reading, dynamic->table, &table->offset, &table->len);

	if (status != CMN_OK)
		return status;
	if (dynamic->table_size < table->len)
		table->len = dynamic->table_size;
	table->window_at = table->window_len = 0;
	while (needed.left) {
		uint64_t at = cmn_reader_u64(&needed);

		first = at < first ? at : first;
	}
	return first == UINT64_MAX ? CMN_OK : move_window(reading, table, first);
}

static enum cmn_status read_strings(const struct reading *reading, const struct dynamic *dynamic)
{
	struct cmn_reader needed = cmn_reader_of(cmn_buffer_view(&dynamic->needed));
	struct drv_elf_file *file = reading->file;
	enum cmn_status status;
	struct table table;

	if (!needed.left && !dynamic->has_run_path)
		return CMN_OK;
	status = find_table(reading, dynamic, &table);
	while (status == CMN_OK && needed.left) {
		status = read_text(reading, &table, cmn_reader_u64(&needed), &file->needed);
		if (file->needed.len > MAX_NEEDED_BYTES)
			status = CMN_ERR_TOO_LARGE;
	}
	if (status == CMN_OK && dynamic->has_run_path)
		status = read_string(reading, &table, dynamic->run_path, &file->run_path);
	return status;
}

static enum cmn_status read_segments(const struct reading *reading)
{
	bool has_build_id = false, has_dynamic = false;
	struct dynamic dynamic = { 0 };
	enum cmn_status status = CMN_OK;

	for (size_t i = 0; status == CMN_OK && i < reading->header.e_phnum; i++) {
		ElfW(Phdr) header;

		status = read_program_header(reading, i, &header);
		if (status != CMN_OK)
			break;
		if (header.p_type == PT_NOTE && !has_build_id) {
			status = read_notes(reading, &header, &has_build_id);
		} else if (header.p_type == PT_DYNAMIC) {
			/* ld.so takes the last; no linker writes two. */
			status = has_dynamic ? CMN_ERR_CORRUPT :
					       walk_dynamic(reading, &header, &dynamic);
			has_dynamic = true;
		}
	}
	if (status == CMN_OK)
		status = has_dynamic ? read_strings(reading, &dynamic) : CMN_ERR_CORRUPT;
	cmn_buffer_release(&dynamic.needed);
	return status;
}

static enum cmn_status open_regular(const char *path, struct reading *reading)
{
	struct stat info;
	ssize_t got;

	/* O_NONBLOCK: a FIFO is not waited on. */
	do {
		reading->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	} while (reading->fd < 0 && errno == EINTR);
	if (reading->fd < 0)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES ?
			       CMN_MISS : cmn_status_from_errno(errno);
	if (fstat(reading->fd, &info) < 0)
		return CMN_ERR_IO;
	if (!S_ISREG(info.st_mode))
		return CMN_ERR_ACCESS;
	reading->file->device = info.st_dev;
	reading->file->inode = info.st_ino;
	reading->size = (uint64_t)info.st_size;
	do {
		got = pread(reading->fd, reading->head, sizeof(reading->head), 0);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return CMN_ERR_IO;
	reading->head_len = (size_t)got;
	return CMN_OK;
}

enum cmn_status drv_elf_file_read(const char *path, struct drv_elf_file *ret_file)
{
	struct drv_elf_file file = { 0 };
	struct reading reading;
	enum cmn_status status;

	reading.file = &file;
	reading.size = reading.head_len = 0;	/* the head itself is too long to be cleared for nothing */
	status = open_regular(path, &reading);
	if (status == CMN_OK)
		status = read_at(&reading, 0, &reading.header, sizeof(reading.header));
	if (status == CMN_OK)
		status = check_header(&reading.header);
	if (status == CMN_OK)
		status = read_segments(&reading);
	if (reading.fd >= 0)
		(void)close(reading.fd);	/* only read from */
	if (status == CMN_OK)
		*ret_file = file;
	else
		drv_elf_file_release(&file);
	return status;
}

void drv_elf_file_release(struct drv_elf_file *file)
{
	cmn_buffer_release(&file->build_id);
	cmn_buffer_release(&file->needed);
	free(file->run_path);
	*file = (struct drv_elf_file){ 0 };
}
