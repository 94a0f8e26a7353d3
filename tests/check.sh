#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: check.sh BUILD_DIR
# Every part of `make check`, one after the other. The last line counts all
# results: N passed, N failed, N skipped. A part that cannot run here is a
# visible skip; one that does not build, or dies, is a failure.

build=$1
san=$build-san
cd "${0%/*}/.." || exit 1
. tests/tally.sh
tally_open "$build/tap-check"

make() {
	command "${MAKE:-make}" -s --no-print-directory -j"$(nproc)" "$@"
}

# With the sanitizers, in a folder of its own. Never `all`: that would turn the
# links in build/ to this flavour.
make_san() {
	make B="$san" SAN=address,undefined "$@"
}

as_root() { # NAME COMMAND...
	if [ "$(id -u)" = 0 ]; then
		tally_run "$@"
	else
		tally_skip "$1" 'needs root'
	fi
}

# Passes TAP on; on descriptor 3 a line for each script as it ends, so that
# minutes of network tests do not look hung.
by_script() { # COMMAND...
	{
		"$@" 2>&1
		echo "status $?"
	} | awk '
	function tell() {
		if (script != "")
			printf "    %-22s %5d passed %3d failed %3d skipped\n",
			       script, passed, failed, skipped | "cat >&3"
		close("cat >&3")
		passed = failed = skipped = 0
	}
	/^status [0-9]+$/ { status = $2; next }
	{ print }
	/^(not )?ok [0-9]+ - [a-z0-9_]+(:[a-z]+)?: / { # basics: ..., or basics:packet: ...
		name = $0
		sub(/^[^-]*- /, "", name)
		sub(/: .*/, "", name)
		if (name != script)
			tell()
		script = name
		if (/^not/)
			failed++
		else if (toupper($0) ~ /# *SKIP/)
			skipped++
		else
			passed++
	}
	END { tell(); exit status }'
}

tally_title build
tally_need build make B="$build" all &&
	tally_need build-san make_san "$san/saker" "$san/saker-stat"

tally_part check-pure make B="$build" check-pure
tally_part check-san make_san check-pure

tally_title check-bpf
tally_need build-bpf make B="$build" "$build/test_steer" "$build/test_path" \
	"$build/test_steer_tc" "$build/test_path_tc" "$build/test_tc" && {
	as_root bpf "$build/test_steer"
	as_root bpf-path "$build/test_path"
	as_root bpf-tc "$build/test_steer_tc"
	as_root bpf-path-tc "$build/test_path_tc"
	as_root bpf-tc-device "$build/test_tc"
}

tally_title check-net
as_root net by_script tests/net/run.sh "$build" 3>&1
tally_title check-net-san
as_root net-san by_script tests/net/run.sh "$san" core 3>&1

tally_part packaging tests/packaging.sh "$build" quick

tally_part check-arm64 tests/arm64.sh "$build-arm64"
if [ -n "$CI$FULL" ]; then
	tally_part check-board tests/board.sh "$build-arm64" short
else
	tally_title check-board
	tally_skip board 'under CI or FULL=1 only; make check-board runs all of it'
fi

echo
tally_close
