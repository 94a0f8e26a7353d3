#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: transcripts.sh BUILD_DIR [DIR]
# What bpftool and saker-stat print of a responder at work. With DIR it is written there
# (make transcripts); without, the NAMES in docs/transcripts are held against those that
# the tools print now: figures may differ, names may not.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
out=$2
kept=$here/../../docs/transcripts
tmux=saker-$$
network
start_saker --cache=1000
mkdir "$dir/new"

# The command as one would type it, then what it prints.
typed() { # FILE TEXT
	echo "\$ $2" >> "$dir/new/$1"
	in_s env PATH="$build:$PATH" sh -c "$2" >> "$dir/new/$1" 2>&1
}

loading=
load() { # requests of many kinds
	for one in '400 /compute?n=[20000-90000]' '9 /none?[1-9000]' '4 /compute?n=x&[1-9000]' '1 /compute?seed=[1-9000]'; do
		spawn_c curl -s -o /dev/null --rate "${one%% *}/s" "$url${one#* }"
		loading="$loading $spawned"
	done
}

picture() {
	spawn_s tmux -D -L $tmux -f /dev/null
	soon 5 in_s tmux -L $tmux show-options -s
	in_s tmux -L $tmux new-session -d -s view -x 120 -y 26 \
		"LC_ALL=C.UTF-8 TERM=screen-256color exec '$build/saker-stat' -i server0"
	sleep "$1"
	in_s tmux -L $tmux capture-pane -N -e -p -t view | python3 "$here/pane_svg.py" > "$dir/new/saker-stat.svg"
	in_s tmux -L $tmux send-keys -t view q
}

seconds=3
[ -z "$out" ] || seconds=12
load
if has tmux 'saker-stat.svg: a picture of the live view'; then
	picture $seconds
	like 'saker-stat.svg: a picture of the live view' "$(sed -n 1p "$dir/new/saker-stat.svg")" '<svg *'
fi
sleep 1
typed mode.txt "bpftool map dump pinned $(pins)/mode"
typed summary.txt "bpftool map dump pinned $(pins)/summary"
typed saker-stat.txt 'saker-stat -i server0'
typed json.txt 'saker-stat -i server0 --json | jq .'
typed prometheus.txt 'saker-stat --prometheus | head -24'
typed prometheus.txt "saker-stat --prometheus | grep '^[^_]* saker_stage_seconds\\|stage=\"total\"'"
typed hgrm.txt 'saker-stat -i server0 --hgrm=total'
typed lanes.txt 'saker-stat lanes -i server0'
spawn_c curl -s -o /dev/null --max-time 2 --rate 2/s "$url/compute?n=1000&seed=[1-9]"
loading="$loading $spawned"
spawn_c curl -s -o /dev/null --max-time 2 "$url/compute?n=100000000&seed=[1-99]"
loading="$loading $spawned"
sleep 0.5 # the list is 50 ms old
typed conns.txt 'saker-stat conns -i server0'
echo "\$ curl http://$server4:$port/metrics | grep ..." > "$dir/new/metrics.txt"
ask "$url/metrics" | grep 'stage="total",le="0.0000\|_count.*total\|saker_info\|http_ok_total' >> "$dir/new/metrics.txt"
nobody_there() {
	[ "$(stat_json | jq '[.gauges[].conns] | add')" = 0 ]
}
if has tshark 'trace.txt: a trace opened by tshark'; then
	# shellcheck disable=SC2086 # numbers
	kill $loading
	ok 'the other clients have gone' soon 10 nobody_there
	spawn_c curl -s -o /dev/null --max-time 4 --rate 5/s "$url/compute?n=1000000&seed=[1-99]"
	typed trace.txt "saker-stat trace -i server0 -w $dir/pcapng --port=$port --count=9"
	typed trace.txt "tshark -r $dir/pcapng"
	typed trace.txt "tshark -r $dir/pcapng -Y http.response -T fields -e tcp.stream -e frame.comment"
	typed trace.txt "tshark -r $dir/pcapng -q -z follow,tcp,ascii,0"
	sed -i "s|$dir/pcapng|FILE|g; /^Running as user/d" "$dir/new/trace.txt"
fi
stop_saker

# --- names ------------------------------------------------------------------------
names() { # FILE: the names in it, each once, in their order
	case $1 in
	*saker-stat.txt) awk '/^counter/ { exit } /^(  )?[a-z]/ { print $1 == "stage" ? $0 : $1 }' "$1" | sed 's/^server0@.*/server0/' ;;
	*prometheus.txt) grep -o '^saker_[a-z_]*\|[{,][a-z]*="' "$1" ;;
	*lanes.txt) awk '/ns a pass/ { $1 = $1; print }' "$1" ;;
	*conns.txt) awk '$1 == "peer" { $1 = $1; print }' "$1" | tr ' ' '\n' ;;
	*metrics.txt) grep -o '^saker_[a-z_]*\|[{,][a-z]*="' "$1" ;;
	*trace.txt) grep -o 'steer\|parse\|wait\|compute\|reply\|total\|Follow: tcp,ascii\|HTTP/1.1 200 OK' "$1" | sort ;;
	*hgrm.txt) grep -o '[A-Z][A-Za-z/()1-]* ' "$1" ;;
	# a wide number stands right behind its name
	*.svg) sed -n 's/.*>\([^<]*\)<.text>/\1/p' "$1" | sed 's/^\([a-z_]*\) [0-9.]*$/\1/' | grep -o '^\(stage\|per second\|p[0-9.]*\|max\|[0-9]*[num]*s\|drops and refusals\|since start\|[a-z_]*\)$' ;;
	*) grep -o '"[a-z_0-9]*":' "$1" ;;
	esac | awk '!seen[$0]++'
}

for one in mode.txt summary.txt saker-stat.txt json.txt prometheus.txt hgrm.txt saker-stat.svg \
	lanes.txt conns.txt metrics.txt trace.txt; do
	[ -s "$dir/new/$one" ] || continue
	names "$dir/new/$one" > "$dir/now"
	least "$one: has names" "$(wc -l < "$dir/now")" 4
	[ -z "$out" ] || continue
	names "$kept/$one" > "$dir/then" 2> /dev/null
	if diff "$dir/then" "$dir/now" > "$dir/differences"; then
		pass "$one: the names in docs/transcripts are those of today"
	else
		fail "$one: the names in docs/transcripts are those of today" "$(cat "$dir/differences")
make transcripts writes it anew"
	fi
done
[ -z "$out" ] || { mkdir -p "$out" && cp "$dir/new/"* "$out/"; }
finish
