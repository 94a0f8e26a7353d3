# SPDX-License-Identifier: GPL-2.0-only
"""A measure that is ended leaves no server: Ctrl-C of the lab and its `limit` come as SIGTERM."""
import os
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


class Ended(unittest.TestCase):
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
