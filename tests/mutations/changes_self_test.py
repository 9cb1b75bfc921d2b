# SPDX-License-Identifier: MIT
"""A rule that cannot fail rules nothing: lists that do not apply, or cannot be read, are found."""
import os
import sys
import tempfile

import changes

SOURCE = "int one = 1;\nint two = 1;\n"
GOOD = "tests: unit.a unit.b\n\n[one-is-two] stale\n-int one = 1;\n+int one = 2;\n"
BREACHES = {
    "tests: unit.a\n\n[gone] fail\n-int three = 1;\n": "stands 0 times",
    "tests: unit.a\n\n[twice] fail\n- = 1;\n+ = 2;\n": "stands 2 times",
    "tests: unit.a\n\n[same] loss\n-int one\n+int one\n": "changes nothing",
    GOOD + GOOD.split("\n\n")[1]: "a second one of this name",
}
UNREADABLE = (
    "[one-is-two] stale\n-int one = 1;\n",
    "tests: unit.a\n\n[one] dull\n-int one = 1;\n",
    "tests: unit.a\n\n[one] stale\n+int one = 1;\n",
    "tests: unit.a\n\n[one] stale\n-int one = 1;\n?\n",
)


def write(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
    with open(os.path.join(root, path), "w", encoding="utf-8") as target:
        target.write(text)


def breaches_of(text):
    with tempfile.TemporaryDirectory() as root:
        write(root, "common/a.c", SOURCE)
        write(root, "tests/mutations/common/a.c.changes", text)
        return changes.breaches(root)


def main():
    failures = 0
    if breaches_of(GOOD):
        print("a good list has breaches")
        failures += 1
    for text, sentence in BREACHES.items():
        found = breaches_of(text)
        if len(found) != 1 or sentence not in found[0]:
            print("%r: %s" % (text, found))
            failures += 1
    for text in UNREADABLE:
        try:
            breaches_of(text)
            print("%r can be read" % text)
            failures += 1
        except changes.Bad:
            pass
    [change] = changes.parse("common/a.c", GOOD)
    if change.apply(SOURCE) != "int one = 2;\nint two = 1;\n" or change.tests != ["unit.a", "unit.b"]:
        print("a good change is another one")
        failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
