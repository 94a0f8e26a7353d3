#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: http.sh BUILD_DIR
# Bodies that come back, refusals that reach a client which is still sending, results
# that were computed before; over AF_XDP and over the kernel's sockets.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network

upload() { # HOW
	in_c "$here/clients/upload.py" $server4 $port "$1"
}

echoes() { # BYTES CURL_ARGUMENTS...: the body comes back as it is
	head -c "$1" /dev/urandom > "$dir/sent"
	shift
	ask --data-binary "@$dir/sent" -o "$dir/came" "$@" "$url/echo" && cmp "$dir/sent" "$dir/came"
}

cached() { # CURL_ARGUMENTS...: what the answer says of the cache
	ask -o "$dir/body" -D - "$@" | tr -d '\r' | sed -n 's/^X-Saker-Cache: //p'
}

for rung in auto socket; do
	start_saker --io=$rung --cache=2
	for bytes in 1 1000 16384; do
		ok "$rung: /echo of $bytes bytes" echoes $bytes
	done
	ok "$rung: /echo of 16384 bytes in chunks" echoes 16384 -H 'Transfer-Encoding: chunked'
	ok "$rung: /echo behind 100 Continue" echoes 16384 -H 'Expect: 100-continue'
	is "$rung: GET /echo is empty" "$(ask -w '%{http_code} %{content_type}' "$url/echo")" '200 text/plain'
	head -c 16385 /dev/zero > "$dir/long"
	is "$rung: a byte more than --max-body" \
		"$(ask --data-binary "@$dir/long" -o "$dir/body" -w '%{http_code}' "$url/echo")" 413
	ok "$rung: chunks of all sizes" upload chunks
	ok "$rung: 64 pipelined bodies, none read before all are on their way" upload pipelined
	ok "$rung: who goes on sending 200 kB reads the refusal" upload refused
	is "$rung: no connection was reset for it" "$(counter tcp_reset_out)" 0

	before=$(counter http_h2_preface)
	ask --http2-prior-knowledge "$url/echo" > "$dir/body"
	is "$rung: the preface of HTTP/2 is counted" $(($(counter http_h2_preface) - before)) 1
	is "$rung: an upgrade to h2c is not made" \
		"$(ask --http2 -w '%{http_code} %{http_version}' "$url/echo")" '200 1.1'

	is "$rung: cache: first" "$(cached "$url/compute?n=1000")" miss
	is "$rung: cache: again" "$(cached "$url/compute?n=1000")" hit
	is "$rung: cache: the result" "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
	is "$rung: cache: by form" "$(cached -d n=1000 "$url/compute")" hit
	is "$rung: cache: HEAD" "$(cached -I "$url/compute?n=1000")" hit
	is "$rung: cache: two others" "$(cached "$url/compute?n=1&seed=1")$(cached "$url/compute?n=2")" missmiss
	is "$rung: cache: it was the oldest" "$(cached "$url/compute?n=1000")" miss
	is "$rung: cache: counted" "$(counter http_cache_hits) $(counter http_cache_misses)" '4 4'
	stop_saker

	start_saker --io=$rung --max-body=1048576
	ok "$rung: /echo of 1 MiB" echoes 1048576
	ok "$rung: /echo of 1 MiB in chunks" echoes 1048576 -H 'Transfer-Encoding: chunked'
	is "$rung: without --cache nothing is said of it" "$(cached "$url/compute?n=1000")" ''
	stop_saker
done
finish
