#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds for release and measures. Arguments go to bench.py, or to level_zero.py; see their --help:
#   sh tests/bench/run.sh [--runs N] [--drivers NEO,rusticl,pocl] [--parts ...] [--smoke]
#   sh tests/bench/run.sh level-zero [--runs N] [--sizes small,medium,large] [--smoke]
set -eu
cd "$(dirname "$0")/../.."
build=${BUILD_DIR:-build-bench}
script=bench.py
targets="bench_client bench_memory ckcache ckcache_opencl"
if [ "${1:-}" = level-zero ]; then
	shift
	script=level_zero.py
	targets="bench_module bench_client ckcache ckcache_opencl ckcache_level_zero ckcache_slot ckcache_preload"
fi
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCKCACHE_TESTS=ON >/dev/null
# shellcheck disable=SC2086  # targets are words
cmake --build "$build" --target $targets
export PYTHONDONTWRITEBYTECODE=1
exec python3 "tests/bench/$script" --build "$build" "$@"
