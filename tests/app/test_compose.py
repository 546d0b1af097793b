"""The composed session on a real engine: what settings choose, and that a failed assertion costs one answer only."""

import subprocess
import sys

import pytest

from laguna_engine.errors import RequestError
from laguna_tui.compose import LocalSession
from laguna_tui.errors import UserError
from laguna_tui.events import StepFinished, TurnFinished
from laguna_tui.settings import Settings


@pytest.fixture
def session(tiny_path, tmp_path):
    settings = Settings(model=str(tiny_path), context=2048, threads=1, max_tokens=8)
    session = LocalSession.prepare(settings, tmp_path)
    yield session
    session.close()


def test_opening_tells_the_context_and_what_it_runs_on(session):
    stages = []
    info = session.open(lambda progress: stages.append(progress.stage))
    assert info.context_size == 2048
    assert "f16 cache" in info.details
    assert set(stages) == {"weights", "context"}


def test_a_message_is_answered_and_a_new_chat_forgets_it(session):
    session.open(lambda progress: None)
    first = list(session.ask("hello"))
    session.new_chat()
    again = list(session.ask("hello"))
    assert isinstance(first[-1], TurnFinished)
    used = [next(e.context_used for e in events if isinstance(e, StepFinished)) for events in (first, again)]
    assert used[0] == used[1]


def test_closing_twice_is_harmless(session):
    session.open(lambda progress: None)
    session.close()
    session.close()
    with pytest.raises(UserError, match="no model is loaded"):
        list(session.ask("hello"))


def test_a_seed_the_sampler_cannot_have_is_refused_before_the_model_loads(tiny_path, tmp_path):
    session = LocalSession.prepare(Settings(model=str(tiny_path), seed=-5), tmp_path)
    with pytest.raises(RequestError, match="seed is -5"):
        session.open(lambda progress: pytest.fail("the model was loaded"))


ABORT = """
import ctypes, os, sys
from pathlib import Path
from laguna_engine.errors import NativeAbort
from laguna_engine.native.library import lib
from laguna_engine.native.structs import Batch
from laguna_tui.compose import LocalSession
from laguna_tui.events import TurnFinished
from laguna_tui.settings import Settings

session = LocalSession.prepare(Settings(model=sys.argv[1], context=2048, threads=1, max_tokens=8), Path(sys.argv[2]))
session.open(lambda progress: None)
print(type(list(session.ask("hello"))[-1]).__name__)
context, tokens = session._parts.engine._target.context, (ctypes.c_int32 * 513)(*[5] * 513)
context.decode = lambda *_: lib.llama_decode(context._handle, Batch(513, tokens))
try:
    list(session.ask("are you there?"))
except NativeAbort as error:
    print("lost" if "open the model again" in str(error) else error)
print(type(list(session.ask("and now?"))[-1]).__name__)
session.close()
"""


def test_after_an_abort_the_next_message_gets_a_fresh_engine_and_the_same_conversation(tiny_path, tmp_path):
    command = [sys.executable, "-c", ABORT, str(tiny_path), str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.split() == ["TurnFinished", "lost", "TurnFinished"]
