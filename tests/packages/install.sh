#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs a build below a directory, uses it there and after it was moved, and
# removes it by the uninstall script: nothing is left. Nothing is outside of the prefix.
#   install.sh CMAKE SOURCE BUILD PREFIX CC
set -eu
cmake=$1 source=$2 build=$3 prefix=$4 cc=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for name in $(env | sed -n 's/^\(CKCACHE_[A-Z_]*\|OPENCL_LAYERS\|ZE_ENABLE_LAYERS\|LD_PRELOAD\)=.*/\1/p'); do
	unset "$name"
done
export HOME="$work/home"
mkdir "$HOME"

fail()
{
	echo "install.sh: $*" >&2
	exit 1
}

DESTDIR=$work/root "$cmake" --install "$build" >/dev/null
top=$work/root$prefix
[ -x "$top/bin/ckcache" ] || fail "there is no command"

# Another prefix at the installation: everything is below it, and there is as much of it.
DESTDIR=$work/other "$cmake" --install "$build" --prefix /opt/other >/dev/null
stray=$(find "$work/other" ! -type d ! -path "$work/other/opt/other/*")
[ -z "$stray" ] || fail "--prefix does not take these along: $stray"
for root in root other; do
	find "$work/$root" ! -type d -printf '%f\n' | sort >"$work/$root.names"
done
cmp "$work/root.names" "$work/other.names" || fail "--prefix installs other files"
[ -f "$work/other/opt/other/etc/OpenCL/layers/ckcache.lay" ] || fail "--prefix leaves /etc out"
rm -r "$work/other"
# The manifest that uninstall reads is that of the last installation.
DESTDIR=$work/root "$cmake" --install "$build" >/dev/null

# Nobody's directories are in what is installed, and no search path.
if grep -rlF -e "$source" -e "$build" "$work/root"; then
	fail "these name the directory of the build or of the source"
fi
if find "$work/root" -type f \( -path '*/bin/*' -o -name '*.so*' \) \
	! -name libckcache_level_zero.so -exec readelf -d {} + | grep -E 'R(UN)?PATH'; then
	fail "one of them has a search path"
fi
# Level Zero's layer finds libckcache beside itself.
if find "$work/root" -name libckcache_level_zero.so -exec readelf -d {} + |
	grep -E 'R(UN)?PATH' | grep -vF '[$ORIGIN]'; then
	fail "Level Zero's layer has another search path"
fi

# The command finds the layers where it lies itself, also where all was moved to.
layers()
{
	# shellcheck disable=SC2016  # the command's shell
	"$1/bin/ckcache" run -- sh -c 'echo "$OPENCL_LAYERS"'
}
case $(layers "$top") in
"$work/root"/*/libckcache_opencl.so) ;;
*) fail "the layer is not found where it was installed: $(layers "$top")" ;;
esac
mv "$work/root" "$work/moved"
case $(layers "$work/moved$prefix") in
"$work/moved"/*/libckcache_opencl.so) ;;
*) fail "the layer is not found where it was moved to: $(layers "$work/moved$prefix")" ;;
esac
for layer in $(find "$work/moved" -name libckcache_level_zero.so -o -name libckcache_opencl.so); do
	[ -f "$layer" ] || fail "a link that leads nowhere: $layer"
	if ldd "$layer" | grep 'not found'; then
		fail "$layer is not whole where it was moved to"
	fi
done

# A program that links the library, by pkg-config.
PKG_CONFIG_PATH=$(dirname "$(find "$work/moved" -name ckcache.pc)")
export PKG_CONFIG_PATH
printf '#include <ckcache.h>\nint main(void) { return ckcache_version() < CKCACHE_VERSION; }\n' \
	>"$work/main.c"
# shellcheck disable=SC2046  # flags are words
"$cc" "$work/main.c" -o "$work/main" $(pkg-config --cflags --libs ckcache)
LD_LIBRARY_PATH=$(dirname "$(find "$work/moved" -name libckcache.so.1)") "$work/main" ||
	fail "the library is not what its header says"
mv "$work/moved" "$work/root"

