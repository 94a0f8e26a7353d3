#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: root.sh DIR
# Makes the board's disk from Debian's packages for arm64, of this host's own release:
# DIR/vmlinuz, DIR/first.cpio (finds the disk), DIR/root.ext4. Nothing foreign is run.
# Leaves them as they are while DIR/key says that they are of the same packages.

here=$(cd "${0%/*}" && pwd) || exit 1
. "$here/../../tools/foreign.sh"
dir=$1
mkdir -p "$dir" || exit 1

# By the names of meta packages: those of single versions vanish from the mirrors.
kernels='linux-image-arm64-16k linux-image-6.12-arm64-16k'
# What the tests of tests/net call, and a shell that knows no applets of its own.
packages='busybox-static dash coreutils util-linux mount procps kmod libc-bin mawk sed grep findutils
	diffutils debianutils iproute2 ethtool curl jq python3 bpftool nginx-light wrk apache2-utils iputils-ping
	iputils-arping netcat-openbsd openssl hping3 libbpf1 libelf1 zlib1g ncurses-base libncursesw6 perl-base'
modules='virtio_pci virtio_blk ext4 virtio_console 9p 9pnet_virtio virtio_net veth tun sch_ingress cls_bpf act_bpf
	sch_netem sch_fq sch_fq_codel tcp_diag inet_diag xsk_diag af_packet nf_tables nft_ct nf_conntrack virtio_rng'
# Those that stand between the kernel and its disk and the shared tree.
modules_first='virtio_pci virtio_blk ext4 9p 9pnet_virtio'

foreign_open arm64 "$dir/apt"

kernel=
for one in $kernels; do
	[ -n "$kernel" ] || [ -z "$(foreign_versions "$one")" ] || kernel=$one
done
[ -n "$kernel" ] || foreign_dies "no kernel with 16 KiB pages in this host's sources: $kernels"

key() {
	# shellcheck disable=SC2086 # words
	foreign_versions "$kernel" $packages
	cat "$here/root.sh" "$here/first"
}
new=$(key | sha256sum)
[ "$new" != "$(cat "$dir/key" 2> /dev/null)" ] || exit 0

work=$dir/work
rm -rf "$work" "$dir/key"
mkdir -p "$work/kernel" "$work/first" || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM

# --- programs -----------------------------------------------------------------

rm -f "$foreign_state"/archives/*.deb
# shellcheck disable=SC2086 # words
foreign_fetch $packages
root=$work/root
foreign_unpack "$root" --exclude='./usr/share/doc*' --exclude='./usr/share/man*' --exclude='./usr/share/locale*' \
	--exclude='./usr/share/info*' --exclude='./usr/lib/*/gconv*' --exclude='./usr/share/bash-completion*'
# What a package's script would have done.
ln -sfn dash "$root/usr/bin/sh"
ln -sfn mawk "$root/usr/bin/awk"
ln -sfn nc.openbsd "$root/usr/bin/nc"
mkdir -p "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/run" "$root/root" "$root/saker" "$root/var/log" \
	"$root/var/lib/nginx" "$root/var/log/nginx" || exit 1
cat > "$root/etc/passwd" << 'END'
root:x:0:0:root:/root:/bin/sh
www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin
nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin
END
cat > "$root/etc/group" << 'END'
root:x:0:
www-data:x:33:
nogroup:x:65534:
END
echo 'hosts: files' > "$root/etc/nsswitch.conf"
echo '127.0.0.1 localhost' > "$root/etc/hosts"

# --- the kernel ---------------------------------------------------------------

rm -f "$foreign_state"/archives/*.deb
image=$(apt-cache -c "$foreign_state/apt.conf" depends --no-recommends --no-suggests "$kernel" |
	awk '/Depends: linux-image-[0-9]/ { print $2; exit }')
image=${image:-$kernel}
version=${image#linux-image-}
foreign_fetch_only "$image"
# Newer kernels come in pieces.
for one in linux-binary linux-modules; do
	[ -z "$(foreign_versions "$one-$version")" ] || foreign_fetch_only "$one-$version"
done
foreign_unpack "$work/kernel" --exclude='*/dtbs/*' --exclude='./usr/lib/linux-image-*' --exclude='*/drivers/gpu/*' \
	--exclude='*/drivers/media/*' --exclude='*/sound/*' --exclude='*/drivers/scsi/*' --exclude='*/drivers/iio/*'
depmod -b "$work/kernel" "$version" || exit 1
for one in "$work/kernel/boot/vmlinuz-$version" "$work/kernel/usr/lib/modules/$version/vmlinuz"; do
	[ ! -e "$one" ] || cp "$one" "$dir/vmlinuz"
done
for one in "$work/kernel/boot/config-$version" "$work/kernel/usr/lib/modules/$version/config"; do
	[ ! -e "$one" ] || install -D -m 644 "$one" "$root/boot/config-$version"
done

# The modules with those that they need, unpacked, in the order to load them.
needed() { # MODULES...
	for one; do
		modprobe -d "$work/kernel" -S "$version" --show-depends "$one" 2> /dev/null ||
			foreign_dies "kernel $version has no module $one"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

take() { # DIR MODULES...
	take_to=$1/usr/lib/modules/$version
	shift
	mkdir -p "$take_to" && cp "$work/kernel/usr/lib/modules/$version"/modules.builtin* \
		"$work/kernel/usr/lib/modules/$version/modules.order" "$take_to" || exit 1
	needed "$@" | while read -r one; do
		install -D -m 644 "$one" "$take_to/${one#*/lib/modules/"$version"/}"
	done
	find "$take_to" -name '*.ko.xz' -exec xz -d '{}' +
}

# shellcheck disable=SC2086 # words
take "$root" $modules
depmod -b "$root" "$version" || exit 1

# shellcheck disable=SC2086 # words
needed $modules_first | while read -r one; do
	one=${one##*/}
	cp "$(find "$root/usr/lib/modules/$version" -name "${one%.xz}")" "$work/first/" || exit 1
	echo "${one%.xz}"
done > "$work/first/order"
mkdir -p "$work/first/proc" "$work/first/dev" "$work/first/root"
cp "$root/usr/bin/busybox" "$work/first/busybox"
cp "$here/first" "$work/first/init"

# --- packed ---------------------------------------------------------------------

(cd "$work/first" && find . | cpio -o -H newc -R 0:0 --quiet) > "$dir/first.cpio" || exit 1
rm -f "$dir/root.ext4"
mke2fs -q -t ext4 -E root_owner=0:0 -O ^has_journal -d "$root" "$dir/root.ext4" 1G > /dev/null || exit 1
rm -f "$foreign_state"/archives/*.deb
echo "$new" > "$dir/key"
