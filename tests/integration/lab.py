# SPDX-License-Identifier: GPL-2.0-or-later
"""A small internet in network namespaces, and egret run inside it.

    pytest's own netns          host                        world
      Capture, DNS, servers  .. h0 11.0.1.2 ---veth--- w0 11.0.1.1   11.0.0.0/8
      (sockets made there)      h1 192.168.77.1 -veth- w1 192.168.77.5 and
                                                          169.254.169.254

There is no uplink. Every address of 11.0.0.0/8 and 2a0e:b107:2::/48 is the
world's: a port that nobody listens on answers with a reset. 11.0.9.0/24 and
2a0e:b107:9::/48 are silent, 11.0.8.0/24 and 2a0e:b107:8::/48 unreachable.

Egret runs in `host`, with a mount namespace of its own in which resolv.conf
and hosts are the lab's, as `user` (uid 1000), `root`, or `unshare-r`. Where
the lab itself was built in a user namespace (run-rootless), `user` is a nested
user namespace without capabilities and `root` the lab's own root.
"""
import dataclasses
import ipaddress
import json
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time

import capture
import dnsd
import netns
import servers

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PYTHON = "/usr/bin/python3"
DNS4, DNS6, OTHER_DNS = "11.0.2.53", "2a0e:b107:2::53", "11.0.2.99"
MARKER = "11.255.255.1"
UID = 1000
# Root's run wants /etc/egret: there is one in a read-only overlay.
SETUP = ('if [ -n "$3" ]; then mount -t overlay -o "lowerdir=$3:/etc" overlay '
         '/etc || exit 1; fi; '
         'mount --bind "$1" /etc/resolv.conf && mount --bind "$2" /etc/hosts '
         '&& shift 3 && exec "$@"')

REFUSED = re.compile(
    r"^egret: refused (?P<what>\S+?)(?:/(?P<proto>tcp|udp|icmp))?"
    r"(?: \(DNS (?P<qtype>[A-Z0-9]+)\))?(?: \[(?P<addr>[0-9a-f.:]+)\])?"
    r"(?: by (?P<comm>[^\n]*?)\((?P<pid>\d+)\))?: (?P<why>.*?)"
    r"(?:; to allow: (?P<hint>egret allow (?P<id>\S+) (?P<entry>.+?)))?"
    r"(?: \((?P<count>\d+) times?\))?$")


def in_userns():
    """Is this lab inside a user namespace (root here is a user outside)?"""
    with open("/proc/self/uid_map", encoding="ascii") as f:
        return f.read().split() != ["0", "0", "4294967295"]


def runners():
    return ("user", "root") if in_userns() else ("user", "root", "unshare-r")


@dataclasses.dataclass
class Result:
    rc: int
    stdout: bytes
    err: str
    refused: list
    events: list
    dns: list
    packets: list
    seconds: float

    @property
    def out(self):
        return self.stdout.decode("utf-8", "replace")

    @property
    def json(self):
        """The last line of stdout as JSON."""
        lines = self.out.strip().splitlines()
        assert lines, f"no output; rc {self.rc}, stderr: {self.err}"
        return json.loads(lines[-1])

    def lines(self, what):
        return [r for r in self.refused if r["what"] == what
                or r["what"].startswith(what + ":")]


def parse_refused(text):
    return [m.groupdict() for m in map(REFUSED.match, text.splitlines()) if m]


class Stream:
    """Collects one output of a process; tests wait for patterns in it."""

    def __init__(self, pipe):
        self.data = b""
        self.eof = False
        self._pipe = pipe
        self._cond = threading.Condition()
        self._thread = threading.Thread(target=self._loop, daemon=True)
        self._thread.start()

    def _loop(self):
        while True:
            d = os.read(self._pipe.fileno(), 1 << 16)
            with self._cond:
                if d:
                    self.data += d
                else:
                    self.eof = True
                self._cond.notify_all()
            if not d:
                return

    def wait(self, pattern, timeout=10, start=0):
        """The match object, once the pattern is there."""
        rx = re.compile(pattern.encode(), re.M)
        with self._cond:
            self._cond.wait_for(
                lambda: rx.search(self.data, start) or self.eof, timeout)
            m = rx.search(self.data, start)
        if not m:
            raise AssertionError(f"no {pattern!r} within {timeout} s in "
                                 f"{self.data[-3000:]!r}")
        return m

    def join(self, timeout):
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def close(self):
        if self.join(1):
            self._pipe.close()


