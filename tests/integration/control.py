# SPDX-License-Identifier: GPL-2.0-or-later
"""A connection to a sandbox's control socket, as its user, from its netns."""
import json
import os
import subprocess


def path_of(lab, ident, who="user"):
    return os.path.join(lab.env(who)["XDG_RUNTIME_DIR"], "egret", ident,
                        "control.sock")


class Control:
    def __init__(self, lab, ident, who="user"):
        self.p = subprocess.Popen(
            lab.enter(who) + ["socat", "-t", "10", "-", "UNIX-CONNECT:"
                              + path_of(lab, ident, who)],
            env=lab.env(who), stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def raw(self, line):
        self.p.stdin.write(line + b"\n")
        self.p.stdin.flush()
        return json.loads(self.p.stdout.readline())

    def ask(self, op, **members):
        return self.raw(json.dumps({"op": op, **members}).encode())

    def close(self):
        self.p.stdin.close()
        self.p.stdout.close()
        self.p.wait(5)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
