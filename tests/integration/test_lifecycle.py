# SPDX-License-Identifier: GPL-2.0-or-later
"""How a run ends: signals, terminals, killed processes (P8)."""
import fcntl
import os
import re
import select
import signal
import socket
import struct
import subprocess
import termios

import pytest

import lab as lab_module
from servers import ECHO, TICK

ALL = pytest.mark.who("user", "root", "unshare-r")
T = "tcp.example.org"
ALLOW = [f"{T}:{ECHO},{TICK}"]
LOOP = f"""
import signal
s = tcp('{T}', {ECHO})
out(up=1)
while True:
    time.sleep(0.05)
"""


# --- killed processes ---

@ALL
def test_killed_gateway_ends_the_run(lab, who):
    code = f"""
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGHUP, signal.SIG_IGN)
s = tcp('{T}', {TICK})
s.recv(9)
out(up=1)
d, e = read_all(s)
out(end=e, new=try_tcp('{T}', {ECHO}, 1)['err'],
    literal=try_tcp('11.0.2.20', {ECHO}, 1)['err'])
time.sleep(60)
"""
    start = len(lab.world.conns)
    p = lab.spawn_py(code, allow=ALLOW, who=who)
    p.out.wait('"up"')
    conn = lab.world.conn("tick", start)
    os.kill(p.gateway(), signal.SIGKILL)
    r = p.finish(timeout=10)
    assert r.rc == 125
    assert re.search(r"^egret: .*gateway", r.err, re.M), r.err
    assert conn.done.wait(5) and conn.end == "reset"
    for line in r.out.splitlines()[1:]:      # if it lived long enough to say
        j = lab_module.json.loads(line)
        assert j["end"] == "ECONNRESET" and j["new"] and j["literal"]


def test_killed_gateway_resets_downloads(lab):
    """A cut download must not look whole: a reset, not an end of file. The
    command dies with the gateway, so its connection is handed out to here."""
    ours, theirs = socket.socketpair()
    fd = theirs.fileno()
    code = f"""
s = tcp('{T}', {TICK})
s.recv(9)
u = socket.socket(fileno={fd})
socket.send_fds(u, [b'x'], [s.fileno()])
time.sleep(60)
"""
    p = lab.spawn_py(code, allow=ALLOW, args=["--keep-fd", str(fd)],
                     pass_fds=[fd])
    theirs.close()
    ours.settimeout(10)
    fds = socket.recv_fds(ours, 1, 1)[1]
    with socket.socket(fileno=fds[0]) as s, ours:
        s.settimeout(10)
        assert s.recv(1)                # it was alive
        os.kill(p.gateway(), signal.SIGKILL)
        with pytest.raises(ConnectionResetError):
            while s.recv(4096):
                pass
            raise AssertionError("an orderly end of file")
    assert p.finish(timeout=10).rc == 125


@ALL
def test_killed_front_ends_everything(lab, who):
    start = len(lab.world.conns)
    p = lab.spawn_py(LOOP, allow=ALLOW, who=who)
    p.out.wait('"up"')
    conn = lab.world.conn("echo", start)
    assert len(lab.tagged()) >= 4
    p.proc.kill()
    assert p.finish().rc == -signal.SIGKILL
    assert lab.wait_gone(5) == []
    assert conn.done.wait(5)
    lab.dirs_may_stay = True        # of the front that couldn't clean up
    assert lab.run(["true"], who=who).rc == 0


def test_killed_init_ends_the_run(lab):
    p = lab.spawn_py(LOOP, allow=ALLOW)
    p.out.wait('"up"')
    inits = [x for x in lab.tagged() if lab.is_egret(x)
             and lab_module.nspid(x)[1:] == ["1"]]
    assert len(inits) == 1
    os.kill(inits[0], signal.SIGKILL)
    r = p.finish(timeout=10)
    assert r.rc in (125, 128 + signal.SIGKILL)


# --- signals ---

@pytest.mark.parametrize("sig", ["TERM", "INT", "HUP", "USR1", "QUIT"])
@pytest.mark.who("user", "root")
def test_signals_are_forwarded(lab, who, sig):
    number = getattr(signal, "SIG" + sig)
    code = f"""
import signal
def on(n, f):
    os.write(1, b'{{"got": %d}}\\n' % n)
    os._exit(7)
signal.signal({int(number)}, on)
out(up=1)
while True:
    time.sleep(0.05)
"""
    p = lab.spawn_py(code, who=who)
    p.out.wait('"up"')
    p.proc.send_signal(number)
    r = p.finish()
    assert r.rc == 7 and r.json["got"] == number


def test_default_action_of_a_signal(lab):
    p = lab.spawn_py(LOOP, allow=ALLOW)
    p.out.wait('"up"')
    p.proc.send_signal(signal.SIGTERM)
    assert p.finish().rc == 128 + signal.SIGTERM


def test_ignored_signals_stay_ignored(lab):
    """nohup's way."""
    r = lab.run(["sh", "-c", "trap '' HUP; exec " + " ".join([
        lab.egret, "run", "--", "grep", "SigIgn", "/proc/self/status"])],
        egret=False)
    assert int(r.out.split()[1], 16) & 1, r.out


@ALL
def test_background_processes_are_ended(lab, who):
    """Also those that made a session of their own; the run doesn't wait."""
    r = lab.run(["sh", "-c", "setsid sleep 100 >/dev/null 2>&1 & "
                 "(sleep 100 >/dev/null 2>&1 &) ; echo done"], who=who,
                timeout=10)
    assert r.rc == 0 and r.out == "done\n"
    assert r.seconds < 8
    assert lab.wait_gone() == []


