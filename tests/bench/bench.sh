#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: bench.sh BUILD_DIR [RUNS [SECONDS]]
# Saker over AF_XDP (xdp-native) against nginx `return 200`, and against itself on the rungs
# packet and socket, on the same veth and the same cores: server on CPU 1, wrk on CPU 0. They
# alternate, and never run at the same time. Medians of RUNS (5) runs of SECONDS (3) each. Ratios count;
# the figures themselves are this machine's. Raw data: BUILD_DIR/bench/*.jsonl

# shellcheck source=tests/net/lib.sh
. "${0%/*}/../net/lib.sh"
# shellcheck source=tests/bench/servers.sh
. "${0%/*}/servers.sh"
runs=${2:-5} seconds=${3:-3} starts=9
raw=$build/bench/runs.jsonl
result=$build/bench/result.jsonl

need nginx wrk
mkdir -p "$build/bench"
: > "$raw"
: > "$result"
network

# Of a process and its children, in KiB.
pss() { # NUMBER
	for one in "$1" $(ps -o pid= --ppid "$1"); do
		cat "/proc/$one/smaps_rollup"
	done | awk '$1 == "Pss:" { sum += $2 } END { print sum }'
}

# --- measuring ------------------------------------------------------------------------

value() { # NAME SERVER VALUE
	jq -nc --arg name "$1" --arg server "$2" --argjson value "$3" '$ARGS.named' >> "$raw"
}

measure() { # SERVER URL CONNECTIONS
	in_c wrk -t1 -c"$3" -d"${seconds}s" --latency "$2" > "$dir/wrk" || die "wrk: $(cat "$dir/wrk")"
	grep -E 'Socket errors|Non-2xx' "$dir/wrk" && die "$1 with $3 connections"
	awk -v c="$3" '
	function us(text) { return text + 0 ? text * (text ~ /us$/ ? 1 : text ~ /ms$/ ? 1e3 : 1e6) : 0 }
	$1 == "50%" { print "p50_us_" c, us($2) }
	$1 == "99%" { print "p99_us_" c, us($2) }
	$1 == "Requests/sec:" { print "requests_per_second_" c, $2 }' "$dir/wrk" |
		while read -r name figure; do value "$name" "$1" "$figure"; done
}

measure_all() { # SERVER URL NUMBER
	in_c wrk -t1 -c8 -d1s "$2" > "$dir/wrk" # warm
	for connections in 1 8 32; do
		measure "$1" "$2" $connections
	done
	value pss_kib "$1" "$(pss "$3")"
}

# A start of it: what measure-first says is in $dir/first.
first() { # SERVER OPTIONS... ADDRESS PORT COMMAND...
	name=$1
	shift
	in_s "$build/measure-first" "$@" > "$dir/first" 2> "$dir/first.log" || die "$(cat "$dir/first.log")"
	value first_answer_ms "$name" "$(jq .figures.first_answer_ms "$dir/first")"
}

# --- the runs ----------------------------------------------------------------------------

saker_up
nginx_conf "$(ask "$url/compute?n=0")"
down "$saker"

run=0
while [ $run -lt "$runs" ]; do
	run=$((run + 1))
	echo "run $run of $runs" >&2
	saker_up
	measure_all saker "$url/compute?n=0" "$saker"
	down "$saker"
	for rung in packet socket; do
		saker_up --io=$rung
		measure_all $rung "$url/compute?n=0" "$saker"
		down "$saker"
	done
	nginx_up
	measure_all nginx "http://$server4:$nginx_port/" "$nginx"
	down "$nginx"
done

run=0
while [ $run -lt $starts ]; do
	run=$((run + 1))
	first saker --bypass --cpu=0 --server-cpu=1 $server4 $port "$build/saker" -i server0 -p $port --io-cpu=1
	value bypass_ms saker "$(jq .figures.bypass_ms "$dir/first")"
	first nginx --cpu=0 --server-cpu=1 $server4 $nginx_port nginx -p "$dir/nginx" -c "$dir/nginx/conf"
done

# --- medians and ratios ---------------------------------------------------------------------

jq -sc '
def median: sort | .[length / 2 | floor];
def column($s): map(select(.server == $s) | .value) | if length > 0 then median else null end;
group_by(.name)[]
| {name: .[0].name, saker: column("saker"), nginx: column("nginx"),
	packet: column("packet"), socket: column("socket"),
	runs: (map(select(.server == "saker")) | length)}
| .ratio = if .nginx then .saker / .nginx else null end' "$raw" > "$result"

row() { # NAME BAR
	jq -r --arg name "$1" 'select(.name == $name) | [.saker, .nginx // "-", .ratio // "-", .runs] | @tsv' \
		"$result" | awk -F '\t' -v name="$1" -v bar="$2" '
	function two(x) { return x == "-" ? x : sprintf("%.2f", x) }
	{ printf "%-26s %10s %10s %7s  %-18s %s\n", name, two($1), two($2), two($3), bar, $4 }'
}

echo "$("$build/saker" --version), $(nginx -v 2>&1), Linux $(uname -r)," \
	"$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)"
printf '%-26s %10s %10s %7s  %-18s %s\n' median saker nginx ratio bar runs
row requests_per_second_1 'ratio >= 2'
row requests_per_second_8
row requests_per_second_32 'ratio >= 1'
for connections in 1 8 32; do
	row p50_us_$connections
	row p99_us_$connections 'ratio <= 1'
done
row pss_kib 'saker <= 4096'
row first_answer_ms 'saker <= 10'
row bypass_ms 'saker <= 40'

# What a rung costs beside AF_XDP: its median, and how many times that is xdp-native's.
rungs_row() { # NAME
	jq -r --arg name "$1" 'select(.name == $name) | [.saker, .packet, .packet / .saker, .socket, .socket / .saker] | @tsv' \
		"$result" | awk -F '\t' -v name="$1" \
		'{ printf "%-26s %10.2f %10.2f %7.2f %10.2f %7.2f\n", name, $1, $2, $3, $4, $5 }'
}
printf '\n%-26s %10s %10s %7s %10s %7s\n' 'median, by rung' xdp-native packet times socket times
for connections in 1 8 32; do
	for name in requests_per_second p50_us p99_us; do
		rungs_row ${name}_$connections
	done
done
rungs_row pss_kib
