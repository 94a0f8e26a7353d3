#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: limits.sh BUILD_DIR
# Who is held off, by prefix and by rate, changed while the responder runs with
# saker-ctl and with plain bpftool; and what `saker-ctl detach` removes.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network

other4=10.88.0.3 other6=fd89::2
ip -n "$client" address add $other4/24 dev client0
ip -n "$client" address add $other6/64 dev client0 nodad
ip -n "$server" route add fd89::/64 dev server0

ctl() {
	in_s "$build/saker-ctl" -i server0 "$@"
}

# "200" or curl's exit status.
from() { # ADDRESS URL
	in_c curl -s -o /dev/null -w '%{http_code}' --max-time "${patience:-5}" --interface "$1" "$2/compute?n=1" ||
		echo " $?"
}

served() { # NAME ADDRESS URL
	is "$1" "$(from "$2" "$3")" 200
}

# Time-out of the connection: no answer, no RST.
held_off() { # NAME ADDRESS URL
	is "$1" "$(patience=1 from "$2" "$3")" '000 28'
}

start_saker
is 'nobody is denied at first' "$(ctl list)" "${pins_name:=$(basename "$(pins)")}: nobody is denied"
is 'nothing is limited' "$(ctl --json limits | jq -c .limits)" \
	'{"conns":0,"syns_per_s":0,"syns_burst":0,"frames_per_s":0,"frames_burst":0}'
for one in $client4 $other4; do served "$one is served" "$one" "$url"; done
for one in $client6 $other6; do served "$one is served" "$one" "$url6"; done

# --- prefixes, by saker-ctl ---------------------------------------------------------------
ok 'deny add' ctl deny add $other4
held_off 'the address that is denied: silence' $other4 "$url"
served 'the one beside it is served' $client4 "$url"
least 'counted by name' "$(counter xdp_drop_denied)" 1
is 'and by prefix' "$(ctl --json list | jq '.access[0].dropped')" "$(counter xdp_drop_denied)"
is 'the list has it' "$(ctl --json list | jq -c '[.access[] | [.prefix, .what]]')" "[[\"$other4/32\",\"deny\"]]"
ok 'deny del' ctl deny del $other4
served 'let in again' $other4 "$url"

ok 'deny add, IPv6' ctl deny add fd89::/64
held_off 'the network that is denied' $other6 "$url6"
served 'another network is served' $client6 "$url6"
served 'IPv4 is served' $other4 "$url"
ok 'deny all, allow one network' ctl deny add all
ok 'several prefixes at a time' ctl allow add $client4 $client6
held_off 'who is in no allowed prefix' $other4 "$url"
served 'who is' $client4 "$url"
served 'who is, IPv6' $client6 "$url6"
is 'the list is in order' "$(ctl list | awk 'NR > 1 { print $1, $2 }' | tr '\n' ' ')" \
	"deny all allow $client4/32 allow $client6/128 deny fd89::/64 "
ok 'all are deleted' sh -c "nsenter -t $holder -m -n -- $build/saker-ctl -i server0 deny del all fd89::/64 &&
	nsenter -t $holder -m -n -- $build/saker-ctl -i server0 allow del $client4 $client6"
served 'and all are served' $other6 "$url6"

# An open connection falls silent, and goes on: nobody has reset it.
mkfifo "$dir/asks"
exec 9<> "$dir/asks"
cat > "$dir/asks.py" << 'PY'
import http.client, sys
c = http.client.HTTPConnection(sys.argv[1], int(sys.argv[2]), timeout=20, source_address=(sys.argv[3], 0))
with open(sys.argv[4]) as asks:
    for _ in asks:
        c.request("GET", "/compute?n=1")
        r = c.getresponse()
        r.read()
        print(r.status, c.sock.getsockname()[1], flush=True)
PY
spawn_c python3 "$dir/asks.py" $server4 $port $other4 "$dir/asks" > "$dir/answers"
asks=$spawned
answers() { [ "$(wc -l < "$dir/answers")" = "$1" ]; }
echo ask >&9
ok 'an open connection is answered' soon 5 answers 1
ctl deny add $other4
echo ask >&9
denied_before=$(counter xdp_drop_denied)
denials_grow() { [ "$(counter xdp_drop_denied)" -gt $((denied_before + 1)) ]; }
ok 'denied: what it sends is dropped, it sends again' soon 5 denials_grow
ok 'and gets no answer' answers 1
ctl deny del $other4
ok 'let in again: it is answered' soon 10 answers 2
is 'on the same connection' "$(sort -u "$dir/answers" | wc -l)" 1
exec 9>&-
kill "$asks" # it has the pipe's other end, too

