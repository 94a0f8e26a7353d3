#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: wire.sh BUILD_DIR [SCRIPTS...]
# The scripts of tests/wire, which `make check-pure` plays in virtual time, on a
# live responder behind real XDP: the same frames, the same answers.
. "${0%/*}/lib.sh"
shift
[ $# != 0 ] || set -- "$here"/../wire/scripts/*.pkt

[ -x "$build/wire" ] || {
	echo "1..0 # SKIP $build/wire is not built: make check-pure first"
	exit 0
}

network
# The tester speaks for an address and a MAC that no kernel owns, so that no
# kernel answers for it. Nor should this one say anything unasked.
ip -n "$client" link set dev client0 multicast off arp off
# Whatever was offloaded would be undone or joined on the way to the tester.
nsenter --net="/run/netns/$client" ethtool -K client0 rx off tso off gso off gro off > /dev/null
nsenter --net="/run/netns/$server" ethtool -K server0 tx off rx off tso off gso off gro off > /dev/null
start_saker --io="${IO:-xdp-native}"

# The map is pinned in the holder's mount namespace.
device=veth:client0,port=$port
device=$device,server=$server_mac/$server4/$server6
device=$device,client=02:00:00:00:88:63/10.88.0.99/fd88::99
device=$device,counters=/proc/$holder/root$(pins)/counters
in_c "$build/wire" --device="$device" "$@" > "$dir/tap" 2> "$dir/trouble"
is 'every script was played' "$(grep -c '^\(not \)*ok' "$dir/tap") $(cat "$dir/trouble")" "$# "
while IFS= read -r line; do
	case $line in
	*'# SKIP '*)
		line=${line#ok * - }
		skip "${line#*# SKIP }" "${line%% # SKIP *}"
		;;
	ok\ *) pass "${line#ok * - }" ;;
	not\ ok\ *) fail "${line#not ok * - }" ;;
	'#'*) printf '%s\n' "$line" ;;
	esac
done < "$dir/tap"

stop_saker
finish
