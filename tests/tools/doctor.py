# SPDX-License-Identifier: MIT
"""ckcache doctor: on good and bad machines, which are made of drivers, loaders,
directories and settings.

    doctor.py CKCACHE SOURCE-DIRECTORY STUB-DRIVER RUDE-DRIVER
"""
import ctypes
import json
import os
import re
import resource
import signal
import subprocess
import time
import unittest

import machine
import schema
import terminal
import tool_case

NOBODY = 54321	# whom no account has


def sanitized():
    with open(machine.CKCACHE, "rb") as command:
        return b"__asan_report_" in command.read()  # it asks for __asan_init in any build


class Doctor(machine.Case):
    """With the stub driver, unless a test names others."""
    def setUp(self):
        super().setUp()
        self.drivers(machine.STUB)

    def doctor(self, *arguments, code=0, leaves=(), **options):
        """Its JSON, which fits the schema; and nothing was left anywhere."""
        ran = self.ends(code, "doctor", "--json", *arguments, **options)
        value = json.loads(ran.out)
        wrong = schema.check(value, schema.read(os.path.join(machine.SOURCE, "docs", "JSON.md"))["doctor"])
        self.assertEqual(list(wrong), [], ran)
        self.assertEqual(value["works"], code == 0)
        self.assertEqual(value["problems"], len(self.marked(value, "problem")))
        self.assertEqual(ran.err, "", ran)
        self.left_nothing(leaves)
        return value

    def environment(self, extra=None):
        made = super().environment(extra)
        if sanitized():
            # Intel's driver for Level Zero is opened in the same way.
            self.write(self.path("no loader", "libze_loader.so.1"), "")
            made["LD_LIBRARY_PATH"] = ":".join(filter(None, [made.get("LD_LIBRARY_PATH"),
                                                             self.path("no loader")]))
        return made

    def left_nothing(self, but=()):
        for folder in ("home", "cwd", "tmp"):
            self.assertEqual(machine.tree(self.path(folder)), [])
        if not but:
            self.assertFalse(os.path.lexists(self.root))

    def marked(self, value, mark):
        return [finding["text"] for finding in value["findings"] if finding["mark"] == mark]

    def level_zero(self, value):
        return any("libze_loader" in finding["text"] and finding["mark"] == "ok" for finding in value["findings"])

    def says(self, value, mark, text):
        """The one finding of that mark that has the text; it."""
        found = [finding for finding in value["findings"]
                 if finding["mark"] == mark and text in finding["text"]]
        self.assertEqual(len(found), 1, (text, value["findings"]))
        if mark == "problem":
            self.assertTrue(found[0]["advice"])
        return found[0]


