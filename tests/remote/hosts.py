# SPDX-License-Identifier: MIT
"""Hosts that share a remote tier, as directories of their own on this machine:
each has a cache, a home and a runtime directory, and so its own storage
helpers and uploaders. What is started ends with the test.
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from environment import counted, drivers, level_zero, made, opencl, stub_driver, stub_gpu  # noqa: E402,F401

PATIENCE = 300
BUILD = None  # the build's directory


def built(*names):
    return os.path.join(BUILD, *names)


def patience():
    """Of a program whose look-ups are all in time, however busy the machine is."""
    return {"LD_PRELOAD": built("lib", "libwrong_clock.so"), "STOPPED_CLOCK": "1"}


class Case(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        signal.signal(signal.SIGALRM, self.out_of_patience)
        signal.alarm(PATIENCE)
        self.addCleanup(signal.alarm, 0)
        os.umask(0o022)  # what others may write is not trusted
        self.work = tempfile.mkdtemp(prefix="ckr-")  # short: it has sockets
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)
        self.addCleanup(self.end_processes)
        drivers(self.work, stub_driver(BUILD))

    def out_of_patience(self, number, frame):
        raise TimeoutError("nothing came for %d s" % PATIENCE)

    def path(self, *names):
        return os.path.join(self.work, *names)

    def processes(self, name=""):
        """Of all hosts: {pid: command line} whose environment names the test's directory."""
        found = {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/cmdline" % pid, "rb") as file:
                    command = file.read().replace(b"\0", b" ").decode(errors="replace").strip()
                with open("/proc/%s/environ" % pid, "rb") as file:
                    ours = self.work.encode() in file.read()
            except OSError:
                continue
            if (ours or self.work in command) and name in command and int(pid) != os.getpid():
                found[int(pid)] = command
        return found

    def end_processes(self):
        for pid in self.processes():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def wait_until(self, what, done, patience=60):
        end = time.monotonic() + patience
        while not done():
            self.assertLess(time.monotonic(), end, "not in time: " + what)
            time.sleep(0.01)

    def host(self, name, remote, **settings):
        return Host(self, name, remote, settings)


class Host:
    def __init__(self, case, name, remote, settings):
        self.case, self.name = case, name
        self.home = case.path(name)
        for folder in ("", "run", "cwd", "home"):
            os.makedirs(os.path.join(self.home, folder), mode=0o700, exist_ok=True)
        self.root = os.path.join(self.home, "cache")
        self.counts = os.path.join(self.home, "counts")
        self.settings = {"CKCACHE_REMOTE": remote, **settings}

    def environment(self, extra=None):
        return made(os.path.join(self.home, "home"), self.root, **{
            "LC_ALL": "C.UTF-8", "XDG_RUNTIME_DIR": os.path.join(self.home, "run"),
            "CKCACHE_REMOTE_HELPERS": built("bin"), "STUB_COUNTS": self.counts, **opencl(BUILD),
            **drivers(self.case.work), **self.settings, **(extra or {})})

    def begin(self, first, count, **extra):
        return subprocess.Popen([built("bin", "kernels_client"), str(first), str(count)],
                                env=self.environment(extra), cwd=os.path.join(self.home, "cwd"),
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, errors="replace")

    def end(self, process):
        out, err = process.communicate(timeout=PATIENCE)
        self.case.assertEqual((process.returncode, out), (0, ""), err)
        return err

    def use(self, first, count, **extra):
        """Builds programs; what it said on stderr."""
        return self.end(self.begin(first, count, **extra))

    def finds(self, first, count, **extra):
        """As a new machine it builds nothing: all come from the tier. On a busy machine a
        helper may start too late for the first attempt."""
        for _ in range(5):
            before = self.builds()
            said = self.use(first, count, **{**patience(), **extra})
            if self.builds() == before:
                return said
            self.forget()
            self.forget_down()
        self.case.fail("%s built %d programs: %s" % (self.name, self.builds() - before, said))

    def tool(self, *arguments, **extra):
        return subprocess.run([built("bin", "ckcache"), *arguments], env=self.environment(extra),
                              cwd=os.path.join(self.home, "cwd"), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=PATIENCE, check=False)

    def builds(self):
        """How often its driver has compiled."""
        return counted(self.counts)

    def forget(self):
        """As a new machine: nothing is in its cache."""
        shutil.rmtree(self.root, ignore_errors=True)

    def noted(self):
        """What is still to be uploaded."""
        try:
            return os.listdir(os.path.join(self.root, "uploads"))
        except FileNotFoundError:
            return []

    def entries(self):
        """What is in its cache, by the names that uploads have."""
        return {os.path.relpath(folder, self.root).replace("/", ".") for folder, _, names in os.walk(self.root)
                if "0.src" in names}

    def note(self, name):
        """As a store does for who uploads already."""
        with open(os.path.join(self.root, "uploads", name), "w", encoding="ascii"):
            pass

    def uploaded(self):
        self.case.wait_until("the upload of %s" % self.name, lambda: not self.noted())

    def forget_down(self):
        """As a minute later: a tier that failed is tried again."""
        folder = os.path.join(self.home, "run", "ckcache")
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            if name.endswith(".down"):
                os.unlink(os.path.join(folder, name))

    def down(self):
        """Why the tier is left alone; None: it is not."""
        folder = os.path.join(self.home, "run", "ckcache")
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            if name.endswith(".down"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    return file.read()
        return None


def main():
    global BUILD
    BUILD = os.path.abspath(sys.argv[1])
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[2:]],
                  warnings="ignore", verbosity=2)
