# SPDX-License-Identifier: MIT
"""Ratios of one run, side by side: no cache, the vendor's cache, ckcache, the driver's own load.

Each time is that of create + build in a fresh process (bench_client), or what
an unmodified application reports. Ways that are compared take turns within
each round, so that all see the same machine. See docs/TESTING.md.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

from harness import DRIVERS, Bench, Failure, median, quartiles

HERE = os.path.dirname(os.path.abspath(__file__))
DARKTABLE = "/usr/share/darktable/kernels"
PROGRAMS = {
    "small": (os.path.join(HERE, "small.cl"), []),
    "large": (os.path.join(DARKTABLE, "basic.cl"), ["-I" + DARKTABLE]),
}
SLOW_S = 1.0  # what takes longer is measured with a fifth of the runs


class Report:
    """The table, and whether every requirement was met."""

    def __init__(self, judge):
        self.judge = judge
        self.failed = 0
        self.left_out = 0

    @staticmethod
    def heading(text):
        print("\n" + text)
        print("-" * 100, flush=True)

    @staticmethod
    def line(name, value, note=""):
        print("  %-38s %14s   %s" % (name, value, note), flush=True)

    def require(self, name, value, wanted, met):
        if not self.judge:
            self.line(name, value)
            return
        self.failed += not met
        print("  %-38s %14s   required: %-22s %s" % (name, value, wanted,
                                                    "PASS" if met else "FAIL"), flush=True)

    def at_most(self, name, value, bound, digits=2):
        self.require(name, "%.*f" % (digits, value), "<= %g" % bound, value <= bound)

    def judge_ratios(self, name, ratios, bound, digits, what):
        """Their median; what they are ratios of."""
        low, high = quartiles(ratios)
        self.at_most(name, median(ratios), bound, digits)
        self.line("", "", "(%d %s, middle half %.*f to %.*f)" % (len(ratios), what, digits, low, digits, high))

    def leave_out(self, what, why):
        self.left_out += 1
        print("%s is left out: %s" % (what, why), flush=True)

    def end(self):
        """Prints the last line; the exit code."""
        text = ("%d requirement(s) missed" % self.failed if self.failed else
                "all requirements met" if self.judge else "harness works")
        print("\n%s%s" % (text, ", %d program(s) left out" % self.left_out if self.left_out else ""))
        return 1 if self.failed else 0


def seconds(value):
    if value >= 1:
        return "%.2f s" % value
    if value >= 1e-3:
        return "%.2f ms" % (value * 1e3)
    return "%.1f us" % (value * 1e6)


def runs_of(first, runs):
    return runs if first < SLOW_S else max(min(runs, 3), runs // 5)


def show_ways(report, times):
    floor = median(times["driver's own binary"])
    for way, values in times.items():
        low, high = quartiles(values)
        report.line(way, seconds(median(values)), "%8.2f x the floor   (%d runs, middle half %s to %s)" % (
            median(values) / floor, len(values), seconds(low), seconds(high)))


def take_turns(ways, runs, slow=()):
    """Calls each way once per round, starting with another one each round."""
    times = {name: [] for name in ways}
    names = list(ways)
    for i in range(runs):
        for name in names[i % len(names):] + names[:i % len(names)]:
            if name in slow and len(times[name]) >= slow[name]:
                continue
            times[name].append(ways[name]())
    return times


def pairs(measure, runs):
    """[(measure(True), measure(False))], of which each comes first in turns."""
    found = []
    for i in range(runs):
        one = {which: measure(which) for which in (i % 2 == 0, i % 2 != 0)}
        found.append((one[True], one[False]))
    return found


def parser_of(description, runs="fresh processes per figure"):
    """The options that most measurements have."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--build", required=True, help="build directory")
    parser.add_argument("--runs", type=int, default=15, help=runs + " (15)")
    parser.add_argument("--smoke", action="store_true", help="seconds long; judges no times")
    return parser


