/* SPDX-License-Identifier: MIT */
/* mark: a tag with a line of ckcache's own; else evidence in the files of an older cache. */
#include "cachecore/disk/mark.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/disk/space/number_file.h"
#include "common/file.h"
#include "common/hash.h"
#include "common/listing.h"

/* The first line is the standard's, the second one ckcache's. */
static const char tag[] = "Signature: 8a477f597d28d172789f06886806bc55\n"
			  "# A cache of ckcache: compiled compute kernels. Removing it costs time only.\n";

/* Without the root's lock, which an application would wait for: ckcache prune may sweep its temporary file. */
#define MARK_ATTEMPTS 3

static bool file_begins(int dir_fd, const char *name, const char *text)
{
	int fd = openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	size_t len = strlen(text);
	char begin[sizeof(tag)];
	bool begins;

	if (fd < 0)
		return false;
	/* Of a device or a FIFO too; it gives nothing, or something else. */
	begins = read(fd, begin, len) == (ssize_t)len && memcmp(begin, text, len) == 0;
	(void)close(fd);	/* read only */
	return begins;
}

/*
 * After a loss of power the mark, which is not synced, may be cut, or have other bytes. Any other
 * program's has the whole first line, and then not our second one.
 */
static bool is_marked(int dir_fd)
{
	int fd = openat(dir_fd, CC_MARK_NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	size_t line = strcspn(tag, "\n"), whole = sizeof(tag) - 1, same = 0;
	char begin[sizeof(tag) - 1];
	struct stat info = { 0 };
	ssize_t len;

	if (fd < 0)
		return false;
	len = read(fd, begin, sizeof(begin));
	while (len > 0 && same < (size_t)len && begin[same] == tag[same])
		same++;
	if (same < whole)
		(void)fstat(fd, &info);		/* what cannot be examined has another size */
	(void)close(fd);	/* read only */
	if (same == whole || len <= 0)
		return same == whole;
	if (same > line + 1)	/* within the second line */
		return same == (size_t)len || begin[same] == '\0';
	return same < line && (same == (size_t)len || (size_t)info.st_size == whole);
}

/* Whether a name in a directory is such a one. */
static bool has_recipe(int dir_fd, const char *directory)
{
	const struct dirent64 *item;
	struct cmn_listing listing;
	bool found = false;

	if (!cmn_listing_open(&listing, dir_fd, directory))
		return false;
	while (!found && (item = cmn_listing_next(&listing)))
		found = fnmatch("?*.recipe", item->d_name, 0) == 0;
	cmn_listing_close(&listing);
	return found;
}

/* What no other program has under that name. */
static bool is_evidence(int dir_fd, const char *name)
{
	struct stat info;

	if (cmn_hash_is_hex(name))
		return fstatat(dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(info.st_mode);
	if (strcmp(name, "stats.txt") == 0)
		return file_begins(dir_fd, name, "log_id ");
	if (strcmp(name, "events.log") == 0 || strcmp(name, "events.old") == 0)
		return file_begins(dir_fd, name, "cke\n");
	return strcmp(name, "recipes") == 0 && has_recipe(dir_fd, name);
}

/* Whether that is less than the first bytes of the file: there was no room for more. */
static bool is_cut(int dir_fd, const char *name, size_t len)
{
	char begin[] = "cke\n";

	if (strcmp(name, "events.log") != 0 || len >= sizeof(begin))
		return false;
	begin[len] = '\0';
	return file_begins(dir_fd, name, begin);
}

/*
 * The names of a cache's files. A directory with none but these, and one that only a cache has, is one,
 * whatever a loss of power has left of the bytes.
 */
enum name_kind {
	NAME_FOREIGN,
	NAME_OWN,		/* only its bytes tell whose it is */
	NAME_WHEN_EMPTY,	/* says nothing as long as it has none */
	NAME_NEUTRAL,		/* a file system's own, what a package's trigger leaves, a directory */
	NAME_PECULIAR,		/* neutral, but no other program's */
};

/* As the cache makes them: ".tmp-<pid>-<number>-<time>". */
static bool is_temporary(const char *name)
{
	const char *const parts[] = { "0123456789", "0123456789", "0123456789abcdef" };
	const char *at = name + strlen(CMN_FILE_TEMPORARY_PREFIX);
	size_t len = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++, at += len + (at[len] == '-')) {
		len = strspn(at, parts[i]);
		if (!len || (i < 2 && at[len] != '-'))
			return false;
	}
	return !*at;
}

/* Whether another program's mark has that name: with the standard's first line. */
static bool is_marked_otherwise(int dir_fd)
{
	char line[sizeof(tag)] = "";

	memcpy(line, tag, strcspn(tag, "\n"));
	return file_begins(dir_fd, CC_MARK_NAME, line) && !is_marked(dir_fd);
}

static enum name_kind kind_of(int dir_fd, const char *name)
{
	static const struct {
		const char *name;
		enum name_kind kind;
	} names[] = {
		{ "lost+found", NAME_NEUTRAL }, { "changed", NAME_NEUTRAL },
		{ "flights", NAME_NEUTRAL }, { "uploads", NAME_NEUTRAL }, { "build.lock", NAME_NEUTRAL },
		{ "days.txt", NAME_PECULIAR }, { "evict.lock", NAME_PECULIAR },
		{ "reuse.dat", NAME_PECULIAR }, { "tokens.dat", NAME_PECULIAR }, { "contents.dat", NAME_PECULIAR },
		{ "events.log", NAME_WHEN_EMPTY }, { "stats.txt", NAME_WHEN_EMPTY },
		{ "events.old", NAME_OWN }, { "recipes", NAME_OWN },
		{ "cache_size.txt", NAME_OWN }, { "last_cleanup.txt", NAME_OWN },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i].name) == 0)
			return names[i].kind;
	}
	if (strcmp(name, CC_MARK_NAME) == 0)
		return is_marked_otherwise(dir_fd) ? NAME_NEUTRAL : NAME_PECULIAR;
	if (strncmp(name, CMN_FILE_TEMPORARY_PREFIX, strlen(CMN_FILE_TEMPORARY_PREFIX)) == 0)
		return is_temporary(name) ? NAME_PECULIAR : NAME_NEUTRAL;
	return cmn_hash_is_hex(name) ? NAME_OWN : NAME_FOREIGN;
}

