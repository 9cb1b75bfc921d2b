#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs the README's two commands on a fresh machine: a bare Debian in a temporary directory, with
# the current commit in the home directory and nothing else installed.
#   sh tests/fresh.sh bookworm|trixie|sid [OPTION...] [-- COMMAND]
# --arch ARCHITECTURE   one of Debian's that this machine runs, as i386, or emulates, as arm64
#            (qemu-user-static): the suite alone. It is compiled by this machine's cross compiler,
#            which is gcc there, in a twentieth of the time.
# --unpack   where it emulates: what tests/run.sh needs is unpacked instead of installed, in a minute
#            instead of ten or more. Nobody but root is there.
# --user     as an ordinary user with sudo, which asks for no password; else as root
# --no-sys   without /sys
# --today    `sh tests/run.sh today` after them
# --full     `sh tests/run.sh full` after them
# --keep     leaves the system where it is
# COMMAND: a line for the shell, instead of all these.
# Root alone can do this. Packages come from the mirror that this machine's apt uses, or from
# $CKCACHE_FRESH_MIRROR, and are kept below $CKCACHE_FRESH_DEBS where that is set. The system lies
# in $TMPDIR, else in /var/tmp, and takes up to 8 GB.
# Exit code: 0 if all commands end with 0; 75 where no system can be made, for want of a mirror
# or of the right to mount.
set -eu
cd "$(dirname "$0")/.."

usage()
{
	sed -n '3,/^set/s/^# \{0,1\}//p' "$0" >&2
	exit 2
}

# give_up CODE SENTENCE
give_up()
{
	code=$1
	shift
	echo "fresh.sh: $*" >&2
	exit "$code"
}

release='' user=root sys=yes keep='' unpack='' arch='' triple='' emulator='' commands='sh tools/quickstart.sh
sh tests/run.sh'
# parse ARGUMENTS...
parse()
{
	while [ $# -gt 0 ]; do
		case $1 in
		--arch)
			arch=${2-}
			case $arch in
			arm64) triple=aarch64-linux-gnu emulator=aarch64 ;;
			armhf) triple=arm-linux-gnueabihf emulator=arm ;;
			i386) ;;
			ppc64el) triple=powerpc64le-linux-gnu emulator=ppc64le ;;
			riscv64 | s390x) triple=$arch-linux-gnu emulator=$arch ;;
			*) usage ;;
			esac
			commands=${commands#*quickstart.sh?}
			shift
			;;
		--user) user=user ;;
		--no-sys) sys= ;;
		--unpack) unpack=yes ;;
		--today) commands="$commands
sh tests/run.sh today" ;;
		--full) commands="$commands
sh tests/run.sh full" ;;
		--keep) keep=yes ;;
		--)
			shift
			commands=$*
			break
			;;
		bookworm | trixie | sid) release=$1 ;;
		*) usage ;;
		esac
		shift
	done
}
parse "$@"
[ -n "$release" ] || usage
[ -z "$unpack" ] || { [ -n "$emulator" ] && [ "$user" = root ]; } || usage
[ "$(id -u)" -eq 0 ] || give_up 75 "only root can do this: sudo sh tests/fresh.sh $release"
for tool in debootstrap git unshare; do
	command -v $tool >/dev/null || give_up 1 "this needs $tool: apt-get install debootstrap git util-linux"
done
unshare --mount --pid --fork true 2>/dev/null || give_up 75 "this machine lets nobody mount anything"
if [ -n "$emulator" ]; then
	formats=/proc/sys/fs/binfmt_misc
	command -v "$triple-gcc" >/dev/null || give_up 75 "this needs a compiler for $arch: apt-get install gcc-$triple"
	[ -r "/usr/lib/binfmt.d/qemu-$emulator.conf" ] || [ -e "$formats/qemu-$emulator" ] ||
		give_up 75 "this machine emulates no $arch: apt-get install qemu-user-static"
	# What is registered stays for as long as that is mounted anywhere: as this script runs.
	# shellcheck disable=SC2016  # for the inner shell
	[ -e "$formats/qemu-$emulator" ] || exec unshare --mount --propagation private sh -c '
		formats=$1 name=$2
		shift 2
		mount -t binfmt_misc none "$formats"
		[ -e "$formats/$name" ] || cat "/usr/lib/binfmt.d/$name.conf" >"$formats/register"
		[ -e "$formats/$name" ] && exec sh "$@"
		echo "fresh.sh: the emulator cannot be registered with the kernel" >&2
		exit 75' sh "$formats" "qemu-$emulator" "$0" "$@"
