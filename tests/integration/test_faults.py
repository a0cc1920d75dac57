# SPDX-License-Identifier: GPL-2.0-or-later
"""What can't be set up ends with a sentence, never unconfined (P8)."""
import os
import re

import pytest


def sentence(r):
    lines = [x for x in r.err.splitlines() if x]
    assert lines and all(x.startswith("egret: ") for x in lines), r.err
    return r.err


def in_own_userns(lab, setup, cmd):
    """Run cmd after setup, both as root of a fresh user namespace."""
    return lab.direct(["unshare", "-r", "sh", "-c", setup + ' && exec "$@"',
                       "sh", *cmd])


def egret(lab, *args):
    return [lab.egret, "run", *args, "--", "sh", "-c",
            "echo started; curl -s -m 2 http://11.0.2.30/"]


@pytest.mark.parametrize("what", ["user", "net", "pid", "mnt"])
def test_no_namespaces_left(lab, what):
    """The limits of a nested user namespace, so no setting of the host."""
    path = f"/proc/sys/user/max_{what}_namespaces"
    if not os.path.exists(path):
        pytest.skip("kernel without " + path)
    r = in_own_userns(lab, f"echo 0 > {path}", egret(lab))
    assert r.rc == 125, r.err
    assert r.out == ""
    assert "namespace" in sentence(r)
    assert not [p for p in r.packets if p.dst == "11.0.2.30"]
    control = in_own_userns(lab, "true", egret(lab))
    assert control.rc != 125 and "started" in control.out, control.err


def test_no_resolv_conf_bind_target(lab):
    """No file to put the sandbox's resolver into: no run without it."""
    r = lab.direct(["unshare", "-rm", "sh", "-c", "mount -t tmpfs t /etc && "
                    'exec "$@"', "sh", lab.egret, "run", "--", "sh", "-c",
                    "cat /etc/resolv.conf"])
    assert r.rc == 125 and sentence(r) or "198.18.0.1" in r.out, r.err


def test_few_descriptors(lab):
    """A small hard limit: a sentence, or a run that works within it."""
    cmd = " ".join([lab.egret, "run", "--allow", "good.example.org", "--"])
    for n in (8, 16, 64):
        r = lab.direct(["bash", "-c", f"ulimit -n {n}; exec {cmd} curl -sS "
                        "-m 5 https://good.example.org/"])
        assert r.rc == 125 and sentence(r) or '"good.example.org"' in r.out, (
            n, r.rc, r.err)
    assert '"good.example.org"' in r.out, "64 descriptors should be enough"


def test_runtime_directory_not_writable(lab):
    r = lab.direct([lab.egret, "run", "--", "echo", "started"],
                   env={"XDG_RUNTIME_DIR": "/proc/nowhere"})
    assert (r.rc == 125 and r.out == "" and sentence(r)) or (
        r.rc == 0 and "started" in r.out)


def test_allowlist_does_not_exist(lab):
    r = lab.run(["echo", "started"], args=["--allowlist", "/no/such/file"])
    assert r.rc == 125 and r.out == "" and "/no/such/file" in sentence(r)


@pytest.mark.parametrize("kind", ["directory", "fifo"])
def test_allowlist_is_no_file(lab, kind):
    path = lab.work() + "/" + kind
    os.mkdir(path) if kind == "directory" else os.mkfifo(path)
    r = lab.run(["echo", "started"], args=["--allowlist", path], timeout=8)
    assert r.rc == 125 and r.out == "" and path in sentence(r)


def test_full_events_file_does_not_stop_the_run(lab):
    if not os.path.exists("/dev/full"):
        pytest.skip("kernel without /dev/full")
    r = lab.run(["sh", "-c", "curl -s -m 5 https://no.example.org/; "
                 "curl -sS https://good.example.org/"], events=False,
                args=["--events", "/dev/full"], allow=["good.example.org"])
    assert '"good.example.org"' in r.out


def test_stderr_is_closed(lab):
    """Refusals with nowhere to go don't hang or end the run."""
    r, w = os.pipe()
    os.close(r)
    try:
        x = lab.spawn(["sh", "-c", "for i in 1 2 3; do curl -s -m 5 "
                       "https://no$i.example.org/; done; "
                       "curl -sS https://good.example.org/ 2>&1"], stderr=w,
                      allow=["good.example.org"])
        x.err = None
        assert '"good.example.org"' in x.finish().out
    finally:
        os.close(w)


def test_commands_that_cannot_start(lab):
    path = lab.write("not-executable", "#!/bin/sh\necho no\n")
    os.chmod(path, 0o644)
    r = lab.run([path])
    assert r.rc == 126 and path in sentence(r)
    r = lab.run([path + "-missing"])
    assert r.rc == 127 and re.search("missing", sentence(r))
    bad = lab.write("bad-interpreter", "#!/no/such/interpreter\n")
    os.chmod(bad, 0o755)
    assert lab.run([bad]).rc in (126, 127)
    assert lab.run([lab.work()]).rc == 126          # a directory
