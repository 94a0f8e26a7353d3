#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: hostile.sh BUILD_DIR [ROUNDS]
# What hostile crowds cost those who are served. ROUNDS (7) times by turns; medians.
#   flood    p99 of `total`, from XDP to the TX ring, of 2,000 requests a second on 16
#            connections, with 20,000 SYNs a second of strangers and without
#   crowd    busy time of the I/O thread for each of 4,000 requests a second: on one
#            connection, whose ACKs ride on its next request; on one among 10,000, the
#            others idle; on one whose ACKs come alone (--quickack); and on 10,000
#            by turns, whose ACKs must come alone, so that the third is what it is
#            compared with: as many frames for each request. The least of all stretches
#            of a quarter of a second, since whoever interrupts the thread only adds;
#            without those in which requests had piled up, whose cost is shared. Then
#            the same of nginx: CPU time of its worker.
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

need jq nginx
mkdir -p "$build/bench"
: > "$raw"
"${MAKE:-make}" -s --no-print-directory -C "$here/../.." B="$build" "$build/saker-load" "$build/flood_tcp" >&2 || exit 1
network
ip -n "$client" link set dev client0 multicast off
# 10,000 ports a time are in TIME-WAIT for a minute.
nsenter --net="/run/netns/$client" sysctl -qw net.ipv4.ip_local_port_range='1024 65535' net.ipv4.tcp_tw_reuse=1

value() { # NAME WHICH VALUE
	jq -nc --arg name "$1" --arg which "$2" --argjson value "$3" --argjson round "$round" '$ARGS.named' >> "$raw"
}

spawn_load() { # PORT REQUESTS_A_SECOND CONNECTIONS SECONDS [OPTIONS]: in the background
	at=$1 rate=$2 conns=$3 seconds=$4
	shift 4
	rm -f "$dir/load"
	spawn_c "$build/saker-load" --spin --rate="$rate" -c "$conns" -d "$seconds" "$@" --warm=0 --floor=0 -q \
		--json="$dir/load" "http://$server4:$at/compute?n=100" 2> "$dir/load.log"
}

served_in_full() { # NUMBER: all of that load, on the connections that it began with
	wait "$1"
	jq -e '.ok == .requests and .ok == .due and .reconnects == 0' "$dir/load" > "$dir/full"
}

how_served() {
	cut -c 1-2000 "$dir/load" "$dir/load.log"
}

in_full() { # NUMBER
	served_in_full "$1" || die "not all were served: $(how_served)"
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
	spawn_load $port 2000 16 3
	in_full "$spawned"
	value flood_p99_total_ns "$1" "$(since .stages.total.p99_ns)"
	value flood_p50_total_ns "$1" "$(since .stages.total.p50_ns)"
	wait "$flooding"
	[ "$1" = without ] || value flood_grown_kb with $(($(pss_kb) - before))
}

# On a wire the client's kernel is on another machine. On a veth it receives within the
# responder's send call, and its delayed ACKs interrupt the responder's CPU, all that with
# 10,000 sockets of its own to miss; unless RPS takes it to the client's CPU.
client_receives_on() { # MASK of CPUs; 0: on the sender's
	ip netns exec "$client" sh -c "echo $1 > /sys/class/net/client0/queues/rx-0/rps_cpus" ||
		die 'no RPS (CONFIG_RPS)'
}

ask_4000() { # PORT CONNECTIONS [OPTIONS]: times a second, in the background
	asked_port=$1 asking_on=$2
	shift 2
	spawn_load "$asked_port" 4000 "$asking_on" 3 "$@"
	asking=$spawned
}

