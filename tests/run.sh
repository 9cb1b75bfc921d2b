#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs what is missing, builds, and runs the suite. Without an argument:
# everything that a change must pass. With one: a single part of it.
#   sh tests/run.sh [quick | asan | tsan | valgrind | tidy | cppcheck | fuzz [SECONDS]]
# Builds lie in ./build-gcc, ./build-clang, …, or $BUILD_DIR-gcc, ….
# Exit code: 0 if everything passed. The last line is ctest's summary of the
# main run (full and quick).
set -eu
cd "$(dirname "$0")/.."
. tools/packages.sh

packages_build='gcc g++ libc6-dev cmake ninja-build pkg-config binutils python3 libxxhash-dev
	libdeflate-dev libssl-dev openssl libze-dev uthash-dev libcunit1-dev opencl-headers ocl-icd-opencl-dev ocl-icd-libopencl1 doxygen'
packages_drivers='pocl-opencl-icd intel-opencl-icd mesa-opencl-icd oclgrind clinfo
	clblast-utils darktable piglit python3-pyopencl mandoc zsh'
packages_packages='dpkg-dev file lintian'
packages_clang='clang-14 libclang-rt-14-dev llvm-spirv-14'

mode=${1:-full}
base=${BUILD_DIR:-build}
jobs=$(nproc)
failed=
summary=

# install WORDS...
install()
{
	# shellcheck disable=SC2048,SC2086  # lists of names
	install_packages $*
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
	echo "== building $dir"
	# shellcheck disable=SC2086  # arguments hold no spaces
	cmake -S . -B "$dir" -G Ninja -DCKCACHE_TESTS=ON -DCKCACHE_WERROR=ON $arguments >/dev/null || {
		echo "configuring $name failed" >&2
		exit 1
	}
	cmake --build "$dir" ${1:+--target "$@"} || {
		echo "building $name failed" >&2
		exit 1
	}
}

# run_tests NAME PATTERN [COMMAND-PREFIX...]: ctest in $base-NAME; notes a failure and goes on.
run_tests()
{
	dir=$base-$1
	name=$1
	pattern=$2
	shift 2
	echo "== testing $dir"
	if ! "$@" ctest --test-dir "$dir" --output-on-failure --no-tests=error -j "$jobs" \
		-R "$pattern" --output-log "$dir/ctest.log" </dev/null; then
		failed="$failed $name"
	fi
	summary=$(grep -h '% tests passed' "$dir/ctest.log" || echo "no test ran in $dir")
}

# With the prefix of packages, which its tests make.
run_gcc()
{
	build gcc -DCMAKE_C_COMPILER=gcc -DCMAKE_INSTALL_PREFIX=/usr
	run_tests gcc "$1"
}

run_clang()
{
	build clang -DCMAKE_C_COMPILER=clang-14
	run_tests clang '^unit\.'
}

# asan TOOLS [NAME|]: the tools' tests of that pattern; with further programs on the OpenCL stub driver.
run_asan()
{
	export ASAN_OPTIONS=detect_stack_use_after_return=1:abort_on_error=0
	export UBSAN_OPTIONS=print_stacktrace=1
	build asan -DCMAKE_C_COMPILER=gcc -DCKCACHE_SANITIZE=address,undefined
	run_tests asan "^(unit\\.|tools\\.$1\$|golden|hostile\\.(lengths|users|verify)\$|opencl\\.(${2:-}transparent|damage|settings|stub|bundle|lives|ways|replay)\\.stub\$|api\\.[a-z]*\\.stub\$|level_zero\\.(modules|stub|library\\.stub)\$|stress\\.parallel\$)"
}

# All that has threads, but for docs/TESTING.md's exceptions.
threaded='^(unit\..*|golden|hostile\.users|stress\.(programs|store_kill|store_many|parallel)|opencl\.(transparent|damage|settings|stub|bundle|lives|ways|replay)\.stub|api\.[a-z]*\.stub|level_zero\.(modules|stub|stub_drivers|library\.stub)|bench\.store_smoke)$'

