# SPDX-License-Identifier: GPL-2.0-or-later
"""The list and the runtime directory, by every path that leads to them.

Each way is first tried without egret, where it must work: else its failure
inside would say nothing.
"""
import ctypes
import os
import shutil

import pytest

import netns

WAYS = [pytest.param("user", (), id="user"),
        pytest.param("user", ("--root",), id="user-root-inside"),
        pytest.param("root", (), id="root")]
MARKER_LINE = "# MARKER of the list\n"
TEXT = MARKER_LINE + "good.example.org\n"
# None is success.
LOOK = """
def reads(path):
    with open(path) as f:
        if 'MARKER' not in f.read():
            raise OSError(errno.ENOMSG, 'something else')
def appends(path):
    with open(path, 'a') as f:
        f.write('two.example.org\\n')
def look(path):
    return dict(read=attempt(reads, path), write=attempt(appends, path))
def names():
    time.sleep(0.2)                 # an edit would be in force by now
    return [dnsq(n)['rcode'] for n in ('good.example.org', 'two.example.org')]
def must(r):
    if r < 0:
        raise OSError(ctypes.get_errno(), '')
    return r
"""
SEEN = {"read": None, "write": None}


class Hidden:
    """A list below some directories of the user's, and what befalls it."""

    def __init__(self, lab, who):
        self.lab, self.who = lab, who
        self.top = os.path.join(lab.work(who), "deep")
        self.dir = os.path.join(self.top, "a/b")
        r = lab.run(["mkdir", "-p", self.dir], egret=False, who=who)
        assert r.rc == 0, r.err
        self.path = os.path.join(self.dir, "list.hosts")
        self.put()

    def put(self):
        self.lab.write("deep/a/b/list.hosts", TEXT, self.who)

    def text(self):
        with open(self.path, encoding="ascii") as f:
            return f.read()

    def py(self, code, *argv, egret=True, **kw):
        if egret:
            kw["allowlist"] = self.path
        return self.lab.py(LOOK + code, *argv, who=self.who, egret=egret,
                           check=egret, **kw)

    def control(self, code, *argv, **kw):
        """Without egret; the list is as before afterwards."""
        r = self.py(code, *argv, egret=False, **kw)
        self.put()
        assert r.rc == 0, r.err
        return r.json

    def inside(self, code, *argv, args=(), **kw):
        """With egret: neither file nor policy has changed."""
        r = self.py(code + "\nout(names=names(), **res)", *argv, args=args,
                    timeout=30, **kw)
        assert r.rc == 0, (r.out, r.err)
        assert self.text() == TEXT
        assert r.json["names"] == ["NOERROR", "NXDOMAIN"], r.json
        return r.json


@pytest.fixture
def hidden(lab):
    made = []

    def make(who):
        made.append(Hidden(lab, who))
        return made[-1]
    yield make
    for h in made:
        shutil.rmtree(h.top, ignore_errors=True)


@pytest.fixture
def mounts(lab):
    """Mounts of the host, made before egret starts."""
    made = []

    def make(what, name, *args):
        at = os.path.join(lab.dir, name)
        if os.path.isdir(what) or args:
            os.mkdir(at, 0o755)
        else:
            with open(at, "w", encoding="ascii"):
                pass
        # Root of a user namespace can't take the top mount alone.
        how = "--rbind" if what == "/" and lab.rootless else "--bind"
        netns.sh("mount", *(args or (how,)), what, at)
        netns.sh("mount", "--make-rprivate", at)    # or umount takes more
        made.append(at)
        return at
    yield make
    for at in reversed(made):
        netns.sh("umount", "-l", at)
        (os.rmdir if os.path.isdir(at) else os.unlink)(at)


def refused(seen):
    return seen["read"] and seen["write"]


# --- paths that were there before ---

@pytest.mark.parametrize("who, args", WAYS)
def test_bind_mounts_made_before(lab, hidden, mounts, who, args):
    h = hidden(who)
    paths = [mounts(h.dir, "bind-of-dir") + "/list.hosts",
             mounts(h.top, "bind-of-top") + "/a/b/list.hosts",
             mounts(h.path, "bind-of-file"),
             mounts("/", "bind-of-root") + h.path]
    code = "res = {p: look(p) for p in sys.argv[1:]}\n"
    assert h.control(code + "out(**res)", *paths) == {p: SEEN for p in paths}
    j = h.inside(code, *paths, args=args)
    assert all(refused(j[p]) for p in paths), j


