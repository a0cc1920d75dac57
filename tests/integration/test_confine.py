# SPDX-License-Identifier: GPL-2.0-or-later
"""The ways round the network that aren't packets."""
import fcntl
import os
import socket
import threading

import pytest

import lab as lab_module
import netns
import servers

ALL = pytest.mark.who("user", "root", "unshare-r")
BOTH = pytest.mark.parametrize("root", [(), ("--root",)],
                               ids=["as-user", "root-inside"])
REACH = """
def reach(path):
    def go():
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(2)
            s.connect(path)
            assert s.recv(3) == b'hi\\n'
    try:
        return attempt(go)
    except AssertionError:
        return 'mute'
"""


class Greeter:
    """A listening AF_UNIX socket of the host that says hi."""

    def __init__(self, lab, path):
        self.path = path
        self.s = netns.make_socket(lab.host_path, socket.AF_UNIX,
                                   socket.SOCK_STREAM)
        self.s.bind(path)
        if path[0] != "\0":
            os.chmod(path, 0o777)
        self.s.listen(16)
        self.greeted = 0
        threading.Thread(target=self._loop, daemon=True).start()

    def _loop(self):
        while True:
            try:
                c, _ = self.s.accept()
            except OSError:
                return
            self.greeted += 1
            with c:
                c.sendall(b"hi\n")

    def close(self):
        self.s.shutdown(socket.SHUT_RDWR)
        self.s.close()
        if self.path[0] != "\0":
            os.unlink(self.path)


@pytest.fixture
def greeters(lab):
    made = []

    def make(path):
        made.append(Greeter(lab, path))
        return made[-1]
    yield make
    for g in made:
        g.close()


# --- Unix sockets ---

@ALL
@BOTH
def test_path_and_abstract_sockets(lab, greeters, who, root):
    paths = ["/run/" + lab.tag + ".sock", lab.work(who) + "/listening.sock",
             f"/tmp/{lab.tag}.sock"]
    abstract = "\0" + lab.tag
    gs = [greeters(p) for p in paths + [abstract]]
    code = REACH + """
own = socket.socket(socket.AF_UNIX)
own.bind('\\0own')
own.listen()
c = socket.socket(socket.AF_UNIX)
out(res={p: reach(p) for p in sys.argv[1:]},
    abstract=reach('\\0' + os.path.basename(sys.argv[1])[:-5]),
    own=attempt(c.connect, '\\0own'), run=sorted(os.listdir('/run')))
"""
    d = lab.py(code, *paths, egret=False, who=who, check=False).json
    assert set(d["res"].values()) == {None} and d["abstract"] is None
    before = [g.greeted for g in gs]
    j = lab.py(code, *paths, who=who, args=root).json
    assert None not in j["res"].values(), j["res"]
    assert j["abstract"] == "ECONNREFUSED"
    assert j["own"] is None
    assert [g.greeted for g in gs] == before
    assert lab.tag + ".sock" not in j["run"]


@pytest.mark.who("user", "root")
@BOTH
def test_socket_option_keeps_one(lab, greeters, who, root):
    keep, other = (lab.work(who) + f"/{n}.sock" for n in ("keep", "other"))
    in_run = f"/run/{lab.tag}-keep.sock"
    for p in (keep, other, in_run):
        greeters(p)
    j = lab.py(REACH + "out(res=[reach(p) for p in sys.argv[1:]])", keep,
               in_run, other, who=who,
               args=[*root, "--socket", keep, "--socket", in_run]).json
    assert j["res"][:2] == [None, None]
    assert j["res"][2] is not None


def test_working_directory_under_a_mask(lab):
    """A working directory under /run must not see beneath the mask."""
    d = f"/run/{lab.tag}-d"
    os.mkdir(d, 0o755)
    g = Greeter(lab, d + "/s")
    try:
        r = lab.py(REACH + "out(res=reach('s'), up=reach('../' + sys.argv[1]"
                   "+ '/s'))", os.path.basename(d), cwd=d)
        assert r.rc == 125 or (r.json["res"] and r.json["up"])
        assert g.greeted == 0
        control = lab.py(REACH + "out(res=reach('s'))", cwd=d, egret=False,
                         check=False)
        assert control.json["res"] is None
    finally:
        g.close()
        os.rmdir(d)


# --- policy files and masks ---

