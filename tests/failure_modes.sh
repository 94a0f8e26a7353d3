#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: failure_modes.sh
# docs/failure-modes.md: rows 1 to 36, each once and with a test; each test is there, with
# the words by which the row names it; a fake or a reason only where hardware fails. TAP.

cd "${0%/*}/.." || exit 1
rows=36 allowed=' 5 12 13 14 '
count=0 bad=0

result() { # STATUS NAME
	count=$((count + 1))
	[ "$1" = 0 ] && echo "ok $count - $2" && return
	echo "not ok $count - $2"
	bad=1
}

row() { # NUMBER: its line; nothing unless there is exactly one
	awk -F ' *[|] *' -v n="$1" '$2 == n { line = $0; found++ } END { if (found == 1) print line }' \
		docs/failure-modes.md
}

# FILE, or FILE: WORDS; the words may be the end of a name that is put together.
exists() { # TEST
	exists_file=tests/${1%%: *}
	[ -f "$exists_file" ] || return
	[ "$1" = "${1%%: *}" ] || grep -qF -- "${1#*: }" "$exists_file"
}

n=0
while [ $n -lt $rows ]; do
	n=$((n + 1))
	line=$(row $n)
	[ -n "$line" ]
	result $? "row $n is there once"
	# shellcheck disable=SC2016 # backticks of Markdown
	tests=$(echo "$line" | sed 's/.*| \(`.*`\) |$/\1/' | grep -o '`[^`]*`' | tr -d '`')
	[ -n "$tests" ]
	result $? "row $n has a test"
	case $line in
	*'*Fake:*'* | *'*Reason:*'*)
		[ "$allowed" != "${allowed#* "$n" }" ]
		result $? "row $n may have a fake or a reason"
		;;
	esac
	while IFS= read -r one; do
		exists "$one"
		result $? "row $n: $one"
	done <<- END
	$tests
	END
done
[ "$(grep -c '^| [0-9]' docs/failure-modes.md)" = $rows ]
result $? "there are $rows rows"
echo "1..$count"
exit $bad
