#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: path.sh BUILD_DIR [ROUNDS [SECONDS]]
# What sharing its port costs a web server: wrk on `/` of nginx, with
#   path   the responder beside it, --steer=path, idle
#   pass   an empty XDP program attached: a veth pays for any
#   none   no program
# on 8 connections that stay open (keep), and with a connection for each request (open).
# By turns, the first of a round another one each time; ROUNDS (5) of SECONDS (2) each.
# The ratios are medians of those of the rounds. Raw: BUILD_DIR/bench/path.jsonl
#
# nginx has CPU 1, wrk CPU 0, where the program runs as well: a veth's receiver does on the
# sender's CPU. The responder's I/O thread, which never sleeps, is on CPU 0
# too, under SCHED_IDLE, and so is a loop of a shell in the other two cases: CPU 0 is never
# idle, and who wakes up there waits for nobody. --stall-ms is long, so that the program
# goes on deciding; that it did is asked of the counters. Nobody keeps TIME-WAITs:
# a port with one has connections without a cookie, and wrk runs out of ports.
# `spare` is the share of CPU 0 that was left for the thread or the loop: where it is much,
# nginx's CPU is the bottleneck, and what the program takes on CPU 0 is in it, not in the rate.
# `foreign` is what others had, in hundredths of a CPU; nginx and wrk have nice -20, but what is
# much more than in a quiet run makes the figures worth nothing.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/../net/lib.sh"
# shellcheck source=tests/net/path_lib.sh
. "${0%/*}/../net/path_lib.sh"
# shellcheck source=tests/bench/servers.sh
. "${0%/*}/servers.sh"
rounds=${2:-5} seconds=${3:-2}
raw=$build/bench/path.jsonl

need nginx wrk jq chrt
trap 'stop_nginx; clear_up' EXIT
mkdir -p "$build/bench"
: > "$raw"
server_cpu=0 nginx_cpu=1 nginx_workers=1
# shellcheck disable=SC2119 # one queue
network
in_s sysctl -qw net.ipv4.tcp_max_tw_buckets=0
in_c sysctl -qw net.ipv4.tcp_max_tw_buckets=0 net.ipv4.ip_local_port_range='1024 65535'
# shellcheck disable=SC2119
start_nginx
# shellcheck disable=SC2046 # words
renice -n -20 -p "$nginx" $(pgrep -P "$nginx") > /dev/null || die 'nginx keeps its priority'

# Ticks of 10 ms that processes have had.
ticks() { # NUMBERS...
	for one; do
		sed 's/.*) //' "/proc/$one/stat"
	done | awk '{ ticks += $12 + $13 } END { print ticks }'
}

# Ticks of the machine that were neither of nginx, of $spinners, nor of children of ours.
foreign() {
	# shellcheck disable=SC2046,SC2086 # words
	foreign_ours=$(ticks $spinners "$nginx" $(pgrep -P "$nginx"))
	sed 's/.*) //' /proc/$$/stat | awk -v ours="$foreign_ours" '
	FNR == NR && FILENAME == "-" { ours += $14 + $15; next }
	$1 == "cpu" { print $2 + $3 + $4 + $9 - ours; exit }' - /proc/stat
}

load() { # CASE KIND WRK_ARGUMENTS...
	load_case=$1 load_kind=$2
	shift 2
	load_foreign=$(foreign)
	# shellcheck disable=SC2086 # words
	load_spun=$(ticks $spinners)
	in_c nice -n -20 wrk -t1 -c8 -d"${seconds}s" "$@" "$url/" > "$dir/wrk" || die "wrk: $(cat "$dir/wrk")"
	# shellcheck disable=SC2086
	load_spun=$(($(ticks $spinners) - load_spun))
	load_foreign=$(($(foreign) - load_foreign))
	grep -E 'Socket errors|Non-2xx' "$dir/wrk" && die "$load_case: not all were answered"
	jq -nc --arg case "$load_case" --arg kind "$load_kind" --argjson round $round \
		--argjson spare "$((load_spun / seconds))" --argjson foreign "$((load_foreign / seconds))" \
		--argjson rate "$(awk '$1 == "Requests/sec:" { print $2 }' "$dir/wrk")" '$ARGS.named' >> "$raw"
}

both() { # CASE
	load "$1" keep
	load "$1" open -H 'Connection: close'
}

path() {
	start_path --stall-ms=60000
	spinners="$saker $(pgrep -P "$saker")"
	for one in $spinners; do
		chrt -a -i -p 0 "$one" || die 'no SCHED_IDLE'
	done
	both path
	[ "$(counter 'xdp_pass_stalled + .counters.xdp_pass_unready')" = 0 ] || die 'the program let all pass'
	[ "$(counter xdp_pass_request)" -gt 1000 ] || die 'the program did not decide'
	down "$saker"
}

beside_a_loop() { # CASE
	spawn_c chrt -i 0 sh -c 'while :; do :; done'
	spinners=$spawned
	both "$1"
	kill "$spinners"
	{ wait "$spinners"; } 2> /dev/null
}

pass() {
	ip -n "$server" link set dev server0 xdpdrv object "$build/pass.bpf.o" section xdp program foreign_pass ||
		die 'no program attached'
	beside_a_loop pass
	ip -n "$server" link set dev server0 xdpdrv off
}

none() {
	xdp_program > /dev/null && die 'a program is attached'
	beside_a_loop none
}

round=0 order='path pass none'
while [ $round -lt "$rounds" ]; do
	round=$((round + 1))
	echo "round $round of $rounds" >&2
	for which in $order; do
		$which
	done
	order="${order#* } ${order%% *}"
done

jq -rs '
def median: sort | .[length / 2 | floor];
def two: . * 1000 | round / 1000;
def of($case; f): map(select(.case == $case) | f) | median | round;
def ratio($a; $b): [group_by(.round)[] | (map({key: .case, value: .rate}) | from_entries) | .[$a] / .[$b]]
	| "\(median | two) (\(min | two)-\(max | two))";
group_by(.kind)[] | ["path", "pass", "none"] as $cases
| [.[0].kind, of($cases[]; .rate), ratio("path"; "pass"), ratio("path"; "none"), ratio("pass"; "none"),
	"\([of($cases[]; .spare)] | join(" "))", "\([of($cases[]; .foreign)] | join(" "))"] | @tsv' "$raw" | awk -F '\t' '
BEGIN {
	form = "%-5s %8s %8s %8s  %-20s %-20s %-20s  %-11s %s\n"
	printf form, "", "path", "pass", "none", "path/pass", "path/none", "pass/none", "spare %", "foreign %"
}
{ printf form, $1, $2, $3, $4, $5, $6, $7, $8, $9 }
$1 == "keep" { split($5, ratio, " "); last = "bar of keep, path/pass >= 0.9: " (ratio[1] >= 0.9 ? "met" : "missed") }
END { print last }'
