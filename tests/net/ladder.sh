#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: ladder.sh BUILD_DIR
# What a machine gives less of than was asked for (failure modes 12, 14, 23): a driver
# that binds and does not send, played by hang.c; no carrier; little memory that
# may be locked. The next rung serves, and why is said once; or the start is refused.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network
cc -D_GNU_SOURCE -shared -fPIC -o "$dir/hang.so" "$here/hang.c"

serves_on() { # NAME RUNG
	ok "$1: it serves" soon 20 is_ready
	is "$1: by $2" "$(hash_of "$url/compute?n=1000") $(grep -c "^saker: ready.* rung $2," "$dir/log")" '0xa06ae7fd 1'
}

# Not until it is ready: that takes it an attempt or two.
start_hanging() { # HOW, as hang.c takes it
	printf '%s' "$1" > "$dir/hang"
	spawn_s env LD_PRELOAD="$dir/hang.so" HANG="$dir/hang" "$build/saker" -i server0 -p $port 2> "$dir/log"
	saker=$spawned
}

# --- bind succeeds, and nothing is ever sent ---------------------------------------------
start_hanging 1
serves_on 'a driver that does not send' packet
is 'a driver that does not send: each attempt is named' \
	"$(grep -c 'server0: a test frame was not sent within' "$dir/log")" 2
ok 'a driver that does not send: no program is left in the way' no_xdp_program
is 'a driver that does not send: the mode says so' "$(mode rung) $(mode tx)" 'packet proven'
stop_saker
start_hanging 2
serves_on 'a driver that sends nothing at all' socket
is 'a driver that sends nothing at all: each attempt is named' \
	"$(grep -c 'server0: a test frame was not sent within' "$dir/log")" 3
like 'a driver that sends nothing at all: and what came of it' "$(cat "$dir/log")" \
	'*server0: no rung that sees frames works here*the socket rung serves*'
ok 'a driver that sends nothing at all: no program is left in the way' no_program
is 'a driver that sends nothing at all: the mode says so' "$(mode rung) $(mode tx)" 'socket unproven'
stop_saker
printf 1 > "$dir/hang"
in_s env LD_PRELOAD="$dir/hang.so" HANG="$dir/hang" timeout 20 "$build/saker" -q -i server0 -p $port \
	--io=xdp-native > "$dir/out" 2>&1
is 'a driver that does not send, and nothing else will do: refused' $? 1
ok 'and nothing is left on the interface' no_xdp_program

# --- zero-copy, which no veth has: copy ------------------------------------------------------
start_saker --io=xdp-native
serves_on 'no zero-copy' xdp-native
is 'no zero-copy: copy, and the mode says so' "$(mode copy)" copy
is 'no zero-copy: not a word of it' "$(grep -c -i zero "$dir/log")" 0
stop_saker

# --- as when the link is down for seconds after attaching ----------------------------------------
ip -n "$client" link set dev client0 down
start_saker
ok 'no carrier: the start does not wait for it' is_ready
ip -n "$client" link set dev client0 up
ok 'the carrier comes: it serves' soon 20 in_c curl -sf --max-time 5 -o "$dir/body" "$url/compute?n=1000"
is 'the carrier comes: over AF_XDP' "$(counter sock_accepted)" 0
stop_saker

# --- UMEM is charged to RLIMIT_MEMLOCK -------------------------------------------------------------
poor="setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock $dir/poor"
# shellcheck disable=SC2016 # for the inner shell
printf '#!/bin/sh\nulimit -l 64\nexec "$@"\n' > "$dir/poor"
chmod 755 "$dir/poor"
# shellcheck disable=SC2086 # words
in_s timeout 20 $poor "$build/saker" -q -i server0 -p $port --io=xdp-native > "$dir/out" 2>&1
like 'little memory to lock: refused, with the cure' "$? $(cat "$dir/out")" \
	'1 saker: server0: AF_XDP socket for queue 0: *limit of locked memory (ulimit -l)*'
ok 'little memory to lock: nothing is left on the interface' no_xdp_program
# shellcheck disable=SC2086 # words
spawn_s $poor "$build/saker" -i server0 -p $port 2> "$dir/log"
saker=$spawned
serves_on 'little memory to lock, any rung' packet
stop_saker
finish
