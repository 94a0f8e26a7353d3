#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""crowd.py ADDRESS PORT N GAP_MS FIFO: N connections that stay, and do as they are told

Prints "open N" when all are connected, GAP_MS apart. Then a line of FIFO at a time:
ask    one request on each, 64 under way; "asked N": so many answers were right
half   half a head on each; "half N"
fill   half the head of an upload on each, then on each fourth the rest, all but the last
       byte of its body; "fill N"
gone   "gone I J ...": the numbers, from 0, of those that the other side has ended
end    close them; "closed N"
"""

import resource
import socket
import sys
import time

from http1 import Broken, Connection

REQUEST = b"GET /compute?n=1000 HTTP/1.1\r\nHost: crowd\r\n\r\n"
RIGHT = b'"hash":"0xa06ae7fd"'
UNDER_WAY = 64
BODY = 16384
UPLOAD = b"POST /echo HTTP/1.1\r\nHost: crowd\r\nContent-Length: %d\r\n\r\n" % BODY


def ask(crowd):
    right = 0
    for at in range(0, len(crowd), UNDER_WAY):
        some = crowd[at:at + UNDER_WAY]
        for connection in some:
            connection.send(REQUEST)
        for connection in some:
            try:
                status, _, body = connection.answer()
                right += status == 200 and RIGHT in body
            except (Broken, OSError):
                pass
    return "asked %d" % right


def half(crowd):
    for connection in crowd:
        connection.send(REQUEST[:30])
    return "half %d" % len(crowd)


def fill(crowd):
    for connection in crowd:
        connection.send(UPLOAD[:30])
    for connection in crowd[::4]:
        connection.send(UPLOAD[30:] + bytes(BODY - 1))
    return "fill %d" % len(crowd)


def has_ended(connection):
    patience = connection.socket.gettimeout()
    connection.socket.setblocking(False)
    try:
        return connection.socket.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        connection.socket.settimeout(patience)


def gone(crowd):
    return "gone " + " ".join(str(i) for i, one in enumerate(crowd) if has_ended(one))


def main():
    address, port, count, gap_ms = sys.argv[1], *map(int, sys.argv[2:5])
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    crowd = []
    for _ in range(count):
        crowd.append(Connection(address, port))
        time.sleep(gap_ms / 1000)
    print("open", len(crowd), flush=True)
    words = {"ask": ask, "half": half, "fill": fill, "gone": gone}
    with open(sys.argv[5]) as told:
        for line in told:
            if line.strip() == "end":
                break
            print(words[line.strip()](crowd), flush=True)
    for connection in crowd:
        connection.close()
    print("closed", len(crowd), flush=True)


main()
