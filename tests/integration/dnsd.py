# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab's DNS server: scripted answers over UDP and TCP, and a query log."""
import asyncio
import dataclasses
import struct
import time

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.rcode
import dns.rdatatype
import dns.rrset

SOA = "ns.invalid. root.invalid. 1 3600 600 86400 60"


@dataclasses.dataclass
class Query:
    name: str
    qtype: str
    transport: str
    server: str
    at: float


@dataclasses.dataclass
class Entry:
    """What one name answers; records maps a type to rdata texts."""
    records: dict
    ttl: int = 300
    delay: float = 0.0
    drop: str = ""        # "", "udp", "tcp" or "both"
    truncate: bool = False
    rcode: int = dns.rcode.NOERROR
    extra: tuple = ()     # (section, owner, type, rdata): unrelated records
    pick: object = None   # callable(entry, n): changes records before answer n
    asked: int = 0


def key(name):
    return name.rstrip(".").lower()


class DnsServer:
    """Answers for every name it was given, NXDOMAIN for the rest."""

    def __init__(self):
        self.zone = {}
        self.log = []
        self._saved = {}

    # --- what tests use ---

    def add(self, name, ttl=300, **kw):
        opts = {k: kw.pop(k) for k in ("delay", "drop", "truncate", "rcode",
                                       "extra", "pick") if k in kw}
        rec = {t: ([v] if isinstance(v, str) else list(v))
               for t, v in kw.items()}
        self.zone[key(name)] = Entry(rec, ttl, **opts)

    def save(self):
        self._saved = dict(self.zone)

    def restore(self):
        self.zone = dict(self._saved)

    def addresses(self, name, depth=0):
        """Every address the name leads to, along its chain."""
        e = self.zone.get(key(name))
        if e is None or depth > 40:
            return set()
        out = set(e.records.get("A", ())) | set(e.records.get("AAAA", ()))
        for target in e.records.get("CNAME", ()):
            out |= self.addresses(target, depth + 1)
        return out

    # --- answering ---

    def _rrset(self, owner, ttl, rdtype, texts):
        return dns.rrset.from_text(dns.name.from_text(owner), ttl, "IN",
                                   rdtype, *texts)

    def _fill(self, resp, qname, qtype):
        owner, seen = qname, set()
        while True:
            e = self.zone.get(key(owner))
            if e is None:
                if owner == qname:
                    resp.set_rcode(dns.rcode.NXDOMAIN)
                break
            cname = e.records.get("CNAME")
            if cname and qtype != "CNAME":
                resp.answer.append(self._rrset(owner, e.ttl, "CNAME", cname))
                nxt = key(cname[0])
                if nxt in seen:
                    return
                seen.add(nxt)
                owner = cname[0]
                continue
            if e.records.get(qtype):
                resp.answer.append(self._rrset(owner, e.ttl, qtype,
                                               e.records[qtype]))
                return
            break
        resp.authority.append(self._rrset("invalid.", 60, "SOA", [SOA]))

    def _response(self, q):
        name = q.question[0].name.to_text()
        qtype = dns.rdatatype.to_text(q.question[0].rdtype)
        resp = dns.message.make_response(q, recursion_available=True)
        e = self.zone.get(key(name))
        if e is not None:
            if e.pick:
                e.pick(e, e.asked)
            e.asked += 1
            if e.rcode:
                resp.set_rcode(e.rcode)
                return resp, e
        self._fill(resp, name, qtype)
        for section, owner, rdtype, text in (e.extra if e else ()):
            getattr(resp, section).append(
                self._rrset(owner, 300, rdtype, [text]))
        return resp, e

    async def answer(self, wire, transport, server):
        """The bytes to send, or None for silence."""
        try:
            q = dns.message.from_wire(wire)
            name = q.question[0].name.to_text(omit_final_dot=True)
            qtype = dns.rdatatype.to_text(q.question[0].rdtype)
        except (dns.exception.DNSException, IndexError):
            self.log.append(Query("<malformed>", "?", transport, server,
                                  time.monotonic()))
            return None
        self.log.append(Query(name.lower(), qtype, transport, server,
                              time.monotonic()))
        resp, e = self._response(q)
        if e is not None:
            if e.delay:
                await asyncio.sleep(e.delay)
            if e.drop in (transport, "both"):
                return None
        if transport == "tcp":
            return resp.to_wire(max_size=65535)
        limit = q.payload if q.edns >= 0 else 512
        try:
            if e is not None and e.truncate:
                raise dns.exception.TooBig
            return resp.to_wire(max_size=max(limit, 512))
        except dns.exception.TooBig:
            resp.answer.clear()
            resp.authority.clear()
            resp.additional.clear()
            resp.flags |= dns.flags.TC
            return resp.to_wire(max_size=512)

    # --- transports; run inside the world's event loop ---

    def udp_protocol(self, server):
        outer = self

        class Proto(asyncio.DatagramProtocol):
            def connection_made(self, transport):
                self.transport = transport

            def datagram_received(self, data, addr):
                asyncio.ensure_future(self._reply(data, addr))

            async def _reply(self, data, addr):
                wire = await outer.answer(data, "udp", server)
                if wire is not None:
                    self.transport.sendto(wire, addr)

        return Proto

    def tcp_handler(self, server):
        async def reply(writer, data):
            wire = await self.answer(data, "tcp", server)
            if wire is not None:
                writer.write(struct.pack("!H", len(wire)) + wire)

        async def handle(reader, writer):
            try:
                while True:
                    (n,) = struct.unpack("!H", await reader.readexactly(2))
                    data = await reader.readexactly(n)
                    asyncio.ensure_future(reply(writer, data))
            except (asyncio.IncompleteReadError, ConnectionError):
                pass
            finally:
                writer.close()

        return handle
