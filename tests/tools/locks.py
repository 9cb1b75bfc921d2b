# SPDX-License-Identifier: MIT
"""Every verb while a process that is stopped holds a lock of the cache: it ends, and if it could
not do what it should it says so.

    locks.py CKCACHE SOURCE-DIRECTORY
"""
import os
import shutil
import signal
import subprocess
import sys
import unittest

import caches
import tool_case

CKCACHE, SOURCE = None, None
# Where some seconds are meant: the machine may be loaded.
IN_TIME = 60
HOLD = """import fcntl, os, signal, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
os.kill(os.getpid(), signal.SIGSTOP)"""
VERBS = (["stats"], ["stats", "--zero"], ["list"], ["show", "ENTRY"], ["explain"], ["verify"],
         ["verify", "--repair"], ["prune"], ["clear"], ["export", "FILE"], ["import", "BUNDLE"],
         ["report", "FILE2"], ["replay"], ["run", "true"])
# Those that meet a damaged entry.
WITH_DAMAGE = (["list"], ["verify"], ["verify", "--repair"], ["prune"], ["clear"], ["export", "FILE"])


class Holder:
    """A process that has the lock of a file or directory, and is stopped."""

    def __init__(self, path):
        self.child = subprocess.Popen([sys.executable, "-c", HOLD, path])
        _, status = os.waitpid(self.child.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), path

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.child.send_signal(signal.SIGKILL)
        self.child.wait()


class Locks(tool_case.Case):
    def run_tool(self, arguments):
        extra = {"OCL_ICD_VENDORS": self.path("none")}
        return super().run_tool(*arguments, code=None, extra=extra, timeout=IN_TIME)

    def make(self, damage):
        shutil.rmtree(self.root, ignore_errors=True)
        caches.copy(SOURCE, self.root)
        path = os.path.join(self.root, "recipes/replay.lock")
        if os.path.isdir(os.path.dirname(path)):
            with open(path, "a", encoding="utf-8"):
                os.chmod(path, 0o600)
        if damage:
            caches.damage_bin(self.root)

    def locks(self):
        """What can be locked: the root, each entry_dir, and each file that is beside them."""
        entry_dirs = {os.path.dirname(path) for path in caches.files(self.root, ".src")}
        files = [os.path.join(self.root, name) for name in
                 ("events.log", "recipes/replay.lock")]
        return [self.root, min(entry_dirs)] + [path for path in files if os.path.exists(path)]

    def test_every_verb_ends(self):
        words = {"ENTRY": caches.short_path(SOURCE), "FILE": self.path("bundle"),
                 "FILE2": self.path("page"), "BUNDLE": self.path("another")}
        self.make(False)
        self.assertGreater(len(self.locks()), 2)
        self.assertEqual(self.run_tool(["export", words["BUNDLE"]]).returncode, 0)
        for damage in (False, True):
            for number in range(len(self.locks())):
                for verb in WITH_DAMAGE if damage else VERBS:
                    self.make(damage)
                    held = self.locks()[number]
                    for name in ("FILE", "FILE2"):
                        if os.path.exists(words[name]):
                            os.unlink(words[name])
                    if verb[0] == "import":
                        os.unlink(caches.files(self.root, ".src")[-1])
                    with self.subTest(verb=verb, held=os.path.relpath(held, self.root),
                                      damage=damage), Holder(held):
                        ran = self.run_tool([words.get(word, word) for word in verb])
                        self.assertIn(ran.returncode, (0, 1), ran)
                        if ran.returncode:
                            self.assertTrue(ran.stderr or ran.stdout, ran)

    def test_clear_says_that_a_lock_is_held(self):
        for number in range(2):
            self.make(False)
            with Holder(self.locks()[number]):
                ran = self.run_tool(["clear"])
            self.assertEqual(ran.returncode, 1, ran)
            self.assertIn(b"holds a lock", ran.stderr)
        self.assertEqual(self.run_tool(["clear"]).returncode, 0)
        self.assertEqual(caches.files(self.root, ".src"), [])


if __name__ == "__main__":
    CKCACHE, SOURCE = sys.argv[1:3]
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
