# SPDX-License-Identifier: GPL-2.0-or-later
"""Edits of the allowlist file apply at once, to open connections too (P5)."""
import json
import os
import re
import time

import pytest

from servers import ECHO, IDLE, TICK

T, T2 = "tcp.example.org", "tcp2.example.org"
PORTS = f"{ECHO},{TICK},{IDLE}"
# Reads commands on stdin, so that a test drives it step by step.
DRIVEN = """
for line in sys.stdin:
    cmd = line.split()
    if cmd[0] == 'tcp':
        out(r=try_tcp(cmd[1], int(cmd[2]), 3))
    elif cmd[0] == 'dns':
        out(r=dnsq(cmd[1])['rcode'])
    elif cmd[0] == 'until':
        t = time.monotonic()
        while time.monotonic() - t < 5:
            if try_tcp(cmd[1], int(cmd[2]), 3)['err'] is None:
                break
        out(r=1000 * (time.monotonic() - t))
"""


class Driven:
    def __init__(self, lab, path, **kw):
        self.p = lab.spawn_py(DRIVEN, allowlist=path, **kw)
        self.pos = 0

    def ask(self, cmd):
        self.p.send(cmd.encode() + b"\n")
        m = self.p.out.wait(r'\{"r": (.*)\}\n', 10, self.pos)
        self.pos = m.end()
        return json.loads(m.group(1))


def put(path, text, way="write"):
    """Replace a file's content the way different editors do."""
    if way == "write":
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        return
    new = path + ".new"
    with open(new, "w", encoding="ascii") as f:
        f.write(text)
    st = os.stat(path)
    os.chown(new, st.st_uid, st.st_gid)
    if way == "rename":
        os.rename(new, path)
    elif way == "symlink":
        os.rename(new, path + ".target")
        os.symlink(path + ".target", new)
        os.rename(new, path)


def policy_seen(p, n):
    """Wait for the n-th `policy` event."""
    end = time.monotonic() + 5
    while time.monotonic() < end:
        if len([e for e in p.events() if e["event"] == "policy"]) >= n:
            return
        time.sleep(0.002)
    raise AssertionError(f"no policy event {n}: {p.events()}")


def n_policy(p):
    return len([e for e in p.events() if e["event"] == "policy"])


@pytest.mark.who("user", "root", "unshare-r")
def test_appending_a_line_allows(lab, who):
    path = lab.write("edit.hosts", "two.example.org\n", who)
    d = Driven(lab, path, who=who, flows=[("11.0.2.10", "tcp", 443)])
    d.p.expected.exact.add("good.example.org")
    assert d.ask("tcp good.example.org 443")["err"]
    with open(path, "a", encoding="ascii") as f:
        f.write("good.example.org\n")
    ms = d.ask("until good.example.org 443")
    print("applied and connected within", ms, "ms")
    assert ms < 1000
    assert d.ask("tcp two.example.org 443")["err"] is None
    assert d.p.finish().rc == 0


@pytest.fixture
def project(lab):
    """A project's file: its directory can't be written from inside."""
    path = os.path.join(lab.homes["user"], "config/egret/projects",
                        "ways.hosts")
    lab.run(["true"], args=["-p", "ways"])
    put(path, "good.example.org\n")
    yield path
    for f in (path, path + ".target"):
        if os.path.lexists(f):
            os.unlink(f)


@pytest.mark.parametrize("way", ["write", "rename", "symlink"])
def test_ways_of_editing(lab, project, way):
    d = Driven(lab, None, args=["-p", "ways"],
               flows=[("11.0.2.10", "tcp", 443), ("11.0.2.11", "tcp", 443)])
    d.p.expected.exact |= {"good.example.org", "two.example.org"}
    assert d.ask("tcp good.example.org 443")["err"] is None
    for text, good, two in (("two.example.org\n", "NXDOMAIN", "NOERROR"),
                            ("good.example.org\n", "NOERROR", "NXDOMAIN"),
                            ("good.example.org\ntwo.example.org\n",
                             "NOERROR", "NOERROR")):
        n = n_policy(d.p)
        put(project, text, way)
        policy_seen(d.p, n + 1)
        assert d.ask("dns good.example.org") == good
        assert d.ask("dns two.example.org") == two
    d.p.finish()


