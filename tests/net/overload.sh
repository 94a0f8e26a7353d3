#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: overload.sh BUILD_DIR
# More is asked than can be computed: every request has its answer, the right one or
# 503, and afterwards nothing is left behind. How fast is another question, which
# `make bench B=compute` answers.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network

# Four lanes do about 400 jobs of 10M rounds a second on a core of 4 GHz, and on none a
# thousand, as are asked for here.
load="--rate=2000 --connections=512 --warm=0 --floor=0 -q --mix=5:/compute?n=10000000 --mix=3:/compute?n=1000
	--mix=1:/compute?n=16385&alg=fnv1a64 --mix=1:/compute?n=500000&alg=mix64"
options='--lanes=4 --max-wait-ms=100 --max-n=10000000000'

of_load() { # FILTER
	jq -r "$1" "$dir/load"
}

# Done; an invalid run (3) is one of which the times are not to be believed.
all_answered() { # NAME STATUS
	like "$1" "$2 $(of_load '[.errors, .timeouts, .resets, .wrong] | max')" '[03] 0'
}

# One more who asks, for a job that is hardly long; a line for each.
refused() {
	echo >> "$dir/ours"
	in_c curl -sS -D "$dir/head" -o "$dir/body" "$url/compute?n=16385" &&
		grep -q '^HTTP/1.1 503 ' "$dir/head"
}

# Nobody is in a lane or waits for one, says each thread of itself; and none computes:
# a turn counts as busy while a lane of this core is taken, a compute core has slices,
# which the starter shows each second.
idle() {
	was=$(stat_json | jq -c '.counters | [.turns, .busy_turns, .crew_slices]')
	sleep 1.2
	stat_json | jq -e --argjson was "$was" '([.gauges[].requests] | add) == 0
		and (.counters | .crew_slices == $was[2]
			and .turns - $was[0] > 10 * (.busy_turns - $was[1]))' > /dev/null
}

works() {
	! idle
}

overload() { # NAME SECONDS
	# shellcheck disable=SC2086 # words
	spawn_c "$build/saker-load" $load --seconds="$2" --json="$dir/load" "$url"
	asking=$spawned
	: > "$dir/ours"
	sleep 0.5
	ok "$1: who comes in between is turned away" soon 3 refused
	ok "$1: and told when to come back" grep -q '^Retry-After: [1-9]' "$dir/head"
	ok "$1: and how long it would have been" jq -e '.wait_ms >= 100' "$dir/body"
	ok "$1: lanes are taken meanwhile" works
	wait $asking
	all_answered "$1: every request is answered, 200 and right or 503" $?
	is "$1: none is missing" "$(of_load '.ok + .refused')" "$(of_load .requests)"
	least "$1: more was asked than could be done" "$(of_load .refused)" 100
	least "$1: of each kind some were done" "$(of_load '[.mix[].latency.count // 0] | min')" 1
	is "$1: the responder counts as many answers" "$(($(counter http_ok) + $(counter http_busy)))" \
		"$(($(of_load .requests) + $(wc -l < "$dir/ours")))"
	is "$1: nobody was given up" "$(counter http_aborted)" 0
	ok "$1: then nothing is left to do" soon 5 idle

	# Ten seconds each, if they stayed.
	spawn_c "$here/clients/leave.py" $server4 $port 10000000000 4 1 > "$dir/left"
	leaving=$spawned
	sleep 0.3 # they have all lanes
	# shellcheck disable=SC2086 # words
	in_c "$build/saker-load" $load --seconds=2 --json="$dir/load" "$url"
	all_answered "$1: nor is a request lost when those in the lanes go away in the midst of it" $?
	wait $leaving
	is "$1: they are counted" "$(counter http_aborted)" 4
	least "$1: and leave their lanes" "$(of_load '.mix[0].latency.count // 0')" 1
	ok "$1: and nothing to do" soon 5 idle
	is "$1: the next one is served" "$(hash_of "$url/compute")" 0x25be6645
}

# shellcheck disable=SC2086 # words
start_saker $options
overload 'overload' 5
stop_saker

if [ "$(nproc)" -gt 1 ]; then
	# shellcheck disable=SC2086 # words
	start_saker $options --compute-cpus=$client_cpu
	overload 'with a crew' 3
	stop_saker
else
	skip 'a compute core needs a second CPU' 'with a crew'
fi
finish
