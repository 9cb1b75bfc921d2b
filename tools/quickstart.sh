#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds ckcache and shows what it does to an unmodified program on this machine.
#   sh tools/quickstart.sh [gpu | mesa | intel | rusticl | pocl]
# Builds into ./build or $BUILD_DIR. The driver is a GPU's where one is installed, or can be; else
# Intel's compiler without hardware, Mesa's rusticl or pocl on the CPU; or the one that is named.
# The program is darktable-cltest, else CLBlast's tuner, else the trial of `ckcache doctor`. It runs
# with an empty cache, with the driver's own cache alone, and with ckcache. Debian packages that are
# missing are installed; elsewhere they are named. All but the build, and the packages, lies in a
# temporary directory that is removed at the end.
# Exit code: 0 if the last run built nothing, 1 if it did or something was missing, 2 for a usage error.
set -eu
cd "$(dirname "$0")/.."
source_dir=$PWD
. tools/packages.sh
. tools/quickstart_machine.sh

fail()
{
	echo "quickstart: $*" >&2
	exit 1
}

drivers='gpu mesa intel rusticl pocl'
case "$#${1+:$1}" in
0) wanted= ;;
1:gpu | 1:mesa | 1:intel | 1:rusticl | 1:pocl) wanted=$1 ;;
*)
	echo "usage: sh tools/quickstart.sh [gpu | mesa | intel | rusticl | pocl]" >&2
	exit 2
	;;
esac

# full DIRECTORY: says so if less than 20 MB are free there, and why that matters.
full()
{
	free=$(df -Pk "$1" 2>/dev/null | awk 'NR == 2 { print int($4 / 1024) }')
	[ "${free:-20}" -lt 20 ] && fail "the disk of $1 is full ($free MB free); the build needs 30 MB and the runs 100 MB: free some space and run this again"
	return 0
}

# can_install: whether packages can be installed here at all.
can_install()
{
	command -v apt-get >/dev/null && command -v dpkg-query >/dev/null
}

# quoted PATH: as a shell reads it.
quoted()
{
	case $1 in
	*[!A-Za-z0-9_./+:=@%-]*) printf "'%s'\n" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")" ;;
	*) printf '%s\n' "$1" ;;
	esac
}

# install_optional NEED...: what this can do without.
install_optional()
{
	# shellcheck disable=SC2046  # names are words
	! can_install || install_available $(family=debian && packages_of "$@")
}

prepare()
{
	needs=$(missing_needs | tr '\n' ' ')
	if [ -n "$needs" ]; then
		# shellcheck disable=SC2086  # words
		if can_install; then
			# shellcheck disable=SC2046
			install_packages $(family=debian && packages_of $needs) || exit 1
		else
			echo "quickstart: $distribution lacks packages that the build needs; install them and run this again:" >&2
			echo "    $(how_to_install $needs)" >&2
			exit 1
		fi
	fi
	has_header level_zero/ze_api.h || install_optional level-zero
	has_header level_zero/ze_api.h || can_install ||
		echo "For the Level Zero layer, which is optional: $(how_to_install level-zero)"
}

# A directory that can be written, the same at each run.
choose_build()
{
	build=${BUILD_DIR:-$source_dir/build}
	if ! mkdir -p "$build" 2>/dev/null || ! [ -w "$build" ]; then
		[ -z "${BUILD_DIR-}" ] || fail "cannot write to $build: set BUILD_DIR to a writable directory"
		unwritable=$build
		build=${XDG_CACHE_HOME:-${HOME:-/nowhere}/.cache}/ckcache-build
		mkdir -p "$build" 2>/dev/null && [ -w "$build" ] ||
			fail "cannot write to $unwritable or $build: set BUILD_DIR to a writable directory"
	fi
	build=$(cd "$build" && pwd)
	ckcache=$build/bin/ckcache
}

build()
{
	choose_build
	echo "Building into $build"
	generator=
	[ -e "$build/CMakeCache.txt" ] || ! command -v ninja >/dev/null || generator='-G Ninja'
	# What is printed is what CMake has to say of missing parts.
	# shellcheck disable=SC2086  # two words or none
	cmake --log-level=NOTICE -S . -B "$build" $generator && cmake --build "$build" || {
		full "$build"
		full "${TMPDIR:-/tmp}"
		fail "the build failed (see above); if $build belongs to another source tree, remove it or set BUILD_DIR"
	}
}

# choose_driver: the first that has a device; what is not there is installed where it can be.
choose_driver()
{
	for driver in ${wanted:-$drivers}; do
		device=$(devices "$driver" | head -n 1)
		[ -z "$device" ] || return 0
		case $driver in
		gpu) package=$(gpu_driver) ;;
		mesa) package=$(gpu_driver | sed 's/.*/mesa/') ;;
		*) package=$driver ;;
		esac
		[ -n "$package" ] && can_install || continue
		install_optional "$package"
		device=$(devices "$driver" | head -n 1)
		[ -z "$device" ] || return 0
	done
	return 1
}

