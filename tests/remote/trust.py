# SPDX-License-Identifier: MIT
"""Whose entries are used: a server gives values that are not what a trusted key has signed.
Each is refused: the driver compiles, the answers are right, and one line says so.

    trust.py BUILD-DIRECTORY [TEST...]
"""
import datetime
import os
import struct
import unittest

import hosts
import tiers


CHUNK = 20


def day(offset):
    today = datetime.datetime.now(datetime.timezone.utc).date()
    return (today + datetime.timedelta(days=offset)).isoformat()


class Trust(tiers.RedisCase):
    def check_refused(self, count, reason=None, reader=None):
        """A new machine asks for all of them, and compiles all."""
        reader = reader or self.reader("reader%d" % self.started)
        self.started += 1
        for first in range(0, count, CHUNK):
            self.check_chunk(reader, first, min(CHUNK, count - first), reason)

    def check_chunk(self, reader, first, count, reason):
        before, given = reader.builds(), self.server.given()
        said = reader.use(first, count, CKCACHE_LOG="warning", **hosts.patience())
        self.assertEqual(reader.builds() - before, count, said)
        self.assertLessEqual(said.count("\n"), 1, said)
        self.assertEqual(self.server.given() - given, count)
        # What the driver made is stored, nothing else.
        self.assertEqual(reader.use(first, count, CKCACHE_REMOTE=None), "")
        self.assertEqual(reader.builds() - before, count)
        if reason:
            self.assertEqual(said, "ckcache: an entry of the remote tier is not used: %s\n" % reason)
        else:
            self.assertIn("an entry of the remote tier is not used", said)

    def check_used(self, count, reader=None):
        reader = reader or self.reader("used%d" % self.started)
        self.started += 1
        self.assertEqual(reader.finds(0, count), "")

    def change(self, alter):
        """alter(number, value) of each value on the server."""
        for number, (name, value) in enumerate(self.server.values().items()):
            self.server.command("SET", name, alter(number, value))

    def test_a_key_that_nobody_trusts(self):
        self.key = tiers.Key(self, "stranger")
        self.fill(0, 3)
        self.check_refused(3, "it is signed with a key that is not trusted here")

    def test_what_its_owner_signed_says_who(self):
        """The stranger writes the trusted key's name over his own."""
        farm, self.key = self.key, tiers.Key(self, "stranger")
        self.fill(0, 3)
        self.change(lambda number, value: value[:32] + farm.id() + value[64:])
        self.check_refused(3, "its signature is wrong")

    def test_unsigned(self):
        self.fill(0, 3)
        self.check_used(3)
        self.change(lambda number, value: value[:12] + bytes(4) + value[16:32] + bytes(96) +
                    value[tiers.HEADER:])
        self.check_refused(3, "it is not signed")
        # Half of that is no value at all.
        self.change(lambda number, value: value[:12] + bytes(4) + value[16:32] + b"x" * 96 +
                    value[tiers.HEADER:])
        self.check_refused(3)

    def test_a_key_that_is_revoked(self):
        self.fill(0, 3)
        self.check_used(3)
        self.trusted("trusted", tiers.Key(self, "other").line)
        self.check_refused(3, "it is signed with a key that is not trusted here")
        self.trusted("trusted", "# " + self.key.line)
        reader = self.reader("last")
        self.assertIn("the remote tier is off: no key is trusted", reader.use(0, 3))
        self.assertEqual(reader.builds(), 3)

    def test_a_key_that_has_expired(self):
        self.fill(0, 3)
        self.trusted("trusted", self.key.line + " until " + day(1))
        self.check_used(3)
        self.trusted("trusted", self.key.line + " until " + day(-2))
        self.check_refused(3, "it is signed with a key that has expired")

    def test_rotation(self):
        old, new = self.key, tiers.Key(self, "new")
        self.trusted("trusted", old.line, new.line)
        self.fill(0, 3)
        self.key = new
        self.fill(3, 3)
        self.check_used(6)
        self.trusted("trusted", new.line)
        reader = self.reader("reader")
        reader.use(0, 6, **hosts.patience())
        self.assertEqual(reader.builds(), 3)
        # What readers refuse, a writer replaces.
        writer = self.writer("writer")
        writer.use(0, 6)
        writer.uploaded()
        self.check_used(6)

    def test_wrong_clocks(self):
        clock = hosts.built("lib", "libwrong_clock.so")
        self.fill(0, 3)
        self.trusted("trusted", self.key.line + " until " + day(2))
        ahead = self.reader("ahead", LD_PRELOAD=clock, WRONG_CLOCK_S=str(10 * 365 * 86400))
        self.check_refused(3, "it is signed with a key that has expired", ahead)
        self.check_used(3, self.reader("behind", LD_PRELOAD=clock,
                                       WRONG_CLOCK_S=str(-10 * 365 * 86400)))

    def test_a_clock_that_was_set_back(self):
        """A note of years ahead does not keep the tier off."""
        self.fill(0, 3)
        reader = self.reader("reader")
        self.server.kill()
        for number in range(10):  # until its helper has started in time
            reader.use(10 + 2 * number, 2, LD_PRELOAD=hosts.built("lib", "libwrong_clock.so"),
                       WRONG_CLOCK_S=str(10 * 365 * 86400))
            if reader.down():
                break
        self.assertIsNotNone(reader.down())
        self.server.start()
        self.key = tiers.Key(self, "farm2")
        self.trusted("trusted", self.key.line)
        self.fill(0, 3)
        for pid in self.processes("ckcache-storage"):
            os.kill(pid, 9)  # it would wait before it tries the server again
        for _ in range(10):
            before = reader.builds()
            reader.forget()
            reader.use(0, 3)
            if reader.builds() == before:
                break
        self.assertEqual(reader.builds(), before)

    def test_values_under_others_names(self):
        self.fill(0, 6)
        values = list(self.server.values().values())
        self.change(lambda number, value: values[(number + 1) % len(values)])
        self.check_refused(6)
        self.change(lambda number, value: values[0])
        reader = self.reader("reader")
        reader.use(0, 6, **hosts.patience())
        self.assertEqual(reader.builds(), 5)

    def test_flipped_bits(self):
        """One in each byte of the header, and here and there behind it."""
        self.fill(0, 160)
        step = [0]

        def flip(number, value):
            at = number if number < tiers.HEADER else \
                tiers.HEADER + (number - tiers.HEADER) * (len(value) - tiers.HEADER) // 32
            step[0] = max(step[0], at)
            return value[:at] + bytes([value[at] ^ 1 << number % 8]) + value[at + 1:]

        self.change(flip)
        self.check_refused(160)
        self.assertGreater(step[0], tiers.HEADER)

    def test_truncated_and_longer(self):
        self.fill(0, 40)
        sizes = [0, 1, 7, 8, 12, 31, 32, 63, 64, 127, 128, 129]

        def cut(number, value):
            if number < len(sizes):
                return value[:sizes[number]]
            if number % 2:
                return value + b"\0" * number
            return value[:len(value) - number + len(sizes) - 1]

        self.change(cut)
        self.check_refused(40)

    def test_another_format_version(self):
        self.fill(0, 4)
        self.change(lambda number, value: value[:8] + struct.pack("<I", (2, 0, 1 << 24, 0xffffffff)
                                                                  [number]) + value[12:])
        self.check_refused(4)

    @unittest.skipUnless(tiers.OPENSSL, "needs openssl")
    def test_what_a_trusted_key_has_signed_may_be_nonsense(self):
        self.fill(0, 12)

        def nonsense(number, value):
            src, bin_ = tiers.lengths(value)
            body = value[tiers.HEADER:]
            if number == 0:  # the proof that such signatures count
                return self.key.sign(value)
            if number == 1:
                return self.key.sign(value, b"ckcache bundle, 1".ljust(32, b"\0"))
            if number == 2:
                return self.key.sign(value[:8] + struct.pack("<I", 2) + value[12:])
            if number == 3:
                return self.key.sign(value[:tiers.HEADER] + os.urandom(len(body)))
            if number == 4:
                return self.key.sign(value[:tiers.HEADER] + bytes(len(body)))
            if number == 5:  # parts of other lengths
                return self.key.sign(value[:16] + struct.pack("<QQ", src - 1, bin_ + 1) +
                                     value[32:])
            if number == 6:
                return self.key.sign(value[:16] + struct.pack("<QQ", 0, src + bin_) + value[32:])
            if number == 7:
                return self.key.sign(value[:16] + struct.pack("<QQ", 2**64 - 1, src + bin_ + 1) +
                                     value[32:])
            if number == 8:  # the image alone is not what the entry's own checksum says
                return self.key.sign(value[:-1] + bytes([value[-1] ^ 1]))
            if number == 9:
                return self.key.sign(value[:12] + struct.pack("<I", 2) + value[16:])
            if number == 10:
                return value[:12] + struct.pack("<I", 0) + value[16:]
            return self.key.sign(value[:tiers.HEADER] + body[::-1])

        self.change(nonsense)
        reader = self.reader("reader")
        said = reader.use(0, 12, CKCACHE_LOG="warning", **hosts.patience())
        self.assertEqual(said.count("\n"), 1, said)
        self.assertEqual(reader.builds(), 11)

    def test_a_file_of_keys_that_others_may_write(self):
        self.fill(0, 2)
        for path, mode in ((self.trust, 0o622), (self.trust, 0o660)):
            os.chmod(path, mode)
            reader = self.reader("reader%o" % mode)
            said = reader.use(0, 2)
            self.assertIn("others may write", said)
            self.assertEqual(reader.builds(), 2)
        os.chmod(self.trust, 0o600)
        os.mkdir(self.path("open"), 0o700)
        os.rename(self.trust, self.path("open", "trusted"))
        os.chmod(self.path("open"), 0o777)
        reader = self.reader("reader", CKCACHE_REMOTE_TRUST=self.path("open", "trusted"))
        reader.use(0, 2)
        self.assertEqual(reader.builds(), 2)

    def test_a_private_key_that_others_may_read(self):
        os.chmod(self.key.file, 0o644)
        writer = self.writer("writer")
        writer.use(0, 2)
        self.wait_until("the end of the uploader",
                        lambda: not self.processes("ckcache-remote upload"))
        self.assertEqual((writer.builds(), self.server.values()), (2, {}))


