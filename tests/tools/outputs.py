# SPDX-License-Identifier: MIT
"""Whole outputs of the verbs that tell of a cache, for one that never changes, on a day that never
ends: in what order lines come, what each number is, how it is rounded. Expected are the files in
outputs/; OUTPUTS_WRITE=1 writes them anew, to be read before they are committed.

  outputs.py CKCACHE FILL_CACHE FIXED_CLOCK NO_MEMORY
"""
import json
import os
import re
import subprocess
import sys
import unittest

import caches
import report_samples as samples
from tool_case import Case

DAY = 1766750400	# 2025-12-26 12:00:00 UTC
HERE = os.path.dirname(os.path.abspath(__file__))
HOUR = 1 / 24
DISK = "<h2>What fills the disk"


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
                        [(b"viewer", 0, [10, 22, 5, 1, 3000 * samples.MS, 11 * 10 ** 9, 2, 700 * samples.MS]),
                         (b"solver", 1, [3, 40, 4, 2, 2500 * samples.MS, 8 * 10 ** 9]),
                         *[(name, 40, [0, 0, 1, 0, 9 * samples.MS, 0]) for name in (b"idle", b"also_idle", b"zero")]], [1, 5, 1, 0, 10 ** 8, 10 ** 9])
    samples.write_stats(root, hits_memory=14, hits_disk=67, misses=10, stores=8, deferred=2, errors=1,
                        compile_ns_spent=5690 * samples.MS, compile_ns_saved=19 * 10 ** 9, evictions=3)
    samples.write_bypasses(root, {"option": 3, "not-reused": 12, "files-unseen": 3})


def text_of(*lines):
    """Of lines that are too long for a key's summary to keep them."""
    return "".join("%s %s\n" % (line, "." * 80) for line in lines)


GPU, CPU = "A GPU", "A CPU"
SUM, SCALE = (("kernel void %s(global int *a) {" % name, *(name + word for word in ("one", "two", "three", "four")), "}")
              for name in ("sum", "scale"))
# What is stored when the runs of the trace begin: how long before the first, device, driver, source, options.
STORED = (
    (900, GPU, "1.0", text_of(*SUM), "-DN=1"),
    (800, GPU, "1.0", text_of(*SUM), "-DN=2"),
    (500, GPU, "1.0", text_of(*SUM), "-DN=3"),
    (700, GPU, "1.0", text_of(*SUM), "-DN=4"),
    (600, GPU, "1.0", text_of(*SUM), "-DN=5"),
    (400, CPU, "2.0", text_of(*SUM), "-DN=6"),
    (300, GPU, "3.0", text_of(*SUM), "-DN=6"),
    (900, GPU, "1.0", text_of(*SCALE), "-DN=1"),
    (200, GPU, "3.0", text_of("sub one", "sub two", "sub three", "sub four"), "-cl-mad-enable"),
    (100, GPU, "3.0", text_of("mul one", "mul two", "mul three", "mul four"), "-D" + "x" * 3000),
    (50, CPU, "2.0", "short", "-w"),
    (-20, GPU, "1.0", text_of(*SUM), "-DN=7"),
)
# Misses that follow each other by ten seconds: device, driver, source, options.
ASKED = (
    (GPU, "1.0", text_of(*SUM), "-DN=9"),	# another option: the newest of five
    (GPU, "1.0", text_of(*SCALE), "-DN=9"),	# the one of that text
    (CPU, "2.0", text_of(*SUM), "-DN=7"),	# nearer than with the option of another device
    (CPU, "4.0", text_of(*SUM), "-DN=6"),	# another driver, rather than another device
    (GPU, "2.0", text_of(*SUM), "-DN=5"),	# another driver, rather than driver and option
    (GPU, "3.0", text_of("sub one", "sub two", "x", "y"), "-cl-mad-enable"),	# half of the lines
    (GPU, "3.0", text_of("sub one", "x", "y", "z"), "-cl-mad-enable"),	# less: another program
    (GPU, "3.0", text_of("mul one", "mul two", "mul three", "mul four"), "-w"),	# from a long option
    (GPU, "3.0", text_of("mul one", "mul two", "mul three", "mul four"), None),	# to none
    (GPU, "1.0", text_of(*SUM), "-DN=8"),	# what was stored between the runs
    (CPU, "2.0", "short", "-w"),	# its own entry
    (CPU, "2.0", "other", "-w"),
    (None, None, None, None),
)


def trace_lines():
    """The misses, what else a trace tells, and what is passed over."""
    names = ("device.name", "device.driver_version", "source", "options")
    for i, fields in enumerate(ASKED):
        key = {name: value for name, value in zip(names, fields) if value is not None}
        yield {"event": "miss", "time_ns": (DAY + 10 * i) * 10 ** 9, "build_ns": 10 ** 6 * (i + 1), "pid": 7, "key": key}
    for i, more in enumerate((
            {"event": "bypass", "reason": "date"}, {"event": "bypass", "reason": "no such word", "build_ns": 5000000},
            {"event": "miss", "failure": "-11: no ; there"}, {"event": "miss", "reason": "unattended"},
            {"event": "miss", "reason": "read-only"}, {"event": "miss", "reason": "deferred"},
            {"event": "hit-disk"}, {"event": "other"}, {})):
        yield {"time_ns": (DAY + 500 + i) * 10 ** 9, "pid": 8, **more}
    yield []