run_tsan()
{
	# A process of any user may report, also one whose end nobody looks at.
	reports=$(mktemp -d)
	chmod 1777 "$reports"
	# The tests fork and exit while threads run, and the children start threads too.
	export TSAN_OPTIONS="die_after_fork=0:atexit_sleep_ms=0:suppressions=$PWD/tests/tsan.supp:log_path=$reports/report"
	build tsan -DCMAKE_C_COMPILER=gcc -DCKCACHE_SANITIZE=thread
	# gcc 12's runtime wants the address space that kernels had before 2024.
	if setarch "$(uname -m)" -R true 2>/dev/null; then
		run_tests tsan "$threaded" \
			setarch "$(uname -m)" -R
	else
		run_tests tsan "$threaded"
	fi
	if [ -n "$(ls "$reports")" ]; then
		cat "$reports"/*
		failed="$failed tsan:reports"
	fi
	rm -rf "$reports"
}

run_valgrind()
{
	build gcc -DCMAKE_C_COMPILER=gcc
	for source in tests/unit/test_*.c; do
		test=$(basename "$source" .c)
		echo "== valgrind $test"
		valgrind --quiet --error-exitcode=9 --leak-check=full \
			--errors-for-leak-kinds=definite --suppressions=tests/valgrind.supp \
			"$base-gcc/bin/$test" </dev/null ||
			failed="$failed valgrind:$test"
	done
}

product_sources()
{
	find common cachecore layers tools -name '*.c' | sort
}

run_tidy()
{
	build gcc -DCMAKE_C_COMPILER=gcc
	product_sources | xargs -P "$jobs" -n 4 clang-tidy-14 --quiet -p "$base-gcc" ||
		failed="$failed tidy"
}

run_cppcheck()
{
	# shellcheck disable=SC2046  # no name has a space
	cppcheck --quiet --std=c11 --enable=warning,performance,portability --inline-suppr \
		--suppress=missingIncludeSystem --suppress="*:/usr/include/*" \
		--include=/usr/include/uthash.h --include=/usr/include/utlist.h \
		--error-exitcode=1 -D_GNU_SOURCE -I . -j "$jobs" \
		$(product_sources) || failed="$failed cppcheck"
}

# fuzz SECONDS NAMES...: each tests/fuzz/fuzz_NAME.c for so long, as many at a
# time as there are processors; a crashing input is left in $base-fuzz.
run_fuzz()
{
	seconds=$1
	shift
	build fuzz -DCMAKE_C_COMPILER=clang-14 \
		-DCKCACHE_SANITIZE=fuzzer-no-link,address,undefined -- cachecore include_scan layer_api level_zero_scan
	for name in "$@"; do
		target=$base-fuzz/fuzz_$name
		# shellcheck disable=SC2046  # flags are words
		clang-14 -std=c11 -D_GNU_SOURCE -g -O1 -Wall -Wextra -Werror \
			-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -I . \
			"tests/fuzz/fuzz_$name.c" -o "$target" \
			"$base-fuzz/lib/libinclude_scan.a" "$base-fuzz/lib/liblevel_zero_scan.a" \
			"$base-fuzz/lib/liblayer_api.a" "$base-fuzz/lib/liblayer_driver.a" \
			"$base-fuzz/lib/libcachecore.a" "$base-fuzz/lib/libcommon.a" \
			$(pkg-config --libs libxxhash libdeflate) -lpthread
		mkdir -p "$target.corpus"
	done
	echo "== fuzzing $*, $seconds seconds each"
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

# Every tests/fuzz/fuzz_*.c.
fuzz_targets=$(cd tests/fuzz && ls fuzz_*.c | sed 's/^fuzz_//; s/\.c$//')

case $mode in
full)
	install "$packages_build" "$packages_drivers" "$packages_packages" "$packages_clang"
	# All drivers are installed now: a test that finds none has failed.
	export CKCACHE_TEST_REQUIRE_DRIVERS=1
	run_clang
	# The rest of the tools' tests under it take two minutes: the command's.
	run_asan '(import_source|text|verbs)'
	run_tsan
	run_fuzz 20 entry key config bundle blob history
	run_gcc .
	;;
quick)
	install "$packages_build"
	run_gcc '^(unit|rules)\.'
	;;
asan)
	install "$packages_build"
	run_asan '.*' 'extremes|'
	;;
tsan)
	install "$packages_build"
	run_tsan
	;;
valgrind)
	install "$packages_build" valgrind
	run_valgrind
	;;
tidy)
	install "$packages_build" clang-tidy
	run_tidy
	;;
cppcheck)
	install cppcheck uthash-dev
	run_cppcheck
	;;
fuzz)
	install "$packages_build" "$packages_clang"
	# shellcheck disable=SC2086  # a list of names
	run_fuzz "${2:-60}" $fuzz_targets
	;;
*)
	sed -n 's/^# //p' "$0" | sed -n 2,7p >&2
	exit 2
	;;
esac

[ -z "$failed" ] || echo "FAILED:$failed"
[ -z "$summary" ] || echo "$summary"
[ -z "$failed" ]
