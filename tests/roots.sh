#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: roots.sh [COMMAND...]
# The README's two commands (or COMMAND) in a fresh clone of what is committed here, in a
# Debian that has nothing but its essential packages and apt: no compiler, no Python, no ps,
# no locale, no sbin in PATH, nothing of ours in the environment. As root, on its kernel.
#
# RELEASE="bookworm trixie"  which; both without
# ROOTS=build/roots          where the pristine roots are kept, RELEASE.tar, and the logs
# MIRROR=                    an archive for mmdebstrap; its own choice without
# CI, FULL=1                 handed on: the heavy clients too
# KEEP=1                     leaves the used root as RELEASE.used: roots.sh --inside enters it
#
# A root is entered as a container is: mounts and process numbers of its own, a BPF file
# system and the cgroups mounted, and `/` of its mount namespace is the root, so that
# nsenter -m leads there. Nothing of it is mounted outside. The network is the machine's:
# apt needs one, and the tests make their own.

# --- inside: process 1 of the new namespaces ------------------------------------------

if [ "$1" = --inside ]; then
	root=$2
	shift 2
	mount --make-rprivate / && mount --bind "$root" "$root" && cd "$root" &&
		mount -t proc proc proc &&
		mount -t sysfs sysfs sys &&
		mount -t bpf bpf sys/fs/bpf &&
		mount --rbind /sys/fs/cgroup sys/fs/cgroup &&
		mount -t devpts -o newinstance,ptmxmode=666,mode=620,gid=5 devpts dev/pts &&
		mount -t tmpfs tmpfs dev/shm &&
		mount --move . / || exit 1
	# A child, not exec: process 1 is for those whose parents have ended.
	chroot . /usr/bin/env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/root TERM="${TERM:-dumb}" \
		${CI:+CI="$CI"} ${FULL:+FULL="$FULL"} /bin/sh -c 'cd /root/saker && "$@"' sh "$@"
	exit
fi

# --- outside ----------------------------------------------------------------------------

cd "${0%/*}/.." || exit 1
. tests/tally.sh
mkdir -p "${ROOTS:=build/roots}" && ROOTS=$(cd "$ROOTS" && pwd) && run=$(mktemp -d "$ROOTS/run.XXXXXX") || exit 1
trap 'rm -rf --one-file-system "$run"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
root=$run/root
tally_open "$run/tap"

cannot() { # REASON
	tally_skip roots "$1"
	tally_close
	exit
}

# Under another name until it is whole.
pristine() { # RELEASE
	[ ! -s "$ROOTS/$1.tar" ] || return 0
	# shellcheck disable=SC2086 # one word or none
	mmdebstrap --quiet --variant=minbase --mode=root --format=tar "$1" "$run/tar" $MIRROR &&
		mv "$run/tar" "$ROOTS/$1.tar"
}

unpacked() { # RELEASE
	mkdir "$root" &&
		tar -C "$root" --numeric-owner -xf "$ROOTS/$1.tar" &&
		cp -L /etc/resolv.conf /etc/hosts "$root/etc/" &&
		git clone -q . "$root/root/saker"
}

done_with() { # RELEASE
	if [ -n "$KEEP" ]; then
		rm -rf --one-file-system "$ROOTS/$1.used" && mv "$root" "$ROOTS/$1.used" && echo "  kept: $ROOTS/$1.used"
	else
		rm -rf --one-file-system "$root"
	fi
}

# Its output as it comes. The result is the command's last line, where that counts tests,
# else its status.
step() { # RELEASE COMMAND...
	release=$1 log=$ROOTS/$1-${2##*/}.log
	shift
	tally_title "$release: $*"
	start=$(date +%s)
	{
		unshare --mount --pid --fork --kill-child sh tests/roots.sh --inside "$root" "$@" 2>&1
		echo $? > "$run/status"
	} | tee "$log"
	status=$(cat "$run/status")
	tap=$(awk -v status="$status" '
		$2 == "passed," && $4 == "failed," && $6 == "skipped" { p = $1; f = $3; s = $5 }
		END { if (p f s == "") p = !status; print p + 0, f + (status && !(f + 0)), s + 0 }' "$log")
	# shellcheck disable=SC2034 # of tally_show: all has been shown
	tally_tap=/dev/null
	tally_show "$release-${1##*/}" $(($(date +%s) - start)) "$tap status $status, $log"
}

[ "$(id -u)" = 0 ] || cannot 'needs root: mounts, XDP'
for tool in mmdebstrap git unshare; do
	command -v $tool > /dev/null || cannot "no $tool: FULL=1 tools/deps install"
done

for one in ${RELEASE:-bookworm trixie}; do
	tally_title "$one: a root of essential packages"
	tally_need "$one" pristine "$one" || continue
	tally_need "$one" unpacked "$one" || continue
	if [ $# = 0 ]; then
		step "$one" tools/demo
		step "$one" tools/check
	else
		step "$one" "$@"
	fi
	done_with "$one"
done
tally_close
