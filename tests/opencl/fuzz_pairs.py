# SPDX-License-Identifier: MIT
"""Builds one source with headers in two or three places, and compares each build with the bare driver's.

  python3 tests/opencl/fuzz_pairs.py BUILD DRIVER [--rounds N] [--seconds S] [--seed N] [--keep] [--verbose]

Each round writes a tree of fuzz_files.py, and copies of it that may differ: a header's content, name or
kind, links, what lies where, how it is reached, and how the options name it. Headers, sources and options may
tell where they are: __FILE__ in many spellings, -g, warnings, errors, paths. The trees are built in turn,
in processes with the layer, and once more after one tree changed. Errors, logs, options as told, kernels'
names and arguments, and values (on NEO and AMD: binaries) have to be the bare driver's. Prints each difference with the round's seed, and how many hits
were of another tree's build. Exit code: 0: no difference, and such hits; 77: no such driver.
"""
import argparse
import ctypes
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fuzz_files import FOLDERS, NAMES, NoDevice, Round, Server, driver_file, drivers  # noqa: E402

TREES = [["a", "b", "c"], ["tree", "tree2", "tree2/in"], ["a", "longer/place/of/b", "c"], ["sp ace/a", "sp ace/b", "c d"],
         ["a", "a/copy", "b"], ["\u00e4", "\u00f6", "u"], ["x.h", "one", "two"], ["one/two", "two/one", "one/one"]]
SPELLINGS = ["-I%s/", "-I %s", '-I"%s"', '"-I%s"', "-isystem %s", "-isystem%s", "-iquote%s", "-idirafter %s", "-I%s//",
             "-I%s/./", "-I%s/one/..", "-I%s/../%s", "-I'%s'", "--include-directory=%s", "-cxx-isystem %s", "-I\t%s",
             "-include %s/a.h", "-include a.h -I%s", "-iprefix %s/ -iwithprefix one", "-imacros %s/one/a.h", "-F%s"]
MORE = ["-DWHERE_=__FILE__", "-DPASTE(a,b)=a##b", "-DDIRECTORY=%s", "-g", "-w", "-Werror", "-Wall -Wextra", "-cl-std=CL1.2", "-cl-kernel-arg-info", "-DSWITCH", "-DWHERE=%s", '-DWHERE="%s"',
        "-D WHERE=%s/one", "-gline-tables-only", "-ffile-prefix-map=%s=x", "-Wshadow-header", "-Wsystem-headers", "-H",
        "-fdebug-prefix-map=%s=x", "-cl-opt-disable", "-DQUOTE=\\\"%s\\\"", "-D__FILE__=7", "-isysroot %s", "-Wp,-I%s"]
# What a header or a source says of where it is; %s: the path of the first tree.
TOLD = ["__FILE__", "__PRETTY_FUNCTION__", "WHERE_", "PASTE(__FI, LE__)", "__BASE_FILE__", "__FILE_NAME__", "__FI\\\nLE__", "__builtin_FILE()", '"%s"', "GLUE(__FI, LE__)",
        "NAMED", "__FI??/\nLE__", "TEXT(WHERE)", "__builtin_FUNCTION()"]
SAYS = ["#warning careful", '#pragma message("hello")', 'constant int wrong = "text";', "#error no", "#define M0 1\n#define M0 2",
        "void warned(global int *p); void warned(global int *p) { int unused; *p = (long)p; }", "#pragma GCC system_header",
        "#include_next <a.h>", "#if __has_include_next(<a.h>)\n#undef M0\n#define M0 3\n#endif", "#line 7 \"other.h\"", "#line 7",
        "#pragma GCC dependency \"a.h\"", "#if __has_include(\"%s/one/a.h\")\n#undef M1\n#define M1 5\n#endif",
        "#if __has_include(<two/b.h>)\n#undef M1\n#define M1 6\n#endif", "#pragma once", "#import \"a.h\"", "#include \"../two/a.h\"",
        "#include \"../../a.h\"", "#include \"%s/two/b.h\"", "#define COMPUTED \"%s/one/a.h\"\n#include COMPUTED",
        "#include \"%s/o\\\nne/a.h\"", "#define TEXT__(a) #a\n#define TEXT_(a) TEXT__(a)\n#define PLACE %s\n#include TEXT_(PLACE/one/a.h)",
        "#define TEXT__(a) #a\n#define TEXT_(a) TEXT__(a)\n#include TEXT_(DIRECTORY/two/b.h)", "#include \"%s/./one/a.h\"",
        "static int pretty(struct { int a; } *p) { return sizeof(__PRETTY_FUNCTION__); }\n#undef M1\n#define M1 pretty(0)",
        "constant int size = sizeof(WHERE_);\n#undef M2\n#define M2 size", "#include \"embedded.h\"",
        "#if __INCLUDE_LEVEL__ > 1\n#undef M2\n#define M2 8\n#endif", "static int unused_function(int a) { }",
        "#include <missing.h>", "#pragma unknown here"]
