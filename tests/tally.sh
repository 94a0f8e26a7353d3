# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# tally.sh - run programs that print TAP, show a line for each, count results
#
# Model    tally_open DIR, then tally_run NAME COMMAND... for each program, then
#          `tally_close`, whose last line is "N passed, N failed, N skipped" and
#          whose status is 1 if anything failed. NAME's output is kept in
#          DIR/NAME.tap; it is shown in full only when something failed.
#          A program that ends early, with an unexpected status or without any
#          result counts as one failure more.
# Nested   A part run by `tally_part` closes into the tally of its caller.

tally_open() { # DIR
	tally_dir=$1
	tally_passed=0 tally_failed=0 tally_skipped=0
	rm -rf "$tally_dir"
	mkdir -p "$tally_dir"
}

# Prints "passed failed skipped reason" of one TAP file, given the exit status.
tally_count() { # FILE STATUS
	awk -v status="$2" '
	/^ok/ { if (toupper($0) ~ /# *SKIP/) skipped++; else passed++ }
	/^not ok/ { failed++ }
	/^1\.\.[0-9]+/ {
		plans++
		planned += substr($1, 4)
		if ($1 == "1..0" && toupper($0) ~ /# *SKIP/) {
			planned++
			skipped++
		}
	}
	/^Bail out!/ { bail = 1 }
	END {
		ran = passed + failed + skipped
		if (bail)
			why = "bailed out"
		else if (!plans)
			why = "no plan: ended early with status " status
		else if (!ran)
			why = "ran no test, status " status
		else if (ran != planned)
			why = planned " tests planned, " ran " run, status " status
		else if (status && !failed)
			why = "ended with status " status
		print passed + 0, failed + (why != ""), skipped + 0, why
	}' "$1"
}

tally_add() { # PASSED FAILED SKIPPED
	tally_passed=$((tally_passed + $1))
	tally_failed=$((tally_failed + $2))
	tally_skipped=$((tally_skipped + $3))
}

tally_run() { # NAME COMMAND...
	tally_name=$1
	tally_tap=$tally_dir/$1.tap
	shift
	tally_start=$(date +%s)
	"$@" > "$tally_tap" 2>&1
	tally_show "$tally_name" $(($(date +%s) - tally_start)) "$(tally_count "$tally_tap" $?)"
}

tally_show() { # NAME SECONDS "PASSED FAILED SKIPPED REASON"
	tally_name=$1 tally_seconds=$2
	# shellcheck disable=SC2086 # words
	set -- $3
	tally_add "$1" "$2" "$3"
	printf '  %-24s %5d passed %3d failed %3d skipped %4d s\n' \
		"$tally_name" "$1" "$2" "$3" "$tally_seconds"
	if [ "$2" != 0 ]; then
		sed 's/^/  | /' "$tally_tap"
		shift 3
		[ $# = 0 ] || echo "  $tally_name: $*"
	else
		sed -n 's/^ok[- 0-9]*\(.*\)# *[Ss][Kk][Ii][Pp] */    skipped: \1- /p
			s/^1\.\.0 *# *[Ss][Kk][Ii][Pp] */    skipped: - /p' "$tally_tap"
	fi
}

# A command that prints no TAP: its status is the one result.
tally_status() { # NAME COMMAND...
	tally_run "$1" tally_as_tap "$@"
}

tally_as_tap() { # NAME COMMAND...
	tally_text=$1
	shift
	if tally_out=$("$@" 2>&1); then
		echo "ok 1 - $tally_text"
	else
		echo "not ok 1 - $tally_text (status $?)"
		echo "$tally_out" | sed 's/^/# /'
	fi
	echo 1..1
}

tally_skip() { # NAME REASON
	tally_run "$1" echo "1..0 # SKIP $2"
}

tally_title() { # NAME
	echo "== $1"
}

# COMMAND ends in a tally_close of its own; its numbers are added to ours.
tally_part() { # NAME COMMAND...
	tally_name=$1
	shift
	tally_title "$tally_name"
	rm -f "$tally_dir/part"
	# shellcheck disable=SC2030,SC2031 # meant for the part alone
	(export TALLY_INTO="$tally_dir/part"; "$@")
	tally_rc=$?
	if [ -s "$tally_dir/part" ]; then
		read -r tally_p tally_f tally_s < "$tally_dir/part"
		tally_add "$tally_p" "$tally_f" "$tally_s"
		[ "$tally_rc" = 0 ] || [ "$tally_f" != 0 ] || tally_died
	else
		tally_died
	fi
}

# Something that must work before tests can run. A failure counts as one.
tally_need() { # NAME COMMAND...
	tally_name=$1
	shift
	"$@" || {
		tally_rc=$?
		tally_died
		return 1
	}
}

tally_died() {
	echo "  $tally_name: failed with status $tally_rc before its tests ended"
	tally_add 0 1 0
}

tally_close() {
	# shellcheck disable=SC2031 # our caller's
	if [ -n "$TALLY_INTO" ]; then
		echo "$tally_passed $tally_failed $tally_skipped" > "$TALLY_INTO"
	else
		echo "$tally_passed passed, $tally_failed failed, $tally_skipped skipped"
	fi
	[ "$tally_failed" = 0 ] && [ $((tally_passed + tally_skipped)) != 0 ]
}
