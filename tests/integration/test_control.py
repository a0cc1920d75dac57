# SPDX-License-Identifier: GPL-2.0-or-later
"""The control socket, and the commands that ask: ps, show, check."""
import json
import os
import re
import socket
import subprocess

import pytest

import lab as lab_module
import netns
from control import Control, path_of
from servers import ECHO, IDLE
from test_edit import DRIVEN, Driven, put

ALL = pytest.mark.who("user", "root", "unshare-r")
DOC = os.path.join(lab_module.ROOT, "docs", "control.md")


class Sandbox(Driven):
    """A driven sandbox that tells its id."""

    def __init__(self, lab, who="user", code=DRIVEN, **kw):
        self.p = lab.spawn_py("out(id=os.environ['EGRET'])\n" + code, who=who,
                              **kw)
        m = self.p.out.wait(r'"id": "(.*?)"\}\n')
        self.id, self.pos = m.group(1).decode(), m.end()


def entry(reply, text):
    return next(e for e in reply["entries"] if e["text"] == text)


@ALL
def test_status_and_show(lab, who):
    path = lab.write("ctl.hosts", f"# a list\ntcp.example.org:{ECHO},{IDLE}\n"
                     "Two.Example.ORG.\n!ads.example.org\n", who)
    s = Sandbox(lab, who, allowlist=path, allow=["@pypi"], code=f"""
a = tcp('tcp.example.org', {IDLE})
a.sendall(b'12345')
tcp('tcp.example.org', {ECHO}).close()
out(up=1)
""" + DRIVEN)
    s.p.out.wait('"up"')
    assert s.ask("dns no.example.org") == "NXDOMAIN"
    with Control(lab, s.id, who) as c:
        st = c.ask("status")
        assert st["ok"] and st["id"] == s.id == f"run-{s.p.pid}"
        assert st["pid"] == s.p.pid and st["list"] == path
        assert st["entries"] == 4 and st["flows"] >= 1 and st["learned"] >= 1
        assert st["refused"] == 1 and st["policy_generation"] == 1
        assert "errors" not in st and "from inside import" in st["command"]
        sh = c.ask("show")
    assert [e["text"] for e in sh["entries"]] == [
        f"tcp.example.org:{ECHO},{IDLE}", "two.example.org",
        "!ads.example.org", "@pypi"]
    e = entry(sh, f"tcp.example.org:{ECHO},{IDLE}")
    assert (e["source"], e["line"], e["deny"]) == (path, 2, False)
    assert e["uses"] >= 3               # questions and two connections
    assert entry(sh, "two.example.org")["uses"] == 0
    assert entry(sh, "!ads.example.org")["deny"]
    assert entry(sh, "@pypi")["source"] == "--allow"
    lease = next(x for x in sh["learned"] if x["name"] == "tcp.example.org")
    assert lease["addr"] == "11.0.2.20" and lease["expires_s"] > 0
    assert lease["ports"] == [f"{ECHO}/tcp", f"{IDLE}/tcp"]
    flow = next(x for x in sh["flows"] if x["port"] == IDLE)
    assert flow["dst"] == "11.0.2.20" and flow["name"] == "tcp.example.org"
    assert flow["bytes_out"] == 5 and flow["bytes_in"] == 0
    assert flow["age_s"] < 20
    assert sh["counters"]["dns_refused"] == 1
    r = lab.ctl("show", s.id, "--json", who=who)
    assert r.returncode == 0 and not r.stderr
    assert [e["text"] for e in json.loads(r.stdout)["entries"]] == [
        e["text"] for e in sh["entries"]]
    r = lab.ctl("show", s.id, who=who)
    for text in ("11.0.2.20", "tcp.example.org", path + ":2", "dns_refused"):
        assert text in r.stdout
    s.p.finish()


