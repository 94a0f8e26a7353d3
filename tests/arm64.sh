#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: arm64.sh [BUILD_DIR]
# Builds the pure middle and its tests for the Raspberry Pi's architecture, and
# runs them under qemu-user. This shows alignment, char signedness and word
# size; it cannot show memory order.

cd "${0%/*}/.." || exit 1
build=${1:-build/aarch64-linux-gnu}

cannot() { # REASON
	. tests/tally.sh
	tally_open "$build/tap"
	tally_skip arm64 "$1"
	tally_close
	exit
}

[ "$(uname -m)" != aarch64 ] || cannot 'this machine is arm64: check-pure runs the same tests'
for tool in aarch64-linux-gnu-gcc qemu-aarch64; do
	command -v $tool > /dev/null || cannot "no $tool: FULL=1 tools/deps install"
done

targets=$build/wire
for source in tests/unit/test_*.c tests/fuzz/fuzz_*.c; do
	name=${source##*/}
	targets="$targets $build/${name%.c}"
done
# Static: there is no arm64 C library to load at run time. By the environment,
# so that the Makefile's own LDFLAGS are added to it.
# shellcheck disable=SC2086 # words
LDFLAGS=-static "${MAKE:-make}" -s --no-print-directory -j"$(nproc)" CROSS_COMPILE=aarch64-linux-gnu- \
	B="$build" SAN= $targets || exit 1

RUN=qemu-aarch64 exec tests/pure.sh "$build"
