#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: path_survive.sh BUILD_DIR
# A shared port while the responder's worker dies, stands still, is upgraded, and while the
# responder itself is killed: the web server is never disturbed, and what is ours is
# answered, by its proxy if need be. The kernel's settings come back.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=tests/net/path_lib.sh
. "${0%/*}/path_lib.sh"
need_nginx 'a shared port through it all'
network
start_nginx
cp "$build/saker" "$dir/saker"
cookies() {
	in_s sysctl -n net.ipv4.tcp_syncookies
}
launch_copy() {
	spawn_s "$dir/saker" -i server0 -p $port --io-cpu=$server_cpu $io --steer=path --stall-ms=200 2> "$dir/log"
	saker=$spawned
	soon 20 ready_or_gone
}
over_frames() {
	[ "$(who "$url/compute?n=2")" = '200 saker' ]
}
by_proxy() {
	[ "$(who "$url/compute?n=2")" = '200 nginx' ]
}
cookies_before=$(cookies)
launch_copy
is 'tcp_syncookies is 2' "$(cookies)" 2
ok 'ours comes over frames' over_frames

# nginx alone, on connections that stay and on new ones, from here to the end. The new ones
# over IPv6: nginx closes them, and a port that is used again out of the kernel's TIME-WAIT
# is the kernel's (saker.8).
in_c wrk -t1 -c4 -d20 "$url/" > "$dir/web" 2>&1 &
web=$!
in_c wrk -t1 -c2 -d20 -H 'Connection: close' "$url6/" > "$dir/web_new" 2>&1 &
web_new=$!

# --- the worker is killed ------------------------------------------------------------------
first=$(worker)
kill -9 "$first"
like 'killed: the next request of ours is answered' "$(who "$url/compute?n=2")" '200 *'
ok 'and soon over frames again' soon 5 over_frames
is 'the flows of the dead one are gone' "$(in_s bpftool -j map dump pinned "$(pins)/flows" |
	jq "[.[] | .formatted | select(.value.since_ns < $(awk '{ printf "%d", ($1 - 4) * 1e9 }' /proc/uptime))] | length")" 0

# --- it stands still ---------------------------------------------------------------------
kill -STOP "$(worker)"
sleep 0.3
ok 'stopped: the web server proxies to the stand-in' by_proxy
kill -CONT "$(worker)"
ok 'continued: over frames again' soon 5 over_frames

# --- upgrades under load --------------------------------------------------------------------
in_c "$build/mixed" $server4 $port 60000 32 20 > "$dir/mixed" 2> "$dir/mixed.log" &
load=$!
for i in 1 2 3; do
	upgraded() {
		[ "$(grep -c '^saker: server0: upgraded' "$dir/log")" -ge "$i" ]
	}
	cp "$build/saker" "$dir/saker.new" && mv "$dir/saker.new" "$dir/saker"
	kill -USR2 "$saker"
	ok "upgrade $i" soon 10 upgraded
done
wait $load
is 'upgrades under load: to the end' $? 0
note < "$dir/mixed"
note < "$dir/mixed.log"
is 'upgrades under load: all right, none broken' "$(jq -c '[.web + .ours, .wrong, .errors, .resets, .missing]' \
	"$dir/mixed")" '[60000,0,0,0,0]'
ok 'the upgraded one serves over frames' over_frames
is 'and tcp_syncookies is 2 all the time' "$(cookies)" 2

# --- the responder is killed ----------------------------------------------------------------
unhurt() { # FILE
	grep -E 'Socket errors|Non-2xx' "$1"
}
wait $web
is 'nginx: not one error on connections that stay' "$? $(unhurt "$dir/web")" '0 '
wait $web_new
is 'nginx: not one error on new ones' "$? $(unhurt "$dir/web_new")" '0 '
note < "$dir/web"
children=$(pgrep -P "$saker")
kill -9 "$saker"
reap
for one in $children; do soon 5 gone "$one"; done
is 'kill -9: nginx serves' "$(who "$url/")" '200 nginx'
is 'tcp_syncookies stays' "$(cookies)" 2
launch_copy
ok 'started again: over frames' soon 5 over_frames
stop_saker
is 'and at the end tcp_syncookies is what it was' "$(cookies)" "$cookies_before"
is 'nothing is left beside the pins' "$(in_s ls /sys/fs/bpf | grep -c saker)" 0
finish
