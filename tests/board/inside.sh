#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: inside.sh BUILD_DIR PART
# What the emulated board runs of a part of make check-board, as TAP. The tests are those
# of the other folders; only pages, small and virtio's network are the board's own.

build=$1
cd "${0%/*}/../.." || exit 1
export MAKE=true # all is built, and the tree is read only
IO="" NICS=""
export IO NICS

timed() { # NAME COMMAND...
	name=$1
	shift
	since=$(cut -d. -f1 /proc/uptime)
	"$@" || bad=1
	echo "# time $(($(cut -d. -f1 /proc/uptime) - since)) s: $name"
}

net() { # NAMES...
	for one; do
		timed "$one" tests/net/run.sh "$build" "$one"
	done
}

each() { # PROGRAMS...: each with a plan of its own
	for one; do
		timed "$one" "$build/$one"
	done
}

bad=0
case $2 in
basic)
	each test_pages test_jail
	net basics
	IO=xdp-generic
	net basics
	;;
logic) each test_ring_setup test_probe_perf test_crew test_netev test_logger test_steer test_path \
	test_steer_tc test_path_tc test_tc ;;
native) net http wire odd ;;
generic)
	IO=xdp-generic
	net wire bad
	;;
packet)
	IO=packet
	net basics wire
	;;
rungs) net rungs ;;
virtio)
	NICS='eth0 eth1'
	net basics rungs wire
	;;
small) timed small tests/board/small.sh "$build" ;;
*)
	echo "1..0 # $2: no such part"
	bad=1
	;;
esac
exit $bad
