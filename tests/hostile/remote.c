/* SPDX-License-Identifier: MIT */
/* remote: preloaded, it says of every file system that it is NFS. */
#include <sys/vfs.h>

__attribute__((visibility("default"))) int fstatfs(int fd, struct statfs *ret)
{
	(void)fd;
	*ret = (struct statfs){ .f_type = 0x6969 };
	return 0;
}
