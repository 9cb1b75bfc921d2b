# SPDX-License-Identifier: MIT
"""Compares piglit results: the first is the reference. A test that does not
report itself at all, or times out, in one of the runs tells nothing: piglit
loses lines of a test's output now and then, with and without a layer."""
import bz2
import json
import os
import sys


def results(directory):
    path = os.path.join(directory, "results.json")
    if os.path.exists(path + ".bz2"):
        with bz2.open(path + ".bz2", "rt") as file:
            tests = json.load(file)["tests"]
    else:
        with open(path, encoding="utf-8") as file:
            tests = json.load(file)["tests"]
    found = {}
    for name, test in tests.items():
        found[name] = test["result"]
        for part, result in (test.get("subtests") or {}).items():
            found[name + "/" + part] = result
    return found


def main():
    reference = results(sys.argv[1])
    worse = 0
    if not reference:
        print("no test ran")
        return 1
    for directory in sys.argv[2:]:
        other = results(directory)
        for name, result in sorted(reference.items()):
            now = other.get(name, "notrun")
            if now != result and "timeout" not in (now, result) and now != "notrun":
                print("%s: %s, in %s %s" % (name, result, directory, now))
                worse += 1
        print("%s: %d results, %s: %d" % (sys.argv[1], len(reference), directory, len(other)))
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
