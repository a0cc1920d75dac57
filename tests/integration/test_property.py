# SPDX-License-Identifier: GPL-2.0-or-later
"""What `check` says is what happens: thousands of random cases.

Each round writes a random list, loads it, and asks for random hosts, ports and
protocols three ways: over the control socket, of the resolver inside, and by
doing it: a look-up and a connection through the kernel. Every address of the
lab's internet answers at every port used here, so whoever is refused was
refused by egret.

EGRET_SEED names another sequence; a failure prints what there was.
"""
import json
import os
import random
import re

import pytest

from control import Control
from test_control import Sandbox

ROUNDS, PROBES = 60, 60
# Bound to every address; the others are the servers' of single hosts.
WIDE_PORTS = (22, 25, 587, 1000, 8000, 8005, 8010, 9000, 65535)
PORTS = WIDE_PORTS + (80, 443)
NAMES = ("p.test", "a.p.test", "b.p.test", "c.b.p.test", "d.c.b.p.test",
         "x-1.p.test", "q.test", "a.q.test", "pp.test", "a.pp.test",
         "v6.p.test", "w.v6.p.test", "v6.q.test", "xn--bcher-kva.q.test")
CLOSED = ("10.1.2.3", "192.168.77.5", "fd00:77::5", "169.254.169.254")
PROTOS = ("tcp",) * 6 + ("udp", "icmp")

# Reads rounds on stdin: a list of (host, port, proto) as JSON.
INSIDE = """
import subprocess
def txt(host, port, proto):
    if ':' in host:
        host = host.replace(':', '-') + '.ip6'
    elif host[0].isdigit():
        host = host.replace('.', '-') + '.ip4'
    r = dnsq(f'_{port}._{proto}.{host}.check.egret.internal', 'TXT')
    return [a[3] for a in r['answers']]
def lookup(host):
    if ':' in host or host[0].isdigit():
        return 'ADDRESS', host
    r = dnsq(host, 'AAAA' if 'v6' in host else 'A')
    return r['rcode'], r['data'][0] if r['data'] else None
for line in sys.stdin:
    probes, res = json.loads(line), []
    # Before all else, since an address counts by what names have taught.
    found = [lookup(host) for host, port, proto in probes]
    for (host, port, proto), (rcode, addr) in zip(probes, found):
        done = 'no address'
        if proto == 'tcp' and addr:
            done = try_tcp(addr, port, 5)['err']
        res.append([rcode, done, txt(host, port, proto)])
    out(r=res)
"""


@pytest.fixture
def world(lab):
    w = lab.world
    if not getattr(w, "has_property", False):
        w.has_property = True
        for port in WIDE_PORTS:
            w.tcp("0.0.0.0", port, "sink")
            w.tcp("::", port, "sink")
    addrs = {}
    for i, name in enumerate(NAMES):
        v6 = "v6" in name
        addrs[name] = f"2a0e:b107:2:3::{i + 1:x}" if v6 else f"11.0.3.{i + 1}"
        lab.dns.add(name, **{"AAAA" if v6 else "A": addrs[name]})
        if not getattr(w, "has_property_web", False):
            for port in (80, 443):
                w.tcp(addrs[name], port, "sink")
    w.has_property_web = True
    return addrs


def random_ports(r):
    kind = r.randrange(8)
    if kind < 3:
        return ""
    if kind < 5:
        return ":*"
    if kind == 5:
        lo = r.choice((20, 500, 8000, 8005, 8006))
        return f":{lo}-{lo + r.choice((2, 5, 600, 2000))}"
    return ":" + ",".join(str(r.choice(PORTS))
                          for _ in range(r.randint(1, 3)))


def random_net(r, addrs):
    a = r.choice([x for x in addrs.values() if ":" not in x])
    last = int(a.split(".")[3])
    kind = r.randrange(5)
    if kind == 0:
        return a
    if kind == 1:
        bits = r.choice((28, 29, 30, 31))
        step = 1 << (32 - bits)
        return f"11.0.3.{last // step * step}/{bits}"
    if kind == 2:
        return r.choice(("11.0.3.0/24", "11.0.0.0/8", "0.0.0.0/0"))
    if kind == 3:
        return r.choice(CLOSED[:2] + ("10.1.0.0/16", "192.168.77.0/24"))
    return r.choice(("[2a0e:b107:2:3::/64]", "[fd00:77::5]", "[::/0]",
                     "[" + r.choice([x for x in addrs.values()
                                     if ":" in x]) + "]"))


