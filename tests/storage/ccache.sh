#!/bin/sh
# SPDX-License-Identifier: MIT
# ccache itself with our helper for Redis: what one cache directory compiled, another one finds in
# the storage. Our helper's prefix of keys shows that it was this one that stored them.
#   ccache.sh FOLDER-OF-HELPERS
# Skipped without redis-server or valkey-server, or without a ccache that has helpers (4.13 and later).
set -eu
helper=$(cd "$1" && pwd)/ckcache-storage-redis

skip()
{
	echo "SKIPPED: $*"
	exit 77
}

fail()
{
	echo "$*"
	exit 1
}

command -v ccache >/dev/null || skip "ccache is not installed"
version=$(ccache --version | sed -n '1s/^ccache version v*\([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
# shellcheck disable=SC2086  # two numbers
set -- ${version:-0 0}
[ "$1" -gt 4 ] || { [ "$1" -eq 4 ] && [ "$2" -ge 13 ]; } ||
	skip "this ccache is $1.$2; storage helpers came with 4.13"
[ -x "$helper" ] || skip "built without hiredis"
name=redis
command -v redis-server >/dev/null || name=valkey
command -v $name-server >/dev/null && command -v $name-cli >/dev/null ||
	skip "neither redis-server nor valkey-server is installed"

work=$(mktemp -d)
# A socket's path has at most 107 characters, whatever TMPDIR is.
runtime=$(mktemp -d /tmp/ccache.XXXXXX)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work" "$runtime"' EXIT
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
$name-server --bind 127.0.0.1 --port "$port" --save '' --dir "$work" >"$work/log" 2>&1 &
server=$!
tries=0
while ! $name-cli -p "$port" ping >/dev/null 2>&1; do
	tries=$((tries + 1))
	[ "$tries" -lt 1000 ] || fail "$name-server does not start"
done

# compile NAME: with a cache directory of that name.
compile()
{
	CCACHE_DIR="$work/$1" CCACHE_CONFIGPATH=/dev/null \
		XDG_RUNTIME_DIR="$runtime" CCACHE_LOGFILE="$work/$1.log" \
		CCACHE_REMOTE_STORAGE="redis://127.0.0.1:$port helper=$helper" \
		ccache gcc -c "$work/file.c" -o "$work/$1.o"
}

echo 'int value(void); int value(void) { return 42; }' >"$work/file.c"
compile one
[ -n "$($name-cli -p "$port" --scan --pattern 'ckcache:*')" ] || {
	tail -n 40 "$work/one.log"
	fail "ccache stored nothing through the helper"
}
compile two
cmp "$work/one.o" "$work/two.o"
CCACHE_DIR="$work/two" ccache --print-stats >"$work/stats"
grep -q '^remote_storage_hit[[:space:]]*[1-9]' "$work/stats" || {
	cat "$work/stats"
	fail "ccache found nothing in the storage"
}
# The helper ends with its server's test.
for socket in $(find "$runtime" -type s); do
	python3 -c 'import socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
client.sendall(b"\3")' "$socket" || true
done
