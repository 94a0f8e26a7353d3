# SPDX-License-Identifier: GPL-2.0-only
"""Ethernet frames with TCP inside; every field can be made wrong."""

import socket
import struct

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


def checksum(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def mac(text):
    return bytes.fromhex(text.replace(":", ""))


def tcp(source, target, sport, dport, flags=SYN, seq=1000, ack=0, options=b"", data=b"",
        words=None, wrong=0):
    """`words`: the data offset that the header claims. `wrong`: added to the checksum."""
    words = 5 + len(options) // 4 if words is None else words
    segment = struct.pack("!HHIIBBHHH", sport, dport, seq, ack, words << 4, flags, 64240, 0, 0)
    segment += options + data
    if len(source) == 4:
        pseudo = source + target + struct.pack("!BBH", 0, 6, len(segment))
    else:
        pseudo = source + target + struct.pack("!II", len(segment), 6)
    right = checksum(pseudo + segment)
    return segment[:16] + struct.pack("!H", (right + wrong) & 0xFFFF) + segment[18:]


def ip4(source, target, payload, proto=6, fragment=0, options=b"", length=None, wrong=0):
    length = 20 + len(options) + len(payload) if length is None else length
    first = 0x45 + len(options) // 4
    head = struct.pack("!BBHHHBBH", first, 0, length, 1, fragment, 64, proto, 0)
    head += source + target + options
    right = checksum(head)
    return head[:10] + struct.pack("!H", (right + wrong) & 0xFFFF) + head[12:] + payload


def ip6(source, target, payload, following=6):
    return struct.pack("!IHBB", 6 << 28, len(payload), following, 64) + source + target + payload


def address(text):
    return socket.inet_pton(socket.AF_INET6 if ":" in text else socket.AF_INET, text)
