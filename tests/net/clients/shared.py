# SPDX-License-Identifier: GPL-2.0-only
"""Each decision of path steering, by a client's own sockets.

shared.py ADDRESS PORT [--old FILE]

--old: of connections from before the program is attached: opened and used, opened and
silent. FILE is made when they are there; when it is gone they are used.
Prints "ok - NAME" or "not ok - NAME".
"""
import errno
import os
import socket
import sys
import time

address, port = sys.argv[1], int(sys.argv[2])
WEB, OURS = "/", "/compute?n=1000&seed=42"
HASH = b'"hash":"0xe0d6c7e2"'


def connect(source=0):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    s = socket.socket(family)
    s.settimeout(10)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if source:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind(("", source))
    s.connect((address, port))
    return s


def connect_from(source):
    """As soon as our kernel lets go of the last one: its FIN is acknowledged."""
    for _ in range(1000):
        try:
            return connect(source)
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL:
                raise
            time.sleep(0.001)
    raise OSError(errno.EADDRNOTAVAIL, "for a second")


def get(target, more=""):
    return f"GET {target} HTTP/1.1\r\nHost: x\r\n{more}\r\n".encode()


def hear(s):
    """The answer: who gave it, its status, does it end the connection, its body."""
    got = b""
    while b"\r\n\r\n" not in got:
        part = s.recv(65536)
        if not part:
            return "nobody", 0, True, got
        got += part
    head, body = got.split(b"\r\n\r\n", 1)
    fields = {}
    for line in head.split(b"\r\n")[1:]:
        name, value = line.split(b":", 1)
        fields[name.lower()] = value.strip()
    while len(body) < int(fields.get(b"content-length", b"0")):
        body += s.recv(65536)
    closes = fields.get(b"connection") == b"close"
    server = fields.get(b"server", b"")
    who = "nginx" if b"x-server" in fields or server.startswith(b"nginx") else "saker"
    return who, int(head.split()[1]), closes, body


def report(name, got, wanted):
    print(f"ok - {name}" if got == wanted else f"not ok - {name}\n# got {got}, wanted {wanted}", flush=True)


def case(name, wanted, run):
    try:
        got = run()
    except OSError as error:
        got = repr(error)
    report(name, got, wanted)


def asked(pieces, pause=0.0, before=None):
    """Who answers what is sent in these pieces; then the end of the connection."""
    with connect() as s:
        if before:
            before(s)
        for piece in pieces:
            s.sendall(piece)
            time.sleep(pause)
        who, status, closes, _ = hear(s)
        if closes and s.recv(1):
            return "more behind the end"
        return who, status, closes


def probes(s):
    """Keepalive probes, every second, before the first request."""
    s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
    time.sleep(2.5)


def fin_first():
    with connect() as s:
        s.shutdown(socket.SHUT_WR)
        return s.recv(10)


def fin_with_data():
    with connect() as s:
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        s.sendall(get(OURS))
        s.shutdown(socket.SHUT_WR)
        return hear(s)[:2]


def silent():
    with connect() as s:
        time.sleep(1)
        s.settimeout(0.1)
        try:
            return s.recv(10)
        except socket.timeout:
            return "nothing"


def port_again(source, targets):
    """The same source port at once, for one target after the other; who closes is the server."""
    told = []
    for target in targets:
        with connect_from(source) as s:
            s.sendall(get(target, "Connection: close\r\n"))
            told.append(hear(s)[:2])
            s.recv(1)
    return told


def two_paths():
    """The web server has the connection: it proxies what is ours."""
    with connect() as s:
        told = []
        for target in (WEB, OURS, WEB):
            s.sendall(get(target))
            who, status, _, body = hear(s)
            told.append((who, status, HASH in body))
        return told


def tells(name, target, wanted):
    case(name, wanted, lambda: asked([get(target)]))


