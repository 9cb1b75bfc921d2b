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
import changes as lists  # noqa: E402  (beside this file)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WANTED = 97	# percent
# What a change of a file below may be seen by, after the tests that its list names.
LATER = (
    ("layers/level_zero/", (("-L", "^stub$", "-R", "^level_zero[.]"),)),
    ("layers/opencl/", (("-L", "^stub$", "-R", "^(opencl|libckcache)[.]"),)),
    ("", (("-L", "^unit$"), ("-L", "^stub$"))),
)
NEVER = ("-LE", "^(long|thorough|bench)$")
SLOW = r"unit[.]observer[.]valgrind$"	# a minute, in which a busy machine may seem to hang
FAILED = re.compile(r"Test +#\d+: (\S+) [. ]*[A-Za-z ]*\*\*\*(?!Skipped)")
MEMORY = 16 << 30
# Seconds for one test that a list names, and for all others: what takes longer hangs.
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

    def __init__(self, folder, number):
        self.ready = False
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
                                 "-DCMAKE_C_FLAGS=-w -O1", "-DCMAKE_BUILD_TYPE=", *launcher)
        if code != 0:
            raise Broken(output[-2000:])
        self.make(at_once=at_once)
        self.ready = True

    def alone(self, name, seconds):
        """The exit code of one test; None: it takes longer."""
        return self.call("ctest", "--test-dir", self.build, "-R", "^%s$" % re.escape(name), seconds=seconds)[0]

    def failing(self, *chosen, but=(), patience=MORE_PATIENCE):
        """The first test of these that fails or hangs, alone too; None: all pass."""
        os.makedirs(self.temporary, exist_ok=True)
        os.chmod(self.temporary, 0o1777)
        try:
            for _ in range(3):
                code, output = self.call("ctest", "--test-dir", self.build, "--stop-on-failure",
                                         "--no-tests=error", *NEVER, *chosen,
                                         "-E", "^(%s)" % "|".join((SLOW, *but)),
                                         seconds=patience)
                if code is None and STARTED.search(output):
                    name = STARTED.findall(output)[-1]
                    if self.alone(name, 2 * PATIENCE) != 0:
                        return name + " (hangs)"
                    continue	# it is only slow
                if "No tests were found" in output and but:
                    return None
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

    def nearest(self, tests):
        """Builds what these tests run, and runs them in their order."""
        for test in tests:
            kind, _, module = test.partition(".")
            if kind == "unit":
                self.make("test_%s" % module.partition(".")[0])	# and the libraries that it opens
                if module.startswith(("observer", "dependencies")):
                    self.make("observed_lazy", "observed_now", "observed_no_plt")
            elif kind == "tools" and os.path.exists(os.path.join(ROOT, "tests/tools/test_%s.c" % module)):
                self.make("test_%s" % module)
            elif kind == "opencl":
                self.make("test_opencl_%s" % module.partition(".")[0], "ckcache_opencl", "ckcache")
            else:
                self.make()
            name = self.failing("-R", "^%s" % test, patience=PATIENCE)
            if name:
                return name
        return None

    def try_change(self, change, near):
        """The name of the test that noticed it, or None. near: of those that the list names."""
        path = os.path.join(self.tree, change.path)
        original = read(path).decode()
        try:
            write(path, change.apply(original))
            name = self.nearest(change.tests)
            if name or near:
                return name
            self.make()
            later = next(tests for folder, tests in LATER if change.path.startswith(folder))
            for chosen in later:
                name = name or self.failing(*chosen, but=change.tests)
            return name
        finally:
            write(path, original)


def read(path):
    with open(path, "rb") as source:
        return source.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as target:
        target.write(text)


class Results:
    """What is known, in a file: which change, of which text, was noticed by which test."""

    def __init__(self, path):
        self.path, self.lock, self.known = path, threading.Lock(), {}
        if os.path.exists(path):
            self.known = json.loads(read(path))

    @staticmethod
    def digest(change):
        text = lists.read(ROOT, change.path) + "\0" + "\n".join(change.old + ["\0"] + change.new)
        return hashlib.sha256(text.encode()).hexdigest()

    def find(self, change):
        """Only what was caught needs no second look: tests may have been added since."""
        known = self.known.get(change.full_name())
        return known if known and known["caught"] and known["digest"] == self.digest(change) else None

    def tried(self, change):
        known = self.known.get(change.full_name())
        return known and not known["broken"] and known["digest"] == self.digest(change)

    def add(self, change, caught, broken, seconds):
        with self.lock:
            self.known[change.full_name()] = {
                "digest": self.digest(change), "caught": caught, "broken": broken,
                "seconds": round(seconds, 1)}
            write(self.path + ".new", json.dumps(self.known, indent=1, sort_keys=True))
            os.replace(self.path + ".new", self.path)
        print("%6.1f s  %-60s %s" % (seconds, change.full_name(),
                                     caught or (broken and "DOES NOT BUILD") or "SURVIVED"), flush=True)


