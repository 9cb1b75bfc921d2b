# SPDX-License-Identifier: MIT
"""Whether whatever a bare driver's compiler looks for is in the manifest that the layer makes of the same build.

  python3 tests/opencl/judge_files.py BUILD DRIVER [--rounds N] [--seed N] [--library FILE]

For each of the fuzzer's sources (fuzz_files.py) the bare driver builds once
under strace, another program's eyes, and the layer once with an empty cache.
Each path that the first one asked for and got an answer to, absent ones too,
must be among the second one's dependencies. Not those that the process made
itself, shared libraries, which are in the key, the driver's own cache, what lies
below an absent directory, devices, and /proc and /sys. Exit code: 0 if nothing is missing;
77: no strace, or no such driver.
"""
import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from fuzz_files import Round, Server, driver_file, drivers  # noqa: E402

CALL = re.compile(r'^(?:\[pid +\d+\] |\d+ +)?(\w+)\((.*)\) += (-?\d+)(?: (\w+))?')
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"(?:\.\.\.)?')
LOOKS = {"open", "openat", "openat2", "stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2"}
MAKES = {"mkdir", "rename", "renameat", "renameat2", "creat", "symlink", "link"}
ABSENT = {"ENOENT", "ENOTDIR"}
# Drivers' own caches, by names that tell what they hold (drivers.c).
CACHED = re.compile(r"\.cl_cache$|/mesa_shader_cache[^/]*/[0-9a-f]{2}/")


def text_of(quoted):
    """As strace writes strings with -xx: bytes in hexadecimal."""
    return bytes.fromhex(quoted.replace("\\x", "")).decode("utf-8", "surrogateescape")


def joined(lines):
    """Calls that strace shows in two parts, as one line each, with the thread's number."""
    begun = {}
    for line in lines:
        number, _, rest = line.partition(" ")
        rest = rest.strip()
        if rest.endswith("<unfinished ...>"):
            begun[number] = rest[:-len("<unfinished ...>")]
        elif rest.startswith("<... "):
            yield begun.pop(number, "") + rest.partition("resumed>")[2]
        else:
            yield rest


def looked_for(trace):
    """{path: found} of the first looks between the order and the answer, and what the process made."""
    found, made, inside = {}, set(), False
    with open(trace, encoding="ascii", errors="replace") as file:
        for line in joined(file):
            match = CALL.match(line)
            if not match:
                continue
            name, arguments, result, error = match.groups()
            if name == "chdir":
                inside = True  # the client's answer to the order
            if name == "write" and arguments.startswith("1,"):
                break
            if not inside:
                continue
            paths = [text_of(quoted) for quoted in STRING.findall(arguments)]
            if name in MAKES or (name in LOOKS and re.search(r"O_CREAT|O_WRONLY|O_RDWR", arguments)):
                if int(result) >= 0:
                    made.update(paths)
            elif name in LOOKS and paths and paths[0] and not arguments.endswith("AT_EMPTY_PATH"):
                if int(result) >= 0 or error in ABSENT:
                    found.setdefault(paths[0], int(result) >= 0)
    return found, made


def is_excluded(path, found, made, root):
    real = os.path.join(root, path)
    if path in made or any(path.startswith(one + "/") for one in made) or path == "main.cl":
        return True
    if path.startswith(("/proc/", "/sys/", "/dev/", "/etc/")) or re.search(r"\.so(\.|$)", path):
        return True
    if CACHED.search(path):
        return True
    if os.path.isdir(real) and found[path]:
        return True  # by being the same as another alone
    parent = os.path.dirname(path)
    while parent and parent != "/":
        if found.get(parent) is False:
            return True
        parent = os.path.dirname(parent)
    return False


def dependencies(build, cache):
    names = set()
    for path in glob.glob(cache + "/*/*/*/*/*.src"):
        entry = os.path.relpath(path, cache)[:-len("/0.src")]
        shown = subprocess.run([build + "/bin/ckcache", "show", entry], capture_output=True, text=True, check=False,
                               env={"PATH": os.environ["PATH"], "CKCACHE_DIR": cache, "HOME": cache}).stdout
        for line in shown.partition("depends on\n")[2].splitlines():
            for kind in ("file by time ", "working directory ", "file ", "absent ", "directory "):
                if line.startswith("  " + kind):
                    names.add(re.sub(r" \(\d+ bytes, hash \w+\)$", "", line[2 + len(kind):]))
                    break
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("driver")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--library")
    arguments = parser.parse_args()
    build = os.path.abspath(arguments.build)
    library = arguments.library or driver_file(arguments.driver)
    if not library:
        print("no %s here" % arguments.driver)
        return 77
    if not shutil.which("strace") or subprocess.run(["strace", "-o", "/dev/null", "true"], check=False).returncode:
        print("no strace here, or it may not look at other programs")
        return 77
    work = tempfile.mkdtemp(prefix="ckcache-judge-")
    os.makedirs(work + "/tmp")
    drivers(work, library)
    missing = judged = looks = 0
    for seed in range(arguments.seed, arguments.seed + arguments.rounds):
        root = os.path.join(work, "round")
        one = Round(seed, root)
        one.make()
        line = "%s\tmain.cl\t%s\tbuild\tnothing\n" % (root, " ".join(one.words))
        trace = os.path.join(work, "trace")
        for folder in ("pocl", "cache"):
            shutil.rmtree(os.path.join(work, folder), ignore_errors=True)
            os.makedirs(os.path.join(work, folder), mode=0o700)
        bare = Server(work, build, arguments.driver, False)
        ran = subprocess.run(["strace", "-f", "-xx", "-s", "8192", "-e", "signal=none", "-o", trace, "-e",
                              "trace=%file,write", build + "/bin/fuzz_client"], input=line.encode(),
                             env=bare.environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if ran.returncode == 77:
            print("%s has no device here" % arguments.driver)
            return 77
        shutil.rmtree(os.path.join(work, "pocl"))
        os.makedirs(os.path.join(work, "pocl"), mode=0o700)
        layered = Server(work, build, arguments.driver, True)
        subprocess.run([build + "/bin/fuzz_client"], input=line.encode(), env=layered.environment(),
                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        names = dependencies(build, work + "/cache")
        found, made = looked_for(trace)
        # What fails is kept in memory alone.
        if ran.stdout.startswith(b"0") and names:
            judged += 1
            wanted = {path for path in found if not is_excluded(path, found, made, root)}
            looks += len(wanted)
            for path in sorted(wanted - names):
                missing += 1
                print("MISSING seed %d: %s (%s)" % (seed, path, "there" if found[path] else "absent"))
        os.chdir(work)
        shutil.rmtree(root)
    print("%d builds judged, %d looks, %d missing" % (judged, looks, missing))
    shutil.rmtree(work, ignore_errors=True)
    return 1 if missing or not judged else 0


if __name__ == "__main__":
    sys.exit(main())
