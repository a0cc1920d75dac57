# SPDX-License-Identifier: GPL-2.0-or-later
"""An egret inside an egret can only narrow what the outer one allows."""
import json

import pytest

import lab as lab_module

A, B, C = "good.example.org", "two.example.org", "three.example.org"
ADDR = {A: "11.0.2.10", B: "11.0.2.11", C: "11.0.2.13"}
WAYS = [pytest.param("user", (), (), id="user"),
        pytest.param("user", ("--root",), (), id="user-root-outer"),
        pytest.param("user", (), ("--root",), id="user-root-inner"),
        pytest.param("user", ("--root",), ("--root",), id="user-root-both")]
PROBE = f"""
def probe():
    return {{n: try_tcp(n, 443, 3)['err'] for n in {[A, B, C]!r}}}
"""


def inner(lab, allow, code, args=()):
    """The command line of an egret that runs a program."""
    cmd = [lab.egret, "run", *args]
    for a in allow:
        cmd += ["--allow", a]
    return cmd + ["--", lab_module.PYTHON, "-c",
                  "from inside import *\n" + PROBE + code]


@pytest.mark.parametrize("who, outer, within", WAYS)
def test_only_what_both_allow(lab, who, outer, within):
    """Outer a, b; inner a, c: a works, each refuses what it doesn't list."""
    r = lab.run(inner(lab, [A, C], "out(**probe())", within), allow=[A, B],
                args=outer, who=who)
    assert r.rc == 0, r.err
    assert r.json[A] is None, r.err
    assert r.json[B] and r.json[C], r.json
    said = {x["what"].split(":")[0]: x["id"] for x in r.refused}
    assert said[B] != said[C], r.err        # by one egret each
    assert {q.name.rstrip(".").lower() for q in r.dns} == {A}
    assert not [p for p in r.packets if p.dst in (ADDR[B], ADDR[C])]


@pytest.mark.parametrize("who, outer, within", WAYS)
def test_addresses_too(lab, who, outer, within):
    """Without any name: SYNs meet both rulesets."""
    code = """
out(**{a: try_tcp(a, 443, 3)['err'] for a in
       ('11.0.2.10', '11.0.2.11', '11.0.2.13')})
"""
    r = lab.run(inner(lab, ["11.0.2.10:443", "11.0.2.13:443"], code, within),
                allow=["11.0.2.10:443", "11.0.2.11:443"], args=outer, who=who)
    assert r.json == {"11.0.2.10": None, "11.0.2.11": "ECONNREFUSED",
                      "11.0.2.13": "ECONNREFUSED"}, r.err


@pytest.mark.who("root")
def test_real_root_is_refused_with_a_sentence(lab, who):
    """Its /proc is partly read-only, so no new one can be mounted."""
    r = lab.run(inner(lab, [A], "out(ran=1)"), allow=[A], who=who)
    assert r.rc == 125 and "ran" not in r.out, r.err
    assert r.err.startswith("egret: ") and r.err.count("\n") == 1, r.err


def test_everything_inside_is_still_the_outers(lab):
    """An inner `*`, and a denial inside of what the outer allows."""
    code = "out(**probe())"
    r = lab.run(inner(lab, ["*"], code), allow=[A, B])
    assert (r.json[A], r.json[B]) == (None, None) and r.json[C], r.err
    r = lab.run(inner(lab, ["*"], code, ["--deny", B]), allow=["*"])
    assert (r.json[A], r.json[C]) == (None, None) and r.json[B], r.err


def test_an_edit_outside_reaches_two_levels_in(lab):
    """The outer list loses an entry: the inner one's connection is reset."""
    path = lab.write("outer.hosts", f"{A}\n{B}\n")
    code = f"""
s = tcp('{A}', 443)
out(up=1)
out(end=read_all(s)[1], again=bool(try_tcp('{A}', 443, 3)['err']),
    other=try_tcp('{B}', 443, 3)['err'])
"""
    p = lab.spawn(inner(lab, ["*"], code), allowlist=path)
    p.out.wait("up")
    with open(path, "w", encoding="ascii") as f:
        f.write(B + "\n")
    assert p.finish().json == {"end": "ECONNRESET", "again": True,
                               "other": None}


def test_three_levels(lab):
    innermost = inner(lab, [A, B], "out(**probe())")
    middle = [lab.egret, "run", "--allow", A, "--allow", C, "--", *innermost]
    r = lab.run(middle, allow=[A, B, C])
    assert json.loads(r.out)[A] is None, r.err
    assert r.json[B] and r.json[C], r.json


def test_the_inner_list_is_no_way_to_the_outer(lab):
    """`egret allow` inside finds only sandboxes of its own level."""
    code = """
import subprocess
def egret(*args):
    p = subprocess.run([sys.argv[1], *args], capture_output=True, text=True)
    return [p.returncode, p.stderr]
own, outer = os.environ['EGRET'], os.environ['OUTER']
out(outer=egret('allow', outer, 'three.example.org'),
    own=egret('allow', own, 'three.example.org'), **probe())
"""
    cmd = inner(lab, [A], code) + [lab.egret]
    r = lab.run(["sh", "-c", 'OUTER=$EGRET; export OUTER; exec "$@"', "sh",
                 *cmd], allow=[A])
    assert r.json["outer"][0] == 1 and r.json["own"][0] == 1, r.json
    assert r.json[A] is None and r.json[C]