fi

work=$(mktemp -d "${TMPDIR:-/var/tmp}/ckcache-fresh.XXXXXX") || give_up 1 "set TMPDIR to a directory with 8 GB of room"
chmod 755 "$work"
root=$work/root
child=
# Nothing is mounted outside of the commands' own namespaces, which end with them.
# shellcheck disable=SC2317  # by the trap
clean_up()
{
	if [ -n "$child" ]; then
		kill -KILL "$child" 2>/dev/null || true
		wait "$child" 2>/dev/null || true
	fi
	if [ -n "$keep" ]; then
		echo "The system is left in $root"
	else
		rm -rf --one-file-system "$work"
	fi
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

# run COMMAND...: as any other, but a signal to this script ends it at once.
run()
{
	"$@" &
	child=$!
	status=0
	wait "$child" || status=$?
	child=
	return $status
}

# inside COMMAND...: as root of the new system, with processes and mounts of its own.
inside()
{
	# shellcheck disable=SC2016  # for the inner shell
	run unshare --mount --propagation private --pid --fork --kill-child sh -eu -c '
		root=$1 sys=$2 debs=$3
		shift 3
		mount --bind "$root" "$root" # a mount, as the root of other machines is
		mount -t proc proc "$root/proc"
		[ -z "$sys" ] || mount -t sysfs -o ro sysfs "$root/sys"
		mount -t tmpfs -o mode=755 tmpfs "$root/dev"
		for name in null zero full random urandom tty; do
			: >"$root/dev/$name"
			mount --bind "/dev/$name" "$root/dev/$name"
		done
		mkdir "$root/dev/pts" "$root/dev/shm"
		mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
		mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
		ln -s pts/ptmx "$root/dev/ptmx"
		ln -s /proc/self/fd "$root/dev/fd"
		ln -s fd/0 "$root/dev/stdin"
		ln -s fd/1 "$root/dev/stdout"
		ln -s fd/2 "$root/dev/stderr"
		[ -z "$debs" ] || mount --bind "$debs" "$root/var/cache/apt/archives"
		# The first process stays, and takes note of orphans.
		result=0
		chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
			HOME=/root TERM="${TERM:-dumb}" "$@" || result=$?
		exit $result
		' sh "$root" "$sys" "$debs" "$@" </dev/null
}

# unpack_system: the base system without what its packages' scripts do, and what the suite needs.
unpack_system()
{
	mkdir -p "$work/apt/etc/apt/apt.conf.d" "$work/apt/etc/apt/preferences.d" "$work/apt/lists/partial" "$work/debs/partial" "$root/var/lib/dpkg"
	apt-config dump | grep -E '^Acquire::' >"$work/apt/etc/apt/apt.conf.d/90outside"
	echo "$sources" >"$work/apt/etc/apt/sources.list"
	: >"$root/var/lib/dpkg/status"
	cat >"$work/apt.conf" <<-END
		Dir "$work/apt";
		Dir::State::Lists "$work/apt/lists";
		Dir::State::Status "$root/var/lib/dpkg/status";
		Dir::Cache "$work/apt";
		Dir::Cache::Archives "${debs:-$work/debs}";
		Dir::Etc::Trusted "/usr/share/keyrings/debian-archive-keyring.gpg";
		APT::Architecture "$arch";
		APT::Architectures "$arch";
	END
	export APT_CONFIG="$work/apt.conf"
	quietly run apt-get -q update
	apt-cache dumpavail | awk -v RS= '/\nPriority: required/ || /\nEssential: yes/ { print $2 }' >"$work/names"
	eval "$(sed -n "/^packages_build='/,/'\$/p; /^packages_emulated='/p" tests/run.sh)"
	# shellcheck disable=SC2154  # from there
	for names in $packages_build $packages_emulated; do
		for name in $(echo "$names" | tr '|' ' '); do
			apt-cache policy "$name" | grep -q '^  Candidate: [^(]' || continue
			echo "$name"
			break
		done
	done >>"$work/names"
	# shellcheck disable=SC2046  # names are words
	set -- $(sort -u "$work/names")
	quietly run apt-get -q -y --no-install-recommends --download-only install "$@"
	apt-get -q -s --no-install-recommends install "$@" |
		sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*\[\(.*\)\]).*/\1_\2_\3.deb/p' | sed 's/:/%3a/' >"$work/names"
	unset APT_CONFIG
	for directory in bin sbin lib lib64; do
		mkdir -p "$root/usr/$directory"
		ln -s "usr/$directory" "$root/$directory"
	done
	while read -r deb; do
		dpkg-deb --fsys-tarfile "${debs:-$work/debs}/$deb" | tar -x --keep-directory-symlink -C "$root"
		dpkg-deb -f "${debs:-$work/debs}/$deb" | sed '1a\
Status: install ok installed' >>"$root/var/lib/dpkg/status"
		echo >>"$root/var/lib/dpkg/status"
	done <"$work/names"
	rm -rf "$work/debs"
	# What scripts would have made.
	for file in passwd group; do
		cp "$root/usr/share/base-passwd/$file.master" "$root/etc/$file"
	done
	for kind in auth account password session; do
		echo "$kind required pam_permit.so" >"$root/etc/pam.d/common-$kind"
	done
	ln -s mawk "$root/usr/bin/awk"
	mkdir -p "$root/etc/apt/apt.conf.d" "$root/etc/dpkg/dpkg.cfg.d"
}

