#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: look.sh [FOLDER]
# The report of a made-up session, and of two compared, in headless Chromium: wide, as wide as a
# phone, dark. The screenshots stay in FOLDER, where one is given. A browser is a heavy client:
# without CI or FULL=1 nobody has to have one.

here=${0%/*}
n=0
tell() { # NAME, the last command's status being the result
	if [ $? = 0 ]; then word=ok; else word='not ok' failed=1; fi
	n=$((n + 1))
	echo "$word $n - $1"
}

absent() { # WHAT
	if [ -n "$CI$FULL" ]; then
		echo "not ok 1 - the report in a browser: no $1: tools/deps install"
		echo 1..1
		exit 1
	fi
	echo "1..0 # SKIP no $1: the report in a browser"
	exit 0
}

browser=
for one in chromium-headless-shell chromium; do
	[ -n "$browser" ] || ! command -v $one > /dev/null || browser=$one
done
[ -n "$browser" ] || absent Chromium
for tool in node gnuplot python3; do
	command -v $tool > /dev/null || absent $tool
done

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM
shots=${1:-$dir/shots}
mkdir -p "$shots/report" "$shots/compare"

"$here/fixtures.py" "$dir/a" --seconds=5 && "$here/fixtures.py" "$dir/b" --seconds=5 --effect=0.9 --boot=b
tell 'two sessions are made up'
"$here/../../tools/saker-lab" report "$dir/a" > /dev/null &&
	"$here/../../tools/saker-lab" compare "$dir/a" "$dir/b" --out="$dir/compare.html" > /dev/null
tell 'saker-lab makes their pages'

for page in report compare; do
	file=$dir/compare.html
	[ $page = compare ] || file=$dir/a/report.html
	node "$here/look.js" "$file" "$shots/$page" "$browser" > "$dir/tap"
	status=$?
	while IFS= read -r line; do
		case $line in
		ok*) (exit 0) && tell "$page, ${line#ok - }" ;;
		not*) (exit 1) || tell "$page, ${line#not ok - }" ;;
		*) echo "$line" ;;
		esac
	done < "$dir/tap"
	[ $status = 0 ] && [ "$(grep -c '^ok' "$dir/tap")" = 15 ]
	tell "$page: looked at to the end"
done
echo "1..$n"
[ -z "$failed" ]
