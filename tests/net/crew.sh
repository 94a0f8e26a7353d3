#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: crew.sh BUILD_DIR
# A compute core beside the I/O thread. The client shares its CPU, so everything
# here is slow; what it costs is measured by `make bench B=crew`.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
if [ "$(nproc)" = 1 ]; then
	echo '1..0 # SKIP a compute core needs a second CPU'
	exit 0
fi
network

ready_line() {
	grep '^saker: ready' "$dir/log"
}

table() { # BLOCK FILTER: of the map `lanes`
	in_s bpftool -j map dump pinned "$(pins)/lanes" | jq -r ".[$1].formatted.value | $2"
}

is_measured() { # BLOCK
	[ "$(table "$1" .state)" = TABLE_measured ]
}

codes() { # CODE: how many of the answers in $dir/codes
	grep -c "^$1\$" "$dir/codes"
}

in_progress() { # COUNT
	[ "$(stat_json | jq '[.gauges[].requests] | add')" = "$1" ]
}

# Requests of n rounds, all at once, in the background.
crowd() { # COUNT N [CURL OPTIONS...]
	crowd_count=$1 crowd_n=$2
	shift 2
	in_c curl -sS --parallel --parallel-immediate --parallel-max "$crowd_count" -w '%{http_code}\n' -o /dev/null \
		"$@" "$url/compute?n=$crowd_n&seed=[1-$crowd_count]" > "$dir/codes" 2>&1 &
	crowd=$!
}

# --- without a crew: the table, and who is turned away --------------------------------
start_saker --lanes=4 --max-wait-ms=300 --max-n=10000000000
ok 'the I/O CPU measures its lanes when it is idle' soon 10 is_measured 0
is 'the table says how many lanes' "$(table 0 .lanes)" 4
is 'and of which CPU' "$(table 0 .cpu)" $server_cpu
least 'with a row for each body' "$(table 0 '[.body[] | select(.pass_ps > 0)] | length')" 9
is 'saker-stat shows the same' "$(in_s "$build/saker-stat" lanes -i server0 --json | jq -c '.[0].fnv1a32[3].pass_ps')" \
	"$(table 0 '.fnv1a32.pass_ps[4]')"
least 'as text, too' "$(in_s "$build/saker-stat" lanes -i server0 | grep -c scalar)" 9

# Ten seconds each, if they stayed.
in_c "$here/clients/leave.py" $server4 $port 10000000000 4 1.5 > "$dir/left" &
left=$!
sleep 0.5 # all four are in their lanes
in_c curl -sS -D "$dir/head" "$url/compute?n=100000000" > "$dir/body"
like 'no lane within 300 ms or so: 503' "$(head -n 1 "$dir/head")" 'HTTP/1.1 503 *'
like 'at once, with what it would have been' "$(cat "$dir/body")" '*"wait_ms":[0-9]*'
ok 'and when to come back' grep -q '^Retry-After: [1-9]' "$dir/head"
is 'a short one is computed meanwhile' "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
wait $left
is 'clients that go away leave their lanes' "$(hash_of "$url/compute?n=100000")" 0xdbb591e5
is '(none of them had waited for its answer)' "$(cat "$dir/left")" 0
is 'they are counted' "$(counter http_aborted)" 4
is 'and who was turned away' "$(counter http_busy)" 1
stop_saker

# --- with a crew ------------------------------------------------------------------------
# --drain-s: two seconds of work when it is quiet, on a CPU that the clients have too.
start_saker --io-cpu=1 --compute-cpus=0 --spin-us=0 --max-n=10000000000 --drain-s=15
like 'the ready line names the compute CPU' "$(ready_line)" '*, I/O CPU 1, compute CPU 0, *'
if [ -w /dev/cpu_dma_latency ]; then
	ok 'no CPU sleeps deeply meanwhile' test -n "$(find "/proc/$saker/fd" -lname /dev/cpu_dma_latency)"
else
	like 'that CPUs may sleep deeply is said' "$(cat "$dir/log")" '*compute CPUs may sleep deeply*'
fi
ok 'the compute CPU measures its lanes' soon 10 is_measured 1
is 'and says which CPU it is' "$(table 1 .cpu)" 0
ok 'every answer right' in_c "$here/clients/check.py" $server4 $port 640 16 get post pipeline pieces
is 'ten million rounds' "$(hash_of "$url/compute")" 0x25be6645
sleep 1.1 # the starter shows it each second
least 'jobs were done by the crew' "$(counter crew_done)" 100
least 'it slept in between' "$(counter crew_sleeps)" 1
least 'and was woken' "$(counter crew_wakes)" 1

crowd 16 20000000
wait $crowd
is 'sixteen at once' "$(codes 200)" 16
is 'of eight clients that go away none waited for its answer' \
	"$(in_c "$here/clients/leave.py" $server4 $port 10000000000 8 0.5)" 0
is 'the next one is served' "$(hash_of "$url/compute?n=100000")" 0xdbb591e5
sleep 1.1
is 'and their jobs were given up' "$(counter crew_dropped)" 8

crowd 8 300000000
ok 'eight requests run' soon 5 in_progress 8
stop_saker
wait $crowd
is 'what runs at SIGTERM is answered' "$(codes 200)" 8

# --- on sockets of the kernel ---------------------------------------------------------------
start_saker --io=socket --io-cpu=1 --compute-cpus=0
ok 'socket: every answer right' in_c "$here/clients/check.py" $server4 $port 320 16 get post pipeline
is 'socket: ten million rounds' "$(hash_of "$url/compute")" 0x25be6645
stop_saker
finish
