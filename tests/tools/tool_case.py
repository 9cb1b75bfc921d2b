# SPDX-License-Identifier: MIT
"""What tests of the ckcache command and of scripts share: a fresh directory, and the command in it
with nothing of the tester's environment. The command is the script's first argument.
"""
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import environment  # noqa: E402  (in its folder)


def closed_pipe():
    """A descriptor to write to, which nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    return writer


def clock(**variables):
    """What puts a command's clock wrong (wrong_clock.c), by these variables."""
    library = os.path.join(os.path.dirname(sys.argv[1]), "..", "lib", "libwrong_clock.so")
    return {"LD_PRELOAD": library, "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0", **variables}


class Folder(unittest.TestCase):
    """Files are named from the directory, or by their paths."""
    maxDiff = None

    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="ckcache-tools-")
        self.addCleanup(shutil.rmtree, self.work)

    def path(self, *names):
        return os.path.join(self.work, *names)

    def write(self, path, content="", mode=0o644):
        """The path of the file; directories above it are made."""
        path = self.path(path)
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(path, mode)
        return path

    def read(self, path):
        with open(self.path(path), encoding="utf-8", newline="") as file:
            return file.read()

    def read_bytes(self, path):
        with open(self.path(path), "rb") as file:
            return file.read()

    def mode(self, path):
        return stat.S_IMODE(os.lstat(self.path(path)).st_mode)

    def need_mounts(self):
        """Of one's own: a container, or a root that is no mount, may have none."""
        if not shutil.which("unshare") or subprocess.run(["unshare", "-m", "mount", "--bind", self.work, self.work],
                                                         check=False, capture_output=True).returncode:
            self.skipTest("no mounts here")


class Case(Folder):
    def setUp(self):
        super().setUp()
        self.root = self.path("root")

    def environment(self, extra=None):
        """extra: variables; None: without."""
        kept = {name: value for name, value in os.environ.items()
                if name in ("PATH", "TMPDIR") or "SAN_OPTIONS" in name}
        made = {**kept, "HOME": self.work, "CKCACHE_DIR": self.root, "LC_ALL": "C.UTF-8",
                **(extra or {})}
        made["LD_PRELOAD"] = environment.guard(os.path.dirname(os.path.dirname(sys.argv[1])), made.get("LD_PRELOAD"))
        return {name: value for name, value in made.items() if value is not None}

    def run_tool(self, *arguments, code=0, extra=None, **options):
        """code: what it must end with; None: anything."""
        options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "cwd": self.work,
                   "timeout": 300, **options}
        if "input" not in options:
            options.setdefault("stdin", subprocess.DEVNULL)
        ran = subprocess.run([sys.argv[1], *arguments], env=self.environment(extra), check=False,
                             **options)
        if code is not None:
            self.assertEqual(ran.returncode, code, (arguments, ran))
        self.assertNotIn(b"Sanitizer", ran.stderr or b"", (arguments, ran))
        self.assertNotIn(b"runtime error", ran.stderr or b"", (arguments, ran))
        return ran