@pytest.mark.parametrize("who, args", WAYS)
def test_another_mount_of_the_file_system(lab, hidden, mounts, who, args):
    """A tmpfs mounted in two places; the list is in one of them."""
    h = hidden(who)
    fs = mounts("none", "own-fs", "-t", "tmpfs")
    again = mounts(fs, "own-fs-again")
    os.chmod(fs, 0o777)
    shutil.copytree(h.dir, fs + "/b")
    st = os.stat(h.path)
    for p in (fs + "/b", fs + "/b/list.hosts"):
        os.chown(p, st.st_uid, st.st_gid)
    code = "res = {p: look(p) for p in sys.argv[1:]}\n"
    paths = [fs + "/b/list.hosts", again + "/b/list.hosts"]
    assert h.control(code + "out(**res)", *paths) == {p: SEEN for p in paths}
    with open(paths[0], "w", encoding="ascii") as f:
        f.write(TEXT)
    r = lab.py(LOOK + code + "out(names=names(), **res)", *paths, who=who,
               args=args, allowlist=paths[0])
    assert r.rc == 0, r.err
    assert all(refused(r.json[p]) for p in paths), r.json
    assert r.json["names"] == ["NOERROR", "NXDOMAIN"]
    with open(paths[1], encoding="ascii") as f:
        assert f.read() == TEXT


@pytest.mark.parametrize("who, args", WAYS)
def test_hard_links_made_before(lab, hidden, who, args):
    """A second name can't be masked, since nobody can know it."""
    h = hidden(who)
    other = os.path.join(h.top, "second-name")
    os.link(h.path, other)
    assert h.control("out(**look(sys.argv[1]))", other) == SEEN
    r = h.py("out(ran=1)", args=args)
    assert r.rc == 125 and r.out == "" and "link" in r.err, r.err
    assert r.err.startswith("egret: ") and h.path in r.err
    os.unlink(other)
    assert h.py("out(ran=1)", args=args).json == {"ran": 1}


@pytest.mark.parametrize("who, args", WAYS)
def test_hard_link_made_inside(lab, hidden, who, args):
    h = hidden(who)
    code = """
d = sys.argv[1]
fd = os.open(d + '/a/b', os.O_RDONLY)
def follow(src, name, **kw):
    os.link(src, d + name, follow_symlinks=True, **kw)
    reads(d + name)
res = dict(plain=attempt(follow, d + '/a/b/list.hosts', '/x1'),
           at=attempt(follow, 'list.hosts', '/x2'),
           dir_fd=attempt(lambda: (os.link('list.hosts', d + '/x3',
                                   src_dir_fd=fd), reads(d + '/x3'))))
"""
    j = h.control(code + "out(**res)", h.top)
    assert j["plain"] is None and j["dir_fd"] is None
    for n in ("x1", "x2", "x3"):
        if os.path.exists(os.path.join(h.top, n)):
            os.unlink(os.path.join(h.top, n))
    j = h.inside(code, h.top, args=args)
    assert j["plain"] and j["dir_fd"], j


@pytest.mark.parametrize("who, args", WAYS)
def test_symbolic_links_made_before(lab, hidden, who, args):
    h = hidden(who)
    links = [os.path.join(h.top, n) for n in ("to-file", "to-dir")]
    os.symlink(h.path, links[0])
    os.symlink("a/b", links[1])
    paths = [links[0], links[1] + "/list.hosts"]
    code = "res = {p: look(p) for p in sys.argv[1:]}\n"
    assert h.control(code + "out(**res)", *paths) == {p: SEEN for p in paths}
    j = h.inside(code, *paths, args=args)
    assert all(refused(j[p]) for p in paths), j


# --- paths that are made inside ---

@pytest.mark.parametrize("who, args", WAYS)
def test_proc_of_every_process(lab, hidden, who, args):
    h = hidden(who)
    code = """
import subprocess
path, d = sys.argv[1:3]
child = subprocess.Popen(['sleep', '60'], cwd=d)
res = {}
for pid in [p for p in os.listdir('/proc') if p.isdigit()] + ['self']:
    if sys.argv[3] and pid not in ('self', str(child.pid)):
        continue
    for at in ('root' + path, 'cwd/list.hosts', 'cwd/../b/list.hosts'):
        res[pid + '/' + at] = look(f'/proc/{pid}/{at}')
fd = os.open(d, os.O_PATH)
res['fd'] = look(f'/proc/self/fd/{fd}/list.hosts')
child.kill()
"""
    j = h.control(code + "out(**res)", h.path, h.dir, "own", cwd=h.dir)
    assert list(j.values()) == [SEEN] * 7, j
    j = h.inside(code, h.path, h.dir, "", args=args, cwd=h.dir)
    del j["names"]
    assert len(j) > 9 and all(refused(v) for v in j.values()), j