@pytest.mark.who("user", "root")
@BOTH
def test_policy_files_are_out_of_reach(lab, who, root):
    """Neither the list nor its directories can be changed from inside."""
    path = lab.write("my.hosts", "good.example.org\n", who)
    code = """
path = sys.argv[1]
d = os.path.dirname(path)
def append():
    with open(path, 'a') as f:
        f.write('two.example.org\\n')
def swap_dir():
    os.rename(d, d + '.old')
    os.mkdir(d)
    open(path, 'w').write('two.example.org\\n')
res = {}
res['append'] = attempt(append)
res['unlink'] = attempt(os.unlink, path)
res['rename over'] = attempt(lambda: (open(d + '/new', 'w').write(
    'two.example.org\\n'), os.rename(d + '/new', path)))
res['rename away'] = attempt(os.rename, path, path + '.x')
res['rename dir'] = attempt(swap_dir)
res['truncate'] = attempt(os.truncate, path, 0)
for sub in ('config', 'run'):
    p = os.environ['HOME'] + '/' + sub
    res['rename ' + sub] = attempt(os.rename, p, p + '.x')
rt = os.environ['XDG_RUNTIME_DIR'] + '/egret'
def list_rt():
    if not os.listdir(rt):
        raise OSError(errno.ENOENT, 'empty')
res['runtime'] = attempt(list_rt)
def read():
    if 'good' not in open(path).read():
        raise OSError(errno.ENOENT, 'masked')
time.sleep(0.2)
out(res=res, two=dnsq('two.example.org')['rcode'],
    good=dnsq('good.example.org')['rcode'], read=attempt(read))
"""
    r = lab.py(code, path, allowlist=path, who=who, args=root)
    assert r.json["two"] == "NXDOMAIN" and r.json["good"] == "NOERROR"
    with open(path, encoding="ascii") as f:
        assert f.read() == "good.example.org\n"
    for what in ("append", "rename over", "truncate", "runtime"):
        assert r.json["res"][what], r.json["res"]


@pytest.mark.who("user", "root")
@BOTH
def test_list_replaced_from_a_namespace_of_its_own(lab, who, root):
    """Where the old tree is detached its masks don't hold a rename back."""
    path = lab.write("their.hosts", "good.example.org\n", who)
    code = """
d, name = os.path.split(sys.argv[1])
def must(r):
    if r < 0:
        raise OSError(ctypes.get_errno(), '')
def attack():
    fd = os.open(d, os.O_RDONLY)
    up = os.open(os.path.dirname(d), os.O_RDONLY)
    with open(d + '/evil', 'w') as f:
        f.write('two.example.org\\n')
    must(libc.unshare(0x10020000))          # NEWUSER, NEWNS
    must(libc.mount(b't', b'/tmp', b'tmpfs', 0, None))
    os.chdir('/tmp')
    must(libc.syscall(155, b'.', b'.'))     # pivot_root
    must(libc.umount2(b'.', 2))
    over = attempt(lambda: os.rename('evil', name, src_dir_fd=fd,
                                     dst_dir_fd=fd))
    base = os.path.basename(d)
    away = attempt(lambda: os.rename(base, base + '.old', src_dir_fd=up,
                                     dst_dir_fd=up))
    if away is None:
        os.mkdir(base, dir_fd=up)
        n = os.open(base, os.O_RDONLY, dir_fd=up)
        w = os.open(name, os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=n)
        os.write(w, b'two.example.org\\n')
    time.sleep(0.2)
    return over, away
pid = os.fork()
if not pid:
    try:
        print(json.dumps(attack()), file=sys.stderr)
    finally:
        os._exit(0)
os.waitpid(pid, 0)
time.sleep(0.2)
out(two=dnsq('two.example.org')['rcode'],
    good=dnsq('good.example.org')['rcode'])
"""
    try:
        r = lab.py(code, path, allowlist=path, who=who, args=root)
        print(r.err)
        assert r.json == {"two": "NXDOMAIN", "good": "NOERROR"}
    finally:
        put_back(lab.work(who))


def put_back(work):
    """Undo what the attack could do to the work directory."""
    if os.path.isdir(work + ".old"):
        lab_module.shutil.rmtree(work)
        os.rename(work + ".old", work)
    for name in ("evil", "their.hosts"):
        if os.path.exists(os.path.join(work, name)):
            os.unlink(os.path.join(work, name))


