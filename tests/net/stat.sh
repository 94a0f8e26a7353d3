#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: stat.sh BUILD_DIR
# saker-stat: every view against counts that are known, by a user without root, on a
# terminal, and on what a crashed responder left.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network
group=daemon nobody=65534
start_saker --stat-group=$group

st() {
	in_s "$build/saker-stat" -i server0 "$@" 2> "$dir/trouble"
}

json() { # FILTER OPTIONS...
	json_filter=$1
	shift
	st --json "$@" > "$dir/json" && jq -rc "$json_filter" "$dir/json"
}

requests() { # NUMBER: on one connection
	ask -o "$dir/answers" "$url/compute?n=1000&seed=[1-$1]" > "$dir/asked" || note < "$dir/asked"
	soon 3 all_closed
}

all_closed() {
	[ "$(counter 'tcp_opened == .counters.tcp_closed')" = true ]
}

# --- one look ------------------------------------------------------------------
requests 1200
is 'JSON: as many requests as were made' "$(json '.start.requests')" 1200
is 'JSON: each was computed' "$(json '.start.stages.compute.count')" 1200
is 'JSON: p50 and p99 are there, p99.9 would take 10,000 values' "$(json '.start.stages.compute
	| [.p50_ns > 0, .p99_ns >= .p50_ns, .p999_ns]')" '[true,true,null]'
is 'JSON: the members of an instance' "$(json 'keys | join(" ")')" \
	'abi counters dir gauges heartbeat_age_ns instance last life limits mode nic now_ns rings start tool'

st > "$dir/table"
like 'table, no terminal: the first line names mode and state' "$(sed -n 1p "$dir/table")" \
	'server0@*: xdp-*, copy, server0:8080, ready'
is 'table: a row for each stage' "$(awk '/^stage/ { on = 1; next } !NF { on = 0 } on { printf "%s ", $1 }' "$dir/table")" \
	"$(json '.start.stages | keys_unsorted | join(" ")') "
is 'table: the counts are those of the requests' \
	"$(awk '$1 == "compute" && $2 != "CPU" { print $2 } $1 == "http_ok" { print $2 }
	$1 == "requests" { print $2 + 0 }' "$dir/table" | sort -u)" 1200
is '--all shows the counters that are 0, too' "$(st --all |
	awk '/^counter/ { on = 1; next } !NF { on = 0 } on { n++ } END { print n }')" "$(json '.counters | length')"

# --- snapshots -------------------------------------------------------------------
ok '--save writes a snapshot' st --save="$dir/snapshot"
is 'and shows nothing' "$(st --save="$dir/other")" ''
is 'nor leaves a second file' "$(cd "$dir" && echo other* snapshot*)" 'other snapshot'
requests 300
is '--since: what was added' "$(json '[.since.requests, .since.counters.http_ok,
	.since.stages.compute.count, .start.requests]' --since="$dir/snapshot")" '[300,300,300,1500]'
is '--since: a mean of what was added' "$(json '(.since.stages.compute.mean_ns * 300 - (.start.stages.compute.mean_ns * 1500
	- '"$(awk '$1 == "stage" && $2 == "compute" { print $4 }' "$dir/snapshot")"')) | fabs < 2000' --since="$dir/snapshot")" true
is '--since, table' "$(st --since="$dir/snapshot" | awk '$1 == "compute" && $2 != "CPU" { print $2 }
	$1 == "http_ok" { print $2 }' | sort -u)" 300
is '--diff: before and now' "$(json '[.before.requests, .before.stages.total.count, .start.requests]' \
	--diff="$dir/snapshot")" '[1200,1200,1500]'
is '--diff, table: the counts side by side' "$(st --diff="$dir/snapshot" |
	awk '$1 == "compute" { print $2, $3; exit }')" '1200 1500'
is '--diff with --since: a stretch beside a stretch' "$(st --diff="$dir/snapshot" --since="$dir/snapshot" |
	awk '$1 == "compute" { print $2, $3; exit }')" '1200 300'
st --since="$dir/snapshot" --save="$dir/stretch"
is '--since with --save: a stretch can be kept' \
	"$(json .before.requests --diff="$dir/stretch")" 300
st --since="$dir/stretch" > "$dir/out"
like 'but nothing can be since it' "$? $(cat "$dir/trouble")" '1 *was itself saved with --since*'
sed '/^bucket/d' "$dir/snapshot" > "$dir/damaged"
st --since="$dir/damaged" > "$dir/out"
like 'a damaged snapshot is refused' "$? $(cat "$dir/trouble")" '1 *damaged is damaged'
echo no > "$dir/none"
st --diff="$dir/none" > "$dir/out"
like 'so is another file' "$? $(cat "$dir/trouble")" '1 *is no snapshot*'

