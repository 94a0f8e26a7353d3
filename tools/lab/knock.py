# SPDX-License-Identifier: GPL-2.0-only
"""knock.py ADDRESS PORT SECONDS - waits until somebody listens there

Place   a program: subject runs it where the subject is
Model   connect() alone; the first request is the measurement's. Exit status 1: nobody came.
"""
import socket
import sys
import time


def main() -> int:
    address, port, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            socket.create_connection((address, port), 1).close()
            return 0
        except OSError:
            time.sleep(0.02)
    return 1


if __name__ == "__main__":
    sys.exit(main())
