# SPDX-License-Identifier: MIT
"""ckcache record and ckcache recipes: what one user records, another user's
drivers build before the program starts; two recordings are the same bytes; and
packs of any content harm nobody.

    recipes.py CKCACHE SOURCE-DIRECTORY STUB-DRIVER MAKE-PACK
"""
import ctypes
import glob
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

import machine
import schema

KERNEL = "kernel void scale(global int *a) { a[0] = N; }\n"
# A header that a package has, with nothing but macros.
HEADER = "/usr/include/CL/cl_version.h"
WITH_HEADER = "#define CL_TARGET_OPENCL_VERSION 300\n#include <CL/cl_version.h>\n" + KERNEL


def without_landlock():
    """From now on this process and its children are as on a kernel without it (seccomp(2))."""
    class Program(ctypes.Structure):
        _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_char_p)]
    # Load the call's number; unless it is landlock_create_ruleset's, pass over one; ENOSYS; allow.
    steps = ((0x20, 0, 0, 0), (0x15, 0, 1, 444), (0x06, 0, 0, 0x50000 | 38), (0x06, 0, 0, 0x7fff0000))
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    program = Program(len(steps), code)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "prctl")


def has_landlock():
    return ctypes.CDLL(None).syscall(444, None, 0, 1) > 0


class User:
    """One of several, who share nothing but the machine."""
    def __init__(self, case, name):
        self.case, self.name = case, name
        for folder in ("home", "tmp", "cwd", "driver"):
            os.makedirs(self.path(folder))
        case.write(self.path("driver", "stub_counts"), "")	# the stub driver counts where that is
        for file in ("stub_counts", "stub_settings"):	# a confined one reaches its cache alone
            os.symlink("../driver/" + file, self.path("home", file))

    def path(self, *names):
        return os.path.join(self.case.work, self.name, *names)

    def environment(self, extra=None):
        return {"HOME": self.path("home"), "TMPDIR": self.path("tmp"),
                "CKCACHE_DIR": self.path("cache"), "STUB_COUNTS": None, "STUB_SETTINGS": None,
                "XDG_DATA_DIRS": self.path("none") + ":" + self.path("share"),
                "POCL_CACHE_DIR": self.path("driver"), "POCL_KERNEL_CACHE": "0",
                "MESA_SHADER_CACHE_DISABLE": "true",
                **(self.case.extra or {}), **(extra or {})}

    def tool(self, *arguments, extra=None, **options):
        return self.case.tool(*arguments, extra=self.environment(extra), cwd=self.path("cwd"),
                              **options)

    def ends(self, code, *arguments, **options):
        ran = self.tool(*arguments, **options)
        self.case.assertEqual(ran.code, code, (arguments, ran))
        return ran

    def good(self, *arguments, **options):
        return self.ends(0, *arguments, **options)

    def builds(self, *events):
        """How often this user's stub driver built something from source, or did that."""
        with open(self.path("home", "stub_counts"), encoding="utf-8") as counts:
            return sum(line.strip() in (events or ("build-source",)) for line in counts)

    def settings(self, text):
        self.case.write(self.path("driver", "stub_settings"), text)

    def stats(self):
        return json.loads(self.good("stats", "--json").out)

    def build(self, *arguments, code=0, extra=None):
        """What became of each pack, by its name; stderr."""
        ran = self.tool("recipes", "build", "--json", "--jobs", "2", *arguments, extra=extra)
        if code is not None:
            self.case.assertEqual(ran.code, code, ran)
        packs = self.case.check_json(ran.out)
        names = [os.path.basename(pack["file"])[:-len(".ckrecipes")] for pack in packs]
        return dict(zip(names, packs)), ran.err


