# SPDX-License-Identifier: MIT
"""Processes in namespaces of their own, and file systems to put a cache on.

A Place is a list of steps that a child takes before it runs a program. All
mounts are the test's own and vanish with it (private_mounts).
"""
import ctypes
import errno
import glob
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile

PATIENCE = 120
NEWNS, NEWUSER, NEWPID = 0x20000, 0x10000000, 0x20000000
RDONLY, REMOUNT, BIND, REC, PRIVATE = 1, 32, 4096, 16384, 1 << 18
DETACH = 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE = 1, 4

libc = ctypes.CDLL(None, use_errno=True)


class Unavailable(Exception):
    """This machine cannot do it; says why."""


def check(result, what):
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, "%s: %s" % (what, os.strerror(error)))


def unshare(flags):
    check(libc.unshare(flags), "unshare")


def mount(source, target, kind, flags, options=None):
    check(libc.mount(source and source.encode(), target.encode(), kind and kind.encode(),
                     ctypes.c_ulong(flags), options and options.encode()), "mount " + target)


def private_mounts():
    unshare(NEWNS)
    mount(None, "/", None, REC | PRIVATE)


# Steps.

def mounts():
    return private_mounts


def bind(source, target, read_only=False):
    def step():
        mount(source, target, None, BIND)
        if read_only:
            mount(None, target, None, BIND | REMOUNT | RDONLY)
    return step


def pids():
    """Numbers of its own from 1 on, and a /proc that shows them."""
    def step():
        unshare(NEWPID)
        inner = os.fork()
        if inner:
            os.close(0), os.close(1), os.close(2)
            _, status = os.waitpid(inner, 0)
            os._exit(os.waitstatus_to_exitcode(status) & 0xff)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        private_mounts()
        mount("proc", "/proc", "proc", 0)
    return step


def no_proc():
    return lambda: mount("none", "/proc", "tmpfs", 0)


def users(*ranges):
    """A user namespace: (inside, outside, count) of users and of groups; none: nobody is mapped."""
    def step():
        ready, ready_end = os.pipe()
        me = os.getpid()
        writer = os.fork()
        if writer == 0:
            os.read(ready, 1)
            for name in ("uid_map", "gid_map"):
                with open("/proc/%d/%s" % (me, name), "w", encoding="ascii") as file:
                    file.write("".join("%d %d %d\n" % one for one in ranges))
            os._exit(0)
        unshare(NEWUSER)
        os.write(ready_end, b"x")
        _, status = os.waitpid(writer, 0)
        os.close(ready), os.close(ready_end)
        if status:
            raise OSError(errno.EPERM, "the mapping could not be written")
    return step if ranges else lambda: unshare(NEWUSER)


def own_user(inside=0):
    """A user namespace as a user without privileges makes one: no other id is mapped."""
    def step():
        user, group = os.geteuid(), os.getegid()
        libc.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)		# or its files in /proc are root's
        unshare(NEWUSER)
        for name, text in (("setgroups", "deny"), ("uid_map", "%d %d 1" % (inside, user)),
                           ("gid_map", "%d %d 1" % (inside, group))):
            with open("/proc/self/" + name, "w", encoding="ascii") as file:
                file.write(text)
    return step


def become(user, group=None, groups=()):
    def step():
        os.setgroups(groups)
        os.setgid(user if group is None else group)
        os.setuid(user)
    return step


living = set()


def end_all():
    """What a test that failed has left."""
    for process in list(living):
        process.kill()
        process.end_anyhow()


