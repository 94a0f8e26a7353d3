# SPDX-License-Identifier: GPL-2.0-only
"""experiment: what is understood, and that the rest is refused under its line, with a cure."""
import re
import tempfile
import unittest
from pathlib import Path

import experiment
import grammar
import words
from trouble import Trouble

GOOD = """# a comment
title T   # and one behind a blank
question Which \\
    is \\#1?
factor subject ours theirs
factor rate 200 5k
subject ours saker $OPTS --max-n=5
subject theirs nginx
let OPTS
let subject=ours OPTS --io=$how 'two words'
let how socket
let rate=5k how xdp
load --rate=$rate /compute?n=0
before echo $$HOME $(date) > $run/x
without subject=theirs rate=5k
need subject=ours command:saker no saker
repeat 3
order abba
baseline subject=theirs
figure first figures.first_ms us lower first answer
figures p50 first
published p50 2 ms a paper of 1999
bar p50 ours <= 0.5x theirs
bar p50 ours rate=200 <= 1 ms
bar rate_ok ours >= 100
quick factor rate 5k 7k
quick repeat 1
quick let how generic
quick before
"""


def load(text: str, quick: bool = False) -> experiment.Experiment:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.lab"
        path.write_text(text)
        return experiment.load(path, quick)


class Understood(unittest.TestCase):
    def setUp(self):
        self.exp = load(GOOD)

    def test_texts_without_comments_and_joined(self):
        self.assertEqual((self.exp.title, self.exp.question), ("T", "Which is #1?"))

    def test_the_matrix_without_what_is_left_out(self):
        self.assertEqual([tuple(c.values()) for c in self.exp.combinations()],
                         [("ours", "200"), ("ours", "5k"), ("theirs", "200")])

    def test_names_stand_for_words_of_their_level(self):
        for rate, how in (("200", "socket"), ("5k", "xdp")):
            values = self.exp.values({"subject": "ours", "rate": rate}, {})
            self.assertEqual(self.exp.command(self.exp.subjects["ours"].line, values),
                             ["--io=" + how, "two words", "--max-n=5"])
        values = self.exp.values({"subject": "theirs", "rate": "200"}, {})
        self.assertEqual(self.exp.command(self.exp.subjects["ours"].line, values), ["--max-n=5"])

    def test_dollars_of_the_shell(self):
        self.assertEqual(self.exp.filled(self.exp.before[0], {"run": "/r"}),
                         "echo $HOME $(date) > /r/x")

    def test_figures_published_values_and_bars_in_the_figures_unit(self):
        self.assertEqual([f.name for f in self.exp.figures], ["p50", "first"])
        self.assertEqual(self.exp.published, [("p50", 2000.0, "us", "a paper of 1999")])
        self.assertEqual([(b.level, b.op, b.value, b.against, b.where) for b in self.exp.bars],
                         [("ours", "<=", 0.5, "theirs", {}),
                          ("ours", "<=", 1000.0, None, {"rate": "200"}),
                          ("ours", ">=", 100.0, None, {})])

    def test_quick_replaces_what_it_names(self):
        quick = load(GOOD, True)
        self.assertEqual((quick.factors["rate"], quick.repeat, quick.before), (["5k", "7k"], 1, []))
        self.assertEqual(len(quick.lets), len(self.exp.lets))
        self.assertEqual(quick.values({"subject": "ours", "rate": "7k"}, {})["how"], "generic")

    def test_without_figures_the_usual_ones_and_its_own(self):
        self.assertEqual([f.name for f in load(GOOD.replace("figures p50 first\n", "")).figures],
                         ["mean", "p50", "p99", "rate_ok", "first"])

    def test_a_measure_needs_no_subject(self):
        exp = load("title T\nmeasure ./m $lab\nfigure x figures.x B lower bytes\n")
        self.assertEqual(list(exp.combinations()), [{}])


