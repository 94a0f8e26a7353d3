#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: soak.sh BUILD_DIR [SECONDS [SEED]]; make soak FOR=7200
# For SECONDS (600; or $FOR) trouble after trouble, drawn at random, while clients of all kinds
# ask (soaker.py) and compare every hash. SEED (the time; or $SEED) repeats a run.
#
# Checked   all along: no answer is wrong; who asks is served again after each trouble;
#           no connection breaks in a trouble that is no excuse for it.
#           When nobody asks, each tenth of the time, before each stop and at the end: the books balance, every
#           frame has its owner, no slot is taken.
#           At the end: memory is what it was after a tenth of the time; the responder said
#           nothing on stderr but what the troubles explain.
# V=1       says each trouble as it begins.
# Troubles  A function each, trouble_NAME; gentle_ in front of those that may break
#           no connection. What cannot be done yet is skipped by name.
# shellcheck disable=SC2317 # troubles are called by name
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=tests/net/figures.sh
. "${0%/*}/figures.sh"
seconds=${2:-${FOR:-600}} seed=${3:-${SEED:-$(date +%s)}}
# Of 150 large blocks (2.4 MB) and 1,200 small ones some are touched for the first time late.
clients=4 stall_ms=300 grow_kb=1024
for one in complaints said lives tally counts memory trouble; do : > "$dir/$one"; done

# --- chance ------------------------------------------------------------------------
state=$((seed % 2147483647))
draw() { # N: drawn is 0 ... N - 1
	state=$(((state * 1103515245 + 12345) % 2147483648))
	drawn=$((state / 65536 % $1))
}

pick() { # WORDS...: one of them is in $picked
	draw $#
	shift $drawn
	picked=$1
}

complain() { # TEXT
	note "$(printf '%4d s, %s: %s' $(($(date +%s) - begun)) "$trouble" "$1")"
	echo "$trouble: $1" >> "$dir/complaints"
}

# --- who asks all the time -----------------------------------------------------------
status_of() { # FILTER
	jq -r "$1" "$dir/status"
}

crowd_up() {
	rm -f "$dir/status"
	draw 1000000
	spawn_c "$here/clients/soaker.py" $server4 $server6 $port $clients "$drawn" "$dir/status" 2>> "$dir/trouble"
	asking=$spawned
	soon 10 test -s "$dir/status"
}

crowd_down() {
	kill -TERM "$asking"
	wait "$asking"
	status_of . >> "$dir/counts"
}

# Each of them has begun and ended a connection since: nothing of before is to come.
renewed() {
	jq -e --argjson was "$lives" '[.lives, $was] | transpose | all(.[0] >= .[1] + 2)' "$dir/status"
}

settle() {
	lives=$(status_of .lives)
	soon 90 renewed || complain "not every client is served again within 90 s: $(status_of .)"
}

# --- the responder ---------------------------------------------------------------------
# 10 s: a client whose request is lost five times sends it again after 6.2 s (RFC 6298).
up() {
	start_saker --max-conns=600 --stall-ms=$stall_ms --header-timeout=10 --body-timeout=10 \
		--idle-timeout=10 --drain-s=5 --max-n=200000000
	touched
}

# Of 600; who asks all the time has some of the rest.
few_connections() {
	stat_json | jq -e '([.gauges[] | .conns, .sockets] | add) < 100'
}

# What is taken when it is used first, is used now: else it would look as if memory grew.
touched() {
	in_c "$here/clients/rude.py" $server4 $port idle 590 > "$dir/first" 2>&1 && soon 30 few_connections &&
		in_c "$here/clients/check.py" $server4 $port 1000 100 pieces post > "$dir/first" 2>&1 &&
		in_c "$here/clients/rude.py" $server4 $port sip 140 > "$dir/first" 2>&1 &&
		forge syn --rate=20000 --seconds=1 > "$dir/first" ||
		complain "the first clients are not served: $(tail -n 2 "$dir/first" | tr '\n' ' ')"
}

quiet_now() {
	stat_json | jq -e '([.gauges[] | .conns, .sockets, .requests] | add) == 0
		and ([.rings[].frames_held] | add) == 0'
}

# Nobody asks: then nothing is left of anybody.
checkpoint() {
	crowd_down
	soon 90 quiet_now || complain "slots are taken when everybody has gone: $(stat_json | jq -c .gauges)"
	soon 5 books_right || complain "the books: $books_wrong"
	kb=$(pss_kb)
	echo "$(($(date +%s) - begun)) $kb" >> "$dir/memory"
}

