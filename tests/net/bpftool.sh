#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: bpftool.sh BUILD_DIR
# What people see who have bpftool alone; and that neither it nor the responder wants
# the kernel's own BTF (CONFIG_DEBUG_INFO_BTF), which many small machines lack.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network

# Where libbpf looks for it (libbpf: btf__load_vmlinux_btf).
hide='for one in /sys/kernel/btf /boot /lib/modules /usr/lib/modules /usr/lib/debug; do
	[ ! -d $one ] || mount -t tmpfs none $one || exit 1
done
exec "$@"'
blind() { # COMMAND...: beside the responder, without the kernel's BTF
	in_s unshare -m sh -c "$hide" sh "$@"
}
is 'the kernel has BTF, where we look' "$(in_s test -e /sys/kernel/btf/vmlinux && echo yes)" yes
is 'and none where it is hidden' "$(blind sh -c 'ls -R /sys/kernel/btf /boot /lib/modules 2> /dev/null | grep -c vmlinux')" 0

stats_were=$(sysctl -n kernel.bpf_stats_enabled)
spawn_s unshare -m sh -c "$hide" sh "$build/saker" -i server0 -p $port --io-cpu=$server_cpu 2> "$dir/log"
saker=$spawned
soon 20 ready_or_gone
like 'without BTF of the kernel: ready, with the bypass' "$(cat "$dir/log")" '*ready: server0*rung xdp-native*'
is 'it answers' "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
is 'by the bypass' "$(mode rx)" proven

# --- maps: named fields, each --------------------------------------------------------
field() { # MAP JQ
	blind bpftool -j map dump pinned "$(pins)/$1" | jq -r ".[0].formatted.value$2"
}
for want in 'config .version 5' 'mode .version 5' "mode .port $port" 'mode .state STATE_ready' \
	'mode .rung RUNG_xdp_native' 'live .ready 1' 'counters .http_ok 1' 'stages .total.count 1' \
	'lanes .state TABLE_' 'gauges .requests 0' 'rings .frames 512' 'conns .state CONN_' 'limits .syns_per_s 0'; do
	# shellcheck disable=SC2086 # words
	set -- $want
	like "$1$2" "$(field "$1" "$2")" "$3*"
done
summarised() {
	[ "$(field summary .start.requests)" = 1 ]
}
ok 'summary.start.requests' soon 5 summarised
is 'summary.mode is text' "$(field summary .mode)" "xdp-native, copy, server0:$port"
is 'each span of the summary has its names' "$(field summary ' | .start.total, .last.turn_gap' | jq -c 'keys_unsorted')" \
	"$(printf '%s\n' '["count","mean_ns","p50_ns","p90_ns","p95_ns","p99_ns","p999_ns","max_ns"]' \
		'["count","mean_ns","p50_ns","p90_ns","p95_ns","p99_ns","p999_ns","max_ns"]')"
is 'a mean without ten values beyond it, but no percentile' \
	"$(field summary '.start.total | "\(.mean_ns > 0) \(.p50_ns)"')" 'true 0'

# --- the program's own time ------------------------------------------------------------
[ "$stats_were" != 0 ] || is 'run_cnt is 0 while kernel.bpf_stats_enabled is' "$(field summary .program.run_cnt)" 0
sysctl -qw kernel.bpf_stats_enabled=1
ask -o "$dir/body" "$url/compute?n=[1-100]"
timed() {
	[ "$(field summary '.program | .run_cnt >= 100 and .run_time_ns > .run_cnt * 10')" = true ]
}
ok 'when it is 1 the summary has run_cnt and run_time_ns' soon 5 timed
sysctl -qw kernel.bpf_stats_enabled="$stats_were"
id=$(xdp_program | jq .prog.id)
run_cnt() {
	[ "$(field summary .program.run_cnt)" = "$(blind bpftool -j prog show id "$id" | jq .run_cnt)" ]
}
ok 'the same as bpftool prog show says' soon 5 run_cnt

# --- what the kernel's lists say -----------------------------------------------------------
is 'prog show: its name and type' "$(blind bpftool -j prog show id "$id" | jq -r '"\(.type) \(.name)"')" 'xdp saker_steer'
is 'prog show: its maps by name' "$(blind bpftool -j prog show id "$id" | jq -r '.map_ids[]' |
	while read -r map; do blind bpftool -j map show id "$map" | jq -r .name; done | grep -cxE 'live|counters|xsks_map|icmp_ring')" 4
is 'net show: the interface and the program' "$(blind bpftool -j net show | jq -c '.[0].xdp[0] | [.devname, .id]')" "[\"server0\",$id]"
is 'link show: an XDP link' "$(blind bpftool -j link show | jq -r ".[] | select(.prog_id == $id) | .type")" xdp
is 'the pins' "$(in_s ls "$(pins)" | tr '\n' ' ')" \
	'access config conns counters flows gauges icmp_ring lanes limits live mode rings source_conns sources stages summary syn_hints trace xsks_map '
stop_saker
finish