class Drivers(Doctor):
    def test_the_stub(self):
        begun = time.monotonic()
        value = self.doctor(extra={"STUB_DEVICES": "3", "STUB_DRIVER_VERSION": "1.2.3"})
        self.assertEqual([device["result"] for device in value["devices"]],
                         ["hit", "as-another", "as-another"])
        self.assertEqual([value["devices"][0][name] for name in ("platform", "name", "driver_version", "library")],
                         ["stub", "stub device", "1.2.3", machine.STUB])
        self.says(value, "ok", "(%s) has 3 devices" % machine.STUB)
        self.assertRegex(self.says(value, "ok", "compiled in ")["text"],
                         r"^stub, stub device \(1.2.3\): compiled in [0-9.]+ \w+, loaded again in [0-9.]+ \w+; "
                         r"reading its binary took [0-9.]+ \w+ \(eager\)$")
        times = [value["devices"][0][member] for member in ("compile_ms", "capture_ms", "hit_ms")]
        self.assertTrue(0 <= min(times) <= sum(times) < 1000 * (time.monotonic() - begun), times)
        self.assertEqual(self.counted("build-source"), 1)
        self.assertEqual(self.counted("build-binary"), 1)
        self.says(value, "ok", "the layer is loaded and answers")
        loaders = [text for text in self.marked(value, "ok") if "the loader is " in text]
        self.assertEqual(len(loaders), 2 if self.level_zero(value) else 1)
        self.assertRegex(loaders[0], r"is /\S+: \S.* \d+\.\d+")

    def test_quick_compiles_nothing(self):
        value = self.doctor("--quick")
        self.assertTrue(self.says(value, "ok", "(%s) has 1 device" % machine.STUB)["text"].endswith(" device"))
        self.assertEqual([device["result"] for device in value["devices"]], ["not-tried"])
        self.assertEqual(self.counted("build-source"), 0)

    def test_a_layer_that_is_on_already(self):
        layer = os.path.join(os.path.dirname(machine.CKCACHE), "..", "lib", "libckcache_opencl.so")
        for value in (layer, os.path.realpath(layer), "/nowhere/libckcache_opencl.so:/nowhere/x.so"):
            found = self.doctor(extra={"OPENCL_LAYERS": value})
            self.says(found, "ok", "OPENCL_LAYERS is " + value)
            self.assertEqual(found["devices"][0]["result"], "hit")

    def test_another_layer_between_the_cache_and_the_driver(self):
        own = os.path.join(os.path.dirname(machine.CKCACHE), "..", "lib", "libckcache_opencl.so")
        other = os.path.join(os.path.dirname(machine.STUB), "..", "tests", "opencl", "other_layer_changes",
                             "libother_layer.so")
        for quick in ([], ["--quick"]):
            found = self.doctor(*quick, code=1, extra={"OPENCL_LAYERS": other + ":" + own})
            self.assertIn("before the others", self.says(found, "problem", "another layer")["advice"])
            self.assertEqual(self.marked(found, "problem"), self.marked(found, "problem")[:1])
        for value in (other, own + ":" + other):  # ckcache run puts its own where it belongs
            found = self.doctor(extra={"OPENCL_LAYERS": value})
            self.assertEqual(found["devices"][0]["result"], "hit")

    def test_no_driver(self):
        os.unlink(self.path("vendors", "0.icd"))
        value = self.doctor(code=1)
        self.assertIn("install a driver", self.says(value, "problem", "no device")["advice"])

    def test_files_of_drivers_that_are_broken(self):
        self.drivers(machine.STUB, "/nowhere/libnothing.so", "", self.path("cwd"),
                     os.path.join(machine.SOURCE, "LICENSE"))
        value = self.doctor()
        self.says(value, "note", "of %s cannot be loaded: /nowhere/libnothing.so: cannot open" % self.path("vendors", "1.icd"))
        self.says(value, "note", "2.icd names no driver")
        self.assertEqual(len([text for text in self.marked(value, "note")
                              if "cannot be loaded" in text]), 3)

    def one_driver(self, vendors, path=None, **options):
        """The stub is the one driver that is found, and no other is spoken of."""
        value = self.doctor("--quick", extra={"OCL_ICD_VENDORS": vendors, "OPENCL_VENDOR_PATH": path}, **options)
        self.assertEqual([device["library"] for device in value["devices"]], [machine.STUB])
        self.assertEqual([finding for finding in value["findings"]
                          if finding["section"] == "opencl" and finding["mark"] != "ok"], [])

    def test_what_ocl_icd_takes_for_a_driver(self):
        self.write(self.path("vendors", ".icd"), "")
        self.one_driver(self.path("vendors"))
        self.one_driver("vendors", cwd=self.work)
        self.one_driver("", self.path("vendors"))
        self.one_driver(None, self.path("vendors"))
        self.one_driver(None, "vendors", cwd=self.work)
        self.one_driver(self.path("vendors", "0.icd"))
        self.one_driver("vendors/0.icd", cwd=self.work)
        self.write("elsewhere/vendors/0.icd", "/nowhere/libnothing.so\n")
        self.one_driver("vendors/0.icd", self.path("elsewhere"), cwd=self.work)
        # A name alone is looked for in the vendors' directory, then here.
        self.one_driver("0.icd", self.path("vendors"))
        self.one_driver("0.icd", "/nowhere", cwd=self.path("vendors"))
        self.write(self.path("elsewhere", "0.icd"), "/nowhere/libnothing.so\n")
        self.one_driver("0.icd", self.path("vendors"), cwd=self.path("elsewhere"))
        self.one_driver(machine.STUB)

    def test_a_library_by_its_name_is_the_linkers(self):
        name = os.path.basename(machine.STUB)
        os.symlink(machine.STUB, self.path("vendors", name))
        value = self.doctor("--quick", code=1, cwd=self.path("vendors"), extra={"OCL_ICD_VENDORS": name})
        self.says(value, "note", "%s: cannot open" % name)
        found = self.doctor("--quick", extra={"OCL_ICD_VENDORS": name, "LD_LIBRARY_PATH": self.path("vendors")})
        self.assertEqual(len(found["devices"]), 1)

    def test_what_ocl_icd_does_not_read(self):
        # Only a directory may stand there.
        value = self.doctor("--quick", code=1, extra={"OCL_ICD_VENDORS": None,
                                                      "OPENCL_VENDOR_PATH": self.path("vendors", "0.icd")})
        self.assertEqual(value["devices"], [])

    def test_one_that_crashes_is_named(self):
        self.drivers(machine.STUB, machine.RUDE)
        value = self.doctor(code=1, extra={"RUDE_SAYS": "first\nlast words \n"})
        found = self.says(value, "problem", machine.RUDE)
        self.assertRegex(found["text"], r"crashed \(SIGABRT\) .*: last words$")
        self.assertIn("1.icd", found["advice"])
        self.assertEqual(value["problems"], 1)

    def test_one_that_hangs_is_named(self):
        self.drivers(machine.RUDE, machine.STUB)
        value = self.doctor("--timeout", "1", code=1, extra={"RUDE": "hang"})
        self.assertIn("did not answer within 1 s", self.says(value, "problem", machine.RUDE)["text"])

    def test_one_that_ends_the_process_is_named(self):
        self.drivers(machine.STUB, machine.RUDE)
        value = self.doctor(code=1, extra={"RUDE": "exit"})
        self.assertIn("was ended by a driver", self.says(value, "problem", machine.RUDE)["text"])

    def test_builds_that_crash_fail_or_hang_are_the_drivers(self):
        value = self.doctor(extra={"STUB_CRASH": "1"})
        self.assertIn("SIGABRT", self.says(value, "note", "with or without the cache")["text"])
        self.assertEqual(value["devices"][0]["result"], "driver-fails")
        value = self.doctor(extra={"STUB_NO_MEMORY": "9"})
        self.says(value, "note", "with or without the cache: clBuildProgram: OpenCL error -6")
        os.mkfifo(self.path("gate"))
        # Enough for all but the build.
        value = self.doctor("--timeout", "10", extra={"STUB_GATE": self.path("gate")})
        self.says(value, "note", "did not answer within 10 s")
        self.assertEqual(value["devices"][0]["result"], "driver-fails")

    def test_what_only_crashes_with_the_cache_is_the_caches(self):
        own = os.path.join(os.path.dirname(machine.CKCACHE), "..", "lib", "libckcache_opencl.so")
        for layers in (None, own):
            value = self.doctor(code=1, extra={"OPENCL_LAYERS": layers, "STUB_LATE_LIBRARY": machine.RUDE,
                                               "RUDE": "cache"})
            self.says(value, "problem", "builds a small program, but not with the cache: a process crashed")
            self.assertEqual(value["devices"][0]["result"], "fails")
        self.drivers(machine.STUB, machine.RUDE)
        value = self.doctor(code=1, extra={"RUDE": "cache"})
        self.assertRegex(self.says(value, "problem", "a process with the layer crashed")["text"],
                         "and without it does not$")

    def test_one_that_gives_no_binary(self):
        value = self.doctor(code=1, extra={"STUB_NO_BINARY": "1"})
        self.says(value, "problem", "not cached: no-binary")
        self.assertEqual(value["devices"][0]["result"], "not-cached")

    def test_one_that_refuses_its_binary(self):
        value = self.doctor(code=1, extra={"STUB_REFUSE_BINARY": "1"})
        self.says(value, "problem", "does not find what was stored")
        self.assertEqual(value["devices"][0]["result"], "no-hit")
        self.assertIsNone(value["devices"][0]["hit_ms"])

    def test_real_ones(self):
        self.guarded = False	# they leave their compilers behind at exit
        required = os.environ.get("CKCACHE_TEST_REQUIRE_DRIVERS")
        # Who made the list left out what does not work here without ckcache, either.
        listed, required, tried = required is not None, (required or "").split(), 0
        for name, (_, variables) in machine.DRIVERS.items():
            library = machine.driver_file(name)
            if library and name == "neo" and sanitized():
                continue	# it is opened in a way (RTLD_DEEPBIND) that the runtime refuses
            if not library:
                self.assertNotIn(name, required)
                continue
            if listed and name not in required:
                continue
            tried += 1
            self.drivers(library)
            value = self.doctor("--timeout", "120", extra=variables)
            of_it = [device for device in value["devices"] if device["api"] == "opencl"]
            self.assertTrue(of_it, (name, value))
            for device in of_it:
                self.assertEqual(os.path.realpath(device["library"]), os.path.realpath(library))
            for device in value["devices"]:
                self.assertTrue(device["library"])
                self.assertEqual(device["result"], "hit", (name, value))
                self.assertGreater(device["compile_ms"], 0)
            if name == "neo" and "ze_intel" in required:
                self.assertIn("level-zero", [device["api"] for device in value["devices"]])
                self.says(value, "ok", "the plugin is loaded")
            taken = [text for text in self.marked(value, "ok") if "reading its binary took" in text]
            self.assertIn("deferred" if name == "pocl" else "eager", taken[0])
        if not tried:
            self.skipTest("no real driver")

    def test_one_without_a_device(self):
        for name, advice in (("libRusticlOpenCL.so.1", "RUSTICL_ENABLE"), ("libamdocl64.so", "/dev/kfd")):
            self.drivers(self.write(name, self.read_bytes(machine.STUB)))
            value = self.doctor(code=1, extra={"STUB_DEVICES_WANT": "NOBODY_HAS_THIS"})
            self.assertIn(advice, self.says(value, "note", "has no device here")["advice"])
            self.assertEqual([text for text in self.marked(value, "ok") if " has 1 device" in text], [])

    def test_level_zero(self):
        stub = machine.stub_gpu(os.path.dirname(os.path.dirname(machine.CKCACHE)))
        value = self.doctor(extra={"ZE_ENABLE_ALT_DRIVERS": stub})
        if not self.level_zero(value):
            self.skipTest("no loader")
        self.assertEqual(self.marked(value, "problem") + [text for text in self.marked(value, "note") if "ZEL_" in text], [])
        self.says(value, "ok", "the plugin is loaded; 1 device of " + stub)
        self.assertEqual([[device[name] for name in ("platform", "name", "driver_version", "library", "result")]
                          for device in value["devices"] if device["api"] == "level-zero"],
                         [["Level Zero", "Stub GPU 1", "1.3.8997", stub, "hit"]])
        value = self.doctor("--quick", extra={"ZE_ENABLE_ALT_DRIVERS": "/nowhere", "ZEL_LIBRARY_PATH": "/nowhere"})
        self.says(value, "note", "no driver has a device here: zeInit fails")
        self.says(value, "note", "ZEL_LIBRARY_PATH is /nowhere")


