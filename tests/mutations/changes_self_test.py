# SPDX-License-Identifier: MIT
"""Lists that do not apply, or cannot be read, are found."""
import os
import sys
import unittest

import changes

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rules"))
import rule_case  # noqa: E402

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


class Changes(rule_case.Case):
    def breaches(self, text):
        return changes.breaches(self.tree({"common/a.c": SOURCE, "tests/mutations/common/a.c.changes": text}))

    def test_a_good_list(self):
        self.assertEqual(self.breaches(GOOD), [])
        [change] = changes.parse("common/a.c", GOOD)
        self.assertEqual((change.apply(SOURCE), change.tests),
                         ("int one = 2;\nint two = 1;\n", ["unit.a", "unit.b"]))

    def test_lists_that_do_not_apply(self):
        for text, sentence in BREACHES.items():
            self.finds_one(sentence, self.breaches(text), text)

    def test_lists_that_cannot_be_read(self):
        for text in UNREADABLE:
            with self.assertRaises(changes.Bad, msg=text):
                self.breaches(text)


if __name__ == "__main__":
    unittest.main()
