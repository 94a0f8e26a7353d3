#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""steady.py http|echo ADDRESS PORT

One connection, kept until SIGTERM: opened as soon as somebody listens, then a
request every 20 ms, each answer checked. Prints "knocking" at the first try,
"open" when it is, and at the end how many answers were right; status 1 at the
first wrong or missing one.
"""

import signal
import sys
import time

from hashes import SEED, compute
from http1 import Connection

PATIENCE = 20  # seconds for one answer; the longest pause of a test is 4


def open_soon(address, port):
    """In a tight loop: the kernel's listener is alone only for some milliseconds."""
    end = time.monotonic() + PATIENCE
    while True:
        try:
            return Connection(address, port, PATIENCE)
        except ConnectionRefusedError:
            if time.monotonic() > end:
                raise


def ask_http(connection, turn):
    n = turn % 100
    request = "GET /compute?n=%d HTTP/1.1\r\nHost: steady\r\nAccept: text/plain\r\n\r\n" % n
    connection.send(request.encode())
    status, _, body = connection.answer()
    return status == 200 and body.decode() == compute("fnv1a32", n, SEED["fnv1a32"]) + "\n"


def ask_echo(connection, turn):
    line = b"%d " % turn * 50
    connection.send(line)
    return connection.exactly(len(line)) == line


def main():
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
    ask = {"http": ask_http, "echo": ask_echo}[sys.argv[1]]
    print("knocking", flush=True)
    connection = open_soon(sys.argv[2], int(sys.argv[3]))
    print("open", flush=True)
    turn = 0
    while not stop:
        if not ask(connection, turn):
            sys.exit("answer %d is wrong" % turn)
        turn += 1
        time.sleep(0.02)
    print("%d answers right" % turn)


main()
