# shellcheck shell=sh disable=SC2154
# SPDX-License-Identifier: GPL-2.0-only
# figures.sh - what the responder takes, and what it did between two moments
#
# Place    Sourced behind lib.sh by scripts that state figures.
# Memory   PSS of the responder and of all its children: the proportional share of
#          each page, UMEM and maps included.

family() { # the responder's process, and those that it forked
	echo "$saker"
	ps -o pid= --ppid "$saker"
}

pss_kb() {
	for one in $(family); do
		cat "/proc/$one/smaps_rollup"
	done 2> /dev/null | awk '$1 == "Pss:" { kb += $2 } END { print kb + 0 }'
}

# From here on `since` has what was added.
mark() {
	in_s "$build/saker-stat" -i server0 --save="$dir/mark"
}

since() { # FILTER, on .counters and .stages
	in_s "$build/saker-stat" -i server0 --json --since="$dir/mark" | jq -r ".since | $1"
}

ratio() { # NUMBER NUMBER
	awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.2f\n", a / b; else print "-" }'
}

# The load of those who are served meanwhile: REQUESTS a second on 16 connections, every
# hash compared. In the background, `load_ends` waits for it; what it found is in $dir/load.
load_starts() { # REQUESTS SECONDS
	rm -f "$dir/load"
	spawn_c "$build/saker-load" --rate="$1" --seconds="$2" --warm=0 --floor=0 -c 16 -q --json="$dir/load" \
		"$url/compute?n=100" 2> "$dir/load.log"
	load=$spawned
}

load_ends() { # NAME
	wait "$load"
	is "$1: every request of 16 live connections is answered, every hash right" \
		"$(jq -c '[.wrong, .reconnects, .ok == .requests and .ok == .due]' "$dir/load")" '[0,0,true]'
}

# Segments of nobody, or in the name of others: flood_tcp.c.
forge() { # OPTIONS KIND
	forge_kind=$1
	shift
	in_c "$build/flood_tcp" "$@" client0 $server_mac $server4 $port "$forge_kind"
}
