#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""strange.py ADDRESS PORT KIND

A server for those who test clients. It reads requests, and

right    answers right
lie      answers with a wrong hash
hasty    answers with a wrong hash what comes less than 3 ms behind the request before
mute     says nothing
reset    resets the connection
junk     is no HTTP server
error    answers 500
close    answers right, says that it closes, and does
shut     answers right and closes without a word
half     closes in the middle of the answer
chunks   answers right: an interim answer, then chunks, a few bytes at a time
"""

import socket
import struct
import sys
import threading
import time

address, port, kind = sys.argv[1:]
RIGHT = b'{"hash":"0x1076963a"}'  # of n=2
WRONG = b'{"hash":"0x1076963b"}'
seen = [0.0]  # when the last request came


def answer(body, status="200 OK", more=""):
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{more}\r\n".encode() + body


def serve(client):
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    held = b""
    while more := client.recv(65536):
        held += more
        while b"\r\n\r\n" in held:
            held = held.split(b"\r\n\r\n", 1)[1]
            if not reply(client):
                client.close()
                return


def reply(client):
    """False: the connection ends."""
    if kind == "right":
        client.sendall(answer(RIGHT))
    elif kind == "hasty":
        now = time.monotonic()
        client.sendall(answer(RIGHT if now - seen[0] >= 0.003 else WRONG))
        seen[0] = now
    elif kind == "lie":
        client.sendall(answer(WRONG))
    elif kind == "error":
        client.sendall(answer(b"", "500 Trouble"))
    elif kind == "junk":
        client.sendall(b"SSH-2.0-strange\r\n")
    elif kind == "reset":
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False
    elif kind == "close":
        client.sendall(answer(RIGHT, more="Connection: close\r\n"))
        return False
    elif kind == "shut":
        client.sendall(answer(RIGHT))
        return False
    elif kind == "half":
        client.sendall(answer(RIGHT)[:-5])
        return False
    elif kind == "chunks":
        text = b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        text += b"".join(b"%x\r\n%b\r\n" % (len(RIGHT[i : i + 9]), RIGHT[i : i + 9]) for i in (0, 9, 18))
        text += b"0\r\n\r\n"
        for i in range(0, len(text), 7):
            client.sendall(text[i : i + 7])
    return True


def guarded(client):
    try:
        serve(client)
    except OSError:
        pass  # the client went away


with socket.create_server((address, int(port)), backlog=512) as server:
    while True:
        threading.Thread(target=guarded, args=(server.accept()[0],), daemon=True).start()
