# SPDX-License-Identifier: MIT
"""What every measurement shares: drivers, clean environments, fresh processes, counters.

A driver is chosen by OCL_ICD_VENDORS, the layer by OPENCL_LAYERS, and nothing
of the caller's environment reaches the measured process but PATH, the library
path and a sanitizer's options. Knows nothing of what is measured or required.
"""
import glob
import json
import os
import statistics
import subprocess
import sys

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from environment import DRIVERS as KNOWN  # noqa: E402
from environment import (counted, driver_file, drivers, level_zero, made, opencl, stub_driver,  # noqa: E402,F401
                         stub_gpu)

INHERITED = ("PATH", "LD_LIBRARY_PATH", "TSAN_OPTIONS")
TIMEOUT_S = 900  # the longest single step is pocl's binary of a large program, half a minute


class Failure(Exception):
    """A step of the benchmark did not do what it had to."""


class Driver:
    """An OpenCL driver, with its own cache switched on or off."""

    def __init__(self, name, icd_pattern, env, capture="auto"):
        found = sorted(glob.glob("/etc/OpenCL/vendors/" + icd_pattern))
        self.name = name
        self.icd = found[0] if found else None
        self.env = env
        self.capture = capture

    def vendor_cache(self, home, enabled):
        """The variables that switch the driver's own cache; its files lie in home.

        NEO until 2023 has no variable for it: a directory cl_cache in the
        working directory, which is home, switches it on. pocl always has one:
        off means that the caller gives a home that is empty.
        """
        if self.name == "NEO":
            if not enabled:
                return {"NEO_CACHE_PERSISTENT": "0"}
            os.makedirs(os.path.join(home, "cl_cache"), exist_ok=True)
            return {"NEO_CACHE_DIR": home}
        if self.name == "rusticl":
            return {"MESA_SHADER_CACHE_DIR": home} if enabled else {
                "MESA_SHADER_CACHE_DISABLE": "true"}
        if self.name == "pocl":
            return {"POCL_CACHE_DIR": home}
        return {}


DRIVERS = [
    # With the cache that vendor_cache() says.
    Driver("NEO", "intel.icd", {name: value for name, value in KNOWN["neo"][1].items()
                                if name != "NEO_CACHE_PERSISTENT"}),
    Driver("rusticl", "rusticl.icd", KNOWN["rusticl"][1]),
    Driver("pocl", "pocl.icd", KNOWN["pocl"][1], capture="eager"),
]


class Bench:
    """The build under test and a temporary directory that the caller removes."""

    def __init__(self, build, work):
        self.build = build
        self.client = os.path.join(build, "bin", "bench_client")
        self.memory_bench = os.path.join(build, "bin", "bench_memory")
        self.command = os.path.join(build, "bin", "ckcache")
        self.layer = os.path.join(build, "lib", "libckcache_opencl.so")
        self.work = work
        self.count = 0
        for path in (self.client, self.command, self.layer):
            if not os.path.exists(path):
                raise Failure(path + " is missing: build with -DCKCACHE_TESTS=ON")

    def fresh_dir(self, name):
        """An empty directory that nobody used before."""
        self.count += 1
        path = os.path.join(self.work, "%s-%d" % (name.replace(" ", "-"), self.count))
        os.makedirs(path)
        return path

    def environment(self, driver, home, vendor=False, cache=None, extra=None, library=None):
        """cache: the layer is on, with this directory; None: no layer. vendor: whether the driver's own
        cache is on; None: as it is by default. library: the driver's, if it has no icd.
        """
        if library is None:
            with open(driver.icd, encoding="utf-8") as source:
                library = source.read().strip()
        env = inherited()
        env.update({"HOME": self.work, "TMPDIR": self.work, "LC_ALL": "C",
                    **drivers(os.path.join(self.work, "driver-" + driver.name), library)})
        env.update(driver.env)
        if vendor is not None:
            env.update(driver.vendor_cache(home, vendor))
        if cache is not None:
            env.update(OPENCL_LAYERS=self.layer, CKCACHE_DIR=cache, CKCACHE_CAPTURE=driver.capture)
        env.update(extra or {})
        return env

    @staticmethod
    def run(arguments, env, cwd):
        """stdout and stderr together of a fresh process; Failure unless it exits 0."""
        try:
            done = subprocess.run(arguments, env=env, cwd=cwd, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                                  timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise Failure("%s: timed out" % arguments[0]) from error
        text = done.stdout.decode("utf-8", "replace")
        if done.returncode != 0:
            raise Failure("%s: exit code %d\n%s" % (" ".join(arguments), done.returncode,
                                                   text[-2000:]))
        return text

    def time_client(self, mode, arguments, env, cwd):
        """Seconds that the client measured; for inprocess, the two of them."""
        last = self.run([self.client, mode] + arguments, env, cwd).strip().splitlines()[-1]
        try:
            values = [int(word) / 1e9 for word in last.split()]
        except ValueError as error:
            raise Failure("bench_client said: " + last) from error
        return values if len(values) > 1 else values[0]

    def counters(self, cache):
        """What `ckcache stats --json` says of this directory; bypasses summed up."""
        env = inherited()
        env.update({"CKCACHE_DIR": cache, "HOME": self.work})
        counted = json.loads(self.run([self.command, "stats", "--json"], env, self.work))
        counted["reasons"] = counted["bypasses"]
        counted["bypasses"] = sum(counted["bypasses"].values())
        return counted

    def expect_hits(self, before, cache, hits, what):
        """Failure unless since before there were this many hits and nothing was built."""
        after = self.counters(cache)
        gained = {name: after[name] - before[name]
                  for name in ("hits_memory", "hits_disk", "misses", "bypasses", "errors")}
        if (gained["hits_memory"] + gained["hits_disk"] < hits or gained["misses"] or
                gained["bypasses"] or gained["errors"]):
            raise Failure("%s: expected %d hits and nothing else, counted %s, %s" %
                          (what, hits, gained, after["reasons"]))


def inherited():
    """What a measured process has of this one's environment."""
    return {name: os.environ[name] for name in INHERITED if name in os.environ}


def median(values):
    return statistics.median(values)


def quartiles(values):
    """The middle half, to show how much the machine wavered."""
    if len(values) < 4:
        return min(values), max(values)
    cut = statistics.quantiles(values, n=4)
    return cut[0], cut[2]
