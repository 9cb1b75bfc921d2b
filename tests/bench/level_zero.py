# SPDX-License-Identifier: MIT
"""Level Zero: ratios of one run, side by side, as bench.py does for OpenCL.

Each time is that of zeModuleCreate in a fresh process (bench_module), on
Intel's driver and compiler, which need no hardware for it. The large module is
made of generated OpenCL C by clang and llvm-spirv, and left out without them.
What the plugin adds to a miss is counted, not compared: compiling wavers by
far more than the requirement.
"""
import glob
import os
import shutil
import subprocess
import sys
import time

from bench import Report, end_of, parser_of, runs_of, seconds, show_ways, take_turns
from harness import KNOWN, Bench, Failure, level_zero, median

KERNEL = """
kernel void k%(n)d(global float *out, global const float *in, int n)
{
	float sum = %(n)d.0f;
	for (int i = 0; i < n; i++)
		sum = mad(in[i * %(n)d + get_global_id(0)], sum, native_sin(in[i] * %(n)d.5f));
	for (int i = 0; i < 8; i++)
		sum += native_exp(in[i + %(n)d]) * sum / (1.0f + fabs(in[i]));
	for (int i = 0; i < 20; i++)
		sum = mad(sum, in[i * n], sum / in[i + %(n)d]);
	out[get_global_id(0)] = sum;
}
"""
SMALL = """
kernel void scale(global float *out, global const float *in, float factor)
{
	out[get_global_id(0)] = in[get_global_id(0)] * factor;
}
"""
# Kernels. Medium takes some second to compile; large is half a megabyte of SPIR-V and makes
# 1.7 MB of native, as a large application's module does.
SIZES = {"small": 1, "medium": 45, "large": 240}


class LevelZero(Bench):
    """bench_module instead of bench_client, and the plugin instead of the layer."""

    def __init__(self, build, work):
        super().__init__(build, work)
        self.client = os.path.join(build, "bin", "bench_module")
        for path in (self.client, level_zero(build)["LD_PRELOAD"]):
            if not os.path.exists(path):
                raise Failure(path + " is missing: build with -DCKCACHE_TESTS=ON")

    def level_zero_environment(self, cache=None, extra=None):
        env = {"PATH": os.environ["PATH"], "HOME": self.work, "TMPDIR": self.work, "LC_ALL": "C"}
        env.update(KNOWN["neo"][1])
        if cache is not None:
            env.update(level_zero(self.build), CKCACHE_DIR=cache)
        return {**env, **(extra or {})}

    def time_module(self, mode, path, cache=None, vendor=None):
        """Seconds of zeModuleCreate, of zeContextCreate, and of the process from fork to exit.

        vendor: a directory with an l0_cache.
        """
        home = vendor or self.fresh_dir("home")
        env = self.level_zero_environment(cache)
        try:
            start = time.monotonic()
            module, context = self.time_client(mode, [path], env, home)
            return module, context, time.monotonic() - start
        finally:
            if not vendor:
                shutil.rmtree(home)


def make_module(bench, size):
    """SPIR-V of so many kernels; None: no compiler for it."""
    newest = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support", "newest.sh")
    found = subprocess.run(["sh", newest, "clang", "llvm-spirv"], capture_output=True, text=True, check=False)
    if found.returncode:
        return None
    clang, translator = map(shutil.which, found.stdout.split())
    source, bitcode, path = (os.path.join(bench.work, size + end) for end in (".cl", ".bc", ".spv"))
    with open(source, "w", encoding="utf-8") as file:
        for n in range(SIZES[size]):
            file.write(SMALL if size == "small" else KERNEL % {"n": n})
    env = {"PATH": os.environ["PATH"]}
    bench.run([clang, "-cl-std=CL2.0", "-target", "spir64", "-emit-llvm", "-c", "-Xclang",
               "-finclude-default-header", source, "-o", bitcode], env, bench.work)
    bench.run([translator, bitcode, "-o", path], env, bench.work)
    return path


