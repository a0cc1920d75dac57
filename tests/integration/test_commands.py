# SPDX-License-Identifier: GPL-2.0-or-later
"""The commands around a list: allow, deny, remove, set, lint, presets.

An edit has applied when the command returns, so no test waits after one.
"""
import json
import os
import shlex
import signal
import stat
import subprocess
import threading

import pytest

import lab as lab_module
from servers import IDLE

GOOD, TWO, THREE = "good.example.org", "two.example.org", "three.example.org"
ADDR = {GOOD: "11.0.2.10", TWO: "11.0.2.11", THREE: "11.0.2.13"}
# Reads commands on stdin, so that a test drives it step by step.
DRIVEN = """
kept = None
for line in sys.stdin:
    cmd = line.split()
    if cmd[0] == 'tcp':
        out(r=try_tcp(cmd[1], int(cmd[2]), 3)['err'])
    elif cmd[0] == 'keep':
        kept = tcp(cmd[1], int(cmd[2]))
        kept.sendall(b'x')
        out(r=None)
    elif cmd[0] == 'kept':
        out(r=attempt(kept.recv, 1))
"""


class Driven:
    """A program inside, and the names that it may come to reach."""

    def __init__(self, lab, names=(GOOD, TWO, THREE), ports=(443,), **kw):
        code = "out(id=os.environ['EGRET'])\n" + DRIVEN
        self.p = lab.spawn_py(code, flows=[
            (ADDR[n], "tcp", p) for n in names for p in ports], **kw)
        self.p.expected.exact |= set(names)
        m = self.p.out.wait(r'"id": "(.*?)"\}\n')
        self.id, self.pos = m.group(1).decode(), m.end()

    def ask(self, cmd):
        self.p.send(cmd.encode() + b"\n")
        m = self.p.out.wait(r'\{"r": (.*)\}\n', 10, self.pos)
        self.pos = m.end()
        return json.loads(m.group(1))

    def open(self, name, port=443):
        """The error of a connection to it, or None."""
        return self.ask(f"tcp {name} {port}")

    def hint(self):
        """The command that the first refusal line prints."""
        m = self.p.err.wait(r"^egret: refused .*; to allow: (egret .*)$")
        return shlex.split(m.group(1).decode())


class Project:
    def __init__(self, lab, name, who="user"):
        home = lab.homes["root" if who == "root" else "user"]
        self.dir = os.path.join(home, "config/egret/projects")
        self.path = os.path.join(self.dir, name + ".hosts")
        self.lab, self.name, self.who = lab, name, who

    def put(self, text):
        os.makedirs(self.dir, 0o700, exist_ok=True)
        with open(self.path, "w", encoding="utf-8") as f:
            f.write(text)
        if self.who != "root" and not self.lab.rootless:
            for p in (os.path.dirname(self.dir), self.dir, self.path):
                os.chown(p, lab_module.UID, lab_module.UID)

    @property
    def text(self):
        with open(self.path, encoding="utf-8") as f:
            return f.read()

    def entries(self):
        lines = [x.split("#")[0].strip() for x in self.text.splitlines()]
        return [x for x in lines if x]

    def ctl(self, cmd, *entries):
        return self.lab.ctl(cmd, self.name, *entries, who=self.who)

    def remove(self):
        if os.path.isdir(self.path) and not os.path.islink(self.path):
            os.rmdir(self.path)
        elif os.path.lexists(self.path):
            os.unlink(self.path)


@pytest.fixture
def project(lab):
    made = []

    def make(name="study42", who="user"):
        made.append(Project(lab, name, who))
        return made[-1]
    yield make
    for p in made:
        p.remove()


def done(r):
    assert r.returncode == 0, r.stderr
    return r


# --- the workflow of the README ---

