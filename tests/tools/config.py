# SPDX-License-Identifier: MIT
"""ckcache config: what it shows, what it writes into files, and that it writes all or nothing.
And what is said to who types what ccache has.

    config.py CKCACHE SOURCE-DIRECTORY [TEST...]
"""
import fcntl
import json
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import time
import unittest

import command_line
import tool_case

CKCACHE, SOURCE = None, None
FILE = """# mine
  Max_Size =  2Gi   # half of the disk
log = info
log = warning
trace =

; words that are no setting

# for darktable
[program darktable]
compression = 6
[program another]
compression = 7
"""


class Case(tool_case.Case):
    def setUp(self):
        super().setUp()
        self.root = None
        self.file = self.path(".config", "ckcache", "ckcache.conf")

    def run_tool(self, *arguments, **options):
        ran = super().run_tool(*arguments, **options)
        return ran.stdout.decode(), ran.stderr.decode()

    def set(self, *arguments, **options):
        out, err = self.run_tool("config", "set", *arguments, **options)
        self.assertEqual((out, err), ("", ""))

    def get(self, name, *arguments, **options):
        return self.run_tool("config", "get", name, *arguments, **options)[0].rstrip("\n")

    def json(self, *arguments, **options):
        return json.loads(self.run_tool("config", "--json", *arguments, **options)[0])

    def give(self, text):
        """The settings file, with that in it."""
        self.write(self.file, text)

    def text(self):
        return self.read(self.file)

    def names(self):
        """What lies beside the file, and it."""
        return os.listdir(os.path.dirname(self.file))


class Shown(Case):
    def test_each_value_with_its_origin(self):
        self.give(FILE)
        out, err = self.run_tool("config", extra={"CKCACHE_THRESHOLD": "7"})
        lines = out.splitlines()
        self.assertIn("(%s:2) max_size = 2Gi" % self.file, lines)
        self.assertIn("(%s:4) log = warning" % self.file, lines)
        self.assertIn("(environment) threshold = 7", lines)
        self.assertIn("(default) compression = auto", lines)
        self.assertIn("(default) trace = ", lines)
        self.assertIn("(default) dir = %s/.cache/ckcache" % self.work, lines)
        self.assertEqual(lines[-5:], ["[program darktable]", "(%s:11) compression = 6" % self.file, "",
                                      "[program another]", "(%s:13) compression = 7" % self.file])
        self.assertEqual(err.count("\n"), 1)
        self.assertIn("ckcache.conf:7: not \"key = value\"", err)

    def test_as_a_program_has_it(self):
        self.give(FILE)
        self.assertEqual(self.get("compression"), "auto")
        self.assertEqual(self.get("compression", "--program", "darktable"), "6")
        value = self.json("get", "compression", "--program=another")
        self.assertEqual((value["program"], value["programs"]), ("another", []))
        self.assertEqual(value["settings"], [{"name": "compression", "value": "7", "origin": "user",
                                              "file": self.file, "line": 13, "of_program": True}])
        self.assertEqual(self.get("compression", "--program=another", extra={"CKCACHE_COMPRESSION": "1"}),
                         "1")

    def test_this_command_is_a_program_too(self):
        self.give("[program ckcache]\ncompression = 3\n")
        self.assertEqual(self.get("compression"), "3")

    def test_lines_of_sections_that_are_ignored(self):
        self.give("[program x]\nmax_size = 1G\nnothing = 1\ncompression = much\nlog = info\n")
        self.assertEqual([(line["name"], line["problem"]) for line in self.json()["programs"][0]["settings"]],
                         [("max_size", "it cannot be set for one program"),
                          ("nothing", "there is no such setting"),
                          ("compression", "none, auto, or 1 to 9 is expected"), ("log", None)])
        self.assertIn("max_size = 1G  # ignored: it cannot be set for one program\n", self.run_tool("config")[0])

    def test_passwords_are_not_shown(self):
        self.give("remote = redis://user:hunter2@host @token=hunter2\n"
                   "[program x]\nremote = redis://user:hunter2@host\n")
        for arguments in ((), ("--json",), ("get", "remote"), ("--program", "x")):
            out, err = self.run_tool("config", *arguments)
            self.assertIn("redis://host", out)
            self.assertNotIn("hunter2", out + err)
        self.assertNotIn("hunter2", self.run_tool("config", extra={"CKCACHE_REMOTE": "a b hunter2"})[0])

    def test_scripts_read_every_setting(self):
        for setting in self.json()["settings"]:
            self.assertEqual(self.get(setting["name"]), setting["value"])
            self.assertEqual((setting["origin"], setting["file"], setting["line"]), ("default", None, None))


