#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: conf.sh BUILD_DIR
# Every option's good and bad values, the config file, and which one wins. TAP.
# `saker --check` prints the settings, so nothing is served and root is not needed.

saker=$1/saker
man=${0%/*}/../docs/saker.8
# shellcheck source=tests/script.sh
. "${0%/*}/script.sh"

# The loopback interface is the one that exists everywhere; it wants --io=socket.
run() {
	"$saker" "$@" > "$dir/out" 2> "$dir/err"
	status=$?
}

check() {
	run --check -i lo --io=socket "$@"
}

takes() { # OPTION=VALUE LINE: --check prints LINE
	check "--$1"
	[ $status = 0 ] && grep -qxF -- "$2" "$dir/out"
	result $? "--$1 gives '$2'"
}

# Status 2, nothing on stdout, and one line on stderr that holds TEXT.
refused() { # NAME TEXT
	[ $status = 2 ] && [ ! -s "$dir/out" ] && [ "$(wc -l < "$dir/err")" = 1 ] &&
		grep -qF -- "$2" "$dir/err"
	result $? "$1"
}

rejects() { # OPTION VALUE REASON
	check "--$1=$2"
	refused "--$1=$2 is refused" "saker: --$1=$2: $3"
}

file() { # LINES...: write the config file
	printf '%s\n' "$@" > "$dir/conf"
}

rejects_file() { # NAME TEXT LINES...
	name=$1 text=$2
	shift 2
	file "$@"
	check --config="$dir/conf"
	refused "file: $name" "saker: $dir/conf:$text"
}

# What saker(8) says about an option, on one line.
manual() { # OPTION
	awk -v option="$1" '
		$1 == ".It" { on = index($0 " ", "Fl -" option " ") }
		on { printf "%s ", $0 }' "$man"
}

manual_has() { # OPTION TEXT
	manual "$1" | grep -qF -- "$2"
	result $? "saker(8) says of $1: $2"
}

# --- numbers: both ends of the range, one beyond each, and what is no number ---
number() { # OPTION MIN MAX
	manual_has "$1" " $2 to $3"
	takes "$1=$2" "$1 = $2"
	takes "$1=$3" "$1 = $3"
	range="wanted a whole number, $2 ... $3"
	[ "$2" = 0 ] || rejects "$1" $(($2 - 1)) "$range"
	rejects "$1" $(($3 + 1)) "$range"
	for bad in '' -1 +9 ' 9' '9 ' 9k 0x9 9.0 nine 18446744073709551616 99999999999999999999999; do
		rejects "$1" "$bad" "$range"
	done
}
number port 1 65535
number max-conns 1 60000
number max-n 0 1000000000000
number max-wait-ms 0 60000
number slice-us 5 10000
number spin-us 0 1000000
number lanes 1 128
number max-body 0 1048576
number cache 0 1048576
number stall-ms 50 60000
number drain-s 0 300
number for 0 604800

for t in header-timeout body-timeout idle-timeout; do
	manual_has $t ' 0.1 to 3600'
	takes $t=0.1 "$t = 0.100"
	takes $t=3600 "$t = 3600.000"
	takes $t=2.5 "$t = 2.500"
	takes $t=1.234 "$t = 1.234"
	for bad in '' 0 0.099 3600.001 36000000000 -1 +1 .5 1. 1.2345 1,5 1s 1e3 ' 1' nan; do
		rejects $t "$bad" 'wanted seconds, 0.1 ... 3600'
	done
done

# --- memory: sizes, what comes of one, and one that is too small --------------------
takes memory=64M 'memory = 64M'
takes memory=8192K 'memory = 8M'
takes memory=9000K 'memory = 9000K'
takes memory=1048576M 'memory = 1048576M'
for bad in '' 8 M 0M 8m 8MB 8G 1.5M -1M +8M ' 8M' '8 M' 0x8M 1048577M 1073741825K 18446744073709551616K; do
	rejects memory "$bad" 'wanted a size with K or M behind it, 1K ... 1048576M, such as 8M'
done
budget() { # NAME FILTER OPTIONS...: awk's word on what --check prints, with its settings in v[]
	name=$1 filter=$2
	shift 2
	check "$@"
	[ $status = 0 ] && awk '$2 == "=" { v[$1] = $3 } /^# with all tables full/ { full = $6 + 0 }
		/^# TIME-WAIT/ { timewait = $4 + 0; lines = $NF }
		END { exit !('"$filter"') }' "$dir/out"
	result $? "memory: $name"
}
budget 'none is no budget' '!("memory" in v) && v["max-conns"] == 1024 && !full'
budget 'less: fewer connections and records' \
	'v["max-conns"] < 1024 && v["max-conns"] > 16 && timewait < 4096 && full <= 5 * 1024' --memory=5M
budget 'more: more connections' 'v["max-conns"] > 1024 && timewait == 4096 && full <= 64 * 1024' --memory=64M
budget 'there are no more than 60000' 'v["max-conns"] == 60000' --memory=2000M
budget 'connections that are given stay' 'v["max-conns"] == 100' --memory=64M --max-conns=100
budget 'less for the log, too' 'lines < 8192 && lines >= 512' --memory=5M --access-log=/tmp/log
file 'memory = 5M' 'max-conns = 50'
budget 'both in the file' 'v["max-conns"] == 50 && v["memory"] == "5M"' --config="$dir/conf"
budget 'the command line wins' 'v["memory"] == "6M"' --config="$dir/conf" --memory=6M
file 'memory = 1M'
budget 'and is all that counts' 'v["memory"] == "6M"' --config="$dir/conf" --memory=6M
check --memory=1M
refused 'memory: 1M is too little' 'saker: --memory=1M: too little: '
grep -q 'for 16 connections on lo; most would be saved at --max-body=16384' "$dir/err"
result $? 'memory: said with what costs most'
least=$(sed -n 's/.*too little: \([0-9]*\)K is the least.*/\1/p' "$dir/err")
budget "$least K, which it names, is enough" 'v["max-conns"] == 16' --memory="${least}K"
check --memory=$((least - 1))K
refused 'memory: a K less is not' "too little: ${least}K is the least"
check --memory=8M --max-conns=5000
refused 'memory: with connections that are given' 'most would be saved at --max-conns=5000'
check --memory=8M --cache=1000000
refused 'memory: with a cache' 'most would be saved at --cache=1000000'
manual_has memory 'with K or M behind it'

# --- words and addresses ------------------------------------------------------
for rung in auto xdp-native xdp-generic packet socket; do
	file "io = $rung"
	run --check -i lo --config="$dir/conf" --io=socket
	[ $status = 0 ]
	result $? "io = $rung is a rung"
done
rejects io native 'wanted auto, xdp-native'
rejects io '' 'wanted auto, xdp-native'

# --- CPUs -----------------------------------------------------------------------
for list in io-cpu compute-cpus; do
	manual_has $list '0 to 1023'
	manual_has $list 'at most 16'
	takes $list=0 "$list = 0"
	takes $list=1023 "$list = 1023"
	takes $list=2,3 "$list = 2,3"
	takes $list=1-3 "$list = 1,2,3"
	takes $list=5-5 "$list = 5"
	takes $list=9,4-6,0 "$list = 9,4,5,6,0"
	takes $list=16-31 "$list = 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31"
	for bad in '' ',' '1,' ',1' '1,,2' -1 1- 3-1 1-2-3 1024 0-1024 ' 1' '1 ' '1, 2' 0x1 +1 all 1.5 \
		99999999999999999999999; do
		rejects $list "$bad" 'wanted CPUs, 0 ... 1023, such as 2 or 2,4-6'
	done
	rejects $list 2,2 'CPU 2 is there twice'
	rejects $list 1-3,2 'CPU 2 is there twice'
	rejects $list 0-16 'at most 16 CPUs'
done
check
! grep -q 'cpu' "$dir/out"
result $? 'neither list is a setting when it is not given'
check --io-cpu=1,2 --compute-cpus=3,2
refused 'a CPU that does both is refused' 'saker: CPU 2 is in --io-cpu and in --compute-cpus'
file 'compute-cpus = 3'
check --config="$dir/conf" --io-cpu=3
refused 'also when one list is in the file' 'saker: CPU 3 is in --io-cpu and in --compute-cpus'
check --config="$dir/conf" --io-cpu=3 --compute-cpus=4
[ $status = 0 ] && grep -qx 'compute-cpus = 4' "$dir/out"
result $? 'the command line replaces the list of the file'

takes addr=192.0.2.7 'addr = ::ffff:192.0.2.7'
takes addr=::ffff:192.0.2.7 'addr = ::ffff:192.0.2.7'
takes addr=2001:db8::7 'addr = 2001:db8::7'
for bad in '' 192.0.2 192.0.2.256 192.0.2.1/24 fe80::1%eth0 localhost; do
	rejects addr "$bad" 'wanted an IPv4 or IPv6 address'
done
rejects addr 0.0.0.0 'leave addr out'
rejects addr :: 'leave addr out'
rejects addr 224.0.0.1 'nobody can connect'
rejects addr 255.255.255.255 'nobody can connect'
rejects addr ff02::1 'nobody can connect'

eight='--addr=192.0.2.1 --addr=192.0.2.2 --addr=192.0.2.3 --addr=192.0.2.4
	--addr=2001:db8::1 --addr=2001:db8::2 --addr=2001:db8::3 --addr=2001:db8::4'
# shellcheck disable=SC2086 # eight words
check $eight
[ $status = 0 ] && [ "$(grep -c '^addr = ' "$dir/out")" = 8 ]
result $? 'eight addresses'
# shellcheck disable=SC2086
check $eight --addr=192.0.2.5
refused 'a ninth address is refused' 'at most 8 addresses'

# These act in the XDP program, which loopback cannot have: asked of an interface that is
# not there everything else is checked first; what is printed takes a real one.
passes_up_to_interface() { # OPTIONS...
	run --check -i nosuch0 "$@"
	[ $status = 1 ] && grep -q '^saker: no interface nosuch0' "$dir/err"
}
nic=$(cd /sys/class/net && for one in *; do [ "$one" = lo ] || [ ! -e "$one/ifindex" ] || echo "$one"; done | head -n 1)
guarded() { # OPTION=VALUE LINE: as takes
	if [ -z "$nic" ]; then
		passes_up_to_interface "--$1"
		result $? "--$1 is taken"
	else
		run --check -i "$nic" "--$1"
		[ $status = 0 ] && grep -qxF -- "$2" "$dir/out"
		result $? "--$1 gives '$2'"
	fi
}
for rate in limit-syns limit-frames; do
	manual_has $rate ' 0 to 10000000'
	takes $rate=0 "$rate = 0"
	guarded $rate=1 "$rate = 1/1"
	guarded $rate=100 "$rate = 100/100"
	guarded $rate=100/250 "$rate = 100/250"
	guarded $rate=10000000/1 "$rate = 10000000/1"
	for bad in '' -1 10000001 ' 1' 1.5 1k /5 x/5 0/5 1/ 1/0 1/x 1/2/3 1/10000001 \
		18446744073709551617; do
		rejects $rate "$bad" 'wanted N or N/BURST, whole numbers up to 10000000'
	done
done
manual_has limit-conns ' 0 to 60000'
takes limit-conns=0 'limit-conns = 0'
guarded limit-conns=60000 'limit-conns = 60000'
rejects limit-conns 60001 'wanted a whole number, 0 ... 60000'
guarded deny=192.0.2.0/24 'deny = 192.0.2.0/24'
guarded deny=192.0.2.7 'deny = 192.0.2.7/32'
guarded deny=::ffff:192.0.2.0/120 'deny = 192.0.2.0/24'
guarded deny=0.0.0.0/0 'deny = 0.0.0.0/0'
guarded deny=2001:db8::/32 'deny = 2001:db8::/32'
guarded deny=2001:db8::7 'deny = 2001:db8::7/128'
guarded deny=2000::/3 'deny = 2000::/3'
guarded deny=all 'deny = all'
for list in allow deny; do
	for bad in '' 192.0.2 192.0.2.256 localhost 192.0.2.1,192.0.2.2 fe80::1%eth0 any; do
		rejects $list "$bad" 'wanted a prefix, such as 192.0.2.0/24, 2001:db8::/32 or all'
	done
	for bad in / /33 /-1 /+8 /0x8 /8/8 '/ 8' /0008; do
		rejects $list "10.0.0.0$bad" 'wanted /0 ... /32 behind an IPv4 address'
	done
	rejects $list fd88::/129 'wanted /0 ... /128 behind an IPv6 address'
	rejects $list 192.0.2.7/24 'the address has bits behind the prefix: did you mean 192.0.2.0/24'
	rejects $list fd88::1/64 'the address has bits behind the prefix: did you mean fd88::/64'
	rejects $list ::/0 'that holds the IPv4 addresses too: say all'
	rejects $list ::ffff:0.0.0.0/95 'the address has bits behind the prefix'
done
check --deny=10.0.0.0/8 --allow=10.0.0.0/8
refused 'a prefix that is there already' '--allow=10.0.0.0/8: this prefix is there already'
run --check -i nosuch0 --allow=10.0.0.0/8
refused '--allow alone does nothing' '--allow without --deny changes nothing'
for other in --limit-conns=1 --limit-syns=1 --limit-frames=1 --deny=all; do
	check $other
	refused "$other without an XDP program" 'with --io=socket nft(8) does this'
done
many=$(seq -f '--deny=10.0.0.%g' 64)
# shellcheck disable=SC2086 # words
passes_up_to_interface $many
result $? '64 prefixes'
# shellcheck disable=SC2086
run --check -i nosuch0 $many --allow=10.0.1.0/24
refused 'a 65th' 'at most 64 prefixes; saker-ctl(8) adds more'
file 'deny = 10.0.0.0/8' 'deny = 192.0.2.0/24' 'allow = 10.1.0.0/16' 'limit-syns = 5/6'
passes_up_to_interface --config="$dir/conf"
result $? 'a prefix a line'
if [ -n "$nic" ]; then
	run --check -i "$nic" --config="$dir/conf" --deny=all
	[ $status = 0 ] && [ "$(grep -E '^(allow|deny)' "$dir/out")" = 'deny = all' ] && grep -qx 'limit-syns = 5/6' "$dir/out"
	result $? 'prefixes of the command line replace those of the file'
fi

takes pin-dir=/sys/fs/bpf/x 'pin-dir = /sys/fs/bpf/x'
rejects pin-dir x 'wanted an absolute path'
rejects pin-dir '' 'wanted 1 ... 255 characters'
rejects pin-dir "/$(printf '%0255d' 0)" 'wanted 1 ... 255 characters'

takes stat-group=root 'stat-group = root'
takes stat-group=54321 'stat-group = 54321'
rejects stat-group no-such-group 'no such group'
rejects stat-group '' 'wanted 1 ... 32 characters'
rejects stat-group 4294967295 'wanted a whole number, 0 ... 4294967294'
rejects stat-group 12x 'wanted a whole number'
takes user=root 'user = root'
takes user=54321 'user = 54321'
takes user=none 'user = none'
rejects user no-such-user 'no such user'
rejects user '' 'wanted 1 ... 32 characters'
rejects user 0 'wanted a whole number, 1 ... 4294967294'

# Steering by path has no rung on the loopback interface: what is wrong is said before.
rejects steer both 'wanted port or path'
for bad in '' / compute /compute/ '/a b' '/a?b' '/%63ompute' "/$(printf '%032d' 0)"; do
	rejects path "$bad" 'wanted '
done
check --steer=path
refused '--steer=path with --io=socket is refused' '--steer=path needs a rung that sees frames'
for other in --path=/x --path-keepalive --local-port=1; do
	check $other
	refused "$other without --steer=path is refused" 'are for --steer=path'
done
run --check -i lo --steer=path --local-port=8080
refused '--local-port is not the port' "--local-port is the web server's port"
run --check -i lo --steer=path -p 65535
refused 'there is no port behind the last one' 'name one with --local-port'

takes access-log=/var/log/x 'access-log = /var/log/x'
takes access-log=- 'access-log = -'
rejects access-log '' 'wanted 1 ... 255 characters'
check
! grep -q 'access-log' "$dir/out"
result $? 'no access log when none is given'

# --- the interface --------------------------------------------------------------
run --check
refused 'no interface given' 'saker: which interface? -i IFACE; there are: '
run --check -i nosuch0
[ $status = 1 ] && [ "$(wc -l < "$dir/err")" = 1 ] &&
	grep -q '^saker: no interface nosuch0; there are: .*\<lo\>' "$dir/err"
result $? 'an unknown interface ends with status 1 and names those that exist'
run --check -i lo
refused 'lo is refused, with the cure' 'use --io=socket'
run --check -i abcdefghijklmnop
refused 'a name longer than the kernel takes' '--interface=abcdefghijklmnop: wanted 1 ... 15 characters'

# --- the rest of the command line ------------------------------------------------
check -p 81 -q
[ $status = 0 ] && grep -qx 'port = 81' "$dir/out" && grep -qx 'quiet = yes' "$dir/out"
result $? 'letters: -i, -p, -q'
check --port=81 --port=82
[ $status = 0 ] && grep -qx 'port = 82' "$dir/out"
result $? 'the last one of two wins'
check eth0
refused 'a word that is no option' 'saker: eth0: not an option'
for bad in --nosuch --port -p --check=yes; do
	check $bad
	[ $status = 2 ] && [ -s "$dir/err" ]
	result $? "usage error: $bad"
done
run --version
[ $status = 0 ] && grep -q '^saker .' "$dir/out"
result $? '--version'
run --help
[ $status = 0 ] && [ ! -s "$dir/err" ]
result $? '--help'

# --- the file ----------------------------------------------------------------------
file '# first' '' '  port=81  # why' 'max-n =  7' 'addr = 192.0.2.1' 'addr = 192.0.2.2' \
	'idle-timeout = 1.5' 'quiet = yes' 'interface = lo' 'io = socket'
run --check --config="$dir/conf"
[ $status = 0 ] && for line in 'port = 81' 'max-n = 7' 'addr = ::ffff:192.0.2.1' \
	'addr = ::ffff:192.0.2.2' 'idle-timeout = 1.500' 'quiet = yes' 'interface = lo'; do
	grep -qxF "$line" "$dir/out" || break
done
result $? 'file: settings, spaces, comments, an address a line'

for order in first last; do
	if [ $order = first ]; then
		run --check --port=82 --addr=192.0.2.9 --config="$dir/conf"
	else
		run --check --config="$dir/conf" --port=82 --addr=192.0.2.9
	fi
	[ $status = 0 ] && grep -qx 'port = 82' "$dir/out" && grep -qx 'max-n = 7' "$dir/out" &&
		[ "$(grep '^addr' "$dir/out")" = 'addr = ::ffff:192.0.2.9' ]
	result $? "the command line wins over the file (given $order); its addresses replace the file's"
done

check --port=82 --slice-us=70 --io-cpu=3,1-2 --compute-cpus=0 --pin-dir=/sys/fs/bpf/y --access-log=/x/y --addr=2001:db8::1
cp "$dir/out" "$dir/conf"
run --check --config="$dir/conf"
[ $status = 0 ] && cmp -s "$dir/conf" "$dir/out"
result $? 'what --check prints is a config file that gives the same settings'

printf 'port = 81\r\nmax-n = 7' > "$dir/conf"
check --config="$dir/conf"
[ $status = 0 ] && grep -qx 'port = 81' "$dir/out" && grep -qx 'max-n = 7' "$dir/out"
result $? 'file: CRLF, and no newline at the end'

rejects_file 'unknown name' '2: prot=81: no such setting' '# x' 'prot = 81'
rejects_file 'abbreviated name' '1: max-c=5: no such setting' 'max-c = 5'
rejects_file 'letter' '1: p=5: no such setting' 'p = 5'
rejects_file 'file in a file' '1: config=x: no such setting' 'config = x'
rejects_file 'bad value' '3: port=70000: wanted a whole number, 1 ... 65535' '' '' 'port = 70000'
rejects_file 'bad value of what the command line sets too' '1: io=x: wanted auto' 'io = x'
rejects_file 'no value' '1: port=: wanted a whole number' 'port ='
rejects_file 'no equals sign' '1: port 81=: wanted NAME = VALUE' 'port 81'
rejects_file 'no name' '1: =81: no such setting' '= 81'
rejects_file 'given twice' '2: port=82: given twice' 'port = 81' 'port = 82'
rejects_file 'flag' '1: quiet=1: wanted yes or no' 'quiet = 1'
rejects_file 'ninth address' '9: addr=192.0.2.9: at most 8' 'addr = 192.0.2.1' 'addr = 192.0.2.2' \
	'addr = 192.0.2.3' 'addr = 192.0.2.4' 'addr = 192.0.2.5' 'addr = 192.0.2.6' \
	'addr = 192.0.2.7' 'addr = 192.0.2.8' 'addr = 192.0.2.9'
for path in "$dir/none" "$dir"; do
	check --config="$path"
	[ $status = 1 ] && [ "$(wc -l < "$dir/err")" = 1 ] && grep -qF "saker: --config=$path: " "$dir/err"
	result $? "a file that cannot be read ends with status 1: ${path##*/}"
done

# --- what the user is told -----------------------------------------------------------
check
cp "$dir/out" "$dir/defaults"
"$saker" --help | tr -s ' \n' ' ' | sed 's/ \(-., \)*--/\n/g' > "$dir/help"
for option in port io limit-conns limit-syns limit-frames max-conns max-n max-wait-ms slice-us spin-us lanes max-body cache header-timeout body-timeout \
	idle-timeout stall-ms drain-s for; do
	told=$(sed -n "s/^$option=.*(default \([a-z0-9.]*\).*/\1/p" "$dir/help")
	real=$(sed -n "s/^$option = //; t found; d; :found s/\.000$//p; t; p" "$dir/defaults")
	[ $option = io ] && real=auto # --check had to say socket
	[ -n "$told" ] && [ "$told" = "$real" ]
	result $? "--help tells the default of $option ($told)"
	manual_has $option "Default: $told. "
done
sed -n 's/^\([a-z-]*\)[= ].*/\1/p' "$dir/help" > "$dir/names"
while read -r option; do
	manual_has "$option" .It
done < "$dir/names"

echo "1..$count"
[ $failures = 0 ]
