#!/bin/sh
# SPDX-License-Identifier: MIT
# Any Level Zero program on Intel's driver without hardware: without the layer,
# with an empty cache, and again. The exit code and what it prints, numbers
# aside, must be the same three times, and the last run must compile nothing.
#   CKCACHE=/path/of/ckcache sh tests/conformance/level_zero.sh PROGRAM [ARGUMENT...]
# Kernels do not run there, so a program that checks its results says the same
# wrong thing each time; one that waits for results can't be used. Variables:
#   WAY      run (`ckcache run`, the default), preload (the shim), slot (the
#            loader's own variable, which asks for the validation layer), loader
#            (ZE_ENABLE_LAYERS=ckcache alone: for a LOADER with the patch of
#            docs/upstream)
#   LOADER   a directory with another libze_loader.so.1 than the system's
#   FILES    a directory of what PROGRAM looks for in its working directory
#   PRODUCT  tgllp (the default), dg2, pvc
#   RUNS     rounds of the three runs (1); the times are the medians of them
#   LIMIT    seconds after which a run has failed (300)
# Exit code: 77 without the driver.
set -eu
[ $# -gt 0 ] || {
	sed -n '3,/^set/s/^# \{0,1\}//p' "$0" >&2
	exit 2
}
ls /usr/lib/*/libze_intel_gpu.so.1 >/dev/null 2>&1 || {
	echo 'SKIPPED: no Level Zero driver'
	exit 77
}
here=$(cd "$(dirname "$0")" && pwd)
slot=$(cd "$(dirname "$CKCACHE")/../lib/ckcache" && pwd)
way=${WAY:-run}
case $way in
run | preload | slot | loader) ;;
*)
	echo "no such way: $way" >&2
	exit 2
	;;
esac
runs=${RUNS:-1}
limit=${LIMIT:-300}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
files=${FILES:+$(cd "$FILES" && pwd)}
library_path=${LOADER:+$(cd "$LOADER" && pwd)}
library_path=$library_path${LD_LIBRARY_PATH:+${library_path:+:}$LD_LIBRARY_PATH}
. "$here/drivers.sh"
use_driver neo
# What drivers keep by themselves since 24.13, in the user's home.
export NEO_CACHE_PERSISTENT=0
# As tests/level_zero/intel.h says.
export HardwareInfoOverride=1x6x16 UseAubStream=0 UseBindlessMode=0
export UseExternalAllocatorForSshAndDsh=0 OverrideMaxWorkgroupSize=1024
export ProductFamilyOverride="${PRODUCT:-tgllp}"

# bare COMMAND...: with the loader that was asked for.
bare()
{
	env ${library_path:+"LD_LIBRARY_PATH=$library_path"} "$@"
}

layered()
{
	case $way in
	run) bare "$CKCACHE" run -- "$@" ;;
	preload) bare LD_PRELOAD="$slot/libckcache_preload.so" ZE_ENABLE_LAYERS=ckcache "$@" ;;
	slot)
		env LD_LIBRARY_PATH="$slot${library_path:+:$library_path}" \
			ZE_ENABLE_VALIDATION_LAYER=1 ZE_ENABLE_LAYERS=ckcache "$@"
		;;
	loader)
		# Where a package puts the layer, no path is needed.
		env LD_LIBRARY_PATH="${slot%/*}${library_path:+:$library_path}" ZE_ENABLE_LAYERS=ckcache "$@"
		;;
	esac
}

# once NAME FUNCTION COMMAND...: in a directory of its own; NAME.text is what the command
# said and how it ended, NAME.trace what the cache did; a line is added to NAME.ms.
once()
{
	name=$1
	shift
	rm -rf "$work/here"
	mkdir "$work/here"
	cd "$work/here"
	[ -z "$files" ] || ln -s "$files"/* .
	: >"$work/$name.trace"
	export CKCACHE_TRACE="$work/$name.trace"
	start=$(date +%s%N)
	status=0
	"$@" >"$work/output" 2>&1 || status=$?
	echo $((($(date +%s%N) - start) / 1000000)) >>"$work/$name.ms"
	cd "$work"
	[ "$status" -ne 124 ] || {
		echo "$name: not ended within $limit s" >&2
		exit 1
	}
	{
		# Times and addresses, which are never the same twice.
		sed -E 's/0x[0-9a-f]+|[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?/N/g' output
		echo "exit code $status"
	} >"$work/$name.text"
}

# count NAME EVENT: in the trace of a run. A program that aborts has no statistics.
count()
{
	grep -c "\"event\":\"$2\"" "$work/$1.trace" || true
}

median()
{
	sort -n "$work/$1.ms" | sed -n "$(((runs + 1) / 2))p"
}

for run in $(seq "$runs"); do
	rm -rf "$CKCACHE_DIR"
	once bare bare timeout "$limit" "$@"
	for name in cold warm; do
		once "$name" layered timeout "$limit" "$@"
		diff -u bare.text "$name.text" >&2 || {
			echo "$name: not what it is without the layer" >&2
			exit 1
		}
		echo "round $run, $name: $(count "$name" miss) misses, $(count "$name" hit-disk) hits on disk," \
			"$(count "$name" hit-memory) in memory, $(count "$name" bypass) bypassed;" \
			"$(tail -n 1 "$name.text")"
	done
	if [ "$(count cold miss)" -eq 0 ] || [ "$(count warm miss)" -ne 0 ] || [ "$(count warm hit-disk)" -eq 0 ]; then
		echo "the cold run compiled nothing, or the warm one something" >&2
		exit 1
	fi
done
echo "without $(median bare) ms, cold $(median cold) ms, warm $(median warm) ms:" \
	"warm is $(($(median warm) * 1000 / $(median bare)))/1000 of the time without"
