#!/bin/sh
# SPDX-License-Identifier: MIT
# The packages in a fresh root whose systemd really runs, in namespaces of its own: installs them, has
# the services build after drivers and packs have changed, counts what applications then build, removes
# and purges everything, and looks at what is left. The machine that the services see is idle, and on
# mains power, except where a step says otherwise. As root; needs control groups of version 2.
#   sh tests/packages/roots.sh ROOT BUILD [PACKAGES [PART...]]
# ROOT      bookworm or sid: a new one, by debootstrap and apt from this machine's mirrors (1.5 GB in
#           $TMPDIR, else in /var/tmp); a directory: what lies there; here: this machine's own root,
#           with the stub driver alone. The latter two only lie below an overlay in memory.
# BUILD     a build with the tests
# PACKAGES  a directory with the packages. Where it is empty or not given, they are built in the root,
#           and left in it.
# PART      services, units (a service of somebody else that compiles), darktable (on Intel's driver),
#           clblast (on rusticl): what is done between the installation and the removal; all, from
#           "here" services and units
# With ROOTS_OTHER_DRIVER=DIRECTORY, a path in the root with another release of Intel's driver,
# darktable begins on that, and the update is to the root's own; else to a compiler of another build.
# Exit code: 0; 1 if something is wrong; 77 where no such root can be made.
# shellcheck disable=SC2016  # for shells inside
set -eu

# give_up SENTENCE
give_up()
{
	echo "SKIPPED: $*" >&2
	exit 77
}

[ $# -ge 2 ] || { sed -n '3,/^# Exit/s/^# \{0,1\}//p' "$0" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" -eq 0 ] || give_up "only root can do this"
# All mounts end with the script.
if [ -z "${ROOTS_MOUNTS-}" ]; then
	unshare --mount --pid --fork true 2>/dev/null || give_up "this machine lets nobody mount anything"
	export ROOTS_MOUNTS=1
	exec unshare --mount --propagation private sh "$here/roots.sh" "$@"
fi
replaced=''	# packages of drivers that were installed again
which=$1 build=$(cd "$2" && pwd) packages=${3-} other=${ROOTS_OTHER_DRIVER-}
parts='services units darktable clblast'
[ "$which" != here ] || parts='services units'
if [ $# -gt 3 ]; then
	shift 3
	parts=$*
fi
# shellcheck source=tests/packages/root.sh
. "$here/root.sh"

# builds USER: how many programs the stub driver builds for an application of the user.
builds()
{
	as "$1" ': >stub_counts; for k in 1 2 3; do opencl_client -n vector -DK=$k >/dev/null; done
		grep -c build-source stub_counts || :'
}

# expect_builds USER NUMBER WHAT
expect_builds()
{
	number=$(builds "$1")
	[ "$number" = "$2" ] || fail "$3: $1's application builds $number programs, not $2"
	echo "$3: $number of 3 built"
}

# driver VERSION [SETTING]: what the stub driver says that it is, to confined compilers too.
driver()
{
	printf '%s\n' "STUB_DRIVER_VERSION=$1" "${2-}" >"$root/usr/lib/ck-stub/stub_settings"
}

# new_user NAME: whose systemd runs.
new_user()
{
	inside "useradd -m -s /bin/bash $1"
	inside "loginctl enable-linger $1"
	until_true "$1's units are not on" "systemctl --user -M $1@ is-active ckcache-replay.path ckcache-replay.timer"
}

# mask USER: nothing builds for the user.
mask()
{
	inside "systemctl --user -M $1@ stop ckcache-replay.path ckcache-replay.timer
		systemctl --user -M $1@ --quiet mask ckcache-replay.path ckcache-replay.timer"
}

# show PROPERTY UNIT [USER]
show()
{
	inside "systemctl ${3:+--user -M $3@} show -P $1 $2"
}

# ran UNIT [USER]: when it ended last; 0: it never ran.
ran()
{
	show ExecMainExitTimestampMonotonic "$@"
}

# await SINCE UNIT [USER]: waits until it has run again, all its commands, and ended well.
await()
{
	since=$1
	shift
	until_true "$* does not run" "systemctl ${2:+--user -M $2@} show -p ExecMainExitTimestampMonotonic -p ActiveState $1 |
		awk -F= '/^Exec/ { time = \$2 } /^Active/ { over = \$2 == \"inactive\" || \$2 == \"failed\" } END { exit !(over && time > $since) }'"
	[ "$(show Result "$@")" = success ] || fail "$* does not end well: $(show Result "$@")"
}

# start_unit UNIT [USER]: and waits for its end; it has to be good.
start_unit()
{
	inside "systemctl ${2:+--user -M $2@} start $1" || fail "$* cannot be started, or does not end well"
}

# make_deb PACKAGE VERSION TREE: /root/PACKAGE_VERSION.deb in the root.
make_deb()
{
	mkdir -p "$3/DEBIAN"
	[ -e "$3/DEBIAN/control" ] || printf \
		'Package: %s\nVersion: %s\nArchitecture: amd64\nMaintainer: ckcache <x@example.org>\nDescription: %s\n' \
		"$1" "$2" "$1" >"$3/DEBIAN/control"
	dpkg-deb --root-owner-group -Znone -b "$3" "$root/root/$1_$2.deb" >/dev/null
	rm -rf "$3"
}

# make_pack_deb NAME FILE: a package with that pack.
make_pack_deb()
{
	mkdir -p "$work/tree/usr/share/ckcache/recipes.d"
	cp "$2" "$work/tree/usr/share/ckcache/recipes.d/$1.ckrecipes"
	chmod 644 "$work/tree/usr/share/ckcache/recipes.d/$1.ckrecipes"
	make_deb "ck-$1-recipes" 1 "$work/tree"
}

# dpkg_i NAME: a package in /root
dpkg_i()
{
	quietly inside "dpkg -i /root/$1.deb"
}

make_root()
{
	case $which in
	here) lower=/ ;;
	bookworm | trixie | sid)
		say "a new $which"
		lower=$work/base
		debootstrap_root "$which" "$lower" systemd systemd-sysv dbus dbus-user-session libpam-systemd \
			ocl-icd-libopencl1 mesa-opencl-icd clblast-utils intel-opencl-icd darktable
		;;
	*) lower=$(cd "$which" && pwd) ;;
	esac
	overlay "$lower" root
	[ "$which" = here ] || quietly within "$root" 'apt-get -q update
		apt-get -q -y --no-install-recommends install systemd-sysv dbus-user-session libpam-systemd'
	prepare_root
	# What a developer may have installed.
	within "$root" 'for name in $(dpkg-query -W -f "\${Package}\n" "*ckcache*" libcachecore-dev 2>/dev/null); do
		dpkg --purge --force-depends "$name"; done; rm -rf /var/lib/ckcache /etc/ckcache.conf /usr/local/bin/ckcache' >/dev/null
}

