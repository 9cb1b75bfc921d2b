# SPDX-License-Identifier: MIT
"""ckcache-storage-file on directories: shared, untrusted, full, damaged."""
import glob
import os
import resource
import shutil
import signal
import subprocess
import threading
import time
import unittest

import helper
import protocol

DAY = 24 * 3600
NOBODY = 65534
as_root = unittest.skipIf(os.geteuid(), "not root")


class WithDirectory(helper.Case):
    attributes = {}

    def setUp(self):
        super().setUp()
        self.directory = self.path("values")
        self.url = "file:" + self.directory

    def begin(self, attributes=(), url=None, **more):
        process, endpoint = self.helper(url or self.url, {**self.attributes, **dict(attributes)},
                                        **more)
        return self.client(endpoint), process, endpoint

    def files(self):
        return sorted(os.path.relpath(name, self.directory) for name in
                      glob.glob(self.directory + "/**", recursive=True, include_hidden=True)
                      if os.path.isfile(name))


class Common(protocol.Protocol, WithDirectory):
    unknown, described = [], "^file:/.*/values$"


class Trusting(Common):
    attributes = {"trusted-only": "true"}
    described = "^file:/.*/values, trusted files only$"
    # These take long and are the same without trust.
    test_memory_stays_constant = test_many_clients = None


