#!/bin/sh
# SPDX-License-Identifier: MIT
# Each header of the project compiles alone, twice included, as C11, with each
# compiler that is there; those that are installed also strictly, and as C++17; the one
# for C++ as every C++ from 11 on.
#   headers.sh ROOT
set -eu
cd "$1"
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
flags='-std=c11 -D_GNU_SOURCE -DCL_TARGET_OPENCL_VERSION=300 -Wall -Wextra -Werror
	-Wstrict-prototypes -fsyntax-only -I. -x c -'
public='cachecore/api/cachecore.h layers/shared/api/ckcache.h layers/shared/api/ckcache_ext.h'
strict_c='-std=c11 -pedantic -Wall -Wextra -Werror -Wstrict-prototypes -fsyntax-only -I. -x c -'
strict_cxx='-std=c++17 -pedantic -Wall -Wextra -Wold-style-cast -Werror -fsyntax-only -I. -x c++ -'
count=0
failed=0
compilers=
for compiler in gcc $(sh tests/support/newest.sh clang || true); do
	if command -v "$compiler" >/dev/null; then
		compilers="$compilers $compiler"
	fi
done

# compile COMPILER HEADER FLAGS...
compile()
{
	compiler=$1 header=$2
	shift 2
	count=$((count + 1))
	printf '#include "%s"\n#include "%s"\nextern int not_empty;\n' "$header" "$header" |
		"$compiler" "$@" 2>"$errors" && return
	echo "$header does not compile alone with $compiler $1:"
	cat "$errors"
	failed=$((failed + 1))
}

# shellcheck disable=SC2086  # flags are words
for compiler in $compilers; do
	for header in $(find common cachecore layers storage tools tests/support -name '*.h' | sort); do
		compile "$compiler" "$header" $flags
	done
	for header in $public; do
		compile "$compiler" "$header" $strict_c
		compile "$compiler" "$header" $strict_cxx
	done
done
# shellcheck disable=SC2086
for compiler in $compilers; do
	for standard in c++11 c++14 c++17 c++20; do
		compile "$compiler" layers/shared/api/ckcache.hpp -std=$standard -pedantic -Wall -Wextra \
			-Wold-style-cast -Wshadow -Werror -fsyntax-only -I. -x c++ -
	done
done
echo "$count compilations ($compilers), $failed failed"
[ "$count" -gt 0 ] && [ "$failed" -eq 0 ]
