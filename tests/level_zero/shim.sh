#!/bin/sh
# SPDX-License-Identifier: MIT
# The preload shim in programs that do not ask for layers, of each kind that the machine can
# build: the program does what it does without the shim, and the shim opens nothing, starts
# no thread, and adds only its own file to the process.
#   shim.sh CC SHIM
set -eu
cc=$1 shim=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset LD_PRELOAD ZE_ENABLE_LAYERS ASAN_OPTIONS
cd "$work"

fail()
{
	echo "shim.sh: $*" >&2
	exit 1
}

# It says what is in its process, and leaves out what differs from run to run.
cat >program.c <<'C'
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int count(const char *path)
{
	DIR *directory = opendir(path);
	int found = 0;

	while (directory && readdir(directory))
		found++;
	if (directory)
		(void)closedir(directory);
	return found;
}

int main(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4096], *path;

	printf("descriptors %d, threads %d, HOME %s\n", count("/proc/self/fd"),
	       count("/proc/self/task"), getenv("HOME") ? getenv("HOME") : "-");
	while (maps && fgets(line, sizeof(line), maps)) {
		path = strchr(line, '/');
		/* The thread sanitizer has a file with the process's number in its name. */
		if (path && !strstr(path, "(deleted)"))
			fputs(path, stdout);
	}
	return maps ? 0 : 1;
}
C

# run NAME PRELOAD COMMAND...: NAME.text is what it said, without the shim's own file, NAME.said
# what is on stderr, NAME.shim whether the shim was in the process.
run()
{
	name=$1 preload=$2
	shift 2
	LD_PRELOAD=$preload "$@" >"$name.all" 2>"$name.said" || fail "$*: exit code $?: $(cat "$name.said")"
	sort -u "$name.all" >"$name.out"
	grep -c libckcache_preload "$name.out" >"$name.shim" || true
	grep -v libckcache_preload "$name.out" >"$name.text"
	if grep -q libze "$name.out"; then
		fail "$*: the slot is in a program that did not ask for it"
	fi
}

# compare INSIDE COMMAND...: with and without; INSIDE is whether the shim can be there (1, 0).
compare()
{
	inside=$1
	shift
	run without '' "$@"
	run with "$shim" "$@"
	cmp without.text with.text || fail "$*: not what it is without the shim"
	[ "$(cat with.shim)" -eq "$inside" ] || fail "$*: the shim is in it $(cat with.shim) times"
}

# quiet: and the dynamic linker says nothing of it.
quiet()
{
	[ ! -s with.said ] || fail "$(cat with.said)"
}

# built NAME FLAGS...: false if this compiler cannot.
built()
{
	program=$1
	shift
	"$cc" "$@" program.c -o "$program" 2>/dev/null && "./$program" >/dev/null 2>&1
}

built dynamic || fail "$cc builds nothing"
compare 1 ./dynamic
quiet

# What another library says that was preloaded behind it.
echo 'char *getenv(const char *name) { return name[0] ? "other" : 0; }' >other.c
"$cc" -shared -fPIC other.c -o other.so
LD_PRELOAD="$shim ./other.so" ./dynamic | grep -q 'HOME other' || fail "getenv is not the next library's"

if command -v strace >/dev/null && strace -o trace ./dynamic >/dev/null 2>&1; then
	# Only calls of the dynamic linker, for this one file.
	strace -o without.trace ./dynamic >/dev/null
	strace -o with.trace -E "LD_PRELOAD=$shim" ./dynamic >/dev/null
	for call in openat:1 socket:0 clone:0 clone3:0 write:0 prctl:0 futex:0 rt_sigaction:0 getrandom:0; do
		before=$(grep -c "^${call%:*}(" without.trace || true)
		after=$(grep -c "^${call%:*}(" with.trace || true)
		[ $((after - before)) -eq "${call#*:}" ] || fail "$((after - before)) more calls of ${call%:*}"
	done
fi

if built static -static; then
	compare 0 ./static
	quiet
fi

if built narrow -m32; then
	# ld.so names what it cannot preload, and goes on.
	compare 0 ./narrow
	grep -q 'cannot be preloaded' with.said || fail "ld.so: $(cat with.said)"
	[ "$(wc -l <with.said)" -eq 1 ] || fail "ld.so: $(cat with.said)"
fi

if [ "$(id -u)" -eq 0 ] && built privileged; then
	chown 65534 privileged
	chmod 4755 privileged
	# A directory may be mounted without set-user-ID programs; this variable works in no such program.
	if [ "$(LD_DEBUG=statistics ./privileged 2>&1 >/dev/null | wc -c)" -eq 0 ]; then
		compare 0 ./privileged
		quiet
	fi
fi

# As /etc/default/ckcache has it, for gcc's address sanitizer.
export ASAN_OPTIONS=verify_asan_link_order=0
for sanitizer in address thread undefined; do
	if built "$sanitizer" "-fsanitize=$sanitizer"; then
		compare 1 "./$sanitizer"
		quiet
	fi
done
