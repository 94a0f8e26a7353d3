#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: path_loss.sh BUILD_DIR
# A shared port when 2 % of the frames are lost, each way: segments come late, twice and in
# the wrong order, also the first ones, which decide. Every answer is right, and from the
# server whose it is.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=tests/net/path_lib.sh
. "${0%/*}/path_lib.sh"
need_nginx 'a shared port on a bad network'
network_impaired --both=loss=2
start_nginx
start_path

for address in $server4 $server6; do
	in_c "$build/mixed" "$address" $port 8000 128 20 > "$dir/mixed" 2> "$dir/mixed.log"
	is "$address: to its end" $? 0
	note < "$dir/mixed"
	note < "$dir/mixed.log"
	is "$address: all right, none broken, none reset" "$(jq -c \
		'[.web + .ours, .wrong, .errors, .resets, .missing]' "$dir/mixed")" '[8000,0,0,0,0]'
done
least 'the responder has sent again' "$(counter tcp_retransmits)" 50
least 'segments overtook the one that decides' "$(counter xdp_drop_early)" 1
is 'all of it came over AF_XDP' "$(counter sock_accepted)" 0
sleep 1
stop_saker
finish
