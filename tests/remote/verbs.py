# SPDX-License-Identifier: MIT
"""What the ckcache command says of the remote tier and does with it, with a
directory that hosts share, and with redis-server where there is one.

    verbs.py BUILD-DIRECTORY [TEST...]
"""
import datetime
import glob
import os
import resource
import shutil
import socket
import subprocess
import sys
import threading
import time
import unittest

import hosts
import tiers

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.insert(0, os.path.join(SOURCE, "tests", "tools"))
import schema  # noqa: E402

SCHEMA = schema.read(os.path.join(SOURCE, "docs", "JSON.md"))
REDIS = os.environ.get("CKCACHE_TEST_REDIS") or shutil.which("redis-server") or \
    shutil.which("valkey-server")


class Verbs(hosts.Case):
    def setUp(self):
        super().setUp()
        self.shared = self.path("shared")
        os.mkdir(self.shared, 0o700)
        self.remote = "file:" + self.shared
        self.lines = {}

    def key(self, name):
        """The file of a new private key; its public line is kept."""
        path = self.path(name + ".pem")
        ran = subprocess.run([hosts.built("bin", "ckcache"), "key", "new", path, "--name", name],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True,
                             env={**os.environ, "HOME": self.work})
        self.lines[name] = next(line for line in ran.stdout.splitlines()
                                if line.startswith("ed25519 "))
        return path

    def trust(self, host, *lines):
        path = os.path.join(host.home, "trusted_keys")
        with open(path, "w", encoding="ascii") as file:
            file.write("".join(line + "\n" for line in lines))
        host.settings["CKCACHE_REMOTE_TRUST"] = path

    def signed_pair(self, remote=None):
        """A host that uploads with farm's key and one that trusts it."""
        one = self.host("one", remote or self.remote, CKCACHE_REMOTE_KEY=self.key("farm"))
        two = self.host("two", remote or self.remote)
        self.trust(one, self.lines["farm"])
        self.trust(two, self.lines["farm"])
        return one, two

    def good(self, host, *arguments, **extra):
        ran = host.tool(*arguments, **extra)
        self.assertEqual(ran.returncode, 0, (arguments, ran.stdout, ran.stderr))
        return ran

    def json(self, host, *arguments, codes=(0,)):
        ran = host.tool(*arguments, "--json")
        self.assertIn(ran.returncode, codes, (arguments, ran.stdout, ran.stderr))
        value = schema.parse(ran.stdout.encode())
        self.assertEqual(list(schema.check(value, SCHEMA[arguments[0]])), [], arguments)
        return value

    def values(self):
        """The files of entries in the shared directory."""
        return sorted(path for path in glob.glob(os.path.join(self.shared, "*", "*"))
                      if not path.endswith(".claim"))

    def causes(self, host, *arguments):
        return {compile["kernel"]: [(cause["kind"], cause["text"]) for cause in compile["causes"]]
                for compile in self.json(host, "explain", *arguments)["compiles"]}

    def findings(self, host, codes=(0, 1)):
        report = self.json(host, "doctor", "--quick", codes=codes)
        return report["remote"], [(found["mark"], found["text"], found["advice"]) for found in report["findings"]
                                  if found["section"] == "remote"]

    def says(self, findings, mark, part):
        self.assertTrue(any(found[0] == mark and part in found[1] for found in findings),
                        (mark, part, findings))

    def closed_port(self):
        """Of an address where nobody listens, as long as the test runs."""
        one = socket.socket()
        self.addCleanup(one.close)
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Shown(Verbs):
    def test_stats_and_the_summary_count_what_came_from_the_tier(self):
        one, two = self.host("one", self.remote), self.host("two", self.remote)
        one.use(0, 5)
        one.uploaded()
        two.use(0, 5, **hosts.patience())
        stats = self.json(two, "stats")
        self.assertEqual((stats["hits_remote"], stats["misses"]), (5, 0))
        self.assertEqual((stats["remote"], stats["remote_problem"], stats["uploads_waiting"]),
                         (self.remote, None, 0))
        self.assertIn("hits in the remote tier               5   100.0 %",
                      self.good(two, "stats").stdout)
        two.forget()
        ran = self.good(two, "run", "--summary", "--", hosts.built("bin", "kernels_client"), "0", "6",
                        **hosts.patience())
        self.assertIn("5 hits (0 memory, 0 disk, 5 remote), 1 misses", ran.stderr)
        ran = self.good(two, "run", "--summary", "--", hosts.built("bin", "kernels_client"), "0", "6")
        self.assertIn("6 hits (0 memory, 6 disk), 0 misses", ran.stderr)

    def test_a_machine_without_a_tier_sees_nothing_of_it(self):
        one = self.host("one", None)
        one.use(0, 1)
        self.assertNotIn("remote", self.good(one, "stats").stdout)
        stats = self.json(one, "stats")
        self.assertEqual((stats["remote"], stats["remote_problem"], stats["uploads_waiting"]),
                         (None, None, 0))
        self.assertEqual(self.findings(one), (None, []))

    def test_stats_say_what_waits_and_why_the_tier_is_left_alone(self):
        address = "redis://joe:hunter2@127.0.0.1:%d" % self.closed_port()
        one, _ = self.signed_pair(address)
        one.use(0, 3)
        self.assertIsNotNone(one.down())
        stats = self.json(one, "stats")
        self.assertEqual((stats["uploads_waiting"], stats["remote"]),
                         (3, address.replace("joe:hunter2@", "")))
        self.assertRegex(stats["remote_problem"], r"^left alone until \d\d:\d\d:\d\d: .*refused")
        text = self.good(one, "stats").stdout
        self.assertIn("left alone until", text)
        self.assertIn("to be uploaded                        3", text)
        kinds = self.causes(one)["program_1"]
        self.assertEqual([kind for kind, _ in kinds], ["first-time", "remote-away"])
        # It is of no use to anybody else.
        for verb in (["stats"], ["doctor", "--quick"], ["stats", "--json"], ["explain"],
                     ["doctor", "--quick", "--json"], ["report", "-"]):
            ran = one.tool(*verb)
            self.assertNotIn("hunter2", ran.stdout + ran.stderr, verb)

    def test_the_report(self):
        one, two = self.signed_pair()
        one.use(0, 4)
        one.uploaded()
        two.use(0, 5, **hosts.patience())
        page = self.good(two, "report", "-").stdout
        self.assertRegex(page, r"id=hits-remote>(<[^>]*>)*4(<[^>]*>)*</span> from the remote tier")
        self.assertRegex(page, r"id=rate>80.0 %")
        self.assertIn(self.remote, page)
        self.assertIn("came from the remote tier", page)
        self.assertIn(two.settings["CKCACHE_REMOTE_TRUST"], page)
        page = self.good(two, "report", "-", CKCACHE_REMOTE="redis://joe:hunter2@db?a=b @token=hunter2",
                         CKCACHE_REMOTE_TRUST=self.path("none")).stdout
        self.assertIn("redis://db<", page)
        self.assertIn("off: no key is trusted", page)
        self.assertNotIn("hunter2", page)

    def test_key_show_reads_the_files_of_the_setting(self):
        one, two = self.signed_pair()
        self.assertEqual([key["name"] for key in self.json(two, "key", "show")["trusted"]], ["farm"])
        two.settings["CKCACHE_REMOTE_TRUST"] = self.path("none")
        self.assertEqual(self.json(two, "key", "show")["trusted"], [])

    def test_stats_say_why_the_tier_is_off(self):
        one = self.host("one", "redis://127.0.0.1:%d" % self.closed_port(), CKCACHE_REMOTE_TRUST=self.path("none"))
        self.assertEqual(self.json(one, "stats")["remote_problem"],
                         "off: no key is trusted (ckcache key trust)")