@pytest.mark.who("user", "root", "unshare-r")
def test_masks_cannot_be_lifted(lab, greeters, who):
    sock = f"/run/{lab.tag}-m.sock"
    greeters(sock)
    code = REACH + """
import subprocess
sock = sys.argv[1]
tried = {}
def sh(*cmd):
    tried[' '.join(cmd)] = subprocess.run(cmd, capture_output=True).returncode
for t in ('/run', '/proc', '/sys', '/etc/resolv.conf', '/tmp/.X11-unix'):
    sh('umount', t)
    sh('umount', '-l', t)
os.makedirs('/tmp/egretlab-mnt', exist_ok=True)
sh('mount', '--move', '/run', '/tmp/egretlab-mnt')
sh('mount', '--bind', '/', '/tmp/egretlab-mnt')
a = reach('/tmp/egretlab-mnt' + sock)
sh('umount', '/tmp/egretlab-mnt')
sh('mount', '--rbind', '/', '/tmp/egretlab-mnt')
b = reach('/tmp/egretlab-mnt' + sock)
sh('umount', '-l', '/tmp/egretlab-mnt')
sh('mount', '-o', 'remount,rw', '/run')
sh('mount', '-t', 'proc', 'proc', '/tmp/egretlab-mnt')
sh('umount', '-l', '/tmp/egretlab-mnt')
c = subprocess.run(['unshare', '-Urm', sys.executable, '-c', '''
from inside import *
import subprocess
for t in ('/run', '/proc'):
    subprocess.run(['umount', t], capture_output=True)
    subprocess.run(['umount', '-l', t], capture_output=True)
s = socket.socket(socket.AF_UNIX)
out(e=attempt(s.connect, sys.argv[1]))
''', sock], capture_output=True, text=True).stdout
def tree():
    fd = libc.syscall(428, -100, b'/', 1 | 0x80000)   # open_tree, clone
    if fd < 0:
        raise OSError(ctypes.get_errno(), '')
    return fd
d = 'n/a'
try:
    fd = tree()
    d = reach(f'/proc/self/fd/{fd}' + sock)
except OSError as e:
    d = name_of(e)
os.rmdir('/tmp/egretlab-mnt')
out(a=a, b=b, c=json.loads(c or '{"e": "failed"}')['e'], d=d, e=reach(sock),
    tried=tried, dns=dnsq('no.example.org')['rcode'])
"""
    r = lab.py(code, sock, args=["--root"], who=who, timeout=30)
    j = r.json
    assert None not in (j["a"], j["b"], j["c"], j["d"], j["e"]), j
    assert j["tried"]["umount /run"] != 0
    assert j["dns"] == "NXDOMAIN"


# --- descriptors ---

def inet_pair(lab):
    """A TCP socket of the host, connected to the world's echo server."""
    s = netns.make_socket(lab.host_path, socket.AF_INET, socket.SOCK_STREAM)
    s.settimeout(5)
    s.connect(("11.0.2.20", servers.ECHO))
    s.settimeout(None)
    return s


DOMAIN = """
def domain(fd):
    try:
        s = socket.socket(fileno=os.dup(fd))
    except OSError as e:
        return name_of(e)
    with s:
        return int(s.family)
"""
ECHO_FLOW = [("11.0.2.20", "tcp", servers.ECHO)]


@ALL
@BOTH
def test_inherited_network_sockets_as_stdio(lab, who, root):
    """The stream still works, copied; the socket itself isn't there."""
    for kind in ("tcp", "udp"):
        s = inet_pair(lab) if kind == "tcp" else netns.make_socket(
            lab.host_path, socket.AF_INET, socket.SOCK_DGRAM)
        with s:
            code = DOMAIN + """
def again():
    libc.connect(0, struct.pack('=H14x', 0), 16)    # AF_UNSPEC: disconnect
    sin = struct.pack('!HH4s8x', 0, 7000, socket.inet_aton('11.0.2.30'))
    if libc.connect(0, struct.pack('=H', 2) + sin[2:], 16) != 0:
        raise OSError(ctypes.get_errno(), '')
got = None
if sys.argv[1] == 'tcp':
    os.write(1, b'through the front')
    got = os.read(0, 100).decode()
print(json.dumps(dict(d=[domain(0), domain(1)], got=got,
                      again=attempt(again))), file=sys.stderr, flush=True)
"""
            r = lab.spawn_py(code, kind, stdin=s, stdout=s, who=who,
                             args=root, flows=ECHO_FLOW)
            r.out = None
            res = r.finish()
            j = lab_module.json.loads(res.err.strip().splitlines()[-1])
        assert socket.AF_INET not in j["d"], j
        assert j["again"] is not None
        if kind == "tcp":
            assert j["got"] == "through the front"
        assert not [p for p in res.packets if p.dst == "11.0.2.30"]