make_packages()
{
	made=${packages:-$work/packages}
	mkdir -p "$made"
	if [ -n "$(find "$made" -name '*.deb')" ]; then
		:
	elif [ "$which" = here ]; then
		say "building the packages"
		dpkg-query -W -f '${db:Status-Status}' debhelper 2>/dev/null | grep -qx installed ||
			give_up "there is no debhelper"
		quietly sh "$here/../../tools/build_packages.sh" deb "$made"
	else
		say "building the packages there"
		overlay "$root" make
		mkdir "$work/make/root/source"
		git -C "$here/../.." -c safe.directory='*' archive HEAD | tar -x -C "$work/make/root/source"
		quietly within "$work/make" 'cd /root/source && sh tools/build_packages.sh deb /root/packages'
		cp "$work"/make/root/packages/*.deb "$made"
		umount -l "$work/make" "$work/make.upper"
	fi
	mkdir "$root/root/packages"
	cp "$made"/*.deb "$root/root/packages"
	rm -f "$root"/root/packages/*dbgsym*
	# There is no network.
	[ "$which" != here ] || rm -f "$root"/root/packages/*-dev_* "$root"/root/packages/ckcache-storage_*
}

# Two versions of a package with the stub driver, alone.
make_stub()
{
	mv "$root/etc/OpenCL/vendors" "$root/srv/vendors"
	for number in 1 2 3 4 5; do
		mkdir -p "$work/tree/etc/OpenCL/vendors" "$work/tree/usr/lib/ck-stub"
		cp "$build/lib/libstub_driver.so" "$work/tree/usr/lib/ck-stub/"
		echo /usr/lib/ck-stub/libstub_driver.so >"$work/tree/etc/OpenCL/vendors/ck-stub.icd"
		make_deb ck-stub $number "$work/tree"
	done
	cp "$build/bin/opencl_client" "$root/usr/local/bin/"
	mkdir -p "$root/usr/share/ckcache"
}

install_packages()
{
	say "installing"
	quietly inside 'dpkg -i /root/ck-stub_1.deb'
	driver 1.0
	list_changes >"$work/before"
	users=$(sort "$root/etc/passwd")
	quietly inside 'apt-get -q -y --no-install-recommends install /root/packages/*.deb'
	grep -E '^Setting up' "$work/log" || true
	inside 'dpkg --audit; dpkg --verify $(for file in /root/packages/*; do dpkg-deb -f $file Package; done)' >"$work/log"
	[ ! -s "$work/log" ] || { cat "$work/log"; fail "dpkg --verify"; }
	inside 'export XDG_RUNTIME_DIR=/run
		for unit in /usr/lib/systemd/user/ckcache-*; do systemd-analyze --user --man=no --recursive-errors=no verify $unit; done
		for unit in /usr/lib/systemd/system/ckcache-*; do systemd-analyze --man=no --recursive-errors=no verify $unit; done' \
		>"$work/log" 2>&1 || { cat "$work/log"; fail "systemd-analyze verify"; }
	[ ! -s "$work/log" ] || { cat "$work/log"; fail "systemd-analyze verify"; }
	[ ! -e "$root/var/lib/ckcache/changed" ] || fail "there is a mark before anything changed"
	echo "6 units verified, $(inside 'ckcache --version')"
}

services_of_users()
{
	say "a user without a cache"
	new_user ck-empty
	start_unit ckcache-replay.service ck-empty
	[ ! -e "$root/home/ck-empty/.cache/ckcache/store" ] || fail "it has made a store"
	[ ! -s "$root/home/ck-empty/stub_counts" ] || fail "it has started a driver"

	say "a driver is replaced"
	new_user ck-alice
	new_user ck-none
	mask ck-none
	expect_builds ck-alice 3 "first start"
	expect_builds ck-alice 0 "second start"
	expect_builds ck-none 3 "first start, without the service"
	driver 2.0
	before=$(ran ckcache-replay.service ck-alice)
	dpkg_i ck-stub_2
	await "$before" ckcache-replay.service ck-alice
	expect_builds ck-alice 0 "after the service"
	expect_builds ck-none 3 "without the service"

	say "on battery"
	driver 3.0
	power battery
	before=$(ran ckcache-replay.service ck-alice)
	start_unit ckcache-replay.service ck-alice
	[ "$(show ConditionResult ckcache-replay.service ck-alice)" = no ] || fail "it runs on battery"
	said=$(as ck-alice 'ckcache replay --stale --idle; ckcache recipes build --idle' 2>&1) || fail "on battery: $said"
	echo "$said" | grep 'on battery power'
	[ "$before" = "$(ran ckcache-replay.service ck-alice)" ] || fail "it has run"
	power mains

	say "killed at work, and twice at a time"
	driver 3.0 STUB_DELAY_MS=3000
	inside 'systemctl --user -M ck-alice@ start --no-block ckcache-replay.service'
	until_true "no worker builds" 'grep -q build-source /home/ck-alice/stub_counts ||
		pgrep -u ck-alice -c ckcache | grep -q "[2-9]"'
	said=$(as ck-alice 'ckcache replay --stale --idle' 2>&1) && fail "two at a time: $said"
	echo "$said" | grep 'another ckcache replay is running' || fail "two at a time: $said"
	inside 'systemctl --user -M ck-alice@ kill -s KILL ckcache-replay.service'
	until_true "it survives" '! pgrep -u ck-alice ckcache && [ "$(systemctl --user -M ck-alice@ show -P ActiveState ckcache-replay.service)" = failed ]'
	driver 3.0
	start_unit ckcache-replay.service ck-alice
	expect_builds ck-alice 0 "after the next time"

	say "replaced while the service is at work"
	driver 3.1 STUB_DELAY_MS=1500
	before=$(ran ckcache-replay.service ck-alice)
	inside 'systemctl --user -M ck-alice@ start --no-block ckcache-replay.service'
	until_true "no worker builds" 'pgrep -u ck-alice -c ckcache | grep -q "[2-9]"'
	driver 3.2
	dpkg_i ck-stub_2
	await "$before" ckcache-replay.service ck-alice
	expect_builds ck-alice 0 "after the service"

	say "a disk that is full"
	new_user ck-full
	mask ck-full
	inside 'mkdir /home/ck-full/.cache && mount -t tmpfs -o size=1m,mode=700 none /home/ck-full/.cache && chown ck-full: /home/ck-full/.cache'
	expect_builds ck-full 3 "first start"
	as ck-full 'cat /dev/zero >.cache/filler' 2>/dev/null || true
	driver 4.0
	start_unit ckcache-replay.service ck-full
	as ck-full 'rm .cache/filler'
	start_unit ckcache-replay.service ck-full
	expect_builds ck-full 0 "with room again"
	inside 'umount /home/ck-full/.cache'

	say "a package with recipes, and a new user"
	new_user ck-new
	as ck-none 'ckcache record -o stub.ckrecipes --licence MIT --name stub -- sh -c "for k in 1 2 3; do opencl_client -n vector -DK=\$k; done"' >"$work/log" 2>&1 ||
		{ cat "$work/log"; fail "ckcache record"; }
	make_pack_deb stub "$root/home/ck-none/stub.ckrecipes"
	before=$(ran ckcache-replay.service ck-new)
	dpkg_i ck-stub-recipes_1
	await "$before" ckcache-replay.service ck-new
	expect_builds ck-new 0 "the new user's first start"
	as ck-new 'ckcache stats' | grep -E '^(hits on disk|misses)'
}

service_of_machine()
{
	say "for all users of the machine"
	inside 'getent group render >/dev/null || groupadd -r render'
	inside 'useradd -m -s /bin/bash ck-bob'
	driver 5.0
	# With nothing to do: no packs, an empty cache.
	mv "$root/usr/share/ckcache/recipes.d/stub.ckrecipes" "$root/srv/"
	start_unit ckcache-machine.service
	mv "$root/srv/stub.ckrecipes" "$root/usr/share/ckcache/recipes.d/"
	inside 'systemctl --quiet enable --now ckcache-machine.path ckcache-machine.timer' 2>/dev/null
	before=$(ran ckcache-machine.service)
	dpkg_i ck-stub_3
	await "$before" ckcache-machine.service
	expect_builds ck-bob 0 "another user's first start"
	driver 6.0
	before=$(ran ckcache-machine.service)
	dpkg_i ck-stub_4
	await "$before" ckcache-machine.service
	expect_builds ck-bob 0 "after another driver"
	inside 'systemctl --failed --no-legend' | grep ckcache && fail "a unit has failed"
	for name in $(inside 'loginctl --no-legend list-users | sed -n "s/.*\(ck-[a-z]*\).*/\1/p"'); do
		if inside "systemctl --user -M $name@ --failed --no-legend" | grep ckcache; then
			fail "a unit of $name has failed"
		fi
	done
}

