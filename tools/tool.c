/* SPDX-License-Identifier: MIT */
/* tool: messages and the cache, for every verb; files: a temporary in the same directory, renamed at the end. */
#include "tools/tool.h"

#include <errno.h>
#include <ftw.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cachecore/disk/mark.h"
#include "cachecore/disk/root.h"
#include "common/clock.h"
#include "common/file.h"
#include "common/printable.h"
#include "common/trusted.h"
#include "tools/memory.h"
#include "tools/text.h"

/* For each lock that somebody else has. */
#define PATIENCE_NS UINT64_C(3000000000)
#define MAX_MESSAGE 1024	/* a longer one names something absurd */

static void complain(const char *format, va_list args)
{
	char text[MAX_MESSAGE] = "";
	int len;

	terminal_progress_hide();
	len = vsnprintf(text, sizeof(text), format, args);
	/* Names of files and values may have anything in them. */
	cmn_printable_clean(text, '?');
	/* In one write, since workers have the same stderr; there is nobody to tell that it is gone. */
	(void)fprintf(stderr, "ckcache: %s%s\n", text, len >= (int)sizeof(text) ? "..." : "");
}

void tool_complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
}

void tool_end(int code)
{
	/* What it has allocated goes with it. */
	(void)fflush(stdout);	/* all of it was printed */
	_exit(code);
}

void tool_end_saying(int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	complain(format, args);
	va_end(args);
	tool_end(code);
}

char *tool_find_library(const char *name)
{
	/* As installed; as built. From the command's own place, wherever that was moved. */
	static const char *const folders[] = { CKCACHE_LIBDIR, "../lib" };
	char *self = realpath("/proc/self/exe", NULL);
	char *slash = self ? strrchr(self, '/') : NULL;
	char *found = NULL;

	if (slash)
		*slash = '\0';
	for (size_t i = 0; slash && !found && i < sizeof(folders) / sizeof(folders[0]); i++) {
		char *path = memory_printf("%s/%s", self, folders[i]), *folder = realpath(path, NULL);

		free(path);
		/* The file may be a link, whose name is what counts. */
		found = folder ? memory_printf("%s/%s", folder, name) : NULL;
		free(folder);
		if (found && access(found, F_OK) < 0) {
			free(found);
			found = NULL;
		}
	}
	free(self);
	return found;
}

bool tool_set_path(const char *variable, const char *path)
{
	char *cwd = path[0] == '/' ? NULL : getcwd(NULL, 0), *full;
	bool good = *path && (path[0] == '/' || cwd) && path[0] != '~';

	if (good) {
		full = memory_printf("%s%s%s", cwd ? cwd : "", cwd ? "/" : "", path);
		if (setenv(variable, full, 1) < 0)
			memory_end();
		free(full);
	} else {
		tool_complain("\"%s\" is not a path%s", path, *path == '~' ? ": ~ is for a shell to expand" : "");
	}
	free(cwd);
	return good;
}

char *tool_make_scratch(void)
{
	const char *parents[] = { getenv("TMPDIR"), "/tmp", "/var/tmp", "/dev/shm" };

	for (size_t i = 0; i < sizeof(parents) / sizeof(parents[0]); i++) {
		char *path;

		if (!parents[i] || !cmn_trusted_owners(parents[i]))
			continue;
		path = memory_printf("%s/ckcache-XXXXXX", parents[i]);
		if (mkdtemp(path))
			return path;
		free(path);
	}
	tool_complain("cannot create a temporary directory");
	return NULL;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *place)
{
	(void)info;
	(void)type;
	(void)place;
	(void)remove(path);	/* what is left is in the directory for temporary files */
	return 0;
}

void tool_remove_scratch(char *path)
{
	if (path)
		(void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);	/* see remove_one */
	free(path);
}

static void complain_of_cache(void *ctx, enum cmn_log_level level, const char *message)
{
	(void)ctx;
	(void)level;
	tool_complain("%s", message);
}

const struct cmn_log tool_log = { .level = CMN_LOG_WARNING, .sink = complain_of_cache };
const struct cmn_log tool_silent = { .level = CMN_LOG_NONE };

