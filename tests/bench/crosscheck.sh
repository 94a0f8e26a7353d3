#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: crosscheck.sh BUILD_DIR [stop|steady]
# saker-load beside generators that others wrote, against one nginx on the veth: nginx on
# CPU 1, the generators on CPU 0. What is compared, each with what it can do:
#
#   stop     nginx stands still for 1 s while both generators ask 200 times a second:
#            mean and p99 by arithmetic (1 %); httperf, whose mean is right (5 %); wrk2,
#            whose p99 is (1 ms)
#   steady   200 and 5,000 a second, by turns, the least of 8 rounds, since who interrupts
#            only adds: httperf's mean, a connection each, from the call that connects (5 %,
#            or half of the 0.1 ms that it prints); h2load's log of each request against
#            `service`, on one connection, since h2load's have all the same beat (5 % or
#            10 us at p50 and p90; at 5,000 a second, where it is carried, p99)
#
# A stop begins somewhere between two requests, for each generator elsewhere, and p99 is as
# much less. The maximum is, too; so to p99 is added what the maximum lacks of the stop.
# wrk2 calibrates itself for 10 s and forgets them: both get 30 s, ours 10 of warm-up.
# wrk2 is not packaged: in PATH or $WRK2, else its row is skipped by name.
# Raw data: BUILD_DIR/bench/crosscheck.jsonl; figures once seen: docs/saker-load-crosscheck.md
# shellcheck source=tests/net/lib.sh
. "${0%/*}/../net/lib.sh"
# shellcheck source=tests/bench/servers.sh
. "${0%/*}/servers.sh"
parts=${2:-stop steady}
raw=$build/bench/crosscheck.jsonl
wrk2=${WRK2:-$(command -v wrk2)}

need jq nginx httperf h2load chrt
mkdir -p "$build/bench"
: > "$raw"
# shellcheck disable=SC2119 # one queue
network
nsenter --net="/run/netns/$client" sysctl -qw net.ipv4.ip_local_port_range='1024 65535' net.ipv4.tcp_tw_reuse=1
nginx_conf '{"alg":"fnv1a32","n":0,"seed":"0x811c9dc5","hash":"0x811c9dc5","compute_ns":0}'
nginx_up
nginx_worker=$(pgrep -P "$nginx")
target="http://$server4:$nginx_port/compute?n=0"
# Who sleeps may go first, so that no neighbour is in what is compared; httperf never sleeps.
for one in $nginx $nginx_worker; do chrt -f -p 10 "$one"; done
first='chrt -f 10'

note_raw() { # PART RATE ROUND TOOL JSON
	jq -nc --arg part "$1" --argjson rate "$2" --argjson round "$3" --arg tool "$4" --argjson value "$5" \
		'$ARGS.named' >> "$raw"
}

# Figures of saker-load in ns: mean of the latency, and all that the rows want.
ours() { # PART RATE ROUND TOOL FILE
	note_raw "$1" "$2" "$3" "$4" "$(jq -c '{ok, valid, requests, mean: .latency.mean, p50: .latency.p50, p99: .latency.p99,
		max: .latency.max, service: (.service | {p50, p90, p99}),
		mean_from_connect: (if .connect then .connect.mean + .service.mean else null end)}' "$5")"
}

# --- what the others say, in ns --------------------------------------------------------------
# Connection time: from the call that connects to the end of the answer.
httperf_run() { # RATE SECONDS OUTPUT
	in_c httperf --hog --server $server4 --port $nginx_port --uri '/compute?n=0' --rate "$1" \
		--num-conns $(($1 * $2)) --num-calls 1 --timeout 20 > "$3" 2>&1
}

httperf_figures() { # OUTPUT
	awk '/^Connection time \[ms\]: min/ { printf "{\"mean\": %.0f, \"max\": %.0f", $7 * 1e6, $9 * 1e6 }
		/^Total: connections/ { asked = $3 }
		/^Reply status:/ { split($4, ok, "="); printf ", \"ok\": %d", ok[2] }
		END { printf ", \"requests\": %d}\n", asked }' "$1"
}

