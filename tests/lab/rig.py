# SPDX-License-Identifier: GPL-2.0-only
"""rig - experiments in a temporary folder, and a place without namespaces

The place is this host, on loopback; the load is standin/saker-load; the subject is peer.py
below. So the order of a run and all its ends are tried without root.
"""
import os
import shutil
import socket
import sys
import tempfile
import unittest
from pathlib import Path

import attempt
import experiment
import facts
import plan
import process
import run
import store
import subject

HERE = Path(__file__).resolve().parent

PEER = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = b'{"n":0,"hash":"0x811c9dc5"}'
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        if "die" in sys.argv: import os; os._exit(7)
http.server.ThreadingHTTPServer((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
"""

BASE = """title A test
factor subject own
subject own peer {python} -I -S {peer} $address $port
load --seconds=0.05
probe no
"""


class Here:
    """As place.Veth, without it."""
    name, iface, address, client_netns, remote = "veth", "lo", "127.0.0.1", "", None

    def __init__(self, processes):
        self.processes = processes

    def to_server(self, _cpus, words):
        return list(words)

    def receive_at_client(self, _cpus):
        return None

    def client_run(self, _cpus):
        return []

    to_client = to_server

    def server(self, words, _cpus="all", **more):
        return self.processes.start(words, **more)

    client = server


class Lab(unittest.TestCase):
    cpus = ("1", "0")

    def setUp(self):
        self.dir = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.dir)
        (self.dir / "peer.py").write_text(PEER)
        (self.dir / "build").mkdir()
        load = self.dir / "build" / "saker-load"
        command = f"{sys.executable} -I -S {HERE}/standin/saker-load"
        load.write_text(f"#!/bin/sh\nexec {command} \"$@\"\n")
        load.chmod(0o755)
        self.instead(facts, "gather", lambda *_: {"boot_id": "a", "kernel": "b", "place": "veth"})
        self.instead(attempt, "cpus_of_place", lambda: self.cpus)
        self.instead(facts, "costs", lambda *_: None)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.instead(subject, "PORT", free.getsockname()[1])
        self.instead(process, "LOCK", self.dir / "lock")
        self.instead(run, "open_place", lambda processes, *_: Here(processes))

    def instead(self, module, name: str, what) -> None:
        self.addCleanup(setattr, module, name, getattr(module, name))
        setattr(module, name, what)

    def file(self, text: str) -> Path:
        path = self.dir / "x.lab"
        path.write_text(text)
        return path

    def base(self, more: str = "") -> str:
        return BASE.format(python=sys.executable, peer=self.dir / "peer.py") + more

    def session(self, text: str, accept_dirty: bool = False) -> store.Session:
        exp = experiment.load(self.file(text))
        options = run.Options(build=str(self.dir / "build"), here=str(self.dir))
        return run.new_session(exp, options, str(self.dir / "out"), plan.make(exp), exp.repeat,
                               accept_dirty)

    def make(self, text: str, accept_dirty: bool = False, status: int = 0) -> store.Session:
        session = self.session(text, accept_dirty)
        self.go_on(session, status)
        return session

    def go_on(self, session: store.Session, status: int = 0) -> None:
        with open(os.devnull, "w", encoding="ascii") as quiet:
            kept, sys.stderr = sys.stderr, quiet
            try:
                got = run.make_all(session, self.dir / "build")
            finally:
                sys.stderr = kept
        self.assertEqual(got, status, [(r.state, r.why) for r in session.runs])
