#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: load_options.sh BUILD_DIR
# What saker-load takes and refuses, and that its help and its manual know every option. TAP.

load=$1/saker-load
man=${0%/*}/../docs/saker-load.1
source=${0%/*}/../tools/saker-load.c
# shellcheck source=tests/script.sh
. "${0%/*}/script.sh"

run() {
	"$load" "$@" > "$dir/out" 2> "$dir/err"
	status=$?
}

# Port 1 of loopback: nobody listens. What gets that far was taken.
nobody="http://127.0.0.1:1/compute?n=0"

takes() { # OPTIONS...
	run --floor=0 -q "$@" "$nobody"
	[ $status = 1 ] && [ ! -s "$dir/out" ] && [ "$(wc -l < "$dir/err")" = 1 ] &&
		grep -q 'Connection refused' "$dir/err"
	result $? "$* is taken"
}

refuses() { # TEXT ARGUMENTS...
	text=$1
	shift
	run "$@"
	[ $status = 2 ] && [ ! -s "$dir/out" ] && [ "$(grep -c '^saker-load: ' "$dir/err")" = 1 ] &&
		grep -qF -- "$text" "$dir/err"
	result $? "$* is refused"
}

# --- every option, here and there ----------------------------------------------------------
run --help
result $status '--help'
mv "$dir/out" "$dir/help"
known=$(sed -n '/^static const struct argp_option/,/^};/s/.*{ "\([a-z-]*\)", .*/\1/p' "$source")
[ "$(echo "$known" | wc -w)" -ge 25 ]
result $? 'the options are found in the source'
for option in $known; do
	grep -qE -- "--$option([=[]|\$| )" "$dir/help"
	result $? "--help lists --$option"
	grep -qE -- "^\.It .*Fl -$option( |\$)" "$man"
	result $? "saker-load(1) has --$option"
done
# And nothing that is not there.
for option in $(sed -n 's/^\.It .*Fl -\([a-z-]*\).*/\1/p' "$man"); do
	case " $(echo "$known" | tr '\n' ' ') help usage version " in *" $option "*) false ;; *) true ;; esac
	[ $? = 1 ]
	result $? "--$option of the manual is one"
done

# --- values --------------------------------------------------------------------------------
takes -r 1 -c 1 -d 0.001 --warm=0 --timeout=0.5 --seed=18446744073709551615
takes --poisson --mix=1:/compute --mix=0.5:/compute?n=1 -H 'X-A: b'
takes --burst=100@50 --new --post=n=1 --type=text/plain
takes --closed --no-verify --spin --quickack --cpu=0 --need=p99.9
takes --find-max='p99<50ms' --max-rate=1000 --json="$dir/json" --hgrm="$dir/hgrm" --series="$dir/csv" --name=x
for bad in '' 0 -1 1x nan 10000001; do
	refuses "--rate=$bad: wanted a number, 0.001 ... 10000000" --rate="$bad" "$nobody"
done
for bad in '' 0 -1 1.5 60001 99999999999999999999; do
	refuses "--connections=$bad: wanted a whole number, 1 ... 60000" --connections="$bad" "$nobody"
done
refuses '--seconds=0' --seconds=0 "$nobody"
refuses '--warm=-1' --warm=-1 "$nobody"
refuses '--timeout=0' --timeout=0 "$nobody"
refuses '--seed=-1' --seed=-1 "$nobody"
refuses '--cpu=x' --cpu=x "$nobody"
for bad in '' 100 100@ 0@5 @5 100@0 x@5 100@5x; do
	refuses "--burst=$bad" --burst="$bad" "$nobody"
done
for bad in /compute 0:/x -1:/x 1:x '1:/a b'; do
	refuses '' --mix="$bad" "$nobody"
done
for bad in 'p99' '99<1ms' 'p99<1' 'p100<1s' 'mean<1s'; do
	refuses "--find-max=$bad: wanted pN<TIME" --find-max="$bad" "$nobody"
done
refuses '--need=x' --need=x "$nobody"
refuses "-H 'x': wanted NAME: VALUE" -H x "$nobody"
refuses 'one of --poisson' --poisson --closed "$nobody"
refuses '--rate goes with neither' --rate=5 --closed "$nobody"
refuses '--find-max searches a rate' --closed --find-max='p99<1ms' "$nobody"

# --- URLs ----------------------------------------------------------------------------------
refuses 'which URL?'
refuses 'one URL is enough' "$nobody" "$nobody"
for bad in 127.0.0.1 https://127.0.0.1/ http:// http:///x http://localhost/ http://127.0.0.1:0/ \
	http://127.0.0.1:65536/ http://127.0.0.1:x/ http://::1/ http://[::1/ http://[127.0.0.1]x/ \
	http://127.0.0.1?n=1; do
	refuses "$bad" "$bad"
done
refuses 'without spaces' 'http://127.0.0.1/a b'
run -q --floor=0 "http://[::1]:1/compute?n=0"
[ $status = 1 ] && [ "$(wc -l < "$dir/err")" = 1 ]
result $? 'an IPv6 address is taken'
run -q --post="@$dir/nothing" "$nobody"
[ $status = 1 ] && grep -q 'No such file' "$dir/err"
result $? 'a body that is not there'
run -q --cpu=1023 "$nobody"
[ $status = 1 ] && grep -q -- '--cpu=1023' "$dir/err"
result $? 'a CPU that is not there'

echo "1..$count"
[ $failures = 0 ]
