# SPDX-License-Identifier: MIT
"""`ckcache replay --idle`: at the lowest priority, and on mains power alone (/sys/class/power_supply is
the test's, mounted in a namespace); whatever is killed, nothing is lost. And the mark that packages leave,
and `ckcache replay --background`, which the cache starts by itself.

    replay_idle.py CKCACHE SOURCE-DIRECTORY STUB-DRIVER CLIENT [TEST...]
"""
import fcntl
import json
import os
import pty
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

import caches
import machine

CLIENT = None
MOUNTS = 'mount --bind "$FAKE" /sys/class/power_supply || exit 77; '


class Replayed(machine.Case):
    guarded = False	# strace, and programs of the system

    """With the stub driver, and programs that applications build."""
    def setUp(self):
        super().setUp()
        self.drivers(machine.STUB)
        for name in ("counts", "settings"):
            os.symlink(self.path(name), self.path("home", "stub_" + name))

    def settings(self, **settings):
        self.write(self.path("settings"), "".join("%s=%s\n" % item for item in settings.items()))

    def application(self, *numbers, extra=None):
        """Builds a program for each number; what its own driver has built."""
        before = self.counted()
        for number in numbers:
            self.ends(0, "run", "--", CLIENT, "-n", "vector", "-DK=%d" % number, extra=extra)
        return self.counted() - before

    def leave(self, *numbers):
        """Recipes, as for programs that are to be built later."""
        self.application(*numbers, extra={"CKCACHE_CAPTURE": "deferred"})
        self.assertEqual(self.recipes(), len(numbers))

    def recipe_names(self):
        return sorted(caches.files(os.path.join(self.root, "recipes"), ".recipe"))

    def recipes(self):
        return len(self.recipe_names())


