#!/bin/sh
# SPDX-License-Identifier: MIT
# The services in a fresh Debian with a systemd that really runs, in namespaces of its own: installs
# the packages and a package with the stub driver, replaces that, and counts what the services and
# then applications build; for a user, and for all users of the machine. Then purges everything and
# looks at what is left. The machine that the services see is always idle. As root; from the
# machine's own mirrors, some 60 MB; two minutes.
#   sh tests/packages/systemd.sh BUILD PACKAGES
# BUILD is a build with the tests, PACKAGES has the packages (tools/build_packages.sh).
# shellcheck disable=SC2016  # for shells inside
set -eu
build=$(cd "$1" && pwd) packages=$(cd "$2" && pwd)
work=$(mktemp -d "${TMPDIR:-/var/tmp}/ckcache-systemd.XXXXXX")
root=$work/root
init='' group=''
finish()
{
	[ -z "$init" ] || kill -9 "$init" 2>/dev/null || true
	wait
	[ -z "$group" ] || find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
	rm -rf --one-file-system "$work"
}
trap finish EXIT
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

# inside SCRIPT: a shell in the running system.
inside()
{
	nsenter -t "$init" -m -p -u -i -C --root="/proc/$init/root" --wd="/proc/$init/root" env -i \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		sh -euc "$1" </dev/null
}

# as USER SCRIPT: in a login shell with the user's systemd and the layer.
as()
{
	inside "su -l $1 -c 'export XDG_RUNTIME_DIR=/run/user/\$(id -u) OPENCL_LAYERS=libckcache_opencl.so \
		CKCACHE_EXIT_WAIT=20000; $2'"
}

# builds USER: how many programs the driver builds for an application of the user.
builds()
{
	as "$1" ': >stub_counts; for k in 1 2 3; do opencl_client -n vector -DK=$k >/dev/null; done
		grep -c build-source stub_counts || :'
}

# driver VERSION: what the stub driver says that it is, to the user and to the machine's service.
driver()
{
	echo "STUB_DRIVER_VERSION=$1" >"$root/home/alice/stub_settings"
	cp "$root/home/alice/stub_settings" "$root/home/bob/stub_settings"
	mkdir -p "$root/var/lib/private/ckcache-machine"
	cp "$root/home/alice/stub_settings" "$root/var/lib/private/ckcache-machine/"
}

# until_true WHAT SCRIPT: runs it until it succeeds.
until_true()
{
	for _ in $(seq 300); do
		if inside "$2" >/dev/null 2>&1; then
			return
		fi
		sleep 0.2
	done
	fail "$1"
}