# Somebody else's service that compiles.

# serve WHAT BUILDS [SETTING...]: a service with these settings starts twice, ends well each time, and the
# driver builds BUILDS programs ("3 0": none at the second start). The cache says nothing but $complaint.
serve()
{
	what=$1 expected=$2
	shift 2
	inside "rm -rf /run/ck-served /run/private/ck-served /var/cache/ckcache-ck-served /var/cache/private/ckcache-ck-served
		printf '%s\n' '[Service]' $(printf "'%s' " "$@") >/run/systemd/system/ck-served.service.d/setting.conf
		systemctl daemon-reload"
	found='' since=$(date +%s.%N)
	for _ in 1 2; do
		inside 'systemctl start ck-served.service' || {
			inside 'systemctl status --no-pager ck-served.service' >&2 || true
			fail "$what: the service does not end well"
		}
		found="$found$(inside 'grep -c build-source /run/ck-served/counts || :; rm -f /run/ck-served/counts') "
	done
	[ "$found" = "$expected " ] || fail "$what: builds $found, not $expected"
	inside "journalctl --sync; journalctl -q --no-pager -o cat --since @$since -u ck-served.service" >"$work/log"
	said=$(grep '^ckcache:' "$work/log" | sort -u) || true
	[ "$said" = "${complaint-}" ] || fail "$what: the cache says: $said"
	echo "$what: $found"
}

