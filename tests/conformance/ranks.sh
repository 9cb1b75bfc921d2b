#!/bin/sh
# SPDX-License-Identifier: MIT
# Cold ranks of one node under Open MPI, for one program each: one compile in all. The cache is on
# a disk of the machine, then on a network file system, by what fstatfs says; on NEO also with
# a device mask for each rank.
#   BUILD=/path/of/build sh tests/conformance/ranks.sh DRIVER [RANKS]
# Exit code: 77 without mpirun; 1 if anything was compiled twice.
set -eu
command -v mpirun >/dev/null || {
	echo 'SKIPPED: no mpirun'
	exit 77
}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
LAYER=$BUILD/lib/libckcache_opencl.so
. "$here/drivers.sh"
use_driver "$1"
ranks=${2:-64}
mkdir -m 700 "$work/run"
cat >"$work/rank.sh" <<'RANK'
[ "$WAY" != masks ] || export ZE_AFFINITY_MASK=$((OMPI_COMM_WORLD_RANK % 2)) CreateMultipleRootDevices=2
[ "$WAY" != network ] || export LD_PRELOAD="$BUILD/lib/libhostile_remote.so" REMOTE_BELOW="$CKCACHE_DIR"
OPENCL_LAYERS=$LAYER exec "$BUILD/bin/bench_client" source "$SOURCE"
RANK
export BUILD LAYER SOURCE="$here/../bench/small.cl" XDG_RUNTIME_DIR="$work/run" WAY
code=0
for WAY in disk network masks; do
	[ "$WAY" != masks ] || [ "$1" = neo ] || continue
	rm -rf "$work/cache"
	mpirun --allow-run-as-root --oversubscribe -np "$ranks" sh "$work/rank.sh" >"$work/times"
	misses=$("$BUILD/bin/ckcache" stats --json | sed -n 's/.*"misses": *\([0-9]*\).*/\1/p')
	sort -n "$work/times" | awk -v way="$WAY" -v misses="$misses" '{ ms[NR] = $1 / 1e6 } END {
		printf "%s: %d ranks, %d compiled; median %.0f, last %.0f ms\n", way, NR, misses,
			ms[int((NR + 1) / 2)], ms[NR] }'
	[ "$misses" -eq 1 ] && [ "$(wc -l <"$work/times")" -eq "$ranks" ] || code=1
done
exit $code
