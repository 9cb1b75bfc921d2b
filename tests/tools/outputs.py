# SPDX-License-Identifier: MIT
"""Whole outputs of the verbs that tell of a cache, for one that never changes, on a day that never
ends: in what order lines come, what each number is, how it is rounded. Expected are the files in
outputs/; OUTPUTS_WRITE=1 writes them anew, to be read before they are committed.

  outputs.py CKCACHE FILL_CACHE FIXED_CLOCK
"""
import json
import os
import re
import sys
import unittest

import report_samples as samples
from tool_case import Case

DAY = 1766750400	# 2025-12-26 12:00:00 UTC
HERE = os.path.dirname(os.path.abspath(__file__))
HOUR = 1 / 24


def rows():
    """Of every size, age and compile time that is written another way, two of which are equal."""
    gpu, cpu = b"Intel(R) Graphics [0x9a49]", b"pthread-cpu"
    return [
        samples.row(samples.kernel("first"), gpu, b"24.35", b"", 900, 999, 0.0001),
        samples.row(samples.kernel("second"), gpu, b"24.35", b"-DA=1", 4096, 1000, HOUR),
        samples.row(samples.kernel("second"), gpu, b"23.43", b"-DA=1", 4096, 999999, 2 * HOUR),
        samples.row(samples.kernel("third") + samples.kernel("helper"), gpu, b"24.35", b"-cl-fast-relaxed-math",
                    70000, 12 * samples.MS, 1),
        samples.row(samples.kernel("fourth"), cpu, b"3.1+debian", b"-DB=\"x y\" -I inc", 1000000, 1500 * samples.MS, 2),
        samples.row(samples.kernel("fifth_with_a_name_that_is_rather_long_for_one_line_of_a_terminal"), cpu,
                    b"3.1+debian", b"-DC", 10, 61000 * samples.MS, 29),
        samples.row(samples.kernel("sixth"), cpu, b"3.1+debian", b"-w", 300, 3700000 * samples.MS, 31),
        samples.row(samples.kernel("sixth"), cpu, b"3.1+debian", b"-x", 300, 3700000 * samples.MS, 31),
        samples.row(b"\x1b[31mno kernel\x07 \xff at all", b"tab\there", b"1.0", b"", 5000, 0, 59),
        samples.row(None, None, None, None, 123, 5 * samples.MS, 400),
    ]


def add_counts(root):
    """Of some days, programs and reasons, as processes have added them up."""
    samples.write_usage(root, [(40, [1, 2, 3, 1, 300 * samples.MS, 0]), (8, [0, 5, 1, 0, 90 * samples.MS, 10 ** 9]),
                               (1, [3, 40, 2, 0, 1200 * samples.MS, 8 * 10 ** 9]),
                               (0, [10, 20, 4, 2, 4100 * samples.MS, 10 ** 10, 3, 10 ** 9])],
                        [(b"viewer", 0, [10, 22, 5, 1, 3000 * samples.MS, 11 * 10 ** 9]),
                         (b"solver", 1, [3, 40, 4, 2, 2500 * samples.MS, 8 * 10 ** 9]),
                         *[(name, 40, [0, 0, 1, 0, 9 * samples.MS, 0]) for name in (b"idle", b"also_idle", b"zero")]], [1, 5, 1, 0, 10 ** 8, 10 ** 9])
    samples.write_stats(root, hits_memory=14, hits_disk=67, misses=10, stores=8, deferred=2, errors=1,
                        compile_ns_spent=5690 * samples.MS, compile_ns_saved=19 * 10 ** 9, evictions=3)
    samples.write_bypasses(root, {"option": 3, "random-token": 12, "files-unseen": 3})


class Outputs(Case):
    def setUp(self):
        super().setUp()
        samples.now_ns = lambda: DAY * 10 ** 9
        samples.time.time = lambda: DAY
        samples.fill(sys.argv[2], self.root, rows())
        add_counts(self.root)
        for folder, _, names in os.walk(self.root):
            for name in names:
                if name.endswith(".src"):	# when it was stored
                    os.utime(os.path.join(folder, name), (DAY - 3600, DAY - 3600))

    def check(self, name, *arguments, headings=()):
        """What the verb prints, or of a page what is below those; sizes on disk depend on the file system."""
        ran = self.run_tool(*arguments, extra={"LD_PRELOAD": sys.argv[3], "FIXED_CLOCK": str(DAY), "TZ": "UTC"})
        text = ran.stdout.decode()
        if name.endswith(".json"):
            text = json.dumps(json.loads(text), indent=1) + "\n"
        text = re.sub(r"(ckcache\W+)\d+(\.\d+)+", r"\1VERSION", text.replace(self.work, "WORK"))
        if headings:
            text = "".join(part for part in re.split("(?=<h2>)", text) if part.startswith(
                tuple("<h2>" + heading for heading in headings)))
        text = re.sub(r" *\b\d+(\.\d+)? (bytes|KiB|MiB)\b", " SIZE", text)
        text = re.sub(r'((bytes|size)": ?|bytes on disk +)\d+', r"\1SIZE", text)
        path = os.path.join(HERE, "outputs", name)
        if os.environ.get("OUTPUTS_WRITE"):
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        with open(path, encoding="utf-8", newline="") as file:
            self.assertEqual(text, file.read())

    def test_list(self):
        self.check("list.txt", "list")
        self.check("list-compile.txt", "list", "--sort", "compile")
        self.check("list-reverse.txt", "list", "--sort", "used", "--reverse", "--limit", "3")
        self.check("list.json", "list", "--sort", "compile", "--json")

    def test_stats(self):
        self.check("stats.txt", "stats")
        self.check("stats.json", "stats", "--json")

    def test_show(self):
        self.check("show.txt", "show", "fourth")
        self.check("show.json", "show", "--json", "third")

    def test_prune(self):
        self.check("prune-old.txt", "prune", "--older-than", "30d", "--dry-run")
        self.check("prune-device.json", "prune", "--device", "pthread", "--dry-run", "--json")

    def test_report(self):
        self.check("report.json", "report", "--json")
        # What tells of no sizes.
        self.check("report.html", "report", "-", headings=("Hits and misses", "Time saved", "Misses, and"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
