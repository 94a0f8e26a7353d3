#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Usage: unfinished.py ADDRESS PORT FILE
# Half a request, for ever; FILE is made when it was sent.
import socket
import sys
import time

address, port, made = sys.argv[1:]
s = socket.create_connection((address, int(port)), 5)
s.sendall(b"POST /compute HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab")
open(made, "w").close()
time.sleep(60)