counted() { # in this life of the responder
	stat_json | jq -c .counters >> "$dir/lives"
}

down() {
	checkpoint
	counted
	kill -TERM "$saker"
	soon 20 gone "$saker" || complain 'it does not end at SIGTERM'
	gone "$saker" || kill -9 "$saker"
	wait "$saker" || complain "it ended with status $? at SIGTERM"
	cat "$dir/log" >> "$dir/said"
}

# --- troubles ----------------------------------------------------------------------------
gentle_trouble_nothing() {
	sleep 2
}

gentle_trouble_load() {
	draw 1000000
	in_c env SEED="$drawn" "$here/clients/check.py" $server4 $port 1000 20 get post form pipeline pieces > "$dir/check" 2>&1 ||
		complain "check.py: $(tail -n 1 "$dir/check")"
}

gentle_trouble_close_each() {
	in_c ab -q -l -c 8 -n 2000 "$url/compute?n=0" > "$dir/ab" 2>&1
	grep -q '^Failed requests: *0$' "$dir/ab" || complain "ab: $(tail -n 1 "$dir/ab")"
}

gentle_trouble_rude() {
	pick drip trickle steady sip half leave deaf quiet
	in_c timeout 60 "$here/clients/rude.py" $server4 $port "$picked" 10 > "$dir/rude" 2>&1 ||
		complain "rude.py $picked: $(tail -n 1 "$dir/rude")"
}

gentle_trouble_silent() {
	in_c "$here/clients/rude.py" $server4 $port idle 400 || complain 'among 400 silent ones nobody is served'
}

gentle_trouble_flood() {
	pick syn ack rst fin data
	kind=$picked
	pick '--rate=20000' '--rate=100000' '--rate=0' "--victim=$client4" "--victim=$client4 --near"
	# shellcheck disable=SC2086 # words
	forge "$kind" --seconds=2 $picked > "$dir/forged" || complain "flood_tcp $kind $picked: $(cat "$dir/forged")"
}

gentle_trouble_clients_die() {
	spawn_c "$build/saker-load" --closed -c 200 -d 30 --warm=0 --floor=0 "$url/compute?n=100000" > "$dir/load" 2>&1
	dying=$spawned
	sleep 1
	kill -9 "$dying"
	wait "$dying" 2> /dev/null
}

gentle_trouble_network() {
	pick loss=2 loss=5 burst=0.5/30 reorder=20 duplicate=10 corrupt=2 delay=2,jitter=5 \
		loss=2,reorder=10,duplicate=5,corrupt=1
	impair_end
	draw 1000000
	impair --both="$picked" --seed=$drawn
	sleep 5
	impair_end
	impair
}

# As the client sees it, a cable that is pulled: server0 has no carrier.
trouble_link() {
	impair_end
	ip -n "$relay" link set server1 down
	pick 0.1 0.5 1.5 3
	sleep "$picked"
	ip -n "$relay" link set server1 up
	impair
}

signal_all() { # SIGNAL
	for one in $(family); do
		kill "-$1" "$one"
	done
}

gentle_trouble_stop_short() {
	for _ in 1 2 3; do
		signal_all STOP
		sleep 0.1
		signal_all CONT
		sleep 0.3
	done
}

gentle_trouble_stop_long() {
	signal_all STOP
	pick 0.5 1 2
	sleep "$picked"
	signal_all CONT
}

trouble_restart() {
	down
	up
	crowd_up
}

trouble_crash() {
	signal_all KILL
	wait "$saker" 2> /dev/null
	counted # the maps are still there
	cat "$dir/log" >> "$dir/said"
	up
}

new_worker() {
	[ -n "$(worker)" ] && [ "$(worker)" != "$before" ]
}

trouble_worker_dies() {
	before=$(worker)
	kill -9 "$before"
	soon 10 served || complain 'nobody is served 10 s after the worker died'
	soon 10 new_worker || complain 'there is no new worker'
}

# The starter sees that nobody looks, and has sockets served; then the worker goes on.
gentle_trouble_worker_stops() {
	stopped=$(worker)
	kill -STOP "$stopped"
	pick 0.1 0.5 1 2
	sleep "$picked"
	soon 10 served || complain "nobody is served while the worker stands still ($picked s)"
	kill -CONT "$stopped"
}

gentle_trouble_upgrade() {
	kill -USR2 "$saker"
	soon 10 served || complain 'nobody is served 10 s after SIGUSR2'
}

