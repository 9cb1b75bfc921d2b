#!/bin/sh
# SPDX-License-Identifier: MIT
# Each header of the project compiles alone, twice included, as C11, with each
# compiler that is there.
#   headers.sh ROOT
set -eu
cd "$1"
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
flags='-std=c11 -D_GNU_SOURCE -DCL_TARGET_OPENCL_VERSION=300 -Wall -Wextra -Werror
	-Wstrict-prototypes -fsyntax-only -I. -x c -'
count=0
failed=0
compilers=
for compiler in gcc clang-14; do
	if command -v "$compiler" >/dev/null; then
		compilers="$compilers $compiler"
	fi
done
for header in $(find common cachecore layers tools tests/support -name '*.h' | sort); do
	for compiler in $compilers; do
		count=$((count + 1))
		# shellcheck disable=SC2086  # flags are words
		printf '#include "%s"\n#include "%s"\nextern int not_empty;\n' "$header" "$header" |
			"$compiler" $flags 2>"$errors" && continue
		echo "$header does not compile alone with $compiler:"
		cat "$errors"
		failed=$((failed + 1))
	done
done
echo "$count compilations ($compilers), $failed failed"
[ "$count" -gt 0 ] && [ "$failed" -eq 0 ]
