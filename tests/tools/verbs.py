# SPDX-License-Identifier: MIT
"""Every verb with good and bad arguments on an empty, a healthy, a damaged
and a foreign cache: exit codes, what goes to stdout and to stderr, JSON as
docs/JSON.md has it, nothing changed that should not be, and no crash.

    verbs.py CKCACHE SOURCE-DIRECTORY [TEST...]
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import caches
import command_line
import schema
import terminal
import tool_case

CKCACHE, SOURCE, SCHEMA = None, None, None
ENTRIES = 3		# of the healthy cache

# A row for each verb: its calls that work on a healthy cache. FILE is one that is not there,
# BUNDLE is one that export made, ENTRY is as list prints it.
GOOD = {
    "run": [["true"], ["--", "true"], ["--summary", "true"], ["--trace", "FILE", "true"],
            ["--summary", "--json", "true"], ["--json", "--", "true"]],
    # What it finds depends on the machine: doctor.py.
    "doctor": [],
    "stats": [[], ["--json"], ["--zero"], ["--"], ["--exact", "--json"], ["--verbose"], ["--per-program"],
              ["--json", "--verbose", "--per-program"]],
    # set and unset change the home directory: config.py.
    "config": [[], ["--json"], ["get", "max_size"], ["get", "MAX_SIZE", "--json"],
               ["--program", "x"], ["get", "log", "--program=x", "--json"]],
    "list": [[], ["--json"], ["--sort", "size"], ["--sort=compile", "--reverse"], ["--sort=path"],
             ["--limit", "1"], ["--limit=9999999999", "--json"]],
    "show": [["ENTRY"], ["ENTRY", "--json"], ["--json", "ENTRY"], ["--source", "ENTRY"]],
    "explain": [[], ["--json"], ["--all", "--verbose"], ["--last", "3"], ["ENTRY"], ["ENTRY", "--json"],
                ["--", "true"], ["--json", "--", "true"]],
    "verify": [[], ["--json"], ["--repair"], ["--json", "--repair"]],
    "prune": [[], ["--json"], ["--older-than", "0d"], ["--max-size", "1G", "--json"],
              ["--device=x", "--program", "x"], ["--dry-run", "--max-size=0", "--json"]],
    "clear": [[], ["--json"], ["--program", "x"], ["--dry-run", "--json"]],
    "recompress": [[], ["--json"], ["none"], ["6", "--json"], ["--dry-run", "auto"]],
    "export": [["FILE"], ["FILE", "--json"], ["--json", "--", "FILE"], ["-"]],
    "import": [["BUNDLE"], ["BUNDLE", "--json"], ["--json", "--", "BUNDLE"]],
    # They need a remote tier: tests/remote/verbs.py.
    "push": [],
    "pull": [],
    # trust changes the home directory: key.py.
    "key": [["show"], ["show", "--json"], ["new", "FILE"], ["new", "FILE", "--name", "x"]],
    "replay": [[], ["--json"], ["--jobs", "1", "--timeout=5"], ["--budget", "9"],
               ["--idle", "--budget=1", "--json"]],
    # Which make packs and build them: recipes.py.
    "record": [],
    "recipes": [["list"], ["list", "--json"]],
    "report": [["FILE"], ["-"], ["--", "FILE"], ["--json"], ["--json", "-"]],
}
# Those that look and touch nothing: not the cache, not the directory that they run in.
LOOKS = ("stats", "config", "list", "show", "explain", "verify", "key", "recipes")
NEED_NO_CACHE = ("run", "doctor", "config", "key", "record", "recipes")
TAKE_ARGUMENTS = ("run", "doctor", "config", "recompress", "show", "explain", "export", "import", "key", "record", "recipes",
                  "report")
# Wrong by themselves, beside those that every verb has to refuse.
BAD = {
    "run": [[], ["--"], ["--summary"]],
    "list": [["--sort", "nothing"], ["--sort="], ["--limit", "0"], ["--limit", "-1"],
             ["--limit", "1x"], ["--limit", " 1"], ["--limit", "9" * 50], ["--limit="]],
    "doctor": [["a", "b"], ["--timeout", "0"], ["--timeout", "3601"], ["--timeout="]],
    "show": [[], ["a", "b"], ["--json", "--source", "a"]],
    "explain": [["a", "b"], ["--last", "0"], ["--last", "x"], ["--last=1", "--all"], ["--all", "a"],
                ["a", "--", "true"]],
    "export": [[], ["a", "b"]],
    "import": [[], ["a", "b"]],
    "config": [["nothing"], [""], ["get"], ["get", ""], ["get", "nothing"], ["get", "log", "x"], ["set"], ["set", "log"],
               ["set", "log", "loud"], ["set", "log=loud"], ["set", "nothing", "1"], ["set", "log", "debug", "x"],
               ["set", "=", "1"], ["set", "remote", "a #b"], ["set", "remote", "a\nb"], ["set", "remote", " a"],
               ["set", "trace", "relative"], ["set", "max_size", "1G", "--program=x"], ["unset"],
               ["unset", "log", "x"], ["unset", "nothing"], ["set", "log", "debug", "--json"],
               ["--program="], ["--program=a/b"], ["--program", "a\nb"], ["--system"], ["get", "log", "--system"]],
    "prune": [["--max-size="], ["--max-size=much"], ["--max-size=-1"], ["--older-than="], ["--older-than=30"],
              ["--older-than=d"], ["--older-than=-1d"], ["--older-than=1.5d"], ["--older-than=36501d"],
              ["--older-than=" + "9" * 40 + "d"], ["--program="], ["--device="], ["--dry-run"],
              ["--remote", "--older-than=1d"], ["--remote", "--dry-run"], ["--remote", "--program=x"]],
    "clear": [["--program="]],
    "recompress": [[""], ["0"], ["10"], ["-1"], ["best"], ["1", "2"], ["1x"]],
    "key": [[], ["show", "a", "b"], ["trust"], ["nothing"], ["Show"], ["new show"], ["show", "--until=2027-01-01"],
            ["new", "--system"], ["new", "--json"], ["show", "a", "--json"], ["show", "--name=x"],
            ["trust", "--remove=x", "a"], ["trust", "--remove=x", "--until=2027-01-01"]],
    "replay": [["--jobs", "0"], ["--jobs", "257"], ["--jobs", "9" * 50], ["--timeout", "+1"],
               ["--timeout", "0x5"], ["--timeout=1000001"], ["--jobs="],
               ["--budget", "0"], ["--budget=1000001"], ["--idle=1"], ["--background", "--stale"],
               ["--background", "--json"]],
    "record": [[], ["-o", "x"], ["-o", "x", "true"], ["--", "true"], ["-o", "-", "x", "--", "true"],
               ["-o", "x", "--name=", "--", "true"], ["-o", "x", "--merge", "y", "--name", "z"],
               ["-o", "x", "--licence=a", "--licence-file=b", "--", "true"], ["-o"]],
    "recipes": [[], ["nothing"], ["add"], ["remove"], ["list", "x"], ["build", "x"],
                ["list", "--jobs=1"], ["add", "x", "--json"], ["build", "--jobs", "0"],
                ["build", "--budget", "-1"]],
    "report": [[], ["a", "b"], ["--json", "a", "b"]],
}
HUGE = "x/" * 30000


class Case(tool_case.Case):
    def setUp(self):
        super().setUp()
        self.home, self.cwd = self.path("home"), self.path("cwd")
        for folder in (self.home, self.cwd, self.path("no drivers")):
            os.mkdir(folder)

    def environment(self, extra=None):
        return super().environment({"HOME": self.home, "OCL_ICD_VENDORS": self.path("no drivers"),
                                    **(extra or {})})

    def run_tool(self, *arguments, **options):
        return super().run_tool(*arguments, code=None, cwd=self.cwd, **options)

    def expect(self, codes, *arguments, **options):
        """Runs it: one of those exit codes, and messages that are the command's own."""
        ran = self.run_tool(*arguments, **options)
        self.assertIn(ran.returncode, codes, (arguments, ran))
        for line in ran.stderr.decode("utf-8", "strict").splitlines():
            self.assertTrue(line.startswith("ckcache"), (arguments, ran))
            self.assertLess(len(line), 1200, arguments)
            self.assertIsNone(re.search("[\x00-\x08\x0b-\x1f\x7f]", line), (arguments, line))
        if ran.returncode == 2:
            self.assertEqual(ran.stdout, b"", (arguments, ran))
        if ran.returncode in (1, 2) and arguments[:1] not in (("doctor",), ("verify",), ("import",),
                                                        ("replay",)):
            self.assertNotEqual(ran.stderr, b"", (arguments, ran))
        return ran

    def check_json(self, verb, data):
        try:
            value = schema.parse(data)
        except ValueError as problem:
            self.fail("%s: %s: %r" % (verb, problem, data))
        self.assertEqual(list(schema.check(value, SCHEMA[verb])), [], verb)
        return value

    def json(self, verb, *arguments, **options):
        """What it tells scripts, as docs/JSON.md has it."""
        return self.check_json(verb, self.expect([0], verb, *arguments, "--json", **options).stdout)

    def left_nothing(self):
        for folder in (self.cwd, self.home):
            self.assertEqual(os.listdir(folder), [])

    def bundle(self):
        path = self.path("bundle")
        if not os.path.exists(path):
            healthy = caches.copy(SOURCE, self.path("to be exported"))
            self.expect([0], "export", path, "--dir", healthy)
        return path

    def fill_in(self, arguments):
        places = {"FILE": self.path("file"), "BUNDLE": None,
                  "ENTRY": caches.short_path(SOURCE)}
        if os.path.exists(places["FILE"]):
            os.unlink(places["FILE"])
        if "BUNDLE" in arguments:
            places["BUNDLE"] = self.bundle()
        return [places.get(argument, argument) for argument in arguments]

    def calls(self):
        for verb, rows in GOOD.items():
            for arguments in rows:
                yield verb, self.fill_in(arguments)

    @staticmethod
    def names_entry(arguments):
        return caches.short_path(SOURCE) in arguments

    def make(self, how=None):
        """A fresh cache at self.root."""
        if os.path.lexists(self.root):
            shutil.rmtree(self.root)
        caches.copy(SOURCE, self.root)
        if how:
            how(self.root)