class Files(WithDirectory):
    def test_names(self):
        client, _, _ = self.begin()
        client.put(b"\xab\xcd\xef", b"value")
        self.assertEqual(self.read(self.directory + "/ab/cdef"), b"value")
        client.claim(b"\xab\xff", 60000)
        self.assertEqual(self.files(), ["ab/cdef", "ab/ff.claim"])
        client.put(b"\xab\xff", b"value")
        self.assertEqual(self.files(), ["ab/cdef", "ab/ff"])

    def test_urls(self):
        for url in ("file://" + self.directory, "file:///" + self.directory,
                    "file://localhost" + self.directory, "file:" + self.directory + "/%61+b"):
            self.assertEqual(self.begin(url=url)[0].put(b"key", b"value"), helper.OK)
        self.assertTrue(os.path.isdir(self.directory + "/a+b"))
        for url in ("file:relative", "file://host/path", "file:/x?y"):
            self.refused(url)

    def test_umask(self):
        for mask, mode in (("002", 0o664), ("077", 0o600), ("0", 0o666)):
            client, _, _ = self.begin({"umask": mask}, self.url + mask)
            client.put(b"\xab\xcd", b"value")
            path = self.directory + mask
            self.assertEqual(os.stat(path + "/ab/cd").st_mode & 0o777, mode)
            self.assertEqual(os.stat(path + "/ab").st_mode & 0o777, 0o777 & ~int(mask, 8))
        client, _, _ = self.begin({"umask": "0", "trusted-only": "yes"})
        client.put(b"\xab\xcd", b"value")
        self.assertEqual(os.stat(self.directory + "/ab/cd").st_mode & 0o777, 0o644)
        for mask in ("8", "1777", "x", "-1"):
            self.refused(self.url, {"umask": mask})

    def test_nothing_half_is_left(self):
        client, _, _ = self.begin()
        os.makedirs(self.directory + "/ab/cd")
        self.assertIn("directory", self.message(client.put(b"\xab\xcd", b"value")))
        self.assertEqual(self.files(), [])
        self.message(client.get(b"\xab\xcd"))

    def test_what_is_no_file(self):
        client, _, _ = self.begin()
        os.makedirs(self.directory + "/ab")
        os.symlink("/etc/passwd", self.directory + "/ab/01")
        os.mkfifo(self.directory + "/ab/02")
        os.symlink("/", self.directory + "/ac")
        for key in (b"\xab\x01", b"\xab\x02", b"\xac\x01"):
            self.message(client.get(key))

    def test_it_removes_what_dead_writers_left(self):
        client, process, _ = self.begin({"max-value-size": "1K"})
        client.put(b"\xab\x01", b"value")
        opened = len(os.listdir("/proc/%d/fd" % process.pid))
        for name, age in ((".tmp-old", 2 * DAY), (".tmp-new", 0), ("02.claim", 2 * DAY),
                          ("03.claim", 0), ("04", 2 * DAY)):
            path = self.write(os.path.join(self.directory, "ab", name), "x" * 2000)
            os.utime(path, (time.time() - age,) * 2)
        for number in range(300):
            client.put(b"\xab\x01", b"%d" % number)
        self.assertEqual(self.files(), ["ab/.tmp-new", "ab/01", "ab/03.claim", "ab/04"])
        self.message(client.get(b"\xab\x04"))
        self.assertEqual(len(os.listdir("/proc/%d/fd" % process.pid)), opened)

    def test_a_clock_that_is_ahead_takes_nothing_from_living_writers(self):
        ahead = {"LD_PRELOAD": os.path.join(helper.PROGRAMS, "..", "lib", "libwrong_clock.so"),
                 "WRONG_CLOCK_S": str(200 * DAY),
                 "ASAN_OPTIONS": "verify_asan_link_order=0:detect_leaks=0"}
        client, _, _ = self.begin(extra=ahead)
        client.put(b"\xab\x01", b"value")
        for name in (".tmp-new", "03.claim"):
            self.write(os.path.join(self.directory, "ab", name), "x")
        for number in range(300):
            client.put(b"\xab\x01", b"%d" % number)
        self.assertEqual(self.files(), ["ab/.tmp-new", "ab/01", "ab/03.claim"])

    def test_two_helpers_see_whole_values(self):
        one, _, endpoint = self.begin()
        other, _, _ = self.begin()
        values = [bytes([n]) * (n * 5000 + 1) for n in range(20)]
        one.put(b"key", values[0])
        done = threading.Event()

        def write():
            with helper.Client(endpoint) as writer:
                for turn in range(100):
                    writer.put(b"key", values[turn % 20])
            done.set()

        thread = threading.Thread(target=write)
        thread.start()
        while not done.is_set():
            self.assertIn(other.get(b"key"), values)
        thread.join()

    def test_a_directory_that_goes(self):
        client, _, _ = self.begin()
        client.put(b"key", b"value")
        os.rename(self.directory, self.directory + "2")
        self.assertIsNone(client.get(b"key"))
        self.assertEqual(client.put(b"key", b"value"), helper.OK)
        self.assertEqual(client.get(b"key"), b"value")

    @as_root
    def test_a_full_disk(self):
        os.mkdir(self.directory)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", self.directory], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.directory], check=True)
        client, _, _ = self.begin()
        client.put(b"small", b"value")
        for _ in range(5):
            self.assertIn("No space left", self.message(client.put(b"large", bytes(2 << 20))))
        self.assertEqual(len(self.files()), 1)
        self.assertIsNone(client.get(b"large"))
        self.assertEqual(client.get(b"small"), b"value")
        self.assertEqual(client.put(b"other", b"value"), helper.OK)


