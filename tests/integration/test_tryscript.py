# SPDX-License-Identifier: GPL-2.0-or-later
"""scripts/try --offline shows its three steps and returns 0."""
import os
import subprocess
import sys

import lab as lab_module

TRY = os.path.join(lab_module.ROOT, "scripts/try")


def run_try(lab, *args, cmd=(), **env):
    e = dict(os.environ, EGRET_BIN=lab.egret, **env)
    return subprocess.run([*cmd, TRY, *args], capture_output=True, text=True,
                          env=e, timeout=60, check=False)


def test_offline(lab):
    """As root it drops its rights; in the rootless lab it is a user's."""
    r = run_try(lab, "--offline")
    assert r.returncode == 0, r.stdout + r.stderr
    assert "Hello, this is example.org." in r.stdout
    assert "egret: refused docs.example.org (DNS A" in r.stdout
    assert "to allow: egret allow " in r.stdout
    assert "Hello, this is docs.example.org." in r.stdout
    refused = r.stdout.index("egret: refused docs")
    assert r.stdout.index("Hello, this is example.org.") < refused
    assert refused < r.stdout.index("Hello, this is docs.example.org.")
    assert "\033" not in r.stdout


def test_colours_only_on_a_terminal(lab):
    tty = (sys.executable, "-c", "import os, pty, sys\n"
           "sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))")
    r = run_try(lab, "--offline", cmd=tty, TERM="xterm")
    assert r.returncode == 0 and "\033[" in r.stdout
    r = run_try(lab, "--offline", cmd=tty, TERM="xterm", NO_COLOR="1")
    assert r.returncode == 0 and "\033[" not in r.stdout


def test_unknown_option(lab):
    r = run_try(lab, "--nonsense")
    assert r.returncode == 2 and "--nonsense" in r.stderr
