# SPDX-License-Identifier: MIT
"""One function opens what is written by its name: common/file.c's, which follows no link.

Whoever else opens a file for writing would have to think of links, FIFOs, second names and other
users' files again. Prints each place that does.

    writers.py SOURCE-DIRECTORY
"""
import re
import sys

from includes import files_below

FOLDERS = ("common", "cachecore", "layers", "tools", "storage")
PLACE = "common/file.c"
# Files that the kernel shows have one meaning, whoever opens them.
KERNELS = re.compile(r'\(\s*(?:\w+,\s*)?"/(?:dev|proc)/')
# What the application opens itself, passed on as it came; and a file of doctor's own that has no name.
PASSED_ON = {
    "layers/shared/observer/libc_hooks.c": ("openat(directory, path, flags, mode)", "open(path, flags, mode)"),
    "tools/doctor/doctor_directory.c": ("open(path, O_RDWR | O_CLOEXEC)",),
}
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
ALWAYS = re.compile(r"\b(?:creat|mk(?:o)?stemps?|mkostemp|tmpfile|freopen|fopen64|creat64)\s*\(")
OPENS = re.compile(r"\b(?:f?open(?:at)?(?:64)?|openat2)\s*(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))")
WRITES = re.compile(r'\bO_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND|TMPFILE)\b|"[wa][^"]*"|"r[be]*\+')
THE_ONE = re.compile(r"\bcmn_file_open_to_write\s*\([^;]*;")
# Flags that come by a variable: they may be any that the function has.
UNSEEN = re.compile(r",\s*(?:more_)?flags\b")


def breaches(path, text):
    """What one file has that it may not have."""
    if path == PLACE:
        return []
    text = COMMENT.sub(" ", text)
    found = ["%s: %s: use cmn_file_make_unique" % (path, call) for call in ALWAYS.findall(text)]
    for function in THE_ONE.sub(" ", text).split("\n}\n"):
        for match in OPENS.finditer(function):
            call, arguments = match.group(0), match.group(1)
            if call in PASSED_ON.get(path, ()) or KERNELS.match(arguments):
                continue
            if WRITES.search(arguments) or (UNSEEN.search(arguments) and WRITES.search(function)):
                found.append("%s: %s: use cmn_file_open_to_write" % (path, call))
    return found


def main():
    found, files = [], 0
    for path, text in files_below(sys.argv[1], FOLDERS):
        found += breaches(path, text)
        files += 1
    print("\n".join(found) or "%d files" % files)
    return bool(found) or not files


if __name__ == "__main__":
    sys.exit(main())
