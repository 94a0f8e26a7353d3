#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: threads.sh BUILD_DIR
# Two I/O threads on two CPUs, a queue each; and on the rung without queues.
# The client shares CPU 0 with one of them, so everything here is slow.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
if [ "$(nproc)" = 1 ]; then
	echo '1..0 # SKIP two I/O threads need two CPUs'
	exit 0
fi
network 2
# A flow must stay on its queue. A veth sends by the hash that a socket has, and
# Linux gives it another one when it sends again: no card would do that.
nsenter --net="/run/netns/$client" sysctl -qw net.core.txrehash=0 2> /dev/null

ready_line() {
	grep '^saker: ready' "$dir/log"
}

# Of one block: I/O threads 0 and 1, then CPUs.
block() { # NUMBER NAME
	in_s bpftool map dump pinned "$(pins)/counters" | jq ".[$1].value.$2"
}

both() { # WHAT NAME LEAST
	least "$1: thread 0" "$(block 0 "$2")" "$3"
	least "$1: thread 1" "$(block 1 "$2")" "$3"
}

sum() { # NAME: of both threads
	echo $(($(block 0 "$1") + $(block 1 "$1")))
}

refused() { # NAME PATTERN ARGUMENTS...
	refused_name=$1 refused_pattern=$2
	shift 2
	refused_said=$(in_s timeout 20 "$build/saker" -i server0 "$@" 2>&1)
	like "$refused_name" "$? $refused_said" "1 *$refused_pattern*"
}

for rung in xdp-native xdp-generic; do
	start_saker --io=$rung --io-cpu=0,1
	like "$rung: the ready line names both CPUs" "$(ready_line)" '*, 2 queues, I/O CPUs 0,1, *'
	like "$rung: so does /healthz" "$(ask "$url/healthz")" "*$rung*, CPUs 0,1*"
	is "$rung: so does the mode" "$(mode 'io | map(.cpu) | tostring')" '[0,1]'
	ok "$rung: 64 source ports, every answer right" in_c "$here/clients/check.py" $server4 $port 640 64 get post
	if [ $rung = xdp-native ]; then # else a veth says queue 0 of all frames
		both "$rung: frames" rx_frames 100
		both "$rung: frames sent" tx_completed 100
		both "$rung: connections" tcp_opened 2
		both "$rung: answers" http_ok 20
		both "$rung: time that was work" busy_ns 1
	fi
	is "$rung: every connection was one thread's" "$(sum tcp_opened)" 65
	is "$rung: no segment came to the other" "$(counter tcp_stray)" 0
	is "$rung: XDP counts in the blocks behind those of the threads" "$(sum xdp_seen)" 0
	is "$rung: both hearts beat" "$(mode 'io | map(.heartbeat_ns > 0) | all')" true
	is "$rung: the summary has the work of both" \
		"$(in_s bpftool map dump pinned "$(pins)/summary" | jq '.[0].value.start.busy_ns | map(select(. > 0)) | length')" 2
	stop_saker
done

# --- what routers say: read by thread 0, for a connection of either --------------
start_saker --io-cpu=0,1 --drain-s=2
in_c "$here/clients/spoof.py" client0 $client_mac $server_mac $server4 $server6 $port \
	nsenter -t "$holder" -m -n -- "$build/saker-stat" -i server0 --json > "$dir/spoof" 2>&1
status=$?
adopt < "$dir/spoof"
is 'all lies were told, each counted once' $status 0
ok 'sixteen connections take a smaller MTU' in_c timeout 60 "$here/clients/told.py" client0 $client_mac \
	$server_mac $server4 $port 16
sleep 0.2 # the I/O threads show it each 50 ms
both 'a smaller MTU was taken' tcp_mtu_lowered 1
is 'by each once' "$(sum tcp_mtu_lowered)" 18
is 'what was told was judged' "$(counter icmp_told)" "$(counter 'tcp_mtu_lowered + .counters.tcp_mtu_no_less
	+ .counters.tcp_mtu_tiny + .counters.tcp_mtu_not_sent + .counters.tcp_mtu_stray')"

# --- the end, while both compute --------------------------------------------------
in_c curl -sS --parallel --parallel-immediate --parallel-max 16 --max-time 30 -w '%{http_code}\n' -o /dev/null \
	"$url/compute?n=20000000&seed=[1-16]" > "$dir/codes" 2>&1 &
asking=$!
sleep 0.3
unbalanced='they shall not be over before it ends'
stop_saker
unbalanced=
wait $asking
is 'sixteen requests that ran at SIGTERM are answered' "$(grep -c '^200$' "$dir/codes")" 16

# --- sockets of the kernel ---------------------------------------------------------
start_saker --io=socket --io-cpu=0,1
ok 'socket: every answer right' in_c "$here/clients/check.py" $server4 $port 640 64 get post
both 'socket: connections' sock_accepted 2
is 'socket: all of them' "$(sum sock_accepted)" 64
refused 'socket: a second one on the port' 'in use' -p $port --io=socket --io-cpu=0,1
refused 'socket: a second one with one thread' 'in use' -p $port --io=socket --io-cpu=0
is 'socket: the first goes on' "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
stop_saker
start_saker --io=socket
refused 'one thread: a second one with two' 'in use' -p $port --io=socket --io-cpu=0,1
stop_saker

# --- what cannot be -----------------------------------------------------------------
refused 'a CPU that is not there' '--io-cpu=1000: no such CPU' -p $port --io-cpu=0,1000
refused 'a compute CPU that is not there' '--compute-cpus=1000: no such CPU' -p $port --io-cpu=0 --compute-cpus=1000
is 'a CPU that it may not use' "$(in_s taskset -c 0 "$build/saker" -i server0 -p $port --io-cpu=0,1 2>&1 |
	grep -c 'io-cpu=1: this process may not run there')" 1
nsenter --net="/run/netns/$server" ethtool -L server0 rx 1 || fail 'one queue less'
refused 'more threads than queues' '2 I/O threads and 1 RX queue: ethtool -L server0 combined 2' -p $port --io-cpu=0,1
ok 'and nothing is left on the interface' no_xdp_program
start_saker --io=socket --io-cpu=0,1
is 'the socket rung needs no queues' "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
stop_saker
finish
