#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: coverage.sh BUILD_DIR MODULE...
# After the tests of a --coverage build: lines run of each module, the lines that
# no test runs, and the sum. A must() that never fails and a line that only a
# panic reaches do not count as lines of their own.
# A module without a line on this machine (lane bodies of another) is left out.

build=$1
shift
for module; do
	gcov --stdout --object-directory "$build" "userspace/$module.c" 2> /dev/null |
		awk -v name="$module" -F: '
		/^ *-: *0:Source:/ { ours = $0 ~ "userspace/" name "\\.c$"; next }
		!ours { next }
		$1 ~ /#####/ { missed++; print name ".c:" $2 + 0 ":" substr($0, index($0, $2) + length($2) + 1) > "/dev/stderr"; next }
		$1 !~ /-/ { run++ }
		END { print name, run + 0, missed + 0 }'
done 2> "$build/missed" | awk '
	$2 + $3 { run += $2; missed += $3; printf "%-12s %5.1f %%  %4d of %d lines\n", $1, 100 * $2 / ($2 + $3), $2, $2 + $3 }
	END { printf "%-12s %5.1f %%  %4d of %d lines\n", "all", 100 * run / (run + missed), run, run + missed }'
echo
echo 'Not run by any test:'
cat "$build/missed"