# For everybody: the files name the places where they will lie; here these are below the directory.
etc=$(dirname "$(dirname "$(find "$work/root" -path '*/profile.d/ckcache.sh')")")
generator=$(find "$work/root" -path '*/user-environment-generators/60-ckcache')
for file in "$etc/profile.d/ckcache.sh" "$top/share/ckcache/layers.sh" "$generator"; do
	sed "s,\"/,\"$work/root/,g; s,\"$work/root/usr/\\\$LIB,\"/usr/\$LIB,; s,'$prefix/,'$work/root$prefix/," "$file" >"$work/text"
	cat "$work/text" >"$file"
done
# everybody SETTING VARIABLE SHELL: the variable in a login shell and from the generator, by the switch.
everybody()
{
	echo "CKCACHE_EVERYBODY=\"$1\"" >"$etc/default/ckcache"
	# shellcheck disable=SC2016  # the shell's under test
	"$3" -uc '. "$1"; eval "printf %s \"\${$2-}\""' sh "$etc/profile.d/ckcache.sh" "$2"
	echo "|$(sh "$generator" | sed -n "s/^$2=//p")"
}
for shell in sh bash; do
	command -v "$shell" >/dev/null || continue
	[ "$(everybody '' OPENCL_LAYERS $shell)" = '|' ] || fail "OpenCL is on and should not be"
	[ "$(everybody 'level-zero' OPENCL_LAYERS $shell)" = '|' ] || fail "OpenCL is on and should not be"
	[ "$(everybody 'opencl' LD_PRELOAD $shell)" = '|' ] || fail "Level Zero is on and should not be"
	value=$(everybody 'opencl level-zero' OPENCL_LAYERS $shell)
	expr "$value" : '.*libckcache_opencl.so|.*libckcache_opencl.so$' >/dev/null ||
		fail "OpenCL is not on: $value"
	if [ -n "$(find "$work/root" -name libckcache_preload.so)" ]; then
		value=$(everybody 'opencl level-zero' LD_PRELOAD $shell)
		expr "$value" : '.*libckcache_preload.so|.*libckcache_preload.so$' >/dev/null ||
			fail "Level Zero is not on: $value"
		[ "$(everybody 'level-zero' ZE_ENABLE_LAYERS $shell)" = 'ckcache|ckcache' ] ||
			fail "Level Zero's plugin is not named"
		[ "$(ZE_ENABLE_LAYERS=a everybody 'level-zero' ZE_ENABLE_LAYERS $shell)" = 'a,ckcache|a,ckcache' ] ||
			fail "Level Zero's plugin is not the last one"
		value=$(everybody 'level-zero-preload' LD_PRELOAD $shell)
		expr "$value" : '.*libckcache_preload.so|.*libckcache_preload.so$' >/dev/null ||
			fail "nothing is preloaded: $value"
		[ "$(everybody 'level-zero-preload' ZE_ENABLE_LAYERS $shell)" = '|' ] ||
			fail "Level Zero is on and should not be"
		[ "$(everybody 'level-zero-preload' ASAN_OPTIONS $shell)" = 'verify_asan_link_order=0|verify_asan_link_order=0' ] ||
			fail "programs with gcc's address sanitizer would not start"
	fi
	value=$(OPENCL_LAYERS=/other.so everybody opencl OPENCL_LAYERS $shell)
	expr "$value" : '.*libckcache_opencl.so:/other.so|.*libckcache_opencl.so:/other.so$' >/dev/null ||
		fail "what the user has is not kept: $value"
	value=$(OPENCL_LAYERS=/a/libckcache_opencl.so everybody opencl OPENCL_LAYERS $shell)
	[ "$value" = '/a/libckcache_opencl.so|' ] || fail "the layer is there twice: $value"
done
sed -n 's/^CKCACHE_EVERYBODY=//p' "$source/tools/everybody/default" | grep -qx '""' ||
	fail "it is on by default"

