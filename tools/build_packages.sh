#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds binary packages of this source with the distribution's own flags. The
# same source gives the same bytes, wherever and whenever it is built.
#   sh tools/build_packages.sh deb|rpm DIRECTORY
# The packages appear in DIRECTORY; the build lies in a temporary directory
# that is removed. Debian packages that are missing for it are installed.
set -eu
if [ $# -ne 2 ] || { [ "$1" != deb ] && [ "$1" != rpm ]; }; then
	sed -n 's/^# //p' "$0" | sed -n 2,6p >&2
	exit 2
fi
kind=$1
mkdir -p "$2"
output=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
# shellcheck source=tools/packages.sh
. tools/packages.sh

install_packages gcc libc6-dev cmake ninja-build pkg-config binutils dpkg-dev file libxxhash-dev \
	libdeflate-dev libssl-dev libjson-c-dev uthash-dev libsodium-dev opencl-headers \
	ocl-icd-opencl-dev libze-dev
[ "$kind" = deb ] || install_packages rpm

umask 022
SOURCE_DATE_EPOCH=$(dpkg-parsechangelog -l cmake/packages/changelog -S Timestamp)
export SOURCE_DATE_EPOCH
# What a package is built with is said here, not by who happens to build it.
unset CC CFLAGS CPPFLAGS LDFLAGS DESTDIR
eval "$(DEB_BUILD_MAINT_OPTIONS=hardening=+all DEB_CFLAGS_MAINT_STRIP=-g \
	dpkg-buildflags --export=sh)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# Debian's directory of the architecture, and what distributions with RPM have in its place.
libdir=
[ "$kind" = deb ] || libdir=-DCMAKE_INSTALL_LIBDIR=lib64
# shellcheck disable=SC2086  # one word or none
cmake -S . -B "$work/build" -G Ninja -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_BUILD_TYPE=RelWithDebInfo \
	-DCMAKE_C_FLAGS="$CFLAGS $CPPFLAGS" -DCMAKE_SHARED_LINKER_FLAGS="$LDFLAGS" \
	-DCMAKE_MODULE_LINKER_FLAGS="$LDFLAGS" -DCMAKE_EXE_LINKER_FLAGS="$LDFLAGS" $libdir
cmake --build "$work/build"
(cd "$work/build" && cpack -G "$(echo "$kind" | tr "[:lower:]" "[:upper:]")" -B "$work/packages")
for package in "$work/packages"/*."$kind" "$work/packages"/*.ddeb; do
	[ -e "$package" ] || continue
	name=$(basename "$package")
	# As Debian's own are called.
	mv "$package" "$output/${name%.ddeb}$(case $name in *.ddeb) echo .deb ;; esac)"
done
ls -l "$output"
