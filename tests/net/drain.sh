#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: drain.sh BUILD_DIR
# SIGTERM: what runs is finished, who asks meanwhile is answered with Connection: close;
# a second one ends it at once.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network
start_saker --drain-s=20

is 'the settings lie in a page that nobody can write' \
	"$(in_s python3 "$here/clients/sealed.py" "$(worker)" server0)" sealed

# Ten connections that never stop asking, and a job of about a second.
spawn_c python3 "$here/clients/askers.py" "$server4" $port 10 > "$dir/askers"
askers=$spawned
soon 5 grep -q asking "$dir/askers"
ask --max-time 30 "$url/compute?n=100000000" > "$dir/long" &
long=$!
sleep 0.3
balance
kill -TERM "$saker"
reap
is 'the responder ends with status 0' "$status" 0
wait $long
is 'the job that ran was answered' "$(jq -r .n < "$dir/long")" 100000000
wait $askers
is 'no client lost a request' "$?" 0
adopt < "$dir/askers"
ok 'nothing is attached any more' no_program
is 'nothing is pinned any more' "$(in_s ls "$(pins)" 2>&1 | grep -c 'No such file')" 1

start_saker --drain-s=300
set --
for i in 1 2 3 4 5 6 7 8 9 10; do
	set -- "$@" "$url/compute?n=100000000"
done
ask --max-time 60 "$@" > /dev/null &
long=$!
sleep 0.2
kill -TERM "$saker"
sleep 0.1
kill -TERM "$saker"
soon 2 gone "$saker" # not in `ok`: a shell within it cannot see that a child of this one has ended
is 'a second SIGTERM: it ends at once' "$?" 0
reap
is 'with status 0' "$status" 0
ok 'and says so' grep -q 'asked again' "$dir/log"
ok 'nothing is attached' no_program
wait $long
finish