class Ends(WithDirectory):
    """Of a helper that is idle; the same for all of them."""

    def test_idle_timeout(self):
        start = time.monotonic()
        client, process, endpoint = self.begin(idle=1)
        client.get(b"key")
        # A client that only stays connected is not active.
        self.assertEqual(process.wait(helper.PATIENCE), 0)
        self.assertGreaterEqual(time.monotonic() - start, 1)
        self.assertFalse(os.path.exists(endpoint))

    def test_activity_keeps_it(self):
        clock = self.write(self.path("clock"), "")
        client, process, _ = self.begin(idle=2, extra=self.fault("clock", STORAGE_CLOCK=clock))
        for second in range(5):
            os.truncate(clock, second)
            client.get(b"key")
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(0.5)

    def test_full_of_silent_clients(self):
        _, process, endpoint = self.begin(idle=1)
        for _ in range(511):
            self.client(endpoint)
        late = self.client(endpoint, greet=False)
        self.assertEqual(process.wait(helper.PATIENCE), 0)
        self.assertTrue(late.ended())


    def begin_to_end(self, count=1):
        """Helpers that have just decided to end, and their sockets."""
        begun = [self.helper(self.url, idle=1, extra=self.fault("stop")) for _ in range(count)]
        for process, _ in begun:
            self.assertTrue(os.WIFSTOPPED(os.waitpid(process.pid, os.WUNTRACED)[1]))
        return begun

    def test_a_client_that_comes_at_the_end(self):
        process, endpoint = self.begin_to_end()[0]
        late = [self.client(endpoint, greet=False) for _ in range(3)]
        process.send_signal(signal.SIGCONT)
        for client in late:
            client.greeted()
            self.assertEqual(client.put(b"key", b"value"), helper.OK)
        # It goes on as before, for others as well, and leaves nothing else.
        self.assertEqual(self.client(endpoint).get(b"key"), b"value")
        self.assertEqual([name for name in os.listdir(self.work) if name.startswith("s")],
                         [os.path.basename(endpoint)])

    def test_another_one_that_has_the_name_by_then(self):
        awaited, alone = self.begin_to_end(2)
        late = self.client(awaited[1], greet=False)
        others = []
        for process, endpoint in (awaited, alone):
            os.unlink(endpoint)
            others.append(self.helper(self.url, endpoint=endpoint)[0])
            process.send_signal(signal.SIGCONT)
        late.greeted()
        self.assertIsNone(late.get(b"key"))
        self.assertEqual(alone[0].wait(helper.PATIENCE), 0)
        for (_, endpoint), other in zip((awaited, alone), others):
            self.assertIsNone(self.client(endpoint).get(b"key"))
            self.client(endpoint).stop()
            self.assertEqual(other.wait(helper.PATIENCE), 0)


