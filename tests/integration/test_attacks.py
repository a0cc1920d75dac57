# SPDX-License-Identifier: GPL-2.0-or-later
"""Ways out, and ways to break egret, that a hostile command would try."""
import os
import re
import signal
import time

import pytest

import lab as lab_module
from servers import ECHO, TICK

T = "tcp.example.org"
ALLOW = [f"{T}:{ECHO},{TICK}", "good.example.org"]
WAYS = [pytest.param("user", (), id="user"),
        pytest.param("user", ("--root",), id="user-root-inside"),
        pytest.param("root", (), id="root")]


def has_signal_scope():
    """Landlock's, since Linux 6.12."""
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(444, None, ctypes.c_size_t(0), 1) >= 6


# Stands for a script that runs egret: the same process group.
SCRIPT = """
import os, signal, subprocess, sys
def note(no, frame):
    os.write(1, b'reached %d\\n' % no)
for no in (signal.SIGUSR1, signal.SIGIO, signal.SIGALRM, signal.SIGTERM):
    signal.signal(no, note)
rc = subprocess.Popen(sys.argv[1:]).wait()
print('script goes on', rc, flush=True)
"""


@pytest.mark.parametrize("runner, args", WAYS)
def test_signals_to_the_process_group(lab, runner, args):
    """kill(0) and O_ASYNC go to a group that has members outside."""
    if not has_signal_scope():
        pytest.skip("kernel without a signal scope")
    code = """
import fcntl, signal
for no in (signal.SIGUSR1, signal.SIGALRM, signal.SIGTERM, signal.SIGIO):
    signal.signal(no, lambda *a: None)
    os.kill(0, no)
r, w = os.pipe()
fcntl.fcntl(r, fcntl.F_SETOWN, 0)
pid = os.fork()
if pid == 0:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.write(w, b'x')
    time.sleep(60)
os.read(r, 1)
os.kill(pid, signal.SIGTERM)        # one another is still possible
out(status=os.waitpid(pid, 0)[1], one=attempt(os.kill, 1, 15),
    all=attempt(os.kill, -1, 0))
os.kill(0, signal.SIGKILL)
"""
    r = lab.direct([lab_module.PYTHON, "-c", SCRIPT, lab.egret, "run", *args,
                    "--", lab_module.PYTHON, "-c",
                    "from inside import *\n" + code], who=runner,
                   start_new_session=True)
    assert r.rc == 0 and "reached" not in r.out, (r.out, r.err)
    assert f"script goes on {128 + signal.SIGKILL}" in r.out, (r.out, r.err)
    assert '"status": 15' in r.out and '"one": "EPERM"' in r.out, r.out


@pytest.mark.who("root")
def test_control_groups_of_the_machine(lab, who):
    """Root's own id owns them all: they can't be mounted anew."""
    r = lab.run(["sh", "-c", """
for kind in cgroup2 "cgroup -o memory" "cgroup -o freezer"; do
    for ns in --cgroup --mount "--user --map-root-user --cgroup"; do
        unshare --mount $ns sh -c "mount -t $kind none /mnt &&
            echo mounted $kind $ns"
    done
done
for at in /sys/fs/cgroup /sys/fs/cgroup/*/; do
    mkdir $at/egret-attack && echo made $at && rmdir $at/egret-attack
done
echo end"""], who=who)
    assert r.out == "end\n", (r.out, r.err)


def test_full_descriptor_table_keeps_no_edit_out(lab):
    """Every descriptor of the gateway is taken when the user takes back."""
    if lab.rootless:
        pytest.skip("needs real root")  # to count an undumpable one's
    path = lab.write("full.hosts", f"{T}:{TICK},{ECHO}\n")
    code = f"""
s = tcp('{T}', {TICK})
for child in range(8):                  # each has the same small limit
    r, w = os.pipe()
    if os.fork() == 0:
        held = []
        for i in range(40):
            try:
                held.append(tcp(GW4, 53, 1) if i < 20 else tcp('{T}', {ECHO}, 1))
            except OSError:
                break
        os.write(w, b'x')
        time.sleep(60)
    os.close(w)
    os.read(r, 1)
out(full=1)
out(end=read_all(s)[1], again=try_tcp('{T}', {TICK})['err'])
"""
    p = lab.spawn(["bash", "-c", 'ulimit -n 64; exec "$0" "$@"', lab.egret,
                   "run", "--allowlist", path, "--", lab_module.PYTHON, "-c",
                   "from inside import *\n" + code], egret=False,
                  flows=[("11.0.2.20", "tcp", TICK), ("11.0.2.20", "tcp", ECHO)])
    p.out.wait("full")
    assert len(os.listdir(f"/proc/{p.gateway()}/fd")) >= 63
    with open(path, "w", encoding="ascii") as f:
        f.write("# nothing\n")
    r = p.finish(check=False)
    assert r.json["end"] == "ECONNRESET" and r.json["again"], r.err