VARIABLES = ["CPATH=%s/two", "C_INCLUDE_PATH=%s", "OPENCL_INCLUDE_PATH=%s/one", "PWD=%s", "WHATEVER=x:%s/one:y", "CPATH=."]


@functools.cache
def mounts():
    """Root has mounts that nobody else sees."""
    libc = ctypes.CDLL(None, use_errno=True)
    return os.geteuid() == 0 and libc.unshare(0x20000) == 0 and \
        subprocess.run(["mount", "--make-rprivate", "/"], check=False).returncode == 0


class PairRound(Round):
    def __init__(self, seed, round_root):
        super().__init__(seed, round_root)
        self.round_root, self.mounted = round_root, []
        # A round that is odd in every way has no hits.
        self.odd = self.random.choice([0, 0.2, 0.2, 1])
        names = self.random.choice(TREES if self.likely(0.6) else TREES[:2])
        self.trees = [os.path.join(round_root, name) for name in names[:self.random.choice([2, 2, 3])]]
        self.root = self.trees[0]
        os.makedirs(self.root)
        os.chdir(self.root)

    def likely(self, chance):
        return self.random.random() < chance

    def oddly(self, chance):
        return self.likely(chance * self.odd)

    def telling(self):
        lines = ["#ifndef TOLD", "#define TOLD", "#define NAMED __FILE__", "#define GLUE_(a, b) a##b", "#define GLUE(a, b) GLUE_(a, b)",
                 "#define TEXT_(a) #a", "#define TEXT(a) TEXT_(a)"]
        what = self.random.choice(TOLD)
        array = "*constant told" if what.startswith("__builtin") else "told[]"
        return "\n".join(lines + ["constant char %s = %s;" % (array, what), "#endif\n"]).replace("%s", self.root)

    def header_text(self, name, depth=0):
        text = super().header_text(name, depth)
        if self.oddly(0.3):
            text += self.telling()
        if self.oddly(0.3):
            text = self.random.choice(SAYS).replace("%s", self.root) + "\n" + text
        return text

    def source(self):
        text = super().source().replace("out[1] =", "\n#ifdef TOLD\nfor (int i = 0; told[i]; i++) out[3] += told[i] * (i + 1);\n#endif\nout[1] =")
        if self.oddly(0.3):
            text = self.telling() + text
        if self.oddly(0.3):
            text = self.random.choice(SAYS).replace("%s", self.root) + "\n" + text
        return text

    def options(self):
        words = []
        for _ in range(self.random.choice([1, 1, 2, 2, 3, 4])):
            folder = self.random.choice(FOLDERS[:-1] + (["none", "sp ace"] if self.odd else []))
            self.folders.append(folder)
            spelling = self.random.choice(SPELLINGS) if self.oddly(0.4) else "-I%s"
            if self.oddly(0.1):
                words.append(spelling.replace("%s", folder))
            else:
                words.append(spelling.replace("%s", "%s" if folder == "." else "%s/" + folder))
        words += [word for word in MORE if self.oddly(0.05)]
        self.random.shuffle(words)
        return words

    def copy(self, to):
        """One more tree; what differs, in words."""
        os.makedirs(os.path.dirname(to), exist_ok=True)
        kind = self.random.randrange(30)
        if kind == 0:
            os.symlink(self.root, to)
            return "a link"
        inside = lambda at, names: [n for n in names if os.path.join(at, n) in self.trees]  # noqa: E731
        if kind in (1, 2) and mounts():
            os.makedirs(to, exist_ok=True)
            self.mount(self.root, to)
            return "a mount"
        shutil.copytree(self.root, to, symlinks=True, ignore=inside, dirs_exist_ok=True)
        os.chdir(to)
        files = self.files()
        path = self.random.choice(files) if files else None
        if kind == 10 and mounts():
            os.makedirs("one", exist_ok=True)
            os.makedirs(os.path.join(self.root, "two"), exist_ok=True)
            self.mount(os.path.join(self.root, "two"), os.path.join(to, "one"))
            return "one is a mount of the first's two"
        if kind == 11 and path:
            os.unlink(path)
            os.symlink(os.path.join(self.root, path), path)
            return path + " is a link"
        if kind == 12 and path and os.path.isfile(os.path.join(self.root, path)):
            os.unlink(path)
            try:
                os.link(os.path.realpath(os.path.join(self.root, path)), path)
            except OSError:  # on another mount
                shutil.copyfile(os.path.join(self.root, path), path)
            return path + " is a hard link"
        if kind == 3:
            folder = self.random.choice(FOLDERS[1:])
            if os.path.isdir(folder) and not os.path.islink(folder):
                shutil.rmtree(folder)
                os.symlink(os.path.join(self.root, folder), folder)
                return folder + " is a link"
        if kind == 4 and len(files) > 1:
            os.unlink(files[0])
            os.symlink(os.path.join(to, files[1]), files[0])
            return "one file by two names"
        if kind == 5 and path and os.path.isfile(path):
            with open(path, "r+", encoding="utf-8") as file:
                text = file.read().replace(self.root, to)
                file.seek(0)
                file.truncate()
                file.write(text)
            return path + " names this tree"
        if kind < 16:
            return self.changed()
        return "nothing"

    def changed(self):
        """As far as it goes: mounts stay where they are."""
        try:
            return self.change()
        except OSError as error:
            return str(error)

    def mount(self, what, at):
        subprocess.run(["mount", "--bind", what, at], check=True)
        self.mounted.append(at)

    def fill(self, words, tree):
        """The words with a place in them, which blanks do not end."""
        filled = []
        for word in words:
            to = self.random.choice(self.trees) if self.oddly(0.05) else tree
            if "%s/../%s" in word:
                word = word.replace("%s/../%s", "%s/../" + os.path.basename(to))
            if '"' not in word and "'" not in word and (" " in to or " a" in word):
                word = re.sub(r"%s(/sp ace|[^ =]*)", r'"%s\1"', word)
            filled.append(word.replace("%s", to))
        return filled

    def make(self):
        super().make()
        os.rename("main.cl", self.round_root + "/main.cl")
        with open(self.round_root + "/embedded.h", "w", encoding="utf-8") as file:
            file.write("#define EMBEDDED 1\n")
            if self.odd:
                file.write(self.random.choice(SAYS).replace("%s", self.root) + "\n")
        self.differ = [self.copy(to) for to in self.trees[1:]]
        self.variants = []
        where = self.random.randrange(12)
        for tree in self.trees + ([self.round_root + "/by/link"] if self.likely(0.1) else []):
            if tree not in self.trees:
                os.makedirs(os.path.dirname(tree))
                os.symlink(self.random.choice(self.trees), tree)
            words = self.words[:]
            if self.likely(0.06):
                self.random.shuffle(words)
            directory = [tree, tree + "/one", self.trees[0]][where] if where < 3 else self.round_root
            if not os.path.isdir(directory):
                directory = self.round_root
            self.variants.append((directory, " ".join(self.fill(words, tree))))
        self.variable = None
        if self.likely(0.02):
            name, value = self.random.choice(VARIABLES).split("=", 1)
            self.variable = {name: value.replace("%s", self.random.choice(self.trees))}


