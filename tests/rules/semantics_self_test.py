# SPDX-License-Identifier: MIT
"""A rule that cannot fail rules nothing: each rule of semantics.py is broken once, and found."""
import os
import sys
import tempfile

import semantics

HEAD = "| the sentence | cachecore | tests |\n|---|---|---|\n"
GOOD = "| a | b | `unit.semantics: first`, `stress.many` |\n| a | | not here, because so |\n" \
       "| a | b | `opencl.stub: works`, `tools.verbs: works`, `crash.store` |\n"
BAD = {
    "| a | b | `unit.semantics: second` |\n": "no test second",
    "| a | b | `unit.none: first` |\n": "no suite unit.none",
    "| a | b | `stress.none` |\n": "no suite stress.none",
    "| a | b | `opencl.stub: fails` |\n": "no test fails",
    "| a | b | `tools.verbs: fails` |\n": "no test fails",
    "| a | b | `crash.none` |\n": "no suite crash.none",
    "| a | b | |\n": "neither a test",
    "| a | `unit.semantics: first` | somewhere |\n": "neither a test",
    "prose with `unit.semantics: other`\n": "no test other",
}


def write(root, path, text):
    os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
    with open(os.path.join(root, path), "w", encoding="utf-8") as target:
        target.write(text)


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as root:
        write(root, "tests/unit/test_semantics.c", "UNIT_TEST(first),\n")
        write(root, "tests/stress/stress_many.c", "")
        write(root, "tests/crash/crash_store.c", "")
        write(root, "tests/opencl/test_stub.c", 'TEST_ON("stub", works)\n{\n}\n')
        write(root, "tests/tools/verbs.py", "    def test_works(self):\n")
        for added, wanted in [("", None)] + list(BAD.items()):
            write(root, semantics.DOCUMENT, HEAD + GOOD + added)
            breaches, _ = semantics.check(root)
            found = [message for _, message in breaches]
            if (wanted is None and found) or \
               (wanted and (len(found) != 1 or wanted not in found[0])):
                print("%r: wanted %s, found %s" % (added, wanted, found))
                failures += 1
        write(root, semantics.DOCUMENT, HEAD + GOOD)
        write(root, "tests/unit/test_semantics.c", "UNIT_TEST(first),\nUNIT_TEST(third),\n")
        breaches, rows = semantics.check(root)
        if rows != 3 or [message for _, message in breaches] != ["third is not in the list"]:
            print("an unnamed test was not found: %s, %d rows" % (breaches, rows))
            failures += 1
    print("%d failures" % failures)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
