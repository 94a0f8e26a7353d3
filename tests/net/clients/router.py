# SPDX-License-Identifier: GPL-2.0-only
"""What a router says when a packet does not fit, and how the server takes it."""

import struct

from frames import checksum


def quote(raw, seq, sport):
    """The start of a segment of the server's, as it was on its way to us."""
    return raw.turned(struct.pack("!HHI", sport, raw.sport, seq & 0xFFFFFFFF))


def too_big(raw, seq, mtu, sport=None, code=4):
    body = quote(raw, seq, sport or raw.port)
    if raw.is_ip4:
        error = struct.pack("!BBHHH", 3, code, 0, 0, mtu) + body
        error = error[:2] + struct.pack("!H", checksum(error)) + error[4:]
        return raw.packet(error, proto=1)
    error = struct.pack("!BBHI", 2, 0, 0, mtu) + body
    pseudo = raw.source + raw.target + struct.pack("!II", len(error), 58)
    error = error[:2] + struct.pack("!H", checksum(pseudo + error)) + error[4:]
    return raw.packet(error, following=58)


def first(raw, seconds=3):
    """The first segment of the flight, or that again: bytes of its packet."""
    while True:
        segment = raw.get(seconds)
        if not segment or (segment.data and segment.seq == raw.ack):
            return segment.ip_length if segment else None