served() {
	[ "$(hash_of --max-time 5 "$url/compute?n=1000")" = 0xa06ae7fd ]
}

# --- the run ---------------------------------------------------------------------------------
# shellcheck disable=SC2119 # first without an impairment
network_impaired
ip -n "$client" link set dev client0 multicast off
begun=$(date +%s) trouble=start
note "$seconds s, seed $seed"
up

troubles=$(sed -n 's/^\(\(gentle_\)*trouble_[a-z_]*\)() .*/\1/p' "$0")
without() { # TROUBLE REASON
	troubles=$(echo "$troubles" | grep -vx ".*trouble_$1")
	skip "$2" "trouble: $1"
}
for one in worker_dies worker_stops; do
	[ -n "$(worker)" ] || without $one 'the responder is one process'
done
grep -q 'Dv SIGUSR2' "$here/../../docs/saker.8" || without upgrade 'it takes no SIGUSR2'

crowd_up
settle
early='' tenth=1
while now=$(($(date +%s) - begun)) && [ $now -lt "$seconds" ]; do
	if [ $now -ge $((seconds * tenth / 10)) ]; then
		trouble=checkpoint tenth=$((10 * now / seconds + 1))
		checkpoint
		early=${early:-$kb}
		crowd_up
	fi
	# shellcheck disable=SC2086 # words
	pick $troubles
	chosen=$picked trouble=${picked#*trouble_}
	[ -z "$V" ] || note "$now s: $trouble"
	had=$(status_of '[.right, .broken] | join(" ")') began=$(date +%s%N)
	$chosen
	settle
	# After a restart others ask, who count anew.
	case $chosen in *_restart) had='0 0' ;; esac
	echo "$trouble $((($(date +%s%N) - began) / 1000000)) $had $(status_of '[.right, .broken] | join(" ")')" >> "$dir/tally"
	broken=$(($(status_of .broken) - ${had#* }))
	case $chosen in
	gentle_*) [ $broken = 0 ] || complain "$broken connections broke: $(tail -n 1 "$dir/trouble")" ;;
	esac
done
trouble=end
[ "$(mode pid)" = "$saker" ] || complain 'it is not there any more'
down
impair_end

# --- the figures ------------------------------------------------------------------------------
awk '{ times[$1]++; ms[$1] += $2; right[$1] += $5 - $3; broken[$1] += $6 - $4 }
	END {
		printf "%-16s %6s %8s %10s %8s\n", "trouble", "times", "seconds", "answers", "broken"
		for (name in times)
			printf "%-16s %6d %8.1f %10d %8d\n", name, times[name], ms[name] / 1000, right[name], broken[name] | "sort"
	}' "$dir/tally" | note
note "all: $(jq -sc 'map(del(.lives)) | [.[] | to_entries[]] | group_by(.key) | map({key: .[0].key, value: (map(.value) | add)}) |
	from_entries' "$dir/counts"), lives of the responder: $(wc -l < "$dir/lives")"
note "counted: $(jq -sc '[.[] | to_entries[]] | group_by(.key) | map({key: .[0].key, value: (map(.value) | add)}) | from_entries |
	{xdp_seen, rx_frames, rx_ring_full, tx_frames, tcp_syn, tcp_opened, tcp_retransmits, tcp_challenge, tcp_timed_out,
	http_requests, http_ok, http_aborted, sock_accepted, tx_stalls, xdp_pass_stalled}' "$dir/lives")"
note "PSS, kB: $early after a tenth of the time, $kb at the end; at each checkpoint: $(cut -d ' ' -f 2 "$dir/memory" | tr '\n' ' ')"

is 'no answer was wrong' "$(jq -s 'map(.wrong) | add' "$dir/counts") $(grep -c '^wrong' "$dir/trouble")" '0 0'
least 'there were answers' "$(jq -s 'map(.right) | add' "$dir/counts")" $((seconds * 20))
is 'no trouble left a trace' "$(sort "$dir/complaints" | uniq -c)" ''
least 'memory did not grow' $((early + grow_kb)) "$kb"
is 'no word but those that the troubles explain' "$(grep -v -E \
	'^saker: (ready|server0: CPU [0-9]+ is not isolated|server0: (stopping|the worker|a new worker serves|there is no worker|the stand-in|the link is|upgrade: |upgraded: |rx-vlan-offload was|queue [0-9]+: |the bypass serves again|the socket rung serves))' \
	"$dir/said" | sort | uniq -c)" ''
ok 'nothing is left on the interface' no_xdp_program
finish
