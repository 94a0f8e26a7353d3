#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""bulk.py ADDRESS PORT REQUESTS BYTES DEPTH

POST /echo with random bodies of BYTES, DEPTH of them under way at any time on one
connection, written by one thread and read by another; every byte is compared.
Status 1 at the first wrong one; else one line with the rate.
"""

import os
import sys
import threading
import time

from http1 import Connection

address, (port, requests, size, depth) = sys.argv[1], map(int, sys.argv[2:6])
connection = Connection(address, port)
room = threading.Semaphore(depth)
head = b"POST /echo HTTP/1.1\r\nHost: bulk\r\nContent-Type: application/octet-stream\r\n" \
       b"Content-Length: %d\r\n\r\n" % size
bodies = [os.urandom(size) for _ in range(64)]


def write():
    for turn in range(requests):
        room.acquire()
        connection.send(head + bodies[turn % len(bodies)])


begun = time.monotonic()
threading.Thread(target=write, daemon=True).start()
for turn in range(requests):
    status, _, body = connection.answer()
    if status != 200 or body != bodies[turn % len(bodies)]:
        sys.exit("answer %d is wrong: status %d, %d bytes" % (turn, status, len(body)))
    room.release()
seconds = time.monotonic() - begun
print("%d bodies of %d bytes came back whole, %d/s, %.1f MB/s each way"
      % (requests, size, requests / seconds, requests * size / seconds / 1e6))