uint64_t tool_lock_until(void)
{
	return cmn_clock_monotonic() + PATIENCE_NS;
}

int tool_fail(const char *what, enum cmn_status status)
{
	tool_complain("%s: %s", what, status == CMN_BUSY ? "another process holds a lock" :
		      cmn_status_string(status));
	return TOOL_FAILED;
}

void tool_check(const char *what, enum cmn_status status)
{
	if (status != CMN_OK && status != CMN_MISS)
		tool_end(tool_fail(what, status));
}

static void load_config(const struct cmn_log *log, struct cc_config *ret)
{
	enum cmn_status status = cc_config_load(log, ret);

	if (status == CMN_ERR_NOMEM)
		memory_end();
	if (status != CMN_OK) {
		tool_complain("the environment cannot be read");
		tool_end(TOOL_FAILED);
	}
}

void tool_load_config(struct cc_config *ret)
{
	load_config(&tool_silent, ret);
}

struct tool_cache *tool_try_open(void)
{
	static struct tool_cache cache;
	enum cmn_status status;

	load_config(&tool_log, &cache.config);
	if (!cache.config.dir) {
		tool_complain("there is no cache directory: %s", cache.config.dir_problem ?
			      cache.config.dir_problem : "persistent is set to 0");
		return NULL;
	}
	status = cc_store_open(&cache.config, &tool_log, &cache.store);
	if (status == CMN_OK) {
		cc_store_set_patience(cache.store, PATIENCE_NS);
		return &cache;
	}
	/* Of these two the store has said more. */
	if (status != CMN_ERR_ACCESS && status != CMN_ERR_INVALID)
		(void)tool_fail(cache.config.dir, status);
	return NULL;
}

struct tool_cache *tool_open(void)
{
	struct tool_cache *cache = tool_try_open();

	if (!cache)
		tool_end(TOOL_FAILED);
	return cache;
}

char *tool_find_parent(const char *dir)
{
	char *path = memory_copy(dir), *slash;

	while (access(path, F_OK) < 0 && errno == ENOENT && (slash = strrchr(path, '/')))
		slash[slash == path] = '\0';	/* "/" is the last */
	return path;
}

/* Why nothing can be written to the directory, or where it would be made; NULL: it can. */
static const char *why_not_written(const char *dir)
{
	const char *reason = NULL;
	char *there = tool_find_parent(dir);
	struct statvfs space;

	if (access(there, W_OK | X_OK) < 0)
		reason = "it cannot be written to";
	else if (statvfs(there, &space) == 0 && space.f_blocks && !(geteuid() ? space.f_bavail : space.f_bfree))
		reason = "no space is left there";
	free(there);
	return reason;
}

char *tool_directory_problem(const struct cc_config *config)
{
	enum cc_root_kind kind = config->sharing == CC_SHARING_GROUP ? CC_ROOT_GROUP : CC_ROOT_OWN;
	const char *reason = NULL;

	if (!config->dir)
		return NULL;
	if (cc_root_check(config->dir, kind, &reason) != CMN_ERR_ACCESS)
		reason = config->read_only ? NULL : why_not_written(config->dir);
	return reason ? memory_printf("%s cannot be used: %s", config->dir, reason) : NULL;
}

bool tool_may_write(const struct tool_cache *cache)
{
	int fd;

	if (cache->config.read_only)
		tool_complain("%s: the cache is read-only (CKCACHE_READ_ONLY, or read_only in a "
			      "configuration file)", cache->config.dir);
	/* Before what tells that it is a cache goes. */
	else if (cc_root_open(cache->config.dir, &fd) == CMN_OK) {
		(void)cc_mark_make(fd);
		(void)close(fd);	/* a directory: nothing to be lost */
	}
	return !cache->config.read_only;
}

uint64_t tool_entries_in(int entry_dir_fd)
{
	struct cc_entry_dir_scan scan = { .temporaries = false };

	return cc_entry_dir_scan(entry_dir_fd, &scan) == CMN_OK ? scan.present[CC_ENTRY_DIR_SRC] : 0;
}

