#!/bin/sh
# SPDX-License-Identifier: MIT
# A PyOpenCL script, with PyOpenCL's own cache emptied each time and without
# it: the second run compiles nothing.
#   LAYER=... CKCACHE=/path/of/ckcache sh tests/conformance/pyopencl.sh DRIVER
# Exit code: 77 without PyOpenCL.
set -eu
python=/usr/bin/python3	# Debian's, which has Debian's packages
"$python" -c 'import pyopencl' 2>/dev/null || {
	echo 'SKIPPED: no PyOpenCL'
	exit 77
}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/drivers.sh"
use_driver "$1"

# count NAME: of the cache's statistics.
count()
{
	"$CKCACHE" stats --json | "$python" -c "import json, sys; print(json.load(sys.stdin)['$1'])"
}

for way in cached plain; do
	rm -rf "$work/cache"
	for run in 1 2; do
		rm -rf "$work/home"
		with_layer "$python" -B "$here/pyopencl_client.py" "$way" "$1"
		echo "$way, run $run: $(count misses) misses, $(count hits_disk) hits on disk"
	done
	[ "$(count misses)" -eq 2 ] && [ "$(count hits_disk)" -eq 2 ] || {
		echo "the second run compiled" >&2
		exit 1
	}
done
