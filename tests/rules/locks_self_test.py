# SPDX-License-Identifier: MIT
"""A rule that cannot fail rules nothing: each breach of locks.py is made once, and found."""
import sys

import locks

GOOD = [
    ("common/file.c", "while (flock(fd, LOCK_EX | LOCK_NB) < 0)\n\t;\n(void)flock(fd, LOCK_UN);\n"),
    ("cachecore/disk/leaf.c", "/* flock(fd, LOCK_EX) would block */\nputs(\"flock(fd)\");\n"),
    ("layers/shared/observer/libc_hooks.c", "return cmn_file_lock(fd, 0);\n"),
]
BAD = [
    ("common/file.c", "while (flock(fd, LOCK_EX) < 0)\n\t;\n", "may block"),
    ("common/file.c", "while (flock(fd, LOCK_EX | (until ? 0 : LOCK_NB)) < 0)\n\t;\n", "may block"),
    ("common/file.c", "int (*lock)(int, int) = flock;\n", "does not understand"),
    ("common/file.c", "(void)fcntl(fd, F_SETLKW, &lock);\n", "does not understand"),
    ("cachecore/disk/leaf.c", "(void)flock(fd, LOCK_UN);\n", "cmn_file_lock"),
    ("tools/replay/replay.c", "if (flock(fd, LOCK_EX | LOCK_NB) == 0)\n\treturn;\n", "cmn_file_lock"),
    ("tools/replay/replay.c", "(void)lockf(fd, F_LOCK, 0);\n", "cmn_file_lock"),
    ("layers/a.c", "(void)fcntl(fd, F_OFD_SETLKW, &lock);\n", "cmn_file_lock"),
]


def main():
    failures = 0
    for path, text in GOOD:
        if locks.breaches(path, text):
            print("refused: %s: %s" % (text, locks.breaches(path, text)))
            failures += 1
    for path, text, wanted in BAD:
        found = locks.breaches(path, text)
        if not any(wanted in one for one in found):
            print("%s: wanted %s, found %s" % (text, wanted, found))
            failures += 1
    print("%d of %d breaches found" % (len(BAD) - failures, len(BAD)))
    return failures != 0


if __name__ == "__main__":
    sys.exit(main())