@ALL
def test_socket_lives_as_long_as_the_sandbox(lab, who):
    s = Sandbox(lab, who, allow=["two.example.org"])
    path = path_of(lab, s.id, who)
    st = os.stat(path)
    assert st.st_mode & 0o777 == 0o600
    assert os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700
    ps = json.loads(lab.ctl("ps", "--json", who=who).stdout)
    assert [x["id"] for x in ps] == [s.id]
    s.p.finish()
    assert not os.path.exists(path)
    r = lab.ctl("ps", "--json", who=who)
    assert (r.returncode, json.loads(r.stdout)) == (0, [])
    for cmd in (("show", s.id), ("check", s.id, "two.example.org")):
        r = lab.ctl(*cmd, who=who)
        assert r.returncode == 1 and "no running sandbox" in r.stderr


def test_killed_front_leaves_nothing_that_answers(lab):
    s = Sandbox(lab, allow=["two.example.org"])
    lab.dirs_may_stay = True
    os.kill(s.p.pid, 9)
    s.p.finish(check=False)
    assert not lab.wait_gone()
    r = lab.ctl("ps")
    assert r.returncode == 0 and s.id not in r.stdout
    assert lab.ctl("show", s.id).returncode == 1
    t = Sandbox(lab, allow=["two.example.org"])     # cleans up
    assert not os.path.exists(os.path.dirname(path_of(lab, s.id)))
    t.p.finish()


def test_two_of_one_project(lab):
    kw = dict(args=["-p", "twice"])
    a, b = Sandbox(lab, **kw), Sandbox(lab, **kw)
    assert (a.id, b.id) == ("twice", "twice.2")
    r = lab.ctl("ps")
    lines = r.stdout.splitlines()
    assert lines[0].split()[:4] == ["ID", "PID", "FLOWS", "REFUSED"]
    assert [x.split()[:2] for x in lines[1:]] == [
        ["twice", str(a.p.pid)], ["twice.2", str(b.p.pid)]]
    assert all("projects/twice.hosts" in x for x in lines[1:])
    a.p.finish()
    assert lab.ctl("check", "twice.2", "x.test").returncode == 1
    b.p.finish()
    os.unlink(os.path.join(lab.homes["user"], "config/egret/projects",
                           "twice.hosts"))


@pytest.mark.who("user", "root")
def test_reload_is_synchronous(lab, who):
    path = lab.write("rl.hosts", f"tcp.example.org:{ECHO},{IDLE}\n", who)
    s = Sandbox(lab, who, allowlist=path)
    s.p.expected.exact.add("two.example.org")
    with Control(lab, s.id, who) as c:
        assert c.ask("reload") == {"ok": True, "generation": 1, "entries": 1,
                                   "cut": 0}
        for n in range(2, 31):
            text = "two.example.org\n" if n % 2 == 0 else "# none\n"
            put(path, f"tcp.example.org:{ECHO},{IDLE}\n" + text)
            r = c.ask("reload")
            assert r["ok"] and r["generation"] == n, r
            assert s.ask("dns two.example.org") == (
                "NXDOMAIN" if n % 2 else "NOERROR")
        # The watch and the request, one change: one event each.
        assert len([e for e in s.p.events() if e["event"] == "policy"]) == 29
        put(path, "bro ken\nalso..broken\n")
        for _ in range(3):
            r = c.ask("reload")
            assert not r["ok"] and "old one stays" in r["error"]
            assert [x.split(":")[:2] for x in r["errors"]] == [
                [path, "1"], [path, "2"]]
        st = c.ask("status")
        assert st["errors"] == r["errors"] and st["policy_generation"] == 30
        assert s.ask("dns two.example.org") == "NOERROR"
        # Uses stay with an entry that moves and is written otherwise.
        uses = c.ask("show")["entries"][1]["uses"]
        put(path, f"#\n#\nTWO.example.org\ntcp.example.org:{ECHO},{IDLE}\n")
        assert c.ask("reload")["generation"] == 31
        assert c.ask("show")["entries"][0]["uses"] == uses > 0
        assert "errors" not in c.ask("status")
    err = s.p.finish().err
    assert err.count(path + ":1:") == 1 and err.count(path + ":2:") == 1


