/* SPDX-License-Identifier: MIT */
/* remote_program: looks for ckcache's own helper, then for ccache's; reads what both need to know. */
#include "tools/remote/remote.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cachecore/remote/launch.h"
#include "common/file.h"
#include "common/trusted.h"

#define MAX_SECRETS 65536

/* A line "NAME=VALUE" of the file, or a comment. */
static bool take_secret(struct cc_address *address, char *line)
{
	char *end;

	line += strspn(line, " \t");
	for (end = line + strlen(line); end > line && isspace((unsigned char)end[-1]); end--)
		end[-1] = '\0';
	if (!*line || *line == '#')
		return true;
	return strchr(line, '=') > line && cc_address_add(address, cmn_view_of(line)) == CMN_OK;
}

const char *remote_read_secrets(const char *path, struct cc_address *address)
{
	const struct rlimit none = { 0, 0 };
	struct cmn_buffer content = { 0 };
	const char *problem = NULL;
	char *text, *line, *next;
	struct stat info;
	size_t len;

	(void)setrlimit(RLIMIT_CORE, &none);	/* less is always allowed; what it starts inherits that */
	if (cmn_file_read_open(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW), MAX_SECRETS,
			       CMN_FILE_ANY, NULL, &content, &info) != CMN_OK)
		problem = "the file of remote_secrets cannot be read";
	else if (!cmn_file_is_own(info.st_uid) || (info.st_mode & 077))
		problem = "the file of remote_secrets is not this user's alone (chmod 600)";
	len = content.len;
	text = cmn_buffer_take_string(&content);
	if (!text && !problem)
		problem = "no memory";
	for (line = text; line && !problem; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (!take_secret(address, line))
			problem = "the file of remote_secrets has a line that is not NAME=VALUE";
	}
	if (text)
		explicit_bzero(text, len);
	free(text);
	return problem;
}

/* Where anybody says so, nobody but this user and root may be able to change it. */
static bool is_program(char ret[PATH_MAX], const char *directory, size_t len, const char *name)
{
	const char *reason;
	struct stat info;
	int size = snprintf(ret, PATH_MAX, "%.*s/%s", (int)len, directory, name);

	return size > 0 && size < PATH_MAX && *directory == '/' && stat(ret, &info) == 0 &&
	       S_ISREG(info.st_mode) && access(ret, X_OK) == 0 &&
	       (directory == cc_launch_directory || cmn_trusted_check(ret, false, &reason) == CMN_OK);
}

/* The helper of that name in the setting's directories, in the one of this installation, in $PATH. */
static bool find_named(const struct cc_config *config, const char *name, bool own, char ret[PATH_MAX])
{
	const char *path = own ? NULL : getenv("PATH");

	for (char **directory = config->remote_helpers; directory && *directory; directory++) {
		if (is_program(ret, *directory, strlen(*directory), name))
			return true;
	}
	if (is_program(ret, cc_launch_directory, strlen(cc_launch_directory), name))
		return true;
	while (path && *path) {
		size_t len = strcspn(path, ":");

		if (len && is_program(ret, path, len, name))
			return true;
		path += len + (path[len] == ':');
	}
	return false;
}

/* Where entries have no signatures, the helper must know what may be trusted. */
bool remote_find_helper(const struct cc_config *config, const struct cc_remote_setup *setup,
			char ret[PATH_MAX])
{
	char name[64];
	bool own = !setup->trust;

	(void)snprintf(name, sizeof(name), "ckcache-storage-%s", setup->address.scheme);	/* it fits */
	if (find_named(config, name, own, ret))
		return true;
	(void)snprintf(name, sizeof(name), "ccache-storage-%s", setup->address.scheme);	/* it fits */
	return !own && find_named(config, name, false, ret);
}

bool remote_find_starter(const struct cc_config *config, char ret[PATH_MAX])
{
	return find_named(config, CC_LAUNCH_PROGRAM, true, ret);
}
