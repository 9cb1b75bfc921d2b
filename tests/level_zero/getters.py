# SPDX-License-Identifier: MIT
"""The slot's list of getters against what loaders may ask for.

  getters.py GETTERS.def VERSION.map INCLUDE_DIR

Each getter that the installed headers declare is in the list; the version
script exports exactly the list, the slot's mark and the loader's two functions;
the list is sorted and says nothing twice. CKCACHE_TEST_GETTERS may name a file
with one getter a line, which must then be the very list.
"""
import glob
import os
import re
import sys

GETTER = re.compile(r"\bze[rst]?Get[A-Za-z]+ProcAddrTable\b")
OTHERS = {"ckcache_level_zero_slot", "zelLoaderGetVersion", "zelLoaderSetLogger"}


def read(path):
    with open(path, encoding="utf-8") as source:
        return source.read()


def compare(what, names, wanted):
    for name in sorted(wanted - names):
        print("%s: %s is missing" % (what, name))
    for name in sorted(names - wanted):
        print("%s: %s is too much" % (what, name))
    return names == wanted


def main():
    definitions, script, include = sys.argv[1:]
    listed = re.findall(r"^GETTER\((\w+)\)$", read(definitions), re.M)
    names = set(listed)
    headers = sorted(glob.glob(include + "/level_zero/ze*_ddi.h"))
    declared = {name for header in headers for name in GETTER.findall(read(header))}
    exported = set(re.findall(r"^\t\t(\w+);$", read(script), re.M))
    good = listed == sorted(names) and bool(names)
    good &= bool(declared) and compare("headers", names & declared, declared)
    good &= compare("version script", exported, names | OTHERS)
    other = os.environ.get("CKCACHE_TEST_GETTERS")
    if other:
        good &= compare(other, names, set(read(other).split()))
    print("%d getters, %d in %d headers" % (len(names), len(declared), len(headers)))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
