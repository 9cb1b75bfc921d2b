# SPDX-License-Identifier: MIT
"""What breaks while processes of two hosts build: the server, the way to it, the helper, the
uploader, what they need on this machine. The results are right, no process hangs, and no
host takes much longer than without a remote tier: the figure is printed.

    faults.py BUILD-DIRECTORY [TEST...]
"""
import os
import signal
import socket
import subprocess
import sys
import time
import unittest

import hosts
import tiers

COUNT = 20                  # programs
PROCESSES = 2               # of each host
DELAY = {"STUB_DELAY_MS": "20"}
MOST = 6                    # seconds more than without a remote tier
alone = []                  # what that takes


class Faults(tiers.RedisCase):
    def setUp(self):
        super().setUp()
        if not alone:
            pair = [self.host("alone1", None), self.host("alone2", None)]
            with tiers.Stopwatch() as watch:
                self.end_all(self.begin_all(pair))
            alone.append(watch.took)

    def pair(self, remote=None, **settings):
        return [self.writer("one", remote, **DELAY, **settings),
                self.writer("two", remote, **DELAY, **settings)]

    def begin_all(self, pair, first=0):
        return [(host, host.begin(first, COUNT, CKCACHE_LOG="warning", **DELAY)) for host in pair
                for _ in range(PROCESSES)]

    def end_all(self, begun):
        for host, process in begun:
            said = host.end(process)
            self.assertLessEqual(said.count("\n"), 1, said)

    def under_load(self, pair, harm=None, first=0, after=3):
        """Builds on all hosts; harm is done once each has built something."""
        before = [host.builds() for host in pair]
        with tiers.Stopwatch() as watch:
            begun = self.begin_all(pair, first)
            if harm:
                self.wait_until("the first builds", lambda: sum(
                    host.builds() - count for host, count in zip(pair, before)) >= after)
                harm()
            self.end_all(begun)
        self.report(watch.took)
        # Whatever happened, it is on disk.
        for host, count in zip(pair, before):
            self.assertLessEqual(host.builds() - count, COUNT)
            now = host.builds()
            self.assertEqual(host.use(first, COUNT, CKCACHE_REMOTE=None), "")
            self.assertEqual(host.builds(), now)
        return pair

    def report(self, took, without=None):
        without = alone[0] if without is None else without
        print("%-45s %5.2f s, without a remote tier %5.2f s: %+5.2f s" %
              (self.id().rpartition(".")[2], took, without, took - without), flush=True)
        self.assertLess(took - without, MOST)

    def kill(self, name, number=signal.SIGKILL):
        found = self.processes(name)
        for pid in found:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass
        return len(found)

    def heal(self, pair, first=0):
        """A minute later. What was noted is uploaded, and others use it."""
        self.kill("ckcache-storage")  # which pauses, too, after failures
        for host in pair:
            self.upload_rest(host)
        self.reader("later").finds(first, COUNT)

    def upload_rest(self, host):
        """An uploader that fails just now ends, and the next store starts another: in other
        minutes, which pass as fast as the notes of them are removed."""
        tried = []

        def done():
            if host.down() or not tried or time.monotonic() > tried[-1] + 10:
                tried.append(time.monotonic())
                host.forget_down()
                host.use(1000 * len(tried) + int(host.name == "two"), 1)
            return not host.noted()

        self.wait_until("the upload of %s" % host.name, done)
        self.assertLessEqual(len(tried), 6)

    # The server.

    def test_nothing(self):
        pair = self.under_load(self.pair())
        self.heal(pair)

    def test_server_is_killed(self):
        pair = self.under_load(self.pair(), self.server.kill)
        self.server.start()
        self.heal(pair + self.again(pair))

    def again(self, pair):
        """Everything that was on the server is gone: all is noted again."""
        for host in pair:
            host.forget()
        self.under_load(pair)
        return []

    def test_server_is_absent(self):
        self.server.kill()
        pair = self.under_load(self.pair())
        self.server.start()
        self.heal(pair)

    def test_server_is_away_while_an_uploader_goes_on(self):
        """That it took others before says nothing of what it cannot be asked now."""
        writer = self.writer("writer")
        self.assertEqual(writer.use(0, 3), "")
        writer.uploaded()
        self.server.kill()
        for number in range(12):
            writer.use(3 + number, 1)
            time.sleep(0.2)  # an uploader tries each as it comes
        self.assertEqual(len(writer.noted()), 12)
        self.server.start()
        self.kill("ckcache-storage")
        self.upload_rest(writer)
        self.reader("later").finds(3, 12)

    def test_server_is_stopped(self):
        self.addCleanup(self.server.process.send_signal, signal.SIGCONT)
        pair = self.under_load(self.pair(),
                               lambda: self.server.process.send_signal(signal.SIGSTOP))
        self.server.process.send_signal(signal.SIGCONT)
        self.heal(pair)

    def test_server_is_full(self):
        used = self.server.command("INFO", "memory").decode().partition("used_memory:")[2].split()
        self.server.command("CONFIG", "SET", "maxmemory-policy", "noeviction")
        pair = self.under_load(self.pair(), lambda: self.server.command(
            "CONFIG", "SET", "maxmemory", int(used[0]) // 2))
        self.server.command("CONFIG", "SET", "maxmemory", 0)
        self.heal(pair)

    def test_server_is_emptied(self):
        def empty():
            for _ in range(20):
                self.server.command("FLUSHALL")
                time.sleep(0.01)

        self.under_load(self.pair(), empty)

    def test_server_is_replaced(self):
        """By one that has other bytes under each name."""
        self.fill(0, COUNT)
        names = list(self.server.values())

        def replace():
            self.server.kill()
            self.server.start()
            for number, name in enumerate(names):
                self.server.command("SET", name, os.urandom(100 * number))

        for name in names[::2]:
            self.server.command("DEL", name)
        self.under_load(self.pair(), replace)

    # The way to it.

    def test_connections_are_cut(self):
        self.fill(0, COUNT)
        for name in list(self.server.values())[::2]:
            self.server.command("DEL", name)
        proxy = tiers.Proxy(self, self.server.port)
        self.under_load(self.pair(proxy.url), lambda: setattr(proxy, "cut_after", 400))
        proxy.cut_after = None

    def test_every_value_is_cut(self):
        self.fill(0, COUNT)
        proxy = tiers.Proxy(self, self.server.port)
        proxy.cut_after = 400
        pair = self.under_load(self.pair(proxy.url))
        self.assertGreater(proxy.cuts, 0)
        self.assertEqual([host.builds() for host in pair], [COUNT, COUNT])

    def test_a_slow_network(self):
        self.fill(0, COUNT)
        proxy = tiers.Proxy(self, self.server.port)
        proxy.step, proxy.delay = 16, 0.02
        pair = self.under_load(self.pair(proxy.url))
        self.assertEqual([host.builds() for host in pair], [COUNT, COUNT])

    def test_hits_that_take_longer_than_compiles(self):
        """Each is in time, and yet not worth it."""
        count = 80
        self.fill(0, count, STUB_DELAY_MS="1")
        without = self.host("without", None, STUB_DELAY_MS="1")
        with tiers.Stopwatch() as watch:
            without.use(0, count)
        proxy = tiers.Proxy(self, self.server.port)
        proxy.delay = 0.12
        reader = self.reader("reader", proxy.url, STUB_DELAY_MS="1")
        with tiers.Stopwatch() as slow:
            reader.use(0, count)
        self.report(slow.took, without=watch.took)
        self.assertLess(slow.took - watch.took, 4)

    # The helper.

    def test_helpers_are_killed(self):
        pair = self.under_load(self.pair(), lambda: self.assertTrue(self.kill("ckcache-storage")))
        self.heal(pair)

    def test_helpers_are_killed_over_and_over(self):
        def harm():
            for _ in range(10):
                self.kill("ckcache-storage")
                time.sleep(0.02)

        pair = self.under_load(self.pair(), harm)
        self.heal(pair)

    def test_helpers_are_stopped(self):
        pair = self.under_load(self.pair(), lambda: self.assertTrue(
            self.kill("ckcache-storage", signal.SIGSTOP)))
        self.kill("ckcache-storage", signal.SIGCONT)
        self.heal(pair)

    def test_uploaders_are_killed(self):
        self.addCleanup(self.kill, "")
        pair = self.pair()
        ended = []

        def harm():
            end = time.monotonic() + 60
            while not ended and time.monotonic() < end:
                if self.kill("ckcache-remote upload"):
                    ended.append(True)

        self.under_load(pair, harm)
        self.assertTrue(ended)
        self.heal(pair)

    def test_uploaders_are_stopped(self):
        pair = self.under_load(self.pair(), lambda: self.wait_until(
            "an uploader", lambda: self.kill("ckcache-remote upload", signal.SIGSTOP)))
        self.kill("ckcache-remote upload", signal.SIGCONT)
        self.heal(pair)


class Installations(Faults):
    """Programs that are missing, and helpers that misbehave."""
    def folder(self, *programs):
        folder = self.path("helpers")
        os.mkdir(folder)
        for name in programs:
            os.symlink(hosts.built("bin", name), os.path.join(folder, name))
        return folder

    def check_alone(self, pair, reason=None):
        self.assertEqual([host.builds() for host in pair], [COUNT, COUNT])
        if reason:
            self.wait_until("a note with the reason", lambda: reason in (pair[0].down() or ""))

    def test_no_ckcache_remote(self):
        pair = self.under_load(self.pair(CKCACHE_REMOTE_HELPERS=self.folder()))
        self.check_alone(pair, "ckcache-remote: not found")

    def test_no_helper(self):
        pair = self.under_load(self.pair("fake:x", CKCACHE_REMOTE_HELPERS=self.folder("ckcache-remote")))
        self.check_alone(pair, "there is no ckcache-storage-fake")

    def test_helpers_that_cannot_run(self):
        folder = self.folder("ckcache-remote")
        path = os.path.join(folder, "ckcache-storage-fake")
        for content, mode in ((b"", 0o755), (b"\x7fELF\x02\x01\x01 and no more", 0o755),
                              (b"#!/nowhere/python\n", 0o755), (b"#!/bin/sh\n", 0o644)):
            with open(path, "wb") as file:
                file.write(content)
            os.chmod(path, mode)
            pair = self.pair("fake:%d" % len(content), CKCACHE_REMOTE_HELPERS=folder)
            for host in pair:
                host.forget()
            with tiers.Stopwatch() as watch:
                self.end_all(self.begin_all(pair))
            self.report(watch.took)

    def fake(self, how, reason=None):
        folder = self.folder("ckcache-remote")
        path = os.path.join(folder, "ckcache-storage-fake")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fake_helper.py")
        with open(source, encoding="utf-8") as file, open(path, "w", encoding="utf-8") as fake:
            fake.write("#!%s -BS\n" % sys.executable + file.read())
        os.chmod(path, 0o755)
        pair = self.under_load(self.pair("fake:" + how, CKCACHE_REMOTE_HELPERS=folder))
        self.check_alone(pair, reason)
        return pair


def add_fake(how, reason=None):
    def test(self):
        self.fake(how, reason)

    setattr(Installations, "test_helper_" + how.replace("-", "_"), test)


for _how, _reason in (("ends", "ended at once"), ("fails", "the moon is not full"),
                      ("crashes", "ended at once"), ("deaf", None), ("absent", "no answer in time"),
                      ("silent", "no answer in time"), ("garbage", None), ("version", None),
                      ("incapable", None), ("endless-greeting", None), ("half-greeting", None),
                      ("hangs-up", None), ("mute", "no answer in time"), ("dies", None),
                      ("wrong-answer", None), ("vast", None), ("large", None),
                      ("slow-value", "no answer in time"), ("nonsense", None), ("empty", None),
                      ("rude", None), ("cut-message", None), ("others-build", None)):
    add_fake(_how, _reason)


class Places(Faults):
    """The directory of the socket, the socket's name, the root."""

    def socket_name(self):
        """By a host of the same address that works."""
        probe = self.writer("probe")
        probe.use(0, 1)
        folder = os.path.join(probe.home, "run", "ckcache")
        name = [name for name in os.listdir(folder) if name.endswith(".sock")][0]
        self.server.command("FLUSHALL")
        return name

    def occupied(self, occupy):
        name = self.socket_name()
        pair = self.pair()
        for host in pair:
            folder = os.path.join(host.home, "run", "ckcache")
            os.mkdir(folder, 0o700)
            occupy(os.path.join(folder, name))
        return self.under_load(pair)

    def test_socket_is_a_file(self):
        def occupy(path):
            with open(path, "w", encoding="ascii"):
                pass

        self.heal(self.occupied(occupy))  # it is replaced

    def test_socket_is_a_directory(self):
        self.occupied(lambda path: os.makedirs(os.path.join(path, "full")))

    def test_socket_is_a_link(self):
        target = self.path("target")
        with open(target, "w", encoding="ascii") as file:
            file.write("kept")
        self.heal(self.occupied(lambda path: os.symlink(target, path)))
        with open(target, encoding="ascii") as file:
            self.assertEqual(file.read(), "kept")

    def test_socket_of_nobody(self):
        def occupy(path):
            with socket.socket(socket.AF_UNIX) as one:
                one.bind(path)

        self.heal(self.occupied(occupy))

    def test_runtime_directory_is_a_file(self):
        pair = self.pair()
        for host in pair:
            with open(os.path.join(host.home, "run", "ckcache"), "w", encoding="ascii"):
                pass
        self.under_load(pair)
        self.assertEqual(self.processes("ckcache-"), {})

    def test_runtime_directory_that_others_may_write(self):
        pair = self.pair()
        for host in pair:
            os.mkdir(os.path.join(host.home, "run", "ckcache"))
            os.chmod(os.path.join(host.home, "run", "ckcache"), 0o777)
        self.under_load(pair)
        self.assertEqual(self.processes("ckcache-"), {})

    @unittest.skipIf(os.geteuid(), "needs root")
    def test_runtime_directory_of_another_user(self):
        pair = self.pair()
        for host in pair:
            os.mkdir(os.path.join(host.home, "run", "ckcache"), 0o700)
            os.chown(os.path.join(host.home, "run", "ckcache"), 12345, 12345)
        self.under_load(pair)
        self.assertEqual(self.processes("ckcache-"), {})

    def test_the_root_is_full(self):
        """Of a file system of its own, with a few blocks: a remote hit serves all the same."""
        self.fill(0, COUNT)
        reader = self.reader("reader", CKCACHE_IN_MEM="0")
        os.mkdir(reader.root, 0o700)
        script = "mount -t tmpfs -o size=16k,mode=0700 tmpfs \"$1\" || exit 99; shift; exec \"$@\""
        with tiers.Stopwatch() as watch:
            done = subprocess.run(["unshare", "-m", "sh", "-c", script, "-", reader.root,
                                   hosts.built("bin", "kernels_client"), "0", str(2 * COUNT)],
                                  env=reader.environment(DELAY), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode == 99 or "unshare" in done.stderr:
            self.skipTest("no mount namespaces: " + done.stderr.strip())
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.report(watch.took)
        self.assertEqual(reader.builds(), COUNT)

    def test_a_writers_root_is_full(self):
        writer = self.writer("writer")
        os.mkdir(writer.root, 0o700)
        script = "mount -t tmpfs -o size=16k,mode=0700 tmpfs \"$1\" || exit 99; shift; exec \"$@\""
        with tiers.Stopwatch() as watch:
            done = subprocess.run(["unshare", "-m", "sh", "-c", script, "-", writer.root,
                                   hosts.built("bin", "kernels_client"), "0", str(COUNT)],
                                  env=writer.environment(DELAY), stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode == 99 or "unshare" in done.stderr:
            self.skipTest("no mount namespaces: " + done.stderr.strip())
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.report(watch.took)
        self.assertEqual(writer.builds(), COUNT)


# Installations and Places are what they add.
for _case in (Installations, Places):
    for _name in [name for name in vars(Faults) if name.startswith("test_")]:
        setattr(_case, _name, None)


if __name__ == "__main__":
    tiers.need_redis()
    hosts.main()
