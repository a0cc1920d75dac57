# SPDX-License-Identifier: GPL-2.0-or-later
"""What really went over the host's links, seen from the world's side."""
import ctypes
import dataclasses
import ipaddress
import os
import select
import socket
import struct
import threading
import time

import netns

ETH_P_ALL = 3
SOL_PACKET = 263
PACKET_STATISTICS = 6
PACKET_IGNORE_OUTGOING = 23
SNAP = 192
SO_ATTACH_FILTER = 26
SO_RCVBUFFORCE = 33
# Bulk data would overrun the capture: TCP without SYN to the ports of the
# lab's sink and source (7001, 7002) isn't copied. Classic BPF: code, jump if
# true, jump if false, operand. IPv4 from the fourth instruction on, IPv6 from
# the fourteenth; the last two accept and drop.
BULK = (
    (0x28, 0, 0, 0xc), (0x15, 11, 0, 0x86dd), (0x15, 0, 17, 0x800),
    (0x30, 0, 0, 0x17), (0x15, 0, 15, 0x6), (0x28, 0, 0, 0x14),
    (0x45, 13, 0, 0x1fff), (0xb1, 0, 0, 0xe), (0x48, 0, 0, 0x10),
    (0x15, 1, 0, 0x1b59), (0x15, 0, 9, 0x1b5a), (0x50, 0, 0, 0x1b),
    (0x45, 7, 8, 0x2), (0x30, 0, 0, 0x14), (0x15, 0, 5, 0x6),
    (0x28, 0, 0, 0x38), (0x15, 1, 0, 0x1b59), (0x15, 0, 2, 0x1b5a),
    (0x30, 0, 0, 0x43), (0x45, 0, 1, 0x2), (0x06, 0, 0, 0x40000),
    (0x06, 0, 0, 0x0),
)
PROTOS = {1: "icmp", 6: "tcp", 17: "udp", 58: "icmp6"}
# Neighbour discovery, router solicitation and multicast listener reports are
# the lab kernel's own.
ND_TYPES = set(range(130, 138)) | {143}


@dataclasses.dataclass
class Packet:
    at: float
    link: str
    ether: int
    proto: str = ""
    src: str = ""
    dst: str = ""
    sport: int = 0
    dport: int = 0
    detail: str = ""
    raw: bytes = b""

    def __str__(self):
        return (f"{self.link}: ether={self.ether:#06x} {self.proto} "
                f"{self.src}:{self.sport} > {self.dst}:{self.dport} "
                f"{self.detail}")


def _ports(p, data):
    if p.proto in ("tcp", "udp") and len(data) >= 4:
        p.sport, p.dport = struct.unpack("!HH", data[:4])
        if p.proto == "tcp" and len(data) >= 14:
            p.detail = "flags=%#04x" % data[13]
    elif p.proto in ("icmp", "icmp6") and len(data) >= 2:
        p.detail = f"type={data[0]} code={data[1]}"


def parse(raw, link, at):
    """Ethernet frame to Packet; enough to judge it, never fails."""
    p = Packet(at, link, struct.unpack("!H", raw[12:14])[0], raw=raw)
    body = raw[14:]
    if p.ether == 0x0800 and len(body) >= 20:
        p.proto = PROTOS.get(body[9], str(body[9]))
        p.src, p.dst = map(socket.inet_ntoa, (body[12:16], body[16:20]))
        if struct.unpack("!H", body[6:8])[0] & 0x1FFF == 0:
            _ports(p, body[(body[0] & 15) * 4:])
    elif p.ether == 0x86DD and len(body) >= 40:
        nxt, rest = body[6], body[40:]
        p.src = socket.inet_ntop(socket.AF_INET6, body[8:24])
        p.dst = socket.inet_ntop(socket.AF_INET6, body[24:40])
        if nxt == 0 and len(rest) >= 8:     # MLD comes with hop-by-hop
            nxt, rest = rest[0], rest[8 * (rest[1] + 1):]
        p.proto = PROTOS.get(nxt, str(nxt))
        _ports(p, rest)
    elif p.ether == 0x0806:
        p.proto = "arp"
    return p


def is_noise(p):
    """Packets that the lab's own kernels send on any Ethernet link."""
    if p.proto == "arp":
        return True
    if p.proto == "icmp6" and p.detail:
        return int(p.detail.split()[0].split("=")[1]) in ND_TYPES
    return False


def enlarge(s):
    try:
        s.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    except PermissionError:     # rootless
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 << 20)


def leave_bulk_out(s):
    insns = b"".join(struct.pack("HBBI", *i) for i in BULK)
    buf = ctypes.create_string_buffer(insns)
    s.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER,
                 struct.pack("HL", len(BULK), ctypes.addressof(buf)))


