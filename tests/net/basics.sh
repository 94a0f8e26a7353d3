#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: basics.sh BUILD_DIR
# What a newcomer does with curl, over AF_XDP; IO: over another rung.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network
start_saker

is 'GET /compute: 10 million rounds' "$(hash_of "$url/compute")" 0x25be6645
like 'the answer names what was computed' "$(ask "$url/compute?n=1000&seed=42&alg=fnv1a64")" \
	'{"alg":"fnv1a64","n":1000,"seed":"0x000000000000002a","hash":"0xba9736e0fa008962","compute_ns":[0-9]*}'
is 'POST with JSON' "$(hash_of -H 'Content-Type: application/json' \
	-d '{"n":1000,"seed":42,"alg":"mix64"}' "$url/compute")" 0x48fc1df56a949038
is 'POST with a form' "$(hash_of -d 'n=1000&seed=42' "$url/compute")" 0xe0d6c7e2
is 'POST that waits for 100 Continue' "$(hash_of -H 'Content-Type: application/json' \
	-H 'Expect: 100-continue' -d '{"n":1000}' "$url/compute")" 0xa06ae7fd
is 'POST in chunks' "$(hash_of -H 'Content-Type: application/json' \
	-H 'Transfer-Encoding: chunked' -d '{"n":1000}' "$url/compute")" 0xa06ae7fd
is 'Accept: text/plain gives the bare hash' \
	"$(ask -H 'Accept: text/plain' "$url/compute?n=1000")" 0xa06ae7fd
is 'over IPv6' "$(hash_of "$url6/compute?n=1000")" 0xa06ae7fd
is 'HTTP/1.0' "$(hash_of --http1.0 "$url/compute?n=1000")" 0xa06ae7fd
is 'HEAD has a length and no body' "$(ask -I -o "$dir/head" \
	-w '%{http_code} %{size_download}' "$url/compute?n=1000") $(grep -ci '^content-length: [1-9]' "$dir/head")" \
	'200 0 1'
is 'OPTIONS' "$(ask -X OPTIONS -o "$dir/body" -w '%{http_code}' "$url/compute")" 204
is 'five requests, one connection' "$(ask -o "$dir/body" -w '%{num_connects}' \
	"$url/compute?n=[1-5]" | tr -d '\n')" 10000
is 'Connection: close is kept' "$(ask -o "$dir/body" -H 'Connection: close' -w '%{num_connects}' \
	"$url/compute?n=[1-3]")" 111
like '/healthz tells the rung' "$(ask "$url/healthz")" "*${IO:-xdp-native}*"

is 'they came through AF_XDP: no connection of the kernel' "$(counter sock_accepted)" 0
is 'every frame to the port was redirected' "$(counter 'xdp_redirected > 50')" true
is 'receiving is proven' "$(mode rx)" proven
is 'sending is proven' "$(mode tx)" proven
like 'a stage has times' "$(stat_json | jq -r .start.stages.compute.mean_ns)" '[1-9]*'
stop_saker
finish
