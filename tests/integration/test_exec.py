# SPDX-License-Identifier: GPL-2.0-or-later
"""egret exec: a further command in a running sandbox, confined as the first."""
import os
import select
import signal
import socket
import time

import pytest

import lab as lab_module
import netns
from servers import ECHO
from test_lifecycle import shell  # noqa: F401  (a fixture)

ALL = pytest.mark.who("user", "root", "unshare-r")
WAYS = [pytest.param("user", (), id="user"),
        pytest.param("user", ("--root",), id="user-root-inside"),
        pytest.param("root", (), id="root"),
        pytest.param("unshare-r", (), id="unshare-r", marks=[] if "unshare-r"
                     in lab_module.runners() else pytest.mark.skip(
                         reason="needs real root"))]
# Prints what a process is confined by, then does what it is told.
STATE = """
def state():
    keep = ('Uid', 'Gid', 'Groups', 'NoNewPrivs', 'Seccomp', 'Seccomp_filters',
            'CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb')
    lines = [x.split(':') for x in open('/proc/self/status')]
    d = {k: v.split() for k, v, *_ in lines if k in keep}
    for n in ('user', 'net', 'mnt', 'pid', 'ipc', 'uts', 'cgroup'):
        d[n] = os.readlink('/proc/self/ns/' + n)
    d['fds'] = sorted(set(os.listdir('/proc/self/fd')) - {'3'})
    d['cwd'] = os.getcwd()
    d['egret'] = os.environ['EGRET']
    d['notice'] = os.environ['EGRET_NOTICE']
    d['vsock'] = attempt(socket.socket, 40, 1)
    d['packet'] = attempt(socket.socket, 17, 3)
    d['tiocsti'] = attempt(lambda: __import__('fcntl').ioctl(0, 0x5412, b'x'))
    d['run'] = sorted(os.listdir('/run'))
    return d
"""
WAITING = "out(up=1)\nsys.stdin.readline()\n"


class Exec:
    """Starts commands in one sandbox."""

    def __init__(self, lab, code=WAITING, who="user", **kw):
        self.lab, self.who = lab, who
        self.p = lab.spawn_py(code, who=who, **kw)
        self.p.out.wait('"up"')
        self.id = f"run-{self.p.pid}"

    def spawn(self, cmd, args=(), **kw):
        return self.lab.spawn(
            [self.lab.egret, "exec", *args, self.id, "--", *cmd], egret=False,
            who=self.who, beside=self.p, **kw)

    def run(self, cmd, **kw):
        kw.setdefault("stdin", -3)                  # DEVNULL
        return self.spawn(cmd, **kw).finish(check=False)

    def py(self, code, *argv, **kw):
        return self.run([lab_module.PYTHON, "-c", "from inside import *\n"
                         + code, *map(str, argv)], **kw)

    def finish(self):
        if self.p.proc.stdin:
            self.p.send(b"end\n")
        return self.p.finish()


@pytest.mark.parametrize("who, args", WAYS)
def test_confined_as_the_first_command(lab, who, args):
    x = Exec(lab, STATE + "out(up=1, state=state())\nsys.stdin.readline()\n",
             who, args=args)
    r = x.py(STATE + "out(state=state())")
    assert r.rc == 0, r.err
    first = x.finish().json["state"]
    assert first["NoNewPrivs"] == ["1"] and first["Seccomp"] == ["2"]
    assert first["vsock"] and first["notice"]
    assert r.json["state"] == first


@ALL
def test_network_is_the_sandboxs(lab, who):
    x = Exec(lab, who=who, allow=["good.example.org"])
    r = x.py("""
out(good=try_tcp('good.example.org', 443)['err'],
    bad=try_tcp('11.0.2.30', 7000)['err'],
    name=dnsq('no.example.org')['rcode'])
""")
    assert r.json == {"good": None, "bad": "ECONNREFUSED",
                      "name": "NXDOMAIN"}, r.err
    said = x.finish().refused
    assert {z["what"].split(":")[0] for z in said} == {
        "11.0.2.30", "no.example.org"}
    assert all(z["comm"] for z in said if z["proto"]), said


