#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: path.sh BUILD_DIR [REQUESTS]
# --steer=path under load: nginx and the responder on one port. REQUESTS (100,000) from
# 24 addresses and over IPv6; then without timestamps, behind a stateful firewall, and wrk
# on connections that stay open. `/` is nginx's and /compute the responder's, each time.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=tests/net/path_lib.sh
. "${0%/*}/path_lib.sh"
requests=${2:-100000}
need_nginx 'nginx and the responder on one port'
network
start_nginx
start_path

# Half of the requests are for each; what each answered is what the counters say.
mixed() { # NAME ADDRESS REQUESTS [SOURCE...]
	mixed_name=$1 mixed_address=$2 mixed_half=$(($3 / 2)) mixed_ok=$(counter http_ok)
	mixed_requests=$3
	shift 3
	mixed_resets=$(resets)
	in_c "$build/mixed" "$mixed_address" $port "$mixed_requests" 64 20 "$@" > "$dir/mixed" 2> "$dir/mixed.log"
	is "$mixed_name: to its end" $? 0
	note < "$dir/mixed"
	note < "$dir/mixed.log"
	is "$mixed_name: all right, none broken, none reset" "$(jq -c \
		'[.web + .ours, .wrong, .errors, .resets, .missing]' "$dir/mixed")" "[$mixed_requests,0,0,0,0]"
	least "$mixed_name: half of them for each" "$(jq '[.web, .ours] | min' "$dir/mixed")" \
		$((mixed_half - 64 * 20))
	is "$mixed_name: the responder counted its own, no more and no less" \
		"$(($(counter http_ok) - mixed_ok))" "$(jq .ours "$dir/mixed")"
	is "$mixed_name: neither side sent a RST" $(($(resets) - mixed_resets)) 0
}

# Of the responder, of its kernel, and of the clients' kernel.
resets() {
	resets_ours=$(counter 'tcp_reset_in + .counters.tcp_reset_out + .counters.tcp_stray')
	echo $((resets_ours + $(rsts in_s) + $(rsts in_c)))
}
rsts() { # in_s or in_c
	"$1" nstat -asz TcpOutRsts | awk '$1 == "TcpOutRsts" { print $2 }'
}

sources=
for last in $(seq 10 33); do
	ip -n "$client" address add "10.88.0.$last/24" dev client0 || exit 1
	sources="$sources 10.88.0.$last"
done

# shellcheck disable=SC2086 # words
mixed 'from 24 addresses' $server4 $((requests / 2)) $sources
mixed 'over IPv6' $server6 $((requests / 2))

in_c sysctl -qw net.ipv4.tcp_timestamps=0
mixed 'without timestamps' $server4 20000
mixed 'without timestamps over IPv6' $server6 10000
in_c sysctl -qw net.ipv4.tcp_timestamps=1

if has nft 'behind a stateful firewall'; then
	in_s nft -f - << END
table inet guard {
	counter strays { }
	chain input {
		type filter hook input priority 0
		iifname server0 tcp dport $port ct state new tcp flags & (syn | ack) != syn counter name strays drop
		ct state invalid counter name strays drop
	}
}
END
	is 'nft: new and not SYN is dropped' $? 0
	mixed 'behind a stateful firewall' $server4 20000
	note "dropped by the firewall: $(in_s nft -j list counters | jq -c '[.nftables[].counter // empty | .packets]')"
	in_s nft delete table inet guard
fi
is 'all of it came over AF_XDP' "$(counter sock_accepted)" 0
least 'the kernel was given the others' "$(counter xdp_pass_request)" 100
is 'no flow was turned away' "$(counter 'xdp_pass_flows + .counters.xdp_pass_meta')" 0
stop_saker

# --- connections that stay open: load tools ------------------------------------------------
start_path --path-keepalive
for address in $url $url6; do
	for target in / '/compute?n=0'; do
		wrk_ok=$(counter http_ok)
		in_c wrk -t1 -c32 -d3 "$address$target" > "$dir/wrk" 2>&1
		is "wrk: $address$target: no error" "$? $(grep -Ec 'Socket errors|Non-2xx' "$dir/wrk")" '0 0'
		note "$(grep -E 'Requests/sec' "$dir/wrk")"
		wrk_ok=$(($(counter http_ok) - wrk_ok))
		case $target in
		/) is 'wrk: nginx answered all of it' $wrk_ok 0 ;;
		*) least 'wrk: the responder answered all of it' $wrk_ok \
			"$(awk '/requests in/ { print $1 }' "$dir/wrk")" ;;
		esac
	done
done
is 'and all of that came over AF_XDP' "$(counter sock_accepted)" 0
stop_saker
finish