class Capture:
    """Collects every frame that arrives from the host; one thread."""

    def __init__(self, world_path, host_path, links, marker_dst):
        self.packets = []
        self._marker_dst = marker_dst
        self._cond = threading.Condition()
        self._markers = set()
        self._socks = []
        for link in links:
            s = netns.make_socket(world_path, socket.AF_PACKET,
                                  socket.SOCK_RAW, socket.htons(ETH_P_ALL))
            s.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            enlarge(s)
            leave_bulk_out(s)
            s.bind((link, ETH_P_ALL))
            s.setblocking(False)
            self._socks.append((link, s))
        self._tx = netns.make_socket(host_path, socket.AF_INET,
                                     socket.SOCK_DGRAM)
        self._stop_r, self._stop_w = os.pipe()
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    def _loop(self):
        poll = select.poll()
        for _, s in self._socks:
            poll.register(s, select.POLLIN)
        poll.register(self._stop_r, select.POLLIN)
        while True:
            for fd, _ in poll.poll():
                if fd == self._stop_r:
                    return
            for link, s in self._socks:
                self._drain(link, s)

    def _drain(self, link, s):
        while True:
            try:
                raw = s.recv(SNAP)
            except BlockingIOError:
                return
            if len(raw) < 14:
                continue
            p = parse(raw, link, time.monotonic())
            if p.dst == self._marker_dst:
                with self._cond:
                    self._markers.add(raw[42:])
                    self._cond.notify_all()
                continue
            self.packets.append(p)

    def sync(self, timeout=5):
        """Wait until everything sent so far has been seen; a position."""
        token = os.urandom(16)
        with self._cond:
            self._tx.sendto(token, (self._marker_dst, 9))
            if not self._cond.wait_for(
                    lambda: any(m.startswith(token) for m in self._markers),
                    timeout):
                raise RuntimeError("the capture doesn't see its own marker")
            self._markers.clear()
        for link, s in self._socks:
            st = s.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8)
            lost = struct.unpack("II", st)[1]
            if lost:
                raise RuntimeError(f"capture on {link} lost {lost} packets")
        return len(self.packets)

    def close(self):
        os.write(self._stop_w, b"x")
        self._thread.join()
        for _, s in self._socks:
            s.close()
        self._tx.close()
        os.close(self._stop_r)
        os.close(self._stop_w)


def qname_of(p):
    """The name in a captured UDP query, lower case, or None."""
    body = p.raw[14:]
    off = (body[0] & 15) * 4 + 8 if p.ether == 0x0800 else 48
    data = body[off + 12:]
    labels = []
    while data and data[0]:
        n = data[0]
        if n > 63 or n + 1 > len(data):
            return None
        labels.append(data[1:n + 1].decode("ascii", "replace").lower())
        data = data[n + 1:]
    return ".".join(labels)


class Expected:
    """The flows that an allowlist explains."""

    def __init__(self, dns_server):
        self.dns_server = dns_server
        self.exact, self.below = set(), set()
        self.flows = set()       # (addr, proto, port or None)
        self.nets = []           # (network, proto, port or None)
        self.anything = False

    def add_name(self, name, proto, ports, zone, wanted=None):
        if name.startswith("*."):
            self.below.add(name[2:])
            names = [n for n in zone.zone if n.endswith(name[1:])]
        else:
            self.exact.add(name)
            names = [name]
        for n in names:
            for a in filter(wanted, zone.addresses(n)):
                self.add_flow(a, proto, ports)

    def add_flow(self, addr, proto, ports):
        addr = str(ipaddress.ip_address(addr))
        for port in ports:
            self.flows.add((addr, proto, port))

    def add_net(self, net, proto, ports):
        net = ipaddress.ip_network(net, strict=False)
        for port in ports:
            self.nets.append((net, proto, port))

    def allows_name(self, name):
        if name in self.exact:
            return True
        return any(name.endswith("." + b) for b in self.below)

    def explains(self, p):
        if self.anything or is_noise(p):
            return True
        if p.proto in ("udp", "tcp") and p.dport == 53 \
                and p.dst in self.dns_server:
            if p.proto == "tcp":
                return True     # the server's log shows the names
            name = qname_of(p)
            return name is not None and self.allows_name(name)
        if p.proto in ("icmp", "icmp6") and p.dst in self.dns_server:
            return True         # an answer that came after its socket closed
        for port in (p.dport, None):
            if (p.dst, p.proto, port) in self.flows:
                return True
        if not p.dst:
            return False
        dst = ipaddress.ip_address(p.dst)
        return any(dst in net and proto == p.proto and port in (None, p.dport)
                   for net, proto, port in self.nets)
