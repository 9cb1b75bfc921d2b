# SPDX-License-Identifier: MIT
"""Makes the Debian packages of a build and examines them.

    packages.py CMAKE SOURCE BUILD

BUILD is used if its prefix is /usr; else one is made for this. Exit code 77:
what makes packages is not installed (dpkg-dev, file).
"""
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
# There is no bug of Debian's to close; manual pages are asked for once the build has any.
SUPPRESSED = ["initial-upload-closes-no-bugs"]
MULTI_ARCH = {"ckcache": "foreign", "ckcache-storage": "foreign"}
SECTIONS = {"ckcache": "utils", "ckcache-storage": "utils", "libckcache-dev": "libdevel", "libcachecore-dev": "libdevel"}
LIBRARIES = ("libc6", "libxxhash0", "libdeflate0")
DEPENDS = {
    "ckcache": LIBRARIES + ("libjson-c5", "libssl3", "libckcache-opencl (= {version})"),
    "ckcache-storage": ("libc6", "libhiredis0.14", "libcurl4"),
    "libckcache-opencl": LIBRARIES,
    "libckcache-level-zero": LIBRARIES,
    "libckcache1": LIBRARIES,
    "libckcache-dev": ("libckcache1 (= {version})",),
    "libcachecore-dev": ("libxxhash-dev", "libdeflate-dev"),
}
EXECUTABLES = ("/usr/bin/ckcache", "/usr/lib/systemd/user-environment-generators/60-ckcache",
               "/usr/lib/systemd/user-generators/ckcache",
               "/usr/libexec/ckcache/ckcache-remote", "/usr/libexec/ckcache/ckcache-storage-file",
               "/usr/libexec/ckcache/ckcache-storage-redis",
               "/usr/libexec/ckcache/ckcache-storage-http")

failures = []


def check(good, what):
    if not good:
        failures.append(what)


def output(*command, **options):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, **options).stdout


def prefix_of(build):
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as cache:
        return re.search(r"^CMAKE_INSTALL_PREFIX:PATH=(.*)$", cache.read(), re.M).group(1)


def make_build(cmake, source, directory):
    subprocess.run([cmake, "-S", source, "-B", directory, "-DCMAKE_INSTALL_PREFIX=/usr"],
                   check=True, stdout=subprocess.DEVNULL)
    subprocess.run([cmake, "--build", directory, "-j", str(os.cpu_count())],
                   check=True, stdout=subprocess.DEVNULL)
    return directory


def pack(cpack, build, directory, umask, **environment):
    """The paths of the packages by their name."""
    subprocess.run([cpack, "--config", os.path.join(build, "CPackConfig.cmake"), "-G", "DEB",
                    "-B", directory], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, **environment}, umask=umask, cwd=build)
    packages = {}
    for name in sorted(os.listdir(directory)):
        if name.endswith(("deb", "ddeb")):
            packages[name.split("_")[0]] = os.path.join(directory, name)
    return packages


def fields_of(package):
    text = output("dpkg-deb", "-f", package)
    return dict(re.findall(r"^([A-Za-z-]+): (.*)$", text, re.M))


def files_of(package):
    """(mode, owner, path) of everything but directories; of those only the mode is looked at."""
    files = []
    for line in output("dpkg-deb", "-c", package).splitlines():
        mode, owner, _, _, _, path = line.split(None, 5)
        path = path[1:].split(" -> ")[0]
        check(owner == "root/root", f"{package}: {path} belongs to {owner}")
        if mode.startswith("d"):
            check(mode == "drwxr-xr-x", f"{package}: {path} has {mode}")
        else:
            files.append((mode, path))
    return files


def patterns_of(source):
    patterns = {}
    with open(os.path.join(source, "tests/packages/contents"), encoding="utf-8") as listed:
        for line in listed:
            if not line.startswith("#"):
                package, pattern = line.split()
                patterns.setdefault(package, []).append(pattern)
    return patterns


