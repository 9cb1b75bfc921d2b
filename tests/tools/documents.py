# SPDX-License-Identifier: MIT
"""The commands of the documents run.

Of each document and of ckcache's own help, every indented block that begins
with a command is run by sh -e, in a directory of that document's own, with
the tools as they were built, a healthy cache, and stand-ins for what a reader
would have. What cannot be run here stands in NOT_RUN with the reason. Besides:
what a document calls a file of the tree is there, and what it calls a verb or
an option of ckcache is one.

    documents.py CKCACHE SOURCE-DIRECTORY
"""
import grp
import os
import re
import subprocess
import sys
import tempfile
import unittest

import caches
import command_line
import tool_case

CKCACHE, SOURCE = None, None

SUITE = "the suite itself, or a part of it"
SYSTEM = "changes the machine: tests/packages/roots.sh does it in a fresh one"
MACHINE = "its exit code is the machine's: tests/tools/doctor.py runs it"
TIER = "needs a remote tier: tests/remote/verbs.py has one"
BUILD = "builds everything: it is how this test came to be"
LOADER = "fetches and builds the Level Zero loader: docs/upstream says what came of it"
PACKS = "needs packs or a driver: tests/tools/recipes.py has them"
NOT_RUN = {
    "ckcache record -o darktable.ckrecipes --licence GPL-3.0-or-later -- darktable-cltest": PACKS,
    "ckcache record -o darktable.ckrecipes -- darktable-cltest": PACKS,
    "ckcache record -o all.ckrecipes --merge intel.ckrecipes --merge amd.ckrecipes": PACKS,
    "ckcache recipes add darktable.ckrecipes": PACKS,
    "ckcache run -- darktable": PACKS,
    "sh tools/quickstart.sh": "installs packages, builds, runs darktable for a minute",
    "sh tests/run.sh": SUITE,
    "sh tests/run.sh quick": SUITE,
    "sh tests/run.sh full": SUITE,
    "ctest --test-dir build-gcc -R unit.store": SUITE,
    "ctest --test-dir build-gcc -R opencl.differential": SUITE,
    "ctest --test-dir build-gcc -R level_zero.differential": SUITE,
    "cmake -S . -B build && cmake --build build": BUILD,
    "cmake -S . -B build -DCMAKE_BUILD_TYPE=RelWithDebInfo": BUILD,
    "cmake --build build": BUILD,
    "cmake -S . -B build \"-DCMAKE_SHARED_LINKER_FLAGS=-Wl,-rpath,'\\$ORIGIN'\"": BUILD,
    "sudo cmake --install build": SYSTEM + "; tests/packages/install.sh does it below a DESTDIR",
    "sudo ldconfig": SYSTEM,
    "sudo cmake --build build --target uninstall": SYSTEM,
    "sh tools/build_packages.sh deb packages": BUILD,
    "sudo apt-get install ./packages/ckcache_*.deb ./packages/libckcache1_*.deb ./packages/libckcache-opencl_*.deb "
    "./packages/libckcache-level-zero_*.deb": SYSTEM,
    "sudo systemctl enable --now ckcache-machine.path ckcache-machine.timer": SYSTEM,
    "sudo apt-get remove ckcache libckcache-opencl libckcache-level-zero": SYSTEM,
    "sudo apt-get purge ckcache libckcache-opencl libckcache-level-zero": SYSTEM,
    "ckcache doctor": MACHINE,
    "ckcache doctor --quick darktable": MACHINE,
    "ckcache replay --stale --idle --budget 3600": "nothing on battery power; tests/tools/replay_idle.py",
    "git clone https://github.com/oneapi-src/level-zero && cd level-zero": LOADER,
    "git checkout v1.32.0 && git am …/docs/upstream/level-zero-layers.patch": LOADER,
    "cmake -S . -B build -DBUILD_L0_LOADER_TESTS=1 && cmake --build build": LOADER,
    "ZEL_LIBRARY_PATH=$PWD/build/lib ctest --test-dir build": LOADER,
    "CKCACHE=… LOADER=build/lib WAY=loader sh …/tests/conformance/level_zero.sh PROGRAM …": LOADER,
    "ckcache push": TIER,
    "ckcache push --program blender": TIER,
    "ckcache pull": TIER,
    "ckcache prune --remote --max-size 50G": TIER,
}
# A block is one of commands if its first line begins with one of these, or with NAME=value.
COMMANDS = ("apt", "apt-get", "build/bin/ckcache", "cat", "ckcache", "cmake", "ctest", "dpkg",
            "echo", "git", "install", "make", "ninja", "openssl", "pkg-config", "printf", "python3",
            "rpm", "sh", "sudo", "systemctl")
FIRST = re.compile(r"(#.*\n)*((?:[A-Z_]+=\S* +)*(?:%s)(?: |$)|[A-Z_]+=\S* +\w)" %
                   "|".join(map(re.escape, COMMANDS)))


