#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: probe.sh BUILD_DIR
# saker-probe on roots of files, on this machine, and its sums of energy. TAP; no root needed.

probe=$1/saker-probe
here=${0%/*}
# shellcheck source=tests/script.sh
. "$here/../script.sh"
spin=
trap '[ -z "$spin" ] || kill "$spin" 2> /dev/null; rm -rf "$dir"' EXIT

run() {
	"$probe" "$@" > "$dir/out" 2> "$dir/err"
	status=$?
}

# The value of COLUMN in the last row.
last() { # COLUMN
	awk -F, -v name="$1" '
	/^#/ { next }
	!at { for (i = 1; i <= NF; i++) if ($i == name) at = i; if (!at) exit; next }
	{ value = $at }
	END { print at ? value : "no column" }' "$dir/out"
}

is() { # COLUMN VALUE NAME
	got=$(last "$1")
	[ "$got" = "$2" ]
	result $? "$3: $1 is $2 (got $got)"
}

has() { # TEXT NAME
	grep -qF -- "$1" "$dir/out"
	result $? "$2"
}

says() { # STATUS TEXT NAME: that status, and TEXT on stderr
	[ "$status" = "$1" ] && grep -qF -- "$2" "$dir/err"
	result $? "$3"
}

# --- a Pi 5 -------------------------------------------------------------------------

run --root="$here/pi5" --hz=50 --seconds=0.1 --iface=eth0
[ "$status" = 0 ]
result $? 'pi5: it runs'
is temp_c 58.95 pi5
is freq_mhz_cpu3 2400 pi5
is freq_mhz_arm 2400 'pi5, from the firmware'
is fan_rpm 3021 pi5
is under_voltage 0 pi5
is throttled 327680 'pi5, 0x50000'
is throttled_now 0 pi5
is throttled_ever 5 pi5
is load1 0.42 pi5
is nic_rx_dropped 0 'pi5, counted from the start'
is softnet_processed 0 'pi5, counted from the start'
has '# source pmic: ok: every 5th row' 'pi5: at 50 Hz the rails are read 10 times a second'
awk -F, '!/^#/ && !at { for (i = 1; i <= NF; i++) if ($i == "watts") at = i; next }
	!/^#/ { rows++; read += $at != "" } END { exit rows != 6 || read != 2 }' "$dir/out"
result $? 'pi5: of 6 rows at 50 Hz, 2 have them'
has '# source perf: absent: the events of a kernel are not in files' 'pi5: perf says why not'
has '# source pid: absent: no process was named' 'pi5: no --pid'
has '# source power: absent: no meter' 'pi5: no --power'

run --root="$here/pi5" --hz=10 --seconds=0.2
is amps_VDD_CORE 5.036520 'pi5'
is volts_EXT5V 4.924500 'pi5'
is volts_BATT 0.003419 'pi5'
is watts 5.9216 'pi5, the sum over 12 rails'
[ "$(grep -vc '^#' "$dir/out")" = 4 ]
result $? 'pi5: a row with the names, and three'

cp -r "$here/pi5" "$dir/pi5"
rm -r "$dir/pi5/dev"
run --root="$dir/pi5" --seconds=0.1
is throttled_ever 5 'pi5 without /dev/vcio, from sysfs'
has '# source pmic: absent: no /dev/vcio' 'pi5 without /dev/vcio: no rails'
mkdir -p "$dir/pi5/dev/vcio"
printf 'error=1 error_msg="Command not registered"' > "$dir/pi5/dev/vcio/pmic_read_adc"
printf 'throttled=0xe0008' > "$dir/pi5/dev/vcio/get_throttled"
run --root="$dir/pi5" --seconds=0.1
has '# source pmic: absent: the firmware does not know the command' 'an older Pi has no PMIC to read'
is throttled_now 8 'an older Pi'
is throttled_ever 14 'an older Pi'

# --- what changes while it runs -------------------------------------------------------

# In place: the files are open. Each is written at once.
change() {
	root=$dir/changing
	cp -r "$here/pi5" "$root"
	"$probe" --root="$root" --hz=50 --pid=1234 --iface=veth --out="$dir/out" 2> "$dir/err" &
	pid=$!
	tries=100
	until find /proc/$pid/fd -lname '*/1235/sched' 2> /dev/null | grep -q .; do
		tries=$((tries - 1))
		[ $tries != 0 ] || break
		sleep 0.1
	done
	sleep 0.2
	put proc/net/softnet_stat 's/^ffffff00/00000100/; s/00000002 00000007/00000004 0000000a/'
	put proc/interrupts 's/^106:      50000/106:      50123/'
	put proc/stat 's/^cpu1 1000 0 500 98000/cpu1 1030 0 500 98010/; s/300 0 0 0$/310 0 0 0/'
	put proc/1234/net/dev 's/120000/120007/; s/    3    0/    9    0/'
	put proc/1234/stat 's/ 900 0 12 / 950 0 15 /'
	put proc/1234/status 's/4128/8256/'
	put proc/1234/task/1234/status 's/:	40/:	45/'
	put proc/1234/task/1235/sched 's/   1$/  11/'
	mkdir "$root/proc/1234/task/.new"
	sed 's/:	10$/:	100/; s/:	70$/:	1000/' "$root/proc/1234/task/1235/status" \
		> "$root/proc/1234/task/.new/status"
	sed 's/  11$/   9/' "$root/proc/1234/task/1235/sched" > "$root/proc/1234/task/.new/sched"
	mv "$root/proc/1234/task/.new" "$root/proc/1234/task/1236"
	sleep 0.6
	rm -r "$root/proc/1234/task/1236"
	put dev/vcio/get_throttled 's/0x50000/0x50005/'
	sleep 0.2
	kill -TERM "$pid"
	wait "$pid"
	status=$?
}

