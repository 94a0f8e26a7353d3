#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: odd.sh BUILD_DIR
# Segments that the responder does not take, IPv4 options and fragments, IPv6
# extension headers, must not reach the kernel on a connection that it does not
# have: it would answer with RST (failure mode 32). With an MTU at which a frame would not
# fit its chunk the kernel's sockets serve, until it is smaller again.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network
# The address that no kernel has: ours could answer it, and must not.
ip -n "$server" neigh add 10.88.0.77 lladdr $client_mac dev server0
ip -n "$server" neigh add fd88::77 lladdr $client_mac dev server0
start_saker

in_c "$here/clients/odd.py" client0 $client_mac $server_mac $server4 $server6 $port \
	nsenter -t "$holder" -m -n -- "$build/saker-stat" -i server0 --json > "$dir/odd" 2>&1
status=$?
adopt < "$dir/odd"
is 'all cases ran' $status 0
is 'the kernel had no connection' "$(counter sock_accepted)" 0

# Had it been so before, the responder would have refused to start.
ip -n "$client" link set client0 mtu 3000
ip -n "$server" link set server0 mtu 3000
ok 'a frame longer than a chunk is possible: the socket rung serves' soon 3 comes sock_accepted
ok 'and it is said' grep -q 'MTU.*3000' "$dir/log"
ip -n "$server" link set server0 mtu 1500
ip -n "$client" link set client0 mtu 1500
ok 'it is not any more: frames again' soon 3 over_frames
stop_saker
finish
