#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: trace.sh BUILD_DIR
# saker-stat trace: what tcpdump cannot see, as tshark reads it.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
has tshark 'a trace that tshark reads' || finish
network 2
ip -n "$client" address add 10.88.0.3/24 dev client0

# --- a trace in the background -------------------------------------------------

trace() { # FILE ARGUMENTS...: until it is asked to end, or a bound is reached
	trace_file=$dir/$1
	shift
	rm -f "$trace_file"
	spawn_s "$build/saker-stat" trace -i server0 -w "$trace_file" "$@" 2> "$dir/said"
	tracer=$spawned
	soon 5 test -s "$trace_file" && return
	fail "a trace begins: $*" "$(cat "$dir/said")"
	finish
}

# Leaves the exit status in $status.
trace_ended() {
	soon 10 gone "$tracer" || kill -9 "$tracer"
	wait "$tracer"
	status=$?
}

end_trace() {
	kill -INT "$tracer"
	trace_ended
}

read_trace() { # TSHARK_ARGUMENTS...
	tshark -n -r "$trace_file" -o tcp.check_checksum:TRUE -o ip.check_checksum:TRUE "$@" 2> "$dir/tshark"
}

frames() { # [DISPLAY_FILTER]
	read_trace -Y "${1:-frame}" -T fields -e frame.number | wc -l
}

moved() { # frames that have gone through the rings, either way
	stat_json | jq '.counters | .rx_frames + .tx_frames'
}

traced() { # frames that were copied, or that should have been
	stat_json | jq '.counters | .trace_frames + .trace_lost'
}

mapped() { # KiB of the maps that the worker has in its memory
	awk '/bpf-map/ { on = 1 } on && /^Rss:/ { sum += $2; on = 0 } END { print sum }' \
		"/proc/$(worker)/smaps"
}

start_saker

# --- all of it -------------------------------------------------------------------

ask "$url/compute?n=1000" > "$dir/body"
is 'nobody traces: nothing is copied' "$(traced)" 0
before=$(mapped)
began=$(moved)
trace all.pcapng
is 'a request while it is traced' "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
is 'and one over IPv6' "$(hash_of "$url6/compute?n=1000")" 0xa06ae7fd
ask "$url/compute?n=[1-3]" > "$dir/body"
is 'the ring is in memory meanwhile' $(($(mapped) - before)) 256
sleep 0.2 # the last segments of the clients
end_trace
is 'SIGINT ends it with status 0' $status 0
like 'and it says what it did' "$(cat "$dir/said")" 'saker-stat: trace: * frames, * bytes, 0 lost, *: interrupted'
is 'every frame of the rings is in it' "$(frames)" $(($(moved) - began))
is 'the file is for its owner' "$(stat -c %a "$trace_file")" 600
is 'tshark complains of nothing' "$(frames > /dev/null && grep -v 'Running as user' "$dir/tshark")" ''
is 'every TCP checksum is right' "$(frames 'tcp.checksum.status == "Good"')" "$(frames tcp)"
is 'and every IPv4 checksum' "$(frames 'ip.checksum.status == "Good"')" "$(frames ip)"
is 'received is what came from the client' "$(frames 'frame.p2p_dir == 1')" \
	"$(frames 'ip.src == 10.88.0.2 || ipv6.src == fd88::2')"
is 'sent is what went to it' "$(frames 'frame.p2p_dir == 0')" \
	"$(frames 'ip.dst == 10.88.0.2 || ipv6.dst == fd88::2')"
is 'no segment is missing' "$(frames 'tcp.analysis.lost_segment || tcp.analysis.ack_lost_segment')" 0
is 'five requests, five answers' "$(frames http.request) $(frames 'http.response.code == 200')" '5 5'
stream=$(read_trace -q -z follow,tcp,ascii,0)
like 'the first stream has the request' "$stream" '*GET /compute?n=1000 HTTP/1.1*'
like 'and the answer' "$stream" '*"hash":"0xa06ae7fd"*'
is 'each answer has its stages' "$(read_trace -Y http.response -T fields -e frame.comment |
	grep -Ec '^steer [0-9.]+ .s, parse [0-9.]+ .s, wait [0-9.]+ .?s, compute [0-9.]+ .s, reply [0-9.]+ .s, total [0-9.]+ .s$')" 5