@pytest.mark.who("user", "root")
def test_an_edit_reaches_it(lab, who):
    path = lab.write("exec.hosts", f"tcp.example.org:{ECHO}\n", who)
    x = Exec(lab, who=who, allowlist=path)
    p = x.spawn([lab_module.PYTHON, "-c", "from inside import *\n" f"""
s = tcp('tcp.example.org', {ECHO})
out(on=1)
out(end=read_all(s)[1])
"""])
    p.out.wait("on")
    with open(path, "w", encoding="ascii") as f:
        f.write("# nothing\n")
    assert p.finish(check=False).json["end"] == "ECONNRESET"
    x.finish()


# --- exit status, arguments ---

def test_exit_status(lab):
    x = Exec(lab)
    assert x.run(["sh", "-c", "exit 7"]).rc == 7
    assert x.run(["sh", "-c", "kill -9 $$"]).rc == 128 + signal.SIGKILL
    r = x.run(["/nonexistent/program"])
    assert r.rc == 127 and r.err.count("\n") == 1, r.err
    assert x.run(["/etc/passwd"]).rc == 126
    x.finish()


def test_what_it_cannot_do_it_says(lab):
    x = Exec(lab)
    for line in (["exec"], ["exec", x.id], ["exec", x.id, "--"],
                 ["exec", "run-1", "--", "true"], ["exec", "--what", x.id],
                 ["exec", "../" + x.id, "true"], ["exec", "", "true"]):
        r = lab.run([lab.egret, *line], egret=False, beside=x.p, check=False)
        assert r.rc == 125 and r.out == "", line
        assert r.err.startswith("egret: ") and r.err.count("\n") == 1, r.err
    r = lab.run([lab.egret, "exec", "--help"], egret=False)
    assert r.rc == 0 and "usage: egret exec" in r.out
    x.finish()
    r = lab.run([lab.egret, "exec", x.id, "true"], egret=False, check=False)
    assert r.rc == 125 and x.id in r.err, r.err


def test_root_does_not_join_a_users(lab):
    """It would keep root's uid, which means nothing in there."""
    if lab.rootless:
        pytest.skip("needs real root")
    x = Exec(lab)
    home = lab.homes["user"]
    run = os.path.join(lab.homes["root"], "run", "egret")
    os.makedirs(run, 0o700, exist_ok=True)
    os.rename(f"{home}/run/egret/{x.id}", f"{run}/{x.id}")
    try:
        r = lab.run([lab.egret, "exec", x.id, "--", "id"], egret=False,
                    who="root", check=False)
    finally:
        os.rename(f"{run}/{x.id}", f"{home}/run/egret/{x.id}")
    assert r.rc == 125 and r.out == "" and r.err.startswith("egret: "), r.err
    x.finish()


def test_environment_and_directory(lab):
    x = Exec(lab)
    show = ["sh", "-c", "echo $EGRET:$A:$B:$HOME; pwd"]
    home = lab.homes["user"]
    r = x.run(show, args=["--env", "A=1"], env={"B": "2"}, cwd=home)
    assert r.out == f"{x.id}:1:2:{home}\n{home}\n"
    r = x.run(show, args=["--clear-env"], env={"B": "2"})
    assert r.out.startswith(f"{x.id}:::{home}\n")
    # A directory that is masked inside: the mask, not what is beneath it.
    r = x.run(["sh", "-c", "pwd; ls"], cwd=home + "/run")
    assert r.out == home + "/run\n", r.out
    gone = f"/run/{lab.tag}-exec"
    os.mkdir(gone, 0o755)
    try:
        assert x.run(["pwd"], cwd=gone).out == "/\n"
    finally:
        os.rmdir(gone)
    x.finish()


# --- descriptors ---

def test_network_socket_as_stdio_is_copied(lab):
    x = Exec(lab)
    with netns.make_socket(lab.host_path, socket.AF_INET,
                           socket.SOCK_STREAM) as s:
        s.connect(("11.0.2.20", ECHO))
        r = x.spawn([lab_module.PYTHON, "-c", """
import json, os, socket, sys
os.write(1, b'through the front')
got = os.read(0, 100).decode()
d = [int(socket.socket(fileno=os.dup(fd)).family) for fd in (0, 1)
     if os.path.realpath(f'/proc/self/fd/{fd}').find('socket') >= 0]
print(json.dumps(dict(got=got, d=d)), file=sys.stderr)
"""], stdin=s, stdout=s)
        r.out = None
        res = r.finish(check=False)
    j = lab_module.json.loads(res.err.strip().splitlines()[-1])
    assert j["got"] == "through the front"
    assert socket.AF_INET not in j["d"], j
    x.p.expected.add_flow("11.0.2.20", "tcp", (ECHO,))
    x.finish()


