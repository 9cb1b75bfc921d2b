/* SPDX-License-Identifier: MIT */
/* remote: preloaded, it says of what is below $REMOTE_BELOW that it is on NFS; not set: of everything. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

__attribute__((visibility("default"))) int fstatfs(int fd, struct statfs *ret)
{
	const char *below = getenv("REMOTE_BELOW");
	char link[64], path[4096];
	ssize_t len;

	(void)snprintf(link, sizeof(link), "/proc/thread-self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	path[len < 0 ? 0 : len] = '\0';
	if (below && strncmp(path, below, strlen(below)) != 0)
		return (int)syscall(SYS_fstatfs, fd, ret);
	*ret = (struct statfs){ .f_type = 0x6969 };
	return 0;
}
