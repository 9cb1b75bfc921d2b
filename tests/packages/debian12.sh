#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the packages in a fresh Debian 12 (debootstrap, in a temporary
# directory that is removed), runs an unmodified program with them on rusticl,
# enables them for everybody, removes and purges them, and looks at what is left.
# As root; from the machine's own mirrors, some 250 MB; five minutes.
#   sh tests/packages/debian12.sh [DIRECTORY]
# DIRECTORY has the packages (tools/build_packages.sh); they are built without.
set -eu
cd "$(dirname "$0")/../.."
# shellcheck source=tools/packages.sh
. tools/packages.sh
install_packages debootstrap

work=$(mktemp -d "${TMPDIR:-/tmp}/ckcache-debian12.XXXXXX")
root=$work/root
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 130' INT TERM

say()
{
	echo "== $*"
}

fail()
{
	echo "FAILED: $*" >&2
	exit 1
}

# inside COMMAND...: as the root of the new system, with processes and mounts of its own.
inside()
{
	# shellcheck disable=SC2016  # for the inner shell
	unshare --mount --pid --fork sh -eu -c '
		root=$1
		shift
		mount -t proc proc "$root/proc"
		mount --rbind /dev "$root/dev"
		exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
			LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
		' sh "$root" "$@" </dev/null
}

# as_user COMMAND: in a login shell of an ordinary user, on rusticl without a GPU.
as_user()
{
	inside su -l user -c "export RUSTICL_ENABLE=llvmpipe MESA_SHADER_CACHE_DIR=/tmp/mesa; cd /tmp; $1"
}

# count NAME: of the user's cache.
count()
{
	as_user 'ckcache stats --json' | sed -n "s/^ *\"$1\": \([0-9]*\),*\$/\1/p"
}

# expect WHAT COUNTER OPERATOR NUMBER: an operator of test's.
expect()
{
	value=$(count "$2")
	test "$value" "$3" "$4" || fail "$1: $2 is $value, not $3 $4"
	echo "$1: $2 = $value"
}

# list_files: all that is there but dpkg's and apt's own records.
list_files()
{
	(cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./tmp -o -path ./var/lib/dpkg \
		-o -path ./var/lib/apt -o -path ./var/log -o -path ./var/cache \) -prune -o -printf '%P %y %s\n' |
		grep -vE ' d [0-9]+$|^etc/ld.so.cache |^var/lib/systemd/' | sort)
	(cd "$root" && find . -xdev -type d -path './*' ! -path './proc/*' ! -path './dev/*' ! -path './tmp/*' \
		! -path './var/*' -printf '%P/\n' | sort)
}

cache='^home/user/\.cache/'