is 'each received frame has steer' "$(read_trace -Y 'frame.p2p_dir == 1' -T fields -e frame.comment |
	grep -Ec '^steer [0-9.]+ .s$')" "$(frames 'frame.p2p_dir == 1')"
was=$(date +%s)
now=$(read_trace -c 1 -T fields -e frame.time_epoch)
is 'its time is that of the wall' "$((was - ${now%.*} < 60 && was - ${now%.*} >= 0))" 1
like 'the interface is named' "$(capinfos "$trace_file")" '*Name = server0
*Number of stat entries = 1
*'

# --- filters and bounds -----------------------------------------------------------

trace host.pcapng --host=10.88.0.3
ask "$url/compute?n=1" "$url6/compute?n=1" > "$dir/body"
ask --interface 10.88.0.3 "$url/compute?n=1" > "$dir/body"
sleep 0.2
end_trace
least '--host: frames of that client' "$(frames 'ip.addr == 10.88.0.3')" 8
is 'and of no other' "$(frames '!(ip.addr == 10.88.0.3)')" 0

trace net.pcapng --host=fd88::/64
ask "$url/compute?n=1" "$url6/compute?n=1" > "$dir/body"
sleep 0.2
end_trace
least '--host=fd88::/64: frames of IPv6' "$(frames ipv6)" 8
is 'and no others' "$(frames '!ipv6')" 0

trace port.pcapng --port=40001
ask "$url/compute?n=1" > "$dir/body"
ask --local-port 40001 "$url/compute?n=1" > "$dir/body"
sleep 0.2
end_trace
least '--port: frames of that connection' "$(frames 'tcp.port == 40001')" 8
is 'and of no other' "$(frames '!(tcp.port == 40001)')" 0

trace snap.pcapng --snap=54
ask "$url/compute?n=1" > "$dir/body"
sleep 0.2
end_trace
is '--snap: no more of a frame' "$(frames 'frame.cap_len > 54')" 0
least 'but its true length' "$(frames 'frame.cap_len == 54 && frame.len > 200')" 1

trace count.pcapng --count=5
ask "$url/compute?n=1" > "$dir/body"
trace_ended
is '--count ends it: frames, status' "$(frames) $status" '5 0'

trace size.pcapng --size=2k
ask "$url/compute?n=[1-10]" > "$dir/body"
trace_ended
is '--size ends it' "$status $(grep -c 'size is reached' "$dir/said")" '0 1'
size=$(stat -c %s "$trace_file")
is 'before the file is longer' $((size <= 2048 && size > 1500)) 1
is 'and the file is whole' "$(frames > /dev/null && grep -v 'Running as user' "$dir/tshark")" ''

trace seconds.pcapng --seconds=1
trace_ended
is '--seconds ends it' "$status $(grep -c 'seconds are over' "$dir/said")" '0 1'

# --- a pipe -------------------------------------------------------------------------

in_s "$build/saker-stat" trace -i server0 -w - --count=4 2> "$dir/said" |
	tshark -n -r - -T fields -e tcp.flags 2> "$dir/tshark" > "$dir/flags" &
piped=$!
tries=0
until gone $piped || [ $tries = 50 ]; do
	ask "$url/compute?n=1" > "$dir/body"
	sleep 0.1
	tries=$((tries + 1))
done
wait $piped
is 'tshark reads it from a pipe' "$(head -n 2 "$dir/flags" | tr '\n' ' ')$(wc -l < "$dir/flags")" '0x0002 0x0012 4'

# --- readers that die, and two at once ------------------------------------------------

trace first.pcapng
in_s "$build/saker-stat" trace -i server0 -w "$dir/second.pcapng" 2> "$dir/refused"
is 'a second reader is refused' $? 1
like 'and told by whom' "$(cat "$dir/refused")" "*process $tracer traces*"
ok 'and leaves no file' test ! -e "$dir/second.pcapng"
kill -9 "$tracer"
wait "$tracer" 2> /dev/null
sleep 1.2
began=$(traced)
ask "$url/compute?n=[1-3]" > "$dir/body"
is 'a second after its reader was killed nothing is copied' "$(traced)" "$began"
is 'and the memory is given back' "$(mapped)" "$before"
trace after.pcapng
ask "$url/compute?n=1" > "$dir/body"
sleep 0.2
end_trace
is 'a new reader sees what is new' "$(frames 'http.request') $(frames 'http.response')" '1 1'

