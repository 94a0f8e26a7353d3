#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: refusals.sh BUILD_DIR
# What cannot work is refused: status 1, one line, and in it the cure. A wrong
# command line: status 2. Afterwards nothing is left on the interface.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network
# For those who may not read the build folder.
cp "$build/saker" "$dir/saker"

refused_by() { # NAME STATUS PATTERN COMMAND...
	name=$1 wanted=$2 pattern=$3
	shift 3
	traces > "$dir/before"
	timeout -k 1 5 "$@" < /dev/null > "$dir/out" 2> "$dir/err"
	like "$name" "$? $(wc -l < "$dir/err") $(cat "$dir/err")" "$wanted 1 saker: $pattern"
	traces > "$dir/after"
	ok "$name: program and pins are as before" cmp "$dir/before" "$dir/after"
}

traces() {
	xdp_program
	in_s find /sys/fs/bpf | sort
}

refused() { # NAME STATUS PATTERN ARGUMENTS...
	name=$1 wanted=$2 pattern=$3
	shift 3
	refused_by "$name" "$wanted" "$pattern" nsenter -t "$holder" -m -n -- "$dir/saker" -q "$@"
}

# --- the command line -----------------------------------------------------------
refused 'no interface given' 2 '*which interface*server0*'
in_s "$dir/saker" -i server0 --nosuch > "$dir/out" 2> "$dir/err"
like 'unknown option' "$? $(cat "$dir/err")" '2 *--nosuch*--help*'
refused 'port 0' 2 '*--port=0*' -i server0 -p 0
refused 'unknown rung' 2 '*--io=fast*xdp-native*' -i server0 --io=fast
refused 'unknown interface' 1 'no interface nosuch0*server0*' -i nosuch0
refused 'lo' 2 'lo:*--io=socket*' -i lo

# --- the interface -----------------------------------------------------------------
mtu() {
	ip -n "$server" link set dev server0 mtu "$1" && ip -n "$client" link set dev client0 mtu "$1"
}
mtu 9000
refused 'MTU too large' 1 'server0:*MTU*9000*ip link set*mtu*' -i server0
mtu 68
refused 'MTU too small' 1 'server0:*MTU*68*ip link set*mtu*' -i server0
mtu 1500
ip -n "$server" address replace $server6/64 dev server0 nodad # a small MTU takes IPv6 away
ip -n "$client" address replace $client6/64 dev client0 nodad

spawn_s nc -lk $port
other=$spawned
listens() {
	in_s ss -Hltn "sport = :$port" | grep -q .
}
soon 5 listens
refused 'port in use' 1 "*port $port*in use*" -i server0 -p $port
kill "$other"
wait "$other" 2> /dev/null

# --- who is there already ------------------------------------------------------------
foreign() { # xdpdrv|xdpgeneric PROGRAM
	ip -n "$server" link set dev server0 "$1" object "$build/pass.bpf.o" section xdp program "$2"
}
for mode in xdpdrv xdpgeneric; do
	foreign $mode foreign_pass
	refused "foreign program, $mode" 1 "server0:*foreign_pass*ip link set dev server0 $mode off*" -i server0
	ok "foreign program, $mode: still there" xdp_program
	in_s ip link set dev server0 $mode off
	ok "foreign program, $mode: the cure helps" no_xdp_program
done
foreign xdpdrv xdp_dispatcher
refused "the dispatcher of libxdp, by its name" 1 'server0:*dispatcher*xdp-loader unload server0*' -i server0
ip -n "$server" link set dev server0 xdpdrv off
if command -v xdp-loader > /dev/null; then
	in_s xdp-loader load server0 "$build/pass.bpf.o" -p /sys/fs/bpf > "$dir/out" 2>&1
	refused "libxdp's own dispatcher" 1 'server0:*dispatcher*xdp-loader unload server0*' -i server0
	in_s xdp-loader unload server0 --all > "$dir/out" 2>&1
	ok "libxdp's own dispatcher: the cure helps" no_xdp_program
else
	skip 'no xdp-loader' "libxdp's own dispatcher"
fi

