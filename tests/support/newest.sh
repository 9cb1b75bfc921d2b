#!/bin/sh
# SPDX-License-Identifier: MIT
# Prints the newest of a tool's versions that are installed, the version's number before the plain
# name; with several tools, of the versions that all of them have.
#   newest.sh TOOL...      e.g. newest.sh clang llvm-spirv: clang-21 llvm-spirv-21
# Exit code: 1 without any.
set -eu
versions=$(IFS=:
	for directory in $PATH; do
		for file in "$directory/$1"-[0-9] "$directory/$1"-[0-9][0-9]; do
			[ ! -x "$file" ] || echo "${file##*-}"
		done
	done | sort -rnu)
for suffix in $versions ''; do
	names=
	for tool; do
		name=$tool${suffix:+-$suffix}
		command -v "$name" >/dev/null || continue 2
		names="$names $name"
	done
	echo "${names# }"
	exit 0
done
exit 1
