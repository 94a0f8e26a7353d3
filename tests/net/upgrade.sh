#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: upgrade.sh BUILD_DIR
# SIGUSR2: the binary that has the responder's name takes everything over, ten times
# under load, and refuses what it cannot take.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
# shellcheck source=tests/net/figures.sh
. "${0%/*}/figures.sh"
network
cp "$build/saker" "$dir/saker"
launch_copy() { # ARGUMENTS...
	spawn_s "$dir/saker" -i server0 -p $port --io-cpu=$server_cpu $io "$@" 2> "$dir/log"
	saker=$spawned
	soon 20 ready_or_gone
}
echo 'max-body = 20000' > "$dir/conf"
launch_copy --access-log="$dir/access" --config="$dir/conf"

upgrades() { # so many are said to have gone well
	grep -c '^saker: server0: upgraded' "$dir/log"
}
upgraded_to() { # COUNT
	[ "$(upgrades)" -ge "$1" ]
}
upgrade() { # as a package does: a new file under the old name
	cp "$build/saker" "$dir/saker.new" && mv "$dir/saker.new" "$dir/saker"
	upgrade_wanted=$(($(upgrades) + 1))
	kill -USR2 "$saker"
	soon 10 upgraded_to $upgrade_wanted
}

# Connections of both kinds in all phases: over frames, idle, with half a request, with a
# job in a lane; and by the kernel's socket, from the same host.
python=$here/clients/upgraded.py
spawn_c python3 "$python" "$server4" $port "$dir/going" > "$dir/upgraded" 2>&1
poses=$spawned
spawn_s python3 "$python" 127.0.0.1 $port "$dir/going" > "$dir/upgraded.local" 2>&1
local=$spawned
pid=$saker
program=$(our_program)
in_c wrk -t1 -c8 -d12 "$url/compute?n=0" > "$dir/wrk" 2>&1 &
load=$!
sleep 1
for i in 1 2 3 4 5 6 7 8 9 10; do
	ok "upgrade $i" upgrade
	sleep 0.3
done
wait $load
note < "$dir/wrk"
grep '^saker: server0: upgraded' "$dir/log" | note
is 'wrk saw no socket error in ten upgrades' "$(grep -c 'Socket errors' "$dir/wrk")" 0
is 'the process is the same one' "$saker" "$pid"
ok 'and runs' kill -0 "$saker"
is 'with one worker' "$(pgrep -P "$saker" -x -c saker-worker)" 1
ok 'the program was replaced, in one step' [ "$(our_program)" != "$program" ]
: > "$dir/going"
wait $poses
is 'connections over frames go on, whatever they were doing' "$?" 0
adopt < "$dir/upgraded"
wait $local
is 'and so do those of the socket rung' "$?" 0
adopt < "$dir/upgraded.local"
is 'no answer but 200 is in the access log' "$(awk '$0 !~ / 200 /' "$dir/access" | wc -l)" 0

# --- what the rings lost before ------------------------------------------------------------
# The sockets go on, and the kernel's counts of them too. On rung packet the program counts.
full=rx_ring_full
[ "$IO" != packet ] || full=xdp_drop_ring
for one in $(family); do kill -STOP "$one"; done
forge syn --rate=100000 --seconds=0.1 > "$dir/forged"
for one in $(family); do kill -CONT "$one"; done
ok 'served again after more than the rings hold' [ "$(hash_of "$url/compute?n=1")" = 0x050c5d1f ]
lost=$(counter $full)
least 'the rings lost some' "$lost" 1000
ok 'an upgrade after that' upgrade
sleep 0.2 # more than between two looks at the kernel's counts
is 'counts what they lost once' "$(counter $full)" "$lost"
balance

# --- what is no upgrade ------------------------------------------------------------------
said_no() {
	grep -q 'does not take over' "$dir/log"
}
said_shrink() {
	grep -q 'max-body must not shrink, from 20000 to 10000' "$dir/log"
}
sed -i s/20000/10000/ "$dir/conf"
kill -USR2 "$saker"
ok 'a smaller max-body is refused before anything happens' soon 5 said_shrink
sed -i s/10000/30000/ "$dir/conf"
ok 'a larger one is not' upgrade
: > "$dir/log" # from here on only what is no upgrade
printf '#!/bin/sh\nexit 1\n' > "$dir/bad" && chmod +x "$dir/bad" && mv "$dir/bad" "$dir/saker"
kill -USR2 "$saker"
ok 'a binary that refuses: it is said' soon 5 said_no
is 'and the old one serves' "$(hash_of "$url/compute?n=2")" 0x1076963a
said_no_twice() {
	[ "$(grep -c 'does not take over' "$dir/log")" = 2 ]
}
cp /bin/true "$dir/good" && mv "$dir/good" "$dir/saker"
kill -USR2 "$saker"
ok 'a binary that knows nothing of upgrades, and ends well: not that either' soon 5 said_no_twice
is 'and the old one serves on' "$(hash_of "$url/compute?n=2")" 0x1076963a
rm "$dir/saker"
kill -USR2 "$saker"
sleep 0.5
is 'a binary that is gone: the old one serves' "$(hash_of "$url/compute?n=2")" 0x1076963a
stop_saker
finish