@pytest.mark.who("user", "root", "unshare-r")
def test_workflow(lab, project, who):
    """Run, see a refusal, allow it by the very command it shows, retry."""
    p = project("study42", who)
    d = Driven(lab, args=["-p", "study42"], who=who)
    assert d.id == "study42"
    assert p.text.startswith("#")
    assert d.open(GOOD)
    cmd = d.hint()
    assert cmd == ["egret", "allow", "study42", GOOD]
    done(lab.ctl(*cmd[1:], who=who))
    assert d.open(GOOD) is None
    assert d.open(TWO)
    assert p.entries() == [GOOD]
    assert done(p.ctl("deny", GOOD)).stderr == ""
    assert d.open(GOOD)
    r = done(p.ctl("allow", GOOD))
    assert f"'!{GOOD}'" in r.stderr
    assert d.open(GOOD) is None
    done(p.ctl("remove", GOOD))
    assert d.open(GOOD)
    done(p.ctl("set", TWO, "THREE.example.org:443"))
    assert d.open(GOOD)
    assert d.open(TWO) is None and d.open(THREE) is None
    r = done(lab.ctl("show", "study42", "--json", who=who))
    assert [e["text"] for e in json.loads(r.stdout)["entries"]] == [
        TWO, THREE + ":443"]
    assert p.text.startswith("#")
    d.p.finish()


def test_set_of_what_show_gives_changes_nothing(lab, project):
    p = project("same")
    p.put("# why\nTWO.example.org # two\n\n!ads.example.org\n"
          "good.example.org:443,80\n10.0.0.0/8:22\n@pypi\n")
    before = p.text
    d = Driven(lab, args=["-p", "same"])
    r = done(lab.ctl("show", "same", "--json"))
    texts = [e["text"] for e in json.loads(r.stdout)["entries"]]
    assert texts == [TWO, "!ads.example.org", GOOD, "10.0.0.0/8:22", "@pypi"]
    done(p.ctl("set", *texts))
    assert p.text == before
    d.p.finish()


def test_open_connections(lab, project):
    """deny cuts what is open, also where the allowing entry stays."""
    p = project("cut")
    p.put("tcp.example.org:7000-7020\n")
    d = Driven(lab, (), args=["-p", "cut"])
    d.p.expected.exact.add("tcp.example.org")
    d.p.expected.add_flow("11.0.2.20", "tcp", (IDLE,))
    d.ask(f"keep tcp.example.org {IDLE}")
    done(p.ctl("allow", GOOD))
    done(p.ctl("deny", "tcp.example.org"))
    assert d.ask("kept") in ("ECONNRESET", "ENETUNREACH", "ECONNREFUSED")
    assert p.entries() == ["tcp.example.org:7000-7020", GOOD,
                           "!tcp.example.org"]
    d.p.finish()


# --- which sandboxes ---

def test_two_sandboxes_of_one_project(lab, project):
    p = project("pair")
    a = Driven(lab, args=["-p", "pair"])
    b = Driven(lab, args=["-p", "pair"])
    assert (a.id, b.id) == ("pair", "pair.2")
    done(lab.ctl("allow", "pair.2", GOOD))
    assert a.open(GOOD) is None and b.open(GOOD) is None
    done(lab.ctl("remove", "pair", GOOD))
    assert a.open(GOOD) and b.open(GOOD)
    a.p.finish()
    done(lab.ctl("allow", "pair", TWO))
    assert b.open(TWO) is None
    assert p.entries() == [TWO]
    b.p.finish()


def test_project_that_does_not_run(lab, project):
    p = project("later")
    p.put("# nothing yet\n")
    done(p.ctl("allow", GOOD, "@pypi", "*.example.net:22"))
    assert p.text == f"# nothing yet\n{GOOD}\n@pypi\n*.example.net:22\n"
    d = Driven(lab, args=["-p", "later"])
    assert d.open(GOOD) is None
    d.p.finish()


@pytest.mark.parametrize("target", ["run-1", "nosuch", "study.2", "../x", "",
                                    "/etc/passwd", "a b", "x" * 300])
@pytest.mark.parametrize("cmd", ["allow", "deny", "remove", "set"])
def test_target_that_is_not_there(lab, cmd, target):
    r = lab.ctl(cmd, target, GOOD)
    assert r.returncode == 1
    assert r.stderr.startswith("egret: ") and r.stderr.count("\n") == 1