class IdleMachine(Replayed):
    def setUp(self):
        super().setUp()
        self.need_mounts()
        if not os.path.isdir("/sys/class/power_supply"):
            self.skipTest("no power supplies to stand in for")
        self.plug(True)

    def plug(self, plugged):
        self.write("power/AC/type", "Mains\n")
        self.write("power/AC/online", "1\n" if plugged else "0\n")

    def start_idle(self, *arguments, mounts=MOUNTS, verb=("replay",)):
        process = self.start("-m", "sh", "-c", mounts + 'exec "$0" "$@"', self.command, *verb, "--idle", "--json",
                             *arguments, executable="unshare", extra={"FAKE": self.path("power")},
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        return process

    def finish(self, process, code=0):
        out, err = process.communicate(timeout=machine.PATIENCE)
        self.assertEqual(process.returncode, code, (out, err))
        return json.loads(out), err.decode()

    def until(self, what, why):
        for _ in range(100000):
            found = what()
            if found:
                return found
            time.sleep(0.005)
        return self.fail(why)

    def workers(self, pid):
        """{pid: state}"""
        found = {}
        try:
            with open("/proc/%d/task/%d/children" % (pid, pid), encoding="ascii") as file:
                for pid in file.read().split():
                    with open("/proc/%s/stat" % pid, encoding="ascii") as stat:
                        found[int(pid)] = stat.read().rsplit(") ", 1)[1][0]
        except FileNotFoundError:
            pass
        return found

    def gate(self, **settings):
        """Builds wait there until it is opened for writing and closed."""
        os.mkfifo(self.path("gate"), 0o600)
        self.settings(STUB_GATE=self.path("gate"), **settings)

    def reach_gate(self):
        return os.open(self.path("gate"), os.O_WRONLY)

    def open_gate(self, fd):
        self.settings()
        os.close(fd)

    def has_ended(self, pid):
        """Where the first process takes no note of orphans, their entries stay."""
        try:
            return self.read("/proc/%d/stat" % pid).rsplit(") ", 1)[1][0] == "Z"
        except (FileNotFoundError, ProcessLookupError):
            return True

    def kill(self, process):
        """All that it has started is gone."""
        pids = self.workers(process.pid)
        process.kill()
        process.communicate()
        self.until(lambda: all(self.has_ended(pid) for pid in pids), "workers outlive it")

    def pack(self, *numbers):
        """A pack of programs, which nobody has built yet."""
        packs = self.path("home", ".local", "share", "ckcache", "recipes.d")
        os.makedirs(packs)
        self.ends(0, "record", "-o", os.path.join(packs, "p.ckrecipes"), "--", "sh", "-c", "".join(
            "%s -n vector -DK=%d >/dev/null;" % (CLIENT, number) for number in numbers))

    def build_packs(self, *arguments):
        """Unconfined, for the driver's gate."""
        return self.start_idle("--jobs", "1", "--unconfined", *arguments, verb=("recipes", "build"))

    def second_gate(self):
        """After the probe's: that of the first program."""
        os.close(self.reach_gate())
        self.until(self.recipes, "the probe does not end")
        return self.reach_gate()


class Idle(IdleMachine):
    def test_begins_nothing_on_battery(self):
        self.leave(1)
        built = self.counted()
        self.plug(False)
        value, err = self.finish(self.start_idle())
        self.assertEqual((value["built"], self.counted() - built, self.recipes()), (0, 0, 1))
        self.assertEqual(err, "ckcache: on battery power: nothing is built\n")

    def test_begins_nothing_more_on_battery(self):
        self.leave(1, 2)
        self.settings(STUB_DELAY_MS=10500)	# longer than until the next look
        process = self.start_idle("--jobs", "1")
        self.until(lambda: caches.files(self.root, ".attempts"), "none is begun")
        self.plug(False)
        value, err = self.finish(process)
        self.assertEqual((value["built"], value["postponed"], self.recipes(), err), (1, 1, 1, ""))

    def test_only_idle_workers_have_the_lowest_priority(self):
        self.leave(1)
        self.gate()
        for arguments, policy in ((["--idle"], os.SCHED_IDLE), ([], os.SCHED_OTHER)):
            process = self.begin("replay", *arguments)
            gate = self.reach_gate()
            (worker,) = self.workers(process.pid)
            self.assertEqual(os.sched_getscheduler(worker), policy)
            self.assertTrue(os.readlink("/proc/%d/cwd" % process.pid).startswith(self.path("tmp")))	# an empty one
            self.assertEqual(os.getpriority(os.PRIO_PROCESS, worker), 19 if arguments else
                             os.getpriority(os.PRIO_PROCESS, 0))
            self.kill(process)
            os.close(gate)
        self.settings()
        self.ends(0, "replay")

    def test_budget_leaves_the_rest_for_the_next_time(self):
        self.leave(1, 2, 3, 4)
        self.settings(STUB_DELAY_MS=1500)
        built = self.counted()
        value, _ = self.finish(self.start_idle("--jobs", "1", "--budget", "2"))
        self.assertGreater(value["postponed"], 0)
        self.assertEqual(value["built"] + value["postponed"], 4)
        self.assertEqual((self.counted() - built, self.recipes()), (value["built"], value["postponed"]))
        self.settings()
        value, _ = self.finish(self.start_idle())
        self.assertEqual((value["postponed"], self.counted() - built), (0, 4))
        self.assertEqual(self.application(1, 2, 3, 4), 0)

    def test_one_at_a_time(self):
        self.leave(1)
        self.gate()
        process = self.start_idle()
        gate = self.reach_gate()
        second = self.start_idle()
        _, err = second.communicate(timeout=machine.PATIENCE)
        self.assertEqual((second.returncode, err),
                         (1, ("ckcache: %s: another ckcache replay is running\n" % self.root).encode()))
        self.open_gate(gate)
        self.assertEqual(self.finish(process)[0]["built"], 1)

    def test_what_cannot_be_removed_is_told(self):
        self.leave(1)
        (name,) = self.recipe_names()
        process = self.start_idle(mounts=MOUNTS + "mount --bind '%s' '%s' && " % (name, name))
        value, err = self.finish(process, 1)
        self.assertEqual((value["built"], err.count(os.path.basename(name)[:8]), self.recipes()), (1, 1, 1), err)

    def stale(self):
        """Entries of a driver that has been updated since."""
        self.settings(STUB_DRIVER_VERSION="1.0")
        self.assertEqual(self.application(1, 2), 2)

    def resume(self):
        """The next one builds all that is left, and applications build nothing."""
        self.settings(STUB_DRIVER_VERSION="2.0")
        value, err = self.finish(self.start_idle("--stale"))
        self.assertEqual((value["failed"], value["postponed"], err), (0, 0, ""))
        self.assertEqual(self.recipes(), 0)
        self.assertEqual(self.application(1, 2), 0)

    def test_killed_while_it_looks_for_drivers(self):
        self.stale()
        self.gate(STUB_DRIVER_VERSION="2.0")
        process = self.start_idle("--stale")
        gate = self.reach_gate()
        self.kill(process)
        os.close(gate)
        self.resume()

    def test_killed_while_a_worker_runs(self):
        self.stale()
        # The probe takes its time; so the budget is spent when the recipes are there.
        self.settings(STUB_DRIVER_VERSION="2.0", STUB_DELAY_MS=2500)
        value, _ = self.finish(self.start_idle("--stale", "--budget", "1"))
        self.assertEqual((value["stale"], value["built"], self.recipes()), (2, 0, 2))
        self.gate(STUB_DRIVER_VERSION="2.0")
        process = self.start_idle("--jobs", "1")
        gate = self.reach_gate()
        self.kill(process)
        os.close(gate)
        self.resume()

    def test_what_is_left_anew_while_a_worker_runs(self):
        """The worker's answer is not for that."""
        self.leave(1)
        (name,) = self.recipe_names()
        self.gate()
        process = self.begin("replay", "--json")
        gate = self.reach_gate()
        shutil.copy(name, name + ".new")
        os.rename(name + ".new", name)
        self.open_gate(gate)
        process.communicate(timeout=machine.PATIENCE)
        self.assertEqual((process.returncode, self.recipes()), (0, 1))
        value = json.loads(self.ends(0, "replay", "--json").out)
        self.assertEqual((value["there"], self.recipes()), (1, 0))

    def rebuild(self, library):
        """The same code, as of another build: in its build-id."""
        content = bytearray(self.read_bytes(library))
        content[content.index(b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0") + 16] ^= 0xff
        os.rename(self.write(library + ".new", bytes(content)), library)

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_killed_whenever_it_removes_something(self):
        """Recipes that are done, and entries of the old driver: each run comes one further."""
        driver = shutil.copy(machine.STUB, self.path("driver.so"))
        self.drivers(driver)
        self.stale()
        self.rebuild(driver)	# old entries go when their driver was replaced
        self.settings(STUB_DRIVER_VERSION="2.0")
        for removals in range(1, 40):
            code = self.tool("-qq", "-o", "/dev/null", "-e", "trace=unlinkat", "-e",
                             "inject=unlinkat:signal=KILL:when=%d" % removals, self.command, "replay", "--stale",
                             executable="strace").code
            if code == 0:
                break
            self.assertEqual(code, -signal.SIGKILL)
        self.assertEqual((code, removals > 4), (0, True), removals)
        self.resume()
        entries = json.loads(self.tool("list", "--json").out)
        self.assertEqual(len(entries), 2, entries)

    def packs_are_built(self, *numbers):
        """The next time."""
        self.settings()
        (value,), err = self.finish(self.build_packs())
        self.assertEqual((value["built"], value["left"], err), (len(numbers), 0, ""))
        self.assertEqual(self.application(*numbers), 0)

    def test_packs_on_battery(self):
        self.pack(1)
        self.plug(False)
        value, err = self.finish(self.build_packs())
        self.assertEqual((value, err), ([], "ckcache: on battery power: nothing is built\n"))
        self.plug(True)
        self.packs_are_built(1)

    def test_packs_after_a_kill(self):
        self.pack(1, 2)
        self.gate()
        for reach in (self.reach_gate, self.second_gate):	# of the probe, of the first program
            process = self.build_packs()
            gate = reach()
            self.kill(process)
            os.close(gate)
        self.packs_are_built(1, 2)

    def test_full_disk(self):
        """Nothing can be stored: it says so, and does it once there is room."""
        self.leave(1, 2)
        kept = self.path("kept")
        shutil.copytree(self.root, kept)
        pages = sum(-(-os.path.getsize(os.path.join(folder, name)) // 4096)
                    for folder, _, names in os.walk(kept) for name in names)
        mounts = MOUNTS + ('mount -t tmpfs -o size=%dk,mode=0700 none "$CKCACHE_DIR" && cp -r "$FAKE/../kept/." '
                           '"$CKCACHE_DIR" && { head -c 4M /dev/zero >"$CKCACHE_DIR/filler" 2>/dev/null || :; } && '
                           '{ "$0" "$@"; echo "$?" >"$FAKE/../code"; rm "$CKCACHE_DIR/filler"; } >"$FAKE/../first" && ')
        mounts = mounts.replace("%d", str(4 * pages + 256))
        process = self.start_idle(mounts=mounts)
        value, err = self.finish(process)
        self.assertEqual(self.read("code"), "1\n")
        first = json.loads(self.read("first"))
        self.assertEqual((first["built"], first["failed"] + first["postponed"] > 0), (0, True), (first, err))
        self.assertEqual(value["built"], 2, (value, err))


class Background(IdleMachine):
    """The cache starts it when a program leaves a recipe."""
    EXTRA = {"CKCACHE_CAPTURE": "deferred", "CKCACHE_REPLAY": None}

    def setUp(self):
        super().setUp()
        self.helpers = os.path.dirname(machine.CKCACHE)
        self.addCleanup(self.end)

    def builds(self, *numbers, **extra):
        """A program that needs these kernels; what its own driver has built."""
        return self.application(*numbers, extra={**self.EXTRA, "CKCACHE_REMOTE_HELPERS": self.helpers, **extra})

    def running(self):
        """Processes in the background of this root."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = self.read_bytes("/proc/%s/cmdline" % pid).split(b"\0")
                variables = self.read_bytes("/proc/%s/environ" % pid).split(b"\0")
            except OSError:
                continue
            if b"--background" in words and b"CKCACHE_DIR=" + self.root.encode() in variables:
                found.append(int(pid))
        return found

    def end(self, number=signal.SIGKILL):
        for pid in self.running():
            os.kill(pid, number)
        self.until(lambda: not self.running(), "it does not end")

    def is_held(self, name="background.lock"):
        path = os.path.join(self.root, "recipes", name)
        if not os.path.exists(path):
            return False
        with open(path, "rb+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
        return False

    def test_the_next_run_builds_nothing(self):
        self.builds(1, 2)
        self.until(lambda: not self.recipes(), "the recipes stay")
        self.assertEqual(self.builds(1, 2), 0)
        # It stays for a while, for what the program leaves later.
        (pid,) = self.running()
        self.assertEqual(os.sched_getscheduler(pid), os.SCHED_IDLE)
        self.builds(3)
        self.until(lambda: not self.recipes(), "a later recipe stays")
        self.assertEqual(self.running(), [pid])
        self.assertEqual(self.builds(3), 0)
        self.end(signal.SIGTERM)
        self.assertFalse(self.is_held())

    def test_it_ends_by_itself(self):
        self.builds(1)
        self.until(lambda: not self.recipes() and not self.running(), "it does not end")
        self.assertFalse(self.is_held())
        self.assertEqual(os.listdir(self.path("tmp")), [])

    def test_one_for_many_processes(self):
        self.gate()
        environment = {**self.EXTRA, "CKCACHE_REMOTE_HELPERS": self.helpers, "STUB_SETTINGS": self.path("none")}
        programs = [self.start("run", "--", CLIENT, "-n", "vector", "-DK=%d" % number, extra=environment,
                               stdout=subprocess.DEVNULL) for number in range(8)]
        for program in programs:
            self.assertEqual(program.wait(), 0)
        gate = self.reach_gate()
        self.assertEqual(len(self.running()), 1)
        self.open_gate(gate)
        self.until(lambda: not self.recipes(), "the recipes stay")
        self.assertEqual(len(self.running()), 1)
        self.assertEqual(self.builds(*range(8)), 0)

    def test_what_a_person_starts_goes_first(self):
        self.gate()
        self.builds(1, 2, STUB_SETTINGS=self.path("none"))
        gate = self.reach_gate()
        person = self.begin("replay", "--json")
        self.until(lambda: self.is_held("wanted.lock"), "nobody waits")
        self.open_gate(gate)
        out, _ = person.communicate(timeout=machine.PATIENCE)
        self.assertEqual((person.returncode, self.recipes()), (0, 0), out)
        self.assertEqual(json.loads(out)["built"], 1)	# of two: the other was in work
        self.assertEqual(self.builds(1, 2), 0)

    def test_what_is_left_anew_is_built_again(self):
        self.builds(1)
        self.until(lambda: not self.recipes(), "the recipe stays")
        (pid,) = self.running()
        self.ends(0, "clear")
        self.assertEqual(self.builds(1), 1)
        self.until(lambda: not self.recipes(), "the same recipe stays")
        self.assertEqual((self.builds(1), self.running()), (0, [pid]))

    def stay(self):
        """The recipes that are there, when it has built another."""
        before = self.recipe_names()
        self.builds(1)
        self.until(lambda: self.recipes() <= len(before), "the recipe stays")
        self.end(signal.SIGTERM)
        self.assertEqual((len(before), self.recipe_names()), (1, before))

    def test_what_is_left_of_a_pack_stays(self):
        self.pack(2)
        self.gate()
        process = self.build_packs()
        gate = self.second_gate()
        self.kill(process)
        os.close(gate)
        self.settings()
        self.stay()

    @unittest.skipIf(os.geteuid(), "only root can give files away")
    def test_what_others_left_stays(self):
        self.leave(2)
        (name,) = self.recipe_names()
        os.chown(name, 1, -1)
        self.stay()

    def are_built_soon(self):
        """Beside other tests what has the lowest priority gets nowhere."""
        time.sleep(0.1)
        for pid in self.running():
            for one in (pid, *self.workers(pid)):
                try:
                    os.sched_setscheduler(one, os.SCHED_OTHER, os.sched_param(0))
                    os.setpriority(os.PRIO_PROCESS, one, 0)
                    self.write("/proc/%d/autogroup" % one, "0")
                except OSError:
                    pass	# it has ended, or that needs privileges
        return not self.recipes()

    def test_pocl(self):
        """The real one, with every setting as it is by default."""
        if not machine.driver_file("pocl"):
            self.skipTest("pocl is not installed")
        self.drivers(machine.driver_file("pocl"))
        stats = []
        for _ in range(2):
            self.builds(1, 2, CKCACHE_CAPTURE=None)
            self.until(self.are_built_soon, "the recipes stay")
            stats.append(json.loads(self.ends(0, "stats", "--json").out))
        self.assertEqual([(value["misses"], value["hits_disk"], value["entries"]) for value in stats],
                         [(2, 0, 2), (2, 2, 2)])

    def test_off(self):
        self.assertEqual(self.builds(1, CKCACHE_REPLAY="0"), 1)
        self.assertEqual((self.recipes(), self.running()), (1, []))
        self.assertFalse(os.path.exists(os.path.join(self.root, "recipes", "background.lock")))

    def test_not_installed(self):
        self.helpers = self.path("tmp")
        shown = self.ends(0, "run", "--", CLIENT, "-n", "vector", "-DK=1",
                          extra={**self.EXTRA, "CKCACHE_REMOTE_HELPERS": self.helpers})
        self.assertEqual((shown.err, self.recipes(), self.running()), ("", 1, []))
        self.assertFalse(self.is_held())

    def test_nothing_is_built_on_battery(self):
        self.plug(False)
        before = self.counted()
        process = subprocess.run(["unshare", "-m", "sh", "-c", MOUNTS + 'exec "$0" "$@"', self.command, "run", "--",
                                  CLIENT, "-n", "vector", "-DK=1"], cwd=self.path("cwd"), check=True,
                                 env=self.environment({**self.EXTRA, "FAKE": self.path("power"),
                                                       "CKCACHE_REMOTE_HELPERS": self.helpers}),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, timeout=machine.PATIENCE)
        self.assertEqual(process.returncode, 0)
        self.until(lambda: not self.is_held(), "it does not end")
        self.assertEqual((self.counted() - before, self.recipes()), (1, 1))

    def test_the_program_sees_no_stranger(self):
        """No child that it could wait for, no signal, no descriptor."""
        client = os.path.join(self.helpers, "kernels_client")
        made = {}
        for switch in ("0", "1"):
            out = self.ends(0, "run", "--", client, switch + "0", "2", "report", extra={
                **self.EXTRA, "CKCACHE_REMOTE_HELPERS": self.helpers, "CKCACHE_REPLAY": switch}).out
            made[switch] = sorted(line for line in out.splitlines()
                                  if line.split()[0] in ("children", "signals", "descriptor", "thread"))
        self.assertTrue(os.path.exists(os.path.join(self.root, "recipes", "background.lock")))
        self.assertIn("children none", made["1"])
        self.assertIn("signals 0", made["1"])
        self.assertEqual(len(made["1"]), len(made["0"]), made)

    def test_a_directory_that_is_removed_stays_so(self):
        self.gate()
        self.builds(1, 2, STUB_SETTINGS=self.path("none"))
        gate = self.reach_gate()
        shutil.rmtree(self.root)
        self.open_gate(gate)
        self.until(lambda: not self.running(), "it does not end")
        self.assertFalse(os.path.exists(self.root), os.path.exists(self.root) and machine.tree(self.root))


class Mark(Replayed):
    """What packages leave, in a /var/lib of the test's own."""
    def setUp(self):
        super().setUp()
        self.need_mounts()
        os.mkdir(self.path("lib"))

    def mark(self):
        self.write("lib/ckcache/changed")

    def inside(self, *arguments, extra=None, stderr=subprocess.PIPE):
        return subprocess.run(["unshare", "-m", "sh", "-c", 'mount --bind "$LIB" /var/lib && exec "$0" "$@"',
                               self.command, *arguments], cwd=self.path("cwd"), check=True,
                              env=self.environment({"LIB": self.path("lib"), **(extra or {})}),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, timeout=60)

    def stats(self):
        return json.loads(self.inside("stats", "--json").stdout)

    def mentioned(self, **extra):
        """What run says on a terminal."""
        reader, writer = pty.openpty()
        self.inside("run", "true", extra=extra, stderr=writer)
        os.write(writer, b".")
        said = os.read(reader, 1000).decode()
        os.close(reader)
        os.close(writer)
        return said[:-1].strip()

    def test_changes_are_told_until_somebody_looks(self):
        self.assertEqual((self.stats()["drivers_changed"], self.mentioned()), (False, ""))
        self.mark()
        self.assertEqual((self.stats()["drivers_changed"], self.mentioned()), (False, ""))	# nothing waits
        self.assertFalse(os.path.exists(self.root))
        self.application(1, 2)
        self.assertEqual((self.stats()["drivers_changed"], self.mentioned()), (False, ""))
        self.mark()
        self.assertTrue(self.stats()["drivers_changed"])
        self.assertIn("has changed since the last", self.inside("stats").stdout.decode())
        self.assertEqual(self.inside("run", "true").stderr, b"")	# no terminal
        os.makedirs(self.path("run", "systemd", "generator", "timers.target.wants"))
        timer = self.path("run", "systemd", "generator", "timers.target.wants", "ckcache-replay.timer")
        os.symlink("/dev/null", timer)
        self.assertEqual(self.mentioned(XDG_RUNTIME_DIR=self.path("run")), "")
        self.assertEqual(self.mentioned(), "ckcache: a driver or compiler has changed: 2 kernels may wait "
                         'for it; "ckcache replay --stale" builds them')
        self.assertEqual(self.mentioned(), "")
        self.mark()
        os.utime(self.path("lib", "ckcache", "changed"), (2**31 - 1, 2**31 - 1))	# by a clock that was ahead
        self.assertIn("2 kernels", self.mentioned())
        self.assertEqual(self.mentioned(), "")
        self.mark()
        self.assertIn("2 kernels", self.mentioned())
        self.inside("replay", "--stale")
        self.assertEqual((self.stats()["drivers_changed"], self.mentioned()), (False, ""))

    def test_who_cannot_look_at_all_has_not_looked(self):
        self.application(1)
        self.mark()
        self.inside("replay", "--stale", extra={"OCL_ICD_VENDORS": self.path("lib")})	# none
        self.assertTrue(self.stats()["drivers_changed"])
        self.settings(STUB_DELAY_MS=1500)
        self.inside("replay", "--stale", "--budget", "1")
        self.assertTrue(self.stats()["drivers_changed"])
        self.inside("replay", "--stale")
        self.assertFalse(self.stats()["drivers_changed"])

    def test_time_that_recipes_take(self):
        self.settings(STUB_DELAY_MS=200)
        self.application(1)
        self.assertEqual(self.stats()["recipes_ms"], 0)
        self.leave(2, 3, 4)
        jobs = max(os.sysconf("SC_NPROCESSORS_ONLN") // 2, 1)
        self.assertGreaterEqual(self.stats()["recipes_ms"], 600 // jobs)
        self.assertIn("will take about", self.inside("stats").stdout.decode())
        ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
        with ours, theirs:	# what is not for it stays there, also where a worker's answers are waited for
            ours.send(b"input")
            self.ends(0, "replay", "--jobs", "9", stdin=theirs)
            self.assertEqual(theirs.recv(9, socket.MSG_DONTWAIT), b"input")

    def test_a_hostile_mark(self):
        self.application(1)
        os.mkdir(self.path("lib", "ckcache"))
        os.mkfifo(self.path("lib", "ckcache", "changed"))
        self.assertEqual((self.stats()["drivers_changed"], self.mentioned()), (False, ""))


if __name__ == "__main__":
    machine.CKCACHE, machine.SOURCE, machine.STUB, CLIENT = sys.argv[1:5]
    del sys.argv[1:5]
    unittest.main(verbosity=2)