static bool is_neutral(int dir_fd, const char *name, enum name_kind kind)
{
	struct stat info;

	if (kind == NAME_WHEN_EMPTY)
		return fstatat(dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
		       S_ISREG(info.st_mode) &&
		       (info.st_size == 0 || is_cut(dir_fd, name, (size_t)info.st_size));
	return kind >= NAME_NEUTRAL;
}

/* A number, or something as short: a number after a loss of power, or another program's text. */
static bool is_short(int dir_fd, const char *name, bool *ret_number)
{
	struct stat info;
	uint64_t number;

	if (strcmp(name, "cache_size.txt") != 0 && strcmp(name, "last_cleanup.txt") != 0)
		return false;
	*ret_number = cc_number_file_read(dir_fd, name, &number) == CMN_OK;
	return fstatat(dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode) && info.st_size <= 21;
}

/* *ret_foreign: what is in it may be another program's. */
static bool has_evidence(int dir_fd, bool *ret_foreign)
{
	bool found = false, foreign = false, numbers = true, own = true, peculiar = false, number;
	const struct dirent64 *item;
	struct cmn_listing listing;
	enum name_kind kind;
	size_t names = 0;

	*ret_foreign = false;	/* what cannot be listed will tell later */
	if (!cmn_listing_open(&listing, dir_fd, "."))
		return false;
	while (!found && (item = cmn_listing_next(&listing))) {
		found = is_evidence(dir_fd, item->d_name);
		kind = kind_of(dir_fd, item->d_name);
		own = own && kind != NAME_FOREIGN;
		peculiar = peculiar || kind == NAME_PECULIAR;
		names++;
		if (is_short(dir_fd, item->d_name, &number))
			numbers = numbers && number;
		else
			foreign = foreign || !is_neutral(dir_fd, item->d_name, kind);
	}
	cmn_listing_close(&listing);
	/* A short text is the cache's if it is beside another file of the cache. */
	*ret_foreign = foreign || (!numbers && names == 1);
	return found || (own && peculiar);
}

bool cc_mark_may_take(int dir_fd)
{
	bool foreign;

	/* Once more: another process may have marked it, and then stored, while it was listed. */
	return is_marked(dir_fd) || has_evidence(dir_fd, &foreign) || !foreign || is_marked(dir_fd);
}

bool cc_mark_make(int dir_fd)
{
	const struct cmn_view text = { tag, sizeof(tag) - 1 };
	bool foreign;

	for (int i = 0; i < MARK_ATTEMPTS; i++) {
		if (file_begins(dir_fd, CC_MARK_NAME, tag) || cmn_file_publish(dir_fd, CC_MARK_NAME, &text, 1) == CMN_OK)
			return true;
	}
	return has_evidence(dir_fd, &foreign);
}
