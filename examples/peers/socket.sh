#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: socket.sh ADDRESS PORT [OPTIONS...]
# The responder itself without its bypass: the same parser and lanes over kernel sockets.
# What differs from a run over AF_XDP is then the way in and out, and nothing else.
# SAKER names the program; else build/saker of this source, else the one in PATH.
# In an experiment `subject NAME saker --io=socket` does the same.

address=$1 port=$2
if [ $# -lt 2 ]; then
	echo 'usage: socket.sh ADDRESS PORT [OPTIONS...]' >&2
	exit 2
fi
shift 2

iface=$(ip -o address show | awk -v wanted="$address" '
	{ split($4, own, "/") } own[1] == wanted { sub(/@.*/, "", $2); print $2; exit }')
if [ -z "$iface" ]; then
	echo "socket.sh: $address is no address of this machine: see ip address" >&2
	exit 1
fi

built=${0%/*}/../../build/saker
saker=${SAKER:-$(if [ -x "$built" ]; then echo "$built"; else command -v saker; fi)}
if [ -z "$saker" ]; then
	echo 'socket.sh: no saker here: run make, or name it: SAKER=PATH' >&2
	exit 1
fi
exec "$saker" -i "$iface" -p "$port" --addr="$address" --io=socket "$@"
