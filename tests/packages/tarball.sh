#!/bin/sh
# SPDX-License-Identifier: MIT
# tools/release.sh makes and checks the tarball of a commit; one without debian/ is found.
#   tarball.sh SOURCE-DIRECTORY
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git -c safe.directory='*' -C "$1" rev-parse HEAD >/dev/null 2>&1 || {
	echo "SKIPPED: this is no checkout of git"
	exit 77
}
export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'
git clone -q --no-local "$1" "$work/clone"
cd "$work/clone"
# What is to be tested is the working tree.
rm -rf ./*
(cd "$1" && git ls-files -z --cached --others --exclude-standard | xargs -0 cp -a --parents -t "$work/clone") 2>"$work/log" ||
	grep -v 'No such file' "$work/log" || true
as='-c user.name=test -c user.email=test@example.org'
git add -A
# shellcheck disable=SC2086  # words
git $as commit -q --allow-empty -m test
sh tools/release.sh "$work/release"
(cd "$work/release" && sha256sum -c ckcache-*.tar.gz.sha256)
grep -q "^sha256sums=($(cut -d ' ' -f 1 "$work/release"/*.sha256))\$" "$work/release/PKGBUILD"

echo '/common export-ignore' >>.gitattributes
# shellcheck disable=SC2086
git $as commit -qam incomplete
if sh tools/release.sh "$work/incomplete" >"$work/log" 2>&1 || ! grep -q 'files are missing' "$work/log"; then
	cat "$work/log"
	echo "FAILED: a tarball that lacks a folder is accepted"
	exit 1
fi
echo >>README.md
if sh tools/release.sh "$work/changed" >"$work/log" 2>&1 || ! grep -q 'not committed' "$work/log"; then
	cat "$work/log"
	echo "FAILED: a tree with changes is accepted"
	exit 1
fi