OWN_ETC = """
mkdir "$0" && mount -t tmpfs none "$0" && mkdir "$0/u" "$0/w" &&
cp /etc/hosts /etc/resolv.conf "$0" &&
mount -t overlay -o "lowerdir=/etc,upperdir=$0/u,workdir=$0/w" none /etc &&
cp "$0/hosts" "$0/resolv.conf" /etc/ && exec "$@"
"""


def test_root_replaces_the_files_of_name_resolution(lab):
    """By root's id /etc is the command's: its hosts file opens nothing."""
    if lab.rootless:
        pytest.skip("needs real root")
    code = """
def must(r):
    if r < 0:
        raise OSError(ctypes.get_errno(), '')
def replace(what):
    fd = os.open('/etc', os.O_RDONLY)
    for name, text in what.items():
        with open('/etc/evil-' + name, 'w') as f:
            f.write(text)
    must(libc.unshare(0x10020000))          # NEWUSER, NEWNS
    must(libc.mount(b't', b'/tmp', b'tmpfs', 0, None))
    os.chdir('/tmp')
    must(libc.syscall(155, b'.', b'.'))     # pivot_root
    must(libc.umount2(b'.', 2))
    for name in what:
        os.rename('evil-' + name, name, src_dir_fd=fd, dst_dir_fd=fd)
first = dnsq('three.example.org')['data']
pid = os.fork()
if not pid:
    replace({'hosts': '11.0.2.14 two.example.org\\n',
             'resolv.conf': 'nameserver 11.0.2.99\\n'})
    os._exit(0)
out(done=os.waitpid(pid, 0)[1], first=first,
    two=dnsq('two.example.org')['data'], forged=try_tcp('11.0.2.14', 443)['err'])
"""
    r = lab.direct(["unshare", "--mount", "sh", "-c", OWN_ETC,
                    lab.dir + "/etcrw", lab.egret, "run", "--allow",
                    "*.example.org", "--", lab_module.PYTHON, "-c",
                    "from inside import *\n" + code], who="root")
    assert r.json == {"done": 0, "first": ["11.0.2.13"],
                      "two": ["11.0.2.11"], "forged": "ECONNREFUSED"}, r.err
    assert {q.server for q in r.dns} == {lab_module.DNS4}


CHROOT = """
mkdir "$0" && cd "$0" && mkdir proc sys dev group group1 pts &&
mount -t proc none proc && mount -t sysfs none sys &&
mount --rbind /dev dev && mount --bind /dev/pts pts
mount -t cgroup2 none group; mount -t cgroup -o memory none group1
cd / && exec "$@"
"""


@pytest.mark.parametrize("runner, args", WAYS)
def test_other_mounts_of_the_kernels_files(lab, runner, args):
    """A chroot or a container's tree has /proc, /sys and /dev again."""
    if lab.rootless:
        pytest.skip("needs real root")
    at = f"{lab.dir}/chroot-{runner}{len(args)}"
    user = [] if runner == "root" else [
        "setpriv", "--reuid", str(lab_module.UID), "--regid",
        str(lab_module.UID), "--clear-groups", "--inh-caps=-all", "--"]
    code = f"""
seen = {{d: os.listdir('{at}/' + d) for d in os.listdir('{at}')}}
out(seen=seen, write=attempt(open, '{at}/proc/sys/kernel/core_pattern', 'a'),
    make=attempt(os.mkdir, '{at}/group/egret-attack'))
"""
    r = lab.direct(["unshare", "--mount", "sh", "-c", CHROOT, at, *user,
                    lab.egret, "run", "--events", "/dev/null", *args, "--",
                    lab_module.PYTHON, "-c", "from inside import *\n" + code],
                   who="root", env=lab.env(runner), cwd=lab.work(runner))
    assert r.rc == 0, r.err
    j = r.json
    with open("/proc/mounts", encoding="utf-8") as f:
        own_dev = " /dev devtmpfs " not in f.read()     # as in a container
    assert not any(v for d, v in j["seen"].items()
                   if d != "dev" or not own_dev), j
    assert j["write"] == "ENOENT" and j["make"], j


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_PATH])
def test_descriptors_to_walk_from(lab, flags):
    """An open directory shows what lies beneath a mask."""
    fd = os.open(lab.homes["user"] + "/run", flags)
    try:
        r = lab.run(["ls", "/proc/self/fd/0/"], stdin=fd)
    finally:
        os.close(fd)
    assert r.rc == 125 and r.out == "" and "descriptor 0" in r.err
