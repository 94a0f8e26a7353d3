#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: mtu.sh BUILD_DIR
# A path that is narrower than either end: routers say so by ICMP (RFC 1191) and
# ICMPv6 (RFC 8201), and what is in flight goes again in smaller pieces.
#
#   far             middle            client           server
#   +----+  1500   +------+  1300   +--------+  1500  +--------+
#   |    |--------|      |---------|        |--------|  saker |
#   +----+ 90     +------+ 89      +--------+ 88     +--------+
#
# far and server offer segments of 1460 bytes. The kernels of middle and client
# route, and say when a packet does not fit.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
middle=saker-net-$$-middle far=saker-net-$$-far
trap 'clear_up; ip netns del "$middle"; ip netns del "$far"' EXIT
network

in_m() { # COMMAND...
	nsenter --net="/run/netns/$middle" -- "$@"
}

in_f() { # COMMAND...
	nsenter --net="/run/netns/$far" -- taskset -c "$client_cpu" "$@"
}

veth() { # NAMESPACE INTERFACE NAMESPACE INTERFACE NET MTU: .1 and .2, ::1 and ::2
	ip link add "$2" netns "$1" mtu "$6" type veth peer name "$4" netns "$3" mtu "$6" &&
		ip -n "$1" address add "10.$5.0.1/24" dev "$2" &&
		ip -n "$3" address add "10.$5.0.2/24" dev "$4" &&
		ip -n "$1" address add "fd$5::1/64" dev "$2" nodad &&
		ip -n "$3" address add "fd$5::2/64" dev "$4" nodad &&
		ip -n "$1" link set "$2" up && ip -n "$3" link set "$4" up || exit 1
}

route() { # NAMESPACE NET THROUGH_NET THROUGH_HOST
	ip -n "$1" route add "10.$2.0.0/24" via "10.$3.0.$4" &&
		ip -n "$1" route add "fd$2::/64" via "fd$3::$4" || exit 1
}

routers() {
	ip netns add "$middle" && ip netns add "$far" || exit 1
	veth "$client" narrow0 "$middle" narrow1 89 1300
	veth "$middle" wide0 "$far" wide1 90 1500
	for one in "$client" "$middle"; do
		nsenter --net="/run/netns/$one" sysctl -qw net.ipv4.ip_forward=1 \
			net.ipv6.conf.all.forwarding=1 || exit 1
	done
	route "$client" 90 89 2
	route "$middle" 88 89 1
	route "$far" 88 90 1
	route "$server" 89 88 2
	route "$server" 90 88 2
}

settled() { # COUNTER: the I/O thread shows it each 50 ms
	sleep 0.2
	counter "$1"
}

start_saker
# Before there are routers: the address of nobody is not looked for.
in_c "$here/clients/spoof.py" client0 $client_mac $server_mac $server4 $server6 $port \
	nsenter -t "$holder" -m -n -- "$build/saker-stat" -i server0 --json > "$dir/spoof" 2>&1
status=$?
adopt < "$dir/spoof"
is 'all lies were told' $status 0
lowered=$(settled tcp_mtu_lowered)
timed_out=$(counter tcp_timed_out)

routers
for to in $server4 $server6; do
	in_f timeout 60 "$here/clients/bulk.py" "$to" $port 20 8192 1 > "$dir/bulk" 2>&1
	like "$to: 20 bodies of 8 KiB there and back over a path of 1300 bytes" "$? $(cat "$dir/bulk")" \
		'0 20 bodies of 8192 bytes came back whole*'
	is "$to: the MTU was learned once" "$(settled tcp_mtu_lowered)" $((lowered + 1))
	ok "$to: ten connections at once" in_f timeout 60 "$here/clients/check.py" "$to" $port 200 10 pipeline
	lowered=$(settled tcp_mtu_lowered)
done
is 'no connection was given up' "$(counter tcp_timed_out)" "$timed_out"
is 'all of it came over AF_XDP' "$(counter sock_accepted)" 0
is 'no word of a router was lost' "$(counter icmp_lost)" 0
is 'what was told was judged' "$(counter icmp_told)" "$(counter 'tcp_mtu_lowered + .counters.tcp_mtu_no_less
	+ .counters.tcp_mtu_tiny + .counters.tcp_mtu_not_sent + .counters.tcp_mtu_stray')"
stop_saker
finish
