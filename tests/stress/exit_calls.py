# SPDX-License-Identifier: MIT
"""What a process does for the cache as it ends: nothing, whether it has stored or found something.

  exit_calls.py BUILD
"""
import os
import re
import subprocess
import sys
import tempfile

def calls_at_exit(build, work, programs):
    env = {"PATH": os.environ["PATH"], "HOME": work, "OCL_ICD_VENDORS": work + "/vendors",
           "CKCACHE_DIR": work + "/cache", "OPENCL_LAYERS": build + "/lib/libckcache_opencl.so",
           "CKCACHE_READ_ONLY_DIRS": "",
           "LD_PRELOAD": build + "/lib/libexit_calls.so", "EXIT_CALLS": work + "/calls"}
    if "CKCACHE_TEST_LOADER_DIR" in os.environ:
        env["LD_LIBRARY_PATH"] = os.environ["CKCACHE_TEST_LOADER_DIR"]
    subprocess.run([build + "/bin/soak_client"] + ["build=%d" % i for i in programs], env=env, cwd=work,
                   check=True, stdout=subprocess.DEVNULL, timeout=60)
    with open(work + "/calls", encoding="ascii") as file:
        return {name: int(number) for name, number in re.findall(r"(\w+) (\d+)", file.read())}


def main():
    build = os.path.abspath(sys.argv[1])
    bad = []
    with tempfile.TemporaryDirectory(prefix="ckcache-exit-") as work:
        os.mkdir(work + "/vendors")
        with open(work + "/vendors/stub.icd", "w", encoding="utf-8") as icd:
            icd.write(build + "/lib/libstub_driver.so\n")
        for what, programs in (("cold", [1, 2]), ("one hit", [1]), ("two hits", [1, 2]), ("mixed", [2, 3])):
            calls = calls_at_exit(build, work, programs)
            print("%s: %s" % (what, calls))
            bad += ["%s: something is done at exit" % what] if any(calls.values()) else []
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