class Running:
    """An egret that was started; finish() gives the Result."""

    def __init__(self, lab, proc, expected, events_path, marks, who):
        self.lab, self.proc, self.expected = lab, proc, expected
        self.events_path, self.who = events_path, who
        self.t0 = time.monotonic()
        self._dns0, self._pkt0 = marks
        self.out = Stream(proc.stdout) if proc.stdout else None
        self.err = Stream(proc.stderr) if proc.stderr else None
        self.result = None

    @property
    def pid(self):
        return self.proc.pid

    def send(self, data):
        self.proc.stdin.write(data)
        self.proc.stdin.flush()

    def events(self):
        try:
            with open(self.events_path, encoding="utf-8") as f:
                return [json.loads(x) for x in f.read().splitlines()]
        except FileNotFoundError:
            return []

    def wait_event(self, match, timeout=5):
        """Poll the events file; there is nothing to wait on but the file."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            for e in self.events():
                if match(e):
                    return e
            time.sleep(0.005)
        raise AssertionError(f"no such event in {self.events()}")

    def gateway(self):
        """Pid of the gateway: egret's, not the front, in our pid namespace."""
        for pid in self.lab.tagged():
            if pid != self.pid and self.lab.is_egret(pid) \
                    and len(nspid(pid)) == 1:
                return pid
        raise AssertionError("there is no gateway process")

    def finish(self, timeout=20, check=True):
        if self.result:
            return self.result
        if self.proc.stdin and not self.proc.stdin.closed:
            try:
                self.proc.stdin.close()
            except BrokenPipeError:
                pass
        timed_out = False
        try:
            rc = self.proc.wait(timeout)
        except subprocess.TimeoutExpired:
            timed_out, rc = True, None
            self.lab.kill_tagged()
            self.proc.wait(5)
        seconds = time.monotonic() - self.t0
        for s in (self.out, self.err):
            if s:
                s.close()
        out = self.out.data if self.out else b""
        err = (self.err.data if self.err else b"").decode("utf-8", "replace")
        if timed_out:
            raise AssertionError(f"not finished within {timeout} s\n"
                                 f"stdout: {out[-2000:]!r}\nstderr: {err}")
        end = self.lab.capture.sync()
        self.result = Result(
            rc, out, err, parse_refused(err), self.events(),
            self.lab.dns.log[self._dns0:], self.lab.capture.packets[
                self._pkt0:end], seconds)
        self.lab.running.discard(self)
        if check:
            self.lab.check(self.result, self.expected)
        return self.result


def nspid(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8",
                  errors="replace") as f:
            for line in f:
                if line.startswith("NSpid:"):
                    return line.split()[1:]
    except OSError:
        pass
    return []


def is_public(addr):
    a = ipaddress.ip_address(addr)
    nets = ("11.0.0.0/8",) if a.version == 4 else ("2a0e:b107::/32",)
    return str(a) not in ("11.0.1.2", "2a0e:b107:1::2") and any(
        a in ipaddress.ip_network(n) for n in nets)


def default_ports(spec):
    if not spec:
        return (443, 80)
    if spec == "*":
        return (None,)
    ports = []
    for part in spec.split(","):
        lo, _, hi = part.partition("-")
        ports += range(int(lo), int(hi or lo) + 1)
    return tuple(ports)


