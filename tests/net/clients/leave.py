#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""leave.py ADDRESS PORT N COUNT SECONDS

COUNT clients ask for N rounds each, at once, and are gone after SECONDS: by RST, since
a FIN alone says only that they ask no more. Says how many had their answer by then.
"""

import socket
import struct
import sys
import time

address, port, n, count, seconds = sys.argv[1:]
request = f"GET /compute?n={n} HTTP/1.1\r\nHost: {address}\r\n\r\n".encode()
clients = []
for _ in range(int(count)):
    client = socket.create_connection((address, int(port)))
    client.sendall(request)
    client.setblocking(False)
    clients.append(client)
time.sleep(float(seconds))
answered = 0
for client in clients:
    try:
        answered += client.recv(4096).startswith(b"HTTP/1.1 200")
    except BlockingIOError:
        pass
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
print(answered)
