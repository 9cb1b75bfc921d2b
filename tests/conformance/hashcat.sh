#!/bin/sh
# SPDX-License-Identifier: MIT
# hashcat finds a short password without the layer, under it cold, and warm,
# its own kernel cache emptied each time; prints how long each took.
#   LAYER=... sh tests/conformance/hashcat.sh DRIVER
# hashcat keeps kernels in the user's home as the system knows it, so this
# empties ~/.cache/hashcat. Some minutes. Exit code: 77 without hashcat.
set -eu
command -v hashcat >/dev/null || {
	echo 'SKIPPED: no hashcat'
	exit 77
}
here=$(cd "$(dirname "$0")" && pwd)
home=$(getent passwd "$(id -u)" | cut -d: -f6)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$here/drivers.sh"
use_driver "$1"
# hashcat reads the binaries itself, so that reading them at once is no more work.
export CKCACHE_CAPTURE=eager

# crack MODE HASH MASK
crack()
{
	rm -rf "$home/.cache/hashcat" "$XDG_CACHE_HOME/hashcat"
	hashcat -m "$1" -a 3 --potfile-disable --force -D 1 -O --quiet "$2" "$3" 2>"$work/errors"
}

three_ways()
{
	for way in bare cold warm; do
		start=$(date +%s)
		if [ "$way" = bare ]; then
			found=$(crack "$@")
		else
			found=$(with_layer crack "$@")
		fi
		echo "mode $1, $way: $(($(date +%s) - start)) s, ${found##*:}"
		[ "${found##*:}" = "$password" ] || {
			cat "$work/errors" >&2
			exit 1
		}
	done
}

password=abc12
three_ways 0 "$(printf %s "$password" | md5sum | cut -d' ' -f1)" 'abc?d?d'
password=ab1
three_ways 1800 "$(openssl passwd -6 -salt saltsalt "$password")" 'ab?d'
"${LAYER%/lib/*}/bin/ckcache" stats
