#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds everything, tests too, without a warning: by each gcc from 12 and each clang from 14 that
# is in PATH, whatever its name says, or by those that are named; then by the default compiler without the Level Zero
# headers, without doxygen, and without tests.
#   sh tests/compilers.sh [COMPILER...]
# Each into $BUILD_DIR-NAME (./build-NAME), which is removed where it went well. Installs nothing.
# Exit code: 0 if all did.
set -eu
cd "$(dirname "$0")/.."
base=${BUILD_DIR:-build}
failed=

# versions TOOL LEAST: the names of its versions that are there, one for each; the plain name last.
versions()
{
	(
		IFS=:
		for directory in $PATH; do
			for file in "$directory/$1"-[0-9] "$directory/$1"-[0-9][0-9] "$directory/$1"; do
				[ ! -x "$file" ] || echo "${file##*/}"
			done
		done
	) | sort -ru | while read -r name; do
		version=$("$name" -dumpversion 2>/dev/null) || continue
		! [ "${version%%.*}" -ge "$2" ] 2>/dev/null || echo "${version%%.*} $name"
	done | sort -n -s -u -k 1,1 | cut -d ' ' -f 2
}

# found: the names of the compilers that are there.
found()
{
	versions gcc 12
	versions clang 14
}

# try NAME CMAKE-ARGUMENTS...
try()
{
	name=$1
	shift
	if { cmake --log-level=NOTICE -S . -B "$base-$name" -G Ninja -DCKCACHE_WERROR=ON "$@" &&
		cmake --build "$base-$name" -- -k 0; } >"$base-$name.log" 2>&1; then
		echo "ok      $name"
		rm -rf "$base-$name" "$base-$name.log"
	else
		echo "FAILED  $name: $base-$name.log"
		grep -E -m 5 'error:|Error' "$base-$name.log" || true
		failed=yes
	fi
}

[ $# -gt 0 ] || {
	# shellcheck disable=SC2046  # names are words
	set -- $(found)
	[ $# -gt 0 ] || set -- cc
	others=yes
}
for compiler in "$@"; do
	cxx=$(echo "$compiler" | sed 's/gcc/g++/; s/clang/clang++/; s/^cc$/c++/')
	# A compiler for C may be there alone: one test is in C++.
	command -v "$cxx" >/dev/null || cxx=c++
	try "$(basename "$compiler")" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_CXX_COMPILER="$cxx" -DCKCACHE_TESTS=ON
done
if [ -n "${others-}" ]; then
	try no-level-zero -DLEVEL_ZERO_INCLUDE_DIR=OFF -DCKCACHE_TESTS=ON
	try no-doxygen -DDOXYGEN=OFF -DCKCACHE_TESTS=ON
	try no-tests -DCKCACHE_TESTS=OFF
fi
[ -z "$failed" ]
