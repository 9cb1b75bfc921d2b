#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Whether the suite notices changes of the product: `run.py --help`, docs/TESTING.md."""
import argparse
import collections
import concurrent.futures
import fnmatch
import hashlib
import json
import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import operators  # noqa: E402  (beside this file)
import schemata  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WANTED = (("tools/", 90), ("", 95))	# percent, of what is below
EQUIVALENT = "tests/mutations/equivalent.txt"
PRODUCT = ("cachecore", "common", "layers", "storage", "tools")
# Tests of these kinds, without a real driver, as two of them have in part, or valgrind.
KINDS = {"unit", "golden", "hostile", "opencl", "level_zero", "libckcache", "storage", "remote", "tools", "stress"}
NEVER = {"long", "thorough", "bench", "neo", "rusticl", "pocl", "oclgrind", "amd", "ze_intel"}
TOO_SLOW = {"unit.observer.valgrind", "tools.recipes_drivers"}
SKIPPED = 77
MEMORY = 16 << 30	# of a process that runs wild: its data, since a leak checker reserves addresses without end
# Seconds that a test may take beyond, and times, what it took without a mistake: what takes longer hangs.
PATIENCE, SLOWNESS = 10, 5
MOST_SECONDS = 300	# without one
# What no compiler of the suite lets pass, though others of its warnings come from any unfinished change.
REFUSED = "-Werror=int-conversion -Werror=incompatible-pointer-types"
ROUNDS = 40	# of looking for what does not compile
CHECK = ("-fsyntax-only", "-Werror=vla", "-fmax-errors=0", "-fdiagnostics-column-unit=byte")
MESSAGE = re.compile(r"^(\S+?):(\d+):(\d+): (?:fatal )?(error: |note: in expansion)", re.M)


def read(path):
    with open(path, "rb") as source:
        return source.read()


def write(path, content):
    """Leaves alone what is so already: no need to compile it again."""
    if os.path.exists(path) and read(path) == content:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as target:
        target.write(content)


def end_session(session):
    """Ends what a test began and left behind."""
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.getsid(int(name)) == session:
                os.kill(int(name), signal.SIGKILL)
        except OSError:
            pass	# it has ended


class Function:
    """One that is to be tried, and changes of it: as if drawn by lot, but the same ones each time."""

    def __init__(self, path, text, function, seed):
        self.path, self.text, self.name = path, text, function.name
        self.start, self.end, self.tokens = function.start, function.end, function.tokens
        self.lot = hashlib.sha256(("%s%s:%s" % (seed, path, function.name)).encode()).digest()
        self.digest = hashlib.sha256(text[function.start:function.end].encode()).hexdigest()[:16]
        self.changes = sorted(operators.changes_of(function, text),
                              key=lambda change: hashlib.sha256((seed + self.name_of(change)).encode()).digest())

    def name_of(self, change, line=""):
        return "%s:%s %s: %s: %s" % (self.path, line, self.name, change.operator, change.shown(self.text))

    def place_of(self, change):
        return self.name_of(change, "%d:" % (self.text.count("\n", 0, change.start) + 1))


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
    return chosen


def equivalents():
    """What no test can see."""
    path = os.path.join(ROOT, EQUIVALENT)
    lines = read(path).decode().split("\n") if os.path.exists(path) else []
    return {line.partition("\t")[0] for line in lines if line and not line.startswith("#")}


def sample(chosen, each):
    """The mistakes to make. Their numbers change only with the sources, so that little is compiled again."""
    known, mistakes, number = equivalents(), [], 0
    for function in chosen:
        drawn = [change for change in function.changes if function.name_of(change) not in known][:each]
        here = []
        for change in function.changes:
            number += 1
            if change in drawn:
                here.append(schemata.Mistake(function, change, number))
        schemata.separate(here)
        mistakes += here
    return mistakes


