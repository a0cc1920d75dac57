# SPDX-License-Identifier: GPL-2.0-or-later
"""What the resolver tells, what it learns, and what never leaves."""
import pytest

TYPES = ["A", "AAAA", "TXT", "MX", "SRV", "CNAME", "NS", "SOA", "PTR", "CAA",
         "HTTPS", "SVCB", "NULL", "ANY", "NAPTR", "DS", "DNSKEY", "TYPE65280"]


def test_names_not_allowed_never_leave(lab):
    """P4: every type, UDP and TCP, whatever server is addressed."""
    code = """
import base64
res = {}
secret = base64.b32encode(b'the secret data').decode().strip('=').lower()
names = [secret + '.evil.test', 'no.example.org', 'agood.example.org',
         'good.example.org.evil.test', 'x.good.example.org', 'example.org']
n = 0
for server in (GW4, '11.0.2.53', '11.0.2.99', '11.0.2.10', '2a0e:b107:2::53'):
    for via_tcp in (False, True):
        for t in (sys.argv[1].split() if server == GW4 else ['A', 'TXT']):
            for name in names if t in 'A TXT' else names[:1]:
                r = dnsq(name, t, server, via_tcp)
                n += 1
                res[r['rcode'] or r['error']] = res.get(
                    r['rcode'] or r['error'], 0) + 1
                assert r['ms'] < 1000, (name, t, server, r)
good = dnsq('good.example.org', 'A', '11.0.2.99')
out(n=n, res=res, good=good)
"""
    r = lab.py(code, " ".join(TYPES), allow=["good.example.org"], timeout=40)
    assert r.rc == 0, r.err
    assert r.json["good"]["data"] == ["11.0.2.10"]       # positive control
    assert set(r.json["res"]) <= {"NXDOMAIN", "REFUSED", "NOTIMP"}, r.json
    assert {q.name for q in r.dns} == {"good.example.org"}
    assert all(q.server == "11.0.2.53" for q in r.dns)


def test_other_resolver_ports_are_closed(lab):
    code = """
out(dot=try_tcp('11.0.2.53', 853), doq=try_udp('11.0.2.53', 853),
    mdns=try_udp('224.0.0.251', 5353), llmnr=try_udp('224.0.0.252', 5355),
    netbios=try_udp('11.0.2.53', 137), good=dnsq('good.example.org'))
"""
    j = lab.py(code, allow=["good.example.org"]).json
    assert j["dot"]["err"] == "ECONNREFUSED"
    assert j["doq"]["err"] == j["netbios"]["err"] == "ECONNREFUSED"
    assert j["mdns"]["err"] and j["llmnr"]["err"]
    assert j["good"]["data"] == ["11.0.2.10"]


@pytest.mark.parametrize("name", ["GOOD.example.org", "good.example.org.",
                                  "gOoD.eXaMpLe.OrG"])
def test_case_and_trailing_dot(lab, name):
    r = lab.py("out(u=dnsq(sys.argv[1]), t=dnsq(sys.argv[1], via_tcp=True),"
               "no=dnsq(sys.argv[1].replace('d', 'x', 1).replace('D', 'x', 1)"
               "))", name, allow=["Good.Example.org"])
    assert r.json["u"]["data"] == r.json["t"]["data"] == ["11.0.2.10"]
    assert r.json["u"]["question"].rstrip(".") == name.rstrip(".")
    assert r.json["no"]["rcode"] == "NXDOMAIN"
    assert {q.name for q in r.dns} == {"good.example.org"}


def test_refused_answer_carries_ede(lab):
    j = lab.py("out(no=dnsq('no.example.org'), good=dnsq('good.example.org'))",
               allow=["good.example.org"]).json
    assert j["no"]["rcode"] == "NXDOMAIN" and j["no"]["ms"] < 500
    codes = [c for c, _ in j["no"]["ede"]]
    assert codes == [15], j["no"]
    assert j["no"]["ede"][0][1]
    assert j["good"]["ede"] == []


def test_names_that_do_not_exist_upstream(lab):
    j = lab.py("out(nx=dnsq('nx.example.org'), nodata=dnsq('good.example.org',"
               "'MX'))", allow=["nx.example.org", "good.example.org"]).json
    assert j["nx"]["rcode"] == "NXDOMAIN" and j["nx"]["ede"] == []
    assert j["nodata"]["rcode"] == "NOERROR"
    assert j["nodata"]["answers"] == []


