"""Chats with models whose memory is partly a recurrent state: what a session does to it changes no answer."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from laguna_engine.chat.chat_template import CHATML
from laguna_engine.config import PLAIN, EngineOptions
from laguna_engine.engine import Engine, Request
from laguna_tui.backends.local.answer import GenerationRecord
from laguna_tui.backends.local.backend import LocalBackend
from laguna_tui.session.session import Session
from tests.engine import families
from tests.engine.runs import NEAR_TIE, gather
from tests.real_model.sessions import Turn, ask, opened

TEMPLATE = CHATML.replace("<|im_start|>", "<assistant>").replace("<|im_end|>", "</assistant>")
"""With special tokens that the tiny vocabulary has."""

COUNT = 24
"""Tokens of an answer."""


@pytest.fixture(scope="module", params=["qwen35", "granitehybrid"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that can go back within a batch and one that cannot at all."""
    file = families.model(request.param).set("tokenizer.chat_template", TEMPLATE)
    texts = file.metadata["tokenizer.ggml.tokens"][1]
    # It answers in words, which are read again as the tokens that they were.
    file.tensors["output.weight"][[not text.isascii() or not text.isalpha() for text in texts]] = 0
    return file.write(tmp_path_factory.mktemp("models") / f"{request.param}.gguf")


@pytest.fixture(scope="module")
def fresh(model: Path) -> Iterator[Engine]:
    with Engine.open(EngineOptions(model, n_ctx=2048, threads=1)) as found:
        yield found


def test_rewinds_forks_asides_and_resuming_change_no_answer(model: Path, fresh: Engine, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    turns: list[tuple[Turn, GenerationRecord]] = []

    def said(session: Session, message: str) -> Turn:
        turn, backend = ask(session, message), session.slot.healthy()
        assert isinstance(backend, LocalBackend) and backend.last is not None
        turns.append((turn, backend.last))
        return turn

    with opened(model, tmp_path, max_tokens=COUNT) as session:
        said(session, "What is a list?")
        said(session, "And a tuple? " * 8)
        session.history.apply(session.history.plan_undo())
        assert said(session, "And a set? " * 8).read < 200
        list(session.chat.side_answer("Is this Python?"))
        assert said(session, "Repeat: one two one two one two").read < 150
        session.sessions.resume(session.sessions.fork().id, lambda progress: None)
        said(session, "Thanks.")
        session.history.apply(session.history.plan_rewind(1))
        said(session, "And now?")
        saved = session.sessions.open_id
    with opened(model, tmp_path, resume=saved, max_tokens=COUNT) as session:
        assert said(session, "And a dict?").read < 100
    for turn, record in turns:
        assert_plain(fresh, turn, record)


def assert_plain(fresh: Engine, turn: Turn, record: GenerationRecord) -> None:
    """Whether an engine that has read nothing before answers the same, near ties aside."""
    fresh.clear()
    expected = gather(
        fresh.generate(
            Request(
                record.prompt,
                record.sampling,
                max_tokens=len(record.tokens),
                drafting=PLAIN,
                no_repeat=record.no_repeat,
                constraints=record.constraints,
            )
        )
    ).tokens
    pairs = enumerate(zip(expected, record.tokens, strict=True))
    at = next((place for place, (one, other) in pairs if one != other), None)
    if at is not None:
        margin = fresh._margin([*record.prompt, *expected[:at]], expected[at], record.tokens[at])
        assert abs(margin) < NEAR_TIE, turn
