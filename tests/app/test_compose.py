"""The composed session on a real engine: what settings choose, and that a failed assertion costs one answer only."""

import re
import subprocess
import sys
from dataclasses import replace

import pytest

from laguna_engine.config import Speculation
from laguna_engine.engine import Engine
from laguna_engine.errors import EngineClosed, EngineError, RequestError
from laguna_engine.native import cpu_determinism
from laguna_tui.base.errors import UserError
from laguna_tui.base.events import ReplayProgress, StepFinished, TurnFinished
from laguna_tui.base.settings import Settings
from laguna_tui.compose import run_serve
from laguna_tui.server.http_server import ServerOptions
from laguna_tui.session.session import Session
from tests.app.session.place import tokens
from tests.engine import drafters, generic
from tests.scripted_model import scripted_session


@pytest.fixture
def session(tiny_model_path, tmp_path):
    settings = Settings(model=str(tiny_model_path), context=8192, threads=1, max_tokens=8, temperature=0.0)
    session = Session(settings, tmp_path)
    yield session
    session.close()


def test_opening_reports_the_context_and_the_device(session):
    stages = []
    info = session.open(lambda progress: stages.append(progress.stage))
    assert info.context_size == 8192
    assert re.fullmatch(r"\d+ M parameters, [\d.]+ [kM]B, [^,]+", info.details)
    assert set(stages) == {"weights", "context"}


STEPS = [
    "laguna_tui.repo.files.workspace.Workspace.__init__",
    "laguna_tui.session.workspace_context.WorkspaceContext.__init__",
    "laguna_tui.session.workspace_context.WorkspaceContext.attacher",
    "laguna_tui.agent.changes.Changes.__init__",
    "laguna_tui.agent.tools.registry.Toolbox.__init__",
    "laguna_tui.agent.profile.profile_of",
    "laguna_tui.agent.loop.Agent.__init__",
    "laguna_tui.session.session.Session.info",
]


@pytest.mark.parametrize("step", STEPS)
def test_a_session_that_cannot_be_opened_to_the_end_closes_its_engine(session, monkeypatch, step):
    engines = []

    def recorded(options, progress=None, _open=Engine.open):
        engines.append(_open(options, progress))
        return engines[-1]

    def fail(*_, **__):
        raise EngineError("no further")

    monkeypatch.setattr(Engine, "open", recorded)
    with monkeypatch.context() as failing:
        failing.setattr(step, fail)
        with pytest.raises(EngineError, match="no further"):
            session.open(lambda progress: None)
    (engine,) = engines
    with pytest.raises(EngineClosed):
        engine.preview([1])
    # Nothing of the first try is left that a second one could stumble over.
    session.open(lambda progress: None)
    assert isinstance(list(session.chat.ask("hello"))[-1], TurnFinished)


def test_a_message_is_answered_and_a_new_chat_forgets_it(session):
    session.open(lambda progress: None)
    first = list(session.chat.ask("hello"))
    session.chat.new_chat()
    again = list(session.chat.ask("hello"))
    assert isinstance(first[-1], TurnFinished)
    used = [next(e.context_used for e in events if isinstance(e, StepFinished)) for events in (first, again)]
    assert used[0] == used[1]


def test_closing_twice_is_harmless(session):
    session.open(lambda progress: None)
    session.close()
    session.close()
    with pytest.raises(UserError, match="no model is loaded"):
        list(session.chat.ask("hello"))


def test_a_seed_the_sampler_cannot_have_is_refused_before_the_model_loads(tiny_model_path, tmp_path):
    session = Session(Settings(model=str(tiny_model_path), seed=-5), tmp_path)
    with pytest.raises(RequestError, match="seed is -5"):
        session.open(lambda progress: pytest.fail("the model was loaded"))


def test_a_drafter_that_the_user_names_must_be_there_and_none_means_none(tiny_model_path, tmp_path):
    def prepared(drafter):
        session = Session(Settings(model=str(tiny_model_path), drafter=drafter), tmp_path)
        return session.slot.selection.drafter

    with pytest.raises(UserError, match=r"--drafter nowhere\.gguf: no such file"):
        prepared("nowhere.gguf")
    assert prepared(str(tiny_model_path)) == tiny_model_path
    assert prepared("none") is None
    assert prepared(None) is None


def test_speculation_is_switched_off_and_on_without_loading_again(session):
    session.open(lambda progress: None)
    engine = session.slot.engine
    assert session.models.speculate(Speculation.OFF, pytest.fail).mode is Speculation.OFF
    assert not session.parts.agent.options.drafting.enabled
    assert session.models.speculate(Speculation.FAST, pytest.fail).mode is Speculation.FAST
    assert session.parts.agent.options.drafting.enabled
    assert session.slot.engine is engine


