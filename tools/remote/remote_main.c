/* SPDX-License-Identifier: MIT */
/*
 * ckcache-remote: does what an application must not do, for the remote tier and for recipes. The
 * cache starts it, as a process of its own, with the settings of the application:
 *
 *   ckcache-remote start SOCKET    becomes the storage helper
 *   ckcache-remote upload ROOT     signs and uploads what is noted there
 *   ckcache-remote replay ROOT     becomes `ckcache replay`, in the background
 *
 * It holds the secrets: what the helper needs to reach its server, and the private key.
 */
#include "tools/remote/remote_main.h"

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/printable.h"
#include "common/trusted.h"
#include "tools/tool.h"

#define MAX_MESSAGE 1024

void tool_complain(const char *format, ...)
{
	char text[MAX_MESSAGE] = "";
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(text, sizeof(text), format, arguments);	/* cut, if it must be */
	va_end(arguments);
	cmn_printable_clean(text, '?');
	(void)fprintf(stderr, "ckcache-remote: %s\n", text);
}

/* An application's own limits are not those of what serves others, as far as that may be undone. */
static void raise_limits(void)
{
	static const int limits[] = { RLIMIT_AS, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE };
	struct rlimit limit;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (getrlimit(limits[i], &limit) < 0)
			continue;
		limit.rlim_cur = limit.rlim_max;
		(void)setrlimit(limits[i], &limit);	/* up to there it is always allowed */
	}
}

/* For so long something new is begun at most. */
#define BUDGET "3600"

/* Descriptor 3 stays open, with its lock. */
static int become_replay(const char *root)
{
	char self[PATH_MAX], path[PATH_MAX + sizeof("/" CKCACHE_BINDIR "/ckcache")];
	char *slash, *installed = realpath(CKCACHE_LIBEXECDIR, NULL);
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const char *reason;
	bool is_installed;

	self[len > 0 ? len : 0] = '\0';
	slash = strrchr(self, '/');
	/* The application's may be relative to its own directory, or that of another user. */
	if (!slash || setenv("CKCACHE_DIR", root, 1) < 0)
		return TOOL_FAILED;
	*slash = '\0';
	/* As built it lies beside this program, and nowhere else. */
	is_installed = installed && strcmp(self, installed) == 0;
	free(installed);
	(void)snprintf(path, sizeof(path), "%s/%s/ckcache", self, is_installed ? CKCACHE_BINDIR : ".");	/* it fits */
	if (cmn_trusted_check(path, is_installed, &reason) == CMN_OK)
		(void)execl(path, "ckcache", "replay", "--background", "--budget", BUDGET, (char *)NULL);
	return TOOL_FAILED;
}

static int serve(const struct cc_config *config, const struct cmn_log *log, char **argv)
{
	struct cc_remote_setup setup;
	const char *problem = "no remote tier is configured";
	int code = TOOL_USAGE;

	if (cc_remote_setup(config, log, &setup, &problem) != CMN_OK) {
		tool_complain("%s", problem);
		return TOOL_FAILED;
	}
	if (!strcmp(argv[0], "start"))
		code = remote_start_helper(config, &setup, argv[1]);
	else if (!strcmp(argv[0], "upload"))
		code = remote_upload(config, &setup, argv[1]);
	cc_remote_setup_release(&setup);
	return code;
}

int main(int argc, char **argv)
{
	const struct cmn_log log = { .level = CMN_LOG_NONE };	/* the application's cache has logged it */
	struct cc_config config;
	int code;

	if (argc != 3) {
		tool_complain("the cache starts this program by itself");
		return TOOL_USAGE;
	}
	raise_limits();
	if (!strcmp(argv[1], "replay"))
		return become_replay(argv[2]);
	if (cc_config_load(&log, &config) != CMN_OK)
		return TOOL_FAILED;
	code = serve(&config, &log, argv + 1);
	cc_config_release(&config);
	return code;
}