def sections(image):
    """An ELF file's, each with its name; NEO's have the options in one of them."""
    if image[:4] != b"\x7fELF" or image[4] != 2:
        return [("all", image)]
    number = lambda at, size: int.from_bytes(image[at:at + size], "little")  # noqa: E731
    start, size, count, names = number(0x28, 8), number(0x3a, 2), number(0x3c, 2), number(0x3e, 2)
    found = []
    for i in range(count):
        head = start + i * size
        at, length = number(head + 0x18, 8), number(head + 0x20, 8)
        name = number(start + names * size + 0x18, 8) + number(head, 4)
        found.append((image[name:image.index(b"\0", name)].decode() or "type %x" % number(head + 4, 4), image[at:at + length]))
    return found


def answers(path, line, work):
    """What the client told; what may differ in it is masked."""
    told = [("line", line)]
    with open(path, "rb") as file:
        while head := file.readline():
            name, error, size = head.decode().split()
            data = file.read(int(size))
            if name == "log":
                text = re.sub(r"(\S*/comgr-|\S*/pocl-|tempfile|" + re.escape(work) + r"/tmp/|(?<![\w/])/tmp/)[^\s:]*", "_", data.decode("latin1"))
                # NEO numbers messages by the builds before them.
                data = re.sub(r"(?m)(^| from )\d+(:\d+)", r"\1_\2", text)
            if name != "binary":
                told.append((name, error, data if isinstance(data, str) else data.decode("latin1")))
                continue
            told.extend((section, error, content.hex()) for section, content in sections(data))
    return told


