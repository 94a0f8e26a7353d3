#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""pause.py SECONDS NUMBER...

Stops the processes for so long, and prints how long it was, in seconds.
"""

import os
import signal
import sys
import time

numbers = [int(one) for one in sys.argv[2:]]
for one in numbers:
    os.kill(one, signal.SIGSTOP)
begun = time.monotonic()
time.sleep(float(sys.argv[1]))
ended = time.monotonic()
for one in numbers:
    os.kill(one, signal.SIGCONT)
print(f"{ended - begun:.6f}")
