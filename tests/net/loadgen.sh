#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: loadgen.sh BUILD_DIR
# saker-load against the responder, and against servers that do all that a server should
# not: each outcome under its own name. The stop test: a server that stands still for 1 s
# of 10 has the mean and the p99 that arithmetic says, within 1 %.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network
short="$url/compute?n=2"

# Leaves JSON in $dir/load, what it says in $dir/said, and its exit status in $status.
# How fast this machine is does not matter here: an invalid run (status 3) is a run.
load() { # OPTIONS... URL
	in_c "$build/saker-load" --floor=0 --warm=0.2 -q --json="$dir/load" "$@" > "$dir/said" 2>&1
	status=$?
}

got() { # FILTER
	jq -c "$1" "$dir/load"
}

outcomes='[.requests, .ok, .refused, .errors, .timeouts, .resets, .wrong]'

done_well() { # NAME REQUESTS: all of them, answered and right
	like "$1: done" "$status" '[03]'
	is "$1: all are ok" "$(got "$outcomes")" "[$2,$2,0,0,0,0,0]"
}

# --- what it can ask ---------------------------------------------------------------------
start_saker --io=xdp-native --lanes=4 --max-wait-ms=50 --stall-ms=60000

before=$(counter http_ok)
load -r 1000 -d 1 "$short"
done_well 'constant' 1000
is 'constant: the responder counts the warm-up, too' $(($(counter http_ok) - before)) 1200
is 'constant: each in every histogram' "$(got '[.latency, .service, .outside, .lag | .count] | unique')" '[1000]'
is 'constant: and in the buckets' "$(got '[.histogram[] | map(.[1]) | add] | unique')" '[1000]'
is 'constant: and in the seconds' "$(got '[.series | (map(.sent) | add), (map(.ok) | add)]')" '[1000,1000]'
is 'constant: and in the heat, whose buckets ascend' \
	"$(got '.heat | [([.rows[][1][]] | add), .row_s, (.bucket_ns == (.bucket_ns | unique)), (.rows[0][0])]')" \
	'[1000,1,true,0]'
is 'constant: p99 is carried, p99.9 is not' "$(got '.latency | [.p99 != null, .p999]')" '[true,null]'
is 'constant: the parts are in order' "$(got '.latency.mean >= .service.mean and .service.mean >= .outside.mean
	and .outside.mean > 0 and .latency.p50 <= .latency.p90 and .latency.p99 <= .latency.max')" true
is 'constant: connections are kept' "$(got '[.reconnects, .connect]')" '[0,null]'
load -r 500 -d 1 --need=p99 "$short"
is 'a percentile that is needed and not carried makes a run invalid' $status 3
like 'and it says what it would take' "$(got .invalid)" '*p99: not enough samples: 500, and it takes 1000*'
load -r 1000 -d 1 --poisson --seed=7 "$url6/compute?n=2"
like 'Poisson, IPv6: done' "$status" '[03]'
is 'Poisson, IPv6: about as many, all ok' "$(got '.requests > 850 and .requests < 1150 and .ok == .requests')" true
load --burst=50@100 -d 1 "$short"
done_well 'bursts' 500
load -r 300 -d 1 --new "$short"
done_well 'a connection each' 300
is 'a connection each: they were made' "$(got '.connect.count')" 300
load --closed -d 1 -c 32 "$url/compute?n=0"
like 'closed: done' "$status" '[03]'
is 'closed: all ok' "$(got '.ok == .requests and .ok > 1000')" true
load -r 400 -d 1 --mix="3:/compute?n=2" --mix="1:/compute?n=1000&alg=mix64&seed=9" "$url"
done_well 'a mix' 400
is 'a mix: each path by its weight' "$(got '[.mix[].latency.count] | (add == 400) and .[1] > 60 and .[1] < 140')" true
load -r 200 -d 1 --post='{"n":2,"alg":"fnv1a64"}' -H 'X-Mine: 1' "$url/compute"
done_well 'a body of JSON' 200
printf 'n=2&alg=mix64' > "$dir/form"
load -r 200 -d 1 --post="@$dir/form" "$url/compute"
done_well 'a form from a file' 200
load -d 1 --series="$dir/csv" --hgrm="$dir/hgrm" --name='a "näme"' "$short"
is 'CSV: a line a second' "$(sed 1d "$dir/csv" | awk -F , '{ s += $2; a += $3; f += NF } END { print s, a, f / NR }')" \
	'200 200 9'
