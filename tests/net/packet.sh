#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: packet.sh BUILD_DIR
# What rung packet has of its own: its place at tc ingress, by a link and by a filter, beside
# programs of others; what it changes of the interface; what is left of it. That it serves
# as the others do is shown by the scripts that run.sh runs on it too.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network

gro() {
	in_s ethtool -k server0 | sed -n 's/^generic-receive-offload: //p'
}
qdisc() { # is clsact there?
	ip netns exec "$server" tc qdisc show dev server0 | grep -q clsact
}
start_lacking() { # WHAT ARGUMENTS...
	lacks=$1
	shift
	spawn_s "$build/lacking" "$lacks" "$build/saker" -i server0 -p $port --io-cpu=$server_cpu "$@" 2> "$dir/log"
	saker=$spawned
	soon 20 ready_or_gone
	is_ready || fail 'the responder becomes ready' "$(cat "$dir/log")"
}
foreign() {
	in_s tc qdisc add dev server0 clsact &&
		in_s tc filter add dev server0 ingress bpf direct-action object-file "$build/foreign_tc.bpf.o" section tc
}
foreign_stays() {
	in_s tc filter show dev server0 ingress | grep -q foreign_tc
}
no_ping() {
	! in_c ping -c 1 -W 1 $server4
}
kernel_gets_syns() { # nobody listens: it answers with RST
	in_c curl -s --max-time 2 "$url/"
	[ $? = 7 ] # curl: could not connect
}
said() { # TEXT
	grep -q -- "$1" "$dir/log"
}
killed() {
	kill -9 "$saker"
	wait "$saker" 2> /dev/null
}

# --- by a link ---------------------------------------------------------------------------
in_s ethtool -K server0 gro on > "$dir/out" 2>&1
is 'before: GRO is on' "$(gro)" on
start_saker --io=packet
like 'attached by a link' "$(tc_program)" 'tcx [1-9]*'
ok 'over frames' over_frames
is 'GRO is off' "$(gro)" off
ok 'which is said' said 'generic-receive-offload was 1, is 0 while we run'
ok 'others come by: ping' in_c ping -c 1 -W 2 $server4
stop_saker
is 'the end: GRO is on again' "$(gro)" on
ok 'the end: no program is left' no_program

start_saker --io=packet
ok 'again: over frames' over_frames
killed
ok 'kill -9: no program is left' soon 2 no_program
ok 'kill -9: the kernel gets what comes' soon 5 kernel_gets_syns
is 'kill -9: GRO stays off' "$(gro)" off
start_saker --io=packet
ok 'the next start: over frames' over_frames
stop_saker
is 'and at its end GRO is on, as it was before both' "$(gro)" on

start_saker --io=packet
link=$(in_s bpftool -j link show | jq --argjson ours "$(tc_program | cut -d' ' -f2)" '.[] | select(.prog_id == $ours) | .id')
in_s bpftool link detach id "$link" > "$dir/out" 2>&1
ok 'somebody takes it off: it is said' soon 4 said 'taken off tc'
is 'somebody takes it off: sockets serve' "$(hash_of "$url/compute?n=2") $(mode rung)" '0x1076963a socket'
stop_saker

# --- beside others --------------------------------------------------------------------------
ok "somebody's filter drops everything" foreign
ok 'as ping shows' no_ping
start_saker --io=packet
ok "ours comes before it: over frames" over_frames
ok 'and what is not ours meets it as before' no_ping
stop_saker
ok 'at the end it is still there' foreign_stays
start_lacking tcx
like 'the same as a filter' "$(tc_program)" 'clsact [1-9]*'
ok 'as a filter: ours comes before it' over_frames
stop_saker
ok 'as a filter: at the end it is still there' foreign_stays
ok 'as a filter: and ours is not' no_program
in_s tc qdisc del dev server0 clsact

ip -n "$server" link set dev server0 xdpgeneric object "$build/pass.bpf.o" section xdp program foreign_pass
start_saker --io=packet
ok "somebody's XDP program that passes all: over frames" over_frames
stop_saker
like "and it stays" "$(xdp_program)" '*foreign_pass*'
ip -n "$server" link set dev server0 xdpgeneric off

# --- without AF_XDP, and without tcx ----------------------------------------------------------
start_lacking af_xdp
is 'a kernel without AF_XDP: rung packet' "$(mode rung) $(tc_program | cut -d' ' -f1)" 'packet tcx'
ok 'a kernel without AF_XDP: why is said' said 'no AF_XDP (CONFIG_XDP_SOCKETS)'
ok 'a kernel without AF_XDP: over frames' over_frames
stop_saker
ok 'a kernel without AF_XDP: no program is left' no_program

start_lacking tcx
is 'nor tcx: a filter' "$(mode rung) $(tc_program | cut -d' ' -f1)" 'packet clsact'
ok 'a filter: over frames' over_frames
kill -USR2 "$saker"
ok 'a filter: the upgrade replaces it' soon 10 said '^saker: server0: upgraded'
ok 'a filter: over frames behind it' over_frames
stop_saker
ok 'a filter: none is left' no_program
is 'a filter: nor clsact, which was ours' "$(qdisc || echo no)" no

start_lacking tcx --stall-ms=200
ok 'a filter: over frames' over_frames
killed
like 'kill -9: the filter stays' "$(tc_program)" 'clsact *'
ok 'and lets everything pass' soon 5 kernel_gets_syns
ok 'ping too' in_c ping -c 1 -W 2 $server4
start_lacking tcx
ok 'the next start takes it away, and says so' said 'a tc filter that a saker left behind is off'
ok 'the next start: over frames' over_frames
killed
ok 'saker-ctl detach takes it away, too' in_s "$build/saker-ctl" -i server0 detach
ok 'nothing is left' no_program
is 'nor clsact' "$(qdisc || echo no)" no
finish
