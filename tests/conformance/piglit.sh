#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs piglit's OpenCL profile without the layer, under it cold, and under it
# warm, and compares test by test.
#   LAYER=/path/of/libckcache_opencl.so sh tests/conformance/piglit.sh DRIVER [PATTERN...]
# DRIVER: rusticl, pocl. PATTERN: piglit's -t, e.g. '^api'. All of it takes half
# an hour on rusticl, some hours on pocl. Exit code: 0 where nothing that
# passed without the layer fails under it; 77 without piglit.
set -eu
command -v piglit >/dev/null || {
	echo 'SKIPPED: no piglit'
	exit 77
}
here=$(cd "$(dirname "$0")" && pwd)
driver=$1
shift
patterns=
for pattern; do
	patterns="$patterns -t $pattern"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/drivers.sh"
use_driver "$driver"

run()
{
	# shellcheck disable=SC2086  # patterns are words
	piglit run -l quiet -j"$(nproc)" $patterns cl "$work/$1" -o >"$work/$1.log" 2>&1 || {
		tail -n 5 "$work/$1.log"
		exit 1
	}
}

run bare
with_layer run cold
with_layer run warm
piglit summary console -d bare cold warm
"${LAYER%/lib/*}/bin/ckcache" stats
python3 -B "$here/compare.py" bare cold warm