like 'hgrm: as HdrHistogram has it' "$(tail -n 3 "$dir/hgrm")" '#?Mean *Total count    =          200*'
is 'the name is in the JSON, UTF-8 as it was given' "$(got .name)" '"a \"näme\""'
in_c "$build/saker-load" --floor=0.01 --warm=0 -d 0.5 "$short" > "$dir/said" 2> "$dir/err"
like 'for people: it says what it does not know' "$(cat "$dir/said")" '*latency*own lag*floor*p99: not enough samples*'
is 'and shows no progress where there is no terminal' "$(cat "$dir/err")" ''

# --- refusals ------------------------------------------------------------------------------
load -r 2000 -c 256 -d 1 "$url/compute"
like 'overload: done' "$status" '[03]'
is 'overload: answers, refusals and nothing else' \
	"$(got '.ok > 0 and .refused > 100 and .ok + .refused == .requests')" true
is 'overload: refusals have times of their own' "$(got '[.refusal.count == .refused, .latency.count == .ok]')" \
	'[true,true]'
load -r 100 -d 0.5 "$url/nope"
is 'another status is an error' "$status $(got "$outcomes")" '1 [50,0,0,50,0,0,0]'
like 'and the first is told' "$(got .first.errors)" '*status 404*'
like 'such a path is not verified, and that is said' "$(got '.mix[0].verified')" false

# --- memory --------------------------------------------------------------------------------
rss() { # seconds into the run
	sleep "$1"
	awk '/^VmRSS/ { print $2 }' "/proc/$spawned/status"
}
spawn_c "$build/saker-load" --closed -c 32 -d 2 --warm=0 --floor=0 -q "$url/compute?n=0"
early=$(rss 0.5) late=$(rss 1)
wait "$spawned"
least "memory does not grow with the requests ($early KiB, then $late)" $((early + 128)) "$late"

# --- when it stands still itself -----------------------------------------------------------
for how in '' --spin; do
	# shellcheck disable=SC2086 # an option, or none
	spawn_c "$build/saker-load" $how -r 500 --floor=0 --warm=0 -d 1.5 -q --json="$dir/load" "$short"
	running=$spawned
	sleep 0.4
	"$here/clients/pause.py" 0.5 "$running" > "$dir/pause"
	wait "$running"
	status=$?
	is "stopped itself ${how:---}: the run is invalid" "$status $(got .valid)" '3 false'
	like "stopped itself ${how:---}: and it says why" "$(got .invalid)" '*did not run for*'
done
stop_saker

# --- servers as they should not be ---------------------------------------------------------
strange_port=8085
strange_up() { # KIND
	spawn_s "$here/clients/strange.py" $server4 $strange_port "$1"
	stranger=$spawned
	soon 5 in_c nc -z $server4 $strange_port
}

strange_down() {
	kill "$stranger"
	wait "$stranger" 2> /dev/null
}

strange() { # KIND OPTIONS...
	strange_up "$1"
	shift
	load -r 100 -d 0.5 "$@" "http://$server4:$strange_port/compute?n=2"
	strange_down
}

failed() { # KIND OUTCOMES PATTERN
	is "$1" "$status $(got "$outcomes")" "1 $2"
	like "$1: the first is told" "$(got .first)" "$3"
}
strange lie
failed 'a lying server' '[50,0,0,0,0,0,50]' '*0x1076963b*instead of 0x1076963a*'
strange lie --no-verify
like 'unless nobody looks' "$status $(got "$outcomes")" '[03] ?50,50,0,0,0,0,0?'
strange mute --timeout=0.2 -c 64
failed 'a mute server' '[50,0,0,0,50,0,0]' '*no answer within 0.2 s*'
strange reset
failed 'a server that resets' '[50,0,0,0,0,50,0]' '*Connection reset*'
strange half
failed 'a server that closes in the middle' '[50,0,0,0,0,50,0]' '*half of an answer*'
strange junk
failed 'no HTTP server at all' '[50,0,0,50,0,0,0]' '*HTTP/1.1*'
strange error
failed 'a server in trouble' '[50,0,0,50,0,0,0]' '*status 500*'
strange close
done_well 'a server that closes after each answer' 50
least 'a server that closes after each answer: connections are made again' "$(got .reconnects)" 50
strange shut -c 64
done_well 'one that closes without a word' 50
strange chunks
done_well 'chunks behind an interim answer' 50
strange hasty --find-max='p50<1s' -r 25
is 'wrong hashes end a search: no rate, and status 1' \
	"$status $(got '[.wrong > 0, .find_max.rate, (.find_max.steps[-1] | .wrong > 0, .why)]')" \
	'1 [true,null,true,"wrong hashes"]'
