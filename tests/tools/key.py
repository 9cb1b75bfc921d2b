# SPDX-License-Identifier: MIT
"""ckcache key: private keys that openssl reads, public lines, and the file of trusted keys.

    key.py CKCACHE SOURCE-DIRECTORY
"""
import base64
import datetime
import json
import os
import pwd
import re
import shutil
import socket
import stat
import subprocess
import sys
import unittest

import schema
import tool_case

CKCACHE, SOURCE = None, None
LINE = re.compile(r"^ed25519 ([A-Za-z0-9+/]{43}=) (\S+)( until \d{4}-\d\d-\d\d)?$")
KEY = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="		# RFC 8032, TEST 1
OTHER = "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw="	# TEST 2


class Case(tool_case.Case):
    def setUp(self):
        super().setUp()
        self.config = self.path("config", "ckcache")
        self.trusted = os.path.join(self.config, "trusted_keys")
        self.variables = {**os.environ, "HOME": self.work, "LC_ALL": "C.UTF-8",
                            "XDG_CONFIG_HOME": self.path("config")}

    def start(self, *arguments, **options):
        return subprocess.Popen([CKCACHE, "key", *arguments], cwd=self.work, env=self.variables,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, **options)

    def key(self, code, *arguments, **options):
        """(stdout, stderr); nothing of a private key in either."""
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, code, (arguments, out, err))
        self.assertNotIn("Sanitizer", err)
        self.assertNotIn("runtime error", err)
        for line in err.splitlines():
            self.assertTrue(line.startswith("ckcache: "), err)
        self.assertNotIn("PRIVATE", out + err)
        self.assertTrue(code == 0 or err, arguments)
        return out, err

    def openssl(self, *arguments):
        return subprocess.run(["openssl", *arguments], cwd=self.work, check=True,
                              capture_output=True, timeout=60).stdout

    def public_of(self, path):
        """The 32 bytes of a private key file, in base64, by openssl."""
        der = self.openssl("pkey", "-in", path, "-pubout", "-outform", "der")
        return base64.b64encode(der[-32:]).decode()

    def make_pair(self, name="site"):
        self.openssl("genpkey", "-algorithm", "ed25519", "-out", name + ".pem")
        os.chmod(self.path(name + ".pem"), 0o600)
        self.openssl("pkey", "-in", name + ".pem", "-pubout", "-out", name + ".pub")
        return self.public_of(name + ".pem")

    def keys(self):
        """{key: (name, until)} of the file."""
        lines = [line for line in self.read(self.trusted).splitlines() if line and line[0] != "#"]
        found = [LINE.match(line) for line in lines]
        self.assertNotIn(None, found, lines)
        return {one.group(1): (one.group(2), (one.group(3) or "")[7:]) for one in found}


class New(Case):
    def test_a_new_key_is_its_owners_and_openssls(self):
        out, err = self.key(0, "new")
        path = os.path.join(self.config, "signing_key.pem")
        self.assertEqual(self.mode(path), 0o600)
        self.assertEqual(self.mode(self.config), 0o700)
        self.assertIn(path, err)
        found = LINE.match(out.strip())
        self.assertTrue(found, out)
        self.assertEqual(found.group(1), self.public_of(path))
        self.assertTrue(self.read(path).startswith("-----BEGIN PRIVATE KEY-----\n"))
        # As genpkey writes it: PKCS#8.
        self.assertEqual(self.openssl("pkey", "-in", path).decode(), self.read(path))

    def test_the_umask_opens_nothing(self):
        self.key(0, "new", "mine.pem", preexec_fn=lambda: os.umask(0))
        self.assertEqual(self.mode("mine.pem"), 0o600)

    def test_nothing_is_overwritten(self):
        self.key(0, "new")
        path = os.path.join(self.config, "signing_key.pem")
        before = self.read(path)
        out, err = self.key(1, "new")
        self.assertEqual((out, self.read(path)), ("", before))
        self.assertIn("never overwritten", err)
        for name, make in (("file", lambda path: self.write(path, "mine")),
                           ("link", lambda path: os.symlink("nowhere", path)), ("folder", os.mkdir)):
            make(self.path(name))
            self.key(1, "new", name)
        self.assertEqual(self.read("file"), "mine")
        self.assertFalse(os.path.exists(self.path("nowhere")))
        self.key(1, "new", "no such folder/key.pem")

    def test_without_a_name_it_is_its_makers(self):
        try:
            user = pwd.getpwuid(os.geteuid()).pw_name
        except KeyError:
            user = "user"
        name = "%s@%s" % (user, socket.gethostname())
        if not re.fullmatch(r"[\w.@-]{1,64}", name):
            self.skipTest("a name that no line can have: %s" % name)
        self.assertEqual(self.key(0, "new")[0].split()[-1], name)

    def test_names(self):
        self.assertIn(" build-farm\n", self.key(0, "new", "one.pem", "--name", "build-farm")[0])
        for name in ("", "a b", "#a", "é", "x" * 65, "a\n"):
            out, _ = self.key(1, "new", "two.pem", "--name", name)
            self.assertEqual(out, "")
            self.assertFalse(os.path.exists(self.path("two.pem")), name)

    def test_two_keys_are_not_the_same(self):
        lines = {self.key(0, "new", name)[0] for name in ("one.pem", "two.pem")}
        self.assertEqual(len(lines), 2)

    def test_a_device_is_left_alone(self):
        self.key(1, "new", "/dev/full")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))

    def test_a_bundle_is_signed_with_it(self):
        self.key(0, "new", "mine.pem")
        self.openssl("pkey", "-in", "mine.pem", "-pubout", "-out", "mine.pub")
        for arguments in (["export", "bundle", "--sign", "mine.pem"],
                          ["import", "bundle", "--verify", "mine.pub"]):
            subprocess.run([CKCACHE, *arguments], cwd=self.work, check=True, capture_output=True,
                           env={**self.variables, "CKCACHE_DIR": self.path("root")}, timeout=60)

    def test_a_passphrase_is_not_asked_for(self):
        self.make_pair()
        self.openssl("pkey", "-in", "site.pem", "-aes-256-cbc", "-passout", "pass:x", "-out", "locked.pem")
        os.chmod(self.path("locked.pem"), 0o600)
        self.assertIn("it has a passphrase", self.key(1, "show", "locked.pem")[1])