class TrustedDirectory(hosts.Case):
    """Without keys a directory counts that nobody else can write to."""

    def test_a_directory_that_others_may_write(self):
        shared = self.path("shared")
        os.mkdir(shared, 0o700)
        one = self.host("one", "file:" + shared)
        one.use(0, 3)
        one.uploaded()
        two = self.host("two", "file:" + shared)
        two.finds(0, 1)
        before = two.builds()
        os.chmod(shared, 0o777)
        two.use(1, 2)
        self.assertEqual(two.builds() - before, 2)

    @unittest.skipIf(os.geteuid(), "needs root")
    def test_a_value_of_another_user(self):
        shared = self.path("shared")
        os.mkdir(shared, 0o700)
        one = self.host("one", "file:" + shared)
        one.use(0, 3)
        one.uploaded()
        for folder, _, names in os.walk(shared):
            for name in names:
                os.chown(os.path.join(folder, name), 12345, -1)
        two = self.host("two", "file:" + shared)
        two.use(0, 3)
        self.assertEqual(two.builds(), 3)

    def test_signed_values_in_a_directory_need_a_trusted_key(self):
        shared = self.path("shared")
        os.mkdir(shared, 0o777)
        farm, stranger = tiers.Key(self, "farm"), tiers.Key(self, "stranger")
        for key in (farm, stranger):
            with open(self.path(key.name), "w", encoding="ascii") as file:
                file.write(key.line + "\n")
        one = self.host("one", "file:" + shared, CKCACHE_REMOTE_KEY=stranger.file,
                        CKCACHE_REMOTE_TRUST=self.path("stranger"))
        one.use(0, 3)
        one.uploaded()
        two = self.host("two", "file:" + shared, CKCACHE_REMOTE_TRUST=self.path("farm"))
        two.use(0, 3)
        self.assertEqual(two.builds(), 3)
        three = self.host("three", "file:" + shared, CKCACHE_REMOTE_TRUST=self.path("stranger"))
        three.finds(0, 3)


if __name__ == "__main__":
    tiers.need_redis()
    hosts.main()
