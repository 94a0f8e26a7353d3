# SPDX-License-Identifier: GPL-2.0-only
"""One connection that asks ten times a second until a file is there.

steady_one.py ADDRESS PORT FILE REPORT    exit status 1: it did not live so long
"""
import os
import socket
import sys
import time

address, port, until, report = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
answers, slowest = 0, 0.0
with socket.create_connection((address, port), 10) as s:
    s.settimeout(30)
    while not os.path.exists(until):
        start = time.monotonic()
        s.sendall(b"GET /compute?n=2 HTTP/1.1\r\nHost: x\r\n\r\n")
        got = b""
        while b"0x1076963a" not in got or b"}" not in got:
            data = s.recv(65536)
            if not data:
                sys.exit("the connection ended")
            got += data
        if not answers:
            open(report, "x", encoding="ascii").close()
        answers += 1
        slowest = max(slowest, time.monotonic() - start)
        time.sleep(0.1)
with open(report, "w", encoding="ascii") as out:
    print(f"{answers} answers on one connection, the slowest after {slowest * 1000:.0f} ms", file=out)
