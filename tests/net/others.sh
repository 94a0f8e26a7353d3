#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: others.sh BUILD_DIR
# What is not ours stays as it was: ARP, ND, ping, UDP, and a second TCP service
# on the same interface, before, during and after the bypass.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network
other=2222

spawn_s "$here/clients/service.py" $other
listens() {
	in_s ss -Hltn "sport = :$other" | grep -q .
}
soon 5 listens
spawn_c "$here/clients/steady.py" echo $server4 $other > "$dir/steady" 2>&1
steady=$spawned
steady_open() {
	grep -q '^open' "$dir/steady"
}
ok 'a long connection to another port is open before we start' soon 5 steady_open

in_c dd if=/dev/urandom of="$dir/blob" bs=1M count=8 2> /dev/null

others() { # WHEN
	ok "$1: ping" in_c ping -c 2 -i 0.2 -W 2 $server4
	ok "$1: ping over IPv6" in_c ping -6 -c 2 -i 0.2 -W 2 $server6
	ok "$1: ping with 1472 bytes" in_c ping -c 1 -W 2 -s 1472 $server4
	ok "$1: ping in fragments" in_c ping -c 1 -W 2 -s 4000 $server4
	ip -n "$client" neigh flush dev client0
	ok "$1: ARP finds the address again" in_c ping -c 1 -W 2 $server4
	ok "$1: ND finds the address again" in_c ping -6 -c 1 -W 2 $server6
	ip -n "$server" neigh flush dev server0
	ok "$1: our side asks by ARP" in_s ping -c 1 -W 2 $client4
	ok "$1: our side asks by ND" in_s ping -6 -c 1 -W 2 $client6
	if command -v arping > /dev/null; then
		ok "$1: arping" in_c arping -c 1 -w 3 -I client0 $server4
	else
		skip 'no arping' "$1: arping"
	fi
	is "$1: a new connection to another port" "$(echo hello | in_c nc -N -w 5 $server4 $other)" hello
	is "$1: over IPv6" "$(echo hello | in_c nc -N -w 5 $server6 $other)" hello
	is "$1: UDP" "$(echo hello | in_c nc -u -w 1 $server4 $other)" hello
	# shellcheck disable=SC2016 # for the inner shell
	ok "$1: 8 MB there and back" in_c sh -c 'nc -N -w 20 "$1" "$2" < "$3" | cmp - "$3"' sh \
		$server4 $other "$dir/blob"
	ok "$1: our side connects out, from a port of its own" in_s nc -z -w 5 $client4 $other
}

spawn_c "$here/clients/service.py" $other
others before
start_saker
spawn_c wrk -t1 -c8 -d60s "$url/compute?n=1000" > "$dir/wrk"
wrk=$spawned
others 'under load'
kill "$wrk"
wait "$wrk" 2> /dev/null
for name in xdp_pass_other xdp_pass_proto xdp_pass_port; do
	like "the program saw and passed: $name" "$(counter $name)" '[1-9]*'
done
is 'and our port was ours' "$(counter 'sock_accepted + .counters.xdp_pass_kernel')" 0
stop_saker
kill "$steady"
wait "$steady"
like 'the long connection has outlived us' "$? $(tail -n 1 "$dir/steady")" '0 [1-9]* answers right'
finish
