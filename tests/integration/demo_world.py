#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The demonstration of scripts/try --offline: a small internet, and egret.

Everything happens in user, network, mount and pid namespaces of its own, so it
needs no root, no internet and nothing but python3, openssl, curl, iproute2 and
util-linux. Stages, each a process: `outer` makes the namespaces, `inner` is
the host and drives egret, `world` (in a second network namespace) answers DNS
and HTTPS for a few names.
"""
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

NAMES = {"example.org": "11.0.2.10", "docs.example.org": "11.0.2.11"}
DNS = "11.0.2.53"
FIRST, SECOND = NAMES
NOBODY = 65534
# One in root's home couldn't be run after the rights are dropped.
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") \
    else sys.executable
ROOM = 60           # seconds after which a step is given up


class Failed(Exception):
    """A step didn't show what it should."""


# --- world: DNS and HTTPS ---

def answer(query):
    """The answer to one plain DNS query: A records of NAMES, or NXDOMAIN."""
    pos, labels = 12, []
    while query[pos]:
        labels.append(query[pos + 1:pos + 1 + query[pos]].decode("latin-1"))
        pos += 1 + query[pos]
    question = query[12:pos + 5]
    (qtype,) = struct.unpack("!H", query[pos + 1:pos + 3])
    addr = NAMES.get(".".join(labels).lower())
    found = addr is not None and qtype == 1
    head = query[:2] + struct.pack("!HHHHH", 0x8180 | (0 if addr else 3), 1,
                                   found, 0, 0)
    record = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 300, 4) + \
        socket.inet_aton(addr) if found else b""
    return head + question + record


def serve_dns():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((DNS, 53))
    while True:
        query, peer = s.recvfrom(4096)
        try:
            s.sendto(answer(query), peer)
        except (IndexError, struct.error):
            pass        # not a query


def serve_https(name, folder):
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ctx.load_cert_chain(folder + "/srv.pem", folder + "/srv.key")
    s = socket.create_server((NAMES[name], 443))
    body = f"Hello, this is {name}.\n".encode()
    reply = b"HTTP/1.1 200 OK\r\nConnection: close\r\n" \
            b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    while True:
        c, _ = s.accept()
        try:
            c.settimeout(5)
            with ctx.wrap_socket(c, server_side=True) as t:
                t.recv(65536)
                t.sendall(reply)
        except OSError:
            pass        # the client went away


def ip(*args):
    subprocess.run(("ip",) + args, check=True)


def world(folder):
    print("here", flush=True)
    sys.stdin.readline()            # the host has made the link
    ip("link", "set", "lo", "up")
    ip("link", "set", "w0", "up")
    ip("addr", "add", "11.0.1.1/24", "dev", "w0")
    for addr in (DNS, *NAMES.values()):
        ip("addr", "add", addr + "/32", "dev", "lo")
    threading.Thread(target=serve_dns, daemon=True).start()
    for name in NAMES:
        threading.Thread(target=serve_https, args=(name, folder),
                         daemon=True).start()
    for addr in NAMES.values():     # until they listen
        while True:
            try:
                socket.create_connection((addr, 443), 1).close()
                break
            except OSError:
                time.sleep(0.01)
    print("ready", flush=True)
    sys.stdin.readline()            # its end is ours


# --- host: certificates, the link, the show ---

def certificates(folder):
    def openssl(*args):
        subprocess.run(("openssl",) + args, cwd=folder, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem",
            "-subj", "/CN=demo CA")
    openssl("req", "-new", *key, "-keyout", "srv.key", "-out", "srv.csr",
            "-subj", "/CN=demo")
    with open(folder + "/ext", "w", encoding="ascii") as f:
        f.write("subjectAltName=" + ",".join("DNS:" + n for n in NAMES))
    openssl("x509", "-req", "-in", "srv.csr", "-CA", "ca.pem", "-CAkey",
            "ca.key", "-CAcreateserial", "-extfile", "ext", "-out", "srv.pem")


