# SPDX-License-Identifier: MIT
"""tools/release.sh: version, date, maintainer and homepage are the same everywhere, and what is
not is found; distributions' own tools can read their recipes.

    release.py SOURCE-DIRECTORY
"""
import functools
import http.server
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import tool_case  # noqa: E402

SOURCE = None
PARTS = ("CMakeLists.txt", "CHANGELOG.md", "cmake", "debian", "docs/man", "tools/release.sh", "tools/service/watched")


class Release(tool_case.Folder):
    def setUp(self):
        super().setUp()
        for part in PARTS:
            path = os.path.join(SOURCE, part)
            os.makedirs(os.path.dirname(self.path(part)), exist_ok=True)
            copy = shutil.copytree if os.path.isdir(path) else shutil.copy
            copy(path, self.path(part))

    def script(self, *words, code=0):
        """What it says, on stderr too."""
        done = subprocess.run(["sh", "tools/release.sh", *words], cwd=self.work, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stdout)
        return done.stdout

    def change(self, name, pattern, text):
        before, mode = self.read(name), self.mode(name)
        after = re.sub(pattern, text, before, count=1, flags=re.M)
        self.assertNotEqual(before, after, name)
        self.write(name, after, mode)

    def test_all_agree(self):
        self.script("check")

    def test_what_is_loaded_by_name_is_recommended_by_each_name(self):
        """Releases of Debian have libsodium under different ones."""
        with open(os.path.join(SOURCE, "cachecore/remote/sodium.c"), encoding="utf-8") as file:
            names = re.findall(r'"libsodium\.so\.(\d+)"', file.read())
        lines = re.findall(r"^ libsodium\d.*", self.read("debian/control"), re.M)
        self.assertTrue(names and lines)
        self.assertEqual(set(lines), {" " + " | ".join("libsodium" + name for name in names)})

    def test_usage_is_the_usage_alone(self):
        lines = self.script(code=2).splitlines()
        self.assertEqual(lines[0], "What a release must get right.")
        self.assertEqual([line for line in lines[1:] if not line.startswith("  ")], [])

    def test_the_directory_is_the_callers(self):
        """What follows fails: there is no repository."""
        caller = tempfile.mkdtemp(prefix="ckcache-release-")
        self.addCleanup(shutil.rmtree, caller)
        done = subprocess.run(["sh", os.path.join(self.work, "tools/release.sh"), "out"], cwd=caller,
                              capture_output=True, text=True, check=False,
                              env={**os.environ, "GIT_CEILING_DIRECTORIES": os.path.dirname(self.work)})
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(os.listdir(caller), ["out"], done.stderr)

    def test_each_that_differs_is_found(self):
        for name, pattern in (
                ("CMakeLists.txt", r"VERSION 0\.\d"), ("CHANGELOG.md", r"^## \d"),
                ("CHANGELOG.md", r"\(\d{4}-\d\d-\d\d\)"), ("debian/changelog", r"\(\d"),
                ("debian/changelog", r"<\S+>"), ("debian/control", r"^Homepage: \S+"),
                ("debian/control", r"^Maintainer: .*"), ("debian/watch", r"^https?:\S+"),
                ("debian/copyright", r"^Source: .*"), ("debian/copyright", r"^Upstream-Contact: .*"),
                ("debian/upstream/metadata", r"^Contact: .*"), ("docs/man/ckcache.1", r"^\.Dd .*\d"),
                ("docs/man/ckcache.conf.5", r"^\.Dd .*\d"), ("tools/service/watched", r"^/etc.*"),
                ("cmake/packages/ckcache.spec", r"^Version: .*"), ("cmake/packages/ckcache.spec", r"^URL: .*"),
                ("cmake/packages/ckcache.spec", r"^\* .*"), ("cmake/packages/PKGBUILD", r"^pkgver=.*"),
                ("cmake/packages/PKGBUILD", r"^url=.*"), ("cmake/packages/default.nix", r"^  version = .*"),
                ("cmake/packages/default.nix", r"homepage = .*")):
            with self.subTest(name=name, pattern=pattern):
                self.change(name, pattern, lambda found: found.group(0) + "9")
                self.script("check", code=1)
                shutil.copy(os.path.join(SOURCE, name), self.path(name))

    def test_one_place_fills_all(self):
        self.change("debian/control", r"^Maintainer: .*", "Maintainer: Jo Doe <jo@example.net>")
        self.change("debian/control", r"^Homepage: .*", "Homepage: https://example.net/a#b")
        self.change("CMakeLists.txt", r"ckcache VERSION \S+", "ckcache VERSION 10.20.30")
        self.change("CHANGELOG.md", r"^## .*", "## 10.20.30 (2031-02-03)\n\n## 0.2.0 (2026-11-26)")
        self.change("debian/changelog", r"\(\S+\)", "(10.20.30-1)")
        self.script("fill")
        self.script("check")
        for name in ("debian/changelog", "debian/copyright", "debian/upstream/metadata",
                     "cmake/packages/ckcache.spec", "cmake/packages/PKGBUILD"):
            self.assertIn("Jo Doe <jo@example.net>", self.read(name), name)
        self.assertIn("\n.Dd February 3, 2031\n", self.read("docs/man/ckcache.1"))


