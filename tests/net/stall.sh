#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: stall.sh BUILD_DIR
# A card that stops sending (failure modes 4 and 5), played by hang.c.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network
cc -D_GNU_SOURCE -shared -fPIC -o "$dir/hang.so" "$here/hang.c"
hang() { # 2: it does, 0: no more
	printf %s "$1" | dd of="$dir/hang" conv=notrunc status=none
}
hang 0
# shellcheck disable=SC2086 # a word or none
spawn_s env LD_PRELOAD="$dir/hang.so" HANG="$dir/hang" \
	"$build/saker" -i server0 -p $port $io --stall-ms=100 2> "$dir/log"
saker=$spawned
ok 'the responder becomes ready' soon 10 is_ready

counted() { # NAME
	[ "$(counter "$1")" -gt 0 ]
}
sends() {
	[ "$(mode tx)" = proven ]
}

on_sockets() {
	[ "$(mode rung)" = socket ]
}
on_frames() {
	[ "$(mode rung)" != socket ]
}
is 'before: an answer' "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
hang 2
spawn_c curl -sS --max-time 20 "$url/compute?n=1000" > "$dir/answer"
ok 'nothing is completed for a second: it is noticed' soon 5 counted tx_stalls
is 'the mode says that sending is unproven' "$(mode tx)" unproven
ok 'the kernel was woken first' counted watch_kicks
ok 'then other sockets are asked for' soon 2 counted watch_rebinds
ok 'whose test frame is not sent either: the socket rung serves' soon 3 on_sockets
is 'a new connection is answered' "$(hash_of "$url/compute?n=2")" 0x1076963a
ok 'it went to the kernel' counted xdp_pass_unready
ok 'and by the socket rung' counted sock_accepted
ok 'the log names it, with the cure' soon 3 grep -q 'none comes back.*ip link set' "$dir/log"
hang 0
ok 'it does not hang any more: sockets are tried again' soon 5 on_frames
ok 'sending is proven' soon 5 sends
wait "$spawned"
is 'the answer that was held up arrives' "$(jq -r .hash "$dir/answer")" 0xa06ae7fd
before=$(counter tcp_opened)
is 'the bypass answers again' "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
is 'over frames' $(($(counter tcp_opened) - before)) 1
ok 'the log says so' soon 3 grep -q 'the bypass serves again' "$dir/log"
stop_saker
finish
