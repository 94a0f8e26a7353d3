#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: exact.sh BUILD_DIR
# 800,000 frames from two CPUs at once to one queue, in generic mode: the XDP program
# runs on both, and each frame is counted once, under its name.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
if [ "$(nproc)" = 1 ]; then
	echo '1..0 # SKIP two senders need two CPUs'
	exit 0
fi
network
each=400000
${CC:-cc} -O2 -Wall -Wextra -Werror -D_GNU_SOURCE -o "$dir/flood" "$here/flood.c" || exit 1
start_saker --io=xdp-generic

for cpu in 0 1; do
	nsenter --net="/run/netns/$client" "$dir/flood" client0 $cpu $each $port $server_mac &
	eval "sender$cpu=\$!"
done
# shellcheck disable=SC2154 # by eval
wait "$sender0" && wait "$sender1"
is 'both senders have sent all' $? 0

# What is still in a backlog comes within milliseconds.
counted() { # NAME
	stat_json | jq ".counters.$1"
}
all_counted() {
	[ "$(counted 'xdp_pass_short + .counters.xdp_pass_port + .counters.xdp_pass_mac + .counters.xdp_redirected')" = $((2 * each)) ]
}
soon 5 all_counted
for name in xdp_pass_short xdp_pass_port xdp_pass_mac xdp_redirected; do
	is "$name: each frame once" "$(counted $name)" $((2 * each / 4))
done
block=$(in_s bpftool map dump pinned "$(pins)/config" | jq '.[0].value.cpu_block')
for cpu in 0 1; do
	is "CPU $cpu saw those of its sender" "$(in_s bpftool map dump pinned "$(pins)/counters" | jq "
		.[$block + $cpu].value | .xdp_pass_short + .xdp_pass_port + .xdp_pass_mac + .xdp_redirected")" $each
done
note "of $(counted xdp_redirected) redirected frames $(counted rx_frames) were read, $(counted rx_ring_full) found the ring full"
is 'what was read had no valid checksum' "$(counted pkt_bad_ip_csum)" "$(counted rx_frames)"
is 'an answer afterwards' "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
stop_saker
finish