# --- again and again ---------------------------------------------------------------
spawn_c curl -s -o /dev/null --max-time 60 --rate 200/s "$url/compute?n=1000&seed=[1-3000]"
load=$spawned
st --json --interval=0.5 --count=4 > "$dir/stream"
is '--interval, --count: so many looks' "$(jq -s length "$dir/stream")" 4
is 'each shows what was added since the one before' "$(jq -s '[.[1:][].interval.requests] | add' "$dir/stream")" \
	"$(jq -s '.[3].start.requests - .[0].start.requests' "$dir/stream")"
is 'at the distance that was asked for' "$(jq -s '(.[3].now_ns - .[0].now_ns) / 1e9 | . > 1.4 and . < 2.5' "$dir/stream")" true

# --- on a terminal -------------------------------------------------------------------
screen() { # LOCALE [OPTIONS...]: the view, 110 by 32
	screen_locale=$1
	shift
	in_s tmux -L "$tmux" new-session -d -s view -x 110 -y 32 \
		"LC_ALL=$screen_locale exec '$build/saker-stat' --interval=0.5 $*"
}

pane() {
	in_s tmux -L "$tmux" capture-pane -p -t view
}

shows() { # PATTERN
	pane > "$dir/pane" && grep -q -- "$1" "$dir/pane"
}

keys() {
	in_s tmux -L "$tmux" send-keys -t view "$@"
}

closed() {
	! in_s tmux -L "$tmux" has-session -t view 2> /dev/null
}

shown() { # NAME PATTERN
	if soon 10 shows "$2"; then pass "$1"; else fail "$1" "$(cat "$dir/pane")"; fi
}

rate_right() { # requests N/s, about 200
	pane > "$dir/pane" &&
		awk '$1 == "requests" { ok = $2 + 0 > 100 && $2 + 0 < 300 } END { exit !ok }' "$dir/pane"
}

if has tmux 'the live view'; then
	tmux=saker-$$
	spawn_s tmux -D -L $tmux -f /dev/null # our child, so that it ends with us
	soon 5 in_s tmux -L $tmux show-options -s
	screen C.UTF-8 -i server0
	shown 'live view: on a terminal' '^server0@.*: xdp-.*, copy, server0:8080, ready'
	if soon 10 rate_right; then
		pass 'live view: about 200 requests a second'
	else
		fail 'live view: about 200 requests a second' "$(cat "$dir/pane")"
	fi
	shown 'live view: a stage with its histogram in blocks' '^compute .*█'
	shown 'live view: a window of time' ' in the last '
	keys w
	shown 'live view: w goes to all since the start' ' since the start'
	keys a
	shown 'live view: a shows all counters' '^xdp_redirected '
	keys Space
	shown 'live view: space holds it' '(paused)'
	in_s tmux -L $tmux resize-window -t view -x 70 -y 12
	shown 'live view: in a small window' '^q quit'
	keys q
	ok 'live view: q ends it' soon 5 closed
	screen C -i server0
	shown 'live view: letters where the locale has no blocks' '^compute .*[@]'
	is 'live view: and nothing but ASCII' "$(LC_ALL=C grep -c '[^ -~]' "$dir/pane")" 0
	keys q
	soon 5 closed
	screen C -i server0 --since="$dir/snapshot"
	shown 'live view: since a snapshot' 'since the snapshot'
	keys q
	soon 5 closed
	screen C -i server0 --count=2
	ok 'live view: --count ends it' soon 10 closed
	is 'a terminal that is not known gets the table' "$(in_s env TERM=nosuch script -qec \
		"'$build/saker-stat' -i server0" /dev/null < /dev/null | grep -c '^stage \|^counter ')" 2
	is '--once on a terminal: the table' "$(in_s env TERM=xterm script -qec \
		"'$build/saker-stat' -i server0 --once" /dev/null < /dev/null | grep -c '^stage \|^counter ')" 2
fi
kill "$load"
wait "$load" 2> /dev/null
soon 3 all_closed

# --- for plotters ----------------------------------------------------------------------
st --hgrm=compute > "$dir/hgrm"
p50=$(json '.start.stages.compute.p50_ns')
is '--hgrm: the heading that plotters look for' "$(sed -n 1p "$dir/hgrm" | tr -s ' ')" \
	' Value Percentile TotalCount 1/(1-Percentile)'