def work(copy, todo, results, near):
    if not copy.ready:
        copy.prepare()
    while True:
        try:
            change = todo.get_nowait()
        except queue.Empty:
            return
        start, caught, broken = time.monotonic(), None, None
        try:
            caught = copy.try_change(change, near)
        except (Broken, lists.Bad) as error:
            broken = str(error)
        results.add(change, caught, broken, time.monotonic() - start)


def try_all(arguments, chosen, results):
    todo = queue.Queue()
    for change in chosen:
        if not change.equivalent and not results.find(change) and not (
                arguments.untried and results.tried(change)):
            todo.put(change)
    if todo.empty():
        return
    copies = [Copy(arguments.build, number) for number in range(min(arguments.jobs, todo.qsize()))]
    copies[0].prepare(os.cpu_count())	# the others find most in a compiler's cache
    if not arguments.trust:
        for tests in LATER[-1][1]:
            name = copies[0].failing(*tests)
            if name:
                sys.exit("%s fails without any change" % name)
    threads = [threading.Thread(target=work, args=(copy, todo, results, arguments.near)) for copy in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def report(chosen, results):
    counts = {"caught": 0, "survived": 0, "equivalent": 0, "unknown": 0}
    print("\n%-68s %-6s %s" % ("change", "", "noticed by"))
    for change in chosen:
        known, said = results.known.get(change.full_name()), None
        if change.equivalent:
            kind, said = "equivalent", "equivalent: " + change.equivalent
        elif not known or known["digest"] != results.digest(change) or known["broken"]:
            kind, said = "unknown", "NOT TRIED: " + ((known or {}).get("broken") or "")[-300:]
        elif known["caught"]:
            kind, said = "caught", known["caught"]
        else:
            kind, said = "survived", "SURVIVED"
        counts[kind] += 1
        print("%-68s %-6s %s" % (change.full_name(), change.endangers, said))
    total = len(chosen)
    share = 100.0 * counts["caught"] / total if total else 0
    print("\n%d changes, %d caught (%.1f %%), %d survived, %d of which are explained; %d not tried" % (
        total, counts["caught"], share, counts["survived"] + counts["equivalent"],
        counts["equivalent"], counts["unknown"]))
    return 0 if share >= WANTED and not counts["unknown"] else 1


def main():
    parser = argparse.ArgumentParser(
        description="Makes each change of tests/mutations/ in a copy of the tree, and tells which test notices it.",
        epilog="Exit code 1: less than %d %% are caught, or a change no longer applies or compiles. "
               "What was caught is kept in BUILD/results.json and not tried again until the file changes." % WANTED)
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="copies at a time (1)")
    parser.add_argument("--only", default="*", metavar="PATTERN",
                        help="of the names that --list prints, those that match, as in the shell")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--trust", action="store_true",
                        help="do not try first that all passes without a change")
    parser.add_argument("--near", action="store_true",
                        help="only the tests that the lists name: quick, and what survives may be caught by others")
    parser.add_argument("--untried", action="store_true",
                        help="leave out what survived, too: tests were not added since")
    parser.add_argument("build", metavar="BUILD", help="a directory for copies, builds and results")
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    for sentence in lists.breaches(ROOT):
        sys.exit(sentence)
    chosen = [change for change in lists.load(ROOT)
              if fnmatch.fnmatch(change.full_name(), arguments.only)]
    if arguments.list:
        for change in chosen:
            print(change.full_name())
        return 0
    os.makedirs(arguments.build, exist_ok=True)
    results = Results(os.path.join(arguments.build, "results.json"))
    try_all(arguments, chosen, results)
    return report(chosen, results)


if __name__ == "__main__":
    sys.exit(main())
