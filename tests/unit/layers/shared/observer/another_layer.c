/* SPDX-License-Identifier: MIT */
/* another_layer: a library with an observer as an unknown version of this one has it. */
#include <fcntl.h>
#include <unistd.h>

__asm__(".pushsection .note.ckcache, \"a\", %note\n"
	".balign 4\n"
	".long 8, 16, 1\n"
	".asciz \"ckcache\"\n"
	".quad 999\n"
	".quad 8\n"	/* no functions */
	".popsection\n");

__attribute__((visibility("default"))) void another_layer_looks(const char *path);

void another_layer_looks(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)close(fd);
}