# Line and text of what is appended to GOOD, or replaces a part of it; what must be said.
WRONG = (
    ("colour red", r":\d+: colour: no such key; "),
    ("figurs p50", r":\d+: figurs: no such key; perhaps figures"),
    ("repeat 0", r"repeat stands on line 17 already; say it once"),
    ("factor subject a", r"factor subject stands on line 5 already"),
    ("factor x a a", r"factor x has level a twice; "),
    ("factor port a", r"factor port: not a name for it; "),
    ("factor X a", r"factor X: not a name for it"),
    ("factor x", r"factor x has no level; name at least one"),
    ("let rate=9 A b", r"rate has no level 9; its levels are 200 5k 7k"),
    ("let speed=9 A b", r"speed: no such factor; the factors are subject rate"),
    ("let port 9", r"\$port stands for something already"),
    ("let rate 9", r"\$rate stands for something already"),
    ("let subject=ours how x", r"\$how has a value by line \d+ too, at subject=ours rate=5k; "),
    ("let a $b", r":LAST: \$b is not defined; let b VALUE"),
    ("let a $a", r":LAST: \$a is made of itself"),
    ("beside sleep $nobody", r":LAST: \$nobody is not defined"),
    ("probe --hz='1", r"a quotation mark has no second one"),
    ("subject ours saker", r"subject ours stands on line 7 already"),
    ("subject other saker", r"subject has no level other"),
    ("without rate=200", r"not two levels or more"),
    ("need tea none", r"need tea: no such thing; the things are command: "),
    ("need command: none", r"need command:: no such thing"),
    ("need root", r"need root: no reason; "),
    ("figure x y", r"figure: five things; figure NAME PATH UNIT lower\|higher TEXT"),
    ("figure x probe:temp us lower t", r"wants probe:COLUMN.AGGREGATE"),
    ("figure x disk:a us lower t", r"no such place; there are stages:"),
    ("figure x figures.a_ms MiB lower t", r"is in ms, which does not convert to MiB"),
    ("published p49 2 ms s", r"p49: no such figure; perhaps p"),
    ("published p50 2 kg s", r"kg does not convert to us"),
    ("published p50 two us s", r"published two: not a number"),
    ("bar p50 ours < 3", r"bar: not one; bar FIGURE LEVEL"),
    ("bar p50 200x <= 3", r"200x: no factor has such a level"),
    ("bar p50 ours <= 2x", r"bar: 2x of what\?"),
    ("quick quick repeat 1", r"quick quick; say it once"),
    ("quick factor subject ours", r"--quick leaves the baseline out"),
    ("quick repeat", r"repeat: nothing behind it"),
    ("limit 0", r"limit 0: not a number from 1 on"),
)


class Refused(unittest.TestCase):
    def refused(self, text: str, wanted: str):
        with self.assertRaises(Trouble) as caught:
            load(text)
        self.assertRegex(str(caught.exception), wanted)
        self.assertRegex(str(caught.exception), r"^[^\n]+x\.lab:\d+: [^\n]+; [^\n]+$")
        self.assertEqual(caught.exception.status, 2)

    def test_each_wrong_line(self):
        for line, wanted in WRONG:
            with self.subTest(line):
                last = str(len((GOOD + line).splitlines()))
                self.refused(GOOD + line + "\n", wanted.replace("LAST", last))

    def test_what_only_the_whole_file_shows(self):
        for gone, wanted in (("title T", "no title; add"), ("load --", "nothing is measured"),
                             ("subject theirs", "what is subject theirs"),
                             ("baseline", "order abba turns")):
            with self.subTest(gone):
                self.refused(re.sub(f"(?m)^{gone}.*\n", "", GOOD), wanted)

    def test_no_combination_is_left(self):
        with self.assertRaisesRegex(Trouble, "no combination of levels is left"):
            load("title T\nfactor a b\nfactor c d\nwithout a=b c=d\nmeasure x\n"
                 "figure x figures.x B lower bytes\n")

    def test_a_file_that_is_not_there(self):
        with self.assertRaisesRegex(Trouble, "/no/x.lab: No such file or directory; name an"):
            experiment.load("/no/x.lab")


class Words(unittest.TestCase):
    def test_join_is_undone_by_fill_and_split(self):
        command = ["a b", "$x", "it's", "", "#"]
        self.assertEqual(words.split(words.fill("$c", {"c": words.join(command)})), command)


class Manual(unittest.TestCase):
    def test_every_key_thing_and_name_is_in_the_manual(self):
        manual = (Path(__file__).resolve().parents[2] / "docs" / "saker-lab.1").read_text()
        for key in grammar.ONCE + grammar.MANY + ("quick",):
            self.assertRegex(manual, rf"(?m)^\.It Ic {key}\b", key)
        for thing in grammar.THINGS:
            self.assertRegex(manual, rf"(?m)^\.It Cm {thing.rstrip(':')}\b", thing)
        for name in experiment.BUILT_IN:
            self.assertRegex(manual, rf"(?m)^\.It Va \$?{name}\b", name)
        for name in experiment.figure.BUILT_IN:
            self.assertRegex(manual, rf"\b{name}\b", name)
