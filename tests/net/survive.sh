#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: survive.sh BUILD_DIR
# The worker dies, stands still, comes back; a second service on the interface is
# never disturbed; the books are right at the end.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network
start_saker --stall-ms=200

ms_until_answered() { # SIGNAL PID: new connections one after the other
	in_c python3 "$here/clients/until_answered.py" "$server4" $port "$1" "$2"
}

# The second service: a byte back and forth all the time, on another port.
spawn_s python3 "$here/clients/pulse.py" serve "$server4" 9090
soon 5 in_c python3 -c "import socket; socket.create_connection(('$server4', 9090), 1)"
spawn_c python3 "$here/clients/pulse.py" ask "$server4" 9090 "$dir/pulse"
pulse=$spawned

is 'two processes: starter and worker' "$(worker | wc -l)" 1
ok 'a connection comes over frames' over_frames

# --- the worker stands still for a second --------------------------------------------------
resets() { # that the kernels of both sides sent, and the responder
	echo $(($(in_c cat /proc/net/snmp | awk '/^Tcp: [0-9]/ { print $15 }') +
		$(in_s cat /proc/net/snmp | awk '/^Tcp: [0-9]/ { print $15 }') +
		$(counter tcp_stray) + $(counter tcp_reset_out) + $(counter tcp_reset_in)))
}
before=$(resets)
spawn_c python3 "$here/clients/upgraded.py" "$server4" $port "$dir/going" > "$dir/poses" 2>&1
poses=$spawned
sleep 1
kill -STOP "$(worker)"
sleep 1
kill -CONT "$(worker)"
sleep 2
: > "$dir/going"
wait $poses
is 'connections in every pose live through a second of SIGSTOP' "$?" 0
adopt < "$dir/poses"
is 'no side has sent a RST' $(($(resets) - before)) 0
ok 'the stand-in goes' soon 10 no_stand_in

# --- the worker is killed under load -------------------------------------------------
in_c wrk -t1 -c8 -d4 "$url/compute?n=0" > "$dir/wrk" 2>&1 &
load=$!
sleep 1
first=$(worker)
killed_ms=$(ms_until_answered KILL "$first")
note "answered $killed_ms ms after kill -9"
least 'a new connection is answered within 100 ms of kill -9' $((100 - killed_ms)) 0
wait $load
note < "$dir/wrk"
is 'there is another worker' "$([ "$(worker)" != "$first" ] && worker | wc -l)" 1
ok 'it has the bypass' soon 5 over_frames
ok 'the log says what happened' grep -q 'the worker died (signal KILL)' "$dir/log"
ok 'and that another one serves' grep -q 'a new worker serves' "$dir/log"
ok 'the books are closed behind the dead one' soon 5 books_right
is 'the program is the same one' "$(grep -c 'ready' "$dir/log")" 1

# --- the worker stands still ------------------------------------------------------------
resets=$(counter tcp_reset_in)
stopped_ms=$(ms_until_answered STOP "$(worker)")
note "answered $stopped_ms ms after SIGSTOP"
least 'a stopped worker: a new connection is answered within --stall-ms + 100 ms' $((300 - stopped_ms)) 0
least 'a stand-in serves' "$(stand_in | wc -l)" 1
least 'it counts its connections' "$(counter sock_accepted)" 1
kill -CONT "$(worker)"
ok 'continued: the bypass serves again' soon 5 over_frames
ok 'and the stand-in goes' soon 10 no_stand_in
is 'no connection was reset' $(($(counter tcp_reset_in) - resets)) 0

# --- a crash loop ------------------------------------------------------------------------
is_there() {
	[ -n "$(worker)" ]
}
for i in 1 2 3; do
	soon 5 is_there
	pkill -9 -P "$saker" -x saker-worker
done
is 'while there is no worker a stand-in answers' "$(hash_of "$url/compute?n=2")" 0x1076963a
ok 'a worker comes back after a pause' soon 10 over_frames
ok 'the stand-in goes' soon 10 no_stand_in

kill -TERM $pulse
wait $pulse
read -r beats slowest < "$dir/pulse"
least 'the second service answered all the time' "$beats" 100
note "the second service: $beats beats, the slowest took $slowest ms"
least 'none of its beats took half a second' $((500 - slowest)) 0
stop_saker
finish
