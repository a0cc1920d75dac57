# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab checks itself: without it, "nothing was seen" would prove nothing."""
import json
import socket
import subprocess
import time

import pytest

import lab as lab_module
import netns
import servers
from inside import stream

pytestmark = pytest.mark.nobinary


@pytest.mark.who("user", "root", "unshare-r")
def test_direct_https_is_seen(lab, who):
    r = lab.direct(["curl", "-sS", "https://good.example.org/x"], who=who)
    assert r.rc == 0, r.err
    assert r.json["sni"] == "good.example.org"
    assert {q.name for q in r.dns} == {"good.example.org"}
    assert any(p.dst == "11.0.2.10" and p.dport == 443 for p in r.packets)


def test_unexplained_packets_are_found(lab):
    r = lab.direct(["curl", "-sS", "http://two.example.org/"])
    with pytest.raises(AssertionError, match="left the host"):
        lab.check(r, lab.expected(["good.example.org"]))
    with pytest.raises(AssertionError, match="left the host"):
        lab.check(r, lab.expected([], [("11.0.2.11", "tcp", 80),
                                       ("11.0.2.53", "udp", 53)]))
    lab.check(r, lab.expected(["two.example.org"]))


def test_direct_ipv6(lab):
    r = lab.direct(["curl", "-sS", "-6", "https://both.example.org/"])
    assert r.rc == 0, r.err
    assert json.loads(r.out)["local"] == "2a0e:b107:2::10"
    lab.check(r, lab.expected(["both.example.org"]))


@pytest.mark.who("user", "root", "unshare-r")
def test_identity(lab, who):
    code = ("import re; st = open('/proc/self/status').read()\n"
            "out(uid=os.getuid(), cap=int(re.search(r'CapEff:\\s*(\\w+)', st)"
            ".group(1), 16), resolv=open('/etc/resolv.conf').read())")
    r = lab.py(code, who=who, egret=False).json
    assert r["uid"] == (1000 if who == "user" else 0)
    assert (r["cap"] == 0) == (who == "user")
    assert r["resolv"] == "nameserver 11.0.2.53\n"


@pytest.mark.parametrize("host,err,fast", [
    ("11.0.2.10", None, True), ("11.0.2.40", "ECONNREFUSED", True),
    ("11.0.8.8", "EHOSTUNREACH", True), ("11.0.9.9", "timeout", False),
    ("2a0e:b107:2::10", None, True), ("2a0e:b107:2::40", "ECONNREFUSED", True),
    ("2a0e:b107:9::9", "timeout", False), ("192.168.77.5", None, True),
    ("169.254.169.254", None, True), ("10.1.2.3", None, True),
    ("fd00:77::5", None, True)])
def test_reachability(lab, host, err, fast):
    r = lab.py("out(**try_tcp(sys.argv[1], 80, 1))", host, egret=False,
               check=False).json
    assert r["err"] == err
    assert (r["ms"] < 500) == fast


def direct_tcp(lab, addr, port):
    s = netns.make_socket(lab.host_path, socket.AF_INET6 if ":" in addr
                          else socket.AF_INET, socket.SOCK_STREAM)
    s.settimeout(5)
    s.connect((addr, port))
    return s


def read_all(s):
    data = b""
    while d := s.recv(65536):
        data += d
    return data


@pytest.mark.parametrize("addr", ["11.0.2.20", "2a0e:b107:2::20"])
def test_servers(lab, addr):
    with direct_tcp(lab, addr, servers.ECHO) as s:
        s.sendall(b"hello")
        s.shutdown(socket.SHUT_WR)
        assert read_all(s) == b"hello"
    with direct_tcp(lab, addr, servers.SINK) as s:
        s.sendall(stream(100000))
        s.shutdown(socket.SHUT_WR)
        assert read_all(s).startswith(b"100000 ")
    with direct_tcp(lab, addr, servers.SOURCE) as s:
        s.sendall(b"300000\n")
        assert read_all(s) == stream(300000)
    with direct_tcp(lab, addr, servers.HALF) as s:
        assert read_all(s) == b"first\n"
        s.sendall(b"late")
        s.shutdown(socket.SHUT_WR)
        c = lab.world.conns[-1]
        assert c.done.wait(5) and c.received == 4 and c.end == "eof"
    with direct_tcp(lab, addr, servers.RST_DATA) as s:
        assert len(s.recv(1000, socket.MSG_WAITALL)) == 1000
        s.sendall(b"x")
        with pytest.raises(ConnectionResetError):
            read_all(s)
    with pytest.raises(ConnectionResetError):
        with direct_tcp(lab, addr, servers.RST) as s:
            read_all(s)
    with direct_tcp(lab, addr, servers.BANNER) as s:
        assert s.recv(100).startswith(b"SSH-2.0-")


