# SPDX-License-Identifier: MIT
"""What the tests of doctor and run share: a command with an environment made
from nothing, in directories of the test's own, with the drivers that it names.
"""
import os
import shutil
import signal
import subprocess
import sys
import unittest

import tool_case

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from environment import DRIVERS, counted, driver_file, drivers, guard, made, stub_gpu  # noqa: E402,F401

CKCACHE, SOURCE, STUB, RUDE = None, None, None, None
PATIENCE = 600


def tree(folder):
    """Every path below, from it."""
    found = []
    for at, folders, names in os.walk(folder):
        found += [os.path.relpath(os.path.join(at, name), folder) for name in folders + names]
    return sorted(found)


class Ran:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out.decode("utf-8"), err.decode("utf-8", "replace")

    def __repr__(self):
        return "code %s\nstdout: %s\nstderr: %s" % (self.code, self.out[-6000:], self.err[-3000:])


class Case(tool_case.Folder):
    guarded = True	# whether guard.c looks after the processes

    def setUp(self):
        # Whatever is waited for: a test ends.
        signal.signal(signal.SIGALRM, self.out_of_patience)
        signal.alarm(PATIENCE)
        self.addCleanup(signal.alarm, 0)
        os.umask(0o022)  # what others may write is not trusted
        super().setUp()
        for name in ("home", "cwd", "tmp", "vendors"):
            os.mkdir(self.path(name))
        self.root = self.path("root")
        self.command = CKCACHE

    def out_of_patience(self, number, frame):
        raise TimeoutError("nothing came for %d s" % PATIENCE)

    def drivers(self, *libraries):
        drivers(self.work, *libraries)

    def copy_build(self):
        """For those who cannot get to where the build lies: the command, the client, the drivers."""
        if self.command == CKCACHE:
            build, copy = os.path.dirname(os.path.dirname(CKCACHE)), self.path("build")
            shutil.copytree(os.path.join(build, "lib"), os.path.join(copy, "lib"), symlinks=True,
                            ignore=shutil.ignore_patterns("*.a"))
            os.mkdir(os.path.join(copy, "bin"))
            for name in ("bench_client", "ckcache"):
                self.command = shutil.copy(os.path.join(build, "bin", name), os.path.join(copy, "bin"))
            self.drivers(os.path.join(copy, "lib", os.path.basename(STUB)))

    def environment(self, extra=None):
        # Real drivers leave their compilers behind at exit.
        options = ":".join(filter(None, [os.environ.get("ASAN_OPTIONS"), "detect_leaks=0"]))
        return made(self.path("home"), self.root, **{
            "LD_PRELOAD": guard(os.path.dirname(os.path.dirname(CKCACHE))) if self.guarded else None,
            "ASAN_OPTIONS": options, "TMPDIR": self.path("tmp"), "LC_ALL": "C.UTF-8",
            "OCL_ICD_VENDORS": self.path("vendors"), "STUB_COUNTS": self.path("counts"),
            "STUB_SETTINGS": self.path("settings"), **(extra or {})})

    def start(self, *arguments, extra=None, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("cwd", self.path("cwd"))
        return subprocess.Popen([self.command, *arguments], env=self.environment(extra), **options)

    def begin(self, *arguments, **options):
        """One that ends with the test, whatever becomes of that."""
        process = self.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        return process

    def tool(self, *arguments, extra=None, **options):
        with self.start(*arguments, extra=extra, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        **options) as process:
            out, err = process.communicate(timeout=PATIENCE)
        ran = Ran(process.returncode, out, err)
        self.assertNotIn("Sanitizer", ran.err, ran)
        self.assertNotIn("runtime error", ran.err, ran)
        return ran

    def ends(self, code, *arguments, **options):
        """With these arguments the command ends with that code."""
        ran = self.tool(*arguments, **options)
        self.assertEqual(ran.code, code, (arguments, ran))
        return ran

    def counted(self, event="build-source"):
        """How often the stub driver did that."""
        return counted(self.path("counts"), event)


def main():
    global CKCACHE, SOURCE, STUB, RUDE
    # As in a terminal, wherever this was started from: in the background some are ignored.
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    CKCACHE, SOURCE, STUB, RUDE = map(os.path.abspath, sys.argv[1:5])
    unittest.main(module="__main__", argv=[sys.argv[0], *sys.argv[5:]], verbosity=2)
