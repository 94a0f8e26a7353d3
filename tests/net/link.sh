#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: link.sh BUILD_DIR
# What happens to the interface while we serve: carrier, MTU, addresses, MAC, queues, the
# program taken off, the device deleted and made again. Each is said once; connections
# live on where frames still reach us.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network 2
# A veth takes a native program only with as many RX queues as its peer sends on.
nsenter --net="/run/netns/$client" ethtool -L client0 rx 1 tx 1
in_s ethtool -L server0 rx 1 tx 1
start_saker --stall-ms=300

said() { # TEXT [TIMES]: so often in the log
	[ "$(grep -c -- "$1" "$dir/log")" = "${2:-1}" ]
}
answers() {
	[ "$(hash_of --max-time 2 "$url/compute?n=2")" = 0x1076963a ]
}

# One connection that asks ten times a second, through all that leaves the device alone.
spawn_c python3 "$here/clients/steady_one.py" "$server4" $port "$dir/going" "$dir/steady"
steady=$spawned
ok 'a connection that stays' soon 5 [ -e "$dir/steady" ]

ok 'before: over frames' over_frames

ip -n "$client" link set client0 down
ok 'no carrier: it is said' soon 3 said 'the link is down'
sleep 1.5
ip -n "$client" link set client0 up
ip -n "$client" address add $client6/64 dev client0 nodad
ok 'carrier again: over frames' soon 5 over_frames
is 'the watchdog asked for nothing' "$(counter watch_rebinds)" 0

ip -n "$server" link set server0 mtu 1400
ok 'a smaller MTU is said' soon 3 said 'MTU.*1400'
ok 'and served over frames' soon 5 over_frames
mss_offered() { # what a SYN-ACK offers
	in_c python3 "$here/clients/mss.py" "$server4" $port
}
is 'new connections are offered what fits' "$(mss_offered)" 1360
ip -n "$server" link set server0 mtu 1500
ok 'as large as it was: over frames' soon 5 over_frames

ip -n "$server" address add 10.88.0.77/24 dev server0
ok 'another address is said' soon 3 said '10.88.0.77'
is 'and served' "$(hash_of "http://10.88.0.77:$port/compute?n=2")" 0x1076963a
ip -n "$server" address del 10.88.0.77/24 dev server0

in_s ethtool -L server0 rx 2
two_queues() {
	[ "$(mode queues)" = 2 ]
}
ok 'two queues: a socket for each' soon 5 two_queues
ok 'over frames' soon 5 over_frames
if [ "$IO" = packet ]; then
	ok 'one queue again' in_s ethtool -L server0 rx 1
	ok 'over frames' soon 5 over_frames
else
	is 'fewer queues than sockets: the kernel refuses' "$(in_s ethtool -L server0 rx 1 > "$dir/out" 2>&1; echo $?)" 1
fi

: > "$dir/going"
wait $steady
is 'one connection lived through all that' "$?" 0
note < "$dir/steady"

# Clients learn it in their own time, which is no matter of ours: half a minute.
ip -n "$server" link set server0 address 02:00:00:00:88:99
ip -n "$client" neigh flush dev client0
ok 'another MAC: over frames' soon 5 over_frames
ip -n "$server" link set server0 address $server_mac
ip -n "$client" neigh flush dev client0
ok 'and back: over frames' soon 5 over_frames

rung_is() { # RUNG
	[ "$(mode rung)" = "$1" ]
}
# Of all links of this host, the one of our program.
ours=$(in_s bpftool -j link show | jq --argjson ours "$(our_program)" '.[] | select(.prog_id == $ours) | .id')
in_s bpftool link detach id "$ours" > "$dir/out" 2>&1
ip -n "$server" link set server0 mtu 1499 # in the same look: neither hides the other
ok 'the program was taken off: it is said' soon 3 said 'is no longer what the interface has\|was taken off tc'
ok 'the socket rung answers' soon 5 answers
ok 'the mode says so' soon 5 rung_is socket

ip -n "$server" link del server0
ok 'the device is gone: it is said' soon 3 said 'the interface is gone'
ip link add server0 netns "$server" type veth peer name client0 netns "$client"
set_up "$server" server0 $server_mac $server4 $server6
set_up "$client" client0 $client_mac $client4 $client6
nsenter --net="/run/netns/$client" ethtool -K client0 tx off > /dev/null
ok 'a new device of the same name: over frames' soon 10 over_frames
is 'the rung is what it was' "$(mode rung)" "${IO:-xdp-native}"
note < "$dir/log"
stop_saker
finish