# Neither the making of the connections nor their end is in it.
cost() { # NAME CONNECTIONS IDLE_ONES [OPTIONS]
	name=$1 more=$2 idle=$3
	shift 3
	soon 30 open_now "$idle" || die "not $idle connections before $name"
	ask_4000 $port "$more" "$@"
	soon 30 open_now $((more + idle)) || die "$more connections were not made"
	sleep 0.25
	for _ in 1 2 3 4 5; do
		mark
		sleep 0.25
		since '.counters | select(.http_ok > 900 and .tx_kicks > 0.97 * .http_ok) |
			"\(.busy_ns / .http_ok) \(.rx_frames / .http_ok)"' > "$dir/stretch"
		while read -r busy frames; do
			value crowd_busy_ns "$name" "$busy"
			value crowd_frames "$name" "$frames"
		done < "$dir/stretch"
	done
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

nginx_open() { # HOW MANY
	[ "$(in_s ss -Htn state established "sport = :$nginx_port" | wc -l)" = "$1" ]
}

nginx_ns() { # of CPU time, of its worker, and the clock
	echo "$(cut -d ' ' -f 1 "/proc/$(ps -o pid= --ppid "$nginx" | tr -d ' ')/schedstat") $(date +%s%N)"
}

# Killed hard, as by lib.sh, it would leave its worker behind.
nginx_die() {
	down "$nginx"
	die "$*"
}

cost_nginx() { # NAME CONNECTIONS [OPTIONS]
	name=$1 more=$2
	shift 2
	soon 30 nginx_open 0 || nginx_die "nginx has connections before $name"
	ask_4000 $nginx_port "$more" "$@"
	soon 30 nginx_open "$more" || nginx_die "$more connections to nginx were not made"
	sleep 0.25
	for _ in 1 2 3 4 5; do
		before=$(nginx_ns)
		sleep 0.25
		value nginx_cpu_ns "$name" "$(echo "$before $(nginx_ns)" |
			awk '{ printf "%.0f", ($3 - $1) / (($4 - $2) / 1e9 * 4000) }')"
	done
	served_in_full "$asking" || nginx_die "not all were served by nginx: $(how_served)"
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
spawn_load $port 2000 16 1
in_full "$spawned"
round=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	echo "round $round of $rounds" >&2
	if [ $((round % 2)) = 1 ]; then
		flood with
		flood without
		client_receives_on 1
		cost one 1 0
		among_idle
		cost acks_alone 1 0 --quickack
		cost by_turns $crowd 0
	else
		flood without
		flood with
		client_receives_on 1
		cost by_turns $crowd 0
		cost acks_alone 1 0 --quickack
		among_idle
		cost one 1 0
	fi
	client_receives_on 0
	full
done
nginx_conf "$(ask "$url/compute?n=100")"
down "$saker"
sed -i 's/events { }/worker_rlimit_nofile 30000; events { worker_connections 20000; }/' "$dir/nginx/conf"
client_receives_on 1
nginx_up
round=0
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	echo "nginx, round $round of $rounds" >&2
	cost_nginx one 1
	cost_nginx acks_alone 1 --quickack
	cost_nginx by_turns $crowd
done
down "$nginx"

# Of a ratio: the median of the rounds' own, of the crowd that of the least.
echo "$("$build/saker" --version), Linux $(uname -r), $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)"
jq -sr '
def median: sort | if length == 0 then null elif length % 2 == 1 then .[length / 2 | floor]
	else (.[length / 2 - 1] + .[length / 2]) / 2 end;
def two: . * 100 | round / 100;
. as $all
| def of($name; $which): [$all[] | select(.name == $name and .which == $which) | .value];
  def ratio($name; $a; $b): [of($name; $a), of($name; $b)] | transpose | map(.[0] / .[1]) | median | two;
  def low($name; $which): (of($name; $which) | min) // error("\($name), \($which): interrupted each time");
  def least($text; $name; $which): [$text, (low($name; $which) | round), "", ""];
  def to($text; $name; $which; $base; $bar): [$text, (low($name; $which) | round),
	(low($name; $which) / low($name; $base) | two), $bar];
  def figure($text; $name; $which): [$text, (of($name; $which) | median | two), "", ""];
  figure("p99 of total without a flood, ns"; "flood_p99_total_ns"; "without"),
  ["with 20,000 SYNs/s", (of("flood_p99_total_ns"; "with") | median), ratio("flood_p99_total_ns"; "with"; "without"), "<= 2"],
  figure("p50 of total without a flood, ns"; "flood_p50_total_ns"; "without"),
  ["with 20,000 SYNs/s", (of("flood_p50_total_ns"; "with") | median), ratio("flood_p50_total_ns"; "with"; "without"), "-"],
  ["PSS grows by, kB (most)", (of("flood_grown_kb"; "with") | max), "", "<= 64"],
  least("a request on one connection, busy ns"; "crowd_busy_ns"; "one"),
  to("on one among 10,000"; "crowd_busy_ns"; "among_idle"; "one"; "<= 1.2"),
  to("on one whose ACKs come alone"; "crowd_busy_ns"; "acks_alone"; "one"; "-"),
  to("on 10,000 by turns, to that"; "crowd_busy_ns"; "by_turns"; "acks_alone"; "<= 1.2"),
  to("the same, to one whose ACKs ride along"; "crowd_busy_ns"; "by_turns"; "one"; "-"),
  figure("frames in for a request, ACKs alone"; "crowd_frames"; "acks_alone"),
  figure("by turns"; "crowd_frames"; "by_turns"),
  least("nginx, one connection, CPU ns"; "nginx_cpu_ns"; "one"),
  to("on one whose ACKs come alone"; "nginx_cpu_ns"; "acks_alone"; "one"; "-"),
  to("on 10,000 by turns, to that"; "nginx_cpu_ns"; "by_turns"; "acks_alone"; "-"),
  to("the same, to one whose ACKs ride along"; "nginx_cpu_ns"; "by_turns"; "one"; "-"),
  ["PSS with 10,000 connections, kB", (of("crowd_pss_kb"; "among_idle") | max), "", "<= 16384"],
  figure("SYNs a second at full speed"; "full_syns_per_s"; "flood"),
  ["then served again after, ms (worst)", (of("full_recovery_ms"; "flood") | max), "", "<= 1000"]
| @tsv' "$raw" | awk -F '\t' '
BEGIN { printf "%-40s %12s %7s  %s\n", "median of rounds", "figure", "ratio", "bar" }
{ printf "%-40s %12s %7s  %s\n", $1, $2, $3, $4 }'
