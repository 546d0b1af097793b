"""A session on a real engine: what a message would cost, reading ahead, and the prompt's blocks changed by the user.

The model is the bundled one under a name that the catalogue does not know, so that it is given everything that a full
model is. What it says then makes little sense; what it is given does.
"""

import contextlib
import shutil
import threading
from dataclasses import replace
from itertools import groupby

import pytest

from laguna_engine.errors import EngineClosed, Stopped
from laguna_tui.agent.tools.nano.profile import LOOKS_UP
from laguna_tui.base.events import Attached, Choosing, Prefill, TextDelta, TurnEnd, TurnFinished, TurnStarted
from laguna_tui.base.messages import BlockKind, Place
from laguna_tui.base.paths import data_root
from laguna_tui.base.settings import Settings
from laguna_tui.context.mentions import unmarked
from laguna_tui.context.scoring import SCORING_S
from laguna_tui.context.shortening import PARSING, RANKING, SCORING
from laguna_tui.session.session import Session
from laguna_tui.session.session_scorer import SessionScorer

CODE = "def total(items):\n    return sum(items)\n"


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "shop"
    root.mkdir()
    (root / "cart.py").write_text(CODE * 12)
    (root / "notes.md").write_text("# Notes\n\nNothing yet.\n")
    return root


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return shutil.copy(data_root() / "assets/nano/laguna-nano.gguf", tmp_path_factory.mktemp("models") / "any.gguf")


