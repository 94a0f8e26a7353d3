#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: layers.sh layers.txt FILE...
# Fails when a file includes a module that its row in layers.txt does not list.
exec awk '
NR == FNR {
	if (NF && $0 !~ /^#/) {
		m = $1
		sub(/:$/, "", m)
		row[m]
		for (i = 2; i <= NF; i++)
			may[m, $i]
	}
	next
}
FNR == 1 {
	m = FILENAME
	gsub(/^.*\/|\.[ch]$/, "", m)
	if (!(m in row)) {
		print FILENAME ": no row in layers.txt"
		bad = 1
	}
}
/^#include "/ && $2 !~ /skel\.h"$/ {
	h = $2
	gsub(/"|\.h/, "", h)
	if (h != m && !((m, h) in may)) {
		print FILENAME ":" FNR ": " m " may not see " h
		bad = 1
	}
}
END { exit bad }' "$@"