class Loaders(Doctor):
    def fake(self, content):
        return {"LD_LIBRARY_PATH": os.path.dirname(self.write("loader/libOpenCL.so.1", content))}

    def test_none_that_can_be_loaded(self):
        value = self.doctor(code=1, extra=self.fake("no library"))
        self.assertIn("ocl-icd", self.says(value, "note", "no OpenCL loader")["advice"])
        self.says(value, "problem", "no device")

    def test_one_that_is_none(self):
        value = self.doctor(code=1, extra=self.fake(self.read_bytes(machine.STUB)))
        self.says(value, "note", "it lacks functions")

    def test_one_that_is_older(self):
        """OpenCL 1.1 is enough, and no less."""
        ctypes.CDLL("libOpenCL.so.1")
        with open("/proc/self/maps", encoding="utf-8") as maps:
            path = next(line.split()[-1] for line in maps if "/libOpenCL.so.1" in line)
        old = self.read_bytes(path).replace(b"\0clLinkProgram\0", b"\0clLinkPrograX\0")
        self.assertEqual(self.doctor(extra=self.fake(old))["devices"][0]["result"], "hit")
        value = self.doctor(code=1, extra=self.fake(old.replace(b"\0clBuildProgram\0", b"\0clBuildPrograX\0")))
        self.says(value, "note", "it lacks functions")

    def test_one_that_hangs(self):
        extra = {**self.fake(self.read_bytes(machine.RUDE)), "RUDE": "hang"}
        value = self.doctor("--timeout", "1", code=1, extra=extra)
        self.says(value, "problem", "did not answer within 1 s")

    def test_a_command_without_its_layers(self):
        self.command = self.write("bin/ckcache", self.read_bytes(machine.CKCACHE), 0o755)
        ran = self.ends(1, "doctor")
        self.assertIn("libckcache_opencl.so is missing", ran.out)
        self.left_nothing()

    def test_libraries_that_are_broken(self):
        build, layer = os.path.dirname(os.path.dirname(machine.CKCACHE)), self.path("build", "lib", "libckcache_opencl.so")
        self.copy_build()
        for content, what in ((b"", "the loader does not load the layer"),
                              (self.read_bytes(os.path.join(build, "tests", "opencl", "other_layer_changes",
                                                            "libother_layer.so")), "but does not answer")):
            os.unlink(layer)
            self.write(layer, content)
            self.says(self.doctor("--quick", code=1), "problem", what)
        slot = self.path("build", "lib", "ckcache", "libze_validation_layer.so.1")
        if not os.path.exists(slot):
            return
        os.unlink(slot)
        value = self.doctor("--quick", code=1, extra={"ZE_ENABLE_ALT_DRIVERS": machine.stub_gpu(build)})
        self.says(value, "problem", "the slot (ckcache/libze_validation_layer.so.1) is missing")
        if self.level_zero(value):
            self.says(value, "problem", "the plugin is not loaded")

    def test_files_that_name_layers(self):
        self.write(self.path("layers", "gone.lay"), "/nowhere/libckcache_opencl.so\n")
        self.write(self.path("layers", "other.lay"), "libother.so\n")
        self.write(self.path("layers", "other.txt"), "libother.so\n")
        value = self.doctor(extra={"OPENCL_LAYER_PATH": self.path("layers")})
        self.says(value, "note", "gone.lay names /nowhere/libckcache_opencl.so, which cannot be read")
        self.says(value, "ok", "other.lay names libother.so")
        self.assertNotIn("other.txt", str(value))