# settle NAME: the environment of all that runs from here on.
settle()
{
	# The program, the driver and the cache see only what is set here.
	for name in $(env | sed -n 's/^\(CKCACHE_[A-Z_]*\|OPENCL_LAYERS\|NEO_CACHE_[A-Z_]*\|MESA_SHADER_CACHE_[A-Z_]*\|POCL_CACHE_DIR\|POCL_KERNEL_CACHE\|CUDA_CACHE_[A-Z_]*\)=.*/\1/p'); do
		unset "$name"
	done
	own=$work/drivers
	mkdir "$own" "$own/neo" "$own/mesa" "$own/pocl" "$own/cuda" "$own/comgr"
	export CKCACHE_DIR="$work/cache" NEO_CACHE_DIR="$own/neo" MESA_SHADER_CACHE_DIR="$own/mesa" \
		POCL_CACHE_DIR="$own/pocl" CUDA_CACHE_PATH="$own/cuda" AMD_COMGR_CACHE_DIR="$own/comgr"
	use_driver "$1"
	cd "$work"
}

# program NAME [COMMAND...]: the program itself, behind a command that runs it.
program()
{
	name=$1
	shift
	case $application in
	darktable)
		# Its own cache of kernels is empty each time; platforms that it does not know are allowed.
		"$@" darktable-cltest --configdir "$work/$name/config" --cachedir "$work/$name/kernels" \
			--conf clplatform_rusticl=TRUE --conf clplatform_other=TRUE
		;;
	clblast) "$@" clblast_tuner_xaxpy -platform 0 -device 0 -runs 1 -precision 32 ;;
	esac
}

# run NAME [COMMAND...]: one run; what it says into NAME.txt, its time in seconds into NAME.s, what was counted into NAME.json.
run()
{
	run=$1
	mkdir "$run" "$run/config" "$run/kernels" || fail "no space in $work for another run"
	start=$(cut -d ' ' -f 1 /proc/uptime)
	code=0
	(cd "$run" && program "$@") >"$run.txt" 2>&1 </dev/null || code=$?
	if [ "$application" = darktable ]; then
		sed -n 's/.*KERNEL LOADING TIME: *\([0-9.]*\).*/\1/p' "$run.txt" |
			awk '{ sum += $1 } END { if (NR) print sum }' >"$run.s"
	else
		echo "$start $(cut -d ' ' -f 1 /proc/uptime)" | awk '{ print $2 - $1 }' >"$run.s"
	fi
	"$ckcache" stats --json >"$run.json"
	"$ckcache" stats --zero >/dev/null
	grep -h '^ckcache' "$run.txt" || true	# what the layer had to say
	return "$code"
}

# count RUN NAME: a number of its statistics.
count()
{
	sed -n "s/^ *\"$2\": \([0-9.]*\),*$/\1/p" "$1.json"
}

# bypasses RUN: how many builds went past the cache, and why, a line each.
bypasses()
{
	awk '/"bypasses": \{/ { inside = 1; sub(/.*\{/, "") }
	     inside { n = split($0, part, /[,{}]/); for (i = 1; i <= n; i++) if (part[i] ~ /: *[0-9]/) {
			gsub(/^ *"/, "", part[i]); split(part[i], pair, /": */); print pair[2], pair[1] } }
	     /\}/ { inside = 0 }' "$1.json"
}

# built RUN: how many programs the driver built.
built()
{
	bypasses "$1" | awk -v misses="$(count "$1" misses)" '{ misses += $1 } END { print misses + 0 }'
}

# last_words RUN WHAT
last_words()
{
	full "$work"
	echo "$2; its last lines:" >&2
	tail -n 15 "$1.txt" >&2
}

# cold: with an empty cache; 1 if this program does not use the driver.
cold()
{
	echo "First run: compiles everything (half a minute or more)"
	cold_code=0
	run cold "$ckcache" run -- || cold_code=$?
	[ -s cold.s ] && [ "$(built cold)" -gt 0 ] && return 0
	last_words cold "$application compiles nothing on this driver"
	rm -rf cold cold.* cache
	return 1
}

# present NAME
present()
{
	case $1 in
	darktable) command -v darktable-cltest >/dev/null ;;
	clblast) command -v clblast_tuner_xaxpy >/dev/null ;;
	esac
}

# choose_application: the first that compiles something here, and runs it once; 1 if none does.
choose_application()
{
	case $driver in
	pocl) applications=clblast ;;	# darktable refuses it
	intel) applications=darktable ;;	# which runs none of its kernels here
	*) applications='darktable clblast' ;;
	esac
	for application in $applications; do
		present "$application" || install_optional "$application"
		if present "$application"; then
			echo "Program: $application"
			! cold || return 0
		else
			names=$(packages_of "$application")
			[ -z "$names" ] || can_install || echo "Skipping $application: package $names is not installed"
		fi
	done
	return 1
}

