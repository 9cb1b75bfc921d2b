/* SPDX-License-Identifier: MIT */
/* launch: finds and runs ckcache-remote. */
#include "cachecore/remote/launch.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/bytes.h"
#include "common/env.h"
#include "common/spawn.h"
#include "common/trusted.h"

#define MAX_ARGUMENTS 8

const char cc_launch_directory[] = CKCACHE_LIBEXECDIR;

/* Names, or their beginnings where they end with "*". */
static const char *const kept[] = {
	"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LANG", "LC_*", "XDG_*", "CKCACHE_*",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE",
	"http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS",
};

static bool is_kept(const char *variable)
{
	size_t len = strcspn(variable, "=");

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		size_t kept_len = strlen(kept[i]);

		if (kept[i][kept_len - 1] == '*') {
			if (len >= kept_len - 1 && !strncmp(variable, kept[i], kept_len - 1))
				return true;
		} else if (len == kept_len && !strncasecmp(variable, kept[i], len)) {
			return true;	/* proxies' names are written either way */
		}
	}
	return false;
}

enum cmn_status cc_launch_environment(char ***ret)
{
	struct cmn_buffer environment = { 0 };
	enum cmn_status status = cmn_env_copy(&environment);
	size_t count = 0, kept_count = 0;
	const char *at = NULL;
	char **copy = NULL;

	while ((at = cmn_env_next(&environment, at)))
		count++;
	if (status == CMN_OK && !(copy = calloc(count + 1, sizeof(*copy))))
		status = CMN_ERR_NOMEM;
	while (status == CMN_OK && (at = cmn_env_next(&environment, at))) {
		if (!is_kept(at))
			continue;
		copy[kept_count] = strdup(at);
		if (!copy[kept_count++])
			status = CMN_ERR_NOMEM;
	}
	cmn_buffer_release(&environment);
	if (status == CMN_OK)
		*ret = copy;
	else
		cmn_strings_free(copy);
	return status;
}

static enum cmn_status run_in(const char *directory, char *const *argv, char *const *environment,
			      int keep_fd)
{
	char path[PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s/" CC_LAUNCH_PROGRAM, directory);
	const char *reason;

	if (len < 0 || (size_t)len >= sizeof(path))
		return CMN_MISS;
	/* What is not there yet only this user and root can put there. */
	if (directory != cc_launch_directory && cmn_trusted_check(path, false, &reason) == CMN_ERR_ACCESS)
		return CMN_ERR_CORRUPT;
	return cmn_spawn_detached(path, argv, environment, keep_fd);
}

enum cmn_status cc_launch(char *const *directories, char *const *environment,
			  const char *const *arguments, int keep_fd)
{
	char name[] = CC_LAUNCH_PROGRAM;
	char *argv[MAX_ARGUMENTS + 2] = { name };
	enum cmn_status status = CMN_MISS;

	for (size_t i = 0; arguments[i]; i++) {
		if (i == MAX_ARGUMENTS)
			return CMN_ERR_INVALID;
		argv[1 + i] = (char *)(uintptr_t)arguments[i];
	}
	for (size_t i = 0; directories && directories[i] && status == CMN_MISS; i++)
		status = run_in(directories[i], argv, environment, keep_fd);
	return status == CMN_MISS ? run_in(cc_launch_directory, argv, environment, keep_fd)
				  : status;
}
