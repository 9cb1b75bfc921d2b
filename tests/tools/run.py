# SPDX-License-Identifier: MIT
"""ckcache run: for the command, who started it and the terminal it is as if
the command had been started without it.

    run.py CKCACHE SOURCE-DIRECTORY STUB-DRIVER RUDE-DRIVER
"""
import fcntl
import json
import os
import platform
import pty
import shutil
import signal
import struct
import subprocess
import sys
import termios
import unittest

import machine
import tool_case

NOBODY = 65534
WAYS = ([], ["--summary"])
# Builds one small program on the first device, and needs nothing else.
BUILD = ["worker", "opencl-build", "0", "0"]
# clGetPlatformIDs, by which loaders read their variables; then a child's environment.
ASK = """
import ctypes
loader = ctypes.CDLL("libOpenCL.so.1")
loader.clGetPlatformIDs(0, None, ctypes.byref(ctypes.c_uint()))
ctypes.CDLL(None).system(b"echo $OPENCL_LAYERS")
"""


# Nothing comes between a signal and this.
WAIT = """
import signal, sys
signals = signal.valid_signals() - {signal.SIGCONT, signal.SIGTSTP, signal.SIGCHLD}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
print("ready", flush=True)
while True:
    number = signal.sigwait(signals)
    print(int(number), flush=True)
    if number == signal.SIGUSR1:
        sys.exit(42)
"""


def layer(name="libckcache_opencl.so"):
    return os.path.join(os.path.realpath(os.path.join(os.path.dirname(machine.CKCACHE), "..", "lib")), name)


def static_program():
    """An ELF file of one segment, whose code is exit(3)."""
    code = bytes.fromhex("bf03000000b83c0000000f05")
    at = 0x400000
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 62, 1, at + 120, 64, 0, 0,
                         64, 56, 1, 0, 0, 0)
    size = 120 + len(code)
    return header + struct.pack("<IIQQQQQQ", 1, 5, 0, at, at, size, size, 4096) + code


class Run(machine.Case):
    guarded = False	# any program may be run

    def summary(self, ran):
        """Its one line."""
        self.assertTrue(ran.err.endswith("\n"), ran)
        return ran.err.splitlines()[-1]