# --- prefixes, by bpftool: the commands of docs/maps.md ---------------------------------------
docs=$here/../../docs/maps.md
documented() { # WORD: the command in the docs that does it to the map `access`
	awk -v word="$1" '$0 ~ "^bpftool map " word " pinned access" { on = 1 }
		on { print } on && !/\\$/ { exit }' "$docs"
}
like 'the docs have the command' "$(documented update)" 'bpftool map update pinned access key hex 78 *'
ok 'bpftool denies 10.88.0.0/24' in_s sh -c "cd '$(pins)' && $(documented update)"
held_off 'an address in it' $client4 "$url"
served 'IPv6 is served' $client6 "$url6"
is 'saker-ctl lists it' "$(ctl --json list | jq -c '[.access[] | [.prefix, .what]]')" '[["10.88.0.0/24","deny"]]'
like 'bpftool names it' "$(in_s bpftool map dump pinned "$(pins)/access" | jq -r '.[0].value | "\(.what) \(.dropped > 0)"')" \
	'ACCESS_deny true'
ok 'bpftool lets it in again' in_s sh -c "cd '$(pins)' && $(documented delete)"
served 'served' $client4 "$url"

# --- rates -----------------------------------------------------------------------------------
ok 'limits set syns' ctl limits set syns=5/10
is 'the others stay' "$(ctl --json limits | jq -c .limits)" \
	'{"conns":0,"syns_per_s":5,"syns_burst":10,"frames_per_s":0,"frames_burst":0}'
is 'saker-stat has them' "$(stat_json | jq .limits.syns_per_s)" 5
if has hping3 'a flood of SYNs from one source'; then
	drops=$(counter xdp_drop_syn_rate) start=$(date +%s)
	spawn_c hping3 -q -S -p $port -a $other4 -i u1000 -c 2000 $server4 > "$dir/hping" 2>&1
	flood=$spawned
	good=0
	for _ in 1 2 3 4 5 6; do
		[ "$(from $client4 "$url")" = 200 ] && good=$((good + 1))
	done
	is 'meanwhile another source is served' $good 6
	soon 20 gone "$flood"
	drops=$(($(counter xdp_drop_syn_rate) - drops)) seconds=$(($(date +%s) - start + 1))
	least 'the flood is dropped, but for its burst and rate' $drops $((2000 - 10 - 5 * seconds - 1))
	is 'and listed on top' "$(ctl --json --top=1 sources | jq -c '.sources | [length, .[0].source, .[0].dropped_syn_rate]')" \
		"[1,\"$other4\",$drops]"
	like 'in the table too' "$(ctl --top=1 sources | tail -n 1)" "$other4 * $drops *"
	is 'IPv6 has buckets of its own' "$(from $client6 "$url6")" 200
fi
ok 'limits set syns=0' ctl limits set syns=0
served 'no limit: the flooder is served' $other4 "$url"

ok 'limits set frames' ctl limits set frames=20/10
is 'above its rate a client is slowed down, and answered' \
	"$(in_c curl -s --max-time 60 -o "$dir/body" -w '%{http_code}\n' "$url/compute?n=[1-40]" | sort | uniq -c | tr -s ' ')" ' 40 200'
least 'by drops' "$(counter xdp_drop_frame_rate)" 1
is 'of its own' "$(ctl --json sources | jq -r '[.sources[] | select(.dropped_frame_rate > 0) | .source] | join(" ")')" "$client4"
# --- connections -------------------------------------------------------------------------------
# HOW MANY from ADDRESS to HOST, each after an answer, until told to end.
cat > "$dir/holds.py" << 'PY'
import http.client, sys
held = []
for _ in range(int(sys.argv[1])):
    c = http.client.HTTPConnection(sys.argv[3], int(sys.argv[4]), timeout=20, source_address=(sys.argv[2], 0))
    c.request("GET", "/compute?n=1")
    assert c.getresponse().read()
    held.append(c)