# With the library preloaded, the variable alone lets a program use the cache.
client=$build/bin/level_zero_client
if [ -x "$client" ] && ls /usr/lib/*/libze_intel_gpu.so.1 >/dev/null 2>&1; then
	echo 'CKCACHE_EVERYBODY="level-zero-preload"' >"$etc/default/ckcache"
	# modules HITS MISSES [VARIABLE]: what the cache has counted after another run of a program.
	modules()
	{
		(
			cd "$work"
			# shellcheck source=/dev/null
			. "$etc/profile.d/ckcache.sh"
			# As tests/level_zero/intel.h has it.
			env NEOReadDebugKeys=1 SetCommandStreamReceiver=1 ProductFamilyOverride=tgllp \
				HardwareInfoOverride=1x6x16 UseAubStream=0 NEO_CACHE_PERSISTENT=0 \
				${3+"$3"} "$client" driver=0 il=one create >/dev/null
		) || fail "a Level Zero program fails"
		counted=$("$top/bin/ckcache" stats --json | sed -n 's/^ *"\(hits_disk\|misses\)": \([0-9]*\),*$/\1=\2/p' | tr '\n' ' ')
		[ "$counted" = "hits_disk=$1 misses=$2 " ] || fail "counted $counted and not $1 hits, $2 misses"
	}
	modules 0 0
	modules 0 1 ZE_ENABLE_LAYERS=ckcache
	modules 1 1 ZE_ENABLE_LAYERS=ckcache
	modules 1 1
fi

# The units that build after a driver update: on for whom the layers are on.
generator=$(find "$work/root" -path '*/user-generators/ckcache')
sed "s,\"/etc/OpenCL/layers/,\"$work/,; s,\"/\([^\"]*/default\|[^\"]*/lib/systemd\)/,\"$work/root/\1/,g" \
	"$generator" >"$work/text"
cat "$work/text" >"$generator"
# wanted SETTINGS: what the generator enables.
wanted()
{
	printf '%s\n' "$1" >"$etc/default/ckcache"
	rm -rf "$work/generated"
	mkdir "$work/generated"
	sh -u "$generator" "$work/generated" "$work/generated" "$work/generated" || fail "the generator"
	(cd "$work/generated" && find . -type l -exec test -f '{}' ';' -print | sort | tr '\n' ' ')
}
both='./paths.target.wants/ckcache-replay.path ./timers.target.wants/ckcache-replay.timer '
[ "$(wanted 'CKCACHE_EVERYBODY=""')" = '' ] || fail "replay is on and should not be"
[ "$(wanted 'CKCACHE_EVERYBODY="opencl"')" = "$both" ] || fail "replay is not on: $(wanted 'CKCACHE_EVERYBODY=x')"
[ "$(wanted 'CKCACHE_EVERYBODY="opencl level-zero-preload"')" = "$both" ] || fail "replay is not on for opencl"
[ "$(wanted 'CKCACHE_EVERYBODY="level-zero-preload"')" = '' ] || fail "replay is on, and no layer is"
[ "$(wanted 'CKCACHE_EVERYBODY="opencl" CKCACHE_REPLAY="no"')" = '' ] || fail "replay cannot be kept off"
touch "$work/ckcache.lay"
[ "$(wanted '')" = "$both" ] || fail "replay is not on with ckcache.lay"
[ "$(wanted 'CKCACHE_REPLAY=no')" = '' ] || fail "replay cannot be kept off with ckcache.lay"

# What systemd says about the units, with a command that is there.
if command -v systemd-analyze >/dev/null; then
	mkdir "$work/units"
	for unit in "$top"/lib/systemd/user/ckcache-* "$top"/lib/systemd/system/ckcache-*; do
		sed "s,$prefix/bin/ckcache,/bin/true," "$unit" >"$work/units/${unit##*/}"
	done
	for who in user system; do
		for unit in "$top/lib/systemd/$who"/ckcache-*; do
			said=$(XDG_RUNTIME_DIR=$work systemd-analyze "--$who" --man=no --recursive-errors=no \
				verify "$work/units/${unit##*/}" 2>&1) || fail "${unit##*/}: $said"
			[ -z "$said" ] || fail "${unit##*/}: $said"
		done
	done
fi

DESTDIR=$work/root "$cmake" "-DBUILD=$build" -P "$source/cmake/Uninstall.cmake" >/dev/null
if [ -e "$work/root" ] && find "$work/root" ! -path "$work/root" | grep .; then
	fail "this was left by uninstall"
fi