def end_of(measure, report=None, directory=None):
    """measure(work) has a directory, which goes; the script's exit code."""
    work = tempfile.mkdtemp(prefix="ckb-", dir=directory)	# short, for the paths of sockets
    try:
        code = measure(work)
    except Failure as failure:
        print("bench: " + str(failure), file=sys.stderr)
        return 1
    finally:
        # A hundred thousand entries are half a million files, which Python takes long for.
        subprocess.run(["rm", "-rf", work], check=False)
    return code or (report.end() if report else 0)


def programs_of(bench, report, driver, sizes=None):
    """Those that the bare driver builds: rusticl 26 refuses the large one. At least one must be."""
    built = []
    for size in sizes or PROGRAMS:
        path, options = PROGRAMS[size]
        home = bench.fresh_dir("home")
        try:
            bench.time_client("source", [path] + options, bench.environment(driver, home), home)
            built.append(size)
        except Failure as failure:
            report.leave_out("%s, %s program" % (driver.name, size), str(failure).splitlines()[-1])
        shutil.rmtree(home)
    if not built:
        raise Failure("%s builds none of the programs" % driver.name)
    return built


def measure_program(bench, report, driver, size, runs):
    """One program, five ways; each way's own cache is filled first."""
    path, options = PROGRAMS[size]
    arguments = [path] + options
    vendor_home, cache = bench.fresh_dir("vendor"), bench.fresh_dir("cache")
    both_home, both = bench.fresh_dir("both"), bench.fresh_dir("cache")
    binary = os.path.join(bench.work, "%s-%s.bin" % (driver.name, size))

    def once(mode, what, vendor=None, use_cache=None):
        home = vendor or bench.fresh_dir("home")
        env = bench.environment(driver, home, vendor is not None, use_cache)
        try:
            return bench.time_client(mode, what, env, home)
        finally:
            if not vendor:
                shutil.rmtree(home)

    first = once("save", [path, binary] + options)
    once("source", arguments, vendor=vendor_home)
    once("source", arguments, use_cache=cache)
    once("source", arguments, vendor=both_home, use_cache=both)
    before, before_both = bench.counters(cache), bench.counters(both)
    times = take_turns({
        "no cache": lambda: once("source", arguments),
        "vendor's cache": lambda: once("source", arguments, vendor=vendor_home),
        "ckcache, hit on disk": lambda: once("source", arguments, use_cache=cache),
        "ckcache and vendor's": lambda: once("source", arguments, vendor=both_home, use_cache=both),
        "driver's own binary": lambda: once("binary", [binary] + options),
    }, runs, {"no cache": runs_of(first, runs)})
    bench.expect_hits(before, cache, runs, "%s, %s program" % (driver.name, size))
    bench.expect_hits(before_both, both, runs, "%s, %s program, vendor's cache on" % (driver.name, size))
    report.heading("%s, %s program: create + build, fresh process" % (driver.name, size))
    show_ways(report, times)
    hit = median(times["ckcache, hit on disk"])
    over_floor = hit / median(times["driver's own binary"])
    over_vendor = hit / median(times["vendor's cache"])
    if driver.name == "NEO":
        report.at_most("ckcache / floor", over_floor, {"small": 1.5, "large": 1.2}[size])
    if driver.name == "NEO" and size == "small":
        report.require("ckcache / vendor's cache", "%.2f" % over_vendor, "< 1", over_vendor < 1)
    else:
        report.line("ckcache / vendor's cache", "%.3f" % over_vendor)
    report.line("no cache / ckcache", "%.1f" % (median(times["no cache"]) / hit), "times faster")


