# SPDX-License-Identifier: MIT
"""Makes the packages as tools/build_packages.sh does, and examines them.

    packages.py deb|rpm SOURCE

Exit code 77: what makes them, or what their build needs, is not installed.
"""
import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
# What the packages of Fedora are called, and what is in none of Debian's and in no documents' folder.
RPM = {"libckcache-opencl": "ckcache-opencl", "libckcache-level-zero": "ckcache-level-zero",
       "libckcache-dev": "ckcache-devel", "libcachecore-dev": "cachecore-devel"}
MULTI_ARCH = {"ckcache": "foreign", "ckcache-storage": "foreign"}
SECTIONS = {"ckcache": "utils", "ckcache-storage": "utils", "libckcache-dev": "libdevel", "libcachecore-dev": "libdevel"}
LIBRARIES = ("libc6", "libdeflate0")
DEPENDS = {
    "ckcache": LIBRARIES + ("libjson-c5", "libckcache-opencl (= {version})"),
    "ckcache-storage": ("libc6", "libhiredis0.14", "libcurl4"),
    "libckcache-opencl": ("libckcache1 (= {version})",),
    "libckcache-level-zero": ("libc6", "libckcache1 (= {version})"),
    "libckcache1": LIBRARIES,
    "libckcache-dev": ("libckcache1 (= {version})",),
    "libcachecore-dev": ("libdeflate-dev",),
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


def build(kind, source, work):
    """The paths of the packages by their name."""
    directory = os.path.join(work, "packages")
    done = subprocess.run(["sh", os.path.join(source, "tools/build_packages.sh"), kind, directory],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(done.stdout[-5000:])
    divider = {"deb": "_", "rpm": "-%s-" % version_of(source)}[kind]
    return {name.split(divider)[0]: os.path.join(directory, name) for name in sorted(os.listdir(directory))}


def version_of(source):
    with open(os.path.join(source, "CMakeLists.txt"), encoding="utf-8") as cmake:
        return re.search(r"^project\(ckcache VERSION ([0-9.]+)", cmake.read(), re.M).group(1)


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
    optional = ["/usr/share/lintian/overrides/" + name, documents + "changelog.gz"]
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
            echo kept >/var/lib/target
            ln -sf /var/lib/target /var/lib/ckcache/changed
            ./postinst triggered /etc/OpenCL/vendors
            [ "$(cat /var/lib/target)" = kept ] && [ ! -L /var/lib/ckcache/changed ]
            rm /var/lib/target
            [ "$(ls -A /var/lib/ckcache)" = changed ]
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
    command = ["lintian", "--pedantic", "--fail-on", "error,warning,pedantic"]
    if os.geteuid() == 0:
        command.append("--allow-root")
    check_by(command + packages)


def check_by(command):
    if shutil.which(command[0]):
        check(subprocess.run(command, check=False).returncode == 0, command[0])
    elif "CKCACHE_TEST_REQUIRE_DRIVERS" in os.environ and command[0] == "lintian":
        failures.append("lintian is not installed")
    else:
        print(command[0], "is not installed: not asked")


def check_rpm(name, package, patterns):
    """What a package of Debian has in its own places, that of Fedora has in Fedora's."""
    listed = output("rpm", "-qp", "--qf", "[%{FILEMODES:perms} %{FILENAMES}\\n]", package).splitlines()
    paths = [line.split()[1] for line in listed if not line.startswith("d")]
    wanted, optional = [], ["/usr/share/licenses/*"]
    for pattern in patterns:
        path = pattern.lstrip("?").replace("/usr/lib/*/", "/usr/lib64/").replace("vendor-completions", "site-functions")
        path = path.replace("/changelog.gz", "/CHANGELOG.md")
        (optional if pattern.startswith("?") else wanted).append(path)
    for pattern in wanted:
        check(fnmatch.filter(paths, pattern), f"{name}.rpm: nothing is {pattern}")
    for path in paths:
        check(any(fnmatch.fnmatch(path, pattern) for pattern in wanted + optional),
              f"{name}.rpm: {path} is not expected")
    settings = [path for path in wanted if path.startswith("/etc/")]
    check(output("rpm", "-qcp", package).split() == settings, f"{name}.rpm: configuration files")
    if name == "ckcache":
        triggers = output("rpm", "-qp", "--filetriggers", package)
        check(triggers.count("/etc/OpenCL/vendors") == 2, f"{name}.rpm: {triggers}")
        check_preun(output("rpm", "-qp", "--qf", "%{PREUN}", package), paths)


def check_preun(script, paths):
    """A package that goes stops each of its units, of the machine and of users; one that is replaced none."""
    with tempfile.TemporaryDirectory() as work:
        for name in ("helper", "systemctl"):
            with open(os.path.join(work, name), "w", encoding="utf-8") as file:
                file.write('#!/bin/sh\necho "$@"\n')
            os.chmod(file.name, 0o755)
        script = script.replace("/usr/lib/systemd/systemd-update-helper", "%s/helper" % work).replace(
            "/run/systemd/system", work).replace(">/dev/null 2>&1", "")
        units = {kind: sorted(os.path.basename(path) for path in paths if path.startswith("/usr/lib/systemd/%s/" % kind))
                 for kind in ("system", "user")}

        def ran(count):
            said = output("env", "PATH=%s:%s" % (work, os.environ["PATH"]), "sh", "-euc", script, "sh", str(count))
            return [" ".join(line.split()[:1] + sorted(line.split()[1:])) for line in said.splitlines()]
        check(all(units.values()), f"units: {units}")
        check(ran(1) == [], "an upgrade stops units")
        check(ran(0) == ["remove-%s-units %s" % (kind, " ".join(units[kind])) for kind in ("system", "user")],
              f"removal: {ran(0)}")
        os.remove(os.path.join(work, "helper"))
        check(ran(0) == ["--no-reload " + " ".join(sorted(["disable", "--now"] + units["system"]))],
              f"removal without the helper: {ran(0)}")


def missing(kind, source):
    for tool in {"deb": ("dh", "dpkg-buildpackage", "dpkg-checkbuilddeps"), "rpm": ("rpmbuild", "dpkg-checkbuilddeps")}[kind]:
        if not shutil.which(tool):
            return f"{tool} is not installed"
    done = subprocess.run(["dpkg-checkbuilddeps", "-Pnocheck"], cwd=source, check=False, stderr=subprocess.PIPE, text=True)
    return done.stderr.strip()


def main():
    kind, source = sys.argv[1:]
    why = missing(kind, source)
    if why:
        print("SKIPPED: " + why)
        return SKIPPED
    patterns = patterns_of(source)
    with tempfile.TemporaryDirectory() as work:
        packages = build(kind, source, work)
        if kind == "deb":
            products = {name: path for name, path in packages.items() if not name.endswith("-dbgsym")}
            check(products.keys() == patterns.keys(), f"there are {sorted(products)}")
            for name, path in products.items():
                check_package(name, path, patterns.get(name, []), work)
            check_lintian(list(packages.values()))
        else:
            names = {RPM.get(name, name): name for name in patterns}
            check(packages.keys() == names.keys(), f"there are {sorted(packages)}")
            for name in packages.keys() & names.keys():
                check_rpm(name, packages[name], patterns[names[name]])
            check_by(["rpmlint", "-c", os.path.join(source, "cmake/packages/rpmlint.toml"),
                      os.path.join(source, "cmake/packages/ckcache.spec"), *packages.values()])
    for failure in failures:
        print("FAILED:", failure)
    print(f"{len(packages)} packages, {len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
