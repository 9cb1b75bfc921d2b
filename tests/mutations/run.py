#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether the suite notices changes of the product: `run.py --help`, docs/TESTING.md."""
import argparse
import fnmatch
import hashlib
import json
import os
import queue
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import operators  # noqa: E402  (beside this file)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WANTED = (("tools/", 90), ("", 95))	# percent, of what is below
NEAREST = 6	# unit tests
EQUIVALENT = "tests/mutations/equivalent.txt"
PRODUCT = ("cachecore", "common", "layers", "storage", "tools")
# What a change of a file below may be seen by, after the unit tests that include its header.
LATER = (
    ("layers/level_zero/", (("-L", "^stub$", "-R", "^level_zero[.]"), ("-L", "^unit$"))),
    ("layers/opencl/", (("-L", "^stub$", "-R", "^(opencl|libckcache)[.]"), ("-L", "^unit$"))),
    ("storage/", (("-R", "^storage[.]"), ("-R", "^remote[.]"), ("-L", "^unit$"))),
    ("tools/", (("-R", "^tools[.]"), ("-L", "^stub$"), ("-R", "^remote[.]"))),
    ("cachecore/remote/", (("-L", "^unit$"), ("-R", "^remote[.]"), ("-L", "^stub$"))),
    ("", (("-L", "^unit$"), ("-L", "^stub$"))),
)
NEVER = ("-LE", "^(long|thorough|bench)$")
SLOW = r"unit[.]observer[.]valgrind"	# a minute, in which a busy machine may seem to hang
FAILED = re.compile(r"Test +#\d+: (\S+) [. ]*[A-Za-z ]*\*\*\*(?!Skipped)")
MEMORY = 16 << 30
# What no compiler of the suite lets pass, though others of its warnings come from any unfinished change.
REFUSED = "-Werror=int-conversion -Werror=incompatible-pointer-types"
# Seconds for one of the nearest tests, and for all others: what takes longer hangs.
PATIENCE, MORE_PATIENCE = 60, 400
STARTED = re.compile(r"Start +\d+: (\S+)")


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.nice(5)


def end_session(session):
    """Ends what a command began and left behind, as a test that was broken off does."""
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.getsid(int(name)) == session:
                os.kill(int(name), 9)
        except OSError:
            pass	# it has ended


class Broken(Exception):
    """It does not compile, or the copy cannot be tested."""


