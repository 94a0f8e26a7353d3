#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: queues.sh BUILD_DIR
# Two RX queues, one I/O thread, 64 clients that the veth spreads over both.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network 2

queue_frames() { # NUMBER
	in_s ethtool -S server0 | sed -n "s/^ *rx_queue_$1_xdp_packets: //p"
}

for rung in xdp-native xdp-generic; do
	start_saker --io=$rung
	is "$rung: a socket for each queue" "$(mode queues)" 2
	ok "$rung: 64 source ports, every answer right" in_c "$here/clients/check.py" $server4 $port 1280 64 get post
	is "$rung: all of them over AF_XDP" "$(counter sock_accepted) $(counter tcp_opened)" '0 64'
	is "$rung: no frame met a queue without a socket" "$(counter xdp_pass_queue)" 0
	if [ $rung = xdp-native ]; then # the driver counts what its own XDP hook saw
		least "$rung: queue 0 had frames" "$(queue_frames 0)" 100
		least "$rung: queue 1 had frames" "$(queue_frames 1)" 100
	fi
	stop_saker
done
finish
