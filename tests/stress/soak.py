# SPDX-License-Identifier: MIT
"""Many programs on small caches, with all that may happen to them.

    soak.py BUILD [--processes 1000] [--seed N] [--jobs 6] [--round N] [-v]

Rounds of some 80 processes, each on a cache of its own, several at a time: programs that build
kernels of a small set, fork, become daemons, close all descriptors; verbs of ckcache; each perhaps
killed or stopped at any time or while it holds a lock, with a clock that jumps, with limits, without
threads. In some rounds files of the cache are damaged, or the disk is small; the last one is on NEO.
What has to hold is in Round.judge and Round.end. All choices come from the seed and a process's
number; which file is damaged depends on what is there, and when a signal comes on the machine.

Exit code: 0 if all held, 1 with what did not and the seed, 77 where nothing can run.
"""
import argparse
import ctypes
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import soak_root  # noqa: E402
sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from environment import DRIVERS, driver_file, drivers, stub_driver  # noqa: E402

PER_ROUND = 80
NEO_PROCESSES = 20
PROGRAMS, NEO_PROGRAMS = 30, 12
# What is required, in seconds.
MOST_WAIT, MOST_EXIT, MOST_BUILD = 0.4, 0.01, 1.1
# Of what is asked for, for the clock's grain and the last pause; no load changes that.
GRAIN = 0.005
# Of what passes: a loaded machine gives a process the processor when it likes.
LATE = 0.5
HANGS = 60
LARGEST = 84 << 10      # on disk, of the programs' entries, where a directory takes nothing
DELAYS = (0, 0, 5, 40, 150)     # ms that the stub takes to compile
HOUR = 3600
VERBS = (["stats"], ["list"], ["verify"], ["verify", "--repair"], ["prune"], ["prune"], ["explain"],
         ["export", "BUNDLE"], ["import", "BUNDLE"], ["report", "PAGE"], ["clear"])
VERB_WEIGHTS = (3, 3, 2, 4, 4, 4, 2, 3, 3, 1, 1)


def now():
    return time.clock_gettime(time.CLOCK_MONOTONIC)


def children():
    with open("/proc/self/task/%d/children" % os.getpid(), encoding="ascii") as file:
        return {int(word) for word in file.read().split()}