# Microseconds, the third column of its log.
h2load_figures() { # LOG
	awk '$2 == 200 { print $3 }' "$1" | sort -n | awk '
		function at(p) { i = int(NR * p); if (i < NR * p) i++; return v[i] * 1e3 }
		{ v[NR] = $1 }
		END { printf "{\"ok\": %d, \"p50\": %d, \"p90\": %d, \"p99\": %d}\n", NR, at(0.5), at(0.9), at(0.99) }'
}

wrk2_figures() { # OUTPUT
	awk 'function ns(t) { u = t; sub(/[0-9.]+/, "", u); return t * (u == "us" ? 1e3 : u == "ms" ? 1e6 : 1e9) }
		/ 99.000%/ { p99 = ns($2) }
		/^#\[Max / { max = $3 * 1e6; ok = $7 }
		END { printf "{\"p99\": %.0f, \"max\": %.0f, \"ok\": %d}\n", p99, max, ok }' "$1"
}

# --- stop ------------------------------------------------------------------------------------
stop_nginx() { # SECONDS: into $stopped
	sleep "$1"
	stopped=$("$here/../net/clients/pause.py" 1 "$nginx_worker")
}

# The two at once, so that it is the same stop.
stop_httperf() { # ROUND
	# shellcheck disable=SC2086 # words
	spawn_c $first "$build/saker-load" --floor=0 --warm=0 -d 10 -r 200 --new -c 512 -q --json="$dir/ours" "$target"
	one=$spawned
	httperf_run 200 10 "$dir/httperf" &
	other=$!
	stop_nginx 5
	wait "$one" "$other"
	ours stop 200 "$1" saker-load-new "$dir/ours"
	note_raw stop 200 "$1" httperf "$(httperf_figures "$dir/httperf")"
	note_raw stop 200 "$1" stopped-httperf "$stopped"
}

stop_wrk2() { # ROUND
	# shellcheck disable=SC2086 # words
	spawn_c $first "$build/saker-load" --floor=0 --warm=10 -d 20 -r 200 -q --json="$dir/ours" "$target"
	one=$spawned
	# shellcheck disable=SC2086 # words
	[ -z "$wrk2" ] || spawn_c $first "$wrk2" -t1 -c8 -d30s -R200 -L "$target" > "$dir/wrk2"
	other=$spawned
	stop_nginx 20
	wait "$one" "$other"
	ours stop 200 "$1" saker-load "$dir/ours"
	[ -z "$wrk2" ] || note_raw stop 200 "$1" wrk2 "$(wrk2_figures "$dir/wrk2")"
	note_raw stop 200 "$1" stopped "$stopped"
}

# --- steady ----------------------------------------------------------------------------------
steady() { # RATE ROUND
	seconds=1
	in_c "$build/saker-load" --spin --floor=0 --warm=0 -d $seconds -r "$1" --new -c 64 -q --json="$dir/ours" "$target"
	ours steady "$1" "$2" saker-load-new "$dir/ours"
	httperf_run "$1" $seconds "$dir/httperf"
	note_raw steady "$1" "$2" httperf "$(httperf_figures "$dir/httperf")"
	# shellcheck disable=SC2086 # words
	in_c $first "$build/saker-load" --floor=0 --warm=0 -d $seconds -r "$1" -c 1 -q --json="$dir/ours" "$target"
	ours steady "$1" "$2" saker-load "$dir/ours"
	rm -f "$dir/log"
	# shellcheck disable=SC2086 # words
	in_c $first h2load --h1 -t1 -c1 --rps="$1" -n $(($1 * seconds)) --log-file="$dir/log" \
		"$target" > "$dir/h2load" 2>&1
	note_raw steady "$1" "$2" h2load "$(h2load_figures "$dir/log")"
}

# --- all -------------------------------------------------------------------------------------
for part in $parts; do
	echo "crosscheck: $part" >&2
	case $part in
	stop)
		for round in 1 2 3; do stop_httperf $round; done
		for round in 1 2; do stop_wrk2 $round; done
		;;
	steady) for round in $(seq 8); do for rate in 200 5000; do steady $rate "$round"; done; done ;;
	*) die "no part $part; those there are: stop steady" ;;
	esac
done
down "$nginx"
"${0%/*}/crosscheck.py" "$raw"
status=$?
[ -n "$wrk2" ] || echo "wrk2: skipped: no wrk2 in PATH or \$WRK2"
exit $status
