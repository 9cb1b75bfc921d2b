# SPDX-License-Identifier: MIT
"""Places where compilers look for files by themselves, or in ways that few know of, each as a case.

  python3 tests/opencl/looked_for.py BUILD DRIVER [CASE...]

Each case builds with the layer in two processes, makes one change, and builds
again in both and in a process without the layer: error, log and result must be
the bare driver's, as in fuzz_files.py, whose processes these are. On the
drivers that a case names the bare driver's answer must have changed, so that no
case tells nothing. Exit code: 0 if all hold; 77: no such driver.
"""
import argparse
import os
import shutil
import struct
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fuzz_files import NoDevice, Server, driver_file, drivers  # noqa: E402

KERNEL = "#ifndef M\n#define M 7\n#endif\nkernel void value(global int *out) { out[0] = M; }\n"
ALL = ("rusticl", "neo", "pocl")
PROCESSES = ("cold", "warm", "bare")
SPELLINGS = {"digraph": "%:include \"h.h\"", "splice": "#inc\\\nlude \"h.h\"", "comment": "/*\n*/#/**/include/**/\"h.h\"",
             "vertical-tab": "#\vinclude\f\"h.h\"", "import": "#import \"h.h\"", "next": "#include_next <h.h>",
             "macro": "#define N <h.h>\n#include N", "stringified": "#define S(x) #x\n#include S(h.h)",
             "argument": "#define P(a) <a.h>\n#include P(h)", "splice-in-name": "#include \"h\\\n.h\"",
             "macros-only": "#__include_macros \"h.h\"", "pragma": "#pragma once\n_Pragma(\"once\")\n#include \"h.h\"",
             "byte-order-mark": "\ufeff#include \"h.h\"", "crlf": "#include \"h.h\"\r\n#if 1\r\n#endif\r"}


def write(path, text):
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "wb" if isinstance(text, bytes) else "w", **({} if isinstance(text, bytes) else {"encoding": "utf-8"})) as file:
        file.write(text)


def remove(path):
    if os.path.isdir(path):
        shutil.rmtree(path)
    elif os.path.exists(path):
        os.unlink(path)


def value(path, number):
    write(path, "#define M %d\n" % number)


def header_map(name, folder, file):
    """clang's format of header maps (include/clang/Lex/HeaderMapTypes.h): one bucket of a table of two."""
    strings = b"\0" + b"\0".join(text.encode() for text in (name, folder, file)) + b"\0"
    at = [1, 2 + len(name), 3 + len(name) + len(folder)]
    key = sum(ord(c) * 13 for c in name.lower()) & 1
    buckets = [(0, 0, 0), (0, 0, 0)]
    buckets[key] = tuple(at)
    head = struct.pack("<IHHIIII", 0x686d6170, 1, 0, 24 + 2 * 12, 1, 2, len(folder) + len(file))
    return head + b"".join(struct.pack("<III", *bucket) for bucket in buckets) + strings


def case(name, source, options, before, after, shows=(), how="build"):
    """before, after: functions that write files; shows: where the bare driver's answer changes."""
    return {"name": name, "source": source, "options": options, "before": before, "after": after,
            "shows": shows, "how": how}


