#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: compute.sh BUILD_DIR [PART...]
# What the lanes give to who asks over HTTP: Saker over AF_XDP (xdp-native), lanes
# on the I/O core, CPU 1; the client saker-load on CPU 0. Every answer is verified; a
# wrong or missing one ends the bench with status 1. Parts (all of them, 4 minutes):
#
#   scale      1 ... 128 requests at once, of 10M rounds, against the plain loop alone
#              and against threads.c on the same core, in turn; medians of 3 runs
#   published  200 requests a second of 10M rounds: 10 s, and 60 s for p99.9
#   overload   150 % of the capacity for 20 s, beside 10 %
#   mix        1,000 rounds 500 times a second, alone and beside jobs of 10M rounds
#
# Ratios count; the figures themselves are this machine's.
# Raw data: BUILD_DIR/bench/compute-runs.jsonl; what is printed, as JSON: compute.jsonl.

# shellcheck source=tests/net/lib.sh
. "${0%/*}/../net/lib.sh"
# shellcheck source=tests/bench/servers.sh
. "${0%/*}/servers.sh"
shift
long='/compute?n=10000000' short='/compute?n=1000'
lanes=64 slice_us=50
threads_port=8082
raw=$build/bench/compute-runs.jsonl
result=$build/bench/compute.jsonl

need jq
mkdir -p "$build/bench"
: > "$raw"
: > "$result"
"${MAKE:-make}" -s --no-print-directory -C "$here/../.." B="$build" \
	"$build/saker-load" "$build/threads" >&2 || exit 1
# shellcheck disable=SC2119 # one queue
network

# --- measuring --------------------------------------------------------------------------

