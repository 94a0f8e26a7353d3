#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: flood.sh BUILD_DIR
# Segments that are forged by a program of our own, since hping3 neither keeps a rate nor
# knows the connections that it attacks: SYN, ACK, RST, FIN and data, of strangers and
# in the name of live connections. Those are served all the while and none of
# them is lost; memory does not grow. How much slower they are: make bench B=hostile.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=tests/net/figures.sh
. "${0%/*}/figures.sh"
network
ip -n "$client" link set dev client0 multicast off
start_saker --stall-ms=5000

paced=20000
lost='.counters.rx_ring_full + .counters.rx_dropped'

answered_over_afxdp() { # NAME
	is "$1: a new connection is answered" "$(hash_of --max-time 5 "$url/compute?n=1000")" 0xa06ae7fd
}

# --- strangers ---------------------------------------------------------------------------
strangers() { # KIND COUNTER
	name="$1 of strangers, $paced a second"
	mark
	load_starts 1000 2
	sent=$(forge "$1" --rate=$paced --seconds=1.5 | jq .sent)
	answered_over_afxdp "$name"
	load_ends "$name"
	least "$name: each is counted as $2" "$(since ".counters.$2 + $lost")" "$sent"
}
strangers syn tcp_syn
full=$(pss_kb) # tables of hints have been touched
for one in 'syn tcp_syn' 'ack tcp_stray' 'rst tcp_stray_rst' 'fin tcp_stray' 'data tcp_stray'; do
	# shellcheck disable=SC2086 # words
	strangers $one
done
note "PSS: $full kB after the first flood, $(pss_kb) kB after six"
least 'memory is constant' $((full + 64)) "$(pss_kb)"

# --- in the name of live connections --------------------------------------------------------
blind() { # KIND HOW LEAST COUNTERS OPTIONS...
	name="$1 in the name of live connections, $2" wanted=$3 counters=$4
	shift 4
	mark
	load_starts 1000 2
	forged=$(forge "${name%% *}" --rate=$paced --seconds=1.5 --victim=$client4 "$@")
	load_ends "$name"
	is "$name: all 16 were attacked" "$(echo "$forged" | jq .flows)" 16
	is "$name: none was reset" "$(since '.counters.tcp_reset_in + .counters.tcp_reset_out')" 0
	least "$name: refused as $counters" "$(since "$(echo "$counters" | sed 's/tcp_/.counters.tcp_/g')")" "$wanted"
}
for one in rst syn ack data; do
	blind $one 'any sequence number' 10000 'tcp_out_of_window + tcp_challenge + tcp_paws + tcp_bad_ack + tcp_old_ack'
done
blind rst 'inside their windows' 10000 tcp_challenge --near
blind syn 'inside their windows' 10000 tcp_challenge --near
blind data 'inside their windows' 10000 'tcp_paws + tcp_bad_ack + tcp_old_ack + tcp_out_of_window' --near
blind fin 'inside their windows' 10000 'tcp_paws + tcp_bad_ack + tcp_old_ack + tcp_out_of_window' --near

# --- as many as go ---------------------------------------------------------------------------
mark
load_starts 200 3
sent=$(forge syn --rate=0 --seconds=2 | jq .sent)
from=$(date +%s%N)
answered_over_afxdp 'SYNs at full speed, at their end'
note "$((sent / 2)) SYNs a second; $(since .counters.tcp_syn) of $sent were answered," \
	"$(since .counters.rx_ring_full) found the ring full; served again after $((($(date +%s%N) - from) / 1000000)) ms"
load_ends 'SYNs at full speed'
least 'SYNs at full speed: more than paced' "$sent" $((4 * paced))
least 'SYNs at full speed: memory is constant' $((full + 64)) "$(pss_kb)"

# --- more than the rings hold, while nobody looks (failure modes 1 and 2) -----------------------
for one in $(family); do kill -STOP "$one"; done
sent=$(forge syn --rate=100000 --seconds=0.1 | jq .sent)
for one in $(family); do kill -CONT "$one"; done
answered_over_afxdp 'the rings overflowed'
least 'the rings overflowed: that is counted' "$(counter rx_ring_full)" $((sent / 2))

is 'nothing of all that reached the kernel' "$(counter sock_accepted)" 0
stop_saker
finish
