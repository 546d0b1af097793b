"""Whatever a command tries that succeeds without a sandbox fails in it; Landlock's exceptions are the named ones."""

import json
import os
import select
from collections import deque

import pytest

from laguna_tui.sandbox.landlock import gaps
from laguna_tui.sandbox.native.landlock_ruleset import LEAST_ABI, landlock_abi
from laguna_tui.sandbox.probe import SandboxKind, probe_sandbox
from tests.app.sandbox.attempts import ATTEMPTS
from tests.app.sandbox.world import NOBODY, PYTHON, Forked, attempt, outside_tmp

HERE = os.getuid()
USERS = (HERE, NOBODY) if HERE == 0 else (HERE,)
AT_ONCE = 6
"""Attempts that run side by side, each in its own world: most of their time they wait."""


@pytest.fixture(params=USERS, ids=lambda uid: "root" if uid == 0 else "user")
def uid(request):
    return request.param


@pytest.fixture(params=[SandboxKind.BUBBLEWRAP, SandboxKind.LANDLOCK], ids=lambda kind: kind.value)
def kind(request):
    return request.param


def cannot_be(made, uid, kind):
    """Why an attempt says nothing on this machine, empty if it does."""
    if uid != HERE and not (PYTHON.startswith("/usr/") and os.access(outside_tmp(), os.X_OK)):
        return "no Python that another user can run"
    if made.root and uid != 0:
        return "only root can do it"
    if kind is SandboxKind.LANDLOCK:
        return "" if landlock_abi() >= LEAST_ABI else "this kernel has no Landlock"
    found = probe_sandbox()
    return "" if found.kind is SandboxKind.BUBBLEWRAP else found.sentence


class Attempted:
    """The results of attempts, each in a world of its own, some of them made side by side.

    Each is made once: (attempt, user, kind of sandbox or None for outside).
    """

    def __init__(self, wanted):
        self._waiting = deque(dict.fromkeys(wanted))
        self._running = {}
        self._results = {}

    def result(self, *key):
        while key not in self._results:
            self._start_more()
            self._finish_one()
        self._start_more()
        assert self._results[key], "the process of the attempt died"
        return json.loads(self._results[key])

    def close(self):
        while self._running:
            self._finish_one()

    def _start_more(self):
        while self._waiting and len(self._running) < AT_ONCE:
            made, uid, kind = self._waiting[0]
            if self._running and (made.alone or any(other.alone for other, _, _ in self._running)):
                return
            status = kind and {
                "kind": kind.value,
                "program": probe_sandbox().program if kind is SandboxKind.BUBBLEWRAP else "",
            }
            self._running[self._waiting.popleft()] = Forked(
                uid if uid != HERE else None, lambda base, made=made, status=status: attempt(base, made, status)
            )

    def _finish_one(self):
        ready, _, _ = select.select([forked.reader for forked in self._running.values()], [], [])
        key = next(key for key, forked in self._running.items() if forked.reader == ready[0])
        self._results[key] = self._running.pop(key).text()


@pytest.fixture(scope="module")
def attempted(request):
    """The attempts of the tests that were asked for."""
    wanted = []
    for item in request.session.items:
        if getattr(item, "function", None) is test_what_succeeds_outside_fails_in_the_sandbox:
            made, uid, kind = (item.callspec.params[name] for name in ("made", "uid", "kind"))
            if not cannot_be(made, uid, kind):
                wanted += [(made, uid, None), (made, uid, kind)]
    attempted = Attempted(wanted)
    yield attempted
    attempted.close()


@pytest.mark.parametrize("made", ATTEMPTS, ids=lambda made: made.name.replace(" ", "-"))
@pytest.mark.sampled(5)
def test_what_succeeds_outside_fails_in_the_sandbox(made, uid, kind, attempted):
    if why := cannot_be(made, uid, kind):
        pytest.skip(why)
    outside = attempted.result(made, uid, None)
    if made.kernel and not outside["escaped"]:
        pytest.skip("this kernel refuses it without a sandbox too")
    assert outside["escaped"], f"not proven outside: {outside['output']}"
    inside = attempted.result(made, uid, kind)
    expected = kind is SandboxKind.LANDLOCK and bool(made.gap) and (("root" if uid == 0 else "user") in made.gap_of)
    assert inside["escaped"] == expected, inside["output"]


def test_every_exception_of_landlock_is_a_named_gap():
    named = "\n".join(gaps(landlock_abi()))
    assert [made.name for made in ATTEMPTS if made.gap not in named] == []
