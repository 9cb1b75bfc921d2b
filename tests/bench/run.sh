#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds for release and measures. Arguments go to bench.py, see its --help:
#   sh tests/bench/run.sh [--runs N] [--drivers NEO,rusticl,pocl] [--parts ...] [--smoke]
set -eu
cd "$(dirname "$0")/../.."
build=${BUILD_DIR:-build-bench}
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCKCACHE_TESTS=ON >/dev/null
cmake --build "$build" --target bench_client bench_memory ckcache ckcache_opencl
export PYTHONDONTWRITEBYTECODE=1
exec python3 tests/bench/bench.py --build "$build" "$@"
