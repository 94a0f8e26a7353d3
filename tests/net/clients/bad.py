#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""bad.py INTERFACE MAC SERVER_MAC SERVER4 SERVER6 PORT COUNTERS...

Frames and requests that are wrong in one way each. COUNTERS is a command that
prints saker-stat's JSON: each case must move the counter that names it, by one,
and no other judgement. Prints "ok - NAME" or "not ok - NAME".
"""

import json
import socket
import subprocess
import sys
import time

from frames import ACK, FIN, PSH, RST, SYN, address, ip4, ip6, mac, tcp
from http1 import Connection

interface, my_mac, server_mac, server4, server6, port = sys.argv[1:7]
command = sys.argv[7:]
port = int(port)
# Of nobody: no kernel answers our SYN-ACK with a RST of its own.
PADN = b"\x06\0\x01\x04\0\0\0\0"  # destination options that say nothing, then TCP
NOBODY4, NOBODY6 = address("10.88.0.77"), address("fd88::77")
US4, US6 = address(server4), address(server6)
# What a kernel says of its own accord (ND, MLD, ARP): a case that met it is run again.
NOISE = {"xdp_pass_proto", "xdp_pass_other"}

next_port = iter(range(20000, 60000))


def counters():
    return json.loads(subprocess.check_output(command))["counters"]


def changed(before, judged):
    after = counters()
    return {k: after[k] - before[k] for k in after if after[k] != before[k] and judged(k)}


def report(name, got, wanted):
    print("ok - %s" % name if got == wanted
          else "not ok - %s\n# got %s, wanted %s" % (name, got, wanted), flush=True)


# --- frames -------------------------------------------------------------------------


def eth(kind, payload):
    return mac(server_mac) + mac(my_mac) + kind + payload


def v4(source=NOBODY4, **wrong):
    """A SYN over IPv4; `ip_` names go to the IP header, others to TCP's."""
    ip = {k[3:]: v for k, v in wrong.items() if k.startswith("ip_")}
    rest = {k: v for k, v in wrong.items() if not k.startswith("ip_")}
    rest.setdefault("sport", next(next_port))
    rest.setdefault("dport", port)
    return eth(b"\x08\x00", ip4(source, US4, tcp(source, US4, **rest), **ip))


def v6(source=NOBODY6, following=6, before=b"", **wrong):
    segment = tcp(source, US6, next(next_port), port, **wrong)
    return eth(b"\x86\xdd", ip6(source, US6, before + segment, following))


def tagged(count):
    frame = v4()
    return frame[:12] + b"\x81\x00\x00\x05" * count + frame[12:]


FRAMES = [
    # past the XDP program, or not past it: under a name
    ("Ethernet header alone", lambda: v4()[:14], "xdp_pass_short"),
    ("TCP header cut off", lambda: v4()[:50], "xdp_pass_short"),
    ("IP length beyond the frame", lambda: v4(ip_length=1400), "xdp_pass_short"),
    ("IP length below its headers", lambda: v4(ip_length=30), "xdp_pass_short"),
    ("two VLAN tags", lambda: tagged(2), "xdp_pass_other"),
    ("first fragment", lambda: v4(ip_fragment=0x2000), "xdp_drop_fragment"),
    ("later fragment", lambda: v4(ip_fragment=100), "xdp_pass_fragment"),
    ("IP options", lambda: v4(ip_options=b"\x01\x01\x01\x00"), "xdp_drop_options"),
    ("UDP", lambda: v4(ip_proto=17), "xdp_pass_proto"),
    ("IPv6 extension header", lambda: v6(following=60, before=PADN), "xdp_drop_options"),
    ("another port", lambda: v4(dport=port + 1), "xdp_pass_port"),
    ("another MAC", lambda: mac("02:00:00:00:00:99") + v4()[6:], "xdp_pass_mac"),
    # malformed: dropped by the responder
    ("IP checksum", lambda: v4(ip_wrong=1), "pkt_bad_ip_csum"),
    ("TCP checksum", lambda: v4(wrong=1), "pkt_bad_tcp_csum"),
    ("TCP checksum over IPv6", lambda: v6(wrong=1), "pkt_bad_tcp_csum"),
    ("data offset 4", lambda: v4(words=4), "pkt_bad_doff"),
    ("data offset beyond the segment", lambda: v4(words=6), "pkt_bad_doff"),
    ("source port 0", lambda: v4(sport=0), "pkt_bad_port"),
    ("source is multicast", lambda: v4(source=address("224.0.0.1")), "pkt_bad_addr"),
    ("source is broadcast", lambda: v4(source=address("255.255.255.255")), "pkt_bad_addr"),
    ("source is unspecified", lambda: v4(source=address("0.0.0.0")), "pkt_bad_addr"),
    ("source is ours (LAND)", lambda: v4(source=US4, sport=port), "pkt_bad_addr"),
    ("source is IPv6 multicast", lambda: v6(source=address("ff02::1")), "pkt_bad_addr"),
    # whole, and nonsense
    ("SYN with FIN", lambda: v4(flags=SYN | FIN), "tcp_bad_flags"),
    ("SYN with RST", lambda: v4(flags=SYN | RST), "tcp_stray_rst"),
    ("no flag at all", lambda: v4(flags=0), "tcp_bad_flags"),
    ("FIN without ACK", lambda: v4(flags=FIN), "tcp_bad_flags"),
    ("data without ACK", lambda: v4(flags=PSH, data=b"GET"), "tcp_bad_flags"),
    ("ACK of no connection", lambda: v4(flags=ACK, ack=7), "tcp_stray"),
    ("data of no connection", lambda: v4(flags=ACK | PSH, ack=7, data=b"GET"), "tcp_stray"),
    ("FIN of no connection, IPv6", lambda: v6(flags=ACK | FIN, ack=7), "tcp_stray"),
    ("RST of no connection", lambda: v4(flags=RST), "tcp_stray_rst"),
    # and nothing wrong
    ("SYN", v4, "tcp_syn"),
    ("SYN with a VLAN tag", lambda: tagged(1), "tcp_syn"),
    ("SYN over IPv6", v6, "tcp_syn"),
]