class Recipes(machine.Case):
    extra = None

    def setUp(self):
        super().setUp()
        self.drivers(machine.STUB)
        self.ann, self.ben = User(self, "ann"), User(self, "ben")

    def client(self, name="bench_client"):
        return os.path.join(os.path.dirname(self.command), name)

    def program(self, *builds):
        """A command that makes these builds: (source, options)."""
        lines = ["set -e"]
        for number, (source, options) in enumerate(builds):
            path = self.write(self.path("%d.cl" % number), source)
            lines.append("%s source %s '%s' >/dev/null" % (self.client(), path, options))
        return ["sh", "-c", "\n".join(lines)]

    def record(self, user, command, *options, name="pack", **more):
        pack = self.path(user.name, name + ".ckrecipes")
        ran = user.good("record", "-o", pack, *options, "--", *command, **more)
        return pack, ran.err

    def check_json(self, text):
        value = json.loads(text)
        self.assertEqual(list(schema.check(value, SCHEMA)), [])
        return value

    def make(self, user, name, *arguments):
        """A pack of this user's own that make_pack makes."""
        folder = user.path("home", ".local", "share", "ckcache", "recipes.d")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, name + ".ckrecipes")
        subprocess.run([MAKE_PACK, path, *arguments], check=True, timeout=60)
        return path