def read_proc(pid, name):
    try:
        with open("/proc/%d/%s" % (pid, name), encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def state_of(pid):
    """Its letter of proc(5); "X": it is gone."""
    return read_proc(pid, "stat").rpartition(") ")[2][:1] or "X"


def is_stopped(pid):
    return state_of(pid) in "TXZ"


def kill_all(pids):
    for pid in pids:
        os.kill(pid, signal.SIGKILL)    # a child's number stays its own until it is waited for


def choose_steps(rng, programs):
    """What a client does (soak_client.c)."""
    def build(word="build"):
        # Some are wanted often, others seldom.
        return "%s=%d" % (word, min(rng.randrange(programs), rng.randrange(programs)))

    kind = rng.choices(("builds", "threads", "forks", "fork", "clone", "fork-build", "daemon",
                        "close-all", "close late", "_exit", "spawn"), (8, 3, 3, 2, 2, 3, 4, 3, 1, 2, 1))[0]
    life = rng.randrange(20, 400)
    return {
        "builds": [build() for _ in range(rng.randrange(1, 5))],
        "threads": [build("meanwhile"), build("meanwhile"), build()],
        "forks": ["forks=%d" % rng.randrange(1, 8), build(), build(), build()],
        "fork": [build(), "fork=%d" % life, build()],
        "clone": [build(), "clone=%d" % life, build()],
        "fork-build": [build(), build("fork-build"), build()],
        "daemon": [build(), "daemon", *rng.choice(([], ["close-all"])), build(), "sleep=%d" % life, build()],
        "close-all": [build(), "close-all", build(), "close-all", build()],
        # While statistics are written.
        "close late": [build(), "sleep=%d" % (1000 + life // 2), "close-all", build()],
        "_exit": [build(), build(), "_exit"],
        "spawn": [build(), "spawn", build()],
    }[kind]


class Process:
    """One that was started, and what is to happen to it."""

    def __init__(self, number, rng, steps, is_verb):
        self.number, self.steps, self.is_verb = number, steps, is_verb
        self.environment, self.limits, self.actions = {}, {}, []
        self.bare = False
        self.child = None
        self.start = 0
        self.delay = rng.choice(DELAYS)
        if self.delay:
            self.environment["STUB_DELAY_MS"] = str(self.delay)

    def disturb(self, rng):
        """At most two things."""
        for kind in rng.sample(("kill", "stop", "stop at lock", "kill at lock", "clock", "slow", "slow",
                                "NOFILE", "FSIZE", "NPROC", "nothing", "nothing", "nothing"), 2):
            moment = rng.random() ** 2 * 0.2
            if kind == "kill":
                self.actions.append((moment, signal.SIGKILL))
            elif kind == "stop":
                self.actions.append((moment, signal.SIGSTOP))
                self.actions.append((moment + rng.choice((0.02, 0.2, 1.5)),
                                     rng.choice((signal.SIGCONT, signal.SIGCONT, signal.SIGKILL))))
            elif kind.endswith("at lock") and "close-all" not in self.steps:
                name = "SOAK_%s_AT" % kind[:4].upper()
                self.environment[name] = str(rng.randrange(1, 12))
            elif kind == "clock":
                first, second = (rng.choice((0, HOUR, -HOUR, 100 * 24 * HOUR, -400 * 24 * HOUR))
                                 for _ in range(2))
                self.environment["SOAK_CLOCK"] = "%d:%d:%d" % (first, rng.randrange(1, 40), second)
            elif kind == "slow":
                self.environment["SOAK_SLOW"] = str(rng.choice((5, 30, 100)))
            elif kind == "NOFILE":
                self.limits[resource.RLIMIT_NOFILE] = rng.randrange(16, 64)
            elif kind == "FSIZE" and not self.is_verb:
                self.limits[resource.RLIMIT_FSIZE] = rng.choice((4096, 20000))
            elif kind == "NPROC" and os.geteuid() and all(step.startswith("build") for step in self.steps):
                # The superuser has no such limit.
                self.limits[resource.RLIMIT_NPROC] = 1

    def __str__(self):
        words = ["%s=%s" % item for item in sorted(self.environment.items())]
        words += ["limit %d: %d" % item for item in self.limits.items()]
        words += ["%s after %.3f s" % (what.name, moment) for moment, what in self.actions]
        return "process %d, %s (%s)" % (self.number, " ".join(self.steps), ", ".join(words))


class Round:
    """Some processes on one cache."""

    def __init__(self, soak, number, kind, first, count):
        self.soak, self.number, self.kind = soak, number, kind
        self.rng = random.Random("%d/round %d" % (soak.seed, number))
        self.numbers = range(first, first + count)
        self.neo = kind == "neo"
        self.programs = NEO_PROGRAMS if self.neo else PROGRAMS
        self.work = os.path.join(soak.work, "round-%d" % number)
        self.place = os.path.join(self.work, "place")
        self.root = os.path.join(self.place, "cache")
        self.bound = self.rng.choice((240, 320, 500) if not self.neo else (160, 200)) * 1024
        self.spares_account = kind != "damage" or self.rng.random() < 0.5
        self.running, self.held = {}, []
        self.last_end = now()
        self.signalled = {}     # pid: [(time, SIGSTOP, SIGKILL or SIGCONT)]
        self.failures, self.damaged, self.waits, self.locks = [], [], [], []
        self.exits = {False: [], True: []}  # by whether without the layer
        self.by_pid = {}
        self.longest = dict.fromkeys(("wait", "exit", "build", "after death"), 0.0)

    # -- beginning

    def path(self, name):
        return os.path.join(self.work, name)

    def begin(self):
        os.makedirs(self.path("home"))
        os.makedirs(self.path("out"))
        os.makedirs(self.place)
        os.mkfifo(self.path("record"))
        # For writing, too, so that it has no end.
        self.record = os.open(self.path("record"), os.O_RDWR | os.O_NONBLOCK)
        if self.kind == "full":
            self.bound *= 4
            self.mount("size=%dk" % self.rng.choice((150, 300, 500)))
        self.environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": self.path("home"), "LC_ALL": "C",
            "CKCACHE_DIR": self.root, **drivers(self.work, self.soak.driver(self.neo)),
            "CKCACHE_READ_ONLY_DIRS": self.path("none"), "CKCACHE_MAX_SIZE": "%dB" % self.bound,
            "CKCACHE_LOG": "none", "TMPDIR": self.path("home"),
            "SOAK_RECORD": self.path("record"), "LD_PRELOAD": self.soak.built("lib/libsoak_watch.so"),
            **(DRIVERS["neo"][1] if self.neo else {})}
        self.right = self.answers_without_layer()

    def mount(self, options, *more):
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, *more, "soak", self.place], check=True)

    def answers_without_layer(self):
        """{program: the line that the bare driver gives}."""
        steps = ["build=%d" % number for number in range(self.programs)]
        start = now()
        ran = subprocess.run([self.soak.built("bin/soak_client"), *steps], env=self.environment,
                             cwd=self.work, stdout=subprocess.PIPE, text=True, check=True)
        # Several at a time take longer; the stub takes as long as it is told, too.
        self.compiles = (now() - start) / self.programs * 2 * self.soak.jobs + max(DELAYS) / 1000
        lines = [line.split(": ") for line in ran.stdout.splitlines()]
        assert len(lines) == self.programs and len({line[1] for line in lines}) == self.programs
        return {line[0]: line[1] for line in lines}

    # -- running

    def start(self, number):
        rng = random.Random("%d/process %d" % (self.soak.seed, number))
        is_verb = rng.random() < 0.2
        steps = rng.choices(VERBS, VERB_WEIGHTS)[0] if is_verb else choose_steps(rng, self.programs)
        if self.neo and not is_verb:
            # It needs descriptors of its own, and is not made for forks.
            steps = [step for step in steps if step.startswith(("build", "meanwhile"))]
        process = Process(number, rng, steps, is_verb)
        process.bare = not is_verb and rng.random() < 0.08
        if not process.bare:
            process.disturb(rng)
        if self.neo:
            process.limits = {}
        environment = dict(self.environment, **process.environment)
        names = {"BUNDLE": self.path("bundle"), "PAGE": self.path("page.html")}
        command = [self.soak.built("bin/ckcache" if is_verb else "bin/soak_client"),
                   *[names.get(step, step) for step in steps]]
        if not is_verb and not process.bare:
            environment["OPENCL_LAYERS"] = self.soak.layer
        with open(self.output(process, "out"), "wb") as out, open(self.output(process, "err"), "wb") as err:
            process.child = subprocess.Popen(
                command, env=environment, cwd=self.work, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                preexec_fn=lambda: [resource.setrlimit(name, (value, value))
                                    for name, value in process.limits.items()])
        process.start = now()
        process.actions = [(process.start + moment, what) for moment, what in sorted(process.actions)]
        self.running[process.child.pid] = process
        self.by_pid[process.child.pid] = process
        self.soak.say(2, "%d: %s" % (process.child.pid, process))

    def output(self, process, kind):
        return self.path("out/%d.%s" % (process.number, kind))

    def said(self, process, kind):
        with open(self.output(process, kind), encoding="utf-8", errors="replace") as file:
            return file.read()

    def signal(self, pid, what):
        self.signalled.setdefault(pid, []).append((now(), what))
        try:
            os.kill(pid, what)
        except ProcessLookupError:
            pass

    def act(self):
        """What is due; and processes that have stopped themselves go on, or not."""
        for pid, process in list(self.running.items()):
            while process.actions and process.actions[0][0] <= now():
                self.signal(pid, process.actions.pop(0)[1])
            if now() > process.start + HANGS:
                self.fail("did not end in %d s, %s in %s: %s" % (
                    HANGS, state_of(pid), read_proc(pid, "wchan"), process))
                self.signal(pid, signal.SIGKILL)
        for moment, pid, what in list(self.held):
            # One that says so is not stopped yet.
            if moment <= now() and is_stopped(pid):
                self.held.remove((moment, pid, what))
                self.signal(pid, what)

    def hold(self):
        """Perhaps somebody has a lock for a while: the root's, an entry directory's or a file's."""
        if self.rng.random() < 0.1:
            fd = soak_root.lock_one(self.root, self.rng)
            if fd is not None:
                self.locks.append((now() + self.rng.choice((0.03, 0.3, 1.3)), fd))

    def reap(self):
        """Of those that were started here, and of what they left; None: there is nobody."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return None
            if not pid:
                return False
            if pid == self.watcher.child:
                continue
            code = os.waitstatus_to_exitcode(status)
            process = self.running.pop(pid, None)
            if code == -signal.SIGKILL:
                self.signalled.setdefault(pid, []).append((now(), signal.SIGKILL))
            if process:
                process.child.returncode = code
                self.last_end = now()
                self.judge(process, code)
            elif code not in (0, -signal.SIGKILL):
                self.fail("a process that was left by its parent ended with %d%s" % (
                    code, ": %s" % self.by_pid.get(pid, "")))

    def read_record(self):
        try:
            # Lines are whole: each is written at once.
            text = os.read(self.record, 1 << 20).decode(errors="replace")
        except BlockingIOError:
            return
        for line in text.splitlines():
            words = line.split(" ")
            pid, numbers = int(words[1]), words[2:]
            if words[0] == "held":
                self.signalled.setdefault(pid, []).append((now(), signal.SIGSTOP))
                rest = self.rng.choice((0.02, 0.1, 0.4, 1.6))
                self.held.append((now() + rest, pid, self.rng.choice((signal.SIGCONT, signal.SIGKILL))))
                self.soak.counts["held"] += 1
            else:
                getattr(self, "saw_" + words[0])(pid, *[int(number) for number in numbers])

    def run(self):
        self.begin()
        self.watcher = soak_root.Watcher(self.root)
        waiting = list(self.numbers)
        quiet = 0
        try:
            while waiting or self.running or self.held or quiet < 3:
                while waiting and len(self.running) < self.soak.jobs:
                    self.start(waiting.pop(0))
                    if self.kind == "damage":
                        self.damaged.append(soak_root.damage(self.root, self.rng, self.spares_account))
                    self.hold()
                self.act()
                self.locks = [(until, fd) for until, fd in self.locks if until > now() or os.close(fd)]
                self.read_record()
                self.reap()
                # The last children are the watcher and what was left by others.
                quiet = quiet + 1 if not waiting and not self.running and self.is_alone() else 0
                time.sleep(0.002)
            self.read_record()
        finally:
            kill_all(children() - {self.watcher.child})
            self.watched = self.watcher.end()
            for fd in [self.record] + [fd for _, fd in self.locks]:
                os.close(fd)
        self.end()
        self.report()

    def is_alone(self):
        left = children() - {self.watcher.child}
        if left and now() > self.last_end + HANGS:
            self.fail("left by their parents, and not gone after %d s: %s" % (
                HANGS, ", ".join("%d (%s in %s)" % (pid, state_of(pid), read_proc(pid, "wchan")) for pid in left)))
            kill_all(left)
        return not left

    # -- judging

    def fail(self, what):
        self.failures.append(what)
        print("round %d (%s): %s" % (self.number, self.kind, what), flush=True)

    def judge(self, process, code):
        killed = any(what == signal.SIGKILL for _, what in self.signalled.get(process.child.pid, ()))
        if code not in ((0, 1) if process.is_verb else (0,)) and not (code == -signal.SIGKILL and killed):
            self.fail("ended with %d: %s: %s" % (code, process, self.said(process, "err").strip()[-500:]))

    def judge_output(self, process):
        """When its children have ended, too."""
        if process.is_verb:
            return
        for line in self.said(process, "out").splitlines():
            name, _, answer = line.partition(": ")
            self.soak.counts["builds"] += 1
            if self.right.get(name) != answer:
                self.fail("%s is %s, by the driver %s: %s" % (name, answer, self.right.get(name), process))
        errors = self.said(process, "err")
        if errors:
            self.fail("said %s: %s" % (errors.strip()[-300:], process))

    def about(self, pid):
        return self.by_pid.get(pid) or "a child, %d" % pid

    def saw_call(self, pid, asked):
        self.longest["wait"] = max(self.longest["wait"], asked / 1e9)
        if asked / 1e9 > MOST_WAIT + GRAIN:
            self.fail("waited %.3f s in a call: %s" % (asked / 1e9, self.about(pid)))

    def saw_exit(self, pid, asked, wall):
        process = self.by_pid.get(pid)
        self.longest["exit"] = max(self.longest["exit"], asked / 1e9)
        if asked / 1e9 > MOST_EXIT + GRAIN:
            self.fail("waited %.3f s at its end: %s" % (asked / 1e9, self.about(pid)))
        if not self.signalled.get(pid):
            self.exits[bool(process and process.bare)].append((wall / 1e9, pid))

    def saw_thread(self, pid):
        self.fail("the cache started a thread: %s" % self.about(pid))

    def saw_build(self, pid, owner, start, end):
        self.longest["build"] = max(self.longest["build"], (end - start) / 1e9)
        self.soak.counts["waits"] += 1
        self.waits.append((pid, owner, start / 1e9, end / 1e9))

    def judge_wait(self, pid, owner, start, end):
        """What became of the owner is known when all have ended."""
        if self.signalled.get(pid):
            return      # it was stopped itself
        done = self.signalled.get(owner, [])
        # One that gets no processor cannot be told from one that is stopped, and is waited for as long.
        if end - start > self.compiles + LATE + MOST_BUILD:
            self.fail("waited %.3f s for a build of %s: %s" % (end - start, self.about(owner), self.about(pid)))
        for i, (moment, what) in enumerate(done):
            until = done[i + 1][0] if what == signal.SIGSTOP and i + 1 < len(done) else float("inf")
            over = max(start, moment) + MOST_BUILD
            if what == signal.SIGCONT or until < over or end <= moment:
                continue
            self.longest["after death"] = max(self.longest["after death"], end - max(start, moment))
            self.soak.counts["builds of the dead"] += 1
            if end > over + GRAIN:
                self.fail("waited %.3f s for a build of %s, which was %s: %s" % (
                    end - max(start, moment), self.about(owner), what.name, self.about(pid)))

    def tool(self, *arguments):
        # Two hours later: what is swept by its age is old enough.
        environment = dict(self.environment, SOAK_CLOCK="0:0:%d" % (2 * HOUR))
        return subprocess.run([self.soak.built("bin/ckcache"), *arguments], env=environment, cwd=self.work,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=HANGS, check=False)

    def end(self):
        for process in self.by_pid.values():
            self.judge_output(process)
        for one in self.waits:
            self.judge_wait(*one)
        bare = max([wall for wall, _ in self.exits[True]] or [0])
        for wall, pid in self.exits[False]:
            if wall > bare + MOST_EXIT + 2 * LATE:
                self.fail("ended in %.3f s, others without the cache in %.3f: %s" % (wall, bare, self.about(pid)))
        self.judge_bound()
        self.judge_root()

    def judge_bound(self):
        most, in_entries, temporaries, largest, _, what = self.watched
        largest = max(largest, 0 if self.neo else LARGEST)
        if self.spares_account and most > self.bound + self.soak.over * largest:
            self.fail("took %d bytes on disk, %d in entries, at a bound of %d, the largest entry %d; beside "
                      "entries: %s" % (most, in_entries, self.bound, largest, what))
        # Of the dead, until somebody sweeps; of small files of the root beside.
        kills = sum(done[-1][1] == signal.SIGKILL for done in self.signalled.values())
        if temporaries > (largest + 8192) * (self.soak.jobs + kills):
            self.fail("%d bytes of temporaries, of one entry %d" % (temporaries, largest))

    def judge_root(self):
        if not os.path.isdir(self.root):
            return
        if self.kind == "full":
            self.mount("remount,size=64m")
        if self.kind == "damage":
            self.tool("verify", "--repair")
        else:
            ran = self.tool("verify", "--json")
            if ran.returncode and json.loads(ran.stdout).get("damaged"):
                self.fail("kills have left damaged entries: %s" % ran.stdout)
        stats = self.tool("stats", "--json")
        if self.spares_account and self.kind != "damage" and stats.returncode == 0:
            for name in ("hits_disk", "misses", "stores"):
                self.soak.counts[name] += json.loads(stats.stdout)[name]
        ran = self.tool("prune")
        if ran.returncode:
            self.fail("prune failed at the end: %s" % ran.stdout)
        left = soak_root.leftovers(self.root)
        if left:
            self.fail("left: %s" % ", ".join(left[:8]))
        found = soak_root.entries(soak_root.walk(self.root))
        self.soak.counts["entries"] += len(found)
        counted, said = sum(found.values()), soak_root.account(self.root)
        if counted != (said or 0):
            self.fail("cache_size.txt has %s, there are %d bytes" % (said, counted))

    def report(self):
        most, _, _, largest, walks, _ = self.watched
        damaged = [one for one in self.damaged if one]
        self.soak.say(1, "round %d (%s): %d processes, bound %d, took %d at most in %d walks (an entry %d); longest "
                      "wait %.3f s, exit %.3f, build %.3f, after its owner's death or stop %.3f; %d damaged" % (
                          self.number, self.kind, len(self.by_pid), self.bound, most, walks, largest,
                          *self.longest.values(), len(damaged)))
        if self.failures:
            print("    damaged: %s" % "; ".join(damaged))
        for name, seconds in self.longest.items():
            self.soak.longest[name] = max(self.soak.longest.get(name, 0), seconds)
        if self.kind == "full":
            subprocess.run(["umount", self.place], check=True)
        if not self.failures:
            shutil.rmtree(self.work, ignore_errors=True)


class Soak:
    def __init__(self, options):
        self.build, self.seed, self.jobs = os.path.abspath(options.build), options.seed, options.jobs
        self.verbose, self.only, self.over = options.verbose, options.round, options.over
        self.work = tempfile.mkdtemp(prefix="ckcache-soak-")
        self.layer = os.environ.get("CKCACHE_TEST_LAYER") or self.built("lib/libckcache_opencl.so")
        self.longest = {}
        self.counts = dict.fromkeys(("builds", "hits_disk", "misses", "stores", "entries", "waits",
                                     "builds of the dead", "held"), 0)

    def built(self, name):
        return os.path.join(self.build, name)

    def driver(self, neo):
        return driver_file("neo") if neo else stub_driver(self.build)

    def say(self, level, text):
        if self.verbose >= level - 1:
            print(text, flush=True)

    def rounds(self, processes):
        """[(kind, first number, count)]."""
        kinds, found, at = ["plain", "damage", "plain"], [], 0
        if can_mount():
            kinds.append("full")
        else:
            print("SKIPPED: no round with a full disk: neither root nor user namespaces")
        neo = NEO_PROCESSES if driver_file("neo") else 0
        if not neo:
            print("SKIPPED: no round on NEO: %s is not installed" % DRIVERS["neo"][0])
        while at < processes - neo:
            found.append((kinds[len(found) % len(kinds)], at, min(PER_ROUND, processes - neo - at)))
            at += found[-1][2]
        if neo:
            found.append(("neo", at, neo))
        return found

    def run(self, processes):
        failed = []
        for number, (kind, first, count) in enumerate(self.rounds(processes)):
            if self.only is not None and number != self.only:
                continue
            one = Round(self, number, kind, first, count)
            one.run()
            if one.failures:
                failed.append(number)
        print("%d processes: %s; longest: %s" % (
            processes, ", ".join("%d %s" % (count, name) for name, count in self.counts.items()),
            ", ".join("%s %.3f s" % item for item in self.longest.items())))
        if self.only is None:
            # Else it would show nothing.
            for name in ("hits_disk", "misses", "waits"):
                if not self.counts[name]:
                    failed.append("no " + name)
            if self.counts["stores"] <= self.counts["entries"]:
                failed.append("nothing was evicted")
        if failed:
            print("FAILED: rounds %s; again: --seed %d --processes %d; what they left: %s" % (
                ", ".join(map(str, failed)), self.seed, processes, self.work))
        else:
            shutil.rmtree(self.work, ignore_errors=True)
        return bool(failed)


def can_mount():
    return os.environ.get("SOAK_NAMESPACE") == "1"


def in_namespace():
    """Goes on in a mount namespace, whose mounts go with it; where there is none, without."""
    if "SOAK_NAMESPACE" in os.environ:
        return
    way = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-rm"]
    try:
        ready = not subprocess.run([*way, "mount", "-t", "tmpfs", "soak", "/mnt"], check=False,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    except OSError:
        ready = False
    os.environ["SOAK_NAMESPACE"] = "1" if ready else "0"
    if ready:
        os.execvp(way[0], [*way, sys.executable, "-B", *sys.argv])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--processes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--jobs", type=int, default=6)
    parser.add_argument("--round", type=int, help="this one alone")
    parser.add_argument("--over", type=int, default=1, help="entries by which the bound may be exceeded")
    parser.add_argument("-v", "--verbose", action="count", default=0)
    options = parser.parse_args()
    in_namespace()
    pr_set_child_subreaper = 36
    # What programs leave behind is waited for here.
    if ctypes.CDLL(None).prctl(pr_set_child_subreaper, 1, 0, 0, 0):
        print("SKIPPED: no PR_SET_CHILD_SUBREAPER")
        return 77
    # So that nothing is left running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    print("seed %d" % options.seed, flush=True)
    return Soak(options).run(options.processes)


if __name__ == "__main__":
    sys.exit(main())
