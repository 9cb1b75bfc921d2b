# SPDX-License-Identifier: MIT
"""docs/DRIVERS.md: what a second run has of ckcache on each OpenCL driver of this machine.

Every driver's own cache is as it is by default. "Second run": after a process has built the small
program, and, if need be, after the helper that such a process starts has ended, does a process like
it build nothing? Each cell is measured; what cannot be measured here says so. See docs/TESTING.md.
"""
import datetime
import glob
import os
import platform
import re
import shutil
import sys
import time

from bench import end_of, pairs, parser_of, runs_of, seconds, take_turns
from harness import KNOWN, Bench, Driver, Failure, driver_file, median

SMALL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "small.cl")
WAIT_S = 60	# for a helper's end
CELLS = ("driver", "second run", "link", "two devices", "hit", "its own cache", "loading", "without",
         "process: hit; its own cache", "miss / without")
AMD = "/usr/l*/*/libamdocl64.so"	# two devices without hardware: tests/opencl/offline_amd.c
OTHERS = {"amd": (AMD, {"OFFLINE_AMD_DEVICES": "gfx1100 gfx1030"})}
NAMES = {"neo": "NEO", "rusticl": "rusticl", "pocl": "pocl", "oclgrind": "oclgrind", "nvidia": "NVIDIA", "amd": "AMD"}


class Row:
    """One driver, and the directories of its ways."""

    def __init__(self, bench, name, library):
        self.bench = bench
        self.driver = Driver(NAMES.get(name, name), "no such file", {
            key: value for key, value in {**KNOWN, **OTHERS}[name][1].items() if key != "NEO_CACHE_PERSISTENT"})
        self.library = library
        self.homes = {way: bench.fresh_dir(way) for way in ("own", "hit")}
        self.cache = bench.fresh_dir("cache")

    def environment(self, home, cache=None):
        """The driver's own cache is below home; Mesa asks the user's account, unless a variable says so."""
        os.makedirs(os.path.join(home, ".cache"), exist_ok=True)	# as in every home; NEO does not make it
        own = {"HOME": home, "XDG_CACHE_HOME": os.path.join(home, ".cache"),
               "CKCACHE_REMOTE_HELPERS": os.path.join(self.bench.build, "bin")}	# what builds in the background
        return self.bench.environment(self.driver, home, None, cache, own, self.library)

    def run(self, mode, home, cache=None, arguments=(SMALL,)):
        """What the driver's calls took, and the whole process."""
        env = self.environment(home, cache)
        began = time.monotonic()
        took = self.bench.time_client(mode, list(arguments), env, home)
        return took, time.monotonic() - began

    def version(self):
        home = self.bench.fresh_dir("home")
        text = self.bench.run([self.bench.client, "version"], self.environment(home), home).strip().splitlines()[-1]
        count, _, name = text.partition(" ")
        return int(count), name

    def second_run(self, mode, home, cache):
        """Whether it builds nothing, or why."""
        try:
            self.run(mode, home)
        except Failure as failure:
            return "the driver fails: " + str(failure).splitlines()[-1][:60]
        shutil.rmtree(home)
        os.mkdir(home)
        self.run(mode, home, cache)
        since = time.monotonic()
        while True:
            waited = time.monotonic() - since
            before = self.bench.counters(cache)
            self.run(mode, home, cache)
            after = self.bench.counters(cache)
            hits = sum(after[name] - before[name] for name in ("hits_memory", "hits_disk"))
            why = [name for name, count in after["reasons"].items() if count > before["reasons"].get(name, 0)]
            if hits and after["misses"] == before["misses"] and not why:
                return "hits" if waited < 1 else "hits after %.0f s" % waited
            if waited > WAIT_S or why:
                return "builds" + (" (%s)" % ", ".join(sorted(why)) if why else "")
            time.sleep(2)

    def without(self, layer=False):
        """Nothing is cached before."""
        home = self.bench.fresh_dir("home")
        cache = self.bench.fresh_dir("cold") if layer else None
        try:
            return self.run("source", home, cache)[0]
        finally:
            shutil.rmtree(home)
            if cache:
                shutil.rmtree(cache)

    def loading(self, binary):
        home = self.bench.fresh_dir("home")
        try:
            return self.run("binary", home, None, (binary,))
        finally:
            shutil.rmtree(home)

    def cells(self, runs):
        count, version = self.version()
        second = self.second_run("source", self.homes["hit"], self.cache)
        link = self.second_run("link", self.bench.fresh_dir("home"), self.bench.fresh_dir("cache"))
        two = (self.second_run("two", self.bench.fresh_dir("home"), self.bench.fresh_dir("cache"))
               if count > 1 else "unknown: it has one here")
        binary = os.path.join(self.bench.work, self.driver.name + ".bin")
        first = self.run("save", self.bench.fresh_dir("home"), None, (SMALL, binary))[0]
        self.run("source", self.homes["own"])
        times = take_turns({
            "hit": lambda: self.run("source", self.homes["hit"], self.cache),
            "own": lambda: self.run("source", self.homes["own"]),
            "loading": lambda: self.loading(binary),
            "without": lambda: (self.without(), 0),
        }, runs, {"without": runs_of(first, runs)})
        calls = {way: median([took for took, _ in found]) for way, found in times.items()}
        whole = {way: median([took for _, took in found]) for way, found in times.items()}
        miss = median([miss / bare for miss, bare in pairs(self.without, runs_of(first, runs))])
        return ("%s %s" % (self.driver.name, version), second, link, two,
                seconds(calls["hit"]) if second.startswith("hits") else "no hit",
                seconds(calls["own"]), seconds(calls["loading"]), seconds(calls["without"]),
                "%s; %s" % (seconds(whole["hit"]), seconds(whole["own"])), "%.2f" % miss)


