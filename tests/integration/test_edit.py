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


# --- edits of every kind, while it runs ---

def settled(d, want, within=3):
    """Wait until the names answer as wanted; {name: rcode}."""
    end = time.monotonic() + within
    while True:
        got = {n: d.ask(f"dns {n}") for n in want}
        if got == want or time.monotonic() > end:
            assert got == want
            return
        time.sleep(0.01)


YES, NO = "NOERROR", "NXDOMAIN"
GOOD, TWO = "good.example.org", "two.example.org"


def driven(lab, allowlist=None, **kw):
    d = Driven(lab, allowlist, **kw)
    d.p.expected.exact |= {GOOD, TWO, "three.example.org"}
    return d


def test_deleted_and_created_again(lab, project):
    """The policy stays, one sentence says why; a new file is obeyed."""
    d = driven(lab, args=["-p", "ways"])
    settled(d, {GOOD: YES, TWO: NO})
    os.unlink(project)
    d.p.err.wait(r"^egret: .*ways\.hosts.*$")
    settled(d, {GOOD: YES, TWO: NO})
    n = n_policy(d.p)
    put(project, TWO + "\n")
    policy_seen(d.p, n + 1)
    settled(d, {GOOD: NO, TWO: YES})
    r = d.p.finish()
    said = [x for x in r.err.splitlines() if "cannot open" in x]
    assert len(said) == 1, r.err


def test_deleted_where_the_command_may_write(lab):
    path = lab.write("gone.hosts", GOOD + "\n")
    d = driven(lab, path)
    settled(d, {GOOD: YES, TWO: NO})
    os.unlink(path)
    d.p.err.wait(r"^egret: .*gone\.hosts.*$")
    put(path, TWO + "\n")
    d.p.err.wait(r"^egret: .*gone\.hosts was replaced.*$")
    settled(d, {GOOD: YES, TWO: NO})
    d.p.finish()


def test_always_file_with_a_denial_is_deleted(lab):
    """Its end would open what it denies, so it is no edit."""
    path = os.path.join(lab.homes["user"], "config/egret/always.hosts")
    lab.run(["true"], args=["-p", "ways"])
    put(path, f"!{TWO}\n")
    try:
        d = driven(lab, allow=[GOOD, TWO])
        settled(d, {GOOD: YES, TWO: NO})
        os.unlink(path)
        d.p.err.wait(r"^egret: .*always\.hosts.*$")
        settled(d, {GOOD: YES, TWO: NO})
        put(path, "# nothing\n")
        settled(d, {GOOD: YES, TWO: YES})
        d.p.finish()
    finally:
        os.unlink(path)


def test_truncated_first_written_later(lab, project):
    """An editor that takes its time; and one that never closes the file."""
    d = driven(lab, args=["-p", "ways"])
    settled(d, {GOOD: YES, TWO: NO})
    with open(project, "w", encoding="ascii") as f:
        settled(d, {GOOD: NO, TWO: NO})     # empty allows nothing
        f.write(GOOD + "\n")
        f.flush()
        settled(d, {GOOD: YES, TWO: NO})
        f.write(TWO + "\n")
        f.flush()
        settled(d, {GOOD: YES, TWO: YES})
    d.p.finish()


def test_link_swapped_and_its_new_target_written(lab, project):
    """Writes to where the link leads now count, to the old target don't."""
    d = driven(lab, args=["-p", "ways"])
    folder = os.path.dirname(project)
    a, b = os.path.join(folder, "a.txt"), os.path.join(folder, "b.txt")
    try:
        put(a, GOOD + "\n")
        put(b, TWO + "\n")
        for target in (a, b):
            os.symlink(os.path.basename(target), project + ".new")
            os.rename(project + ".new", project)
            settled(d, {GOOD: YES if target == a else NO,
                        TWO: NO if target == a else YES})
        n = n_policy(d.p)
        put(b, f"{GOOD}\n{TWO}\n")
        policy_seen(d.p, n + 1)
        settled(d, {GOOD: YES, TWO: YES})
        put(a, "# nothing\n")
        settled(d, {GOOD: YES, TWO: YES})
    finally:
        d.p.finish()
        os.unlink(a)
        os.unlink(b)


