#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: bad.sh BUILD_DIR
# Malformed frames and requests, one at a time: each moves exactly the counter
# that names it, and every request that can be recognised gets its 4xx.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network
ip -n "$client" link set dev client0 multicast off # fewer words of the kernel's own
start_saker

in_c "$here/clients/bad.py" client0 $client_mac $server_mac $server4 $server6 $port \
	nsenter -t "$holder" -m -n -- "$build/saker-stat" -i server0 --json > "$dir/bad" 2> "$dir/trouble"
is 'all cases were tried' "$? $(cat "$dir/trouble")" '0 '
adopt < "$dir/bad"

is 'it serves on' "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
stop_saker
finish
