#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: findings.sh BUILD_DIR
# saker-doctor where files cannot show it: at hooks, pins and settings of a real interface.
# What it says to do is done, word for word, and then it finds nothing.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network

doctor() { # CHECK
	in_s "$build/saker-doctor" -i server0 --json "$1" > "$dir/found" 2> "$dir/trouble"
	doctor_status=$?
	jq -r '.findings[0] | .verdict + " " + .what' "$dir/found"
	cat "$dir/trouble"
	return $doctor_status
}

# The fix up to its first comma or semicolon that is followed by words for people.
fix() { # CHECK
	jq -r '.findings[0].fix.text | sub(", if nobody.*"; "") | sub("; or .*"; "")' "$dir/found" > "$dir/fix"
	PATH=$build:$PATH in_s sh -e "$dir/fix" > "$dir/fixed" 2>&1 || fail "$1: $(cat "$dir/fix")" "$(cat "$dir/fixed")"
}

fine() { # CHECK
	case $(doctor "$1") in 'ok '*) ;; *) return 1 ;; esac
}

mended() { # CHECK TEXT: it warns with that, and no more after its own fix
	like "$1: $2" "$(doctor "$1")" "$2"
	fix "$1"
	soon 5 fine "$1" # a link takes a moment
	like "$1: after \`$(head -n 1 "$dir/fix")\`" "$(doctor "$1")" "ok *"
}

# --- nothing -----------------------------------------------------------------------------
for check in xdp-program tc-programs leftovers deferral rps mtu link irq-affinity; do
	like "$check: nothing" "$(doctor $check)" "ok *"
done
like 'native-xdp: the kernel tells what veth can' "$(doctor native-xdp)" 'ok veth: native XDP*'
in_s "$build/saker-doctor" -i server0 > "$dir/all" 2>&1
is 'all checks: the exit status is not that of a crash' "$(($? <= 1))" 1

# --- programs -------------------------------------------------------------------------------
for mode in xdpdrv xdpgeneric; do
	ip -n "$server" link set dev server0 $mode object "$build/pass.bpf.o" section xdp
	mended xdp-program "warn another's XDP program is on server0: * ($mode, id *)"
done

if in_s tc qdisc add dev server0 clsact 2> /dev/null &&
	in_s tc filter add dev server0 ingress pref 7 bpf bytecode '1,6 0 0 4294967295,' 2> "$dir/tc"; then
	like 'tc-programs: one of the old kind' "$(doctor tc-programs)" 'info a classic program at clsact/ingress of server0'
	fix tc-programs
	like "tc-programs: after \`$(cat "$dir/fix")\`" "$(doctor tc-programs)" 'ok *'
else
	skip 'no clsact or no cls_bpf in this kernel' 'tc-programs: one of the old kind'
fi

# --- settings ----------------------------------------------------------------------------------
sysfs=/sys/class/net/server0
# shellcheck disable=SC2016 # its own dollar
in_s sh -c 'echo 1 > $0/napi_defer_hard_irqs; echo 30000 > $0/gro_flush_timeout' $sysfs
mended deferral 'warn * up to 30.0 us later *'
if [ "$(nproc)" -gt 1 ]; then
	in_s sh -c "echo 3 > $sysfs/queues/rx-0/rps_cpus"
	mended rps "warn rps_cpus is *3: *"
	is 'rps: the other core keeps its bit' "$(in_s cat $sysfs/queues/rx-0/rps_cpus | tail -c 2)" 1
else
	skip 'one CPU' 'rps'
fi
ip -n "$server" link set dev server0 mtu 9000
doctor mtu > "$dir/said"
is 'mtu: 9000 ends with 3' $? 3
mended mtu 'fail MTU 9000 is too large'
ip -n "$server" link set dev server0 down
mended link 'warn server0 has no link: *'

# --- ours ------------------------------------------------------------------------------------------
start_saker --steer=path
like 'leftovers: saker runs' "$(doctor leftovers)" 'ok *; saker runs'
like 'xdp-program: it is ours' "$(doctor xdp-program)" 'ok *'
like 'tc-programs: it is ours' "$(doctor tc-programs)" 'ok *'
for one in $saker $(worker) $(stand_in); do
	kill -9 "$one"
done
soon 5 gone "$saker"
wait "$saker"
like 'leftovers: its heartbeat is fresh for a second' "$(doctor leftovers)" '* *'
sleep 1.2
mended leftovers 'warn maps of a saker that is gone: /sys/fs/bpf/saker/server0@*'

# Maps are gone, as when somebody removes them by hand: what it changed is not.
in_s sysctl -qw net.ipv4.tcp_syncookies=1
start_saker --steer=path
maps=$(pins)
for one in $saker $(worker) $(stand_in); do
	kill -9 "$one"
done
soon 5 gone "$saker"
wait "$saker"
in_s rm -r "$maps"
is 'a setting that was left' "$(in_s sysctl -n net.ipv4.tcp_syncookies)" 2
mended leftovers 'warn a setting that a saker changed, which is gone: tcp_syncookies@*'
is 'a setting that was left: given back' "$(in_s sysctl -n net.ipv4.tcp_syncookies)" 1

# Another way in: its program is ours too.
start_saker --io=packet
like 'packet: tc-programs: it is ours' "$(doctor tc-programs)" 'ok *'
like 'packet: xdp-program: nothing' "$(doctor xdp-program)" 'ok *'
like 'packet: leftovers: saker runs' "$(doctor leftovers)" 'ok *; saker runs'
like 'packet: offloads: it has turned GRO off' "$(doctor offloads)" 'ok * (GRO off, *'
stop_saker
like 'packet: leftovers: none after its end' "$(doctor leftovers)" 'ok *'
finish
