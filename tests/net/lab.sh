#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: lab.sh BUILD_DIR
# saker-lab: short sessions on a veth, killed and resumed, interrupted, dirty; and one whose
# load comes from another host: a real sshd in the namespace of the clients.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
tools=$here/../../tools
out=$dir/out

cat > "$dir/two.lab" << 'END'
title   Two subjects, twice
factor  subject xdp nginx
subject xdp   saker --io=xdp-native
subject nginx nginx
load    --rate=400 --seconds=1 --warm=0.1 --floor=0.1 --spin $more /compute?n=0
let     more
repeat  2
order   abba
baseline subject=nginx
figures p50 p99 rate_ok outside_p50 pss_kb
quick   load --rate=200 --seconds=1 --warm=1 --floor=0.1 /compute?n=0
END
sed 's/^let .*/let more --need=p99.99/; s/^repeat.*/repeat 1/' "$dir/two.lab" > "$dir/dirty.lab"

lab() { # ARGUMENTS...: its exit status is in $status
	"$tools/saker-lab" "$@" > "$dir/lab.out" 2> "$dir/lab.log"
	status=$?
}

run() { # FILE ARGUMENTS...
	run_file=$dir/$1
	shift
	lab run "$run_file" --build="$build" --out="$out" --no-report "$@"
}

ended() { # NAME STATUS
	if [ $status = "$2" ]; then pass "$1"; else fail "$1" "status $status: $(cat "$dir/lab.log")"; fi
}