def check_contents(name, files, patterns):
    documents = f"/usr/share/doc/{name}/"
    shared = [documents + "copyright", documents + "changelog.Debian.gz"]
    optional = ["/usr/share/lintian/overrides/" + name]
    for pattern in patterns:
        (optional if pattern.startswith("?") else shared).append(pattern.lstrip("?"))
    paths = [path for _, path in files]
    for pattern in shared:
        check(fnmatch.filter(paths, pattern), f"{name}: nothing is {pattern}")
    for mode, path in files:
        check(any(fnmatch.fnmatch(path, pattern) for pattern in shared + optional),
              f"{name}: {path} is not expected")
        expected = "-rwxr-xr-x" if path in EXECUTABLES else "-rw-r--r--"
        check(mode == expected or mode.startswith("l"), f"{name}: {path} has {mode}")


def check_control(name, package, files, tree):
    fields = fields_of(package)
    version = fields["Version"]
    check(fields.get("Multi-Arch") == MULTI_ARCH.get(name, "same"), f"{name}: Multi-Arch")
    check(fields.get("Section") == SECTIONS.get(name, "libs"), f"{name}: {fields.get('Section')}")
    depends = fields.get("Depends", "").split(", ")
    for wanted in DEPENDS[name]:
        wanted = wanted.format(version=version)
        check(any(one == wanted or one.startswith(wanted + " ") for one in depends),
              f"{name} does not depend on {wanted}: {depends}")
    control = os.path.join(tree, "DEBIAN")
    conffiles = ""
    if os.path.exists(os.path.join(control, "conffiles")):
        with open(os.path.join(control, "conffiles"), encoding="utf-8") as listed:
            conffiles = listed.read()
    settings = [path for _, path in files if path.startswith("/etc/")]
    check(conffiles.split() == sorted(settings), f"{name}: conffiles are {conffiles.split()}")
    scripts = {"postinst", "prerm", "postrm"} if name == "ckcache" else set()
    for script in ("preinst", "postinst", "prerm", "postrm"):
        check(os.path.exists(os.path.join(control, script)) == (script in scripts), f"{name}: {script}")
    if name == "ckcache":
        check_mark(tree)
    if name == "libckcache1":
        with open(os.path.join(control, "symbols"), encoding="utf-8") as symbols:
            check(" ckcache_version@CKCACHE_1.0 " in symbols.read(), "libckcache1: symbols")
    sums = subprocess.run(["md5sum", "--quiet", "-c", "DEBIAN/md5sums"], cwd=tree, check=False)
    check(sums.returncode == 0, f"{name}: md5sums")


