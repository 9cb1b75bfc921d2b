#!/bin/sh
# SPDX-License-Identifier: MIT
# What a release must get right.
#   sh tools/release.sh fill        writes the version (CMakeLists.txt), its date (CHANGELOG.md),
#                                   Maintainer and Homepage (debian/control) and what leaves the mark
#                                   (tools/service/watched) to all files that repeat them
#   sh tools/release.sh check       fails if that would change anything, or if CHANGELOG.md or
#                                   debian/changelog do not begin with this version
#   sh tools/release.sh DIRECTORY   makes the tarball of the commit HEAD, with its sum and a PKGBUILD,
#                                   in DIRECTORY; checks that a clone gives the same bytes, that no
#                                   file is missing, and that it builds, installs and tells its version
set -eu
export LC_ALL=C TZ=UTC
[ $# -eq 1 ] || set -- -
case $1 in
-*)
	sed -n 's/^# //p' "$0" | sed -n 2,10p >&2
	exit 2
	;;
fill | check | /*) word=$1 ;;
*) word=$PWD/$1 ;;
esac
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

fail()
{
	echo "release.sh: $*" >&2
	exit 1
}

# field NAME: of debian/control's first paragraph.
field()
{
	sed -n "/^Package:/q; s/^$1: //p" debian/control
}

version=$(sed -n 's/^project(ckcache VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
maintainer=$(field Maintainer) homepage=$(field Homepage)
heading=$(sed -n '/^## /{p;q}' CHANGELOG.md)
date=$(expr "$heading" : "## $version (\([0-9]\{4\}-[0-9][0-9]-[0-9][0-9]\))\$") ||
	fail "CHANGELOG.md must begin with \"## $version (YEAR-MONTH-DAY)\", not with \"$heading\""
expr "$(head -n 1 debian/changelog)" : "ckcache ($version-[0-9]*) " >/dev/null ||
	fail "debian/changelog has no entry for $version: dch -v $version-1"

# edit FILE EXPRESSION...: of sed; a pattern | is no part of any value.
edit()
{
	file=$1
	shift
	for expression in "$@"; do
		sed -i "$expression" "$file"
	done
}

# fill: of the tree in the working directory.
fill()
{
	# rpm takes each for the beginning of paths.
	watched=$(sed -n 's,^LIBDIR,%{_libdir},; s,/usr/lib/llvm-NN,%{_libdir}/libLLVM %{_libdir}/llvm,; /^[%/]/p' \
		tools/service/watched | tr '\n' ' ')
	edit cmake/packages/ckcache.spec "s|^Version:  .*|Version:        $version|" \
		"s|^URL:  .*|URL:            $homepage|" "s|^%global watched .*|%global watched ${watched% }|" \
		"0,/^\* /s|^\* .*|* $(date -d "$date" '+%a %b %d %Y') $maintainer - $version-1|"
	edit cmake/packages/PKGBUILD "s|^# Maintainer: .*|# Maintainer: $maintainer|" \
		"s|^pkgver=.*|pkgver=$version|" "s|^url=.*|url=$homepage|"
	edit cmake/packages/default.nix "s|^  version = .*|  version = \"$version\";|" \
		"s|^    homepage = .*|    homepage = \"$homepage\";|"
	edit debian/changelog "0,/^ -- /s|^ -- .*| -- $maintainer  $(date -d "$date 12:00" -R)|"
	edit debian/copyright "s|^Upstream-Contact: .*|Upstream-Contact: $maintainer|" \
		"s|^Source: .*|Source: $homepage|"
	edit debian/upstream/metadata "s|^Contact: .*|Contact: $maintainer|"
	edit debian/watch "s|^http[^ ]*|$homepage/releases/|"
	for page in docs/man/*.[157]; do
		edit "$page" "s|^\.Dd .*|.Dd $(date -d "$date" '+%B %-d, %Y')|"
	done
}

check()
{
	mkdir "$work/tree"
	cp -R --parents CMakeLists.txt cmake debian docs/man tools/service/watched "$work/tree"
	(cd "$work/tree" && fill)
	for directory in cmake debian docs/man; do
		diff -ru "$directory" "$work/tree/$directory" || fail "these differ: sh tools/release.sh fill"
	done
	for value in "$version" "$maintainer" "$homepage"; do
		if [ -z "$value" ] || ! grep -qF "$value" cmake/packages/ckcache.spec; then
			fail "no \"$value\" in ckcache.spec"
		fi
	done
}

# archive CLONE FILE: the commit's tarball.
archive()
{
	git -c safe.directory='*' -c tar.umask=0022 -C "$1" archive --format=tar --prefix="$name/" "$commit" | gzip -9n >"$2"
}

# build: the unpacked tarball, installed below $work/root.
build()
{
	cmake -S "$work/$name" -B "$work/build" -DCMAKE_INSTALL_PREFIX=/usr &&
		cmake --build "$work/build" -j "$(nproc)" &&
		DESTDIR=$work/root cmake --install "$work/build"
}

release()
{
	mkdir -p "$1"
	output=$(cd "$1" && pwd)
	name=ckcache-$version
	git -c safe.directory='*' diff --quiet HEAD || fail "there are changes that are not committed"
	commit=$(git -c safe.directory='*' rev-parse HEAD)
	archive . "$work/$name.tar.gz"
	git -c safe.directory='*' clone -q --no-local . "$work/clone"
	(umask 077 && TZ=Asia/Tokyo archive "$work/clone" "$work/again")
	cmp "$work/$name.tar.gz" "$work/again" || fail "a clone gives another tarball"
	tar -xzf "$work/$name.tar.gz" -C "$work"
	rm -rf "$work/clone/.git"
	diff -r "$work/clone" "$work/$name" || fail "files are missing in the tarball"
	sh "$work/$name/tools/release.sh" check
	build >"$work/log" 2>&1 || {
		tail -n 20 "$work/log"
		fail "the tarball does not build"
	}
	said=$("$work/root/usr/bin/ckcache" --version | head -n 1)
	[ "$said" = "ckcache $version" ] || fail "the command calls itself $said, not ckcache $version"
	cp "$work/$name.tar.gz" "$output/"
	(cd "$output" && sha256sum "$name.tar.gz" | tee "$name.tar.gz.sha256")
	sum=$(cut -d ' ' -f 1 "$output/$name.tar.gz.sha256")
	sed "s/^sha256sums=.*/sha256sums=($sum)/" cmake/packages/PKGBUILD >"$output/PKGBUILD"
}

case $word in
fill) fill ;;
check) check ;;
*)
	check
	release "$word"
	;;
esac
