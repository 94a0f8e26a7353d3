#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: slow.sh BUILD_DIR
# Clients that say nothing, stop in the middle, or die. Nobody else notices.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network
# 600: a client may have 1024 descriptors, as a rule.
start_saker --max-conns=600 --header-timeout=1 --body-timeout=1 --idle-timeout=1.5

rude() { # HOW N
	in_c "$here/clients/rude.py" $server4 $port "$@"
}

others_are_served() { # WHILE
	is "$1: others are served" "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
}

ok '2000 connections that are closed without a word' rude connect 2000
is '2000 connections: each was opened' "$(counter tcp_opened)" 2000
others_are_served '2000 connections'

ok '500 silent connections at once, and one that asks' rude idle 500
others_are_served '500 silent connections'

ok 'as many connections as --max-conns says, and the last one asks' rude idle 599

before=$(counter http_header_timeouts)
ok 'half a head: the connection is closed after --header-timeout' rude half 20
is 'half a head: counted' $(($(counter http_header_timeouts) - before)) 20

before=$(counter http_aborted)
ok '64 clients that ask for 100 million rounds and die' rude die 64
others_are_served 'a full house of the dead'
aborted() {
	[ $(($(counter http_aborted) - before)) = 64 ]
}
ok 'the dead: each request is counted as aborted, its lane free' soon 10 aborted

before=$(counter http_aborted)
ok 'half a body, then FIN: closed' rude leave 10
others_are_served 'half a body'

spawn_c "$here/clients/rude.py" $server4 $port half 30
in_c "$here/clients/rude.py" $server4 $port idle 100
in_c "$here/clients/check.py" $server4 $port 2000 8 get post pieces pipeline > "$dir/check" 2>&1
is 'all at once: every other answer is right' "$? $(tail -n 1 "$dir/check")" \
	'0 2000 of 2000 answers right, 0 of 8 connections in trouble'
wait "$spawned"

before=$(counter http_idle_timeouts)
ok 'keep-alive without a request: closed after --idle-timeout' rude quiet 5
is 'keep-alive without a request: counted' $(($(counter http_idle_timeouts) - before)) 5

# --- slow, but not silent: --body-timeout=1 and --idle-timeout=1.5 want 500 and 750 bytes ---
slow() { # HOW COUNTER NAME
	before=$(counter "$2")
	ok "$3" rude "$1" 10
	is "$3: counted" $(($(counter "$2") - before)) 10
	others_are_served "$3"
}
slow drip http_header_timeouts 'heads that drip: closed'
slow trickle http_body_timeouts 'bodies of 200 bytes a second: closed'
slow deaf http_send_timeouts 'who reads nothing: reset'
slow steady http_ok 'bodies of 2000 bytes a second: answered'
slow sip http_ok 'readers of 2000 bytes a second: all comes'

stop_saker

# The same clients of the kernel's sockets.
start_saker --io=socket --header-timeout=1 --body-timeout=1 --idle-timeout=1.5
slow drip http_header_timeouts 'sockets: heads that drip: closed'
slow trickle http_body_timeouts 'sockets: bodies of 200 bytes a second: closed'
slow steady http_ok 'sockets: bodies of 2000 bytes a second: answered'
stop_saker
finish