@pytest.fixture
def session(model, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    settings = Settings(model=str(model), threads=1, max_tokens=6, temperature=0.0, pack=0)
    session = Session(settings, folder)
    yield session
    session.close()


@pytest.fixture
def opened(session):
    session.open(lambda progress: None)
    return session


def text(events):
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def started(events):
    return next(event for event in events if isinstance(event, TurnStarted))


def test_nothing_is_known_before_a_model_is_open(session):
    assert session.prompt.cost("hello") is None
    assert session.prompt.blocks() == ()
    assert session.prompt.complete("@ca", 3) == ()
    assert session.prompt.change_cost({}) is None
    session.chat.prefetch("hello")


def test_the_cost_is_what_sending_then_computes(opened):
    opened.chat.prefetch("")
    cost = opened.prompt.cost("Where is total?")
    events = list(opened.chat.ask("Where is total?"))
    begun = started(events)
    assert (cost.cached, cost.new) == (begun.cached, begun.prompt_tokens - begun.cached)
    assert cost.fits
    assert cost.lost == 0
    assert cost.seconds > 0


def test_reading_ahead_leaves_only_the_words_to_compute(opened):
    before = opened.prompt.cost("Where is total?")
    opened.chat.prefetch("Where is tot")
    after = opened.prompt.cost("Where is total?")
    assert before.cached == 0
    assert after.new == before.new - opened.prompt.blocks()[0].tokens


def test_a_mentioned_file_is_read_ahead_of_the_words(opened):
    message = "What does @cart.py do?"
    opened.chat.prefetch(message)
    begun = started(list(opened.chat.ask(message)))
    words = next(block for block in opened.prompt.blocks() if block.title == message)
    assert begun.prompt_tokens - begun.cached <= words.tokens + 10


def test_the_answer_is_the_same_whether_it_was_read_ahead_or_not(opened):
    plain = text(opened.chat.ask("What does @cart.py do?"))
    opened.chat.new_chat()
    opened.chat.prefetch("What does @cart.py do, and")
    opened.chat.prefetch("Something else with @notes.md")
    assert text(opened.chat.ask("What does @cart.py do?")) == plain


def test_reading_ahead_can_be_cancelled_and_harms_nothing(opened):
    threading.Timer(0.05, opened.chat.cancel).start()
    opened.chat.prefetch("What does @cart.py do?")
    assert started(list(opened.chat.ask("What does @cart.py do?"))).prompt_tokens > 0


def test_attachments_are_reported_and_are_blocks_of_their_own(opened):
    events = list(opened.chat.ask("What does @cart.py do?"))
    assert next(event for event in events if isinstance(event, Attached)).titles == ("cart.py",)
    file = next(block for block in opened.prompt.blocks() if block.kind is BlockKind.FILE)
    assert (file.title, file.place, file.tokens) == ("cart.py", Place.KEPT, file.whole)
    assert CODE in opened.prompt.block_text(file.number).before


def test_a_mention_of_a_missing_file_is_reported_before_and_after_sending(opened):
    assert any("@nosuch" in note for note in opened.prompt.cost("What is @nosuch?").notes)
    events = list(opened.chat.ask("What is @nosuch?"))
    assert any("@nosuch" in note for event in events if isinstance(event, Attached) for note in event.notes)


def test_the_same_file_is_not_attached_twice(opened):
    list(opened.chat.ask("What does @cart.py do?"))
    list(opened.chat.ask("And what else does @cart.py do?"))
    assert [block.title for block in opened.prompt.blocks() if block.kind is BlockKind.FILE] == ["cart.py"]


def test_dropping_a_block_is_priced_before_it_is_done(opened):
    list(opened.chat.ask("What does @cart.py do?"))
    file = next(block for block in opened.prompt.blocks() if block.kind is BlockKind.FILE)
    priced = opened.prompt.change_cost({file.number: Place.DROPPED})
    assert priced.lost > 0
    assert opened.prompt.cost("Go on.").lost == 0
    opened.prompt.change({file.number: Place.DROPPED})
    assert opened.prompt.cost("Go on.").lost == pytest.approx(priced.lost, abs=2)
    events = list(opened.chat.ask("Go on."))
    prefill = [event for event in events if isinstance(event, Prefill)]
    assert prefill[0].cached <= priced.cached + 1
    assert opened.prompt.cost("Go on.").lost == 0
    assert CODE not in opened.prompt.block_text(file.number).after


def test_a_block_that_is_restored_is_as_before(opened):
    list(opened.chat.ask("What does @cart.py do?"))
    before = list(opened.prompt.blocks())
    file = next(block for block in before if block.kind is BlockKind.FILE)
    opened.prompt.change({file.number: Place.DROPPED})
    opened.prompt.change({file.number: Place.KEPT})
    assert [(block.title, block.tokens) for block in opened.prompt.blocks()] == [(b.title, b.tokens) for b in before]


def test_mentions_are_completed_from_the_folder(opened):
    opened.prompt.complete("look at @ca", 11)
    assert opened.parts.context.codebase.wait(60)
    found = opened.prompt.complete("look at @ca", 11)
    assert found[0].insert.startswith("@cart.py")


def test_instructions_are_read_once_the_folder_is_trusted(model, folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (folder / "AGENTS.md").write_text("Prices are in cents.\n")
    session = Session(Settings(model=str(model), threads=1, max_tokens=2, pack=0), folder, tmp_path / "s")
    try:
        session.open(lambda progress: None)
        events = list(session.chat.ask("Hello"))
        assert any("not trusted" in note for event in events if isinstance(event, Attached) for note in event.notes)
        assert str(folder) in session.folder.trust()
        session.chat.new_chat()
        list(session.chat.ask("Hello"))
        told = next(block for block in session.prompt.blocks() if block.kind is BlockKind.INSTRUCTIONS)
        assert "Prices are in cents." in session.prompt.block_text(told.number).after
    finally:
        session.close()


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        ("see @a.py and @Cart.total.", "see a.py and Cart.total."),
        ("see @a.py:10 now", "see a.py:10 now"),
        ('@"a b.py":3-4 and @src/', "a b.py:3-4 and src/"),
        ("mail me@example.org `@property`", "mail me@example.org `@property`"),
    ],
)
def test_mentions_become_the_names_they_are_of(typed, plain):
    assert unmarked(typed) == plain


