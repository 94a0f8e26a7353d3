#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: doctor.sh BUILD_DIR
# saker-doctor --fix and --undo for real: on a veth in a namespace, looked at with ethtool
# and cat; killed in the middle; on an interface that is not the same any more.

# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"

network 1
state=$dir/state.json
sysfs=/sys/class/net/server0

doctor() { # OPTIONS...
	in_s "$build/saker-doctor" --state="$state" "$@" > "$dir/out" 2>&1
	status=$?
}

# All that may change, of both tools.
look() {
	in_s sh -c "cd $sysfs && grep -H . mtu tx_queue_len gro_flush_timeout napi_defer_hard_irqs \
		queues/*/rps_cpus queues/*/rps_flow_cnt; grep -H . /proc/sys/net/ipv4/tcp_syncookies \
		/proc/sys/net/ipv4/tcp_rmem; ethtool -k server0; ethtool -l server0; ethtool -g server0" 2>&1
}

feature() { # NAME
	in_s ethtool -k server0 | sed -n "s/^\t*$1: //p"
}

is_as_before() { # NAME
	look > "$dir/now"
	if cmp -s "$dir/before" "$dir/now"; then pass "$1"; else
		fail "$1" "$(diff "$dir/before" "$dir/now")
$(cat "$dir/out")"
	fi
}

forgotten() { # NAME
	ok "$1" test ! -e "$state"
}

# --- what the checks find -----------------------------------------------------------

in_s sh -c "echo 20000 > $sysfs/gro_flush_timeout; echo 1 > $sysfs/napi_defer_hard_irqs"
look > "$dir/before"
doctor -i server0 --fix deferral
is 'saker-doctor --fix deferral' $status 0
is 'gro_flush_timeout' "$(in_s cat $sysfs/gro_flush_timeout)" 0
is 'napi_defer_hard_irqs' "$(in_s cat $sysfs/napi_defer_hard_irqs)" 0
doctor -i server0 --fix deferral
like 'again: nothing to do' "$(cat "$dir/out")" '*0 changed*'
doctor --undo
is 'saker-doctor --undo' $status 0
is_as_before 'all is as it was'
forgotten 'and nothing is remembered'

# --- settings of many kinds -----------------------------------------------------------

set_all() { # [--kill=N]
	in_s "$build/doctor_set" "$@" "$state" server0 '-K gro' on '-K gso' off '-K tso' off '-K tx' off \
		'-K sg' off \
		$sysfs/mtu 1400 $sysfs/tx_queue_len 500 $sysfs/queues/rx-0/rps_cpus 1 \
		$sysfs/gro_flush_timeout 0 $sysfs/napi_defer_hard_irqs 0 /proc/sys/net/ipv4/tcp_syncookies 2 \
		/proc/sys/net/ipv4/tcp_rmem '4096 131072 4194304' \
		$sysfs/queues/rx-0/rps_flow_cnt 256 > "$dir/out" 2>&1
	status=$?
}

set_all
is 'features, MTU, queue, RPS, deferral and sysctls are set' $status 0
[ $status = 0 ] || note < "$dir/out"
is 'GRO, says ethtool' "$(feature generic-receive-offload)" on
is 'GSO' "$(feature generic-segmentation-offload)" off
is 'TX checksums' "$(feature tx-checksum-ip-generic)" off
is 'scatter-gather' "$(feature tx-scatter-gather)" off
is 'MTU' "$(in_s cat $sysfs/mtu)" 1400
is 'the queue, says ip' "$(in_s ip -j link show server0 | jq '.[0].txqlen')" 500
is 'RPS' "$(in_s cat $sysfs/queues/rx-0/rps_cpus | tr -d ,0)" 1
is 'a sysctl of three numbers' "$(in_s sysctl -n net.ipv4.tcp_rmem)" "$(printf '4096\t131072\t4194304')"
in_s ip link set server0 mtu 1300
set_all
is 'set again, after another hand' "$(in_s cat $sysfs/mtu)" 1400
doctor --undo
is 'undone' $status 0
[ $status = 0 ] || note < "$dir/out"
is_as_before 'all is as it was at first'
forgotten 'and nothing is remembered'