put() { # FILE SED
	text=$(sed "$2" "$root/$1")
	printf '%s\n' "$text" > "$root/$1"
}

change
[ "$status" = 0 ] && [ -s "$dir/out" ]
result $? 'SIGTERM: it writes what it holds, and ends with 0'
is softnet_processed 512 'a 32-bit counter wrapped'
is softnet_dropped 2 changed
is softnet_squeezed 3 changed
is interrupts_cpu0 123 changed
is interrupts_cpu1 0 'not changed'
is nic_rx_packets 7 'of the namespace of the process'
is nic_rx_dropped 6 changed
is minflt 50 changed
is majflt 3 changed
is rss_kb 8256 'a level, not a count'
is ctx_voluntary 105 'a thread that was born counts from 0, and stays when it is gone'
is ctx_involuntary 1000 changed
is migrations 19 changed
is throttled_now 5 'changed'
awk -F, '!/^#/ && !at { for (i = 1; i <= NF; i++) if ($i == "busy_cpu1") at = i; next }
	!/^#/ && $at == "0.750" { n++ } END { exit n != 1 }' "$dir/out"
result $? '30 ticks busy of 40: busy_cpu1 is 0.750, in one row'

# --- a machine that has nothing --------------------------------------------------------

run --root="$here/cloud" --seconds=0.1 --iface=eth0 --pid=77
[ "$status" = 0 ]
result $? 'cloud: it runs'
absent=0
for name in temperature frequency fan supply throttled arm_clock pmic 'pid 77' perf; do
	grep -q "^# source $name: absent: .." "$dir/out" || absent=1
done
result $absent 'cloud: nine sources are absent, with a reason each'
has 'unix_ns,s,load1,busy_cpu0,irq_cpu0,softirq_cpu0,busy_cpu1' 'cloud: and have no columns'
has '# source nic: absent: no interface eth0 in /proc/77/net/dev' 'cloud: no interface'
run --root="$here/cloud" --list
has 'cure: a Raspberry Pi' '--list says what would bring a source'

# --- a meter at the supply ---------------------------------------------------------------

start=$(date +%s)
{
	echo 'Timestamp (ms);Voltage (V);Current (mA)'
	echo "$((start - 1))000;5,00;1000"
	echo "$((start + 9))000;5,00;1000"
} > "$dir/meter.csv"
run --root="$here/cloud" --seconds=0.1 --power="$dir/meter.csv"
has '0 of 2 rows between two of them' 'a meter that paused for 10 s says nothing of them'
awk -v start="$start" 'BEGIN { print "time,watts"; for (i = -10; i < 100; i++) printf "%d.5,%d\n", start + i, 4 }' \
	> "$dir/meter.csv"
run --root="$here/cloud" --seconds=0.1 --power="$dir/meter.csv"
is power_w 4.0000 'a meter, joined by time'
run --root="$here/cloud" --seconds=0.1 --power="$dir/none.csv"
says 0 'No such file' 'a meter whose file is not there: said, and the rest is written'
has "# source power: absent: $dir/none.csv: No such file" 'and in the head'

