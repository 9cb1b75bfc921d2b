# SPDX-License-Identifier: MIT
"""Programs from blobs (ckcache.h) against the driver's own load of the same binary.

In fresh processes, which take turns and swap their order from round to round,
the ratio taken within each pair; and within one process, in turns as well. See
docs/TESTING.md.
"""
import argparse
import os
import shutil
import sys
import tempfile

from bench import PROGRAMS, Report, programs_of, seconds
from harness import DRIVERS, Bench, Failure, median, quartiles

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

    def pair(self, blob_first):
        """(blob, description, binary) of two fresh processes."""
        for blob in (blob_first, not blob_first):
            if blob:
                load, description = self.run("blob", self.path, self.blob)
            else:
                floor, = self.run("binary", self.binary)
        return load, description, floor

    def in_process(self):
        """(blob, binary), medians."""
        return self.run("inprocess", self.path, self.binary, self.blob)


def measure(bench, report, driver, size, options):
    runs = 2 if options.smoke else options.runs
    blobs = Blobs(bench, driver, size, options.processor_time)
    report.heading("%s, %s program: %d bytes of binary, %d of blob" % (
        driver.name, size, os.path.getsize(blobs.binary), os.path.getsize(blobs.blob)))
    pairs = [blobs.pair(i % 2 == 0) for i in range(runs)]
    loads, descriptions, floors = zip(*pairs)
    ratios = [load / floor for load, _, floor in pairs]
    low, high = quartiles(ratios)
    report.line("driver's own load, fresh process", seconds(median(floors)))
    report.line("from the blob", seconds(median(loads)))
    report.require("blob / driver's own, fresh process", "%.3f" % median(ratios), "<= %.1f" % BOUND,
                   median(ratios) <= BOUND)
    report.line("", "", "(%d pairs, middle half %.3f to %.3f)" % (runs, low, high))
    report.line("the description before it", seconds(median(descriptions)), "no requirement")
    both = [blobs.in_process() for _ in range(3)]
    ratio = median([blob / binary for blob, binary in both])
    report.line("driver's own load, one process", seconds(median([one[1] for one in both])))
    report.line("from the blob", seconds(median([one[0] for one in both])))
    report.require("blob / driver's own, one process", "%.3f" % ratio, "<= %.1f" % BOUND,
                   ratio <= BOUND)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build directory")
    parser.add_argument("--runs", type=int, default=15, help="pairs of fresh processes (15)")
    parser.add_argument("--drivers", default="NEO,rusticl,pocl", help="a comma-separated choice")
    parser.add_argument("--sizes", default="small,large", help="a choice of small,large")
    parser.add_argument("--processor-time", action="store_true",
                        help="count what processes took of processors: on a machine that is not idle")
    parser.add_argument("--smoke", action="store_true", help="seconds long; judges no times")
    options = parser.parse_args()
    names = options.drivers.lower().split(",")
    drivers = [driver for driver in DRIVERS if driver.name.lower() in names and driver.icd]
    if not drivers:
        return 77
    work = tempfile.mkdtemp(prefix="ckcache-bench-")
    report = Report(judge=not options.smoke)
    try:
        bench = Bench(os.path.abspath(options.build), work)
        for driver in drivers:
            sizes = ["small"] if options.smoke else options.sizes.split(",")
            for size in programs_of(bench, report, driver, sizes):
                measure(bench, report, driver, size, options)
    except Failure as failure:
        print("bench: " + str(failure), file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return report.end()


if __name__ == "__main__":
    sys.exit(main())