@pytest.mark.parametrize("who, args", WAYS)
def test_renames_of_every_directory_above(lab, hidden, who, args):
    """Each in turn is moved away and rebuilt with a list of the command's."""
    h = hidden(who)
    above = [os.path.dirname(h.path)]
    while above[-1] != lab.dir:
        above.append(os.path.dirname(above[-1]))
    code = """
path = sys.argv[1]
def swap(d):
    os.rename(d, d + '.moved')
    made = None
    try:
        os.makedirs(os.path.dirname(path))
        with open(path, 'w') as f:
            f.write('two.example.org\\n')
        time.sleep(0.2)
        made = dnsq('two.example.org')['rcode'] if sys.argv[2] else 'made'
    finally:
        import shutil
        shutil.rmtree(d, ignore_errors=True)
        os.rename(d + '.moved', d)
    assert made in ('made', 'NXDOMAIN'), made
res = {}
for d in sys.argv[3:]:
    res[d] = attempt(swap, d)
for d in sys.argv[3:]:          # another directory in its place
    def exchange():
        os.makedirs(d + '.mine', exist_ok=True)
        must(libc.renameat2(-100, d.encode(), -100, (d + '.mine').encode(), 2))
        must(libc.renameat2(-100, d.encode(), -100, (d + '.mine').encode(), 2))
    res['exchange ' + d] = attempt(exchange)
    attempt(os.rmdir, d + '.mine')
"""
    # What the user may rename at all: not his home.
    mine = [d for d in above if d.startswith(lab.work(who))]
    j = h.control(code + "out(**res)", h.path, "", *mine)
    assert set(j.values()) == {None}, j
    j = h.inside(code, h.path, "1", *mine, args=args)
    assert all(j[d] and j["exchange " + d] for d in mine), j


@pytest.mark.parametrize("args", [("--root",), ()], ids=["root-inside",
                                                         "nested-userns"])
def test_new_mounts_inside(lab, hidden, args):
    """Bind, overlay, open_tree and a detached old root see the mask too."""
    h = hidden("user")
    code = """
path, d = sys.argv[1], os.path.dirname(sys.argv[1])
def within(fn):
    # In a mount namespace of its own, as its root.
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if os.geteuid() or sys.argv[2]:
                uid, gid = os.geteuid(), os.getegid()
                must(libc.unshare(0x10020000))
                open('/proc/self/setgroups', 'w').write('deny')
                open('/proc/self/uid_map', 'w').write(f'0 {uid} 1')
                open('/proc/self/gid_map', 'w').write(f'0 {gid} 1')
            else:
                must(libc.unshare(0x20000))
            must(libc.mount(None, b'/', None, 0x44000, None))   # private
            global keep, here       # /tmp is covered below
            keep = os.open(os.path.dirname(d), os.O_PATH)
            here = f'/proc/self/fd/{keep}/'
            must(libc.mount(b't', b'/tmp', b'tmpfs', 0, None))
            for n in ('m', 'u', 'w'):
                os.mkdir('/tmp/' + n)
            r2 = look(fn())
        except OSError as e:
            r2 = dict(read=name_of(e), write=name_of(e))
        os.write(w, json.dumps(r2).encode())
        os._exit(0)
    os.close(w)
    got = os.read(r, 4096)
    os.waitpid(pid, 0)
    return json.loads(got)
def bind(rec):
    must(libc.mount((here + 'b').encode(), b'/tmp/m', None, rec, None))
    return '/tmp/m/list.hosts'
def overlay():
    must(libc.mount(b'o', b'/tmp/m', b'overlay', 0,
                    ('lowerdir=' + here + 'b:/tmp/u').encode()))
    return '/tmp/m/list.hosts'
def tree(flags):
    fd = must(libc.syscall(428, -100, (here + 'b').encode(), flags))
    return f'/proc/self/fd/{fd}/list.hosts'
def detached():
    os.chdir('/tmp')
    must(libc.syscall(155, b'.', b'.'))
    must(libc.umount2(b'.', 2))
    os.fchdir(keep)
    return 'b/list.hosts'
res = {'bind': within(lambda: bind(0x1000)), 'rbind': within(
           lambda: bind(0x5000)), 'overlay': within(overlay),
       'tree': within(lambda: tree(0x80001)),
       'rtree': within(lambda: tree(0x88001)), 'detached': within(detached)}
"""
    j = h.control(code + "out(**res)", h.path, "own")
    for what in ("bind", "rbind", "tree", "rtree", "detached"):
        assert j[what] == SEEN, (what, j)
    assert j["overlay"]["read"] is None, j
    j = h.inside(code, h.path, "" if args else "own", args=args)
    del j["names"]
    assert all(v["read"] and v["write"] for v in j.values()), j