# --- load: copied or counted -----------------------------------------------------------

began=$(moved) copied=$(traced)
trace load.pcapng --size=0 --snap=96
in_c wrk -t1 -c8 -d2 "$url/compute?n=0" > "$dir/wrk"
sleep 0.2
end_trace
is 'under load every frame is copied or counted as lost' $(($(traced) - copied)) $(($(moved) - began))
is 'those copied are in the file' "$(frames)" "$(sed 's/.*trace: \([0-9]*\) frames.*/\1/' "$dir/said")"
note "$(grep Requests/sec "$dir/wrk"), $(cat "$dir/said")"
rm "$trace_file"

# --- refusals -----------------------------------------------------------------------------

refused() { # NAME STATUS PATTERN ARGUMENTS...
	refused_name=$1 refused_status=$2 refused_like=$3
	shift 3
	refused_out=$(in_s "$@" 2>&1)
	is "$refused_name: status" $? "$refused_status"
	like "$refused_name: reason" "$refused_out" "$refused_like"
}

refused 'no file' 2 '*wanted: -i IFACE -w FILE*' "$build/saker-stat" trace -i server0
refused 'a host that is none' 2 '*--host=nobody: wanted an IPv4 or IPv6 address*' \
	"$build/saker-stat" trace -i server0 -w - --host=nobody
refused 'a prefix that is too long' 2 '*--host=33: wanted*1 ... 32*' \
	"$build/saker-stat" trace -i server0 -w - --host=10.0.0.0/33
refused 'another user' 1 '*run as root*' setpriv --reuid=65534 --clear-groups \
	"$build/saker-stat" trace -i server0 -w -
refused 'an interface without a responder' 1 '*does not exist*' "$build/saker-stat" trace -i lo -w -
refused 'a file that cannot be' 1 '*/nowhere/file: No such file*' \
	"$build/saker-stat" trace -i server0 -w /nowhere/file
refused 'a disk that is full' 1 '*/dev/full: No space left*' \
	"$build/saker-stat" trace -i server0 -w /dev/full

trace last.pcapng
stop_saker
trace_ended
is 'the responder ends, and the trace with it' "$status $(grep -c 'the responder has ended' "$dir/said")" '0 1'

# --- two I/O threads: a ring each, one file ----------------------------------------------------

tail_of() { # THREAD
	in_s bpftool map dump pinned "$(pins)/trace" | jq ".[$1].value.tail"
}

if [ "$(nproc)" = 1 ]; then
	skip 'it takes two CPUs' 'two I/O threads, one file'
else
	# A flow must stay on its queue: threads.sh.
	nsenter --net="/run/netns/$client" sysctl -qw net.core.txrehash=0 2> /dev/null
	start_saker --io-cpu=0,1
	began=$(moved)
	trace two.pcapng
	for one in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
		ask "$url/compute?n=$one" > "$dir/body"
	done
	sleep 0.5
	end_trace
	least 'two I/O threads: the first has put frames' "$(tail_of 0)" 1000
	if [ "$IO" = packet ]; then
		skip 'a veth says queue 0 of all frames, but to XDP in the driver' 'and the second'
	else
		least 'and the second' "$(tail_of 1)" 1000
	fi
	is 'every frame of both is in the file' "$(frames)" $(($(moved) - began))
	is 'and every request, and every answer' "$(frames 'http.request') $(frames 'http.response')" '16 16'
	stop_saker
fi

# --- a responder that crashes --------------------------------------------------------------------

start_saker
trace crash.pcapng
ask "$url/compute?n=1" > "$dir/body"
kill -9 "$saker"
wait "$saker" 2> /dev/null
trace_ended
is 'a crash ends the trace with status 1' "$status $(grep -c 'the responder is silent' "$dir/said")" '1 1'
is 'and what came before is in it' "$(frames http.response)" 1
refused 'pins of a crashed one' 1 '*has ended, crashed, or hangs*' \
	"$build/saker-stat" trace -i server0 -w -

start_saker --io=socket
refused 'the socket rung' 1 '*the kernel has that traffic: tcpdump -i server0*' \
	"$build/saker-stat" trace -i server0 -w -
stop_saker
finish
