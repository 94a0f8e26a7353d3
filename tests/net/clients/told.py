#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""told.py INTERFACE MAC SERVER_MAC SERVER PORT COUNT

COUNT connections with an answer in flight, and for each a router's word that its
segments are too big. Status 1 unless each answer then comes in smaller ones, whole.
"""

import sys

from raw import Raw
from router import first, too_big

interface, my_mac, server_mac, server, port, count = sys.argv[1:7]
SIZE, MTU = 4000, 1300
REQUEST = b"POST /echo HTTP/1.1\r\nHost: told\r\nContent-Length: %d\r\n\r\n" % SIZE + b"e" * SIZE



def in_small_segments(raw):
    """So many bytes of the answer; what is still as large as before is lost on the way."""
    got = b""
    while len(got) < SIZE:
        segment = raw.get(5)
        assert segment, "%d bytes came in small segments" % len(got)
        if segment.ip_length > MTU or segment.seq != raw.ack:
            continue
        got += segment.data
        raw.ack += len(segment.data)
        raw.put(raw.packet(raw.segment()))
    return got


for number in range(int(count)):
    connection = Raw(interface, my_mac, server_mac, "10.88.0.77", server, 31000 + number, int(port))
    connection.open()
    connection.send(REQUEST)
    size = first(connection)
    assert size == 1500, "connection %d: the first segment has %s bytes" % (number, size)
    connection.put(too_big(connection, connection.ack, MTU))
    assert in_small_segments(connection).startswith(b"HTTP/1.1 200"), "connection %d" % number
    connection.reset()
