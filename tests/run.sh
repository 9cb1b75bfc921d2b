#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what is missing, builds, and runs the suite, or the parts that are named:
#   sh tests/run.sh [MODE...]
# default   gcc: unit and rule tests, both layers on stub drivers and on each real one; some minutes
# full      everything that a change must pass: also clang, sanitizers, fuzzing, clang-tidy, cppcheck,
#           the long tests
# quick     gcc, unit and rule tests; no drivers needed
# today     of what default leaves out, what is worth a run on newer drivers
# emulated  where another processor is emulated: unit tests, OpenCL programs on the stub driver, and
#           on rusticl and pocl
# brief     of that, unit tests, and what shows a hit on the stub driver or, where nobody can see what
#           compilers read, that nothing is stored
# asan tsan valgrind tidy cppcheck thorough
# fuzz [SECONDS]
# With CKCACHE_TEST_MINUTES=N `full` leaves its last step, the long tests, out if N minutes have passed
# before it: for machines that end a run after some time. It says so.
# Builds lie in ./build-gcc, ./build-clang, …, or $BUILD_DIR-gcc, …; the tests' own files in
# $TMPDIR, or in memory. Whatever is interrupted goes on where it was the next time.
# Exit code: 0 if everything passed. The last lines are what was skipped and why, and ctest's summary of
# the main run.
set -eu
umask 022	# some systems' users have another one, and what others may write is not trusted
cd "$(dirname "$0")/.."
. tools/packages.sh

# libze-dev is not for every architecture.
packages_build='gcc g++ libc6-dev cmake ninja-build pkg-config binutils python3 python3-jsonschema libxxhash-dev
	libdeflate-dev libssl-dev openssl libjson-c-dev libze-dev|libc6-dev uthash-dev libsodium-dev libcunit1-dev
	opencl-headers ocl-icd-opencl-dev ocl-icd-libopencl1 libhiredis-dev libcurl4-openssl-dev
	zlib1g-dev'
packages_drivers='clinfo intel-opencl-icd libze-intel-gpu1|intel-opencl-icd mesa-opencl-icd
	valkey-server|redis-server nginx-light python3-pyopencl pocl-opencl-icd oclgrind mandoc zsh clblast-utils'
packages_emulated='clinfo mesa-opencl-icd pocl-opencl-icd'
packages_more='xfsprogs btrfs-progs strace doxygen darktable piglit dpkg-dev file lintian
	debhelper devscripts fish libwww-perl makepkg nix-bin rpm rpmlint shellcheck ccache'
most_mb=1450	# of packages, in the run without arguments

base=${BUILD_DIR:-build}
jobs=$(nproc)
began=$(date +%s)
step=0 steps=0
failed='' summary='' left_out='' tested='' skipped=''

# elapsed: minutes and seconds since the beginning.
elapsed()
{
	seconds=$(($(date +%s) - began))
	printf '%d:%02d' $((seconds / 60)) $((seconds % 60))
}

# begin TEXT: the next step.
begin()
{
	step=$((step + 1))
	echo "[$step/$steps, $(elapsed)] $*"
}

# is_late: more than $CKCACHE_TEST_MINUTES have passed.
is_late()
{
	[ -n "${CKCACHE_TEST_MINUTES-}" ] && [ $(($(date +%s) - began)) -gt $((CKCACHE_TEST_MINUTES * 60)) ]
}

# give_up SENTENCE
give_up()
{
	echo "$*" >&2
	exit 1
}

# skip SENTENCE: says it now, and again at the end.
skip()
{
	echo "$*"
	note_skips "$*
"
}

# note_skips LINES
note_skips()
{
	skipped=$(printf '%s%s' "$skipped${skipped:+
}" "$1" | sort -u)
}

# install FUNCTION WORDS...: of tools/packages.sh
install()
{
	function=$1
	shift
	# shellcheck disable=SC2048,SC2086  # lists of names
	"$function" $*
}

