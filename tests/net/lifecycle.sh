#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: lifecycle.sh BUILD_DIR
# What the starter and its children do when things go wrong around them: signals to the
# whole group, no descriptors left, a worker that stands still when something is wanted
# of it, binaries that are none; nothing leaks, and no counter ever goes back.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network 2
# A veth takes a native program only with as many RX queues as its peer sends on.
nsenter --net="/run/netns/$client" ethtool -L client0 rx 1 tx 1
in_s ethtool -L server0 rx 1 tx 1
cp "$build/saker" "$dir/saker"
spawn_s "$dir/saker" -i server0 -p $port --io-cpu=$server_cpu $io --stall-ms=200 2> "$dir/log"
saker=$spawned
soon 20 ready_or_gone

has_stand_in() {
	[ -n "$(stand_in)" ]
}
answers() {
	[ "$(hash_of --max-time 1 "$url/compute?n=2")" = 0x1076963a ]
}
said() { # TEXT [TIMES]: so often in the log
	[ "$(grep -c -- "$1" "$dir/log")" -ge "${2:-1}" ]
}
fds() { # PID: how many descriptors
	find "/proc/$1/fd" -type l | wc -l
}
another_worker() { # THAN
	[ -n "$(worker)" ] && [ "$(worker)" != "$1" ]
}
one_child() {
	[ "$(pgrep -P "$saker" | wc -l)" = 1 ]
}
ticks() { # of the starter's time, in 1/100 s
	awk '{ print $14 + $15 }' "/proc/$saker/stat"
}
limit_fds() { # COUNT: the starter may have so many
	prlimit --pid "$saker" --nofile="$1:1024"
}

# No counter ever goes back, whatever dies or is replaced.
spawn_s python3 "$here/clients/monotone.py" "$build/saker-stat" server0 "$dir/going" > "$dir/monotone" 2>&1
monotone=$spawned
ok 'before: over frames' over_frames

# --- signals to the whole group ----------------------------------------------------------
first=$(worker)
kill -TERM "$first"
kill -USR1 "$first"
kill -USR2 "$first"
kill -INT "$first"
kill -HUP "$first"
sleep 0.3
is 'a signal that was meant for the starter does not end the worker' "$(worker)" "$first"

# --- deaths and upgrades leak nothing ---------------------------------------------------------
die() { # no young one, whose successor would come after a pause
	sleep 1
	die_wanted=$(($(grep -c 'a new worker serves' "$dir/log") + 1))
	kill -9 "$(worker)"
	soon 5 said 'a new worker serves' $die_wanted
}
upgrade() {
	upgrade_wanted=$(($(grep -c '^saker: server0: upgraded' "$dir/log") + 1))
	kill -USR2 "$saker"
	soon 5 said '^saker: server0: upgraded' $upgrade_wanted
}
ok 'a new worker' die
ok 'an upgrade' upgrade
die
soon 12 one_child
starter_fds=$(fds "$saker")
worker_fds=$(fds "$(worker)")
for i in $(seq "${DEATHS:-2}"); do
	die
done
for i in $(seq "${UPGRADES:-4}"); do
	upgrade
done
die
ok 'worker after worker: nobody is unburied' soon 12 one_child
is 'the starter has as many descriptors' "$(fds "$saker")" "$starter_fds"
is 'and so has the worker' "$(fds "$(worker)")" "$worker_fds"

# --- no descriptors left ------------------------------------------------------------------
stopped=$(worker)
limit_fds 4 # as many as ppoll(2) is asked for
kill -STOP "$stopped"
soon 5 said 'no socket pair'
before=$(ticks)
sleep 1
used=$(($(ticks) - before))
least 'a stand-in that cannot be made: the starter sleeps between the tries' $((20 - used)) 0
limit_fds 1024
ok 'when it can, it is' soon 5 has_stand_in
ok 'and answers' soon 5 answers

# --- a stand-in that finishes, and is needed again ---------------------------------------------
spawn_c python3 "$here/clients/unfinished.py" "$server4" $port "$dir/held"
soon 5 [ -e "$dir/held" ]
finishes=$(($(grep -c 'the stand-in finishes' "$dir/log") + 1))
kill -CONT "$stopped"
ok 'continued: over frames' soon 5 over_frames
ok 'the stand-in finishes' soon 5 said 'the stand-in finishes' $finishes
kill -STOP "$stopped"
ok 'stopped again while it finishes: somebody answers' soon 3 answers
spawn_c python3 "$here/clients/unfinished.py" "$server4" $port "$dir/held.again"
soon 5 [ -e "$dir/held.again" ]
kill -CONT "$stopped"
ok 'over frames' soon 5 over_frames
ok 'what a client leaves unfinished does not keep the stand-in' soon 12 no_stand_in

# --- the rings are wanted back from a worker that stands still ---------------------------------
kill -STOP "$stopped"
in_s ethtool -L server0 rx 2
soon 5 said 'does not let go'
ok 'a stopped worker: somebody answers' soon 5 answers
kill -CONT "$stopped"
two_queues() {
	[ "$(mode queues)" = 2 ]
}
ok 'continued: it gets the other rings' soon 10 two_queues
is 'it is the same one' "$(worker)" "$stopped"
ok 'over frames' soon 5 over_frames
ok 'the books are right' soon 5 books_right

# --- a worker dies while the interface is down ------------------------------------------------
sleep 1
ip -n "$server" link set server0 down
kill -9 "$(worker)"
ok 'a new worker' soon 5 said 'the bypass cannot be opened again'
sleep 0.5
ip -n "$server" link set server0 up
ok 'up again: the bypass is tried again' soon 8 over_frames

# --- queues change while there is no worker ------------------------------------------------
sleep 1
is_there() {
	[ -n "$(worker)" ]
}
for i in 1 2 3 4; do
	soon 5 is_there && kill -9 "$(worker)"
done
fewer_queues() { # when the dead one's sockets are closed
	in_s ethtool -L server0 rx 1
}
soon 1 fewer_queues
ok 'no worker: the rings are opened anew' soon 2 said 'RX queues changed from 2 to 1'
ok 'and the next worker takes those' soon 8 over_frames
is 'none is in the way of others' "$(grep -c 'cannot be opened again' "$dir/log")" 1

# --- a worker dies while it departs, or its heir while it is given things --------------------
for ms in 0 2 4 6 8 10 12 14; do
	kill -USR2 "$saker"
	sleep "0.0$(printf %02d $ms)"
	pkill -9 -P "$saker" -x saker-worker
	soon 20 over_frames
done
ok 'deaths in the middle of upgrades: over frames in the end' soon 20 over_frames
ok 'with one child' soon 12 one_child
is 'and as many descriptors' "$(fds "$saker")" "$starter_fds"

# --- what is no upgrade --------------------------------------------------------------------------
pin=$(pins)/live
in_s mv "$pin" "${pin}_away"
kill -USR2 "$saker"
ok 'a pin is missing: no' soon 5 said 'does not take over'
in_s mv "${pin}_away" "$pin"
ok 'this version serves on' soon 5 answers
printf '#!/bin/sh\nexit 0\n' > "$dir/other"
chmod +x "$dir/other"
mv "$dir/other" "$dir/saker"
kill -USR2 "$saker"
ok 'another program in our place is asked, and does not answer' soon 5 said 'does not take over' 2
ok 'this one serves on' soon 5 answers

: > "$dir/going"
wait $monotone
is 'no counter went back' "$?" 0
note < "$dir/monotone"
stop_saker
finish