class Written(Case):
    def test_a_new_file_is_the_owners_alone(self):
        self.set("max_size", "20Gi")
        self.assertEqual(self.text(), "max_size = 20Gi\n")
        self.assertEqual(self.mode(self.file), 0o600)
        self.assertEqual(self.mode(os.path.dirname(self.file)), 0o700)
        self.assertEqual(self.names(), ["ckcache.conf"])
        self.assertEqual(self.get("max_size"), "20Gi")

    def test_all_other_lines_stay(self):
        cases = [
            (("max_size", "3G"), ("  Max_Size =  2Gi   # half", "  Max_Size =  3G   # half")),
            (("log=error",), ("log = warning", "log = error")),	# the last one counts
            (("trace", "/t"), ("trace =\n", "trace = /t\n")),
            (("observe", "1"), ("trace =\n", "trace =\nobserve = 1\n")),
            (("compression", "1"), ("trace =\n", "trace =\ncompression = 1\n")),
            (("compression", "1", "--program", "darktable"), ("compression = 6", "compression = 1")),
            (("log", "info", "--program", "darktable"), ("compression = 6\n", "compression = 6\nlog = info\n")),
            (("log", "info", "--program", "another"), ("compression = 7\n", "compression = 7\nlog = info\n")),
            (("log", "info", "--program", "my app"), ("compression = 7\n",
                                                      "compression = 7\n\n[program my app]\nlog = info\n")),
        ]
        for arguments, (old, new) in cases:
            self.give(FILE)
            self.run_tool("config", "set", *arguments)
            self.assertEqual(self.text(), FILE.replace(old, new), arguments)
            self.run_tool("config", "set", *arguments)
            self.assertEqual(self.text(), FILE.replace(old, new), arguments)

    def test_ends_of_lines(self):
        for text, expected in (("log = info", "log = info\nobserve = 1\n"), ("\n", "\nobserve = 1\n"),
                               ("observe=0", "observe=1"), ("observe = # why", "observe = 1 # why"),
                               ("observe = 0\r\n", "observe = 1\r\n"), ("[program x]\n", "observe = 1\n[program x]\n"),
                               ("[oops]\nobserve = 0\n", "observe = 1\n[oops]\nobserve = 0\n"), ("", "observe = 1\n")):
            self.give(text)
            self.run_tool("config", "set", "observe", "1")
            self.assertEqual(self.text(), expected)
            self.assertEqual(self.get("observe"), "1")

    def test_unset_removes_each_line_of_that_part(self):
        self.give(FILE)
        self.run_tool("config", "unset", "log")
        self.run_tool("config", "unset", "compression", "--program", "darktable")
        expected = FILE.replace("log = info\nlog = warning\n", "").replace("compression = 6\n", "")
        self.assertEqual(self.text(), expected)
        before = os.stat(self.file)
        self.run_tool("config", "unset", "compression")
        after = os.stat(self.file)
        self.assertEqual((before.st_ino, before.st_mtime_ns), (after.st_ino, after.st_mtime_ns))

    def test_what_is_written_is_what_is_read(self):
        """Whatever the order, a value that was set is the one in force, and other settings keep theirs."""
        choice = random.Random(4)
        values = {"max_size": ["1G", "2Ti"], "log": ["debug", "none"], "compression": ["none", "9"],
                  "trace": ["/a#b", "/a b"], "observe": ["1", "0"]}
        self.give(FILE)
        expected = {}
        for _ in range(60):
            name = choice.choice(list(values))
            program = choice.choice([None, "darktable", "new one"]) if name != "max_size" else None
            value = choice.choice(values[name])
            rest = ["--program", program] if program else []
            self.run_tool("config", "set", name, value, *rest)
            expected[program, name] = value
            shown = {setting["name"]: setting["value"] for setting in self.json(*rest)["settings"]}
            for (owner, other), wanted in expected.items():
                if owner == program:
                    self.assertEqual(shown[other], wanted, self.text())
        for line in FILE.splitlines():
            if line.startswith("#") or line.startswith("["):
                self.assertIn(line, self.text())

    def test_modes_links_and_owners_stay(self):
        target = os.path.join(self.work, "dotfiles")
        self.give("log = info\n")
        os.rename(self.file, target)
        os.chmod(target, 0o640)
        os.symlink(target, self.file)
        self.set("log", "debug")
        self.assertTrue(os.path.islink(self.file))
        self.assertEqual(self.read(target), "log = debug\n")
        self.assertEqual(self.mode(target), 0o640)
        os.unlink(target)
        self.run_tool("config", "set", "log", "info", code=1)	# a link to nothing
        self.assertTrue(os.path.islink(self.file))

    @unittest.skipUnless(os.geteuid() == 0, "only the superuser gives files away")
    def test_the_owner_stays(self):
        self.give("log = info\n")
        os.chown(self.file, 54321, 54322)
        self.set("log", "debug")
        info = os.stat(self.file)
        self.assertEqual((info.st_uid, info.st_gid), (54321, 54322))

    @unittest.skipUnless(os.geteuid() == 0, "only the superuser makes files of another group")
    def test_a_group_that_cannot_be_kept_may_not_become_another(self):
        self.give("remote = redis://user:hunter2@host\n")
        os.chown(self.file, 54321, 54322)
        for path in (self.work, os.path.join(self.work, ".config"), os.path.dirname(self.file)):
            os.chown(path, 54321, 54321)
        # The command lies where that user need not get to.
        program = shutil.copy(CKCACHE, os.path.join(self.work, "ckcache"))
        for before, after in ((0o640, 0o600), (0o664, 0o644), (0o604, 0o600)):
            os.chown(self.file, 54321, 54322)
            os.chmod(self.file, before)
            try:
                ran = subprocess.run([program, "config", "set", "log", "info"], env=self.environment(),
                                     cwd=self.work, capture_output=True, timeout=60, check=False,
                                     user=54321, group=54321, extra_groups=[])
            except PermissionError:
                self.skipTest("temporary files are root's alone here")
            self.assertEqual((ran.returncode, ran.stderr), (0, b""))
            info = os.stat(self.file)
            self.assertEqual((info.st_uid, info.st_gid, stat.S_IMODE(info.st_mode)), (54321, 54321, after))

    def test_whatever_has_the_new_files_name_goes(self):
        self.give("log = info\n")
        other = self.write("other", "not a setting\n")
        new = os.path.join(os.path.dirname(self.file), ".ckcache.conf.new")
        for make in (os.mkfifo, lambda path: os.symlink(other, path), lambda path: os.link(other, path)):
            make(new)
            self.set("log", "debug")
            self.assertEqual(self.text(), "log = debug\n")
            self.assertEqual(self.names(), ["ckcache.conf"])
            self.assertEqual(self.read(other), "not a setting\n")
        os.mkdir(new)
        self.assertIn(self.file, self.run_tool("config", "set", "log", "info", code=1)[1])
        self.assertEqual(self.text(), "log = debug\n")

    def test_a_value_that_no_line_holds_is_refused(self):
        for value in ("/a #b", "/a\nlog = debug", "/a "):
            self.assertIn("cannot hold", self.run_tool("config", "set", "trace", value, code=2)[1])
        self.assertFalse(os.path.exists(self.file))

    def test_an_address_is_checked_and_no_password_shown(self):
        for value in ("redis://user:hunter2@host bad", "//user:hunter2@host", "redis://host @token=hunter2%zz",
                      "redis://user:hunter2@host read-only=true write-only=true"):
            out, err = self.run_tool("config", "set", "remote", value, code=2)
            self.assertEqual((out, err.count("\n"), err.startswith("ckcache: remote: ")), ("", 1, True), err)
            self.assertNotIn("hunter2", err)
        self.assertFalse(os.path.exists(self.file))
        for value in ("redis://user:hunter2@host read-only=true @token=x%20y", "file:/shared", ""):
            self.set("remote", value)

    def test_a_variable_that_wins_is_named(self):
        _, err = self.run_tool("config", "set", "log", "info", extra={"CKCACHE_LOG": "debug"})
        self.assertIn("CKCACHE_LOG is set in this environment, and wins over files", err)
        self.assertEqual(self.text(), "log = info\n")

    def test_what_cannot_be_written_is_told(self):
        self.run_tool("config", "set", "log", "info", code=1, extra={"HOME": ""})
        os.makedirs(self.file)
        _, err = self.run_tool("config", "set", "log", "info", code=1)
        self.assertIn(self.file, err)
        self.assertEqual(self.names(), ["ckcache.conf"])

    def test_a_file_may_not_grow_without_end(self):
        text = "# %s\n" % ("x" * 65500)
        self.give(text)
        _, err = self.run_tool("config", "set", "trace", "/" + "y" * 1000, code=1)
        self.assertIn("too large", err)
        self.assertEqual(self.text(), text)

    def test_what_is_no_text_is_left_alone(self):
        for text in ("log = info\n\0\n", "\0"):
            self.give(text)
            _, err = self.run_tool("config", "set", "log", "debug", code=1)
            self.assertIn(self.file, err)
            self.assertEqual(self.text(), text)
        for seed in range(40):
            choice = random.Random(seed)
            self.give("".join(choice.choice("[]program x=#\n\r\t \\\x01log") for _ in range(200)))
            self.run_tool("config", "set", "threshold", "7", "--program", "x", code=2)
            self.run_tool("config", "set", "log", "debug", "--program", "x")
            self.assertEqual(self.get("log", "--program", "x"), "debug", self.text())
            self.run_tool("config", "set", "log", "info")
            self.assertEqual(self.get("log"), "info", self.text())
            self.assertEqual(self.get("log", "--program", "x"), "debug", self.text())

    def test_for_all_users(self):
        self.need_mounts()
        etc = os.path.join(self.work, "etc")
        os.mkdir(etc)
        mounted = ["unshare", "-m", "sh", "-c", 'mount --bind "$ETC" /etc && exec "$0" "$@"', CKCACHE, "config"]

        def run(*arguments):
            ran = subprocess.run([*mounted, *arguments], env=self.environment({"ETC": etc}), cwd=self.work,
                                 capture_output=True, timeout=60, check=False)
            self.assertEqual((ran.returncode, ran.stderr.decode()), (0, said))
            return ran.stdout.decode()
        said = ""
        run("set", "--system", "compression", "4")
        run("set", "--system", "--program", "x", "compression", "5")
        file = os.path.join(etc, "ckcache.conf")
        self.assertEqual(self.mode(file), 0o644)
        self.assertIn("(/etc/ckcache.conf:1) compression = 4\n", run())
        self.assertEqual(run("get", "compression", "--program=x"), "5\n")
        self.give("compression = 6\n")
        self.assertEqual(run("get", "compression", "--program=x"), "6\n")
        run("unset", "--system", "compression")
        self.assertEqual(self.read(file), "\n[program x]\ncompression = 5\n")
        run("set", "--system", "remote", "redis://host")
        said = "ckcache: warning: others can read the password in /etc/ckcache.conf: better put it into a file " \
            "with mode 0600, and name that in remote_secrets\n"
        run("set", "--system", "remote", "redis://:hunter2@host")
        self.assertEqual(self.mode(file), 0o644)
        os.chmod(file, 0o600)
        said = ""
        run("set", "--system", "remote", "redis://:hunter2@host")
        self.assertEqual(self.mode(file), 0o600)

    def test_a_password_makes_the_file_the_owners_alone(self):
        self.give("log = info\n")
        for value in ("redis://host", "redis://host @key-prefix=x"):
            os.chmod(self.file, 0o644)
            self.set("remote", value)
            self.assertEqual(self.mode(self.file), 0o644)
        for value in ("redis://:hunter2@host", "http://host @bearer-token=hunter2"):
            os.chmod(self.file, 0o644)
            self.set("remote", value)
            self.assertEqual(self.mode(self.file), 0o600)
            self.assertIn("hunter2", self.text())
            os.chmod(self.file, 0o640)
            self.set("log", "debug")	# the user's own wish
            self.assertEqual(self.mode(self.file), 0o640)

    def test_a_full_disk_leaves_the_old_file(self):
        self.give(FILE)

        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10))
        _, err = self.run_tool("config", "set", "log", "debug", code=1, preexec_fn=limit)
        self.assertNotEqual(err, "")
        self.assertEqual(self.text(), FILE)
        self.assertEqual(self.names(), ["ckcache.conf"])