class Directories(Doctor):
    def quick(self, code=0, **options):
        return self.doctor("--quick", code=code, leaves=("root",), **options)

    def test_a_good_one(self):
        os.mkdir(self.root, 0o700)
        value = self.quick()
        self.says(value, "ok", "%s (from CKCACHE_DIR), owned by " % self.root)
        self.says(value, "ok", "written and locked")
        self.says(value, "ok", "0 B of at most 8.0 GiB are in use")
        self.says(value, "ok", "nothing has been counted yet")
        self.assertEqual(os.listdir(self.root), [])

    def test_where_it_comes_from(self):
        value = self.quick(extra={"CKCACHE_DIR": None})
        self.says(value, "ok", "home/.cache/ckcache (from HOME)")
        value = self.quick(extra={"CKCACHE_DIR": None, "XDG_CACHE_HOME": self.path("cwd")})
        self.says(value, "ok", "cwd/ckcache (from XDG_CACHE_HOME)")
        value = self.quick(code=1, extra={"CKCACHE_DIR": None, "HOME": None})
        self.says(value, "problem", "there is no cache directory")
        self.says(self.doctor("--quick", "--dir", "rel"), "ok", "cwd/rel (from CKCACHE_DIR)")

    def test_by_a_file(self):
        self.write(self.path("config", "ckcache", "ckcache.conf"), "dir = %s\n" % self.root)
        value = self.quick(extra={"CKCACHE_DIR": None, "XDG_CONFIG_HOME": self.path("config")})
        self.says(value, "ok", "%s (from ckcache.conf)" % self.root)
        self.says(value, "ok", "ckcache/ckcache.conf is in use")

    def test_one_that_others_may_write_to(self):
        os.mkdir(self.root)
        os.chmod(self.root, 0o777)
        self.assertIn("chmod", self.says(self.quick(code=1), "problem", "others may write")["advice"])

    @unittest.skipIf(os.geteuid(), "not root")
    def test_another_users(self):
        os.mkdir(self.root, 0o700)
        os.chown(self.root, NOBODY, NOBODY)
        found = self.says(self.quick(code=1), "problem", "belongs to another user")
        self.assertIn("owned by user %d," % NOBODY, found["text"])

    def test_one_that_is_a_file(self):
        self.write(self.root, "")
        self.says(self.quick(code=1), "problem", "is not a directory")

    def test_one_below_a_file(self):
        self.write("file", "")
        finding = self.says(self.quick(code=1, extra={"CKCACHE_DIR": self.path("file", "root")}),
                            "problem", "a part of its path is not a directory")
        self.assertIn(self.path("file"), finding["text"])
        self.assertNotIn("owned by", finding["text"])

    def as_nobody(self, code, extra=None):
        """For whom permissions mean something."""
        if os.geteuid():
            return self.quick(code=code, extra=extra)
        self.copy_build()
        for folder, _, names in os.walk(self.work):
            for path in [folder] + [os.path.join(folder, name) for name in names]:
                os.lchown(path, NOBODY, NOBODY)
        return self.quick(code=code, extra=extra, user=NOBODY, group=NOBODY, extra_groups=[])

    def test_one_that_cannot_be_written(self):
        os.mkdir(self.root, 0o500)
        self.says(self.as_nobody(1), "problem", "cannot create a file in " + self.root)
        value = self.as_nobody(0, {"CKCACHE_READ_ONLY": "1"})
        self.says(value, "note", "cannot create a file in " + self.root)

    def test_one_that_cannot_be_made(self):
        os.mkdir(self.path("closed"), 0o500)
        self.says(self.as_nobody(1, {"CKCACHE_DIR": self.path("closed", "a", "b")}),
                  "problem", "cannot create a file in " + self.path("closed"))

    @unittest.skipIf(os.geteuid(), "not root")
    def test_one_in_a_closed_directory(self):
        self.copy_build()
        os.mkdir(self.path("closed"), 0)
        os.chmod(self.work, 0o755)
        value = self.quick(code=1, extra={"CKCACHE_DIR": self.path("closed", "root")},
                           user=NOBODY, group=NOBODY, extra_groups=[])
        self.says(value, "problem", "a directory above it is closed to this user")

    def test_a_limit_on_files(self):
        os.mkdir(self.root, 0o700)
        value = self.quick(code=1, preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY)))
        self.says(value, "problem", "cannot write a file of 65536 bytes")

    @unittest.skipIf(os.geteuid(), "not root")
    def test_a_full_and_small_file_system(self):
        os.mkdir(self.root, 0o700)
        self.need_mounts()
        script = ("mount -t tmpfs -o size=100k,mode=0700 none '%s' && "
                  "head -c 200k /dev/zero >'%s/.tmp-filler' 2>/dev/null; exec \"$0\" doctor --quick"
                  % (self.root, self.root))
        ran = self.ends(1, "-m", "sh", "-c", script, machine.CKCACHE, executable="unshare")
        for text in ("in memory", "almost no space", "cannot write a file"):
            self.assertIn(text, ran.out)

    def test_tiers(self):
        os.mkdir(self.path("tier"), 0o755)
        os.mkdir(self.path("open"))
        os.chmod(self.path("open"), 0o777)
        value = self.quick(extra={"CKCACHE_READ_ONLY_DIRS": ":".join(
            [self.path("tier"), self.path("open"), "/nowhere/tier"])})
        self.says(value, "ok", self.path("tier") + " is a read-only tier")
        self.says(value, "note", self.path("open") + ", a read-only tier, is not used: others may write")
        self.says(value, "note", "/nowhere/tier")

    def test_history(self):
        os.mkdir(self.root, 0o700)
        self.write(os.path.join(self.root, "stats.txt"),
                   "log_id 0\nhits_memory 3\nhits_disk 4\nmisses 5\nerrors 2\nbypass.date 6\n", 0o600)
        value = self.quick()
        self.says(value, "ok", "7 hits, 5 misses")
        self.says(value, "note", "2 errors")

    def test_no_history(self):
        os.mkdir(self.root, 0o700)
        self.write(os.path.join(self.root, "stats.txt"), "log_id 0\nhits_memory 3\n", 0o600)
        os.mkdir(os.path.join(self.root, "recipes"), 0o700)

        def history():
            return [(finding["mark"], finding["text"], finding["advice"]) for finding in self.quick()["findings"]
                    if finding["section"] == "history"]
        counts = ("ok", "3 hits, 0 misses, 0 not cached; 0.00 ms of compilation saved", None)
        self.assertEqual(history(), [counts])
        for name in ("a", "b"):
            self.write(os.path.join(self.root, "recipes", name * 32 + ".recipe"), "", 0o600)
        self.assertEqual(history(), [counts, ("note", "2 programs were left for later", "ckcache replay builds them")])