def test_run_that_has_ended(lab):
    d = Driven(lab)
    ident = d.id
    done(lab.ctl("allow", ident, GOOD))
    d.p.finish()
    r = lab.ctl("allow", ident, GOOD)
    assert r.returncode == 1 and ident in r.stderr


def test_killed_run_is_not_there(lab):
    lab.dirs_may_stay = True
    d = Driven(lab)
    d.p.proc.send_signal(signal.SIGKILL)
    d.p.proc.wait(5)
    assert lab.wait_gone() == []
    r = lab.ctl("allow", d.id, GOOD)
    assert r.returncode == 1 and d.id in r.stderr


def test_sandbox_that_does_not_answer(lab, project):
    """The list is written, and egret says who doesn't have it."""
    p = project("deaf")
    d = Driven(lab, args=["-p", "deaf"])
    gateway = d.p.gateway()
    os.kill(gateway, signal.SIGSTOP)
    try:
        r = lab.ctl("allow", "deaf", GOOD, timeout=20)
    finally:
        os.kill(gateway, signal.SIGCONT)
    assert r.returncode == 1
    assert "deaf did not apply it" in r.stderr
    assert p.entries() == [GOOD]
    done(p.ctl("allow", GOOD))
    assert d.open(GOOD) is None
    d.p.finish()


# --- entries ---

def test_wrong_entries_change_nothing(lab, project):
    p = project("strict")
    p.put("good.example.org # first\n")
    before = os.stat(p.path)
    d = Driven(lab, args=["-p", "strict"])
    bad = ["ok.example.org", "a b", "x:99999", "exa mple..org", "",
           "y\nz.example.org", "a.org # x\n*"]
    for cmd in ("allow", "set"):
        r = p.ctl(cmd, *bad)
        assert r.returncode == 2
        for text in ("a b: ", "x:99999: ", "99999"):
            assert text in r.stderr
    for cmd in ("allow", "deny", "remove", "set"):
        for entry in bad[1:]:
            r = p.ctl(cmd, "ok.example.org", entry)
            assert r.returncode == 2, (cmd, entry)
            assert r.stderr.startswith("egret: ")
    r = p.ctl("allow", "@pipy")
    assert r.returncode == 2 and "@pypi" in r.stderr
    assert p.ctl("deny", "a.org private").returncode == 2
    for args in ((), ("strict",)):
        for cmd in ("allow", "deny", "remove", "set"):
            r = lab.ctl(cmd, *args)
            assert r.returncode == 2 and "usage: egret " + cmd in r.stderr
    after = os.stat(p.path)
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino,
                                                   after.st_mtime_ns)
    assert d.open(GOOD) is None
    d.p.finish()


def test_entries_as_they_are_written(lab, project):
    p = project("form")
    p.put("# head\r\n\r\nGOOD.example.org # keep\r\nlast")
    done(p.ctl("allow", "good.example.org:443,80", "[2001:db8::1]:443",
               "b\u00fccher.example # with a comment", "x.org:5432 private"))
    with open(p.path, "rb") as f:
        assert f.read() == (
            "# head\r\n\r\nGOOD.example.org # keep\r\nlast\r\n"
            "[2001:db8::1]:443\r\nb\u00fccher.example # with a comment\r\n"
            "x.org:5432 private").encode()
    done(p.ctl("remove", "xn--bcher-kva.example", "last"))
    done(p.ctl("deny", "!a.org", "b.org:22"))
    assert p.entries() == ["GOOD.example.org", "[2001:db8::1]:443",
                           "x.org:5432 private", "!a.org", "!b.org:22"]


def test_removing_what_is_not_there(lab, project):
    p = project("gone")
    p.put("a.org\nb.org:22\n# c.org\n")
    r = p.ctl("remove", "c.org", "a.org", "b.org")
    assert r.returncode == 1
    assert "'c.org'" in r.stderr and "'b.org'" in r.stderr
    assert "see line 2" in r.stderr
    assert p.text == "b.org:22\n# c.org\n"