class Copy:
    """A copy of the tree with a build of its own."""

    def __init__(self, folder, number, unfit):
        self.ready, self.unfit = False, unfit
        self.tree = os.path.join(folder, "tree-%d" % number)
        self.build = os.path.join(folder, "build-%d" % number)
        self.temporary = os.path.join(
            "/dev/shm" if os.access("/dev/shm", os.W_OK) else folder,
            "ckcache-mutations-%d-%d" % (os.getpid(), number))
        self.environment = dict(os.environ, TMPDIR=self.temporary, LC_ALL="C.UTF-8",
                                CCACHE_BASEDIR=folder, CCACHE_NOHASHDIR="1")

    def update(self):
        """Makes the tree what the tracked files here are, and leaves alone what is already."""
        names = subprocess.run(["git", "-C", ROOT, "ls-files", "-z", "-co", "--exclude-standard"], check=True,
                               stdout=subprocess.PIPE).stdout.decode().split("\0")
        wanted = {name for name in names if name and os.path.isfile(os.path.join(ROOT, name))}
        for where, _, files in os.walk(self.tree):
            for name in files:
                path = os.path.join(where, name)
                if os.path.relpath(path, self.tree) not in wanted:
                    os.remove(path)
        for name in wanted:
            source, target = os.path.join(ROOT, name), os.path.join(self.tree, name)
            if not os.path.exists(target) or read(source) != read(target):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy(source, target)
                os.utime(target)

    def call(self, *command, seconds=600):
        """(exit code, output); the code is None if it took longer. Nothing of it is left running."""
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT,
                                       stdin=subprocess.DEVNULL, env=self.environment, preexec_fn=limit,
                                       start_new_session=True)
            try:
                code = process.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                code = None
            end_session(process.pid)
            process.wait()
            output.seek(0)
            return code, output.read().decode(errors="replace")

    def make(self, *targets, at_once=2):
        code, output = self.call("ninja", "-C", self.build, "-j", str(at_once), *targets, seconds=1800)
        if code != 0:
            raise Broken(output[-2000:])

    def prepare(self, at_once=2):
        """Builds it; everything passes there as it is."""
        self.update()
        launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        code, output = self.call("cmake", "-S", self.tree, "-B", self.build, "-G", "Ninja",
                                 "-DCKCACHE_TESTS=ON", "-DCKCACHE_WERROR=OFF",
                                 "-DCMAKE_C_FLAGS=-O1 %s" % REFUSED, "-DCMAKE_BUILD_TYPE=", *launcher)
        if code != 0:
            raise Broken(output[-2000:])
        self.make(at_once=at_once)
        self.ready = True

    def alone(self, name, seconds):
        """The exit code of one test; None: it takes longer."""
        return self.call("ctest", "--test-dir", self.build, "-R", "^%s$" % re.escape(name), seconds=seconds)[0]

    def failing_now(self, at_once):
        """What cannot tell a mistake from none: the tests that fail as it is."""
        os.makedirs(self.temporary, exist_ok=True)
        os.chmod(self.temporary, 0o1777)
        for chosen in {chosen for _, tests in LATER for chosen in tests}:
            _, output = self.call("ctest", "--test-dir", self.build, "-j", str(at_once), *NEVER, *chosen,
                                  "-E", "^(%s)$" % "|".join((SLOW, *self.unfit)), seconds=1800)
            if "No tests were found" in output:
                sys.exit("no test is chosen by %s" % " ".join(chosen))
            self.unfit += [re.escape(name) for name in FAILED.findall(output)]

    def failing(self, *chosen, patience=MORE_PATIENCE):
        """The first test of these that fails or hangs, alone too; None: all pass."""
        os.makedirs(self.temporary, exist_ok=True)
        os.chmod(self.temporary, 0o1777)
        try:
            for _ in range(3):
                code, output = self.call("ctest", "--test-dir", self.build, "--stop-on-failure",
                                         *NEVER, *chosen,
                                         "-E", "^(%s)$" % "|".join((SLOW, *self.unfit)),
                                         seconds=patience)
                if code is None and STARTED.search(output):
                    name = STARTED.findall(output)[-1]
                    if self.alone(name, 2 * PATIENCE) != 0:
                        return name + " (hangs)"
                    continue	# it is only slow
                found = FAILED.search(output)
                if code is None or (code != 0 and not found):
                    raise Broken(output[-2000:])
                if not found:
                    return None
                name = found.group(1)
                if self.alone(name, PATIENCE) != 0:
                    return name
            return None
        finally:
            shutil.rmtree(self.temporary, ignore_errors=True)

    def objects(self, path):
        """What is compiled from a source file, in the libraries and programs of the product."""
        found = []
        for where, folders, names in os.walk(self.build):
            folders[:] = [name for name in folders if name != "tests"]
            if os.path.basename(path) + ".o" in names:
                folder, _, below = os.path.relpath(where, self.build).partition("/CMakeFiles/")
                below = below.partition(".dir")[2].strip("/").replace("__", "..")
                if os.path.normpath(os.path.join(folder, below, os.path.basename(path))) == path:
                    found.append(os.path.join(where, os.path.basename(path) + ".o"))
        return found

    def nearest(self, path):
        """The first unit test that fails, of those that include the file's header; None: all pass."""
        for test in nearest(path):
            if not os.path.exists(os.path.join(self.build, "bin", "test_" + test)):
                continue	# something that it needs is not installed
            self.make("test_" + test)	# and the libraries that it opens
            if test in ("observer", "dependencies"):
                self.make("observed_lazy", "observed_now", "observed_no_plt")
            name = self.failing("-R", "^unit[.]%s([.]|$)" % test, patience=PATIENCE)
            if name:
                return name
        return None

    def code(self, objects):
        self.make(*[os.path.relpath(name, self.build) for name in objects])
        return [read(name) for name in objects]

    def try_change(self, path, change, near):
        """The name of the test that noticed it, or None. near: of the nearest."""
        source, objects = os.path.join(self.tree, path), self.objects(path)
        if not objects:
            raise Broken("it is not built here")
        original, before, is_everywhere = read(source).decode(), self.code(objects), False
        try:
            write(source, change.apply(original))
            if self.code(objects) == before:
                raise Broken("the compiler makes the same of it")
            name = self.nearest(path)
            if name or near:
                return name
            is_everywhere = True
            self.make()
            for chosen in next(tests for folder, tests in LATER if path.startswith(folder)):
                name = name or self.failing(*chosen)
            return name
        finally:
            write(source, original)
            if is_everywhere:	# programs that the next one's nearest tests start, too
                self.make()