def test_far_end_tells_reset_from_close(lab):
    for reset, end in ((False, "eof"), (True, "reset")):
        s = direct_tcp(lab, "11.0.2.20", servers.TICK)
        assert s.recv(9) == b"00000000\n"
        if reset:
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, servers.RESET)
        else:
            s.shutdown(socket.SHUT_WR)
        c = lab.world.conns[-1]
        if reset:
            s.close()
        assert c.done.wait(5) and c.end == end
        s.close()


def dig(lab, *args):
    return lab.direct(["dig", "+tries=1", "+timeout=2", *args]).out


def test_dns_server(lab):
    d = lab.dns
    assert "11.0.2.10" in dig(lab, "GOOD.example.org")
    assert "11.0.2.10" in dig(lab, "+tcp", "good.example.org")
    assert d.log[-1].transport == "tcp"
    assert "NXDOMAIN" in dig(lab, "nothing.example.org")
    assert dig(lab, "+short", "www.chain.test").split() == [
        "x.cdn.test.", "y.cdn.test.", "11.0.2.11"]
    d.add("big.example.org", A=[f"11.0.4.{i}" for i in range(1, 200)])
    start = len(d.log)
    assert len(dig(lab, "+short", "+bufsize=512",
                   "big.example.org").split()) == 199
    assert [q.transport for q in d.log[start:]] == ["udp", "tcp"]
    d.add("mute.example.org", A="11.0.2.10", drop="both")
    assert "timed out" in dig(lab, "+timeout=1", "mute.example.org")
    d.add("extra.example.org", A="11.0.2.10",
          extra=[("additional", "bad.example.org", "A", "11.0.2.66")])
    assert "11.0.2.66" in dig(lab, "extra.example.org")


def test_udp_echo(lab):
    s = netns.make_socket(lab.host_path, socket.AF_INET, socket.SOCK_DGRAM)
    with s:
        s.settimeout(3)
        s.sendto(b"ping", ("11.0.2.20", servers.UDP_ECHO))
        assert s.recv(100) == b"ping"


def test_refusal_lines_are_parsed():
    """A refused connection and a refused look-up."""
    a, b, c = lab_module.parse_refused(
        "egret: refused evil.example:443/tcp [203.0.113.9] by curl(4711): not "
        "on the allowlist; to allow: egret allow study42 evil.example\n"
        "noise\n"
        "egret: refused evil.example (DNS A) by python3(4712): not on the "
        "allowlist; to allow: egret allow study42 evil.example\n"
        "egret: refused 11.0.2.40:22/tcp: not on the allowlist; to allow: "
        "egret allow run-7 11.0.2.40:22\n")
    assert (a["what"], a["proto"], a["addr"], a["comm"], a["pid"]) == (
        "evil.example:443", "tcp", "203.0.113.9", "curl", "4711")
    assert a["why"] == "not on the allowlist"
    assert (a["id"], a["entry"]) == ("study42", "evil.example")
    assert (b["what"], b["qtype"], b["comm"]) == ("evil.example", "A",
                                                  "python3")
    assert (c["what"], c["comm"], c["entry"]) == ("11.0.2.40:22", None,
                                                  "11.0.2.40:22")


def test_processes_are_tracked(lab):
    r = lab.spawn(["sh", "-c", "sleep 60 & echo on; wait"], egret=False)
    r.out.wait("on")
    end = time.monotonic() + 5
    while len(lab.tagged()) < 2:    # between fork and exec there's no environ
        assert time.monotonic() < end
        time.sleep(0.01)
    r.proc.kill()
    r.proc.wait(5)
    assert len(lab.tagged()) >= 1
    lab.kill_tagged()
    assert lab.wait_gone() == []
    lab.running.discard(r)
    assert subprocess.run(["true"], check=False).returncode == 0