class Lab:
    def __init__(self):
        self.tag = f"egretlab{os.getpid()}"
        self.host, self.world_ns = self.tag + "h", self.tag + "w"
        self.host_path = "/run/netns/" + self.host
        self.world_path = "/run/netns/" + self.world_ns
        self.running = set()
        self.dirs_may_stay = False      # a test that kills the front says so
        self.rootless = in_userns()
        self.dir = tempfile.mkdtemp(prefix="egretlab-", dir="/tmp")
        os.chmod(self.dir, 0o755)
        self._undo = [lambda: shutil.rmtree(self.dir, ignore_errors=True)]
        remove_stale()
        try:
            self._files()
            self._links()
            self._world()
        except BaseException:
            self.close()
            raise

    # --- set-up ---

    def _files(self):
        self.bin = os.path.join(self.dir, "bin")
        os.mkdir(self.bin)
        shutil.copy(os.path.join(HERE, "inside.py"), self.bin)
        built = os.environ.get("EGRET_BIN", os.path.join(ROOT, "build/egret"))
        self.egret = None
        if os.path.exists(built):
            self.egret = os.path.join(self.bin, "egret")
            shutil.copy(built, self.egret)
            os.chmod(self.egret, 0o755)
        self.homes = {}
        for who in ("user", "root"):
            uid = UID if who == "user" and not self.rootless else 0
            home = os.path.join(self.dir, who)
            for sub in ("", "run", "config", "work"):
                path = os.path.join(home, sub)
                os.mkdir(path, 0o700)
                os.chown(path, uid, uid)
            self.homes[who] = home
        self.tls_dir = os.path.join(self.dir, "tls")
        os.mkdir(self.tls_dir)
        self.ca = servers.make_ca(self.tls_dir)
        self.resolv = self._etc("resolv.conf", f"nameserver {DNS4}\n")
        self.hosts = self._etc("hosts", "127.0.0.1 localhost\n"
                               "11.0.2.12 inhosts.example.org\n")

        self.etc = "" if os.path.isdir("/etc/egret") else self.dir + "/etc"
        if self.etc:
            os.makedirs(self.etc + "/egret")

    def _etc(self, name, text):
        path = os.path.join(self.dir, name)
        with open(path, "w", encoding="ascii") as f:
            f.write(text)
        return path

    def _links(self):
        sh = netns.sh
        for ns in (self.host, self.world_ns):
            sh("ip", "netns", "add", ns)
            self._undo.append(lambda ns=ns: sh("ip", "netns", "del", ns))
            for key, val in (("net.ipv6.conf.all.accept_dad", 0),
                             ("net.ipv6.conf.default.accept_dad", 0)):
                self._sysctl(ns, key, val)
            sh("ip", "-n", ns, "link", "set", "lo", "up")
        for h, w in (("h0", "w0"), ("h1", "w1")):
            sh("ip", "-n", self.host, "link", "add", h, "type", "veth",
               "peer", "name", w, "netns", self.world_ns)
        self._batch(self.host, """
            link set h0 up
            link set h1 up
            addr add 11.0.1.2/24 dev h0
            addr add 2a0e:b107:1::2/64 dev h0 nodad
            addr add 192.168.77.1/24 dev h1
        """)
        self._batch(self.world_ns, """
            link set w0 up
            link set w1 up
            addr add 11.0.1.1/24 dev w0
            addr add 2a0e:b107:1::1/64 dev w0 nodad
            addr add 192.168.77.5/24 dev w1
            addr add 192.168.77.53/24 dev w1
            addr add 169.254.169.254/32 dev w1
            route add local 11.0.0.0/8 dev lo
            route add local 10.1.0.0/16 dev lo
            route add local 100.64.0.0/16 dev lo
            route add blackhole 11.0.9.0/24 table local
            route add unreachable 11.0.8.0/24 table local
            route add blackhole 11.255.255.0/24 table local
            route add local 2a0e:b107:2::/48 dev lo
            route add local fd00:77::/48 dev lo
            route add blackhole 2a0e:b107:9::/48
            route add unreachable 2a0e:b107:8::/48
        """)
        self._batch(self.host, """
            route add default via 11.0.1.1
            route add default via 2a0e:b107:1::1
            route add 169.254.169.254 dev h1
        """)
        for key, val in (("net.ipv4.ip_forward", 1),
                         ("net.ipv6.conf.all.forwarding", 1),
                         ("net.ipv4.icmp_ratelimit", 0),
                         ("net.ipv6.icmp.ratelimit", 0),
                         ("net.ipv4.icmp_msgs_per_sec", 100000),
                         ("net.ipv4.conf.all.rp_filter", 0),
                         ("net.core.somaxconn", 4096),
                         ("net.ipv4.tcp_max_syn_backlog", 4096)):
            self._sysctl(self.world_ns, key, val)

    @staticmethod
    def _batch(ns, text):
        p = subprocess.run(("ip", "-n", ns, "-b", "-"), input="\n".join(
            x.strip() for x in text.strip().splitlines()) + "\n", text=True,
            capture_output=True, check=False)
        if p.returncode:
            raise RuntimeError(p.stderr + text)

    @staticmethod
    def _sysctl(ns, key, val):
        def write():
            path = "/proc/sys/" + key.replace(".", "/")
            try:
                with open(path, "w", encoding="ascii") as f:
                    f.write(str(val))
            except (FileNotFoundError, PermissionError):
                pass    # not every kernel has all of them per namespace
        netns.call("/run/netns/" + ns, write)

    def _world(self):
        w = self.world = servers.World(self.world_path, self.tls_dir)
        self._undo.append(w.close)
        d = self.dns = dnsd.DnsServer()
        for a in (DNS4, DNS6, OTHER_DNS, "192.168.77.53"):
            w.udp(a, 53, d.udp_protocol(a))
            w.raw_tcp(a, 53, d.tcp_handler(a))
        for n in (10, 11, 12, 13, 14):
            for a in (f"11.0.2.{n}", f"2a0e:b107:2::{n}"):
                w.tcp(a, 80, "web")
                w.tcp(a, 443, "web", tls=True)
        w.tcp("11.0.2.10", 8443, "web", tls=True)
        kinds = ("echo", "sink", "source", "half", "rst_data", "rst",
                 "banner", "tick", "idle")
        for i, kind in enumerate(kinds):
            for a in ("11.0.2.20", "11.0.2.21", "11.0.2.30",
                      "2a0e:b107:2::20"):
                w.tcp(a, 7000 + i, kind)
        for a in ("192.168.77.5", "169.254.169.254", "10.1.2.3",
                  "100.64.0.1", "fd00:77::5"):
            w.tcp(a, 80, "web")
            w.tcp(a, servers.ECHO, "echo")
        for a in ("11.0.2.20", "11.0.2.21", "2a0e:b107:2::20",
                  "192.168.77.5"):
            w.udp_echo(a, servers.UDP_ECHO)
        self._zone()
        self.capture = capture.Capture(self.world_path, self.host_path,
                                       ("w0", "w1"), MARKER)
        self._undo.append(self.capture.close)

    def _zone(self):
        d = self.dns
        for name, n in (("good.example.org", 10), ("evil.example.org", 10),
                        ("two.example.org", 11), ("three.example.org", 13),
                        ("other.test", 14), ("a.d.example.org", 11),
                        ("d.example.org", 13), ("tcp.example.org", 20),
                        ("tcp2.example.org", 21), ("no.example.org", 30)):
            d.add(name, A=f"11.0.2.{n}")
        d.add("six.example.org", AAAA="2a0e:b107:2::10")
        d.add("six-tcp.example.org", AAAA="2a0e:b107:2::20")
        d.add("both.example.org", A="11.0.2.10", AAAA="2a0e:b107:2::10")
        d.add("evil6.example.org", AAAA="2a0e:b107:2::14")
        d.add("dark.example.org", A="11.0.9.9")
        d.add("unreach.example.org", A="11.0.8.8")
        d.add("www.chain.test", CNAME="x.cdn.test.")
        d.add("x.cdn.test", CNAME="y.cdn.test.")
        d.add("y.cdn.test", A="11.0.2.11")
        d.save()

    # --- processes ---

    def env(self, who, extra=None):
        home = self.homes["root" if who == "root" else "user"]
        e = {"PATH": self.bin + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
             "HOME": home, "XDG_RUNTIME_DIR": home + "/run",
             "XDG_CONFIG_HOME": home + "/config", "LANG": "C.UTF-8",
             "TERM": "dumb", "CURL_CA_BUNDLE": self.ca, "EGRETLAB": self.tag,
             "PYTHONPATH": self.bin, "PYTHONDONTWRITEBYTECODE": "1",
             "SHELL": "/bin/sh"}
        if os.environ.get("ASAN_OPTIONS"):
            e["ASAN_OPTIONS"] = os.environ["ASAN_OPTIONS"]
        e.update(extra or {})
        return e

    def work(self, who="user"):
        return self.homes["root" if who == "root" else "user"] + "/work"

    def enter(self, who, etc=True, beside=None):
        """The prefix of a command line that runs it in the host netns.

        With beside, a Running, it is in the user namespace of that one's front.
        """
        own = [] if not beside else ["nsenter", "--user", "--preserve-cred",
                                     "-t", str(beside.pid), "--"]
        cmd = ["nsenter", "--net=" + self.host_path, "--", "unshare",
               "--mount", "--propagation", "private", "--", "sh", "-c", SETUP,
               "sh", self.resolv, self.hosts,
               self.etc if who == "root" and etc else ""]
        if who == "root":
            return cmd
        if self.rootless:
            return cmd + (own or ["unshare", "-U", f"--map-user={UID}",
                                  f"--map-group={UID}", "--"])
        cmd += ["setpriv", "--reuid", str(UID), "--regid", str(UID),
                "--clear-groups", "--inh-caps=-all", "--"]
        if who == "unshare-r":
            cmd += own or ["unshare", "-r", "--"]
        return cmd

    def write(self, name, text, who="user"):
        """A file in the user's work directory; its path."""
        path = os.path.join(self.work(who), name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        if who != "root" and not self.rootless:
            os.chown(path, UID, UID)
        return path

    def expected(self, allow=(), flows=()):
        x = capture.Expected({DNS4})
        for entry in allow:
            words = entry.split() or [""]
            self._expect_entry(x, words[0], "private" in words)
        for addr, proto, port in flows:
            x.add_flow(addr, proto, (port,))
        return x

    def _expect_entry(self, x, e, private):
        if not e or e[0] in "!@#":
            return
        if e == "*":
            x.anything = True
            return
        e = re.sub(r"^https?://([^/]*).*", r"\1", e)
        proto = "udp" if e.endswith("/udp") else "tcp"
        e = re.sub(r"/(udp|tcp|icmp)$", "", e)
        m = re.match(r"^\[([0-9a-f:/]+)\](?::(.*))?$", e, re.I) or \
            re.match(r"^([0-9a-f]*:[0-9a-f:]*(?:/\d+)?)()$", e, re.I) or \
            re.match(r"^([^:]*)(?::(.*))?$", e)
        host, ports = m.group(1), default_ports(m.group(2))
        try:
            x.add_net(ipaddress.ip_network(host, strict=False), proto, ports)
        except ValueError:
            x.add_name(host.lower().rstrip("."), proto, ports, self.dns,
                       None if private else is_public)

    def spawn(self, cmd, allow=(), args=(), who="user", stdin=None, env=None,
              allowlist=None, flows=(), cwd=None, pass_fds=(), stdout=None,
              stderr=None, events=True, egret=True, etc=True, beside=None,
              **kw):
        """Start egret run (or with egret=False cmd itself) and come back."""
        if egret and not self.egret:
            raise RuntimeError("there is no egret binary")
        path = os.path.join(self.work(who), f"events-{time.monotonic_ns()}")
        line = self.enter(who, etc, beside)
        if egret:
            line += [self.egret, "run"]
            line += ["--events", path] if events else []
            for a in allow:
                line += ["--allow", a]
            line += ["--allowlist", allowlist] if allowlist else []
            line += list(args) + ["--"]
        listed = list(allow)
        if allowlist and os.path.exists(allowlist):
            with open(allowlist, encoding="utf-8", errors="replace") as f:
                listed += [x.split("#")[0].strip() for x in f]
        marks = len(self.dns.log), self.capture.sync()
        p = subprocess.Popen(
            line + list(cmd), env=self.env(who, env),
            cwd=cwd or self.work(who), pass_fds=pass_fds,
            stdin=subprocess.PIPE if stdin is None else stdin,
            stdout=subprocess.PIPE if stdout is None else stdout,
            stderr=subprocess.PIPE if stderr is None else stderr, **kw)
        r = Running(self, p, self.expected(listed, flows), path, marks, who)
        self.running.add(r)
        return r

    def run(self, cmd, input=None, timeout=20, check=True, **kw):
        kw.setdefault("stdin", subprocess.DEVNULL if input is None else None)
        r = self.spawn(cmd, **kw)
        if input is not None:
            threading.Thread(target=feed, args=(r, input),
                             daemon=True).start()
        return r.finish(timeout, check)

    def py(self, code, *argv, **kw):
        """Run a Python program inside; it starts with `from inside import *`."""
        return self.run([PYTHON, "-c", "from inside import *\n" + code,
                         *map(str, argv)], **kw)

    def spawn_py(self, code, *argv, **kw):
        return self.spawn([PYTHON, "-c", "from inside import *\n" + code,
                           *map(str, argv)], **kw)

    def direct(self, cmd, **kw):
        """The control: the same command without egret."""
        kw.setdefault("check", False)
        return self.run(cmd, egret=False, **kw)

    def ctl(self, *args, who="user", timeout=10, input=None):
        """Another egret subcommand as the same user; CompletedProcess."""
        return subprocess.run(self.enter(who) + [self.egret, *args],
                              env=self.env(who), cwd=self.work(who),
                              capture_output=True, text=True, input=input,
                              timeout=timeout, check=False)

    # --- checks ---

    def check(self, result, expected):
        """No packet and no query but those that the allowlist explains."""
        bad = [str(p) for p in result.packets if not expected.explains(p)]
        assert not bad, "unexpected packets left the host:\n" + "\n".join(
            bad[:20])
        if not expected.anything:
            bad = [q for q in result.dns if not expected.allows_name(q.name)]
            assert not bad, f"names that aren't allowed left the host: {bad}"

    def tagged(self):
        """Every process that descends from something the lab started."""
        want = f"EGRETLAB={self.tag}".encode()
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            if int(pid) == os.getpid():
                continue
            try:
                with open(f"/proc/{pid}/environ", "rb") as f:
                    if want in f.read().split(b"\0"):
                        found.append(int(pid))
            except PermissionError:
                # Undumpable and rootless: its memory is closed to us, but the
                # binary is a copy that only this lab has.
                if self.is_egret(pid):
                    found.append(int(pid))
            except OSError:
                continue
        return found

    def is_egret(self, pid):
        try:
            exe = os.readlink(f"/proc/{pid}/exe")
        except OSError:
            return False
        return exe.split(" ")[0] == self.egret

    def kill_tagged(self):
        for pid in self.tagged():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def wait_gone(self, timeout=3):
        """Wait for the end of all our processes; those that didn't end."""
        end = time.monotonic() + timeout
        left = []
        for pid in self.tagged():
            try:
                fd = os.pidfd_open(pid)
            except ProcessLookupError:
                continue
            ms = max(0, int(1000 * (end - time.monotonic())))
            if not select.select([fd], [], [], ms / 1000)[0]:
                left.append(pid)
            os.close(fd)
        return left

    def check_leaks(self):
        """No process and no runtime directory outlives its run."""
        may_stay, self.dirs_may_stay = self.dirs_may_stay, False
        for r in list(self.running):    # of a test that failed half-way
            may_stay = True
            r.proc.kill()
            r.proc.wait(5)
            self.running.discard(r)
        left = [(p, command_of(p)) for p in self.wait_gone()]
        self.kill_tagged()
        dirs = []
        for who in ("user", "root"):
            path = os.path.join(self.homes[who], "run", "egret")
            if os.path.isdir(path):
                dirs += [x for x in os.listdir(path) if os.path.isdir(
                    os.path.join(path, x))]
                shutil.rmtree(path)
        assert not left, f"processes left: {left}"
        assert may_stay or not dirs, f"runtime directories left: {dirs}"

    def close(self):
        if hasattr(self, "capture"):
            for r in list(self.running):
                r.proc.kill()
                r.proc.wait(5)
            self.kill_tagged()
        errors = []
        for fn in reversed(self._undo):
            try:
                fn()
            except Exception as e:      # the rest must be undone, too
                errors.append(e)
        self._undo = []
        assert not errors, errors
        assert self.tag not in netns.sh("ip", "netns", "list"), "netns left"


def remove_stale():
    """Namespaces of labs that were killed; their names tell whose they are."""
    for line in netns.sh("ip", "netns", "list").splitlines():
        m = re.match(r"egretlab(\d+)[hw]\b", line)
        if m and not os.path.exists("/proc/" + m.group(1)):
            netns.sh("ip", "netns", "del", m.group(0))


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            return f.read().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return "?"


def feed(running, data):
    """stdin from a thread, so that a command that reads late can't block."""
    try:
        running.proc.stdin.write(data)
        running.proc.stdin.close()
    except (BrokenPipeError, ValueError):
        pass
