# SPDX-License-Identifier: GPL-2.0-only
"""run, attempt: from todo to each of the states, and that nothing is left behind."""
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import attempt
import process
import rig
import store
import subject


def children() -> list:
    """Numbers of our children that still run."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == os.getpid() and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def members(group: int, wanted: int) -> int:
    """How many processes the session has, as soon as these are `wanted`."""
    until = time.monotonic() + 15
    while len(subject.of_session(group)) != wanted and time.monotonic() < until:
        time.sleep(0.02)
    return len(subject.of_session(group))


class States(rig.Lab):
    def tearDown(self):
        self.assertEqual(children(), [])

    def only(self, session: store.Session) -> store.Run:
        self.assertEqual(len(session.runs), 1)
        return session.runs[0]

    def test_done(self):
        session = self.make(self.base("before echo before >> $here/order\n"
                                      "after echo after >> $here/order\n"
                                      "beside echo beside $pid >> $here/order; sleep 60\n"))
        one = self.only(session)
        self.assertEqual((one.state, one.why), ("done", []))
        self.assertGreater(one.figure(session.experiment.known["p50"]), 0)
        self.assertGreater(one.figure(session.experiment.known["pss_kb"]), 100)
        said = one.json("run")
        order = (self.dir / "order").read_text().splitlines()
        self.assertEqual([line.split()[0] for line in order], ["before", "beside", "after"])
        self.assertIn("peer.py 127.0.0.1", said["commands"]["server"])
        self.assertIn(f"http://127.0.0.1:{subject.PORT}/compute", said["commands"]["load"])
        self.assertLess(said["started_unix_ns"], said["ended_unix_ns"])
        self.assertTrue((session.folder / "figures.csv").exists())
        self.assertEqual(session.facts["place"], "veth")

    def test_failed_by_what(self):
        for name, text, why in (
                ("the load counts errors", "load --seconds=0.05 --fail=errors",
                 "load: status 1: 3 errors"),
                ("the load cannot", "load --fail=silent",
                 "load: status 1: saker-load: cannot connect"),
                ("the load has no end", "load --fail=mute\nlimit 1", "load: no end within 1 s"),
                ("the subject dies", "load --seconds=0\nsubject own peer {peer} die",
                 "it ended before the run"),
                ("the subject does not listen", "load\nsubject own peer sleep 60",
                 "it does not listen"),
                ("the subject ends at once", "load\nsubject own peer sleep 0",
                 "it ended before it listened"),
                ("the subject is nobody", "load\nsubject own peer /no/such", "/no/such: "),
                ("before", "load\nbefore echo a cause >&2; exit 3", "status 3: a cause"),
                ("after", "load --seconds=0.05\nafter false", "after: false: status 1"),
                ("beside", "load --seconds=0.3\nbeside echo gone >&2; exit 4", "status 4: gone")):
            with self.subTest(name):
                self.instead(subject, "READY", 1.0)
                keys = {line.split()[0] for line in text.splitlines()}
                kept = [line for line in self.base().splitlines() if line.split()[0] not in keys]
                text = text.format(peer=f"{sys.executable} -I -S {self.dir}/peer.py $address $port")
                lines = [*kept, *text.splitlines(), "after touch $here/after", ""]
                session = self.make("\n".join(lines), status=1)
                one = self.only(session)
                self.assertEqual(one.state, "failed")
                self.assertIn(why, "; ".join(one.why))
                self.assertTrue((self.dir / "after").exists(), "after is done all the same")
                (self.dir / "after").unlink()
                process.run(["rm", "-r", str(session.folder)])

    def test_dirty_is_left_out_unless_accepted(self):
        text = self.base().replace("load --seconds=0.05", "load --seconds=0.05 --fail=invalid")
        one = self.only(self.make(text, status=3))
        self.assertEqual((one.state, one.why, one.usable),
                         ("dirty", ["load: own lag p99 9 ms"], False))
        process.run(["rm", "-r", str(self.dir / "out")])
        one = self.only(self.make(text, accept_dirty=True))
        self.assertEqual((one.state, one.usable), ("dirty", True))

    def test_one_cpu_for_both_is_dirty(self):
        self.cpus = ("0", "0")
        one = self.only(self.make(self.base(), status=3))
        self.assertEqual(one.state, "dirty")
        self.assertIn("share CPU 0", one.why[0])

    def test_the_mark_is_made_when_the_load_is_warm(self):
        for options, wanted in ((["--warm=2"], 2.1), (["--warm", "0.1", "--floor=0"], 0.05),
                                ([], 1.1), (["--warm=0", "--floor=0.5"], 0.5)):
            with self.subTest(" ".join(options)):
                self.assertAlmostEqual(attempt.warmed(options), wanted)

    def test_throttled_is_dirty(self):
        for column, rows, why in (("throttled_now", (0, 4, 0), "while this was measured"),
                                  ("throttled_ever", (0, 0, 262144), "between two looks")):
            with self.subTest(column):
                script = ("#!/bin/sh\n[ $# -gt 1 ] || exit\n"
                          "for o; do case $o in --out=*) f=${o#--out=};; esac; done\n"
                          f"printf 'unix_ns,s,{column}\\n' > $f\n"
                          + "".join(f"echo 0,0,{row} >> $f\n" for row in rows) + "exec sleep 60\n")
                probe = self.dir / "build" / "saker-probe"
                probe.write_text(script)
                probe.chmod(0o755)
                text = self.base().replace("probe no", "probe --hz=5")
                one = self.only(self.make(text, status=3))
                self.assertEqual(one.state, "dirty")
                self.assertIn(why, one.why[0])
                process.run(["rm", "-r", str(self.dir / "out")])

    def test_skipped_by_what_the_host_lacks(self):
        session = self.make(self.base("need command:no-such-thing cannot do without\n"
                                      "before touch $here/ran\n"))
        one = self.only(session)
        self.assertEqual((one.state, one.why),
                         ("skipped", ["no command:no-such-thing: cannot do without"]))
        self.assertFalse((self.dir / "ran").exists())

    def measured(self, script: str, status: int, more: str = "") -> store.Run:
        process.run(["rm", "-rf", str(self.dir / "out")])
        text = (f"title T\nmeasure sh -c '{script}' x $server\nprobe no\n"
                "figure x figures.x ms lower x\n" + more)
        return self.only(self.make(text, status=status))

    def test_a_measure_and_its_four_ends(self):
        one = self.measured('echo "{\\"figures\\":{\\"x\\":4}}"', 0)
        self.assertEqual((one.state, one.found("figures.x")), ("done", 4))
        one = self.measured('echo "{\\"invalid\\":[\\"too short\\"]}"; exit 3', 3)
        self.assertEqual((one.state, one.why), ("dirty", ["measure: too short"]))
        one = self.measured('echo "{\\"skipped\\":\\"no huge pages\\"}"; exit 4', 0)
        self.assertEqual((one.state, one.why), ("skipped", ["no huge pages"]))
        one = self.measured("echo why >&2; exit 5", 1)
        self.assertEqual((one.state, one.why), ("failed", ["measure: status 5: why"]))
        one = self.measured("echo no JSON", 1)
        self.assertEqual(one.state, "failed")

    def test_a_measure_that_starts_the_subject_itself(self):
        peer = self.base().splitlines()
        one = self.measured('"$@" & sleep 0.3; kill $!; echo "{\\"figures\\":{\\"x\\":1}}"', 0,
                            "start no\n" + "\n".join(peer[1:3]) + "\n")
        self.assertEqual(one.state, "done", one.why)
        self.assertFalse((one.folder / "server.log").exists(), "nobody else started it")

    def test_measure_and_load_of_one_run(self):
        text = self.base("start no\nmeasure echo '{\"figures\":{\"x\":3}}'\n"
                         "figure x figures.x ms lower x\n")
        one = self.only(self.make(text))
        self.assertEqual((one.state, one.found("figures.x")), ("done", 3))
        self.assertGreater(one.found("latency.p50"), 0)

    def test_resume_makes_what_has_no_state_and_nothing_else(self):
        session = self.make(self.base("repeat 3\nafter echo x >> $here/count\n"))
        kept = [r.json("run")["started_unix_ns"] for r in session.runs]
        (session.run_folder(2) / "run.json").unlink()
        (session.run_folder(2) / "rubbish").touch()
        again = store.Session(session.folder)
        self.assertEqual([r.state for r in again.planned], ["done", "todo", "done"])
        self.go_on(again)
        now = [r.json("run")["started_unix_ns"] for r in again.runs]
        self.assertEqual((now[0], now[2]), (kept[0], kept[2]))
        self.assertGreater(now[1], kept[2])
        self.assertFalse((session.run_folder(2) / "rubbish").exists())
        self.assertEqual((self.dir / "count").read_text().count("x"), 4)
        self.assertEqual(len(again.facts["resumed"]), 1)

    def test_an_interrupt_clears_up_and_leaves_the_run_to_do(self):
        session = self.session(self.base("after touch $here/after\n").replace("=0.05", "=30"))
        child = os.fork()
        if child == 0:
            self.go_on(session, status=130)
            os._exit(0)
        until = time.monotonic() + 10
        while not (session.run_folder(1) / "load.json").exists() and time.monotonic() < until:
            time.sleep(0.02)
        os.kill(child, signal.SIGINT)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertTrue((self.dir / "after").exists())
        self.assertEqual([r.state for r in session.planned], ["todo"])


class Killed(rig.Lab):
    """What a lab that is killed outright has started, ends."""

    def test_by_the_keeper(self):
        script = ("import process, sys, pathlib\n"
                  f"process.LOCK = pathlib.Path({str(self.dir / 'lock')!r})\n"
                  "with process.Processes() as p:\n"
                  "    one = p.start(['sh', '-c', 'sleep 300 & wait'])\n"
                  "    two = p.start(['sleep', '300'])\n"
                  "    p.stop(two)\n"
                  "    print(one.pid, flush=True)\n"
                  "    sys.stdin.read()\n")
        lab = subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, cwd=Path(process.__file__).parent)
        group = int(lab.stdout.readline())
        self.assertEqual(members(group, 2), 2)
        lab.kill()
        lab.wait()
        lab.stdin.close()
        lab.stdout.close()
        self.assertEqual(members(group, 0), 0)
        with process.Processes():
            pass    # the lock is free

    def test_what_ignores_an_end_is_killed(self):
        with process.Processes() as p:
            one = p.start(["sh", "-c", "trap '' TERM; echo on; while :; do sleep 1; done"],
                          stdout=subprocess.PIPE)
            one.child.stdout.readline()
            self.assertEqual(p.stop(one, 0.1), -signal.SIGKILL)
            one.child.stdout.close()

    def test_an_interrupt_waits_until_a_process_is_noted(self):
        self.addCleanup(lambda: [signal.signal(n, h) for n, h in before.items()])
        before = {number: signal.getsignal(number) for number in process.BREAKING}
        process.stop_on_signals()
        done = []
        with self.assertRaises(KeyboardInterrupt):
            with process.whole():
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.01)
                done.append("noted")
            done.append("not broken off")
        os.kill(os.getpid(), signal.SIGTERM)
        self.assertEqual(done, ["noted"])

    def test_two_labs_at_once_are_refused(self):
        self.instead(process, "LOCK_WAIT", 0.1)
        with process.Processes():
            with self.assertRaisesRegex(process.Trouble, "another saker-lab runs on this host; "):
                process.locked()
