#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: rungs.sh BUILD_DIR
# Which way the frames go: what was asked for, what is said, what is in the map.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network

ready_line() {
	grep '^saker: ready' "$dir/log"
}

# Of the map, by bpftool alone.
mapped() { # FIELD
	in_s bpftool map dump pinned "$(pins)/mode" | jq -r ".[0].value.$1"
}

rung() { # ASKED EFFECTIVE
	start_saker --io="$1"
	is "$1: the hash is right" "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
	is "$1: over IPv6" "$(hash_of "$url6/compute?n=1000")" 0xa06ae7fd
	for word in server0 $port "$2" "$server_cpu"; do
		like "$1: the ready line names $word" "$(ready_line)" "*$word*"
	done
	is "$1: one line says ready" "$(ready_line | wc -l)" 1
	like "$1: /healthz names $2" "$(ask "$url/healthz")" "*$2*"
}

frames_rung() { # ASKED EFFECTIVE ATTACHED: the mode of the XDP program, none: nothing
	rung "$@"
	is "$1: mode.rung by bpftool" "$(mapped rung)" "RUNG_$(echo "$2" | tr - _)"
	is "$1: mode.state by bpftool" "$(mapped state)" STATE_ready
	is "$1: mode.copy by bpftool" "$(mapped copy)" COPY_copy
	is "$1: mode.tx by bpftool" "$(mapped tx)" PROOF_proven
	is "$1: mode.pid by bpftool" "$(mapped pid)" "$saker"
	is "$1: mode.io_cpu by bpftool" "$(mapped 'io_cpu[0]')" $server_cpu
	is "$1: saker-stat says the same" "$(mode rung)" "$2"
	like "$1: the ready line says copy" "$(ready_line)" '*copy*'
	is "$1: mode of the program on the interface" "$(xdp_program | jq .mode)" "$3"
	is "$1: nothing was dropped on the way" "$(counter 'xdp_drop_ring + .counters.xdp_drop_large')" 0
	is "$1: nothing came through the kernel" "$(counter sock_accepted)" 0
	like "$1: frames were redirected" "$(counter xdp_redirected)" '[1-9]*'
	stop_saker
}

# The number is the kernel's: XDP_ATTACHED_DRV, XDP_ATTACHED_SKB.
frames_rung auto xdp-native 1
frames_rung xdp-native xdp-native 1
frames_rung xdp-generic xdp-generic 2
frames_rung packet packet ''

rung socket socket
ok 'socket: no XDP program on the interface' no_xdp_program
stop_saker

launch -q
ok '-q: it serves' soon 20 in_c curl -sf -o "$dir/body" "$url/compute?n=1"
stop_saker
is '-q: not a word' "$(cat "$dir/log")" ''
finish
