#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Usage: scan.sh BUILD_DIR
# Port scans, as nmap and hping3 make them: our port looks as an open one of any host
# does, the others are the kernel's, and whoever is being served notices nothing.
# shellcheck source=tests/net/lib.sh
. "${0%/*}/lib.sh"
network
start_saker
closed=9

# Over IPv6, where hping3 does not take its answers for those to a probe.
spawn_c "$here/clients/steady.py" http $server6 $port > "$dir/steady" 2>&1
steady=$spawned
soon 5 grep -q '^open' "$dir/steady"

# --- nmap --------------------------------------------------------------------------
scan() { # NAME STATE_OF_OURS STATE_OF_CLOSED NMAP_ARGUMENTS...
	scan_name="nmap: $1" scan_ours=$2 scan_closed=$3
	shift 3
	in_c timeout 60 nmap -n -Pn --max-retries 2 -p "$port,$closed" -oG - "$@" $server4 > "$dir/scan" 2>&1
	like "$scan_name: our port is $scan_ours" "$(cat "$dir/scan")" "*[ 	]$port/$scan_ours/tcp*"
	like "$scan_name: port $closed is $scan_closed" "$(cat "$dir/scan")" "*[ 	]$closed/$scan_closed/tcp*"
}
if has nmap 'nmap: scans of ports'; then
	scan 'SYN' open closed -sS
	scan 'connect' open closed -sT
	scan 'ACK' unfiltered unfiltered -sA
	scan 'window' closed closed -sW
	# RFC 9293 3.10.7.2: what has neither SYN nor ACK nor RST is not answered by LISTEN.
	scan 'FIN' 'open|filtered' closed -sF
	scan 'Xmas' 'open|filtered' closed -sX
	scan 'null' 'open|filtered' closed -sN
	scan 'FIN and ACK (Maimon)' closed closed -sM
	scan 'SYN in tiny fragments' filtered closed -sS -f
	in_c timeout 60 nmap -n -Pn -sV --version-light -p $port $server4 > "$dir/scan" 2>&1
	like 'nmap: what it sends to name a service does no harm' "$(cat "$dir/scan")" "*$port/tcp open*"
	in_c timeout 60 nmap -n -Pn -sS -F --max-retries 1 $server4 > "$dir/scan" 2>&1
	like 'nmap: of its hundred favourite ports ours alone is open' \
		"$(sed -n 's/^\([0-9]*\)\/tcp *open .*/\1/p' "$dir/scan")" $port
fi

# --- hping3: one probe at a time, and what comes back -------------------------------------
# Flags as tcpdump spells them; no answer: "-".
probe() { # NAME ANSWER HPING3_ARGUMENTS...
	probe_name="hping3: $1" probe_wanted=$2
	shift 2
	in_c hping3 -n -c 1 -p $port "$@" $server4 > "$dir/probe" 2>&1
	probe_got=$(sed -n 's/.* flags=\([A-Z]*\) .*/\1/p' "$dir/probe")
	is "$probe_name" "${probe_got:--}" "$probe_wanted"
}
if has hping3 'hping3: probes'; then
	probe 'SYN' SA -S
	probe 'SYN with ECE and CWR' SA -S -X -Y
	probe 'SYN with PSH and URG' SA -S -P -U
	probe 'SYN with FIN' - -S -F
	probe 'SYN with RST' - -S -R
	probe 'SYN with ACK' R -S -A
	probe 'ACK' R -A
	probe 'RST' - -R
	probe 'RST with ACK' - -R -A
	probe 'nothing'  -
	probe 'all flags' - -F -S -R -P -A -U -X -Y
	probe 'window of 0' SA -S -w 0
	probe 'data offset beyond the segment' - -S -O 15
	probe 'TTL 1' SA -S -t 1
	probe 'from port 0' - -S -s 0 -k
fi

kill "$steady"
wait "$steady"
like 'a connection from before is served all the while' "$? $(tail -n 1 "$dir/steady")" '0 [1-9]* answers right'
is 'and so is the next one' "$(hash_of "$url/compute?n=1000")" 0xa06ae7fd
is 'the kernel had none of it' "$(counter sock_accepted)" 0
stop_saker
finish