def test_other_descriptors_are_closed(lab):
    x = Exec(lab)
    r, w = os.pipe()
    res = x.run(["ls", "/proc/self/fd"], pass_fds=[r, w])
    os.close(r)
    os.close(w)
    assert res.out.split() == ["0", "1", "2", "3"], res.out
    x.finish()


# --- ends ---

def wait_end(lab, pids, timeout=5):
    fds = []
    for pid in pids:
        try:
            fds.append(os.pidfd_open(pid))
        except ProcessLookupError:
            pass
    for fd in fds:
        ended = select.select([fd], [], [], timeout)[0]
        os.close(fd)
        assert ended, f"still there: {[lab_module.command_of(p) for p in pids]}"


@ALL
def test_ends_with_the_sandbox(lab, who):
    x = Exec(lab, who=who)
    p = x.spawn(["sh", "-c", "trap '' TERM HUP INT; echo on; sleep 100"])
    p.out.wait("on")
    x.finish()
    r = p.finish(check=False)
    assert r.rc == 128 + signal.SIGKILL
    assert r.err.startswith("egret: the sandbox has ended"), r.err


BACKGROUND = ("(setsid sh -c 'trap \"\" TERM HUP; sleep 100 & sleep 100' "
              "</dev/null >/dev/null 2>&1 &); sleep 100 & echo on; ")


@pytest.mark.parametrize("who, args", WAYS)
@pytest.mark.parametrize("end", ["command ends", "front is killed"])
def test_what_it_started_ends_with_it(lab, who, args, end):
    """Daemons too; and the sandbox's own command is left alone."""
    x = Exec(lab, "import subprocess\nc = subprocess.Popen(['sleep', '99'])\n"
             "out(up=1)\nsys.stdin.readline()\nout(alive=c.poll() is None)\n"
             "c.kill()", who, args=args)
    before = set(lab.tagged())
    p = x.spawn(["sh", "-c", BACKGROUND + "read x; exit 4"])
    p.out.wait("on")
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:      # the daemon makes itself
        started = {z for z in set(lab.tagged()) - before
                   if lab_module.command_of(z) != "sleep 99 "}
        sleeping = [z for z in started
                    if lab_module.command_of(z) == "sleep 100 "]
        if len(sleeping) == 3:
            break
        time.sleep(0.01)
    assert len(sleeping) == 3 and len(started) >= 5
    if end == "command ends":
        p.send(b"x\n")
        assert p.finish(check=False).rc == 4
    else:
        os.kill(p.pid, signal.SIGKILL)
        p.finish(check=False)
    wait_end(lab, started)
    r = x.finish()
    assert r.rc == 0 and r.json["alive"], (r.out, r.err)


@pytest.mark.parametrize("sig", ["TERM", "INT", "HUP", "USR1"])
def test_signals_are_passed_on(lab, sig):
    x = Exec(lab)
    number = int(getattr(signal, "SIG" + sig))
    p = x.spawn([lab_module.PYTHON, "-c", f"""
import os, signal, time
def on(n, f):
    os.write(1, b'got %d' % n)
    os._exit(7)
signal.signal({number}, on)
print('on', flush=True)
while True:
    time.sleep(0.05)
"""])
    p.out.wait("on")
    p.proc.send_signal(number)
    r = p.finish(check=False)
    assert r.rc == 7 and r.out.endswith(f"got {number}")
    x.finish()


def test_many_at_once(lab):
    x = Exec(lab)
    ps = [x.spawn(["sh", "-c", f"echo {i}; exit {i}"]) for i in range(12)]
    assert [p.finish(check=False).rc for p in ps] == list(range(12))
    x.finish()


