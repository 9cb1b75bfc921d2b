#!/bin/sh
# SPDX-License-Identifier: MIT
# Shows what ckcache does to an unmodified application of Debian 12: builds it
# into ./build (or $BUILD_DIR), runs darktable-cltest cold and warm with
# darktable's own kernel cache emptied each time, and prints a table. On a GPU
# where there is one, else on Intel's compiler without hardware. Everything
# but the build lies in a temporary directory that is removed at the end.
# Exit code: 0 if the warm run built nothing, 1 otherwise.
set -eu
cd "$(dirname "$0")/.."
source_dir=$PWD
. tools/packages.sh

install_packages gcc libc6-dev cmake ninja-build pkg-config libxxhash-dev libdeflate-dev \
	libssl-dev uthash-dev opencl-headers ocl-icd-opencl-dev ocl-icd-libopencl1 intel-opencl-icd \
	darktable clinfo python3

build=${BUILD_DIR:-build}
echo "Building into $build"
generator=
[ -e "$build/CMakeCache.txt" ] || generator='-G Ninja'
# shellcheck disable=SC2086  # two words or none
cmake -S . -B "$build" $generator >/dev/null
cmake --build "$build"
case $build in
/*) ckcache=$build/bin/ckcache ;;
*) ckcache=$source_dir/$build/bin/ckcache ;;
esac

work=$(mktemp -d "${TMPDIR:-/tmp}/ckcache-quickstart.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
cd "$work"

# The application and the cache see only what is set here.
for name in $(env | sed -n 's/^\(CKCACHE_[A-Z_]*\|OPENCL_LAYERS\)=.*/\1/p'); do
	unset "$name"
done
export CKCACHE_DIR="$work/cache"

if timeout 60 clinfo --raw 2>/dev/null | grep -q 'CL_DEVICE_TYPE  *.*CL_DEVICE_TYPE_GPU'; then
	echo "Driver: the GPU of this machine"
else
	echo "Driver: Intel's compiler without hardware (no GPU found)"
	mkdir vendors
	cat /etc/OpenCL/vendors/intel.icd >vendors/intel.icd
	export OCL_ICD_VENDORS="$work/vendors" NEOReadDebugKeys=1 SetCommandStreamReceiver=1 \
		ProductFamilyOverride=tgllp
fi

# run NAME: one run with empty directories of its own; its output goes to NAME.txt.
run()
{
	mkdir "$1" "$1/config" "$1/kernels"
	if ! (cd "$1" && "$ckcache" run -- darktable-cltest --configdir "$work/$1/config" \
		--cachedir "$work/$1/kernels" >"$work/$1.txt" 2>&1 </dev/null); then
		echo "darktable-cltest failed, its last lines:" >&2
		tail -n 20 "$work/$1.txt" >&2
		exit 1
	fi
	"$ckcache" stats --json >"$work/$1.json"
	grep -h '^ckcache' "$work/$1.txt" || true	# what the layer had to say
}

echo "Cold run (compiles everything: half a minute)"
run cold
"$ckcache" stats --zero >/dev/null
echo "Warm run"
run warm

python3 - <<'END'
import json
import re
import sys


def read(run):
    with open(run + ".json", encoding="utf-8") as counted:
        stats = json.load(counted)
    with open(run + ".txt", encoding="utf-8", errors="replace") as output:
        loading = re.findall(r"KERNEL LOADING TIME:\s*([0-9.]+)", output.read())
    stats["loading"] = sum(float(value) for value in loading) if loading else None
    stats["hits"] = stats["hits_memory"] + stats["hits_disk"]
    stats["bypassed"] = sum(stats["bypasses"].values())
    stats["built"] = stats["misses"] + stats["bypassed"]
    return stats


cold, warm = read("cold"), read("warm")
rows = [
    ("kernel loading time", lambda run: "%.3f s" % run["loading"] if run["loading"] is not None else "not reported"),
    ("programs built", lambda run: run["built"]),
    ("hits", lambda run: run["hits"]),
    ("misses", lambda run: run["misses"]),
    ("compile time spent", lambda run: "%.1f s" % (run["compile_ms_spent"] / 1000)),
    ("compile time saved", lambda run: "%.1f s" % (run["compile_ms_saved"] / 1000)),
]
print("\n%-22s %14s %14s" % ("", "cold", "warm"))
for name, value in rows:
    print("%-22s %14s %14s" % (name, value(cold), value(warm)))
for name, run in (("cold", cold), ("warm", warm)):
    for reason, count in sorted(run["bypasses"].items()):
        print("%s run: %d built without the cache: %s" % (name, count, reason))
    if run["errors"]:
        print("%s run: %d errors" % (name, run["errors"]))
good = warm["built"] == 0 and warm["hits"] > 0 and warm["loading"] is not None
if good and warm["loading"] and cold["loading"]:
    print("\nThe second run built nothing: %.0f times faster." % (cold["loading"] / warm["loading"]))
elif not good:
    print("\nThe second run should have built nothing.")
sys.exit(0 if good else 1)
END