def measure_memory_hit(bench, report, driver, size, judged):
    """Later builds of the same source in one process, against the driver's own load there."""
    path, options = PROGRAMS[size]
    home, cache = bench.fresh_dir("home"), bench.fresh_dir("cache")
    env = bench.environment(driver, home, cache=cache)
    results = [bench.time_client("inprocess", [path] + options, env, home) for _ in range(5)]
    if bench.counters(cache)["hits_memory"] == 0:
        raise Failure("%s, %s program: no hit in memory" % (driver.name, size))
    over = median([source - binary for source, binary in results])
    name = "%s, %s: hit in memory - floor" % (driver.name, size)
    if judged:
        report.require(name, seconds(over) if over >= 0 else "-" + seconds(-over), "<= 10 us",
                       over <= 10e-6)
    else:
        report.line(name, "%.1f us" % (over * 1e6), "floor %s; no requirement" %
                    seconds(median([binary for _, binary in results])))


def measure_miss(bench, report, driver, size, runs):
    """The layer on a cold cache against no layer, in pairs that swap their order."""
    path, options = PROGRAMS[size]
    def once(layer):
        home, cache = bench.fresh_dir("home"), bench.fresh_dir("cold")
        env = bench.environment(driver, home, cache=cache if layer else None)
        took = bench.time_client("source", [path] + options, env, home)
        if layer and bench.counters(cache)["misses"] == 0:
            raise Failure("%s, %s program: a cold cache did not miss" % (driver.name, size))
        shutil.rmtree(home)
        return took

    ratios = [miss / bare for miss, bare in pairs(once, runs)]
    report.judge_ratios("%s, %s: miss / no layer" % (driver.name, size), ratios, 1.02, 4, "pairs")


def measure_darktable(bench, report, driver, runs):
    """darktable's own figure for its 36 programs; its own cache emptied unless it is the floor."""
    cache, vendor_home, own = (bench.fresh_dir(name) for name in ("cache", "vendor", "own"))

    def once(vendor=False, use_cache=None, cachedir=None):
        home = vendor_home if vendor else bench.fresh_dir("home")
        kernels = cachedir or bench.fresh_dir("kernels")
        text = bench.run(["darktable-cltest", "--configdir", bench.fresh_dir("config"),
                          "--cachedir", kernels], bench.environment(driver, home, vendor, use_cache),
                         home)
        found = re.search(r"KERNEL LOADING TIME:\s*([0-9.]+)", text)
        if found is None:
            raise Failure("darktable-cltest reported no kernel loading time\n" + text[-2000:])
        if not cachedir:
            shutil.rmtree(kernels)
        return float(found.group(1))

    first = once(cachedir=own)
    once(vendor=True)
    once(use_cache=cache)
    before = bench.counters(cache)
    slow = runs_of(first, runs)
    times = take_turns({
        "no cache": once,
        "vendor's cache": lambda: once(vendor=True),
        "ckcache, hit on disk": lambda: once(use_cache=cache),
        "driver's own binary": lambda: once(cachedir=own),
    }, runs, {"no cache": slow, "vendor's cache": slow})
    bench.expect_hits(before, cache, 36 * runs, "darktable")
    report.heading("%s, darktable's set: its kernel loading time, fresh process" % driver.name)
    show_ways(report, times)
    hit = median(times["ckcache, hit on disk"])
    under_vendor = median(times["vendor's cache"]) / hit
    report.at_most("ckcache / darktable's own binaries", hit / median(times["driver's own binary"]), 2)
    report.require("vendor's cache / ckcache", "%.1f" % under_vendor, ">= 50", under_vendor >= 50)


def measure_clblast(bench, report, driver, runs):
    """CLBlast's tuner with Mesa's cache warm, in pairs; each of its results must be verified."""
    mesa, cache = bench.fresh_dir("mesa"), bench.fresh_dir("cache")

    def once(layer):
        env = bench.environment(driver, mesa, vendor=True, cache=cache if layer else None)
        start = time.monotonic()
        text = bench.run(["clblast_tuner_xaxpy", "-n", "65536", "-runs", "1"], env,
                         bench.fresh_dir("tuner"))
        wall = time.monotonic() - start
        wanted = re.search(r"Found \S*?(\d+) configuration", text)
        if wanted is None or text.count("results match") != int(wanted.group(1)):
            raise Failure("the tuner did not verify all of its results\n" + text[-2000:])
        return wall, text.count("results match")

    for layer in (False, True, True):
        once(layer)
    before = bench.counters(cache)
    found = pairs(once, runs)
    bench.expect_hits(before, cache, runs, "the tuner")
    report.heading("%s, CLBlast's tuner, Mesa's cache warm: wall time" % driver.name)
    report.line("without the layer", seconds(median([bare for _, (bare, _) in found])))
    report.line("ckcache warm", seconds(median([layer for (layer, _), _ in found])),
                "all %d results verified, each run" % found[-1][0][1])
    report.at_most("ckcache / without", median([layer / bare for (layer, _), (bare, _) in found]), 1, 3)


