#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: interop.sh BUILD_DIR
# Clients that others wrote, each at what it alone does. Load comes in load.sh
# (wrk, ab, h2load, Node's agent), plain curl in basics.sh.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network
start_saker

right=0xa06ae7fd # fnv1a32, n=1000
json='Content-Type: application/json'

# --- curl ----------------------------------------------------------------------
upload() { # CURL_ARGUMENTS...: the body comes from a pipe, so in chunks
	echo '{"n":1000}' | in_c curl -sS --max-time 30 -X POST -T - -H "$json" "$@" 2>&1 | jq -r .hash
}
is 'curl: upload from a pipe, 100-continue and chunks' "$(upload "$url/compute")" $right
is 'curl: the same, not asking first' "$(upload -H 'Expect:' "$url/compute")" $right
is 'curl: the same over IPv6' "$(upload "$url6/compute")" $right
is 'curl: HEAD in HTTP/1.0 over IPv6' "$(ask -0 -I -o "$dir/head" -w '%{http_code} %{http_version}' \
	"$url6/compute?n=1000")" '200 1.1'
is 'curl: keep-alive asked for in HTTP/1.0' "$(ask -0 -H 'Connection: keep-alive' -o "$dir/body" \
	-w '%{num_connects}' "$url/compute?n=[1-3]")" 100
is 'curl: 40 requests on 10 parallel connections' "$(ask -Z --parallel-max 10 -o "$dir/body" \
	-w '%{http_code}\n' "$url/compute?n=[1-40]" | grep -c '^200')" 40
is 'curl: compression offered, none used' "$(ask --compressed -D "$dir/head" "$url/compute?n=1000" |
	jq -r .hash) $(grep -ci '^content-encoding' "$dir/head")" "$right 0"
is 'curl: an offer to upgrade to h2c is passed over' "$(hash_of --http2 "$url/compute?n=1000")" $right
is 'curl: Fast Open, asked for on a SYN' "$(hash_of --tcp-fastopen "$url/compute?n=1000")" $right
is 'curl: read at 400 bytes a second' "$(hash_of --limit-rate 400 "$url/compute?n=1000")" $right
head -c 100000 /dev/zero > "$dir/big"
is 'curl: 413 before 100 KB are sent' "$(ask --data-binary "@$dir/big" -H "$json" -H 'Expect: 100-continue' \
	-o "$dir/body" -w '%{http_code} %{size_upload}' "$url/compute")" '413 0'
is 'curl: 413 while 100 KB are being sent' "$(ask --data-binary "@$dir/big" -H "$json" -H 'Expect:' \
	-o "$dir/body" -w '%{http_code}' "$url/compute")" 413

# HTTP/2 without asking: its preface is one request that is refused by name.
before=$(counter http_h2_preface)
in_c curl -sS --max-time 10 --http2-prior-knowledge "$url/compute" > "$dir/h2" 2>&1
h2_status=$?
ok 'curl: HTTP/2 by prior knowledge ends at once, with an error' \
	test $h2_status -ne 0 -a $h2_status -ne 28
is 'curl: its preface is counted, once' $(($(counter http_h2_preface) - before)) 1
like 'curl: an HTTP proxy we are not' "$(ask -p -x "$url" -o "$dir/body" http://example.org/)" '*501*'

# --- Python, Node ----------------------------------------------------------------
for address in $server4 $server6; do
	in_c timeout 60 "$here/clients/python_client.py" "$address" $port > "$dir/tap" 2>&1
	is "http.client to $address: to its end" $? 0
	adopt < "$dir/tap"
done
if has node 'Node'; then
	for address in $server4 $server6; do
		in_c timeout 60 node "$here/clients/node_client.js" "$address" $port > "$dir/tap" 2>&1
		is "Node to $address: to its end" $? 0
		adopt < "$dir/tap"
	done
fi

# --- hey ---------------------------------------------------------------------------
if has hey 'hey'; then
	for options in '' -disable-keepalive; do
		in_c hey -n 4000 -c 32 $options "$url/compute?n=0" > "$dir/hey" 2>&1
		is "hey${options:+ $options}: 4000 answers, all 200" "$(sed -n 's/^ *\(\[.*\)/\1/p' "$dir/hey" |
			tr -s '\t' ' ')" '[200] 4000 responses'
	done
fi

# --- a browser -----------------------------------------------------------------------
browser=
for one in chromium-headless-shell chromium; do
	[ -n "$browser" ] || ! command -v $one > /dev/null || browser=$one
done
if has "${browser:-chromium}" 'headless Chromium' && has node 'headless Chromium'; then
	in_c timeout 60 node "$here/clients/browser.js" $server4 $port "$browser" > "$dir/tap" 2>&1
	is 'Chromium: to its end' $? 0
	adopt < "$dir/tap"
fi

# --- bulk -------------------------------------------------------------------------------
bulk() { # NAME ADDRESS REQUESTS BYTES DEPTH
	name=$1
	shift
	in_c timeout 60 "$here/clients/bulk.py" "$1" $port "$2" "$3" "$4" > "$dir/bulk" 2>&1
	is "$name" $? 0
	note < "$dir/bulk"
}
bulk 'bulk: 4000 bodies of 8 KiB there and back, 16 under way' $server4 4000 8192 16
bulk 'bulk: the same over IPv6, one at a time' $server6 1000 8192 1
bulk 'bulk: bodies of 1 byte, 64 under way' $server4 4000 1 64

is 'all of it came over AF_XDP' "$(counter sock_accepted)" 0
stop_saker
finish
