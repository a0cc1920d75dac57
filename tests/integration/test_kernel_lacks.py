# SPDX-License-Identifier: GPL-2.0-or-later
"""A kernel that lacks something, or refuses an element: closed, with a sentence."""
import os
import shutil
import subprocess

import pytest

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "faults",
                      "preload.c")
URL = "https://good.example.org/"


@pytest.fixture
def preload(lab):
    cc = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if not cc:
        pytest.skip("no C compiler")
    path = os.path.join(lab.dir, "bin", "preload.so")
    subprocess.run([cc, "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", "-O1",
                    "-D_GNU_SOURCE", "-o", path, SOURCE, "-ldl"], check=True)
    os.chmod(path, 0o755)
    return path


def env(preload, fault, **more):
    # A sanitized egret wants its own runtime first; the test has nothing of it.
    return {"LD_PRELOAD": preload, "EGRET_FAULT": fault,
            "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0", **more}


@pytest.mark.parametrize("fault,names", [("veth", "veth"),
                                         ("nfnl", "nftables"),
                                         ("nftables", "nftables")])
def test_missing_part_of_the_kernel(lab, preload, fault, names):
    cmd = ["sh", "-c", f"echo started; curl -sS {URL}"]
    allow = ["good.example.org"]
    r = lab.run(cmd, allow=allow, env=env(preload, fault))
    assert r.rc == 125, r.err
    assert "started" not in r.out and not r.dns
    (line,) = r.err.splitlines()
    assert line.startswith("egret: ") and names in line and "doctor" in line
    control = lab.run(cmd, allow=allow, env=env(preload, "none"))
    assert control.rc == 0 and '"good.example.org"' in control.out, control.err


def test_refused_element_is_servfail_and_one_line(lab, preload):
    """P3: the answer doesn't come before the kernel's, and not without it."""
    flag = os.path.join(lab.work("user"), "refuse-elements")
    code = """
out(ready=1)
sys.stdin.readline()
out(first=dnsq('good.example.org')["rcode"],
    err=try_tcp('11.0.2.10', 443)["err"])
sys.stdin.readline()
out(second=dnsq('good.example.org')["data"],
    ok=try_tcp('11.0.2.10', 443)["err"])
"""
    p = lab.spawn_py(code, allow=["good.example.org"],
                     env=env(preload, "elements", EGRET_FAULT_FILE=flag))
    p.out.wait("ready", 20)
    with open(flag, "w", encoding="ascii"):
        pass
    p.send(b"go\n")
    first = p.out.wait(r'\{"first.*\}\n', 20).group(0).decode()
    os.unlink(flag)
    assert '"SERVFAIL"' in first and '"ECONNREFUSED"' in first, first
    p.send(b"go\n")
    r = p.finish()
    assert '"11.0.2.10"' in r.out and '"ok": null' in r.out, r.out
    told = [x for x in r.err.splitlines() if "SERVFAIL" in x]
    assert len(told) == 1 and "good.example.org" in told[0], r.err