is '--hgrm: values, percentiles and counts rise' "$(awk '$2 ~ /^[01]\.[0-9]*$/ {
	if ($1 < v || $2 < p || $3 < c) bad++; v = $1; p = $2; c = $3; n++ } END { print bad + 0, (n > 10) }' "$dir/hgrm")" '0 1'
is '--hgrm: half of them lie below p50 of the JSON, within 2 %' "$(awk -v p50="$p50" '$2 == "0.500000000000" {
	r = $1 * 1e6 / p50; print (r > 0.98 && r < 1.02) }' "$dir/hgrm")" 1
is '--hgrm: the last line is the maximum, of all' "$(awk '$2 == "1.000000000000" { printf "%d %d", $1 * 1e6 + 0.5, $3 }' "$dir/hgrm")" \
	"$(json '.start.stages.compute | "\(.max_ns) \(.count)"')"
is '--hgrm: mean, as in the JSON' "$(sed -n 's/^#\[Mean *= *\([0-9.]*\),.*/\1/p' "$dir/hgrm" |
	awk -v mean="$(json .start.stages.compute.mean_ns)" '{ d = $1 * 1e6 - mean; print (d > -1.5 && d < 1.5) }')" 1
is '--hgrm: no percentile that fewer than ten values lie beyond' "$(awk '$4 ~ /^[0-9]/ && NR > 1 { p = $2 } $2 == "1.000000000000" { n = $3 }
	END { print (n - n * p >= 10) }' "$dir/hgrm")" 1

# --- for Prometheus ---------------------------------------------------------------------
lint() { # NAME
	has promtool "$1" && ok "$1" sh -c "promtool check metrics < '$dir/metrics'"
}

st --prometheus > "$dir/metrics"
lint '--prometheus: promtool finds nothing'
is '--prometheus: the same numbers as the JSON' "$(awk '$1 ~ /^saker_requests_total/ { r = $2 }
	$1 ~ /^saker_stage_seconds_count.*"compute"/ { c = $2 } $1 ~ /^saker_http_ok_total/ { h = $2 } END { print r, c, h }' "$dir/metrics")" \
	"$(json '"\(.start.requests) \(.start.stages.compute.count) \(.counters.http_ok)"')"
