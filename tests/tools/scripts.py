# SPDX-License-Identifier: MIT
"""What the scripts say on machines that lack something: one sentence, and the
exit code tells. Machines are a directory of programs, most of them made up.
    scripts.py SOURCE-DIRECTORY
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import tool_case

SOURCE = None
REAL = ("sh", "env", "tr", "sed", "awk", "grep", "xargs", "sort", "tail", "expr", "cat", "nproc", "date",
        "dirname", "basename", "unshare", "mkdir", "df", "mktemp", "rm", "chmod", "cut", "test", "true")
# Two of the archive's packages are there, "new" can be had, "old" cannot.
MACHINE = {
    "dpkg-query": 'for name; do :; done; case $name in there|other) printf installed;; esac',
    "dpkg": "",
    "apt-cache": 'case $1 in policy) case $2 in new|large|there) echo "  Candidate: 1";; *) '
                 'echo "  Candidate: (none)";; esac;; show) shift 2; for name; do case $name in '
                 'large) echo "Installed-Size: 2000000";; *) echo "Installed-Size: 1000";; esac; done;; esac',
    "apt-get": 'echo "$*" >>"$LOG"; case "$*" in -s*) shift 3; for name; do echo "Inst $name (1)"; done;; esac',
    "id": 'case $1 in -u) echo 0;; *) echo user;; esac',
}
USER = {"id": 'case $1 in -u) echo 1000;; *) echo user;; esac'}


class Case(tool_case.Folder):
    def setUp(self):
        super().setUp()
        self.log = self.path("log")

    def run_line(self, line, without=(), **programs):
        """On a machine with these programs, and some taken away: exit code, all that it said."""
        bin_ = tempfile.mkdtemp(dir=self.work)
        for name in REAL:
            if name not in programs:
                os.symlink(shutil.which(name), os.path.join(bin_, name))
        for name, text in {**MACHINE, **{name.replace("_", "-"): text for name, text in programs.items()}}.items():
            if name not in without:
                self.write(os.path.join(bin_, name), "#!%s\n%s\n" % (shutil.which("sh"), text), 0o755)
        done = subprocess.run(["sh", "-euc", line], cwd=SOURCE, capture_output=True, text=True, timeout=60,
                              env={"PATH": bin_, "LOG": self.log, "TMPDIR": self.work}, check=False)
        return done.returncode, done.stdout + done.stderr

    def packages(self, call, **options):
        return self.run_line(". tools/packages.sh; %s; echo $packages_mb MB" % call, **options)

    def installed(self):
        """What apt-get was told to install."""
        if not os.path.exists(self.log):
            return None
        return [line.split(" install ")[1].split() for line in self.read(self.log).splitlines()
                if " install " in line and not line.startswith("-s")]


class Packages(Case):
    def test_all_are_there(self):
        self.assertEqual(self.packages("install_packages there other"), (0, "0 MB\n"))
        self.assertEqual(self.packages("install_available 'old|there'"), (0, "0 MB\n"))
        self.assertIsNone(self.installed())

    def test_one_is_missing(self):
        code, said = self.packages("install_packages there new")
        self.assertEqual((code, self.installed()), (0, [["new"]]), said)
        self.assertIn("Installing 1 MB of packages: new\n1 MB", said)

    def test_alternatives(self):
        self.assertEqual(self.packages("install_packages 'old|new'")[0], 0)
        self.assertEqual(self.installed(), [["new"]])

    def test_a_better_alternative_than_what_is_there(self):
        self.assertEqual(self.packages("install_available 'new|there'")[0], 0)
        self.assertEqual(self.installed(), [["new"]])

    def test_what_the_archive_has_not(self):
        code, said = self.packages("install_available old new older")
        self.assertEqual((code, self.installed()), (0, [["new"]]), said)
        self.assertIn("Continuing without packages that this system's archive does not have: old older", said)

    def test_a_bound(self):
        code, said = self.packages("install_within 1500 new large")
        self.assertEqual((code, self.installed()), (0, [["new"]]), said)
        self.assertIn("Continuing without large: with it", said)
        self.assertEqual(self.packages("install_within 2500 large")[1].splitlines()[-1], "2048 MB")

    def refuses(self, words, **options):
        code, said = self.packages("install_packages there new", **options)
        self.assertEqual(code, 1, said)
        self.assertIn("Cannot install needed packages (" + words, said)
        self.assertTrue(said.endswith(": new\n"), said)
        code, said = self.packages("install_available new", **options)
        self.assertEqual(code, 0, said)
        self.assertIn("Continuing without", said)

    def test_no_apt(self):
        self.refuses("there is no apt-get here", without=("apt-get",))
        self.assertIsNone(self.installed())

    def test_neither_root_nor_sudo(self):
        self.refuses("user is not root and there is no sudo", **USER)
        self.assertIsNone(self.installed())

    def test_sudo_refuses(self):
        self.refuses("sudo does not let user install packages", sudo="exit 1", **USER)

    def test_by_sudo(self):
        code, said = self.packages("install_packages new", sudo='echo sudo >>"$LOG"; exec "$@"', **USER)
        self.assertEqual((code, self.installed()), (0, [["new"]]), said)

    def test_no_network(self):
        self.refuses("apt-get could not install them",
                     apt_get='echo "E: Unable to fetch some archives"; exit 100')

    def test_no_debian(self):
        code, said = self.packages("install_packages there new", without=("dpkg-query", "apt-get"))
        self.assertEqual(code, 0)
        self.assertIn("This is not Debian", said)

    def test_what_was_interrupted(self):
        self.packages("install_packages new", dpkg='case $1 in --audit) echo half;; *) echo "$*" >>"$LOG";; esac')
        self.assertIn("--configure -a", self.read(self.log).splitlines())


class Scripts(Case):
    def says(self, code, words, line, **options):
        ended, said = self.run_line(line, **options)
        self.assertEqual(ended, code, said)
        self.assertIn(words, said)

    def test_no_such_mode(self):
        self.says(2, "sh tests/run.sh [MODE...]", "sh tests/run.sh everything")

    def test_a_place_that_cannot_be_written(self):
        self.says(1, "set BUILD_DIR", "BUILD_DIR=/proc/none/build sh tests/run.sh quick",
                  dpkg_query="printf installed")

    def test_a_disk_without_room(self):
        df = "echo x; case $2 in */small) echo x x x 1000;; *) echo x x x 9999999;; esac"
        self.says(1, "need 500 MB", "BUILD_DIR=%s/small/build sh tests/run.sh quick" % self.work,
                  dpkg_query="printf installed", df=df)

    def test_fresh_as_a_user(self):
        self.says(75, "only root can do this", "sh tests/fresh.sh sid", **USER)

    def test_fresh_without_its_tools(self):
        self.says(1, "this needs debootstrap", "sh tests/fresh.sh sid")

    def test_fresh_of_nothing(self):
        self.says(2, "bookworm|trixie|sid", "sh tests/fresh.sh")


class Skipped(Case):
    LOG = """1/4 Test  #7: one.c ....   Passed    0.1 sec