def nearest(path):
    """The unit tests of a source file: of its name, then others that include its header, small ones first."""
    name = os.path.basename(path)[:-2]
    include, found = '"%s.h"' % path[:-2], []
    for where, _, names in os.walk(os.path.join(ROOT, "tests/unit")):
        for test in names:
            if test.startswith("test_") and test.endswith(".c"):
                text = read(os.path.join(where, test)).decode()
                if test == "test_%s.c" % name or include in text:
                    found.append((test != "test_%s.c" % name, len(text), test[5:-2]))
    return [test for _, _, test in sorted(found)[:NEAREST]]


def read(path):
    with open(path, "rb") as source:
        return source.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as target:
        target.write(text)


class Function:
    """One that is to be tried, and changes of it: as if drawn by lot, but the same ones each time."""

    def __init__(self, path, text, function, seed):
        self.path, self.text, self.name = path, text, function.name
        self.lot = hashlib.sha256(("%s%s:%s" % (seed, path, function.name)).encode()).digest()
        self.digest = hashlib.sha256(text[function.start:function.end].encode()).hexdigest()[:16]
        self.changes = sorted(operators.changes_of(function, text),
                              key=lambda change: hashlib.sha256((seed + self.name_of(change)).encode()).digest())

    def name_of(self, change):
        return "%s:%s: %s: %s" % (self.path, self.name, change.operator, change.shown(self.text))


def touched(commit):
    """{path: [(first, last)]}: the lines that differ from a commit's."""
    found, path = {}, None
    diff = subprocess.run(["git", "-C", ROOT, "diff", "-U0", "--no-color", commit, "--", *PRODUCT], check=True,
                          stdout=subprocess.PIPE).stdout.decode(errors="replace")
    for line in diff.split("\n"):
        hunk = re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)
        if line.startswith("+++ "):
            path = line[6:]
        elif hunk:
            first = int(hunk.group(1))
            found.setdefault(path, []).append((first, first + max(int(hunk.group(2) or 1), 1) - 1))
    return found


def choose(arguments):
    """The functions to try."""
    lines, chosen = touched(arguments.since) if arguments.since else None, []
    for folder in PRODUCT:
        for where, folders, names in os.walk(os.path.join(ROOT, folder)):
            folders.sort()
            for name in sorted(names):
                path = os.path.relpath(os.path.join(where, name), ROOT)
                if not path.endswith(".c") or (lines is not None and path not in lines):
                    continue
                text = read(os.path.join(ROOT, path)).decode()
                for function in operators.functions(text):
                    first, last = (text.count("\n", 0, at) + 1 for at in (function.start, function.end))
                    if fnmatch.fnmatch("%s:%s" % (path, function.name), arguments.only) and (
                            lines is None or any(a <= last and b >= first - 1 for a, b in lines[path])):
                        chosen.append(Function(path, text, function, arguments.seed))
    return sorted(chosen, key=lambda function: function.lot)


def equivalents():
    """What no test can see."""
    path = os.path.join(ROOT, EQUIVALENT)
    lines = read(path).decode().split("\n") if os.path.exists(path) else []
    return {line.partition("\t")[0] for line in lines if line and not line.startswith("#")}


class Results:
    """What is known, in a file: which change, of which text, was noticed by which test."""

    def __init__(self, path):
        self.path, self.lock, self.known = path, threading.Lock(), {}
        if os.path.exists(path):
            self.known = json.loads(read(path))

    def find(self, function, change):
        known = self.known.get(function.name_of(change))
        return known if known and known["digest"] == function.digest else None

    def add(self, function, change, caught, broken, seconds):
        with self.lock:
            self.known[function.name_of(change)] = {
                "digest": function.digest, "caught": caught, "broken": broken, "seconds": round(seconds, 1)}
            write(self.path + ".new", json.dumps(self.known, indent=1, sort_keys=True))
            os.replace(self.path + ".new", self.path)
        if not broken:
            print("%6.1f s  %s  <%s>" % (seconds, function.name_of(change), caught or "SURVIVED"), flush=True)


