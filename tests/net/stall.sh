#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: stall.sh BUILD_DIR
# A card that stops sending (failure modes 4 and 5), played by hang.c.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network
cc -D_GNU_SOURCE -shared -fPIC -o "$dir/hang.so" "$here/hang.c"
spawn_s env LD_PRELOAD="$dir/hang.so" HANG="$dir/hang" \
	"$build/saker" -i server0 -p $port --stall-ms=100 2> "$dir/log"
saker=$spawned
ok 'the responder becomes ready' soon 10 is_ready

counted() { # NAME
	[ "$(counter "$1")" -gt 0 ]
}
sends() {
	[ "$(mode tx)" = proven ]
}

is 'before: an answer' "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
touch "$dir/hang"
spawn_c curl -sS --max-time 20 "$url/compute?n=1000" > "$dir/answer"
ok 'nothing is completed for a second: it is noticed' soon 5 counted tx_stalls
is 'the mode says that sending is unproven' "$(mode tx)" unproven
ok 'the kernel was woken first' counted watch_kicks
ok 'then other sockets are asked for' soon 2 counted watch_rebinds
sleep 0.2
is 'a new connection is answered' "$(hash_of "$url/compute?n=2")" 0x1076963a
ok 'it went to the kernel' counted xdp_pass_stalled
ok 'and by the socket rung' counted sock_accepted
ok 'the log names it, with the cure' soon 3 grep -q 'nothing was sent for .*ip link set' "$dir/log"
rm "$dir/hang"
ok 'completions come again: sending is proven' soon 5 sends
wait "$spawned"
is 'the answer that was held up arrives' "$(jq -r .hash "$dir/answer")" 0xa06ae7fd
before=$(counter tcp_opened)
is 'the bypass answers again' "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
is 'over AF_XDP' $(($(counter tcp_opened) - before)) 1
ok 'the log says so' soon 3 grep -q 'frames are sent again' "$dir/log"
stop_saker
finish
