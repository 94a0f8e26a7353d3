#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: probe.sh BUILD_DIR
# saker-probe beside a responder at work, and what a TX kick costs before it has the queue.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network

costs() { # FILTER
	in_s "$build/saker-probe" --costs --iface=server0 > "$dir/costs" 2> "$dir/trouble"
	jq -rc "$1" "$dir/costs"
}

statistic() { # NAME
	in_s cat "/sys/class/net/server0/statistics/$1"
}

# --- costs --------------------------------------------------------------------------
sent=$(statistic tx_packets)
is 'costs: each is a number, and p99 is not less than p50' "$(costs '[.syscall, .clock, .tx_kick] |
	all(.p50 > 0 and .p99 >= .p50 and .samples >= 1000)')" true
is 'costs: the hop takes two cores' "$(jq '.hop == null' "$dir/costs")" \
	"$([ "$(nproc)" = 1 ] && echo true || echo false)"
least 'costs: each kick sent a frame' $(($(statistic tx_packets) - sent)) "$(jq .tx_kick.samples "$dir/costs")"

start_saker
rung=$(mode rung)
case $rung in
xdp-*)
	is 'costs: a queue that the responder has' "$(costs '[.tx_kick, .why.tx_kick]')" \
		'[null,"AF_XDP socket on queue 0 of server0: another program has it (ss --xdp)"]'
	is 'and nothing on stderr' "$(cat "$dir/trouble")" ''
	;;
*) skip "the rung is $rung" 'costs: a queue that the responder has' ;;
esac

# --- beside it, from another network namespace -----------------------------------------
last() { # COLUMN
	awk -F, -v name="$1" '
	/^#/ { next }
	!at { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
	{ value = $at }
	END { print value }' "$dir/probe.csv"
}

sees_the_worker() { # its files are opened, and its counts taken
	find "/proc/$probe/fd" -lname "*/net/dev" | grep -q . &&
		find "/proc/$probe/fd" -lname "/proc/$worker/task/*/status" | grep -q .
}

worker=$(worker)
tx=$(statistic tx_packets)
"$build/saker-probe" --hz=20 --pid="$worker" --iface=server0 --out="$dir/probe.csv" 2> "$dir/trouble" &
probe=$!
spawned_all="$spawned_all $probe"
soon 10 sees_the_worker
ask -o "$dir/answers" "$url/compute?n=1000&seed=[1-500]" > "$dir/asked" || note < "$dir/asked"
kill -TERM "$probe"
wait "$probe"
is 'SIGTERM ends it well' $? 0
is 'and it said nothing' "$(cat "$dir/trouble")" ''
least 'its rows' "$(grep -c '^[0-9]' "$dir/probe.csv")" 2
like 'the interface of the worker' "$(grep '^# source nic' "$dir/probe.csv")" \
	"# source nic: ok: server0, of /proc/$worker/net/dev"
least 'a frame for each answer, at least' "$(last nic_tx_packets)" 500
least 'and no more than the interface sent' $(($(statistic tx_packets) - tx)) "$(last nic_tx_packets)"
least 'the worker has memory' "$(last rss_kb)" 500
if grep -q '^# source task_clock_ns: ok' "$dir/probe.csv"; then
	least 'and has worked for 1 ms' "$(last task_clock_ns)" 1000000
else
	skip "$(grep '^# source task_clock_ns' "$dir/probe.csv")" 'the time of the worker'
fi
stop_saker
finish