print("holds", flush=True)
open(sys.argv[5]).read()
PY
hold() { # HOW MANY ADDRESS HOST: they end with a line to the pipe
	mkfifo "$dir/end$1$2"
	spawn_c python3 "$dir/holds.py" "$1" "$2" "$3" $port "$dir/end$1$2" > "$dir/held$1$2"
	ok "$1 connections from $2 are held" soon 10 grep -q holds "$dir/held$1$2"
}
opens() { # SOURCE HOW MANY
	[ "$(ctl --json --top=0 sources | jq "[.sources[] | select(.source == \"$1\") | .open] | add")" = "$2" ]
}
ctl limits set frames=0
hold 2 $other4 $server4
ok 'limits set conns, while they are there' ctl limits set conns=3
served 'a third passes' $other4 "$url"
ok 'two are open' soon 5 opens $other4 2
hold 1 $other4 $server4
held_off 'a fourth' $other4 "$url"
least 'counted' "$(counter xdp_drop_conns)" 1
served 'another source is served' $client4 "$url"
hold 3 $other6 $server6
held_off 'IPv6: a fourth' $other6 "$url6"
echo end > "$dir/end1$other4" # its reader is there: it holds
ok 'one has ended' soon 5 opens $other4 2
served 'then one more is served' $other4 "$url"
dies=$(worker)
kill -9 "$dies"
anew() { [ "$(worker)" != "$dies" ] && [ "$(from $other6 "$url6")" = 200 ]; }
ok 'the worker dies: its connections are forgotten' soon 10 anew
for one in "$dir/end2$other4" "$dir/end3$other6"; do echo end > "$one"; done
ok 'limits set, all at once' ctl limits set conns=7 syns=100 frames=0
is 'a burst as long as the rate' "$(ctl --json limits | jq -c .limits)" \
	'{"conns":7,"syns_per_s":100,"syns_burst":100,"frames_per_s":0,"frames_burst":0}'
like 'in words' "$(ctl limits | tr -s ' \n' ' ')" '*at once 7 SYNs a second 100, 100 at once after a pause frames a second any*'

# --- two responders ----------------------------------------------------------------------------
ip link add server1 netns "$server" type veth peer name client1 netns "$client" || exit 1
set_up "$server" server1 02:00:00:00:89:01 10.89.0.1 fd8a::1
set_up "$client" client1 02:00:00:00:89:02 10.89.0.2 fd8a::2
nsenter --net="/run/netns/$client" ethtool -K client1 tx off > /dev/null
spawn_s "$build/saker" -i server1 -p $((port + 1)) --io-cpu=$server_cpu --deny=all --allow=10.89.0.0/24 --limit-syns=9 \
	2> "$dir/log1"
second=$spawned
second_ready() { grep -q '^saker: ready' "$dir/log1"; }
ok 'a second responder, with limits from its start' soon 20 second_ready
url1=http://10.89.0.1:$((port + 1))
is 'its prefixes' "$(in_s "$build/saker-ctl" -i server1 --json list | jq -c '[.access[] | [.prefix, .what]]')" \
	'[["all","deny"],["10.89.0.0/24","allow"]]'
is 'its limits' "$(in_s "$build/saker-ctl" -i server1 --json limits | jq .limits.syns_burst)" 9
served 'who is allowed there' 10.89.0.2 "$url1"
held_off 'who is not' fd8a::2 "http://[fd8a::1]:$((port + 1))"
served 'the first one has its own' $client4 "$url"
in_s "$build/saker-ctl" list > "$dir/out" 2> "$dir/err"
like 'which of the two must be said' "$? $(cat "$dir/err")" '2 saker-ctl: there are several responders: which? -i IFACE; server0@*, server1@*'
kill -TERM "$second"
soon 20 gone "$second"
wait "$second"

# --- what cannot be -------------------------------------------------------------------------------
refused() { # NAME STATUS PATTERN COMMAND...
	name=$1 wanted=$2 pattern=$3
	shift 3
	"$@" > "$dir/out" 2> "$dir/err"
	like "$name" "$? $(wc -l < "$dir/err") $(cat "$dir/err")" "$wanted 1 saker-ctl: $pattern"
}
refused 'no prefix' 2 '10.88.0: wanted a prefix, such as*' ctl deny add 10.88.0
refused 'bits behind the prefix' 2 '*did you mean 10.88.0.0/24*' ctl deny add 10.88.0.1/24
refused 'a prefix that is not there' 1 'server0: 10.1.0.0/16 is not there: `saker-ctl list`*' ctl deny del 10.1.0.0/16
ctl deny add 10.1.0.0/16
refused 'a longer one is not it' 1 '*10.1.2.0/24 is not there*' ctl deny del 10.1.2.0/24
refused 'nor is one of the other kind' 1 '*10.1.0.0/16 is of deny: `saker-ctl deny del 10.1.0.0/16`' ctl allow del 10.1.0.0/16
ctl deny del 10.1.0.0/16
ctl allow add 10.1.0.0/16 2> "$dir/err"
like 'allow alone: a note' "$? $(cat "$dir/err")" '0 *note: nobody is denied*saker-ctl deny add all*'
refused 'no limit of that name' 2 'limits set: pings=3: wanted conns=N*' ctl limits set pings=3
refused 'no number' 2 'limits set: syns=1/: wanted*' ctl limits set syns=1/
refused 'no command of that name' 2 'halt: no such command*' ctl halt
refused 'words first, then who is there' 2 '10.88.0: wanted a prefix*' in_s "$build/saker-ctl" -i client9 deny add 10.88.0
refused 'a word too many' 2 '10.1.0.0/16: a word too many*' ctl list 10.1.0.0/16
refused 'no responder on that interface' 1 'no saker on client9: *does not exist*' in_s "$build/saker-ctl" -i client9 list
cp "$build/saker-ctl" "$dir/saker-ctl"
refused 'not root' 1 '*run as root*' in_s setpriv --reuid=65534 --clear-groups "$dir/saker-ctl" -i server0 deny add all
refused 'detach while it runs' 1 "server0: the responder runs, process $saker: \`kill $saker\`" ctl detach
ok 'and the program is still there' xdp_program
served 'and serves' $client4 "$url"

# --- a restart keeps nothing ---------------------------------------------------------------------
stop_saker
start_saker
is 'after a restart nobody is denied' "$(ctl list)" "$pins_name: nobody is denied"
is 'and nothing is limited' "$(ctl --json limits | jq '[.limits[]] | add')" 0

# --- what a crash leaves ---------------------------------------------------------------------------
link=$(in_s bpftool -j link show | jq ".[] | select(.prog_id == $(our_program)) | .id")
in_s bpftool link pin id "$link" /sys/fs/bpf/kept
kill -9 "$saker"
wait "$saker" 2> /dev/null
ok 'killed, with its link pinned by somebody: the program stays' xdp_program
refused 'its maps are no longer written to' 1 'server0: the responder is gone*saker-ctl -i server0 detach*' ctl deny add all
like 'but shown' "$(ctl --json list | jq -r .life)" gone
in_s "$build/saker" -q -i server0 -p $port 2> "$dir/err"
like 'a new start names the cure' "$? $(cat "$dir/err")" '1 *another saker steers this interface*saker-ctl -i server0 detach*'
ctl detach > "$dir/out" 2> "$dir/err"
like 'detach' "$? $(cat "$dir/out" "$dir/err")" '0 server0: the program saker_steer (id *) is off*pins removed'
ok 'no program' no_xdp_program
is 'no pins of ours, and that one stays' "$(in_s ls /sys/fs/bpf | grep -E '^(saker|kept)')" kept
in_s rm /sys/fs/bpf/kept
is 'again: there is nothing' "$(ctl detach)" 'server0: nothing of ours is there'
ip -n "$server" link set dev server0 xdpgeneric object "$build/pass.bpf.o" section xdp program foreign_pass
refused "somebody else's program" 1 'server0: the program there (foreign_pass, id *) is not ours: `ip link set dev server0 xdpgeneric off`*' \
	ctl detach
ok 'stays' xdp_program
ip -n "$server" link set dev server0 xdpgeneric off
start_saker
served 'and a new start serves' $client4 "$url"
stop_saker

# --- without the program nobody is held off, and that is said -----------------------------------------
not_in_force() { [ "$(grep -c -- '--limit-.*, --allow and --deny are not in force' "$dir/log")" = "$1" ]; }
start_saker --deny=10.99.0.0/16
ok 'with the program: not a word' not_in_force 0
link=$(in_s bpftool -j link show | jq ".[] | select(.prog_id == $(our_program)) | .id")
in_s bpftool link detach id "$link" > "$dir/out" 2>&1
ok 'it was taken off' soon 5 not_in_force 1
stop_saker
cc -D_GNU_SOURCE -shared -fPIC -o "$dir/hang.so" "$here/hang.c"
printf 2 > "$dir/hang"
spawn_s env LD_PRELOAD="$dir/hang.so" HANG="$dir/hang" "$build/saker" -q -i server0 -p $port --io-cpu=$server_cpu \
	--deny=$other4 2> "$dir/log"
saker=$spawned
ok 'no rung that sees frames works: with -q too' soon 10 not_in_force 1
served 'who was to be denied is served' $other4 "$url"
stop_saker
finish
