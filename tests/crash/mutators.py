# SPDX-License-Identifier: MIT
"""mutators.py WRAPPED LIBRARY.a... : whether the recorder sees each change of the file system.

WRAPPED: names between commas. Fails if a library wants a function of the C
library that changes files or directories and is not wrapped.
"""
import re
import subprocess
import sys

# POSIX and glibc: what makes, changes, moves, removes or syncs files, and what could do so unseen.
MUTATORS = """
creat open openat openat2 open_by_handle_at mkstemp mkostemp mkstemps mkostemps mkdtemp tmpfile tmpnam
fopen fopen64 freopen fdopen popen
mkdir mkdirat mknod mknodat mkfifo mkfifoat link linkat symlink symlinkat
rename renameat renameat2 unlink unlinkat rmdir remove
write pwrite writev pwritev pwritev2 truncate ftruncate fallocate posix_fallocate
sendfile copy_file_range splice vmsplice tee mmap mremap msync
fsync fdatasync sync syncfs sync_file_range
setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr
close dup dup2 dup3 fcntl ioctl syscall
aio_write lio_listio io_submit
""".split()


def wanted(library):
    text = subprocess.run(["nm", "--undefined-only", "--format=posix", library], check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 2 and not line.endswith(":"):
            # Large-file, fortified and internal spellings: openat64, __openat_2, __pwrite_chk.
            yield re.sub(r"^__|64$|_2$|64_2$|_chk$", "", words[0].split("@")[0])


def main():
    wrapped, libraries = set(sys.argv[1].split(",")), sys.argv[2:]
    used = {name for library in libraries for name in wanted(library)} & set(MUTATORS)
    unseen = sorted(used - wrapped)
    for name in unseen:
        print("%s is used and not recorded: wrap it in record.c and CMakeLists.txt" % name)
    print("%d of the functions that change files are used" % len(used))
    return 1 if unseen or not used else 0


if __name__ == "__main__":
    sys.exit(main())