def test_replaced_where_the_command_may_write(lab):
    """A new file under the old name could be the command's: it is obeyed only
    if egret can tell, else the old list stays and a sentence says so."""
    path = lab.write("ways.hosts", "good.example.org\n")
    d = Driven(lab, path, flows=[("11.0.2.11", "tcp", 443)])
    d.p.expected.exact.add("two.example.org")
    assert d.ask("dns good.example.org") == "NOERROR"
    put(path, "two.example.org\n", "rename")
    m = d.p.err.wait(r"^egret: .*" + re.escape(path) + r".*$")
    assert b"replaced" in m.group(0)
    assert d.ask("dns two.example.org") == "NXDOMAIN"
    assert d.ask("dns good.example.org") == "NOERROR"
    d.p.finish()


@pytest.mark.who("user", "root")
def test_removal_cuts_only_what_it_must(lab, who):
    """Busy and idle connections are reset on both ends, the other goes on."""
    path = lab.write("cut.hosts", f"{T}:{PORTS}\n{T2}:{PORTS}\n", who)
    start = len(lab.world.conns)
    code = f"""
import selectors
busy, idle = tcp('{T}', {TICK}), tcp('{T}', {IDLE})
keep, keep_echo = tcp('{T2}', {TICK}), tcp('{T2}', {ECHO})
idle.sendall(b'x')
keep_echo.sendall(b'y')
keep_echo.recv(1)
sel = selectors.DefaultSelector()
for s, n in ((busy, 'busy'), (idle, 'idle')):
    s.setblocking(False)
    sel.register(s, selectors.EVENT_READ, n)
out(up=1)
ends, t0 = {{}}, time.monotonic()
while len(ends) < 2 and time.monotonic() - t0 < 10:
    for k, _ in sel.select(1):
        try:
            if not k.fileobj.recv(1 << 16):
                raise OSError(0, 'eof')
        except OSError as e:
            ends[k.data] = name_of(e)
            sel.unregister(k.fileobj)
cut = time.time()
data = b''
while len(data) < 9 * 150:
    data += keep.recv(1 << 16)
lines = data.split(b'\\n')[:150]
keep_echo.sendall(b'after')
out(ends=ends, cut=cut, whole=lines == [b'%08d' % i for i in range(150)],
    echo=keep_echo.recv(5, socket.MSG_WAITALL).decode(),
    new=try_tcp('11.0.2.20', {ECHO}, 2)['err'])
"""
    p = lab.spawn_py(code, allowlist=path, who=who)
    p.out.wait('"up"')
    conns = [lab.world.conn(k, start, "11.0.2.20") for k in ("tick", "idle")]
    t = time.time()
    put(path, f"{T2}:{PORTS}\n")
    r = p.finish()
    j = r.json
    print("cut after", 1000 * (j["cut"] - t), "ms")
    assert j["ends"] == {"busy": "ECONNRESET", "idle": "ECONNRESET"}
    assert j["cut"] - t < 1
    assert j["whole"] and j["echo"] == "after"
    assert j["new"] == "ECONNREFUSED"
    for c in conns:
        assert c.done.wait(2) and c.end == "reset", c.kind


def test_removal_closes_new_connections_at_once(lab):
    path = lab.write("new.hosts", f"{T}:{PORTS}\n")
    d = Driven(lab, path)
    assert d.ask(f"tcp {T} {ECHO}")["err"] is None
    n = n_policy(d.p)
    put(path, "good.example.org\n")
    policy_seen(d.p, n + 1)
    assert d.ask(f"tcp 11.0.2.20 {ECHO}")["err"] == "ECONNREFUSED"
    assert d.ask(f"dns {T}") == "NXDOMAIN"
    d.p.finish()


