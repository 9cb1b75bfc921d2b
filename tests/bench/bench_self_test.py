# SPDX-License-Identifier: MIT
"""What bench.py makes of a driver that refuses a program; on the stub driver.

  bench_self_test.py BUILD STUB_LIBRARY
"""
import contextlib
import io
import os
import shutil
import sys
import tempfile
import unittest

import bench
import harness


class RefusedPrograms(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.mkdtemp(prefix="ckcache-bench-")
        self.addCleanup(shutil.rmtree, self.work)
        self.driver = harness.Driver("stub", "no such file", {})
        self.driver.icd = self.write("stub.icd", STUB_LIBRARY)
        self.refused = self.write("refused.cl", "#error refused\n")

    def write(self, name, text):
        path = os.path.join(self.work, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def measure(self, programs):
        """What is printed, and the exit code."""
        usual, bench.PROGRAMS = bench.PROGRAMS, programs
        report, output = bench.Report(judge=False), io.StringIO()
        try:
            with contextlib.redirect_stdout(output):
                bench.measure_all(harness.Bench(BUILD, self.work), report, [self.driver], 3,
                                  ["programs", "miss"])
                code = report.end()
        finally:
            bench.PROGRAMS = usual
        return output.getvalue(), code

    def test_the_others_are_measured(self):
        text, code = self.measure({"small": bench.PROGRAMS["small"], "large": (self.refused, [])})
        self.assertEqual(code, 0)
        self.assertIn("\nstub, small program: create + build", text)
        self.assertIn("stub, small: miss / no layer", text)
        self.assertIn("stub, large program is left out: bench_client: clBuildProgram failed (-11)\n", text)
        self.assertEqual(text.count("large"), 1)
        self.assertEqual(text.splitlines()[-1], "harness works, 1 program(s) left out")

    def test_a_driver_that_builds_none_is_a_failure(self):
        with self.assertRaises(harness.Failure):
            self.measure({"large": (self.refused, [])})


if __name__ == "__main__":
    BUILD, STUB_LIBRARY = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
