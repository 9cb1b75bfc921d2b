# SPDX-License-Identifier: MIT
"""docs/SEMANTICS.md and docs/FOUNDING.md promise a test for each sentence: each that they name exists.

`unit.programs: name` is TEST(name) in test_programs.c of a folder of tests/unit;
`unit.programs` is that file; `stress.programs` is tests/stress/stress_programs.c, and
likewise crash; `opencl.stub: name`, level_zero and libckcache are test_stub.c there;
`tools.entries: name` is test_name in tests/tools/entries.py. Each row of a table names a test
or says "not here, because"; each test of test_semantics.c is named in the first document.
Prints each breach as line: message.
"""
import os
import re
import sys

DOCUMENT = "docs/SEMANTICS.md"
OTHERS = ("docs/FOUNDING.md",)
OWN_SUITE = "semantics"		# every test of it is there for a sentence
REFERENCE = re.compile(r"`(unit|stress|crash|opencl|level_zero|libckcache|tools)\.(\w+)(?:: (\w+))?`")
CALL = re.compile(r"\b(?:UNIT_)?TEST(?:_ON)?\((?:\"[^\"]+\", )?(\w+)\)|def test_(\w+)\(")
NAMES = {"stress": "stress_%s.c", "crash": "crash_%s.c", "tools": "%s.py"}


def tests_of(root, folder, suite):
    """The names of the tests in this suite's file, or None if there is no such file."""
    name = NAMES.get(folder, "test_%s.c") % suite
    for where, _, files in os.walk(os.path.join(root, "tests", folder)):
        if name in files:
            with open(os.path.join(where, name), encoding="utf-8") as source:
                return [a or b for a, b in CALL.findall(source.read())]
    return None


def is_row(line):
    return line.startswith("|") and not line.startswith(("|---", "| the sentence |"))


def check(root, path=DOCUMENT):
    """Breaches as (line, message), and how many rows were read."""
    with open(os.path.join(root, path), encoding="utf-8") as document:
        lines = document.read().splitlines()
    breaches = []
    rows = 0
    named = set()
    for number, line in enumerate(lines, 1):
        for folder, suite, test in REFERENCE.findall(line):
            there = tests_of(root, folder, suite)
            if there is None:
                breaches.append((number, "no suite %s.%s" % (folder, suite)))
            elif test and test not in there:
                breaches.append((number, "no test %s in %s.%s" % (test, folder, suite)))
            elif suite == OWN_SUITE:
                named.add(test)
        if is_row(line):
            rows += 1
            last = line.rstrip("| ").rsplit("|", 1)[-1]
            if not REFERENCE.search(last) and not last.strip().startswith("not here, because"):
                breaches.append((number, "neither a test nor a reason"))
    for test in tests_of(root, "unit", OWN_SUITE) or []:
        if path == DOCUMENT and test not in named:
            breaches.append((0, "%s is not in the list" % test))
    return breaches, rows


def main():
    failed = False
    for path in (DOCUMENT,) + OTHERS:
        breaches, rows = check(sys.argv[1], path)
        for number, message in breaches:
            print("%s:%d: %s" % (path, number, message))
        print("%s: %d sentences, %d breaches" % (path, rows, len(breaches)))
        failed |= bool(breaches) or rows == 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