@ALL
def test_other_descriptors_are_closed(lab, who):
    s = inet_pair(lab)
    r, w = os.pipe()
    try:
        fds = [fcntl.fcntl(fd, fcntl.F_DUPFD, 600) for fd in (s.fileno(), r)]
        d = lab.run([lab_module.PYTHON, "-c",
                     "from inside import *\n" + DOMAIN +
                     "out(fds=os.listdir('/proc/self/fd'), d=domain(int(sys."
                     "argv[1])))", str(fds[0])], pass_fds=fds, who=who,
                    flows=ECHO_FLOW)
        assert d.json["d"] == "EBADF"
        assert not {str(fd) for fd in fds} & set(d.json["fds"])
    finally:
        for fd in (r, w, *fds):
            os.close(fd)
        s.close()


@pytest.mark.who("user", "root")
def test_keep_fd(lab, who):
    """A pipe and a connected local stream pass; nothing that reaches out."""
    s = inet_pair(lab)
    r, w = os.pipe()
    ua, ub = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    ul = socket.socket(socket.AF_UNIX)
    ul.bind("\0" + lab.tag + "-l")
    ul.listen()
    ud = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    nl = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    fds = {"inet": s.fileno(), "unbound dgram": ud.fileno(),
           "listening": ul.fileno(), "netlink": nl.fileno(),
           "directory": os.open("/", os.O_RDONLY | os.O_DIRECTORY),
           "path": os.open("/etc/passwd", os.O_PATH),
           "netns": os.open(lab.host_path, os.O_RDONLY),
           "pidfd": os.pidfd_open(os.getpid())}
    try:
        for what, fd in fds.items():
            x = lab.run(["echo", "started"], args=["--keep-fd", str(fd)],
                        pass_fds=[fd], who=who, flows=ECHO_FLOW)
            assert x.rc == 125 and x.out == "", what
            assert x.err.startswith("egret: ") and str(fd) in x.err, what
        x = lab.run(["echo", "started"], args=["--keep-fd", "200"], who=who)
        assert x.rc == 125 and x.out == ""
        os.write(w, b"piped")
        ub.sendall(b"local")
        x = lab.run([lab_module.PYTHON, "-c", "import os,sys\n"
                     "print(*[os.read(int(f), 9) for f in sys.argv[1:]])",
                     str(r), str(ua.fileno())], who=who,
                    args=["--keep-fd", str(r), "--keep-fd",
                          str(ua.fileno())], pass_fds=[r, ua.fileno()])
        assert x.out == "b'piped' b'local'\n", x.err
    finally:
        for k in ("directory", "path", "netns", "pidfd"):
            os.close(fds[k])
        os.close(r)
        os.close(w)
        for k in (s, ua, ub, ul, ud, nl):
            k.close()


# --- system calls ---

@ALL
@BOTH
def test_seccomp(lab, who, root):
    code = """
import fcntl
def call(nr, *args):
    if libc.syscall(nr, *args) < 0:
        raise OSError(ctypes.get_errno(), '')
def family(f, kind=socket.SOCK_STREAM, proto=0):
    socket.socket(f, kind, proto).close()
def ioctl(nr):
    fcntl.ioctl(0, nr, b'x')
out(tiocsti=attempt(ioctl, 0x5412), tioclinux=attempt(ioctl, 0x541C),
    high=attempt(call, 16, 0, ctypes.c_ulong(0x100005412), b'x'),
    vsock=attempt(family, 40), alg=attempt(family, 38, socket.SOCK_SEQPACKET),
    bt=attempt(family, 31, 3), can=attempt(family, 29, 3), tipc=attempt(family,
    30), xdp=attempt(family, 44, 3), rds=attempt(family, 21, 5),
    smc=attempt(family, 43), kcm=attempt(family, 41, 5), nfc=attempt(family,
    39), qrtr=attempt(family, 42, 2), crypto=attempt(family, 16, 3, 21),
    route=attempt(family, 16, 3, 0), audit=attempt(family, 16, 3, 9),
    xfrm=attempt(family, 16, 3, 6), inet=attempt(family, 2),
    inet6=attempt(family, 10), unix=attempt(family, 1),
    uring=attempt(call, 425, 4, ctypes.create_string_buffer(120)),
    keyctl=attempt(call, 250, 0, -3, 1), add_key=attempt(call, 248, b'user',
    b'x', b'y', 1, -3), request=attempt(call, 249, b'dns_resolver', b'x', b'',
    0), x32=attempt(call, 0x40000000 | 39),
    status={k: v.strip() for k, _, v in (x.partition(':') for x in
            open('/proc/self/status')) if k in ('NoNewPrivs', 'Seccomp')})
"""
    j = lab.py(code, who=who, args=root).json
    print(j)
    # stdin is /dev/null: ENOTTY would mean that the filter let it pass.
    assert j["tiocsti"] == j["tioclinux"] == j["high"] == "EPERM"
    for f in ("vsock", "alg", "bt", "can", "tipc", "xdp", "rds", "smc", "kcm",
              "nfc", "qrtr", "crypto", "audit", "xfrm"):
        assert j[f] in ("EAFNOSUPPORT", "EPERM", "EACCES",
                        "EPROTONOSUPPORT"), (f, j[f])
    assert j["route"] is j["inet"] is j["inet6"] is j["unix"] is None
    assert j["uring"] == "ENOSYS" and j["x32"] == "ENOSYS"
    for f in ("keyctl", "add_key", "request"):
        assert j[f] in ("EPERM", "ENOSYS"), (f, j[f])
    assert j["status"] == {"NoNewPrivs": "1", "Seccomp": "2"}


