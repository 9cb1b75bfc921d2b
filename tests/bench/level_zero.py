# SPDX-License-Identifier: MIT
"""Level Zero: ratios of one run, side by side, as bench.py does for OpenCL.

Each time is that of zeModuleCreate in a fresh process (bench_module), on
Intel's driver and compiler, which need no hardware for it. The large module is
made of generated OpenCL C by clang and llvm-spirv, and left out without them.
"""
import argparse
import glob
import os
import shutil
import sys
import tempfile

from bench import Report, runs_of, seconds, show_ways, take_turns
from harness import Bench, Failure, median, quartiles

DRIVER = {"NEOReadDebugKeys": "1", "SetCommandStreamReceiver": "1",
          "ProductFamilyOverride": "tgllp", "NEO_CACHE_PERSISTENT": "0"}
KERNEL = """
kernel void k%(n)d(global float *out, global const float *in, int n)
{
	float sum = %(n)d.0f;
	for (int i = 0; i < n; i++)
		sum = mad(in[i * %(n)d + get_global_id(0)], sum, native_sin(in[i] * %(n)d.5f));
	for (int i = 0; i < 8; i++)
		sum += native_exp(in[i + %(n)d]) * sum / (1.0f + fabs(in[i]));
	out[get_global_id(0)] = sum;
}
"""
SMALL = """
kernel void scale(global float *out, global const float *in, float factor)
{
	out[get_global_id(0)] = in[get_global_id(0)] * factor;
}
"""
SIZES = {"small": 1, "medium": 10, "large": 240}  # kernels


class LevelZero(Bench):
    """bench_module instead of bench_client, and the plugin instead of the layer."""

    def __init__(self, build, work):
        super().__init__(build, work)
        self.client = os.path.join(build, "bin", "bench_module")
        self.shim = os.path.join(build, "lib", "ckcache", "libckcache_preload.so")

    def level_zero_environment(self, cache=None, extra=None):
        env = {"PATH": os.environ["PATH"], "HOME": self.work, "TMPDIR": self.work, "LC_ALL": "C"}
        env.update(DRIVER)
        if cache is not None:
            env.update({"LD_PRELOAD": self.shim, "ZE_ENABLE_LAYERS": "ckcache",
                        "CKCACHE_DIR": cache})
        env.update(extra or {})
        return env

    def time_module(self, mode, path, cache=None, vendor=None, extra=None):
        """Seconds of zeModuleCreate and of zeContextCreate. vendor: a directory with an l0_cache."""
        home = vendor or self.fresh_dir("home")
        try:
            return self.time_client(mode, [path], self.level_zero_environment(cache, extra), home)
        finally:
            if not vendor:
                shutil.rmtree(home)


def make_module(bench, size):
    """SPIR-V of so many kernels; None: no compiler for it."""
    clang, translator = shutil.which("clang-14"), shutil.which("llvm-spirv-14")
    if not clang or not translator:
        return None
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
    cache, vendor = bench.fresh_dir("cache"), bench.fresh_dir("vendor")
    os.makedirs(os.path.join(vendor, "l0_cache"))
    native = os.path.join(bench.work, size + ".native")
    bench.run([bench.client, "save", path, native], bench.level_zero_environment(), bench.work)
    first, _ = bench.time_module("spirv", path, cache=cache)
    bench.time_module("spirv", path, vendor=vendor)
    before = bench.counters(cache)
    contexts = {True: [], False: []}

    def once(mode, what, **how):
        module, context = bench.time_module(mode, what, **how)
        contexts["cache" in how].append(context)
        return module

    times = take_turns({
        "no cache": lambda: once("spirv", path),
        "driver's l0_cache": lambda: once("spirv", path, vendor=vendor),
        "ckcache, hit on disk": lambda: once("spirv", path, cache=cache),
        "driver's own binary": lambda: once("native", native),
    }, runs, {"no cache": 2 if first > 5 else runs_of(first, runs)})
    bench.expect_hits(before, cache, runs, size + " module")
    report.heading("%s module: %d kernels, %d bytes of SPIR-V, native %d; fresh process" % (
        size, SIZES[size], os.path.getsize(path), os.path.getsize(native)))
    show_ways(report, times)
    hit, floor = median(times["ckcache, hit on disk"]), median(times["driver's own binary"])
    if size == "small":
        report.require("ckcache - floor", seconds(max(hit - floor, 0)), "<= 0.1 ms",
                       hit - floor <= 1e-4)
    elif size == "large":
        report.require("ckcache / floor", "%.2f" % (hit / floor), "<= 1.2", hit / floor <= 1.2)
    report.line("zeContextCreate: with, without", "%s, %s" % (
        seconds(median(contexts[True])), seconds(median(contexts[False]))))