def test_removing_what_comes_from_elsewhere(lab):
    """--allow isn't the list's: egret says so, and deny does what was meant."""
    d = Driven(lab, allow=[GOOD])
    r = lab.ctl("remove", d.id, "GOOD.example.org:80,443")
    assert r.returncode == 1
    assert "it comes from --allow" in r.stderr and "egret deny" in r.stderr
    assert d.open(GOOD) is None
    done(lab.ctl("deny", d.id, GOOD))
    assert d.open(GOOD)
    d.p.finish()


def test_list_with_an_error_elsewhere(lab, project):
    """The entry is written; the old list stays in force and egret says why."""
    p = project("broken")
    p.put("good.example.org\n")
    d = Driven(lab, args=["-p", "broken"])
    with open(p.path, "a", encoding="ascii") as f:
        f.write("no entry at all\n")
    r = p.ctl("allow", TWO)
    assert r.returncode == 1
    assert f"{p.path}:2:" in r.stderr and "keeps its old list" in r.stderr
    assert d.open(GOOD) is None and d.open(TWO)
    p.put(p.text.replace("no entry at all\n", ""))
    done(p.ctl("allow", TWO))
    assert d.open(TWO) is None
    d.p.finish()
    p.put("no entry\n")
    r = p.ctl("allow", TWO)
    assert r.returncode == 1 and f"{p.path}:1:" in r.stderr


# --- the file ---

def test_in_place_where_the_command_may_write(lab):
    path = lab.write("place.hosts", "# top\ngood.example.org\n")
    os.chmod(path, 0o640)
    before = os.stat(path)
    d = Driven(lab, allowlist=path)
    assert d.open(TWO)
    done(lab.ctl("allow", d.id, TWO, THREE))
    assert d.open(TWO) is None and d.open(THREE) is None
    done(lab.ctl("remove", d.id, TWO))
    assert d.open(TWO) and d.open(THREE) is None and d.open(GOOD) is None
    after = os.stat(path)
    assert (after.st_ino, after.st_mode, after.st_uid) == (
        before.st_ino, before.st_mode, before.st_uid)
    with open(path, encoding="ascii") as f:
        assert f.read() == "# top\ngood.example.org\nthree.example.org\n"
    d.p.finish()


def test_replaced_in_a_project(lab, project):
    p = project("swap")
    p.put("good.example.org\n")
    os.chmod(p.path, 0o640)
    before = os.stat(p.path)
    d = Driven(lab, allowlist=p.path)       # by its path it is one too
    done(lab.ctl("allow", d.id, TWO))
    assert d.open(TWO) is None
    after = os.stat(p.path)
    assert after.st_ino != before.st_ino
    assert stat.S_IMODE(after.st_mode) == 0o640
    assert after.st_uid == before.st_uid
    assert [x for x in os.listdir(p.dir) if x.startswith(".")] == []
    d.p.finish()


def test_many_at_once(lab, project):
    """No edit is lost, and each has applied when it returns."""
    p = project("many")
    d = Driven(lab, args=["-p", "many"])
    names = [f"h{i}.example.org" for i in range(20)] + [GOOD]
    results = {}

    def go(name):
        results[name] = lab.ctl("allow", "many", name, timeout=60)
    threads = [threading.Thread(target=go, args=(n,)) for n in names]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for r in results.values():
        done(r)
    assert sorted(p.entries()) == sorted(names)
    assert d.open(GOOD) is None
    d.p.finish()


def test_no_room_leaves_the_old_file(lab, project):
    """A limit of file sizes stands for a full disk (test_listfile.c has one).
    """
    p = project("full")
    p.put("good.example.org\n" * 40)
    before = p.text
    sh = 'trap "" XFSZ; ulimit -f 0; exec "$@"'
    for entry in ("two.example.org", "x." * 100 + "org"):
        r = subprocess.run(
            lab.enter("user") + ["sh", "-c", sh, "sh", lab.egret, "allow",
                                 "full", entry],
            env=lab.env("user"), capture_output=True, text=True, timeout=20,
            check=False)
        assert r.returncode == 1, r.stderr
        assert p.path in r.stderr and "as it was" in r.stderr
        assert p.text == before
        assert [x for x in os.listdir(p.dir) if x.startswith(".")] == []


