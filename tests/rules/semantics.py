# SPDX-License-Identifier: MIT
"""docs/SEMANTICS.md promises a test for each sentence: each that it names exists.

`unit.programs: name` is TEST(name) in test_programs.c of a folder of tests/unit;
`unit.programs` is that file; `stress.programs` is tests/stress/stress_programs.c.
Each row of a table names a test or says "not here, because"; each test of
test_semantics.c is named somewhere. Prints each breach as line: message.
"""
import os
import re
import sys

DOCUMENT = "docs/SEMANTICS.md"
OWN_SUITE = "semantics"		# every test of it is there for a sentence
REFERENCE = re.compile(r"`(unit|stress)\.(\w+)(?:: (\w+))?`")
CALL = re.compile(r"\b(?:UNIT_)?TEST\((\w+)\)")


def tests_of(root, folder, suite):
    """The names of the tests in this suite's file, or None if there is no such file."""
    name = ("test_%s.c" if folder == "unit" else "stress_%s.c") % suite
    for where, _, files in os.walk(os.path.join(root, "tests", folder)):
        if name in files:
            with open(os.path.join(where, name), encoding="utf-8") as source:
                return CALL.findall(source.read())
    return None


def is_row(line):
    return line.startswith("|") and not line.startswith(("|---", "| the sentence |"))


def check(root):
    """Breaches as (line, message), and how many rows were read."""
    with open(os.path.join(root, DOCUMENT), encoding="utf-8") as document:
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
        if test not in named:
            breaches.append((0, "%s is not in the list" % test))
    return breaches, rows


def main():
    breaches, rows = check(sys.argv[1])
    for number, message in breaches:
        print("%s:%d: %s" % (DOCUMENT, number, message))
    print("%d sentences, %d breaches" % (rows, len(breaches)))
    return 1 if breaches or rows == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
