# SPDX-License-Identifier: MIT
"""Two machines that share a remote tier: what separates them, and what does not.

  python3 tests/opencl/two_roots.py BUILD DRIVER [--each] [--library FILE] [NAME...]
  python3 tests/opencl/two_roots.py --table

Machine A builds some programs and uploads them. Machine B differs from it in everything that may differ, has an
empty cache and the same tier: there every build must be a hit in the tier, and error, log, options as told, names,
arguments, binary or values those of B's driver without the layer. Then B differs in one thing that has to separate
them, while it may read even A's cache on disk: there every build must be a miss. --each: B differs in one thing at a
time, for each thing (NAME: for these). --table: the rows that docs/FLEET.md has to have.

A machine is a process with its own directories, and, for root, with namespaces, mounts and another user. What the
system does not allow is left out, in a line that begins with SKIPPED. Exit code: 0: as expected; 77: no such driver.
"""
import argparse
import ctypes
import functools
import glob
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from environment import DRIVERS, driver_file, made, stub_driver  # noqa: E402
from fuzz_pairs import answers  # noqa: E402

NOBODY = 54321
TRIES = 4		# a busy machine's helper may start too late for the first one
PATIENCE = 120
NEWNS, NEWUTS = 0x20000, 0x4000000
UNAME26, NO_RANDOM_ADDRESSES = 0x0020000, 0x0040000
BIND, PRIVATE_TREE = 0x1000, 0x44000
LIBC = ctypes.CDLL(None, use_errno=True)
ROOT = os.geteuid() == 0
KERNEL = "kernel void value(global int *out) { out[0] = %s; }\n"
# What each driver's row has of files, and compilers that are files of their own.
FILES = {"pocl": ["/usr/share/pocl"], "rusticl": ["/usr/lib/clc", "/usr/share/clc"], "neo": [], "stub": []}
COMPILERS = {"neo": ["/usr/lib/*/libigc.so.?", "/usr/lib/*/libigdfcl.so.?", "/usr/lib/*/libopencl-clang.so.??"],
             "pocl": ["/usr/lib/*/pocl/libpocl-devices-*.so"]}
# Drivers that put the application's own headers below a directory that a variable names.
KEEPS_HEADERS = {"rusticl": "TMPDIR", "pocl": "HOME"}
VARIABLE = {"neo": ("IGC_ForceOCLSIMDWidth", "8"), "rusticl": ("LP_NATIVE_VECTOR_WIDTH", "128"),
            "pocl": ("POCL_WORK_GROUP_METHOD", "loops"), "stub": ("POCL_WORK_GROUP_METHOD", "loops")}
DEVICE = {"neo": {"ProductFamilyOverride": "skl", "HardwareInfoOverride": "1x3x8"}, "pocl": {"POCL_DEVICES": "basic"}}


class Skipped(Exception):
    """The system, or the driver, does not have it."""


class NoDevice(Exception):
    """The driver gives none here."""


def check(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), what)


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb" if isinstance(text, bytes) else "w", **({} if isinstance(text, bytes) else {"encoding": "utf-8"})) as file:
        file.write(text)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def headers(folder):
    """What programs include."""
    write(folder + "/include/value.h", '#include "part/deep.h"\n#define VALUE (DEEP + 1)\n')
    write(folder + "/include/part/deep.h", "#define DEEP 41\n")
    write(folder + "/more/more.h", "#define MORE 7\n")


# name: source, options, how. @: where the machine has its headers.
PROGRAMS = {
    "plain": (KERNEL % "1", "", "build"),
    "options": (KERNEL % "M", "-DM=3 -cl-std=CL1.2 -cl-mad-enable", "build"),
    "header": ("#include <value.h>\n" + KERNEL % "VALUE", "-I@/include", "build"),
    "two headers": ("#include <value.h>\n#include <more.h>\n" + KERNEL % "VALUE + MORE + M",
                    "-DM=2 -I @/more -I @/include", "build"),
    "link": ("#include <value.h>\n" + KERNEL % "VALUE + 2", "-I include", "link"),
    "relative": ("#include <value.h>\n" + KERNEL % "VALUE + 3", "-I include", "build"),
    "SPIR-V": ("", "", "il"),
    # These are of one place on some drivers, or on all.
    "object": ("#include <value.h>\n" + KERNEL % "VALUE + 6", "-I@/include", "compile"),
    "linked object": ("#include <value.h>\n" + KERNEL % "VALUE + 7", "-I@/include", "link"),
    "name": ("#include <value.h>\n" + KERNEL % "VALUE + sizeof(NAME)", "-I@/include -DNAME=__FILE__", "build"),
    "debugging": ("#include <value.h>\n" + KERNEL % "VALUE + 5", "-g -I@/include", "build"),
    # Where a driver puts such a header counts for all later builds of the process.
    "embedded header": ('#include "embedded.h"\n' + KERNEL % "EMBEDDED", "", "embed"),
}
OF_ONE_PLACE = ("object", "linked object", "name", "debugging")
WITH_HEADERS = ("header", "two headers")


