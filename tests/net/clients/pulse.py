# SPDX-License-Identifier: GPL-2.0-only
"""A second service on the interface, as ssh would be: a byte to and fro, all the time.

pulse.py serve ADDRESS PORT      echo
pulse.py ask ADDRESS PORT FILE   until SIGTERM; then beats and the slowest in ms in FILE
"""
import signal
import socket
import sys
import threading
import time

what, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])


def echo(connection):
    while data := connection.recv(64):
        connection.sendall(data)


if what == "serve":
    with socket.create_server((address, port)) as listener:
        while True:
            threading.Thread(target=echo, args=(listener.accept()[0],), daemon=True).start()

beats, slowest, going = 0, 0.0, True


def end(*_):
    global going
    going = False


signal.signal(signal.SIGTERM, end)
with socket.create_connection((address, port), 5) as s:
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while going:
        start = time.monotonic()
        s.sendall(b"x")
        if s.recv(1) != b"x":
            sys.exit("the second service ended")
        slowest = max(slowest, time.monotonic() - start)
        beats += 1
        time.sleep(0.01)
with open(sys.argv[4], "w", encoding="ascii") as out:
    print(beats, int(slowest * 1000), file=out)
