#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fails when the product calls a function that could fail and that the
interposer does not know: known.py FUNCTIONS.DEF LIBRARY...

Each undefined symbol of the libraries is either in functions.def or matches a
pattern below, of functions that cannot fail, or whose failure is another's.
"""
import re
import subprocess
import sys

HARMLESS = [
    r"_ITM_.*|__gmon_start__|__cxa_.*|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|__tls_get_addr",
    # pure functions, text, memory that is there
    r"basename|mem(r?chr|cmp|cpy|mem|move|set)|madvise|(?!strn?dup)str.*|__isoc23_strto.*|v?snprintf|fprintf|stderr|qsort"
    r"|bsearch|__ctype_.*|toupper|tolower",
    r"__errno_location|__assert_fail|abort",
    # what the process is and has
    r"environ|__environ|(secure_)?getenv|getauxval|get(e?[ug]id|pid|tid|ppid)|getgroups|getrlimit|(tg)?kill|umask"
    r"|__libc_stack_end|getrusage|uselocale|gnu_get_libc_version|__x86_get_cpuid_feature_leaf|sched_getaffinity|__sched_cpucount",
    # threads that exist, time that passes, signals
    r"pthread_(mutex|cond)_(lock|trylock|unlock|wait|timedwait|clockwait|signal|broadcast|destroy)"
    r"|pthread_(join|detach|once|self|sigmask|setcancelstate|setschedparam|attr_.*|condattr_.*)"
    r"|sched_(yield|getcpu)|nanosleep|sig[a-z]+",
    # places in what is open, libraries that are there
    r"dirfd|sysconf|lseek|dl_iterate_phdr|dlclose|dladdr1?|dlsym|dlerror|_dl_find_object|globfree",
    # what drivers' compilers call, passed on to them as it answers (layers/shared/observer/libc_hooks.c)
    r"__(getcwd|readlink|realpath)_chk|__open(at)?_2|canonicalize_file_name|f?chdir|creat(64)?|dlvsym|e(uid)?access"
    r"|fileno|f(re)?open(64)?|fork|fstatat64|(gm|local)time(_r)?|link|symlink|[ls]?l?stat64|mkd?o?(s?temps?|temp)(64)?"
    r"|posix_spawnp?|execve?|wait4|popen|system|syscall|realpath|get_current_dir_name|getcwd|scandir(64)?|statx|renameat|access|faccessat"
    r"|readlink(at)?|openat64|open64|rename|opendir|fdopendir|mkdir|fnmatch"
    r"|_Fork|vfork|clone|wordexp|__readlinkat_chk|ctime(_r)?|n?ftw(64)?|fts(64)?_open|glob(64)?|scandirat(64)?|getdents64"
    r"|getdirentries(64)?|l?getxattr|inotify_add_watch|name_to_handle_at|open_by_handle_at|linkat|symlinkat|mkdirat"
    r"|renameat2|truncate(64)?|stat(v?fs)(64)?|mknod(at)?|_IO_fopen"
    r"|isatty|writev|(__)?v?[df]?printf(_chk)?|f?put(c|s|char|wc)(_unlocked)?|fwrite(_unlocked)?|perror|__overflow|stdout",
    # of the remote tier, which has no part in what is failed here: its unit tests fail these
    r"chmod|connect|getsockopt|ppoll|prctl|recv|sendmsg|shutdown|socket|waitpid",
    # of libraries whose own calls are points
    r"libdeflate_.*|(de|in)flate.*|compressBound|adler32|crc32",
    # a sanitizer's
    r"__(asan|ubsan|tsan|lsan|sanitizer)_.*",
]


def undefined(path):
    """The names without their versions."""
    listing = subprocess.run(["nm", "-D", "--undefined-only", path], check=True,
                             capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in listing.splitlines()}


def main(functions, libraries):
    with open(functions, encoding="utf-8") as file:
        known = set(re.findall(r"^FUNCTION\((\w+),", file.read(), re.M))
    harmless = re.compile("|".join(f"(?:{pattern})" for pattern in HARMLESS))
    bad = 0
    for library in libraries:
        names = undefined(library)
        if not names & known:
            print(f"{library}: no known function at all")
            bad += 1
        for name in sorted(names - known):
            if not harmless.fullmatch(name):
                print(f"{library}: {name} is in neither tests/fault/functions.def nor known.py")
                bad += 1
    return 1 if bad or not libraries else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
