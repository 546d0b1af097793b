"""Thinking that the user ends: the answer follows, the rest is as ever, and the session file has it."""

from pathlib import Path

import pytest

from laguna_tui.base.events import Notice, ReasoningDelta, TextDelta, TurnEnd, TurnFinished
from tests.app.session.place import Place, ask, rendered_again, tokens
from tests.scripted_endpoint import MODEL, answer, endpoint
from tests.scripted_model import say, think

THOUGHTS = " ".join(f"word {number}," for number in range(500))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def ended_early(session, message):
    """The events of a turn whose thinking is ended as soon as there is any."""
    events = []
    for event in session.chat.ask(message):
        events.append(event)
        if isinstance(event, ReasoningDelta) and not any(isinstance(each, Notice) for each in events):
            session.chat.answer_now()
    return events


def text(events, kind):
    return "".join(event.text for event in events if isinstance(event, kind))


@pytest.mark.parametrize("speculation", ["off", "fast"])
def test_the_answer_follows_what_was_thought_so_far(place, speculation):
    script = [say(think(THOUGHTS), "Here it is."), say(think("Short."), "Again.")]
    model = place.model(script)
    with place.session(model, thinking=True, speculation=speculation) as session:
        events = ended_early(session, "q")
        thought = text(events, ReasoningDelta).strip()
        assert thought
        assert THOUGHTS.startswith(thought)
        assert len(thought) < len(THOUGHTS)
        assert text(events, TextDelta) == "Here it is."
        assert [each.text for each in events if isinstance(each, Notice)] == ["You ended the thinking."]
        assert events[-1] == TurnFinished(TurnEnd.ANSWERED)
        proof = session.chat.check_replay(lambda progress: None)
        assert (proof.compared, proof.difference) == (proof.total, None)
        assert text(ask(session, "again"), TextDelta) == "Again."
        before = tokens(session)
        assert rendered_again(session) == before
    with place.session(model, place.saved[0], thinking=True, speculation=speculation) as session:
        assert tokens(session) == before
        shown = session.info_at_start.resumed.events
        assert text(shown, ReasoningDelta).strip().startswith(thought)
        assert any(each == Notice("You ended the thinking.") for each in shown)


def test_there_is_nothing_to_end_while_nothing_is_thought(place):
    with place.session(place.model(["Hello."])) as session:
        assert not session.chat.answer_now()
        for event in session.chat.ask("hi"):
            if isinstance(event, TextDelta):
                assert not session.chat.answer_now()


def test_the_thinking_of_a_remote_model_cannot_be_ended(place, monkeypatch):
    monkeypatch.delenv("LAGUNA_API_KEY", raising=False)
    with (
        endpoint([answer("Hello.", thought="Hm.")]) as served,
        place.session(f"{served.url}#{MODEL}", context=None, thinking=None) as session,
    ):
        assert [session.chat.answer_now() for each in session.chat.ask("hi") if isinstance(each, ReasoningDelta)] == [
            False
        ]