seconds()
{
	[ -s "$1.s" ] && awk '{ printf "%.3f s\n", $1 }' "$1.s" || echo -
}

# row TITLE COLD OWN WARM
row()
{
	if [ -n "$own_cache" ]; then
		printf '%-26s %14s %14s %14s\n' "$1" "$2" "$3" "$4"
	else
		printf '%-26s %14s %14s\n' "$1" "$2" "$4"
	fi
}

table()
{
	time='whole run'
	[ "$application" != darktable ] || time='kernel loading time'
	echo
	row '' 'first run' "driver's cache" 'ckcache'
	row "$time" "$(seconds cold)" "$(seconds own)" "$(seconds warm)"
	row 'built by the driver' "$(built cold)" - "$(built warm)"
	row 'loaded from the cache' - - "$(($(count warm hits_memory) + $(count warm hits_disk)))"
	row 'compile time spent' "$(count cold compile_ms_spent | awk '{ printf "%.1f s", $1 / 1000 }')" - \
		"$(count warm compile_ms_spent | awk '{ printf "%.1f s", $1 / 1000 }')"
	row 'compile time saved' - - "$(count warm compile_ms_saved | awk '{ printf "%.1f s", $1 / 1000 }')"
	for run in cold warm; do
		bypasses "$run" | while read -r number reason; do
			echo "$run run: $number built without the cache: $reason"
		done
		[ "$(count "$run" errors)" = 0 ] || echo "$run run: $(count "$run" errors) errors"
	done
	echo
	if [ -n "$own_cache" ]; then
		echo "The driver's own cache is on, as by default; it was empty in the first run and full in the"
		echo "others. All caches are in a temporary directory."
	else
		echo "This driver keeps no cache of its own here. All caches are in a temporary directory."
	fi
}

# The trial of `ckcache doctor` is a program that is always there.
show_doctor()
{
	echo "No program here compiles anything on this driver, so \"ckcache doctor\" tries the cache with a small program of its own."
	"$ckcache" doctor || fail "ckcache doctor found a problem (see above)"
}

demonstrate()
{
	if ! choose_application; then
		show_doctor
		return
	fi
	own_cache=
	own_code=0
	if [ -n "$(find "$own" -type f | head -n 1)" ]; then
		own_cache=yes
		echo "Second run: with the driver's own cache only"
		run own env || own_code=$?
	fi
	if [ "$(count cold recipes)" -gt 0 ]; then
		echo "This driver gives a program's binary late, or its own cache had it: \"ckcache replay\" builds it now"
		"$ckcache" replay >replay.txt 2>&1 || last_words replay "ckcache replay failed"
		"$ckcache" stats --zero >/dev/null
	fi
	echo "Last run: with ckcache"
	warm_code=0
	run warm "$ckcache" run -- || warm_code=$?
	# Some tuners crash at their end on some drivers; that is not the cache's doing where it happens without.
	if [ "$cold_code$warm_code" != 00 ] && ! { [ -n "$own_cache" ] && [ "$own_code" -ne 0 ]; }; then
		last_words warm "$application ended with the codes $cold_code and $warm_code"
		exit 1
	fi
	table
	if [ "$(built warm)" -ne 0 ] || [ $(($(count warm hits_memory) + $(count warm hits_disk))) -eq 0 ]; then
		fail "the last run should have built nothing"
	fi
	echo "The last run built nothing: $(cat cold.s warm.s | tr '\n' ' ' | awk '{ printf "%.0f", $1 / ($2 > 0 ? $2 : 0.001) }') times faster than the first."
}

next()
{
	echo
	echo "Next: run a program of your own twice, see what the cache did, and check all drivers:"
	echo "    $(quoted "$ckcache") run -- PROGRAM ARGUMENTS"
	echo "    $(quoted "$ckcache") stats"
	echo "    $(quoted "$ckcache") doctor"
	echo "Install it for all users (docs/INSTALL.md):"
	echo "    sudo cmake --install $(quoted "$build")"
}

work=
trap '[ -z "$work" ] || rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

read_distribution
prepare
build
work=$(mktemp -d "${TMPDIR:-/tmp}/ckcache-quickstart.XXXXXX" 2>/dev/null) ||
	fail "cannot create a directory in ${TMPDIR:-/tmp}: set TMPDIR to a writable directory"
if ! choose_driver; then
	next
	if [ -n "$wanted" ]; then
		fail "the driver $wanted has no device here"
	fi
	fail "ckcache is built, but there is no OpenCL driver to demonstrate it; install one and run this again: $(how_to_install rusticl)"
fi
echo "Driver: $(driver_text "$driver"): $device"
settle "$driver"
demonstrate
next
