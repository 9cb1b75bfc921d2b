# SPDX-License-Identifier: MIT
"""How long the way of a warm hit is: through how many functions and files it goes.

  hit_path.py API LIBRARY BOUNDS COMMAND...

COMMAND is a client that builds two programs, with LIBRARY (a layer that is compiled with
-O0 -finstrument-functions and calls.c) as its layer: first with an empty cache, then twice with what
that stored, since the first use of an entry is noted. All hits come from disk. Of the last one, whose
process has identified its driver for the one before, this prints the functions of the product that are
entered at least once, their files, the depth and the changes of file. What stands in a header, to be
compiled into its callers, does not count. BOUNDS: the most functions, files and depth, as "90,18,14".
--list also prints the calls.
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from environment import drivers, made, opencl  # noqa: E402

HOOKS = {"opencl": "ocl_clBuildProgram", "level_zero": "lz_module_create"}


def environment(api, library, driver, work):
    env = made(work, os.path.join(work, "cache"), HIT_PATH_CALLS=os.path.join(work, "calls"))
    if api == "opencl":
        return {**env, **opencl("", library), **drivers(work, driver)}
    slot, plugin = library.split(":")
    return {**env, "ZE_ENABLE_ALT_DRIVERS": driver, "LD_PRELOAD": slot, "ZE_ENABLE_LAYERS": plugin}


def read_calls(path):
    """The notes of each thread, in their order: (address, entered)."""
    threads = {}
    with open(path, encoding="ascii") as notes:
        for line in notes:
            thread, address = line.split()
            entered = not address.startswith("-")
            threads.setdefault(thread, []).append((int(address.lstrip("-"), 16), entered))
    return threads.values()


def names_of(library, addresses):
    """(function, file) of each address."""
    text = subprocess.run(["addr2line", "-f", "-e", library], check=True, text=True,
                          input="".join("%x\n" % address for address in addresses),
                          stdout=subprocess.PIPE).stdout.splitlines()
    places = [re.sub(r":.*", "", place) for place in text[1::2]]
    return {address: (name, place) for address, name, place in zip(addresses, text[0::2], places)
            if not place.endswith(".h")}


def tree_of(calls, hook):
    """The part of a thread's notes from the hook's last entry to its end."""
    first = max((i for i, call in enumerate(calls) if call == (hook, True)), default=len(calls))
    depth = 0
    for i, (_, entered) in enumerate(calls[first:], first):
        depth += 1 if entered else -1
        if depth == 0:
            return calls[first:i + 1]
    return []


def measure(part, names, show):
    """Functions, files, depth and changes of file; show prints the calls."""
    stack, deepest, changes, last = [], 0, 0, None
    for address, entered in part:
        if entered:
            stack.append(address)
            if show:
                print("%s%s  %s" % ("  " * (len(stack) - 1), names[address][0],
                                    os.path.basename(names[address][1])))
        else:
            stack.pop()
        deepest = max(deepest, len(stack))
        here = names[stack[-1]][1] if stack else last
        changes += last is not None and here != last
        last = here
    functions = {address for address, _ in part}
    return len(functions), len({names[address][1] for address in functions}), deepest, changes


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--ckcache", required=True)
    parser.add_argument("--driver", required=True)
    parser.add_argument("--layer", help="what the loader is told, where that is not LIBRARY")
    parser.add_argument("api", choices=HOOKS)
    parser.add_argument("library")
    parser.add_argument("bounds")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ckcache-path-") as work:
        # By the name of one that drivers.c knows: of others it is observed what loading reads.
        name = "libigdrcl.so" if options.api == "opencl" else "libze_intel_gpu.so.1"
        driver = shutil.copy(options.driver, os.path.join(work, name))
        for beside in glob.glob(os.path.join(os.path.dirname(options.driver), "libstub_compiler*")):
            shutil.copy(beside, work)
        env = environment(options.api, options.layer or options.library, driver, work)
        source = os.path.join(work, "program.cl")
        with open(source, "w", encoding="ascii") as text:
            text.write("kernel void one(global int *out) { *out = 1; }\n")
        command = [word.replace("SOURCE", source) for word in options.command]
        for _ in range(3):
            subprocess.run(command, env=env, cwd=work, check=True, stdout=subprocess.DEVNULL,
                           timeout=60)
        env_of_stats = {name: env[name] for name in ("PATH", "HOME", "CKCACHE_DIR")}
        counts = json.loads(subprocess.check_output([options.ckcache, "stats", "--json"],
                                                    env=env_of_stats))
        threads = list(read_calls(env["HIT_PATH_CALLS"]))
    if counts["hits_disk"] != 4 or counts["misses"] != 2:
        sys.exit("%s: the later runs' builds were no hits on disk: %s" % (options.api, counts))
    names = names_of(options.library, sorted({call[0] for calls in threads for call in calls}))
    threads = [[call for call in calls if call[0] in names] for calls in threads]
    hook = [address for address, name in names.items() if name[0] == HOOKS[options.api]]
    part = next(filter(None, (tree_of(calls, at) for calls in threads for at in hook)), [])
    if not part:
        sys.exit("%s: %s was not entered" % (options.api, HOOKS[options.api]))
    figures = measure(part, names, options.list)
    print("%s: %d functions in %d files, %d deep, %d changes of file" % ((options.api,) + figures))
    over = [name for name, figure, bound in zip(("functions", "files", "depth"), figures,
                                                options.bounds.split(",")) if figure > int(bound)]
    if over:
        sys.exit("%s: more than %s: %s" % (options.api, options.bounds, ", ".join(over)))


if __name__ == "__main__":
    main()
