#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: experiments.sh BUILD_DIR [NAMES...]
# Every experiment that comes with the lab, with --quick, on a veth that saker-lab makes:
# none of its runs fails, and every figure of its tables has a value in one of them. What a
# figure is worth is not asked: runs with a late client count here. Some minutes: FULL=1 only.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
shift
root=$here/../..

if [ -z "$FULL" ] && [ $# = 0 ]; then
	skip 'some minutes: FULL=1' 'every experiment runs'
	finish
fi
if [ $# = 0 ]; then
	for one in "$root"/experiments/*.lab; do
		one=${one##*/}
		set -- "$@" "${one%.lab}"
	done
fi

# With --quick the sample is too small for a p99.9, and where the machine is not quiet no rate
# holds.
may_lack='p999 chain_p99 highest_rate held_p50 held_p99 held_p999 aim_p999'
# Names of figures that no run has.
lacking() { # SESSION
	python3 -B - "$1" <<- 'END'
	import sys
	sys.path.insert(0, "tools/lab")
	import store
	session = store.Session(sys.argv[1])
	for one in session.experiment.figures:
	    if all(run.figure(one) is None for run in session.runs):
	        print(one.name)
	END
}

cd "$root" || exit 1
for name; do
	"$root/tools/saker-lab" run "$name" --quick --accept-dirty --no-report --build="$build" \
		--out="$dir/$name" > "$dir/out" 2> "$dir/err"
	is "$name: it runs" $? 0
	note < "$dir/err"
	is "$name: no run fails" "$(jq -r 'select(.state == "failed") | .why[]' "$dir/$name"/runs/*/run.json)" ''
	ran=$(jq -r 'select(.state == "done" or .state == "dirty") | .run' "$dir/$name"/runs/*/run.json | wc -l)
	if [ "$ran" = 0 ]; then
		skip 'this host can do none of it' "$name: figures"
		continue
	fi
	wanting=
	for one in $(lacking "$dir/$name"); do
		case " $may_lack " in
		*" $one "*) ;;
		*) wanting="$wanting $one" ;;
		esac
	done
	is "$name: every figure has a value" "$wanting" ''
done
finish
