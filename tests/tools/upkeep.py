# SPDX-License-Identifier: MIT
"""What prune with conditions, clear --program, recompress and the options of stats do to a cache and
say of it; and that the account is exact afterwards, whatever was killed or ran beside them.

    upkeep.py CKCACHE SOURCE-DIRECTORY STUB-DRIVER FILL-CACHE CLIENT [TEST...]
"""
import json
import os
import random
import shutil
import subprocess
import sys
import time
import unittest

import caches
import machine
import report_samples as samples
import tool_case

FILL_CACHE, CLIENT = None, None
DAY = 86400 * 10 ** 9
TEXT = "kernel void f(global int *a) { a[0] = %d; }"


class Case(machine.Case):
    def run_tool(self, *arguments, code=0, extra=None):
        return self.ends(code, *arguments, extra=extra).out

    def json(self, *arguments, **options):
        return json.loads(self.run_tool(*arguments, "--json", **options))

    def exact(self):
        """The account is the sum of what a walk finds, and nothing is damaged."""
        value = self.json("verify")
        self.assertEqual(value["damaged"], 0, value)
        self.assertEqual(value["account_bytes"], value["bytes"])
        return value["bytes"]

    def sources(self):
        """The numbers of the entries that are there, in the order of use."""
        return [int(row["options"][3:]) for row in self.json("list", "--sort", "used", "--reverse")]