# --- namespaces, /proc, /sys ---

@ALL
@BOTH
def test_namespaces_are_its_own(lab, who, root):
    code = """
kinds = ('user', 'net', 'pid', 'ipc', 'uts', 'mnt')
out(ns={k: os.readlink('/proc/self/ns/' + k) for k in kinds},
    pids=sorted(int(p) for p in os.listdir('/proc') if p.isdigit()),
    pid=os.getpid(), links=sorted(os.listdir('/sys/class/net'))
    if os.path.isdir('/sys/class/net') else [],
    unix=len(open('/proc/net/unix').readlines()), caps=[x.split()[1] for x in
    open('/proc/self/status') if x.startswith('CapEff')][0],
    prefix=[l.split()[0].rstrip(':') for l in
            open('/proc/net/dev').readlines()[2:]])
"""
    j = lab.py(code, who=who, args=root).json
    d = lab.py(code, who=who, egret=False, check=False).json
    for kind, value in j["ns"].items():
        assert value != d["ns"][kind], kind
    assert len(j["pids"]) < 8 and 1 in j["pids"]
    assert set(j["prefix"]) == {"lo", "eth0"}
    assert set(j["links"]) <= {"lo", "eth0"}
    if root:
        assert int(j["caps"], 16) & 1 << 12         # CAP_NET_ADMIN
    elif who == "user":
        assert int(j["caps"], 16) == 0


@pytest.mark.who("root")
@BOTH
def test_kernel_settings_are_read_only(lab, who, root):
    """Real root keeps its uid: what /proc and /sys would let it change."""
    code = """
res = {}
for p in ('/proc/sys/kernel/core_pattern', '/proc/sys/kernel/modprobe',
          '/proc/sys/vm/drop_caches', '/proc/sysrq-trigger',
          '/proc/sys/fs/binfmt_misc/register', '/proc/sys/kernel/hostname',
          '/sys/kernel/uevent_helper', '/sys/power/state', '/proc/kcore',
          '/proc/sys/kernel/printk'):
    try:
        os.close(os.open(p, os.O_WRONLY))
        res[p] = None
    except OSError as e:
        res[p] = name_of(e)
devs = {p: attempt(lambda: os.close(os.open(p, os.O_RDWR))) for p in
        ('/dev/mem', '/dev/kvm', '/dev/vsock', '/dev/vhost-vsock',
         '/dev/net/tun')}
out(res=res, devs=devs)
"""
    j = lab.py(code, who=who, args=root).json
    # hostname is of the uts namespace, so it would be no harm.
    j["res"].pop("/proc/sys/kernel/hostname")
    assert None not in j["res"].values(), j["res"]
    assert j["devs"]["/dev/kvm"] and j["devs"]["/dev/vsock"], j["devs"]


@pytest.mark.who("user", "root")
def test_files_stay_writable(lab, who):
    """The control: it isn't a sandbox of files."""
    p = lab.work(who) + "/made-inside"
    r = lab.run(["sh", "-c", f"echo x > {p} && cat {p}"], who=who)
    assert r.out == "x\n"
    os.unlink(p)
