#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""measure_container - start to first answer, in a container or not, alone or among others

Usage   measure_container.py [OPTIONS] SERVER...
Place   the `container` experiment; as root. It makes a world of its own, since a container's
        network is what is asked about: no place of the lab's is touched.

            client           host                        container N
            client0 ------ host0  10.89.0.1              (native, host: none of its own)
            10.89.0.2      host0 - br0 - bN ------------ eth0  10.89.0.1N   (bridge)
                           host0 ... macvlan ----------- eth0  10.89.0.1N   (macvlan)

Model   The networks are there before the clock starts, as a pod's is; network_ms is what they
        took. Then all instances are started at once, by measure-first, which asks each over
        the link until it answers. Instances that share a network have ports of their own.
        A container is the runtime's (crun, runc): an OCI bundle whose root is the host's
        libraries, bound read-only, so that what is measured is the runtime and not an image.
        %p and %i in SERVER are an instance's port and interface.
Owner   Namespaces, bundles, containers and hogs end with it; its mounts are in a mount
        namespace of its own.
Limits  INSTANCES instances. Where no runtime can run, `unshare` makes the same namespaces
        without one, and "runtime" says so.
Units   ms
"""
from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Dict, List, NoReturn, Optional

import world
from measured import Figures, call, die, finish, median, program, skip

INSTANCES = 8
NETS = ("native", "host", "bridge", "macvlan")
PAUSE_US = 100          # of the asker: spinning, it would be a hog itself
HOG = "while :; do :; done"
NGINX = """daemon off;
user root;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error;
events {{ }}
http {{
	access_log off;
	client_body_temp_path {folder}/body;
	proxy_temp_path {folder}/proxy;
	fastcgi_temp_path {folder}/fastcgi;
	uwsgi_temp_path {folder}/uwsgi;
	scgi_temp_path {folder}/scgi;
	server {{ listen {port}; return 200 'right'; }}
}}
"""


def ending(number: int, _frame: Any) -> NoReturn:
    sys.exit(128 + number)


class Hogs:
    """Busy loops, on whatever CPU the scheduler gives them."""

    def __init__(self, count: int):
        self.all = [subprocess.Popen(["sh", "-c", HOG]) for _ in range(count)]

    def end(self) -> None:
        for one in self.all:
            one.kill()
            one.wait()


def figures_of(said: Dict[str, Any], network_ms: float) -> Figures:
    each = [s["first_answer_ms"] for s in said["servers"]]
    return {"first_answer_ms": min(each), "median_answer_ms": median(each),
            "last_answer_ms": max(each), "network_ms": network_ms,
            "read_kib": said["figures"]["read_kib"]}


def start_file(folder: str, number: int, words: List[str], cpus: Optional[str]) -> None:
    """What measure-first starts, by its number: exec of one command."""
    path = Path(folder) / f"start-{number}"
    pin = ["taskset", "-c", cpus] if cpus else []
    path.write_text(f"#!/bin/sh\nexec {shlex.join(pin + words)}\n")
    path.chmod(0o755)


def instance_words(args: argparse.Namespace, number: int) -> List[str]:
    port = world.port(args.net, number)
    words = [w.replace("%p", str(port)).replace("%i", world.interface(args.net))
             for w in args.server]
    if args.nginx:
        words = nginx_words(args, number, port)
    path = shutil.which(words[0])
    if not path:
        die(f"{words[0]}: no such program: name one, or its path")
    return [os.path.realpath(path), *words[1:]]     # what a link is to is what is bound


def nginx_words(args: argparse.Namespace, number: int, port: int) -> List[str]:
    """As the lab's, with a port and a folder of this instance's own."""
    folder = os.path.join(args.folder, f"nginx-{number}")
    os.mkdir(folder)
    conf = Path(folder) / "conf"
    conf.write_text(NGINX.format(folder=folder, port=port))
    return ["nginx", "-e", "/dev/null", "-p", folder, "-c", str(conf)]


def start_files(args: argparse.Namespace, runtime: str) -> None:
    for number in range(args.instances):
        words = instance_words(args, number)
        cpus = args.server_cpu if args.cpuset == "pinned" else None
        binds = [args.folder, os.path.dirname(os.path.realpath(words[0]))]
        if args.net != "native":
            words = world.contained(runtime, args.folder, number, words,
                                    world.netns(args.net, number), cpus, binds)
        # A runtime pins by its cpuset; whoever has none, as a shell does.
        start_file(args.folder, number, words, None if runtime in world.RUNTIMES else cpus)


def first(args: argparse.Namespace) -> Dict[str, Any]:
    return call([program(args.build, "measure-first"), f"--from={world.path(world.CLIENT)}",
                 f"--count={args.instances}", f"--pause={PAUSE_US}", "--timeout=60",
                 f"--log={args.folder}/log", *([f"--cpu={args.cpu}"] if args.cpu else []),
                 world.address(args.net), world.port_pattern(args.net),
                 f"{args.folder}/start-%n"])


def measure(args: argparse.Namespace) -> None:
    runtime = "none" if args.net == "native" else world.runtime(args.folder, args.runtime)
    hogs = None
    try:
        world.make_link()
        started = time.monotonic()
        world.make(args.net, args.instances)
        network_ms = (time.monotonic() - started) * 1e3
        start_files(args, runtime)
        hogs = Hogs(args.hogs if args.load == "hogs" else 0)
        said = first(args)
    finally:
        if hogs:
            hogs.end()
        world.end(runtime, args.instances)
    invalid = [] if said["realtime"] else ["the asker has no real-time priority: hogs delay it"]
    finish(figures_of(said, network_ms), invalid, runtime=runtime, net=args.net,
           cpuset=args.cpuset, instances=args.instances, load=args.load, pause_us=PAUSE_US,
           servers=said["servers"])


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], allow_abbrev=False)
    parser.add_argument("--build", default="build", help="where measure-first is")
    parser.add_argument("--net", choices=NETS, default="native")
    parser.add_argument("--cpuset", choices=("free", "pinned"), default="free",
                        help="pinned: to --server-cpu")
    parser.add_argument("--instances", type=int, choices=range(1, INSTANCES + 1), default=1)
    parser.add_argument("--load", choices=("idle", "hogs"), default="idle")
    parser.add_argument("--hogs", type=int, default=8, help="how many (8)")
    parser.add_argument("--runtime", default="", help="crun, runc, unshare (the first that runs)")
    parser.add_argument("--cpu", help="that asks")
    parser.add_argument("--server-cpu", default="1", help="for --cpuset=pinned")
    parser.add_argument("--nginx", action="store_true", help="instead of SERVER")
    parser.add_argument("server", nargs=argparse.REMAINDER, help="its command")
    args = parser.parse_args()
    if not args.server and not args.nginx:
        parser.error("wanted: SERVER..., or --nginx")
    return args


def main() -> None:
    args = parse()
    if os.geteuid():
        die("it makes namespaces and containers: run as root")
    world.enter()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, ending)
    if world.own_network(args.net) and not world.has_kind(args.net):
        skip(f"this kernel makes no {args.net} devices")
    with tempfile.TemporaryDirectory(prefix="saker-container-") as folder:
        args.folder = folder
        measure(args)


if __name__ == "__main__":
    main()
