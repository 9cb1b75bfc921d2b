#!/bin/sh
# SPDX-License-Identifier: MIT
# Completes packages that CPack made by what Debian wants and CPack does not
# know: Multi-Arch, conffiles, changelog and copyright, compressed manual pages,
# symbols and shlibs, the trigger of ldconfig in the place of scripts that call
# it, overrides of lintian. Times, owners, order and compression are the same
# whoever packs when: SOURCE_DATE_EPOCH, else the time of the changelog.
#   finish_deb.sh PACKAGE...
set -eu
here=$(cd "$(dirname "$0")" && pwd)
umask 022
export LC_ALL=C
version=$(dpkg-parsechangelog -l "$here/changelog" -S Version)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(dpkg-parsechangelog -l "$here/changelog" -S Timestamp)}
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Of the tree in the working directory, in KiB: files by their size, all else 1.
installed_size()
{
	find . -path ./DEBIAN -prune -o \( -type f -printf '%s\n' -o -printf '0\n' \) |
		awk '{ sum += $1 > 0 ? int(($1 + 1023) / 1024) : 1 } END { print sum }'
}

# write_documents PACKAGE
write_documents()
{
	doc=usr/share/doc/$1
	mkdir -p "$doc" usr/share/lintian/overrides
	cp "$here/copyright" "$doc/copyright"
	gzip -9nc "$here/changelog" >"$doc/changelog.Debian.gz"
	if [ -e "$doc/CHANGELOG.md" ]; then
		gzip -9nc "$doc/CHANGELOG.md" >"$doc/changelog.gz"
		rm "$doc/CHANGELOG.md"
	fi
	if [ -d usr/share/man ]; then
		find usr/share/man -type f ! -name '*.gz' -exec gzip -9n {} +
	fi
	if [ -e "$here/$1.lintian-overrides" ]; then
		cp "$here/$1.lintian-overrides" "usr/share/lintian/overrides/$1"
	else
		rmdir -p --ignore-fail-on-non-empty usr/share/lintian/overrides
	fi
}

# list_triggers MULTIARCH: what leaves the mark when a package brings, replaces or removes it.
list_triggers()
{
	sed -n "s,^LIBDIR,/usr/lib/$1,; s,^/,interest-noawait /,p" "$here/../../tools/service/watched" |
		while read -r line; do
			case $line in
			*NN*)
				# Debian 12 has 13 to 16, sid 21.
				for number in $(seq 13 30); do
					echo "${line%NN}$number"
				done
				;;
			*) echo "$line" ;;
			esac
		done
}

# write_control PACKAGE
write_control()
{
	rm -f DEBIAN/postinst DEBIAN/postrm	# CPack's call ldconfig, and there are no others
	if [ "$1" = ckcache ]; then
		for script in postinst prerm postrm; do
			cp "$here/ckcache.$script" "DEBIAN/$script"
			chmod 755 "DEBIAN/$script"
		done
		list_triggers "$(dpkg-architecture -qDEB_HOST_MULTIARCH)" >DEBIAN/triggers
	fi
	if [ -d etc ]; then
		find etc -type f -printf '/%p\n' | sort >DEBIAN/conffiles
	fi
	if find usr/lib -maxdepth 2 -name '*.so*' -type f 2>/dev/null | grep -q .; then
		echo 'activate-noawait ldconfig' >DEBIAN/triggers
	fi
	if [ "$1" = libckcache1 ]; then
		echo "libckcache 1 libckcache1 (>= ${version%-*})" >DEBIAN/shlibs
		# It wants a source package's file to look for the package's name in.
		mkdir "$work/source" "$work/source/debian"
		printf 'Source: ckcache\n\nPackage: %s\nArchitecture: any\n' "$1" \
			>"$work/source/debian/control"
		# By relative paths: it takes a blank in a pattern for its end.
		(cd "$work/source" && dpkg-gensymbols -q -c4 "-p$1" "-v$version" -P../tree \
			"-I$here/$1.symbols" -O../tree/DEBIAN/symbols '-e../tree/usr/lib/*/libckcache.so.*')
	fi
	case $1 in
	ckcache | ckcache-storage) multiarch=foreign ;;
	*) multiarch=same ;;
	esac
	sed -i "/^Installed-Size:/d; /^\$/d; s/^Section:/Multi-Arch: $multiarch\nInstalled-Size: $(installed_size)\n&/" \
		DEBIAN/control
}

# Everything about the package in the working directory but its control fields.
settle()
{
	find . -name '*.a' -exec strip --strip-debug --enable-deterministic-archives {} +
	# Which compiler built it is said in the debug information.
	find . -path ./usr/lib/debug -prune -o -type f \( -path './usr/bin/*' -o -name '*.so*' \) \
		-exec objcopy --remove-section=.comment {} \;
	chmod -R u=rwX,go=rX .
	find . -path './usr/lib/debug/*' -type f -exec chmod 644 {} +
	find . -path ./DEBIAN -prune -o -type f -printf '%P\n' | sort |
		{ grep -vE '^etc/' || true; } | xargs -r md5sum >DEBIAN/md5sums
	find . -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

for file in "$@"; do
	name=$(dpkg-deb -f "$file" Package)
	if [ "$(dpkg-deb -f "$file" Version)" != "$version" ]; then
		echo "$here/changelog has no entry for $name $(dpkg-deb -f "$file" Version)" >&2
		exit 1
	fi
	dpkg-deb -R "$file" "$work/tree"
	cd "$work/tree"
	case $name in
	*-dbgsym)
		mkdir -p usr/share/doc
		ln -s "${name%-dbgsym}" "usr/share/doc/$name"
		;;
	*)
		write_documents "$name"
		;;
	esac
	write_control "$name"
	settle
	cd "$here"
	rm "$file"
	dpkg-deb --root-owner-group -Zxz --threads-max=1 -b "$work/tree" "$file" >/dev/null
	rm -rf "$work/tree" "$work/source"
done