def measure_fast_kernel(bench, report):
    """bench_memory's table: counted values count references, others cost the look-up alone."""
    text = bench.run([bench.memory_bench, "--unjudged"], {"PATH": os.environ["PATH"]}, bench.work)
    found = dict(re.findall(r"^fast kernel +(own, counted|shared) +cachecore +([0-9.]+)", text,
                            re.M))
    if set(found) != {"own, counted", "shared"}:
        raise Failure("bench_memory said: " + text)
    report.require("fast kernel cache look-up, with retain", found["own, counted"] + " ns",
                   "< 50 ns", float(found["own, counted"]) < 50)
    report.line("fast kernel cache look-up, without", found["shared"] + " ns")


def measure_all(bench, report, drivers, runs, parts):
    wanted = drivers if {"programs", "memory", "miss"} & set(parts) else []
    programs = {driver: programs_of(bench, report, driver) for driver in wanted}
    if "programs" in parts:
        for driver in drivers:
            for size in programs[driver]:
                measure_program(bench, report, driver, size, runs)
    if "memory" in parts:
        report.heading("Hit in memory, later builds within one process")
        for driver in drivers:
            for size in programs[driver]:
                measure_memory_hit(bench, report, driver, size,
                                   size == "small" and driver.name != "pocl")
        measure_fast_kernel(bench, report)
    if "miss" in parts:
        report.heading("Miss: create + build under a cold cache, against the bare driver")
        for driver in drivers:
            for size in programs[driver] if driver.name != "pocl" else []:  # its binary is never read eagerly
                measure_miss(bench, report, driver, size,
                             2 * runs + 1 if size == "small" else max(3, runs // 3))
    for driver in drivers:
        if "darktable" in parts and driver.name == "NEO":
            measure_darktable(bench, report, driver, runs)
        if "clblast" in parts and driver.name == "rusticl":
            measure_clblast(bench, report, driver, runs)


def measure_smoke(bench, report, drivers):
    """Only that the harness works and that hits are hits."""
    for driver in drivers:
        if driver.name != "pocl":  # needs its slow eager capture
            measure_program(bench, report, driver, "small", 2)


def main():
    parts = ["programs", "memory", "miss", "darktable", "clblast"]
    parser = parser_of(__doc__)
    parser.add_argument("--drivers", default="NEO,rusticl,pocl", help="a comma-separated choice")
    parser.add_argument("--parts", default=",".join(parts), help="a choice of " + ",".join(parts))
    options = parser.parse_args()
    names = [name.lower() for name in options.drivers.split(",")]
    unknown = set(names) - {driver.name.lower() for driver in DRIVERS}
    if unknown:
        parser.error("unknown driver: %s" % ", ".join(sorted(unknown)))
    chosen = [driver for driver in DRIVERS if driver.name.lower() in names]
    drivers = [driver for driver in chosen if driver.icd is not None]
    for driver in chosen:
        if driver.icd is None:
            print("%s is not installed and is left out" % driver.name)
    if not drivers:
        return 77
    report = Report(judge=not options.smoke)

    def measure(work):
        bench = Bench(os.path.abspath(options.build), work)
        if options.smoke:
            measure_smoke(bench, report, drivers)
        else:
            measure_all(bench, report, drivers, options.runs, options.parts.split(","))

    return end_of(measure, report)


if __name__ == "__main__":
    sys.exit(main())