class Healthy(Case):
    def setUp(self):
        super().setUp()
        self.make()


class Arguments(Healthy):
    def test_each_verb_has_its_row(self):
        self.assertEqual(sorted(GOOD), sorted(command_line.verbs()))

    def refuse(self, *arguments, codes=(2,)):
        """Nothing is done: the cache stays what it is, and so does everything beside it."""
        before = caches.snapshot(self.work)
        ran = self.expect(codes, *arguments)
        self.assertEqual(caches.snapshot(self.work), before, arguments)
        return ran

    def test_without_a_verb(self):
        self.refuse()
        for arguments in (["nothing"], ["--nothing"], ["-x"], [""], ["--json", "stats"],
                          ["--dir", self.root, "clear"], ["Stats"], ["stat"], ["help", "nothing"],
                          ["-C"], ["--clear"], ["-c"], ["-z"], ["-X", "6"], ["--evict-older-than=1d"],
                          ["help", "stats", "more"], ["\x1b[31m\n"], [HUGE]):
            self.refuse(*arguments)

    def test_unknown_options(self):
        for verb in GOOD:
            for option in ("--nothing", "--nothing=x", "-x", "-", "--json=1"):
                if option == "-" and verb in TAKE_ARGUMENTS:
                    continue
                ran = self.refuse(verb, option)
                self.assertIn(b"ckcache", ran.stderr)

    def test_an_option_before_a_good_one(self):
        for verb in GOOD:
            self.refuse(verb, "--nothing", "--dir", self.root)
            self.refuse(verb, "--dir", self.root, "--nothing")

    def test_values_that_are_missing(self):
        for verb in GOOD:
            for name, argument in command_line.options(command_line.help_of(verb)).items():
                if argument:
                    ran = self.refuse(verb, "--" + name)
                    self.assertIn(b"requires an argument", ran.stderr)

    def test_arguments_that_nobody_takes(self):
        for verb in GOOD:
            if verb not in TAKE_ARGUMENTS:
                self.refuse(verb, "more")
                self.refuse(verb, "--", "--json")
                self.refuse(verb, "")

    def test_bad_values(self):
        for verb, rows in BAD.items():
            for arguments in rows:
                self.refuse(verb, *arguments)

    def test_directories_that_are_no_path(self):
        rest = {"run": ["true"], "show": ["x"], "recipes": ["build"], "report": ["-"], "export": ["FILE"],
                "import": [self.path("none")]}
        for verb in GOOD:
            if verb in ("config", "key", "record"):	# which need none
                continue
            arguments = self.fill_in(rest.get(verb, []))
            wrong = (125,) if verb == "run" else (2,)
            self.refuse(verb, "--dir", "", *arguments, codes=wrong)
            self.refuse(verb, "--dir=", *arguments, codes=wrong)
            if verb != "run":	# whose layers say it, and let the command run
                self.refuse(verb, "--dir", HUGE, *arguments, codes=(1,))

    def test_the_last_of_an_option_counts(self):
        ran = self.expect([0], "stats", "--dir", "/nowhere", "--json", "--json", "--dir", self.root)
        self.assertEqual(self.check_json("stats", ran.stdout)["entries"], ENTRIES)

    def test_options_after_arguments(self):
        ran = self.expect([0], "export", self.path("file"), "--json", "--dir", self.root)
        self.assertEqual(self.check_json("export", ran.stdout)["exported"], ENTRIES)
        self.json("show", caches.short_path(SOURCE))
        self.json("explain", caches.short_path(SOURCE))
        self.expect([0], "export", "--", "--json")
        self.assertTrue(os.path.exists(os.path.join(self.cwd, "--json")))

    def test_options_in_short(self):
        self.check_json("stats", self.expect([0], "stats", "--js").stdout)
        self.refuse("list", "--l=0")

    def test_help_is_not_what_follows(self):
        self.assertEqual(self.expect([0], "run", "--", "printf", "%s", "--help").stdout, b"--help")
        self.assertEqual(self.expect([0], "run", "printf", "%s", "--help").stdout, b"--help")
        self.assertIn(b"Usage:", self.expect([0], "run", "--dir", "x", "--help").stdout)
        self.assertIn(b"Usage:", self.expect([0], "list", "--limit", "1", "--help").stdout)
        self.refuse("list", "--limit", "--help")
        self.expect([0], "export", "--", "--help")
        self.assertTrue(os.path.exists(os.path.join(self.cwd, "--help")))