class Packs(Recipes):
    PROGRAM = ((KERNEL, "-DN=1"), (KERNEL, "-DN=2 -cl-mad-enable"),
               (WITH_HEADER, "-DN=3 -I/usr/include"))

    def test_another_user_starts_warm(self):
        command = self.program(*self.PROGRAM)
        pack, err = self.record(self.ann, command)
        self.assertIn("3 recipes", err)
        self.assertEqual(machine.tree(self.ann.path("tmp")), [])
        self.assertFalse(os.path.exists(self.ann.path("cache")))
        self.ben.good("recipes", "add", pack)
        self.ben.settings("STUB_DEVICES_WANT=TMPDIR\n")	# compilers write there
        packs, err = self.ben.build()
        self.assertEqual((packs["pack"]["built"], packs["pack"]["recipes"], err), (3, 3, ""))
        self.assertEqual(self.ben.builds(), 3 + 1)		# and the probe
        for _ in range(2):
            self.ben.good("run", "--", *command)
            self.assertEqual(self.ben.builds(), 4)
        stats = self.ben.stats()
        self.assertEqual((stats["misses"], stats["hits_disk"]), (0, 6))
        packs, err = self.ben.build()
        self.assertEqual((packs["pack"]["built"], packs["pack"]["there"], err), (0, 3, ""))
        self.assertEqual(self.ben.builds(), 4 + 1)
        self.assertEqual(machine.tree(self.ben.path("tmp")), [])

    def test_workers_store_whatever_programs_may_wait(self):
        pack, _ = self.record(self.ann, self.program(*self.PROGRAM))
        self.ben.good("recipes", "add", pack)
        ran = self.ben.good("recipes", "build", "--json")
        self.assertEqual([built["built"] for built in self.check_json(ran.out)], [3], ran)

    def test_recordings_are_the_same_bytes(self):
        first, _ = self.record(self.ann, self.program(*self.PROGRAM), "--name", "x")
        again = self.program(*self.PROGRAM[::-1])
        second, _ = self.record(self.ben, again, "--name", "x", extra={
            "USER": "ben", "LANG": "de_DE.UTF-8", "LD_LIBRARY_PATH": "/nowhere"})
        self.assertEqual(self.read_bytes(first), self.read_bytes(second))
        for word in (b"ann", b"ben", self.work.encode(), os.uname().nodename.encode()):
            self.assertNotIn(word, self.read_bytes(first))

    @unittest.skipIf(os.getuid(), "needs root")
    def test_on_another_host_as_another_user(self):
        other = ["setpriv", "--reuid", "54321", "--regid", "54321", "--clear-groups"]
        if subprocess.run(["unshare", "--uts", "true"], check=False, capture_output=True).returncode:
            self.skipTest("no namespaces here")
        self.copy_build()
        command = self.program(*self.PROGRAM)
        first, _ = self.record(self.ann, command, "--name", "x")
        os.chmod(self.work, 0o755)
        for folder, _, names in os.walk(self.path("ben")):
            for name in [".", *names]:
                os.lchown(os.path.join(folder, name), 54321, 54321)
        pack = self.path("ben", "pack.ckrecipes")
        environment = self.environment(self.ben.environment())
        ran = subprocess.run(
            ["unshare", "--uts", "sh", "-c", "hostname another-host; exec \"$@\"", "sh", *other, self.command,
             "record", "-o", pack, "--name", "x", "--", *command],
            env=environment, capture_output=True, timeout=120, cwd=self.ben.path("cwd"))
        self.assertEqual(ran.returncode, 0, ran)
        self.assertEqual(os.stat(pack).st_uid, 54321)
        self.assertEqual(self.read_bytes(first), self.read_bytes(pack))

    def test_merged_as_recorded_together(self):
        one, _ = self.record(self.ann, self.program((KERNEL, "-DN=1")), "--name", "x", name="one")
        two, _ = self.record(self.ann, self.program((KERNEL, "-DN=2")), "--name", "x", name="two")
        both, _ = self.record(self.ann, self.program((KERNEL, "-DN=2"), (KERNEL, "-DN=1")),
                              "--name", "x", name="both")
        merged = self.path("merged")
        for packs in ((one, two), (two, one), (two, both, one)):
            self.ann.good("record", "--output", merged,
                          *[word for pack in packs for word in ("--merge", pack)])
            self.assertEqual(self.read_bytes(merged), self.read_bytes(both))
        added, _ = self.record(self.ann, self.program((KERNEL, "-DN=2")), "--name", "x", "--merge",
                               one, name="added")
        self.assertEqual(self.read_bytes(added), self.read_bytes(both))

    def test_what_another_machine_has_not_is_left_out(self):
        os.mkdir(self.ann.path("home", "include"))
        self.write(self.ann.path("cwd", "own.h"), "int own;\n")
        command = self.program(
            (KERNEL, "-DN=1"), (KERNEL, "-DN=1 -I" + self.ann.path("home", "include")),
            (KERNEL + "// %s/x\n" % self.ann.path("home"), "-DN=1"),
            (KERNEL + "// %s/x\n" % self.ann.path("tmp"), "-DN=1"),
            ('#include "own.h"\n' + KERNEL, "-DN=1"), (KERNEL, "-DN=1 -DM=-such"))
        command[2] += "\nCUDA_FORCE_PTX_JIT=1 " + command[2].splitlines()[1]
        pack, err = self.record(self.ann, command)
        self.assertIn(" 1 recipes", err)
        for words in ("1, because an option names a file or directory of this machine",
                      "2, because a path of this user is in them (source)", "1, because an option is not known",
                      "1, because they read a file that no package has (./own.h)",
                      "1, because the program sets a variable that the driver reads (CUDA_FORCE"):
            self.assertIn(words, err)
        self.assertNotIn(self.work.encode(), self.read_bytes(pack))

    def test_variables_are_the_machines(self):
        command = self.program((KERNEL, "-DN=1"))
        plain, _ = self.record(self.ann, command)
        pack, _ = self.record(self.ann, command, extra={"CUDA_FORCE_PTX_JIT": "1"}, name="set")
        self.assertEqual(self.read_bytes(pack), self.read_bytes(plain))
        self.extra = {"CUDA_FORCE_PTX_JIT": "0"}
        self.ben.good("recipes", "add", pack)
        self.ben.build()
        built = self.ben.builds()
        self.ben.good("run", "--", *command)
        self.assertEqual(self.ben.builds(), built)

    def test_links_and_what_they_are_of(self):
        command = [self.client("opencl_client"), "-n", "link"]
        pack, err = self.record(self.ann, command, "--name", "x")
        self.assertIn("3 recipes", err)
        again, _ = self.record(self.ann, command, "--name", "x", "--merge", pack, name="again")
        self.assertEqual(self.read_bytes(pack), self.read_bytes(again))
        self.ben.settings("STUB_DRIVER_VERSION=2.0\n")	# its binaries are others
        self.ben.good("recipes", "add", pack)
        packs, err = self.ben.build()
        self.assertEqual((packs["pack"]["built"], packs["pack"]["recipes"], err), (3, 3, ""))
        self.assertEqual(self.ben.builds("compile"), 2)
        links = self.ben.builds("link")
        out = self.ben.good("run", "--", *command).out
        self.assertIn("link 0", out)
        self.assertEqual((self.ben.builds("compile"), self.ben.builds("link")), (2, links))
        packs, _ = self.ben.build()
        self.assertEqual((packs["pack"]["built"], packs["pack"]["there"]), (0, 3))

    def test_links_go_with_what_they_are_of(self):
        ran = self.ann.ends(1, "record", "-o", self.path("x"), "--", self.client("opencl_client"), "-n",
                            "link-changed", "", "int x", "3")
        self.assertIn("1, because they read a file that no package has (./value.h)", ran.err)
        self.assertIn("2, because they are linked of something that is not in the pack", ran.err)

    def test_for_devices_of_the_same_kind(self):
        command = self.program((KERNEL, "-DN=1"))
        pack, _ = self.record(self.ann, command)
        any_device, _ = self.record(self.ann, command, "--any-device", name="any")
        self.ben.settings("STUB_CHANGED=vendor_id\n")
        self.ben.good("recipes", "add", pack)
        packs, _ = self.ben.build()
        self.assertEqual((packs["pack"]["built"], packs["pack"]["elsewhere"]), (0, 1))
        self.ben.good("recipes", "add", any_device)
        packs, _ = self.ben.build()
        self.assertEqual(packs["any"]["built"], 1)
        self.ben.settings("STUB_CHANGED=name\nSTUB_DRIVER_VERSION=2.0\n")	# another model will do
        packs, _ = self.ben.build()
        self.assertEqual((packs["any"]["built"], packs["pack"]["there"]), (1, 1))

    def test_nothing_recorded(self):
        ran = self.ann.ends(1, "record", "-o", self.path("x"), "--", "true")
        self.assertIn("was not written: nothing was built", ran.err)
        self.assertFalse(os.path.exists(self.path("x")))
        self.ann.ends(127, "record", "-o", self.path("x"), "--", "no-such-command")
        self.ann.ends(1, "record", "-o", self.path("none", "x"), "--", "touch", self.path("ran"))
        self.assertFalse(os.path.exists(self.path("ran")))	# it could not have been written
        self.assertEqual(machine.tree(self.ann.path("tmp")), [])

    def test_without_the_layer_nothing_is_built(self):
        self.copy_build()
        os.unlink(self.path("build", "lib", "libckcache_opencl.so"))
        for verb in (["recipes", "build"], ["replay"]):
            self.assertIn("is not where", self.ben.ends(1, *verb).err)

    def test_a_command_that_fails_says_so(self):
        command = self.program((KERNEL, "-DN=1"))
        command[2] += "\nexit 3"
        ran = self.ann.ends(3, "record", "-o", self.path("x"), "--", *command)
        self.assertIn("ended with exit code 3", ran.err)
        self.assertTrue(os.path.exists(self.path("x")))

    def test_what_is_not_cached_is_counted(self):
        command = self.program((KERNEL, "-DN=1"), (KERNEL + "constant char when[] = __DATE__;\n", "-DN=2"),
                               (KERNEL + "constant char when[] = __DATE__;\n", "-DN=3"))
        _, err = self.record(self.ann, command)
        self.assertEqual([line.partition("left out: ")[2] for line in err.splitlines() if "left out" in line],
                         ["2, which ckcache does not cache (date)"], err)

    def test_files_that_are_not_added(self):
        for mode, content, words in ((0o644, "rubbish", "not used: it is damaged, or no pack"),
                                     (0o000, "rubbish", "access")):
            path = self.write("file", content, mode)
            if mode or os.geteuid():
                err = self.ben.ends(1, "recipes", "add", path).err
                self.assertIn(words, err)
                self.assertIn(path, err)
            os.unlink(path)
        err = self.ben.ends(1, "recipes", "add", self.path("none")).err
        self.assertNotIn("that only its owner may write to", err)

    def test_list_add_and_remove(self):
        licence = self.write("licence", "GNU GPL\nversion 3\n")
        pack, _ = self.record(self.ann, self.program((KERNEL, "-DN=1")), "--licence-file", licence,
                              "--name", "a program", name="one")
        self.assertEqual(self.ben.good("recipes", "list").out, "no packs\n")
        self.assertEqual(self.ben.good("recipes", "build").out, "no packs\n")
        self.assertIn(".local/share/ckcache/recipes.d/one.ckrecipes: 1 recipes;", self.ben.good("recipes", "add", pack).err)
        self.assertNotIn("no packs", self.ben.good("recipes", "build").out)
        out = self.ben.good("recipes", "list").out
        self.assertIn("one  1 recipes", out)
        self.assertIn("a program (GNU GPL)", out)
        [row] = self.check_json(self.ben.good("recipes", "list", "--json").out)
        self.assertEqual((row["name"], row["recipes"], row["programs"]),
                         ("one", 1, [{"name": "a program", "licence": "GNU GPL\nversion 3\n"}]))
        self.assertEqual(row["bytes"], os.path.getsize(pack))
        self.ben.good("recipes", "remove", "one")
        self.assertEqual(json.loads(self.ben.good("recipes", "list", "--json").out), [])
        self.ben.ends(1, "recipes", "remove", "one")
        self.ben.ends(1, "recipes", "add", licence)
        self.ben.ends(1, "recipes", "remove", "../../x")
        self.assertIn("neither XDG_DATA_HOME nor HOME names", self.ben.good("recipes", "list", extra={"HOME": None}).err)

    def test_packs_of_all_users(self):
        pack, _ = self.record(self.ann, self.program((KERNEL, "-DN=1")))
        folder = self.ben.path("share", "ckcache", "recipes.d")
        os.makedirs(folder)
        shutil.copy(pack, os.path.join(folder, "all.ckrecipes"))
        packs, _ = self.ben.build()
        self.assertEqual(packs["all"]["built"], 1)


