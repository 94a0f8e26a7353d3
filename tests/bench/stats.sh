#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: stats.sh BUILD_DIR [ROUNDS [SECONDS]]
# What it costs to record, and to be read. ROUNDS (10) pairs of SECONDS (3) each; the
# one half of a pair comes first in odd rounds, the other in even ones.
#   recording  requests a second at n=0 of the build as it is, against BUILD_DIR-hist-off,
#              which is the same without histograms and the list of connections
#   reader     the p99 of `total` in the responder, and what wrk sees, while
#              `saker-stat --json` looks 10 times a second, and while nobody does
# Server on CPU 1, wrk on CPU 0, and the reader there too: with two CPUs it takes
# time from the client that is not the responder's fault. Raw: BUILD_DIR/bench/stats.jsonl
# shellcheck source=tests/net/lib.sh
. "${0%/*}/../net/lib.sh"
# shellcheck source=tests/bench/servers.sh
. "${0%/*}/servers.sh"
rounds=${2:-10} seconds=${3:-3}
with=$build without=$build-hist-off
raw=$build/bench/stats.jsonl

need wrk jq
[ -x "$without/saker" ] || die "no $without/saker: make bench B=stats builds it"
mkdir -p "$build/bench"
: > "$raw"
network

value() { # NAME ROUND WHICH VALUE
	jq -nc --arg name "$1" --argjson round "$2" --arg which "$3" --argjson value "$4" '$ARGS.named' >> "$raw"
}

# Requests a second, and the p99 in microseconds.
load() {
	in_c wrk -t1 -c32 -d"${seconds}s" --latency "$url/compute?n=0" > "$dir/wrk" || die "wrk: $(cat "$dir/wrk")"
	grep -E 'Socket errors|Non-2xx' "$dir/wrk" && die 'not all were answered'
	awk '
	function us(text) { return text * (text ~ /us$/ ? 1 : text ~ /ms$/ ? 1e3 : 1e6) }
	$1 == "99%" { p99 = us($2) }
	$1 == "Requests/sec:" { rate = $2 }
	END { print rate, p99 }' "$dir/wrk"
}

# Sets rate and p99.
loaded() {
	# shellcheck disable=SC2046 # words
	set -- $(load)
	rate=$1 p99=$2
}

recording() { # ROUND WHICH
	build=$with
	[ "$2" = on ] || build=$without
	saker_up
	in_c wrk -t1 -c32 -d1s "$url/compute?n=0" > "$dir/wrk" # warm
	loaded
	value requests_per_second "$1" "$2" "$rate"
	build=$with
	down "$saker"
}

snapshot() { # FILE
	in_s bpftool -j map dump pinned "$(pins)/stages" > "$1"
}

# The p99 of `total` between two dumps, in ns: the upper end of its bucket.
between() { # FILE FILE
	jq -s '
	map(.[0].formatted.value.total.bucket) as [$a, $b]
	| [range(0; $a | length)] | map($b[.] - $a[.]) as $n
	| ($n | add) as $all
	| reduce range(0; $n | length) as $i ({seen: 0, at: null};
		.seen += $n[$i] | if .at == null and .seen >= $all * 0.99 then .at = $i else . end)
	| .at + 1 | if . < 128 then . else ((. / 64 | floor) - 1) as $s | (. - 64 * $s) * pow(2; $s) end' "$1" "$2"
}

reading() { # ROUND WHICH
	reader=
	if [ "$2" = on ]; then
		spawn_s taskset -c 0 "$with/saker-stat" -i server0 --json --interval=0.1 > "$dir/read"
		reader=$spawned
	fi
	snapshot "$dir/before"
	loaded
	snapshot "$dir/after"
	[ -z "$reader" ] || down "$reader"
	value p99_wrk_us "$1" "$2" "$p99"
	value p99_total_ns "$1" "$2" "$(between "$dir/before" "$dir/after")"
	value requests_per_second_read "$1" "$2" "$rate"
}

pairs() { # FUNCTION
	round=0
	while [ $round -lt "$rounds" ]; do
		round=$((round + 1))
		echo "$1, round $round of $rounds" >&2
		if [ $((round % 2)) = 1 ]; then
			"$1" $round on
			"$1" $round off
		else
			"$1" $round off
			"$1" $round on
		fi
	done
}

pairs recording
saker_up
in_c wrk -t1 -c32 -d1s "$url/compute?n=0" > "$dir/wrk"
pairs reading
down "$saker"

# The median of what each round says, on / off.
jq -sr '
def median: sort | if length == 0 then null elif length % 2 == 1 then .[length / 2 | floor]
	else (.[length / 2 - 1] + .[length / 2]) / 2 end;
def two: . * 1000 | round / 1000;
group_by(.name)[] | .[0].name as $name
| [group_by(.round)[] | (map(select(.which == "on").value)[0] / map(select(.which == "off").value)[0])] as $ratios
| [$name, (map(select(.which == "on").value) | median | two), (map(select(.which == "off").value) | median | two),
	($ratios | median | two), "\($ratios | min | two)-\($ratios | max | two)",
	{requests_per_second: "ratio >= 0.97", p99_total_ns: "ratio <= 1.02", p99_wrk_us: "ratio <= 1.02"}[$name] // "-"]
| @tsv' "$raw" | awk -F '\t' '
BEGIN { printf "%-26s %12s %12s %7s %15s  %s\n", "median of pairs", "on", "off", "ratio", "least-most", "bar" }
{ printf "%-26s %12s %12s %7s %15s  %s\n", $1, $2, $3, $4, $5, $6 }'
