#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: crowd.sh BUILD_DIR
# Ten thousand connections at once, from one address; and a table that is full, of idle
# clients and of clients that never end their heads: who comes is served.
# What a request costs among so many: make bench B=hostile.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=tests/net/figures.sh
. "${0%/*}/figures.sh"
network
most_kb=16384
mkfifo "$dir/told"

gathers() { # N GAP_MS
	exec 9<> "$dir/told" # does not wait for the other end
	spawn_c "$here/clients/crowd.py" $server4 $port "$1" "$2" "$dir/told" > "$dir/crowd" 2>&1
	crowd=$spawned
	ok "$1 connections are made" soon 60 grep -q "^open $1\$" "$dir/crowd"
}

tell() { # WORD ANSWER: what the crowd says to it, without the word
	echo "$1" >&9
	soon 60 grep -q "^$2 *" "$dir/crowd"
	sed -n "s/^$2 *//p" "$dir/crowd" | tail -n 1
}

open_now() { # HOW MANY
	[ "$(stat_json | jq '[.gauges[].conns] | add')" = "$1" ]
}

scatters() {
	echo end >&9
	wait "$crowd"
	is 'the crowd ends well' "$? $(tail -n 1 "$dir/crowd" | cut -d ' ' -f 1)" '0 closed'
	exec 9>&-
}

served() { # NAME
	is "$1" "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
}

# --- ten thousand ------------------------------------------------------------------
start_saker --max-conns=10100 --idle-timeout=600
empty=$(pss_kb)
from=$(date +%s%N)
gathers 10000 0
note "they came within $((($(date +%s%N) - from) / 1000000)) ms"
ok 'all of them are open at once' soon 5 open_now 10000
served 'one more is served'
idle=$(pss_kb)
is 'each of them asks: so many right answers' "$(tell ask asked)" 10000
served 'and another one is served'
asked=$(pss_kb)
note "PSS: $empty kB without a connection, $idle kB with 10,000, $asked kB when each has asked"
least "at most $most_kb kB, UMEM and maps included" $most_kb "$asked"
listed() {
	[ "$(in_s "$build/saker-stat" conns -i server0 --json | jq '.conns | length')" = 10000 ]
}
ok 'saker-stat lists them' soon 20 listed # the thread shows 128 slots each 50 ms
is 'nobody was turned away' "$(counter 'tcp_table_full + .counters.http_idle_evicted + .counters.http_busy')" 0
scatters
ok 'no slot is taken when they have gone' soon 10 open_now 0
stop_saker

# --- a table full of idle clients ----------------------------------------------------
# 64: the responder looks at so many (EVICT_LOOK), so that it is the oldest of all.
start_saker --max-conns=64 --idle-timeout=600 --header-timeout=2
gathers 64 20
sleep 1 # an idle client is safe for a second (EVICT_IDLE_MS)
for one in 1 2 3 4 5 6 7 8 9 10; do
	served "the table is full: newcomer $one is served"
done
# A newcomer has gone when the next one comes: its slot is free then, or in FIN-WAIT.
evicted=$(counter http_idle_evicted)
least 'idle clients gave way' "$evicted" 1
is 'and they were those that had been idle longest' "$(tell gone gone)" "$(seq -s ' ' 0 $((evicted - 1)))"
is 'each was reset, and nobody else' "$(counter tcp_reset_out)" "$evicted"
scatters
ok 'then it is empty' soon 10 open_now 0
# All at once: 30 who stay while they ask.
gathers 64 20
sleep 1
before=$(counter http_idle_evicted)
ok 'thirty newcomers at once, every answer right' in_c "$here/clients/check.py" $server4 $port 600 30 get
# Some got the place of a connection that was ending anyway.
least 'idle clients gave way' $(($(counter http_idle_evicted) - before)) 20
scatters
ok 'then it is empty again' soon 10 open_now 0

# --- a table full of half heads ---------------------------------------------------------
before=$(counter http_idle_evicted)
gathers 64 0
is 'half a head on each' "$(tell half half)" 64
# They do not close either: each keeps its slot for --header-timeout, then for TCP_LINGER_MS.
from=$(date +%s)
is 'half heads: a newcomer is served, when they have had their time' \
	"$(hash_of --max-time 90 "$url/compute?n=1000")" 0xa06ae7fd
note "after $(($(date +%s) - from)) s"
is 'half heads: they are no idle clients' "$(counter http_idle_evicted)" "$before"
is 'half heads: each is counted' "$(counter http_header_timeouts)" 64
scatters
stop_saker
finish