def cases():
    include = "#include <h.h>\n"
    nothing = lambda: None  # noqa: E731
    made = [
        # Where nobody said that headers are.
        case("include-folder", include, "", lambda: value("include/h.h", 1), lambda: value("include/h.h", 2), ("neo",)),
        case("include-folder-appears", include, "", nothing, lambda: value("include/h.h", 1), ("neo",)),
        case("failed-then-there", '#include "h.h"\n', "-I in", nothing, lambda: value("in/h.h", 1), ALL),
        case("there-then-failed", '#include "h.h"\n', "-I in", lambda: value("in/h.h", 1),
             lambda: os.unlink("in/h.h"), ALL),
        case("implicit-header", "", "", nothing, lambda: write("opencl-c-base.h", "#error here\n"), ("rusticl",)),
        case("implicit-header-in-path", "", "-I in", lambda: write("in/x.h", ""),
             lambda: write("in/opencl-c-base.h", "#error here\n"), ("rusticl",)),
        case("implicit-nvidia", "", "-I in", nothing, lambda: write("cl_kernel.h", "#define M 3\n")),
        case("driver-cache-folder", '#include "h.h"\n', "-I in", lambda: value("in/h.h", 1),
             lambda: [value("../pocl-%s/h.h" % name, 2) for name in PROCESSES], ("pocl",)),
        case("link-headers", include, "-I in", lambda: value("in/h.h", 1),
             lambda: value("../tmp/openclon12/h.h", 2), (), "link"),
        # What the driver defines itself.
        case("defined-again", "#if __OPENCL_VERSION__\n#include <h.h>\n#endif\n", "-I in -D__OPENCL_VERSION__=0",
             lambda: value("in/h.h", 1), lambda: value("in/h.h", 2), ALL),
        case("defined-images", "#ifdef __IMAGE_SUPPORT__\n#include <h.h>\n#endif\n", "-I in -U__IMAGE_SUPPORT__",
             lambda: value("in/h.h", 1), lambda: value("in/h.h", 2)),
        case("defined-by-header", "#if INT_MAX\n#include <h.h>\n#endif\n", "-I in", lambda: value("in/h.h", 1),
             lambda: value("in/h.h", 2), ALL),
        # Search paths.
        case("directory-named-twice", include, "-I one -I two -isystem one",
             lambda: (value("one/h.h", 1), value("two/h.h", 2)), lambda: value("two/h.h", 3)),
        case("system-directory", include, "-I /usr/include -I in", lambda: value("in/h.h", 1),
             lambda: value("in/h.h", 2), ALL),
        case("header-map", '#include "n.h"\n', "-I map.hmap",
             lambda: (value("in/h.h", 1), write("map.hmap", header_map("n.h", os.getcwd() + "/in/", "h.h"))),
             lambda: value("in/h.h", 2), ALL),
        case("forced", "", "-include in/h.h", lambda: value("in/h.h", 1), lambda: value("in/h.h", 2)),
        case("seed-file", "", "-frandomize-layout-seed-file=seed", lambda: write("seed", "1"), lambda: write("seed", "22")),
        case("has-include", "#if __has_include(<h.h>)\n#define M 3\n#endif\n", "-I in", nothing,
             lambda: write("in/h.h", ""), ALL),
        case("link-of-folder", include, "-I link",
             lambda: (value("one/h.h", 1), value("two/h.h", 2), os.symlink("one", "link")),
             lambda: (os.unlink("link"), os.symlink("two", "link")), ALL),
        case("once-by-two-names", '#include "a.h"\n#include "b.h"\n#if COUNT == 2\n#define M 2\n#else\n#define M 1\n#endif\n',
             "-I .", lambda: (write("a.h", "#pragma once\n#ifdef COUNT\n#undef COUNT\n#define COUNT 2\n#else\n#define COUNT 1\n#endif\n"),
                              os.link("a.h", "b.h")),
             lambda: (os.unlink("b.h"), shutil.copyfile("a.h", "b.h")), ALL),
        case("embedded", include, "-I in", lambda: value("in/h.h", 1), lambda: value("in/h.h", 2), (), "embed"),
    ]
    for name, spelling in SPELLINGS.items():
        made.append(case("spelled-" + name, spelling + "\n", "-I in", lambda: value("in/h.h", 1),
                         lambda: value("in/h.h", 2), ALL if name not in ("next", "macros-only", "byte-order-mark") else ()))
    return made


def run(one, servers, root, what):
    os.makedirs(root)
    os.chdir(root)
    write("main.cl", one["source"] + KERNEL)
    one["before"]()
    line = "%s\tmain.cl\t%s\t%s\t%s" % (root, one["options"], one["how"], what)
    first = {name: servers[name].ask(line) for name in PROCESSES}
    one["after"]()
    second = {name: servers[name].ask(line) for name in ("warm", "cold", "bare")}
    os.chdir("/")
    work = os.path.dirname(root)
    for path in [root, work + "/tmp/openclon12"] + ["%s/pocl-%s/h.h" % (work, name) for name in PROCESSES]:
        remove(path)
    if len(set(first.values())) != 1:
        return "before the change: %s" % first
    if len(set(second.values())) != 1:
        return "%s; before it %s" % (second, first["bare"])
    return None if first["bare"] != second["bare"] else "the same"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("driver")
    parser.add_argument("case", nargs="*")
    parser.add_argument("--library", help="the driver's file, where it is not a known one")
    arguments = parser.parse_args()
    library = arguments.library or driver_file(arguments.driver)
    if not library:
        print("no %s here" % arguments.driver)
        return 77
    work = tempfile.mkdtemp(prefix="ckcache-looked-")
    for name in ("tmp", "cache") + tuple("pocl-" + name for name in PROCESSES):
        os.makedirs(os.path.join(work, name), mode=0o700)
    drivers(work, library)
    servers = {name: Server(work, os.path.abspath(arguments.build), arguments.driver, name != "bare", "pocl-" + name)
               for name in PROCESSES}
    bad = done = 0
    try:
        for one in cases():
            if arguments.case and one["name"] not in arguments.case:
                continue
            done += 1
            told = run(one, servers, work + "/round", {"neo": "binary", "amd": "made"}.get(arguments.driver, "run"))
            if told == "the same" and arguments.driver not in one["shows"]:
                told = None
            if told:
                bad += 1
                print("%s: %s" % (one["name"], told), flush=True)
    except NoDevice:
        print("%s has no device here" % arguments.driver)
        return 77
    finally:
        for server in servers.values():
            server.stop()
        shutil.rmtree(work, ignore_errors=True)
    print("%d cases, %d failed" % (done, bad))
    return 1 if bad or not done else 0


if __name__ == "__main__":
    sys.exit(main())
