#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds for release and measures. Arguments go to bench.py, drivers.py, level_zero.py, store.py, blobs.py, codec.py or bench_memory; see their --help:
#   sh tests/bench/run.sh [--runs N] [--drivers NEO,rusticl,pocl] [--parts ...] [--smoke]
#   sh tests/bench/run.sh drivers [--runs N] [--drivers NEO,nvidia,...] [--write FILE] [--smoke]
#   sh tests/bench/run.sh level-zero [--runs N] [--sizes small,medium,large] [--smoke]
#   sh tests/bench/run.sh store [--entries N] [--runs N] [--parts ...] [--dir DIRECTORY] [--smoke]
#   sh tests/bench/run.sh blobs [--runs N] [--drivers NEO,rusticl,pocl] [--sizes small,large] [--smoke]
#   sh tests/bench/run.sh remote [--runs N] [--length BYTES] [--hosts N] [--parts look-ups,cold] [--smoke]
#   sh tests/bench/run.sh memory [--rounds N] [--unjudged | --smoke]
#   sh tests/bench/run.sh codec [--runs N] [--drivers NEO,rusticl,pocl,level-zero] [FILE...]
set -eu
cd "$(dirname "$0")/../.."
build=${BUILD_DIR:-build-bench}
script=${1:-}
case $script in
drivers) targets="bench_client ckcache ckcache_library ckcache-remote offline_amd" ;;
level-zero)
	targets="bench_module bench_client ckcache ckcache_library ckcache_level_zero ckcache_slot ckcache_preload"
	script=level_zero
	;;
store)
	targets="bench_store bench_client ckcache ckcache_library stub_driver"
	# Where Level Zero's headers are: its stub driver too.
	optional="level_zero_client stub_gpu ckcache_level_zero ckcache_slot ckcache_preload"
	;;
blobs) targets="bench_blob bench_client ckcache ckcache_library" ;;
memory) targets=bench_memory ;;
remote)
	targets="bench_remote kernels_client stub_driver ckcache ckcache-remote ckcache_library ckcache-storage-file ckcache-storage-redis"
	;;
codec)
	targets="bench_client bench_codec bench_module ckcache ckcache_library ckcache_level_zero ckcache_slot ckcache_preload"
	;;
*)
	targets="bench_client bench_memory ckcache ckcache_library"
	script=bench
	;;
esac
[ "$script" = bench ] || shift
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCKCACHE_TESTS=ON >/dev/null
# shellcheck disable=SC2086  # targets are words
cmake --build "$build" --target $targets
# shellcheck disable=SC2086  # likewise
[ -z "${optional:-}" ] || cmake --build "$build" --target $optional || true
[ "$script" != memory ] || exec "$build/bin/bench_memory" "$@"
export PYTHONDONTWRITEBYTECODE=1
exec python3 "tests/bench/$script.py" --build "$build" "$@"
