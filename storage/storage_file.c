/* SPDX-License-Identifier: MIT */
/*
 * storage_file: values as files of a directory that several nodes share, over NFS, Lustre,
 * CephFS, or alike. A value is <directory>/<2 hex digits>/<rest> (backend.h), a claim
 * the same name with ".claim". Relies on this, and on no more:
 *
 *  - rename in one directory is atomic: whoever opens the name gets the whole old
 *    or the whole new file (RFC 1813, 3.3.14 for NFSv3; RFC 8881, 18.26 for
 *    NFSv4.1; POSIX, which Lustre's manual and CephFS's "Differences from POSIX"
 *    promise for it).
 *  - What is written, synced and closed before a rename is seen by whoever opens
 *    the file after it: close-to-open consistency (nfs(5), "Data and metadata
 *    coherence").
 *  - O_CREAT|O_EXCL makes a file for one of several nodes (open(2): on NFS from
 *    version 3 on).
 *
 * It does not rely on locks, on mappings, or on seeing soon what another node did:
 * an NFS client may take a name for absent for as long as it caches its directory.
 * A file that is seen is whole; one that is not is a miss.
 *
 * URL: file:/absolute/directory or file:///absolute/directory.
 * Attributes: umask (octal); trusted-only: all directories on the way and the files must
 * be this user's or root's, and nobody else's to write; max-size, which is for `ckcache
 * prune --remote`.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/env.h"
#include "common/file.h"
#include "storage/server.h"

#define TEMPORARY_PREFIX ".tmp-"
#define CLAIM_SUFFIX ".claim"
#define NANOSECONDS 1000000000ULL
#define ABANDONED_NS (24ULL * 3600 * NANOSECONDS)	/* no writer takes a day */
#define SWEEP_INTERVAL 256	/* of this many values that are stored, one sweeps its directory */
#define MAX_CLAIM_NS (UINT64_MAX / 4)
#define MAX_CLAIM 100		/* bytes of a claim file */
#define ATTEMPTS 2		/* of an operation that fails for what may have changed meanwhile */

struct directory {
	const char *path;
	const char *shown;
	bool trusted_only;
	size_t max_value;
	atomic_uint serial;
	char token[24];		/* tells this process's temporary files from others' */
};

/* A directory of values that is open, and a name in it. */
struct place {
	int fd;
	char path[STORAGE_KEY_PATH_SIZE];
	const char *name;	/* the path's last part */
};

/* Which problem is no errno value. */
#define NOT_TRUSTED (-1)
#define TOO_LARGE (-2)
#define CHANGED (-3)
#define NO_ROOM (-4)
#define NOTHING (-5)	/* none at all: STORAGE_NOOP */

static enum storage_result failed(const struct directory *directory, struct storage_request *request,
				  int problem)
{
	struct storage_error *error = &request->error;
	char path[STORAGE_KEY_PATH_SIZE];
	const char *why;

	switch (problem) {
	case NOT_TRUSTED:
		storage_key_path(request->key, path);
		storage_error_set(error, "not trusted: %.200s", path);
		return STORAGE_ERR;
	case TOO_LARGE:
		storage_error_set(error, "%s: the value has more than %zu bytes", request->doing,
				  directory->max_value);
		return STORAGE_ERR;
	case CHANGED:
		why = "the file changed while it was read";
		break;
	case EFBIG:
		why = "the limit on the size of files (RLIMIT_FSIZE) of this helper";
		break;
	case NO_ROOM:
		why = STORAGE_NO_ROOM;
		break;
	default:
		why = storage_error_phrase(problem);
	}
	storage_error_set(error, "%s: %s", request->doing, why);
	/* What a file server that is away looks like; others are spared the wait. */
	switch (problem) {
	case EIO:
	case ESTALE:
	case ETIMEDOUT:
	case EHOSTDOWN:
	case EHOSTUNREACH:
	case ENOTCONN:
		return STORAGE_DOWN;
	default:
		return STORAGE_ERR;
	}
}

/* safe: bits of which one is enough where others may write. */
static bool is_trusted(const struct stat *info, mode_t safe)
{
	return (info->st_uid == 0 || cmn_file_is_own(info->st_uid)) &&
	       (!(info->st_mode & (S_IWGRP | S_IWOTH)) || (info->st_mode & safe));
}

/*
 * Opens a directory through each one below the root, by names without links, and checks what it
 * has opened: whoever may write to one of them can exchange what is below.
 */
