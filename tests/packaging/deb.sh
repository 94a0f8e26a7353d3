#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: deb.sh FOLDER ARCH
# The packages that `make deb` left in FOLDER: what lintian and hardening-check say, what is
# in them. Nothing is installed. TAP.

folder=$(cd "$1" && pwd) || exit 1
arch=$2
cd "${0%/*}/../.." || exit 1
# shellcheck source=tests/script.sh
. tests/script.sh
saker=$(ls "$folder"/saker_*_"$arch".deb) && lab=$(ls "$folder"/saker-lab_*_"$arch".deb) || exit 1

skip() { # REASON NAME
	count=$((count + 1))
	echo "ok $count - $2 # SKIP $1"
}

if command -v lintian > /dev/null; then
	lintian --no-cfg --allow-root --fail-on error,warning --display-info --pedantic "$folder"/*.changes > "$dir/out" 2> "$dir/err" &&
		! grep -q '^[EWIP]:' "$dir/out"
	result $? 'lintian has nothing to say, not even for information or pedantically'
	for override in packaging/debian/*.lintian-overrides; do
		awk '/^#/ { reason = 1; next } { if (!reason) exit 1; reason = 0 }' "$override"
		result $? "each of ${override##*/} has its reason above it"
	done
else
	skip 'no lintian: tools/deps install package' lintian
fi

for deb in "$saker" "$lab"; do
	dpkg-deb -x "$deb" "$dir/root"
	[ "$(dpkg-deb -f "$deb" Architecture)" = "$arch" ]
	result $? "${deb##*/} is for $arch"
done
case $arch in
amd64) machine='X86-64' ;;
arm64) machine='AArch64' ;;
esac
for program in "$dir"/root/usr/bin/*; do
	head -c 4 "$program" | grep -q ELF || continue
	readelf -h "$program" | grep -q "Machine:.*$machine" && ! readelf -S "$program" | grep -q '\.debug_info'
	result $? "${program##*/} is a stripped $arch program"
	if command -v hardening-check > /dev/null; then
		hardening-check --nocfprotection "$program" > "$dir/out" 2> "$dir/err"
		result $? "hardening-check: ${program##*/}"
	fi
	page=$(ls "$dir"/root/usr/share/man/man[18]/"${program##*/}".[18].gz 2> "$dir/err")
	[ -e "$page" ] && man --warnings -l "$page" > "$dir/out" 2> "$dir/err" && [ ! -s "$dir/err" ]
	result $? "${program##*/} has a man page"
done

dpkg-deb -I "$saker" conffiles | sort > "$dir/out"
printf '/etc/default/saker\n/etc/saker.conf\n' | cmp -s - "$dir/out"
result $? 'its two files in /etc are conffiles'
cmp -s packaging/saker.conf "$dir/root/etc/saker.conf"
result $? '/etc/saker.conf is the tree'"'"'s'
cat "$dir"/root/lib/systemd/system/saker@.service "$dir"/root/usr/lib/systemd/system/saker@.service > "$dir/unit" 2> /dev/null
grep -q '^ExecStart=/usr/bin/saker ' "$dir/unit" && ! grep -q @PREFIX@ "$dir/unit"
result $? 'the unit starts /usr/bin/saker'
[ "$(ls "$dir/root/usr/share/saker/experiments" | wc -l)" = "$(ls experiments/*.lab | wc -l)" ] &&
	[ -x "$dir/root/usr/bin/saker-lab" ] && [ -e "$dir/root/usr/lib/saker/lab/run.py" ]
result $? 'the laboratory and all of its experiments'
! find "$dir/root" \( -perm /6000 -o -path '*/opt/*' -o -path '*/usr/local/*' -o -name '*.pyc' \) | grep . > "$dir/out"
result $? 'nothing setuid, in /opt or in /usr/local, no compiled Python'
for script in postinst prerm postrm; do
	dpkg-deb -I "$saker" $script > "$dir/script" && sh -n "$dir/script" 2> "$dir/err"
	result $? "$script is a script"
done

echo "1..$count"
[ $failures = 0 ]
