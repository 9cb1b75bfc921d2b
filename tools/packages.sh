# SPDX-License-Identifier: MIT
# For scripts that need Debian packages; sourced, does nothing by itself.
#   install_packages NAME...       what the script needs: 1, and one sentence, if it cannot be had
#   install_available NAME...      what it can do without: says which of them the archive lacks
#   install_within MB NAME...      the same, without those that would make all that this script
#                                  installs larger than so many MB (1,000,000 bytes, unpacked)
# A NAME may be alternatives, "libze-intel-gpu1|intel-opencl-icd": the first that the archive has.
# Nobody is asked for anything but sudo's password. What apt says is shown where it fails.
# shellcheck shell=sh

packages_mb=0	# what this script has installed
packages_ready=	# whether packages can be installed, once that is known: yes, no

# package_installed NAME
package_installed()
{
	[ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# package_available NAME: a name that others only provide is not.
package_available()
{
	LC_ALL=C apt-cache policy "$1" 2>/dev/null | grep -q '^  Candidate: [^(]'
}

# packages_missing NAME...: prints those whose first alternative that the archive has, or the
# machine, is not installed.
packages_missing()
{
	for names in "$@"; do
		for name in $(echo "$names" | tr '|' ' '); do
			! package_installed "$name" || continue 2
			! package_available "$name" || break
		done
		echo "$names"
	done
}

# packages_choose NAMES: prints the alternative that the archive has; 1 if none.
packages_choose()
{
	for name in $(echo "$1" | tr '|' ' '); do
		! package_available "$name" || {
			echo "$name"
			return 0
		}
	done
	return 1
}

# packages_size NAME...: prints how many MB apt would add with them.
packages_size()
{
	LC_ALL=C apt-get -s --no-install-recommends install "$@" 2>/dev/null |
		sed -n 's/^Inst \([^ ]*\) .*/\1/p' | xargs -r apt-cache show --no-all-versions 2>/dev/null |
		awk '/^Installed-Size:/ { kb += $2 } END { print int(kb * 1024 / 1000000) }'
}

# packages_run COMMAND...: as root; what it says goes to $packages_said.
packages_run()
{
	# shellcheck disable=SC2086  # sudo, or nothing
	packages_said=$($packages_sudo env DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@" </dev/null 2>&1)
}

# packages_cannot WHY: from now on nothing is installed.
packages_cannot()
{
	packages_ready=no
	packages_why=$1
	return 1
}

# packages_prepare: reads the archive's lists, and ends what an interrupted run has left.
packages_prepare()
{
	[ -z "$packages_ready" ] || {
		[ "$packages_ready" = yes ]
		return
	}
	packages_sudo=
	command -v apt-get >/dev/null || packages_cannot "there is no apt-get here" || return
	if [ "$(id -u)" -ne 0 ]; then
		packages_sudo=sudo
		command -v sudo >/dev/null || packages_cannot "$(id -un) is not root and there is no sudo" || return
		sudo true || packages_cannot "sudo does not let $(id -un) install packages" || return
	fi
	packages_ready=yes
	echo "Reading the package lists"
	packages_run apt-get -q -o DPkg::Lock::Timeout=600 update || true	# the installation tells
	[ -z "$(dpkg --audit)" ] || packages_run dpkg --configure -a || true
}

# packages_get NAME...: 1, and apt's last words, if it does not install them.
packages_get()
{
	size=$(packages_size "$@")
	echo "Installing ${size:-?} MB of packages: $*"
	if packages_run apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=600 install "$@"; then
		packages_mb=$((packages_mb + ${size:-0}))
		return 0
	fi
	echo "$packages_said" | grep '^E: ' | sort -u | tail -n 3 >&2
	packages_why="apt-get could not install them"
	return 1
}

install_packages()
{
	if ! command -v dpkg-query >/dev/null; then
		echo "This is not Debian; the names of the needed packages there are: $*" >&2
		return 0
	fi
	# shellcheck disable=SC2046  # names are words
	set -- $(packages_missing "$@")
	[ $# -gt 0 ] || return 0
	if packages_prepare; then
		# shellcheck disable=SC2046
		set -- $(for names in "$@"; do packages_choose "$names" || echo "${names%%|*}"; done)
		! packages_get "$@" || return 0
	fi
	echo "Cannot install needed packages ($packages_why): $*" >&2
	return 1
}

install_within()
{
	most=$1
	shift
	command -v dpkg-query >/dev/null || return 0
	# shellcheck disable=SC2046
	set -- $(packages_missing "$@")
	[ $# -gt 0 ] || return 0
	if ! packages_prepare; then
		echo "Continuing without these packages ($packages_why): $*"
		return 0
	fi
	taken='' absent=''
	for names in "$@"; do
		# shellcheck disable=SC2086
		if ! name=$(packages_choose "$names"); then
			absent="$absent ${names%%|*}"
		elif expr " $taken " : ".* $name " >/dev/null; then
			:	# two names' alternative
		elif [ "$most" -gt 0 ] && [ $((packages_mb + $(packages_size $taken "$name"))) -gt "$most" ]; then
			echo "Continuing without $name: with it the packages would take more than $most MB"
		else
			taken="$taken $name"
		fi
	done
	[ -z "$absent" ] || echo "Continuing without packages that this system's archive does not have:$absent"
	# shellcheck disable=SC2086
	[ -z "$taken" ] || packages_get $taken || echo "Continuing without:$taken" >&2
}

install_available()
{
	install_within 0 "$@"
}
