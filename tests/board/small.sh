#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: small.sh BUILD_DIR
# On a board with little memory: at default settings it starts and serves, many
# connections at once, and nobody is killed for want of memory.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/../net/lib.sh"

free_mib() {
	awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo
}

network
before=$(free_mib)
start_saker
is 'it answers' "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
is 'over AF_XDP' "$(counter sock_accepted)" 0
in_c ab -q -l -k -n 2000 -c 64 "$url/compute?n=1000" > "$dir/ab" 2>&1
is '64 connections at once' "$(sed -n 's/^Complete requests: *//p; s/^Failed requests: *//p' "$dir/ab" | tr '\n' ' ')" \
	'2000 0 '
note "free: $before MiB before, $(free_mib) MiB while it serves"
for one in "$saker" $(pgrep -P "$saker"); do
	awk -v name="$(cat "/proc/$one/comm")" '/^(Pss|Rss):/ { line = line " " $1 " " $2 " kB" }
		END { print name line }' "/proc/$one/smaps_rollup" | note
done
stop_saker
is 'the kernel killed nobody for want of memory' "$(awk '/^oom_kill / { print $2 }' /proc/vmstat)" 0
finish
