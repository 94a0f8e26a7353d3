#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""mute.py ADDRESS PORT

Asks for /metrics with a small receive buffer, reads nothing, and waits to be killed.
"""

import socket
import sys
import time

sock = socket.socket()
sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
sock.connect((sys.argv[1], int(sys.argv[2])))
sock.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
time.sleep(60)
