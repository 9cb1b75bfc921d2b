# SPDX-License-Identifier: MIT
"""All that comes of a scenario of the client on the stub driver: its answers, the log, what the driver
was asked to do in which order, what was counted, and what the command tells of it; cold, warm, where the
driver refuses what it gave, and after a replay. Expected are the files in scenes/; OUTPUTS_WRITE=1 writes them anew, to be read before they are
committed.

  scenes.py BUILD
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import environment  # noqa: E402  (in its folder)

BUILD = None
HERE = os.path.dirname(os.path.abspath(__file__))
SCENES = (
    "vector", "queries", "failing", "rebuild", "live-kernels", "two-options", "binary", "link", "build",
    "object", "image", "one-device", "no-kernels", "named", "compile-built", "superseded", "callback",
    "callback-refused", "retained-again", "exit-live", "linked-again", "refused", "relink", "il-refused",
    "object-kernels", "embedded", "library", "failing-again", "devices-in-turn", "second-device",
    "some-binaries", "compile-in-turn", "link-two", "failing-until", "odd-list", "link-before",
    "link-changed", "token", "tokens-failing", "empty", "kernel-order", "queries again", "failing-link",
    "failing-link called", "link-before called", "live-clone",
)
# What the command tells of it.
TOLD = ("explain --last 20", "explain --last 20 --json", "verify")


class Scenes(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="ckcache-scenes-")
        self.addCleanup(shutil.rmtree, self.work)
        self.root, self.counts = (os.path.join(self.work, name) for name in ("root", "counts"))

    def environment(self, **more):
        return {**environment.made(self.work, self.root, LC_ALL="C.UTF-8", LD_PRELOAD=environment.guard(BUILD),
                                   STUB_COUNTS=self.counts, CKCACHE_LOG="debug",
                                   **environment.drivers(self.work, environment.stub_driver(BUILD)),
                                   **environment.opencl(BUILD)), **more}

    def clean(self, text):
        """Without what differs from run to run, or from build to build."""
        text = re.sub(r"\b[0-9a-f]{8}(/[0-9a-f]{8})*\b|\b[0-9a-f]{32}\b", "HASH", text.replace(self.work, "WORK"))
        text = re.sub(r"^(ckcache\S*) .*?\d+\.\d+\.\d+.*? OpenCL", r"\1 OpenCL", text, flags=re.M)
        # How many there are, as far as there is time to count (unit.cache).
        text = re.sub(r"^(ckcache: OpenCL, .*, )(more than )?\d+ entr(y|ies)\b.*", r"\1N entries", text, flags=re.M)
        text = re.sub(r'("(\w+_)?(ms|ns|pid)": |process )[\d.]+', r"\1N", text)
        text = re.sub(r"\d{4}-\d\d-\d\d(.)\d\d:\d\d(:\d\d)?", r"DATE\1TIME", text)
        return re.sub(r" +\d+(\.\d+)? ((ns|us|ms|s)|bytes|KiB)\b", lambda is_of: " TIME" if is_of[3] else " SIZE", text)

    def run_once(self, scene, **more):
        with open(self.counts, "wb"):
            pass
        ran = subprocess.run([os.path.join(BUILD, "bin", "opencl_client"), "-n", *scene.split(" ")], cwd=self.work,
                             env=self.environment(**more), stdin=subprocess.DEVNULL, capture_output=True,
                             timeout=120, check=False)
        with open(self.counts, encoding="utf-8") as file:
            events = file.read().split("\n")
        return ("exit %d\n%s" % (ran.returncode, ran.stdout.decode(errors="replace")),
                "log:\n%sdriver: %s\n" % (self.clean(ran.stderr.decode(errors="replace")),
                                         " ".join(filter(None, events))))

    def tool(self, *arguments, **more):
        made = {name: value for name, value in self.environment(**more).items() if value is not None}
        ran = subprocess.run([os.path.join(BUILD, "bin", "ckcache"), *arguments], env=made, stdin=subprocess.DEVNULL,
                             capture_output=True, check=False, timeout=120)
        out = ran.stdout.decode(errors="replace")
        if "--json" in arguments:	# a line for each
            out = "".join(json.dumps(one) + "\n" for one in json.loads(out)["compiles"])
        return "exit %d\n%s" % (ran.returncode, self.clean(out + ran.stderr.decode(errors="replace")))

    def counted(self, **more):
        ran = subprocess.run([os.path.join(BUILD, "bin", "ckcache"), "stats", "--json"], env=self.environment(**more),
                             capture_output=True, check=True, timeout=60)
        return "counted: %s\n" % " ".join(
            "%s=%s" % item for item in json.loads(ran.stdout).items()
            if isinstance(item[1], int) and item[1] and not re.search("_ns|_ms|bytes|size|time", item[0]))

    def check(self, scene):
        text, before = "", None
        for name, more in (("cold", {}), ("warm", {}), ("refused", {"STUB_REFUSE_BINARY": "1"}),
                           # The notice of a link that was refused stays, should the driver still call back.
                           ("refused links", {"STUB_REFUSE_LOADED_LINK": "1", "LD_PRELOAD": ""}),
                           ("deferred", {"CKCACHE_CAPTURE": "deferred", "CKCACHE_DIR": self.root + "-too"})):
            answers, rest = self.run_once(scene, **more)
            text += "# %s\n%s%s%s" % (name, "answers as before\n" if answers == before else answers, rest,
                                     self.counted(**more))
            before = answers
        for verb in TOLD:
            text += "# ckcache %s\n%s" % (verb, self.tool(*verb.split(" "), CKCACHE_LOG=None))
        deferred = {"CKCACHE_DIR": self.root + "-too", "LD_PRELOAD": ""}
        text += "# ckcache replay\n" + self.tool("replay", CKCACHE_LOG=None, **deferred)
        text += "# replayed\n%s%s" % (self.run_once(scene, **deferred)[1], self.counted(**deferred))
        path = os.path.join(HERE, "scenes", scene.replace(" ", "-") + ".txt")
        if os.environ.get("OUTPUTS_WRITE"):
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        with open(path, encoding="utf-8", newline="") as file:
            self.assertEqual(text, file.read())


for one in SCENES:
    setattr(Scenes, "test_" + one.replace("-", "_").replace(" ", "_"), lambda self, scene=one: self.check(scene))


if __name__ == "__main__":
    BUILD = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
