#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: memory.sh BUILD_DIR
# What it takes: at the defaults no more than 4 MB (sum of PSS of both processes, UMEM and
# maps included), idle and behind a load, on each rung; and with --memory no more than was
# said, within a tenth of the forecast, when all tables are full.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=tests/net/figures.sh
. "${0%/*}/figures.sh"

if nm -D "$build/saker" | grep -q __asan_init; then
	echo '1..0 # SKIP the sanitizers take memory of their own'
	exit 0
fi
network
default_kb=4096

most() { # NAME KB MOST
	if [ "$2" -gt 0 ] && [ "$2" -le "$3" ]; then pass "$1"; else
		fail "$1" "$2 kB"
		for one in $(family); do
			awk -v name="$(cat "/proc/$one/comm")" '
				/^[0-9a-f]+-/ { of = $6 == "" ? "anonymous" : $6 }
				$1 == "Pss:" { kb[of] += $2 }
				END { for (of in kb) if (kb[of] >= 8) print name ": " kb[of] " kB " of }' "/proc/$one/smaps"
		done | note
	fi
}

# --- the defaults ---------------------------------------------------------------------
has ab 'all of it' || finish
for rung in xdp-native xdp-generic packet socket; do
	if ! "$build/saker" --help | grep -q "$rung"; then
		skip "there is no such rung in this build" "$rung: at most $default_kb kB"
		continue
	fi
	start_saker --io=$rung
	sleep 1.5 # a summary was made
	idle=$(pss_kb)
	most "$rung: idle it takes at most $default_kb kB" "$idle" $default_kb
	ok "$rung: 64 connections ask" in_c ab -q -k -n 4000 -c 64 "$url/compute?n=1000"
	sleep 1.5
	behind=$(pss_kb)
	most "$rung: and at most $default_kb kB behind 4,000 requests on 64 connections" "$behind" $default_kb
	note "$rung: sum of PSS: $idle kB idle, $behind kB behind the load"
	stop_saker
done

# --- a budget ---------------------------------------------------------------------------
gathers() { # NAME IN N WORD: so many connections that stay, and do that
	mkfifo "$dir/told-$1"
	eval "exec $3<> \"$dir/told-$1\""
	"$2" "$here/clients/crowd.py" $server4 $port "$4" 0 "$dir/told-$1" > "$dir/crowd-$1" 2>&1
	ok "$1: $4 connections are made" soon 60 grep -q "^open $4\$" "$dir/crowd-$1"
	echo "$5" >&"$3"
	ok "$1: $5 on each" soon 60 grep -q "^$5 $4\$" "$dir/crowd-$1"
}

full() { # SIZE_KB OPTIONS...
	size=$1
	shift
	start_saker --memory="${size}K" --header-timeout=600 --body-timeout=600 --idle-timeout=600 "$@"
	forecast=$(sed -n 's/.*TIME-WAIT records; \([0-9]*\)K.*/\1/p' "$dir/log")
	conns=$(mode max_conns)
	note "$(grep -- --memory= "$dir/log")"
	# TIME-WAIT records and hints of SYNs by new connections; cache and log by results
	# that are not there yet.
	ok "--memory=${size}K $*: 5,000 connections, one after another" \
		in_c ab -q -n 5000 -c 8 "$url/compute?n=1000"
	ok "--memory=${size}K $*: 20,000 different requests" \
		in_c curl -sS -o /dev/null "$url/compute?n=1&seed=[1-20000]"
	gathers frames spawn_c 8 "$conns" fill
	gathers sockets spawn_s 9 250 half # the kernel's: from its own namespace
	sleep 1.5
	taken=$(pss_kb)
	most "--memory=${size}K $*: full, it takes no more" "$taken" "$size"
	least "--memory=${size}K $*: and the forecast, $forecast kB, is at most a tenth too high" "$taken" $((forecast * 9 / 10))
	note "sum of PSS: $taken kB with $conns connections full; forecast $forecast kB"
	is 'nobody was turned away' "$(counter 'tcp_table_full + .counters.sock_refused')" 0
	echo end >&8
	echo end >&9
	exec 8>&- 9>&-
	rm "$dir"/told-* "$dir"/crowd-*
	stop_saker
}

full 8192
! "$build/saker" --help | grep -q packet || full 8192 --io=packet
full 16384 --access-log="$dir/access" --cache=20000
finish
