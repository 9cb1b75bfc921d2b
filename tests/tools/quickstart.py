# SPDX-License-Identifier: MIT
"""tools/quickstart.sh: which driver and which program it chooses, which packages
it names or installs, and what it says where it cannot go on. All commands that
it calls are stand-ins, in a PATH of the test's own; nothing is built or installed.

    quickstart.py SOURCE-DIRECTORY
"""
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
import unittest

import tool_case

SOURCE = None
# What the scripts may call of a system with nothing installed.
SYSTEM = ("awk cat chmod cp cut date df dirname env find grep head id ls mkdir mktemp mv rm sed sh sleep "
          "sort tail timeout touch tr xargs").split()

# $FAKE holds: devices/NAME (a vendors' file's name, or "all"), each a line of name and type; packages/,
# a folder per package that the archive has, whose files become commands; installed, names; log.
STAND_INS = {
    "cc": """
case "$*" in
*-E*) read -r line; file=${line#*<}; [ -e "$FAKE/headers/${file%>}" ] ;;
*libOpenCL*) [ -e "$FAKE/headers/loader" ] ;;
esac""",
    "pkg-config": '[ -e "$FAKE/headers/pkg-config" ]',
    "ninja": "",
    "cmake": """
if [ "$1" = --build ]; then
    [ ! -e "$FAKE/broken" ] || { echo 'error: broken' >&2; exit 1; }
    mkdir -p "$2/bin"
    cp "$FAKE/ckcache" "$2/bin/ckcache"
else
    echo "Without something" >&2
fi""",
    "darktable-cltest": """
echo "darktable $*" >>"$FAKE/log"
[ ! -e "$FAKE/refuses" ] || exit 0
while [ -e "$FAKE/slow" ]; do sleep 0.1; done
if [ -n "$LAYERED" ]; then
    . "$FAKE/build"
fi
[ ! -e "$FAKE/own" ] || touch "$NEO_CACHE_DIR/one"
echo ' KERNEL LOADING TIME:  1.5 sec'""",
    "clblast_tuner_xaxpy": """
echo "clblast $*" >>"$FAKE/log"
[ -z "$LAYERED" ] || . "$FAKE/build"
[ ! -e "$FAKE/crashes" ] || exit 3""",
}
# Counts what a program with the layer does.
BUILD = """
if [ -e "$CKCACHE_DIR/full" ] && [ ! -e "$FAKE/stale" ]; then
    echo 5 >"$FAKE/hits"
else
    echo 5 >"$FAKE/misses"
    mkdir -p "$CKCACHE_DIR"
    if [ -e "$FAKE/defers" ]; then echo 5 >"$FAKE/recipes"; else touch "$CKCACHE_DIR/full"; fi
fi
"""
CKCACHE = """#!/bin/sh
number() { cat "$FAKE/$1" 2>/dev/null || echo 0; }
echo "ckcache $*" >>"$FAKE/log"
case "$1 $2" in
'worker opencl')
    case ${OCL_ICD_VENDORS-all} in
    all) name=all ;;
    *) name=$(ls "$OCL_ICD_VENDORS"); name=${name%.icd} ;;
    esac
    case $name in
    intel) [ "$NEOReadDebugKeys$HardwareInfoOverride$UseAubStream" = 11x6x160 ] || exit 0 ;;
    rusticl) name=rusticl-$RUSTICL_ENABLE ;;
    esac
    awk -F / '{ printf "device\\t0\\t%d\\t%s\\t1.0\\t%s\\n", NR - 1, $1, $2 }' "$FAKE/devices/$name" 2>/dev/null >&3 ;;
'run --') shift 2; LAYERED=yes exec "$@" ;;
'stats --json')
    printf '{\\n  "hits_memory": 0,\\n  "hits_disk": %d,\\n  "misses": %d,\\n  "errors": 0,\\n' "$(number hits)" "$(number misses)"
    printf '  "bypasses": {},\\n  "recipes": %d,\\n' "$(number recipes)"
    printf '  "compile_ms_spent": %d.0,\\n  "compile_ms_saved": 0.000\\n}\\n' "$(number misses)000" ;;
'stats --zero') rm -f "$FAKE/hits" "$FAKE/misses" ;;
'replay ') rm -f "$FAKE/recipes"; touch "$CKCACHE_DIR/full" ;;
'doctor ') echo "the trial of doctor"; [ ! -e "$FAKE/sick" ] ;;
esac
"""
APT = {
    "dpkg": "",
    "dpkg-query": 'for name; do :; done; ! grep -qx "$name" "$FAKE/installed" || printf installed',
    "apt-cache": """
for name; do :; done
[ ! -e "$FAKE/packages/$name" ] || echo '  Candidate: 1.0'""",
    "apt-get": """
echo "apt-get $*" >>"$FAKE/apt"
case "$*" in
*-s*) exit 0 ;;
*update*) exit 0 ;;
esac
[ ! -e "$FAKE/offline" ] || { echo 'E: Failed to fetch it' >&2; exit 100; }
take=
for name; do
    case $take$name in
    install) take=yes ;;
    yes*) [ -e "$FAKE/packages/$name" ] || exit 100
        echo "$name" >>"$FAKE/installed"
        cp -R "$FAKE/packages/$name/." "$FAKE/" ;;
    esac
done""",
}
NEEDED = ("gcc libc6-dev cmake ninja-build pkg-config libxxhash-dev libdeflate-dev libjson-c-dev "
          "uthash-dev libsodium-dev opencl-c-headers ocl-icd-libopencl1").split()
