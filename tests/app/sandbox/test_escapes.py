"""Whatever a command tries that succeeds without a sandbox fails in it; Landlock's exceptions are the named ones."""

import os
from functools import cache

import pytest

from laguna_engine.native.landlock import LEAST_ABI, landlock_abi
from laguna_tui.sandbox.landlock import gaps
from laguna_tui.sandbox.probe import SandboxKind, probe_sandbox
from tests.app.sandbox.attempts import ATTEMPTS
from tests.app.sandbox.world import NOBODY, PYTHON, as_user, attempt, outside_tmp

HERE = os.getuid()
USERS = (HERE, NOBODY) if HERE == 0 else (HERE,)


@pytest.fixture(params=USERS, ids=lambda uid: "root" if uid == 0 else "user")
def uid(request):
    if request.param != HERE and not (PYTHON.startswith("/usr/") and os.access(outside_tmp(), os.X_OK)):
        pytest.skip("no Python that another user can run")
    return request.param


def landlocked():
    return landlock_abi() >= LEAST_ABI


@pytest.fixture(params=[SandboxKind.BUBBLEWRAP, SandboxKind.LANDLOCK], ids=lambda kind: kind.value)
def status(request):
    """The sandbox, as far as it works on this machine."""
    if request.param is SandboxKind.LANDLOCK:
        if not landlocked():
            pytest.skip("this kernel has no Landlock")
        return {"kind": "landlock", "program": ""}
    found = probe_sandbox()
    if found.kind is not SandboxKind.BUBBLEWRAP:
        pytest.skip(found.sentence)
    return {"kind": "bubblewrap", "program": found.program}


@cache
def proven_outside(made, uid):
    return as_user(uid if uid != HERE else None, lambda base: attempt(base, made, None))


@pytest.mark.parametrize("made", ATTEMPTS, ids=lambda made: made.name.replace(" ", "-"))
def test_what_succeeds_outside_fails_in_the_sandbox(made, uid, status):
    if made.root and uid != 0:
        pytest.skip("only root can do it")
    outside = proven_outside(made, uid)
    if made.kernel and not outside["escaped"]:
        pytest.skip("this kernel refuses it without a sandbox too")
    assert outside["escaped"], f"not proven outside: {outside['output']}"
    inside = as_user(uid if uid != HERE else None, lambda base: attempt(base, made, status))
    expected = status["kind"] == "landlock" and bool(made.gap) and (("root" if uid == 0 else "user") in made.gap_of)
    assert inside["escaped"] == expected, inside["output"]


def test_every_exception_of_landlock_is_a_named_gap():
    named = "\n".join(gaps(landlock_abi()))
    assert [made.name for made in ATTEMPTS if made.gap not in named] == []
