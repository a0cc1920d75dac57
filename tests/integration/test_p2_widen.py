# SPDX-License-Identifier: GPL-2.0-or-later
"""P2: root inside, with every capability it can get, can't widen its rules."""
import pytest

BAD = "11.0.2.30"
PROBE = f"""
def probe():
    return dict(bad=try_tcp('{BAD}', 7000, 2)['err'],
                name=dnsq('no.example.org', timeout=2)['rcode'],
                good=try_tcp('11.0.2.10', 443, 2)['err'])
import subprocess
def sh(*cmd):
    return subprocess.run(cmd, capture_output=True, text=True).returncode
"""
ALLOW = ["11.0.2.10:443", "good.example.org"]


def root_inside(lab, code, who="user", args=(), **kw):
    r = lab.py(PROBE + code, args=["--root", *args], allow=ALLOW, who=who,
               timeout=30, **kw)
    assert r.rc == 0, r.err
    return r


@pytest.mark.who("user", "root", "unshare-r")
def test_nft_inside_changes_nothing_outside(lab, who):
    r = root_inside(lab, """
first = probe()
rcs = [sh('nft', 'flush', 'ruleset'),
       sh('nft', 'add table inet egret; add chain inet egret c { type filter '
          'hook prerouting priority mangle; policy accept; }'),
       sh('nft', 'add', 'element', 'inet', 'egret', 'open4',
          '{ 11.0.2.30 . tcp . 7000 }')]
out(first=first, then=probe(), rcs=rcs)
""", who)
    want = {"bad": "ECONNREFUSED", "name": "NXDOMAIN", "good": None}
    assert r.json["first"] == want and r.json["then"] == want
    assert r.json["rcs"][0] == 0, "nft didn't even work on its own netns"


def test_routes_addresses_and_links(lab):
    r = root_inside(lab, """
first = probe()
rcs = [sh(*c.split()) for c in (
    'ip addr add 11.0.1.2/24 dev eth0', 'ip addr add 11.0.2.10/32 dev lo',
    'ip addr del 11.0.2.10/32 dev lo', 'ip route add 11.0.2.30 dev eth0',
    'ip neigh replace 11.0.2.30 lladdr 02:65:67:72:00:01 dev eth0',
    'ip link add m0 link eth0 type macvlan', 'ip link add d0 type dummy',
    'ip link set d0 up', 'ip addr add 198.18.0.1/32 dev d0',
    'ip link del d0', 'ip link add link eth0 name eth0.5 type vlan id 5',
    'ip link set eth0.5 up', 'ip tunnel add t0 mode ipip remote 11.0.2.30',
    'ip link set t0 up')]
bad = try_tcp('11.0.2.30', 7000, 2)
for c in ('ip route del 11.0.2.30', 'ip addr del 11.0.1.2/24 dev eth0',
          'ip neigh del 11.0.2.30 dev eth0'):
    sh(*c.split())
out(first=first, bad=bad, then=probe(), rcs=rcs)
""")
    assert 0 in r.json["rcs"]
    assert r.json["bad"]["err"] is not None
    assert r.json["then"] == {"bad": "ECONNREFUSED", "name": "NXDOMAIN",
                              "good": None}


def test_another_mac_loses_the_network(lab):
    r = root_inside(lab, """
first = probe()
sh('ip', 'link', 'set', 'eth0', 'address', '02:00:00:00:00:99')
w = try_tcp('11.0.2.10', 443, 1.5)
sh('ip', 'link', 'set', 'eth0', 'address', '02:65:67:72:00:02')
out(first=first, wrong=w['err'])
""")
    assert r.json["first"]["good"] is None
    assert r.json["wrong"] is not None


@pytest.mark.who("user", "root")
def test_deleting_the_link_ends_the_network(lab, who):
    r = root_inside(lab, """
first = probe()
rc = sh('ip', 'link', 'del', 'eth0')
after = try_tcp('11.0.2.10', 443, 2)
sh('ip', 'link', 'add', 'eth0', 'type', 'dummy')
sh('ip', 'link', 'set', 'eth0', 'up')
sh('ip', 'addr', 'add', '198.18.0.2/30', 'dev', 'eth0')
sh('ip', 'route', 'add', 'default', 'via', '198.18.0.1')
out(first=first, rc=rc, after=after, again=try_tcp('11.0.2.10', 443, 1))
time.sleep(0.3)
""", who)
    assert r.json["first"]["good"] is None and r.json["rc"] == 0
    assert r.json["after"]["err"] and r.json["again"]["err"]
    errors = [x for x in r.err.splitlines() if x.startswith("egret: ")
              and not x.startswith("egret: refused")]
    assert len(errors) == 1, r.err


