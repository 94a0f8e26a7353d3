# SPDX-License-Identifier: GPL-2.0-only
"""measured - what the measures in Python have in common

Place   measure_*.py; they call the measures in C for whatever time matters in, and put
        figures together
Model   call() runs one and gives back its JSON; finish() prints ours and ends
Errors  one line on stderr, cause and cure. Status: 0 done; 1 cannot; 2 usage; 3 done but
        invalid; 4 skipped with the reason
Units   in the names of the figures
"""
from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, NoReturn, Optional, Sequence

CANNOT, INVALID, SKIPPED = 1, 3, 4
PATIENCE_S = 120        # of one measure in C; they give up by themselves long before

Figures = Dict[str, Optional[float]]


def die(text: str) -> NoReturn:
    print(f"{Path(sys.argv[0]).stem}: {text}", file=sys.stderr)
    sys.exit(CANNOT)


def program(build: str, name: str) -> str:
    own = Path(build) / name
    path = str(own) if own.exists() else shutil.which(name)
    if not path:
        die(f"no {name} in {build or 'PATH'}: run make, or name the folder with --build=DIR")
    return path


def call(words: Sequence[Any], may: Sequence[int] = (0,)) -> Dict[str, Any]:
    """The JSON that a measure prints; none for a status of CANNOT that it may have. A
    measure that skips is skipped by us, with its words."""
    try:
        done = subprocess.run([str(w) for w in words], stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=PATIENCE_S)
    except OSError as error:
        die(f"{words[0]}: {error.strerror}: run make")
    except subprocess.TimeoutExpired:
        die(f"{Path(str(words[0])).name}: no end within {PATIENCE_S} s: is the machine busy?")
    if done.returncode == SKIPPED:
        skip(json.loads(done.stdout)["skipped"])
    if done.returncode not in may:
        lines = done.stderr.strip().splitlines()
        die(lines[-1] if lines else f"{words[0]}: ended with status {done.returncode}")
    if done.returncode == CANNOT:
        return {}
    try:
        return json.loads(done.stdout)
    except ValueError:
        die(f"{words[0]}: what it prints is not JSON: is it of this build?")


def median(values: Sequence[Optional[float]]) -> Optional[float]:
    known = [v for v in values if v is not None]
    return statistics.median(known) if known else None


def finish(figures: Figures, invalid: Sequence[str] = (), **more: Any) -> NoReturn:
    rounded = {k: v if v is None else float(f"{v:.6g}") for k, v in figures.items()}
    print(json.dumps({"tool": Path(sys.argv[0]).stem, "figures": rounded,
                      "invalid": list(invalid), **more}))
    sys.exit(INVALID if invalid else 0)


def skip(reason: str) -> NoReturn:
    print(json.dumps({"tool": Path(sys.argv[0]).stem, "figures": {}, "skipped": reason}))
    sys.exit(SKIPPED)


def cpu_options(cpu: Optional[str], server_cpu: Optional[str]) -> List[str]:
    """Of measure-first. A place without CPUs of its own says `all`, or nothing."""
    options = []
    if cpu and cpu.isdigit():
        options.append(f"--cpu={cpu}")
    if server_cpu and server_cpu.isdigit():
        options.append(f"--server-cpu={server_cpu}")
    return options