def file_handle(path):
    """As open_by_handle_at(2) takes it."""
    buf = ctypes.create_string_buffer(8 + 128)
    buf[0:4] = (128).to_bytes(4, "little")
    mount = ctypes.c_int()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.name_to_handle_at(-100, path.encode(), buf, ctypes.byref(mount),
                              0) != 0:
        return None
    n = int.from_bytes(buf[0:4], "little")
    return bytes(buf[:8 + n]).hex()


@pytest.mark.parametrize("who, args", WAYS[1:])
def test_file_handles(lab, hidden, who, args):
    """A handle names the file itself, whatever is mounted on its name."""
    h = hidden(who)
    handle = file_handle(h.path)
    if not handle:
        pytest.skip("kernel without handles for this file system")
    code = """
raw = bytes.fromhex(sys.argv[1])
def opened(at):
    fd = os.open(at, os.O_RDONLY)
    new = must(libc.open_by_handle_at(fd, raw, os.O_RDONLY))
    reads(f'/proc/self/fd/{new}')
res = {at: attempt(opened, at) for at in sys.argv[2:]}
"""
    dirs = ["/", h.top, h.dir, lab.work(who)]
    if who == "root" and not lab.rootless:
        assert set(h.control(code + "out(**res)", handle, *dirs).values()) \
            == {None}
    j = h.inside(code, handle, *dirs, args=args)
    assert all(j[d] for d in dirs), j


# --- a folder that the command works in ---

@pytest.mark.parametrize("who, args", WAYS)
def test_project_folder_that_contains_the_list(lab, hidden, who, args):
    """The folder is the command's to work in; the list in it is not."""
    h = hidden(who)
    code = """
import shutil, subprocess
def build():
    with open('made', 'w') as f:
        f.write('x')
    os.mkdir('sub')
    os.rename('made', 'sub/made')
    shutil.rmtree('sub')
def over():
    with open('new', 'w') as f:
        f.write('two.example.org\\n')
    try:
        os.rename('new', 'list.hosts')
    finally:
        attempt(os.unlink, 'new')
def copied():
    shutil.rmtree('../copy', ignore_errors=True)
    subprocess.run(['cp', '-a', '.', '../copy'], capture_output=True)
    try:
        reads('../copy/list.hosts')
    finally:
        shutil.rmtree('../copy', ignore_errors=True)
def gone():
    os.unlink('list.hosts')
def moved():
    os.rename('list.hosts', 'list.old')
    os.rename('list.old', 'list.hosts')
def mode():
    st = os.stat('list.hosts').st_mode
    os.chmod('list.hosts', 0o666)
    os.chmod('list.hosts', st & 0o777)
res = dict(build=attempt(build), plain=look('list.hosts'),
           up=look('../b/list.hosts'), cwd=look('/proc/self/cwd/list.hosts'),
           copied=attempt(copied), mode=attempt(mode), moved=attempt(moved),
           cut=attempt(os.truncate, 'list.hosts', 0), over=attempt(over),
           gone=attempt(gone))
"""
    j = h.control(code + "out(**res)", cwd=h.dir)
    assert j.pop("plain") == j.pop("up") == j.pop("cwd") == SEEN
    assert set(j.values()) == {None}, j
    j = h.inside(code, cwd=h.dir, args=args)
    assert j["build"] is None, j            # the folder itself works
    for what in ("plain", "up", "cwd"):
        assert refused(j[what]), (what, j)
    for what in ("copied", "moved", "cut", "over", "gone"):
        assert j[what], (what, j)


