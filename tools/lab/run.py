# SPDX-License-Identifier: GPL-2.0-only
"""run - makes the runs of a session, one after another

Place   saker-lab's `run` and `resume` call session(); what one run does is in attempt.py
Model   For each planned run without a state: what it needs, then the attempt, then run.json.
        todo -> done | failed | dirty | skipped; a state is written once, and last. A run that
        was broken off has none, and is made again by `resume`.
Owner   all processes, through one Processes: when session() returns or raises, none is left
Errors  a run that fails is a state and a line; Trouble ends the session
Units   seconds
"""
from __future__ import annotations

import datetime
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional

import experiment
import facts
import need
import plan
import store
from attempt import Attempt, cpus_of_place
from place import open_place
from process import Processes, stop_on_signals
from programs import Programs
from remote import Remote
from trouble import Trouble

DIRTY = 3       # exit status: dirty runs that nobody accepted
INTERRUPTED = 130


@dataclass
class Options:
    """What of the command line a `resume` needs again."""
    place: str = "veth"
    client: Optional[str] = None
    client_load: str = "saker-load"
    ssh_config: Optional[str] = None
    build: Optional[str] = None
    here: str = "."         # the folder of the experiment's file


def new_session(exp: experiment.Experiment, options: Options, out: Optional[str],
                planned: List[plan.Planned], repeat: int, accept_dirty: bool) -> store.Session:
    if not planned:
        raise Trouble(f"{exp.name}: no run is left; take an --only away")
    now = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    folder = Path(out) if out else Path("results") / f"{exp.name}-{now}"
    what = {**plan.as_json(exp, planned, repeat), "options": asdict(options),
            "accept_dirty": accept_dirty}
    return store.create(folder, exp.path.read_text(encoding="utf-8"), what)


class Runner:
    def __init__(self, session: store.Session, command: Path, processes: Processes):
        self.session = session
        self.options = Options(**session.plan["options"])
        self.programs = Programs(self.options.build, command)
        remote = None
        if self.options.client and self.options.client != "here":
            remote = Remote(self.options.client, self.options.ssh_config, self.options.client_load)
        self.processes = processes
        self.place = open_place(processes, self.options.place, remote)
        self.client_build = self.programs.folder
        if remote:
            self.client_build = remote.programs(session.folder.resolve() / "client")
        self.took: List[float] = []
        self.boot_id: Optional[str] = None

    # --- before the first run

    def gather(self) -> None:
        """Facts and costs; a resumed session keeps its own, and adds where it went on."""
        now = facts.gather(self.programs, self.place)
        self.boot_id = now["boot_id"]
        before = self.session.facts
        if before:
            before.setdefault("resumed", []).append(
                {"unix_ns": time.time_ns(), "boot_id": self.boot_id, "kernel": now["kernel"]})
            now = before
        store.write_json(self.session.folder / "facts.json", now)
        if not before:
            server, client = cpus_of_place()
            costs = facts.costs(self.programs, self.place, server, client)
            if costs is not None:
                store.write_json(self.session.folder / "costs.json", costs)

    # --- runs

    def all(self) -> None:
        todo = [one for one in self.session.planned if one.state == "todo"]
        for i, one in enumerate(todo):
            began = time.monotonic()
            record = self.one(one)
            if record["state"] != "skipped":
                self.took.append(time.monotonic() - began)
            self.tell(one, record, len(todo) - i - 1)
            if i + 1 < len(todo) and record["state"] != "skipped":
                time.sleep(self.session.experiment.rest)

    def one(self, run: store.Run) -> Dict[str, Any]:
        exp = self.session.experiment
        folder = self.session.begin(run.number).resolve()
        record: Dict[str, Any] = {
            "run": run.number, "repetition": run.repetition, "block": run.block,
            "factors": run.factors, "state": "done", "why": [], "started_unix_ns": time.time_ns(),
            "ended_unix_ns": None, "mode": None, "pss_kb": None, "commands": {},
            "boot_id": self.boot_id, "measure": "load" if exp.load else "command"}
        missing = self.missing(run)
        if missing:
            record.update(state="skipped", why=missing)
        else:
            count = len(self.processes.running)
            attempt = Attempt(self, exp, run.factors, folder, record)
            try:
                attempt.make()
            finally:
                self.processes.stop_since(count)
        record["ended_unix_ns"] = time.time_ns()
        store.write_json(folder / "run.json", record)
        return record

    def missing(self, run: store.Run) -> List[str]:
        exp = self.session.experiment
        why = []
        values = exp.values(run.factors, self.known())
        if exp.measure and self.place.remote and not asks_there(exp, values):
            why.append("its measure asks from this host alone: --place=veth, or --client=here")
        for one in exp.needs_of(run.factors):
            lacking = need.missing(exp.filled(one.thing, values), self.programs, self.place.name)
            if lacking:
                why.append(f"{lacking}: {one.reason}")
        return why

    def known(self) -> Dict[str, str]:
        """Names that are the same in every run; attempt adds the others."""
        return {**{name: "" for name in experiment.BUILT_IN},
                "build": str(self.programs.folder), "here": self.options.here,
                "lab": str(Path(__file__).resolve().parent), "address": self.place.address,
                "iface": self.place.iface, "client_netns": self.place.client_netns,
                "client_load": self.place.remote.load if self.place.remote
                else self.programs.find("saker-load") or "",
                "client_build": str(self.client_build)}

    def tell(self, run: store.Run, record: Dict[str, Any], left: int) -> None:
        what = record["state"]
        if what == "done":
            run.read.clear()
            shown = [(f, run.figure(f)) for f in self.session.experiment.figures[:3]]
            figures = ", ".join(f"{f.name} {v:.5g} {f.unit}" for f, v in shown if v is not None)
            what += f": {figures}" if figures else ""
        else:
            what += ": " + "; ".join(record["why"])
        rest = ""
        if left and self.took:
            each = sum(self.took) / len(self.took) + self.session.experiment.rest
            rest = f" ({spoken(left * each)} left)"
        print(f"run {run.number} of {len(self.session.plan['runs'])}: "
              f"{experiment.spelled(run.factors)}: {what}{rest}", file=sys.stderr, flush=True)


def asks_there(exp: experiment.Experiment, values: Dict[str, str]) -> bool:
    """Does the measure send what asks to the client's host?"""
    return "\0" in exp.filled(exp.measure, {**values, "client_run": "\0", "client_build": "\0"})


def spoken(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def make_all(session: store.Session, command: Path) -> int:
    """Makes what is to be made, then the tables and the report; exit status."""
    stop_on_signals()
    try:
        with Processes() as processes:
            runner = Runner(session, command, processes)
            runner.gather()
            runner.all()
    except KeyboardInterrupt:
        print(f"saker-lab: interrupted; `saker-lab resume {session.folder}` goes on with the first "
              "run that is not done", file=sys.stderr)
        return INTERRUPTED
    finally:
        if session.runs:
            session.write_figures()
    return status(session)


def status(session: store.Session) -> int:
    count = {state: [r for r in session.runs if r.state == state] for state in store.STATES}
    print("saker-lab: " + ", ".join(f"{len(runs)} {state}" for state, runs in count.items())
          + f": {session.folder}", file=sys.stderr)
    if count["failed"]:
        return 1
    refused = [r for r in count["dirty"] if not r.usable]
    if refused:
        print(f"saker-lab: {len(refused)} dirty runs are left out of the statistics; run again on "
              "a quiet machine, or with --accept-dirty", file=sys.stderr)
        return DIRTY
    return 0
