#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""spoof.py INTERFACE MAC SERVER_MAC SERVER4 SERVER6 PORT COUNTERS...

ICMP errors that lie, on a connection whose answer is in flight: each is refused by
name and what is sent again is as large as before. Then one that does not lie.
Prints "ok - NAME" or "not ok - NAME".
"""

import json
import subprocess
import sys
import time

from raw import Raw
from router import first, too_big

interface, my_mac, server_mac, server4, server6, port = sys.argv[1:7]
command = sys.argv[7:]
SIZE = 4000
REQUEST = b"POST /echo HTTP/1.1\r\nHost: spoof\r\nContent-Length: %d\r\n\r\n" % SIZE + b"e" * SIZE


def counters():
    said = json.loads(subprocess.check_output(command))["counters"]
    return {key: value for key, value in said.items() if key.startswith(("icmp_", "tcp_mtu_"))}


def settled(wanted):
    """The I/O thread shows its counters each 50 ms."""
    for _ in range(100):
        said = counters()
        if said == wanted:
            break
        time.sleep(0.02)
    return said


def report(name, good, detail=""):
    print("ok - %s" % name if good else "not ok - %s\n# %s" % (name, detail), flush=True)


def connection(ip6, sport):
    raw = Raw(interface, my_mac, server_mac, "fd88::77" if ip6 else "10.88.0.77",
              server6 if ip6 else server4, sport, int(port))
    raw.open()
    return raw


def test(ip6, sport):
    ip = "IPv6" if ip6 else "IPv4"
    raw, other = connection(ip6, sport), connection(ip6, sport + 1)
    raw.send(REQUEST)
    full = first(raw)
    report("%s: the answer leaves in full segments" % ip, full == 1500, full)
    before = counters()
    una, least = raw.ack, 1280 if ip6 else 552
    lies = [
        ("quotes what is acknowledged", too_big(raw, una - 1, 1300), "tcp_mtu_not_sent"),
        ("quotes what was never sent", too_big(raw, una + 100000, 1300), "tcp_mtu_not_sent"),
        ("MTU 68", too_big(raw, una, 68), "tcp_mtu_tiny"),
        ("MTU 0", too_big(raw, una, 0), "tcp_mtu_tiny"),
        ("a byte below the least", too_big(raw, una, least - 1), "tcp_mtu_tiny"),
        ("MTU above ours", too_big(raw, una, 9000), "tcp_mtu_no_less"),
        ("another connection, idle", too_big(other, una, 1300), "tcp_mtu_not_sent"),
    ]
    if not ip6:
        lies.append(("port unreachable", too_big(raw, una, 600, code=3), None))
    other.sport ^= 1024
    lies += [("no connection", too_big(other, una, 1300), "tcp_mtu_stray"),
             ("another port of ours", too_big(raw, una, 600, sport=22), None)]
    for name, packet, counter in lies:
        raw.put(packet)
        wanted = dict(before)
        for key in ("icmp_told", counter):
            if counter:
                wanted[key] += 1
        after = settled(wanted)
        report("%s: %s: %s" % (ip, name, counter or "not read"), after == wanted, after)
        before = wanted
    while raw.get(0):
        pass
    report("%s: sent again as large as before" % ip, first(raw) == full)

    raw.put(too_big(raw, una, 1300))
    for _ in range(50):
        size = first(raw)
        if size != full:
            break
    report("%s: the truth is believed: segments of 1300 bytes" % ip, size == 1300, size)
    before["icmp_told"] += 1
    before["tcp_mtu_lowered"] += 1
    report("%s: and counted" % ip, settled(before) == before)
    body = raw.read(SIZE)
    report("%s: the whole answer comes" % ip, body.startswith(b"HTTP/1.1 200"), body[:100])
    raw.reset()


test(False, 30000)
test(True, 30000)