class Environments(Run):
    def variable(self, name, extra=None, command=None):
        with self.start("run", "sh", "-c", 'printf %%s "$%s"' % name, extra=extra,
                        stdout=subprocess.PIPE, executable=command) as process:
            return process.stdout.read().decode()

    def test_lists_are_kept(self):
        self.assertEqual(self.variable("OPENCL_LAYERS"), layer())
        self.assertEqual(self.variable("OPENCL_LAYERS", {"OPENCL_LAYERS": "/a.so:/b.so"}),
                         layer() + ":/a.so:/b.so")
        self.assertEqual(self.variable("OPENCL_LAYERS", {"OPENCL_LAYERS": ""}), layer())

    def test_one_that_is_there_already_is_not_added(self):
        for value in (layer(), "/a.so:" + layer(), layer() + ":/a.so"):
            self.assertEqual(self.variable("OPENCL_LAYERS", {"OPENCL_LAYERS": value}), value)
        os.mkdir(self.path("other"))
        other = shutil.copy(layer(), self.path("other"))
        self.assertEqual(self.variable("OPENCL_LAYERS", {"OPENCL_LAYERS": other}), other)
        gone = self.path("gone", "libckcache_opencl.so")
        for name in ("/libxxxxxxx_opencl.so", "/xlibckcache_opencl.so"):	# of that length; with that end
            shutil.copy(layer(), self.path("other") + name)
        for path in (gone, self.path("other") + "/libxxxxxxx_opencl.so", self.path("other") + "/xlibckcache_opencl.so"):
            self.assertEqual(self.variable("OPENCL_LAYERS", {"OPENCL_LAYERS": path}), layer() + ":" + path)

    @unittest.skipUnless(os.path.exists("/usr/include/level_zero/ze_api.h"), "no Level Zero")
    def test_level_zeros_too(self):
        shim = layer("ckcache/libckcache_preload.so")
        self.assertEqual(self.variable("LD_PRELOAD"), shim)
        self.assertEqual(self.variable("ZE_ENABLE_LAYERS", {"ZE_ENABLE_LAYERS": "a"}), "a,ckcache")
        self.assertEqual(self.variable("ZE_ENABLE_LAYERS", {"ZE_ENABLE_LAYERS": "ckcache:a"}),
                         "ckcache:a")
        self.assertEqual(self.variable("ZE_ENABLE_VALIDATION_LAYER"), "")

    def installation(self, name):
        """A copy of the command and its libraries in a directory of that name."""
        os.makedirs(self.path(name, "bin"))
        shutil.copytree(os.path.join(os.path.dirname(machine.CKCACHE), "..", "lib"),
                        self.path(name, "lib"), ignore=shutil.ignore_patterns("*.a"))
        return shutil.copy(machine.CKCACHE, self.path(name, "bin"))

    def test_wherever_it_is_installed(self):
        moved = self.installation("moved")
        self.assertEqual(self.variable("OPENCL_LAYERS", command=moved),
                         self.path("moved", "lib", "libckcache_opencl.so"))
        os.symlink(moved, self.path("ckcache"))
        self.assertEqual(self.variable("OPENCL_LAYERS", command=self.path("ckcache")),
                         self.path("moved", "lib", "libckcache_opencl.so"))

    def test_a_path_with_a_blank(self):
        moved = self.installation("two words")
        self.assertEqual(self.variable("OPENCL_LAYERS", command=moved),
                         self.path("two words", "lib", "libckcache_opencl.so"))
        self.assertEqual(self.variable("LD_PRELOAD", command=moved), "")
        if os.path.exists(layer("ckcache/libze_validation_layer.so.1")):
            self.assertEqual(self.variable("LD_LIBRARY_PATH", command=moved),
                             self.path("two words", "lib", "ckcache"))
            self.assertEqual(self.variable("ZE_ENABLE_VALIDATION_LAYER", command=moved), "1")
            self.assertEqual(self.variable("ZE_ENABLE_LAYERS", command=moved), "ckcache")

    def test_a_path_with_a_colon(self):
        self.command = self.installation("a:b")
        ran = self.ends(125, "run", "true")
        self.assertIn("OPENCL_LAYERS cannot name", ran.err)

    def test_without_the_layer(self):
        os.mkdir(self.path("bin"))
        self.command = shutil.copy(machine.CKCACHE, self.path("bin"))
        self.ends(125, "run", "true")

    def test_grandchildren_see_the_whole_list(self):
        if not os.path.exists(layer("ckcache/libckcache_preload.so")):
            self.skipTest("no preloaded library")
        self.drivers(machine.STUB)
        other = "/nowhere/other.so:/nowhere/third.so"
        for directory in (None, os.environ.get("CKCACHE_TEST_LOADER_DIR")):
            ran = self.tool("run", "python3", "-c", ASK,
                            extra={"OPENCL_LAYERS": other, "LD_LIBRARY_PATH": directory})
            self.assertEqual(ran.out, layer() + ":" + other + "\n", ran)