# --- refusals -----------------------------------------------------------------------------

fixed=$(in_s ethtool -k server0 | sed -n 's/^\t*\(tx-[a-z0-9-]*\): off \[fixed\]/\1/p' | head -n 1)
in_s "$build/doctor_set" "$state" server0 $sysfs/mtu 1 "-K $fixed" on '-C rx-usecs' 0 '-G rx' 99999 \
	$sysfs/gro_flush_timeout none $sysfs/tx_queue_len 700 $sysfs/nosuch 1 > "$dir/out" 2>&1
is 'refusals are told by the status' $? 1
like 'MTU 1: by its errno' "$(cat "$dir/out")" "*REFUSED   $sysfs/mtu: 1500 -> 1: Invalid argument (EINVAL)*"
like 'a fixed feature: by why' "$(cat "$dir/out")" "*REFUSED   ethtool -K server0 $fixed: *EOPNOTSUPP*fixed*"
like 'moderation: a veth has none' "$(cat "$dir/out")" '*REFUSED   ethtool -C server0 rx-usecs: *(EOPNOTSUPP)*'
like 'a word for a number' "$(cat "$dir/out")" '*REFUSED   *gro_flush_timeout: 20000 -> none: *(EINVAL)*'
like 'a file that is not there' "$(cat "$dir/out")" '*REFUSED   *nosuch: *(ENOENT)*'
is 'the rest goes on' "$(in_s cat $sysfs/tx_queue_len)" 700
is 'what was refused is not remembered' "$(jq '.settings | length' "$state")" 1
doctor --undo
is_as_before 'all is as it was'

# --- killed -------------------------------------------------------------------------------

point=0 wrong=
while point=$((point + 1)); do
	set_all --kill=$point
	[ $status = 137 ] || break
	[ -e "$state" ] || wrong="$wrong $point: nothing is remembered"
	doctor --undo
	[ $status = 0 ] || wrong="$wrong $point: --undo: status $status"
	look > "$dir/now"
	cmp -s "$dir/before" "$dir/now" || wrong="$wrong $point: $(diff "$dir/before" "$dir/now")"
done
is 'then it lives' $status 42
doctor --undo
is "killed at each of $((point - 1)) points between changes, then undone: all as it was" "$wrong" ''
least 'there were as many as settings, twice' $((point - 1)) 26

# --- a partition -------------------------------------------------------------------------

