# SPDX-License-Identifier: MIT
"""Compression: what it saves and what a hit pays for it, against the driver's own load.

First bench_codec's table: each payload raw and compressed, by several makers,
levels and decoders of the one format. Then whole hits through the layers, in
fresh processes, with CKCACHE_COMPRESSION none, auto and 6, beside the driver's
load from its own binary. The drivers' own caches are on and warm, as they are
for applications: that makes their loads quickest, and compression dearest.
Times are the processor's, so that other work on the machine shows least, but
for the cold ones.
Given files, it measures these alone.
"""
import argparse
import glob
import os
import sys

from bench import DARKTABLE, PROGRAMS, end_of, take_turns
from harness import DRIVERS, Bench, Failure, median
from level_zero import LevelZero, make_module

WAYS = ["none", "auto", "6"]


class Subject:
    """One program on one driver: its payload, its driver's load and its hits, each in seconds."""

    def __init__(self, name, payload, load, hits, stored):
        self.name = name
        self.payload = payload
        self.load = load
        self.hits = hits
        self.stored = stored


def stored_file(cache, what):
    found = glob.glob(os.path.join(cache, "*/*/*/*/0.bin"))
    if len(found) != 1:
        raise Failure("%s: %d entries where one was expected" % (what, len(found)))
    return found[0]


def settings(level):
    return {"CKCACHE_COMPRESSION": level, "BENCH_PROCESSOR_TIME": "1"}


def measure(bench, name, runs, load, hit):
    """load() and hit(cache, level) give seconds; the first hit() of a cache stores."""
    caches = {way: bench.fresh_dir("cache-" + way) for way in WAYS}
    for way, cache in caches.items():
        hit(cache, way)
    before = {way: bench.counters(cache) for way, cache in caches.items()}
    ways = {way: lambda way=way: hit(caches[way], way) for way in WAYS}
    ways["load"] = load
    times = take_turns(ways, runs)
    for way, cache in caches.items():
        bench.expect_hits(before[way], cache, runs, name + ", " + way)
    best = {way: median(values) for way, values in times.items()}
    files = {way: stored_file(cache, name) for way, cache in caches.items()}
    return Subject(name, files["none"], best.pop("load"), best,
                   {way: os.path.getsize(path) for way, path in files.items()})


def measure_driver(bench, driver, program, runs):
    path, options = program
    own, work = bench.fresh_dir("own"), bench.fresh_dir("work")
    binary = os.path.join(bench.work, driver.name + "-" + os.path.basename(path))

    def client(mode, what, cache=None, level="none"):
        env = bench.environment(driver, own, vendor=True, cache=cache, extra=settings(level))
        return bench.time_client(mode, what, env, work)

    client("save", [path, binary] + options)
    client("binary", [binary] + options)
    return measure(bench, "%s, %s" % (driver.name, os.path.basename(path)), runs,
                   lambda: client("binary", [binary] + options),
                   lambda cache, level: client("source", [path] + options, cache, level))


def measure_module(bench, size, runs):
    path, native = make_module(bench, size), os.path.join(bench.work, size + ".native")
    if path is None:
        return None
    bench.run([bench.client, "save", path, native], bench.level_zero_environment(), bench.work)
    return measure(bench, "Level Zero, %s module" % size, runs,
                   lambda: bench.time_module("native", native, extra=settings("none"))[0],
                   lambda cache, level: bench.time_module(
                       "spirv", path, cache=cache, extra=settings(level))[0])


