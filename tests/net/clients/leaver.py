#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""leaver.py ADDRESS PORT N

Asks for N rounds, waits until that is surely read, and goes away by RST.
"""

import socket
import struct
import sys
import time

sock = socket.create_connection((sys.argv[1], int(sys.argv[2])))
sock.sendall(b"GET /compute?n=%d HTTP/1.1\r\nHost: a\r\n\r\n" % int(sys.argv[3]))
time.sleep(0.3)
sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
sock.close()