def test_new_namespaces_inside(lab):
    """Whatever is built inside still leaves by the one link."""
    r = root_inside(lab, """
first = probe()
rc = sh('unshare', '-Urn', 'sh', '-c', 'ip link set lo up')
code = ('from inside import *; out(bad=try_tcp("11.0.2.30", 7000, 1)["err"],'
        'good=try_tcp("11.0.2.10", 443, 1)["err"])')
p = subprocess.run(['unshare', '-n', sys.executable, '-c', code],
                   capture_output=True, text=True)
other = json.loads(p.stdout or '{}')
# move the link into a new namespace, set it up there, and try
child = subprocess.Popen(['unshare', '-n', 'sh', '-c', 'echo; read x; '
    'ip addr add 198.18.0.2/30 dev eth0; ip link set lo up;'
    'ip link set eth0 up; ip route add default via 198.18.0.1;'
    'ip neigh replace 198.18.0.1 lladdr 02:65:67:72:00:01 dev eth0;'
    'exec ' + sys.executable + " -c '" + code + "'"], stdin=subprocess.PIPE,
    stdout=subprocess.PIPE, text=True)
child.stdout.readline()
moved = sh('ip', 'link', 'set', 'eth0', 'netns', str(child.pid))
o, _ = child.communicate('x\\n', timeout=15)
out(first=first, rc=rc, other=other, moved=moved,
    there=json.loads(o.strip() or '{}'))
""")
    j = r.json
    assert j["first"]["good"] is None
    assert j["other"].get("bad") and j["other"].get("good"), j
    assert j["there"].get("bad"), j


@pytest.mark.who("user", "root", "unshare-r")
def test_processes_outside_are_out_of_reach(lab, who):
    """Pids of the front and the gateway mean nothing inside."""
    code = PROBE + """
out(up=1)
pids = [int(x) for x in sys.stdin.readline().split()]
inside = {int(p) for p in os.listdir('/proc') if p.isdigit()}
def ptrace(pid):
    if libc.ptrace(16, pid, 0, 0) != 0:     # PTRACE_ATTACH
        raise OSError(ctypes.get_errno(), '')
res = {}
for pid in set(pids) - inside:
    res[pid] = [attempt(os.kill, pid, 0), attempt(os.kill, pid, 9),
                attempt(os.pidfd_open, pid), attempt(ptrace, pid),
                attempt(open, f'/proc/{pid}/ns/net'),
                attempt(open, f'/proc/{pid}/root'),
                attempt(open, f'/proc/{pid}/mem')]
nets = set()
for p in inside:
    try:
        nets.add(os.readlink(f'/proc/{p}/ns/net'))
    except OSError:
        pass
attempt(os.kill, -1, 0)
out(res=res, inside=sorted(inside), nets=sorted(nets),
    own=os.readlink('/proc/self/ns/net'), then=probe(),
    fds=sorted(os.listdir('/proc/self/fd')))
"""
    p = lab.spawn_py(code, args=["--root"], allow=ALLOW, who=who)
    p.out.wait("up")
    pids = [x for x in lab.tagged() if lab.is_egret(x)]
    p.send((" ".join(map(str, pids)) + "\n").encode())
    r = p.finish()
    j = r.json
    assert len(pids) >= 3
    assert j["nets"] == [j["own"]]
    assert all(e in ("ESRCH", "ENOENT") for v in j["res"].values()
               for e in v), j["res"]
    assert len(j["inside"]) < 10
    assert set(j["fds"]) - {"0", "1", "2"} <= {"3"}     # the listing's own
    assert j["then"]["bad"] == "ECONNREFUSED" and j["then"]["good"] is None


@pytest.mark.who("user", "root")
def test_pid_1_inside_is_of_no_use(lab, who):
    """egret's init is the one process of ours that is visible."""
    r = root_inside(lab, """
def ptrace(pid):
    if libc.ptrace(16, pid, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), '')
def setns(path):
    fd = os.open(path, os.O_RDONLY)
    if libc.setns(fd, 0) != 0:
        raise OSError(ctypes.get_errno(), '')
res = {n: attempt(setns, f'/proc/1/ns/{n}') for n in ('user', 'mnt', 'net')}
own = os.readlink('/proc/self/ns/net')
out(res=res, root=attempt(os.listdir, '/proc/1/root/run'), then=probe(),
    fds=attempt(os.listdir, '/proc/1/fd'), trace=attempt(ptrace, 1),
    mem=attempt(open, '/proc/1/mem'), same=own == os.readlink(
        '/proc/self/ns/net'))
""", who)
    j = r.json
    assert j["same"] and j["then"]["bad"] == "ECONNREFUSED"
    assert j["mem"] and j["trace"], j
