# SPDX-License-Identifier: MIT
"""Programs from blobs (ckcache.h) against the driver's own load of the same binary.

In fresh processes, which take turns and swap their order from round to round,
the ratio taken within each pair; and within one process, in turns as well. See
docs/TESTING.md.
"""
import os
import shutil
import sys

from bench import PROGRAMS, Report, end_of, pairs, parser_of, programs_of, seconds
from harness import DRIVERS, Bench, median

BOUND = 1.1


class Blobs:
    """One driver and program: binary and blob saved, and how each is loaded."""

    def __init__(self, bench, driver, size, processor_time):
        self.bench, self.driver, self.processor_time = bench, driver, processor_time
        self.path, self.options = PROGRAMS[size]
        stem = os.path.join(bench.work, "%s-%s" % (driver.name, size))
        self.binary, self.blob = stem + ".bin", stem + ".blob"
        self.client = os.path.join(os.path.dirname(bench.client), "bench_blob")
        self.run("save", self.path, self.binary, self.blob)

    def run(self, *arguments):
        """Nanoseconds that the client printed."""
        # What a driver writes into the working directory would pass for headers that change.
        home, work = self.bench.fresh_dir("home"), self.bench.fresh_dir("work")
        extra = {"CKCACHE_PERSISTENT": "0", "CKCACHE_DIR": home}
        if self.processor_time:
            extra["BENCH_PROCESSOR_TIME"] = "1"
        env = self.bench.environment(self.driver, home, extra=extra)
        text = self.bench.run([self.client] + list(arguments) + self.options, env, work)
        shutil.rmtree(home)
        shutil.rmtree(work)
        return [int(word) / 1e9 for word in text.split()]

    def once(self, blob):
        """In a fresh process: (blob, description), or (binary,)."""
        return self.run("blob", self.path, self.blob) if blob else self.run("binary", self.binary)

    def in_process(self):
        """(blob, binary), medians."""
        return self.run("inprocess", self.path, self.binary, self.blob)


def measure(bench, report, driver, size, options):
    runs = 2 if options.smoke else options.runs
    blobs = Blobs(bench, driver, size, options.processor_time)
    report.heading("%s, %s program: %d bytes of binary, %d of blob" % (
        driver.name, size, os.path.getsize(blobs.binary), os.path.getsize(blobs.blob)))
    loads, descriptions, floors = zip(*((*blob, *binary) for blob, binary in pairs(blobs.once, runs)))
    report.line("driver's own load, fresh process", seconds(median(floors)))
    report.line("from the blob", seconds(median(loads)))
    report.judge_ratios("blob / driver's own, fresh process",
                        [load / floor for load, floor in zip(loads, floors)], BOUND, 3, "pairs")
    report.line("the description before it", seconds(median(descriptions)), "no requirement")
    both = [blobs.in_process() for _ in range(3)]
    report.line("driver's own load, one process", seconds(median([one[1] for one in both])))
    report.line("from the blob", seconds(median([one[0] for one in both])))
    report.at_most("blob / driver's own, one process", median([blob / binary for blob, binary in both]), BOUND, 3)


def main():
    parser = parser_of(__doc__, "pairs of fresh processes")
    parser.add_argument("--drivers", default="NEO,rusticl,pocl", help="a comma-separated choice")
    parser.add_argument("--sizes", default="small,large", help="a choice of small,large")
    parser.add_argument("--processor-time", action="store_true",
                        help="count what processes took of processors: on a machine that is not idle")
    options = parser.parse_args()
    names = options.drivers.lower().split(",")
    drivers = [driver for driver in DRIVERS if driver.name.lower() in names and driver.icd]
    if not drivers:
        return 77
    report = Report(judge=not options.smoke)

    def measure_all(work):
        bench = Bench(os.path.abspath(options.build), work)
        for driver in drivers:
            sizes = ["small"] if options.smoke else options.sizes.split(",")
            for size in programs_of(bench, report, driver, sizes):
                measure(bench, report, driver, size, options)

    return end_of(measure_all, report)


if __name__ == "__main__":
    sys.exit(main())
