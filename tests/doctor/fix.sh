#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: fix.sh BUILD_DIR
# saker-doctor --fix and --undo on roots of files: what it says, and that it ends where it
# began. TAP; no root needed. Being killed in between: tests/edge/test_doctor_fix.c.

doctor=$1/saker-doctor
here=${0%/*}
# shellcheck source=tests/script.sh
. "$here/../script.sh"

run() { # OPTIONS...: on the root
	"$doctor" --root="$root" "$@" > "$dir/out" 2> "$dir/err"
	status=$?
}

says() { # STATUS TEXT NAME: that status, and TEXT on stdout or stderr
	[ "$status" = "$1" ] && grep -qF -- "$2" "$dir/out" "$dir/err"
	result $? "$3"
}

silent() { # TEXT NAME: no word of it
	! grep -qF -- "$1" "$dir/out" "$dir/err"
	result $? "$2"
}

put() { # FILE TEXT
	mkdir -p "$root/${1%/*}"
	printf '%s\n' "$2" > "$root/$1"
}

is() { # FILE TEXT NAME
	got=$(cat "$root/$1")
	[ "$got" = "$2" ]
	result $? "$3 (got $got)"
}

# But for where the state file is.
same() { # NAME
	diff -r --no-dereference -x var "$dir/before" "$root" > "$dir/out" 2> "$dir/err"
	result $? "$1"
}

state=var/lib/saker/doctor.json

# --- a board ----------------------------------------------------------------------------

cmdline='console=serial0,115200 console=tty1 root=PARTUUID=1234-02 rootfstype=ext4 isolcpus=3 fsck.repair=yes rootwait quiet'

board() {
	root=$dir/board
	rm -rf "$root" "$dir/before"
	put proc/sys/kernel/random/boot_id 3b5b2b4e-0d0a-4a3b-9f0e-111111111111
	put proc/sys/kernel/osrelease 6.12.75+rpt-rpi-2712
	put proc/device-tree/model 'Raspberry Pi 5 Model B Rev 1.0'
	put proc/cmdline "$cmdline"
	put proc/interrupts '           CPU0       CPU1       CPU2       CPU3
106:      50000          0          0          0  rp1_irq_chip   6 Level     eth0'
	put proc/irq/106/smp_affinity_list 0-3
	put sys/devices/system/cpu/online 0-3
	put sys/devices/system/cpu/isolated ''
	for policy in 0 1; do
		put sys/devices/system/cpu/cpufreq/policy$policy/scaling_governor ondemand
	done
	put sys/class/net/eth0/napi_defer_hard_irqs 1
	put sys/class/net/eth0/gro_flush_timeout 20000
	mkdir -p "$root/sys/devices/platform/eth" "$root/sys/class/net/eth0"
	ln -s ../../../devices/platform/eth "$root/sys/class/net/eth0/device"
	put sys/module/pcie_aspm/parameters/policy 'default performance [powersave] powersupersave'
	put sys/fs/cgroup/cgroup.controllers 'cpuset cpu io memory pids'
	put sys/fs/cgroup/cgroup.subtree_control 'cpu memory pids'
	put ethtool/eth0/c 'Coalesce parameters for eth0:
Adaptive RX: off  TX: off
rx-usecs:	50
rx-frames:	n/a

tx-usecs:	50
tx-frames:	n/a'
	put ethtool/eth0/eee 'EEE settings for eth0:
	EEE status: enabled - active
	Tx LPI: 250 (us)'
	put boot/firmware/cmdline.txt "$cmdline"
	put boot/firmware/config.txt '[pi4]
arm_boost=1'
	cp -a "$root" "$dir/before"
}

board
run -i eth0 --fix --dry-run
says 0 'would     ethtool -C eth0 rx-usecs: 50 -> 0' '--dry-run says what would be done'
same '--dry-run changes nothing'
[ ! -e "$root/$state" ]
result $? 'and remembers nothing'

run -i eth0 --fix
says 0 'changed   ethtool -C eth0 rx-usecs: 50 -> 0' '--fix: moderation'
says 0 'changed   ethtool --set-eee eth0 eee: on -> off' '--fix: EEE'
says 0 'changed   /sys/class/net/eth0/gro_flush_timeout: 20000 -> 0' '--fix: deferral'
says 0 'changed   /proc/irq/106/smp_affinity_list: 0-3 -> 0' '--fix: interrupts'
says 0 'policy: powersave -> performance' '--fix: ASPM'
says 0 'policy1/scaling_governor: ondemand -> performance' '--fix: governor'
says 0 'changed   partition saker: member -> isolated' '--fix: a partition'
says 0 'boot      /boot/firmware/cmdline.txt: make its one line this, then reboot:' '--fix: which file'
grep -qxE 'console=serial0,115200 console=tty1 root=PARTUUID=1234-02 rootfstype=ext4 isolcpus=domain,managed_irq,1-3 fsck.repair=yes rootwait quiet .*irqaffinity=0.*' "$dir/out"
result $? '--fix: the whole line, with ours in place of what was there'
grep -A2 'boot/firmware/config.txt: add at its end' "$dir/out" | tr '\n' ' ' | grep -q '\[all\] dtparam=eee=off'
result $? '--fix: config.txt ends in a section of another board'
is boot/firmware/cmdline.txt "$cmdline" 'the boot files are not touched'
is sys/fs/cgroup/saker/cpuset.cpus 1-3 'the partition has its cores'
is sys/fs/cgroup/cgroup.subtree_control 'cpuset cpu memory pids' 'with the controller'
cp "$root/$state" "$dir/state"
run -i eth0 moderation deferral eee interrupts governor
silent WARN 'the checks see it'

run -i eth0 --fix
says 0 '0 changed' 'a second --fix has nothing to do'
cmp -s "$root/$state" "$dir/state"
result $? 'and what is remembered stays'
put sys/class/net/eth0/gro_flush_timeout 500
put sys/class/net/eth0/napi_defer_hard_irqs 2
run -i eth0 --fix
says 0 'gro_flush_timeout: 500 -> 0' 'what somebody has changed between is changed again'
run --undo --dry-run
says 0 'would     /sys/class/net/eth0/gro_flush_timeout: 0 -> 20000' '--undo --dry-run'
is sys/class/net/eth0/gro_flush_timeout 0 'changes nothing'
run --undo
says 0 'restored  /sys/class/net/eth0/gro_flush_timeout: 0 -> 20000' '--undo restores the first value'
same 'all is as it was'
[ ! -e "$root/$state" ]
result $? 'nothing is remembered then'
run --undo
says 0 'nothing to undo' '--undo again'

# --- some checks, and another's changes --------------------------------------------------

board
run -i eth0 --fix governor
says 0 '2 changed' '--fix CHECK fixes that alone'
is sys/class/net/eth0/gro_flush_timeout 20000 'the rest stays'
put sys/devices/system/cpu/cpufreq/policy0/scaling_governor schedutil
run --undo
says 0 'somebody has changed it since (it was ondemand, we set performance)' "--undo: another's change is left"
is sys/devices/system/cpu/cpufreq/policy0/scaling_governor schedutil 'as it is'
is sys/devices/system/cpu/cpufreq/policy1/scaling_governor ondemand 'the other one is restored'

# --- a reboot ------------------------------------------------------------------------------

board
run -i eth0 --fix
rm -rf "$root/sys" "$root/ethtool"
cp -a "$dir/before/sys" "$dir/before/ethtool" "$root"
put proc/sys/kernel/random/boot_id 3b5b2b4e-0d0a-4a3b-9f0e-222222222222
run --undo
says 0 'left      ethtool -C eth0 rx-usecs: 50: as it was: a reboot has put it back' 'a reboot is said'
says 0 'left      /proc/irq/106/smp_affinity_list: 0: the machine was booted anew' 'so is what it has not put back'
silent restored 'and nothing is written'

# --- refusals ------------------------------------------------------------------------------

board
put sys/module/pcie_aspm/parameters/policy 'default [powersave]'
cp "$root/sys/module/pcie_aspm/parameters/policy" "$dir/before/sys/module/pcie_aspm/parameters"
run -i eth0 --fix
says 1 'REFUSED   /sys/module/pcie_aspm/parameters/policy: powersave -> performance: Invalid argument (EINVAL)' 'a refusal is told with its errno'
is sys/class/net/eth0/gro_flush_timeout 0 'the rest goes on'
run --undo
says 0 'restored' '--undo'
same 'all is as it was'
put "$state" '{"saker_doctor":1,"settings":'
run -i eth0 --fix
says 1 'not a whole file' 'half a state file: nothing is changed'
run --undo
says 1 'not a whole file' 'nor undone'
same 'all is as it was'

board
mkdir "$dir/file"
run -i eth0 --fix --state="$dir/file/x.json"
[ "$status" = 0 ] && [ -s "$dir/file/x.json" ] && [ ! -e "$root/$state" ]
result $? '--state=FILE'
run --undo --state="$dir/file/x.json"
same 'all is as it was'
rm "$root/boot/firmware/cmdline.txt"
run -i eth0 --fix --dry-run
says 0 "add to the kernel's command line, then reboot:" 'no cmdline.txt: the words alone'
put etc/default/grub 'GRUB_TIMEOUT=5
GRUB_CMDLINE_LINUX="console=ttyS0"'
run -i eth0 --fix --dry-run
says 0 'GRUB_CMDLINE_LINUX="console=ttyS0 ' 'GRUB: its line'
printf '%s isolcpus=domain,managed_irq,1-3 irqaffinity=0' "$cmdline" | sed 's/ isolcpus=3//' > "$root/boot/firmware/cmdline.txt"
run -i eth0 --fix --dry-run isolation
says 0 'has it already' 'a line that is there, and not booted yet'

# --- as JSON ---------------------------------------------------------------------------------

board
run -i eth0 --fix --json
if command -v python3 > /dev/null; then
	python3 - "$dir/out" << 'END'
import json, sys
out = json.load(open(sys.argv[1]))
deed = {each["name"]: each for each in out["settings"]}
assert out["status"] == 0 and "isolcpus" in out["boot"]
one = deed["ethtool -C eth0 rx-usecs"]
assert (one["deed"], one["from"], one["to"]) == ("changed", "50", "0")
END
	result $? '--json'
fi
run --undo
same 'all is as it was'

# --- options ---------------------------------------------------------------------------------

run --fix --undo
says 2 'one of --fix, --undo and --list' 'not both'
run --dry-run
says 2 'go with --fix or --undo' '--dry-run alone'
run --undo governor
says 2 '--undo restores all' '--undo CHECK'

# --- the roots of the checks -------------------------------------------------------------------

for source in "$here"/roots/*/; do
	[ -d "$source" ] || continue
	name=${source%/}
	name=${name##*/}
	root=$dir/$name
	cp -a "$source" "$root"
	rm -rf "$dir/before"
	cp -a "$source" "$dir/before"
	run --fix
	[ "$status" -lt 2 ]
	result $? "$name: --fix"
	run --undo
	says 0 '' "$name: --undo"
	same "$name: all is as it was"
done

echo "1..$count"
[ $failures = 0 ]
