#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: hostile.sh BUILD_DIR
# Tools that others wrote to break or to measure a server: hping3's floods,
# slowhttptest, nmap's meter of initial sequence numbers. Others are served all
# the while, and every segment is counted under its name.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network
ip -n "$client" link set dev client0 multicast off
start_saker --max-conns=400 --header-timeout=1 --body-timeout=1 --idle-timeout=1.5

served() {
	[ "$(hash_of "$url/compute?n=1000")" = 0xa06ae7fd ]
}

# --- hping3 ------------------------------------------------------------------------
# 5000 segments, one each 50 us. Where this thread has to share its core, some find
# the ring full: counted too.
lost='.counters.rx_ring_full + .counters.rx_dropped'
flood() { # COUNTER LEAST HPING3_ARGUMENTS...
	name=$1 wanted=$2
	shift 2
	before=$(counter "$name + $lost")
	spawn_c hping3 -q -n -c 5000 -i u50 -p $port "$@" $server4 > "$dir/hping3" 2>&1
	ok "hping3 $*: others are served" served
	wait "$spawned"
	like "hping3 $*: all were sent" "$(cat "$dir/hping3")" '*5000 packets transmitted*'
	least "hping3 $*: counted as $name" $(($(counter "$name + $lost") - before)) "$wanted"
}
if has hping3 'hping3: floods'; then
	# One random source in eight is in 224.0.0.0/3 (pkt_bad_addr): 4000 are from hosts.
	flood tcp_syn 4000 -S --rand-source
	flood tcp_stray 4000 -A --rand-source
	flood tcp_stray_rst 4000 -R --rand-source
	flood tcp_bad_flags 4000 -F -P -U --rand-source
	flood tcp_syn 5000 -S           # and a RST of the client's kernel to each SYN-ACK
	flood tcp_syn 5000 -S -P -d 1000 # data in the SYN
	flood tcp_bad_flags 5000 -X -Y  # no flag but ECE and CWR
	flood pkt_bad_tcp_csum 5000 -S -b
	flood xdp_pass_fragment 5000 -S -f # a first and a later fragment each
fi

# --- slowhttptest ---------------------------------------------------------------------
# 200 connections in the first second; a byte or a line each second, for 4 s.
slow() { # COUNTER NAME SLOWHTTPTEST_ARGUMENTS...
	slow_counter=$1 slow_name=$2
	shift 2
	before=$(counter "$slow_counter")
	spawn_c slowhttptest "$@" -c 200 -r 200 -i 1 -l 4 -p 2 -v 1 -u "$url/compute?n=1000" \
		> "$dir/slow" 2>&1
	sleep 0.5
	ok "slowhttptest, $slow_name: others are served" served
	wait "$spawned"
	is "slowhttptest, $slow_name: its own probes were answered" \
		"$(grep -c 'service available: *.*NO' "$dir/slow")" 0
	is "slowhttptest, $slow_name: each connection was ended by us" \
		$(($(counter "$slow_counter") - before)) 200
}
if has slowhttptest 'slowhttptest'; then
	slow http_header_timeouts 'heads without an end' -H
	slow http_body_timeouts 'bodies without an end' -B
	slow http_idle_timeouts 'answers read 5 bytes a second, windows of 1 to 512' -X -n 1 -z 5 -w 1 -y 512
fi

# --- nmap -----------------------------------------------------------------------------------
# Six initial sequence numbers, 100 ms apart; the difficulty is 8 log2 of their spread
# per second. Linux and we have 245 to 265, by chance; 224 would be 1/16 of
# that spread. The same meter on the kernel beside us.
other=2222 closed=9
difficulty() { # PORT
	in_c timeout 30 nmap -O -v -n -Pn --max-os-tries 1 -p "$1,$closed" $server4 2>&1 |
		sed -n 's/^TCP Sequence Prediction: Difficulty=//p'
}
if has nmap 'nmap: initial sequence numbers'; then
	spawn_s "$here/clients/service.py" $other
	soon 5 in_s nc -z $server4 $other
	ours=$(difficulty $port)
	note "ours: $ours; Linux: $(difficulty $other)"
	like 'nmap: initial sequence numbers' "$ours" '*Good luck!*'
	least 'nmap: they spread over all 32 bits' "${ours%% *}" 224
fi

ok 'after all that: served' served
is 'and not by the kernel' "$(counter sock_accepted)" 0
stop_saker
finish
