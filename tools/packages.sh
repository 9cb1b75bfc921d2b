# SPDX-License-Identifier: MIT
# For scripts that need Debian packages; sourced, does nothing by itself.
# shellcheck shell=sh

# install_packages NAME...: installs what is missing and says which; 1 if it cannot.
install_packages()
{
	missing=
	for package in "$@"; do
		case $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) in
		installed) ;;
		*) missing="$missing $package" ;;
		esac
	done
	[ -n "$missing" ] || return 0
	if [ "$(id -u)" -eq 0 ]; then
		as_root=
	elif command -v sudo >/dev/null; then
		as_root=sudo
	else
		echo "Missing packages:$missing" >&2
		echo "Neither root nor sudo: install them and run this again." >&2
		return 1
	fi
	echo "Installing missing packages:$missing"
	# shellcheck disable=SC2086  # names are words
	{
		$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update &&
		$as_root env DEBIAN_FRONTEND=noninteractive \
			apt-get -q -y --no-install-recommends install $missing
	} </dev/null >&2 || {
		echo "Installing failed:$missing" >&2
		return 1
	}
}
