#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""soaker.py ADDRESS4 ADDRESS6 PORT CLIENTS SEED STATUS: clients of all kinds, until SIGTERM

Each of CLIENTS threads makes one connection after the other; what it does on it is drawn:
several requests, one and close, a pipeline, a body in pieces, slow reading, half a
close, leaving in the middle. Every answer is compared with what this program computes.
A connection that ends without being meant to is broken, never a reason to stop.
Once in 100 ms STATUS is written anew: JSON with right, wrong, broken, refused answers
and "lives", the number of connections that each thread has finished. A wrong answer, and how
a connection broke, is a line on stderr.
"""

import collections
import json
import os
import random
import signal
import socket
import struct
import sys
import threading
import time

from hashes import WIDTH, compute
from http1 import Broken, Connection

PATIENCE = 30  # seconds for one answer
RST_AT_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER with no time


class Soaker(threading.Thread):
    def __init__(self, where, draw, stop):
        super().__init__(daemon=True)
        self.where, self.draw, self.stop = where, draw, stop
        self.count = collections.Counter()
        self.lives, self.waits_from = 0, 0.0

    # --- one request and its answer ------------------------------------------------------

    def request(self, close=False, method="GET"):
        alg, n = self.draw.choice(list(WIDTH)), self.draw.randrange(300)
        seed = self.draw.getrandbits(WIDTH[alg])
        ends = "Connection: close\r\n" if close else ""
        line = "%s /compute?n=%d&seed=%d&alg=%s HTTP/1.1\r\nHost: soak\r\n%sAccept: text/plain\r\n\r\n"
        return (line % (method, n, seed, alg, ends)).encode(), compute(alg, n, seed).encode() + b"\n"

    def judge(self, connection, wanted):
        self.waits_from = time.monotonic()
        status, _, body = connection.answer()
        if status == 503:
            self.count["refused"] += 1
        elif status == 200 and body == wanted:
            self.count["right"] += 1
        else:
            self.count["wrong"] += 1
            print("wrong: %d %r, wanted %r" % (status, body[:200], wanted[:200]), file=sys.stderr)

    def ask(self, connection, close=False):
        data, wanted = self.request(close)
        connection.send(data)
        self.judge(connection, wanted)

    # --- what a connection does ------------------------------------------------------------

    def several(self, connection):
        for _ in range(self.draw.randrange(1, 60)):
            self.ask(connection)
            if self.stop.is_set():
                return

    def one_and_close(self, connection):
        self.ask(connection, close=True)
        if connection.socket.recv(1):
            raise Broken("bytes behind the last answer")

    def pipeline(self, connection):
        for _ in range(self.draw.randrange(1, 10)):
            several = [self.request() for _ in range(self.draw.randrange(2, 17))]
            connection.send(b"".join(data for data, _ in several))
            for _, wanted in several:
                self.judge(connection, wanted)

    def pieces(self, connection):
        body = os.urandom(self.draw.randrange(1, 16384))
        data = b"POST /echo HTTP/1.1\r\nHost: soak\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        while data:
            size = self.draw.randrange(1, 4000)
            connection.send(data[:size])
            data = data[size:]
            time.sleep(self.draw.choice([0, 0, 0.002, 0.02]))
        self.judge(connection, body)

    def slow(self, connection):
        data, wanted = self.request()
        for at in range(0, len(data), 20):
            connection.send(data[at:at + 20])
            time.sleep(0.02)
        time.sleep(0.2)
        self.judge(connection, wanted)

    def half_close(self, connection):
        data, wanted = self.request()
        connection.send(data)
        connection.socket.shutdown(socket.SHUT_WR)
        self.judge(connection, wanted)

    def leaves(self, connection):
        connection.send(b"GET /compute?n=100000000 HTTP/1.1\r\nHost: soak\r\n\r\n"[:self.draw.randrange(50)])
        if self.draw.random() < 0.5:
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RST_AT_CLOSE)

    KINDS = [several, several, one_and_close, pipeline, pieces, slow, half_close, leaves]

    def run(self):
        while not self.stop.is_set():
            kind = self.draw.choice(self.KINDS)
            try:
                connection = Connection(self.draw.choice(self.where[:2]), self.where[2], PATIENCE)
                try:
                    kind(self, connection)
                finally:
                    connection.close()
            except (Broken, OSError, ValueError) as trouble:
                self.count["broken"] += 1
                waited = time.monotonic() - self.waits_from
                print("broken: %.3f %s: %r, %.1f s after the last request"
                      % (time.time(), kind.__name__, trouble, waited), file=sys.stderr)
                time.sleep(0.05)
            self.lives += 1


def write(path, soakers):
    total = collections.Counter(right=0, wrong=0, broken=0, refused=0)
    for one in soakers:
        total.update(one.count)
    with open(path + ".new", "w") as file:
        json.dump(dict(total, lives=[one.lives for one in soakers]), file)
    os.replace(path + ".new", path)


def main():
    where, count, seed, path = [*sys.argv[1:3], int(sys.argv[3])], int(sys.argv[4]), *sys.argv[5:7]
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    soakers = [Soaker(where, random.Random("%s %d" % (seed, i)), stop) for i in range(count)]
    for one in soakers:
        one.start()
    while any(one.is_alive() for one in soakers):
        write(path, soakers)
        time.sleep(0.1)
    write(path, soakers)


main()