def test_a_session_that_began_plain_can_still_speculate(tiny_model_path, tmp_path):
    settings = Settings(model=str(tiny_model_path), context=8192, threads=1, max_tokens=8, speculation="off")
    session = Session(settings, tmp_path)
    session.open(lambda progress: None)
    list(session.chat.ask("hello"))
    before = tokens(session)
    stages = []
    info = session.models.speculate(Speculation.FAST, lambda progress: stages.append(progress.stage))
    assert info.mode is Speculation.FAST
    assert stages
    assert isinstance(list(session.chat.ask("and now?"))[-1], TurnFinished)
    assert tokens(session)[: len(before)] == before
    session.close()


def test_strict_cannot_be_had_once_something_was_computed_and_the_command_that_has_it_is_named(session, monkeypatch):
    monkeypatch.setattr(cpu_determinism, "_chosen", "1")
    info = session.open(lambda progress: None)
    engine = session.slot.engine
    model, folder = session.slot.selection.settings.model, session.folder.path
    assert info.no_strict.endswith(
        f"start again with: laguna-tui --folder {folder} --model {model} --context 8192 --threads 1 --temperature 0.0 "
        "--max-tokens 8 --speculation strict"
    )
    with pytest.raises(UserError, match="start again with: laguna-tui"):
        session.models.speculate(Speculation.STRICT, pytest.fail)
    assert session.slot.mode is Speculation.FAST
    assert session.slot.engine is engine


def test_a_session_that_began_strict_may_go_back_and_forth(session, monkeypatch):
    monkeypatch.setattr(cpu_determinism, "_chosen", "0")
    assert session.open(lambda progress: None).no_strict == ""
    assert session.models.speculate(Speculation.STRICT, lambda progress: None).mode is Speculation.STRICT
    assert session.models.speculate(Speculation.FAST, lambda progress: None).no_strict == ""


def test_an_engine_that_cannot_be_had_leaves_the_session_with_the_one_before(tiny_model_path, tmp_path, monkeypatch):
    settings = Settings(model=str(tiny_model_path), context=8192, threads=1, max_tokens=8, speculation="off")
    session = Session(settings, tmp_path)
    session.open(lambda progress: None)
    list(session.chat.ask("hello"))

    def refuse(options, progress=None, _open=Engine.open):
        if options.speculation is not Speculation.OFF:
            raise EngineError("there is no room for drafts")
        return _open(options, progress)

    monkeypatch.setattr(Engine, "open", refuse)
    with pytest.raises(EngineError, match="no room"):
        session.models.speculate(Speculation.FAST, lambda progress: None)
    assert session.slot.mode is Speculation.OFF
    assert isinstance(list(session.chat.ask("and now?"))[-1], TurnFinished)
    session.close()


def test_what_was_learned_about_drafts_is_there_in_the_next_session(tiny_model_path, tmp_path):
    settings = Settings(model=str(tiny_model_path), context=8192, threads=1, max_tokens=32)

    def learned():
        session = Session(settings, tmp_path, tmp_path / "state")
        session.open(lambda progress: None)
        before = session.slot.engine.economy()
        list(session.chat.ask("hello"))
        session.close()
        return before

    assert learned() != learned()
    assert len(list((tmp_path / "state" / "economy").iterdir())) == 1


@pytest.fixture
def decided(tmp_path):
    """A session with a model that is sure of every token: of random weights, another processor decides near-ties."""
    session = scripted_session(tmp_path, [" ".join(map(str, range(300))), "Fine."], temperature=0.0, max_tokens=8)
    yield session
    session.close()


def test_the_last_answer_is_proved_against_plain_decoding(decided):
    session = decided
    session.open(lambda progress: None)
    with pytest.raises(UserError, match="no answer to verify"):
        session.chat.check_replay(pytest.fail)
    list(session.chat.ask("hello"))
    heard = []
    proof = session.chat.check_replay(heard.append)
    assert (proof.compared, proof.total, proof.difference) == (8, 8, None)
    assert heard == [ReplayProgress(done, 8) for done in range(9)]
    session.chat.new_chat()
    with pytest.raises(UserError, match="no answer to verify"):
        session.chat.check_replay(pytest.fail)


