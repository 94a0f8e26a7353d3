#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: run.sh BUILD_DIR [NAMES...]
# The scripts of this folder (or the named ones; `core`: a short list, for the
# sanitizers) as one TAP stream. NAME:RUNG runs a script with that rung wherever it does not
# say itself which one it wants (IO, lib.sh). A script that ends early is a failed test more.
# Root, real XDP, namespaces of our own.

build=$1
here=${0%/*}
shift
core='basics http bad slow blackhole'
all="basics http heap memory rungs ladder blackhole others neighbours refusals bad odd mtu wire queues threads crew overload
	exact stat conns limits bpftool transcripts metrics dashboard log trace probe findings
	slow stall survive lifecycle upgrade link drain load loadgen lab interop hostile flood crowd scan impair loss
	path path_table path_clients path_survive path_tls path_loss measures experiments doctor
	packet basics:packet http:packet blackhole:packet bad:packet odd:packet mtu:packet wire:packet conns:packet
	trace:packet stall:packet survive:packet upgrade:packet link:packet drain:packet path:packet path_survive:packet"
# shellcheck disable=SC2086 # words
[ $# != 0 ] || set -- $all
# shellcheck disable=SC2086 # words
[ "$*" != core ] || set -- $core

if [ "$(id -u)" != 0 ]; then
	echo '1..0 # SKIP needs root: network namespaces, XDP'
	exit 0
fi

# What the tests themselves attach and run.
build=$(cd "$build" && pwd) || exit 1
need="$build/pass.bpf.o $build/drop.bpf.o $build/attached"
case " $* " in *' packet '*) need="$need $build/lacking $build/foreign_tc.bpf.o" ;; esac
case " $* " in *' wire'*) need="$need $build/wire" ;; esac
case " $* " in *' impair '* | *' path_loss '* | *' soak '*) need="$need $build/impair" ;; esac
case " $* " in *' doctor '*) need="$need $build/doctor_set" ;; esac
case " $* " in *' path'*) need="$need $build/mixed" ;; esac
case " $* " in *' flood '* | *' soak '*) need="$need $build/flood_tcp" ;; esac
case " $* " in *' upgrade'*) need="$need $build/flood_tcp" ;; esac
# shellcheck disable=SC2086 # words
"${MAKE:-make}" -s --no-print-directory -C "$here/../.." B="$build" $need >&2 || exit 1

# Renumbers, puts the script's name in front; its last line says what came of it.
for name; do
	{
		case $name in *:*) IO=${name#*:} && export IO ;; esac
		"$here/${name%:*}.sh" "$build" 2>&1
		echo "status $?"
	} | awk -v name="$name" '
	/^(not )?ok / {
		bad = $1 == "not"
		sub(/^(not )?ok [0-9]* *-? */, "")
		print (bad ? "not ok - " : "ok - ") name ": " $0
		ran++
		fflush()
		next
	}
	/^1\.\.[0-9]+/ {
		planned = substr($1, 4)
		if (planned == 0)
			print "ok - " name " " substr($0, 5)
		plans++
		next
	}
	/^status [0-9]+$/ { status = $2; next }
	{ print /^#/ ? $0 : "# " $0; fflush() }
	END {
		if (plans != 1 || planned != ran)
			print "not ok - " name ": ran to its end (" ran + 0 " tests, status " status ")"
	}'
done | awk '
/^(not )?ok - / { bad = $1 == "not"; sub(/^(not )?ok - /, ""); n++
	print (bad ? "not ok " : "ok ") n " - " $0; fflush(); failed += bad; next }
{ print; fflush() }
END { print "1.." n + 0; exit failed > 0 }'