class Pairs:
    def __init__(self, build, driver, library, keep, verbose):
        # Not below /tmp, where the names of temporary files are masked.
        self.work = tempfile.mkdtemp(prefix="ckcache-pairs-", dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.build, self.driver, self.keep, self.verbose = build, driver, keep, verbose
        for name in ("tmp", "pocl-cold", "pocl-warm", "pocl-bare", "cache"):
            os.makedirs(os.path.join(self.work, name), mode=0o700)
        drivers(self.work, library)
        mounts()
        self.servers = {name: Server(self.work, build, driver, name != "bare", "pocl-" + name) for name in ("cold", "warm", "bare")}
        self.binaries = driver in ("neo", "amd")
        self.trace = self.work + "/trace"
        self.reset({})
        self.read = self.hits = self.moved = self.shown = self.bad = 0

    def reset(self, variable):
        for name, server in self.servers.items():
            server.change({**variable, **({"CKCACHE_TRACE": self.trace} if name != "bare" else {})})

    def was_hit(self):
        """Whether all builds since the last call were hits, and of what kinds they were."""
        if not os.path.exists(self.trace):
            return False, "nothing"
        with open(self.trace, encoding="utf-8", errors="replace") as file:
            file.seek(self.read)
            lines = file.readlines()
            self.read = file.tell()
        events = [json.loads(line) for line in lines]
        kinds = [event["event"] for event in events]
        return (any(kind.startswith("hit") for kind in kinds) and "miss" not in kinds and "bypass" not in kinds,
                ", ".join("%s %s" % (event["event"], event.get("reason") or "") for event in events))

    def ask(self, name, one, variant):
        path = "%s/told-%s" % (self.work, name)
        if os.path.exists(path):
            os.unlink(path)
        how = "embed:%s/embedded.h" % one.round_root if one.how == "embed" else one.how
        line = self.servers[name].ask("\t".join([variant[0], one.round_root + "/main.cl", variant[1], how,
                                                 "nothing" if self.binaries else "run", path]))
        # The log's hash is left out: the log itself is compared.
        words = line.split(" ")
        line = " ".join(words[:1] + words[2:]) if not self.binaries and not line.startswith("ended") else line
        if not os.path.exists(path):
            return [("line", line)]
        told = answers(path, line, self.work)
        if not self.binaries:
            known = ["line", "status", "type", "options", "log", "names", "kernel", "argument"]
            # pocl knows nothing of arguments after a link, but does of the binary's.
            if self.driver == "pocl" and one.how != "build":
                known.remove("argument")
            told = [t for t in told if t[0] in known]
        return told

    def round(self, seed):
        root = os.path.join(self.work, "round")
        one = PairRound(seed, root)
        one.make()
        os.chdir(root)
        one.how = one.random.choice(["build", "build", "build", "link", "compile", "embed"])
        if one.variable:
            self.reset(one.variable)
        order = list(one.variants)
        one.random.shuffle(order)
        story, bare, wrong, asked = [], {}, [], set()
        for turn in range(2):
            for variant in order:
                name = one.random.choice(["cold", "warm"])
                got = self.ask(name, one, variant)
                hit, kinds = self.was_hit()
                if variant not in bare:
                    bare[variant] = self.ask("bare", one, variant)
                story.append("%s, %s: %s, in %s" % (name, kinds, variant[1], variant[0]))
                self.hits += hit
                self.moved += hit and variant not in asked
                asked.add(variant)
                if got != bare[variant]:
                    # NEO numbers its sources, and __FILE__ tells which number.
                    again = self.ask("bare", one, variant)
                    differ = [(a, b) for a, b, c in zip(got, bare[variant], again) if a != b and b == c]
                    if differ or len(got) != len(bare[variant]):
                        wrong.append((len(story), hit, differ or (got, bare[variant])))
            if turn == 0:
                self.shown += len({repr(told) for told in bare.values()}) > 1
                if one.likely(0.3):
                    os.chdir(one.random.choice(one.trees))
                    story.append(one.changed())
                    os.chdir(root)
                    bare = {}
                one.random.shuffle(order)
        if one.variable:
            self.reset({})
        if self.verbose:
            print("seed %d, trees differ by %s\n  %s" % (seed, one.differ, "\n  ".join(story)))
        if wrong:
            self.bad += 1
            print("DIFFERENT seed %d, %s, trees differ by %s, %s, %s" % (seed, one.how, one.differ, one.variable, one.trees))
            print("  " + "\n  ".join(story))
            for step, hit, pairs in wrong:
                print("  step %d, %s: %s" % (step, "HIT" if hit else "no hit", repr(pairs)[:1500]), flush=True)
            if self.keep:
                shutil.copytree(root, os.path.join(self.work, "seed-%d" % seed), symlinks=True)
        os.chdir(self.work)
        for at in reversed(one.mounted):
            subprocess.run(["umount", "-l", at], check=True)
        shutil.rmtree(root, ignore_errors=True)

    def stop(self):
        for server in self.servers.values():
            server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("driver")
    parser.add_argument("--rounds", type=int, default=10 ** 9)
    parser.add_argument("--seconds", type=float, default=10 ** 9)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--keep", action="store_true", help="leave the directory of a difference")
    parser.add_argument("--verbose", action="store_true", help="say how each build was answered")
    parser.add_argument("--library", help="the driver's file, where it is not a known one")
    arguments = parser.parse_args()
    library = arguments.library or driver_file(arguments.driver)
    if not library:
        print("no %s here" % arguments.driver)
        return 77
    pairs = Pairs(os.path.abspath(arguments.build), arguments.driver, library, arguments.keep, arguments.verbose)
    first = arguments.seed if arguments.seed is not None else int(time.time() * 1000) % 10 ** 9
    end, done = time.monotonic() + arguments.seconds, 0
    try:
        while done < (1 if arguments.seed is not None and arguments.rounds == 10 ** 9 else arguments.rounds) and time.monotonic() < end:
            pairs.round(first + done)
            done += 1
            if done % 200 == 0:
                pairs.stop()
                print("%d rounds, %d different, %d hits, %d of other trees' builds" %
                      (done, pairs.bad, pairs.hits, pairs.moved), flush=True)
    except NoDevice:
        print("%s has no device here" % arguments.driver)
        return 77
    finally:
        pairs.stop()
        if not (arguments.keep and pairs.bad):
            os.chdir("/")
            shutil.rmtree(pairs.work, ignore_errors=True)
    print("%d rounds from seed %d, %d different; trees showed in %d; %d hits, %d of them of another tree's build" %
          (done, first, pairs.bad, pairs.shown, pairs.hits, pairs.moved))
    if arguments.keep and pairs.bad:
        print("left: " + pairs.work)
    return 1 if pairs.bad or (done >= 100 and not pairs.moved) else 0


if __name__ == "__main__":
    sys.exit(main())