def test_port_narrowed(lab):
    """The name stays, one port goes: only that port's connection is cut."""
    path = lab.write("narrow.hosts", f"{T}:{PORTS}\n")
    code = f"""
a, b = tcp('{T}', {IDLE}), tcp('{T}', {ECHO})
a.sendall(b'x')
out(up=1)
d, e = read_all(a)
b.sendall(b'still')
out(e=e, got=b.recv(5, socket.MSG_WAITALL).decode())
"""
    p = lab.spawn_py(code, allowlist=path)
    p.out.wait('"up"')
    put(path, f"{T}:{ECHO}\n")
    assert p.finish().json == {"e": "ECONNRESET", "got": "still"}


@pytest.mark.who("user", "root")
def test_error_keeps_the_old_policy(lab, who):
    path = lab.write("err.hosts", f"{T}:{PORTS}\n", who)
    d = Driven(lab, path, who=who)
    assert d.ask(f"tcp {T} {ECHO}")["err"] is None
    put(path, "two.example.org\nbro ken..line:99999\n")
    m = d.p.err.wait(re.escape(path) + r":2:\d+: .+")
    assert m
    assert d.ask(f"tcp {T} {ECHO}")["err"] is None
    assert d.ask("dns two.example.org") == "NXDOMAIN"
    n = n_policy(d.p)
    d.p.expected.exact.add("two.example.org")
    put(path, f"{T}:{PORTS}\ntwo.example.org\n")
    policy_seen(d.p, n + 1)
    assert d.ask("dns two.example.org") == "NOERROR"
    d.p.finish()


def test_allow_command_edits_a_running_sandbox(lab):
    """A run without a file gets one; `egret allow` returns when it applies."""
    p = lab.spawn_py("out(id=os.environ['EGRET'])\n" + DRIVEN,
                     allow=["two.example.org"],
                     flows=[("11.0.2.10", "tcp", 443)])
    p.expected.exact.add("good.example.org")
    ident = p.out.wait(r'"id": "(.*?)"').group(1).decode()
    assert ident == f"run-{p.pid}"
    d = Driven.__new__(Driven)
    d.p, d.pos = p, 0
    assert d.ask("tcp good.example.org 443")["err"]
    r = lab.ctl("allow", ident, "good.example.org")
    assert r.returncode == 0, r.stderr
    assert d.ask("tcp good.example.org 443")["err"] is None
    p.finish()
    assert lab.ctl("allow", ident, "good.example.org").returncode == 1


def test_other_subcommands(lab):
    p = lab.spawn_py("out(id=os.environ['EGRET'])\n" + DRIVEN,
                     allow=["two.example.org"])
    d = Driven.__new__(Driven)
    d.p, d.pos = p, 0
    ident = p.out.wait(r'"id": "(.*?)"').group(1).decode()
    for cmd, rc in ((("allow", ident, "good.example.org"), 0),
                    (("check", ident, "good.example.org"), 0),
                    (("check", ident, "no.example.org"), 1),
                    (("ps",), 0), (("show", ident), 0),
                    (("remove", ident, "good.example.org"), 0),
                    (("remove", ident, "good.example.org"), 1)):
        r = lab.ctl(*cmd)
        assert r.returncode == rc, r.stderr
        if cmd[0] in ("ps", "show"):
            assert ident in r.stdout
    assert d.ask("dns good.example.org") == "NXDOMAIN"
    p.finish()


def test_project_file_is_made_and_edited(lab):
    p = lab.spawn_py(DRIVEN, args=["-p", "study42"],
                     flows=[("11.0.2.10", "tcp", 443)])
    p.expected.exact.add("good.example.org")
    d = Driven.__new__(Driven)
    d.p, d.pos = p, 0
    assert d.ask("dns good.example.org") == "NXDOMAIN"
    path = os.path.join(lab.homes["user"], "config/egret/projects",
                        "study42.hosts")
    with open(path, encoding="utf-8") as f:
        assert f.read().startswith("#")
    assert lab.ctl("allow", "study42", "good.example.org").returncode == 0
    assert d.ask("tcp good.example.org 443")["err"] is None
    with open(path, encoding="utf-8") as f:
        assert "good.example.org" in f.read().splitlines()
    p.finish()
    os.unlink(path)