# bring_tools: this machine's cross compiler, with the libraries that it needs, as gcc of the new
# system, whose headers and libraries it takes; what runs it and tests; and what unpacks packages.
bring_tools()
{
	cross=$root/usr/local/cross
	mkdir -p "$cross/bin" "$cross/lib/gcc-cross" "$cross/$triple/bin" "$cross/share" "$root/lib64" "$root/usr/local/bin"
	cp -a "/usr/lib/gcc-cross/$triple" "$cross/lib/gcc-cross"
	cp -L "/usr/bin/$triple-gcc" "$cross/bin/gcc"
	for tool in dpkg-deb cmake ctest ninja; do
		[ -x "/usr/bin/$tool" ] || continue
		cp -L "/usr/bin/$tool" "$cross/bin"
		ln -s "../cross/bin/$tool" "$root/usr/local/bin/$tool"
	done
	for modules in /usr/share/cmake-[0-9]*; do
		[ ! -d "$modules" ] || cp -a "$modules" "$cross/share"
	done
	ln -s ../cross/bin/gcc "$root/usr/local/bin/gcc"
	ln -s gcc "$root/usr/local/bin/cc"
	for tool in as ld; do
		cp -L "/usr/bin/$triple-$tool" "$cross/$triple/bin/$tool"
	done
	for tool in ar nm objcopy ranlib readelf strip; do
		cp -L "/usr/bin/$triple-$tool" "$cross/bin/$tool"
		ln -s "../cross/bin/$tool" "$root/usr/local/bin/$tool"
	done
	find "$cross" -type f -perm -100 -exec ldd {} + 2>/dev/null |
		sed -n 's|^\t\([^ ]* => \)\{0,1\}\(/[^ ]*\) (.*|\2|p' | sort -u | while read -r library; do
		mkdir -p "$root$(dirname "$library")"
		cp -L "$library" "$root$library"
	done
}

# quietly COMMAND...: its output is shown if it fails.
quietly()
{
	"$@" >"$work/log" 2>&1 || {
		tail -n 20 "$work/log" >&2
		give_up 1 "$1 failed on $release"
	}
}

# installed: MB of packages in the new system.
installed()
{
	dpkg-query --admindir="$root/var/lib/dpkg" -W -f '${Installed-Size}\n' | awk '{ kb += $1 } END { print int(kb * 1024 / 1000000) }'
}

# minutes SECONDS
minutes()
{
	printf '%d:%02d' $(($1 / 60)) $(($1 % 60))
}

# This machine's sources, as they are called for that release.
# shellcheck disable=SC2016  # apt-get replaces these
sources=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' 'Origin: Debian' \
	'Component: main' 2>/dev/null | sort -u | awk -v release="$release" '
	{ sub(/\/+$/, "", $1); suite = $2; sub(/^[a-z]+/, "", suite) }
	suite == "" || (release != "sid" && suite ~ /^-(updates|security)$/) {
		print "deb " $1 " " release suite " main" }')