@pytest.mark.who("user", "root")
def test_terminal(lab, shell, who):  # noqa: F811
    """Ctrl-Z, fg, Ctrl-C as with run."""
    t = shell(who)
    t.send(f"{lab.egret} run -- sleep 1000 & echo id=run-$!.\n")
    ident = t.wait(r"id=(run-\d+)\.").group(1).decode()
    t.send(f"until {lab.egret} exec {ident} true 2>/dev/null; do :; done; "
           f"{lab.egret} exec {ident} -- sh -c 'echo rea''ding; exec cat'\n")
    t.wait("^reading")
    t.send("hello\n")
    t.wait("hello\r\nhello\r\n")
    t.send("\x1a")
    t.wait("Stopped")
    t.wait("PROMPT> ")
    t.send("fg\n")
    t.wait(r"^.*exec cat'\r\n")
    t.send("again\n")
    t.wait("again\r\nagain\r\n")
    t.send("\x03")
    t.wait("PROMPT> ")
    t.send("echo rc=$?.\n")
    assert t.wait(r"rc=(\d+)\.").group(1) == b"130"
    t.send("kill %1; wait %1; echo gone=$?.\n")
    t.wait(r"gone=143\.")


# --- what the sandbox's command can gain ---

WATCH = """
def descriptors(at):        # the numbers alone tell nothing
    for fd in os.listdir(at):
        os.readlink(at + '/' + fd)
        return
    raise OSError(errno.ENOENT, 'none')
def look(pid):
    d = {}
    for what, fn in (('fd', descriptors), ('mem', open), ('environ', open),
                     ('ns/net', os.readlink), ('root', os.readlink)):
        try:
            d[what] = attempt(fn, f'/proc/{pid}/{what}')
        except UnicodeDecodeError:
            d[what] = None
    if libc.ptrace(16, pid, 0, 0) == 0:         # PTRACE_ATTACH
        d['ptrace'] = None
        libc.ptrace(17, pid, 0, 0)
    return d
found, seen, me = [], set(), os.getpid()
out(up=1)
os.set_blocking(0, False)
while not sys.stdin.read(1):
    for pid in os.listdir('/proc'):
        if not pid.isdigit() or int(pid) in (1, me):
            continue
        try:
            comm = open(f'/proc/{pid}/comm').read().strip()
            owner = os.stat(f'/proc/{pid}/environ').st_uid
            d = look(int(pid))
            again = open(f'/proc/{pid}/comm').read().strip()
        except OSError:
            continue
        seen.add(comm)
        # Still ours after the look: so it was while we looked.
        if comm == again == 'egret':
            open_to_us = [k for k, v in d.items() if v is None]
            found.append([owner, open_to_us])
out(seen=sorted(seen), looks=len(found),
    open_to_us=sorted({k for _, ks in found for k in ks}),
    owners=sorted({o for o, _ in found}))
"""


@pytest.mark.parametrize("who, args", WAYS)
def test_its_own_processes_cannot_be_looked_into(lab, who, args):
    """Before the command is executed nothing inside sees into ours."""
    x = Exec(lab, WATCH, who, args=args)
    for _ in range(15):
        assert x.run(["sh", "-c", "sleep 0.1"]).rc == 0
    j = x.finish().json
    assert "sleep" in j["seen"] and j["looks"] > 5, j
    assert j["open_to_us"] == [], j
    if who == "user":       # undumpable: the files belong to the host's root
        assert j["owners"] == [65534], j


def test_a_file_tree_that_root_inside_built(lab):
    """It may mount what it likes over the tree that the command comes to."""
    x = Exec(lab, """
import subprocess
os.makedirs('/tmp/egretlab-m', exist_ok=True)
for at in ('/tmp/egretlab-m', '/proc'):
    subprocess.run(['mount', '-t', 'tmpfs', 'none', at], check=True)
out(up=1)
sys.stdin.readline()
""", args=["--root"])
    p = x.spawn(["sh", "-c", "echo on; sleep 100 & read x; exit 3"])
    p.out.wait("on")
    p.send(b"x\n")
    assert p.finish(check=False).rc == 3
    assert x.finish().rc == 0
    os.rmdir("/tmp/egretlab-m")