services_of_others()
{
	say "services under other users"
	driver 7.0	# of which the machine's service has built nothing
	inside 'useradd -r -M -d /nonexistent -s /usr/sbin/nologin ck-served
		mkdir -p /run/systemd/system/ck-served.service.d'
	cat >"$root/root/ck-served.service" <<'END'
[Service]
Type=oneshot
RuntimeDirectory=ck-served
RuntimeDirectoryPreserve=yes
Environment=OPENCL_LAYERS=libckcache_opencl.so CKCACHE_LOG=warning
Environment=STUB_COUNTS=/run/ck-served/counts
ExecStart=/bin/sh -ec 'for k in 1 2 3; do opencl_client -n vector -DK=$$k; done'
END
	sed -n '/^    \[Service\]/,/^$/s/^    //p' "$here/../../docs/where/services.md" >"$root/root/ckcache.conf"
	inside 'mv /root/ck-served.service /run/systemd/system/'
	complaint='ckcache: no disk cache: none of CKCACHE_DIR, XDG_CACHE_HOME and HOME names a directory of this user'
	serve "no place for a cache" "3 3" User=ck-served
	complaint=''
	inside 'mv /root/ckcache.conf /run/systemd/system/ck-served.service.d/'
	hardened='NoNewPrivileges=yes ProtectSystem=strict ProtectHome=yes PrivateTmp=yes PrivateDevices=yes
		MemoryDenyWriteExecute=yes RestrictAddressFamilies=AF_UNIX SystemCallFilter=@system-service
		PrivateNetwork=yes PrivateUsers=yes ProtectProc=invisible ProcSubset=pid RestrictNamespaces=yes
		ProtectKernelTunables=yes ProtectControlGroups=yes LockPersonality=yes RestrictRealtime=yes
		RestrictSUIDSGID=yes UMask=0077 CapabilityBoundingSet= TasksMax=16 LimitNPROC=64'
	for setting in User=ck-served DynamicUser=yes; do
		serve "$setting" "3 0" "$setting"
		# shellcheck disable=SC2086  # words
		serve "$setting, everything" "3 0" "$setting" $hardened
	done
	inside 'rm -rf /run/systemd/system/ck-served.service* /run/ck-served /run/private/ck-served; systemctl daemon-reload'
}

