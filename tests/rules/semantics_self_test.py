# SPDX-License-Identifier: MIT
"""Each rule of semantics.py is broken once, and found."""
import unittest

import rule_case
import semantics

HEAD = "| the sentence | cachecore | tests |\n|---|---|---|\n"
GOOD = "| a | b | `unit.semantics: first`, `stress.many` |\n| a | | not here, because so |\n" \
       "| a | b | `opencl.stub: works`, `tools.verbs: works`, `crash.store` |\n"
TREE = {
    semantics.DOCUMENT: HEAD + GOOD,
    "tests/unit/test_semantics.c": "UNIT_TEST(first),\n",
    "tests/stress/stress_many.c": "",
    "tests/crash/crash_store.c": "",
    "tests/opencl/test_stub.c": 'TEST_ON("stub", works)\n{\n}\n',
    "tests/tools/verbs.py": "    def test_works(self):\n",
}
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


class Semantics(rule_case.Case):
    def messages(self, **changed):
        """Of a tree where these files are others."""
        breaches, self.rows = semantics.check(self.tree({**TREE, **changed}))
        return [message for _, message in breaches]

    def test_each_breach_is_found(self):
        self.assertEqual(self.messages(), [])
        for added, wanted in BAD.items():
            self.finds_one(wanted, self.messages(**{semantics.DOCUMENT: HEAD + GOOD + added}), added)

    def test_a_test_that_no_sentence_names_is_found(self):
        found = self.messages(**{"tests/unit/test_semantics.c": "UNIT_TEST(first),\nUNIT_TEST(third),\n"})
        self.assertEqual((self.rows, found), (3, ["third is not in the list"]))


if __name__ == "__main__":
    unittest.main()