def test_wildcards(lab):
    code = """
out(**{n: dnsq(n)['rcode'] for n in ('d.example.org', 'a.d.example.org',
    'a.b.d.example.org', 'ad.example.org', 'd.example.org.evil.test',
    'A.D.EXAMPLE.ORG.')}, fetch=try_tcp('a.d.example.org', 443))
"""
    lab.dns.add("a.b.d.example.org", A="11.0.2.11")
    r = lab.py(code, allow=["*.d.example.org"])
    assert {k for k, v in r.json.items() if v == "NOERROR"} == {
        "a.d.example.org", "a.b.d.example.org", "A.D.EXAMPLE.ORG."}
    assert r.json["fetch"]["err"] is None
    assert {q.name for q in r.dns} <= {"a.d.example.org", "a.b.d.example.org"}


def test_deny_wins(lab):
    lab.dns.add("ads.d.example.org", A="11.0.2.14")
    r = lab.py("out(ads=dnsq('ads.d.example.org')['rcode'],"
               "a=dnsq('a.d.example.org')['rcode'])",
               allow=["*.d.example.org"], args=["--deny",
                                                "ads.d.example.org"])
    assert r.json == {"ads": "NXDOMAIN", "a": "NOERROR"}
    assert {q.name for q in r.dns} == {"a.d.example.org"}


# --- chains, unrelated records, sizes ---

def test_cname_chain(lab):
    code = """
out(a=dnsq('www.chain.test'), fetch=try_tcp('www.chain.test', 443),
    mid=dnsq('x.cdn.test')['rcode'], end=dnsq('y.cdn.test')['rcode'])
"""
    r = lab.py(code, allow=["www.chain.test"])
    assert r.json["a"]["data"] == ["11.0.2.11"]
    assert r.json["fetch"]["err"] is None
    assert r.json["mid"] == r.json["end"] == "NXDOMAIN"
    assert {q.name for q in r.dns} == {"www.chain.test"}


def test_chain_length_and_loop(lab):
    for length, name in ((15, "ok"), (40, "long")):
        lab.dns.add(f"{name}.example.org", CNAME=f"{name}1.cdn.test.")
        for i in range(1, length):
            lab.dns.add(f"{name}{i}.cdn.test", CNAME=f"{name}{i+1}.cdn.test.")
        lab.dns.add(f"{name}{length}.cdn.test", A="11.0.2.11")
    lab.dns.add("loop.example.org", CNAME="loop1.cdn.test.")
    lab.dns.add("loop1.cdn.test", CNAME="loop.example.org.")
    r = lab.py("out(ok=dnsq('ok.example.org'), long=dnsq('long.example.org'),"
               "loop=dnsq('loop.example.org', timeout=8),"
               "good=dnsq('good.example.org'))",
               allow=["ok.example.org", "long.example.org", "good.example.org",
                      "loop.example.org"])
    assert r.json["ok"]["data"] == ["11.0.2.11"]
    assert r.json["long"]["data"] == []
    assert r.json["loop"].get("data") == []
    assert r.json["good"]["data"] == ["11.0.2.10"]


def test_unrelated_records_are_ignored(lab):
    lab.dns.add("extra.example.org", A="11.0.2.11", extra=[
        ("answer", "evil.example.org", "A", "11.0.2.14"),
        ("additional", "evil.example.org", "A", "11.0.2.14"),
        ("authority", "extra.example.org", "NS", "evil.example.org."),
        ("additional", "extra.example.org", "A", "11.0.2.14")])
    j = lab.py("out(a=dnsq('extra.example.org'), good=try_tcp('11.0.2.11',443)"
               ", evil=try_tcp('11.0.2.14', 443))",
               allow=["extra.example.org"]).json
    assert j["a"]["data"] == ["11.0.2.11"]
    assert j["good"]["err"] is None
    assert j["evil"]["err"] == "ECONNREFUSED"


def test_ttl_zero_lives_until_the_connect(lab):
    lab.dns.add("zero.example.org", A="11.0.2.11", ttl=0)
    j = lab.py("r = resolve('zero.example.org')\ntime.sleep(3)\n"
               "out(r=r, fetch=try_tcp(r['addrs'][0], 443))",
               allow=["zero.example.org"]).json
    assert j["fetch"]["err"] is None