2/4 Test #12: two.py ...   Passed    0.1 sec
3/4 Test  #3: three ....***Skipped   0.1 sec
4/4 Test  #4: four .....***Skipped   0.1 sec
"""
    LAST = (("one.c", "  Test: a_file ...SKIPPED: not root; passed\n  Test: a_link ...SKIPPED: not root; passed"),
            ("two.py", "test_a (__main__.A.test_a) ... ok\ntest_b (__main__.A.test_b) ... skipped 'no mounts here'"),
            ("three", "no such driver"), ("four", ""))

    def test_each_reason_is_told_once(self):
        self.write("log", self.LOG)
        self.write("last", "".join(
            "%d/4 Testing: %s\n%d/4 Test: %s\nCommand: x\nOutput:\n----------\n%s\n<end of output>\nTest Passed.\n"
            % (number, name, number, name, text) for number, (name, text) in enumerate(self.LAST, 1)))
        code, text = self.run_line("sh tests/support/skipped.sh %s %s" % (self.path("log"), self.path("last")))
        self.assertEqual((code, sorted(text.splitlines())), (0, [
            "four: it does not say why", "one.c: not root", "three: no such driver", "two.py: no mounts here"]))


class Compilers(Case):
    def test_each_version_is_tried_once_whatever_its_name(self):
        code, text = self.run_line("BUILD_DIR=$TMPDIR/build sh tests/compilers.sh", gcc="echo 16", gcc_16="echo 16",
                                   gcc_15="echo 15.2.0", gcc_11="echo 11", gcc_13="false", clang="echo 22.1.3",
                                   clang_14="echo 14.0.6", clang_9="echo 9.0.1", cmake="")
        self.assertEqual((code, text.split()[1::2]), (0, ["gcc-15", "gcc-16", "clang-14", "clang", "no-level-zero",
                                                          "no-doxygen", "no-tests"]), text)

    def test_without_any_the_default_is_tried(self):
        code, text = self.run_line("BUILD_DIR=$TMPDIR/build sh tests/compilers.sh", cmake="", cc="")
        self.assertEqual((code, text.split()[1]), (0, "cc"), text)


if __name__ == "__main__":
    SOURCE = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
