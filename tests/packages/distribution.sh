#!/bin/sh
# SPDX-License-Identifier: MIT
# On a Debian that may be changed: makes the source package and the packages of this commit as a
# distribution does, with the unit tests, asks lintian and runs the autopkgtests. As root.
#   sh tests/fresh.sh bookworm|trixie|sid -- [DEB_BUILD_OPTIONS=nocheck] sh tests/packages/distribution.sh
set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=tools/packages.sh
. tools/packages.sh
install_packages autopkgtest build-essential debhelper dpkg-dev fakeroot git lintian
work=$(mktemp -d "${TMPDIR:-/var/tmp}/ckcache-distribution.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

say()
{
	echo "== $*"
}

say "what the build needs"
apt-get -q -y --no-install-recommends build-dep ./ >"$work/log" 2>&1 || { tail "$work/log"; exit 1; }
say "the tarball"
version=$(dpkg-parsechangelog -S Version)
upstream=${version%-*}
git -c safe.directory='*' archive --format=tar --prefix="ckcache-$upstream/" HEAD | gzip -9n >"$work/ckcache_$upstream.orig.tar.gz"
tar -xzf "$work/ckcache_$upstream.orig.tar.gz" -C "$work"
cd "$work/ckcache-$upstream"
say "dpkg-buildpackage"
DEB_BUILD_OPTIONS="parallel=$(nproc) ${DEB_BUILD_OPTIONS-}" dpkg-buildpackage -us -uc >"$work/log" 2>&1 || { tail -n 40 "$work/log"; exit 1; }
grep -E 'tests passed|tests failed|^ dpkg-genchanges' "$work/log"
result=0
ls -l "$work"/*.deb
say "lintian $(lintian --version)"
# Newer ones call fields redundant that Debian 12's asks for; it knows none of these tags.
newer=$(for tag in redundant-priority-optional-field redundant-rules-requires-root-no-field; do
	! lintian-explain-tags "$tag" >/dev/null 2>&1 || echo "$tag"
done | paste -sd , -)
lintian --allow-root --pedantic --fail-on error,warning,pedantic ${newer:+--suppress-tags "$newer"} "$work"/ckcache_"$version"_*.changes || result=1
say "autopkgtest"
autopkgtest "$work"/ckcache_"$version"_*.changes --output-dir "$work/tests" -- null >"$work/log" 2>&1 || {
	result=1
	tail -n 80 "$work/log"
}
cat "$work/tests/summary"
[ "$result" -ne 0 ] || say "all as it should be"
exit "$result"