static int open_trusted(const char *path, int *ret_fd)
{
	const int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	char *names = realpath(path, NULL), *name = names, *slash = NULL;
	int fd = names ? open("/", O_PATH | flags) : -1;
	int problem = fd < 0 ? errno : 0;
	struct stat info;

	while (!problem && name) {
		int next;

		name++;	/* behind a slash */
		slash = strchr(name, '/');
		if (slash)
			*slash = '\0';
		next = openat(fd, name[0] ? name : ".", (slash ? O_PATH : O_RDONLY) | flags);
		if (next < 0 || fstat(next, &info) < 0)
			problem = errno;	/* also a link that has come meanwhile */
		else if (!is_trusted(&info, slash ? S_ISVTX : 0))	/* there only owners rename */
			problem = NOT_TRUSTED;
		(void)close(fd);	/* a directory */
		fd = next;
		name = slash;
	}
	free(names);
	if (problem && fd >= 0)
		(void)close(fd);	/* a directory */
	else if (!problem)
		*ret_fd = fd;
	return problem;
}

static int open_directory(const struct directory *directory, int *ret_fd)
{
	int fd;

	if (directory->trusted_only)
		return open_trusted(directory->path, ret_fd);
	fd = open(directory->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	*ret_fd = fd;
	return 0;
}

/* Opens a directory below another one; makes it if that is wanted. Closes the other one. */
static int step_into(const struct directory *directory, int *fd, const char *name, bool make)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int next = openat(*fd, name, flags);
	int problem = 0;
	struct stat info;

	if (next < 0 && errno == ENOENT && make && (mkdirat(*fd, name, 0777) == 0 || errno == EEXIST))
		next = openat(*fd, name, flags);
	if (next < 0 || fstat(next, &info) < 0)
		problem = errno;
	else if (directory->trusted_only && !is_trusted(&info, 0))
		problem = NOT_TRUSTED;
	(void)close(*fd);	/* a directory */
	*fd = next;
	return problem;
}

/* Opens the key's directory, for close_place on failure, too. make: creates what is missing. */
static int open_place(const struct directory *directory, struct cmn_view key, bool make,
		      struct place *ret)
{
	int problem = open_directory(directory, &ret->fd);
	char *at = ret->path, *slash;

	storage_key_path(key, ret->path);
	if (problem == ENOENT && make) {
		/* What it cannot make shows when it is opened. */
		(void)!cmn_file_make_dirs(directory->path, 0777);
		problem = open_directory(directory, &ret->fd);
	}
	while (!problem && (slash = strchr(at, '/'))) {
		*slash = '\0';
		problem = step_into(directory, &ret->fd, at, make);
		at = slash + 1;
	}
	ret->name = at;
	return problem;
}

static void close_place(struct place *place)
{
	if (place->fd >= 0)
		(void)close(place->fd);	/* a directory */
	place->fd = -1;	/* the number may be another thread's by the next attempt */
}

