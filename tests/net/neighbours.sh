#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: neighbours.sh BUILD_DIR
# What else the host does with the interface and the port: offloads of a sender beside us
# (failure modes 15, 20), clients on the same host (31), and settings of the interface,
# which are not ours to change (25).
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network

settings() {
	in_s ethtool -k server0
	for one in gro_flush_timeout napi_defer_hard_irqs mtu tx_queue_len flags; do
		in_s cat "/sys/class/net/server0/$one"
	done
	in_s sysctl net.ipv4 net.core 2> /dev/null | grep -v -E '(_rand|random|_entries|nr_|inode|max_tw|bpf_jit)'
}

client_tx() { # on|off
	nsenter --net="/run/netns/$client" ethtool -K client0 tx "$1" > "$dir/out"
}

settings > "$dir/before"
for rung in xdp-native xdp-generic packet; do
	start_saker --io=$rung

	# --- a peer that leaves its checksums to a card: there is none ---------------------------
	client_tx on
	ask --max-time 1.5 -o "$dir/body" "$url/compute?n=1" > "$dir/out"
	is "$rung: a partial checksum is not believed: nobody is answered" $? 28
	least "$rung: and it has a name" "$(counter pkt_bad_tcp_csum)" 1
	is "$rung: no other" "$(counter 'tcp_syn + .counters.sock_accepted')" 0
	client_tx off
	is "$rung: with the cure of the harness it is answered" "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
	settings > "$dir/while"

	# --- a host that gathers segments into longer ones --------------------------------------
	# Rung packet cannot live with that: it is off there (packet.sh), and stays so.
	gro=on
	[ $rung != packet ] || gro=off
	in_s ethtool -K server0 gro $gro
	in_c timeout 60 "$here/clients/bulk.py" $server4 $port 200 8192 16 > "$dir/bulk" 2>&1
	like "$rung: with GRO $gro: 200 bodies of 8 KiB come back whole" "$? $(cat "$dir/bulk")" \
		'0 200 bodies of 8192 bytes came back whole*'
	in_s ethtool -K server0 gro off

	# --- this host's own clients ----------------------------------------------------------------
	before=$(counter sock_accepted)
	for to in "127.0.0.1" "[::1]" $server4 "[$server6]"; do
		is "$rung: from this host to $to" \
			"$(in_s curl -sS --max-time 10 "http://$to:$port/compute?n=1000" | jq -r .hash)" 0xa06ae7fd
	done
	is "$rung: by the kernel's listener" $(($(counter sock_accepted) - before)) 4
	is "$rung: from others over AF_XDP all the while" \
		"$(hash_of "$url/compute?n=1000") $(($(counter sock_accepted) - before))" '0xa06ae7fd 4'
	stop_saker
done

# --- what is not ours to change ------------------------------------------------------------------
# In generic mode the kernel itself turns some features off as long as a program is attached.
# One we turn off ourselves, and say so: it hides VLAN tags.
ok 'the settings of interface and kernel are what they were' sh -c '
	grep -v -E "^(generic-receive-offload|rx-gro|rx-vlan-offload:)" "$1" > "$1.a"
	grep -v -E "^(generic-receive-offload|rx-gro|rx-vlan-offload:)" "$2" > "$2.a"
	diff "$1.a" "$2.a"' sh "$dir/before" "$dir/while"
settings > "$dir/after"
ok 'and afterwards, all of them' diff "$dir/before" "$dir/after"
finish
