# SPDX-License-Identifier: MIT
"""Each breach of writers.py is made once, and found."""
import unittest

import rule_case
import writers

GOOD = [
    ("common/file.c", "int fd = openat(dir_fd, name, flags | O_CREAT, mode);\n"),
    ("tools/main.c", 'fd = open("/dev/null", O_RDWR | O_CLOEXEC);\n'),
    ("tools/a.c", 'file = fopen(path, "re");\n/* open(path, O_WRONLY) */\n'),
    ("tools/a.c", "fd = openat(dir_fd, name, O_RDONLY | O_CLOEXEC);\n"),
    ("cachecore/a.c", "fd = cmn_file_open_to_write(dir_fd, name, O_WRONLY | O_CREAT, 0600, CMN_FILE_ANY, NULL);\n"),
    ("layers/shared/observer/libc_hooks.c", "int fd = open(path, flags, mode);\nif (flags & O_CREAT)\n"),
]
BAD = [
    ("cachecore/record/trace.c", "fd = open(path, O_WRONLY | O_APPEND);\n"),
    ("cachecore/a.c", "fd = openat(place(dir), name,\n\tO_RDWR);\n"),
    ("cachecore/a.c", "const int flags = O_WRONLY | O_CREAT;\nfd = openat(dir_fd, name, flags, 0600);\n"),
    ("common/log_file.c", "fd = keep(open(path, O_WRONLY), forks);\n"),
    ("tools/a.c", 'file = fopen(path, "we");\n'),
    ("tools/a.c", 'file = fopen(path, "r+");\n'),
    ("tools/a.c", "fd = mkostemp(path, O_CLOEXEC);\n"),
    ("tools/a.c", "fd = creat(path, 0600);\n"),
    ("storage/a.c", "fd = open(path, O_TMPFILE | O_RDWR, 0600);\n"),
    ("tools/doctor/doctor_directory.c", "fd = open(path, O_WRONLY);\n"),
]


class Writers(rule_case.Case):
    def test_each_breach_is_found(self):
        for path, text in GOOD:
            self.assertEqual(writers.breaches(path, text), [], text)
        for path, text in BAD:
            self.finds(path, writers.breaches(path, text), text)


if __name__ == "__main__":
    unittest.main()