def measure_memory(bench, report, size, path):
    results = []
    for _ in range(5):
        home, cache = bench.fresh_dir("home"), bench.fresh_dir("cache")
        results.append(bench.time_client("inprocess", [path],
                                         bench.level_zero_environment(cache), home))
    report.line("%s: hit in memory, floor" % size, "%s, %s" % tuple(
        seconds(median([result[i] for result in results])) for i in (0, 1)))


def measure_miss(bench, report, size, path, runs):
    """Pairs that swap their order."""
    cache, ratios = bench.fresh_dir("cold"), []
    for i in range(runs):
        pair = {}
        for plugin in (i % 2 == 0, i % 2 != 0):
            pair[plugin], _ = bench.time_module(
                "spirv", path, **({"cache": cache, "extra": {"CKCACHE_RECACHE": "1"}} if plugin
                                  else {}))
        ratios.append(pair[True] / pair[False])
    if bench.counters(cache)["misses"] < runs:
        raise Failure("CKCACHE_RECACHE=1 did not miss")
    low, high = quartiles(ratios)
    report.require("%s: miss / no plugin" % size, "%.4f" % median(ratios), "<= 1.01",
                   median(ratios) <= 1.01)
    report.line("", "", "(%d pairs, middle half %.4f to %.4f)" % (runs, low, high))


def measure_all(bench, report, sizes, runs):
    if not glob.glob("/usr/lib/*/libze_intel_gpu.so.1"):
        print("Intel's Level Zero driver is needed")
        return 77
    paths = {size: make_module(bench, size) for size in sizes}
    if None in paths.values():
        print("clang-14 and llvm-spirv-14 are needed for the modules")
        return 77
    for size in sizes:
        measure_module(bench, report, size, paths[size], runs)
    report.heading("Hit in memory, later modules within one process")
    for size in sizes:
        if size != "large":
            measure_memory(bench, report, size, paths[size])
    report.heading("Miss: under a cold cache, against the bare driver")
    for size in sizes:
        if size != "large":
            measure_miss(bench, report, size, paths[size], 2 * runs + 1)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build directory")
    parser.add_argument("--runs", type=int, default=15, help="fresh processes per figure (15)")
    parser.add_argument("--smoke", action="store_true", help="seconds long; judges no times")
    parser.add_argument("--sizes", default=",".join(SIZES), help="a choice of " + ",".join(SIZES))
    options = parser.parse_args()
    work = tempfile.mkdtemp(prefix="ckcache-bench-")
    report = Report(judge=not options.smoke)
    try:
        code = measure_all(LevelZero(os.path.abspath(options.build), work), report,
                           ["small"] if options.smoke else options.sizes.split(","),
                           1 if options.smoke else options.runs)
    except Failure as failure:
        print("bench: " + str(failure), file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(work, ignore_errors=True)
    if code == 0:
        print("\n%s" % ("%d requirement(s) missed" % report.failed if report.failed else
                        "harness works" if options.smoke else "all requirements met"))
    return code or (1 if report.failed else 0)


if __name__ == "__main__":
    sys.exit(main())
