# SPDX-License-Identifier: MIT
"""A Redis server that several hosts share: who has the private key writes, who trusts the
public key reads.

    redis_tier.py BUILD-DIRECTORY [TEST...]
"""
import json
import os
import signal
import subprocess
import sys
import unittest

import hosts
import tiers

LEVEL_ZERO = os.path.join(os.path.abspath(sys.argv[1]), "bin", "level_zero_client")


class RedisTier(tiers.RedisCase):
    def test_what_one_host_compiles_another_uses(self):
        one, two = self.writer("one"), self.reader("two")
        self.assertEqual(one.use(0, 5), "")
        self.assertEqual(one.builds(), 5)
        one.uploaded()
        self.assertEqual(len(self.server.values()), 5)
        self.assertEqual(two.finds(0, 5), "")
        before = two.builds()
        # It is on disk now.
        self.assertEqual(two.use(0, 5, CKCACHE_REMOTE=None), "")
        self.assertEqual(two.builds(), before)
        # Who has no key uploads nothing: neither what it got nor what it compiles.
        self.assertEqual(two.use(5, 2), "")
        self.assertEqual((two.builds() - before, two.noted()), (2, []))
        self.assertEqual(len(self.server.values()), 5)

    def test_a_warm_process_asks_nothing(self):
        self.fill(0, 3)
        two = self.reader("two")
        two.finds(0, 3)
        asked, builds = self.server.asked(), two.builds()
        for pid in self.processes("ckcache-"):
            os.kill(pid, signal.SIGKILL)
        self.wait_until("their end", lambda: not self.processes("ckcache-"))
        self.assertEqual(two.use(0, 3), "")
        self.assertEqual((two.builds(), self.processes("ckcache-")), (builds, {}))
        self.assertEqual(self.server.asked(), asked)

    @unittest.skipUnless(os.path.exists(LEVEL_ZERO), "built without Level Zero")
    def test_level_zero(self):
        one, two = self.writer("one"), self.reader("two")
        self.assertEqual(self.use_level_zero(one), 1)
        one.uploaded()
        for _ in range(5):  # until a helper has started in time
            two.forget()
            two.forget_down()
            compiled = self.use_level_zero(two)
            if not compiled:
                break
        self.assertEqual(compiled, 0)
        asked = self.server.asked()
        self.assertEqual(self.use_level_zero(two), 0)  # warm
        self.assertEqual(self.server.asked(), asked)

    def use_level_zero(self, host):
        """How often its driver compiled."""
        counts = self.path("compiled")
        with open(counts, "w", encoding="ascii"):
            pass
        done = subprocess.run([LEVEL_ZERO, "driver=0", "il=one", "quiet"], env=host.environment({
            **hosts.level_zero(hosts.BUILD, hosts.stub_gpu(hosts.BUILD)), "STUB_COUNTS": counts}), cwd=self.work, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=hosts.PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout)
        return hosts.counted(counts, "compile")

    def test_trust_by_the_command(self):
        """As people do it, without CKCACHE_REMOTE_TRUST: in the user's own file."""
        self.fill(0, 3)
        two = self.host("two", self.remote)
        self.assertEqual(two.use(0, 1), "ckcache: the remote tier is off: no key is trusted "
                         "(ckcache key trust)\n")
        done = two.tool("key", "trust", self.key.line)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(two.finds(1, 2), "")
        before = two.builds()
        done = two.tool("key", "trust", "--remove", "farm")
        self.assertEqual(done.returncode, 0, done.stderr)
        two.forget()
        two.use(1, 2)
        self.assertEqual(two.builds() - before, 2)

    def test_without_keys_the_tier_does_not_start(self):
        self.fill(0, 3)
        three = self.host("three", self.remote, CKCACHE_REMOTE_TRUST=self.path("none"))
        self.assertIn("the remote tier is off", three.use(0, 3))
        self.assertEqual(three.builds(), 3)
        self.assertEqual(three.use(0, 3, CKCACHE_LOG="none"), "")
        self.assertEqual(three.builds(), 3)  # its disk serves as ever
        # Nothing was started.
        self.assertEqual(os.listdir(os.path.join(three.home, "run")), [])
        self.assertEqual([line for line in self.processes("ckcache-").values()
                          if os.path.join(three.home, "run") in line], [])

    def check_counts(self, host, remote, misses, disk):
        with open(self.path("trace"), encoding="utf-8") as file:
            events = [json.loads(line) for line in file]
        names = [event.get("event") or event.get("what") for event in events]
        self.assertEqual([names.count("hit-remote"), names.count("miss"), names.count("hit-disk")],
                         [remote, misses, disk])
        told = json.loads(host.tool("stats", "--json").stdout)
        self.assertEqual((told.get("hits_remote", remote), told["misses"], told["hits_disk"]),
                         (remote, misses, disk))

    def test_remote_hits_are_counted(self):
        self.fill(0, 4)
        two = self.reader("two", CKCACHE_TRACE=self.path("trace"))
        two.use(100, 1, **hosts.patience())  # the helper has started then
        two.use(0, 6, **hosts.patience())
        self.check_counts(two, 4, 3, 0)
        two.use(0, 6)
        self.check_counts(two, 4, 3, 6)

    def test_read_only(self):
        one = self.writer("one", self.remote + " read-only=true")
        one.use(0, 3)
        self.assertEqual((one.builds(), one.noted()), (3, []))
        self.assertEqual(self.server.values(), {})
        self.fill(0, 3)
        one.forget()
        one.use(0, 3)
        self.assertEqual(one.builds(), 3)

    def test_write_only(self):
        self.fill(0, 3)
        one = self.writer("one", self.remote + " write-only=true")
        one.use(0, 4)
        self.assertEqual(one.builds(), 4)  # it looks nothing up
        one.uploaded()
        self.assertEqual(len(self.server.values()), 4)

    def test_a_writer_need_not_trust(self):
        one = self.writer("one", self.remote + " write-only=true", CKCACHE_REMOTE_TRUST=None)
        self.assertEqual(one.use(0, 3), "")
        one.uploaded()
        two = self.reader("two")
        two.finds(0, 3)

    def test_a_cache_that_is_read_only_uploads_nothing(self):
        one = self.writer("one", CKCACHE_READ_ONLY="1")
        self.assertEqual(one.use(0, 3), "")
        self.assertEqual(self.server.values(), {})
        self.fill(0, 3)
        before = one.builds()
        one.use(0, 3, **hosts.patience())
        self.assertEqual(one.builds(), before)

    def test_attributes_reach_the_helper(self):
        self.fill(0, 2, remote=self.remote + " @key-prefix=team%20a/")
        self.assertEqual(self.server.values(), {})
        names = self.server.command("KEYS", "team a/*")
        self.assertEqual(len([name for name in names if b"claim:" not in name]), 2)
        two = self.reader("two", self.remote + " @key-prefix=other/")
        two.use(0, 2)
        self.assertEqual(two.builds(), 2)

    def counts(self, host):
        return [name.partition("-")[2] for name in host.noted()]

    def test_what_one_cannot_upload_keeps_nothing_else_back(self):
        """Entries that are too large for the server, and others."""
        large = 10 ** 18
        self.fill(1, 3)
        for pid in self.processes("ckcache-remote upload"):
            os.kill(pid, signal.SIGKILL)  # it would wait for more
        small = max(len(value) for value in self.server.values().values())
        self.server.command("FLUSHALL")
        one = self.writer("one", self.remote + " @max-value-size=%d" % small)
        self.assertEqual(one.use(large, 3), "")
        # Nothing could be uploaded: that says nothing of look-ups, and of no entry.
        self.wait_until("the end of the uploader", lambda: not self.processes("upload"))
        self.assertEqual(len(one.noted()), 3)
        self.assertIsNone(one.down())
        self.assertEqual(one.use(1, 3), "")
        self.wait_until("the upload of small entries", lambda: len(self.server.values()) == 3)
        # The server takes others, so these were refused for a reason of their own.
        self.wait_until("a count", lambda: "" < min(self.counts(one)) <= max(self.counts(one)) > "0")
        self.assertIsNone(one.down())
        # As if that had been often: beside the next one that the server takes they are given up.
        entries = one.entries()
        for name in one.noted():
            os.rename(os.path.join(one.root, "uploads", name), os.path.join(one.root, "uploads", name[:-1] + "9"))
            entries.remove(name[:-2])
        one.note(entries.pop())
        one.uploaded()

    def test_bad_addresses(self):
        for remote in ("redis", "", " ", "redis://h x", "redis://h @", "redis://h read-only=perhaps",
                       "redis://h read-only=1 write-only=1", "../../bin/sh://x", "re/dis://h",
                       "redis://user:topsecret@h bad", "x" * 100 + "://h"):
            host = self.reader("host", remote)
            said = host.use(0, 1)
            self.assertLessEqual(said.count("\n"), 1, said)
            self.assertNotIn("topsecret", said)
            self.assertEqual(os.listdir(os.path.join(host.home, "run")), [], remote)


if __name__ == "__main__":
    tiers.need_redis()
    hosts.main()
