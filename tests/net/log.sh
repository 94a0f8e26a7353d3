#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: log.sh BUILD_DIR
# --access-log: a line for each request, over AF_XDP and over the kernel's sockets; under
# load, with lines that are lost counted; files that are cut off, removed, full, refused.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network

# What saker(8) says of a line, strictly.
time='[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z'
peer='(([0-9]{1,3}\.){3}[0-9]{1,3}|\[[0-9a-f:]+\]):[0-9]{1,5}'
target='"([]!#-Z^-~[]|\\x[0-9a-f]{2})*"(\.\.\.)?'
asked="(((GET|HEAD|POST|OPTIONS|OTHER) $target)|- -)"
stages='([0-9]+|-) ([0-9]+|-) ([0-9]+|-) ([0-9]+|-) ([0-9]+|-)'
form="^$time $peer $asked ([2-5][0-9]{2}|-) ([0-9]+ (fnv1a32|fnv1a64|mix64)|- -) $stages (bypass|socket)\$"

lines() {
	wc -l < "$dir/access"
}

# Requests that were answered, and those whose client went away before.
requests() {
	stat_json | jq '.counters | [to_entries | .[(map(.key) | index("http_ok")):(map(.key) |
		index("http_h2_preface")) + 1][].value] + [.http_aborted] | add'
}

has_lines() { # COUNT
	[ "$(lines)" = "$1" ]
}

balanced() {
	[ "$(requests)" = $(($(lines) + $(counter http_log_lost))) ]
}

told() { # NAME: every request has a line, or was counted as lost
	soon 5 balanced
	is "$1: lines and lost lines are requests" $(($(lines) + $(counter http_log_lost))) "$(requests)"
	is "$1: every line has the form that saker(8) says" "$(LC_ALL=C grep -vcE "$form" "$dir/access")" 0
	note "$(lines) lines, $(counter http_log_lost) lost"
}

last_is() { # NAME PATTERN: of the last line, without its time
	sleep 0.2 # the writer looks each 10 ms
	like "$1" "$(tail -n1 "$dir/access" | cut -d' ' -f2-)" "$2"
}

raw() { # REQUEST
	printf '%b' "$1" | in_c timeout 5 nc.openbsd -q1 $server4 $port > "$dir/body"
}

# Seconds between the last line's time and now.
age() {
	echo $(($(date +%s) - $(date -d "$(tail -n1 "$dir/access" | cut -d' ' -f1)" +%s)))
}

