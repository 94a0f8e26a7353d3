# SPDX-License-Identifier: GPL-2.0-only
"""loadgen.py - run saker-load for a measure, and hand figures back

Place   measure_*.py use it, where one saker-load is not enough: its rate comes from another
        run's result, or the subject is started in the middle.
Model   run() is one saker-load, waited for; its JSON comes back as a dict. done() prints what
        the runner reads: {"figures": {...}, "valid": ..., "invalid": [...], ...}.
Limits  A figure that a sample does not carry is None, and stays None in what is made of it.
Units   Times in saker-load's JSON are nanoseconds; figures() turns them into microseconds.
Errors  One line on stderr, with cause and cure; exit status 1.
"""

import json
import os
import signal
import subprocess
import sys
from typing import Any, NoReturn, Optional

PATIENCE_S = 900  # of one saker-load: --find-max may take minutes
BULKY = ("histogram", "series")  # what measure.json leaves out of its steps
INVALID = 3  # exit status, its and ours: done, but the sample does not count


def die(text: str) -> NoReturn:
    """Say what is wrong, in one line, and end."""
    print(f"{os.path.basename(sys.argv[0])}: {text}", file=sys.stderr)
    sys.exit(1)


def end_by_signals() -> None:
    """What is in `finally` is done at SIGTERM too, which a broken-off run comes to: what was
    started is ended."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda got, _frame: sys.exit(128 + got))


def end_group(process: subprocess.Popen, patience_s: float) -> None:
    """End what was started in a session of its own, and all that it has started."""
    if process.poll() is not None:
        return
    os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def enter(netns: str) -> None:
    """Go on in the client's network namespace, where a measure with `start no` is not yet."""
    if netns:
        rest = [word for word in sys.argv if not word.startswith("--client-netns")]
        os.execvp("nsenter", ["nsenter", f"--net={netns}", "--", sys.executable, *rest])


def run(build: str, url: str, *options: str, keep: str = "") -> dict[str, Any]:
    """One load. Errors and wrong hashes are in the result; no result ends the program."""
    load = os.path.join(build, "saker-load")
    command = [load, "--quiet", "--json", *options, url]
    try:
        ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
        result = json.loads(ended.stdout)
        if keep:
            with open(keep, "w", encoding="utf-8") as file:
                file.write(ended.stdout)
    except OSError as error:
        die(f"{error.filename}: {error.strerror}: run make first, or name the folder with --build")
    except subprocess.TimeoutExpired:
        die(f"{' '.join(command)}: no end after {PATIENCE_S} s")
    except json.JSONDecodeError:
        said = ended.stderr.strip() or "no result"
        die(f"{' '.join(command)}: status {ended.returncode}: {said}")
    return result


def us(result: dict[str, Any], *names: str) -> Optional[float]:
    """A time of the result in microseconds, such as us(r, "latency", "p99"), or None."""
    value: Any = result
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return None if value is None else value / 1e3


def ratio(a: Optional[float], b: Optional[float]) -> Optional[float]:
    """a / b, where both are there."""
    return a / b if a is not None and b else None


def failures(*results: dict[str, Any]) -> dict[str, int]:
    """What must be 0 for the rest to mean anything, over all runs."""
    return {
        name: sum(result.get(part) or 0 for result in results for part in parts)
        for name, parts in {"wrong": ["wrong"], "errors": ["errors", "timeouts", "resets"]}.items()
    }


def client_was_late(result: dict[str, Any]) -> bool:
    """Of its reasons those that name the generator are its own fault; that connections do not
    carry a rate is the server's."""
    return any("generator" in why for why in result.get("invalid") or [])


def done(
    figures: dict[str, Optional[float]], results: dict[str, dict[str, Any]], **more: Any
) -> NoReturn:
    """Print it all and end. RESULTS, by the names of their steps, say whether it is valid."""
    invalid = []
    for name, result in results.items():
        invalid += [f"{name}: {why}" for why in result.get("invalid") or []]
    shown = {name: {k: v for k, v in r.items() if k not in BULKY} for name, r in results.items()}
    verdict = {"valid": not invalid, "invalid": invalid}
    print(json.dumps({"figures": figures, **verdict, "steps": shown, **more}))
    sys.exit(INVALID if invalid else 0)
