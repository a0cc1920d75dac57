# SPDX-License-Identifier: GPL-2.0-or-later
"""Presets of the user beside the built-in ones, and what run says of them."""
import os

import pytest

import lab as lab_module

ALL = pytest.mark.who("user", "root", "unshare-r")
UPLOADS = "# title: Mine\n# uploads: yes - by post\n"


class Presets:
    """The user's directory of presets; what a test put there goes again."""

    def __init__(self, lab):
        self.lab, self.made = lab, []

    def put(self, name, text, who="user"):
        home = self.lab.homes["root" if who == "root" else "user"]
        folder = os.path.join(home, "config", "egret", "presets")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, name + ".hosts")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        self.made.append(path)
        if who != "root" and not self.lab.rootless:
            for p in (os.path.dirname(folder), folder, path):
                os.chown(p, lab_module.UID, lab_module.UID)
        return path

    def close(self):
        for path in set(self.made):
            os.unlink(path)


@pytest.fixture
def presets(lab):
    p = Presets(lab)
    yield p
    p.close()


@ALL
def test_a_preset_opens_its_hosts(lab, presets, who):
    presets.put("mine", "# uploads: no\ngood.example.org  # one\n", who)
    r = lab.run(["sh", "-c", "curl -sS https://good.example.org/ && "
                 "curl -s -m 5 https://two.example.org/; echo rc=$?"],
                allow=["@mine"], who=who, check=False)
    assert '"good.example.org"' in r.out and "rc=6" in r.out, r.err
    assert [x["what"] for x in r.refused] == ["two.example.org"]
    assert {q.name for q in r.dns} == {"good.example.org"}
    allowed = [e for e in r.events if e["event"] == "allowed"
               and e["kind"] == "tcp"]
    assert [e["entry"] for e in allowed] == ["@mine"]


def test_a_users_preset_takes_the_place_of_a_built_in_one(lab, presets):
    presets.put("pypi", "# uploads: no\ngood.example.org\n")
    r = lab.run(["sh", "-c", "curl -sS https://good.example.org/ && "
                 "curl -s -m 5 https://pypi.org/; echo rc=$?"],
                allow=["@PyPI"], check=False)
    assert '"good.example.org"' in r.out and "rc=6" in r.out, r.err


def test_a_preset_is_denied(lab, presets):
    presets.put("mine", "good.example.org\n")
    r = lab.run(["sh", "-c", "curl -s -m 5 https://good.example.org/; "
                 "echo rc=$?; curl -sS https://two.example.org/"],
                allow=["*.example.org", "!@mine"], check=False)
    assert "rc=6" in r.out and '"two.example.org"' in r.out, r.err
    assert {q.name for q in r.dns} == {"two.example.org"}


def test_errors_have_the_place_in_the_preset(lab, presets):
    path = presets.put("bad", "good.example.org\n\n  two.example.org:0\n")
    r = lab.run(["true"], allow=["@bad"])
    assert r.rc == 125
    assert f"{path}:3:19: port 0 is not a port" in r.err, r.err
    # Whoever doesn't name it isn't troubled by it.
    assert lab.run(["true"], allow=["good.example.org"]).rc == 0


def test_an_unknown_preset_and_its_neighbour(lab):
    r = lab.run(["true"], allow=["@pipy"])
    assert r.rc == 125
    assert "@pypi may have been meant" in r.err


def test_a_link_is_not_obeyed(lab, presets):
    real = lab.write("real.hosts", "good.example.org\n")
    path = presets.put("linked", "")
    os.unlink(path)
    os.symlink(real, path)
    r = lab.run(["true"], allow=["@linked"])
    assert r.rc == 125 and "is a symbolic link" in r.err, r.err


def answer(running, start=0):
    """Where the next line of answers ends, and what it says."""
    m = running.out.wait(r'\{"r": (.*)\}\n', start=start)
    return m.end(), m.group(1).decode()


def test_a_running_command_keeps_the_presets_of_its_start(lab, presets):
    path = lab.write("list", "@mine\n")
    presets.put("mine", "# uploads: no\ngood.example.org\n")
    p = lab.spawn_py("""
out(r=sorted(os.listdir(os.environ['XDG_CONFIG_HOME'] + '/egret')))
for line in sys.stdin:
    out(r=dnsq(line.strip())['rcode'])
""", allowlist=path)
    assert answer(p)[1] == "[]"  # hidden with the directory
    presets.put("mine", "# uploads: no\ntwo.example.org\n")
    with open(path, "a", encoding="utf-8") as f:
        f.write("three.example.org\n")
    p.wait_event(lambda e: e["event"] == "policy")
    rcodes, end = [], 0
    for name in ("good", "two", "three"):
        end, _ = answer(p, end)
        p.send(f"{name}.example.org\n".encode())
        rcodes.append(answer(p, end)[1])
    p.proc.stdin.close()
    p.finish(check=False)
    assert rcodes == ['"NOERROR"', '"NXDOMAIN"', '"NOERROR"']


def test_run_says_once_what_is_wide(lab, presets):
    presets.put("mine", UPLOADS + "good.example.org\n")
    presets.put("other", UPLOADS + "two.example.org\n")
    allow = ["@mine", "@other", "@mine private", "*.com", "*.github.io"]
    r = lab.run(["true"], allow=allow)
    lines = r.err.splitlines()
    assert lines == [
        "egret: --allow: '*.com' opens the names of everyone below a public "
        "suffix; the names of one owner, as in *.example.com, were meant",
        "egret: --allow: '*.github.io' opens pages that any user can publish, "
        "an attacker's too; the exact host was meant",
        "egret: hosts of @mine, @other accept uploads; 'egret presets NAME' "
        "says which way"]
    r = lab.run(["true"], allow=allow, args=["--quiet"])
    assert r.err == ""
    r = lab.run(["true"], allow=["*", "@pypi", "example.org"])
    assert r.err == ""


def test_run_says_it_shortly(lab):
    allow = [f"*.{c}" for c in ("com", "org", "net", "dev", "io", "app", "eu")]
    r = lab.run(["true"], allow=allow)
    lines = r.err.splitlines()
    assert len(lines) == 6, r.err
    assert lines[-1] == "egret: and 2 more of this kind; see 'egret lint'"
