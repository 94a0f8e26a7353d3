#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""service.py PORT: the other service on the machine, TCP and UDP, that sends back what it gets."""

import socket
import socketserver
import sys
import threading


class Tcp(socketserver.ThreadingTCPServer):
    address_family = socket.AF_INET6
    allow_reuse_address = daemon_threads = True


class Udp(socketserver.ThreadingUDPServer):
    address_family = socket.AF_INET6


class TcpEcho(socketserver.BaseRequestHandler):
    def handle(self):
        while True:
            data = self.request.recv(65536)
            if not data:
                break
            self.request.sendall(data)


class UdpEcho(socketserver.BaseRequestHandler):
    def handle(self):
        data, responder = self.request
        responder.sendto(data, self.client_address)


where = ("::", int(sys.argv[1]))
tcp, udp = Tcp(where, TcpEcho), Udp(where, UdpEcho)
threading.Thread(target=udp.serve_forever, daemon=True).start()
tcp.serve_forever()
