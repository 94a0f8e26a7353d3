#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: metrics.sh BUILD_DIR
# GET /metrics: what promtool says of it, against what saker-stat says, with several I/O
# threads and a compute core, by slow readers, and ten times a second under load.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network 2
# A flow must stay on its queue, see threads.sh.
nsenter --net="/run/netns/$client" sysctl -qw net.core.txrehash=0 2> /dev/null

scrape() { # CURL_ARGUMENTS...
	ask -f "$@" "$url/metrics"
}

# The counters http_*, which stand still while nobody asks, and of each stage of
# requests how many there were: from saker-stat, and from the text, which has been
# asked for by one request more, not yet answered.
told_by_stat() {
	stat_json | jq -r '.counters | .http_requests += 1 | to_entries[] | select(.key | startswith("http_")) |
		"\(.key) \(.value)"'
}

told_by_text() {
	sed -n 's/^saker_\(http_[a-z0-9_]*\)_total{interface="server0"} /\1 /p' "$dir/text"
}

# Blocks of maps, as bpftool reads them: the sum over the I/O threads.
stage_count() { # STAGE
	in_s bpftool map dump pinned "$(pins)/stages" | jq "[.[].value.$1.count] | add"
}

stage_told() { # STAGE
	sed -n "s/^saker_stage_seconds_count{interface=\"server0\",stage=\"$1\"} //p" "$dir/text"
}

same() { # NAME
	told_by_stat > "$dir/stat"
	scrape > "$dir/text"
	told_by_text > "$dir/told"
	least "$1: counters" "$(wc -l < "$dir/told")" 30
	ok "$1: each counter is what saker-stat says" diff "$dir/stat" "$dir/told"
	for stage in parse wait compute; do
		is "$1: so is the count of $stage" "$(stage_told $stage)" "$(stage_count $stage)"
	done
}

judged() { # NAME
	has promtool "$1: promtool check metrics" || return
	ok "$1: promtool check metrics" promtool check metrics < "$dir/text"
}

# All of the text: its last line is that of the last stage.
is_whole() {
	tail -n1 "$1" | grep -q '^saker_stage_seconds_count{interface="server0",stage="stolen"} [0-9]*$'
}

was_aborted() {
	[ "$(counter http_aborted)" -gt "$before" ]
}

cpus=0
[ "$(nproc)" = 1 ] || cpus=0,1
for rung in auto socket; do
	start_saker --io=$rung --io-cpu=$cpus
	ok "$rung: load" in_c "$here/clients/check.py" $server4 $port 2000 32 get post text
	ask "$url/nothing" > /dev/null
	ask -I "$url/compute?n=1&n=2" > /dev/null
	same "$rung"
	judged "$rung"
	is "$rung: answers so far" "$(sed -n 's/^saker_requests_total{.*} //p' "$dir/text")" 2002
	is "$rung: type" "$(scrape -o /dev/null -w '%{content_type}')" 'text/plain; version=0.0.4; charset=utf-8'
	like "$rung: HEAD" "$(scrape -I | tr -d '\r')" 'HTTP/1.1 200 OK*Transfer-Encoding: chunked*'
	scrape -0 > "$dir/text"
	ok "$rung: HTTP/1.0" is_whole "$dir/text"
	judged "$rung: HTTP/1.0"
	is "$rung: POST" "$(ask -d x -o /dev/null -w '%{http_code}' "$url/metrics")" 405
	is "$rung: three on one connection" "$(ask -o /dev/null -o /dev/null -o /dev/null -w '%{num_connects}' \
		"$url/metrics" "$url/metrics" "$url/metrics")" 100

	slow=
	for rate in 40k 80k; do
		scrape --limit-rate $rate > "$dir/slow.$rate" &
		slow="$slow $!"
	done
	if [ $rung = auto ]; then # a socket of the kernel takes all of it, whoever reads
		before=$(counter http_aborted)
		spawn_c "$here/clients/mute.py" $server4 $port
		sleep 1
		kill -9 "$spawned"
		soon 5 was_aborted
		is "$rung: who goes away in the middle is counted" "$(counter http_aborted)" $((before + 1))
	fi
	# shellcheck disable=SC2086 # numbers
	wait $slow
	ok "$rung: a slow reader has all of it" is_whole "$dir/slow.40k"
	ok "$rung: and another one, at the same time" is_whole "$dir/slow.80k"

	# --- ten times a second while wrk runs -------------------------------------------
	in_c wrk -t1 -c32 -d4s "$url/compute?n=0" > "$dir/wrk" 2>&1 &
	wrk=$!
	scrapes=0 bad=0
	while ! gone $wrk; do
		ask -f "$url/metrics" > "$dir/text" && is_whole "$dir/text" || bad=$((bad + 1))
		scrapes=$((scrapes + 1))
		sleep 0.1
	done
	wait $wrk
	least "$rung: scrapes while wrk ran" $scrapes 10
	is "$rung: of which none failed" $bad 0
	ok "$rung: wrk had requests" grep -q '^ *[1-9][0-9]* requests in' "$dir/wrk"
	ok "$rung: and no error" sh -c '! grep -E "Socket errors|Non-2xx" "$1"' sh "$dir/wrk"
	same "$rung, after that"
	judged "$rung, after that"
	stop_saker
done
finish
