#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Usage: tagged.py INTERFACE MY_MAC SERVER_MAC SOURCE SERVER PORT
Asks both servers of a shared port with frames that carry an 802.1Q tag: a priority and
VLAN 0, which a kernel without VLAN devices takes too. TAP without numbers.

A socket sees a tag that the card, or the kernel, took off the frame in its ancillary data."""

import select
import socket
import struct
import sys
import time

from raw import ACK, FIN, PSH, Raw, Segment

TAG = 0x6000  # priority 3, VLAN 0
SOL_PACKET, PACKET_AUXDATA, VLAN_VALID = 263, 8, 1 << 4  # linux/if_packet.h


class Tagged(Raw):
    """Remembers the tag of the last segment that came."""

    def __init__(self, *words):
        super().__init__(*words)
        self.wire.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.kind = b"\x08\x00" if self.is_ip4 else b"\x86\xdd"
        self.tag = None

    def put(self, packet):
        self.wire.send(self.link + struct.pack("!HH", 0x8100, TAG) + self.kind + packet)

    def get(self, seconds):
        end = time.monotonic() + seconds
        while select.select([self.wire], [], [], max(0, end - time.monotonic()))[0]:
            frame, told, _, place = self.wire.recvmsg(4096, 256)
            proto = frame[23:24] if self.is_ip4 else frame[20:21]
            if place[2] == socket.PACKET_OUTGOING or frame[12:14] != self.kind or proto != b"\x06":
                continue
            segment = Segment(frame[14:])
            if segment.ports == (self.port, self.sport):
                status, _, _, _, _, tag, _ = struct.unpack("IIIHHHH", told[0][2])
                self.tag = tag if status & VLAN_VALID else None
                return segment
        return None


def ask(client, path):
    """The first segment of the answer, and its tag."""
    request = b"GET %s HTTP/1.1\r\nHost: tagged\r\nConnection: close\r\n\r\n" % path.encode()
    client.open()
    client.put(client.packet(client.segment(ACK | PSH, request)))
    client.seq += len(request)
    while True:
        segment = client.get(5)
        assert segment, "no answer"
        if segment.data:
            tag = client.tag
            client.ack = segment.seq + len(segment.data)
            client.put(client.packet(client.segment(ACK | FIN)))
            return segment.data, tag


def main():
    interface, my_mac, server_mac, source, server, port = sys.argv[1:]
    failed = 0
    for sport, path, is_nginx, wanted in ((20001, "/", True, None), (20002, "/compute?n=1000", False, TAG)):
        client = Tagged(interface, my_mac, server_mac, source, server, sport, int(port))
        try:
            answer, tag = ask(client, path)
            by_nginx = b"X-Server: nginx" in answer
            good = answer.startswith(b"HTTP/1.1 200") and by_nginx == is_nginx and tag == wanted
            detail = "%s, tag %s: %r" % ("nginx" if by_nginx else "not nginx", tag, answer[:40])
        except AssertionError as error:
            good, detail = False, error
        print("%sok - %s tagged, from %s" % ("" if good else "not ", path, source))
        if not good:
            print("# %s" % detail)
        failed += not good
        client.wire.close()
    return failed > 0


sys.exit(main())
