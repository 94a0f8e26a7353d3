#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: load.sh BUILD_DIR
# The load generators that people have, and one that checks every hash, over
# AF_XDP in native mode. CI or FULL=1: 10 s of wrk, else 3.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network
start_saker --io=xdp-native
seconds=3
[ -z "$CI$FULL" ] || seconds=10

# --- wrk ---------------------------------------------------------------------------
in_c wrk -t1 -c32 -d${seconds}s "$url/compute?n=0" > "$dir/wrk" 2>&1
ok "wrk -t1 -c32 -d${seconds}s: requests were answered" grep -q '^ *[1-9][0-9]* requests in' "$dir/wrk"
ok 'wrk: no socket error, no status but 2xx' sh -c '! grep -E "Socket errors|Non-2xx" "$1"' sh "$dir/wrk"

# --- ab: answers differ in length by compute_ns, hence -l ------------------------------
for options in '-k' ''; do
	in_c ab $options -q -l -c 32 -n 10000 "$url/compute?n=0" > "$dir/ab" 2>&1
	is "ab $options: 10,000 complete, none failed" "$(sed -n 's/^\(Complete\|Failed\) requests: *//p' "$dir/ab" | tr '\n' ' ')" \
		'10000 0 '
	ok "ab $options: no status but 2xx" sh -c '! grep Non-2xx "$1"' sh "$dir/ab"
done

# --- h2load -------------------------------------------------------------------------------
for streams in 1 16; do
	in_c h2load --h1 -t1 -c16 -m$streams -n 20000 "$url/compute?n=0" > "$dir/h2load" 2>&1
	like "h2load --h1 -m$streams: all succeeded" "$(cat "$dir/h2load")" \
		'*20000 total, 20000 started, 20000 done, 20000 succeeded, 0 failed, 0 errored, 0 timeout*'
	like "h2load --h1 -m$streams: all 2xx" "$(cat "$dir/h2load")" '*20000 2xx, 0 3xx, 0 4xx, 0 5xx*'
done

# --- node -----------------------------------------------------------------------------------
if command -v node > /dev/null; then
	ok 'Node, keep-alive: 5,000 answers right on 8 sockets' \
		in_c node "$here/clients/node_keepalive.js" $server4 $port 5000 8
else
	skip 'no node' 'Node, keep-alive'
fi

# --- every hash ---------------------------------------------------------------------------------
check() { # NAME ADDRESS REQUESTS CONNECTIONS KIND...
	name=$1 address=$2
	shift 2
	ok "$name" in_c "$here/clients/check.py" "$address" $port "$@"
}
check 'random n, seed and algorithm in the query: every hash' $server4 3000 8 get
check 'in JSON and in forms' $server4 3000 8 post form
check 'as text, and HEAD' $server4 3000 8 text head
check '16 requests in one piece, answers in order' $server4 6400 4 pipeline
check 'requests cut into segments at random' $server4 1000 8 pieces
check 'all of it over IPv6' $server6 3000 16 get post form text head pieces pipeline
check 'all of it, 200 connections' $server4 4000 200 get post form text head pieces pipeline

is 'all of it came over AF_XDP' "$(counter sock_accepted)" 0
is 'no request was turned away' "$(counter http_busy)" 0
is 'no frame was malformed' "$(stat_json |
	jq '[.counters | to_entries[] | select(.key | test("^pkt_(bad|ip|frag)")) | .value] | add')" 0
stop_saker
finish
