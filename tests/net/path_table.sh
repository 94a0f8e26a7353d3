#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: path_table.sh BUILD_DIR
# Which connection is whose on a shared port: each decision, as bpf/path.h lists them, by
# real clients. Wire scripts (tests/wire/scripts/path-*) and tests/bpf/test_path.c have
# those for which a kernel's client cannot be made to do it.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=tests/net/path_lib.sh
. "${0%/*}/path_lib.sh"
need_nginx 'which connection is whose'
network
start_nginx

# --- from before the attach -------------------------------------------------------------
spawn_c timeout 60 python3 "$here/clients/shared.py" $server4 $port --old "$dir/old" > "$dir/tap" 2>&1
old=$spawned
soon 10 test -e "$dir/old"
start_path --max-conns=64
rm -f "$dir/old"
wait "$old"
is 'connections from before: to their end' $? 0
adopt < "$dir/tap"
is 'and none of it came over frames' "$(counter tcp_opened)" 0

# --- the table ----------------------------------------------------------------------------
for address in $server4 $server6; do
	in_c timeout 100 python3 "$here/clients/shared.py" "$address" $port > "$dir/tap" 2>&1
	is "$address: to its end" $? 0
	adopt < "$dir/tap"
done
is 'nobody was reset by us' "$(counter 'tcp_reset_out + .counters.tcp_stray')" 0
is 'two that were cut too short got 421' "$(counter http_misdirected)" 2
least 'probes before the first request were kept from the kernel' "$(counter xdp_drop_handshake)" 60
is 'no SYN came over frames' "$(counter tcp_syn)" 0

# --- tagged frames ------------------------------------------------------------------------
# Nobody's kernel has these addresses; the server's must know where they are.
for pair in "10.88.0.77 $server4" "fd88::77 $server6"; do
	source=${pair% *}
	ip -n "$server" neigh replace "$source" lladdr $client_mac dev server0
	in_c python3 "$here/clients/tagged.py" client0 $client_mac $server_mac "$source" "${pair#* }" $port > "$dir/tap" 2>&1
	is "$source: to its end" $? 0
	adopt < "$dir/tap"
done

# --- the map of flows is full ---------------------------------------------------------------
# Of nobody, and as young as can be: 64 connections and 4,096 TIME-WAITs have room.
fill() {
	python3 - "$(pins)/flows" << 'END' | in_s bpftool batch file - > "$dir/fill" 2>&1
import struct, sys, time

since = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
value = struct.pack("<QBxHI", since, 1, 0, 0)
for i in range(64 + 4096):
    key = bytes(10) + b"\xff\xff\x0a\x63" + struct.pack(">H", i) + bytes(10) + b"\xff\xff\x0a\x58\x00\x01"
    key += struct.pack("<HHI", 1000, 8080, 0)
    print("map update pinned", sys.argv[1], "key hex", key.hex(" "), "value hex", value.hex(" "))
END
}
flows() {
	in_s bpftool -j map dump pinned "$(pins)/flows" | jq length
}
emptied() {
	[ "$(flows)" = 0 ]
}
fill
is 'the map of flows is full' "$(flows)" 4160
is 'no room for a flow: the web server proxies it' "$(who "$url/compute?n=1000")" '200 nginx'
least 'and that is counted' "$(counter xdp_pass_flows)" 1
ok 'flows of nobody are swept out' soon 60 emptied
is 'then there is room' "$(who "$url/compute?n=1000")" '200 saker'
stop_saker
finish