class Settings(Doctor):
    def test_what_switches_it_off(self):
        for name, value in (("DISABLE", "1"), ("PERSISTENT", "0")):
            found = self.doctor(code=1, extra={"CKCACHE_" + name: value})
            self.assertIn("unset CKCACHE_" + name,
                          self.says(found, "problem", "CKCACHE_" + name)["advice"])
            # The layers are tried all the same.
            self.assertEqual(found["devices"][0]["result"], "hit")

    def test_bad_values_and_names(self):
        value = self.doctor("--quick", extra={"CKCACHE_MAX_SIZE": "many", "CKCACHE_MAXSIZE": "1"})
        self.says(value, "note", "CKCACHE_MAX_SIZE: bad value \"many\"")
        self.says(value, "note", "CKCACHE_MAXSIZE is set, but there is no such setting")

    def test_bad_files(self):
        self.write(self.path("config", "ckcache", "ckcache.conf"),
                   "threshold = never\nnonsense\nother = 1\n")
        value = self.doctor("--quick", extra={"XDG_CONFIG_HOME": self.path("config")})
        for text in ("threshold: bad value", "not \"key = value\"", "unknown setting \"other\""):
            self.says(value, "note", text)

    def test_no_setting_bends_the_trial(self):
        value = self.doctor(extra={"CKCACHE_MAX_DEVICE_IMAGE_SIZE": "1", "CKCACHE_CAPTURE": "deferred",
                                   "CKCACHE_READ_ONLY": "1", "CKCACHE_MAX_SIZE": "1B",
                                   "CKCACHE_TRACE": self.path("trace")})
        self.assertEqual(value["devices"][0]["result"], "hit")
        self.says(value, "note", "each look-up adds a line to %s: CKCACHE_TRACE" % self.path("trace"))
        self.assertFalse(os.path.exists(self.path("trace")))

    def test_variables_that_make_keys_differ(self):
        value = self.doctor("--quick", extra={"IGC_ShaderDumpEnable": "1", "LD_LIBRARY_PATH": "/nowhere",
                                              "NEOReadDebugKeys": "1", "SomeKey": "2"})
        for text in ("IGC_ShaderDumpEnable=1", "LD_LIBRARY_PATH=/nowhere", "SomeKey=2"):
            self.says(value, "note", text)

    def test_drivers_own_caches(self):
        self.write(self.path("xdg", "mesa_shader_cache", "x"), b"x" * 10000)
        extra = {"XDG_CACHE_HOME": self.path("xdg")}
        self.says(self.doctor("--quick", extra=extra), "ok", "Mesa has a cache of its own")
        extra["MESA_SHADER_CACHE_DISABLE"] = "true"
        value = self.doctor("--quick", extra=extra)
        self.assertEqual([text for text in self.marked(value, "ok") if "Mesa has" in text], [])

    def test_where_drivers_own_caches_may_lie(self):
        """By a variable; below XDG_CACHE_HOME; else below HOME; else here."""
        xdg, home, here = (self.path(name) for name in ("xdg", "other home", "here"))
        places = {"named": ("NEO_CACHE_DIR", "CUDA_CACHE_PATH", "MESA_SHADER_CACHE_DIR", "POCL_CACHE_DIR",
                            "AMD_COMGR_CACHE_DIR"),
                  "xdg": ("neo_compiler_cache", "mesa_shader_cache", "pocl/kcache", "comgr"),
                  "other home": (".cache/neo_compiler_cache", ".nv/ComputeCache", ".cache/mesa_shader_cache",
                                 ".cache/pocl/kcache", ".cache/comgr"),
                  "here": ("cl_cache", "l0_cache")}
        for folder, names in places.items():
            for name in names:
                os.makedirs(self.path(folder, name))
        named = {name: self.path("named", name) for name in places["named"]}
        # XDG_CACHE_HOME stands for HOME/.cache, not for others of HOME's.
        for extra, expected in (
                ({**named, "XDG_CACHE_HOME": xdg}, [("named", name) for name in places["named"]]),
                ({"XDG_CACHE_HOME": xdg}, [("xdg", name) for name in places["xdg"]] + [("other home", ".nv/ComputeCache")]),
                ({"XDG_CACHE_HOME": None}, [("other home", name) for name in places["other home"]]),
                ({"XDG_CACHE_HOME": None, "HOME": self.path("tmp")}, [("here", "cl_cache")])):
            value = self.doctor("--quick", cwd=here, extra={"HOME": home, **extra})
            found = [re.search(r" has a cache of its own, (.*) \(0 B\);", text) for text in self.marked(value, "ok")]
            self.assertEqual(sorted(match.group(1) for match in found if match),
                             sorted([self.path(*place) for place in expected if place[0] != "here"] +
                                    (["./cl_cache"] if ("here", "cl_cache") in expected else []) + ["./l0_cache"]), extra)

    @unittest.skipIf(os.geteuid(), "not root")
    def test_with_sudo(self):
        self.says(self.doctor("--quick", extra={"SUDO_USER": "joe"}), "note", "root's cache, not that of joe")