is '--prometheus: at most 40 values of le, rising, +Inf is the count' "$(awk '
	/^saker_stage_seconds_bucket/ { match($1, /stage="[a-z_]*/); s = substr($1, RSTART, RLENGTH)
		if ($2 < last[s]) bad++; last[s] = $2; n[s]++ }
	/^saker_stage_seconds_count/ { match($1, /stage="[a-z_]*/); s = substr($1, RSTART, RLENGTH)
		if ($2 != last[s] || n[s] > 40) bad++; stages++ }
	END { print bad + 0, stages }' "$dir/metrics")" "0 $(json '.start.stages | length')"

# --- several, and without root ------------------------------------------------------------
spawn_s "$build/saker" -i lo --io=socket -p 8081 --io-cpu="$client_cpu" -q
second=$spawned
two_there() {
	[ "$(in_s "$build/saker-stat" --json | jq 'map(select(.mode.state == "ready")) | length')" = 2 ]
}
ok 'two responders: an array of two' soon 10 two_there
is 'a line for each' "$(in_s "$build/saker-stat" | awk '{ sub(/@.*/, "", $1); print $1 }' | tr '\n' ' ')" 'lo server0 '
in_s "$build/saker-stat" --prometheus > "$dir/metrics"
is 'a sample of each under one heading' "$(grep -c '^# TYPE saker_requests_total' "$dir/metrics") $(
	grep -c '^saker_requests_total' "$dir/metrics")" '1 2'
lint 'promtool finds nothing'
in_s "$build/saker-stat" --save="$dir/both"
is 'a snapshot of both' "$(in_s "$build/saker-stat" --since="$dir/both" --json | jq -c 'map(.since.requests)')" '[0,0]'
in_s "$build/saker-stat" --hgrm=total > "$dir/out" 2>&1
like '--hgrm of both is refused' "$? $(cat "$dir/out")" '1 *which? -i IFACE'
if has tmux 'live view of both'; then
	screen C
	shown 'live view of both: the first' '^lo@.* 1 of 2'
	keys Tab
	shown 'live view of both: Tab goes to the second' '^server0@.* 2 of 2'
	keys q
	soon 5 closed
fi
kill -TERM $second
wait $second
is 'the second ends well' $? 0

as() { # GROUP COMMAND...: nobody, in that group alone
	as_group=$1
	shift
	in_s setpriv --reuid=$nobody --regid="$as_group" --clear-groups --no-new-privs "$@"
}

note "kernel.unprivileged_bpf_disabled is $(sysctl -n kernel.unprivileged_bpf_disabled)"
is 'a member of the group, without any capability, reads it' \
	"$(as $group "$build/saker-stat" -i server0 --json | jq .start.requests)" "$(json .start.requests)"
is 'all parts of it' "$(as $group "$build/saker-stat" -i server0 --json | jq -c '[keys, (.gauges, .rings | length)]')" \
	"$(json '[keys, (.gauges, .rings | length)]')"
ok 'and the connections' as $group "$build/saker-stat" conns -i server0
is 'and the lanes' "$(as $group "$build/saker-stat" lanes -i server0 --json | jq length)" 1
is 'and finds it' "$(as $group "$build/saker-stat" | wc -l)" 1
as nogroup "$build/saker-stat" -i server0 > "$dir/out" 2>&1
like 'nobody else does' "$? $(cat "$dir/out")" '1 *mode: Permission denied: run as root, or let your group read it*'
as $group bpftool map update pinned "$(pins)/live" key 0 0 0 0 value 0 0 0 0 0 0 0 0 > "$dir/out" 2>&1
like 'the group cannot write' "$? $(cat "$dir/out")" '[1-9]* *Permission denied*'
is 'what the group may read' "$(in_s sh -c "cd '$(pins)' && stat -c '%n %U:%G %a' . *" | tr '\n' ' ')" \
	". root:$group 750 access root:$group 640 config root:$group 640 conns root:$group 640 counters root:$group 640 flows root:root 600 gauges root:$group 640 icmp_ring root:root 600 lanes root:$group 640 limits root:$group 640 live root:$group 640 mode root:$group 640 rings root:$group 640 source_conns root:$group 640 sources root:$group 640 stages root:$group 640 summary root:$group 640 syn_hints root:root 600 trace root:root 600 xsks_map root:root 600 "

# --- after a crash ---------------------------------------------------------------------------
made=$(json .start.requests)
kill -9 "$saker"
wait "$saker" 2> /dev/null
is_gone() {
	[ "$(json .life)" = gone ]
}
ok 'after kill -9 it is known as gone' soon 5 is_gone
is 'its figures are there' "$(json .start.requests)" "$made"
like 'the table says so' "$(st | sed -n 2p)" '*GONE * ago: these are its last figures'
is 'a member of the group reads them too' "$(as $group "$build/saker-stat" -i server0 --json | jq -r .life)" gone
st --prometheus > "$dir/metrics"
lint 'promtool finds nothing in them'
is '--hgrm reads them' "$(st --hgrm=compute | awk '$2 == "1.000000000000" { print $3 }')" "$(json .start.stages.compute.count)"
if has tmux 'the live view of a crashed one'; then
	screen C -i server0
	shown 'the live view of a crashed one' '^GONE, last sign of life '
	keys q
	soon 5 closed
fi

in_s chmod 700 /sys/fs/bpf
start_saker --stat-group=$group
like 'a start behind a closed /sys/fs/bpf names it and the cure' "$(cat "$dir/log")" \
	"*--stat-group=$group: the group cannot pass /sys/fs/bpf: \`chmod o+x /sys/fs/bpf\`*"
as $group "$build/saker-stat" -i server0 > "$dir/out" 2>&1
is 'the group is kept out' $? 1
in_s chmod o+x /sys/fs/bpf
ok 'with that cure it comes in' as $group "$build/saker-stat" -i server0

st --since="$dir/snapshot" > "$dir/out"
like '--since: a snapshot of another run is refused' "$? $(cat "$dir/trouble")" '1 *of another run*'
requests 40
is '--diff: but compared' "$(json '[.before.requests, .start.requests]' --diff="$dir/snapshot")" '[1200,40]'
stop_saker

# --- as the systemd unit runs it: root without CAP_CHOWN -------------------------------------------
without_chown() { # GROUPS: as --stat-group, of the process
	spawn_s setpriv --bounding-set=-chown --groups="$1" "$build/saker" -i server0 -p $port \
		--io-cpu=$server_cpu --stat-group=$group 2> "$dir/log"
	saker=$spawned
	soon 20 ready_or_gone
}

without_chown root,$group
ok 'without CAP_CHOWN, a process in the group can let it in' as $group "$build/saker-stat" -i server0
stop_saker
without_chown root
like 'a process that is not says what it takes' "$(cat "$dir/log")" \
	"*--stat-group=$group: Operation not permitted: it takes CAP_CHOWN, or a process in that group*"
ok 'and serves nevertheless' is_ready
stop_saker
finish
