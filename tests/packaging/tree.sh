#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: tree.sh BUILD_DIR
# What packaging/ says, held against the programs: /etc/saker.conf, the unit, the kernel's
# fragment, how the programs are hardened. No root, nothing installed. TAP.

cd "${0%/*}/../.." || exit 1
build=$1
# shellcheck source=tests/script.sh
. tests/script.sh
conf=packaging/saker.conf
unit=packaging/saker@.service

settings() { # ARGUMENTS...: what is in effect, on stdout
	"$build/saker" --check -i lo --io=socket "$@" 2> "$dir/err"
}

# --- /etc/saker.conf -------------------------------------------------------------------

packaging/make-conf "$build/saker" > "$dir/out" 2> "$dir/err"
diff "$conf" "$dir/out" > "$dir/err"
result $? "$conf is what make-conf makes of saker --help; if not: packaging/make-conf build/saker > $conf"

settings > "$dir/none"
settings --config=$conf > "$dir/out" && cmp -s "$dir/none" "$dir/out"
result $? 'as it is delivered it changes nothing'

# Names that --help has and the file has not, or the other way round.
ARGP_HELP_FMT=rmargin=1000 "$build/saker" --help | sed -nE 's/^ +(-., +)?--([a-z-]+).*/\2/p' |
	grep -vxE 'config|check|calibrate|help|usage|version' | sort > "$dir/options"
sed -nE 's/^#([a-z-]+) = .*/\1/p' $conf | sort > "$dir/names"
diff "$dir/options" "$dir/names" > "$dir/err"
result $? 'each option is in it, once'

# A default that is not the default shows.
sed -nE 's/^#([a-z-]+ = [^A-Z]*)$/\1/p' $conf > "$dir/lines"
[ "$(wc -l < "$dir/lines")" -ge 20 ]
result $? 'at least 20 of them have a default that is a value'
while read -r line; do
	echo "$line" > "$dir/conf"
	case $line in
	io\ *) "$build/saker" --calibrate --config="$dir/conf" > "$dir/out" 2> "$dir/err" ;;
	path\ *)
		# It wants a rung that sees frames, and so another interface than loopback.
		! settings --config="$dir/conf" > "$dir/out" && grep -q 'are for --steer=path' "$dir/err"
		;;
	*) settings --config="$dir/conf" > "$dir/out" && cmp -s "$dir/none" "$dir/out" ;;
	esac
	result $? "the default of ${line%% *} is ${line#*= }"
done < "$dir/lines"

echo 'port = 8081' > "$dir/conf"
! settings --config="$dir/conf" | cmp -s "$dir/none" -
result $? 'another default than the right one would be noticed'

# --- the unit ----------------------------------------------------------------------------

if command -v systemd-analyze > /dev/null; then
	sed "s|@PREFIX@/bin/saker|$(realpath "$build/saker")|" $unit > "$dir/saker@.service"
	SYSTEMD_LOG_LEVEL=warning systemd-analyze --man=no verify "$dir/saker@.service" > "$dir/out" 2> "$dir/err" &&
		[ ! -s "$dir/err" ]
	result $? 'systemd-analyze verify finds nothing in the unit'
	systemd-analyze --offline=true --threshold=40 security "$dir/saker@.service" > "$dir/out" 2> "$dir/err"
	result $? "its exposure is 4.0 or less: $(tail -n 1 "$dir/out" | tr -d '→')"
else
	echo "ok $((count = count + 1)) - the unit # SKIP no systemd-analyze"
fi
awk '/^# [A-Z_, ]+  +[A-Za-z]/ { sub(/^# /, ""); sub(/  .*/, ""); gsub(/,/, ""); print }
	/^# NET_BIND_SERVICE / { print "NET_BIND_SERVICE" }' $unit | tr ' ' '\n' | sort -u > "$dir/explained"
sed -n 's/^CapabilityBoundingSet=//p' $unit | tr ' ' '\n' | sed 's/^CAP_//' | sort > "$dir/granted"
: > "$dir/out"
diff "$dir/explained" "$dir/granted" > "$dir/err"
result $? 'each capability of the unit is explained in it, and no other'

# --- the kernel's fragment ---------------------------------------------------------------

grep -v '^#' packaging/kernel/rpi5-xdp.config | grep . > "$dir/out"
! grep -vE '^CONFIG_[A-Z0-9_]+=y$' "$dir/out" > "$dir/err" && [ -s "$dir/out" ]
result $? 'the kernel fragment has lines CONFIG_NAME=y only'
[ -z "$(sort "$dir/out" | uniq -d)" ] && grep -qx CONFIG_XDP_SOCKETS=y "$dir/out"
result $? 'none twice, and AF_XDP among them'

# --- the programs --------------------------------------------------------------------------

if command -v hardening-check > /dev/null; then
	for program in "$build"/saker "$build"/saker-[!m]* "$build"/measure-*; do
		[ "${program%.*}" = "$program" ] && [ -x "$program" ] || continue
		# The mark for indirect branches is a program's only if all that is linked has it, and the
		# C library's start has it not on each Debian: below we ask our own objects.
		hardening-check --nocfprotection "$program" > "$dir/out" 2> "$dir/err"
		result $? "hardening-check: ${program##*/}"
	done
else
	echo "ok $((count = count + 1)) - hardening-check # SKIP no hardening-check: devscripts"
fi
case $(uname -m) in
x86_64) mark='IBT, SHSTK' ;;
aarch64) mark='BTI, PAC' ;;
esac
for object in "$build"/*.o; do
	case $object in
	*.bpf.o | *.many.o) continue ;;
	esac
	readelf -n "$object" 2> /dev/null | grep -q "feature: $mark" || echo "${object##*/}"
done > "$dir/out"
[ ! -s "$dir/out" ]
result $? "each object has the mark for indirect branches: $mark"

echo "1..$count"
[ $failures = 0 ]
