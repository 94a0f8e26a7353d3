#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""check.py ADDRESS PORT REQUESTS CONNECTIONS KIND...

Random n, seed and algorithm; every hash is computed here too. KINDs, drawn at random:
get       the values in the query
post      in a JSON body
form      in a form-encoded body
text      as get, and the bare hash is wanted
head      as get, without a body
pieces    any of the above in segments cut at random places
pipeline  16 of the above at once, the answers in order
SEED in the environment repeats a run.
"""

import json
import os
import random
import sys
import threading
import time

from hashes import SEED, WIDTH, compute, spell
from http1 import Broken, Connection

N_MAX = 2000  # rounds; this interpreter does some 10 million of them a second
PIPELINE = 16
PLAIN = ["get", "post", "form", "text", "head"]


class Case:
    """One request and what must come back."""

    def __init__(self, draw, kind, host):
        self.is_text, self.is_head = kind == "text", kind == "head"
        self.alg = draw.choice(list(WIDTH))
        self.n = draw.choice([0, 1, 2, draw.randrange(100), draw.randrange(N_MAX)])
        self.seed = draw.getrandbits(WIDTH[self.alg])
        values = {"n": str(self.n), "seed": self.seed_text(draw), "alg": self.alg}
        if draw.random() < 0.2:
            del values["seed"]
            self.seed = SEED[self.alg]
        if self.alg == "fnv1a32" and draw.random() < 0.5:
            del values["alg"]
        order = draw.sample(list(values), len(values))
        pairs = "&".join("%s=%s" % (name, values[name]) for name in order)
        self.bytes = self.request(kind, host, pairs, {name: values[name] for name in order})

    def seed_text(self, draw):
        return draw.choice([str, hex])(self.seed)

    def request(self, kind, host, pairs, values):
        if kind == "post":
            body = json.dumps({k: int(v) if v.isdigit() else v for k, v in values.items()})
            return post(host, "application/json", body)
        if kind == "form":
            return post(host, "application/x-www-form-urlencoded", pairs)
        accept = "Accept: text/plain\r\n" if self.is_text else ""
        method = "HEAD" if self.is_head else "GET"
        line = "%s /compute?%s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (method, pairs, host, accept)
        return line.encode()

    def verify(self, status, fields, body):
        if status != 200:
            raise Broken("%d %r to %r" % (status, body, self.bytes))
        if self.is_head:
            return
        want = compute(self.alg, self.n, self.seed)
        if self.is_text:
            right = body == want.encode() + b"\n" and fields["content-type"] == "text/plain"
        else:
            got = json.loads(body)
            right = (got["hash"], got["n"], got["alg"]) == (want, self.n, self.alg)
            right = right and got["seed"] == spell(self.alg, self.seed)
        if not right:
            raise Broken("%r to %r, wanted %s" % (body, self.bytes, want))


def post(host, media_type, body):
    head = "POST /compute HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n"
    return (head % (host, media_type, len(body)) + body).encode()


def send_pieces(draw, connection, data):
    while data:
        size = draw.randrange(1, max(2, len(data) // 3))
        connection.send(data[:size])
        data = data[size:]
        time.sleep(draw.choice([0, 0, 0.001]))


class Client(threading.Thread):
    """One connection; asks until `quota` answers are right."""

    def __init__(self, number, address, port, quota, kinds):
        super().__init__()
        self.draw = random.Random("%s %d" % (os.environ.get("SEED", "saker"), number))
        self.address, self.port, self.quota, self.kinds = address, port, quota, kinds
        self.right, self.trouble = 0, None

    def run(self):
        try:
            connection = Connection(self.address, self.port)
            while self.right < self.quota:
                self.turn(connection, self.draw.choice(self.kinds))
            connection.close()
        except Exception as trouble:  # a thread's exception must not get lost
            self.trouble = repr(trouble)

    def turn(self, connection, kind):
        plain = [kind] if kind in PLAIN else PLAIN
        size = min(PIPELINE, self.quota - self.right) if kind == "pipeline" else 1
        host = "%s:%d" % ("[%s]" % self.address if ":" in self.address else self.address, self.port)
        cases = [Case(self.draw, self.draw.choice(plain), host) for _ in range(size)]
        data = b"".join(case.bytes for case in cases)
        if kind == "pieces":
            send_pieces(self.draw, connection, data)
        else:
            connection.send(data)
        for case in cases:
            case.verify(*connection.answer(case.is_head))
            self.right += 1
        if connection.received:
            raise Broken("bytes that nobody asked for: %r" % connection.received[:200])


def main():
    address, port, requests, connections = sys.argv[1], *map(int, sys.argv[2:5])
    share, rest = divmod(requests, connections)
    clients = [
        Client(i, address, port, share + (i < rest), sys.argv[5:]) for i in range(connections)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    troubles = [client.trouble for client in clients if client.trouble]
    for trouble in troubles[:5]:
        print("trouble:", trouble)
    right = sum(client.right for client in clients)
    print("%d of %d answers right, %d of %d connections in trouble"
          % (right, requests, len(troubles), connections))
    sys.exit(bool(troubles) or right != requests)


main()