/* Opens a file that may be read; *ret_fd is -1 on failure. */
static int open_file(const struct directory *directory, const struct place *place,
		     const char *name, int *ret_fd, struct stat *ret_info)
{
	int fd = openat(place->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	int problem = 0;

	*ret_fd = -1;
	if (fd < 0)
		return errno == ELOOP ? NOT_TRUSTED : errno;
	if (fstat(fd, ret_info) < 0)
		problem = errno;
	else if (!S_ISREG(ret_info->st_mode) || (directory->trusted_only && !is_trusted(ret_info, 0)))
		problem = NOT_TRUSTED;
	if (problem)
		(void)close(fd);	/* only read */
	else
		*ret_fd = fd;
	return problem;
}

/* All of an open file, which must not change meanwhile; closes it. */
static int read_file(int fd, const struct stat *info, struct cmn_buffer *value)
{
	const size_t size = (size_t)info->st_size;
	struct stat after;
	int problem = 0;
	char more;

	if (!cmn_buffer_reserve(value, size))
		problem = ENOMEM;
	while (!problem && value->len < size) {
		ssize_t got = read(fd, value->data + value->len, size - value->len);

		if (got < 0 && errno != EINTR)
			problem = errno;
		else if (got == 0)
			problem = CHANGED;
		else if (got > 0)
			value->len += (size_t)got;
	}
	if (!problem) {
		ssize_t got = read(fd, &more, 1);

		if (got < 0 || fstat(fd, &after) < 0)
			problem = errno;	/* which may pass */
		else if (got > 0 || after.st_size != info->st_size)
			problem = CHANGED;
	}
	(void)close(fd);	/* only read */
	return problem;
}

static int get(struct directory *directory, struct storage_request *request)
{
	struct storage_value *value = request->ret_value;
	struct place place = { .fd = -1 };
	struct stat info = { 0 };
	int fd, problem = open_place(directory, request->key, false, &place);

	value->bytes.len = 0;
	if (!problem)
		problem = open_file(directory, &place, place.name, &fd, &info);
	if (!problem && (uint64_t)info.st_size > directory->max_value) {
		(void)close(fd);	/* only read */
		problem = TOO_LARGE;
	} else if (!problem && !storage_value_reserve(value, (size_t)info.st_size, (size_t)info.st_size)) {
		(void)close(fd);	/* only read */
		problem = NO_ROOM;
	} else if (!problem) {
		problem = read_file(fd, &info, &value->bytes);
	}
	close_place(&place);
	return problem == ENOENT ? NOTHING : problem;
}

/* A name that nobody else makes; ".tmp-" marks what may be swept. */
#define TEMPORARY_SIZE 64
static void make_temporary_name(struct directory *directory, char ret_name[TEMPORARY_SIZE])
{
	(void)snprintf(ret_name, TEMPORARY_SIZE, TEMPORARY_PREFIX "%s-%u", directory->token,
		       atomic_fetch_add(&directory->serial, 1));
}

/* Makes a file and writes all of it, to the disk if that is wanted. Nothing stays on failure. */
static int write_file(int dir_fd, const char *name, struct cmn_view bytes, bool sync)
{
	int fd = cmn_file_open_to_write(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL, 0666, CMN_FILE_ANY, NULL,
					NULL);
	const char *at = bytes.data;
	size_t left = bytes.len;
	int problem = fd < 0 ? errno : 0;

	if (problem)
		return problem;
	while (!problem && left) {
		ssize_t put = write(fd, at, left);

		if (put < 0 && errno != EINTR)
			problem = errno;
		else if (put > 0) {
			at += put;
			left -= (size_t)put;
		}
	}
	if (!problem && sync && fsync(fd) < 0)
		problem = errno;
	if (close(fd) < 0 && !problem)	/* says on NFS what could not be written */
		problem = errno;
	if (problem)
		(void)unlinkat(dir_fd, name, 0);	/* else it is swept */
	return problem;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* Removes temporary files and claims of processes that are gone. */
static void sweep(int dir_fd)
{
	int fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *listing = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	struct stat info;

	if (!listing && fd >= 0)
		(void)close(fd);	/* a directory */
	while (listing && (entry = readdir(listing))) {
		const char *name = entry->d_name;

		if (strncmp(name, TEMPORARY_PREFIX, strlen(TEMPORARY_PREFIX)) != 0 &&
		    !ends_with(name, CLAIM_SUFFIX))
			continue;
		if (fstatat(dir_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode) &&
		    info.st_mtim.tv_sec >= 0 && cmn_file_is_older(dir_fd, &info, ABANDONED_NS))
			(void)unlinkat(dir_fd, name, 0);	/* another node may do the same */
	}
	if (listing)
		(void)closedir(listing);
}

static int remove_value(struct directory *directory, struct storage_request *request)
{
	struct place place = { .fd = -1 };
	int problem = open_place(directory, request->key, false, &place);

	if (!problem && unlinkat(place.fd, place.name, 0) < 0)
		problem = errno;
	close_place(&place);
	return problem == ENOENT ? NOTHING : problem;
}

static int exists(struct directory *directory, struct storage_request *request)
{
	struct place place = { .fd = -1 };
	struct stat info;
	int fd = -1, problem = open_place(directory, request->key, false, &place);

	if (!problem)
		problem = open_file(directory, &place, place.name, &fd, &info);
	if (!problem)
		(void)close(fd);	/* only read */
	close_place(&place);
	request->ret_flag = problem == 0;
	return problem == ENOENT ? 0 : problem;
}

/* What a claim file says: "token ttl", and when it was made by the file system's clock. */
struct claim {
	char token[MAX_CLAIM + 1];
	uint64_t ttl_ns;
	uint64_t made_ns;
	ino_t file;
};

/* default_ttl: of one whose writer has not come to write it, or died there. */
static int read_claim(const struct directory *directory, const struct place *place,
		      const char *name, uint64_t default_ttl, struct claim *ret)
{
	struct cmn_buffer text = { 0 };
	struct stat info = { 0 };
	int fd, problem = open_file(directory, place, name, &fd, &info);
	char *space, *end;

	if (problem)
		return problem;
	*ret = (struct claim){ .ttl_ns = default_ttl, .made_ns = cmn_file_ns(info.st_mtim), .file = info.st_ino };
	if (info.st_size <= MAX_CLAIM)
		problem = read_file(fd, &info, &text);
	else
		(void)close(fd);	/* only read */
	cmn_buffer_append_u8(&text, 0);
	space = problem || text.failed ? NULL : strchr((char *)text.data, ' ');
	end = space ? strchr(space, '\n') : NULL;
	if (end) {
		*space = '\0';
		*end = '\0';
		if (cmn_env_parse_number(space + 1, 0, MAX_CLAIM_NS, &ret->ttl_ns) == CMN_OK)
			(void)snprintf(ret->token, sizeof(ret->token), "%s", (char *)text.data);
	}
	cmn_buffer_release(&text);
	return problem == CHANGED ? 0 : problem;	/* it is just being written */
}

/*
 * Whether a claim's time is over. The file system's clock decides, since nodes' clocks may
 * differ: if this one's says that it is over, or that it began in the future, the other is asked.
 */
static bool is_over(const struct place *place, const struct claim *claim)
{
	uint64_t now = cmn_clock_realtime();

	if (now >= claim->made_ns && now - claim->made_ns < claim->ttl_ns)
		return false;
	now = cmn_file_clock(place->fd);
	return now >= claim->made_ns && now - claim->made_ns >= claim->ttl_ns;
}

/*
 * Moves a claim aside whose time is over. It may be another one by now, which somebody has
 * just made: that one goes back, unless there is a third already. Then two have the claim.
 */
static bool move_aside(struct directory *directory, const struct place *place, const char *name,
		       const struct claim *old)
{
	char aside[TEMPORARY_SIZE];
	struct claim moved;
	struct stat info;
	bool good;

	if (fstatat(place->fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT;
	if (info.st_ino != old->file || cmn_file_ns(info.st_mtim) != old->made_ns)
		return false;
	make_temporary_name(directory, aside);
	if (renameat(place->fd, name, place->fd, aside) < 0)
		return errno == ENOENT;
	good = read_claim(directory, place, aside, 0, &moved) == 0 && moved.file == old->file &&
	       moved.made_ns == old->made_ns;
	if (!good)
		(void)linkat(place->fd, aside, place->fd, name, 0);	/* see above */
	(void)unlinkat(place->fd, aside, 0);	/* else it is swept */
	return good;
}

static int put(struct directory *directory, struct storage_request *request)
{
	char temporary[TEMPORARY_SIZE];
	struct place place = { .fd = -1 };
	struct stat info;
	int problem = open_place(directory, request->key, true, &place);

	make_temporary_name(directory, temporary);
	if (!problem && !request->overwrite &&
	    fstatat(place.fd, place.name, &info, AT_SYMLINK_NOFOLLOW) == 0)
		problem = NOTHING;
	if (!problem)
		problem = write_file(place.fd, temporary, request->value, true);
	if (!problem && renameat(place.fd, temporary, place.fd, place.name) < 0) {
		problem = errno;
		(void)unlinkat(place.fd, temporary, 0);	/* else it is swept */
	}
	if (!problem && atomic_fetch_add(&directory->serial, 1) % SWEEP_INTERVAL < 2)
		sweep(place.fd);
	close_place(&place);
	return problem;
}

static int claim(struct directory *directory, struct storage_request *request)
{
	const uint64_t ttl_ns = request->ttl < MAX_CLAIM_NS / 1000000 ? request->ttl * 1000000
								      : MAX_CLAIM_NS;
	char name[STORAGE_KEY_PATH_SIZE], text[MAX_CLAIM];
	struct place place = { .fd = -1 };
	struct claim claim;
	int problem = get(directory, request);

	request->ret_flag = false;
	if (problem != NOTHING)
		return problem;
	problem = open_place(directory, request->key, true, &place);
	(void)snprintf(name, sizeof(name), "%s" CLAIM_SUFFIX, place.name);
	(void)snprintf(text, sizeof(text), "%s %" PRIu64 "\n", request->token, ttl_ns);
	if (!problem)
		problem = write_file(place.fd, name, cmn_view_of(text), false);
	if (problem == EEXIST) {
		problem = read_claim(directory, &place, name, ttl_ns, &claim);
		if (!problem && strcmp(claim.token, request->token) == 0)
			request->ret_flag = true;	/* an attempt of the same request */
		else if (problem == ENOENT || (!problem && is_over(&place, &claim) &&
					       move_aside(directory, &place, name, &claim)))
			problem = write_file(place.fd, name, cmn_view_of(text), false);
		else if (!problem)
			problem = EEXIST;
	}
	request->ret_flag |= problem == 0;
	close_place(&place);
	return request->ret_flag || problem == EEXIST ? NOTHING : problem;
}

static int release(struct directory *directory, struct storage_request *request)
{
	char name[STORAGE_KEY_PATH_SIZE];
	struct place place = { .fd = -1 };
	struct claim claim;
	int problem = open_place(directory, request->key, false, &place);

	if (!problem) {
		(void)snprintf(name, sizeof(name), "%s" CLAIM_SUFFIX, place.name);
		problem = read_claim(directory, &place, name, ABANDONED_NS, &claim);
	}
	if (!problem && strncmp(claim.token, request->token, strlen(request->token)) != 0) {
		if (is_over(&place, &claim))
			(void)move_aside(directory, &place, name, &claim);	/* else it is swept */
		problem = ENOENT;
	}
	if (!problem && unlinkat(place.fd, name, 0) < 0)
		problem = errno;
	close_place(&place);
	return problem == ENOENT ? NOTHING : problem;
}

static int perform_once(struct directory *directory, struct storage_request *request)
{
	switch (request->verb) {
	case STORAGE_GET:
		return get(directory, request);
	case STORAGE_PUT:
		return put(directory, request);
	case STORAGE_REMOVE:
		return remove_value(directory, request);
	case STORAGE_EXISTS:
		return exists(directory, request);
	case STORAGE_CLAIM:
		return claim(directory, request);
	case STORAGE_RELEASE:
		return release(directory, request);
	}
	return EINVAL;
}

static enum storage_result perform(void *session, struct storage_request *request)
{
	int problem, attempts = 0;

	do {
		problem = perform_once(session, request);
	} while ((problem == ESTALE || problem == EIO) && ++attempts < ATTEMPTS);
	if (problem == NOTHING)
		return STORAGE_NOOP;
	return problem ? failed(session, request, problem) : STORAGE_OK;
}

static enum storage_result open_session(void *ctx, void **ret_session, struct storage_error *error)
{
	(void)error;
	*ret_session = ctx;	/* nothing stays open, for the file system may be unmounted */
	return STORAGE_OK;
}

static void close_session(void *session)
{
	(void)session;
}

static void describe(void *ctx, struct storage_error *ret_line)
{
	const struct directory *directory = ctx;

	storage_error_set(ret_line, "%s%s", directory->shown,
			  directory->trusted_only ? ", trusted files only" : "");
}

static bool setup(struct storage_options *options, void **ret_ctx, struct storage_error *error)
{
	static struct directory directory;
	const struct storage_url *url = &options->url;
	const char *mask_text = storage_options_text(options, "umask");
	const char *trusted = storage_options_text(options, "trusted-only");
	unsigned long mask;
	char *end;

	if (strcmp(url->scheme, "file") != 0 || url->path[0] != '/' || url->query[0] ||
	    (url->host[0] && strcmp(url->host, "localhost") != 0)) {
		storage_error_set(error, "the URL must be file:/absolute/directory");
		return false;
	}
	directory.path = url->path;
	directory.shown = url->shown;
	directory.max_value = (size_t)options->max_value_size;
	if (trusted && cmn_env_parse_bool(trusted, &directory.trusted_only) != CMN_OK) {
		storage_error_set(error, "trusted-only must be true or false");
		return false;
	}
	(void)storage_options_text(options, "max-size");	/* so that it is known */
	if (mask_text) {
		mask = strtoul(mask_text, &end, 8);
		if (mask_text[0] < '0' || mask_text[0] > '7' || *end || mask > 0777) {
			storage_error_set(error, "umask must be octal");
			return false;
		}
		(void)umask((mode_t)mask);	/* cannot fail */
	}
	if (directory.trusted_only)
		(void)umask(umask(077) | 022);	/* else it would not trust what it makes */
	/* With the time, since nodes and containers have processes of the same number. */
	(void)snprintf(directory.token, sizeof(directory.token), "%lx-%" PRIx64, (unsigned long)getpid(),
		       cmn_clock_realtime() & 0xffffffffffff);
	*ret_ctx = &directory;
	return true;
}

int main(int argc, char **argv)
{
	static const struct storage_backend backend = {
		.identity = "ckcache-storage-file " CKCACHE_VERSION,
		.setup = setup,
		.open = open_session,
		.close = close_session,
		.has_claims = true,
		.perform = perform,
		.describe = describe,
	};

	return storage_server_main(&backend, argc, argv);
}
