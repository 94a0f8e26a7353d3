#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: arm64.sh [BUILD_DIR]
# Builds everything for the Raspberry Pi's architecture, and runs under qemu-user what is
# logic alone: the pure middle, its lane bodies in NEON, and the edge's parts that ask no
# kernel. This shows alignment, char signedness, word size and the size of a page; it
# cannot show memory order. tests/board has what needs the kernel.

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
for tool in aarch64-linux-gnu-gcc qemu-aarch64 apt-get; do
	command -v $tool > /dev/null || cannot "no $tool: FULL=1 tools/deps install"
done

targets="all $build/wire"
for source in tests/unit/test_*.c tests/edge/test_*.c tests/fuzz/fuzz_*.c; do
	name=${source##*/}
	targets="$targets $build/${name%.c}"
done
# shellcheck disable=SC2086 # words
"${MAKE:-make}" -s --no-print-directory -j"$(nproc)" ARCH=arm64 B="$build" SAN= $targets || exit 1

# The Pi 5's core, and a page of its kernel's size where this QEMU knows how.
run='qemu-aarch64 -cpu cortex-a76 -L build/sysroot-arm64'
if warning=$($run -p 16384 "$build/saker" --version 2>&1 > /dev/null) && [ -z "$warning" ]; then
	run="$run -p 16384"
fi
RUN=$run exec tests/pure.sh "$build"