def is_verdict(name):
    return name != "pkt_ok" and name.startswith(("xdp_pass", "xdp_drop", "pkt_", "tcp_", "http_"))


def send_frame(wire, make, wanted):
    for _ in range(5):
        before = counters()
        wire.send(make())
        got, end = {}, time.monotonic() + 5
        while not set(wanted) <= set(got) and time.monotonic() < end:
            time.sleep(0.02)
            got = changed(before, is_verdict)
        if not (set(got) - set(wanted)) & NOISE and got.get(next(iter(wanted)), 1) == 1:
            break
    return got


def frames():
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    wire.bind((interface, 0))
    for name, make, counter in FRAMES:
        report("frame: " + name, send_frame(wire, make, {counter: 1}), {counter: 1})
    wanted = {"pkt_bad_option": 1, "tcp_syn": 1}
    got = send_frame(wire, lambda: v4(options=b"\x02\x00\x05\xb4"), wanted)
    report("frame: option of length 0, SYN answered all the same", got, wanted)


# --- requests -------------------------------------------------------------------------


def get(target="/compute?n=1", fields="", method="GET", version="HTTP/1.1", host="Host: x\r\n"):
    return ("%s %s %s\r\n%s%s\r\n" % (method, target, version, host, fields)).encode()


def post(body, fields="", media_type="application/json"):
    return get("/compute", "Content-Type: %s\r\nContent-Length: %d\r\n%s" %
               (media_type, len(body), fields), "POST") + body


REQUESTS = [
    ("no version", b"GET /compute\r\n\r\n", 400, "bad_line"),
    ("method is no token", get(method="G@T"), 400, "bad_method_token"),
    ("< in the target", get("/<"), 400, "bad_target"),
    ("bare LF", get().replace(b"\r\n", b"\n"), 400, "bad_newline"),
    ("space before the colon", get(fields="A : b\r\n"), 400, "bad_field_name"),
    ("control character in a value", get(fields="A: \x01\r\n"), 400, "bad_field_value"),
    ("folded line", get(fields="A: b\r\n c\r\n"), 400, "bad_fold"),
    ("no Host", get(host=""), 400, "bad_host"),
    ("two Hosts", get(fields="Host: y\r\n"), 400, "bad_host"),
    ("signed length", get(fields="Content-Length: +1\r\n"), 400, "bad_length"),
    ("two lengths", post(b"{}", "Content-Length: 2\r\n"), 400, "bad_length"),
    ("length and chunks", post(b"{}", "Transfer-Encoding: chunked\r\n"), 400, "bad_framing"),
    ("chunk size is no number", get("/compute", "Content-Type: application/json\r\n"
     "Transfer-Encoding: chunked\r\n", "POST") + b"z\r\n", 400, "bad_chunk"),
    ("escape", get("/compute?n=%zz"), 400, "bad_escape"),
    ("unknown name", get("/compute?m=1"), 400, "bad_name"),
    ("name twice", get("/compute?n=1&n=1"), 400, "bad_twice"),
    ("n is no number", get("/compute?n=one"), 400, "bad_number"),
    ("n above --max-n", get("/compute?n=100000001"), 400, "bad_n_range"),
    ("seed wider than 32 bits", get("/compute?seed=4294967296"), 400, "bad_seed_range"),
    ("unknown algorithm", get("/compute?alg=md5"), 400, "bad_alg"),
    ("JSON that is no object", post(b"[1]"), 400, "bad_json"),
    ("unknown path", get("/nothing"), 404, "not_found"),
    ("method not for this path", get("/healthz", "Content-Length: 0\r\n", "POST"), 405, "bad_method"),
    ("body too long", get("/compute", "Content-Type: application/json\r\n"
     "Content-Length: 16385\r\n", "POST"), 413, "too_large"),
    ("target too long", get("/" + "x" * 2048), 414, "target_long"),
    ("media type", post(b"<n/>", media_type="text/xml"), 415, "media_type"),
    ("expectation", post(b"{}", "Expect: miracles\r\n"), 417, "expectation"),
    ("head too long", get(fields="A: %s\r\n" % ("x" * 8192)), 431, "head_long"),
    ("unknown method", get(method="BREW"), 501, "not_implemented"),
    ("version 2.0", get(version="HTTP/2.0"), 505, "bad_version"),
    ("nothing wrong", get(), 200, "ok"),
]


def requests():
    for name, request, status, counter in REQUESTS:
        before = counters()
        connection = Connection(server4, port, 10)
        connection.send(request)
        try:
            got_status = connection.answer()[0]
        except Exception as trouble:  # reported as what came instead of a status
            got_status = repr(trouble)
        connection.close()
        got = changed(before, lambda key: key.startswith("http_"))
        report("request: " + name, (got_status, got),
               (status, {"http_requests": 1, "http_" + counter: 1}))


frames()
requests()