class Explained(Verbs):
    def setUp(self):
        super().setUp()
        self.one, self.two = self.signed_pair()
        self.one.use(0, 2)
        self.one.uploaded()

    def refused(self):
        """Uses both programs where their entries are refused; why, of the first."""
        self.two.use(0, 2, **hosts.patience())
        self.assertEqual(self.two.builds(), 2)
        causes = self.causes(self.two)["program_0"]
        self.assertEqual(causes[0][0], "remote-refused")
        return causes[0][1]

    def test_whose_entry_it_is(self):
        self.two.use(0, 2, **hosts.patience())
        self.assertEqual(self.two.builds(), 0)
        entries = [entry["entry"] for entry in self.json(self.two, "list")]
        causes = self.causes(self.two, entries[0])
        self.assertEqual(list(causes.values()), [[("remote", "came from file, signed by farm")]])
        self.assertIn("came from file, signed by farm", self.good(self.two, "explain", entries[0]).stdout)
        # Nothing was compiled, which is what it is asked about otherwise.
        self.assertEqual(self.causes(self.two, "--all"), {})

    def test_an_entry_that_is_gone_was_one(self):
        self.two.use(0, 2, **hosts.patience())
        self.good(self.two, "clear")
        self.two.use(0, 2, CKCACHE_REMOTE=None)
        self.assertEqual([kind for kind, _ in self.causes(self.two)["program_0"]], ["cleared"])

    def test_a_key_that_is_not_trusted(self):
        self.key("other")
        self.trust(self.two, self.lines["other"])
        self.assertEqual(self.refused(), "the remote tier had an entry, but it is signed with a "
                                         "key that is not trusted here")

    def test_a_key_that_has_expired(self):
        self.trust(self.two, self.lines["farm"] + " until 2020-01-01")
        self.assertIn("has expired", self.refused())

    def test_other_bytes(self):
        for path in self.values():
            with open(path, "r+b") as file:
                file.seek(-1, os.SEEK_END)
                last = file.read(1)
                file.seek(-1, os.SEEK_END)
                file.write(bytes([last[0] ^ 1]))
        self.assertIn("its signature is wrong", self.refused())

    def test_no_value_at_all(self):
        for path in self.values():
            with open(path, "wb") as file:
                file.write(b"nothing that anybody has made" * 10)
        self.assertIn("it is damaged", self.refused())


