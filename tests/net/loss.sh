#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: loss.sh BUILD_DIR
# Every 20th frame is lost, in each direction. 10,000 requests on 40 connections,
# and every answer is right, in a bounded time.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network
start_saker

in_c tc qdisc add dev client0 clsact
for direction in ingress egress; do
	in_c tc filter add dev client0 $direction bpf da object "$build/drop.bpf.o" section tc
done

in_c timeout 90 "$here/clients/check.py" $server4 $port 10000 40 get post form text pieces > "$dir/check" 2>&1
is '10,000 requests within 90 s, all answers right' "$? $(tail -n 1 "$dir/check")" \
	'0 10000 of 10000 answers right, 0 of 40 connections in trouble'
note < "$dir/check"
in_c timeout 60 "$here/clients/check.py" $server6 $port 3200 10 pipeline > "$dir/check" 2>&1
is '16 at once over IPv6: 3,200 within 60 s, all answers right' "$? $(tail -n 1 "$dir/check")" \
	'0 3200 of 3200 answers right, 0 of 10 connections in trouble'

for direction in ingress egress; do
	id=$(in_c tc -j filter show dev client0 $direction | jq -r '.[].options.prog.id // empty')
	map=$(bpftool -j prog show id "$id" | jq -r '.map_ids[0]')
	frames=$(bpftool -j map dump id "$map" | jq -r '.[0].formatted.value')
	least "$direction: every 20th of many frames was lost" "$frames" 5000
done
least 'we have sent again' "$(counter tcp_retransmits)" 100
is 'no connection was given up' "$(counter tcp_timed_out)" 0
is 'all of it came over AF_XDP' "$(counter sock_accepted)" 0
in_c tc qdisc del dev client0 clsact
sleep 1 # what is still to be sent again comes now
stop_saker
finish
