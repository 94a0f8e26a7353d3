#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""measure_gateway.py - a small service behind POST, from its start to its limit

Place   experiments/gateway.lab runs it with `start no`, on the client's CPU. It goes to
        --client-netns, asks from there, and starts the subject by a command that leads back.
Model   One life of the subject: exec to the first answer; ready; the first 1,000 requests at a
        constant rate; as many seconds more at the same rate; the highest rate at which the limit
        holds; bursts; SIGTERM. The first answer is waited for by connects in a loop, so it is the
        first that a client can have, over whatever path it comes.
Limits  The loop looks each 50 us or so: the first answer is known no better than that.
Units   Figures: microseconds, but first_ms; requests a second.
Errors  As loadgen.py has them; the subject is ended in each case.
"""

import argparse
import os
import socket
import subprocess
import time
from typing import Optional

import loadgen

PATIENCE_S = 20  # for the first answer, for `ready`, and for the end
CONNECT_S = 0.05  # a SYN that is lost while a program is attached would come again after 1 s
FIRST = 1000  # requests


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="measure_gateway.py")
    parser.add_argument("--build", required=True)
    parser.add_argument("--run", required=True, help="folder of this run: load.json, server.log")
    parser.add_argument("--client-netns", default="", help="path; empty: here")
    parser.add_argument("--post", default='{"n":100000}', help="the body")
    parser.add_argument("--rate", type=float, default=1000)
    parser.add_argument("--seconds", type=float, default=10, help="of the rest")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--limit-ms", type=float, default=10, help="of p99 at the highest rate")
    parser.add_argument("--max-rate", type=float, default=100000)
    parser.add_argument("--step-s", type=float, default=1, help="of a step of --find-max")
    parser.add_argument("--burst", default="100@500", help="requests at once @ each so many ms")
    parser.add_argument("address")
    parser.add_argument("port")
    parser.add_argument("server", nargs=argparse.REMAINDER, help="what starts it in its place")
    return parser.parse_args()


def answered(address: str, port: int, body: bytes) -> bool:
    """One connection, one request: is there a 200?"""
    head = (
        f"POST /compute HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    try:
        with socket.create_connection((address, port), timeout=CONNECT_S) as peer:
            peer.settimeout(PATIENCE_S)
            peer.sendall(head.encode() + body)
            return peer.recv(4096).startswith(b"HTTP/1.1 200 ")
    except OSError:
        return False


class Subject:
    """The server, from exec to its end. Its group is its own, so that nothing of it stays."""

    def __init__(self, command: list[str], log: str) -> None:
        self.log = log
        self.command = command
        self.started = time.monotonic()
        with open(log, "wb") as out:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def said(self) -> str:
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def must_live(self) -> None:
        if self.process.poll() is not None:
            last = (self.said().strip().splitlines() or [""])[-1]
            status = self.process.returncode
            loadgen.die(f"{self.command[0]}: ended with status {status}: {last}")

    def first_ms(self, address: str, port: int, body: bytes) -> float:
        """From just before exec to the first answer's first bytes."""
        while time.monotonic() - self.started < PATIENCE_S:
            if answered(address, port, body):
                return (time.monotonic() - self.started) * 1e3
            self.must_live()
        loadgen.die(f"{address} port {port}: no 200 to a POST in {PATIENCE_S} s: see {self.log}")

    def until_ready(self) -> None:
        """Saker says so when the bypass is in effect; others are ready with the first answer."""
        if not any(os.path.basename(word) == "saker" for word in self.command):
            return
        end = time.monotonic() + PATIENCE_S
        while "saker: ready" not in self.said():
            self.must_live()
            if time.monotonic() > end:
                loadgen.die(f"no `saker: ready` within {PATIENCE_S} s: see {self.log}")
            time.sleep(0.01)

    def end(self) -> None:
        loadgen.end_group(self.process, PATIENCE_S)


class Life:
    """The loads of one life, in their order. The first 1,000 have no warm-up: they are it."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.url = f"http://{args.address}:{args.port}/compute"
        self.rate = f"--rate={args.rate:g}"
        self.done: dict[str, dict] = {}

    def ask(self, *options: str, keep: str = "") -> dict:
        args = self.args
        post = [f"--post={args.post}", "--type=application/json"]
        connections = f"--connections={args.connections}"
        return loadgen.run(args.build, self.url, *post, connections, *options, keep=keep)

    def lead(self) -> None:
        args, seconds = self.args, f"--seconds={self.args.seconds:g}"
        self.done["first"] = self.ask(
            self.rate, "--warm=0", "--floor=0", f"--seconds={FIRST / args.rate:g}"
        )
        self.done["rest"] = self.ask(self.rate, "--warm=0", seconds, keep=f"{args.run}/load.json")
        self.done["highest"] = self.highest()
        self.done["burst"] = self.ask(f"--burst={args.burst}", "--connections=100", seconds)

    def highest(self) -> dict:
        """Looked for above the rate that was asked so far. Where that is too much already there is
        none: the search would go down to rates that nobody means."""
        args, p99 = self.args, self.us("rest", "p99")
        if p99 is None or p99 >= args.limit_ms * 1e3:
            return {}
        return self.ask(
            self.rate, f"--find-max=p99<{args.limit_ms:g}ms", f"--max-rate={args.max_rate:g}",
            f"--seconds={args.step_s:g}", "--warm=0.2",
        )

    def us(self, step: str, name: str) -> Optional[float]:
        return loadgen.us(self.done[step], "latency", name)

    def figures(self, first_ms: float) -> dict[str, Optional[float]]:
        return {
            "first_ms": first_ms,
            "first_p50": self.us("first", "p50"),
            "first_p99": self.us("first", "p99"),
            "first_max": self.us("first", "max"),
            "rest_p50": self.us("rest", "p50"),
            "rest_p99": self.us("rest", "p99"),
            "first_ratio": loadgen.ratio(self.us("first", "p50"), self.us("rest", "p50")),
            "highest_rate": (self.done["highest"].get("find_max") or {}).get("rate"),
            "burst_p50": self.us("burst", "p50"),
            "burst_max": self.us("burst", "max"),
            **loadgen.failures(*self.judged().values()),
        }

    def judged(self) -> dict[str, dict]:
        """Those whose failures count. The highest rate is found by steps that fail."""
        return {name: self.done[name] for name in ("first", "rest", "burst")}

    def searched(self) -> dict[str, dict]:
        """The search says itself whether it counts."""
        return {"highest": self.done["highest"]} if self.done["highest"] else {}


def main() -> None:
    args = arguments()
    if not args.server:
        loadgen.die("no command that starts the subject: give it behind ADDRESS and PORT")
    loadgen.enter(args.client_netns)
    loadgen.end_by_signals()
    subject = Subject(args.server, os.path.join(args.run, "server.log"))
    try:
        first_ms = subject.first_ms(args.address, int(args.port), args.post.encode())
        subject.until_ready()
        life = Life(args)
        life.lead()
    finally:
        subject.end()
    highest = life.done["highest"].get("find_max")
    loadgen.done(life.figures(first_ms), {**life.judged(), **life.searched()}, highest=highest)


if __name__ == "__main__":
    main()