class Caches(Case):
    def test_healthy(self):
        for verb, arguments in self.calls():
            self.make()
            before = caches.snapshot(self.root)
            ran = self.expect([0], verb, *arguments)
            if "--json" in arguments:
                self.check_json(verb, ran.stdout)
            if verb in LOOKS + ("export", "run", "report") and \
               not {"--zero", "--repair"} & set(arguments):
                self.assertEqual(caches.snapshot(self.root), before)
            self.left_nothing()

    def find_nothing(self, verb, arguments):
        """It works, unless it names an entry."""
        codes = {"show": [1], "explain": [0, 1]}.get(verb, [0]) if self.names_entry(arguments) else [0]
        ran = self.expect(codes, verb, *arguments)
        if "--json" in arguments and ran.returncode == 0:
            self.check_json(verb, ran.stdout)

    def test_one_that_is_not_there(self):
        for verb, arguments in self.calls():
            self.find_nothing(verb, arguments)
            if verb == "import":
                shutil.rmtree(self.root)
            self.assertFalse(os.path.lexists(self.root))
            self.left_nothing()

    def test_one_that_is_empty(self):
        for verb, arguments in self.calls():
            if os.path.lexists(self.root):
                shutil.rmtree(self.root)
            os.mkdir(self.root, 0o700)
            self.find_nothing(verb, arguments)
            if verb in LOOKS and not {"--zero", "--repair"} & set(arguments):
                self.assertEqual(os.listdir(self.root), [])

    def test_damaged(self):
        for name, (how, damaged, foreign) in caches.DAMAGED.items():
            for verb, arguments in self.calls():
                self.make(how)
                before = caches.snapshot(self.root)
                fails = verb == "verify" and damaged and "--repair" not in arguments
                # What is left of the entry that is named may be too little.
                codes = [0, 1] if self.names_entry(arguments) else [1 if fails else 0]
                ran = self.expect(codes, verb, *arguments)
                if "--json" in arguments and (ran.returncode == 0 or fails):
                    value = self.check_json(verb, ran.stdout)
                    if verb == "verify":
                        self.assertEqual((value["damaged"], value["foreign"]), (damaged, foreign))
                        self.assertEqual(len(value["findings"]), damaged + foreign)
                        self.assertEqual(value["sound"], ENTRIES - damaged - foreign)
                        self.assertEqual(value["removed"], damaged if "--repair" in arguments else 0)
                if verb in ("stats", "list", "show", "explain", "export", "run", "report") and \
                   "--zero" not in arguments:
                    self.assertEqual(caches.snapshot(self.root), before, name)

    def test_a_repaired_one_is_sound(self):
        for name, (how, _, foreign) in caches.DAMAGED.items():
            self.make(how)
            self.expect([0], "verify", "--repair")
            value = self.json("verify")
            self.assertEqual((value["damaged"], value["foreign"]), (0, foreign), name)
            self.assertEqual(value["bytes"], value["account_bytes"], name)

    def test_text_that_is_not_utf8(self):
        ran = self.expect([0], "stats", "--json", "--dir", os.fsencode(self.work) + b"/\xff\xc3(")
        self.assertTrue(self.check_json("stats", ran.stdout)["directory"].endswith("/\ufffd\ufffd("))

    def test_what_is_not_the_caches_stays(self):
        self.make(caches.add_strangers)
        for verb, arguments in self.calls():
            self.expect([0], verb, *arguments)
        for name in ("mine/0.src", "README"):
            self.assertEqual(caches.read(os.path.join(self.root, name)), b"mine")
        self.assertEqual(os.readlink(os.path.join(self.root, "link")), "/etc/passwd")

    def refused(self, reason):
        """Each verb says why it does not use it, and leaves it as it is."""
        before = caches.snapshot(self.root) if os.path.isdir(self.root) else None
        for verb, arguments in self.calls():
            if verb in NEED_NO_CACHE:
                continue	# it runs the command, and the layer says it; doctor.py
            ran = self.expect([1], verb, *arguments)
            self.assertIn(self.root.encode(), ran.stderr)
            self.assertIn(reason, ran.stderr, (verb, arguments, ran))
            if verb != "report":	# whose page says it
                self.assertEqual(ran.stdout, b"", (verb, arguments))
            if before:
                self.assertEqual(caches.snapshot(self.root), before)
            self.assertEqual(os.listdir(self.cwd), [])

    def test_one_that_others_may_write_to(self):
        self.make()
        os.chmod(self.root, 0o777)
        self.refused(b"others may write to it")

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_another_users(self):
        self.make()
        os.chown(self.root, caches.ANOTHER_USER, -1)
        self.refused(b"belongs to another user")

    def test_a_file_in_its_place(self):
        caches.write(self.root, b"mine")
        self.refused(b"not a directory")
        self.assertEqual(caches.read(self.root), b"mine")

    def test_no_directory_at_all(self):
        nobody = {"CKCACHE_DIR": "", "HOME": ""}
        for verb, arguments in self.calls():
            if verb not in NEED_NO_CACHE:
                ran = self.expect([1], verb, *arguments, extra=nobody)
                self.assertIn(b"there is no cache directory", ran.stderr)
                self.assertEqual(ran.stdout, b"")

    def test_a_read_only_one(self):
        refusing = {"clear", "prune", "recompress", "import", "replay"}
        for verb, arguments in self.calls():
            self.make()
            before = caches.snapshot(self.root)
            refuses = (verb in refusing and "--dry-run" not in arguments) or \
                "--repair" in arguments or "--zero" in arguments
            ran = self.expect([1] if refuses else [0], verb, *arguments,
                              extra={"CKCACHE_READ_ONLY": "1"})
            self.assertEqual(caches.snapshot(self.root), before, (verb, arguments))
            if refuses:
                self.assertIn(b"read", ran.stderr, (verb, arguments))
            if refuses and verb in ("clear", "prune", "recompress"):
                self.assertEqual(ran.stderr.count(b"\n"), 1, ran)	# nothing was tried

    def test_bad_settings_are_named_and_hinder_nobody(self):
        self.make()
        ran = self.expect([0], "stats", "--json", extra={"CKCACHE_MAX_SIZE": "much"})
        self.assertIn(b"CKCACHE_MAX_SIZE", ran.stderr)
        self.check_json("stats", ran.stdout)


