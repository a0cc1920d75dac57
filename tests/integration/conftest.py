# SPDX-License-Identifier: GPL-2.0-or-later
"""Fixtures of the integration suite, and what a skip means.

EGRET_BIN names the binary (default build/egret). EGRET_MUST_WORK=1 turns every
skip into a failure but those listed in ALLOWED_SKIPS.
"""
import os
import signal
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import lab as lab_module  # noqa: E402  (needs the path above)

# Beginning of a skip's reason -> why it is right even where all must work.
ALLOWED_SKIPS = {
    "needs real root": "the rootless form can't have it",
    "needs a user namespace lab": "only the rootless form has a namespace "
                                  "whose settings it may change",
    "not in the rootless form": "it starts that very form itself",
    "kernel without": "the feature doesn't exist here, so it can't leak",
}


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "who(*names): who runs egret; without it, the user only")
    config.addinivalue_line("markers", "nobinary: works without egret")


def pytest_generate_tests(metafunc):
    own = [m.args[0] for m in metafunc.definition.iter_markers("parametrize")]
    if "who" not in metafunc.fixturenames or any("who" in a for a in own):
        return
    mark = metafunc.definition.get_closest_marker("who")
    names = mark.args if mark else ("user",)
    possible = lab_module.runners()
    metafunc.parametrize("who", [
        n if n in possible else pytest.param(n, marks=pytest.mark.skip(
            reason="needs real root"))
        for n in names])


def pytest_collection_modifyitems(items):
    have = os.path.exists(os.environ.get(
        "EGRET_BIN", os.path.join(lab_module.ROOT, "build/egret")))
    for item in items:
        if not have and not item.get_closest_marker("nobinary"):
            item.add_marker(pytest.mark.skip(reason="no egret binary"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    # An expected failure is strict: the day its part is built it fails.
    if not report.skipped or hasattr(report, "wasxfail") or \
            os.environ.get("EGRET_MUST_WORK") != "1":
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) \
        else str(report.longrepr)
    reason = reason.removeprefix("Skipped: ")
    if not any(reason.startswith(ok) for ok in ALLOWED_SKIPS):
        report.outcome = "failed"
        report.longrepr = f"skipped although EGRET_MUST_WORK=1: {reason}"


@pytest.fixture(scope="session")
def the_lab():
    if os.geteuid() != 0:
        pytest.exit("the lab needs root; as a user start run-rootless", 4)
    # A run that is given up (timeout(1)) still takes its namespaces down.
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("terminated", 143))
    x = lab_module.Lab()
    yield x
    x.close()


@pytest.fixture
def lab(the_lab):
    """The lab, its zone as it was, and no trace of the test afterwards."""
    the_lab.dns.restore()
    yield the_lab
    the_lab.dns.restore()
    the_lab.check_leaks()