class Show(Case):
    def test_the_public_line_of_either_file(self):
        public = self.make_pair()
        for file, name in (("site.pub", "site"), ("site.pem", r"\S+")):
            out, err = self.key(0, "show", file)
            self.assertRegex(out, "^ed25519 %s %s\n$" % (re.escape(public), name))
            self.assertEqual(err, "")
            self.assertEqual(self.key(0, "show", file, "--name", "x")[0],
                             "ed25519 %s x\n" % public)

    def test_files_without_such_a_key(self):
        self.openssl("genpkey", "-algorithm", "x25519", "-out", "x.pem")
        os.chmod(self.path("x.pem"), 0o600)
        self.write("empty", "")
        for file in ("x.pem", "empty", "none", self.work, "/dev/null"):
            self.assertEqual(self.key(1, "show", file)[0], "")

    def test_a_private_key_that_others_read_is_refused(self):
        self.make_pair()
        for mode in (0o640, 0o604, 0o660):
            os.chmod(self.path("site.pem"), mode)
            for action in ("show", "trust"):
                out, err = self.key(1, action, "site.pem")
                self.assertEqual(out, "")
                self.assertIn("others may read this private key", err)

    def test_all_keys_with_their_state(self):
        today = datetime.datetime.now(datetime.timezone.utc).date()
        dates = {name: today + datetime.timedelta(days) for name, days in
                 (("gone", -3), ("yesterday", -1), ("today", 0), ("tomorrow", 1), ("later", 40))}
        keys = {name: base64.b64encode(bytes([number]) * 32).decode()
                for number, name in enumerate(dates)}
        self.write(self.trusted, "# ours\n" + "".join(
            "ed25519 %s %s until %s\n" % (keys[name], name, date) for name, date in dates.items()) +
            "ed25519 %s ever\nnonsense\n" % OTHER, 0o600)
        out, err = self.key(0, "show")
        self.assertIn("trusted_keys:8: not \"ed25519", err)
        self.assertIn("You have no key", out)
        states = re.findall(r"^  ed25519 \S+ (\w+).*\n    (.*), line (\d+): (.*)$", out, re.M)
        # A day may end in between.
        self.assertEqual([row[:3] for row in states], [
            (name, self.trusted, str(i + 2)) for i, name in enumerate([*dates, "ever"])])
        self.assertRegex(states[0][3], "^expired [34] days ago$")
        self.assertRegex(states[1][3], "^expired (1 day|2 days) ago$")
        self.assertRegex(states[4][3], "^expires in (39|40) days$")
        self.assertEqual(states[5][3], "does not expire")
        value = schema.parse(self.key(0, "show", "--json")[0].encode())
        self.assertEqual(list(schema.check(value, SCHEMA["key"])), [])
        self.assertIsNone(value["own"])
        self.assertEqual([(row["name"], row["until"], row["line"], row["file"], row["key"])
                          for row in value["trusted"]],
                         [(name, str(date), i + 2, self.trusted, keys[name])
                          for i, (name, date) in enumerate(dates.items())] +
                         [("ever", None, 7, self.trusted, OTHER)])
        self.assertEqual([row["expired"] for row in value["trusted"]][::2], [True, False, False])

    def test_the_earliest_line_of_a_key_counts(self):
        self.write(self.trusted, "".join("ed25519 %s %s\n" % row for row in (
            (KEY, "ever"), (KEY, "over until 2020-01-01"), (OTHER, "other"),
            (KEY, "later until 2999-01-01"))), 0o600)
        states = re.findall(r"^    .*, line (\d+): (.*)$", self.key(0, "show")[0], re.M)
        said = "does not count, since %s, line 2 lists the key, too" % self.trusted
        self.assertEqual([states[i] for i in (0, 2, 3)],
                         [("1", said), ("3", "does not expire"), ("4", said)])
        self.assertRegex(states[1][1], "^expired [0-9]+ days ago$")
        value = json.loads(self.key(0, "show", "--json")[0])
        self.assertEqual([row["expired"] for row in value["trusted"]], [True, True, False, True])

    def test_the_own_key(self):
        line = self.key(0, "new")[0].strip()
        out, err = self.key(0, "show")
        self.assertIn("Your key:\n  %s\n" % line, out)
        self.assertIn("No key is trusted here", out)
        self.assertEqual(err, "")
        value = json.loads(self.key(0, "show", "--json")[0])
        self.assertEqual(list(schema.check(value, SCHEMA["key"])), [])
        self.assertEqual(line.split()[1:], [value["own"]["key"], value["own"]["name"]])
        # One that cannot be used hides the others not.
        os.chmod(value["own"]["file"], 0o644)
        self.write(self.trusted, "ed25519 %s me\n" % KEY)
        out, err = self.key(0, "show")
        self.assertIn("others may read this private key", err)
        self.assertIn(KEY, out)

    def test_a_file_that_others_may_change_is_said(self):
        self.write(self.trusted, "ed25519 %s me\n" % KEY, 0o666)
        out, err = self.key(0, "show")
        self.assertIn("others may write to it", err)
        self.assertNotIn(KEY, out)

    def test_without_a_home(self):
        self.variables.update(HOME="", XDG_CONFIG_HOME="")
        self.key(0, "show")
        self.key(1, "new")
        self.key(1, "trust", "ed25519 %s me" % KEY)


