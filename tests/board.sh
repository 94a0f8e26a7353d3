#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: board.sh BUILD_DIR [PARTS...]
# Boots an emulated board (four Cortex-A76, Debian's arm64 kernel with 16 KiB pages, a disk
# from packages) and runs the parts of tests/board/inside.sh on it; `short`: one, for make
# check. BUILD_DIR is where `make ARCH=arm64` builds.
#
# It shows what the kernel of that architecture does with us: verifier, JIT, AF_XDP, the
# size of a page. It cannot show speed, caches, the Pi's network card, or memory order.
#
# Where the packages cannot be had it is a skip by name, under CI or FULL=1 a failure. A
# board that panics, hangs or says nothing fails. With times: build/board/transcript.

build=$1
shift
cd "${0%/*}/.." || exit 1
. tests/tally.sh
dir=build/board
parts='basic logic native generic packet rungs virtio small'
# shellcheck disable=SC2086 # words
[ $# != 0 ] || set -- $parts
[ "$*" != short ] || set -- basic

run_parts() {
	tally_open "$dir/tap"
	echo "board: $(date -u '+%Y-%m-%d %H:%M'), $(git describe --tags --always --dirty 2> /dev/null)," \
		"$(nproc) CPUs here, load $(cut -d' ' -f1 /proc/loadavg)"
	if prepare; then
		for part; do
			one "$part"
		done
	fi
	echo "board: $(($(date +%s) - began)) s in all"
	tally_close
}

cannot() { # REASON
	if [ -n "$CI$FULL" ]; then
		broken "$1"
	else
		tally_skip board "the emulated board: $1"
		return 1
	fi
}

broken() { # REASON
	tally_run board printf 'not ok 1 - the emulated board: %s\n1..1\n' "$1"
	return 1
}

prepare() {
	for tool in aarch64-linux-gnu-gcc qemu-system-aarch64 apt-get depmod cpio mke2fs xz; do
		command -v $tool > /dev/null || cannot "no $tool: FULL=1 tools/deps install" || return
	done
	lap
	# shellcheck disable=SC2046 # words
	"${MAKE:-make}" -s --no-print-directory -j"$(nproc)" ARCH=arm64 B="$build" SAN= all board-tests \
		> "$dir/build.log" || broken 'make ARCH=arm64 all board-tests' || return
	lap 'cross build'
	tests/board/root.sh "$dir" || cannot 'no packages for its disk: the lines above say why' || return
	lap 'its disk'
}

lap() { # [WHAT]
	[ $# = 0 ] || printf '  %-24s %47d s\n' "$1" $(($(date +%s) - lap_at))
	lap_at=$(date +%s)
}

# Two CPUs, as many as a machine for tests has: more would wait for each other. The Pi's
# four where little memory is the point, which each CPU takes of.
one() { # PART
	smp=2 mem=1024 more=
	case $1 in
	small) smp=4 mem=128 ;;
	virtio)
		for nic in 0 1; do
			more="$more -netdev hubport,id=hub$nic,hubid=0
				-device virtio-net-pci,netdev=hub$nic,mac=52:54:00:00:00:0$nic,romfile="
		done
		;;
	esac
	SMP=$smp MEM=$mem LIMIT=${LIMIT:-600} QEMU_MORE=$more tally_run "$1" \
		tests/board/boot.sh "$dir" "$dir/$1.console" tests/board/inside.sh "$build" "$1"
	sed -n 's/^# time /    /p' "$dir/tap/$1.tap"
}

began=$(date +%s)
mkdir -p "$dir" || exit 1
# The status of the run, not of tee.
{
	run_parts "$@"
	echo $? > "$dir/status"
} | tee "$dir/transcript"
exit "$(cat "$dir/status")"