# The writer's CPUs: none of the I/O threads'.
log_cpus() {
	for task in /proc/"$saker"/task/*; do
		[ "$(cat "$task/comm")" != saker-log ] || sed -n 's/^Cpus_allowed_list:\t//p' "$task/status"
	done
}

for rung in auto socket; do
	way=bypass steer='[0-9]*'
	[ $rung = auto ] || way=socket steer=-
	rm -f "$dir/access"
	start_saker --io=$rung --max-n=1000000000 --access-log="$dir/access"
	is "$rung: nobody asked, no line" "$(lines)" 0
	ask "$url/compute?n=1000&alg=mix64&seed=1" > /dev/null
	last_is "$rung: a result" "$client4:* GET \"/compute?n=1000&alg=mix64&seed=1\" 200 1000 mix64 $steer [0-9]* [0-9]* [0-9]* [0-9]* $way"
	least "$rung: its time is now" 2 "$(age)"
	ask "$url6/compute?n=1" > /dev/null
	last_is "$rung: IPv6" "\\[$client6\\]:* GET \"/compute?n=1\" 200 1 fnv1a32 *"
	ask -d 'n=5' "$url/compute" > /dev/null
	last_is "$rung: a form" '* POST "/compute" 200 5 fnv1a32 *'
	ask "$url/nothing?a=%22" > /dev/null
	last_is "$rung: not found" "* GET \"/nothing?a=%22\" 404 - - $steer - - - [0-9]* $way"
	ask -X DELETE "$url/compute" > /dev/null
	last_is "$rung: a method that nobody takes" '* OTHER "/compute" 405 - - *'
	ask "$url/compute?n=x" > /dev/null
	last_is "$rung: a bad value" '* GET "/compute?n=x" 400 - - *'
	raw 'GET /a"b HTTP/1.1\r\nHost: a\r\n\r\n'
	last_is "$rung: a target that spoils no line" '* GET "/a" 400 - - *'
	raw 'G@T /a HTTP/1.1\r\nHost: a\r\n\r\n'
	last_is "$rung: no request line" '* - - 400 - - *'
	ask "$url/$(printf '%0300d' 0)" > /dev/null
	last_is "$rung: a long target is cut" "* GET \"/$(printf '%0127d' 0)\"... 404 - - *"
	head -c 20000 /dev/zero | ask --data-binary @- "$url/echo" > /dev/null
	last_is "$rung: too large" '* POST "/echo" 413 - - *'
	in_c "$here/clients/leaver.py" $server4 $port 1000000000
	soon 5 balanced
	last_is "$rung: who goes away before the answer" '* GET "/compute?n=1000000000" - 1000000000 fnv1a32 *'
	ask "$url/metrics" > /dev/null
	last_is "$rung: /metrics" '* GET "/metrics" 200 - - *'
	ok "$rung: pipelined" in_c "$here/clients/check.py" $server4 $port 3200 8 pipeline get post
	told "$rung, a few requests"
	[ "$(nproc)" = 1 ] || is "$rung: the writer keeps off the I/O thread's CPU" "$(log_cpus | grep -cw $server_cpu)" 0

	in_c wrk -t1 -c32 -d3s "$url/compute?n=0" > "$dir/wrk" 2>&1
	ok "$rung: wrk had answers" grep -q '^ *[1-9][0-9]* requests in' "$dir/wrk"
	ok "$rung: and no error" sh -c '! grep -E "Socket errors|Non-2xx" "$1"' sh "$dir/wrk"
	told "$rung, under load"

	# --- a file that is cut off in place, and one that is taken away ------------------
	truncate -s 0 "$dir/access"
	ask "$url/echo" > /dev/null
	last_is "$rung: cut off in place, it goes on" '* GET "/echo" 200 *'
	is "$rung: at its beginning" "$(lines) $(tr -dc '\000' < "$dir/access" | wc -c)" '1 0'
	rm "$dir/access"
	ask "$url/echo" > /dev/null
	is "$rung: a file that is gone stays gone" "$(ls "$dir/access" 2> /dev/null)" ''
	is "$rung: and is no error" "$(counter http_log_unwritten)" 0
	is "$rung: to nobody" "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
	stop_saker
done

# --- what is in the rings at the end is written ---------------------------------------
start_saker --access-log="$dir/access"
in_c wrk -t1 -c8 -d2s "$url/compute?n=0" > "$dir/wrk" 2>&1 &
wrk=$!
sleep 1
kill -TERM "$saker"
reap
wait $wrk
is 'it ends under load' $status 0
least 'the log has what was answered' "$(lines)" 1000
is 'to its last line' "$(LC_ALL=C grep -vcE "$form" "$dir/access") $(tail -c1 "$dir/access" | od -An -c | tr -d ' ')" '0 \n'

# --- standard output ---------------------------------------------------------------------
launch --access-log=- > "$dir/access"
soon 20 ready_or_gone
ask "$url/compute?n=1" > /dev/null
last_is 'standard output' '* GET "/compute?n=1" 200 1 fnv1a32 *'
stop_saker
is 'has nothing but the line' "$(lines)" 1

# --- a full disk ---------------------------------------------------------------------------
start_saker --access-log=/dev/full
for one in 1 2 3; do
	ask "$url/compute?n=1" > /dev/null
	sleep 0.1
done
sleep 0.2
is 'a full disk: lines are counted' "$(counter http_log_unwritten)" 3
is 'and it is said once' "$(grep -c 'access-log=/dev/full: No space left on device' "$dir/log")" 1
is 'answers do not wait for it' "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
stop_saker

# --- refused at the start --------------------------------------------------------------------
refused() { # NAME FILE PATTERN
	refused_said=$(in_s timeout 20 "$build/saker" -i server0 -p $port --access-log="$2" 2>&1)
	like "$1" "$? $refused_said" "1 saker: --access-log=$2: $3"
	ok "$1: nothing is left on the interface" no_xdp_program
}
refused 'no such directory' "$dir/none/access" '*mkdir -p*'
refused 'a directory' "$dir" '*name a file in it*'
mkfifo "$dir/pipe"
refused 'a pipe without a reader' "$dir/pipe" '*start the reader first*'

# --- several I/O threads ----------------------------------------------------------------------
if [ "$(nproc)" != 1 ]; then
	rm -f "$dir/access"
	start_saker --io=socket --io-cpu=0,1 --access-log="$dir/access"
	ok 'two threads: every answer right' in_c "$here/clients/check.py" $server4 $port 4000 64 get post
	told 'two threads'
	stop_saker
else
	skip 'one CPU' 'two threads'
fi
finish
