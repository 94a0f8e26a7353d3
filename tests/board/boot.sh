#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: boot.sh DIR LOG COMMAND...
# Boots the disk of DIR (root.sh) and runs COMMAND (words without blanks and commas) in
# the shared tree there. Its output is ours, its status is ours; a board that panics,
# hangs or says nothing is status 99. The console is kept in LOG.
#
# SMP=2  MEM=1024 (MiB)  LIMIT=600 (seconds)  BOARD_ENV=NAME=VALUE...  QEMU_MORE=arguments

dir=$1 log=$2
shift 2
tree=$(cd "${0%/*}/../.." && pwd) || exit 1
out=$(mktemp -u) && mkfifo "$out" || exit 1
trap 'rm -f "$out"' EXIT
command=$(echo "$*" | tr ' ' ',')
for one in $BOARD_ENV; do
	more="$more saker.env=$one"
done

cat "$out" &
# shellcheck disable=SC2086 # words
timeout -k 5 "${LIMIT:-600}" qemu-system-aarch64 -M virt -cpu cortex-a76 -accel tcg,thread=multi \
	-smp "${SMP:-2}" -m "${MEM:-1024}" -nodefaults -display none -monitor none -no-reboot \
	-serial "file:$log" -kernel "$dir/vmlinuz" -initrd "$dir/first.cpio" \
	-append "console=ttyAMA0 loglevel=4 panic=-1 saker.run=$command$more" \
	-drive "if=none,id=disk,format=raw,snapshot=on,file=$dir/root.ext4" -device virtio-blk-pci,drive=disk \
	-device virtio-serial-pci -chardev "file,id=out,path=$out" -device virtserialport,chardev=out,name=out \
	-fsdev "local,id=tree,path=$tree,security_model=none,readonly=on" \
	-device virtio-9p-pci,fsdev=tree,mount_tag=saker \
	-device virtio-rng-pci $QEMU_MORE < /dev/null >> "$log.qemu" 2>&1
wait
# What it would take on a machine with nothing else to do.
times > "$log.times"
echo "# time of CPUs, user and system: $(sed -n 2p "$log.times")"
status=$(sed -n 's/^board: status \([0-9]*\).*/\1/p' "$log" | tail -n 1)
exit "${status:-99}"