def test_many_records_and_truncation(lab):
    addrs = [f"11.0.4.{i}" for i in range(1, 251)]
    lab.dns.add("big.example.org", A=addrs)
    code = """
out(small=dnsq('big.example.org', payload=0),
    edns=dnsq('big.example.org', payload=1232),
    large=dnsq('big.example.org', payload=4096),
    tcp=dnsq('big.example.org', via_tcp=True),
    libc=resolve('big.example.org', socket.AF_INET),
    first=try_tcp('11.0.4.1', 443), last=try_tcp('11.0.4.250', 443),
    outside=try_tcp('11.0.4.251', 443))
"""
    r = lab.py(code, allow=["big.example.org"], timeout=30)
    j = r.json
    assert j["small"]["tc"] and j["edns"]["tc"]
    n = len(j["tcp"]["data"])
    assert not j["tcp"]["tc"] and set(j["tcp"]["data"]) <= set(addrs)
    assert n >= 60, "a cap of an answer below what sites really have"
    assert len(j["libc"]["addrs"]) == n
    # Nobody listens there: refused by the destination, and it was reached.
    reached = {p.dst for p in r.packets if p.proto == "tcp"
               and p.dport == 443}
    asked = {a for a in ("11.0.4.1", "11.0.4.250") if a in j["tcp"]["data"]}
    assert asked <= reached
    assert j["outside"]["err"] == "ECONNREFUSED"
    assert "11.0.4.251" not in reached


def test_upstream_truncation_is_followed(lab):
    lab.dns.add("tc.example.org", A="11.0.2.11", truncate=True)
    r = lab.py("out(a=dnsq('tc.example.org'), f=try_tcp('tc.example.org',443))",
               allow=["tc.example.org"])
    assert r.json["a"]["data"] == ["11.0.2.11"]
    assert r.json["f"]["err"] is None
    assert "tcp" in {q.transport for q in r.dns}


def test_pipelined_tcp(lab):
    """A and AAAA at once on one connection; the slow one doesn't block."""
    lab.dns.add("slow.example.org", A="11.0.2.11", delay=0.5)
    code = """
s = socket.create_connection((GW4, 53), 5)
msgs = [dns_wire('slow.example.org', 1, 1), dns_wire('both.example.org', 1, 2),
        dns_wire('both.example.org', 28, 3), dns_wire('no.example.org', 1, 4)]
s.sendall(b''.join(struct.pack('!H', len(m)) + m for m in msgs))
order, rcodes, f = [], {}, s.makefile('rb')
for _ in msgs:
    (n,) = struct.unpack('!H', f.read(2))
    m = f.read(n)
    ident = struct.unpack('!H', m[:2])[0]
    order.append(ident)
    rcodes[ident] = m[3] & 15
out(order=order, rcodes=rcodes)
"""
    j = lab.py(code, allow=["slow.example.org", "both.example.org"]).json
    assert sorted(j["order"]) == [1, 2, 3, 4]
    assert j["order"][-1] == 1
    assert j["rcodes"] == {"1": 0, "2": 0, "3": 0, "4": 3}


# --- private addresses (P11) ---

PRIVATE4 = ["192.168.77.5", "127.0.0.1", "169.254.169.254", "100.64.0.1",
            "0.0.0.0", "10.1.2.3", "172.16.0.1", "224.0.0.1",
            "255.255.255.255", "198.18.0.1", "192.0.2.1", "11.0.1.2"]
PRIVATE6 = ["::1", "::", "::ffff:10.1.2.3", "64:ff9b::a9fe:a9fe",
            "2002:a01:203::1", "fd00:77::5", "fe80::1", "ff02::1",
            "2001:db8::1", "::10.1.2.3", "fe80::5efe:a01:203",
            "2001:0:a01:203::f5fe:fdfc", "2a0e:b107:1::2",
            "2a0e:b107:2::5efe:a01:203"]