states() {
	cat "$out"/runs/*/run.json | jq -r .state | tr '\n' ' '
}

field() { # NUMBER FILE FILTER
	jq -r "$3" "$out/runs/000$1/$2.json"
}

has nginx 'the subjects of the lab' || finish

# --- a session ------------------------------------------------------------------------

run two.lab --quick --accept-dirty
ended 'four runs on a veth' 0
is 'each was measured' "$(states | sed 's/dirty/done/g')" 'done done done done '
is 'in the order A B B A' \
	"$(jq -r '[.runs[].factors.subject] | join(" ")' "$out/plan.json")" 'xdp nginx nginx xdp'
is 'over the bypass' "$(field 1 run .mode.rung)" xdp-native
is "the client's kernel receives on the client's CPU" "$(field 1 run .rps)" \
	"$([ -e /sys/class/net/lo/queues/rx-0/rps_cpus ] && echo true || echo null)"
is 'all its requests are in the stages since the mark, and not the warm-up before' \
	"$(jq -s '.[0].since.stages.total.count as $n | .[1].requests as $r
		| $r >= 190 and $n >= $r * 0.95 and $n <= $r * 1.2' \
		"$out/runs/0001/stages.json" "$out/runs/0001/load.json")" true
is 'nginx answered with the right hash' "$(field 2 load '[.wrong, .errors]' | tr -d '\n ')" '[0,0]'
least 'memory is that of all its processes' "$(field 1 run .pss_kb)" 1000
is 'facts of the host' "$(jq -r '[.kernel, .nic.driver, .place] | join(" ")' "$out/facts.json")" \
	"$(uname -r) veth veth"
is 'a row for each run in the table' "$(wc -l < "$out/figures.csv")" 5

# --- broken off --------------------------------------------------------------------------

second_measures() {
	[ -e "$out/runs/0002/load.json" ]
}

helpers_gone() {
	for helper in $helpers; do
		gone "$helper" || return
	done
}

break_off() { # SIGNAL: in the middle of the second run; its status is in $status
	rm -rf "$out"
	"$tools/saker-lab" run "$dir/two.lab" --build="$build" --out="$out" --no-report --quick \
		--accept-dirty 2> "$dir/lab.log" &
	running=$!
	spawned_all="$spawned_all $running"
	soon 20 second_measures
	helpers=$(ps -o pid= --ppid $running)
	least 'it runs: two holders, a keeper, subject and load' "$(echo "$helpers" | wc -l)" 5
	kill "-$1" $running
	{ wait $running; } 2> /dev/null
	status=$?
}

break_off KILL
if soon 15 helpers_gone; then
	pass 'killed outright, it leaves no process'
else
	# shellcheck disable=SC2086 # words
	fail 'killed outright, it leaves no process' "$(ps -o pid,args -p $helpers)"
fi
is 'the run that it was at has no state' "$(states)" "$(field 1 run .state) "
began=$(field 1 run .started_unix_ns)
lab resume "$out" --no-report
ended 'resumed' 0
is 'the first run is not made again' "$(field 1 run .started_unix_ns)" "$began"
is 'the others are' "$(states | sed 's/dirty/done/g')" 'done done done done '

break_off INT
ended 'interrupted, it says so' 130
like 'and how to go on' "$(cat "$dir/lab.log")" "*saker-lab resume $out* goes on*"
if helpers_gone; then
	pass 'and leaves no process'
else
	fail 'and leaves no process' "$(cat "$dir/lab.log")"
fi

# --- dirty ----------------------------------------------------------------------------------

rm -rf "$out"
run dirty.lab
ended 'dirty runs end with status 3' 3
is 'their state is dirty' "$(states)" 'dirty dirty '
like 'for the reason that the load gives' "$(field 1 run '.why | join("; ")')" '*load: *p99.99*'
like 'and they are refused' "$(cat "$dir/lab.log")" '*2 dirty runs are left out*--accept-dirty*'

# --- a second host --------------------------------------------------------------------------

ssh_host() {
	in_s ssh -F "$dir/ssh" desk true
}

start_sshd() {
	mkdir -p /run/sshd # its own service would
	ssh-keygen -q -t ed25519 -N '' -f "$dir/host" && ssh-keygen -q -t ed25519 -N '' -f "$dir/key" || return
	cat > "$dir/sshd" <<- END
	ListenAddress $client4:2222
	HostKey $dir/host
	PidFile none
	AuthorizedKeysFile $dir/key.pub
	StrictModes no
	UsePAM no
	PermitRootLogin prohibit-password
	END
	cat > "$dir/ssh" <<- END
	Host desk
	HostName $client4
	Port 2222
	User root
	IdentityFile $dir/key
	IdentitiesOnly yes
	UserKnownHostsFile $dir/known
	StrictHostKeyChecking accept-new
	END
	spawn_c "$(command -v sshd)" -D -e -f "$dir/sshd" 2> "$dir/sshd.log"
	soon 10 ssh_host
}

from_desk() { # FILE ARGUMENTS...: the responder here, that is in its namespace
	rm -rf "$out"
	from_file=$dir/$1
	shift
	in_s "$tools/saker-lab" run "$from_file" --quick --build="$build" --out="$out" --no-report \
		--place=server0 --client=desk --ssh-config="$dir/ssh" --accept-dirty "$@" \
		> "$dir/lab.out" 2> "$dir/lab.log"
	status=$?
}

rm -rf "$out"
lab run "$dir/two.lab" --place=lo
ended 'a real interface wants a second host' 2
like 'and the reason is loopback' "$(cat "$dir/lab.log")" '*--client=HOST*loopback*'
has sshd 'a client by ssh' || finish
# shellcheck disable=SC2119 # one queue
network
if start_sshd; then pass 'a host to ssh to'; else fail 'a host to ssh to' "$(cat "$dir/sshd.log")"; fi
from_desk two.lab --repeat=1 --client-load="$build/saker-load"
ended 'two runs with the load on another host' 0
is 'they are measured' "$(states | sed 's/dirty/done/g')" 'done done '
least 'their results came back' "$(field 1 load .ok)" 190
is 'the way there is a link' "$(jq -r '[.client.link.dev, .client.link.source] | join(" ")' "$out/facts.json")" \
	"client0 $client4"
is 'facts of that host' "$(jq -r .client.kernel "$out/facts.json")" "$(uname -r)"

cat > "$dir/ask.lab" << 'END'
title   A measure, that asks from there
factor  subject xdp
subject xdp saker --io=xdp-native
factor  how there here
let     how=there ask $client_build/saker-load
let     how=here ask $build/saker-load
measure sh -c '"$0" -q --json -d1 --warm=0.1 "$@" > $run/load.json; echo "{\"figures\":{\"done\":1}}"' \
	$ask http://$address:$port/compute?n=0
order   given
figures p50
END
from_desk ask.lab --client-load="$build/saker-load"
is 'a measure that asks from there is made, another one is skipped' "$(states)" 'done skipped '
least 'its requests were answered' "$(field 1 load .ok)" 100

cat > "$dir/other" <<- END
#!/bin/sh
echo saker-load 0.0
END
chmod 755 "$dir/other"
from_desk two.lab --client-load="$dir/other"
ended 'another version is refused' 1
like 'with the cure' "$(cat "$dir/lab.log")" '*it has saker-load 0.0, here is *install the same version*'
from_desk two.lab --client-load=/no/saker-load
like 'none at all, too' "$(cat "$dir/lab.log")" '*no /no/saker-load there; copy*'

finish
