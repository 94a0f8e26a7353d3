#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: crowd.sh BUILD_DIR
# A request in the pure middle, on one connection and on 10,000 by turns: its time, and what
# valgrind counts of it: instructions, and cache misses with a first level of 48 KiB and a
# second of 2 MiB (Sapphire Rapids), then of 64 and 512 KiB (Cortex-A76). Prefetches do not
# count there: what they gain is in the times alone.
build=$1 requests=20000

"$build/bench_crowd" || exit 1
command -v valgrind > /dev/null || { echo 'misses: no valgrind, not counted'; exit 0; }
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT

count() { # CASE D1 LL
	valgrind --tool=callgrind --cache-sim=yes --I1=65536,4,64 --D1="$2" --LL="$3" \
		--collect-atstart=no --toggle-collect=turn_measured --callgrind-out-file="$dir/out" \
		"$build/bench_crowd" "$1" $requests > "$dir/log" 2>&1 || { cat "$dir/log" >&2; exit 1; }
	# events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
	awk -v name="$1" -v n=$requests '/Collected/ {
		printf "%-40s %9.0f %9.1f %9.1f\n", name, $4 / n, ($8 + $9) / n, ($11 + $12) / n }' "$dir/log"
}

for caches in '49152,12,64 2097152,16,64' '65536,4,64 524288,8,64'; do
	printf '%-40s %9s %9s %9s\n' "D1 and L2 of $caches" instr D1 L2
	for one in rides alone crowd; do
		# shellcheck disable=SC2086 # two words
		count $one $caches || exit 1
	done
done
