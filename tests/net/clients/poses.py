#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""poses.py ADDRESS4 ADDRESS6 PORT FIFO: five connections that stay in five states

idle   has asked once; asks N times more when a line of FIFO says N
head   half a head
body   half a body
lane   100 million rounds, and the next request stands behind them (over IPv6)
deaf   has asked for much and reads nothing

Prints the port of each, and how many bytes `idle` has sent; ends when it is killed."""

import select
import socket
import sys

from http1 import Connection

server4, server6, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
ASK = b"GET /compute?n=10 HTTP/1.1\r\nHost: poses\r\n\r\n"
LONG = b"GET /compute?n=100000000 HTTP/1.1\r\nHost: poses\r\n\r\n"
BODY = b"POST /echo HTTP/1.1\r\nHost: poses\r\nContent-Length: 16384\r\n\r\n"


def say(name, number):
    print(name, number, flush=True)


def pose(name, sent, address=server4):
    connection = Connection.__new__(Connection)
    connection.socket = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)
    if name == "deaf":
        connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.socket.connect((address, port))
    connection.received = b""
    connection.socket.settimeout(60)
    connection.send(sent)
    say(name, connection.socket.getsockname()[1])
    return connection


idle = pose("idle", ASK)
assert idle.answer()[0] == 200
say("asked", len(ASK))
others = [pose("head", ASK[:20]), pose("body", BODY + b"half"),
          pose("deaf", (BODY + bytes(16384)) * 2)]
lane = pose("lane", LONG * 8, server6)
print("ready", flush=True)
wishes = open(sys.argv[4])
while True:
    ready = select.select([wishes, lane.socket], [], [])[0]
    if lane.socket in ready:
        assert lane.answer()[0] in (200, 503)
        lane.send(LONG)
    if wishes in ready:
        for _ in range(int(wishes.readline())):
            idle.send(ASK)
            assert idle.answer()[0] == 200
