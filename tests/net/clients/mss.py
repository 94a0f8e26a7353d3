# SPDX-License-Identifier: GPL-2.0-only
"""Print the MSS that a server offers in its SYN-ACK. mss.py ADDRESS PORT"""
import socket
import struct
import sys

with socket.create_connection((sys.argv[1], int(sys.argv[2])), 5) as s:
    info = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104)
    # tcpi_snd_mss, without timestamps' 12 bytes: linux/tcp.h, struct tcp_info
    print(struct.unpack_from("I", info, 16)[0] + 12)
