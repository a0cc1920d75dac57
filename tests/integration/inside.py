# SPDX-License-Identifier: GPL-2.0-or-later
"""Helpers for the programs that tests run inside the sandbox.

A program says `from inside import *` and reports with out(key=value, ...), one
JSON object on stdout. Uses the standard library only, dnspython where asked.
"""
import ctypes
import errno
import hashlib
import json
import os        # noqa: F401  (for the programs)
import socket
import struct
import sys       # noqa: F401
import time

CHUNK = 1 << 16
GW_MAC = bytes.fromhex("026567720001")
GW4, SB4 = "198.18.0.1", "198.18.0.2"
GW6, SB6 = "fd77:6567:7265:74::1", "fd77:6567:7265:74::2"
libc = ctypes.CDLL(None, use_errno=True)


def out(**kw):
    print(json.dumps(kw), flush=True)


def name_of(e):
    if isinstance(e, socket.timeout):
        return "timeout"
    if isinstance(e, socket.gaierror):
        return "gai:" + str(e.errno)
    return errno.errorcode.get(e.errno, str(e.errno))


def attempt(fn, *args):
    """None when the call works, else the name of its error."""
    try:
        fn(*args)
    except OSError as e:
        return name_of(e)
    return None


def stream(n, seed=b"egret"):
    block = hashlib.shake_256(seed).digest(CHUNK)
    return (block * (n // CHUNK + 1))[:n]


def tcp(host, port, timeout=5):
    s = socket.create_connection((host, port), timeout)
    s.settimeout(timeout)
    return s


def try_tcp(host, port, timeout=5):
    t = time.monotonic()
    err = attempt(lambda: tcp(host, port, timeout).close())
    return {"err": err, "ms": round(1000 * (time.monotonic() - t), 1)}


def try_udp(host, port, data=b"x", timeout=1):
    """Sends a datagram from a connected socket and waits for the answer."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    t = time.monotonic()
    with socket.socket(family, socket.SOCK_DGRAM) as s:
        s.settimeout(timeout)

        def go():
            s.connect((host, port))
            s.send(data)
            s.recv(65536)
        err = attempt(go)
    return {"err": err, "ms": round(1000 * (time.monotonic() - t), 1)}


def resolve(name, family=0):
    t = time.monotonic()
    try:
        r = sorted({x[4][0] for x in
                    socket.getaddrinfo(name, None, family,
                                       socket.SOCK_STREAM)})
        err = None
    except OSError as e:
        r, err = [], name_of(e)
    return {"addrs": r, "err": err,
            "ms": round(1000 * (time.monotonic() - t), 1)}


def read_all(s):
    parts = []
    while True:
        try:
            d = s.recv(CHUNK)
        except OSError as e:
            return b"".join(parts), name_of(e)
        if not d:
            return b"".join(parts), None
        parts.append(d)


def dnsq(name, qtype="A", server=GW4, via_tcp=False, timeout=3, payload=1232,
         raw_name=False):
    """One query; a summary of the answer."""
    import dns.edns
    import dns.exception
    import dns.message
    import dns.query
    import dns.rcode
    import dns.rdatatype
    if payload:
        q = dns.message.make_query(name, qtype, use_edns=0, payload=payload)
    else:
        q = dns.message.make_query(name, qtype)
    t = time.monotonic()
    f = dns.query.tcp if via_tcp else dns.query.udp
    try:
        r = f(q, server, timeout=timeout)
    except (dns.exception.Timeout, OSError, EOFError) as e:
        return {"rcode": None, "error": type(e).__name__, "answers": [],
                "data": [], "tc": False, "ede": [], "question": None,
                "ms": round(1000 * (time.monotonic() - t), 1)}
    answers = [[rr.name.to_text(), dns.rdatatype.to_text(rr.rdtype), rr.ttl,
                x.to_text()] for rr in r.answer for x in rr]
    ede = [[int(o.code), o.text or ""] for o in r.options
           if isinstance(o, dns.edns.EDEOption)]
    return {"rcode": dns.rcode.to_text(r.rcode()), "answers": answers,
            "data": sorted(a[3] for a in answers if a[1] in ("A", "AAAA")),
            "tc": bool(r.flags & 0x0200), "ede": ede,
            "question": r.question[0].name.to_text() if r.question else None,
            "ms": round(1000 * (time.monotonic() - t), 1)}


# --- frames by hand, for root inside ---

def checksum(data):
    if len(data) % 2:
        data += b"\0"
    s = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    while s >> 16:
        s = (s & 0xFFFF) + (s >> 16)
    return ~s & 0xFFFF


def ip4(src, dst, proto, payload, options=b"", frag=0, ident=1):
    ihl = 5 + len(options) // 4
    h = struct.pack("!BBHHHBBH4s4s", 0x40 | ihl, 0, 4 * ihl + len(payload),
                    ident, frag, 64, proto, 0, socket.inet_aton(src),
                    socket.inet_aton(dst)) + options
    return h[:10] + struct.pack("!H", checksum(h)) + h[12:] + payload


def ip6(src, dst, nexthdr, payload):
    return struct.pack("!IHBB", 6 << 28, len(payload), nexthdr, 64) + \
        socket.inet_pton(socket.AF_INET6, src) + \
        socket.inet_pton(socket.AF_INET6, dst) + payload


def _pseudo(src, dst, proto, n):
    if ":" in src:
        return socket.inet_pton(socket.AF_INET6, src) + \
            socket.inet_pton(socket.AF_INET6, dst) + \
            struct.pack("!IHBB", n, 0, 0, proto)
    return socket.inet_aton(src) + socket.inet_aton(dst) + \
        struct.pack("!BBH", 0, proto, n)


def udp_seg(src, dst, sport, dport, data):
    h = struct.pack("!HHHH", sport, dport, 8 + len(data), 0)
    c = checksum(_pseudo(src, dst, 17, 8 + len(data)) + h + data) or 0xFFFF
    return h[:6] + struct.pack("!H", c) + data


def tcp_seg(src, dst, sport, dport, flags=2, seq=1000, data=b""):
    h = struct.pack("!HHIIBBHHH", sport, dport, seq, 0, 0x50, flags, 65535,
                    0, 0)
    c = checksum(_pseudo(src, dst, 6, 20 + len(data)) + h + data)
    return h[:16] + struct.pack("!H", c) + h[18:] + data


class Wire:
    """AF_PACKET on the sandbox's link."""

    def __init__(self, ifname="eth0"):
        self.s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW,
                               socket.htons(3))
        self.s.bind((ifname, 0x0003))
        self.mac = self.s.getsockname()[4]
        self.sent = 0

    def send(self, payload, ether=0x0800, dst=GW_MAC, src=None, vlan=None):
        tag = struct.pack("!HH", 0x8100, vlan) if vlan is not None else b""
        self.s.send(dst + (src or self.mac) + tag +
                    struct.pack("!H", ether) + payload)
        self.sent += 1

    def wait(self, match, timeout=2):
        """The first received frame that match() likes, or None."""
        end = time.monotonic() + timeout
        while (left := end - time.monotonic()) > 0:
            self.s.settimeout(left)
            try:
                f, sa = self.s.recvfrom(65536)
            except OSError:
                return None
            if sa[2] != 4 and match(f):
                return f
        return None


def dns_wire(name, qtype=1, ident=0x4242):
    q = b"".join(bytes([len(x)]) + x.encode() for x in name.split("."))
    return struct.pack("!HHHHHH", ident, 0x0100, 1, 0, 0, 0) + q + \
        b"\0" + struct.pack("!HH", qtype, 1)