# --- energy ---------------------------------------------------------------------------------

figure() { # KEY VALUE NAME
	grep -qE "\"$1\":$2[,}]" "$dir/out"
	result $? "$3: $1 is $2"
}

run --energy="$here/pmic.csv"
figure joules 66.000000 'a trace'
figure mean_watts 5.500000 'a trace'
figure source '"watts"' 'a trace'
figure requests null 'a trace'
run --energy="$here/pmic.csv" --from=1764600004000000000 --to=1764600009000000000 --requests=1000
figure joules 40.000000 'five seconds of it'
figure joules_per_request 0.040000000 'five seconds of it'
figure requests_per_s_per_watt 25.000000 'five seconds of it'
run --energy="$here/pmic.csv" --from=1764600003050000000 --to=1764600003950000000
figure joules 4.950000 'cut between readings'
run --energy="$here/pmic.csv" --to=1764600099000000000
says 1 'the readings do not reach' 'more than was recorded is refused'
sed '/,8\.0000$/d' "$here/pmic.csv" > "$dir/gap.csv"
run --energy="$dir/gap.csv"
says 1 'pause for more than 2.5 s' 'a pause is refused'
run --energy="$dir/gap.csv" --to=1764600003500000000
figure joules 11.125000 'a pause elsewhere is not'
printf 'a,b\n1,2\n' > "$dir/other.csv"
run --energy="$dir/other.csv"
says 1 'not written by saker-probe' "another's file is refused"

# --- this machine ------------------------------------------------------------------------------

cpu=$(sed -n 's/^Cpus_allowed_list:.*[^0-9]//p' /proc/self/status)
taskset -c "$cpu" sh -c 'while :; do :; done' &
spin=$!
run --hz=10 --seconds=2 --iface=lo --pid=$spin
kill $spin
wait $spin 2> /dev/null
[ "$status" = 0 ]
result $? 'here: it runs'
awk -F, -v cpu="busy_cpu$cpu" '
	/^# rows/ { sub(/.*left out /, ""); left_out = $0 + 0; next }
	/^#/ { next }
	!columns { for (i = columns = NF; i; i--) { if ($i == cpu) busy = i; if ($i == "rss_kb") rss = i }; next }
	NF != columns || $1 <= before || $rss <= 0 { bad = 1 }
	{ before = $1; sum += $busy; rows++ }
	END {
		printf "# %d rows, %d left out, busy %.2f\n", rows, left_out, sum / rows
		if (rows + left_out < 20 || rows + left_out > 22 || rows < 5 || bad) exit 1
		if (sum / rows < 0.7) exit 2
	}' "$dir/out"
awked=$?
[ $awked != 1 ]
result $? 'here: 10 Hz for 2 s are 21 rows, those left out included; unix_ns grows; all have all cells'
[ $awked = 0 ]
result $? 'here: the core of a loop is busy'
spin=

sleep 0.3 &
run --hz=50 --seconds=0.6 --pid=$!
grep -q '^# source pid [0-9]*: ok: ended meanwhile' "$dir/out" && [ -z "$(last rss_kb)" ]
result $? 'here: a process that ends has empty cells from there on, and the head says so'

run --hz=0
says 2 '--hz=0: wanted' '--hz=0 is refused'
run --pid=none
says 2 '--pid=none: wanted' '--pid=none is refused'
run --list --costs
says 2 'one of --list, --costs and --energy' 'two things at once are refused'
run --out="$dir/no/where"
says 1 "--out=$dir/no/where: No such file" 'a file that cannot be written is refused at the start'

# --- the manual page -----------------------------------------------------------------------------

man=$here/../../docs/saker-probe.8
run --help
manual_has_options "$man" 15
missing=$({
	"$probe" --root="$here/pi5" --list
	"$probe" --list --pid=$$
} | cut -d' ' -f1 | sort -u | while read -r name; do
	[ "$name" = perf ] || grep -qE "^\.It (Sy .*|Li .*Sy )$name( |\$)|Sy $name( |\$)" "$man" || echo "$name"
done)
[ -z "$missing" ]
result $? "the manual has each source${missing:+, but $missing}"

echo "1..$count"
[ $failures = 0 ]