list_files()
{
	(cd "$root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp -o -path ./run \
		-o -path ./root -o -path ./home -o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/log \
		-o -path ./var/cache \) -prune -o -print | grep -vE '^\./etc/ld\.so\.cache$' | sort)
}

say "a fresh Debian 12 with systemd"
mirrors=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' \
	'Origin: Debian' | awk '$2 ~ /^bookworm(-updates|-security)?$/' | sort -u)
first=$(echo "$mirrors" | awk '$2 == "bookworm" { print $1; exit }')
[ -n "$first" ] || fail "this machine's apt knows no mirror of bookworm"
debootstrap --variant=minbase \
	--include=systemd,systemd-sysv,dbus,dbus-user-session,libpam-systemd,ocl-icd-libopencl1,libjson-c5,libxxhash0,libdeflate0,libssl3 \
	bookworm "$root" "$first" >"$work/log" 2>&1 || { tail -20 "$work/log"; fail debootstrap; }
for version in 1 2; do
	tree=$work/stub/$version
	mkdir -p "$tree/DEBIAN" "$tree/etc/OpenCL/vendors" "$tree/usr/lib/stub"
	cp "$build/lib/libstub_driver.so" "$tree/usr/lib/stub/"
	echo /usr/lib/stub/libstub_driver.so >"$tree/etc/OpenCL/vendors/stub.icd"
	printf 'Package: stub-opencl-icd\nVersion: %s\nArchitecture: amd64\nMaintainer: ckcache <x@example.org>\nDescription: stub\n' \
		"$version" >"$tree/DEBIAN/control"
	dpkg-deb -b "$tree" "$root/root/stub_$version.deb" >/dev/null
done
cp "$packages"/ckcache_*.deb "$packages"/libckcache-opencl_*.deb "$root/root/"
cp "$build/bin/opencl_client" "$root/usr/local/bin/"
for user in alice bob; do
	chroot "$root" useradd -m -s /bin/bash "$user"
done
chroot "$root" groupadd -fr render
# What the services see of the machine; drop-ins bind it over their /proc.
mkdir -p "$root/srv/pressure" "$root/etc/systemd/system/ckcache-machine.service.d"
for cpu in '' $(seq 0 255); do
	echo "cpu$cpu 0 0 0 0 0 0 0 0 0 0"
done >"$root/srv/stat"
for name in cpu memory io; do
	echo 'some avg10=0.00 avg60=0.00 avg300=0.00 total=0' >"$root/srv/pressure/$name"
done
printf '[Service]\nBindReadOnlyPaths=/srv/stat:/proc/stat /srv/pressure:/proc/pressure\n' \
	>"$root/etc/systemd/system/ckcache-machine.service.d/idle.conf"
list_files >"$work/before"

say "starting it"
unified=$(findmnt -nrt cgroup2 -o TARGET | head -n 1)
[ -n "$unified" ] || fail "no control groups of version 2 are mounted here"
group=$unified/ckcache-systemd.$$
mkdir "$group"
sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec unshare --mount --pid --ipc --uts --cgroup --fork --kill-child "$@"' \
	sh "$group" sh -euc '
	mount --make-rprivate /
	mount --bind "$1" "$1"
	mount -t proc proc "$1/proc"
	mount -t sysfs -o ro sysfs "$1/sys"
	mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup"
	mount -t tmpfs -o mode=755 none "$1/dev"
	for name in null zero full random urandom tty; do
		touch "$1/dev/$name"
		mount --bind "/dev/$name" "$1/dev/$name"
	done
	mount -t tmpfs -o mode=755 none "$1/run"
	# Kernel variables are the machine'"'"'s.
	mount --bind -o ro "$1/proc/sys" "$1/proc/sys"
	mount --bind "$1/srv/stat" "$1/proc/stat"
	mount --bind "$1/srv/pressure" "$1/proc/pressure"
	cd "$1"
	exec chroot . env -i container=other /lib/systemd/systemd --system --show-status=false
	' sh "$root" >"$work/console" 2>&1 &
started=$!
for _ in $(seq 100); do
	outer=$(pgrep -P "$started" || true)
	[ -n "$outer" ] && init=$outer
	[ -n "$init" ] && [ "$(cat "/proc/$init/comm")" = systemd ] && break
	sleep 0.1
done
until_true "systemd does not start" 'systemctl is-system-running | grep -qE "running|degraded"'

say "installing"
inside 'cd /root && dpkg -i stub_1.deb ckcache_*.deb libckcache-opencl_*.deb' >"$work/log" 2>&1 ||
	{ cat "$work/log"; fail "dpkg -i"; }
inside 'export XDG_RUNTIME_DIR=/run
	for unit in /usr/lib/systemd/user/ckcache-*; do systemd-analyze --user --man=no verify "$unit"; done
	for unit in /usr/lib/systemd/system/ckcache-*; do systemd-analyze --man=no verify "$unit"; done' \
	>"$work/log" 2>&1 || { cat "$work/log"; fail "systemd-analyze verify"; }
[ ! -s "$work/log" ] || { cat "$work/log"; fail "systemd-analyze verify"; }
inside 'loginctl enable-linger alice'
until_true "alice's units are not on" 'systemctl --user -M alice@ is-active ckcache-replay.path ckcache-replay.timer'
driver 1.0
[ "$(builds alice)" = 3 ] || fail "applications build nothing"

say "another driver, for a user"
driver 2.0
inside 'cd /root && dpkg -i stub_2.deb' >/dev/null
until_true "the service does not run" 'systemctl --user -M alice@ show -P ExecMainExitTimestampMonotonic ckcache-replay.service | grep -qv "^0$"'
[ "$(builds alice)" = 0 ] || fail "applications build what the service should have built"

say "another driver, for all users"
driver 3.0
owner=$(stat -c %u:%g "$root/var/lib/private/ckcache-machine")
cp -a "$root/home/alice/.cache/ckcache" "$root/var/lib/private/ckcache-machine/cache"
chown -R "$owner" "$root/var/lib/private/ckcache-machine"
chmod 700 "$root/var/lib/private" "$root/var/lib/private/ckcache-machine"
inside 'systemctl --quiet enable --now ckcache-machine.path ckcache-machine.timer; cd /root && dpkg -i stub_1.deb' >/dev/null 2>&1
until_true "the machine's service does not end well" \
	'[ "$(systemctl show -P Result ckcache-machine.service)" = success ] && ls /var/lib/ckcache/*/*/*/*/*.bin &&
	[ "$(systemctl show -P ActiveState ckcache-machine.service)" = inactive ]'
[ "$(builds bob)" = 0 ] || fail "another user builds what the machine has"
as bob 'ckcache stats' | grep -E '^(hits on disk|misses)'

say "purging"
inside 'apt-get -q -y purge ckcache libckcache-opencl stub-opencl-icd' >"$work/log" 2>&1 || { cat "$work/log"; fail "apt-get purge"; }
kill -9 "$init"
wait "$started" || true
list_files >"$work/after"
if diff "$work/before" "$work/after" | grep '^>' | grep -vE '/(etc/(machine-id|\.pwd\.lock|\.updated|mtab|hostname)|var/(\.updated|lib/(systemd|dbus)/.*|spool/.*|tmp/.*))'; then
	fail "this is left"
fi
say "all as it should be"