class Codes(Run):
    def test_the_commands(self):
        for way in WAYS:
            for code in (0, 1, 3, 125, 255):
                self.ends(code, "run", *way, "--", "sh", "-c", "exit %d" % code)

    def test_commands_that_cannot_be_run(self):
        plain = self.write("plain", "text")
        wrong = self.write("wrong", "#!/nowhere/sh\n", 0o755)
        for way in WAYS:
            for command, code in ((plain, 126), (self.work, 126),
                                  (self.path("none"), 127), ("no-such-command", 127), ("", 127),
                                  (plain + "/below", 127), (wrong, 127)):
                self.assertIn("ckcache: %s: " % command, self.ends(code, "run", *way, "--", command).err)

    def test_scripts(self):
        with_line = self.write("with", "#!/bin/sh\nexit 4\n", 0o755)
        without = self.write("without", "exit 5\n", 0o755)
        for way in WAYS:
            self.ends(4, "run", *way, with_line)
            self.ends(5, "run", *way, without)

    @unittest.skipUnless(platform.machine() == "x86_64", "its code is for x86-64")
    def test_static_programs(self):
        program = self.write("static", static_program(), 0o755)
        for way in WAYS:
            ran = self.ends(3, "run", *way, program)
        self.assertIn("linked statically", self.summary(ran))
        ran = self.tool("doctor", "--quick", program)
        self.assertIn("linked statically", ran.out)

    @unittest.skipIf(os.geteuid(), "not root")
    def test_programs_with_rights_of_their_own(self):
        program = shutil.copy(shutil.which("true"), self.path("true"))
        os.chown(program, NOBODY, NOBODY)
        os.chmod(program, 0o4755)
        self.assertIn("runs with other privileges", self.summary(self.ends(0, "run", "--summary", program)))


class Summaries(Run):
    def setUp(self):
        super().setUp()
        self.drivers(machine.STUB)

    def build(self, *options, extra=None):
        """A program on the stub driver, with these options of run."""
        return self.ends(0, "run", *options, "--", machine.CKCACHE, *BUILD, extra=extra)

    def test_counts(self):
        ran = self.build("--summary")
        self.assertIn("0 hits (0 memory, 0 disk), 1 misses", self.summary(ran))
        for _ in range(2):
            ran = self.build("--summary")
            self.assertIn("1 hits (0 memory, 1 disk), 0 misses", self.summary(ran))
            self.assertEqual(len(ran.err.splitlines()), 1, ran)
        self.assertEqual(self.counted("build-source"), 1)

    def test_what_is_left_for_replay_or_not_cached_is_said(self):
        ran = self.build("--summary", extra={"CKCACHE_CAPTURE": "deferred"})
        self.assertIn(" 1 misses (1 left to ckcache replay), ", self.summary(ran))
        self.assertNotIn("on misses", self.summary(ran))
        ran = self.build("--summary", extra={"CKCACHE_OBSERVE": "0"})
        self.assertIn(" 0 misses, 1 not cached, 0.00 ms of compilation on misses, ", self.summary(ran))

    def test_doctor_and_replay_are_no_users(self):
        self.build(extra={"CKCACHE_CAPTURE": "deferred"})
        self.tool("doctor")
        self.assertEqual(self.tool("replay").code, 0)
        self.tool("replay", "--stale")
        value = json.loads(self.tool("stats", "--json").out)
        self.assertEqual([value[name] for name in ("hits_memory", "hits_disk", "misses", "compiled_unattended")],
                         [0, 0, 1, 1])

    def test_for_scripts(self):
        self.build()
        ran = self.tool("run", "--json", "sh", "-c", 'echo heard; exec "$0" "$@"', machine.CKCACHE, *BUILD)
        value = json.loads(ran.out)
        self.assertEqual((value["hits_disk"], value["misses"], value["why_nothing"]), (1, 0, None))
        self.assertIn("heard\n", ran.err)
        value = json.loads(self.tool("run", "--json", "true", extra={"CKCACHE_DISABLE": "1"}).out)
        self.assertIn("CKCACHE_DISABLE", value["why_nothing"])

    def test_without_one_nothing_is_said(self):
        ran = self.build()
        self.assertEqual((ran.out, ran.err), ("", ""), ran)

    def test_why_there_is_nothing(self):
        for extra, text in (({}, "no kernels were requested\n"),
                            ({"CKCACHE_DISABLE": "1"}, "CKCACHE_DISABLE"),
                            ({"CKCACHE_PERSISTENT": "0"}, "CKCACHE_PERSISTENT"),
                            ({"CKCACHE_READ_ONLY": "1"}, "CKCACHE_READ_ONLY"),
                            ({"CKCACHE_DIR": None, "HOME": None}, "no cache directory")):
            ran = self.ends(0, "run", "--summary", "true", extra=extra)
            self.assertIn(text, ran.err)
            # Whether there were kernels is not known then.
            self.assertEqual("no kernels" in ran.err, not extra)

    def test_a_directory_of_no_use_is_named(self):
        os.mkdir(self.path("open"))
        os.chmod(self.path("open"), 0o777)
        for path, text in ((self.path("open"), "others may write to it"), (self.write("file"), "not a directory")):
            ran = self.build("--summary", extra={"CKCACHE_DIR": path})
            self.assertIn("nothing was counted: %s cannot be used: " % path, ran.err)
            self.assertIn(text, ran.err.splitlines()[-1])
            self.assertNotIn("no kernels", ran.err)

    def test_a_full_disk_is_named(self):
        self.need_mounts()
        path = self.path("full")
        os.mkdir(path)
        script = ("mount -t tmpfs -o size=100k,mode=0700 none '%s' && head -c 200k /dev/zero >'%s/filler' 2>/dev/null;"
                  'export CKCACHE_DIR=%s/c; "$0" run --summary "$@"; "$0" explain; "$0" explain --json >/dev/null' % (path, path, path))
        ran = self.tool("-m", "sh", "-c", script, machine.CKCACHE, machine.CKCACHE, *BUILD, executable="unshare")
        reason = "%s/c cannot be used: no space is left there" % path
        self.assertIn("nothing was counted: " + reason, ran.err)
        self.assertEqual(ran.out, "no compiles are known: %s\n" % reason)
        self.assertTrue(ran.err.endswith("ckcache: %s\n" % reason), ran)

    def test_a_reader_that_leaves_changes_no_code(self):
        writer = tool_case.closed_pipe()
        ran = self.start("run", "--summary", "sh", "-c", "exit 7", stderr=writer)
        os.close(writer)
        self.assertEqual(ran.wait(machine.PATIENCE), 7)


