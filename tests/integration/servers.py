# SPDX-License-Identifier: GPL-2.0-or-later
"""The lab's internet: servers in one event loop inside the world's namespace.

Every server notes how each connection went in World.conns, so that a test can
ask what the far end saw (bytes, their hash, end of file or reset).
"""
import asyncio
import hashlib
import json
import os
import socket
import ssl
import struct
import subprocess
import threading

import netns

ECHO, SINK, SOURCE, HALF, RST_DATA, RST, BANNER, TICK, IDLE = range(7000, 7009)
UDP_ECHO = 7100
RESET = struct.pack("ii", 1, 0)
CHUNK = 1 << 16


def stream(n, seed=b"egret"):
    """n reproducible bytes; both ends can make and check them."""
    block = hashlib.shake_256(seed).digest(CHUNK)
    return (block * (n // CHUNK + 1))[:n]


def make_ca(folder):
    """A test CA and one server certificate for all names of the lab."""
    def openssl(*args):
        subprocess.run(("openssl",) + args, check=True, cwd=folder,
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    ec = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl("req", "-x509", *ec, "-keyout", "ca.key", "-out", "ca.pem",
            "-days", "2", "-subj", "/CN=egret test CA")
    openssl("req", "-new", *ec, "-keyout", "srv.key", "-out", "srv.csr",
            "-subj", "/CN=lab")
    names = ["DNS:" + n for n in (
        "example.org", "*.example.org", "*.d.example.org", "*.test",
        "*.cdn.test", "*.b.example.org")] + ["IP:11.0.2.10"]
    with open(os.path.join(folder, "ext"), "w", encoding="ascii") as f:
        f.write("subjectAltName=" + ",".join(names) + "\n")
    openssl("x509", "-req", "-in", "srv.csr", "-CA", "ca.pem", "-CAkey",
            "ca.key", "-CAcreateserial", "-days", "2", "-extfile", "ext",
            "-out", "srv.pem")
    return os.path.join(folder, "ca.pem")


class Conn:
    """One connection as its server saw it."""

    def __init__(self, kind, writer):
        self.kind = kind
        self.writer = writer
        sock = writer.get_extra_info("socket")
        self.local = writer.get_extra_info("sockname")[:2]
        self.peer = writer.get_extra_info("peername")[:2]
        self.sock = sock
        self.received = 0
        self.digest = hashlib.sha256()
        self.end = None          # "eof", "reset" or "closed" (by the server)
        self.done = threading.Event()

    def feed(self, data):
        self.received += len(data)
        self.digest.update(data)

    def reset(self):
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.writer.transport.abort()


class World:
    """Owner of the event loop thread and of everything that listens."""

    def __init__(self, ns_path, folder):
        self.ns_path = ns_path
        self.folder = folder
        self.conns = []
        self.accepted = threading.Condition()
        self.requests = []       # of the web servers
        self.datagrams = []      # (server, client, bytes)
        self._servers = []
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._main, args=(ready,),
                                        daemon=True)
        self._thread.start()
        ready.wait()
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(os.path.join(folder, "srv.pem"),
                                 os.path.join(folder, "srv.key"))
        self.tls.sni_callback = self._note_sni

    def _main(self, ready):
        netns.setns(self.ns_path)
        asyncio.set_event_loop(self.loop)
        self.loop.call_soon(ready.set)
        self.loop.run_forever()

    def do(self, coro, timeout=10):
        return asyncio.run_coroutine_threadsafe(coro, self.loop).result(timeout)

    def call(self, fn, *args):
        async def wrap():
            return fn(*args)
        return self.do(wrap())

    def conn(self, kind, start=0, local=None, timeout=5):
        """The newest connection of a kind. The kernel completes a handshake
        before the server hears of it, so this waits."""
        def found():
            return [c for c in self.conns[start:] if c.kind == kind
                    and local in (None, c.local[0])]
        with self.accepted:
            assert self.accepted.wait_for(found, timeout), "not accepted"
            return found()[-1]

    # --- listeners ---

    @staticmethod
    def _bound(addr, port, kind):
        family = socket.AF_INET6 if ":" in addr else socket.AF_INET
        s = socket.socket(family, kind)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        s.setsockopt(socket.IPPROTO_IP, 15, 1)      # IP_FREEBIND
        s.bind((addr, port))
        s.setblocking(False)
        return s

    async def _listen(self, addr, port, handler, tls):
        s = self._bound(addr, port, socket.SOCK_STREAM)
        self._servers.append(await asyncio.start_server(
            handler, sock=s, ssl=tls, backlog=1024, limit=1 << 20))

    def tcp(self, addr, port, kind, tls=False):
        method = getattr(self, "_serve_" + kind)

        async def handler(reader, writer):
            c = Conn(kind, writer)
            with self.accepted:
                self.conns.append(c)
                self.accepted.notify_all()
            try:
                await method(c, reader, writer)
                c.end = c.end or "closed"
            except (ConnectionResetError, BrokenPipeError):
                c.end = "reset"
            except (ssl.SSLError, asyncio.IncompleteReadError):
                c.end = "eof"
            finally:
                writer.close()
                c.done.set()

        self.do(self._listen(addr, port, handler,
                             self.tls if tls else None))

    def raw_tcp(self, addr, port, handler):
        self.do(self._listen(addr, port, handler, None))

    async def _udp(self, addr, port, factory):
        s = self._bound(addr, port, socket.SOCK_DGRAM)
        t, _ = await self.loop.create_datagram_endpoint(factory, sock=s)
        self._servers.append(t)

    def udp(self, addr, port, factory):
        self.do(self._udp(addr, port, factory))

    def udp_echo(self, addr, port):
        outer = self

        class Proto(asyncio.DatagramProtocol):
            def connection_made(self, transport):
                self.transport = transport

            def datagram_received(self, data, peer):
                outer.datagrams.append(((addr, port), peer[:2], data))
                self.transport.sendto(data, peer)

        self.udp(addr, port, Proto)

    # --- behaviours ---

    @staticmethod
    async def _read_all(c, reader):
        while True:
            data = await reader.read(CHUNK)
            if not data:
                c.end = "eof"
                return
            c.feed(data)

    async def _serve_echo(self, c, reader, writer):
        while True:
            data = await reader.read(CHUNK)
            if not data:
                c.end = "eof"
                return
            c.feed(data)
            writer.write(data)
            await writer.drain()

    async def _serve_sink(self, c, reader, writer):
        """Reads to the end of file, then answers: client half-closes."""
        await self._read_all(c, reader)
        writer.write(f"{c.received} {c.digest.hexdigest()}\n".encode())
        await writer.drain()

    async def _serve_source(self, c, reader, writer):
        n = int(await reader.readline())
        writer.write(stream(n))
        await writer.drain()

    async def _serve_half(self, c, reader, writer):
        """Sends, half-closes, and goes on reading: server half-closes."""
        writer.write(b"first\n")
        writer.write_eof()
        await self._read_all(c, reader)

    async def _serve_rst_data(self, c, reader, writer):
        writer.write(stream(1000))
        await writer.drain()
        c.feed(await reader.readexactly(1))
        c.reset()

    async def _serve_rst(self, c, reader, writer):
        c.reset()

    async def _serve_banner(self, c, reader, writer):
        writer.write(b"SSH-2.0-egretlab_1.0\r\n")
        await writer.drain()
        while line := await reader.readline():
            c.feed(line)
            writer.write(b"got " + line)
            await writer.drain()
        c.end = "eof"

    async def _serve_tick(self, c, reader, writer):
        """A line every 20 ms until the far end goes."""
        reading = asyncio.ensure_future(self._read_all(c, reader))
        i = 0
        while not reading.done():
            writer.write(b"%08d\n" % i)
            await writer.drain()
            i += 1
            await asyncio.wait((reading,), timeout=0.02)
        await reading

    async def _serve_idle(self, c, reader, writer):
        """Accepts and waits."""
        await self._read_all(c, reader)

    # --- HTTP and HTTPS ---

    @staticmethod
    def _note_sni(obj, name, _ctx):
        obj.lab_sni = name

    async def _serve_web(self, c, reader, writer):
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            method, path, _ = lines[0].split(" ", 2)
            hdr = {k.strip().lower(): v.strip() for k, _, v in
                   (x.partition(":") for x in lines[1:] if x)}
            body = await reader.readexactly(int(hdr.get("content-length", 0)))
            obj = writer.get_extra_info("ssl_object")
            req = {"host": hdr.get("host"), "path": path, "method": method,
                   "sni": getattr(obj, "lab_sni", None), "tls": bool(obj),
                   "local": c.local[0], "peer": c.peer[0],
                   "body": hashlib.sha256(body).hexdigest()}
            self.requests.append(req)
            if path.startswith("/bytes/"):
                out = stream(int(path[7:]))
            elif path.startswith("/slow/"):
                await self._trickle(writer, int(path[6:]))
                return
            else:
                out = (json.dumps(req) + "\n").encode()
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
                         % len(out) + out)
            await writer.drain()

    @staticmethod
    async def _trickle(writer, lines):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
                     % (9 * lines))
        for i in range(lines):
            writer.write(b"%08d\n" % i)
            await writer.drain()
            await asyncio.sleep(0.02)

    # --- end ---

    async def _shutdown(self):
        for s in self._servers:
            s.close()
        for c in self.conns:
            if not c.done.is_set():
                c.writer.transport.abort()
        for t in asyncio.all_tasks():
            if t is not asyncio.current_task():
                t.cancel()

    def close(self):
        self.do(self._shutdown())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)
