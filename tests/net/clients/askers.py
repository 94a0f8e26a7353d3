# SPDX-License-Identifier: GPL-2.0-only
"""Clients that ask without end, until the server says Connection: close.

askers.py ADDRESS PORT COUNT    a line of TAP each; exit status 1: a request was lost
"""
import socket
import sys
import threading
import time

address, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
REQUEST = b"GET /compute?n=1000 HTTP/1.1\r\nHost: x\r\n\r\n"
lost = 0


def ask(number):
    """Each at its own pace: some are idle for longer than the end takes to begin."""
    global lost
    answers = 0
    try:
        with socket.create_connection((address, port), 10) as s:
            s.settimeout(30)
            while True:
                s.sendall(REQUEST)
                answer = b""
                while b"0xa06ae7fd" not in answer or b"}" not in answer:
                    data = s.recv(65536)
                    if not data:
                        raise EOFError("the end came instead of an answer")
                    answer += data
                answers += 1
                if b"\r\nConnection: close\r\n" in answer:
                    break
                time.sleep(0.01 * (number % 10))
            if s.recv(1):
                raise ValueError("bytes behind the last answer")
        print(f"ok - client {number}: the last answer said close")
    except (OSError, EOFError, ValueError) as e:
        lost += 1
        print(f"not ok - client {number}: {e!r} after {answers} answers")


threads = [threading.Thread(target=ask, args=(n,)) for n in range(count)]
for t in threads:
    t.start()
print("# asking", flush=True)
for t in threads:
    t.join()
sys.exit(lost != 0)
