# SPDX-License-Identifier: MIT
"""One compile for all hosts: who builds says so, and the others wait for it, for a while.

    claims.py BUILD-DIRECTORY [TEST...]
"""
import os
import signal

import hosts
import tiers

HOSTS, PROCESSES, COUNT = 4, 2, 5
# A look-up may take half of this, which a busy machine keeps to.
SLOW = {"STUB_DELAY_MS": "1500"}
ATTEMPTS = 3


class Claims:
    """For each kind of server."""

    def test_each_program_is_compiled_once(self):
        made = []
        for attempt in range(ATTEMPTS):
            everyone = [self.writer("h%d-%d" % (attempt, number), **SLOW)
                        for number in range(HOSTS)]
            with tiers.Stopwatch() as watch:
                begun = [(host, host.begin(attempt * COUNT, COUNT)) for host in everyone
                         for _ in range(PROCESSES)]
                for host, process in begun:
                    self.assertEqual(host.end(process), "")
            made.append(sum(host.builds() for host in everyone))
            print("%d hosts x %d processes, %d programs of %s ms: %d builds in %.1f s" % (
                HOSTS, PROCESSES, COUNT, SLOW["STUB_DELAY_MS"], made[-1], watch.took), flush=True)
            self.assertGreaterEqual(made[-1], COUNT)
            # On a machine that is too busy hosts do not wait for the tier.
            if made[-1] == COUNT:
                return
        self.fail("builds: %s" % made)

    def begin_slowly(self, name, first=0):
        """A process that has a claim and does not come to its end."""
        owner = self.writer(name, STUB_DELAY_MS="600000")
        process = owner.begin(first, 1)
        self.wait_until("its claim", self.claims)
        self.wait_until("its build", owner.builds)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def check_wait(self, most=15):
        """Another host waits for it, not for ever, and then builds."""
        other = self.writer("other")
        with tiers.Stopwatch() as watch:
            other.use(0, 1)
        print("%s: waited %.2f s" % (self.id().partition(".")[2], watch.took), flush=True)
        self.assertEqual(other.builds(), 1)
        self.assertLess(watch.took, most)
        other.uploaded()

    def test_an_owner_that_is_killed(self):
        self.begin_slowly("owner").kill()
        self.check_wait()

    def test_an_owner_that_is_stopped(self):
        self.begin_slowly("owner").send_signal(signal.SIGSTOP)
        self.check_wait()

    def test_nobody_waits_who_builds_nothing(self):
        """Without the right to write a host claims nothing and waits for no claim."""
        self.begin_slowly("owner")
        reader = self.reader("reader")
        with tiers.Stopwatch() as watch:
            reader.use(0, 1)
        self.assertEqual(reader.builds(), 1)
        print("a reader: %.2f s" % watch.took, flush=True)

    def test_what_does_not_compile_is_claimed_no_more(self):
        owner = self.writer("owner", STUB_FAIL_LOG="no")
        process = owner.begin(0, 1)
        said = process.communicate()[1]
        self.assertEqual(process.returncode, 2, said)
        self.assertEqual(self.claims(), [])

    def check_no_claim(self, **settings):
        owner = self.writer("owner", **settings)
        self.assertEqual(owner.use(0, 2), "")
        self.assertEqual(self.stored(), 0)
        self.assertEqual(self.claims(), [])

    def test_what_is_too_large_to_store_is_claimed_no_more(self):
        self.check_no_claim(CKCACHE_MAX_DEVICE_IMAGE_SIZE="1")

    def test_what_is_too_small_to_store_is_claimed_no_more(self):
        self.check_no_claim(CKCACHE_MIN_DEVICE_IMAGE_SIZE="1Mi")

    def test_without_a_disk_level_nothing_is_claimed(self):
        self.check_no_claim(CKCACHE_PERSISTENT="0")

    def test_a_cache_that_is_read_only_claims_nothing(self):
        self.check_no_claim(CKCACHE_READ_ONLY="1")

    def test_without_waiting(self):
        self.begin_slowly("owner")
        other = self.writer("other", CKCACHE_BUILD_WAIT="0")
        with tiers.Stopwatch() as watch:
            other.use(0, 1)
        self.assertEqual(other.builds(), 1)
        print("with CKCACHE_BUILD_WAIT=0: %.2f s" % watch.took, flush=True)


class Redis(Claims, tiers.RedisCase):
    def claims(self):
        return self.server.claims()

    def stored(self):
        return len(self.server.values())


class Directory(Claims, hosts.Case):
    def setUp(self):
        super().setUp()
        self.shared = self.path("shared")
        os.mkdir(self.shared, 0o700)

    def writer(self, name, **settings):
        return self.host(name, "file:" + self.shared, **settings)

    def reader(self, name, **settings):
        return self.host(name, "file:%s read-only=true" % self.shared, **settings)

    def names(self):
        return [name for _, _, names in os.walk(self.shared) for name in names]

    def claims(self):
        return [name for name in self.names() if name.endswith(".claim")]

    def stored(self):
        return len([name for name in self.names() if "." not in name])


if __name__ == "__main__":
    tiers.need_redis()
    hosts.main()
