# SPDX-License-Identifier: GPL-2.0-only
"""attempt - one run, from `before` to `after`

Place   run makes one for each run and writes its record
Model   before, the measure that starts the subject itself; the subject, the probe, beside, the
        measure or the load, the mark as soon as it is warm; the stages since the mark; all
        stopped in the reverse order; after. Whatever goes wrong on the way, the rest of that
        is done.
        failed   no figure can be believed: something ended as it should not, answers were wrong
        dirty    measured, but the host or the client was not up to it: throttled, lagging
        skipped  the measure found that this host cannot do it
Owner   its processes, by place; its folder
Limits  load and measure are ended after the experiment's `limit`
Units   seconds
"""
from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import need
import process
import store
import subject
import words
from experiment import Experiment, Line
from place import ALL
from process import Process
from trouble import Trouble

INVALID, SKIPPED = 3, 4     # exit status of a load or a measure; of a measure
PROBE_GRACE = 5.0
MARK_BEFORE = 0.1           # before the warm-up ends


class Failed(Exception):
    """args[0] is why; what follows of the run is not done."""


def cpus_of_place() -> Tuple[str, str]:
    """Where the responder goes (the first isolated CPU, else the last), and where the client."""
    ours = sorted(os.sched_getaffinity(0))
    isolated = need.text_of("/sys/devices/system/cpu/isolated")
    first = isolated.replace("-", ",").split(",")[0]
    return first or str(ours[-1]), str(ours[0])