like 'wrong hashes end a search: and it says at which rate' "$(got .invalid)" '*wrong hashes at * ended the search*'
strange right --find-max='p50<5s' -r 50 --max-rate=100
is 'a search that reaches --max-rate says so' "$(got '.find_max | [.rate, .max_rate_reached]')" '[100,true]'
strange right -r 200000 -c 1 -d 2 --timeout=1
is 'more than a connection carries: invalid, and no failure of the server' \
	"$status $(got '[.ok > 0, .errors, .timeouts, .resets, .wrong, .ok + .unsent == .requests]')" \
	'3 [true,0,0,0,0,true]'
like 'and it says what found no connection' "$(got .invalid)" '*1 connections do not carry this rate here; ?* found none free*'
strange_up right
spawn_c "$build/saker-load" --floor=0 --warm=0 -d 1.5 -r 100 --timeout=0.5 -q --json="$dir/load" \
	"http://$server4:$strange_port/compute?n=2"
running=$spawned
sleep 0.5
strange_down
wait "$running"
status=$?
is 'a server that goes away: what could not be sent is an error' \
	"$status $(got '[.ok > 0, .errors > 50, .unsent]')" '1 [true,true,0]'
like 'a server that goes away: and it says so' "$(got .first.errors)" '*never sent: all connections had ended: Connection refused*'
load -d 0.5 "http://$server4:$strange_port/compute"
is 'nobody there' $status 1
like 'nobody there: one line says so' "$(cat "$dir/said")" "saker-load: *Connection refused*"
# --- the stop test -------------------------------------------------------------------------
# Requests are due each 5 ms; those that fall into the pause of D seconds are answered at
# its end. So their mean is D/2, in D/10 of the cases; and p99 is what 20 of 2,000 exceed:
# D less 100 to 105 ms. What an answer takes without it is added as p50. Whoever takes the
# CPU away spoils it: both ends go before all others (this server sleeps, ours never does:
# a real-time thread that spins is held back), and have three tries.
pause_test() {
	spawn_c chrt -f 10 "$build/saker-load" --floor=0 --warm=0.2 -d 10 -q --json="$dir/load" \
		"http://$server4:$strange_port/compute?n=2"
	running=$spawned
	sleep 4
	pause=$("$here/clients/pause.py" 1 "$stranger")
	wait "$running"
	stop_figures=$(jq -r --argjson d "$pause" '
		($d * $d / 2 / 10 + .latency.p50 / 1e9) as $mean | ($d - 0.1025) as $p99
		| "mean \(.latency.mean / 1e6) ms of \($mean * 1e3), p99 \(.latency.p99 / 1e6) ms of \($p99 * 1e3)",
		((.latency.mean / 1e9 / $mean - 1 | fabs) < 0.01 and (.latency.p99 / 1e9 / $p99 - 1 | fabs) < 0.01
			and .ok == 2000)' "$dir/load")
	case $stop_figures in *true) return 0 ;; esac
	note "$stop_figures"
	return 1
}
strange_up right
chrt -f -a -p 10 "$stranger"
pause_test || pause_test || pause_test
is "a stop of $pause s of 10: $(echo "$stop_figures" | head -n 1)" "$(echo "$stop_figures" | tail -n 1)" true
is 'the seconds show it' "$(got '[.series[].max] | map(select(. > 9e8)) | length >= 1')" true
is 'the service time of each connection, too, and only that' \
	"$(got '.service.max > 9e8 and .service.mean < .latency.mean / 5')" true
strange_down

# --- a search in which it stands still itself ----------------------------------------------
# Half of the first step: its p90 is 250 ms and more. The second try has none of that.
strange_up right
spawn_c "$build/saker-load" --floor=0 --warm=0 -d 1 -r 200 --max-rate=200 --find-max='p90<200ms' -q \
	--json="$dir/load" "http://$server4:$strange_port/compute?n=2"
running=$spawned
sleep 0.3
"$here/clients/pause.py" 0.5 "$running" > "$dir/pause"
wait "$running"
status=$?
is 'a step that it spoils itself is made once more' \
	"$(got '.find_max | [.rate, (.steps | length), .steps[0].tries, .steps[0].holds]')" '[200,1,2,true]'
like 'and the answer stands' "$status" '[03]'
strange_down
finish
