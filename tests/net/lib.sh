# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0-only
# lib.sh - two network namespaces, the responder in one, clients in the other; TAP
#
#   namespace of the clients                namespace of the responder
#   CPU 0                                   CPU 1 (the I/O thread)
#   +-----------------------+               +--------------------------+
#   | client0               |               |                  server0 | <- XDP
#   | 10.88.0.2  fd88::2    |----- veth ----|     10.88.0.1  fd88::1   |
#   | 02:00:00:00:88:02     |               |     02:00:00:00:88:01    |
#   +-----------------------+               +--------------------------+
#
# Or, by network_impaired, with a third one between the two, where impair.c hands
# frames from one veth to the other and spoils some.
#
# Place    Every tests/net/*.sh sources it and is called with BUILD_DIR. What it
#          starts ends with it, by process number; the namespaces go, and with
#          them the veth and the file system of pins.
# client0  Its tx offloads are off: a veth leaves checksums to a card that is
#          not there, and the responder verifies every one. It needs no XDP program:
#          AF_XDP sends on a veth like any socket does; only XDP_TX and
#          redirects *to a veth* want a program at the other end.
# server   `ip netns exec` mounts a fresh /sys each time. One sleeping process
#          keeps a mount namespace with a BPF file system, and everything runs in
#          that one, so that a pin outlives the command that made it.

build=$(cd "$1" && pwd) || exit 1
here=$(cd "${0%/*}" && pwd) || exit 1
PATH=$PATH:/usr/sbin:/sbin
export PYTHONDONTWRITEBYTECODE=1

client=saker-net-$$-client
server=saker-net-$$-server
relay=saker-net-$$-relay # only of network_impaired
server4=10.88.0.1 server6=fd88::1 server_mac=02:00:00:00:88:01
# shellcheck disable=SC2034 # scripts use them
client4=10.88.0.2 client6=fd88::2 client_mac=02:00:00:00:88:02
port=8080
# shellcheck disable=SC2034
url=http://$server4:$port url6="http://[$server6]:$port"
# The rung that is asked for where a script does not say (run.sh); and where its frames go.
io=${IO:+--io=$IO} inlets=xsks_map
# shellcheck disable=SC2034
[ "$IO" != packet ] || inlets=frames_q
client_cpu=0 server_cpu=0
[ "$(nproc)" = 1 ] || server_cpu=1

# --- TAP -----------------------------------------------------------------------

count=0

note() { # TEXT, or stdin
	if [ $# = 0 ]; then sed 's/^/# /'; else echo "$*" | sed 's/^/# /'; fi
}

pass() { # NAME
	count=$((count + 1))
	echo "ok $count - $1"
}

fail() { # NAME [DETAIL]
	count=$((count + 1))
	echo "not ok $count - $1"
	[ -z "$2" ] || note "$2"
}

skip() { # REASON NAME
	count=$((count + 1))
	echo "ok $count - $2 # SKIP $1"
}

# The command's output is shown when it fails.
ok() { # NAME COMMAND...
	ok_name=$1
	shift
	if ok_out=$("$@" 2>&1); then pass "$ok_name"; else fail "$ok_name" "status $?: $*
$ok_out"; fi
}

is() { # NAME GOT WANTED
	if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "got '$2', wanted '$3'"; fi
}

# PATTERN is one of the shell's.
like() { # NAME TEXT PATTERN
	# shellcheck disable=SC2254 # it is meant as a pattern
	case $2 in
	$3) pass "$1" ;;
	*) fail "$1" "got '$2', wanted like '$3'" ;;
	esac
}

# Is $2 a number that is at least $3?
least() { # NAME GOT WANTED
	if [ "$2" -ge "$3" ] 2> /dev/null; then pass "$1"; else fail "$1" "got '$2', wanted at least $3"; fi
}

# A tool that few have. tools/deps brings it under CI or FULL=1: then its absence
# is a failure, not a skip.
has() { # COMMAND NAME
	command -v "$1" > /dev/null || absent "$1" "$2"
}

has_module() { # PYTHON_MODULE NAME
	python3 -c "import $1" 2> /dev/null || absent "python3-$1" "$2"
}

