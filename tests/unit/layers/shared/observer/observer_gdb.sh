#!/bin/sh
# SPDX-License-Identifier: MIT
# The observer's tests under gdb, which stops in stand-ins, steps out of them, and sees who called:
#   observer_gdb.sh TEST-PROGRAM LIBRARY
set -eu

output=$(mktemp)
trap 'rm -f "$output"' EXIT
gdb -nx -batch -ex 'set breakpoint pending on' -ex 'tbreak watched_faccessat' \
	-ex 'tbreak drv_watched_vfork' -ex 'tbreak drv_watched_dlsym' \
	-ex run -ex bt -ex finish -ex continue -ex bt -ex finish -ex continue -ex bt -ex continue \
	--args "$@" >"$output" 2>&1 </dev/null || true
if grep -q -i -e 'ptrace: ' -e 'could not trace' "$output"; then
	echo "SKIPPED: gdb may trace nobody here"
	exit 77
fi
# What stands below each in the stack: the library that called it, and the test.
for line in '^#0 .* in drv_watched_vfork' '^#1 .* in word_vfork' '^#0 .* in drv_watched_dlsym' \
	'^#1 .* in word_load' '^#0 .*watched_faccessat' '^#[1-9].* unit_run' 'exited normally'; do
	grep -q -e "$line" "$output" || {
		cat "$output"
		echo "missing: $line"
		exit 1
	}
done
