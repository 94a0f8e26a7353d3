# SPDX-License-Identifier: GPL-2.0-only
"""process - what the lab starts, and that all of it ends

Place   place, subject and run start everything but short commands through it
Model   Each process leads a session of its own: Ctrl-C at the terminal reaches the lab alone,
        and whatever the process has started is of its group and ends with it. A keeper, a
        process more, ends them all should the lab be killed (keeper.py).
Owner   who started it, stops it; Processes.close() stops the rest, the last one first
Limits  a process that changes its session by itself is not found again; pidfd_open(2) is of
        Linux 5.3
Units   seconds
"""
from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Iterator, List, Optional, Sequence

from trouble import Trouble

LOCK = (Path("/run/saker-lab.lock") if os.geteuid() == 0 else
        Path(tempfile.gettempdir()) / f"saker-lab-{os.geteuid()}.lock")
LOCK_WAIT = 15.0        # a keeper's grace, and some


# --- signals: one of them breaks the session off, more of them while it clears up do nothing

BREAKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_kept = {"depth": 0, "asked": False}


def stop_on_signals() -> None:
    for number in BREAKING:
        signal.signal(number, _break_off)


def _break_off(_number: int, _frame: object) -> None:
    if _kept["depth"]:
        _kept["asked"] = True
        return
    for number in BREAKING:
        signal.signal(number, signal.SIG_IGN)
    _kept["asked"] = False
    raise KeyboardInterrupt


@contextlib.contextmanager
def whole() -> Iterator[None]:
    """Not to be broken off in between: a process that nobody has noted yet."""
    _kept["depth"] += 1
    try:
        yield
    finally:
        _kept["depth"] -= 1
    if _kept["asked"] and not _kept["depth"]:
        _break_off(0, None)


def python(name: str) -> List[str]:
    """The command that runs one of our modules as a program, in the shortest time."""
    return [sys.executable, "-I", "-S", str(Path(__file__).with_name(name))]


class Process:
    def __init__(self, words: Sequence[str], child: "subprocess.Popen[bytes]"):
        self.words = list(words)
        self.child = child
        self.pid = child.pid

    def ended(self) -> bool:
        """It may still have to be reaped: its number is not given out again before."""
        if self.child.returncode is not None:
            return True
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None

    def wait(self, seconds: float) -> bool:
        """False: still running. Asleep until then: a lab that looked again and again would do
        so on a CPU that is measured."""
        if not self.ended():
            fd = os.pidfd_open(self.pid)
            try:
                end = select.poll()
                end.register(fd, select.POLLIN)
                end.poll(seconds * 1000)
            finally:
                os.close(fd)
        return self.ended()

    def reap(self) -> int:
        """Of one that has ended: what is left of its group goes, too."""
        if self.child.returncode is None:
            self.signal(signal.SIGKILL)
            self.child.wait()
        return self.child.returncode

    def signal(self, number: int) -> None:
        try:
            os.killpg(self.pid, number)
        except ProcessLookupError:
            pass


class Processes:
    """`with Processes() as processes`: nothing that it started is there afterwards."""

    def __init__(self) -> None:
        self.running: List[Process] = []
        self.keeper: Optional["subprocess.Popen[bytes]"] = None
        self.lock: Optional[int] = None

    def __enter__(self) -> "Processes":
        self.lock = locked()
        self.keeper = subprocess.Popen(
            python("keeper.py"), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            start_new_session=True, pass_fds=[self.lock])
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_since(0)
        self.keeper.stdin.close()
        self.keeper.wait()
        os.close(self.lock)

    def tell(self, line: str) -> None:
        self.keeper.stdin.write(line.encode() + b"\n")
        self.keeper.stdin.flush()

    def start(self, words: Sequence[str], **more) -> Process:
        """`more` goes to Popen."""
        more.setdefault("stdin", subprocess.DEVNULL)
        with whole():
            try:
                one = Process(words, subprocess.Popen(list(words), start_new_session=True, **more))
            except OSError as e:
                raise Trouble(f"{words[0]}: {e.strerror}; is it installed, and in PATH?") from None
            self.running.append(one)
            self.tell(f"+{one.pid}")
        return one

    def stop(self, one: Process, grace: float = 8.0) -> int:
        """SIGTERM to it and all that it started, later SIGKILL; its exit status."""
        if one in self.running:
            if not one.ended():
                one.signal(signal.SIGTERM)
                one.wait(grace)
            if not one.ended():
                one.signal(signal.SIGKILL)
            one.wait(grace)
            one.reap()
            self.running.remove(one)
            self.tell(f"-{one.pid}")
        return one.child.returncode

    def stop_since(self, count: int) -> None:
        """All but the first `count` of those that run."""
        for one in reversed(self.running[count:]):
            self.stop(one)


def locked() -> int:
    """One lab at a time on a host: two would measure each other."""
    fd = os.open(LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    until = time.monotonic() + LOCK_WAIT
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return fd
        except BlockingIOError:
            if time.monotonic() > until:
                os.close(fd)
                raise Trouble("another saker-lab runs on this host; wait for its end: "
                              "two would measure each other") from None
            time.sleep(0.1)


def run(words: Sequence[str], seconds: float = 30, **more) -> "subprocess.CompletedProcess[str]":
    """A short command, waited for; its words are shown when it fails to start or to end."""
    try:
        return subprocess.run(list(words), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=seconds, check=False, errors="replace", **more)
    except OSError as e:
        raise Trouble(f"{words[0]}: {e.strerror}; is it installed, and in PATH?") from None
    except subprocess.TimeoutExpired:
        raise Trouble(f"{' '.join(words)}: no end within {seconds:g} s; try it by hand") from None


def last_line(text: str) -> str:
    """The last one that says what is wrong: argp puts a hint behind it."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = [line for line in lines if not line.startswith("Try `")] or lines
    return said[-1] if said else ""
