#!/bin/sh
# SPDX-License-Identifier: MIT
# CLBlast's tuner on a driver whose binaries are read by `ckcache replay`: the
# first run leaves recipes, the second one after a replay builds nothing, and
# all results of both are right. Where the driver crashes in the tuner (pocl 7.1
# does), it must crash after as many right results as without the layer.
#   CKCACHE=/path/of/ckcache sh tests/conformance/replay.sh DRIVER [PAIRS]
# PAIRS (0): first runs with the layer and runs without it, in turns, whose
# median ratio is printed. Exit code: 77 without CLBlast's tuners.
set -eu
command -v clblast_tuner_xaxpy >/dev/null || {
	echo 'SKIPPED: no clblast_tuner_xaxpy'
	exit 77
}
here=$(cd "$(dirname "$0")" && pwd)
pairs=${2:-0}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/drivers.sh"
use_driver "$1"
unset POCL_KERNEL_CACHE
export CKCACHE_CAPTURE=deferred

# tune COMMAND...: with an empty cache of the driver's own; its time in ms into $took,
# the number of right results into $matches, how it ended into $status.
tune()
{
	rm -rf "$work/pocl"
	mkdir "$work/pocl"
	start=$(date +%s%N)
	status=0
	"$@" clblast_tuner_xaxpy -platform 0 -device 0 -runs 1 -precision 32 >"$work/tuner.log" 2>&1 || status=$?
	[ "$status" -eq 0 ] || [ "$status" -ge 128 ] || {
		tail -n 5 "$work/tuner.log"
		exit 1
	}
	took=$((($(date +%s%N) - start) / 1000000))
	matches=$(grep -c 'results match' "$work/tuner.log")
}

# count NAME: of the cache's statistics.
count()
{
	"$CKCACHE" stats --json | sed -n "s/^ *\"$1\": \([0-9]*\),*$/\1/p"
}

: >"$work/ratios"
for pair in $(seq "$pairs"); do
	[ $((pair % 2)) -eq 0 ] || { tune env; bare=$took; }
	rm -rf "$CKCACHE_DIR"
	tune "$CKCACHE" run --
	layered=$took
	[ $((pair % 2)) -eq 1 ] || { tune env; bare=$took; }
	echo "without $bare ms, first run with the layer $layered ms"
	echo $((layered * 1000 / bare)) >>"$work/ratios"
done
[ "$pairs" -eq 0 ] || sort -n "$work/ratios" | sed -n "$(((pairs + 1) / 2))s|\$|/1000 of the time without, in the median|p"

rm -rf "$CKCACHE_DIR"
tune "$CKCACHE" run --
first=$matches
ended=$status
echo "first run: $took ms, $matches results match, $(count deferred) builds deferred, $(count recipes) recipes"
[ "$(count recipes)" -gt 0 ] && [ "$(count stores)" -eq 0 ]
[ "$ended" -eq 0 ] || {
	tune env
	echo "without the layer: $matches results match, exit code $status; first run: exit code $ended"
	[ "$matches" -eq "$first" ] && [ "$status" -eq "$ended" ]
}
start=$(date +%s%N)
"$CKCACHE" replay
echo "replay: $((($(date +%s%N) - start) / 1000000)) ms"
[ "$(count recipes)" -eq 0 ]
"$CKCACHE" stats --zero >"$work/stats.log"
tune "$CKCACHE" run --
echo "second run: $took ms, $matches results match, $(count misses) misses, $(count hits_disk) hits"
[ "$matches" -eq "$first" ] && [ "$status" -eq "$ended" ] && [ "$(count misses)" -eq 0 ] && [ "$(count hits_disk)" -gt 0 ]