def test_orphans_are_reaped(lab):
    r = lab.run(["sh", "-c", "for i in 1 2 3 4 5; do (true &) ; done; "
                 "sleep 0.3; grep -c '^State:.Z' /proc/[0-9]*/status"])
    assert not [x for x in r.out.splitlines() if x.endswith(":1")], r.out


# --- a real terminal ---

# What is typed before a command reads may be lost by the shell's line editor.
CAT = "-- sh -c 'echo rea''ding; exec cat'"


class Tty:
    """A shell with job control on a new pseudoterminal, in the host netns."""

    def __init__(self, lab, cmd, who="user", rows=24, cols=80):
        self.master, slave = os.openpty()
        self.resize(rows, cols)

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        env = lab.env(who, {"PS1": "PROMPT> ", "ENV": "", "HISTFILE": ""})
        self.proc = subprocess.Popen(
            lab.enter(who) + cmd, stdin=slave, stdout=slave, stderr=slave,
            env=env, cwd=lab.work(who), preexec_fn=own_terminal)
        if who == "user" and not lab.rootless:
            os.fchown(slave, lab_module.UID, lab_module.UID)
        os.close(slave)
        self.out = PtyStream(self.master)
        self.seen = 0

    def resize(self, rows, cols):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ,
                    struct.pack("HHHH", rows, cols, 0, 0))

    def send(self, text):
        os.write(self.master, text.encode())

    def wait(self, pattern, timeout=10):
        m = self.out.wait(pattern, timeout, self.seen)
        self.seen = m.end()
        return m

    def foreground(self):
        return os.tcgetpgrp(self.master)

    def close(self):
        """Hang up, as a closed terminal window does."""
        self.out.stop()
        os.close(self.master)
        try:
            self.proc.wait(5)
        except subprocess.TimeoutExpired:
            self.proc.kill()
            self.proc.wait(5)


class PtyStream(lab_module.Stream):
    """A pseudoterminal ends with EIO, and we want to be the ones to close."""

    def __init__(self, fd):
        self._stop_r, self._stop_w = os.pipe()
        self._fd = fd
        super().__init__(None)

    def _loop(self):
        d = b"more"
        while d:
            ready = select.select([self._fd, self._stop_r], [], [])[0]
            try:
                d = os.read(self._fd, 1 << 16) if self._fd in ready else b""
            except OSError:
                d = b""
            with self._cond:
                self.data += d
                self.eof = not d
                self._cond.notify_all()

    def stop(self):
        os.write(self._stop_w, b"x")
        self.join(5)
        os.close(self._stop_r)
        os.close(self._stop_w)


@pytest.fixture
def shell(lab):
    made = []

    def make(who="user"):
        t = Tty(lab, ["bash", "--norc", "--noprofile", "-i"], who)
        made.append(t)
        t.wait("PROMPT> ")
        return t
    yield make
    for t in made:
        t.close()


@pytest.mark.who("user", "root")
def test_terminal_job_control(lab, shell, who):
    t = shell(who)
    t.send(f"{lab.egret} run --allow good.example.org {CAT}\n")
    t.wait("^reading")
    t.send("hello\n")
    t.wait("hello\r\nhello\r\n")
    t.send("\x1a")                              # Ctrl-Z
    t.wait("Stopped")
    t.wait("PROMPT> ")
    t.send("echo alive $((40+2))\n")
    t.wait("alive 42")
    t.wait("PROMPT> ")
    t.send("fg\n")
    t.wait(r"^/.*exec cat'\r\n")              # the shell says what it wakes
    t.send("again\n")
    t.wait("again\r\nagain\r\n")
    t.send("\x03")                              # Ctrl-C
    t.wait("PROMPT> ")
    t.send("echo rc=$?\n")
    assert t.wait(r"rc=(\d+)").group(1) == b"130"


def test_terminal_end_of_file_and_foreground(lab, shell):
    t = shell()
    shells_group = t.foreground()
    t.send(f"{lab.egret} run {CAT}; echo rc=$?\n")
    t.wait("^reading")
    t.send("x\n")
    t.wait("x\r\nx\r\n")
    t.send("\x04")                              # Ctrl-D
    assert t.wait(r"rc=(\d+)").group(1) == b"0"
    t.wait("PROMPT> ")
    assert t.foreground() == shells_group


def test_terminal_window_size(lab, shell):
    t = shell()
    t.send(f"{lab.egret} run -- sh -c 'trap \"stty size\" WINCH; "
           "echo is a tty: $(tty <&0 >/dev/null && echo yes); stty size; "
           "while :; do sleep 0.05; done'\n")
    t.wait("is a tty: yes")
    t.wait("24 80")
    t.resize(40, 100)
    t.wait("40 100")
    t.send("\x03")
    t.wait("PROMPT> ")


def test_terminal_background_job_and_kill(lab, shell):
    t = shell()
    t.send(f"{lab.egret} run -- sleep 100 & echo started\n")
    t.wait("started\r\n")
    t.send("kill -TERM $!; wait $!; echo rc=$?\n")
    assert t.wait(r"rc=(\d+)").group(1) == b"143"


def test_terminal_shell_inside(lab, shell):
    """An interactive shell inside gets job control of its own."""
    t = shell()
    t.send(f"PS1='INSIDE> ' {lab.egret} run -- bash --norc --noprofile -i\n")
    t.wait("INSIDE> ")
    assert b"no job control" not in t.out.data
    t.send("sh -c 'echo asl''eep; exec sleep 100'\n")
    t.wait("^asleep")
    t.send("\x1a")
    t.wait("Stopped")
    t.send("exit; exit\n")
    t.wait("PROMPT> ")