HEADERS = ("uthash.h", "sodium.h", "CL/cl_layer.h", "loader", "pkg-config", "level_zero/ze_api.h")
TOOLS = ("cc", "pkg-config", "ninja", "cmake")


class Quickstart(tool_case.Folder):
    def setUp(self):
        super().setUp()
        for name in ("system", "fake/bin", "fake/devices", "fake/headers", "fake/packages", "fake/vendors", "tmp", "home",
                     "tree/tools"):
            os.makedirs(self.path(name))
        for name in ("quickstart.sh", "quickstart_machine.sh", "packages.sh"):
            shutil.copy(os.path.join(SOURCE, "tools", name), self.path("tree/tools"))
        for name in SYSTEM:
            os.symlink(shutil.which(name), self.path("system", name))
        self.write("fake/build", BUILD)
        self.write("fake/ckcache", CKCACHE, 0o755)
        self.write("fake/installed", "")
        self.write("os-release", 'NAME="Some Linux"\nID=some\n')

    def write(self, path, content="", mode=0o644):
        # Never through a link to a command of the system.
        self.assertFalse(os.path.islink(self.path(path)))
        return super().write(path, content, mode)

    def read(self, path):
        return super().read(path) if os.path.exists(self.path(path)) else ""

    def command(self, name, where="fake/bin", script=None):
        self.write(os.path.join(where, name), "#!/bin/sh\n" + (STAND_INS[name] if script is None else script), 0o755)

    def tools(self, where="fake"):
        """All that building needs."""
        for name in TOOLS:
            self.command(name, where + "/bin")
        for name in HEADERS:
            self.write(os.path.join(where, "headers", name))

    def driver(self, name, *devices, where="fake"):
        if name == "all":
            self.write(where + "/devices/all", "\n".join(devices) + "\n")
            return
        self.write(where + "/vendors/%s.icd" % name.split("-")[0], "lib%s.so\n" % name)
        self.write(where + "/devices/" + name, "\n".join(devices) + "\n")

    def apt(self, *packages):
        """A Debian whose archive has these, and what building needs."""
        for name, script in APT.items():
            self.command(name, script=script)
        self.command("id", script="[ $# -gt 0 ] && [ $1 = -un ] && echo somebody || cat \"$FAKE/uid\"")
        self.write("fake/uid", "0\n")
        self.write("os-release", "NAME=Debian\nID=debian\n")
        for name in NEEDED:
            os.makedirs(self.path("fake/packages", name))
        self.tools("fake/packages/gcc")
        os.unlink(self.path("fake/packages/gcc/headers/level_zero/ze_api.h"))
        for name in packages:
            os.makedirs(self.path("fake/packages", name))

    def environment(self, **extra):
        made = {"PATH": self.path("fake/bin") + ":" + self.path("system"), "FAKE": self.path("fake"), "TMPDIR": self.path("tmp"),
                "HOME": self.path("home"), "OPENCL_VENDOR_PATH": self.path("fake/vendors"),
                "SYSTEMD_OS_RELEASE": self.path("os-release"), "LC_ALL": "C.UTF-8"}
        made.update(extra)
        return {name: value for name, value in made.items() if value is not None}

    def start(self, *arguments, **extra):
        return subprocess.Popen(["/bin/sh", self.path("tree/tools/quickstart.sh"), *arguments], cwd=self.path("home"),
                                env=self.environment(**extra), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def quickstart(self, *arguments, code=0, says=(), **extra):
        """What it prints; it leaves nothing in TMPDIR."""
        with self.start(*arguments, **extra) as process:
            out, err = process.communicate(timeout=240)
        told = "code %d\nstdout: %s\nstderr: %s" % (process.returncode, out, err)
        self.assertEqual(process.returncode, code, told)
        for text in [says] if isinstance(says, str) else says:
            self.assertIn(text, out + err, told)
        self.assertEqual(os.listdir(self.path("tmp")), [], told)
        if code == 0:
            self.assertRegex(out, "/bin/ckcache'? run -- PROGRAM", told)
        self.told = out + err
        return out


class Drivers(Quickstart):
    def setUp(self):
        super().setUp()
        self.tools()
        self.command("darktable-cltest")
        self.command("clblast_tuner_xaxpy")

    def all_drivers(self):
        self.driver("intel", "Tiger Lake/gpu")
        self.driver("rusticl-llvmpipe", "llvmpipe/gpu")
        self.driver("pocl", "cpu/other")

    def test_a_gpu_wins(self):
        self.all_drivers()
        for gpu in ("NVIDIA H200/gpu", "Arc/gpu"):
            self.driver("all", "cpu/other", gpu)
            self.quickstart(says=("Driver: this machine's GPU: " + gpu.split("/", maxsplit=1)[0], "Program: darktable",
                                  "The last run built nothing"))

    def test_then_mesa_on_a_gpu(self):
        self.all_drivers()
        self.driver("all", "cpu/other")
        self.driver("rusticl-iris,radeonsi,panfrost,freedreno,asahi", "Radeon/gpu")
        self.quickstart(says="Driver: this machine's GPU, with Mesa's rusticl: Radeon")

    def test_then_intel_rusticl_pocl(self):
        self.all_drivers()
        self.driver("all", "cpu/other")
        self.quickstart(says="Driver: Intel's compiler without hardware: Tiger Lake")
        os.unlink(self.path("fake/vendors/intel.icd"))
        self.quickstart(says=("Driver: Mesa's rusticl, on the CPU: llvmpipe", "Program: darktable"))
        os.unlink(self.path("fake/vendors/rusticl.icd"))
        self.write("fake/defers")
        self.quickstart(says=("Driver: pocl, on the CPU: cpu", "Program: clblast"))
        self.assertIn("ckcache replay\n", self.read("fake/log"))

    def test_one_without_a_device_is_passed_over(self):
        self.driver("intel")
        self.driver("rusticl-llvmpipe", "llvmpipe/gpu")
        self.quickstart(says="Driver: Mesa's rusticl")

    def test_the_one_that_is_named(self):
        self.all_drivers()
        self.driver("all", "Arc/gpu")
        self.quickstart("rusticl", says="Driver: Mesa's rusticl")
        self.quickstart("mesa", code=1, says="the driver mesa has no device here")

    def test_none(self):
        self.write("os-release", "NAME=Fedora\nID=fedora\n")
        out = self.quickstart(code=1, says=("there is no OpenCL driver", "sudo dnf install mesa-libOpenCL"))
        self.assertIn("bin/ckcache run --", out)

    def test_darktable_that_does_not_use_it(self):
        self.all_drivers()
        self.write("fake/refuses")
        self.driver("all", "Arc/gpu")
        self.quickstart(says=("darktable compiles nothing", "Program: clblast", "whole run"))

    def test_no_program(self):
        self.all_drivers()
        for name in ("darktable-cltest", "clblast_tuner_xaxpy"):
            os.unlink(self.path("fake/bin", name))
        self.quickstart(says="the trial of doctor")
        self.write("fake/sick")
        self.quickstart(code=1)

    def test_the_drivers_own_cache(self):
        self.all_drivers()
        out = self.quickstart(says="keeps no cache of its own")
        self.assertNotIn("driver's cache", out)
        self.write("fake/own")
        self.quickstart(says=("driver's cache", "own cache is on"))
        self.assertEqual(self.read("fake/log").count("darktable "), 5)

    def test_a_last_run_that_builds(self):
        self.all_drivers()
        self.write("fake/stale")
        self.quickstart(code=1, says="the last run should have built nothing")

    def test_a_program_that_fails(self):
        self.driver("pocl", "cpu/other")
        self.write("fake/crashes")
        self.quickstart(code=1, says="clblast ended with the codes 3 and 3")


class Packages(Quickstart):
    NAMED = {
        "ID=fedora": "sudo dnf install gcc cmake ninja-build pkgconf-pkg-config xxhash-devel libdeflate-devel "
                     "json-c-devel uthash-devel libsodium-devel opencl-headers OpenCL-ICD-Loader",
        "ID=cachyos\nID_LIKE=arch": "sudo pacman -S gcc cmake ninja pkgconf xxhash libdeflate json-c uthash "
                                    "libsodium opencl-headers ocl-icd",
        'ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"':
            "sudo zypper install gcc cmake ninja pkgconf-pkg-config xxhash-devel libdeflate-devel "
            "libjson-c-devel uthash-devel libsodium-devel opencl-headers libOpenCL1",
        "ID=ubuntu\nID_LIKE=debian": "sudo apt-get install " + " ".join(NEEDED),
        "ID=alpine": "sudo apk add gcc musl-dev cmake ninja pkgconf xxhash-dev libdeflate-dev json-c-dev "
                     "uthash-dev libsodium-dev opencl-headers opencl-icd-loader",
        "ID=some": "gcc 12 or clang 14, CMake 3.20, Ninja or make, pkg-config, xxHash, libdeflate, json-c, "
                   "uthash, libsodium, the OpenCL headers, an OpenCL loader",
    }

    def test_without_apt_they_are_named(self):
        for system, named in self.NAMED.items():
            with self.subTest(system=system):
                self.write("os-release", 'NAME="That Linux"\n%s\n' % system)
                self.quickstart(code=1, says=("That Linux lacks", "    " + named + "\n"))
        self.assertFalse(os.path.exists(self.path("tree/build")))

    def test_without_apt_only_what_is_missing(self):
        self.tools()
        self.write("os-release", "NAME=Fedora\nID=fedora\n")
        os.unlink(self.path("fake/headers/uthash.h"))
        self.quickstart(code=1, says="    sudo dnf install uthash-devel\n")

    def test_without_apt_it_continues(self):
        self.tools()
        self.driver("rusticl-llvmpipe", "llvmpipe/gpu")
        self.write("os-release", "NAME=Fedora\nID=fedora\n")
        os.unlink(self.path("fake/headers/level_zero/ze_api.h"))
        self.quickstart(says=("optional: sudo dnf install oneapi-level-zero-devel", "Without something",
                              "Skipping darktable: package darktable is not installed", "the trial of doctor"))

    def test_without_os_release(self):
        self.tools()
        self.driver("pocl", "cpu/other")
        self.quickstart(SYSTEMD_OS_RELEASE="/nowhere")

    def installed(self):
        return self.read("fake/installed").split()

    def test_debian(self):
        self.apt("libze-dev", "intel-opencl-icd", "darktable")
        self.driver("intel", "Tiger Lake/gpu", where="fake/packages/intel-opencl-icd")
        self.command("darktable-cltest", where="fake/packages/darktable/bin")
        self.quickstart(says=("Driver: Intel's compiler", "Program: darktable"))
        self.assertEqual(self.installed(), [*NEEDED, "libze-dev", "intel-opencl-icd", "darktable"])
        self.write("fake/apt")
        self.quickstart(says="Program: darktable")
        self.assertNotIn(" install ", self.read("fake/apt"))

    def test_debian_without_what_is_optional(self):
        self.apt("mesa-opencl-icd")
        self.driver("rusticl-llvmpipe", "llvmpipe/gpu", where="fake/packages/mesa-opencl-icd")
        self.quickstart(says=("Driver: Mesa's rusticl", "archive does not have: intel-opencl-icd",
                              "archive does not have: darktable", "the trial of doctor"))
        self.assertEqual(self.installed(), [*NEEDED, "mesa-opencl-icd"])

    def test_debian_offline(self):
        self.apt("libze-dev", "darktable")
        self.write("fake/offline")
        self.quickstart(code=1, says="Cannot install needed packages (apt-get could not install them)")
        self.tools()
        os.unlink(self.path("fake/headers/level_zero/ze_api.h"))
        self.driver("rusticl-llvmpipe", "llvmpipe/gpu")
        self.quickstart(says=("Continuing without: libze-dev", "Continuing without: darktable", "the trial of doctor"))

    def test_debian_as_a_user(self):
        self.apt("pocl-opencl-icd")
        self.driver("pocl", "cpu/other", where="fake/packages/pocl-opencl-icd")
        self.write("fake/uid", "1000\n")
        self.quickstart(code=1, says="somebody is not root and there is no sudo): gcc")
        self.command("sudo", script="exit 1")
        self.quickstart(code=1, says="sudo does not let somebody install packages")
        self.command("sudo", script='"$@"')
        self.quickstart(says="Driver: pocl")


class BadInput(Quickstart):
    def setUp(self):
        super().setUp()
        self.tools()
        self.driver("rusticl-llvmpipe", "llvmpipe/gpu")
        self.command("darktable-cltest")

    def test_arguments(self):
        for arguments in (("nvidia",), ("",), ("gpu", "intel"), ("--help",)):
            self.quickstart(*arguments, code=2, says="usage: sh tools/quickstart.sh [gpu")
        self.assertFalse(os.path.exists(self.path("tree/build")))

    def test_a_checkout_that_cannot_be_written(self):
        self.write("tree/build", "in the way")
        self.quickstart(says="Building into %s/.cache/ckcache-build\n" % self.path("home"))
        self.quickstart(HOME="/proc/nowhere", code=1, says="set BUILD_DIR to a writable directory")
        self.quickstart(BUILD_DIR="/proc/nowhere", code=1, says="cannot write to /proc/nowhere: set BUILD_DIR")

    def test_names_with_blanks(self):
        self.quickstart(BUILD_DIR=self.path("a 'build"))
        line = next(line for line in self.told.splitlines() if line.endswith(" stats"))
        self.assertEqual(shlex.split(line)[0], self.path("a 'build/bin/ckcache"))
        os.makedirs(self.path("t m p"))
        self.quickstart(TMPDIR=self.path("t m p"))
        self.assertEqual(os.listdir(self.path("t m p")), [])

    def test_a_relative_build(self):
        self.quickstart(BUILD_DIR="there", says="Building into %s\n" % self.path("tree/there"))

    def test_no_temporary_directory(self):
        self.quickstart(TMPDIR="/proc/nowhere", code=1, says="set TMPDIR to a writable directory")

    def test_a_full_disk(self):
        self.write("fake/broken")
        self.quickstart(code=1, says="the build failed (see above)")
        self.command("df", script="echo; echo disk 100 97 3072 97% /\n")
        self.quickstart(code=1, says="is full (3 MB free)")
        os.unlink(self.path("fake/broken"))
        self.quickstart(says="The last run built nothing")

    def test_an_interruption(self):
        self.write("fake/slow")
        for number in (signal.SIGTERM, signal.SIGHUP):
            self.write("fake/log")
            with self.start() as process:
                until = time.monotonic() + 60
                while "darktable" not in self.read("fake/log") and time.monotonic() < until:
                    time.sleep(0.02)
                process.send_signal(number)
                os.rename(self.path("fake/slow"), self.path("fake/was slow"))
                process.communicate(timeout=60)
            self.assertEqual(process.returncode, 143)
            self.assertEqual(os.listdir(self.path("tmp")), [])
            os.rename(self.path("fake/was slow"), self.path("fake/slow"))
        os.unlink(self.path("fake/slow"))
        self.quickstart(says="The last run built nothing")


if __name__ == "__main__":
    SOURCE = os.path.abspath(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