class Doctor(Verbs):
    def test_a_directory_works(self):
        one, _ = self.signed_pair()
        begun = time.monotonic()
        remote, found = self.findings(one, codes=(0,))
        self.assertLess(remote["put_ms"] + remote["get_ms"], 1000 * (time.monotonic() - begun))
        self.assertTrue(remote["works"])
        self.assertEqual(remote["address"], self.remote)
        self.assertEqual(remote["helper"], hosts.built("bin", "ckcache-storage-file"))
        self.assertGreater(remote["put_ms"], 0)
        self.assertGreater(remote["get_ms"], 0)
        self.says(found, "ok", "the key of farm is trusted")
        self.says(found, "ok", "farm.pem signs what is uploaded, as farm")
        self.says(found, "ok", "the helper says: ckcache-storage-file")
        self.says(found, "ok", "was written in")
        self.assertEqual(self.values(), [])

    def test_a_reader_writes_nothing(self):
        _, two = self.signed_pair()
        two.settings["CKCACHE_REMOTE"] += " read-only=true"
        os.chmod(self.shared, 0o500)
        remote, found = self.findings(two, codes=(0,))
        self.assertEqual((remote["works"], remote["put_ms"]), (True, None))
        self.says(found, "ok", "read-only: nothing is uploaded")
        self.says(found, "ok", "a look-up that finds nothing took")
        self.assertEqual(os.listdir(self.shared), [])

    def test_a_writer_reads_nothing(self):
        one, _ = self.signed_pair()
        one.settings["CKCACHE_REMOTE"] += " write-only=true"
        one.settings["CKCACHE_REMOTE_TRUST"] = self.path("none")
        remote, found = self.findings(one, codes=(0,))
        self.assertEqual((remote["works"], remote["get_ms"]), (True, None))
        self.assertGreater(remote["put_ms"], 0)
        self.says(found, "ok", "a value of 64.0 KiB was written in")

    def test_what_is_wrong_with_the_settings(self):
        for address, what in (("redis", "no URL"), (self.remote + " x=y", "unknown property"),
                              (self.remote + " read-only=true write-only=true", "both")):
            one = self.host("one", address)
            remote, found = self.findings(one, codes=(1,))
            self.assertIsNone(remote)
            self.says(found, "problem", what)

    def test_what_is_wrong_with_the_keys(self):
        one, two = self.signed_pair("redis://127.0.0.1:%d" % self.closed_port())
        two.settings["CKCACHE_REMOTE_TRUST"] = self.path("none")
        self.says(self.findings(two, codes=(1,))[1], "problem", "no key is trusted")
        self.trust(two, "nonsense\n" + self.lines["farm"] + " until 2020-01-01")
        found = self.findings(two, codes=(1,))[1]
        self.says(found, "note", "the key of farm has expired (2020-01-01")
        self.says(found, "note", "trusted_keys:1: not")
        self.says(found, "problem", "every trusted key has expired")
        self.says(found, "note", "nothing is uploaded: there is no key to sign with")
        day = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=3)
        self.trust(two, self.lines["farm"] + " until " + day.strftime("%Y-%m-%d"))
        self.says(self.findings(two)[1], "note", "expires soon")
        self.trust(two, self.lines["farm"] + "\n" + self.lines["farm"] + " until 2020-01-01")
        found = self.findings(two, codes=(1,))[1]
        self.says(found, "note", "line 1 does not count")
        self.says(found, "problem", "every trusted key has expired")
        os.chmod(self.path("farm.pem"), 0o644)
        self.says(self.findings(one)[1], "problem", "mode 0644")
        os.unlink(self.path("farm.pem"))
        self.says(self.findings(one)[1], "problem", "cannot be read")

    def test_what_is_wrong_with_the_secrets(self):
        one, _ = self.signed_pair()
        secrets = self.path("secrets")
        one.settings["CKCACHE_REMOTE_SECRETS"] = secrets
        found = self.findings(one, codes=(1,))[1]
        self.says(found, "problem", "cannot be read")
        self.assertNotIn("the storage helper is", str(found))
        with open(secrets, "w", encoding="ascii") as file:
            file.write("password=hunter2\n")
        self.says(self.findings(one, codes=(1,))[1], "problem", "chmod 600")
        os.chmod(secrets, 0o600)
        found = self.findings(one)[1]
        self.says(found, "ok", "has 1 secrets")
        self.assertNotIn("hunter2", str(found))

    def test_programs_that_are_missing(self):
        one, _ = self.signed_pair("gopher://127.0.0.1")
        found = self.findings(one, codes=(1,))[1]
        self.says(found, "problem", "ckcache-storage-gopher not found in " + hosts.built("bin"))
        one.settings["CKCACHE_REMOTE_HELPERS"] = self.path("nowhere")
        found = self.findings(one, codes=(1,))[1]
        if not os.path.exists("/usr/libexec/ckcache/ckcache-remote"):
            self.says(found, "problem", "ckcache-remote not found in " + self.path("nowhere"))

    def test_a_directory_that_others_may_write_to(self):
        one = self.host("one", self.remote)
        found = self.findings(one, codes=(0,))[1]
        self.says(found, "note", "no key is trusted: entries are used unsigned")
        os.chmod(self.shared, 0o777)
        found = self.findings(one, codes=(1,))[1]
        self.says(found, "problem", "not trusted")

    def test_a_server_that_is_not_there(self):
        address = "redis://127.0.0.1:%d" % self.closed_port()
        one, _ = self.signed_pair(address)
        remote, found = self.findings(one, codes=(1,))
        self.assertFalse(remote["works"])
        self.says(found, "problem", address)
        self.says(found, "problem", "refused")

    def test_a_socket_that_has_no_place(self):
        one, _ = self.signed_pair()
        with open(os.path.join(one.home, "run", "ckcache"), "w", encoding="ascii"):
            pass
        remote, found = self.findings(one, codes=(1,))
        self.assertFalse(remote["works"])
        self.says(found, "problem", "the helper's socket has no place")

    def test_it_ends_the_pause_of_a_tier_that_works_again(self):
        one, _ = self.signed_pair()
        os.chmod(self.shared, 0o700)
        self.assertTrue(self.findings(one)[0]["works"])
        name = glob.glob(os.path.join(one.home, "run", "ckcache", "remote-*.lock"))[0]
        with open(name[:-len("lock")] + "down", "w", encoding="ascii") as file:
            file.write("%d it was away\n" % (time.time() + 50))
        self.assertIn("it was away", self.json(one, "stats")["remote_problem"])
        found = self.findings(one, codes=(0,))[1]
        self.says(found, "note", ": it was away")
        self.says(found, "ok", "works again")
        self.assertIsNone(self.json(one, "stats")["remote_problem"])