# Which drivers there are: each NAME is a label of tests. One whose own devices cannot be
# listed here is none: pocl without /sys, from which it reads what the machine has.
find_drivers()
{
	drivers='' left_out=''
	for driver in neo ze_intel rusticl pocl level0 oclgrind amd; do
		case $driver in
		neo) library=$(ls /usr/lib/*/intel-opencl/libigdrcl.so 2>/dev/null) ;;
		ze_intel) library=$(ls /usr/lib/*/libze_intel_gpu.so.1 2>/dev/null) ;;	# Level Zero
		rusticl) library=$(ls /usr/lib/*/libRusticlOpenCL.so.1 2>/dev/null) ;;
		pocl) library=$(ls /usr/lib/*/libpocl.so.2 2>/dev/null) ;;
		level0) library=$(ls /usr/lib/*/pocl/libpocl-devices-level0.so 2>/dev/null) ;;	# on ze_intel
		oclgrind) library=$(ls /usr/lib/oclgrind/liboclgrind-rt-icd.so 2>/dev/null) ;;
		amd) library=$(ls /usr/l*/*/libamdocl64.so 2>/dev/null) ;;	# tests/opencl/offline_amd.c
		esac || true
		if [ -z "$library" ]; then
			skip "No $driver on this system: skipping its tests"
		elif [ "$driver" != ze_intel ] && [ "$driver" != level0 ] && ! runs_bare "$driver" "$library"; then
			skip "$driver does not work here without ckcache (clinfo: $why): skipping its tests"
		else
			drivers="$drivers $driver"
			continue
		fi
		left_out="$left_out${left_out:+|}$driver"
	done
	# One that is here must not be skipped.
	export CKCACHE_TEST_REQUIRE_DRIVERS="${drivers# }"
}

# runs_bare DRIVER LIBRARY: sets $why if not.
runs_bare()
{
	command -v clinfo >/dev/null || return 0
	mkdir -p "$work/vendors" "$work/home"
	echo "$2" >"$work/vendors/driver.icd"
	status=0
	why=$(env -u OPENCL_LAYERS OCL_ICD_VENDORS="$work/vendors" HOME="$work/home" RUSTICL_ENABLE=llvmpipe \
		timeout 120 clinfo --list 2>&1 </dev/null) || status=$?
	# NEO has no device without its keys, which is no failure.
	why=$(echo "$why" | tail -n 1)
	[ "$status" -lt 124 ]
}

# space MB: there is so much where builds go.
space()
{
	directory=$(dirname "$base-x")
	mkdir -p "$directory" 2>/dev/null && [ -w "$directory" ] ||
		give_up "cannot write to $PWD/$directory: set BUILD_DIR to a writable directory, as in BUILD_DIR=/tmp/build sh tests/run.sh"
	free=$(df -Pk "$directory" | awk 'NR == 2 { print int($4 / 1024) }')
	[ "$free" -ge "$1" ] ||
		give_up "The builds need $1 MB in $directory, but only $free MB are free: set BUILD_DIR to another directory, or free some space"
}

# quietly COMMAND...: its output is seen on a terminal, and elsewhere only if it fails.
quietly()
{
	if [ -t 1 ]; then
		"$@"
	else
		"$@" >"$work/log" 2>&1 || {
			grep -v '^\[[0-9]*/[0-9]*\] ' "$work/log" | tail -n 60
			return 1
		}
	fi
}

# configure: $dir with $arguments.
configure()
{
	# shellcheck disable=SC2086  # arguments hold no spaces
	cmake -S . -B "$dir" -G Ninja -DCKCACHE_TESTS=ON -DCKCACHE_WERROR=ON $arguments \
		>"$work/log" 2>&1 || {
		tail -n 30 "$work/log"
		give_up "Configuring $dir failed"
	}
}

