#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: image.sh BUILD_DIR IMAGE.tar
# The image that `make image` made: how large, what skopeo says of it, and run by crun on a
# veth with the capabilities that it names; then with each of them missing, to show that
# none is there for nothing. As root. TAP.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/../net/lib.sh"
image=$(realpath "$2")
cd "$here/../.." || exit 1
arch=$(dpkg --print-architecture)
most=4000000
url=http://$server4:80

# --- what it is -------------------------------------------------------------------------

for one in amd64 arm64; do
	ok "$one: every digest and size is right" \
		tests/packaging/bundle.py "$image" $one "$dir/$one" /run/netns/none ''
	is "$one: what is in it" "$(cd "$dir/$one/rootfs" && find . ! -type d ! -path './lib/terminfo/*' | sort | tr '\n' ' ')" \
		'./bin/saker ./bin/saker-ctl ./bin/saker-stat ./etc/group ./etc/passwd '
	size=$(find "$dir/$one/rootfs" -type f -exec stat -c %s {} + | awk '{ n += $1 } END { print n }')
	ok "$one: unpacked it is under 4 MB: $size bytes" [ "$size" -lt $most ]
	ok "$one: nothing is linked at run time" sh -c "! readelf -d '$dir/$one/rootfs/bin/saker' | grep NEEDED"
	ok "$one: position independent" sh -c "readelf -h '$dir/$one/rootfs/bin/saker' | grep -q DYN"
done
ok "both together are under 4 MB: $(stat -c %s "$image") bytes" [ "$(stat -c %s "$image")" -lt $most ]
if has skopeo 'skopeo reads it for both architectures'; then
	version=$(tar -xOf "$image" index.json | jq -r '.manifests[0].annotations["org.opencontainers.image.ref.name"]')
	for one in amd64 arm64; do
		is "skopeo finds $one in it" \
			"$(skopeo --override-arch $one inspect "oci-archive:$image:$version" | jq -r .Architecture)" $one
		ok "skopeo copies $one, digests and all" \
			skopeo --override-arch $one copy "oci-archive:$image:$version" "dir:$dir/copy-$one"
	done
	caps=$(skopeo inspect "oci-archive:$image:$version" | jq -r '.Labels["saker.capabilities"]')
	is "its label names the unit's capabilities" "$caps" "$(sed -n 's/^CapabilityBoundingSet=//p' packaging/saker@.service)"
fi
caps=$(sed -n 's/^CapabilityBoundingSet=//p' packaging/saker@.service)
if [ "$(uname -m)" != aarch64 ] && command -v qemu-aarch64 > /dev/null; then
	like 'the program for arm64 runs, under qemu' "$(qemu-aarch64 -0 saker "$dir/arm64/rootfs/bin/saker" --version)" 'saker *'
	like 'and is saker-stat under that name' "$(qemu-aarch64 -0 saker-stat "$dir/arm64/rootfs/bin/saker" --version)" 'saker-stat *'
fi

# --- run ----------------------------------------------------------------------------------

has crun 'crun runs it' || finish
network
# crun wants cgroups of one version; of both at once it gets the older one, for itself.
# shellcheck disable=SC2016 # its own
cgroups='if ! grep -q "^0::" /proc/self/cgroup || grep -qv "^0::" /proc/self/cgroup; then
		mount -t tmpfs tmpfs /sys/fs/cgroup
		for one in memory cpu cpuacct cpuset devices freezer blkio pids; do
			mkdir /sys/fs/cgroup/$one && mount -t cgroup -o $one cgroup /sys/fs/cgroup/$one
		done 2> /dev/null
		mkdir /sys/fs/cgroup/systemd && mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd
	fi
	cd "$1" && shift && exec "$@"'
turn=0

