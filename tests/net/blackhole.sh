#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: blackhole.sh BUILD_DIR
# Whatever happens to the responder, the kernel has the frames.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network

steady() { # one connection that asks all the time
	spawn_c "$here/clients/steady.py" "$@" > "$dir/steady" 2>&1
	steady=$spawned
}

steady_open() {
	grep -q '^open' "$dir/steady"
}

steady_ends_well() { # NAME
	kill "$steady"
	wait "$steady"
	steady_status=$?
	like "$1" "$steady_status $(tail -n 1 "$dir/steady")" '0 [1-9]* answers right'
}

# --- before the bypass is in effect ------------------------------------------------
# The client knocks until somebody listens, which is the socket rung: attaching
# comes some 15 ms later.
steady http $server4 $port
soon 5 grep -q '^knocking' "$dir/steady"
start_saker
ok 'a connection is accepted before the bypass is in effect' soon 5 steady_open
is 'by the kernel' "$(counter sock_accepted)" 1
sleep 1
is 'meanwhile new connections take the bypass' "$(hash_of "$url/compute?n=1000") $(counter sock_accepted)" \
	'0xa06ae7fd 1'
like 'its frames are passed to the kernel' "$(counter xdp_pass_kernel)" '[1-9]*'
steady_ends_well 'and goes on with the bypass in effect'

# --- not ready: as between attach and the first look at the ring --------------------
# The word is the first of the map; the heartbeat in the same value is written
# again within a turn.
ready_word() { # 0|1
	in_s bpftool -j map dump pinned "$(pins)/live" |
		jq -r --arg ready "0x0$1" '.[0].value | [$ready] + .[1:] | .[]' |
		in_s xargs bpftool map update pinned "$(pins)/live" key 0 0 0 0 value
}
before=$(counter sock_accepted)
ready_word 0
is 'not ready: answered by way of the kernel' \
	"$(hash_of "$url/compute?n=1000") $(($(counter sock_accepted) - before))" '0xa06ae7fd 1'
like 'not ready: counted' "$(counter xdp_pass_unready)" '[1-9]*'
ready_word 1
is 'ready again: over AF_XDP' \
	"$(hash_of "$url/compute?n=1000") $(($(counter sock_accepted) - before))" '0xa06ae7fd 1'

# --- nothing behind the queue ------------------------------------------------
in_s bpftool map delete pinned "$(pins)/$inlets" key 0 0 0 0
is 'no socket in the map: answered by way of the kernel' "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
like 'no socket in the map: counted' "$(counter xdp_pass_queue)" '[1-9]*'
stop_saker

# --- SIGSTOP: the process is there and does nothing -------------------------------------
start_saker --stall-ms=200
steady http $server4 $port
soon 5 steady_open
stop_all() { # SIGNAL: starter and whatever it forked
	for one in "$saker" $(ps -o pid= --ppid "$saker"); do
		kill "-$1" "$one"
	done
}
stop_all STOP
sleep 0.5
spawn_c curl -sS --max-time 30 -o "$dir/late" "$url/compute?n=1000"
late=$spawned
stalled() {
	[ "$(counter xdp_pass_stalled)" != 0 ]
}
ok 'stopped: a SYN is passed to the kernel' soon 5 stalled
accepted() { # the kernel's side of that connection is there, though nobody accepts
	in_s ss -Htn state established "sport = :$port" | grep -q .
}
ok 'stopped: the kernel completes the handshake' soon 5 accepted
strays() {
	[ "$(counter xdp_drop_stray)" != 0 ]
}
ok 'stopped: segments of our connections are kept from the kernel, which would reset them' soon 5 strays
stop_all CONT
wait "$late"
is 'continued: that connection is answered' "$? $(jq -r .hash "$dir/late")" '0 0xa06ae7fd'
steady_ends_well 'continued: the connection from before goes on'
balance

# --- kill -9 --------------------------------------------------------------------------------
first=$saker
kill -9 "$saker"
wait "$saker" 2> /dev/null
ok 'killed: no XDP program on the interface' soon 2 no_program
ok 'killed: nobody listens any more' soon 5 unheard
ask --max-time 5 -o "$dir/body" "$url/compute?n=1" > "$dir/refusal"
is 'killed: the kernel refuses a connection at once' $? 7
is 'killed: its maps can still be read' "$(mode pid)" "$first"
start_saker --max-n=1000000000
is 'a second start works at once' "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
is 'and has replaced the stale pins' "$(mode pid) $(counter http_ok)" "$saker 1"

# --- SIGTERM ----------------------------------------------------------------------------------
steady http $server4 $port
soon 5 steady_open
spawn_c curl -sS --max-time 30 -o "$dir/late" "$url/compute?n=500000000"
late=$spawned
running() {
	[ "$(counter tcp_opened)" -ge 3 ]
}
soon 5 running
kill -TERM "$saker"
ok 'SIGTERM: comes while a request is running' kill -0 "$late"
wait "$late"
is 'SIGTERM: a running request is finished' "$? $(jq -r .n "$dir/late")" '0 500000000'
reap
is 'SIGTERM: ends with status 0' $status 0
wait "$steady"
like 'SIGTERM: a connection between two requests is closed, not reset' "$(tail -n 1 "$dir/steady")" '*Broken*closed*'
ok 'SIGTERM: no XDP program on the interface' no_program
ok 'SIGTERM: no pins' in_s test ! -e /sys/fs/bpf/saker

# --- --for ---------------------------------------------------------------------------------------
start_saker --for=2
is '--for=2: serves' "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
reap
is '--for=2: ends by itself, status 0' $status 0
ok '--for=2: no XDP program on the interface' no_program
finish
