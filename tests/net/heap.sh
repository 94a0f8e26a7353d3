#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: heap.sh BUILD_DIR
# 100,000 requests of every kind through the running responder cost no call of the
# allocator, over AF_XDP and over the kernel's sockets. A preloaded library counts.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"

if nm -D "$build/saker" | grep -q __asan_init; then
	echo '1..0 # SKIP the sanitizers bring their own allocator'
	exit 0
fi
"${CC:-cc}" -O2 -fPIC -shared -Wall -Wextra -Werror -o "$dir/heap.so" "$here/heap.c" || exit 1
network

# As lib.sh does, with the library before everything.
launch() { # ARGUMENTS...
	spawn_s env LD_PRELOAD="$dir/heap.so" HEAP_COUNT="$dir/calls" \
		"$build/saker" -i server0 -p $port --io-cpu=$server_cpu "$@" 2> "$dir/log"
	saker=$spawned
}

calls() {
	od -An -td8 -N8 "$dir/calls" | tr -d ' '
}

# h2load for the number, check.py for the kinds.
ask_much() {
	in_c h2load --h1 -t1 -c32 -m4 -n 50000 "$url/compute?n=0" > "$dir/get" 2>&1 &&
		in_c h2load --h1 -t1 -c32 -m4 -n 45000 -H 'Content-Type: application/json' \
			-d "$dir/body" "$url/compute" > "$dir/post" 2>&1 &&
		in_c "$here/clients/check.py" $server4 $port 4000 32 \
			get post form text head pieces pipeline > "$dir/check" 2>&1 &&
		in_c h2load --h1 -t1 -c8 -n 1000 -d "$dir/upload" "$url/echo" > "$dir/echo" 2>&1
}

echo '{"n":1,"seed":"0x2a"}' > "$dir/body"
head -c 16384 /dev/zero > "$dir/upload"
for rung in auto socket; do
	: > "$dir/calls"
	start_saker --io=$rung --cache=100
	least "$rung: the library counts: the start takes memory" "$(calls)" 1
	before=$(calls)
	answered=$(counter http_ok)
	ok "$rung: 100,000 requests" ask_much
	is "$rung: no heap call" $(($(calls) - before)) 0
	least "$rung: all of them were answered 200" $(($(counter http_ok) - answered)) 100000
	stop_saker
done
finish