# In $saker: crun, which ends with the container and as it did.
contain() { # CAPABILITIES ARGUMENTS...
	turn=$((turn + 1)) id=saker-$$-$turn
	contain_caps=$1
	shift
	rm -rf "$dir/bundle"
	tests/packaging/bundle.py "$image" "$arch" "$dir/bundle" "/run/netns/$server" "$contain_caps" \
		-i server0 --io-cpu=$server_cpu --port=80 "$@" || exit 1
	unshare --mount --propagation private sh -c "$cgroups" sh "$dir/bundle" \
		crun --root "$dir/crun" --cgroup-manager=disabled run "$id" > "$dir/log" 2>&1 &
	saker=$!
	spawned_all="$spawned_all $saker"
	soon 20 ready_or_gone
	is_ready || note < "$dir/log"
}

inside() { # COMMAND...
	crun --root "$dir/crun" exec "$id" "$@"
}

end() {
	gone "$saker" || crun --root "$dir/crun" kill "$id" TERM
	reap
}

starter() { # its number out here
	crun --root "$dir/crun" state "$id" | jq .pid
}

worker_of_it() {
	pgrep -P "$(starter)" -x saker-worker
}

contain "$caps"
like 'it is ready, over XDP' "$(grep '^saker: ready' "$dir/log")" '*port 80, rung xdp-*' || note < "$dir/log"
is 'it answers' "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
is 'saker-stat in it sees the request' "$(inside /bin/saker-stat -i server0 --json | jq .counters.http_ok)" 1
ok 'saker-ctl in it holds somebody off' inside /bin/saker-ctl deny add 192.0.2.0/24
like 'and lists that' "$(inside /bin/saker-ctl list)" '*192.0.2.0/24*'
field() { # NAME: of the worker's status
	sed -n "s/^$1:[[:space:]]*//p" "/proc/$(worker_of_it)/status"
}
is 'the worker is the user saker of the image' "$(field Uid | cut -f1)" 999
is 'and has no capability, nor can get one' "$(field CapPrm) $(field CapBnd)" '0000000000000000 0000000000000000'
least 'its memory is locked, kB' "$(field VmLck | tr -dc 0-9)" 1000
end
is 'it ends with status 0 at SIGTERM' "$status" 0
ok 'no program is left on the interface' no_xdp_program

over_xdp() {
	grep -q '^saker: ready.* rung xdp' "$dir/log"
}

not() { # COMMAND...
	! "$@"
}

# --- without ------------------------------------------------------------------------------

without() { # CAPABILITY ARGUMENTS...
	without_one=$1
	shift
	contain "$(echo "$caps" | tr ' ' '\n' | grep -vx "CAP_$without_one" | tr '\n' ' ')" "$@"
}

for one in BPF PERFMON NET_ADMIN NET_RAW NET_BIND_SERVICE SETUID SETGID; do
	without $one
	ok "without $one it does not serve over XDP" not over_xdp
	end
done
# As engines hand it on that were not told otherwise: less than a UMEM takes.
export MEMLOCK=524288
contain "$caps"
ok 'with IPC_LOCK a low limit of locked memory does not matter' over_xdp
end
without IPC_LOCK
ok 'without IPC_LOCK it does' not over_xdp
end
unset MEMLOCK
without SETPCAP
ok 'without SETPCAP the bounding set of the worker is not empty' [ "$(field CapBnd)" != 0000000000000000 ]
end

# Asked to end, and again, the starter ends a worker that stands still: if it may.
ends_at_once() {
	kill -STOP "$(worker_of_it)" && kill -TERM "$(starter)" && sleep 0.3 && kill -TERM "$(starter)" || return
	soon 8 gone "$saker" # after CHILD_END_MS, 2 s
}

# In this shell, not in a substitution: it is the parent, and takes note of the end.
contain "$caps"
ends_at_once
is 'with KILL it ends a worker that stands still' $? 0
end
without KILL
ends_at_once
is 'without KILL it ends all the same, and its worker with the container' $? 0
ok 'and says what it lacks' grep -q 'may not be killed: CAP_KILL' "$dir/log"
finish
