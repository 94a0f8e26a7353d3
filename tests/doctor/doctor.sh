#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: doctor.sh BUILD_DIR [--renew]
# saker-doctor on roots of files and on this machine. TAP; no root needed. --renew writes
# expected/ anew: look at the difference before it is committed.

doctor=$1/saker-doctor
command -v jq > /dev/null || { echo '1..0 # SKIP no jq: tools/deps install'; exit; }
here=${0%/*}
roots='pi-os pi-rebuilt debian13-backports cloud-vm'
# shellcheck source=tests/script.sh
. "$here/../script.sh"

run() {
	"$doctor" "$@" > "$dir/out" 2> "$dir/err"
	status=$?
}

json() { # ROOT FILE
	"$doctor" --root="$1" --json > "$2" 2> "$dir/err"
	status=$?
	sed -i 's/^{"doctor":"[^"]*"/{"doctor":"VERSION"/' "$2"
}

says() { # STATUS TEXT NAME: that status, and TEXT on stderr
	[ "$status" = "$1" ] && grep -qF -- "$2" "$dir/err"
	result $? "$3"
}

if [ "$2" = --renew ]; then
	for root in $roots; do
		"$doctor" --root="$here/roots/$root" > "$here/expected/$root.txt"
		json "$here/roots/$root" "$here/expected/$root.json"
	done
	exit
fi

# --- four machines ----------------------------------------------------------------------

for root in $roots; do
	case $root in
	pi-rebuilt) want=0 ;;
	cloud-vm) want=3 ;;
	*) want=1 ;;
	esac
	run --root="$here/roots/$root"
	diff "$here/expected/$root.txt" "$dir/out" > "$dir/diff"
	same=$?
	[ $same = 0 ] || cp "$dir/diff" "$dir/out"
	[ $same = 0 ] && [ "$status" = $want ] && [ ! -s "$dir/err" ]
	result $? "$root: what it says, and exit status $want (got $status)"
	json "$here/roots/$root" "$dir/json"
	diff "$here/expected/$root.json" "$dir/json" > "$dir/out"
	same=$?
	[ $same = 0 ] && [ "$status" = $want ]
	result $? "$root: the same as JSON"
done

# Each file is there because it is read: without it the doctor says something else, or
# nothing. Each has its origin.
for root in $roots; do
	cp -r "$here/roots/$root" "$dir/root"
	"$doctor" --root="$dir/root" --json > "$dir/base"
	: > "$dir/out"
	(cd "$dir/root" && find . ! -type d | sed 's|^\./||' | sort) > "$dir/files"
	while read -r file; do
		[ "$file" != ORIGIN ] || continue
		! grep -q "^$file	--fix: ..*" "$dir/root/ORIGIN" || continue
		grep -q "^$file	..*" "$dir/root/ORIGIN" || echo "no origin: $file" >> "$dir/out"
		mv "$dir/root/$file" "$dir/away"
		find "$dir/root" -type d -empty -delete
		"$doctor" --root="$dir/root" --json > "$dir/json" 2> "$dir/err"
		! cmp -s "$dir/base" "$dir/json" || echo "not read: $file" >> "$dir/out"
		mkdir -p "${dir}/root/${file%/*}"
		mv "$dir/away" "$dir/root/$file"
	done < "$dir/files"
	grep -v '^#' "$dir/root/ORIGIN" | cut -f1 | while read -r file; do
		[ -e "$dir/root/$file" ] || [ -L "$dir/root/$file" ] || echo "no file: $file" >> "$dir/out"
	done
	[ ! -s "$dir/out" ] && [ "$(wc -l < "$dir/files")" -gt 30 ]
	result $? "$root: each of $(($(wc -l < "$dir/files") - 1)) files is read, and has its origin"
	rm -r "$dir/root"
done

# --- one thing changed ---------------------------------------------------------------------

# A line: root, check, verdict that it becomes, what its text must have, file, new content
# (a dash: the file is gone), and perhaps more files.
cat > "$dir/changes" << 'END'
pi-rebuilt|kernel|fail|too old|proc/sys/kernel/osrelease|5.15.0
pi-rebuilt|kernel|unknown|no version|proc/sys/kernel/osrelease|-
pi-rebuilt|af-xdp|unknown|no /proc/config.gz|boot/config-6.18.40-v8-16k+|-
pi-rebuilt|bpf|fail|no BPF|boot/config-6.18.40-v8-16k+|CONFIG_HZ=250
pi-rebuilt|bpf|warn|bpf_jit_enable is 0|proc/sys/net/core/bpf_jit_enable|0
pi-rebuilt|bpf|unknown|no bpf_jit_enable|proc/sys/net/core/bpf_jit_enable|-
pi-rebuilt|bpf|ok|unless somebody|proc/sys/net/core/bpf_jit_enable|-|boot/config-6.18.40-v8-16k+|CONFIG_BPF_SYSCALL=y\nCONFIG_BPF_JIT=y\nCONFIG_BPF_JIT_DEFAULT_ON=y
pi-rebuilt|bpf|warn|BPF_JIT is not set|proc/sys/net/core/bpf_jit_enable|-|boot/config-6.18.40-v8-16k+|CONFIG_BPF_SYSCALL=y
pi-rebuilt|tc-bpf|info|NET_CLS_BPF is not set|boot/config-6.18.40-v8-16k+|CONFIG_XDP_SOCKETS=y
pi-rebuilt|tc-bpf|fail|NET_CLS_BPF is not set|boot/config-6.18.40-v8-16k+|CONFIG_HZ=250
pi-rebuilt|tc-bpf|unknown|no /proc/config.gz|boot/config-6.18.40-v8-16k+|-
pi-rebuilt|btf|info|tools that trace|sys/kernel/btf/vmlinux|-
pi-rebuilt|page-size|unknown|smaps|proc/self/smaps|-
pi-rebuilt|native-xdp|ok|native XDP with zero-copy|xdp-loader/eth0/features|NETDEV_XDP_ACT_BASIC: yes\nNETDEV_XDP_ACT_XSK_ZEROCOPY: yes
pi-rebuilt|native-xdp|ok|no zero-copy|xdp-loader/eth0/features|NETDEV_XDP_ACT_BASIC: yes\nNETDEV_XDP_ACT_XSK_ZEROCOPY: no
pi-rebuilt|native-xdp|info|up to 7.3|xdp-loader/eth0/features|-
pi-rebuilt|known-faults|warn|stops sending|proc/sys/kernel/osrelease|6.18.24+rpt-rpi-2712
pi-rebuilt|known-faults|warn|10 Mbit|sys/class/net/eth0/speed|10
pi-rebuilt|known-faults|warn|cable was plugged|proc/sys/kernel/osrelease|6.8.0-1053-raspi
pi-rebuilt|known-faults|ok|none for macb|proc/sys/kernel/osrelease|6.12.75+rpt-rpi-2712
pi-rebuilt|known-faults|warn|some switches; also: macb may stop|ethtool/eth0/eee|EEE status: enabled - active
cloud-vm|known-faults|warn|ice may hang|ethtool/ens5/i|driver: ice
cloud-vm|known-faults|ok|none for ice|ethtool/ens5/i|driver: ice\nversion: 6.12.3-amd64|proc/sys/kernel/osrelease|6.12.3-amd64
cloud-vm|known-faults|warn|Intel's own|ethtool/ens5/i|driver: ice\nversion: 2.5.4|proc/sys/kernel/osrelease|6.12.3-amd64
cloud-vm|known-faults|info|igb was reported|ethtool/ens5/i|driver: igb|proc/sys/kernel/osrelease|6.14.0
pi-rebuilt|known-faults|ok|none for virtio_net|ethtool/eth0/i|driver: virtio_net
pi-rebuilt|link|warn|10 Mbit/s|sys/class/net/eth0/speed|10
pi-rebuilt|link|warn|half|sys/class/net/eth0/duplex|half
pi-rebuilt|link|warn|no link|sys/class/net/eth0/carrier|0
pi-rebuilt|link|unknown|operstate|sys/class/net/eth0/operstate|-
cloud-vm|link|unknown|operstate is unknown|sys/class/net/ens5/operstate|unknown
pi-rebuilt|mtu|fail|too large|sys/class/net/eth0/mtu|1775
pi-rebuilt|mtu|ok|1774|sys/class/net/eth0/mtu|1774
pi-rebuilt|mtu|fail|too small|sys/class/net/eth0/mtu|500
pi-rebuilt|queues|unknown|rx-0|sys/class/net/eth0/queues/rx-0|-
pi-rebuilt|rings|unknown|rings|ethtool/eth0/g|-
pi-rebuilt|rings|unknown|Cannot get|ethtool/eth0/g|Cannot get device ring settings: Operation not supported
pi-rebuilt|offloads|warn|rx-gro-hw|ethtool/eth0/k|rx-gro-hw: on
pi-rebuilt|offloads|info|fixed: rx-gro-hw|ethtool/eth0/k|rx-gro-hw: on [fixed]
pi-rebuilt|moderation|warn|tx-usecs 8|ethtool/eth0/c|rx-usecs: 0\ntx-usecs: 8
pi-rebuilt|moderation|warn|adaptive|ethtool/eth0/c|Adaptive RX: on  TX: off\nrx-usecs: 0\ntx-usecs: 0
pi-rebuilt|moderation|unknown|no file|ethtool/eth0/c|-
pi-rebuilt|deferral|unknown|napi_defer|sys/class/net/eth0/gro_flush_timeout|-
pi-rebuilt|eee|ok|not supported|ethtool/eth0/eee|EEE status: not supported
pi-rebuilt|eee|unknown|names no status|ethtool/eth0/eee|EEE settings for eth0:
pi-rebuilt|aspm|unknown|no pcie_aspm|sys/module/pcie_aspm/parameters/policy|-
pi-rebuilt|aspm|warn|powersupersave|sys/module/pcie_aspm/parameters/policy|default performance powersave [powersupersave]
debian13-backports|aspm|ok|l1_aspm is 0|sys/bus/pci/devices/0002:01:00.0/link/l1_aspm|0
debian13-backports|aspm|unknown|nothing tells|sys/bus/pci/devices/0002:01:00.0/vendor|0x14e4
cloud-vm|aspm|unknown|nothing tells|sys/module/pcie_aspm/parameters/policy|[default] performance
pi-rebuilt|irq-affinity|warn|cores 1-3: 0,2|proc/irq/106/smp_affinity_list|0,2
pi-rebuilt|irq-affinity|unknown|names eth0|proc/interrupts|106: 0 0 0 0 rp1_irq_chip 6 Level eth01
pi-rebuilt|irq-affinity|unknown|smp_affinity|proc/irq/106/smp_affinity_list|-
pi-rebuilt|irqbalance|info|leaves isolated|proc/77/comm|irqbalance
pi-rebuilt|irqbalance|unknown|hides|proc/1/comm|-
pi-rebuilt|rps|warn|cores 1-3|sys/class/net/eth0/queues/rx-0/rps_cpus|e
pi-os|rps|ok|no receive packet|sys/class/net/eth0/queues/rx-0/rps_cpus|-
pi-rebuilt|rps|unknown|rps_cpus|sys/class/net/eth0/queues/rx-0/rps_cpus|-|boot/config-6.18.40-v8-16k+|-
pi-rebuilt|isolation|ok|by a cpuset|sys/devices/system/cpu/isolated||sys/fs/cgroup/cpuset.cpus.isolated|1-3
pi-rebuilt|isolation|ok|by a cpuset|sys/devices/system/cpu/isolated||sys/fs/cgroup/saker/cpuset.cpus.partition|isolated|sys/fs/cgroup/saker/cpuset.cpus.effective|1-3
pi-os|isolation|warn|not isolated|sys/fs/cgroup/saker/cpuset.cpus.partition|isolated invalid (Cpu list in cpuset.cpus not exclusive)|sys/fs/cgroup/saker/cpuset.cpus.effective|1-3
pi-os|isolation|warn|isolcpus=1-4, but|proc/cmdline|isolcpus=1-4
pi-rebuilt|isolation|unknown|cpu/isolated|sys/devices/system/cpu/isolated|-
pi-rebuilt|nohz-full|warn|ignores it|sys/devices/system/cpu/nohz_full|-
pi-rebuilt|nohz-full|warn|says nohz_full=1-3|sys/devices/system/cpu/nohz_full|1-2
pi-rebuilt|tick|unknown|no HZ|boot/config-6.18.40-v8-16k+|CONFIG_BPF=y
pi-os|tick|info|HZ=1000|boot/config-6.18.34+rpt-rpi-2712|CONFIG_HZ=1000
pi-os|rcu-nocbs|unknown|no /proc/config.gz|boot/config-6.18.34+rpt-rpi-2712|-
pi-os|rcu-nocbs|warn|ignores it|proc/cmdline|rcu_nocbs=1-3 quiet
pi-os|rcu-nocbs|ok|for all cores|boot/config-6.18.34+rpt-rpi-2712|CONFIG_RCU_NOCB_CPU=y\nCONFIG_RCU_NOCB_CPU_DEFAULT_ALL=y
pi-rebuilt|governor|unknown|no cpufreq|sys/devices/system/cpu/cpufreq/policy0/scaling_governor|-
pi-rebuilt|frequency|warn|capped at 1500|sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq|1500000
pi-rebuilt|frequency|warn|something slows|sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq|1500000
pi-rebuilt|throttle|warn|now: under-voltage, throttling|dev/vcio/get_throttled|throttled=0x50005
pi-rebuilt|throttle|unknown|nobody tells|dev/vcio/get_throttled|-
cloud-vm|throttle|info|3 times|sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count|3
pi-rebuilt|temperature|info|79|sys/class/thermal/thermal_zone0/temp|79000
pi-rebuilt|temperature|warn|80|sys/class/thermal/thermal_zone0/temp|80000
pi-rebuilt|temperature|unknown|no thermal|sys/class/thermal/thermal_zone0/type|gpu
pi-rebuilt|numa|unknown|which the card|proc/cmdline|quiet
cloud-vm|numa|ok|node 1 of 2|sys/devices/system/node/node0/cpulist|0|sys/devices/system/node/node1/cpulist|1|sys/class/net/ens5/device/numa_node|1
cloud-vm|numa|warn|card is at node 0|sys/devices/system/node/node0/cpulist|0|sys/devices/system/node/node1/cpulist|1|sys/class/net/ens5/device/numa_node|0
cloud-vm|zone-reclaim|ok|no such thing|proc/sys/vm/zone_reclaim_mode|-
cloud-vm|stat-interval|ok|120|proc/sys/vm/stat_interval|120
pi-rebuilt|migration-cost|info|50 us|sys/kernel/debug/sched/migration_cost_ns|50000
cloud-vm|memlock|ok|unlimited|proc/self/limits|Max locked memory         unlimited            unlimited            bytes
cloud-vm|memlock|unknown|does not tell|proc/self/status|-
cloud-vm|memlock|warn|65536|proc/self/status|CapEff: 000001ffffffffff|proc/self/uid_map|         0     100000      65536
cloud-vm|memlock|ok|CAP_IPC_LOCK|proc/self/status|CapEff: 000001ffffffffff|proc/self/uid_map|         0          0 4294967295
cloud-vm|memlock|unknown|no limit|proc/self/limits|-
pi-rebuilt|xdp-program|warn|xdp_pass (xdpgeneric, id 7)|ip/eth0/link|2: eth0: mtu 1500 xdpgeneric qdisc mq\n    prog/xdp id 7 name xdp_pass tag 1 jited
pi-rebuilt|xdp-program|unknown|no file|ip/eth0/link|-
pi-os|tc-programs|warn|a filter of kind u32|tc/eth0/ingress|filter protocol all pref 9 u32 chain 0\nfilter protocol all pref 9 u32 chain 0 fh 800: handle 800: order 1
pi-rebuilt|leftovers|warn|saker_steer at xdpdrv of eth0|ip/eth0/link|2: eth0: mtu 1500 xdp qdisc mq\n    prog/xdp id 7 name saker_steer tag 1 jited
pi-rebuilt|leftovers|warn|saker_tc at clsact/ingress|tc/eth0/ingress|filter protocol all pref 1 bpf chain 0 handle 0x1 saker_tc:[7] direct-action not_in_hw id 7 tag 1
pi-rebuilt|leftovers|unknown|no file|tc/eth0/ingress|-
pi-rebuilt|leftovers|warn|tcp_syncookies@1; /sys|sys/fs/bpf/saker/setting-tcp_syncookies@1/was|0
debian13-backports|leftovers|ok|saker runs|proc/88/comm|saker
END

change() { # FILE CONTENT
	if [ "$2" = - ]; then
		rm -r "${dir:?}/root/$1"
	else
		mkdir -p "$(dirname "$dir/root/$1")"
		printf '%b\n' "$2" > "$dir/root/$1"
	fi
}

while IFS='|' read -r root check verdict text rest; do
	cp -r "$here/roots/$root" "$dir/root"
	while [ -n "$rest" ]; do
		file=${rest%%|*} rest=${rest#*|}
		change "$file" "${rest%%|*}"
		case $rest in *\|*) rest=${rest#*|} ;; *) rest= ;; esac
	done
	"$doctor" --root="$dir/root" --json "$check" > "$dir/json" 2> "$dir/err"
	jq -r '.findings[] | .verdict + " " + .what' "$dir/json" > "$dir/out"
	grep -q "^$verdict .*" "$dir/out" && grep -qF -- "$text" "$dir/out"
	result $? "$check: $verdict, $text"
	rm -r "$dir/root"
done < "$dir/changes"

# Whatever a file holds: no crash, and a verdict.
bad=0
for root in $roots; do
	cp -r "$here/roots/$root" "$dir/root"
	find "$dir/root" -type f ! -name ORIGIN ! -path '*/cpu/online' | while read -r file; do
		head -c 5000 /dev/urandom > "$file"
	done
	rm -f "$dir/root/proc/net/route"
	case $root in cloud-vm) iface=ens5 ;; *) iface=eth0 ;; esac
	"$doctor" --root="$dir/root" -i $iface --json > "$dir/out" 2> "$dir/err"
	[ $? -le 3 ] && [ "$(jq '.findings | length' "$dir/out")" = "$("$doctor" --list | wc -l)" ] || bad=1
	rm -r "$dir/root"