class Attempt:
    def __init__(self, runner, exp: Experiment, levels: Dict[str, str], folder: Path,
                 record: Dict[str, Any]):
        self.place = runner.place
        self.processes = runner.processes
        self.programs = runner.programs
        self.exp = exp
        self.folder = folder
        self.record = record
        self.beside: List[Process] = []
        self.probe: Optional[Process] = None
        self.subject: Optional[subject.Subject] = None
        server_cpu, client_cpu = cpus_of_place()
        self.values = exp.values(levels, {
            **runner.known(), "port": str(subject.PORT), "run": str(folder),
            "server_cpu": server_cpu, "client_cpu": client_cpu, "rps": "yes"})
        self.server_cpu = words.fill("$server_cpu", self.values)
        self.client_cpu = words.fill("$client_cpu", self.values)
        self.values["client_run"] = words.join(self.place.client_run(self.client_cpu))

    # --- the order of things

    def make(self) -> None:
        try:
            self.guarded(self.whole)
        finally:
            self.stop()
            for line in self.exp.after:
                self.guarded(self.around, line, "after")
        self.throttled()
        for log in self.folder.glob("*.log"):
            if log.stat().st_size == 0:
                log.unlink()

    def guarded(self, step: Callable[..., None], *what: Any) -> None:
        try:
            step(*what)
        except (Failed, Trouble) as e:
            self.bad("failed", str(e))

    def whole(self) -> None:
        self.prepare()
        for line in self.exp.before:
            self.around(line, "before")
        self.measured()

    def measured(self) -> None:
        if self.exp.measure and not self.exp.start:
            self.run_measure()
        if self.subject and (self.exp.load or self.exp.start):
            self.subject.start()
            self.values["pid"] = str(self.subject.hot_pid())
            self.record["mode"] = self.subject.mode()
        self.start_probe()
        self.start_beside()
        if self.exp.measure and self.exp.start:
            self.mark()
            self.run_measure()
        if self.exp.load:
            self.run_load()
        self.look()

    def mark(self) -> None:
        if isinstance(self.subject, subject.Saker) and self.subject.running:
            self.subject.mark()

    def bad(self, state: str, why: str) -> None:
        """The worst word stays: failed, skipped, dirty, done."""
        worse = ("done", "dirty", "skipped", "failed")
        if worse.index(state) > worse.index(self.record["state"]):
            self.record["state"] = state
        if why not in self.record["why"]:
            self.record["why"].append(why)

    # --- its parts

    def prepare(self) -> None:
        asked = words.fill("$rps", self.values)
        if asked not in ("yes", "no"):
            raise Failed(f"let rps {asked}: it is yes or no")
        if self.server_cpu == self.client_cpu != ALL and not self.place.remote:
            self.bad("dirty", f"responder and client share CPU {self.client_cpu}: take a host with "
                     "two, or --client=HOST")
        try:
            cpus = self.client_cpu if asked == "yes" else ""
            self.record["rps"] = self.place.receive_at_client(cpus)
        except ValueError:
            raise Failed(f"let client_cpu {self.client_cpu}: no list of CPUs") from None
        chosen = self.exp.subject(self.record["factors"])
        if not chosen:
            return
        options = self.exp.command(chosen.line, self.values)
        self.subject = subject.make(chosen.kind, self.place, options, self.server_cpu, self.folder,
                                    self.programs)
        self.values["server"] = words.join(self.subject.words)
        self.values["server_run"] = words.join(self.subject.everywhere)
        self.record["commands"]["server"] = shown(self.subject.words)

    def around(self, line: Line, name: str) -> None:
        """before, after: by a shell, at the responder's side."""
        text = self.exp.filled(line, self.values).strip()
        if text:
            done = process.run(self.place.to_server(ALL, ["sh", "-c", text]), self.exp.limit)
            if done.returncode:
                raise Failed(f"{name}: {text}: status {done.returncode}: "
                             + process.last_line(done.stderr))

    def start_beside(self) -> None:
        texts = [self.exp.filled(line, self.values).strip() for line in self.exp.beside]
        for text in filter(None, texts):
            with (self.folder / "beside.log").open("ab") as log:
                one = self.place.server(["sh", "-c", text], stdout=log, stderr=log)
            self.beside.append(one)

    def start_probe(self) -> None:
        """On the client's CPU if there are two, else away from both."""
        path = self.programs.find("saker-probe")
        if not self.exp.probe or not path:
            return
        options = self.exp.command(self.exp.probe, self.values)
        if self.subject and self.subject.running:
            options.append(f"--pid={self.subject.hot_pid()}")
        options += [f"--iface={self.place.iface}", f"--out={self.folder / 'probe.csv'}"]
        with (self.folder / "probe.log").open("wb") as log:
            self.probe = self.place.server([path, *options], self.cold_cpu(), stdout=log,
                                           stderr=log)

    def cold_cpu(self) -> str:
        hot = (self.server_cpu, self.client_cpu)
        return next((str(c) for c in sorted(os.sched_getaffinity(0)) if str(c) not in hot),
                    self.client_cpu)

    def run_load(self) -> None:
        options = self.exp.command(self.exp.load, self.values)
        path = "/compute"
        if options and options[-1].startswith("/"):
            path = options.pop()
        if any(w.startswith("--mix") for w in options):
            path = ""
        placed = any(w.startswith("--cpu") for w in options) or self.client_cpu == ALL
        command = [self.values["client_load"] or self.programs.need("saker-load"),
                   "--json", "--quiet", *([] if placed else [f"--cpu={self.client_cpu}"]), *options,
                   f"http://{self.place.address}:{subject.PORT}{path}"]
        self.record["commands"]["load"] = shown(command)
        self.judge("load", self.aside(command, ALL if placed else self.client_cpu, "load",
                                      warmed(options)))

    def run_measure(self) -> None:
        command = self.exp.command(self.exp.measure, self.values)
        self.record["commands"]["measure"] = shown(command)
        self.judge("measure", self.aside(command, self.client_cpu, "measure"))

    def aside(self, command: List[str], cpus: str, name: str,
              mark: Optional[float] = None) -> int:
        """On the client's CPU, and at its side. But a measure that starts the subject itself
        does so from the responder's side, and none is sent to another host. Its standard output
        is NAME.json, its standard error NAME.log; returns its exit status. `mark`: the counters'
        mark is made so long after its start."""
        stays = name == "measure" and (not self.exp.start or self.place.remote)
        side = self.place.server if stays else self.place.client
        with (self.folder / f"{name}.json").open("wb") as out, \
                (self.folder / f"{name}.log").open("wb") as log:
            one = side(command, cpus, stdout=out, stderr=log)
        if mark is not None and not one.wait(mark):
            self.mark()
        if not one.wait(self.exp.limit):
            self.processes.stop(one, 1)
            raise Failed(f"{name}: no end within {self.exp.limit:g} s")
        return self.processes.stop(one)

    def judge(self, name: str, status: int) -> None:
        said = store.read_json(self.folder / f"{name}.json")
        log = (self.folder / f"{name}.log").read_text(errors="replace")
        said = said if isinstance(said, dict) else {}
        if status == SKIPPED and name == "measure":
            self.bad("skipped", str(said.get("skipped", "the measure does not say why")))
        elif status not in (0, INVALID) or not said:
            raise Failed(f"{name}: status {status}: " + (process.last_line(log) or counted(said)))
        elif status == INVALID or said.get("valid") is False:
            reasons = [str(one) for one in said.get("invalid") or ["it does not say why"]]
            for why in reasons:
                self.bad("dirty", f"{name}: {why}")

    def look(self) -> None:
        """What the subject says at the end; then it is only stopped."""
        one = self.subject
        if not one or not one.running:
            return
        if one.gone():
            raise Failed(str(one.trouble("it ended before the run did")))
        self.look_beside()
        self.record["pss_kb"] = one.pss_kb()
        if isinstance(one, subject.Saker):
            self.record["mode"] = one.mode() or self.record["mode"]
            stages = one.since_mark()
            if stages is not None:
                store.write_json(self.folder / "stages.json", stages)

    def look_beside(self) -> None:
        """What could not go on must not pass for a neighbour that was there."""
        for one in self.beside:
            if one.ended() and self.processes.stop(one):
                log = (self.folder / "beside.log").read_text(errors="replace")
                raise Failed(f"beside: {one.words[-1]}: status {one.child.returncode}: "
                             + process.last_line(log))

    def stop(self) -> None:
        for one in reversed(self.beside):
            self.processes.stop(one, 5)
        if self.probe:
            self.processes.stop(self.probe, PROBE_GRACE)
        if self.subject and self.subject.running:
            self.processes.stop(self.subject.running)

    def throttled(self) -> None:
        """Of the SoC's throttle bits those of now, in any row, and those since boot that grew."""
        path = self.folder / "probe.csv"
        if any(store.column(path, "throttled_now")):
            self.bad("dirty", "throttled: the SoC was, while this was measured")
        elif store.aggregate(store.column(path, "throttled_ever"), "delta"):
            self.bad("dirty", "throttled: the SoC was, between two looks of the probe")


def option(options: List[str], name: str, default: float) -> float:
    """--NAME=S or --NAME S; what is no number, saker-load refuses."""
    for i, word in enumerate(options):
        word, equals, value = word.partition("=")
        if word == "--" + name:
            try:
                return float(value if equals else (options + [""])[i + 1])
            except ValueError:
                break
    return default


def warmed(options: List[str]) -> float:
    """When a load's measured part is about to begin: looking at the counters takes some
    milliseconds of somebody's CPU, which are to be of the warm-up."""
    warm = option(options, "warm", 1.0)
    return option(options, "floor", 0.2) + warm - min(MARK_BEFORE, warm / 2)


def shown(command: List[str]) -> str:
    return shlex.join(command)


def counted(said: Dict[str, Any]) -> str:
    names = ("errors", "timeouts", "resets", "wrong")
    found = [f"{said[name]} {name}" for name in names if said.get(name)]
    return ", ".join(found) or "it says nothing"
