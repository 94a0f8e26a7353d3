# SPDX-License-Identifier: GPL-2.0-only
"""remote - the load on a second host, over ssh

Place   place hands the client's commands to it; run asks it once before the first run
Model   Each command is an ssh of its own. A shell at the other end waits for it, and for the
        end of its own standard input: when the connection ends, however, so does the command.
        What the command prints comes back as it would from here.
        As a program, `remote.py HOST CONFIG WORDS...`, it does the same for measures.
Limits  keys without a question asked (BatchMode); saker-load is to be of the same version
Units   Mbit/s
"""
from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

from process import last_line, run
from trouble import Trouble

# The reader of the input has other outputs, as ssh waits for all who hold them. It goes
# first, lest it end a process that has got the number of one that is gone.
KEPT = """exec 3<&0
{command} </dev/null 3<&- & job=$!
(cat <&3; kill $job) >/dev/null 2>&1 & watch=$!
exec 3<&-
{{ wait $job; }} 2>/dev/null; status=$?
kill $watch 2>/dev/null
exit $status"""


class Remote:
    def __init__(self, host: str, config: Optional[str] = None, load: str = "saker-load"):
        self.host = host
        self.config = config
        self.load = load

    def ssh(self, words: Sequence[str]) -> List[str]:
        return self.shell(KEPT.format(command=shlex.join(words)))

    def run_words(self) -> List[str]:
        """A command that runs there the words behind it, as they are."""
        return [sys.executable, __file__, self.host, self.config or ""]

    def programs(self, folder: Path) -> Path:
        """A folder of programs that run there: a saker-load, for measures that name one."""
        folder.mkdir(exist_ok=True)
        script = folder / "saker-load"
        script.write_text(f'#!/bin/sh\nexec {shlex.join([*self.run_words(), self.load])} "$@"\n')
        script.chmod(0o755)
        return folder

    def shell(self, script: str) -> List[str]:
        config = ["-F", self.config] if self.config else []
        return ["ssh", *config, "-o", "BatchMode=yes", "-o", "ConnectTimeout=10",
                "-o", "ServerAliveInterval=5", self.host,
                "sh -c " + shlex.quote(script)]

    def ask(self, script: str) -> str:
        done = run(self.shell(script))
        if done.returncode == 255:
            raise Trouble(f"--client={self.host}: {last_line(done.stderr)}; "
                          f"`ssh {self.host} true` must work without a question")
        return done.stdout

    def check(self, version: str, address: str) -> Dict[str, Any]:
        """The same saker-load, and a way to `address` that is a link: its facts."""
        self.same_version(version)
        link = self.link(address)
        if link["dev"] == "lo":
            raise Trouble(f"--client={self.host}: {address} is its own address: loopback does "
                          "not measure an interface; name another host")
        return link

    def same_version(self, version: str) -> None:
        there = self.ask(f"{shlex.quote(self.load)} --version 2>&1").strip()
        if not there or "not found" in there:
            raise Trouble(f"--client={self.host}: no {self.load} there; copy build/saker-load into "
                          "its PATH, or say where it is with --client-load=FILE")
        if there != version:
            raise Trouble(f"--client={self.host}: it has {last_line(there)}, here is {version}; "
                          "install the same version at both ends")

    def link(self, address: str) -> Dict[str, Any]:
        """Which interface the way takes, and how fast that is (None: it does not say)."""
        text = self.ask(f"ip -j route get {shlex.quote(address)}")
        try:
            route = json.loads(text)[0]
        except (ValueError, IndexError):
            raise Trouble(f"--client={self.host}: no route to {address}; "
                          "are both on one network?") from None
        dev = route["dev"]
        speed = self.ask(f"cat /sys/class/net/{shlex.quote(dev)}/speed 2>/dev/null").strip()
        return {"dev": dev, "source": route.get("prefsrc"), "gateway": route.get("gateway"),
                "speed_mbit": int(speed) if speed.isdigit() else None}


def main() -> int:
    host, config, *words = sys.argv[1:]
    with subprocess.Popen(Remote(host, config).ssh(words), stdin=subprocess.PIPE) as ssh:
        return ssh.wait()


if __name__ == "__main__":
    sys.exit(main())