# build NAME [CMAKE-ARGUMENTS...] [-- TARGETS...]: into $base-NAME; a failure ends the script.
build()
{
	dir=$base-$1
	name=$1
	shift
	arguments=
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		arguments="$arguments $1"
		shift
	done
	[ $# -eq 0 ] || shift
	begin "Building $dir"
	configure
	# Of a build by another compiler CMake deletes its cache, and with it what it was just told.
	grep -q '^CKCACHE_TESTS:BOOL=ON' "$dir/CMakeCache.txt" || configure
	quietly cmake --build "$dir" ${1:+--target "$@"} || give_up "Building $dir failed"
}

# test_build NAME CTEST-ARGUMENTS...: notes a failure and goes on. PREFIX: words before ctest.
# Tests wait now and then: one more at a time than there are processors.
test_build()
{
	name=$1
	shift
	begin "Testing $base-$name"
	rm -f "$work/status"
	{
		# shellcheck disable=SC2086  # words
		${PREFIX:-} ctest --test-dir "$base-$name" --output-on-failure --no-label-summary --no-tests=error -j $((jobs + 1)) \
			"$@" --output-log "$work/ctest.log" </dev/null || echo "$?" >"$work/status"
	} | grep --line-buffered -v -e '^ *Start  *[0-9]' -e '^Internal ctest'
	[ ! -e "$work/status" ] || failed="$failed $name"
	note_skips "$(sh tests/support/skipped.sh "$work/ctest.log" "$base-$name/Testing/Temporary/LastTest.log")"
	summary=$(grep '% tests passed' "$work/ctest.log" || echo "no test ran in $base-$name")
	tested="$tested$name: $summary
"
}

# test_gcc INCLUDE|- EXCLUDE [CTEST-ARGUMENTS...]: labels of tests; those of drivers that are not here are left out.
test_gcc()
{
	include="^($1)\$" exclude="^($2${left_out:+|$left_out})\$"
	shift 2
	[ "$include" != '^(-)$' ] || include=.
	test_build gcc -L "$include" -LE "$exclude" "$@"
}

# With the prefix of packages, which its tests make.
# build_gcc MB [-- TARGETS...]
build_gcc()
{
	space "$1"
	shift
	build gcc -DCMAKE_C_COMPILER=gcc -DCMAKE_INSTALL_PREFIX=/usr "$@"
}

# The newest clang that can make fuzz targets, with its package's runtime; $clang.
install_clang()
{
	install install_available clang
	version=$(readlink -f "$(command -v clang)" | sed -n 's,.*/llvm-\([0-9]*\)/.*,\1,p')
	[ -z "$version" ] || install install_available "libclang-rt-$version-dev"
	echo 'int LLVMFuzzerTestOneInput(const char *data, unsigned long size); int LLVMFuzzerTestOneInput(const char *data, unsigned long size) { return size && !data; }' >"$work/target.c"
	clang=
	for candidate in $(sh tests/support/newest.sh clang) clang; do
		if "$candidate" -fsanitize=fuzzer "$work/target.c" -o "$work/target" >"$work/log" 2>&1; then
			clang=$candidate
			return 0
		fi
	done
	tail -n 3 "$work/log"
	give_up "This needs clang and its runtime for fuzzing: install clang and libclang-rt-NN-dev"
}

run_default()
{
	begin "Installing missing packages"
	install install_packages "$packages_build"
	install install_within "$most_mb" "$packages_drivers"
	find_drivers
	build_gcc 500
	test_gcc - 'long|thorough'
	default_drivers=$drivers
}

run_full()
{
	begin "Installing missing packages"
	install install_packages "$packages_build" clang-tidy cppcheck
	install install_available "$packages_drivers" "$packages_more"
	find_drivers
	install_clang
	space 1500
	run_clang
	run_asan '^asan$'
	run_tsan
	run_fuzz 20 entry key config bundle blob events value trust pack
	check_cppcheck
	build_gcc 500
	check_tidy
	long=-
	[ "${default_drivers-none}" != "$drivers" ] || long=long
	if is_late; then
		begin "Leaving out the long tests after $(elapsed): this machine is slow (CKCACHE_TEST_MINUTES=$CKCACHE_TEST_MINUTES)"
		[ "$long" = long ] || test_gcc - 'long|thorough'
	else
		test_gcc "$long" thorough
	fi
}

run_quick()
{
	begin "Installing missing packages"
	install install_packages "$packages_build"
	build_gcc 500
	test_gcc 'unit|rules' long
}

run_today()
{
	begin "Installing missing packages"
	install install_packages "$packages_build"
	install install_available "$packages_drivers" darktable ccache clpeak
	find_drivers
	build_gcc 500
	test_gcc today thorough -L '^long$'
}

run_emulated()
{
	begin "Installing missing packages"
	install install_packages "$packages_build"
	install install_available "$packages_emulated"
	find_drivers
	build_gcc 500 -- layers/all tools/all tests/unit/all tests/opencl/all tests/libckcache/all
	test_gcc - none -R "^unit\.|^(opencl|libckcache)\..*\.stub\$|^opencl\.changed_header\.(rusticl|pocl)\$" -E '^opencl\.extremes'
}

run_brief()
{
	begin "Installing missing packages"
	install install_packages "$packages_build"
	build_gcc 500 -- layers/all tools/all tests/unit/all test_opencl_stub test_opencl_unobserved test_opencl_mini_runtime
	hits=
	case $(dpkg --print-architecture) in amd64 | arm64) hits='stub|' ;; esac	# got_slots.c
	test_gcc - none -R "^unit\.|^opencl\.(${hits}unobserved|mini_runtime)\.stub\$"
}

run_thorough()
{
	begin "Installing missing packages"
	install install_packages "$packages_build"
	install install_available "$packages_drivers"
	find_drivers
	build_gcc 500
	test_gcc thorough none
}

run_clang()
{
	build clang -DCMAKE_C_COMPILER="$clang"
	test_build clang -L '^unit$'
}