def test_private_addresses_are_stripped(lab):
    lab.dns.add("priv.example.org", A=PRIVATE4, AAAA=PRIVATE6)
    lab.dns.add("mixed.example.org", A=PRIVATE4 + ["11.0.2.11"],
                AAAA=PRIVATE6 + ["2a0e:b107:2::11"])
    code = """
targets = sys.argv[1].split()
out(a=dnsq('priv.example.org')['data'],
    aaaa=dnsq('priv.example.org', 'AAAA')['data'],
    m4=dnsq('mixed.example.org')['data'],
    m6=dnsq('mixed.example.org', 'AAAA')['data'],
    libc=resolve('priv.example.org'),
    mixed=resolve('mixed.example.org'),
    conn={t: try_tcp(t, 80, 2)['err'] for t in targets},
    good4=try_tcp('11.0.2.11', 80), good6=try_tcp('2a0e:b107:2::11', 80))
"""
    r = lab.py(code, "192.168.77.5 169.254.169.254 100.64.0.1 10.1.2.3 "
               "11.0.1.2 fd00:77::5 2a0e:b107:1::2 64:ff9b::a9fe:a9fe",
               allow=["priv.example.org", "mixed.example.org"], timeout=30)
    j = r.json
    assert j["a"] == [] and j["aaaa"] == []
    assert j["m4"] == ["11.0.2.11"] and j["m6"] == ["2a0e:b107:2::11"]
    assert j["libc"]["err"] and j["libc"]["addrs"] == []
    assert sorted(j["mixed"]["addrs"]) == ["11.0.2.11", "2a0e:b107:2::11"]
    assert all(j["conn"].values()), j["conn"]
    assert j["good4"]["err"] is None and j["good6"]["err"] is None
    went = {p.dst for p in r.packets if p.proto == "tcp" and p.dport == 80}
    assert went == {"11.0.2.11", "2a0e:b107:2::11"}
    assert any("private" in e.get("reason", "") for e in r.events), r.events


def test_private_word_opens_them(lab):
    lab.dns.add("db.example.org", A=["192.168.77.5"])
    r = lab.py("out(a=dnsq('db.example.org')['data'], c=try_tcp("
               "'db.example.org', 80), other=try_tcp('10.1.2.3', 80))",
               allow=["db.example.org:80 private"])
    assert r.json["a"] == ["192.168.77.5"]
    assert r.json["c"]["err"] is None
    assert r.json["other"]["err"] == "ECONNREFUSED"
    assert not any(p.dst == "10.1.2.3" for p in r.packets)


def test_listed_private_network(lab):
    r = lab.py("out(a=try_tcp('10.1.2.3', 80), port=try_tcp('10.1.2.3', 7000),"
               "other=try_tcp('192.168.77.5', 80))", allow=["10.1.0.0/16:80"])
    assert r.json["a"]["err"] is None
    assert r.json["port"]["err"] == "ECONNREFUSED"
    assert r.json["other"]["err"] == "ECONNREFUSED"


# --- libc, upstream trouble, learned state ---

def test_getaddrinfo(lab):
    j = lab.py("out(both=resolve('both.example.org'), no=resolve("
               "'no.example.org'), four=resolve('good.example.org'))",
               allow=["both.example.org", "good.example.org"]).json
    assert set(j["both"]["addrs"]) == {"11.0.2.10", "2a0e:b107:2::10"}
    assert j["four"]["addrs"] == ["11.0.2.10"]
    assert j["no"]["err"] == "gai:-2" and j["no"]["ms"] < 1000


def test_dark_upstream_is_servfail(lab):
    lab.dns.add("mute.example.org", A="11.0.2.11", drop="both")
    j = lab.py("out(mute=dnsq('mute.example.org', timeout=28), good=dnsq("
               "'good.example.org'))", timeout=40,
               allow=["mute.example.org", "good.example.org"]).json
    print(j["mute"])
    assert j["mute"]["rcode"] == "SERVFAIL"
    assert j["good"]["data"] == ["11.0.2.10"]


def test_slow_upstream_does_not_block_others(lab):
    lab.dns.add("slow.example.org", A="11.0.2.11", delay=1.5)
    code = """
import threading
box = {}
t = threading.Thread(target=lambda: box.update(s=dnsq('slow.example.org')))
t.start()
time.sleep(0.1)
good = dnsq('good.example.org')
t.join()
out(slow=box['s'], good=good)
"""
    j = lab.py(code, allow=["slow.example.org", "good.example.org"]).json
    assert j["good"]["ms"] < 1000 and j["good"]["data"] == ["11.0.2.10"]
    assert j["slow"]["data"] == ["11.0.2.11"]


