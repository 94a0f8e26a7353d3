# SPDX-License-Identifier: GPL-2.0-only
"""A measure that is ended leaves no server: Ctrl-C of the lab and its `limit` come as SIGTERM."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

LAB = Path(__file__).resolve().parent.parent.parent / "tools" / "lab"
PATIENCE_S = 20


def running(pid: int) -> bool:
    """Also what waits to be reaped by somebody has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def within(seconds: float, what) -> bool:
    end = time.monotonic() + seconds
    while not what():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def alive() -> list[tuple[int, int, int]]:
    """Number, parent and session of each process; those that wait to be reaped are not in it."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, _group, session = stat.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if state != "Z":
            found.append((int(stat.parent.name), int(parent), int(session)))
    return found


class Ended(unittest.TestCase):
    @unittest.skipUnless(shutil.which("nginx"), "no nginx")
    def test_chain(self):
        """Its load is a script that never ends, and writes who listens in front."""
        with tempfile.TemporaryDirectory() as folder:
            note, load = Path(folder, "pid"), Path(folder, "saker-load")
            load.write_text(f"#!/bin/sh\necho $PPID > {note}.part\nmv {note}.part {note}\n"
                            "exec sleep 60\n")
            load.chmod(0o755)
            measure = subprocess.Popen(
                [sys.executable, str(LAB / "measure_chain.py"), f"--build={folder}",
                 f"--run={folder}", "--chain=twice", "127.0.0.1", "1"],
                stderr=subprocess.DEVNULL)
            self.assertTrue(within(PATIENCE_S, note.exists))
            masters = {pid for pid, parent, session in alive()
                       if parent == measure.pid and session == pid}
            servers = [pid for pid, _parent, session in alive() if session in masters]
            self.assertGreaterEqual(len(servers), 4, "two nginxes and a worker of each")
            measure.send_signal(signal.SIGTERM)
            measure.wait(PATIENCE_S)
            gone = within(PATIENCE_S, lambda: not any(running(one) for one in servers))
            for one in servers:
                if not gone and running(one):
                    os.kill(one, signal.SIGKILL)
            self.assertTrue(gone, "an nginx that the measure had started goes on")

    def test_gateway(self):
        """Its server is one that never answers, and writes its number into a file."""
        with tempfile.TemporaryDirectory() as folder:
            note = Path(folder, "pid")
            measure = subprocess.Popen(
                [sys.executable, str(LAB / "measure_gateway.py"), f"--build={folder}",
                 f"--run={folder}", "127.0.0.1", "1", "sh", "-c",
                 f"echo $$ > {note}.part; mv {note}.part {note}; exec sleep 60"],
                stderr=subprocess.DEVNULL)
            self.assertTrue(within(PATIENCE_S, note.exists))
            server = int(note.read_text())
            measure.send_signal(signal.SIGTERM)
            measure.wait(PATIENCE_S)
            gone = within(PATIENCE_S, lambda: not running(server))
            if not gone:
                os.kill(server, signal.SIGKILL)
            self.assertTrue(gone, "the server that the measure had started goes on")


if __name__ == "__main__":
    unittest.main()
