# SPDX-License-Identifier: MIT
"""Rules of the source tree that need no build.

Includes run one way: layers, tools -> cachecore -> common -> libc; the layers
never include each other; what is public of cachecore is included by layers/shared/api alone; libdeflate.h (or zlib.h) is included by cachecore/disk/compression.c alone, sodium.h by
cachecore/remote/sodium.c, OpenSSL by storage/redis_tls.c, json-c by tools/json_output.h; no OpenCL or Level Zero type below the layers; each source has an SPDX line. Prints each breach as file:line.
"""
import os
import re
import sys

# Who may include what of this project. A folder may always include itself.
ALLOWED = {
    "common": (),
    "cachecore/api": ("common", "cachecore"),
    "cachecore": ("common",),
    "layers/shared/api": ("common", "cachecore", "cachecore/api", "layers/shared"),
    "layers/shared": ("common", "cachecore"),
    "layers/opencl": ("common", "cachecore", "layers/shared", "layers/shared/api"),
    "layers/level_zero": ("common", "cachecore", "layers/shared", "layers/shared/api"),
    # The one place that joins the two.
    "layers/libckcache": ("common", "cachecore", "layers/shared", "layers/shared/api",
                          "layers/opencl", "layers/level_zero"),
    # Of the drivers alone: what is known of them, in one place.
    "tools": ("common", "cachecore", "layers/shared"),
    # Programs of their own, for ccache too: nothing of entries or kernels.
    "storage": ("common",),
}
USES_OPENSSL = "storage/redis_tls.c"
# What knows of no API.
BELOW = ("common", "cachecore", "cachecore/api", "layers/shared", "layers/shared/api")
OWN = ("common/", "cachecore/", "layers/", "storage/", "tools/", "tests/")
DRIVER_WORD = re.compile(r"\b(cl_[a-z]\w*|ze_[a-z]\w*|zes_\w+|cl[A-Z]\w+|ze[A-Z]\w+|CL_[A-Z]\w+|ZE_[A-Z]\w+)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
SOURCE_NAME = re.compile(r"(\.(c|h|cl|py|sh|map|cmake)|/CMakeLists\.txt|^CMakeLists\.txt|\.ci/run)$")
SKIPPED_DIRS = re.compile(r"^(build.*|\..+)$")


def strip_comments(text):
    """The text without comments and with string contents emptied; line numbers stay."""
    pattern = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

    def replaced(match):
        found = match.group(0)
        if found.startswith("/"):
            return "\n" * found.count("\n")
        return found if "include" in text[text.rfind("\n", 0, match.start()) + 1:match.start()] \
            else found[0] * 2

    return pattern.sub(replaced, text)


def files_below(root, folders, endings=(".c", ".h")):
    """(path, text) of each such file."""
    for folder in folders:
        for where, _, names in os.walk(os.path.join(root, folder)):
            for name in sorted(names):
                if name.endswith(endings):
                    path = os.path.join(where, name)
                    with open(path, encoding="utf-8") as source:
                        yield os.path.relpath(path, root), source.read()


def folder_of(path):
    """The row of ALLOWED that governs this file (the first that fits), or None."""
    for folder in ALLOWED:
        if path.startswith(folder + "/"):
            return folder
    return None


def own_path(root, path, name):
    """An include as a path from the root, or None if it is not of this project."""
    if name.startswith(OWN):
        return name
    beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
    if os.path.exists(os.path.join(root, beside)):
        return beside
    # layers/opencl may also be on the include path by its own name
    for prefix in ("layers/opencl/", "layers/level_zero/"):
        if os.path.exists(os.path.join(root, prefix + name)):
            return prefix + name
    return None


def check_include(root, path, kind, name):
    """What is wrong with this include, or None."""
    folder = folder_of(path)
    if name in ("libdeflate.h", "zlib.h", "zconf.h") and folder and path != "cachecore/disk/compression.c":
        return "%s may be included by cachecore/disk/compression.c only" % name
    if (name == "sodium.h" or name.startswith("sodium/")) and folder and \
            path != "cachecore/remote/sodium.c":
        return "%s may be included by cachecore/remote/sodium.c only" % name
    if name.startswith("openssl/") and folder and path != USES_OPENSSL:
        return "%s may be included by %s only" % (name, USES_OPENSSL)
    if name.startswith(("json-c/", "json.h")) and folder and path != "tools/json_output.h":
        return "%s may be included by tools/json_output.h only" % name
    if re.match(r"(CL/|level_zero/|ze_|OpenCL/)", name) and folder in BELOW:
        return "%s below the layers" % name
    target = own_path(root, path, name) if kind == '"' else None
    if kind == "<" and name.startswith(OWN):
        return "a header of this project belongs in quotes"
    if target is None or folder is None:
        return None
    if folder_of(target) == folder or folder_of(target) in ALLOWED[folder]:
        return None
    return "%s may not include %s" % (folder, target)


def check_code(root, path, text):
    """Breaches of one C file, as (line, message)."""
    code = strip_comments(text)
    below = folder_of(path) in BELOW
    for number, line in enumerate(code.splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            problem = check_include(root, path, found.group(1), found.group(2))
            if problem:
                yield number, problem
        elif below:
            word = DRIVER_WORD.search(line)
            if word:
                yield number, "%s below the layers" % word.group(1)


def check_file(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as source:
        text = source.read()
    lines = text.splitlines()
    if not any("SPDX-License-Identifier: MIT" in line for line in lines[:3]):
        yield 1, "no SPDX-License-Identifier line"
    if path.endswith((".c", ".h")):
        yield from check_code(root, path, text)


def sources(root):
    for folder, subfolders, names in os.walk(root):
        here = os.path.relpath(folder, root)
        subfolders[:] = sorted(name for name in subfolders
                               if name == ".ci" or not SKIPPED_DIRS.match(name))
        for name in sorted(names):
            path = os.path.normpath(os.path.join(here, name))
            if SOURCE_NAME.search(path):
                yield path


def main():
    root = sys.argv[1]
    count = breaches = 0
    for path in sources(root):
        count += 1
        for number, message in check_file(root, path):
            print("%s:%d: %s" % (path, number, message))
            breaches += 1
    print("%d files, %d breaches" % (count, breaches))
    return 1 if breaches or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
