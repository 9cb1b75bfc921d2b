# SPDX-License-Identifier: MIT
"""Changes one thing in the file system after a build, and compares the next one with the bare driver's.

  python3 tests/opencl/fuzz_files.py BUILD DRIVER [--rounds N] [--seconds S] [--seed N] [--keep] [--corpus DIR]

Each round writes a tree of headers and a source that includes them in ways
that are as odd as C allows, builds it cold in a process with the layer and
warm in another one, changes one thing (a header's text, place, name or kind, a
directory, a link, a variable of the environment), and builds again in both, and in a
third process without the layer. With --corpus the tree is one that somebody else
wrote, such as LLVM's preprocessor tests. What the kernel computes (on NEO, which
executes nothing here: the binary), the error and the log have to be the bare
driver's. Processes live for many rounds, so that both what is remembered in
memory and what lies on the disk is asked for. Prints each difference with the
round's seed; --seed repeats one. Exit code: 0 without a difference; 77: no
such driver.
"""
import argparse
import json
import mmap
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from environment import DRIVERS, driver_file, drivers, made, opencl  # noqa: E402

NAMES = ["a.h", "b.h", "c d.h", "e.inc", "f", "sub/g.h", "sub/h.h", "\u00e4.h", "opencl-c-base.h", "cl_kernel.h"]
FOLDERS = [".", "one", "two", "one/in", "three", "include", "link", "sp ace"]
ROUNDS_PER_PROCESS = 200
VARIABLES = [("CPATH", "%s/two"), ("C_INCLUDE_PATH", "%s/one"), ("OPENCL_INCLUDE_PATH", "%s"), ("TMPDIR", "%s"), ("PWD", "/"),
             ("LC_ALL", "C.utf8"), ("HOME", "%s"), ("SOURCE_DATE_EPOCH", "1"), ("IGC_ForceOCLSIMDWidth", "8"),
             ("DisableStatelessToStatefulOptimization", "1"), ("LP_NATIVE_VECTOR_WIDTH", "128"),
             ("POCL_WORK_GROUP_METHOD", "loops"), ("CUDA_VISIBLE_DEVICES", "0"), ("ZE_AFFINITY_MASK", "0")]


class NoDevice(Exception):
    """The driver gives none here."""