class Trust(Case):
    def test_each_way_to_give_a_key(self):
        public = self.make_pair()
        self.write("lines", "# two\ned25519 %s a\n\ned25519 %s b until 2030-01-01\n"
                   % (KEY, OTHER))
        out, _ = self.key(0, "trust", "site.pub")
        self.assertIn("trusted: ed25519 %s site\nin %s\n" % (public, self.trusted), out)
        self.assertEqual(self.mode(self.trusted), 0o600)
        self.assertEqual(self.mode(self.config), 0o700)
        self.key(0, "trust", "lines")
        self.assertEqual(self.keys(), {public: ("site", ""), KEY: ("a", ""),
                                       OTHER: ("b", "2030-01-01")})
        self.key(0, "trust", "site.pem", "--name", "own", "--until", "2031-02-28")
        self.assertEqual(self.keys()[public], ("own", "2031-02-28"))
        os.unlink(self.trusted)
        self.key(0, "trust", self.key(0, "show", "site.pub")[0].strip())
        self.assertEqual(self.keys(), {public: ("site", "")})

    def test_twice_is_once(self):
        for _ in range(3):
            out, _ = self.key(0, "trust", "ed25519 %s me" % KEY)
        self.assertIn("trusted already: ed25519", out)
        self.assertEqual(self.read(self.trusted), "ed25519 %s me\n" % KEY)

    def test_what_is_there_stays(self):
        text = "# mine\n\nnonsense\ned25519 %s old until 2020-01-01\t# note\n# end" % KEY
        self.write(self.trusted, text)
        self.key(0, "trust", "ed25519 %s b" % OTHER)
        self.assertEqual(self.read(self.trusted), text + "\ned25519 %s b\n" % OTHER)
        self.assertIn("changed: ", self.key(0, "trust", "ed25519 %s new" % KEY)[0])
        self.assertEqual(self.read(self.trusted), "# mine\n\nnonsense\ned25519 %s new\n# end\n"
                         "ed25519 %s b\n" % (KEY, OTHER))

    def test_a_key_that_is_there_twice_becomes_one(self):
        self.write(self.trusted, "ed25519 %s a\ned25519 %s b\n" % (KEY, KEY))
        self.key(0, "trust", "ed25519 %s a" % KEY)
        self.assertEqual(self.read(self.trusted), "ed25519 %s a\n" % KEY)

    def test_keys_are_removed_by_name_or_key(self):
        self.write(self.trusted, "# a\ned25519 %s a\ned25519 %s b\ned25519 %s a\n"
                   % (KEY, OTHER, OTHER))
        out, _ = self.key(0, "trust", "--remove", "a")
        self.assertEqual(out.count("removed: "), 2)
        self.assertEqual(self.read(self.trusted), "# a\ned25519 %s b\n" % OTHER)
        self.key(1, "trust", "--remove", "a")
        self.key(1, "trust", "--remove", KEY)
        self.key(0, "trust", "--remove", OTHER)
        self.assertEqual(self.read(self.trusted), "# a\n")

    def test_bad_keys_change_nothing(self):
        self.write(self.trusted, "ed25519 %s a\n" % KEY)
        self.write("lines", "ed25519 %s b\nnonsense\n" % OTHER)
        self.write("comments", "# nothing\n")
        line = "ed25519 %s b" % OTHER
        for arguments in (["lines"], ["comments"], ["none"], ["ed25519 AAAA b"], ["ed25519 "], [""],
                          [line, "--until", "2027-02-30"], [line, "--until", "tomorrow"], [line, "--until="],
                          [line, "--name", "a b"], [line + " until 2027"], [self.work]):
            self.key(1, "trust", *arguments)
        self.write("lines", "ed25519 %s b\ned25519 %s c\n" % (OTHER, KEY))
        self.assertIn("2 keys", self.key(1, "trust", "lines", "--name", "x")[1])
        self.assertEqual(self.read(self.trusted), "ed25519 %s a\n" % KEY)

    def test_no_more_than_are_read(self):
        def line(i):
            return "ed25519 %s k%d" % (base64.b64encode(bytes([i] * 32)).decode(), i)
        self.write(self.trusted, "".join(line(i) + "\n" for i in range(64)))
        self.assertIn("64 keys", self.key(1, "trust", line(64))[1])
        self.key(0, "trust", line(63))
        self.write(self.trusted, "#" * 65500 + "\n")
        self.assertIn("65536 bytes", self.key(1, "trust", line(0))[1])

    def test_files_that_are_not_believed_are_not_changed(self):
        line = "ed25519 %s a" % KEY
        self.write(self.trusted, "# x\n", 0o666)
        self.assertIn("others may write to it", self.key(1, "trust", line)[1])
        os.unlink(self.trusted)
        self.write("elsewhere", "# x\n")
        os.symlink(self.path("elsewhere"), self.trusted)
        self.key(1, "trust", line)
        self.assertTrue(os.path.islink(self.trusted))
        self.assertEqual(self.read("elsewhere"), "# x\n")
        os.unlink(self.trusted)
        os.chmod(self.config, 0o777)
        self.assertIn("others may write to it", self.key(1, "trust", line)[1])
        self.assertEqual(os.listdir(self.config), [])

    def test_many_at_once_lose_no_key(self):
        keys = {base64.b64encode(bytes([i] * 32)).decode(): ("k%d" % i, "") for i in range(24)}
        running = [self.start("trust", "ed25519 %s %s" % (key, name))
                   for key, (name, _) in keys.items()]
        for process in running:
            out, err = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0, (out, err))
        self.assertEqual(self.keys(), keys)
        self.assertEqual(os.listdir(self.config), ["trusted_keys"])

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("unshare"), "needs root")
    def test_the_systems_file(self):
        """In an /etc of its own."""
        script = ('umask 077; mount -t tmpfs none /etc || exit 77; "$0" key trust --system "$1" && '
                  'stat -c "%a %n" /etc/ckcache /etc/ckcache/trusted_keys && "$0" key show')
        ran = subprocess.run(["unshare", "--mount", "sh", "-c", script, CKCACHE,
                              "ed25519 %s all" % KEY], env=self.variables, capture_output=True,
                             text=True, timeout=60)
        if ran.returncode == 77 or "unshare" in ran.stderr:
            self.skipTest("no mount namespace")
        self.assertEqual(ran.returncode, 0, ran)
        self.assertIn("\n755 /etc/ckcache\n644 /etc/ckcache/trusted_keys\n", ran.stdout)
        self.assertIn("/etc/ckcache/trusted_keys, line 1: does not expire", ran.stdout)


if __name__ == "__main__":
    CKCACHE, SOURCE = sys.argv[1:3]
    SCHEMA = schema.read(os.path.join(SOURCE, "docs", "JSON.md"))
    unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