class Processes(Run):
    """With --summary; without it the command has the process."""

    def ready(self, *command, way=("--summary",), **options):
        """A command that says "ready" when it is."""
        process = self.begin("run", *way, "--", *command, **options)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def waiting(self, before="", **options):
        """One that prints each signal that it gets, and ends with 42 after SIGUSR1."""
        return self.ready(sys.executable, "-c", before + WAIT, **options)

    def test_nothing_is_between_without_it(self):
        process = self.ready("sh", "-c", "echo ready; echo $$", way=())
        self.assertEqual(int(process.stdout.read()), process.pid)
        self.assertEqual(process.wait(), 0)

    def test_signals_reach_it(self):
        process = self.waiting()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR2,
                       signal.SIGALRM, signal.SIGWINCH, signal.SIGPIPE, signal.SIGRTMIN + 1):
            process.send_signal(number)
            self.assertEqual(process.stdout.readline(), b"%d\n" % number)
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(process.wait(), 42)

    def test_it_ends_as_the_command_did(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGUSR1, signal.SIGABRT):
            process = self.ready("sh", "-c", "ulimit -c 0; echo ready; kill -%d $$" % number)
            self.assertEqual(process.wait(), -number)

    def test_as_a_containers_first_process_it_says_which_signal(self):
        """No signal ends that one."""
        self.need_mounts()
        ran = self.tool("-pf", machine.CKCACHE, "run", "--summary", "sh", "-c", "kill -TERM $$", executable="unshare")
        self.assertEqual(ran.code, 128 + signal.SIGTERM, ran)

    def test_killed_it_takes_the_command_along(self):
        process = self.waiting()
        process.kill()
        # Ends with the last who holds it, which the command does.
        self.assertEqual(process.stdout.read(), b"")
        self.assertEqual(process.wait(), -signal.SIGKILL)

    def state(self, pid):
        with open("/proc/%d/stat" % pid, encoding="utf-8") as stat:
            return stat.read().rpartition(") ")[2][0]

    def child(self, pid):
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="utf-8") as children:
            return int(children.read().split()[0])

    def stop_and_go_on(self, process, stop):
        child = self.child(process.pid)
        stop(child)
        # As a shell waits for it: it stops only after the command has.
        _, state = os.waitpid(process.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(state))
        self.assertEqual(self.state(child), "T")
        process.send_signal(signal.SIGCONT)
        _, state = os.waitpid(process.pid, os.WCONTINUED)
        self.assertTrue(os.WIFCONTINUED(state))

    def test_what_stops_the_command_stops_it(self):
        process = self.waiting()
        for _ in range(3):
            self.stop_and_go_on(process, lambda child: os.kill(child, signal.SIGSTOP))
            # It goes on when this process has: what is passed on comes behind that.
            process.send_signal(signal.SIGUSR2)
            self.assertEqual(process.stdout.readline(), b"%d\n" % signal.SIGUSR2)
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(process.wait(), 42)

    def test_a_stop_is_passed_on(self):
        reader, writer = os.pipe()
        process = self.begin("run", "--summary", "dd", "bs=1", stdin=reader, preexec_fn=os.setpgrp)
        os.close(reader)
        os.write(writer, b"x")
        self.assertEqual(process.stdout.read(1), b"x")
        self.stop_and_go_on(process, lambda child: process.send_signal(signal.SIGTSTP))
        os.write(writer, b"y")
        self.assertEqual(process.stdout.read(1), b"y")
        os.close(writer)
        self.assertEqual(process.wait(), 0)

    def test_an_ignored_child_signal(self):
        process = self.ready("sh", "-c", "echo ready; exit 6", preexec_fn=lambda: signal.signal(
            signal.SIGCHLD, signal.SIG_IGN))
        self.assertEqual(process.wait(), 6)

    def test_input_is_the_commands(self):
        for way in WAYS:
            ran = subprocess.run([machine.CKCACHE, "run", *way, "cat"], input=b"text",
                                 env=self.environment(), capture_output=True,
                                 timeout=machine.PATIENCE, check=True)
            self.assertEqual(ran.stdout, b"text")

    def test_what_the_command_closes_is_closed(self):
        reader, writer = os.pipe()
        self.waiting("import os; os.close(0)\n", stdin=reader)
        os.close(reader)
        with self.assertRaises(BrokenPipeError):
            os.write(writer, b"x")
        os.close(writer)

    def test_other_descriptors_too(self):
        reader, writer = os.pipe()
        self.waiting("import os; os.close(%d)\n" % writer, pass_fds=[writer])
        os.close(writer)
        self.assertEqual(os.read(reader, 1), b"")
        os.close(reader)

    def on_terminal(self, way, *command):
        """A process that leads a session on a terminal of its own, and the terminal's other end."""
        leader, follower = pty.openpty()
        self.addCleanup(os.close, leader)

        def lead():
            os.setsid()
            fcntl.ioctl(follower, termios.TIOCSCTTY, 0)

        process = self.ready(*command, way=way, stdin=follower, preexec_fn=lead)
        os.close(follower)
        return process, leader

    def test_the_terminal_is_the_commands(self):
        script = "echo ready; test -t 0 && read -r x && echo $x"
        for way in WAYS:
            process, leader = self.on_terminal(way, "sh", "-c", script)
            os.write(leader, b"typed\n")
            self.assertEqual(process.stdout.read(), b"typed\n")
            self.assertEqual(process.wait(), 0)

    def test_an_interrupt_of_the_terminal_comes_once(self):
        for way in WAYS:
            process, leader = self.on_terminal(way, sys.executable, "-c", WAIT)
            os.write(leader, b"\x03")
            self.assertEqual(process.stdout.readline(), b"%d\n" % signal.SIGINT)
            process.send_signal(signal.SIGUSR1)
            # What this process had passed on would be there before.
            self.assertEqual(process.stdout.readline(), b"%d\n" % signal.SIGUSR1)
            self.assertEqual(process.wait(), 42)


if __name__ == "__main__":
    machine.main()