absent() { # TOOL NAME
	if [ -n "$CI$FULL" ]; then fail "$2" "no $1: tools/deps install"; else skip "no $1" "$2"; fi
	return 1
}

# Lines "ok - NAME" or "not ok - NAME" and comments, as the clients print them.
adopt() {
	while IFS= read -r adopt_line; do
		case $adopt_line in
		'ok - '*) pass "${adopt_line#ok - }" ;;
		'not ok - '*) fail "${adopt_line#not ok - }" ;;
		*) note "$adopt_line" ;;
		esac
	done
}

finish() {
	echo "1..$count"
	exit 0
}

# --- processes -------------------------------------------------------------------

dir=$(mktemp -d) || exit 1
chmod 755 "$dir"
spawned_all=
holder=

in_s() { # COMMAND...: beside the responder
	nsenter -t "$holder" -m -n -- "$@"
}

in_c() { # COMMAND...: where the clients are
	nsenter --net="/run/netns/$client" -- taskset -c "$client_cpu" "$@"
}

# In the background; the number is in $spawned. nsenter and taskset become the
# command, so the number is the command's own.
spawn_s() { # COMMAND...
	nsenter -t "$holder" -m -n -- "$@" &
	spawned=$!
	spawned_all="$spawned_all $spawned"
}

spawn_c() { # COMMAND...
	nsenter --net="/run/netns/$client" -- taskset -c "$client_cpu" "$@" &
	spawned=$!
	spawned_all="$spawned_all $spawned"
}

# Try for SECONDS; false when they have gone by.
soon() { # SECONDS COMMAND...
	soon_tries=$(($1 * 20))
	shift
	until "$@" > /dev/null 2>&1; do
		soon_tries=$((soon_tries - 1))
		[ $soon_tries -gt 0 ] || return 1
		sleep 0.05
	done
}

# A dying process keeps its sockets for as long as its AF_XDP rings take to go.
unheard() {
	[ -z "$(in_s ss -Hltn "sport = :$port")" ]
}

gone() { # NUMBER
	! kill -0 "$1" 2> /dev/null
}

is_child() { # NUMBER
	[ "$(ps -o ppid= -p "$1" | tr -d ' ')" = $$ ]
}

clear_up() {
	trap '' INT TERM HUP
	for one in $spawned_all $holder; do
		is_child "$one" || continue # its number may be somebody else's by now
		kill -9 "$one"
		wait "$one" 2> /dev/null
	done
	for one in "$client" "$server" "$relay"; do
		ip netns del "$one" 2> /dev/null
	done
	rm -rf "$dir"
}

trap clear_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# --- the network -------------------------------------------------------------------

set_up() { # NAMESPACE INTERFACE MAC IPV4 IPV6
	ip -n "$1" link set lo up &&
		ip -n "$1" link set "$2" address "$3" &&
		ip -n "$1" address add "$4/24" dev "$2" &&
		ip -n "$1" address add "$5/64" dev "$2" nodad &&
		ip -n "$1" link set "$2" up
}

# Only then is it in both namespaces, with the file system mounted.
holder_sleeps() {
	[ "$(cat "/proc/$holder/comm")" = sleep ]
}

# Of interfaces that are there, in namespaces that are there.
network_up() {
	set_up "$server" server0 $server_mac $server4 $server6 &&
		set_up "$client" client0 $client_mac $client4 $client6 &&
		nsenter --net="/run/netns/$client" ethtool -K client0 tx off > /dev/null || exit 1
	ip netns exec "$server" sh -c 'mount -t bpf bpf /sys/fs/bpf && exec sleep infinity' &
	holder=$!
	soon 5 holder_sleeps || exit 1
}

