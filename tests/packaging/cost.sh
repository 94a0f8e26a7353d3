#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: cost.sh BUILD_DIR IMAGE.tar [STARTS]
# What the image costs: starts, from exec to the first answer over the link, and latencies,
# of the program linked as usual, of the image's one outside of a container, and in one
# under crun, in turns. A table. As root; `make image` first.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/../net/lib.sh"
image=$(realpath "$2") starts=${3:-15}
cd "$here/../.." || exit 1
network
caps=$(sed -n 's/^CapabilityBoundingSet=//p' packaging/saker@.service)
tests/packaging/bundle.py "$image" "$(dpkg --print-architecture)" "$dir/bundle" "/run/netns/$server" "$caps" \
	-i server0 --io-cpu=$server_cpu || exit 1
mkdir "$dir/bin" && ln -s "$dir/bundle/rootfs/bin/saker" "$dir/bin/saker"

cat > "$dir/contained" << 'END'
#!/bin/sh
# crun wants cgroups of one version: tests/packaging/image.sh.
exec unshare --mount --propagation private sh -c '
	mount -t tmpfs tmpfs /sys/fs/cgroup
	for one in memory cpu cpuacct cpuset devices freezer blkio pids; do
		mkdir /sys/fs/cgroup/$one && mount -t cgroup -o $one cgroup /sys/fs/cgroup/$one
	done
	mkdir /sys/fs/cgroup/systemd && mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd
	cd "$1/bundle" && exec crun --root "$1/crun" --cgroup-manager=disabled run "saker-$$"' sh "$1"
END
chmod +x "$dir/contained"

command_of() { # KIND
	case $1 in
	shared) echo "$build/saker -i server0 --io-cpu=$server_cpu" ;;
	static) echo "$dir/bin/saker -i server0 --io-cpu=$server_cpu" ;;
	contained) echo "$dir/contained $dir" ;;
	esac
}

median() {
	sort -n | awk '{ v[NR] = $1 } END { printf "%.1f", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

for turn in $(seq "$starts"); do
	for kind in shared static contained; do
		# shellcheck disable=SC2046 # words
		in_s "$build/measure-first" --cpu=$client_cpu --server-cpu=$server_cpu --from="/run/netns/$client" $server4 $port $(command_of $kind) \
			2> "$dir/err" | jq .figures.first_answer_ms >> "$dir/start-$kind"
	done
done
[ -s "$dir/start-contained" ] || { cat "$dir/err" >&2; exit 1; }
for turn in 1 2 3; do
	for kind in shared static contained; do
		# shellcheck disable=SC2046 # words
		spawn_s $(command_of $kind) 2> "$dir/log"
		saker=$spawned
		soon 20 ready_or_gone
		in_c "$build/saker-load" -r 500 -d 4 -c 4 --json "$url/compute?n=0" > "$dir/json" 2> /dev/null
		jq '.outside.p50 // .outside.p50_ns | . / 1000' "$dir/json" >> "$dir/p50-$kind"
		if [ $kind = contained ]; then
			crun --root "$dir/crun" kill "saker-$saker" TERM
		else
			kill -TERM "$saker"
		fi
		reap
	done
done
printf '%-10s %18s %40s\n' kind 'first answer, ms' 'outside the stages, p50 of 3 runs, us'
for kind in shared static contained; do
	printf '%-10s %18s %40s\n' $kind "$(median < "$dir/start-$kind")" "$(tr '\n' ' ' < "$dir/p50-$kind")"
done
