#!/bin/sh
# SPDX-License-Identifier: MIT
# Rewrites getters.def and the version script beside this script: the getters
# that getters.def has, and those that the given headers or lists name. The
# list only grows: a loader of any age must find each getter that it asks for.
#   generate.sh [HEADER-OR-LIST...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
names=$(cat "$here/getters.def" /dev/null "$@" |
	grep -oE '\bze[rst]?Get[A-Za-z]+ProcAddrTable\b' | LC_ALL=C sort -u)

{
	echo '/* SPDX-License-Identifier: MIT */'
	echo '/* Written by generate.sh: every getter that a loader may ask a layer for. */'
	for name in $names; do
		echo "GETTER($name)"
	done
} >"$here/getters.def.new"
{
	echo '/* SPDX-License-Identifier: MIT */'
	echo '/* Written by generate.sh. */'
	echo '{'
	echo '	global:'
	echo '		ckcache_level_zero_slot;'
	for name in $names; do
		echo "		$name;"
	done
	echo '		zelLoaderGetVersion;'
	echo '		zelLoaderSetLogger;'
	echo '	local:'
	echo '		*;'
	echo '};'
} >"$here/libze_validation_layer.map"
mv "$here/getters.def.new" "$here/getters.def"
