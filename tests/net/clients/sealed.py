# SPDX-License-Identifier: GPL-2.0-only
"""Where do the settings of a process lie? sealed.py PID IFACE

The record begins with the name of the interface. Prints "sealed" if the one copy at the
start of a mapping lies in a private one that is not writable.
"""
import sys

pid, name = int(sys.argv[1]), sys.argv[2].encode() + b"\0"
found = set()
with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
    for line in maps:
        fields = line.split()
        start = int(fields[0].split("-")[0], 16)
        if len(fields) > 5 or not fields[1].startswith("r"):
            continue
        try:
            memory.seek(start)
            if memory.read(len(name)) == name:
                found.add(fields[1])
        except OSError:
            continue
print("sealed" if found == {"r--p"} else sorted(found))
