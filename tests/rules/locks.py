# SPDX-License-Identifier: MIT
"""No file lock is waited for without a bound: what locks never blocks.

flock, lockf and fcntl's locks block as long as another process pleases, which may
be stopped. So common/file.c alone calls flock, and only with LOCK_NB, and
cachecore/disk/build_lock.c alone has record locks, and only by F_SETLK; everything else
has cmn_file_lock. Prints each breach.

    locks.py SOURCE-DIRECTORY
"""
import re
import sys

from includes import files_below, strip_comments

FOLDERS = ("common", "cachecore", "layers", "tools")
PLACE = "common/file.c"
RECORDS = "cachecore/disk/build_lock.c"
CALL = re.compile(r"\bflock\s*\(([^;]*?)\)\s*(?:<|==|!=|;)")
# By name, also without a call: a pointer to it would do the same.
LOCKS = re.compile(r"\bflock\b(?!\.)|\blockf\b|\bF_(?:OFD_)?SETLKW?\b|\bSYS_flock\b")


def breaches(path, text):
    """What one file has that it may not have."""
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', strip_comments(text))
    if path == RECORDS:
        text = re.sub(r"\bstruct flock\b|\bF_SETLK\b", "", text)
    if path != PLACE:
        return ["%s: %s: use cmn_file_lock" % (path, word) for word in LOCKS.findall(text)]
    calls = CALL.findall(text)
    found = ["%s: flock(%s) may block" % (path, call) for call in calls
             if call.partition(", ")[2] not in ("LOCK_EX | LOCK_NB", "LOCK_SH | LOCK_NB", "LOCK_UN")]
    if len(calls) != len(LOCKS.findall(text)):
        found.append("%s: a lock that this rule does not understand" % path)
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