@pytest.mark.parametrize("who, args", WAYS)
def test_list_named_by_a_relative_path_and_a_link(lab, hidden, who, args):
    """What is hidden is the file, not the spelling."""
    h = hidden(who)
    os.symlink("b/list.hosts", os.path.join(h.top, "a/link.hosts"))
    for given in ("list.hosts", "../b/./list.hosts", "../link.hosts"):
        r = lab.py(LOOK + """
res = {p: look(p) for p in ('list.hosts', sys.argv[1], '../link.hosts')}
out(names=names(), **res)
""", h.path, who=who, args=args, allowlist=given, cwd=h.dir,
                   flows=[("11.0.2.10", "tcp", 443)], check=False)
        assert r.rc == 0, r.err
        assert r.json.pop("names") == ["NOERROR", "NXDOMAIN"], given
        assert h.text() == TEXT
        j = {k: v for k, v in r.json.items() if k != "names"}
        assert all(refused(v) for v in j.values()), (given, j)


# --- the runtime directory ---

RUNTIME = """
def entries(d):
    if not [n for n in os.listdir(d) if n.startswith('run-')]:
        raise OSError(errno.ENOMSG, 'empty')
def talk(d):
    s = socket.socket(socket.AF_UNIX)
    at = os.open(d + '/run-' + sys.argv[1], os.O_PATH)
    s.connect(f'/proc/self/fd/{at}/control.sock')
    s.sendall(b'{"op":"status"}\\n')
    if b'true' not in s.recv(4096):
        raise OSError(errno.ENOMSG, 'no reply')
def see(d):
    one = d + '/run-' + sys.argv[1]
    return dict(entries=attempt(entries, d), talk=attempt(talk, d),
                list=attempt(appends, one + '/allowlist'),
                lock=attempt(open, one + '/lock', 'w'),
                gone=attempt(os.rename, one, one + 'x') if sys.argv[2] else 'x')
"""


@pytest.mark.parametrize("who, args", WAYS)
def test_runtime_directory(lab, mounts, who, args):
    """Its entries can't be seen, nor its socket be talked to, by any path."""
    home = lab.homes["root" if who == "root" else "user"]
    base = home + "/run/egret"
    lab.run(["mkdir", "-p", "-m", "700", base], egret=False, who=who)
    dirs = [base, mounts(home + "/run", "bind-of-run") + "/egret",
            mounts(base, "bind-of-base"),
            mounts("/", "root-again") + base]
    p = lab.spawn_py(LOOK + RUNTIME + """
out(up=1)
sys.argv[1] = sys.stdin.readline().strip()
sys.argv[2] = '1'
dirs = sys.argv[3:] + [f'/proc/{p}/root' + sys.argv[3]
                       for p in os.listdir('/proc') if p.isdigit()]
res = {d: see(d) for d in dirs}
out(names=names(), **res)
""", "", "", *dirs, who=who, args=args, allow=["good.example.org"])
    p.out.wait('"up"')
    control = lab.py(LOOK + RUNTIME + "out(**{d: see(d) for d in sys.argv[3:]})",
                     p.pid, "", *dirs, who=who, egret=False, check=False).json
    for d in dirs:
        assert control[d] == {"entries": None, "talk": None, "list": None,
                              "lock": None, "gone": "x"}, (d, control)
    # What the control appended is undone before the command looks.
    with open(f"{base}/run-{p.pid}/allowlist", "w", encoding="ascii") as f:
        f.write("# nothing\n")
    p.send(b"%d\n" % p.pid)
    j = p.finish(check=False).json
    assert j.pop("names") == ["NOERROR", "NXDOMAIN"], j
    assert len(j) >= len(dirs) + 2
    for d, seen in j.items():
        assert None not in seen.values(), (d, seen)


def test_config_directory_and_project(lab, mounts):
    """A project's list, through the same eyes."""
    config = lab.homes["user"] + "/config"
    lab.run(["true"], args=["-p", "hide"])
    path = config + "/egret/projects/hide.hosts"
    with open(path, "w", encoding="ascii") as f:
        f.write(TEXT)
    try:
        paths = [path, mounts(config, "bind-of-config") +
                 "/egret/projects/hide.hosts", "/proc/self/root" + path]
        code = LOOK + "res = {p: look(p) for p in sys.argv[1:]}\n"
        r = lab.py(code + "out(**res)", *paths, egret=False, check=False)
        assert r.json == {p: SEEN for p in paths}, r.err
        with open(path, "w", encoding="ascii") as f:
            f.write(TEXT)
        for args in ((), ("--root",)):
            r = lab.py(code + "out(names=names(), **res)", *paths,
                       args=[*args, "-p", "hide"], check=False)
            j = r.json
            assert j["names"] == ["NOERROR", "NXDOMAIN"], r.err
            assert all(refused(j[p]) for p in paths), j
            with open(path, encoding="ascii") as f:
                assert f.read() == TEXT
    finally:
        os.unlink(path)
