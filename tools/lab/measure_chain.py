#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""measure_chain.py - the subject behind one nginx, two, and two with TLS between them

Place   experiments/chain.lab runs it on the client's CPU, beside a subject that is up; the
        nginxes are on that CPU too, on the client's side, so that the last hop crosses the wire.
Model   saker-load asks the first of the chain in plain HTTP, in an open loop, and verifies each
        hash; what differs between two levels is one thing:
          direct     load -> subject
          proxied    load -> nginx -> subject
          twice      load -> nginx -> nginx -> subject
          tls        load -> nginx =TLS=> nginx -> subject        connections kept everywhere
          tls-anew   the same, with a TLS handshake for each request
        The second nginx ends TLS as a web server in front of the subject does; the first one is
        the client that speaks it.
Limits  One worker process each. TLS 1.3, a P-256 certificate of its own, made for the run.
Units   Figures: microseconds; requests a second.
Errors  As loadgen.py has them; the nginxes are ended in each case.
"""

import argparse
import os
import socket
import subprocess
import tempfile
import time

import loadgen

LEVELS = ("direct", "proxied", "twice", "tls", "tls-anew")
PATIENCE_S = 10  # for an nginx to listen, and to end


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="measure_chain.py")
    parser.add_argument("--build", required=True)
    parser.add_argument("--run", required=True, help="folder of this run: load.json goes there")
    parser.add_argument("--chain", required=True, choices=LEVELS)
    parser.add_argument("--path", default="/compute?n=0")
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--warm-s", type=float, default=1)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument(
        "--limit-ms", type=float, default=10, help="of p99 at the highest rate; 0: do not look"
    )
    parser.add_argument("--max-rate", type=float, default=100000)
    parser.add_argument("--step-s", type=float, default=1, help="of a step of --find-max")
    parser.add_argument("address")
    parser.add_argument("port")
    return parser.parse_args()


def certificate(folder: str) -> None:
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"
    rest = ["-days", "2", "-subj", "/CN=saker"]
    files = ["-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"]
    words = [*command.split(), *rest, *files]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    if ended.returncode:
        loadgen.die(f"openssl made no certificate: {ended.stderr.strip().splitlines()[-1]}")


def server(folder: str, port: int, to: str, tls_in: bool, tls_out: bool, keep: bool) -> str:
    """The http block of one nginx: listens on PORT, hands /compute on to TO."""
    listen = f"listen 127.0.0.1:{port}" + (" ssl" if tls_in else "") + " backlog=4096;"
    if tls_in:
        listen += f" ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;"
        listen += " ssl_protocols TLSv1.3;"
    kept = "keepalive 64; keepalive_requests 1000000000;" if keep else ""
    reuse = "" if keep else "proxy_ssl_session_reuse off;"  # else a resumption, not a handshake
    connection = '""' if keep else "close"
    return f"""
	upstream next {{ server {to}; {kept} }}
	server {{
		{listen}
		keepalive_requests 1000000000;
		proxy_http_version 1.1;
		proxy_set_header Connection {connection};
		proxy_ssl_protocols TLSv1.3;
		{reuse}
		location = /compute {{ proxy_pass {"https" if tls_out else "http"}://next; }}
	}}"""


def configuration(folder: str, block: str) -> str:
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    folders = "\n".join(f"\t{kind}_temp_path {folder}/{kind};" for kind in kinds)
    return f"""daemon off;
user root;
worker_processes 1;
worker_rlimit_nofile 8192;
pid {folder}/pid;
error_log {folder}/error warn;
events {{ worker_connections 4096; }}
http {{
	access_log off;
{folders}
{block}
}}
"""


class Nginx:
    """One of the chain, in a folder of its own."""

    def __init__(self, folder: str, port: int, block: str) -> None:
        os.mkdir(folder)
        self.folder, self.port = folder, port
        with open(f"{folder}/conf", "w", encoding="utf-8") as file:
            file.write(configuration(folder, block))
        command = ["nginx", "-e", f"{folder}/error", "-p", folder, "-c", f"{folder}/conf"]
        # A group of its own: its worker processes end with it.
        self.process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)

    def until_listening(self) -> None:
        end = time.monotonic() + PATIENCE_S
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                if self.process.poll() is not None or time.monotonic() > end:
                    self.complain()
            time.sleep(0.02)

    def complain(self) -> None:
        with open(f"{self.folder}/error", encoding="utf-8") as file:
            lines = file.read().strip().splitlines() or ["no reason given"]
        loadgen.die(f"nginx on 127.0.0.1:{self.port} does not listen: {lines[-1]}")

    def end(self) -> None:
        loadgen.end_group(self.process, PATIENCE_S)


def free_ports(count: int) -> list[int]:
    """On 127.0.0.1, all at once, so that no two are the same."""
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in held]
    for one in held:
        one.close()
    return ports


def chain(folder: str, level: str, subject: str) -> list[tuple[int, str]]:
    """Ports and http blocks of the nginxes that LEVEL wants; the last one is who is asked."""
    if level == "direct":
        return []
    inner, front = free_ports(2)
    if level == "proxied":
        return [(front, server(folder, front, subject, False, False, True))]
    tls = level.startswith("tls")
    kept = level != "tls-anew"
    return [
        (inner, server(folder, inner, subject, tls, False, True)),
        (front, server(folder, front, f"127.0.0.1:{inner}", False, tls, kept)),
    ]


def find_highest(args: argparse.Namespace, url: str, load: dict) -> dict:
    """Above the rate of LOAD. Where that is too much already there is none."""
    p99 = loadgen.us(load, "latency", "p99")
    if not args.limit_ms or p99 is None or p99 >= args.limit_ms * 1e3:
        return {}
    condition = f"--find-max=p99<{args.limit_ms:g}ms"
    rates = [f"--rate={args.rate:g}", f"--max-rate={args.max_rate:g}"]
    times = [f"--seconds={args.step_s:g}", "--warm=0.2"]
    common = [f"--mix=1:{args.path}", f"--connections={args.connections}"]
    return loadgen.run(args.build, url, condition, *rates, *times, *common)


def measure(args: argparse.Namespace, url: str) -> None:
    common = [f"--mix=1:{args.path}", f"--connections={args.connections}"]
    times = [f"--seconds={args.seconds:g}", f"--warm={args.warm_s:g}"]
    load = loadgen.run(
        args.build, url, *common, f"--rate={args.rate:g}", *times, keep=f"{args.run}/load.json"
    )
    search = find_highest(args, url, load)
    highest = search.get("find_max") or {}
    names = ("p50", "p90", "p99")
    figures = {f"chain_{name}": loadgen.us(load, "latency", name) for name in names}
    figures["highest_rate"] = highest.get("rate")
    judged = {"load": load, **({"highest": search} if search else {})}
    loadgen.done({**figures, **loadgen.failures(load)}, judged, highest=highest)


def main() -> None:
    args = arguments()
    subject = f"{args.address}:{args.port}"
    loadgen.end_by_signals()
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        if args.chain.startswith("tls"):
            certificate(folder)
        up: list[Nginx] = []
        try:
            for port, block in chain(folder, args.chain, subject):
                up.append(Nginx(f"{folder}/{port}", port, block))
                up[-1].until_listening()
            measure(args, f"http://127.0.0.1:{up[-1].port}" if up else f"http://{subject}")
        finally:
            for one in reversed(up):
                one.end()


if __name__ == "__main__":
    main()