threads() { # of the responder: name, cores and cgroup of each
	for one in $saker $(pgrep -P "$saker"); do
		for task in "/proc/$one/task"/*; do
			echo "$(cat "$task/comm") $(awk '/^Cpus_allowed_list/ { print $2 }' "$task/status")" \
				"$(sed -n 's/^0:://p' "$task/cgroup")"
		done
	done
}

isolate() { # CPUS
	in_s "$build/doctor_set" "$state" server0 cpuset "$1" > "$dir/out" 2>&1
	status=$?
}

in_s mount -t cgroup2 none /sys/fs/cgroup
if ! in_s grep -qw cpuset /sys/fs/cgroup/cgroup.controllers; then
	isolate $server_cpu
	is 'without cpusets in cgroup v2 a partition is refused' $status 1
	like 'by name' "$(cat "$dir/out")" '*REFUSED   cgroup cpuset*cgroup v[12] has*'
	forgotten 'and nothing is remembered'
	skip 'cgroup v1 has the cpusets of this machine' 'a partition, with a responder inside'
elif [ $server_cpu = 0 ]; then
	skip 'one CPU' 'a partition, with a responder inside'
else
	# shellcheck disable=SC2119 # no options
	start_saker
	threads > "$dir/threads"
	before=$(in_s cat /sys/fs/cgroup/cgroup.subtree_control)
	isolate $server_cpu
	is 'a core is isolated' $status 0
	is 'the kernel says so' "$(in_s cat /sys/fs/cgroup/saker/cpuset.cpus.partition)" isolated
	is 'the I/O thread keeps its core, inside' "$(threads | grep '^saker-io ')" "saker-io $server_cpu /saker"
	is 'it answers' "$(hash_of "$url/compute?n=2")" 0x1076963a
	if taskset -c $server_cpu true 2> "$dir/out"; then fail 'nobody else may run there'; else
		pass 'nobody else may run there'
	fi
	isolate $server_cpu
	like 'again: nothing to do' "$(cat "$dir/out")" '*0 changed*'
	doctor --undo
	is 'undone' $status 0
	is 'all threads are where they were' "$(threads)" "$(cat "$dir/threads")"
	ok 'the cgroup is gone' in_s test ! -e /sys/fs/cgroup/saker
	is 'the controller is as before' "$(in_s cat /sys/fs/cgroup/cgroup.subtree_control)" "$before"
	in_s mkdir /sys/fs/cgroup/system.slice /sys/fs/cgroup/system.slice/x.service
	echo "$saker" | in_s tee /sys/fs/cgroup/system.slice/x.service/cgroup.procs > /dev/null
	isolate $server_cpu
	like "under a unit of systemd's it is refused" "$(cat "$dir/out")" '*REFUSED   process *(EBUSY): systemd has*'
	ok 'and nothing is made' in_s test ! -e /sys/fs/cgroup/saker
	echo "$saker" | in_s tee /sys/fs/cgroup/cgroup.procs > /dev/null
	in_s rmdir /sys/fs/cgroup/system.slice/x.service /sys/fs/cgroup/system.slice
	isolate "$(cat /sys/devices/system/cpu/online)"
	is 'a partition of all cores is refused' $status 1
	like 'in the words of the kernel' "$(cat "$dir/out")" '*REFUSED   partition saker*the kernel says: isolated invalid*'
	is 'and taken back' "$(in_s cat /sys/fs/cgroup/cgroup.subtree_control)" "$before"
	ok 'as a whole' in_s test ! -e /sys/fs/cgroup/saker
	forgotten 'and nothing is remembered'
	stop_saker
fi

# --- not the same any more -------------------------------------------------------------------

in_s sh -c "echo 7 > $sysfs/tx_queue_len"
in_s "$build/doctor_set" "$state" server0 $sysfs/tx_queue_len 500 $sysfs/mtu 1400 > "$dir/out"
in_s ip link set server0 mtu 1450
in_c "$build/saker-doctor" --state="$state" --undo > "$dir/out" 2>&1
is 'undo in another namespace is a failure' $? 1
like 'and says so' "$(cat "$dir/out")" '*KEPT *another network namespace*'
is 'nothing is changed' "$(in_s cat $sysfs/tx_queue_len)" 500
doctor --undo
is 'in its own it is not' $status 0
is 'what another hand has changed since is left' "$(in_s cat $sysfs/mtu)" 1450
like 'and said' "$(cat "$dir/out")" '*mtu: 1450: somebody has changed it since (it was 1500, we set 1400)*'
is 'the rest is restored' "$(in_s cat $sysfs/tx_queue_len)" 7

in_s "$build/doctor_set" "$state" server0 $sysfs/tx_queue_len 500 > "$dir/out"
in_s ip link del server0
doctor --undo
is 'undo after the interface went' $status 0
like 'says so' "$(cat "$dir/out")" '*left *the interface is gone*'
ip link add server0 netns "$server" type veth peer name client0 netns "$client"
in_s "$build/doctor_set" "$state" server0 $sysfs/tx_queue_len 500 > "$dir/out"
in_s ip link del server0
ip link add server0 netns "$server" type veth peer name client0 netns "$client"
in_s sh -c "echo 500 > $sysfs/tx_queue_len"
doctor --undo
is 'another interface of its name' $status 0
is 'is left' "$(in_s cat $sysfs/tx_queue_len)" 500
forgotten 'nothing is remembered'

finish
