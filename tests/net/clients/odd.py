#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""odd.py INTERFACE MAC SERVER_MAC SERVER4 SERVER6 PORT COUNTERS...

On a live connection a request comes in a packet with options, or in fragments, or
something comes in a frame that is too long. It need not be answered, but nobody may
answer it with RST; sent again plainly it is answered. Prints "ok - NAME" or "not ok - NAME".
"""

import json
import struct
import subprocess
import sys

from raw import ACK, PSH, RST, SYN, MSS_1460, Raw

interface, my_mac, server_mac, server4, server6, port = sys.argv[1:7]
command = sys.argv[7:]
REQUEST = b"GET /compute?n=1&seed=0 HTTP/1.1\r\nHost: odd\r\nA: %s\r\n\r\n" % (b"x" * 100)
PAD = b"\x01\x04\0\0\0\0"  # PadN of six bytes
next_port = iter(range(20000, 60000))


def counters():
    return json.loads(subprocess.check_output(command))["counters"]


def report(name, good, detail=""):
    print("ok - %s" % name if good else "not ok - %s\n# %s" % (name, detail), flush=True)


def connection(ip6):
    raw = Raw(interface, my_mac, server_mac, "fd88::77" if ip6 else "10.88.0.77",
              server6 if ip6 else server4, next(next_port), int(port))
    raw.open()
    return raw


# --- one segment, as odd packets ------------------------------------------------------------


def options(raw, segment):
    return [raw.packet(segment, options=b"\x01\x01\x01\0")]  # no operation


def fragments(raw, segment):
    return [raw.packet(segment[:64], fragment=0x2000), raw.packet(segment[64:], fragment=8)]


def tiny_fragments(raw, segment):
    """The first one ends behind ports and sequence."""
    return [raw.packet(segment[:8], fragment=0x2000), raw.packet(segment[8:], fragment=1)]


def extension(kind):
    return lambda raw, segment: [raw.packet(b"\x06\0" + PAD + segment, following=kind)]


def fragment6(offset, more, following=6):
    return struct.pack("!BBHI", following, 0, offset << 3 | more, 77)


def fragments6(raw, segment):
    return [raw.packet(fragment6(0, 1) + segment[:64], following=44),
            raw.packet(fragment6(8, 0) + segment[64:], following=44)]


def atomic_fragment(raw, segment):
    return [raw.packet(fragment6(0, 0) + segment, following=44)]


CASES = [
    ("IPv4 options", False, options, {"xdp_drop_options": 1}),
    ("IPv4 fragments", False, fragments, {"xdp_drop_fragment": 1, "xdp_pass_fragment": 1}),
    ("IPv4, tiny fragments", False, tiny_fragments,
     {"xdp_drop_fragment": 1, "xdp_pass_fragment": 1}),
    ("IPv6 hop-by-hop options", True, extension(0), {"xdp_drop_options": 1}),
    ("IPv6 destination options", True, extension(60), {"xdp_drop_options": 1}),
    ("IPv6 fragments", True, fragments6, {"xdp_drop_fragment": 1, "xdp_pass_fragment": 1}),
    ("IPv6, one fragment that is all", True, atomic_fragment, {"xdp_drop_options": 1}),
]


def test(name, ip6, oddly, wanted):
    raw = connection(ip6)
    raw.send(REQUEST)
    first = raw.get(5)
    raw.ack += len(first.data)
    raw.put(raw.packet(raw.segment()))
    before = counters()
    for packet in oddly(raw, raw.segment(ACK | PSH, REQUEST)):
        raw.put(packet)
    answer = raw.get(0.3)
    report("%s: not answered with RST" % name, not answer or not answer.flags & RST,
           "RST of sequence %d" % (answer.seq if answer else 0))
    after = counters()
    got = {key: after.get(key, 0) - before.get(key, 0) for key in wanted}
    report("%s: counted" % name, got == wanted, "got %s, wanted %s" % (got, wanted))
    raw.send(REQUEST)
    try:
        report("%s: the connection lives" % name, raw.read(12).startswith(b"HTTP/1.1 200"))
    except OSError as trouble:
        report("%s: the connection lives" % name, False, repr(trouble))
    raw.reset()


def test_syn():
    raw = Raw(interface, my_mac, server_mac, "10.88.0.77", server4, next(next_port), int(port))
    raw.put(options(raw, raw.segment(SYN, options=MSS_1460))[0])
    report("IPv4 options: a SYN is not answered", not raw.get(0.3))


for case in CASES:
    test(*case)
test_syn()
