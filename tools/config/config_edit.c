/* SPDX-License-Identifier: MIT */
/*
 * config_edit: finds the place in the text, then puts the new one together around it; takes the lock of the
 * directory, and writes the new file beside the old one.
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
#include "common/file.h"
#include "tools/memory.h"
#include "tools/tool.h"

/* Offsets in the text. */
struct place {
	size_t line, end;	/* of the setting's last line, without its "\n"; SIZE_MAX: there is none */
	size_t value, value_end;	/* of its value */
	size_t behind;		/* where a new line goes; SIZE_MAX: the section is not there */
	bool inside;		/* of the part that is edited */
};

static void look_at_line(const struct config_edit *edit, const char *copy,
			 const struct cc_config_line *line, size_t start, size_t next,
			 struct place *place)
{
	if (line->kind == CC_CONFIG_LINE_SECTION || line->kind == CC_CONFIG_LINE_BAD_SECTION) {
		/* For all, and nothing was there yet: before the first section. */
		if (!edit->program && place->behind == SIZE_MAX)
			place->behind = 0;
		place->inside = edit->program && line->kind == CC_CONFIG_LINE_SECTION &&
				strcmp(line->name, edit->program) == 0;
		if (place->inside)
			place->behind = next;
	}
	if (!place->inside || line->kind != CC_CONFIG_LINE_SETTING)
		return;
	place->behind = next;
	if (strcasecmp(line->name, edit->name) != 0)
		return;
	place->line = start;
	place->value = start + (size_t)(line->value - copy);
	place->value_end = place->value + strlen(line->value);
}

static void find_place(struct cmn_view text, const struct config_edit *edit, struct place *ret)
{
	const char *data = text.data;
	size_t next;

	*ret = (struct place){ .line = SIZE_MAX, .behind = SIZE_MAX, .inside = !edit->program };
	for (size_t start = 0; start < text.len; start = next) {
		const char *stop = memchr(data + start, '\n', text.len - start);
		size_t end = stop ? (size_t)(stop - data) : text.len, last = ret->line;
		char *copy = memory_copy_view((struct cmn_view){ data + start, end - start });
		struct cc_config_line line;

		next = stop ? end + 1 : end;
		cc_config_line_split(copy, &line);
		look_at_line(edit, copy, &line, start, next, ret);
		free(copy);
		if (ret->line != last)
			ret->end = end;
	}
	if (!edit->program && ret->behind == SIZE_MAX)
		ret->behind = text.len;
}

static void append_part(struct cmn_view text, size_t from, size_t to, struct cmn_buffer *ret)
{
	if (to > from)
		cmn_buffer_append(ret, (const char *)text.data + from, to - from);
}

/* Its line with another value: what is before and behind that stays, a comment too. */
static void append_changed(struct cmn_view text, const struct place *place, const char *value,
			   struct cmn_buffer *ret)
{
	append_part(text, 0, place->value, ret);
	/* No value was there: its place is right behind "=". */
	cmn_buffer_printf(ret, "%s%s", place->value == place->value_end ? " " : "", value);
	append_part(text, place->value_end, text.len, ret);
}

static void append_new(struct cmn_view text, const struct config_edit *edit, size_t behind,
		       struct cmn_buffer *ret)
{
	size_t at = behind < text.len ? behind : text.len;

	append_part(text, 0, at, ret);
	if (at && ((const char *)text.data)[at - 1] != '\n')
		cmn_buffer_append_u8(ret, '\n');
	if (behind == SIZE_MAX)
		cmn_buffer_printf(ret, "%s[program %s]\n", at ? "\n" : "", edit->program);
	cmn_buffer_printf(ret, "%s = %s\n", edit->name, edit->value);
	append_part(text, at, text.len, ret);
}

/* Without any line of the setting. */
static void remove_all(struct cmn_view text, const struct config_edit *edit, struct place *place,
		       struct cmn_buffer *ret)
{
	struct cmn_buffer less = { 0 };

	cmn_buffer_append(ret, text.data, text.len);
	while (!ret->failed && place->line != SIZE_MAX) {
		append_part(cmn_buffer_view(ret), 0, place->line, &less);
		append_part(cmn_buffer_view(ret), place->end + 1, ret->len, &less);
		cmn_buffer_release(ret);
		*ret = less;
		less = (struct cmn_buffer){ 0 };
		find_place(cmn_buffer_view(ret), edit, place);
	}
}

/*
 * Appends the new text to ret. The last line of the setting gets the value, because the last one
 * counts; a new line goes behind the last setting of its part, and a new section to the end.
 * false: nothing had to be changed.
 */
static bool edit_text(struct cmn_view text, const struct config_edit *edit, struct cmn_buffer *ret)
{
	struct place place;

	find_place(text, edit, &place);
	if (!edit->value && place.line == SIZE_MAX)
		return false;
	if (!edit->value)
		remove_all(text, edit, &place, ret);
	else if (place.line != SIZE_MAX)
		append_changed(text, &place, edit->value, ret);
	else
		append_new(text, edit, place.behind, ret);
	if (ret->failed)
		memory_end();
	return true;
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

int config_write(const char *path, const struct config_edit *edit, mode_t directory_mode,
		 mode_t file_mode)
{
	struct stat info;
	char *file = realpath(path, NULL), *slash;
	enum cmn_status status;

	if (!file && errno == ENOENT && lstat(path, &info) < 0)
		file = strdup(path);
	slash = file ? strrchr(file, '/') : NULL;
	if (!slash) {
		tool_complain("%s: %s", path, file ? "not a path" : strerror(errno));
		free(file);
		return TOOL_FAILED;
	}
	*slash = '\0';
	status = change_in(slash == file ? "/" : file, slash + 1, edit, directory_mode, file_mode);
	free(file);
	if (status == CMN_OK)
		return TOOL_OK;
	tool_complain("%s: %s", path, status == CMN_BUSY ? "another process is changing it" :
		      cmn_status_string(status));
	return TOOL_FAILED;
}