@pytest.mark.parametrize("way", ["write", "rename"])
def test_a_hundred_edits_in_a_second(lab, project, way):
    """The last one wins; a name that no version lists is never answered; the
    connection that every version allows goes on; no descriptor is left."""
    keep = f"{T}:{PORTS}\n"
    put(project, keep)
    d = Driven(lab, None, args=["-p", "ways"],
               flows=[("11.0.2.20", "tcp", p) for p in (ECHO, TICK, IDLE)])
    d.p.expected.exact |= {GOOD, TWO, T}
    assert d.ask(f"tcp {T} {ECHO}")["err"] is None
    fds = f"/proc/{d.p.gateway()}/fd"       # closed to root of a namespace
    before = 0 if lab.rootless else len(os.listdir(fds))
    t = time.monotonic()
    for i in range(99):
        put(project, keep + (GOOD if i % 2 else TWO) + "\n", way)
        assert d.ask("dns three.example.org") == NO
        # A writer that is held up leaves an empty list for a moment.
        if i % 10 == 0 and way == "rename":
            assert d.ask(f"tcp {T} {ECHO}")["err"] is None
    put(project, f"{keep}{GOOD}\n{TWO}\n", way)
    print("100 edits in", time.monotonic() - t, "s")
    settled(d, {GOOD: YES, TWO: YES, "three.example.org": NO})
    put(project, f"{keep}{TWO}\n", way)
    settled(d, {GOOD: NO, TWO: YES})
    assert lab.rootless or len(os.listdir(fds)) <= before + 2
    d.p.finish()


def test_edits_during_a_download_change_no_byte(lab):
    from servers import SOURCE
    n = 30 << 20
    path = lab.write("down.hosts", f"{T}:{SOURCE}\n")
    code = f"""
s = tcp('{T}', {SOURCE})
s.sendall(b'{n}\\n')
got, h = 0, hashlib.sha256()
out(up=1)
while got < {n}:
    d = s.recv(1 << 16)
    if not d:
        break
    if got >> 20 != got + len(d) >> 20:
        time.sleep(0.02)        # long enough for some edits
    got += len(d)
    h.update(d)
out(got=got, same=h.digest() == hashlib.sha256(stream({n})).digest())
"""
    p = lab.spawn_py(code, allowlist=path,
                     flows=[("11.0.2.20", "tcp", SOURCE)])
    p.expected.exact.add(T)
    p.out.wait('"up"')
    edits = 0
    while not p.out.eof and b'"got"' not in p.out.data:
        # Of one length, so that the file is never cut short.
        text = f"{T}:{SOURCE}\nx{edits:06}.example.org\n11.0.{edits % 9}.7\n"
        with open(path, "r+" if edits else "w", encoding="ascii") as f:
            f.write(text)
        edits += 1
        time.sleep(0.005)
    j = p.finish().json
    assert j == {"got": n, "same": True} and edits > 20, (j, edits, p.result.err)


# --- what an edit leaves behind ---

def shown(lab, ident):
    r = lab.ctl("show", ident, "--json")
    assert r.returncode == 0, r.stderr
    return json.loads(r.stdout)


def test_learned_addresses_leave_with_their_last_entry(lab):
    """One address of two names: it stays until both are gone."""
    lab.dns.add("shared.example.org", A="11.0.2.11")
    path = lab.write("learn.hosts", f"{TWO}\nshared.example.org\n{GOOD}\n")
    d = driven(lab, path)
    d.p.expected.exact.add("shared.example.org")
    ident = f"run-{d.p.pid}"
    for name in (TWO, "shared.example.org", GOOD):
        assert d.ask(f"dns {name}") == YES

    def learned():
        return {(x["addr"]) for x in shown(lab, ident)["learned"]}
    assert {"11.0.2.10", "11.0.2.11"} <= learned()
    n = n_policy(d.p)
    put(path, f"shared.example.org\n{GOOD}\n")
    policy_seen(d.p, n + 1)
    assert "11.0.2.11" in learned()
    assert d.ask("tcp 11.0.2.11 443")["err"] is None
    put(path, f"{GOOD}\n")
    policy_seen(d.p, n + 2)
    assert learned() == {"11.0.2.10"}
    assert d.ask("tcp 11.0.2.11 443")["err"] == "ECONNREFUSED"
    assert d.ask("tcp 11.0.2.10 443")["err"] is None
    d.p.finish()