class Programs(Doctor):
    def test_usual_ones(self):
        self.says(self.doctor("--quick", "env"), "ok", "layers can be loaded into")
        script = self.write("script", "#!/bin/sh\n", 0o755)
        self.says(self.doctor("--quick", script), "ok", "is a script")

    def test_one_that_is_not_there(self):
        self.says(self.doctor("--quick", "no-such-program", code=1), "problem", "was not found")


class Endings(Doctor):
    def test_people_get_the_same(self):
        ran = self.ends(0, "doctor")
        self.assertEqual(ran.out.splitlines()[-1], "works")
        self.assertNotIn("\x1b", ran.out)
        ran = self.ends(1, "doctor", extra={"CKCACHE_DISABLE": "1"})
        self.assertIn("1. unset CKCACHE_DISABLE", ran.out.splitlines()[-1])

    def on_terminal(self, extra, code=0, columns=80):
        ended, shown = terminal.show(lambda fd: self.start("doctor", "--quick", extra=extra, stdout=fd, stderr=fd),
                                     columns)
        self.assertEqual(ended, code, shown)
        return shown

    def test_colours(self):
        self.assertIn(b"\x1b[32m", self.on_terminal({"TERM": "xterm"}))
        self.assertNotIn(b"\x1b", self.on_terminal({"TERM": "xterm", "NO_COLOR": "1"}))
        self.assertNotIn(b"\x1b", self.on_terminal({"TERM": "dumb"}))

    def test_each_mark_has_its_colour(self):
        for term, colours in (("xterm", (b"\x1b[32m", b"\x1b[33m", b"\x1b[31m")), ("dumb", (b"", b"", b""))):
            shown = self.on_terminal({"TERM": term, "CKCACHE_DISABLE": "1", "CKCACHE_MAXSIZE": "1"}, code=1)
            marks = set(re.findall(rb"^  (\S*?)(ok|note|problem) *(?:\x1b\S*)?  \S", shown, re.M))
            self.assertEqual(marks, set(zip(colours, (b"ok", b"note", b"problem"))))

    def test_lines_break_between_words(self):
        shown = self.on_terminal({"TERM": "dumb", "CKCACHE_DISABLE": "1", "CKCACHE_MAXSIZE": "1"}, 1, columns=40)
        for text in ("  note     CKCACHE_MAXSIZE is set, but\n           there is no such setting\n"
                     "           -> look for its name in\n              ckcache.conf(5)\n",
                     "What to do\n  1. unset CKCACHE_DISABLE, or remove\n     disable from ckcache.conf\n"):
            self.assertIn(text, shown.decode().replace("\r", ""))

    def test_a_reader_that_leaves(self):
        for ignored in (False, True):
            writer = tool_case.closed_pipe()
            process = self.start("doctor", stdout=writer, stderr=subprocess.DEVNULL,
                                 restore_signals=not ignored)
            os.close(writer)
            self.assertEqual(process.wait(), 1 if ignored else -signal.SIGPIPE)
            self.left_nothing()
        for form in ([], ["--json"]):
            with open("/dev/full", "wb") as full:
                ran = self.start("doctor", *form, stdout=full, stderr=subprocess.PIPE)
            self.assertEqual((ran.communicate()[1].count(b"\n"), ran.returncode), (1, 1))

    @unittest.skipIf(os.geteuid(), "not root")
    def test_no_more_processes(self):
        self.guarded = False	# it looks for leaks in a process of its own
        self.copy_build()
        os.chmod(self.work, 0o755)
        ran = self.ends(1, "doctor", user=NOBODY, group=NOBODY, extra_groups=[], preexec_fn=lambda:
                        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1)))
        self.assertIn("a process cannot be started: ", ran.err)

    def test_a_signal_ends_it_with_all_it_started(self):
        self.drivers(machine.RUDE)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = self.begin("doctor", extra={"RUDE": "hang"})
            # OpenCL's section begins before the driver is asked.
            for line in process.stdout:
                if line.startswith(b"OpenCL"):
                    break
            process.send_signal(number)
            rest = process.stdout.read()	# ends with the last who holds it
            self.assertEqual(process.wait(), -number, rest)
            self.assertNotIn(b"History", rest)
            self.left_nothing()


if __name__ == "__main__":
    machine.main()
