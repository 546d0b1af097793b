"""Sessions with the model, through everything that the app does with one: what each step reads again is counted."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from laguna_tui.session.session import Session
from tests.real_model.sessions import Turn, ask, opened

CODE = "".join(f"def step_{number}(value):\n    return value * {number}\n\n\n" for number in range(400))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("real")
    (found / "project").mkdir()
    (found / "project/steps.py").write_text(CODE)
    return found


@pytest.fixture(scope="module")
def session(model: Path, folder: Path) -> Iterator[Session]:
    with opened(model, folder) as found:
        yield found


@pytest.fixture(scope="module")
def first(session: Session) -> Turn:
    return ask(session, "What is a list in Python?")


def test_the_model_is_introduced_as_one_that_only_chats(session: Session):
    info = session.info()
    assert info.abilities == f"{session.title} answers questions about code that you add with @."
    assert info.warnings == (
        "This model's chat format has no tool calls, so it changes no files and runs no commands.",
    )


def test_the_cost_that_is_shown_is_what_a_message_reads(session: Session, first: Turn):
    cost = session.prompt.cost("And a tuple?")
    assert cost is not None and cost.lost == 0
    turn = ask(session, "And a tuple?")
    assert (turn.read, turn.stats.cached_tokens) == (cost.new, cost.cached)
    assert turn.stats.cached_tokens == first.computed


def test_a_rewound_turn_is_asked_again_and_only_the_message_is_read(session: Session, first: Turn):
    ask(session, "Which is faster?")
    session.history.apply(session.history.plan_undo())
    before = session.prompt.cost("Which is shorter?")
    turn = ask(session, "Which is shorter?")
    assert before is not None and turn.read == before.new < 40
    assert turn.text


def test_a_fork_continues_from_what_is_cached(session: Session, first: Turn):
    last = ask(session, "Name one more.")
    session.sessions.resume(session.sessions.fork().id, lambda progress: None)
    assert ask(session, "Thanks.").stats.cached_tokens == last.computed


def test_a_side_question_leaves_the_conversation_and_its_cache_alone(session: Session, first: Turn):
    before = session.prompt.cost("And now?")
    assert list(session.chat.side_answer("Is this Python?"))
    after = session.prompt.cost("And now?")
    assert before is not None and after is not None
    assert (after.new, after.cached, after.lost) == (before.new, before.cached, before.lost)


def test_the_last_answer_is_the_same_without_drafts(session: Session, first: Turn):
    ask(session, "Repeat: one two three one two three one two")
    checked = session.chat.check_replay(lambda progress: None)
    assert (checked.compared, checked.difference) == (checked.total, None)


def test_a_long_file_is_shortened_to_what_fits(model: Path, folder: Path):
    with opened(model, folder, context=1024) as session:
        turn = ask(session, "What does step_77 return? @steps.py")
        (block,) = [each for each in session.prompt.blocks() if each.title == "steps.py"]
        shown = session.prompt.block_text(block.number).after
    assert "def step_77(value):" in shown and len(shown) < len(CODE) / 4
    assert turn.stats.prompt_tokens < 1024


def test_a_resumed_session_reads_only_what_is_new(model: Path, folder: Path, first: Turn):
    with opened(model, folder) as session:
        last = ask(session, "What is a set?")
        kept = session.sessions.open_id
    with opened(model, folder, resume=kept) as session:
        turn = ask(session, "And a dict?")
        assert turn.stats.cached_tokens == last.computed
