# SPDX-License-Identifier: MIT
"""Hosts that share a directory of a file server which they remember things of, as NFS
clients do: a helper of each host runs with nfs.c, which says what can happen.

    nfs.py BUILD-DIRECTORY [TEST...]
"""
import os
import signal
import struct
import threading
import time

import hosts

HOSTS, PROCESSES, COUNT = 4, 2, 20
HEADER = 128
REMEMBER_MS = 1000
# A claim's least time, and what a busy machine needs besides.
CLAIM_S, BUSY_S = 2, 10
CLOCKS = (0, 420, -300, 90)  # minutes apart
SLOW = {"STUB_DELAY_MS": "20"}
LATE = {"NFS_REMEMBER_MS": str(REMEMBER_MS)}
STALE = {"NFS_STALE_EVERY": "101"}
BROKEN = {"NFS_EIO_EVERY": "251"}
TIMES = {"NFS_SECONDS": "1"}


INDEX = b"ckcache-1-index".hex()[2:]  # a pushing host's list of names, which is no entry


def is_value(name):
    return "." not in name and not name.startswith(INDEX)


def is_whole(value):
    if len(value) < HEADER:
        return False
    source, binary = struct.unpack_from("<QQ", value, 16)
    return len(value) == HEADER + source + binary


class Watch(threading.Thread):
    """Reads all values all the time, as somebody at the file server."""

    def __init__(self, shared):
        super().__init__(daemon=True)
        self.shared, self.over = shared, threading.Event()
        self.looks, self.damaged = 0, []

    def look(self):
        for folder, _, names in os.walk(self.shared):
            for name in names:
                if not is_value(name):
                    continue
                try:
                    with open(os.path.join(folder, name), "rb") as file:
                        value = file.read()
                except FileNotFoundError:
                    continue  # pruned
                self.looks += 1
                if not is_whole(value):
                    self.damaged.append((name, len(value)))

    def run(self):
        while not self.over.wait(0.02):
            self.look()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()
        self.look()


