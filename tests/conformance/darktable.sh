#!/bin/sh
# SPDX-License-Identifier: MIT
# darktable's kernels, by darktable-cltest, with darktable's own cache emptied each time: the
# second run builds nothing, and finds as many programs as the first one stored.
#   LAYER=... CKCACHE=/path/of/ckcache sh tests/conformance/darktable.sh DRIVER
# Exit code: 77 without darktable.
set -eu
command -v darktable-cltest >/dev/null || {
	echo 'SKIPPED: no darktable-cltest'
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
	"$CKCACHE" stats --json | sed -n "s/^ *\"$1\": \([0-9]*\),*$/\1/p"
}

for run in cold warm; do
	mkdir "$work/$run"
	with_layer darktable-cltest --configdir "$work/$run/config" --cachedir "$work/$run/kernels" \
		>"$work/$run.log" 2>&1 || {
		tail -n 20 "$work/$run.log"
		exit 1
	}
	echo "$run: $(count misses) built, $(count hits_disk) hits"
	[ "$run" = warm ] || {
		built=$(count misses)
		"$CKCACHE" stats --zero >"$work/zero"
	}
done
[ "$built" -gt 0 ] && [ "$(count misses)" -eq 0 ] && [ "$(count hits_disk)" -ge "$built" ]
