# SPDX-License-Identifier: MIT
"""The remote tier against its server: look-ups of an application, in turns with
the server's own answers to the same requests; and hosts that start cold.

A real redis-server on loopback, behind a connection that delays and limits what
passes (bench_remote link). Medians over all look-ups of a process; the ratio is
taken within each pair. See docs/TESTING.md.
"""
import argparse
import os
import shutil
import subprocess
import sys
import time

from bench import Report, end_of
from harness import Failure, counted, drivers, made, median, opencl, stub_driver

SERVER = os.environ.get("CKCACHE_TEST_REDIS") or shutil.which("redis-server") or \
    shutil.which("valkey-server")


class Fleet:
    """A server, a link to it, keys, and hosts as directories of their own."""

    def __init__(self, build, work, delay_us, megabits):
        self.build, self.work, self.running = build, work, []
        self.socket = os.path.join(work, "redis")
        self.begin([SERVER, "--port", "0", "--unixsocket", self.socket, "--save", "",
                    "--appendonly", "no", "--dir", work])
        while not os.path.exists(self.socket):
            time.sleep(0.01)
        link = self.begin([self.program("bench_remote"), "link", self.socket, str(delay_us),
                           str(megabits)])
        self.port = int(link.stdout.readline())
        self.key, self.trust = os.path.join(work, "key.pem"), os.path.join(work, "trusted_keys")
        line = self.run([self.program("ckcache"), "key", "new", self.key, "--name", "bench"],
                        self.host("keys"))
        with open(self.trust, "w", encoding="ascii") as file:
            file.write(line)
        os.chmod(self.trust, 0o600)

    def program(self, name):
        return os.path.join(self.build, "bin", name)

    def begin(self, command, environment=None):
        process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.running.append(process)
        return process

    def end(self):
        for process in self.running:
            process.kill()
            process.communicate()
        # Helpers and uploaders are nobody's children, but name the directory.
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/environ" % pid, "rb") as file:
                    ours = self.work.encode() in file.read()
                with open("/proc/%s/cmdline" % pid, "rb") as file:
                    ours |= self.work.encode() in file.read()
                if ours and int(pid) != os.getpid():
                    os.kill(int(pid), 9)
            except OSError:
                pass

    def host(self, name, **extra):
        home = os.path.join(self.work, name)
        for folder in ("home", "run"):
            os.makedirs(os.path.join(home, folder), mode=0o700, exist_ok=True)
        return made(os.path.join(home, "home"), os.path.join(home, "cache"), LC_ALL="C.UTF-8",
                    XDG_RUNTIME_DIR=os.path.join(home, "run"),
                    CKCACHE_REMOTE_HELPERS=os.path.join(self.build, "bin"), **extra)

    def remote(self, **extra):
        return {"CKCACHE_REMOTE": "redis://127.0.0.1:%d" % self.port,
                "CKCACHE_REMOTE_KEY": self.key, "CKCACHE_REMOTE_TRUST": self.trust, **extra}

    @staticmethod
    def run(command, environment):
        ran = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             check=False, timeout=900)
        if ran.returncode or (ran.stderr and command[1] != "key"):
            raise Failure("%s: code %d: %s" % (" ".join(command), ran.returncode, ran.stderr))
        return ran.stdout

    def uploaded(self, environment):
        end = time.monotonic() + 120
        folder = os.path.join(environment["CKCACHE_DIR"], "uploads")
        while not os.path.isdir(folder) or os.listdir(folder):
            if time.monotonic() > end:
                raise Failure("what was stored is not uploaded")
            time.sleep(0.05)


def measure_look_ups(fleet, report, count, length):
    writer = fleet.host("writer", **fleet.remote())
    fleet.run([fleet.program("bench_remote"), "fill", str(count), str(length)], writer)
    fleet.uploaded(writer)
    report.heading("A look-up in the remote tier, images of %d bytes" % length)
    for what, words in (("hit", ["get", str(fleet.port), str(count), str(length)]),
                        ("miss", ["miss", str(fleet.port), str(count)])):
        text = fleet.run([fleet.program("bench_remote"), *words],
                         fleet.host("reader-" + what, **fleet.remote()))
        pairs = [[int(word) / 1e6 for word in line.split()] for line in text.splitlines()]
        own, server = (median([pair[i] for pair in pairs]) for i in (0, 1))
        if what == "hit":
            bound = 1.3 * server + 0.2
            report.require("hit: look-up %.2f ms, bare GET %.2f ms" % (own, server), "%.2f" %
                           (own / server), "<= 1.3 and 0.2 ms", own <= bound)
        else:
            report.require("miss: look-up %.2f ms, bare GET %.2f ms" % (own, server), "%.2f" %
                           (own / server), "<= 1.5", own <= 1.5 * server)


def measure_cold(fleet, report, hosts, processes, kernels, build_ms):
    report.heading("%d hosts with %d processes each, cold, %d kernels of %d ms" %
                   (hosts, processes, kernels, build_ms))
    layer = {**opencl(fleet.build), **drivers(fleet.work, stub_driver(fleet.build))}
    shared = os.path.join(fleet.work, "shared")
    os.makedirs(shared, mode=0o700, exist_ok=True)
    for name, settings in (("no remote tier", {}), ("a directory", {"CKCACHE_REMOTE": "file:" + shared}),
                           ("Redis", fleet.remote())):
        counts = os.path.join(fleet.work, "counts-" + name.replace(" ", "-"))
        open(counts, "w", encoding="ascii").close()
        begun = time.monotonic()
        running = []
        for number in range(hosts):
            environment = fleet.host(
                "%s-%d" % (name.replace(" ", "-"), number), **settings,
                **layer, STUB_COUNTS=counts, STUB_DELAY_MS=str(build_ms))
            running += [fleet.begin([fleet.program("kernels_client"), "0", str(kernels)], environment)
                        for _ in range(processes)]
        for process in running:
            out, err = process.communicate()
            if process.returncode or out or err:
                raise Failure("%s: %s%s" % (name, out, err))
            fleet.running.remove(process)
        took = time.monotonic() - begun
        built = counted(counts)
        if settings and "redis" in settings["CKCACHE_REMOTE"]:
            report.require("%s: %.1f s, compiled" % (name, took), built, "== %d" % kernels,
                           built == kernels)
        else:
            report.line("%s: %.1f s, compiled" % (name, took), built)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--runs", type=int, default=41)
    parser.add_argument("--length", type=int, default=1000000)
    parser.add_argument("--hosts", type=int, default=16)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--kernels", type=int, default=50)
    parser.add_argument("--build-ms", type=int, default=100)
    parser.add_argument("--delay-us", type=int, default=1000)
    parser.add_argument("--megabits", type=int, default=1000)
    parser.add_argument("--parts", default="look-ups,cold")
    parser.add_argument("--smoke", action="store_true", help="a few of each, judged by nothing")
    options = parser.parse_args()
    if not SERVER:
        print("SKIPPED: neither redis-server nor valkey-server is installed")
        return 77
    if options.smoke:
        options.runs, options.hosts, options.processes, options.kernels = 4, 2, 2, 3
    report = Report(not options.smoke)

    def measure(work):
        fleet = Fleet(os.path.abspath(options.build), work, options.delay_us, options.megabits)
        try:
            if "look-ups" in options.parts:
                measure_look_ups(fleet, report, options.runs, options.length)
            if "cold" in options.parts:
                measure_cold(fleet, report, options.hosts, options.processes, options.kernels,
                             options.build_ms)
        finally:
            fleet.end()

    return end_of(measure, report)


if __name__ == "__main__":
    sys.exit(main())