unsigned int tool_next_entry(uint64_t *entries)
{
	unsigned int n = (unsigned int)__builtin_ctzll(*entries);

	*entries &= *entries - 1;
	return n;
}

/* How long the sequence for a colour is that the text begins with; 0: it begins with none. */
static size_t colour_len(struct cmn_view text)
{
	const char *at = text.data;
	size_t len = 2;

	if (text.len < 3 || at[0] != '\033' || at[1] != '[')
		return 0;
	while (len < text.len && (at[len] == ';' || (at[len] >= '0' && at[len] <= '9')))
		len++;
	return len < text.len && at[len] == 'm' ? len + 1 : 0;
}

/* Whatever an entry holds, a terminal gets lines, columns and colours. */
static void clean_for_terminal(struct cmn_buffer *text)
{
	struct cmn_view rest = cmn_buffer_view(text);
	struct cmn_buffer clean = { 0 };

	while (rest.len) {
		struct cmn_character next = cmn_printable_next(rest);
		size_t len = colour_len(rest);

		if (len || next.shown || next.number == '\n' || next.number == '\t')
			cmn_buffer_append(&clean, rest.data, len ? len : next.len);
		else
			cmn_buffer_append_u8(&clean, '?');
		len = len ? len : next.len;
		rest = (struct cmn_view){ (const char *)rest.data + len, rest.len - len };
	}
	cmn_buffer_release(text);
	*text = clean;
}

int tool_print(struct cmn_buffer *text)
{
	int error = 0;

	terminal_progress_hide();
	if (!text->failed && isatty(STDOUT_FILENO))
		clean_for_terminal(text);
	if (text->failed)
		memory_end();
	/* Not as the cache writes: a reader that has left ends a command by SIGPIPE, as any other. */
	if ((text->len && fwrite(text->data, 1, text->len, stdout) != text->len) || fflush(stdout) != 0)
		error = errno;
	cmn_buffer_release(text);
	if (error && error != EPIPE)	/* where SIGPIPE is ignored: it has seen what it wanted */
		tool_complain("standard output: %s", strerror(error));
	return error ? TOOL_FAILED : TOOL_OK;
}

bool output_open(const char *file, const char *what, struct output *ret)
{
	struct output output = { .file = file, .fd = -1 };
	const char *slash = strrchr(file, '/');
	const char *problem = NULL;
	struct stat info;

	if (strcmp(file, "-") == 0) {
		output.fd = STDOUT_FILENO;
		if (isatty(STDOUT_FILENO)) {
			tool_complain("%s: %s is not for a terminal", file, what);
			return false;
		}
	} else if (lstat(file, &info) == 0 && !S_ISREG(info.st_mode)) {
		/* It would be replaced: a device, a link, a pipe. */
		problem = "it exists and is not a regular file (- is standard output)";
	} else {
		output.temporary = memory_printf("%.*s.ckcache-output-XXXXXX",
						 slash ? (int)(slash - file + 1) : 0, file);
		output.fd = cmn_file_make_unique(output.temporary);
		if (output.fd < 0) {
			problem = strerror(errno);
			free(output.temporary);
		}
	}
	if (problem)
		tool_complain("%s: %s", file, problem);
	else
		*ret = output;
	return !problem;
}

bool output_close(struct output *output, bool good)
{
	mode_t mask;

	if (!output->temporary)
		return good;
	mask = umask(0);
	(void)umask(mask);
	/* What other programs would have made it with; without it only the owner reads it. */
	if (good && fchmod(output->fd, 0666 & ~mask) == 0 && fsync(output->fd) == 0 &&
	    close(output->fd) == 0 && rename(output->temporary, output->file) == 0) {
		free(output->temporary);
		return true;
	}
	if (good)
		tool_complain("%s: %s", output->file, strerror(errno));
	else
		(void)close(output->fd);	/* what was written is removed */
	(void)unlink(output->temporary);
	free(output->temporary);
	return false;
}