# forget_users: their services do not run beside what follows.
forget_users()
{
	for name in $(inside 'loginctl --no-legend list-users | sed -n "s/.*\(ck-[a-z]*\).*/\1/p"'); do
		inside "loginctl disable-linger $name; loginctl terminate-user $name"
	done
}

# darktable USER WHAT: what its first start builds, and how much processor time it takes.
darktable()
{
	as "$1" 'ckcache stats --zero' >/dev/null
	as "$1" 'rm -rf dt; (darktable-cltest --configdir dt/c --cachedir dt/k >dt.log 2>&1; times >dt.times)' || true
	misses=$(as "$1" 'ckcache stats --json' | sed -n 's/^ *"misses": \([0-9]*\).*/\1/p')
	hits=$(as "$1" 'ckcache stats --json' | sed -n 's/^ *"hits_disk": \([0-9]*\).*/\1/p')
	echo "darktable, $2: $misses built, $hits hits, processor time $(tail -n 1 "$root/home/$1/dt.times")"
}

# expect_darktable USER MISSES WHAT: MISSES is 0 or all
expect_darktable()
{
	darktable "$1" "$3"
	case $2 in
	0) [ "$misses" = 0 ] && [ "$hits" = "$all" ] ;;
	*) [ "$misses" = "$all" ] && [ "$hits" = 0 ] ;;
	esac || fail "$3: not $2"
}

