#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""upload.py ADDRESS PORT HOW: bodies that are refused, and bodies that come back

refused    200 kB behind a head that is answered 413, or 400, or 415 at once: the whole
           answer can still be read when all is sent, then the end, and no reset
chunks     a body in chunks of all sizes comes back, over one connection
pipelined  64 bodies of up to 16 KiB are sent before the first answer is read
"""

import random
import socket
import sys
import threading

from http1 import Connection

where = sys.argv[1], int(sys.argv[2])
draw = random.Random(1)


def head(line, *fields):
    return "\r\n".join([line + " HTTP/1.1", "Host: upload", *fields, "", ""]).encode()


def refused():
    cases = {
        413: head("POST /echo", "Content-Length: 200000000"),
        400: head("POST /echo", "Content-Length: 200000", "A B: c"),
        415: head("POST /compute", "Content-Length: 200000", "Content-Type: image/png"),
        404: head("POST /nowhere", "Transfer-Encoding: chunked") + b"30d40\r\n",
        505: b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    }
    for status, request in cases.items():
        connection = Connection(*where)
        connection.send(request)
        for _ in range(20):
            connection.send(bytes(10000))
        got, fields, body = connection.answer()
        assert got == status and fields["connection"] == "close" and b'"error"' in body, got
        assert connection.socket.recv(1) == b""
        connection.send(bytes(10000))
        connection.socket.shutdown(socket.SHUT_WR)
        connection.close()


def chunks():
    connection = Connection(*where)
    for size in [1, 2, 3, 255, 256, 4096, 16384]:
        want = draw.randbytes(size)
        rest, coded = want, b""
        while rest:
            n = draw.randrange(1, size + 1)
            part, rest = rest[:n], rest[n:]
            coded += b"%x;ext=\"a b\"\r\n%b\r\n" % (len(part), part)
        connection.send(head("POST /echo", "Transfer-Encoding: chunked"))
        connection.send(coded + b"0\r\nTrailer: yes\r\n\r\n")
        assert connection.answer()[2] == want, size
    connection.close()


def pipelined():
    connection = Connection(*where)
    bodies = [draw.randbytes(draw.choice([1, 100, 1500, 8192, 16384])) for _ in range(64)]

    def send():
        for body in bodies:
            connection.send(head("POST /echo", "Content-Length: %d" % len(body)) + body)

    sender = threading.Thread(target=send)
    sender.start()
    sender.join(0.5)  # by then it is stuck, or all is on its way
    for body in bodies:
        assert connection.answer()[2] == body
    sender.join()
    connection.close()


{"refused": refused, "chunks": chunks, "pipelined": pipelined}[sys.argv[3]]()