mirror=${CKCACHE_FRESH_MIRROR:-$(echo "$sources" | awk -v release="$release" '$3 == release { print $2; exit }')}
[ -z "${CKCACHE_FRESH_MIRROR-}" ] || sources="deb $mirror $release main"
apt_helper=/usr/lib/apt/apt-helper
if [ -x $apt_helper ] && [ -n "$mirror" ] && ! $apt_helper download-file "$mirror/dists/$release/InRelease" "$work/InRelease" >/dev/null 2>&1; then
	give_up 75 "the mirror $mirror does not have $release"
fi
debs=
if [ -n "${CKCACHE_FRESH_DEBS-}" ]; then
	debs=$CKCACHE_FRESH_DEBS/$release${arch:+-$arch}
	mkdir -p "$debs/partial"
fi

system="$release${arch:+ for $arch}, $user${sys:+, with /sys}"
echo "A fresh $system, commit $(git -c safe.directory='*' log -1 --format='%h %s')"
start=$(date +%s)
if [ -n "$unpack" ]; then
	unpack_system
else
	quietly run debootstrap --variant=minbase ${arch:+"--arch=$arch"} ${debs:+"--cache-dir=$debs"} "$release" "$root" ${mirror:+"$mirror"}
fi
# Without a mirror of its own this machine leaves that to debootstrap.
[ -z "$sources" ] || echo "$sources" >"$root/etc/apt/sources.list"
# Proxies, and whether dates are believed.
apt-config dump | grep -E '^Acquire::(Check-|Retries|ForceIPv|(https?|ftp)::)' >"$root/etc/apt/apt.conf.d/90outside" || true
# Docker's and others' settings are not here: downloaded packages stay, as on a real machine.
cp /etc/resolv.conf "$root/etc/resolv.conf"
echo "127.0.0.1 localhost $(hostname)" >"$root/etc/hosts"
echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/temporary"
[ -z "$triple" ] || bring_tools
home=/root
chmod 700 "$root/root"
if [ "$user" != root ]; then
	home=/home/$user
	quietly inside sh -c "apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q -y install sudo &&
		useradd -m -s /bin/bash $user && echo '$user ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/$user"
fi
quietly env GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*' \
	git clone --no-local "$PWD" "$root$home/ckcache"
[ "$user" = root ] || quietly inside chown -R "$user:" "$home/ckcache"
# AMD's driver (tests/opencl/offline_amd.c) as a file beside packages that its own package conflicts with.
# shellcheck disable=SC2016  # for the inner shell
[ "$release" != sid ] || inside sh -euc '
	cd "$(mktemp -d)"
	apt-get -q update
	DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install libamd-comgr3 libhsa-runtime64-1 libnuma1
	apt-get -q download rocm-opencl-icd
	dpkg -x rocm-opencl-icd_*.deb .
	cp -P usr/lib/*/libamdocl64.so* /usr/local/lib
	' >"$work/log" 2>&1 || echo "AMD's driver is left out: $(tail -n 1 "$work/log")"
before=$(installed)
echo "made in $(minutes $(($(date +%s) - start))), $before MB"

result=0 report=
while read -r command; do
	echo
	echo "== $command"
	start=$(date +%s)
	# Output, exit code and the shell's account of what its children used.
	inside su -l "$user" -c "cd ckcache && rm -f /tmp/fresh.* && { { $command; }; echo \$? >/tmp/fresh.status
		times >/tmp/fresh.times; } 2>&1 | tee /tmp/fresh.output" || true
	status=$(cat "$root/tmp/fresh.status" 2>/dev/null || echo none)
	[ "$status" = 0 ] || result=1
	processor=$(awk 'NR == 2 { gsub(/[ms]/, " "); print int($1 * 60 + $2 + $3 * 60 + $4) }' "$root/tmp/fresh.times" || echo '?')
	now=$(installed)
	report="$report$command: exit code $status, $(minutes $(($(date +%s) - start))), $processor s of processor time, $((now - before)) MB of packages, tree $(du -sm "$root$home/ckcache" | cut -f1) MB
$(tail -n 1 "$root/tmp/fresh.output")
"
	before=$now
done <<END
$commands
END
echo
echo "A fresh $system:"
printf '%s' "$report"
exit $result
