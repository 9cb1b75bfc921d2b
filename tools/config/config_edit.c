/* SPDX-License-Identifier: MIT */
/*
 * config_edit: cuts the text into lines, and puts the new one together of them; takes the lock of the directory,
 * and writes the new file beside the old one.
 */
#include "tools/config/config_edit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/config.h"
#include "cachecore/config_line.h"
#include "common/file.h"
#include "tools/memory.h"
#include "tools/tool.h"

struct line {
	struct cmn_view text;	/* with its end */
	bool is_setting;	/* of what is edited: */
	size_t value, value_end;	/* offsets of its value */
};

/* ret_behind: before which line a new one goes; SIZE_MAX: the section is not there. The caller frees the lines. */
static struct line *cut(struct cmn_view text, const struct config_edit *edit, size_t *ret_count, size_t *ret_behind)
{
	struct line *lines = NULL;
	bool inside = !edit->program;	/* the part that is edited */
	size_t count = 0, behind = SIZE_MAX;

	for (const char *at = text.len ? text.data : "", *end = at + text.len, *next; at < end; at = next, count++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		char *copy = memory_copy_view((struct cmn_view){ at, (size_t)((stop ? stop : end) - at) });
		struct cc_config_line split;

		next = stop ? stop + 1 : end;
		memory_grow(lines, count);
		lines[count] = (struct line){ .text = { at, (size_t)(next - at) } };
		cc_config_line_split(copy, &split);
		if (split.kind == CC_CONFIG_LINE_SECTION || split.kind == CC_CONFIG_LINE_BAD_SECTION) {
			/* For all, and nothing was there yet: before the first section. */
			if (!edit->program && behind == SIZE_MAX)
				behind = 0;
			inside = edit->program && split.kind == CC_CONFIG_LINE_SECTION &&
				 strcmp(split.name, edit->program) == 0;
			behind = inside ? count + 1 : behind;
		} else if (inside && split.kind == CC_CONFIG_LINE_SETTING) {
			behind = count + 1;
			lines[count].is_setting = strcasecmp(split.name, edit->name) == 0;
			lines[count].value = (size_t)(split.value - copy);
			lines[count].value_end = lines[count].value + strlen(split.value);
		}
		free(copy);
	}
	*ret_count = count;
	*ret_behind = !edit->program && behind == SIZE_MAX ? count : behind;
	return lines;
}

/* With another value: what is before and behind that stays, a comment too. */
static void append_changed(const struct line *line, const char *value, struct cmn_buffer *ret)
{
	const char *text = line->text.data;

	cmn_buffer_append(ret, text, line->value);
	/* No value was there: its place is right behind "=". */
	cmn_buffer_printf(ret, "%s%s", line->value == line->value_end ? " " : "", value);
	cmn_buffer_append(ret, text + line->value_end, line->text.len - line->value_end);
}

static void append_new(const struct config_edit *edit, bool section, struct cmn_buffer *ret)
{
	if (ret->len && ret->data[ret->len - 1] != '\n')
		cmn_buffer_append_u8(ret, '\n');
	if (section)
		cmn_buffer_printf(ret, "%s[program %s]\n", ret->len ? "\n" : "", edit->program);
	cmn_buffer_printf(ret, "%s = %s\n", edit->name, edit->value);
}

/*
 * Appends the new text to ret. The last line of the setting gets the value, because the last one
 * counts; a new line goes behind the last setting of its part, and a new section to the end.
 * false: nothing had to be changed.
 */
static bool edit_text(struct cmn_view text, const struct config_edit *edit, struct cmn_buffer *ret)
{
	size_t count, behind, last = SIZE_MAX;
	struct line *lines = cut(text, edit, &count, &behind);

	for (size_t i = 0; i < count; i++)
		last = lines[i].is_setting ? i : last;
	for (size_t i = 0; i <= count; i++) {
		if (edit->value && last == SIZE_MAX && i == (behind < count ? behind : count))
			append_new(edit, behind == SIZE_MAX, ret);
		if (i == count)
			break;
		if (!lines[i].is_setting || (edit->value && i != last))
			cmn_buffer_append(ret, lines[i].text.data, lines[i].text.len);
		else if (edit->value)
			append_changed(&lines[i], edit->value, ret);
	}
	free(lines);
	if (ret->failed)
		memory_end();
	return edit->value || last != SIZE_MAX;
}

/* Whether a line is read as that, and as nothing more. Takes the line. */
static bool reads_as(char *line, enum cc_config_line_kind kind, const char *name, const char *value)
{
	struct cc_config_line split;
	bool same = false;

	if (!strchr(line, '\n')) {
		cc_config_line_split(line, &split);
		same = split.kind == kind && strcmp(split.name, name) == 0 &&
		       (!value || strcmp(split.value, value) == 0);
	}
	free(line);
	return same;
}

bool config_edit_fits(const char *name, const char *value)
{
	return reads_as(memory_printf("%s = %s", name, value), CC_CONFIG_LINE_SETTING, name, value);
}