class Machine:
    """What a process of it sees. Changes are made to it before it runs."""

    def __init__(self, test, name):
        self.test, self.name = test, name
        self.root = os.path.join(test.work, name)
        # Of one name on each machine, unless that changes.
        self.common = os.path.join(test.work, "common")
        shutil.rmtree(self.common, ignore_errors=True)
        self.env = dict(test.driver_variables)
        self.options = {name: options for name, (_, options, _) in PROGRAMS.items()}
        self.temporary, self.home = self.common + "/tmp", self.common + "/home/user"
        # Helpers stay there.
        self.runtime, self.directory = "%s/run-%s" % (test.work, name[0]), self.common + "/cwd"
        self.place = self.common + "/place"
        self.client, self.argv0 = test.client, "fuzz_client"
        self.layer, self.library = test.layer, test.library
        self.user = self.hostname = self.personality = None
        self.pids = False
        # (what, where); functions called in the process; those called in the end.
        self.mounts, self.setup, self.cleanup = [], [], []
        self.read_only = ""
        headers(self.place)
        headers(self.directory)

    def make(self):
        """The directories as they are when it starts."""
        for folder in (self.root, self.common, self.temporary, self.home, self.runtime, self.directory):
            os.makedirs(folder, mode=0o700, exist_ok=True)
            os.chmod(folder, 0o700)
        if not os.path.exists(self.directory + "/include"):
            headers(self.directory)
        write(self.root + "/vendors/0.icd", self.library + "\n")
        for name, (source, _, _) in PROGRAMS.items():
            write("%s/sources/%s.cl" % (self.root, name), source)
        write(self.root + "/sources/embedded.h", "#define EMBEDDED 9\n")
        if self.user:
            for top in (self.root, self.common, self.runtime):
                for folder, _, names in os.walk(top):
                    for path in [folder] + [folder + "/" + name for name in names]:
                        os.chown(path, self.user, self.user, follow_symlinks=False)

    def environment(self, layered):
        env = made(self.home, self.root + "/cache", CKCACHE_READ_ONLY_DIRS=self.read_only, TMPDIR=self.temporary,
                   XDG_RUNTIME_DIR=self.runtime, POCL_KERNEL_CACHE="0",
                   MESA_SHADER_CACHE_DISABLE="1", MESA_GLSL_CACHE_DISABLE="1", CKCACHE_CAPTURE="eager",
                   CKCACHE_REMOTE="file:%s %s" % (self.test.shared, "@umask=022" if self.name == "A" else "read-only=true"),
                   CKCACHE_REMOTE_HELPERS=self.test.helpers, CKCACHE_TRACE=self.root + "/trace",
                   OCL_ICD_VENDORS=self.root + "/vendors", LD_LIBRARY_PATH=os.environ.get("LD_LIBRARY_PATH"))
        return {**env, **({"OPENCL_LAYERS": self.layer} if layered else {}), **self.env}

    def begin(self):
        """In the process that becomes the machine's."""
        namespaces = (NEWNS if self.mounts or self.pids else 0) | (NEWUTS if self.hostname else 0)
        if namespaces:
            check(LIBC.unshare(namespaces), "unshare")
        if namespaces & NEWNS:
            check(LIBC.mount(b"none", b"/", None, PRIVATE_TREE, None), "mount")
        for what, where in self.mounts:
            check(LIBC.mount(what.encode(), where.encode(), None, BIND, None), where)
        if self.hostname:
            check(LIBC.sethostname(self.hostname.encode(), len(self.hostname)), "sethostname")
        if self.personality:
            if LIBC.personality(self.personality) == -1:
                raise OSError(ctypes.get_errno(), "personality")
        for step in self.setup:
            step()

    def command(self):
        command = ["bash", "-c", 'exec -a "$0" "$@"', self.argv0, self.client]
        if self.user:
            command = ["setpriv", "--reuid=%d" % self.user, "--regid=%d" % self.user, "--clear-groups"] + command
        if self.pids:	# process 1 starts no helpers
            shown = ["mount --bind '%s' %s" % pair for pair in self.mounts if pair[1].startswith("/proc/")]
            script = " && ".join(["mount -t proc proc /proc"] + shown) + ' && "$@"; exit $?'
            command = ["unshare", "--pid", "--fork", "sh", "-c", script, "sh"] + command
        return command

    def run(self, programs, layered):
        """{program: (what the client told, what the cache did)}"""
        env, told, at = self.environment(layered), {}, 0
        with subprocess.Popen(self.command(), env=env, cwd=self.directory, preexec_fn=self.begin, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            for name in programs:
                how = PROGRAMS[name][2]
                path = self.root + "/told"
                if os.path.exists(path):
                    os.unlink(path)
                if how == "embed":
                    how += ":%s/sources/embedded.h" % self.root
                what = "nothing" if self.test.binaries else "run"
                line = "\t".join([self.directory, "%s/sources/%s.cl" % (self.root, name),
                                  self.options[name].replace("@", self.place), how, what, path])
                try:
                    process.stdin.write(line.encode() + b"\n")
                    process.stdin.flush()
                except BrokenPipeError:
                    pass
                answer = process.stdout.readline().decode().strip()
                if not answer:
                    process.stdin.close()
                    code = process.wait(PATIENCE)
                    if code == 77:
                        raise NoDevice
                    raise RuntimeError("%s: the client ended with %d: %s" % (self.name, code, process.stderr.read().decode()[-500:]))
                # The log itself is compared, so its hash is left out.
                words = answer.split(" ")
                answer = " ".join(words[:1] + words[2:]) if what == "run" else answer
                events = []
                if layered and os.path.exists(self.root + "/trace"):
                    with open(self.root + "/trace", encoding="utf-8", errors="replace") as file:
                        file.seek(at)
                        events = [json.loads(event) for event in file]
                        at = file.tell()
                told[name] = (self.test.comparable(answers(path, answer, self.common), PROGRAMS[name][2]), events)
            process.stdin.close()
            if process.wait(PATIENCE) != 0:
                raise RuntimeError("%s: exit code %d: %s" % (self.name, process.returncode, process.stderr.read().decode()[-500:]))
        return told

    def warm(self):
        """Its helper runs."""
        pids, mounts, setup = self.pids, self.mounts, self.setup
        self.pids, self.mounts, self.setup = False, [], []
        self.cold(["plain"])
        self.pids, self.mounts, self.setup = pids, mounts, setup

    def cold(self, programs):
        """As a new machine."""
        self.make()
        for path in (self.root + "/cache", self.root + "/trace"):
            if os.path.isdir(path):
                shutil.rmtree(path)
            elif os.path.exists(path):
                os.unlink(path)
        for path in glob.glob(self.runtime + "/ckcache/*.down"):
            os.unlink(path)
        return self.run(programs, True)

    def uploaded(self):
        end = time.monotonic() + PATIENCE
        while os.listdir(self.root + "/cache/uploads"):
            if time.monotonic() > end:
                raise RuntimeError("A's uploads do not end")
            time.sleep(0.02)


@functools.cache
def has_namespaces():
    return subprocess.run(["unshare", "--mount", "--uts", "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


def need_root(namespaces=True):
    if not ROOT:
        raise Skipped("only root can do that here")
    if namespaces and not has_namespaces():
        raise Skipped("no namespaces")


def copied(source, to, days=400):
    """A copy with other times, of a file or a tree."""
    os.makedirs(os.path.dirname(to), exist_ok=True)
    if os.path.isdir(source):
        shutil.copytree(source, to)
    else:
        shutil.copyfile(source, to)
        os.chmod(to, 0o755)
    for folder, _, names in os.walk(to) if os.path.isdir(to) else [(os.path.dirname(to), [], [os.path.basename(to)])]:
        for name in names:
            os.utime(folder + "/" + name, (time.time() - days * 86400,) * 2)
    return to


def another_build(path, to):
    """A copy of a library with another build-id."""
    data, note = bytearray(read(path)), b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0"
    at = data.find(note)
    if at < 0:
        raise Skipped("the driver's library has no build-id")
    data[at + len(note)] ^= 0xff
    write(to, bytes(data))
    os.chmod(to, 0o755)
    return to


def place(prefix):
    def change(machine):
        machine.place = machine.root + prefix
        headers(machine.place)
    return change


def variables(**values):
    return lambda machine: machine.env.update(values)


def user(machine):
    need_root(namespaces=False)
    if not shutil.which("setpriv"):
        raise Skipped("no setpriv")
    machine.user = NOBODY
    machine.runtime = machine.root + "/run-nobody"


def home(machine):
    machine.home = machine.root + "/home/another.person"
    machine.env.update(USER="another", LOGNAME="another", SHELL="/bin/zsh", MAIL="/var/mail/another")


def hostname(machine):
    need_root()
    machine.hostname = "node-0815.cluster.example"
    machine.env.update(HOSTNAME=machine.hostname)


def need_personality(option):
    if subprocess.run(["setarch", option, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skipped("no personalities")


def release(machine):
    need_personality("--uname-2.6")
    machine.personality = (machine.personality or 0) | UNAME26


def addresses(machine):
    need_personality("--addr-no-randomize")
    machine.personality = (machine.personality or 0) | NO_RANDOM_ADDRESSES


def shown_by_kernel(files):
    """Texts that the kernel or a distribution shows, each changed by a function."""
    def change(machine):
        need_root()
        for path, changed in files:
            if not os.path.exists(path):
                continue
            copy = "%s/shown/%d" % (machine.root, len(machine.mounts))
            write(copy, changed(read(path)))
            machine.mounts.append((copy, os.path.realpath(path)))
    return change


def temporary(machine):
    machine.temporary = machine.root + "/var/another temporary place"
    machine.env.update(TMP=machine.temporary, TEMP=machine.temporary)


def directory(machine):
    machine.directory = machine.root + "/somewhere/else entirely"
    machine.env.update(PWD=machine.directory, OLDPWD="/")


def search_path(machine):
    machine.env.update(PATH="%s/bin:/nowhere/bin:/bin:/usr/games:/usr/bin:/usr/local/bin:/sbin" % machine.home)


def linker(machine):
    """Found elsewhere, but the same."""
    found = shutil.which("ld")
    if not found:
        raise Skipped("no ld")
    copied(os.path.realpath(found), machine.root + "/bin/ld")
    machine.env.update(PATH="%s/bin:%s" % (machine.root, machine.env.get("PATH", "/usr/bin:/bin")))


def pids(machine):
    need_root()
    if subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skipped("no PID namespaces")
    machine.pids = True


def header_times(machine):
    for folder, _, names in os.walk(machine.place):
        for name in names:
            os.utime(folder + "/" + name, (10 ** 9, 10 ** 9))
            os.chmod(folder + "/" + name, 0o444)


def header_links(machine):
    """A store's: what the options name is a link to it."""
    real = machine.root + "/gnu/store/0123456789abcdfghijklmnpqrsvwxyz-headers-1.2"
    headers(real)
    machine.place = machine.root + "/profile"
    if not os.path.lexists(machine.place):
        os.symlink(real, machine.place)


def own_path(machine):
    machine.client = copied(machine.test.client, machine.root + "/opt/a program/bin/another-name")
    machine.argv0 = "-interpreter of something"


def own_layer(machine):
    machine.layer = copied(machine.test.layer, machine.root + "/opt/lib64/libckcache_opencl.so")
    machine.env.update(CKCACHE_MAX_SIZE="100M", CKCACHE_COMPRESSION="none")


def limits(machine):
    def limit():
        for what, value in ((resource.RLIMIT_NOFILE, 512), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_STACK, 16 << 20),
                            (resource.RLIMIT_MEMLOCK, 65536), (resource.RLIMIT_SIGPENDING, 100)):
            hard = resource.getrlimit(what)[1]
            resource.setrlimit(what, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))
        os.umask(0o077)
        os.nice(1)
    machine.setup.append(limit)


def processors(machine):
    own = sorted(os.sched_getaffinity(0))
    if len(own) < 2:
        raise Skipped("this machine has one processor")
    machine.setup.append(lambda: os.sched_setaffinity(0, own[-1:]))


def mounted(machine):
    """Headers on a file system of their own, and the place is a mount."""
    need_root()
    headers(machine.root + "/squash")
    machine.place = machine.root + "/tmp-mounts/.mount_appAbCdEf"
    os.makedirs(machine.place, exist_ok=True)
    machine.mounts.append((machine.root + "/squash", machine.place))


def without(*paths):
    """Somebody has not installed that."""
    def change(machine):
        need_root()
        empty = machine.root + "/empty"
        os.makedirs(empty, exist_ok=True)
        found = [path for path in paths if os.path.isdir(path) and not os.path.islink(path)]
        if not found:
            raise Skipped("nothing is there on this machine")
        machine.mounts.extend((empty, path) for path in found)
    return change


def another_gcc(machine):
    """Its directory has another version's name, and what pocl's linker wants."""
    need_root()
    for path in glob.glob("/usr/lib/gcc/*/*/libgcc.a"):
        for file in glob.glob(os.path.dirname(path) + "/libgcc*") + glob.glob(os.path.dirname(path) + "/crt*.o"):
            copied(file, "%s/gcc/%s/99/%s" % (machine.root, path.split("/")[4], os.path.basename(file)))
    if not os.path.isdir(machine.root + "/gcc"):
        raise Skipped("no gcc here")
    machine.mounts.append((machine.root + "/gcc", "/usr/lib/gcc"))


def driver_files(machine):
    need_root()
    found = [machine.library] + FILES[machine.test.driver]
    for pattern in COMPILERS.get(machine.test.driver, []):
        found += glob.glob(pattern)
    for path in filter(os.path.exists, found):
        real = os.path.realpath(path)
        machine.mounts.append((copied(real, "%s/driver files/%s" % (machine.root, os.path.basename(real))), real))


def driver_elsewhere(machine):
    real = os.path.realpath(machine.library)
    place = machine.root + "/nix/store/0c-driver/lib/x86_64-linux-gnu/"
    machine.library = copied(real, place + os.path.basename(machine.library))
    # pocl has these beside itself, and looks for what it compiles in from where it lies.
    for path in (os.path.dirname(real) + "/pocl", "/usr/share/pocl") if machine.test.driver == "pocl" else ():
        if os.path.isdir(path):
            copied(path, os.path.normpath(place + ("pocl" if "/lib" in path else "../../share/pocl")))


def driver_rebuilt(machine):
    if machine.test.driver != "stub":
        need_root()
    real = os.path.realpath(machine.library)
    copy = another_build(real, machine.root + "/rebuilt.so")
    if ROOT:
        machine.mounts.append((copy, real))
        return
    os.rename(copy, machine.library)
    machine.cleanup.append(lambda: copied(machine.test.build + "/lib/libstub_driver.so", machine.library))


def driver_data(machine):
    """One byte more in a file that the driver compiles in."""
    need_root()
    files = [f for folder in FILES[machine.test.driver] for f in glob.glob(folder + "/include/*.h") + glob.glob(folder + "/*.spv")]
    if not files:
        raise Skipped("this driver has no such files")
    for number, path in enumerate(files):
        copy = "%s/data/%d" % (machine.root, number)
        write(copy, read(path) + (b"\n" if path.endswith(".h") else b""))
        if path.endswith(".spv"):	# a module with another generator's number
            data = bytearray(read(path))
            data[8] ^= 1
            write(copy, bytes(data))
        machine.mounts.append((copy, os.path.realpath(path)))


def device(machine):
    if machine.test.driver == "stub":
        write(machine.root + "/settings", "STUB_NO_OPTIONS=1\nSTUB_DEVICE_NAME=another\n")
        machine.env.update(STUB_SETTINGS=machine.root + "/settings")
        return
    if machine.test.driver not in DEVICE:
        raise Skipped("this driver has one device")
    machine.env.update(DEVICE[machine.test.driver])


def features(machine):
    """As glibc sees them, which is where keys have them from."""
    if os.uname().machine != "x86_64":
        raise Skipped("only x86-64 has them from glibc")
    machine.env.update(GLIBC_TUNABLES="glibc.cpu.hwcaps=-AVX2,-BMI2,-FMA")


def processor_name(machine):
    shown_by_kernel([("/proc/cpuinfo", lambda text: re.sub(rb"(model name\s*:).*", rb"\1 Another CPU @ 9.99GHz", text))])(machine)


def processor_cache(machine):
    sizes = glob.glob("/sys/devices/system/cpu/cpu*/cache/index*/size")
    if not sizes:
        raise Skipped("the kernel does not show it")
    shown_by_kernel([(path, lambda text: b"%dK\n" % (int(text.strip(b"K\n")) * 2)) for path in sizes])(machine)


def header_content(machine):
    write(machine.place + "/include/part/deep.h", "#define DEEP 40\n")


def header_before(machine):
    """One that would be found first."""
    write(machine.place + "/more/value.h", "#define VALUE 5\n")


def header_gone(machine):
    os.unlink(machine.place + "/include/part/deep.h")
    write(machine.place + "/deep.h", "")
    write(machine.place + "/include/value.h", "#define VALUE 42\n")


def options(machine):
    machine.options["options"] = "-DM=4 -cl-std=CL1.2 -cl-mad-enable"


def variable(machine):
    name, value = VARIABLE[machine.test.driver]
    machine.env[name] = value


def usr(machine):
    need_root()
    headers(machine.root + "/usr")
    machine.mounts.append((machine.root + "/usr", "/usr/src"))
    machine.place = "/usr/src"


def other_clock(text):
    text = re.sub(rb"(cpu MHz\s*:).*", rb"\1 800.000", text)
    return re.sub(rb"(microcode\s*:).*", rb"\1 0x1", text.split(b"\n\n")[0] + b"\n\n")


def xdg(machine):
    machine.runtime = machine.root + "/run user"
    machine.env.update({"XDG_" + name: machine.root + "/xdg/" + name for name in ("CACHE_HOME", "CONFIG_HOME", "DATA_HOME", "STATE_HOME")},
                       XDG_DATA_DIRS="/nowhere:/usr/share", XDG_SESSION_ID="7", XDG_CONFIG_DIRS="/nowhere/xdg")


EVERY = tuple(name for name in PROGRAMS if name not in OF_ONE_PLACE)
ELSEWHERE = "%s/nix/store/0123456789abcdfghijklmnpqrsvwxyz-kernels-1.2"
UNKNOWN = variables(SLURM_JOB_ID="4711", OMPI_MCA_orte_ess_node_rank="3", SSH_CONNECTION="10.0.0.1 22", INVOCATION_ID="5e", APPIMAGE="/x/y",
                    CONDA_PREFIX="/opt/conda", VIRTUAL_ENV="/home/me/venv", SNAP="/snap/x/12", container="podman", DISPLAY=":7",
                    PYTHONHASHSEED="3", KUBERNETES_PORT="tcp://10.0.0.1:443", EDITOR="ed", SHLVL="9", _="/usr/bin/env", EMPTY="")
ETC = [(path, lambda text: b"ckcache-other\n") for path in ("/etc/hostname", "/etc/machine-id", "/etc/os-release", "/etc/hosts", "/etc/passwd")]
KERNELS = [("/proc/version", lambda text: b"Linux version 2.6.99 (other)\n"), ("/proc/cmdline", lambda text: b"quiet\n"),
           ("/proc/sys/kernel/osrelease", lambda text: b"2.6.99-other\n"), ("/proc/sys/kernel/random/boot_id", lambda text: b"00\n")]


PATHS = "the key has a number for the path"
FOUND = "only what a compiler looked for there counts"


class Thing:
    """name: as in docs/FLEET.md. shared: builds are, on all drivers but those; why: in a few words. moves: a variable
    that the thing is, or sets. varies: drivers of which the version decides."""

    def __init__(self, name, change, shared, why="", programs=EVERY, but=(), moves="", varies=()):
        self.name, self.change, self.why, self.programs = name, change, why, programs
        self.shared, self.but, self.moves, self.varies = shared, but, moves, varies

    def is_shared(self, driver):
        return self.shared != (driver in self.but)

    def programs_of(self, driver):
        """Without those of a row of their own."""
        if self.programs is not EVERY or not self.is_shared(driver):
            return list(self.programs)
        moved = driver in KEEPS_HEADERS and KEEPS_HEADERS[driver] in self.moves
        return [name for name in self.programs if not (moved and name == "embedded header")] + \
            (["object", "linked object"] if driver in ("neo", "rusticl") else [])	# pocl 7.1 shares none of another place


# What may differ. "why" is for readers of the table.
THINGS = [
    Thing("user and group", user, True, "no key has them"),
    Thing("home directory and user's name", home, True, "only drivers' own caches are looked for there", moves="HOME"),
    Thing("host's name", hostname, True, "no key has it"),
    Thing("kernel's release by `uname`", release, True, "no key has it"),
    Thing("what the kernel tells of itself in `/proc`", shown_by_kernel(KERNELS), True, "no key has it"),
    Thing("distribution's files in `/etc`", shown_by_kernel(ETC), True, "no compiler reads them"),
    Thing("addresses of libraries", addresses, True, "no key has them"),
    Thing("`TMPDIR`", temporary, True, "temporary files are the build's own", moves="TMPDIR"),
    Thing("working directory", directory, True, "only what a compiler looked for there counts"),
    Thing("`XDG_*`", xdg, True, "only drivers' own caches are looked for there", moves="HOME"),
    Thing("language, terminal, time zone", variables(LANG="de_DE.UTF-8", LC_ALL="C", TERM="vt100", COLUMNS="40", TZ="Asia/Tokyo"), True,
          "no compiler's result depends on them"),
    Thing("`PATH`", search_path, True, "only what is found there counts"),
    Thing("where the linker lies", linker, True, "its content counts"),
    Thing("variables that nobody knows", UNKNOWN, True, "no known driver reads them"),
    Thing("PID namespace", pids, True, "no key has it"),
    Thing("times, modes, owners, inodes of headers", header_times, True, "their content counts"),
    Thing("headers in `/nix/store/...`", place("/nix/store/0123456789abcdfghijklmnpqrsvwxyz-headers-1.2"), True, PATHS),
    Thing("headers in `/gnu/store/...`, by a link", header_links, True, PATHS),
    Thing("headers in conda's environment", place("/home/user/miniconda3/envs/a/share"), True, PATHS),
    Thing("headers in `/snap/.../current`", place("/snap/program/1234/usr/share/kernels"), True, PATHS),
    Thing("headers in `/app` (Flatpak)", place("/app/share"), True, PATHS),
    Thing("headers in a mounted AppImage", mounted, True, PATHS),
    Thing("program's path and `argv[0]`", own_path, True, "no key has them"),
    Thing("ckcache's path and settings", own_layer, True, "no key has them"),
    Thing("limits, umask, nice value", limits, True, "no key has them"),
    Thing("number of processors", processors, True, "code for a processor is for any number of them"),
    Thing("clock, microcode, number of cores in `/proc/cpuinfo`", shown_by_kernel([("/proc/cpuinfo", other_clock)]), True,
          "the key has the features alone"),
    Thing("times and inodes of the driver's files", driver_files, True, "build-ids and contents count"),
    Thing("software in `/opt` and `/usr/local`", without("/opt", "/usr/local"), True, FOUND),
    Thing("the system's headers in `/usr/include`", without("/usr/include"), True, FOUND),
    Thing("gcc's version", another_gcc, True, FOUND),
    # What has to separate.
    Thing("home directory, headers of the application's own", home, True, "pocl puts these below it", ("embedded header",), ("pocl",)),
    Thing("`TMPDIR`, headers of the application's own", temporary, True, "rusticl looks for these below it", ("embedded header",), ("rusticl",), varies=("rusticl",)),
    Thing("driver's build", driver_rebuilt, False, "another compiler may make another program"),
    Thing("driver's path", driver_elsewhere, False, "a driver may look for files from where it lies, as pocl does"),
    Thing("driver's data", driver_data, False, "it is compiled into programs"),
    Thing("device", device, False, "code is for one kind of device"),
    Thing("processor's features", features, False, "code for a processor uses them; NEO's devices are none, rusticl's binary is SPIR-V", but=("neo", "rusticl", "stub")),
    Thing("processor's name", processor_name, True, "pocl's device has it in its name", but=("pocl",)),
    Thing("size of the processor's cache", processor_cache, True, "pocl tells it as the size of local memory", but=("pocl",)),
    Thing("variable that the driver reads", variable, False, "it changes what is compiled"),
    Thing("header's content", header_content, False, "it is compiled", WITH_HEADERS),
    Thing("a header that would be found first", header_before, False, "it is compiled", ("two headers",)),
    Thing("an option", options, False, "it changes what is compiled", ("options",)),
    Thing("headers below `/usr`", usr, False, "compilers look there by themselves, and ignore the option", WITH_HEADERS),
    Thing("place of headers, `clCompileProgram` and a link", place("/opt/elsewhere"), True, "links tell nothing of the options of what they link; AMD's do",
          ("object", "linked object"), ("stub",), varies=("pocl",)),	# 7.1 shares no objects
    Thing("place of a header that tells its name", place("/opt/elsewhere"), False, "the name is part of the result", ("name",)),
    Thing("working directory, with `-g`", directory, False, "the name is part of the result", ("debugging",)),
    Thing("place of headers, with `-g`", place("/opt/elsewhere"), False, "the name is part of the result", ("debugging",)),
]
# With `-g` Debian 12's rusticl compiles nothing.
REFUSED = {"rusticl": ("debugging",)}


class Test:
    def __init__(self, build, driver, library):
        self.build, self.driver = build, driver
        self.work = os.path.realpath(tempfile.mkdtemp(prefix="cktwo-"))	# short: it has sockets
        os.chmod(self.work, 0o755)
        self.failed, self.rows = [], 0
        # NEO and the stub driver execute nothing here.
        self.binaries = driver in ("neo", "stub")
        self.driver_variables = dict(DRIVERS[driver][1]) if driver in DRIVERS else {}
        # The build may lie where only its owner gets.
        self.client = copied(build + "/bin/fuzz_client", self.work + "/opt/fuzz_client")
        self.layer = copied(build + "/lib/libckcache_opencl.so", self.work + "/opt/libckcache_opencl.so")
        self.helpers = self.work + "/opt/helpers"
        for name in ("ckcache-remote", "ckcache-storage-file"):
            copied("%s/bin/%s" % (build, name), self.helpers + "/" + name)
        self.library = library
        if driver == "stub":
            self.library = copied(library, self.work + "/opt/libstub_driver.so")
            write(self.work + "/settings", "STUB_NO_OPTIONS=1\n")
            self.driver_variables.update(STUB_SETTINGS=self.work + "/settings", STUB_COUNTS="/dev/null")
        self.shared = self.work + "/shared"
        os.mkdir(self.shared, 0o755)
        self.first = Machine(self, "A")
        self.number = 0

    def comparable(self, told, how):
        """What is the same in each build."""
        known = ["line", "status", "type", "options", "log", "names", "kernel", "argument"]
        # pocl knows nothing of arguments after a link, but does of the binary's.
        if self.driver == "pocl" and how != "build":
            known.remove("argument")
        return [t for t in told if self.binaries or t[0] in known]

    def end(self):
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if self.work.encode() in read("/proc/%s/environ" % pid) and int(pid) != os.getpid():
                    os.kill(int(pid), signal.SIGKILL)
            except OSError:
                continue
        shutil.rmtree(self.work, ignore_errors=True)

    def fill(self):
        """A builds everything; what it cannot build is left out."""
        told = self.first.cold(list(PROGRAMS))
        self.first.uploaded()
        self.known = {}
        for name, (answer, events) in told.items():
            built = answer[0][1].split(" ")[0] == "0"
            if not built and (name == "SPIR-V" or name in REFUSED.get(self.driver, ())):
                print("SKIPPED: program \"%s\": this driver refuses it" % name)
                continue
            if not built or not events or any(event["event"] != "miss" for event in events):
                self.failed.append("A's build of \"%s\"" % name)
                print("FAILED: A's build of \"%s\": %s, %s" % (name, answer[:4], kinds(events)))
            self.known[name] = events

    def machine(self):
        self.number += 1
        return Machine(self, "B%d" % self.number)

    def why(self, name, events):
        """Which fields of the key differ; if none does, it was the manifest."""
        for before, now in zip(self.known[name], events):
            if now["event"].startswith("hit"):
                continue
            if "key" not in before or "key" not in now:
                return now.get("reason") or "no key"
            names = {field for field in {**before["key"], **now["key"]} if before["key"].get(field) != now["key"].get(field)}
            return "key: " + ", ".join(sorted(names)) if names else "files, %s" % (now.get("reason") or "not as they were")
        return "nothing"

    def share(self, machine, programs):
        """The programs that were not hits in the tier, each with the reason, and answers that differ."""
        if machine.pids:
            machine.warm()
        for _ in range(TRIES):
            told = machine.cold(programs)
            wrong = {name: self.why(name, events) for name, (_, events) in told.items()
                     if not events or any(event["event"] != "hit-remote" for event in events)}
            if not wrong:
                break
        bare = machine.run(programs, False)
        for name, (answer, _) in told.items():
            if answer != bare[name][0] and name not in wrong:
                differ = [(a, b) for a, b in zip(answer, bare[name][0]) if a != b]
                wrong[name] = "another answer: " + repr(differ or (answer, bare[name][0]))[:600]
        return wrong

    def separate(self, machine, programs, varies):
        """Hits where none may be, or, if the driver's version decides, wrong ones; and what separated the others."""
        machine.read_only = self.first.root + "/cache"
        told = machine.cold(programs)
        wrong = {name: "a hit: " + kinds(events) for name, (_, events) in told.items()
                 if not events or any(event["event"].startswith("hit") for event in events)}
        if varies:
            bare = machine.run(programs, False)
            wrong = {name: "another answer" for name, (answer, _) in told.items() if answer != bare[name][0]}
        return wrong, sorted({self.why(name, events) for name, (_, events) in told.items()} - {"nothing"})

    def row(self, thing):
        programs = [name for name in thing.programs_of(self.driver) if name in self.known]
        machine, begun, found = self.machine(), time.monotonic(), []
        try:
            if not programs:
                raise Skipped("this driver refuses the program")
            thing.change(machine)
            varies = self.driver in thing.varies
            if thing.is_shared(self.driver) and not varies:
                wrong = self.share(machine, programs)
            else:
                wrong, found = self.separate(machine, programs, varies)
        except NoDevice:
            print("SKIPPED: %s: the driver has no device then" % thing.name, flush=True)
            return
        except (Skipped, subprocess.SubprocessError) as skipped:
            print("SKIPPED: %s: %s" % (thing.name, skipped), flush=True)
            return
        finally:
            for step in machine.cleanup:
                step()
            shutil.rmtree(machine.root, ignore_errors=True)
        state = "varies" if varies else "shared" if thing.is_shared(self.driver) else "apart"
        print("%-7s %-55s %4.1f s  %s" % ("FAILED" if wrong else state, thing.name, time.monotonic() - begun, "; ".join(found)), flush=True)
        for name, reason in wrong.items():
            print("  %s: %s" % (name, reason), flush=True)
        if wrong:
            self.failed.append(thing.name)
        self.rows += 1

    def all_at_once(self, things):
        def change(machine):
            for thing in things:
                if not thing.is_shared(self.driver):
                    continue
                try:
                    thing.change(machine)
                except Skipped as skipped:
                    print("SKIPPED: %s: %s" % (thing.name, skipped), flush=True)
        self.row(Thing("all that may differ, at once", change, True, moves="HOME TMPDIR"))


def cell(thing):
    names = {"neo": "NEO"}
    others = " and ".join(names.get(driver, driver) for driver in thing.but if driver != "stub")	# it stands for unknown drivers
    return ("yes" if thing.shared else "no") + (", but on %s" % others if others and thing.shared else ", on %s yes" % others if others else "")


def table():
    return ["| %s | %s | %s |" % (thing.name, cell(thing), thing.why) for thing in THINGS]


def undocumented():
    """Rows that docs/FLEET.md has in another way, or not."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "FLEET.md")
    with open(path, encoding="utf-8") as file:
        lines = set(file.read().splitlines())
    return [row for row in table() if row not in lines]


def kinds(events):
    return ", ".join("%s %s" % (event["event"], event.get("reason") or "") for event in events) or "nothing"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?")
    parser.add_argument("driver", nargs="?")
    parser.add_argument("name", nargs="*", help="only these things")
    parser.add_argument("--each", action="store_true", help="also what may differ, one thing at a time")
    parser.add_argument("--table", action="store_true", help="only print the table for docs/FLEET.md")
    parser.add_argument("--library", help="the driver's file, where it is not a known one")
    arguments = parser.parse_intermixed_args()
    if arguments.table:
        print("\n".join(table()))
        return 0
    build = os.path.abspath(arguments.build)
    library = arguments.library or (stub_driver(build) if arguments.driver == "stub" else driver_file(arguments.driver))
    if not library:
        print("SKIPPED: no %s here" % arguments.driver)
        return 77
    os.umask(0o022)
    test = Test(build, arguments.driver, library)
    try:
        test.fill()
        if not arguments.name:
            test.all_at_once(THINGS)
        for thing in THINGS:
            if thing.name in arguments.name or (not arguments.name and (arguments.each or not thing.is_shared(arguments.driver))):
                test.row(thing)
    except NoDevice:
        print("SKIPPED: %s has no device here" % arguments.driver)
        return 77
    finally:
        test.end()
    for row in undocumented():
        print("FAILED: not so in docs/FLEET.md: " + row)
        test.failed.append("docs/FLEET.md")
    print("%d rows, %d failed%s" % (test.rows, len(test.failed), ": " + ", ".join(test.failed) if test.failed else ""))
    return 1 if test.failed else 0


if __name__ == "__main__":
    sys.exit(main())
