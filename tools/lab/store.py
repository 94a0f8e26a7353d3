# SPDX-License-Identifier: GPL-2.0-only
"""store - the folder of a session: what run leaves and report reads

Place   the only module that knows names of files in it; saker-lab.1, FILES, has them
Model   A run is there when its run.json is: that is written last, under another name, and
        then renamed. A folder without it is a run that was broken off, and is made again.
Owner   one process writes a session; any number read it
Units   a figure comes in its own unit (figure.py)
"""
from __future__ import annotations

import csv
import json
import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Mapping, Optional, Tuple

import experiment
import figure
from figure import Figure
from trouble import Trouble

STATES = ("done", "failed", "dirty", "skipped")


def read_json(path: Path) -> Optional[Any]:
    """None: not there, or not whole."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def write_json(path: Path, what: Any) -> None:
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(what, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(part, path)


def number(value: Any) -> Optional[float]:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value)


def dig(what: Any, path: str) -> Any:
    """a.b.0.c; a member's own name may have dots in it where it comes last."""
    while path:
        if isinstance(what, dict) and path in what:
            return what[path]
        first, _, path = path.partition(".")
        if isinstance(what, dict):
            what = what.get(first)
        elif isinstance(what, list) and first.isdigit() and int(first) < len(what):
            what = what[int(first)]
        else:
            return None
    return what


def column(path: Path, name: str, begin_ns: float = 0, end_ns: float = float("inf")) -> List[float]:
    """Of probe.csv from begin_ns to end_ns, without the rows in which the source had nothing."""
    try:
        with path.open(newline="", encoding="utf-8") as f:
            rows = csv.DictReader(line for line in f if not line.startswith("#"))
            texts = [row.get(name) for row in rows
                     if begin_ns <= float(row.get("unix_ns") or begin_ns) <= end_ns]
    except OSError:
        return []
    values = []
    for text in texts:
        try:
            values.append(float(text or ""))
        except ValueError:
            continue
    return values


def aggregate(values: List[float], how: str) -> Optional[float]:
    if not values:
        return None
    return {"max": max(values), "min": min(values), "mean": sum(values) / len(values),
            "first": values[0], "last": values[-1], "rise": max(values) - values[0],
            "delta": values[-1] - values[0]}[how]


def titled(one: Figure) -> str:
    """With its unit, if that is one of time."""
    unit = "_" + one.unit
    return one.name if one.unit not in figure.TIMES or one.name.endswith(unit) else one.name + unit


@dataclass
class Run:
    number: int
    repetition: int
    block: int
    factors: Dict[str, str]
    state: str                  # one of STATES, or "todo"
    why: List[str]
    folder: Path
    accepted: bool = False      # dirty runs of this session count
    read: Dict[str, Any] = field(default_factory=dict, repr=False)      # files, by name

    @property
    def usable(self) -> bool:
        """May go into statistics."""
        return self.state == "done" or (self.state == "dirty" and self.accepted)

    def json(self, name: str) -> Optional[Any]:
        """`load` or `load.json`; None: this run has none."""
        if name not in self.read:
            self.read[name] = read_json(self.folder / (name.removesuffix(".json") + ".json"))
        return self.read[name]

    def figure(self, one: Figure) -> Optional[float]:
        value = self.found(one.path)
        by = figure.factor(figure.source_unit(one.path), one.unit)
        return None if value is None or by is None else value * by

    def measured(self) -> Tuple[float, ...]:
        """When the load measured, by the clock of the probe; of a measure alone: all the time."""
        load = self.json("load") or {}
        begin, end = load.get("started_unix_ns"), load.get("ended_unix_ns")
        return () if begin is None or end is None else (begin, end)

    def found(self, path: str) -> Optional[float]:
        kind, colon, rest = path.partition(":")
        if not colon:
            for name in ("load", "measure"):
                value = number(dig(self.json(name), path))
                if value is not None:
                    return value
            return None
        if kind == "probe":
            name, _, how = rest.rpartition(".")
            return aggregate(column(self.folder / "probe.csv", name, *self.measured()), how)
        if kind == "run":
            return number(dig(self.json("run"), rest))
        return number(dig(self.json("stages"), f"since.{kind}.{rest}"))


class Session:
    """A folder that is there. `path` keeps what the user called it."""

    def __init__(self, folder):
        self.folder = Path(folder)
        plan = read_json(self.folder / "plan.json")
        if not plan or "runs" not in plan:
            raise Trouble(f"{folder}: no session of saker-lab: it has no plan.json; "
                          "name a folder that `saker-lab run` made")
        self.plan: Dict[str, Any] = plan
        self.experiment = experiment.load(self.folder / "experiment.lab", plan.get("quick", False),
                                          plan["experiment"])

    @property
    def facts(self) -> Dict[str, Any]:
        return read_json(self.folder / "facts.json") or {}

    @property
    def costs(self) -> Optional[Dict[str, Any]]:
        return read_json(self.folder / "costs.json")

    @property
    def planned(self) -> List[Run]:
        """All of the plan; what has not been made yet is `todo`."""
        return [self.run(one) for one in self.plan["runs"]]

    @property
    def runs(self) -> List[Run]:
        """Those that came to an end, of whatever kind."""
        return [one for one in self.planned if one.state != "todo"]

    def run(self, planned: Mapping[str, Any]) -> Run:
        folder = self.run_folder(planned["run"])
        known = read_json(folder / "run.json") or {}
        state = known.get("state")
        return Run(planned["run"], planned["repetition"], planned["block"], planned["factors"],
                   state if state in STATES else "todo", known.get("why", []), folder,
                   bool(self.plan.get("accept_dirty")))

    def run_folder(self, number_: int) -> Path:
        return self.folder / "runs" / f"{number_:04d}"

    def begin(self, number_: int) -> Path:
        """An empty folder; what a broken-off run left in it is gone."""
        folder = self.run_folder(number_)
        if folder.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True)
        return folder

    def write_figures(self) -> Path:
        """figures.csv: a row for each run that came to an end."""
        path, exp = self.folder / "figures.csv", self.experiment
        known = list(exp.figures) + [f for f in exp.known.values() if f not in exp.figures]
        with path.open("w", newline="", encoding="utf-8") as f:
            rows = csv.writer(f, lineterminator="\n")
            rows.writerow(["run", "repetition", "block", "state", *exp.factors,
                           *(titled(one) for one in known)])
            for run in self.runs:
                values = [run.figure(one) for one in known]
                rows.writerow([run.number, run.repetition, run.block, run.state,
                               *(run.factors[name] for name in exp.factors),
                               *("" if v is None else f"{v:.6g}" for v in values)])
        return path


def create(folder: Path, text: str, plan: Mapping[str, Any]) -> Session:
    try:
        folder.mkdir(parents=True)
        (folder / "experiment.lab").write_text(text, encoding="utf-8")
        (folder / "runs").mkdir()
        write_json(folder / "plan.json", plan)
    except OSError as e:
        raise Trouble(f"{folder}: {e.strerror}; name another folder with --out=DIR") from None
    return Session(folder)
