#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: pure.sh BUILD_DIR
# The tests that need no root and no network, already built: units, the edge's
# refusals, wire scripts in virtual time, fuzz corpora, the command line.
# RUN: an emulator of another processor with its arguments, for what is logic alone.

# shellcheck disable=SC2086 # $RUN is words

build=$1
cd "${0%/*}/.." || exit 1
. tests/tally.sh
tally_open "$build/tap"

for source in tests/unit/test_*.c; do
	name=${source##*/}
	name=${name%.c}
	tally_run "$name" $RUN "$build/$name"
done

for source in tests/edge/test_*.c; do
	name=${source##*/}
	name=${name%.c}
	case $RUN:$name in
	?*:test_jail | ?*:test_ring_setup | ?*:test_probe_perf) ;; # ask the kernel: tests/board
	*) tally_run "$name" $RUN "$build/$name" ;;
	esac
done

tally_run wire $RUN "$build/wire" tests/wire/scripts/*.pkt
tally_run wire_reborn $RUN "$build/wire" --device=reborn tests/wire/scripts/*.pkt

for source in tests/fuzz/fuzz_*.c; do
	name=${source##*/}
	name=${name%.c}
	tally_status "$name" $RUN "$build/$name" "tests/fuzz/corpus/${name#fuzz_}"
done

if [ -n "$RUN" ]; then
	: # the parser is the same: Node's word on it once is enough
elif command -v node > /dev/null; then
	tally_run diff_node node tests/fuzz/diff_node.js "$build/http_oracle"
else
	tally_skip diff_node "no node: our parser against Node's"
fi

if [ -n "$RUN" ]; then
	: # the edge is not built for the emulator
elif [ -x "$build/saker" ]; then
	tally_run conf tests/conf.sh "$build"
else
	tally_skip conf "$build/saker is not built: run make first"
fi

[ -n "$RUN" ] || tally_run probe tests/probe/probe.sh "$build"
[ -n "$RUN" ] || tally_run doctor tests/doctor/doctor.sh "$build"
[ -n "$RUN" ] || tally_run doctor_fix tests/doctor/fix.sh "$build"
[ -n "$RUN" ] || tally_run load_options tests/load_options.sh "$build"
[ -n "$RUN" ] || tally_run failure_modes tests/failure_modes.sh
if [ -n "$RUN" ]; then
	:
elif command -v python3 > /dev/null; then
	tally_run troubleshooting tests/troubleshooting.py
else
	tally_skip troubleshooting 'no python3: docs/troubleshooting.md against the source'
fi

if [ -n "$RUN" ]; then
	:
elif [ "${build%-san}" != "$build" ] && command -v python3 > /dev/null; then
	# Python is Python, however the rest was compiled: what it starts is not.
	tally_run lab env BUILD="$build" tests/lab/run.py measures
elif command -v python3 > /dev/null; then
	tally_run lab env BUILD="$build" tests/lab/run.py
	tally_run look tests/lab/look.sh
else
	tally_skip lab 'no python3: the lab'
fi

tally_close
