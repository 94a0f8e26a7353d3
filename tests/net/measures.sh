#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: measures.sh BUILD_DIR
# The lab's measures on a real responder: the two figures of a start and what they stand
# for, a start from the medium, containers on each network, and that nothing of it stays.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"

lab=$here/../../tools/lab
has python3 measures || finish
network

figure() { # NAME: of $dir/said
	jq -r ".figures.$1" "$dir/said"
}

said() { # COMMAND...: its JSON in $dir/said, its status in $said
	"$@" > "$dir/said" 2> "$dir/error"
	said=$?
	[ $said = 0 ] || note < "$dir/error"
}

saker="$build/saker -i server0 -p $port --io-cpu=$server_cpu"

# --- first answer, and bypass in effect ---------------------------------------------------

# shellcheck disable=SC2086 # words
said in_s "$build/measure-first" --bypass-from="/run/netns/$client" \
	--after="$build/saker-stat -i server0 --json" $server4 $port $saker
is 'the start of the responder is measured' $said 0
like 'it was over XDP' "$(jq -r .ready "$dir/said")" '*rung xdp-*'
ok 'the first answer comes before the bypass, and that before the answer over it' \
	jq -e '.figures | 0 < .first_answer_ms and .first_answer_ms < .bypass_ms
		and .bypass_ms < .bypass_answer_ms' "$dir/said"
ok 'the first came by the kernel, the last over AF_XDP' \
	jq -e '.after.counters | .sock_accepted >= 1 and .tcp_opened >= 1' "$dir/said"
ok 'the responder says of its bypass what is seen from outside, exec and pipe apart' \
	jq -e '(.after.mode | (.ready_ns - .started_ns) / 1e6) as $inside
		| $inside > 0 and $inside < .figures.bypass_ms' "$dir/said"
ok 'the responder has ended' no_xdp_program

# shellcheck disable=SC2086 # words
said in_s "$build/measure-first" --bypass $server4 $port $saker --io=socket
is 'without a bypass there is no figure that counts' $said 3

# shellcheck disable=SC2086 # words
said in_s python3 "$lab/measure_phases.py" --build="$build" --iface=server0 $server4 $port $saker
ok 'its phases are the whole' jq -e '.figures
	| (.before_main_ms + .listening_inside_ms + .attach_ms - .bypass_ms) | fabs < 0.01' "$dir/said"

# --- from the medium ---------------------------------------------------------------------

# shellcheck disable=SC2086 # words
said in_s python3 "$lab/measure_media.py" --build="$build" --dir="$build" --rounds=1 $server4 $port $saker
case $(cat "$dir/error") in
*'file system is memory'* | *O_DIRECT*) skip "$build is not on a medium" 'a start from the medium' ;;
*)
	is 'a start from the medium is measured' $said 0
	ok 'the evicted start has read the program, the warm one nothing' jq -e '
		.rounds[0].warm.read_kib == 0 and .figures.majflt > 0
		and .figures.read_kib * 2 > .program_kib' "$dir/said"
	;;
esac
is 'no copy stays' "$(ls -d "$build"/saker-media-* 2> /dev/null)" ''

# --- containers ----------------------------------------------------------------------------

container() { # NET RUNTIME OPTIONS...
	net=$1 runtime=$2
	shift 2
	said python3 "$lab/measure_container.py" --build="$build" --net="$net" \
		${runtime:+--runtime=$runtime} "$@"
	if [ $said = 4 ]; then
		skip "$(jq -r .skipped "$dir/said")" "$net $runtime $*"
		return
	fi
	is "$net $runtime: all answer" "$said $(jq '.servers | length' "$dir/said") $(jq -r .runtime "$dir/said")" \
		"0 2 ${runtime:-none}"
}

left() { # what there is of containers
	find /run/netns -name "saker-lab-*"
	! command -v crun > /dev/null || crun list -q
}

left > "$dir/before"
two="--instances=2 --server-cpu=$server_cpu"
socket="$build/saker --io=socket -i %i -p %p"
# shellcheck disable=SC2086 # words
container native '' $two $socket
# shellcheck disable=SC2086 # words
container bridge unshare $two $socket
if has crun 'containers of a runtime'; then
	# shellcheck disable=SC2086 # words
	container host crun $two --load=hogs --hogs=2 $socket
	# shellcheck disable=SC2086 # words
	container bridge crun $two --cpuset=pinned "$build/saker" -i %i -p %p
	# shellcheck disable=SC2086 # words
	container macvlan crun $two $socket
fi
left > "$dir/after"
ok 'no namespace and no container stays' cmp "$dir/before" "$dir/after"

finish