def measure_module(bench, report, size, path, runs):
    cache, vendor = (bench.fresh_dir(name) for name in ("cache", "vendor"))
    os.makedirs(os.path.join(vendor, "l0_cache"))
    native = os.path.join(bench.work, size + ".native")
    bench.run([bench.client, "save", path, native], bench.level_zero_environment(), bench.work)
    first = bench.time_module("spirv", path, cache=cache)[0]
    bench.time_module("spirv", path, vendor=vendor)
    before = bench.counters(cache)
    ways = {
        "no cache": ("spirv", path, {}),
        "driver's l0_cache": ("spirv", path, {"vendor": vendor}),
        "ckcache, miss": ("spirv", path, {}),
        "ckcache, hit on disk": ("spirv", path, {"cache": cache}),
        "driver's own binary": ("native", native, {}),
    }
    measured = {way: [] for way in ways}

    def once(way):
        mode, what, how = ways[way]
        if way == "ckcache, miss":
            how = {"cache": bench.fresh_dir("cold")}
        measured[way].append(bench.time_module(mode, what, **how))
        return measured[way][-1][0]

    slow = min(runs, 2) if first > 5 else runs_of(first, runs)
    times = take_turns({way: lambda way=way: once(way) for way in ways}, runs,
                       {"no cache": slow, "ckcache, miss": slow})
    bench.expect_hits(before, cache, runs, size + " module")
    report.heading("%s module: %d kernel(s), %d bytes of SPIR-V, native %d; fresh process" % (
        size, SIZES[size], os.path.getsize(path), os.path.getsize(native)))
    show_ways(report, times)
    judge_hit(report, size, *(measured[way] for way in ("ckcache, hit on disk",
                                                        "driver's own binary")))


def judge_hit(report, size, hits, floors):
    """The module alone is judged; what else the plugin takes of a process stands beside it."""
    (hit, hit_context, hit_process), (floor, floor_context, floor_process) = (
        [median(column) for column in zip(*rows)] for rows in (hits, floors))
    if size == "small":
        report.require("ckcache - floor", signed(hit - floor), "<= 0.1 ms", hit - floor <= 1e-4)
    elif size == "large":
        report.at_most("ckcache / floor", hit / floor, 1.2)
    report.line("zeContextCreate, which prepares", signed(hit_context - floor_context),
                "over the floor: %s, %s" % (seconds(hit_context), seconds(floor_context)))
    report.line("module + context", signed(hit + hit_context - floor - floor_context),
                "over the floor: once a process, no requirement")
    report.line("the whole process", signed(hit_process - floor_process),
                "over the floor: %s, %s" % (seconds(hit_process), seconds(floor_process)))


def signed(value):
    return ("-" if value < 0 else "+") + seconds(abs(value))


def measure_memory(bench, report, size, path, mode, name):
    results = []
    for _ in range(5):
        home, cache = bench.fresh_dir("home"), bench.fresh_dir("cache")
        results.append(bench.time_client(mode, [path], bench.level_zero_environment(cache), home))
        if bench.counters(cache)["hits_memory"] == 0:
            raise Failure("%s, %s: no hit in memory" % (size, name))
    hit, floor = (median(column) for column in zip(*results))
    report.line("%s: %s" % (size, name), signed(hit - floor),
                "over the floor: %s, %s; no requirement" % (seconds(hit), seconds(floor)))


def measure_miss(bench, report, size, path, runs):
    """zeModuleCreate's time less the driver's own part of it, which the plugin counts."""
    added, ratios = [], []
    for _ in range(runs):
        cache = bench.fresh_dir("cold")
        module = bench.time_module("spirv", path, cache=cache)[0]
        counted = bench.counters(cache)
        if counted["misses"] != 1 or counted["stores"] != 1:
            raise Failure("%s: a cold cache missed %d times and stored %d" % (
                size, counted["misses"], counted["stores"]))
        driver = counted["compile_ms_spent"] / 1e3
        added.append(module - driver)
        ratios.append(module / driver)
    report.judge_ratios("%s: miss / driver's part of it" % size, ratios, 1.01, 4, "runs")
    report.line("", seconds(median(added)), "added")


def measure_all(bench, report, sizes, runs):
    if not glob.glob("/usr/lib/*/libze_intel_gpu.so.1"):
        print("Intel's Level Zero driver is needed")
        return 77
    paths = {size: make_module(bench, size) for size in sizes}
    if None in paths.values():
        print("clang and llvm-spirv of one version are needed for the modules")
        return 77
    for size in sizes:
        measure_module(bench, report, size, paths[size], runs)
    repeated = [size for size in sizes if size != "large"]
    report.heading("Hit in memory, later modules within one process")
    for size in repeated:
        measure_memory(bench, report, size, paths[size], "inprocess", "one thread")
        measure_memory(bench, report, size, paths[size], "threads", "8 threads at once")
    report.heading("Miss: what the plugin adds to the driver's part, cold cache, fresh process")
    for size in repeated:
        measure_miss(bench, report, size, paths[size], runs)
    return 0


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--sizes", default=",".join(SIZES), help="a choice of " + ",".join(SIZES))
    options = parser.parse_args()
    report = Report(judge=not options.smoke)
    return end_of(lambda work: measure_all(
        LevelZero(os.path.abspath(options.build), work), report,
        ["small"] if options.smoke else options.sizes.split(","), 1 if options.smoke else options.runs), report)


if __name__ == "__main__":
    sys.exit(main())