class Process:
    """A program that was started in a place; ended, at the latest, by end_all()."""

    def __init__(self, steps, arguments, environment):
        self.said = b""
        out, out_end = os.pipe()
        in_end, self.stdin = os.pipe()
        # pylint: disable=consider-using-with
        self.errors = tempfile.TemporaryFile()
        # As a shell opens it: one that is open for reading too is no standard error stream.
        errors_end = os.open("/proc/self/fd/%d" % self.errors.fileno(), os.O_WRONLY | os.O_APPEND)
        self.pid = os.fork()
        if self.pid == 0:
            self.become_program(steps, arguments, environment, (in_end, out_end, errors_end))
        os.close(in_end), os.close(out_end), os.close(errors_end)
        self.stdout, self.code = out, None
        living.add(self)

    def become_program(self, steps, arguments, environment, streams):
        try:
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            for step in steps:
                step()
            os.chdir("/")
            os.closerange(3, 64)
            os.execve(arguments[0], arguments, environment)
        except BaseException as error:  # pylint: disable=broad-except
            os.write(2, ("not started: %s\n" % error).encode())
        os._exit(125)

    def read(self):
        """More of what it says; false: that was all."""
        ready, _, _ = select.select([self.stdout], [], [], PATIENCE)
        if not ready:
            raise TimeoutError("a process hangs; it said %r" % self.said)
        data = os.read(self.stdout, 4096)
        self.said += data
        return bool(data)

    def program(self):
        """The number of the program, seen from here."""
        number = self.pid
        for _ in range(2):
            try:
                with open("/proc/%d/task/%d/children" % (number, number), encoding="ascii") as file:
                    children = file.read().split()
            except OSError:
                break
            if not children:
                break
            number = int(children[0])
        return number

    def wait_for(self, text):
        while text.encode() not in self.said and self.read():
            pass
        return text.encode() in self.said

    def has_ended(self):
        return bool(select.select([self.stdout], [], [], 0.01)[0]) and not self.read()

    def has_opened(self, name):
        """Whether one of its threads has a file or directory of that name open, for more than to look at it."""
        for folder in glob.glob("/proc/%d/task/*/" % self.program()):
            try:
                for number in os.listdir(folder + "fd"):
                    with open(folder + "fdinfo/" + number, encoding="ascii") as file:
                        flags = int(re.search(r"^flags:\s+([0-7]+)", file.read(), re.M)[1], 8)
                    if name in os.readlink(folder + "fd/" + number) and not flags & os.O_PATH:
                        return True
            except OSError:
                pass
        return False

    def tell(self):
        try:
            os.write(self.stdin, b"\n")
        except BrokenPipeError:
            pass

    def kill(self, number=signal.SIGKILL):
        try:
            os.kill(self.program(), number)
        except ProcessLookupError:
            pass

    def end_anyhow(self):
        _, status = os.waitpid(self.pid, 0)
        self.code = os.waitstatus_to_exitcode(status)
        os.close(self.stdout), os.close(self.stdin)
        living.discard(self)

    def end(self):
        """(exit code, stdout, stderr)"""
        if self.code is None:
            while self.read():
                pass
            self.end_anyhow()
            self.errors.seek(0)
            self.said_wrong = self.errors.read().decode()
            self.errors.close()
        if self.code == 125 and self.said_wrong.startswith("not started"):
            raise Unavailable(self.said_wrong.strip())
        return self.code, self.said.decode(), self.said_wrong


# File systems.

def command(*words):
    ran = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         timeout=PATIENCE, check=False)
    if ran.returncode:
        said = (ran.stderr or ran.stdout).strip()
        raise Unavailable("%s: %s" % (" ".join(words[:3]), said.partition("\n")[0]))


def tool(name):
    path = shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin")
    if not path:
        raise Unavailable("there is no " + name)
    return path


def image(work, kind, megabytes, *options, mount_options=""):
    """A file system of that kind in a file of that size; where it is mounted."""
    file = tempfile.mktemp(prefix=kind + "-", suffix=".img", dir=work)
    target = tempfile.mkdtemp(prefix=kind + "-", dir=work)
    maker = tool("mkfs." + kind)
    with open(file, "wb") as empty:
        empty.truncate(megabytes << 20)
    command(maker, "-q", *options, file)
    command(tool("mount"), "-o", "loop" + mount_options, file, target)
    return target


def tmpfs(work, options="mode=0755"):
    target = tempfile.mkdtemp(prefix="tmpfs-", dir=work)
    command(tool("mount"), "-t", "tmpfs", "-o", options, "tmpfs", target)
    return target


def overlay(work, lower, upper_on, read_only=False):
    """Of that lower layer, with the upper one on a file system that is writable."""
    target = tempfile.mkdtemp(prefix="overlay-", dir=work)
    options = "lowerdir=" + lower
    if read_only:
        options += ":" + tempfile.mkdtemp(prefix="bottom-", dir=upper_on)
    else:
        upper = tempfile.mkdtemp(prefix="upper-", dir=upper_on)
        options += ",upperdir=" + upper
        options += ",workdir=" + tempfile.mkdtemp(prefix="work-", dir=upper_on)
        os.chmod(upper, 0o755)
    command(tool("mount"), "-t", "overlay", "-o", options, "overlay", target)
    return target
