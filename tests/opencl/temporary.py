# SPDX-License-Identifier: MIT
"""AMD's compiler writes temporary files: what happens where it cannot, and where its libraries lie twice.

  python3 tests/opencl/temporary.py BUILD LIBRARY [-v]

LIBRARY: the driver's file (offline_amd). Error, message and binary of a build must be the bare
driver's, and nothing that was built so may be stored as anything else. Exit code 77: no such device.
"""
import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from environment import drivers, made, opencl  # noqa: E402

BUILD = os.path.abspath(sys.argv.pop(1))
LIBRARY = os.path.abspath(sys.argv.pop(1))
CLIENT = os.path.join(BUILD, "bin", "bench_client")
SOURCE = "kernel void scale(global float *out, float by) { out[get_global_id(0)] *= by + %d; }\n"
# The precompiled header alone is 3 MB.
SIZES_KB = (4, 64, 512, 2048, 2900, 3000, 3100, 3200, 3600)
MOUNT = ["unshare", "--mount", "--propagation", "private", "sh", "-c",
         'mount -t tmpfs -o "$0" tmpfs "$1" && shift && exec "$@"']


def can_mount(folder):
    return subprocess.run(MOUNT + ["size=64k", folder, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


class Temporary(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="ckcache-temporary-")
        self.addCleanup(shutil.rmtree, self.work)
        self.source = self.path("source.cl")
        for name in ("home", "tmp", "good"):
            os.mkdir(self.path(name))
        drivers(self.work, LIBRARY)
        self.write(1)

    def path(self, name):
        return os.path.join(self.work, name)

    def write(self, number):
        with open(self.source, "w", encoding="utf-8") as file:
            file.write(SOURCE % number)

    def environment(self, layered, **more):
        env = made(self.path("home"), self.path("cache"), TMPDIR=self.path("good"), AMD_COMGR_CACHE="0",
                   OCL_ICD_VENDORS=self.path("vendors"))
        return {**env, **(opencl(BUILD) if layered else {}), **more}

    def build(self, layered, before=(), **more):
        """Exit code, complaint and binary."""
        binary = self.path("binary")
        done = subprocess.run([*before, CLIENT, "save", self.source, binary], env=self.environment(layered, **more),
                              cwd=self.work, capture_output=True, text=True, check=False)
        if not os.path.exists(binary):
            return done.returncode, done.stderr, None
        with open(binary, "rb") as file:
            content = file.read()
        os.unlink(binary)
        return done.returncode, done.stderr, content

    def count(self, name):
        told = subprocess.run([os.path.join(BUILD, "bin", "ckcache"), "stats", "--json"], env=self.environment(False),
                              capture_output=True, text=True, check=True).stdout
        return int(told.split('"%s": ' % name)[1].split(",")[0].split("\n")[0])

    def judge(self, before=(), **more):
        """Bare, cold and again there; then as it should be elsewhere. Returns whether it was built."""
        shutil.rmtree(self.path("cache"), ignore_errors=True)
        bare = self.build(False, before, **more)
        for _ in range(2):
            self.assertEqual(self.build(True, before, **more), bare)
        good = self.build(False)
        for _ in range(2):
            self.assertEqual(self.build(True), good)
        self.assertEqual(good[0], 0, good[1])
        self.assertEqual(self.count("stores"), 1)
        return bare[0] == 0

    def test_no_such_directory(self):
        self.assertFalse(self.judge(TMPDIR=self.path("none")))

    def test_read_only(self):
        if not can_mount(self.path("tmp")):
            self.skipTest("nobody can mount here")
        self.assertFalse(self.judge([*MOUNT, "ro", self.path("tmp")], TMPDIR=self.path("tmp")))

    def test_full(self):
        """At any time of the build."""
        if not can_mount(self.path("tmp")):
            self.skipTest("nobody can mount here")
        built = []
        for number, size in enumerate(SIZES_KB):
            self.write(number)
            built.append(self.judge([*MOUNT, "size=%dk" % size, self.path("tmp")], TMPDIR=self.path("tmp")))
        self.assertIn(True, built)
        self.assertIn(False, built)

    def test_left_by_a_killed_process(self):
        """Whatever lies there is another build's; a process that is killed stores nothing."""
        left = self.path("tmp")
        for layered in (False, True):
            before = glob.glob(left + "/comgr-*/include/*")
            with subprocess.Popen([CLIENT, "source", self.source], env=self.environment(layered, TMPDIR=left),
                                  cwd=self.work, stdout=subprocess.DEVNULL) as process:
                while process.poll() is None and glob.glob(left + "/comgr-*/include/*") == before:
                    time.sleep(0.001)
                process.send_signal(signal.SIGKILL)
            if process.returncode == 0:
                self.skipTest("it was too fast")
        self.assertTrue(glob.glob(left + "/comgr-*"))
        self.assertEqual(self.count("stores"), 0)
        self.assertTrue(self.judge(TMPDIR=left))
        self.assertTrue(glob.glob(left + "/comgr-*"))

    def test_libraries_in_two_directories(self):
        """The compiler looks for files from where it lies."""
        comgr = sorted(glob.glob("/usr/l*/*/libamd_comgr.so.*"))
        if not comgr:
            self.skipTest("no compiler of that name")
        good = self.build(False)
        for number, name in enumerate(("one", "two")):
            os.makedirs(self.path(name + "/lib"))
            for library in comgr:
                shutil.copy(library, self.path(name + "/lib"), follow_symlinks=False)
            ways = {"LD_LIBRARY_PATH": self.path(name + "/lib")}
            self.assertEqual(self.build(False, **ways), good)
            for _ in range(2):
                self.assertEqual(self.build(True, **ways), good)
            self.assertEqual(self.count("stores"), number + 1)
            self.assertEqual(self.count("hits_disk"), number + 1)
        # In its folder, what it looks for from there.
        os.makedirs(self.path("two/amdgcn/bitcode"))
        bare = self.build(False, LD_LIBRARY_PATH=self.path("two/lib"))
        self.assertEqual(self.build(True, LD_LIBRARY_PATH=self.path("two/lib")), bare)
        self.assertEqual(self.count("hits_disk"), 2)
        self.assertEqual(self.build(True, LD_LIBRARY_PATH=self.path("one/lib")), good)
        self.assertEqual(self.count("hits_disk"), 3)


if __name__ == "__main__":
    if not glob.glob("/usr/l*/*/libamdocl64.so"):
        print("SKIPPED: AMD's driver is not installed")
        sys.exit(77)
    unittest.main()