done
result $bad 'files of random bytes: each check has a verdict, and the JSON is JSON'

# A machine that tells nothing but its CPUs and that there is an interface: what is said to
# be fine follows from a device's absence.
mkdir -p "$dir/root/sys/devices/system/cpu" "$dir/root/sys/class/net/eth0"
echo 0-3 > "$dir/root/sys/devices/system/cpu/online"
"$doctor" --root="$dir/root" -i eth0 --json > "$dir/json" 2> "$dir/err"
jq -r '.findings[] | select(.verdict != "unknown") | .verdict + " " + .what' "$dir/json" > "$dir/out"
[ "$(wc -l < "$dir/out")" = 5 ] && [ "$(grep -c 'ok no .* behind eth0' "$dir/out")" = 5 ]
result $? 'a machine that tells nothing: unknown, but for the card that is not there'
"$doctor" --root="$dir/root" --json > "$dir/json" 2> "$dir/err"
[ "$(jq -r '.findings[] | select(.verdict == "unknown" and (.what | test("name the interface"))) | .check' "$dir/json" | wc -l)" -gt 15 ]
result $? 'no interface: checks of it are unknown, and say how to name one'
rm -r "$dir/root"

# --- options of the kernel in /proc/config.gz -----------------------------------------------

cp -r "$here/roots/pi-rebuilt" "$dir/root"
gzip -c "$dir/root/boot/config-6.18.40-v8-16k+" > "$dir/root/proc/config.gz"
echo 'CONFIG_HZ=100' > "$dir/root/boot/config-6.18.40-v8-16k+"
"$doctor" --root="$dir/root" --json > "$dir/json" 2> "$dir/err"
jq -r '.host.kernel_options, (.findings[] | select(.check == "af-xdp") | .what)' "$dir/json" > "$dir/out"
grep -q '^/proc/config.gz$' "$dir/out" && grep -q 'XDP_SOCKETS is y in /proc/config.gz' "$dir/out"
result $? '/proc/config.gz goes before a file in /boot'
echo 'not compressed, and no option' | gzip -c | head -c 20 > "$dir/root/proc/config.gz"
"$doctor" --root="$dir/root" --json > "$dir/out" 2> "$dir/err"
[ "$(jq -r .host.kernel_options "$dir/out")" = '/boot/config-6.18.40-v8-16k+' ]
result $? 'a damaged /proc/config.gz: the one in /boot'
rm -r "$dir/root"