def test_reload_tells_what_was_cut(lab):
    path = lab.write("cutn.hosts", f"tcp.example.org:{IDLE}\n")
    s = Sandbox(lab, allowlist=path, code=f"""
keep = [tcp('tcp.example.org', {IDLE}) for _ in range(5)]
out(up=1)
""" + DRIVEN)
    s.p.out.wait('"up"')
    with Control(lab, s.id) as c:
        assert c.ask("status")["flows"] == 5
        put(path, "# nothing\n")
        assert c.ask("reload")["cut"] == 5
        assert c.ask("status")["flows"] == 0
    s.p.finish()


CHECKS = (("good.example.org", True, None, "good.example.org", 1),
          ("https://good.example.org/x", True, None, "good.example.org", 1),
          ("good.example.org:22", False, "port", "good.example.org", 1),
          ("good.example.org:443/udp", False, "port", "good.example.org", 1),
          ("x.d.example.org:8000", True, None, "*.d.example.org:8000-8010",
           2),
          ("ads.d.example.org:8000", False, "denied", "!ads.d.example.org",
           3),
          ("10.1.2.3:5432", True, None, "10.1.0.0/16:5432", 4),
          ("192.168.77.5", False, "private", None, None),
          ("[2a0e:b107:2::99]:443", False, "not_listed", None, None),
          ("other.test", False, "not_listed", None, None),
          ("pypi.org", True, None, "@pypi", 5))


def test_check_outside_inside_and_not_running(lab):
    """Three ways to ask, one answer."""
    lab.run(["true"], args=["-p", "ways3"])
    path = os.path.join(lab.homes["user"], "config/egret/projects",
                        "ways3.hosts")
    put(path, "good.example.org\n*.D.example.org:8000-8010\n"
        "!ads.d.example.org\n10.1.0.0/16:5432\n@pypi\n")

    def ask_all(target):
        for host, allowed, reason, text, line in CHECKS:
            r = lab.ctl("check", target, host, "--json")
            a = json.loads(r.stdout)
            assert r.returncode == (0 if allowed else 1), r
            assert a["allowed"] == allowed and a.get("reason") == reason, a
            if text:
                assert (a["entry"], a["source"], a["line"]) == (
                    text, path, line)
    ask_all("ways3")
    assert "No sandbox" in lab.ctl("show", "ways3").stdout
    r = lab.ctl("check", "ways3", "good.example.org")
    assert r.stdout == (f"allowed good.example.org:443/tcp by "
                        f"'good.example.org' ({path}:1)\n")
    code = """
import subprocess
for x in sys.argv[1:]:
    r = subprocess.run(['egret', 'check', '--json', x], capture_output=True,
                       text=True)
    out(rc=r.returncode, a=json.loads(r.stdout), err=r.stderr)
r = subprocess.run(['egret', 'check', os.environ['EGRET'], 'other.test'],
                   capture_output=True, text=True)
out(rc=r.returncode, text=r.stdout)
r = subprocess.run(['egret', 'ps'], capture_output=True, text=True)
out(rc=r.returncode, text=r.stdout)
"""
    p = lab.spawn_py(code + "out(up=1)\nsys.stdin.readline()\n",
                     *[x[0] for x in CHECKS], args=["-p", "ways3"])
    p.out.wait('"up"')
    ask_all("ways3")
    lines = [json.loads(x) for x in p.finish().out.splitlines()]
    for (host, allowed, reason, text, _), got in zip(CHECKS, lines):
        a = got["a"]
        assert got["rc"] == (0 if allowed else 1) and not got["err"]
        assert a["allowed"] == allowed and a.get("reason") == reason, host
        if allowed:
            assert a["entry"].lower() == text
    assert lines[-3]["rc"] == 1
    assert lines[-3]["text"] == "refused other.test:443/tcp: not on the " \
        "allowlist\n"
    assert lines[-2]["text"].splitlines()[1:] == []     # sees no sandbox
    os.unlink(path)