class PushAndPull(Verbs):
    """Machines that compiled without a tier, as before there was one."""

    def setUp(self):
        super().setUp()
        self.one, self.two = self.signed_pair()
        self.one.use(0, 5, CKCACHE_REMOTE=None)

    def pushed(self, host=None, *arguments):
        return self.json(host or self.one, "push", *arguments)

    def pulled(self, host=None, *arguments, codes=(0,)):
        found = self.json(host or self.two, "pull", *arguments, codes=codes)
        return tuple(found[name] for name in ("pulled", "there", "gone", "refused"))

    def entries(self, host):
        return self.json(host, "stats")["entries"]

    def index(self):
        """The file of the list, whose name is text."""
        paths = [path for path in self.values()
                 if b"index" in bytes.fromhex(os.path.basename(path))]
        self.assertEqual(len(paths), 1)
        return paths[0]

    def test_all_of_a_cache(self):
        ran = self.good(self.one, "push")
        self.assertRegex(ran.stdout, r"^5 entries, [0-9.]+ KiB uploaded\n$")
        self.assertEqual(self.pulled(), (5, 0, 0, 0))
        self.two.use(0, 5, CKCACHE_REMOTE=None)
        self.assertEqual(self.two.builds(), 0)
        self.assertEqual(self.pulled(), (0, 5, 0, 0))
        self.assertRegex(self.good(self.two, "pull").stdout,
                         r"^0 entries, 0 B pulled; 5 there already\n$")
        entry = self.json(self.two, "list")[0]["entry"]
        self.assertEqual(list(self.causes(self.two, entry).values()),
                         [[("remote", "came from file, signed by farm")]])
        self.assertEqual(self.json(self.two, "verify")["sound"], 5)

    def test_a_look_up_finds_what_was_pushed(self):
        self.pushed()
        self.two.use(0, 5, **hosts.patience())
        self.assertEqual(self.two.builds(), 0)

    def test_lists_of_one_key_add_up(self):
        three = self.host("three", self.remote, CKCACHE_REMOTE_KEY=self.path("farm.pem"))
        self.trust(three, self.lines["farm"])
        three.use(3, 4, CKCACHE_REMOTE=None)
        self.assertEqual(self.pushed()["uploaded"], 5)
        self.assertEqual(self.pushed(three)["uploaded"], 4)
        self.assertEqual(self.pulled(), (7, 0, 0, 0))
        # Each once, however often it is pushed; what is no list is replaced by one.
        size = os.path.getsize(self.index())
        for host in (self.one, three):
            self.pushed(host)
            self.assertEqual(os.path.getsize(self.index()), size)
        os.truncate(self.index(), 2 << 20)
        self.pushed()
        self.two.forget()
        self.assertEqual(self.pulled(), (5, 0, 0, 0))

    def test_what_is_too_large_is_counted(self):
        self.pushed()
        self.two.settings["CKCACHE_MAX_DEVICE_IMAGE_SIZE"] = "1B"
        self.assertEqual(self.json(self.two, "pull", codes=(1,))["too_large"], 5)
        self.assertIn("; 0 there already, 5 over a size limit", self.two.tool("pull").stdout)

    def test_few_descriptors_are_enough(self):
        self.one.use(5, 35, CKCACHE_REMOTE=None)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (30, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        self.assertEqual(self.pushed()["uploaded"], 40)
        self.assertEqual(self.pulled(), (40, 0, 0, 0))

    def test_a_value_in_the_place_of_the_lists_lock(self):
        """It is not taken for the answer to what is asked next."""
        three = self.host("three", self.remote, CKCACHE_REMOTE_KEY=self.path("farm.pem"))
        self.trust(three, self.lines["farm"])
        three.use(3, 4, CKCACHE_REMOTE=None)
        self.pushed()
        lock = self.index() + b"-lock".hex()
        with open(lock, "wb") as file:
            file.write(bytes(64))
        self.assertEqual(self.pushed(three)["uploaded"], 4)
        os.unlink(lock)
        self.assertEqual(self.pulled(), (7, 0, 0, 0))

    def test_lists_of_several_keys(self):
        three = self.host("three", self.remote, CKCACHE_REMOTE_KEY=self.key("desk"))
        self.trust(three, self.lines["desk"])
        three.use(3, 4, CKCACHE_REMOTE=None)
        self.pushed()
        self.pushed(three)
        # Programs 3 and 4 lie there with desk's signature, who was the last.
        self.assertEqual(self.pulled(codes=(1,)), (3, 0, 0, 2))
        self.trust(self.two, self.lines["farm"], self.lines["desk"])
        self.assertEqual(self.pulled(), (4, 3, 0, 0))

    def test_what_waited_is_no_longer_to_be_uploaded(self):
        os.chmod(self.shared, 0o500)
        self.one.settings["CKCACHE_REMOTE_HELPERS"] = self.path("nowhere")
        self.one.use(10, 2)
        self.assertEqual(len(self.one.noted()), 2)
        os.chmod(self.shared, 0o700)
        self.one.settings["CKCACHE_REMOTE_HELPERS"] = hosts.built("bin")
        self.assertEqual(self.pushed()["uploaded"], 7)
        # Some file systems never make the directory smaller.
        self.assertFalse(os.path.exists(os.path.join(self.one.root, "uploads")))

    def test_one_program(self):
        other = self.path("other_client")
        shutil.copy(hosts.built("bin", "kernels_client"), other)
        ran = subprocess.run([other, "20", "3"], env=self.one.environment({"CKCACHE_REMOTE": None}),
                             cwd=self.work, check=True)
        self.assertEqual(ran.returncode, 0)
        self.assertEqual(self.pushed(self.one, "--program", "other_client")["uploaded"], 3)
        self.assertEqual(self.pulled(self.two, "--program", "kernels_client"), (0, 0, 0, 0))
        self.assertEqual(self.pulled(self.two, "--program", "other_client"), (3, 0, 0, 0))
        self.assertEqual(self.pushed(self.one)["uploaded"], 8)
        self.assertEqual(self.pulled(), (5, 3, 0, 0))
        self.assertEqual(self.pushed(self.one, "--program", "nobody")["uploaded"], 0)

    def test_what_the_server_has_lost(self):
        self.pushed()
        index = self.index()
        for path in self.values()[:]:
            if path != index:
                os.unlink(path)
                break
        self.assertEqual(self.pulled(), (4, 0, 1, 0))

    def test_nothing_unsigned_nor_damaged_is_stored(self):
        self.pushed()
        index = self.index()
        paths = [path for path in self.values() if path != index]
        # One has other bytes, one is another entry, one is nothing, one is of no size.
        with open(paths[0], "r+b") as file:
            file.seek(200)
            file.write(b"X")
        os.unlink(paths[1])
        shutil.copy(paths[2], paths[1])
        with open(paths[3], "wb") as file:
            file.write(b"nothing")
        with open(paths[4], "wb"):
            pass
        ran = self.two.tool("pull")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("4 values were refused", ran.stderr)
        self.assertEqual(self.entries(self.two), 1)

    def test_a_list_that_nobody_trusted_has_signed(self):
        self.pushed()
        with open(self.index(), "r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"X")
        ran = self.two.tool("pull")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("the list of farm is not used: its signature is wrong", ran.stderr)
        # It is replaced by who owns it.
        self.pushed()
        self.assertEqual(self.pulled(), (5, 0, 0, 0))

    def test_a_key_that_is_not_trusted(self):
        self.pushed()
        self.key("other")
        self.trust(self.two, self.lines["other"])
        ran = self.good(self.two, "pull")
        self.assertIn("nobody whose entries are trusted here has pushed anything", ran.stderr)
        self.trust(self.two, self.lines["farm"] + " until 2020-01-01")
        self.assertEqual(self.pulled(), (0, 0, 0, 0))

    def test_a_directory_without_keys(self):
        for host in (self.one, self.two):
            del host.settings["CKCACHE_REMOTE_TRUST"]
        self.one.settings.pop("CKCACHE_REMOTE_KEY")
        self.assertEqual(self.pushed()["uploaded"], 5)
        self.assertEqual(self.pulled(), (5, 0, 0, 0))

    def test_who_may_not(self):
        ran = self.two.tool("push")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("no key to sign with", ran.stderr)
        for extra in (" read-only=true", ""):
            self.one.settings["CKCACHE_REMOTE"] = self.remote + extra
            ran = self.one.tool("push", **({} if extra else {"CKCACHE_READ_ONLY": "1"}))
            self.assertEqual(ran.returncode, 1)
            self.assertIn("read-only", ran.stderr)
        self.assertEqual(self.two.tool("pull", CKCACHE_READ_ONLY="1").returncode, 1)
        self.two.settings["CKCACHE_REMOTE"] = self.remote + " write-only=true"
        ran = self.two.tool("pull")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("it is only written, and there is no key to sign with", ran.stderr)
        for verb in ("push", "pull"):
            ran = self.one.tool(verb, CKCACHE_REMOTE=None)
            self.assertEqual(ran.returncode, 1)
            self.assertIn("no remote tier is set", ran.stderr)

    def test_a_server_that_is_not_there(self):
        address = "redis://joe:hunter2@127.0.0.1:%d" % self.closed_port()
        for host, verb in ((self.one, "push"), (self.two, "pull")):
            host.settings["CKCACHE_REMOTE"] = address
            ran = host.tool(verb)
            self.assertEqual(ran.returncode, 1)
            self.assertIn("refused", ran.stderr)
            self.assertNotIn("hunter2", ran.stdout + ran.stderr)

    def test_an_empty_cache(self):
        self.good(self.one, "clear")
        self.assertEqual(self.pushed()["uploaded"], 0)
        self.assertEqual(self.values(), [])


class Prune(Verbs):
    HOUR = 3600

    def setUp(self):
        super().setUp()
        self.one, self.two = self.signed_pair()

    def value(self, name, size, age_hours, folder="63"):
        """A value of that many KiB that was written and read so long ago."""
        path = os.path.join(self.shared, folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(b"x" * 1024 * size)
        then = time.time() - age_hours * self.HOUR
        os.utime(path, (then, then))
        return path

    def prune(self, size, codes=(0,)):
        found = self.json(self.one, "prune", "--remote", "--max-size", size, codes=codes)
        return tuple(found[name] for name in ("removed_entries", "removed_bytes", "entries", "bytes"))

    def test_the_least_recently_used_values_go(self):
        paths = [self.value("%02x" % i, 64, 10 - i, "%02x" % (i * 20)) for i in range(10)]
        self.assertEqual(self.prune("640Ki"), (0, 0, 10, 640 * 1024))
        # One that was read counts as used, whenever it was written.
        os.utime(paths[0], (time.time(), time.time() - 10 * self.HOUR))
        self.assertEqual(self.prune("320Ki"), (5, 320 * 1024, 5, 320 * 1024))
        self.assertEqual([os.path.exists(path) for path in paths], [True] + 5 * [False] + 4 * [True])
        self.assertRegex(self.good(self.one, "prune", "--remote", "--max-size", "64Ki").stdout,
                         "^4 entries removed, 256.0 KiB; 1 left, 64.0 KiB\n$")
        self.assertTrue(os.path.exists(paths[0]))

    def test_the_size_may_be_an_attribute(self):
        self.one.settings["CKCACHE_REMOTE"] += " @max-size=100Ki"
        for i in range(4):
            self.value("a%d" % i, 64, i)
        self.assertEqual(self.json(self.one, "prune", "--remote")["entries"], 1)
        # It is no obstacle to anybody else.
        self.assertNotIn("unknown", str(self.findings(self.one, codes=(0,))[1]))
        self.one.use(0, 1)
        self.one.uploaded()
        self.two.use(0, 1, **hosts.patience())
        self.assertEqual(self.two.builds(), 0)

    def test_what_processes_left_behind(self):
        kept = [self.value(".tmp-1-2", 1, 2), self.value("aa.claim", 1, 0)]
        gone = [self.value(".tmp-1-3", 1, 25), self.value("ab.claim", 1, 2),
                self.value(".tmp-prune-1", 1, 25, ".")]
        self.prune("1G")
        self.assertEqual([os.path.exists(path) for path in kept + gone], [True] * 2 + [False] * 3)

    def test_nothing_else_is_touched(self):
        os.mkdir(os.path.join(self.shared, "63"))
        target = self.value("target", 64, 100, "elsewhere")
        os.symlink(target, os.path.join(self.shared, "63", "aa"))
        os.symlink(os.path.join(self.shared, "elsewhere"), os.path.join(self.shared, "64"))
        kept = [target, self.value("README", 64, 100), self.value("aa", 64, 100, "sources"),
                self.value("aa.bak", 64, 100), self.value("AA", 64, 100), self.value("aa", 64, 100, "630"),
                self.value("aa", 64, 100, "."), self.value("cc/dd", 64, 100)]
        value = self.value("bb", 64, 100)
        long = self.value("0" * 200 + "+/aa", 64, 100)
        self.assertEqual(self.prune("1B"), (2, 128 * 1024, 0, 0))
        self.assertFalse(os.path.exists(value) or os.path.exists(long))
        self.assertTrue(all(map(os.path.exists, kept)))
        self.assertTrue(os.path.islink(os.path.join(self.shared, "63", "aa")))

    def test_what_cannot_be_removed_is_said(self):
        self.value("aa", 64, 1)
        script = "mount --bind $1 $1 && mount -o remount,bind,ro $1 || exit 99; shift; exec \"$@\""
        ran = subprocess.run(["unshare", "-m", "sh", "-c", script, "-", self.shared, hosts.built("bin", "ckcache"),
                              "prune", "--remote", "--max-size", "1B"], env=self.one.environment(),
                             capture_output=True, text=True, check=False)
        if ran.returncode == 99 or "unshare" in ran.stderr:
            self.skipTest("no mount namespaces: " + ran.stderr.strip())
        self.assertEqual((ran.returncode, ran.stdout), (1, "0 entries removed, 0 B; 1 left, 64.0 KiB\n"))
        self.assertIn(": 1 files cannot be removed: Read-only file system", ran.stderr)

    def test_lists_stay(self):
        self.one.use(0, 3, CKCACHE_REMOTE=None)
        self.good(self.one, "push")
        self.assertEqual(self.prune("1B")[0], 3)
        self.assertEqual(self.json(self.two, "pull")["gone"], 3)

    def test_beside_readers_and_writers(self):
        def turn(host, first):
            self.good(host, "clear")
            return host.begin(first, 30)

        running = [turn(self.one, 0), turn(self.two, 10)]
        for _ in range(40):
            self.prune("20Ki")
            for i, host in enumerate((self.one, self.two)):
                if running[i].poll() is not None:
                    self.assertEqual(host.end(running[i]), "")
                    running[i] = turn(host, 10 * i)
        for i, host in enumerate((self.one, self.two)):
            self.assertEqual(host.end(running[i]), "")
            self.assertIsNone(host.down())
        self.one.uploaded()
        self.assertLessEqual(self.prune("20Ki")[3], 20 * 1024 + 4096)

    def test_what_cannot_be_done(self):
        for arguments, what in (([], "--max-size says"), (["--max-size", "x"], "no size"),
                                (["--max-size", "0"], "no size"), (["--max-size="], "no size")):
            ran = self.one.tool("prune", "--remote", *arguments)
            self.assertEqual((ran.returncode, ran.stdout), (2, ""))
            self.assertIn(what, ran.stderr)
        for address, what in (
                ("redis://joe:hunter2@localhost", "redis://localhost: this server evicts by itself: set maxmemory"),
                ("http://localhost", "evicts by itself"), (self.remote + " read-only=true", "read-only"),
                ("file:relative", "file:/absolute"), ("file://elsewhere/x", "file:/absolute"),
                ("file:" + self.path("nowhere"), "No such file"), (None, "no remote tier is set")):
            ran = self.one.tool("prune", "--remote", "--max-size", "1G", CKCACHE_REMOTE=address)
            self.assertEqual((ran.returncode, ran.stdout), (1, ""), ran)
            self.assertIn(what, ran.stderr)
            self.assertNotIn("hunter2", ran.stderr)


@unittest.skipUnless(REDIS, "no redis-server")
class Redis(Verbs):
    started = 0

    def server(self, *options):
        return tiers.Redis(self, *options).port

    def test_whose_entry_it_is(self):
        one, two = self.signed_pair("redis://127.0.0.1:%d" % self.server())
        one.use(0, 1)
        one.uploaded()
        two.use(0, 1, **hosts.patience())
        self.assertEqual(two.builds(), 0)
        entry = self.json(two, "list")[0]["entry"]
        self.assertEqual(list(self.causes(two, entry).values()),
                         [[("remote", "came from redis, signed by farm")]])
        self.assertTrue(self.findings(two, codes=(0,))[0]["works"])
        remote, _ = self.findings(one, codes=(0,))
        self.assertTrue(remote["works"] and remote["put_ms"] and remote["get_ms"])

    def test_push_and_pull(self):
        one, two = self.signed_pair("redis://127.0.0.1:%d" % self.server())
        one.use(0, 4, CKCACHE_REMOTE=None)
        self.assertEqual(self.json(one, "push")["uploaded"], 4)
        self.assertEqual(self.json(two, "pull")["pulled"], 4)
        two.use(0, 4)
        self.assertEqual(two.builds(), 0)

    def test_one_value_that_is_refused_ends_nothing(self):
        server = tiers.Redis(self)
        one, two = self.signed_pair(server.url)
        one.use(0, 3, CKCACHE_REMOTE=None)
        one.use(10 ** 18, 1, CKCACHE_REMOTE=None)
        one.use(3, 1, CKCACHE_REMOTE=None)
        self.assertEqual(self.json(one, "push")["uploaded"], 5)
        sizes = sorted(len(value) for value in server.values().values())
        self.assertLess(sizes[-2], sizes[-1])
        for host in (one, two):
            host.settings["CKCACHE_REMOTE"] = "%s @max-value-size=%d" % (server.url, sizes[-2])
        found = self.json(one, "push")
        self.assertEqual((found["uploaded"], found["left_out"]), (4, 1))
        found = self.json(two, "pull", codes=(1,))
        self.assertEqual((found["pulled"], found["refused"], found["too_large"]), (4, 1, 0))

    def test_what_refuses_everything_ends_it(self):
        server = tiers.Redis(self)
        one, _ = self.signed_pair(server.url + " @max-value-size=10")
        for count, left_out in ((1, 1), (5, 2)):
            one.use(0, count, CKCACHE_REMOTE=None)
            found = self.json(one, "push", codes=(1,))
            self.assertEqual((found["uploaded"], found["left_out"]), (0, left_out))

    def test_pushes_at_the_same_time(self):
        """Each reads the list before the other has stored its own; all are in it at the end."""
        proxy = tiers.Proxy(self, self.server())
        proxy.delay = 0.05
        one, _ = self.signed_pair(proxy.url)
        others = [self.host("other%d" % number, proxy.url, CKCACHE_REMOTE_KEY=one.settings["CKCACHE_REMOTE_KEY"])
                  for number in range(2)]
        for number, host in enumerate([one] + others):
            self.trust(host, self.lines["farm"])
            host.use(3 * number, 3, CKCACHE_REMOTE=None)
        pushes = [threading.Thread(target=self.good, args=(host, "push"))
                  for host in [one] + others]
        for push in pushes:
            push.start()
        for push in pushes:
            push.join()
        reader = self.host("reader", proxy.url)
        self.trust(reader, self.lines["farm"])
        self.assertEqual(self.json(reader, "pull")["pulled"], 9)

    def test_doctor_repeats_what_the_server_says(self):
        port = self.server("--requirepass", "hunter2")
        one, _ = self.signed_pair("redis://127.0.0.1:%d" % port)
        remote, found = self.findings(one, codes=(1,))
        self.assertFalse(remote["works"])
        self.says(found, "problem", "redis://127.0.0.1:%d" % port)
        self.assertIn("password=...", [advice for _, text, advice in found if "the server wants a password" in text][0])
        secrets = self.path("secrets")
        with open(os.open(secrets, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write("password=hunter2\n")
        one.settings["CKCACHE_REMOTE_SECRETS"] = secrets
        self.assertTrue(self.findings(one, codes=(0,))[0]["works"])


if __name__ == "__main__":
    hosts.main()