# --- which interface ------------------------------------------------------------------------

cp -r "$here/roots/cloud-vm" "$dir/root"
mkdir -p "$dir/root/sys/class/net/ens6/device" "$dir/root/proc/net"
run --root="$dir/root" mtu
grep -q '^UNKNOWN mtu .*name the interface' "$dir/out"
result $? 'two cards and no default route: unknown'
printf 'Iface\tDestination\tGateway\nens6\t0000A8C0\t00000000\nens5\t00000000\t0101A8C0\n' > "$dir/root/proc/net/route"
run --root="$dir/root" mtu
grep -q '^FAIL .*9001' "$dir/out"
result $? 'two cards: the one with the default route'
rm -r "$dir/root"

# --- more queues than sockets, several policies -----------------------------------------------

cp -r "$here/roots/cloud-vm" "$dir/root"
for n in $(seq 2 16); do
	mkdir "$dir/root/sys/class/net/ens5/queues/rx-$n"
	echo 3 > "$dir/root/sys/class/net/ens5/queues/rx-$n/rps_cpus"
done
for n in $(seq 0 69); do
	mkdir -p "$dir/root/sys/devices/system/cpu/cpufreq/policy$n"
	echo powersave > "$dir/root/sys/devices/system/cpu/cpufreq/policy$n/scaling_governor"
