# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# script.sh - a test that runs one program and looks at what it said; TAP
#
# Place    conf.sh, load_options.sh, doctor/ and probe/probe.sh source it.
# $dir     goes with the script; a program's stdout and stderr are in out and err.

dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

count=0 failures=0

# What the program said is shown with a failure.
result() { # 0|1 NAME
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		failures=$((failures + 1))
		echo "not ok $count - $2"
		cut -c1-300 "$dir/out" "$dir/err" | sed 's/^/#   /'
	fi
}

# What --help, in $dir/out, lists: it is more than so many options, and the manual has each.
manual_has_options() { # PAGE LEAST
	lacking=$(sed -n 's/^ .* --\([a-z-]*\).*/\1/p' "$dir/out" | while read -r option; do
		grep -qE "Fl -$option( |\$)" "$1" || echo "$option"
	done)
	[ "$(grep -c -- ' --' "$dir/out")" -gt "$2" ] && [ -z "$lacking" ]
	result $? "the manual has each option${lacking:+, but $lacking}"
}
