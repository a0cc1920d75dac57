# SPDX-License-Identifier: GPL-2.0-or-later
"""--events: one JSON object a line; repeats are counted, floods bounded."""
import re

from servers import ECHO

T = "tcp.example.org"
FIELDS = {"time", "sandbox", "event", "kind", "name", "addr", "port", "reason",
          "entry", "pid", "comm", "bytes_out", "bytes_in", "count", "qtype",
          "text"}
EVENTS = {"refused", "allowed", "learned", "closed", "policy", "error"}
KINDS = {"dns", "tcp", "udp", "icmp", "tls", "http", "packet"}
REASONS = {"not_listed", "port", "denied", "private", "name_mismatch",
           "no_name", "protocol", "limit", "upstream"}


def by(events, **want):
    return [e for e in events
            if all(e.get(k) == v for k, v in want.items())]


def test_fields(lab):
    code = f"""
resolve('no.example.org')
s = tcp('{T}', {ECHO})
s.sendall(b'12345')
s.recv(5, socket.MSG_WAITALL)
s.close()
try_tcp('11.0.2.30', 7000)
try_tcp('{T}', 7001)
try_udp('11.0.2.30', 7100)
resolve('ads.example.org')
out(id=os.environ['EGRET'], pid=os.getpid())
time.sleep(0.3)
"""
    r = lab.py(code, allow=[f"{T}:{ECHO}"], args=["--deny",
                                                  "ads.example.org"])
    assert r.events
    for e in r.events:
        assert set(e) <= FIELDS, e
        assert e["event"] in EVENTS
        assert e.get("kind") in KINDS | {None}
        assert e.get("reason") in REASONS | {None}
        assert e["sandbox"] == r.json["id"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?"
                            r"(Z|[+-]\d\d:\d\d)", e["time"])
    assert by(r.events, event="refused", kind="dns", name="no.example.org",
              reason="not_listed")
    assert by(r.events, event="refused", kind="dns", name="ads.example.org",
              reason="denied")
    assert by(r.events, event="refused", kind="tcp", addr="11.0.2.30",
              port=7000, reason="not_listed")
    assert by(r.events, event="refused", kind="tcp", addr="11.0.2.20",
              port=7001, reason="port")
    assert by(r.events, event="refused", kind="udp", addr="11.0.2.30",
              port=7100)
    assert by(r.events, event="learned", name=T, addr="11.0.2.20")
    assert by(r.events, event="allowed", kind="tcp", name=T, port=ECHO,
              entry=f"{T}:{ECHO}")
    (c,) = by(r.events, event="closed", kind="tcp", port=ECHO)
    assert (c["bytes_out"], c["bytes_in"]) == (5, 5)
    comms = {e["comm"] for e in r.events if "comm" in e}
    assert comms <= {"python3", "python3.11"}, comms


def test_repeats_become_one_line(lab):
    code = """
for i in range(40):
    resolve('no.example.org', socket.AF_INET)
    try_tcp('11.0.2.30', 7000)
out(good=try_tcp('good.example.org', 443))
"""
    r = lab.py(code, allow=["good.example.org"])
    assert r.json["good"]["err"] is None
    lines = [x for x in r.err.splitlines() if x.startswith("egret: refused")]
    assert 2 <= len(lines) <= 8, r.err
    for what in ("no.example.org", "11.0.2.30"):
        total = sum(e.get("count", 1) for e in r.events
                    if e["event"] == "refused"
                    and what in (e.get("name"), e.get("addr")))
        assert total >= 40, (what, total)


def test_flood_is_bounded(lab):
    """Thousands of refusals: few lines, the run stays quick, nothing lost of
    what is allowed."""
    code = """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
t = time.monotonic()
for i in range(20000):
    try:
        s.sendto(b'x', ('11.0.3.%d' % (i % 250 + 1), 1024 + i % 60000))
    except OSError:
        pass
ms = 1000 * (time.monotonic() - t)
out(ms=ms, good=try_tcp('good.example.org', 443), dns=dnsq('no.example.org'))
"""
    r = lab.py(code, allow=["good.example.org"], timeout=30)
    assert r.json["good"]["err"] is None and r.json["good"]["ms"] < 2000
    assert r.json["dns"]["rcode"] == "NXDOMAIN"
    assert len(r.err.splitlines()) < 600, len(r.err.splitlines())


def test_flood_of_names_is_bounded(lab):
    code = """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(3000):
    s.sendto(dns_wire('n%d.evil.test' % i), (GW4, 53))
out(good=dnsq('good.example.org'))
"""
    r = lab.py(code, allow=["good.example.org"], timeout=30)
    assert r.json["good"]["data"] == ["11.0.2.10"]
    assert len(r.err.splitlines()) <= 3100
    assert {q.name for q in r.dns} == {"good.example.org"}


def test_quiet_prints_no_refusals(lab):
    r = lab.run(["sh", "-c", "curl -s -m 5 https://no.example.org/; "
                 "curl -sS https://good.example.org/"], args=["--quiet"],
                allow=["good.example.org"])
    assert '"good.example.org"' in r.out
    assert r.err == ""
    assert by(r.events, event="refused", name="no.example.org")


def test_escaped_names(lab):
    """Names and process names from inside can't drive the terminal."""
    code = """
open('/proc/self/comm', 'w').write('\\x1b[31mred\\n')
q = struct.pack('!HHHHHH', 1, 0x100, 1, 0, 0, 0) + b'\\x08\\x1b[2J\\x07\\n\\r.' + \\
    b'\\x04test\\0\\0\\1\\0\\1'
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(3)
s.sendto(q, (GW4, 53))
r = s.recv(500)
try_tcp('11.0.2.30', 7000)
out(rcode=r[3] & 15, good=dnsq('good.example.org')['rcode'])
"""
    r = lab.py(code, allow=["good.example.org"])
    assert r.json == {"rcode": 3, "good": "NOERROR"}
    assert "\x1b" not in r.err and "\r" not in r.err and "\x07" not in r.err
    lines = [x for x in r.err.splitlines() if "refused" in x]
    assert all(x.startswith("egret: refused ") for x in lines)
    assert len(lines) >= 2, r.err