@pytest.mark.parametrize("what", ["fifo", "dir", "device", "huge", "garbage"])
def test_what_is_no_list(lab, project, what):
    p = project("odd")
    p.put("good.example.org\n")
    p.remove()
    if what == "fifo":
        os.mkfifo(p.path)
    elif what == "dir":
        os.mkdir(p.path)
    elif what == "device":
        os.symlink("/dev/zero", p.path)
    else:
        p.put("")
        with open(p.path, "wb") as f:
            f.write(bytes(range(256)) * 40)
            if what == "huge":
                f.truncate(100 << 20)
    if what != "device" and not lab.rootless:
        os.chown(p.path, lab_module.UID, lab_module.UID)
    size = os.lstat(p.path).st_size
    r = p.ctl("allow", TWO)
    assert r.returncode == 1 and p.path.rsplit("/", 1)[0] in r.stderr or \
        "/dev/zero" in r.stderr
    if what == "garbage":       # it is written, and said to be of no use
        assert f"{p.path}:1:1: " in r.stderr
    else:
        assert os.lstat(p.path).st_size == size
    r = lab.run(["true"], args=["-p", "odd"])
    assert r.rc == 125 and "odd.hosts" in r.err


def test_added_in_vain(lab, project):
    """An entry that another one still denies: egret says which."""
    p = project("vain")
    p.put("!*.example.org\n!ads.example.org\nx.test\n!x.test\n")
    r = done(p.ctl("allow", "GOOD.example.org", "ads.example.org",
                   "a.example.net"))
    lines = r.stderr.splitlines()
    assert "'!ads.example.org'" in lines[0]
    assert [x.split(": this entry")[0] for x in lines[1:]] == [
        f"egret: {p.path}:4:1", f"egret: {p.path}:5:1"]
    assert all("'!*.example.org'" in x for x in lines[1:])
    d = Driven(lab, args=["-p", "vain"])
    r = done(p.ctl("allow", GOOD))
    assert f"{p.path}:4:1: this entry opens nothing" in r.stderr
    assert d.open(GOOD)
    d.p.finish()


def test_list_that_is_gone(lab, project):
    p = project("lost")
    p.put("good.example.org\n")
    d = Driven(lab, args=["-p", "lost"])
    text = p.text
    p.remove()
    r = p.ctl("allow", TWO)
    assert r.returncode == 1 and "the list of 'lost' is gone" in r.stderr
    assert d.open(GOOD) is None
    p.put(text)
    done(p.ctl("allow", TWO))
    assert d.open(TWO) is None
    d.p.finish()


# --- lint ---

def test_lint(lab, project):
    path = lab.write("l.hosts", "good.example.org\n*.com\ngood.example.org:443"
                     "\n*.github.io\n@github\n192.0.2.1:53\nfree.invalid\n")
    r = done(lab.ctl("lint", path))
    lines = r.stdout.splitlines()
    at = [x.split(": warning: ")[0].removeprefix(path) for x in lines]
    assert at == [":2:1", ":3:1", ":4:1", ":5:1", ":6:11"]
    r = done(lab.ctl("lint", "--json", path))
    found = json.loads(r.stdout)
    assert [(x["file"], f":{x['line']}:{x['column']}") for x in found] == [
        (path, x) for x in at]
    assert {x["severity"] for x in found} == {"warning"}
    bad = lab.write("bad.hosts", "good.example.org\nx:99999\n*.com\n a b\n")
    r = lab.ctl("lint", path, bad)
    assert r.returncode == 1
    assert f"{bad}:2:3: error: " in r.stdout
    assert f"{bad}:4:4: error: " in r.stdout
    assert f"{path}:2:1: warning: " in r.stdout
    (a, b) = json.loads(lab.ctl("lint", "--json", bad).stdout)
    assert a["severity"] == b["severity"] == "error"
    for missing in (path + ".not", lab.work(), "/dev/zero"):
        r = lab.ctl("lint", missing)
        assert r.returncode == 1 and missing in r.stderr
    r = lab.ctl("lint", bad, "--json", path)
    assert {x["file"] for x in json.loads(r.stdout)} == {bad, path}
    assert lab.ctl("lint").returncode == 2
    assert lab.ctl("lint", "--no-such", path).returncode == 2