class Outputs(Case):
    def setUp(self):
        super().setUp()
        samples.now_ns = lambda: DAY * 10 ** 9
        samples.time.time = lambda: DAY
        samples.fill(sys.argv[2], self.root, rows())
        add_counts(self.root)
        for path in self.sources():
            os.utime(path, (DAY - 3600, DAY - 3600))

    def sources(self):
        """Files whose times are those when their entries were stored."""
        return {os.path.join(folder, name) for folder, _, names in os.walk(self.root) for name in names
                if name.endswith(".src")}

    def check(self, name, *arguments, headings=()):
        """What the verb prints, or of a page what is below those, and the titles of what else it has; sizes on
        disk depend on the file system."""
        ran = self.run_tool(*arguments, extra={"LD_PRELOAD": sys.argv[3], "FIXED_CLOCK": str(DAY), "TZ": "UTC"})
        self.assertEqual(ran.stderr, b"")
        text = ran.stdout.decode()
        if name.endswith(".json"):
            text = json.dumps(json.loads(text), indent=1) + "\n"
        text = re.sub(r"(ckcache\W+)\d+(\.\d+)+", r"\1VERSION", text.replace(self.work, "WORK"))
        if headings:
            parts = re.split("(?=<h[12]>)", text)
            text = "".join(part for part in parts if part[4:].startswith(headings))
            text += "".join(re.findall("<h3>.*\n|<div class=scroll.*\n|<tr><th scope=col.*\n", "".join(
                part for part in parts if part.startswith(DISK))))
        text = re.sub(r" *\b\d+(\.\d+)? (bytes|KiB|MiB)\b", " SIZE", text)
        text = re.sub(r'"\d+"> SIZE', '"SIZE"> SIZE', text)
        text = re.sub(r"[\d.]+ % of (.*)<svg.*</svg>", r"SHARE of \1", text)
        text = re.sub(r'((bytes(_before|_expected)?|size)": ?|bytes on disk +)\d+', r"\1SIZE", text)
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
        self.check("stats-programs.txt", "stats", "--per-program", "--verbose")

    def test_show(self):
        self.check("show.txt", "show", "fourth")
        self.check("show.json", "show", "--json", "third")

    def test_show_of_values_that_just_fit(self):
        self.root = self.path("bounds")
        samples.fill(sys.argv[2], self.root, [samples.row(b"kernel", b"d" * 200, b"v" * 201, b"-w", 10, 1000, 1)])
        for path in self.sources():
            os.utime(path, (DAY - 3600, DAY - 3600))
        self.check("show-bounds.txt", "show", os.path.relpath(self.sources().pop(), self.root))

    def test_explain(self):
        self.root = self.path("explained")
        for ago, device, driver, source, options in STORED:
            before = self.sources()
            samples.fill(sys.argv[2], self.root, [samples.row(
                source.encode(), device.encode(), driver.encode(), options.encode(), 10, 1000, 1)])
            for path in self.sources() - before:
                os.utime(path, (DAY - ago, DAY - ago))
        trace = self.write("trace", "\n".join(map(json.dumps, trace_lines())) + "\nno JSON\n")
        self.check("explain.txt", "explain", "--trace", trace)
        self.check("explain-verbose.txt", "explain", "--verbose", "--trace", trace)
        self.check("explain.json", "explain", "--json", "--trace", trace)

    def test_prune(self):
        self.check("prune-old.txt", "prune", "--older-than", "30d", "--dry-run")
        self.check("prune-device.json", "prune", "--device", "pthread", "--dry-run", "--json")

    def test_recompress(self):
        self.check("recompress-dry.txt", "recompress", "none", "--dry-run")
        self.check("recompress.txt", "recompress", "none")
        self.check("recompress.json", "recompress", "none", "--json")

    def test_report(self):
        self.check("report.json", "report", "--json")
        # Where nothing is in an order of sizes.
        self.check("report.html", "report", "-", headings=("ckcache report", "In all", "Hits and misses", "Time saved",
                                                           "The slowest", "Misses, and", "Eviction"))

    def test_without_memory_a_command_says_so(self):
        """Whichever allocation fails; what it was to run ran, and nobody takes its code for that of ckcache."""
        self.root = caches.copy(os.path.join(HERE, "..", ".."), self.path("golden"))
        for arguments, failed in ((["config"], 1), (["stats"], 1), (["list"], 1), (["explain", "--all"], 1),
                                  (["run", "--summary", "sh", "-c", "exit 7"], 125)):
            def run(number):
                return subprocess.run([sys.argv[1], *arguments], check=False, capture_output=True, env={
                    "PATH": os.environ["PATH"], "HOME": self.work, "CKCACHE_DIR": self.root, "LD_PRELOAD": sys.argv[4],
                    "NO_MEMORY": str(number)})
            good, number = run(0), 2	# the first is of the arguments
            while (ran := run(number)).returncode != 99:
                number += 1
                self.assertIn(ran.returncode, (good.returncode, failed), (arguments, number, ran))
                if ran.returncode == failed:
                    self.assertRegex(ran.stderr, b"out of memory|missing", (arguments, number))
                elif failed == 125:
                    self.assertIn(ran.stderr, (b"", good.stderr, b"ckcache: out of memory\n"), number)
            self.assertGreater(number, 30)

    def test_report_of_little(self):
        """Of nothing at all; of entries that nobody counted; of counts that are of no day."""
        headings = ("ckcache report", "In all", "Hits and misses", "Misses, and", "Eviction")
        self.root = self.path("little")
        self.check("report-nothing.html", "report", "-", headings=headings)
        samples.fill(sys.argv[2], self.root, [samples.row(b"kernel", size=10, age_days=1)])
        self.check("report-uncounted.html", "report", "-", headings=headings)
        samples.write_stats(self.root, hits_disk=3, misses=2, compile_ns_spent=10 ** 9)
        self.check("report-undated.html", "report", "-", headings=headings)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