def random_entry(r, addrs):
    kind = r.randrange(10)
    if kind < 4:
        host = r.choice(NAMES)
    elif kind < 7:
        host = "*." + r.choice(("test",) + NAMES)
    elif kind < 9:
        host = random_net(r, addrs)
    else:
        host = r.choice(("*", "b\u00fccher.q.test", "P.Test."))
    if r.random() < 0.05 and host[0] not in "*[" and "/" not in host:
        return f"https://{host}/x"
    ports, proto = random_ports(r), r.choice(PROTOS)
    if proto == "icmp":
        entry = host + "/icmp"
    elif proto == "udp":
        entry = host + (ports or ":443") + "/udp"
    else:
        entry = host + ports + ("/tcp" if r.random() < 0.1 else "")
    if r.random() < 0.15:
        return "!" + entry
    return entry


def random_probe(r, addrs):
    kind = r.randrange(10)
    if kind < 7:
        host = r.choice(NAMES)
    elif kind < 9:
        host = r.choice(list(addrs.values()))
    else:
        host = r.choice(CLOSED)
    proto = r.choice(PROTOS)
    if host in CLOSED:
        # Few ports answer there; what is to be allowed must be reachable.
        return host, 80 if r.random() < 0.5 else 7000, proto
    return host, r.choice(PORTS + (443, 80) * 5), proto


def difference(probe, said, said_addr, done):
    """What is wrong with one case, or None."""
    _, _, proto = probe
    rcode, err, txt = done
    allowed, addr_allowed = said["allowed"], said_addr["allowed"]
    want = '"allowed rule=' if allowed else \
        f'"refused reason={said["reason"]}"'
    if len(txt) != 1 or not txt[0].startswith(want):
        return "check outside and inside differ"
    if allowed and rcode not in ("NOERROR", "ADDRESS"):
        return "allowed, but not looked up"
    if proto != "tcp" or rcode == "NXDOMAIN":
        return None
    if (err is None) != addr_allowed:
        return "check of the address and connection differ"
    if allowed and not addr_allowed and said_addr["reason"] != "denied":
        return "the name is allowed, but not its address"
    # A name's own entries can't open its address to more.
    if not allowed and addr_allowed and not re.match(
            r"[0-9[*:]|[0-9a-f]+:[0-9a-f]*:", said_addr["entry"]):
        return "the name is refused, but its address allowed by a name"
    return None


@pytest.mark.who("user")
def test_check_is_what_happens(lab, who, world):
    seed = os.environ.get("EGRET_SEED", "1")
    r = random.Random(seed)
    path = lab.write("prop.hosts", "# nothing yet\n", who)
    s = Sandbox(lab, who, allowlist=path, code=INSIDE, args=["-q"],
                events=False)
    s.p.expected.anything = True
    n_allowed = n_tcp = 0
    with Control(lab, s.id, who) as c:
        for _ in range(ROUNDS):
            text = "".join(random_entry(r, world) + "\n"
                           for _ in range(r.randint(1, 14)))
            put_text(path, text)
            loaded = c.ask("reload")
            assert loaded["ok"], (seed, text, loaded)
            probes = [random_probe(r, world) for _ in range(PROBES)]
            s.p.send(json.dumps(probes).encode() + b"\n")
            m = s.p.out.wait(r'\{"r": (.*)\}\n', 60, s.pos)
            s.pos = m.end()
            done = json.loads(m.group(1))
            for probe, d in zip(probes, done):
                host, port, proto = probe
                said = c.ask("check", host=host, port=port, proto=proto)
                said_addr = c.ask("check", host=world.get(host, host),
                                  port=port, proto=proto)
                bad = difference(probe, said, said_addr, d)
                assert not bad, (f"{bad}; seed {seed}, list:\n{text}\n"
                                 f"{probe}: {said}, its address {said_addr}, "
                                 f"done {d}")
                n_allowed += said["allowed"]
                n_tcp += proto == "tcp"
    print(f"{ROUNDS * PROBES} cases, {n_allowed} allowed, {n_tcp} of TCP")
    assert n_allowed > ROUNDS * PROBES / 10
    s.p.finish()


def put_text(path, text):
    """In place, as a list that the command could write must be edited."""
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
