#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the packages twice, from copies of the source in two directories, at two
# times, under another umask, locale and time zone, and compares their bytes.
#   sh tests/packages/reproducible.sh [deb|rpm]
set -eu
kind=${1:-deb}
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
mkdir -p "$work/first" "$work/another/and longer/second"
for copy in "$work/first" "$work/another/and longer/second"; do
	git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$copy"
done
(cd "$work/first" && sh tools/build_packages.sh "$kind" "$work/a") >"$work/log" 2>&1 ||
	{ cat "$work/log"; exit 1; }
(cd "$work/another/and longer/second" && umask 077 && mkdir tmp &&
	TZ=Asia/Tokyo LC_ALL=C TMPDIR="$PWD/tmp" sh tools/build_packages.sh "$kind" "$work/b") \
	>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
(cd "$work/a" && sha256sum -- *) | tee "$work/a.sums"
(cd "$work/b" && sha256sum -- *) >"$work/b.sums"
cmp "$work/a.sums" "$work/b.sums"
echo "the second build is the same"