def test_usage(lab):
    for cmd, rc in ((("ps", "x"), 2), (("ps", "--nope"), 2), (("show",), 2),
                    (("show", "a", "b"), 2), (("check",), 2),
                    (("check", "example.org"), 2),
                    (("check", "a", "b", "c"), 2),
                    (("check", "nosuch", "a..b"), 2),
                    (("check", "nosuch", "example.org:x"), 2),
                    (("check", "nosuch", "example.org"), 1),
                    (("show", "nosuch"), 1), (("show", "../x"), 1),
                    (("ps", "--help"), 0), (("show", "--help"), 0),
                    (("check", "--help"), 0)):
        r = lab.ctl(*cmd)
        assert r.returncode == rc, (cmd, r)
        if rc:
            assert r.stderr.startswith("egret: ") and not r.stdout
            assert len(r.stderr.splitlines()) == 1
        else:
            assert r.stdout.startswith("usage: egret " + cmd[0])


@ALL
def test_out_of_reach_inside(lab, who):
    """The command sees neither the socket nor its directory."""
    code = """
up = sys.argv[1]
r = []
while up != '/':
    up = os.path.dirname(up)
    try:
        r.append([up, sorted(os.listdir(up))])
    except OSError as e:
        r.append([up, name_of(e)])
out(dirs=r, connect=attempt(lambda: socket.socket(socket.AF_UNIX).connect(
    sys.argv[1])), unix=open('/proc/net/unix').read())
"""
    other = Sandbox(lab, who, allow=["two.example.org"])
    path = path_of(lab, other.id, who)
    j = lab.py(code, path, who=who).json
    assert j["connect"] in ("ENOENT", "EACCES", "ENOTDIR")
    assert "control.sock" not in j["unix"]
    base = os.path.dirname(os.path.dirname(path))
    for where, names in j["dirs"]:
        if where.startswith(base):
            assert names in ([], "ENOENT", "EACCES"), (where, names)
    other.p.finish()


def try_status(path):
    """The reply to a status request from this very thread; b"" for none."""
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(5)
        s.connect(path)
        try:
            s.sendall(b'{"op":"status"}\n')
            return s.recv(65536)
        except (ConnectionResetError, BrokenPipeError):
            return b""


@pytest.mark.who("user", "root")
def test_strangers(lab, who):
    """Root's gateway knows root; elsewhere the user's id is asked for. A peer
    in another network namespace is nobody's friend."""
    s = Sandbox(lab, who, allow=["two.example.org"])
    path = path_of(lab, s.id, who)
    assert try_status(path) == b""
    here = netns.call(lab.host_path, try_status, path)
    # Without real root, root of the lab and the user are one.
    served = who == "root" or lab.rootless
    assert (b'"ok":true' in here) == served
    with Control(lab, s.id, who) as c:
        assert c.ask("status")["ok"]
        n = c.ask("show")["counters"]["control_refused"]
        assert n == (1 if served else 2)
    if who == "root" and not lab.rootless:
        p = subprocess.run(
            ["nsenter", "--net=" + lab.host_path, "--", "setpriv", "--reuid",
             "1000", "--clear-groups", "--inh-caps=-all", "--", "socat", "-",
             "UNIX-CONNECT:" + path], input=b'{"op":"status"}\n',
            capture_output=True, timeout=10, check=False)
        assert p.returncode and not p.stdout
    s.p.finish()


def test_a_stuck_client_holds_up_nobody(lab):
    """16 that ask for much and read nothing; DNS and connections go on."""
    names = "".join(f"host{i}.filler.test\n" for i in range(4000))
    path = lab.write("big.hosts", f"tcp.example.org:{ECHO}\n" + names)
    s = Sandbox(lab, allowlist=path)
    sock = path_of(lab, s.id)
    code = f"""
import socket, sys
conns = []
for i in range(16):
    c = socket.socket(socket.AF_UNIX)
    c.connect({sock!r})
    c.sendall(b'{{"op":"show"}}\\n' * 50)
    conns.append(c)
print('up', flush=True)
sys.stdin.readline()
"""
    p = subprocess.Popen(lab.enter("user") + [lab_module.PYTHON, "-c", code],
                         env=lab.env("user"), stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE)
    assert p.stdout.readline() == b"up\n"
    for _ in range(5):
        r = s.ask(f"tcp tcp.example.org {ECHO}")
        assert r["err"] is None and r["ms"] < 1000, r
    p.stdin.close()
    assert p.wait(10) == 0
    p.stdout.close()
    with Control(lab, s.id) as c:
        assert c.ask("status")["ok"]
    s.p.finish()


