# SPDX-License-Identifier: MIT
"""The environment of a process that a test starts: made from nothing, with the driver, the layer
and the cache that the test names. And what the stub drivers say of their calls.
"""
import glob
import os

# Real drivers: the pattern of the file, and what it takes to have a device without hardware.
DRIVERS = {
    "neo": ("/usr/lib/*/intel-opencl/libigdrcl.so",
            {"NEOReadDebugKeys": "1", "SetCommandStreamReceiver": "1",
             "ProductFamilyOverride": "tgllp", "HardwareInfoOverride": "1x6x16",
             "UseAubStream": "0", "NEO_CACHE_PERSISTENT": "0"}),
    "rusticl": ("/usr/lib/*/libRusticlOpenCL.so.1", {"RUSTICL_ENABLE": "llvmpipe"}),
    "pocl": ("/usr/lib/*/libpocl.so.2*", {}),
    "oclgrind": ("/usr/lib/oclgrind/liboclgrind-rt-icd.so", {}),
    "nvidia": ("/usr/lib/*/libnvidia-opencl.so.1", {}),
}


GUARDS = (23, 24, -6)	# what guard.c and the leak checker end with


def driver_file(name):
    """The driver's file; None: it is not installed."""
    found = sorted(glob.glob(DRIVERS[name][0]))
    return found[0] if found else None


def stub_driver(build):
    """OpenCL's."""
    return os.path.join(build, "lib", "libstub_driver.so")


def stub_gpu(build):
    """Level Zero's."""
    return os.path.join(build, "tests", "level_zero", "stub", "libze_stub_gpu.so")


def made(home, cache=None, **more):
    """Of the caller's own a sanitizer's options alone; cache: its directory, with no read-only ones.
    More variables; those that are None are not there.
    """
    # No directory in PATH is closed to anybody, as some user's own may be.
    env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": home,
           "CKCACHE_DIR": cache, "CKCACHE_READ_ONLY_DIRS": cache and "", "CKCACHE_REPLAY": cache and "0",
           **{name: value for name, value in os.environ.items() if "SAN_OPTIONS" in name}, **more}
    return {name: value for name, value in env.items() if value is not None}


def guard(build, more=None):
    """What looks for leaks and the like (guard.c), for LD_PRELOAD; more: what else is to be preloaded.
    Not where other users cannot load it, as in root's home: tests have such, and the linker complains.
    """
    names = [os.path.join(build, "lib", name) for name in ("libguard.so", "libguard_leaks.so")]
    folder = os.path.realpath(os.path.join(build, "lib"))
    while folder != "/":
        if not os.stat(folder).st_mode & 0o001:
            names = []
        folder = os.path.dirname(folder)
    return ":".join([name for name in names if os.path.exists(name)] + ([more] if more else [])) or None


def drivers(work, *libraries):
    """The variable that names OpenCL drivers to the loader, by a folder in work: these, and those of
    earlier calls. Nobody reads their files meanwhile.
    """
    folder = os.path.join(work, "vendors")
    os.makedirs(folder, exist_ok=True)
    for number, library in enumerate(libraries):
        with open(os.path.join(folder, "%d.icd" % number), "w", encoding="utf-8") as file:
            file.write(library + "\n")
    return {"OCL_ICD_VENDORS": folder}


def opencl(build, layer="lib/libckcache_opencl.so"):
    """The layer is on, under the loader that CKCACHE_TEST_LOADER_DIR names, if it does."""
    loader = os.environ.get("CKCACHE_TEST_LOADER_DIR")
    return {"OPENCL_LAYERS": os.path.join(build, layer), **({"LD_LIBRARY_PATH": loader} if loader else {})}


def level_zero(build, driver=None):
    """The plugin is on; driver: instead of those that the loader finds."""
    return {"LD_PRELOAD": os.path.join(build, "lib", "ckcache", "libckcache_preload.so"), "ZE_ENABLE_LAYERS": "ckcache",
            **({"ZE_ENABLE_ALT_DRIVERS": driver} if driver else {})}


def counted(counts, event="build-source"):
    """How often a stub driver did that, by the file that STUB_COUNTS names."""
    if not os.path.exists(counts):
        return 0
    with open(counts, encoding="utf-8") as file:
        return file.read().splitlines().count(event)
