#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""python_client.py ADDRESS PORT: Python's own http.client, on one connection while that may be.

Prints "ok - NAME" or "not ok - NAME".
"""

import http.client
import json
import sys

RIGHT = "0xa06ae7fd"  # fnv1a32, n=1000
JSON = {"Content-Type": "application/json"}

connection = http.client.HTTPConnection(sys.argv[1], int(sys.argv[2]), timeout=30)
first = None


def report(name, got, wanted):
    print("ok - %s" % name if got == wanted
          else "not ok - %s\n# got %r, wanted %r" % (name, got, wanted), flush=True)


def ask(*words, **more):
    """Status, body; on the first connection, until an answer has said that it ends."""
    global first
    connection.request(*words, **more)
    first = first or connection.sock
    answer = connection.getresponse()
    body = answer.read()
    if connection.sock is None:
        first = None
    elif connection.sock is not first:
        sys.exit("another connection was opened: %s %s" % words[:2])
    return answer, body


def pieces(text, size):
    for start in range(0, len(text), size):
        yield text[start:start + size].encode()


answer, body = ask("GET", "/compute?n=1000")
report("GET", (answer.status, json.loads(body)["hash"]), (200, RIGHT))
answer, body = ask("HEAD", "/compute?n=1000")
report("HEAD: a length, no body", (answer.status, int(answer.headers["Content-Length"]) > 50, body),
       (200, True, b""))
answer, body = ask("POST", "/compute", json.dumps({"n": 1000}), JSON)
report("POST with a length", (answer.status, json.loads(body)["hash"]), (200, RIGHT))
answer, body = ask("POST", "/compute", pieces(json.dumps({"n": 1000}), 3), JSON, encode_chunked=True)
report("POST in chunks of three bytes", (answer.status, json.loads(body)["hash"]), (200, RIGHT))
answer, body = ask("GET", "/nothing")
report("404, and the connection stays", answer.status, 404)
answer, body = ask("POST", "/compute", b"{", JSON)
report("400 to half an object, and the connection stays", answer.status, 400)
answer, body = ask("OPTIONS", "/compute")
report("OPTIONS: 204 without a length", (answer.status, answer.headers["Content-Length"], body),
       (204, None, b""))
answer, body = ask("GET", "/healthz")
report("and still the same connection", answer.status, 200)
answer, body = ask("PUT", "/compute", b"x" * 1000, JSON)
report("405 to a request with a body: the end is announced",
       (answer.status, "POST" in answer.headers["Allow"], answer.headers["Connection"]),
       (405, True, "close"))
answer, body = ask("GET", "/compute?n=1000")
report("which it understands", (answer.status, json.loads(body)["hash"]), (200, RIGHT))
