#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""rude.py ADDRESS PORT HOW [N]: clients that are no friends

connect N  N times, one after the other: connect, say nothing, close
idle N     N connections at once that say nothing; one more is asked, then all close
half N     N requests that stop in the middle of the head; until the other side closes
die N      N times: ask for much, go away with RST before the answer
quiet N    N connections that ask once and stay; until the other side closes
leave N    N times: half a body, then FIN; until the other side closes
"""

import socket
import struct
import sys

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


hows = {"connect": connect, "idle": idle, "half": half, "die": die, "quiet": quiet, "leave": leave}
hows[sys.argv[3]]((sys.argv[1], int(sys.argv[2])), int(sys.argv[4]))
