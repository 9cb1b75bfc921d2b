# SPDX-License-Identifier: MIT
"""An application does not notice the remote tier: no child, signal, thread or descriptor,
whatever it does meanwhile; and the programs that are started have nothing of it.

    unnoticed.py BUILD-DIRECTORY [TEST...]
"""
import contextlib
import ctypes
import os
import re
import resource
import shutil
import signal
import stat
import subprocess
import unittest

import hosts
import tiers

CLIENT = ("bin", "kernels_client")
COUNT = 20


class Unnoticed(tiers.RedisCase):
    def run_client(self, host, first, count, how, prefix=(), code=0, **extra):
        done = subprocess.run([*prefix, hosts.built(*CLIENT), str(first), str(count), how],
                              env=host.environment(extra), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=hosts.PATIENCE, check=False,
                              cwd=os.path.join(host.home, "cwd"))
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout

    def state(self, host, first, count, **extra):
        """What a process has at its end: {kind: [values]}; of libraries each once."""
        made = {}
        for line in self.run_client(host, first, count, "report", **hosts.patience(), **extra).splitlines():
            kind, _, value = line.partition(" ")
            made.setdefault(kind, []).append(value.replace(host.home, "HOME"))
        made["library"] = sorted(set(made["library"]))
        made["descriptor"].sort()
        return made

    def test_a_process_has_nothing_more(self):
        without = self.state(self.host("without", None), 0, COUNT)
        self.assertEqual(without["children"], ["none"])
        self.assertFalse([name for name in without["library"] if "sodium" in name])
        one, two = self.writer("one"), self.reader("two")
        uploads = self.state(one, 0, COUNT)
        one.uploaded()
        hits = self.state(two, 0, COUNT)
        self.assertEqual((one.builds(), two.builds()), (COUNT, 0))
        for state in (uploads, hits):
            self.assertEqual((state["children"], state["signals"]), (["none"], ["0"]))
            self.assertEqual(len(state["thread"]), len(without["thread"]))
            self.assertEqual([name.partition(":")[0] for name in state["descriptor"]],
                             [name.partition(":")[0] for name in without["descriptor"]])
            more = set(state["library"]) - set(without["library"])
            self.assertEqual([name for name in more if "sodium" not in name], [])
        # A helper that is killed leaves nothing, and no zombie, to the application.
        for pid in self.processes("ckcache-"):
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(self.state(two, 100, 3)["children"], ["none"])

    @unittest.skipUnless(shutil.which("strace"), "needs strace")
    def test_no_call_more_without_a_tier(self):
        host = self.host("without", None)
        trace = self.path("trace")
        names = "trace=%network,clone,clone3,fork,vfork,execve,kill"
        try:
            self.run_client(host, 0, 3, "", ["strace", "-f", "-e", names, "-o", trace])
        except AssertionError:
            self.skipTest("strace does not work here")
        with open(trace, encoding="utf-8", errors="replace") as file:
            lines = [line.partition(" ")[2].strip() for line in file]
        calls = [line for line in lines if not line.startswith(("+++", "---", "<..."))]
        self.assertEqual(len([line for line in calls if line.startswith("execve")]), 1, calls)
        started = [line for line in calls if not line.startswith("execve")]
        # The cache's and the loader's threads.
        self.assertEqual([line for line in started if "CLONE_THREAD" not in line], [])
        self.run_client(host, 10, 3, "", ["strace", "-f", "-e", "trace=%file", "-o", trace])
        with open(trace, encoding="utf-8", errors="replace") as file:
            text = file.read()
        for name in ("sodium", "trusted_keys", "remote-", "uploads", ".sock", "ckcache-remote"):
            self.assertNotIn(name, text.replace(self.work, ""))

    def test_what_is_started_has_nothing_of_the_application(self):
        preloaded = hosts.built("lib", "libwrong_clock.so")
        secret = "of-the-application-alone"
        one = self.writer("one", LD_PRELOAD=preloaded, APPLICATION_TOKEN=secret,
                          AWS_SECRET_ACCESS_KEY=secret, OCL_ICD_FILENAMES="x")
        one.use(0, 3)
        found = self.processes("ckcache-")
        self.assertTrue([line for line in found.values() if "ckcache-storage-redis" in line])
        for pid, command in found.items():
            with open("/proc/%d/environ" % pid, "rb") as file:
                names = [word.partition("=")[0] for word in
                         file.read().decode(errors="replace").split("\0")]
            for name in ("LD_PRELOAD", "APPLICATION_TOKEN", "AWS_SECRET_ACCESS_KEY",
                         "OPENCL_LAYERS", "OCL_ICD_VENDORS", "STUB_COUNTS", "OCL_ICD_FILENAMES"):
                self.assertNotIn(name, names, command)
            self.assertEqual(os.readlink("/proc/%d/cwd" % pid), "/")
            opened = {}
            for number in os.listdir("/proc/%d/fd" % pid):
                with contextlib.suppress(FileNotFoundError):	# it works meanwhile
                    opened[number] = os.readlink("/proc/%d/fd/%s" % (pid, number))
            self.assertEqual([opened[number] for number in "01"], ["/dev/null"] * 2)
            with open("/proc/%d/stat" % pid, encoding="utf-8") as file:
                fields = file.read().rpartition(")")[2].split()
            self.assertNotEqual(int(fields[1]), os.getpid())  # its parent
            self.assertNotEqual(os.getsid(pid), os.getsid(0))
            with open("/proc/%d/status" % pid, encoding="utf-8") as file:
                status = dict(line.split(":\t") for line in file.read().splitlines()
                              if ":\t" in line)
            # A helper waits for some signals; nothing is ignored that this process ignores.
            if "ckcache-remote" in command:
                self.assertEqual((int(status["SigBlk"], 16), int(status["SigIgn"], 16)), (0, 0))
            with open("/proc/%d/maps" % pid, encoding="utf-8") as file:
                self.assertNotIn("wrong_clock", file.read())

    def limits(self, pid):
        """{name: [soft, hard]}"""
        with open("/proc/%d/limits" % pid, encoding="ascii") as file:
            return {line[:26].strip(): line[26:].split()[:2] for line in file}

    def run_under(self, host, limits):
        """Limits of its own: {name: (soft, hard)}; None: as it is."""
        def limit():
            for name, own in limits.items():
                number = getattr(resource, "RLIMIT_" + name)
                now = resource.getrlimit(number)[1]
                resource.setrlimit(number, [now if value is None else value for value in own])

        done = subprocess.run([hosts.built(*CLIENT), "0", "3"], env=host.environment(),
                              preexec_fn=limit, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=hosts.PATIENCE, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_limits_are_the_applications_alone(self):
        """And a core file would have secrets."""
        one = self.writer("one")
        self.run_under(one, {"FSIZE": (1000000, None), "CPU": (1000, None), "CORE": (None, None)})
        one.uploaded()
        found = self.processes("ckcache-")
        self.assertGreaterEqual(len(found), 2)  # the helper, and who uploads
        for pid in found:
            limits = self.limits(pid)
            for name in ("Max file size", "Max cpu time"):
                self.assertEqual(*limits[name], name)
            self.assertEqual(limits["Max core file size"], ["0", "0"])

    def test_a_small_limit_of_files(self):
        """What starts a helper does not end by it."""
        self.run_under(self.reader("two"), {"FSIZE": (60000, 60000)})
        self.assertTrue(self.processes("ckcache-storage-redis"))

    def test_the_helper_is_no_nicer_than_the_application(self):
        """Also where who uploads, and steps back, starts it."""
        one = self.writer("one", self.remote + " write-only=true")
        one.use(0, 3)
        one.uploaded()
        # One uploader may follow another, and steps back only when it has begun.
        self.wait_until("who uploads steps back", lambda: self.nice() == {
            ("ckcache-storage-redis", os.nice(0)), ("ckcache-remote", max(os.nice(0), 10))})

    def nice(self):
        """{(program, its nice value)} of what was started."""
        found = set()
        for pid, command in self.processes("ckcache-").items():
            with contextlib.suppress(OSError):	# it has ended
                found.add((os.path.basename(command.split()[0]), os.getpriority(os.PRIO_PROCESS, pid)))
        return found

    def sleeps(self):
        """{process: how often it has slept}: who uploads, and is told of more."""
        slept = {}
        for pid in self.processes("ckcache-remote upload"):
            with contextlib.suppress(OSError):	# it has ended
                if any("inotify wd:" in self.shown("/proc/%d/fdinfo/%s" % (pid, name))
                       for name in os.listdir("/proc/%d/fdinfo" % pid)):
                    slept[pid] = int(re.search(r"\nvoluntary_ctxt_switches:\s*(\d+)",
                                               self.shown("/proc/%d/status" % pid))[1])
        return slept

    def shown(self, path):
        with open(path, encoding="utf-8") as file:
            return file.read()

    def test_who_uploads_sleeps_until_there_is_more(self):
        one = self.writer("one")
        one.use(0, 3)
        one.uploaded()
        self.wait_until("a watch", self.sleeps)
        before = self.sleeps()
        for number in range(3):
            one.note("nothing%d" % number)
            self.wait_until("a sleep", lambda: any(
                count > before.setdefault(pid, count) + number for pid, count in self.sleeps().items()))
            os.unlink(os.path.join(one.root, "uploads", "nothing%d" % number))

    def test_disks_and_memory_are_not_the_applications(self):
        """Idle input and output, and memory of one node alone."""
        ioprio_get, ioprio_set, set_mempolicy = {
            "x86_64": (252, 251, 238), "aarch64": (31, 30, 237)}.get(os.uname().machine, [None] * 3)
        if not ioprio_get:
            self.skipTest("system calls have other numbers here")
        libc = ctypes.CDLL(None, use_errno=True)

        def restrict():
            libc.syscall(ioprio_set, 1, 0, 3 << 13)
            libc.syscall(set_mempolicy, 2, ctypes.byref(ctypes.c_ulong(1)), 64)

        one = self.writer("one")
        done = subprocess.run([hosts.built(*CLIENT), "0", "3"], env=one.environment(),
                              preexec_fn=restrict, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        found = self.processes("ckcache-storage")
        self.assertTrue(found)
        for pid in found:
            self.assertNotEqual(libc.syscall(ioprio_get, 1, pid) >> 13, 3)
            if os.path.exists("/proc/%d/numa_maps" % pid):
                with open("/proc/%d/numa_maps" % pid, encoding="ascii") as file:
                    self.assertNotIn("bind", file.read())

    def test_forks(self):
        """Parent and child use the tier at the same time."""
        one, two = self.writer("one"), self.reader("two")
        self.assertEqual(self.run_client(one, 0, COUNT, "fork"), "")
        self.assertGreaterEqual(one.builds(), COUNT)
        one.use(0, COUNT)  # what the child had not stored at its end
        one.uploaded()
        self.assertEqual(self.run_client(two, 0, COUNT, "fork", **hosts.patience()), "")
        self.assertEqual(two.builds(), 0)

    def test_descriptors_that_are_closed(self):
        """Look-ups may fail. Nothing is wrong, and nothing hangs."""
        one, two = self.writer("one"), self.reader("two")
        for host in (one, two):
            for turn in range(3):
                self.assertEqual(self.run_client(host, turn * COUNT, COUNT, "close"), "")
        self.assertEqual(one.use(0, 3 * COUNT), "")

    def test_an_end_right_after_a_store(self):
        """It waits for no upload, not even where the server does not answer."""
        self.server.process.send_signal(signal.SIGSTOP)
        self.addCleanup(self.server.process.send_signal, signal.SIGCONT)
        write_only = self.remote + " write-only=true"
        # A busy machine may stop one for seconds, but not each time.
        for attempt in "abcde":
            took = {}
            for name, host, how in (("without", self.host(attempt + "1", None), ""),
                                    ("exit", self.writer(attempt + "2", write_only), ""),
                                    ("_exit", self.writer(attempt + "3", write_only), "leave")):
                with tiers.Stopwatch() as watch:
                    self.run_client(host, 0, 5, how)
                took[name] = watch.took
            print("an end right after a store:", ", ".join("%s %.3f s" % item for item in took.items()), flush=True)
            if max(took.values()) - took["without"] < 3:
                return
        self.fail(took)

    def test_signals_do_not_reach_what_is_started(self):
        """Of the terminal: it has a session of its own. What the application ignores, it does not."""
        one = self.writer("one")
        process = subprocess.Popen([hosts.built(*CLIENT), "0", "5"], env=one.environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=lambda: signal.signal(signal.SIGTERM,
                                                                    signal.SIG_IGN),
                                   start_new_session=True)
        process.communicate()
        self.assertEqual(process.returncode, 0)
        found = self.processes("ckcache-storage")
        self.assertTrue(found)
        for pid in found:
            self.assertNotEqual(os.getsid(pid), process.pid)
            os.kill(pid, signal.SIGTERM)
        # Who still uploads starts another one.
        self.wait_until("their end", lambda: not found.keys() & self.processes("ckcache-storage").keys())

    @unittest.skipIf(os.geteuid(), "needs root")
    def test_programs_with_more_rights(self):
        """They start nothing: settings are their user's, not theirs. Where the loader takes no
        layer from such a program's environment, this shows that alone."""
        one = self.writer("one")
        client = self.path("client")
        shutil.copy(hosts.built(*CLIENT), client)
        os.chmod(client, 0o4755)
        os.chmod(self.work, 0o711)
        if not os.stat(client).st_mode & stat.S_ISUID or \
                os.statvfs(self.work).f_flag & os.ST_NOSUID:
            self.skipTest("no set-user-ID programs here")
        done = subprocess.run([client, "0", "3"], env=one.environment(), user=12345, group=12345,
                              extra_groups=[], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False, cwd="/")
        if done.returncode and "clGetPlatformIDs" in done.stderr:
            self.skipTest("the loader takes no driver from the environment here")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertEqual(one.builds(), 3)
        self.assertEqual(self.processes("ckcache-"), {})
        self.assertEqual(self.server.values(), {})
        self.assertLessEqual(done.stderr.count("\n"), 1)


if __name__ == "__main__":
    tiers.need_redis()
    hosts.main()
