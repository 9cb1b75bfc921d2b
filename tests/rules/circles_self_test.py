# SPDX-License-Identifier: MIT
"""circles.py finds circles of two and three modules, and none where there is none."""
import unittest

import circles
import rule_case


class Circles(rule_case.Case):
    def found(self, files):
        """{path: the headers that it includes}"""
        return circles.find_circles(circles.read_modules(self.tree({
            path: "".join('#include "%s"\n' % name for name in included) for path, included in files.items()})))

    def test_none(self):
        self.assertEqual(self.found({"common/a.c": ["common/a.h", "common/b.h"],
                                     "common/b.h": [], "cachecore/c.c": ["common/a.h"]}), set())

    def test_through_a_source(self):
        self.assertEqual(self.found({"common/a.h": ["common/b.h"], "common/b.c": ["common/a.h"]}),
                         {("common/a", "common/b")})

    def test_of_three(self):
        self.assertEqual(self.found({"common/a.h": ["common/b.h"], "common/b.h": ["common/c.h"],
                                     "common/c.h": ["common/a.h"], "common/d.h": ["common/a.h"]}),
                         {("common/a", "common/b", "common/c")})

    def test_internal_headers_are_their_module(self):
        self.assertEqual(self.found({"common/a_internal.h": ["common/a.h"],
                                     "common/a.c": ["common/a_internal.h"]}), set())


if __name__ == "__main__":
    unittest.main()
