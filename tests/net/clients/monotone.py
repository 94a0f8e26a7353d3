#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
# Usage: monotone.py SAKER_STAT INTERFACE STOP_FILE
# Reads all counters again and again; status 1, and which ones, if any went back.
import json
import os
import subprocess
import sys
import time

stat, interface, stop = sys.argv[1:]
before, reads, back = {}, 0, {}
while not os.path.exists(stop):
    told = subprocess.run([stat, "-i", interface, "--json"], capture_output=True)
    time.sleep(0.01)
    if told.returncode:
        continue
    now = json.loads(told.stdout)["counters"]
    reads += 1
    for name, value in now.items():
        if value < before.get(name, 0):
            back[name] = f"{before[name]} -> {value}"
    before = now
print(f"{reads} readings")
for name, how in back.items():
    print(f"{name} went back: {how}")
sys.exit(1 if back or reads < 10 else 0)