class Hostile(Recipes):
    def setUp(self):
        super().setUp()
        self.make(self.ben, "zz-good", "sources", "kernel void good() {}")

    def expect(self, name, words, *arguments, lines=1, code=1, **counts):
        """One line about that pack, and the other is built."""
        packs, err = self.ben.build(*arguments, code=code)
        self.assertEqual(len(err.splitlines()), lines, err)
        self.assertIn(words, err)
        self.assertEqual(packs["zz-good"]["built"], 1)
        for count, value in counts.items():
            self.assertEqual(packs[name][count], value, packs)
        return packs

    def test_a_million_entries(self):
        self.make(self.ben, "a", "entries", "1000000")
        self.expect("a", "not used: it is over a bound (32 MiB in all, 8 MiB for a text, 4096 recipes)")

    def test_a_source_of_64_mib(self):
        self.make(self.ben, "a", "text", "64")
        self.expect("a", "not used: it is over a bound")
        self.make(self.ben, "b", "text", "9")	# the file is not
        os.unlink(self.ben.path("home", ".local/share/ckcache/recipes.d/a.ckrecipes"))
        packs, err = self.ben.build(code=1)
        self.assertIn("not used: it is over a bound", err)

    def test_a_thousand_places_of_devices(self):
        self.make(self.ben, "a", "places", "kernel void k() {}")
        self.expect("a", "the driver did not build it", failed=1, built=0)

    def test_options_that_name_files(self):
        target = self.ben.path("home", "target")
        self.make(self.ben, "a", "options", "-o " + target, "-include /etc/passwd",
                  "-Xclang -load -Xclang /tmp/x.so", "-I" + self.ben.path("home"))
        self.expect("a", "4 not built: ", refused=4, built=0)
        self.assertEqual(self.ben.builds(), 2)		# the probe, the good one
        self.assertFalse(os.path.exists(target))

    def test_options_that_are_read_in_two_ways(self):
        target = self.ben.path("home", "target")
        path = self.make(self.ben, "a", "options", "-D 'A=x -dependency-file %s -DB'" % target,
                         "-DA=\"-igc_opts 'ShaderDumpEnable=1,DumpToCustomDir=%s'\"" % target)
        self.expect("a", "2 not built: an option is not known", refused=2, built=0)
        ran = self.ben.ends(1, "recipes", "add", path)
        self.assertIn("not added: it has programs that are not built, because an option", ran.err)

    def include_private_file(self, name="a", words=""):
        """A pack whose source is a file of the user's."""
        self.write(self.ben.path("home", "private.h"), "kernel void secret() {}\n")
        self.make(self.ben, name, "sources", '#include "../../home/private.h"\n' + words)

    @unittest.skipUnless(has_landlock(), "no Landlock")
    def test_files_of_the_user_are_not_read(self):
        self.include_private_file()
        self.expect("a", "the driver did not build it", failed=1, built=0)
        packs, _ = self.ben.build("--unconfined", code=0)
        self.assertEqual(packs["a"]["built"], 1)	# which shows that it could be read

    def test_without_landlock_nothing_is_built(self):
        self.include_private_file()
        ran = self.ben.ends(1, "recipes", "build", preexec_fn=without_landlock)
        self.assertEqual(len(ran.err.splitlines()), 1, ran)
        self.assertIn("--unconfined builds packs all the same", ran.err)
        self.assertEqual(self.ben.builds(), 0)
        ran = self.ben.good("recipes", "build", "--unconfined", "--json", preexec_fn=without_landlock)
        self.assertEqual([pack["built"] for pack in self.check_json(ran.out)], [1, 1])

    def test_nothing_goes_to_a_tier(self):
        os.mkdir(self.path("tier"))
        self.write(self.ben.path("home", ".config", "ckcache", "ckcache.conf"),
                   "remote = file:%s\n" % self.path("tier"))
        self.make(self.ben, "a", "recipes", "3")
        for option in ("--budget=100", "--unconfined"):
            ran = self.ben.good("recipes", "build", option)
            self.assertEqual((machine.tree(self.path("tier")), ran.err), ([], ""))
        self.assertFalse(os.path.exists(self.ben.path("cache", "uploads")))

    def test_settings_count(self):
        packs, err = self.ben.build(code=None, extra={"CKCACHE_MAX_DEVICE_IMAGE_SIZE": "1"})
        self.assertEqual((packs["zz-good"]["built"], packs["zz-good"]["other"]), (0, 1), err)

    @unittest.skipUnless(has_landlock(), "no Landlock")
    def test_what_is_left_of_a_pack_is_not_replayed(self):
        self.make(self.ben, "a", "sources", "#pragma stub_hang\n")
        process = self.start("recipes", "build", extra=self.ben.environment(), stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
        self.addCleanup(process.kill)
        while not glob.glob(self.ben.path("cache", "recipes", "*.recipe")):
            self.assertIsNone(process.poll())
            time.sleep(0.05)	# it says nothing when it begins
        process.send_signal(signal.SIGTERM)
        process.wait()
        self.assertEqual(len(glob.glob(self.ben.path("cache", "recipes", "*.recipe"))), 1)
        ran = self.ben.good("replay", "--json")
        self.assertEqual(json.loads(ran.out)["built"], 0)
        self.assertEqual(glob.glob(self.ben.path("cache", "recipes", "*.recipe")), [])

    @unittest.skipUnless(has_landlock(), "no Landlock")
    def test_after_an_update_it_is_confined_as_well(self):
        self.include_private_file()
        packs, _ = self.ben.build("--unconfined", code=0)
        self.assertEqual(packs["a"]["built"], 1)
        command = self.program((KERNEL, "-DN=1"))
        self.ben.good("run", "--", *command)
        self.ben.settings("STUB_DRIVER_VERSION=2.0\n")
        ran = self.ends(0, "replay", "--stale", "--json", extra=self.ben.environment(),
                        cwd=self.ben.path("cache", "recipes"))		# where the file's name holds
        value = json.loads(ran.out)
        self.assertEqual((value["stale"], value["built"], value["outdated_changed"]), (3, 2, 1), ran)

    def test_links_of_nothing(self):
        self.make(self.ben, "a", "link", "x", "y")
        self.expect("a", "2 not built: what it is linked of is not there", refused=2)

    def test_links_of_too_many_links(self):
        self.make(self.ben, "a", "links", "1000")
        start = time.monotonic()
        self.expect("a", "8 not built: what it is linked of is not there", refused=8)
        self.assertLess(time.monotonic() - start, 60)

    def test_include_loops(self):
        self.write(self.ben.path("cwd", "loop.h"), '#include "loop.h"\n#include "loop.h"\n')
        self.make(self.ben, "a", "sources", '#include "loop.h"\n#include "loop.h"\n')
        self.expect("a", "the driver did not build it", failed=1)

    def test_a_compiler_that_hangs(self):
        self.make(self.ben, "a", "sources", *["#pragma stub_hang %d\n" % i for i in range(9)])
        start = time.monotonic()
        packs = self.expect("a", "it timed out", "--timeout", "1", "--budget", "2", lines=2, built=0)
        self.assertLess(time.monotonic() - start, 60)
        left = glob.glob(self.ben.path("cache", "recipes", "*.recipe"))
        self.assertEqual(len(left), packs["a"]["failed"])	# which are tried once more; others the pack still has
        self.expect_second()

    def expect_second(self):
        """The next time other recipes of it have their turn; then none is left, and none is tried."""
        for _ in range(60):	# on a busy machine few have it each time
            packs, _ = self.ben.build("--timeout", "1", "--budget", "2", code=None)
            if packs["a"]["quarantined"] == 9:
                break
        self.assertEqual((packs["a"]["quarantined"], packs["a"]["failed"]), (9, 0), packs)

    def test_what_fails_is_tried_twice(self):
        self.make(self.ben, "a", "sources", "#error\n")
        self.expect("a", "the driver did not build it", failed=1)
        self.ben.good("replay")	# the count stays
        packs, err = self.ben.build(code=1)
        self.assertIn("it will not be tried again", err)
        built = self.ben.builds()
        packs, err = self.ben.build()
        self.assertEqual(packs["a"]["quarantined"], 1)
        self.assertEqual(self.ben.builds(), built + 1)	# the probe

    def test_many_that_fail_are_one_line(self):
        self.make(self.ben, "a", "sources", *["#error %d\n" % i for i in range(30)])
        self.expect("a", "the driver did not build it", failed=30)

    def test_headers_that_differ(self):
        self.make(self.ben, "a", "header", "/usr/share/no such header")
        self.expect("a", "a header is missing: /usr/share/no such header", refused=1)
        self.make(self.ben, "a", "header", "/usr/bin/env")
        packs, err = self.ben.build(code=1)
        self.assertIn("a header is another one here: /usr/bin/env", err)
        self.make(self.ben, "a", "header", "/etc/shadow")
        packs, err = self.ben.build(code=1)
        self.assertIn("no package's", err)
        self.assertEqual(self.ben.builds(), 4)		# three probes, the good one

    def test_damaged_packs(self):
        path = self.make(self.ben, "a", "recipes", "3")
        content = self.read_bytes(path)
        for damaged in (b"", b"rubbish" * 9, content[:-1], content + b"x",
                        content[:50] + b"\xff" + content[51:]):
            self.write(path, damaged)
            _, err = self.ben.build(code=1)
            self.assertIn("it is damaged, or no pack", err)
        self.write(path, content[:8] + b"\x07" + content[9:])
        self.expect_version()

    def expect_version(self):
        _, err = self.ben.build(code=1)
        self.assertIn("another version of ckcache wrote it", err)

    def test_whom_nobody_trusts(self):
        path = self.make(self.ben, "a", "recipes", "1")
        os.chmod(path, 0o666)
        self.expect("a", "that only its owner may write to")
        os.chmod(path, 0o644)
        os.rename(path, self.path("moved"))
        os.symlink(self.path("moved"), path)
        packs, err = self.ben.build(code=1)
        self.assertIn("that only its owner may write to", err)
        os.chmod(os.path.dirname(path), 0o777)
        packs, err = self.ben.build(code=1)
        self.assertEqual(packs, {})
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertIn("not read: it is no directory of root's or yours", err)

    def test_too_many_packs(self):
        folder = os.path.dirname(self.make(self.ben, "a", "recipes", "1"))
        for number in range(260):
            shutil.copy(os.path.join(folder, "a.ckrecipes"), folder + "/%d.ckrecipes" % number)
        ran = self.ben.tool("recipes", "list", "--json")
        names = [pack["name"] for pack in json.loads(ran.out)]
        self.assertEqual((ran.code, len(names), names), (1, 256, sorted(names)))
        self.assertIn("more than 256 packs", ran.err)


class Drivers(Recipes):
    """Each real driver that is installed."""
    guarded = False	# they leave their compilers behind at exit

    def use(self, pack, command, count=None):
        """A program of a pack finds each built that it builds."""
        self.ben.good("recipes", "add", pack)
        packs, _ = self.ben.build()
        built = packs["pack"]["built"]
        self.assertEqual(built, count or packs["pack"]["recipes"], packs)
        self.ben.good("stats", "--zero")
        self.ben.good("run", "--", *command)
        stats = self.ben.stats()
        self.assertEqual((stats["misses"], stats["hits_disk"]), (0, built), stats)

    def warm(self, name, command, count=None):
        self.extra = machine.DRIVERS[name][1]
        self.drivers(machine.driver_file(name))
        pack, err = self.record(self.ann, command, "--name", "x")
        again, _ = self.record(self.ben, command, "--name", "x")
        self.assertEqual(self.read_bytes(pack), self.read_bytes(again))
        self.assertLess(os.path.getsize(pack), 1 << 20)
        self.use(pack, command, count)

    def of_ours(self, name):
        if not machine.driver_file(name):
            self.skipTest("%s is not installed" % name)
        self.warm(name, self.program(*Packs.PROGRAM), 3)

    def attacked(self, name):
        """What a pack asks for, it does not get; the same with a private file's content."""
        if not machine.driver_file(name):
            self.skipTest("%s is not installed" % name)
        self.extra = machine.DRIVERS[name][1]
        self.drivers(machine.driver_file(name))
        private = self.write(self.ben.path("home", "private.h"), "kernel void secret() {}\n")
        target = self.ben.path("home", "target")
        self.make(self.ben, "options", "options", "-D 'A=x -dependency-file %s -DB'" % target,
                  "-DA=\"-igc_opts 'ShaderDumpEnable=1,DumpToCustomDir=%s'\"" % target, "-I" + target)
        self.make(self.ben, "private", "sources", '#include "%s"\n' % private)
        self.make(self.ben, "good", "sources", "kernel void good() {}\n")
        if not has_landlock():
            self.assertIn("no Landlock", self.ben.ends(1, "recipes", "build").err)
            return
        packs, _ = self.ben.build(code=1)
        self.assertEqual([(packs[pack]["built"], packs[pack]["refused"], packs[pack]["failed"])
                          for pack in ("options", "private", "good")], [(0, 3, 0), (0, 0, 1), (1, 0, 0)])
        self.assertFalse(os.path.exists(target))
        packs, _ = self.ben.build("--unconfined", code=None)
        self.assertEqual(packs["private"]["built"], 1)	# it could be read

    def test_attack_on_neo(self):
        self.attacked("neo")

    def test_attack_on_rusticl(self):
        self.attacked("rusticl")

    def test_attack_on_pocl(self):
        self.attacked("pocl")

    def test_neo(self):
        self.of_ours("neo")

    def test_rusticl(self):
        self.of_ours("rusticl")

    def test_pocl(self):
        self.of_ours("pocl")

    @unittest.skipUnless(glob.glob("/usr/lib/*/libze_intel_gpu.so.1"), "no Level Zero driver")
    def test_level_zero(self):
        client = self.client("level_zero_client")
        if not os.path.exists(client):
            self.skipTest("built without Level Zero")
        # As tests/level_zero/intel.h has it.
        self.extra = {**machine.DRIVERS["neo"][1], "UseBindlessMode": "0",
                      "UseExternalAllocatorForSshAndDsh": "0", "OverrideMaxWorkgroupSize": "1024"}
        command = [client, "driver=0", "il=plain", "create", "flags=-ze-opt-disable", "create",
                   "il=one", "flags", "create"]
        pack, err = self.record(self.ann, command)
        self.assertIn("3 recipes", err)
        self.use(pack, command, 3)

    @unittest.skipUnless(shutil.which("darktable-cltest"), "no darktable")
    def test_darktable(self):
        if not machine.driver_file("neo"):
            self.skipTest("neo is not installed")
        # It has a cache of its own, which each start finds empty.
        self.warm("neo", ["sh", "-c", "rm -rf d && darktable-cltest --configdir d/c --cachedir d/k "
                          ">/dev/null 2>&1"])


if __name__ == "__main__":
    SCHEMA = schema.read(os.path.join(sys.argv[2], "docs", "JSON.md"))["recipes"]
    MAKE_PACK = os.path.abspath(sys.argv[4])
    machine.main()
