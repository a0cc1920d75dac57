# SPDX-License-Identifier: GPL-2.0-or-later
"""Network namespaces: sockets of another namespace in this process.

A namespace is per thread and a socket belongs for ever to the one it was made
in, so a short-lived thread that enters a namespace can make sockets for
everybody else.
"""
import ctypes
import os
import socket
import subprocess
import threading

CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


def setns(path):
    """Move the calling thread into the network namespace at path."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.setns(fd, CLONE_NEWNET) != 0:
            err = ctypes.get_errno()
            raise OSError(err, "setns " + path + ": " + os.strerror(err))
    finally:
        os.close(fd)


def call(path, fn, *args):
    """Run fn(*args) inside the namespace and return what it returns."""
    box = {}

    def body():
        try:
            setns(path)
            box["value"] = fn(*args)
        except BaseException as e:  # handed to the caller, whatever it is
            box["error"] = e

    t = threading.Thread(target=body)
    t.start()
    t.join()
    if "error" in box:
        raise box["error"]
    return box["value"]


def make_socket(path, *args):
    return call(path, socket.socket, *args)


def sh(*cmd):
    """Run a command of the lab's own set-up; a failure shows its output."""
    p = subprocess.run(cmd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                       text=True, check=False)
    if p.returncode:
        raise RuntimeError(f"{' '.join(cmd)}: {p.returncode}: {p.stdout}")
    return p.stdout
