# SPDX-License-Identifier: MIT
# A root for tests of packages, whose systemd runs in namespaces; sourced by roots.sh, in a mount
# namespace of its own. Of a new release's packages, of a directory, or of this machine; what is
# changed in it lies in memory, and ends with the script.
# shellcheck shell=sh
# shellcheck disable=SC2016,SC2154  # for shells inside; roots.sh has the variables
umask 022
init='' group='' writer=''
work=$(mktemp -d "${TMPDIR:-/var/tmp}/ckcache-roots.XXXXXX")
chmod 755 "$work"
root=$work/root

# shellcheck disable=SC2317  # by the trap
finish()
{
	[ -z "$writer" ] || kill "$writer" 2>/dev/null || true
	[ -z "$init" ] || kill -9 "$init" 2>/dev/null || true
	wait
	[ -z "$group" ] || find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || true
	grep -o " $work[^ ]*" /proc/self/mounts | sort -r | xargs -r umount -l 2>/dev/null || true
	rm -rf --one-file-system "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM HUP

say()
{
	echo "== $*"
}

fail()
{
	echo "FAILED: $*" >&2
	[ -z "$init" ] || inside 'journalctl -q --no-pager -n 30 -t ckcache -t systemd' >&2 || true
	exit 1
}

# quietly COMMAND...: its output is shown if it fails.
quietly()
{
	"$@" >"$work/log" 2>&1 || {
		tail -n 30 "$work/log" >&2
		fail "$*"
	}
}

environment='PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive'

# within DIRECTORY SCRIPT: a shell in a root whose systemd does not run.
within()
{
	unshare --mount --pid --fork --kill-child sh -euc '
		mount -t proc proc "$1/proc"
		mount --rbind /dev "$1/dev"
		exec chroot "$1" env -i '"$environment"' sh -euc "$2"' sh "$1" "$2" </dev/null
}

# inside SCRIPT: a shell in the running system.
inside()
{
	# shellcheck disable=SC2086  # words
	nsenter -t "$init" -m -p -u -i -n -C --root="/proc/$init/root" --wd="/proc/$init/root" \
		env -i $environment sh -euc "$1" </dev/null
}

# as USER SCRIPT: in a login shell with the user's systemd and the layer.
as()
{
	inside "su -l $1 -c 'export XDG_RUNTIME_DIR=/run/user/\$(id -u) OPENCL_LAYERS=libckcache_opencl.so; $2'"
}

# until_true WHAT SCRIPT: runs it until it succeeds.
until_true()
{
	for _ in $(seq 2400); do
		if inside "$2" >/dev/null 2>&1; then
			return
		fi
		sleep 0.5
	done
	fail "$1"
}

# overlay LOWER NAME: LOWER appears in $work/NAME; changes lie in $work/NAME.upper/u.
overlay()
{
	mkdir "$work/$2" "$work/$2.upper"
	mount -t tmpfs -o mode=755 none "$work/$2.upper"
	mkdir "$work/$2.upper/u" "$work/$2.upper/w"
	mount -t overlay -o "lowerdir=$1,upperdir=$work/$2.upper/u,workdir=$work/$2.upper/w" overlay "$work/$2" ||
		give_up "no overlay can lie over $1"
}

# debootstrap_root RELEASE DIRECTORY PACKAGE...: that system, from this machine's mirrors.
debootstrap_root()
{
	release=$1 directory=$2
	shift 2
	command -v debootstrap >/dev/null || give_up "there is no debootstrap"
	sources=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 'Origin: Debian' \
		'Component: main' 2>/dev/null | sort -u | awk -v release="$release" '
		{ sub(/\/+$/, "", $1); suite = $2; sub(/^[a-z]+/, "", suite) }
		suite == "" || (release != "sid" && suite ~ /^-(updates|security)$/) {
			print "deb " $1 " " release suite " main" }')
	[ -n "$sources" ] || give_up "this machine's apt knows no mirror of Debian"
	quietly debootstrap --variant=minbase "$release" "$directory" \
		"$(echo "$sources" | awk -v release="$release" '$3 == release { print $2; exit }')"
	echo "$sources" >"$directory/etc/apt/sources.list"
	cp /etc/resolv.conf "$directory/etc/resolv.conf"
	# Proxies, and whether dates are believed.
	apt-config dump | grep -E '^Acquire::(Check-|Retries|ForceIPv|(https?|ftp)::)' \
		>"$directory/etc/apt/apt.conf.d/90outside" || true
	quietly within "$directory" "apt-get -q update && apt-get -q -y --no-install-recommends install $*"
}

# What the kernel says about the machine, for what runs in the root. power WORD: mains or battery.
power()
{
	online=1 status=Full
	[ "$1" = mains ] || online=0 status=Discharging
	for name in AC BAT0; do
		mkdir -p "$root/srv/power/$name"
		: >"$root/srv/power/$name/uevent"
		ln -sfn ../../power_supply "$root/srv/power/$name/subsystem"
	done
	echo Mains >"$root/srv/power/AC/type"
	echo $online >"$root/srv/power/AC/online"
	echo Battery >"$root/srv/power/BAT0/type"
	echo $status >"$root/srv/power/BAT0/status"
}

# Everything about the root that a systemd in namespaces wants, and nothing of the machine's own services.
prepare_root()
{
	rm -rf "$root"/etc/systemd/system/*.wants "$root"/etc/systemd/system/*.requires "$root/etc/systemd/system/default.target"
	# Variables that login shells have and a user's systemd has not would be in keys.
	rm -f "$root"/etc/profile.d/* "$root/etc/environment"
	: >"$root/etc/fstab"
	rm -f "$root/usr/sbin/policy-rc.d"	# which keeps packages from stopping services
	printf '[Unit]\nRequires=basic.target\nAfter=basic.target\nWants=dbus.service systemd-logind.service systemd-user-sessions.service\n' \
		>"$root/etc/systemd/system/ck-roots.target"
	# Drop-ins bind it over the /proc of services that have one of their own.
	mkdir -p "$root/srv/pressure" "$root/etc/systemd/system/ckcache-machine.service.d"
	for cpu in '' $(seq 0 255); do
		echo "cpu$cpu 0 0 0 0 0 0 0 0 0 0"
	done >"$root/srv/stat"
	for name in cpu memory io; do
		echo 'some avg10=0.00 avg60=0.00 avg300=0.00 total=0' >"$root/srv/pressure/$name"
	done
	power mains
	# Else systemd takes nothing but the kernel's own for a power supply.
	mkdir -p "$root/etc/systemd/system/user@.service.d"
	printf '[Service]\nEnvironment=SYSTEMD_DEVICE_VERIFY_SYSFS=0\n' >"$root/etc/systemd/system/user@.service.d/ck-power.conf"
	printf '[Service]\nBindReadOnlyPaths=/srv/stat:/proc/stat -/srv/pressure:/proc/pressure\n' \
		>"$root/etc/systemd/system/ckcache-machine.service.d/ck-idle.conf"
}

# boot [UNSHARE-OPTION]: starts the root's systemd.
boot()
{
	unified=$(findmnt -nrt cgroup2 -o TARGET | head -n 1)
	[ -n "$unified" ] || give_up "no control groups of version 2 are mounted here"
	[ -x "$root/lib/systemd/systemd" ] || give_up "the root has no systemd"
	group=$unified/ckcache-roots.$$
	mkdir "$group" || give_up "no control group can be made in $unified"
	sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec unshare "$@"' sh "$group" \
		--mount --pid --ipc --uts --cgroup --fork --kill-child "$@" sh -euc '
		mount --make-rprivate /
		mount -t proc proc "$1/proc"
		mount -t sysfs -o ro sysfs "$1/sys"
		mount -t cgroup2 cgroup2 "$1/sys/fs/cgroup"
		mount -t tmpfs -o mode=755 none "$1/dev"
		for name in null zero full random urandom tty; do
			touch "$1/dev/$name"
			mount --bind "/dev/$name" "$1/dev/$name"
		done
		mkdir "$1/dev/shm" "$1/dev/pts"
		mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts"
		mount -t tmpfs -o mode=1777 none "$1/dev/shm"
		for name in ptmx:pts/ptmx fd:/proc/self/fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do
			ln -s "${name#*:}" "$1/dev/${name%:*}"
		done
		mount -t tmpfs -o mode=755 none "$1/run"
		mount -t tmpfs -o mode=1777 none "$1/tmp"
		# Kernel variables are the machine'"'"'s.
		mount --bind -o ro "$1/proc/sys" "$1/proc/sys"
		mount --bind "$1/srv/stat" "$1/proc/stat"
		[ ! -d "$1/proc/pressure" ] || mount --bind "$1/srv/pressure" "$1/proc/pressure"
		[ ! -d "$1/sys/class/power_supply" ] || mount --bind "$1/srv/power" "$1/sys/class/power_supply"
		# Not a chroot alone, in which services cannot have user namespaces.
		cd "$1"
		mount --move . /
		exec chroot . env -i container=other SYSTEMD_DEVICE_VERIFY_SYSFS=0 /lib/systemd/systemd --system --show-status=false --unit=ck-roots.target
		' sh "$root" >"$work/console" 2>&1 &
	started=$!
	for _ in $(seq 100); do
		init=$(pgrep -P "$started" || true)
		[ -z "$init" ] || [ "$(cat "/proc/$init/comm" 2>/dev/null)" != systemd ] || break
		sleep 0.1
	done
	[ -n "$init" ] || { cat "$work/console" >&2; give_up "the root's systemd does not start"; }
	for _ in $(seq 300); do
		case $(inside 'systemctl is-system-running' 2>/dev/null || true) in
		running | degraded) return ;;
		esac
		kill -0 "$init" 2>/dev/null || break
		sleep 0.2
	done
	cat "$work/console" >&2
	give_up "the root's systemd does not come up"
}

# list_changes: what differs from what the root was made of, but for records of dpkg, apt and systemd
# itself; "PATH c" is a file that is gone.
list_changes()
{
	(cd "$work/root.upper/u" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp -o -path ./run \
		-o -path ./root -o -path ./srv -o -path ./var/lib/dpkg -o -path ./var/lib/apt -o -path ./var/log \
		-o -path ./var/cache -o -path ./var/tmp \) -prune -o -printf '%P %y\n') |
		while read -r path kind; do
			[ "$kind" = d ] && [ -d "$lower/$path" ] || echo "$path $kind"
		done |
		grep -vE '^(etc/(ld\.so\.cache|machine-id|\.pwd\.lock|\.updated|mtab|hostname|(passwd|shadow|group|gshadow|subuid|subgid)-?)|var/\.updated|var/(spool|mail)/.*|etc/OpenCL/vendors|var/lib/PackageKit/.*|var/lib/(dbus|systemd|private)(/[^c].*)?) [a-z]$' |
		sort
}