# update_compiler: Intel's compiler, as a package of a later version, in a build with another build-id.
update_compiler()
{
	name=$(inside 'dpkg -S /usr/lib/*/libigc.so.[0-9] | sed -n "s/:.*//p;q"')
	list=$(ls "$root/var/lib/dpkg/info/$name"*.list)
	mkdir -p "$work/tree"
	while read -r path; do
		if [ ! -d "$root$path" ] || [ -L "$root$path" ]; then
			(cd "$root" && cp -a --parents ".$path" "$work/tree/")
		fi
	done <"$list"
	mkdir "$work/tree/DEBIAN"
	inside "dpkg-query -s $name" | sed -E '/^(Status|Conffiles):/d; s/^Version: .*/&+ckcache1/' >"$work/tree/DEBIAN/control"
	library=$(ls "$work"/tree/usr/lib/*/libigc.so.*.*)
	python3 - "$library" <<'END'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = data.find(b"\4\0\0\0\x14\0\0\0\3\0\0\0GNU\0")
data[at + 16] ^= 0xff
open(sys.argv[1], "wb").write(data)
END
	make_deb "$name" ck "$work/tree"
	dpkg_i "${name}_ck"
	replaced="$replaced $name"
}

# Another release of Intel's driver, which lies in a directory of the root, in place of the package's.
other_release()
{
	mkdir -p "$work/tree/etc/OpenCL/vendors"
	echo "$other/libigdrcl.so" >"$work/tree/etc/OpenCL/vendors/ck-other.icd"
	make_deb ck-other-driver 1 "$work/tree"
}

real_driver()
{
	if [ ! -e "$root/usr/bin/darktable-cltest" ] || [ ! -e "$root/srv/vendors/intel.icd" ]; then
		say "no darktable, or no driver of Intel's: left out"
		return
	fi
	say "darktable on Intel's driver"
	forget_users
	quietly inside 'dpkg --purge ck-stub ck-stub-recipes'
	mkdir -p "$root/etc/environment.d" "$root/etc/OpenCL/vendors"	# without hardware, it compiles with these variables
	for line in NEOReadDebugKeys=1 SetCommandStreamReceiver=1 ProductFamilyOverride=tgllp UseAubStream=0 \
		HardwareInfoOverride=1x6x16 NEO_CACHE_PERSISTENT=0 ${other:+LD_LIBRARY_PATH=$other}; do
		echo "$line" >>"$root/etc/environment.d/50-ck-neo.conf"
		echo "export $line" >>"$root/etc/profile.d/ck-neo.sh"
	done
	if [ -n "$other" ]; then
		other_release
		dpkg_i ck-other-driver_1
	else
		cp "$root/srv/vendors/intel.icd" "$root/etc/OpenCL/vendors/"
	fi
	new_user ck-carol
	mask ck-carol
	new_user ck-dora
	darktable ck-carol "first start, nothing built before"
	all=$misses
	if [ "$all" -lt 30 ] || [ "$hits" != 0 ]; then
		cat "$root/home/ck-carol/dt.log"
		fail "darktable does not build"
	fi
	expect_darktable ck-carol 0 "second start"
	as ck-carol 'rm -rf dt; ckcache record -o dt.ckrecipes --licence GPL-3.0-or-later --name darktable -- darktable-cltest --configdir dt/c --cachedir dt/k' >"$work/log" 2>&1 ||
		{ tail "$work/log"; fail "ckcache record"; }
	tail -n 2 "$work/log"
	make_pack_deb darktable "$root/home/ck-carol/dt.ckrecipes"
	before=$(ran ckcache-replay.service ck-dora)
	dpkg_i ck-darktable-recipes_1
	await "$before" ckcache-replay.service ck-dora
	as ck-dora 'journalctl --user -q --no-pager -o cat -u ckcache-replay | grep -E "built|there|old" | tail -n 3' || true
	expect_darktable ck-dora 0 "a new user, with the pack"
	# From here on it is replay that builds.
	quietly inside 'dpkg --purge ck-darktable-recipes'
	until_true "the service runs on" '! systemctl --user -M ck-dora@ is-active ckcache-replay.service'
	before=$(ran ckcache-replay.service ck-dora)
	if [ -n "$other" ]; then
		cp "$root/srv/vendors/intel.icd" "$root/etc/OpenCL/vendors/"
		quietly inside 'dpkg --purge ck-other-driver'
	else
		update_compiler
	fi
	await "$before" ckcache-replay.service ck-dora
	expect_darktable ck-dora 0 "another driver, after the service"
	expect_darktable ck-carol "all" "another driver, without the service"
	rm -f "$root/etc/environment.d/50-ck-neo.conf" "$root/etc/profile.d/ck-neo.sh" "$root/etc/OpenCL/vendors"/*
	rmdir --ignore-fail-on-non-empty "$root/etc/environment.d"
}

# count NAME: of ck-user's cache. tuner OPTION...: an unmodified program, as often as wanted.
count()
{
	as ck-user 'ckcache stats --json' | sed -n "s/^ *\"$1\": \([0-9]*\),*\$/\1/p"
}

# on SCRIPT: ck-user's, on rusticl without a GPU; nothing of the services' tests is in its environment.
on()
{
	inside "su -l ck-user -c 'export RUSTICL_ENABLE=llvmpipe MESA_SHADER_CACHE_DIR=/tmp/mesa; cd /tmp; $1'"
}

# expect WHAT COUNTER OPERATOR NUMBER: an operator of test's; then counts anew.
expect()
{
	value=$(count "$2")
	test "$value" "$3" "$4" || fail "$1: $2 is $value, not $3 $4"
	echo "$1: $2 = $value"
}

anew()
{
	on 'ckcache stats --zero >/dev/null'
}

everyday_use()
{
	if [ ! -e "$root/usr/bin/clblast_tuner_xaxpy" ] || [ ! -e "$root/srv/vendors/rusticl.icd" ]; then
		say "no CLBlast, or no rusticl: left out"
		return
	fi
	say "an unmodified program, twice"
	tuner='clblast_tuner_xaxpy -n 65536 -runs 1'
	rm -f "$root/etc/OpenCL/vendors"/*
	mkdir -p "$root/etc/OpenCL/vendors"
	cp "$root/srv/vendors/rusticl.icd" "$root/etc/OpenCL/vendors/"
	new_user ck-user
	mask ck-user
	on 'ckcache doctor' >"$work/log" || { cat "$work/log"; fail "ckcache doctor"; }
	on "ckcache run --summary -- $tuner >first.txt 2>&1; tail -n 3 first.txt"
	expect "first run" hits_disk -eq 0
	expect "first run" misses -gt 10
	expect "first run" errors -eq 0
	built=$(count misses)
	anew
	on "ckcache run -- $tuner >/dev/null 2>&1"
	expect "second run" misses -eq 0
	expect "second run" hits_disk -ge "$built"

	say "for everybody"
	anew
	on "$tuner >/dev/null 2>&1"
	# What is in /etc/OpenCL/layers is for all, once the loader reads it; before, nothing is on unasked.
	if dpkg --compare-versions "$(inside 'dpkg-query -W -f "\${Version}" ocl-icd-libopencl1')" ge 2.3.2; then
		expect "by the loader" hits_disk -ge "$built"
	else
		expect "not asked for" hits_disk -eq 0
	fi
	inside 'sed -i "s/^CKCACHE_EVERYBODY=.*/CKCACHE_EVERYBODY=\"opencl level-zero\"/" /etc/default/ckcache'
	inside 'su ck-user -s /bin/sh -c /usr/lib/systemd/user-environment-generators/60-ckcache' >"$work/generated"
	grep -qx 'OPENCL_LAYERS=libckcache_opencl.so' "$work/generated" || fail "the generator"
	anew
	on "$tuner >third.txt 2>&1"
	expect "by one line" hits_disk -eq "$built"
	expect "by one line" misses -eq 0
	if on 'grep -i preload third.txt'; then
		fail "the dynamic linker does not find what is to be preloaded"
	fi
	anew
	on "ckcache run -- $tuner >/dev/null 2>&1"
	expect "twice" hits_disk -eq "$built"
	anew
	on "CKCACHE_DISABLE=1 $tuner >/dev/null 2>&1"
	on "mkdir -p ~/.config/ckcache; echo disable = 1 >~/.config/ckcache/ckcache.conf; $tuner >/dev/null 2>&1; rm -r ~/.config/ckcache"
	expect "who wants none" hits_disk -eq 0
	expect "who wants none" misses -eq 0

	say "the same driver, installed again"
	touch "$work/since"
	quietly inside 'apt-get -q -y install --reinstall mesa-opencl-icd'
	[ -n "$(find "$root/var/lib/ckcache/changed" -newer "$work/since")" ] || fail "a driver leaves no mark"
	on 'ckcache stats' | grep -q 'has changed since the last ckcache replay --stale' || fail "stats does not say so"
	on 'ckcache replay --stale' >/dev/null || fail "replay --stale"
	if on 'ckcache stats' | grep 'has changed since'; then
		fail "stats still says so"
	fi
	anew
	on "ckcache run -- $tuner >/dev/null 2>&1"
	expect "nothing is stale" misses -eq 0
	replaced="$replaced mesa-opencl-icd"
	rm -f "$root/etc/OpenCL/vendors"/*
}

# left WHAT ALLOWED: what is there more than before are users' caches, and what matches ALLOWED.
left()
{
	list_changes >"$work/now"
	: >"$work/replaced"
	[ -z "$replaced" ] || inside "dpkg -L $replaced" | sed 's,^/\(.*\)$,^\1 [fl]$,' >"$work/replaced"
	if diff "$work/before" "$work/now" | sed -n 's/^> //p' | grep -vE "^home/ck-[a-z]*(/| )|$2" | grep -v -f "$work/replaced"; then
		fail "$1 left these behind, or took them away"
	fi
	diff "$work/before" "$work/now" | sed -n 's/^< //p' >"$work/log"
	# What the tests themselves have taken.
	if grep -vE '^((etc/OpenCL/vendors|usr/lib/ck-stub)(/| )|usr/share/ckcache d|etc/systemd/system/[a-z]*\.target\.wants c)' "$work/log"; then
		fail "$1 changed these"
	fi
	names=$(inside 'pgrep -a ckcache; grep ckcache /proc/net/unix; find /run /tmp /dev/shm -name "*ckcache*" ! -path "/tmp/ck-*" ! -name "ckcache.sock*"
		find /var/lib/systemd /etc/systemd ! -path "*/ckcache-machine.service.d*" -name "*ckcache*"' 2>/dev/null || true)
	[ -z "$names" ] || fail "$1 left $names"
	for name in $(inside 'loginctl --no-legend list-users | sed -n "s/.*\(ck-[a-z]*\).*/\1/p"'); do
		# A user's systemd remembers what does nothing until it reads its files again.
		if inside "systemctl --user -M $name@ --no-legend --all list-units \"ckcache*\"" |
			grep -vE ' (masked|loaded +inactive +dead) ' | grep loaded; then
			fail "$1 left these units in the systemd of $name"
		fi
	done
	echo "after $1: nothing but $(find "$root/home" -path '*/.cache/ckcache/*' -type f | wc -l) files of users' caches${2:+, and settings}"
}

remove_everything()
{
	say "removing"
	quietly inside 'names=$(dpkg-query -W -f "\${Package}\n" "ck-*" 2>/dev/null || :); [ -z "$names" ] || dpkg --purge $names'
	packages_in=$(inside 'for file in /root/packages/*; do dpkg-deb -f $file Package; done' | tr '\n' ' ')
	# With what only they needed; this machine's own root may have more of that.
	quietly inside "apt-get -q -y $([ "$which" = here ] || echo --autoremove) remove $packages_in"
	left removing '^etc/(default/ckcache|profile\.d/ckcache\.sh|OpenCL/layers(/ckcache\.lay)?) |^var/lib/(ckcache|private/ckcache-machine)'
	if [ -d "$root/home/ck-alice" ] && as ck-alice env | grep -v '^OPENCL_LAYERS=' | grep -i ckcache; then
		fail "it is still in the environment"
	fi
	say "purging"
	# apt does not know those of which nothing is left.
	quietly inside "dpkg --purge $packages_in"
	left purging '^$'
	[ "$users" = "$(grep -v '^ck-' "$root/etc/passwd" | sort)" ] || fail "a user is left"
}

make_root
make_stub
make_packages
if [ "$which" = here ]; then
	boot --net
else
	boot
fi
install_packages
for part in $parts; do
	case $part in
	services)
		services_of_users
		service_of_machine
		;;
	units) services_of_others ;;
	darktable) real_driver ;;
	clblast) everyday_use ;;
	*) fail "there is no part $part" ;;
	esac
done
remove_everything
say "all as it should be"