def heading():
    """The section's: one for a release and an architecture."""
    name = platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    return "## %s, %s" % (name, platform.machine())


def machine():
    with open("/proc/cpuinfo", encoding="utf-8") as source:
        found = re.search(r"^model name\s*: (.*)", source.read(), re.M)
    return "%s; %d x %s" % (datetime.date.today(), os.cpu_count(), found.group(1) if found else "unknown processor")


def replace(path, section):
    """Puts it in the place of the section with the same heading, or at the end."""
    with open(path, encoding="utf-8") as source:
        parts = re.split(r"^(?=## )", source.read(), flags=re.M)
    title = section.splitlines()[0]
    at = [number for number, part in enumerate(parts) if part.splitlines()[:1] == [title]]
    parts = [section if number in at else part for number, part in enumerate(parts)]
    if not at:
        parts[-1] = parts[-1].rstrip("\n") + "\n\n"
        parts.append(section)
    with open(path, "w", encoding="utf-8") as target:
        target.write("".join(parts).rstrip("\n") + "\n")


def main():
    parser = parser_of(__doc__)
    names = ",".join((*KNOWN, *OTHERS))
    parser.add_argument("--drivers", default=names, help="a choice of " + names)
    parser.add_argument("--write", metavar="FILE", help="put the section into this page too")
    options = parser.parse_args()
    runs = 2 if options.smoke else options.runs
    names = options.drivers.lower().split(",")
    found = {name: driver_file(name) for name in KNOWN if name in names}
    if "amd" in names:
        found["amd"] = os.path.join(os.path.abspath(options.build), "lib", "liboffline_amd.so") if glob.glob(AMD) else None
    if not any(found.values()):
        print("no driver is installed")
        return 77

    def measure(work):
        bench = Bench(os.path.abspath(options.build), work)
        rows = [CELLS, ["---"] * len(CELLS)]
        for name, library in found.items():
            if library is None:
                print("%s is not installed and is left out" % name, file=sys.stderr)
                continue
            print("%s ..." % name, file=sys.stderr, flush=True)
            rows.append(Row(bench, name, library).cells(runs))
        section = "%s\n%s. Medians of %d processes.\n\n%s\n\n" % (
            heading(), machine(), runs, "\n".join("| %s |" % " | ".join(row) for row in rows))
        print(section, end="")
        if options.write:
            replace(options.write, section)
        return 0

    return end_of(measure)


if __name__ == "__main__":
    sys.exit(main())
