#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: root.sh BUILD_DIR RELEASE
# The packages of build/deb-ARCH in a clean Debian of that release, in which no systemd
# runs: installed, the service started by the unit's own words on a veth, asked, stopped,
# removed and purged. As root. TAP.
#
# ROOTS=build/roots: where RELEASE.tar is kept; it is made once, by mmdebstrap.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/../net/lib.sh"
cd "$here/../.." || exit 1
release=$2
arch=$(dpkg --print-architecture)
deb=build/deb-$arch
mkdir -p "${ROOTS:=build/roots}"

bail() { # TEXT
	echo "Bail out! $1"
	exit 1
}

if [ ! -s "$ROOTS/$release.tar" ]; then
	command -v mmdebstrap > /dev/null || bail 'no mmdebstrap: tools/deps install package'
	mmdebstrap --quiet --variant=minbase --mode=root --format=tar "$release" "$ROOTS/$release.part" > "$dir/log" 2>&1 &&
		mv "$ROOTS/$release.part" "$ROOTS/$release.tar" || bail "no root of $release: $(tail -n 1 "$dir/log")"
fi
root=$dir/root
mkdir -m 755 "$root" && tar -C "$root" --numeric-owner -xf "$ROOTS/$release.tar" || bail "$ROOTS/$release.tar cannot be unpacked"
cp -L /etc/resolv.conf "$root/etc/"
mkdir "$root/deb" && cp "$deb"/saker_*_"$arch".deb "$deb"/saker-lab_*_"$arch".deb "$root/deb" || bail "no packages in $deb: make deb"

# A mount namespace for each command; nothing is mounted outside, nothing stays.
# shellcheck disable=SC2016 # its own
inside='root=$1; shift
	mount --bind "$root" "$root" && mount -t proc proc "$root/proc" && mount --rbind /sys "$root/sys" || exit 125
	exec chroot "$root" /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
		DEBIAN_FRONTEND=noninteractive LC_ALL=C "$@"'

in_root() { # COMMAND...: with the machine's network
	unshare --mount --propagation private sh -c "$inside" sh "$root" "$@"
}

in_server() { # COMMAND...: the server's network and BPF file system
	in_s unshare --mount --propagation private sh -c "$inside" sh "$root" "$@"
}

# --- installing ---------------------------------------------------------------------------

in_root apt-get -q -y update > "$dir/apt" 2>&1 || bail "apt-get update in $release: $(tail -n 1 "$dir/apt")"
ok "both packages can be installed" \
	in_root sh -c 'apt-get -q -y install --no-install-recommends /deb/saker_*.deb /deb/saker-lab_*.deb'
is "the worker's user is there" "$(in_root getent passwd saker | cut -d: -f1,7)" saker:/usr/sbin/nologin
is 'nothing of it runs' "$(in_root pgrep -x saker)" ''
is 'nothing of it is enabled' "$(find "$root/etc/systemd" -name '*saker*')" ''
unit=$(find "$root/usr/lib/systemd/system" "$root/lib/systemd/system" -name saker@.service 2> /dev/null | head -n 1)
ok 'the unit is there' [ -n "$unit" ]
ok "this Debian's systemd takes the unit" in_root systemd-analyze --man=no verify saker@server0.service
is 'and has nothing to say about it' "$(in_root systemd-analyze --man=no verify saker@server0.service 2>&1 | grep saker@)" ''
ok 'its exposure is 4.0 or less' in_root systemd-analyze --offline=true --threshold=40 security "${unit#"$root"}"
ok 'man page' in_root test -s /usr/share/man/man8/saker.8.gz
ok 'the laboratory knows its experiments' in_root saker-lab list

# --- serving --------------------------------------------------------------------------------

network
# As systemd does: the variables of the two files, $SAKER_ARGS as words, %I, the unit's
# capabilities and no others.
command=$(sed -n 's/^ExecStart=//p' "$unit" | sed 's/%I/server0/g')
bounds=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | tr 'A-Z' 'a-z' | sed 's/cap_/+/g; s/ /,/g')
files=$(sed -n 's/^EnvironmentFile=-*//p' "$unit" | sed 's/%I/server0/g' | tr '\n' ' ')
is 'the first file with variables is one of the package' "${files%% *}" /etc/default/saker
echo 'SAKER_ARGS="--config=/etc/saker-server0.conf"' > "$root/etc/default/saker-server0"
sed 's/^#port = .*/port = 80/; s/^#cache = .*/cache = 100/' "$root/etc/saker.conf" > "$root/etc/saker-server0.conf"
# shellcheck disable=SC2016 # its own
spawn_s unshare --mount --propagation private sh -c "$inside" sh "$root" setpriv --bounding-set "-all,$bounds" --no-new-privs sh -c '
	for file in '"$files"'; do [ ! -e "$file" ] || . "$file"; done
	exec '"$command" 2> "$dir/log"
saker=$spawned
soon 20 ready_or_gone
like 'it is ready, over XDP, on the port of the configuration file' "$(grep '^saker: ready' "$dir/log")" '*port 80, rung xdp-*' ||
	note < "$dir/log"
url=http://$server4:80
is 'it answers' "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
is 'and keeps results, as the configuration file says' \
	"$(ask -o /dev/null -D - "$url/compute?n=1000" | tr -d '\r' | sed -n 's/^X-Saker-Cache: //p')" hit
is 'saker-stat of the package sees the requests' "$(in_server saker-stat -i server0 --json | jq .counters.http_ok)" 2
is "the worker is the package's user" \
	"$(ps -o uid= -p "$(pgrep -P "$saker" -x saker-worker)" | tr -d ' ')" "$(in_root id -u saker)"
like 'saker-load of the package asks it' "$(in_c chroot "$root" saker-load -r 20 -d 1 "$url/compute?n=10")" '*20 requests: 20 ok*'
kill -TERM "$saker"
reap
is 'it ends with status 0 at SIGTERM' $status 0
ok 'no program is left on the interface' no_xdp_program
is 'no map is left' "$(in_s find /sys/fs/bpf -mindepth 1 ! -name '*.debug')" ''

# --- removing -------------------------------------------------------------------------------

echo '# mine' >> "$root/etc/saker.conf"
ok 'the same version again: an upgrade' in_root sh -c 'apt-get -q -y install --reinstall --no-install-recommends /deb/saker_*.deb'
is 'leaves what was changed in /etc' "$(tail -n 1 "$root/etc/saker.conf")" '# mine'
ok 'it can be removed' in_root apt-get -q -y remove saker saker-lab
ok 'and leaves the settings' [ -e "$root/etc/saker.conf" ]
ok 'no program' [ ! -e "$root/usr/bin/saker" ]
mkdir -p "$root/var/log/saker" "$root/var/lib/saker"
ok 'it can be purged' in_root apt-get -q -y purge saker saker-lab
# The user stays (saker.postrm), and so does a file that we made and the package does not know.
is 'nothing of it is left' "$(cd "$root" && find . -xdev -name '*saker*' ! -path './deb/*' ! -path './var/log/apt/*' |
	sort | tr '\n' ' ')" './etc/saker-server0.conf '
finish