done
"$doctor" --root="$dir/root" --json queues rps governor > "$dir/out" 2> "$dir/err"
[ "$(jq -r '.findings[0].verdict' "$dir/out")" = fail ] &&
	[ "$(jq -r '.findings[1].fix.settings | length' "$dir/out")" = 16 ] &&
	jq -r '.findings[1].fix.text' "$dir/out" | grep -q 'and 13 more like these'
result $? '17 queues: too many; each has its setting, and the text has three'
[ "$(jq -r '.findings[2].fix.settings | length' "$dir/out")" = 64 ] &&
	jq -r '.findings[2].fix.text' "$dir/out" | grep -q 'and 67 more like these'
result $? '70 policies: 64 settings, and it says how many there are'
rm -r "$dir/root"

# --- the command line -----------------------------------------------------------------------------

run --root="$here/roots/pi-os" mtu eee mtu
[ "$status" = 1 ] && [ "$(grep -cE '^(ok|WARN) ' "$dir/out")" = 2 ]
result $? 'two checks by name, one of them twice: two findings'
run --root="$here/roots/pi-os" mtu
[ "$status" = 0 ]
result $? 'the exit status is of the checks that were asked for'
run --root="$here/roots/pi-os" -v mtu
grep -q '^ *why  *a frame must fit' "$dir/out"
result $? '-v says why of what is fine, too'
run --root="$here/roots/pi-os" --cpus=2 --json isolation
[ "$(jq -r '.host.cores, .findings[0].fix.boot' "$dir/out" | tr '\n' ' ')" = '2 isolcpus=domain,managed_irq,2 irqaffinity=0-1,3 ' ]
result $? '--cpus: those are the cores, the rest is the house'
run nothing-like-it
says 2 'there is no such check; --list' 'a check that does not exist is refused'
run --root="$here/roots/pi-os" -i eth1
says 2 '-i eth1: there is no such interface' 'an interface that does not exist is refused'
run --root="$here/roots/pi-os" -i ../eth0
says 2 'not the name of an interface' 'a path is not an interface'
run --root="$here/roots/pi-os" --cpus=1-9
says 2 'online are 0-3' '--cpus: more than there are'
run --root="$here/roots/pi-os" --cpus=0-3
says 2 'leave one of 0-3' '--cpus: all'
run --root="$here/roots/pi-os" --cpus=x
says 2 'wanted a list like 1-3' '--cpus: no list'
run --root="$dir/none"
says 2 'No such file' '--root: no folder'
run --root="$dir"
says 2 'no list of CPUs' '--root: an empty folder'

