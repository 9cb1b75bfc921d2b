# SPDX-License-Identifier: MIT
"""No thread is ever the cache's, whatever comes of a build.

  no_threads.py BUILD [LEVEL-ZERO-DRIVER]
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from environment import counted, drivers, level_zero, made, opencl, stub_driver  # noqa: E402

# By API: the program, what it needs, which line of the driver's counts is a compilation, and which
# variable makes the driver refuse a stored binary.
APIS = {
    "opencl": (["opencl_client", "-n", "vector"],
               lambda build, work: {**opencl(build), **drivers(work, stub_driver(build))},
               "build-source", "STUB_REFUSE_BINARY"),
    "level_zero": (["level_zero_client", "driver=0", "il=one", "create"],
                   lambda build, work: level_zero(build, sys.argv[2]), "compile", "STUB_REFUSE_NATIVE"),
}
# What comes of it; whether the driver compiles; whether the cache is as the last one left it, and more
# variables. "remote" is another machine's, with the entries that "store" uploaded.
CASES = (
    ("store", True, False, {"CKCACHE_REMOTE": "file:{work}/shared"}),
    ("hit", False, True, {}),
    ("refused", True, True, {"{refuse}": "1"}),
    ("remote", False, False, {"CKCACHE_REMOTE": "file:{work}/shared"}),
    ("full", True, False, {"NO_SPACE": "{work}/cache"}),
    ("miss", True, False, {}),
)


def run(build, work, api, more):
    """(times that the driver compiled, {word: number} of process_calls.c)."""
    command, own, compiled, refuse = APIS[api]
    env = made(work, work + "/cache", CKCACHE_REMOTE_HELPERS=build + "/bin",
               STUB_COUNTS=work + "/counts", PROCESS_CALLS=work + "/threads", **own(build, work),
               **{name.format(refuse=refuse): value.format(work=work) for name, value in more.items()})
    env["LD_PRELOAD"] = ":".join(filter(None, (build + "/lib/libprocess_calls.so", env.get("LD_PRELOAD"))))
    for name in ("counts", "threads"):
        if os.path.exists(work + "/" + name):
            os.unlink(work + "/" + name)
    subprocess.run([build + "/bin/" + command[0]] + command[1:], env=env, cwd=work, check=True,
                   stdout=subprocess.DEVNULL, timeout=60)
    with open(work + "/threads", encoding="ascii") as file:
        numbers = {name: int(number) for name, number in re.findall(r"(\w+) (\d+)", file.read())}
    return counted(work + "/counts", compiled), numbers


def wait_for_upload(work):
    """Of the helper that the client left behind."""
    for _ in range(3000):
        if any("." not in name for _, _, names in os.walk(work + "/shared") for name in names):
            return
        subprocess.run(["sleep", "0.1"], check=True)


def check(build, work, api):
    os.mkdir(work + "/shared", 0o700)
    for name, compiles, keeps, more in CASES:
        if not keeps:
            shutil.rmtree(work + "/cache", ignore_errors=True)
        count, threads = run(build, work, api, more)
        if name == "store":
            wait_for_upload(work)
        print("%s, %s: compiled %d, %s" % (api, name, count, threads))
        if bool(count) != compiles:
            yield "%s, %s: not what it should be" % (api, name)
        if threads["made"] or threads["there"] != 1:
            yield "%s, %s: there are threads" % (api, name)
        if bool(threads["refused"]) != ("NO_SPACE" in more):
            yield "%s, %s: the disk is not as it should be" % (api, name)


def main():
    build = os.path.abspath(sys.argv[1])
    bad = []
    for api in list(APIS)[:len(sys.argv) - 1]:
        with tempfile.TemporaryDirectory(prefix="ckcache-threads-") as work:
            bad += check(build, work, api)
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