def test_an_answer_that_plain_decoding_does_not_give_is_reported_with_both_candidates(decided):
    session = decided
    session.open(lambda progress: None)
    list(session.chat.ask("hello"))
    backend, vocab = session.slot.local, session.slot.engine.vocab
    honest = backend.last
    other = (honest.tokens[4] + 1) % vocab.size
    backend.last = replace(honest, tokens=(*honest.tokens[:4], other, *honest.tokens[5:]))
    proof = session.chat.check_replay(lambda progress: None)
    assert (proof.compared, proof.total, proof.difference.index) == (4, 8, 4)
    assert proof.difference.answered == vocab.piece(other).decode("utf-8", "replace")
    assert proof.difference.plain == vocab.piece(honest.tokens[4]).decode("utf-8", "replace")
    assert proof.difference.margin > 0


def test_a_cancelled_replay_reports_how_far_it_came(tmp_path):
    # No near-tie of random weights, which another processor decides otherwise, ends the comparison first.
    session = scripted_session(tmp_path, [" ".join(map(str, range(300))), "Fine."], temperature=0.0)
    session.open(lambda progress: None)
    list(session.chat.ask("hello"))
    proof = session.chat.check_replay(lambda progress: session.chat.cancel() if progress.done else None)
    assert 0 < proof.compared < proof.total
    assert proof.difference is None
    assert isinstance(list(session.chat.ask("and now?"))[-1], TurnFinished)
    session.close()


def test_the_conversation_continues_from_its_cache_after_a_replay(session):
    session.open(lambda progress: None)
    list(session.chat.ask("hello"))
    session.chat.check_replay(lambda progress: None)
    started = next(iter(session.chat.ask("and now?")))
    assert started.cached > 0.8 * started.prompt_tokens


ABORT = """
import ctypes, os, sys
from pathlib import Path
from laguna_engine.errors import NativeAbort
from laguna_engine.native.library import lib
from laguna_engine.native.structs import Batch
from laguna_tui.compose import run_serve
from laguna_tui.server.http_server import ServerOptions
from laguna_tui.session.session import Session
from laguna_tui.base.events import TurnFinished
from laguna_tui.base.settings import Settings

session = Session(Settings(model=sys.argv[1], context=8192, threads=1, max_tokens=8), Path(sys.argv[2]))
session.open(lambda progress: None)
print(type(list(session.chat.ask("hello"))[-1]).__name__)
context, tokens = session.slot.engine._sequence.context, (ctypes.c_int32 * 513)(*[5] * 513)
context.decode = lambda *_: lib.llama_decode(context._handle, Batch(513, tokens))
try:
    list(session.chat.ask("are you there?"))
except NativeAbort as error:
    print("lost" if "open the model again" in str(error) else error)
print(type(list(session.chat.ask("and now?"))[-1]).__name__)
session.close()
"""


def test_after_an_abort_the_next_message_gets_a_fresh_engine_and_the_same_conversation(tiny_model_path, tmp_path):
    command = [sys.executable, "-c", ABORT, str(tiny_model_path), str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.split() == ["TurnFinished", "lost", "TurnFinished"]


def test_a_drafters_adapter_and_sampled_drafts_can_be_requested(tiny_model_path, tmp_path):
    variant = drafters.Variant(window=64)
    drafter = drafters.make(variant).write(tmp_path / "drafter.gguf")
    adapter = drafters.adapter(variant, "blk.0.attn_q.weight").write(tmp_path / "mine.gguf")
    settings = Settings(
        model=str(tiny_model_path), drafter=str(drafter), adapter=str(adapter), sample_drafts=True,
        temperature=0.8, context=8192, threads=1, max_tokens=8, draft_length=3, seed=1,
    )  # fmt: skip
    session = Session(settings, tmp_path)
    session.open(lambda progress: None)
    try:
        finished = next(e for e in session.chat.ask("hello") if isinstance(e, StepFinished))
    finally:
        session.close()
    assert finished.stats.drafted


def test_an_adapter_that_is_not_there_is_refused_before_the_model_loads(tiny_model_path, tmp_path):
    session = Session(Settings(model=str(tiny_model_path), adapter=str(tmp_path / "no.gguf")), tmp_path)
    with pytest.raises(UserError, match=r"--adapter .*no\.gguf: no such file"):
        session.open(lambda progress: pytest.fail("the model was loaded"))


def test_serving_a_model_without_tool_calls_says_when_it_calls_tools(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr("laguna_tui.session.engine_slot.keep_open", lambda *_: None)
    file = generic.model("llama").write(tmp_path / "chat.gguf")
    lines = []
    assert run_serve(Settings(model=str(file)), ServerOptions(port=0), lines.append) == 0
    assert lines[:2] == [
        "This model's file has no chat template; ChatML is used instead.",
        "This model's chat format has no tool calls, so the model calls tools only where a request requires it "
        "(tool_choice).",
    ]