class Build:
    """A copy of the tree with all mistakes, and its build."""

    def __init__(self, folder, jobs):
        self.jobs, self.tree, self.build = jobs, os.path.join(folder, "tree"), os.path.join(folder, "build")
        self.header = os.path.join(folder, "mutants.h")
        self.commands = collections.defaultdict(list)	# {path: what compiles it}
        self.lock, self.compared = threading.Lock(), {}	# {path: its objects}, guarded by lock

    def must(self, *command):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False)
        if done.returncode:
            sys.exit(done.stdout.decode(errors="replace")[-4000:])
        return done.stdout

    def copy(self, rewritten):
        """Makes the tree what the tracked files here are, but the rewritten ones."""
        if os.path.exists(os.path.join(ROOT, ".git")):
            names = self.must("git", "-C", ROOT, "ls-files", "-z", "-co", "--exclude-standard").decode().split("\0")
        else:
            names = [os.path.relpath(os.path.join(where, name), ROOT) for where, _, found in os.walk(ROOT)
                     for name in found if not os.path.relpath(where, ROOT).startswith("build")]
        wanted = {name for name in names if name and os.path.isfile(os.path.join(ROOT, name))}
        for where, _, found in os.walk(self.tree):
            for name in found:
                if os.path.relpath(os.path.join(where, name), self.tree) not in wanted:
                    os.remove(os.path.join(where, name))
        for name in wanted:
            source, target = os.path.join(ROOT, name), os.path.join(self.tree, name)
            if name not in rewritten or not os.path.exists(target):
                write(target, read(source))
                shutil.copymode(source, target)

    def make(self, mistakes):
        """Returns those that are in it: what does not compile is not."""
        by_path = collections.defaultdict(list)
        for one in mistakes:
            by_path[one.function.path].append(one)
        self.copy(by_path)
        write(self.header, schemata.HEADER.encode())
        launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        self.must("cmake", "-S", self.tree, "-B", self.build, "-G", "Ninja", "-DCMAKE_C_COMPILER=gcc",
                  "-DCKCACHE_TESTS=ON", "-DCKCACHE_WERROR=OFF", "-DCMAKE_BUILD_TYPE=RelWithDebInfo",
                  "-DCMAKE_C_FLAGS_RELWITHDEBINFO=-O1 -DNDEBUG %s" % REFUSED, *launcher)
        headers = set()	# that are generated
        for one in json.loads(read(os.path.join(self.build, "compile_commands.json"))):
            folder, target = re.search(r" -o (\S*?)CMakeFiles/([^/]+)[.]dir/", one["command"]).groups()
            if not folder.startswith("tests/"):
                self.commands[os.path.relpath(one["file"], self.tree)].append(one["command"])
                headers.add("cmake_object_order_depends_target_" + target)
        self.must("ninja", "-C", self.build, *sorted(headers))
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(lambda path: self.rewrite(path, by_path[path]), by_path))
        for _ in range(ROUNDS):	# a look at the syntax does not find everything
            code, output = self.compile("ninja -k 0 -j %d" % self.jobs)
            if code == 0:
                return [one for one in mistakes if one.form]
            wrong = set()
            for path, here in by_path.items():
                rewritten = schemata.Rewritten(here[0].function.text, self.header, here)
                found = set(self.blamed(rewritten, os.path.join(self.tree, path), output))
                for one in found:
                    one.fits_otherwise()
                if found:
                    self.rewrite(path, here)
                wrong |= found
            if not wrong:
                break
        sys.exit(output[-4000:])

    def compile(self, command, *more):
        """What the compiler says."""
        done = subprocess.run(" ".join((command, *more)), shell=True, cwd=self.build, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout.decode(errors="replace")

    def rewrite(self, path, mistakes):
        """Puts mistakes into a file, as far as they compile there."""
        target, text = os.path.join(self.tree, path), mistakes[0].function.text
        for _ in range(ROUNDS if self.commands[path] else 0):	# 0: something that it needs is not installed
            rewritten, wrong = schemata.Rewritten(text, self.header, mistakes), set()
            write(target, rewritten.text.encode())
            for command in self.commands[path]:
                code, output = self.compile(command, *CHECK)
                if code:
                    wrong.update(list(self.blamed(rewritten, target, output)) or mistakes)
            if not wrong:
                return
            for one in wrong:
                one.fits_otherwise()
        for one in mistakes:
            one.form = None
        write(target, text.encode())

    @staticmethod
    def blamed(rewritten, target, output):
        """The mistakes that errors are about. One in a macro is where that is used."""
        is_open = False
        for name, line, column, kind in MESSAGE.findall(output):
            is_open = is_open or kind == "error: "
            if is_open and name == target:
                found = rewritten.at(int(line), int(column))
                is_open = not found
                yield from found

    def is_same(self, mistake):
        """Whether the compiler makes the same of it as without it."""
        path, text = mistake.function.path, mistake.function.text
        with self.lock:
            if path not in self.compared:
                self.compared[path] = self.objects(path, text, "original")
        return self.objects(path, mistake.change.apply(text), mistake.number) == self.compared[path]

    def objects(self, path, text, name):
        folder = os.path.join(os.path.dirname(self.build), "compared", str(name))
        source, target = os.path.join(folder, os.path.basename(path)), os.path.join(folder, "object")
        write(source, text.encode())
        found = []
        for command in self.commands[path]:
            command = command.replace(" -c " + os.path.join(self.tree, path), " -c " + source)
            code, output = self.compile(re.sub(r" -o \S+", " -o " + target, command),
                                        "-ffile-prefix-map=%s=." % folder, "-I" + self.tree, "-g0")
            found.append(read(target) if code == 0 else output)
        shutil.rmtree(folder)
        return found


class Test:
    """One of ctest's: its command, the folder that it runs in, and what is known of it without a mistake."""

    def __init__(self, described):
        properties = {one["name"]: one["value"] for one in described["properties"]}
        self.name, self.command = described["name"], described.get("command")
        self.labels, self.folder = set(properties.get("LABELS", ())), properties["WORKING_DIRECTORY"]
        self.seconds, self.reached = MOST_SECONDS / SLOWNESS, b""

    def run(self, value, temporary):
        """Its exit code; None: it hangs. value: of the variable."""
        os.makedirs(temporary)
        os.chmod(temporary, 0o1777)
        try:
            start, code = time.monotonic(), None
            process = subprocess.Popen(
                self.command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                cwd=self.folder, start_new_session=True,
                env={**os.environ, "TMPDIR": temporary, "LC_ALL": "C.UTF-8", schemata.VARIABLE: value})
            try:
                code = process.wait(timeout=PATIENCE + SLOWNESS * self.seconds)
            except subprocess.TimeoutExpired:
                pass
            if code != 0:
                end_session(process.pid)
                process.wait()
            if value.startswith("+"):
                self.seconds = time.monotonic() - start
            return code
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


class Suite:
    """The tests, which of them reach a mistake, and which have noticed others near it."""

    def __init__(self, build, folder, only):
        described = json.loads(build.must("ctest", "--test-dir", build.build, "--show-only=json-v1"))["tests"]
        self.tests = [test for test in map(Test, described)
                      if test.name.partition(".")[0] in KINDS and not test.labels & NEVER and test.command and
                      test.name not in TOO_SLOW and re.search(only, test.name)]
        self.folder, self.lock, self.runs = folder, threading.Lock(), 0	# guarded by lock, as the following
        self.noticed = collections.defaultdict(collections.Counter)	# {path: {test: times}}
        self.temporary = os.path.join("/dev/shm" if os.access("/dev/shm", os.W_OK) else folder,
                                      "ckcache-mutations-%d" % os.getpid())

    def run(self, test, value):
        with self.lock:
            self.runs += 1
            temporary = os.path.join(self.temporary, str(self.runs))
        return test.run(value, temporary)

    def record(self, jobs):
        """What each test reaches. Those that fail or skip as it is can tell nothing."""
        def record(test):
            path = os.path.join(self.folder, "reached", test.name)
            write(path, b"")
            for _ in range(2):	# a machine may be busy
                with open(path, "wb") as target:
                    target.truncate(schemata.MOST)
                os.chmod(path, 0o666)	# some run as others
                code = self.run(test, "+" + path)
                if code in (0, SKIPPED, None):
                    break
            test.reached = read(path)
            os.remove(path)
            return code

        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            codes = list(pool.map(record, self.tests))
        for what, is_so in (("skipped", lambda code: code == SKIPPED),
                            ("fail without any mistake", lambda code: code not in (0, SKIPPED))):
            names = [test.name for test, code in zip(self.tests, codes) if is_so(code)]
            print("Left out, since they %s: %s" % (what, " ".join(names) or "none"), flush=True)
        self.tests = [test for test, code in zip(self.tests, codes) if code == 0]
        slow = sorted(self.tests, key=lambda test: -test.seconds)[:5]
        print("%d tests take %.0f s one after another, the slowest: %s" % (
            len(self.tests), sum(test.seconds for test in self.tests),
            ", ".join("%s %.0f s" % (test.name, test.seconds) for test in slow)), flush=True)

    def find(self, mistake):
        """(test that noticed it or None, whether any reached it). The quick ones come first, and successful ones."""
        left = [test for test in self.tests if test.reached[mistake.number]]
        is_reached, path = bool(left), mistake.function.path
        while left:
            with self.lock:
                known = self.noticed[path]
                test = min(left, key=lambda test: test.seconds / (1 + known[test.name]))
            left.remove(test)
            # A test may fail by chance, too.
            codes = [self.run(test, str(mistake.number))]
            if codes[0] not in (0, SKIPPED):
                codes.append(self.run(test, str(mistake.number)))
            if codes[-1] not in (0, SKIPPED):
                with self.lock:
                    known[test.name] += 1
                return test.name + (" (hangs)" if codes[-1] is None else ""), is_reached
        return None, is_reached


class Results:
    """What is known, in a file: which test noticed which change of which text."""

    def __init__(self, path):
        self.path, self.lock, self.saved = path, threading.Lock(), time.monotonic()
        self.known = json.loads(read(path)) if os.path.exists(path) else {}

    def find(self, mistake):
        known = self.known.get(mistake.function.name_of(mistake.change))
        return known if known and known["digest"] == mistake.function.digest else None

    def add(self, mistake, result, test, seconds):
        """result: noticed, same, not reached, survived."""
        with self.lock:
            self.known[mistake.function.name_of(mistake.change)] = {
                "digest": mistake.function.digest, "result": result, "test": test, "seconds": round(seconds, 1)}
            if time.monotonic() > self.saved + 5:
                self.save()

    def save(self):
        write(self.path + ".new", json.dumps(self.known, indent=1, sort_keys=True).encode())
        os.replace(self.path + ".new", self.path)
        self.saved = time.monotonic()


def try_all(arguments, mistakes, build, suite, results):
    """Until the time is over. Tests may have been added since something survived."""
    todo, end = queue.Queue(), time.monotonic() + 60 * arguments.minutes
    for one in sorted(mistakes, key=lambda one: one.function.lot):
        known = results.find(one)
        if not known or known["result"] in ("not reached", "survived"):
            todo.put(one)

    def work():
        while time.monotonic() < end:
            try:
                mistake = todo.get_nowait()
            except queue.Empty:
                return
            start = time.monotonic()
            test, is_reached = suite.find(mistake)
            result = "noticed" if test else "same" if build.is_same(mistake) else (
                "survived" if is_reached else "not reached")
            results.add(mistake, result, test, time.monotonic() - start)
            if arguments.verbose or result == "survived":
                print("%6.1f s  %s  <%s>" % (time.monotonic() - start, mistake.function.place_of(mistake.change),
                                             test or result), flush=True)

    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for future in [pool.submit(work) for _ in range(arguments.jobs)]:
            future.result()
    results.save()
    shutil.rmtree(suite.temporary, ignore_errors=True)


def report(mistakes, results):
    counts, names, untried, is_enough = collections.defaultdict(collections.Counter), {}, 0, True
    for one in mistakes:
        known, path = results.find(one), one.function.path
        if known and known["result"] != "same":
            folder = "/".join(path.split("/")[:2 if path.startswith("layers") else 1]) + "/"
            counts[folder][known["result"]] += 1
            names.setdefault(known["result"], []).append(one.function.place_of(one.change))
        untried += not known
    for result in ("not reached", "survived"):
        if names.get(result):
            print("\n%s:\n%s" % (result.capitalize(), "\n".join(sorted(names[result]))))
    print("\n%-24s %8s %8s %12s %9s" % ("", "tried", "noticed", "not reached", "survived"))
    for folder, count in sorted(counts.items()):
        wanted = next(percent for prefix, percent in WANTED if folder.startswith(prefix))
        total = sum(count.values())
        is_enough = is_enough and 100 * count["noticed"] >= wanted * total
        print("%-24s %8d %8d %12d %9d   %.1f %% (%d %% wanted)" % (
            folder, total, count["noticed"], count["not reached"], count["survived"],
            100.0 * count["noticed"] / total, wanted))
    print("not tried: %d" % untried)
    return 0 if is_enough else 1


def main():
    parser = argparse.ArgumentParser(
        description="Makes small mistakes in functions of the product, all in one build, of which each run of a "
                    "test has one, and tells which test notices each.",
        epilog="Exit code 1: too few are noticed. What is known is kept in BUILD/results.json; what was noticed "
               "is not tried again until its function changes. What no test can see: %s." % EQUIVALENT)
    parser.add_argument("--since", metavar="COMMIT", help="only functions that differ from that commit's")
    parser.add_argument("--only", default="*", metavar="PATTERN",
                        help="only functions whose path:name matches, as in the shell")
    parser.add_argument("--tests", default="", metavar="REGEX", help="only tests whose name matches")
    parser.add_argument("--each", type=int, default=3, metavar="N", help="mistakes in each function (3)")
    parser.add_argument("--seed", default="", help="draws others")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() * 3 // 4 or 1, metavar="N",
                        help="tests at a time (three quarters of the processors: some have children that run "
                             "only where nothing else does)")
    parser.add_argument("--minutes", type=float, default=1e6, help="tries no other one after that")
    parser.add_argument("--list", action="store_true", help="print all that could be tried")
    parser.add_argument("--verbose", action="store_true", help="print what was noticed, too, and by which test")
    parser.add_argument("build", metavar="BUILD", help="a directory for the copy, the build and results")
    arguments = parser.parse_args()
    folder, start = os.path.abspath(arguments.build), time.monotonic()
    chosen = choose(arguments)
    if arguments.list:
        for function in chosen:
            for change in sorted(function.changes, key=lambda change: change.start):
                print(function.place_of(change))
        return 0
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    os.nice(5)
    results, build = Results(os.path.join(folder, "results.json")), Build(folder, arguments.jobs)
    drawn = sample(chosen, arguments.each)
    mistakes = build.make(drawn)
    print("%d mistakes in %d functions, %d more do not compile; built after %.0f s" % (
        len(mistakes), len(chosen), len(drawn) - len(mistakes), time.monotonic() - start), flush=True)
    suite = Suite(build, folder, arguments.tests)
    suite.record(arguments.jobs)
    print("run without mistakes after %.0f s" % (time.monotonic() - start), flush=True)
    try_all(arguments, mistakes, build, suite, results)
    print("tried after %.0f s" % (time.monotonic() - start), flush=True)
    return report(mistakes, results)


if __name__ == "__main__":
    sys.exit(main())