start_saker
refused 'a second responder' 1 "server0:*saker*$saker*" -i server0 -p 8081
refused 'a second responder, same port' 1 "*" -i server0 -p $port
is 'a second responder: the first goes on' "$(hash_of "$url/compute?n=1000") $(mode pid)" "0xa06ae7fd $saker"
stop_saker

# --- privilege and the kernel ------------------------------------------------------------
refused_by 'not root' 1 '*root*' nsenter -t "$holder" -m -n -- \
	setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/saker" -q -i server0
# shellcheck disable=SC2016 # for the inner shell
refused_by 'no BPF file system' 1 'server0:*mount -t bpf bpf /sys/fs/bpf*' nsenter -t "$holder" -m -n -- \
	unshare -m sh -c 'umount /sys/fs/bpf && exec "$@"' sh "$dir/saker" -q -i server0
refused 'pins wanted outside of a BPF file system' 1 'server0:*/tmp*mount*' -i server0 --pin-dir=/tmp/x

# A kernel without CONFIG_XDP_SOCKETS, as the two system calls show it; with NO_TC one that
# has no map of maps either.
cat > "$dir/no_xdp.c" << 'END'
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static int no(int error)
{
	errno = error;
	return -1;
}

int socket(int family, int type, int protocol)
{
	int (*real)(int, int, int) = dlsym(RTLD_NEXT, "socket");
	return family == AF_XDP ? no(EAFNOSUPPORT) : real(family, type, protocol);
}

long syscall(long number, ...)
{
	long (*real)(long, ...) = dlsym(RTLD_NEXT, "syscall");
	long a[6];
	va_list args;
	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_bpf && a[0] == BPF_MAP_CREATE &&
	    (((union bpf_attr *)a[1])->map_type == BPF_MAP_TYPE_XSKMAP ||
	     (getenv("NO_TC") &&
	      ((union bpf_attr *)a[1])->map_type == BPF_MAP_TYPE_ARRAY_OF_MAPS)))
		return no(EINVAL);
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
END
cc -D_GNU_SOURCE -shared -fPIC -o "$dir/no_xdp.so" "$dir/no_xdp.c"
refused_by 'no AF_XDP in the kernel, and nothing else will do' 1 '*CONFIG_XDP_SOCKETS*' \
	nsenter -t "$holder" -m -n -- env LD_PRELOAD="$dir/no_xdp.so" "$dir/saker" -q -i server0 --io=xdp-native
spawn_s env LD_PRELOAD="$dir/no_xdp.so" "$dir/saker" -i server0 -p $port 2> "$dir/log"
saker=$spawned
ok 'no AF_XDP in the kernel: it serves all the same' soon 20 is_ready
is 'no AF_XDP in the kernel: by rung packet' "$(hash_of "$url/compute?n=1000") $(grep -c '^saker: ready.*rung packet' "$dir/log")" \
	'0xa06ae7fd 1'
like 'no AF_XDP in the kernel: it says why' "$(cat "$dir/log")" '*CONFIG_XDP_SOCKETS*'
is 'no AF_XDP in the kernel: not through the kernel' "$(counter sock_accepted)" 0
ok 'no AF_XDP in the kernel: no XDP program is there' no_xdp_program
stop_saker
ok 'no AF_XDP in the kernel: nothing is left on the interface' no_program

spawn_s env NO_TC=1 LD_PRELOAD="$dir/no_xdp.so" "$dir/saker" -i server0 -p $port 2> "$dir/log"
saker=$spawned
ok 'no rung that sees frames: it serves all the same' soon 20 is_ready
is 'no rung that sees frames: by the socket rung' "$(hash_of "$url/compute?n=1000") $(grep -c '^saker: ready.*socket' "$dir/log")" \
	'0xa06ae7fd 1'
like 'no rung that sees frames: it says why' "$(cat "$dir/log")" '*the tc program does not load*'
ok 'no rung that sees frames: no program is left in the way' no_program
first=$(worker)
sleep 1 # a worker that dies is seen within milliseconds
is 'no rung that sees frames: the worker lives, without maps too' "$(worker) $(grep -c died "$dir/log")" "$first 0"
unbalanced='there are no maps'
stop_saker
finish
