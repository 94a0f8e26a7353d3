#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""rude.py ADDRESS PORT HOW [N]: clients that are no friends

connect N  N times, one after the other: connect, say nothing, close
idle N     N connections at once that say nothing; one more is asked, then all close
half N     N requests that stop in the middle of the head; until the other side closes
die N      N times: ask for much, go away with RST before the answer
quiet N    N connections that ask once and stay; until the other side closes
leave N    N times: half a body, then FIN; until the other side closes
drip N     N heads, a byte each 50 ms; until the other side closes
trickle N  N bodies, 200 bytes a second; until the other side closes
steady N   N bodies of 3000 bytes, 2000 bytes a second; all are answered
deaf N     N times: much to answer, nothing is read; until the other side is gone
sip N      N long answers, 2000 bytes a second; all come
"""

import select
import socket
import struct
import sys
import time

from http1 import Connection

RST_AT_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER with no time


def head(n):
    return b"GET /compute?n=%d HTTP/1.1\r\nHost: rude\r\n\r\n" % n


def silent_end(connection):
    """What the other side still sends until it closes."""
    said = b""
    while True:
        got = connection.socket.recv(4096)
        if not got:
            return said
        said += got


def connect(where, count):
    for _ in range(count):
        Connection(*where).close()


def idle(where, count):
    crowd = [Connection(*where) for _ in range(count)]
    one = Connection(*where)
    one.send(head(10))
    assert one.answer()[0] == 200
    for connection in crowd:
        connection.close()


def half(where, count):
    crowd = [Connection(*where) for _ in range(count)]
    for connection in crowd:
        connection.send(head(10)[:30])
    for connection in crowd:
        silent_end(connection)


def die(where, count):
    crowd = [Connection(*where) for _ in range(count)]
    for connection in crowd:
        connection.send(head(100000000))
    for connection in crowd:
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST_AT_CLOSE)
        connection.close()


def quiet(where, count):
    crowd = [Connection(*where) for _ in range(count)]
    for connection in crowd:
        connection.send(head(10))
        assert connection.answer()[0] == 200
    for connection in crowd:
        assert silent_end(connection) == b""


def leave(where, count):
    for _ in range(count):
        connection = Connection(*where)
        connection.send(b"POST /compute HTTP/1.1\r\nHost: rude\r\nContent-Length: 100\r\n"
                        b"Content-Type: application/json\r\n\r\n{")
        connection.socket.shutdown(socket.SHUT_WR)
        silent_end(connection)


def post(size):
    return b"POST /echo HTTP/1.1\r\nHost: rude\r\nContent-Length: %d\r\n\r\n" % size


def feed(where, count, first, data, size):
    """Send `data` in steps of `size` bytes, 20 a second, on all. False: the other side ended."""
    crowd = [Connection(*where) for _ in range(count)]
    for connection in crowd:
        connection.send(first)
    for at in range(0, len(data), size):
        if not crowd:
            break
        time.sleep(0.05)
        for connection in list(crowd):
            try:
                connection.send(data[at:at + size])
                connection.socket.setblocking(False)
                if connection.socket.recv(1, socket.MSG_PEEK) == b"":
                    crowd.remove(connection)
            except BlockingIOError:
                pass
            except OSError:
                crowd.remove(connection)
            connection.socket.settimeout(60)
    return crowd


def drip(where, count):
    assert not feed(where, count, b"", b"GET /echo HTTP/1.1\r\nHost: " + b"a" * 1000, 1)


def trickle(where, count):
    assert not feed(where, count, post(10000), bytes(10000), 10)


def steady(where, count):
    crowd = feed(where, count, post(3000), bytes(3000), 100)
    assert len(crowd) == count
    for connection in crowd:
        assert connection.answer()[2] == bytes(3000)


def narrow(where):
    """A connection whose window is small."""
    connection = Connection.__new__(Connection)
    connection.socket = socket.socket(socket.AF_INET)
    connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.socket.settimeout(60)
    connection.socket.connect(where)
    connection.received = b""
    return connection


def deaf(where, count):
    crowd = [narrow(where) for _ in range(count)]
    for connection in crowd:
        connection.send((post(16384) + bytes(16384)) * 2)
    for connection in crowd:
        waiting = select.poll()
        waiting.register(connection.socket, 0)  # its end is told unasked
        assert waiting.poll(60000)


def sip(where, count):
    crowd = [narrow(where) for _ in range(count)]
    for connection in crowd:
        connection.send(post(8000) + bytes(8000))
    for _ in range(80):
        time.sleep(0.05)
        for connection in crowd:
            connection.received += connection.socket.recv(100)
    for connection in crowd:
        assert connection.answer()[2] == bytes(8000)


hows = {how.__name__: how for how in [connect, idle, half, die, quiet, leave, drip, trickle, steady,
                                      deaf, sip]}
hows[sys.argv[3]]((sys.argv[1], int(sys.argv[2])), int(sys.argv[4]))