bool config_edit_names_program(const char *name)
{
	return reads_as(memory_printf("[program %s]", name), CC_CONFIG_LINE_SECTION, name, NULL);
}

/* One name is enough, since there is a lock: what a killed command left goes before. */
#define NEW_NAME ".ckcache.conf.new"

static enum cmn_status from_errno(void)
{
	return cmn_status_from_errno(errno);
}

/* As the old file (NULL: there was none), with that text. secret: but its owner's alone. */
static enum cmn_status fill(int fd, const struct stat *old, mode_t mode, bool secret,
			    struct cmn_view text)
{
	bool kept = !old || fchown(fd, old->st_uid, old->st_gid) == 0;
	enum cmn_status status = kept || geteuid() != 0 ? CMN_OK : from_errno();

	if (old)
		mode = old->st_mode & 0777;
	/* Of another group: it and everybody else get what both had. */
	if (!kept)
		mode = (mode & 0700) | (mode & mode >> 3 & 0007) * 0011;
	if (secret)
		mode &= 0700;
	/* What only its owner may read holds passwords: permissions come before the text. */
	if (status == CMN_OK && fchmod(fd, mode) < 0)
		status = from_errno();
	if (status == CMN_OK)
		status = cmn_file_write_all(fd, text.data, text.len);
	if (status == CMN_OK && fsync(fd) < 0)
		status = from_errno();
	return status;
}

static enum cmn_status replace(int dir_fd, const char *name, const struct stat *old, mode_t mode,
			       bool secret, struct cmn_view text)
{
	enum cmn_status status;
	int fd;

	/* Whatever has that name, nobody else may have it open: the file is a new one. */
	if (unlinkat(dir_fd, NEW_NAME, 0) < 0 && errno != ENOENT)
		return from_errno();
	fd = cmn_file_open_to_write(dir_fd, NEW_NAME, O_WRONLY | O_CREAT | O_EXCL, 0600, CMN_FILE_ANY, NULL);
	if (fd < 0)
		return from_errno();
	status = fill(fd, old, mode, secret, text);
	if (close(fd) < 0 && status == CMN_OK)
		status = from_errno();
	if (status == CMN_OK && renameat(dir_fd, NEW_NAME, dir_fd, name) < 0)
		status = from_errno();
	if (status != CMN_OK)
		(void)unlinkat(dir_fd, NEW_NAME, 0);	/* what stays goes the next time */
	return status;
}

static enum cmn_status change(int dir_fd, const char *name, const struct config_edit *edit,
			      mode_t mode)
{
	struct cmn_buffer old = { 0 }, new = { 0 };
	struct stat info;
	bool there = fstatat(dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0;
	enum cmn_status status = cmn_file_read(dir_fd, name, CC_CONFIG_MAX_FILE, false, &old);

	if (status == CMN_MISS && !there)
		status = CMN_OK;
	/* Nobody would read what stands behind a NUL. */
	if (status == CMN_OK && old.len && memchr(old.data, 0, old.len))
		status = CMN_ERR_CORRUPT;
	if (status == CMN_OK && !edit_text(cmn_buffer_view(&old), edit, &new))
		status = CMN_MISS;
	if (status == CMN_OK && new.len > CC_CONFIG_MAX_FILE)
		status = CMN_ERR_TOO_LARGE;
	if (status == CMN_OK)
		status = replace(dir_fd, name, there ? &info : NULL, mode, edit->secret,
				 cmn_buffer_view(&new));
	cmn_buffer_release(&old);
	cmn_buffer_release(&new);
	return status == CMN_MISS ? CMN_OK : status;
}

/* The directory is made; the lock need not be had where the file system has none. */
static enum cmn_status change_in(const char *directory, const char *name,
				 const struct config_edit *edit, mode_t directory_mode, mode_t file_mode)
{
	enum cmn_status status = cmn_file_make_dirs(directory, directory_mode);
	int dir_fd;

	if (status != CMN_OK)
		return status;
	dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir_fd < 0)
		return from_errno();
	status = cmn_file_lock(dir_fd, tool_lock_until());
	if (status == CMN_OK || status == CMN_ERR_IO)
		status = change(dir_fd, name, edit, file_mode);
	(void)close(dir_fd);	/* a directory: nothing to be lost */
	return status;
}

void config_write(const char *path, const struct config_edit *edit, mode_t directory_mode, mode_t file_mode)
{
	struct stat info;
	char *file = realpath(path, NULL), *slash;
	enum cmn_status status;

	if (!file && errno == ENOENT && lstat(path, &info) < 0)
		file = memory_copy(path);
	if (!file)
		tool_die("%s: %s", path, strerror(errno));
	slash = strrchr(file, '/');
	*slash = '\0';
	status = change_in(slash == file ? "/" : file, slash + 1, edit, directory_mode, file_mode);
	free(file);
	if (status != CMN_OK)
		tool_die("%s: %s", path, status == CMN_BUSY ? "another process is changing it" :
			 cmn_status_string(status));
}