def documents():
    """{name: text} of every page, wherever it lies."""
    found = {}
    for folder, subfolders, names in os.walk(SOURCE):
        subfolders[:] = sorted(name for name in subfolders if not re.match(r"build|\.", name))
        for name in sorted(names):
            if name.endswith(".md"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    found[os.path.relpath(path, SOURCE)] = file.read()
    return found


def blocks(text):
    """The indented blocks and the fenced ones, without their indentation."""
    block, before, fenced = [], "", False
    for line in text.splitlines() + [""]:
        if line.startswith("```"):
            fenced = not fenced
        elif fenced:
            block.append(line)
            continue
        elif line.startswith("    ") and (block or not before.strip()):
            block.append(line[4:])
            continue
        if block:
            yield "\n".join(block)
        block, before = [], line


def manual_blocks(text):
    for block in re.findall(r"^\.Bd -literal.*?\n(.*?)^\.Ed", text, re.M | re.S):
        yield block.rstrip("\n")


def bare(line):
    """A command without its comment."""
    return re.sub(r"\s+#.*$", "", line).strip()


def commands():
    """{document: [blocks of commands]}"""
    found = {name: [block for block in blocks(text) if FIRST.match(block)]
             for name, text in documents().items()}
    for page in ("ckcache.1", "ckcache.7", "ckcache.conf.5"):
        with open(os.path.join(SOURCE, "docs", "man", page), encoding="utf-8") as file:
            found[page] = [block for block in manual_blocks(file.read()) if FIRST.match(block)]
    for verb in command_line.verbs():
        examples = command_line.help_of(verb).partition("Examples:\n")[2]
        found["ckcache %s --help" % verb] = [line.strip() for line in examples.splitlines()]
    return found


class Commands(tool_case.Folder):
    def prepare(self):
        """A fresh directory, with what the reader of any page would have."""
        place = tempfile.mkdtemp(dir=self.work)
        for name in ("home/.cache", "programs", "here", "elsewhere"):
            os.makedirs(os.path.join(place, name))
        caches.copy(SOURCE, os.path.join(place, "home/.cache/ckcache"))
        os.symlink(CKCACHE, os.path.join(place, "programs/ckcache"))
        os.symlink(os.path.dirname(os.path.dirname(CKCACHE)), os.path.join(place, "here/build"))
        for name in ("your-program", "command"):
            self.write(os.path.join(place, "programs", name), "#!/bin/sh\nexit 0\n", 0o755)
        # What examples of single verbs take for there.
        script = ("umask 077; openssl genpkey -algorithm ed25519 -out site.pem; openssl pkey -in "
                  "site.pem -pubout -out site.pub; ckcache export kernels.ckb --sign site.pem")
        self.run_in(place, script)
        return place

    def run_in(self, place, script):
        """What it says of the machine's own places is done in the directory elsewhere."""
        elsewhere = os.path.join(place, "elsewhere")
        script = re.sub(r"/scratch/project|/var/lib/ckcache", lambda found: elsewhere +
                        found.group(0), script)
        script = script.replace("-g project", "-g %s" % grp.getgrgid(os.getegid()).gr_name)
        os.makedirs(elsewhere + "/scratch/project", exist_ok=True)
        environment = {name: value for name, value in os.environ.items()
                       if name == "TMPDIR" or "SAN_OPTIONS" in name}
        environment.update({"HOME": os.path.join(place, "home"), "LC_ALL": "C.UTF-8",
                            "OCL_ICD_VENDORS": os.path.join(place, "elsewhere"),
                            "PATH": os.path.join(place, "programs") + ":" + os.environ["PATH"]})
        ran = subprocess.run(["sh", "-ec", script], cwd=os.path.join(place, "here"), env=environment,
                             stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
        self.assertEqual(ran.returncode, 0, (script, ran.stdout, ran.stderr))

    def test_each_runs(self):
        met, count = set(), 0
        for name, found in commands().items():
            place = self.prepare() if found else None
            for block in found:
                lines = [line for line in block.splitlines() if bare(line) not in NOT_RUN]
                met.update(bare(line) for line in block.splitlines())
                if any(line.strip() and not line.startswith("#") for line in lines):
                    count += len(lines)
                    with self.subTest(document=name):
                        self.run_in(place, "\n".join(lines))
        self.assertEqual(sorted(set(NOT_RUN) - met), [], "stand nowhere any more")
        print("%d lines of commands" % count)

    def test_a_block_that_fails_is_found(self):
        with self.assertRaises(AssertionError):
            self.run_in(self.prepare(), "ckcache list --nothing\ntrue")

    def test_blocks_are_found(self):
        text = "text\n\n    ckcache list\n    x\n\nmore\n    no block\n\n    struct x;\n"
        self.assertEqual(list(blocks(text)), ["ckcache list\nx", "struct x;"])
        self.assertTrue(FIRST.match("CKCACHE_DIR=x program"))
        self.assertFalse(FIRST.match("max_size = 3"))


class Mentions(unittest.TestCase):
    def words(self):
        """(document, what it has between backquotes); the history may name what is gone."""
        for name, text in documents().items():
            if name != "CHANGELOG.md":
                for word in re.findall(r"`([^`\n]+)`", text):
                    yield name, word

    def test_verbs_and_options_are_there(self):
        verbs = command_line.verbs()
        options = {verb: command_line.options(command_line.help_of(verb)) for verb in verbs}
        for name, word in self.words():
            found = re.match(r"(?:\w+=\S* )*ckcache ([a-z]+)(.*)", word)
            if not found:
                continue
            verb, rest = found.groups()
            self.assertIn(verb, verbs + ["help"], (name, word))
            for option in re.findall(r" --([a-z][a-z-]*)", rest if verb != "run" else ""):
                self.assertIn(option, list(options.get(verb, [])) + ["help"], (name, word))

    def test_scripts_are_there(self):
        for name, word in self.words():
            for path in re.findall(r"(?:sh|python3) ((?:tests|tools)/\S+\.(?:sh|py))", word):
                self.assertTrue(os.path.exists(os.path.join(SOURCE, path)), (name, path))

    def test_pages_are_there(self):
        for name, text in documents().items():
            for path in re.findall(r"\bdocs/[\w/.]+\.md\b", text):
                self.assertTrue(os.path.exists(os.path.join(SOURCE, path)), (name, path))


if __name__ == "__main__":
    CKCACHE, SOURCE = sys.argv[1:3]
    command_line.CKCACHE, command_line.SOURCE = CKCACHE, SOURCE
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
