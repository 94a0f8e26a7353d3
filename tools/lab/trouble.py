# SPDX-License-Identifier: GPL-2.0-only
"""trouble - what a user is told when the lab cannot go on

Place   every module raises it; saker-lab prints it as one line, and ends with its status
Model   cause and cure, in one sentence each, joined by "; "
"""
from __future__ import annotations

CANNOT = 1     # it did not work
USAGE = 2      # the command line or the experiment file is wrong


class Trouble(Exception):
    def __init__(self, text: str, status: int = CANNOT):
        super().__init__(text)
        self.status = status
