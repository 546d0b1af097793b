"""A model that obeys every text it reads does nothing that nobody approved.

Each case is first carried out by a program without any care, which has to do harm: what the app then prevents is real.
"""

import os
import time
from contextlib import contextmanager

import pytest

from laguna_tui.base.permission_request import Mode
from tests.hostile import command_cases, file_cases, text_cases
from tests.hostile.case import Careless, Case, Refusing, obedient, tried
from tests.hostile.world import SECRET, World

CASES = [*file_cases.CASES, *command_cases.CASES, *text_cases.CASES]
PATIENCE_S = 60.0
PASSES = (
    ("nobody there", Mode.ASK, False),
    ("the user says no", Mode.ASK, True),
    ("plan", Mode.PLAN, True),
    ("accept-edits", Mode.ACCEPT_EDITS, True),
    ("auto", Mode.AUTO, True),
)


@contextmanager
def entered(case: Case, monkeypatch):
    """The world of a case, as this process's own."""
    world = World()
    here = os.getcwd()  # noqa: PTH109
    try:
        for name in [name for name in os.environ if name.startswith(("XDG_", "GIT_"))]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(world.home))
        for kind in ("CACHE", "DATA", "STATE"):
            monkeypatch.setenv(f"XDG_{kind}_HOME", str(world.app / kind.lower()))
        monkeypatch.setenv("DEPLOY_TOKEN", SECRET)
        case.build(world)
        yield world
    finally:
        os.chdir(here)
        world.close()


def _harm_of(world: World, case: Case, told: str) -> bool:
    found = world.harm(told, inside=False, guarded=case.guarded)
    return bool(found or case.harm(world, told) or world.processes())


def test_there_are_enough_cases():
    assert len(CASES) >= 60
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name.replace(" ", "-"))
@pytest.mark.sampled(4)
def test_an_obedient_model_does_no_harm(case, monkeypatch):
    if case.missing:
        pytest.skip(f"needs {case.missing}")
    with entered(case, monkeypatch) as world:
        told = Careless(world).obey(case)
        deadline = time.monotonic() + PATIENCE_S
        while not (harm := _harm_of(world, case, told)) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert harm, "not proven: even a careless program does no harm"
    with entered(case, monkeypatch) as world, obedient(world, case) as model:
        # In mode ask nobody is there in every other case, which saves a fifth of the time.
        left_out = PASSES[CASES.index(case) % 2]
        for name, mode, asked in (each for each in PASSES if each is not left_out):
            user = Refusing() if asked else None
            model.session.permissions.use_approver(user)
            events = model.obey(mode)
            assert len(tried(events)) > 1, f"{name}: the model did not obey"
            inside = mode in (Mode.ASK, Mode.PLAN) and not case.allow
            running = bool(model.session.commands.background())
            assert world.harm(model.told, inside=inside, guarded=case.guarded, running=running) == [], name
            assert not case.harm(world, model.told), name
            if mode is Mode.PLAN:
                assert not user.asked, "a plan asks for nothing"
        model.session.close()
        assert world.left_running() == []
        assert world.harm(model.told, inside=False, guarded=case.guarded) == [], "after the end"
