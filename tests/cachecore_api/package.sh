#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the library under a prefix of its own, builds a C11 and a C++17
# program against it, by pkg-config and by find_package, and runs them.
#   package.sh CMAKE BUILD CONSUMER CC CXX [SANITIZERS]
set -eu
cmake=$1 build=$2 consumer=$3 cc=$4 cxx=$5 sanitizers=${6:-}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
# The whole environment of the cache is this directory.
unset CKCACHE_DIR CKCACHE_DISABLE CKCACHE_PERSISTENT CKCACHE_READ_ONLY
export HOME="$dir/home"
mkdir "$HOME"

warnings='-pedantic -Wall -Wextra -Werror'
sanitize=${sanitizers:+-fsanitize=$sanitizers}

# run PROGRAM NAME: with a directory of its own; it prints the header's version.
run()
{
	version=$("$1" "$dir/cache-$2")
	echo "$2: $version"
	if [ "$version" != "$packaged" ]; then
		echo "the package says it is $packaged" >&2
		exit 1
	fi
	[ -d "$dir/cache-$2" ]
}

"$cmake" --install "$build" --prefix "$dir/prefix" --component cachecore >/dev/null
PKG_CONFIG_PATH=$(dirname "$(find "$dir/prefix" -name cachecore.pc)")
export PKG_CONFIG_PATH
packaged=$(pkg-config --modversion cachecore | cut -d. -f1,2)

cflags=$(pkg-config --cflags cachecore)
libs=$(pkg-config --static --libs cachecore)
# shellcheck disable=SC2086  # flags are words
"$cc" -std=c11 $warnings $sanitize $cflags "$consumer/consumer.c" -o "$dir/pc_c" $libs
# shellcheck disable=SC2086
"$cxx" -std=c++17 $warnings -Wold-style-cast $sanitize $cflags "$consumer/consumer.cpp" \
	-o "$dir/pc_cxx" $libs
run "$dir/pc_c" pkg-config-c
run "$dir/pc_cxx" pkg-config-cxx

"$cmake" -S "$consumer" -B "$dir/build" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
	-DCMAKE_PREFIX_PATH="$dir/prefix" -DCMAKE_C_FLAGS="$warnings $sanitize" \
	-DCMAKE_CXX_FLAGS="$warnings -Wold-style-cast $sanitize" >/dev/null
"$cmake" --build "$dir/build" >/dev/null
run "$dir/build/consumer_c" find-package-c
run "$dir/build/consumer_cpp" find-package-cxx