def decide():
    web, ours = ("nginx", 200, False), ("saker", 200, True)
    tells("/", WEB, web)
    tells("/compute?", OURS, ours)
    tells("/compute", "/compute", ours)
    tells("/compute/x: below it, so ours, which has none", "/compute/x", ("saker", 404, True))
    tells("/computer: begins like it", "/computer", web)
    tells("/Compute: another one", "/Compute", web)
    tells("absolute form: ours by its path", "http://x/compute?n=1000", ours)
    tells("absolute form: the web server's by its path", "http://x/", web)
    case("POST", ours, lambda: asked([
        b"POST /compute HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n",
        b'{"n":1000}']))
    case("Expect: 100-continue", "100", expects)
    case("HEAD", ("saker", 200, True), lambda: asked_head())
    case("first segment too short: ours", ours, lambda: asked([b"GET /com", get(OURS)[8:]], 0.1))
    case("first segment of one byte: ours", ours, lambda: asked([b"G", get(OURS)[1:]], 0.1))
    case("too short, and then it is not ours: 421", ("saker", 421, True), lambda: asked([b"GE", get(WEB)[2:]], 0.1))
    case("long enough, in two: the web server's", web, lambda: asked([b"GET / HT", get(WEB)[8:]], 0.1))
    case("an empty line in front: the web server's, which proxies", ("nginx", 200, False),
         lambda: asked([b"\r\n" + get(OURS)]))
    case("keepalive probes before the first request", ours, lambda: asked([get(OURS)], before=probes))
    case("the same, for the web server", web, lambda: asked([get(WEB)], before=probes))
    case("FIN first", b"", fin_first)
    case("data and FIN in one", ("saker", 200), fin_with_data)
    case("a client that never sends", "nothing", silent)
    case("TLS ClientHello: the web server's", ("nginx", 400, True), lambda: asked([bytes.fromhex(
        "16030100a5010000a10303") + bytes(32) + bytes.fromhex("00002413011302") + bytes(100)]))
    case("HTTP/2's preface: the web server's", True, lambda: asked(
        [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"])[0] == "nginx")
    case("a port again right after close", [("saker", 200)] * 40, lambda: port_again(43210, [OURS] * 40))
    case("the same, and then for the web server", [("saker", 200), ("nginx", 200)],
         lambda: port_again(43211, [OURS, WEB]))
    # Linux answers a SYN out of TIME-WAIT without a cookie: the connection is the kernel's.
    case("a port again that the web server has just closed: it proxies", [("nginx", 200)] * 2,
         lambda: port_again(43212, [WEB, OURS]))
    case("both on a connection of the web server's", [("nginx", 200, False), ("nginx", 200, True),
                                                     ("nginx", 200, False)], two_paths)


def asked_head():
    with connect() as s:
        s.sendall(b"HEAD /compute?n=1000 HTTP/1.1\r\nHost: x\r\n\r\n")
        got = b""
        while True:
            part = s.recv(65536)
            if not part:
                break
            got += part
        return "nginx" if b"X-Server" in got else "saker", int(got.split()[1]), b"Connection: close" in got


def expects():
    with connect() as s:
        s.sendall(b"POST /compute HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                  b"Content-Length: 10\r\nExpect: 100-continue\r\n\r\n")
        told = s.recv(4096).split()[1].decode()
        s.sendall(b'{"n":1000}')
        return told if hear(s)[:2] == ("saker", 200) else "no answer"


def old(path):
    used, mute = connect(), connect()
    used.sendall(get(WEB))
    first = hear(used)[0]
    open(path, "w", encoding="ascii").close()
    while os.path.exists(path):
        time.sleep(0.05)
    used.sendall(get(WEB))
    report("open before the attach: goes on", (first, hear(used)[:2]), ("nginx", ("nginx", 200)))
    used.sendall(get(OURS))
    report("and what is ours is proxied", hear(used)[:2], ("nginx", 200))
    mute.sendall(get(OURS))
    report("open and silent before the attach: the web server's", hear(mute)[:2], ("nginx", 200))


if len(sys.argv) > 3:
    old(sys.argv[4])
else:
    decide()
