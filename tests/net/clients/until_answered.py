# SPDX-License-Identifier: GPL-2.0-only
"""Send a signal to a process, then connect anew until a request is answered; print how
many ms that took.

until_answered.py ADDRESS PORT SIGNAL PID

Each try may take 50 ms, then another connection is tried: its SYN is a new one, so
nothing waits for a retransmission of the first.
"""
import os
import signal
import socket
import sys
import time

address, port = sys.argv[1], int(sys.argv[2])
start = time.monotonic()
os.kill(int(sys.argv[4]), signal.Signals["SIG" + sys.argv[3]])
time.sleep(0.005)  # its CPU hears of the signal; who is half served then is not our question
while time.monotonic() - start < 20:
    try:
        with socket.create_connection((address, port), 0.05) as s:
            s.settimeout(0.05)
            s.sendall(b"GET /compute?n=0 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            if s.recv(4096).startswith(b"HTTP/1.1 200"):
                break
    except OSError:
        pass
print(int((time.monotonic() - start) * 1000))
