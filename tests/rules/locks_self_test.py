# SPDX-License-Identifier: MIT
"""Each breach of locks.py is made once, and found."""
import unittest

import locks
import rule_case

GOOD = [
    ("common/file.c", "while (flock(fd, LOCK_EX | LOCK_NB) < 0)\n\t;\n(void)flock(fd, LOCK_UN);\n"),
    ("cachecore/disk/entry_dir.c", "/* flock(fd, LOCK_EX) would block */\nputs(\"flock(fd)\");\n"),
    ("cachecore/disk/build_lock.c", "struct flock range;\n\nreturn fcntl(fd, F_SETLK, &range);\n"),
    ("layers/shared/observer/libc_hooks.c", "return cmn_file_lock(fd, 0);\n"),
]
BAD = [
    ("common/file.c", "while (flock(fd, LOCK_EX) < 0)\n\t;\n", "may block"),
    ("common/file.c", "while (flock(fd, LOCK_EX | (until ? 0 : LOCK_NB)) < 0)\n\t;\n", "may block"),
    ("common/file.c", "int (*lock)(int, int) = flock;\n", "does not understand"),
    ("common/file.c", "(void)fcntl(fd, F_SETLKW, &lock);\n", "does not understand"),
    ("cachecore/disk/entry_dir.c", "(void)flock(fd, LOCK_UN);\n", "cmn_file_lock"),
    ("tools/replay/replay.c", "if (flock(fd, LOCK_EX | LOCK_NB) == 0)\n\treturn;\n", "cmn_file_lock"),
    ("tools/replay/replay.c", "(void)lockf(fd, F_LOCK, 0);\n", "cmn_file_lock"),
    ("cachecore/disk/build_lock.c", "return fcntl(fd, F_SETLKW, &range);\n", "cmn_file_lock"),
    ("cachecore/disk/entry_dir.c", "return fcntl(fd, F_SETLK, &range);\n", "cmn_file_lock"),
    ("layers/a.c", "(void)fcntl(fd, F_OFD_SETLKW, &lock);\n", "cmn_file_lock"),
]


class Locks(rule_case.Case):
    def test_each_breach_is_found(self):
        for path, text in GOOD:
            self.assertEqual(locks.breaches(path, text), [], text)
        for path, text, wanted in BAD:
            self.finds(wanted, locks.breaches(path, text), text)


if __name__ == "__main__":
    unittest.main()
