# SPDX-License-Identifier: MIT
"""What a process that stored nothing does as it ends.

  exit_calls.py BUILD

The stub's client has one hit, or two, and ends: it may make so many calls of the kernel, none of
them a look into /proc, and starts no thread. Calls can be counted; their time is a benchmark's.
"""
import os
import re
import subprocess
import sys
import tempfile

# Of a root that is opened once, the days of use, a line of statistics, and an access time that is
# written to a file that is looked at when it is opened.
MOST_CALLS, MOST_OF_ONE = 24, 18
# The first one after a store also makes the file of these lines.
MOST_OF_FIRST = 12


def calls_at_exit(build, work, programs):
    env = {"PATH": os.environ["PATH"], "HOME": work, "OCL_ICD_VENDORS": work + "/vendors",
           "CKCACHE_DIR": work + "/cache", "OPENCL_LAYERS": build + "/lib/libckcache_opencl.so",
           "CKCACHE_READ_ONLY_DIRS": "", "CKCACHE_EXIT_WAIT": "20000",	# a busy machine's
           "LD_PRELOAD": build + "/lib/libexit_calls.so", "EXIT_CALLS": work + "/calls"}
    if "CKCACHE_TEST_LOADER_DIR" in os.environ:
        env["LD_LIBRARY_PATH"] = os.environ["CKCACHE_TEST_LOADER_DIR"]
    subprocess.run([build + "/bin/soak_client"] + ["build=%d" % i for i in programs], env=env, cwd=work,
                   check=True, stdout=subprocess.DEVNULL, timeout=60)
    with open(work + "/calls", encoding="ascii") as file:
        return {name: int(number) for name, number in re.findall(r"(\w+) (\d+)", file.read())}


def make_old(work):
    """As of entries that were used some time ago."""
    count = 0
    for folder, _, names in os.walk(work + "/cache"):
        for name in names:
            if name.endswith("_access_time.txt"):
                with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                    file.write("1000000000000000000\n")
                count += 1
    return count


def main():
    build = os.path.abspath(sys.argv[1])
    bad = []
    with tempfile.TemporaryDirectory(prefix="ckcache-exit-") as work:
        os.mkdir(work + "/vendors")
        with open(work + "/vendors/stub.icd", "w", encoding="utf-8") as icd:
            icd.write(build + "/lib/libstub_driver.so\n")
        cold = calls_at_exit(build, work, [1, 2])
        print("cold: %s" % cold)
        if cold["calls"] == 0:
            bad.append("nothing was counted")
        first = calls_at_exit(build, work, [1])
        print("first hit: %s" % first)
        if first["calls"] > MOST_CALLS + MOST_OF_ONE + MOST_OF_FIRST or first["proc"] or first["threads"]:
            bad.append("too much at the first exit: %s" % first)
        for programs in ([1], [1, 2]):
            for old in (False, True):
                entries = make_old(work) if old else 2
                if entries != 2:
                    sys.exit("there are %d entries, not 2" % entries)
                calls = calls_at_exit(build, work, programs)
                print("%d hits%s: %s" % (len(programs), ", used long ago" if old else "", calls))
                if calls["calls"] > MOST_CALLS + MOST_OF_ONE * len(programs) or calls["proc"] or calls["threads"]:
                    bad.append("too much at exit: %s" % calls)
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
