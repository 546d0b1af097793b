"""What the user says while a turn runs: where it goes in, and that nothing is cut off or lost for it."""

import threading
from contextlib import closing
from dataclasses import replace

import pytest

from laguna_tui.agent.steering import Steering
from laguna_tui.base.events import (
    ReasoningDelta,
    Steered,
    StepFinished,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnEnd,
    TurnFinished,
    TurnStarted,
)
from tests.app.agent.scripted_engine import text
from tests.scripted_model import call, say, scripted_session, think

LONG = " ".join(f"word{number} of a sentence" for number in range(300))


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/add.py").write_text("def add(a, b):\n    return a - b\n")
    (tmp_path / "shop/notes.md").write_text("Sums are in cents.\n")
    return tmp_path / "shop"


@pytest.fixture
def opened(folder):
    sessions = []

    def begin(script, **settings):
        session = scripted_session(folder, script, **{"pack": 0, **settings})
        sessions.append(session)
        session.open(lambda progress: None)
        return session

    yield begin
    for session in sessions:
        session.close()


def asked(session, kind, message, question="fix add"):
    """The events of a question that is steered with a message at the first event of a kind; whether it was accepted."""
    events, accepted = [], []
    for event in session.chat.ask(question):
        events.append(event)
        if isinstance(event, kind) and not accepted:
            accepted.append(session.chat.steer(message))
    return events, accepted


def order(events):
    kinds = (ToolStarted, ToolFinished, Steered, TurnFinished)
    return [type(event).__name__ for event in events if isinstance(event, kinds)]


def words(events):
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def prompt(session):
    return text(session.parts.agent.conversation)


def test_it_goes_in_once_the_calls_of_the_step_are_answered(opened):
    reads = say(call("read", path="add.py"), call("read", path="notes.md"))
    session = opened([reads, "In cents, then."])
    events, accepted = asked(session, ToolStarted, "use cents")
    assert accepted == [True]
    assert order(events) == [*["ToolStarted"] * 2, *["ToolFinished"] * 2, "Steered", "TurnFinished"]
    text = prompt(session)
    assert text.count("<tool_response>") == 2
    assert text.rindex("</tool_response>") < text.index("use cents") < text.index("In cents, then.")
    assert events[-1] == TurnFinished(TurnEnd.ANSWERED)


def test_an_answer_without_a_call_is_whole_before_it_goes_in_and_the_turn_goes_on(opened):
    session = opened([LONG, "In cents, then."])
    events, _ = asked(session, TextDelta, "use cents")
    assert words(events) == LONG + "In cents, then."
    at = events.index(Steered("use cents"))
    assert words(events[:at]) == LONG
    assert order(events) == ["Steered", "TurnFinished"]


def test_thinking_is_closed_and_its_answer_said_before_it_goes_in(opened):
    session = opened([say(think(LONG), "An answer."), "In cents, then."], thinking=True)
    asked(session, ReasoningDelta, "use cents")
    text = prompt(session)
    assert text.index("</think>") < text.index("An answer.") < text.index("use cents") < text.index("In cents, then.")


def test_several_messages_go_in_in_their_order(opened):
    session = opened([call("read", path="add.py"), "Both."])
    events = []
    for event in session.chat.ask("fix add"):
        events.append(event)
        if isinstance(event, ToolStarted):
            assert session.chat.steer("first") and session.chat.steer("second")
    assert [event.message for event in events if isinstance(event, Steered)] == ["first", "second"]
    assert prompt(session).index("first") < prompt(session).index("second")


def test_a_file_that_it_mentions_comes_along(opened):
    session = opened([call("read", path="add.py"), "In cents."])
    asked(session, ToolStarted, "see @notes.md")
    assert "Sums are in cents." in prompt(session)


def test_the_cache_is_kept(opened):
    session = opened([call("read", path="add.py"), "In cents."])
    events, _ = asked(session, ToolStarted, "use cents")
    first, second = (event.stats for event in events if isinstance(event, StepFinished))
    assert second.cached_tokens >= first.prompt_tokens


def test_what_is_said_from_another_thread_is_never_lost(opened):
    session = opened([*[call("read", path="add.py", offset=number) for number in range(1, 3)], LONG, *["More."] * 60])
    accepted, said = [], iter(range(40))
    stop = threading.Event()

    def talk():
        for number in said:
            if stop.is_set():
                return
            accepted.append((f"message {number}.", session.chat.steer(f"message {number}.")))

    thread = threading.Thread(target=talk)
    events = []
    for event in session.chat.ask("fix add"):
        events.append(event)
        if isinstance(event, ToolStarted) and not thread.ident:
            thread.start()
    stop.set()
    thread.join()
    heard = [event.message for event in events if isinstance(event, Steered)]
    assert heard + list(session.chat.unsent()) == [message for message, taken in accepted if taken]


def test_nothing_is_accepted_where_no_turn_runs(opened):
    session = opened(["Hello."])
    assert not session.chat.steer("too early")
    list(session.chat.ask("hi"))
    assert not session.chat.steer("too late")
    assert session.chat.unsent() == ()


def test_what_did_not_go_in_because_the_turn_was_stopped_is_given_back_once(opened):
    session = opened([LONG, "Again."])
    for event in session.chat.ask("fix add"):
        if isinstance(event, TextDelta) and not session.parts.agent._cancelled:
            assert session.chat.steer("use cents")
            session.chat.cancel()
    assert session.chat.unsent() == ("use cents",)
    assert session.chat.unsent() == ()
    assert "use cents" not in prompt(session)


def test_a_message_that_does_not_fit_is_given_back_and_the_turn_ends_as_it_would(opened):
    session = opened([call("read", path="add.py"), "Done."], context=8192)
    events, accepted = asked(session, ToolStarted, "word " * 20000)
    assert accepted == [True]
    assert events[-1] == TurnFinished(TurnEnd.ANSWERED)
    assert not [event for event in events if isinstance(event, Steered)]
    assert session.chat.unsent() == ("word " * 20000,)


@pytest.mark.parametrize("stopped_at", [ReasoningDelta, TextDelta])
def test_going_on_after_a_stop_keeps_the_cache_of_all_that_was_said(opened, stopped_at):
    session = opened([say(think(LONG), LONG), "On it goes."], thinking=True)
    seen = 0
    for event in session.chat.ask("fix add"):
        seen += isinstance(event, stopped_at)
        if seen == 20:
            session.chat.cancel()
    last = session.parts.agent.conversation.backend.last
    committed = len(last.prompt) + len(last.tokens)
    events = list(session.chat.ask("go on"))
    (started,) = [event for event in events if isinstance(event, TurnStarted)]
    # The newest token is only in the cache once the one after it was asked for.
    assert started.cached >= committed - 1
    assert words(events) == "On it goes."


def test_a_model_that_forgets_old_turns_is_not_steered(opened, folder):
    with closing(scripted_session(folder, [LONG], pack=0)) as session:
        session.open(lambda progress: None)
        session.parts.agent.conversation.profile = replace(session.parts.agent.conversation.profile, turns=2)
        _, accepted = asked(session, TextDelta, "use cents")
    assert accepted == [False]


def test_a_message_that_cannot_be_recorded_is_not_accepted():
    def refuse() -> None:
        raise OSError("no room")

    steering = Steering()
    steering.begin()
    with pytest.raises(OSError, match="no room"):
        steering.put("and quickly", refuse)
    assert steering.next(last=False) == ""