class Results(Healthy):
    def listed(self, *arguments):
        return self.json("list", *arguments)

    def test_list_in_every_order(self):
        rows = self.listed()
        self.assertEqual(len(rows), ENTRIES)
        for order, key, falling in (("used", "last_use_ns", True), ("size", "bytes", True),
                                    ("compile", "compile_ms", True), ("path", "entry", False)):
            sorted_rows = self.listed("--sort", order)
            values = [row[key] for row in sorted_rows]
            self.assertEqual(values, sorted(values, reverse=falling))
            self.assertEqual(self.listed("--sort", order, "--reverse"), sorted_rows[::-1])
            self.assertEqual(self.listed("--sort", order, "--limit", "2"), sorted_rows[:2])
            self.assertEqual(self.listed("--sort", order, "--limit", "9"), sorted_rows)

    def test_list_has_a_line_for_each(self):
        lines = self.expect([0], "list").stdout.decode().splitlines()
        self.assertEqual(len(lines), 1 + ENTRIES)
        self.assertEqual(len(self.expect([0], "list", "--limit", "1").stdout.splitlines()), 2)
        for line, row in zip(lines[1:], self.listed()):
            self.assertEqual(line.split()[0], "/".join(part[:8] for part in
                                                       row["entry"][:-len(".src")].split("/")))

    def test_verbs_agree_about_what_is_there(self):
        rows = self.listed()
        total = sum(row["bytes"] for row in rows)
        stats = self.json("stats")
        verified = self.json("verify")
        self.assertEqual((stats["entries"], stats["bytes"]), (ENTRIES, total))
        self.assertEqual((verified["sound"], verified["bytes"]), (ENTRIES, total))
        pruned = self.json("prune", extra={"CKCACHE_THRESHOLD": "0"})
        self.assertEqual((pruned["removed_entries"], pruned["entries"], pruned["bytes"]),
                         (0, ENTRIES, total))
        cleared = self.json("clear")
        self.assertEqual((cleared["removed_entries"], cleared["removed_bytes"]), (ENTRIES, total))
        self.assertEqual(self.listed(), [])

    def test_prune_says_what_went(self):
        caches.pass_days(self.root, 2)
        value = self.json("prune", extra={"CKCACHE_THRESHOLD": "1"})
        self.assertEqual((value["removed_entries"], value["entries"], value["bytes"]),
                         (ENTRIES, 0, 0))

    def test_zero_forgets_counts_alone(self):
        shown = self.json("stats", "--zero")
        self.assertGreater(shown["misses"], 0)
        after = self.json("stats")
        self.assertEqual((after["misses"], after["hits_disk"], after["bypasses"]), (0, 0, {}))
        self.assertEqual(after["entries"], shown["entries"])

    def test_what_is_exported_is_imported_once(self):
        bundle = self.bundle()
        shutil.rmtree(self.root)
        for imported, there in ((ENTRIES, 0), (0, ENTRIES)):
            value = self.json("import", bundle)
            self.assertEqual((value["imported"], value["there"]), (imported, there))

    def test_export_says_what_it_left_out(self):
        self.make(caches.damage_bin)
        file = self.path("file")
        ran = self.expect([0], "export", file, "--json")
        self.assertEqual(self.check_json("export", ran.stdout),
                         {"exported": ENTRIES - 1, "damaged": 1, "foreign": 0})
        self.assertIn(b"left out: 1 damaged", ran.stderr)

    def test_a_bundle_to_standard_output_is_nothing_else(self):
        self.assertEqual(self.expect([0], "export", "-", "--json").stdout, caches.read(self.bundle()))

    def test_what_is_no_bundle(self):
        before = caches.snapshot(self.root)
        for content in (b"", b"rubbish", b"x" * 100000):
            file = self.path("file")
            caches.write(file, content)
            for arguments in ([file], [file, "--json"]):
                ran = self.expect([1], "import", *arguments)
                self.assertEqual(ran.stdout, b"")
                self.assertIn(b"not a bundle", ran.stderr)
        self.expect([1], "import", self.work)
        self.expect([1], "import", self.path("none"))
        self.expect([1], "import", "-")
        unread = tool_case.closed_pipe()
        self.assertEqual(self.expect([1], "import", "-", stdin=unread).stderr,
                         b"ckcache: -, copied to a temporary file: Bad file descriptor\n")
        os.close(unread)
        self.assertEqual(caches.snapshot(self.root), before)

    def test_run_ends_as_its_command(self):
        for code in (0, 1, 2, 77, 125, 255):
            self.assertEqual(self.run_tool("run", "sh", "-c", "exit %d" % code).returncode, code)
            self.assertEqual(self.run_tool("run", "--summary", "sh", "-c", "exit %d" % code).returncode,
                             code)
        self.assertEqual(self.run_tool("run", "sh", "-c", "kill -TERM $$").returncode, -15)
        self.expect([127], "run", "no-such-command")
        self.expect([126], "run", self.work)