def check_mark(tree):
    """A package that brings a driver or a compiler leaves the mark; removing ckcache removes it."""
    with open(os.path.join(tree, "DEBIAN", "triggers"), encoding="utf-8") as listed:
        triggers = [line.split() for line in listed]
    check(all(words[0] == "interest-noawait" and words[1].startswith("/") and len(words) == 2
              for words in triggers), f"triggers: {triggers}")
    paths = {words[1] for words in triggers}
    libraries = "/usr/lib/" + output("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
    wanted = {"/etc/OpenCL/vendors", "/usr/lib/llvm-15", "/usr/lib/llvm-21", libraries + "/libigc.so.1"}
    check(wanted <= paths and not any("LIBDIR" in path or "NN" in path for path in paths),
          f"triggers: {sorted(paths)}")
    if not shutil.which("unshare") or os.geteuid():
        print("not root: the scripts of ckcache are not run")
        return
    # What an administrator has put there stays; what the machine's service has made goes.
    for kept, served in (("", ""), ("kernels", ""), ("kernels", "yes")):
        state = tree + "." + kept + served
        os.mkdir(state)
        done = subprocess.run(["unshare", "-m", "sh", "-euc", '''
            umask 077
            mount --bind "$1" /var/lib
            mount -t tmpfs none /run
            cd "$2/DEBIAN"
            ./postinst configure
            [ ! -e /var/lib/ckcache ]
            ./postrm purge
            ./postinst triggered /etc/OpenCL/vendors
            [ "$(stat -c %a/%s /var/lib/ckcache/changed)" = 644/0 ]
            touch -d 2001-01-01 /var/lib/ckcache/changed
            ./postinst triggered "/etc/OpenCL/vendors /usr/lib/llvm-15"
            [ -n "$(find /var/lib/ckcache/changed -newermt 2002-01-01)" ]
            [ -z "$3" ] || mkdir -p "/var/lib/ckcache/$3"
            if [ -n "$4" ]; then
                mkdir -p /var/lib/private/ckcache-machine/cache
                ln -s private/ckcache-machine /var/lib/ckcache-machine
            fi
            ./postrm upgrade 2.0
            [ -e /var/lib/ckcache/changed ]
            ./prerm remove
            ./postrm remove
            [ -z "$3" ] || [ -d "/var/lib/ckcache/$3" ]
            ./postrm purge
            rmdir --ignore-fail-on-non-empty /var/lib/private 2>/dev/null || :
            find /var/lib -mindepth 1 -printf "%P "
            ''', "sh", state, tree, kept, served], check=False, stdout=subprocess.PIPE, text=True)
        expected = "ckcache ckcache/kernels " if kept and not served else ""
        check(done.returncode == 0 and done.stdout == expected, f"the mark: {done}")


def check_objects(name, tree):
    for directory, _, names in os.walk(tree):
        for one in names:
            path = os.path.join(directory, one)
            if os.path.islink(path):
                continue
            with open(path, "rb") as opened:
                start = opened.read(8)
            if start[:2] == b"\x1f\x8b":
                check(start[4:] == b"\0\0\0\0", f"{path} is compressed with a time")
            if start[:4] != b"\x7fELF":
                continue
            dynamic = output("readelf", "-dSW", path)
            check(not re.search(r"R(UN)?PATH", dynamic), f"{name}: {one} has a search path")
            check(".symtab" not in dynamic and ".debug_info" not in dynamic,
                  f"{name}: {one} is not stripped")


def check_package(name, package, patterns, work):
    os.makedirs(os.path.join(work, "tree"), exist_ok=True)
    tree = os.path.join(work, "tree", name)
    subprocess.run(["dpkg-deb", "-R", package, tree], check=True)
    files = files_of(package)
    check_contents(name, files, patterns)
    check_control(name, package, files, tree)
    check_objects(name, tree)


def check_lintian(packages):
    suppressed = list(SUPPRESSED)
    if not any("/usr/share/man/" in output("dpkg-deb", "-c", package) for package in packages):
        suppressed.append("no-manual-page")
    if not shutil.which("lintian"):
        if "CKCACHE_TEST_REQUIRE_DRIVERS" in os.environ:
            failures.append("lintian is not installed")
        else:
            print("lintian is not installed: not asked")
        return
    command = ["lintian", "--fail-on", "error,warning", "--suppress-tags",
               ",".join(suppressed)]
    if os.geteuid() == 0:
        command.append("--allow-root")
    check(subprocess.run(command + packages, check=False).returncode == 0, "lintian")


def check_equal(first, second):
    check(first.keys() == second.keys(), "the second time there are others")
    for name in first.keys() & second.keys():
        same = subprocess.run(["cmp", first[name], second[name]], check=False).returncode == 0
        check(same, f"{name} is not the same the second time")


def main():
    cmake, source, build = sys.argv[1:]
    for tool in ("dpkg-deb", "dpkg-shlibdeps", "dpkg-gensymbols", "file"):
        if not shutil.which(tool):
            print(f"{tool} is not installed")
            return SKIPPED
    cpack = os.path.join(os.path.dirname(cmake), "cpack")
    patterns = patterns_of(source)
    with tempfile.TemporaryDirectory() as work:
        if prefix_of(build) != "/usr":
            build = make_build(cmake, source, os.path.join(work, "build"))
        packages = pack(cpack, build, os.path.join(work, "first"), 0o022)
        again = pack(cpack, build, os.path.join(work, "a", "second"), 0o077, TZ="Asia/Tokyo")
        check_equal(packages, again)
        products = {name: path for name, path in packages.items()
                    if not name.endswith("-dbgsym")}
        check(products.keys() == patterns.keys() or not os.path.exists(
            "/usr/include/level_zero/ze_api.h"), f"there are {sorted(products)}")
        for name, path in products.items():
            check_package(name, path, patterns.get(name, []), work)
        check_lintian(list(products.values()))
    for failure in failures:
        print("FAILED:", failure)
    print(f"{len(packages)} packages, {len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