def show_payload(bench, command, path, name, rounds, load=None):
    """One table; times as multiples of the raw hit, and of the driver's load where it is known."""
    text = bench.run([command, str(rounds), bench.fresh_dir("stored"), path],
                     {"PATH": os.environ["PATH"]}, bench.work)
    rows = [line.split()[-10:] for line in text.strip().splitlines()]
    raw = next(row for row in rows if row[0] == "none")
    raw_ns, raw_cold_ns, length = float(raw[8]), float(raw[9]), int(raw[3])
    print("\n%s: %d bytes; read raw %.0f us, cold %.0f us%s" % (
        name, length, raw_ns / 1e3, raw_cold_ns / 1e3,
        "; the driver loads it in %.0f us" % (load * 1e6) if load else ""))
    print("  %-14s %-10s %8s %14s %10s %10s %10s" % (
        "encoder, level", "decoder", "stored", "encode ns/byte", "hit / raw", "cold / raw",
        "added/load" if load else ""))
    for maker, level, decoder, _, stored, encode, _, _, hit, cold in rows:
        added = (float(hit) - raw_ns) / 1e9
        print("  %-14s %-10s %7.1f%% %14.1f %10.2f %10.2f %10s" % (
            maker if maker == "none" else "%s %s" % (maker, level), decoder,
            100.0 * int(stored) / length, float(encode) / length, float(hit) / raw_ns,
            float(cold) / raw_cold_ns, "%.3f" % (added / load) if load else ""), flush=True)


def show_hits(subjects):
    print("\nWhole hits in fresh processes, as multiples of the driver's own load; stored size of raw")
    print("  %-28s %9s %10s %9s %7s %7s %7s %9s %9s" % (
        "", "bytes", "load", "ns/byte", *WAYS, "auto", "6"))
    for one in subjects:
        raw = one.stored["none"]
        print("  %-28s %9d %7.2f ms %9.1f %7.2f %7.2f %7.2f %8.0f%% %8.0f%%" % (
            one.name, raw, one.load * 1e3, one.load * 1e9 / raw,
            *(one.hits[way] / one.load for way in WAYS),
            *(100.0 * one.stored[way] / raw for way in WAYS[1:])))


def measure_all(build, work, runs, names, parts):
    bench, subjects = Bench(build, work), []
    programs = [PROGRAMS["small"]] + [(os.path.join(DARKTABLE, name), ["-I" + DARKTABLE])
                                      for name in ("soften.cl", "blendop.cl", "basic.cl")]
    for driver in DRIVERS:
        if driver.icd is None or driver.name.lower() not in names:
            continue
        for program in programs:
            # Asking pocl for a large binary takes minutes.
            if driver.name != "pocl" or not program[0].endswith("blendop.cl"):
                subjects.append(measure_driver(bench, driver, program, runs))
                print("measured " + subjects[-1].name, flush=True)
    if "level-zero" in names and glob.glob("/usr/lib/*/libze_intel_gpu.so.1"):
        modules = LevelZero(build, os.path.join(work, "modules"))
        os.makedirs(modules.work)
        for size in ("small", "medium", "large"):
            subjects += filter(None, [measure_module(modules, size, runs)])
    for one in subjects if "payloads" in parts else []:
        show_payload(bench, os.path.join(build, "bin", "bench_codec"), one.payload, one.name, runs,
                     one.load)
    if "hits" in parts:
        show_hits(subjects)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True, help="build directory")
    parser.add_argument("--runs", type=int, default=15, help="fresh processes per figure (15)")
    parser.add_argument("--drivers", default="neo,rusticl,pocl,level-zero",
                        help="a comma-separated choice")
    parser.add_argument("--parts", default="payloads,hits", help="a choice of these")
    parser.add_argument("files", nargs="*", help="payloads, or <n>.bin that hold one raw")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    command = os.path.join(build, "bin", "bench_codec")

    def measure_wanted(work):
        if not os.path.exists(command):
            raise Failure("bench_codec is missing: it needs zlib1g-dev")
        for path in options.files:
            show_payload(Bench(build, work), command, os.path.abspath(path),
                         os.path.basename(path), options.runs)
        if not options.files:
            measure_all(build, work, options.runs, options.drivers.lower().split(","),
                        options.parts.split(","))

    return end_of(measure_wanted)


if __name__ == "__main__":
    sys.exit(main())
