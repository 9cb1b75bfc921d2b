#!/bin/sh
# SPDX-License-Identifier: MIT
# What the tests of a run of ctest have left out, a line for each reason: "TEST: REASON".
#   skipped.sh LOG LAST-TEST-LOG
# LOG is what `ctest --output-log` wrote, the other one its Testing/Temporary/LastTest.log. A test says
# "SKIPPED: reason" for all of it or for a part; Python's unittest "... skipped 'reason'".
set -eu
for log; do
	[ -r "$log" ] || exit 0
done
awk '
	FNR == 1 { file++ }
	file == 1 && /\*\*\*Skipped/ { match($0, /: [^ ]+/); whole[substr($0, RSTART + 2, RLENGTH - 2)] = 1 }
	file == 1 { next }
	/^[0-9]+\/[0-9]+ Testing: / { test = $3; inside = said = 0; last = "it does not say why" }
	/^Output:$/ { inside = 1; next }
	/^<end of output>$/ {
		inside = 0
		if (whole[test] && !said)
			print test ": " last
	}
	!inside || /^-*$/ { next }
	{ last = $0 }
	match($0, /SKIPPED: .*/) { why = substr($0, RSTART + 9); sub(/; passed$/, "", why) }
	match($0, /\.\.\. skipped .*/) { why = substr($0, RSTART + 13, RLENGTH - 14) }
	why != "" { print test ": " why; said = 1; why = "" }
' "$1" "$2" | sort -u
