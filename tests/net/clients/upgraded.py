# SPDX-License-Identifier: GPL-2.0-only
"""Connections in every pose while the responder is upgraded under them.

upgraded.py ADDRESS PORT FILE    until FILE is there

Each pose is one connection that lives through all of it; a line of TAP for each.
"""
import json
import os
import socket
import sys
import threading
import time

address, port, until = sys.argv[1], int(sys.argv[2]), sys.argv[3]
HASH_2 = "0x1076963a"
HASH_10M = "0x25be6645"


def going():
    return not os.path.exists(until)


class Client:
    def __init__(self):
        self.s = socket.create_connection((address, port), 10)
        self.s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.rest = b""

    def send(self, data):
        self.s.sendall(data)

    def answer(self):
        while b"\r\n\r\n" not in self.rest:
            self.more()
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        if not head.startswith(b"HTTP/1.1 200"):
            raise ValueError(head)
        length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
        while len(self.rest) < length:
            self.more()
        body, self.rest = self.rest[:length], self.rest[length:]
        return body

    def more(self):
        data = self.s.recv(65536)
        if not data:
            raise EOFError("the connection ended")
        self.rest += data


def get(n):
    return b"GET /compute?n=%d HTTP/1.1\r\nHost: x\r\n\r\n" % n


def is_hash(body, wanted):
    if json.loads(body)["hash"] != wanted:
        raise ValueError(body)


def idle(c):
    """idle for a second at a time"""
    time.sleep(1)
    c.send(get(2))
    is_hash(c.answer(), HASH_2)


def half_a_head(c):
    """a head in two halves, a second apart"""
    c.send(get(2)[:25])
    time.sleep(1)
    c.send(get(2)[25:])
    is_hash(c.answer(), HASH_2)


def half_a_body(c):
    """a chunked body in pieces"""
    c.send(b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel")
    time.sleep(0.6)
    c.send(b"lo\r\n6\r\n worl")
    time.sleep(0.6)
    c.send(b"d\r\n0\r\n\r\n")
    if c.answer() != b"hello world":
        raise ValueError("another body came back")


def job(c):
    """a job in a lane"""
    c.send(get(10_000_000))
    is_hash(c.answer(), HASH_10M)


def pipeline(c):
    """three requests at once, the first one long"""
    c.send(get(10_000_000) + get(2) + get(2))
    is_hash(c.answer(), HASH_10M)
    is_hash(c.answer(), HASH_2)
    is_hash(c.answer(), HASH_2)


failed = 0


def run(pose):
    global failed
    rounds = 0
    try:
        c = Client()
        while going():
            pose(c)
            rounds += 1
        print(f"ok - {address}: {pose.__doc__}: {rounds} times on one connection", flush=True)
    except Exception as e:  # pylint: disable=broad-except
        failed += 1
        print(f"not ok - {address}: {pose.__doc__}: {e!r} after {rounds}", flush=True)


poses = [idle, half_a_head, half_a_body, job, pipeline]
threads = [threading.Thread(target=run, args=(p,)) for p in poses for _ in range(2)]
for t in threads:
    t.start()
for t in threads:
    t.join()
sys.exit(failed != 0)