def test_upstream_error_codes(lab):
    lab.dns.add("fail.example.org", A="11.0.2.11", rcode=2)
    lab.dns.add("refuse.example.org", A="11.0.2.11", rcode=5)
    j = lab.py("out(f=dnsq('fail.example.org', timeout=15)['rcode'],"
               "r=dnsq('refuse.example.org', timeout=15)['rcode'],"
               "g=dnsq('good.example.org')['rcode'])", timeout=40,
               allow=["fail.example.org", "refuse.example.org",
                      "good.example.org"]).json
    assert j["f"] in ("SERVFAIL", "REFUSED")
    assert j["r"] in ("SERVFAIL", "REFUSED")
    assert j["g"] == "NOERROR"


def test_rotating_addresses_are_learned_again(lab):
    def pick(e, n):
        e.records["A"] = [f"11.0.2.{(10, 11, 12, 13, 14)[n % 5]}"]
    lab.dns.add("cdn.example.org", A="11.0.2.10", ttl=1, pick=pick)
    code = """
seen, errs = set(), []
for i in range(4):
    a = resolve('cdn.example.org', socket.AF_INET)['addrs'][0]
    seen.add(a)
    errs.append(try_tcp(a, 443)['err'])
    time.sleep(1.05)
out(seen=sorted(seen), errs=errs)
"""
    r = lab.py(code, allow=["cdn.example.org"], check=False)
    assert r.json["errs"] == [None] * 4
    assert len(r.json["seen"]) >= 2, r.json


def test_types_of_an_allowed_name(lab):
    lab.dns.add("rich.example.org", A="11.0.2.11", TXT='"hello"',
                MX="10 mail.example.org.", CAA='0 issue "ca.test"',
                HTTPS='1 . alpn="h2" ipv4hint="11.0.2.14" ech="AAAA"')
    r = lab.py("out(**{t: dnsq('rich.example.org', t) for t in ('TXT', 'MX',"
               "'CAA', 'HTTPS', 'NULL')}, c=try_tcp('11.0.2.14', 443))",
               allow=["rich.example.org"])
    j = r.json
    assert j["TXT"]["answers"][0][3] == '"hello"'
    assert j["MX"]["answers"] and j["CAA"]["answers"]
    assert all("ech=" not in a[3] and "11.0.2.14" not in a[3]
               for a in j["HTTPS"]["answers"]), j["HTTPS"]
    assert j["NULL"]["answers"] == []
    assert j["c"]["err"] == "ECONNREFUSED"


def test_malformed_queries_are_survived(lab):
    code = """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
q = dns_wire('good.example.org')
bad = [b'', b'x', q[:11], q[:20], q[:12] + b'\\xc0\\x0c' + q[-4:], b'\\xff' * 600,
       q[:4] + b'\\0\\5' + q[6:], q[:2] + b'\\x84\\0' + q[4:],
       q[:12] + b'\\x3f' + b'a' * 40, bytes(12), q + b'junk' * 300]
for b in bad:
    s.sendto(b, (GW4, 53))
t = socket.create_connection((GW4, 53), 5)
t.sendall(b'\\xff\\xff' + b'x' * 100)
t2 = socket.create_connection((GW4, 53), 5)
t2.sendall(b'\\0\\0\\0\\1x' + struct.pack('!H', len(q)) + q)
out(good=dnsq('good.example.org'), tcp=dnsq('good.example.org', via_tcp=True))
"""
    r = lab.py(code, allow=["good.example.org"])
    assert r.json["good"]["data"] == ["11.0.2.10"]
    assert r.json["tcp"]["data"] == ["11.0.2.10"]
    assert {q.name for q in r.dns} <= {"good.example.org"}


def test_check_inside(lab):
    """The matcher that enforces answers over TXT."""
    j = lab.py("q = lambda n: [a[3] for a in dnsq(n, 'TXT')['answers']]\n"
               "out(y=q('_443._tcp.good.example.org.check.egret.internal'),"
               "n=q('_22._tcp.good.example.org.check.egret.internal'),"
               "x=q('_443._tcp.no.example.org.check.egret.internal'))",
               allow=["good.example.org"]).json
    assert "allowed rule=" in j["y"][0]
    assert "refused reason=port" in j["n"][0]
    assert "refused reason=not_listed" in j["x"][0]
