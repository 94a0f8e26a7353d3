#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: conns.sh BUILD_DIR
# saker-stat conns, where ss sees nobody.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network
start_saker --max-conns=64 --idle-timeout=60 --body-timeout=60

conns() { # ARGUMENTS...
	in_s "$build/saker-stat" conns -i server0 "$@"
}

# Of the one connection that does this.
doing() { # WHAT JQ
	conns --json --state="$1" | jq -r ".conns | if length == 1 then .[0] | $2 else length end"
}

listed() { # HOW MANY ARGUMENTS...
	listed_wanted=$1
	shift
	[ "$(conns --json "$@" | jq '.conns | length')" = "$listed_wanted" ]
}

is 'nobody is there' "$(conns | wc -l) $(conns --json | jq -c '[.connections, .conns]')" '1 [0,[]]'

# Clients that stay as they are.
mkfifo "$dir/hold"
exec 9<> "$dir/hold" # does not wait for the other end
spawn_c "$here/clients/poses.py" $server4 $server6 $port "$dir/hold" > "$dir/poses"
soon 10 grep -q '^ready' "$dir/poses" || fail 'the clients stand'
port_of() { # POSE
	sed -n "s/^$1 //p" "$dir/poses"
}

ok 'all are listed' soon 5 listed 5
ok 'two by IPv4 are idle, one of them after a request' soon 5 listed 1 --state=idle --peer=$client4
is 'idle: its peer, our port, one request' "$(doing idle '[.peer, .peer_port, .local_port, .requests, .socket] | tostring')" \
	"[\"$client4\",$(port_of idle),$port,1,false]"
like 'idle: round trip, window and time-out' "$(doing idle '"\(.srtt_us) \(.rto_us >= 200000) \(.cwnd >= 10 * .mss) \(.state) \(.mss)"')" \
	'[1-9]* true true established 14[46]*'
is 'idle: the bytes of its request' "$(doing idle .bytes_in)" "$(port_of asked)"
is 'a body that does not come on' "$(doing body '[.peer_port, .requests] | tostring')" "[$(port_of body),0]"
ok 'in a lane' soon 5 listed 1 --state=lane
is 'in a lane: over IPv6' "$(doing lane '[.peer, .peer_port] | tostring')" "[\"$client6\",$(port_of lane)]"
ok 'who reads nothing: an answer is not taken' soon 10 listed 1 --state=answering
is 'who reads nothing: its window is shut' "$(doing answering '[.peer_port, .window < .mss, .unsent > 0] | tostring')" \
	"[$(port_of deaf),true,true]"
is 'half a head' "$(doing head .peer_port)" "$(port_of head)"
is '--peer with a port: one' "$(conns --json --peer="[$client6]:$(port_of lane)" | jq '.conns | length')" 1
is '--peer of nobody: none' "$(conns --json --peer=10.1.2.3 | jq '[.connections, (.conns | length)] | tostring')" '"[5,0]"'
is '--sort=peer' "$(conns --json --sort=peer | jq '.conns | map([.peer, .peer_port]) | . == sort_by(.[0] == "'$client6'", .[1]) or .[0][0] == "'$client6'"')" true
is '--sort=in: the most first' "$(conns --json --sort=in | jq '.conns | map(-.bytes_in) | . == sort')" true
is 'the table has a line for each' "$(conns | grep -c established)" 5
like 'with its peer' "$(conns --state=idle | tail -n 1)" "$client4:$(port_of idle) * established *idle * 1 *"
is 'ss sees none of them' "$(in_s ss -Htn | wc -l)" 0
is 'bpftool names the fields, and the states' "$(in_s bpftool map dump pinned "$(pins)/conns" |
	jq -r '[.[].value | select(.state != "CONN_free") | .doing] | sort | join(" ")')" \
	'DOING_answering DOING_body DOING_head DOING_idle DOING_lane'
is 'a word that is no state' "$(conns --state=asleep > "$dir/out" 2>&1; echo $?)" 2
least 'below 128 KiB for 1,024 connections' $((128 * 1024)) $(((1024 + 256) * $(in_s bpftool -j map show pinned "$(pins)/conns" | jq .bytes_value)))

# --- loss: of what comes to the client every 20th frame is lost --------------------
in_c tc qdisc add dev client0 clsact
in_c tc filter add dev client0 ingress bpf da object "$build/drop.bpf.o" section tc
echo 100 >&9
asked() {
	[ "$(conns --json --peer="$client4:$(port_of idle)" | jq -c '.conns[0] | [.requests, .unacked, .doing]')" = '[101,0,"idle"]' ]
}
ok 'idle asks 100 times more, each answer arrives' soon 20 asked
in_c tc qdisc del dev client0 clsact
least 'but some were sent again' "$(conns --json --peer="$client4:$(port_of idle)" | jq '.conns[0].retransmits')" 1

# --- who has crashed ---------------------------------------------------------------
kill -9 "$saker"
wait "$saker" 2> /dev/null
is 'of one that crashed: the list as it was' "$(conns --json | jq '.conns | length')" 5
like 'and it is said' "$(conns | head -n 1)" '*GONE*'

# --- sockets of the kernel -----------------------------------------------------------
soon 5 unheard
start_saker --io=socket --max-conns=64
spawn_c nc -d $server4 $port
ok 'a socket of the kernel is listed' soon 5 listed 1 --state=socket
is 'as such' "$(conns --json | jq -c '.conns[0] | [.peer, .local_port, .socket, .doing, .cwnd, .retransmits]')" \
	"[\"$client4\",$port,true,\"idle\",null,null]"
like 'in the table too' "$(conns | tail -n 1)" "$client4:* socket * idle *"
kill "$spawned"
ok 'and no more when it has gone' soon 5 listed 0
stop_saker
finish
