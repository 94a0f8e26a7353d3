# SPDX-License-Identifier: GPL-2.0-only
"""One TCP connection by hand, of an address that no kernel has: it acknowledges
what it is told to, and its segments may be as odd as the test likes."""

import select
import socket
import struct
import time

from frames import ACK, FIN, PSH, RST, SYN, address, ip4, ip6, mac, tcp

MSS_1460 = b"\x02\x04\x05\xb4"


class Segment:
    def __init__(self, packet):
        self.ip_length = struct.unpack("!H", packet[2:4])[0] if packet[0] >> 4 == 4 \
            else 40 + struct.unpack("!H", packet[4:6])[0]
        at = 20 if packet[0] >> 4 == 4 else 40
        self.ports = struct.unpack("!HH", packet[at:at + 4])
        self.seq, self.ack = struct.unpack("!II", packet[at + 4:at + 12])
        self.flags = packet[at + 13]
        self.data = packet[at + (packet[at + 12] >> 4) * 4:self.ip_length]


class Raw:
    def __init__(self, interface, my_mac, server_mac, source, target, sport, port):
        self.wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.wire.bind((interface, 0))
        self.link = mac(server_mac) + mac(my_mac)
        self.source, self.target = address(source), address(target)
        self.sport, self.port = sport, port
        self.is_ip4 = len(self.source) == 4
        self.seq, self.ack = 1000, 0

    def packet(self, payload, **odd):
        return ip4(self.source, self.target, payload, **odd) if self.is_ip4 \
            else ip6(self.source, self.target, payload, **odd)

    def turned(self, payload):
        """A packet of the other side."""
        head = ip4 if self.is_ip4 else ip6
        return head(self.target, self.source, payload)

    def put(self, packet):
        self.wire.send(self.link + (b"\x08\x00" if self.is_ip4 else b"\x86\xdd") + packet)

    def segment(self, flags=ACK, data=b"", options=b""):
        return tcp(self.source, self.target, self.sport, self.port, flags, self.seq, self.ack,
                   options, data)

    def get(self, seconds):
        """The next segment of this connection, or None."""
        end = time.monotonic() + seconds
        while select.select([self.wire], [], [], max(0, end - time.monotonic()))[0]:
            frame, place = self.wire.recvfrom(4096)
            kind = b"\x08\x00" if self.is_ip4 else b"\x86\xdd"
            proto = frame[23:24] if self.is_ip4 else frame[20:21]
            if place[2] == socket.PACKET_OUTGOING or frame[12:14] != kind or proto != b"\x06":
                continue
            segment = Segment(frame[14:])
            if segment.ports == (self.port, self.sport):
                return segment
        return None

    def open(self):
        self.put(self.packet(self.segment(SYN, options=MSS_1460)))
        answer = self.get(5)
        assert answer and answer.flags == SYN | ACK, "no SYN-ACK"
        self.seq, self.ack = self.seq + 1, answer.seq + 1
        self.put(self.packet(self.segment()))

    def send(self, data):
        """In segments of 1,000 bytes, plain."""
        for at in range(0, len(data), 1000):
            piece = data[at:at + 1000]
            self.put(self.packet(self.segment(ACK | PSH, piece)))
            self.seq += len(piece)

    def read(self, size):
        """So many bytes, acknowledged as they come; RST: ConnectionResetError."""
        got = b""
        while len(got) < size:
            segment = self.get(5)
            if not segment:
                raise TimeoutError("%d of %d bytes came" % (len(got), size))
            if segment.flags & RST:
                raise ConnectionResetError("RST")
            if segment.seq == self.ack and segment.data:
                got += segment.data
                self.ack += len(segment.data)
                self.put(self.packet(self.segment()))
        return got

    def reset(self):
        self.put(self.packet(self.segment(RST)))
        self.wire.close()


__all__ = ["ACK", "FIN", "PSH", "RST", "SYN", "Raw", "address", "ip4", "ip6", "tcp"]