class Claims(WithDirectory):
    def claim_file(self):
        return self.directory + "/ab/cd.claim"

    def test_one_that_says_nothing(self):
        client, _, _ = self.begin()
        os.makedirs(self.directory + "/ab")
        for text in (b"", b"token", b"token x", b"x" * 5000, b"\0" * 50):
            self.write(self.claim_file(), text)
            self.assertIs(client.claim(b"\xab\xcd", 60000), False)
            self.assertEqual(client.release(b"\xab\xcd"), helper.NOOP)
            os.utime(self.claim_file(), (time.time() - 61,) * 2)
            self.assertIs(client.claim(b"\xab\xcd", 60000), True)
            self.assertEqual(client.release(b"\xab\xcd"), helper.OK)
        self.assertEqual(self.files(), [])

    def test_one_is_read_up_to_its_bound(self):
        """What is longer is nobody's claim: it says nothing."""
        client, _, _ = self.begin()
        os.makedirs(self.directory + "/ab")
        said = b" %d\n" % (120 * 10**9)
        for length, is_read in ((len(said) + 1, True), (99, True), (100, True), (101, False)):
            self.write(self.claim_file(), b"x" * (length - len(said)) + said)
            os.utime(self.claim_file(), (time.time() - 61,) * 2)
            self.assertIs(client.claim(b"\xab\xcd", 60000), not is_read)
            os.utime(self.claim_file(), (time.time() - 121,) * 2)
            self.assertIs(client.claim(b"\xab\xcd", 60000), True)
            self.assertEqual(client.release(b"\xab\xcd"), helper.OK)
        self.assertEqual(self.files(), [])

    def test_clocks_that_differ(self):
        client, _, _ = self.begin()
        other, _, _ = self.begin()
        other.claim(b"\xab\xcd", 60000)
        os.utime(self.claim_file(), (time.time() + 1000,) * 2)
        self.assertIs(client.claim(b"\xab\xcd", 60000), False)
        os.utime(self.claim_file(), (time.time() - 59,) * 2)
        self.assertIs(client.claim(b"\xab\xcd", 1), False)
        os.utime(self.claim_file(), (time.time() - 61,) * 2)
        self.assertIs(client.claim(b"\xab\xcd", 60000), True)
        # It is another one's by now.
        self.assertEqual(other.release(b"\xab\xcd"), helper.NOOP)
        self.assertEqual(client.release(b"\xab\xcd"), helper.OK)
        self.assertEqual(self.files(), [])

    def test_a_node_whose_clock_is_ahead_ends_no_claim(self):
        """The file system's clock decides."""
        hour = self.path("hour")
        self.write(hour, b"")
        os.truncate(hour, 3600)
        ahead, _, _ = self.begin(extra=self.fault("clock", STORAGE_CLOCK=hour))
        other, _, _ = self.begin()
        self.assertIs(other.claim(b"\xab\xcd", 60000), True)
        self.assertIs(ahead.claim(b"\xab\xcd", 60000), False)
        self.assertEqual(ahead.release(b"\xab\xcd"), helper.NOOP)
        self.assertEqual(self.files(), ["ab/cd.claim"])
        os.utime(self.claim_file(), (time.time() - 61,) * 2)
        self.assertIs(ahead.claim(b"\xab\xcd", 60000), True)

    def test_the_value_ends_the_claim(self):
        client, _, endpoint = self.begin()
        other, _, _ = self.begin()
        for overwrite in (True, False):
            for one in (client, self.client(endpoint)):
                self.assertIs(client.claim(b"\xab\xcd", 60000), True)
                self.assertEqual(one.put(b"\xab\xcd", b"value", overwrite), helper.OK)
                self.assertEqual(self.files(), ["ab/cd"])
                self.assertEqual(client.release(b"\xab\xcd"), helper.NOOP)
                client.remove(b"\xab\xcd")
        # Another helper's stays until its time is over. One that makes no claims looks at none.
        self.assertIs(other.claim(b"\xab\xce", 60000), True)
        self.assertEqual(other.release(b"\xab\xce"), helper.OK)
        self.assertIs(client.claim(b"\xab\xcd", 60000), True)
        self.assertEqual(other.put(b"\xab\xcd", b"value"), helper.OK)
        self.assertEqual(self.files(), ["ab/cd", "ab/cd.claim"])
        os.utime(self.claim_file(), (time.time() - 61,) * 2)
        self.assertEqual(other.put(b"\xab\xcd", b"value"), helper.OK)
        self.assertEqual(self.files(), ["ab/cd"])
        # So does one of a value that was there before.
        self.write(self.claim_file(), "dead 1\n")
        os.utime(self.claim_file(), (time.time() - 61,) * 2)
        self.assertEqual(other.put(b"\xab\xcd", b"value", overwrite=False), helper.NOOP)
        self.assertEqual(self.files(), ["ab/cd"])

    def test_many_take_over(self):
        endpoints = [self.begin()[2] for _ in range(3)]
        counts = []
        for turn in range(30):
            name = self.directory + "/ab/%02x.claim" % turn
            os.makedirs(self.directory + "/ab", exist_ok=True)
            self.write(name, "dead 1\n")
            os.utime(name, (time.time() - 61,) * 2)
            won = []
            start = threading.Barrier(6)

            def work(number, key=bytes([0xab, turn])):
                with helper.Client(endpoints[number % 3]) as client:
                    start.wait()
                    won.append(client.claim(key, 60000))

            threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            counts.append(won.count(True))
        print("claims taken over by: %s" % counts)
        self.assertGreaterEqual(min(counts), 1)
        self.assertLessEqual(max(counts), 2)
        self.assertFalse([name for name in self.files() if ".tmp" in name])


