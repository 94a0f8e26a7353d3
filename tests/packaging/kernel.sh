#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: kernel.sh
# Each option of the kernel fragment exists in Linux 6.12 for arm64, and holds together with
# 16 KiB pages: Debian's own 16 KiB kernel has it.
# The list is Debian's package linux-config-6.12, downloaded. TAP.

cd "${0%/*}/../.." || exit 1
# shellcheck source=tests/script.sh
. tests/script.sh
fragment=packaging/kernel/rpi5-xdp.config

mkdir "$dir/unpacked"
# In a shell of its own: foreign.sh ends it when there is nothing to be had.
(
	. tools/foreign.sh
	foreign_open arm64 "$dir/apt"
	foreign_fetch_only linux-config-6.12
	dpkg-deb -x "$foreign_state"/archives/linux-config-6.12_*.deb "$dir/unpacked"
) > "$dir/out" 2> "$dir/err"
list=$(ls "$dir"/unpacked/usr/src/linux-config-6.12/config.arm64_none_arm64-16k.xz 2> /dev/null)
[ -n "$list" ]
result $? 'the configuration of Debian'"'"'s 16 KiB kernel can be had'
xz -dc "$list" > "$dir/list" 2> "$dir/err"
grep -qx CONFIG_ARM64_16K_PAGES=y "$dir/list" && ! grep -q 'CONFIG_XDP_SOCKETZ[= ]' "$dir/list"
result $? 'it is one of 16 KiB pages, and an option that does not exist is not in it'
for option in $(sed -n 's/=y$//p' $fragment); do
	grep -qE "^$option=[ym]$" "$dir/list"
	result $? "$option"
done

echo "1..$count"
[ $failures = 0 ]
