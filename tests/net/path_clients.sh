#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: path_clients.sh BUILD_DIR
# Clients that others wrote get both paths of one origin, in any order, on connections that
# they keep as they like: never a 421, never the other server's answer.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=tests/net/path_lib.sh
. "${0%/*}/path_lib.sh"
need_nginx 'clients of both'
network
start_nginx
start_path
right=0xa06ae7fd # fnv1a32, n=1000

both='/ /compute?n=1000 /compute?n=1000 / / /compute?n=1000 /'
for origin in $url $url6; do
	set --
	for target in $both; do
		set -- "$@" -o "$dir/one$#" "$origin$target"
	done
	ask -w '%{http_code}\n' "$@" > "$dir/codes"
	is "curl: $origin: one command, both paths" "$(sort "$dir/codes" | uniq -c | tr -s ' ' | tr -d '\n') $(
		cat "$dir"/one* | grep -c "the page") $(cat "$dir"/one* | grep -c $right)" ' 7 200 4 3'
	rm -f "$dir"/one*
	is "curl: $origin: 10 parallel connections" "$(ask -Z --parallel-max 10 -o "$dir/body" \
		-w '%{http_code}\n' "$origin/compute?n=[1-100]" -o "$dir/body" "$origin/?[1-100]" | grep -c '^200')" 200
done
is 'curl: HTTP/1.0' "$(who -0 "$url/compute?n=1000") $(who -0 "$url/")" '200 saker 200 nginx'
is 'curl: an offer of h2c' "$(who --http2 "$url/compute?n=1000") $(who --http2 "$url/")" '200 saker 200 nginx'
head -c 3000 /dev/zero | tr '\0' ' ' > "$dir/big"
printf '{"n":1000}' >> "$dir/big"
is 'curl: POST of 3 KB, 100-continue' "$(ask --data-binary "@$dir/big" -H 'Expect: 100-continue' \
	-H 'Content-Type: application/json' "$url/compute" | jq -r .hash)" $right

# A pool each: requests has one connection a host, Node's agent several.
for address in $server4 $server6; do
	for name in http.client requests; do
		has_module $name "Python's $name to $address" || continue
		in_c timeout 60 python3 "$here/clients/origin.py" "$address" $port $name > "$dir/tap" 2>&1
		is "Python's $name to $address: to its end" $? 0
		adopt < "$dir/tap"
	done
	if has node 'Node'; then
		in_c timeout 60 node "$here/clients/origin.js" "$address" $port > "$dir/tap" 2>&1
		is "Node to $address: to its end" $? 0
		adopt < "$dir/tap"
	fi
done

browser=
for one in chromium-headless-shell chromium; do
	[ -n "$browser" ] || ! command -v $one > /dev/null || browser=$one
done
if has "${browser:-chromium}" 'headless Chromium' && has node 'headless Chromium'; then
	SHARED=1 in_c timeout 60 node "$here/clients/browser.js" $server4 $port "$browser" > "$dir/tap" 2>&1
	is 'Chromium: to its end' $? 0
	adopt < "$dir/tap"
fi

is 'nobody was told that he had come to the wrong one' "$(counter http_misdirected)" 0
least 'the responder served many over frames' "$(counter tcp_opened)" 200
stop_saker
finish