# --- this machine -----------------------------------------------------------------------------------

here_is() { # NAME COMMAND...: the JSON is JSON, and its status is the exit status and follows from the counts
	name=$1
	shift
	"$@" > "$dir/out" 2> "$dir/err"
	status=$?
	[ ! -s "$dir/err" ] && [ "$(jq .status "$dir/out")" = $status ] &&
		[ "$(jq 'if .counts.fail > 0 then 3 elif .counts.warn > 0 then 1 else 0 end' "$dir/out")" = $status ] &&
		[ "$(jq '(.counts | add) == (.findings | length)' "$dir/out")" = true ] &&
		[ "$(jq '[.findings[] | select(.what == "" or .why == "" or (.verdict == "warn" and .fix == null))] | length' "$dir/out")" = 0 ]
	result $? "$name: JSON, and the exit status is that of its verdicts"
}

hidden() { # NAME
	[ "$(jq -r '.findings[] | select(.check == "leftovers") | .verdict' "$dir/out")" = unknown ]
	result $? "$1"
}

if [ -r /sys/devices/system/cpu/online ]; then
	here_is 'this machine' "$doctor" --json
	here_is 'this machine, loopback' "$doctor" --json -i lo
	if [ "$(id -u)" = 0 ] && command -v setpriv > /dev/null; then
		cp "$doctor" "$dir/saker-doctor" && chmod 755 "$dir" "$dir/saker-doctor"
		nobody='setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all'
		# shellcheck disable=SC2086 # words
		here_is 'this machine, as nobody' $nobody "$dir/saker-doctor" --json
		hidden 'nobody may look for leftovers: unknown, not ok'
		# shellcheck disable=SC2086 # words
		if $nobody unshare --user --map-root-user true 2> /dev/null; then
			here_is 'this machine, as root of a user namespace' $nobody unshare --user --map-root-user \
				"$dir/saker-doctor" --json
			hidden 'who is root in a user namespace only: the same'
		else
			result 0 'this machine, as root of a user namespace # SKIP none may be made'
		fi
	else
		result 0 "this machine, as nobody # SKIP not root, so nobody already"
	fi
else
	result 0 'this machine # SKIP no /sys/devices/system/cpu/online'
fi

# --- the manual page ----------------------------------------------------------------------------------

man=$here/../../docs/saker-doctor.8
run --help
manual_has_options "$man" 6
run --list
missing=$(cut -d' ' -f1 "$dir/out" | while read -r name; do
	grep -qE "^\.It (Sy .*, )?Sy $name( |,|\$)" "$man" || echo "$name"
done)
[ "$(wc -l < "$dir/out")" -gt 30 ] && [ -z "$missing" ]
result $? "the manual has each check${missing:+, but $missing}"

echo "1..$count"
[ $failures = 0 ]
