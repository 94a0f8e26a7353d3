# SPDX-License-Identifier: GPL-2.0-only
"""subject - what is measured: saker, nginx, or somebody's own service

Place   run makes one for each run, starts it at the place's server side, and stops it
Model   words     its bare command line: $server
        start()   until it listens: saker says `saker: ready`, to the others we connect
        mode()    what saker-stat says of the way in effect; None for the others
        pss_kb()  of all its processes, shared pages by share
Owner   it ends with the Processes it was started by
Units   seconds, KiB
"""
from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any, Dict, List, Optional

import process
from place import ALL
from process import Process
from trouble import Trouble

PORT = 8080
READY = 30.0        # seconds until it must serve

# Our answer to n=0, with a usual compute_ns: as many bytes, and the right hash.
BODY = '{"alg":"fnv1a32","n":0,"seed":"0x811c9dc5","hash":"0x811c9dc5","compute_ns":1500}\n'

# nginx's defaults, but one worker, as many connections as our default, no log, and no end of
# keep-alive connections.
NGINX = """daemon off;
user root;
worker_processes 1;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
	access_log off;
	keepalive_requests 1000000000;
	client_body_temp_path {folder}/body;
	proxy_temp_path {folder}/proxy;
	fastcgi_temp_path {folder}/fastcgi;
	uwsgi_temp_path {folder}/uwsgi;
	scgi_temp_path {folder}/scgi;
	server {{
		listen {port};
		default_type application/json;
		return 200 '{body}';
	}}
}}
"""


class Subject:
    """One that listens by itself: a peer."""

    def __init__(self, place, words: List[str], cpus: str, folder: Path):
        self.place = place
        self.words = words
        self.cpus = cpus
        self.folder = folder
        self.log = folder / "server.log"
        self.running: Optional[Process] = None

    @property
    def everywhere(self) -> List[str]:
        """The command that starts it from anywhere: $server_run."""
        return self.place.to_server(self.cpus, self.words)

    def start(self) -> None:
        with self.log.open("wb") as log:
            self.running = self.place.server(self.words, self.cpus, stdout=log, stderr=log)
        self.wait_ready()

    def wait_ready(self) -> None:
        knock = self.place.server([*process.python("knock.py"), self.place.address, str(PORT),
                                   str(READY)])
        while not knock.wait(0.1) and not self.running.ended():
            pass
        if self.place.processes.stop(knock) or self.running.ended():
            raise self.trouble("it ended before it listened" if self.running.ended() else
                               "it does not listen on "
                               f"{self.place.address}:{PORT}, where it was told to")

    def trouble(self, what: str) -> Trouble:
        said = process.last_line(self.log.read_text(errors="replace")) if self.log.exists() else ""
        return Trouble(f"{self.words[0]}: {what}" + (f": {said}" if said else "")
                       + f"; its command line and {self.log} tell more")

    def hot_pid(self) -> int:
        """Of the process that serves."""
        return self.running.pid

    def mode(self) -> Optional[Dict[str, Any]]:
        return None

    def pss_kb(self) -> Optional[int]:
        sums = [pss(pid) for pid in of_session(self.running.pid)]
        known = [one for one in sums if one is not None]
        return sum(known) if known else None

    def gone(self) -> bool:
        return self.running is not None and self.running.ended()


class Nginx(Subject):
    def __init__(self, place, words: List[str], cpus: str, folder: Path):
        own = folder / "nginx"
        own.mkdir(exist_ok=True)
        body = " ".join(words) or BODY
        (own / "conf").write_text(NGINX.format(folder=own, port=PORT, body=escaped(body)))
        super().__init__(place, ["nginx", "-p", str(own), "-c", str(own / "conf"),
                                 "-e", str(own / "error.log")], cpus, folder)

    def hot_pid(self) -> int:
        """The worker, which is its child."""
        return next((p for p in of_session(self.running.pid) if p != self.running.pid),
                    self.running.pid)


class Saker(Subject):
    def __init__(self, place, words: List[str], cpus: str, folder: Path, programs):
        self.stat = programs.need("saker-stat")
        options = ["-i", place.iface, "-p", str(PORT)]
        placed = any(w.startswith(("--io-cpu", "--compute-cpus")) for w in words)
        if cpus != ALL and not any(w.startswith("--io-cpu") for w in words):
            options.append(f"--io-cpu={cpus}")
        super().__init__(place, [programs.need("saker"), *options, *words],
                         ALL if placed else cpus, folder)
        self.asked: Optional[Dict[str, Any]] = None

    def wait_ready(self) -> None:
        until = time.monotonic() + READY
        while "saker: ready" not in self.log.read_text(errors="replace"):
            if self.running.ended():
                raise self.trouble("it ended before it was ready")
            if time.monotonic() > until:
                raise self.trouble(f"not ready within {READY:g} s")
            time.sleep(0.005)

    def ask(self, *options: str) -> "process.subprocess.CompletedProcess[str]":
        return process.run(self.place.to_server(ALL, [self.stat, "-i", self.place.iface, *options]))

    def mark(self) -> None:
        """What is counted from here on is the run's."""
        self.ask(f"--save={self.folder / 'mark'}")

    def since_mark(self) -> Optional[Dict[str, Any]]:
        done = self.ask("--json", f"--since={self.folder / 'mark'}")
        (self.folder / "mark").unlink(missing_ok=True)
        try:
            return json.loads(done.stdout)
        except ValueError:
            return None

    def mode(self) -> Optional[Dict[str, Any]]:
        """Asked anew each time: the rung may change while it runs."""
        try:
            self.asked = json.loads(self.ask("--json").stdout)["mode"]
        except (ValueError, KeyError):
            self.asked = None
        return self.asked

    def hot_pid(self) -> int:
        """The worker, by the name it gives itself; the mode names the starter."""
        for pid in of_session(self.running.pid):
            try:
                name = Path(f"/proc/{pid}/comm").read_text().strip()
            except OSError:
                continue
            if name == "saker-worker":
                return pid
        return self.running.pid


def make(kind: str, place, words: List[str], cpus: str, folder: Path, programs) -> Subject:
    if kind == "saker":
        return Saker(place, words, cpus, folder, programs)
    if kind == "nginx":
        return Nginx(place, words, cpus, folder)
    return Subject(place, words, cpus, folder)


def escaped(body: str) -> str:
    """Within the single quotes of nginx's file. A dollar would begin a variable."""
    if "$" in body:
        raise Trouble("nginx: a $ in the body would be a variable of nginx's; leave it out")
    return body.replace("\\", "\\\\").replace("'", "\\'")


def of_session(leader: int) -> List[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) == leader:
                found.append(int(entry.name))
    return sorted(found)


def pss(pid: int) -> Optional[int]:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except OSError:
        pass
    return None