def test_many_entries_come_in_pages(lab):
    names = [f"host{i}.filler.test" for i in range(9001)]
    path = lab.write("pages.hosts", "\n".join(names) + "\n")
    s = Sandbox(lab, allowlist=path)
    with Control(lab, s.id) as c:
        first = c.ask("show")
        assert first["truncated"] and len(first["entries"]) == 2048
        second = c.ask("show", entries_from=first["entries_next"])
        assert len(second["entries"]) == 2048 and "flows" not in second
    r = lab.ctl("show", "--json", s.id)
    assert [e["text"] for e in json.loads(r.stdout)["entries"]] == names
    s.p.finish()


def test_bad_requests(lab):
    s = Sandbox(lab, allow=["two.example.org"])
    with Control(lab, s.id) as c:
        for line in (b"", b"x", b"[]", b"{}", b'{"op":"nope"}', b"\xff\xfe",
                     b'{"op":"check"}', b'{"op":"check","host":"a b"}',
                     b'{"op":"status"', b"[" * 60000):
            r = c.raw(line)
            assert r["ok"] is False and r["error"], line
        assert c.ask("status")["ok"]
        assert "too long" in c.raw(b" " * 70000)["error"]
    s.p.finish()


def test_long_runtime_directory(lab):
    """A path that is too long for a socket address."""
    run = os.path.join(lab.homes["user"], "run", "r" * 100)
    os.mkdir(run, 0o700)
    st = os.stat(os.path.dirname(run))
    os.chown(run, st.st_uid, st.st_gid)
    env = {"XDG_RUNTIME_DIR": run}
    s = Sandbox(lab, allow=["two.example.org"], env=env)
    r = subprocess.run(lab.enter("user") + [
        lab.egret, "check", s.id, "two.example.org"],
        env=lab.env("user", env), capture_output=True, text=True, timeout=10,
        check=False)
    assert r.returncode == 0, r.stderr
    s.p.finish()
    assert os.listdir(os.path.join(run, "egret")) == []
    os.rmdir(os.path.join(run, "egret"))
    os.rmdir(run)


def examples(lang):
    with open(DOC, encoding="utf-8") as f:
        return re.findall(r"^```%s\n(.*?)^```$" % lang, f.read(), re.M | re.S)


def test_examples_of_the_documentation(lab):
    """docs/control.md: each example runs as it stands."""
    s = Sandbox(lab, args=["-p", "docs1"], allow=["example.org"])
    lab_env = lab.env("user", {"ID": "docs1"})
    sock, *shell = examples("sh")
    assert len(shell) == 5
    for text in shell:
        r = subprocess.run(lab.enter("user") + ["sh", "-ec", sock + text],
                           env=lab_env, capture_output=True, text=True,
                           timeout=10, check=False)
        assert r.returncode == 0 and not r.stderr, r
        assert json.loads(r.stdout)["ok"] is True
    python, = examples("python")
    r = subprocess.run(lab.enter("user") + [lab_module.PYTHON, "-c", python],
                       env=lab_env, capture_output=True, text=True,
                       timeout=10, check=False)
    assert r.returncode == 0, r.stderr
    assert r.stdout.splitlines() == [
        "False", "True", "['docs.example.org', 'example.org']"]
    s.p.finish()
    os.unlink(os.path.join(lab.homes["user"], "config/egret/projects",
                           "docs1.hosts"))
