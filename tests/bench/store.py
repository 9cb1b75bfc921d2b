# SPDX-License-Identifier: MIT
"""The store's benchmark: many entries, eviction, many processes at once, storing.

Each requirement is a ratio of two things measured in turns in one run, over
bench_store, which uses cachecore as a layer does. Two cores are enough, and
some 4 GB of disk for 100,000 entries. See docs/TESTING.md.
"""
import json
import math
import os
import shutil
import subprocess
import sys
import time

from bench import PROGRAMS, Report, end_of, parser_of, seconds
from harness import (DRIVERS, Bench, Driver, Failure, counted, inherited, level_zero, median, quartiles,
                     stub_driver, stub_gpu)

PARTS = ["scaling", "eviction", "stampede", "storing"]
CROWD = 32
PROCESSES = 2  # that fill a store; more of them only wait for each other
TIMEOUT_S = 1800  # a million entries


class StoreBench(Bench):
    """bench_store beside what the OpenCL benchmark has."""

    def __init__(self, build, work):
        super().__init__(build, work)
        self.store = os.path.join(build, "bin", "bench_store")
        if not os.path.exists(self.store):
            raise Failure(self.store + " is missing: build with -DCKCACHE_TESTS=ON")

    def measure(self, *arguments, env=None):
        """The JSON objects of one run of bench_store, merged."""
        command = [self.store] + [str(argument) for argument in arguments]
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, cwd=self.work,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              timeout=TIMEOUT_S)
        if done.returncode != 0:
            raise Failure("%s: exit code %d\n%s" % (" ".join(command), done.returncode,
                                                    done.stderr.decode("utf-8", "replace")))
        return merged(done.stdout)

    def begin(self, *arguments):
        """Starts one that goes on until end() and has said that it is ready."""
        running = subprocess.Popen([self.store] + [str(argument) for argument in arguments],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if running.stdout.readline().strip() != b"{}":
            self.end(running)
        return running

    @staticmethod
    def end(running):
        text = running.communicate(timeout=TIMEOUT_S)[0]
        if running.returncode != 0:
            raise Failure("bench_store: exit code %d" % running.returncode)
        return merged(text)


def merged(text):
    values = {}
    for line in text.decode("ascii").splitlines():
        if line.startswith("{"):
            values.update(json.loads(line))
    return values


def count_entries(root):
    return sum(name.endswith(".src") for _, _, names in os.walk(root) for name in names)


def size_of(root):
    with open(os.path.join(root, "cache_size.txt"), encoding="ascii") as file:
        return int(file.read())


def fill(bench, report, count):
    root = bench.fresh_dir("store-%d" % count)
    took = bench.measure("fill", root, count, PROCESSES)["ns"] / 1e9
    report.line("filled: %d entries" % count, seconds(took), "%.0f entries/s by %d processes, %.2f GB" % (
        count / took, PROCESSES, size_of(root) / 1e9))
    age(root)
    return root


def age(root):
    """As if filled an hour ago: uses are noted once an hour."""
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith(".bin"):
                path = os.path.join(folder, name)
                used = os.stat(path).st_mtime_ns - 3600 * 10**9
                os.utime(path, ns=(used, used))


def drop_caches(what):
    """False: not allowed to."""
    try:
        os.sync()
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
            file.write(what)
    except OSError:
        return False
    return True


def show_growth(report, name, times, counts):
    """Each count's median over the smallest's; and what a million has by the worse of two models."""
    base = median(times[counts[0]])
    for count in counts:
        low, high = quartiles(times[count])
        report.line("%s, %d entries" % (name, count), seconds(median(times[count])),
                    "%.3f x   (%d processes, middle half %s to %s)" % (
                        median(times[count]) / base, len(times[count]), seconds(low),
                        seconds(high)))
    return base


def ratio_of(times, large, small):
    """Within rounds, so that what the machine does meanwhile hits both."""
    return median([a / b for a, b in zip(times[large], times[small])])


def extrapolate(times, counts, to):
    """Least squares of the ratio over the logarithm of the count: a tree gets deeper by it."""
    points = [(math.log10(count), median(times[count]) / median(times[counts[0]]))
              for count in counts]
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    slope = (sum((x - mean_x) * (y - mean_y) for x, y in points) /
             sum((x - mean_x) ** 2 for x, _ in points))
    return mean_y + slope * (math.log10(to) - mean_x), slope


def measure_scaling(bench, report, roots, runs):
    counts = sorted(roots)
    first = {count: [] for count in counts}
    later = {count: [] for count in counts}
    cold = {count: [] for count in counts}
    for i in range(runs):
        for count in counts[i % len(counts):] + counts[:i % len(counts)]:
            for number in range(5):
                first[count].append(bench.measure("get", roots[count], 7 * i + 131 * number, 0)["first"] / 1e9)
            later[count].append(bench.measure("get", roots[count], i, 50)["median"] / 1e9)
    report.heading("Hits: the same 200 entries in stores of different sizes")
    large, small = counts[-1], counts[0]
    show_growth(report, "fresh process", first, counts)
    report.at_most("fresh process: %d / %d" % (large, small), median(first[large]) / median(first[small]), 1.1, 3)
    show_growth(report, "later in a process", later, counts)
    report.at_most("later: %d / %d" % (large, small), ratio_of(later, large, small), 1.1, 3)
    if len(counts) > 2:
        for name, times in (("fresh process", first), ("later", later)):
            expected, slope = extrapolate(times, counts, 1000000)
            report.line("%s: 1,000,000 / %d" % (name, small), "%.3f" % expected,
                        "computed: %+.3f for each factor of ten" % slope)
    if not report.judge:
        return
    for what, name in (("2", "no dentries, no inodes"), ("3", "nothing in memory")):
        for times in cold.values():
            times.clear()
        for i in range(max(3, runs // 2)):
            for count in counts:
                if not drop_caches(what):
                    return
                bench.measure("get", roots[small], i + 500, 0)  # the program itself is read again
                cold[count].append(bench.measure("get", roots[count], 17 * i, 0)["first"] / 1e9)
        show_growth(report, name, cold, counts)


def during(bench, arguments, work):
    """What bench_store measures while work runs, and work's own result."""
    running = bench.begin(*arguments)
    try:
        result = work()
    finally:
        measured = bench.end(running)
    return measured, result


def idle_for(duration):
    time.sleep(duration)


def show_samples(report, name, values, base):
    report.line(name, seconds(values["median"] / 1e9), "p99 %s, p99.9 %s, max %s of %d" % (
        seconds(values["p99"] / 1e9), seconds(values["p999"] / 1e9), seconds(values["max"] / 1e9),
        values["count"]))
    slow = values["slow_ran"] + values["slow_preempted"] + values["slow_slept"]
    report.line("  over twice their median", "%.4f %%" % (100 * slow / values["count"]),
                "%d preempted, %d slept in the kernel (max %s), %d neither (max %s)" % (
                    values["slow_preempted"], values["slow_slept"],
                    seconds(values["max_slept"] / 1e9), values["slow_ran"],
                    seconds(values["max_ran"] / 1e9)))
    report.line("  over the idle median", "%.2f x" % (values["median"] / base["median"]),
                "p99 %.2f x, p99.9 %.2f x, max %.1f x" % tuple(
                    values[name] / base["median"] for name in ("p99", "p999", "max")))


def judge_slow(report, evicting, idle, neighbour):
    """Over twice the median without losing the processor to another process, which is not the
    store's doing: what the idle run has of it is the machine's own."""
    shares = [100 * (values["slow_ran"] + values["slow_slept"]) / values["count"]
              for values in (evicting, idle, neighbour)]
    report.require("slow hits beyond the idle run's", "%+.3f %%" % (shares[0] - shares[1]),
                   "<= 0.1 % of all", shares[0] - shares[1] <= 0.1)
    report.line("", "", "(evicting %.3f %%, idle %.3f %%, beside a neighbour %.3f %%)" % tuple(shares))
    report.line("slow hits that waited for something", "%d of %d" % (
        evicting["slow_slept"], evicting["count"]), "idle: %d of %d" % (idle["slow_slept"],
                                                                      idle["count"]))


def measure_eviction(bench, report, root, count):
    bound = size_of(root) - 1
    evicting, evicted = during(bench, ("hits", root),
                               lambda: bench.measure("evict", root, bound))
    took = evicted["ns"] / 1e9
    idle, _ = during(bench, ("hits", root), lambda: idle_for(took))
    churn_dir = bench.fresh_dir("churn")
    neighbour, _ = during(bench, ("hits", root), lambda: during(
        bench, ("churn", churn_dir), lambda: idle_for(took)))
    left = count_entries(root)
    report.heading("Eviction of %d entries to half, while another process looks up small ones" % count)
    report.line("time", seconds(took), "%.0f entries/s looked at, %d removed, user %d ms, system %d ms" % (
        count / took, count - left, evicted["user_ms"], evicted["system_ms"]))
    report.require("half of the bound is left", "%.3f" % (size_of(root) / bound), "<= 0.5",
                   size_of(root) <= bound / 2 and left > 0.4 * count)
    report.require("the evictor's memory", "%.1f MB" % (evicted["grown_kb"] / 1e3), "<= 12 MB",
                   evicted["grown_kb"] <= 12000)
    show_samples(report, "hits, idle", idle, idle)
    show_samples(report, "hits, a neighbour makes files", neighbour, idle)
    show_samples(report, "hits, evicting", evicting, idle)
    report.at_most("hits evicting, median / idle median", evicting["median"] / idle["median"], 2)
    judge_slow(report, evicting, idle, neighbour)
    bench.measure("check", root)
    bound = size_of(root) - 1
    evicting, evicted = during(bench, ("puts", root, 10 * count),
                               lambda: bench.measure("evict", root, bound))
    took = evicted["ns"] / 1e9
    idle, _ = during(bench, ("puts", root, 20 * count), lambda: idle_for(took))
    report.heading("Puts during an eviction to half")
    show_samples(report, "puts, idle", idle, idle)
    show_samples(report, "puts, evicting", evicting, idle)


def stub_crowds(bench, delay_ms):
    """Environment, command and compile's event of both stub drivers."""
    stub = Driver("stub", "no such file", {})
    stub.icd = os.path.join(bench.work, "stub.icd")
    with open(stub.icd, "w", encoding="utf-8") as file:
        file.write(stub_driver(bench.build))
    home = bench.fresh_dir("home")
    settings = {"STUB_DELAY_MS": str(delay_ms), "STUB_COUNTS": os.path.join(home, "counts")}
    yield ("OpenCL", bench.environment(stub, home, cache=os.path.join(home, "cache"), extra=settings),
           [bench.client, "source", PROGRAMS["small"][0]], "build-source")
    client = os.path.join(bench.build, "bin", "level_zero_client")
    if not os.path.exists(client):
        return
    home = bench.fresh_dir("home")
    settings["STUB_COUNTS"] = os.path.join(home, "counts")
    env = inherited()
    env.update({"HOME": home, "LC_ALL": "C", "CKCACHE_DIR": os.path.join(home, "cache"),
                **level_zero(bench.build, stub_gpu(bench.build)), **settings})
    yield "Level Zero", env, [client, "driver=0", "il=one", "quiet"], "compile"


def run_crowd(bench, count, env, command, event=None):
    """Seconds of so many processes on a cold cache; with an event, how often it happened."""
    shutil.rmtree(env["CKCACHE_DIR"], ignore_errors=True)
    counts = env.get("STUB_COUNTS")
    if counts and os.path.exists(counts):
        os.remove(counts)
    took = bench.measure("crowd", count, *command, env=env)["ns"] / 1e9
    if not event:
        return took, bench.counters(env["CKCACHE_DIR"])["misses"]
    return took, counted(counts, event)


def measure_crowd(bench, report, name, way, runs):
    env, command, event = way
    ratios = []
    for _ in range(runs):
        alone, _ = run_crowd(bench, 1, env, command, event)
        together, compiled = run_crowd(bench, CROWD, env, command, event)
        if compiled != 1:
            raise Failure("%s: %d processes compiled %d times" % (name, CROWD, compiled))
        ratios.append(together / alone)
    report.line("%s: one alone" % name, seconds(alone), "%d together %s, one compile each time" % (
        CROWD, seconds(together)))
    report.judge_ratios("%s: %d / 1" % (name, CROWD), ratios, 1.2, 3, "runs")


def measure_stampede(bench, report, runs, delays):
    report.heading("%d processes cold on one kernel, from their start to the last one's end" % CROWD)
    for delay_ms in delays:
        for name, *way in stub_crowds(bench, delay_ms):
            measure_crowd(bench, report, "%s stub, %.1f s" % (name, delay_ms / 1e3), way,
                          runs if delay_ms < 1000 else max(3, runs // 3))


def measure_real_stampede(bench, report, runs):
    """NEO, which needs no hardware; the large program, which takes seconds to compile."""
    path, options = PROGRAMS["large"]
    neo = DRIVERS[0]
    if neo.icd is None or not os.path.exists(path):
        print("NEO or darktable's kernels are not installed")
        return
    home = bench.fresh_dir("home")
    env = bench.environment(neo, home, cache=os.path.join(home, "cache"))
    report.heading("%d processes cold on one kernel: NEO, %s" % (CROWD, os.path.basename(path)))
    measure_crowd(bench, report, "NEO", (env, [bench.client, "source", path] + options, None), runs)


def measure_storing(bench, report, runs):
    report.heading("Storing: what a call that compiled writes, over its entry alone")
    root = bench.fresh_dir("storing")
    bench.measure("fill", root, 100, 1)
    for name, length in (("5 kB", 5000), ("100 kB", 100000), ("2 MB", 2000000), ("20 MB", 20000000)):
        rows = [bench.measure("write", root, length, 1000000 * (i + 1) + length // 1000, 40 if length < 10**7 else 5)
                for i in range(runs)]
        report.line(name, seconds(median([row["all"] for row in rows]) / 1e9),
                    "the entry alone %s; a process's first %s" % tuple(
                                seconds(median([row[way] for row in rows]) / 1e9) for way in ("entry", "first")))


def measure_all(bench, report, options):
    entries = options.entries
    parts = options.parts.split(",")
    roots = {}
    if "scaling" in parts or "eviction" in parts:
        report.heading("Stores")
        for count in ([max(1000, entries // 100), max(1000, entries // 10)]
                      if "scaling" in parts else []) + [entries]:
            if count not in roots:
                roots[count] = fill(bench, report, count)
    if "scaling" in parts:
        measure_scaling(bench, report, roots, options.runs)
    if "eviction" in parts:
        measure_eviction(bench, report, roots[entries], entries)
    if "stampede" in parts:
        measure_stampede(bench, report, options.runs, (300,) if options.smoke else (300, 2000))
    if "neo" in parts:
        measure_real_stampede(bench, report, max(3, options.runs // 5))
    if "storing" in parts:
        measure_storing(bench, report, options.runs)


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--entries", type=int, default=100000, help="in the large store (100000)")
    parser.add_argument("--parts", default=",".join(PARTS),
                        help="a choice of %s, and neo" % ",".join(PARTS))
    parser.add_argument("--dir", help="where the stores are made; the temporary directory")
    options = parser.parse_args()
    unknown = set(options.parts.split(",")) - set(PARTS + ["neo"])
    if unknown:
        parser.error("unknown part: %s" % ", ".join(sorted(unknown)))
    report = Report(judge=not options.smoke)
    if options.smoke:
        options.entries, options.runs = 2000, 1
    return end_of(lambda work: measure_all(StoreBench(os.path.abspath(options.build), work), report, options),
                  report, options.dir)


if __name__ == "__main__":
    sys.exit(main())
