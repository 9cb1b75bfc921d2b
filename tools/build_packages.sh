#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds binary packages of this source with the distribution's own flags: of debian/ by debhelper,
# of cmake/packages/ckcache.spec by rpmbuild. The same source gives the same bytes, wherever and
# whenever it is built.
#   sh tools/build_packages.sh deb|rpm DIRECTORY
# The packages appear in DIRECTORY; the build lies in a temporary directory that is removed.
# Debian packages that are missing for it are installed.
set -eu
if [ $# -ne 2 ] || { [ "$1" != deb ] && [ "$1" != rpm ]; }; then
	sed -n 's/^# //p' "$0" | sed -n 2,7p >&2
	exit 2
fi
kind=$1
mkdir -p "$2"
output=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
# shellcheck source=tools/packages.sh
. tools/packages.sh

# What debian/control names for the build on this architecture, but not for its tests.
architecture=$(dpkg --print-architecture 2>/dev/null || true)
# shellcheck disable=SC2046  # names are words
install_packages build-essential gcc libc6-dev dpkg-dev $(sed -n '/^Build-Depends:/,/^$/s/^ \([a-z0-9.+-]*\).*/\1 &/p' debian/control |
	sed "/<!nocheck>/d; /\[$architecture\]/b known; /\[/d; : known; s/ .*//; s/^debhelper-compat\$/debhelper/")
[ "$kind" = deb ] || install_packages rpm

umask 022
# What a package is built with is said here, not by who happens to build it.
unset CC CFLAGS CPPFLAGS LDFLAGS DESTDIR
version=$(sed -n 's/^project(ckcache VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
source=$work/ckcache-$version
mkdir "$source"
tar -c --anchored --exclude=./.git --exclude='./build*' --exclude=".${output#"$PWD"}" . | tar -x -C "$source"

if [ "$kind" = deb ]; then
	(cd "$source" && DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" DEB_BUILD_PROFILES=nocheck \
		dpkg-buildpackage -b -us -uc)
	rm -f "$work"/*.changes "$work"/*.buildinfo
	mv "$work"/*.*deb "$output/"
else
	# Times, the builder's name and the order of files are those of each build otherwise.
	SOURCE_DATE_EPOCH=$(date -ud "$(sed -n '/^ -- /{s/.*>  //p;q}' debian/changelog)" +%s)
	export SOURCE_DATE_EPOCH
	tar -cz -C "$work" -f "$work/ckcache-$version.tar.gz" "ckcache-$version"
	set -- --define "_topdir $work/rpm" --define "_sourcedir $work" --define '_buildhost ckcache' \
		--define '_build_id_links none' --define 'use_source_date_epoch_as_buildtime 1' \
		--define 'clamp_mtime_to_source_date_epoch 1'
	if [ -e /etc/debian_version ]; then
		# Debian's brp-compress wants another sh than Debian's, and compresses nothing; brp-strip leaves
		# symbols to find-debuginfo, which is not called.
		post=$(rpm -E '%__os_install_post' | sed '/^ *$/d; s,.*brp-compress,bash &,; /brp-strip /d' | paste -sd \; -)
		post="find \"\$RPM_BUILD_ROOT\" -type f '(' -path '*/bin/*' -o -path '*/libexec/*' -o -name '*.so*' ')' -exec strip --strip-unneeded {} +; $post"
		set -- "$@" --define "__os_install_post $post"
	fi
	rpmbuild -bb --nodeps "$@" "$source/cmake/packages/ckcache.spec"
	mv "$work"/rpm/RPMS/*/*.rpm "$output/"
fi
ls -l "$output"
