#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: loss.sh BUILD_DIR [RUNS [REQUESTS [CONNECTIONS]]]
# Saker over AF_XDP against nginx over kernel TCP, through the same bad network
# and with the same client: 2 % of the frames lost each way, 25 % overtaken by the
# next one. REQUESTS (20,000) over CONNECTIONS (32), once one at a time on each
# connection and once 16 at a time, since only then does a gap show before a time-
# out. They alternate; RUNS (3) pairs, the same seed for both of a pair; medians.
# Raw data: BUILD_DIR/bench/loss-runs.jsonl; the table as JSON: loss.jsonl.

# shellcheck source=tests/net/lib.sh
. "${0%/*}/../net/lib.sh"
# shellcheck source=tests/bench/servers.sh
. "${0%/*}/servers.sh"
runs=${2:-3} requests=${3:-20000} connections=${4:-32}
spoil=loss=2,reorder=25,by=1
raw=$build/bench/loss-runs.jsonl
result=$build/bench/loss.jsonl

need nginx jq
mkdir -p "$build/bench"
: > "$raw"
"${MAKE:-make}" -s --no-print-directory -C "$here/../.." B="$build" \
	"$build/impair" "$build/storm" >&2 || exit 1
# shellcheck disable=SC2119 # first without an impairment
network_impaired

# The network is good again behind it: servers start and stop there.
storm() { # SERVER PORT DEPTH SEED [OPTIONS...]
	name=$1 at=$2 depth=$3 seed=$4
	shift 4
	impair_end
	impair --both=$spoil --seed="$seed"
	in_c "$build/storm" "$@" --depth="$depth" --seed="$seed" --seconds=120 \
		$server4 "$at" "$requests" "$connections" > "$dir/storm" 2> "$dir/storm.log"
	impair_end
	[ -s "$dir/storm" ] || die "storm against $name: $(cat "$dir/storm.log")"
	head -n 5 "$dir/storm.log" >&2
	[ "$name" = saker ] && ring_full=$(counter rx_ring_full) || ring_full=0
	jq -c --arg server "$name" --slurpfile relay "$dir/relay" --argjson ring_full "$ring_full" \
		'. + {server: $server, ring_full: $ring_full, relay: $relay}' "$dir/storm" >> "$raw"
	impair
}

saker_up
body=$(ask "$url/compute?n=0")
down "$saker"
nginx_conf "$body"

run=0
while [ $run -lt "$runs" ]; do
	run=$((run + 1))
	echo "run $run of $runs" >&2
	for depth in 1 16; do
		saker_up
		storm saker $port "$depth" "$run"
		down "$saker"
		nginx_up
		storm nginx $nginx_port "$depth" "$run" --body="$body"
		down "$nginx"
	done
done

# --- medians and ratios ------------------------------------------------------------------

# Of what must not be, the sum. ring_full: frames that were lost behind the relay,
# because another process had our CPU.
jq -sc '
def median: sort | .[length / 2 | floor];
def column($s): map(select(.server == $s) | .value) | if .[0] == null then null else median end;
def total($s): map(select(.server == $s) | .value) | add;
["seconds", "mean_ms", "p50_ms", "p90_ms", "p99_ms", "max_ms", "over_250_ms", "over_500_ms",
	"over_1000_ms", "wrong", "missing", "ring_full"] as $names
| group_by(.depth)[] as $runs
| $names[] as $name
| $runs | map({server, value: .[$name]})
| {depth: $runs[0].depth, name: $name, runs: (length / 2)} +
	if ["wrong", "missing", "ring_full"] | index($name) then {saker: total("saker"), nginx: total("nginx")}
	else {saker: column("saker"), nginx: column("nginx")} end
| .ratio = if .nginx != 0 then .saker / .nginx else null end' "$raw" > "$result"

echo "$("$build/saker" --version), $(nginx -v 2>&1), Linux $(uname -r)," \
	"$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)"
echo "$requests requests over $connections connections, each way $spoil; medians of $runs runs"
printf '%-6s %-14s %10s %10s %7s  %s\n' depth figure saker nginx ratio bar
jq -r '[.depth, .name, .saker, .nginx, .ratio // "-"] | @tsv' "$result" | awk -F '\t' '
BEGIN { bar["1 seconds"] = bar["16 seconds"] = "ratio <= 1.25"
	bar["1 wrong"] = bar["16 wrong"] = bar["1 missing"] = bar["16 missing"] = "saker 0" }
{ printf "%-6d %-14s %10.2f %10.2f %7s  %s\n", $1, $2, $3, $4,
	$5 == "-" ? $5 : sprintf("%.2f", $5), bar[$1 " " $2] }'