class Recipes(tool_case.Folder):
    def ask(self, *command, **options):
        if not shutil.which(command[0]):
            self.skipTest(command[0] + " is not installed")
        options.setdefault("cwd", os.path.join(SOURCE, "cmake", "packages"))
        done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_nix_reads_the_expression(self):
        # The machine's own state is the superuser's.
        state = dict(os.environ, NIX_STATE_DIR=self.path("state"))
        self.assertIn('"ckcache"', self.ask("nix-instantiate", "--parse", "default.nix", env=state))

    def test_bash_reads_the_pkgbuild(self):
        self.ask("bash", "-n", "PKGBUILD")
        self.ask("shellcheck", "PKGBUILD")

    def test_makepkg_reads_the_pkgbuild(self):
        user = {"user": "nobody"} if os.geteuid() == 0 else {}
        shutil.copy(os.path.join(SOURCE, "cmake/packages/PKGBUILD"), self.work)
        os.chmod(self.work, 0o777)
        # It wants one that it does not call for this.
        said = self.ask("makepkg", "--printsrcinfo", cwd=self.work,
                        env={**os.environ, "PACMAN": "true", "HOME": self.work}, **user)
        self.assertIn("\tpkgver = ", said)

    def test_rpm_reads_the_spec(self):
        said = self.ask("rpmspec", "-q", "ckcache.spec")
        self.assertEqual(len(said.split()), 7, said)

    def test_debhelper_stops_no_unit_during_an_upgrade(self):
        """Wherever it looks for units: Debian 12's does not find those below /usr."""
        [command] = re.findall(r"^\t(dh_installsystemd .*)", self.read(os.path.join(SOURCE, "debian/rules")), re.M)
        debian = self.path("debian")
        shutil.copytree(os.path.join(SOURCE, "debian"), debian)
        for folder in ("lib", "usr/lib"):
            folder = os.path.join(debian, "ckcache", folder, "systemd/system")
            os.makedirs(folder)
            for unit in ("ckcache-machine.path", "ckcache-machine.timer"):
                shutil.copy(os.path.join(SOURCE, "tools/service", unit), folder)
        self.ask(*command.split(), "-p", "ckcache", cwd=self.work)
        made = ""
        for folder, _, names in os.walk(debian):
            for name in names:
                if name.endswith(".debhelper") or "generated" in folder:
                    made += self.read(os.path.join(folder, name))
        self.assertIn("ckcache-machine.path", made)
        self.assertNotIn("deb-systemd-invoke", made)

    def test_uscan_finds_the_next_release(self):
        for name in ("ckcache-0.9.0.tar.gz", "ckcache-0.10.0.tar.gz", "ckcache-0.10.0.tar.gz.sha256", "PKGBUILD"):
            self.write("releases/" + name)
        handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=self.work)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        text, found = re.subn(r"https?:\S+(?=/releases/)", "http://127.0.0.1:%d" % server.server_port,
                              self.read(os.path.join(SOURCE, "debian/watch")))
        self.assertEqual(found, 1)
        watch = self.write("watch", text)
        try:
            said = self.ask("uscan", "--dehs", "--no-download", "--watchfile", watch, "--package", "ckcache",
                            "--upstream-version", "0.9.0")
        except AssertionError as error:
            if "libwww-perl" in str(error) or "LWP" in str(error):
                self.skipTest("libwww-perl is not installed")
            raise
        self.assertIn("<upstream-version>0.10.0</upstream-version>", said)


if __name__ == "__main__":
    SOURCE = sys.argv[1]
    unittest.main(argv=sys.argv[:1] + sys.argv[2:], verbosity=2)
