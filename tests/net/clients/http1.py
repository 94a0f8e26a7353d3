# SPDX-License-Identifier: GPL-2.0-only
"""One connection; answers are read strictly: what the length says, no byte more."""

import socket


class Broken(Exception):
    """The connection ended or the answer is no answer."""


class Connection:
    def __init__(self, address, port, seconds=60):
        self.socket = socket.create_connection((address, port), timeout=seconds)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""

    def send(self, data):
        self.socket.sendall(data)

    def more(self):
        got = self.socket.recv(65536)
        if not got:
            raise Broken("closed after %r" % self.received[:200])
        self.received += got

    def until(self, mark):
        while mark not in self.received:
            self.more()
        part, self.received = self.received.split(mark, 1)
        return part

    def exactly(self, size):
        while len(self.received) < size:
            self.more()
        part, self.received = self.received[:size], self.received[size:]
        return part

    def answer(self, is_head=False):
        """(status, fields by lower-case name, body); 100 Continue is passed over."""
        lines = self.until(b"\r\n\r\n").decode("ascii").split("\r\n")
        version, status = lines[0].split(" ")[:2]
        if version != "HTTP/1.1":
            raise Broken("status line %r" % lines[0])
        if status == "100":
            return self.answer(is_head)
        fields = {}
        for line in lines[1:]:
            name, value = line.split(": ", 1)
            if name.lower() in fields:
                raise Broken("field twice: %r" % line)
            fields[name.lower()] = value
        body = b"" if is_head else self.exactly(int(fields["content-length"]))
        return int(status), fields, body

    def close(self):
        self.socket.close()