def test_denied_names_leave_the_answer_cache(lab):
    """Allowed again, a name is asked anew: its address may have changed."""
    path = lab.write("cache.hosts", f"{GOOD}\n{TWO}\n")
    d = driven(lab, path)
    marks = len(lab.dns.log)

    def asked():
        return sum(q.name.rstrip(".") == TWO for q in lab.dns.log[marks:])
    for _ in range(3):
        assert d.ask(f"dns {TWO}") == YES
    once = asked()
    assert once >= 1
    n = n_policy(d.p)
    put(path, f"{GOOD}\n{TWO}\n!{TWO}\n")
    policy_seen(d.p, n + 1)
    assert d.ask(f"dns {TWO}") == NO
    assert d.ask("tcp 11.0.2.11 443")["err"] == "ECONNREFUSED"
    assert asked() == once
    put(path, f"{GOOD}\n{TWO}\n")
    policy_seen(d.p, n + 2)
    assert d.ask(f"dns {TWO}") == YES
    assert asked() > once
    d.p.finish()


# --- what can't be a list ---

def make_bad(path, kind):
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        os.mkdir(path)
    elif kind == "device":
        os.symlink("/dev/zero", path)
    elif kind == "socket":
        import socket
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(path)
    elif kind == "huge":
        with open(path, "wb") as f:
            f.truncate(100 << 20)
    elif kind == "huge text":
        text = b"good.example.org\n" * (100 << 16)
        with open(path, "wb") as f:     # not empty for long
            f.write(text)
    elif kind == "binary":
        with open(path, "wb") as f:
            f.write(bytes(range(256)) * 64)


def take_away(path):
    if os.path.isdir(path) and not os.path.islink(path):
        os.rmdir(path)
    elif os.path.lexists(path):
        os.unlink(path)


BAD = ["fifo", "directory", "device", "socket", "huge", "huge text", "binary"]


@pytest.mark.parametrize("kind", BAD)
def test_bad_list_at_the_start(lab, kind):
    path = os.path.join(lab.work(), "no-list.hosts")
    make_bad(path, kind)
    try:
        r = lab.spawn(["echo", "started"], args=["--allowlist", path],
                      stdin=-3).finish(timeout=10)
    finally:
        take_away(path)
    assert r.rc == 125 and r.out == ""
    assert r.err.startswith("egret: ") and path in r.err, r.err[:500]
    assert all(x.startswith("egret: ") for x in r.err.splitlines()), r.err
    assert len(r.err) < 200000


@pytest.mark.parametrize("kind", BAD)
def test_bad_list_swapped_in(lab, project, kind):
    """The old policy stays whole, and a good list counts again."""
    d = driven(lab, args=["-p", "ways"])
    settled(d, {GOOD: YES, TWO: NO})
    bad = project + ".bad"
    make_bad(bad, kind)
    if os.path.isdir(bad) and not os.path.islink(bad):
        os.unlink(project)      # no rename puts a directory over a file
    os.rename(bad, project)
    d.p.err.wait(r"^egret: .*ways\.hosts.*$")
    settled(d, {GOOD: YES, TWO: NO})
    take_away(project)
    put(project, TWO + "\n")
    settled(d, {GOOD: NO, TWO: YES})
    d.p.finish()


@pytest.mark.parametrize("kind", ["huge", "huge text", "binary"])
def test_bad_content_written_in_place(lab, kind):
    path = lab.write("place.hosts", GOOD + "\n")
    d = driven(lab, path)
    settled(d, {GOOD: YES, TWO: NO})
    make_bad(path, kind)
    d.p.err.wait(r"^egret: .*place\.hosts.*$")
    settled(d, {GOOD: YES, TWO: NO})
    put(path, TWO + "\n")
    settled(d, {GOOD: NO, TWO: YES})
    d.p.finish()


# --- what a killed run leaves ---

def test_stale_directory_is_cleaned_at_the_next_start(lab):
    import signal
    lab.dirs_may_stay = True
    p = lab.spawn_py("out(up=1)\ntime.sleep(60)", allow=[GOOD])
    p.out.wait("up")
    base = os.path.join(lab.homes["user"], "run/egret")
    left = os.path.join(base, f"run-{p.pid}")
    assert {"allowlist", "control.sock", "lock"} <= set(os.listdir(left))
    os.kill(p.pid, signal.SIGKILL)
    p.finish(check=False)
    assert os.path.isdir(left)
    r = lab.ctl("ps", "--json")
    assert r.returncode == 0 and f"run-{p.pid}" not in r.stdout
    assert lab.ctl("show", f"run-{p.pid}").returncode == 1
    assert lab.ctl("allow", f"run-{p.pid}", TWO).returncode == 1
    r = lab.run(["ls", "/"], allow=[GOOD])
    assert r.rc == 0
    assert not os.path.exists(left), os.listdir(left)
