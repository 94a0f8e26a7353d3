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
import shlex
import signal
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
    parser.add_argument("--server", required=True, help="the command that starts the subject, in place")
    parser.add_argument("--client-netns", default="", help="path; empty: here")
    parser.add_argument("--post", default='{"n":100000}', help="the body")
    parser.add_argument("--rate", type=float, default=1000)
    parser.add_argument("--seconds", type=float, default=10, help="of the rest")
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--limit", default="p99<10ms", help="of the highest rate")
    parser.add_argument("--max-rate", type=float, default=100000)
    parser.add_argument("--step-s", type=float, default=1, help="of a step of --find-max")
    parser.add_argument("--burst", default="100@500", help="requests at once @ each so many ms")
    parser.add_argument("address")
    parser.add_argument("port")
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

    def __init__(self, command: str, log: str) -> None:
        self.log = log
        self.command = shlex.split(command)
        self.started = time.monotonic()
        with open(log, "wb") as out:
            self.process = subprocess.Popen(
                self.command, stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True
            )

    def said(self) -> str:
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    def must_live(self) -> None:
        if self.process.poll() is not None:
            lines = self.said().strip().splitlines() or [""]
            loadgen.die(f"{self.command[0]}: ended with status {self.process.returncode}: {lines[-1]}")

    def first_ms(self, address: str, port: int, body: bytes) -> float:
        """From just before exec to the first answer's first bytes."""
        while time.monotonic() - self.started < PATIENCE_S:
            if answered(address, port, body):
                return (time.monotonic() - self.started) * 1e3
            self.must_live()
        loadgen.die(f"{address} port {port}: no 200 to a POST within {PATIENCE_S} s: see {self.log}")

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
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGTERM)
            try:
                self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()


def steps(args: argparse.Namespace) -> dict[str, dict]:
    """The loads, in their order. The first 1,000 have no warm-up: they are it."""
    url = f"http://{args.address}:{args.port}/compute"
    rate = f"--rate={args.rate:g}"

    def ask(*options: str, keep: str = "") -> dict:
        post = [f"--post={args.post}", "--type=application/json", f"--connections={args.connections}"]
        return loadgen.run(args.build, url, *post, *options, keep=keep)

    return {
        "first": ask(rate, "--warm=0", "--floor=0", f"--seconds={FIRST / args.rate:g}"),
        "rest": ask(rate, "--warm=0", f"--seconds={args.seconds:g}", keep=f"{args.run}/load.json"),
        "highest": ask(
            f"--find-max={args.limit}", f"--max-rate={args.max_rate:g}", f"--seconds={args.step_s:g}"
        ),
        "burst": ask(f"--burst={args.burst}", "--connections=100", f"--seconds={args.seconds:g}"),
    }


def figures(first_ms: float, done: dict[str, dict]) -> dict[str, Optional[float]]:
    def of(step: str, name: str) -> Optional[float]:
        return loadgen.us(done[step], "latency", name)

    return {
        "first_ms": first_ms,
        "first_p50": of("first", "p50"),
        "first_p99": of("first", "p99"),
        "first_max": of("first", "max"),
        "rest_p50": of("rest", "p50"),
        "rest_p99": of("rest", "p99"),
        "first_ratio": loadgen.ratio(of("first", "p50"), of("rest", "p50")),
        "highest_rate": (done["highest"].get("find_max") or {}).get("rate"),
        "burst_p50": of("burst", "p50"),
        "burst_max": of("burst", "max"),
        **loadgen.failures(done["first"], done["rest"], done["burst"]),
    }


def main() -> None:
    args = arguments()
    loadgen.enter(args.client_netns)
    subject = Subject(args.server, os.path.join(args.run, "server.log"))
    try:
        first_ms = subject.first_ms(args.address, int(args.port), args.post.encode())
        subject.until_ready()
        done = steps(args)
    finally:
        subject.end()
    # The highest rate is found by runs that fail: its own verdict is in its result.
    judged = {name: done[name] for name in ("first", "rest", "burst")}
    loadgen.done(figures(first_ms, done), judged, highest=done["highest"].get("find_max"))


if __name__ == "__main__":
    main()