class Entries(Case):
    """Entries that were last used 9.5, 8.5, ... 0.5 days ago, of two devices."""
    def setUp(self):
        super().setUp()
        self.fill(10)

    def fill(self, count, size=20000):
        now = time.time_ns()
        samples.fill(FILL_CACHE, self.root, ["1000000 %d %d %s" % (
            now - (count - i) * DAY + DAY // 2, size, " ".join(text.encode().hex() for text in (
                ("An NVIDIA", "A Mali")[i % 2], "1", TEXT % i, "-DN%d" % i))) for i in range(count)])
        self.assertEqual(self.sources(), list(range(count)))

    def prune(self, left, *arguments):
        """What is left; and a dry run before it says the same, and changes nothing."""
        before = caches.snapshot(self.root)
        dry = self.json("prune", *arguments, "--dry-run")
        lines = self.run_tool("prune", *arguments, "--dry-run").splitlines()
        self.assertEqual(caches.snapshot(self.root), before)
        value = self.json("prune", *arguments)
        self.assertTrue(dry.pop("dry_run"))
        self.assertEqual(dry, value)
        self.assertEqual(len(lines), value["removed_entries"] + 1)
        self.assertIn("%d entries would be removed" % value["removed_entries"], lines[-1])
        self.assertEqual(self.sources(), left)
        self.assertEqual(value["entries"], len(left))
        self.assertEqual(value["bytes"], self.exact())

    def test_by_age(self):
        self.prune(list(range(7, 10)), "--older-than", "3d")
        self.prune([8, 9], "--older-than", "60h")
        self.prune([9], "--older-than", "2160m")
        self.prune([9], "--older-than", "86460s")
        self.prune([], "--older-than", "0d")

    def test_a_wrong_clock_removes_nothing_more(self):
        ahead = tool_case.clock(WRONG_CLOCK_S=str(200 * 86400))
        self.run_tool("prune", extra=ahead)
        self.run_tool("prune", "--older-than", "10d", extra=ahead)
        self.assertEqual(self.sources(), list(range(10)))
        # The first one was used last, when a clock said 1970, and another one when it was ahead.
        paths = {row["options"]: row["entry"] for row in self.json("list")}
        for options, used in (("-DN0", DAY), ("-DN1", time.time_ns() + 200 * DAY)):
            os.utime(os.path.join(self.root, paths[options].replace(".src", ".bin")), ns=(used, used))
        with open(os.path.join(self.root, "days.txt"), "a", encoding="ascii") as file:
            file.write("1\n%d\n" % (time.time_ns() // DAY + 200))
        self.prune([0, 7, 8, 9, 1], "--older-than", "3d")
        # All of them can go.
        self.prune([], "--older-than", "0d", "--max-size", "0")

    def test_by_size_the_least_recently_used_go(self):
        [each] = {row["bytes"] for row in self.json("list")}
        self.prune(list(range(4, 10)), "--max-size", "%dB" % (6 * each))
        self.prune(list(range(4, 10)), "--max-size", "%dB" % (6 * each))
        self.prune(list(range(5, 10)), "--max-size", "%dB" % (6 * each - 1))
        self.prune([], "--max-size", "0")

    def test_of_one_device(self):
        self.prune([1, 3, 5, 7, 9], "--device", "nvidia")
        self.prune([1, 3, 5, 7, 9], "--device", "AMD")

    def test_conditions_together(self):
        [each] = {row["bytes"] for row in self.json("list")}
        self.prune([1, 3, 5, 6, 7, 8, 9], "--device", "NVIDIA", "--older-than", "5d")
        self.prune([1, 3, 5, 7, 8, 9], "--device", "NVIDIA", "--max-size", "%dB" % each)
        self.prune([7, 8, 9], "--older-than", "4d", "--max-size", "%dB" % (3 * each))
        self.prune([], "--older-than", "20d", "--max-size", "1B")

    def test_what_nobody_knows_of_is_no_programs(self):
        self.prune(list(range(10)), "--program", "somebody")

    def test_explain_knows_what_prune_did(self):
        self.run_tool("prune", "--older-than", "3d")
        self.assertTrue(os.path.exists(os.path.join(self.root, "events.log")))

    def test_many_conditions_by_chance(self):
        """Against a model: which numbers go, by age and size and device."""
        choice = random.Random(6)
        for _ in range(8):
            shutil.rmtree(self.root)
            self.fill(12)
            [each] = {row["bytes"] for row in self.json("list")}
            device = choice.choice([None, "Mali", "NVIDIA"])
            days, most = choice.choice([None, 0, 4, 9]), choice.choice([None, 0, 2, 5])
            arguments = (["--device", device] if device else []) + \
                (["--older-than", "%dd" % days] if days is not None else []) + \
                (["--max-size", "%dB" % (most * each)] if most is not None else [])
            if not arguments:
                continue
            chosen = [i for i in range(12) if not device or ("NVIDIA", "Mali")[i % 2] == device]
            kept = [i for i in chosen if days is not None and 12 - i <= days] if days is not None else chosen
            kept = kept[len(kept) - most:] if most is not None and len(kept) > most else kept
            if days is None and most is None:
                kept = []
            self.prune([i for i in range(12) if i not in chosen or i in kept], *arguments)

    def test_recompress_shows_the_gain_first(self):
        before = caches.snapshot(self.root)
        dry = self.json("recompress", "6", "--dry-run")
        self.assertIn("10 of 10 entries would change", self.run_tool("recompress", "6", "--dry-run"))
        self.assertEqual(caches.snapshot(self.root), before)
        lines = self.run_tool("recompress", "6").splitlines()
        self.assertTrue(lines[0].startswith("10 of 10 entries would change: "), lines)
        self.assertTrue(lines[1].startswith("10 entries changed, "), lines)
        self.assertEqual(self.exact(), dry["bytes_expected"])
        self.assertLess(dry["bytes_expected"], dry["bytes_before"])
        again = self.json("recompress", "6")
        self.assertEqual((again["to_change"], again["changed"], again["bytes"]), (0, 0, dry["bytes_expected"]))

    def test_there_and_back(self):
        """Nothing but the .bin files changes, and bundles are the same again."""
        def others():
            return {path: value for path, value in caches.snapshot(self.root).items()
                    if path.endswith(".src")}
        before, bundle = others(), self.run_tool("list", "--json")
        self.run_tool("export", self.path("first"))
        size = self.exact()
        value = self.json("recompress", "9")
        self.assertEqual((value["changed"], value["bytes"]), (10, self.exact()))
        self.run_tool("export", self.path("small"))
        value = self.json("recompress", "none")
        self.assertEqual((value["changed"], value["bytes"]), (10, size))
        self.assertEqual(self.exact(), size)
        self.assertEqual(others(), before)
        self.assertEqual(self.run_tool("list", "--json"), bundle)
        self.run_tool("export", self.path("second"))
        self.assertEqual(self.read_bytes("first"), self.read_bytes("second"))
        shutil.rmtree(self.root)
        self.assertEqual(self.json("import", self.path("small"))["imported"], 10)
        self.exact()

    def test_the_setting_is_the_default(self):
        self.assertEqual(self.json("recompress")["changed"], 0)		# auto
        self.assertEqual(self.json("recompress", extra={"CKCACHE_COMPRESSION": "3"})["changed"], 10)

    def test_what_is_damaged_stays(self):
        caches.damage_bin(self.root)
        value = self.json("recompress", "6")
        self.assertEqual((value["changed"], value["left_out"]), (9, 1))
        self.assertEqual(self.json("verify", code=1)["damaged"], 1)

    def test_raw_does_not_fit(self):
        self.run_tool("recompress", "9")
        small = self.exact()
        ran = self.ends(1, "recompress", "none", extra={"CKCACHE_MAX_SIZE": "%dB" % (small + 4096)})
        self.assertIn("would not fit into max_size", ran.err)
        self.exact()
        self.assertEqual(self.sources(), list(range(10)))

    def kill_after(self, seconds, *arguments):
        process = self.start(*arguments, stdout=subprocess.DEVNULL)
        time.sleep(seconds)
        process.kill()
        process.communicate()

    def test_killed_at_any_time(self):
        choice = random.Random(7)
        for _ in range(25):
            level = choice.choice(["none", "9"])
            self.kill_after(choice.random() * 0.05, "recompress", level)
            self.assertEqual(self.json("verify")["sound"], 10)
        self.run_tool("prune", "--older-than", "20d")
        self.assertEqual(self.json("recompress", "9")["entries"], 10)
        self.assertEqual([path for path in caches.files(self.root) if "/.tmp-" in path], [])
        self.run_tool("verify")
        self.exact()
        self.kill_after(0.01, "prune", "--older-than", "0d")
        self.run_tool("verify")
        self.exact()

    def test_together(self):
        """Of two that prune, or compress and prune, none complains, and each entry goes once."""
        running = [self.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              extra=tool_case.clock(STOPPED_CLOCK="1")) for arguments in (
            ("prune", "--older-than", "5d", "--json"), ("prune", "--older-than", "5d", "--json"),
            ("recompress", "9"), ("recompress", "none"))]
        outputs = [process.communicate(timeout=machine.PATIENCE) for process in running]
        self.assertEqual([process.returncode for process in running], [0] * 4, outputs)
        self.assertEqual(sum(json.loads(out)["removed_entries"] for out, _ in outputs[:2]), 5)
        self.assertEqual(self.sources(), [5, 6, 7, 8, 9])
        # Who counts while others remove may leave it too high, never too low.
        value = self.json("verify")
        self.assertGreaterEqual(value["account_bytes"], value["bytes"])
        self.exact()

    def test_a_full_disk(self):
        """Files cannot grow: what is there stays as it is."""
        self.run_tool("recompress", "9")
        self.ends(1, "-c", 'ulimit -f 4; exec "$0" recompress none', self.command, executable="sh")
        self.assertEqual(self.sources(), list(range(10)))
        self.exact()

    def test_stats_by_device(self):
        text = self.run_tool("stats", "--verbose")
        self.assertRegex(text, r"\nAn NVIDIA +5 ")
        self.assertRegex(text, r"\nA Mali +5 ")
        value = self.json("stats", "--verbose")
        self.assertEqual({row["device"]: row["entries"] for row in value["devices"]}, {"An NVIDIA": 5, "A Mali": 5})
        self.assertEqual(sum(row["bytes"] for row in value["devices"]), value["bytes"])
        self.assertGreaterEqual(value["payload_bytes"], 200000)
        self.assertNotIn("per_program", value)
        self.assertLess(abs(time.time_ns() - 10 * DAY - value["unused_since_ns"]), DAY)


class Programs(Case):
    """With the stub driver, and one client under two names."""
    def setUp(self):
        super().setUp()
        self.drivers(machine.STUB)
        for name in ("one", "two"):
            shutil.copy(CLIENT, self.path(name))

    def build(self, program, *numbers, extra=None):
        for number in numbers:
            self.ends(0, "run", "--", self.path(program), "-n", "vector", "-DK=%d" % number, extra=extra)

    def programs(self):
        return {row["program"]: row for row in self.json("stats", "--per-program")["per_program"]}

    def test_stats_clear_and_prune_know_whose_entries_are(self):
        self.build("one", 1, 2, 3)
        self.build("two", 4, 1)
        found = self.programs()
        self.assertEqual({name: (row["compiled"], row["hits"], row["entries"]) for name, row in found.items()},
                         {"one": (3, 0, 3), "two": (1, 1, 1)})
        text = self.run_tool("stats", "--per-program")
        self.assertRegex(text, r"\none +0 +3 ")
        self.assertEqual(self.json("clear", "--program", "one", "--dry-run")["removed_entries"], 3)
        self.assertEqual(len(self.json("list")), 4)
        self.assertEqual(self.json("prune", "--program", "two", "--max-size", "1G")["removed_entries"], 0)
        value = self.json("clear", "--program", "one")
        self.assertEqual((value["removed_entries"], value["entries"]), (3, 1))
        self.exact()
        self.assertEqual(self.programs()["two"]["entries"], 1)
        self.assertEqual(self.json("prune", "--program", "two")["entries"], 0)
        self.exact()

    def test_a_programs_name_means_the_entries_that_it_asked_for(self):
        self.ends(0, "run", "--", self.path("one"), "-n", "variables", "IGC_X=1", "build")	# which has no key
        self.assertEqual(self.run_tool("entry-words", "on", "show"), "")
        self.build("one", *range(8))
        self.build("two", 8)
        [options] = [field["value"] for field in self.json("show", "two")["key"] if field["field"] == "options"]
        self.assertEqual(options, "-DK=8")
        self.assertEqual(len(self.ends(1, "show", "one").err.splitlines()), 1 + 8)
        self.assertEqual(self.run_tool("entry-words", "on", "show"), "one\n")

    def settings(self, text):
        self.write(self.path("home", ".config", "ckcache", "ckcache.conf"), text)

    def test_the_layer_reads_a_programs_section(self):
        self.settings("[program one]\ndisable = 1\n")
        self.build("one", 1, 1)
        self.assertEqual(self.json("stats")["misses"], 0)
        self.build("two", 1)
        self.assertEqual((self.json("stats")["misses"], self.json("stats")["hits_disk"]), (1, 0))
        self.build("one", 1, extra={"CKCACHE_DISABLE": "0"})		# variables win
        self.assertEqual(self.json("stats")["hits_disk"], 1)

    def test_a_script_is_a_program_by_its_own_name(self):
        self.write("script", "#!%s -n\n" % self.path("two"), 0o755)
        self.settings("[program script]\ndisable = 1\n")
        self.tool("run", "--", self.path("script"))
        self.assertEqual(self.json("stats")["misses"], 0)

    def test_a_bad_section_hinders_nobody(self):
        self.settings("[program\ndisable = 1\n[program one]\nmax_size = 1\nlog = info\n")
        ran = self.ends(0, "run", "--", self.path("one"), "-n", "vector", "-DK=1")
        self.assertEqual(ran.err.count("[program NAME]"), 1, ran)
        self.assertEqual(ran.err.count("cannot be set for one program"), 1, ran)
        self.assertEqual(self.json("stats")["misses"], 1)


if __name__ == "__main__":
    machine.CKCACHE, machine.SOURCE, machine.STUB, FILL_CACHE, CLIENT = map(os.path.abspath, sys.argv[1:6])
    unittest.main(argv=sys.argv[:1] + sys.argv[6:])