class Output(Case):
    PRINTS = (["stats"], ["stats", "--json"], ["list"], ["list", "--json"], ["verify"],
              ["verify", "--json"], ["prune"], ["clear"], ["--help"], ["list", "--help"],
              ["--version"], ["replay", "--json"], ["export", "-"])

    def test_a_full_disk_is_said(self):
        for arguments in self.PRINTS:
            self.make()
            with open("/dev/full", "wb") as full:
                ran = self.expect([1], *arguments, stdout=full)
            self.assertIn(b"no space left", ran.stderr.lower(), arguments)

    def test_counts_that_cannot_be_forgotten_are_a_failure(self):
        self.make()
        ran = self.in_shell('ulimit -f 0; exec "$0" stats --zero')
        self.assertEqual(ran.returncode, 1)
        self.assertIn(b"no space left", ran.stderr)

    def test_a_reader_that_leaves_is_no_error(self):
        for arguments in self.PRINTS:
            self.make()
            for ignored in (False, True):
                pipe = tool_case.closed_pipe()
                ran = self.run_tool(*arguments, stdout=pipe, restore_signals=not ignored)
                os.close(pipe)
                self.assertIn(ran.returncode, (1,) if ignored else (-13,), (arguments, ran))
                self.assertEqual(ran.stderr, b"", arguments)

    def in_shell(self, script, *arguments):
        return subprocess.run(["sh", "-c", script, CKCACHE, *arguments], cwd=self.cwd, env=self.environment(),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)

    def test_closed_descriptors_take_no_file_of_the_caches(self):
        for arguments in self.PRINTS + (["stats", "--nothing"], ["import", "-"]):
            for closed in ("<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"):
                self.make()
                before = caches.snapshot(self.root)
                ran = self.in_shell('exec "$0" "$@" ' + closed, *arguments)
                self.assertIn(ran.returncode, (0, 1, 2), (arguments, closed, ran))
                if ">&-" in closed.split() and "--nothing" not in arguments:
                    self.assertEqual(ran.returncode, 1, (arguments, closed, ran))
                if arguments[0] not in ("clear", "prune", "replay"):
                    self.assertEqual(caches.snapshot(self.root), before, (arguments, closed))

    def test_a_file_is_not_taken_for_a_closed_output(self):
        self.make()
        file = self.path("file")
        for arguments, closed, code in ((["export", file], ">&-", 1), (["export", file], "2>&-", 0)):
            ran = self.in_shell('exec "$0" "$@" ' + closed, *arguments)
            self.assertEqual(ran.returncode, code, (closed, ran))
            self.assertEqual(caches.read(file), caches.read(self.bundle()), closed)

    def test_no_message_goes_into_a_file_of_the_caches(self):
        self.make(caches.damage_recipe)
        self.assertEqual(self.in_shell('exec "$0" replay 2>&-').returncode, 0)
        self.assertEqual(os.path.getsize(os.path.join(self.root, "recipes", "replay.lock")), 0)

    def test_a_command_gets_descriptors_as_they_are(self):
        ran = self.in_shell('"$0" run sh -c "ls -l /proc/self/fd >&2" <&- >&-')
        self.assertNotIn(b"/dev/null", ran.stderr)

    def on_terminal(self, *arguments, both=False, extra=None):
        """What a terminal shows that is stderr, and with both stdout; and stdout's pipe."""
        with tempfile.TemporaryFile() as out:
            code, shown = terminal.show(lambda fd: subprocess.Popen(
                [CKCACHE, *arguments], cwd=self.cwd, stdin=subprocess.DEVNULL, stdout=fd if both else out, stderr=fd,
                env=self.environment({"TERM": "xterm", **(extra or {})})))
            out.seek(0)
            self.assertEqual(code, 0, (arguments, shown))
            return shown, out.read()

    def test_progress_is_for_terminals(self):
        bundle = self.bundle()
        for arguments in (["verify"], ["export", self.path("file")],
                          ["import", bundle], ["replay"], ["prune", "--older-than", "0d"]):
            self.make()
            shown, out = self.on_terminal(*arguments)
            self.assertRegex(shown, rb"\r\x1b\[Kckcache: [a-z, ]+ \[=* *\] +\d+ %", arguments)
            self.assertTrue(shown.endswith(b"\r\x1b[K"), (arguments, shown))
            self.assertNotIn(b"\x1b", out)
            self.make()
            shown, _ = self.on_terminal(*arguments, extra={"TERM": "dumb"})
            self.assertNotIn(b"\x1b", shown)
            self.assertNotIn(b"%", shown)
            self.make()
            self.assertNotIn(b"\x1b", self.expect([0], *arguments).stderr)

        self.make()
        self.assertRegex(self.on_terminal("prune")[0], rb"\r\x1b\[Kckcache: prune \d+")

    def test_verbs_that_may_take_long_count(self):
        for arguments in (["list"], ["list", "--json", "--sort", "path"], ["stats", "--exact"], ["stats", "--verbose"],
                          ["report", "-"]):
            self.make()
            self.assertNotIn(b"\x1b", self.on_terminal(*arguments)[0])	# nothing is drawn for a moment
            caches.multiply(self.root, 100)
            shown, out = self.on_terminal(*arguments)
            self.assertRegex(shown, rb"\r\x1b\[Kckcache: %s \d+" % arguments[0].encode(), arguments)
            self.assertTrue(shown.endswith(b"\r\x1b[K"), (arguments, shown))
            self.assertNotIn(b"\x1b", out)
            self.assertNotIn(b"\x1b", self.on_terminal(*arguments, extra={"TERM": "dumb"})[0])

    def test_a_search_counts_unless_its_path_is_known(self):
        self.make()
        path = os.path.relpath(caches.files(self.root, ".src")[0], self.root)
        caches.multiply(self.root, 100)
        inside = "/".join(path.split("/")[1:4])
        for verb in ("show", "explain"):
            self.assertRegex(self.on_terminal(verb, inside)[0], rb"\r\x1b\[Kckcache: %s \d+" % verb.encode())
            self.assertNotIn(b"\x1b", self.on_terminal(verb, path)[0])

    def test_messages_stand_alone_in_their_lines(self):
        self.make(caches.damage_bin)
        shown, _ = self.on_terminal("export", self.path("file"))
        self.assertRegex(shown, rb"\r\x1b\[Kckcache: left out: 1 damaged[^\x1b]*\n$")
        self.make(caches.damage_recipe)
        shown, _ = self.on_terminal("replay")
        self.assertRegex(shown, rb"%\r\x1b\[Kckcache: \w+: the recipe is damaged\r\n")

    def test_colours_are_for_terminals(self):
        self.make(caches.damage_bin)
        for arguments in (["list"], ["--help"], ["list", "--help"], ["stats", "--verbose"], ["stats", "--per-program"]):
            self.assertNotIn(b"\x1b[1m", self.on_terminal(*arguments)[1])
            self.assertIn(b"\x1b[", self.on_terminal(*arguments, both=True)[0])
            for extra in ({"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}):
                self.assertNotIn(b"\x1b[", self.on_terminal(*arguments, both=True, extra=extra)[0])
            self.assertIn(b"\x1b[", self.on_terminal(*arguments, both=True,
                                                     extra={"NO_COLOR": ""})[0])
            self.assertNotIn(b"\x1b", self.expect([0], *arguments).stdout)

    def test_a_terminal_changes_no_word(self):
        self.make()
        for arguments in (["stats"], ["--help"]):	# list is as wide as it: entries.py
            shown, _ = self.on_terminal(*arguments, both=True)
            plain = re.sub(rb"\x1b\[\d*m", b"", shown).replace(b"\r\n", b"\n")
            self.assertEqual(plain, self.expect([0], *arguments).stdout)

    def test_json_is_the_same_everywhere(self):
        self.make()
        for verb in ("stats", "list", "verify"):
            _, out = self.on_terminal(verb, "--json")
            piped = self.expect([0], verb, "--json").stdout
            self.assertEqual(json.loads(out), self.check_json(verb, piped))


if __name__ == "__main__":
    CKCACHE, SOURCE = sys.argv[1:3]
    command_line.CKCACHE, command_line.SOURCE = CKCACHE, SOURCE
    SCHEMA = schema.read(os.path.join(SOURCE, "docs", "JSON.md"))
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
