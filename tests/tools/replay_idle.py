# SPDX-License-Identifier: MIT
"""`ckcache replay --idle` on a machine of the test's own: /proc/stat, /proc/pressure and
/sys/class/power_supply are files that the test changes, mounted in a namespace. Workers stand still
while that machine is busy or on battery, and go on; whatever is killed, nothing is lost.

    replay_idle.py CKCACHE SOURCE-DIRECTORY STUB-DRIVER CLIENT [TEST...]
"""
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest

import caches
import machine

CLIENT = None
CPUS = sorted(os.sched_getaffinity(0))
MOUNTS = ('mount --bind "$FAKE/stat" /proc/stat && mount --bind "$FAKE/pressure" /proc/pressure && '
          'mount --bind "$FAKE/power" /sys/class/power_supply || exit 77; ')


class Fake(threading.Thread):
    """Files that say how busy a machine is; the clock of what others use goes on by itself."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.path, self.over = path, threading.Event()
        self.busy = ()		# "processors", "cpu", "memory", "io"
        self.totals = dict.fromkeys(("processors", "cpu", "memory", "io"), 0.0)
        for name in ("pressure", "power/AC"):
            os.makedirs(os.path.join(path, name))
        self.plug(True)
        self.write()
        self.start()

    def file(self, name, text):
        """In place, and of the same length each time: who reads it finds the old text or the new."""
        fd = os.open(os.path.join(self.path, name), os.O_WRONLY | os.O_CREAT)
        os.pwrite(fd, text.encode(), 0)
        os.close(fd)

    def plug(self, plugged):
        self.file("power/AC/type", "Mains\n")
        self.file("power/AC/online", "1\n" if plugged else "0\n")

    def write(self):
        ticks = int(self.totals["processors"] * os.sysconf("SC_CLK_TCK"))
        self.file("stat", "cpu  0 0 0 0\n" + "".join(
            "cpu%d %020d 0 0 0 0 0 0 0 0 0\n" % (cpu, ticks) for cpu in CPUS))
        for name in ("cpu", "memory", "io"):
            self.file("pressure/" + name, "some avg10=0.00 avg60=0.00 avg300=0.00 total=%020d\n"
                      % (self.totals[name] * 1e6))

    def run(self):
        last = time.monotonic()
        while not self.over.wait(0.05):
            now = time.monotonic()
            for name in self.busy:
                self.totals[name] += now - last
            last = now
            self.write()

    def end(self):
        self.over.set()
        self.join()


class Replayed(machine.Case):
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

    def recipes(self):
        return len(caches.files(os.path.join(self.root, "recipes"), ".recipe"))


@unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare") and os.path.isdir("/proc/pressure")
                     and os.path.isdir("/sys/class/power_supply"), "cannot mount a machine")
class Idle(Replayed):
    def setUp(self):
        super().setUp()
        self.fake = Fake(self.path("fake"))
        self.addCleanup(self.fake.end)
        try:
            subprocess.run(["unshare", "-m", "sh", "-c", MOUNTS], check=True,
                           env=self.environment({"FAKE": self.path("fake")}))
        except subprocess.CalledProcessError:
            self.skipTest("no mounts here")

    def start_idle(self, *arguments, mounts=MOUNTS, verb=("replay",)):
        process = self.start("-m", "sh", "-c", mounts + 'exec "$0" "$@"', self.command, *verb, "--idle", "--json",
                             *arguments, executable="unshare", extra={"FAKE": self.path("fake")},
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(lambda: (process.kill(), process.communicate()))
        return process

    def finish(self, process, code=0):
        out, err = process.communicate(timeout=machine.PATIENCE)
        self.assertEqual(process.returncode, code, (out, err))
        return json.loads(out), err.decode()

    def until(self, what, why):
        for _ in range(12000):
            found = what()
            if found:
                return found
            time.sleep(0.005)
        return self.fail(why)

    def workers(self, process):
        """{pid: state}"""
        found = {}
        try:
            with open("/proc/%d/task/%d/children" % ((process.pid,) * 2), encoding="ascii") as file:
                for pid in file.read().split():
                    with open("/proc/%s/stat" % pid, encoding="ascii") as stat:
                        found[int(pid)] = stat.read().rsplit(") ", 1)[1][0]
        except FileNotFoundError:
            pass
        return found

    def stands_still(self, process):
        return self.until(lambda: set(self.workers(process).values()) == {"T"}, "none stands still")

    def gate(self, **settings):
        """Builds wait there until it is opened for writing and closed."""
        os.mkfifo(self.path("gate"), 0o600)
        self.settings(STUB_GATE=self.path("gate"), **settings)

    def reach_gate(self):
        return os.open(self.path("gate"), os.O_WRONLY)

    def open_gate(self, fd):
        self.settings()
        os.close(fd)

    def pauses(self, *busy):
        self.leave(1, 2)
        self.gate()
        built = self.counted()
        process = self.start_idle("--jobs", "1", "--timeout", "3")
        gate = self.reach_gate()
        self.fake.busy = busy
        self.stands_still(process)
        self.open_gate(gate)
        # Longer than a build may take, and nothing moves: one worker, which has built nothing.
        since = time.monotonic()
        while time.monotonic() < since + 3.5:
            self.assertEqual(list(self.workers(process).values()), ["T"])
            time.sleep(0.1)
        self.assertEqual((self.counted() - built, self.recipes()), (1, 2))
        self.fake.busy = ()
        value, err = self.finish(process)
        self.assertEqual((value["built"], value["postponed"], err), (2, 0, ""))
        self.assertEqual(self.counted() - built, 2)
        self.assertEqual(self.application(1, 2), 0)

    def test_stands_still_while_others_use_the_processors(self):
        self.pauses("processors")

    def test_stands_still_while_somebody_waits_for_memory(self):
        self.pauses("memory")

    def test_stands_still_while_somebody_waits_for_a_disk(self):
        self.pauses("io")

    def test_stands_still_on_battery(self):
        self.leave(1)
        self.gate()
        process = self.start_idle()
        gate = self.reach_gate()
        self.fake.plug(False)
        self.stands_still(process)
        self.fake.plug(True)
        self.open_gate(gate)
        self.assertEqual(self.finish(process)[0]["built"], 1)

    def test_begins_nothing_on_battery(self):
        self.leave(1)
        built = self.counted()
        self.fake.plug(False)
        value, err = self.finish(self.start_idle())
        self.assertEqual((value["built"], self.counted() - built, self.recipes()), (0, 0, 1))
        self.assertEqual(err, "ckcache: on battery power: nothing is built\n")

    def test_begins_nothing_while_others_are_busy(self):
        self.leave(1)
        built = self.counted()
        self.fake.busy = ("processors",)
        value, err = self.finish(self.start_idle("--budget", "5"))
        self.assertEqual((value["built"], value["postponed"], err), (0, 1, ""))
        self.assertEqual((self.counted() - built, self.recipes()), (0, 1))

    def test_needs_no_pressure_information(self):
        self.leave(1)
        os.mkdir(self.path("none"))
        value, err = self.finish(self.start_idle(
            mounts=MOUNTS + 'mount --bind "$FAKE/../none" /proc/pressure; '))
        self.assertEqual((value["built"], err), (1, ""))

    def test_budget_leaves_the_rest_for_the_next_time(self):
        self.leave(1, 2, 3, 4)
        self.settings(STUB_DELAY_MS=1500)
        built = self.counted()
        value, _ = self.finish(self.start_idle("--jobs", "1", "--budget", "5"))
        self.assertGreater(value["postponed"], 0)
        self.assertEqual(value["built"] + value["postponed"], 4)
        self.assertEqual((self.counted() - built, self.recipes()), (value["built"], value["postponed"]))
        self.settings()
        value, _ = self.finish(self.start_idle())
        self.assertEqual((value["postponed"], self.counted() - built), (0, 4))
        self.assertEqual(self.application(1, 2, 3, 4), 0)

    def test_budget_ends_workers_that_stand_still(self):
        self.leave(1)
        self.gate()
        process = self.start_idle("--budget", "7")
        gate = self.reach_gate()
        self.fake.busy = ("memory",)
        value, err = self.finish(process)
        self.assertEqual((value["built"], value["postponed"], err), (0, 1, ""))
        self.assertEqual(caches.files(self.root, ".attempts"), [])	# nobody is blamed
        self.open_gate(gate)

    def test_one_at_a_time(self):
        self.leave(1)
        self.gate()
        process = self.start_idle()
        gate = self.reach_gate()
        self.fake.busy = ("memory",)
        self.stands_still(process)
        second = self.start_idle()
        _, err = second.communicate(timeout=machine.PATIENCE)
        self.assertEqual((second.returncode, err),
                         (1, ("ckcache: %s: another ckcache replay is running\n" % self.root).encode()))
        self.fake.busy = ()
        self.open_gate(gate)
        self.assertEqual(self.finish(process)[0]["built"], 1)

    def stale(self):
        """Entries of a driver that has been updated since."""
        self.settings(STUB_DRIVER_VERSION="1.0")
        self.assertEqual(self.application(1, 2), 2)

    def kill(self, process):
        """All that it has started is gone, also what stood still."""
        pids = self.workers(process)
        process.kill()
        process.communicate()
        self.until(lambda: not any(os.path.exists("/proc/%d" % pid) for pid in pids),
                   "workers outlive it")

    def resume(self):
        """The next one builds all that is left, and applications build nothing."""
        self.fake.busy = ()
        self.settings(STUB_DRIVER_VERSION="2.0")
        value, err = self.finish(self.start_idle("--stale"))
        self.assertEqual((value["failed"], value["postponed"], err), (0, 0, ""))
        self.assertEqual(self.recipes(), 0)
        self.assertEqual(self.application(1, 2), 0)

    def test_killed_before_it_begins(self):
        self.stale()
        self.fake.busy = ("memory",)
        process = self.start_idle("--stale")
        self.until(lambda: os.path.exists(os.path.join(self.root, "recipes", "replay.lock")),
                   "it does not begin")
        self.kill(process)
        self.resume()

    def test_killed_while_it_looks_for_drivers(self):
        self.stale()
        self.gate(STUB_DRIVER_VERSION="2.0")
        process = self.start_idle("--stale")
        gate = self.reach_gate()
        self.kill(process)
        os.close(gate)
        self.resume()

    def test_killed_while_a_worker_runs(self):
        self.killed_at_work(False)

    def test_killed_while_a_worker_stands_still(self):
        self.killed_at_work(True)

    def killed_at_work(self, still):
        self.stale()
        # The probe takes its time; so the budget is spent when the recipes are there.
        self.settings(STUB_DRIVER_VERSION="2.0", STUB_DELAY_MS=2500)
        value, _ = self.finish(self.start_idle("--stale", "--budget", "5"))
        self.assertEqual((value["stale"], value["built"], self.recipes()), (2, 0, 2))
        self.gate(STUB_DRIVER_VERSION="2.0")
        process = self.start_idle("--jobs", "1")
        gate = self.reach_gate()
        if still:
            self.fake.busy = ("memory",)
            self.stands_still(process)
        self.kill(process)
        os.close(gate)
        self.resume()

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

    def pack(self, *numbers):
        """A pack of programs, which nobody has built yet."""
        packs = self.path("home", ".local", "share", "ckcache", "recipes.d")
        os.makedirs(packs)
        self.ends(0, "record", "-o", os.path.join(packs, "p.ckrecipes"), "--", "sh", "-c", "".join(
            "%s -n vector -DK=%d >/dev/null;" % (CLIENT, number) for number in numbers))

    def build_packs(self, *arguments):
        return self.start_idle("--jobs", "1", *arguments, verb=("recipes", "build"))

    def packs_are_built(self, *numbers):
        """The next time."""
        self.fake.busy = ()
        self.settings()
        (value,), err = self.finish(self.build_packs())
        self.assertEqual((value["built"], value["left"], err), (len(numbers), 0, ""))
        self.assertEqual(self.application(*numbers), 0)

    def test_packs_wait_no_longer_than_their_time(self):
        self.pack(1)
        self.fake.busy = ("processors",)
        built = self.counted()
        value, err = self.finish(self.build_packs("--budget", "4"))
        self.assertEqual((value, err, self.counted() - built),
                         ([], "ckcache: others needed the machine all the time: nothing is built\n", 0))
        self.packs_are_built(1)

    def test_packs_leave_what_stands_still(self):
        self.pack(1, 2)
        self.gate()
        process = self.build_packs("--budget", "10")
        gate = self.second_gate()
        self.fake.busy = ("memory",)
        (value,), err = self.finish(process, 1)
        self.assertEqual((value["built"], value["left"]), (0, 2))
        self.assertIn("the time for one pack was over", err)
        self.assertEqual(caches.files(self.root, ".attempts"), [])
        os.close(gate)
        self.packs_are_built(1, 2)

    def second_gate(self):
        """After the probe's: that of the first program."""
        os.close(self.reach_gate())
        self.until(self.recipes, "the probe does not end")
        return self.reach_gate()

    def test_packs_on_battery(self):
        self.pack(1)
        self.fake.plug(False)
        value, err = self.finish(self.build_packs())
        self.assertEqual((value, err), ([], "ckcache: on battery power: nothing is built\n"))
        self.fake.plug(True)
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
        self.assertIn("2 kernels", self.mentioned())
        self.inside("replay", "--stale")
        self.assertEqual((self.stats()["drivers_changed"], self.mentioned()), (False, ""))

    def test_time_that_recipes_take(self):
        self.settings(STUB_DELAY_MS=200)
        self.application(1)
        self.assertEqual(self.stats()["recipes_ms"], 0)
        self.leave(2, 3, 4)
        cores = max(len(CPUS) - 1, 1)
        self.assertGreaterEqual(self.stats()["recipes_ms"], 600 // cores)
        self.assertIn("will take about", self.inside("stats").stdout.decode())

    def test_a_hostile_mark(self):
        self.application(1)
        os.mkdir(self.path("lib", "ckcache"))
        os.mkfifo(self.path("lib", "ckcache", "changed"))
        self.assertEqual((self.stats()["drivers_changed"], self.mentioned()), (False, ""))


if __name__ == "__main__":
    machine.CKCACHE, machine.SOURCE, machine.STUB, CLIENT = sys.argv[1:5]
    del sys.argv[1:5]
    unittest.main(verbosity=2)