class Trust(WithDirectory):
    attributes = {"trusted-only": "true"}

    def setUp(self):
        super().setUp()
        self.one, _, self.endpoint = self.begin()
        self.assertEqual(self.one.put(b"\xab\xcd", b"value"), helper.OK)
        self.plain, _, _ = self.begin({"trusted-only": "false"})

    def check_not_trusted(self):
        for answer in (self.one.get(b"\xab\xcd"), self.one.exists(b"\xab\xcd"),
                       self.one.claim(b"\xab\xcd", 1000)):
            self.assertIn("not trusted: ", self.message(answer))
        self.assertEqual(self.plain.get(b"\xab\xcd"), b"value")

    def test_modes(self):
        for path in ("", "/ab", "/ab/cd"):
            for mode in (0o020, 0o002):
                name = self.directory + path
                before = os.stat(name).st_mode
                os.chmod(name, before | mode)
                self.check_not_trusted()
                os.chmod(name, before)
                self.assertEqual(self.one.get(b"\xab\xcd"), b"value")

    def test_the_directories_above(self):
        os.chmod(self.work, 0o777)
        self.check_not_trusted()
        self.assertIn("not trusted", self.message(self.one.put(b"\xab\xcd", b"x")))
        os.chmod(self.work, 0o1777)
        self.assertEqual(self.one.get(b"\xab\xcd"), b"value")
        os.chmod(self.work, 0o700)

    def test_links(self):
        os.symlink(self.directory, self.path("link"))
        one, _, _ = self.begin(url="file:" + self.path("link"))
        self.assertEqual(one.get(b"\xab\xcd"), b"value")
        os.rename(self.directory + "/ab/cd", self.directory + "/ab/other")
        os.symlink("other", self.directory + "/ab/cd")
        self.assertIn("not trusted", self.message(self.one.get(b"\xab\xcd")))

    def test_a_failed_attempt_closes_once(self):
        # A helper that closes twice what it opened once ends by SIGABRT.
        client, process, _ = self.begin(extra=self.fault("stale"))
        self.assertIn("remove: ", self.message(client.remove(b"\xab\xcd")))
        self.message(client.get(b"\xab\xcd"))
        self.assertIsNone(process.poll())

    def test_a_link_that_changes_after_the_check(self):
        bad = self.path("bad")
        os.makedirs(bad + "/ab")
        os.chmod(bad, 0o777)
        self.write(bad + "/ab/cd", "stolen")
        os.symlink(self.directory, self.path("link"))
        os.symlink(bad, self.path("other"))
        one, _, _ = self.begin(url="file:" + self.path("link"), extra=self.fault(
            "swap", STORAGE_SWAP_FROM=self.path("other"), STORAGE_SWAP_TO=self.path("link")))
        self.assertEqual(one.get(b"\xab\xcd"), b"value")
        self.assertEqual(os.readlink(self.path("link")), bad)
        self.assertIn("not trusted", self.message(one.get(b"\xab\xcd")))

    def test_a_directory_above_that_cannot_be_listed(self):
        os.chmod(self.work, 0o711)
        self.assertEqual(self.one.get(b"\xab\xcd"), b"value")

    @as_root
    def test_other_owners(self):
        for path in ("", "/ab", "/ab/cd"):
            os.chown(self.directory + path, NOBODY, NOBODY)
            self.check_not_trusted()
            os.chown(self.directory + path, 0, 0)
        self.assertEqual(self.one.get(b"\xab\xcd"), b"value")

    @as_root
    def test_another_user(self):
        """Whose own directories are trusted, and the superuser's."""
        program = shutil.copy(os.path.join(helper.PROGRAMS, "ckcache-storage-file"), self.path("program"))
        for path in (self.work, self.directory, self.directory + "/ab", self.directory + "/ab/cd"):
            os.chown(path, 12345, 12345)
        client, _, _ = self.begin(program=program, preexec_fn=lambda: os.setuid(12345))
        self.assertEqual(client.get(b"\xab\xcd"), b"value")


class Limits(helper.Case):
    def test_a_limit_on_the_size_of_files(self):
        """It says so, and its successor stores what it could not."""
        clock, url = self.write(self.path("clock"), ""), "file:" + self.path("values")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        process, endpoint = self.helper(url, preexec_fn=limit,
                                        extra=self.fault("clock", STORAGE_CLOCK=clock))
        client = self.client(endpoint)
        self.assertIn("RLIMIT_FSIZE", self.message(client.put(b"key", bytes(2 << 20))))
        self.assertEqual(client.put(b"small", b"value"), helper.OK)
        os.truncate(clock, 61)
        start = time.monotonic()
        while os.path.exists(endpoint):
            self.assertLess(time.monotonic(), start + helper.PATIENCE)
            time.sleep(0.01)
        client.close()
        self.assertEqual(process.wait(helper.PATIENCE), 0)
        self.helper(url, endpoint=endpoint)
        self.assertEqual(self.client(endpoint).put(b"key", bytes(2 << 20)), helper.OK)


if __name__ == "__main__":
    helper.main()
