#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: hostile.sh BUILD_DIR [ROUNDS]
# What hostile crowds cost those who are served. ROUNDS (7) times by turns; medians.
#   flood    p99 of `total`, from XDP to the TX ring, of 2,000 requests a second on 16
#            connections, with 20,000 SYNs a second of strangers and without
#   crowd    busy time of the I/O thread for each of 4,000 requests a second: on one
#            connection alone; on one among 10,000, the others idle; on 10,000 by turns,
#            where each request costs a frame more: the ACK of its answer comes alone.
#            The least of the rounds: whoever interrupts the thread only adds
#   full     SYNs as fast as one CPU makes them, for 2 s: how long after the last
#            of them a new connection has its answer
# Responder on CPU 1, everybody else on CPU 0. A load that is not served completely
# ends the bench. Raw data: BUILD_DIR/bench/hostile.jsonl
# shellcheck source=tests/net/lib.sh
. "${0%/*}/../net/lib.sh"
# shellcheck source=tests/net/figures.sh
. "${0%/*}/../net/figures.sh"
# shellcheck source=tests/bench/servers.sh
. "${0%/*}/servers.sh"
rounds=${2:-7} crowd=10000
raw=$build/bench/hostile.jsonl

need jq
mkdir -p "$build/bench"
: > "$raw"
"${MAKE:-make}" -s --no-print-directory -C "$here/../.." B="$build" "$build/rate" "$build/flood_tcp" >&2 || exit 1
network
ip -n "$client" link set dev client0 multicast off
# 10,000 ports a time are in TIME-WAIT for a minute.
nsenter --net="/run/netns/$client" sysctl -qw net.ipv4.ip_local_port_range='1024 65535' net.ipv4.tcp_tw_reuse=1

value() { # NAME WHICH VALUE
	jq -nc --arg name "$1" --arg which "$2" --argjson value "$3" --argjson round "$round" '$ARGS.named' >> "$raw"
}

in_full() { # NUMBER: rate.c was served in full
	wait "$1" || die "not all were served: $(cat "$dir/rate")"
}

open_now() { # HOW MANY: those of before are gone, too
	[ "$(stat_json | jq '[.gauges[].conns] | add')" = "$1" ]
}

flood() { # with|without
	[ "$1" = without ] || forge syn --rate=20000 --seconds=4 > "$dir/forged" &
	flooding=$!
	before=$(pss_kb)
	sleep 0.2
	mark
	spawn_c "$build/rate" --rate=2000 --connections=16 --seconds=3 '--path=/compute?n=100' $server4 $port > "$dir/rate"
	in_full "$spawned"
	value flood_p99_total_ns "$1" "$(since .stages.total.p99_ns)"
	value flood_p50_total_ns "$1" "$(since .stages.total.p50_ns)"
	wait "$flooding"
	[ "$1" = without ] || value flood_grown_kb with $(($(pss_kb) - before))
}

# Neither the making of the connections nor their end is in it.
cost() { # NAME CONNECTIONS IDLE_ONES
	soon 30 open_now "$3" || die "not $3 connections before $1"
	spawn_c "$build/rate" --rate=4000 --connections="$2" --seconds=3 '--path=/compute?n=100' $server4 $port > "$dir/rate"
	asking=$spawned
	soon 30 open_now $(($2 + $3)) || die "$2 connections were not made"
	mark
	sleep 1.5
	value crowd_busy_ns "$1" "$(since '.counters.busy_ns / .counters.http_ok')"
	in_full "$asking"
}

among_idle() {
	mkfifo "$dir/told.$round"
	spawn_c "$here/../net/clients/crowd.py" $server4 $port $((crowd - 1)) 0 "$dir/told.$round" > "$dir/crowd"
	idling=$spawned
	exec 9<> "$dir/told.$round"
	cost among_idle 1 $((crowd - 1))
	value crowd_pss_kb among_idle "$(pss_kb)"
	echo end >&9
	wait "$idling"
	exec 9>&-
}

full() {
	sent=$(forge syn --rate=0 --seconds=2 | jq .sent)
	from=$(date +%s%N)
	[ "$(hash_of --max-time 30 "$url/compute?n=1000")" = 0xa06ae7fd ] || die 'not served after the flood'
	value full_recovery_ms flood "$((($(date +%s%N) - from) / 1000000))"
	value full_syns_per_s flood "$((sent / 2))"
}

saker_up --max-conns=10100 --idle-timeout=600
# Every page of the tables has been touched.
forge syn --rate=20000 --seconds=2 > "$dir/forged"
in_c "$build/rate" --rate=2000 --connections=16 --seconds=1 '--path=/compute?n=100' $server4 $port > "$dir/rate"
round=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	echo "round $round of $rounds" >&2
	if [ $((round % 2)) = 1 ]; then
		flood with
		flood without
		cost one 1 0
		among_idle
		cost by_turns $crowd 0
	else
		flood without
		flood with
		cost by_turns $crowd 0
		among_idle
		cost one 1 0
	fi
	full
done
down "$saker"

# Of a ratio: the median of the rounds' own.
echo "$("$build/saker" --version), Linux $(uname -r), $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)"
jq -sr '
def median: sort | if length == 0 then null elif length % 2 == 1 then .[length / 2 | floor]
	else (.[length / 2 - 1] + .[length / 2]) / 2 end;
def two: . * 100 | round / 100;
. as $all
| def of($name; $which): [$all[] | select(.name == $name and .which == $which) | .value];
  def ratio($name; $a; $b): [of($name; $a), of($name; $b)] | transpose | map(.[0] / .[1]) | median | two;
  def figure($text; $name; $which): [$text, (of($name; $which) | median | two), "", ""];
  figure("p99 of total without a flood, ns"; "flood_p99_total_ns"; "without"),
  ["with 20,000 SYNs/s", (of("flood_p99_total_ns"; "with") | median), ratio("flood_p99_total_ns"; "with"; "without"), "<= 2"],
  figure("p50 of total without a flood, ns"; "flood_p50_total_ns"; "without"),
  ["with 20,000 SYNs/s", (of("flood_p50_total_ns"; "with") | median), ratio("flood_p50_total_ns"; "with"; "without"), "-"],
  ["PSS grows by, kB (most)", (of("flood_grown_kb"; "with") | max), "", "<= 64"],
  (("one", "among_idle", "by_turns") as $which | [{one: "a request on one connection, busy ns",
	among_idle: "on one among 10,000", by_turns: "on 10,000 by turns"}[$which],
	(of("crowd_busy_ns"; $which) | min | round),
	((of("crowd_busy_ns"; $which) | min) / (of("crowd_busy_ns"; "one") | min) | two),
	{one: "", among_idle: "<= 1.2", by_turns: "-"}[$which]]),
  ["PSS with 10,000 connections, kB", (of("crowd_pss_kb"; "among_idle") | max), "", "<= 16384"],
  figure("SYNs a second at full speed"; "full_syns_per_s"; "flood"),
  ["then served again after, ms (worst)", (of("full_recovery_ms"; "flood") | max), "", "<= 1000"]
| @tsv' "$raw" | awk -F '\t' '
BEGIN { printf "%-40s %12s %7s  %s\n", "median of rounds", "figure", "ratio", "bar" }
{ printf "%-40s %12s %7s  %s\n", $1, $2, $3, $4 }'