# How long the I/O thread was ready to run, and another had its core, so far.
waited_ns() {
	for one in /proc/"$saker"/task/*; do
		case $(cat "$one/comm") in
		saker-io*) cut -d ' ' -f 2 "$one/schedstat" ;;
		esac
	done
}

# What threads.c has had of its core: fields 14 and 15 of proc(5).
cpu_ns() {
	awk -v second="$(getconf CLK_TCK)" '{ printf "%.0f\n", ($14 + $15) / second * 1e9 }' \
		"/proc/$threads/stat"
}

# On shared cores a server has less than all the time. Ours spins: it has all but
# when others ran. The other sleeps: what it was charged with.
core_ns() { # PORT
	if [ "$1" = $port ]; then waited_ns; else cpu_ns; fi
}

# What of saker-load's JSON is used here; times in us.
# shellcheck disable=SC2016 # jq's dollars
shape='def us: if . then . / 1e3 else null end;
	def times: if . then {count, mean: (.mean | us), p50: (.p50 | us), p95: (.p95 | us), p99: (.p99 | us),
		p999: (.p999 | us), max: (.max | us)} else {count: 0} end;
	{mode, rate, connections, requests, seconds: .elapsed_s, answered: .ok, refused, answered_per_s: .rate_ok,
		wrong, missing: (.errors + .timeouts + .resets), accepted_us: (.latency | times),
		refused_us: (.refusal | times), lag_us: (.lag | times), gap_max_us: (.gaps.max // 0 | us), valid, invalid}'

# Status 3: the machine was too busy for the figures; the bench says so at its end.
load() { # FILE OPTIONS...
	file=$1
	shift
	in_c "$build/saker-load" --warm=0 --floor=0 -q --json="$file" "$@" 2> "$dir/load.log"
	case $? in 0 | 3) ;; *) die "saker-load $*: $(cat "$dir/load.log"; jq -c '[.first, .invalid]' "$file")" ;; esac
}

# Leaves what saker-load found in $dir/load, and adds it to the raw data, with NOTE (JSON)
# and core_s, the time that the server had of its core.
measure() { # NOTE PORT PATH OPTIONS...
	note=$1 at=$2 path=$3 from=$(date +%s%N) before=$(core_ns "$2")
	shift 3
	load "$dir/full" --spin -c $lanes "$@" "http://$server4:$at$path"
	jq -c "$shape" "$dir/full" > "$dir/load"
	ns=$(($(core_ns "$at") - before)) span=$(($(date +%s%N) - from))
	if [ "$at" = $port ]; then core=".seconds * (1 - $ns / $span)"; else core="$ns / 1e9"; fi
	jq -c "$note + {core_s: ($core)} + ." "$dir/load" >> "$raw" || die 'no raw data'
}

got() { # FILTER: of the last measurement
	jq -r "$1" "$dir/load"
}

# A second without work first: it measures its lanes then.
lanes_up() { # OPTIONS...
	saker_up "$@"
	sleep 1
	measure '{part: "warm"}' $port "$long" --closed --seconds=0.5
}

threads_up() {
	spawn_s taskset -c 1 "$build/threads" $threads_port
	threads=$spawned
	soon 5 in_c curl -sf -o /dev/null "http://$server4:$threads_port/compute?n=0" ||
		die 'threads does not answer'
}

# Of all slices since the responder's start.
slices() { # PART
	stat_json | jq -c --arg part "$1" --argjson limit $slice_us '.start.stages.slice // empty
		| {part: "slice", of: $part, count, p99_us: (.p99_ns / 1e3), max_us: (.max_ns / 1e3),
			slice_us: $limit}' >> "$result"
}

slice_line() { # PART
	jq -sr --arg part "$1" 'map(select(.part == "slice" and .of == $part))
		| if length > 0 then max_by(.p99_us) | "slices: \(.count), p99 \(.p99_us) us," +
			" max \(.max_us) us; --slice-us=\(.slice_us) (bar: p99 <= 1.2 times that)"
		else "slices: not timed by this saker" end' "$result"
}

# What a pass over so many lanes takes, in picoseconds, as this responder measured it.
pass_ps() { # JOBS
	in_s bpftool -j map dump pinned "$(pins)/lanes" 2> "$dir/bpftool" |
		jq --argjson jobs "$1" '.[0].formatted.value.fnv1a32.pass_ps[$jobs]' 2> "$dir/jq" | grep . ||
		echo null
}

knows() { # OPTION: does this saker?
	"$build/saker" --help | grep -q -e "$1"
}

# --- scale --------------------------------------------------------------------------------

scale_of() { # SERVER PORT AT_ONCE PASS_PS
	measure "{part: \"scale\", server: \"$1\", at_once: $3, plain_ns: $plain_ns, pass_ps: $4}" \
		"$2" "$long" --closed --seconds=2 --connections="$3"
}

scale_run() {
	plain_ns=$(taskset -c 1 "$build/threads" --plain=10000000) || die 'no plain loop'
	lanes_up
	for at_once in 1 4 8 32 64; do
		scale_of saker $port $at_once "$(pass_ps $at_once)"
	done
	slices scale
	down "$saker"
	if [ "$most" = 128 ]; then
		lanes_up --lanes=128
		scale_of saker $port 128 "$(pass_ps 128)"
		down "$saker"
	fi
	threads_up
	for at_once in 1 4 8 32 64 $([ "$most" = 64 ] || echo 128); do
		scale_of threads $threads_port "$at_once" null
	done
	down "$threads" 2> /dev/null
}

scale() {
	most=64
	! knows --lanes || most=128
	for run in 1 2 3; do
		echo "scale: run $run of 3" >&2
		scale_run
	done
	jq -sc '
	def median: sort | .[length / 2 | floor];
	def side: {per_s: map(.answered_per_s) | median,
		times_plain: map(.answered_per_s * .plain_ns / 1e9) | median,
		times_plain_core: map(.answered * .plain_ns / 1e9 / .core_s) | median,
		raw_share: (map(select(.pass_ps) | .answered / .core_s * .pass_ps / 1e5 / .at_once)
			| if length > 0 then median else null end),
		p50_ms: (map(.accepted_us.p50 // 0) | median / 1e3),
		max_ms: (map(.accepted_us.max) | max / 1e3)};
	map(select(.part == "scale")) | group_by(.at_once)[]
	| {part: "scale", at_once: .[0].at_once, plain_ms: (map(.plain_ns) | median / 1e6),
		saker: map(select(.server == "saker")) | side,
		threads: map(select(.server == "threads")) | side}
	| .ratio = .saker.per_s / .threads.per_s
	| .ratio_core = .saker.times_plain_core / .threads.times_plain_core' "$raw" >> "$result"
	scale_table
}

scale_table() {
	cat <<- END

	$long, so many at once; medians of 3 runs; max: of all of them
	plain: requests a second over those of the plain loop alone ($(jq -s 'map(select(.part ==
		"scale"))[0].plain_ms * 100 | round / 100' "$result") ms)
	core: the same, over the time that other programs left of the core
	raw: core, over what the lanes do in one process, in % (bar with 64: >= 90)
	END
	printf '%-4s |%9s %6s %6s %5s %8s %8s |%9s %5s %5s %8s %8s | %s\n' '' saker/s plain core raw \
		p50_ms max_ms threads/s plain core p50_ms max_ms 'saker/threads (core)'
	jq -r 'select(.part == "scale") | [.at_once, (.saker | .per_s, .times_plain, .times_plain_core,
		if .raw_share then .raw_share * 100 | round else "-" end, .p50_ms, .max_ms), (.threads | .per_s,
		.times_plain, .times_plain_core, .p50_ms, .max_ms), .ratio, .ratio_core] | @tsv' "$result" |
		awk -F '\t' '{ printf "%-4d |%9.1f %6.2f %6.2f %5s %8.2f %8.2f |%9.1f %5.2f %5.2f %8.2f %8.2f |" \
			" %.2f (%.2f)\n", $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14 }'
	[ "$most" = 128 ] || echo '128  skipped: this saker has no --lanes'
	slice_line scale
}

# --- published ------------------------------------------------------------------------------

busy_ns() {
	counter busy_ns
}

published_run() { # SECONDS
	idle=$(busy_ns)
	measure '{part: "published"}' $port "$long" --rate=200 --seconds="$1"
	busy=$(($(busy_ns) - idle))
	jq -c --argjson busy $busy --argjson s "$1" '
		{part: "published", for_s: $s, requests, answered, refused,
			busy: ($busy / 1e9 / .seconds), accepted_us, gap_max_us}' "$dir/load" >> "$result"
}

published() {
	echo 'published: 10 s, then 60 s' >&2
	lanes_up
	published_run 10
	published_run 60
	slices published
	down "$saker"
	echo
	echo "200 requests a second of $long, one core; ms"
	printf '%-8s %9s %8s %8s %8s %8s %8s %8s  %s\n' seconds answered mean p50 p95 p99 p99.9 max \
		'core busy'
	jq -r 'select(.part == "published") | [.for_s, .answered, (.accepted_us
		| .mean, .p50, .p95, .p99, .p999, .max), .busy] | @tsv' "$result" | awk -F '\t' '
	function ms(us) { return us == "" ? "-" : sprintf("%.2f", us / 1e3) }
	{ printf "%-8d %9d %8s %8s %8s %8s %8s %8s  %.1f %%\n", $1, $2, ms($3), ms($4), ms($5), ms($6),
		ms($7), ms($8), 100 * $9 }'
	slice_line published
}

# --- overload -------------------------------------------------------------------------------

# What is let in then waits for a lane no longer than this, and with all lanes busy
# a job takes 1.5 times as long as alone (AVX-512): below twice.
max_wait_ms=2

overload() {
	echo 'overload: capacity, 10 %, 150 % for 20 s' >&2
	lanes_up --max-wait-ms=$max_wait_ms
	measure '{part: "capacity"}' $port "$long" --closed --seconds=3
	capacity=$(got .answered_per_s)
	# 1,000 samples for p99, if they come within 40 s
	measure '{part: "unloaded"}' $port "$long" --rate="$(jq -n "$capacity / 10")" \
		--seconds="$(jq -n "[40, ([5, 11000 / $capacity] | max)] | min")"
	cp "$dir/load" "$dir/unloaded"
	measure '{part: "overload"}' $port "$long" --rate="$(jq -n "$capacity * 1.5")" --seconds=20 \
		--connections=512
	slices overload
	down "$saker"
	jq -c --slurpfile unloaded "$dir/unloaded" --argjson capacity "$capacity" \
		--argjson wait $max_wait_ms '
		{part: "overload", capacity_per_s: $capacity, max_wait_ms: $wait,
			unloaded: ($unloaded[0] | {rate, accepted_us}), overload: {rate, answered, refused,
			wrong, missing, answered_per_s, accepted_us, refused_us, lag_us, gap_max_us}}
		| .ratio = if .unloaded.accepted_us.p99 then
			.overload.accepted_us.p99 / .unloaded.accepted_us.p99 else null end' \
		"$dir/load" >> "$result"
	overload_table
}

overload_table() {
	echo
	echo "$long, $lanes lanes, --max-wait-ms=$max_wait_ms; ms"
	jq -r 'select(.part == "overload") |
		def ms: if . then . / 1e3 * 100 | round / 100 else "-" end;
		"capacity (64 at once)  \(.capacity_per_s | round)/s",
		"at 10 %                p50 \(.unloaded.accepted_us.p50 | ms)  p99 \(.unloaded.accepted_us.p99 | ms)",
		(.overload | "at 150 %, 20 s         answered \(.answered) (\(.answered_per_s | round)/s), refused " +
			"\(.refused), wrong \(.wrong), missing \(.missing)",
		"  accepted             p50 \(.accepted_us.p50 | ms)  p99 \(.accepted_us.p99 | ms)",
		"  refused              p50 \(.refused_us.p50 | ms)  p99 \(.refused_us.p99 | ms)  (bar: p50 <= 1)"),
		"accepted p99 over that at 10 %: \(.ratio // "-" | if type == "number" then . * 100 | round / 100 else . end)  (bar: <= 2)"' \
		"$result"
	slice_line overload
}

# --- mix ------------------------------------------------------------------------------------

# The long ones are another saker-load's, which sleeps, for a second before and after.
mix_of() { # BESIDE
	echo '{"rate_ok": 0}' > "$dir/long"
	if [ "$1" != 0 ]; then
		load "$dir/long" --closed -c "$1" --seconds=8 "http://$server4:$port$long" &
		beside=$!
		sleep 1
	fi
	measure "{part: \"mix\", kept: $1}" $port "$short" --rate=500 --seconds=5 --warm=1
	[ "$1" = 0 ] || wait "$beside" || die 'the long ones beside failed'
	jq -c --argjson kept "$1" --slurpfile long "$dir/long" '{part: "mix", kept: $kept, answered, accepted_us,
		gap_max_us, long_per_s: $long[0].rate_ok}' "$dir/load" >> "$result"
}

mix() {
	echo 'mix: three times 6 s' >&2
	lanes_up
	mix_of 0
	mix_of $lanes
	mix_of $((2 * lanes))
	slices mix
	down "$saker"
	echo
	echo "$short, 500 a second, beside so many of $long at any time, $lanes lanes; ms"
	printf '%-8s %9s %8s %8s %8s  %s\n' beside answered p50 p99 max 'long ones a second'
	jq -r 'select(.part == "mix") | [.kept, .answered, (.accepted_us | .p50, .p99, .max), .long_per_s]
		| @tsv' "$result" | awk -F '\t' '{
		printf "%-8d %9d %8.3f %8.3f %8.3f  %.1f\n", $1, $2, $3 / 1e3, $4 / 1e3, $5 / 1e3, $6 }'
	slice_line mix
}

# --- all --------------------------------------------------------------------------------------

echo "$("$build/saker" --version), Linux $(uname -r)," \
	"$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1)"
[ $# -gt 0 ] || set -- scale published overload mix
for part; do
	case $part in
	scale | published | overload | mix) $part ;;
	*) die "no part $part; those there are: scale published overload mix" ;;
	esac
done
echo
jq -sr 'def tenth: max * 10 | round / 10; map(select(.server != "threads")) |
	"other programs had the I/O core for at most \(map(100 - 100 * .core_s / .seconds) | tenth) % of" +
	" a measurement,\nand the client looked away for \(map(.gap_max_us / 1e3) | tenth) ms at most",
	"\(map(select(.valid == false)) | length) of \(length) measurements are invalid by the rules of saker-load(1)"' \
	"$raw"