class Together(Case):
    def test_two_at_once_lose_nothing(self):
        self.give(FILE)
        names = ["disable", "read_only", "observe"]
        running = [subprocess.Popen([CKCACHE, "config", "set", name, "1", "--program", "p%d" % i],
                                    env=self.environment(tool_case.clock(STOPPED_CLOCK="1")), cwd=self.work)
                   for name in names for i in range(3)]
        self.assertEqual([one.wait(60) for one in running], [0] * len(running))
        for i in range(3):
            shown = {setting["name"]: setting for setting in self.json("--program", "p%d" % i)["settings"]}
            for name in names:
                self.assertEqual((shown[name]["value"], shown[name]["of_program"]), ("1", True))

    def test_a_lock_that_somebody_holds_is_told(self):
        self.give(FILE)
        lock = os.open(os.path.dirname(self.file), os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        _, err = self.run_tool("config", "set", "log", "debug", code=1)
        os.close(lock)
        self.assertIn("another process is changing it", err)
        self.assertEqual(self.text(), FILE)

    def test_killed_at_any_time_the_file_is_whole(self):
        """The old text or a new one; and the next command works."""
        choice = random.Random(5)
        self.give(FILE)
        allowed = {FILE.replace("log = warning", "log = " + word) for word in ("warning", "debug", "error")}
        for _ in range(30):
            word = choice.choice(["debug", "error"])
            one = subprocess.Popen([CKCACHE, "config", "set", "log", word], env=self.environment(),
                                   cwd=self.work)
            time.sleep(choice.random() * 0.004)
            one.kill()
            one.wait(60)
            self.assertIn(self.text(), allowed)
        self.set("log", "debug")
        self.assertEqual(self.names(), ["ckcache.conf"])


class Hints(Case):
    def hint(self, *arguments):
        out, err = self.run_tool(*arguments, code=2)
        self.assertEqual(out, "")
        self.assertEqual(err.count("\n"), 1, err)
        return err

    def test_options_of_ccache(self):
        """Each one that this table has; docs/COMPARISON.md has them, too."""
        for option, meant in (("-s", "stats?"), ("-svv", "stats --verbose?"), ("--show-stats", "stats?"), ("-z", "stats --zero?"),
                              ("-C", "clear?"), ("--clear", "clear?"), ("-c", "prune?"), ("-p", "config?"),
                              ("-M", "config set max_size SIZE?"), ("--max-size=5G", "config set max_size SIZE?"),
                              ("-k", "config get KEY?"), ("-o", "config set KEY VALUE?"),
                              ("-X", "recompress LEVEL?"), ("-x", "recompress --dry-run?"),
                              ("--evict-older-than", "prune --older-than 30d?")):
            self.assertTrue(self.hint(option).endswith("did you mean ckcache %s\n" % meant), option)

    def habits(self):
        return self.read(os.path.join(SOURCE, "tools", "arguments.c")).partition("habits[] = {")[2].partition("\n};")[0]

    def test_what_is_meant_is_there(self):
        rows = command_line.re.findall(r"ckcache ([a-z]+)((?: --[a-z-]+)*)", self.habits())
        self.assertGreater(len(rows), 15)
        for verb, options in rows:
            self.assertIn(verb, command_line.verbs())
            for option in options.split():
                self.assertIn(option[2:], command_line.options(command_line.help_of(verb)))

    def test_what_is_meant_is_accepted(self):
        """What is a whole command can be typed as it stands."""
        commands = set(command_line.re.findall(r"ckcache ([a-z][^?;\"]*)[?;\"]", self.habits())) - {"run --summary"}
        commands = [command for command in commands if not command_line.re.search("[A-Z]", command)]
        self.assertGreater(len(commands), 8)
        for command in commands:
            self.run_tool(*command.split())

    def test_verbs_that_are_misspelt(self):
        for word, meant in (("stat", "stats"), ("Stats", "stats"), ("tsats", "stats"), ("clera", "clear"),
                            ("conf", "config"), ("prnue", "prune"), ("imprt", "import"), ("verfy", "verify"),
                            ("recompres", "recompress")):
            self.assertIn("did you mean %s?" % meant, self.hint(word))
            self.assertIn("did you mean %s?" % meant, self.hint("help", word))
        for word in ("x", "zzzzzzzz", "", "--stats", "stats stats", "s" * 100):
            self.assertNotIn("did you mean", self.hint(word))

    def test_settings_and_actions_that_are_misspelt(self):
        self.assertIn("did you mean max_size?", self.hint("config", "get", "maxsize"))
        self.assertIn("did you mean max_size?", self.hint("config", "set", "CKCACHE_MAX_SIZ", "1"))
        self.assertIn("did you mean compression?", self.hint("config", "unset", "compresion"))
        self.assertIn("ckcache config lists all", self.hint("config", "get", "nothing"))
        self.assertIn("did you mean set?", self.hint("config", "ste", "log", "info"))
        self.assertIn("did you mean show?", self.hint("key", "shwo"))


if __name__ == "__main__":
    CKCACHE, SOURCE = sys.argv[1:3]
    command_line.CKCACHE, command_line.SOURCE = CKCACHE, SOURCE
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