def test_a_model_that_knows_only_its_tools_is_given_names_and_no_files(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    session = Session(Settings(threads=1, max_tokens=40), folder)
    try:
        session.open(lambda progress: None)
        events = list(session.chat.ask("What is in @cart.py?"))
        words = next(block for block in session.prompt.blocks() if block.kind is BlockKind.MESSAGE)
        assert words.title == "What is in cart.py?"
        assert [event for event in events if isinstance(event, Attached)] == [Attached((), (LOOKS_UP,))]
        assert "total(items)" in text(events)
        again = list(session.chat.ask("And what is in @notes.md?"))
        assert not any(isinstance(event, Attached) for event in again)
    finally:
        session.close()


def test_a_long_file_is_shortened_with_the_scorer_which_is_reported(session, folder):
    functions = (f"def step_{name}(x):\n    value = x + {name}\n    return value * {name}\n\n\n" for name in range(400))
    (folder / "steps.py").write_text("".join(functions))
    session.open(lambda progress: None)
    events = list(session.chat.ask("What does step_123 in @steps.py return?"))
    told = next(event for event in events if isinstance(event, Attached))
    assert told.titles == ("steps.py (shortened)",)
    file = next(block for block in session.prompt.blocks() if block.kind is BlockKind.FILE)
    text = session.prompt.block_text(file.number)
    assert "return value * 123\n" in text.after
    assert "return value * 124\n" in text.before
    assert len(text.after) < len(text.before) / 2
    assert "attention" in file.why


def test_looking_at_the_context_again_counts_nothing_again(opened, monkeypatch):
    list(opened.chat.ask("What does @cart.py do?"))
    (file,) = [block.number for block in opened.prompt.blocks() if block.kind is BlockKind.FILE]
    opened.prompt.change({file: Place.SHORTENED})
    before, vocabulary = opened.prompt.blocks(), opened.slot.engine.vocab
    assert before[file].tokens < before[file].whole
    monkeypatch.setattr(vocabulary, "tokenize", lambda text, special: pytest.fail(f"counted: {text}"))
    assert opened.prompt.blocks() == before


class EndlessScorer:
    """Scores until it is stopped, and is closed when that is over."""

    rate = 1e9

    def __init__(self) -> None:
        self.asked, self.stopped = threading.Event(), threading.Event()

    def count(self, text) -> int:
        return len(text)

    def score(self, texts, query, should_stop, progress):
        self.asked.set()
        while not should_stop() and not self.stopped.wait(0.01):
            pass
        self.stopped.set()
        raise Stopped("scoring was stopped")

    def interrupt(self) -> None:
        """Its next look at whether to stop ends it."""

    def close(self) -> None:
        assert self.stopped.wait(20)


def test_a_stop_while_files_are_gathered_attaches_none_of_them(opened, folder):
    (folder / "long.py").write_text("".join(f"def step_{n}(order):\n    return order + {n}\n\n" for n in range(700)))
    scorer, events = EndlessScorer(), []
    opened.parts.context.scorer._scorer, opened.parts.context.scorer._tried = scorer, True
    thread = threading.Thread(target=lambda: events.extend(opened.chat.ask("What does @long.py do?")))
    thread.start()
    assert scorer.asked.wait(30)
    opened.chat.cancel()
    thread.join(30)
    assert [event for event in events if not isinstance(event, Choosing)] == [TurnFinished(TurnEnd.CANCELLED)]
    assert [block.kind for block in opened.prompt.blocks()] == [BlockKind.SYSTEM]


def test_how_far_the_choice_is_comes_before_what_was_chosen(session, folder):
    (folder / "long.py").write_text("".join(f"def step_{n}(order):\n    return order + {n}\n\n" for n in range(700)))
    session.open(lambda progress: None)
    events = list(session.chat.ask("What does step_123 in @long.py return?"))
    first = next(index for index, event in enumerate(events) if not isinstance(event, Choosing))
    told = events[:first]
    assert isinstance(events[first], Attached)
    assert [phase for phase, _ in groupby(told, lambda each: each.phase)] == [PARSING, RANKING, SCORING, RANKING]
    assert {each.files for each in told} == {1}
    assert all(0.0 <= each.share <= 1.0 and 0.0 < each.limit_s <= SCORING_S for each in told if each.phase == SCORING)


def test_skipping_the_scorer_ranks_by_words_and_the_answer_follows(opened, folder):
    (folder / "long.py").write_text("".join(f"def step_{n}(order):\n    return order + {n}\n\n" for n in range(700)))
    message = "What does step_123 in @long.py return?"
    by_words = Session(replace(opened.slot.selection.settings, scorer="none"), folder)
    by_words.open(lambda progress: None)
    list(by_words.chat.ask(message))
    scorer, events = EndlessScorer(), []
    opened.parts.context.scorer._scorer, opened.parts.context.scorer._tried = scorer, True
    thread = threading.Thread(target=lambda: events.extend(opened.chat.ask(message)))
    thread.start()
    assert scorer.asked.wait(60)
    opened.chat.skip_scoring()
    thread.join(60)
    assert any(isinstance(event, TurnStarted) for event in events)
    told = next(event for event in events if isinstance(event, Attached))
    assert "Scoring was stopped: the words alone decided what is kept." in told.notes
    texts = []
    for session in (opened, by_words):
        (file,) = [block for block in session.prompt.blocks() if block.kind is BlockKind.FILE]
        texts.append(session.prompt.block_text(file.number).after)
    by_words.close()
    assert texts[0] == texts[1]


def test_closing_ends_what_is_scored_for_a_message(opened, folder):
    (folder / "long.py").write_text("".join(f"def step_{n}(order):\n    return order + {n}\n\n" for n in range(700)))
    scorer = EndlessScorer()
    opened.parts.context.scorer._scorer, opened.parts.context.scorer._tried = scorer, True

    def ask():
        # What it had to say is nobody's business any more.
        with contextlib.suppress(EngineClosed):
            list(opened.chat.ask("What does @long.py do?"))

    thread = threading.Thread(target=ask)
    thread.start()
    assert scorer.asked.wait(30)
    opened.close()
    thread.join(30)
    assert not thread.is_alive()


def test_the_cost_counts_the_time_that_a_scorer_will_take(opened, folder):
    (folder / "long.py").write_text("".join(f"def step_{n}(order):\n    return order + {n}\n\n" for n in range(700)))
    list(opened.chat.ask("hello"))
    slot, message = opened.parts.context.scorer, "What does step_123 in @long.py return?"
    slot._tried = True
    plain = opened.prompt.cost(message).seconds
    slot._scorer = scorer = EndlessScorer()
    scorer.rate = 1e6
    fast = opened.prompt.cost(message).seconds
    assert not any("Choosing what to keep" in note for note in opened.prompt.cost(message).notes)
    scorer.rate = 0.5e6
    slow = opened.prompt.cost(message).seconds
    scorer.stopped.set()
    assert fast - plain == pytest.approx((slow - plain) / 2)
    assert fast > plain


def test_the_scorers_speed_is_measured_while_the_message_is_typed(opened, folder, monkeypatch):
    take = SessionScorer.take
    (folder / "long.py").write_text("".join(f"def step_{n}(order):\n    return order + {n}\n\n" for n in range(700)))
    list(opened.chat.ask("hello"))
    slot = opened.parts.context.scorer
    assert slot._measuring is None
    begun = threading.Event()
    monkeypatch.setattr(SessionScorer, "take", lambda scorer: begun.wait(60) and take(scorer))
    first = opened.prompt.cost("What does step_123 in @long.py return?")
    assert first.measuring
    begun.set()
    slot._measuring.join(60)
    assert slot.rate() > 0
    then = opened.prompt.cost("What does step_123 in @long.py return?")
    assert not then.measuring