# run_asan LABELS
run_asan()
{
	export ASAN_OPTIONS=detect_stack_use_after_return=1:abort_on_error=0
	export UBSAN_OPTIONS=print_stacktrace=1
	build asan -DCMAKE_C_COMPILER=gcc -DCKCACHE_SANITIZE=address,undefined
	test_build asan -L "$1"
	unset ASAN_OPTIONS UBSAN_OPTIONS
}

run_tsan()
{
	# A process of any user may report, also one whose end nobody looks at.
	reports=$work/reports
	mkdir -p "$reports"
	chmod 1777 "$reports"
	# The checkout may lie where only its owner gets.
	cp tests/tsan.supp "$work/tsan.supp"
	chmod 644 "$work/tsan.supp"
	# The tests fork and exit while threads run, and the children start threads too.
	export TSAN_OPTIONS="die_after_fork=0:atexit_sleep_ms=0:suppressions=$work/tsan.supp:log_path=$reports/report"
	build tsan -DCMAKE_C_COMPILER=gcc -DCKCACHE_SANITIZE=thread
	# gcc 12's runtime wants the address space that kernels had before 2024.
	PREFIX=
	! setarch "$(uname -m)" -R true 2>/dev/null || PREFIX="setarch $(uname -m) -R"
	test_build tsan -L '^tsan$'
	PREFIX=
	# Of a library that a driver loads in a way that no sanitizer can follow, it says just that, and
	# ends the process: a worker that looks for drivers, whose end its test expects.
	if grep -hv 'RTLD_DEEPBIND flag which is incompatible' "$reports"/* 2>/dev/null; then
		failed="$failed tsan:reports"
	fi
	unset TSAN_OPTIONS
}

run_valgrind()
{
	begin "Installing missing packages"
	install install_packages "$packages_build" valgrind
	space 500
	build valgrind -DCMAKE_C_COMPILER=gcc -DCKCACHE_LEAK_CHECK=OFF	# two checkers do not get on
	begin "valgrind"
	for source in $(find tests/unit -name "test_*.c" | sort); do
		run_in_valgrind "$(basename "$source" .c)"
	done
}

# run_in_valgrind TEST: prints a line if it passes, all that it said if not. A report of any process
# is a failure, even if no test checks how that process ends.
run_in_valgrind()
{
	binaries=$(cd "$base-valgrind" && pwd)	# tests have working directories of their own
	argument=
	case $1 in
	test_observer | test_dependencies) argument=$binaries/lib/libobserved_now.so ;;
	esac
	status=0
	# shellcheck disable=SC2086  # one, or none
	valgrind --quiet --log-file="$work/valgrind" --fair-sched=try --error-exitcode=9 \
		--leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
		--suppressions=tests/valgrind.supp "$binaries/bin/$1" $argument \
		</dev/null >"$work/log" 2>&1 || status=$?
	# At each openat2, which valgrind 3.19 does not know, it says so, also when it is to be quiet.
	sed -i '/^--[0-9]*-- /d' "$work/valgrind"
	if [ "$status" -eq 0 ] && [ ! -s "$work/valgrind" ]; then
		echo "$1 passed"
		grep '^under valgrind: ' "$work/log" | sort -u || true
	else
		cat "$work/log" "$work/valgrind"
		echo "$1 failed (exit code $status)"
		failed="$failed valgrind:$1"
	fi
}

# Not what Debian 12's hiredis cannot build.
product_sources()
{
	find common cachecore layers storage tools -name '*.c' ! -name redis_tls.c | sort
}

run_tidy()
{
	begin "Installing missing packages"
	install install_packages "$packages_build" clang-tidy
	build_gcc 500
	check_tidy
}

# With the commands of $base-gcc.
check_tidy()
{
	begin "clang-tidy"
	product_sources | xargs -P "$jobs" -n 4 "$(sh tests/support/newest.sh clang-tidy)" --quiet \
		-p "$base-gcc" || failed="$failed tidy"
}

run_cppcheck()
{
	begin "Installing missing packages"
	install install_packages cppcheck uthash-dev libsodium-dev
	check_cppcheck
}

check_cppcheck()
{
	begin "cppcheck"
	# shellcheck disable=SC2046  # no name has a space
	cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
		--suppress=missingIncludeSystem --suppress="*:/usr/include/*" \
		--include=/usr/include/uthash.h --include=/usr/include/utlist.h \
		--include=tests/cppcheck.h --error-exitcode=1 -D_GNU_SOURCE -I . -j "$jobs" \
		$(product_sources) || failed="$failed cppcheck"
}

# fuzz SECONDS NAMES...: each tests/fuzz/fuzz_NAME.c for so long, as many at a
# time as there are processors; a crashing input is left in $base-fuzz.
run_fuzz()
{
	seconds=$1
	shift
	build fuzz -DCMAKE_C_COMPILER="$clang" \
		-DCKCACHE_SANITIZE=fuzzer-no-link,address,undefined -- cachecore layer_api level_zero_scan
	for name in "$@"; do
		target=$base-fuzz/fuzz_$name
		# shellcheck disable=SC2046  # flags are words
		"$clang" -std=c11 -D_GNU_SOURCE -g -O1 -Wall -Wextra -Werror \
			-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -I . \
			"tests/fuzz/fuzz_$name.c" -o "$target" \
			"$base-fuzz/lib/liblevel_zero_scan.a" \
			"$base-fuzz/lib/liblayer_api.a" "$base-fuzz/lib/liblayer_driver.a" \
			"$base-fuzz/lib/libcachecore.a" "$base-fuzz/lib/libcommon.a" \
			$(pkg-config --libs libdeflate) -lpthread
		mkdir -p "$target.corpus"
	done
	begin "Fuzzing $*, $seconds seconds each"
	# shellcheck disable=SC2016  # for the inner shell
	printf '%s\n' "$@" | xargs -P "$jobs" -I NAME sh -c '
		target=$1/fuzz_$2
		"$target" -max_total_time="$3" -print_final_stats=1 -artifact_prefix="$target-" \
			"$target.corpus" >"$target.log" 2>&1 </dev/null || {
			tail -50 "$target.log"
			exit 1
		}
		echo "fuzz_$2: $(grep number_of_executed_units "$target.log")"
		' sh "$base-fuzz" NAME "$seconds" || failed="$failed fuzz"
}

modes=
while [ $# -gt 0 ]; do
	case $1 in
	default | quick | today | emulated | brief | thorough) steps=$((steps + 3)) ;;
	full) steps=$((steps + 13)) ;;
	asan | tsan | valgrind | tidy | fuzz) steps=$((steps + 3)) ;;
	cppcheck) steps=$((steps + 2)) ;;
	*)
		sed -n 's/^# //p' "$0" | sed -n 2,20p >&2
		exit 2
		;;
	esac
	modes="$modes $1"
	if [ "$1" = fuzz ] && [ "${2-x}" -gt 0 ] 2>/dev/null; then
		fuzz_seconds=$2
		shift
	fi
	shift
done
[ -n "$modes" ] || {
	modes=default
	steps=3
}

# What the tests leave in a temporary directory waits for no disk in memory, and goes with it.
work=
for place in ${TMPDIR:-/dev/shm /tmp}; do
	[ "$(df -Pk "$place" 2>/dev/null | awk 'NR == 2 { print int($4 / 1024) }')" -ge 1000 ] 2>/dev/null || continue
	work=$(mktemp -d "$place/ckcache-tests.XXXXXX" 2>/dev/null) || continue
	# Programs must be able to run there.
	echo '#!/bin/sh' >"$work/program"
	chmod 755 "$work/program"
	! "$work/program" 2>/dev/null || break
	rm -rf "$work"
	work=
done
[ -n "$work" ] || give_up "The tests need a directory for temporary files with 1000 MB of free space: set TMPDIR"
trap 'chmod -R u+rwX "$work" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
# Tests run programs as other users in it.
chmod 755 "$work"
mkdir "$work/tmp"
chmod 1777 "$work/tmp"
export TMPDIR="$work/tmp"

for mode in $modes; do
	case $mode in
	asan | tsan)
		begin "Installing missing packages"
		install install_packages "$packages_build"
		space 1000
		"run_$mode" '^asan'
		;;
	fuzz)
		begin "Installing missing packages"
		install install_packages "$packages_build"
		install_clang
		space 500
		# shellcheck disable=SC2046  # a list of names: every tests/fuzz/fuzz_*.c
		run_fuzz "${fuzz_seconds:-60}" $(cd tests/fuzz && ls fuzz_*.c | sed 's/^fuzz_//; s/\.c$//')
		;;
	*) "run_$mode" ;;
	esac
done

echo "[$step/$steps, $(elapsed)] Done: $packages_mb MB of packages installed," \
	"$(du -smc "$base"-* 2>/dev/null | awk 'END { print $1 }') MB of builds"
[ -z "$skipped" ] || echo "Skipped:
$skipped"
printf '%s' "$tested"
[ -z "$failed" ] || echo "FAILED:$failed"
[ -z "$summary" ] || echo "$summary"
[ -z "$failed" ]
