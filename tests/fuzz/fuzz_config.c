/* SPDX-License-Identifier: MIT */
/*
 * fuzz_config: two configuration files and variables of any content. The
 * input's parts end with a byte 1: the system's file, the user's file, then
 * variables, whose first byte chooses the name. Whatever they hold, loading
 * gives a configuration that makes sense.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/config.h"
#include "common/bytes.h"

#define MAX_VARIABLES 24
#define MAX_DAYS 36500
#define MAX_SECONDS 86400

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Of each kind of value one at least. */
static const char *const names[] = {
	"CKCACHE_DIR", "CKCACHE_DISABLE", "CKCACHE_PERSISTENT", "CKCACHE_IN_MEM",
	"CKCACHE_EVICTION_DISABLE", "CKCACHE_MAX_SIZE", "CKCACHE_THRESHOLD", "CKCACHE_COMPRESSION",
	"CKCACHE_READ_ONLY_DIRS", "CKCACHE_CAPTURE", "CKCACHE_BUILD_WAIT", "CKCACHE_LOG",
	"CKCACHE_TRACE", "CKCACHE_REMOTE", "CKCACHE_SHARED", "CKCACHE_EVICTION_ORDER", "HOME",
	"XDG_CACHE_HOME",
};
#define NAME_COUNT (sizeof(names) / sizeof(names[0]))

/* The files: in memory, found by paths that stay. */
static struct {
	int system, user;
	char system_path[64], user_path[64];
	char directory[64], link[128];
} files = { -1, -1, "", "", "/tmp/ckcache-fuzz-XXXXXX", "" };

static void remove_files(void)
{
	char folder[96];

	(void)unlink(files.link);
	(void)snprintf(folder, sizeof(folder), "%s/ckcache", files.directory);
	(void)rmdir(folder);
	(void)rmdir(files.directory);
}

static void make_files(void)
{
	char folder[96];

	files.system = memfd_create("system", MFD_CLOEXEC);
	files.user = memfd_create("user", MFD_CLOEXEC);
	if (files.system < 0 || files.user < 0 || !mkdtemp(files.directory))
		exit(2);
	(void)snprintf(files.system_path, sizeof(files.system_path), "/proc/self/fd/%d", files.system);
	(void)snprintf(files.user_path, sizeof(files.user_path), "/proc/self/fd/%d", files.user);
	(void)snprintf(folder, sizeof(folder), "%s/ckcache", files.directory);
	(void)snprintf(files.link, sizeof(files.link), "%s/ckcache.conf", folder);
	if (mkdir(folder, 0700) < 0 || symlink(files.user_path, files.link) < 0)
		exit(2);
	(void)atexit(remove_files);
}

/* Up to the next byte 1, which *at moves past. */
static struct cmn_view next_part(const uint8_t **at, const uint8_t *end)
{
	const uint8_t *start = *at;
	const uint8_t *stop = start < end ? memchr(start, 1, (size_t)(end - start)) : NULL;
	size_t len = (size_t)((stop ? stop : end) - start);

	*at = stop ? stop + 1 : end;
	return (struct cmn_view){ start, len };
}

static void write_file(int fd, struct cmn_view text)
{
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text.data, text.len, 0) != (ssize_t)text.len)
		abort();
}

static void swallow(void *ctx, enum cmn_log_level level, const char *message)
{
	(void)level;
	*(size_t *)ctx += strlen(message);
}

static void check(const struct cc_config *config)
{
	if ((config->dir && (config->dir[0] != '/' || !config->persistent || config->dir_problem)) ||
	    (config->trace && config->trace[0] != '/') || !config->read_only_dirs)
		abort();
	for (size_t i = 0; config->read_only_dirs[i]; i++) {
		if (config->read_only_dirs[i][0] != '/')
			abort();
	}
	if (config->threshold_days > MAX_DAYS || config->build_wait > MAX_SECONDS ||
	    config->compression < CC_COMPRESSION_AUTO || config->compression > 9 ||
	    (unsigned int)config->capture > CC_CAPTURE_DEFERRED ||
	    (unsigned int)config->log_level > CMN_LOG_DEBUG ||
	    (unsigned int)config->sharing > CC_SHARING_READERS ||
	    (unsigned int)config->eviction_order > CC_EVICTION_NONE)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *variables[MAX_VARIABLES + 2] = { 0 }, **old = environ;
	const uint8_t *at = data, *end = data + size;
	size_t count = 0, complaints = 0;
	const struct cmn_log log = { CMN_LOG_DEBUG, swallow, &complaints };
	struct cc_config config;
	char home[80];

	if (files.system < 0)
		make_files();
	write_file(files.system, next_part(&at, end));
	write_file(files.user, next_part(&at, end));
	(void)snprintf(home, sizeof(home), "XDG_CONFIG_HOME=%s", files.directory);
	variables[count++] = home;
	while (at < end && count <= MAX_VARIABLES) {
		struct cmn_view part = next_part(&at, end);
		const uint8_t *bytes = part.data;

		/* A NUL ends the value, as it would in an environment. */
		if (part.len && asprintf(&variables[count], "%s=%.*s", names[bytes[0] % NAME_COUNT],
					 (int)part.len - 1, (const char *)bytes + 1) >= 0)
			count++;
	}
	variables[count] = NULL;
	environ = variables;
	if (cc_config_load_from(&log, files.system_path, &config) == CMN_OK) {
		check(&config);
		cc_config_release(&config);
	}
	environ = old;
	for (size_t i = 1; i < count; i++)
		free(variables[i]);
	return 0;
}
