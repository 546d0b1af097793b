"""A session's scorer: on the device that has room, in turns with the drafter where there is room for one of them.

The GPU is a stand-in: its memory is what a test says, and what computes is the CPU.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from laguna_engine.compress.scorer import Scorer
from laguna_engine.errors import EngineError, GraphError, Stopped
from laguna_engine.fit import scorer_device
from laguna_engine.fit.devices import DeviceFacts, Machine
from laguna_engine.fit.scorer_device import scorer_bytes
from laguna_engine.ggml.device import Device
from laguna_tui.base.errors import UserError
from laguna_tui.base.settings import Settings
from laguna_tui.session.session_scorer import SessionScorer
from tests.engine import scorers
from tests.engine.scorers import Variant

TEXTS = ["def add(a, b):\n    return a + b\n", "def sub(a, b):\n    return a - b\n"]
CARD = DeviceFacts("CUDA0", "a card", "gpu", 0, 0)


class Engine:
    """What a scorer asks of an engine: its drafter's bytes, and to have it leave and come back."""

    def __init__(self, drafter_nbytes: int) -> None:
        self.drafter_nbytes = drafter_nbytes
        self.told: list[str] = []

    def rest_drafters(self) -> int:
        self.told.append("rest")
        return self.drafter_nbytes

    def resume_drafters(self) -> None:
        self.told.append("resume")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return scorers.make(Variant()).write(tmp_path / "scorer.gguf")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The devices that scorers were opened on."""
    found, really = [], Scorer.open

    def note(path, *, device=None, **how):
        found.append("CPU" if device is None else "CUDA0")
        return really(path, device=device, **how)

    monkeypatch.setattr(Scorer, "open", note)
    monkeypatch.setattr(scorer_device, "open_device", lambda name: Device.cpu())
    return found


def slot(path: Path, monkeypatch, free: int, engine: Engine | None = None, **settings) -> SessionScorer:
    card = replace(CARD, free=free)
    monkeypatch.setattr(scorer_device, "read_machine", lambda: Machine((card,), 1 << 40, 1 << 40, 4))
    made = SessionScorer(replace(Settings(), scorer=str(path), threads=1, **settings))
    made.use_engine(engine)
    return made


def test_it_is_opened_on_a_gpu_that_has_room_and_stays_there(path, monkeypatch, opened):
    engine = Engine(0)
    made = slot(path, monkeypatch, scorer_bytes(path), engine)
    scorer = made.take()
    made.release()
    assert made.take() is scorer
    assert scorer.score(TEXTS, "what does add do?")
    made.close()
    assert (opened, engine.told) == (["CUDA0"], [])


def test_without_room_it_computes_on_the_cpu(path, monkeypatch, opened):
    made = slot(path, monkeypatch, scorer_bytes(path) - 1, Engine(0))
    assert made.take() is not None
    made.close()
    assert opened == ["CPU"]


def test_without_layers_on_a_gpu_the_scorer_is_not_there_either(path, monkeypatch, opened):
    made = slot(path, monkeypatch, 1 << 40, gpu_layers=0)
    assert made.take() is not None
    made.close()
    assert opened == ["CPU"]


def test_it_takes_turns_with_a_drafter_that_leaves_it_no_room(path, monkeypatch, opened):
    engine = Engine(scorer_bytes(path))
    made = slot(path, monkeypatch, 0, engine)
    for _ in range(2):
        scorer = made.take()
        assert engine.told[-1] == "rest"
        assert scorer.score(TEXTS, "what does add do?")
        made.release()
        assert engine.told[-1] == "resume"
        # Known although none is open.
        assert made.rate() > 0
    made.release()
    made.close()
    assert engine.told == ["rest", "resume"] * 2
    assert opened == ["CUDA0"] * 2


def test_it_does_not_send_the_drafter_away_only_to_be_measured(path, monkeypatch, opened):
    engine = Engine(scorer_bytes(path))
    made = slot(path, monkeypatch, 0, engine)
    assert made.rate() is None
    made._measuring.join(60)
    assert (made.rate(), engine.told, opened) == (None, [], [])
    made.close()


def test_skipping_it_counts_for_one_message_and_ends_the_window_that_is_computed(path, monkeypatch, opened):
    made = slot(path, monkeypatch, 0)
    scorer = made.take()
    made.skip()
    assert made.skipped()
    assert scorer._model.stop.is_set()
    with pytest.raises(Stopped):
        scorer.score(TEXTS, "what does add do?", made.skipped)
    assert made.take() is scorer
    assert not made.skipped()
    assert scorer.score(TEXTS, "what does add do?", made.skipped)
    made.close()


def test_without_one_there_is_nothing_to_skip(path, monkeypatch):
    made = slot(path, monkeypatch, 0)
    made.skip()
    assert made.take() is not None
    assert not made.skipped()
    made.close()


def test_the_drafter_comes_back_when_the_scorer_cannot_be_opened(path, monkeypatch):
    engine = Engine(scorer_bytes(path))
    made = slot(path, monkeypatch, 0, engine)

    def broken(*_, **__):
        raise EngineError("no scorer")

    monkeypatch.setattr(Scorer, "open", broken)
    with pytest.raises(EngineError) as error:
        made.take()
    assert str(error.value) == "no scorer"
    assert engine.told == ["rest", "resume"]
    # Said once.
    assert made.take() is None
    made.close()


def test_what_a_gpu_cannot_run_computes_on_the_cpu(path, monkeypatch):
    really, tried = Scorer.open, []

    def only_cpu(path, *, device=None, **how):
        tried.append(device is None)
        if device is not None:
            raise GraphError("an operation is missing")
        return really(path, **how)

    monkeypatch.setattr(Scorer, "open", only_cpu)
    monkeypatch.setattr(scorer_device, "open_device", lambda name: Device.cpu())
    made = slot(path, monkeypatch, 1 << 40)
    assert made.take().score(TEXTS, "what does add do?")
    made.close()
    assert tried == [False, True]


def test_a_missing_scorer_is_reported_once_even_after_its_speed_was_requested(path, monkeypatch):
    made = slot(path.with_name("missing.gguf"), monkeypatch, 0)
    assert made.rate() is None
    made._measuring.join(60)
    with pytest.raises(UserError) as error:
        made.take()
    assert str(error.value) == (
        f"--scorer {path.parent}/missing.gguf: no such file, and not a scorer in the catalogue; give a GGUF, or none"
    )
    assert made.take() is None
    made.close()