def test_lint_resolves_only_when_asked(lab):
    path = lab.write("r.hosts", "good.example.org\nnowhere.example.org:22\n"
                     "*.example.net\n!other.example.org\n11.0.2.1:443\n"
                     "nowhere.example.org:23\n")
    mark = len(lab.dns.log)
    assert done(lab.ctl("lint", path)).stdout == ""
    assert len(lab.dns.log) == mark
    r = done(lab.ctl("lint", "--resolve", path))
    assert r.stdout == (f"{path}:2:1: warning: 'nowhere.example.org' doesn't "
                        "resolve\n")
    assert {q.name.rstrip(".") for q in lab.dns.log[mark:]} == {
        "good.example.org", "nowhere.example.org"}


def test_lint_knows_what_was_used(lab, project):
    p = project("uses")
    p.put("good.example.org\ntwo.example.org\n")
    r = done(lab.ctl("lint", "--unused", p.path))
    assert r.stdout == "" and "no running sandbox" in r.stderr
    d = Driven(lab, args=["-p", "uses"])
    assert d.open(GOOD) is None
    r = done(lab.ctl("lint", "--unused", p.path))
    assert r.stdout.splitlines() == [
        f"{p.path}:2:1: warning: 'two.example.org' has not been used"]
    d.p.finish()


# --- presets ---

def test_presets(lab):
    r = done(lab.ctl("presets"))
    rows = {x.split()[0]: x for x in r.stdout.splitlines() if x}
    for name in ("pypi conda cran bioconductor npm huggingface github ncbi "
                 "ensembl uniprot ebi").split():
        assert name in rows
    assert "accepts uploads" in rows["github"]
    assert "accepts uploads" not in rows["pypi"]
    for name in ("pypi", "@PyPI"):
        r = done(lab.ctl("presets", name))
        assert {"pypi.org", "files.pythonhosted.org"} < set(
            r.stdout.splitlines())
        assert "uploads: no - " in r.stdout
    one = json.loads(done(lab.ctl("presets", "pypi", "--json")).stdout)
    assert one["entries"] == ["pypi.org", "files.pythonhosted.org"]
    assert one["built_in"] and not one["uploads"]
    every = json.loads(done(lab.ctl("presets", "--json")).stdout)
    assert {x["name"] for x in every} <= set(rows)
    r = lab.ctl("presets", "pipy")
    assert r.returncode == 1 and "'pypi'" in r.stderr
    assert lab.ctl("presets", "a", "b").returncode == 2


def test_preset_of_the_user(lab, project):
    """It takes the built-in one's place, also for a run."""
    d = os.path.join(lab.homes["user"], "config/egret/presets")
    os.makedirs(d)
    try:
        with open(d + "/pypi.hosts", "w", encoding="ascii") as f:
            f.write("# title: Ours\n# uploads: no\ngood.example.org\n")
        with open(d + "/odd.hosts", "w", encoding="ascii") as f:
            f.write("# title: Odd\nno entry\n")
        one = json.loads(done(lab.ctl("presets", "pypi", "--json")).stdout)
        assert one["entries"] == [GOOD] and not one["built_in"]
        assert one["file"] == d + "/pypi.hosts"
        r = lab.ctl("presets", "odd")
        assert r.returncode == 1 and f"{d}/odd.hosts:2:" in r.stderr
        r = lab.run(["curl", "-sS", f"https://{GOOD}/"],
                    args=["--allow", "@pypi"],
                    flows=[(ADDR[GOOD], "tcp", 443)], check=False)
        assert r.rc == 0, r.err
    finally:
        for name in ("pypi", "odd"):
            os.unlink(f"{d}/{name}.hosts")
        os.rmdir(d)


@pytest.mark.parametrize("cmd", ["allow", "deny", "remove", "set", "lint",
                                 "presets"])
def test_help(lab, cmd):
    r = done(lab.ctl(cmd, "--help"))
    assert r.stdout.startswith("usage: egret " + cmd) and r.stderr == ""
