# SPDX-License-Identifier: MIT
"""What a process does for the cache as it ends: nothing, whether it has stored or found something.

  exit_calls.py BUILD
"""
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from environment import drivers, made, opencl, stub_driver  # noqa: E402


def calls_at_exit(build, work, programs):
    env = made(work, work + "/cache", LD_PRELOAD=build + "/lib/libprocess_calls.so", PROCESS_CALLS=work + "/calls",
               **opencl(build), **drivers(work, stub_driver(build)))
    subprocess.run([build + "/bin/soak_client"] + ["build=%d" % i for i in programs], env=env, cwd=work,
                   check=True, stdout=subprocess.DEVNULL, timeout=60)
    with open(work + "/calls", encoding="ascii") as file:
        return {name: int(number) for name, number in re.findall(r"(\w+) (\d+)", file.read())}


def main():
    build = os.path.abspath(sys.argv[1])
    bad = []
    with tempfile.TemporaryDirectory(prefix="ckcache-exit-") as work:
        for what, programs in (("cold", [1, 2]), ("one hit", [1]), ("two hits", [1, 2]), ("mixed", [2, 3])):
            calls = calls_at_exit(build, work, programs)
            print("%s: %s" % (what, calls))
            bad += ["%s: something is done at exit" % what] if any(calls[name] for name in ("exit", "proc", "late")) else []
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