def start_world(folder):
    w = subprocess.Popen(
        ["unshare", "--net", "--", PYTHON, __file__, "--world",
         folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    if w.stdout.readline() != "here\n":
        raise Failed("the demonstration's internet didn't start")
    ip("link", "set", "lo", "up")
    ip("link", "add", "h0", "type", "veth", "peer", "name", "w0", "netns",
       str(w.pid))
    ip("link", "set", "h0", "up")
    ip("addr", "add", "11.0.1.2/24", "dev", "h0")
    ip("route", "add", "default", "via", "11.0.1.1")
    w.stdin.write("\n")
    w.stdin.flush()
    if w.stdout.readline() != "ready\n":
        raise Failed("the demonstration's internet didn't start")
    return w


class Show:
    """Prints the steps; colours only on a terminal that wants them."""

    def __init__(self):
        self.colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") \
            and os.environ.get("TERM") != "dumb"
        self.lock = threading.Lock()

    def line(self, text="", code=None):
        with self.lock:
            if self.colour and code:
                text = f"\033[{code}m{text}\033[0m"
            print(text, flush=True)

    def step(self, text):
        self.line("\n" + text, "1")

    def command(self, text):
        self.line("   $ " + text, "36")

    def output(self, text):
        self.line("   " + text, "33" if text.startswith("egret:") else None)


class Sandbox:
    """One running `egret run -- sh` that is driven through its stdin."""

    # A plain user without capabilities, as outside.
    USER = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--"]

    def __init__(self, egret, folder, show):
        self.show, self.egret, self.folder = show, egret, folder
        self.env = {"PATH": os.environ["PATH"], "HOME": folder,
                    "LANG": "C.UTF-8", "XDG_RUNTIME_DIR": folder,
                    "XDG_CONFIG_HOME": folder, "TERM": "dumb",
                    "CURL_CA_BUNDLE": folder + "/ca.pem"}
        self.p = subprocess.Popen(
            [*self.USER, egret, "run", "--allow", FIRST, "--", "sh"],
            env=self.env, cwd=folder, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            bufsize=1)
        self.seen = threading.Condition()
        self.errors, self.lines, self.done = [], [], 0
        for stream, keep in ((self.p.stdout, self.lines),
                             (self.p.stderr, self.errors)):
            threading.Thread(target=self._read, args=(stream, keep),
                             daemon=True).start()

    def _read(self, stream, keep):
        for text in stream:
            text = text.rstrip("\n")
            with self.seen:
                if text == "-- done --":
                    self.done += 1
                else:
                    keep.append(text)
                    self.show.output(text)
                self.seen.notify_all()

    def wait(self, condition, seconds):
        with self.seen:
            return self.seen.wait_for(condition, seconds)

    def run(self, command):
        """One command line in the sandbox's shell; its new output lines."""
        self.show.command(command)
        first, done = len(self.lines), self.done
        try:
            # Its errors by the other pipe, so that no two writers mix there.
            self.p.stdin.write(command + " 2>&1\necho '-- done --'\n")
        except BrokenPipeError:
            pass        # it ended: seen below, with its last words
        if not self.wait(lambda: self.done > done or self.p.poll()
                         is not None, ROOM) or self.done == done:
            raise Failed("the sandbox ended: " + " ".join(self.errors[-3:]))
        return self.lines[first:]

    def hint(self):
        """The command that the refusal showed."""
        mark = "to allow: egret "
        for x in self.errors:
            if mark in x:
                return x.split(mark)[1].split()
        raise Failed("the refusal doesn't say how to allow it")

    def outside(self, args):
        self.show.command(" ".join(["egret", *args]) + "      # outside")
        r = subprocess.run([*self.USER, self.egret, *args], env=self.env,
                           cwd=self.folder, timeout=ROOM, check=False)
        if r.returncode:
            raise Failed(f"egret {args[0]} failed")

    def finish(self):
        self.p.stdin.close()
        return self.p.wait(ROOM)


def perform(egret, folder):
    show = Show()
    show.line("An internet of two hosts, made for this demonstration: "
              + ", ".join(NAMES))
    show.line(f"What runs: egret run --allow {FIRST} -- sh")
    box = Sandbox(egret, folder, show)
    try:
        show.step("1. A host on the list")
        if not any(FIRST in x for x in box.run(f"curl -sS https://{FIRST}/")):
            raise Failed("the allowed host wasn't reached")

        show.step("2. A host that isn't: refused at once, and explained")
        t = time.monotonic()
        if any("Hello" in x for x in box.run(f"curl -sS https://{SECOND}/")):
            raise Failed("a host that isn't on the list was reached")
        ms = 1000 * (time.monotonic() - t)
        if not box.wait(lambda: any(x.startswith("egret: refused " + SECOND)
                                    for x in box.errors), 3):
            raise Failed("the refusal wasn't reported")
        show.output(f"({ms:.0f} ms)")

        show.step("3. The refusal's own hint, while the command runs")
        box.outside(box.hint())
        if not any(SECOND in x for x in box.run(
                f"curl -sS https://{SECOND}/")):
            raise Failed("the host that was added wasn't reached")
        if box.finish() != 0:
            raise Failed("the exit status isn't the command's")
    finally:
        if box.p.poll() is None:
            box.p.kill()
            box.p.wait()
    show.line("\nAll three as promised. Your own: "
              "egret run --allow HOST -- COMMAND", "32")


def inner(egret, folder):
    certificates(folder)
    with open(folder + "/resolv.conf", "w", encoding="ascii") as f:
        f.write(f"nameserver {DNS}\n")
    subprocess.run(("mount", "--bind", folder + "/resolv.conf",
                    "/etc/resolv.conf"), check=True)
    w = start_world(folder)
    try:
        perform(egret, folder)
        return 0
    except Failed as e:
        print(f"try: {e}", file=sys.stderr)
        return 1
    finally:
        w.stdin.close()
        w.wait(5)


# --- outer ---

def other_user():
    """Root shows it as an ordinary user, too: who that is, or None."""
    uid = int(os.environ.get("SUDO_UID") or NOBODY)
    gid = int(os.environ.get("SUDO_GID") or NOBODY)
    with open("/proc/self/uid_map", encoding="ascii") as f:
        maps = [[int(n) for n in x.split()] for x in f]
    exists = any(first <= uid < first + n for first, _, n in maps)
    return (uid, gid) if os.geteuid() == 0 and exists else None


def outer(egret):
    folder = tempfile.mkdtemp(prefix="egret-try-")
    try:
        script, binary = folder + "/demo_world.py", folder + "/bin/egret"
        os.mkdir(folder + "/bin", 0o755)
        shutil.copy(os.path.abspath(__file__), script)
        shutil.copy(egret, binary)
        os.chmod(binary, 0o755)
        user = other_user()

        def become_user():
            os.setgroups([])
            os.setresgid(user[1], user[1], user[1])
            os.setresuid(user[0], user[0], user[0])
        if user:
            os.chown(folder, *user)
        return subprocess.run(
            ["unshare", "--user", "--map-root-user", "--net", "--mount",
             "--pid", "--fork", "--kill-child", "--mount-proc", "--",
             PYTHON, script, "--inner", binary, folder], cwd=folder,
            preexec_fn=become_user if user else None, check=False).returncode
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--world"]:
        world(sys.argv[2])
    elif sys.argv[1:2] == ["--inner"]:
        sys.exit(inner(sys.argv[2], sys.argv[3]))
    elif len(sys.argv) == 2:
        sys.exit(outer(sys.argv[1]))
    else:
        sys.exit("usage: demo_world.py EGRET")
