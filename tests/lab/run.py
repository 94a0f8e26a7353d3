#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""run.py [NAMES...] - the lab's unit tests (test_NAME.py beside this file) as TAP."""
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent


class Tap(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.count = 0

    def tell(self, word: str, test, more: str = "", detail: str = ""):
        self.count += 1
        name = test.id().replace("#", "")
        print(f"{word} {self.count} - {name}{more}", flush=True)
        for line in detail.splitlines():
            print("# " + line)

    def addSuccess(self, test):
        self.tell("ok", test)

    def addSkip(self, test, reason):
        self.tell("ok", test, f" # SKIP {reason}")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.tell("not ok", test, "", self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.tell("not ok", test, "", self.errors[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self.tell("not ok", subtest, "", (self.failures + self.errors)[-1][1])


def main() -> int:
    sys.dont_write_bytecode = True
    # Ours last: both folders have a run.py.
    sys.path[:0] = [str(HERE.parent.parent / "tools" / "lab"), str(HERE)]
    names = sys.argv[1:] or sorted(p.stem[5:] for p in HERE.glob("test_*.py"))
    result = Tap()
    unittest.defaultTestLoader.loadTestsFromNames([f"test_{n}" for n in names]).run(result)
    print(f"1..{result.count}")
    return 0 if result.wasSuccessful() else 1


sys.exit(main())