# left WHAT ALLOWED: what is there more than before is the user's cache, and what matches ALLOWED.
left()
{
	list_files >"$work/now"
	diff "$work/before" "$work/now" >"$work/diff" || true
	say "left after $1"
	sed -n 's/^> //p' "$work/diff" | grep -v "$cache" || true
	echo "and $(grep -c "^> ${cache#^}" "$work/diff") files and directories of the user's cache"
	if grep '^<' "$work/diff"; then
		fail "$1 took these away"
	fi
	if sed -n 's/^> //p' "$work/diff" | grep -v "$cache" | grep -vE "$2"; then
		fail "$1 left these behind"
	fi
}

if [ $# -gt 0 ]; then
	mkdir "$work/packages"
	cp "$1"/*.deb "$work/packages"
else
	say "building the packages"
	sh tools/build_packages.sh deb "$work/packages" >"$work/log" 2>&1 || {
		cat "$work/log"
		fail "building the packages"
	}
fi

say "a fresh Debian 12"
# shellcheck disable=SC2016  # apt-get replaces these
mirrors=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' \
	'Origin: Debian' | awk '$2 ~ /^bookworm(-updates|-security)?$/' | sort -u)
first=$(echo "$mirrors" | awk '$2 == "bookworm" { print $1; exit }')
[ -n "$first" ] || fail "this machine's apt knows no mirror of bookworm"
debootstrap --variant=minbase bookworm "$root" "$first" >"$work/log" 2>&1 || {
	tail -20 "$work/log"
	fail debootstrap
}
echo "$mirrors" | sed 's/^/deb /' >"$root/etc/apt/sources.list"
cp /etc/resolv.conf "$root/etc/resolv.conf"
for file in /etc/apt/apt.conf.d/*; do
	# Where this machine has a proxy, the new one has it too.
	if grep -qi '::proxy' "$file"; then
		cp "$file" "$root/etc/apt/apt.conf.d/"
	fi
done
inside apt-get -q update >"$work/log" 2>&1 || { tail -20 "$work/log"; fail "apt-get update"; }

say "a driver and an unmodified program"
inside apt-get -q -y --no-install-recommends install mesa-opencl-icd ocl-icd-libopencl1 \
	clblast-utils >"$work/log" 2>&1 || { tail -20 "$work/log"; fail "apt-get install"; }
inside useradd -m -s /bin/bash user
list_files >"$work/before"

say "installing the packages"
mkdir "$root/tmp/packages"
(cd "$work/packages" && ls) | grep -v -e -dbgsym_ | while read -r name; do
	cp "$work/packages/$name" "$root/tmp/packages/$name"
done
install='apt-get -q -y --no-install-recommends install /tmp/packages/*.deb'
inside sh -c "$install" >"$work/log" 2>&1 || { tail -20 "$work/log"; fail "$install"; }
grep -E '^(Setting up|The following NEW|  [a-z])' "$work/log" || true
inside dpkg --audit
names=$(for file in "$root/tmp/packages"/*; do dpkg-deb -f "$file" Package; done)
# shellcheck disable=SC2086  # words
inside dpkg --verify $names

say "the command"
as_user 'ckcache --version'
if as_user 'ckcache --help' | grep -q doctor; then
	as_user 'ckcache doctor'
fi

say "an unmodified program, twice"
tuner='clblast_tuner_xaxpy -n 65536 -runs 1'
as_user "ckcache run --summary -- $tuner >first.txt 2>&1; tail -n 3 first.txt"
expect "first run" hits_disk -eq 0
expect "first run" misses -gt 10
expect "first run" errors -eq 0
built=$(count misses)
as_user 'ckcache stats --zero >/dev/null'
as_user "ckcache run --summary -- $tuner >second.txt 2>&1; tail -n 3 second.txt"
expect "second run" misses -eq 0
expect "second run" hits_disk -ge "$built"
as_user 'ckcache stats --zero >/dev/null'

say "nothing is on that nobody asked for"
as_user "$tuner >/dev/null 2>&1"
expect "not enabled" hits_disk -eq 0

say "for everybody, by one line"
inside sed -i 's/^CKCACHE_EVERYBODY=.*/CKCACHE_EVERYBODY="opencl level-zero"/' /etc/default/ckcache
as_user 'env' | grep -E '^(OPENCL_LAYERS|LD_PRELOAD|ZE_ENABLE_LAYERS|ASAN_OPTIONS|CKCACHE_EVERYBODY)='
inside su user -s /bin/sh -c /usr/lib/systemd/user-environment-generators/60-ckcache >"$work/generated"
cat "$work/generated"
grep -qx 'OPENCL_LAYERS=libckcache_opencl.so' "$work/generated" || fail "the generator"
as_user "$tuner >third.txt 2>&1"
expect "enabled for everybody" hits_disk -ge "$built"
expect "enabled for everybody" misses -eq 0
if as_user 'cat third.txt' | grep -i 'preload'; then
	fail "the dynamic linker does not find what is to be preloaded"
fi
# In the lists already: both name the same library, and one of them works.
as_user 'ckcache stats --zero >/dev/null'
as_user "ckcache run -- $tuner >/dev/null 2>&1"
expect "enabled twice" hits_disk -eq "$built"

say "who wants none"
as_user 'ckcache stats --zero >/dev/null'
as_user "CKCACHE_DISABLE=1 $tuner >/dev/null 2>&1"
as_user "mkdir -p .config/ckcache ~/.config/ckcache; echo 'disable = 1' >~/.config/ckcache/ckcache.conf; \
	$tuner >/dev/null 2>&1; rm -r ~/.config"
expect disabled hits_disk -eq 0
expect disabled misses -eq 0

say "a driver is updated"
[ ! -e "$root/var/lib/ckcache/changed" ] || fail "there is a mark before anything changed"
inside apt-get -q -y install --reinstall mesa-opencl-icd >"$work/log" 2>&1 || { tail -20 "$work/log"; fail "apt-get install --reinstall"; }
[ -e "$root/var/lib/ckcache/changed" ] || fail "a driver leaves no mark"
as_user 'ckcache stats' | grep -q 'has changed since the last ckcache replay --stale' || fail "stats does not say so"
as_user 'ckcache replay --stale' || fail "replay --stale"
if as_user 'ckcache stats' | grep 'has changed since'; then
	fail "stats still says so"
fi
# The same driver: nothing is stale.
as_user 'ckcache stats --zero >/dev/null'
as_user "ckcache run -- $tuner >/dev/null 2>&1"
expect "after an update" misses -eq 0

say "removing the packages"
# shellcheck disable=SC2086  # words
inside apt-get -q -y remove $names >"$work/log" 2>&1 || { tail -20 "$work/log"; fail "apt-get remove"; }
inside apt-get -q -y autoremove >"$work/log" 2>&1
# A removed package's settings are kept until it is purged; they do nothing then.
left removal "^etc/(default/ckcache|profile\.d/ckcache\.sh|OpenCL/layers/(ckcache\.lay)?)( |\$)"
as_user 'env' >"$work/environment"
if grep -E 'ckcache' "$work/environment"; then
	fail "a removed package is still in the environment"
fi
as_user "$tuner >fourth.txt 2>&1" || fail "a program after the removal"

say "purging them"
inside sh -c "dpkg --purge \$(dpkg-query -W -f '\${Package} \${db:Status-Status}\n' | sed -n 's/ config-files\$//p')" \
	>"$work/log" 2>&1 || { tail -20 "$work/log"; fail "dpkg --purge"; }
left purging '^$'
say "all as it should be"