# Interfaces of this machine that are wired to each other: NICS='eth0 eth1'. From the
# namespaces of the test before they come back by themselves, under the names of here.
nics_up() {
	for one in server0 client0; do
		[ -e "/sys/class/net/${NICS%% *}" ] && ip link set "${NICS%% *}" name $one
		NICS=${NICS#* }
		soon 10 test -e /sys/class/net/$one || exit 1
	done
	ip link set server0 netns "$server" && ip link set client0 netns "$client" || exit 1
}

network() { # [QUEUES]
	for one in "$client" "$server"; do
		ip netns add "$one" || exit 1
	done
	if [ -n "$NICS" ]; then
		nics_up
		network_up
		return
	fi
	ip link add server0 netns "$server" numrxqueues "${1:-1}" numtxqueues "${1:-1}" type veth \
		peer name client0 netns "$client" numrxqueues "${1:-1}" numtxqueues "${1:-1}" || exit 1
	network_up
}

# client0 - client1 [relay] server1 - server0. A relay forwards frames as they
# are: kernel TCP at either end must make whole ones, no longer than the MTU.
network_impaired() { # OPTIONS...: of impair
	for one in "$client" "$server" "$relay"; do
		ip netns add "$one" || exit 1
	done
	nsenter --net="/run/netns/$relay" sysctl -qw net.ipv6.conf.default.disable_ipv6=1 || exit 1
	for one in client server; do
		eval "one_end=\$$one"
		# shellcheck disable=SC2154 # by eval
		ip link add ${one}0 netns "$one_end" type veth peer name ${one}1 netns "$relay" &&
			ip -n "$relay" link set ${one}1 up || exit 1
	done
	nsenter --net="/run/netns/$server" ethtool -K server0 tx off > /dev/null || exit 1
	network_up
	impair "$@"
}

relay_ready() {
	grep -q '^impair: ready' "$dir/relay.log"
}

# Beside the clients: the responder's CPU never sleeps.
impair() { # OPTIONS...: from now on
	rm -f "$dir/relay.log"
	nsenter --net="/run/netns/$relay" taskset -c "$client_cpu" "$build/impair" "$@" \
		client1 server1 > "$dir/relay.out" 2> "$dir/relay.log" &
	relaying=$!
	spawned_all="$spawned_all $relaying"
	soon 5 relay_ready && return
	fail "the relay becomes ready: impair $*" "$(cat "$dir/relay.log")"
	finish
}

# The counts are in $dir/relay then, a line of JSON for each direction.
impair_end() {
	kill -TERM "$relaying"
	wait "$relaying"
	mv "$dir/relay.out" "$dir/relay"
}

xdp_program() { # what XDP program is on server0, as JSON; false: none
	ip -n "$server" -j -d link show dev server0 | jq -ce '.[0].xdp | select(.)'
}

no_xdp_program() {
	! xdp_program
}

tc_program() { # is a program of ours at tc ingress of server0, by tcx or clsact?
	in_s "$build/attached" server0
}

our_program() { # its id
	if [ "$IO" = packet ]; then tc_program | cut -d' ' -f2; else xdp_program | jq .prog.id; fi
}

no_program() {
	no_xdp_program && ! tc_program
}

# --- the responder --------------------------------------------------------------------

launch() { # ARGUMENTS...: start it, do not wait
	# shellcheck disable=SC2086 # a word or none
	spawn_s "$build/saker" -i server0 -p $port --io-cpu=$server_cpu $io "$@" 2> "$dir/log"
	saker=$spawned
}

is_ready() {
	grep -q '^saker: ready' "$dir/log"
}

ready_or_gone() {
	is_ready || gone "$saker"
}

start_saker() { # ARGUMENTS...
	launch "$@"
	soon 20 ready_or_gone
	is_ready && return
	fail "the responder becomes ready: saker $*" "$(cat "$dir/log")"
	finish
}

# Leaves its exit status in $status; 137 when it had to be killed.
reap() {
	soon 20 gone "$saker" || kill -9 "$saker"
	wait "$saker"
	status=$?
}

# The books are closed first; unbalanced is set where they cannot be read. The log goes
# to the TAP stream when it did not end well.
unbalanced=
stop_saker() {
	[ -n "$unbalanced" ] || balance
	kill -TERM "$saker"
	reap
	[ $status = 0 ] || note < "$dir/log"
	is "the responder ends with status 0 at SIGTERM" $status 0
}

# --- what it says ---------------------------------------------------------------------

stat_json() {
	in_s "$build/saker-stat" -i server0 --json
}

counter() { # NAME
	stat_json | jq -r ".counters.$1"
}

mode() { # FIELD
	stat_json | jq -r ".mode.$1"
}

pins() { # the directory of its maps
	echo "/sys/fs/bpf/saker/server0@$(in_s stat -L -c %i /proc/self/ns/net)"
}

# What is wrong with the books: all that begins ends under one name, or is there now
# (docs/maps.md has the equations). Empty when right. The verdicts on segments are
# those from tcp_syn to tcp_timewait, the answers those from http_ok to
# http_h2_preface, in abi.h's order.
# shellcheck disable=SC2016 # jq's dollars
books='
. as $all | .counters as $c
| def sum(f): [$c | to_entries[] | select(.key | f) | .value] | add;
  def span(a; b): [$c | to_entries | .[(map(.key) | index(a)):(map(.key) | index(b)) + 1][].value] | add;
  def now(f): [$all.gauges[] | f] | add;
  def ring(f): [$all.rings[] | f] | add // 0;
  def line(what; a; b): if a == b then empty else "\(what): \(a) and \(b)" end;
  line("xdp_seen, all other xdp_"; $c.xdp_seen; sum(startswith("xdp_") and . != "xdp_seen")),
  line("rx_frames, all pkt_"; $c.rx_frames; sum(startswith("pkt_"))),
  line("xdp_redirected, frames that came, were lost, or wait"; $c.xdp_redirected;
	$c.rx_frames + $c.rx_ring_full + $c.rx_dropped + $c.rx_abandoned + ring(.rx)),
  line("segments, their verdicts"; $c.pkt_ok + $c.pkt_bad_option; span("tcp_syn"; "tcp_timewait")),
  line("icmp_told, tcp_mtu_"; $c.icmp_told; sum(startswith("tcp_mtu_"))),
  line("tx_frames, completed and in flight"; $c.tx_frames; $c.tx_completed + $c.tx_abandoned + ring(.frames_tx)),
  line("chunks, their owners"; ring(.frames); ring(.frames_free + .frames_fill + .frames_held + .frames_tx)),
  line("connections opened, ended and open"; $c.tcp_opened; $c.tcp_closed + $c.tcp_reset_in + $c.tcp_reset_out
	+ $c.tcp_timed_out + $c.tcp_linger_ended + $c.tcp_orphaned + $c.tcp_replaced + now(.conns)),
  line("sockets accepted, closed and open"; $c.sock_accepted; $c.sock_closed + now(.sockets)),
  line("requests, answered, given up and in progress"; $c.http_requests;
	span("http_ok"; "http_h2_preface") + $c.http_aborted + $c.http_body_timeouts + now(.requests))'

wrong_books() {
	stat_json > "$dir/stat" && jq -r "$books" "$dir/stat"
}

books_right() {
	books_wrong=$(wrong_books) && [ -z "$books_wrong" ]
}

# Blocks are read while frames come in: what is right once is right. Each scenario
# ends with it: stop_saker.
balance() {
	if soon 5 books_right; then
		pass 'every frame, connection and request is under one name'
	else
		fail 'every frame, connection and request is under one name' "$books_wrong"
	fi
}

# --- asking -----------------------------------------------------------------------------

ask() { # CURL_ARGUMENTS...: the answer's body
	in_c curl -sS --max-time 30 "$@" 2>&1
}

hash_of() { # CURL_ARGUMENTS...: the hash alone
	ask "$@" | jq -r .hash
}

# --- its processes -----------------------------------------------------------------------

worker() { # the process that serves
	pgrep -P "$saker" -x saker-worker
}

stand_in() { # that which answers while the worker does not
	pgrep -P "$saker" -x saker-stand-in
}

no_stand_in() {
	[ -z "$(stand_in)" ]
}

# Does a new connection come that way? tcp_opened: over AF_XDP; sock_accepted: by the kernel.
comes() { # COUNTER
	comes_before=$(counter "$1")
	[ "$(hash_of --max-time 2 "$url/compute?n=2")" = 0x1076963a ] &&
		[ "$(counter "$1")" -gt "$comes_before" ]
}

over_frames() {
	comes tcp_opened
}
