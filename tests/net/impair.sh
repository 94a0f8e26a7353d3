#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: impair.sh BUILD_DIR
# Real clients through a bad network: each impairment alone, then all at once.
# Every answer is right, in bounded time; the relay's counts show that the
# network was as bad as it was meant to be, and lost nothing beyond that.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
requests=400 connections=20 bound_s=40
network_impaired
start_saker

(cd "$here/clients" && python3 -c '
from hashes import SEED, compute
for n in range(100):
    print(compute("fnv1a32", n, SEED["fnv1a32"]))') > "$dir/hashes"

relay_count() { # DIRECTION NAME
	jq -r "select(.direction == \"$1\") | .$2" "$dir/relay"
}

relay_books() {
	jq -r '[.seen + .duplicated, .sent + .left + .too_long + .lost_in_burst + .lost + .overflow,
		.overflow + .missed + .refused] |
		if .[0] == .[1] and .[2] == 0 then empty else . end' "$dir/relay"
}

python_right() { # NAME ADDRESS KIND...
	python_name=$1
	shift
	in_c timeout $bound_s "$here/clients/check.py" "$1" $port $requests $connections "$2" "$3" \
		"$4" "$5" > "$dir/check" 2>&1
	is "$python_name: $requests requests within $bound_s s, all answers right" \
		"$? $(tail -n 1 "$dir/check")" \
		"0 $requests of $requests answers right, 0 of $connections connections in trouble"
	grep '^trouble' "$dir/check" | note
}

# One connection for all; the hashes are those of n = 0 ... 99.
curl_right() { # NAME
	ask --max-time $bound_s -H 'Accept: text/plain' "$url/compute?n=[0-99]" > "$dir/curl"
	ok "$1: curl asks 100 times, all hashes right" cmp "$dir/hashes" "$dir/curl"
}

# COUNT is what the relay must have done at least LEAST times in each direction.
under() { # NAME COUNT LEAST OPTIONS...
	name=$1 what=$2 wanted=$3
	shift 3
	impair_end
	impair "$@"
	python_right "$name" $server4 get post pieces pipeline
	curl_right "$name"
	impair_end
	note < "$dir/relay"
	is "$name: the relay lost no other frame" "$(relay_books)" ''
	for direction in to_server to_client; do
		least "$name: $what $direction" "$(relay_count $direction "$what")" "$wanted"
	done
	impair
}

under 'no impairment' sent 300
is 'and it does nothing' "$(jq -c '[.seen - .sent, .delayed, .held, .duplicated, .corrupted] |
	add' "$dir/relay" | tr '\n' ' ')" '0 0 '
under 'loss' lost 10 --both=loss=5
under 'bursts of loss' lost_in_burst 3 --both=burst=2/50
under 'delay and jitter' delayed 300 --both=delay=2,jitter=6
under 'overtaken by one' overtaken 50 --both=reorder=25
under 'overtaken by five' overtaken 15 --both=reorder=10,by=5,hold=5
under 'duplicates' duplicated 50 --both=duplicate=20
under 'all at once' corrupted 1 --seed=7 \
	--both=loss=2,burst=0.3/30,delay=1,jitter=2,reorder=10,duplicate=5,corrupt=1

# --- a bit flips: a checksum must show it ------------------------------------------------

refused_frames() {
	stat_json | jq '.counters | to_entries | map(select(.key |
		startswith("pkt_bad_") or test("^pkt_(ip_options|fragment)$|^xdp_pass_"))) |
		map(.value) | add'
}

client_csum_errors() {
	in_c awk '$1 != "Tcp:" { next }
		!seen++ { for (i = 2; i <= NF; i++) name[i] = $i; next }
		{ for (i in name) if (name[i] == "InCsumErrors") print $i }' /proc/net/snmp
}

refused_before=$(refused_frames) errors_before=$(client_csum_errors)
under 'flipped bits' corrupted 8 --both=corrupt=5
flipped=$(relay_count to_server corrupted)
least 'the responder refused each frame with a flipped bit' \
	$(($(refused_frames) - refused_before)) "$flipped"
least "and the clients' kernel did" $(($(client_csum_errors) - errors_before)) 3

# --- IPv6, no header checksum --------------------------------------------------------------

impair_end
impair --both=loss=2,reorder=20,duplicate=5,corrupt=1 --seed=6
python_right 'all at once over IPv6' $server6 get post pieces pipeline
impair_end
is 'all at once over IPv6: the relay lost no other frame' "$(relay_books)" ''

# --- long frames disappear, and no ICMP says so ----------------------------------------------

# The client's own MTU probing (RFC 4821) finds the way; we must take what comes.
impair --to-server=mtu=1100
in_c sysctl -qw net.ipv4.tcp_mtu_probing=1 net.ipv4.tcp_base_mss=900
printf '%8000s{"n":1000}' '' > "$dir/body"
is 'an upload whose long frames are lost gets through' "$(ask --max-time $bound_s \
	-H 'Content-Type: application/json' -H 'Accept: text/plain' -H 'Expect:' \
	--data-binary "@$dir/body" "$url/compute")" 0xa06ae7fd
impair_end
least 'long frames were lost' "$(relay_count to_server too_long)" 2
# What a SYN says of the client's MTU holds for us.
impair --to-client=mtu=600
ip -n "$client" link set client0 mtu 600
python_right 'no frame is longer than the MSS of the client allows' $server4 get post pieces pipeline
impair_end
is 'none was lost for that' "$(relay_count to_client too_long)" 0

is 'no connection was given up' "$(counter tcp_timed_out)" 0
is 'all of it came over AF_XDP' "$(counter sock_accepted)" 0
impair
sleep 1 # what is still to be sent again comes now
stop_saker
impair_end
finish
