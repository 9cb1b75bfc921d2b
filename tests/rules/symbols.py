# SPDX-License-Identifier: MIT
"""Rules of the built objects, read with nm.

  symbols.py exports LIBRARY.so SCRIPT.map       dynamic symbols equal the version script
  symbols.py undefined LIBRARY.a...              no cl* or ze* symbol is wanted below the layers
  symbols.py needed LIBRARY.so...            the layers load no library but those that are listed here
  symbols.py defined ROOT LIBRARY.a...           each function that a header of common/ or
                                                 cachecore/ declares is defined, and the other way round
  symbols.py globals LIBRARY.a LIST              what the archive shows to a linker is what the list has
"""
import glob
import os
import re
import subprocess
import sys

from includes import strip_comments


def nm(arguments):
    """(name, type) of each symbol; the version suffix is cut."""
    text = subprocess.run(["nm", "--format=posix"] + arguments, check=True,
                          stdout=subprocess.PIPE).stdout.decode()
    for line in text.splitlines():
        words = line.split()
        if len(words) >= 2 and not line.endswith(":"):
            yield words[0].split("@")[0], words[1]


def script_exports(path):
    with open(path, encoding="utf-8") as script:
        text = strip_comments(script.read())
    found = re.search(r"global\s*:(.*?)local\s*:", text, re.S)
    return set(re.findall(r"[\w*?]+", found.group(1))) if found else set()


def agree(got, wanted, word, place):
    for name in sorted(got - wanted):
        print("%s, not in %s: %s" % (word, place, name))
    for name in sorted(wanted - got):
        print("in %s, not %s: %s" % (place, word, name))
    print("%d %s" % (len(got), word))
    return bool(wanted) and wanted == got


def check_exports(library, script):
    wanted = script_exports(script)
    exported = {name for name, kind in nm(["-D", "--defined-only", library]) if kind != "A"}
    return agree(exported, wanted, "exported", "the version script")


def check_undefined(libraries):
    good = True
    for library in libraries:
        for name, _ in nm(["--undefined-only", library]):
            if re.match(r"(cl|ze|zes)[A-Z]", name):
                print("%s wants %s" % (library, name))
                good = False
    return good


# What a layer may bring into other people's processes; a loader of its API is there already.
MAY_NEED = re.compile(r"(libc|libm|libdl|libpthread|libdeflate|ld-linux-[\w-]+|"
                      r"lib(asan|ubsan|tsan)|libgcc_s|libckcache)\.so(\.\d+)*$")


def check_needed(libraries):
    good = True
    for library in libraries:
        text = subprocess.run(["readelf", "--dynamic", "--wide", library], check=True,
                              stdout=subprocess.PIPE).stdout.decode()
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
        for name in needed:
            if not MAY_NEED.match(name):
                print("%s needs %s" % (library, name))
                good = False
        # Each needs the C library, or the one that does: a text without it was not understood.
        good = good and any(name.startswith(("libc.", "libckcache.")) for name in needed)
        print("%s: %s" % (os.path.basename(library), " ".join(needed)))
    return good


def declared(root):
    """Functions that headers declare without a body, with their header."""
    names = {}
    for header in sorted(glob.glob(root + "/common/*.h") + glob.glob(root + "/cachecore/**/*.h", recursive=True)):
        with open(header, encoding="utf-8") as source:
            text = strip_comments(source.read())
        text = re.sub(r"^\s*#.*(?:\\\n.*)*$", "", text, flags=re.M)
        text = re.sub(r"^static inline [^;{]*\{.*?^\}", "", text, flags=re.M | re.S)
        for found in re.finditer(r"\b((?:cc|cmn)_[a-z0-9_]+)\s*\((?!\s*\*)([^;{]*)([;{])", text):
            if found.group(3) == ";":
                names[found.group(1)] = os.path.relpath(header, root)
    return names


def check_defined(root, libraries):
    wanted = declared(root)
    got = {name for library in libraries for name, kind in nm(["--defined-only", library])
           if kind == "T"}
    for name in sorted(set(wanted) - got):
        print("%s declares %s, which is nowhere defined" % (wanted[name], name))
    stray = sorted(name for name in got - set(wanted) if re.match(r"(cc|cmn)_", name))
    for name in stray:
        print("%s is global and in no header" % name)
    print("%d declared" % len(wanted))
    return bool(wanted) and set(wanted) <= got and not stray


def check_globals(library, listed):
    """A name of the sanitizers' own is not ours to list."""
    with open(listed, encoding="utf-8") as text:
        wanted = set(text.read().split())
    got = {name for name, _ in nm(["--extern-only", "--defined-only", library])
           if not re.match(r"__(odr_)?[at]san", name)}
    return agree(got, wanted, "global", "the list")


def main():
    mode, arguments = sys.argv[1], sys.argv[2:]
    if mode == "exports":
        return not check_exports(*arguments)
    if mode == "needed":
        return not check_needed(arguments)
    if mode == "globals":
        return not check_globals(*arguments)
    if mode == "undefined":
        return not check_undefined(arguments)
    return not check_defined(arguments[0], arguments[1:])


if __name__ == "__main__":
    sys.exit(main())