class Nfs(hosts.Case):
    def setUp(self):
        super().setUp()
        self.shared = self.path("shared")
        os.mkdir(self.shared, 0o700)
        self.remote = "file:" + self.shared

    def node(self, name, clock=0, behaviour=None, **settings):
        """A host whose helper sees the directory in its way."""
        folder = self.path(name + "-helpers")
        os.mkdir(folder, 0o755)
        variables = {"LD_PRELOAD": hosts.built("lib", "libnfs.so"), "NFS_BELOW": self.shared,
                     "NFS_CLOCK_S": str(clock), **(behaviour or {})}
        helper = os.path.join(folder, "ckcache-storage-file")
        with open(helper, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n%s\nexec '%s' \"$@\"\n" % (
                "\n".join("export %s='%s'" % item for item in variables.items()),
                hosts.built("bin", "ckcache-storage-file")))
        os.chmod(helper, 0o755)
        if clock:
            settings = {"LD_PRELOAD": hosts.built("lib", "libwrong_clock.so"),
                        "WRONG_CLOCK_S": str(clock), **settings}
        return self.host(name, self.remote, **{
            "CKCACHE_REMOTE_HELPERS": folder + ":" + hosts.built("bin"), **settings})

    def everyone(self, nodes, **extra):
        """All at once; how long each process took, and how many programs were built."""
        before = sum(node.builds() for node in nodes)
        begun = time.monotonic()
        processes = [(node, node.begin(0, COUNT, **SLOW, **extra)) for node in nodes
                     for _ in range(PROCESSES)]
        for node, process in processes:
            node.end(process)
        return time.monotonic() - begun, sum(node.builds() for node in nodes) - before

    def uploaded(self, nodes):
        """What was refused twice waits for the next entry, or for whoever pushes; how many."""
        end = time.monotonic() + 2
        self.wait_until("uploads, for a while", lambda: time.monotonic() > end or
                        not any(node.noted() for node in nodes))
        left = sum(len(node.noted()) for node in nodes)
        for node in nodes:
            self.wait_until("what is pushed", lambda node=node: self.pushed(node))
        return left

    def pushed(self, node):
        if node.noted():
            node.forget_down()
            node.tool("push")
        return not node.noted()

    def values(self):
        return [name for _, _, names in os.walk(self.shared) for name in names if is_value(name)]

    def check(self, behaviour, clocks=(0,) * HOSTS):
        nodes = [self.node("h%d" % number, clock, behaviour)
                 for number, clock in enumerate(clocks)]
        alone, _ = self.everyone(nodes, CKCACHE_REMOTE=None)
        for node in nodes:
            node.forget()
        with Watch(self.shared) as watch:
            cold, builds = self.everyone(nodes)
            left = self.uploaded(nodes)
            seen = time.monotonic() + int(behaviour.get("NFS_REMEMBER_MS", 0)) / 1000
            self.wait_until("that all is seen", lambda: time.monotonic() > seen)
            down = [node.down() for node in nodes]
            for node in nodes:
                node.forget()
                node.forget_down()
            warm, again = self.everyone(nodes)
            down_again = [node.down() for node in nodes]
            left += self.uploaded(nodes)
            self.check_prune(behaviour)
        print("%s: alone %.1f s; cold %.1f s, %d builds; warm %.1f s, %d builds; %d pushed; "
              "%d values read%s" % (self.id().partition(".")[2], alone, cold, builds, warm, again, left,
                                   watch.looks,
                 "".join("; down: " + why for why in down + down_again if why)), flush=True)
        self.assertEqual(watch.damaged, [])
        self.assertGreater(watch.looks, COUNT)
        self.assertEqual(len(self.values()), COUNT)
        self.assertGreaterEqual(builds, COUNT)
        self.assertLessEqual(builds, HOSTS * COUNT)
        # Errors time and again are a reason to leave the tier alone: such a host builds all it needs.
        if not (STALE.keys() | BROKEN.keys()) & behaviour.keys():
            self.assertEqual((any(down), any(down_again)), (False, False))
        self.assertLess(again, COUNT * (1 + sum(why is not None for why in down_again)))
        self.assertLess(max(cold, warm), alone + CLAIM_S + BUSY_S)
        # Whatever the others have seen, now all is there.
        later = self.node("later", 60, behaviour)
        later.finds(0, COUNT)

    def check_prune(self, behaviour):
        """It removes neither a value too many nor what somebody is writing."""
        tool = self.node("prune", -200, {})
        ran = tool.tool("prune", "--remote", "--max-size", "1G", **{
            **behaviour, "LD_PRELOAD": hosts.built("lib", "libnfs.so"), "NFS_BELOW": self.shared,
            "NFS_CLOCK_S": "-200"})
        self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_as_it_is(self):
        self.check({})

    def test_names_are_seen_late(self):
        self.check(LATE)

    def test_stale_handles(self):
        self.check(STALE)

    def test_errors_now_and_then(self):
        self.check(BROKEN)

    def test_times_and_clocks(self):
        self.check(TIMES, CLOCKS)

    def test_all_together(self):
        self.check({**LATE, **STALE, **BROKEN, **TIMES}, CLOCKS)

    def test_a_claim_ends_in_its_time(self):
        """Whoever has it is stopped; hosts with other clocks wait no longer than it holds."""
        everything = {**LATE, **STALE, **BROKEN, **TIMES}
        owner = self.node("owner", 0, everything, STUB_DELAY_MS="600000")
        process = owner.begin(0, 1)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.wait_until("its build", owner.builds)
        process.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        others = [(node, node.begin(0, 1)) for node in
                  [self.node("o%d" % clock, clock, everything) for clock in CLOCKS]]
        for node, other in others:
            node.end(other)
        took = time.monotonic() - begun
        print("%s: %.1f s" % (self.id().partition(".")[2], took), flush=True)
        self.assertLess(took, 2 * CLAIM_S + BUSY_S)
        self.assertGreaterEqual(sum(node.builds() for node, _ in others), 1)


if __name__ == "__main__":
    hosts.main()