class Server:
    """A process that builds."""

    def __init__(self, work, build, driver, layered, pocl="pocl"):
        self.work, self.build, self.driver, self.layered, self.pocl = work, build, driver, layered, pocl
        self.process = None
        self.changed = {}

    def environment(self):
        env = made(self.work, self.work + "/cache", TMPDIR=self.work + "/tmp", POCL_KERNEL_CACHE="0",
                   POCL_CACHE_DIR=self.work + "/" + self.pocl, MESA_SHADER_CACHE_DISABLE="1",
                   MESA_GLSL_CACHE_DISABLE="1", CUDA_CACHE_DISABLE="1", CKCACHE_CAPTURE="eager",
                   LD_LIBRARY_PATH=os.environ.get("LD_LIBRARY_PATH"), **drivers(self.work))
        return {**env, **(DRIVERS[self.driver][1] if self.driver in DRIVERS else {}),
                **(opencl(self.build) if self.layered else {}), **self.changed}

    def change(self, variables):
        """Another process, in another environment."""
        self.stop()
        self.changed = variables

    def start(self):
        self.process = subprocess.Popen([self.build + "/bin/fuzz_client"], env=self.environment(),
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)

    def ask(self, line):
        if not self.process:
            self.start()
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline().decode()
        except BrokenPipeError:
            answer = ""
        if not answer:
            code = self.process.wait()
            self.process = None
            if code == 77:
                raise NoDevice
            # A driver that crashes may do so in one way or another.
            return "ended by a signal" if code < 0 else "ended with %d" % code
        return answer.strip()

    def stop(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait(timeout=60)
            self.process = None


class Round:
    def __init__(self, seed, root):
        self.random = random.Random(seed)
        self.root = root
        self.value = 1
        self.needed, self.folders = [], []
        os.makedirs(root)
        os.chdir(root)

    def number(self):
        self.value += 1
        return self.value

    def header_text(self, name, depth=0):
        """Gives a macro of the header's own a value, so that each header shows."""
        lines = []
        if self.random.random() < 0.12:
            lines.append("#pragma once")
        if self.random.random() < 0.25:
            other = self.random.choice([n for n in NAMES[:9] if n != name])
            lines += ["#ifndef DEEPER", "#define DEEPER"] + self.include(other) + ["#endif"]
            if self.random.random() < 0.8:
                self.needed.append(other)
        number = NAMES.index(name)
        lines.append("#ifdef M%d" % number)
        lines.append("#undef M%d" % number)
        lines.append("#define M%d %d" % (number, self.random.randrange(1000)))
        lines.append("#else")
        lines.append("#define M%d %d" % (number, self.random.randrange(1000)))
        lines.append("#endif")
        return "\n".join(lines) + "\n"

    def include(self, name):
        """Lines that include it, more or less."""
        chance = self.random.randrange(22)
        quoted = '"%s"' % name if self.random.random() < 0.5 else "<%s>" % name
        if chance == 0:
            return ["%%:include %s" % quoted]
        if chance == 1:
            return ["#inc\\", "lude %s" % quoted]
        if chance == 2:
            return ["#define NAME%d %s" % (self.number(), quoted), "#include NAME%d" % self.value]
        if chance == 3:
            return ["#if __has_include(%s)" % quoted, "#include %s" % quoted, "#endif"]
        if chance == 4:
            return ["# /* */ include /**/ %s" % quoted]
        if chance == 5:
            return ["#include_next %s" % quoted]
        if chance == 6:
            return ["#import %s" % quoted]
        if chance == 7:
            return ["#ifdef SWITCH", "#include %s" % quoted, "#endif"]
        if chance == 8:
            return ["#if 0", "#include %s" % quoted, "#endif"]
        if chance == 9:
            return ["#if __OPENCL_VERSION__ >= 120", "#include %s" % quoted, "#endif"]
        if chance == 10:
            return ["#include\t\"./%s\"" % name]
        if chance == 11:
            return ['#include "one/../%s"' % name]
        if chance == 12:
            return ['#include "%s/%s"' % (self.root, name)]
        if chance == 13:
            return ["??=include %s" % quoted]
        if chance == 14:
            return ["#define STR(x) #x", "#define XSTR(x) STR(x)", "#include XSTR(%s)" % name]
        if chance == 15:
            return ["#include \u00a0%s" % quoted]
        if chance == 16:
            return ["#if defined(__IMAGE_SUPPORT__) && !defined(NOTHING)", "#include %s" % quoted,
                    "#else", '#include "other-%s"' % os.path.basename(name), "#endif"]
        if chance == 17:
            return ["/*", "*/ #include %s" % quoted]
        return ["#include %s" % quoted]

    def options(self):
        words = []
        for _ in range(self.random.randrange(1, 5)):
            folder = self.random.choice(FOLDERS + ["none", "none/deeper", "/usr/include", self.root + "/two"])
            chance = self.random.randrange(8)
            self.folders.append(folder)
            if " " in folder:
                words.append('-I"%s"' % folder if chance < 4 else '"-I%s"' % folder)
            elif chance == 0:
                words.append("-I %s" % folder)
            elif chance == 1:
                words.append("-I%s/" % folder)
            elif chance == 2:
                words.append("-I./%s" % folder if not folder.startswith("/") else "-I" + folder)
            else:
                words.append("-I%s" % folder)
        for word in ("-DSWITCH", "-D__OPENCL_VERSION__=0", "-cl-std=CL1.2", "-D__IMAGE_SUPPORT__",
                     "-cl-fast-relaxed-math", "-w", "-DNAME=a.h", "-cl-kernel-arg-info"):
            if self.random.random() < 0.12:
                words.append(word)
        self.random.shuffle(words)
        return words

    def source(self):
        lines = ["#define SUM 0"]
        for _ in range(self.random.randrange(1, 4)):
            name = self.random.choice(NAMES[:9])
            lines += self.include(name)
            # Most sources build before the change: what is missing somewhere is in an odd place.
            if self.random.random() < 0.9:
                self.needed.append(name)
        for i in range(len(NAMES)):
            lines += ["#ifndef M%d" % i, "#define M%d 7" % i, "#endif"]
        lines.append("kernel void value(global int *out) {")
        lines.append("out[0] = %s;" % " + ".join("M%d * %d" % (i, 3 * i + 1) for i in range(len(NAMES))))
        lines.append("out[1] = __COUNTER__;")
        lines.append("#if __has_include(<one/probe.h>)" if self.random.random() < 0.1 else "#if 1")
        lines.append("out[2] = 1;")
        lines.append("#endif")
        lines.append("}")
        return "\n".join(lines) + "\n"

    def path(self):
        return os.path.normpath(os.path.join(self.random.choice(FOLDERS), self.random.choice(NAMES)))

    def write(self, path, text=None):
        if os.path.isdir(path):
            return
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            if os.path.islink(path):
                os.unlink(path)
            with open(path, "w", encoding="utf-8") as file:
                name = max((n for n in NAMES if path.endswith(n)), key=len, default=NAMES[0])
                file.write(text if text is not None else self.header_text(name))
        except (FileExistsError, FileNotFoundError, NotADirectoryError):
            pass

    def make(self):
        for folder in FOLDERS:
            if folder != "link" and self.random.random() < 0.7:
                os.makedirs(folder, exist_ok=True)
        if self.random.random() < 0.6:
            os.symlink(self.random.choice(["one", "two", "nowhere"]), "link")
        for _ in range(self.random.randrange(1, 9)):
            path = self.path()
            # Headers that drivers look for by themselves make every build odd.
            if os.path.basename(path) in NAMES[8:] and self.random.random() < 0.8:
                continue
            self.write(path)
        self.words = self.options()
        folders = [f for f in FOLDERS if f in self.folders]
        with open("main.cl", "w", encoding="utf-8") as file:
            file.write(self.source())
        while self.needed:
            name = self.needed.pop()
            self.write(os.path.normpath(os.path.join(self.random.choice(folders + [".", "."]), name)))

    def files(self):
        found = []
        for at, _, names in os.walk("."):
            found += [os.path.normpath(os.path.join(at, name)) for name in names if name != "main.cl"]
        return sorted(found)

    def change(self):
        """One change; what it was, in words."""
        files = self.files()
        kind = self.random.randrange(16)
        path = self.random.choice(files) if files else None
        if kind <= 2 and path and os.path.isfile(path):
            self.write(path)
            return "text of " + path
        if kind == 3 and path:
            os.unlink(path)
            return "no " + path
        if kind == 4 and path:
            os.rename(path, path + ".old")
            return "moved " + path
        if kind == 5 and path and os.path.isfile(path) and os.path.getsize(path):
            with open(path, "r+b") as file:
                with mmap.mmap(file.fileno(), 0) as shared:
                    at = shared.rfind(b" ", 0, len(shared) - 1)
                    digit = shared[at + 1:at + 2]
                    if at >= 0 and digit.isdigit():
                        shared[at + 1] = ord("1") + (digit[0] - ord("1") + 1) % 9
            return "a digit through a mapping of " + path
        if kind == 6:
            folder = self.random.choice([f for f in FOLDERS if f not in (".", "link")])
            if os.path.isdir(folder):
                os.rename(folder, "away")
                return "no directory " + folder
            os.makedirs(folder)
            return "empty directory " + folder
        if kind == 7:
            if os.path.islink("link"):
                os.unlink("link")
            if not os.path.exists("link"):
                os.symlink(self.random.choice(["one", "two", "three", "."]), "link")
            return "link leads elsewhere"
        if kind == 8 and os.path.isdir("one") and os.path.isdir("two"):
            os.rename("one", "swap")
            os.rename("two", "one")
            os.rename("swap", "two")
            return "one and two swapped"
        if kind == 9 and path and os.path.isfile(path):
            times = os.stat(path)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            self.write(path, "".join("9" if c == "1" else c for c in text))
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            return "text of the same size and time of " + path
        if kind == 10 and len(files) > 1:
            other = self.random.choice(files)
            if other != path and os.path.isfile(path):
                os.unlink(other)
                if self.random.random() < 0.5:
                    os.link(path, other)
                else:
                    os.symlink(os.path.join(self.root, path), other)
                return "%s leads to %s" % (other, path)
        if kind == 11 and path and os.path.isfile(path):
            with open(path, "rb") as file:
                text = file.read()
            os.unlink(path)
            with open(path, "wb") as file:
                file.write(text)
            return "another file with the text of " + path
        if kind == 12 and path and os.path.isfile(path):
            os.unlink(path)
            os.makedirs(path)
            return "a directory for " + path
        path = self.path()
        new = not os.path.exists(path)
        self.write(path)
        return ("new " if new else "text of ") + path


class CorpusRound(Round):
    """A file of a tree that somebody else wrote, as it is or with a kernel before it, beside all its headers."""

    def __init__(self, seed, root, corpus):
        super().__init__(seed, root)
        self.corpus, self.named = corpus, []

    def make(self):
        large = lambda at, names: [n for n in names if os.path.isfile(os.path.join(at, n))  # noqa: E731
                                   and os.path.getsize(os.path.join(at, n)) > 60000]
        shutil.copytree(self.corpus, self.root, dirs_exist_ok=True, ignore=large)
        found = [path for path in self.files() if path.endswith((".c", ".cl", ".h", ".cpp", ".hpp"))]
        path = self.random.choice(found)
        with open(path, "rb") as file:
            text = file.read().replace(b"\0", b" ")
        words = {os.path.basename(word) for word in re.findall(r"[\w./-]+", text.decode("latin1"))}
        self.named = [name for name in self.files() if os.path.basename(name) in words]
        if self.random.random() < 0.5:
            text = b'#include "%s"\n' % path.encode()
            self.named.append(path)
        kernel = b"\nkernel void value(global int *out) { out[0] = __COUNTER__; }\n"
        with open("main.cl", "wb") as file:
            file.write(kernel + text if self.random.random() < 0.2 else text + kernel)
        folders = sorted({os.path.dirname(name) or "." for name in self.files()})
        self.words = ["-I" + folder for folder in
                      {"."} | {os.path.dirname(name) or "." for name in self.named} |
                      set(self.random.sample(folders, min(len(folders), self.random.randrange(3))))]
        self.words += self.random.choice([[], ["-w"], ["-cl-std=CL1.2"]])

    def header_text(self, name, depth=0):
        return self.random.choice(["constant int changed%d = __COUNTER__;\n" % self.number(), "#error changed\n"])

    def path(self):
        return self.random.choice(self.files())

    def change(self):
        files = self.files
        if self.named and self.random.random() < 0.8:
            self.files = lambda: sorted(self.named)
        try:
            return super().change()
        finally:
            self.files = files


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("driver")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--keep", action="store_true", help="leave the directory of a difference")
    parser.add_argument("--corpus", help="a tree of sources and headers to take instead of made ones")
    parser.add_argument("--library", help="the driver's file, where it is not a known one")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    arguments.corpus = arguments.corpus and os.path.abspath(arguments.corpus)
    library = arguments.library or driver_file(arguments.driver)
    if not library:
        print("no %s here" % arguments.driver)
        return 77
    work = tempfile.mkdtemp(prefix="ckcache-fuzz-")
    # With its kernel cache off pocl removes what another process is about to load.
    for name in ("tmp", "pocl-cold", "pocl-warm", "pocl-bare", "cache"):
        os.makedirs(os.path.join(work, name), mode=0o700)
    drivers(work, library)
    servers = {name: Server(work, build, arguments.driver, name != "bare", "pocl-" + name) for name in ("cold", "warm", "bare")}
    what = {"neo": "binary", "amd": "made"}.get(arguments.driver, "run")
    first = arguments.seed if arguments.seed is not None else int(time.time() * 1000) % 10 ** 9
    rounds = arguments.rounds or (1 if arguments.seed is not None else 10 ** 9)
    end = time.monotonic() + (arguments.seconds or 10 ** 9)
    bad = changed = failed = done = 0
    try:
        for seed in range(first, first + rounds):
            if time.monotonic() > end:
                break
            # The name is of one length, so that logs are; another one each time would hide nothing.
            root = os.path.join(work, "round")
            one = CorpusRound(seed, root, arguments.corpus) if arguments.corpus else Round(seed, root)
            one.make()
            # comgr's sources are in a directory of their own, and it looks for no header in the working one.
            options = " ".join(one.words + (["-I."] if arguments.driver == "amd" else []))
            how = one.random.choice(["build", "build", "build", "link", "embed"])
            line = "%s\tmain.cl\t%s\t%s\t%s" % (root, options, how, what)
            answers = {"cold": servers["cold"].ask(line)}
            answers["again"] = servers["warm"].ask(line)
            bare = servers["bare"].ask(line)
            why = ""
            if answers["cold"] != bare or answers["again"] != bare:
                why = "before the change"
            else:
                before = bare
                variable = one.random.choice(VARIABLES) if one.random.random() < 0.06 else None
                if variable:
                    variable = {variable[0]: variable[1].replace("%s", root)}
                    why = "environment %s" % variable
                    for name in ("warm", "bare"):
                        servers[name].change(variable)
                else:
                    why = one.change()
                answers = {"disk": servers["warm"].ask(line)}
                if not variable:
                    answers["memory"] = servers["cold"].ask(line)
                bare = servers["bare"].ask(line)
                for name in ("warm", "bare"):
                    if variable:
                        servers[name].change({})
                changed += bare != before
                failed += not bare.startswith("0 ")
            if set(answers.values()) != {bare}:
                bad += 1
                print("DIFFERENT seed %d, %s: %s\n  options %s, %s\n  bare %s" %
                      (seed, why, json.dumps(answers), options, how, bare), flush=True)
                if arguments.keep:
                    shutil.move(root, os.path.join(work, "seed-%d" % seed))
            os.chdir(work)
            shutil.rmtree(root, ignore_errors=True)
            done += 1
            if done % ROUNDS_PER_PROCESS == 0:
                for server in servers.values():
                    server.stop()
            if done % 1000 == 0:
                print("%d rounds, %d different" % (done, bad), flush=True)
    except NoDevice:
        print("%s has no device here" % arguments.driver)
        return 77
    finally:
        for server in servers.values():
            server.stop()
    stats = subprocess.run([build + "/bin/ckcache", "stats", "--json"], capture_output=True, text=True,
                           env={**os.environ, "CKCACHE_DIR": work + "/cache"}, check=False).stdout
    try:
        stats = {key: value for key, value in json.loads(stats).items()
                 if key in ("hits_disk", "hits_memory", "misses", "bypasses")}
    except ValueError:
        pass
    print("%d rounds from seed %d, %d different; the change showed in %d, %d did not build; %s" %
          (done, first, bad, changed, failed, stats))
    if arguments.keep and bad:
        print("left: " + work)
    else:
        shutil.rmtree(work, ignore_errors=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