def try_function(copy, function, arguments, results, known_equivalents):
    tried = 0
    for change in function.changes:
        if tried == arguments.each:
            return
        known = results.find(function, change)
        if function.name_of(change) in known_equivalents:
            continue
        # Tests may have been added since something survived.
        if not known or (not known["caught"] and not known["broken"] and not arguments.untried):
            start, caught, broken = time.monotonic(), None, None
            try:
                caught = copy().try_change(function.path, change, arguments.near)
            except Broken as error:
                broken = str(error) or "?"
            results.add(function, change, caught, broken, time.monotonic() - start)
            known = results.find(function, change)
        tried += not known["broken"]


def try_all(arguments, chosen, results):
    todo, known_equivalents, end = queue.Queue(), equivalents(), time.monotonic() + 60 * arguments.minutes
    for function in chosen:
        todo.put(function)
    unfit = []
    copies = [Copy(arguments.build, number, unfit) for number in range(min(arguments.jobs, todo.qsize()))]
    if not copies:
        return
    copies[0].prepare(os.cpu_count())	# the others find most in a compiler's cache
    if not arguments.trust:
        copies[0].failing_now(os.cpu_count())
        print("Left out, since they fail without any change: %s" % (" ".join(unfit) or "none"), flush=True)

    def work(copy):
        def ready():
            if not copy.ready:
                copy.prepare()
            return copy

        while time.monotonic() < end:
            try:
                function = todo.get_nowait()
            except queue.Empty:
                return
            try_function(ready, function, arguments, results, known_equivalents)

    threads = [threading.Thread(target=work, args=(copy,)) for copy in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def report(chosen, results):
    counts, survived, untried = {}, [], 0
    for function in chosen:
        tried = [(change, results.find(function, change)) for change in function.changes]
        tried = [(change, known) for change, known in tried if known and not known["broken"]]
        untried += not tried
        for change, known in tried:
            folder = "/".join(function.path.split("/")[:2 if function.path.startswith("layers") else 1]) + "/"
            caught, total = counts.get(folder, (0, 0))
            counts[folder] = (caught + bool(known["caught"]), total + 1)
            if not known["caught"]:
                survived.append(function.name_of(change))
    if survived:
        print("\nUnnoticed:\n" + "\n".join(survived))
    print("\n%-24s %8s %8s" % ("", "tried", "noticed"))
    enough = True
    for folder, (caught, total) in sorted(counts.items()):
        wanted = next(percent for prefix, percent in WANTED if folder.startswith(prefix))
        enough = enough and 100 * caught >= wanted * total
        print("%-24s %8d %7.1f %%  (%d %% wanted)" % (folder, total, 100.0 * caught / total, wanted))
    print("%d functions, nothing tried in %d" % (len(chosen), untried))
    return 0 if enough else 1


def main():
    parser = argparse.ArgumentParser(
        description="Makes small mistakes in functions of the product, one at a time, in a copy of the tree, "
                    "and tells which test notices each.",
        epilog="Exit code 1: too few are noticed. What is known is kept in BUILD/results.json; what was noticed "
               "is not tried again until its function changes. What no test can see: %s." % EQUIVALENT)
    parser.add_argument("--since", metavar="COMMIT", help="only functions that differ from that commit's")
    parser.add_argument("--only", default="*", metavar="PATTERN",
                        help="only functions whose path:name matches, as in the shell")
    parser.add_argument("--each", type=int, default=3, metavar="N", help="mistakes in each function (3)")
    parser.add_argument("--seed", default="", help="draws others")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="copies at a time (1)")
    parser.add_argument("--minutes", type=float, default=1e6, help="begins no other function after that")
    parser.add_argument("--trust", action="store_true",
                        help="do not look first for tests that fail without a change")
    parser.add_argument("--near", action="store_true",
                        help="only the nearest unit tests: quick, and what survives may be noticed by others")
    parser.add_argument("--untried", action="store_true",
                        help="leave out what survived, too: tests were not added since")
    parser.add_argument("--list", action="store_true", help="print all that could be tried")
    parser.add_argument("build", metavar="BUILD", help="a directory for copies, builds and results")
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    chosen = choose(arguments)
    if arguments.list:
        for function in chosen:
            for change in function.changes:
                print(function.name_of(change))
        return 0
    os.makedirs(arguments.build, exist_ok=True)
    results = Results(os.path.join(arguments.build, "results.json"))
    try_all(arguments, chosen, results)
    return report(chosen, results)


if __name__ == "__main__":
    sys.exit(main())
