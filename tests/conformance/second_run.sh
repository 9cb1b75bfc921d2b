#!/bin/sh
# SPDX-License-Identifier: MIT
# A program twice: the second run compiles nothing, and the driver's own cache is as by default.
#   LAYER=... CKCACHE=/path/of/ckcache sh tests/conformance/second_run.sh DRIVER PROGRAM [ARGUMENT...]
# Exit code: 77 without the program.
set -eu
driver=$1
shift
command -v "$1" >/dev/null || {
	echo "SKIPPED: no $1"
	exit 77
}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/drivers.sh"
use_driver "$driver"

# count NAME: of the cache's statistics.
count()
{
	"$CKCACHE" stats --json | sed -n "s/^ *\"$1\": \([0-9]*\),*$/\1/p"
}

# once NUMBER COMMAND...
once()
{
	number=$1
	shift
	start=$(date +%s%N)
	"$CKCACHE" run -- "$@" >"$work/output" 2>&1 || {
		tail -n 5 "$work/output"
		exit 1
	}
	echo "run $number: $((($(date +%s%N) - start) / 1000000)) ms, $(count misses) misses, $(count stores) stored, $(count hits_disk) hits on disk"
}

once 1 "$@"
[ "$(count stores)" -gt 0 ] && [ "$(count stores)" -eq "$(count misses)" ] || {
	"$CKCACHE" explain
	exit 1
}
"$CKCACHE" stats --zero >"$work/output"
once 2 "$@"
[ "$(count misses)" -eq 0 ] && [ "$(count hits_disk)" -gt 0 ] || {
	"$CKCACHE" explain
	echo "the second run compiled" >&2
	exit 1
}
